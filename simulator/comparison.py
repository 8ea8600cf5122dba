"""A prediction beside measured times and beside an earlier prediction.

>>> parse_time("130.5us"), parse_tolerance("3%")
(0.0001305, 0.03)
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from symlayout.errors import unread

from .engine import SimulationError
from .machine import Machine
from .prediction import Prediction
from .trace_text import percent, title

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SCHEMA = 1  # of a file of baselines


@dataclass(frozen=True)
class Measured:
    """Seconds of a launch that somebody measured: the median, and the tenth and ninetieth percentile if known."""

    name: str
    median: float
    p10: float | None = None
    p90: float | None = None


def parse_time(text: str) -> float:
    """The seconds of a text such as ``130.5us``. Raises SimulationError."""
    found = re.fullmatch(r"([0-9.]+(?:e-?[0-9]+)?) ?(s|ms|us|ns)", text)
    try:
        seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise SimulationError(f"expected a time such as 130.5us or 2ms, got {text!r}")
    return seconds


def parse_tolerance(text: str) -> float:
    """The part of one of a text such as ``3%`` or ``0.03``. Raises SimulationError."""
    try:
        part = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        part = -1.0
    if not 0 <= part < 1:
        raise SimulationError(f"expected a tolerance from 0 to 100 % such as 3% or 0.03, got {text!r}")
    return part


def measured_times(text: str) -> list[Measured]:
    """The times of a text: one such as ``130.5us``, or a JSON file of ``gpu.measure`` or of ``symlayout verify``.

    Raises SimulationError for a file without a measurement.
    """
    if not text.endswith(".json"):
        return [Measured("measured", parse_time(text))]
    try:
        data = json.loads(Path(text).read_text(encoding="utf-8"))
        data = data.get("measured", data)
        rows = [data["timed"], *data.get("peers", ()), data["copy"]]
        return [
            Measured(f"{row['name']}, L2 {state}", *_percentiles(row[state]["samples"]))
            for row in rows
            for state in ("warm", "cold")
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise SimulationError(
            f"expected a measurement of gpu.measure or symlayout verify --format json in {text}, got {_told(e)}"
        ) from e


def _told(e: Exception) -> str:
    return f"none of the key {e}" if isinstance(e, KeyError) else unread(e)


def _percentiles(samples: list[float]) -> tuple[float, float, float]:
    low, middle, high = (float(x) for x in np.percentile(samples, (10, 50, 90)))
    return middle, low, high


def compared(p: Prediction, rows: list[Measured]) -> Iterator[str]:
    """A line for each measured time: how far the prediction is from it, and whether it lies in the range."""
    for row in rows:
        spread = f", p10-p90 {1e6 * row.p10:.2f} .. {1e6 * row.p90:.2f} us" if row.p10 and row.p90 else ""
        where = ""
        if p.around:
            inside = p.around.p10_ps <= 1e12 * row.median <= p.around.p90_ps
            where = f", and lies {'inside' if inside else 'outside of'} the predicted p10-p90"
        off = percent(p.seconds / row.median - 1)
        yield f"{row.name}: {1e6 * row.median:.2f} us{spread}; the prediction is {off} from it{where}"


# -- baselines ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Against:
    """A prediction against that of a file: *before* is the time there, None where the file had none."""

    name: str
    before: float | None
    seconds: float
    same_numbers: bool = True

    @property
    def change(self) -> float:
        """The change of the time as a part of it; above 0 is slower."""
        return self.seconds / self.before - 1 if self.before else 0.0

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.name}: no baseline before, now {1e6 * self.seconds:.2f} us"
        why = "" if self.same_numbers else "; the numbers of the machine are others than those of the baseline"
        return (
            f"{self.name}: {1e6 * self.seconds:.2f} us, baseline {1e6 * self.before:.2f} us: "
            f"{percent(self.change)}{why}"
        )


def numbers_digest(machine: Machine) -> str:
    """A digest of the values of a machine's numbers."""
    values = sorted((n.name, n.value, n.unit) for n in machine.numbers.values())
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]


def against(p: Prediction, machine: Machine, file: Path, update: bool = False) -> Against:
    """The prediction against the one of its kernel, sizes and machine in a file, which gets it where it has none.

    With *update* the file gets it in any case. Raises SimulationError for a file that holds no baselines.
    """
    rows = _baselines(file)
    name, numbers = title(p), numbers_digest(machine)
    found = rows.get(name)
    if found is None or update:
        rows[name] = {"seconds": p.seconds, "digest": p.digest, "numbers": numbers}
        text = json.dumps({"schema": SCHEMA, "baselines": dict(sorted(rows.items()))}, indent=1)
        try:
            file.write_text(f"{text}\n", encoding="utf-8")
        except OSError as e:
            raise SimulationError(f"expected a file that can be written, got {file}: {e.strerror}") from e
    if found is None:
        return Against(name, None, p.seconds)
    return Against(name, found["seconds"], p.seconds, found["numbers"] == numbers)


def _baselines(file: Path) -> dict[str, Any]:
    if not file.exists():
        return {}
    wanted = f"expected baselines of symlayout simulate --baseline in {file}"
    if not file.is_file():
        raise SimulationError(f"{wanted}, got no regular file")
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise SimulationError(f"{wanted}, got {unread(e)}") from e
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not isinstance(data.get("baselines"), dict):
        raise SimulationError(f"{wanted}, got no object with schema {SCHEMA} and baselines")
    rows: dict[str, Any] = data["baselines"]
    wrong = next((name for name, row in rows.items() if not _is_baseline(row)), None)
    if wrong is not None:
        raise SimulationError(f"{wanted}, got {rows[wrong]!r} for {wrong}")
    return rows


def _is_baseline(row: Any) -> bool:
    """Whether a row has a time and the digest of a machine's numbers."""
    if not isinstance(row, dict) or not isinstance(row.get("numbers"), str):
        return False
    seconds: Any = row.get("seconds")
    return type(seconds) in (int, float) and bool(0 < seconds < float("inf"))
