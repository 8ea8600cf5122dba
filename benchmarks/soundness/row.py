"""What the campaign knows about a kind of claim, and how a verdict is held against the oracle."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from checkers.claim import Claim
from checkers.prover import Budget, decide
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import SymlayoutError
from symlayout.facts import Facts

from .plain import Env, TooMany, admissible, number

TRIES = 12  # sizes at which a proof is tried
WORST = (Outcome.REFUTED, Outcome.UNKNOWN, Outcome.VACUOUS, Outcome.PROVED)


@dataclass(frozen=True)
class Row:
    """A kind of claim: random ones on numbers and on symbols, and what one says at sizes, in plain integers.

    ``holds(claim, env)`` may raise ``plain.TooMany``; ``weight`` is how many layout claims one trial stands for in
    time, so that a campaign makes so many fewer.
    """

    kind: type[Claim]
    static: Callable[[random.Random], Claim]
    symbolic: Callable[[random.Random], Claim]
    holds: Callable[[Any, Env], bool]
    weight: int = 1
    sizes: Callable[[Claim, random.Random], Iterator[Env]] | None = None  # None draws small admissible ones

    @property
    def name(self) -> str:
        return self.kind.__name__

    def decided(self, claim: Claim, budget: Budget) -> Verdict:
        """The verdict on a claim."""
        return judged(claim, budget)

    def complaint(self, claim: Claim, v: Verdict, r: random.Random) -> str:
        """What is wrong with a verdict: sizes at which a proved claim fails or a refuted one holds; else ''."""
        if v.outcome is Outcome.REFUTED:
            return self._refuted(claim, v)
        if v.outcome is not Outcome.PROVED:
            return ""
        for env in (self.sizes or drawn)(claim, r):
            try:
                if not self.holds(claim, env):
                    return f"fails at {env}"
            except TooMany:
                continue
        return ""

    def _refuted(self, claim: Claim, v: Verdict) -> str:
        env = dict(v.witness.sizes) if v.witness is not None else {}
        if self.sizes is None and not admissible(symbols_of(claim), claim.given, env):
            return f"the witness {env} is not admissible"
        try:
            return f"the witness {env} does not fail" if self.holds(claim, env) else ""
        except TooMany:
            return ""


def judged(claim: Claim, budget: Budget) -> Verdict:
    """The verdict on a claim; of one that its parts decide the part that is refuted, else one that is left open."""
    parts = claim.parts()
    if parts is None:
        return decide(claim, budget)
    found = [judged(replace(p, given=(*p.given, *claim.given)), budget) for p in parts]
    worst = min(found, key=lambda v: WORST.index(v.outcome), default=None)
    if worst is None or worst.outcome is Outcome.PROVED:
        return Verdict(claim, Outcome.PROVED, method=claim.method)
    return worst


def stated(make: Callable[[random.Random], Claim], r: random.Random) -> Claim:
    """A random claim, drawn again where it is refused with the error that says why."""
    for _ in range(100):
        try:
            return make(r)
        except SymlayoutError:
            continue
    raise RuntimeError("expected a generator whose claims can be stated, got 100 that were refused")


def symbols_of(claim: Claim) -> tuple[Any, ...]:
    return Facts.about(claim.parameters(), given=claim.given).symbols


def drawn(claim: Claim, r: random.Random) -> Iterator[Env]:
    """Some admissible sizes, small ones mostly; one and the empty assignment for a claim without symbols."""
    symbols = symbols_of(claim)
    if not symbols:
        yield {}
        return
    found = 0
    for _ in range(8 * TRIES):
        env = _drawn(symbols, r)
        if env is not None and admissible(symbols, claim.given, env):
            yield env
            found += 1
            if found == TRIES:
                return


def _drawn(symbols: tuple[Any, ...], r: random.Random) -> dict[str, int] | None:
    env: dict[str, int] = {}
    left = list(symbols)
    while left:
        ready = [s for s in left if all(_known(e, env) for e in s.args[1:3])]
        if not ready:
            return None
        s = ready[0]
        left.remove(s)
        name, lower, _, multiple = s.args
        low = number(lower, env) if lower is not None else -4
        v = low + r.choice((0, 0, 1, 2, 3, r.randint(0, 8), r.randint(0, 24)))
        env[name] = -(-v // multiple) * multiple
    return env


def _known(e: Any, env: Env) -> bool:
    return e is None or type(e) is int or all(s.name in env for s in e.symbols)
