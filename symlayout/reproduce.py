"""A refutation as a script that anyone can run: the claim at the sizes where it fails, and what happens there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from .address_map import AddressMap
from .errors import ClaimError
from .expr import Expr, Fact, Symbol, interpret
from .facts import symbols_in
from .int_tuple import congruent
from .layout import ComposedLayout, Layout
from .report import Verdict
from .swizzle import Swizzle

PLACES = {
    "AddressMap": "symlayout.address_map",
    "Fact": "symlayout",
    "Layout": "symlayout",
    "maximum": "symlayout",
    "minimum": "symlayout",
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
    return "\n".join([*(f"# {line}" for line in story), *_imports(type(claim), body), "", *body, ""])


def _body(claim: Any, coords: tuple[Any, ...]) -> Iterator[str]:
    """The subjects of a claim without symbols, their values at the coordinates, and the claim."""
    arguments = []
    for f in fields(claim):
        value = getattr(claim, f.name)
        if isinstance(value, Layout | ComposedLayout | AddressMap):
            yield f"{f.name} = {_source(value)}"
            for c in coords:
                if congruent(c, value.shape):
                    call = f"{f.name}{c if isinstance(c, tuple) else f'({c})'}"
                    yield f'print("{call} =", {call})'
            arguments.append(f"{f.name}={f.name}")
        elif f.name not in ("given", "expect") and value != f.default:
            arguments.append(f"{f.name}={_source(value)}")
    yield f"print(prove({type(claim).__name__}({', '.join(arguments)})))"


def _imports(kind: type, body: list[str]) -> Iterator[str]:
    used = {name: place for name, place in PLACES.items() if any(re.search(rf"\b{name}\b", line) for line in body)}
    used |= {kind.__name__: kind.__module__.partition(".claims.")[0], "prove": "checkers"}
    for place in sorted(set(used.values())):
        yield f"from {place} import {', '.join(sorted(name for name in used if used[name] == place))}"


def _source(x: Any) -> str:
    """Python text that makes a value again."""
    if isinstance(x, Layout | ComposedLayout | Swizzle):
        return f'Layout.parse("{x}")'
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
    return repr(x)


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


def _factor(text: str) -> str:
    return text if re.fullmatch(r"-?\w+|\w*\([^()]*\)", text) else f"({text})"
