"""Run microbenchmarks on a device, and write a file of rows for each."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

import gpu
from gpu import child
from gpu.processes import run

from .lab import REPEATS, Lab, Point, Row, hashes
from .launches import gaps, gaps_of_code, gaps_of_little
from .points import SWEEPS, Swept
from .points_alone import Alone, rows_of_alone
from .points_bursts import Burst, rows_of_bursts
from .points_ends import Ends, rows_of_ends
from .points_footprints import Footprint, rows_of_footprints
from .points_hands import Hands, rows_of_hands
from .points_lone import Lone, rows_of_lone
from .points_neighbours import Neighbours, rows_of_neighbours
from .points_outside import Outside, rows_of_outside
from .points_places import Place, rows_of_places
from .points_spins import Spin, rows_of_spins
from .points_tiles import gaps_of_steps
from .points_together import Together, rows_of_together

PART = 40  # points that one call of the child measures
PART_S = 90.0
_LAB: list[Lab] = []


def lab() -> Lab:
    """The device of this process, with code and data."""
    if not _LAB:
        _LAB.append(Lab(gpu.Device().__enter__()))
    return _LAB[0]


def about() -> Row:
    """The device, and the hashes of the sources: the first row of a file."""
    on = lab()
    said = run(["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader"], limit_s=10.0)
    return {
        "device": str(on.device),
        "driver, power limit": said.output.decode(errors="replace").strip(),
        "compiler": on.compiler,
        "sms": on.sms,
        "sources": hashes(),
        "conditions": on.conditions(),
    }


def part(name: str, first: int, repeats: int) -> tuple[list[Row], str]:
    """The rows of some points of a sweep, and the conditions afterwards."""
    on = lab()
    if name in ("M4", "M7", "M33", "M34", "M35"):  # which check their sums
        on.reset()
    points = list(SWEEPS[name](on.sms))[first : first + PART]
    rows = [_row(on, p, repeats) for p in points]
    if name == "M18" and first == 0:
        rows += gaps(on, repeats)
    if name == "M24" and first == 0:
        rows += gaps_of_code(on, repeats)
    if name == "M39" and first == 0:
        rows += gaps_of_little(on, repeats)
    if name == "M31" and first == 0:
        rows += gaps_of_steps(on, repeats)
    return rows, on.conditions()


def _row(on: Lab, point: Swept, repeats: int) -> Row:
    """What a point tells: some have rows of their own."""
    match point:
        case Burst():
            return rows_of_bursts(on, point, repeats)
        case Neighbours():
            return rows_of_neighbours(on, point, repeats)
        case Footprint():
            return rows_of_footprints(on, point, repeats)
        case Spin():
            return rows_of_spins(on, point, repeats)
        case Place():
            return rows_of_places(on, point, repeats)
        case Hands():
            return rows_of_hands(on, point, repeats)
        case Lone():
            return rows_of_lone(on, point, repeats)
        case Alone():
            return rows_of_alone(on, point, repeats)
        case Together():
            return rows_of_together(on, point, repeats)
        case Outside():
            return rows_of_outside(on, point, repeats)
        case Ends():
            return rows_of_ends(on, point, repeats)
        case Point():
            return on.row(point, repeats)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hardware.microbenchmarks", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help=f"out of {', '.join(SWEEPS)}; all by default")
    parser.add_argument("--out", type=Path, default=Path("rows"))
    parser.add_argument("--limit", type=float, default=480.0, help="seconds after which no further part is begun")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    unknown = [x for x in given.ids if x not in SWEEPS]
    if unknown:
        parser.error(f"expected ids out of {', '.join(SWEEPS)}, got {', '.join(unknown)}")
    if given.list:
        for name, points in SWEEPS.items():
            print(f"{name:4} {len(list(points(132))):4} points")
        return 0
    if not gpu.availability():
        print(gpu.availability())
        return 4
    given.out.mkdir(parents=True, exist_ok=True)
    return _run(list(given.ids or SWEEPS), given.out, given.limit, given.repeats)


def _run(ids: list[str], out: Path, limit: float, repeats: int) -> int:
    started, bad = time.monotonic(), 0
    [head] = child.each("benchmarks.hardware.microbenchmarks.__main__:about", [()], limit_s=180.0)
    if head.error:
        print(str(head.error)[:3000])
        return 1
    todo = [x for x in ids if not (out / f"{x}.jsonl.gz").exists()]
    cases = [(x, at, repeats) for x in todo for at in range(0, len(list(SWEEPS[x](head.value["sms"]))), PART)]
    found: dict[str, list[Any]] = {x: [] for x in todo}
    served = child.each("benchmarks.hardware.microbenchmarks.__main__:part", cases, limit_s=PART_S)
    for k, (name, at, _) in enumerate(cases):
        if time.monotonic() - started > limit:
            print(f"ended by the limit of {limit:g} s before {name}; the same command goes on")
            break
        outcome = next(served)
        if outcome.error:
            bad += 1
            found[name].append({"id": name, "from": at, "error": str(outcome.error)[:600]})
            print(f"{name} from {at}: {str(outcome.error)[:1500]}", flush=True)
        else:
            rows, conditions = outcome.value
            found[name] += [*rows, {"id": name, "after": conditions}]
        if k + 1 == len(cases) or cases[k + 1][0] != name:
            _write(out / f"{name}.jsonl.gz", [head.value, *found[name]])
            print(f"{time.monotonic() - started:6.1f} s  {name}: {len(found[name])} rows", flush=True)
    served.close()  # type: ignore[attr-defined]
    return 1 if bad else 0


def _write(path: Path, rows: list[Row]) -> None:
    text = "".join(json.dumps(r, separators=(",", ":")) + "\n" for r in rows)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    sys.exit(main())
