"""The rules of one copy through a tensor map, one row each.

``hardware`` is what a copy must keep on compute capability 9.0 (faults seen on an H200, driver 580.159.04);
``unmeasured`` bounds what was measured: beyond it nothing here says what a copy does; ``lint`` is legal and surprises
(what surprises in the map alone is in ``rules.tma``).

    >>> from symlayout.tma import TensorMap, TmaType
    >>> m = TensorMap(TmaType.FLOAT16, 0, (64, 64), (128,), (32, 8), swizzle=64)
    >>> for v in violations(TensorCopy(m, (4, 0), 128)):
    ...     print(v)
    coord0_multiple_16: expected the innermost start coordinate to be a multiple of 16 bytes, got 8 (0*16 + 8) \
bytes; start at a multiple of 16 bytes and skip the excess in shared memory
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..expr import Expr, Int, integer
from ..int_tuple import text
from ..tma import TensorMap
from . import rule as engine
from .rule import Between, MultipleOf, Rule, Violation, of_profile, row_of, where

DIRECTIONS = ("load", "store", "reduce")

HARDWARE = ("hardware",)
UNMEASURED = ("unmeasured",)
LINT = ("lint",)
MEASURED = "copies on an H200, driver 580.159.04"
PTX = "PTX ISA, cp.async.bulk.tensor"
GUIDE = "CUDA C++ Programming Guide, table of alignment requirements of tensor copies"

ILLEGAL, MISALIGNED = "illegal instruction", "misaligned address"  # the driver's words for the fault
INT32 = 2**31 - 1
SHARED_ALIGNMENT_BYTES = 128
UNIT_BYTES = 16  # in which tensor copies move the innermost dimension
OFFSET_LIMITS = (0, 0, 0, 2**16 - 1, 2**8 - 1, 2**5 - 1)  # by rank: unsigned offsets of 16, 8 and 5 bits


@dataclass(frozen=True)
class TensorCopy:
    """One ``cp.async.bulk.tensor``: map, start coordinate (innermost first), address of the tile in shared memory.

    >>> print(TensorCopy(TensorMap("f32", 0, (64, 64), (256,), (8, 8)), (0, -1), 1024))
    load of (0,-1) to 1024: TensorMap f32 (64,64) strides (256,) B, box (8,8)

    *offsets* are those of an im2col load, W first; none means zeros. Symbols are allowed.
    Raises LayoutError where coordinate or offsets do not have the entries that the map asks for.
    """

    tensor_map: TensorMap
    coordinate: tuple[Int, ...]
    shared_address: Int = 0
    direction: str = "load"
    offsets: tuple[Int, ...] = ()

    def __post_init__(self) -> None:
        put, m = object.__setattr__, self.tensor_map
        if self.direction not in DIRECTIONS:
            raise LayoutError(f"expected one of {', '.join(DIRECTIONS)} as direction, got {self.direction!r}")
        put(self, "shared_address", integer(self.shared_address))
        put(self, "coordinate", tuple(map(integer, self.coordinate)))
        put(self, "offsets", tuple(map(integer, self.offsets)) or (0,) * max(0, m.rank - 2) * m.is_im2col)
        for name, n in (("coordinate", m.rank), ("offsets", (m.rank - 2) * m.is_im2col)):
            if len(getattr(self, name)) != n:
                of = f"{'im2col' if m.is_im2col else 'tiled'} map of rank {m.rank}"
                raise LayoutError(f"expected {n} entries of {name} for a {of}, got {text(getattr(self, name))}")

    @property
    def rank(self) -> int:
        return self.tensor_map.rank

    @property
    def static(self) -> bool:
        numbers = (*self.coordinate, *self.offsets, self.shared_address)
        return self.tensor_map.static and not any(isinstance(x, Expr) for x in numbers)

    def __str__(self) -> str:
        to = "to" if self.direction == "load" else "from"
        offsets = f" offsets {text(self.offsets)}" if any(type(x) is not int or x for x in self.offsets) else ""
        return f"{self.direction} of {text(self.coordinate)}{offsets} {to} {self.shared_address}: {self.tensor_map}"


def _is_load(c: Any) -> Any:
    return c.direction == "load"


def _is_store(c: Any) -> Any:
    return c.direction != "load"


def _is_dense(c: Any) -> Any:
    return c.tensor_map.interleave == 0


def _is_im2col(c: Any) -> Any:
    return c.tensor_map.is_im2col


def _is_tiled(c: Any) -> Any:
    return where(c.tensor_map.is_im2col, False, True)


def _inner_start(c: Any, i: int) -> Any:
    return c.coordinate[0] * c.tensor_map.element_bytes


def _highest(c: Any, i: int) -> Any:
    """The last base position of an im2col walk along spatial dimension i."""
    return c.tensor_map.global_dim[i + 1] - 1 + c.tensor_map.upper_corner[i]


def _steps_over(c: Any, i: int) -> Any:
    """The element stride that a tile copy heeds along dimension i: not that of the innermost one."""
    m = c.tensor_map
    return where((i == 0) & (m.interleave == 0), 1, m.element_stride[i])


RULES: tuple[Rule, ...] = (
    # -- what faults --------------------------------------------------------------------------------
    Rule(
        id="coord0_multiple_16",
        sentence="the innermost start coordinate is a multiple of 16 bytes, negative or outside too",
        name="the innermost start coordinate",
        profiles=HARDWARE,
        each="map",
        value=_inner_start,
        must=MultipleOf(UNIT_BYTES),
        when=_is_dense,
        source=f"PTX ISA, Tensors: the box starts at a 16-byte boundary; {MEASURED}",
        unit="bytes",
        fix="start at a multiple of 16 bytes and skip the excess in shared memory",
        effect=ILLEGAL,
    ),
    Rule(
        id="smem_alignment_128",
        sentence="the shared-memory address is a multiple of 128 bytes, with every swizzle and none",
        name="the shared-memory address",
        profiles=HARDWARE,
        each="map",
        value=lambda c, i: c.shared_address,
        must=MultipleOf(SHARED_ALIGNMENT_BYTES),
        when=_is_load,
        source=f"{GUIDE}; {MEASURED}",
        unit="bytes",
        fix="declare the buffer alignas(1024), which keeps every swizzle at phase 0",
        effect=MISALIGNED,
    ),
    Rule(
        id="store_coordinate_nonnegative",
        sentence="each start coordinate of a store is at least 0",
        name="each start coordinate of a store",
        profiles=HARDWARE,
        each="dimension",
        value=lambda c, i: c.coordinate[i],
        must=Between(0, None),
        when=_is_store,
        source=f"{PTX}; {MEASURED}",
        effect=ILLEGAL,
    ),
    Rule(
        id="coordinate_int32",
        sentence="each start coordinate fits a signed 32-bit register",
        name="each start coordinate",
        profiles=HARDWARE,
        each="dimension",
        value=lambda c, i: c.coordinate[i],
        must=Between(-INT32 - 1, INT32),
        source=PTX,
        effect="a coordinate that no register holds",
    ),
    Rule(
        id="im2col_offset_range",
        sentence="each im2col offset is 0 to 65535, 255 or 31 for rank 3, 4 or 5",
        name="each im2col offset",
        profiles=HARDWARE,
        each="spatial",
        value=lambda c, i: c.offsets[i],
        must=Between(0, lambda c, i: row_of(OFFSET_LIMITS, c.rank)),
        when=_is_im2col,
        source=PTX,
        effect="an offset that the instruction has no bits for",
    ),
    # -- what was not measured ----------------------------------------------------------------------
    Rule(
        id="store_smem_alignment_128",
        sentence="the shared-memory address of a store is a multiple of 128 bytes",
        name="the shared-memory address of a store",
        profiles=("documented", *UNMEASURED),
        each="map",
        value=lambda c, i: c.shared_address,
        must=MultipleOf(SHARED_ALIGNMENT_BYTES),
        when=_is_store,
        source=GUIDE,
        unit="bytes",
        effect="what a store from another address does",
    ),
    Rule(
        id="store_type",
        sentence="the type of a store is none of FLOAT32_FTZ, TFLOAT32, TFLOAT32_FTZ",
        name="a data type of",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: c.tensor_map.dtype,
        must=Between(None, 9),
        when=_is_store,
        source=MEASURED,
        effect="whether a store through FLOAT32_FTZ, TFLOAT32 or TFLOAT32_FTZ converts",
    ),
    Rule(
        id="store_not_interleaved",
        sentence="the interleaved layout of a store is none",
        name="an interleaved layout of",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: c.tensor_map.interleave,
        must=Between(0, 0),
        when=_is_store,
        source=MEASURED,
        effect="an interleaved store",
    ),
    Rule(
        id="store_not_im2col",
        sentence="a store is through a tiled map",
        name="im2col of a store",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: where(c.tensor_map.is_im2col, 1, 0),
        must=Between(0, 0),
        when=_is_store,
        source=MEASURED,
        effect="an im2col store",
    ),
    Rule(
        id="load_interleave32_swizzle32",
        sentence="an interleaved layout of 32B has swizzle 32B",
        name="a swizzle of",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: c.tensor_map.swizzle,
        must=Between(1, 1),
        when=lambda c: c.tensor_map.interleave == 2,
        source=MEASURED,
        effect="a copy with interleave 32B and another swizzle, which the driver accepts",
    ),
    Rule(
        id="im2col_not_interleaved",
        sentence="the interleaved layout of an im2col copy is none",
        name="an interleaved layout of",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: c.tensor_map.interleave,
        must=Between(0, 0),
        when=_is_im2col,
        source=MEASURED,
        effect="an interleaved im2col copy",
    ),
    Rule(
        id="im2col_start_in_corners",
        sentence="each spatial start coordinate lies within the corners",
        name="each spatial start coordinate",
        profiles=("documented", *UNMEASURED),
        each="spatial",
        value=lambda c, i: c.coordinate[i + 1],
        must=Between(lambda c, i: c.tensor_map.lower_corner[i], _highest),
        when=_is_im2col,
        source=PTX,
        effect="an im2col walk from outside the corners",
    ),
    Rule(
        id="im2col_start_nonnegative",
        sentence="the channel and the image at which an im2col copy starts are at least 0",
        name="the channel and the image at the start",
        profiles=UNMEASURED,
        each="dimension",
        value=lambda c, i: where((i == 0) | (i == c.rank - 1), c.coordinate[i], 0),
        must=Between(0, None),
        when=_is_im2col,
        source=MEASURED,
        effect="an im2col walk from a negative channel or image",
    ),
    Rule(
        id="im2col_inner_stride",
        sentence="the element stride of the channels is 1 in an im2col map",
        name="an element stride of the channels of",
        profiles=UNMEASURED,
        each="map",
        value=lambda c, i: c.tensor_map.element_stride[0],
        must=Between(1, 1),
        when=_is_im2col,
        source=MEASURED,
        effect="an im2col copy with an element stride of the channels",
    ),
    Rule(
        id="im2col_walk_int32",
        sentence="each last base position of an im2col walk is less than 2^31",
        name="each last base position",
        profiles=UNMEASURED,
        each="spatial",
        value=_highest,
        must=Between(None, INT32),
        when=_is_im2col,
        source=MEASURED,
        effect="an im2col walk past 2^31",
    ),
    Rule(
        id="box_end_int32",
        sentence="the last coordinate of a box is less than 2^31 in each dimension",
        name="the last coordinate of the box",
        profiles=UNMEASURED,
        each="dimension",
        value=lambda c, i: c.coordinate[i] + (c.tensor_map.steps[i] - 1) * _steps_over(c, i),
        must=Between(None, INT32),
        when=_is_tiled,
        source=MEASURED,
        effect="a box that reaches past coordinate 2^31 - 1",
    ),
    # -- what is legal and surprises ----------------------------------------------------------------
    Rule(
        id="smem_swizzle_phase",
        sentence="the shared-memory address is a multiple of the swizzle's repeat, 256, 512 or 1024 bytes",
        name="the shared-memory address",
        profiles=LINT,
        each="map",
        value=lambda c, i: c.shared_address,
        must=MultipleOf(lambda c, i: c.tensor_map.swizzle.repeat_bytes),
        source=f"PTX ISA, Swizzling Modes; {MEASURED}",
        unit="bytes",
        fix="declare the buffer alignas(1024), or swizzle absolute addresses",
        effect="the swizzle XORs absolute addresses: offsets from the tile's start are swizzled at another phase",
    ),
    Rule(
        id="store_tail_16",
        sentence="the innermost extent of a stored tensor is a multiple of 16 bytes",
        name="the innermost extent",
        profiles=LINT,
        each="map",
        value=lambda c, i: c.tensor_map.global_dim[0] * c.tensor_map.element_bytes,
        must=MultipleOf(UNIT_BYTES),
        when=lambda c: _is_store(c) & _is_dense(c),
        source=MEASURED,
        unit="bytes",
        fix="pad the rows, or show that the gap after each is dead",
        effect="a store writes whole units of 16 bytes: up to 15 bytes past the end of each row",
    ),
)

BY_ID = {r.id: r for r in RULES}
PROFILES = tuple(dict.fromkeys(p for r in RULES for p in r.profiles))


@functools.cache
def rules_of(profile: str) -> tuple[Rule, ...]:
    """The rules that count in a profile."""
    return of_profile(RULES, profile)


def violations(c: TensorCopy, profile: str = "hardware") -> list[Violation]:
    """What a copy of numbers breaks in a profile, at every place."""
    return engine.violations(c, rules_of(profile))
