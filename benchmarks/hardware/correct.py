"""Every family on a device, byte for byte, at sizes where mistakes show, with and without random delays.

    python -m benchmarks.hardware.correct [--only NAME ..] [--delays 1 2] [--out FILE]

Each kernel is proved for all sizes first, under the repairs that its report asks for; ``gpu.differential_test`` then
refuses any other. Exit status 1 where a case differs, faults or hangs, 3 where a kernel is not proved, 4 where there is
no device.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import checkers
import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from gpu.differential import edges
from symlayout import SM90, Layout, dim, dims, kernels
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element

LEAST_SIZES = 20
SMALL = {"at_most": 1 << 20}
M, N, K = dims("M N K", **SMALL)
ROW = dim("ld", at_least=N, **SMALL)
WHOLE = dim("N", multiple_of=4, **SMALL)  # rows of whole vectors of f32
WHOLE_ROW = dim("ld", at_least=WHOLE, multiple_of=4, **SMALL)


def prefetched() -> Kernel:
    """A copy that asks L2 for what it reads, by an element, a line that stays, and many bytes at once."""
    n = dim("N", **SMALL)
    k = Builder("prefetched", n, grid=((n + 511) // 512,), threads=128)
    src, dst = (k.global_tensor(name, "f32", Layout(n)) for name in ("src", "dst"))
    x = k.registers("x", "f32", 1)
    with k.where(n >= 512 * k.block[0] + 512), k.elect():
        k.prefetch_l2(src(512 * k.block[0]), 2048, "L2::evict_last")
    for i in range(4):
        at = 512 * k.block[0] + 128 * i + k.thread
        with k.where(n > at):
            k.prefetch_l2(src(at))
            k.prefetch_l2(src(at), cache="L2::evict_last")
            k.copy("ld.global.4", src(at), x())
            k.copy("st.global.4", x(), dst(at))
    k.result("dst", lambda i: element("src", i))
    return k.kernel(reference=lambda src: {"dst": src})


KERNELS: dict[str, Callable[[], Kernel]] = {
    "vector_copy": lambda: kernels.vector_copy(*dims("N")),
    "vector_copy_bf16": lambda: kernels.vector_copy(*dims("N"), dtype="bf16"),
    "axpby": lambda: kernels.axpby(*dims("N")),
    "axpby_f16": lambda: kernels.axpby(*dims("N"), dtype="f16"),
    "row_sum": lambda: kernels.row_sum(M, N, ROW),
    "row_max": lambda: kernels.row_sum(M, N, ROW, function="max"),
    "cp_async_copy": lambda: kernels.cp_async_copy(*dims("N")),
    "cp_async_copy_132": lambda: kernels.cp_async_copy(*dims("N"), blocks=132),
    "bulk_copy": lambda: kernels.bulk_copy(*dims("N")),
    "bulk_copy_3": lambda: kernels.bulk_copy(*dims("N"), chunk=1024, slots=3, blocks=264),
    "tma_copy": lambda: kernels.tma_copy(*dims("M N")),
    "tma_copy_7": lambda: kernels.tma_copy(*dims("M N"), dtype="bf16", tile=(32, 64), slots=7, blocks=50),
    "tma_transpose": lambda: kernels.tma_transpose(*dims("M N")),
    "tma_transpose_f32": lambda: kernels.tma_transpose(*dims("M N"), dtype="f32"),
    "tma_transpose_ring": lambda: kernels.tma_transpose(*dims("M N"), tile=(64, 64), stages=3, blocks=132),
    "tma_transpose_flat": lambda: kernels.tma_transpose(*dims("M N"), dtype="f32", tile=(32, 64), swizzle=0),
    "gather_rows": lambda: kernels.gather_rows(*dims("K M N")),
    "tma_reduce_add": lambda: kernels.tma_reduce_add(*dims("S M N", at_most=1 << 16)),
    "gemm_cluster_1": lambda: kernels.gemm(M, N, K, cluster=1, blocks=132),
    "gemm_cluster_2": lambda: kernels.gemm(M, N, K),
    "gemm_cluster_4": lambda: kernels.gemm(M, N, K, cluster=4, blocks=132),
    "gemm_f16_small": lambda: kernels.gemm(M, N, K, dtype="f16", tile=(64, 128), stages=3, cluster=1),
    "fill": lambda: kernels.fill(*dims("N")),
    "fill_bf16": lambda: kernels.fill(*dims("N"), dtype="bf16"),
    "clear": lambda: kernels.clear(*dims("N")),
    "copy_if": lambda: kernels.copy_if(M, N, ROW),
    "copy_if_bf16": lambda: kernels.copy_if(M, N, ROW, dtype="bf16"),
    "copy_if_vectors": lambda: kernels.copy_if(M, WHOLE, WHOLE_ROW),
    "tensor_axpby": lambda: kernels.tensor_axpby(M, N, ROW),
    "gemm_simt": lambda: kernels.gemm_simt(M, N, K),
    "gemm_mma": lambda: kernels.gemm_mma(M, N, K),
    "tma_copy_policies": lambda: kernels.tma_copy(*dims("M N"), loads="L2::evict_first", stores="L2::evict_last"),
    "tma_transpose_policies": lambda: kernels.tma_transpose(
        *dims("M N"), loads="L2::evict_last", stores="L2::evict_first"
    ),
    "bulk_copy_policies": lambda: kernels.bulk_copy(*dims("N"), loads="L2::evict_first", stores="L2::evict_first"),
    "vector_copy_policies": lambda: kernels.vector_copy(*dims("N"), loads="nc L1::no_allocate L2::256B", stores="cs"),
    "prefetched": prefetched,
    # Rings whose slots are no power of two: text counts them.
    "gemm_3": lambda: kernels.gemm(M, N, K, stages=3, cluster=1, blocks=132),
    "gemm_5": lambda: kernels.gemm(M, N, K, tile=(128, 128), stages=5, cluster=1, blocks=132),
    "gemm_6": lambda: kernels.gemm(M, N, K, tile=(128, 128), stages=6),
    "gemm_7": lambda: kernels.gemm(M, N, K, tile=(64, 128), stages=7, cluster=1, blocks=132),
    "tma_copy_3": lambda: kernels.tma_copy(*dims("M N"), slots=3, blocks=132),
    "tma_transpose_5": lambda: kernels.tma_transpose(*dims("M N"), tile=(64, 64), stages=5, blocks=132),
    "bulk_copy_5": lambda: kernels.bulk_copy(*dims("N"), chunk=1024, slots=5, blocks=132),
    "gather_rows_6": lambda: kernels.gather_rows(*dims("K M N"), tile=(4, 64), slots=6, blocks=132),
    "tma_reduce_add_3": lambda: kernels.tma_reduce_add(
        *dims("S M N", at_most=1 << 16), tile=(8, 64), slots=3, blocks=132
    ),
    "cp_async_copy_3": lambda: kernels.cp_async_copy(*dims("N"), stages=3, blocks=132),
    "cp_async_copy_7": lambda: kernels.cp_async_copy(*dims("N"), stages=7, blocks=132),
    "gemm_simt_3": lambda: kernels.gemm_simt(M, N, K, stages=3),
    "gemm_mma_5": lambda: kernels.gemm_mma(M, N, K, tile=(64, 64), step=32, stages=5),
    "gemm_mma_f16_small": lambda: kernels.gemm_mma(M, N, K, dtype="f16", tile=(64, 64), stages=3),
}


def proved(kernel: Kernel) -> tuple[Kernel, Any]:
    """The kernel under the repairs that its proof asks for, and its certificate, or None."""
    report = checkers.prove(kernel, arch=SM90)
    if not report and report.repairs:
        kernel = kernel.assuming(*report.repairs)
        report = checkers.prove(kernel, arch=SM90)
    return kernel, report.certificate if report else None


def sizes(kernel: Kernel, least: int = LEAST_SIZES) -> list[dict[str, int]]:
    """At least so many sizes: the edges, with random ones of several seeds."""
    found: list[dict[str, int]] = []
    for seed in range(12):
        found += [at for _, at in edges(kernel, seed=seed) if at not in found]
        if len(found) >= least:
            break
    return found


def main() -> int:
    parser = parser_of(__doc__, KERNELS)
    parser.add_argument("--delays", nargs="*", type=int, default=[1])
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    bad, undecided, rows = 0, 0, []
    for name in options.only:
        began = time.perf_counter()
        kernel, certificate = proved(KERNELS[name]())
        took = time.perf_counter() - began
        if certificate is None:
            undecided += 1
            print(f"{name:20} not proved", flush=True)
            continue
        at = sizes(kernel)
        for seed in (None, *options.delays):
            found = gpu.differential_test(kernel, certificate, at, delays=seed)
            same = sum(bool(c) for c in found.cases)
            bad += not found
            when = "no delays" if seed is None else f"delays {seed}"
            print(
                f"{name:20} {when:10} {same} of {len(found.cases)} cases the same, proved in {took:.2f} s", flush=True
            )
            if not found:
                print(str(found)[:1500], flush=True)
            rows += [
                {"name": name, "digest": kernel.digest, "delays": seed, "device": found.device, **_plain(c)}
                for c in found.cases
            ]
            write(options.out, rows, str)
    return 1 if bad else 3 if undecided else 0


def _plain(case: Any) -> dict[str, Any]:
    return {k: v for k, v in asdict(case).items() if v not in (None, "", ())}


if __name__ == "__main__":
    sys.exit(main())
