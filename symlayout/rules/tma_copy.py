"""The rules of one copy through a tensor map, one row each.

``hardware`` holds the rules of a copy on compute capability 9.0 (faults seen on an H200, driver 580.159.04, counted
in docs/tma_on_h200.md). ``lint`` holds copies that are legal and surprising (lints of the map alone are in
``rules.tma_lints``).

    >>> from symlayout.tma import TensorMap, TmaType
    >>> m = TensorMap(TmaType.FLOAT16, 0, (64, 64), (128,), (32, 8), swizzle=64)
    >>> for v in violations(TensorCopy(m, (4, 0), 128)):
    ...     print(v)
    coord0_multiple_16: expected the innermost start coordinate to be a multiple of 16 bytes, got 8 (0*16 + 8) \
bytes; start at a multiple of 16 bytes and skip the excess in shared memory
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any

from ..errors import LayoutError
from ..expr import Expr, Int, integer
from ..int_tuple import text
from ..tma import TYPE_WORDS, TensorMap, TmaType
from . import rule as engine
from .rule import Between, MultipleOf, OneOf, Rule, Violation, of_profile, row_of

DIRECTIONS = ("load", "store", "reduce")
MODE_WORDS = {0: "tile", 1: "im2col"}
INSTRUCTION = re.compile(r"(?P<rank>[1-5])d(\.(tile|(?P<im2col>im2col(_no_offs)?)))?")

# The data types with which each operation of cp.reduce.async.bulk.tensor runs on an H200, driver 580.159.04: 16 or more
# copies of each pair, 5 illegal instructions of every other (16 for and, or, xor of INT64). The sums of FLOAT64 and of
# the FTZ and TF32 types are in no table of PTX; and, or, xor of INT64 are in one and do not run.
_WORDS = (TmaType.UINT32, TmaType.INT32, TmaType.UINT64)
_HALVES = (TmaType.FLOAT16, TmaType.BFLOAT16)
_SINGLES = (TmaType.FLOAT32, TmaType.FLOAT32_FTZ, TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ)
REDUCED: dict[str, tuple[int, ...]] = {
    "add": tuple(sorted((*_WORDS, *_HALVES, *_SINGLES, TmaType.FLOAT64))),
    **dict.fromkeys(("min", "max"), tuple(sorted((*_WORDS, TmaType.INT64, *_HALVES)))),
    **dict.fromkeys(("inc", "dec"), (TmaType.UINT32,)),
    **dict.fromkeys(("and", "or", "xor"), _WORDS),
}

HARDWARE = ("hardware",)
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

    *offsets* are those of an im2col load, W first; none means zeros. *op* is the operation of a reduction,
    *instruction* the form that is issued, as PTX writes it (``"3d"``, ``"4d.im2col"``); none is that of the map.
    Symbols are allowed. Raises LayoutError where coordinate or offsets do not have the entries that the map asks for,
    or for words that PTX does not have.
    """

    tensor_map: TensorMap
    coordinate: tuple[Int, ...]
    shared_address: Int = 0
    direction: str = "load"
    offsets: tuple[Int, ...] = ()
    op: str = field(default="", kw_only=True)
    instruction: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        put, m = object.__setattr__, self.tensor_map
        if self.direction not in DIRECTIONS:
            raise LayoutError(f"expected one of {', '.join(DIRECTIONS)} as direction, got {self.direction!r}")
        if self.op and (self.direction != "reduce" or self.op not in REDUCED):
            raise LayoutError(
                f"expected an operation of {', '.join(REDUCED)} for a reduction, got {self.op!r} for a {self.direction}"
            )
        if self.instruction and not INSTRUCTION.fullmatch(self.instruction):
            raise LayoutError(f"expected an instruction such as 3d or 3d.im2col, got {self.instruction!r}")
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
    def instruction_rank(self) -> int:
        """The dimensions of the instruction."""
        found = INSTRUCTION.fullmatch(self.instruction)
        return int(found["rank"]) if found else self.rank

    @property
    def instruction_is_im2col(self) -> bool:
        """Whether the instruction is one of im2col."""
        found = INSTRUCTION.fullmatch(self.instruction)
        return found["im2col"] is not None if found else self.tensor_map.is_im2col

    @property
    def static(self) -> bool:
        numbers = (*self.coordinate, *self.offsets, self.shared_address)
        return self.tensor_map.static and not any(isinstance(x, Expr) for x in numbers)

    def __str__(self) -> str:
        to = "to" if self.direction == "load" else "from"
        offsets = f" offsets {text(self.offsets)}" if any(type(x) is not int or x for x in self.offsets) else ""
        what = f"{self.direction} {self.op}".rstrip()
        return f"{what} of {text(self.coordinate)}{offsets} {to} {self.shared_address}: {self.tensor_map}"


def _is_store(c: Any) -> Any:
    return c.direction != "load"


