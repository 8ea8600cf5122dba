"""The footprint of each thread in a shared tensor, and how the footprints of two operations meet.

Slots such as ``i % S`` are distinguished for all i: an index is written as a multiple of the periods plus a
remainder, and each remainder is examined. Accesses that never meet need no order; those of one warp need only that
warp's barrier.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from symlayout.address_map import Arrays
from symlayout.atoms import MatrixCopy, MmaAtom
from symlayout.expr import Symbol, digit, extent_of, interpret, substitute, symbols_of
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.sites import FIRST_LANE
from symlayout.kernel.touched import elements_of
from symlayout.ops import WARP, Copy, For, Mma, Op, Ref, Role

from ..bulk_sizes import most_moved
from .remainder_values import Known, unturned
from .shared_accesses import Access
from .ways import Way, Ways

POINTS = 1 << 18  # threads times iterations times elements of a footprint; a larger one is left open
ITERATIONS = 64  # of a loop that are examined one by one; longer loops stay symbols
CASES = 256  # remainders and iterations, examined one by one
ROW_BYTES = 16  # of one address of ldmatrix and stmatrix (PTX ISA)
LANE = 2  # threads are numbered by twos: the odd number is the one that is elected, whichever it is

KINDS = ("apart", "same thread", "in a warp", "across warps", "unknown")  # how accesses meet, each covers those before
Numbers: TypeAlias = "np.ndarray[Any, Any]"
Turned: TypeAlias = "dict[frozenset[Symbol], Known]"  # what offsets become, by the symbols that stay in them


@dataclass(frozen=True, eq=False)
class Touched:
    """Elements, ascending, with the least and the greatest of the threads that touch each of them."""

    elements: Numbers
    least: Numbers
    most: Numbers
    clash: str = "apart"  # how threads meet in the one operation
    again: bool = False  # whether a thread touches an element in several iterations

    def meets(self, other: Touched) -> str:
        """One of KINDS."""
        if not len(self.elements) or not len(other.elements):
            return "apart"
        if self.elements[-1] < other.elements[0] or other.elements[-1] < self.elements[0]:
            return "apart"
        _, i, j = np.intersect1d(self.elements, other.elements, assume_unique=True, return_indices=True)
        return _kind(np.minimum(self.least[i], other.least[j]), np.maximum(self.most[i], other.most[j]))

    def by(self, threads: frozenset[int]) -> Touched:
        """The footprint of some of the threads, as a lower bound; any lane of a warp may be elected."""
        count = int(self.most.max(initial=0)) // LANE + 33
        known = np.zeros(count // 32 * 32, dtype=np.int64)
        known[[t for t in threads if t < len(known)]] = 1
        sums = np.concatenate(([0], np.cumsum(known)))
        first, last = self.least // LANE, self.most // LANE
        every = sums[last + 1] - sums[first] == last + 1 - first
        some = (
            (known.reshape(-1, 32).max(axis=1)[first // 32] == 1) & (self.least == self.most) & (self.least % LANE == 1)
        )
        keep = every | some
        return replace(self, elements=self.elements[keep], least=self.least[keep], most=self.most[keep])

    def several(self, other: Touched) -> bool:
        """Whether two threads of one warp touch what the other does too."""
        both = np.isin(self.elements, other.elements)
        mine = np.unique(self.least[both])
        return bool((np.diff(mine // (32 * LANE)) == 0).any()) or self._whole(both)

    def _whole(self, both: Any) -> bool:
        """Whether all elements that a warp moves together are the other's too: each lane has some of them."""
        warps = self.least // (32 * LANE)
        together = (self.least % (32 * LANE) == 0) & (self.most - self.least == 32 * LANE - 1)
        return any(together[mine].all() and both[mine].all() for w in np.unique(warps) if (mine := warps == w).any())

    def shared(self, other: Touched) -> int:
        """The first element that both touch, by different threads if there is one."""
        both, i, j = np.intersect1d(self.elements, other.elements, assume_unique=True, return_indices=True)
        apart = np.maximum(self.most[i], other.most[j]) - np.minimum(self.least[i], other.least[j])
        return int(both[np.argmax(apart > 0)])


