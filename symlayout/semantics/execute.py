"""The untimed run of a kernel on NumPy memory, under a chosen order of everything that the hardware leaves open.

    >>> import numpy as np
    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> bound = tma_copy(*dims("M N"), tile=(8, 8), slots=2, blocks=2).bind(M=10, N=12)
    >>> src = np.arange(120, dtype=np.float32).reshape(10, 12)
    >>> bool((execute(bound, {"src": src}, order="lazy")["dst"] == src).all())
    True

``eager`` does what is asynchronous where it is issued, and asks for no order: what the kernel is meant to compute.
``lazy`` does it at the last legal moment. A number mixes both and interleaves all agents at random. Under these two a
byte that a reader need not see yet is poison, and a write to bytes that may still be in use is a mistake.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import DisorderError, ExecutionError, LayoutError
from ..int_tuple import text
from ..kernel import Kernel
from ..kernel.launch_checks import check_arrays
from ..ops import Role
from . import bulk_copies as bulk_copies  # registers its effects, as the next ones do
from . import copies as copies
from . import matrix_effects as matrix_effects
from . import peers as peers
from .agent import MISTAKES, Agent, Blocked
from .machine import Cluster, Cta, Machine
from .matrix_sums import Sums, accumulated
from .named_values import scalar
from .op_steps import STEPS
from .order import STRANDS

Array = np.ndarray[Any, Any]
ORDERS = ("eager", "lazy")
TOGETHER = 3  # clusters that a random order interleaves
LATE = (0.5, 0.8, 1.0)  # how likely an effect is late, drawn for each random order
LANDS = (0.2, 0.02, 0.002)  # how likely a flight is to land at each step, likewise


def execute(bound: Kernel, inputs: Mapping[str, Any], order: str | int = "eager") -> dict[str, Array]:
    """All global tensors after the run of a kernel that is bound to sizes, by name.

    *inputs* are arrays with the shape of the tensor's layout and numbers for scalar parameters; tensors without one
    start as poison. *order* is ``eager``, ``lazy`` or a seed. Raises LayoutError for a kernel with symbols, inputs
    that do not fit and an empty grid, and AssumptionError for arrays whose addresses break the assumptions of the
    kernel's tensors (see ``launch_checks``). Raises ExecutionError where the run faults, races, hangs or puts poison
    into a tensor: with CTA, role, iteration and op.
    """
    return {name: memory.get() for name, memory in run(bound, inputs, order).memory.items()}


def expect_reference(bound: Kernel, inputs: Mapping[str, Any], order: str | int = "eager") -> None:
    """Raise ExecutionError unless a run ends with the bytes of the kernel's reference: with the first wrong element."""
    if bound.reference is None:
        raise LayoutError(f"expected a kernel with a reference, got {bound.name} without one")
    expect_arrays(bound, inputs, bound.reference(**inputs), order)


def expect_arrays(
    bound: Kernel, inputs: Mapping[str, Any], wanted: Mapping[str, Array], order: str | int = "eager"
) -> None:
    """Raise ExecutionError unless a run ends with the bytes of these tensors: with the first wrong element."""
    machine = run(bound, inputs, order)
    for name, want in wanted.items():
        memory = machine.memory[name]
        got = memory.get()
        if (got.shape, got.dtype) != (want.shape, want.dtype):
            raise LayoutError(
                f"expected a reference of shape {got.shape} and type {got.dtype} for {name}, got {want.shape} and "
                f"{want.dtype}"
            )
        wrong = (as_bytes(got) != as_bytes(want)).any(axis=-1)
        if wrong.any():
            at = tuple(int(x[0]) for x in np.nonzero(wrong))
            raise ExecutionError(
                f"{name} differs in {np.count_nonzero(wrong)} of {wrong.size} elements, first at {text(at)}: expected "
                f"{want[at]}, got {got[at]}, {memory.written_by(at)}"
            )


def as_bytes(x: Array) -> Array:
    """The bytes of each element of an array, as a last mode."""
    x = np.ascontiguousarray(x)
    return x.view(np.uint8).reshape(*x.shape, x.itemsize)


