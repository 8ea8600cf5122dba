"""Copies of a tile by TMA in a kernel: a tensor map that the kernel has, its coordinates, and the boxes of a tile.

>>> from symlayout import Layout, dims, local_tile
>>> from symlayout.kernel import Builder
>>> M, N = dims("M N", multiple_of=8)
>>> k = Builder("tile", M, N, grid=(1,), threads=32)
>>> src = k.global_tensor("src", "f32", Layout((M, N), (N, 1)))
>>> smem = k.tensor(k.shared_tensor("smem", "f32", Layout((8, 32), (32, 1)))())
>>> tma, full = k.tma_copy("src_map", src(), smem.layout), k.mbarriers("full", 1, 1)
>>> print(k.copy(tma, local_tile(tma.get_tma_tensor(), (8, 32), (2, 3)), smem, barrier=full()))
copy by tma.load, over after: mbarrier
>>> print(k.kernel().text().splitlines()[-1].strip())
tma.load src_map(96,16) -> smem on full[0]

What lies outside of the tensor is written as zeros by a load and left alone by a store: no predicate is needed. A
thread gives the command for all, so that one is elected; an mbarrier awaits ``tma.bytes``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..atoms import MemorySpace
from ..atoms.atom import Atom, atom
from ..basis import ArithmeticTupleIterator
from ..errors import LayoutError
from ..expr import Int
from ..int_tuple import leaves, product, rank
from ..layout import Layout  # noqa: F401  # of the example
from ..ops import Box, Ref
from ..tensor import Tensor, inner_partition
from ..tma.tiled_copy import TmaCopy, TmaSlice
from .pointers import TENSOR, Pointer, dtype_of, expect_kind, space_of

SHARED = MemorySpace.SHARED
LOAD, STORE = "tma.load", "tma.store"


@dataclass(frozen=True)
class KernelTma:
    """A copy by TMA through the tensor map *name* of a kernel, or, of a multicast, the part of CTA *cta* of it."""

    name: str
    tensor: str
    copy: TmaCopy
    cta: Int = 0

    @property
    def bytes(self) -> int:
        """Bytes of a tile: what an mbarrier awaits for one, in a multicast the parts of all CTAs."""
        return int(product(self.copy.tiler)) * self.copy.dtype.bits // 8

    def get_tma_tensor(self, shape: Any = None) -> Tensor:
        """The coordinates of global memory, to be tiled as the data; see ``TmaCopy.get_tma_tensor``."""
        return self.copy.get_tma_tensor(shape)

    def get_slice(self, cta: Any = 0) -> KernelTma:
        """The part that one CTA of a multicast issues. Raises LayoutError for a CTA that it does not have."""
        return replace(self, cta=self.copy.get_slice(cta).cta)

    def tile_at(self, *coordinate: Any) -> Tensor:
        """The tile of the coordinate tensor that begins at an element of the tensor."""
        whole = self.copy.tma_tensor
        begin = whole(coordinate if len(coordinate) > 1 else coordinate[0])
        tile = inner_partition(whole, self.copy.tiler, (0,) * len(coordinate))
        return Tensor(ArithmeticTupleIterator(begin), tile.layout)

    def __str__(self) -> str:
        return f"{self.name}: {self.copy}"


def boxes(tma: KernelTma, coords: Tensor, tile: Tensor) -> Iterator[tuple[Box, Ref]]:
    """Each box of a tile and where it lies in shared memory. Raises LayoutError for tiles that are not the copy's."""
    copy = tma.copy
    why = _of_coordinates(tma, coords) or of_tile(tma, tile)
    if why:
        raise LayoutError(f"expected a tile of {tma}, which {why}")
    shared = getattr(copy.smem_layout, "inner", copy.smem_layout)  # the swizzle is the engine's, by the address
    mine = TmaSlice(copy, tma.cta)
    source, target = mine.partition_S(coords), mine.partition_D(Tensor(0, shared))
    begin = tile.iterator
    assert isinstance(begin, Pointer)
    for i in range(copy.instructions):
        first = (0, i) if copy.instructions > 1 else 0
        at, offset = (_first(x, first) for x in (source, target))
        yield Box(tma.name, tuple(leaves(at))), Ref(str(begin.data), begin.offset + offset)


def _first(x: Tensor, at: Any) -> Any:
    """The element of an instruction's mode, the first of the others."""
    return x((at, *(0,) * (rank(x.layout) - 1))) if rank(x.layout) > 1 else x(at)


def word_of(src: Tensor, dst: Tensor) -> Atom:
    """The instruction from coordinates to shared memory, or back. Raises LayoutError for other tensors."""
    for x in (src, dst):
        expect_kind(x, Tensor, TENSOR)
    from_coordinates, to_coordinates = (isinstance(x.iterator, ArithmeticTupleIterator) for x in (src, dst))
    if from_coordinates and space_of(dst) is SHARED:
        return atom(LOAD)
    if to_coordinates and space_of(src) is SHARED:
        return atom(STORE)
    raise LayoutError(
        f"expected a tile of the coordinate tensor (get_tma_tensor) and one in shared memory, got {src} and {dst}"
    )


def _of_coordinates(tma: KernelTma, coords: Tensor) -> str:
    if not isinstance(coords.iterator, ArithmeticTupleIterator):
        return f"is given a tile of its coordinate tensor (get_tma_tensor), and got {coords}"
    n, wanted = coords.size(), int(product(tma.copy.tiler))
    if type(n) is not int or n != wanted:
        return f"takes {wanted} coordinates at once, and there are {n}"
    have, mine = len(leaves(coords(0))), len(tma.copy.tensor_map.global_dim)
    return "" if have == mine else f"has {mine} dimensions, and the coordinates have {have}"


def of_tile(tma: KernelTma, tile: Tensor) -> str:
    """Why a tensor is not where the copy lands its tile, or ""."""
    kind, copy = dtype_of(tile), tma.copy
    if space_of(tile) is not SHARED or not isinstance(getattr(tile.iterator, "data", None), str):
        return f"lands in shared memory of the kernel, and got {tile}"
    if kind != copy.dtype:
        return f"moves elements of {copy.dtype}, and the tile has {kind}"
    if tile.layout != copy.smem_layout:
        return f"lands its tile as {copy.smem_layout}, and shared memory is laid out as {tile.layout}"
    return ""
