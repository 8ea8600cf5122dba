"""Claims on plain integers, by their definition: values are written out one by one, and nothing of the provers is used."""

from __future__ import annotations

import collections
import contextlib
import itertools
import random
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checkers import (
    Aligned,
    Bijective,
    Coalesced,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    Holds,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    Surjective,
    Vectorizable,
)
from checkers.claim import Claim
from checkers.prover import Budget, decide
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Verdict
from symlayout.basis import as_tuple
from symlayout.errors import InternalError, SymlayoutError
from symlayout.facts import Facts

QUICK = Budget(repairs=False)  # the resource limit decides; load does not


def bug(reason: str) -> pytest.MarkDecorator:
    """A finding that is not repaired yet; a test that passes all the same has a mark to take away."""
    return pytest.mark.xfail(strict=True, reason=reason)


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail instead of hanging."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 12 * seconds)  # a busy machine is no failure
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def answer(make: Callable[[], Claim], budget: Budget = QUICK) -> str:
    """The outcome of a claim as a word; "refused" where it is no claim, with a message that says what was expected."""
    try:
        return decide(make(), budget).outcome.value
    except InternalError:
        raise
    except SymlayoutError as e:
        assert "expected" in str(e), e  # noqa: PT017  # any refusal is an answer, if it says what was expected
        return "refused"


# -- the definitions --------------------------------------------------------------------------------------


def flat(v: Any) -> tuple[int, ...]:
    return tuple(x for a in v for x in flat(a)) if isinstance(v, tuple | list) else (v,)


def graph(x: Any) -> dict[Any, tuple[int, ...]]:
    """Coordinate (or linear index) to value, for every coordinate at which a static subject is defined."""
    if isinstance(x, AddressMap):
        box = itertools.product(*(range(n) for n in reversed(x.extents)))
        return {c[::-1]: flat(as_tuple(x(c[::-1]))) for c in box if x.valid_at(c[::-1])}
    return {i: flat(as_tuple(x(i))) for i in range(x.size())}


def box(extent: Any) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(n) for n in flat(extent))))


def wavefronts(addresses: list[int], width: int) -> int:
    """4-byte words wanted from one bank, at most, in a phase of 128 bytes."""
    lanes, worst = 128 // max(width, 4), 0
    for first in range(0, len(addresses), lanes):
        banks: dict[int, set[int]] = collections.defaultdict(set)
        for a in addresses[first : first + lanes]:
            for word in range(a // 4, (a + width - 1) // 4 + 1):
                banks[word % 32].add(word)
        worst = max(worst, *(len(words) for words in banks.values()))
    return worst


def truth(c: Any) -> bool:
    """Whether a static claim holds."""
    if isinstance(c, Equal):
        return graph(c.a) == graph(c.b)
    if isinstance(c, Covers):
        return truth(Bijective(c.tiles, c.counts))
    found = graph(c.subjects()[0])
    values = list(found.values())
    counted = collections.Counter(values)
    if isinstance(c, Injective):
        return len(counted) == len(values)
    if isinstance(c, Surjective):
        return set(counted) >= set(box(c.onto))
    if isinstance(c, Partition):
        return counted == dict.fromkeys(box(c.onto), c.copies)
    if isinstance(c, Bijective):
        return sorted(values) == sorted(box(c.onto))
    if isinstance(c, Multiplicity):
        return set(counted.values()) <= {c.copies}
    if isinstance(c, InBounds):
        return all(c.low <= v < n for row in values for v, n in zip(row, flat(c.extent), strict=True))
    if isinstance(c, FitsIn):
        low, high = (-(1 << c.bits - 1), (1 << c.bits - 1) - 1) if c.signed else (0, (1 << c.bits) - 1)
        return all(low <= v * c.unit_bytes <= high for row in values for v in row)
    if isinstance(c, Aligned):
        return all((c.base_bytes + v * c.element_bytes) % c.to_bytes == 0 for (v,) in values)
    offsets = [v for (v,) in values]
    if isinstance(c, Vectorizable):
        n = c.elements
        runs = [offsets[i : i + n] for i in range(0, len(offsets), n)]
        return all(run[0] % n == 0 and run == list(range(run[0], run[0] + n)) for run in runs)
    assert isinstance(c, ConflictFree), c
    warps = [[v * c.element_bytes for v in offsets[i : i + c.lanes]] for i in range(0, len(offsets), c.lanes)]
    return all(a % c.width_bytes == 0 for w in warps for a in w) and all(
        wavefronts(w, c.width_bytes) <= c.degree for w in warps
    )


def complaint(c: Claim, v: Verdict, r: random.Random, tries: int = 10, points: int = 2500) -> str:
    """What is wrong with a verdict at sampled sizes: a failure of what is PROVED, a witness that is none; else ''."""
    facts = Facts.about(c.parameters(), given=c.given)
    if v.outcome is Outcome.REFUTED and v.witness is not None:
        env = {s: v.witness.sizes[s.name] for s in facts.symbols}
        if not facts.admits(env):
            return f"the witness {v.witness.sizes} is not admissible"
        bound = c.bind(env)
        return "the witness does not fail" if bound.points() <= 40 * points and truth(bound) else ""
    if v.outcome is Outcome.UNKNOWN:
        return ""
    for env in admissible(facts, r, tries):
        try:
            bound = c.bind(env)
        except SymlayoutError:
            continue  # no such layout at these sizes
        if v.outcome is Outcome.VACUOUS:
            return f"{env} meets the assumptions"
        if bound.points() <= points and not truth(bound):
            return f"fails at {env}"
    return ""


def admissible(facts: Facts, r: random.Random, tries: int) -> Iterator[dict[Any, int]]:
    """Sampled sizes that meet the assumptions: small ones, and each symbol at the bounds that others set."""
    if not facts.symbols:
        yield {}
        return
    for _ in range(12 * tries):
        env: dict[Any, int] = {}
        for s in facts.symbols:
            low = s.lower if type(s.lower) is int else -4 if s.lower is None else 1
            env[s] = r.choice((low, low + r.randint(0, 4), r.randint(low, low + 14)))
            if env and r.random() < 0.3:
                env[s] = r.choice([*env.values()]) + r.choice((0, 0, 1))
            env[s] -= env[s] % s.multiple
        try:
            if facts.admits(env):
                tries -= 1
                yield env
        except (ZeroDivisionError, SymlayoutError):
            continue
        if tries <= 0:
            return


def judged(claim: Claim, outcome: str, phrase: str) -> None:
    """The verdict on a claim has this outcome and says this; a PROVED or REFUTED is true on plain integers."""
    v = decide(claim, QUICK)
    assert (v.outcome.value, phrase in str(v)) == (outcome, True), v
    if not isinstance(claim, Coalesced | Holds):
        assert complaint(claim, v, random.Random(1)) == "", v
