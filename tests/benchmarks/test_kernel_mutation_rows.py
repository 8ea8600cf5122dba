"""The table of mutants is what its rows say."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.kernel_mutation import FAMILIES, Judged

RESULTS = Path(__file__).parents[2] / "benchmarks/results/kernel_mutation"


def judged() -> dict[str, list[Judged]]:
    """The judgements of each family."""
    out: dict[str, list[Judged]] = defaultdict(list)
    for line in gzip.decompress((RESULTS / "rows.jsonl.gz").read_bytes()).decode().splitlines():
        row = json.loads(line)
        out[row["family"]].append(Judged(row["name"], row["proof"], row["reason"], row["said"]))
    return out


def test_the_table_counts_its_rows() -> None:
    lines = [x.strip("| ").split(" | ") for x in (RESULTS / "README.md").read_text().splitlines() if x[:3] == "| `"]
    table = {name.strip("`"): [int(n) for n in numbers] for name, *numbers in lines}

    assert list(table) == list(FAMILIES)
    for family, found in judged().items():
        kinds = Counter(j.kind for j in found)
        refuted = kinds["both"] + kinds["refuted only"]
        left = sum(j.kind == "equivalent" and j.proof == "unknown" for j in found)
        wrong = kinds["proved, other values"] + kinds["proved but caught"] + kinds["unexplained"]
        counts = [len(found), refuted, kinds["both"], kinds["equivalent"], left, kinds["caught only"], wrong]
        assert table[family] == counts, family
        assert wrong == 0, family
