"""Slices of random claims, judged and counted; a file of finished slices adds up over runs.

A slice is some claims of one kind, on numbers or on symbols, drawn from a seed of its own. Its line in the file is one
JSON object: seed, kind, mode, number of the slice, code version, and how many were proved, refuted, unknown, vacuous
and wrong. A run that was stopped loses the slice in hand; the next one goes on with what the file lacks.
"""

from __future__ import annotations

import collections
import functools
import hashlib
import json
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from checkers.prover import Budget
from checkers.trusted.certificate_checker import verify
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import CertificateError

from .row import Row, stated

OUTCOMES = tuple(o.value for o in Outcome)
MODES = {"static": 500, "symbolic": 50}  # claims of weight 1 in a slice


@dataclass(frozen=True)
class Slice:
    """The counts of one finished slice."""

    seed: int
    kind: str
    mode: str
    number: int
    version: str
    trials: int
    proved: int
    refuted: int
    unknown: int
    vacuous: int
    wrong: int
    seconds: float = 0.0
    complaints: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int, str, str, int, str]:
        return self.seed, self.kind, self.mode, self.number, self.version


@functools.cache
def code_version() -> str:
    """A hash of the sources whose verdicts are judged and of those that judge them."""
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in ("symlayout", "checkers", "benchmarks/soundness"):
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def trials(
    row: Row, mode: str, count: int, seed: str, solver_ms: int = 400, repairs: bool = True
) -> tuple[collections.Counter[str], list[str]]:
    """The outcomes of *count* random claims of a kind, and every verdict that the oracle contradicts.

    The claims depend on the seed alone, not on verdicts, so that two versions of the code judge the same ones. Nobody
    judges the *repairs* of refuted claims here.
    """
    r, sizes = random.Random(seed), random.Random(f"sizes of {seed}")
    counts: collections.Counter[str] = collections.Counter()
    wrong: list[str] = []
    budget = Budget(repairs=repairs) if mode == "static" else Budget(solver_ms=solver_ms, repairs=repairs)
    for _ in range(count):
        claim = stated(getattr(row, mode), r)
        try:
            v = row.decided(claim, budget)
        except Exception as e:  # whatever it is, a claim that can be stated must have a verdict
            wrong.append(f"{claim}\n    {type(e).__name__}: {e}")
            continue
        counts[v.outcome.value] += 1
        complaint = row.complaint(claim, v, sizes) or unbound(v)
        if complaint:
            wrong.append(f"{v}\n    {complaint}")
    return counts, wrong


def unbound(v: Verdict) -> str:
    """What is wrong with the certificate of a verdict, as JSON keeps it; '' where it is accepted or there is none."""
    if v.certificate is None:
        return ""
    try:
        verify(json.loads(json.dumps(v.certificate)))
    except CertificateError as e:
        return f"the certificate is refused: {e}"
    return ""


def run_slice(row: Row, mode: str, seed: int, number: int) -> Slice:
    """One slice, judged."""
    begin = time.perf_counter()
    count = max(1, MODES[mode] // row.weight)
    counts, wrong = trials(row, mode, count, f"{seed} {row.name} {mode} {number}")
    return Slice(
        seed,
        row.name,
        mode,
        number,
        code_version(),
        count,
        **{o: counts[o] for o in OUTCOMES},
        wrong=len(wrong),
        seconds=round(time.perf_counter() - begin, 3),
        complaints=tuple(wrong[:3]),
    )


def planned(rows: Iterable[Row], wanted: dict[str, int], seed: int) -> Iterator[tuple[Row, str, int]]:
    """(row, mode, number) of the slices of a campaign: kinds in turn, so that one that is stopped early is even."""
    rows = tuple(rows)
    for mode, total in wanted.items():
        each = -(-total // max(1, len(rows)))
        for number in range(-(-each // MODES[mode])):
            yield from ((row, mode, number) for row in rows)


def read(path: Path) -> list[Slice]:
    """The finished slices in a file; a line that a killed run left half written is skipped."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            data = json.loads(line)
            found.append(Slice(**{**data, "complaints": tuple(data.get("complaints", ()))}))
        except (ValueError, TypeError):
            continue
    return found


def append(path: Path, s: Slice) -> None:
    """One more line, after a line that a killed run left half written."""
    half = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as f:
        f.write(("\n" if half else "") + json.dumps(asdict(s)) + "\n")


def campaign(
    rows: Iterable[Row], wanted: dict[str, int], seed: int, path: Path | None = None, limit_s: float = 0.0
) -> list[Slice]:
    """The slices that *wanted* claims of each mode take, those of this code version in the file not run again."""
    found = read(path) if path is not None else []
    done = {s.key for s in found}
    begin = time.perf_counter()
    for row, mode, number in planned(rows, wanted, seed):
        if (seed, row.name, mode, number, code_version()) in done:
            continue
        if limit_s and time.perf_counter() - begin > limit_s:
            break
        s = run_slice(row, mode, seed, number)
        found.append(s)
        if path is not None:
            append(path, s)
    return found


def table(slices: Iterable[Slice]) -> str:
    """Per mode and kind: trials, proved, refuted, unknown, vacuous, the share decided, and how many are wrong."""
    sums: dict[tuple[str, str], collections.Counter[str]] = {}
    for s in slices:
        counts = sums.setdefault((s.mode, s.kind), collections.Counter())
        counts.update({"trials": s.trials, "wrong": s.wrong, **{o: getattr(s, o) for o in OUTCOMES}})
    lines = [f"{'':<10}{'kind':<18}" + "".join(f"{c:>9}" for c in ("trials", *OUTCOMES, "decided", "wrong"))]
    for (mode, kind), c in sorted(sums.items()):
        share = 1 - c["unknown"] / c["trials"]
        cells = [c["trials"], *(c[o] for o in OUTCOMES), f"{share:.2%}", c["wrong"]]
        lines.append(f"{mode:<10}{kind:<18}" + "".join(f"{x:>9}" for x in cells))
    for mode in dict.fromkeys(m for m, _ in sums):
        total = sum(c["trials"] for (m, _), c in sums.items() if m == mode)
        wrong = sum(c["wrong"] for (m, _), c in sums.items() if m == mode)
        lines.append(f"{mode}: {total} claims, {wrong} wrong")
    return "\n".join(lines)