def _kind(least: Numbers, most: Numbers) -> str:
    if not len(least):
        return "apart"
    if (least == most).all():
        return "same thread"
    return "in a warp" if (least // (32 * LANE) == most // (32 * LANE)).all() else "across warps"


@dataclass(frozen=True)
class Place:
    """An offset, and the symbols in it that take all of their values."""

    offset: Any
    free: tuple[Symbol, ...] = ()


class Footprints:
    """The footprints of a kernel's operations."""

    def __init__(self, kernel: Kernel, ways: Ways) -> None:
        self.kernel, self.ways = kernel, ways
        self._opaque = frozenset(kernel.opaque)  # values that threads may have different ones of
        self._known: dict[Any, Touched | None] = {}
        self._met: dict[Any, str] = {}
        self._anyhow: dict[Any, str] = {}
        self._wide: dict[Access, Touched | None] = {}
        self._turned: Turned = {}

    def meeting(self, a: Access, b: Access, way: Way) -> str:
        """The ways in which *a*, at the start of a path, and *b*, at its end, may meet."""
        moved = self._moved(a, b, way)
        if moved is None:
            return "unknown"
        how = self._compared(a, b, *moved)
        if how == "same thread" and a is b and self._at_once(a, way) and self._once(a, moved[0]):
            return "apart"
        return self.in_step(how)

    def in_step(self, how: str) -> str:
        """The meeting of two accesses as synchronisation sees it: lanes in lockstep are in program order."""
        return "same thread" if how == "in a warp" and self.kernel.converged_warps else how

    def anyhow(self, a: Access, b: Access) -> str:
        """The ways in which two accesses may meet, at any iterations of their loops."""
        key = (a, b) if id(a) < id(b) else (b, a)
        if key not in self._anyhow:
            x, y = self._anywhere(a), self._anywhere(b)
            if x is None or y is None:
                self._anyhow[key] = self._compared(a, b, self._loose(a, "a"), self._loose(b, "b"))
            else:
                self._anyhow[key] = x.meets(y)
        return self._anyhow[key]

    def _anywhere(self, a: Access) -> Touched | None:
        """The footprint of an access in all of its iterations; None if it depends on sizes."""
        if a not in self._wide:
            loops = {loop.index for loop in a.site.loops}
            still = Place(0)  # no other term moves alike
            cases = list(self._cases((self._loose(a, "a"), still), loops))
            found = [self.touched(a, put) for put, _ in cases]
            self._wide[a] = _union([f for f in found if f is not None]) if found and None not in found else None
        return self._wide[a]

    def tied(self, a: Access, b: Access, i: Symbol, j: Symbol, ahead: int) -> str:
        """The ways in which two accesses of different roles meet when iteration j of b's loop is i + *ahead* of a's."""
        first, second = self._loose(a, "a"), self._loose(b, "b")
        here, there = digit(f"{i.name}__a", extent_of(i)), digit(f"{j.name}__b", extent_of(j))
        tie = Place(substitute(second.offset, {there: here + ahead}), tuple(s for s in second.free if s is not there))
        first = Place(first.offset, tuple(s for s in first.free if s is not here))
        return self._compared(a, b, first, tie, (here,))

    def clash(self, a: Access) -> str:
        """The ways in which threads may meet in one execution of an operation."""
        if self._opaque & set(symbols_of(a.ref.offset)):
            return "unknown"
        found = [
            self.touched(a, put)
            for (put,) in self._cases((Place(a.ref.offset),), {loop.index for loop in a.site.loops})
        ]
        worst = [f.clash if f is not None else "unknown" for f in found]
        return max(worst, key=KINDS.index) if found else "unknown"

    def _once(self, a: Access, place: Place) -> bool:
        """Whether no thread touches an element in several iterations of the loops without synchronisation."""
        inside = set(symbols_of(place.offset))
        if self._opaque & inside or not all(_is_few(s) and s in inside for s in place.free):
            return False
        found = [self.touched(a, put) for (put,) in self._cases((place,), {loop.index for loop in a.site.loops})]
        return bool(found) and all(f is not None and not f.again for f in found)

    def _at_once(self, a: Access, way: Way) -> bool:
        """Whether no loop with orders inside has turned since the start."""
        depth = len(self.ways.loops(self.ways.quiet(a.site) or a.site.places))
        return all(x == ("on", 0) for x in way.iterations[:depth]) and all(x is None for x in way.left[:depth])

    # -- where two accesses are on a way ------------------------------------------------------------

    def _loose(self, a: Access, mark: str) -> Place:
        put, free = {}, []
        for loop in a.site.loops:
            put[loop.index] = s = _renamed(loop, mark)
            free.append(s)
        return Place(substitute(a.ref.offset, put), tuple(free))

    def _moved(self, a: Access, b: Access, way: Way) -> tuple[Place, Place] | None:
        """Both offsets in terms of the iterations at the start; None if loops share an index."""
        puts: tuple[dict[Symbol, Any], dict[Symbol, Any]] = {}, {}
        frees: tuple[list[Symbol], list[Symbol]] = [], []
        for loops in (a.site.loops, b.site.loops):
            if len({loop.index for loop in loops}) != len(loops):
                return None
        iterations = (*way.iterations, *(("any", 0),) * (len(b.site.loops) - len(way.iterations)))
        on = {loop.index for loop, gone in zip(a.site.loops, way.left, strict=True) if gone is None}
        for mark, loops, where in ((0, a.site.loops, way.left), (1, b.site.loops, iterations)):
            for loop, iteration in zip(loops, where, strict=True):
                put: Any = loop.index
                if iteration is None:
                    continue
                kind, n = iteration
                if kind == "any":
                    put = _renamed(loop, "ab"[mark])
                    frees[mark].append(put)
                elif mark == 0:
                    put = loop.extent - 1 - n
                elif kind == "at":
                    put = n
                elif loop.index not in on:
                    return None
                else:
                    put = loop.index + n
                puts[mark][loop.index] = put
        at_a, at_b = substitute(a.ref.offset, puts[0]), substitute(b.ref.offset, puts[1])
        return Place(at_a, tuple(frees[0])), Place(at_b, tuple(frees[1]))

    def _compared(self, a: Access, b: Access, at_a: Place, at_b: Place, tied: tuple[Symbol, ...] = ()) -> str:
        if any(s in self._opaque for p in (at_a, at_b) for s in symbols_of(p.offset)):
            return "unknown"
        key = (a.site.places, a.ref, b.site.places, b.ref, at_a, at_b, tied)
        if key not in self._met:
            self._met[key] = self._worst(a, b, at_a, at_b, tied)
        return self._met[key]

    def _worst(self, a: Access, b: Access, at_a: Place, at_b: Place, tied: tuple[Symbol, ...]) -> str:
        worst = "apart"
        joint = {loop.index for loop in (*a.site.loops, *b.site.loops)} | set(tied)
        count = 0
        for x, y in self._cases((at_a, at_b), joint):
            count += 1
            first, second = self.touched(a, x), self.touched(b, y)
            if first is None or second is None:
                return "unknown"
            worst = max(worst, first.meets(second), key=KINDS.index)
            if worst == KINDS[-2]:
                break
        return worst if count else "unknown"

    def _cases(self, at: tuple[Place, ...], joint: set[Symbol]) -> Iterator[tuple[Place, ...]]:
        return _cases(at, joint, self._turned)

    # -- numbers ------------------------------------------------------------------------------------

    def touched(self, a: Access, place: Place) -> Touched | None:
        """The footprint of an access whose offset depends on threads and free symbols only; else None."""
        key = (a.site.places, a.ref, place)
        if key not in self._known:
            self._known[key] = self._touched(a, place)
        return self._known[key]

    def _touched(self, a: Access, place: Place) -> Touched | None:
        width = widest(self.kernel, a.site.op, a.ref) if a.matrix is None else 1
        symbols = symbols_of(place.offset)
        free = [s for s in place.free if s in symbols]
        if width is None or any(s.name != THREAD and s not in free for s in symbols):
            return None
        extents = [int(extent_of(s)) for s in free]  # _cases leaves numbers only
        by_thread = any(s.name == THREAD for s in symbols)
        threads, ids = self._threads(a, by_thread)
        if len(threads) * math.prod(extents) * width > POINTS:
            return None
        grid = np.meshgrid(threads, *(np.arange(n) for n in extents), indexing="ij")
        env: dict[Any, Any] = dict(zip(free, grid[1:], strict=True))
        env.update({s: grid[0] for s in symbols if s.name == THREAD})
        starts = np.broadcast_to(interpret(place.offset, Arrays(env)), grid[0].shape)
        starts = starts.reshape(len(threads), math.prod(extents))
        if _unsaid(a) and by_thread and len(threads) == WARP * len(a.team.warps):  # any lane, and all at one place
            lanes = starts.reshape(len(a.team.warps), WARP, -1)
            if (lanes == lanes[:, :1]).all():
                starts, ids = lanes[:, 0], LANE * WARP * np.array(sorted(a.team.warps), dtype=np.int64) + 1
        who = np.broadcast_to(ids[:, None], starts.shape)
        if a.matrix is not None and starts.size:
            return self.operand(a, np.unique(starts))
        return by_element(starts, who, width, a.site.op)

    def _threads(self, a: Access, by_thread: bool) -> tuple[Numbers, Numbers]:
        """(number within the role, number that tells threads apart) of each thread."""
        role = next((x for x in reversed(a.site.around) if isinstance(x, Role)), None)
        first = 32 * role.first_warp if role else 0
        warps = np.array(sorted(a.team.warps), dtype=np.int64)
        if _unsaid(a) and not by_thread:
            return 32 * warps - first, LANE * 32 * warps + 1
        if a.team.chosen == (FIRST_LANE,):
            return 32 * warps - first, LANE * 32 * warps
        if a.team.chosen and a.site.team is not None:  # by conditions on threads alone
            some = np.array(sorted(a.site.candidates), dtype=np.int64)
            return some - first, LANE * some
        row = a.site.op.row
        lanes = row.row_lanes if isinstance(row, MatrixCopy) else WARP
        every = (32 * warps[:, None] + np.arange(lanes)).reshape(-1)
        return every - first, LANE * every

    def operand(self, a: Access, starts: Numbers) -> Touched | None:
        """The elements that a warpgroup reads of an operand, from these on."""
        op, tensor = a.site.op, self.kernel.tensor(a.tensor)
        row = op.row
        if not isinstance(op, Mma) or not isinstance(row, MmaAtom) or a.matrix is None:
            return None
        rows = row.mnk[0] if a.matrix is op.a else row.mnk[1]
        if len(starts) * rows * row.mnk[2] > POINTS or row.dtype.bits != tensor.dtype.bits:
            return None
        bases = tensor.base + starts * row.dtype.bytes
        found = [a.matrix.descriptor.addresses(rows, row.mnk[2], row.dtype, int(x)).reshape(-1) for x in bases]
        elements = (np.unique(np.concatenate(found)) - tensor.base) // row.dtype.bytes
        least, most = (np.full(len(elements), LANE * 32 * w) for w in (min(a.team.warps), max(a.team.warps) + 1))
        return Touched(elements, least, most - 1)


def by_element(starts: Numbers, who: Numbers, width: int, op: Op) -> Touched:
    elements = (starts[..., None] + np.arange(width)).reshape(-1)
    ids = np.repeat(who.reshape(-1), width)
    if not len(elements):
        return Touched(elements, ids, ids)
    order = np.argsort(elements, kind="stable")
    elements, ids = elements[order], ids[order]
    first = np.flatnonzero(np.diff(elements, prepend=elements[0] - 1))
    least, most = np.minimum.reduceat(ids, first), np.maximum.reduceat(ids, first)
    clash = _kind(least, most)
    many = starts.shape[1] > 1 and len(first) < len(elements) and _repeats(elements * (1 + ids.max(initial=0)) + ids)
    if isinstance(op.row, MatrixCopy):  # rows are the whole warp's
        least, most = least // (32 * LANE) * 32 * LANE, most // (32 * LANE) * 32 * LANE + 32 * LANE - 1
    return Touched(elements[first], least, most, "apart" if clash == "same thread" else clash, bool(many))


def _repeats(x: Numbers) -> bool:
    return not np.diff(np.sort(x)).all()


def _unsaid(a: Access) -> bool:
    """Whether it is not said which lane makes an access: an election's."""
    return a.team.lanes == 1 and not a.team.chosen


def _union(parts: list[Touched]) -> Touched:
    elements, least, most = (np.concatenate([getattr(p, x) for p in parts]) for x in ("elements", "least", "most"))
    if not len(elements):
        return Touched(elements, least, most)
    order = np.argsort(elements, kind="stable")
    first = np.flatnonzero(np.diff(elements[order], prepend=elements[order[0]] - 1))
    low, high = np.minimum.reduceat(least[order], first), np.maximum.reduceat(most[order], first)
    return Touched(elements[order][first], low, high)


def _cases(at: tuple[Place, ...], joint: set[Symbol], known: Turned) -> Iterator[tuple[Place, ...]]:
    """The places at each remainder and iteration that matters, in threads and free symbols of known ranges only.

    Nothing where there are too many, or where something else is left in an offset.
    """
    few = {s for p in at for s in p.free if _is_few(s)}
    shared = {s for p in at for s in symbols_of(p.offset)} & joint
    turned = sorted((s for s in shared if type(s.upper) is int and s.upper < ITERATIONS), key=lambda s: s.name)
    kept = lambda s: s in few or s.name == THREAD  # noqa: E731
    ranges = [range(int(extent_of(s))) for s in turned]
    if math.prod(map(len, ranges)) > CASES:
        return
    for values in itertools.product(*ranges):
        put = dict(zip(turned, values, strict=True))
        offsets = tuple(substitute(p.offset, put) for p in at)
        found = unturned(offsets, kept, CASES, known.setdefault(frozenset(few), {}))
        if found is None:
            yield tuple(Place(o) for o in offsets)  # symbols are left, which ``touched`` does not resolve
            return
        for case in found:
            yield tuple(Place(o, tuple(s for s in p.free if s in few)) for o, p in zip(case, at, strict=True))


def _is_few(s: Symbol) -> bool:
    return type(s.upper) is int and s.upper < ITERATIONS


def _renamed(loop: For, mark: str) -> Symbol:
    return digit(f"{loop.index.name}__{mark}", loop.extent)


def widest(kernel: Kernel, op: Op, ref: Ref) -> int | None:
    """Elements that one thread touches from an offset on at most; None where the operation does not say."""
    found = elements_of(kernel, op, ref)
    return most_moved(kernel, op, ref) if found is None and isinstance(op, Copy) else found
