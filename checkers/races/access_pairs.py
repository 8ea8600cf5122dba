"""Pairs of accesses to a tensor in which one changes it, and why their order is certain or does not matter.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> for o in orders(vector_copy(dim("N")), "dst"):
...     print(f"{o.where} | {o.by}")
st.global.16 x -> dst[512*block_x + 4*thread] | each execution has elements of its own
st.global.16 x -> dst[512*block_x + 4*thread], st.global.4 x -> dst[512*block_x + j + 4*thread] | one thread, in the \
order of its program
st.global.4 x -> dst[512*block_x + j + 4*thread] | each execution has elements of its own

An order is the program order of one thread, synchronisation of the threads of a CTA between the two (a barrier, the
end of an asynchronous operation, a fence between proxies), or the wait of a ring for the copy that reads. Those of
other CTAs have none: elements must be others there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from symlayout.errors import SymlayoutError
from symlayout.expr import Fact, Symbol, substitute
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import is_block
from symlayout.kernel.sites import Site, everyone, sites
from symlayout.layout import Layout
from symlayout.ops import Barrier, Box, ClusterBarrier, Commit, Elect, Fence, For, Op, Ref, Role, Wait, WaitGroup

from ..certified import certified
from ..claims.written_once import WrittenOnce
from ..clocks.decided import clocks
from ..coverage.elements import as_modes, in_a_map, in_modes
from ..coverage.store_sites import Open, Store
from ..orders.barriers import Meeting, meetings, number_of
from .global_accesses import Access, accesses, conflict
from .homes import Home, home_of, never_meet, unrolled, ways

PROGRAM = "one thread, in the order of its program"


@dataclass(frozen=True)
class Ordered:
    """Two accesses, or one in several threads, and why they are in order, or what is open about that."""

    where: str
    by: str = ""
    open: str = ""


def related(kernel: Kernel, tensor: str) -> tuple[str, ...]:
    """A tensor in global memory, and those that may be at its address."""
    return (tensor, *kernel.aliases(tensor))


def pairs(kernel: Kernel, tensor: str) -> Iterator[tuple[Access, Access]]:
    """The accesses to a tensor whose order matters, each with itself and with those after it in the program."""
    every = list(accesses(kernel, related(kernel, tensor)))
    for a, b in itertools.combinations_with_replacement(every, 2):
        if conflict(a, b) and tensor in (a.tensor, b.tensor):
            yield a, b


def shared(kernel: Kernel) -> tuple[str, ...]:
    """The tensors in global memory that are written, and also read or reduced into, or may alias one that is in use."""
    found = {name for name in kernel.written for a, b in pairs(kernel, name) if not _stores(a, b)}
    return tuple(t.name for t in kernel.tensors if t.name in found)


def _stores(a: Access, b: Access) -> bool:
    """Whether two accesses store to one tensor whose elements ``WrittenOnce`` proves to be stored once."""
    return a.kind == b.kind == "write" and a.tensor == b.tensor


def orders(kernel: Kernel, tensor: str, given: tuple[Fact, ...] = ()) -> Iterator[Ordered]:
    """The order of each two accesses to a tensor that count, for all sizes."""
    look = _Look(kernel.plain.assuming(*given))
    for a, b in pairs(look.kernel, tensor):
        where = str(a) if a is b else f"{a}, {b}"
        try:
            yield Ordered(where, by=look.order(a, b))
        except Open as e:
            yield Ordered(where, open=str(e))
        except SymlayoutError as e:
            yield Ordered(where, open=f"whether {where} are in order: {e}")


class _Look:
    """Looks for the order of two accesses."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.given = kernel, kernel.given
        self.facts = Facts.about(*kernel.dims, given=kernel.given)
        self._once: dict[str, bool] = {}

    @cached_property
    def every(self) -> list[Site]:
        return list(sites(self.kernel))

    @cached_property
    def meetings(self) -> dict[int, Meeting]:
        return meetings(self.kernel, self.every)

    def order(self, a: Access, b: Access) -> str:
        """Why two accesses are in order. Raises Open with what is missing, of the way that came furthest."""
        reasons = [Open(f"in which coordinates {a} and {b} are boxes of the same points")]
        for way in self._places(a, b):
            try:
                return self._of(a, b, *way())
            except Open as e:
                reasons.append(e)
        if _stores(a, b) and self._stored_once(a.tensor):
            return "each element is stored once"
        raise reasons[-1]

    def _stored_once(self, tensor: str) -> bool:
        """Whether that is proved of a tensor, all stores to it together."""
        if tensor not in self._once:
            try:
                claim = WrittenOnce(self.kernel, tensor)
                facts = Facts.about(claim.parameters(), given=claim.given)
                self._once[tensor] = certified(claim, facts) is not None
            except SymlayoutError:
                self._once[tensor] = False
        return self._once[tensor]

    def _places(self, a: Access, b: Access) -> Iterator[Callable[[], tuple[Store, Store]]]:
        """Ways to see the two as boxes of the same points."""
        first, second = self.kernel.tensor(a.tensor), self.kernel.tensor(b.tensor)
        if first.dtype.bits % 8:
            raise Open(f"which bytes elements of {first.name} share, of {first.dtype.bits} bits each")
        if first.dtype.bits != second.dtype.bits:
            raise Open(f"how elements of {first.name} and {second.name} share bytes, which may be at one address")
        name, layout = a.tensor, first.layout
        by_offset = isinstance(a.operand, Ref) and isinstance(b.operand, Ref)
        if by_offset:
            yield lambda: (a.store, b.store)
        if layout != second.layout:
            return
        if isinstance(layout, Layout) and (len(layout.modes()) > 1 or not by_offset):
            yield lambda: (self._in_modes(a, name, layout), self._in_modes(b, name, layout))

    def _in_modes(self, a: Access, name: str, layout: Layout) -> Store:
        """The boxes of an access in coordinates of its tensor, the contiguous one first."""
        if isinstance(a.operand, Box):
            through = self.kernel.map(a.operand.tensor_map)
            (found,) = in_a_map(self.kernel, name, (a.store,), (through,), self.facts).stores
            return as_modes(through.tensor_map, layout, found, self.facts)
        (found,) = in_modes(name, layout, (a.store,), self.facts).stores
        return found

    # -- two accesses in the same coordinates -------------------------------------------------------

    def _of(self, a: Access, b: Access, first: Store, second: Store) -> str:
        apart = never_meet(first, second, self.given) if a is not b else ""
        if apart:
            return apart
        reasons = [f"whether other threads come to the elements of {a}" + (f" and {b}" if a is not b else "")]
        for lanes, loops in ways((first, second)):
            try:
                home = home_of(first, second, self.kernel.dims, lanes=lanes, loops=loops)
                if home.apart(self.given):
                    return self._one_thread(a, b, home) if lanes else self._one_cta(a, b, home)
            except Open as e:
                reasons.append(str(e))
        if self._by_turns(a, b, first, second):
            return f"{PROGRAM}, iteration by iteration of loops of numbers"
        raise Open(max(reasons, key=lambda r: r.startswith("no ")) if len(reasons) > 1 else reasons[0])

    def _by_turns(self, a: Access, b: Access, first: Store, second: Store) -> bool:
        """Whether one thread comes to an element, in whatever iterations of the loops of numbers."""
        if (a.proxy, b.proxy, a.ends, b.ends) != ("generic", "generic", "", "") or not _same_threads(a.site, b.site):
            return False
        parts = (unrolled(first), unrolled(second))
        if not any(isinstance(n, int) for s in (first, second) for i, n in s.steps if not is_block(i)):
            return False
        return all(self._one_home(x, y) for x in parts[0] for y in parts[1])

    def _one_home(self, first: Store, second: Store) -> bool:
        if never_meet(first, second, self.given):
            return True
        try:
            return home_of(first, second, self.kernel.dims, lanes=True, loops=True).apart(self.given)
        except Open:
            return False

    def _one_thread(self, a: Access, b: Access, home: Home) -> str:
        """The two come to an element from the same blocks and lanes."""
        if not _same_threads(a.site, b.site):
            return self._one_cta(a, b, home)
        if a is b and home.whole:
            return "each execution has elements of its own"
        if a.proxy == b.proxy == "generic" and not a.ends and not b.ends:
            return PROGRAM
        if a is b:
            raise Open(f"no end of {a} is seen before its next iteration comes to the same element")
        return self._between(a, b, home, barrier=False)

    def _one_cta(self, a: Access, b: Access, home: Home) -> str:
        """The two come to an element from the same CTA, in the same iterations of their loops."""
        if a is b:
            raise Open(f"no order between the threads of a CTA that come to one element by {a}")
        awaited = self._awaited(a, b, home) or self._awaited(b, a, home)
        if awaited:
            return awaited
        try:
            return self._between(a, b, home, barrier=True)
        except Open:
            if self._by_clocks(a, b, home):
                return "one is over before the other, by symbolic clocks"
            raise

    def _by_clocks(self, a: Access, b: Access, home: Home) -> bool:
        """Whether one is known to be over before the other, where a home has them in the same iterations or in any."""
        known, first, second = clocks(self.kernel, self.given), (a.site, a.touch), (b.site, b.touch)
        whole = (True, False) if home.whole else (False,)
        return any(known.before(first, second, w) or known.before(second, first, w) for w in whole)

    # -- what stands between ------------------------------------------------------------------------

    def _between(self, a: Access, b: Access, home: Home, barrier: bool) -> str:
        """The order of *a* before *b* in one body, in the same iteration of the loops around both."""
        common = a.site.around[: _shared_depth(a.site, b.site)]
        if any(isinstance(x, For) for x in common) and not home.whole:
            raise Open(f"no order between {a} in one iteration and {b} in another")
        behind = [s for s in self.every if len(s.around) >= len(common) and a.site.places < s.places < b.site.places]
        here = [s for s in behind if _stands(s, b.site) < 0 or _stands(s, a.site) > 0]
        steps = []
        if a.ends == "mbarrier":
            waited = self._awaited(a, b, home)
            if not waited or barrier:
                raise Open(f"no wait by {b} for the end of {a} is seen")
            steps.append(waited)
        elif a.ends:
            end = next((s for s in here if _ends(s.op, a.ends) and _covers(s, a.site)), None)
            if end is None:
                raise Open(f"no wait_group {a.ends} 0 between {a} and {b}")
            if not any(s.op == Commit(a.ends) and _covers(s, a.site) for s in here[: here.index(end)]):
                raise Open(f"no commit {a.ends} between {a} and {end}, which waits for what is committed")
            here, steps = here[here.index(end) + 1 :], [str(end)]
        if a.changes and (a.proxy, b.proxy) == ("generic", "async"):
            fence = next((s for s in here if s.op == Fence("async") and _covers(s, a.site)), None)
            if fence is None:
                raise Open(f"no fence async between {a} and {b}")
            here, steps = here[here.index(fence) + 1 :], [*steps, str(fence)]
        if barrier:
            met = next((s for s in here if self._meets(s, a.site) and self._meets(s, b.site)), None)
            if met is None:
                raise Open(f"no barrier of the threads of {a} and {b} between the two")
            steps.append(str(met))
        return f"{', '.join(steps) or PROGRAM}, in one iteration" if steps else PROGRAM

    def _meets(self, s: Site, user: Site) -> bool:
        """Whether all threads that execute an operation meet there."""
        if not isinstance(s.op, Barrier | ClusterBarrier) or not self.meetings[number_of(s.op)].sound:
            return False
        return s.team is not None and s.team.lanes == 32 and s.team.warps >= everyone(user).warps

    def _awaited(self, a: Access, b: Access, home: Home) -> str:
        """A copy that reads is over where *b* stands behind a wait for its barrier, in the use that it fills."""
        op = a.site.op
        slot = getattr(op, "barrier", None)
        if a.ends != "mbarrier" or slot is None or getattr(op, "multicast", None) is not None or not home.whole:
            return ""
        mine, theirs = a.site.loops, b.site.loops
        if len(mine) > 1 or [x.extent for x in mine] != [x.extent for x in theirs]:
            return ""
        turned: dict[Symbol, Symbol] = {x.index: y.index for x, y in zip(mine, theirs, strict=True)}
        at = substitute(slot.slot, turned)
        slots = self.kernel.barrier(slot.barrier).slots
        turn = theirs[0].index if theirs else 0
        for s in self.every:
            if not isinstance(s.op, Wait) or s.op.barrier.barrier != slot.barrier or _stands(s, b.site) >= 0:
                continue
            right = s.op.barrier.slot == at == turn % slots and s.op.parity == turn // slots % 2
            if right and _covers(s, b.site) and self._alone(a, b):
                return f"{s} comes behind the end of {a}, by the protocol of the ring"
        return ""

    def _alone(self, a: Access, b: Access) -> bool:
        """Whether one copy completes on its barrier, and one operation of the role of *b* waits, without conditions."""
        name = a.site.op.barrier.barrier  # type: ignore[attr-defined]
        fills = [s for s in self.every if getattr(getattr(s.op, "barrier", None), "barrier", "") == name]
        copies = [s for s in fills if hasattr(s.op, "src")]
        waits = [s for s in fills if isinstance(s.op, Wait) and s.role == b.site.role]
        plain = all(isinstance(x, Role | Elect | For) for s in (*copies, *waits) for x in s.around)
        return len(copies) == 1 and len(waits) == 1 and plain


