"""Cursors of rings: the printed loops, compiled for the host, wait where the value says, at all kinds of loops and sizes."""

import random
import re
import shutil
import subprocess

import numpy as np
import pytest

import gpu
from gpu import ptx
from gpu.codegen import emit
from symlayout import ceil_div, dim, dims
from symlayout.kernel import Builder
from symlayout.kernel.cursors import cursors
from symlayout.kernel.unrolled import Threads, unrolled
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, gemm_mma, gemm_simt, tma_copy, tma_transpose
from symlayout.kernels.families import family
from symlayout.ops import Wait
from tests.support.compilers import NEEDS_MACHINE_CODE

A, B = dim("A", at_least=0, at_most=(1 << 31) - 1), dim("B", at_least=0, at_most=(1 << 31) - 1)
SLOTS = (3, 5, 6, 7, 12)
BLOCKS = 3

HOST = r"""
#include <algorithm>
#include <cstdint>
#include <cstdio>
using std::max; using std::min;
#define __global__
#define __device__
#define __shared__
#define __align__(n)
#define __launch_bounds__(...)
struct { int x; } blockIdx, threadIdx;
uint8_t shared[1 << 12];
int64_t min(int64_t a, int b) { return a < b ? a : b; }
int64_t min(int b, int64_t a) { return a < b ? a : b; }
int64_t max(int64_t a, int b) { return a > b ? a : b; }
int64_t max(int b, int64_t a) { return a > b ? a : b; }
bool elect_one() { return true; }
void __syncthreads() {}
void fence_mbarrier_init() {}
void mbarrier_init(uint64_t*, int) {}
void mbarrier_wait(uint64_t* p, int64_t parity) { printf("%d:%lld ", int(p - (uint64_t*)shared), (long long)parity); }
"""


