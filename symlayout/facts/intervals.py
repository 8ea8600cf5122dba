"""Between which numbers an expression lies, by the ranges of its symbols alone: quick, and never too narrow.

    >>> from symlayout import dim, index
    >>> N = dim("N")
    >>> block = index("block_x", (N + 1023) // 1024)
    >>> Intervals().of(1024 * block + 8)
    (8, 2147482632)

Each partial result is taken on its own, so x - x // 2 may look wider than it is; what is said holds all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, cast

from ..expr import Atom, Expr, Fact, Int, Monomial, Quotient, Symbol, terms_of
from ..expr.partial_results import Partial, partial_results

Interval: TypeAlias = "tuple[int, int]"  # both ends included

FAR_BITS = 256  # a bound of more bits counts as infinite; a product of eight sizes has 248
FAR = 1 << FAR_BITS  # taken as infinity
ALL: Interval = (-FAR, FAR)


class Intervals:
    """The intervals of expressions under facts about single symbols; *names* are those that replace expressions."""

    def __init__(self, given: Iterable[Fact] = (), names: Mapping[Symbol, Int] | None = None) -> None:
        self._names = names or {}
        self._seen: dict[Int, Interval] = {}
        self._ends: dict[Symbol, list[Fact]] = {}
        self._products: list[tuple[Monomial, int]] = []  # products of symbols, and what they are at most
        for f in given:
            terms = [(m, c) for m, c in terms_of(f.expr).items() if m]
            if len(terms) == 1 and all(isinstance(a, Symbol) for a in terms[0][0]):
                ((m, c),) = terms
                if len(m) == 1:
                    self._ends.setdefault(cast(Symbol, m[0]), []).append(f)
                elif f.relation == ">=" and c < 0:
                    self._products.append((m, terms_of(f.expr).get((), 0) // -c))

    def of(self, x: Int) -> Interval:
        """The interval of an expression."""
        if not isinstance(x, Expr):
            return x, x
        for p in () if x in self._seen else partial_results(x):
            self._partial(p)
        return self._operand(x)

    def _partial(self, p: Partial) -> None:
        if p.value not in self._seen:
            found = ROWS.get(p.word, _anything)(*map(self._operand, p.operands))
            high = min(FAR, found[1], self._most(p.value) if p.word == "*" and self._products else FAR)
            self._seen[p.value] = max(-FAR, found[0]), high

    def _most(self, x: Int) -> int:
        """An upper bound of a product, from bounds on products of the symbols that its factors do not exceed."""
        ((m, c),) = terms_of(x).items() if len(terms_of(x)) == 1 else (((), -1),)
        above = [_above(a) for a in m]
        if c < 1 or None in above or any(self._operand(a)[0] < 0 for a in m):
            return FAR
        bounds = []
        for product, most in self._products:
            rest = list(product)
            fits = all(a in rest and not rest.remove(a) for a in above)  # type: ignore[func-returns-value]
            if fits and all(self._operand(s)[0] >= 1 for s in rest):
                bounds.append(c * most)
        return min(bounds, default=FAR)

    def _operand(self, x: Int) -> Interval:
        if not isinstance(x, Expr):
            return x, x
        if x not in self._seen:
            self._seen[x] = self._symbol(x) if isinstance(x, Symbol) else ALL
        return self._seen[x]

    def _symbol(self, s: Symbol) -> Interval:
        if s in self._names:
            return self.of(self._names[s])
        low = -FAR if s.lower is None else self.of(s.lower)[0]
        high = FAR if s.upper is None else self.of(s.upper)[1]
        for f in self._ends.get(s, ()):
            c, rest = terms_of(f.expr)[(s,)], terms_of(f.expr).get((), 0)
            if f.relation in (">=", "==") and c > 0:
                low = max(low, -(rest // c))
            if f.relation in (">=", "==") and (c < 0 or f.relation == "=="):
                high = min(high, rest // -c if c < 0 else -rest // c)
        return low, high


def _above(a: Atom) -> Symbol | None:
    """A symbol, of at least 1, that an atom does not pass: itself, or s for ceil(s/d)."""
    if isinstance(a, Symbol):
        return a
    if isinstance(a, Quotient) and type(a.args[1]) is int:
        whole = a.args[0] - a.args[1] + 1
        return whole if isinstance(whole, Symbol) and type(whole.lower) is int and whole.lower >= 1 else None
    return None


def _anything(*operands: Interval) -> Interval:
    return ALL


def _sum(*operands: Interval) -> Interval:
    return sum(a for a, _ in operands), sum(b for _, b in operands)


def _difference(*operands: Interval) -> Interval:
    """The interval of the opposite of one operand."""
    (a, b), (c, d) = operands if len(operands) == 2 else ((0, 0), *operands)
    return a - d, b - c


def _product(x: Interval, y: Interval) -> Interval:
    found = [a * b for a in x for b in y]
    return min(found), max(found)


def _quotient(x: Interval, y: Interval) -> Interval:
    """Divisors are at least 1."""
    found = [a // max(1, b) for a in x for b in y]
    return min(found), max(found)


def _remainder(x: Interval, y: Interval) -> Interval:
    if x[0] >= 0 and x[1] < y[0]:
        return x
    most = max(0, y[1] - 1)
    return 0, min(most, x[1]) if x[0] >= 0 else most


def _bits(*operands: Interval) -> Interval:
    """The interval of an exclusive or: as many bits as the longest operand, of either sign if one may be negative."""
    top = 1 << max(max(abs(a), abs(b)).bit_length() for a, b in operands)
    return (0 if all(a >= 0 for a, _ in operands) else -top), top - 1


def _common_bits(*operands: Interval) -> Interval:
    """The interval of a bitwise and: at most any operand that is not negative."""
    above = [b for a, b in operands if a >= 0]
    return (0, min(above)) if above else _bits(*operands)


ROWS: Mapping[str, Callable[..., Interval]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "//": _quotient,
    "floordiv": _quotient,
    "%": _remainder,
    "=": lambda x: x,
    "xor": _bits,
    "bit_and": _common_bits,
    "power_of_two": lambda x: (1 << min(x[0], FAR_BITS) if x[0] >= 0 else 0, 1 << max(0, min(x[1], FAR_BITS))),
    "select": lambda *xs: (min(a for a, _ in xs[-2:]), max(b for _, b in xs[-2:])),
    "minimum": lambda *xs: (min(a for a, _ in xs), min(b for _, b in xs)),
    "maximum": lambda *xs: (max(a for a, _ in xs), max(b for _, b in xs)),
}
