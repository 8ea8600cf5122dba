"""Tensors that share bytes of shared memory, and why they are never in use at once.

All accesses to the one come before a barrier and all accesses to the other after it, in one body that is not a
loop's: the kernel's or a role's. At the barrier all threads that touch either meet, and what is asynchronous is over
by then. Where no barrier stands so, symbolic clocks may show that the one is over before the other.

>>> from symlayout import Layout
>>> from symlayout.kernel import Builder
>>> k = Builder("reuse", grid=(1,), threads=64)
>>> x = k.registers("x", "f32", 1)
>>> a = k.shared_tensor("a", "f32", Layout(64))
>>> b = k.shared_tensor("b", "f32", Layout(32), over=a(16))
>>> k.copy("st.shared.4", x(), a(k.thread))
>>> k.sync()
>>> with k.where(k.thread < 32):
...     k.copy("st.shared.4", x(), b(k.thread))
>>> sharing(k.kernel())
(('a', 'b'),)
>>> print(apart(k.kernel(), "a", "b"))
barrier 0 stands between a and b
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from symlayout.atoms import Completion, MemorySpace
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import size
from symlayout.kernel.sites import Site, everyone, sites
from symlayout.ops import Barrier, ClusterBarrier, PeerCopy, Role, Wait, WaitGroup

from .clocks.decided import clocks
from .orders.barriers import Meeting, meetings, number_of
from .orders.needs import Progress, begin, surely
from .orders.shared_accesses import Access, accesses
from .orders.ways import TooMany, Way, Ways
from .rings.recognised import RingParts, rings_of


class Together(Exception):
    """The reason why two tensors may be in use at the same time, as far as it is known."""


@dataclass(frozen=True)
class Apart:
    """Why two tensors are apart in time, and the rings whose protocol has to hold for it."""

    why: str
    rings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.why


@functools.lru_cache(maxsize=64)
def sharing(kernel: Kernel) -> tuple[tuple[str, str], ...]:
    """The pairs of tensors that have bytes of shared memory in common."""
    shared = [(t.name, t.base, t.base + int(t.bytes)) for t in kernel.tensors if t.space is MemorySpace.SHARED]
    pairs = itertools.combinations(shared, 2)
    return tuple((a, b) for (a, low, high), (b, first, end) in pairs if low < end and first < high)


def unsettled(kernel: Kernel, names: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str]]:
    """(tensor, one that shares bytes with it, why they may be in use at once), of some tensors or of all."""
    for a, b in sharing(kernel):
        if not names or a in names or b in names:
            try:
                apart(kernel, a, b)
            except Together as e:
                yield a, b, str(e)


def apart(kernel: Kernel, a: str, b: str) -> Apart:
    """Why two tensors are never in use at once, if the rings among them keep their protocol. Raises Together."""
    found = _found(kernel, a, b)
    if isinstance(found, str):
        raise Together(found)
    return found


@functools.lru_cache(maxsize=256)
def _found(kernel: Kernel, a: str, b: str) -> Apart | str:
    look = _Look(kernel.plain)
    unused = next((x for x in (a, b) if not look.touching(x)), None)
    if unused is not None:
        return Apart(f"{unused} is not used")
    reasons = []
    peers = [op for op in kernel.walk() if isinstance(op, PeerCopy) and op.place.tensor in (a, b)]
    for first, second in ((a, b), (b, a)) if not peers else ():  # a barrier of the CTA tells nothing of its peers
        try:
            return look.between(first, second)
        except Together as e:
            reasons.append(str(e))
        except TooMany as e:
            reasons.append(str(e))
    known = clocks(kernel, kernel.given)
    for first, second in ((a, b), (b, a)):
        if not known.apart_open(first, second):
            return Apart(f"all that touches {first} is over before anything touches {second}, by symbolic clocks")
    if peers:
        return f"whether {peers[0]} comes before or behind what touches the other tensor, in the peer"
    # of the two orders, that in which the tensors are used first
    return reasons[look.touching(b)[0].places < look.touching(a)[0].places]


class _Look:
    """Looks for a barrier between the uses of two tensors."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.every = kernel, list(sites(kernel))
        self.ways, self.meetings = Ways(kernel, self.every), meetings(kernel, self.every)
        self.accesses = list(accesses(kernel, MemorySpace.SHARED, self.every))
        self.rings = rings_of(kernel)

    def touching(self, name: str) -> list[Site]:
        """The operations that read or write a tensor."""
        return [s for s in self.every if any(r.tensor == name for r in (*s.op.sources, *s.op.targets))]

    def between(self, first: str, second: str) -> Apart:
        """A check that a barrier comes between all uses of *first* and all of *second*. Raises Together."""
        divided = next(self.ways.divided(), None)
        if divided is not None:
            raise Together(f"whether all threads take the same iterations and branches at {divided}")
        barriers = [s for s in self.every if isinstance(s.op, Barrier | ClusterBarrier)]
        reasons = []
        for s in barriers:
            try:
                return self._at(s, first, second)
            except Together as e:
                reasons.append(str(e))
        if reasons:
            raise Together(max(reasons, key=lambda r: not r.startswith("no barrier")))
        raise Together(f"no barrier stands between {first} and {second}")

    def _at(self, s: Site, first: str, second: str) -> Apart:
        """A check that this barrier is one."""
        lands = [x for x in self.touching(first) if x.op.completion is Completion.MBARRIER]
        before = [x for x in self.touching(first) if x.op.completion is not Completion.MBARRIER]
        after = self.touching(second)
        rings = tuple(self._ring(x) for x in lands)
        waits = [x for x in self.every if isinstance(x.op, Wait) and x.op.barrier.barrier in {r.full for r in rings}]
        mine = [x for x in waits if _inside(x, s)]
        side = {_side(x, s) for x in (*before, *(mine if s.around else waits))} | {-_side(x, s) for x in after}
        if side != {-1} or not all(isinstance(x, Role) for x in s.around):
            raise Together(f"no barrier stands between all uses of {first} and all of {second}, in no loop")
        if {r.full for r in rings} - {x.op.barrier.barrier for x in mine}:  # type: ignore[attr-defined]
            raise Together(f"no wait for the fills of {first} stands before {s}")
        self._expect_met(s, [*before, *after])
        for a in self.accesses:
            if a.tensor == first:
                self._expect_over(a, s, second)
        names = tuple(dict.fromkeys(r.full for r in (*rings, *self._rings(second))))
        return Apart(f"{s} stands between {first} and {second}", names)

    def _ring(self, x: Site) -> RingParts:
        return next(r for r in self.rings if r.full == x.op.barrier.barrier)  # type: ignore[attr-defined]

    def _rings(self, name: str) -> list[RingParts]:
        return [r for r in self.rings if name in r.tensors]

    def _expect_met(self, s: Site, users: list[Site]) -> None:
        """All threads that touch either tensor come to the barrier together, and each time to this one."""
        m: Meeting = self.meetings[number_of(s.op)]  # type: ignore[arg-type]
        clusters = size(self.kernel) > 1
        if clusters and not (isinstance(s.op, ClusterBarrier) and not s.around):
            raise Together("expected a cluster barrier outside of roles, since other CTAs may copy there")
        whole = s.team is not None and s.team.lanes == 32 and all(x.team == s.team for x in m.sites)
        if not m.sound or not whole or any(isinstance(x.op, ClusterBarrier) and x.around for x in m.sites):
            raise Together(f"whether the threads that meet at {s} are always the same")
        assert s.team is not None
        absent = next((x for x in users if not everyone(x).warps <= s.team.warps), None)
        if absent is not None:
            raise Together(f"{s} does not await the threads of {absent}")

    def _expect_over(self, a: Access, s: Site, second: str) -> None:
        """Check that an access is over, and fenced if asynchronous copies follow, on every path to the barrier."""
        fills = any(x.op.completion is Completion.MBARRIER for x in self.touching(second))
        fenced = a.kind == "write" and fills
        most = 1 + max((x.op.pending for x in self.every if isinstance(x.op, WaitGroup)), default=0)

        def at(p: Progress, x: Site, _: Way) -> Progress | None:
            if x is s:
                if not p.done:
                    raise Together(f"no commit and wait_group {a.group} ends {a} before {s}")
                if fenced and not p.fenced:
                    raise Together(f"no fence async between {a} and {s}, behind which copies fill {second}")
                return None
            return surely(p, x, a, most, self.meetings)

        self.ways.walk(a.site, a.team.warps, begin(a), at)


def _inside(x: Site, s: Site) -> bool:
    """Whether an operation stands in the body of another, or inside an operation there."""
    return x.places[: len(s.places) - 1] == s.places[:-1]


def _side(x: Site, s: Site) -> int:
    """-1 where an operation stands before another in its body, 1 behind it, 0 elsewhere."""
    depth = len(s.places) - 1
    here, there = x.places[depth : depth + 1], s.places[depth:]
    return 0 if not _inside(x, s) or here == there else -1 if here < there else 1
