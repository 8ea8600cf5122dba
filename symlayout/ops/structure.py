"""Operations around others: loops, conditions, elections, roles."""

from __future__ import annotations

from dataclasses import dataclass

from ..atoms.access import Issuer
from ..errors import LayoutError
from ..expr import Fact, Int, Symbol, extent_of
from ..expr.partial_results import comparison
from .op import WARP, Op, expect_word

ELECTIONS = ("elect.sync", "lane 0")  # what chooses the one lane of a warp
UNROLLED = "full"  # the unrolling that leaves no jump of a loop


@dataclass(frozen=True)
class For(Op):
    """The body for each value of *index*, an index 0 <= i < n; n may depend on the block.

    *unroll* says how code is made of it: "full" for one copy of the body for each iteration, which registers that are
    indexed by it need (``WellFormed``), a number for that many copies in a loop (1 for none but the loop), None where
    the compiler may choose. It changes no value.

    >>> from symlayout import index
    >>> print(For(index("q", 4), (), "full"), For(index("i", 64), (), 2), For(index("i", 64), ()))
    for q < 4, unrolled: for i < 64, unrolled by 2: for i < 64:

    Raises LayoutError for another way to unroll.
    """

    index: Symbol
    inside: tuple[Op, ...]
    unroll: int | str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        way = self.unroll
        if way is not None and way != UNROLLED and (isinstance(way, str) or way < 1):
            raise LayoutError(f'expected "{UNROLLED}", a number of copies or None as unroll of {self}, got {way!r}')

    @property
    def extent(self) -> Int:
        return extent_of(self.index)

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        way = {None: "", UNROLLED: ", unrolled", 1: ", not unrolled"}.get(self.unroll, f", unrolled by {self.unroll}")
        return f"for {self.index} < {self.extent}{way}:"


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
        super().__post_init__()
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
    """The program of some warps of the CTA, and the registers that each of their threads keeps (0: as launched)."""

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
