"""Descriptor rules: how many recorded encode calls a second, agreement with the driver, and with Z3 on a sample.

    python -m benchmarks.descriptors [FILE.jsonl.gz] [--sample 2000]

FILE holds recorded calls (``tests/data/driver_descriptors.jsonl.gz`` unless told). Exit status 1 where anything
disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from symlayout.rules import accepted
from symlayout.rules.tma import rules_of, violations
from symlayout.tma.recorded import columns, read
from tests.symlayout.test_tma_rules import by_solver

FILE = Path(__file__).parents[1] / "tests" / "data" / "driver_descriptors.jsonl.gz"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=FILE)
    parser.add_argument("--sample", type=int, default=2000)
    options = parser.parse_args()

    begin = time.perf_counter()
    rows = list(read(options.file))
    parsed = time.perf_counter()
    table = columns(rows)
    made = time.perf_counter()
    found = accepted(table, rules_of("driver"))
    judged = time.perf_counter()
    taken = np.array([r["code"] for r in rows]) == 0
    wrong = int(np.sum(found != taken))
    n = len(rows)
    print(f"{n} calls, {int(taken.sum())} accepted by the driver, {wrong} disagreements")
    for what, seconds in (("JSON", parsed - begin), ("columns", made - parsed), ("rules", judged - made)):
        print(f"{what:<8} {n / seconds:>12,.0f} a second")

    records = [table.row(i) for i in np.flatnonzero(~taken)[:5000]]
    begin = time.perf_counter()
    told = [str(v) for r in records for v in violations(r)]
    spent = (time.perf_counter() - begin) / len(records)
    print(f"one refused call with its {len(told) / len(records):.1f} messages: {spent * 1e6:.0f} us")

    picked = np.random.default_rng(1).choice(n, options.sample, replace=False)
    begin = time.perf_counter()
    unlike = [i for i in picked if by_solver(table.row(i)) != taken[i]]
    spent = time.perf_counter() - begin
    print(f"{options.sample} calls through Z3: {len(unlike)} disagreements, {spent / options.sample * 1e3:.1f} ms each")
    return 1 if wrong or unlike else 0


if __name__ == "__main__":
    sys.exit(main())
