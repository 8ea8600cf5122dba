"""The wavefronts of shared memory that a device counts, for each access pattern: Nsight Compute around one launch each.

    python -m benchmarks.hardware.microbenchmarks.counters --out bank_wavefronts.jsonl

A row has the instructions of the launch and the counters as they are. ``tests/symlayout`` replays the rows against
``symlayout.banks``. Where a device gives no counters to a guest, the times of M2 are what there is.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

import gpu

from .lab import HERE, MOST_CTAS, STAMP, text
from .patterns import PATTERNS

METRICS = {
    "wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "loads": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "stores": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "conflicts_loads": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "conflicts_stores": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}
TRIPS, UNROLLED = 4, 16
LIMIT_S = 240


def launch() -> None:
    """One launch of one warp for each pattern, in order."""
    with gpu.Device() as device:
        headers = {"ptx.cuh": (HERE / "ptx.cuh").read_text()}
        module = gpu.load(gpu.compile(text("banks"), name="banks.cu", headers=headers), device)
        out = device.allocate(MOST_CTAS * STAMP.itemsize)
        for pattern in PATTERNS.values():
            at = device.upload(np.array(pattern.addresses, np.uint32))
            module.launch(pattern.kernel, 1, 32, [out, at, np.uint32(TRIPS), np.uint32(0)], shared=65536).wait(60.0)


def rows(said: str) -> list[dict[str, Any]]:
    """The rows of what Nsight Compute printed, as comma-separated values of raw metrics."""
    lines = [line for line in said.splitlines() if line.startswith('"')]
    found = [r for r in csv.DictReader(lines) if r.get("Kernel Name")]
    if len(found) != len(PATTERNS):
        raise ValueError(f"expected {len(PATTERNS)} launches, got {len(found)}")
    made = []
    for (name, pattern), r in zip(PATTERNS.items(), found, strict=True):
        counted = {k: float(r[m].replace(",", "")) for k, m in METRICS.items() if r.get(m)}
        made.append({"pattern": name, "kernel": pattern.kernel, "addresses": pattern.addresses,
                     "instructions": TRIPS * UNROLLED, **counted})  # fmt: skip
    return made


def each(row: dict[str, Any]) -> float:
    """The wavefronts of one instruction. Those of all kinds have two more, of the launch."""
    return float(row["loads"] + row["stores"]) / float(row["instructions"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hardware.microbenchmarks.counters", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bank_wavefronts.jsonl"))
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.launch:
        launch()
        return 0
    command = ["ncu", "--csv", "--page", "raw", "--clock-control", "none", "--metrics", ",".join(METRICS.values())]
    command += [sys.executable, "-m", "benchmarks.hardware.microbenchmarks.counters", "--launch"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    try:
        found = rows(ended.stdout)
    except (ValueError, KeyError) as e:
        print(
            f"expected counters of {len(PATTERNS)} launches, got {e}:\n{ended.stdout[-1500:]}\n{ended.stderr[-1500:]}"
        )
        return 1
    given.out.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in found))
    wrong = [r for r in found if each(r) != PATTERNS[r["pattern"]].predicted]
    for r in wrong:
        print(f"{r['pattern']}: {each(r):g} counted, {PATTERNS[r['pattern']].predicted} predicted")
    print(f"{len(found) - len(wrong)} of {len(found)} patterns as predicted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
