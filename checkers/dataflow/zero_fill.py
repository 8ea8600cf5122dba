"""Loads that leave zeros where their conditions do not hold: elements of the tensor, and zeros outside of it.

cp.async writes the zeros itself; registers may hold them before.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.expr import Expr
from symlayout.int_tuple import leaves
from symlayout.kernel import KernelTensor
from symlayout.ops import Copy, Ref

from .contents import Constant, Loaded, Numbers, Words
from .places import elements
from .state import Guard, Open, State
from .value_walk import Walk, narrowed


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
    zero = state.origins.number(Constant(0, tensor.dtype))
    out = Words.of(zero, (len(state.team.threads), count))
    with narrowed(state, op.when) as keep:
        which = np.flatnonzero(keep)
        for rows, at, deltas in elements(state, ref, count) if len(which) else ():
            for guard in state.guards[around:]:
                _expect_outside(state, op, tensor, guard, at, deltas, state.team.threads[rows])
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
    out = found.copy()
    for number in found.kinds:
        origin, mine = state.origins[number], found.ids == number
        if not isinstance(origin, Loaded) or origin.outside:
            return None
        deltas, threads = found.deltas[mine], state.team.threads[np.nonzero(mine)[0]]
        for i, n in enumerate(leaves(source.layout.shape)):
            below, above = (n - 1 - origin.at[i], -deltas[:, i]), (origin.at[i], deltas[:, i])
            if not all(state.holds(x, d, threads) for x, d in (below, above)):
                return None
        try:
            for guard in state.guards:
                _expect_outside(state, op, source, guard, origin.at, deltas[:, None, : len(origin.at)], threads)
        except Open:
            return None
        out.ids[mine] = state.origins.number(replace(origin, outside="zero"))
    return out


def _expect_outside(
    state: State,
    op: Copy,
    tensor: KernelTensor,
    guard: Guard,
    at: tuple[Any, ...],
    deltas: Numbers,
    threads: Numbers,
) -> None:
    """Raise Open unless, where a condition fails, each element has a coordinate that its mode does not have.

    A condition that fails is at most minus the unit of which it is a multiple, and a coordinate is outside where what
    is left behind it, or the coordinate itself, is below 0.
    """
    unit = math.gcd(*guard.condition.terms.values()) if isinstance(guard.condition, Expr) else 1
    held = guard.deltas[threads][:, None]
    unit = unit if not (held % unit).any() else 1
    for i, n in enumerate(leaves(tensor.layout.shape)):
        for end, sign in ((n - 1 - at[i], -1), (at[i], 1)):
            c = state.normal(end - guard.condition)
            if type(c) is int and (c + sign * deltas[..., i] - held < unit).all():
                return
    raise Open(f"zeros of {op} where {guard.condition} + {int(guard.deltas[threads].max())} >= 0 fails")
