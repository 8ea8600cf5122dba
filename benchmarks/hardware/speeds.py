"""How fast generated kernels are on a device, beside its own copy, torch and cuBLAS, interleaved in one run.

    python -m benchmarks.hardware.speeds [--only NAME ..] [--rounds 12] [--out FILE]

Each row is a family as it is by default, or one other schedule of it, at one size: at least 1 GiB moved, or a product.
Sizes below 2^20 (2^30 of one dimension) let 32 bits hold tiles. A product is measured beside cuBLAS's first choice, the
product by hand, and all algorithms that cuBLASLt's heuristics offer, in the same rounds. The bytes of the first launch
are compared before anything is timed. With --out every sample goes to a file, a JSON object a row;
``benchmarks.reproduce`` reads it. Exit status 1 where bytes differ, 4 where there is no device.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpu
from benchmarks.hardware import cublaslt
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from benchmarks.hardware.reference_kernels.build import compile_kernel
from gpu import child
from symlayout import dim, dims, kernels
from symlayout.kernel import Kernel

LIMIT_S = 240.0  # of one row
M, N, K = dims("M N K", at_most=1 << 20)
LENGTH = dim("N", at_most=1 << 30)
WHOLE = dim("N", at_most=1 << 20, multiple_of=4)  # rows of whole vectors of f32
WHOLE_ROW = dim("ld", at_least=WHOLE, at_most=1 << 20, multiple_of=4)
ROW = dim("ld", at_least=N, at_most=1 << 20)
LONG = {"N": 1 << 28}
SQUARE = {"M": 16384, "N": 16384}
WIDE = {"M": 16384, "N": 32768}
BY_HAND, OFFERED = "by hand", "cuBLASLt"
OFFERED_AT = 8192  # the size at which all that cuBLASLt offers is measured


@dataclass(frozen=True)
class Case:
    """A kernel for all sizes, the sizes of its row, and its kind: copy, transpose, sum, axpby, product, fill."""

    build: Callable[[], Kernel]
    sizes: dict[str, int]
    kind: str
    aim: float  # of the copy rate, or of cuBLAS's first choice


def _cubed(n: int) -> dict[str, int]:
    return dict.fromkeys("MNK", n)


CASES = {
    "vector_copy": Case(lambda: kernels.vector_copy(LENGTH), LONG, "copy", 0.97),
    "axpby": Case(lambda: kernels.axpby(LENGTH), LONG, "axpby", 0.95),
    "row_sum": Case(lambda: kernels.row_sum(M, N, ROW), {"M": 32768, "N": 8192, "ld": 8192}, "sum", 0.95),
    "cp_async_copy": Case(lambda: kernels.cp_async_copy(LENGTH), LONG, "copy", 0.95),
    "bulk_copy": Case(lambda: kernels.bulk_copy(LENGTH), LONG, "copy", 0.95),
    "tma_copy": Case(lambda: kernels.tma_copy(M, N), SQUARE, "copy", 0.95),
    "tma_copy_persistent": Case(lambda: kernels.tma_copy(M, N, slots=4, blocks=132), SQUARE, "copy", 0.95),
    "tma_transpose": Case(lambda: kernels.tma_transpose(M, N), WIDE, "transpose", 0.90),
    "tma_transpose_tall": Case(lambda: kernels.tma_transpose(M, N), {"M": 131072, "N": 4096}, "transpose", 0.90),
    "tma_transpose_flat": Case(lambda: kernels.tma_transpose(M, N), {"M": 4096, "N": 131072}, "transpose", 0.90),
    "tma_transpose_f32": Case(lambda: kernels.tma_transpose(M, N, dtype="f32"), SQUARE, "transpose", 0.90),
    "fill": Case(lambda: kernels.fill(LENGTH), LONG, "fill", 0.97),
    "clear": Case(lambda: kernels.clear(LENGTH), LONG, "fill", 0.97),
    "copy_if": Case(lambda: kernels.copy_if(M, WHOLE, WHOLE_ROW), {**SQUARE, "ld": 16384}, "copy", 0.97),
    "copy_if_any": Case(lambda: kernels.copy_if(M, N, ROW), {**SQUARE, "ld": 16384}, "copy", 0.97),
    "gemm_mma_8192": Case(lambda: kernels.gemm_mma(M, N, K), _cubed(8192), "product", 0.60),
    "gemm_mma_8192_grouped": Case(lambda: kernels.gemm_mma(M, N, K, group=8), _cubed(8192), "product", 0.60),
    "gemm_mma_8192_square": Case(
        lambda: kernels.gemm_mma(M, N, K, tile=(128, 128), stages=3), _cubed(8192), "product", 0.60
    ),
    "gemm_8192": Case(lambda: kernels.gemm(M, N, K), _cubed(8192), "product", 1.0),
    "gemm_8192_cluster_1": Case(lambda: kernels.gemm(M, N, K, cluster=1, blocks=132), _cubed(8192), "product", 1.0),
    "gemm_4096": Case(lambda: kernels.gemm(M, N, K), _cubed(4096), "product", 0.97),
    "gemm_16384": Case(lambda: kernels.gemm(M, N, K), _cubed(16384), "product", 0.97),
}


def row(name: str, rounds: int) -> dict[str, Any]:
    """Compare, then measure one case. Raises RunError where its bytes are not those of torch."""
    import torch

    case = CASES[name]
    kernel = case.build()
    bound = kernel.bind(**case.sizes)
    types = {"f32": torch.float32, "bf16": torch.bfloat16}

    def made(tensor: str, filled: bool = True) -> Any:
        t = bound.tensor(tensor)
        shape = tuple(map(int, t.layout.shape)) if isinstance(t.layout.shape, tuple) else (int(t.layout.shape),)
        kind = types[t.dtype.name]
        return (
            torch.randn(shape, device="cuda", dtype=kind) if filled else torch.zeros(shape, device="cuda", dtype=kind)
        )

    given = {t.name: made(t.name, t.name not in bound.written) for t in bound.tensors if t.space == "global"}
    given |= {p.name: 2.0 + i for i, p in enumerate(bound.parameters)}
    peers, wanted = _peers(torch, case.kind, given)
    told: list[dict[str, int]] = []
    torch.cuda.synchronize()
    with gpu.Device() as device:
        if case.kind == "product" and case.sizes["M"] == OFFERED_AT:
            peers |= _products(torch, given, wanted(), told)
        code = gpu.Generated(kernel)
        code.launch(bound, given, device).wait()
        (out,) = bound.written
        _expect_close(torch, name, given[out], wanted(), exact=case.kind in ("copy", "transpose", "fill"))
        found = gpu.measure(bound, given, peers=peers, rounds=rounds, generated=code, device=device)
    print(f"== {name}\n{found}", flush=True)
    peer = next(iter(peers))
    ratio = found.of_peer(peer, cold=True) if case.kind == "product" else found.of_copy(cold=True)
    return {
        "name": name,
        "kernel": kernel.text().partition("\n")[0],
        "digest": kernel.digest,
        "sizes": case.sizes,
        "device": found.device,
        "moved_bytes": found.moved_bytes,
        "flops": found.flops,
        "aim": case.aim,
        "ratio": ratio,
        "of_peer": {p: [found.of_peer(p, cold) for cold in (False, True)] for p in peers},
        "of_copy": [found.of_copy(cold) for cold in (False, True)],
        "offered": told,
        "registers": code.cubin.kernel(code.source.name).registers,
        "seconds": {x.name: {"warm": x.warm.samples, "cold": x.cold.samples} for x in (found.timed, *found.peers)},
        "copy": {"bytes": found.copy_bytes, "warm": found.copy.warm.samples, "cold": found.copy.cold.samples},
        "conditions": [str(found.before), str(found.after)],
    }


def _peers(torch: Any, kind: str, given: dict[str, Any]) -> tuple[dict[str, Callable[[], Any]], Callable[[], Any]]:
    """What torch does for the same work, and the values that are to come out."""
    if kind == "product":
        a, b, other = given["a"], given["b"], torch.empty_like(given["c"])
        return {"cuBLAS": lambda: torch.matmul(a, b.t(), out=other)}, lambda: a @ b.t()
    if kind == "axpby":
        x, y, other = given["x"], given["y"], torch.empty_like(given["dst"])
        return {"torch": lambda: torch.add(3.0 * y, x, alpha=2.0, out=other)}, lambda: torch.addcmul(
            3.0 * y, x, torch.full_like(x, 2.0)
        )
    if kind == "fill":
        value, other = given.get("value", 0.0), torch.empty_like(given["dst"])
        return {"torch": lambda: other.fill_(value)}, lambda: torch.full_like(other, value)
    src, other = given["src"], torch.empty_like(given["dst"])
    if kind == "sum":
        return {"torch": lambda: torch.sum(src, 1, out=other)}, lambda: src.double().sum(1)
    if kind == "transpose":
        return {"torch": lambda: other.copy_(src.t())}, lambda: src.t()
    return {"torch": lambda: other.copy_(src)}, lambda: src


def _products(
    torch: Any, given: dict[str, Any], wanted: Any, told: list[dict[str, int]]
) -> dict[str, Callable[[], Any]]:
    """The product by hand, and all that cuBLASLt's heuristics offer, each compared before."""
    from benchmarks.hardware.reference_kernels.launch import Gemm
    from benchmarks.hardware.reference_kernels.run import view

    a, b, other = given["a"], given["b"], torch.empty_like(given["c"])
    hand = Gemm(compile_kernel("wgmma_gemm", Path(tempfile.mkdtemp()))).of(view(other), view(a), view(b))
    found: dict[str, Callable[[], Any]] = {BY_HAND: hand}
    for i, offer in enumerate(cublaslt.offered(other, a, b)):
        told.append(offer.how)
        found[f"{OFFERED} {i}"] = offer.launch
    for name, launch in found.items():
        other.zero_()
        torch.cuda.synchronize()
        launch()
        torch.cuda.synchronize()
        _expect_close(torch, name, other, wanted, exact=False)
    return found


def _expect_close(torch: Any, name: str, found: Any, wanted: Any, exact: bool) -> None:
    same = torch.equal(found, wanted) if exact else torch.allclose(found.double(), wanted.double(), rtol=2e-2, atol=0.5)
    if not same:
        raise gpu.errors.RunError(f"expected the values of torch in {name}, got others")


def main() -> int:
    parser = parser_of(__doc__, CASES)
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    bad, rows = 0, []
    cases = [(name, options.rounds) for name in options.only]
    for (name, _), outcome in zip(
        cases, child.each("benchmarks.hardware.speeds:row", cases, limit_s=LIMIT_S), strict=True
    ):
        if outcome.error:
            bad += 1
            print(f"{name:22} {outcome.error}"[:1500], flush=True)
            continue
        r = outcome.value
        rows.append(r)
        theirs = ", ".join(f"{p} {cold:.3f}" for p, (_, cold) in r["of_peer"].items())
        print(f"{name:22} {r['ratio']:.4f} (aim {r['aim']:.2f}), L2 cold; over {theirs}", flush=True)
    write(options.out, rows)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
