"""A rule: a value of a record, the relation that it must meet, the profiles in which it counts, and its source.

A record is anything with the attributes that the rules read: one with integers is checked, one with expressions
gives facts to prove, one with NumPy columns is checked for all its rows at once. The row is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ..definitions import Definitions
from ..errors import LayoutError, SerialError
from ..expr import Expr, Fact, at_least, multiple_of, terms_of
from ..facts import Facts


class Tables(Definitions):
    """The lookup of a row by its id, for tables that are built on this module."""

    rule_named: Callable[[str], Any]


tables = Tables()

# A number, or what gives one for a record and a place in it.
Bound: TypeAlias = "int | Callable[[Any, int], Any] | None"


@dataclass(frozen=True)
class Between:
    """low <= x <= high, both ends included; None means unbounded. Messages name numbers by their words."""

    low: Bound
    high: Bound
    words: Mapping[int, str] = field(default_factory=dict)

    def holds(self, x: Any, m: Any, i: int) -> Any:
        low, high = _at(self.low, m, i), _at(self.high, m, i)
        above = True if low is None else x >= low
        return above if high is None else above & (x <= high)

    def facts(self, x: Any, m: Any, i: int) -> tuple[Fact, ...]:
        low, high = _at(self.low, m, i), _at(self.high, m, i)
        return (*(() if low is None else (at_least(x, low),)), *(() if high is None else (at_least(high, x),)))

    def wanted(self, m: Any, i: int) -> str:
        low, high = _at(self.low, m, i), _at(self.high, m, i)
        least, most = (self.shown(end, m, i) for end in (low, high))
        if low == high:
            return least
        if self.words and 0 < high - low < 4:
            return _either([self.words[k] for k in range(low, high + 1)])
        return f"at most {most}" if low is None else f"at least {least}" if high is None else f"in {least} .. {most}"

    def shown(self, x: Any, m: Any, i: int) -> str:
        return self.words.get(x, str(x))


@dataclass(frozen=True)
class MultipleOf:
    """of divides x."""

    of: Bound

    def holds(self, x: Any, m: Any, i: int) -> Any:
        return x % _at(self.of, m, i) == 0

    def facts(self, x: Any, m: Any, i: int) -> tuple[Fact, ...]:
        return (multiple_of(x, int(_at(self.of, m, i))),)

    def wanted(self, m: Any, i: int) -> str:
        return f"a multiple of {_at(self.of, m, i)}"

    def shown(self, x: Any, m: Any, i: int) -> str:
        of = _at(self.of, m, i)
        return str(x) if isinstance(x, Expr) else f"{x} ({x // of}*{of} + {x % of})"


@dataclass(frozen=True)
class OneOf:
    """x is one of some numbers, which messages name by their words."""

    of: tuple[int, ...] | Callable[[Any, int], tuple[int, ...]]
    words: Mapping[int, str] = field(default_factory=dict)

    def holds(self, x: Any, m: Any, i: int) -> Any:
        return np.isin(x, _at(self.of, m, i)) if isinstance(x, np.ndarray) else x in _at(self.of, m, i)

    def facts(self, x: Any, m: Any, i: int) -> tuple[Fact, ...]:
        if isinstance(x, Expr):
            raise LayoutError(f"expected a number ({self.wanted(m, i)}), got {x}")
        return ()

    def wanted(self, m: Any, i: int) -> str:
        return _either([self.words.get(k, str(k)) for k in _at(self.of, m, i)])

    def shown(self, x: int, m: Any, i: int) -> str:
        return self.words.get(x, str(x))


Relation: TypeAlias = "Between | MultipleOf | OneOf"

# How often a rule applies to a record, by what it is about.
COUNTS: dict[str, Callable[[Any], Any]] = {
    "map": lambda m: 1,
    "inner": lambda m: m.rank,
    "dimension": lambda m: m.rank,
    "stride": lambda m: m.rank - 1,
    "spatial": lambda m: m.rank - 2,
    "axis": lambda m: m.rank,  # of a row-major tensor, outermost first
    "grid": lambda m: len(m.grid),  # x first
}
MOST = {"axis": 5, "map": 1, "inner": 1, "dimension": 5, "stride": 4, "spatial": 3, "grid": 3}


def always(m: Any) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """One rule. ``value(record, i)`` must meet ``must`` at every place i of ``each``, ``when`` it applies.

    ``effect`` says what becomes of a violation: a refusal at encode time, a fault, wrong data.
    """

    id: str
    sentence: str
    profiles: tuple[str, ...]
    each: str
    value: Callable[[Any, int], Any]
    must: Relation
    source: str
    when: Callable[[Any], Any] = always
    unit: str = ""
    name: str = ""  # what the value is called in a message, where that is not the sentence's subject
    fix: str = ""
    effect: str = ""
    hint: Callable[[Any, int], str] | None = None  # what a counterexample adds in its own numbers
    advice: Callable[[Any, int], str] | None = None  # the fix in the numbers of the record that needs it

    def places(self, m: Any) -> Iterator[tuple[int, Any]]:
        """The places of a record of scalars at which the rule applies."""
        if self.when(m):
            for i in range(min(COUNTS[self.each](m), MOST[self.each])):
                yield i, self.value(m, i)

    def facts(self, m: Any, i: int, x: Any) -> tuple[Fact, ...]:
        """The facts that make the rule hold if the value or its bounds are expressions; none for plain numbers."""
        found = self.must.facts(x, m, i)
        return found if isinstance(x, Expr) or any(f.symbols for f in found) else ()

    @property
    def what(self) -> str:
        """The name of the value in a message."""
        return self.name or self.sentence.partition(" is ")[0]

    def __str__(self) -> str:
        return f"{self.id}: {self.sentence}"

    __repr__ = __str__

    def __reduce__(self) -> Any:
        return tables.rule_named, (self.id,)

    def __serial__(self) -> str:
        """A row of these tables by its id: its functions are those of this version."""
        try:
            known = tables.rule_named(self.id) is self
        except KeyError:
            known = False
        if not known:
            raise SerialError(f"the rule {self.id}, which is not the row of that id")
        return f"Rule#{self.id}"


@dataclass(frozen=True)
class Violation:
    """A rule that a record breaks, and the number that breaks it."""

    rule: Rule
    place: int
    value: Any
    wanted: str
    got: str
    fix: str = ""
    also: str = ""  # the place in other words

    @property
    def where(self) -> str:
        """``dimension 1``, ``stride of dimension 2``, or nothing for a rule about the whole."""
        where = place_text(self.rule, self.place)
        return f"{where} ({self.also})" if where and self.also else where

    @property
    def unit(self) -> str:
        return f" {self.rule.unit}" if self.rule.unit else ""

    @property
    def story(self) -> str:
        """``2002 (125*16 + 2) bytes in the stride of dimension 1``."""
        return f"{self.got}{self.unit}{f' in {self.where}' if self.where else ''}"

    def __str__(self) -> str:
        return f"{self.rule.id}: {self.message}"

    @property
    def message(self) -> str:
        """The expected and the actual value, without the rule's id."""
        fix = f"; {self.fix}" if self.fix else ""
        return f"expected {self.rule.what} to be {self.wanted}{self.unit}, got {self.story}{fix}"


