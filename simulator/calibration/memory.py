"""L2, DRAM and the ports of SMs to them: rates by rings and boxes, latencies by chases, and what waits in DRAM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..cache import MISSED, WINDOWS
from ..dram import PLACE_LINES
from ..fitting import Fitted, level, line
from .rings import together
from .rows import COPY, LOAD, STORE, Row, Rule, mid, rate, scaled, those

if TYPE_CHECKING:
    from ..points import Array

MIB = 1 << 20
HANDED, MANY = 2, 64  # boxes of a CTA, and CTAs of each SM, where most CTAs start when others end
IN_FLIGHT = 96 << 10  # bytes of each SM, from which on DRAM is busy all the time
TILES = (1, 3)  # of an SM, of the launches of M43 that are compared
BURST = 32768  # bytes of the tiles of M43 that hold up neither a command nor a loop
FEW_SMS = 8  # that leave DRAM idle
FEW_SLOTS, SHORT = 3, 2048  # up to so many, and from such a chunk on, a ring waits for memory, not for its own loop
FULL = 0.94  # of the time that DRAM is busy: nearer to its rate the rest is not known well
LINE = 128  # bytes
MOST_ALONE = 16384  # bytes of a chunk: the rate of DRAM for few SMs hides what more of them wait


def sm_clock(rows: Sequence[Row]) -> Fitted:
    """GHz of the SMs while DRAM streams."""
    return level([r["ghz"] for r in those(rows, mode=LOAD)])


def sm_rate(mode: int) -> Rule:
    """One SM, or so few that nothing else binds: bytes of a cycle."""

    def rule(rows: Sequence[Row]) -> Fitted:
        found = [
            r for r in those(rows, mode=mode, per_sm=1, footprint=16 * MIB, bytes=16384, slots=8) if r["sms"] <= 16
        ]
        return level([rate(r) / r["sms"] / r["ghz"] for r in found], {"sms": [r["sms"] for r in found]})

    return rule


def sm_port_rate(rows: Sequence[Row]) -> Fitted:
    """One SM that loads two boxes of 16 KB a step: single ones are bound by the loop that asks for them."""
    alone = those(rows, kernel="operands", grid=1)
    return level([(r["rows_a"] + r["rows_b"]) * 128 * r["trips"] / mid(r) for r in alone])


# -- rates of DRAM -------------------------------------------------------------------------------------------


def _deep(rows: Sequence[Row], mode: int) -> list[Row]:
    """Rings of all SMs with so much in flight that more would not be faster."""
    most = max(r.get("sms", 0) for r in rows)
    found = those(rows, kernel="ring", mode=mode, sms=most)
    return [r for r in found if r["bytes"] * r["slots"] * r["per_sm"] >= IN_FLIGHT and r["bytes"] >= 4096]


def dram_rate(mode: int) -> Rule:
    """Bytes of a nanosecond that DRAM loads, or stores, with so much in flight that more would not be faster."""

    def rule(rows: Sequence[Row]) -> Fitted:
        wide = [r for r in those(rows, kernel="ring", mode=mode) if r["bytes"] >= 8192]
        found = wide if mode == STORE else _deep(rows, mode)  # of stores four are under way, whatever the slots
        return level([rate(r) for r in found], {"slots": [r["slots"] for r in found]})

    return rule


def _turned(rows: Sequence[Row], rates: Sequence[float]) -> Fitted:
    """What copies take longer than their reads and their writes alone: bytes written in a nanosecond of that."""
    reads, writes = dram_rate(LOAD)(rows).value, dram_rate(STORE)(rows).value
    return level([0.5 / (1 / x - 0.5 / reads - 0.5 / writes) for x in rates])


def dram_turnaround(rows: Sequence[Row]) -> Fitted:
    """Of CTAs of two boxes, or of a few loads and stores: the next one starts where one ends, so what is under way is
    near together.
    """
    boxes = those(rows, id="M40", mode=COPY, way=0, trips=HANDED)
    streams = [r for r in those(rows, kernel="stream", mode=COPY, per_sm=MANY) if r["footprint"] >= 1 << 30]
    return _turned(rows, [*map(rate, boxes), *(2 * r["bytes"] / mid(r, "ns") for r in streams)])


def dram_turnaround_apart(rows: Sequence[Row]) -> Fitted:
    """Of rings that each have their part of the work from the start, while DRAM serves all SMs alike."""
    return _turned(rows, [1 / together(rows)[1]])


# -- L2 ------------------------------------------------------------------------------------------------------


def l2_rate(mode: int) -> Rule:
    """Bytes of a nanosecond that all SMs load from L2, or store into it, in passes over the same bytes."""

    def rule(rows: Sequence[Row]) -> Fitted:
        most = max(r.get("sms", 0) for r in rows)
        found = those(rows, mode=mode, sms=most, bytes=16384, slots=(4, 8), per_sm=1)
        found = [r for r in found if r["footprint"] <= (32 * MIB if mode == LOAD else 16 * MIB)]
        return level([rate(r) for r in found], {"footprint": [r["footprint"] for r in found]})

    return rule


def _of_bursts(rows: Sequence[Row], mode: int) -> list[float]:
    """Nanoseconds of a byte that launches of M43 move more, if SMs have two tiles under way: until the last SM is over.

    SMs are not served alike, which evens out where each stores into all lines in turn (M7), as no copy does.
    """
    bursts = those(rows, id="M43", how="bulk", mode=mode, bytes=BURST)
    found = []
    for slots, per_sm in sorted({(r["slots"], r["per_sm"]) for r in bursts if r["slots"] * r["per_sm"] > 1}):
        alike = those(bursts, slots=slots, per_sm=per_sm)
        sms = alike[0]["grid"] // per_sm
        [few], [many] = (those(alike, tiles=n * sms) for n in TILES)
        found.append((mid(many, "ns") - mid(few, "ns")) / ((many["tiles"] - few["tiles"]) * BURST))
    return found


def l2_write_rate(rows: Sequence[Row]) -> Fitted:
    """Bytes of a nanosecond that L2 takes where each of all SMs stores each line once."""
    return level([1 / ns for ns in _of_bursts(rows, STORE)])


def l2_beside_rate(rows: Sequence[Row]) -> Fitted:
    """Bytes of a nanosecond that L2 writes in what copies of each line once take beyond their loads."""
    loads = l2_rate(LOAD)(those(rows, id="M7")).value
    return level([1 / (ns - 1 / loads) for ns in _of_bursts(rows, COPY)])


def _passes(rows: Sequence[Row]) -> tuple[float, float, Fitted]:
    """(bytes that L2 holds, the part of its time for a read that a byte from DRAM takes more, what that leaves over).

    Loops over a footprint run at the rate of L2, which writes what it has missed, or at that of DRAM for that.
    """
    most = max(r.get("sms", 0) for r in rows)
    found = those(rows, id="M7", kernel="ring", mode=LOAD, sms=most, bytes=16384, slots=8, per_sm=1)
    sizes = np.array([r["footprint"] for r in found], dtype=float)
    rates = np.array([rate(r) for r in found])
    low = dram_rate(LOAD)(those(rows, id="M4")).value
    high = level([float(x) for x in rates[sizes <= 24 * MIB]]).value
    best, value = np.inf, (0.0, 0.0)
    for whole in np.arange(16, 64, 0.5) * MIB:
        missed = np.interp(sizes / whole, WINDOWS, MISSED)
        for fill in np.arange(0, 1.5, 0.05):
            time = np.maximum((1 + fill * missed) / high, missed / low)
            left = float(np.sqrt(np.mean((1 / time / rates - 1) ** 2)))
            if left < best:
                best, value = left, (float(whole), float(fill))
    return *value, Fitted(value[0], best, len(found))


def l2_bytes(rows: Sequence[Row]) -> Fitted:
    """Bytes that L2 holds as a whole."""
    return _passes(rows)[2]


def l2_fill(rows: Sequence[Row]) -> Fitted:
    """What a byte from DRAM takes of L2's time beside that of reading it, as a part of that."""
    _, fill, fit = _passes(rows)
    return Fitted(fill, fit.residual, fit.points)


