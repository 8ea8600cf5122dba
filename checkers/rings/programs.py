"""The operations of each warp on the barriers of its rings, as programs of the abstract machine.

>>> from symlayout.kernels import tma_copy
>>> m = machine(tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1))
>>> [len(a.program) for a in m.agents]
[48, 65]
>>> m.search() is None
True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from symlayout.errors import ExpressionError
from symlayout.expr import evaluate
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import Cta, blocks_of, masked
from symlayout.kernel.prologue import behind_prologue
from symlayout.kernel.sites import about_thread, active_lanes, warps_of
from symlayout.kernel.unrolled import InTurn, unrolled
from symlayout.ops import (
    Arrive,
    Barrier,
    BarrierArrive,
    Box,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    For,
    If,
    Mma,
    Op,
    PeerCopy,
    Ref,
    Role,
    Slot,
    Wait,
    WaitGroup,
)

from .abstract_machine import Machine
from .parts import extent_of, fillers_of, in_parts
from .recognised import RingParts, landed_bytes, rings_of, slot_elements
from .steps import Agent, Fault, Landing, Memory, Step

MEETING = ("cluster", -1)  # the barrier at which all warps of a cluster meet


class OutsideTheModel(Exception):
    """A kernel with operations that the machine does not have."""


class Absent(OutsideTheModel):
    """An operation that reaches a CTA which the cluster does not have: a fault by itself."""

    def __init__(self, what: str, agent: str, op: str) -> None:
        super().__init__(what)
        self.fault = Fault(what, ((agent, op),))


def machine(kernel: Kernel, block: tuple[int, ...] = (), uses: int = 0) -> Machine:
    """The machine of one CTA of a kernel at sizes, with those of its cluster; of *uses* waits each, 0 for all.

    Raises OutsideTheModel for waits by some lanes of a warp only, and for a cluster barrier that some threads skip.
    """
    kernel = kernel.plain
    rings = rings_of(kernel)
    owner = {t: r for r in rings for t in r.tensors}
    blocks = blocks_of(kernel, (*block, 0, 0, 0)[: len(kernel.grid)])
    every = tuple(Cta(rank, kernel, len(blocks)) for rank in range(len(blocks)))
    agents: list[Agent] = []
    for cta, at in zip(every, blocks, strict=True):
        env = {b.name: v for b, v in zip(kernel.block, at, strict=True)}
        for w in range(kernel.threads // 32):
            writer = _Writer(kernel, owner, w, uses, cta)
            try:
                writer.write(behind_prologue(kernel), env)
            except _Cut:
                writer.whole = False
            except ExpressionError as e:  # a value that is read from memory, or a name without one
                raise OutsideTheModel(str(e)) from e
            if writer.steps:
                agents.append(writer.agent())
    _expect_to_meet(agents, len(every) * (kernel.threads // 32))
    barriers = tuple(
        ((owned(b.name, cta), s), b.arrivals) for cta in every for b in kernel.barriers for s in range(b.slots)
    )
    fillers = fillers_of(agents)
    return Machine(tuple(in_parts(a, rings, fillers) for a in agents), barriers, len(every))


def owned(name: str, cta: Cta) -> str:
    """A barrier or a tensor of a CTA, by name."""
    return f"CTA {cta.rank}'s {name}" if cta.size > 1 else name


def _expect_to_meet(agents: list[Agent], warps: int) -> None:
    met = [sum(s.kind == "sync" and s.barrier == MEETING for s in a.program) for a in agents if a.whole]
    if any(met) and (len(set(met)) > 1 or len(agents) < warps):
        raise OutsideTheModel("a cluster barrier that some threads skip")


class _Cut(Exception):
    """A program that is long enough."""


@dataclass(frozen=True)
class _Warp(InTurn):
    """Some lanes of a warp; *first* is the first of the *warps* that are here."""

    warp: int
    first: int
    warps: int
    lanes: int = 32

    @property
    def anyone(self) -> bool:
        return self.lanes > 0

    def entered(self, op: Role | If | Elect) -> _Warp:
        if isinstance(op, Role):
            at = {**self.env, "thread": 32 * (self.warp - op.first_warp)}
            return _Warp(at, self.warp, op.first_warp, op.warps, self.lanes if self.warp in warps_of(op) else 0)
        if isinstance(op, If):
            return replace(self, lanes=self._meeting(op))
        if op.each_warp:
            return replace(self, lanes=1)
        return _Warp(self.env, self.warp, self.warp, 1, int(self.warp == self.first))

    def _meeting(self, op: If) -> int:
        """The number of lanes for which a condition holds."""
        if not all(f.at(self.env) for f in op.condition if not about_thread(f)):
            return 0
        by_thread = [f for f in op.condition if about_thread(f)]
        if not by_thread:
            return self.lanes
        if any(len(f.symbols) > 1 for f in by_thread) or any(isinstance(o, Wait | Barrier | Elect) for o in op.walk()):
            raise OutsideTheModel(f"a wait by some lanes of a warp, at {op}")
        return min(self.lanes, active_lanes(by_thread, 32 * (self.warp - self.first)))


class _Writer:
    """Writes the program of one warp."""

    def __init__(self, kernel: Kernel, owner: Mapping[str, RingParts], warp: int, uses: int, cta: Cta) -> None:
        self.kernel, self.owner, self.warp, self.left, self.cta = kernel, owner, warp, uses or 10_000, cta
        self.steps: list[Step] = []
        self.reading: dict[str, list[int]] = {}
        self.groups: dict[str, list[list[int]]] = {}
        self.name, self.whole = f"warp {warp}", True

    def agent(self) -> Agent:
        name = f"CTA {self.cta.rank} {self.name}" if self.cta.size > 1 else self.name
        return Agent(name, tuple(self.steps), self.whole, self.cta.rank)

    def write(self, body: tuple[Op, ...], env: Mapping[str, int]) -> None:
        """The operations of a body that this warp executes."""
        for _, op, here in unrolled(body, _Warp(env, self.warp, 0, self.kernel.threads // 32)):
            if isinstance(op, Role) and self.warp in warps_of(op):
                self.name = op.name if op.warps == 1 else f"{op.name} warp {self.warp - op.first_warp}"
            if not isinstance(op, For | Role | Elect | If):
                self._step(op, here.env, here.lanes)

    def _step(self, op: Op, env: Mapping[str, int], lanes: int) -> None:
        if isinstance(op, Wait):
            self.left -= 1
            if self.left < 0:
                raise _Cut
            self.steps.append(Step("wait", op, env, self._at(op.barrier, env), evaluate(op.parity, env)))
        elif isinstance(op, ClusterArrive | ClusterWait):
            raise OutsideTheModel(f"a barrier of the cluster at which threads {op}")
        elif isinstance(op, CpAsyncArrive) or (isinstance(op, Arrive) and not op.complete):
            raise OutsideTheModel(f"{op}, which comes later or is not the last")
        elif isinstance(op, Arrive | ExpectTx):
            peer = op.peer if isinstance(op, Arrive) else None
            cta = self.cta if peer is None else self._peer(evaluate(peer, env), op)
            nbytes = evaluate(op.bytes, env) * lanes if isinstance(op, ExpectTx) else 0
            at = self._at(op.barrier, env, cta)
            times = lanes * (op.count if isinstance(op, Arrive) else 1)
            self.steps.append(Step("arrive", op, env, at, arrivals=times, nbytes=nbytes, cta=cta.rank))
        elif isinstance(op, Barrier | ClusterBarrier):
            if lanes != 32:
                raise OutsideTheModel(f"{op} by some lanes of a warp")
            self.steps.append(self._meeting(op, env))
        elif isinstance(op, BarrierArrive):
            raise OutsideTheModel(f"threads that {op} and go on")
        elif isinstance(op, Commit):
            self.groups.setdefault(op.group, []).append(self.reading.pop(op.group, []))
        elif isinstance(op, WaitGroup):
            self._retire(op, env)
        else:
            self._data(op, env)

    def _peer(self, rank: int, op: Op) -> Cta:
        if not 0 <= rank < self.cta.size:
            raise Absent(f"there is no CTA {rank} in a cluster of {self.cta.size}", self.agent().name, str(op))
        return replace(self.cta, rank=rank)

    def _meeting(self, op: Barrier | ClusterBarrier, env: Mapping[str, int]) -> Step:
        threads = self.kernel.threads
        if isinstance(op, ClusterBarrier):
            return Step("sync", op, env, MEETING, arrivals=threads * self.cta.size)
        return Step("sync", op, env, (owned("", self.cta), op.number), arrivals=op.threads or threads)

    def _data(self, op: Op, env: Mapping[str, int]) -> None:
        if isinstance(op, PeerCopy):
            raise OutsideTheModel(f"what threads do to the memory of a peer: {op}")
        if isinstance(op, Copy) and op.barrier is not None:
            lands = tuple(self._lands(op, env))
            memory = tuple(m for _, _, to in lands for m in to)
            extents, nbytes = (self._filled(op, env),) * len(memory), self._bytes(op, env)
            self.steps.append(Step("copy", op, env, nbytes=nbytes, memory=memory, lands=lands, extents=extents))
            return
        refs = [r for r in op.sources if r.tensor in self.owner]
        read, written = self._memory(tuple(refs), env), self._memory(op.targets, env)
        if read:
            group = op.member_of
            if group:
                self.reading.setdefault(group, []).append(len(self.steps))
            until, extents = 1 << 30 if group else len(self.steps), tuple(extent_of(self.kernel, op, r) for r in refs)
            self.steps.append(Step("read", op, env, memory=read, until=until, extents=extents))
        if written:
            if op.member_of:
                raise OutsideTheModel(f"{op.atom if isinstance(op, Copy | Mma) else op} into a ring")
            self.steps.append(Step("write", op, env, memory=written))

    def _filled(self, op: Copy, env: Mapping[str, int]) -> int:
        """How many elements a copy fills from the place on at which it lands."""
        (ref,) = op.targets
        return -(-8 * evaluate(landed_bytes(self.kernel, op), env) // self.kernel.tensor(ref.tensor).dtype.bits)

    def _lands(self, op: Copy, env: Mapping[str, int]) -> Iterator[Landing]:
        assert op.barrier is not None
        ranks = (self.cta.rank,) if op.multicast is None else masked(evaluate(op.multicast, env))
        for rank in ranks:
            cta = self._peer(rank, op)
            yield rank, self._at(op.barrier, env, cta), self._memory(op.targets, env, cta)

    def _retire(self, op: WaitGroup, env: Mapping[str, int]) -> None:
        groups = self.groups.get(op.group, [])
        over = [i for g in groups[: len(groups) - op.pending] for i in g] if len(groups) > op.pending else []
        self.groups[op.group] = groups[len(groups) - op.pending :] if len(groups) > op.pending else groups
        for i in over:
            self.steps[i] = replace(self.steps[i], until=len(self.steps))
        self.steps.append(Step("done", op, env))

    def _at(self, b: Slot, env: Mapping[str, int], cta: Cta | None = None) -> tuple[str, int]:
        slot, slots = evaluate(b.slot, env), self.kernel.barrier(b.barrier).slots
        if not 0 <= slot < slots:
            raise OutsideTheModel(f"{b.barrier}[{slot}] of {slots} mbarriers")
        return owned(b.barrier, cta or self.cta), slot

    def _memory(self, refs: tuple[Ref, ...], env: Mapping[str, int], cta: Cta | None = None) -> tuple[Memory, ...]:
        out = []
        for r in refs:
            if r.tensor in self.owner:
                size = slot_elements(self.kernel, self.owner[r.tensor], r.tensor)
                slot, start = divmod(evaluate(r.offset, env), size)
                out.append((owned(r.tensor, cta or self.cta), slot, start))
        return tuple(out)

    def _bytes(self, op: Copy, env: Mapping[str, int]) -> int:
        if op.bytes is not None:
            return evaluate(op.bytes, env)
        if not isinstance(op.src, Box):
            raise OutsideTheModel(f"the bytes that {op.atom} credits")
        return evaluate(self.kernel.map(op.src.tensor_map).tensor_map.transaction_bytes, {})
