"""Conditions that are weaker than one that is known to repair a claim, and what "of this form" means.

Of a divisibility ``s % q == 0`` the form is: a divisor of q, or a bound ``s >= c`` or ``s <= c`` that it implies. Of an
order ``sum of terms >= 0`` it is: the same terms with a larger constant, or with a coefficient below 0 one closer to 0.
A condition is the weakest of its form where each step in these directions admits a counterexample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from symlayout.expr import Expr, Fact, Symbol, terms_of
from symlayout.facts import Facts

from .conditions import primes, threshold

STEPS = 10  # proofs that the search for a weaker condition may cost, in each direction
FAR = 1 << 20  # a counterexample beyond it asks for a bound from above

Proves = Callable[[Fact], bool]


def weaker_divisors(f: Fact) -> Iterator[Fact]:
    """s % (q/p) == 0 for each prime p of q."""
    s = f.expr
    if isinstance(s, Symbol):
        for p in primes(f.modulus):
            q = f.modulus // p
            if q >= 1 and q % s.multiple == 0 and q != s.multiple:
                yield s.multiple_of(q)


def bounds(s: Symbol, failing: list[int]) -> Iterator[Fact]:
    """The bounds of a size that leave out the values at which a claim is known to fail."""
    low, high = (e if type(e) is int else None for e in (s.lower, s.upper))
    if min(failing) >= FAR and (low is None or low < min(failing)):
        yield s <= min(failing) - 1
    elif high is None or high > max(failing):
        yield s >= (max(failing) // s.multiple + 1) * s.multiple


def implied(f: Fact, by: Fact, facts: Facts) -> bool:
    """Whether a fact follows from another one and the assumptions."""
    return Facts.about(*facts.symbols, given=(*facts.given, by)).holds(f) is True


def smaller_coefficients(f: Fact) -> Iterator[Fact]:
    """The order with one coefficient below 0 moved up by 1, the rest of it made up by the least value of the size."""
    for m, c in terms_of(f.expr).items():
        if c < 0 and len(m) == 1 and isinstance(m[0], Symbol) and type(m[0].lower) is int and m[0].lower >= 1:
            yield Fact(f.expr + m[0] - m[0].lower, ">=")


def loosened(f: Fact, proves: Proves) -> Fact:
    """An order with smaller coefficients, then with a larger constant, as long as it proves the claim."""
    for _ in range(STEPS):
        smaller = next((g for g in smaller_coefficients(f) if isinstance(g.expr, Expr) and proves(g)), None)
        if smaller is None:
            break
        f = smaller
    return _with_slack(f, proves)


def _with_slack(f: Fact, proves: Proves) -> Fact:
    """The order with the largest constant that is shown: doubled steps, then halved ones."""
    slack, step, growing = 0, 1, True
    for _ in range(STEPS):
        if proves(Fact(f.expr + slack + step, ">=")):
            slack += step
            step = 2 * step if growing else step
        else:
            growing = False
        if not growing:
            step //= 2
        if not step:
            break
    return Fact(f.expr + slack, ">=") if slack else f


def neighbours(f: Fact) -> Iterator[tuple[Fact, Fact | None]]:
    """(weaker condition, where it is one) for each step from an order: one more in the constant or a coefficient."""
    slack = Fact(f.expr + 1, ">=")
    yield slack, Fact(-f.expr - 1, ">=")
    if threshold(f) is None:
        for g in smaller_coefficients(f):
            yield g, Fact(-f.expr - 1, ">=")


def at_worst(f: Fact, indices: set[Symbol]) -> Fact:
    """An order for every value of the indices in it: each that stands alone at the end of its range that asks most."""
    expr = f.expr
    for m, c in terms_of(f.expr).items() if f.relation == ">=" else ():
        if len(m) == 1 and isinstance(m[0], Symbol) and m[0] in indices:
            end = m[0].lower if c > 0 else m[0].upper
            expr = expr + c * (end - m[0]) if end is not None else expr
    return Fact(expr, f.relation, f.modulus)


def is_index(s: Symbol) -> bool:
    """Whether a symbol counts from 0 to below something: a block, a thread or an iteration, and no size."""
    return (
        type(s.lower) is int and s.lower == 0 and s.upper is not None and not (type(s.upper) is int and s.upper >= FAR)
    )


__all__ = ["at_worst", "bounds", "implied", "is_index", "loosened", "neighbours", "weaker_divisors"]
