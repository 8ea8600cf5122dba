"""The orderings that asynchronous copies need, looked for in the operations of a kernel: a subset of the PTX model.

Each row of RULES names two accesses and the instructions that must stand between them. What is checked is that they
stand there, executed by the right threads; that a barrier's phases mean what they should is the ring protocol's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from symlayout.atoms import ATOMS
from symlayout.kernel import Kernel
from symlayout.ops import (
    Arrive,
    Barrier,
    ClusterBarrier,
    Commit,
    Copy,
    Elect,
    Fence,
    Fill,
    For,
    Map,
    Mma,
    Op,
    Role,
    Wait,
    WaitGroup,
    WarpBarrier,
)

from .footprints import meeting, touched
from .ring_programs import rings_of, sources, targets
from .sites import Site, sites

MODEL = "ptx-9.1 subset 1"

RULES = {
    "full_acquire": "a slot is read after a wait for its fill (PTX ISA, mbarrier.try_wait: acquire)",
    "slot_free": "a slot is filled after a wait for those who read it (PTX ISA, mbarrier.arrive: release)",
    "reads_retired": "a slot is given back after wait_group has ended its asynchronous reads",
    "generic_write_async_read": "writes, fence async by the writers, a barrier, then the asynchronous read"
    " (PTX ISA, Async Proxy)",
    "store_source_reuse": "a stored tile is written again after commit, wait_group and a barrier",
    "issued_together": "an instruction of a warp or warpgroup is issued by all of its threads (PTX ISA, .aligned)",
    "sums_done": "sums are read after commit and wait_group have ended their wgmma (PTX ISA, wgmma.wait_group)",
    "store_committed": "the sources of all stores are read before the CTA ends: commit, then wait_group 0",
}


@dataclass(frozen=True)
class Order:
    """One obligation: met by *by*, or *missing* with where it belongs, or *beyond* the subset."""

    rule: str
    place: str
    by: str = ""
    missing: str = ""
    beyond: str = ""

    def __str__(self) -> str:
        said = self.missing or self.beyond or self.by
        return f"{self.rule}: {self.place}: {said}"


def orders(kernel: Kernel) -> Iterator[Order]:
    """Every obligation of a kernel, in the order of its operations."""
    yield from _Orders(kernel).all()


class _Orders:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.every = list(sites(kernel))
        self.place = {id(s): i for i, s in enumerate(self.every)}
        self.shared = {t.name for t in kernel.tensors if t.space == "shared"}
        self.rings = rings_of(kernel)

    def all(self) -> Iterator[Order]:
        if any(n != 1 for n in self.kernel.cluster):
            yield Order("full_acquire", self.kernel.name, beyond="clusters are not in the subset")
        yield from self._ring_orders()
        yield from self._store_ends()
        yield from self._never_written()
        yield from self._issued_together()
        yield from self._sums_done()
        for a in self.every:
            for b in self.every:
                for t in self.shared:
                    yield from self._pair(t, a, b)

    # -- rings --------------------------------------------------------------------------------------

    def _ring_orders(self) -> Iterator[Order]:
        for ring in self.rings:
            for s in self.every:
                if any(r.tensor in ring.tensors for r in sources(s.op)):
                    yield self._after("full_acquire", s, _on(Wait, ring.full), f"wait {ring.full}")
                if _fill(s.op, ring.full) and ring.empty:
                    yield self._after("slot_free", s, _on(Wait, ring.empty), f"wait {ring.empty}")
                if ring.empty and isinstance(s.op, Arrive) and s.op.barrier.barrier == ring.empty:
                    yield from self._retired(s, ring.tensors)

    def _after(self, rule: str, s: Site, wanted: Callable[[Op], bool], what: str) -> Order:
        """That an operation of a kind always comes before *s*, by the threads of *s*."""
        for w in self.every[: self.place[id(s)]]:
            if wanted(w.op) and self._always(w, s) and _covers(w, s):
                return Order(rule, str(s), by=str(w))
        if any(wanted(w.op) and w.role in (s.role, "") for w in self.every):
            return Order(rule, str(s), beyond=f"that a {what} comes before {s}, by all threads that need it")
        return Order(rule, str(s), missing=f"no {what} comes before it; add one in the same body")

    def _retired(self, arrive: Site, tensors: tuple[str, ...]) -> Iterator[Order]:
        for s in self.every:
            group = ATOMS[s.op.atom].completion if isinstance(s.op, Copy | Mma) and s.op.atom in ATOMS else ""
            if (
                s.role != arrive.role
                or group in ("", "mbarrier")
                or not any(r.tensor in tensors for r in sources(s.op))
            ):
                continue
            found = [w for w in self.between(s, arrive) if isinstance(w.op, WaitGroup) and w.op.group == group]
            mine = [w for w in found if _covers(w, s)]
            if mine:
                yield Order("reads_retired", str(s), by=str(mine[0]))
            elif any(_may_cover(w, s) for w in found):
                yield Order("reads_retired", str(s), beyond=f"that {found[0]} is by the threads of {s}")
            else:
                yield Order("reads_retired", str(s), missing=f"no wait_group {group} between it and {arrive}; add one")

    def _never_written(self) -> Iterator[Order]:
        """Reads of shared memory that nothing writes."""
        written = {r.tensor for s in self.every for r in targets(s.op)}
        for s in self.every:
            for name in dict.fromkeys(r.tensor for r in sources(s.op)):
                if name in self.shared and name not in written:
                    yield Order("full_acquire", str(s), missing=f"nothing writes {name}; fill it before")

    def _issued_together(self) -> Iterator[Order]:
        """Instructions of warps and warpgroups by some of their threads only."""
        for s in self.every:
            n = ATOMS[s.op.atom].threads if isinstance(s.op, Copy | Mma) and s.op.atom in ATOMS else 1
            if n == 1:
                continue
            if s.team is None:
                yield Order("issued_together", str(s), beyond=f"whether all {n} threads issue {s} together")
            elif s.team.lanes < 32 or not _whole(s.team.warps, n // 32):
                yield Order("issued_together", str(s), missing=f"expected all {n} threads of it, got {s.team}")

    def _sums_done(self) -> Iterator[Order]:
        """Reads of the sums of wgmma by anything but another one."""
        mine = [s for s in self.every if isinstance(s.op, Mma) and _group(s.op) == "wgmma"]
        for b in self.every:
            names = {r.tensor for r in sources(b.op)}
            for a in mine if names else ():
                if a.role == b.role and {r.tensor for r in targets(a.op)} & names and self._reaches(a, b):
                    path, where = self.between(a, b), f"{a}, then {b}"
                    over = self._over(path, path, "wgmma")
                    if over is not None:
                        yield Order("sums_done", where, by=str(path[over]))
                    elif self._doubtful(a, b):
                        yield Order("sums_done", where, beyond=f"whether a wait_group wgmma ends {a} before {b}")
                    else:
                        yield Order("sums_done", where, missing=f"no commit and wait_group wgmma before {b}; add them")

    # -- pairs of accesses --------------------------------------------------------------------------

    def _pair(self, t: str, a: Site, b: Site) -> Iterator[Order]:
        """What two accesses to a tensor need, in this order, where they meet."""
        writes, reads = _writes(a.op, t), _reads(b.op, t)
        handed = writes and reads and _proxy(a.op) == "generic"
        again = _stores(a.op, t) and _writes(b.op, t) and not any(t in r.tensors for r in self.rings)
        if not (handed or again) or not self._reaches(a, b):
            return
        rule = "generic_write_async_read" if handed else "store_source_reuse"
        common = frozenset(x.index for x in a.loops if any(x is y for y in b.loops))
        mine = [
            touched(self.kernel, s, [r for r in (*sources(s.op), *targets(s.op)) if r.tensor == t], common)
            for s in (a, b)
        ]
        how = meeting(*mine)
        where = f"{a}, then {b}"
        if how == "apart":
            return
        if handed and _proxy(b.op) == "generic":
            if how != "in a warp" or not self._same_thread(a, b):
                yield Order(rule, where, beyond=f"{a} and {b} meet in {t} by generic accesses")
        elif a.role != b.role:
            yield Order(rule, where, beyond=f"{a.role} hands {t} over to {b.role}: not in the subset")
        else:
            found = self._handed(a, b, where, how) if handed else self._again(a, b, where, how)
            if found.missing and (how == "unknown" or self._doubtful(a, b)):
                found = Order(rule, where, beyond=f"whether this is so for {where}: {found.missing}")
            yield found

    def _same_thread(self, a: Site, b: Site) -> bool:
        return a.team is not None and a.team == b.team and a.team.threads == 1

    def _handed(self, a: Site, b: Site, where: str, how: str) -> Order:
        """A tile that threads write is read by the asynchronous proxy: their fence, then a barrier."""
        rule, path = "generic_write_async_read", self.between(a, b)
        every = [i for i, s in enumerate(path) if isinstance(s.op, Fence) and s.op.about == "async"]
        fences = [i for i in every if _covers(path[i], a)]
        if not fences and any(_may_cover(path[i], a) for i in every):
            return Order(rule, where, beyond=f"that fence async is by the threads of {a}")
        if not fences:
            by = "add it there, by the threads that write, before the barrier"
            return Order(rule, where, missing=f"no fence async after {a}; {by}")
        if self._same_thread(a, b):
            return Order(rule, where, by=str(path[fences[0]]))
        for i in fences:
            met = next((s for s in path[i:] if self._meets(s, a, b, how)), None)
            if met is not None:
                return Order(rule, where, by=f"{path[i]}, {met}")
        return Order(rule, where, missing=f"no barrier of the writers between fence async and {b}; add it there")

    def _again(self, a: Site, b: Site, where: str, how: str) -> Order:
        """A store's source is written again: commit, wait_group by the thread that issued it, a barrier."""
        rule, path = "store_source_reuse", self.between(a, b)
        over = self._over([s for s in path if not isinstance(s.op, Commit | WaitGroup) or _covers(s, a)], path)
        if over is None and self._over([s for s in path if _may_cover(s, a)], path) is not None:
            return Order(rule, where, beyond=f"that commit and wait_group bulk are by the threads of {a}")
        if over is None:
            return Order(
                rule, where, missing=f"no commit bulk and wait_group.read bulk 0 before {b}; add them after {a}"
            )
        if self._same_thread(a, b):
            return Order(rule, where, by=str(path[over]))
        met = next((s for s in path[over:] if self._meets(s, a, b, how)), None)
        if met is None:
            return Order(rule, where, missing=f"no barrier between {path[over]} and {b}; add it there")
        return Order(rule, where, by=f"{path[over]}, {met}")

    def _over(self, some: list[Site], path: list[Site], group: str = "bulk") -> int | None:
        """Where on a way the first wait_group stands, of *some* there, that ends the group which they commit first."""
        commits = 0
        for s in some:
            if isinstance(s.op, Commit) and s.op.group == group:
                commits += 1
            if isinstance(s.op, WaitGroup) and s.op.group == group and commits > s.op.pending:
                return path.index(s)
        return None

    def _store_ends(self) -> Iterator[Order]:
        for s in self.every:
            if isinstance(s.op, Copy) and s.op.atom in ATOMS and ATOMS[s.op.atom].completion == "bulk":
                later = [x for x in self.every[self.place[id(s)] :] if x.role in (s.role, "")]
                yield self._ends(s, later)

    def _ends(self, s: Site, later: list[Site]) -> Order:
        """That a store is committed and waited for by its threads, of the operations after it."""
        rule, mine = "store_committed", [x for x in later if _covers(x, s)]
        commit = next((i for i, x in enumerate(mine) if isinstance(x.op, Commit) and x.op.group == "bulk"), None)
        waits = [] if commit is None else [x for x in mine[commit:] if _ends(x.op)]
        found = [x for x in waits if self._leaves(x, s)]
        if found:
            return Order(rule, str(s), by=str(found[-1]))
        unsure = [x.op for x in later if x not in mine and _may_cover(x, s)]
        if waits or any(_ends(op) or isinstance(op, Commit) for op in unsure):
            return Order(rule, str(s), beyond=f"that a commit and a wait_group bulk come after each {s}")
        if commit is None:
            return Order(rule, str(s), missing=f"no commit bulk after {s}; add it there")
        missing = "no wait_group bulk 0 after the last store; add it before the role ends"
        return Order(rule, str(s), missing=missing)

    # -- ways through the program -------------------------------------------------------------------

    def _always(self, w: Site, s: Site) -> bool:
        """Whether *w* is executed whenever *s* is, elections aside."""
        return all(isinstance(x, Elect | Role) or x in s.around for x in w.around) and w.role in (s.role, "")

    def _leaves(self, x: Site, s: Site) -> bool:
        """Whether *x* comes after every execution of *s*: nothing around it is missing around *s*."""
        return all(isinstance(a, Elect | Role) or any(a is b for b in s.around) for a in x.around)

    def _reaches(self, a: Site, b: Site) -> bool:
        return self.place[id(a)] < self.place[id(b)] or self._loop(a, b) is not None

    def _loop(self, a: Site, b: Site) -> For | None:
        """The innermost loop around both."""
        both = [x for x in a.around if isinstance(x, For) and any(x is y for y in b.around)]
        return both[-1] if both else None

    def between(self, a: Site, b: Site) -> list[Site]:
        """What is certainly executed on the shortest way from *a* to *b*, round the loop if *b* is first."""
        known = [*a.around, *b.around]
        return [s for s in self._way(a, b) if _within(s, known)]

    def _doubtful(self, a: Site, b: Site) -> bool:
        """Whether a fence, barrier or wait on the way is executed under some condition only."""
        known = [*a.around, *b.around]
        orders = (Fence, Barrier, ClusterBarrier, WarpBarrier, Commit, WaitGroup)
        return any(isinstance(s.op, orders) and not _within(s, known) for s in self._way(a, b))

    def _way(self, a: Site, b: Site) -> list[Site]:
        """All operations of their roles on the shortest way from *a* to *b*."""
        i, j = self.place[id(a)], self.place[id(b)]
        loop = self._loop(a, b)
        if i < j:
            window = self.every[i + 1 : j]
        elif loop is None:
            window = []
        else:
            inside = [s for s in self.every if any(x is loop for x in s.around)]
            window = [s for s in inside if self.place[id(s)] > i] + [s for s in inside if self.place[id(s)] < j]
        return [s for s in window if s.role in (a.role, b.role, "")]

    def _meets(self, s: Site, a: Site, b: Site, how: str) -> bool:
        """Whether *s* is a barrier at which the threads of both meet, as far as they must."""
        if isinstance(s.op, WarpBarrier):
            both = a.team is not None and b.team is not None and s.team is not None
            return both and how == "in a warp" and s.team.lanes == 32 and s.team.warps >= a.team.warps | b.team.warps  # type: ignore[union-attr]
        if not isinstance(s.op, Barrier | ClusterBarrier) or s.team is None or a.team is None or b.team is None:
            return False
        threads = (s.op.threads if isinstance(s.op, Barrier) else 0) or self.kernel.threads
        return s.team.threads == threads and s.team.warps >= a.team.warps | b.team.warps


