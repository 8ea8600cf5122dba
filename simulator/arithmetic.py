"""What the arithmetic of addresses costs: divisions by what is known at run time, in each iteration of a loop.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> kernel = tma_copy(*dims("M N"), blocks=132).bind(M=1024, N=1024)
>>> [str(d) for d in divisions(kernel).values() if any(d)]
['1 of 64 bits', '1 of 64 bits']
>>> list(divisions(tma_copy(1024, 1024, blocks=132).bind()).values())[0]
Divisions(narrow=0, wide=0, fixed=0)

A quotient and the remainder of the same operands are one division. It is made in the innermost loop on whose index it
depends, as compilers move it out of others: there before the operation that needs it, which may be behind a wait, or
before all else where several do, since generated code names at the top what an iteration computes more than once.
Sizes that are numbers in the kernel before it is bound are constants of the code: divisions by powers of two are
shifts, those of 32 bits by others cost little, those of 64 bits a chain of products with carries. A loop that goes
round a ring counts its slots (``kernel.cursors``), and divides by them before it, if at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, NamedTuple

from symlayout.expr import Expr, Fact, Int, Symbol, interpret
from symlayout.facts import symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.cursors import Cursor, cursors
from symlayout.kernel.integer_widths import Evaluation, Ranges, evaluations
from symlayout.kernel.sites import as_written
from symlayout.ops import For, Op

from .timing_classes import Unit, timing_class

WIDE = 64


class Divisions(NamedTuple):
    """Divisions that are made at one place, by their kind: a field of ``Divisions`` for each."""

    narrow: int = 0  # of 32 bits, by what is known at run time
    wide: int = 0  # of 64 bits
    fixed: int = 0  # of 64 bits, by constants that are no power of two

    def __str__(self) -> str:
        told = ((self.narrow, "of 32 bits"), (self.wide, "of 64 bits"), (self.fixed, "of 64 bits by constants"))
        return ", ".join(f"{n} {kind}" for n, kind in told if n) or "none"


class Term(NamedTuple):
    """An expression as text, the names in it, and whether it has 64 bits."""

    text: str
    names: frozenset[str]
    wide: bool


@dataclass
class Finder:
    """A domain of ``interpret`` that notes each quotient: (dividend, divisor)."""

    wide: frozenset[str]
    found: list[tuple[Term, Term]]
    held: frozenset[str] = frozenset()  # indices of loops that have 64 bits
    _texts: dict[Int, str] = field(default_factory=dict)
    _quotients: dict[tuple[int, Int], list[tuple[str, str]]] = field(default_factory=dict)

    def text(self, x: Int) -> str:
        """An expression as text, whatever its width."""
        found = self._texts.get(x)
        if found is None:
            found = self._texts[x] = interpret(x, self).text
        return found

    def quotients(self, cursor: Cursor, count: Int) -> list[tuple[str, str]]:
        """Those that a cursor stands for, as text."""
        key = id(cursor), count
        found = self._quotients.get(key)
        if found is None:
            found = self._quotients[key] = [(self.text(x), str(d)) for x, d in cursor.quotients(count)]
        return found

    def const(self, value: int) -> Term:
        return Term(str(value), frozenset(), False)

    def symbol(self, symbol: Symbol) -> Term:
        return self._made(symbol.name, Term("", frozenset({symbol.name}), symbol.name in self.held))

    def _made(self, text: str, *of: Term) -> Term:
        return Term(text, frozenset().union(*(x.names for x in of)), text in self.wide or any(x.wide for x in of))

    def _all(self, word: str, xs: Any) -> Term:
        return self._made(f"{word}({', '.join(x.text for x in xs)})", *xs)

    def add(self, terms: list[Term]) -> Term:
        return self._all("add", terms)

    def mul(self, factors: list[Term]) -> Term:
        return self._all("mul", factors)

    def floordiv(self, a: Term, b: Term) -> Term:
        self.found.append((a, b))
        return self._all("div", (a, b))

    def xor(self, *args: Term) -> Term:
        return self._all("xor", args)

    def minimum(self, *args: Term) -> Term:
        return self._all("min", args)

    def maximum(self, *args: Term) -> Term:
        return self._all("max", args)

    def bit_and(self, *args: Term) -> Term:
        return self._all("and", args)

    def power_of_two(self, count: Term) -> Term:
        return self._all("two", (count,))

    def select(self, test: Term, a: Term, b: Term) -> Term:
        return self._all("if", (test, a, b))


def divisions(kernel: Kernel) -> dict[int, Divisions]:
    """The divisions before each operation of a bound kernel that makes any, by identity.

    Those before a loop are made in each of its iterations, before all else; each loop has a row.
    """
    origin = (kernel.origin or kernel).plain
    finder, ranges, long, counted = Finder(frozenset(), []), Ranges(origin), set(), cursors(origin)
    made: dict[int, Counter[str]] = {}
    places: dict[tuple[int, tuple[str, str]], list[int]] = {}  # of a quotient in a loop: where it is needed, in order
    kinds: dict[tuple[int, tuple[str, str]], str] = {}

    for e, site, at_sizes in zip(evaluations(origin), as_written(origin), as_written(kernel.plain), strict=True):
        there = at_sizes.op
        if isinstance(site.op, For):
            made[id(there)] = Counter()
            if e.widths.get(site.op.extent) == WIDE and not ranges.fit(e, site.op.extent):
                long.add(id(site.op))
        finder.held = frozenset(x.index.name for x in site.loops if id(x) in long)
        finder.wide = frozenset(finder.text(x) for x in _wide(e, finder.held))
        free = set(_counted(counted, site.places, finder))
        begun = [x for c in counted if c.begins == site.places for x in c.values(c.start)]
        finder.found.clear()
        for x in begun or _expressions(site.op):
            interpret(x, finder)
        for a, b in finder.found:
            names, kind = a.names | b.names, _kind(a, b, bool(begun) or origin.index_bits == WIDE)
            loop = next((k for k in reversed(range(len(site.loops))) if site.loops[k].index.name in names), None)
            if not kind or (a.text, b.text) in free or (loop is None and (site.loops or begun)):
                continue
            inside = at_sizes.loops[loop] if loop is not None else there
            quotient = a.text, b.text if b.names else str(_odd(int(b.text)))  # the parity of a quotient is a bit of it
            outer = loop is not None and loop != len(site.loops) - 1
            place = id(inside if outer or _structure(there) else there)
            key = id(inside), quotient
            kinds.setdefault(key, kind)
            if place not in (needed := places.setdefault(key, [])):
                needed.append(place)
    for (loop_id, quotient), needed in places.items():
        first = loop_id if len(needed) > 1 else needed[0]
        made.setdefault(first, Counter())[kinds[loop_id, quotient]] += 1
    return {place: Divisions(**found) for place, found in made.items()}


def _counted(every: Iterable[Cursor], place: tuple[int, ...], finder: Finder) -> Iterator[tuple[str, str]]:
    """The quotients that cursors stand for at a place."""
    for c in every:
        count = c.at(place)
        if count is not None:
            yield from finder.quotients(c, count)


def _wide(e: Evaluation, held: frozenset[str]) -> Iterator[Int]:
    """The partial results that have 64 bits of themselves, not by an index of a loop that code holds in 32."""
    indices = {s.name for s, bits in e.scope.held.items() if bits == WIDE} - held
    return (x for x, bits in e.widths.items() if bits == WIDE and not {s.name for s in symbols_in((x,))} & indices)


def _kind(a: Term, b: Term, all_wide: bool) -> str:
    """The field of ``Divisions`` that a quotient counts in, or "" for one that costs little."""
    wide = a.wide or b.wide or all_wide
    if b.names:
        return "wide" if wide else "narrow"
    return "fixed" if wide and a.names and _odd(int(b.text)) > 1 else ""


def _odd(n: int) -> int:
    """A number without its factors of two."""
    return n // (n & -n)


def _structure(op: Op) -> bool:
    """Whether it takes no step of its own."""
    return timing_class(op).unit in (Unit.NONE, Unit.LOOP)


def _expressions(op: Op) -> Iterator[Expr]:
    """The expressions of an operation, without those of the operations inside it."""
    for f in fields(op):
        if f.name != "inside":
            yield from _within(getattr(op, f.name))


def _within(x: Any) -> Iterator[Expr]:
    if isinstance(x, Expr):
        if not isinstance(x, Symbol):
            yield x
    elif isinstance(x, Fact):
        yield from _within(x.expr)
    elif isinstance(x, tuple):
        for y in x:
            yield from _within(y)
    elif is_dataclass(x) and not isinstance(x, type):
        for f in fields(x):
            yield from _within(getattr(x, f.name))
