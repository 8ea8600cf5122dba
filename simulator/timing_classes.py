"""Timing classes: for each atom and operation, the unit that serves it and the numbers of a machine that say how long.

>>> from symlayout.ops import Arrive, Copy, Ref, Slot
>>> print(timing_class(Copy("ld.shared.4", Ref("tile"), Ref("x"))))
shared memory: issue alu_interval, occupancy wavefront_interval, latency shared_latency
>>> print(timing_class(Arrive(Slot("full"))))
mbarrier: issue mbarrier_arrive, occupancy mbarrier_interval

The *issue* is the time for which the warp is busy, the *occupancy* that of the unit for each of what it serves (a warp
instruction, a wavefront, a command), the *latency* the time until the result is there. Global memory adds its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from symlayout import ops
from symlayout.atoms import ATOMS
from symlayout.atoms.access import Completion, Proxy, Word
from symlayout.ops import Op

from .engine import SimulationError


class Unit(Word):
    """The unit that serves an operation."""

    NONE = "none"  # structure: no instruction of its own is counted
    LOOP = "loop"  # an iteration: the jump, and divisions by run-time values
    REGISTERS = "registers"
    FENCE = "fence of asynchronous accesses"
    SPECIAL = "special functions"
    SHARED = "shared memory"
    MATRIX = "matrix copy"
    LOAD = "global load"
    STORE = "global store"
    PEER = "memory of a peer"
    PEER_LATER = "store to a peer, on an mbarrier"
    CP_ASYNC = "cp.async"
    TMA_LOAD = "TMA load"
    TMA_STORE = "TMA store"
    MMA = "mma"
    WGMMA = "wgmma"
    MBARRIER = "mbarrier"
    CP_ASYNC_ARRIVE = "mbarrier, once cp.async has landed"
    WAIT = "mbarrier wait"
    CTA_BARRIER = "CTA barrier"
    COMMIT = "commit"
    WAIT_GROUP = "wait for groups"
    CLUSTER = "cluster"
    CLUSTER_ARRIVE = "cluster, arrival"
    CLUSTER_WAIT = "cluster, wait"


@dataclass(frozen=True)
class TimingClass:
    """A row: a unit and the names of numbers of the machine; "" where there is none."""

    unit: Unit
    issue: str = "alu_interval"
    occupancy: str = ""
    latency: str = ""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers that a machine needs for it."""
        return tuple(filter(None, (self.issue, self.occupancy, self.latency)))

    def __str__(self) -> str:
        told = (("issue", self.issue), ("occupancy", self.occupancy), ("latency", self.latency))
        return f"{self.unit}: {', '.join(f'{what} {x}' for what, x in told if x)}"


NOTHING = TimingClass(Unit.NONE, "")
LOOP = TimingClass(Unit.LOOP, "loop_trip")
REGISTERS = TimingClass(Unit.REGISTERS, "alu_interval", "", "alu_latency")
SPECIAL = TimingClass(Unit.SPECIAL, "sfu_interval", "sfu_interval", "sfu_latency")
SHARED = TimingClass(Unit.SHARED, "alu_interval", "wavefront_interval", "shared_latency")
NARROW = TimingClass(Unit.SHARED, "narrow_store", "wavefront_interval")  # a part of a register is taken out first
MATRIX = TimingClass(Unit.MATRIX, "alu_interval", "matrix_interval", "shared_latency")
LOAD = TimingClass(Unit.LOAD, "alu_interval", "memory_interval")
STORE = TimingClass(Unit.STORE, "alu_interval", "memory_interval")
CP_ASYNC = TimingClass(Unit.CP_ASYNC, "alu_interval", "cp_async_interval")
# A way to a peer is that of an arrival there, one; a load takes it twice. Guesses: nothing was measured.
PEER = TimingClass(Unit.PEER, "alu_interval", "", "cluster_arrive")
PEER_LATER = TimingClass(Unit.PEER_LATER, "alu_interval", "", "cluster_arrive")
TMA_LOAD = TimingClass(Unit.TMA_LOAD, "tma_issue", "tma_command")
TMA_STORE = TimingClass(Unit.TMA_STORE, "tma_issue", "tma_command")
MMA = TimingClass(Unit.MMA, "alu_interval", "mma_interval", "mma_latency")
WGMMA = TimingClass(Unit.WGMMA, "wgmma_issue", "wgmma_column", "wgmma_latency")
WGMMA_REGISTERS = TimingClass(Unit.WGMMA, "wgmma_issue_registers", "wgmma_column", "wgmma_latency")
SETUP = TimingClass(Unit.REGISTERS, "mbarrier_setup")  # the fence behind all that is initialised
CLUSTER = TimingClass(Unit.CLUSTER, "alu_interval", "barrier_interval", "cluster_barrier")

