"""Conditions under which the result of an operation is correct.

>>> from symlayout import Layout, dims, zipped_divide
>>> M, N = dims("M N")
>>> print(zipped_divide(Layout((M, N), (N, 1)), (64, 64)).obligations)
in domain: needs a predicate unless 64 divides M and N
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .expr import Expr, Fact, Int, Quotient, Symbol, evaluate, substitute, terms_of
from .facts import Facts


class Obligation:
    """Facts that make a result right: ``in domain`` can also be met by a predicate, ``exact`` cannot.

    Facts about *coords* are asked at every index, those about sizes alone for all sizes; *when* is a predicate under
    which they are.
    """

    __slots__ = ("coords", "facts", "kind", "unless", "when")

    def __init__(
        self,
        kind: str,
        facts: tuple[Fact, ...],
        unless: str = "",
        coords: tuple[Symbol, ...] = (),
        when: tuple[Fact, ...] = (),
    ) -> None:
        self.kind, self.facts, self.coords, self.when = kind, facts, coords, when
        self.unless = unless or " and ".join(map(str, facts))

    def holds(self, env: Mapping[Any, int] | None = None, given: tuple[Fact, ...] = ()) -> bool | None:
        """True, False or None (undecided), at given sizes or for all sizes that meet *given*."""
        if env is not None and not self.coords:
            return all(f.subs(env).value for f in self.facts)
        if env is not None:
            return self.subs(env).holds()
        known = Facts.about(self.facts, given=(*given, *self.when))
        answers = [known.holds(f) for f in self.facts]
        return False if False in answers else None if None in answers else True

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        found = {s for f in (*self.facts, *self.when) for s in f.symbols} - set(self.coords)
        return tuple(sorted(found, key=lambda s: s.name))

    def repairs(self) -> tuple[Fact, ...]:
        """Facts that meet it: ``M % 64 == 0`` for an overhang of tiles of 64, else its own."""
        return tuple(map(as_divisibility, self.facts))

    def subs(self, values: Mapping[Any, Any]) -> Obligation:
        """The obligation with symbols replaced; its words are made anew, but for those about an index."""
        if self.coords:
            return self._at(values)
        facts = tuple(f.subs(values) for f in self.facts)
        if self.kind == IN_DOMAIN and len(facts) == 1:
            return Obligation(self.kind, facts, _needs(facts[0]))
        return Obligation(self.kind, facts)

    def _at(self, values: Mapping[Any, Any]) -> Obligation:
        """The obligation at sizes, its coordinates running as far as these say."""
        env = {**values, **{c: _ranged(c, values) for c in self.coords if c not in values}}
        facts, when = (tuple(f.subs(env) for f in x) for x in (self.facts, self.when))
        coords = tuple(x for c in self.coords if isinstance(x := env[c], Symbol))
        return Obligation(self.kind, facts, self.unless, coords, when)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Obligation) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return self.kind, self.facts, self.coords, self.when

    def __str__(self) -> str:
        return str(Obligations((self,)))

    def __repr__(self) -> str:
        return f"<{self}>"


def _ranged(c: Symbol, values: Mapping[Any, Any]) -> Symbol:
    ends = [None if x is None else substitute(x, values) for x in (c.lower, c.upper)]
    return c.ranged(*ends)


IN_DOMAIN = "in domain"
EXACT = "exact"


class Obligations(tuple[Obligation, ...]):
    """A set of obligations in order; false or undecided ones, since proved ones are dropped."""

    def __or__(self, other: tuple[Obligation, ...]) -> Obligations:
        if not other:
            return self
        return Obligations((*self, *(o for o in other if o not in self))) if self else Obligations(other)

    def subs(self, values: Mapping[Any, Any]) -> Obligations:
        """The obligations at other sizes; those that have become plainly true are dropped."""
        moved = (o.subs(values) for o in self)
        return Obligations(o for o in moved if not all(f.value for f in o.facts))

    def hold(self, env: Mapping[Any, int]) -> bool:
        """Whether all hold at these sizes."""
        return all(o.holds(env) for o in self)

    def __str__(self) -> str:
        return "\n".join(_lines(self)) or "none"

    __repr__ = __str__


NONE = Obligations()


def in_domain(reach: Int, extent: Int, facts: Facts) -> Obligations:
    """The largest index is below the extent, so that the operand is read inside its domain."""
    if facts.le(reach, extent):
        return NONE
    fact = Fact(extent - reach, ">=")
    return Obligations((Obligation(IN_DOMAIN, (fact,), _needs(fact)),))


def exact(fact: Fact, facts: Facts) -> Obligations:
    """The step of a composition that this fact makes exact."""
    if facts.holds(fact):
        return NONE
    return Obligations((Obligation(EXACT, (fact,)),))


def _needs(fact: Fact) -> str:
    """``64 divides M`` for M - 64*ceil(M/64) >= 0, else the fact itself."""
    divisor = _divides(fact)
    if divisor is not None:
        return f"{divisor[0]} divides {divisor[1]}"
    if type(fact.expr) is int:
        return "false" if fact.expr < 0 else "true"
    return str(fact)


def _divides(fact: Fact) -> tuple[Int, Int] | None:
    """(64, M) for M - 64*ceil(M/64) >= 0, which says that 64 divides M."""
    t = terms_of(fact.expr)
    quotients = [m[0] for m in t if len(m) == 1 and isinstance(m[0], Quotient)]
    if len(quotients) != 1:
        return None
    x, d = quotients[0].args
    extent = x - d + 1
    return (d, extent) if fact.expr == extent - d * quotients[0] else None


def as_divisibility(fact: Fact) -> Fact:
    """M % 64 == 0 for M >= 64*ceil(M/64), other facts as they are."""
    divisor = _divides(fact)
    if divisor is not None and type(divisor[0]) is int and isinstance(divisor[1], Expr):
        return divisor[1].multiple_of(divisor[0])
    return fact


def _lines(obligations: Obligations) -> Iterator[str]:
    """One line for each kind, with the extents of one divisor joined: ``64 divides M and N``."""
    for kind in dict.fromkeys(o.kind for o in obligations):
        grouped: dict[str, list[str]] = {}
        for o in obligations:
            if o.kind == kind:
                fact = o.facts[0]
                divisor = _divides(fact) if kind == IN_DOMAIN and o.unless == _needs(fact) else None
                head, tail = (f"{divisor[0]} divides ", str(divisor[1])) if divisor is not None else ("", o.unless)
                grouped.setdefault(head, []).append(tail)
        parts = [head + " and ".join(tails) for head, tails in grouped.items()]
        if kind == IN_DOMAIN:
            false = parts == ["false"]
            yield "in domain: needs a predicate" + ("" if false else f" unless {' and '.join(parts)}")
        else:
            yield f"{kind}: needs {' and '.join(parts)}"


__all__ = ["EXACT", "IN_DOMAIN", "NONE", "Obligation", "Obligations", "evaluate", "exact", "in_domain"]