# -- chases --------------------------------------------------------------------------------------------------


def hops(rows: Sequence[Row], cold: int, kind: int, low: int = 0, high: int = 256 * MIB) -> Fitted:
    """Nanoseconds of a hop of a chase by a *kind* of load, through *cold* lines or such that L2 has."""
    found = [r for r in those(rows, kernel="chase", cold=cold, kind=kind, sm=-1) if low <= r["footprint"] <= high]
    return level([mid(r, "ns") / r["hops"] for r in found], {"footprint": [r["footprint"] for r in found]})


def dram_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that a hop takes longer where L2 does not have the line."""
    return scaled(hops(rows, 1, 0), 1, hops(rows, 0, 0).value)


def l2_half_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that a hop takes longer through lines that all SMs have read: some are in the other half of L2."""
    found = [r for r in those(rows, kernel="chase", how="all") if 4 * MIB <= r["footprint"] <= 32 * MIB]
    return scaled(level([mid(r, "ns") / r["hops"] for r in found]), 1, hops(rows, 0, 0).value)


def translation_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds that a hop takes longer in a footprint of 512 MB or more."""
    return scaled(hops(rows, 0, 0, 512 * MIB, 1 << 40), 1, hops(rows, 0, 0).value)


# -- waits in DRAM -------------------------------------------------------------------------------------------


def _cycle_of_a_slot(row: Row) -> float:
    """Nanoseconds from a load into a slot of a ring to the next one."""
    return float(row["slots"] * mid(row, "ns") / row["trips"])


def _misses(rows: Sequence[Row]) -> list[tuple[int, int, float]]:
    """Lines of a place, places, and what one load under way waits longer for DRAM than for L2, of few SMs."""
    found = {}
    for r in those(rows, kernel="lone"):
        each = (mid(r, "many_ns") - mid(r, "few_ns")) / (r["many"] - r["few"])
        found[r["rows"], r["row_bytes"], r["dram"]] = each
    told = []
    for (n, nbytes, dram), each in found.items():
        if dram and nbytes <= MOST_ALONE:
            lines = -(-nbytes // LINE)
            more = each - found[n, nbytes, False]
            told.append((min(lines, PLACE_LINES), max(1, n) * -(-lines // PLACE_LINES), more))
    return told


def dram_spread(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds by which the latest of several lines is later: by the largest of so many Gaussian ones."""
    some = [(float(np.sqrt(2 * np.log(lines))), more) for lines, places, more in _misses(rows) if places == 1]
    x, y = zip(*some, strict=True)
    return line([0.0, *x], [dram_latency(those(rows, id="M8")).value, *y])


