"""A refutation as a script that anyone can run: the claim at the sizes where it fails, and what happens there."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from ..address_map import AddressMap
from ..basis import ArithmeticTupleIterator
from ..dtype import DType
from ..errors import ClaimError
from ..expr import INT32_MAX, Expr, Fact, Symbol, interpret
from ..facts import symbols_in
from ..int_tuple import congruent
from ..layout import ComposedLayout, Layout
from ..obligations import Obligations
from ..rules import Rule
from ..swizzle import Swizzle
from ..tensor import Tensor
from .report import Verdict

PLACES = {
    "AddressMap": "symlayout.address_map",
    "ArithmeticTupleIterator": "symlayout.basis",
    "Fact": "symlayout",
    "Layout": "symlayout",
    "Tensor": "symlayout",
    "dim": "symlayout",
    "maximum": "symlayout",
    "minimum": "symlayout",
    "rule_named": "symlayout.rules",
    "select": "symlayout",
}


def reproduce(verdict: Verdict) -> str:
    """A script that rebuilds a refuted claim at the sizes of its witness, prints the values there, and proves again.

    >>> from checkers import Injective, prove
    >>> from symlayout import dims
    >>> M, N, ld = dims("M N ld")
    >>> [verdict] = prove(Injective(Layout((M, N), (1, ld)))).verdicts
    >>> print(reproduce(verdict), end="")
    # injective: (M,N):(1,ld)
    # fails for M = 2, N = 2, ld = 1: coordinates (1,0) and (0,1) both map to 1
    from checkers import Injective, prove
    from symlayout import Layout
    <BLANKLINE>
    layout = Layout.parse("(2,2):(1,1)")
    print("layout(1, 0) =", layout(1, 0))
    print("layout(0, 1) =", layout(0, 1))
    print(prove(Injective(layout=layout)))

    Raises ClaimError for a verdict without a witness.
    """
    claim, witness = verdict.claim, verdict.witness
    if witness is None or not hasattr(claim, "bind"):
        raise ClaimError(f"expected a refuted claim with its witness, got {verdict}")
    env = {s: witness.sizes[s.name] for s in symbols_in(claim.parameters()) if s.name in witness.sizes}
    body = list(_body(claim.bind(env) if env else claim, witness.coords))
    story = f"{claim}\n{witness}".splitlines()
    return "\n".join([*(f"# {line}" for line in story), *_imports(claim, body), "", *body, ""])


def _body(claim: Any, coords: tuple[Any, ...]) -> Iterator[str]:
    """The subjects of a claim without symbols, their values at the coordinates, and the claim."""
    arguments = []
    for s in sorted(_sizes(claim), key=lambda s: s.name):  # on which the claim does not depend
        yield f"{s} = {_declared(s)}"
    for f in fields(claim):
        value = getattr(claim, f.name)
        if isinstance(value, Layout | ComposedLayout | AddressMap):
            yield f"{f.name} = {_source(value)}"
            for c in coords:
                if congruent(c, value.shape):
                    call = f"{f.name}{c if isinstance(c, tuple) else f'({c})'}"
                    yield f'print("{call} =", {call})'
            arguments.append(f"{f.name}={f.name}")
        elif is_dataclass(value) and not isinstance(value, Rule | Fact):
            yield f"{f.name} = {_source(value)}"
            arguments.append(f"{f.name}={f.name}")
        elif f.name not in ("given", "expect") and value != f.default:
            arguments.append(f"{f.name}={_source(value)}")
    yield f"print(prove({type(claim).__name__}({', '.join(arguments)})))"


def _imports(claim: Any, body: list[str]) -> Iterator[str]:
    places = PLACES | {kind.__name__: _public(kind) for kind in _kinds(claim)}
    used = {name: place for name, place in places.items() if any(re.search(rf"\b{name}\b", line) for line in body)}
    name, place = type(claim).__name__, type(claim).__module__
    package = place.partition(".claims.")[0]
    used |= {name: package if hasattr(sys.modules[package], name) else place, "prove": "checkers"}
    for place in sorted(set(used.values())):
        yield f"from {place} import {', '.join(sorted(name for name in used if used[name] == place))}"


def _public(kind: type) -> str:
    """The module from which a class is imported: the package of its module, if that exports it, else the module."""
    package = kind.__module__.rpartition(".")[0]
    return package if getattr(sys.modules.get(package), kind.__name__, None) is kind else kind.__module__


def _source(x: Any) -> str:
    """Python text that makes a value again."""
    if isinstance(x, Layout | ComposedLayout | Swizzle):
        sizes = sorted(symbols_in(x), key=lambda s: s.name)
        among = f", [{', '.join(map(str, sizes))}]" if sizes else ""
        return f'Layout.parse("{x}"{among})'
    if isinstance(x, AddressMap):
        names = ", ".join(map(str, x.coords))
        when = f", when=lambda {names}: {_source(x.valid)}" if x.valid else ""
        return f"AddressMap.over(lambda {names}: {_source(x.offset)}, {_source(x.extents)}{when})"
    if isinstance(x, Fact):
        modulus = f", {x.modulus}" if x.relation == "%" else ""
        return f'Fact({_source(x.expr)}, "{x.relation}"{modulus})'
    if isinstance(x, Expr):
        return str(interpret(x, _Python()))
    if isinstance(x, tuple):
        return f"({', '.join(map(_source, x))}{',' if len(x) == 1 else ''})"
    if isinstance(x, Enum):
        return f"{type(x).__name__}.{x.name}"
    if isinstance(x, Rule):
        return f'rule_named("{x.id}")'
    if isinstance(x, DType):
        return f'DType.of("{x}")'
    if isinstance(x, Tensor):
        return f"Tensor({_source(x.iterator)}, {_source(x.layout)})"
    if isinstance(x, ArithmeticTupleIterator):
        return f"ArithmeticTupleIterator({_source(x.value)})"
    if is_dataclass(x):
        return f"{type(x).__name__}({', '.join(f'{name}={_source(value)}' for name, value in _given(x))})"
    return repr(x)


def _given(x: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a record that are not at their defaults; obligations have verdicts of their own."""
    for f in fields(x):
        value = getattr(x, f.name)
        if f.init and value != f.default and not isinstance(value, Obligations):
            yield f.name, value


