"""A claim: a property as a value. It says what it is about, how it is proved, and how it is tried on numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, TypeAlias

from symlayout.address_map import AddressMap
from symlayout.answers.outcome import Outcome
from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Expr, Fact, Symbol
from symlayout.facts import Facts

from .algebra.subject_form import numbers_in, points
from .claim_fields import SHARED, subjects_of

Query: TypeAlias = "Sequence[Fact | tuple[Fact, ...]]"


@dataclass(frozen=True)
class Proof:
    """The proof of a claim: the method, a certificate if the method has one, and the lemmas used."""

    method: str
    certificate: Mapping[str, Any] | None = None
    lemmas: tuple[str, ...] = ()


@dataclass(frozen=True)
class Restated:
    """A form in which the checker derives what a statement needs: *claim* is what the proof is then about.

    With *graphs* the statement has the transforms of descriptors; *asked* must be at least 0 for the form to be one.
    *moved* are coordinates of the statement, each with what it is in those of *claim*.
    """

    claim: Claim
    graphs: bool = True
    asked: tuple[Any, ...] = ()
    moved: tuple[tuple[Symbol, Any], ...] = ()


class TooLarge(Exception):
    """A claim on numbers with more points than enumeration takes."""


def first_found(searches: Iterable[Callable[[], Witness | None]]) -> Witness | None:
    """The first failure that one of several searches finds; TooLarge where none does and one was too large."""
    large = False
    for search in searches:
        try:
            found = search()
        except TooLarge:
            large = True
            continue
        if found is not None:
            return found
    if large:
        raise TooLarge
    return None


@dataclass(frozen=True)
class Claim:
    """The base of all claims; one file in ``checkers/claims`` for each.

    ``given`` are assumptions, ``expect`` the outcome that counts as success (a known bug says "refuted");
    text for it becomes a member of ``Outcome``.
    """

    given: tuple[Fact, ...] = field(default=(), kw_only=True)
    expect: Outcome | str = field(default=Outcome.PROVED, kw_only=True)

    kind: ClassVar[str] = ""
    by_rows: ClassVar[bool] = True  # whether an assumption counts in a proof as a row of its certificate alone
    weighs: ClassVar[bool] = True  # whether a proof is tried again without each assumption, to tell those it needs
    mendable: ClassVar[bool] = True  # whether conditions on sizes are sought that repair it, or close a proof
    divides: ClassVar[bool] = True  # whether a repair may be that a number divides a size

    def __post_init__(self) -> None:
        given = facts_of(self.given)
        object.__setattr__(self, "given", given)
        try:
            object.__setattr__(self, "expect", Outcome(self.expect))
        except ValueError:
            raise ClaimError(f"expected one of {', '.join(Outcome)} as expect, got {self.expect!r}") from None

    # -- what a claim gives -------------------------------------------------------------------------

    def subjects(self) -> tuple[Any, ...]:
        """The layouts and maps that the claim is about: its fields of the type ``Subject``."""
        return tuple([getattr(self, name) for name in self._subjects()])

    def certify(self, facts: Facts) -> Proof | None:
        """A proof by algebra, or None."""
        return None

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """Forms in which the checker may derive what a proof by algebra must show, for kinds that have any."""
        return iter(())

    def counterexample(self) -> Witness | None:
        """The smallest failure of a claim without symbols, or None where it holds; TooLarge if undecided."""
        raise NotImplementedError(f"{type(self).__name__} has no test on numbers")

    def violations(self, facts: Facts) -> list[Query] | None:
        """Queries that are all unsatisfiable where the claim holds, or None where it has no such form."""
        return None

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        """The failure at a solver's model, on *bound*, the claim at its sizes; None if it is none."""
        return None

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        """Facts that may repair the claim where it fails, the most telling first."""
        return iter(())

    def otherwise(self) -> str:
        """A repair of the claim other than a fact about sizes, in words."""
        return ""

    def lemma(self, facts: Facts) -> str:
        """The lemma that a proof misses, in words, for an UNKNOWN."""
        return ""

    def masked(self) -> bool:
        """Whether a predicate masks what overhangs, so that the claim needs no layout to stay in its domain."""
        return False

    def parts(self) -> tuple[Claim, ...] | None:
        """The claims that together are this one, or None where it is decided as a whole."""
        return None

    @property
    def expected(self) -> Outcome:
        """The outcome that counts as success."""
        return Outcome(self.expect)

    # -- shared -------------------------------------------------------------------------------------

    def points(self) -> int:
        """The number of points that a test on numbers evaluates."""
        return max(points(x) for x in self.subjects())

    def parameters(self) -> tuple[Any, ...]:
        """Everything whose symbols the claim is about."""
        return tuple([getattr(self, name) for name in self._fields()])

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return f"{len(self.parts() or ())} parts"

    def static(self) -> bool:
        """Whether no symbol occurs anywhere in the claim."""
        return not self.given and all(_static(v) for v in self.parameters())

    @classmethod
    @functools.cache
    def _fields(cls) -> tuple[str, ...]:
        """The fields that say what the claim is about."""
        return tuple(f.name for f in fields(cls) if f.name not in SHARED)

    @classmethod
    @functools.cache
    def _subjects(cls) -> tuple[str, ...]:
        """The fields that are layouts and maps."""
        return subjects_of(cls)

    def bind(self, env: Mapping[Any, int]) -> Claim:
        """The claim at these sizes."""
        moved = {name: _bound(getattr(self, name), env) for name in self._fields()}
        return replace(self, given=(), **moved)

    def indices(self) -> frozenset[Symbol]:
        """Symbols that are block or loop indices: quantified like sizes, but no repair may be about them."""
        return frozenset()

    def trials(self, facts: Facts) -> Iterator[dict[Symbol, int]] | None:
        """The sizes at which the claim is tried, or None for those of ``sizes.small_sizes``."""
        return None

    def concerns(self) -> tuple[Any, ...]:
        """The parameters that a proof is likely to rest on: facts about others are tried after those about these."""
        return self.parameters()

    def hints(self) -> tuple[int, ...]:
        """Numbers around which small sizes are tried."""
        return numbers_in(self.parameters())

    def __str__(self) -> str:
        return f"{self.kind}: {', '.join(map(str, self.subjects()))}"


def _static(x: Any) -> bool:
    if type(x) is int:
        return True
    if isinstance(x, tuple):
        return all(map(_static, x))
    if isinstance(x, Fact):
        return not x.symbols
    return not isinstance(x, Expr) and bool(getattr(x, "static", True))


def facts_of(given: Any) -> tuple[Fact, ...]:
    """The facts of one fact or of several; ClaimError for anything else."""
    facts = (given,) if isinstance(given, Fact) or not isinstance(given, Iterable) else tuple(given)
    for f in facts:
        if not isinstance(f, Fact):
            raise ClaimError(
                f"expected facts such as N.multiple_of(8) or M <= ld as given, got {f!r}; "
                "== compares forms, eq(a, b) makes the fact"
            )
    return facts


def _bound(x: Any, env: Mapping[Any, int]) -> Any:
    if isinstance(x, tuple):
        return tuple(_bound(a, env) for a in x)
    return x.subs(env) if isinstance(x, Expr | AddressMap) or hasattr(x, "subs") else x
