"""What a launch finds in L2 of what the one before has moved, by launches in a row over the same footprint (M46)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..cache import STAYING, missed
from ..fitting import Fitted
from .rows import COPY, Row, mid, those

if TYPE_CHECKING:
    from ..points import Array

MB = 1_000_000
HELD = 8 * MB, 36 * MB  # bytes of footprints that L2 holds
AWAY = 80 * MB, 200 * MB  # and of such of which it holds nothing
FOUND, LOST = np.arange(36, 54) * MB, np.arange(54, 74) * MB  # that are tried
PARTS = np.arange(0.7, 1.005, 0.02)


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


def _cases(rows: Sequence[Row], staying: bool) -> list[_Case]:
    some = [r for r in those(rows, id="M46") if "ns" in r and (r["per_sm"] <= STAYING) == staying]
    found = []
    for kernel, mode, per_sm in sorted({(r["kernel"], r["mode"], r["per_sm"]) for r in some}):
        alike = those(some, kernel=kernel, mode=mode, per_sm=per_sm)
        size, ns = (np.array(x, dtype=float) for x in zip(*((r["moved"], mid(r, "ns")) for r in alike), strict=True))
        lines = [np.polyfit(size[at], ns[at], 1) for at in ((size >= a) & (size <= b) for a, b in (HELD, AWAY))]
        held, away = (np.polyval(x, size) for x in lines)
        at = (size > HELD[1]) & (size < AWAY[0])
        found.append(_Case(size[at], ns[at], held[at], away[at], float(lines[1][1]), mode == COPY))
    return found


def _rms(cases: Sequence[_Case], found: Any, lost: Any, written: float) -> Array:
    left = np.concatenate([case.left(found, lost, written) for case in cases], axis=-1)
    return np.asarray(np.sqrt(np.mean(left**2, axis=-1)))


class _Rise(NamedTuple):
    """Bytes of which all is found, and nothing is; what L2 holds of written ones, as a part; what is left over."""

    found: float
    lost: float
    written: float
    residual: float
    points: int


def _rise(rows: Sequence[Row]) -> _Rise:
    """Where CTAs stay on their SMs."""
    cases, best = _cases(rows, True), []
    for part in map(float, PARTS):
        left = _rms(cases, FOUND[:, None, None], LOST[:, None], part)
        a, b = np.unravel_index(left.argmin(), left.shape)
        best.append((float(left[a, b]), float(FOUND[a]), float(LOST[b]), part))
    residual, found, lost, written = min(best)
    return _Rise(found, lost, written, residual, sum(len(case.size) for case in cases))


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
    rise, cases = _rise(rows), _cases(rows, False)
    tried = ((float(_rms(cases, x * rise.found, x * rise.lost, rise.written)), float(x)) for x in PARTS)
    left, part = min(tried)
    return Fitted(part, left, sum(len(case.size) for case in cases))


__all__ = ["l2_again_bytes", "l2_lost_bytes", "l2_moved", "l2_written"]
