"""The sweeps of the microbenchmarks, by id: for each, the launch configurations and what a fit wants to know of them.

>>> sorted(SWEEPS)[:4], len(list(SWEEPS["M5"](132)))
(['M1', 'M10', 'M11', 'M12'], 63)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from . import points_boxes as boxes
from . import points_flows as flows
from . import points_inside as inside
from . import points_prologue as prologue
from . import points_rings as rings
from . import points_threads as threads
from . import points_tiles as tiles
from . import points_ways as ways
from .lab import GIB, KIB, Lab, Point, Points, u32, u64
from .points_alone import Alone, alone
from .points_bursts import Burst, bursts
from .points_ends import Ends, ends
from .points_footprints import Footprint, footprints
from .points_hands import Hands, hands
from .points_lone import Lone, lone
from .points_neighbours import Neighbours, neighbours
from .points_outside import Outside, outside
from .points_places import Place, places
from .points_rings import MIB
from .points_spins import Spin, spins
from .points_together import Together, together

# -- M5, M13: commands -----------------------------------------------------------------------------------------


def commands(name: str, kinds: tuple[int, ...], sms: int) -> Points:
    """Commands of one thread to one barrier or group, their lines in L2."""
    del sms
    for kind, nbytes, count in itertools.product(
        kinds, (16, 32, 64, 128, 256, 512, KIB, 2 * KIB, 4 * KIB), (1, 2, 4, 8, 16, 32, 64)
    ):
        yield Point(
            name, "ring", "commands", 1, 32,
            lambda lab, r, b=nbytes, c=count, k=kind: [lab.src, lab.dst, u32(b), u32(c), u32(k)],
            {"bytes": nbytes, "count": count, "kind": kind}, shared=65536 + 128,
        )  # fmt: skip


# -- M8: chases; M7, M18: streams ------------------------------------------------------------------------------


def chase(nbytes: int, cold: bool, kind: int, sm: int = -1, hops: int = 256) -> Point:
    """A random cycle through nodes that are spread evenly over a footprint."""
    nodes = min(nbytes // 128, 65536)
    spacing = nbytes // nodes
    order = np.random.default_rng(nodes).permutation(nodes).astype(np.uint64) * np.uint64(spacing)

    def before(lab: Lab, repeat: int) -> None:
        if lab.kept.get("chase") != (nbytes,):
            at, to = lab.device.upload(order), lab.device.upload(np.roll(order, -1))
            lab.modules["memory"].launch("plant", lab.sms, 256, [lab.src, at, to, u32(nodes)]).wait()
            at.free(), to.free()
            lab.kept["chase"] = (nbytes,)
        if cold:
            lab.sweep()
        elif repeat == 0:  # every line of the nodes, at most 2 MB of them
            lab.modules["memory"].launch(
                "chase", 1, 32, [lab.out, lab.src, u64(order[0]), u32(nodes), u32(0), np.int32(-1)]
            ).wait()

    def args(lab: Lab, repeat: int) -> list[Any]:
        return [lab.src, u64(order[hops * repeat % nodes]), u32(hops), u32(kind), np.int32(sm)]

    def sums(repeat: int) -> Any:
        return order[(hops * repeat + hops) % nodes : (hops * repeat + hops) % nodes + 1]

    facts = {"footprint": nbytes, "cold": int(cold), "kind": kind, "sm": sm, "hops": hops}
    return Point("M8", "memory", "chase", 132 if sm >= 0 else 1, 32, args, facts,
                 before=before, checked=sums, one_stamp=True)  # fmt: skip


def m8(sms: int) -> Points:
    """Latencies by footprint, of lines that L2 has and has not; of loads and of bulk copies; by SM."""
    for mib in (1, 4, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096):
        for cold, kind in itertools.product((False, True), (0, 1)):
            yield chase(mib * MIB, cold, kind)
    for sm in range(0, sms, 4):
        yield chase(MIB, False, 0, sm)


def stream(name: str, footprint: int, mode: int, per_sm: int, block: int, sms: int, vectors: int = 1 << 24) -> Point:
    """16-byte loads and stores, four of each thread at a time."""
    hot, total = footprint <= 64 * MIB, footprint // 16
    vectors = min(vectors, total)

    def args(lab: Lab, repeat: int) -> list[Any]:
        first = 0 if hot else repeat * vectors % total
        return [lab.src, lab.dst, u64(first), u64(vectors), u64(total), u32(mode)]

    facts = {"footprint": footprint, "mode": mode, "per_sm": per_sm, "sms": sms, "bytes": 16 * vectors}
    return Point(name, "memory", "stream", sms * per_sm, block, args, facts)


def m19(sms: int) -> Points:
    """Reads, writes and copies by ordinary loads and stores, of DRAM and of L2."""
    for footprint, mode, (per_sm, block) in itertools.product(
        (4 * GIB, 16 * MIB), (1, 2, 3), ((1, 512), (2, 1024), (8, 256), (16, 128), (64, 256))
    ):
        yield stream("M19", footprint, mode, per_sm, block, sms)


def m18(sms: int) -> Points:
    """CTAs that stay for a while: when each began, by the SM, over several waves."""
    for waves, shared, block in itertools.product((1, 2, 4, 10), (0, 100 * KIB, 200 * KIB), (32, 384)):
        at_once = min(32, 2048 // block, 233472 // (shared + KIB)) if shared else min(32, 2048 // block)
        grid = sms * waves * (at_once if waves == 1 else 1)
        for ns in (1000, 4000):
            facts = {"waves": waves, "stay_ns": ns, "at_once": at_once}
            yield Point("M18", "memory", "stay", grid, block, lambda lab, r, n=ns: [u64(n)], facts, shared=shared)


Swept: TypeAlias = (
    Point | Burst | Neighbours | Footprint | Spin | Place | Hands | Lone | Alone | Together | Outside | Ends
)

SWEEPS: dict[str, Callable[[int], Iterator[Swept]]] = {
    "M4": rings.m4,
    "M5": partial(commands, "M5", (0,)),
    "M9": inside.m9,
    "M14": inside.m14,
    "M1": inside.m1,
    "M2": inside.m2,
    "M6": boxes.m6,
    "M7": rings.m7,
    "M8": m8,
    "M13": partial(commands, "M13", (1, 2)),
    "M18": m18,
    "M10": inside.m10,
    "M16": inside.m16,
    "M17": rings.m17,
    "M19": m19,
    "M20": inside.m20,
    "M11": boxes.m11,
    "M21": rings.m21,
    "M22": rings.m22,
    "M23": boxes.m23,
    "M24": inside.m24,
    "M25": threads.m25,
    "M26": threads.m26,
    "M27": threads.m27,
    "M15": inside.m15,
    "M3": inside.m3,
    "M12": boxes.m12,
    "M28": rings.m28,
    "M29": inside.m29,
    "M30": inside.m30,
    "M31": tiles.m31,
    "M32": tiles.m32,
    "M33": tiles.m33,
    "M34": flows.m34,
    "M35": flows.m35,
    "M36": flows.m36,
    "M37": flows.m37,
    "M38": prologue.m38,
    "M39": prologue.m39,
    "M40": ways.m40,
    "M41": flows.m41,
    "M42": rings.m42,
    "M43": bursts,
    "M44": neighbours,
    "M45": boxes.m45,
    "M46": footprints,
    "M47": spins,
    "M48": ways.m48,
    "M49": places,
    "M50": hands,
    "M51": lone,
    "M52": alone,
    "M53": together,
    "M54": outside,
    "M55": ends,
}
