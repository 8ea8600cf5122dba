"""What bounds ``gemm_mma``: its time beside that with parts left out, of mma.sync alone, and of cuBLAS.

    python -m benchmarks.hardware.mma_bounds [--rounds 16] [--out FILE]

In the same rounds: the product of 8192 cubed in bf16 as it is; without the copies of its main loop; without its waits
and barriers too; without ldmatrix too, so that products and the last store are left. What these compute is of no use.
Beside them a kernel of nothing but mma.sync on random numbers, with one and with two warps on each quarter of an SM,
which counts cycles. Exit status 4 where there is no device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from gpu.compiling import compile
from gpu.launch import load
from symlayout import dims
from symlayout.kernel import Kernel
from symlayout.kernels import gemm_mma
from symlayout.ops import Barrier, Commit, Copy, For, Op, WaitGroup

SIZE = 8192
FLOP = 2 * 16 * 8 * 16  # of one mma.sync
EACH = 32  # of them in an iteration of a warp, on sums of 64 x 64
ITERATIONS = 4096
WARPS = (4, 8)  # of a CTA, one on each SM

RATE = """\
#include <cstdint>
extern "C" __global__ void __launch_bounds__(256)
rate(const uint32_t* __restrict__ from, float* __restrict__ to, long long* __restrict__ spent, int iterations) {
    uint32_t a[16], b[16];
    float sums[128] = {};
    #pragma unroll
    for (int e = 0; e < 16; ++e) {
        a[e] = from[32 * e + (threadIdx.x & 31)];
        b[e] = from[512 + 32 * e + (threadIdx.x & 31)];
    }
    __syncthreads();
    const long long begin = clock64();
    #pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
        #pragma unroll
        for (int p = 0; p < 4; ++p) {
            #pragma unroll
            for (int q = 0; q < 8; ++q) {
                float* d = sums + 32 * p + 4 * q;
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                             : "r"(a[4 * p]), "r"(a[4 * p + 1]), "r"(a[4 * p + 2]), "r"(a[4 * p + 3]),
                               "r"(b[2 * q]), "r"(b[2 * q + 1]));
            }
        }
    }
    const long long end = clock64();
    float all = 0;
    #pragma unroll
    for (int e = 0; e < 128; ++e) all += sums[e];
    to[blockIdx.x * blockDim.x + threadIdx.x] = all;
    if (threadIdx.x % 32 == 0) spent[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = end - begin;
}
"""


def whole() -> Kernel:
    """The product as a family has it by default."""
    return gemm_mma(*dims("M N K", at_most=1 << 20))


def _loop(kernel: Kernel) -> For:
    return next(op for op in kernel.walk() if isinstance(op, For) and op.index.name == "i")


def _left_out(kernel: Kernel, out: Callable[[Op], bool]) -> Kernel:
    """A kernel without some operations of its main loop."""
    inside = {id(op) for op in _loop(kernel).walk()}
    return kernel.edited(lambda op: () if id(op) in inside and out(op) else (op,))


def without_copies(kernel: Kernel) -> Kernel:
    """No copy to shared memory but those before the main loop."""
    return _left_out(kernel, lambda op: isinstance(op, Commit) or (isinstance(op, Copy) and op.atom == "cp.async.16"))


def without_barriers(kernel: Kernel) -> Kernel:
    """No copy, no wait and no barrier in the main loop."""
    return _left_out(without_copies(kernel), lambda op: isinstance(op, WaitGroup | Barrier))


def products_alone(kernel: Kernel) -> Kernel:
    """Operands are read once, before the main loop, for both sets of registers."""

    def reads(op: Op) -> bool:
        return isinstance(op, Copy) and op.atom.startswith("ldmatrix")

    left = _left_out(without_barriers(kernel), reads)

    def twice(op: Op) -> tuple[Op, ...]:
        assert isinstance(op, Copy)
        return op, replace(op, dst=replace(op.dst, offset=op.dst.offset + EACH))

    return left.edited(lambda op: twice(op) if reads(op) else (op,))


PARTS: dict[str, Callable[[Kernel], Kernel]] = {
    "without copies": without_copies,
    "without barriers": without_barriers,
    "products alone": products_alone,
}


def measured(rounds: int) -> Iterator[dict[str, Any]]:
    """A row for each of those that ran in the same rounds."""
    import torch

    kernel = whole()
    bound = kernel.bind(M=SIZE, N=SIZE, K=SIZE)
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in "ab")
    c, other = torch.zeros_like(a), torch.zeros_like(a)
    given = {"a": a, "b": b, "c": c}
    operands = torch.randn(2048, device="cuda", dtype=torch.bfloat16).view(torch.int32)
    torch.cuda.synchronize()
    with gpu.Device() as device:
        sms = device.facts.multiprocessors
        module = load(compile(RATE, "sm_90a", name="rate.cu"), device)
        sums, spent = torch.zeros(256 * sms, device="cuda"), torch.zeros(8 * sms, device="cuda", dtype=torch.int64)

        def alone(warps: int) -> Any:
            return module.prepare("rate", sms, 32 * warps, [operands, sums, spent, np.int32(ITERATIONS)])

        parts = {name: part(kernel) for name, part in PARTS.items()}
        left = {name: gpu.Generated(k).prepare(k.bind(M=SIZE, N=SIZE, K=SIZE), given | {"c": other}, device)
                for name, k in parts.items()}  # fmt: skip
        calls: dict[str, Callable[[], Any]] = {"cuBLAS": lambda: torch.matmul(a, b.t(), out=other)}
        calls |= {name: one.send for name, one in left.items()}
        calls |= {f"mma.sync, {w} warps an SM": alone(w).send for w in WARPS}
        found = gpu.measure(bound, given, peers=calls, rounds=rounds, device=device)
        print(found, flush=True)
        cycles = {}
        for w in WARPS:
            alone(w).send()
            torch.cuda.synchronize()
            cycles[f"mma.sync, {w} warps an SM"] = float(spent[: w * sms].double().mean()) / (ITERATIONS * EACH * w / 4)
    for timed in (found.timed, *found.peers):
        flop = FLOP * EACH * ITERATIONS * sms * int(timed.name.split()[1]) if timed.name in cycles else found.flops
        yield {
            "name": timed.name,
            "device": found.device,
            "rounds": rounds,
            "flop": flop,
            "tflop_per_s": [round(flop / t.median / 1e12, 1) for t in (timed.warm, timed.cold)],
            "cycles_of_a_product": cycles.get(timed.name),
            "seconds": {"warm": timed.warm.samples, "cold": timed.cold.samples},
            "before": str(found.before),
            "after": str(found.after),
        }


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    rows = list(measured(options.rounds))
    for r in rows:
        cycles = f", {r['cycles_of_a_product']:.2f} cycles" if r["cycles_of_a_product"] else ""
        print(f"{r['name']:26} {r['tflop_per_s'][0]:7.1f} TFLOP/s, L2 cold {r['tflop_per_s'][1]:7.1f}{cycles}")
    write(options.out, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
