"""How many slots does a ring need? A persistent TMA copy with one to four, predicted without a GPU.

With one slot a tile is stored before the next one is asked for, so too few bytes are in flight. Two slots keep DRAM
busy but for a twentieth of the time, which a third one fills; a fourth changes nothing.
"""

from __future__ import annotations

import simulator
from symlayout import dims
from symlayout.kernels import tma_copy

SIZES = {"M": 8192, "N": 8192}


def main() -> None:
    """A row for each number of slots."""
    M, N = dims("M N")
    print("slots  predicted        p10-p90           limited by")
    for slots in (1, 2, 3, 4):
        kernel = tma_copy(M, N, slots=slots, blocks=132).bind(**SIZES)
        trace = simulator.simulate(kernel, machine=simulator.H200)
        assert trace.around is not None
        low, high = trace.around.p10_ps / 1e6, trace.around.p90_ps / 1e6
        print(f"{slots:5}  {1e6 * trace.seconds:6.1f} us  {low:6.1f} .. {high:.1f} us  {trace.limiting}")


if __name__ == "__main__":
    main()
