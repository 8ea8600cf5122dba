"""Score the provers on the frozen corpus: how many claims get the verdict they must get, and how fast.

    python -m benchmarks.corpus [FAMILY ...] [--no-repairs] [--solver-ms 4000] [--slow 50]

The rows are tests/corpus/symbolic.toml and maps.py; open.toml names those that may be left undecided, with the
reason. Times are those of a verdict as users get it, repairs included. Exit status 1 on a wrong verdict.
"""

from __future__ import annotations

import argparse
import collections
import functools
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from checkers import Claim
from checkers.claim_text import KINDS, claim_from
from checkers.prover import Budget, verdicts
from symlayout.answers.report import Verdict
from symlayout.finding.collect import collect
from symlayout.finding.found import Builder, Stated

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "corpus"
FILES = ("symbolic.toml", "maps.py")

RIGHT, UNKNOWN, WRONG = "right", "unknown", "wrong"


@dataclass(frozen=True)
class Row:
    """A claim of the corpus with its name, ``family/what``."""

    name: str
    claim: Claim

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Judged:
    """What the provers said about a row: verdicts of the claim and of its obligations, or an error."""

    row: Row
    verdicts: tuple[Verdict, ...]
    seconds: float
    error: str = ""

    @property
    def outcome(self) -> str:
        """The weakest of the verdicts: a refuted obligation refutes, an open one leaves open."""
        found = [v.outcome.value for v in self.verdicts]
        return next((o for o in ("vacuous", "refuted", "unknown") if o in found), "proved") if found else "error"

    @property
    def score(self) -> str:
        if self.outcome == self.row.claim.expect:
            return RIGHT
        return UNKNOWN if self.outcome == "unknown" else WRONG

    def __str__(self) -> str:
        got = self.error or self.outcome
        return f"{self.row.name}: expected {self.row.claim.expect}, got {got} in {self.seconds * 1e3:.0f} ms"


def build(s: Stated) -> Claim:
    """The claim that a table of a file states."""
    return claim_from(s.kind, s.fields, s.dims, s.given, s.expect, s.shared)


def rows(families: Iterable[str] = ()) -> list[Row]:
    """The corpus in order, or some families of it."""
    wanted = set(families)
    return [r for r in _every() if not wanted or r.family in wanted]


@functools.cache
def _every() -> tuple[Row, ...]:
    """All rows, read once: they are values."""
    out: list[Row] = []
    counts: collections.Counter[str] = collections.Counter()
    for file in FILES:
        for found in collect(str(CORPUS / file), Builder(build, lambda: KINDS)):
            if found.error:
                raise ValueError(f"{found.place}: {found.place.name}: {found.error}")
            called = found.place.name
            name = called if "/" in called else called.replace("_", "/", 1)
            if not name.isupper():  # names in capitals are parts of rows
                counts[name] += 1
                out.append(Row(name if counts[name] == 1 else f"{name}_{counts[name]}", found.claim))
    return tuple(out)


def may_be_open() -> dict[str, str]:
    """The rows that may be left undecided today, with the reason."""
    with (CORPUS / "open.toml").open("rb") as file:
        found = tomllib.load(file)["open"]
    return {str(name): str(reason) for name, reason in found.items()}


def judge(row: Row, budget: Budget) -> Judged:
    """The verdict on one row; an exception of the provers is a wrong answer."""
    begin = time.perf_counter()
    try:
        found, error = tuple(verdicts(row.claim, (), budget)), ""
    except Exception as e:  # a crash must not hide the other rows
        found, error = (), f"{type(e).__name__}: {e}"
    return Judged(row, found, time.perf_counter() - begin, error)


def table(judged: list[Judged]) -> Iterator[str]:
    """One line for each family, and the sum."""
    families = list(dict.fromkeys(j.row.family for j in judged))
    head = f"{'family':<20}{'rows':>6}{'right':>7}{'unknown':>9}{'wrong':>7}"
    yield f"{head}{'median ms':>11}{'slowest ms':>12}{'total s':>9}"
    for family in [*families, ""]:
        mine = [j for j in judged if not family or j.row.family == family]
        score = collections.Counter(j.score for j in mine)
        ms = sorted(j.seconds * 1e3 for j in mine)
        yield (
            f"{family or 'all':<20}{len(mine):>6}{score[RIGHT]:>7}{score[UNKNOWN]:>9}{score[WRONG]:>7}"
            f"{ms[len(ms) // 2]:>11.1f}{ms[-1]:>12.1f}{sum(ms) / 1e3:>9.1f}"
        )


def main() -> int:
    """Run the corpus and print the score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--no-repairs", action="store_true", help="do not look for the condition that repairs")
    parser.add_argument("--solver-ms", type=int, default=Budget().solver_ms)
    parser.add_argument("--slow", type=float, default=50, metavar="MS", help="list the rows that take longer")
    args = parser.parse_args()
    budget = Budget(solver_ms=args.solver_ms, repairs=not args.no_repairs)
    judged = [judge(r, budget) for r in rows(args.families)]
    if not judged:
        parser.error(f"expected families of the corpus, got {', '.join(args.families)}")
    known = may_be_open()
    print("\n".join(table(judged)))
    for j in judged:
        if j.score is WRONG:
            print(f"WRONG    {j}")
    for j in judged:
        if j.score is UNKNOWN:
            print(f"unknown  {j}: {known.get(j.row.name, 'not in open.toml')}")
    decided = [j.row.name for j in judged if j.score is RIGHT and j.row.name in known]
    if decided:
        print(f"decided now, listed as open: {', '.join(decided)}")
    slow = sorted((j for j in judged if j.seconds * 1e3 > args.slow), key=lambda j: -j.seconds)
    if slow:
        print(f"{len(slow)} rows over {args.slow:g} ms:")
    for j in slow:
        methods = next((v.method for v in j.verdicts if v.method), "")
        print(f"{j.seconds * 1e3:>10.0f} ms  {j.row.name}  {j.outcome}  [{methods}]")
    return 1 if any(j.score is WRONG for j in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