def dram_place_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of the wait of a place of its own: the last of several is later by the logarithm of their number."""
    near, spread = dram_latency(those(rows, id="M8")).value, dram_spread(rows).value
    beside = [(more - near - spread * np.sqrt(2 * np.log(lines)), n) for lines, n, more in _misses(rows) if n > 1]
    return level([float(more / np.log(n)) for more, n in beside])


def _longer(rows: Sequence[Row], mode: int) -> Array:
    """Of rings of more SMs than 8, columns: the parts of the time for which DRAM reads and writes, each by what the
    last of a chunk's lines waits as queues are then; what the cycle of a slot is longer than with 8 SMs; the cycle.

    Where DRAM is busy all the time, its bus makes them wait.
    """
    large = [r for r in rows if r.get("footprint", 0) > 1 << 30]
    reads, writes = dram_rate(LOAD)(large).value, dram_rate(STORE)(large).value
    turn = dram_turnaround_apart(rows).value
    rings = [r for r in those(large, kernel="ring", mode=mode) if r["slots"] <= FEW_SLOTS and r["bytes"] >= SHORT]
    few = {(r["bytes"], r["slots"]): _cycle_of_a_slot(r) for r in rings if r["sms"] == FEW_SMS}
    found = []
    for r in rings:
        key, cycle = (r["bytes"], r["slots"]), _cycle_of_a_slot(r)
        moved = r["bytes"] * r["trips"] * r["grid"] / mid(r, "ns")
        parts = np.array([moved / reads, moved * (1 / writes + 1 / turn) if mode == COPY else 0.0])
        if r["sms"] > FEW_SMS and key in few and parts.sum() < FULL:
            lines = r["bytes"] / LINE
            found.append([*parts * lines / (lines + 1) / np.sqrt(1 - parts.sum()), cycle - few[key], cycle])
    return np.array(found).T


def dram_wait(direction: int) -> Rule:
    """What a line waits longer, by the part of the time for which DRAM reads (0) or writes (1).

    By the least squares of what is left over, relative to cycles; the residual is relative to the waits.
    """

    def rule(rows: Sequence[Row]) -> Fitted:
        *parts, longer, cycle = _longer(rows, COPY if direction else LOAD)
        x, y = parts[direction] / cycle, longer / cycle
        if direction:
            y = y - dram_wait(0)(rows).value * parts[0] / cycle
        value = float(x @ y / (x @ x))
        return Fitted(value, float(np.sqrt(np.mean((value * x - y) ** 2) / np.mean(y**2))), len(y))

    return rule
