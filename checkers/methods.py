"""The methods on one claim, in a fixed order: certificate, small sizes, solver; and what they leave for an UNKNOWN.

A certificate is verified by the independent checker before it counts; a counterexample is replayed on plain integers;
what is left is UNKNOWN with the lemma that is missing and how far it was tried.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Fact, Symbol
from symlayout.facts import NOTHING, Facts, opaque_atoms, symbols_in
from symlayout.meter import Exhausted, metered, step

from . import smt, views
from .algebra.subject_form import expressions
from .budget import DOING, Budget, ended
from .certified import certified
from .claim import Claim, Proof, Query, TooLarge
from .divisors import Divisors
from .exhaustive import POINTS
from .refuter import SMALL_POINTS, Failure, Refuter, tried
from .repairs.weakest import closing, repair
from .trial_sizes import Sizes, about_equal, all_sizes, small_sizes
from .trusted.statements.bound import bound

T = TypeVar("T")
Method: TypeAlias = "Callable[[], Verdict | Failure | None]"


class ClaimRun:
    """The methods on one claim, in order, and what they left behind for an UNKNOWN."""

    def __init__(self, claim: Claim, budget: Budget) -> None:
        self.claim, self.budget = claim, budget
        self.static = True
        self.facts = NOTHING
        self.doing = "the reading of its assumptions"
        self.cut = False  # whether the budget ended first
        self.reasons: list[str] = []
        self.lemmas: list[str] = []
        self.doubt = ""  # what a proof may be empty for

    @functools.cached_property
    def refuter(self) -> Refuter:
        """The search for sizes at which the claim fails."""
        return Refuter(self.claim, self.facts, self.budget.refuter_points)

    @functools.cached_property
    def searches(self) -> views.Searches:
        """The searches for a certificate under parts of the assumptions."""
        claim = self.claim
        told = claim.by_rows and claim.subjects() and not opaque_atoms(*expressions(claim.parameters()))
        return views.Searches(claim, certified, opaque=not told)

    def verdict(self) -> Verdict:
        """The verdict, with the time that it took: UNKNOWN where the budget ends before one is found."""
        self.begin = time.perf_counter()
        with metered(self.budget.seconds, self.budget.steps):
            try:
                return self._judged()
            except Exhausted as e:
                self.cut = True
                reason = ended(e, self.doing)
            except RecursionError:
                reason = f"expressions are nested deeper than Python's stack during {self.doing}"
        checked = self.refuter.checked if "refuter" in vars(self) else ""
        return self._end(Outcome.UNKNOWN, reason="; ".join([*self.reasons, reason]), checked=checked)

    def _judged(self) -> Verdict:
        self.static = self.claim.static()
        if not self.static:
            _check_sizes(self.claim)
            self.facts = Facts.about(self.claim.parameters(), given=self.claim.given)
        self.doing = "the search for a certificate"
        found = self._certificate() if self.static else None
        if found is not None and not _divides_by_digits(self.claim):
            return found
        self.doing = "the check of divisors"
        divisors = Divisors(self.claim, self.facts.symbols, self.budget.solver_ms)
        unsafe = divisors.complaint()
        self.lemmas += divisors.lemmas
        if unsafe:
            return self._end(Outcome.UNKNOWN, reason=unsafe, open="every divisor is at least 1")
        symbols = self.facts.symbols
        if not symbols:
            return self._static() if found is None else found
        self.doing = "the search for sizes that meet the assumptions"
        hints = self.claim.hints()
        if not admits_some(symbols, self.facts.given) and next(small_sizes(symbols, self.facts, hints), None) is None:
            empty = self._vacuous()
            if empty is not None:
                return empty
            self.doubt = "no sizes are known that meet the assumptions, and whether any do is open"
        for method in self._methods():
            self.doing = DOING[method.__name__]
            said = method()
            if said is not None:
                return self._refuted(said) if isinstance(said, Failure) else said
        return self._end(
            Outcome.UNKNOWN,
            reason="; ".join(self.reasons) or "neither a proof nor a failure was found",
            open=self.claim.lemma(self.facts),
            checked=self.refuter.checked,
            closing=self._closing(),
        )

    def _methods(self) -> Iterator[Method]:
        """The methods in their order, those that seek failures where they are asked for."""
        sizes, sought = self.refuter, self.budget.failures
        yield from (sizes.glance,) if sought else ()
        yield from (self._certificate, self._every_size, self._from_fewer)
        yield from (sizes.small, sizes.large) if sought else ()
        yield from (self._solver, self._from_any)
        yield from (sizes.more,) if sought else ()

    def _in_time(self, search: Callable[[], T]) -> T | None:
        """The result of a search after the verdict; None if the budget ends first, and the verdict holds without it."""
        try:
            return search()
        except (Exhausted, RecursionError):
            self.cut = True
            return None

    def _closing(self) -> tuple[str, ...]:
        """Facts that would close what is left open."""
        search = functools.partial(closing, self.claim, self.facts)
        return (self._in_time(search) or ()) if self._mends else ()

    @property
    def _mends(self) -> bool:
        """Whether conditions are sought under which the claim would be proved."""
        return self.budget.repairs and self.claim.mendable

    def _end(self, outcome: Outcome, **parts: Any) -> Verdict:
        spent = time.perf_counter() - self.begin
        labels = () if self.static else self.facts.labels
        if outcome is Outcome.PROVED and self.doubt:
            parts["reason"] = self.doubt
        return Verdict(self.claim, outcome, assumptions=labels, expect=self.claim.expected, seconds=spent, **parts)

    # -- numbers ------------------------------------------------------------------------------------

    def _static(self) -> Verdict:
        if not all(f.value for f in self.claim.given):
            false = next(f for f in self.claim.given if not f.value)
            return self._end(Outcome.VACUOUS, reason=f"the assumption {false} is false")
        found = None if self.static else self._certificate()
        if found is not None:
            return found
        try:
            witness = self.claim.counterexample()
        except ZeroDivisionError as e:
            return self._end(Outcome.UNKNOWN, reason=str(e), open="every divisor is at least 1")
        except TooLarge as e:
            solved = self._solver()
            if solved is not None:
                return solved
            large = f"{self.claim.points()} points are more than the {POINTS} that are enumerated"
            return self._end(
                Outcome.UNKNOWN,
                reason="; ".join([str(e) or large, *self.reasons]),
                open=self.claim.lemma(self.facts),
            )
        if witness is not None:
            few = self.claim.points() > POINTS
            return self._end(Outcome.REFUTED, witness=witness, method="a few coordinates" if few else "enumeration")
        return self._end(Outcome.PROVED, method=f"enumeration of {self.claim.points()} points")

    # -- algebra ------------------------------------------------------------------------------------

    def _certificate(self) -> Verdict | None:
        if not self._parted:
            proof = certified(self.claim, self.facts)
            return None if proof is None else self._proved(proof, self.facts)
        return self._found(self.searches.first())

    @property
    def _parted(self) -> bool:
        """Whether proofs are sought under parts of the assumptions too."""
        return bool(self.claim.given) and self.claim.weighs

    def _proved(self, proof: Proof, facts: Facts, unused: tuple[str, ...] = ()) -> Verdict:
        """The verdict by a proof that rests on these facts."""
        needed = facts if facts.given != self.claim.given else None
        return self._end(
            Outcome.PROVED,
            method=proof.method,
            certificate=None if proof.certificate is None else bound(self.claim, needed, proof.certificate),
            lemmas=(*self.lemmas, *proof.lemmas),
            unused=unused,
        )

    def _found(self, found: views.Found | None) -> Verdict | None:
        """The verdict by a proof from some of the assumptions, where one is found."""
        if found is None:
            return None
        unused = self.searches.unneeded(found, self._in_time)
        return self._proved(*found, tuple(str(f) for f in self.claim.given if f in unused))

    def _from_fewer(self) -> Verdict | None:
        """A proof under some of the assumptions, where all of them lead the search astray; see ``views``."""
        if not self._parted:
            return None
        failure = self.refuter.glance(every=True)  # what is false has no proof, however long one searches
        if failure is not None:
            return self._refuted(failure)
        found = self.searches.fewer()
        return self._found(found) if found else self._enumerated(views.few_sizes(self.claim), every=False)

    def _from_any(self) -> Verdict | None:
        """A proof under some of the assumptions where nothing else has decided, however long the search is."""
        return self._found(self.searches.rest()) if self._parted else None

    def _every_size(self) -> Verdict | None:
        """Enumeration of all sizes, in order of their sum, if the assumptions leave few: a proof if all hold."""
        return self._enumerated(all_sizes(self.facts.symbols, self.facts), every=True)

    def _enumerated(self, envs: list[Sizes] | None, every: bool) -> Verdict | None:
        """The verdict by these sizes; they are *every* admissible one, or the claim's own among more."""
        for env in sorted(envs or (), key=lambda env: sum(env.values())):
            step()
            bound = self.refuter.bound(env)
            if bound is None or bound.points() > SMALL_POINTS:
                return None
            try:
                witness = bound.counterexample()
            except (TooLarge, ZeroDivisionError, OverflowError):
                return None
            if witness is not None:
                failure = Failure(witness, env, f"enumeration of all {len(envs or ())} sizes")
                return self._refuted(failure) if every else None
        method = f"enumeration of all {len(envs or ())} sizes"
        return self._end(Outcome.PROVED, method=method, lemmas=tuple(self.lemmas)) if envs else None

    # -- sizes that fail ----------------------------------------------------------------------------

    def _refuted(self, failure: Failure) -> Verdict:
        """The verdict on sizes at which the claim fails, with the condition that repairs it."""
        if not self.facts.admits(failure.sizes):
            raise InternalError(f"the counterexample {failure.sizes} of {self.claim} does not meet the assumptions")
        search = functools.partial(repair, self.claim, self.facts, failure.sizes)
        found = self._in_time(search) if self._mends else None
        return self._end(
            Outcome.REFUTED,
            witness=replace(failure.witness, sizes={s.name: v for s, v in failure.sizes.items()}),
            method=failure.method,
            condition=" or ".join(filter(None, (str(found or ""), self.claim.otherwise()))),
            repairs=found.facts if found else (),
        )

    # -- the solver ---------------------------------------------------------------------------------

    def _vacuous(self) -> Verdict | None:
        if smt.satisfiable(self._assumptions(), self.budget.solver_ms).status != "unsat":
            return None
        core = [*self.facts.ranges, *self.claim.given]
        for f in list(core):
            rest = [g for g in core if g is not f]
            if smt.satisfiable(rest, self.budget.solver_ms).status == "unsat":
                core = rest
        return self._end(Outcome.VACUOUS, method=smt.version(), reason=f"no sizes meet {' and '.join(map(str, core))}")

    def _assumptions(self) -> list[Fact]:
        return [*self.facts.ranges, *self.claim.given]

    def _solver(self) -> Verdict | None:
        queries = self.claim.violations(self.facts)
        if queries is None:
            return None
        if any(not set(views.own_symbols(self.claim)).issuperset(f.symbols) for f in self.claim.given):
            own = views.solved(self.claim, queries, self.facts.ranges, self.budget.solver_ms, 1)
            if own:
                return self._end(Outcome.PROVED, method=own, lemmas=tuple(self.lemmas))
        lemmas, solvers = list(self.lemmas), {}
        short = self.claim.given != ()  # with assumptions that may lead astray a solver first gets less work to do
        for q in queries:
            query = [*self._assumptions(), *q]
            answer = smt.satisfiable(query, self.budget.solver_ms, views.SHORT if short else smt.RLIMIT)
            if answer.status == "unknown" and short:
                by = views.solved(self.claim, queries, self.facts.ranges, self.budget.solver_ms)
                if by:
                    return self._end(Outcome.PROVED, method=by, lemmas=tuple(lemmas))
                found = self._from_any()
                if found is not None:
                    return found
                short, answer = False, smt.satisfiable(query, self.budget.solver_ms)
            if answer.status == "sat":
                return self._from_model(answer)
            if answer.status == "unknown":
                self.reasons.append(answer.reason)
                self._dump(query)
                return None
            lemmas.append("a violation is unsatisfiable")
            solvers[answer.solver] = True
        return self._end(Outcome.PROVED, method=" and ".join(solvers), lemmas=tuple(lemmas))

    def _dump(self, query: Query) -> None:
        """Write a query that stayed open, named after its content."""
        if not self.budget.dump_smt:
            return
        text = f"; {self.claim}\n{smt.smtlib(query)}"
        folder = Path(self.budget.dump_smt)
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        (folder / f"{name}.smt2").write_text(text, encoding="utf-8")

    def _from_model(self, answer: smt.Answer) -> Verdict | None:
        """A model is a candidate: the sizes in it must fail on plain integers too."""
        env = {s: answer.model.get(s, 0) for s in self.facts.symbols}
        bound = self.refuter.bound(env) if self.facts.symbols else self.claim
        witness = None
        if bound is not None:
            witness = tried(bound) or self.claim.replay(answer.model, bound)
        if witness is None:
            at = ", ".join(f"{s} = {v}" for s, v in env.items())
            where = f" at {at}" if at else ""
            self.reasons.append(f"the solver offers a counterexample{where} that cannot be replayed")
            return None
        if not env:
            return self._end(Outcome.REFUTED, witness=witness, method=smt.version())
        try:
            return self._refuted(Failure(witness, env, smt.version()))
        except OverflowError as e:  # an assumption shifts too far to be replayed
            self.reasons.append(str(e))
            return None


def _check_sizes(claim: Claim) -> None:
    """Raise ClaimError where a coordinate of a map stands among sizes: it is another thing in each."""
    coords = {c for x in claim.parameters() if isinstance(x, AddressMap) for c in x.coords}
    if coords:
        sizes = [x for x in (*claim.parameters(), *claim.given) if not isinstance(x, AddressMap)]
        mixed = coords & {s for x in sizes for s in symbols_in(x)}
        if mixed:
            raise ClaimError(f"expected sizes in {claim} and its facts, got its coordinate {min(map(str, mixed))}")


@functools.lru_cache(maxsize=1 << 8)
def admits_some(symbols: tuple[Symbol, ...], given: tuple[Fact, ...]) -> bool:
    """Whether some small sizes meet the assumptions: of all claims of a kernel those are the same few."""
    facts = Facts.about(symbols, given=given)
    return next(itertools.chain(about_equal(symbols, facts), small_sizes(symbols, facts)), None) is not None


def _divides_by_digits(claim: Claim) -> bool:
    """Whether a map without parameters has a divisor that depends on its coordinates."""
    return any(hasattr(x, "extents") for x in claim.subjects())
