"""What facts that a claim has no need of cost: each proved row of the corpus again, with one to three more.

    python -m benchmarks.monotone [FAMILY ...] [--seeds 3] [--slow 5]

The facts are drawn at random, always the same: orders, bounds, products and divisors of the claim's symbols and of one
that it does not have; some sizes meet them all. Every decision starts cold. Steps are those of the meter, seconds of
the clock are the least of some rounds. Exit status 1 where a proof is lost.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from checkers import prover
from checkers import trial_sizes as sizes
from checkers.budget import Budget
from checkers.claim import Claim
from symlayout import dim
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import AssumptionError
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.meter import metered

from .corpus import Row, rows

BUDGET = Budget(repairs=False)
STEPS = 10**9  # no end: these are counted
FEW_STEPS, FEW_SECONDS = 1000, 0.002  # more than twice is counted above these: a search under all ends within few steps
ROUNDS = 2
Extra = dim("Extra")


def facts_at_random(r: random.Random, symbols: tuple[Any, ...]) -> Iterator[Fact]:
    """Orders, bounds, products and divisors of a claim's symbols and of one that it does not have."""
    while True:
        a, b = r.choice(symbols), r.choice((*symbols, Extra))
        yield r.choice(
            [
                a >= b,
                a >= r.randint(1, 3),
                a <= 10 ** r.randint(3, 8),
                a.multiple_of(r.choice([2, 3, 4, 8])),
                a * b >= r.randint(1, 8),
                a + b <= 2 ** r.randint(8, 30),
                b <= r.randint(1, 4) * a + r.randint(0, 2),
                Extra.multiple_of(16),
            ]
        )


def admissible(claim: Claim) -> bool:
    """Whether some small sizes meet what a claim assumes."""
    try:
        facts = Facts.about(claim.parameters(), given=claim.given)
    except AssumptionError:
        return False
    return next(sizes.small_sizes(facts.symbols, facts, claim.hints()), None) is not None


def with_more(claim: Claim, r: random.Random) -> Claim:
    """The claim with one to three more facts that some sizes meet, before, between or after its own."""
    more, wanted = claim, len(claim.given) + r.randint(1, 3)
    for f in facts_at_random(r, Facts.about(claim.parameters(), given=claim.given).symbols):
        given = list(more.given)
        given.insert(r.randint(0, len(given)), f)
        grown = replace(more, given=tuple(given))
        if f.value is None and admissible(grown):
            more = grown
        if len(more.given) == wanted:
            return more
    raise AssertionError("facts at random do not end")


@dataclass(frozen=True)
class Cost:
    """One verdict, and what it took from a cold start."""

    verdict: Verdict
    steps: int
    seconds: float


def cost(claim: Claim, rounds: int = 1) -> Cost:
    """What the decision of a claim costs."""
    best = float("inf")
    for _ in range(rounds):
        prover.forget()
        begin = time.perf_counter()
        with metered(3600, STEPS) as meter:
            verdict = prover.decide(claim, BUDGET)
        best = min(best, time.perf_counter() - begin)
    return Cost(verdict, STEPS - meter.steps, best)


@dataclass(frozen=True)
class Trial:
    """A claim as it is, and with more facts."""

    name: str
    more: Claim
    plain: Cost
    grown: Cost

    @property
    def lost(self) -> bool:
        """Whether a proof was lost; a divisor that a fact brings along may be one that nobody bounds."""
        v = self.grown.verdict
        return v.outcome is not Outcome.PROVED and "expected a divisor" not in v.reason

    @property
    def dear_steps(self) -> bool:
        """Whether the facts cost more than twice, in steps."""
        return self.grown.steps > 2 * self.plain.steps + FEW_STEPS

    @property
    def dear_seconds(self) -> bool:
        """Whether the facts cost more than twice, in seconds."""
        return self.grown.seconds > 2 * self.plain.seconds + FEW_SECONDS


def proved_rows(names: Iterable[str] = ()) -> list[Row]:
    """The rows of the corpus that are proved and have sizes."""
    return [r for r in rows(names) if r.claim.expect == "proved" and Facts.about(r.claim.parameters()).symbols]


def trials(names: Iterable[str] = (), seeds: Iterable[int] = range(3), rounds: int = 1) -> Iterator[Trial]:
    """Every proved row of the corpus that has sizes, once for each seed."""
    for row in proved_rows(names):
        plain = cost(row.claim, rounds)
        for seed in seeds:
            claim = with_more(row.claim, random.Random(f"{row.name} {seed}"))
            yield Trial(row.name, claim, plain, cost(claim, rounds))


def shares(ratios: list[float]) -> str:
    """How ratios are distributed."""
    ratios = sorted(ratios)
    at = [ratios[min(len(ratios) - 1, int(len(ratios) * q))] for q in (0.5, 0.9, 0.95, 0.99)]
    above = sum(x > 2 for x in ratios) / len(ratios)
    return "".join(f"{x:>9.2f}" for x in at) + f"{ratios[-1]:>9.1f}{above:>10.2%}"


def main() -> int:
    """Run the trials and print how the costs are distributed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--slow", type=int, default=5, metavar="N", help="list so many of the worst")
    args = parser.parse_args()
    found = list(trials(args.families, range(args.seeds), ROUNDS))
    if not found:
        parser.error(f"expected families of the corpus, got {', '.join(args.families)}")
    lost = [t for t in found if t.lost]
    steps = {id(t): (t.grown.steps + 1) / (t.plain.steps + 1) for t in found}
    seconds = {id(t): t.grown.seconds / t.plain.seconds for t in found}
    print(f"{len(found)} trials, {len(lost)} proofs lost")
    print(f"{'with / without':<16}{'median':>9}{'90 %':>9}{'95 %':>9}{'99 %':>9}{'worst':>9}{'above 2x':>10}")
    for name, ratios in (("steps", steps), ("seconds", seconds)):
        print(f"{name:<16}{shares(list(ratios.values()))}")
    for name in ("steps", "seconds"):
        dear = sum(getattr(t, f"dear_{name}") for t in found)
        few = f"{FEW_STEPS} steps" if name == "steps" else f"{FEW_SECONDS * 1e3:g} ms"
        print(f"{dear} ({dear / len(found):.2%}) cost more than twice and {few}")
    print(f"sum of all {sum(t.grown.seconds for t in found):.2f} s against {sum(t.plain.seconds for t in found):.2f} s")
    for t in sorted(found, key=lambda t: t.plain.seconds - t.grown.seconds)[: args.slow]:
        ms = f"{t.plain.seconds * 1e3:.1f} to {t.grown.seconds * 1e3:.1f} ms"
        steps_of = f"{t.plain.steps} to {t.grown.steps}"
        given = ", ".join(map(str, t.more.given))
        print(f"{ms:>20}, {steps_of} steps: {t.name} given {given}  [{t.grown.verdict.method}]")
    for t in lost:
        print(f"LOST {t.name} given {', '.join(map(str, t.more.given))}: {t.grown.verdict}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
