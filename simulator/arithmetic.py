"""What the arithmetic of addresses costs: divisions by what is known at run time, in each iteration of a loop.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> kernel = tma_copy(*dims("M N"), blocks=132).bind(M=1024, N=1024)
>>> [str(d) for d in divisions(kernel).values()]
['1 of 64 bits', '1 of 64 bits']
>>> list(divisions(tma_copy(1024, 1024, blocks=132).bind()).values())[0]
Divisions(narrow=0, wide=0)

A quotient and the remainder of the same operands are one division. It is made in the innermost loop on whose index it
depends, as compilers move it out of others. Sizes that are numbers in the kernel before it is bound are constants of
the code, and divisions by these cost little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

from symlayout.expr import Expr, Fact, Symbol, interpret
from symlayout.kernel import Kernel
from symlayout.kernel.sites import as_written
from symlayout.ops import For, Op


class Divisions(NamedTuple):
    """The divisions of an iteration of a loop, of 32 bits and of 64."""

    narrow: int
    wide: int

    def __str__(self) -> str:
        parts = [f"{n} of {bits} bits" for n, bits in ((self.narrow, 32), (self.wide, 64)) if n]
        return ", ".join(parts) or "none"


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

    def const(self, value: int) -> Term:
        return Term(str(value), frozenset(), False)

    def symbol(self, symbol: Symbol) -> Term:
        return self._made(symbol.name, Term("", frozenset({symbol.name}), False))

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
    """For each loop of a bound kernel, by identity, the divisions by run-time values of an iteration.

    Operations outside of loops have their own.
    """
    origin = (kernel.origin or kernel).plain
    finder = Finder(frozenset(), [])
    finder.wide = frozenset(interpret(x, finder).text for x in origin.wide)
    made: dict[int, set[tuple[str, str, bool]]] = {}
    bound: dict[int, int] = {}

    for site, at_sizes in zip(as_written(origin), as_written(kernel.plain), strict=True):
        op, there = site.op, at_sizes.op
        if isinstance(op, For):
            bound[id(there)] = id(op)
            made[id(op)] = set()
        finder.found.clear()
        for x in _expressions(op):
            interpret(x, finder)
        for a, b in finder.found:
            names = a.names | b.names
            loop = next((x for x in reversed(site.loops) if x.index.name in names), None)
            place = id(loop) if loop is not None else None if site.loops else id(op)
            if b.names and place is not None:
                bound.setdefault(id(there), id(op))
                made.setdefault(place, set()).add((a.text, b.text, a.wide or b.wide or origin.index_bits == 64))
    return {there: Divisions(*_counted(made[op])) for there, op in bound.items() if op in made}


def _counted(found: set[tuple[str, str, bool]]) -> tuple[int, int]:
    wide = sum(1 for *_, x in found if x)
    return len(found) - wide, wide


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
