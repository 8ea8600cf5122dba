"""The sweeps of what is under way: rings of cp.async, rings of few SMs, warps that read rows, passes over a footprint.

>>> [p.kernel for p in m34(132)][:2]
['async_2', 'async_2']
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .lab import GIB, KIB, WORD, Lab, Point, Points, u32, u64
from .points_rings import MIB, RUN_NS, ring

STAGES, LOADS = (2, 4, 8), (1, 4)
LOAD, MEET, COPY = 1, 5, 7  # modes of a ring of cp.async: warps alone, warps that meet, that and stores
LATENCY_NS, TRIP_NS = {"l2": 250.0, "dram": 600.0}, 60.0  # only to choose the length of a run


def m34(sms: int) -> Points:
    """Rings of cp.async by stages, warps and SMs, from L2 and DRAM: that load, whose warps meet, and that copy."""
    for stages, warps, some in itertools.product(STAGES, (2, 4, 8, 16), (1, 8, 33, 66, sms)):
        for mode, footprint in itertools.product((LOAD, MEET, COPY), (8 * MIB, 4 * GIB)):
            yield _by_threads(stages, warps, some, mode, footprint)


def _by_threads(stages: int, warps: int, sms: int, mode: int, footprint: int) -> Point:
    """A ring of cp.async, one CTA on each of some SMs."""
    nbytes, hot = 512 * warps, footprint <= 64 * MIB
    chunks = footprint // nbytes
    trips = int(RUN_NS / max(TRIP_NS, LATENCY_NS["l2" if hot else "dram"] / (stages - 1), nbytes * sms / 4000))

    def first(repeat: int) -> int:
        return 0 if hot else repeat * (trips + stages) * sms % chunks

    def args(lab: Lab, repeat: int) -> list[Any]:
        return [lab.src, lab.dst, u32(trips), u64(first(repeat)), u64(chunks), u32(mode)]

    def sums(repeat: int) -> Any:
        at = (first(repeat) + np.arange(sms)[:, None] + sms * np.arange(trips)[None, :]) % chunks
        return np.bitwise_xor.reduce(((at * (nbytes // 4)) * WORD) % (1 << 32), axis=1).astype(np.uint64)

    facts = {"stages": stages, "warps": warps, "sms": sms, "mode": mode, "bytes": nbytes, "trips": trips}
    return Point(
        "M34", "flows", f"async_{stages}", sms, 32 * warps, args, {**facts, "footprint": footprint},
        shared=stages * nbytes, checked=sums, before=(lambda lab, r: lab.touch(footprint)) if hot else None,
    )  # fmt: skip


def m35(sms: int) -> Points:
    """Rings of bulk copies from DRAM that few SMs have, and of short chunks that all have."""
    sizes = (512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB)
    for nbytes, slots, some in itertools.product(sizes, (1, 2, 4, 6), (8, 33, 66)):
        yield ring("M35", nbytes, slots, 1, some, 3)
    for nbytes, slots, some in itertools.product((KIB, 4 * KIB), (1, 2, 4, 8), (1, 8, 33, 66)):
        yield ring("M35", nbytes, slots, 1, some, 1)
    for nbytes, slots, per_sm, mode in itertools.product((256, 512, KIB), (4, 8), (1, 2, 4), (1, 3)):
        yield ring("M35", nbytes, slots, per_sm, sms, mode)


def m36(sms: int) -> Points:
    """Warps that read rows of their own: by rows and warps of all SMs, and by loads at a time of few SMs."""
    for row_bytes, warps, loads in itertools.product(
        (2 * KIB, 8 * KIB, 16 * KIB, 64 * KIB, 256 * KIB), (8, 16, 32, 64), LOADS
    ):
        yield _rows(row_bytes, warps, loads, sms, 4 * GIB)
    for warps, loads, some, footprint in itertools.product((2, 8, 16, 32), LOADS, (1, 8, 33, 66), (8 * MIB, 4 * GIB)):
        yield _rows(8 * KIB, warps, loads, some, footprint)


def _rows(row_bytes: int, warps: int, loads: int, sms: int, footprint: int) -> Point:
    """*warps* on each of some SMs, in CTAs of up to 16, that read as many rows each."""
    per_sm, all_rows, hot = -(-warps // 16), footprint // row_bytes, footprint <= 64 * MIB
    rate = min(sms * warps * loads * 512 / LATENCY_NS["l2" if hot else "dram"], 4000.0)
    each = max(1, int(rate * RUN_NS / (row_bytes * warps * sms)))
    count = each * warps * sms

    def args(lab: Lab, repeat: int) -> list[Any]:
        first = 0 if hot else repeat * count % all_rows
        return [lab.src, u64(first), u64(count), u64(all_rows), u32(row_bytes)]

    facts = {
        "row_bytes": row_bytes,
        "warps": warps,
        "loads": loads,
        "sms": sms,
        "bytes": row_bytes * count,
    }
    return Point(
        "M36", "flows", f"rows_{loads}", sms * per_sm, 32 * warps // per_sm, args, {**facts, "footprint": footprint},
        before=(lambda lab, r: lab.touch(footprint)) if hot else None,
    )  # fmt: skip


def m37(sms: int) -> Points:
    """Passes over a footprint as the launch before did: what L2 still has for one SM, for half of them, and for all."""
    for some, mib in itertools.product((33, 66, sms), range(20, 68, 4)):
        yield ring("M37", 16 * KIB, 4, 1, some, 1, mib * MIB, once=True)
    for some, mib in itertools.product((66, sms), range(8, 36, 2)):
        yield ring("M37", 16 * KIB, 4, 1, some, 3, mib * MIB, once=True)
    for mib in range(20, 46, 2):
        yield ring("M37", 8 * KIB, 2, 1, 1, 1, mib * MIB, once=True)
    for mib in range(10, 22):
        yield ring("M37", 8 * KIB, 2, 1, 1, 3, mib * MIB, once=True)


def m41(sms: int) -> Points:
    """Passes of all SMs over a footprint as the launch before did, where several of them read the same."""
    together = ((1, 1), (2, 1), (2, sms // 2), (4, sms // 4), (sms, 1))
    for (share, apart), mib in itertools.product(together, range(16, 68, 4)):
        if sms % (share * apart) == 0:
            yield ring("M41", 16 * KIB, 4, 1, sms, 1, mib * MIB, share, apart, once=True)