def _records(x: Any) -> Iterator[Any]:
    """The records and enumerations in a value, itself first."""
    if isinstance(x, Enum):
        yield x
    elif is_dataclass(x) and not isinstance(x, Rule | Fact | type):
        yield x
        for _, value in _given(x):
            yield from _records(value)


def _all_records(claim: Any) -> list[Any]:
    return [x for name, value in _given(claim) if name not in ("given", "expect") for x in _records(value)]


def _kinds(claim: Any) -> set[type]:
    return {type(x) for x in _all_records(claim)}


def _sizes(claim: Any) -> set[Symbol]:
    """The sizes that are left in the records of a claim."""
    records = [x for x in _all_records(claim) if not isinstance(x, Enum)]
    return {s for x in records for _, value in _given(x) for s in symbols_in(value) | symbols_in(x)}


def _declared(s: Symbol) -> str:
    told = {"at_least": (s.lower, 1), "at_most": (s.upper, INT32_MAX), "multiple_of": (s.multiple, 1)}
    more = "".join(f", {name}={_source(value)}" for name, (value, default) in told.items() if value != default)
    return f'dim("{s}"{more})'


class _Python:
    """The operations as Python text."""

    def const(self, value: int) -> str:
        return str(value)

    def symbol(self, symbol: Symbol) -> str:
        return symbol.name

    def add(self, terms: list[Any]) -> str:
        return " + ".join(terms).replace("+ -", "- ")

    def mul(self, factors: list[Any]) -> str:
        if len(factors) == 1:
            return str(factors[0])
        return "*".join(map(_factor, factors)).replace("-1*", "-", factors[0] == "-1")

    def floordiv(self, a: Any, b: Any) -> str:
        return f"{_factor(a)} // {_factor(b)}"

    def xor(self, *args: Any) -> str:
        return f"({' ^ '.join(map(_factor, args))})"

    def minimum(self, *args: Any) -> str:
        return f"minimum({', '.join(args)})"

    def maximum(self, *args: Any) -> str:
        return f"maximum({', '.join(args)})"

    def bit_and(self, *args: Any) -> str:
        return f"({' & '.join(map(_factor, args))})"

    def power_of_two(self, count: Any) -> str:
        return f"(1 << {_factor(count)})"

    def select(self, test: Any, a: Any, b: Any) -> str:
        return f"select({_factor(test)} >= 0, {a}, {b})"


def _factor(text: str) -> str:
    return text if re.fullmatch(r"-?\w+|\w*\([^()]*\)", text) else f"({text})"
