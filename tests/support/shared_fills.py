"""Kernels in which two producers fill one slot, or a tile lies over the slots: right, and with one thing wrong."""

from __future__ import annotations

from contextlib import nullcontext

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element
from symlayout.ops import Ref

HALF = 32  # elements of f32: 128 bytes


def by_halves(
    slots: int = 3,
    awaited: int = 2,
    parity: int = 1,
    on: int = 0,
    waits: tuple[bool, bool] = (True, True),
    late: int = 0,
) -> Kernel:
    """Each of two producer warps arms a slot with the bytes of a half of it, which it loads; one consumer.

    The second one arms the slot *on* uses away, the producers wait for a free slot as *waits* and *parity* have it, and
    the consumer gives back *late* uses after the read.
    """
    L = dim("L")
    k = Builder("by_halves", L, grid=(1,), threads=128)
    a, o = (k.global_tensor(name, "f32", Layout((2 * HALF, L))) for name in "ao")
    t = k.shared_tensor("t", "f32", Layout((2 * HALF, slots)))
    full, empty = k.mbarriers("full", slots, awaited), k.mbarriers("empty", slots, 2)
    for n in range(2):
        with k.role(f"producer{n}", 1), k.elect(), k.loop("i", L) as i:
            if waits[n]:
                k.wait(empty(i % slots), (i // slots + parity) % 2)
            slot = full((i + n * on) % slots)
            k.expect_tx(slot, 4 * HALF)
            k.copy("bulk.load", a(2 * HALF * i + HALF * n), t(2 * HALF * (i % slots) + HALF * n), slot, nbytes=4 * HALF)
    with k.role("consumer", 2):
        x = k.registers("x", "f32", 1)
        with k.loop("i", L) as i:
            k.wait(full(i % slots), i // slots % 2)
            k.copy("ld.shared.4", t(2 * HALF * (i % slots) + k.thread), x())
            k.warp_sync()
            with k.where(i >= late) if late else nullcontext(), k.elect(each_warp=True):
                k.arrive(empty((i - late) % slots))
            k.copy("st.global.4", x(), o(2 * HALF * i + k.thread))
    return k.kernel()


def tail_over_ring(
    tell: str = "behind", arrivals: int = 2, parity: int = 0, fence: bool = True, slots: int = 2, drop: int = 0
) -> Kernel:
    """Sums of what comes through a ring, left by another role in the bytes of the ring once its readers say so.

    The readers tell an mbarrier *behind* their loops, *before* them, or never (""), and leave their sums in a tile
    apart; the last role reads it, and writes over the ring what a bulk store sends out. The readers make *drop* uses
    less than the producer.
    """
    L = dim("L", at_least=4)
    k = Builder("tail_over_ring", L, grid=(1,), threads=128)
    a, o = k.global_tensor("a", "f32", Layout((64, L))), k.global_tensor("o", "f32", Layout(64))
    t, part = k.shared_tensor("t", "f32", Layout((64, slots))), k.shared_tensor("part", "f32", Layout(64))
    out = k.shared_tensor("out", "f32", Layout(64), over=Ref("t", 0))
    full, empty = k.mbarriers("full", slots, 1), k.mbarriers("empty", slots, 2)
    over = k.mbarriers("over", 1, arrivals)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(empty(i % slots), (i // slots + 1) % 2)
        k.expect_tx(full(i % slots), 256)
        k.copy("bulk.load", a(64 * i), t(64 * (i % slots)), full(i % slots), nbytes=256)
    with k.role("readers", 2):
        x, acc = k.registers("x", "f32", 1), k.registers("acc", "f32", 1)
        k.fill(acc(), 0)
        if tell == "before":
            with k.elect(each_warp=True):
                k.arrive(over())
        with k.loop("i", L - drop) as i:
            k.wait(full(i % slots), i // slots % 2)
            k.copy("ld.shared.4", t(64 * (i % slots) + k.thread), x())
            k.map("add", (acc(), x()), acc())
            k.warp_sync()
            with k.elect(each_warp=True):
                k.arrive(empty(i % slots))
        k.copy("st.shared.4", acc(), part(k.thread))
        k.warp_sync()
        if tell == "behind":
            with k.elect(each_warp=True):
                k.arrive(over())
    with k.role("tail", 1):
        y = k.registers("y", "f32", 2)
        if tell:
            k.wait(over(), parity)
        k.copy("ld.shared.8", part(2 * (k.thread % 32)), y())
        k.copy("st.shared.8", y(), out(2 * (k.thread % 32)))
        if fence:
            k.fence("async")
        k.warp_sync()
        with k.elect():
            k.copy("bulk.store", out(), o(), nbytes=256)
            k.commit("bulk")
            k.wait_group("bulk", 0)
    return k.kernel()


def two_arrays(slots: int = 2, parity: int = 0, order: str = "lhg", on: int = 0, at: int = HALF) -> Kernel:
    """Halves of a slot that complete on mbarriers of their own, two arrays; one gives both back.

    *order* is that of the consumer: it awaits and reads the low half, the high half (waiting for *parity* more, at slot
    *on* uses away), gives the slot back. A capital letter reads without the wait. *at* is where the high half lands.
    """
    L = dim("L")
    k = Builder("two_arrays", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((2 * HALF, L))) for name in "ao")
    t = k.shared_tensor("t", "f32", Layout((2 * HALF, slots)))
    low, high, free = (k.mbarriers(name, slots, 1) for name in ("low", "high", "free"))
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(free(i % slots), (i // slots + 1) % 2)
        for b, n in ((low, 0), (high, HALF)):
            k.expect_tx(b(i % slots), 4 * HALF)
            to = 2 * HALF * (i % slots) + (n and at)
            k.copy("bulk.load", a(2 * HALF * i + n), t(to), b(i % slots), nbytes=4 * HALF)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        with k.loop("i", L) as i:
            for step in order:
                if step == "g":
                    k.warp_sync()
                    with k.elect():
                        k.arrive(free(i % slots))
                    continue
                if step == "l":
                    k.wait(low(i % slots), i // slots % 2)
                if step == "h":
                    k.wait(high((i + on) % slots), (i // slots + parity) % 2)
                n = HALF * (step in "hH")
                k.copy("ld.shared.4", t(2 * HALF * (i % slots) + n + k.thread), x())
                k.copy("st.global.4", x(), o(2 * HALF * i + n + k.thread))
    k.result("o", lambda n, i: element("a", n, i))
    return k.kernel()
