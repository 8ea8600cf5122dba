"""Rows of microbenchmarks: which of them have some knobs, and what they say of one operation, or of a byte.

>>> timed = [{"op": "arrivals", "count": n, "cycles": [100 + 4 * n, 102 + 4 * n]} for n in (8, 64)]
>>> by("arrivals")(timed).value
4.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..fitting import Fitted, level, line

Row = Mapping[str, Any]
Rule = Callable[[Sequence[Row]], Fitted]
LOAD, STORE, COPY = 1, 2, 3  # modes of rings and boxes


def mid(row: Row, key: str = "cycles") -> float:
    """The median of the repeats of a row."""
    return float(np.median(row[key]))


def those(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows with these knobs; a tuple gives several values that will do."""
    return [r for r in rows if all(r.get(k) in v if isinstance(v, tuple) else r.get(k) == v for k, v in wanted.items())]


def each(rows: Sequence[Row], by: str = "count", **wanted: Any) -> Fitted:
    """The cycles of one more: the slope between the least and the greatest count, as repeats have it."""
    found = sorted(those(rows, **wanted), key=lambda r: float(r[by]))
    few, many = found[0], found[-1]
    step = many[by] - few[by]
    return level([(y - x) / step for x, y in zip(sorted(few["cycles"]), sorted(many["cycles"]), strict=False)])


def rate(row: Row) -> float:
    """Bytes of a nanosecond, read and written."""
    moved = row["bytes"] * row["trips"] * row["grid"]
    return float(moved * (2 if row["mode"] & LOAD and row["mode"] & STORE else 1) / mid(row, "ns"))


def scaled(fit: Fitted, by: float, less: float = 0.0) -> Fitted:
    """A fit whose value is divided, after something was taken away; residuals grow with what is left."""
    value = (fit.value - less) / by
    return Fitted(value, fit.residual * abs(fit.value / by / value), fit.points, fit.pattern)


def by(op: str) -> Rule:
    """Cycles of one of what is timed by itself."""
    return lambda rows: each(rows, op=op)


def commands(kind: int, key: str, largest: int = 256) -> Rule:
    """Cycles of one more command of one thread, of few bytes."""

    def rule(rows: Sequence[Row]) -> Fitted:
        some = [r for r in those(rows, kernel="commands", kind=kind) if r["bytes"] <= largest and r["count"] >= 8]
        return line([r["count"] for r in some], [mid(r, key) for r in some], {"bytes": [r["bytes"] for r in some]})

    return rule


def own(rows: Sequence[Row], *ops: str) -> float:
    """The cycles of operations one after another, as M9, M5 and M20 have them."""
    kinds: dict[str, Callable[[], Fitted]] = {
        "wait": lambda: each(rows, op="waits"),
        "expect": lambda: each(rows, op="expectations"),
        "arrive": lambda: each(rows, op="arrivals"),
        "commit": lambda: each(rows, op="commits"),
        "group": lambda: each(rows, op="group_waits"),
        "loop": lambda: each(rows, op="loop_trips"),
        "issue": lambda: commands(0, "a")(rows),
    }
    return sum(kinds[op]().value for op in ops)
