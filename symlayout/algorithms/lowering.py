"""The algorithms inside a kernel: a call with tensors of the kernel appends the operations that it is made of.

>>> from symlayout import Layout, dims, make_identity_tensor
>>> from symlayout.algorithms import make_copy_atom, make_tiled_copy
>>> from symlayout.kernel import Builder
>>> M, N = dims("M N")
>>> k = Builder("tile", M, N, grid=(1,), threads=32)
>>> src = k.tensor(k.global_tensor("src", "f32", Layout((M, N), (N, 1)))())
>>> x = k.tensor(k.registers("x", "f32", 4)(), Layout((1, 4, 1)))
>>> mine = make_tiled_copy(make_copy_atom("ld.global.4", "f32"), Layout((4, 8), (8, 1))).get_slice(k.thread)
>>> tile, coords = (mine.partition_S(inner_partition(t, (16, 8), (0, 0))) for t in (src, make_identity_tensor((M, N))))
>>> _ = k.copy("ld.global.4", tile, x, when=Inside(coords, (M, N)))
>>> print(*k.kernel().text().splitlines()[-3:], sep=chr(10))
  for copy_0 < 4, unrolled:
    if M > 4*copy_0 + (thread//8) and N > thread % 8:
      ld.global.4 src[4*N*copy_0 + N*(thread//8) + thread - 8*(thread//8)] -> x[copy_0]
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ..atoms import ATOMS, Completion, Extent, MatrixCopy, MemorySpace, atom
from ..atoms.atom import Atom
from ..common_layouts import max_alignment, max_common_layout
from ..composition import composition
from ..errors import LayoutError
from ..expr import Fact, Symbol
from ..facts import Facts
from ..int_tuple import Coord, leaves, rank, size, unflatten
from ..layout import Layout
from ..ops import Copy, Map, Mma, Ref, Slot
from ..tensor import Tensor, inner_partition  # noqa: F401  # one is of the example
from ..tiling import zipped_divide
from .dispatch import Choice, choose_copy
from .elementwise import expect_sizes
from .pointers import Pointer, dtype_of, space_of
from .results import Issued
from .tiled_copy import CopyAtom, TiledCopy
from .tiled_mma import TiledMma

REGISTER, SHARED = MemorySpace.REGISTER, MemorySpace.SHARED


class Target(Protocol):
    """What operations are appended to: a ``kernel.Builder``."""

    tensors: list[Any]

    def add(self, op: Any) -> None: ...
    def loop(
        self, name: str, extent: Any, unroll: int | str | None = None
    ) -> contextlib.AbstractContextManager[Symbol]: ...
    def where(self, *facts: Fact | bool) -> contextlib.AbstractContextManager[None]: ...
    def registers(self, name: str, dtype: Any, count: int) -> Any: ...
    def tensor_map(self, name: str, tensor: Ref, tensor_map: Any) -> Any: ...


@dataclass(frozen=True)
class Inside:
    """A predicate: the coordinate of an element, dealt as the data, is below a shape in each mode.

    >>> from symlayout import dims, make_identity_tensor
    >>> M, N = dims("M N")
    >>> print(*Inside(make_identity_tensor((M, N)), (M, N)).facts((2, 3)))
    M >= 3 N >= 4
    """

    coords: Tensor
    shape: Any

    def facts(self, at: Coord) -> tuple[Fact | bool, ...]:
        """The facts of the element at a coordinate of the tensor of coordinates."""
        return tuple(x < n for x, n in zip(leaves(self.coords(at)), leaves(self.shape), strict=True))

    def alike(self, count: int) -> bool:
        """Whether the first *count* elements are inside or outside together, wherever they are, for all sizes.

        >>> from symlayout import Layout, dim, make_identity_tensor
        >>> for N in (dim("N"), dim("N", multiple_of=4)):
        ...     row = make_identity_tensor((N,)).compose(Layout((4, 2), (1, 8)))
        ...     print(Inside(row, (N,)).alike(4), Inside(row, (N,)).alike(8))
        False False
        True False
        """
        ends = [leaves(self.coords(i)) for i in (0, count - 1)]
        return all(
            a == b or (b - a == count - 1 and _whole(count, a, n))
            for a, b, n in zip(*ends, leaves(self.shape), strict=True)
        )


def _whole(count: int, *numbers: Any) -> bool:
    """Whether all are seen to be multiples of *count*, for all sizes."""
    facts = Facts.about(*numbers)
    return all(facts.quotient(n, count) is not None for n in numbers)


def place(x: Tensor, at: Coord) -> Ref:
    """The place of an element in a tensor of the kernel. Raises LayoutError for a tensor that is none of it."""
    if not isinstance(x.iterator, Pointer) or not isinstance(x.iterator.data, str):
        raise LayoutError(f"expected a tensor of the kernel, as of Builder.tensor, got {x}")
    found = x(at)
    return Ref(found.data, found.offset)


def fresh(k: Target, stem: str) -> str:
    """A name that no tensor of the kernel has: the stem, or the stem and a number."""
    names = {t.name for t in k.tensors}
    return next(n for n in itertools.chain((stem,), (f"{stem}_{i}" for i in itertools.count(1))) if n not in names)


def copied(
    k: Target,
    what: str | Atom | CopyAtom | TiledCopy | None,
    src: Tensor,
    dst: Tensor,
    when: Inside | None = None,
    barrier: Slot | None = None,
) -> Issued:
    """Append the copy of a tensor to another, whose mode 0 is that of the instruction where there is one to name.

    Where a predicate fails, cp.async writes zeros and other instructions are left out. A bulk copy takes the tensor
    at once, and completes on *barrier* where it loads. Raises LayoutError for an instruction that does not fit, with
    the reason.
    """
    if what is not None and _row(what).extent is Extent.OPERAND:
        return _in_bulk(k, _row(what), src, dst, when, barrier)
    if what is None and space_of(src) is space_of(dst) is REGISTER:
        return _between_registers(k, src, dst, when)
    if what is None:
        choice, common = _widest(src, dst, when)
        src, dst = (_by_vectors(x, common) for x in (src, dst))
        when = None if when is None else Inside(_by_vectors(when.coords, common), when.shape)
    else:
        choice = _named(what, src, dst)
    count = choice.elements
    moves = [_split(x, count) for x in (src, dst)]
    if len({math.prod(leaves(x.layout.shape[1])) for x in moves}) != 1:
        raise LayoutError(f"expected the same number of instructions for both, got {src.layout} and {dst.layout}")
    coords = None if when is None else Inside(_split(when.coords, count), when.shape)
    temporary = (
        k.registers(fresh(k, f"{choice.atoms[0].replace('.', '_')}_held"), choice.dtype, count)
        if len(choice.atoms) > 1
        else None
    )
    for at in _each(k, moves):
        places = [place(x, (0, *at)) for x in moves]
        facts = () if coords is None else tuple(f for f in coords.facts((count - 1, *at)) if f is not True)
        asynchronous = choice.completion is Completion.CP_ASYNC
        told = tuple(f if isinstance(f, Fact) else Fact(-1, ">=") for f in facts)
        with k.where(*facts) if facts and not asynchronous else contextlib.nullcontext():
            stops = [places[0], *([temporary()] if temporary is not None else []), places[1]]
            for word, (a, b) in zip(choice.atoms, itertools.pairwise(stops), strict=True):
                k.add(Copy(word, a, b, when=told if asynchronous else ()))
    return Issued("copy", choice)


def _between_registers(k: Target, src: Tensor, dst: Tensor, when: Inside | None) -> Issued:
    """Moves of registers: at once where they lie side by side in both, else one by one."""
    choice, n = choose_copy(src, dst), expect_sizes(src, dst, what="copy")
    together = when is None and all([x.layout(i) for i in range(n)] == list(range(n)) for x in (src, dst))
    for i in range(1 if together else n):
        with k.where(*(() if when is None else when.facts(i))):
            k.add(Map("convert", (place(src, i),), place(dst, i), n if together else 1))
    return Issued("copy", choice)


def _row(what: str | Atom | CopyAtom | TiledCopy) -> Atom:
    made = what.atom if isinstance(what, TiledCopy) else what
    return made.row if isinstance(made, CopyAtom) else made if isinstance(made, Atom) else atom(made)


def _in_bulk(k: Target, row: Atom, src: Tensor, dst: Tensor, when: Inside | None, barrier: Slot | None) -> Issued:
    """One copy of all bytes of a tensor, by the thread that is here."""
    choice = choose_copy(src, dst, row)
    if when is not None:
        raise LayoutError(f"expected no predicate for {row.word}, which copies all bytes of a tensor or none")
    nbytes = int(src.size()) * choice.dtype.bits // 8
    k.add(Copy(row.word, place(src, 0), place(dst, 0), barrier, None, nbytes))
    return Issued("copy", choice)


def _named(what: str | Atom | CopyAtom | TiledCopy, src: Tensor, dst: Tensor) -> Choice:
    """The instruction that was asked for, where its memory spaces and its elements fit."""
    row = _row(what)
    kind, spaces = dtype_of(src), (space_of(src), space_of(dst))
    if spaces != (row.src, row.dst):
        raise LayoutError(
            f"expected tensors from {row.src} to {row.dst} for {row.word}, got {spaces[0]} and {spaces[1]}"
        )
    if kind is None or kind.bits != getattr(dtype_of(dst), "bits", 0):
        raise LayoutError(f"expected elements of one type for {row.word}, got {kind} and {dtype_of(dst)}")
    if not isinstance(row, MatrixCopy) and not row.bytes:
        raise LayoutError(f"expected a copy of so many bytes, or of matrices, got {row.word}")
    count = row.held if isinstance(row, MatrixCopy) else 8 * row.bytes // kind.bits
    for x in (src, dst):
        _expect_together(x, 8 if isinstance(row, MatrixCopy) and space_of(x) is SHARED else count, row)
    return Choice((row.word,), count, kind, row.completion, space_of(dst) is SHARED)


def _expect_together(x: Tensor, count: int, row: Atom) -> None:
    """Raise LayoutError unless the first *count* elements lie side by side, as an instruction moves them."""
    first = x.layout[0] if rank(x.layout) > 1 else x.layout
    inner = getattr(first, "inner", first)
    if int(size(first.shape)) % count or [inner(i) for i in range(count)] != list(range(count)):
        raise LayoutError(f"expected {count} elements side by side in mode 0 for {row.word}, got {x.layout}")
    if inner is not first and max_alignment(x.layout) % count:
        raise LayoutError(f"expected a swizzle that keeps {count} elements together for {row.word}, got {x.layout}")


def _widest(src: Tensor, dst: Tensor, when: Inside | None) -> tuple[Choice, Layout]:
    """The widest instruction that fits, whose elements meet a predicate together, and the layout of its elements."""

    def alike(count: int) -> bool:
        return when is None or Inside(_by_vectors(when.coords, _vector(src, dst, count)), when.shape).alike(count)

    choice = choose_copy(src, dst, alike=alike, bulk=False)
    return choice, _vector(src, dst, choice.elements)


def _vector(src: Tensor, dst: Tensor, count: int) -> Layout:
    """So many elements that lie side by side in both."""
    found = composition(max_common_layout(src.layout, dst.layout), Layout(count)) if count > 1 else Layout(1, 0)
    assert isinstance(found, Layout)
    return found


def _by_vectors(x: Tensor, common: Layout) -> Tensor:
    """A tensor whose mode 0 begins with the elements of an instruction, as it does where they are of that mode."""
    first = x.layout[0] if rank(x.layout) > 1 else x.layout
    if common.stride in (0, 1) and int(size(first.shape)) % int(common.size()) == 0:
        return x
    return Tensor(x.iterator, zipped_divide(x.layout, common))


def _split(x: Tensor, count: int) -> Tensor:
    """(elements of an instruction, rest of mode 0, the other modes); of ldmatrix rows of 8 elements at its memory."""
    first = x.layout[0] if rank(x.layout) > 1 else x.layout
    whole = int(size(first.shape))
    v = math.gcd(count, whole)
    divided = zipped_divide(x.layout, (Layout(v),)) if rank(x.layout) > 1 else zipped_divide(x.layout, Layout(v))
    return Tensor(x.iterator, divided)


def _each(k: Target, moves: Iterable[Tensor]) -> Iterator[tuple[Any, ...]]:
    """The coordinate of each instruction: unrolled loops over modes of one shape, else one after the other."""
    tensors = list(moves)
    shapes = {x.layout.shape[1] for x in tensors}
    linear = all(isinstance(x.layout, Layout) for x in tensors)
    total = math.prod(leaves(tensors[0].layout.shape[1]))
    if not isinstance(total, int):
        raise LayoutError(f"expected a number of instructions for a copy, got {total}; slice the tensor first")
    shape = shapes.pop()
    flat = leaves(shape)
    if shapes or not linear:
        for r in range(total):
            yield (r,)
        return
    with contextlib.ExitStack() as loops:
        names = (f"copy_{i}" for i in itertools.count())
        at = [loops.enter_context(k.loop(next(names), n, "full")) if n > 1 else 0 for n in flat]
        yield (unflatten(tuple(at), shape),)


def multiplied(k: Target, mma: TiledMma, a: Tensor, b: Tensor, c: Tensor) -> Issued:
    """Append C += A B^T of fragments: (V,M,K), (V,N,K), (V,M,N), or of one K, (V,M), (V,N), (V,M,N).

    Raises LayoutError for other ranks, for operands elsewhere than in registers, and for types that are not the
    instruction's.
    """
    row = mma.row
    if (rank(a.layout), rank(b.layout), rank(c.layout)) not in ((3, 3, 3), (2, 2, 3)):
        raise LayoutError(f"expected (V,M,K), (V,N,K) and (V,M,N), got {a.layout}, {b.layout} and {c.layout}")
    for x, name, kind, tv in zip((a, b, c), "ABC", row.held, row.words, strict=True):
        if space_of(x) is not REGISTER or row.src_b is not REGISTER:
            raise LayoutError(f"expected {name} of {row.word} in registers, got {x}")
        if dtype_of(x) != kind:
            raise LayoutError(f"expected {name} of {kind} for {row.word}, got {dtype_of(x)}")
        values = int(size(tv.shape[1]))
        if [x.layout[0](i) for i in range(int(size(x.layout.shape[0])))] != list(range(values)):
            raise LayoutError(f"expected {values} registers side by side for {name} of {row.word}, got {x.layout}")
    (m, n), deep = (int(size(c.layout.shape[i])) for i in (1, 2)), rank(a.layout) == 3
    for j in range(int(size(a.layout.shape[2])) if deep else 1):
        with k.loop("mma_m", m, "full") as p, k.loop("mma_n", n, "full") as q:
            of_a, of_b = ((0, p, j), (0, q, j)) if deep else ((0, p), (0, q))
            k.add(Mma(row.word, place(a, of_a), place(b, of_b), place(c, (0, p, q))))
    return Issued("gemm", None)


__all__ = ["ATOMS", "Inside", "copied", "multiplied", "place"]
