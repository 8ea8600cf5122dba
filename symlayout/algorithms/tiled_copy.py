"""Tiled copies: how the threads of an instruction, repeated over a tile, share a copy; CuTe's TiledCopy.

    >>> from symlayout.tensor import make_identity_tensor
    >>> of_16_bytes = make_copy_atom("ld.global.16", "f16")
    >>> tiled = make_tiled_copy(of_16_bytes, Layout((32, 4), (4, 1)), Layout((1, 8)))
    >>> print(tiled)
    ld.global.16 of f16, tile (32,32), 128 threads: ((4,32),8):((256,1),32)
    >>> print(tiled.get_slice(5).partition_S(make_identity_tensor((64, 64))))
    ArithTuple(1,8) o ((8,1),2,2):((1@1,0),32@0,32@1)

The steps are those of ``include/cute/atom/copy_atom.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..algebra import coalesce
from ..atoms import Extent, MatrixCopy, MemorySpace, atom
from ..atoms.atom import Atom
from ..composition import composition
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..int_tuple import product_each, rank, size, text
from ..inverses import left_inverse, right_inverse
from ..layout import Layout, slice_layout
from ..making import make_layout
from ..modes import zip_modes
from ..recast import upcast
from ..tensor import Tensor
from ..tiling import logical_product, raked_product, zipped_divide
from .pointers import expect_kind

REGISTER = MemorySpace.REGISTER


@dataclass(frozen=True)
class CopyAtom:
    """A copy instruction for elements of a type: (thread, value) to a position, at its source and its destination."""

    row: Atom
    dtype: DType
    src_tv: Layout
    dst_tv: Layout

    @property
    def ref_tv(self) -> Layout:
        """The numbering that tiles refer to: that of the side which holds registers."""
        return self.dst_tv if self.row.dst is REGISTER else self.src_tv

    @property
    def threads(self) -> int:
        return int(size(self.ref_tv.shape[0]))

    @property
    def values(self) -> int:
        """Elements of one thread at the side which holds registers."""
        return int(size(self.ref_tv.shape[1]))

    def __str__(self) -> str:
        return f"{self.row.word} of {self.dtype}"


def make_copy_atom(word: str | Atom, dtype: DTypeLike) -> CopyAtom:
    """An instruction for elements of a type.

    >>> print(make_copy_atom("ldmatrix.x4", "bf16").dst_tv, make_copy_atom("cp.async.16", "f32").src_tv)
    (32,(2,4)):(2,(1,64)) (1,4):(0,1)

    Raises LayoutError for an instruction whose bytes are no whole elements, and for one that moves boxes.
    """
    row, kind = word if isinstance(word, Atom) else atom(word), DType.of(dtype)
    if isinstance(row, MatrixCopy):
        if kind.bits != 16:
            raise LayoutError(f"expected elements of 16 bits for {row.word}, got {kind}")
        return CopyAtom(row, kind, row.src_tv, row.dst_tv)
    if row.extent is not Extent.INSTRUCTION or row.reduction is not None:
        raise LayoutError(f"expected a copy of so many bytes by each thread, got {row.word}; make_tma_copy moves boxes")
    count, rest = divmod(8 * row.bytes, kind.bits)
    if rest or not count:
        raise LayoutError(f"expected whole elements in {row.bytes} bytes, got {kind} of {kind.bits} bits")
    tv = Layout((1, count), (0, 1))
    return CopyAtom(row, kind, tv, tv)


@dataclass(frozen=True)
class TiledCopy:
    """A copy atom over a tile: *tv* maps (thread, value) to a position in the tile, whose extents are *tiler*."""

    atom: CopyAtom
    tv: Layout
    tiler: tuple[Any, ...]

    def __post_init__(self) -> None:
        expect_kind(self.atom, CopyAtom, "an atom of a copy, as of make_copy_atom")
        threads, values = (int(size(n)) for n in self.tv.shape)
        if threads % self.atom.threads or values % self.atom.values:
            raise LayoutError(
                f"expected threads and values in multiples of {self.atom.threads} and {self.atom.values} for "
                f"{self.atom}, got {threads} and {values} of {self.tv}"
            )

    @property
    def threads(self) -> int:
        return int(size(self.tv.shape[0]))

    # -- thread-value layouts -----------------------------------------------------------------------

    def tidfrg_S(self, layout: Any) -> Any:  # noqa: N802  # CuTe's name
        """The source as (thread, (value, rest of values), (rest of each mode))."""
        return self._dealt(layout, self.atom.src_tv)

    def tidfrg_D(self, layout: Any) -> Any:  # noqa: N802  # CuTe's name
        """The destination, likewise."""
        return self._dealt(layout, self.atom.dst_tv)

    def _dealt(self, layout: Any, side: Layout) -> Any:
        if rank(layout) < len(self.tiler):
            raise LayoutError(f"expected at least {len(self.tiler)} modes for tiles {text(self.tiler)}, got {layout}")
        zipped = zipped_divide(layout, self.tiler).compose(self._thread_values(side), None)
        return slice_layout(((None, None), None), zipped)[0]

    def _thread_values(self, side: Layout) -> Layout:
        """((thread of the atom, rest), (value, rest)) to a position in the tile."""
        to_side = composition(right_inverse(self.atom.ref_tv), side)
        parts = zipped_divide(self.tv, (self.atom.threads, self.atom.values)).compose(to_side, None)
        found: Layout = coalesce(zip_modes(parts), (1, (1, 1)))
        return found

    @property
    def layout_src_tv(self) -> Layout:
        """(thread, value) to a position in the tile, at the source."""
        return self._side(self.atom.src_tv)

    @property
    def layout_dst_tv(self) -> Layout:
        """(thread, value) to a position in the tile, at the destination."""
        return self._side(self.atom.dst_tv)

    def _side(self, side: Layout) -> Layout:
        found: Layout = self._thread_values(side)
        return found

    # -- slices -------------------------------------------------------------------------------------

    def get_slice(self, thread: Any) -> ThreadCopy:
        """The part of a thread, which may be an expression.

        Raises LayoutError for the number of a thread that there is not.
        """
        if isinstance(thread, int) and not 0 <= thread < self.threads:
            raise LayoutError(f"expected a thread of 0 .. {self.threads - 1}, got {thread}")
        return ThreadCopy(self, thread)

    def retile(self, x: Tensor) -> Tensor:
        """A partition (V, M, N, ..) regrouped as this copy's ((values of the atom, rest), M, N, ..); nothing moves.

        >>> from symlayout.algorithms.tiled_mma import make_tiled_mma
        >>> mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
        >>> copy = make_tiled_copy_A(make_copy_atom("ldmatrix.x4", "bf16"), mma)
        >>> print(copy.retile(Tensor(0, Layout(((2, 2, 2), 2, 2), ((1, 2, 4), 8, 16)))))
        0 o ((8,1),2,2):((1,0),8,16)
        """
        v = int(size(x.layout.shape[0]))
        inverse = right_inverse(self.tv).with_shape(self.tiler)
        frag_mn = upcast(self.threads * v, inverse)
        order = logical_product(Layout(v), right_inverse(frag_mn))
        frag_v = zipped_divide(order, Layout(self.atom.values))
        tiles = zipped_divide(x.layout, (v, *product_each(frag_mn.shape)))
        regrouped = tiles.compose(frag_v, None)
        return Tensor(x.iterator, regrouped)((None, (0, *(None,) * (rank(x.layout) - 1))))

    def __str__(self) -> str:
        return f"{self.atom}, tile {text(self.tiler)}, {self.threads} threads: {self.tv}"


@dataclass(frozen=True)
class ThreadCopy:
    """The part of one thread in a tiled copy; CuTe's ThrCopy."""

    tiled: TiledCopy
    thread: Any

    def partition_S(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """The elements of a source that the thread reads, ((values), rest of each mode)."""
        return _of_thread(x, self.tiled.tidfrg_S, self.thread)

    def partition_D(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """The elements of a destination that the thread writes, likewise."""
        return _of_thread(x, self.tiled.tidfrg_D, self.thread)

    def retile(self, x: Tensor) -> Tensor:
        """``TiledCopy.retile``; the DSL calls it ``retile`` too, C++ ``retile_S`` and ``retile_D``."""
        return self.tiled.retile(x)


def _of_thread(x: Any, dealt: Any, thread: Any) -> Tensor:
    tensor = x if isinstance(x, Tensor) else Tensor(0, x)
    layout = dealt(tensor.layout)
    return Tensor(tensor.iterator, layout)(thread, None, (None,) * rank(layout.shape[2]))


# -- makers -----------------------------------------------------------------------------------------------


def make_tiled_copy(copy: CopyAtom, threads: Layout, values: Layout | None = None) -> TiledCopy:
    """Threads and values arranged over a tile: each gives the place of a thread, or of a value, by row and column.

    >>> print(make_tiled_copy(make_copy_atom("ldmatrix.x4", "bf16"), Layout((16, 2)), Layout((2, 4))).tv)
    ((16,2),(2,4)):((2,128),(1,32))

    Raises LayoutError where threads or values are not counted once each.
    """
    expect_kind(copy, CopyAtom, "an atom of a copy, as of make_copy_atom")
    expect_kind(threads, Layout, "a layout of threads")
    values = Layout((1,) * rank(threads)) if values is None else values
    expect_kind(values, Layout, "a layout of values")
    tile = raked_product(threads, values)
    inverse = right_inverse(tile)
    count = int(threads.size()) * int(values.size())
    if inverse.size() != count:
        raise LayoutError(f"expected threads and values that are counted once each, got {threads} and {values}")
    return TiledCopy(copy, inverse.with_shape(int(threads.size()), int(values.size())), product_each(tile.shape))


def make_tiled_copy_tv(copy: CopyAtom, tv: Layout, tiler: Any) -> TiledCopy:
    """A tiled copy from a thread-value layout and the extents of its tile; ``make_tiled_copy_impl`` of C++.

    >>> print(make_tiled_copy_tv(make_copy_atom("ld.global.4", "f32"), Layout((32, 2), (1, 32)), (64,)))
    ld.global.4 of f32, tile (64,), 32 threads: (32,2):(1,32)
    """
    return TiledCopy(copy, tv, tuple(tiler))


def make_tiled_copy_A(copy: CopyAtom, mma: Any) -> TiledCopy:  # noqa: N802  # CuTe's name
    """A copy into, or out of, the registers of A of a tiled product.

    >>> from symlayout.algorithms import make_tiled_mma
    >>> mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1))
    >>> print(make_tiled_copy_A(make_copy_atom("ldmatrix.x4", "bf16"), mma).tiler)
    (32, 16)
    """
    return make_tiled_copy_tv(copy, _product(mma).tv_layout_A, (mma.tile[0], mma.tile[2]))


def make_tiled_copy_B(copy: CopyAtom, mma: Any) -> TiledCopy:  # noqa: N802  # CuTe's name
    """A copy into, or out of, the registers of B of a tiled product."""
    return make_tiled_copy_tv(copy, _product(mma).tv_layout_B, (mma.tile[1], mma.tile[2]))


def make_tiled_copy_C(copy: CopyAtom, mma: Any) -> TiledCopy:  # noqa: N802  # CuTe's name
    """A copy into, or out of, the registers of C of a tiled product."""
    return make_tiled_copy_tv(copy, _product(mma).tv_layout_C, (mma.tile[0], mma.tile[1]))


def _product(mma: Any) -> Any:
    if not hasattr(mma, "tv_layout_A"):
        raise LayoutError(f"expected a tiled product, as of make_tiled_mma, got {mma!r}")
    return mma


OF_OPERANDS = {"A": make_tiled_copy_A, "B": make_tiled_copy_B, "C": make_tiled_copy_C}


def make_tiled_copy_S(copy: CopyAtom, other: TiledCopy) -> TiledCopy:  # noqa: N802  # CuTe's name
    """A copy whose threads have the elements that another copy reads."""
    expect_kind(other, TiledCopy, "a tiled copy, as of make_tiled_copy")
    return make_tiled_copy_tv(copy, other.layout_src_tv, other.tiler)


def make_tiled_copy_D(copy: CopyAtom, other: TiledCopy) -> TiledCopy:  # noqa: N802  # CuTe's name
    """A copy whose threads have the elements that another copy writes."""
    expect_kind(other, TiledCopy, "a tiled copy, as of make_tiled_copy")
    return make_tiled_copy_tv(copy, other.layout_dst_tv, other.tiler)


def make_cotiled_copy(copy: CopyAtom, tv: Layout, data: Layout) -> TiledCopy:
    """A copy whose (thread, value) are given as addresses of *data*; the tile is what they touch.

    >>> print(make_cotiled_copy(make_copy_atom("cp.async.16", "f32"), Layout((8, 4), (4, 1)), Layout((4, 8))).tiler)
    (4, 8)

    Raises LayoutError where an address is not one of *data*.
    """
    expect_kind(copy, CopyAtom, "an atom of a copy, as of make_copy_atom")
    for x in (tv, data):
        expect_kind(x, Layout, "a layout")
    inverse = left_inverse(data)
    coords = composition(inverse, tv)
    for t in range(int(size(tv.shape[0]))):
        for v in range(int(size(tv.shape[1]))):
            if data(int(coords(t, v))) != tv(t, v):
                raise LayoutError(f"expected addresses of {data}, got {tv(t, v)} of thread {t}, value {v}")
    return make_tiled_copy_tv(copy, make_layout(coords[0], coords[1]), product_each(data.shape))
