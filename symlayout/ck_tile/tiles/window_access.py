"""The accesses of a window as one descriptor: the view's transforms, the origin, and the distribution on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr import Expr, Int, Symbol, extent_of, terms_of
from ...facts import symbols_in
from ...int_tuple import is_zero
from ...transforms import Embed, Indices, Offset, PassThrough
from ..adaptor import Graph, TensorAdaptor
from ..adaptors import glued
from ..descriptor import TensorDescriptor, transformed
from .distribution import fresh


def access_of(
    view: TensorDescriptor, lengths: Indices, origin: Indices, distribution: TensorAdaptor | None
) -> TensorDescriptor:
    """(indices of the origin, P, Y), or (indices, index in the window), to the offset."""
    sizes = set(view.symbols) | symbols_in(lengths)
    parts = [_linear(o, sizes) for o in origin]
    every = [b for found, _ in parts for b in found]
    if len(set(every)) < len(every):  # one index in two dimensions stays a symbol of the origin
        twice = {b for b in every if every.count(b) > 1}
        parts = [_linear(o, sizes | twice) for o in origin]
        every = [b for found, _ in parts for b in found]
    graph = _moved(view.graph, lengths, parts)
    names = [b.name for b in every]
    taken = {*names, *(s.name for s in (*sizes, *symbols_in(origin)))}
    if distribution is None:
        plain = [f"x{i}" for i in range(len(lengths))]
    else:
        graph = glued(graph, distribution.graph, range(len(every), len(every) + len(lengths)))
        plain = [c.name for c in distribution.coords]
    return TensorDescriptor(graph, view.element_space_size, [*names, *(fresh(n, taken) for n in plain)])


def _linear(origin: Int, sizes: set[Symbol]) -> tuple[dict[Symbol, Int], Int]:
    """({index: coefficient}, the rest) of a component of an origin.

    An index is a symbol from 0 to an upper end that is no size of the view, and that occurs in products alone.
    """
    found: dict[Symbol, Any] = {}
    rest: Any = 0
    inside: set[Symbol] = set()
    for atoms, c in terms_of(origin).items() if isinstance(origin, Expr) else [((), origin)]:
        indices = [a for a in atoms if isinstance(a, Symbol) and _is_index(a, sizes)]
        factor: Any = c
        for a in atoms:
            factor = factor if indices and a is indices[0] else factor * a
        if len(indices) == 1:
            found[indices[0]] = found.get(indices[0], 0) + factor
            inside |= symbols_in((factor,))
        else:
            rest = rest + factor
    inside |= symbols_in((rest,))
    for b in [b for b in found if b in inside]:
        rest = rest + found.pop(b) * b
    return found, rest


def _is_index(s: Symbol, sizes: set[Symbol]) -> bool:
    return s not in sizes and type(s.lower) is int and s.lower == 0 and s.upper is not None


def _moved(graph: Graph, lengths: Indices, parts: Sequence[tuple[dict[Symbol, Int], Int]]) -> Graph:
    """A graph seen from an origin: its top is the indices, then the window."""
    each = tuple((i,) for i in range(len(lengths)))
    spans = [_span(n, found) for n, (found, _) in zip(lengths, parts, strict=True)]
    if any(not is_zero(base) for _, base in parts):
        moves = [
            PassThrough(n) if is_zero(base) else Offset(n, base) for n, (_, base) in zip(spans, parts, strict=True)
        ]
        graph = transformed(graph, moves, each, each)
    if not any(found for found, _ in parts):
        return graph
    embeds: list[Any] = []
    upper: list[tuple[int, ...]] = []
    first, window = 0, sum(len(found) for found, _ in parts)
    for n, (found, _) in zip(lengths, parts, strict=True):
        extents = tuple(map(extent_of, found))
        embeds.append(Embed((*extents, n), (*found.values(), 1)) if found else PassThrough(n))
        upper.append((*range(first, first + len(found)), window))
        first, window = first + len(found), window + 1
    return transformed(graph, embeds, each, upper)


def _span(n: Int, found: dict[Symbol, Int]) -> Any:
    """The indices of a dimension from the first origin on."""
    out: Any = n
    for b, c in found.items():
        out = out + c * (extent_of(b) - 1)
    return out


__all__ = ["access_of"]