def place_text(rule: Rule, i: int) -> str:
    """The i-th place of a rule, in the driver's words."""
    words = {"dimension": f"dimension {i}", "stride": f"the stride of dimension {i + 1}", "axis": f"axis {i}"}
    words["grid"] = f"grid.{'xyz'[i : i + 1]}"
    return words.get(rule.each, "WHD"[i : i + 1] if rule.each == "spatial" else "")


def of_profile(rules: Iterable[Rule], profile: str) -> tuple[Rule, ...]:
    """The rules that count in a profile."""
    return tuple(r for r in rules if profile in r.profiles)


def violations(m: Any, rules: Iterable[Rule]) -> list[Violation]:
    """Every rule that a record breaks, at every place; with expressions, what fails for all their sizes."""
    return [violation(r, m, i, x) for r in rules for i, x in r.places(m) if holds(r, m, i, x) is False]


def holds(rule: Rule, m: Any, i: int, x: Any) -> bool | None:
    """Whether a rule holds at a place: for numbers, for all sizes, or None where that is not decided."""
    wanted = rule.facts(m, i, x)
    if not wanted:
        return bool(rule.must.holds(x, m, i))
    known = Facts.about(wanted)
    answers = [False if _never(f, known) else known.holds(f) for f in wanted]
    return False if False in answers else None if None in answers else True


