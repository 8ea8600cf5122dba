"""How long a kernel at sizes takes on a machine: SMs of each kind in detail, with L2 and DRAM for all.

>>> from symlayout.kernels import bulk_copy
>>> trace = simulate(bulk_copy(132 * 8192, chunk=4096, slots=4, blocks=132).bind(), what_if=False, uncertainty=False)
>>> trace.bytes == 2 * 4 * 132 * 8192
True
>>> trace == simulate(bulk_copy(132 * 8192, chunk=4096, slots=4, blocks=132).bind(), what_if=False, uncertainty=False)
True
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from symlayout.atoms.access import MemorySpace
from symlayout.banks import LANES
from symlayout.kernel import Kernel
from symlayout.ops import LoadIndex

from .dram import skew
from .engine import NS, Engine, SimulationError
from .halves import ALIKE, Served, halves, may_part
from .log import Log
from .machine import H200, Machine
from .memory import JITTER, LATENCY, POWER, GlobalMemory
from .places import Clusters, Place
from .plan import Plan, Plans
from .program import Programs
from .ranges import MODEL, time_range
from .recurrence import Recurrence
from .resource import Pipe
from .sm import ALL, DISPATCH, IN_FLIGHT, RETIRE, UNITS, Sm
from .timing_classes import Unit, timing_class
from .trace import Stall, Trace, Use
from .values import Memories

LAUNCH_STEP = "launch_step"  # the number of the steps in which launches of a stream end
# Of runs that simulate more, a hundredth of a second, others go on for a part: twice as many steps at most, or an 8th.
MANY_STEPS, PARTS = 2_500, (4, 8)
FIRST_STEPS = 1_500  # of the first SM, that tell how busy its tensor cores are: within 0.5 % of the time of all steps
BEYOND = 1.2  # of a part: a quarter often ends where tiles do, which waits that no step tells of make early or late
REUSED = 1.5  # times that each byte moves, from which on several SMs read the same
TRIED = 0.2  # utilisation from which on a resource is made free for a what-if
CACHES = ("cold", "warm")
DETAILS = ("auto", "kinds", "all")
TENSOR = "tensor core"
SLOTS = UNITS[0]
PRODUCTS = {Unit.WGMMA, Unit.MMA}
CLOCK_SPREAD = "product_clock_spread"  # beside products each SM has a clock of its own
LEFT_OUT = "not modelled: docs/simulator/deviations.md"


def simulate(
    bound: Kernel,
    machine: Machine = H200,
    *,
    cache: str = "cold",
    what_if: bool = True,
    uncertainty: bool = True,
    timeline: bool = False,
    detail: str = "auto",
    inputs: Mapping[str, Any] | None = None,
    values: bool = False,
    each_step: bool = False,
    sustained: bool = False,
) -> Trace:
    """The predicted time of a kernel that is bound to sizes, and where it goes.

    *cache* says whether L2 holds the inputs before: "cold", or "warm" as a launch of the same kernel leaves it.
    *what_if* runs again with each busy resource made free, *uncertainty* with the machine's numbers at the ends of
    their ranges. *timeline* keeps what each team of the first SM did.
    *detail* says whether SMs that do alike are simulated by one of each kind ("kinds") or each SM is ("all"); "auto"
    chooses, and the notes say what it chose. *inputs* are tensors of indices that the kernel reads; of others,
    indices are drawn within their contracts. With *values* all SMs are simulated, the inputs are those of ``execute``,
    and the arrays of the trace are what the kernel leaves in global memory: data move when they have arrived, so what
    is not waited for is not there. Where a run cannot go on, the error has its *timeline*. Iterations that repeat those
    before exactly are counted without being simulated (``recurrence``), which changes no number; with *each_step* they
    are not, nor where there is a timeline or values move. *sustained* launches stand among others like them for so
    long that power limits them; a single one that takes so long is limited too.

    Raises SimulationError for a kernel that is outside of the model, for one that does not end, and for a grid so
    large that the SMs in detail have more than a million steps.
    """
    for what, got, known in (("a cache", cache, CACHES), ("a detail", detail, DETAILS)):
        if got not in known:
            raise SimulationError(f"expected {what} of {' or '.join(known)}, got {got!r}")
    _expect_given(bound, machine, inputs or {}, values)
    programs = Programs(bound, inputs)
    memories = Memories(bound, inputs or {}, frozenset(programs.ahead)) if values else None
    plans = Plans(programs, cache == "warm", "all" if values else detail)
    plan = plans.of(machine)
    free = frozenset() if sustained else frozenset({POWER})
    try:
        if Unit.WGMMA in _units(bound):
            machine = machine.multiplying(_tensor_use(plan, machine))
        plans.part(machine, _served(plan, machine))
        plan = plans.of(machine)
        time, chip = _run(plan, machine, free, timeline or values, memories, each_step=each_step)
        if free and not values and time > machine.ps("power_delay"):  # values have moved, and move once
            free = frozenset()
            time, chip = _run(plan, machine, free, timeline, each_step=each_step)
    except SimulationError as e:
        if e.timeline is None:  # again, to tell what happened before
            _run(plan, machine, free, True)
        raise
    uses = tuple(chip.uses(time))
    tried = [u.name for u in uses if u.utilisation >= TRIED] + [LATENCY]
    again = _Again(plans, machine, free, time, chip, each_step)
    others = {name: again.time(machine, name) for name in tried} if what_if else {}
    if DISPATCH in others:  # CTAs that begin together may come in each other's way, which is no cost of their dispatch
        others[DISPATCH] = min(others[DISPATCH], time)
    around = None
    if uncertainty:
        launched = time + _launch(machine)
        gaps = tuple(_gaps(bound))
        uncertain = machine.less_certain(sm_clock=CLOCK_SPREAD) if PRODUCTS & _units(bound) else machine
        around = time_range(lambda m: again.time(m) + _launch(m), uncertain, launched, gaps=gaps, step=LAUNCH_STEP)
    return Trace(
        kernel=bound.name,
        digest=bound.digest,
        machine=machine.name,
        sizes=dict(bound.sizes),
        time_ps=time,
        launch_ps=_launch(machine),
        cycle_ps=machine.cycle,
        bytes=plan.bytes,
        dram_bytes=plan.dram_bytes,
        uses=uses,
        stalls=tuple(chip.stalls()),
        what_if=others,
        notes=(
            *plan.notes,
            *([str(apart)] if (apart := halves(plan.flow, plan.served, machine)) else ()),
            *chip.notes,
            *(again.notes if what_if or uncertainty else ()),
            *(() if free else ("power limits it from its start, as one of many in a row or as long as these",)),
            f"L2 is {cache} at the start; not modelled: docs/simulator/deviations.md",
        ),
        around=around,
        arrays=memories.arrays if memories else None,
        timeline=chip.log.timeline if chip.log and timeline else None,
    )


def _expect_given(bound: Kernel, machine: Machine, inputs: Mapping[str, Any], values: bool) -> None:
    """Raise SimulationError for arguments of other kinds, and for inputs of other names."""
    if not isinstance(bound, Kernel) or not isinstance(machine, Machine):
        wanted = "a kernel, and a machine such as simulator.H200 or simulator.machine('h100_sxm')"
        raise SimulationError(f"expected {wanted}, got {type(bound).__name__} and {type(machine).__name__}")
    names = [x.name for x in bound.tensors if x.space is MemorySpace.GLOBAL] + [x.name for x in bound.parameters]
    unknown = next((name for name in inputs if name not in names), None)
    if unknown is not None:
        raise SimulationError(f"expected inputs of {bound.name} ({', '.join(names)}), got {unknown!r}")
    indices = dict.fromkeys(op.src.tensor for op in bound.walk() if isinstance(op, LoadIndex))
    missing = [name for name in indices if values and name not in inputs]
    if missing:
        told = f"expected {', '.join(missing)} among the inputs, whose values {bound.name} takes for indices"
        raise SimulationError(f"{told}, got none: a run with values draws none")


def _launch(machine: Machine) -> int:
    """What a launch in a stream takes beside its CTAs: until they begin, and until what they wrote is written."""
    return machine.ps("launch") + machine.ps("launch_drain")


def _tensor_use(plan: Plan, machine: Machine) -> float:
    """The part of the time for which tensor cores are busy, on all SMs of the machine, in the first part of a run."""
    slow = machine.multiplying()
    time, chip = _run(plan, slow, frozenset({POWER}), False, until=FIRST_STEPS)
    steps_end = chip.reached[1] if chip.reached else time
    return sum(sm.stands_for * sm.tensor.utilisation(steps_end) for sm in chip.sms) / machine.count("sms")


def _served(plan: Plan, machine: Machine) -> Served:
    """How SMs fare that are served alike, by the first part of a run; nothing where too little is under way to part."""
    if not may_part(plan.flow, machine):
        return ALIKE
    _, chip = _run(plan, machine, frozenset({POWER, JITTER}), False, until=FIRST_STEPS)
    wait = chip.memory.dram.pipe.queued / max(1, chip.memory.dram.pipe.served)
    time, chip = _run(plan, machine, frozenset({"DRAM", POWER}), False, until=FIRST_STEPS)
    steps, time = chip.reached or (chip.sms[0].slots.served, time)
    return Served(wait, plan.flow.time(machine) / (time / steps * plan.kinds[0].walk.steps / plan.size))


def _units(kernel: Kernel) -> set[Unit]:
    """The units that serve its operations."""
    return {timing_class(op).unit for op in kernel.walk()}


def _gaps(kernel: Kernel) -> Iterator[str]:
    """The numbers of a machine that stand for what the model leaves out of a kernel."""
    yield MODEL
    units = _units(kernel)
    if Unit.MMA in units:
        yield f"{MODEL}_products"
    elif Unit.WGMMA in units:
        yield f"{MODEL}_wgmma"
    elif Unit.SHARED in units and Unit.TMA_STORE in units:
        yield f"{MODEL}_turned"


class Chip:
    """The SMs in detail, and the memory that they share."""

    def __init__(self, engine: Engine, plan: Plan, machine: Machine, free: frozenset[str], timeline: bool) -> None:
        far = plan.footprint > machine.count("translation_bytes")
        reused = plan.bytes > REUSED * plan.footprint
        self.memory = GlobalMemory(
            engine,
            machine,
            far=far,
            reused=reused,
            apart=plan.apart,
            slower=plan.slower,
            crowd=plan.crowd,
            halves=halves(plan.flow, plan.served, machine),
            dirty=plan.flow.dirty,
            free=free,
        )
        self.dispatch, self.retire = (Pipe(x, engine, free=x in free) for x in (DISPATCH, RETIRE))
        self.log = Log(engine, plan.kernel.rings) if timeline else None
        self.groups = [
            [
                Sm(
                    engine,
                    machine,
                    self.memory,
                    plan.kernel,
                    free,
                    self.log if k + rank == 0 else None,
                    kind.weight,
                    kind.share,
                )
                for rank in range(plan.size)
            ]
            for k, kind in enumerate(plan.kinds)
        ]
        self.sms = [sm for group in self.groups for sm in group]
        self.repeated, self.why = 0, ""  # of the steps, those that are counted without being simulated; why none is
        self.reached: tuple[int, int] | None = None  # steps of the first SM, and when, in a run that goes so far

    @property
    def steps(self) -> int:
        """The steps that the warps of the SMs in detail have issued."""
        return sum(sm.slots.served for sm in self.sms)

    @property
    def notes(self) -> list[str]:
        if not self.repeated:
            return [f"each of {self.steps} steps is simulated: {self.why}"] if self.steps > MANY_STEPS else []
        told = "repeat those before to the picosecond, and are counted without being simulated"
        return [f"{self.repeated} of {self.steps} steps {told}"]

    @property
    def pipes(self) -> tuple[Pipe, ...]:
        """Those that all SMs share."""
        return *self.memory.pipes, self.dispatch, self.retire

    @property
    def over(self) -> int:
        """When all that was asked of the units is over."""
        return max(p.over for p in (*self.pipes, *(p for sm in self.sms for p in sm.pipes)))

    def stalls(self) -> Iterator[Stall]:
        """What the teams of each name spend their time on, on all SMs."""
        found: dict[str, Counter[str]] = {}
        for sm in self.sms:
            for role, causes in sm.stalls.items():
                every = found.setdefault(role, Counter())
                for cause, ps in causes.items():
                    every[cause] += sm.weight * ps
        for role, every in found.items():
            for cause, ps in every.items():
                if ps and cause != ALL:
                    yield Stall(role, cause, ps / every[ALL])

    def uses(self, time: int) -> Iterator[Use]:
        """How each unit was used, those of SMs on average."""
        weights = [sm.weight for sm in self.sms]
        for pipes in zip(*(sm.pipes for sm in self.sms), strict=True):
            yield _use(pipes, weights, time)
        for pipe in self.pipes:
            yield _use((pipe,), [1], time)
        pools = [sm.in_flight for sm in self.sms]
        held = sum(w * p.mean(time) / p.capacity for w, p in zip(weights, pools, strict=True)) / sum(weights)
        requests = sum(w * sm.tma.served for w, sm in zip(weights, self.sms, strict=True))
        queued = sum(w * p.queued for w, p in zip(weights, pools, strict=True))
        yield Use(IN_FLIGHT, held, queued / NS / max(requests, 1), requests)


def _use(pipes: Sequence[Pipe], weights: Sequence[int], time: int) -> Use:
    busy = sum(w * p.utilisation(time) for w, p in zip(weights, pipes, strict=True)) / sum(weights)
    served = sum(w * p.served for w, p in zip(weights, pipes, strict=True))
    queued = sum(w * p.queued for w, p in zip(weights, pipes, strict=True))
    return Use(pipes[0].name, busy, queued / NS / max(served, 1), served)


class _Again:
    """Times of a kernel whose time is known, on other machines or with a free resource.

    Of a run of many steps, the first part says how much faster or slower the other one is: by the time for its steps.
    """

    def __init__(
        self, plans: Plans, machine: Machine, free: frozenset[str], time: int, chip: Chip, each_step: bool
    ) -> None:
        self.plans, self.free, self.full, self.each_step = plans, free, time, each_step
        few = chip.steps - chip.repeated <= MANY_STEPS
        self.part = 1 if few else next((p for p in PARTS if chip.steps <= 2 * p * MANY_STEPS), PARTS[-1])
        self.until = round(chip.sms[0].slots.served * BEYOND / self.part) if self.part > 1 else 0
        self._each: float | None = None  # picoseconds of a step of the part

    @property
    def notes(self) -> list[str]:
        told = f"what-ifs and the range are those of the first {BEYOND / self.part:.0%} of the steps"
        return [told] if self.until else []

    def time(self, machine: Machine, free: str = "") -> int:
        """Picoseconds on a machine, with a resource made free."""
        if not self.until or free == SLOTS:  # whose requests are the steps
            return self._run(machine, free, 0)[0]
        if self._each is None:
            self._each = self._part(machine, "")
        return round(self.full * self._part(machine, free) / self._each)

    def _part(self, machine: Machine, free: str) -> float:
        """Picoseconds of a step of the part."""
        time, chip = self._run(machine, free, self.until)
        steps, time = chip.reached or (chip.sms[0].slots.served, time)
        return time / steps

    def _run(self, machine: Machine, free: str, until: int) -> tuple[int, Chip]:
        plan, every = self.plans.of(machine), self.free | {free}
        return _run(plan, machine, every, False, until=until, each_step=self.each_step)


def _run(
    plan: Plan,
    machine: Machine,
    free: frozenset[str],
    timeline: bool,
    memories: Memories | None = None,
    until: int = 0,
    each_step: bool = False,
) -> tuple[int, Chip]:
    """The time until all is done and written, or until the first SM has issued so many steps, and the chip then."""
    engine = Engine()
    chip = Chip(engine, plan, machine, free, timeline)
    each = machine.exact("cta_dispatch") + machine.exact("warp_dispatch") * -(-plan.kernel.threads // LANES)
    ctas = [kind.weight * kind.begun * plan.size for kind in plan.kinds]
    intervals = [(round(each * n), round(machine.exact("cta_retire") * n)) for n in ctas]
    waiting = [Clusters(clusters) for clusters in plan.courses(machine)]
    places = [
        Place((k, n), group, waiting[0 if plan.shared else k], (chip.dispatch, chip.retire), intervals[k], memories)
        for n in range(plan.at_once)  # the first of each SM before the second of any
        for k, group in enumerate(chip.groups)
    ]
    repeats = Recurrence(
        engine, places, chip.sms, chip.pipes, chip.memory, until, each_step or timeline or bool(memories)
    )
    for place in places:
        k, n = place.key
        engine.start(f"place {n} of SM {k}", place.run(), place)
    try:
        engine.run()
    except SimulationError as e:
        if chip.log is not None:
            chip.log.stuck()
            e.timeline = chip.log.timeline
        raise
    chip.repeated, chip.why, chip.reached = repeats.steps, repeats.why, repeats.reached
    time = max(engine.now, chip.over) + repeats.skipped
    if plan.turns and not until:
        time += skew(time, chip.memory.dram.pipe.utilisation(time), plan.turns, machine)
    if plan.idle is not None and not until:
        one, two = (_run(alone, machine, free, False)[0] for alone in plan.alone)
        retiring = plan.idle.places * plan.size * max(each, machine.exact("cta_retire"))  # all of them, one by one
        time = plan.idle.over(time, max(two - one, round(retiring)))
    return time, chip
