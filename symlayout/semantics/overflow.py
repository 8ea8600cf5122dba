"""Integers that do not fit the bits in which a kernel holds them, as a run meets them.

A run computes with integers of any size. If ranges do not show that every partial result of an operation fits, its
values are checked before the operation runs, in the order and form of the kernel for all sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..expr import Int, Symbol
from ..expr.compiled import value
from ..expr.partial_results import within, wrapped
from ..facts.intervals import Intervals
from ..kernel import Kernel
from ..kernel.integer_widths import evaluations
from ..ops import substitution


@dataclass(frozen=True)
class Doubt:
    """A partial result that may not fit: its text as written, its value at these sizes, its bits."""

    code: str
    value: Int
    bits: int

    def expect_fit(self, env: Mapping[str, Any]) -> None:
        """Raise LayoutError where it does not fit, with the value and what so many bits hold of it."""
        found = np.atleast_1d(np.asarray(value(self.value, env), dtype=object))
        half = 1 << (self.bits - 1)
        wrong = next((int(x) for x in found.flat if not -half <= x < half), None)
        if wrong is not None:
            raise LayoutError(
                f"expected {self.code} to fit the {self.bits} bits in which it is held, got {wrong}, which wraps "
                f"to {wrapped(wrong, self.bits)}; give it 64 bits (Kernel.wide, checkers.with_widths)"
            )


def doubts(kernel: Kernel) -> dict[int, tuple[Doubt, ...]]:
    """The partial results that may not fit, by the identity of the operation of a bound kernel that computes them."""
    source, body = kernel.unbound or (kernel, kernel.body)
    if body is not kernel.body:  # it was edited since
        source = kernel
    left = _open(source)
    if not left:
        return {}
    sizes: dict[Any, Int] = {s: n for s in source.dims for name, n in kernel.sizes if name == s.name}
    put, ops = substitution(sizes), tuple(kernel.walk())
    out: dict[int, tuple[Doubt, ...]] = {}
    for at, names, held in left:
        ranges = Intervals((), {s: put(x) for s, x in names.items()})
        found = ((x, put(x), bits) for x, bits in held)
        mine = tuple(Doubt(str(x), bound, bits) for x, bound, bits in found if not within(ranges.of(bound), bits))
        if mine:
            out[id(ops[at])] = mine
    return out


@lru_cache(maxsize=8)  # a kernel runs at several sizes and under several schedules
def _open(source: Kernel) -> tuple[tuple[int, Mapping[Symbol, Int], tuple[tuple[Int, int], ...]], ...]:
    """(the place of an operation, names in its scope, results with their bits) that may not fit at some size."""
    known: dict[tuple[tuple[Symbol, int], ...], Intervals] = {}
    out = []
    for at, e in enumerate(evaluations(source)):
        names = e.scope.written
        scope = tuple((s, id(x)) for s, x in names.items())
        if scope not in known:
            known[scope] = Intervals((), dict(names))
        held = tuple((x, bits) for x, bits in e.held if not within(known[scope].of(x), bits))
        if held:
            out.append((at, names, held))
    return tuple(out)
