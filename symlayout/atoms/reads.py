"""The operand of a matrix instruction in a shared tile: its elements and their addresses.

    >>> first = DescriptorRead(MatrixDescriptor(0, stride_bytes=1024, swizzle=128), 64, "bf16")
    >>> print(first, first.addresses(1024)[:3])
    wgmma operand 64x16 from (0,0) on: K-major at 0, LBO 16 B, SBO 1024 B, swizzle 128B [1024 1168 1312]

Elements are (row, k) in the tile: (M,K) for A, (N,K) for B.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..dtype import DType
from ..errors import LayoutError
from ..int_tuple import text
from ..layout import ComposedLayout, Layout, is_layout
from ..swizzle import Swizzle
from ..values import rows as values_of
from .descriptor import STEP_BYTES, MatrixDescriptor
from .ldmatrix import ROW_BYTES

Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class DescriptorRead:
    """The operand of one wgmma: *rows* and 32 bytes of K, from element *at* of the tile on.

    The descriptor counts from the start of the tile; the tile's own address is added at run time.
    """

    descriptor: MatrixDescriptor
    rows: int
    dtype: DType
    at: tuple[int, int] = (0, 0)

    static: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", DType.of(self.dtype))
        self.descriptor.layout(self.rows, self.depth, self.dtype)

    @property
    def depth(self) -> int:
        return STEP_BYTES // self.dtype.bytes

    @property
    def major(self) -> str:
        return self.descriptor.major

    @property
    def period(self) -> int:
        """Adding a multiple of this to the base adds it to every address."""
        return max(1, self.descriptor.swizzle.repeat_bytes)

    def size(self) -> int:
        return self.rows * self.depth

    def elements(self) -> Numbers:
        """(row, k) of each element, row fastest."""
        k, row = np.divmod(np.arange(self.size()), self.rows)
        return np.stack([row + self.at[0], k + self.at[1]], axis=1)

    def addresses(self, base: int) -> Numbers:
        """The byte at which each element is read, with the tile at *base*."""
        found: Numbers = self.descriptor.addresses(self.rows, self.depth, self.dtype, base).reshape(-1, order="F")
        return found

    def __str__(self) -> str:
        return f"wgmma operand {self.rows}x{self.depth} from {text(self.at)} on: {self.descriptor}"


@dataclass(frozen=True)
class LdmatrixRead:
    """The operand of ldmatrix: *start* maps a lane to the offset of its row, *tile* maps (lane, element) to (row, k).

    >>> from symlayout import E
    >>> lanes = Layout(((16, 2), 8), ((E(0), 8 * E(1)), E(1)))  # x4: rows 0 to 15, then k = 8
    >>> print(LdmatrixRead(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((16, 2), (64, 8))), lanes, "bf16"))
    ldmatrix of 32 rows: lanes Sw<3,3,3> o 0 o (16,2):(64,8), elements ((16,2),8):((1@0,8@1),1@1)

    Offsets are in elements and swizzled relative to the tile, as kernels compute them, or on the address where
    *absolute*. A row is 8 elements of 16 bits. Raises LayoutError for another number of lanes than 8, 16, 32.
    """

    start: Any
    tile: Layout
    dtype: DType
    absolute: bool = False

    static: ClassVar[bool] = True
    major: ClassVar[str] = "K"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", DType.of(self.dtype))
        if self.dtype.bits != 16:
            raise LayoutError(f"expected elements of 16 bits for ldmatrix, got {self.dtype}")
        if not is_layout(self.start) or self.start.has_bases or self.start.size() not in (8, 16, 32):
            raise LayoutError(f"expected offsets of 8, 16 or 32 lanes, got {self.start}")
        if isinstance(self.start, ComposedLayout) and not isinstance(self.start.outer, Swizzle):
            raise LayoutError(f"expected a swizzle outside of the lanes' layout, got {self.start.outer}")
        if not isinstance(self.tile, Layout) or not self.tile.has_bases or self.tile.size() != self.size():
            raise LayoutError(f"expected (lane, 8) to (row, k) with strides such as E(0), got {self.tile}")

    @property
    def lanes(self) -> int:
        return int(self.start.size())

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of the offsets, on bytes."""
        outer = getattr(self.start, "outer", Swizzle(0, 4, 3))
        return Swizzle(outer.bits, outer.base + self.dtype.bytes.bit_length() - 1, outer.shift)

    @property
    def period(self) -> int:
        """Adding a multiple of this to the base adds it to every address."""
        return self.swizzle.period if self.absolute else 1

    def size(self) -> int:
        return self.lanes * ROW_BYTES // self.dtype.bytes

    def elements(self) -> Numbers:
        """(row, k) of each element, lane fastest."""
        return values_of(self.tile)

    def addresses(self, base: int) -> Numbers:
        """The byte at which each element is read, with the tile at *base*."""
        inner = self.start.inner if isinstance(self.start, ComposedLayout) else self.start
        offset = self.start.offset if isinstance(self.start, ComposedLayout) else 0
        plain = (values_of(inner)[:, 0] + offset) * self.dtype.bytes
        row = self.swizzle(base + plain) if self.absolute else base + self.swizzle(plain)
        step = np.arange(0, ROW_BYTES, self.dtype.bytes)
        out: Numbers = (row[None, :] + step[:, None]).reshape(-1)
        return out

    def __str__(self) -> str:
        how = ", absolute" if self.absolute else ""
        return f"ldmatrix of {self.lanes} rows: lanes {self.start}, elements {self.tile}{how}"