def _is_dense(c: Any) -> Any:
    return c.tensor_map.interleave == 0


def _is_im2col(c: Any) -> Any:
    return c.tensor_map.is_im2col


def _is_im2col_store(c: Any) -> Any:
    return _is_store(c) & _is_im2col(c)


def _inner_start(c: Any, i: int) -> Any:
    return c.coordinate[0] * c.tensor_map.element_bytes


def _highest(c: Any, i: int) -> Any:
    """The last base position of an im2col walk along spatial dimension i."""
    return c.tensor_map.global_dim[i + _is_dense(c)] - 1 + c.tensor_map.upper_corner[i]


def _mode(c: Any, i: int) -> int:
    return int(c.tensor_map.is_im2col)


def _reduced(c: Any, i: int) -> tuple[int, ...]:
    return REDUCED[c.op]


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
        id="extent_2_31",
        sentence="each extent of the tensor is at most 2^31 elements, though the driver accepts 2^32",
        name="each extent",
        profiles=HARDWARE,
        each="dimension",
        value=lambda c, i: c.tensor_map.global_dim[i],
        must=Between(None, INT32 + 1),
        source=f"{MEASURED}: loads, stores and reductions, tiled and im2col, wherever the box starts",
        unit="elements",
        fix="split the tensor",
        effect=ILLEGAL,
    ),
    Rule(
        id="instruction_rank",
        sentence="the dimensions of the instruction are those of the map",
        name="the dimensions of the instruction",
        profiles=HARDWARE,
        each="map",
        value=lambda c, i: c.instruction_rank,
        must=Between(lambda c, i: c.rank, lambda c, i: c.rank),
        source=f"{PTX}; {MEASURED}",
        fix="use the .Nd form of the map's rank",
        effect=ILLEGAL,
    ),
    Rule(
        id="instruction_mode",
        sentence="the mode of the instruction is that of the map, tile or im2col",
        name="the mode of the instruction",
        profiles=HARDWARE,
        each="map",
        value=lambda c, i: int(c.instruction_is_im2col),
        must=Between(_mode, _mode, MODE_WORDS),
        source=f"{PTX}; {MEASURED}",
        effect=ILLEGAL,
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
    Rule(
        id="im2col_start_in_corners",
        sentence="each spatial start coordinate lies within the corners",
        name="each spatial start coordinate",
        profiles=("documented", *HARDWARE),
        each="spatial",
        value=lambda c, i: c.coordinate[i + _is_dense(c)],
        must=Between(lambda c, i: c.tensor_map.lower_corner[i], _highest),
        when=_is_im2col,
        source=f"{PTX}; {MEASURED}",
        fix="start inside the box of base positions and reach the border with the offsets",
        effect=ILLEGAL,
    ),
    Rule(
        id="im2col_store_lower_corner",
        sentence="each lower corner of an im2col store is at least 0",
        name="each lower corner of an im2col store",
        profiles=HARDWARE,
        each="spatial",
        value=lambda c, i: c.tensor_map.lower_corner[i],
        must=Between(0, None),
        when=_is_im2col_store,
        source=MEASURED,
        fix="store through a map of its own, whose corners lie within the tensor",
        effect=ILLEGAL,
    ),
    Rule(
        id="im2col_store_upper_corner",
        sentence="each upper corner of an im2col store is at most 0",
        name="each upper corner of an im2col store",
        profiles=HARDWARE,
        each="spatial",
        value=lambda c, i: c.tensor_map.upper_corner[i],
        must=Between(None, 0),
        when=_is_im2col_store,
        source=MEASURED,
        fix="store through a map of its own, whose corners lie within the tensor",
        effect=ILLEGAL,
    ),
    Rule(
        id="reduction_type",
        sentence="the data type of a reduction is one that its operation has",
        name="the data type of the reduction",
        profiles=HARDWARE,
        each="map",
        value=lambda c, i: c.tensor_map.dtype,
        must=OneOf(_reduced, dict(enumerate(TYPE_WORDS))),
        when=lambda c: c.op != "",
        source=f"PTX ISA, cp.reduce.async.bulk.tensor; {MEASURED}",
        effect=ILLEGAL,
    ),
    # -- what is legal and surprises ----------------------------------------------------------------
    Rule(
        id="smem_swizzle_phase",
        sentence="the shared-memory address is a multiple of the swizzle's repeat, 256, 512 or 1024 bytes",
        name="the shared-memory address",
        profiles=(*LINT, "phase"),
        each="map",
        value=lambda c, i: c.shared_address,
        must=MultipleOf(lambda c, i: c.tensor_map.swizzle.repeat_bytes),
        when=lambda c: c.tensor_map.swizzle > 0,
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
    """The rules that a copy of numbers breaks in a profile, at every place."""
    return engine.violations(c, rules_of(profile))
