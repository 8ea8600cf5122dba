"""The effects of accesses to the shared memory of a peer: loads and stores now, ``st.async`` as flights."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..atoms import atom
from ..atoms.access import MemorySpace
from ..atoms.peers import WORDS, needs_another
from ..errors import DisorderError, LayoutError
from ..ops import Op, PeerCopy, Slot
from .agent import Agent
from .copies import Flight, each_thread, send
from .effects import EFFECTS
from .machine import Array, Cta


class Store(Flight):
    """A store of one thread to a peer, under way."""

    generic = True

    def __init__(self, agent: Agent, op: Op, cta: Cta, data: Array, codes: Array, to: int, slot: Slot) -> None:
        self.data, self.codes = data, codes
        super().__init__(agent, op, cta, len(data), len(data), to, slot)

    def land(self) -> None:
        self.cta.shared.bytes[self.at], self.cta.shared.codes[self.at] = self.data, self.codes


def _peer(agent: Agent, op: Any) -> Cta:
    """The CTA whose memory it is. Raises LayoutError where the operation names none, or itself where it may not."""
    if not isinstance(op, PeerCopy):
        raise LayoutError(f"expected a peer whose memory {op.atom} is about, got none: use peer_copy")
    rank = agent.uniform(op.peer)
    if rank == agent.cta.rank and needs_another(op.atom):
        raise LayoutError(f"expected another CTA than the own one, {rank}, for {op.atom}")
    return agent.cta.cluster.cta(rank)


def _load(agent: Agent, op: Any) -> None:
    cta, n = _peer(agent, op), atom(op.atom).bytes
    agent.tensor(op.src, MemorySpace.SHARED)
    at, shared = agent.addresses(op.src, n, n), cta.shared
    codes = shared.seen(at, agent.knows, agent.row)
    if shared.order is not None:
        strand = shared.order.strand(agent.cta.rank, agent.active)
        shared.order.read(at, strand[:, None], agent.knows.epoch(agent.row))
    agent.reach(cta.rank, agent.active, op.src.tensor)
    agent.store(op.dst, shared.bytes[at], codes)


def _store(agent: Agent, op: Any) -> None:
    cta, n = _peer(agent, op), atom(op.atom).bytes
    agent.tensor(op.dst, MemorySpace.SHARED)
    data, codes = agent.load(op.src, n)
    at, shared = agent.addresses(op.dst, n, n), cta.shared
    shared.expect_free(at, agent.knows, agent.row)
    shared.bytes[at], shared.codes[at] = data, codes
    if shared.order is not None:
        writer = shared.order.thread(agent.cta.rank, agent.active)
        shared.order.wrote(at, writer[:, None], agent.knows.epoch(agent.row), agent.machine.number(op))
    agent.reach(cta.rank, agent.active, op.dst.tensor)


def _store_later(agent: Agent, op: Any) -> None:
    """Each thread stores by itself; threads of one instruction may not store to the same bytes."""
    cta, n = _peer(agent, op), atom(op.atom).bytes
    if op.barrier is None:
        raise LayoutError("expected an mbarrier of the peer that the store completes on, got none")
    agent.tensor(op.dst, MemorySpace.SHARED)
    places = agent.addresses(op.dst, n, n)[:, 0]
    if len(np.unique(places)) < len(places):
        said = f"expected threads to store to different places, got {op.dst} for {len(places)} threads"
        raise DisorderError(said, "order", op.dst.tensor)
    flights: list[Flight] = []
    for i, _ in enumerate(each_thread(agent)):
        data, codes = agent.load(op.src, n)
        flights.append(Store(agent, op, cta, data[0].copy(), codes[0].copy(), int(places[i]), op.barrier))
    send(agent, flights)


EFFECTS.update(
    {w: _load if w.startswith("ld.") else _store_later if needs_another(w) else _store for w in sorted(WORDS)}
)
