"""Claims to verdicts: of a claim and its parts, of the obligations of its layouts, from a cache where it has them.

How one verdict is found stands in :mod:`checkers.methods`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ClaimError, SerialError
from symlayout.expr import Fact, Substitution, Symbol
from symlayout.facts import NOTHING, Facts, symbols_in
from symlayout.facts.scope import ranges_in_words
from symlayout.kernel import Kernel
from symlayout.meter import Exhausted, metered
from symlayout.obligations import EXACT, Obligation, as_divisibility

from . import smt
from .algebra.certificates import together
from .budget import Budget, ended
from .bundle import ProofReport
from .cache import Verdicts, key_of
from .claim import Claim, facts_of
from .claims.holds import Holds
from .divisors import at_least_1
from .methods import ClaimRun, admits_some
from .repairs.weakest import joint
from .trusted.certificate_json import Setting
from .trusted.statements.bound import bound

__all__ = ["Budget", "decide", "forget", "report_on", "verdicts"]


def report_on(
    *claims: Any, given: Iterable[Fact] = (), budget: Budget | None = None, cache: Verdicts | None = None
) -> ProofReport:
    """The report on some claims, or lists of them, under the facts *given* to all: see ``prove``."""
    given = facts_of(given)
    every = list(_flat(claims))
    found = [v for c in every for v in verdicts(c, given, budget or Budget(), cache)]
    idle = [str(f) for f in given if all(str(f) in v.unused for v in found)] if found else []
    notes = (f"assumed, but no claim needs it: {', '.join(idle)}",) if idle else ()
    repairs, sizes = joint(f for v in found for f in v.repairs), ranges_in_words(_sizes(every, given))
    return ProofReport(tuple(found), repairs, notes, sizes=sizes, given=tuple(map(str, given)))


def _sizes(claims: list[Claim], given: tuple[Fact, ...]) -> list[Symbol]:
    """The sizes that some claims are about, without block and loop indices."""
    found = dict.fromkeys(s for c in claims for s in symbols_in((*c.parameters(), *c.given, *given)))
    todo = list(found)
    while todo:  # what their ranges name is one of them
        new = [t for s in todo for t in symbols_in((s.lower, s.upper)) if t not in found]
        found |= dict.fromkeys(new)
        todo = new
    indices = {s for c in claims for s in c.indices()}
    return sorted((s for s in found if s not in indices), key=lambda s: s.name)


def _flat(claims: Iterable[Any]) -> Iterator[Claim]:
    for c in claims:
        if isinstance(c, Claim):
            yield c
        elif isinstance(c, list | tuple):
            yield from _flat(c)
        else:
            raise ClaimError(f"expected a claim such as Bijective(layout, onto=64), got {c!r} ({type(c).__name__})")


def verdicts(
    claim: Claim, given: tuple[Fact, ...] = (), budget: Budget | None = None, cache: Verdicts | None = None
) -> Iterator[Verdict]:
    """The verdict on a claim, then one for each obligation of its layouts; all within the budget of a claim."""
    if given:
        claim = replace(claim, given=(*claim.given, *given))
    budget = budget or Budget()
    with metered(budget.seconds, budget.steps):
        found = list(_verdicts(claim, budget, cache))
    kernel, arch = getattr(claim, "kernel", None), getattr(claim, "arch", "")
    digest = kernel.digest if isinstance(kernel, Kernel) else ""
    yield from (replace(v, digest=digest, arch=str(arch)) for v in found) if digest or arch else found


def _verdicts(claim: Claim, budget: Budget, cache: Verdicts | None) -> Iterator[Verdict]:
    try:
        parts = claim.parts()
    except Exhausted as e:
        yield Verdict(claim, Outcome.UNKNOWN, reason=ended(e, "the listing of its parts"), expect=claim.expected)
        return
    if parts is not None:
        yield from _of_parts(claim, parts, budget, cache)
    else:
        yield _recalled(claim, budget, cache)
    seen = []
    for x in claim.subjects():
        for o in getattr(x, "obligations", ()):
            if o not in seen and (o.kind == EXACT or not claim.masked()):
                seen.append(o)
                yield from _obligation(o, claim, budget)


def _of_parts(claim: Claim, parts: tuple[Claim, ...], budget: Budget, cache: Verdicts | None) -> Iterator[Verdict]:
    """One verdict where every part is proved, else the verdict of each part that is not."""
    begin = time.perf_counter()
    found = [v for p in parts for v in verdicts(replace(p, given=(*p.given, *claim.given)), (), budget, cache)]
    left = [v for v in found if v.outcome is not Outcome.PROVED]
    if not left:
        certificates = [v.certificate for v in found if v.certificate is not None]
        unused = [set(v.unused) for v in found]
        yield Verdict(
            claim,
            Outcome.PROVED,
            method=claim.method,
            assumptions=tuple(dict.fromkeys(a for v in found for a in v.assumptions)),
            lemmas=tuple(dict.fromkeys(f"{v.claim} [{v.method}]" for v in found)),
            certificate=bound(claim, NOTHING, together(certificates, claim.kind)) if certificates else None,
            unused=tuple(sorted(set.intersection(*unused))) if unused else (),
            expect=claim.expected,
            seconds=time.perf_counter() - begin,
        )
    refuted = any(v.outcome is Outcome.REFUTED for v in left)
    for v in left:  # one part that fails refutes the whole, whatever other parts leave open
        told = v.outcome if claim.expected is Outcome.REFUTED and refuted else claim.expected
        yield replace(v, expect=told)


def _recalled(claim: Claim, budget: Budget, cache: Verdicts | None) -> Verdict:
    """One verdict, from the cache if it is there; a claim without a unique text is not looked up."""
    if cache is None:
        return decide(claim, budget)
    try:
        key = key_of(claim, budget, smt.installed())
    except SerialError:
        return decide(claim, budget)
    found = cache.find(key, claim)
    if found is None:
        run = ClaimRun(claim, budget)
        found = run.verdict()
        if not run.cut:  # another run may have more time
            cache.store(key, found)
    return found


def decide(claim: Claim, budget: Budget) -> Verdict:
    """One verdict."""
    return ClaimRun(claim, budget).verdict()


def forget() -> None:
    """Drop what is kept from earlier claims, so that a measurement starts afresh."""
    Facts.forget()
    Setting.forget()
    Substitution.forget()
    admits_some.cache_clear()
    at_least_1.cache_clear()


def _obligation(o: Obligation, claim: Claim, budget: Budget) -> Iterator[Verdict]:
    """Whether the facts given to a claim discharge an obligation of its layout."""
    for f in o.facts:
        label = f"{o.kind}: {o.unless}  (obligation of {claim.kind})"
        asked = replace(budget, repairs=False) if o.coords else budget  # no condition may be about an index
        found = decide(Holds(f, label, o.kind, given=(*claim.given, *o.when)), asked)
        if found.outcome is Outcome.VACUOUS and o.when:
            continue  # its predicate admits no index
        if found.outcome is Outcome.REFUTED and o.kind != EXACT:
            false = type(f.expr) is int
            repairs = () if false else (as_divisibility(f),)
            condition = "a predicate masks the overhang" if false else f"{o.unless}, or a predicate masks the overhang"
            found = replace(found, condition=condition, repairs=repairs)
        expect = found.outcome if claim.expected is Outcome.REFUTED else Outcome.PROVED  # the claim says what must fail
        yield replace(found, expect=expect)
