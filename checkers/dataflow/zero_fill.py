"""Loads that leave zeros where their conditions do not hold: elements of the tensor, and zeros outside of it.

cp.async writes the zeros itself; registers may hold them before.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.expr import Expr
from symlayout.int_tuple import leaves
from symlayout.ops import Copy, Op, Ref

from .contents import Constant, Loaded, Numbers, Words
from .narrowed import narrowed
from .places import elements
from .state import Guard, Open, State
from .value_walk import Walk


def read_or_zero(walk: Walk, state: State, op: Copy, ref: Ref, count: int) -> Words:
    """(active thread, element): those of a global tensor where the conditions of a copy hold, zeros elsewhere.

    Where a condition fails, the elements have to be outside of the tensor: then one origin says both. Raises Open
    where that is not seen.
    """
    tensor = state.kernel.tensor(ref.tensor)
    if tensor.name in walk.written:
        raise Open(f"{tensor.name} is read and written")
    if state.team.elected:
        raise Open(f"zeros by an elected thread: {op}")
    around = len(state.guards)
    zero, shape = state.origins.number(Constant(0, tensor.dtype)), tuple(leaves(tensor.layout.shape))
    out = Words.of(zero, (len(state.team.threads), count))
    with narrowed(state, op.when) as keep:
        which = np.flatnonzero(keep)
        for rows, at, deltas in elements(state, ref, count) if len(which) else ():
            _expect_outside(state, op, shape, state.guards[around:], at, deltas, state.team.threads[rows])
            out.ids[which[rows]] = state.origins.number(Loaded(tensor.name, at, tensor.dtype, "zero"))
            out.deltas[which[rows], :, : len(at)] = deltas
    return out


def over_zeros(walk: Walk, state: State, op: Copy, found: Words) -> Words | None:
    """What registers hold that were zeros and are loaded under conditions: elements, and zeros outside of the tensor.

    None where they were no zeros, or where a condition may fail for an element of the tensor, or hold outside of it.
    """
    src, dst = op.src, op.dst
    if not state.guards or state.team.elected or not isinstance(src, Ref) or not isinstance(dst, Ref):
        return None
    source, into = state.kernel.tensor(src.tensor), state.kernel.tensor(dst.tensor)
    if source.space is not MemorySpace.GLOBAL or into.space is not MemorySpace.REGISTER or source.name in walk.written:
        return None
    at = state.numbers(dst.offset)[:, None] + np.arange(found.ids.shape[1])
    held = state.held(into)
    if at.min() < 0 or at.max() >= held.ids.shape[1]:
        return None
    zero = state.origins.number(Constant(0, into.dtype))
    if (held.ids[state.team.threads[:, None], at] != zero).any():
        return None
    return _or_zeros(state, op, found, state.guards)


def products_or_zeros(state: State, op: Op, a: Words, b: Words) -> tuple[Words, Words, tuple[Guard, ...]]:
    """Factors of products, and the conditions that may be left out then: both factors count as zeros where one fails.

    What is not multiplied there is a product of elements outside of both tensors.
    """
    left_out = []
    for guard in state.guards:
        u, v = (_or_zeros(state, op, x, (guard,)) for x in (a, b))
        if u is not None and v is not None:
            a, b = u, v
            left_out.append(guard)
    return a, b, tuple(left_out)


def _or_zeros(state: State, op: Op, found: Words, guards: Sequence[Guard]) -> Words | None:
    """Elements where conditions hold, which are those inside of the tensor, and zeros outside; None if they are not."""
    out = found.copy()
    for number in found.kinds:
        origin, mine = state.origins[number], found.ids == number
        if not isinstance(origin, Loaded) or origin.outside not in ("", "zero"):
            return None
        shape = tuple(leaves(state.kernel.tensor(origin.tensor).layout.shape))
        deltas, threads = found.deltas[mine], state.team.threads[np.nonzero(mine)[0]]
        for i, n in enumerate(shape):
            below, above = (n - 1 - origin.at[i], -deltas[:, i]), (origin.at[i], deltas[:, i])
            if not all(state.holds(x, d, threads) for x, d in (below, above)):
                return None
        try:
            _expect_outside(state, op, shape, guards, origin.at, deltas[:, None, : len(shape)], threads)
        except Open:
            return None
        out.ids[mine] = state.origins.number(replace(origin, outside="zero"))
    return out


def _expect_outside(
    state: State,
    op: Op,
    shape: tuple[Any, ...],
    guards: Sequence[Guard],
    at: tuple[Any, ...],
    deltas: Numbers,
    threads: Numbers,
) -> None:
    """Raise Open unless, where any of some conditions fails, each element has a coordinate that its mode does not have.

    A condition that fails is at most minus the unit of which it is a multiple, and a coordinate is outside where what
    is left behind it, or the coordinate itself, is below 0. No condition around is known there: several may fail.
    """
    ends = [x for i, n in enumerate(shape) for x in ((i, n - 1 - at[i], -1), (i, at[i], 1))]
    with state.without(state.guards):
        for guard in guards:
            unit = math.gcd(*guard.condition.terms.values()) if isinstance(guard.condition, Expr) else 1
            held = guard.deltas[threads][:, None]
            unit = unit if not (held % unit).any() else 1
            apart = ((state.normal(end - guard.condition), sign * deltas[..., i] - held) for i, end, sign in ends)
            if not any(type(c) is int and (c + rest < unit).all() for c, rest in apart):
                told = f"{guard.condition} + {int(guard.deltas[threads].max())} >= 0"
                raise Open(f"zeros of {op} where {told} fails")
