"""Under a condition: the threads of the walk for which it may hold, and what stays to be shown of the others."""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from symlayout.expr import Expr, Fact, symbols_of
from symlayout.kernel import THREAD

from .contents import Numbers
from .state import Guard, Open, State, Team


@contextmanager
def narrowed(state: State, facts: Iterable[Fact]) -> Iterator[Numbers]:
    """Inside, the threads for which facts may hold, under these; which of the threads around they are."""
    keep = np.ones(len(state.team.threads), bool)
    guards, given = list(state.guards), list(state.given)
    for fact in facts:
        there = Fact(state.normal(state.here(fact.expr)), fact.relation, fact.modulus)
        symbols = symbols_of(there.expr)
        if all(s.name == THREAD for s in symbols):
            x = state.numbers(there.expr)
            keep &= x >= 0 if there.relation == ">=" else x == 0 if there.relation == "==" else x % there.modulus == 0
        elif not any(s.name == THREAD for s in symbols):
            if state.facts.holds(there) is False:
                keep[:] = False
            elif state.facts.holds(there) is not True:
                given.append(there)
                guards.append(replace(_guard(state, there), fact=there))
        else:
            guards.append(_guard(state, there))
            keep &= ~_left_out(state, guards[-1])
    team = state.team
    if not keep.all():
        team = Team(team.threads[keep], None if team.beside is None else team.beside[keep])
    with state.inside(team=team, guards=tuple(guards), given=tuple(given)):
        yield keep


def _guard(state: State, fact: Fact) -> Guard:
    """A condition as something that is at least 0, with a number for each thread of the role."""
    if fact.relation != ">=":
        raise Open(f"a condition other than an order of sizes: {fact}")
    rows = state.places(fact.expr)
    if len(rows) != 1:
        raise Open(f"a condition in which threads and sizes mix: {fact}")
    _, rest, mine = rows[0]
    unit = math.gcd(*rest.terms.values()) if isinstance(rest, Expr) else 1
    told = np.zeros(state.threads, np.int64)
    if state.team.beside is None:
        told[state.team.threads] = mine
    else:
        told[state.team.beside] = mine[:, None]
    deltas = told // unit * unit  # a multiple of the unit is at least -told where it is at least the next multiple
    return Guard(rest, deltas, told)


def _left_out(state: State, guard: Guard) -> Numbers:
    """The active threads for which a condition surely fails: those whose number is below some other."""
    told = guard.told[state.team.threads]
    values: list[int] = np.unique(told).tolist()

    def may_hold(v: int) -> bool:
        return state.known.holds(guard.condition + v) is not False

    some = 0 if not values or may_hold(values[0]) else bisect.bisect_left(values, True, key=may_hold)
    left: Numbers = told <= values[some - 1] if some else np.zeros(len(told), bool)
    return left
