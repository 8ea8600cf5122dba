"""Every intermediate value of an index computation, in the order in which the code computes it.

    >>> from symlayout import dims
    >>> M, K = dims("M K")
    >>> for step in steps(lambda i, k: (i * K + k) * 2, (M, K)):
    ...     print(step)
    i * K              K*i
    (i * K) + k        K*i + k
    ((i * K) + k) * 2  2*K*i + 2*k

An int32 overflow happens in the first step that does not fit, whatever the final value; predicates are tested
on values that have been computed already, so they do not narrow a step unless the code tests them before.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .address_map import AddressMap
from .errors import LayoutError
from .expr import Int, integer
from .int_tuple import leaves


@dataclass(frozen=True)
class Step:
    """One operation of the code: its text as written, and its value as a map over the coordinates."""

    code: str
    value: AddressMap
    width: int = 0

    def __str__(self) -> str:
        return f"{self.code:<{self.width}}  {self.value.offset}"


def steps(f: Callable[..., Any], shape: Any, when: Callable[..., Any] | None = None) -> tuple[Step, ...]:
    """The operations that *f* performs on its coordinates, one for each mode of *shape*, in order.

    *when* is a predicate that the code tests before it computes anything. Raises LayoutError for a function
    of another number of coordinates.
    """
    box = AddressMap.over(_zero_of(f), shape, when)
    log: list[tuple[str, Int]] = []
    out = f(*(Traced(c, str(c), log) for c in box.coords))
    for v in leaves(out):
        if not log and isinstance(v, Traced):
            log.append((v.code, v.value))
    width = max((len(code) for code, _ in log), default=0)
    seen: dict[str, Int] = dict(log)
    return tuple(
        Step(code, AddressMap(box.coords, box.extents, value, box.valid), width) for code, value in seen.items()
    )


def _zero_of(f: Callable[..., Any]) -> Callable[..., int]:
    """A function of the same parameters that is 0: it names the coordinates."""
    names = list(inspect.signature(f).parameters)
    if not names:
        raise LayoutError("expected a function of at least one coordinate, got one of none")
    zero: Callable[..., int] = eval(f"lambda {', '.join(names)}: 0")  # the names are identifiers of a signature
    return zero


class Traced:
    """An integer that remembers how it was computed and adds every operation to a log."""

    __slots__ = ("code", "log", "value")

    def __init__(self, value: Any, code: str, log: list[tuple[str, Int]]) -> None:
        self.value: Int = integer(value)
        self.code, self.log = code, log

    def _step(self, sign: str, other: Any, value: Any, swapped: bool = False) -> Traced:
        theirs = other.code if isinstance(other, Traced) else str(other)
        left, right = (theirs, self.code) if swapped else (self.code, theirs)
        code = f"{_grouped(left)} {sign} {_grouped(right)}"
        self.log.append((code, integer(value)))
        return Traced(value, code, self.log)

    def __add__(self, other: Any) -> Traced:
        return self._step("+", other, self.value + _plain(other))

    def __radd__(self, other: Any) -> Traced:
        return self._step("+", other, _plain(other) + self.value, swapped=True)

    def __sub__(self, other: Any) -> Traced:
        return self._step("-", other, self.value - _plain(other))

    def __rsub__(self, other: Any) -> Traced:
        return self._step("-", other, _plain(other) - self.value, swapped=True)

    def __mul__(self, other: Any) -> Traced:
        return self._step("*", other, self.value * _plain(other))

    def __rmul__(self, other: Any) -> Traced:
        return self._step("*", other, _plain(other) * self.value, swapped=True)

    def __floordiv__(self, other: Any) -> Traced:
        return self._step("//", other, self.value // _plain(other))

    def __mod__(self, other: Any) -> Traced:
        return self._step("%", other, self.value % _plain(other))

    def __neg__(self) -> Traced:
        code = f"-{_grouped(self.code)}"
        self.log.append((code, integer(-self.value)))
        return Traced(-self.value, code, self.log)


def _plain(x: Any) -> Int:
    return x.value if isinstance(x, Traced) else integer(x)


def _grouped(code: str) -> str:
    return f"({code})" if " " in code else code
