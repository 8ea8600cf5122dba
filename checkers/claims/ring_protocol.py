"""The mbarriers of a ring hand its slots back and forth without a deadlock, an overwrite or an early read."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from symlayout.answers.report import Witness
from symlayout.errors import AssumptionError, ClaimError
from symlayout.expr import Expr, Fact, Quotient, Symbol, evaluate
from symlayout.facts import Facts, opaque_atoms
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import blocks_of, told, whole
from symlayout.kernel.counting import Uncounted
from symlayout.kernel.sites import sites
from symlayout.ops import For
from symlayout.semantics.trials import FEW_SCHEDULES, affordable, mishap

from ..algebra.certificates import together
from ..claim import Claim, Proof, TooLarge
from ..clocks.decided import Clocks, clocks
from ..orders.initialised import init_orders
from ..overlaps import unsettled
from ..rings.abstract_machine import Exhausted
from ..rings.programs import Absent, OutsideTheModel, machine
from ..rings.recognised import RingParts, rings_of
from ..rings.ring_lemmas import lemmas
from ..rings.shown import Open
from ..rings.steps import Fault
from .of_kernel import AtAllSizes

MODEL = "atomic steps; memory ordering is HappensBefore's"


@dataclass(frozen=True)
class RingProtocol(AtAllSizes):
    """For every trip count: no deadlock, no overwrite before release, no read before arrival, phases in step.

    *ring* names the barrier that the fills of the ring complete on; without it the claim is about every ring of the
    kernel. What the operations must have is read off them: use n waits for slot n % S with the parity of n//S,
    arrives after its wait, as often as the barrier awaits, and not later than S - 1 uses behind; both sides make
    the same number of uses; bytes awaited are bytes copied. That this suffices is proved once, by ``LEMMAS``. A
    warp takes its steps as one here: what lanes of it know of one another is ``HappensBefore``'s.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> M, N = dims("M N")
    >>> print(RingProtocol(tma_copy(M, N), "full"))
    ring protocol: ring by full and empty of tma_copy

    Raises ClaimError for a value that is not a kernel and for a ring that it does not have.
    """

    ring: str | None = None

    _runs: ClassVar[list[None]]  # one entry for each size at which untimed runs are still made
    kind: ClassVar[str] = "ring protocol"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "_runs", [None] * UNTIMED)
        known = [r.full for r in rings_of(self.kernel)]
        if self.ring is not None and self.ring not in known:
            raise ClaimError(
                f"expected a barrier that fills complete on ({', '.join(known) or 'none'}), got {self.ring!r}"
            )

    @property
    def shape(self) -> RingParts:
        """The ring as the operations show it."""
        return next(r for r in rings_of(self.kernel) if r.full == self.ring)

    def points(self) -> int:
        return 100

    def __str__(self) -> str:
        what = self.shape if self.ring is not None else "every ring"
        return f"{self.kind}: {what} of {self.kernel.name}"

    def parts(self) -> tuple[Claim, ...] | None:
        if self.ring is not None:
            return None
        return tuple(replace(self, ring=r.full) for r in rings_of(self.kernel))

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return f"{len(self.parts() or ())} rings; {MODEL}"

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        """Each loop makes whole rounds through the ring, twice: a cursor that is reset in it needs that."""
        rounds = 2 * self.shape.slots
        extents = [op.extent for op in self.kernel.walk() if isinstance(op, For)]
        for a in opaque_atoms(*extents):
            x, d = a.args if isinstance(a, Quotient) else (0, 0)
            for s in x.symbols if type(d) is int and isinstance(x, Expr) else ():
                yield s.multiple_of(d * rounds)

    def hints(self) -> tuple[int, ...]:
        """Sizes at which some role makes one use, as many as there are slots, and one more than two rounds take."""
        return telling_sizes(self.kernel, self.shape.slots)

    # -- proof --------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        known = clocks(self.kernel, self.given)
        if self._left_open(known):
            return None
        reading = known.ring(self.shape)
        if isinstance(reading, str):  # what is no such ring by itself: all barriers of the kernel, and its own accesses
            found = together(known.certificates, self.kind) if known.certificates else None
            return Proof(f"symbolic clocks of all barriers; {MODEL}", found, tuple(known.shown))
        found = together(reading.certificates, self.kind) if reading.certificates else None
        used, where = lemmas(reading.clustered), told(self.kernel)
        method = f"invariant of one slot, {len(used)} lemmas; {where and f'{where}; '}{MODEL}"
        return Proof(method, found, (*reading.shown, *used))

    def lemma(self, facts: Facts) -> str:
        return self._left_open(clocks(self.kernel, self.given))

    def _left_open(self, known: Clocks) -> str:
        """What neither the invariant of a slot nor clocks show; "" for nothing."""
        try:
            self._expect_own()
        except (Open, Uncounted, AssumptionError) as e:
            return str(e)
        return known.ring_open(self.shape)

    def _expect_own(self) -> None:
        """Raise Open where other tensors may be in use in the ring's memory, or its mbarriers before their init."""
        for a, b, why in unsettled(self.kernel, self.shape.tensors):
            raise Open(f"whether {a} and {b}, which share bytes, are apart in time: {why}")
        own = (self.shape.full, self.shape.empty)
        late = next((o for o in init_orders(self.kernel, list(sites(self.kernel)), own) if not o.by), None)
        if late is not None:
            raise Open(f"whether the mbarriers are initialised before their use: {late.missing or late.beyond}")

    # -- refutation ---------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        """The shortest interleaving to a fault, in the first or the last CTA or cluster; TooLarge if there is none."""
        for fact in whole(self.kernel):
            if fact.value is False:
                return Witness({}, (), f"a grid of {fact.expr} blocks is not one of clusters of {fact.modulus}")
        ring, few = self.shape, 4 * self.shape.slots + 4
        about = frozenset({ring.full, ring.empty, *ring.tensors} - {""})
        if not _given_back_by_all(self.kernel, ring):  # others free the slot, which the machine of rings does not know
            return self._untimed(about, "slots are given back by way of other barriers, of which rings know nothing")
        for uses, block in itertools.product((few, WHOLE), _blocks(self.kernel)):
            try:
                fault = _fault(self.kernel, block, uses, about)
            except TooLarge as e:
                return self._untimed(about, str(e))
            if fault is not None:
                at = ", ".join(f"{b} = {v}" for b, v in zip(self.kernel.block, block, strict=True))
                return Witness({}, (block,), f"{at}: {fault}")
        return self._untimed(
            about, "no fault is found in the first and the last CTA, and a search up to a bound proves nothing"
        )

    def _untimed(self, about: frozenset[str], otherwise: str) -> Witness:
        """A hang, or a phase that gets too much, in untimed runs; TooLarge if a few of them show none."""
        if self._runs and affordable(self.kernel):
            self._runs.pop()
            found = mishap(self.kernel, ("hang", "phase"), FEW_SCHEDULES)
            if found is not None and about & set(found.subject):
                return Witness({}, (), str(found))
        raise TooLarge(otherwise)

    def bind(self, env: Mapping[Any, int]) -> Self:
        bound = super().bind(env)
        object.__setattr__(bound, "_runs", self._runs)  # shared by all sizes; no field, it is nothing that is claimed
        return bound


