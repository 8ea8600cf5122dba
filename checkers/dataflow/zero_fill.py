"""cp.async that writes zeros where its conditions do not hold: elements of the tensor, and zeros outside of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

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
