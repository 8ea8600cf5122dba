"""The verdict of a profile on a file of encode calls, and where it differs from the recorded answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..rules import Rule, broken
from ..rules.tma import rules_of, violations
from .recorded import Call, chunks, columns

PROFILES = ("driver", "cccl", "hardware", "documented")
UNKNOWN_TO_ROWS = ("global_address_nonnull",)  # a row's address counts from an aligned one
SHOWN = 20  # disagreements that are listed
ACCEPTED, REFUSED = 0, 1  # CUDA_SUCCESS and CUDA_ERROR_INVALID_VALUE; other codes do not judge the parameters


@dataclass
class Reason:
    """A rule that some rows break: how many, and the first of them with what it breaks."""

    count: int
    line: int
    message: str


@dataclass
class Disagreement:
    """A row whose recorded code is not what the profile says, with the rules that it breaks."""

    line: int
    code: int
    rules: list[str]

    def __str__(self) -> str:
        ours = f"refused by {', '.join(self.rules)}" if self.rules else "accepted"
        return f"line {self.line}: {'accepted' if self.code == ACCEPTED else 'refused'} (code {self.code}), here {ours}"


@dataclass
class Summary:
    """The verdict of a profile on the rows of a file."""

    file: str
    profile: str
    against: str = ""
    rows: int = 0
    accepted: int = 0
    reasons: dict[str, Reason] = field(default_factory=dict)
    compared: int = 0
    disagreements: int = 0
    first: list[Disagreement] = field(default_factory=list)
    seconds: float = 0.0
    rule_seconds: float = 0.0

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(r for r in rules_of(self.profile) if r.id not in UNKNOWN_TO_ROWS)

    def add(self, lines: list[int], rows: list[Any]) -> None:
        """Judge some more rows, which are in these lines. Raises LayoutError for a row that is not an encode call."""
        table = columns(rows, lambda i: f"{self.file}:{lines[i]}")
        begin = time.perf_counter()
        bad = broken(table, self.rules)
        taken = ~np.logical_or.reduce(list(bad.values()))
        self.rule_seconds += time.perf_counter() - begin
        for name, breaks in bad.items():
            if breaks.any():
                self._count(name, int(breaks.sum()), lines[i := int(breaks.argmax())], table.row(i))
        self.rows += len(rows)
        self.accepted += int(taken.sum())
        if self.against:
            self._compare(lines, self._codes(lines, rows), taken, bad)

    def _count(self, name: str, count: int, line: int, row: Call) -> None:
        if name in self.reasons:
            self.reasons[name].count += count
            return
        message = next(v.message for v in violations(row, self.profile) if v.rule.id == name)
        self.reasons[name] = Reason(count, line, message)

    def _codes(self, lines: list[int], rows: list[Any]) -> Any:
        """The recorded codes; -1 for a number that no code is, since codes judge nothing there either."""
        found = [r.get(self.against) for r in rows]
        for line, code in zip(lines, found, strict=True):
            if type(code) is not int:
                got = "nothing" if code is None else json.dumps(code)
                raise LayoutError(f"{self.file}:{line}: expected an integer as {self.against}, got {got[:40]}")
        return np.array([code if 0 <= code < 2**31 else -1 for code in found])

    def _compare(self, lines: list[int], codes: Any, taken: Any, bad: dict[str, Any]) -> None:
        judged = (codes == ACCEPTED) | (codes == REFUSED)
        differs = np.flatnonzero(judged & (taken != (codes == ACCEPTED)))
        self.compared += int(judged.sum())
        self.disagreements += len(differs)
        for i in differs[: SHOWN - len(self.first)]:
            rules = [name for name, breaks in bad.items() if breaks[i]]
            self.first.append(Disagreement(lines[i], int(codes[i]), rules))

    # -- in words -----------------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The report as text."""
        yield f"{self.file}: {self.rows} descriptors, {self.accepted} accepted by {self.profile}, {self._refused} not"
        reasons = sorted(self.reasons.items(), key=lambda item: -item[1].count)
        width = max((len(name) for name, _ in reasons), default=0)
        for name, r in reasons:
            yield f"  {name:{width}} {r.count:8}  first in line {r.line}: {r.message}"
        if self.against:
            yield from self._agreement()
        rate = f"{self.rows / self.rule_seconds:,.0f}" if self.rule_seconds else "all"
        yield f"{self.seconds:.2f} s; the rules judge {rate} descriptors a second"

    def _agreement(self) -> Iterator[str]:
        apart = f"; {self.rows - self.compared} with other codes are not compared" * (self.rows != self.compared)
        if not self.disagreements:
            yield f"agrees with {self.against} on {self.compared} of {self.compared}{apart}"
            return
        yield f"disagrees with {self.against} on {self.disagreements} of {self.compared}{apart}"
        for d in self.first:
            yield f"  {d}"
        if self.disagreements > len(self.first):
            yield f"  and {self.disagreements - len(self.first)} more"

    @property
    def _refused(self) -> int:
        return self.rows - self.accepted

    def as_json(self) -> dict[str, Any]:
        """The report as data."""
        out: dict[str, Any] = {
            "file": self.file,
            "profile": self.profile,
            "rows": self.rows,
            "accepted": self.accepted,
            "refused": self._refused,
            "rules": [{"id": name, **vars(r)} for name, r in self.reasons.items()],
        }
        if self.against:
            out["against"] = {
                "field": self.against,
                "compared": self.compared,
                "disagreements": self.disagreements,
                "first": [vars(d) for d in self.first],
            }
        return out


def judged(file: str | Path, profile: str = "driver", against: str = "", chunk: int = 50_000) -> Summary:
    """The verdict of a profile on every encode call of a JSON-lines file, gzipped or not.

    *against* is the field of a recorded result code. Raises LayoutError with the line for what cannot be read, for an
    empty file and for an unknown profile.
    """
    if profile not in PROFILES:
        raise LayoutError(f"expected a profile ({', '.join(PROFILES)}), got {profile!r}")
    summary, begin = Summary(str(file), profile, against), time.perf_counter()
    for lines, rows in chunks(file, chunk):
        summary.add(lines, rows)
    if not summary.rows:
        raise LayoutError(f"{file}: expected descriptors, got none")
    summary.seconds = time.perf_counter() - begin
    return summary