def run(
    bound: Kernel,
    inputs: Mapping[str, Any],
    order: str | int,
    clusters: int | None = None,
    log: Any = None,
    *,
    sums: Sums = accumulated,
    apart: bool = False,
    strands: int = STRANDS,
) -> Machine:
    """The machine after the run, of the first *clusters* only where a number is given; see ``execute``.

    *sums* are those of products of matrices: exact and rounded once, or those of a device (``tensor_core_sums``). With
    *apart* each warp goes its own way, else those of a role go together. *strands* are those of a warp that know of one
    another by synchronisation only: 2, or 32.
    """
    if bound.dims:
        raise LayoutError(f"expected a kernel that is bound to sizes, got symbols {', '.join(map(str, bound.dims))}")
    if order not in ORDERS and type(order) is not int:
        raise LayoutError(f"expected an order of {', '.join(ORDERS)} or a seed, got {order!r}")
    machine, scheduler = _machine(bound, order, sums)
    machine.log, machine.strands, scheduler.apart = log, strands, apart
    put(machine, inputs)
    scheduler.run(itertools.islice(_clusters(bound), clusters))
    return machine


def put(machine: Machine, inputs: Mapping[str, Any]) -> None:
    """Put arrays and scalar parameters into the memories of a launch; errors are those of ``execute``."""
    bound = machine.kernel
    _place(machine, inputs)
    for name, x in inputs.items():
        if name in {p.name for p in bound.parameters}:
            machine.scalars[name] = scalar(bound.parameter(name), x)
        elif name in machine.memory:
            machine.memory[name].put(x)
        else:
            scalars = f" or a scalar ({', '.join(p.name for p in bound.parameters)})" if bound.parameters else ""
            raise LayoutError(f"expected a global tensor ({', '.join(machine.memory)}){scalars}, got {name!r}")


def _place(machine: Machine, inputs: Mapping[str, Any]) -> None:
    """Let tensors of arrays at one address be so in the run. Raises AssumptionError, see ``execute``."""
    kernel = machine.kernel
    arrays = {name: x for name, x in inputs.items() if name in machine.memory and isinstance(x, np.ndarray)}
    check_arrays(kernel, arrays)
    largest_first = sorted(arrays, key=lambda name: -machine.sizes[name])
    for i, b in enumerate(largest_first):
        on = (a for a in largest_first[:i] if b in kernel.aliases(a) and np.may_share_memory(arrays[a], arrays[b]))
        for a in itertools.islice(on, 1):
            machine.memory[b].lie_on(machine.memory[a])


def _machine(bound: Kernel, order: str | int, sums: Sums) -> tuple[Machine, Scheduler]:
    if type(order) is int:
        chance = random.Random(order)
        late = chance.choice(LATE)
        machine = Machine(bound, True, lambda: chance.random() < late, sums)
        return machine, Shuffled(machine, chance)
    machine = Machine(bound, order == "lazy", lambda: order == "lazy", sums)
    return machine, Scheduler(machine)


