"""A kernel whose warps give slots back by one arrival that counts for all lanes."""

from __future__ import annotations

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel


def counted(
    count: int = 32,
    awaited: int = 32,
    meet: bool = True,
    parity: int = 1,
    on: int = 0,
    early: int = 0,
    complete: bool = True,
    swap: bool = False,
    suspend_ns: int | None = None,
) -> Kernel:
    """A ring whose consumer's elected lane arrives *count* times at once where *awaited* arrivals free a slot.

    With *early* it first arrives so many times with noComplete, or last with *swap*. The lanes *meet* before; the producer waits for the phase of *parity*, the slot given back is *on* uses away.
    """
    L = dim("L")
    k = Builder("counted", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "ao")
    t = k.shared_tensor("t", "f32", Layout((32, 2)))
    full, empty = k.mbarriers("full", 2, 1), k.mbarriers("empty", 2, awaited)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(empty(i % 2), (i // 2 + parity) % 2, suspend_ns=suspend_ns)
        k.expect_tx(full(i % 2), 128)
        k.copy("bulk.load", a(32 * i), t(32 * (i % 2)), full(i % 2), nbytes=128)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        with k.loop("i", L) as i:
            k.wait(full(i % 2), i // 2 % 2)
            k.copy("ld.shared.4", t(32 * (i % 2) + k.thread), x())
            if meet:
                k.warp_sync()
            with k.elect():
                arrivals = [(early, False)] * bool(early) + [(count, complete)]
                for n, last in arrivals[::-1] if swap else arrivals:
                    k.arrive(empty((i + on) % 2), count=n, complete=last)
            k.copy("st.global.4", x(), o(32 * i + k.thread))
    return k.kernel()


def last_by_another(met: bool = True, complete: tuple[bool, bool] = (False, True), awaited: int = 2) -> Kernel:
    """Two roles read a half of each slot each; the first arrives with noComplete, then they meet, the second is last."""
    L = dim("L")
    k = Builder("last_by_another", L, grid=(1,), threads=96)
    a, o = (k.global_tensor(name, "f32", Layout((64, L))) for name in "ao")
    t = k.shared_tensor("t", "f32", Layout((64, 2)))
    full, empty = k.mbarriers("full", 2, 1), k.mbarriers("empty", 2, awaited)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        k.wait(empty(i % 2), (i // 2 + 1) % 2)
        k.expect_tx(full(i % 2), 256)
        k.copy("bulk.load", a(64 * i), t(64 * (i % 2)), full(i % 2), nbytes=256)
    for n, name in enumerate(("first", "second")):
        with k.role(name, 1), k.loop("i", L) as i:
            x = k.registers(f"x{n}", "f32", 1)
            k.wait(full(i % 2), i // 2 % 2)
            k.copy("ld.shared.4", t(64 * (i % 2) + 32 * n + k.thread), x())
            k.copy("st.global.4", x(), o(64 * i + 32 * n + k.thread))
            if met and n == 1:
                k.sync(1, 64)
            k.warp_sync()
            with k.elect():
                k.arrive(empty(i % 2), complete=complete[n])
            if met and n == 0:
                k.sync(1, 64)
    return k.kernel()
