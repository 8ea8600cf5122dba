"""For which sizes something is said: the ranges of symbols, in words.

>>> from symlayout import dim, dims
>>> M, N = dims("M N")
>>> print(*ranges_in_words([M, N, dim("ld", at_least=N), dim("K", at_most=64, multiple_of=8)]), sep="\\n")
M, N in 1 .. 2^31 - 1
ld in N .. 2^31 - 1
K in 1 .. 64, a multiple of 8
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..expr import Symbol
from ..expr.operands import INT32_MAX

LOWEST, HIGHEST = 1, INT32_MAX  # of a size without any assumption
USUAL = "in 1 .. 2^31 - 1"
BIG = 1 << 16  # from here on, powers of two are written as such


class Phrase(str):
    """Text about some sizes: it knows their *names*, and whether their range is the *usual* one.

    >>> from symlayout import dims
    >>> (phrase,) = ranges_in_words(dims("M N"))
    >>> phrase, phrase.names, phrase.usual
    ('M, N in 1 .. 2^31 - 1', ('M', 'N'), True)
    """

    names: tuple[str, ...]
    usual: bool

    @classmethod
    def of(cls, text: str, names: Iterable[str], usual: bool) -> Phrase:
        """The phrase of a text."""
        made = cls(text)
        made.names, made.usual = tuple(names), usual
        return made


def ranges_in_words(symbols: Iterable[Symbol]) -> tuple[Phrase, ...]:
    """One phrase for all symbols of a range and a divisor, in the order in which they come."""
    groups: dict[Any, list[str]] = {}
    for s in symbols:
        groups.setdefault((s.lower, s.upper, s.multiple), []).append(s.name)
    return tuple(_phrase(names, *limits) for limits, names in groups.items())


def usual(names: Iterable[str]) -> Phrase:
    """The phrase about sizes without assumptions."""
    names = tuple(names)
    return Phrase.of(f"{', '.join(names)} in {LOWEST} .. {_number(HIGHEST)}", names, True)


def _phrase(names: list[str], lower: Any, upper: Any, multiple: int) -> Phrase:
    if (lower, upper, multiple) == (LOWEST, HIGHEST, 1):
        return usual(names)
    which = ", ".join(names)
    if lower is None or upper is None:
        ends = [f"{word} {_number(x)}" for word, x in (("at least", lower), ("at most", upper)) if x is not None]
        within = f"{which} {' and '.join(ends)}" if ends else f"any {which}"
    else:
        within = f"{which} in {_number(lower)} .. {_number(upper)}"
    by = f", {'a multiple' if len(names) == 1 else 'multiples'} of {multiple}" if multiple > 1 else ""
    return Phrase.of(within + by, names, False)


def _number(x: Any) -> str:
    """2^31 - 1 rather than its digits."""
    if type(x) is int and x >= BIG:
        if x & (x - 1) == 0:
            return f"2^{x.bit_length() - 1}"
        if x & (x + 1) == 0:
            return f"2^{x.bit_length()} - 1"
    return str(x)
