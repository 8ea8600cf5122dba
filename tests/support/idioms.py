"""Kernels by threads and barriers of a CTA as many real ones are: reductions of a block, halos, tails."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from symlayout import Layout, ceil_div, dim
from symlayout.kernel import Builder, Kernel


def block_sum(by: str = "elect", meet: bool = True) -> Kernel:
    """The sum of a block: one lane of each warp leaves a part, one thread adds the parts."""
    N = dim("N", multiple_of=128)
    k = Builder("block_sum", N, grid=(N // 128,), threads=128)
    src, dst = k.global_tensor("src", "f32", Layout(N)), k.global_tensor("dst", "f32", Layout(N // 128))
    part, r, s = k.shared_tensor("part", "f32", Layout(4)), k.registers("r", "f32", 1), k.registers("s", "f32", 4)
    k.copy("ld.global.4", src(128 * k.block[0] + k.thread), r())
    k.reduce("add", r(), r(), 1, 32)
    some: Any = {"elect": k.elect(each_warp=True), "lane 0": k.where(k.thread % 32 < 1), "all": nullcontext()}[by]
    with some:
        k.copy("st.shared.4", r(), part(k.thread // 32))
    if meet:
        k.sync()
    with k.elect():
        k.copy("ld.shared.16", part(), s())
        k.reduce("add", s(), s(), 4)
        k.copy("st.global.4", s(), dst(k.block[0]))
    return k.kernel()


def halo(meet: bool = True, right: int = 65) -> Kernel:
    """Each thread adds three neighbours; the first and the last thread bring the ends of the tile."""
    N = dim("N", multiple_of=64)
    k = Builder("halo", N, grid=(N // 64,), threads=64)
    src, dst = k.global_tensor("src", "f32", Layout(N + 2)), k.global_tensor("dst", "f32", Layout(N))
    t, r, s = k.shared_tensor("t", "f32", Layout(66)), k.registers("r", "f32", 1), k.registers("s", "f32", 3)
    for some, at in ((None, k.thread + 1), (k.thread < 1, 0), (k.thread >= 63, right)):
        with nullcontext() if some is None else k.where(some):
            k.copy("ld.global.4", src(64 * k.block[0] + at), r())
            k.copy("st.shared.4", r(), t(at))
    if meet:
        k.sync()
    for i in range(3):
        k.copy("ld.shared.4", t(k.thread + i), s(i))
    k.reduce("add", s(), s(), 3)
    k.copy("st.global.4", s(), dst(64 * k.block[0] + k.thread))
    return k.kernel()


def half_warp(lanes: int = 16, meet: bool = True, pending: int = 0) -> Kernel:
    """Half of a warp copies asynchronously, all of it reads."""
    N = dim("N", multiple_of=64)
    k = Builder("half_warp", N, grid=(N // 64,), threads=32)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    t, r = k.shared_tensor("t", "f32", Layout(64)), k.registers("r", "f32", 2)
    with k.where(k.thread < lanes):
        k.copy("cp.async.16", src(64 * k.block[0] + 4 * k.thread), t(4 * k.thread))
    k.commit("cp.async")
    k.wait_group("cp.async", pending)
    if meet:
        k.warp_sync()
    k.copy("ld.shared.8", t(2 * k.thread), r())
    k.copy("st.global.8", r(), dst(64 * k.block[0] + 2 * k.thread))
    return k.kernel()


def tail_barrier() -> Kernel:
    """A barrier under the predicate of the tail, to which not all threads come."""
    N = dim("N")
    k = Builder("tail_barrier", N, grid=(ceil_div(N, 64),), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    t, r, i = k.shared_tensor("t", "f32", Layout(64)), k.registers("r", "f32", 1), 64 * k.block[0] + k.thread
    with k.where(i < N):
        k.copy("ld.global.4", src(i), r())
        k.copy("st.shared.4", r(), t(k.thread))
        k.sync()
        k.copy("ld.shared.4", t(k.thread), r())
        k.copy("st.global.4", r(), dst(i))
    return k.kernel()


def two_roles(numbers: tuple[int, int] = (1, 2)) -> Kernel:
    """Two roles of two warps, each with a named barrier for its own threads."""
    L = dim("L")
    k = Builder("two_roles", L, grid=(1,), threads=128)
    o = k.global_tensor("o", "f32", Layout((128, L)))
    for n, number in enumerate(numbers):
        x = k.shared_tensor(f"x{n}", "f32", Layout(64))
        with k.role(f"role{n}", 2):
            r = k.registers(f"r{n}", "f32", 1)
            k.fill(r(), 1)
            with k.loop("i", L) as i:
                k.copy("st.shared.4", r(), x(k.thread))
                k.sync(number, 64)
                k.copy("ld.shared.4", x(63 - k.thread), r())
                k.sync(number, 64)
                k.copy("st.global.4", r(), o(128 * i + 64 * n + k.thread))
    return k.kernel()
