"""A machine from rows of microbenchmarks: every number that they tell, and the rest as another machine has it.

>>> from simulator import H200
>>> rows = [{"id": "M9", "op": "arrivals", "count": n, "cycles": [100 + 6 * n] * 3} for n in (64, 192)]
>>> found = calibrated(rows, base=H200, name="mine")
>>> print(found.machine["mbarrier_arrive"])
mbarrier_arrive = 6 cycles, measured, +-2 %: M9: arrivals one after another; residual 0.0 % of 3 points
>>> [(a.number, a.refused) for a in found.answers if a.fit]
[('mbarrier_arrive', '')]

A fit is refused, and the number of the base kept, where its residuals follow a pattern, where they are large, and where
rows are missing. The uncertainty of a number is what its fit leaves over, at least 2 %.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from symlayout.errors import unread

from .calibration import NUMBERS, Row, Source
from .engine import SimulationError
from .fitting import NOISE, Fitted
from .machine import Machine, Number
from .machine import machine as named

LARGE = 0.25  # a fit that leaves more over says nothing
MEASURED = "measured"
HEAD = (
    "# Each number has its unit, its grade (measured, documented, guessed), the relative half-width of its uncertainty",
    "# and its source. None is fitted to a kernel. Cycles are those of the SM clock; beyond the SM it is nanoseconds.",
)


@dataclass(frozen=True)
class Answer:
    """What the rows say of a number: the fit, and why it was refused, if it was."""

    number: str
    source: Source
    fit: Fitted | None
    refused: str
    before: float | None

    def __str__(self) -> str:
        was = "new" if self.before is None else f"was {self.before:.5g}"
        if self.fit is None:
            return f"{self.number:20} {self.refused}"
        head = (
            f"{self.number:20} {self.fit.value:10.5g} {self.source.unit:8} {was:12} residual {self.fit.residual:6.2%}"
        )
        return f"{head} of {self.fit.points:3} points  {self.source.rows}: {self.refused or self.source.sentence}"


@dataclass(frozen=True)
class Calibrated:
    """A machine, and what the rows say of each number."""

    machine: Machine
    answers: tuple[Answer, ...]

    @property
    def refused(self) -> tuple[Answer, ...]:
        """The fits that were refused, missing rows aside."""
        return tuple(a for a in self.answers if a.fit is not None and a.refused)

    def __str__(self) -> str:
        return "\n".join(map(str, self.answers))


def calibrated(rows: Sequence[Row], base: Machine, name: str) -> Calibrated:
    """Fit every number that the rows tell; the others are those of the base, and say so."""
    answers = tuple(_answer(number, source, rows, base) for number, source in NUMBERS.items())
    numbers = base.inherited(name)
    for a in answers:
        if a.fit is None or a.refused:
            continue
        source = f"{a.source.rows}: {a.source.sentence}; residual {100 * a.fit.residual:.1f} % of {a.fit.points} points"
        value: float = round(a.fit.value) if a.source.unit in ("bytes", "count") else float(f"{a.fit.value:.5g}")
        value = int(value) if value == int(value) and a.source.unit in ("bytes", "count", "cycles") else value
        uncertainty = max(NOISE, round(a.fit.residual, 3))
        numbers[a.number] = Number(a.number, value, a.source.unit, MEASURED, source, uncertainty)
    return Calibrated(replace(base, name=name, numbers=numbers), answers)


def _answer(number: str, source: Source, rows: Sequence[Row], base: Machine) -> Answer:
    before = base.numbers[number].value if number in base.numbers else None
    mine = [
        r
        for r in rows
        if r.get("id") in source.rows.split() and "wrong" not in r and "error" not in r and "after" not in r
    ]
    try:
        fit = source.rule(mine)
    except (ValueError, IndexError, KeyError, StopIteration) as e:  # some row that the rule needs is not there
        why = f": {e}" if mine and isinstance(e, ValueError) and str(e).startswith("expected") else ""
        told = f"expected the rows of {source.rows} that determine it, got {len(mine)}{why}"
        return Answer(number, source, None, told, before)
    refused = ""
    if not fit.value > 0:
        refused = f"expected a number above 0, got {fit.value:.4g}"
    elif fit.pattern:
        refused = f"refused, residuals follow a pattern: {fit.pattern}"
    elif fit.residual > LARGE:
        refused = f"refused, expected residuals of at most {LARGE:.0%}, got {fit.residual:.0%}"
    return Answer(number, source, fit, refused, before)


# -- files ---------------------------------------------------------------------------------------------------


def rows_of(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """The device, and the rows, of a file or of all files of a folder. Raises SimulationError where there are none."""
    files = sorted(p for p in path.iterdir() if p.name.endswith((".jsonl", ".jsonl.gz"))) if path.is_dir() else [path]
    found: list[dict[str, Any]] = []
    devices = set()
    for file in files:
        try:
            data = file.read_bytes()
            text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode()
            rows = [json.loads(line) for line in text.splitlines()]
        except (OSError, ValueError) as e:
            said = f"expected rows of microbenchmarks in {file}, a JSON object a line"
            raise SimulationError(f"{said}, got {unread(e)}") from e
        devices |= {str(r["device"]).partition(",")[0] for r in rows if "device" in r}
        found += [r for r in rows if "id" in r]
    if not found:
        raise SimulationError(f"expected rows of microbenchmarks in {path}, got none")
    if len(devices) > 1:
        raise SimulationError(f"expected rows of one device in {path}, got those of {', '.join(sorted(devices))}")
    return next(iter(devices), path.stem), found


def toml(machine: Machine, base: str = "") -> str:
    """The file of a machine; with the name of a *base* the numbers alone that differ from those of that machine.

    >>> from simulator import H200
    >>> print(toml(H200).splitlines()[3])
    name = "NVIDIA H200"
    >>> print(toml(H200.replacing(launch=9), base="h200").splitlines()[4:8])
    ['base = "h200"', '', '[launch]', 'value = 9']
    """
    same = named(base).inherited(machine.name) if base else {}
    lines = [*HEAD, "", f"name = {json.dumps(machine.name)}", *([f"base = {json.dumps(base)}"] if base else [])]
    for n in machine.numbers.values():
        if same.get(n.name) == n:
            continue
        lines += ["", f"[{n.name}]", f"value = {n.value!r}", f"unit = {json.dumps(n.unit)}"]
        lines += [
            f"grade = {json.dumps(n.grade)}",
            f"uncertainty = {n.uncertainty!r}",
            f"source = {json.dumps(n.source)}",
            *([f"of = {json.dumps(n.of)}"] if n.of else []),
        ]
    return "\n".join(lines) + "\n"
