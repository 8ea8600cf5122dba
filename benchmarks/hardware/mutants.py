"""Broken kernels on a device: what the prover lets pass, and what the table calls the same kernel, must run as that.

    python -m benchmarks.hardware.mutants [--family tma_copy] [--out FILE] [--workers 12]

Every mutant of ``benchmarks.kernel_mutation`` is judged by proof and by untimed runs. Those that are proved, or open
while no run tells them from the kernel, are printed as CUDA, compiled and run at the sizes of their family, in child
processes: each has to leave the bytes of the reference, guards and inputs untouched, and neither fault nor hang. A
refusal before the launch (an argument that no map or rule admits) is no run. Prints a table; exit status 1 where one
does otherwise, 4 where there is no device.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections import Counter
from pathlib import Path

from joblib import Parallel, delayed

import gpu
from benchmarks.kernel_mutation import FAMILIES, Judged, inputs, judged, mutants, refuted
from benchmarks.reproduce import is_refusal
from gpu import child
from gpu.differential import data
from gpu.differential.cases import difference
from gpu.running import Generated, run_unproved
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

LIMIT_S = 20.0  # of one mutant on the device
DELAYS = 1  # the seed of random waits, with which races show
POLLS = ("POLL_LIMIT=2000000",)  # a wait that never ends traps
# What makes a mutant slow and not wrong; the trap of POLLS serialises wgmma.
ALLOWED = ("wgmma-serialized", "wgmma-wait-injected", "setmaxnreg-ignored", "spills", "stack")


@functools.cache
def every(family: str) -> list[tuple[str, Kernel]]:
    """The mutants of a family, in order."""
    return list(mutants(FAMILIES[family].build()))


def judge(family: str, i: int) -> Judged:
    """The judgement on mutant *i*, without a device."""
    name, mutant = every(family)[i]
    return judged(name, mutant, FAMILIES[family].sizes, _known(family))


@functools.cache
def _known(family: str) -> Counter[str]:
    return refuted(FAMILIES[family].build())


def on_device(family: str, i: int) -> str:
    """Run mutant *i* at all sizes: "" for the reference's bytes, or what is otherwise."""
    name, mutant = every(family)[i]
    try:
        code = Generated(mutant, defines=POLLS, allow=ALLOWED, delays=DELAYS)
    except LayoutError as e:
        return f"no code: {e}"
    with gpu.Device() as device:
        for at in FAMILIES[family].sizes:
            bound = mutant.bind(**at) if mutant.dims else mutant
            given = inputs(bound)
            try:
                found = run_unproved(bound, given, device, code)
            except gpu.errors.RunError as e:
                return f"{at}: {e}"
            wanted = data.wanted(bound, given)
            assert wanted is not None
            if told := difference(bound, None, found, wanted, f"reference of {name}"):
                return f"{at}: {told}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--family", choices=FAMILIES, nargs="*", default=list(FAMILIES))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=12)
    options = parser.parse_args()
    if not gpu.availability():
        print(gpu.availability())
        return 4
    from benchmarks.hardware import mutants as here  # workers import it: this module may be __main__

    pool = Parallel(n_jobs=options.workers)
    bad, rows = 0, []
    print(
        f"{'family':16} {'mutants':>8} {'to run':>7} {'same bytes':>11} {'refused':>8} {'otherwise':>10} {'seconds':>8}"
    )
    for family in options.family:
        began, n = time.perf_counter(), len(every(family))
        found = pool(delayed(here.judge)(family, i) for i in range(n))
        wanted = [i for i, j in enumerate(found) if j.proof == "proved" or j.kind == "equivalent"]
        pool(delayed(here.compiled)(family, i) for i in wanted)
        told = []
        for i, outcome in zip(
            wanted,
            child.each("benchmarks.hardware.mutants:on_device", [(family, i) for i in wanted], limit_s=LIMIT_S),
            strict=True,
        ):
            said = str(outcome.error) if outcome.error else outcome.value
            told.append(said)
            j = found[i]
            rows.append({"family": family, "mutant": j.name, "proof": j.proof, "run": j.said, "device": said})
        refused = sum(map(is_refusal, told))
        wrong = [(i, t) for i, t in zip(wanted, told, strict=True) if t and not is_refusal(t)]
        bad += len(wrong)
        took = time.perf_counter() - began
        print(
            f"{family:16} {n:8} {len(wanted):7} {told.count(''):11} {refused:8} {len(wrong):10} {took:8.1f}", flush=True
        )
        for i, t in wrong[:5]:
            print(f"    {found[i].name}: {t}"[:400], flush=True)
    if options.out:
        options.out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 1 if bad else 0


def compiled(family: str, i: int) -> None:
    """Put the machine code of a mutant into the cache."""
    try:
        Generated(every(family)[i][1], defines=POLLS, allow=ALLOWED, delays=DELAYS)
    except Exception:  # what it is, the run on the device says
        return


if __name__ == "__main__":
    sys.exit(main())
