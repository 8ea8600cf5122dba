"""What a ring must have for its protocol to hold, read off the operations and shown by small proofs.

Use number n of a role is a count of operations (``sites.Counter``), so a counter that is reset, a parity that is not
flipped or an arrival too many is an equality that does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.expr import Expr, Fact, Max, Substitution, Symbol, eq, interpret
from symlayout.facts import Facts, opaque_atoms
from symlayout.kernel import Kernel
from symlayout.ops import Arrive, Barrier, Box, ClusterBarrier, Commit, Copy, ExpectTx, Op, Role, Wait, WaitGroup

from .certificates import nonneg
from .exhaustive import POINTS
from .ring_programs import RingParts, group_of, slot_elements, sources, targets
from .sites import Counter, Site, sites

TX_LIMIT = (1 << 20) - 1  # bytes that a phase may await (PTX ISA, mbarrier object)


class Open(Exception):
    """A hypothesis of the protocol that is not shown."""


def shown(x: Any, facts: Facts, depth: int = 3) -> list[Any] | None:
    """Certificates that x >= 0, by cases of which argument a maximum is; None where some case has none."""
    p = facts.normal(x)
    if type(p) is int:
        return [] if p >= 0 else None
    found = nonneg(p, facts)
    extremum = next((a for a in opaque_atoms(p) if isinstance(a, Max)), None)
    if found is not None or extremum is None or not depth:
        return None if found is None else [found]
    out: list[Any] = []
    for a in extremum.args:
        orders = [Fact(a - b, ">=") for b in extremum.args if b is not a]
        if any(facts.holds(f) is False for f in orders):
            continue
        case = Facts.about(*facts.symbols, given=(*facts.given, *orders))
        rest = shown(interpret(x, _Chosen(extremum, a)), case, depth - 1)
        if rest is None:
            return None
        out += rest
    return out


def within(x: Any, n: int) -> bool:
    """Whether 0 <= x < n by enumeration, where the indices in x have few values: what swizzles need."""
    symbols = x.symbols if isinstance(x, Expr) else ()
    extents: tuple[Any, ...] = tuple(s.upper + 1 for s in symbols if s.lower == 0 and type(s.upper) is int)
    if len(extents) < len(symbols) or math.prod(extents) > POINTS:
        return False
    _, values = AddressMap(symbols, extents, x).table()
    return bool((values >= 0).all() and (values < n).all())


class _Chosen(Substitution):
    """Expressions again, with one maximum replaced by one of its arguments."""

    def __init__(self, extremum: Max, chosen: Any) -> None:
        super().__init__({})
        self.extremum, self.chosen = extremum, chosen

    def maximum(self, *args: Any) -> Any:
        return self.chosen if args == self.extremum.args else super().maximum(*args)


class Reading:
    """Reads the hypotheses off the operations; what is shown gathers in *shown* and *certificates*."""

    def __init__(self, kernel: Kernel, ring: RingParts, given: tuple[Fact, ...]) -> None:
        self.kernel, self.ring, self.given = kernel, ring, given
        self.every = list(sites(kernel))
        self.certificates: list[Any] = []
        self.shown: list[str] = []
        self._facts: dict[Any, Facts] = {}

    # -- small proofs -------------------------------------------------------------------------------

    def facts(self, site: Site | None) -> Facts:
        """What is known where an operation stands: sizes, block, the loops around it, and their conditions."""
        loops = tuple(loop.index for loop in site.loops) if site else ()
        conditions = site.conditions if site else ()
        key = loops, conditions
        if key not in self._facts:
            threads = tuple(_thread_symbols(site.op)) if site else ()
            subjects = (*self.kernel.dims, *self.kernel.block, *loops, *threads)
            self._facts[key] = Facts.about(subjects, given=(*self.given, *conditions))
        return self._facts[key]

    def need(self, fact: Fact, site: Site | None, why: str) -> None:
        """Show a fact where an operation stands, or leave *why* open."""
        goals = (Fact(fact.expr, ">="), Fact(-fact.expr, ">=")) if fact.relation == "==" else (fact,)
        for goal in goals:
            found = shown(goal.expr, self.facts(site))
            if found is None:
                raise Open(f"{why}: {fact}" + (f", at {site}" if site else ""))
            self.certificates += found

    def before(self, site: Site, wanted: Callable[[Op], bool]) -> Any:
        """How many operations of the same role come before one."""
        mine = {id(s.op) for s in self.every if s.role == site.role and wanted(s.op)}
        return Counter(self.kernel, self.facts(site)).before(site, lambda op: id(op) in mine)

    def total(self, role: str, wanted: Callable[[Op], bool]) -> Any:
        mine = {id(s.op) for s in self.every if s.role == role and wanted(s.op)}
        return Counter(self.kernel, self.facts(None)).total(lambda op: id(op) in mine)

    # -- all of them --------------------------------------------------------------------------------

    def check(self) -> None:
        """Raises Open at the first hypothesis that is not shown, Uncounted where a number has no closed form."""
        ring, full, empty = self.ring, self.kernel.barrier(self.ring.full), self.ring.empty
        self._plain_kernel()
        arrives_full = _on((Arrive, ExpectTx), ring.full)
        fills = [s for s in self.every if isinstance(s.op, Copy) and s.op.barrier and s.op.barrier.barrier == ring.full]
        if not fills:
            raise Open(f"no copy completes on {ring.full}: who fills the slots")
        producers = self._roles(arrives_full)
        consumers = self._roles(_on((Wait,), ring.full))
        if not producers or not consumers:
            raise Open(f"{'an arrival on' if not producers else 'a wait for'} {ring.full}")
        if set(producers) & set(consumers):
            raise Open(f"{producers[0] or 'the kernel'} both fills and uses the slots")
        if empty:
            if self.kernel.barrier(empty).slots != ring.slots:
                raise Open(f"as many {empty} as {ring.full}: {self.kernel.barrier(empty).slots} and {ring.slots}")
            self._only(_on((Wait,), empty), producers, f"waits for {empty}")
            self._only(_on((Arrive, ExpectTx), empty), consumers, f"arrivals on {empty}")
        self._separate(producers, consumers)
        self._blocking(producers, consumers)
        for role in producers:
            self._side(role, _on((Wait,), empty), arrives_full, 1)
        for role in consumers:
            self._side(role, _on((Wait,), ring.full), _on((Arrive, ExpectTx), empty), 0)
        self._same_uses(producers, arrives_full, consumers)
        self._arrivals(full.name, full.arrivals, producers, arrives_full)
        if empty:
            self._arrivals(empty, self.kernel.barrier(empty).arrivals, consumers, _on((Arrive, ExpectTx), empty))
        self._bytes(producers, fills)
        self._touches(producers, consumers)

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

    def _plain_kernel(self) -> None:
        if any(n != 1 for n in self.kernel.cluster):
            raise Open("one CTA in a cluster: arrivals of peers and multicast are not in the model")
        if any(isinstance(s.op, Arrive) and s.op.peer is not None for s in self.every):
            raise Open("arrivals at this CTA's barriers only")
        if any(isinstance(s.op, Copy) and s.op.multicast is not None for s in self.every):
            raise Open("copies to this CTA only")

    def _blocking(self, producers: list[str], consumers: list[str]) -> None:
        """Nothing else that these roles wait for can keep them from going on."""
        mine = {self.ring.full, self.ring.empty}
        at = [s.places[0] for s in self.every if _on((Wait, Arrive, ExpectTx), self.ring.full)(s.op)]
        at += [s.places[0] for s in self.every if _on((Wait, Arrive, ExpectTx), self.ring.empty)(s.op)]
        for s in self.every:
            stops = isinstance(s.op, Barrier | ClusterBarrier) or (
                isinstance(s.op, Wait) and s.op.barrier.barrier not in mine
            )
            if not s.role and stops and min(at) <= s.places[0] <= max(at):
                raise Open(f"that {s.op} comes before or after all uses of the ring")
            if s.role not in (*producers, *consumers):
                continue
            if isinstance(s.op, Wait) and s.op.barrier.barrier not in mine:
                raise Open(f"that {s.op} does not depend on this ring")
            if isinstance(s.op, Barrier | ClusterBarrier):
                team = s.team
                threads = (s.op.threads or self.kernel.threads) if isinstance(s.op, Barrier) else 0
                if team is None or team.lanes != 32 or threads != team.threads or self._shared(s):
                    raise Open(f"that all {s.op} wait for comes to it")

    def _shared(self, site: Site) -> bool:
        """Whether another role uses the same named barrier."""
        number = getattr(site.op, "number", 0)
        return any(isinstance(s.op, Barrier) and s.op.number == number and s.role != site.role for s in self.every)

    def _side(self, role: str, waits: Callable[[Op], bool], arrives: Callable[[Op], bool], parity: int) -> None:
        """One role: where it waits and arrives, which slot and parity it names, how far it runs behind."""
        S, who = self.ring.slots, role or "the kernel"
        mine = [s for s in self.every if s.role == role]
        for s in (s for s in mine if waits(s.op)):
            assert isinstance(s.op, Wait)
            n = self.before(s, waits)
            self.need(eq(s.op.barrier.slot, n % S), s, f"use n of {who} waits for slot n % {S}")
            self.need(eq(s.op.parity, (n // S + parity) % 2), s, f"{who} waits for the parity of its use")
            late = self.before(s, arrives) - n + S - 1
            self.need(Fact(late, ">="), s, f"{who} is at most {S - 1} uses behind with its arrivals")
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
        uses = self.total(producers[0], arrives)
        for role in producers[1:]:
            self.need(eq(self.total(role, arrives), uses), None, "the producers make the same number of uses")
        waits = _on((Wait,), self.ring.full)
        for role in consumers:
            self.need(eq(self.total(role, waits), uses), None, "both sides make the same number of uses")
        if not self.ring.empty:
            self.need(Fact(self.ring.slots - uses, ">="), None, "no slot is used twice, as nothing gives it back")
        self.shown.append(f"both sides make {uses} uses")

    def _arrivals(self, name: str, declared: int, roles: list[str], arrives: Callable[[Op], bool]) -> None:
        """As many arrivals of a use as the barrier awaits, each by a lane that has waited."""
        total = 0
        waits = _on((Wait,), self.ring.empty if name == self.ring.full else self.ring.full)
        for role in roles:
            teams = {s.team for s in self.every if s.role == role and arrives(s.op)}
            waited = {s.team for s in self.every if s.role == role and waits(s.op)}
            if len(teams) != 1 or None in teams or None in waited or len(waited) > 1:
                raise Open(f"the same threads of {role or 'the kernel'} arrive on {name} at each use")
            (team,) = teams
            assert team is not None
            for other in waited:
                assert other is not None
                if other.warps != team.warps or not other.includes(team):
                    raise Open(f"those of {role or 'the kernel'} that wait ({other}) arrive on {name} ({team})")
            total += team.threads
        if total != declared:
            raise Open(f"{name} awaits {declared} arrivals in a phase, and gets {total}")
        self.shown.append(f"{name} awaits {declared} and gets {total} arrivals of a use")

    def _bytes(self, producers: list[str], fills: list[Site]) -> None:
        """In each body with an expect_tx: its bytes are those of the copies beside it, which come after the wait."""
        S, left = self.ring.slots, {id(s.op) for s in fills}
        waits, expects = _on((Wait,), self.ring.empty), _on((ExpectTx,), self.ring.full)
        for x in (s for s in self.every if expects(s.op)):
            assert isinstance(x.op, ExpectTx)
            beside = [
                s
                for s in self.every
                if s.around[: len(x.around)] == x.around
                and s.places[: len(x.around)] == x.places[:-1]
                and s.role == x.role
            ]
            if sum(expects(s.op) for s in beside) != 1 or not x.team or x.team.threads != 1:
                raise Open(f"one expect_tx in its loop, by one thread: {x}")
            use = self.before(x, _on((Arrive, ExpectTx), self.ring.full))
            counted: Any = 0
            for c in (s for s in beside if id(s.op) in left):
                assert isinstance(c.op, Copy)
                assert c.op.barrier is not None
                if not c.team or c.team.threads != 1:
                    raise Open(f"a copy is issued by one thread: {c}")
                times: Any = 1
                for loop in c.loops[len(x.loops) :]:
                    self.need(Fact(loop.extent, ">="), c, "a loop has no negative number of iterations")
                    times = times * loop.extent
                if c.conditions != x.conditions:
                    raise Open(f"{c} is issued wherever its bytes are awaited")
                counted = counted + times * self._credit(c.op)
                self.need(eq(c.op.barrier.slot, use % S), c, "a fill completes on its slot's barrier")
                if self.ring.empty:
                    self.need(Fact(self.before(c, waits) - use - 1, ">="), c, "a fill is issued after its wait")
                self._slot_memory(c, use)
                left.discard(id(c.op))
            self.need(eq(x.op.bytes, counted), x, "the bytes awaited are those of the copies")
            self.need(Fact(TX_LIMIT - counted, ">="), x, f"a phase awaits at most {TX_LIMIT} bytes")
            self.shown.append(f"{self.ring.full} awaits {x.op.bytes} bytes, those of the copies of a use")
        if left:
            raise Open(f"the bytes of {next(str(s) for s in fills if id(s.op) in left)} are awaited")

    def _credit(self, op: Copy) -> Any:
        if not isinstance(op.src, Box):
            raise Open(f"the bytes that {op.atom} credits")
        return self.kernel.map(op.src.tensor_map).tensor_map.transaction_bytes

    def _slot_memory(self, c: Site, use: Any) -> None:
        """A fill stays in its slot."""
        (ref,) = targets(c.op)
        tensor = self.kernel.tensor(ref.tensor)
        slot = slot_elements(self.kernel, self.ring, ref.tensor)
        start = use % self.ring.slots * slot
        assert isinstance(c.op, Copy)
        assert isinstance(c.op.src, Box)
        landed = self.kernel.map(c.op.src.tensor_map).tensor_map.landed_bytes
        self.need(Fact(ref.offset - start, ">="), c, "a fill starts in its slot")
        bits = tensor.dtype.bits
        self.need(Fact((start + slot - ref.offset) * bits - 8 * landed, ">="), c, "a fill ends in its slot")

    def _touches(self, producers: list[str], consumers: list[str]) -> None:
        """Reads of a slot lie between a wait and the arrival that gives it back; nothing else touches the ring."""
        waits, S = _on((Wait,), self.ring.full), self.ring.slots
        arrives = _on((Arrive, ExpectTx), self.ring.empty)
        for s in self.every:
            written = [r for r in targets(s.op) if r.tensor in self.ring.tensors]
            if written and not (isinstance(s.op, Copy) and s.op.barrier and s.op.barrier.barrier == self.ring.full):
                raise Open(f"nothing but its fills writes to the ring: {s}")
            mine = [r for r in sources(s.op) if r.tensor in self.ring.tensors]
            if not mine:
                continue
            waited = {w.team for w in self.every if waits(w.op) and w.role == s.role}
            if s.role not in consumers or s.team is None or not all(w and w.includes(s.team) for w in waited):
                raise Open(f"those that read a slot have waited for it: {s}")
            use = self.before(s, waits) - 1
            for r in mine:
                slot = slot_elements(self.kernel, self.ring, r.tensor)
                start = use % S * slot
                if not within(self.facts(s).normal(r.offset - start), slot):
                    self.need(Fact(r.offset - start, ">="), s, "a read starts in the slot that was waited for")
                    self.need(
                        Fact(start + slot - 1 - r.offset, ">="), s, "a read starts in the slot that was waited for"
                    )
            if self.ring.empty:
                self.need(Fact(use - self.before(s, arrives), ">="), s, "a slot is read before it is given back")
                self._retired(s, use, arrives)
        self.shown.append("reads of a slot lie between its wait and its arrival")

    def _retired(self, s: Site, use: Any, arrives: Callable[[Op], bool]) -> None:
        """The arrival for a use comes after the groups of its asynchronous reads are over."""
        group = group_of(s.op)
        if not group:
            return
        commits: Callable[[Op], bool] = lambda op: isinstance(op, Commit) and op.group == group  # noqa: E731
        self.need(eq(self.before(s, commits), use), s, f"one {group} group for each use")
        ends: Callable[[Op], bool] = lambda op: commits(op) or (isinstance(op, WaitGroup) and op.group == group)  # noqa: E731
        for x in (x for x in self.every if x.role == s.role and ends(x.op)):
            if s.team is None or x.team is None or not x.team.includes(s.team):
                raise Open(f"that {x} is by the threads of {s}")
        for a in (x for x in self.every if x.role == s.role and arrives(x.op)):
            over = self._last_wait(a, group)
            if over is None:
                raise Open(f"a wait_group {group} before {a}")
            assert isinstance(over.op, WaitGroup)
            done = self.before(over, commits) - over.op.pending
            self.need(
                Fact(done - self.before(a, arrives) - 1, ">="),
                a,
                f"{over} ends the reads of the use before it is given back",
            )

    def _last_wait(self, site: Site, group: str) -> Site | None:
        """The last wait_group that always comes before an operation, in its body or in one around it."""
        for depth in range(len(site.places), 0, -1):
            for s in reversed(self.every):
                if (
                    isinstance(s.op, WaitGroup)
                    and s.op.group == group
                    and s.around == site.around[: depth - 1]
                    and s.places[:-1] == site.places[: depth - 1]
                    and s.places[-1] < site.places[depth - 1]
                ):
                    return s
        return None


def _thread_symbols(op: Op) -> set[Symbol]:
    found = set()
    for r in (*sources(op), *targets(op)):
        found |= {s for s in getattr(r.offset, "symbols", ()) if s.name == "thread"}
    return found


def _on(kinds: tuple[type, ...], barrier: str) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, kinds) and op.barrier.barrier == barrier  # type: ignore[attr-defined]
