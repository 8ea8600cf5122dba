"""Kernels at random with two tensors in the same bytes: those proved apart run as with places apart."""

from __future__ import annotations

import collections
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from checkers.claims.apart_in_time import apart_in_memory
from checkers.overlaps import Together, apart
from symlayout import Layout
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder, Kernel
from symlayout.semantics import execute

ORDERS: tuple[str | int, ...] = ("eager", "lazy", 1, 2)


class Random:
    """Writes operations on a tile, and on another over it, as chance will have it."""

    def __init__(self, seed: int) -> None:
        self.chance = r = random.Random(seed)
        self.k = k = Builder("at_random", grid=(1,), threads=64)
        self.g, self.z = k.global_tensor("g", "f32", Layout(64)), k.global_tensor("z", "f32", Layout((64, 4)))
        self.x, self.full, self.fills = k.registers("x", "f32", 1), k.mbarriers("full", 4, 1), 0
        self.a = k.shared_tensor("a", "f32", Layout(64))
        self.b = k.shared_tensor("b", "f32", Layout(64), over=self.a(r.choice((0, 16, 32))))

    def kernel(self) -> Kernel:
        """Mostly uses of the first tile, mostly a barrier, mostly uses of the second."""
        k, r = self.k, self.chance
        k.copy("ld.global.4", self.g(k.thread), self.x())
        k.copy("st.shared.4", self.x(), self.a(k.thread))
        for first in (0.9, 0.05):
            for _ in range(r.randrange(2, 5)):
                self.statement(self.a if r.random() < first else self.b)
            if first > 0.5 and r.random() < 0.9:
                k.sync()
        with k.elect():
            k.commit("bulk")
            k.wait_group("bulk")
        k.copy("st.global.4", self.x(), self.z(k.thread))
        return k.kernel()

    def statement(self, tile: Any, deep: bool = False) -> None:
        """One operation, or a loop or a condition with some."""
        k, r, w = self.k, self.chance, self.chance.random()
        at = tile(r.choice((k.thread, 63 - k.thread)))
        if w < 0.22:
            k.copy("st.shared.4", self.x(), at)
        elif w < 0.42:
            k.copy("ld.shared.4", at, self.x())
        elif w < 0.62:
            k.sync()
        elif w < 0.68:
            k.fence("async")
        elif w < 0.82:
            self.store(tile)
        elif w < 0.9 and not deep:
            with k.loop(f"i{r.randrange(10**6)}", r.choice((1, 2))):
                for _ in range(3):
                    self.statement(tile, True)
        elif w < 0.96 and not deep and self.fills < 4:
            self.load(tile)
        elif not deep:
            with k.where(k.thread < 32):
                self.statement(tile, True)

    def store(self, tile: Any) -> None:
        """A bulk store, perhaps committed, perhaps waited for."""
        k, r = self.k, self.chance
        with k.elect():
            k.copy("bulk.store", tile(), self.z(64 * r.randrange(4)), nbytes=256)
            if r.random() < 0.8:
                k.commit("bulk")
            if r.random() < 0.6:
                k.wait_group("bulk", r.choice((0, 0, 1)), read=r.random() < 0.5)

    def load(self, tile: Any) -> None:
        """A bulk load, perhaps waited for."""
        k, full = self.k, self.full(self.fills)
        self.fills += 1
        with k.elect():
            k.expect_tx(full, 256)
            k.copy("bulk.load", self.g(), tile(), full, nbytes=256)
        if self.chance.random() < 0.8:
            k.wait(full, 0)


def shown(kernel: Kernel) -> bool:
    try:
        return bool(apart(kernel, "a", "b").why)
    except Together:
        return False


def differs(kernel: Kernel) -> str:
    """How a run differs from one with places apart; "fails" where that one fails by itself."""
    moved, inputs = apart_in_memory(kernel), {"g": np.arange(1, 65, dtype=np.float32)}
    for order in ORDERS:
        try:
            wanted = execute(moved, inputs, order)
        except ExecutionError:
            return "fails"
        try:
            found = execute(kernel, inputs, order)
        except ExecutionError as e:
            return str(e)
        if any(wanted[name].tobytes() != found[name].tobytes() for name in wanted):
            return "other values"
    return ""


def test_what_is_shown_to_be_apart_runs_so(share: Callable[[int], int]) -> None:
    counts: collections.Counter[tuple[bool, bool]] = collections.Counter()
    for seed in range(share(800)):
        kernel = Random(seed).kernel()
        seen = differs(kernel)
        if seen != "fails":
            proved = shown(kernel)
            assert not (proved and seen), f"{seed}: {seen}\n{kernel}"
            counts[proved, bool(seen)] += 1

    assert counts[True, False] > share(10)
    assert counts[False, True] > share(10)
