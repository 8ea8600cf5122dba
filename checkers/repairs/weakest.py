"""The condition that repairs a refuted claim: found by a small search, proved by the ordinary certificates.

A repair is satisfiable with the assumptions, excludes the counterexample, and the claim is proved under it (T24).
It is called the weakest of its form only where every immediate weaker neighbour has a counterexample of its own, and
sufficient elsewhere; what the form is stands in ``weaker``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from symlayout.errors import SymlayoutError
from symlayout.expr import Fact, Quotient, Symbol, at_least, eq, multiple_of, terms_of
from symlayout.facts import Facts, opaque_atoms
from symlayout.meter import step
from symlayout.obligations import as_divisibility

from ..algebra.subject_form import expressions
from ..claim import Claim, TooLarge
from ..refuter import BIND
from ..trial_sizes import admitted, small_sizes
from ..trusted.certificate_checker import verify
from .conditions import plain, primes, threshold
from .weaker import FAR, at_worst, bounds, implied, is_index, loosened, neighbours, weaker_divisors


@dataclass(frozen=True)
class Repair:
    """Facts under which a claim is proved, and whether nothing weaker of their form would do."""

    facts: tuple[Fact, ...]
    weakest: bool = False

    def __str__(self) -> str:
        kind = "the weakest condition of this form" if self.weakest else "a sufficient condition"
        return f"{' and '.join(map(str, self.facts))}, {kind}"


CANDIDATES, PAIRS = 40, 12  # tried before giving up; counts and not seconds, so that answers repeat
AHEAD = 40  # small sizes of the claim at which candidates are tried before any is proved
POINTS = 20_000  # of a claim that is tried on numbers here


def repair(claim: Claim, facts: Facts, witness: Mapping[Symbol, int]) -> Repair | None:
    """The first candidate that excludes the counterexample and under which the claim is proved, weakened."""
    tried = _Tried(claim, facts, witness)
    sized = [s for s in facts.symbols if witness.get(s, 0) >= FAR and s not in claim.indices() and not is_index(s)]
    every = itertools.chain(_bounds(tried, sized), _candidates(claim, facts))  # what is large asks for a bound
    failing = [f for f in every if not _true_at(f, witness)][:CANDIDATES]
    for f in failing:
        if not tried.refute((f,)) and proved_under(claim, (f,), tried):
            return _weakened(tried, f)
    for pair in itertools.islice(itertools.combinations(failing[:10], 2), PAIRS):
        if not tried.refute(pair) and proved_under(claim, pair, tried):
            return Repair(pair)
    return None


def closing(claim: Claim, facts: Facts) -> tuple[str, ...]:
    """Up to three facts; each would let algebra prove an undecided claim."""
    found = (f for f in itertools.islice(_candidates(claim, facts), CANDIDATES) if proved_under(claim, (f,)))
    return tuple(str(f) for f in itertools.islice(found, 3))


def proved_under(claim: Claim, extra: tuple[Fact, ...], tried: _Tried | None = None) -> bool:
    """Whether algebra proves the claim under more facts, and some sizes meet them."""
    stronger = replace(claim, given=(*claim.given, *extra))
    try:
        facts = Facts.about(stronger.parameters(), given=stronger.given)
        least = list(itertools.islice(small_sizes(facts.symbols, facts, claim.hints()), 3))
        if not least or (tried is not None and any(map(tried.fails_at, least))):
            return False
        proof = stronger.certify(facts)
        if proof is not None and proof.certificate is not None:
            verify(proof.certificate)
    except SymlayoutError:
        return False
    return proof is not None


class _Tried:
    """Known outcomes of a refuted claim at sizes: those at which it fails eliminate candidates without a proof."""

    def __init__(self, claim: Claim, facts: Facts, witness: Mapping[Symbol, int]) -> None:
        self.claim, self.facts = claim, facts
        self.known: dict[tuple[tuple[Symbol, int], ...], bool] = {tuple(witness.items()): True}
        self.ahead = list(itertools.islice(small_sizes(facts.symbols, facts, claim.hints()), AHEAD))

    def fails_at(self, env: Mapping[Symbol, int]) -> bool:
        """Whether the claim has a counterexample at these sizes; False also where that would take long."""
        key = tuple(env.items())
        if key not in self.known:
            self.known[key] = self._fails(env)
        return self.known[key]

    def _fails(self, env: Mapping[Symbol, int]) -> bool:
        step(BIND)
        try:
            bound = self.claim.bind(env)
            if bound.points() > POINTS and not hasattr(bound, "limits"):
                return False
            return bound.counterexample() is not None
        except (SymlayoutError, TooLarge, ZeroDivisionError, OverflowError):
            return False

    def refute(self, extra: tuple[Fact, ...]) -> bool:
        """Whether the claim fails at some known or small size that meets *extra*."""
        failing = (dict(key) for key, fails in self.known.items() if fails)
        if any(all(_true_at(f, env) for f in extra) for env in failing):
            return True
        return any(self.fails_at(env) for env in self.ahead if all(_true_at(f, env) for f in extra))


def _true_at(f: Fact, env: Mapping[Symbol, int]) -> bool:
    try:
        return f.at(env)
    except (SymlayoutError, ZeroDivisionError):
        return False


def _candidates(claim: Claim, facts: Facts) -> Iterator[Fact]:
    """The claim's own conditions first, then divisibility by its tiles, orders and equalities of its sizes."""
    seen: set[Fact] = set()
    sizes = set(facts.symbols) - claim.indices()  # a repair is about sizes, never about coordinates
    sizes = {s for s in sizes if not is_index(s)} or sizes
    whole, divisors = (_whole_quotients(claim), _divisors(claim, facts)) if claim.divides else ((), ())
    for f in itertools.chain(whole, claim.conditions(facts), divisors, _orders(claim, facts)):
        f = _read(plain(as_divisibility(at_worst(f, {*facts.symbols} - sizes))), facts)
        if f not in seen and f.value is None and sizes.issuperset(f.symbols):
            seen.add(f)
            yield f


