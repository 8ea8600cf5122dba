"""Tensor maps encoded by the driver, and what it says of one held against our rules."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

from symlayout import TensorMap
from symlayout.rules import tma as rules

from .arrays import DeviceArray
from .errors import DeviceError, LaunchError
from .libraries import bindings, value_of

BYTES = 128


def over(m: TensorMap, array: DeviceArray, what: str) -> TensorMap:
    """A map whose address counts from the first element of an array.

    Raises LaunchError where it reaches beyond the array, or is not one of numbers.
    """
    _expect_static(m, what)
    start, reach = int(m.global_address), int(m.extent_bytes)
    if start < 0 or start + reach > array.nbytes:
        raise LaunchError(
            f"{what}: expected a tensor map within the {array.nbytes} bytes of its array, got {m}, which reaches over "
            f"bytes {start} .. {start + reach - 1}"
        )
    return replace(m, global_address=start + array.address)


def encoded(m: TensorMap, size: int, what: str) -> bytes:
    """The 128 bytes of a tensor map for a parameter of *size* bytes.

    Raises LaunchError if the parameter is not a tensor map, or the map not one of numbers. Raises DeviceError if the
    driver refuses it, with the rules that it breaks, and if the driver and our rules disagree.
    """
    if size != BYTES:
        raise LaunchError(f"{what}: expected a value of {size} bytes, got a tensor map, which has {BYTES}")
    _expect_static(m, what)
    broken = "; ".join(map(str, rules.violations(m, "driver")))
    try:
        found = value_of(f"the driver to encode {m}", _encode(m))
    except DeviceError as e:
        raise DeviceError(f"{what}: {e}; {broken or 'no rule of ours is broken: please report the map'}") from e
    if broken:
        raise DeviceError(f"{what}: the driver encodes {m}, which rules of ours refuse: {broken}; please report it")
    return ctypes.string_at(found.getPtr(), BYTES)


def _expect_static(m: TensorMap, what: str) -> None:
    if not m.static:
        names = ", ".join(s.name for s in m.symbols)
        raise LaunchError(f"{what}: expected a tensor map of numbers, got one of {names}; use map.subs(...)")


def _encode(m: TensorMap) -> tuple[Any, ...]:
    """The driver's answer: cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col."""
    d = bindings()

    def long(xs: Any) -> list[Any]:
        return [d.cuuint64_t(int(x)) for x in xs]

    def word(xs: Any) -> list[Any]:
        return [d.cuuint32_t(int(x)) for x in xs]

    tensor = (
        d.CUtensorMapDataType(int(m.dtype)),
        m.rank,
        int(m.global_address),
        long(m.global_dim),
        long(m.global_stride_bytes),
    )
    modes = (
        word(m.element_stride),
        d.CUtensorMapInterleave(int(m.interleave)),
        d.CUtensorMapSwizzle(int(m.swizzle)),
        d.CUtensorMapL2promotion(int(m.l2_promotion)),
        d.CUtensorMapFloatOOBfill(int(m.oob_fill)),
    )
    if m.im2col is None:
        return tuple(d.cuTensorMapEncodeTiled(*tensor, word(m.box_dim), *modes))
    corners = (list(map(int, m.lower_corner)), list(map(int, m.upper_corner)))
    box = (int(m.channels_per_pixel), int(m.pixels_per_column))
    return tuple(d.cuTensorMapEncodeIm2col(*tensor, *corners, *box, *modes))
