"""Offsets that depend on an index through remainders only: the values that they take, for all values of the index.

>>> from symlayout import dim
>>> i = dim("i", at_least=0)
>>> unturned(((i % 3) * 8, ((i + 2) % 3) * 8), lambda s: False)
[(0, 16), (8, 0), (16, 8)]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from symlayout.expr import Expr, Int, Substitution, Symbol, dim, floordiv, interpret, terms_of
from symlayout.expr import build as summed

Base: TypeAlias = "tuple[tuple[Any, int], ...]"  # a polynomial without a constant, as sorted terms
Known: TypeAlias = "dict[Any, Int]"  # offsets with their remainders put in


class _More(Exception):
    """A dividend that was not known, or with another period."""


def unturned(
    offsets: tuple[Int, ...], kept: Callable[[Symbol], bool], most: int = 256, known: Known | None = None
) -> list[tuple[Int, ...]] | None:
    """The offsets at each combination of remainders, in symbols that are *kept* only; None where others stay.

    A dividend such as i + 2 or iteration*steps + i is n*q + r, with n a multiple of all divisors and r each of 0 .. n
    - 1. The factors of q must cancel, or move all offsets alike. Combinations that no index has may be among them.
    *known* keeps what an offset becomes, for other calls with the same symbols *kept*.
    """
    known = {} if known is None else known
    moduli: dict[Base, int] = {}
    while True:
        if math.prod(moduli.values()) > most:
            return None
        out = []
        try:
            for rests in itertools.product(*(range(n) for n in moduli.values())):
                put = _Turned(moduli, dict(zip(moduli, rests, strict=True)), kept)
                case = _moved_back([_found(known, put, x) for x in offsets], kept)
                if case is None:
                    return None
                out.append(case)
            return out
        except _More as e:
            base, n = e.args
            moduli[base] = math.lcm(moduli.get(base, 1), n)
            if len(moduli) > 4:
                return None


def _found(known: Known, put: _Turned, x: Int) -> Int:
    key = x, tuple(put.moduli.items()), tuple(put.rests.values())
    if key not in known:
        known[key] = put.of(x)
    return known[key]


def _moved_back(offsets: list[Int], kept: Callable[[Symbol], bool]) -> tuple[Int, ...] | None:
    """The offsets without what moves all of them alike; None where something else is left in one."""
    rests = [{m: c for m, c in terms_of(x).items() if not all(kept(s) for a in m for s in a.symbols)} for x in offsets]
    if any(r != rests[0] for r in rests):
        return None
    return tuple(x - summed(rests[0]) for x in offsets) if rests[0] else tuple(offsets)


class _Turned(Substitution):
    """A domain of ``interpret``: dividends become n*q + r."""

    def __init__(self, moduli: dict[Base, int], rests: dict[Base, int], kept: Callable[[Symbol], bool]) -> None:
        super().__init__({})
        self.moduli, self.rests, self.kept = moduli, rests, kept
        self.whole = {base: dim(f"__whole_{i}", at_least=0) for i, base in enumerate(moduli)}

    def of(self, x: Int) -> Int:
        return self.reduced(interpret(x, self)) if isinstance(x, Expr) else x

    def reduced(self, x: Int) -> Int:
        """The sum with multiples of known dividends replaced."""
        for base, n in self.moduli.items():
            terms = terms_of(x)
            lead, c = base[0]
            if lead in terms and terms[lead] % c == 0:
                k = terms[lead] // c
                x = x - k * summed(dict(base)) + k * (n * self.whole[base] + self.rests[base])
        return x

    def floordiv(self, a: Any, b: Any) -> Any:
        a = self.reduced(a)
        turning = {m: c for m, c in terms_of(a).items() if not all(self._kept(x) for x in m)}
        if not turning:
            return floordiv(a, b)
        wholes = set(self.whole.values())
        if type(b) is not int:
            return floordiv(a, b)
        if all(len(m) == 1 and m[0] in wholes for m in turning):
            if all(c % b == 0 for c in turning.values()):
                return floordiv(a, b)
            ((m, c), *_) = turning.items()
            base = next(x for x, q in self.whole.items() if q is m[0])
            raise _More(base, self.moduli[base] * (b // math.gcd(b, c)))
        base = tuple(sorted(turning.items(), key=lambda t: (abs(t[1]), len(t[0]), [x.key for x in t[0]])))
        raise _More(base, b)

    def _kept(self, x: Any) -> bool:
        return all(self.kept(s) for s in x.symbols)

    def xor(self, *args: Any) -> Any:
        return super().xor(*map(self.reduced, args))

    def bit_and(self, *args: Any) -> Any:
        return super().bit_and(*map(self.reduced, args))

    def power_of_two(self, count: Any) -> Any:
        return super().power_of_two(self.reduced(count))

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return super().select(*map(self.reduced, (test, a, b)))

    def minimum(self, *args: Any) -> Any:
        return super().minimum(*map(self.reduced, args))

    def maximum(self, *args: Any) -> Any:
        return super().maximum(*map(self.reduced, args))
