"""Who is here in a run: threads of a CTA, and those of one agent among them, with the values of names for these.

>>> import numpy as np
>>> from symlayout.ops import Elect, Role
>>> everyone = Active({"block_x": 0}, np.arange(128), first=64, count=32).among(np.arange(128), 0)
>>> inside = everyone.entered(Role("writer", 1, 2, ()))
>>> inside.lanes.size, inside.active.size, inside.values["thread"][:3]
(64, 32, array([32, 33, 34]))
>>> inside.entered(Elect(())).anyone
False
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..expr import Fact
from ..expr.compiled import holds, value
from ..kernel import THREAD
from ..kernel.unrolled import Array, Threads
from ..ops import For, Let, LoadIndex, Op


@dataclass(frozen=True, eq=False)
class Active(Threads):
    """The threads that are here, *lanes*, and the *active* ones: those of the *count* threads of an agent.

    Who is elected and who meets a condition is asked of all that are here, what a name stands for of the active ones:
    *env* has values for these, of ``thread`` too.
    """

    env: dict[str, Any]

    first: int = 0  # thread of the agent in the CTA
    count: int = 0
    active: Array = field(default_factory=lambda: np.arange(0))
    indices: tuple[str, ...] = ()  # of the loops around
    varying: Mapping[str, Array] = field(default_factory=dict)  # values that differ, one for each thread of the agent
    found: dict[str, Any] = field(default_factory=dict)  # what operations have found for names, of the whole run

    @property
    def anyone(self) -> bool:
        return len(self.active) > 0

    @property
    def values(self) -> dict[str, Any]:
        return self.env

    def among(self, lanes: Array, base: int) -> Active:
        """The same scope for other threads of the CTA, which count from *base* on."""
        active = lanes[(lanes >= self.first) & (lanes < self.first + self.count)]
        env = {**self.env, THREAD: active - base}
        if self.varying:
            mine = active - self.first
            env |= {name: every[mine] for name, every in self.varying.items()}
        return Active(  # ``replace`` takes longer than all of this
            env, lanes, base, self.first, self.count, active, self.indices, self.varying, self.found
        )

    def teams(self, size: int) -> tuple[Active, ...]:
        """The active threads by warps, or by other runs of so many threads; the last may be a part of one."""
        if size not in self._teams:
            kinds = self.active // size
            self._teams[size] = tuple(self.among(self.active[kinds == k], self.base) for k in np.unique(kinds))
        return self._teams[size]

    @cached_property
    def _teams(self) -> dict[int, tuple[Active, ...]]:
        return {}

    def leading(self, count: int) -> Active:
        """The first *count* of those who are here."""
        return self if count >= len(self.lanes) else self.among(self.lanes[:count], self.base)

    @cached_property
    def run(self) -> slice | None:
        """The active threads as they count in the agent, where they follow one another."""
        if not self.anyone:
            return None
        begin, end = int(self.active[0]), int(self.active[-1]) + 1
        return slice(begin - self.first, end - self.first) if end - begin == len(self.active) else None

    def where(self, which: Array, base: int | None = None) -> Active:
        return self.among(self.lanes[which], self.base if base is None else base)

    def number(self, x: Any) -> int:
        found = value(x, self.values)
        return super().number(x) if isinstance(found, np.ndarray) else int(found)

    def meeting(self, facts: tuple[Fact, ...]) -> Array:
        """The active threads that meet all facts. Raises LayoutError for values that other agents have loaded."""
        if len(self.lanes) != len(self.active):
            for name in (s.name for fact in facts for s in fact.symbols if s.name in self.varying):
                raise LayoutError(f"expected {name} inside one role, since it may differ from thread to thread")
        keep, env = np.ones(len(self.lanes), dtype=bool), {**self.env, THREAD: self.lanes - self.base}
        for fact in facts:
            keep &= holds(fact, env)
        return keep

    def iterations(self, loop: For) -> Iterator[Active]:
        name, indices = loop.index.name, (*self.indices, loop.index.name)
        for i in range(self.number(loop.extent)):
            env = {**self.env, name: i}
            yield Active(
                env, self.lanes, self.base, self.first, self.count, self.active, indices, self.varying, self.found
            )

    def after(self, op: Op) -> Active:
        if not isinstance(op, Let | LoadIndex):
            return self
        name = op.name.name
        varying = {known: every for known, every in self.varying.items() if known != name}
        if isinstance(self.found[name], np.ndarray):
            varying[name] = self.found[name]
            return replace(self, varying=varying).among(self.lanes, self.base)
        return replace(self, env={**self.env, name: self.found[name]}, varying=varying)
