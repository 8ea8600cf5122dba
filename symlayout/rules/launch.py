"""The rules of a launch, one row each: what an architecture has room for, whatever the kernel computes.

Each record holds the numbers of one declaration or operation of a kernel, and the architecture that it is for.

    >>> from symlayout.arch import SM90
    >>> for v in violations(Launch(SM90, (1, 65536)), RULES):
    ...     print(v)
    grid_axis: expected the CTAs along an axis of the grid to be at most 65535 CTAs, got 65536 CTAs in grid.y; \
put the long dimension on grid.x, or loop over it
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..arch import Arch
from ..expr import Expr, Int, Symbol
from ..facts import symbols_in
from .rule import Between, MultipleOf, Rule, violations

WARP = 32  # threads
AXES = 3
PARAMETER_BYTES = 32764  # of a kernel, from compute capability 7.0 and CUDA 12.1 on

GUIDE = "CUDA C++ Programming Guide, Technical Specifications per Compute Capability"
PTX_BAR = "PTX ISA, bar"
PTX_MBARRIER = "PTX ISA, Size and Contents of mbarrier Object"
FEWER = "fewer CTAs are on an SM, so less is in flight than was meant"
NO_LAUNCH = "the launch fails: invalid configuration argument"

__all__ = ["RULES", "Awaited", "Instruction", "Launch", "NamedBarrier", "Phases", "violations"]


@dataclass(frozen=True)
class Limited:
    """The base of the records: numbers or expressions of sizes, and the architecture that limits them."""

    arch: Arch

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in(tuple(vars(self).values())), key=lambda s: s.name))

    @property
    def indices(self) -> frozenset[Symbol]:
        """Block and loop indices, which count from 0: no repair is about them."""
        return frozenset(s for s in self.symbols if s.lower == 0)

    @property
    def static(self) -> bool:
        return not self.symbols

    def subs(self, env: Mapping[Any, Any]) -> Limited:
        """The record at these sizes."""

        def at(x: Any) -> Any:
            return tuple(map(at, x)) if isinstance(x, tuple) else x.subs(env) if isinstance(x, Expr) else x

        return replace(self, **{f.name: at(getattr(self, f.name)) for f in fields(self) if f.name != "arch"})


@dataclass(frozen=True)
class Launch(Limited):
    """The requirements of a kernel on a launch: CTAs along each axis of the grid, those of a cluster, threads of a CTA.

    A grid has one CTA along each axis that the cluster has and the grid does not name.
    """

    grid: tuple[Int, ...]
    cluster: tuple[int, ...] = (1,)
    threads: int = WARP
    parameter_bytes: int = 0  # at least
    ctas_per_sm: int = 1
    shared_bytes: int = 0

    def __post_init__(self) -> None:
        unnamed = (1,) * (len(self.cluster) - len(self.grid)) if self.grid else ()
        object.__setattr__(self, "grid", (*self.grid, *unnamed))


@dataclass(frozen=True)
class NamedBarrier(Limited):
    """``bar.sync number, threads`` in a CTA of *cta_threads*; 0 threads are all of them."""

    number: int
    threads: int
    cta_threads: int


@dataclass(frozen=True)
class Phases(Limited):
    """An array of mbarriers whose phases await so many arrivals."""

    slots: int
    arrivals: int


@dataclass(frozen=True)
class Awaited(Limited):
    """The bytes that one phase of an mbarrier awaits."""

    bytes: Int


@dataclass(frozen=True)
class Instruction(Limited):
    """An instruction, and the compute capability from which on there is one."""

    since: tuple[int, int]


def _axis(c: Any, i: int) -> int:
    """CTAs of a cluster along an axis of the grid."""
    return int(c.cluster[i]) if i < len(c.cluster) else 1


def _number(capability: tuple[int, int]) -> int:
    return 10 * capability[0] + capability[1]


RULES: tuple[Rule, ...] = (
    Rule(
        id="grid_rank",
        sentence="the axes of the grid are 1 to 3: x, y and z",
        name="the axes of the grid",
        profiles=("launch",),
        each="map",
        value=lambda c, i: len(c.grid),
        must=Between(1, AXES),
        when=lambda c: isinstance(c, Launch),
        source=GUIDE,
        unit="axes",
        fix="fold axes into one, and take the index apart with // and %",
        effect="no launch has such a grid",
    ),
    Rule(
        id="grid_axis",
        sentence="the CTAs along an axis of the grid are at most 2^31 - 1 along x, 65535 along y and z",
        name="the CTAs along an axis of the grid",
        profiles=("launch",),
        each="grid",
        value=lambda c, i: c.grid[i],
        must=Between(None, lambda c, i: c.arch.grid_axes[i]),
        when=lambda c: isinstance(c, Launch),
        source=GUIDE,
        unit="CTAs",
        fix="put the long dimension on grid.x, or loop over it",
        effect=NO_LAUNCH,
    ),
    Rule(
        id="cta_threads",
        sentence="the threads of a CTA are 1 to 1024",
        name="the threads of a CTA",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.threads,
        must=Between(1, lambda c, i: min(c.arch.threads_per_block, c.arch.block_axes[0], c.arch.threads_per_sm)),
        when=lambda c: isinstance(c, Launch),
        source=GUIDE,
        unit="threads",
        effect=NO_LAUNCH,
    ),
    Rule(
        id="cta_whole_warps",
        sentence="the threads of a CTA are whole warps of 32",
        name="the threads of a CTA",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.threads,
        must=MultipleOf(WARP),
        when=lambda c: isinstance(c, Launch),
        source="the kernel value, which deals work to whole warps",
        unit="threads",
        effect="no proof speaks of the lanes of a warp that is not whole",
    ),
    Rule(
        id="cluster_size",
        sentence="the CTAs of a cluster are at most 16; more than 8 need an opt-in by the launch",
        name="the CTAs of a cluster",
        profiles=("launch",),
        each="map",
        value=lambda c, i: math.prod(c.cluster),
        must=Between(1, lambda c, i: c.arch.cluster_ctas),
        when=lambda c: isinstance(c, Launch),
        source="CUDA C++ Programming Guide, Thread Block Clusters; PTX ISA, cluster",
        unit="CTAs",
        effect=NO_LAUNCH,
    ),
    Rule(
        id="cluster_axis",
        sentence="the CTAs of a cluster along each axis are at least 1",
        name="the CTAs of a cluster along an axis",
        profiles=("launch",),
        each="grid",
        value=_axis,
        must=Between(1, None),
        when=lambda c: isinstance(c, Launch),
        source="PTX ISA, .reqnctapercluster",
        unit="CTAs",
        effect=NO_LAUNCH,
    ),
    Rule(
        id="cluster_divides_grid",
        sentence="the CTAs along each axis of the grid are a multiple of those of the cluster",
        name="the CTAs along an axis of the grid",
        profiles=("launch",),
        each="grid",
        value=lambda c, i: c.grid[i],
        must=MultipleOf(lambda c, i: max(1, _axis(c, i))),
        when=lambda c: isinstance(c, Launch) and math.prod(c.cluster) > 1,
        source="CUDA C++ Programming Guide, Thread Block Clusters",
        unit="CTAs",
        fix="round the grid up, and let the CTAs past the end do nothing",
        effect=NO_LAUNCH,
    ),
    Rule(
        id="parameter_bytes",
        sentence="the parameters of a kernel are at most 32764 bytes; a tensor map takes 128 of them",
        name="the parameters of a kernel",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.parameter_bytes,
        must=Between(None, PARAMETER_BYTES),
        when=lambda c: isinstance(c, Launch),
        source="CUDA C++ Programming Guide, Kernel Parameters",
        unit="bytes",
        fix="keep tensor maps in global memory, and fence them",
        effect="the compiler refuses the kernel",
    ),
    Rule(
        id="ctas_per_sm",
        sentence="the CTAs that are to be on an SM at once are 1 to 32",
        name="the CTAs on an SM",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.ctas_per_sm,
        must=Between(1, lambda c, i: c.arch.blocks_per_sm),
        when=lambda c: isinstance(c, Launch),
        source=GUIDE,
        unit="CTAs",
        effect=FEWER,
    ),
    Rule(
        id="sm_threads",
        sentence="the threads of all CTAs that are to be on an SM at once are at most 2048",
        name="the threads of all CTAs on an SM",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.threads * c.ctas_per_sm,
        must=Between(None, lambda c, i: c.arch.threads_per_sm),
        when=lambda c: isinstance(c, Launch) and c.ctas_per_sm > 1,
        source=GUIDE,
        unit="threads",
        fix="ask for fewer CTAs an SM (ctas_per_sm), or have fewer threads",
        effect=FEWER,
    ),
    Rule(
        id="sm_shared_bytes",
        sentence="the shared memory of all CTAs that are to be on an SM at once, with 1024 bytes that are taken of "
        "each, is at most that of the SM",
        name="the shared memory of all CTAs on an SM",
        profiles=("launch",),
        each="map",
        value=lambda c, i: (c.shared_bytes + c.arch.shared_bytes_reserved) * c.ctas_per_sm,
        must=Between(None, lambda c, i: c.arch.shared_bytes_per_sm),
        when=lambda c: isinstance(c, Launch) and c.ctas_per_sm > 1,
        source=f"{GUIDE}; Shared Memory",
        unit="bytes",
        fix="ask for fewer CTAs an SM (ctas_per_sm), or have fewer stages",
        effect=FEWER,
    ),
    Rule(
        id="named_barrier_number",
        sentence="the number of a barrier of a CTA is 0 to 15",
        name="the number of the barrier",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.number,
        must=Between(0, lambda c, i: c.arch.named_barriers - 1),
        when=lambda c: isinstance(c, NamedBarrier),
        source=PTX_BAR,
        fix="use a number again where all threads have left it, or an mbarrier",
        effect="the assembler refuses the instruction, or it is illegal",
    ),
    Rule(
        id="named_barrier_threads",
        sentence="the threads that a barrier awaits are whole warps of 32",
        name="the threads that the barrier awaits",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.threads,
        must=MultipleOf(WARP),
        when=lambda c: isinstance(c, NamedBarrier),
        source=PTX_BAR,
        unit="threads",
        effect="the instruction is illegal",
    ),
    Rule(
        id="named_barrier_cta",
        sentence="the threads that a barrier awaits are at most those of the CTA",
        name="the threads that the barrier awaits",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.threads,
        must=Between(0, lambda c, i: c.cta_threads),
        when=lambda c: isinstance(c, NamedBarrier),
        source=PTX_BAR,
        unit="threads",
        effect="the barrier is never passed",
    ),
    Rule(
        id="mbarrier_arrivals",
        sentence="the arrivals that a phase of an mbarrier awaits are 1 to 2^20 - 1",
        name="the arrivals that a phase awaits",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.arrivals,
        must=Between(1, lambda c, i: c.arch.mbarrier_arrivals),
        when=lambda c: isinstance(c, Phases),
        source=PTX_MBARRIER,
        unit="arrivals",
        effect="mbarrier.init has no meaning for such a number",
    ),
    Rule(
        id="mbarrier_slots",
        sentence="an array of mbarriers has at least 1",
        name="the mbarriers of an array",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.slots,
        must=Between(1, None),
        when=lambda c: isinstance(c, Phases),
        source="the kernel value",
        effect="operations name an mbarrier that is not there",
    ),
    Rule(
        id="mbarrier_bytes",
        sentence="the bytes that a phase of an mbarrier awaits are 0 to 2^20 - 1",
        name="the bytes that a phase awaits",
        profiles=("launch",),
        each="map",
        value=lambda c, i: c.bytes,
        must=Between(0, lambda c, i: c.arch.mbarrier_bytes),
        when=lambda c: isinstance(c, Awaited),
        source=PTX_MBARRIER,
        unit="bytes",
        fix="await several phases, or use several mbarriers",
        effect="the count of bytes overflows: the phase ends early or never",
    ),
    Rule(
        id="instruction_of_arch",
        sentence="the architecture has the instruction: its compute capability, 10 times major plus minor, is enough",
        name="the compute capability",
        profiles=("launch",),
        each="map",
        value=lambda c, i: _number(c.arch.compute_capability),
        must=Between(lambda c, i: _number(c.since), None),
        when=lambda c: isinstance(c, Instruction),
        source="PTX ISA, Target ISA Notes of each instruction",
        effect="the assembler refuses the instruction",
    ),
)

BY_ID = {r.id: r for r in RULES}
