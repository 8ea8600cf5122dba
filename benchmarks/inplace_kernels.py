"""Random kernels that read and write one tensor in global memory: in place, at neighbours, in tiles, in two passes.

    >>> kernel = random_kernel(3)
    >>> kernel.name, [t.name for t in kernel.tensors if t.space == "global"]
    ('inplace', ['a', 'b'])

What one element is to another thread is left to chance: strides of blocks and threads that fit or overlap by a little,
shifts, vectors next to single elements, barriers that stand or are left out, elections and roles.
"""

from __future__ import annotations

import random
from typing import Any

from symlayout.expr import dim, minimum
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.layout import Layout

BYTES = {1: 4, 2: 8, 4: 16}


class _Maker:
    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.slip = self.r.choice((0.0, 0.03, 0.15, 0.5))  # how likely a choice is another than one that fits
        self.N = dim("N")
        self.width = self.r.choice((1, 1, 2, 4))
        self.threads = self.r.choice((32, 64))
        self.turns = self.r.choice((0, 0, 2, 3))
        self.tile = self.threads * self.width * max(1, self.turns)
        self.grid = self.r.choice((1, 2, ceil_div(self.N, self.tile), ceil_div(self.N, self.tile)))
        self.k = Builder("inplace", self.N, grid=(self.grid,), threads=self.threads, index_bits=64)
        self.a = self.k.global_tensor("a", "f32", Layout(self.N))
        self.b = self.k.global_tensor("b", "f32", Layout(self.N))
        self.x = self.k.registers("x", "f32", 4)
        self.base = self.other(self.tile, self.tile - 1, self.tile + 1, 0, 2 * self.tile)
        self.at = self.other(self.index, lambda j: self.index(j) + self.r.choice((0, 1)))

    def other(self, fits: Any, *others: Any) -> Any:
        """What fits, or now and then something else."""
        return self.r.choice(others) if self.r.random() < self.slip else fits

    def index(self, j: Any) -> Any:
        """Where a thread begins."""
        k, w = self.k, self.width
        t, n = k.thread, self.threads
        mixed = (w * (n - 1 - t), w * (t // 32 * 32 + (t + 1) % 32), w * (t % 32), t, 2 * w * t)
        at = self.base * k.block[0] + self.other(w * t, *mixed) + self.other(n * w * j, w * j)
        return at + self.other(0, 1, w, 32 * w, self.N // 2)

    def access(self, at: Any, write: bool) -> None:
        k, w = self.k, self.other(self.width, 1)
        place = self.other(at, minimum(at, self.N - 1)) if w == 1 else at
        with k.where(at + w <= self.N, at >= 0) if place is at else k.where(at >= 0, w <= self.N):
            if write:
                k.copy(f"st.global.{BYTES[w]}", self.x(), self.a(place))
            else:
                k.copy(f"ld.global.{BYTES[w]}", self.a(place), self.x())

    def some(self, j: Any, n: int) -> None:
        at = self.at(j)
        for _ in range(n):
            at = self.other(at, self.index(j))
            if self.r.random() < 0.1:  # another thread of the CTA, behind a barrier
                self.other(self.k.sync, lambda: None)()
                at = self.at(j) - self.width * self.k.thread + self.width * (self.threads - 1 - self.k.thread)
            self.access(at, self.r.random() < 0.6)
            if self.r.random() < 0.25:
                self.k.sync()
            if self.r.random() < 0.05:
                self.k.warp_sync()

    def part(self) -> None:
        r, k, n = self.r, self.k, self.r.choice((1, 2, 2, 3))
        kind = r.random()
        if self.turns and kind < 0.6:
            with k.loop("j", self.turns) as j:
                self.some(j, n)
        elif kind < 0.8 * self.slip:
            with k.loop("i", r.choice((2, ceil_div(self.N, self.tile)))) as i:
                self.some(i, n)
        elif kind < 0.9 * self.slip:
            with k.elect(r.random() < 0.5):
                self.k.copy(
                    "st.global.4", self.x(), self.a(minimum(self.base * k.block[0] + r.choice((0, 5)), self.N - 1))
                )
        else:
            self.some(0, n)

    def kernel(self) -> Kernel:
        self.k.fill(self.x(), 1, 4)
        for _ in range(self.r.choice((1, 1, 2, 3))):
            self.part()
        return self.k.kernel()


def random_kernel(seed: int) -> Kernel:
    """The kernel of a seed."""
    return _Maker(seed).kernel()
