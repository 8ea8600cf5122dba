"""Times that a kernel takes of itself on request: where its roles stamp, and how the stamps lie in a buffer.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> from gpu.codegen import emit
>>> for place in emit(tma_copy(*dims("M N")), stamps=64).stamps.places[1:5]:
...     print(place)
producer: wait of mbarrier empty, until it is free
producer: issue of src_map
consumer: wait of mbarrier full, until bytes land
consumer: issue of dst_map

A stamp is two readings of the SM's ``%clock``, before and after an operation, by the first lane that is there. Each CTA
has a part of the buffer, of 64-bit words: for each warp ``%globaltimer`` and ``%clock64`` at its start and at its end,
by which clocks become nanoseconds that SMs share, then each place's stamps, a row for each warp of its role and a word
for each iteration: its begin, and above it its end. Each word has one writer, so a stamp is one store.
"""

from __future__ import annotations

from dataclasses import dataclass

from symlayout.atoms import MemorySpace
from symlayout.errors import LayoutError
from symlayout.kernel.sites import Site
from symlayout.ops import (
    WARP,
    Arrive,
    Barrier,
    BarrierArrive,
    Box,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Copy,
    CpAsyncArrive,
    Op,
    Role,
    Wait,
    WaitGroup,
)

HEADER_WORDS = 4  # of a warp: globaltimer and clock64 at its start, the same at its end
MOST_WORDS = 1 << 31  # of a CTA: what 32 bits count


@dataclass(frozen=True)
class Place:
    """An operation that is stamped: its role, what it does to what, and what its end tells; *warps* of the role."""

    role: str
    first_warp: int
    warps: int
    what: str  # issue, wait, release, barrier
    of: str
    ends: str  # land, free, release, pass, issue
    operation: str
    words: int  # before its own in the part of a CTA

    def __str__(self) -> str:
        until = {"land": ", until bytes land", "free": ", until it is free"}.get(self.ends, "")
        return f"{f'{self.role}: ' if self.role else ''}{self.what} of {self.of}{until}"


@dataclass(frozen=True)
class StampPlan:
    """The places of a text, and how many iterations of each are kept."""

    places: tuple[Place, ...]
    iterations: int
    warps: int

    @property
    def words_per_cta(self) -> int:
        """The 64-bit words of the buffer for each CTA."""
        return HEADER_WORDS * self.warps + sum(p.warps * self.iterations for p in self.places)


class Stamping:
    """The places of one text as it is printed. Raises LayoutError for a number of iterations below 1."""

    def __init__(self, iterations: int, threads: int, credited: frozenset[str]) -> None:
        if type(iterations) is not int or iterations < 1:
            raise LayoutError(f"expected at least 1 iteration to keep stamps of, got {iterations!r}")
        self.iterations, self.warps, self.credited = iterations, threads // WARP, credited
        self.places: list[Place] = []

    @property
    def plan(self) -> StampPlan:
        return StampPlan(tuple(self.places), self.iterations, self.warps)

    def place(self, site: Site) -> Place | None:
        """A place for an operation that is stamped; None for another. Raises LayoutError where a CTA has too many."""
        told = _told(site.op, self.credited)
        if told is None:
            return None
        role = next((a for a in reversed(site.around) if isinstance(a, Role)), None)
        first, warps = (0, self.warps) if role is None else (role.first_warp, role.warps)
        made = Place("" if role is None else role.name, first, warps, *told, str(site.op), self.plan.words_per_cta)
        self.places.append(made)
        if self.plan.words_per_cta >= MOST_WORDS:
            raise LayoutError(f"expected fewer than {MOST_WORDS} words of stamps in a CTA; keep fewer iterations")
        return made

    def iteration(self, site: Site, trips: list[str]) -> str:
        """The number of an iteration of all loops around, in C; *trips* are their trip counts."""
        text = ""
        for loop, trip in zip(site.loops, trips, strict=True):
            outer = f"({text})" if " " in text else text
            text = f"{outer} * uint32_t({trip}) + {loop.index}" if text else f"uint32_t({loop.index})"
        return text or "0"


def _told(op: Op, credited: frozenset[str]) -> tuple[str, str, str] | None:
    """(what it does, to what, what its end tells) of an operation that is stamped."""
    if isinstance(op, Wait):
        return "wait", f"mbarrier {op.barrier.barrier}", "land" if op.barrier.barrier in credited else "free"
    if isinstance(op, WaitGroup):
        return "wait", f"{op.group} groups{' to be read' if op.read else ''}", "free" if op.read else "land"
    if isinstance(op, Arrive | CpAsyncArrive):
        return "release", f"mbarrier {op.barrier.barrier}", "release"
    if isinstance(op, BarrierArrive):
        return "release", f"barrier {op.number}", "release"
    if isinstance(op, ClusterArrive):
        return "release", "the cluster", "release"
    if isinstance(op, Barrier | ClusterBarrier | ClusterWait):
        return "barrier", f"{op.threads or 'all'} threads" if isinstance(op, Barrier) else "the cluster", "pass"
    if isinstance(op, Copy) and op.completion:
        assert op.row is not None
        far = op.box or (op.src if op.row.src is MemorySpace.GLOBAL else op.dst)
        return "issue", far.tensor_map if isinstance(far, Box) else far.tensor, "issue"
    return None


__all__ = ["HEADER_WORDS", "Place", "StampPlan", "Stamping"]