def _never(f: Fact, known: Facts) -> bool:
    """Whether no size makes the modulus divide: a common divisor of it and all coefficients misses the constant."""
    if f.relation != "%":
        return False
    terms = dict(terms_of(known.normal(f.expr)))
    return terms.pop((), 0) % math.gcd(f.modulus, *terms.values()) != 0


def violation(rule: Rule, m: Any, i: int, x: Any) -> Violation:
    """The story of a rule that the value x at place i breaks."""
    x = x if isinstance(x, Expr) else int(x)
    said = rule.advice or rule.hint
    fix = said(m, i) if said else ""
    return Violation(rule, i, x, rule.must.wanted(m, i), rule.must.shown(x, m, i), fix or rule.fix)


def facts(m: Any, rules: Iterable[Rule]) -> Iterator[tuple[Rule, int, Any, tuple[Fact, ...]]]:
    """(rule, place, value, facts that make it hold) of a record with expressions; plain numbers give no facts."""
    for r in rules:
        for i, x in r.places(m):
            yield r, i, x, r.facts(m, i, x)


def broken(columns: Any, rules: Iterable[Rule]) -> dict[str, np.ndarray[Any, Any]]:
    """For each rule the rows of a record of NumPy columns that break it."""
    out = {}
    for r in rules:
        count = COUNTS[r.each](columns)
        bad = np.zeros(len(columns), dtype=bool)
        for i in range(MOST[r.each]):
            bad |= np.logical_not(r.must.holds(r.value(columns, i), columns, i)) & (i < count)
        out[r.id] = bad & r.when(columns)
    return out


def accepted(columns: Any, rules: Iterable[Rule]) -> np.ndarray[Any, Any]:
    """The rows of a record of NumPy columns that break no rule."""
    bad = np.zeros(len(columns), dtype=bool)
    for rows in broken(columns, rules).values():
        bad |= rows
    return np.logical_not(bad)


def _either(words: list[str]) -> str:
    """``none, 16B or 32B``."""
    return " or ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


# -- arithmetic that means the same on numbers, columns and expressions ------------------------------------


def _at(bound: Any, m: Any, i: int) -> Any:
    return bound(m, i) if callable(bound) else bound


def where(condition: Any, yes: Any, no: Any) -> Any:
    """*yes* where the condition holds, else *no*."""
    return np.where(condition, yes, no) if isinstance(condition, np.ndarray) else yes if condition else no


def times(a: Any, b: Any) -> Any:
    """a * b of numbers from 0 on; in columns no more than 64 bits hold."""
    if not (isinstance(a, np.ndarray) or isinstance(b, np.ndarray)):
        return a * b
    most = np.iinfo(np.int64).max
    fits = b <= most // np.maximum(a, 1)
    return np.where(fits, a * np.where(fits, b, 0), most)


def row_of(table: tuple[int, ...], i: Any, default: int = 0) -> Any:
    """Entry i of a table; the default past its end."""
    if isinstance(i, np.ndarray):
        return np.array((*table, default))[np.clip(i, 0, len(table))]
    return table[i] if 0 <= i < len(table) else default