def _same_threads(a: Site, b: Site) -> bool:
    """Whether the same index of a lane is the same thread in both."""
    if [x for x in a.around if isinstance(x, Role)] != [x for x in b.around if isinstance(x, Role)]:
        return False
    elected = [any(isinstance(x, Elect) for x in s.around) for s in (a, b)]
    if not any(elected):
        return True
    return all(elected) and a.team is not None and a.team == b.team and not a.team.chosen


def _covers(s: Site, user: Site) -> bool:
    return s.team is not None and s.team.includes(everyone(user)) is True


def _ends(op: Op, group: str) -> bool:
    return isinstance(op, WaitGroup) and op.group == group and op.pending == 0 and not op.read


def _stands(s: Site, user: Site) -> int:
    """-1 where an operation stands in a body around another before it, 1 behind it, 0 where it is in no such body.

    In an iteration in which the other is executed this is too, by all who come to that body.
    """
    depth = len(s.around)
    if len(user.around) < depth or s.places[:depth] != user.places[:depth]:
        return 0
    here, there = s.places[depth], user.places[depth]
    return (here > there) - (here < there)


def _shared_depth(a: Site, b: Site) -> int:
    """The number of operations around two that are the same, place by place."""
    most = min(len(a.around), len(b.around))
    return next((i for i in range(most) if a.places[i] != b.places[i]), most)
