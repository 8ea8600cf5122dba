"""A kernel of one's own, before any CUDA: does a second buffer pay?

Each CTA of 128 threads scales its share of a vector: a loop loads four elements a thread, doubles them, and stores. In
the second version the loads of the next iteration are issued before the stores of this one, into other registers.
"""

from __future__ import annotations

import simulator
from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel

THREADS, WORDS, TRIPS = 128, 4, 16
TILE = THREADS * WORDS


def scale(buffers: int) -> Kernel:
    """dst = 2 src, with one or two buffers in registers."""
    N = dim("N", multiple_of=TILE * TRIPS)
    k = Builder("scale", N, grid=(N // (TILE * TRIPS),), threads=THREADS)
    src, dst = k.global_tensor("src", "f32", Layout(N)), k.global_tensor("dst", "f32", Layout(N))
    x = k.registers("x", "f32", WORDS)
    y = k.registers("y", "f32", WORDS) if buffers == 2 else x
    (block,) = k.block
    first = TILE * TRIPS * block + WORDS * k.thread

    def load(trip, into):
        k.copy("ld.global.16", src(first + TILE * trip), into())

    def finish(trip, of):
        k.map("add", (of(), of()), of(), WORDS)
        k.copy("st.global.16", of(), dst(first + TILE * trip))

    if buffers == 1:
        with k.loop("i", TRIPS) as i:
            load(i, x)
            finish(i, x)
    else:
        load(0, x)
        with k.loop("i", TRIPS // 2) as i:
            load(2 * i + 1, y)
            finish(2 * i, x)
            with k.where(2 * i + 2 < TRIPS):
                load(2 * i + 2, x)
            finish(2 * i + 1, y)
    return k.kernel()


one, two = scale(1), scale(2)  # symlayout simulate examples/simulator/s02_own_kernel.py:two N=67108864


def main() -> None:
    """Both versions, with few CTAs on an SM and with many."""
    for n in (1 << 20, 1 << 26):
        for kernel in (one, two):
            trace = simulator.simulate(kernel.bind(N=n), uncertainty=False)
            loads = next(s.share for s in trace.stalls if s.cause == "loads")
            buffers, time = 1 if kernel is one else 2, 1e6 * trace.seconds
            print(f"N = {n:9}  {buffers} buffers  {time:6.1f} us  {loads:4.0%} in loads  {trace.limiting}")


if __name__ == "__main__":
    main()
