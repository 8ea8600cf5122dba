"""A kernel asks for no more than a launch on its architecture can have."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.arch import SM90, Arch
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.int_tuple import text
from symlayout.kernel import Kernel
from symlayout.kernel.instructions import instructions
from symlayout.kernel.sites import Site, sites
from symlayout.ops import (
    Barrier,
    BarrierArrive,
    ExpectTx,
)
from symlayout.rules.launch import RULES, Awaited, Instruction, Launch, Limited, NamedBarrier, Phases

from ..claim import Claim, Query, TooLarge
from .obeys import Named, Obeys, open_rules
from .of_kernel import AtAllSizes

TENSOR_MAP_BYTES = 128
SEVERAL = "that what all arrivals at a phase await together is within the limit: several operations arrive there"


@dataclass(frozen=True)
class _AtMost(Obeys):
    """A limit on the most that *subject* can come to: where the most breaks it, what the kernel asks for need not."""

    mendable: ClassVar[bool] = False

    def counterexample(self) -> Witness | None:
        if super().counterexample() is not None:
            raise TooLarge(SEVERAL)
        return None

    def violations(self, facts: Facts) -> list[Query] | None:
        return None

    def lemma(self, facts: Facts) -> str:
        return SEVERAL


@dataclass(frozen=True)
class Launchable(AtAllSizes):
    """The grid, clusters, threads, barriers and instructions of a kernel are within the limits of *arch*.

    Each limit is a row of ``symlayout.rules.launch``. They hold at all sizes, or a size is named at which a launch
    fails; registers and shared memory have claims of their own.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> print(Launchable(vector_copy(dim("N"))))
    launchable: grid (ceil(N/512),), 128 threads of vector_copy on sm_90a

    Raises ClaimError for a value that is not a kernel.
    """

    arch: Arch = SM90

    kind: ClassVar[str] = "launchable"

    def __str__(self) -> str:
        k = self.kernel
        clusters = "" if k.cluster in ((), (1,)) else f" in clusters of {text(k.cluster)}"
        return f"{self.kind}: grid {text(k.grid)}{clusters}, {k.threads} threads of {k.name} on {self.arch}"

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return "rule by rule"

    @property
    def telling(self) -> bool:
        """Whether there is something to say: a limit that sizes decide, or one that is broken."""
        return bool(self._open)

    def parts(self) -> tuple[Claim, ...]:
        """A claim for each rule and place that numbers do not already meet."""
        return self._open or tuple(open_rules(_launch(self.kernel, self.arch), RULES, Named("", self.given)))[:1]

    @functools.cached_property
    def _open(self) -> tuple[Claim, ...]:
        found: list[Claim] = []
        for name, record, conditions in records(self.kernel, self.arch):
            found += (replace(o, given=conditions) for o in open_rules(record, RULES, Named(name)))
        for s, record in _together(self.kernel, self.arch):
            some = open_rules(record, RULES, Named(str(s)))
            found += (_AtMost(o.subject, o.rule, o.place, o.name, given=s.conditions) for o in some)
        return tuple(found)

    def lemma(self, facts: Facts) -> str:
        return "the launch is within the limits"


def records(kernel: Kernel, arch: Arch) -> Iterator[tuple[str, Limited, tuple[Fact, ...]]]:
    """(name, numbers, conditions under which they count) of each part of a kernel that a limit is about."""
    yield "", _launch(kernel, arch), ()
    for b in kernel.barriers:
        yield b.name, Phases(arch, b.slots, b.arrivals), ()
    every = list(sites(kernel))
    for op in dict.fromkeys(s.op for s in every if isinstance(s.op, Barrier | BarrierArrive)):
        yield str(op), NamedBarrier(arch, op.number, op.threads, kernel.threads), ()
    for s in every:
        if isinstance(s.op, ExpectTx):
            yield str(s.op), Awaited(arch, _awaited(kernel, s, every)), s.conditions
    for word, since in dict.fromkeys(instructions(kernel)):
        yield word, Instruction(arch, since), ()


def _launch(kernel: Kernel, arch: Arch) -> Launch:
    parameters = TENSOR_MAP_BYTES * len(kernel.maps) + sum(p.dtype.bits // 8 for p in kernel.parameters)
    at_once = 1 if kernel.ctas_per_sm is None else kernel.ctas_per_sm
    return Launch(arch, kernel.grid, kernel.cluster, kernel.threads, parameters, at_once, int(kernel.shared_bytes))


def _awaited(kernel: Kernel, site: Site, every: list[Site]) -> Any:
    """The bytes of a phase that an expect_tx arms: all its arrivals do where nobody else arrives, else its threads."""
    assert isinstance(site.op, ExpectTx)
    name = site.op.barrier.barrier
    arrivals = kernel.barrier(name).arrivals
    here = [s for s in every if s.op.arrives_at(name)]
    if len(here) > 1:
        arrivals = min(arrivals, site.team.threads if site.team is not None else 1)
    return site.op.bytes * max(1, arrivals)


def _together(kernel: Kernel, arch: Arch) -> Iterator[tuple[Site, Awaited]]:
    """The bytes that a phase would await if each of its arrivals armed it like an expect_tx among several."""
    every = list(sites(kernel))
    for s in every:
        if isinstance(s.op, ExpectTx):
            most = s.op.bytes * kernel.barrier(s.op.barrier.barrier).arrivals
            if most != _awaited(kernel, s, every):
                yield s, Awaited(arch, most)
