"""The sweeps of rings of bulk copies: from DRAM and from L2, by few SMs and by all, shared and by multicast.

>>> [p.kernel for p in m22(132)][:2]
['trips_load', 'trips_load']
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from .lab import GIB, KIB, WORD, Lab, Point, Points, u32, u64

MIB = 1 << 20
SHARED = 232448  # bytes of dynamic shared memory of a CTA at most
DRAM_NS, SM_BYTES_PER_NS = 700.0, 31.0  # only to choose the length of a run: about 150 us
RUN_NS = 150_000


def trips_of(nbytes: int, slots: int, per_sm: int, sms: int, most: float = SM_BYTES_PER_NS) -> int:
    """Trips of a run of about RUN_NS, whatever limits it."""
    rate = min(slots * nbytes * per_sm / DRAM_NS, most if sms > 60 else 2 * most)
    return max(4, int(rate * RUN_NS / (nbytes * per_sm)))


def ring(
    name: str,
    nbytes: int,
    slots: int,
    per_sm: int,
    sms: int,
    mode: int = 1,
    footprint: int = 4 * GIB,
    share: int = 1,
    apart: int = 1,
    once: bool = False,
) -> Point:
    """A ring on some SMs; the footprint is of the source, and of the target where there is one.

    *share* CTAs, each *apart* from the next, load the same. *once* is one pass over the footprint.
    """
    grid, hot = sms * per_sm, footprint <= 128 * MIB
    trips = trips_of(nbytes, slots, per_sm, sms, 60.0 if hot else SM_BYTES_PER_NS)
    trips = footprint // (nbytes * (grid // share)) if once else trips
    chunks = footprint // nbytes

    def first(repeat: int) -> int:
        return 0 if hot else repeat * trips * grid % chunks

    def args(lab: Lab, repeat: int) -> list[Any]:
        numbers = [
            u32(nbytes),
            u32(slots),
            u32(trips),
            u64(first(repeat)),
            u64(chunks),
            u32(mode),
            u32(share),
            u32(apart),
        ]
        return [lab.src, lab.dst, *numbers]

    def sums(repeat: int) -> Any:
        block, step = np.arange(grid)[:, None], grid // share
        of = block // (apart * share) * apart + block % apart
        at = (first(repeat) + of + step * np.arange(trips)[None, :]) % chunks
        return np.bitwise_xor.reduce(((at * (nbytes // 4)) * WORD) % (1 << 32), axis=1).astype(np.uint64)

    facts = {"bytes": nbytes, "slots": slots, "per_sm": per_sm, "sms": sms, "mode": mode, "trips": trips}
    facts |= {"share": share, "apart": apart} if share > 1 else {}
    return Point(
        name, "ring", "ring", grid, 64, args, {**facts, "footprint": footprint},
        shared=slots * (nbytes + 16), checked=sums if mode & 1 else None,
        before=(lambda lab, r: lab.touch(footprint)) if hot and not once and footprint <= 64 * MIB else None,
    )  # fmt: skip


def fits(nbytes: int, slots: int, per_sm: int) -> bool:
    return (slots * (nbytes + 16) + KIB) * per_sm <= SHARED + KIB


def m4(sms: int) -> Points:
    """Loads from DRAM: what a chunk takes, and the bytes in flight that reach the rate; copies and stores beside."""
    sizes, slots = (512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB), (1, 2, 3, 4, 6, 8, 12, 16)
    for nbytes, n, per_sm in itertools.product(sizes, slots, (1, 2, 4)):
        if fits(nbytes, n, per_sm):
            yield ring("M4", nbytes, n, per_sm, sms)
    for nbytes, n, some in itertools.product((2 * KIB, 8 * KIB, 16 * KIB), (1, 2, 4, 8), (1, 8, 33, 66)):
        if fits(nbytes, n, 1):
            yield ring("M4", nbytes, n, 1, some)
    for nbytes, n, per_sm in itertools.product(
        (2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB), (2, 3, 4, 6, 8), (1, 2, 4)
    ):
        if fits(nbytes, n, per_sm):
            yield ring("M4", nbytes, n, per_sm, sms, mode=3)
    for nbytes, per_sm in itertools.product((2 * KIB, 8 * KIB, 16 * KIB), (1, 2)):
        yield ring("M4", nbytes, 4, per_sm, sms, mode=2)


def m7(sms: int) -> Points:
    """Rings whose data lie in L2: the port of an SM, the rate of the chip, the capacity."""
    for some, mode in itertools.product((1, 2, 4, 8, 16, 33, 66, 99, sms), (1, 2, 3)):
        yield ring("M7", 16 * KIB, 8, 1, some, mode, footprint=16 * MIB)
    for nbytes, n, some in itertools.product((KIB, 4 * KIB, 16 * KIB), (1, 2, 4, 8), (1, sms)):
        for mode in (1, 3):
            yield ring("M7", nbytes, n, 1, some, mode, footprint=16 * MIB)
    for mode, per_sm, n in itertools.product((2, 3), (2, 3), (2, 4)):
        yield ring("M7", 16 * KIB, n, per_sm, sms, mode, footprint=16 * MIB)
    for nbytes, mode, per_sm in itertools.product((512, KIB, 2 * KIB, 4 * KIB), (1, 2, 3), (4, 8)):
        if fits(nbytes, 6, per_sm):
            yield ring("M7", nbytes, 6, per_sm, sms, mode, footprint=16 * MIB)
    for mib in (4, 8, 24, 32, 40, 48, 56, 64, 96, 128):
        yield ring("M7", 16 * KIB, 8, 1, sms, 1, footprint=mib * MIB)
    for mib in (8, 12, 16, 20, 24, 32, 48, 64):
        yield ring("M7", 16 * KIB, 8, 1, sms, 3, footprint=mib * MIB)


def m21(sms: int) -> Points:
    """Rings of which several SMs load the same chunks at about the same time, from L2 and from DRAM."""
    for share, footprint in itertools.product((1, 2, 4, 6, 11, 12, 22, 33, 66, 132), (16 * MIB, 4 * GIB)):
        for nbytes, n in ((16 * KIB, 8), (8 * KIB, 2)):
            if sms % share == 0:
                yield ring("M21", nbytes, n, 1, sms, footprint=footprint, share=share)
                if share > 1 and n == 8:
                    yield ring("M21", nbytes, n, 1, sms, 1, footprint, share, sms // share)
    for share, apart in itertools.product((2, 4), (1, 2, 3, 4, 6, 8, 11, 12, 16, 18, 22, 24, 33, 36, 44, 48, 64, 66)):
        if sms % share == 0 and apart * share <= sms:
            yield ring("M21", 32 * KIB, 4, 1, sms // (apart * share) * apart * share, 1, 16 * MIB, share, apart)


def m28(sms: int) -> Points:
    """Rings of few SMs that pass over a footprint as the launch before did: what L2 still has for them."""
    for some, mode, mib in itertools.product((1, 8, 33, sms), (1, 3), (4, 8, 12, 14, 16, 20, 24, 32, 48)):
        if mib <= 24 or mode == 1:
            yield ring("M28", 8 * KIB, 1 if some < sms else 2, 1, some, mode, mib * MIB, once=True)


TRIPS = ("trips", "narrow", "counted")  # the loops of M22, by how their slots are told


def m22(sms: int) -> Points:
    """Trips of the loops of a ring, written as generated code has them, from L2."""
    kernels = [f"{how}_{what}" for how in TRIPS for what in ("load", "copy")]
    for kernel, nbytes, some in itertools.product(
        (*kernels, "counted_load_6", "counted_copy_6"), (256, 512, KIB, 4 * KIB, 16 * KIB), (1, sms)
    ):
        mask = 16 * MIB // nbytes - 1

        def args(lab: Lab, repeat: int, nbytes: int = nbytes, mask: int = mask) -> list[Any]:
            return [lab.src, lab.dst, np.int32(nbytes), np.int64(400), np.int64(mask)]

        facts = {"bytes": nbytes, "trips": 400, "sms": some}
        shared = (6 if kernel.endswith("_6") else 4) * nbytes
        yield Point("M22", "ring", kernel, some, 64, args, facts, shared, before=lambda lab, r: lab.touch(16 * MIB))


def m17(sms: int) -> Points:
    """Rings that are loaded by multicast, from L2 and from DRAM."""
    for ctas, nbytes, n, footprint in itertools.product(
        (1, 2, 4), (8 * KIB, 16 * KIB, 32 * KIB), (1, 2, 4, 6), (16 * MIB, 4 * GIB)
    ):
        if fits(nbytes, n, 1):
            yield _multicast(nbytes, n, ctas, sms // 4 * 4, footprint)


def _multicast(
    nbytes: int, slots: int, ctas: int, grid: int, footprint: int, share: int = 1, apart: int = 1, name: str = "M17"
) -> Point:
    """A ring of clusters; *share* of them, each *apart* from the next, load the same."""
    hot, chunks = footprint <= 64 * MIB, footprint // nbytes
    trips = trips_of(nbytes, slots, 1, 132, 60.0)

    def args(lab: Lab, repeat: int) -> list[Any]:
        first = 0 if hot else repeat * trips * grid % chunks
        return [lab.src, u32(nbytes), u32(slots), u32(trips), u64(first), u64(chunks), *map(u32, (ctas, share, apart))]

    facts = {"bytes": nbytes, "slots": slots, "ctas": ctas, "trips": trips, "footprint": footprint}
    facts |= {"share": share, "apart": apart} if share > 1 else {}
    return Point(
        name, "ring", "ring_multicast", grid, 64, args, facts, shared=slots * (nbytes + 16), cluster=ctas,
        before=(lambda lab, r: lab.touch(footprint)) if hot else None,
    )  # fmt: skip


def m42(sms: int) -> Points:
    """Rings in clusters of two that load the same chunks, each CTA for itself and by multicast, by how far apart.

    L2 answers those of one cluster together, and clusters that chance puts at one place; others it does as in M21.
    """
    pairs = sms // 2
    for share, apart in itertools.product((1, 2, 4, 8), (1, 2, 3, 4, 6, 8, 9, 12, 16, 33)):
        if apart * share > pairs or (share == 1 < apart):
            continue
        grid = 2 * (pairs // (apart * share) * apart * share)
        yield _multicast(32 * KIB, 4, 2, grid, 16 * MIB, share, apart, "M42")
        for each in (2 * apart, 2 * apart - 1)[:share]:  # CTAs from one to the next: of one rank, and of both
            some = grid // (each * share) * each * share
            if some and some % 2 == 0:
                yield replace(ring("M42", 32 * KIB, 4, 1, some, 1, 16 * MIB, share, each), cluster=2)
