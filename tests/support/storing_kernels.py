"""Kernels that store in many ways, and the verdict on whether they write each element of an output once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from checkers import Budget, WrittenOnce, prove
from symlayout import Layout, TensorMap, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.expr import eq
from symlayout.facts import symbols_in
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel

M, N = dims("M N")
BUDGET = Budget(solver_ms=200, repairs=False)
ORDERS = ("coalesced", "blocked", "reversed", "warps")


def verdict(kernel: Kernel, name: str = "dst") -> Verdict:
    (v,) = prove(WrittenOnce(kernel, name), budget=BUDGET).verdicts
    return v


def story(kernel: Kernel, name: str = "dst") -> str:
    v = verdict(kernel, name)
    assert v.outcome is Outcome.REFUTED, v
    assert v.witness is not None
    return v.witness.story


def chunked(
    width: int, threads: int, rounds: int, *, blocks: int = 3, order: str = "coalesced", slip: int = 0, guard: int = 0
) -> Kernel:
    """A persistent store of chunks, each in *rounds* by *threads* of *width* elements, in one of some orders."""
    chunk = width * threads * rounds
    k = Builder("chunked", N, grid=(blocks,), threads=threads)
    dst, x = k.global_tensor("dst", "u8", Layout(N)), k.registers("x", "u8", width)
    turns = (ceil_div(N, chunk) - k.block[0] + blocks - 1) // blocks
    with k.loop("i", turns) as i, k.loop("j", rounds) as j:
        first = chunk * (k.block[0] + blocks * i)
        at = (
            first
            + {
                "coalesced": width * (threads * j + k.thread),
                "blocked": width * (rounds * k.thread + j),
                "reversed": width * (threads * j + threads - 1 - k.thread),
                "warps": width * (32 * (rounds * (k.thread // 32) + j) + k.thread % 32),
            }[order]
        )
        with k.where(at + width + guard <= N):
            k.copy(f"st.global.{width}", x(), dst(at))
        if width > 1:
            with k.where(at + width > N), k.loop("q", width + slip) as q, k.where(at + q < N):
                k.copy("st.global.1", x(), dst(at + q))
    return k.kernel()


def in_boxes(box: tuple[int, int], parts: int, warps: int, *, step: int, by: str = "rows") -> Kernel:
    """Warps store *parts* boxes each of their share of a tile, side by side or one below the other, *step* apart."""
    rows, columns = (box[0], box[1] * parts) if by == "columns" else (box[0] * parts, box[1])
    k = Builder("boxes", M, N, grid=(ceil_div(M, rows * warps), ceil_div(N, columns)), threads=32 * warps)
    out = k.global_tensor("dst", "f32", Layout((M, N), (N, 1)))
    c = k.tensor_map("c", out(), TensorMap.over(Layout((N, M), (1, N)), "f32", box[::-1]))
    tile = k.shared_tensor("tile", "f32", Layout((box[1] * box[0], parts, warps)))
    m, n = rows * (warps * k.block[0] + k.thread // 32), columns * k.block[1]
    with k.elect(each_warp=True), k.loop("p", parts) as p:
        at = (n + step * p, m) if by == "columns" else (n, m + step * p)
        k.copy("tma.store", tile(box[0] * box[1] * p), c(*at))
    return k.kernel(N.multiple_of(4))


def stored(
    layout: Layout,
    grid: tuple[Any, ...],
    at: Callable[..., Any],
    when: Callable[..., Any],
    *facts: Any,
    threads: int = 32,
) -> Kernel:
    """An element by each thread, where *at* of the blocks and the thread says, under facts of them."""
    symbols = sorted({s for x in (layout, grid, *facts) for s in symbols_in(x)}, key=lambda s: s.name)
    k = Builder("stored", *symbols, grid=grid, threads=threads)
    dst, x = k.global_tensor("dst", "f32", layout), k.registers("x", "f32", 1)
    with k.where(*when(*k.block, k.thread)):
        k.copy("st.global.4", x(), dst(at(*k.block, k.thread)))
    return k.kernel(*facts)


def vectors_and_rest(more: int = 0, rest: int = 0, alone: bool = True, threads: int = 64) -> Kernel:
    """Whole vectors by all threads, and the up to 3 elements behind them by the first CTA."""
    k = Builder("rest", N, grid=(ceil_div(N, 4 * threads),), threads=threads)
    dst, x = k.global_tensor("dst", "f32", Layout(N)), k.registers("x", "f32", 4)
    at = threads * k.block[0] + k.thread
    with k.where(at < N // 4 + more):
        k.copy("st.global.16", x(), dst(4 * at))
    with k.where(k.thread < N % 4 + rest, *([eq(k.block[0], 0)] if alone else [])):
        k.copy("st.global.4", x(), dst(N // 4 * 4 + k.thread))
    return k.kernel()
