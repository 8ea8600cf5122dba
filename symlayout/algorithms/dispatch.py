"""The instruction for a copy between two tensors: the widest that is proved to fit, and why no better one.

    >>> def through(ld):
    ...     tensor = Tensor(make_gmem_ptr(dtype="f32"), Layout((4, 8), (1, ld)))
    ...     return choose_copy(tensor, Tensor(make_rmem_ptr(dtype="f32"), Layout((4, 8))))
    >>> from symlayout.expr import dim
    >>> print(through(dim("ld", multiple_of=4)))
    ld.global.16: 4 elements of f32 at once; the next better: none
    >>> print(through(dim("ld")))
    ld.global.4: 1 element of f32 at once; the next better: ld.global.8 needs addresses of whole 8 bytes, \
and those of global f32 o (4,8):(1,ld) are of 4

A vector is proved by ``max_common_vector`` and ``max_alignment``, for all sizes. Where a condition on sizes would make
a wider one fit, the reason says it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..arch import SM90, Arch
from ..atoms import ATOMS, Completion, Extent, MatrixCopy, MemorySpace, atom
from ..atoms.atom import VECTORS, Atom
from ..atoms.bulk import SIZE_UNIT_BYTES
from ..basis import ArithmeticTupleIterator
from ..common_layouts import max_alignment, max_common_vector
from ..errors import LayoutError
from ..facts import Facts
from ..layout import Layout  # noqa: F401  # of the examples
from ..tensor import Tensor
from .pointers import Pointer, dtype_of, make_gmem_ptr, make_rmem_ptr, space_of  # noqa: F401  # two for the example

GLOBAL, SHARED, REGISTER = MemorySpace


@dataclass(frozen=True)
class Choice:
    """The instructions that move a tensor, *elements* at once, and how a reader knows that they are over.

    *rejected* are the better ones, best first, each with the reason. Several *atoms* follow one another through
    registers; none stands for a move between registers.
    """

    atoms: tuple[str, ...]
    elements: int
    dtype: Any
    completion: Completion = Completion.AT_ONCE
    barrier: bool = False  # whether other threads may read it only after a barrier of the CTA
    rejected: tuple[tuple[str, str], ...] = ()

    @property
    def atom(self) -> str:
        """The instructions as one word."""
        return " + ".join(self.atoms) or "mov"

    @property
    def waits(self) -> tuple[str, ...]:
        """The waits between the copy and a read of what it wrote, in their order.

        >>> Choice(("cp.async.16",), 4, None, Completion.CP_ASYNC, barrier=True).waits
        ('cp.async group', 'CTA barrier')
        """
        first = {Completion.AT_ONCE: (), Completion.MBARRIER: ("mbarrier",)}.get(
            self.completion, (f"{self.completion} group",)
        )
        return (*first, *(("CTA barrier",) if self.barrier else ()))

    def __str__(self) -> str:
        units = "element" if self.elements == 1 else "elements"
        word, why = self.rejected[-1] if self.rejected else ("none", "")
        better = f"{word} {why}" if why else word
        return f"{self.atom}: {self.elements} {units} of {self.dtype} at once; the next better: {better}"


def choose_copy(
    src: Tensor,
    dst: Tensor,
    word: str | Atom | None = None,
    *,
    mbarrier: bool = False,
    arch: Arch = SM90,
    alike: Callable[[int], bool] = lambda count: True,
    bulk: bool = True,
    tma: Callable[[Tensor, Tensor], str] | None = None,
) -> Choice:
    """The best instruction for ``copy(src, dst)`` by one thread, or the one of *word*.

    >>> from symlayout import Layout, Tensor, dim
    >>> from symlayout.algorithms import make_gmem_ptr, make_smem_ptr
    >>> row = Layout(dim("N", multiple_of=2))
    >>> print(choose_copy(Tensor(make_gmem_ptr(None, "f32"), row), Tensor(make_smem_ptr(None, "f32"), row)).atom)
    cp.async.8

    Bulk copies, which one thread makes for all, are considered unless *bulk* is false, and loads where there is an
    *mbarrier* for them to complete on. *alike* tells whether a predicate holds for so many elements together or for
    none of them. *tma*, where there is a tensor map, tells why its copy is not that of two tensors, or "". Raises
    LayoutError for tensors in unknown memory spaces, and for a *word* that does not fit, with the reason.
    """
    spaces = space_of(src), space_of(dst)
    if isinstance(src.iterator, ArithmeticTupleIterator) or isinstance(dst.iterator, ArithmeticTupleIterator):
        raise LayoutError("expected tensors with addresses, got coordinates; make_tma_copy makes the copy of a box")
    if None in spaces:
        raise LayoutError(f"expected pointers with a memory space, as of make_gmem_ptr, got {src} and {dst}")
    if word is not None:
        return _asked(src, dst, word if isinstance(word, Atom) else atom(word), arch)
    rejected: list[tuple[str, str]] = []
    for atoms in _candidates(spaces, mbarrier, bulk, tma is not None):
        of_map = tma if atoms and ATOMS[atoms[0]].extent is Extent.BOX else None
        why = next((w for a in atoms if (w := misfit(ATOMS[a], src, dst, arch, len(atoms) > 1, of_map))), "")
        if not why:
            choice = _choice(atoms, src, dst, tuple(rejected))
            if choice.elements == 1 or alike(choice.elements):
                return choice
            why = f"moves {choice.elements} elements, of which the predicate is not known to hold for all or none"
        rejected.append((" + ".join(atoms), why))
    raise LayoutError(f"expected tensors that an instruction copies, got {src} and {dst}: {rejected[-1][1]}")


def _asked(src: Tensor, dst: Tensor, row: Atom, arch: Arch) -> Choice:
    why = misfit(row, src, dst, arch)
    if why:
        raise LayoutError(f"expected an atom for {src} -> {dst}, got {row.word}, which {why}")
    return _choice((row.word,), src, dst, ())


def _candidates(spaces: Any, mbarrier: bool, bulk: bool, tma: bool) -> Iterator[tuple[str, ...]]:
    """Instructions for a pair of memory spaces, the best first; a tensor map that is given is meant to be used."""
    source, target = spaces
    ways = ("tma", "bulk") if tma else ("bulk", "tma")
    if spaces == (GLOBAL, SHARED):
        yield from ((f"{way}.load",) for way in ways if mbarrier and bulk)
        yield from ((f"cp.async.{n}",) for n in (16, 8, 4))
    if spaces == (SHARED, GLOBAL) and bulk:
        yield from ((f"{way}.store",) for way in ways)
    if spaces == (REGISTER, REGISTER):
        yield ()
    for n in reversed(VECTORS):
        load = () if source is REGISTER else (f"ld.{source}.{n}",)
        store = () if target is REGISTER else (f"st.{target}.{n}",)
        if load or store:
            yield (*load, *store)


def _choice(atoms: tuple[str, ...], src: Tensor, dst: Tensor, rejected: tuple[tuple[str, str], ...]) -> Choice:
    rows, kind = [ATOMS[a] for a in atoms], dtype_of(src)
    assert kind is not None
    last = rows[-1] if rows else None
    count = int(src.size()) if last is None or last.extent is not Extent.INSTRUCTION else 8 * last.bytes // kind.bits
    completion = Completion.AT_ONCE if last is None else last.completion
    barrier = space_of(dst) is SHARED and completion is not Completion.MBARRIER
    return Choice(atoms, count, kind, completion, barrier, rejected)


# -- whether an instruction fits ------------------------------------------------------------------------


def misfit(
    row: Atom,
    src: Tensor,
    dst: Tensor,
    arch: Arch = SM90,
    between: bool = False,
    tma: Callable[[Tensor, Tensor], str] | None = None,
) -> str:
    """Why an instruction does not copy a tensor to another, or ""; *between*: its other end is a register.

    >>> x, y = Tensor(make_gmem_ptr(dtype="f32"), Layout(8)), Tensor(make_rmem_ptr(dtype="f32"), Layout(8, 2))
    >>> misfit(atom("cp.async.16"), x, y)
    'goes from global to shared, and they are in global and register'
    >>> misfit(atom("ld.global.16"), x, y)
    'moves 4 elements that lie side by side in both, and 1 do'
    """
    kinds, spaces = (dtype_of(src), dtype_of(dst)), (space_of(src), space_of(dst))
    if not between and spaces != (row.src, row.dst):
        return f"goes from {row.src} to {row.dst}, and they are in {spaces[0]} and {spaces[1]}"
    if arch.compute_capability < row.since:
        return f"is there from compute capability {row.since[0]}.{row.since[1]} on, and {arch} has {_cc(arch)}"
    if kinds[0] != kinds[1] or kinds[0] is None:
        return f"moves bytes as they are, and the elements are {kinds[0]} and {kinds[1]}"
    if isinstance(row, MatrixCopy):
        return (
            "moves a tile by the lanes of a warp, and the tensors are those of one thread; make_tiled_copy deals them"
        )
    if row.extent is Extent.BOX:
        return tma(src, dst) if tma else "moves a box of a tensor map, and there is none; make_tma_copy makes it"
    if row.extent is Extent.OPERAND:
        return _misfit_of_bytes(src, dst, kinds[0].bits)
    return _misfit_of_vector(row, src, dst, kinds[0].bits)


def _cc(arch: Arch) -> str:
    return ".".join(map(str, arch.compute_capability))


def _vector(src: Tensor, dst: Tensor) -> tuple[Any, str]:
    """(the number of leading elements that lie side by side in both, what a wider vector needs of sizes)."""
    try:
        return max_common_vector(src.layout, dst.layout), ""
    except LayoutError as e:
        where = str(e).partition("only where ")[2].partition("; declare")[0]
        return 1, f", which holds only where {where}" if where else f" ({e})"


def _misfit_of_vector(row: Atom, src: Tensor, dst: Tensor, bits: int) -> str:
    count, rest = divmod(8 * row.bytes, bits)
    if rest or not count:
        return f"moves {row.bytes} bytes, and an element has {bits} bits"
    if count == 1:
        return ""
    common, condition = _vector(src, dst)
    facts = Facts.about(common)
    common = facts.resolved(common)
    if facts.quotient(common, count) is None:
        unknown = "" if type(common) is int else f", where {common} % {count} == 0 is not known"
        return f"moves {count} elements that lie side by side in both, and {common} do{condition}{unknown}"
    for x in (src, dst):
        found = aligned_to(x)
        if space_of(x) is not REGISTER and found % row.bytes:
            return f"needs addresses of whole {row.bytes} bytes, and those of {x} are of {found}"
    return ""


def _misfit_of_bytes(src: Tensor, dst: Tensor, bits: int) -> str:
    common, condition = _vector(src, dst)
    size = src.size()
    if type(size) is not int or type(common) is not int or common != size:
        return f"moves bytes that lie side by side in both, and {common} of {size} elements do{condition}"
    if size * bits % (8 * SIZE_UNIT_BYTES):
        return f"moves whole {SIZE_UNIT_BYTES} bytes, and {size} elements have {size * bits // 8}"
    for x in (src, dst):
        start = x.iterator.alignment if isinstance(x.iterator, Pointer) else 1
        if start % SIZE_UNIT_BYTES:
            return f"needs an address of whole {SIZE_UNIT_BYTES} bytes, and that of {x} is of {start}"
    return ""


def aligned_to(x: Tensor) -> int:
    """The greatest number of bytes that is seen to divide the address of every vector of a tensor, for all sizes.

    >>> aligned_to(Tensor(make_gmem_ptr(dtype="f32"), Layout((4, 8), (1, 6))))
    8
    """
    kind, start = dtype_of(x), x.iterator.alignment if isinstance(x.iterator, Pointer) else 1
    if kind is None or kind.bits % 8:
        return 1
    return math.gcd(start, max_alignment(x.layout) * kind.bytes)
