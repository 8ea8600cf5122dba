"""The shared-memory descriptor of wgmma: where a matrix begins and how far apart its parts are, in 64 bits.

    >>> d = MatrixDescriptor(2048, stride_bytes=1024, swizzle=128)
    >>> print(d)
    K-major at 2048, LBO 16 B, SBO 1024 B, swizzle 128B
    >>> hex(d.encode())
    '0x4000004000010080'
    >>> print(d.layout(64, 16, "bf16"))
    ((8,8),(8,2)):((128,1024),(2,16))

A matrix is rows x depth: (M,K) for A, (N,K) for B. PTX ISA, "Matrix Descriptor Format" and "Strides" of wgmma; CUTLASS,
``mma_sm90_desc.hpp`` and ``mma_traits_sm90_gmma.hpp``; each address was measured on an H200, driver 580.159.04.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..int_tuple import rank
from ..layout import Layout
from ..tma import TmaSwizzle
from ..tma.tile_operands import shared_operand

UNIT_BYTES = 16  # addresses and offsets are stored in these; T elements
STEP_BYTES = 32  # of K that one wgmma reads
ADDRESS_BITS = 18  # of shared memory, before the division by 16
LINE_BYTES = 128  # what the base offset counts
MAJORS = ("K", "MN")

# Codes of the layout type: the reverse of the tensor map's.
CODES: Mapping[TmaSwizzle, int] = {
    **{TmaSwizzle.none: 0, TmaSwizzle.bytes128: 1},
    **{TmaSwizzle.bytes64: 2, TmaSwizzle.bytes32: 3},
}

# Field: (lowest bit, bits, unit).
FIELDS: Mapping[str, tuple[int, int, int]] = {
    "start_bytes": (0, 14, UNIT_BYTES),
    "leading_bytes": (16, 14, UNIT_BYTES),
    "stride_bytes": (32, 14, UNIT_BYTES),
    "base_offset": (49, 3, 1),
}
LAYOUT_TYPE = (62, 2)


@dataclass(frozen=True)
class MatrixDescriptor:
    """A matrix in shared memory, as the descriptor of a wgmma describes it. Which of the two offsets goes where
    depends on the layout:

        ========  =======  ==========================  =======================
        major     swizzle  leading_bytes (LBO)         stride_bytes (SBO)
        ========  =======  ==========================  =======================
        K         none     next 16 bytes of K          next 8 rows
        K         others   not read; 16 by convention  next 8 rows
        MN        none     next 8 of K                 next 16 bytes of rows
        MN        others   next span of rows           next 8 of K
        ========  =======  ==========================  =======================

    *major* is not in the 64 bits: it is an operand of the instruction. Raises LayoutError for values that fit no
    field: numbers that are not a multiple of 16 or too large, and swizzles of later architectures.
    """

    start_bytes: int
    leading_bytes: int = UNIT_BYTES
    stride_bytes: int = UNIT_BYTES
    swizzle: TmaSwizzle = TmaSwizzle.none
    major: str = "K"
    base_offset: int = 0  # (start of the pattern >> 7) & 7, where it is not a multiple of the swizzle's repeat

    def __post_init__(self) -> None:
        object.__setattr__(self, "swizzle", TmaSwizzle.of(self.swizzle))
        if self.swizzle not in CODES:
            raise LayoutError(f"expected a swizzle of 32, 64 or 128 bytes or none for wgmma, got {self.swizzle}")
        if self.major not in MAJORS:
            raise LayoutError(f"expected a major of {', '.join(MAJORS)}, got {self.major!r}")
        for name, (_, bits, unit) in FIELDS.items():
            _expect_field(name, getattr(self, name), bits, unit)

    # -- the 64 bits ----------------------------------------------------------------------------------

    def encode(self) -> int:
        """The descriptor as the instruction takes it."""
        out = CODES[self.swizzle] << LAYOUT_TYPE[0]
        for name, (low, _, unit) in FIELDS.items():
            out |= getattr(self, name) // unit << low
        return out

    @classmethod
    def decode(cls, bits: int, major: str = "K") -> MatrixDescriptor:
        """The descriptor of 64 bits. Raises LayoutError for bits that no field has.

        >>> print(MatrixDescriptor.decode(0x4000004000010080))
        K-major at 2048, LBO 16 B, SBO 1024 B, swizzle 128B
        """
        if type(bits) is not int or not 0 <= bits < 1 << 64:
            raise LayoutError(f"expected the 64 bits of a descriptor, got {bits!r}")
        held = {name: (bits >> low & (1 << n) - 1) * unit for name, (low, n, unit) in FIELDS.items()}
        code = bits >> LAYOUT_TYPE[0]
        made = cls(swizzle=next(s for s, c in CODES.items() if c == code), major=major, **held)
        if made.encode() != bits:
            raise LayoutError(f"expected 0 in the bits that no field has, got {bits ^ made.encode():#x}")
        return made

    # -- what it says ---------------------------------------------------------------------------------

    def layout(self, rows: int, depth: int, dtype: DTypeLike) -> Layout:
        """The canonical layout: (row, k) to bytes past the start, before the swizzle, which acts on addresses.

        Raises LayoutError for extents that the layout does not have and for 8- and 32-bit types that are MN-major.
        """
        size = _element_bytes(dtype, self.major)
        t, span = UNIT_BYTES // size, self.swizzle.span_bytes
        chunk = (t, max(1, span // UNIT_BYTES))
        if self.major == "K":
            inside = (size, UNIT_BYTES if span else self.leading_bytes)
            _expect_extents(rows, 8, depth, t, span // size)
            return Layout(((8, rows // 8), (t, depth // t)), ((span or UNIT_BYTES, self.stride_bytes), inside))
        wide = t * chunk[1]
        _expect_extents(rows, min(wide, rows) if rows % t == 0 else wide, depth, 8, 0)
        next_rows, next_k = (self.leading_bytes, self.stride_bytes) if span else (self.stride_bytes, self.leading_bytes)
        return Layout(
            ((min(wide, rows), max(1, rows // wide)), (8, depth // 8)),
            ((size, next_rows), (span or UNIT_BYTES, next_k)),
        )

    def addresses(self, rows: int, depth: int, dtype: DTypeLike, base: int = 0) -> np.ndarray[Any, Any]:
        """The byte address that is read for each (row, k): an array of *rows* x *depth*.

        *base* is added to the start, as for a tile that is placed at run time. The swizzle is that of the address less
        128 bytes times the base offset: with 0 it is that of tensor copies, wherever the tile begins.
        """
        plain = self.layout(rows, depth, dtype).offsets().reshape(depth, rows).T
        phase = LINE_BYTES * self.base_offset
        found: np.ndarray[Any, Any] = self.swizzle.swizzle(base + self.start_bytes + plain - phase) + phase
        return found

    def advanced(self, bytes_: int) -> MatrixDescriptor:
        """The descriptor that begins *bytes_* later: 32 for the next K step inside a swizzled row.

        The swizzle looks at address bits 7 to 9, which a step inside a row of 128 bytes does not change.
        """
        return replace(self, start_bytes=self.start_bytes + bytes_)

    # -- from a layout --------------------------------------------------------------------------------

    @classmethod
    def of(
        cls,
        smem_layout: Any,
        dtype: DTypeLike,
        major: str | None = None,
        *,
        at: tuple[int, int] = (0, 0),
        rows: int | None = None,
        start_bytes: int = 0,
    ) -> MatrixDescriptor:
        """The descriptor of one wgmma's operand in a shared tile (rows, depth): *rows* and 32 bytes of K from *at* on.

        >>> from symlayout import ComposedLayout, Swizzle, tile_to_shape
        >>> k_major = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
        >>> print(MatrixDescriptor.of(tile_to_shape(k_major, (128, 128)), "bf16", at=(64, 80), rows=64))
        K-major at 24608, LBO 16 B, SBO 1024 B, swizzle 128B

        The layout is in elements, swizzled relative to the tile, which starts at *start_bytes*, a multiple of the
        swizzle's repeat. Raises LayoutError with the first element that no canonical layout has there.
        """
        inner, swizzle = shared_operand(smem_layout, DType.of(dtype))
        if rank(inner) != 2:
            raise LayoutError(f"expected a shared layout of two modes (rows, depth), got {smem_layout}")
        table = _table(inner) * DType.of(dtype).bytes
        major = _major(table, DType.of(dtype).bytes, smem_layout) if major is None else major
        size = _element_bytes(dtype, major)
        depth = STEP_BYTES // size
        rows = table.shape[0] - at[0] if rows is None else rows
        window = table[at[0] : at[0] + rows, at[1] : at[1] + depth]
        if window.shape != (rows, depth):
            raise LayoutError(f"expected {rows} rows and {depth} of K from {at} on, got a tile of {table.shape}")
        leading, stride = _steps(window - window[0, 0], swizzle, major, UNIT_BYTES // size)
        try:
            found = cls(start_bytes + int(window[0, 0]), leading, stride, swizzle, major)
            said = _table(found.layout(rows, depth, dtype))
        except LayoutError as e:
            raise LayoutError(f"expected a canonical layout of wgmma, got {smem_layout}: {e}") from None
        unlike = np.argwhere(said != window - window[0, 0])
        if len(unlike):
            i, k = map(int, unlike[0])
            raise LayoutError(
                f"expected a canonical layout of wgmma, got {smem_layout}: with {found} element ({i},{k}) would be "
                f"{said[i, k]} bytes past the start, and is {window[i, k] - window[0, 0]}"
            )
        return found

    def __str__(self) -> str:
        return f"{self.major}-major at {self.start_bytes}, {self.terms}"

    @property
    def terms(self) -> str:
        """All but the start."""
        parts = [f"LBO {self.leading_bytes} B", f"SBO {self.stride_bytes} B", f"swizzle {self.swizzle}"]
        return ", ".join(parts + [f"base offset {self.base_offset}"] * bool(self.base_offset))


def _expect_field(name: str, value: Any, bits: int, unit: int) -> None:
    limit = (1 << bits) * unit
    if type(value) is not int or value % unit or not 0 <= value < limit:
        what = f"a multiple of {unit} below {limit}" if unit > 1 else f"an integer below {limit}"
        raise LayoutError(f"expected {what} for {name}, got {value!r}")


def _element_bytes(dtype: Any, major: str) -> int:
    row = DType.of(dtype)
    if major == "MN" and row.bits != 16:
        raise LayoutError(f"expected a K-major layout for {row}: only 16-bit types may be MN-major")
    return row.bytes


def _expect_extents(rows: int, row_unit: int, depth: int, depth_unit: int, longest: int) -> None:
    if rows < 1 or rows % row_unit:
        raise LayoutError(f"expected a multiple of {row_unit} rows, got {rows}")
    if depth < 1 or depth % depth_unit:
        raise LayoutError(f"expected a depth in multiples of {depth_unit}, got {depth}")
    if longest and depth > longest:
        raise LayoutError(f"expected at most the {longest} elements of a swizzled row along K, got {depth}")


def _table(layout: Layout) -> np.ndarray[Any, Any]:
    """The values of a layout of two modes, as rows and columns."""
    first, second = layout[0].size(), layout[1].size()
    return layout.offsets().reshape(second, first).T


def _major(table: np.ndarray[Any, Any], size: int, smem_layout: Any) -> str:
    """Along which mode elements are contiguous."""
    for major, step in (("K", table[:1, 1:2]), ("MN", table[1:2, :1])):
        if step.size and int(step[0, 0] - table[0, 0]) == size:
            return major
    raise LayoutError(f"expected elements that are contiguous along rows or depth, got {smem_layout}")


def _steps(window: np.ndarray[Any, Any], swizzle: TmaSwizzle, major: str, t: int) -> tuple[int, int]:
    """(LBO, SBO) as the window has them; 16 for one that it does not need."""

    def step(row: int, k: int) -> int:
        inside = row < window.shape[0] and k < window.shape[1]
        return int(window[row, k]) if inside else UNIT_BYTES

    if major == "K":
        return (UNIT_BYTES if swizzle else step(0, t)), step(8, 0)
    if swizzle:
        return step(swizzle.span_bytes // UNIT_BYTES * t, 0), step(0, 8)
    return step(0, 8), step(t, 0)
