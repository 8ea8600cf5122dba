"""Fits of one number each: a level or a line, its residual, and whether what is left over follows a pattern.

>>> fit = line([1, 2, 3, 4], [12, 22, 32, 42])
>>> fit.slope, fit.intercept, fit.residual < 1e-12
(10.0, 2.0, True)
>>> curved = line(range(1, 20), [100 + x * x for x in range(1, 20)])
>>> curved.pattern
'2 changes of sign in 19 residuals along x, where chance gives 9'

Residuals are relative. A fit whose residuals keep their sign for long along what was varied is a model that is wrong,
not a measurement that is noisy (Wald and Wolfowitz 1940: the test of runs).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NOISE = 0.02  # of a value: what repeats of one point differ by at most; smaller residuals say nothing
FEW = 6  # points below which a pattern is not looked for
CHANCE = -2.33  # standard deviations: one in a hundred

Numbers = Sequence[float] | range


@dataclass(frozen=True)
class Fitted:
    """A fit: its value, the root mean square of its relative residuals, and the pattern in them, if there is one."""

    value: float
    residual: float
    points: int
    pattern: str = ""
    slope: float = 0.0
    intercept: float = 0.0
    worst: float = field(default=0.0, compare=False)

    def __str__(self) -> str:
        told = f"{self.value:.4g}, residual {100 * self.residual:.1f} % of {self.points} points"
        return f"{told}; {self.pattern}" if self.pattern else told


def level(values: Numbers, along: Mapping[str, Numbers] | None = None) -> Fitted:
    """The median of values that ought to be equal, whatever was varied. Raises ValueError for none.

    >>> print(level([3.9, 4.0, 4.1]))
    4, residual 2.0 % of 3 points
    """
    y = np.asarray(values, dtype=float)
    if not len(y):
        raise ValueError("expected values, got none")
    value = float(np.median(y))
    left = y / value - 1
    return Fitted(value, _rms(left), len(y), _patterns(along or {}, left), worst=float(np.abs(left).max()))


def line(x: Numbers, y: Numbers, along: Mapping[str, Numbers] | None = None) -> Fitted:
    """The line of the least relative squares; its *value* is the slope. Raises ValueError for less than two places."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if len(set(x)) < 2:
        raise ValueError(f"expected points at two places at least, got {len(set(x))}")
    design = np.stack([a / b, 1 / b], axis=1)
    (slope, intercept), *_ = np.linalg.lstsq(design, np.ones(len(b)), rcond=None)
    left = (slope * a + intercept) / b - 1
    pattern = _patterns({"x": list(a), **(along or {})}, left)
    return Fitted(float(slope), _rms(left), len(b), pattern, _round(slope), _round(intercept))


def _round(x: Any) -> float:
    return float(np.round(x, 9))


def _rms(left: Any) -> float:
    return float(np.sqrt(np.mean(np.square(left))))


def _patterns(along: Mapping[str, Numbers], left: Any) -> str:
    """The first of what was varied along which the residuals keep their sign for too long."""
    if len(left) < FEW or _rms(left) < NOISE:
        return ""
    for name, x in along.items():
        order = np.argsort(np.asarray(x, dtype=float), kind="stable")
        signs = np.sign(left[order])
        signs = signs[signs != 0]
        above, below = int((signs > 0).sum()), int((signs < 0).sum())
        if min(above, below) == 0:
            continue
        n = above + below
        runs = 1 + int((signs[1:] != signs[:-1]).sum())
        mean = 2 * above * below / n + 1
        variance = max((mean - 1) * (mean - 2) / (n - 1), 1e-9)
        if (runs - mean) / variance**0.5 < CHANCE:
            return f"{runs - 1} changes of sign in {n} residuals along {name}, where chance gives {mean - 1:.0f}"
    return ""
