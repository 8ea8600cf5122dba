"""The hypotheses of a ring's protocol, read off the operations and proved by small lemmas.

Use number n of a role is a count of operations (``kernel.counting.Counter``). So a counter that is reset, a parity
that is not flipped or one arrival too many is an equality that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symlayout.expr import Fact, eq
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import Cta
from symlayout.kernel.sites import Site
from symlayout.ops import (
    Arrive,
    Barrier,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    ExpectTx,
    Op,
    Ref,
    Role,
    Wait,
    WaitGroup,
    WarpBarrier,
)

from ..algebra.cases import shown, within
from ..bulk_sizes import elements_moved
from .fills import Fill, fills_of
from .parts import extent_of
from .recognised import RingParts, slot_elements
from .shown import Known, Open, Shown


class Reading(Shown):
    """Reads the hypotheses off the operations of a CTA; what is shown gathers in *shown* and *certificates*.

    It also collects the ring's part in the cluster: the number of *uses*, the *fills* that it issues, and the CTAs to
    which it releases slots by how many arrivals.
    """

    def __init__(self, cta: Cta, ring: RingParts, given: tuple[Fact, ...], known: Known | None = None) -> None:
        super().__init__(cta, ring, given, known)
        self.uses: Any = 0
        self.fills: list[Fill] = []
        self.arriving: dict[int, int] = {}
        self.behind = 0  # uses that a producer may be late with its fills
        self.met = 0  # cluster barriers before all uses

    # -- all of them --------------------------------------------------------------------------------

    def check(self, like: Reading | None = None) -> None:
        """Raises Open at the first hypothesis that is not shown, Uncounted where a number has no closed form.

        Where the CTA does as one that was checked, *like*, but for what it copies, only its fills are looked at.
        """
        if like is not None:
            self.uses, self.behind, self.arriving, self.met = like.uses, like.behind, like.arriving, like.met
        else:
            self._check()
        self.fills = fills_of(self, [s for s in self.every if s.op.credits_to(self.ring.full)])

    def _check(self) -> None:
        ring, full, empty = self.ring, self.kernel.barrier(self.ring.full), self.ring.empty
        for s in self.every:
            if s.op.arrives is None or s.op.arrives.barrier not in (ring.full, empty):
                continue
            if isinstance(s.op, CpAsyncArrive):
                raise Open(f"that {s} arrives when its thread comes to it")
            if isinstance(s.op, Arrive) and not s.op.complete:
                raise Open(f"that an arrival comes behind {s} in its phase")
        arrives, waits = on_barrier((Arrive, ExpectTx), ring.full), on_barrier(Wait, ring.full)
        producers, consumers = self._roles(arrives), self._roles(waits)
        if not producers or not consumers:
            raise Open(f"{'an arrival on' if not producers else 'a wait for'} {ring.full}")
        if set(producers) & set(consumers):
            raise Open(f"{producers[0] or 'the kernel'} both fills and uses the slots")
        if any(self._peer(s) != self.cta.rank for s in self.every if arrives(s.op)):
            raise Open(f"arrivals on {ring.full} of this CTA only")
        if empty:
            if self.kernel.barrier(empty).slots != ring.slots:
                raise Open(f"as many {empty} as {ring.full}: {self.kernel.barrier(empty).slots} and {ring.slots}")
            self._only(on_barrier(Wait, empty), producers, f"waits for {empty}")
            self._only(on_barrier(Arrive, empty), consumers, f"arrivals on {empty}")
            self._only(on_barrier(ExpectTx, empty), [], f"expect_tx {empty}, whose bytes no copy brings,")
        self._separate(producers, consumers)
        self._blocking(producers, consumers)
        self.behind = max(self._behind(role, on_barrier(Wait, empty), arrives) for role in producers)
        for role in producers:
            self._side(role, on_barrier(Wait, empty), arrives, 1, self.behind)
        gives = self._gives(empty)
        for back in self._unlike(gives):
            for role in consumers:
                self._side(role, waits, back, 0, ring.slots - 1 - self.behind)
            self._touches(consumers, back)
        self.shown.append("reads of a slot lie between its wait and its arrival")
        self._same_uses(producers, arrives, consumers)
        got = self._arrivals(ring.full, producers, arrives)
        if got != full.arrivals:
            raise Open(f"{full.name} awaits {full.arrivals} arrivals in a phase, and gets {got}")
        self.shown.append(f"{full.name} awaits {full.arrivals} and gets {got} arrivals of a use")
        self.arriving = {rank: self._arrivals(empty, consumers, _among(mine)) for rank, mine in gives.items()}

    def _peer(self, s: Site) -> int:
        """The CTA at whose barrier an arrival is."""
        rank = self.cta.peer(s.op) if isinstance(s.op, Arrive) else self.cta.rank
        if rank is None:
            raise Open(f"which CTA {s} is at")
        return rank

    def _gives(self, empty: str) -> dict[int, list[Site]]:
        """For each CTA to which this one gives slots back: the arrivals that do."""
        found: dict[int, list[Site]] = {}
        for s in self.every:
            if empty and on_barrier(Arrive, empty)(s.op):
                found.setdefault(self._peer(s), []).append(s)
        return dict(sorted(found.items()))

    def _unlike(self, gives: dict[int, list[Site]]) -> list[Callable[[Op], bool]]:
        """The arrivals at each CTA, of those that stand side by side at some others one: their numbers are the same."""
        out: list[list[Site]] = []
        for mine in gives.values() or ([],):
            if not any(len(mine) == len(x) and all(map(_side_by_side, mine, x)) for x in out):
                out.append(mine)
        return [_among(x) for x in out]

    def _behind(self, role: str, waits: Callable[[Op], bool], arrives: Callable[[Op], bool]) -> int:
        """The fewest uses that a producer is always less behind with its arrivals at each of its waits, less one."""
        mine = [
            (s, self.before(s, arrives) - self.before(s, waits)) for s in self.every if s.role == role and waits(s.op)
        ]
        for n in range(self.ring.slots):
            if all(shown(late + n, self.facts(s)) is not None for s, late in mine):
                return n
        raise Open(f"{role or 'the kernel'} is at most {self.ring.slots - 1} uses behind with its arrivals")

    def _roles(self, wanted: Callable[[Op], bool]) -> list[str]:
        return list(dict.fromkeys(s.role for s in self.every if wanted(s.op)))

    def _only(self, wanted: Callable[[Op], bool], roles: list[str], what: str) -> None:
        other = [s for s in self.every if wanted(s.op) and s.role not in roles]
        if other:
            raise Open(f"{what} by {', '.join(roles)} only, got one by {other[0].role or 'all warps'}")

    def _separate(self, producers: list[str], consumers: list[str]) -> None:
        """Roles are different warps, and each is one piece of the program's text."""
        if len({id(s.op) for s in self.every}) < len(self.every):
            raise Open("each operation stands in one place")
        where: dict[str, Any] = {}
        for r in (s.op for s in self.every if isinstance(s.op, Role)):
            if where.setdefault(r.name, (r.first_warp, r.warps)) != (r.first_warp, r.warps):
                raise Open(f"one set of warps of the name {r.name}")
        taken: set[int] = set()
        for name in (*producers, *consumers):
            first, n = where.get(name, (0, self.kernel.threads // 32))
            if taken & set(range(first, first + n)):
                raise Open(f"{name or 'the kernel'} shares no warp with the other roles of the ring")
            taken |= set(range(first, first + n))

    def _blocking(self, producers: list[str], consumers: list[str]) -> None:
        """Nothing else that these roles wait for can keep them from going on."""
        mine = {self.ring.full, self.ring.empty}
        at = [s.places[0] for s in self.every if on_barrier((Wait, Arrive, ExpectTx), self.ring.full)(s.op)]
        at += [s.places[0] for s in self.every if on_barrier((Wait, Arrive, ExpectTx), self.ring.empty)(s.op)]
        meets = ClusterBarrier | ClusterWait
        self.met = sum(isinstance(s.op, meets) and s.places[0] < min(at) for s in self.every)
        for s in self.every:
            stops = isinstance(s.op, Barrier | ClusterBarrier | ClusterWait) or (
                isinstance(s.op, Wait) and s.op.barrier.barrier not in mine
            )
            if not s.role and stops and min(at) <= s.places[0] <= max(at):
                raise Open(f"that {s.op} comes before or after all uses of the ring")
            if s.role not in (*producers, *consumers):
                continue
            if isinstance(s.op, Wait) and s.op.barrier.barrier not in mine:
                raise Open(f"that {s.op} does not depend on this ring")
            if isinstance(s.op, ClusterWait):
                raise Open(f"that all {s.op} waits for comes to it")
            if isinstance(s.op, Barrier | ClusterBarrier):
                team = s.team
                threads = (s.op.threads or self.kernel.threads) if isinstance(s.op, Barrier) else 0
                if team is None or team.lanes != 32 or threads != team.threads or self._shared(s):
                    raise Open(f"that all {s.op} wait for comes to it")

    def _shared(self, site: Site) -> bool:
        """Whether another role uses the same named barrier."""
        number = getattr(site.op, "number", 0)
        return any(isinstance(s.op, Barrier) and s.op.number == number and s.role != site.role for s in self.every)

    def _side(
        self, role: str, waits: Callable[[Op], bool], arrives: Callable[[Op], bool], parity: int, behind: int
    ) -> None:
        """One role: where it waits and arrives, which slot and parity it names, how far it runs behind."""
        S, who = self.ring.slots, role or "the kernel"
        mine = [s for s in self.every if s.role == role]
        for s in (s for s in mine if waits(s.op)):
            assert isinstance(s.op, Wait)
            n = self.before(s, waits)
            self.need(eq(s.op.barrier.slot, n % S), s, f"use n of {who} waits for slot n % {S}")
            self.need(eq(s.op.parity, (n // S + parity) % 2), s, f"{who} waits for the parity of its use")
            late = self.before(s, arrives) - n + behind
            if self.ring.empty:
                self.need(Fact(late, ">="), s, f"{who} is at most {behind} uses behind with its arrivals")
        for s in (s for s in mine if arrives(s.op)):
            m = self.before(s, arrives)
            self.need(eq(s.op.barrier.slot, m % S), s, f"{who} arrives at slot m % {S} for use m")  # type: ignore[attr-defined]
            if self.ring.empty:
                self.need(Fact(self.before(s, waits) - m - 1, ">="), s, f"{who} arrives only after its wait")
        if self.ring.empty:
            self.need(eq(self.total(role, waits), self.total(role, arrives)), None, f"{who} arrives once for each wait")
        self.shown.append(
            f"{who}: use n takes slot n % {S}, parity (n//{S}{' + 1' if parity else ''}) % 2, one arrival for each wait"
        )

    def _same_uses(self, producers: list[str], arrives: Callable[[Op], bool], consumers: list[str]) -> None:
        uses = self.uses = self.total(producers[0], arrives)
        for role in producers[1:]:
            self.need(eq(self.total(role, arrives), uses), None, "the producers make the same number of uses")
        waits = on_barrier(Wait, self.ring.full)
        for role in consumers:
            self.need(eq(self.total(role, waits), uses), None, "both sides make the same number of uses")
        if not self.ring.empty:
            self.need(Fact(self.ring.slots - uses, ">="), None, "no slot is used twice, as nothing gives it back")
        self.shown.append(f"both sides make {uses} uses")

    def _arrivals(self, name: str, roles: list[str], arrives: Callable[[Op], bool]) -> int:
        """The arrivals of a use on a barrier, each by a lane that has waited."""
        total = 0
        waits = on_barrier(Wait, self.ring.empty if name == self.ring.full else self.ring.full)
        for role in roles:
            mine = [s for s in self.every if s.role == role and arrives(s.op)]
            teams = {s.team for s in mine}
            counts = {s.op.count if isinstance(s.op, Arrive) else 1 for s in mine}
            waited = {s.team for s in self.every if s.role == role and waits(s.op)}
            if len(teams) != 1 or len(counts) != 1 or None in teams or None in waited or len(waited) > 1:
                raise Open(f"the same threads of {role or 'the kernel'} arrive on {name} at each use")
            (team,) = teams
            assert team is not None
            for other in waited:
                assert other is not None
                if other.warps != team.warps or not other.includes(team):
                    raise Open(f"those of {role or 'the kernel'} that wait ({other}) arrive on {name} ({team})")
            total += team.threads * counts.pop()
        return total

    def _touches(self, consumers: list[str], arrives: Callable[[Op], bool]) -> None:
        """Reads of a slot lie between a wait and the arrival that gives it back; nothing else touches the ring."""
        waits, S = on_barrier(Wait, self.ring.full), self.ring.slots
        for s in self.every:
            written = [r for r in s.op.targets if r.tensor in self.ring.tensors]
            if written and not (s.op.credits_to(self.ring.full)):
                raise Open(f"nothing but its fills writes to the ring: {s}")
            mine = [r for r in s.op.sources if r.tensor in self.ring.tensors]
            if not mine:
                continue
            waited = {w.team for w in self.every if waits(w.op) and w.role == s.role}
            if s.role not in consumers or s.team is None or not all(w and w.includes(s.team) for w in waited):
                raise Open(f"those that read a slot have waited for it: {s}")
            use = self.before(s, waits) - 1
            for r in mine:
                slot = slot_elements(self.kernel, self.ring, r.tensor)
                start = use % S * slot
                read = _read(self.kernel, s.op, r)
                if type(read) is not int or not within(self.facts(s).normal(r.offset - start), slot - read + 1):
                    self.need(Fact(r.offset - start, ">="), s, "a read starts in the slot that was waited for")
                    self.need(
                        Fact(start + slot - read - r.offset, ">="), s, "a read ends in the slot that was waited for"
                    )
            if self.ring.empty:
                self.need(Fact(use - self.before(s, arrives), ">="), s, "a slot is read before it is given back")
                self._retired(s, use, arrives)

    def retired(self) -> None:
        """Raises Open or Uncounted unless slots are given back after the groups of asynchronous reads are over."""
        for s in self.every:
            if s.op.member_of and any(r.tensor in self.ring.tensors for r in s.op.sources):
                use = self.before(s, on_barrier(Wait, self.ring.full)) - 1
                for back in self._unlike(self._gives(self.ring.empty)):
                    self._retired(s, use, back)

    def _retired(self, s: Site, use: Any, arrives: Callable[[Op], bool]) -> None:
        """The arrival for a use comes after the groups of its asynchronous reads are over."""
        group = s.op.member_of
        if not group:
            return
        commits: Callable[[Op], bool] = lambda op: isinstance(op, Commit) and op.group == group  # noqa: E731
        self.need(eq(self.before(s, commits), use), s, f"one {group} group for each use")
        ends: Callable[[Op], bool] = lambda op: commits(op) or (isinstance(op, WaitGroup) and op.group == group)  # noqa: E731
        for x in (x for x in self.every if x.role == s.role and ends(x.op)):
            if s.team is None or x.team is None or not x.team.includes(s.team):
                raise Open(f"that {x} is by the threads of {s}")
        waits: Callable[[Op], bool] = lambda op: isinstance(op, WaitGroup) and op.group == group  # noqa: E731
        for a in (x for x in self.every if x.role == s.role and arrives(x.op)):
            over = self._last(a, lambda x: waits(x.op))
            if over is None:
                raise Open(f"a wait_group {group} before {a}")
            assert isinstance(over.op, WaitGroup)
            done = self.before(over, commits) - over.op.pending
            self.need(
                Fact(done - self.before(a, arrives) - 1, ">="),
                a,
                f"{over} ends the reads of the use before it is given back",
            )

    def lanes_meet(self, places: tuple[int, ...]) -> None:
        """Raises Open or Uncounted unless lanes meet after the next wait and before the arrival at some place."""
        waits = on_barrier(Wait, self.ring.full)
        for back in map(_among, self._gives(self.ring.empty).values()):
            for a in (x for x in self.every if back(x.op) and x.places == places):
                at = self._last(a, lambda x: isinstance(x.op, WarpBarrier | Barrier) and _whole(x, a))  # noqa: B023
                if at is None:
                    raise Open(f"a barrier of the warp before {a}")
                late = self.before(at, waits) - self.before(a, back) - 2
                self.need(Fact(late, ">="), a, f"{at} comes after the reads of a use, and before it is given back")

    def _last(self, site: Site, wanted: Callable[[Site], bool]) -> Site | None:
        """The last such operation that always comes before another one, in its body or in one around it."""
        for depth in range(len(site.places), 0, -1):
            for s in reversed(self.every):
                if (
                    s.around == site.around[: depth - 1]
                    and s.places[:-1] == site.places[: depth - 1]
                    and s.places[-1] < site.places[depth - 1]
                    and wanted(s)
                ):
                    return s
        return None


def _whole(s: Site, other: Site) -> bool:
    """Whether all lanes of the warps of another operation execute one."""
    return s.team is not None and other.team is not None and s.team.lanes == 32 and s.team.warps >= other.team.warps


def _read(kernel: Kernel, op: Op, r: Ref) -> Any:
    """The number of elements that an operation reads from a place on, at least 1."""
    moved = elements_moved(kernel, op, r) if isinstance(op, Copy) else None
    return max(1, extent_of(kernel, op, r)) if moved is None else moved


def _among(some: list[Site]) -> Callable[[Op], bool]:
    mine = {id(s.op) for s in some}
    return lambda op: id(op) in mine


def _side_by_side(a: Site, b: Site) -> bool:
    """Whether two arrivals are at the same slot, in one body, with nothing but arrivals between them."""
    same = len(a.around) == len(b.around) and all(x is y for x, y in zip(a.around, b.around, strict=True))
    if not same or not a.around or a.op.barrier != b.op.barrier:  # type: ignore[attr-defined]
        return False
    low, high = sorted((a.places[-1], b.places[-1]))
    return all(isinstance(op, Arrive) for op in a.around[-1].body[low:high])


def on_barrier(kinds: type | tuple[type, ...], barrier: str) -> Callable[[Op], bool]:
    """Whether an operation is of some kinds and at a barrier."""
    return lambda op: isinstance(op, kinds) and op.barrier.barrier == barrier  # type: ignore[attr-defined]
