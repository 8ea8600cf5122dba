"""What each operation of a kernel costs: the kernel without it, predicted and measured.

    python -m benchmarks.hardware.without [--only transpose_32 ..] [--machine h200] [--out FILE]
    python -m benchmarks.hardware.without --predict [--machine h200]                         (no device)

A row has the time of a kernel, or of the same kernel with one operation dropped, with L2 as the launch before left it.
Only operations are dropped without which a kernel still ends: fences, barriers, waits for what was read, accesses of
shared memory, stores. Their data are wrong then, which does not matter here. Exit status 4 where there is no device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import gpu
import simulator
from benchmarks.kernel_slips import places, put_at
from gpu.errors import CompileError, LaunchError
from simulator.machine import like
from symlayout import dims, kernels
from symlayout.kernel import Kernel
from symlayout.ops import Barrier, Copy, Fence, For, Mma, Wait, WaitGroup

from .command import NO_DEVICE, is_missing, parser_of, write

DROPPED = (Barrier, Fence, WaitGroup)
MOVING = ("tma.store", "st.global", "cp.async")  # atoms for which nobody waits at an mbarrier
SYMBOLS = {s.name: s for s in dims("M N K", at_most=1 << 20)}


class Case(NamedTuple):
    """A schedule of a family at sizes, with L2 warm."""

    family: str
    options: dict[str, Any]
    sizes: dict[str, int]


def _transpose(dtype: str, tile: tuple[int, int], swizzle: int, stages: int, **sizes: int) -> Case:
    """One that L2 holds, or of *sizes* by up to two CTAs an SM."""
    options = {"dtype": dtype, "tile": tile, "swizzle": swizzle, "stages": stages, "blocks": 132}
    if stages == 3 and sizes and tile == (64, 64):
        options["blocks"] = 264
    return Case("tma_transpose", options, sizes or {"M": 2048, "N": 3584 if dtype == "bf16" else 1792})


def _gemm(tile: tuple[int, int], stages: int, cluster: int, m: int, n: int, k: int) -> Case:
    return Case("gemm", {"tile": tile, "stages": stages, "cluster": cluster}, {"M": m, "N": n, "K": k})


CASES = {
    "transpose_32": _transpose("bf16", (32, 32), 128, 4),
    "transpose_32_unswizzled": _transpose("bf16", (32, 64), 0, 4),
    "transpose_64": _transpose("bf16", (64, 64), 128, 3),
    "transpose_64_1": _transpose("bf16", (64, 64), 64, 1),
    "transpose_narrow": _transpose("bf16", (64, 128), 32, 1),
    "transpose_f32_narrow": _transpose("f32", (64, 128), 32, 1),
    "transpose_dram_64": _transpose("bf16", (64, 64), 64, 3, M=11264, N=6656),
    "transpose_dram_128": _transpose("bf16", (128, 64), 128, 3, M=11264, N=6656),
    "transpose_dram_64_128": _transpose("bf16", (64, 128), 64, 3, M=11264, N=6656),
    "transpose_dram_narrow": _transpose("bf16", (64, 128), 32, 1, M=11264, N=6656),
    "cp_async_128": Case("cp_async_copy", {"stages": 2, "threads": 128, "blocks": 1}, {"N": 440948}),
    "cp_async_512": Case("cp_async_copy", {"stages": 2, "threads": 512, "blocks": 1}, {"N": 440948}),
    "cp_async_512_7": Case("cp_async_copy", {"stages": 7, "threads": 512, "blocks": 1}, {"N": 440948}),
    "gemm_of_72": _gemm((64, 192), 3, 1, 768, 1152, 6528),
    "gemm_of_96": _gemm((64, 192), 5, 1, 2048, 512, 2816),
    "gemm_pairs": _gemm((192, 64), 4, 2, 640, 5504, 640),
    "gemm_pairs_of_70": _gemm((192, 64), 4, 2, 896, 896, 2944),
}


def built(name: str) -> tuple[Kernel, dict[str, int]]:
    """The kernel of a case, and its sizes."""
    family, options, sizes = CASES[name]
    make: Any = getattr(kernels, family)
    return make(*(SYMBOLS[size] for size in sizes), **options), sizes


def variants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """The kernel, it without its wgmmas, and it without one operation, by name."""
    yield "all", kernel
    if any(isinstance(op, Mma) for op in kernel.walk()):
        yield "wgmmas", _without_products(kernel)
    for path, op, _, _ in places(kernel.body):
        stored = isinstance(op, Copy) and op.atom.startswith(MOVING)
        moved = isinstance(op, For) and not any(isinstance(x, Wait) for x in op.walk())
        if len(path) > 2 and (isinstance(op, DROPPED) or stored or moved):
            yield f"{'.'.join(map(str, path))} {str(op).splitlines()[0]}", put_at(kernel, path, ())


def _without_products(kernel: Kernel) -> Kernel:
    """The kernel without its wgmmas."""
    while paths := [path for path, op, _, _ in places(kernel.body) if isinstance(op, Mma)]:
        kernel = put_at(kernel, paths[0], ())
    return kernel


def rows(name: str, machine: simulator.Machine) -> Iterator[tuple[dict[str, Any], Kernel, Kernel]]:
    """The variants of a case as predicted."""
    whole, sizes = built(name)
    for what, kernel in variants(whole):
        bound = kernel.bind(**sizes)
        row: dict[str, Any] = {"case": name, "without": what, "cache": "warm"}
        try:
            trace = simulator.simulate(bound, machine, cache="warm", what_if=False, uncertainty=False)
            row["predicted_us"] = 1e6 * trace.seconds
        except simulator.SimulationError as e:
            row["refused"] = str(e)[:200]
        yield row, kernel, bound


def measured(kernel: Kernel, bound: Kernel, device: gpu.Device, rounds: int) -> float:
    """Microseconds of a launch."""
    import torch

    types = {"f32": torch.float32, "bf16": torch.bfloat16}
    given = {
        t.name: torch.randn(int(t.layout.cosize()), device="cuda", dtype=types[t.dtype.name])
        for t in bound.tensors
        if t.space == "global"
    }
    torch.cuda.synchronize()
    found = gpu.measure(bound, given, rounds=rounds, generated=gpu.Generated(kernel), device=device)
    return 1e6 * found.seconds().median


def told(row: dict[str, Any]) -> str:
    """A line of a row."""
    times = (f"{row[k]:8.2f}" if k in row else "       -" for k in ("measured_us", "predicted_us"))
    return f"{row['case']:24} {'{} us measured {} predicted'.format(*times)}  {row['without'][:70]}"


def main() -> int:
    parser = parser_of(__doc__, CASES)
    parser.add_argument("--machine", choices=simulator.machines(), help="that of the device by default, or an H200")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--predict", action="store_true", help="predictions alone")
    given = parser.parse_args()
    chosen = simulator.machine(given.machine) if given.machine else None
    if given.predict:
        for name in given.only:
            for row, *_ in rows(name, chosen or simulator.H200):
                print(told(row))
        return 0
    if is_missing():
        return NO_DEVICE
    out = []
    with gpu.Device() as device:
        machine = chosen or like(device.facts.name) or simulator.H200
        for row, kernel, bound in (each for name in given.only for each in rows(name, machine)):
            row["device"] = device.facts.name
            try:
                row["measured_us"] = measured(kernel, bound, device, given.rounds)
            except (CompileError, LaunchError) as e:  # such as of a kernel that leaves a tensor alone
                row["refused"] = str(e)[:200]
            print(told(row), flush=True)
            out.append(row)
            write(given.out, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
