"""The mbarriers of one CTA as an abstract machine of atomic steps, and a search for what it must never reach.

Each warp is an agent with a program: waits, arrivals, copies that land later, reads that last until their group is
waited for. A barrier is (parity of its phases, arrivals pending, bytes pending); a slot of memory is empty, being
filled, or filled, with the agents that have given it back since. Memory order and proxies are outside of the model.

    >>> from symlayout.kernels import tma_copy
    >>> m = machine(tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1))
    >>> [len(a.program) for a in m.agents]
    [48, 33]
    >>> m.search() is None
    True
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

from symlayout.atoms import ATOMS
from symlayout.errors import InternalError
from symlayout.expr import evaluate
from symlayout.kernel import Kernel
from symlayout.ops import (
    Arrive,
    Barrier,
    Box,
    ClusterBarrier,
    Commit,
    Copy,
    Elect,
    ExpectTx,
    Fill,
    For,
    If,
    Map,
    Mma,
    Op,
    Ref,
    Role,
    Slot,
    Wait,
    WaitGroup,
    rewritten,
)

from .sites import Site, about_thread, active_lanes, sites

STATES = 20_000  # explored before a search gives up
USES = 2  # times round the largest ring, and one use more, that a program is written out for

Memory: TypeAlias = "tuple[str, int]"  # tensor and slot


class OutsideTheModel(Exception):
    """A kernel with operations that the machine does not have."""


@dataclass(frozen=True)
class Step:
    """One instruction of an agent. *kind* is wait, arrive, copy, read, write, sync or done; *memory* is what it touches."""

    kind: str
    text: str
    barrier: tuple[str, int] = ("", 0)
    parity: int = 0
    arrivals: int = 0
    nbytes: int = 0
    memory: tuple[Memory, ...] = ()
    until: int = -1  # the place in the program where an asynchronous read is over


@dataclass(frozen=True)
class Agent:
    """A warp and what it does; *whole* unless its program was cut off."""

    name: str
    program: tuple[Step, ...]
    whole: bool = True

    @cached_property
    def reads(self) -> frozenset[Memory]:
        return frozenset(m for s in self.program if s.kind == "read" for m in s.memory)

    @cached_property
    def open(self) -> tuple[frozenset[Memory], ...]:
        """For each place in the program the memory whose reading has begun and need not be over."""
        begun = [(i, s) for i, s in enumerate(self.program) if s.kind == "read" and s.until != i]
        places = range(len(self.program) + 1)
        return tuple(frozenset(m for i, s in begun if i < at <= s.until for m in s.memory) for at in places)


@dataclass(frozen=True)
class Fault:
    """What went wrong, and how it came about: (agent, what it did), step by step."""

    what: str
    steps: tuple[tuple[str, str], ...]
    about: frozenset[str] = frozenset()  # barriers and tensors

    def __str__(self) -> str:
        return f"{self.what}, after {len(self.steps)} steps: {'; '.join(f'{who}: {did}' for who, did in self.steps)}"


# State: places of the agents, barriers, memory, copies under way, warps at named barriers.
State: TypeAlias = "tuple[tuple[int, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]"


@dataclass(frozen=True)
class Machine:
    """The agents of a CTA, its barriers, and which memory an arrival gives back."""

    agents: tuple[Agent, ...]
    barriers: tuple[tuple[tuple[str, int], int], ...]  # (name, slot), arrivals of a phase
    gives: Mapping[tuple[str, int], tuple[Memory, ...]] = field(compare=False)

    @cached_property
    def _number(self) -> dict[Any, int]:
        return {b: i for i, (b, _) in enumerate(self.barriers)}

    @cached_property
    def _memory(self) -> dict[Memory, int]:
        every = (m for a in self.agents for s in a.program for m in s.memory)
        return {m: i for i, m in enumerate(dict.fromkeys(every))}

    @cached_property
    def _readers(self) -> tuple[int, ...]:
        """For each slot of memory the agents that read it or give it back, as a mask."""
        back = [frozenset(m for s in a.program if s.kind == "arrive" for m in self.gives.get(s.barrier, ())) for a in self.agents]
        return tuple(
            sum(1 << i for i, a in enumerate(self.agents) if m in a.reads or m in back[i]) for m in self._memory
        )

    def begin(self) -> State:
        bars = tuple((0, n, 0) for _, n in self.barriers)
        return (0,) * len(self.agents), bars, ((0, 0),) * len(self._memory), (), ()

    # -- steps --------------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[tuple[int, int]]:
        """(agent, 0) for each agent that can go on, (-1, k) for each copy under way that may land."""
        at, bars, _, flights, met = state
        for k in range(len(flights)):
            if k == 0 or flights[k] != flights[k - 1]:
                yield -1, k
        for i, a in enumerate(self.agents):
            if at[i] < len(a.program):
                s = a.program[at[i]]
                if s.kind == "wait" and bars[self._number[s.barrier]][0] == s.parity:
                    continue
                if s.kind == "sync" and any(i in who for _, who in met):
                    continue
                yield i, 0

    def after(self, state: State, move: tuple[int, int]) -> tuple[State, str, str]:
        """(state, what was done, what is wrong with it) after a move."""
        i, k = move
        at, bars, memory, flights, met = state
        if i < 0:
            b, nbytes, mem = flights[k]
            filled = _put(memory, {m: (2, memory[m][1]) for m in mem})
            rest = (*flights[:k], *flights[k + 1 :])
            name, slot = self.barriers[b][0]
            text = f"{nbytes} bytes land and are credited to {name}[{slot}]"
            return (at, self._credited(bars, b, 0, nbytes), filled, rest, met), text, ""
        a = self.agents[i]
        s = a.program[at[i]]
        moved = _put(at, {i: at[i] + 1})
        if s.kind == "arrive":
            b = self._number[s.barrier]
            given = {j: (memory[j][0], memory[j][1] | 1 << i) for m in self.gives.get(s.barrier, ()) if (j := self._memory.get(m)) is not None and memory[j][0] == 2}
            wrong = f"{s.text} is an arrival more than its phase awaits" if bars[b][1] < s.arrivals else ""
            return (moved, self._credited(bars, b, s.arrivals, -s.nbytes), _put(memory, given), flights, met), s.text, wrong
        if s.kind == "copy":
            wrong = next((w for m in s.memory if (w := self._refilled(state, i, m))), "")
            places = tuple(self._memory[m] for m in s.memory)
            flights = tuple(sorted((*flights, (self._number[s.barrier], s.nbytes, places))))
            return (moved, bars, _put(memory, {m: (1, 0) for m in places}), flights, met), s.text, wrong
        if s.kind == "write":
            wrong = next((w for m in s.memory if (w := self._refilled(state, i, m))), "")
            places = tuple(self._memory[m] for m in s.memory)
            return (moved, bars, _put(memory, {m: (2, 0) for m in places}), flights, met), s.text, wrong
        if s.kind == "read":
            wrong = next((w for m in s.memory if (w := self._read_early(state, i, m))), "")
            return (moved, bars, memory, flights, met), s.text, wrong
        if s.kind == "sync":
            return self._met(state, i, s), s.text, ""
        return (moved, bars, memory, flights, met), s.text, ""

    def _credited(self, bars: tuple[Any, ...], b: int, arrivals: int, nbytes: int) -> tuple[Any, ...]:
        """The barriers after arrivals and landed bytes (or expected ones, as negative) at one of them."""
        parity, pending, left = bars[b]
        pending, left = pending - arrivals, left - nbytes
        row = (1 - parity, self.barriers[b][1], 0) if pending == 0 and left == 0 else (parity, pending, left)
        return _put(bars, {b: row})

    def _met(self, state: State, i: int, s: Step) -> State:
        at, bars, memory, flights, met = state
        number, threads = s.barrier[1], s.arrivals
        here = dict(met)
        who = (*here.get(number, ()), i)
        if 32 * len(who) < threads:
            here[number] = who
        else:
            here.pop(number, None)
            at = _put(at, {j: at[j] + 1 for j in who})
        return at, bars, memory, flights, tuple(sorted(here.items()))

    # -- what must not happen -----------------------------------------------------------------------

    def _refilled(self, state: State, i: int, m: Memory) -> str:
        at, _, memory, _, _ = state
        status, back = memory[self._memory[m]]
        where = f"{m[0]} slot {m[1]}"
        for j, a in enumerate(self.agents):
            if m in a.open[at[j]]:
                return f"{self.agents[i].name} overwrites {where} while {a.name} reads it"
        if status == 1:
            return f"{self.agents[i].name} fills {where} while a fill of it is under way"
        kept = self._readers[self._memory[m]] & ~back
        if status == 2 and kept:
            who = self.agents[(kept & -kept).bit_length() - 1].name
            return f"{self.agents[i].name} overwrites {where}, which {who} has not given back"
        return ""

    def _read_early(self, state: State, i: int, m: Memory) -> str:
        status, back = state[2][self._memory[m]]
        who, where = self.agents[i].name, f"{m[0]} slot {m[1]}"
        if status < 2:
            return f"{who} reads {where} before its bytes have arrived"
        return f"{who} reads {where} after it gave it back" if back >> i & 1 else ""

    def stuck(self, state: State) -> str:
        """What is wrong with a state that has no moves."""
        at = state[0]
        left = [(a, a.program[p]) for a, p in zip(self.agents, at, strict=True) if p < len(a.program)]
        if not left:
            return ""
        if any(not a.whole and p == len(a.program) for a, p in zip(self.agents, at, strict=True)):
            return ""
        return "deadlock: " + ", ".join(f"{a.name} stays at {s.text}" for a, s in left)

    def ended(self, state: State) -> str:
        """What is wrong with a state in which every agent is done."""
        at, _, _, flights, _ = state
        done = all(a.whole and p == len(a.program) for a, p in zip(self.agents, at, strict=True))
        return "the CTA ends while a copy into its shared memory is under way" if done and flights else ""

    # -- search -------------------------------------------------------------------------------------

    def search(self, about: frozenset[str] = frozenset(), states: int = STATES) -> Fault | None:
        """The fault with the fewest steps, of those *about* some barriers and tensors; replayed.

        Raises Exhausted where so many states show none and there are more.
        """
        first = self.begin()
        parents: dict[State, tuple[State, tuple[int, int]] | None] = {first: None}
        level = [first]
        while level:
            following: list[State] = []
            for state in level:
                moves = list(self.moves(state))
                wrong = self.ended(state) or ("" if moves else self.stuck(state))
                if wrong and self._concerns(wrong, about):
                    return self._fault(wrong, _path(parents, state), about)
                for move in moves:
                    new, _, wrong = self.after(state, move)
                    if wrong and self._concerns(wrong, about):
                        return self._fault(wrong, [*_path(parents, state), move], about)
                    if new not in parents:
                        parents[new] = state, move
                        following.append(new)
            level = following
            if len(parents) > states:
                raise Exhausted(len(parents))
        return None

    def run(self, prefer: int, about: frozenset[str] = frozenset()) -> Fault | None:
        """One interleaving, in which copies land late or soon and one agent goes first: a fault that it meets."""
        state, taken = self.begin(), []
        soon, order = prefer % 2, prefer // 2
        for _ in range(100_000):
            moves = list(self.moves(state))
            if not moves:
                break
            ranked = sorted(moves, key=lambda m: (m[0] < 0) != bool(soon) if m[0] < 0 else ((m[0] + order) % len(self.agents) + 1))
            move = ranked[0]
            new, _, wrong = self.after(state, move)
            taken.append(move)
            if wrong and self._concerns(wrong, about):
                return self._fault(wrong, taken, about)
            state = new
        wrong = self.ended(state) or self.stuck(state)
        return self._fault(wrong, taken, about) if wrong and self._concerns(wrong, about) else None

    def _concerns(self, wrong: str, about: frozenset[str]) -> bool:
        return not about or any(f"{name}[" in wrong or f"{name} slot" in wrong for name in about) or "the CTA ends" in wrong

    def _fault(self, what: str, moves: list[tuple[int, int]], about: frozenset[str]) -> Fault:
        """The story of some moves, taken again from the start."""
        state, steps, wrong = self.begin(), [], ""
        for move in moves:
            if move not in list(self.moves(state)):
                raise InternalError(f"the interleaving to {what} does not replay")
            state, text, wrong = self.after(state, move)
            steps.append((self.agents[move[0]].name if move[0] >= 0 else "copy engine", text))
        if what not in (wrong, self.ended(state), "" if list(self.moves(state)) else self.stuck(state)):
            raise InternalError(f"the interleaving to {what} does not replay")
        return Fault(what, tuple(steps), about)


class Exhausted(Exception):
    """A search that has seen as many states as it may."""


# -- rings of a kernel ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class RingParts:
    """A ring as the operations show it: what fills it completes on *full*, what frees it arrives on *empty*."""

    full: str
    empty: str  # "" where no slot is used twice
    tensors: tuple[str, ...]
    slots: int

    def __str__(self) -> str:
        return f"{', '.join(self.tensors)} by {self.full}{f' and {self.empty}' if self.empty else ''}"


def rings_of(kernel: Kernel) -> tuple[RingParts, ...]:
    """The rings of a kernel, found from its operations: the fills, who waits for them, and where it arrives then."""
    every = list(sites(kernel))
    return tuple(_ring(kernel, b.name, every) for b in kernel.barriers if _fills(every, b.name))


def _fills(every: list[Site], full: str) -> list[Site]:
    return [s for s in every if isinstance(s.op, Copy) and s.op.barrier is not None and s.op.barrier.barrier == full]


def _ring(kernel: Kernel, full: str, every: list[Site]) -> RingParts:
    fills = _fills(every, full)
    tensors = tuple(dict.fromkeys(s.op.dst.tensor for s in fills if isinstance(s.op, Copy) and isinstance(s.op.dst, Ref)))
    filling = {s.role for s in fills}
    reading = {s.role for s in every if set(reads(s.op)) & set(tensors) or (isinstance(s.op, Wait) and s.op.barrier.barrier == full)}
    awaited = {s.op.barrier.barrier for s in every if isinstance(s.op, Wait) and s.role in filling}
    arrived = {s.op.barrier.barrier for s in every if isinstance(s.op, Arrive) and s.role in reading}
    fulls = {s.op.barrier.barrier for s in every if isinstance(s.op, Copy) and s.op.barrier is not None}
    hinted = {r.empty for r in kernel.rings if r.full == full}
    for found in ((awaited & arrived) - fulls, ((awaited | arrived) - fulls) & hinted, (awaited | arrived) - fulls):
        if len(found) == 1:
            (empty,) = found
            return RingParts(full, empty, tensors, kernel.barrier(full).slots)
    return RingParts(full, "", tensors, kernel.barrier(full).slots)


def reads(op: Op) -> tuple[str, ...]:
    """The tensors that an operation reads."""
    return tuple(r.tensor for r in sources(op))


def sources(op: Op) -> tuple[Ref, ...]:
    """The places that an operation reads."""
    every = (op.src,) if isinstance(op, Copy) else (op.a, op.b) if isinstance(op, Mma) else op.srcs if isinstance(op, Map) else ()
    return tuple(r for r in every if isinstance(r, Ref))


def targets(op: Op) -> tuple[Ref, ...]:
    """The places that an operation writes."""
    if isinstance(op, Mma):
        return (op.acc,)
    return (op.dst,) if isinstance(op, Copy | Map | Fill) and isinstance(op.dst, Ref) else ()


def group_of(op: Op) -> str:
    """The groups on which the reads of an operation are over; "" where they are when it is done."""
    if not isinstance(op, Copy | Mma) or op.atom not in ATOMS:
        return ""
    done = ATOMS[op.atom].completion
    return "" if done == "mbarrier" else done


# -- from kernels ---------------------------------------------------------------------------------------


def machine(kernel: Kernel, block: tuple[int, ...] = (), uses: int = 0) -> Machine:
    """The machine of one CTA of a kernel at sizes; programs are cut off after *uses* waits, 0 for never.

    Raises OutsideTheModel for clusters, and for waits by some lanes of a warp only.
    """
    if any(n != 1 for n in kernel.cluster):
        raise OutsideTheModel("clusters: arrivals of peers and multicast are not in the model")
    rings = rings_of(kernel)
    owner = {t: r for r in rings for t in r.tensors}
    gives = {(r.empty, s): tuple((t, s) for t in r.tensors) for r in rings if r.empty for s in range(r.slots)}
    env = {b.name: v for b, v in zip(kernel.block, (*block, 0, 0, 0), strict=False)}
    agents = []
    for w in range(kernel.threads // 32):
        writer = _Writer(kernel, owner, w, uses)
        try:
            writer.write(kernel.body, env, 0, kernel.threads // 32, 32)
        except _Cut:
            writer.whole = False
        if writer.steps:
            agents.append(writer.agent())
    barriers = tuple(((b.name, s), b.arrivals) for b in kernel.barriers for s in range(b.slots))
    return Machine(tuple(agents), barriers, gives)


class _Cut(Exception):
    """A program that is long enough."""


class _Writer:
    """Writes the program of one warp."""

    def __init__(self, kernel: Kernel, owner: Mapping[str, RingParts], warp: int, uses: int) -> None:
        self.kernel, self.owner, self.warp, self.left = kernel, owner, warp, uses or 10_000
        self.steps: list[Step] = []
        self.reading: dict[str, list[int]] = {}
        self.groups: dict[str, list[list[int]]] = {}
        self.name, self.whole = f"warp {warp}", True

    def agent(self) -> Agent:
        return Agent(self.name, tuple(self.steps), self.whole)

    def write(self, body: tuple[Op, ...], env: Mapping[str, int], first: int, warps: int, lanes: int) -> None:
        """The operations of a body that this warp executes; *first* is the first of the *warps* that are here."""
        for op in body:
            if isinstance(op, For):
                for i in range(evaluate(op.extent, env)):
                    self.write(op.body, {**env, op.index.name: i}, first, warps, lanes)
            elif isinstance(op, Role):
                if op.first_warp <= self.warp < op.first_warp + op.warps:
                    self.name = op.name if op.warps == 1 else f"{op.name} warp {self.warp - op.first_warp}"
                    self.write(op.body, {**env, "thread": 32 * (self.warp - op.first_warp)}, op.first_warp, op.warps, 32)
            elif isinstance(op, Elect):
                if op.each_warp or self.warp == first:
                    self.write(op.body, env, first if op.each_warp else self.warp, warps if op.each_warp else 1, 1)
            elif isinstance(op, If):
                self._where(op, env, first, warps, lanes)
            else:
                self._step(op, env, lanes)

    def _where(self, op: If, env: Mapping[str, int], first: int, warps: int, lanes: int) -> None:
        if not all(f.at(env) for f in op.condition if not about_thread(f)):
            return
        by_thread = [f for f in op.condition if about_thread(f)]
        if by_thread:
            if any(len(f.symbols) > 1 for f in by_thread) or any(isinstance(o, Wait | Barrier | Elect) for o in op.walk()):
                raise OutsideTheModel(f"a wait by some lanes of a warp, at {op}")
            lanes = min(lanes, active_lanes(by_thread, 32 * (self.warp - first)))
        if lanes:
            self.write(op.body, env, first, warps, lanes)

    def _step(self, op: Op, env: Mapping[str, int], lanes: int) -> None:
        text = str(rewritten(op, lambda x: x.subs(env)))
        if isinstance(op, Wait):
            self.left -= 1
            if self.left < 0:
                raise _Cut
            self.steps.append(Step("wait", text, self._at(op.barrier, env), evaluate(op.parity, env)))
        elif isinstance(op, Arrive | ExpectTx):
            if isinstance(op, Arrive) and op.peer is not None:
                raise OutsideTheModel("arrivals of peers are not in the model")
            nbytes = evaluate(op.bytes, env) * lanes if isinstance(op, ExpectTx) else 0
            self.steps.append(Step("arrive", text, self._at(op.barrier, env), arrivals=lanes, nbytes=nbytes))
        elif isinstance(op, Barrier | ClusterBarrier):
            number, threads = (op.number, op.threads) if isinstance(op, Barrier) else (-1, 0)
            if lanes != 32:
                raise OutsideTheModel(f"{op} by some lanes of a warp")
            self.steps.append(Step("sync", text, ("", number), arrivals=threads or self.kernel.threads))
        elif isinstance(op, Commit):
            self.groups.setdefault(op.group, []).append(self.reading.pop(op.group, []))
        elif isinstance(op, WaitGroup):
            self._retire(op, text)
        else:
            self._data(op, text, env)

    def _data(self, op: Op, text: str, env: Mapping[str, int]) -> None:
        if isinstance(op, Copy) and op.barrier is not None:
            self.steps.append(Step("copy", text, self._at(op.barrier, env), nbytes=self._bytes(op), memory=self._memory(targets(op), env)))
            return
        read, written = self._memory(sources(op), env), self._memory(targets(op), env)
        if read:
            group = group_of(op)
            if group:
                self.reading.setdefault(group, []).append(len(self.steps))
            self.steps.append(Step("read", text, memory=read, until=1 << 30 if group else len(self.steps)))
        if written:
            if group_of(op):
                raise OutsideTheModel(f"{op.atom if isinstance(op, Copy | Mma) else op} into a ring")
            self.steps.append(Step("write", text, memory=written))

    def _retire(self, op: WaitGroup, text: str) -> None:
        groups = self.groups.get(op.group, [])
        over = [i for g in groups[: len(groups) - op.pending] for i in g] if len(groups) > op.pending else []
        self.groups[op.group] = groups[len(groups) - op.pending :] if len(groups) > op.pending else groups
        for i in over:
            self.steps[i] = replace(self.steps[i], until=len(self.steps))
        self.steps.append(Step("done", text))

    def _at(self, b: Slot, env: Mapping[str, int]) -> tuple[str, int]:
        slot, slots = evaluate(b.slot, env), self.kernel.barrier(b.barrier).slots
        if not 0 <= slot < slots:
            raise OutsideTheModel(f"{b.barrier}[{slot}] of {slots} mbarriers")
        return b.barrier, slot

    def _memory(self, refs: tuple[Ref, ...], env: Mapping[str, int]) -> tuple[Memory, ...]:
        mine = [r for r in refs if r.tensor in self.owner]
        return tuple(dict.fromkeys((r.tensor, evaluate(r.offset, env) // slot_elements(self.kernel, self.owner[r.tensor], r.tensor)) for r in mine))

    def _bytes(self, op: Copy) -> int:
        if not isinstance(op.src, Box) or op.multicast is not None:
            raise OutsideTheModel(f"the bytes that {op.atom} credits")
        return evaluate(self.kernel.map(op.src.tensor_map).tensor_map.transaction_bytes, {})


def slot_elements(kernel: Kernel, ring: RingParts, tensor: str) -> int:
    """Elements of one slot of a ring in one of its tensors."""
    return max(1, int(kernel.tensor(tensor).layout.cosize()) // ring.slots)


def _path(parents: Mapping[State, Any], state: State) -> list[tuple[int, int]]:
    out = []
    while (before := parents[state]) is not None:
        state, move = before
        out.append(move)
    return out[::-1]


def _put(row: tuple[Any, ...], new: Mapping[int, Any]) -> tuple[Any, ...]:
    if not new:
        return row
    out = list(row)
    for i, x in new.items():
        out[i] = x
    return tuple(out)
