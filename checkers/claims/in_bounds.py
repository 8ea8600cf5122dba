"""Every offset lies inside an extent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.basis import as_tuple
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Expr, Fact, Symbol, divides, integer, terms_of, written_divisors
from symlayout.facts import NOTHING, Facts, opaque_atoms, ranges, symbols_in
from symlayout.int_tuple import checked, leaves, text, unflatten

from ..algebra import digits
from ..algebra import probes as far
from ..algebra.certificates import Certificate, bounds, nonneg, together
from ..algebra.digits import by_digits
from ..algebra.factors import nonneg_by_factors
from ..algebra.subject_form import (
    Component,
    at_model,
    at_text,
    check_subject,
    expression,
    linear,
    map_facts,
    points,
    table,
)
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Function, Size, Subject, Value
from ..exhaustive import POINTS, first_outside
from ..repairs.conditions import simplest


@dataclass(frozen=True)
class InBounds(Claim):
    """0 <= value < *extent* at every coordinate; by component where values are coordinates.

    *when* is a predicate: a function of one coordinate for each top-level mode that returns facts.

    >>> from symlayout import Layout, dims
    >>> M, = dims("M")
    >>> print(InBounds(Layout((128, 8), (1, 128)), M, when=lambda r, t: 128 * t + r < M))
    in bounds: (r,t) -> r + 128*t for r < 128, t < 8 when M >= r + 128*t + 1 in [0, M)
    """

    layout: Subject
    extent: Value
    when: Function = None
    low: Size = 0

    kind: ClassVar[str] = "in bounds"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.layout)
        if self.when is not None and not callable(self.when):
            raise ClaimError(f"expected a function of coordinates that gives facts as when, got {self.when!r}")
        if self.when is not None:
            object.__setattr__(self, "layout", _predicated(self.layout, self.when))
            object.__setattr__(self, "when", None)
        object.__setattr__(self, "extent", checked(self.extent, "extent"))
        object.__setattr__(self, "low", integer(self.low))

    def __str__(self) -> str:
        return f"{self.kind}: {self.layout} in [{self.low}, {text(self.extent)})"

    def masked(self) -> bool:
        return bool(getattr(self.layout, "valid", ()))

    def limits(self, width: int) -> list[tuple[Any, Any]]:
        """(low, high) of each component of a value, both ends included."""
        extents = leaves(self.extent)
        if len(extents) != width:
            raise ClaimError(f"expected an extent for each of {width} components, got {text(self.extent)}")
        return [(self.low, n - 1) for n in extents]

    def certify(self, facts: Facts) -> Proof | None:
        return certify_range(self.layout, self.limits, facts)

    def counterexample(self) -> Witness | None:
        return outside(self.layout, self.limits)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        return at_digits(self.layout, model, bound)

    def violations(self, facts: Facts) -> list[Query] | None:
        digits, _, value, valid = expression(self.layout, "")
        parts = leaves(value)
        out: list[Query] = []
        for v, (low, high) in zip(parts, self.limits(len(parts)), strict=True):
            out += [[*ranges(digits), *valid, fact] for fact in _outside(v, low, high)]
        return out

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return corners(self.layout, self.limits)

    def lemma(self, facts: Facts) -> str:
        return f"every value lies in [{self.low}, {text(self.extent)})"


def _outside(v: Any, low: Any, high: Any) -> list[Fact]:
    return [Fact(low - v - 1, ">="), Fact(v - high - 1, ">=")]


def _predicated(layout: Any, when: Callable[..., Any]) -> AddressMap:
    """A layout as a map over its top-level modes, under a predicate."""
    import inspect

    if isinstance(layout, AddressMap):
        with written_divisors() as found:
            valid = when(*layout.coords)
        more = tuple(valid) if isinstance(valid, tuple | list) else (valid,)
        before, valid = len(layout.valid), (*layout.valid, *more)
        guards = [n if n < before else len(valid) for n in layout.guards] + found.guards(more, before)
        divisors = (*layout.divisors, *found)
        return AddressMap(layout.coords, layout.extents, layout.offset, valid, layout.obligations, divisors, guards)
    names = [p.name for p in inspect.signature(when).parameters.values()]
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    if len(names) != len(shape) or any(isinstance(s, tuple) for s in shape):
        raise ClaimError(
            f"expected a predicate of one coordinate for each of the {len(shape)} flat modes of {layout}, "
            f"got one of {len(names)}; flatten the layout, or use AddressMap.over"
        )
    coord = f"({', '.join(names)},)" if isinstance(layout.shape, tuple) else names[0]
    call = eval(f"lambda {', '.join(names)}: _({coord})", {"_": layout})  # names for messages
    m = AddressMap.over(call, shape, when)
    return AddressMap(m.coords, m.extents, m.offset, m.valid, layout.obligations, m.divisors, m.guards)


FEW = 6  # terms of an offset with quotients up to which a search for signs is as quick as one for digits
MANY = 12  # terms of a goal beyond which a search through all rows is long, and that of one size after the other not


def certify_range(layout: Any, limits: Callable[[int], list[tuple[Any, Any]]], facts: Facts) -> Proof | None:
    """Both ends by corners (T8), or by positivity of the whole expression under its predicate (T9)."""
    form = linear(layout, facts)
    if form is not None:
        pairs = [tuple(map(facts.normal, p)) for p in limits(len(form.components))]
        found = [
            _corner(c, low, high, form.swizzle, facts) for c, (low, high) in zip(form.components, pairs, strict=True)
        ]
        if all(f is not None for f in found):
            lemmas = (f"{form.swizzle} keeps aligned blocks of {form.swizzle.block} (T14)",) if form.swizzle else ()
            return Proof("corners, T8", _joined([f for f in found if f is not None]), lemmas)
    if isinstance(layout, AddressMap):
        ends = limits(len(leaves(layout.offset)))

        def splits() -> Proof | None:
            return by_digits(digits.bounded(layout, [low for low, _ in ends], [high for _, high in ends], facts))

        def signs() -> Proof | None:
            return _by_positivity(layout, limits, facts)

        # A coordinate that is divided is one of digits; searches for signs take each quotient for a variable, and of
        # many terms they are long.
        many = sum(len(terms_of(e)) for e in leaves(layout.offset)) > FEW
        divided = many and any(set(layout.coords) & symbols_in(a) for a in opaque_atoms(layout.offset))
        ways = (splits, signs) if divided else (signs, splits)
        return ways[0]() or ways[1]()
    return None


def corners(layout: Any, limits: Callable[[int], list[tuple[Any, Any]]]) -> Iterator[Fact]:
    """The facts that the greatest and the least corner stay inside: exact if the box is not empty (T8)."""
    form = linear(layout, NOTHING)
    if form is None or form.swizzle is not None or getattr(layout, "valid", None):
        return
    for c, (low, high) in zip(form.components, limits(len(form.components)), strict=True):
        least = greatest = c.base
        for n, s in c.modes:
            down = s < 0 if type(s) is int else False
            least, greatest = (least + (n - 1) * s, greatest) if down else (least, greatest + (n - 1) * s)
        yield simplest(Fact(high - greatest, ">="))
        yield simplest(Fact(least - low, ">="))


def _corner(c: Component, low: Any, high: Any, swizzle: Any, facts: Facts) -> Certificate | None:
    if swizzle is None:
        return bounds(c.modes, c.base, low, high, facts)
    extent = high + 1
    if type(extent) is int:
        extent = extent // swizzle.block * swizzle.block
    elif divides(swizzle.block, extent) is None:
        return None
    if low != 0:
        return None
    return bounds(c.modes, c.base, 0, extent - 1, facts)


def _joined(parts: list[Certificate]) -> Certificate:
    return parts[0] if len(parts) == 1 else together(parts, "each part is one end or one component")


def _by_positivity(layout: AddressMap, limits: Callable[[int], list[tuple[Any, Any]]], facts: Facts) -> Proof | None:
    known = map_facts(layout, facts)
    parts = leaves(layout.offset)
    found = []
    for e, (low, high) in zip(parts, limits(len(parts)), strict=True):
        for p in (e - low, high - e):
            goal = known.normal(p)
            ways = (nonneg, nonneg_by_factors) if len(terms_of(goal)) <= MANY else (nonneg_by_factors, nonneg)
            made = ways[0](goal, known) or ways[1](goal, known)
            if made is None:
                return None
            found.append(made)
    return Proof("positivity, T9", _joined(found))


def outside(layout: Any, limits: Callable[[int], list[tuple[Any, Any]]]) -> Witness | None:
    """The first coordinate whose value leaves its limits; by corners where enumeration would be long."""
    n = points(layout)
    if n > POINTS:
        return _outside_corner(layout, limits)
    if not n:
        return None
    at, values = table(layout)
    pairs = limits(values.shape[1])
    low = [int(p[0]) for p in pairs]
    high = [int(p[1]) for p in pairs]
    row = first_outside(values, low, high)
    return None if row is None else _witness(layout, at(row), pairs)


def _outside_corner(layout: Any, limits: Callable[[int], list[tuple[Any, Any]]]) -> Witness | None:
    """Exact for linear subjects without predicate: the extreme values are at corners (T8). Else a few are tried."""
    form = linear(layout, NOTHING)
    if form is None or form.swizzle is not None or getattr(layout, "valid", None):
        tried = (_at(layout, c, limits) for c in itertools.chain(far.extremes(layout), far.probes(layout)))
        found = next((w for w in tried if w is not None), None)
        if found is None:
            raise TooLarge
        return found
    pairs = limits(len(form.components))
    for c, (low, high) in zip(form.components, pairs, strict=True):
        strides = [d for _, d in c.modes]
        for sign in (1, -1):
            digits = [n - 1 if d * sign > 0 else 0 for n, d in c.modes]
            value = c.base + sum(k * d for k, d in zip(digits, strides, strict=True))
            if not low <= value <= high:
                least = tuple(_smallest(digits, strides, value, low, high))
                at = least if isinstance(layout, AddressMap) else unflatten(least, layout.shape)
                return _witness(layout, at, pairs)
    return None


def at_digits(layout: Any, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
    """The failure at the coordinate of a solver's model for *layout*, replayed on *bound*, the claim at its sizes."""
    coord = at_model(layout, "", model, bound.layout)
    return None if coord is None else _at(bound.layout, coord, bound.limits)


