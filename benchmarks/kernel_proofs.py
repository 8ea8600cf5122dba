"""How long all claims of a kernel take, for all sizes: cold, again, and from the cache.

    python -m benchmarks.kernel_proofs [--family gemm] [--rounds 3]

*Cold* is a new process, imports included, to the verdict on the last claim; *again* the same proof in that process, on
a kernel built anew; *cached* the verdicts looked up by content. The least of some rounds is shown. Exit status 1 where
a claim of a family is not proved.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROOF = """
import json, sys
from benchmarks.kernel_proofs import timed
print(json.dumps(timed(sys.argv[1], sys.argv[2])))
"""


def families() -> dict[str, Callable[[], Any]]:
    """Builders of kernels with symbolic sizes, under the facts that their tensor maps need."""
    from symlayout import dim, dims
    from symlayout.kernels import (
        axpby,
        bulk_copy,
        copy_if,
        cp_async_copy,
        fill,
        gather_rows,
        gemm,
        gemm_mma,
        gemm_simt,
        row_sum,
        tma_copy,
        tma_reduce_add,
        tma_transpose,
        vector_copy,
    )

    M, N, K = dims("M N K", multiple_of=8)
    return {
        "vector_copy": lambda: vector_copy(dim("L")),
        "axpby": lambda: axpby(dim("L")),
        "row_sum": lambda: row_sum(M, N, dim("ld", at_least=N, multiple_of=4)),
        "cp_async_copy": lambda: cp_async_copy(dim("L")),
        "bulk_copy": lambda: bulk_copy(dim("W", multiple_of=4)),
        "tma_copy": lambda: tma_copy(M, N),
        "tma_transpose": lambda: tma_transpose(M, N),
        "tma_reduce_add": lambda: tma_reduce_add(dim("S", at_most=64), *dims("A B", multiple_of=8, at_most=1 << 16)),
        "gather_rows": lambda: gather_rows(K, M, N),
        "gemm": lambda: gemm(M, N, K, cluster=1, blocks=132),
        "fill": lambda: fill(dim("L")),
        "copy_if": lambda: copy_if(*dims("P Q", at_most=1 << 20), dim("ld", at_least=dim("Q", at_most=1 << 20))),
        "gemm_simt": lambda: gemm_simt(*dims("P Q R", at_most=1 << 20)),
        "gemm_mma": lambda: gemm_mma(*dims("P Q R", at_most=1 << 20)),
        "gemm, pairs of CTAs": lambda: gemm(M, N, K, cluster=2, blocks=132),
    }


def timed(family: str, folder: str) -> dict[str, Any]:
    """Claims, those proved, and seconds of one family in this process."""
    from checkers import prove
    from checkers.cache import Cache

    build = families()[family]
    cache = Cache(Path(folder) / "cache.json")
    first, again, cached = (_run(prove, build, x) for x in (cache, None, cache))
    report = first[0]
    proved = sum(v.outcome.value == "proved" for v in report.verdicts)
    return {"claims": len(report.verdicts), "proved": proved, "again_s": again[1], "cached_s": cached[1]}


def _run(prove: Callable[..., Any], build: Callable[[], Any], cache: Any) -> tuple[Any, float]:
    begin = time.perf_counter()
    return prove(build(), cache=cache), time.perf_counter() - begin


def cold(family: str) -> dict[str, Any]:
    """The same in a new process: ``cold_s`` is its whole time less what comes after the first proof."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        made = subprocess.run(
            [sys.executable, "-c", PROOF, family, folder], capture_output=True, text=True, timeout=120, check=True
        )
        spent = time.perf_counter() - begin
    found: dict[str, Any] = json.loads(made.stdout)
    return {**found, "cold_s": spent - found["again_s"] - found["cached_s"]}


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=families())
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    print(f"{'':22}{'claims':>8}{'proved':>8}{'cold s':>9}{'again s':>9}{'cached s':>10}")
    left = 0
    for family in [options.family] if options.family else families():
        rounds = [cold(family) for _ in range(options.rounds)]
        least = {name: min(r[name] for r in rounds) for name in ("cold_s", "again_s", "cached_s")}
        one = rounds[0]
        left += one["claims"] - one["proved"]
        print(
            f"{family:22}{one['claims']:>8}{one['proved']:>8}{least['cold_s']:>9.2f}{least['again_s']:>9.3f}"
            f"{least['cached_s']:>10.3f}",
            flush=True,
        )
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
