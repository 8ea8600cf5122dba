"""Two kernels by hand against the vendor's: built, verified and timed on one Hopper device, in one run.

    python -m benchmarks.hardware.reference_kernels.run --out results

``tma_ring_copy`` against cuMemcpyDtoDAsync, ``wgmma_gemm`` against cuBLAS (torch.matmul). Both are verified first:
the copy byte for byte, the product against float64, over random sizes, with poison around every matrix. Then they
take turns with the vendor's on the same buffers; a ratio is that of one round, so that a clock or a temperature that
drifts meets both. Every timing is a row of ``<out>/reference_kernels.jsonl``. Device work runs in child processes
that are given a time; the exit status is 1 if any of them fails.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib.util
import json
import math
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gpu.errors import CompileError

from .build import HERE, Kernel, compile_kernel
from .launch import Gemm, Launch, Matrix, RingCopy

KERNELS = ("tma_ring_copy", "wgmma_gemm")
POLL_LIMIT = 1_000_000  # a failing try_wait sleeps for microseconds: seconds in all
TIMES_S = {"verify": 120, "measure": 120}
POISON = 0x7FC1  # a NaN in bf16

Row = dict[str, Any]

# -- verification -----------------------------------------------------------------------------------------


def view(matrix: Any) -> Matrix:
    """A torch matrix whose rows lie one after another at some pitch."""
    rows, columns = matrix.shape
    return Matrix(matrix.data_ptr(), rows, columns, matrix.stride(0) * matrix.element_size())


def framed(torch: Any, rows: int, columns: int, pad: int, dtype: Any, poison: int) -> tuple[Any, Any]:
    """A matrix filled with *poison* and the larger one around it: *pad* more columns, and 8 rows at either end."""
    whole = torch.full((rows + 16, columns + pad), poison, dtype=dtype, device="cuda")
    return whole[8 : 8 + rows, :columns], whole


def verify_copy(torch: Any, copy: RingCopy, draw: random.Random) -> Iterator[Row]:
    """Random shapes, whole and ragged tiles: every byte of the target, and none outside it."""
    shapes = [(1, 4), (16, 256), (17, 260), (4096, 4096)]
    shapes += [(draw.randrange(1, 3000), 4 * draw.randrange(1, 700)) for _ in range(12)]
    for rows, columns in shapes:
        pad = 4 * draw.randrange(1, 9)
        source, _ = framed(torch, rows, columns, pad, torch.int32, -1)
        source.random_(-(2**31), 2**31 - 1)
        target, around = framed(torch, rows, columns, 4 * draw.randrange(1, 9), torch.int32, 0x5EEDBEEF)
        expected = around.clone()
        expected[8 : 8 + rows, :columns] = source
        copy.of(view(target), view(source))()
        torch.cuda.synchronize()
        yield {"shape": [rows, columns], "wrong": int((around != expected).sum())}


def operand(torch: Any, rows: int, columns: int, pad: int) -> Any:
    """Normal random numbers in bf16, NaN around them."""
    matrix, whole = framed(torch, rows, columns, pad, torch.int16, POISON)
    matrix.copy_(torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16).view(torch.int16))
    return whole.view(torch.bfloat16)[8 : 8 + rows, :columns]


def deviation(c: Any, a: Any, b: Any) -> tuple[float, float]:
    """||C - A B^T|| / ||A B^T||, and the largest |c - ab| over 2^-8 |ab| + 2^-17 |a||b|, against float64.

    The first term is at least half an ulp of bf16, the second leaves room for sums in f32 (2^-24 a step); a product
    with one wrong element of A or B exceeds them by far.
    """
    wide_a, wide_b, wide_c = a.double(), b.double(), c.double()
    exact = wide_a @ wide_b.T
    error = (wide_c - exact).abs()
    room = 2.0**-8 * exact.abs() + 2.0**-17 * (wide_a.abs() @ wide_b.abs().T)
    return float(error.norm() / exact.norm()), float((error / room).max())


def verify_gemm(torch: Any, gemm: Gemm, draw: random.Random) -> Iterator[Row]:
    """Random sizes, whole and ragged tiles, against float64; at 8192 cubed, 64 rows of C."""
    sizes = [(1, 8, 8), (128, 256, 64), (256, 512, 512), (257, 264, 72), (4000, 5000, 328), (8192, 8192, 8192)]
    sizes += [(draw.randrange(1, 1500), 8 * draw.randrange(1, 200), 8 * draw.randrange(1, 300)) for _ in range(14)]
    for m, n, k in sizes:
        a, b = operand(torch, m, k, 8 * draw.randrange(1, 4)), operand(torch, n, k, 8 * draw.randrange(1, 4))
        _, around = framed(torch, m, n, 8 * draw.randrange(1, 4), torch.int16, POISON)
        c = around.view(torch.bfloat16)[8 : 8 + m, :n]
        gemm.of(view(c), view(a), view(b))()
        torch.cuda.synchronize()
        rows = torch.tensor(sorted(draw.sample(range(m), 64)) if m == 8192 else range(m), device="cuda")
        norm, worst = deviation(c[rows], a[rows], b)
        touched = around != POISON
        touched[8 : 8 + m, :n] = False
        wrong = int(touched.sum()) + int(c.isnan().sum())
        wrong += 0 if norm < 2.5e-3 and worst <= 1 else 1  # NaN is neither
        yield {"shape": [m, n, k], "relative_error": norm, "worst_of_room": worst, "wrong": wrong}


# -- measurement ------------------------------------------------------------------------------------------


def clock_and_power() -> Callable[[], Row]:
    """A function that reads the clock (MHz) and the power (W) of the device, or nothing where NVML is missing."""
    try:
        import pynvml  # type: ignore[import-not-found]  # of no extra: clock and power are told where it is there

        pynvml.nvmlInit()
        device = pynvml.nvmlDeviceGetHandleByIndex(0)
    except Exception:  # no package, no library or no right to ask: the timings stand without
        return dict
    return lambda: {
        "sm_mhz": pynvml.nvmlDeviceGetClockInfo(device, pynvml.NVML_CLOCK_SM),
        "watt": pynvml.nvmlDeviceGetPowerUsage(device) / 1000,
    }


def take_turns(torch: Any, contestants: dict[str, Launch], rounds: int, launches: int) -> Iterator[Row]:
    """Milliseconds of one launch, for each contestant and round; who goes first alternates."""
    state = clock_and_power()
    names = list(contestants)
    for number in range(-1, rounds):  # round -1 warms up
        for name in names if number % 2 else reversed(names):
            launch = contestants[name]
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            launch()
            launch()
            begin.record()
            for _ in range(launches):
                launch()
            end.record()
            now = state()
            end.synchronize()
            if number >= 0:
                yield {"round": number, "name": name, "ms": begin.elapsed_time(end) / launches, **now}


def measure_copy(torch: Any, copy: RingCopy, rounds: int) -> Iterator[Row]:
    """4 GiB in long rows and in short ones; the rate counts bytes read and bytes written."""
    import pycuda.driver as cuda

    for shape in ((65536, 16384), (1048576, 1024)):
        source, target = (torch.empty(shape, dtype=torch.int32, device="cuda") for _ in range(2))
        source.random_(-(2**31), 2**31 - 1)
        size = source.numel() * 4
        contestants: dict[str, Launch] = {
            "tma_ring_copy": copy.of(view(target), view(source)),
            "cuMemcpyDtoDAsync": functools.partial(cuda.memcpy_dtod_async, target.data_ptr(), source.data_ptr(), size),
        }
        case = f"copy, rows of {shape[1] * 4 // 1024} KiB"
        for row in take_turns(torch, contestants, rounds, 20):
            yield {"case": case, **row, "unit": "TB/s", "rate": 2 * size / row["ms"] / 1e9}


def measure_gemm(torch: Any, gemm: Gemm, rounds: int) -> Iterator[Row]:
    """Cubes, both operands K-major, normal random numbers; each operand of the larger ones exceeds L2."""
    for size, launches in ((4096, 800), (8192, 120), (16384, 15)):
        a, b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        ours, theirs = (torch.empty(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        contestants: dict[str, Launch] = {
            "wgmma_gemm": gemm.of(view(ours), view(a), view(b)),
            "cuBLAS": functools.partial(torch.matmul, a, b.T, out=theirs),
        }
        for row in take_turns(torch, contestants, rounds, launches):
            yield {"case": f"bf16 {size} cubed", **row, "unit": "TFLOP/s", "rate": 2 * size**3 / row["ms"] / 1e9}
        if not float((ours - theirs).abs().max()) <= 0.05 * math.sqrt(size):
            raise RuntimeError(f"at {size} cubed the two products differ by {float((ours - theirs).abs().max())}")


# -- the table --------------------------------------------------------------------------------------------


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def table(rows: list[Row]) -> list[str]:
    """One line for each case: medians, and the ratio of our rate to the vendor's, round by round."""
    lines = [f"{'case':<24}{'unit':<9}{'ours':>8}{'vendor':>9}{'ratio':>8}  quartiles      extremes       rounds"]
    for case in dict.fromkeys(row["case"] for row in rows):
        rates: dict[str, dict[int, float]] = {}
        for row in rows:
            if row["case"] == case:
                rates.setdefault(row["name"], {})[row["round"]] = row["rate"]
        ours, vendor = (rates[name] for name in sorted(rates, key=lambda name: name not in KERNELS))
        ratios = [ours[i] / vendor[i] for i in ours]
        low, middle, high = quartiles(ratios)
        unit = next(row["unit"] for row in rows if row["case"] == case)
        digits = 3 if unit == "TB/s" else 1
        mine, theirs = (f"{statistics.median(r.values()):.{digits}f}" for r in (ours, vendor))
        spread = f"{low:.3f}..{high:.3f}   {min(ratios):.3f}..{max(ratios):.3f}   {len(ratios)}"
        lines.append(f"{case:<24}{unit:<9}{mine:>8}{theirs:>9}{middle:>8.3f}  {spread}")
    return lines


