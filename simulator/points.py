"""Many executions of an operation at once: a row for each CTA and iteration, a column for each thread.

>>> from symlayout.kernels import bulk_copy
>>> from symlayout.ops import Copy
>>> kernel = bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind()
>>> start = Points.of_blocks(kernel, np.array([[0], [1]]))
>>> for _, op, here in unrolled(kernel.plain.body, start):
...     if isinstance(op, Copy):
...         print(op.atom, here.scope.cta.tolist(), here.number(op.barrier.slot if op.barrier else 0).tolist())
bulk.load [0, 0, 1, 1] [0, 1, 0, 1]
bulk.store [0, 0, 1, 1] [0, 0, 0, 0]

``unrolled`` walks the body once: a loop yields all of its iterations together. Where they stand in the course of a CTA
is known by the scopes around: each row of a scope belongs to one of the scope outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from symlayout.expr import Expr, Fact, Int
from symlayout.expr.compiled import holds, value
from symlayout.expr.expression import build
from symlayout.kernel import Kernel
from symlayout.kernel.declarations import BLOCKS, THREAD
from symlayout.kernel.unrolled import unrolled
from symlayout.ops import WARP, Elect, For, If, LoadIndex, Op, Role

from .engine import SimulationError

Array: TypeAlias = "np.ndarray[Any, Any]"
MAX_ROWS = 8_000_000  # executions of one operation

__all__ = ["Points", "Scope", "TooManyRows", "unrolled"]


class TooManyRows(SimulationError):
    """More executions than are looked at together."""


@dataclass(frozen=True, eq=False)
class Scope:
    """Rows of executions: each belongs to a row of the scope *around*, by number, and to a CTA."""

    cta: Array
    around: Scope | None = None
    of: Array = field(default_factory=lambda: np.zeros(0, np.int64))

    def some(self, of: Array) -> Scope:
        """The scope of these rows of this one, which may come several times."""
        return Scope(self.cta[of], self, of)

    def __len__(self) -> int:
        return len(self.cta)


@dataclass(frozen=True)
class Points:
    """Threads of CTAs, in each of the rows of a scope; *mask* says which of *lanes* are here, if not all.

    *env* has integers, columns of a value for each row, and tables of one for each row and thread of the CTA.
    *reads* gives the values of an index that is read from memory, and *inside* the loops that are gone through.
    """

    env: Mapping[str, Any]
    lanes: Array
    scope: Scope
    base: int = 0
    mask: Array | None = None
    reads: Callable[[LoadIndex, Any], Any] | None = None
    inside: frozenset[int] | None = None
    trips: list[tuple[For, Points]] | None = None  # the iterations of each loop, noted as they are gone through

    @classmethod
    def of_blocks(
        cls,
        kernel: Kernel,
        blocks: Array,
        reads: Callable[[LoadIndex, Any], Any] | None = None,
        inside: frozenset[int] | None = None,
    ) -> Points:
        """All threads of some CTAs, given by rows of block indices, x first."""
        env = {name: blocks[:, k : k + 1] for k, name in enumerate(BLOCKS[: blocks.shape[1]])}
        lanes, scope = np.arange(kernel.threads), Scope(np.arange(len(blocks)))
        return cls(env, lanes, scope, reads=reads, inside=inside, trips=[])

    @property
    def rows(self) -> int:
        return len(self.scope)

    @property
    def anyone(self) -> bool:
        return bool(self.rows) and bool(len(self.lanes))

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of all names, ``thread`` among them."""
        env = {k: x[:, self.lanes] if isinstance(x, np.ndarray) and x.shape[1] > 1 else x for k, x in self.env.items()}
        return {**env, THREAD: (self.lanes - self.base)[None, :]}

    def of(self, x: Any) -> Any:
        """The value of an expression: an integer, a column, a row of one value for each lane, or a table."""
        return value(x, self.values)

    def table(self, x: Any) -> Array:
        """The value for each row and lane."""
        return np.broadcast_to(np.asarray(self.of(x)), (self.rows, len(self.lanes)))

    def apart(self, x: Any) -> tuple[Array, Array] | None:
        """A column and a row whose sums are the table of an expression; None where it is no such sum."""
        parts = _apart(x) if isinstance(x, Expr) else None
        if parts is None:
            return None
        column, row = (np.asarray(self.of(part)) for part in parts)
        return (column, row) if column.ndim == 2 == row.ndim and column.shape[1] == 1 <= row.size else None

    @property
    def here(self) -> Array:
        """Whether each lane is here, for each row."""
        shape = (self.rows, len(self.lanes))
        return np.ones(shape, dtype=bool) if self.mask is None else np.broadcast_to(self.mask, shape)

    @property
    def count(self) -> Array:
        """How many lanes are here, for each row."""
        return np.full(self.rows, len(self.lanes)) if self.mask is None else self.here.sum(axis=1)

    def total(self, table: Array) -> Array:
        """The sum over the lanes that are here, for each row."""
        if self.mask is not None:
            return np.asarray((table * self.here).sum(axis=1))
        return np.asarray(table.sum(axis=1) if len(self.lanes) > 1 else table[:, 0])

    def number(self, x: Any) -> Array:
        """The one value for all threads that are here, for each row. Raises SimulationError where there are several."""
        found = np.asarray(self.of(x))
        if found.ndim < 2 or found.shape[1] == 1:
            return np.broadcast_to(found.reshape(-1), self.rows)
        found, here = np.broadcast_to(found, (self.rows, len(self.lanes))), self.here
        first = np.take_along_axis(found, here.argmax(axis=1)[:, None], axis=1)
        wrong = ((found != first) & here).any(axis=1)
        if wrong.any():
            raise SimulationError(f"expected one value of {x} for all threads that execute it, got several")
        return first[:, 0]

    def meeting(self, facts: tuple[Fact, ...]) -> Points:
        """Those that meet all facts."""
        keep: Any = True
        for f in facts:
            keep = keep & self._holding(f)
        return self._kept(np.asarray(keep))

    def _holding(self, fact: Fact) -> Array:
        """Who meets a fact: a column where all lanes of a row do or none, which the ends of their range tell."""
        found = self.apart(fact.expr) if fact.relation == ">=" else None
        if found is None:
            return np.asarray(holds(fact, self.values))
        column, row = found
        all_of_them = column + row.min() >= 0
        some = ((column + row.max() >= 0) & ~all_of_them)[:, 0]
        if not some.any():
            return np.asarray(all_of_them)
        keep = np.repeat(all_of_them, row.shape[1], axis=1)
        keep[some] = column[some] + row >= 0
        return keep

    def _kept(self, keep: Array) -> Points:
        if keep.ndim < 2:
            return self if keep.all() else self.only(np.arange(0))
        if (keep.shape[0] == 1 and self.rows > 1) or (keep.shape[1] > 1 and self.rows == 1):
            return self.among(np.asarray(keep[0]))
        if keep.shape[1] == 1:
            keep = keep[:, 0]
            return self if keep.all() else self.only(np.flatnonzero(keep))
        here = keep & self.here
        rows = here.any(axis=1)
        found = replace(self, mask=here)
        found = found if rows.all() else found.only(np.flatnonzero(rows))
        assert found.mask is not None
        return found.among(np.asarray(found.mask.any(axis=0)))

    def only(self, rows: Array) -> Points:
        """Some rows, or rows several times, as a scope of their own."""
        if len(rows) > MAX_ROWS:
            raise TooManyRows(f"expected at most {MAX_ROWS} executions of an operation, got {len(rows)}")
        env = {k: x[rows] if isinstance(x, np.ndarray) else x for k, x in self.env.items()}
        mask = self.mask if self.mask is None or self.mask.shape[0] == 1 else self.mask[rows]
        return replace(self, env=env, mask=mask, scope=self.scope.some(rows))

    def among(self, which: Array, base: int | None = None) -> Points:
        """Some lanes, by truth."""
        mask = self.mask if self.mask is None or which.all() else self.mask[:, which]
        if mask is not None and mask.all():
            mask = None
        return replace(self, lanes=self.lanes[which], mask=mask, base=self.base if base is None else base)

    def electing(self, each_warp: bool) -> Points:
        """One of the threads that are here, or one of each warp: the first."""
        warps: Array = self.lanes // WARP
        if self.mask is None:
            _, first = np.unique(warps, return_index=True)
            which = np.zeros(len(self.lanes), dtype=bool)
            which[first if each_warp else first[:1]] = True
            return self.among(which)
        here, chosen = self.here, np.zeros((self.rows, len(self.lanes)), dtype=bool)
        for w in np.unique(warps) if each_warp else [None]:
            mine = here if w is None else here & (warps == w)
            rows = np.flatnonzero(mine.any(axis=1))
            chosen[rows, mine[rows].argmax(axis=1)] = True
        return replace(self, mask=chosen).among(np.asarray(chosen.any(axis=0)))

    def entered(self, op: Role | If | Elect) -> Points:
        if isinstance(op, Role):
            first = WARP * op.first_warp
            inside: Array = np.asarray((self.lanes >= first) & (self.lanes < first + op.threads))
            return self.among(inside, first)
        return self.meeting(op.condition) if isinstance(op, If) else self.electing(op.each_warp)

    def iterations(self, loop: For) -> Iterator[Points]:
        if self.inside is not None and id(loop) not in self.inside:
            return
        counts = np.maximum(self.number(loop.extent), 0)
        total = int(counts.sum())
        if total > MAX_ROWS:
            raise TooManyRows(f"expected at most {MAX_ROWS} iterations of {loop.index}, got {total}")
        of = np.repeat(np.arange(self.rows), counts)
        found = self.only(of)
        index = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        found = replace(found, env={**found.env, loop.index.name: index[:, None]})
        if self.trips is not None:
            self.trips.append((loop, found))
        yield found

    def after(self, op: Op) -> Points:
        if not isinstance(op, LoadIndex) or self.reads is None or not self.anyone:
            return self
        found = np.asarray(self.reads(op, self))
        if found.shape[1] > 1:  # a table of all threads of the CTA
            every = np.zeros((self.rows, int(self.lanes.max()) + 1), dtype=np.int64)
            every[:, self.lanes] = found
            found = every
        return replace(self, env={**self.env, op.name.name: found})


@lru_cache(maxsize=1 << 12)
def _apart(x: Expr) -> tuple[Int, Int] | None:
    """What the same for all threads is of a sum, and what is of the thread alone; None where a term is of both."""
    whole: dict[Any, int] = {}
    own: dict[Any, int] = {}
    for term, times in x.terms.items():
        names = {s.name for atom in term for s in atom.symbols}
        if THREAD in names and len(names) > 1:
            return None
        (own if THREAD in names else whole)[term] = times
    return build(whole), build(own)
