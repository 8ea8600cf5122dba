"""Random kernels whose threads meet in shared memory: the proof and the run agree on which of them race.

Threads touch their own element, or that 1 or 32 further: they meet their neighbours of a warp, and threads of another.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from checkers import HappensBefore, prove
from symlayout import Layout, TensorMap, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder, Kernel
from symlayout.semantics import execute

THREADS, SLOT = 64, 64


class Writer:
    """Writes a kernel at random."""

    def __init__(self, seed: int, roles: bool) -> None:
        self.random, self.n = random.Random(seed), dim("n")
        self.k = k = Builder("random", self.n, grid=(1,), threads=THREADS * (2 if roles else 1))
        self.src = k.global_tensor("src", "f32", Layout(4 * THREADS))
        self.dst = k.global_tensor("dst", "f32", Layout(1 << 13))
        out = k.global_tensor("out", "f32", Layout((64, 64), (1, 64)))
        self.box = k.tensor_map("out_map", out(), TensorMap.over(Layout((64, 64), (1, 64)), "f32", (64, 1)))
        self.slots = self.random.choice([1, 2, 3, 4])
        self.tile = k.shared_tensor("tile", "f32", Layout((SLOT, self.slots)))
        self.stored = self.named = 0
        x = k.registers("start", "f32", 1)
        k.copy("ld.global.4", self.src(k.thread), x())
        for s in range(self.slots):
            with k.where(k.thread < THREADS):
                k.copy("st.shared.4", x(), self.tile(SLOT * s + k.thread))
        k.sync()

    def at(self, turn: Any) -> Any:
        """A place in the slot of a turn, of each thread."""
        further = self.random.choice([0, 0, 1, 32])
        return SLOT * (turn % self.slots) + (self.k.thread + further) % THREADS

    def access(self, kind: str, turn: Any, x: Any) -> None:
        k = self.k
        if kind == "write":
            k.copy("st.shared.4", x(), self.tile(self.at(turn)))
        elif kind == "read":
            k.copy("ld.shared.4", self.tile(self.at(turn)), x())
            k.copy("st.global.4", x(), self.dst(THREADS * self.stored + k.thread))
            self.stored += 1
        elif kind == "copy":
            k.copy("cp.async.4", self.src(k.thread), self.tile(self.at(turn)))
            if self.random.random() < 0.8:
                k.commit("cp.async")
        elif kind == "store":
            with k.elect():
                k.copy("tma.store", self.tile(SLOT * (turn % self.slots)), self.box(0, self.random.randrange(64)))
                k.commit("bulk")

    def order(self, kind: str) -> None:
        k, pick = self.k, self.random.choice
        if kind == "wait":
            k.wait_group("cp.async", pick([0, 0, 1, 2]))
        elif kind == "wait bulk":
            with k.elect():
                k.wait_group("bulk", pick([0, 0, 1]), read=pick([True, False]))
        elif kind == "fence":
            k.fence("async")
        elif kind == "sync":
            k.sync()
        elif kind == "warp":
            k.warp_sync()

    def body(self, loops: list[Any], x: Any) -> None:
        for _ in range(self.random.randint(2, 5)):
            turn = self.random.choice(loops or [0]) + self.random.randint(0, 3)
            kinds = (
                "write",
                "read",
                "copy",
                "store",
                "wait",
                "wait bulk",
                "fence",
                "sync",
                "sync",
                "warp",
                "warp",
                "loop",
            )
            kind = self.random.choice(kinds)
            if kind == "loop" and len(loops) < 2:
                self.named += 1
                with self.k.loop(f"i{self.named}", self.random.choice([self.n, 2])) as i:
                    self.body([*loops, i], x)
            self.access(kind, turn, x)
            self.order(kind)

    def one(self) -> Kernel:
        """All threads run one program."""
        x = self.k.registers("x", "f32", 1)
        self.k.copy("ld.global.4", self.src(self.k.thread), x())
        self.body([], x)
        self.k.wait_group("cp.async", 0)
        with self.k.elect():
            self.k.wait_group("bulk", 0)
        return self.k.kernel()

    def two(self) -> Kernel:
        """Two roles, which meet at barriers 1 and 2 in some order."""
        meet = [self.random.choice([1, 2]) for _ in range(self.random.randint(1, 3))]
        for name in "ab":
            with self.k.role(name, 2):
                x = self.k.registers(f"x_{name}", "f32", 1)
                self.k.copy("ld.global.4", self.src(self.k.thread), x())
                with self.k.loop("i", self.n) as i:
                    for barrier in meet if self.random.random() < 0.9 else meet[::-1]:
                        for _ in range(self.random.randint(0, 2)):
                            kind = self.random.choice(["write", "read", "copy", "wait", "warp"])
                            self.access(kind, i + self.random.randint(0, 3), x)
                            self.order(kind)
                        self.k.sync(barrier, 2 * THREADS)
                self.k.wait_group("cp.async", 0)
        return self.k.kernel()


def caught(kernel: Kernel) -> str:
    """What the first run that does not end well says."""
    for n in (1, 2, 5):
        bound = kernel.bind(n=n)
        for order in ("lazy", 1, 2, 3):
            given = {t.name: np.zeros(t.layout.shape, np.float32) for t in bound.tensors if t.space == "global"}
            try:
                execute(bound, given, order)
            except ExecutionError as e:
                return str(e)
    return ""


@pytest.mark.parametrize("roles", [False, True], ids=["one program", "two roles"])
@pytest.mark.seeds(5)
def test_the_proof_and_the_run_agree(seed: int, roles: bool) -> None:
    outcomes = set()
    for number in range(10 * seed, 10 * seed + 10):
        writer = Writer(number, roles)
        kernel = writer.two() if roles else writer.one()
        (v,) = prove(HappensBefore(kernel)).verdicts
        said = caught(kernel)
        outcomes.add(v.outcome)

        assert v.outcome is not Outcome.PROVED or not said, f"seed {number}\n{kernel.text()}\n{said}"
        assert v.outcome is not Outcome.REFUTED or said, f"seed {number}\n{kernel.text()}\n{v}"
    assert {Outcome.PROVED, Outcome.REFUTED} <= outcomes
