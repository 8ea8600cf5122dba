"""Single tiles and short rows: what a launch sets up, requests of L2, and reads that wait for writes there."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level
from .memory import MIB, l2_rate, sm_port_rate
from .rows import COPY, LOAD, STORE, Row, mid, scaled, those
from .sm import barrier_interval, barrier_release

SECTOR, MANY = 32, 256  # bytes of a row, and rows of a box
MET, BEGUN = 2, 0  # steps of M31: all have met behind the mbarriers, and at once
WARPS, MAPS = 2, 2  # of these launches
BUSY = 0.4  # part of the time for which L2 writes, from which on reads wait for more than a few nanoseconds
HELD_UP = 0.95  # of its rate, from which on the port of an SM is what holds up a ring
SLICE = 8192  # bytes of 64 rows of an operand of products
MOST_BYTES = 4096  # of the chunks that say what a read waits for: longer ones wait for themselves


def _until_met(rows: Sequence[Row], how: str) -> Fitted:
    """Cycles from the first instruction of a warp of a CTA until all have met behind the mbarriers."""
    stamped = [r for r in those(rows, how=how, grid=1) if "cycles" in r]
    [met], [begun] = (those(stamped, step=step) for step in (MET, BEGUN))
    return scaled(level(met["cycles"]), 1, mid(begun))


def mbarrier_setup(rows: Sequence[Row]) -> Fitted:
    """Cycles until mbarriers are there, before the barrier of all threads: special registers, an election, a fence."""
    meeting = barrier_release(rows).value + WARPS * barrier_interval(rows).value
    return scaled(_until_met(rows, "bulk"), 1, meeting)


def map_prefetch(rows: Sequence[Row]) -> Fitted:
    """Cycles that a prefetch of a tensor map takes its thread."""
    return scaled(_until_met(rows, "mapped"), MAPS, _until_met(rows, "bulk").value)


def _requests(rows: Sequence[Row], mode: int, row_bytes: int = SECTOR) -> Fitted:
    """Nanoseconds of a row of a sector each, of all SMs."""
    short = [r for r in those(rows, id="M32", mode=mode, row_bytes=row_bytes) if r["rows"] == MANY]
    found = those(short, sms=max(r["sms"] for r in short))
    return level([mid(r, "ns") / (r["trips"] * r["grid"] * r["rows"]) for r in found])


def l2_request(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that L2 takes for a read at least."""
    return _requests(rows, LOAD)


def l2_write_request(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that L2 takes for a write at least."""
    return _requests(rows, STORE)


def l2_part_request(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that L2 takes for a write of half a sector."""
    return _requests(rows, STORE, SECTOR // 2)


def l2_write_wait(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that a read waits where L2 writes for half of the time: copies of all SMs, less those of one.

    What loads alone take longer is taken away. The wait is as the time that L2 writes is to the time that it does not.
    """
    rings = [r for r in those(rows, kernel="ring", slots=1) if r["footprint"] <= 16 * MIB and r["bytes"] <= MOST_BYTES]
    write = l2_rate(STORE)(rows).value

    def trip(mode: int, like: Row, few: bool) -> float:
        alike = those(rings, id="M33", mode=mode, bytes=like["bytes"], per_sm=like["per_sm"])
        [row] = [r for r in alike if (r["sms"] == 1) == few]
        return mid(row) / row["trips"] / float(row["ghz"])

    found = []
    for r in those(rings, id="M33", mode=COPY, sms=max(r["sms"] for r in rings)):
        busy = r["bytes"] * r["grid"] / trip(COPY, r, few=False) / write
        if busy >= BUSY:
            more = [trip(mode, r, few=False) - trip(mode, r, few=True) for mode in (COPY, LOAD)]
            found.append((more[0] - more[1]) * (1 - busy) / busy)
    return level(found)


def crossbar_wait(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that a load by TMA waits for others: iterations of rings of all SMs, less those of one.

    Of a part r of the time of ports it is r^3 / (1 - r) of this. A slot is given back a step late, so a ring of S slots
    has S - 1 under way. Rings that the port of one SM holds up do not count.
    """
    port = sm_port_rate(rows).value
    fed = those(rows, id="M30", kernel="fed_0")
    rings = those(fed, count=max(r["count"] for r in fed))
    most = max(r["sms"] for r in rings)
    found, parts = [], []
    for r in those(rings, sms=most):
        [alone] = those(rings, sms=1, warpgroups=r["warpgroups"], slots=r["slots"])
        nbytes = (1 + r["warpgroups"]) * SLICE
        cycles, least = mid(r) / r["count"], mid(alone) / r["count"]
        if nbytes / least < HELD_UP * port:
            busy = nbytes / cycles / port
            found.append((cycles - least) * (r["slots"] - 1) / r["ghz"] * (1 - busy) / busy**3)
            parts.append(busy)
    return level(found, {"the part": parts})
