"""How long ``symlayout verify KERNEL --no-device`` takes for each family: proof, CUDA, machine code, and its check.

    python -m benchmarks.verify_times [--only gemm row_sum] [--out FILE]

Each is a process of its own, imports included, with nothing cached; *CPU* counts that of compilers too. Exit status 1
where a command ends with another status than 0, 4 where no compiler is here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from symlayout.kernels.families import families

STEPS = ("proved", "printed", "compiled")
LIMIT_S = 300.0
NO_COMPILER = 4


def row(name: str) -> dict[str, Any]:
    """One command: its status, wall and CPU seconds, and the seconds of each step."""
    with tempfile.TemporaryDirectory() as empty:
        env = {**os.environ, "SYMLAYOUT_CUBINS": f"{empty}/cubins", "SYMLAYOUT_CACHE": f"{empty}/verdicts"}
        command = [sys.executable, "-m", "symlayout", "verify", name, "--no-device", "--format", "json"]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        ended = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    told = json.loads(ended.stdout) if ended.stdout.startswith("{") else {"error": ended.stderr[-500:]}
    steps = {step: told[step]["seconds"] for step in STEPS if step in told}
    found = {"name": name, "status": ended.returncode, "seconds": round(wall, 2), "cpu_seconds": round(cpu, 2)}
    return {**found, "steps": steps, **({"error": told["error"]} if "error" in told else {})}


def table(rows: Iterable[dict[str, Any]]) -> Iterator[str]:
    """A line of a Markdown table for each row.

    >>> rows = [{"name": "axpby", "seconds": 2.1, "cpu_seconds": 1.4, "steps": {"proved": 0.3, "compiled": 0.5}}]
    >>> print(*table(rows), sep="\\n")
    | family | seconds | of CPU | proved | compiled |
    |---|---|---|---|---|
    | `axpby` | 2.1 | 1.4 | 0.3 | 0.5 |
    """
    yield "| family | seconds | of CPU | proved | compiled |"
    yield "|---|---|---|---|---|"
    for r in rows:
        proved, compiled = (f"{r['steps'][s]:.1f}" if s in r["steps"] else "-" for s in ("proved", "compiled"))
        yield f"| `{r['name']}` | {r['seconds']:.1f} | {r['cpu_seconds']:.1f} | {proved} | {compiled} |"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [f.name for f in families()]
    parser.add_argument("--only", nargs="*", choices=names, default=names)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    rows = []
    for name in options.only:
        rows.append(row(name))
        if options.out:
            options.out.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    print(*table(rows), sep="\n")
    bad = [r for r in rows if r["status"]]
    for r in bad:
        print(f"{r['name']}: status {r['status']}: {r.get('error', '')}", file=sys.stderr)
    return NO_COMPILER if any(r["status"] == NO_COMPILER for r in bad) else 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