def _read(f: Fact, facts: Facts) -> Fact:
    """The same fact under the assumptions, where that is shorter: ld >= 64*ceil(M/64) as ld >= M if 64 divides M."""
    same = Fact(facts.restored(facts.normal(f.expr)), f.relation, f.modulus)
    return same if len(str(same)) < len(str(f)) else f


def _whole_quotients(claim: Claim) -> Iterator[Fact]:
    """x % d == 0 for each quotient x//d with a number d: nothing is cut off."""
    for a in opaque_atoms(*(e for x in claim.parameters() for e in expressions(x))):
        if isinstance(a, Quotient) and type(a.args[1]) is int:
            x, d = a.args
            whole = x - d + 1  # ceil(y/d) is (y + d - 1)//d
            yield multiple_of(whole if isinstance(whole, Symbol) else x, d)


def _divisors(claim: Claim, facts: Facts) -> Iterator[Fact]:
    """s % t == 0 for every size s and number t of the claim."""
    numbers = sorted({n for n in claim.hints() if 2 <= n <= 1024} | {2, 4, 8, 16})
    for n, s in itertools.product(numbers, facts.symbols):
        if n % s.multiple == 0 and n != s.multiple:
            yield s.multiple_of(n)


def _orders(claim: Claim, facts: Facts) -> Iterator[Fact]:
    """One size at least another, or equal to it; strides at least the modes below them."""
    for s, t in itertools.permutations(facts.symbols, 2):
        yield at_least(s, t)
    for s, t in itertools.combinations(facts.symbols, 2):
        yield eq(s, t)


def _weakened(tried: _Tried, f: Fact) -> Repair:
    """The weakest condition of the form of *f* that is shown to repair the claim, or *f* as it is; see ``weaker``."""

    def proves(g: Fact) -> bool:
        return not tried.refute((g,)) and proved_under(tried.claim, (g,), tried)

    if f.relation == "%" and isinstance(f.expr, Symbol):
        shrunk: Fact | None = f
        while shrunk is not None:
            f, shrunk = shrunk, next(filter(proves, weaker_divisors(shrunk)), None)
        bound = next((g for g in _bounds(tried, f.symbols) if implied(g, f, tried.facts) and proves(g)), None)
        if bound is None:
            divisors = [multiple_of(f.expr, f.modulus // p) for p in primes(f.modulus)]
            return Repair((f,), all(_fails_under(tried, (g,)) for g in divisors) and not _bounded(tried, f))
        f = bound
    if f.relation == ">=":
        f = loosened(f, proves)
        return Repair((f,), all(_fails_under(tried, (g,), where) for g, where in neighbours(f)))
    return Repair((f,))


def _bounds(tried: _Tried, symbols: Iterable[Symbol]) -> Iterator[Fact]:
    """Bounds of single sizes that leave out every failure that is known, where the failures end."""
    for s in symbols:
        failing = sorted({dict(key)[s] for key, fails in tried.known.items() if fails})
        if failing:
            yield from (g for g in bounds(s, failing) if not _fails_under(tried, (g,)))


def _bounded(tried: _Tried, f: Fact) -> bool:
    """Whether no failure is known beyond a bound that a divisibility implies, so that one might do as well."""
    return any(implied(g, f, tried.facts) for g in _bounds(tried, f.symbols))


def _fails_under(tried: _Tried, extra: tuple[Fact, ...], where: Fact | None = None) -> bool:
    """Whether some small size that meets weaker facts (and *where*) is a counterexample."""
    claim = tried.claim
    given = (*claim.given, *extra, *((where,) if where is not None else ()))
    try:
        facts = Facts.about(claim.parameters(), given=given)
    except SymlayoutError:
        return False
    least = itertools.islice(small_sizes(facts.symbols, facts, claim.hints()), 60)
    return any(tried.fails_at(env) for env in itertools.chain(least, _edges(facts)))


def _edges(facts: Facts) -> Iterator[dict[Symbol, int]]:
    """Sizes at the edge of an order fact about a single symbol, the others at their least."""
    for f in facts.given:
        found = threshold(f)
        if found is None:
            continue
        s, value = found
        env = {t: (t.lower if type(t.lower) is int else 1) for t in facts.symbols}
        env[s] = value // s.multiple * s.multiple
        if admitted(facts, env):
            yield env


def joint(repairs: Iterable[Fact]) -> tuple[Fact, ...]:
    """One set of facts: divisors of one symbol merged, the tightest order kept."""
    moduli: dict[Symbol, int] = {}
    limits: dict[tuple[Symbol, bool], Fact] = {}
    rest: list[Fact] = []
    for f in repairs:
        edge = threshold(f)
        if f.relation == "%" and isinstance(f.expr, Symbol):
            moduli[f.expr] = math.lcm(moduli.get(f.expr, 1), f.modulus)
        elif edge is not None:
            upper = min(c for m, c in terms_of(f.expr).items() if m) < 0
            kept = limits.get((edge[0], upper))
            other = threshold(kept) if kept is not None else None
            if other is None or (edge[1] < other[1] if upper else edge[1] > other[1]):
                limits[edge[0], upper] = f
        elif f not in rest:
            rest.append(f)
    return (*(s.multiple_of(q) for s, q in moduli.items()), *limits.values(), *rest)
