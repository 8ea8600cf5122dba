"""What a launch finds in L2 of what the one before has moved, by launches in a row over the same footprint (M46)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cache import STAYING, missed
from ..fitting import Fitted
from .memory import l2_bytes
from .rows import COPY, Row, mid, those

if TYPE_CHECKING:
    from ..points import Array

HELD, AWAY = (0.2, 0.92), (2.0, 5.2)  # footprints that L2 holds whole, and not at all, as multiples of l2_bytes (M7)
FOUND, LOST = np.arange(0.8, 1.42, 0.025), np.arange(1.3, 2.02, 0.025)  # the same of those that are tried
PARTS = np.arange(0.5, 1.005, 0.02)
TWO = 2  # sizes, that make a line


@dataclass(frozen=True)
class _Case:
    """Launches of one kernel by footprint: their times, what these would be in L2, and in DRAM, and beside both."""

    size: Array
    ns: Array
    held: Array
    lost: Array
    launch: float
    copied: bool

    def left(self, found: Any, lost: Any, written: float) -> Array:
        """What is left over of the times, if L2 and DRAM are busy at the same time: along the last axis."""
        size = self.size * (1 + 1 / written) / 2 if self.copied else self.size
        part = missed(size, found, lost)
        return np.asarray(np.maximum(self.held, self.launch + part * (self.lost - self.launch)) / self.ns - 1)


def _cases(rows: Sequence[Row], staying: bool, held: float) -> list[_Case]:
    """Those of so few CTAs on an SM that they stay, or of more; L2 holds so much. Raises ValueError for few rows."""
    some = [r for r in those(rows, id="M46") if "ns" in r and (r["per_sm"] <= STAYING) == staying]
    found = []
    for kernel, mode, per_sm in sorted({(r["kernel"], r["mode"], r["per_sm"]) for r in some}):
        alike = those(some, kernel=kernel, mode=mode, per_sm=per_sm)
        size, ns = (np.array(x, dtype=float) for x in zip(*((r["moved"], mid(r, "ns")) for r in alike), strict=True))
        ends = [(size >= a * held) & (size <= b * held) for a, b in (HELD, AWAY)]
        between = (size > HELD[1] * held) & (size < AWAY[0] * held)
        if min(len(set(size[at])) for at in ends) < TWO or not between.any():
            raise ValueError(f"expected footprints below, around and beyond {held:.4g} bytes, got {sorted(set(size))}")
        lines = [np.polyfit(size[at], ns[at], 1) for at in ends]
        low, high = (np.polyval(x, size[between]) for x in lines)
        found.append(_Case(size[between], ns[between], low, high, float(lines[1][1]), mode == COPY))
    if not found:
        raise ValueError("expected rows of launches in a row, got none")
    return found


def _rms(cases: Sequence[_Case], found: Any, lost: Any, written: float) -> Array:
    left = np.concatenate([case.left(found, lost, written) for case in cases], axis=-1)
    return np.asarray(np.sqrt(np.mean(left**2, axis=-1)))


class _Rise(NamedTuple):
    """Bytes up to which all is found, and from which on nothing is; the part that L2 holds of written ones."""

    found: float
    lost: float
    written: float
    residual: float
    points: int


def _rise(rows: Sequence[Row]) -> _Rise:
    """Where CTAs stay on their SMs. Raises ValueError where the best is at an end of what is tried."""
    held = l2_bytes(rows).value
    cases, best = _cases(rows, True, held), []
    for part in map(float, PARTS):
        left = _rms(cases, held * FOUND[:, None, None], held * LOST[:, None], part)
        a, b = (int(k) for k in np.unravel_index(left.argmin(), left.shape))
        best.append((float(left.min()), a, b, part))
    residual, a, b, written = min(best)
    if a in (0, len(FOUND) - 1) or b in (0, len(LOST) - 1) or written == PARTS[0]:
        raise ValueError(f"expected a rise inside of what is tried, got one from {FOUND[a]:.2g} to {LOST[b]:.2g}")
    return _Rise(held * FOUND[a], held * LOST[b], written, residual, sum(len(case.size) for case in cases))


def l2_again_bytes(rows: Sequence[Row]) -> Fitted:
    """Bytes that are loaded, up to which a launch finds all that the one before has moved."""
    rise = _rise(rows)
    return Fitted(rise.found, rise.residual, rise.points)


def l2_lost_bytes(rows: Sequence[Row]) -> Fitted:
    """Bytes from which on it finds nothing."""
    rise = _rise(rows)
    return Fitted(rise.lost, rise.residual, rise.points)


def l2_written(rows: Sequence[Row]) -> Fitted:
    """What L2 holds of bytes that are written, as a part of what it holds of others."""
    rise = _rise(rows)
    return Fitted(rise.written, rise.residual, rise.points)


def l2_moved(rows: Sequence[Row]) -> Fitted:
    """What L2 holds of these bytes, as a part, where so many CTAs are on an SM that they come to others each time."""
    rise, cases = _rise(rows), _cases(rows, False, l2_bytes(rows).value)
    tried = ((float(_rms(cases, x * rise.found, x * rise.lost, rise.written)), float(x)) for x in PARTS)
    left, part = min(tried)
    if part == PARTS[0]:
        raise ValueError(f"expected a part above {PARTS[0]:.2g} of what CTAs find that stay, got {part:.2g}")
    return Fitted(part, left, sum(len(case.size) for case in cases))


__all__ = ["l2_again_bytes", "l2_lost_bytes", "l2_moved", "l2_written"]
