"""Products one after another for a sixth of a second: from when on a limit of power slows them, and how far.

    python -m benchmarks.hardware.sustained [--only SCHEDULE ..] [--out FILE]
    python -m benchmarks.hardware.sustained --rows benchmarks/results/generated/sustained_h200.jsonl.gz    (no device)

The device rests before each run. A row has the time of a launch in microseconds, group of launches by group, in three
runs; data are random, as zeros take less power. Exit status 4 where there is no device.
"""

from __future__ import annotations

import gzip
import itertools
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import gpu
from gpu.child import each
from symlayout.kernels.families import family

from .command import NO_DEVICE, is_missing, parser_of, write

EARLY_MS, LATE_MS, SETTLED_MS, NEAR = 20, 40, 5, 3  # parts of a run, and groups to either side of a median
WORK = 4608, 5632, 3584
SCHEDULES = {  # tile, stages, CTAs of a cluster, sizes
    "192x192, 3 stages": ((192, 192), 3, 1, WORK),
    "192x192, 3 stages, clusters": ((192, 192), 3, 2, WORK),
    "128x192, 4 stages": ((128, 192), 4, 1, WORK),
    "128x256, 3 stages, clusters": ((128, 256), 3, 2, WORK),
    "128x128, 5 stages": ((128, 128), 5, 1, WORK),
    "64x192, 6 stages": ((64, 192), 6, 1, WORK),
    "64x128, 4 stages": ((64, 128), 4, 1, WORK),
    "2048 cubed": ((128, 256), 3, 2, (2048, 2048, 2048)),
    "4096 cubed": ((128, 256), 3, 2, (4096, 4096, 4096)),
    "8192 cubed": ((128, 256), 3, 2, (8192, 8192, 8192)),
    "8192 cubed, 128x192": ((128, 192), 4, 1, (8192, 8192, 8192)),
    "8192 cubed, 192x192": ((192, 192), 3, 1, (8192, 8192, 8192)),
}
RUNS, REST_S, RUN_MS, GROUP_MS, MOST = 3, 0.25, 150.0, 0.5, 400
LIMIT_S = 60.0


def row(name: str) -> dict[str, Any]:
    """The times of a schedule in runs of a sixth of a second, or of so many groups."""
    import torch

    tile, stages, cluster, (m, n, k) = SCHEDULES[name]
    kernel = family("gemm").build(tile=tile, stages=stages, cluster=cluster)
    bound = kernel.bind(M=m, N=n, K=k)
    given: dict[str, Any] = {
        t.name: torch.randn(int(t.layout.cosize()), device="cuda", dtype=torch.bfloat16)
        for t in bound.tensors
        if t.space == "global"
    }
    torch.cuda.synchronize()
    with gpu.Device() as device:
        send = gpu.Generated(kernel).prepare(bound, given, device).send

        def times(groups: int, launches: int) -> list[float]:
            """Microseconds of a launch, for each group of launches."""
            events = [torch.cuda.Event(enable_timing=True) for _ in range(groups + 1)]
            events[0].record()
            for event in events[1:]:
                for _ in range(launches):
                    send()
                event.record()
            torch.cuda.synchronize()
            return [round(1e3 * a.elapsed_time(b) / launches, 2) for a, b in itertools.pairwise(events)]

        one = times(2, 5)[-1] / 1e3
        launches = max(1, int(GROUP_MS / one))
        groups, runs = min(MOST, int(RUN_MS / (one * launches))), []
        for _ in range(RUNS):
            time.sleep(REST_S)
            runs.append(times(groups, launches))
        about = str(device)
    return {
        "schedule": name,
        "sizes": [m, n, k],
        "digest": kernel.digest,
        "device": about,
        "launches": launches,
        "us": runs,
    }


def main() -> int:
    parser = parser_of(__doc__, SCHEDULES)
    parser.add_argument("--rows", type=Path, help="print what rows of before say")
    options = parser.parse_args()
    if options.rows:
        if not options.rows.is_file():
            parser.error(f"expected a file of rows, got {options.rows}")
        with gzip.open(options.rows, "rt", encoding="utf-8") as file:
            for found in map(json.loads, file):
                print(f"{found['schedule']:28} {_said(found)}")
        return 0
    if is_missing():
        return NO_DEVICE
    rows: list[dict[str, Any]] = []
    outcomes = each("benchmarks.hardware.sustained:row", [(name,) for name in options.only], limit_s=LIMIT_S)
    for name, outcome in zip(options.only, outcomes, strict=True):
        rows.append(outcome.value or {"schedule": name, "error": str(outcome.error)[:1000]})
        print(f"{name:28} {_said(rows[-1])}", flush=True)
        write(options.out, rows)
    return 1 if any("error" in r for r in rows) else 0


def _said(found: dict[str, Any]) -> str:
    """The median early in a run and at its end, and when half of the difference has come."""
    if "error" in found:
        return str(found["error"]).splitlines()[0]
    us = [sorted(x)[RUNS // 2] for x in zip(*found["us"], strict=True)]
    ends = list(itertools.accumulate(x * found["launches"] / 1e3 for x in us))
    early = statistics.median(x for x, end in zip(us, ends, strict=True) if end < EARLY_MS)
    late = statistics.median(x for x, end in zip(us, ends, strict=True) if end > ends[-1] - LATE_MS)
    whole = range(NEAR, len(us) - NEAR)
    half = (k for k in whole if statistics.median(us[k - NEAR : k + NEAR + 1]) > (early + late) / 2)
    when = next((ends[k] for k in half if ends[k] > SETTLED_MS), ends[-1])
    return (
        f"{early:8.1f} us at first, {late:8.1f} us ({late / early - 1:+.1%}) at the end, half way after {when:.0f} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
