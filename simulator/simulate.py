"""How long a kernel at sizes takes on a machine: one SM in detail, with its share of a chip that does the same.

>>> from symlayout.kernels import bulk_copy
>>> trace = simulate(bulk_copy(132 * 8192, slots=4).bind(), what_if=False, uncertainty=False)
>>> trace.bytes == 2 * 4 * 132 * 8192
True
>>> trace == simulate(bulk_copy(132 * 8192, slots=4).bind(), what_if=False, uncertainty=False)
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from symlayout.atoms.access import MemorySpace
from symlayout.int_tuple import product
from symlayout.kernel import Kernel

from .engine import NS, Engine, SimulationError
from .machine import H200, Machine
from .memory import LATENCY, GlobalMemory
from .program import Programs, Team
from .ranges import time_range
from .sm import ALL, IN_FLIGHT, Sm
from .timing_classes import Unit
from .trace import Stall, Trace, Use
from .warp import Warps

MAX_STEPS = 1_000_000  # of one SM: about ten seconds
TRIED = 0.2  # utilisation from which on a resource is made free for a what-if
CACHES = ("cold", "warm")
READS = (Unit.LOAD, Unit.CP_ASYNC, Unit.TMA_LOAD)


@dataclass(frozen=True)
class Load:
    """The work of the SM that is simulated: its CTAs with their teams, of *active* SMs that do alike."""

    kernel: Kernel
    active: int
    at_once: int  # CTAs on an SM
    ctas: tuple[tuple[str, list[Team]], ...]
    total: int  # CTAs of the grid


def simulate(
    bound: Kernel,
    machine: Machine = H200,
    *,
    cache: str = "cold",
    what_if: bool = True,
    uncertainty: bool = True,
    timeline: bool = False,
) -> Trace:
    """The predicted time of a kernel that is bound to sizes, and where it goes.

    *cache* says whether L2 holds the inputs before: "cold" or "warm" (which matters only where all tensors fit).
    *what_if* runs again with each busy resource made free, *uncertainty* with the machine's numbers at the ends of
    their ranges. *timeline* keeps what each team did.
    Raises SimulationError for a kernel that is outside of the model, for one that does not end, and for a grid so
    large that one SM has more than a million steps.
    """
    if cache not in CACHES:
        raise SimulationError(f"expected a cache of {' or '.join(CACHES)}, got {cache!r}")
    load = _load(bound, machine)
    time, sm = _run(load, machine, cache, frozenset(), timeline)
    uses = tuple(_uses(sm, time))
    tried = [u.name for u in uses if u.utilisation >= TRIED] + [LATENCY]
    others = {name: _run(load, machine, cache, frozenset({name}), False)[0] for name in tried} if what_if else {}
    around = None
    if uncertainty:
        around = time_range(lambda m: _run(load, m, cache, frozenset(), False)[0] + m.ps("launch"), machine)
    return Trace(
        kernel=bound.name,
        digest=bound.digest,
        machine=machine.name,
        sizes=dict(bound.sizes),
        time_ps=time,
        launch_ps=machine.ps("launch"),
        cycle_ps=machine.cycle,
        bytes=_of_all(load, sm.memory.bytes),
        dram_bytes=_of_all(load, sm.memory.dram_bytes),
        uses=uses,
        stalls=tuple(_stalls(sm)),
        what_if=others,
        notes=tuple(_notes(load, cache, machine)),
        around=around,
        timeline=sm.log.timeline if sm.log else None,
    )


def _load(kernel: Kernel, machine: Machine) -> Load:
    """The CTAs of the first SM: every n-th of the grid."""
    programs = Programs(kernel)
    grid = tuple(int(n) for n in kernel.grid)
    total = int(product(grid))
    if min(grid) < 1:
        raise SimulationError(f"expected a grid of at least one CTA, got {grid} of {kernel.name}")
    active = min(total, machine.count("sms"))
    ctas, steps = [], 0
    for n in range(0, total, active):
        block = _block(n, grid)
        ctas.append((f"CTA {','.join(map(str, block))}", programs.of(block)))
        steps += sum(len(t.steps) for t in ctas[-1][1])
        if steps > MAX_STEPS:
            raise SimulationError(f"expected at most {MAX_STEPS} steps of one SM, got more at {ctas[-1][0]} of {total}")
    return Load(kernel, active, _at_once(kernel, machine), tuple(ctas), total)


def _block(n: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    """The block index of a number, x the fastest."""
    out = []
    for extent in grid:
        out.append(n % extent)
        n //= extent
    return tuple(out)


def _at_once(kernel: Kernel, machine: Machine) -> int:
    """CTAs that an SM holds, by threads and shared memory; registers are not known here."""
    shared = kernel.shared_bytes + machine.count("shared_bytes_reserved")
    limits = (
        machine.count("ctas_per_sm"),
        machine.count("threads_per_sm") // (-(-kernel.threads // 32) * 32),
        machine.count("shared_bytes_per_sm") // shared,
    )
    if min(limits) < 1:
        raise SimulationError(
            f"expected a CTA that fits an SM of {machine.name}, got {kernel.threads} threads and "
            f"{kernel.shared_bytes} bytes of shared memory of {kernel.name}"
        )
    return min(limits)


def _run(load: Load, machine: Machine, cache: str, free: frozenset[str], timeline: bool) -> tuple[int, Sm]:
    """The time until all is done and written, and the SM afterwards."""
    engine = Engine()
    misses, fits = _misses(load, machine, cache)
    footprint = _footprint(load.kernel)
    memory = GlobalMemory(
        engine,
        machine,
        active=load.active,
        misses=misses,
        writes_back=not fits,
        far=footprint > machine.count("translation_bytes"),
        free=free,
    )
    sm = Sm(engine, machine, memory, load.kernel, free, timeline)
    waiting = iter(load.ctas)
    for k in range(min(load.at_once, len(load.ctas))):
        engine.start(f"place {k} of the SM", sm.resident(waiting, lambda cta, team: Warps(sm, cta, team).run()))
    engine.run()
    return max(engine.now, *(p.over for p in sm.pipes)), sm


def _footprint(kernel: Kernel) -> int:
    return sum(int(t.bytes) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)


def _misses(load: Load, machine: Machine, cache: str) -> tuple[dict[str, float], bool]:
    """The part of the reads of each tensor that goes to DRAM, and whether all tensors fit into L2.

    Bytes that are read more often than there are count once: L2 keeps them.
    """
    fits = _footprint(load.kernel) <= machine.count("l2_bytes")
    asked: Counter[str] = Counter()
    for _, teams in load.ctas:
        for step in (s for t in teams for s in t.steps if s.unit in READS):
            asked[step.tensor] += step.bytes
    sizes = {t.name: int(t.bytes) for t in load.kernel.tensors}
    found = {name: min(1.0, sizes[name] / _of_all(load, n)) if n else 1.0 for name, n in asked.items()}
    return (dict.fromkeys(found, 0.0) if fits and cache == "warm" else found), fits


def _of_all(load: Load, nbytes: int) -> int:
    """Bytes of the grid from those of one SM, by their CTAs."""
    return nbytes * load.total // len(load.ctas)


def _uses(sm: Sm, time: int) -> Iterator[Use]:
    for p in sm.pipes:
        yield Use(p.name, p.utilisation(time), p.queued / NS / max(p.served, 1), p.served)
    pool = sm.in_flight
    requests = sm.tma.served
    yield Use(IN_FLIGHT, pool.mean(time) / pool.capacity, pool.queued / NS / max(requests, 1), requests)


def _stalls(sm: Sm) -> Iterator[Stall]:
    for role, causes in sm.stalls.items():
        for cause, ps in causes.items():
            if ps and cause != ALL:
                yield Stall(role, cause, ps / causes[ALL])


def _notes(load: Load, cache: str, machine: Machine) -> Iterator[str]:
    yield (
        f"one SM with {len(load.ctas)} of {load.total} CTAs, {load.at_once} at once; "
        f"{load.active} SMs share L2 and DRAM alike"
    )
    yield f"L2 is {cache} at the start; not modelled: docs/simulator/deviations.md"
