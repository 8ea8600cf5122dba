"""The value of one field of a claim, from text: layouts, numbers, facts, functions, and maps over a box.

>>> READERS[Reads.FUNCTION]("(i, j) -> 8*i + j", ())(2, 3)
19
>>> print(Box("(r, t) < (128, 8)", "128*t + r < 1000", ()).map("128*t + r"))
(r,t) -> r + 128*t for r < 128, t < 8 when r + 128*t <= 999
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.errors import ClaimError, NotationError, SymlayoutError
from symlayout.expr import Expr, Fact, Int, Symbol, dim, index, names, written_divisors
from symlayout.int_tuple import map_leaves, product
from symlayout.int_tuple import text as text_of
from symlayout.layout import Layout
from symlayout.text.grammar import as_claims
from symlayout.text.notation import Declared, parse, parse_box, parse_expression, parse_fact, parse_int_tuple

from .claim_fields import Reads


def _text(value: Any) -> str:
    """Text of a text or a whole number."""
    if isinstance(value, str) or type(value) is int:
        return str(value)
    raise ClaimError(f"expected text or a whole number, got {value!r}")


def _layout(source: str, symbols: Iterable[Symbol]) -> Any:
    """A layout. A formula alone is refused: as a shape it would be another claim than the one meant."""
    found = parse(source, symbols)
    shape = found.shape if isinstance(found, Layout) else None
    formula = shape[0] if isinstance(shape, tuple) and len(shape) == 1 else shape
    if isinstance(formula, Expr) and not _may_be_a_shape(source, formula, symbols):
        free = ", ".join(sorted(s.name for s in formula.symbols))
        over = f"'over ({free}) < (...)' makes it a formula of these coordinates"
        raise ClaimError(f"expected a layout, got the expression {formula}; {over}, and '{formula}:1' is a layout")
    return found


def _may_be_a_shape(source: str, shape: Expr, symbols: Iterable[Symbol]) -> bool:
    """Whether an expression is a shape beyond doubt: it has a stride, is one name, or is of declared sizes alone."""
    known = set(symbols)
    return ":" in source or isinstance(shape, Symbol) or all(s in known for s in shape.symbols)


def _number(value: Any, symbols: Iterable[Symbol]) -> int:
    found = parse_expression(_text(value), symbols)
    if type(found) is not int:
        raise ClaimError(f"expected a number, got {found}")
    return found


def _truth(value: Any, symbols: Iterable[Symbol]) -> bool:
    found = {"true": True, "false": False}.get(str(value).lower())
    if found is None:
        raise ClaimError(f"expected true or false, got {value!r}")
    return found


def _word(value: Any, symbols: Iterable[Symbol]) -> str:
    return _text(value)


def _value(value: Any, symbols: Iterable[Symbol]) -> Any:
    """An integer, an expression, or a tuple of them, which may be a list."""
    if isinstance(value, list | tuple):
        return tuple(_value(v, symbols) for v in value)
    return parse_int_tuple(_text(value), symbols)


def _fact(value: Any, symbols: Iterable[Symbol]) -> Fact:
    found, *more = parse_fact(_text(value), symbols)
    if more:
        raise ClaimError(f"expected one fact, got {1 + len(more)}: {value}")
    return found


def _relates(source: str) -> bool:
    return any(r in source.replace("<<", "").replace(">>", "") for r in "<>=")


def _facts_or_values(body: str, symbols: Iterable[Symbol]) -> Any:
    """Facts where there is a relation outside of every value, else what the text is worth."""
    if not _relates(body):
        return parse_int_tuple(body, symbols)
    try:
        return parse_fact(body, symbols)
    except NotationError:
        with contextlib.suppress(NotationError):
            return parse_int_tuple(body, symbols)
        raise


def _function(value: Any, symbols: Iterable[Symbol]) -> Callable[..., Any]:
    """``(r, t) -> 128*t + r < M`` as a function of the coordinates, with their names."""
    source = _text(value)
    head, arrow, body = source.partition("->")
    if not arrow:
        raise NotationError(f"expected a function such as (i, j) -> 8*i + j, got {source!r}")
    found, extents = parse_box(head, symbols)
    if extents is not None:
        raise NotationError(f"expected names of coordinates before '->', got {head.strip()!r}")
    coords = tuple(dim(n, at_least=None, at_most=None) for n in found)
    known = _and(symbols, coords)
    with as_claims(False):  # coordinates are of any sign here: a function is a hint, and judged by the claim
        out: Any = _facts_or_values(body, known)
    related = isinstance(out, tuple) and Fact in map(type, out)

    def function(*at: Any) -> Any:
        env = dict(zip(coords, at, strict=True))
        if related:
            return tuple(f.subs(env) for f in out)
        return map_leaves(lambda e: e if type(e) is int else e.subs(env), out)

    try:
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in found]
    except ValueError:
        raise NotationError(f"expected names that Python does not use, got {names(found)}") from None
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


READERS: Mapping[Reads, Callable[[Any, Iterable[Symbol]], Any]] = {
    Reads.LAYOUT: lambda value, symbols: _layout(_text(value), symbols),
    Reads.TENSOR: lambda value, symbols: parse(_text(value), symbols),
    Reads.INDEXED: _value,
    Reads.NUMBER: _number,
    Reads.TRUTH: _truth,
    Reads.WORD: _word,
    Reads.VALUE: _value,
    Reads.FACT: _fact,
    Reads.FUNCTION: _function,
}


def _and(symbols: Iterable[Symbol], coords: Iterable[Symbol]) -> Iterable[Symbol]:
    """The sizes and the coordinates; a coordinate hides a size of its name."""
    own = {c.name for c in coords}
    both = (*(s for s in symbols if s.name not in own), *coords)
    return Declared(both) if isinstance(symbols, Declared) else both


class Box:
    """The coordinates of ``over``, their extents where it has any, and the predicate of ``when``."""

    def __init__(self, over: Any, when: Any, symbols: Iterable[Symbol]) -> None:
        self.when, self.symbols = when, symbols
        self.extents: tuple[Int, ...] | None
        with written_divisors() as self.divisors:
            self._read(over, symbols)

    def _read(self, over: Any, symbols: Iterable[Symbol]) -> None:
        try:
            if isinstance(over, Mapping):
                self.extents = tuple(parse_expression(_text(n), symbols) for n in over.values())
                pairs = ", ".join(f"{name} < {n}" for name, n in zip(over, self.extents, strict=True))
                self.names, _ = parse_box(pairs, symbols)
            else:
                self.names, self.extents = parse_box(_text(over), symbols)
            empty = [n for n in self.extents or () if type(n) is int and n < 1]
            if empty:
                raise ClaimError(f"expected extents of at least 1, got {empty[0]}")
        except SymlayoutError as e:
            raise e.about("over") from None

    def map(self, source: Any) -> AddressMap:
        """An index expression over the box, or a layout as one."""
        with written_divisors() as divisors:
            made = self._map(source)
        guards = [*[0] * len(self.divisors), *divisors.guards(made.valid)]
        every = (*self.divisors, *divisors)
        return AddressMap(made.coords, made.extents, made.offset, made.valid, made.obligations, every, guards)

    def _map(self, source: Any) -> AddressMap:
        text = _text(source)
        if self.extents is None or _is_layout(text):
            layout = parse(text, self.symbols)
            shape = getattr(layout, "shape", ())
            extents = tuple(map(product, shape if isinstance(shape, tuple) else (shape,)))
            if len(extents) != len(self.names):
                raise ClaimError(f"expected a coordinate for each of the {len(extents)} modes, got {names(self.names)}")
            if self.extents not in (None, extents):
                told, got = (text_of(e if len(e) > 1 else e[0]) for e in (self.extents or (), extents))
                raise ClaimError(f"expected a layout of the extents of over, {told}, got one of {got}")
            coords = self._coords(extents)
            valid = self._valid(coords)
            offset: Any = layout(coords if isinstance(shape, tuple) else coords[0])
        else:
            extents = self.extents
            coords = self._coords(extents)
            valid = self._valid(coords)
            offset = parse_int_tuple(text, _and(self.symbols, coords))
            if isinstance(offset, tuple) and len(offset) == 1:
                (offset,) = offset  # parentheses around a formula mean nothing
        return AddressMap(coords, extents, offset, valid)

    def _coords(self, extents: tuple[Int, ...]) -> tuple[Symbol, ...]:
        return tuple(index(name, n) for name, n in zip(self.names, extents, strict=True))

    def _valid(self, coords: tuple[Symbol, ...]) -> tuple[Fact, ...]:
        try:
            return () if self.when is None else parse_fact(_text(self.when), _and(self.symbols, coords))
        except SymlayoutError as e:
            raise e.about("when") from None


def _is_layout(source: str) -> bool:
    """Whether a text among formulas is a layout: it has a stride or a swizzle; the : of a choice comes behind a ?."""
    return re.match(r"\s*(?:Sw|S|Swizzle)\s*<", source) is not None or (":" in source and "?" not in source)