def waits(k, full, draw, use, slots):
    """Some waits for the use of a ring and its neighbours, some of them under a condition."""
    for _ in range(draw.randint(1, 3)):
        at = use + draw.choice((0, 0, 0, 1, -1, slots, slots - 1, 2 * slots + 1, slots * k.block[0]))
        parity = draw.choice(((at // slots + draw.randint(0, 1)) % 2, 0))
        if draw.random() < 0.3:
            with k.where(k.block[0] + use >= draw.randint(0, 5)):
                k.wait(full(at % slots), parity)
        else:
            k.wait(full(at % slots), parity)


def kernel_of(seed):
    """A nest of loops that go round a ring: carried or not, empty or not, unrolled or not, behind a start that is wide."""
    draw = random.Random(seed)
    k = Builder(f"rings{seed}", A, B, grid=(BLOCKS,), threads=32)
    (block,), slots = k.block, draw.choice(SLOTS)
    full = k.mbarriers("full", slots, 1)
    trips = draw.choice((A, A + 1, 4, 9, 13, A - block, ceil_div(A, 4), 5 - A))
    start = draw.choice((0, 0, 2, block, B, B + 8 * (B // 4), B + 1, A * B, B * B - block, -1, -B, B + 9 * (B % 4)))
    outer = draw.choice((None, None, 3, A, B % 4, 2 - A))
    way = draw.choice((None, None, None, 1, 2) + (("full",) if isinstance(trips, int) else ()))
    if outer is None:
        with k.loop("i", trips, way) as i:
            waits(k, full, draw, start + i, slots)
        if draw.random() < 0.5:
            waits(k, full, draw, start + trips, slots)
        return k.kernel()
    each = draw.choice((trips, trips, trips, trips + 1, 2 * trips))  # what an iteration outside takes
    with k.loop("wave", outer) as wave:
        use = start + wave * each
        if draw.random() < 0.2:
            use = use + k.let("first", wave * (wave + 1) // 2)
        elif draw.random() < 0.1:
            trips, use = 2 * wave - 3, wave * wave - 4 * wave  # it follows on, from fewer than no iterations
        if draw.random() < 0.3:
            waits(k, full, draw, use, slots)
        for name in draw.choice(
            (("slot",), ("phase",), ("slot", "phase"))
        ):  # loops with the same uses, or what follows
            if draw.random() < 0.2:
                with k.where(wave >= 1), k.loop("i", trips, way) as i:
                    waits(k, full, draw, use + i, slots)
            else:
                with k.loop("i", trips, way) as i:
                    k.let(name, i + 7)
                    n = k.let(f"n_{name}", use + i) if draw.random() < 0.3 else use + i
                    waits(k, full, draw, n, slots)
                    if draw.random() < 0.3:
                        with k.loop("j", draw.choice((2, 7))) as j:
                            waits(k, full, draw, draw.choice((use + i, use + 2 * i + j, use + 7 * i + j)), slots)
            use = draw.choice((use, use + trips))
            if draw.random() < 0.5:
                waits(k, full, draw, use, slots)
    return k.kernel()


def said(kernel, sizes, block):
    """The slots and parities that the value waits for, as text."""
    here = Threads({"block_x": block}, np.arange(32))
    found = (
        (here.number(op.barrier.slot), here.number(op.parity))
        for _, op, here in unrolled(kernel.bind(**sizes).plain.body, here)
        if isinstance(op, Wait)
    )
    return "".join(f"{slot}:{parity} " for slot, parity in found).strip()


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
def test_loops_wait_where_the_value_says(tmp_path, share):
    kernels = [kernel_of(seed) for seed in range(share(150))]
    texts = [emit(k) for k in kernels]
    counting = [k for k in kernels if cursors(k)]
    sizes = ({"A": 0, "B": 1}, {"A": 1, "B": 2**31 - 2}, {"A": 3, "B": 2**31 - 1}, {"A": 7, "B": 5}, {"A": 9, "B": 0})
    calls, wanted = [], []
    for kernel, text in zip(kernels, texts, strict=True):
        for at in sizes:
            for block in range(BLOCKS):
                given = ", ".join(f"{at[a.name]}" for a in text.arguments)
                calls.append(f'  blockIdx.x = {block}; {kernel.name}({given}); puts("");')
                wanted.append(said(kernel, at, block))
    bodies = (t.text[t.text.index('extern "C"') :] for t in texts)
    helpers = (ptx.function(name).body for name in ("floor_div", "floor_mod"))
    main = ["int main() {", *calls, "}"]
    (tmp_path / "t.cc").write_text("\n".join((HOST, *helpers, *bodies, *main)))
    run = ("c++", "-w", "-O0", "-fwrapv", "-o", tmp_path / "t", tmp_path / "t.cc")
    subprocess.run(run, check=True, timeout=120)
    found = subprocess.run([tmp_path / "t"], check=True, capture_output=True, text=True, timeout=20).stdout

    assert [line.strip() for line in found.splitlines()] == wanted
    assert len(counting) > 0.6 * len(kernels)
    assert any(len(c.begins) < len(c.loop) for k in counting for c in cursors(k))
    assert any(c.behind is None for k in counting for c in cursors(k))


M, N, K = dims("M N K", at_most=1 << 20)
RINGS = {
    "gemm": lambda n: gemm(M, N, K, tile=(128, 128), stages=n),
    "gemm, one consumer": lambda n: gemm(M, N, K, tile=(64, 128), stages=n, cluster=1),
    "gemm_mma": lambda n: gemm_mma(M, N, K, tile=(64, 64), stages=n),
    "gemm_simt": lambda n: gemm_simt(M, N, K, stages=n),
    "tma_copy": lambda n: tma_copy(M, N, slots=n, blocks=132),
    "tma_transpose": lambda n: tma_transpose(M, N, tile=(32, 64), stages=n, blocks=132),
    "cp_async_copy": lambda n: cp_async_copy(N, stages=n, blocks=132),
    "bulk_copy": lambda n: bulk_copy(N, slots=n, blocks=132),
    "gather_rows": lambda n: family("gather_rows").build(slots=n),
    "tma_reduce_add": lambda n: family("tma_reduce_add").build(slots=n),
}


@pytest.mark.parametrize("slots", [5, 6])
@pytest.mark.parametrize("name", RINGS)
def test_main_loops_of_rings_divide_by_no_slots(name, slots):
    """Only prologues do, of fewer iterations than slots, which compilers unroll."""
    text = emit(RINGS[name](slots)).text

    assert {*re.findall(rf"(\w+|\)) [%/] {slots}\b", text)} <= {"s"}
    assert re.search(r"int slot\d* = \d+", text)


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("name, slots", [("gemm", 3), ("gemm, one consumer", 5), ("tma_copy", 3), ("cp_async_copy", 7)])
def test_machine_code_of_rings_multiplies_no_more_than_that_of_four_slots(name, slots):
    """A division by a constant is a product of 64 bits, or its high part; without spills, which are errors."""

    def products(n):
        source = emit(RINGS[name](n))
        found = gpu.compile(source.text, name="ring.cu").instructions(source.name)
        return sum(found.count(word) for word in ("IMAD.WIDE", "IMAD.HI", "UIMAD.WIDE"))

    assert products(slots) <= products(4)
