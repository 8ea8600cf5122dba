"""Units inside an SM: instructions, shared memory, barriers, and products of the tensor core."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level, line
from .rows import Row, Rule, each, mid, own, scaled, those

STEP_WGMMAS = 4  # of a step of main loops: K = 64


def interval(kernel: str) -> Rule:
    """Of 16 warps on four schedulers: cycles of one instruction of a scheduler."""
    return lambda rows: scaled(each(rows, kernel=kernel, warps=16), 4)


def wavefront_interval(rows: Sequence[Row]) -> Fitted:
    """Cycles of a wavefront, of eight warps that load and store by all patterns."""
    some = [r for r in those(rows, warps=8) if "wavefronts" in r]
    x: list[float] = []
    y: list[float] = []
    for name in dict.fromkeys(r["pattern"] for r in some):
        of = those(some, pattern=name)
        if of[0]["wavefronts"] > 1:  # the loop around them is seen beside one
            x.append(float(of[0]["wavefronts"]))
            y.append(each(of).value / 8)
    return line(x, y)


def matrix_interval(rows: Sequence[Row]) -> Fitted:
    """Cycles of an ldmatrix.x1, of eight warps."""
    return scaled(each(rows, pattern="ldmatrix_1 rows of 144 bytes", warps=8), 8)


def barrier_interval(rows: Sequence[Row]) -> Fitted:
    """The line of __syncthreads by the warps that meet."""
    warps = sorted({r["warps"] for r in those(rows, kernel="meet")})
    return line(warps, [each(rows, kernel="meet", warps=w).value for w in warps])


def barrier_release(rows: Sequence[Row]) -> Fitted:
    """Cycles of __syncthreads without its warps."""
    fit = barrier_interval(rows)
    return Fitted(fit.intercept, fit.residual, fit.points, fit.pattern)


def fence(rows: Sequence[Row]) -> Fitted:
    """Cycles of a fence of four warps, less the store before it."""
    both = each(rows, op="fence_async_shared", warps=4)
    return scaled(both, 1, each(rows, op="no_fence", warps=4).value)


def cluster_barrier(rows: Sequence[Row]) -> Fitted:
    """Cycles of a barrier of two CTAs, less that of one."""
    return _cluster(rows, 4)


def cluster_release(rows: Sequence[Row]) -> Fitted:
    """Cycles by which a further warp of each scheduler delays it, since each makes visible what it wrote."""
    return scaled(_cluster(rows, 12), 2, _cluster(rows, 4).value)


def _cluster(rows: Sequence[Row], warps: int) -> Fitted:
    alone = each(rows, op="cluster_barrier", warps=warps, ctas=1)
    return scaled(each(rows, op="cluster_barrier", warps=warps, ctas=2), 1, alone.value)


def division(rows: Sequence[Row]) -> Fitted:
    """Cycles of a division of 32 bits by a number that is new each time: a mask and a sum make it."""
    return scaled(each(rows, op="divisor_32"), 1, 2 * each(rows, kernel="fma_1", warps=1).value)


# -- wgmma ---------------------------------------------------------------------------------------------------


def wgmma_latency(rows: Sequence[Row]) -> Fitted:
    """Cycles of a batch of one wgmma beyond its own N/2, A in shared memory."""
    widths = sorted({r["n"] for r in those(rows, place="ss", depth=1, warpgroups=1)})
    found = [each(rows, place="ss", depth=1, warpgroups=1, n=n).value - n / 2 for n in widths]
    return level(found)


def wgmma_column(rows: Sequence[Row]) -> Fitted:
    """Cycles of a column of N, of two warpgroups that keep the tensor core busy."""
    short = [r for r in rows if not r.get("long")]
    widths = sorted({r["n"] for r in those(short, place="ss", depth=16, warpgroups=2)})
    return level([each(short, place="ss", depth=16, warpgroups=2, n=n).value / (2 * 16 * n) for n in widths])


def _step(rows: Sequence[Row], groups: int) -> float:
    """Cycles of a step of four wgmmas of the least N that main loops have, their descriptors made in each step."""
    return each(rows, kernel="step_64_ring_none", warpgroups=groups).value


def wgmma_issue(rows: Sequence[Row]) -> Fitted:
    """Cycles of a wgmma in a step whose products take less: its descriptors are moved to uniform registers first."""
    rest = own(rows, "wait", "commit", "arrive", "loop") + each(rows, op="group_waits").value
    return level([(_step(rows, 1) - rest) / 4])


def wgmma_issue_beside(rows: Sequence[Row]) -> Fitted:
    """Cycles by which each further warpgroup delays a wgmma of a step."""
    alone = _step(rows, 1)
    return level([(_step(rows, groups) - alone) / (4 * (groups - 1)) for groups in (2, 3)])


def shared_source_read(rows: Sequence[Row]) -> Fitted:
    """Cycles from a store until what it has read may be written: of a load of 16 bytes and four stores.

    A warp of each scheduler does so. That is what they take less the instructions, the latency of the load and the
    wavefronts: four of it, one of the last store.
    """
    return level([_turn(rows, 4) - _load_and(rows, 5)])


def narrow_store(rows: Sequence[Row]) -> Fitted:
    """Cycles of a store of a part of a register: of a load of 16 bytes and eight stores of two bytes each, likewise."""
    rest = _load_and(rows, 1) + shared_source_read(rows).value
    return level([(_turn(rows, 2) - rest) / 8])


def _turn(rows: Sequence[Row], width: int) -> float:
    """Cycles of a load of 16 bytes by each thread, and of the stores of its parts, of a warp on each scheduler."""
    return each(rows, op=f"turn_{width}", warps=4).value


def _load_and(rows: Sequence[Row], instructions: int) -> float:
    """Cycles of so many instructions, of the latency of a load, and of five wavefronts."""
    latency, wavefront = each(rows, pattern="chain").value, wavefront_interval(rows).value
    return instructions * interval("fma_8")(rows).value + latency + 5 * wavefront


def _clocks(rows: Sequence[Row]) -> Fitted:
    """The line of the clock of SMs that all multiply, by the square of the part of their time; power leaves less."""
    found = [r for r in those(rows, count=max(r["count"] for r in rows)) if r["n"] > 0]
    most = max(r["sms"] for r in found)
    all_sms = those(found, sms=most)
    busy = [STEP_WGMMAS * r["n"] / 2 * r["warpgroups"] * r["count"] / mid(r) for r in all_sms]
    return line([b * b for b in busy], [r["ghz"] for r in all_sms])


def wgmma_clock(rows: Sequence[Row]) -> Fitted:
    """The clock of SMs that multiply, in GHz, where their tensor cores are hardly busy."""
    fit = _clocks(rows)
    return Fitted(fit.intercept, fit.residual, fit.points, fit.pattern)


def wgmma_clock_fall(rows: Sequence[Row]) -> Fitted:
    """The part of it that is lost where tensor cores are busy all the time."""
    fit = _clocks(rows)
    return Fitted(-fit.slope / fit.intercept, fit.residual, fit.points, fit.pattern)


def product_clock(rows: Sequence[Row]) -> Fitted:
    """The clock that products of all SMs leave, in GHz."""
    found = those(rows, long=1, warpgroups=2, n=256)
    most = max(r["grid"] for r in found)
    return level([r["ghz"] for r in those(found, grid=most)])
