"""Fills of the slots of a ring: bytes that the copies of an expect_tx credit to each CTA, and where they land."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.expr import Fact, eq, symbols_of
from symlayout.kernel.sites import Site
from symlayout.ops import Box, Copy, ExpectTx

from ..bulk_sizes import arguments
from ..exhaustive import POINTS
from .recognised import landed_bytes, slot_elements
from .shown import Open, Shown


@dataclass(frozen=True)
class Part:
    """A copy's place in its slot: first elements, the length of the run from each, and the ranks of the CTAs."""

    site: Site
    tensor: str
    starts: tuple[int, ...]  # empty where numbers do not say
    elements: int
    ranks: tuple[int, ...]
    repeated: bool  # in loops of one use


@dataclass(frozen=True)
class Fill:
    """An expect_tx and its copies: bytes to the CTA of each rank, parts of the slot."""

    site: Site
    bytes: dict[int, Any]
    parts: tuple[Part, ...]


def fills_of(r: Shown, copies: list[Site]) -> list[Fill]:
    """The fills of a CTA: in each body with an expect_tx, its copies, which come after the wait."""
    left = {id(s.op): s for s in copies}
    found = [_fill(r, x, left) for x in r.every if _arms(r, x)]
    if left:
        raise Open(f"the bytes of {next(iter(left.values()))} are awaited")
    return found


def _arms(r: Shown, x: Site) -> bool:
    return x.op.expects_on(r.ring.full)


def _fill(r: Shown, x: Site, left: dict[int, Site]) -> Fill:
    assert isinstance(x.op, ExpectTx)
    beside = [
        s
        for s in r.every
        if s.around[: len(x.around)] == x.around and s.places[: len(x.around)] == x.places[:-1] and s.role == x.role
    ]
    if sum(_arms(r, s) for s in beside) != 1 or not x.team or x.team.threads != 1:
        raise Open(f"one expect_tx in its loop, by one thread: {x}")
    full = r.ring.full
    use = r.before(x, lambda op: op.arrives_at(full))
    counted: dict[int, Any] = {}
    parts = []
    for c in (s for s in beside if id(s.op) in left):
        times = _times(r, x, c, use)
        ranks = _ranks(r, c)
        for rank in ranks:
            counted[rank] = counted.get(rank, 0) + times * _credit(r, c.op)
        parts.append(_part(r, x, c, use, ranks))
        left.pop(id(c.op))
    return Fill(x, counted, tuple(parts))


def _times(r: Shown, x: Site, c: Site, use: Any) -> Any:
    """The number of issues of a copy in a use: after its wait, and before the next one."""
    assert isinstance(c.op, Copy)
    assert c.op.barrier is not None
    if not c.team or c.team.threads != 1:
        raise Open(f"a copy is issued by one thread: {c}")
    times: Any = 1
    for loop in c.loops[len(x.loops) :]:
        r.need(Fact(loop.extent, ">="), c, "a loop has no negative number of iterations")
        times = times * loop.extent
    if c.conditions != x.conditions:
        raise Open(f"{c} is issued wherever its bytes are awaited")
    r.need(eq(c.op.barrier.slot, use % r.ring.slots), c, "a fill completes on its slot's barrier")
    waits = [s for s in r.every if s.op.waits_for(r.ring.empty) and s.role == x.role]
    if r.ring.empty:
        every = {id(s.op) for s in waits}
        r.need(Fact(r.before(c, lambda op: id(op) in every) - use - 1, ">="), c, "a fill is issued after its wait")
    for w in waits:
        issued, armed = r.before(w, lambda op: op is c.op), r.before(w, lambda op: op is x.op)
        r.need(Fact(issued - times * armed, ">="), w, f"the copies of a use are issued before the next wait, {c} too")
    return times


def _ranks(r: Shown, c: Site) -> tuple[int, ...]:
    assert isinstance(c.op, Copy)
    ranks = r.cta.lands(c.op)
    if ranks is None:
        raise Open(f"which CTAs {c} goes to")
    return ranks


def _credit(r: Shown, op: Any) -> Any:
    if isinstance(op, Copy) and op.bytes is not None:
        return op.bytes
    if not isinstance(op, Copy) or not isinstance(op.src, Box):
        raise Open(f"the bytes that {op} credits")
    return r.kernel.map(op.src.tensor_map).tensor_map.transaction_bytes


def _part(r: Shown, x: Site, c: Site, use: Any, ranks: tuple[int, ...]) -> Part:
    """The target of a copy; a fill stays in its slot."""
    (ref,) = c.op.targets
    tensor = r.kernel.tensor(ref.tensor)
    slot = slot_elements(r.kernel, r.ring, ref.tensor)
    at = ref.offset - use % r.ring.slots * slot
    assert isinstance(c.op, Copy)
    landed = landed_bytes(r.kernel, c.op)
    r.need(Fact(at, ">="), c, "a fill starts in its slot")
    bits = tensor.dtype.bits
    r.need(Fact((slot - at) * bits - 8 * landed, ">="), c, "a fill ends in its slot")
    inner = tuple(loop.index for loop in c.loops[len(x.loops) :])
    landed = min((x for x in arguments(landed) if type(x) is int), default=landed)  # at most so many
    starts = _starts(r.facts(c).normal(at), inner) if type(landed) is int else ()
    return Part(c, ref.tensor, starts, -(-8 * landed // bits) if starts else 0, ranks, bool(inner))


def _starts(at: Any, inner: tuple[Any, ...]) -> tuple[int, ...]:
    """The values of an offset over the iterations of the loops of a use; none where numbers do not say."""
    symbols = symbols_of(at)
    extents = tuple(s.upper + 1 for s in inner)
    if not set(symbols) <= set(inner) or not all(type(n) is int for n in extents) or math.prod(extents) > POINTS:
        return ()
    return tuple(AddressMap(inner, extents, at).table()[1][:, 0].tolist()) if inner else (at,)


def check_apart(fills: list[tuple[int, Fill]], rank: int) -> None:
    """Raise Open unless what is under way together to one CTA lands apart; *fills* are with the CTA that issues them.

    Fills of one role of a CTA are of different uses, all others may be of the same.
    """
    every = [(s, f, p) for s, f in fills for p in f.parts if rank in p.ranks]
    for i, (s, f, p) in enumerate(every):
        _expect_apart(p, None)
        for t, g, q in every[:i]:
            if p.tensor == q.tensor and (f is g or s != t or f.site.role != g.site.role):
                _expect_apart(p, q)


def _expect_apart(p: Part, q: Part | None) -> None:
    both = (p,) if q is None else (p, q)
    if not all(x.starts for x in both) and (q is not None or p.repeated):
        raise Open(f"where in its slot {p.site} lands")
    pieces = sorted((at, at + x.elements) for x in both for at in x.starts)
    if any(start < end for (_, end), (start, _) in itertools.pairwise(pieces)):
        raise Open(f"that {p.site} and {(q or p).site} land in different parts of the slot")
