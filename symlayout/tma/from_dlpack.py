"""``cuda::make_tma_descriptor``: a tensor map from a DLTensor, a box and element strides in row-major order.

    >>> from symlayout.dlpack import DLTensor
    >>> rows = DLTensor((64, 64), "f32", data=4096)
    >>> print(make_tma_descriptor(rows, (8, 8), (8, 1)))
    TensorMap f32 (64,64) strides (256,) B at 4096, box (8,8) every (1,8)

Row-major axes become the driver's dimensions, innermost first, here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..arch import SM90, Arch
from ..dlpack import DLDeviceType, DLTensor, described, integers
from ..errors import LayoutError
from ..expr import Int, dim, integer
from ..meter import ends
from ..rules import Rule, Violation, dlpack
from ..rules import rule as engine
from ..rules.tma import BOX_RULES, rules_of
from .enumerations import TmaInterleaveLayout, TmaL2FetchSize, TmaOobFill, TmaSwizzle, TmaType
from .tensor_map import TensorMap

# By bits, a substitute for a refused data type so that the other rules can be judged as well.
STAND_INS = {8: TmaType.UINT8, 16: TmaType.UINT16, 32: TmaType.UINT32, 64: TmaType.UINT64}


@ends
def make_tma_descriptor(
    tensor: Any,
    box_sizes: Sequence[Int],
    elem_strides: Sequence[Int] | None = None,
    *,
    interleave_layout: Any = TmaInterleaveLayout.none,
    swizzle: Any = TmaSwizzle.none,
    l2_fetch_size: Any = TmaL2FetchSize.none,
    oobfill: Any = TmaOobFill.none,
    address: Int | None = None,
    alignment: int | None = None,
    device: int | tuple[int, int] | None = None,
    profile: str = "cccl",
    arch: Arch = SM90,
) -> TensorMap:
    """The tensor map of a DLTensor or of anything with ``__dlpack__``; sizes may be symbols.

    >>> import numpy as np
    >>> a = np.zeros((100, 64), dtype=np.float16)
    >>> print(make_tma_descriptor(a, (8, 64), swizzle=128, device=0, address=1 << 20))
    TensorMap f16 (64,100) strides (128,) B at 1048576, box (64,8), swizzle 128B

    *box_sizes* and *elem_strides* are in elements, in the tensor's own order of axes; without element strides each is
    1, and without interleave the innermost one is read as 1. A host tensor needs *device*, the ordinal of the GPU (or
    DLPack's type and ordinal) that it will be on. It also needs *address* in bytes or, if no more is known, its
    *alignment* in bytes. Tensors with the same alignment have the same symbol, so distinguish two with
    ``address=dim("a", multiple_of=16)``.

    Raises LayoutError with a line for each rule that is broken, for all sizes where there are symbols; what depends on
    sizes is left to ``checkers.TensorMapValid(map, profile)``. Source: libcu++, cuda::make_tma_descriptor.
    """
    if profile not in dlpack.PROFILES:
        raise LayoutError(f"expected a profile ({', '.join(dlpack.PROFILES)}), got {profile!r}")
    if not isinstance(arch, Arch):
        raise LayoutError(f"expected an architecture such as SM90, got {arch!r}")
    every = None if elem_strides is None else integers("elem_strides", elem_strides)
    placed = _placed(described(tensor), address, alignment, device)
    request = dlpack.Request(placed, integers("box_sizes", box_sizes), every, profile, arch)
    settings = {"interleave": interleave_layout, "swizzle": swizzle, "l2_promotion": l2_fetch_size, "oob_fill": oobfill}
    m, complete = _tensor_map(request, settings)
    found = _violations(request, m, complete)
    if found or m is None:
        raise LayoutError("\n".join(found))
    return m


def _placed(t: DLTensor, address: Any, alignment: Any, device: Any) -> DLTensor:
    """The tensor where it is said to be. The address of a host array says nothing about a device."""
    if address is not None and alignment is not None:
        raise LayoutError(f"expected address or alignment, got both: {address} and {alignment}")
    if device is not None:
        here = t.device.device_type == DLDeviceType.kDLCPU
        where: Any = device if isinstance(device, tuple) else (DLDeviceType.kDLCUDA, device)
        t = replace(t, device=where, data=None if here else t.data)
    if alignment is not None:
        alignment = integer(alignment)
        if not isinstance(alignment, int) or not 1 <= alignment < 2**64:
            raise LayoutError(f"expected an alignment of 1 to 2^64 - 1 bytes, got {alignment}")
        name = f"address_multiple_of_{alignment}"
        address = dim(name, at_least=alignment, at_most=2**64 - 1, multiple_of=alignment)
    if address is None:
        return t
    address = integer(address)
    if isinstance(address, int) and not 0 <= address < 2**64:
        raise LayoutError(f"expected an address of 64 bits, got {address}")
    return replace(t, data=address)


def _tensor_map(r: dlpack.Request, settings: dict[str, Any]) -> tuple[TensorMap | None, bool]:
    """The map of a call, and whether its box is the call's; no map for an element of no width that maps have."""
    t = r.tensor
    kind = dlpack.TYPES[t.dtype][0] if t.dtype in dlpack.TYPES else STAND_INS.get(t.dtype.bits * t.dtype.lanes)
    if kind is None:
        return None, False
    ones = (1,) * r.rank
    every = ones if r.elem_strides is None else r.elem_strides
    complete = len(r.box_sizes) == len(every) == r.rank
    m = TensorMap(
        kind,
        (0 if t.data is None else t.data) + t.byte_offset,
        t.shape[::-1],
        tuple(d * kind.bits // 8 for d in t.element_strides[-2::-1]),
        r.box_sizes[::-1] if complete else ones,
        every[::-1] if complete else ones,
        **settings,
    )
    if m.interleave == 0:
        m = replace(m, element_stride=(1, *m.element_stride[1:])[: r.rank])
    return m, complete


def _violations(r: dlpack.Request, m: TensorMap | None, complete: bool) -> list[str]:
    """A line for each rule that is broken: those about the whole first, then those of each dimension."""
    asked = dlpack.rules_of(r.profile)
    skipped = set() if complete else set(BOX_RULES)
    if r.tensor.data is None:
        skipped.add("global_address_nonnull")
    if r.arch.compute_capability >= (10, 0):
        skipped |= {"dtype_of_cc90", "swizzle_of_cc90"}
    rules = [rule for rule in rules_of(r.profile) if rule.id not in skipped]
    found = engine.violations(r, asked) + ([] if m is None else engine.violations(m, rules))
    known_here = [] if m is None else _open(m, [rule for rule in rules if rule.id.startswith("global_address")])
    return [_line(v, r) for v in sorted(found, key=lambda v: v.rule.each != "map")] + _open(r, asked) + known_here


def _open(record: Any, rules: Sequence[Rule]) -> list[str]:
    """Rules that must be decided here: about an address that stays unknown, or about properties that no map keeps."""
    return [
        f"{rule.id}: expected {rule.what} to be {rule.must.wanted(record, i)} "
        f"for all sizes, got {x}{f'; {rule.fix}' if rule.fix else ''}"
        for rule in rules
        for i, x in rule.places(record)
        if engine.holds(rule, record, i, x) is None
    ]


def _line(v: Violation, r: dlpack.Request) -> str:
    """A violation with the tensor's own axis as well as the driver's dimension, and an address with its parts."""
    axes = {"dimension": r.rank - 1 - v.place, "stride": r.rank - 2 - v.place}
    if v.rule.each in axes:
        v = replace(v, also=f"axis {axes[v.rule.each]}")
    if v.rule.id == "global_address_alignment" and r.tensor.byte_offset != 0:
        v = replace(v, got=f"{v.got} = data {r.tensor.data} + byte_offset {r.tensor.byte_offset}")
    return str(v)
