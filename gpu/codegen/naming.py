"""Expressions of a body that get a name before it: those that a loop does not change, and those that are computed
more than once.

The compiler may not move a quotient out of a loop that waits: it could be one by 0 that never happens. So what is
invariant is named where the last of its symbols gets its value, and computed once. A name changes no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from symlayout.expr import Fact, Int, Symbol
from symlayout.expr.partial_results import Partial, computed, partial_results
from symlayout.facts import symbols_in
from symlayout.kernel.integer_widths import integers_of
from symlayout.ops import For, Op

DIVISIONS = ("//", "%", "floordiv")
WORTH = 8  # operations from which on an invariant gets a name; the compiler moves cheaper ones as it likes


@dataclass(frozen=True)
class Name:
    """An expression that gets a name; of one whose *low* bits alone are used, 32 are enough."""

    value: Int
    low: bool


def invariant(loop: For, known: Callable[[Symbol], bool], named: Callable[[Int], bool]) -> list[Name]:
    """The largest expressions inside a loop whose symbols are known before it, in the order of their use."""
    exprs = tuple(expressions((loop,)))
    every = {p.value: p for p in partial_results(*exprs)}
    trips = loop.extent
    bare = isinstance(trips, int | Symbol) or named(trips)
    found: dict[Int, None] = {} if bare else {trips: None}
    for x in exprs:
        for y in _largest(x, lambda v: all(map(known, symbols_in((v,)))), named):
            found.setdefault(y)
    given = found.keys() | {x for x in every if named(x)}
    kept = [x for x in found if x == trips or _cost(every[x], every, given - {x}) >= WORTH]
    return [Name(x, x in every and every[x].low) for x in kept]


def repeated(body: tuple[Op, ...], known: Callable[[Symbol], bool], named: Callable[[Int], bool]) -> list[Name]:
    """The divisions that the operations of a body compute more than once, the inner ones first."""
    uses: Counter[Int] = Counter()
    for x in expressions(body):
        uses.update(p.value for p in computed(x, named) if p.word in DIVISIONS and not _by_power(p))
    return [Name(v, False) for v, n in uses.items() if n > 1 and all(map(known, symbols_in((v,))))]


def expressions(body: Iterable[Op]) -> Iterator[Int | Fact]:
    """Every expression that operations compute, those inside them too."""
    return (x for outer in body for op in outer.walk() for x in integers_of(op))


def _largest(x: Int | Fact, fits: Callable[[Int], bool], named: Callable[[Int], bool]) -> Iterator[Int]:
    """The largest partial results of an expression that fit and are worth a name."""
    partials = {p.value: p for p in partial_results(x)}
    done: set[Int] = set()
    for p in reversed(tuple(partials.values())):
        if p.value in done:
            continue
        if named(p.value):
            done.update(_below(p, partials))
        elif fits(p.value):
            done.update(_below(p, partials))
            yield p.value


def _below(p: Partial, partials: dict[Int, Partial], given: AbstractSet[Int] = frozenset()) -> set[Int]:
    """The partial results that one is made of, those aside that are *given*."""
    found: set[Int] = set()
    stack = list(p.operands)
    while stack:
        x = stack.pop()
        if x in partials and x not in found and x not in given:
            found.add(x)
            stack += partials[x].operands
    return found


def _cost(p: Partial, partials: dict[Int, Partial], given: AbstractSet[Int]) -> int:
    """The number of operations; a division counts as several."""
    parts = [p, *(partials[x] for x in _below(p, partials, given))]
    return sum(WORTH if q.word in DIVISIONS and not _by_power(q) else 1 for q in parts)


def _by_power(p: Partial) -> bool:
    d = p.operands[-1]
    return type(d) is int and d > 0 and d & (d - 1) == 0
