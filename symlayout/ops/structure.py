"""Operations around others: loops, conditions, elections, roles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ..atoms.access import Issuer
from ..expr import Fact, Int, Symbol, integer
from ..expr.partial_results import comparison
from .op import WARP, Op, expect_word

ELECTIONS = ("elect.sync", "lane 0")  # what chooses the one lane of a warp


@dataclass(frozen=True)
class For(Op):
    """The body for each value of *index*, an index 0 <= i < n; n may depend on the block."""

    index: Symbol
    inside: tuple[Op, ...]

    @property
    def extent(self) -> Int:
        return integer(cast(Int, self.index.upper) + 1)

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        return f"for {self.index} < {self.extent}:"


@dataclass(frozen=True)
class If(Op):
    """The body where all facts hold; of facts about ``thread``, for the threads where they do."""

    condition: tuple[Fact, ...]
    inside: tuple[Op, ...]

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        return f"if {' and '.join(str(comparison(f)) for f in self.condition)}:"


@dataclass(frozen=True)
class Elect(Op):
    """The body by one thread of the first warp that is here, or by one of each warp.

    *by* is what chooses it, one of ELECTIONS: ``elect.sync`` of the full mask, which takes the same lane each time and
    does not say which (PTX ISA, elect.sync), or a comparison with lane 0. All 32 lanes of the warp come to either: the
    first waits for them, and of some lanes none need be lane 0 (``WellFormed``). Neither orders memory between lanes:
    what the others did before is known to the one only behind a barrier of the warp; see ``docs/memory_model.md``.

    >>> print(Elect((), each_warp=True), Elect((), by="lane 0"))
    elect one of each warp: elect lane 0:

    Raises LayoutError for anything else that chooses.
    """

    inside: tuple[Op, ...]
    each_warp: bool = False
    by: str = ELECTIONS[0]

    def __post_init__(self) -> None:
        expect_word(self.by, ELECTIONS, "an election")

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        which = "one" if self.by == ELECTIONS[0] else self.by
        return f"elect {which}{' of each warp' if self.each_warp else ''}:"


@dataclass(frozen=True)
class Role(Op):
    """What some warps of the CTA do, and how many registers each of their threads keeps (0: as launched)."""

    name: str
    first_warp: int
    warps: int
    inside: tuple[Op, ...]
    registers: int = 0

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    @property
    def threads(self) -> int:
        return WARP * self.warps

    def __str__(self) -> str:
        last = self.first_warp + self.warps - 1
        which = f"warp {last}" if self.warps == 1 else f"warps {self.first_warp} .. {last}"
        return f"role {self.name}, {which}{f', {self.registers} registers' if self.registers else ''}:"
