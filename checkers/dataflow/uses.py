"""Which use of a ring a copy fills and a reader finds: counted, and compared with slots and parities.

A use begins with the ``expect_tx`` of those who fill it, and is found by a ``wait`` of each reader. That a wait with
the parity of its own number returns in that phase, and none before, is what ``RingProtocol`` proves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symlayout.facts import Facts
from symlayout.kernel.counting import Counter
from symlayout.kernel.sites import Site
from symlayout.ops import Arrive, Copy, ExpectTx, Op, Slot, Wait

from ..rings.programs import RingParts
from .state import Open, State

if TYPE_CHECKING:
    from .value_walk import Walk


def use(walk: Walk, state: State, op: Op, ring: RingParts) -> Any:
    """The number of the use of a ring in which an operation stands."""
    site = walk.site[id(op)]
    if isinstance(op, Copy) and op.barrier is not None:
        begun = _before(walk, site, ExpectTx, ring.full)
        _expect_slot(walk, state, op, op.barrier, begun - 1, ring)
        if ring.empty and _facts(walk, site).le(_before(walk, site, Wait, ring.empty), begun) is not True:
            raise Open(f"expected an expect_tx before {op}")
    else:
        begun = _before(walk, site, Wait, ring.full)
    if _facts(walk, site).le(1, begun) is not True:
        raise Open(f"{op} may stand before the first use of {ring.full}")
    return state.normal(state.here(begun - 1))


def waited(walk: Walk, state: State, op: Wait) -> None:
    """A wait is for the next use of a ring, or for its slot to be free."""
    site = walk.site[id(op)]
    for ring in walk.rings:
        if ring.tensors and op.barrier.barrier == ring.full:
            n = _before(walk, site, Wait, ring.full)
            _expect_phase(walk, state, op, n, n // ring.slots % 2, ring)
        elif ring.tensors and op.barrier.barrier == ring.empty and _role_of(walk, ring, ExpectTx) & {site.role}:
            n = _before(walk, site, ExpectTx, ring.full)
            _expect_phase(walk, state, op, n, (n // ring.slots + 1) % 2, ring)


def armed(walk: Walk, state: State, op: ExpectTx) -> None:
    """A use begins: its barrier awaits one arrival of each role that fills it or arrives there."""
    site = walk.site[id(op)]
    for ring in walk.rings:
        if not ring.tensors or op.barrier.barrier != ring.full:
            continue
        _expect_slot(walk, state, op, op.barrier, _before(walk, site, ExpectTx, ring.full), ring)
        arrivals = walk.kernel.barrier(ring.full).arrivals
        if len(state.team.threads) != 1 or len(_role_of(walk, ring, ExpectTx, Arrive)) != arrivals:
            raise Open(f"expected one arrival of each of {arrivals} roles at {ring.full} for each use, got {op}")


def _before(walk: Walk, site: Site, kind: type[Op], barrier: str) -> Any:
    """How many operations of a kind on a barrier the role has met before it comes to a site."""
    same = (s.op for s in walk.site.values() if s.role == site.role and isinstance(s.op, kind))
    mine = {id(x) for x in same if _on(x, barrier)}
    return Counter(walk.kernel, _facts(walk, site)).before(site, lambda x: id(x) in mine)


def _facts(walk: Walk, site: Site) -> Facts:
    loops = tuple(loop.index for loop in site.loops)
    return Facts.about((*walk.kernel.dims, *walk.kernel.block, *loops), given=(*walk.given, *site.conditions))


def _role_of(walk: Walk, ring: RingParts, *kinds: type[Op]) -> set[str]:
    """The roles that have operations of these kinds on the barrier that a ring's fills complete on."""
    return {s.role for s in walk.site.values() if isinstance(s.op, kinds) and _on(s.op, ring.full)}


def _on(op: Any, barrier: str) -> bool:
    return bool(op.barrier.barrier == barrier)


def _same(walk: Walk, state: State, op: Op, x: Any, y: Any) -> bool:
    """Whether two expressions are equal for all turns, or in the turn at hand."""
    return _facts(walk, walk.site[id(op)]).normal(x - y) == 0 or state.normal(state.here(x) - state.here(y)) == 0


def _expect_slot(walk: Walk, state: State, op: Op, slot: Slot, number: Any, ring: RingParts) -> None:
    if not _same(walk, state, op, slot.slot, number % ring.slots):
        raise Open(f"expected slot {number % ring.slots} of {slot.barrier} in use {number}, got {op}")


def _expect_phase(walk: Walk, state: State, op: Wait, number: Any, parity: Any, ring: RingParts) -> None:
    _expect_slot(walk, state, op, op.barrier, number, ring)
    if not _same(walk, state, op, op.parity, parity):
        raise Open(f"expected parity {parity} in use {number}, got {op}")
