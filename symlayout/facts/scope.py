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

USUAL = "in 1 .. 2^31 - 1"  # of a size of which nothing is said
BIG = 1 << 16  # from here on, powers of two are written as such


def ranges_in_words(symbols: Iterable[Symbol]) -> tuple[str, ...]:
    """One phrase for all symbols of a range and a divisor, in the order in which they come."""
    groups: dict[Any, list[str]] = {}
    for s in symbols:
        groups.setdefault((s.lower, s.upper, s.multiple), []).append(s.name)
    return tuple(_phrase(names, *limits) for limits, names in groups.items())


def is_usual(phrase: str) -> bool:
    """Whether a phrase of ``ranges_in_words`` says no more than that sizes are in 1 .. 2^31 - 1."""
    return phrase.endswith(USUAL)


def names_in(phrase: str) -> list[str]:
    """The names of the sizes of the usual range, from the phrase about them."""
    return phrase.removesuffix(USUAL).strip().split(", ")


def _phrase(names: list[str], lower: Any, upper: Any, multiple: int) -> str:
    which = ", ".join(names)
    if lower is None or upper is None:
        ends = [f"{word} {_number(x)}" for word, x in (("at least", lower), ("at most", upper)) if x is not None]
        within = f"{which} {' and '.join(ends)}" if ends else f"any {which}"
    else:
        within = f"{which} in {_number(lower)} .. {_number(upper)}"
    by = f", {'a multiple' if len(names) == 1 else 'multiples'} of {multiple}" if multiple > 1 else ""
    return within + by


def _number(x: Any) -> str:
    """2^31 - 1 rather than its digits."""
    if type(x) is int and x >= BIG:
        if x & (x - 1) == 0:
            return f"2^{x.bit_length() - 1}"
        if x & (x + 1) == 0:
            return f"2^{x.bit_length()} - 1"
    return str(x)
