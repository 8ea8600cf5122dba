"""The sweeps of what threads move by themselves: shared memory to shared memory, to and from L2, and far in L2.

>>> [p.kernel for p in m25(132)][:2]
['chain_8', 'chain_8']
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from .lab import Lab, Point, Points, u32, u64

MIB = 1 << 20
CHAINS, TURNS = ("chain_8", "chain_16"), ("turn_16", "turn_8", "turn_4", "turn_2")
GLOBAL = {"read_4": 4, "read_16": 16, "write_4": 4, "write_8": 8, "write_16": 16, "async_16": 16, "async_4": 4}
FOOTPRINT = 8 * MIB
LINE = 128


def m25(sms: int) -> Points:
    """Chains of wide loads of shared memory, and loads whose parts are stored there, by warps, at two lengths."""
    del sms
    for kernel, warps, count in itertools.product((*CHAINS, *TURNS), (1, 2, 4, 8, 16), (8, 24)):
        if kernel in TURNS or warps == 1:
            each = 16 if kernel in CHAINS else 8
            yield Point("M25", "threads", kernel, 1, 32 * warps, lambda lab, r, c=count: [u32(c)],
                        {"op": kernel, "warps": warps, "count": each * count}, shared=65536)  # fmt: skip


def m26(sms: int) -> Points:
    """Loads, stores and copies by threads in L2, by width, warps and SMs, at two lengths; a ring of cp.async."""
    for kernel, warps, some, count in itertools.product(
        (*GLOBAL, "one_read", "ring_by_threads"), (1, 2, 4, 8, 16, 32), (1, sms), (16, 48)
    ):
        if kernel == "ring_by_threads" and warps > 16:
            continue
        facts = {"op": kernel, "warps": warps, "sms": some, "count": 8 * count}
        yield Point(
            *("M26", "threads", kernel, some, 32 * warps),
            lambda lab, r, c=count: [lab.src, lab.dst, u32(c), u32(FOOTPRINT - 1)],
            facts,
            shared=65536,
            before=lambda lab, r: lab.touch(FOOTPRINT) if r == 0 else None,
        )


def m27(sms: int) -> Points:
    """Chases through every line of a footprint in L2, after all SMs or this one have read it, or all have written."""
    for mib, how in itertools.product((1, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48), ("all", "own", "written")):
        yield _dense(mib * MIB, how, -1)
    for mib, sm in itertools.product((4, 24), range(0, sms, 11)):
        yield _dense(mib * MIB, "own", sm)


def _dense(nbytes: int, how: str, sm: int, hops: int = 1024) -> Point:
    """A random cycle through all lines; repeats go on where the one before ended."""
    nodes = nbytes // LINE
    order = np.random.default_rng(nodes).permutation(nodes).astype(np.uint64) * np.uint64(LINE)

    def chase(lab: Lab, first: int, hops: int) -> list[Any]:
        return [lab.src, u64(order[first % nodes]), u32(hops), u32(0), np.int32(sm)]

    def before(lab: Lab, repeat: int) -> None:
        if repeat or lab.kept.get("dense") == (nbytes, how, sm):
            return
        at, to = lab.device.upload(order), lab.device.upload(np.roll(order, -1))
        lab.modules["memory"].launch("plant", lab.sms, 256, [lab.src, at, to, u32(nodes)]).wait()
        at.free(), to.free()
        if how != "written":
            lab.sweep()
            lab.touch(nbytes)
        if how == "own":
            args = [lab.out, *chase(lab, 0, 2 * nodes)]
            lab.modules["memory"].launch("chase", 132 if sm >= 0 else 1, 32, args).wait()
        lab.kept["dense"] = (nbytes, how, sm)

    facts = {"footprint": nbytes, "how": how, "sm": sm, "hops": hops}
    return Point("M27", "memory", "chase", 132 if sm >= 0 else 1, 32,
                 lambda lab, r: chase(lab, hops * r, hops), facts, before=before, one_stamp=True)  # fmt: skip
