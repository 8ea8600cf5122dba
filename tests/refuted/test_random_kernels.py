"""Small kernels at random, most of them wrong: none whose safety is proved faults in a run."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from checkers import prove
from checkers.prover import Budget
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.ops import SHUFFLES, LoadIndex
from symlayout.semantics import execute

SEEDS = 150
BUDGET = Budget(solver_ms=300, repairs=False)
VALUES = re.compile("was never written there|poison")  # no claim here is about them
NOT_ABOUT_FAULTS = ("written once", "computes")
TABLE = 64


class Drawn:
    """A kernel of loads, stores, functions, shuffles, reductions, names and values from memory, and its size."""

    def __init__(self, seed: int) -> None:
        self.r = r = random.Random(seed)
        self.size: Any = dim("n", at_most=64) if r.random() < 0.3 else r.choice([16, 64, 70])
        dims = [] if isinstance(self.size, int) else [self.size]
        self.k = k = Builder("drawn", *dims, grid=(r.choice([1, 3]),), threads=r.choice([32, 64]))
        self.src, self.idx = (
            k.global_tensor("src", "f32", Layout(self.size)),
            k.global_tensor("idx", "i32", Layout(TABLE)),
        )
        self.dst, self.alpha = k.global_tensor("dst", "f32", Layout(256)), k.parameter("alpha", "f32")
        self.x, self.y = k.registers("x", "f32", 4), k.registers("y", "f32", 4)
        self.names = 0
        k.fill(self.x(), 1, 4)
        k.fill(self.y(), 2, 4)
        self.body([k.thread, k.block[0]], 0)
        self.kernel = k.kernel()

    def place(self, known: list[Any], ends: tuple[int, ...] = (0, 0, 0, 1, 2, -1)) -> Any:
        """A sum of some known symbols, each in some form."""
        r, out = self.r, 0
        for s in r.sample(known, min(len(known), r.randint(0, 2))):
            out += r.choice([s, 2 * s, s % r.choice([4, 8, 32]), s // r.choice([2, 32]), minimum(s, r.choice([3, 31]))])
        return out + r.choice(ends)

    def body(self, known: list[Any], depth: int) -> None:
        known = list(known)
        for _ in range(self.r.randint(1, 4)):
            plain = (self.name, self.value, self.load, self.store, self.function, self.lanes, self.fold)
            inside = (self.condition, self.loop, self.election) if depth < 3 else ()
            self.r.choice([*plain, *inside])(known, depth)

    def name(self, known: list[Any], _: int) -> None:
        self.names += 1
        known.append(self.k.let(f"v{self.names}", self.place(known)))

    def value(self, known: list[Any], _: int) -> None:
        self.names += 1
        within = self.r.choice([0, 0, 1, -1]), self.r.choice([2, 16, 32, 64, self.size, self.k.block[0] + 2])
        known.append(self.k.load_index(f"v{self.names}", self.idx(self.place(known)), within))

    def load(self, known: list[Any], _: int) -> None:
        self.k.copy(
            "ld.global.4", self.src(self.place(known)), self.x(self.r.choice([0, 3, self.place(known, (0, 1))]))
        )

    def store(self, known: list[Any], _: int) -> None:
        self.k.copy("st.global.4", self.y(self.r.choice([0, 3])), self.dst(self.place(known)))

    def function(self, *_: Any) -> None:
        x, y = self.x, self.y
        made = (("mul", (self.alpha, x()), y(), 4), ("add", (x(), y()), x(1), 3), ("scale", (x(), y(3)), x(), 4))
        self.k.map(*self.r.choice(made))

    def lanes(self, known: list[Any], _: int) -> None:
        r = self.r
        lane, count = r.choice([1, 31, self.place(known)]), r.choice([1, 1, 3])
        self.k.shuffle(r.choice(SHUFFLES), self.x(), self.y(r.choice([0, 1, 3])), lane, count)

    def fold(self, *_: Any) -> None:
        r = self.r
        self.k.reduce("add", self.x(), self.y(r.choice([0, 3, 4])), r.choice([1, 4, 5]), r.choice([1, 4, 32]))

    def condition(self, known: list[Any], depth: int) -> None:
        s = self.r.choice(known)
        fact = self.r.choice([s < self.r.choice([1, 4, 32, 40]), s >= self.r.choice([0, 2]), s + self.k.thread < 40])
        with self.k.where(fact):
            self.body(known, depth + 1)
        if self.r.random() < 0.4:
            with self.k.otherwise():
                self.body(known, depth + 1)

    def loop(self, known: list[Any], depth: int) -> None:
        with self.k.loop(f"i{depth}", self.r.choice([2, 3, self.size, self.place(known)])) as i:
            self.body([*known, i], depth + 1)

    def election(self, known: list[Any], depth: int) -> None:
        with self.k.elect(self.r.random() < 0.5):
            self.body(known, depth + 1)


def tables(bound: Kernel) -> Iterator[np.ndarray[Any, Any]]:
    """Tables that keep every contract of a kernel whose ends are numbers for all blocks."""
    names = [op.name for op in bound.walk() if isinstance(op, LoadIndex)]
    low = max((s.lower for s in names if isinstance(s.lower, int)), default=0)
    high = min((s.upper if isinstance(s.upper, int) else 1 for s in names), default=TABLE - 1)
    if low <= high:
        yield np.full(TABLE, high, np.int32)
        yield np.random.default_rng(1).integers(low, high + 1, TABLE).astype(np.int32)


def said(drawn: Drawn) -> str:
    """What the first run that faults says."""
    for n in [drawn.size] if isinstance(drawn.size, int) else (1, 5, 64):
        bound = drawn.kernel if isinstance(drawn.size, int) else drawn.kernel.bind(n=n)
        for table in tables(bound):
            for order in ("eager", "lazy"):
                try:
                    execute(bound, {"src": np.zeros(n, np.float32), "idx": table, "alpha": 2.0}, order)
                except ExecutionError as e:
                    if not VALUES.search(str(e)):
                        return f"n = {n}, {order}: {e}"
    return ""


def test_no_kernel_whose_safety_is_proved_faults(share: Callable[[int], int]) -> None:
    seeds = share(SEEDS)
    found: Counter[tuple[bool, bool]] = Counter()
    for seed in range(seeds):
        drawn = Drawn(seed)
        verdicts = [v for v in prove(drawn.kernel, budget=BUDGET).verdicts if v.claim.kind not in NOT_ABOUT_FAULTS]
        safe, fault = all(v.outcome is Outcome.PROVED for v in verdicts), said(drawn)
        found[safe, bool(fault)] += 1

        assert not (safe and fault), f"seed {seed}: {fault}\n{drawn.kernel}"
    assert found[True, False] >= seeds // 10
    assert found[False, True] >= seeds // 10
