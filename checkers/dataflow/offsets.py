"""The coordinate that an offset into a global tensor is: its multiples of each stride, with the rest below it."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from symlayout.expr import Expr, Quotient, Symbol, index, split
from symlayout.facts import opaque_atoms
from symlayout.int_tuple import leaves
from symlayout.kernel import THREAD, KernelTensor
from symlayout.strides import as_modes

from .contents import Numbers, without_constant
from .distinct_names import fresh
from .state import Guard, Open, State


def by_stride(state: State, tensor: KernelTensor, offset: Any) -> tuple[Any, dict[int, Numbers]]:
    """(the rest of an offset, by mode the number for each active thread that its stride is multiplied by).

    The stride is a size there, as in ``N*(thread//8)``; the rest has no such product.
    """
    x = state.normal(state.here(offset))
    found: dict[int, Any] = {}
    if not isinstance(x, Expr) or state.team.elected:
        return offset, {}
    strides = {}
    for i, d in enumerate(leaves(tensor.layout.stride)):
        d = state.normal(d)
        if isinstance(d, Expr) and len(d.terms) == 1:
            [(m, c)] = d.terms.items()
            strides[m] = i, c
    for m, c in x.terms.items():
        mine = tuple(a for a in m if _of_thread(a))
        i, unit = strides.get(tuple(a for a in m if a not in mine), (-1, 1))
        if mine and i >= 0 and c % unit == 0:
            found[i] = found.get(i, 0) + math.prod(mine, start=c // unit)
    rest = x - sum(u * state.normal(leaves(tensor.layout.stride)[i]) for i, u in found.items())
    return (rest, {i: state.numbers(u) for i, u in found.items()}) if found else (offset, {})


def _of_thread(a: Any) -> bool:
    return all(s.name == THREAD for s in a.symbols)


def coordinate_of(
    state: State,
    tensor: KernelTensor,
    rest: Any,
    deltas: Numbers,
    threads: Numbers,
    steps: Mapping[int, Numbers] | None = None,
) -> tuple[tuple[Any, ...], Numbers]:
    """(coordinate, deltas with a last mode for its modes) of the elements at offset *rest* + *deltas*, by threads.

    *steps* are added to the deltas of a mode. Raises Open where the modes are nested or overlap, or where a coordinate
    is not seen to stay in its mode.
    """
    if steps:
        return _split(state, tensor, rest, deltas, threads, steps)
    try:
        return _split(state, tensor, rest, deltas, threads)
    except Open as e:
        for a in opaque_atoms(rest):
            with contextlib.suppress(Open):
                return _by_remainder(state, tensor, rest, a, deltas, threads)
        for g in state.guards:
            with contextlib.suppress(Open):
                return _by_condition(state, tensor, rest, g, deltas, threads)
        raise e


def _by_condition(
    state: State, tensor: KernelTensor, rest: Any, g: Guard, deltas: Numbers, threads: Numbers
) -> tuple[tuple[Any, ...], Numbers]:
    """The same in a tensor of two modes whose sizes are numbers, where a condition keeps the contiguous one inside.

    Multiples of a size that is a number cannot be told from other numbers: 65*m + n may have 64 in both. What the
    condition is about is taken to be the coordinate, of the first or of the last element; the rest has to be whole
    steps of the other mode. Any split of an offset with both coordinates in their modes is the only one.
    """
    shapes, strides = ([state.normal(x) for x in leaves(y)] for y in (tensor.layout.shape, tensor.layout.stride))
    if len(strides) != 2 or 1 not in strides:
        raise Open(f"two modes, one of contiguous elements: {tensor}")
    near = strides.index(1)
    far, count = 1 - near, deltas.shape[-1]
    n, step = shapes[near], strides[far]
    if type(n) is not int or type(step) is not int or n > step:
        raise Open(f"offsets into modes of numbers that do not overlap: {tensor}")
    moved, c = without_constant(state.normal(rest + g.condition))
    row, left = split(moved, step)
    if type(left) is not int or left:
        raise Open(f"whole steps of {step}: {moved}")
    end = n - 1 - g.told[threads].reshape(-1, *[1] * (deltas.ndim - 1)) + np.arange(count)
    for column in (end, end - (count - 1)):
        steps, rests = np.divmod(deltas + c - column, step)
        if not rests.any():
            at: list[Any] = [0, 0]
            out = np.zeros((*deltas.shape, 2), np.int64)
            at[near], at[far], out[..., near], out[..., far] = -g.condition, row, column, steps
            for i in (near, far):
                _expect_inside(state, tensor, at[i], out[..., i], shapes[i], threads)
            return tuple(at), out
    raise Open(f"whole steps of {step} beside {g.condition}")


def _by_remainder(
    state: State, tensor: KernelTensor, rest: Any, a: Any, deltas: Numbers, threads: Numbers
) -> tuple[tuple[Any, ...], Numbers]:
    """The same with x as d*(x//d) + r, for a quotient x//d: r stays in its mode where x and x//d do not."""
    x, d = a.args[:2] if isinstance(a, Quotient) else (0, 0)
    mine = [m[0] for m, c in x.terms.items() if len(m) == 1 and c == 1] if isinstance(x, Expr) else []
    lead = next((s for s in mine if isinstance(s, Symbol) and s not in state.known.facts.let), None)
    if lead is None or state.facts.le(1, d) is not True:
        raise Open(f"a remainder of {x}")
    r = index(fresh(state.kernel, "remainder"), d)
    moved: Any = 0
    for m, c in rest.terms.items():
        term: Any = c
        for factor in m:
            term = term * (d * a + r - (x - lead) if factor is lead else factor)
        moved = moved + term
    with state.inside(loops=(*state.loops, (r, r))):
        at, out = _split(state, tensor, moved, deltas, threads)
    return tuple(y.subs({r: x - d * a}) if isinstance(y, Expr) else y for y in at), out


def _split(
    state: State,
    tensor: KernelTensor,
    rest: Any,
    deltas: Numbers,
    threads: Numbers,
    steps: Mapping[int, Numbers] | None = None,
) -> tuple[tuple[Any, ...], Numbers]:
    if any(isinstance(n, tuple) for n in as_modes(tensor.layout.shape)):
        raise Open(f"offsets into nested modes: {tensor}")
    shapes, strides = ([state.normal(x) for x in leaves(y)] for y in (tensor.layout.shape, tensor.layout.stride))
    order = sorted(range(len(strides)), key=lambda i: _size(strides[i]), reverse=True)
    if strides[order[-1]] != 1:
        raise Open(f"offsets into a tensor without contiguous elements: {tensor}")
    at: list[Any] = [0] * len(order)
    out = np.zeros((*deltas.shape, len(order)), np.int64)
    for outer, i in zip((None, *order), order, strict=False):
        if outer is not None and state.facts.le(shapes[i] * strides[i], strides[outer]) is not True:
            raise Open(f"offsets into modes that may overlap: {tensor}")
        at[i], rest = split(rest, strides[i]) if strides[i] != 1 else (rest, 0)
        if type(strides[i]) is int and type(rest) is int:
            out[..., i], deltas = np.divmod(deltas + rest, strides[i])
            rest = 0
        at[i], c = without_constant(at[i])
        out[..., i] += c + (0 if steps is None else steps.get(i, 0))
        if outer is not None:
            _expect_inside(state, tensor, at[i], out[..., i], shapes[i], threads)
    return tuple(at), out


def _expect_inside(state: State, tensor: KernelTensor, at: Any, deltas: Numbers, n: Any, threads: Numbers) -> None:
    who = np.broadcast_to(threads.reshape(-1, *[1] * (deltas.ndim - 1)), deltas.shape)
    if not state.holds(at, deltas, who) or not state.holds(n - 1 - at, -deltas, who):
        raise Open(f"that {at + int(deltas.max())} is below {n}, the extent of a mode of {tensor.name}")


def _size(stride: Any) -> tuple[int, int]:
    """By degree, then by the largest coefficient: strides from small to large."""
    if not isinstance(stride, Expr):
        return 0, stride
    return max(len(m) for m in stride.terms), max(stride.terms.values())
