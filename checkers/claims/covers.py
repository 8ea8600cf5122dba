"""A schedule of tiles covers a domain, each element exactly once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Fact, Symbol, digit, eq, integer
from symlayout.facts import Facts, ranges
from symlayout.int_tuple import ceil_div, checked, leaves, map_leaves, text

from ..algebra.subject_form import check_subject
from ..claim import Claim, Proof, Query
from ..claim_fields import Function, Subject, Value
from .bijective import Bijective
from .in_bounds import InBounds
from .injective import Injective
from .missing_values import missing


@dataclass(frozen=True)
class Covers(Claim):
    """The tile coordinates that *tiles* gives are those of *domain* cut in tiles of *tile*, each exactly once.

    So every element of the domain lies in one tile of one step of the schedule; the last tile of a mode is clipped.
    *tiles* maps the schedule's coordinates (a block, or a block and an iteration under a predicate) to tile
    coordinates. If the number of steps has no closed form, *by* maps a tile to the step that visits it.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> m, n = ceil_div((M, N), (128, 64))
    >>> print(Covers(AddressMap.over(lambda b: (b % m, b // m), (m * n,)), (M, N), tile=(128, 64)))
    covers: (b) -> (b % ceil(M/128),b//ceil(M/128)) for b < ceil(M/128)*ceil(N/64) over (M,N) in tiles of (128,64)
    """

    tiles: Subject
    domain: Value
    tile: Value = 1
    by: Function = None

    kind: ClassVar[str] = "covers"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.tiles)
        domain = checked(self.domain, "domain")
        tile = checked(self.tile, "tile")
        if not isinstance(tile, tuple) and isinstance(domain, tuple):
            tile = (tile,) * len(domain)
        if len(leaves(tile)) != len(leaves(domain)):
            raise ClaimError(f"expected a tile for each mode of {text(domain)}, got {text(tile)}")
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "tile", tile)
        if self.by is not None and not isinstance(self.by, AddressMap):
            object.__setattr__(self, "by", self._preimage(self.by))
        if isinstance(self.by, AddressMap) and isinstance(self.tiles, AddressMap):
            entries, steps = len(leaves(self.by.offset)), len(self.tiles.coords)
            if entries != steps:
                raise ClaimError(f"expected {steps} coordinates of the schedule from by, got {entries}")

    def _preimage(self, by: Callable[..., Any]) -> AddressMap:
        """The witness as a map over tile coordinates."""
        return AddressMap.over(by, tuple(leaves(self.counts)))

    @property
    def counts(self) -> Any:
        """The number of tiles in each mode of the domain."""
        return map_leaves(lambda n, t: integer(ceil_div(n, t)), self.domain, self.tile)

    def __str__(self) -> str:
        return f"{self.kind}: {self.tiles} over {text(self.domain)} in tiles of {text(self.tile)}"

    def certify(self, facts: Facts) -> Proof | None:
        return Bijective(self.tiles, self.counts, given=self.given).certify(facts)

    def counterexample(self) -> Witness | None:
        found = Bijective(self.tiles, self.counts).counterexample()
        return found if found is not None else missing(self.tiles, self.counts)

    def points(self) -> int:
        return Bijective(self.tiles, self.counts).points()

    def violations(self, facts: Facts) -> list[Query] | None:
        """By counting where that is closed, else by the witness: every tile has a step, and no two steps share one."""
        counted = Bijective(self.tiles, self.counts, given=self.given).violations(facts)
        if counted is not None or not isinstance(self.by, AddressMap) or not isinstance(self.tiles, AddressMap):
            return counted
        inside = InBounds(self.tiles, self.counts).violations(facts) or []
        single = Injective(self.tiles).violations(facts) or []
        return [*inside, *single, *self._witnessed(self.by, self.tiles)]

    def _witnessed(self, by: AddressMap, tiles: AddressMap) -> Iterator[Query]:
        """For each tile: its step is inside the schedule, meets the predicate, and visits that tile."""
        at = tuple(digit(f"t_{c.name}", n) for c, n in zip(by.coords, by.extents, strict=True))
        step = leaves(map_leaves(lambda e: _put(e, dict(zip(by.coords, at, strict=True))), by.offset))
        env: dict[Symbol, Any] = dict(zip(tiles.coords, step, strict=True))
        goals: list[Fact] = []
        for s, n in zip(step, tiles.extents, strict=True):
            goals += [Fact(integer(s), ">="), Fact(integer(_put(n, env) - 1 - s), ">=")]
        goals += [f.subs(env) for f in tiles.valid]
        goals += [eq(_put(v, env), t) for v, t in zip(leaves(tiles.offset), at, strict=True)]
        for g in goals:
            if g.value is not True:
                yield [*ranges(at), g.negated()]

    def lemma(self, facts: Facts) -> str:
        return f"every tile of {text(self.counts)} is visited by exactly one step"


def _put(e: Any, env: Any) -> Any:
    return e.subs(env) if hasattr(e, "subs") else e
