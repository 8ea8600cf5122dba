"""The subject of a claim in the form that methods need: modes where it is linear, values where it is small."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.basis import as_tuple
from symlayout.codomain import coprofile
from symlayout.coordinates import idx2crd
from symlayout.errors import ClaimError
from symlayout.expr import Expr, Fact, Int, Symbol, digit, evaluate, symbols_of, terms_of
from symlayout.facts import Facts, opaque_atoms
from symlayout.int_tuple import Coord, IntTuple, add, checked, leaves, text, unflatten
from symlayout.layout import ComposedLayout, Layout
from symlayout.swizzle import Swizzle
from symlayout.values import by_entry, rows

from ..claim_fields import Subject


@dataclass(frozen=True)
class Component:
    """One integer of the value: ``base`` plus the inner product of the digits with the strides."""

    modes: tuple[tuple[Any, Any], ...]
    base: Any


@dataclass(frozen=True)
class Linear:
    """A subject that is linear in its digits, component by component, with a swizzle outside or none.

    Every component lists all digits in one order.
    """

    components: tuple[Component, ...]
    swizzle: Swizzle | None
    tuple_valued: bool

    @property
    def single(self) -> Component | None:
        """The one component of an integer-valued subject."""
        return self.components[0] if len(self.components) == 1 else None


def check_subject(x: Any) -> None:
    """Raise ClaimError unless *x* is something that claims are about."""
    if not isinstance(x, Layout | ComposedLayout | AddressMap):
        raise ClaimError(
            f"expected a Layout, ComposedLayout or AddressMap, got {x!r} ({type(x).__name__}); "
            "Layout.parse reads CuTe text, AddressMap.over traces a function"
        )


def profile(x: Any) -> IntTuple:
    """The profile of a value, with any leaves: an integer for offsets, a tuple for coordinates."""
    if isinstance(x, AddressMap):
        return x.offset
    if isinstance(x, ComposedLayout):
        return profile(x.outer)
    return coprofile(x) if isinstance(x, Layout) else 0


def width(x: Subject) -> int:
    """The number of integers in a value: 1 for offsets, and for coordinates of one entry."""
    return len(leaves(profile(x)))


def check_width(x: Subject, expected: int, what: str) -> None:
    """Raise ClaimError unless values have as many entries as *what*."""
    if width(x) != expected:
        raise ClaimError(f"expected {width(x)} entries in {what}, as in the values of {x}, got {expected}")


def check_offsets(x: Subject) -> None:
    """Raise ClaimError unless values are offsets, which alone have an address; a coordinate has none."""
    if isinstance(profile(x), tuple):
        raise ClaimError(
            f"expected offsets as values, got the coordinates of {x}; "
            "composition(layout, coordinates) gives the offsets that a layout has there"
        )


def checked_onto(x: Subject, onto: Any) -> IntTuple:
    """The extent of a range of values, with an entry for each of a value."""
    out = checked(onto, "extent")
    check_width(x, len(leaves(out)), "the extent")
    if any(type(n) is int and n < 0 for n in leaves(out)):
        raise ClaimError(f"expected an extent of at least 0, got {text(out)}")
    return out


def linear(x: Subject, facts: Facts) -> Linear | None:
    """The linear form of a subject under *facts*, or None."""
    if isinstance(x, ComposedLayout):
        if not isinstance(x.outer, Swizzle) or not isinstance(x.inner, Layout) or x.inner.has_bases:
            return None
        swizzle = x.outer if x.outer.bits else None
        return Linear((Component(_normal(x.inner.modes(), facts), facts.normal(x.offset)),), swizzle, False)
    if isinstance(x, Layout):
        if not x.has_bases:
            return Linear((Component(_normal(x.modes(), facts), 0),), None, False)
        return _linear_coordinates(x, facts)
    return _linear_map(x, facts)


def _normal(modes: list[tuple[Any, Any]], facts: Facts) -> tuple[tuple[Any, Any], ...]:
    if not facts.let and not facts.rows:
        return tuple(modes)
    return tuple((facts.normal(n), facts.normal(d)) for n, d in modes)


def _linear_coordinates(x: Layout, facts: Facts) -> Linear | None:
    """A layout of coordinates: every component has all digits, with stride 0 where they do not move it."""
    extents = leaves(x.shape)
    modes = (list(zip(extents, strides, strict=True)) for strides in leaves(by_entry(x)))
    return Linear(tuple(Component(_normal(m, facts), 0) for m in modes), None, True)


def _linear_map(x: AddressMap, facts: Facts) -> Linear | None:
    digits = set(x.coords)
    if any(digits & set(symbols_of(n)) for n in x.extents):
        return None  # a triangular domain is not a box
    parts = []
    for e in leaves(x.offset):
        e = map_facts(x, facts).normal(e)
        strides: dict[Symbol, Any] = {}
        base: Any = 0
        for m, c in terms_of(e).items():
            mine = [a for a in m if isinstance(a, Symbol) and a in digits]
            if any(not isinstance(a, Symbol) and digits & set(a.symbols) for a in m) or len(mine) > 1:
                return None
            term: Any = c
            for a in m:
                if a not in digits:
                    term = term * a
            if mine:
                strides[mine[0]] = strides.get(mine[0], 0) + term
            else:
                base = base + term
        modes = tuple((facts.normal(n), strides.get(c, 0)) for c, n in zip(x.coords, x.extents, strict=True))
        parts.append(Component(modes, base))
    return Linear(tuple(parts), None, isinstance(x.offset, tuple))


def map_facts(x: AddressMap, facts: Facts) -> Facts:
    """The facts with the ranges of the coordinates and the predicate."""
    return Facts.about(x.coords, tuple(leaves(x.offset)), given=(*facts.given, *x.valid))


def expression(x: Subject, prefix: str) -> tuple[tuple[Symbol, ...], tuple[Int, ...], IntTuple, tuple[Fact, ...]]:
    """(digits, extents, value, predicate) of a subject as expressions, digits named after *prefix*."""
    if isinstance(x, AddressMap):
        digits = tuple(digit(f"{prefix}{c.name}", n) for c, n in zip(x.coords, x.extents, strict=True))
        return digits, x.extents, *x.renamed(digits)
    extents = tuple(leaves(x.shape))
    digits = tuple(digit(f"{prefix}{i}", n) for i, n in enumerate(extents))
    return digits, extents, as_tuple(_value(x, digits)), ()


def at_model(x: Subject, prefix: str, model: Mapping[Symbol, int], bound: Any) -> Any:
    """The coordinate of *bound*, the subject at the sizes of a solver's model for *x*, or None where it has none."""
    digits = expression(x, prefix)[0]
    if any(d not in model for d in digits):
        return None
    at = tuple(model[d] for d in digits)
    if any(not 0 <= c < evaluate(n, {}) for c, n in zip(at, leaves(bound.shape), strict=True)):
        return None
    if isinstance(bound, AddressMap):
        return at if bound.valid_at(at) else None
    return unflatten(at, bound.shape)


