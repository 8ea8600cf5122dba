"""The coordinate that an offset into a global tensor is: its multiples of each stride, with the rest below it."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from symlayout.expr import Expr, Quotient, Symbol, index, split
from symlayout.facts import opaque_atoms
from symlayout.int_tuple import leaves
from symlayout.kernel import KernelTensor

from .contents import Numbers, without_constant
from .distinct_names import fresh
from .state import Open, State


def coordinate_of(
    state: State, tensor: KernelTensor, rest: Any, deltas: Numbers, threads: Numbers
) -> tuple[tuple[Any, ...], Numbers]:
    """(coordinate, deltas with a last mode for its modes) of the elements at offset *rest* + *deltas*, by threads.

    Raises Open where the modes are nested or overlap, or where a coordinate is not seen to stay in its mode.
    """
    try:
        return _split(state, tensor, rest, deltas, threads)
    except Open as e:
        for a in opaque_atoms(rest):
            with contextlib.suppress(Open):
                return _by_remainder(state, tensor, rest, a, deltas, threads)
        raise e


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
    state: State, tensor: KernelTensor, rest: Any, deltas: Numbers, threads: Numbers
) -> tuple[tuple[Any, ...], Numbers]:
    if any(isinstance(n, tuple) for n in _tuple(tensor.layout.shape)):
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
        out[..., i] += c
        if outer is not None:
            _expect_inside(state, tensor, at[i], out[..., i], shapes[i], threads)
    return tuple(at), out


def _expect_inside(state: State, tensor: KernelTensor, at: Any, deltas: Numbers, n: Any, threads: Numbers) -> None:
    who = np.broadcast_to(threads.reshape(-1, *[1] * (deltas.ndim - 1)), deltas.shape)
    if not state.holds(at, deltas, who) or not state.holds(n - 1 - at, -deltas, who):
        raise Open(f"that {at + int(deltas.max())} is below {n}, the extent of a mode of {tensor.name}")


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _size(stride: Any) -> tuple[int, int]:
    """By degree, then by the largest coefficient: strides from small to large."""
    if not isinstance(stride, Expr):
        return 0, stride
    return max(len(m) for m in stride.terms), max(stride.terms.values())