def _clusters(kernel: Kernel) -> Iterator[list[tuple[int, ...]]]:
    """The blocks of each cluster, rank by rank; x is the fastest."""
    grid = tuple(int(n) for n in kernel.grid)
    cluster = (*kernel.cluster, *(1,) * (len(grid) - len(kernel.cluster)))
    if min(grid) < 1:
        raise LayoutError(f"expected a grid of at least one block, got {text(grid)}; do not launch {kernel.name} then")
    if any(n % c for n, c in zip(grid, cluster, strict=True)):
        raise LayoutError(f"expected a grid of whole clusters of {text(kernel.cluster)}, got {text(grid)}")
    for corner in _boxes(tuple(n // c for n, c in zip(grid, cluster, strict=True))):
        yield [tuple(x * c + i for x, c, i in zip(corner, cluster, at, strict=True)) for at in _boxes(cluster)]


def _boxes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return (x[::-1] for x in itertools.product(*map(range, shape[::-1])))


class Running:
    """An agent and what it waits for."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.blocked = agent, None
        self.steps = agent.run(STEPS)

    blocked: Blocked | None

    @property
    def ready(self) -> bool:
        return self.blocked is None or self.blocked.ready()

    def go(self) -> bool:
        """Run to the next stop; whether the agent is over."""
        try:
            self.blocked = next(self.steps)
        except StopIteration:
            return True
        return False


class Scheduler:
    """Runs the clusters one after another; the agents of each run round robin until they block.

    Flights land when no agent can go on, the latest first.
    """

    together, pausing, apart = 1, False, False

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.running: list[Running] = []

    def run(self, clusters: Iterator[list[tuple[int, ...]]]) -> None:
        """Run all clusters. Raises ExecutionError where no agent can go on."""
        live: list[Cluster] = []
        try:
            self._run(clusters, live)
        finally:
            for c in live:
                c.dissolve()

    def _run(self, clusters: Iterator[list[tuple[int, ...]]], live: list[Cluster]) -> None:
        while True:
            for c in [c for c in live if all(cta.over for cta in c.ctas)]:
                live.remove(c)
                c.dissolve()
            for blocks in itertools.islice(clusters, self.together - len(live)):
                cluster = Cluster(self.machine, blocks)
                live.append(cluster)
                self.running += [Running(a) for cta in cluster.ctas for a in agents(cta, self.pausing, self.apart)]
            if not live:
                return
            if not self.step():
                said = "\n  ".join(["no thread can go on:", *map(_told, self.running)])
                raise ExecutionError.of(said, "hang", *dict.fromkeys(_awaited(r) for r in self.running))

    def step(self) -> bool:
        """Do something; whether there was anything to do."""
        ready = [r for r in self.running if r.ready]
        for r in ready:
            self.go(r)
        if not ready and self.machine.flying:
            self.land(-1)
            return True
        return bool(ready)

    def go(self, r: Running) -> None:
        """Run an agent to its next stop; with the last one of a CTA the CTA exits."""
        if r.go():
            self.running.remove(r)
            cta = r.agent.cta
            if not any(s.agent.cta is cta for s in self.running):
                _exit(cta)

    def land(self, i: int) -> None:
        """Let the i-th flight take its next step."""
        flight = self.machine.flying[i]
        if flight.step():
            self.machine.flying.remove(flight)


def agents(cta: Cta, pausing: bool = False, apart: bool = False) -> list[Agent]:
    """An agent for each run of warps of a CTA that have the same roles, or with *apart* for each warp."""
    kernel = cta.cluster.machine.kernel
    roles = [op for op in kernel.walk() if isinstance(op, Role)]
    warps = kernel.threads // 32
    every = range(warps) if apart else ()
    ends = (min(w, warps) for r in roles for w in (r.first_warp, r.first_warp + r.warps))  # there are no warps beyond
    cuts = sorted({0, warps, *every, *ends})
    for first, end in itertools.pairwise(cuts):
        names = dict.fromkeys(r.name for r in roles if r.first_warp <= first < r.first_warp + r.warps)
        name = f"role {', '.join(names)}" if names else f"warps {first} .. {end - 1}" if roles else ""
        cta.agents.append(Agent(cta, name, first, end - first, pausing))
    return cta.agents


class Shuffled(Scheduler):
    """Some clusters at once; any agent takes a step, or any flight, as chance will have it."""

    together, pausing = TOGETHER, True

    def __init__(self, machine: Machine, chance: random.Random) -> None:
        super().__init__(machine)
        self.chance, self.lands = chance, chance.choice(LANDS)

    def step(self) -> bool:
        ready = [r for r in self.running if r.ready]
        flying = self.machine.flying
        if flying and (not ready or self.chance.random() < self.lands):
            self.land(self.chance.randrange(len(flying)))
            return True
        if ready:
            chosen: Running = self.chance.choice(ready)
            self.go(chosen)
        return bool(ready)


def _awaited(r: Running) -> str:
    """The barrier at which an agent stays."""
    return str(r.agent.op.waits.barrier) if r.agent.op is not None and r.agent.op.waits is not None else ""


def _told(r: Running) -> str:
    said: Callable[[], str] | None = r.blocked.told if r.blocked else None
    return said() if said else r.agent.told()


def _exit(cta: Cta) -> None:
    """All threads of a CTA are over: nothing may touch its shared memory any more; what was read is written now."""
    for flight in cta.cluster.machine.flying:
        if flight.cta is cta:
            said = (
                f"{cta} exits while a copy into its shared memory is under way: {flight.op}, issued by {flight.told}; "
            )
            name = flight.barrier.name
            raise ExecutionError.of(f"{said}expected a wait for {name}", "phase", name.partition("[")[0])
    for group, works in ((g, w) for agent in cta.agents for g, w in agent.pending.items()):
        for work in works:
            if work.holds_shared:
                said = f"{cta} exits while an asynchronous operation may use its shared memory: {work.op}, issued by "
                raise ExecutionError.of(f"{said}{work.told}; expected a wait_group {group}", "order")
            try:
                work.complete(~work.done)
            except MISTAKES as e:
                raise ExecutionError(f"{work.told}: {work.op}: {e}") from e
    try:
        cta.expect_known()
    except DisorderError as e:
        raise ExecutionError.of(str(e), e.kind, *e.subject) from e
    cta.over = True
