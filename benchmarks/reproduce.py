"""Every figure of the README about generated kernels, from the rows that are committed.

    python -m benchmarks.reproduce [--rows FOLDER]

Speeds are medians over rounds of ratios to the device's copy, or to cuBLAS's first choice, within one run, with L2 cold
before each launch; correctness counts cases; mutants count those that a proof or the untimed runs had let pass, and who
caught others. Functions, times and sleeping lanes have a line each for what was held against a statement.
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
    """How many mutants ran as the kernel that they come from, and who caught the others."""
    found = list(rows(path))
    passed = [r for r in found if was_let_pass(r)]
    ends = ("same" if not r["device"] else "refused" if is_refusal(r["device"]) else "other" for r in passed)
    n = Counter(ends)
    yield f"mutants that were let pass: {n['same']} same bytes, {n['refused']} refused, {n['other']} otherwise"
    by = Counter(caught_by(r) for r in found if not was_let_pass(r))
    if by:
        told = ", ".join(f"{who} {n}" for who, n in by.most_common())
        yield f"others that ran: {sum(by.values())}, caught by {told}"


def was_let_pass(row: dict[str, Any]) -> bool:
    """Whether a mutant was proved, or no run told it from the kernel while the proof left it open."""
    return row["proof"] == "proved" or (row["proof"] == "unknown" and not row["run"])


def caught_by(row: dict[str, Any]) -> str:
    """Who caught a mutant: the proof, an untimed run, the device, or several of them.

    >>> caught_by({"proof": "refuted", "run": "", "device": "{'N': 3}: dst differs in 1 of 3 elements"})
    'proof and device'
    """
    told = row["device"]
    who = [("proof", row["proof"] == "refuted"), ("run", bool(row["run"])), ("device", told and not is_refusal(told))]
    return " and ".join(name for name, caught in who if caught) or "nobody"


def functions(path: Path) -> Iterator[str]:
    """How many results of functions are where they are stated to be, and the least room that an approximate one has."""
    found = list(rows(path))
    inputs, outside = sum(r["inputs"] for r in found), sum(r["outside"] for r in found)
    words, every = len({r["function"] for r in found}), f"{len(found)} of them by type"
    yield f"{found[0]['device']}: {inputs} results of {words} functions, {every}, {outside} outside of what is stated"
    approximate = [r for r in found if r["worst_of_bound"]]
    yield "| function | type | stated | worst, of that |"
    yield "|---|---|---|---|"
    for r in approximate:
        yield f"| `{r['function']}` | {r['type']} | {r['stated']} | {r['worst_of_bound']:.3f} |"


def stamped(path: Path) -> Iterator[str]:
    """How many times that kernels took of themselves can be true."""
    found = list(rows(path))
    wrong = sum(r[k] for r in found for k in ("begin_after_end", "outside_of_launch", "landed_before_issue"))
    steps = sorted({r["step_ns"] for r in found})
    clocks = ", ".join(f"{r['name']} {r['clock_ghz'][0]:.2f} to {r['clock_ghz'][2]:.2f}" for r in found)
    told = f"{sum(r['stamps'] for r in found)} stamps of {len(found)} kernels, {wrong} that cannot be"
    yield f"{found[0]['device']}: {told}; steps of {steps} ns; clocks of SMs in GHz: {clocks}"


def asleep(path: Path) -> Iterator[str]:
    """What a lane that sleeps after a tensor store does to it."""
    for r in rows(path):
        if r["experiment"] == "passed":
            passes = f"another passes after {r['another_passed_ns']} ns"
            yield f"one lane waits by {r['wait']} for {r['waited_ns']} ns; {passes}"
        else:
            fault = "illegal instruction" if "illegal instruction" in r["said"] else r["said"]
            yield f"{r['case']}, {r['launches']} launches: {fault}"


def launches(path: Path) -> Iterator[str]:
    """How many ways of launching end as expected."""
    found = list(rows(path))
    yield f"{sum(r['as_expected'] for r in found)} of {len(found)} ways of launching end as expected"


def bounds(path: Path) -> Iterator[str]:
    """The rates of a product with parts left out, of mma.sync alone and of cuBLAS, as parts of that of cuBLAS."""
    found = list(rows(path))
    [peer] = (r["tflop_per_s"] for r in found if r["name"] == "cuBLAS")
    yield "| what | TFLOP/s | of cuBLAS | L2 cold | of cuBLAS | cycles of a product |"
    yield "|---|---|---|---|---|---|"
    for r in found:
        rates = " | ".join(f"{x:.0f} | {x / y:.3f}" for x, y in zip(r["tflop_per_s"], peer, strict=True))
        yield f"| {r['name']} | {rates} | {r['cycles_of_a_product'] or 0:.2f} |"


def rings(path: Path) -> Iterator[str]:
    """How fast kernels with rings are over their text at another commit, and over cuBLAS."""
    yield "| kernel | another text | bytes | over the text before, L2 warm, cold | over cuBLAS, L2 warm, cold |"
    yield "|---|---|---|---|---|"
    for r in rows(path):
        before, peer = (r["of_peer"].get(name) for name in ("before", "cuBLAS"))
        told = " | ".join(", ".join(f"{x:.3f}" for x in of) if of else "" for of in (before, peer))
        yield f"| `{r['name']}` | {r['other_text']} | {'same' if r['same'] else 'other'} | {told} |"


def peers(path: Path) -> Iterator[str]:
    """How many runs of kernels that reach a peer's memory left the bytes that they should."""
    found = list(rows(path))
    cases = sum(r["said"].count(" (given) ") for r in found)
    yield f"{sum(r['same'] for r in found)} of {len(found)} runs of {cases // len(found)} sizes the same, bit for bit"


def is_refusal(told: str) -> bool:
    """Whether a mutant was refused before its launch, as it has no code or breaks a rule or an assumption."""
    return told.startswith(("no code", "LaunchError", "AssumptionError"))


TABLES = {
    **{"speeds": speeds, "correct": correctness, "mutants": mutants, "functions": functions},
    **{"stamped": stamped, "asleep": asleep, "launch_check": launches, "bounds": bounds, "rings": rings},
    "peers": peers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=Path, default=ROWS)
    folder = parser.parse_args().rows
    for kind, table in TABLES.items():
        for path in sorted(folder.glob(f"{kind}_*.jsonl.gz")):
            print(f"## {path.name}\n")
            print(*table(path), sep="\n")
            print()


if __name__ == "__main__":
    main()
