"""The divisors that code writes while it is traced, and the facts that it states before them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Divisors(list[Any]):
    """The symbolic divisors that code has written so far, and how many of them before each fact."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[tuple[object, int]] = []

    def guards(self, valid: Iterable[object], first: int = 0) -> list[int]:
        """For each divisor, how many of the facts of a predicate were there before; *first* facts come before all."""
        before = {id(f): n for f, n in self.facts}
        starts = [before.get(id(f), 0) for f in valid]
        return [first + next((j for j, n in enumerate(starts) if n > i), len(starts)) for i in range(len(self))]


class Written(threading.local):
    """The divisors of a function while it is traced: ``M // M`` is 1, which no longer says that M is at least 1."""

    divisors: Divisors | None = None


tracing = Written()


@contextlib.contextmanager
def written_divisors() -> Iterator[Divisors]:
    """The symbolic divisors of every // and % inside, whether or not they stay in the result.

    >>> from symlayout import dim
    >>> M = dim("M", at_least=0)
    >>> with written_divisors() as found:
    ...     print((8 * M) // M, found)
    8 [M]
    """
    found = Divisors()
    before = tracing.divisors
    tracing.divisors = found
    try:
        yield found
    finally:
        tracing.divisors = before
        if before is not None:
            before.facts += [(f, len(before) + n) for f, n in found.facts]
            before += found


def stated(fact: object) -> None:
    """A fact that code states while it is traced: it guards what is written after it."""
    if tracing.divisors is not None:
        tracing.divisors.facts.append((fact, len(tracing.divisors)))


def evaluated(d: T) -> T:
    """A divisor that a function evaluates while it is traced: at least 1 there, also where it cancels."""
    if tracing.divisors is not None and type(d) is not int:
        tracing.divisors.append(d)
    return d