# The words of atoms, as patterns of whole words; the first that fits counts.
ATOM_ROWS: tuple[tuple[str, TimingClass], ...] = (
    (r"ld\.global\.\d+", LOAD),
    (r"st\.global\.\d+", STORE),
    (r"red\.global\.(add|min|max|and|or|xor)\.(v[24]\.)?[a-z]+\d+(x2)?", STORE),
    (r"st\.shared\.[12]", NARROW),
    (r"(ld|st)\.shared\.\d+", SHARED),
    (r"(ld|st)\.cluster\.\d+", PEER),
    (r"st\.async\.\d+", PEER_LATER),
    (r"cp\.async\.\d+", CP_ASYNC),
    (r"(ld|st)matrix\.x[124](\.trans)?", MATRIX),
    (r"(tma|bulk)\.load", TMA_LOAD),
    (r"(tma|bulk)\.store", TMA_STORE),
    (r"tma\.reduce\.(add|min|max)", TMA_STORE),
    (r"mma\.m(16|8)n8k\d+\.[a-z]+\d+(m\d)?(\.(and|xor|[a-z]+\d+(m\d)?))?", MMA),
    (r"wgmma\.m64n\d+k\d+\.[a-z]+\d+(m\d)?(\.f16)?\.rs", WGMMA_REGISTERS),
    (r"wgmma\.m64n\d+k\d+\.[a-z]+\d+(m\d)?(\.f16)?", WGMMA),
)

# Functions of maps that take a special function unit, as patterns; those that round once take other steps beside it.
SPECIAL_FUNCTIONS = r"(ex2|lg2|rcp|rsqrt|sqrt|tanh)\.approx(\.x2)?|div|rcp|sqrt"

OPERATION_ROWS: dict[type[Op], TimingClass] = {
    ops.Map: REGISTERS,
    ops.Fill: REGISTERS,
    ops.Reduce: REGISTERS,
    ops.Shuffle: TimingClass(Unit.REGISTERS, "alu_interval", "", "shuffle_latency"),
    ops.LoadIndex: LOAD,
    ops.Arrive: TimingClass(Unit.MBARRIER, "mbarrier_arrive", "mbarrier_interval"),
    ops.CpAsyncArrive: TimingClass(Unit.CP_ASYNC_ARRIVE, "mbarrier_arrive", "mbarrier_interval"),
    ops.ExpectTx: TimingClass(Unit.MBARRIER, "mbarrier_expect", "mbarrier_interval"),
    ops.Wait: TimingClass(Unit.WAIT, "mbarrier_wait", "mbarrier_interval"),
    ops.Barrier: TimingClass(Unit.CTA_BARRIER, "alu_interval", "barrier_interval", "barrier_release"),
    ops.BarrierArrive: TimingClass(Unit.CTA_BARRIER, "alu_interval", "barrier_interval"),
    ops.WarpBarrier: TimingClass(Unit.REGISTERS),
    ops.ClusterBarrier: CLUSTER,
    ops.ClusterArrive: TimingClass(Unit.CLUSTER_ARRIVE, "alu_interval", "barrier_interval"),
    ops.ClusterWait: TimingClass(Unit.CLUSTER_WAIT, "alu_interval", "barrier_interval", "cluster_barrier"),
    ops.Fence: TimingClass(Unit.FENCE, "fence"),
    ops.Init: REGISTERS,
    ops.Inval: REGISTERS,
    ops.Prefetch: TimingClass(Unit.REGISTERS, "map_prefetch"),
    ops.PrefetchL2: REGISTERS,  # its issue; that later loads find their bytes in L2 is not modelled
    ops.Commit: TimingClass(Unit.COMMIT, "group_commit"),
    ops.WaitGroup: TimingClass(Unit.WAIT_GROUP, "group_wait"),
    ops.For: LOOP,
    ops.If: NOTHING,
    ops.Elect: NOTHING,
    ops.Role: NOTHING,
    ops.Let: NOTHING,
}


def _of_atom(word: str) -> TimingClass | None:
    return next((row for pattern, row in ATOM_ROWS if re.fullmatch(pattern, word)), None)


ATOM_CLASSES = {word: row for word in ATOMS if (row := _of_atom(word)) is not None}


def timing_class(op: Op) -> TimingClass:
    """The timing class of an operation. Raises SimulationError, with its name, for one that has no row."""
    word = getattr(op, "atom", None)
    if isinstance(op, ops.Fence) and op.about != Proxy.ASYNC:
        return REGISTERS if op.about == Completion.WGMMA else SETUP
    if isinstance(op, ops.Map) and re.fullmatch(SPECIAL_FUNCTIONS, op.function):
        return SPECIAL
    found = ATOM_CLASSES.get(word) if isinstance(word, str) else OPERATION_ROWS.get(type(op))
    if found is None:
        name = word or type(op).__name__
        raise SimulationError(f"expected a timing class of {name}, got none; add a row to simulator/timing_classes.py")
    return found
