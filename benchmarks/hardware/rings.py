"""Products and copies with rings of slots that are no power of two, beside their text at another commit.

    PYTHONPATH=OTHER_CHECKOUT python benchmarks/hardware/rings.py --emit FOLDER
    python -m benchmarks.hardware.rings --before FOLDER [--rounds 16] [--out FILE]

The first command writes the machine code that another checkout makes of the same kernels, the second measures both in
the same rounds, and cuBLAS beside products. Both have to leave the same bytes. Exit status 1 where they differ, 4 where
there is no device.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
from gpu.cubin import Cubin
from symlayout import dim, dims, kernels
from symlayout.kernel import Kernel

from .command import NO_DEVICE, is_missing, parser_of, write

M, N, K = dims("M N K", at_most=1 << 20)
CUBED, SQUARE = dict.fromkeys("MNK", 8192), {"M": 16384, "N": 16384}

CASES: dict[str, tuple[Callable[[], Kernel], dict[str, int]]] = {
    "gemm_3": (lambda: kernels.gemm(M, N, K, stages=3), CUBED),
    "gemm_4": (lambda: kernels.gemm(M, N, K), CUBED),
    "gemm_square_4": (lambda: kernels.gemm(M, N, K, tile=(128, 128), stages=4), CUBED),
    "gemm_square_5": (lambda: kernels.gemm(M, N, K, tile=(128, 128), stages=5), CUBED),
    "gemm_square_6": (lambda: kernels.gemm(M, N, K, tile=(128, 128), stages=6), CUBED),
    "tma_copy_3": (lambda: kernels.tma_copy(M, N, slots=3, blocks=132), SQUARE),
    "cp_async_copy_3": (
        lambda: kernels.cp_async_copy(dim("N", at_most=1 << 30), stages=3, blocks=1056),
        {"N": 1 << 28},
    ),
}


def emit(folder: Path) -> None:
    """Write the machine code of each case."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (build, _) in CASES.items():
        (folder / f"{name}.cubin").write_bytes(gpu.Generated(build()).cubin.image)


def row(name: str, before: Path, rounds: int, device: gpu.Device) -> dict[str, Any]:
    """The times of a case, of the same with the other text, and of cuBLAS; whether both leave the same bytes."""
    import torch

    build, sizes = CASES[name]
    kernel = build()
    bound, code, other = kernel.bind(**sizes), gpu.Generated(kernel), gpu.Generated(kernel)
    other.cubin = Cubin((before / f"{name}.cubin").read_bytes())
    types = {"f32": torch.float32, "bf16": torch.bfloat16}
    given = {t.name: torch.randn(tuple(map(int, t.layout.shape)) if isinstance(t.layout.shape, tuple)
                                 else (int(t.layout.shape),), device="cuda").to(types[t.dtype.name])
             for t in bound.tensors if t.space == "global"}  # fmt: skip
    [out] = bound.written
    elsewhere = given | {out: torch.zeros_like(given[out])}
    torch.cuda.synchronize()
    code.launch(bound, given, device).wait()
    other.launch(bound, elsewhere, device).wait()
    peers: dict[str, Callable[[], Any]] = {"before": other.prepare(bound, elsewhere, device).send}
    if "a" in given:
        free = torch.empty_like(given[out])
        peers["cuBLAS"] = lambda: torch.matmul(given["a"], given["b"].t(), out=free)
    same = torch.equal(given[out], elsewhere[out])
    found = gpu.measure(bound, given, peers=peers, rounds=rounds, generated=code, device=device)
    return {
        **{"name": name, "digest": kernel.digest, "sizes": sizes, "device": found.device, "same": same},
        "other_text": code.cubin.image != other.cubin.image,
        "of_peer": {p.name: [found.of_peer(p.name), found.of_peer(p.name, cold=True)] for p in found.peers},
        "seconds": {t.name: {"warm": t.warm.samples, "cold": t.cold.samples} for t in (found.timed, *found.peers)},
        "conditions": [str(found.before), str(found.after)],
    }


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--emit", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=16)
    options = parser.parse_args()
    if options.emit:
        emit(options.emit)
        return 0
    if is_missing():
        return NO_DEVICE
    rows = []
    with gpu.Device() as device:
        for name in CASES:
            rows.append(r := row(name, options.before, options.rounds, device))
            told = ", ".join(f"{p} {warm:.3f} warm, {cold:.3f} cold" for p, (warm, cold) in r["of_peer"].items())
            print(f"{name:18} {'same bytes' if r['same'] else 'OTHER BYTES'}; speed over {told}", flush=True)
            write(options.out, rows)
    return 1 if not all(r["same"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