# -- the parts, each in a process of its own -----------------------------------------------------------------


def kernels(out: Path, defines: tuple[str, ...]) -> tuple[Kernel, Kernel]:
    out.mkdir(parents=True, exist_ok=True)
    copy, gemm = (compile_kernel(name, out, defines=defines) for name in KERNELS)
    return copy, gemm


def about(torch: Any, copy: Kernel, gemm: Kernel) -> Row:
    """What ran: the device, the versions, and the kernels by the hash of their sources."""
    sources = {p.name: hashlib.sha256(p.read_bytes()).hexdigest()[:16] for p in sorted(HERE.glob("*.cu*"))}
    return {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "driver": subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version,clocks.sm,power.limit", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
        ).stdout.strip(),
        "registers": {kernel.name: kernel.registers for kernel in (copy, gemm)},
        "commands": [copy.command, gemm.command],
        "sources": sources,
        "seconds": time.time(),
    }


def part(name: str, out: Path, rounds: int, seed: int, bounded: bool) -> int:
    """Runs ``verify`` or ``measure`` in this process; prints each row as JSON."""
    import pycuda.autoprimaryctx  # noqa: F401  (importing it makes the context current)
    import torch

    copy, gemm = kernels(out, (f"POLL_LIMIT={POLL_LIMIT}",) if bounded else ())
    ring, product = RingCopy(copy), Gemm(gemm)
    torch.manual_seed(seed)
    draw = random.Random(seed)
    rows: Iterator[Row]
    wrong = 0
    print(json.dumps({"part": name, "bounded": bounded, "seed": seed, **about(torch, copy, gemm)}), flush=True)
    print(f"{product.clusters} clusters of {product.CLUSTER} fit on the device", file=sys.stderr)
    runs: dict[str, list[tuple[str, Iterator[Row]]]] = {
        "verify": [(copy.name, verify_copy(torch, ring, draw)), (gemm.name, verify_gemm(torch, product, draw))],
        "measure": [
            (copy.name, measure_copy(torch, ring, rounds)),
            (gemm.name, measure_gemm(torch, product, rounds)),
        ],
    }
    for kernel, rows in runs[name]:
        for row in rows:
            wrong += row.get("wrong", 0)
            print(json.dumps({"part": name, "bounded": bounded, "kernel": kernel, **row}), flush=True)
    return 1 if wrong else 0


