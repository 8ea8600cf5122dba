"""How far the model as it is now is from stored rounds: each class beside what was committed, and the worst points.

    python -m benchmarks.accuracy_again round8_h200 round8_h100 spaces7_h200 --jobs 2
    python -m benchmarks.accuracy_again round8_h200 --groups gemm --set wgmma_clock=1.8 --worst 10

That is for who changes the model: points of earlier rounds may be studied. A headline comes from a fresh seed alone
(``benchmarks.accuracy``). Long predictions may be left out (``--quick``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import simulator
from simulator import Machine
from symlayout.errors import SymlayoutError

from .accuracy import config_of, predicted, rows_of
from .accuracy_report import points, spaces, summary

RESULTS = Path(__file__).parent / "results/accuracy"
MACHINES = {"h200": "h200", "h100": "h100_sxm"}

Row = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.accuracy_again", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="+", metavar="ROUND_CARD", help="round8_h200, spaces7_h100")
    parser.add_argument("--groups", nargs="*", default=(), help="classes; all by default")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="print the N points of the largest errors")
    parser.add_argument("--ranges", type=float, default=0.0, metavar="S", help="as for benchmarks.accuracy; none")
    parser.add_argument("--quick", type=float, default=0.0, metavar="S", help="leave out what took longer, once stored")
    parser.add_argument("--set", nargs="*", default=(), metavar="NUMBER=VALUE", help="other numbers of the machine")
    parser.add_argument("--jobs", type=int, default=1, help="processes that predict")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the predictions there")
    given = parser.parse_args()
    stored = sorted(p.name.removesuffix("_measured.jsonl") for p in RESULTS.glob("*_measured.jsonl"))
    unknown = [name for name in given.names if name not in stored]
    if unknown:
        parser.error(f"expected rounds out of {', '.join(stored)}, got {', '.join(unknown)}")
    if given.out and not given.out.is_dir():
        parser.error(f"expected a folder that is there, got {given.out}")
    try:
        numbers = {k: float(v) for k, _, v in (x.partition("=") for x in given.set)}
        machines = {card: simulator.machine(name).replacing(**numbers) for card, name in MACHINES.items()}
    except (ValueError, SymlayoutError) as e:
        parser.error(f"expected NUMBER=VALUE for --set, got {' '.join(given.set)}: {e}")
    with ProcessPoolExecutor(given.jobs) as pool:
        for name in given.names:
            machine = machines[name.rpartition("_")[2]]
            before = [
                row
                for row in rows_of(RESULTS / f"{name}_points.jsonl")[1:]
                if (not given.groups or row["group"] in given.groups)
                and not (given.quick and row.get("cpu_s", 0.0) > given.quick)
            ]
            task = partial(_again, machine=machine, ranges=given.ranges)
            again = [(row, new) for row, new in zip(before, pool.map(task, before, chunksize=2), strict=True) if new]
            if len(again) < len(before):
                print(f"{name}: {len(before) - len(again)} points are left out, which no kernel is built for any more")
            before, now = [row for row, _ in again], [new for _, new in again]
            if given.out:
                lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in now)
                (given.out / f"{name}.jsonl").write_text("".join(lines))
            measured = rows_of(RESULTS / f"{name}_measured.jsonl")
            shown(name, before, now, measured, given.worst)


def _again(row: Row, machine: Machine, ranges: float) -> Row | None:
    """The row of the same point, predicted now; None where the family no longer builds it."""
    try:
        again = predicted(config_of(row), machine, ranges)
    except SymlayoutError:
        return None
    return {"point": row["point"], **again, "digest": row["digest"]}  # other digests have the same sizes and copies


def shown(name: str, before: Sequence[Row], now: Sequence[Row], measured: Sequence[Row], worst: int) -> None:
    """Print the classes of a round as they were committed and as they are now."""
    old, new = points(before, measured), points(now, measured)
    print(f"{name}: {len(new)} points; bias, mean and worst error now (as committed)")
    for group in [*dict.fromkeys(p.group for p in new), "all"]:
        was, told = (summary([p for p in every if group in ("all", p.group)]) for every in (old, new))
        line = " ".join(f"{_part(told[k])} ({_part(was[k])})" for k in ("bias", "mean", "worst"))
        inside = "" if told["inside"] is None else f"  inside {_part(told['inside'])}, {_part(told['width'])} wide"
        print(f"  {group:15} {line}{inside}")
    for a, b in zip(spaces(old), spaces(new), strict=True):
        print(f"  {b.work}: regret {b.regret:.1%} ({a.regret:.1%}), of eight {b.regret_of_eight:.1%}, tau {b.tau:.2f}")
    known = {r["point"] for r in measured if "error" not in r}
    rows = [row for row in now if row["point"] in known]
    for point, row in sorted(zip(new, rows, strict=True), key=lambda x: -abs(x[0].error))[:worst]:
        options = " ".join(f"{k}={v}" for k, v in row["options"].items())
        sizes = " ".join(f"{k}={v}" for k, v in row["dims"].items())
        what = f"{row['family']} {options} {sizes} {row['cache']}"
        print(f"  {point.error:+6.1%} of {1e6 * point.measured:.2f} us: point {row['point']}, {what}")


def _part(x: float | None) -> str:
    return "-" if x is None else f"{100 * x:.1f} %"


if __name__ == "__main__":
    main()