def _smallest(digits: list[int], strides: list[int], value: int, low: int, high: int) -> list[int]:
    """The digits lowered one after another, the smaller strides first, as long as the value stays outside."""
    excess = value - high - 1 if value > high else low - 1 - value
    out = list(digits)
    for k in sorted(range(len(out)), key=lambda k: abs(strides[k])):
        drop = min(out[k], excess // abs(strides[k])) if strides[k] else out[k]
        out[k] -= drop
        excess -= drop * abs(strides[k])
    return out


def _at(layout: Any, coord: Any, limits: Callable[[int], list[tuple[Any, Any]]]) -> Witness | None:
    """The failure at one coordinate, if it is a valid one and fails."""
    if isinstance(layout, AddressMap) and not layout.valid_at(coord):
        return None
    value = leaves(as_tuple(layout(coord)))
    pairs = limits(len(value))
    inside = all(low <= v <= high for v, (low, high) in zip(value, pairs, strict=True))
    return None if inside else _witness(layout, coord, pairs)


def _witness(layout: Any, coord: Any, pairs: list[tuple[Any, Any]]) -> Witness:
    value = as_tuple(layout(coord))
    for v, (low, high) in zip(leaves(value), pairs, strict=True):
        if not low <= v <= high:
            limit = f"below {low}" if v < low else f"past the last valid {high}"
            where = f"coordinate {at_text(coord)} maps to" if coord != () else "the value is"
            return Witness({}, (coord,), f"{where} {text(value)}, {limit}")
    raise InternalError(f"the counterexample {coord} of {layout} does not replay: value {value}")


def scalar(x: Any) -> Any:
    """A subject from an expression: a map without coordinates."""
    return AddressMap((), (), x) if isinstance(x, int | Expr) else x
