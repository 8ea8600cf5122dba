"""Every product of a warp on a device: each ``mma.sync`` of the tables, bit for bit against its untimed run.

    python -m benchmarks.hardware.words [--only WORD ..] [--out FILE]

A word is a kernel of one warp that multiplies three steps of K, proved, then run on all kinds of data. Exit status 1
where a word differs, 4 where there is no device.
"""

from __future__ import annotations

import sys
from typing import Any

import gpu
from checkers import prove
from gpu.child import each
from symlayout.atoms import ATOMS, MmaAtom
from tests.support.warp_products import product

from .command import NO_DEVICE, is_missing, parser_of, write

WORDS = tuple(word for word, row in ATOMS.items() if isinstance(row, MmaAtom) and word.startswith("mma."))
STEPS, LIMIT_S = 3, 60.0


def row(word: str) -> dict[str, Any]:
    """What a device says of a word."""
    kernel = product(word, steps=STEPS)
    found = gpu.differential_test(kernel, prove(kernel).certificate, [{}], isolated=False)
    return {"word": word, "digest": kernel.digest, "same": bool(found), "said": str(found)}


def main() -> int:
    options = parser_of(__doc__, WORDS).parse_args()
    if is_missing():
        return NO_DEVICE
    rows: list[dict[str, Any]] = []
    outcomes = each("benchmarks.hardware.words:row", [(word,) for word in options.only], limit_s=LIMIT_S)
    for word, outcome in zip(options.only, outcomes, strict=True):
        rows.append(outcome.value or {"word": word, "same": False, "said": str(outcome.error)})
        print(f"{word:28} {rows[-1]['said'].splitlines()[0]}", flush=True)
        write(options.out, rows)
    return 0 if all(r["same"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
