"""Laws of simulated kernels, on kernels and machines drawn at random.

    python -m benchmarks.simulated_laws [--first 0] [--count 200]

A kernel is one of a family, with odd options and sizes, or a program of ``value_kernels`` and ``protocol_kernels``, in
clusters too. Its machine is an H200, or one whose times and rates are up to four times as large or as small, with
other sizes of L2 and of the queues of DRAM. Of each:

- iterations that are counted, and each simulated, give the same time, stalls and counters, to the picosecond;
- no unit is busy for more than all of the time, and a second run is the first;
- a program without a slip that the run without time ends goes on, and with values it leaves the same;
- a time that is longer, or a rate that is lower, makes nothing faster by more than a tenth. Servers that take requests
  in another order may gain some percent: anomalies of schedules (Graham 1969).

Exit status 1 where a law is broken; what is drawn that makes no kernel is counted as refused.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import cluster_protocols, protocol_kernels
from benchmarks.value_kernels import KINDS
from simulator import H200, SimulationError, simulate
from simulator.machine import RATES, TIMES, Machine
from simulator.plan import Plan, Plans
from simulator.program import Programs
from symlayout.atoms.access import MemorySpace
from symlayout.errors import ExecutionError, SymlayoutError
from symlayout.kernel import Kernel
from symlayout.kernels.families import Family, families
from symlayout.semantics import execute

MOST_STEPS = 60_000  # of the SMs in detail: of more a run takes long
GAINED = 0.9  # of the time, that a worse number may leave at least
TRIED = 4  # numbers of a machine that are made worse
SPREAD = 4  # the largest factor of a number that is drawn

STOPPED = ("no process can go on", "arrivals in phase")  # of runs that begin and do not end

run = importlib.import_module("simulator.simulate")._run  # the package has a function of that name

Draw = Callable[[random.Random], Any]
TILES: tuple[Draw, ...] = (
    lambda r: (2 ** r.randint(0, 7), 2 ** r.randint(3, 8)),
    lambda r: (64 * r.randint(1, 3), 64 * r.randint(1, 4)),
    lambda r: (r.randint(1, 256), 4 * r.randint(1, 64)),
)
OPTIONS: dict[str, Draw] = {  # those that are drawn; others stay as is usual
    "dtype": lambda r: r.choice(("f32", "bf16", "f16", "u8", "f64", "e4m3")),
    "threads": lambda r: r.choice((32, 96, 128, 160, 256, 1024)),
    "blocks": lambda r: r.choice((1, 2, 7, 33, 131, 132, 133, 300, 1000)),
    "chunk": lambda r: r.choice((4, 16, 100, 256, 1000, 4096)),
    "slots": lambda r: r.randint(1, 9),
    "stages": lambda r: r.randint(2, 9),
    "order": lambda r: r.choice(("strided", "contiguous")),
    "each": lambda r: r.randint(1, 9),
    "tile": lambda r: r.choice(TILES)(r),
    "cluster": lambda r: r.choice((1, 2, 4)),
    "group": lambda r: r.randint(1, 9),
    "step": lambda r: r.choice((16, 32, 64)),
    "warps": lambda r: r.randint(1, 32),
    "swizzle": lambda r: r.choice((0, 32, 64, 128)),
    "vector_bytes": lambda r: r.choice((2, 4, 8, 16)),
}


@dataclass(frozen=True)
class Drawn:
    """A kernel at sizes and a machine; *clean* is said of a program without a slip, which may be wrong all the same."""

    name: str
    bound: Kernel
    machine: Machine
    clean: bool
    cache: str
    detail: str


def drawn(seed: int) -> Drawn:
    """What a seed draws. Raises SymlayoutError for options and sizes of no kernel."""
    r = random.Random(f"simulated laws {seed}")
    kind = r.choice(("family", "family", "value", "protocol", "cluster"))
    clean = kind == "value"
    if kind == "family":
        kernel, sizes = _of_family(r, r.choice(families()))
    elif kind == "value":
        kernel, some = KINDS[r.choice(tuple(KINDS))](r)
        sizes = r.choice(some)
    else:
        kernel, slips = (protocol_kernels if kind == "protocol" else cluster_protocols).drawn(seed)
        sizes, clean = {s.name: r.choice((1, 3, 9, 20)) for s in kernel.dims}, not slips
    machine, cache, detail = _machine(r), r.choice(("cold", "warm")), r.choice(("auto", "auto", "kinds", "all"))
    return Drawn(f"{kernel.name} {dict(sizes)}", kernel.bind(**sizes), machine, clean, cache, detail)


def _of_family(r: random.Random, of: Family) -> tuple[Kernel, Mapping[str, int]]:
    options = {k: OPTIONS[k](r) for k in of.options if k in OPTIONS and r.random() < 0.7}
    sizes = {name: int(2 ** r.uniform(0, 20 if of.dims == ("N",) else 10)) for name in of.dims}
    sizes = {name: n // 16 * 16 or n if r.random() < 0.7 else n for name, n in sizes.items()}
    if "ld" in sizes:
        sizes["ld"] = sizes["N"] + r.choice((0, 4, 16, 100))
    return of.build(**options), sizes


def _machine(r: random.Random) -> Machine:
    if r.random() < 0.4:
        return H200
    those = [n for n in H200.numbers.values() if n.unit in (*TIMES, *RATES)]
    values = {n.name: n.value * SPREAD ** r.uniform(-1, 1) for n in those}
    held = {"l2_bytes": int(2 ** r.uniform(16, 26)), "dram_queue_bytes": int(2 ** r.uniform(10, 23))}
    return H200.replacing(**values, **held, tma_bytes_in_flight=r.randint(1, 64) * 1024)


def broken(one: Drawn, seed: int) -> Iterator[str]:
    """The laws that a kernel breaks. Raises SimulationError where it is outside of the model, or cannot go on."""
    plans = Plans(Programs(one.bound), one.cache == "warm", one.detail)
    plan = plans.of(one.machine)
    counted = _told(plan, one.machine)
    if counted["steps"] <= MOST_STEPS and counted["what"] != _told(plan, one.machine, each_step=True)["what"]:
        yield "what is counted is not what is simulated step by step"
    if counted["what"] != _told(plan, one.machine)["what"]:
        yield "a second run differs"
    yield from (
        f"{name} is busy for {busy:.1%} of the time" for name, busy in counted["busy"] if not 0 <= busy <= 1 + 1e-9
    )
    if counted["steps"] - counted["repeated"] <= MOST_STEPS // 2:
        yield from _faster(one, plans, counted["time"], random.Random(seed))
    if one.clean and counted["steps"] <= MOST_STEPS // 10:
        yield from _other_values(one)


def _told(plan: Plan, machine: Machine, each_step: bool = False) -> dict[str, Any]:
    """Everything that a run counts."""
    time, chip = run(plan, machine, frozenset(), False, each_step=each_step)
    uses, stalls = tuple(chip.uses(time)), sorted((s.role, s.cause, s.share) for s in chip.stalls())
    units = [(p.name, p.busy, p.queued, p.served) for sm in chip.sms for p in sm.pipes]
    busy = [(u.name, u.utilisation) for u in uses]
    return {
        "what": (time, uses, stalls, units),
        "time": time,
        "busy": busy,
        "steps": chip.steps,
        "repeated": chip.repeated,
    }


def _faster(one: Drawn, plans: Plans, time: int, r: random.Random) -> Iterator[str]:
    for n in r.sample([n for n in one.machine.numbers.values() if n.unit in (*TIMES, *RATES)], TRIED):
        by = r.choice((1.2, 2, 5))
        worse = one.machine.replacing(**{n.name: n.value * by if n.unit in TIMES else n.value / by})
        found = run(plans.of(worse), worse, frozenset(), False)[0]
        if found < GAINED * time:
            yield f"{n.name} {by} times as bad leaves {found / time:.1%} of the time"


def untimed(one: Drawn) -> dict[str, Any] | None:
    """What the run without time leaves, or None where it stops."""
    try:
        return execute(one.bound, inputs(one.bound))
    except ExecutionError:
        return None


def _other_values(one: Drawn) -> Iterator[str]:
    wanted, given = untimed(one) or {}, inputs(one.bound)
    found = simulate(one.bound, one.machine, values=True, inputs=dict(given), what_if=False, uncertainty=False).arrays
    yield from (
        f"{name} has other bytes than without time"
        for name, x in wanted.items()
        if found is not None and np.asarray(found[name]).tobytes() != np.asarray(x).tobytes()
    )


def inputs(bound: Kernel) -> dict[str, Any]:
    """Small integers for each tensor in global memory, and a number for each parameter."""
    r, found = np.random.default_rng(1), dict[str, Any]({p.name: 2 for p in bound.parameters})
    for t in bound.tensors:
        if t.space is MemorySpace.GLOBAL:
            shape = t.layout.shape if isinstance(t.layout.shape, tuple) else (t.layout.shape,)
            found[t.name] = r.integers(0, 2, tuple(int(n) for n in shape)).astype(t.dtype.numpy())
    return found


def judged(seed: int) -> tuple[str, list[str]]:
    """("kept", "broken", "stopped" or "refused", what is told) of a seed."""
    try:
        one = drawn(seed)
    except SymlayoutError as e:
        return "refused", [str(e)]
    try:
        found = list(broken(one, seed))
    except SimulationError as e:
        stopped = any(word in str(e) for word in STOPPED)
        if not (stopped and one.clean) or untimed(one) is None:
            return ("stopped" if stopped else "refused"), [str(e)]
        found = [str(e)]
    return ("broken" if found else "kept"), [f"seed {seed}: {one.name}: {law}" for law in found]


def main(argv: list[str] | None = None) -> int:
    """Print what is broken, and how many kernels kept the laws."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--count", type=int, default=200)
    args = parser.parse_args(argv)
    counts = Counter[str]()
    for seed in range(args.first, args.first + args.count):
        outcome, told = judged(seed)
        counts[outcome] += 1
        if outcome == "broken":
            print(*told, sep="\n", flush=True)
    print(", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items())))
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