def _within(s: Site, known: list[Op]) -> bool:
    """Whether nothing but elections and *known* operations stands around *s*."""
    return all(isinstance(x, Elect | Role) or any(x is y for y in known) for x in s.around)


def _on(kind: type, barrier: str) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, kind) and op.barrier.barrier == barrier  # type: ignore[attr-defined]


def _fill(op: Op, full: str) -> bool:
    return isinstance(op, Copy) and op.barrier is not None and op.barrier.barrier == full


def _group(op: Op) -> str:
    return ATOMS[op.atom].completion if isinstance(op, Copy | Mma) and op.atom in ATOMS else ""


def _whole(warps: frozenset[int], n: int) -> bool:
    """Whether these are whole groups of *n* warps."""
    return warps == {w for first in warps for w in range(first // n * n, first // n * n + n)}


def _covers(w: Site, s: Site) -> bool:
    """Whether the threads of *s* are among those of *w*."""
    return w.team is not None and s.team is not None and w.team.includes(s.team) is True


def _may_cover(w: Site, s: Site) -> bool:
    """Whether they are, or it is not known which lanes those are."""
    return w.team is None or s.team is None or w.team.includes(s.team) is not False


def _proxy(op: Op) -> str:
    return ATOMS[op.atom].proxy if isinstance(op, Copy | Mma) and op.atom in ATOMS else "generic"


def _writes(op: Op, t: str) -> bool:
    return isinstance(op, Copy | Map | Fill) and any(r.tensor == t for r in targets(op))


def _reads(op: Op, t: str) -> bool:
    return any(r.tensor == t for r in sources(op))


def _stores(op: Op, t: str) -> bool:
    return isinstance(op, Copy) and _proxy(op) == "async" and _reads(op, t)


def _ends(op: Any) -> bool:
    return isinstance(op, WaitGroup) and op.group == "bulk" and op.pending == 0
