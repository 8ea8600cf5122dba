"""Kernels in which one role leaves numbers in global memory for another, and tells it by an mbarrier."""

from __future__ import annotations

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel


def relay(
    tell: bool = True, arrivals: int = 32, met: bool = True, told_before: bool = False, ahead: int = 0, parity: int = 0
) -> Kernel:
    """One warp copies rows to a scratch tensor, the other reads each row in reverse when all lanes have arrived.

    Where they have *met* behind each row, no arrival is for a phase too early. What is read is *ahead* rows further on.
    """
    L = dim("L")
    k = Builder("relay", L, grid=(4,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, 4, L))) for name in "ao")
    scratch = k.global_tensor("scratch", "f32", Layout((32, 4, L + ahead)))
    full, mine = k.mbarriers("full", 2, arrivals), 32 * k.block[0]
    with k.role("writer", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        k.copy("ld.global.4", a(128 * i + mine + k.thread), x())
        if told_before:
            k.arrive(full(i % 2))
        k.copy("st.global.4", x(), scratch(128 * i + mine + k.thread))
        if tell and not told_before:
            k.arrive(full(i % 2))
        if met:
            k.sync(1, 64)
    with k.role("reader", 1), k.loop("i", L) as i:
        y = k.registers("y", "f32", 1)
        if tell:
            k.wait(full(i % 2), (i // 2 + parity) % 2)
        k.copy("ld.global.4", scratch(128 * (i + ahead) + mine + 31 - k.thread), y())
        k.copy("st.global.4", y(), o(128 * i + mine + k.thread))
        if met:
            k.sync(1, 64)
    return k.kernel()