def _given_back_by_all(kernel: Kernel, ring: RingParts) -> bool:
    """Whether all roles that read a ring's tensors arrive on its barriers, or none of them on others."""
    every = list(sites(kernel))
    own = {ring.full, ring.empty}
    reading = {s.role for s in every if {r.tensor for r in (*s.op.sources, *s.op.targets)} & set(ring.tensors)}
    giving = {s.role for s in every if s.op.arrives is not None and s.op.arrives.barrier in own}
    elsewhere = any(s.role in reading and s.op.arrives is not None and s.op.arrives.barrier not in own for s in every)
    return not (elsewhere and reading - giving)


def _blocks(kernel: Kernel) -> list[tuple[int, ...]]:
    sizes = [evaluate(n, {}) for n in kernel.grid]
    if 0 in sizes:
        return []
    ends = tuple(0 for _ in sizes), tuple(n - 1 for n in sizes)
    return list(dict.fromkeys(blocks_of(kernel, b)[0] for b in ends))


UNTIMED = 16  # sizes at which untimed runs look for a fault
WHOLE = 128  # waits of a warp that are run, by a few interleavings: what goes wrong at the end, a search does not reach
FEW = 4  # of them

_SEEN: dict[Any, Fault | None] = {}  # programs of the last searches: most sizes give the same ones


def _fault(kernel: Kernel, block: tuple[int, ...], uses: int, about: frozenset[str]) -> Fault | None:
    try:
        made = machine(kernel, block, uses)
    except Absent as e:
        return e.fault
    except OutsideTheModel as e:
        raise TooLarge(f"no interleaving is looked at, since the model of rings does not have {e}") from e
    except RecursionError:
        raise TooLarge("no interleaving is looked at, since loops are too deep for that") from None
    key = (made.agents, made.barriers, about)
    if key not in _SEEN:
        if len(_SEEN) > 500:
            _SEEN.clear()
        if uses == WHOLE:
            _SEEN[key] = made.replayed(about, tries=FEW)
        else:
            try:
                _SEEN[key] = made.search(about)
            except Exhausted:
                _SEEN[key] = made.replayed(about)
    return _SEEN[key]


@functools.lru_cache(maxsize=64)
def telling_sizes(kernel: Kernel, slots: int) -> tuple[int, ...]:
    """For each size the least at which some loop of the first CTA makes one round through the ring, and two."""
    return tuple(sorted(set(_telling_sizes(kernel, slots))))


def _telling_sizes(kernel: Kernel, slots: int) -> Iterator[int]:
    loops = [op for op in kernel.walk() if isinstance(op, For)]
    for s in kernel.dims:
        for wanted in (slots + 1, 2 * slots + 1):
            for loop in loops:

                def iterations(v: int, s: Symbol = s, loop: Any = loop) -> int:
                    env = {d.name: max(1, d.lower if type(d.lower) is int else 1, d.multiple) for d in kernel.dims}
                    others = (
                        {x.name: 0 for x in loop.extent.symbols if x.name not in env}
                        if hasattr(loop.extent, "symbols")
                        else {}
                    )
                    return evaluate(loop.extent, {**env, **others, s.name: v})

                high = s.multiple
                try:
                    while iterations(high) < wanted and high < 1 << 30:
                        high *= 2
                    low = high // 2
                    while high - low > s.multiple:
                        middle = (low + high) // 2 // s.multiple * s.multiple
                        low, high = (low, middle) if iterations(middle) >= wanted else (middle, high)
                except ZeroDivisionError:
                    continue
                if high < 1 << 30:
                    yield high
