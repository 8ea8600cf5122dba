"""Quotients, extrema and choices that assumptions decide (T10), and bits that pass by one another (T14)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..expr import Expr, Int, build, floordiv, split, terms_of
from ..meter import step
from .assumptions import Assumed


class Resolving(Assumed):
    """Quotients whose rest is small are divided out, extrema whose order is known are chosen."""

    def __init__(self, nonneg: Callable[[Any], bool]) -> None:
        super().__init__({})
        self._nonneg = nonneg  # whether assumptions show that an expression is at least 0

    def floordiv(self, a: Any, b: Any) -> Any:
        step()
        if type(b) is int and b < 1:
            return super().floordiv(a, b)
        q, r = split(a, b)
        for part_q, part_r in _rests(q, r, b):
            if self._nonneg(part_r) and self._nonneg(b - 1 - part_r):
                return part_q
        return floordiv(a, b)

    def minimum(self, *args: Any) -> Any:
        return self._choose(args, -1)

    def maximum(self, *args: Any) -> Any:
        return self._choose(args, 1)

    def xor(self, *args: Any) -> Any:
        """(h + l) ^ c is h + (l ^ c) where 2^k divides h and 0 <= c < 2^k: such bits pass by (T14)."""
        for i, a in enumerate(args):
            others = (*args[:i], *args[i + 1 :])
            t = terms_of(a)
            for block in sorted({c & -c for m, c in t.items() if m}, reverse=True):
                high = build({m: c - c % block for m, c in t.items() if c // block and (not m or c % block == 0)})
                if all(self._nonneg(b) and self._nonneg(block - 1 - b) for b in others):
                    return high + super().xor(a - high, *others)
        return super().xor(*args)

    def bit_and(self, *args: Any) -> Any:
        """x & y is y where 2^k divides x + 1 and 0 <= y < 2^k, and 0 where 2^k divides x: no bits meet there."""
        for i, a in enumerate(args):
            others, t = (*args[:i], *args[i + 1 :]), terms_of(a)
            for block in sorted({c & -c for m, c in t.items() if m}, reverse=True):
                low = t.get((), 0) % block
                fits = low in (0, block - 1) and all(c % block == 0 for m, c in t.items() if m)
                if fits and any(self._nonneg(b) and self._nonneg(block - 1 - b) for b in others):
                    return super().bit_and(*others) if low else 0
        return super().bit_and(*args)

    def select(self, test: Any, a: Any, b: Any) -> Any:
        if self._nonneg(test):
            return a
        return b if self._nonneg(-test - 1) else super().select(test, a, b)

    def _choose(self, args: tuple[Any, ...], sign: int) -> Any:
        for a in args:
            if all(a is b or self._nonneg(sign * (a - b)) for b in args):
                return a
        return super().maximum(*args) if sign > 0 else super().minimum(*args)


def _rests(q: Int, r: Int, d: Int) -> Iterable[tuple[Int, Int]]:
    """Candidate splits of d*q + r: as they are, and with d moved over once where r is negative."""
    yield q, r
    if isinstance(r, Expr) or r < 0:
        yield q - 1, r + d