def _value(x: Any, digits: tuple[Symbol, ...]) -> Any:
    """The value of a layout at its digits."""
    if isinstance(x, ComposedLayout):
        return x.outer(as_tuple(add([x.offset, _value(x.inner, digits)])))
    return add([c * d for c, (_, d) in zip(digits, x.modes(), strict=True)])


def at_text(coord: Coord) -> str:
    """A coordinate in a message: ``(1,2)``, and ``7`` where there is but one entry."""
    return text(coord[0]) if isinstance(coord, tuple) and len(coord) == 1 else text(coord)


# -- numbers --------------------------------------------------------------------------------------------


def points(x: Subject) -> int:
    """The number of coordinates of a subject without symbols."""
    if isinstance(x, AddressMap):
        out = 1
        for n in x.extents:
            out *= max(0, evaluate(n, {}))
        return out
    return int(x.size())


@functools.lru_cache(maxsize=2)  # one claim asks for it again and again: a collision, a value outside, one that lacks
def table(x: Subject) -> tuple[Any, np.ndarray[Any, Any]]:
    """(row -> coordinate, values as rows) of a subject without symbols, in linear order. Nobody writes into it."""
    if isinstance(x, AddressMap):
        coords, values = x.table()
        values.setflags(write=False)
        return (lambda i: tuple(int(c) for c in coords[i])), values
    shape, values = x.shape, rows(x)
    values.setflags(write=False)
    return (lambda i: idx2crd(i, shape)), values


def numbers_in(parameters: tuple[Any, ...]) -> tuple[int, ...]:
    """Tile-like numbers of a claim's parameters: where behaviour may change."""
    polys = [e for x in parameters for e in expressions(x)]
    polys += [b for a in opaque_atoms(*polys) for b in a.args]
    found = {abs(c) for p in polys for c in terms_of(p).values()}
    return tuple(sorted(n for n in found if 2 <= n <= 4096))[:6]


def expressions(x: Any) -> Iterator[Any]:
    """Every integer and expression inside a parameter of a claim."""
    if isinstance(x, tuple):
        for a in x:
            yield from expressions(a)
    elif isinstance(x, AddressMap):
        yield from [*x.extents, *leaves(x.offset), *(f.expr for f in x.valid)]
    elif isinstance(x, ComposedLayout):
        yield from [*expressions(x.inner), *expressions(x.offset), *expressions(x.outer)]
    elif isinstance(x, Layout):
        for n, d in x.modes():
            yield from [n, *leaves(as_tuple(d))]
    elif isinstance(x, Fact):
        yield x.expr
    elif isinstance(x, int | Expr):
        yield x
