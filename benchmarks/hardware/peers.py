"""Loads and stores of a peer's shared memory on a device: sums of rows by clusters of two, in each of three ways.

    python -m benchmarks.hardware.peers --out rows.jsonl

Each way is proved for every number of rows, and compared with its reference and its untimed run at five sizes, without
waits and with random ones.
"""

from __future__ import annotations

import sys
from typing import Any

import gpu
from checkers import prove
from tests.support.peer_kernels import summed

from .command import NO_DEVICE, is_missing, parser_of, write

WAYS = ("st.async", "st.cluster", "ld.cluster")
SIZES = [{"R": rows} for rows in (1, 2, 5, 64, 999)]
DELAYS = (None, 5, 7)  # seeds of the waits


def row(how: str, delays: int | None) -> dict[str, Any]:
    kernel = summed(how=how)
    found = gpu.differential_test(kernel, prove(kernel).certificate, SIZES, delays=delays)
    return {"kernel": f"summed {how}", "delays": delays, "same": bool(found), "said": str(found)}


def main() -> int:
    options = parser_of(__doc__, WAYS).parse_args()
    if is_missing():
        return NO_DEVICE
    rows = []
    for how in options.only:
        for delays in DELAYS:
            rows.append(r := row(how, delays))
            print(f"{r['kernel']:20} waits {delays}: {r['said'].splitlines()[0]}", flush=True)
            write(options.out, rows)
    return 0 if all(r["same"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
