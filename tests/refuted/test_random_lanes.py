"""Random consumers of a ring, whose lanes read, meet, wait and arrive as chance will have it: nothing unordered is proved.

The judge is a walk over the lanes of each warp on plain integers, which shares no code with the provers and the run: a
lane knows what it did itself, and what others did whom it met at a barrier. A slot that is given back although a read of
it is known to none of those who arrive is a race, whichever lane elections take.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from checkers import HappensBefore, RingProtocol, prove
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.expr import eq, evaluate
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.ops import (
    Arrive,
    Barrier,
    Commit,
    Copy,
    Elect,
    For,
    If,
    Op,
    Ref,
    Role,
    Slot,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.semantics import execute
from symlayout.tma import TensorMap

WARPS, SLOTS = 2, 2
SIZES, LEADERS = (3, 6), (0, 31)
L = dim("L", at_least=3)


def consumer(seed: int) -> Kernel:
    """A consumer role of two warps: reads by some lanes, orders, and an arrival of each warp, perhaps a use late."""
    r = random.Random(seed)
    lag = r.choice((0, 0, 0, 1))
    release = r.choice(("elect", "elect", "elect", "lane 0", "each", "seven"))
    k = Builder("lanes", L, grid=(1,), threads=32 * (WARPS + 1))
    src, dst = (k.global_tensor(name, "f32", Layout((L, 64), (64, 1))) for name in ("src", "dst"))
    boxes = [
        k.tensor_map(f"{name}_map", t(), TensorMap.over(Layout((64, L), (1, 64)), "f32", (64, 1)))
        for name, t in (("src", src), ("dst", dst))
    ]
    ring = make_ring(k, "ring", "f32", Layout(64), slots=SLOTS, consumers=32 * WARPS if release == "each" else WARPS)

    def some(who: str) -> AbstractContextManager[None]:
        lane = k.thread % 32
        return {
            "all": nullcontext(),
            "half": k.where(lane < 16),
            "seven": k.where(eq(lane, 7)),
            "elect": k.elect(True),
            "lane 0": k.elect(True, "lane 0"),
        }[who]

    def order(i: Any) -> None:
        kind = r.choice(("none", "none", "warp", "warp", "bar", "shfl", "odd", "loop", "half", "fence"))
        if kind == "warp":
            k.warp_sync()
        elif kind == "bar":
            k.sync(1, 32 * WARPS)
        elif kind == "shfl":
            k.shuffle("bfly", x(), y(), 1)
        elif kind == "odd":
            with k.where(i % 2 >= 1):
                k.warp_sync()
        elif kind == "loop":
            with k.loop("j", r.choice((1, 2, L - 3))):
                k.warp_sync()
        elif kind == "half":
            with k.elect(True):
                k.warp_sync()
        elif kind == "fence":
            k.fence("async")

    def use(i: Any, slot: Any) -> None:
        kind = r.choice(("all", "all", "half", "seven", "elect", "lane 0", "store", "loop", "if", "none"))
        if kind == "loop":
            with k.loop("q", r.choice((2, L - 3))):
                k.copy("ld.shared.4", slot.at(k.thread), x())
        elif kind == "if":
            with k.where(i % 2 >= 1):
                k.copy("ld.shared.4", slot.at(k.thread), x())
        elif kind == "store":
            with some(r.choice(("elect", "lane 0", "seven"))):
                k.copy("tma.store", slot.at(), boxes[1](0, i))
                k.commit("bulk")
                if r.random() < 0.7:
                    k.wait_group("bulk", 0, read=r.random() < 0.5)
            if r.random() < 0.5:
                with some(r.choice(("all", "elect", "seven"))):
                    k.wait_group("bulk", 0, read=True)
        elif kind != "none":
            with some(kind):
                k.copy("ld.shared.4", slot.at(k.thread), x())

    def give(slot: Any) -> None:
        with some("all" if release == "each" else release):
            k.arrive(Slot(ring.empty, slot % SLOTS))

    with k.role("producer", 1), k.elect(), k.loop("i", L) as i, ring.produce(i) as slot:
        k.copy("tma.load", boxes[0](0, i), slot.at(), slot.full)
    with k.role("consumer", WARPS):
        x, y = k.registers("x", "f32", 1), k.registers("y", "f32", 1)
        k.fill(x(), 0)
        with k.loop("i", L) as i:
            slot = ring.acquire(i)
            for _ in range(r.randint(1, 2)):
                order(i)
                use(i, slot)
            order(i)
            with k.where(i >= lag) if lag else nullcontext():
                order(i)
                give(i - lag)
            order(i)
        if lag:
            order(L)
            give(L - 1)
        with k.elect(True):
            k.wait_group("bulk", 0)
    return k.kernel()


# -- the judge ------------------------------------------------------------------------------------------


class Lanes:
    """The lanes of the consumers at one size: what each knows of the reads of each other."""

    def __init__(self, kernel: Kernel, size: int, leader: int) -> None:
        [self.role] = [op for op in kernel.bind(L=size).walk() if isinstance(op, Role) and op.name == "consumer"]
        self.leader, self.refilled, n = leader, size - SLOTS, 32 * WARPS
        self.knows = np.zeros((n, n), dtype=int)  # how many reads of each lane
        self.waits, self.gives, self.reads = np.zeros(n, int), np.zeros(n, int), dict[int, list[tuple[int, int]]]()
        self.open: list[list[Any]] = []  # a store: lane, use, group or -1
        self.groups = np.zeros(n, int)
        self.told: dict[int, Any] = {}
        self.arrived: Counter[int] = Counter()
        self.wanted = kernel.barrier("empty").arrivals

    def race(self) -> str:
        """The first read that nobody who gives its slot back knows of."""
        return next(self.run(self.role.inside, {}, np.arange(32 * WARPS)), "")

    def run(self, body: tuple[Op, ...], env: dict[str, Any], here: Any) -> Iterator[str]:
        for op in body:
            if isinstance(op, For):
                for n in range(evaluate(op.extent, env)):
                    yield from self.run(op.inside, {**env, op.index.name: n}, here)
            elif isinstance(op, If):
                kept = [t for t in here if all(f.at({**env, "thread": int(t)}) for f in op.condition)]
                if kept:
                    yield from self.run(op.inside, env, np.array(kept))
            elif isinstance(op, Elect):
                lane = self.leader if op.by == "elect.sync" else 0
                yield from self.run(op.inside, env, np.array([t for t in here if t % 32 == lane]))
            else:
                yield from self.step(op, here)

    def step(self, op: Op, here: Any) -> Iterator[str]:
        if isinstance(op, WarpBarrier):
            for w in range(WARPS):
                self.meet([t for t in here if t // 32 == w])
        elif isinstance(op, Barrier):
            self.meet(list(here))
        elif isinstance(op, Wait):
            self.waits[here] += 1
        elif isinstance(op, Copy) and isinstance(op.src, Ref) and op.src.tensor == "ring":
            for t in here:
                if op.atom == "tma.store":
                    self.open.append([t, self.waits[t] - 1, -1])
                else:
                    self.knows[t, t] += 1
                    self.reads.setdefault(self.waits[t] - 1, []).append((t, self.knows[t, t]))
        elif isinstance(op, Commit):
            for s in self.open:
                if s[0] in here and s[2] < 0:
                    s[2] = self.groups[s[0]]
            self.groups[here] += 1
        elif isinstance(op, WaitGroup):
            over = [s for s in self.open if s[0] in here and s[2] >= 0]
            for s in over:
                self.knows[s[0], s[0]] += 1
                self.reads.setdefault(s[1], []).append((s[0], self.knows[s[0], s[0]]))
                self.open.remove(s)
        elif isinstance(op, Arrive):
            for t in here:
                yield from self.give(int(t))

    def meet(self, lanes: list[int]) -> None:
        if lanes:
            self.knows[lanes] = self.knows[lanes].max(axis=0)

    def give(self, t: int) -> Iterator[str]:
        use = int(self.gives[t])
        self.gives[t] += 1
        self.told[use] = np.maximum(self.told.get(use, 0), self.knows[t])
        self.arrived[use] += 1
        if self.arrived[use] == self.wanted and use < self.refilled:
            for lane, count in self.reads.get(use, ()):
                if self.told[use][lane] < count:
                    yield f"use {use}: what lane {lane} reads is not told"
            if any(s[1] == use for s in self.open):
                yield f"use {use}: a store still reads"


def race(kernel: Kernel) -> str:
    return next((s for n in SIZES for leader in LEADERS if (s := Lanes(kernel, n, leader).race())), "")


def caught(kernel: Kernel) -> str:
    """What the first run that races in the ring says."""
    for n in SIZES:
        bound = kernel.bind(L=n)
        for order in ("lazy", 1):
            given = {name: np.zeros((n, 64), np.float32) for name in ("src", "dst")}
            try:
                execute(bound, given, order)
            except ExecutionError as e:
                if "may still be reading" in str(e):
                    return str(e)
    return ""


def judged(seed: int) -> str:
    """How a proof ends; with what is wrong with that."""
    kernel = consumer(seed)
    report = prove([HappensBefore(kernel), RingProtocol(kernel, "full")])
    told, seen = race(kernel), caught(kernel)
    if report and (told or seen):
        return f"seed {seed}: proved, but {told or seen}"
    if seen and not told:
        return f"seed {seed}: the run says {seen}, the judge nothing"
    order = report.verdicts[0]
    if order.outcome is Outcome.REFUTED and not told:
        return f"seed {seed}: refuted, but lanes are in order: {order}"
    return f"{order.outcome.value}{', raced' if told else ''}"


def test_the_proof_and_the_judge_agree(share: Callable[[int], int]) -> None:
    found = Counter(judged(seed) for seed in range(share(40)))

    assert {x for x in found if x.startswith("seed")} == set()
    assert found["proved"] >= share(4)
    assert found["refuted, raced"] >= share(8)
