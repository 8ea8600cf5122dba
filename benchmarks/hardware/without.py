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
from typing import Any

import gpu
import simulator
from benchmarks.kernel_slips import places, put_at
from simulator.machine import like
from symlayout import dims, kernels
from symlayout.kernel import Kernel
from symlayout.ops import Barrier, Copy, Fence, For, Wait, WaitGroup

from .command import NO_DEVICE, is_missing, parser_of, write

M, N = dims("M N", at_most=1 << 20)
DROPPED = (Barrier, Fence, WaitGroup)

# Dtype, tile, swizzle and stages of transpositions by 132 CTAs, with L2 warm.
SCHEDULES: dict[str, tuple[str, tuple[int, int], int, int]] = {
    "transpose_32": ("bf16", (32, 32), 128, 4),
    "transpose_32_unswizzled": ("bf16", (32, 64), 0, 4),
    "transpose_64": ("bf16", (64, 64), 128, 3),
    "transpose_64_1": ("bf16", (64, 64), 64, 1),
    "transpose_narrow": ("bf16", (64, 128), 32, 1),
    "transpose_f32_narrow": ("f32", (64, 128), 32, 1),
}
SIZES = {"bf16": {"M": 2048, "N": 3584}, "f32": {"M": 2048, "N": 1792}}


def built(name: str) -> tuple[Kernel, dict[str, int]]:
    """The kernel of a case, and its sizes."""
    dtype, tile, swizzle, stages = SCHEDULES[name]
    kernel = kernels.tma_transpose(M, N, dtype=dtype, tile=tile, swizzle=swizzle, stages=stages, blocks=132)
    return kernel, SIZES[dtype]


def variants(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """The kernel, and it without one operation, by name."""
    yield "all", kernel
    for path, op, _, _ in places(kernel.body):
        stored = isinstance(op, Copy) and op.atom == "tma.store"
        moved = isinstance(op, For) and not any(isinstance(x, Wait) for x in op.walk())
        if len(path) > 2 and (isinstance(op, DROPPED) or stored or moved):
            yield f"{'.'.join(map(str, path))} {str(op).splitlines()[0]}", put_at(kernel, path, ())


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
    parser = parser_of(__doc__, SCHEDULES)
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
            row |= {"device": device.facts.name, "measured_us": measured(kernel, bound, device, given.rounds)}
            print(told(row), flush=True)
            out.append(row)
            write(given.out, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
