"""Large sizes compared whole on a device, and how long each part of that takes.

    python -m benchmarks.hardware.large [--only gemm_8192 ..] [--edges] [--out FILE]

A kernel is proved for all sizes first. Inputs are made on the device, the definition of the kernel is run there, then
the kernel, and every byte of each tensor is compared with that of its twin (``gpu.differential``). With --edges that is
done at all sizes of ``benchmarks.hardware.correct``, with and without random waits, and its kernels may be named: for
those that a run without a device takes minutes for. Exit status 1 where a case differs, 3 where a kernel is not proved,
4 where there is no device.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from benchmarks.hardware.correct import KERNELS, proved
from benchmarks.hardware.correct import sizes as edges_of
from gpu.definition.running import Defined
from gpu.differential import data
from gpu.differential.on_device import on_device
from symlayout import dim, dims, kernels
from symlayout.kernel import Kernel

M, N, K = dims("M N K", at_most=1 << 20)
ROW = dim("ld", at_least=N, at_most=1 << 20)
GIB = 1 << 30

CASES: dict[str, tuple[Callable[[], Kernel], dict[str, int]]] = {
    "gemm_4096": (lambda: kernels.gemm(M, N, K), dict.fromkeys("MNK", 4096)),
    "gemm_8192": (lambda: kernels.gemm(M, N, K), dict.fromkeys("MNK", 8192)),
    "gemm_odd": (lambda: kernels.gemm(M, N, K), {"M": 5001, "N": 7000, "K": 3000}),
    "gemm_mma": (lambda: kernels.gemm_mma(M, N, K), dict.fromkeys("MNK", 8192)),
    "gemm_mma_grouped": (lambda: kernels.gemm_mma(M, N, K, group=8), {"M": 5001, "N": 7000, "K": 3000}),
    "tma_transpose": (lambda: kernels.tma_transpose(*dims("M N")), {"M": 16384, "N": 32768}),
    "tma_transpose_f32": (lambda: kernels.tma_transpose(*dims("M N"), dtype="f32"), {"M": 16384, "N": 16384}),
    "tma_copy": (lambda: kernels.tma_copy(*dims("M N")), {"M": 16384, "N": 16384}),
    "tma_copy_uneven": (lambda: kernels.tma_copy(*dims("M N")), {"M": 20008, "N": 6708}),
    "bulk_copy": (lambda: kernels.bulk_copy(*dims("N")), {"N": GIB // 4}),
    "vector_copy": (lambda: kernels.vector_copy(*dims("N")), {"N": GIB // 4 + 3}),
    "axpby": (lambda: kernels.axpby(*dims("N")), {"N": GIB // 4}),
    "row_sum": (lambda: kernels.row_sum(M, N, ROW), {"M": 16384, "N": 16384, "ld": 16384}),
    "row_sum_gaps": (lambda: kernels.row_sum(M, N, ROW), {"M": 20001, "N": 4097, "ld": 4100}),
    "gather_rows": (lambda: kernels.gather_rows(*dims("K M N")), {"K": 9999, "M": 50000, "N": 1024}),
    "tma_reduce_add": (
        lambda: kernels.tma_reduce_add(*dims("S M N", at_most=1 << 16)),
        {"S": 8, "M": 8192, "N": 4096},
    ),
    "gemm_16384": (lambda: kernels.gemm(M, N, K), dict.fromkeys("MNK", 16384)),
}


class Laps:
    """Seconds between the ends of parts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def ended(self, part: str) -> None:
        now = time.perf_counter()
        self.seconds[part], self._last = round(now - self._last, 4), now


def rows(name: str, device: gpu.Device, edges: bool = False) -> Iterator[dict[str, Any]]:
    """A row for each size, set of data and way of waiting; nothing for a kernel that is not proved."""
    build, large = CASES.get(name) or (KERNELS[name], {})
    kernel, certificate = proved(build())
    if certificate is None:
        return
    by = Defined(kernel)
    for delays in (None, 1) if edges else (None,):
        code = gpu.Generated(kernel, delays=delays)
        for sizes in edges_of(kernel) if edges else [large]:
            bound = kernel.bind(**sizes)
            for word in data.words(bound):
                laps = Laps()
                outcome, told = on_device(bound, code, by, device, word, laps.ended)
                yield {
                    **{"name": name, "digest": kernel.digest, "sizes": sizes, "data": word, "delays": delays},
                    **{"outcome": outcome, "told": told, "parts": laps.seconds, "device": device.facts.name},
                }


def main(argv: list[str] | None = None) -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="*", choices=[*CASES, *KERNELS], default=list(CASES))
    parser.add_argument("--edges", action="store_true", help="the sizes at which mistakes show, with and without waits")
    options = parser.parse_args(argv)
    if not options.edges and (small := [name for name in options.only if name not in CASES]):
        parser.error(f"expected --edges for {', '.join(small)}, which no large size is named for")
    if is_missing():
        return NO_DEVICE
    bad, undecided, every = 0, 0, list[dict[str, Any]]()
    with gpu.Device() as device:
        for name in options.only:
            found = list(rows(name, device, options.edges))
            undecided += not found
            bad += any(r["outcome"] != "same" for r in found)
            for r in found:
                spent = ", ".join(f"{part} {seconds:.4f}" for part, seconds in r["parts"].items())
                print(f"{name:20} {r['data']:8} {r['outcome']:8} {spent} s {r['told']}", flush=True)
            every += found
            write(options.out, every)
    return 1 if bad else 3 if undecided else 0


if __name__ == "__main__":
    sys.exit(main())
