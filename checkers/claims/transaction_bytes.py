"""The bytes that a phase of an mbarrier awaits are those that copies credit to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import Fact, eq
from symlayout.facts import Facts
from symlayout.int_tuple import is_zero
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import Cta, ctas
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Box, Copy, For, Op, PeerCopy

from ..algebra.certificates import together
from ..claim import Claim, Proof, TooLarge
from ..clocks.decided import clocks
from .holds import Holds
from .of_kernel import AtAllSizes


@dataclass(frozen=True)
class TransactionBytes(AtAllSizes):
    """Beside each expect_tx on *barrier* stand copies that credit its bytes: no more, no fewer.

    In a cluster those of every CTA whose multicast reaches it count, each at its own rank: for all ranks.

    >>> from symlayout.kernels import tma_copy
    >>> print(TransactionBytes(tma_copy(64, 256, tile=(16, 64)), "full"))
    transaction bytes: what full of tma_copy awaits

    Raises ClaimError for a barrier that the kernel does not have.
    """

    barrier: str

    kind: ClassVar[str] = "transaction bytes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kernel.barrier(self.barrier)

    def __str__(self) -> str:
        return f"{self.kind}: what {self.barrier} of {self.kernel.name} awaits"

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return f"{len(self.parts())} sums of bytes"

    def parts(self) -> tuple[Claim, ...]:
        """An equality for each expect_tx, and that copies without one there are none; what all CTAs share once."""
        found = tuple(dict.fromkeys(self._sums()))
        vague = any(isinstance(c, _Undecided) or (isinstance(c, Holds) and c.fact.value is False) for c in found)
        if vague and not clocks(self.kernel, self.given).sums_open(self.barrier):
            return (_Summed(self.kernel, self.barrier, given=self.given),)
        return found

    def _sums(self) -> Iterator[Claim]:
        every = [_Credits(cta, self.barrier) for cta in ctas(self.kernel)]
        apart = any(c.left for c in every)  # copies without an expect_tx in their body: their barrier is not determined
        for i in range(max((len(c.awaiting) for c in every), default=0)):
            sums = [(c, c.awaiting[i], _total(every, c, i)) for c in every if i < len(c.awaiting)]
            alike = len({str((x.op, total)) for _, x, total in sums}) == 1
            for mine, x, total in sums:
                where = "" if alike else f" in {mine.cta}"
                if apart and is_zero(total):
                    total = f"which copies {x} awaits: its body has no other copy"
                if isinstance(total, str):
                    yield _Undecided(total, f"{x}{where}")
                    continue
                maps = dict.fromkeys(_source(c.op) for c in mine.beside[i])
                label = f"{x.op} for {' and '.join(maps) or 'no copy'}{where}"
                awaited = x.op.bytes * x.team.threads  # type: ignore[attr-defined, union-attr]
                yield Holds(eq(awaited, total), f"{label}: bytes awaited less those of the copies are 0")
        for mine in every:
            for c in mine.left:
                if mine.reaches(c, mine.cta.rank) and all(mine.beside):
                    yield Holds(Fact(-1, ">="), f"an expect_tx in the body of {c.op}")
                else:
                    yield _Undecided(f"which expect_tx awaits {c}, in {mine.cta}", str(c))
            for s in every:
                for c in (c for cs in s.beside[len(mine.awaiting) :] for c in cs if s.reaches(c, mine.cta.rank)):
                    yield _Undecided(f"what in {mine.cta} awaits {c}, in {s.cta}", f"{c} to {mine.cta}")

    def lemma(self, facts: Facts) -> str:
        return "the bytes awaited are those of the copies"


@dataclass(frozen=True)
class _Summed(AtAllSizes):
    """The sums of each phase of a barrier, whichever operations contribute to it."""

    barrier: str

    kind: ClassVar[str] = "transaction bytes"

    def __str__(self) -> str:
        return f"{self.kind}: of each phase of {self.barrier}"

    def certify(self, facts: Facts) -> Proof | None:
        known = clocks(self.kernel, self.given)
        if known.sums_open(self.barrier):
            return None
        return Proof("use numbers", together(known.certificates, self.kind) if known.certificates else None)

    def counterexample(self) -> Witness | None:
        raise TooLarge("no sum is looked at")


@dataclass(frozen=True)
class _Undecided(Claim):
    """An equality that cannot be put: always unknown."""

    why: str
    where: str

    kind: ClassVar[str] = "transaction bytes"

    def subjects(self) -> tuple[Any, ...]:
        return ()

    def parameters(self) -> tuple[Any, ...]:
        return ()

    def static(self) -> bool:
        return True

    def points(self) -> int:
        return 1

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}"

    def counterexample(self) -> Witness | None:
        raise TooLarge(self.why)

    def lemma(self, facts: Facts) -> str:
        return self.why


class _Credits:
    """The bytes that a CTA awaits on a barrier and those that its cluster copies to it."""

    def __init__(self, cta: Cta, barrier: str) -> None:
        self.cta = cta
        every = list(sites(cta.kernel))
        self.left = [s for s in every if s.op.credits_to(barrier)]
        self.awaiting = [s for s in every if s.op.expects_on(barrier)]
        self.beside: list[list[Site]] = [[] for _ in self.awaiting]
        for alike in (True, False):  # a copy goes with the expect_tx of its own slot, where its body has several
            for x, mine in zip(self.awaiting, self.beside, strict=True):
                more = [c for c in self.left if beside(x, c) and (not alike or c.op.credits == x.op.expects)]
                self.left = [c for c in self.left if c not in more]
                mine += more

    def reaches(self, c: Site, rank: int) -> bool | None:
        """Whether a copy lands in the CTA of a rank; None if its mask is not a number."""
        assert isinstance(c.op, Copy | PeerCopy)
        ranks = self.cta.lands(c.op)
        return None if ranks is None else rank in ranks

    def place(self, i: int) -> list[Op]:
        """The loops and conditions around the i-th expect_tx."""
        return [a.with_body(()) for a in self.awaiting[i].around]


def _total(every: list[_Credits], mine: _Credits, i: int) -> Any:
    """The bytes for the i-th expect_tx of a CTA, from the copies of the i-th of each; a text where they are open."""
    total: Any = 0
    if mine.awaiting[i].team is None:
        return f"which threads come to {mine.awaiting[i]}"
    for s in every:
        reaching = [(j, c, s.reaches(c, mine.cta.rank)) for j, cs in enumerate(s.beside) for c in cs]
        open_ = next((c for j, c, there in reaching if there is None and j == i), None)
        if open_ is not None:
            return f"which CTAs {open_} goes to, in {s.cta}: the mask is not a number for each rank"
        here = [c for j, c, there in reaching if there and j == i]
        if here and s.place(i) != mine.place(i):
            return f"which expect_tx of {s.cta} goes with {mine.awaiting[i]}"
        for c in here:
            if c.conditions != s.awaiting[i].conditions or c.team is None:
                return f"whether {c} is issued wherever its bytes are awaited"
            total = total + c.team.threads * _times(s.awaiting[i], c) * credit(s.cta.kernel, c)
    return total


def beside(x: Site, c: Site) -> bool:
    """Whether *c* stands in the body of *x*, or inside an operation there."""
    return c.around[: len(x.around)] == x.around and c.places[: len(x.around)] == x.places[:-1]


def credit(kernel: Kernel, c: Site) -> Any:
    """The bytes that a copy credits to its barrier, of each thread where these copy by themselves."""
    if isinstance(c.op, PeerCopy) and c.op.row is not None:
        return c.op.row.bytes
    if isinstance(c.op, Copy) and c.op.bytes is not None:
        return c.op.bytes
    if not isinstance(c.op, Copy) or not isinstance(c.op.src, Box):
        raise ClaimError(f"expected a bulk copy or one from a tensor map, got {c.op}")
    return kernel.map(c.op.src.tensor_map).tensor_map.transaction_bytes


def _source(op: Op) -> str:
    """The source of a copy: a tensor map, or a tensor."""
    src = op.src if isinstance(op, Copy) else None
    return src.tensor_map if isinstance(src, Box) else getattr(src, "tensor", "")


def _times(x: Site, c: Site) -> Any:
    total: Any = 1
    for loop in c.around[len(x.around) :]:
        total = total * (loop.extent if isinstance(loop, For) else 1)
    return total
