"""The numbers of a machine from rows of microbenchmarks: for each, which rows say it, and how.

>>> NUMBERS["mbarrier_arrive"].unit, NUMBERS["dram_rate"].rows
('cycles', 'M4')

A rule takes the rows of its microbenchmark and gives a fit; what it leaves over is shown, and looked at for patterns.
Cycles are those of the SM clock, nanoseconds those of the device's own timer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .fitting import Fitted, level, line

Row = Mapping[str, Any]
Rule = Callable[[Sequence[Row]], Fitted]
MIB = 1 << 20
IN_FLIGHT = 96 << 10  # bytes of each SM, from which on DRAM is busy all the time
FEW_IN_FLIGHT = 8192  # bytes of each SM, up to which a ring waits for latencies alone
LOAD, STORE, COPY = 1, 2, 3  # modes of rings and boxes
PLACE = 1024  # bytes in a row that one place of DRAM has
CLUSTER_ONE_WAY = 78  # cycles from an SM to its neighbour (``cluster_arrive``)


@dataclass(frozen=True)
class Source:
    """How a number is found: the microbenchmark, its unit, a sentence, and the rule."""

    rows: str
    unit: str
    sentence: str
    rule: Rule


def mid(row: Row, key: str = "cycles") -> float:
    """The median of the repeats of a row."""
    return float(np.median(row[key]))


def those(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """The rows with these knobs; a tuple gives several values that will do."""
    return [r for r in rows if all(r.get(k) in v if isinstance(v, tuple) else r.get(k) == v for k, v in wanted.items())]


def each(rows: Sequence[Row], by: str = "count", **wanted: Any) -> Fitted:
    """The cycles of one more: the slope between the least and the greatest count, as repeats have it."""
    found = sorted(those(rows, **wanted), key=lambda r: float(r[by]))
    few, many = found[0], found[-1]
    step = many[by] - few[by]
    return level([(y - x) / step for x, y in zip(sorted(few["cycles"]), sorted(many["cycles"]), strict=False)])


def rate(row: Row) -> float:
    """Bytes of a nanosecond, read and written."""
    moved = row["bytes"] * row["trips"] * row["grid"]
    return float(moved * (2 if row["mode"] & LOAD and row["mode"] & STORE else 1) / mid(row, "ns"))


def scaled(fit: Fitted, by: float, less: float = 0.0) -> Fitted:
    """A fit whose value is divided, after something was taken away; residuals grow with what is left."""
    value = (fit.value - less) / by
    return Fitted(value, fit.residual * abs(fit.value / by / value), fit.points, fit.pattern)


# -- rings ---------------------------------------------------------------------------------------------------


def _deep(rows: Sequence[Row], mode: int) -> list[Row]:
    """Rings of all SMs with so much in flight that more would not be faster."""
    most = max(r.get("sms", 0) for r in rows)
    found = those(rows, kernel="ring", mode=mode, sms=most)
    return [r for r in found if r["bytes"] * r["slots"] * r["per_sm"] >= IN_FLIGHT and r["bytes"] >= 4096]


def _dram(mode: int) -> Rule:
    def rule(rows: Sequence[Row]) -> Fitted:
        wide = [r for r in those(rows, kernel="ring", mode=mode) if r["bytes"] >= 8192]
        found = wide if mode == STORE else _deep(rows, mode)  # of stores four are under way, whatever the slots
        return level([rate(r) for r in found], {"slots": [r["slots"] for r in found]})

    return rule


def _turnaround(rows: Sequence[Row]) -> Fitted:
    """What a copy takes longer than its reads and its writes alone: bytes written in a nanosecond of that.

    Copies differ by how far apart lies what is under way: the middle between slowest and fastest, and their span.
    """
    reads, writes = _dram(LOAD)(rows).value, _dram(STORE)(rows).value
    rates = [rate(r) for r in _deep(rows, COPY)]
    streams = [r for r in those(rows, kernel="stream", mode=COPY) if r["footprint"] >= 1 << 30]
    rates += [2 * r["bytes"] / mid(r, "ns") for r in streams]
    slow, middle, fast = (
        0.5 / (1 / x - 0.5 / reads - 0.5 / writes) for x in (min(rates), (min(rates) + max(rates)) / 2, max(rates))
    )
    return Fitted(middle, (fast - slow) / (4 * middle), len(rates))


def _port(mode: int) -> Rule:
    """One SM, or so few that nothing else binds: bytes of a cycle."""

    def rule(rows: Sequence[Row]) -> Fitted:
        found = [
            r for r in those(rows, mode=mode, per_sm=1, footprint=16 * MIB, bytes=16384, slots=8) if r["sms"] <= 16
        ]
        return level([rate(r) / r["sms"] / r["ghz"] for r in found], {"sms": [r["sms"] for r in found]})

    return rule


def _port_in(rows: Sequence[Row]) -> Fitted:
    """One SM that loads two boxes of 16 KB a step: single ones are bound by the loop that asks for them."""
    alone = those(rows, kernel="operands", grid=1)
    return level([(r["rows_a"] + r["rows_b"]) * 128 * r["trips"] / mid(r) for r in alone])


def _chip(mode: int) -> Rule:
    def rule(rows: Sequence[Row]) -> Fitted:
        most = max(r.get("sms", 0) for r in rows)
        found = those(rows, mode=mode, sms=most, bytes=16384, slots=(4, 8), per_sm=1)
        found = [r for r in found if r["footprint"] <= (32 * MIB if mode == LOAD else 16 * MIB)]
        return level([rate(r) for r in found], {"footprint": [r["footprint"] for r in found]})

    return rule


def _fading(rows: Sequence[Row]) -> tuple[float, float, Fitted]:
    """(bytes that L2 holds as a whole, bytes more by which the part it holds falls to 1/e, what that leaves over).

    Loops over a footprint run at the rate of L2, or at that of DRAM for what L2 does not hold, whichever is less.
    """
    most = max(r.get("sms", 0) for r in rows)
    found = those(rows, kernel="ring", mode=LOAD, sms=most, bytes=16384, slots=8, per_sm=1)
    sizes = np.array([r["footprint"] for r in found], dtype=float)
    rates = np.array([rate(r) for r in found])
    high, low = float(np.median(rates[sizes <= 24 * MIB])), float(rates[sizes >= 128 * MIB].min())
    whole = float(sizes[rates >= 0.95 * high].max())
    tried = np.arange(4, 100) * MIB
    missed = -np.expm1(-np.maximum(0.0, (sizes - whole)[None, :] / tried[:, None]))
    left = np.sqrt(np.mean((np.minimum(high, low / np.maximum(missed, 1e-9)) / rates - 1) ** 2, axis=1))
    best = int(np.argmin(left))
    return whole, float(tried[best]), Fitted(whole, float(left[best]), len(found))


def _whole(rows: Sequence[Row]) -> Fitted:
    return _fading(rows)[2]


def _fade(rows: Sequence[Row]) -> Fitted:
    _, fade, fit = _fading(rows)
    return Fitted(fade, fit.residual, fit.points)


# -- chases --------------------------------------------------------------------------------------------------


def _hops(rows: Sequence[Row], cold: int, kind: int, low: int = 0, high: int = 256 * MIB) -> Fitted:
    found = [r for r in those(rows, kernel="chase", cold=cold, kind=kind, sm=-1) if low <= r["footprint"] <= high]
    return level([mid(r, "ns") / r["hops"] for r in found], {"footprint": [r["footprint"] for r in found]})


def _dram_latency(rows: Sequence[Row]) -> Fitted:
    return scaled(_hops(rows, 1, 0), 1, _hops(rows, 0, 0).value)


def _shared(rows: Sequence[Row]) -> Fitted:
    """A hop through lines that all SMs have read, which some find in the other half of L2."""
    found = [r for r in those(rows, kernel="chase", how="all") if 4 * MIB <= r["footprint"] <= 32 * MIB]
    return level([mid(r, "ns") / r["hops"] for r in found])


def _translation(rows: Sequence[Row]) -> Fitted:
    return scaled(_hops(rows, 0, 0, 512 * MIB, 1 << 40), 1, _hops(rows, 0, 0).value)


# -- waits in DRAM ---------------------------------------------------------------------------------------------


def _cycle_of_a_slot(row: Row) -> float:
    """Nanoseconds from a load into a slot of a ring to the next one."""
    return float(row["slots"] * mid(row, "ns") / row["trips"])


def _spread(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds by which the latest of several places in DRAM is later: by the largest of so many Gaussian ones."""
    port = _port_in(rows).value * _clock(rows).value
    most = max(r.get("sms", 0) for r in rows)
    alone = those(rows, kernel="ring", mode=LOAD, slots=1, per_sm=1)
    few = [r for r in alone if r["sms"] == (most if r["bytes"] <= PLACE else 8)]  # of which DRAM sees little
    x = [float(np.sqrt(2 * np.log(max(1, r["bytes"] // PLACE)))) for r in few]
    return line(x, [_cycle_of_a_slot(r) - r["bytes"] / port for r in few])


def _read_wait(rows: Sequence[Row]) -> Fitted:
    """What loads of some SMs take longer than those of a few, by the part of the time for which DRAM reads."""
    reads, found = _dram(LOAD)(rows).value, []
    for r in those(rows, kernel="ring", mode=LOAD, per_sm=1, bytes=8192, slots=(2, 4), sms=(33, 66)):
        [few] = those(rows, kernel="ring", mode=LOAD, per_sm=1, bytes=8192, slots=r["slots"], sms=8)
        if (busy := rate(r) / reads) < 0.5:
            found.append((_cycle_of_a_slot(r) - _cycle_of_a_slot(few)) / busy)
    return level(found)


def _write_wait(rows: Sequence[Row]) -> Fitted:
    """What loads of rings that copy take longer than those of rings that load, by the part of the time of writes.

    The store itself is that of rings in L2 by one SM.
    """
    most = max(r.get("sms", 0) for r in rows)
    large = [r for r in rows if r.get("footprint", 0) > 1 << 30]
    writes, turn = _dram(STORE)(large).value, _turnaround(large).value
    warm = [those(rows, kernel="ring", mode=m, sms=1, slots=1, footprint=16 * MIB) for m in (LOAD, COPY)]
    stores = {a["bytes"]: _cycle_of_a_slot(b) - _cycle_of_a_slot(a) for a, b in zip(*warm, strict=True)}
    found = []
    for r in those(rows, kernel="ring", mode=COPY, sms=most, footprint=4 << 30):
        if r["slots"] > 1 and r["bytes"] * r["slots"] * r["per_sm"] <= FEW_IN_FLIGHT:
            knobs = {k: r[k] for k in ("bytes", "slots", "per_sm", "sms")}
            [loads] = those(rows, kernel="ring", mode=LOAD, footprint=4 << 30, **knobs)
            store = np.interp(r["bytes"], list(stores), list(stores.values()))
            busy = rate(r) / 2 * (1 / writes + 1 / turn)
            found.append((_cycle_of_a_slot(r) - _cycle_of_a_slot(loads) - store) / busy)
    return level(found)


def _beside(rows: Sequence[Row]) -> Fitted:
    """Bytes of a nanosecond that L2 writes in the time that copies take beyond their loads."""
    most = max(r.get("sms", 0) for r in rows)
    copies = those(rows, mode=COPY, sms=most, bytes=16384, slots=(4, 8), per_sm=1, footprint=16 * MIB)
    loads = _chip(LOAD)(rows).value
    return level([1 / (2 / rate(r) - 1 / loads) for r in copies])


def _merged(rows: Sequence[Row]) -> Fitted:
    """The part of the requests of two SMs of a GPC for the same bytes that L2 answers together."""
    apart = [those(rows, share=2, apart=n, bytes=32768)[0] for n in (1, 2, 4, 8)]
    far = level([rate(r) for r in those(rows, share=2, apart=(33, 66), bytes=32768)]).value
    return level([2 * (1 - far / rate(r)) for r in apart])


# -- inside an SM --------------------------------------------------------------------------------------------


def _interval(kernel: str) -> Rule:
    """Of 16 warps on four schedulers: cycles of one instruction of a scheduler."""
    return lambda rows: scaled(each(rows, kernel=kernel, warps=16), 4)


def _wavefronts(rows: Sequence[Row]) -> Fitted:
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


def _matrix(rows: Sequence[Row]) -> Fitted:
    return scaled(each(rows, pattern="ldmatrix_1 rows of 144 bytes", warps=8), 8)


def _meet(rows: Sequence[Row]) -> Fitted:
    """The line of __syncthreads by the warps that meet."""
    warps = sorted({r["warps"] for r in those(rows, kernel="meet")})
    return line(warps, [each(rows, kernel="meet", warps=w).value for w in warps])


def _tail(rows: Sequence[Row]) -> Fitted:
    """Cycles of a batch of one wgmma beyond its own N/2, A in shared memory."""
    widths = sorted({r["n"] for r in those(rows, place="ss", depth=1, warpgroups=1)})
    found = [each(rows, place="ss", depth=1, warpgroups=1, n=n).value - n / 2 for n in widths]
    return level(found)


def _columns(rows: Sequence[Row]) -> Fitted:
    """Cycles of a column of N, of two warpgroups that keep the tensor core busy."""
    short = [r for r in rows if not r.get("long")]
    widths = sorted({r["n"] for r in those(short, place="ss", depth=16, warpgroups=2)})
    return level([each(short, place="ss", depth=16, warpgroups=2, n=n).value / (2 * 16 * n) for n in widths])


def _step(rows: Sequence[Row], n: int, groups: int) -> float:
    """Cycles of a step of four wgmmas, their descriptors through few uniform registers."""
    return each(rows, kernel=f"step_{n}_held_none", warpgroups=groups).value


def _issue(rows: Sequence[Row]) -> Fitted:
    """Cycles of a wgmma in a step whose products take less: its descriptors are moved to uniform registers first."""
    rest = _own(rows, "wait", "commit", "arrive", "loop") + each(rows, op="group_waits").value
    return level([(_step(rows, n, 1) - rest) / 4 for n in (8, 16, 32, 64)])


def _issue_beside(rows: Sequence[Row]) -> Fitted:
    """Cycles by which each further warpgroup delays a wgmma of the least N that main loops have."""
    alone = _step(rows, 64, 1)
    return level([(_step(rows, 64, groups) - alone) / (4 * (groups - 1)) for groups in (2, 3)])


def _clock(rows: Sequence[Row]) -> Fitted:
    return level([r["ghz"] for r in those(rows, mode=LOAD)])


def _release(rows: Sequence[Row]) -> Fitted:
    fit = _meet(rows)
    return Fitted(fit.intercept, fit.residual, fit.points, fit.pattern)


def _fence(rows: Sequence[Row]) -> Fitted:
    both = each(rows, op="fence_async_shared", warps=4)
    return scaled(both, 1, each(rows, op="no_fence", warps=4).value)


def _pairs(rows: Sequence[Row]) -> Fitted:
    alone = each(rows, op="cluster_barrier", warps=4, ctas=1)
    return scaled(each(rows, op="cluster_barrier", warps=4, ctas=2), 1, alone.value)


def _box_rows(rows: Sequence[Row]) -> Fitted:
    """Cycles of a row of a box of many short rows that one SM loads from L2; at most, since its loop takes as long."""
    found = [r for r in those(rows, kernel="boxes", mode=LOAD, sms=1, slots=4) if r["rows"] == 256]
    return level([mid(r) / r["trips"] / r["rows"] for r in found if r["row_bytes"] <= 32])


def _busy_clock(rows: Sequence[Row]) -> Fitted:
    """The clock that products of all SMs leave, in GHz."""
    found = those(rows, long=1, warpgroups=2, n=256)
    most = max(r["grid"] for r in found)
    return level([r["ghz"] for r in those(found, grid=most)])


# -- commands and launches -----------------------------------------------------------------------------------


def _commands(kind: int, key: str, largest: int = 256) -> Rule:
    """Cycles of one more command of one thread, of few bytes."""

    def rule(rows: Sequence[Row]) -> Fitted:
        some = [r for r in those(rows, kernel="commands", kind=kind) if r["bytes"] <= largest and r["count"] >= 8]
        return line([r["count"] for r in some], [mid(r, key) for r in some], {"bytes": [r["bytes"] for r in some]})

    return rule


def _empty(rows: Sequence[Row]) -> Fitted:
    return level([mid(r, "ns") for r in those(rows, kernel="nothing", grid=1)])


def _written(rows: Sequence[Row]) -> Fitted:
    """What a launch of one CTA that writes takes longer than an empty one, beyond the time that it stays."""
    [stay], [empty] = (those(rows, kernel=k, grid=1, block=32, waves=None, shared=0) for k in ("stay", "nothing"))
    return scaled(level(stay["ns"]), 1, stay["stay_ns"] + mid(empty, "ns"))


def _multicast(rows: Sequence[Row]) -> Fitted:
    """Cycles that slots of two CTAs, loaded by both, take longer than those of one, beyond an arrival at the peer."""
    [one], [two] = (those(rows, ctas=n, bytes=8192, slots=1, footprint=16 * MIB) for n in (1, 2))
    more = level(
        [(b - a) * two["ghz"] / one["trips"] for a, b in zip(sorted(one["ns"]), sorted(two["ns"]), strict=False)]
    )
    return scaled(more, 1, CLUSTER_ONE_WAY)


def _dispatch(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of one more CTA of an empty launch, where an SM has room for many."""
    some = [r for r in those(rows, kernel="nothing", shared=0) if r["grid"] >= 4000]
    return line([r["grid"] for r in some], [mid(r, "ns") for r in some])


def _turnover(rows: Sequence[Row]) -> Fitted:
    """From the end of a CTA to the begin of the next in its place, where an SM has room for one."""
    found = []
    for r in those(rows, kernel="stay", at_once=1, waves=(4, 10)):
        [first] = those(rows, kernel="stay", at_once=1, waves=1, stay_ns=r["stay_ns"], block=r["block"])
        found.append((mid(r, "ns") - mid(first, "ns")) / (r["waves"] - 1) - r["stay_ns"])
    return level(found)


def _descriptor(rows: Sequence[Row]) -> Fitted:
    """What the first copy by a map takes longer than the first bulk copy, of all SMs."""
    most = max(r.get("sms", 0) for r in rows)
    [bulk], [mapped] = (those(rows, kernel="first_copies", kind=kind, sms=most) for kind in (0, 1))
    return scaled(level(mapped["a"]), 1, mid(bulk, "a"))


def _boxed(rows: Sequence[Row]) -> Fitted:
    """Nanoseconds of a bulk copy of a line in L2, behind the front end: a hop of a chase less what else is in it."""
    hop, clock = _hops(rows, 0, 1), _clock(rows).value
    load = each(rows, pattern="chain").value
    rest = _own(rows, "expect", "issue", "wait") + load + _commands(1, "cycles")(rows).value
    return scaled(hop, 1, rest / clock)


def _trips(rows: Sequence[Row], kernel: str) -> list[tuple[int, float]]:
    """(bytes, cycles of a trip) of rings in L2 by one SM, whose loops are what takes time."""
    found = [r for r in those(rows, kernel=kernel, sms=1) if r["bytes"] <= 4096]
    return [(r["bytes"], mid(r) / r["trips"]) for r in found]


def _own(rows: Sequence[Row], *ops: str) -> float:
    """The cycles of operations one after another, as M9, M5 and M20 have them."""
    kinds: dict[str, Callable[[], Fitted]] = {
        "wait": lambda: each(rows, op="waits"),
        "expect": lambda: each(rows, op="expectations"),
        "arrive": lambda: each(rows, op="arrivals"),
        "commit": lambda: each(rows, op="commits"),
        "loop": lambda: each(rows, op="loop_trips"),
        "issue": lambda: _commands(0, "a")(rows),
    }
    return sum(kinds[op]().value for op in ops)


def _ring(rows: Sequence[Row]) -> Fitted:
    """Cycles of an iteration of a ring beyond its operations: addresses are made, and moved to uniform registers."""
    trips = _trips(rows, "trips_load")
    return scaled(level([t for _, t in trips]), 1, _own(rows, "wait", "expect", "issue", "loop"))


def _store_read(rows: Sequence[Row]) -> Fitted:
    """Cycles until the source of a store was read, beyond its bytes at 32 a cycle."""
    rest = _own(rows, "wait", "issue", "commit", "arrive", "loop") + _ring(rows).value
    port = _port(STORE)(rows).value
    return scaled(level([t - size / port for size, t in _trips(rows, "trips_copy")]), 1, rest)


def _by(op: str) -> Rule:
    """Cycles of one of what is timed by itself."""
    return lambda rows: each(rows, op=op)


NUMBERS: dict[str, Source] = {
    "sm_clock": Source("M4", "GHz", "cycles of a nanosecond while DRAM streams", _clock),
    "alu_latency": Source("M1", "cycles", "a chain of FFMA", lambda rows: each(rows, kernel="fma_1", warps=1)),
    "alu_interval": Source("M1", "cycles", "FFMA of 16 warps", _interval("fma_8")),
    "sfu_latency": Source("M1", "cycles", "a chain of MUFU.EX2", lambda rows: each(rows, kernel="exp2_1", warps=1)),
    "sfu_interval": Source("M1", "cycles", "MUFU.EX2 of 16 warps", _interval("exp2_8")),
    "shuffle_latency": Source("M1", "cycles", "a chain of SHFL", lambda rows: each(rows, kernel="shuffle_1", warps=1)),
    "shared_latency": Source("M2", "cycles", "a chain of LDS", lambda rows: each(rows, pattern="chain")),
    "wavefront_interval": Source("M2", "cycles", "all patterns, eight warps, by wavefronts", _wavefronts),
    "matrix_interval": Source("M2", "cycles", "ldmatrix.x1 of eight warps", _matrix),
    "group_commit": Source("M9", "cycles", "commit of a bulk group", _by("commits")),
    "group_wait": Source("M9", "cycles", "wait for a group that is over", _by("group_waits")),
    "mbarrier_arrive": Source("M9", "cycles", "arrivals one after another", _by("arrivals")),
    "mbarrier_expect": Source("M9", "cycles", "arrivals that expect bytes", _by("expectations")),
    "mbarrier_wait": Source("M9", "cycles", "a wait for a phase that is over", _by("waits")),
    "barrier_interval": Source("M10", "cycles", "__syncthreads, of one more warp", _meet),
    "barrier_release": Source("M10", "cycles", "__syncthreads, without its warps", _release),
    "fence": Source("M16", "cycles", "fence.proxy.async.shared::cta of four warps, less the store before it", _fence),
    "cluster_barrier": Source("M16", "cycles", "barrier.cluster of two CTAs, less that of one", _pairs),
    "tma_issue": Source("M5", "cycles", "bulk loads of one thread, one after another", _commands(0, "a")),
    "tma_command": Source("M13", "cycles", "bulk stores of one thread, one after another", _commands(1, "cycles")),
    "descriptor_fetch": Source("M11", "cycles", "the first copy by a map, less the first bulk copy", _descriptor),
    "tma_row": Source("M6", "cycles", "a row of a box of many short rows", _box_rows),
    "multicast_latency": Source("M17", "cycles", "slots that two CTAs load for both, less those of one", _multicast),
    "tma_store_read": Source("M22 M7 M9 M5 M20", "cycles", "until a source was read, beyond its bytes", _store_read),
    "sm_port_rate": Source("M23", "B/cycle", "boxes from L2 by one SM", _port_in),
    "sm_write_rate": Source("M7", "B/cycle", "stores into L2 by up to 16 SMs", _port(STORE)),
    "l2_rate": Source("M7", "B/ns", "loads from L2 by all SMs, 4 to 32 MB", _chip(LOAD)),
    "l2_write_rate": Source("M7", "B/ns", "stores into L2 by all SMs", _chip(STORE)),
    "l2_bytes": Source("M7", "bytes", "loops over footprints: what L2 holds as a whole", _whole),
    "l2_fade_bytes": Source("M7", "bytes", "loops over footprints: where a 1/e of what is more is left", _fade),
    "l2_latency": Source("M8", "ns", "a chase by loads of lines in L2", lambda rows: _hops(rows, 0, 0)),
    "l2_shared_latency": Source("M27", "ns", "a chase through lines that all SMs have read", _shared),
    "tma_latency": Source("M8 M2 M4 M5 M9 M13 M20", "ns", "a chase by bulk copies, less the rest of a hop", _boxed),
    "dram_latency": Source("M8", "ns", "the same of lines that L2 does not have, less that", _dram_latency),
    "translation_latency": Source("M8", "ns", "lines in L2 from 512 MB on, less those below", _translation),
    "dram_rate": Source("M4", "B/ns", "loads with 96 KB of each SM in flight", _dram(LOAD)),
    "dram_write_rate": Source("M4", "B/ns", "stores", _dram(STORE)),
    "dram_turnaround": Source("M4 M19", "B/ns", "bytes stored in what copies take longer than both alone", _turnaround),
    "dram_spread": Source("M4 M23", "ns", "one chunk under way by its places", _spread),
    "dram_read_wait": Source("M4", "ns", "rings of more SMs, by what DRAM reads", _read_wait),
    "dram_write_wait": Source("M4 M7 M19", "ns", "rings that copy less those that load, by its writes", _write_wait),
    "l2_beside_rate": Source("M7", "B/ns", "stores of copies in L2, beside their loads", _beside),
    "l2_merged": Source("M21", "part", "two SMs of a GPC that load the same", _merged),
    "wgmma_column": Source("M14", "cycles", "chains of 16 by two warpgroups", _columns),
    "wgmma_latency": Source("M14", "cycles", "one wgmma and its wait, less N/2", _tail),
    "wgmma_issue": Source("M15 M5 M9 M20", "cycles", "one of four wgmmas of a step, N up to 64", _issue),
    "wgmma_issue_beside": Source("M15", "cycles", "the same of more warpgroups, for each further", _issue_beside),
    "product_clock": Source("M14", "GHz", "the clock that long products of all SMs leave", _busy_clock),
    "launch": Source("M18", "ns", "empty kernels of one CTA in a stream", _empty),
    "launch_drain": Source("M18", "ns", "a launch that stays and writes, less that and an empty one", _written),
    "cta_dispatch": Source("M18", "ns", "one more CTA of an empty launch", _dispatch),
    "cta_turnover": Source("M18", "ns", "from the end of a CTA to the begin of the next in its place", _turnover),
    "divide_32": Source("M20", "cycles", "a chain of divisions of 32 bits", _by("divide_32")),
    "divide_fixed": Source("M20", "cycles", "a chain of divisions of 64 bits by 3", _by("fixed_64")),
    "divide_64": Source("M20", "cycles", "a chain of divisions of 64 bits", _by("divide_64")),
    "loop_trip": Source("M20", "cycles", "trips of a loop that is not unrolled", _by("loop_trips")),
}  # fmt: skip
