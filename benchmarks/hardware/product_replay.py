"""Compute the recorded matrix products in NumPy: every bit of every sum as recorded.

    python -m benchmarks.hardware.product_replay FILE...
    python -m benchmarks.hardware.product_replay --words DIR --out FILE

Prints for each family how many cases are the same, and for each type how near an H200 came to the bound of its errors.
The second form makes the rows from the words that ``product_probe`` left in DIR: a case as ``product_probe.cases`` has
it, with ``sha``, the SHA-256 (16 hex digits) of the words of C, thread by thread.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.hardware.product_numbers import Numbers
from benchmarks.hardware.product_probe import Case, addresses, cases, inputs, row_of, variant
from symlayout.atoms import MmaAtom
from symlayout.semantics.matrix import to_matrix, to_threads
from symlayout.semantics.matrix_sums import accumulated, product_bound, tensor_core_sums
from symlayout.tma.recorded import read

Operands = tuple[Numbers, Numbers, Numbers]


def operands(case: Case, held: dict[str, Numbers], step: int) -> tuple[Numbers, Numbers]:
    """A and B of one instruction of a case."""
    v, row = variant(case), row_of(case)
    m, n, k = row.mnk

    def read_of(name: str, rows: int) -> Numbers:
        size = row.dtype.bytes
        at = addresses(case[name] | {"start": case[name]["start"] + step * rows * 32}, rows, k, size)
        return held["shared"][at[..., None] + np.arange(size)].view(row.dtype.numpy()).reshape(rows, k)

    a = to_matrix(row.tv_a, held["a"], (m, k)) if "a" in held else read_of("a", m)
    return a, to_matrix(row.tv_b, held["b"], (n, k)) if v.name == "mma" else read_of("b", n)


def steps(case: Case) -> Iterator[tuple[MmaAtom, Numbers, Numbers, Numbers]]:
    """Each instruction of a case: its row, A, B and the C that it starts with, as an H200 has it."""
    row, held = row_of(case), inputs(case)
    c = to_matrix(row.tv_c, held["c"], row.mnk[:2])
    if not case["scale"]:
        c = np.zeros_like(c)
    for step in range(case["steps"]):
        a, b = operands(case, held, step)
        yield row, a, b, c
        c = tensor_core_sums(row, a, b, c)


def sums(case: Case) -> Numbers:
    """The words of C that a case leaves."""
    for row, a, b, c in steps(case):
        found = tensor_core_sums(row, a, b, c)
    return np.ascontiguousarray(to_threads(row.tv_c, found)).view(np.uint32).reshape(-1)


def largest_error(case: Case) -> float:
    """How far an H200 is from sums rounded once, as a part of the bound; 0 where both are the same."""
    worst = 0.0
    for row, a, b, c in steps(case):
        found, exact = (f(row, a, b, c).astype(np.float64) for f in (tensor_core_sums, accumulated))
        bound = product_bound(row, a, b, c)
        with np.errstate(invalid="ignore", divide="ignore"):
            off = np.where((found == exact) | (np.isnan(found) & np.isnan(exact)), 0, np.abs(found - exact) / bound)
        off[np.isinf(bound)] = 0
        worst = max(worst, float(off.max()))
    return worst


def digest(words: Numbers) -> str:
    return hashlib.sha256(words.tobytes()).hexdigest()[:16]


def exact(case: Case) -> bool:
    """Whether every order of additions gives these sums."""
    return bool(case["family"] != "numbers")


def made(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows from the words of the device."""
    found = [np.load(folder / f"products_{i}.npz")["words"] for i in range(len(list(folder.glob("products_*.npz"))))]
    words, at = np.concatenate(found), 0
    for case in cases():
        v = variant(case)
        size = v.threads * v.words[2]
        yield case | {"sha": digest(words[at : at + size])}
        at += size


def table(rows: Iterable[dict[str, Any]]) -> tuple[str, int]:
    """Cases that are the same and others by family; the largest errors by type; how many are not the same."""
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    worst: dict[str, float] = collections.defaultdict(float)
    for row in rows:
        counts[
            row.get("how", row["family"]) if row["family"] == "descriptor" else row["family"],
            digest(sums(row)) == row["sha"],
        ] += 1
        if not exact(row):
            v = variant(row)
            name = f"{v.name} {v.dtype} {v.sums}"
            worst[name] = max(worst[name], largest_error(row))
    lines = [f"{family:14}{'same' if same else 'OTHER':6}{n:>6}" for (family, same), n in sorted(counts.items())]
    lines += [f"{name:18}{x:.3f} of the bound" for name, x in sorted(worst.items())]
    return "\n".join(lines), sum(n for (_, same), n in counts.items() if not same)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--words", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.words:
        text = "".join(json.dumps(row) + "\n" for row in made(given.words))
        given.out.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        return 0
    wrong = 0
    for path in given.files:
        text, others = table(read(path))
        print(path.name, text, sep="\n")
        wrong += others
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
