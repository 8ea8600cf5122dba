"""The rows that one store writes lie apart: which of two would last is not defined."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from symlayout.answers.report import Witness
from symlayout.coordinates import idx2crd
from symlayout.expr import Fact, Int, Min, Symbol, minimum
from symlayout.facts import Facts
from symlayout.int_tuple import ceil_div, text
from symlayout.layout import Layout
from symlayout.rules.tma_tile import TileCopy
from symlayout.semantics.footprint import Footprint, footprint, row_count
from symlayout.semantics.reduction import INTEGERS, ORDERLESS
from symlayout.tma import TensorMap

from ..claim import Claim, Proof, Query, TooLarge
from ..exhaustive import POINTS
from .injective import Injective

WIDER = "what is apart in a box is apart in a smaller one"


@dataclass(frozen=True)
class RowsApart(Claim):
    """No two rows of the box of a store share a byte of global memory, as far as they lie inside the tensor.

    A tensor map may have strides of 0, or smaller than its rows; loads through it are fine. A store leaves open which
    of two rows lasts, and a reduction in which order they are added: that shows in ``inc``, ``dec`` and in floats.

    >>> from symlayout import dim
    >>> m = TensorMap("u8", 0, (64, dim("n")), (32,), (64, 8))
    >>> print(RowsApart(TileCopy(m, (0, 0), 0, "store")))
    rows of a store lie apart: (64,min(8, n)):(1,32) in bytes
    """

    copy: Any
    name: str = ""

    kind: ClassVar[str] = "rows apart"

    def subjects(self) -> tuple[Any, ...]:
        return ()

    def parameters(self) -> tuple[Any, ...]:
        return (*super().parameters(), self.rows)

    @property
    def rows(self) -> Layout:
        """Byte of a row and step along each dimension to the byte of global memory, from the box's first on."""
        return rows_of(self.copy.tensor_map)

    def points(self) -> int:
        return int(row_count(self.copy)) if self.copy.static else 1

    def indices(self) -> frozenset[Symbol]:
        return cast("frozenset[Symbol]", self.copy.indices)

    def __str__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        return f"{name}rows of a {self.copy.direction} lie apart: {self.rows} in bytes"

    def certify(self, facts: Facts) -> Proof | None:
        if self.copy.static:  # an im2col walk comes to fewer pixels than there are
            try:
                met = self.counterexample()
                return Proof(f"enumeration of {self.points()} rows") if met is None else None
            except TooLarge:
                pass
        found = (Injective(box).certify(facts) for box in _no_smaller(self.rows))
        return next((replace(p, lemmas=(*p.lemmas, WIDER)) for p in found if p is not None), None)

    def violations(self, facts: Facts) -> list[Query] | None:
        return Injective(self.rows).violations(facts)

    def counterexample(self) -> Witness | None:
        if row_count(self.copy) > POINTS:
            raise TooLarge
        at = footprint(self.copy)
        columns = at.columns[at.within(at.extent_bytes)]
        inside = np.flatnonzero(at.row_inside)
        if len(inside) < 2 or not columns.size:
            return None
        order = inside[np.argsort(at.rows[inside], kind="stable")]
        runs = _length(columns)
        close = np.flatnonzero(np.diff(at.rows[order]) < runs)
        if not close.size:
            return None
        first, second = sorted(int(order[close[0] + i]) for i in (0, 1))
        return self._meeting(at, first, second, runs)

    def _meeting(self, at: Footprint, first: int, second: int, length: int) -> Witness:
        m = self.copy.tensor_map
        apart = abs(int(at.rows[second]) - int(at.rows[first]))
        rows = (first, second) if m.is_im2col else tuple(text(_steps(m, i)) for i in (first, second))
        which = "pixels" if m.is_im2col else "rows at steps"
        name = f"{self.name}: " if self.name else ""
        story = f"{name}{which} {rows[0]} and {rows[1]} of the box begin {apart} bytes apart, and each has {length}"
        return Witness({}, (), story)

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return Injective(self.rows).conditions(facts)

    def lemma(self, facts: Facts) -> str:
        return "no two rows of the box share a byte: no chain of strides and no residues were found (T2, T5)"


def order_shows(c: TileCopy) -> bool:
    """Whether it shows in which order a copy writes bytes that it writes twice."""
    if c.direction == "load":
        return False
    return not (c.op in ORDERLESS and c.tensor_map.dtype in INTEGERS)


def rows_of(m: TensorMap) -> Layout:
    """The bytes that a box at the tensor's start reaches, at most: more than what any other box of the map does."""
    outer = list(zip(m.global_dim[1:], m.global_stride_bytes, m.element_stride[1:], strict=True))
    if m.is_im2col:  # a walk may come to every pixel
        modes: list[tuple[Int, Int]] = [(_least(m.row_bytes, m.global_dim[0] * m.unit_bytes), 1)]
        if m.interleave:
            modes = [(m.unit_bytes, 1), (m.global_dim[0], m.unit_bytes)]
        modes += [(n, d) for n, d, _ in outer]
    else:
        modes = [(_least(m.row_bytes, m.global_dim[0] * m.unit_bytes), 1)]
        if m.interleave:
            every = m.element_stride[0]
            modes = [(m.unit_bytes, 1), (_least(m.steps[0], ceil_div(m.global_dim[0], every)), every * m.unit_bytes)]
        modes += [
            (_least(steps, ceil_div(n, every)), d * every)
            for steps, (n, d, every) in zip(m.steps[1:], outer, strict=True)
        ]
    shape, stride = zip(*modes, strict=True)
    return Layout(tuple(shape), tuple(stride))


def _no_smaller(rows: Layout) -> Iterator[Layout]:
    """The box itself, then each with one argument in place of a minimum in an extent."""
    yield rows
    shapes = list(itertools.product(*(n.args if isinstance(n, Min) else (n,) for n in rows.shape)))
    if len(shapes) > 1:
        yield from (Layout(shape, rows.stride) for shape in shapes)


def _least(a: Any, b: Any) -> Any:
    return min(a, b) if type(a) is int and type(b) is int else minimum(a, b)


def _length(columns: Any) -> int:
    """Bytes from the first to the last that a row has."""
    return int(columns[-1] - columns[0]) + 1


def _steps(m: TensorMap, row: int) -> Any:
    """The steps of a row along dimensions 1 and up; a number where there is one."""
    return idx2crd(row, m.steps[1:] if m.rank > 2 else m.steps[1])
