"""The budget of a call: steps that are counted, so that answers repeat, and seconds as the backstop.

Every search takes a ``step`` for each piece of work; outside of ``metered`` a step costs nothing and ends nothing.

    >>> with metered(seconds=60, steps=3) as left:
    ...     for _ in range(5):
    ...         step()
    Traceback (most recent call last):
    symlayout.meter.Exhausted: 3 steps
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from .errors import LayoutError, UndecidedError

P = ParamSpec("P")
R = TypeVar("R")

NOT_YET = 0.0  # the end of a budget whose seconds begin with its first step
CALL_SECONDS, CALL_STEPS = 5.0, 20_000_000  # of a public call that no budget is around


class Exhausted(Exception):
    """The budget of a call ended; says which part of it. No SymlayoutError: a search that fails is another thing."""


class Meter:
    """Steps and seconds that are left."""

    __slots__ = ("allowed", "end", "seconds", "steps")

    def __init__(self, seconds: float, steps: int) -> None:
        self.seconds, self.allowed, self.steps = seconds, steps, steps
        self.end = time.perf_counter() + seconds

    def take(self, work: int) -> None:
        """Raise Exhausted where more work is beyond what was allowed."""
        self.steps -= work
        if self.steps < 0:
            raise Exhausted(f"{self.allowed} steps")
        if self.end == NOT_YET:
            self.end = time.perf_counter() + self.seconds
        if time.perf_counter() > self.end:
            raise Exhausted(f"{self.seconds:g} s")

    def remaining(self) -> float:
        """The seconds that are left, 0 at least."""
        return self.seconds if self.end == NOT_YET else max(0.0, self.end - time.perf_counter())


class _Here(threading.local):
    meter: Meter | None = None

    def __init__(self) -> None:
        self.call = Meter(CALL_SECONDS, CALL_STEPS)  # that of public calls, used again: most take no step


_here = _Here()


class metered:  # noqa: N801  # read as a word: ``with metered(...)``; a generator would cost a fifth of a quick verdict
    """Count what is done inside; a budget inside another one has no more than is left of that one."""

    __slots__ = ("begin", "mine", "outer")

    def __init__(self, seconds: float, steps: int) -> None:
        self.mine = Meter(seconds, steps)

    def __enter__(self) -> Meter:
        mine = self.mine
        self.outer = outer = _here.meter
        if outer is not None:
            mine.end = min(mine.end, time.perf_counter() + outer.remaining())
            mine.steps = min(mine.steps, outer.steps)
        self.begin = mine.steps
        _here.meter = mine
        return mine

    def __exit__(self, *raised: object) -> None:
        _here.meter = outer = self.outer
        if outer is not None:
            outer.steps -= self.begin - self.mine.steps


def step(work: int = 1) -> None:
    """One piece of work, of so many units: raises Exhausted where the budget around it has ended."""
    meter = _here.meter
    if meter is not None:
        meter.take(work)


def spent() -> int:
    """The steps that the budget around has given so far, to compare with those after some work; 0 without one."""
    meter = _here.meter
    return 0 if meter is None else meter.allowed - meter.steps


def attempt(search: Callable[[], R], steps: int) -> tuple[tuple[R, ...], int]:
    """The result of a search within some steps, or nothing if it has not ended by then; and the steps that it took.

    Raises Exhausted where the budget around has ended.

    >>> attempt(lambda: step(3), 3), attempt(lambda: step(3), 2)
    (((None,), 3), ((), 3))
    """
    found: tuple[R, ...] = ()
    with metered(math.inf, steps) as meter:
        begin = meter.steps
        with contextlib.suppress(Exhausted):
            found = (search(),)
    step(0)
    return found, begin - meter.steps


def remaining() -> float | None:
    """The seconds that the budget around has left, None where there is none."""
    return None if _here.meter is None else _here.meter.remaining()


def ends(f: Callable[P, R]) -> Callable[P, R]:
    """A version of *f* whose every call ends: outside of any budget it has CALL_SECONDS and CALL_STEPS of its own.

    Raises UndecidedError where they do not suffice, LayoutError for what is nested deeper than Python's stack.
    """

    @functools.wraps(f)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if _here.meter is not None:
            return f(*args, **kwargs)
        _here.meter = meter = _here.call
        meter.steps, meter.allowed, meter.end = CALL_STEPS, CALL_STEPS, NOT_YET
        try:
            return f(*args, **kwargs)
        except Exhausted as e:
            raise UndecidedError(
                f"expected sizes whose signs and quotients are decided within the limit of a call, got more for "
                f"{f.__name__}: it was not done after {e}; give numbers for some sizes, or fewer modes"
            ) from None
        except RecursionError:
            raise LayoutError(
                f"expected values of moderate depth for {f.__name__}, got some nested deeper than Python's stack"
            ) from None
        finally:
            _here.meter = None

    return call
