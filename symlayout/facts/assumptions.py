"""Assumptions as rows: ``poly >= 0`` with a label; equalities and divisibility as substitutions.

>>> from symlayout import dims
>>> M, N = dims("M N")
>>> [str(f) for f in ranges([M])]
['M >= 1', 'M <= 2147483647']
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from ..errors import AssumptionError
from ..expr import (
    Atom,
    Expr,
    Fact,
    Int,
    Quotient,
    Substitution,
    Symbol,
    build,
    coerce_or_none,
    floordiv,
    intern,
    interpret,
    terms_of,
)


@dataclass(frozen=True)
class Row:
    """``poly >= 0``, with the assumption that it comes from."""

    poly: Int
    label: str
    owner: Atom | None = None  # the variable whose range or definition this is

    @cached_property
    def positive(self) -> Atom | None:
        """The variable that this keeps at 1 or more: that it is >= 0 keeps products of it one term long."""
        t = terms_of(self.poly)
        alone = [m[0] for m, c in t.items() if len(m) == 1 and c == 1]
        return alone[0] if len(t) == 2 and len(alone) == 1 and t.get((), 0) < 0 else None

    def __str__(self) -> str:
        return self.label


def _owner(let: Mapping[Symbol, Int], s: Symbol) -> Atom | None:
    """The variable that a range is about after substitution."""
    moved = let.get(s, s)
    if isinstance(moved, Expr) and len(moved.terms) == 1:
        ((m, _),) = moved.terms.items()
        return m[0] if len(m) == 1 else None
    return None


@functools.lru_cache(4096)
def ends_of(s: Symbol) -> tuple[Row, ...]:
    """The range of a symbol as rows."""
    out = []
    if s.lower is not None:
        out.append(Row(tightened(s - s.lower), f"{s} >= {s.lower}", s))
    if s.upper is not None:
        out.append(Row(tightened(s.upper - s), f"{s} <= {s.upper}", s))
    return tuple(out)


def met(let: Mapping[Symbol, Int], s: Symbol) -> bool:
    """Whether a substitution is about a symbol or about its bounds."""
    return s in let or any(isinstance(e, Expr) and not let.keys().isdisjoint(e.symbols) for e in (s.lower, s.upper))


def moved_row(r: Row, s: Symbol, let: Mapping[Symbol, Int]) -> Row:
    """A range after substitution."""
    return Row(tightened(through(let, r.poly)), r.label, _owner(let, s))


@functools.lru_cache(4096)
def at_least_0(x: Atom) -> Row:
    return Row(x, f"{x} >= 0", x)


def ranges(symbols: Iterable[Symbol]) -> list[Fact]:
    """The range and divisibility of each symbol as facts."""
    out: list[Fact] = []
    for s in symbols:
        if s.lower is not None:
            out.append(s >= s.lower)
        if s.upper is not None:
            out.append(s <= s.upper)
        if s.multiple > 1:
            out.append(s.multiple_of(s.multiple))
    return out


def symbols_in(x: Any) -> set[Symbol]:
    """Every symbol in nested tuples of expressions, facts and objects that have ``symbols``."""
    if isinstance(x, tuple | list):
        return set().union(*map(symbols_in, x)) if x else set()
    if type(x) is int:
        return set()
    if type(x).__module__.startswith(("sympy", "symlayout.expr.sympy")):
        x = coerce_or_none(x)
    return set(getattr(x, "symbols", ()))


def checked(fact: Any) -> Fact:
    if isinstance(fact, Fact):
        return fact
    raise AssumptionError(
        f"expected a fact such as M >= 2, N.multiple_of(8) or eq(M, N), got {fact!r} ({type(fact).__name__}); "
        "== compares forms and gives a plain bool"
    )


def closure(symbols: set[Symbol]) -> tuple[Symbol, ...]:
    todo, seen = list(symbols), set(symbols)
    while todo:
        s = todo.pop()
        ends = [e for e in (s.lower, s.upper) if isinstance(e, Expr)]
        if ends:
            new = set().union(*map(symbols_in, ends)) - seen
            seen |= new
            todo += new
    ordered = sorted(seen, key=lambda s: s.name)
    for s, t in itertools.pairwise(ordered):
        if s.name == t.name:
            s, t = sorted((s, t), key=lambda s: str(s.args))
            raise AssumptionError(
                f"expected one set of facts for {s.name}, got two: "
                f"{_described(s)} and {_described(t)}; use one dim(...) object, or two names"
            )
    return tuple(ordered)


def _described(s: Symbol) -> str:
    return f"{s.lower} <= {s} <= {s.upper}" + (f", {s} % {s.multiple} == 0" if s.multiple > 1 else "")


def tightened(p: Int) -> Int:
    """8*k - 1 >= 0 as k - 1 >= 0: integers allow the constant to be rounded."""
    t = terms_of(p)
    g = math.gcd(*(c for m, c in t.items() if m))
    return p if g <= 1 else build({m: c // g for m, c in t.items() if m or c // g})


class Assumed(Substitution):
    """Expressions with what is assumed put in; a divisor that comes out below 1 stays, for a proof to refuse."""

    def floordiv(self, a: Any, b: Any) -> Any:
        return intern(Quotient, (a, b)) if type(b) is int and b < 1 else super().floordiv(a, b)

    def power_of_two(self, count: Any) -> Any:
        return 0 if type(count) is int and count < 0 else super().power_of_two(count)


def through(let: Mapping[Symbol, Int], x: Any) -> Any:
    return interpret(x, Assumed(let)) if let and isinstance(x, Expr) else x


def substitutions(
    symbols: tuple[Symbol, ...], given: tuple[Fact, ...]
) -> tuple[dict[Symbol, Int], list[Fact], list[Fact]]:
    """(let, equalities that could not be solved, orders): x == y and x % m == 0 become substitutions."""
    let: dict[Symbol, Int] = {}

    def define(s: Symbol, value: Int) -> None:
        for k, v in let.items():
            let[k] = through({s: value}, v)
        let[s] = value

    equalities, orders = [], []
    for f in given:
        if f.relation == ">=":
            orders.append(f)
        elif f.relation == "==":
            solved = _solved(through(let, f.expr))
            if solved is None:
                equalities.append(f)
            else:
                define(*solved)
    moduli = {s: s.multiple for s in symbols}
    for f in given:
        if f.relation == "%":
            if isinstance(f.expr, Symbol):
                moduli[f.expr] = math.lcm(moduli[f.expr], f.modulus)
            else:
                equalities.append(Fact(f.expr - f.modulus * floordiv(f.expr, f.modulus), "=="))
    for s, m in moduli.items():
        if m == 1:
            continue
        if s not in let:
            define(s, m * part(s, m))
        else:
            equalities.append(Fact(s - m * floordiv(let[s], m), "=="))
    return let, equalities, orders


def part(s: Symbol, m: int) -> Symbol:
    """The symbol that replaces s/m where m divides s."""
    return cast(Symbol, intern(Symbol, (f"({s}/{m})", None, None, 1)))


def restored(x: Int, wholes: Mapping[Atom, tuple[Symbol, int]]) -> Any:
    """x with N for 8*(N/8), N//4 for 2*(N/8), and N//8 where nothing goes with it."""
    out: Any = 0
    for m, c in terms_of(x).items():
        product: Any = 1
        for a in m:
            factor: Any = a
            if a in wholes:
                s, d = wholes[a]
                g = math.gcd(c, d)
                c, factor = c // g, floordiv(s, d // g)
            elif not isinstance(a, Symbol):
                factor = getattr(Assumed({}), a.op)(*(restored(b, wholes) for b in a.args))
            product = product * factor
        out = out + c * product
    return out


def _solved(x: Any) -> tuple[Symbol, Int] | None:
    """(symbol, value) from x == 0, for a symbol that occurs once with coefficient 1 or -1."""
    if not isinstance(x, Expr):
        return None
    for m, c in sorted(x.terms.items(), key=lambda t: [a.key for a in t[0]], reverse=True):
        if len(m) == 1 and isinstance(m[0], Symbol) and abs(c) == 1:
            rest = -c * (x - c * m[0])
            if m[0] not in symbols_in((rest,)):
                return m[0], rest
    return None
