"""Times that kernels take of themselves on a device, and whether they can be true.

    python -m benchmarks.hardware.stamped [--only tma_copy ..] [--out FILE]

A row has, for each place, how long it took and how often; of the launch what was checked: a begin is not after its end,
nothing is outside of its launch, bytes of an iteration land after their copy was issued, no warp of a cluster passes a
barrier of the cluster before the last comes, on whichever SM that is, and ``%globaltimer`` counts in whole steps. Exit
status 1 where a check fails, 4 where there is no device.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gpu
from benchmarks.hardware.command import NO_DEVICE, is_missing, parser_of, write
from gpu.codegen.stamps import HEADER_WORDS
from gpu.running import Generated, run_unproved
from gpu.stamps import STEP_NS, Stamps, read
from symlayout import dims, kernels
from symlayout.kernel import Kernel

ITERATIONS = 32
SMALL = {"at_most": 1 << 20}
M, N, K = dims("M N K", **SMALL)

CASES: dict[str, tuple[Callable[[], Kernel], dict[str, int]]] = {
    "tma_copy": (lambda: kernels.tma_copy(M, N, slots=4, blocks=132), {"M": 4096, "N": 4096}),
    "tma_transpose": (lambda: kernels.tma_transpose(M, N), {"M": 2048, "N": 2048}),
    "bulk_copy": (lambda: kernels.bulk_copy(N, blocks=132), {"N": 1 << 20}),
    "cp_async_copy": (lambda: kernels.cp_async_copy(N, blocks=132), {"N": 1 << 20}),
    "gemm": (lambda: kernels.gemm(M, N, K), {"M": 1024, "N": 1024, "K": 1024}),
    "gemm_cluster_1": (lambda: kernels.gemm(M, N, K, cluster=1, blocks=132), {"M": 1024, "N": 1024, "K": 1024}),
}


def row(name: str) -> dict[str, Any]:
    """Run one case with stamps, and check them."""
    build, sizes = CASES[name]
    bound = build().bind(**sizes)
    draw = np.random.default_rng(1)
    given: dict[str, Any] = {
        t.name: draw.integers(-2, 3, tuple(np.atleast_1d(_shape(t)))).astype(t.dtype.numpy())
        for t in bound.tensors
        if t.space == "global" and t.name not in bound.written
    }
    with gpu.Device() as device:
        code = Generated(bound, stamps=ITERATIONS)
        plan, [words_of] = code.source.stamps, [a.name for a in code.source.arguments if a.kind == "stamps"]
        assert plan is not None
        ctas = math.prod(int(n) for n in bound.grid)
        for _ in range(2):  # the first launch loads the code
            words = np.zeros(ctas * plan.words_per_cta, np.uint64)
            run_unproved(bound, {**given, words_of: words}, device, code)
        found = read(bound, plan, words, device.facts.name)
        warps = words.reshape(ctas, plan.words_per_cta)[:, : HEADER_WORDS * plan.warps].reshape(-1, HEADER_WORDS)
        registers = code.cubin.kernel(code.source.name).registers
    return {
        **{"name": name, "sizes": sizes, "device": found.device, "digest": found.digest, "ctas": found.ctas},
        **{"registers": registers, "stamps": len(found.stamps), "places": list(found.summary())},
        **checked(found, warps.astype(np.int64), math.prod(bound.cluster)),
    }


def _shape(tensor: Any) -> tuple[int, ...]:
    shape = tensor.layout.shape
    return tuple(map(int, shape)) if isinstance(shape, tuple) else (int(shape),)


def checked(found: Stamps, warps: np.ndarray[Any, Any], cluster: int) -> dict[str, Any]:
    """What is true of all stamps of a launch; *warps* are the readings of timer and clock of each, start and end."""
    ns, cycles = warps[:, 2] - warps[:, 0], warps[:, 3] - warps[:, 1]
    end = int(warps[:, 2].max() - warps[:, 0].min())
    long = ns > np.quantile(ns, 0.5) - 1
    rates = cycles[long] / np.maximum(ns[long], 1)
    step = int(np.gcd.reduce(np.concatenate([warps[:, 0] - warps[:, 0].min(), ns])))
    return {
        "step_ns": step,
        "launch_ns": end,
        "clock_ghz": [round(float(x), 4) for x in np.percentile(rates, (5, 50, 95))],
        "begin_after_end": sum(s.begin_ns > s.end_ns for s in found.stamps),
        "outside_of_launch": sum(s.begin_ns < -STEP_NS or s.end_ns > end + STEP_NS for s in found.stamps),
        "landed_before_issue": sum(1 for _ in _too_early(found)),
        "passed_too_early_ns": _passed_too_early(found, cluster),
        "landed": sum(s.place.ends == "land" and "mbarrier" in s.place.of for s in found.stamps),
    }


def _too_early(found: Stamps) -> Iterator[int]:
    """The iterations whose bytes landed, by an mbarrier, before the first copy of it was issued in that CTA."""
    issued: dict[tuple[int, int], float] = {}
    for s in found.of(what="issue"):
        if s.place.role == "producer":
            at = s.cta, s.iteration
            issued[at] = min(s.begin_ns, issued.get(at, s.begin_ns))
    for s in found.of(what="wait"):
        at = s.cta, s.iteration
        if s.place.ends == "land" and "mbarrier" in s.place.of and s.end_ns < issued.get(at, s.end_ns):
            yield s.iteration


def _passed_too_early(found: Stamps, cluster: int) -> float:
    """How long before the last warp of a cluster came to a barrier of the cluster the first passed it, at most."""
    came: dict[tuple[Any, ...], list[float]] = {}
    for s in found.of(what="barrier"):
        if s.place.of == "the cluster":
            came.setdefault((s.cta // cluster, s.place.words, s.iteration), []).append(s.begin_ns)
            came.setdefault((s.cta // cluster, s.place.words, s.iteration, "passed"), []).append(s.end_ns)
    return round(max((max(x) - min(came[*at, "passed"]) for at, x in came.items() if len(at) == 3), default=0.0), 1)


def is_plausible(row: dict[str, Any]) -> bool:
    """Whether every check holds; two steps of the timer are allowed between SMs."""
    times = ("begin_after_end", "outside_of_launch", "landed_before_issue")
    early = row["passed_too_early_ns"] > 2 * STEP_NS
    return row["step_ns"] % STEP_NS == 0 and not early and not any(row[k] for k in times)


def _lines(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['name']:16} {'plausible' if is_plausible(row) else 'NOT PLAUSIBLE'}"
    yield f"    { {k: v for k, v in row.items() if k not in ('places', 'name')} }"
    for p in row["places"]:
        of = f"{p['what']} of {p['of']} ({p['ends']})"
        every = "" if p["every_ns"] is None else f", every {p['every_ns']:.0f} ns"
        yield f"    {p['role']:10} {of:48} {p['stamps']:6}  {p['median_ns']:7.0f} ns, p90 {p['p90_ns']:7.0f}{every}"


def main() -> int:
    parser = parser_of(__doc__, CASES)
    options = parser.parse_args()
    if is_missing():
        return NO_DEVICE
    rows = []
    for name in options.only:
        rows.append(row(name))
        print(*_lines(rows[-1]), sep="\n", flush=True)
        write(options.out, rows)
    return 0 if all(map(is_plausible, rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
