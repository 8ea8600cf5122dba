"""Kernels in which one role leaves numbers in global memory for another, and tells it by an mbarrier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from symlayout import Layout, dim
from symlayout.expr import Int, Symbol
from symlayout.kernel import Builder, Kernel


def relay(
    tell: bool = True,
    arrivals: int = 32,
    met: bool = True,
    told_before: bool = False,
    ahead: int = 0,
    parity: int = 0,
    tiles: Int | None = None,
) -> Kernel:
    """One warp copies rows to a scratch tensor, the other reads each row in reverse when all lanes have arrived.

    Where they have *met* behind each row, no arrival is for a phase too early. What is read is *ahead* rows further on.
    The rows are those of so many *tiles*, one loop inside another, where there are some.
    """
    L = dim("L")
    rows = L if tiles is None else L * tiles
    k = Builder("relay", L, *([tiles] if isinstance(tiles, Symbol) else []), grid=(4,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, 4, rows))) for name in "ao")
    scratch = k.global_tensor("scratch", "f32", Layout((32, 4, rows + ahead)))
    full, mine = k.mbarriers("full", 2, arrivals), 32 * k.block[0]

    @contextmanager
    def each_row() -> Iterator[Any]:
        with nullcontext(0) if tiles is None else k.loop("t", tiles) as t, k.loop("i", L) as i:
            yield t * L + i

    with k.role("writer", 1), each_row() as i:
        x = k.registers("x", "f32", 1)
        k.copy("ld.global.4", a(128 * i + mine + k.thread), x())
        if told_before:
            k.arrive(full(i % 2))
        k.copy("st.global.4", x(), scratch(128 * i + mine + k.thread))
        if tell and not told_before:
            k.arrive(full(i % 2))
        if met:
            k.sync(1, 64)
    with k.role("reader", 1), each_row() as i:
        y = k.registers("y", "f32", 1)
        if tell:
            k.wait(full(i % 2), (i // 2 + parity) % 2)
        k.copy("ld.global.4", scratch(128 * (i + ahead) + mine + 31 - k.thread), y())
        k.copy("st.global.4", y(), o(128 * i + mine + k.thread))
        if met:
            k.sync(1, 64)
    return k.kernel()