def child(name: str, out: Path, rounds: int, seed: int, bounded: bool) -> list[Row]:
    """The rows of one part, run in a child process that is given a time; an empty list if it fails."""
    command = [sys.executable, "-m", __spec__.name, "--out", str(out), "--rounds", str(rounds), "--seed", str(seed)]
    command += ["--part", name, *(["--bounded"] if bounded else [])]
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=TIMES_S[name])
        code, text = run.returncode, run.stdout
    except subprocess.TimeoutExpired as late:
        code, text = -1, (late.stdout or b"").decode()
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    wrong = [row for row in rows if row.get("wrong")]
    title = f"{name}{', bounded waits' if bounded else ''}"
    count = max(len(rows) - 1, 0)  # the first row says what ran
    done = f"{count} timings" if name == "measure" else f"{count} cases, {len(wrong)} wrong"
    print(f"{title}: {done}, exit status {code}", flush=True)
    for row in wrong[:8]:
        print(f"  {row}")
    if code:
        rows.append({"part": name, "bounded": bounded, "failed": code})
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="directory for the cubins and reference_kernels.jsonl")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each measurement")
    parser.add_argument("--seed", type=int, default=0, help="of sizes and numbers")
    parser.add_argument("--part", choices=("verify", "measure"), help=argparse.SUPPRESS)
    parser.add_argument("--bounded", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    try:
        if given.part:
            return part(given.part, given.out, given.rounds, given.seed, given.bounded)
        for kernel in kernels(given.out, ()):
            print(f"{kernel.name}: {kernel.registers} registers, no spills; {kernel.command}")
    except CompileError as error:
        print(error, file=sys.stderr)
        return 1
    missing = [name for name in ("cuda", "pycuda", "torch") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"built, not run: expected the packages cuda-bindings, pycuda and torch, got no {', '.join(missing)}")
        return 1
    rows: list[Row] = []
    for name, bounded in (("verify", True), ("verify", False), ("measure", False)):
        rows += child(name, given.out, given.rounds, given.seed, bounded)
        if "failed" in rows[-1]:
            break
    path = given.out / "reference_kernels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print("\n".join(table([row for row in rows if "rate" in row])))
    return 1 if any("failed" in row for row in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
