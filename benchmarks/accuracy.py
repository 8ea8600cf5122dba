"""How far predicted times are from a device, at points that nothing was fitted to.

    python -m benchmarks.accuracy --seed 7 --count 12 --machine h200 --out points.jsonl       (no device)
    python -m benchmarks.accuracy --configs FILE.toml --machine h200 --out points.jsonl
    python -m benchmarks.accuracy --measure points.jsonl --out measured.jsonl                 (on the device)
    python -m benchmarks.accuracy --report points.jsonl measured.jsonl

Predictions are written first, with the hash of the numbers of the machine, to be committed before anything is measured.
What is measured is the median of launches one after another (``gpu.measure``), on random data. The report has the
signed error of each class, the mean and the worst, ranks and regret, beside two baselines. Exit status 1 where a point
could not be measured, 4 where there is no device.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import simulator
from simulator import Machine, SimulationError
from symlayout.errors import SymlayoutError

from .accuracy_baselines import roofline
from .accuracy_points import Config, draw, read

LIMIT_S, ROUNDS = 60.0, 7
ROW = "warm"  # launches are measured in a row, those whose tensors L2 does not hold as well
RANGED_S = 0.2  # of a prediction; its range takes ten more
COMPILERS = 16


def digest(machine: Machine) -> str:
    """The hash of the numbers of a machine."""
    text = "\n".join(f"{n.name} {n.value!r} {n.unit}" for _, n in sorted(machine.numbers.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -- predictions ---------------------------------------------------------------------------------------------


def predicted(config: Config, machine: Machine, ranges: float = RANGED_S) -> dict[str, Any]:
    """The row of a point: seconds with the launch, or why there is no prediction.

    It has p10 and p90 where the prediction alone takes at most *ranges* seconds.
    """
    bound = config.bound()
    row: dict[str, Any] = {**config.as_row(), "digest": (bound.origin or bound).digest}
    row["roofline_s"] = roofline(bound, machine, config.cache == "warm")
    started = time.process_time()
    try:
        trace = simulator.simulate(bound, machine, cache=ROW, what_if=False, uncertainty=False)
        if time.process_time() - started <= ranges:
            trace = simulator.simulate(bound, machine, cache=ROW, what_if=False)
    except SimulationError as e:
        return {**row, "refused": str(e)}
    row |= {"seconds": trace.seconds, "launch_s": trace.launch_ps / 1e12, "dram_bytes": trace.dram_bytes}
    if trace.around is not None:
        row |= {"p10_s": trace.around.p10_ps / 1e12, "p90_s": trace.around.p90_ps / 1e12}
    return {**row, "cpu_s": round(time.process_time() - started, 3)}


def predict(
    configs: list[Config], machine: Machine, seed: int | None, ranges: float = RANGED_S, jobs: int = 1
) -> Iterator[dict[str, Any]]:
    """A head, and a row for each point."""
    yield {"machine": machine.name, "numbers": digest(machine), "seed": seed, "points": len(configs)}
    task = partial(predicted, machine=machine, ranges=ranges)
    if jobs == 1:
        yield from ({"point": k, **row} for k, row in enumerate(map(task, configs)))
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from ({"point": k, **row} for k, row in enumerate(pool.map(task, configs)))


# -- measurements --------------------------------------------------------------------------------------------


def config_of(row: dict[str, Any]) -> Config:
    """The point of a row."""
    return Config(*(row[k] for k in ("group", "family", "options", "dims", "cache")))


def build(row: dict[str, Any]) -> str:
    """Compile the kernel of a row into the store of cubins; the error, where that fails."""
    import gpu

    try:
        gpu.Generated(config_of(row).kernel())
    except SymlayoutError as e:
        return str(e)[:500]
    return ""


def measured(row: dict[str, Any], rounds: int = ROUNDS) -> dict[str, Any]:
    """The measurement of the kernel of a row, on random data."""
    import torch

    import gpu

    kernel = config_of(row).kernel()
    bound = kernel.bind(**row["dims"])
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    given: dict[str, Any] = {p.name: 2.0 for p in bound.parameters}
    for t in bound.tensors:
        if t.space == "global":
            given[t.name] = torch.randn(int(t.layout.cosize()), device="cuda", dtype=types[t.dtype.name])
    torch.cuda.synchronize()
    with gpu.Device() as device:
        code = gpu.Generated(kernel)
        found = gpu.measure(bound, given, rounds=rounds, generated=code, device=device)
        registers = code.cubin.kernel(code.source.name).registers
    del given
    torch.cuda.empty_cache()
    return {
        "point": row["point"],
        "digest": kernel.digest,
        "text": hashlib.sha256(code.source.text.encode()).hexdigest()[:16],
        "device": found.device,
        "warm_s": found.timed.warm.samples,
        "cold_s": found.timed.cold.samples,
        "copy_s": found.copy.warm.median,
        "registers": registers,
        "moved_bytes": found.moved_bytes,
        "flops": found.flops,
        "conditions": [str(found.before), str(found.after)],
    }


def measure(rows: list[dict[str, Any]], limit: float, rounds: int = ROUNDS) -> Iterator[dict[str, Any]]:
    """Compile all kernels at once, then measure one after another, until the limit."""
    from gpu import child

    started = time.monotonic()
    with ProcessPoolExecutor(COMPILERS) as pool:
        errors = list(pool.map(build, rows))
    print(f"{time.monotonic() - started:.1f} s: {len(rows)} kernels compiled, {sum(map(bool, errors))} not", flush=True)
    good = [r for r, e in zip(rows, errors, strict=True) if not e]
    for r, e in zip(rows, errors, strict=True):
        if e:
            yield {"point": r["point"], "error": e}
    outcomes = child.each("benchmarks.accuracy:measured", [(r, rounds) for r in good], limit_s=LIMIT_S)
    for r, outcome in zip(good, outcomes, strict=False):
        yield {"point": r["point"], "error": str(outcome.error)[:1000]} if outcome.error else outcome.value
        if time.monotonic() - started > limit:
            print(f"ended by the limit of {limit:g} s", flush=True)
            break


# -- the command ---------------------------------------------------------------------------------------------


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, a JSON object a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--configs", type=Path, metavar="FILE.toml", help="points as [[point]] rows")
    parser.add_argument("--seed", type=int, help="draw points by this seed")
    parser.add_argument("--count", type=int, default=12, help="points of each class")
    parser.add_argument("--groups", nargs="*", default=(), help="classes to draw from; all by default")
    parser.add_argument("--machine", default="h200", help="a name, or a TOML file")
    parser.add_argument(
        "--ranges",
        type=float,
        default=RANGED_S,
        metavar="S",
        help="seconds of a prediction up to which it has p10 and p90",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="medians that are taken of each point")
    parser.add_argument("--jobs", type=int, default=1, help="processes that predict")
    parser.add_argument("--measure", type=Path, metavar="POINTS", help="measure the points of a file of predictions")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which no further point is measured")
    parser.add_argument("--report", type=Path, nargs=2, metavar=("POINTS", "MEASURED"))
    parser.add_argument("--calibration", type=Path, metavar="ROWS", help="microbenchmarks, for the nearest of them")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.report:
        from simulator.calibrate import rows_of as calibration_rows

        from .accuracy_report import report

        calibration = calibration_rows(given.calibration)[1] if given.calibration else []
        print(report(*map(rows_of, given.report), calibration))
        return 0
    if given.out is None or sum(x is not None for x in (given.configs, given.seed, given.measure)) != 1:
        parser.error("expected --out and one of --configs, --seed and --measure, or --report")
    if given.measure:
        return _measure(rows_of(given.measure)[1:], given.out, given.limit, given.rounds)
    configs = read(given.configs) if given.configs else draw(given.seed, given.count, tuple(given.groups))
    where = simulator.load(Path(given.machine)) if given.machine.endswith(".toml") else simulator.machine(given.machine)
    _write(given.out, predict(configs, where, given.seed, given.ranges, given.jobs))
    return 0


def _measure(rows: list[dict[str, Any]], out: Path, limit: float, rounds: int) -> int:
    import gpu

    if not gpu.availability():
        print(gpu.availability())
        return 4
    return 1 if _write(out, measure(rows, limit, rounds)) else 0


def _write(out: Path, rows: Iterator[dict[str, Any]]) -> int:
    """Write rows as they come; the number of those with an error."""
    bad = 0
    with out.open("w") as f:
        for row in rows:
            bad += "error" in row
            f.write(json.dumps(row, separators=(",", ":")) + "\n")
            f.flush()
    return bad


if __name__ == "__main__":
    sys.exit(main())
