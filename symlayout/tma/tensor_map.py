"""Tensor maps as data: what ``cuTensorMapEncodeTiled`` and ``cuTensorMapEncodeIm2col`` are given, symbols allowed.

    >>> from symlayout import dims
    >>> M, K = dims("M K")
    >>> print(TensorMap(TmaType.BFLOAT16, 0, (K, M), (2 * K,), (64, 128), swizzle=128))
    TensorMap bf16 (K,M) strides (2*K,) B, box (64,128), swizzle 128B

Dimension 0 is the contiguous one, as the driver has it; its stride is one element and is not stored.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import mul
from typing import Any, cast

from ..canonical import digest
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Expr, Int, Symbol, integer
from ..facts import symbols_in
from ..int_tuple import Shape, ceil_div, is_one, leaves, product, text
from ..layout import Layout
from .enumerations import (
    ENUMERATIONS,
    TYPE_OF,
    TmaInterleaveLayout,
    TmaL2FetchSize,
    TmaOobFill,
    TmaSwizzle,
    TmaType,
)


@dataclass(frozen=True)
class Im2col:
    """The bounding box of an im2col map; corners W first, then H, then D."""

    lower_corner: tuple[Int, ...]
    upper_corner: tuple[Int, ...]
    channels_per_pixel: Int
    pixels_per_column: Int

    def __str__(self) -> str:
        return (
            f"im2col corners {text(self.lower_corner)}..{text(self.upper_corner)}, {self.pixels_per_column} pixels of "
            f"{self.channels_per_pixel} channels"
        )


@dataclass(frozen=True)
class TensorMap:
    """The parameters of a tensor map. Sizes in elements, strides in bytes, innermost dimension first.

    >>> print(TensorMap(TmaType.FLOAT32, 0, (64, 64), (256,), (8, 8), (1, 8)))
    TensorMap f32 (64,64) strides (256,) B, box (8,8) every (1,8)

    A map says what was asked for, legal or not: ``symlayout.rules.tma`` has what each profile accepts.
    Raises LayoutError where the tuples do not have one entry for each dimension.
    """

    dtype: TmaType
    global_address: Int
    global_dim: tuple[Int, ...]
    global_stride_bytes: tuple[Int, ...]
    box_dim: tuple[Int, ...] = ()
    element_stride: tuple[Int, ...] = ()
    interleave: TmaInterleaveLayout = TmaInterleaveLayout.none
    swizzle: TmaSwizzle = TmaSwizzle.none
    l2_promotion: TmaL2FetchSize = TmaL2FetchSize.none
    oob_fill: TmaOobFill = TmaOobFill.none
    im2col: Im2col | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "dtype", _type(self.dtype))
        put(self, "global_address", integer(self.global_address))
        for name in ("global_dim", "global_stride_bytes", "box_dim", "element_stride"):
            put(self, name, tuple(map(integer, getattr(self, name))))
        if not self.element_stride:
            put(self, "element_stride", (1,) * self.rank)
        for name, kind in ENUMERATIONS.items():
            put(self, name, kind.of(getattr(self, name)))
        self._expect_lengths()

    @classmethod
    def over(cls, tensor: Layout, dtype: DTypeLike, box: Shape, address: Int = 0, **more: Any) -> TensorMap:
        """The tiled map of a flat layout in elements, innermost mode first.

        >>> print(TensorMap.over(Layout((1024, 64), (1, 1024)), "bf16", (64, 8), swizzle=128))
        TensorMap bf16 (1024,64) strides (2048,) B, box (64,8), swizzle 128B

        Raises LayoutError unless the modes are flat and the first has stride 1.
        """
        modes = [(tensor.shape, tensor.stride)] if not isinstance(tensor.shape, tuple) else None
        modes = modes or list(zip(tensor.shape, tensor.stride, strict=True))
        if any(isinstance(n, tuple) for n, _ in modes):
            raise LayoutError(f"expected flat modes, one for each dimension of a tensor map, got {tensor}")
        if modes[0][1] != 1:
            raise LayoutError(f"expected stride 1 in the first mode (dimension 0), got {modes[0][1]} in {tensor}")
        kind = _type(dtype)
        size = max(1, kind.bits // 8)
        strides = tuple(d * size for _, d in modes[1:])
        return cls(kind, address, tuple(n for n, _ in modes), strides, tuple(leaves(box)), **more)

    def _expect_lengths(self) -> None:
        r = self.rank
        wanted = {"global_stride_bytes": max(0, r - 1), "element_stride": r}
        if self.im2col is None:
            wanted["box_dim"] = r
        elif self.box_dim:
            raise LayoutError(f"expected no box in an im2col map, got {text(self.box_dim)}")
        else:
            wanted |= {"lower_corner": max(0, r - 2), "upper_corner": max(0, r - 2)}
        for name, n in wanted.items():
            got = getattr(self, name)
            if len(got) != n:
                raise LayoutError(f"expected {n} entries of {name} for rank {r}, got {text(got)}")

    # -- what follows from the parameters -----------------------------------------------------------

    @property
    def rank(self) -> int:
        return len(self.global_dim)

    @property
    def is_im2col(self) -> bool:
        return self.im2col is not None

    @property
    def lower_corner(self) -> tuple[Int, ...]:
        return self.im2col.lower_corner if self.im2col else ()

    @property
    def upper_corner(self) -> tuple[Int, ...]:
        return self.im2col.upper_corner if self.im2col else ()

    @property
    def channels_per_pixel(self) -> Int:
        return self.im2col.channels_per_pixel if self.im2col else 0

    @property
    def pixels_per_column(self) -> Int:
        return self.im2col.pixels_per_column if self.im2col else 0

    @property
    def element_bits(self) -> int:
        return self.dtype.bits

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; 1 for the packed types, since no rule of CC 9.0 depends on their bytes."""
        return max(1, self.dtype.bits // 8)

    @property
    def unit_bytes(self) -> int:
        """Bytes of the unit of dimension 0: elements, or pixels of 16 or 32 bytes with interleave."""
        return (self.element_bytes, 16, 32)[self.interleave]

    @property
    def span_bytes(self) -> int:
        return self.swizzle.span_bytes

    @property
    def steps(self) -> tuple[Int, ...]:
        """The number of elements (pixels, with interleave) that a tile copy takes along each dimension."""
        if self.interleave == 0:
            inner = self.box_dim[:1]
            return inner + tuple(_steps(b, e) for b, e in zip(self.box_dim[1:], self.element_stride[1:], strict=True))
        n = [_steps(b, e) for b, e in zip(self.box_dim, self.element_stride, strict=True)]
        n[self.rank - 2] = 1  # one copy fetches one channel slice
        return tuple(n)

    @property
    def row_bytes(self) -> Int:
        """Bytes of data in one row of shared memory."""
        if self.is_im2col:
            return self.unit_bytes if self.interleave else self.channels_per_pixel * self.unit_bytes
        return self.steps[0] * self.unit_bytes

    @property
    def rows(self) -> Int:
        """Rows of shared memory that a copy fills: all steps but the innermost, or the pixels of im2col."""
        return self.pixels_per_column if self.is_im2col else cast(Int, product(self.steps[1:]))

    @property
    def pitch_bytes(self) -> Int:
        """From one row to the next in shared memory: a swizzled row takes its whole span, however narrow it is."""
        return self.span_bytes if self.span_bytes and self.interleave == 0 else self.row_bytes

    @property
    def transaction_bytes(self) -> Int:
        """The bytes that a copy credits to its barrier: data and fill, without the gaps of narrow swizzled rows."""
        return self.row_bytes * self.rows

    @property
    def landed_bytes(self) -> Int:
        """The shared memory that a copy occupies, gaps included.

        With interleave rows are dense, and the swizzle moves the last pixels within its span.
        """
        bytes_ = self.pitch_bytes * self.rows
        span = self.span_bytes if self.interleave else 0
        return ceil_div(bytes_, span) * span if span else bytes_

    @property
    def extent_bytes(self) -> Int:
        """From the global address to the end of the farthest element: what the tensor spans where strides are >= 0."""
        outer = zip(self.global_dim[1:], self.global_stride_bytes, strict=True)
        return integer(self.global_dim[0] * self.unit_bytes + sum((n - 1) * d for n, d in outer))

    @property
    def landing(self) -> Layout:
        """The landing of a copy: box position (dimension 0 first) to bytes past the tile, unswizzled.

        >>> print(TensorMap(TmaType.FLOAT16, 0, (1024, 64), (2048,), (16, 8), swizzle=128).landing)
        (16,8):(2,128)
        """
        inner, *outer = (self.row_bytes // self.unit_bytes, self.rows) if self.is_im2col else self.steps
        strides = [self.unit_bytes, *(self.pitch_bytes * p for p in itertools.accumulate([1, *outer[:-1]], mul))]
        return Layout((inner, *outer), tuple(strides[: 1 + len(outer)]))

    # -- a value like the others --------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in(self._numbers()), key=lambda s: s.name))

    @property
    def static(self) -> bool:
        return not any(isinstance(x, Expr) for x in self._numbers())

    def _numbers(self) -> tuple[Any, ...]:
        own: tuple[Any, ...] = (self.global_address, *self.global_dim, *self.global_stride_bytes, *self.box_dim)
        corners = (*self.lower_corner, *self.upper_corner, self.channels_per_pixel, self.pixels_per_column)
        return (*own, *self.element_stride, *corners)

    def subs(self, env: Mapping[Any, Any]) -> TensorMap:
        """The map at these sizes."""
        kept = ("im2col", *ENUMERATIONS)
        moved = {f.name: _at(getattr(self, f.name), env) for f in fields(self) if f.name not in kept}
        if self.im2col is not None:
            moved["im2col"] = Im2col(*(_at(getattr(self.im2col, f.name), env) for f in fields(Im2col)))
        return replace(self, **moved)

    @property
    def digest(self) -> str:
        """The SHA-256 of every parameter in its canonical serialisation, in 64 hex digits."""
        return digest(self)

    def __str__(self) -> str:
        parts = [f"TensorMap {self.dtype} {text(self.global_dim)}"]
        if self.global_stride_bytes:
            parts[0] += f" strides {text(self.global_stride_bytes)} B"
        if self.global_address != 0:
            parts[0] += f" at {self.global_address}"
        box = str(self.im2col) if self.im2col else f"box {text(self.box_dim)}"
        every = "" if self.element_stride == (1,) * self.rank else f" every {text(self.element_stride)}"
        parts.append(box + every)
        words = {"interleave": "interleave", "swizzle": "swizzle", "l2_promotion": "L2 promotion", "oob_fill": "fill"}
        parts += [f"{word} {getattr(self, name)}" for name, word in words.items() if getattr(self, name)]
        return ", ".join(parts)


def _type(x: Any) -> TmaType:
    """The map type of a map type or of an element type."""
    if isinstance(x, TmaType):
        return x
    row = DType.of(x)
    if row in TYPE_OF or row.bits == 8:
        return TYPE_OF.get(row, TmaType.UINT8)
    raise LayoutError(f"expected an element type that a tensor map has, got {row}")


def _at(x: Any, env: Mapping[Any, Any]) -> Any:
    if isinstance(x, tuple):
        return tuple(_at(part, env) for part in x)
    return x.subs(env) if isinstance(x, Expr) else x


def _steps(box: Any, every: Any) -> Any:
    return box if is_one(every) else ceil_div(box, every)
