"""That mbarriers are initialised before they are used, and that all who use them know of it.

One thread executes mbarrier.init; a barrier that all threads come to at the start tells them; copies, which reach an
mbarrier through the async proxy, and CTAs of the cluster need a fence between the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from symlayout.kernel import Kernel
from symlayout.kernel.clusters import size
from symlayout.kernel.sites import Site
from symlayout.ops import (
    WARP,
    Arrive,
    Barrier,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Copy,
    Elect,
    Fence,
    If,
    Init,
    Inval,
    PeerCopy,
    Role,
    Wait,
    WarpBarrier,
)

from .rules import Order

MEETINGS = (Barrier, WarpBarrier, ClusterBarrier)


def init_orders(kernel: Kernel, every: Sequence[Site], arrays: tuple[str, ...] = ()) -> Iterator[Order]:
    """The obligations of each array of mbarriers that is used, or of some of these."""
    for b in (b for b in kernel.barriers if not arrays or b.name in arrays):
        uses = [s for s in every if _uses(s, b.name)]
        if uses:
            yield from _Array(kernel, b.name, every, uses).orders()


def _uses(s: Site, name: str) -> bool:
    op = s.op
    return op.arrives_at(name) or op.expects_on(name) or op.waits_for(name) or op.credits_to(name)


def _remote(s: Site) -> bool:
    op = s.op
    cast = isinstance(op, Copy) and op.multicast is not None
    return isinstance(op, PeerCopy) or (isinstance(op, Arrive) and op.peer is not None) or cast


def _once(s: Site) -> bool:
    """Whether an operation is executed exactly once by each thread of its team."""
    return s.team is not None and not s.conditions and all(isinstance(a, Role | If | Elect) for a in s.around)


class _Array:
    """One array of mbarriers, with the operations that initialise it and those that use it."""

    def __init__(self, kernel: Kernel, name: str, every: Sequence[Site], uses: list[Site]) -> None:
        self.kernel, self.name, self.every, self.uses = kernel, name, every, uses
        self.remote = size(kernel) > 1 and any(map(_remote, uses))
        self.invals = [s for s in every if isinstance(s.op, Inval) and s.op.array == name]
        self.inits = [s for s in every if isinstance(s.op, Init) and s.op.array == name]

    def orders(self) -> Iterator[Order]:
        """That it is initialised once by one thread, then a fence where one is needed, then a barrier, then uses."""
        where = f"{self.name} of {self.kernel.name}"
        if not self.inits:
            yield Order("initialised", where, missing=f"no init {self.name}; add it at the start, by one thread")
            return
        sure = [s for s in self.inits if _once(s)]
        if len(sure) > 1:
            yield Order("initialised", where, missing=f"expected one init {self.name}, got {len(sure)}")
            return
        if len(self.inits) > 1 or not sure:
            yield Order("initialised", where, beyond=f"whether {self.name} is initialised once")
            return
        (init,) = sure
        assert init.team is not None
        if init.team.threads != 1:
            yield Order("initialised", where, missing=f"expected one thread to execute {init}, got {init.team}")
            return
        met = self._met(init)
        yield self._known(init, met, where)
        if self.invals:
            yield self._invalidated(where)
        if met is not None and (self.remote or any(s.op.credits_to(self.name) for s in self.uses)):
            yield self._fenced(init, met, where)

    def _met(self, init: Site) -> Site | None:
        """The first barrier behind the initialisation at which all threads meet that may use the mbarriers."""
        found = (s for s in self.every if self._arrival(s).places[0] > init.places[0] and self._is_of_all(s))
        return next(found, None)

    def _arrival(self, s: Site) -> Site:
        """The arrival that a wait of the cluster is for: the last before it; of other barriers themselves."""
        before = [x for x in self.every if isinstance(x.op, ClusterArrive) and x.places < s.places]
        return before[-1] if isinstance(s.op, ClusterWait) and before and not before[-1].around else s

    def _is_of_all(self, s: Site) -> bool:
        if s.around:
            return False
        if isinstance(s.op, Barrier):
            return s.op.threads in (0, self.kernel.threads) and not self.remote
        if isinstance(s.op, WarpBarrier):
            return self.kernel.threads == WARP and not self.remote
        if isinstance(s.op, ClusterWait):  # that is behind an arrival, by all threads and each once, is cluster_met's
            arrival = self._arrival(s).op
            return isinstance(arrival, ClusterArrive) and (self.remote or not arrival.relaxed)
        return isinstance(s.op, ClusterBarrier)

    def _known(self, init: Site, met: Site | None, where: str) -> Order:
        """That uses come behind a barrier; what the same thread does behind its own init is left open."""
        early = [s for s in self.uses if met is None or s.places < met.places]
        if not early:
            return Order("initialised", where, by=f"{init}, then {met}")
        for s in early:
            mine = (x for x in self.every if isinstance(x.op, (*MEETINGS, ClusterWait)) and x.role in (s.role, ""))
            between = (x for x in mine if init.places < x.places < s.places)
            alone = s.team is None or (s.team.threads == 1 and s.role == init.role)
            if next(between, None) is None and not alone:
                kind = "cluster barrier" if self.remote else "barrier of all threads"
                return Order("initialised", where, missing=f"no {kind} between {init} and {s}; add it there")
        return Order("initialised", where, beyond=f"whether {early[0]} comes behind {init}")

    def _invalidated(self, where: str) -> Order:
        """That one thread invalidates it once, when all threads have met behind all uses."""
        first, last = self.invals[0], max(s.places for s in (*self.uses, *self.inits))
        if len(self.invals) > 1 or first.team is None or not _once(first):
            return Order("invalidated", where, beyond=f"whether {self.name} is invalidated once")
        if first.team.threads != 1:
            return Order("invalidated", where, missing=f"expected one thread to execute {first}, got {first.team}")
        plain = not first.role and all(not s.role for s in self.uses)  # so that the text is the order of each thread
        if last > first.places and plain:
            return Order("invalidated", where, missing=f"{first} stands before a use of {self.name}; put it behind")
        meets = (s for s in self.every if last < s.places < first.places and self._is_of_all(s))
        met = next((s for s in meets if s.places[0] > last[0]), None)
        if met is not None:
            return Order("invalidated", where, by=f"{met}, then {first}")
        told = any(isinstance(x.op, (*MEETINGS, ClusterWait, Wait)) for x in self._between(last, first.places))
        others = any(s.team is not None and first.team.includes(s.team) is False for s in self.uses)
        said = f"no barrier of all threads between the last use and {first}"
        if plain and others and not told:
            return Order("invalidated", where, missing=said)
        return Order("invalidated", where, beyond=f"whether all uses of {self.name} are over: {said}")

    def _between(self, begin: tuple[int, ...], end: tuple[int, ...]) -> list[Site]:
        return [s for s in self.every if begin < s.places < end]

    def _fenced(self, init: Site, met: Site, where: str) -> Order:
        """That the thread which initialises fences that, before the barrier."""
        end = self._arrival(met).places
        between = [s for s in self.every if init.places < s.places < end and isinstance(s.op, Fence)]
        wanted = ("mbarrier_init",) if self.remote else ("mbarrier_init", "async")
        able = [s for s in between if isinstance(s.op, Fence) and s.op.about in wanted]
        done = next((s for s in able if _once(s) and (not s.around or s.places[:-1] == init.places[:-1])), None)
        if done is not None:
            return Order("init_fenced", where, by=str(done))
        if able:
            return Order("init_fenced", where, beyond=f"whether the thread of {init} comes to {able[0]}")
        return Order("init_fenced", where, missing=f"no fence mbarrier_init between {init} and {met}; add it there")
