"""Sums, products, least and greatest elements: which elements are folded into a register, and under which conditions.

The delta of a fold is a row of its tables: each term has for that row some members, an element each. Folds begin with
the neutral element of their function; ``acc = function(acc, x)`` adds a term, which under a condition counts where the
condition holds; a reduction joins what several registers and lanes have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from symlayout.dtype import DType
from symlayout.expr import Symbol

from .contents import WIDTH, Carried, Constant, Loaded, Numbers, Origin, Origins, Words, together
from .state import Open, State

NEUTRAL: Mapping[str, float] = {"add": 0.0, "mul": 1.0, "min": math.inf, "max": -math.inf}


@dataclass(frozen=True, eq=False)
class Term:
    """Elements that are folded in: (row, member, mode) deltas, and (row, member, condition) those of conditions.

    A member counts where condition + delta >= 0 for all conditions, in each iteration of the *loops*, (index, extent).
    """

    origin: int
    deltas: Numbers
    conditions: tuple[Any, ...]
    condition_deltas: Numbers
    loops: tuple[tuple[Symbol, Any], ...] = ()

    def rows(self, at: Numbers) -> Term:
        """The term of other rows."""
        return replace(self, deltas=self.deltas[at], condition_deltas=self.condition_deltas[at])

    def joined(self, at: Numbers) -> Term:
        """The term of rows that join several of these: *at* is (row, old row)."""
        shape = (at.shape[0], at.shape[1] * self.deltas.shape[1])
        return replace(
            self,
            deltas=self.deltas[at].reshape(*shape, -1),
            condition_deltas=self.condition_deltas[at].reshape(*shape, len(self.conditions)),
        )


@dataclass(frozen=True, eq=False)
class Fold(Origin):
    """Elements folded by a function; *carry* is the loop under way that began with what stood there before it.

    *kept* are the types of all registers that partial results went through.
    """

    function: str
    dtype: DType
    terms: tuple[Term, ...]
    carry: Symbol | None = None
    kept: frozenset[DType] = frozenset()

    def width(self, origins: Origins) -> int:
        return 1


def folds(state: State, function: str, acc: Words, x: Words) -> bool:
    """Whether ``function(acc, x)`` goes on with a fold, or begins one with its neutral element."""
    if function not in NEUTRAL:
        return False
    begun = [state.origins[i] for i in acc.kinds]
    others = [state.origins[i] for i in x.kinds]
    return all(_of(o, function) for o in begun) and all(isinstance(o, Loaded) or _is(o, function) for o in others)


def _of(origin: Any, function: str) -> bool:
    return isinstance(origin, Carried) or is_neutral(origin, function) or _is(origin, function)


def is_neutral(origin: Any, function: str) -> bool:
    """Whether an origin is the number that changes nothing in a fold."""
    return isinstance(origin, Constant) and origin.value == NEUTRAL[function] and _holds(origin.dtype, origin.value)


def _holds(dtype: DType, value: float) -> bool:
    """Whether a type has a number: infinity is none of integers and of 8-bit floats."""
    return not math.isinf(value) or (dtype.kind == "float" and dtype.bits >= 16)


def _is(origin: Any, function: str) -> bool:
    return isinstance(origin, Fold) and origin.function == function


def folded(state: State, function: str, dtype: DType, acc: Words, x: Words) -> Words:
    """function(acc, x), where *x* counts only under the conditions that stand around."""
    out = Words(acc.ids.copy(), acc.deltas.copy())
    threads = np.broadcast_to(state.team.threads[:, None], acc.ids.shape)
    for (a, b), mine in together(acc, x):
        old = state.origins[a]
        terms = [t.rows(acc.deltas[mine][:, 0]) for t in old.terms] if isinstance(old, Fold) else []
        carry = old.carry if isinstance(old, Fold) else old.loop if isinstance(old, Carried) else None
        terms += [_under(state, t, threads[mine]) for t in _terms(state.origins, b, x.deltas[mine])]
        kept = _kept(dtype, old, state.origins[b])
        _put(state.origins, out, mine, Fold(function, dtype, tuple(terms), carry, kept))
    return out


def _kept(dtype: DType, *before: Origin) -> frozenset[DType]:
    """The types through which a fold went that joins some others."""
    return frozenset({dtype}).union(*(o.kept for o in before if isinstance(o, Fold)))


def _terms(origins: Origins, number: int, deltas: Numbers) -> list[Term]:
    """The terms of some places of one origin, an element or a fold; a row for each place."""
    origin = origins[number]
    if isinstance(origin, Fold):
        if origin.carry is not None:
            raise Open("a fold that uses the result of an earlier iteration twice")
        return [t.rows(deltas[:, 0]) for t in origin.terms]
    rank = origins.width(number)
    return [Term(number, deltas[:, None, :rank], (), np.zeros((len(deltas), 1, 0), np.int64))]


def _under(state: State, t: Term, threads: Numbers) -> Term:
    """A term under the conditions around, by the thread of each row."""
    conditions, deltas = t.conditions, t.condition_deltas
    for g in state.guards:
        mine = np.broadcast_to(g.deltas[threads][:, None, None], (*deltas.shape[:2], 1))
        conditions, deltas = (*conditions, g.condition), np.concatenate([deltas, mine], axis=2)
    return replace(t, conditions=conditions, condition_deltas=deltas)


def _put(origins: Origins, out: Words, mine: Numbers, made: Fold) -> None:
    out.ids[mine] = origins.number(made)
    rows = np.zeros((int(mine.sum()), WIDTH), np.int64)
    rows[:, 0] = np.arange(len(rows))
    out.deltas[mine] = rows


def reduced(state: State, function: str, dtype: DType, words: Words, lanes: int) -> Words:
    """(thread, 1): the fold of all elements of a thread, and of those of *lanes* neighbouring threads."""
    groups = words.ids.size // (lanes * words.ids.shape[1])
    ids, deltas = words.ids.reshape(groups, -1), words.deltas.reshape(groups, -1, WIDTH)
    if (ids != ids[:1]).any():
        raise Open("a reduction of values that differ from group to group of lanes")
    terms: list[Term] = []
    for number in np.unique(ids[0]).tolist():
        origin, at = state.origins[number], ids[0] == number
        if is_neutral(origin, function):
            continue
        if not isinstance(origin, Loaded) and not _is(origin, function):
            raise Open(f"a reduction by {function} of {type(origin).__name__}")
        held = deltas[:, at]
        rows = np.arange(held.shape[0] * held.shape[1]).reshape(held.shape[:2])
        terms += [t.joined(rows) for t in _terms(state.origins, number, held.reshape(-1, WIDTH))]
    kept = _kept(dtype, *(state.origins[i] for i in np.unique(ids[0]).tolist()))
    made = Fold(function, dtype, tuple(terms), kept=kept)
    out = Words.of(state.origins.number(made), (len(words.ids), 1))
    out.deltas[:, 0, 0] = np.arange(len(words.ids)) // lanes
    return out


def whole(origin: Fold, iteration: Symbol, extent: Any) -> Fold:
    """The fold over all iterations of a loop, which began with the neutral element."""
    terms = tuple(replace(t, loops=((iteration, extent), *t.loops)) for t in origin.terms)
    return replace(origin, terms=terms, carry=None)
