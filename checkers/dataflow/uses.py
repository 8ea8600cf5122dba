"""Uses of a ring that a copy fills and a reader finds: counted, and compared with slots and parities.

A use begins with the ``expect_tx`` of those who fill it, and is found by a ``wait`` of each reader. That a wait with
the parity of its own number returns in that phase, and none before, is what ``RingProtocol`` proves. What counting
leaves open the clocks may know: which use an access is in, by the order of all fills around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.counting import Counter, Uncounted
from symlayout.kernel.sites import Site
from symlayout.ops import Arrive, Copy, CpAsyncArrive, ExpectTx, Op, Slot, Wait

from ..clocks.decided import Clocks
from ..rings.recognised import RingParts
from .state import Open, State


@dataclass(frozen=True)
class Uses:
    """The uses of a kernel's rings, as its operations show them where they stand."""

    kernel: Kernel
    given: tuple[Fact, ...]
    rings: tuple[RingParts, ...]
    site: dict[int, Site]  # by the identity of its operation, which is unique among places
    clocks: Clocks

    def use(self, state: State, op: Op, ring: RingParts) -> Any:
        """The number of the use of a ring in which an operation stands."""
        if ring not in self.rings or any(r != ring and set(r.tensors) & set(ring.tensors) for r in self.rings):
            found = self.clocks.use_of(self.site[id(op)], ring)  # counts are those of one barrier
            if found is None:
                raise Open(f"which use of {ring} it is at {op}")
            return state.normal(state.here(found))
        lemma = not isinstance(self.clocks.ring(ring), str)
        found = None if lemma else self.clocks.use_of(self.site[id(op)], ring)
        if found is None:
            try:
                return self._counted(state, op, ring)
            except (Open, Uncounted):
                found = self.clocks.use_of(self.site[id(op)], ring) if lemma else None
                if found is None:
                    raise
        return state.normal(state.here(found))

    def _counted(self, state: State, op: Op, ring: RingParts) -> Any:
        """The same, by the operations before it."""
        site = self.site[id(op)]
        if isinstance(op, Copy) and op.barrier is not None:
            begun = self._before(site, ExpectTx, ring.full)
            self._expect_slot(state, op, op.barrier, begun - 1, ring)
            if ring.empty and self._facts(site).le(self._before(site, Wait, ring.empty), begun) is not True:
                raise Open(f"expected an expect_tx before {op}")
        else:
            begun = self._before(site, Wait, ring.full)
        if self._facts(site).le(1, begun) is not True:
            raise Open(f"{op} may stand before the first use of {ring.full}")
        return state.normal(state.here(begun - 1))

    def waited(self, state: State, op: Wait) -> None:
        """A wait is for the next use of a ring, or for its slot to be free."""
        site = self.site[id(op)]
        for ring in self.rings:
            with self._or_clocks(ring):
                if ring.tensors and op.barrier.barrier == ring.full:
                    n = self._before(site, Wait, ring.full)
                    self._expect_phase(state, op, n, n // ring.slots % 2, ring)
                elif ring.tensors and op.barrier.barrier == ring.empty and self._role_of(ring, ExpectTx) & {site.role}:
                    n = self._before(site, ExpectTx, ring.full)
                    self._expect_phase(state, op, n, (n // ring.slots + 1) % 2, ring)

    @contextmanager
    def _or_clocks(self, ring: RingParts) -> Iterator[None]:
        """What is left open inside is known where clocks show the order of all that touches the ring."""
        try:
            yield
        except (Open, Uncounted):
            if not self.clocks.ordered(ring):
                raise

    def armed(self, state: State, op: ExpectTx) -> None:
        """A use begins: its barrier awaits one arrival of each role that fills it or arrives there."""
        site = self.site[id(op)]
        for ring in self.rings:
            if ring.tensors and op.barrier.barrier == ring.full:
                with self._or_clocks(ring):
                    self._expect_slot(state, op, op.barrier, self._before(site, ExpectTx, ring.full), ring)
                    self._expect_arrivals(state, op, ring)

    def _expect_arrivals(self, state: State, op: ExpectTx, ring: RingParts) -> None:
        arrivals, mine = self.kernel.barrier(ring.full).arrivals, [s.op for s in self.site.values()]
        if any(isinstance(x, CpAsyncArrive) and _on(x, ring.full) for x in mine):
            raise Open(f"when {ring.full} gets the arrivals of copies by cp.async")
        once = all(x.count == 1 for x in mine if isinstance(x, Arrive) and _on(x, ring.full))
        if len(state.team.threads) != 1 or not once or len(self._role_of(ring, ExpectTx, Arrive)) != arrivals:
            raise Open(f"expected one arrival of each of {arrivals} roles at {ring.full} for each use, got {op}")

    def _before(self, site: Site, kind: type[Op], barrier: str) -> Any:
        """The number of operations of a kind on a barrier that the role has met before it reaches a site."""
        same = (s.op for s in self.site.values() if s.role == site.role and isinstance(s.op, kind))
        mine = {id(x) for x in same if _on(x, barrier)}
        return Counter(self.kernel, self._facts(site)).before(site, lambda x: id(x) in mine)

    def _facts(self, site: Site) -> Facts:
        loops = tuple(loop.index for loop in site.loops)
        return Facts.about((*self.kernel.dims, *self.kernel.block, *loops), given=(*self.given, *site.conditions))

    def _role_of(self, ring: RingParts, *kinds: type[Op]) -> set[str]:
        """The roles that have operations of these kinds on the barrier that a ring's fills complete on."""
        return {s.role for s in self.site.values() if isinstance(s.op, kinds) and _on(s.op, ring.full)}

    def _same(self, state: State, op: Op, x: Any, y: Any) -> bool:
        """Whether two expressions are equal in all iterations, or in the current one."""
        return self._facts(self.site[id(op)]).normal(x - y) == 0 or state.normal(state.here(x) - state.here(y)) == 0

    def _expect_slot(self, state: State, op: Op, slot: Slot, number: Any, ring: RingParts) -> None:
        if not self._same(state, op, slot.slot, number % ring.slots):
            raise Open(f"expected slot {number % ring.slots} of {slot.barrier} in use {number}, got {op}")

    def _expect_phase(self, state: State, op: Wait, number: Any, parity: Any, ring: RingParts) -> None:
        self._expect_slot(state, op, op.barrier, number, ring)
        if not self._same(state, op, op.parity, parity):
            raise Open(f"expected parity {parity} in use {number}, got {op}")


def _on(op: Any, barrier: str) -> bool:
    return bool(op.barrier.barrier == barrier)
