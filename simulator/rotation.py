"""Steps up to the slots of rings: an iteration does what the one before did, at the next slot of each ring.

>>> from symlayout.kernels import bulk_copy
>>> from .program import Programs
>>> kernel = bulk_copy(8192, chunk=512, slots=3, blocks=2).bind()
>>> producer, consumer = Programs(kernel).of((0,))
>>> rings = rings_of(kernel)
>>> turning(producer, rings).ahead("empty", 0), turning(consumer, rings).ahead("full", 0)  # of 6 places each
(3, 0)
>>> first, each = 5, 4  # steps before the loop, and of one of its 8 iterations
>>> [turning(producer, rings).alike(first, each, {"full": n, "empty": n}) for n in (1, 2)]
[28, 1]

A wait for a parity is at one of 2 S places of a ring of S mbarriers: at a slot in an even or an odd phase. What
arrives, or lands, is at one of S. A ring turns by some places where each slot is what another one was; a slot that goes
round has the other parity. All mbarriers of a ring await as many arrivals, and nothing takes a time that depends on the
slot, so what happens turns with it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from operator import attrgetter

import numpy as np

from symlayout.kernel import Kernel

from .points import Array
from .steps import Step, Team
from .timing_classes import Unit

Rings = Mapping[str, int]  # the slots of each ring of mbarriers, by name
_columns = attrgetter(*(f.name for f in fields(Step) if f.name not in ("what", "barrier", "number")))
FIRST = 64  # steps that are compared before more are


def rings_of(kernel: Kernel) -> Rings:
    """The rings of mbarriers of a kernel."""
    return {b.name: int(b.slots) for b in kernel.barriers}


@dataclass(frozen=True, eq=False)
class Turning:
    """The steps of a team: *kinds* are the same for those that are alike but for the place on their ring.

    *rings* has a number for the ring of each, in the order of *names*, -1 for none, *places* where on it, and *rounds*
    how many places there are: 1 for a step at no ring.
    """

    names: tuple[str, ...]
    kinds: Array
    rings: Array
    places: Array
    rounds: Array
    of: Mapping[int, tuple[int, str, int, int]]  # of each step by identity: kind, ring, place, places
    at: Mapping[tuple[int, int], Step]  # by kind and place
    waits: Mapping[str, tuple[list[int], list[int]]]  # at each ring: which steps, and where

    def ahead(self, ring: str, at: int) -> int | None:
        """Where on a ring the next wait stands, from a step on; None where there is none."""
        steps, places = self.waits.get(ring, ((), ()))
        k = bisect_left(steps, at)
        return places[k] if k < len(steps) else None

    def turned(self, step: Step, turns: Mapping[str, int]) -> Step:
        """The step that stands where one does, once rings have turned."""
        kind, ring, place, places = self.of[id(step)]
        return self.at[kind, (place + turns.get(ring, 0)) % places]

    def alike(self, first: int, shift: int, turns: Mapping[str, int]) -> int:
        """How many steps from the first on are those that stand a shift later, where rings have turned meanwhile."""
        most = max(0, len(self.kinds) - shift - first)
        turn = np.array([*(turns.get(name, 0) for name in self.names), 0], dtype=np.int64)
        start, size = first, FIRST
        while start < first + most:
            end = min(first + most, start + size)
            here, there = slice(start, end), slice(start + shift, end + shift)
            moved = self.places[there] - self.places[here] - turn[self.rings[here]]
            differ = ((self.kinds[here] != self.kinds[there]) | (moved % self.rounds[here] != 0)).nonzero()[0]
            if len(differ):
                return start + int(differ[0]) - first
            start, size = end, 4 * size
        return most

    @cached_property
    def used(self) -> list[tuple[str, int]]:
        """Each ring, and the last step at it."""
        last = {}
        for k, name in enumerate(self.names):
            at = (self.rings == k).nonzero()[0]
            if len(at):
                last[name] = int(at[-1])
        return list(last.items())


def turning(team: Team, rings: Rings) -> Turning:
    """The steps of a team on the rings of its kernel. It is found once."""
    found = team.known.get("turning")
    if found is None:
        found = team.known["turning"] = _turning(team, rings)
    assert isinstance(found, Turning)
    return found


def _turning(team: Team, rings: Rings) -> Turning:
    names = tuple(rings)
    numbers = {name: k for k, name in enumerate(names)}
    known: dict[Hashable, int] = {}
    of, at_place, rows = {}, {}, []
    _, first, which = np.unique(team.numbers, return_index=True, return_inverse=True)
    for k in first.tolist():
        kind, ring, place, rounds = _row(team.steps[k], rings)
        row = known.setdefault(kind, len(known)), ring, place, rounds
        of[id(team.steps[k])], at_place[row[0], place] = row, team.steps[k]
        rows.append((row[0], numbers.get(ring, -1), place, rounds))
    kinds, at, places, rounds_of = np.array(rows, dtype=np.int64).reshape(-1, 4)[which.reshape(-1)].T
    waits = {}
    waiting = np.array([team.steps[k].unit is Unit.WAIT for k in first.tolist()], dtype=bool)[which.reshape(-1)]
    for name, k in numbers.items():
        steps = (waiting & (at == k)).nonzero()[0]
        waits[name] = steps.tolist(), places[steps].tolist()
    return Turning(names, kinds, at, places, rounds_of, of, at_place, waits)


def _row(step: Step, rings: Rings) -> tuple[Hashable, str, int, int]:
    """What a step has in common with those at other places of its ring, the ring, the place, and how many there are."""
    name, slot = step.barrier
    slots = rings.get(name)
    if slots is None:
        return id(step), "", 0, 1
    if step.unit is Unit.WAIT:
        return (id(step.what), name, *_columns(step)), name, slot + slots * step.number, 2 * slots
    return (id(step.what), name, step.number, *_columns(step)), name, slot, slots
