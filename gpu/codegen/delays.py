"""Random waits before what orders or moves data, so that races which luck hides show: for tests, not for use.

>>> Delays(7).before("arrive", ("i", "turn")) == Delays(7).before("arrive", ("i", "turn"))
True

Which places wait, and for how long at most, is drawn by the seed; how long each wait is, is computed in the kernel, of
its CTA, warp and iteration. All lanes of a warp wait alike, so that they meet at the instructions that ask for that.

A wait reads the timer over and over; it does not sleep. While an elected lane sleeps, the others of its warp go on past
the place where they are to meet again, and a uniform register that they write may be one that a copy of the lane, sent
before it slept, has still to read (``docs/verify.md``).
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from symlayout.ops import (
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    Wait,
    WaitGroup,
    WarpBarrier,
)

DELAYED = (
    *(Arrive, Barrier, BarrierArrive, ClusterArrive, ClusterBarrier, ClusterWait, Commit, Copy, CpAsyncArrive),
    *(ExpectTx, Fence, Wait, WaitGroup, WarpBarrier),
)
MOST_NS = (0, 0, 200, 700, 2000)  # drawn for each place: the latency of a load of L2, of memory, and more than both
ITERATIONS = 61  # what the index of an outer loop counts for, next to that of an inner one


class Delays:
    """The waits of one text, place by place."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._draw = random.Random(seed)

    def before(self, operation: str, loops: Iterable[str]) -> str:
        """The wait before an operation inside of loops with these indices; "" where there is none."""
        place, most = self._draw.getrandbits(32), self._draw.choice(MOST_NS)
        iteration = "0"
        for i in loops:
            outer = f"({iteration})" if " " in iteration else iteration
            iteration = i if iteration == "0" else f"{ITERATIONS} * {outer} + {i}"
        return f"random_wait({place:#x}u, {iteration}, {most});  // before {operation}" if most else ""

    def __str__(self) -> str:
        return f"random waits of seed {self.seed} before copies, barriers, waits and arrivals: for tests, not for use"
