"""Every figure of the README about generated kernels, from the rows that are committed.

    python -m benchmarks.reproduce [--rows FOLDER]

Speeds are medians over rounds of ratios to the device's copy, or to cuBLAS's first choice, within one run, with L2 cold
before each launch; correctness
counts cases; mutants count those that were run because a proof or the untimed runs had let them pass.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROWS = Path(__file__).parent / "results" / "generated"
OFFERED = "cuBLASLt"


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file, compressed or not."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    yield from map(json.loads, text.splitlines())


def speeds(path: Path) -> Iterator[str]:
    """A line of a Markdown table for each schedule that was timed, with L2 cold."""
    yield "| kernel | sizes | rate | of the device's copy, or of cuBLAS | quartiles | peers' time over ours |"
    yield "|---|---|---|---|---|---|"
    for r in rows(path):
        own, *peers = ((name, np.array(x["cold"])) for name, x in r["seconds"].items())
        if r["flops"]:
            rate, ratios = f"{r['flops'] / np.median(own[1]) / 1e12:.0f} TFLOP/s", peers[0][1] / own[1]
        else:
            rate = f"{r['moved_bytes'] / np.median(own[1]) / 1e9:.0f} GB/s"
            ratios = r["moved_bytes"] / own[1] * np.array(r["copy"]["cold"]) / (2 * r["copy"]["bytes"])
        low, middle, high = np.percentile(ratios, (25, 50, 75))
        sizes = ", ".join(f"{k} = {n}" for k, n in r["sizes"].items())
        times = ", ".join(f"{name} {np.median(x / own[1]):.3f}" for name, x in _shown(peers))
        yield f"| `{r['name']}` | {sizes} | {rate} | {middle:.3f} | {low:.3f} to {high:.3f} | {times} |"


def _shown(peers: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """All but what cuBLASLt offers, and the best of that."""
    yield from (p for p in peers if not p[0].startswith(OFFERED))
    offered = [p for p in peers if p[0].startswith(OFFERED)]
    if offered:
        yield f"best of {len(offered)} of {OFFERED}", min((x for _, x in offered), key=np.median)


def correctness(path: Path) -> Iterator[str]:
    """How many cases of how many kernels were the same, with and without random waits."""
    found = list(rows(path))
    same = sum(r["outcome"] == "same" for r in found)
    kernels = {r["name"] for r in found}
    waits = sum(r["delays"] is not None for r in found)
    devices = ", ".join(sorted({r["device"] for r in found}))
    rounded = sum(r["data"] == "rounded" for r in found)
    sizes = Counter(name for name, _ in {(r["name"], str(r["sizes"])) for r in found})
    count = (
        f"{same} of {len(found)} cases of {len(kernels)} kernels the same, each at {min(sizes.values())} sizes or more"
    )
    yield f"{devices}: {count}; {waits} with random waits, {rounded} of products on numbers that are rounded"


def mutants(path: Path) -> Iterator[str]:
    """How many mutants ran as the kernel that they come from."""
    ends = ("same" if not r["device"] else "refused" if is_refusal(r["device"]) else "other" for r in rows(path))
    n = Counter(ends)
    yield f"mutants that were let pass: {n['same']} same bytes, {n['refused']} refused, {n['other']} otherwise"


def is_refusal(told: str) -> bool:
    """Whether a mutant was refused before its launch, as it has no code or breaks a rule or an assumption."""
    return told.startswith(("no code", "LaunchError", "AssumptionError"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=Path, default=ROWS)
    folder = parser.parse_args().rows
    for kind, table in (("speeds", speeds), ("correct", correctness), ("mutants", mutants)):
        for path in sorted(folder.glob(f"{kind}_*.jsonl.gz")):
            print(f"## {path.name}\n")
            print(*table(path), sep="\n")
            print()


if __name__ == "__main__":
    main()
