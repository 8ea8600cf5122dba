"""TMA: what a command takes beyond the bytes that it moves, and how long until it is over."""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level
from .launches import branch
from .memory import MIB, hops, sm_clock, sm_rate
from .rows import LOAD, STORE, Row, commands, each, mid, own, scaled, those

BOX, BULK = "box", "bulk"  # ways of M50


def descriptor_fetch(rows: Sequence[Row]) -> Fitted:
    """What the first copy by a map takes longer than the first bulk copy, of all SMs."""
    most = max(r.get("sms", 0) for r in rows)
    [bulk], [mapped] = (those(rows, kernel="first_copies", kind=kind, sms=most) for kind in (0, 1))
    return scaled(level(mapped["a"]), 1, mid(bulk, "a"))


def tma_row(rows: Sequence[Row]) -> Fitted:
    """Cycles of a row of a box of many short rows that one SM loads from L2; at most, since its loop takes as long."""
    found = [r for r in those(rows, kernel="boxes", mode=LOAD, sms=1, slots=4) if r["rows"] == 256]
    return level([mid(r) / r["trips"] / r["rows"] for r in found if r["row_bytes"] <= 32])


def cluster_arrive(rows: Sequence[Row]) -> Fitted:
    """Cycles that a slot of two CTAs, which each loads a half of for both, takes longer than one of one CTA.

    Each waits until the other has given it back.
    """
    [one], [two] = (those(rows, ctas=n, bytes=8192, slots=1, footprint=16 * MIB) for n in (1, 2))
    both = zip(sorted(one["cycles"]), sorted(two["cycles"]), strict=False)
    return level([(b - a) / one["trips"] for a, b in both])


def tma_latency(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of a bulk copy of a line in L2, behind the front end: a hop of a chase less what else is in it."""
    hop, clock = hops(rows, 0, 1), sm_clock(rows).value
    load = each(rows, pattern="chain").value
    rest = own(rows, "expect", "issue", "wait") + load + commands(1, "cycles")(rows).value
    return scaled(hop, 1, rest / clock)


def tma_store_read(rows: Sequence[Row]) -> Fitted:
    """Cycles until the source of a store was read, beyond its bytes, its issue and the wait that follows."""
    return scaled(each(rows, op="store_and_read"), 1, own(rows, "issue", "group"))


def tensor_address(rows: Sequence[Row]) -> Fitted:
    """Cycles until a box can be asked for behind a wait: generated rings of three slots that store, less the rest.

    That is a wait which is over, the command, its bytes, until they are read, an arrival, and a jump.
    """
    rest = own(rows, "wait", "issue", "arrive") + branch(rows).value + tma_store_read(rows).value
    sent = sm_rate(STORE)(rows).value
    return level([each - nbytes / sent - rest for nbytes, each in _iterations(rows, 3, (BOX,))])


def mbarrier_wake(rows: Sequence[Row]) -> Fitted:
    """Cycles from the end of a phase until one thread goes on that waits for it: the same rings, of one slot.

    Each of two threads wakes the other, while one of three slots waits for a phase that is over, and jumps.
    """
    rest = own(rows, "wait", "arrive") + branch(rows).value - 2 * own(rows, "arrive")
    pairs = zip(_iterations(rows, 1, (BOX, BULK)), _iterations(rows, 3, (BOX, BULK)), strict=True)
    return level([(one - three + rest) / 2 for (_, one), (_, three) in pairs])


def _iterations(rows: Sequence[Row], slots: int, ways: tuple[str, ...]) -> list[tuple[int, float]]:
    """Bytes, and cycles of an iteration of generated rings of one CTA that store, and load nothing."""
    clock, found = sm_clock(rows).value, []
    for r in those(rows, kernel="hands", load="nothing", store=ways, slots=slots):
        found.append((r["bytes"], clock * (mid(r, "many_ns") - mid(r, "few_ns")) / (r["many"] - r["few"])))
    return found
