"""Copies that one thread makes for all threads of a kernel: by TMA, or in bulk, whichever fits, with the reasons.

>>> from symlayout import Layout, dims, make_identity_tensor
>>> from symlayout.kernel import Builder
>>> from symlayout.tensor import local_tile
>>> M, N = dims("M N", multiple_of=8)
>>> k = Builder("tile", M, N, grid=(1,), threads=32)
>>> src = k.global_tensor("src", "f32", Layout((M, N), (N, 1)))
>>> smem, full = k.tensor(k.shared_tensor("smem", "f32", Layout((8, 32), (32, 1)))()), k.mbarriers("full", 1, 1)
>>> tma = k.tma_copy("src_map", src(), smem.layout)
>>> tile, coords = (local_tile(x, (8, 32), (2, 3)) for x in (k.tensor(src()), make_identity_tensor((M, N))))
>>> issued = k.copy(tile, smem, barrier=full(), tma=tma, when=Inside(coords, (M, N)))
>>> print(issued.choice)
tma.load: 256 elements of f32 at once; the next better: none
>>> k.copy(tile, smem, barrier=full())
Traceback (most recent call last):
    ...
symlayout.errors.LayoutError: expected a tile that one thread copies for all, got global src f32 + 16*N + 96 o \
(8,32):(N,1): bulk.load moves bytes that lie side by side in both, and 32 of 256 elements do; tma.load moves a box of \
a tensor map, and there is none; make_tma_copy makes it
"""

from __future__ import annotations

from typing import Any

from ..atoms import Completion
from ..errors import LayoutError
from ..expr import integer
from ..facts import Facts
from ..int_tuple import leaves, product, rank, text
from ..ops import Copy, Slot
from ..tensor import Tensor, inner_partition, make_identity_tensor
from .dispatch import Choice, choose_copy
from .lowering import Inside, Target, place
from .pointers import dtype_of, space_of
from .results import Issued
from .tma_copies import KernelTma, boxes, of_tile, word_of


def copied_by_tma(
    k: Target, tma: KernelTma, src: Tensor, dst: Tensor, barrier: Slot | None, multicast: Any = None, when: Any = ()
) -> Issued:
    """Append the boxes of a tile: coordinates of the map and shared memory, in either order.

    Raises LayoutError for other tensors, for a load without an mbarrier, a store with one, a multicast without the
    CTAs of it, and for a predicate, since the copy engine checks bounds itself.
    """
    row = word_of(src, dst)
    loads = row.completion is Completion.MBARRIER
    coords, tile = (src, dst) if loads else (dst, src)
    if when is not None and when != ():
        raise LayoutError(f"expected no predicate for {row.word}, which checks the bounds of the tensor itself")
    if (barrier is None) is loads:
        wanted = "the mbarrier on which it completes, as barrier=full()" if loads else "no mbarrier"
        raise LayoutError(f"expected {wanted}, for {row.word}")
    mask = None if multicast is None else integer(multicast)
    if (mask is None) is (tma.copy.multicast > 1) or (mask is not None and not loads):
        n = tma.copy.multicast
        wanted = f"the mask of the {n} CTAs that receive it, as multicast=" if n > 1 and loads else "no multicast"
        raise LayoutError(f"expected {wanted}, for {row.word} of {tma}")
    for box, at in boxes(tma, coords, tile):
        k.add(Copy(row.word, box, at, barrier, mask) if loads else Copy(row.word, at, box))
    count = int(product(tma.copy.tiler))
    return Issued("copy", Choice((row.word,), count, tma.copy.dtype, row.completion))


def copied_for_all(
    k: Target,
    src: Tensor,
    dst: Tensor,
    when: Inside | None,
    barrier: Slot | None,
    multicast: Any = None,
    tma: KernelTma | None = None,
) -> Issued:
    """Append the copy of a tile by one thread: by TMA where a copy of it is given and fits, in bulk otherwise.

    A tile that need not be whole is told by a predicate, outside of which TMA writes zeros. Raises LayoutError where
    neither fits, with the reason of each.
    """
    loads = space_of(src) == "global"
    if loads is (barrier is None):
        wanted = "an mbarrier on which it completes, as barrier=full()" if loads else "no mbarrier for a store"
        raise LayoutError(f"expected {wanted}, for the copy of {src} to {dst}")

    def of_map(src: Tensor, dst: Tensor) -> str:
        assert tma is not None
        return _misfit(tma, *((src, dst) if loads else (dst, src)), when)

    choice = choose_copy(src, dst, mbarrier=loads, tma=of_map if tma is not None else None)
    row, rejected = choice.atom, dict(choice.rejected)
    if row.startswith("tma."):
        assert tma is not None
        assert when is not None
        coords = tma.tile_at(*leaves(when.coords((0,) * len(leaves(tma.copy.tiler)))))
        parts = (tma, coords, dst) if loads else (tma, src, coords)
        copied_by_tma(k, *parts, barrier, multicast)
        return Issued("copy", choice)
    if row.startswith("bulk.") and when is None and multicast is None:
        k.add(Copy(row, place(src, 0), place(dst, 0), barrier, None, int(src.size()) * choice.dtype.bits // 8))
        return Issued("copy", choice)
    if row.startswith("bulk."):
        rejected[row] = "copies all bytes of a tensor or none, and there is a predicate or a multicast"
    why = "; ".join(f"{word} {reason}" for word, reason in rejected.items() if word.startswith(("tma.", "bulk.")))
    raise LayoutError(f"expected a tile that one thread copies for all, got {src if loads else dst}: {why}")


def _misfit(tma: KernelTma, x: Tensor, tile: Tensor, when: Inside | None) -> str:
    """Why the copy by TMA is not that of a tile *x* of global memory, or ""."""
    copy, whole = tma.copy, tma.copy.gmem
    why = of_tile(tma, tile)
    if why:
        return why
    if getattr(x.iterator, "data", None) != tma.tensor or dtype_of(x) != copy.dtype:
        return f"moves elements of {tma.tensor}, and those are of {x.iterator}"
    if when is None:
        return "zeros what is outside of the tensor, and there is no predicate Inside(coords, shape) that tells where"
    if not _equal(when.shape, whole.shape):
        return f"zeros what is outside of {text(whole.shape)}, and the predicate is about {text(when.shape)}"
    first = (0,) * rank(whole)
    whose = ("tile", x, Tensor(0, whole)), ("coordinates", when.coords, make_identity_tensor(whole.shape))
    for what, given, tensor in whose:
        wanted = inner_partition(tensor, copy.tiler, first).layout
        if str(given.layout) != str(wanted):
            return f"takes {what} of {wanted}, and they are {given.layout}"
    begin = leaves(when.coords(first))
    at = sum((c * d for c, d in zip(begin, leaves(whole.stride), strict=True)), start=0)
    if not _equal(x.iterator.offset, at):
        return f"takes the tile at {text(begin)}, where the predicate is, and the tensor begins elsewhere: {x.iterator}"
    return ""


def _equal(x: Any, y: Any) -> bool:
    """Whether integers in nested tuples are seen to be equal for all sizes."""
    a, b = leaves(x), leaves(y)
    facts = Facts.about(*a, *b)
    return len(a) == len(b) and all(facts.normal(u - v) == 0 for u, v in zip(a, b, strict=True))
