"""Registers of wgmma: fenced before it uses them, left alone until it is waited for (PTX ISA, wgmma.fence).

Consecutive wgmmas of one shape that add to the same registers need no fence between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from symlayout.atoms import Completion, MemorySpace, MmaAtom
from symlayout.kernel.sites import Site
from symlayout.ops import Fence, Mma, Op, WaitGroup

from .footprints import Footprints
from .needs import Progress, begin, perhaps, remaining, surely
from .rules import Order
from .runs_at_sizes import FURTHER, STARTS, Event, Runs, told
from .shared_accesses import Access, accesses, may_cover, parallel
from .ways import TooMany, Way, Ways

NOBODY: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Fenced:
    """The progress of a path from an access to registers: over, and fenced by which warps since."""

    progress: Progress
    warps: frozenset[int] = NOBODY


@dataclass(eq=False)
class Registers:
    """The orders of the registers that wgmma uses."""

    ways: Ways
    footprints: Footprints
    runs: Runs
    every: list[Access] = field(default_factory=list)

    def __post_init__(self) -> None:
        products = [s for s in self.ways.every if s.op.completion is Completion.WGMMA]
        found = list(accesses(self.ways.kernel, MemorySpace.REGISTER, self.ways.every)) if products else []
        used = {a.tensor for a in found if a.site.op.completion is Completion.WGMMA}
        self.every = [a for a in found if a.tensor in used]
        self.products = products

    def orders(self) -> Iterator[Order]:
        yield from self._first()
        for a in self.every:
            others = [b for b in self.every if self._related(a, b)]
            if others:
                yield from self._from(a, others)

    def _related(self, a: Access, b: Access) -> bool:
        if a.tensor != b.tensor or parallel(a.site, b.site) or not a.team.warps & b.team.warps:
            return False
        if not (_product(a.site.op) or _product(b.site.op)) or _of_one_sum(a, b):
            return False
        common = any(x is y for x in a.site.loops for y in b.site.loops)
        return (common or a.site.places < b.site.places) and self.footprints.anyhow(a, b) != "apart"

    # -- every way ----------------------------------------------------------------------------------

    def _first(self) -> Iterator[Order]:
        """A fence before the first wgmma."""
        for s in self.products:
            bare: list[Way] = []

            def at(
                warps: frozenset[int], x: Site, way: Way, s: Site = s, bare: list[Way] = bare
            ) -> frozenset[int] | None:
                if x is s:
                    bare.append(way)
                after = warps | _fencing(x)
                return None if s.team is not None and s.team.warps <= after else after

            try:
                self.ways.walk(
                    None, frozenset(range(s.kernel_threads // 32)) if s.team is None else s.team.warps, NOBODY, at
                )
            except TooMany as e:
                yield Order("registers_fenced", str(s), beyond=str(e))
                continue
            if not bare:
                yield Order("registers_fenced", str(s), by="fence wgmma on every way to it")
                continue
            yield self._unfenced(s)

    def _unfenced(self, s: Site) -> Order:
        missing = f"no fence wgmma before the first {s}; add it there"
        for sizes, events in self.runs.of(s.team.warps if s.team else NOBODY):
            for e in events:
                if isinstance(e.site.op, Fence) and e.site.op.about == "wgmma":
                    break
                if e.site is s:
                    return Order("registers_fenced", str(s), missing=f"{missing}; {told(sizes, e)}")
        return Order("registers_fenced", str(s), beyond=f"whether a fence wgmma comes before the first {s}")

    def _from(self, a: Access, others: list[Access]) -> Iterator[Order]:
        """The missing order between an access and those after it."""
        lacks: dict[Access, str] = {}
        here: dict[object, list[Access]] = {}
        for b in others:
            here.setdefault(b.site.places, []).append(b)
        most = 1 + max((s.op.pending for s in self.ways.every if isinstance(s.op, WaitGroup)), default=0)
        warps = a.team.warps & frozenset(w for b in others for w in b.team.warps)

        def at(p: Fenced, s: Site, way: Way) -> Fenced | None:
            for b in here.get(s.places, ()):
                lacking = _lacking(p, a, b)
                if lacking and lacks.get(b) != "done" and self._meet(a, b, way):
                    lacks[b] = lacking
            after = Fenced(surely(p.progress, s, a, most, {}), p.warps | (_fencing(s) if p.progress.done else NOBODY))
            over = after.progress.done and (not any(_product(b.site.op) for b in others) or warps <= after.warps)
            return None if over else replace(after, progress=_few(after.progress))

        try:
            self.ways.walk(a.site, a.team.warps, Fenced(begin(a)), at)
        except TooMany as e:
            yield Order("sums_done", str(a), beyond=str(e))
            return
        for b in others:
            yield self._told(a, b, lacks.get(b, ""))

    def _meet(self, a: Access, b: Access, way: Way) -> bool:
        return self.footprints.meeting(a, b, way) != "apart" and way.possible(a.site)

    def _told(self, a: Access, b: Access, lacks: str) -> Order:
        rule = "registers_fenced" if _product(b.site.op) and lacks != "done" else "sums_done"
        where = f"{a}, then {b}"
        if not lacks:
            done = ["commit and wait_group wgmma"] if a.group else []
            fence = ["fence wgmma"] if _product(b.site.op) else []
            return Order(rule, where, by=f"{', '.join((*done, *fence))} on every way on which they meet")
        missing = f"no commit and wait_group wgmma before {b}; add them after {a}"
        if lacks == "fence":
            missing = f"no fence wgmma between {a} and {b}; add it before the wgmma"
        story = self._seen(a, b, lacks)
        if story:
            return Order(rule, where, missing=f"{missing}; {story}")
        return Order(rule, where, beyond=f"whether this is so for {where}: {missing}")

    # -- runs at sizes ------------------------------------------------------------------------------

    def _seen(self, a: Access, b: Access, lacks: str) -> str:
        """A run that certainly misses it; two wgmmas, and a fence between two that read, are left open."""
        if (_product(a.site.op) and _product(b.site.op)) or (lacks == "fence" and a.kind == b.kind == "read"):
            return ""
        for sizes, events in self.runs.of(a.team.warps & b.team.warps):
            for i in [i for i, e in enumerate(events) if e.site is a.site][:STARTS]:
                found = self._after(a, b, events[i : i + FURTHER], lacks)
                if found is not None:
                    return told(sizes, events[i], found)
        return ""

    def _after(self, a: Access, b: Access, events: list[Event], lacks: str) -> Event | None:
        first, p = self.runs.touched(a, events[0]), begin(a)
        for e in events[1:]:
            if e.site is b.site and first is not None and (lacks == "fence" or not p.done):
                second = self.runs.touched(b, e)
                if second is not None and _still(p, a, b) and first.meets(second) != "apart":
                    return e
            if (
                lacks == "fence"
                and isinstance(e.site.op, Fence)
                and e.site.op.about == "wgmma"
                and may_cover(e.site, b)
            ):
                return None
            p = perhaps(p, e.site, a, b)
            if lacks == "done" and p.done:
                return None
        return None


def _lacking(p: Fenced, a: Access, b: Access) -> str:
    if not p.progress.done:
        return "done"
    return "fence" if _product(b.site.op) and not a.team.warps & b.team.warps <= p.warps else ""


def _still(p: Progress, a: Access, b: Access) -> bool:
    """Whether some thread whose progress the run tracks makes both accesses."""
    known = a.site.team is not None and b.site.team is not None
    return not p.others or (known and not remaining(p, a).isdisjoint(b.site.candidates))


def _few(p: Progress) -> Progress:
    """The operations that count here: barriers do not."""
    return Progress(commits=p.commits, done=p.done)


def _product(op: Op) -> bool:
    return op.completion is Completion.WGMMA


def _of_one_sum(a: Access, b: Access) -> bool:
    """Whether both are the sums of wgmmas of one shape at the same registers, or both are only read by wgmmas."""
    x, y = a.site.op, b.site.op
    if not isinstance(x, Mma) or not isinstance(y, Mma) or not (_product(x) and _product(y)):
        return False
    if a.kind == b.kind == "read":
        return True
    shapes = [row.mnk for row in (x.row, y.row) if isinstance(row, MmaAtom)]
    return a.kind == b.kind == "write" and shapes[0] == shapes[1] and a.ref == b.ref


def _fencing(s: Site) -> frozenset[int]:
    """The warps that fence their registers."""
    if isinstance(s.op, Fence) and s.op.about == "wgmma" and s.team is not None and s.team.lanes == 32:
        return s.team.warps
    return NOBODY
