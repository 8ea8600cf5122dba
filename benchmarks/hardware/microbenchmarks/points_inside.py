"""The sweeps of what is inside an SM: arithmetic, shared memory, barriers, fences, indices, matrix products.

>>> [p.kernel for p in m10(132)][:2]
['hand_over', 'hand_over']
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import products, steps
from .lab import KIB, Lab, Point, Points, f32, u32
from .patterns import PATTERNS


def _numbers(*values: int) -> Callable[[Lab, int], list[Any]]:
    """The arguments of a kernel that takes these numbers."""
    return lambda lab, repeat: [u32(x) for x in values]


def _source(*values: int) -> Callable[[Lab, int], list[Any]]:
    """The arguments of a kernel that takes the source and these numbers."""
    return lambda lab, repeat: [lab.src, *(u32(x) for x in values)]


def m1(sms: int) -> Points:
    """Chains of arithmetic, 256 instructions a trip, at two lengths."""
    del sms
    for op, ilp, warps, count in itertools.product(
        ("fma", "add", "exp2", "shuffle"), (1, 2, 4, 8), (1, 4, 8, 16), (4, 12)
    ):
        yield Point("M1", "core", f"{op}_{ilp}", 1, 32 * warps, lambda lab, r, c=count: [u32(c), f32(1.0)],
                    {"op": op, "ilp": ilp, "warps": warps, "count": 256 * count})  # fmt: skip


def m2(sms: int) -> Points:
    """Patterns of shared memory, 16 instructions a trip, at two lengths."""
    del sms

    def args(lab: Lab, repeat: int, name: str, count: int) -> list[Any]:
        if name not in lab.kept:
            lab.kept[name] = lab.device.upload(np.array(PATTERNS[name].addresses, np.uint32))
        return [lab.kept[name], u32(count), u32(0)]

    for name, pattern in PATTERNS.items():
        for warps, count in itertools.product((1, 8), (4, 20)):
            yield Point("M2", "banks", pattern.kernel, 1, 32 * warps, partial(args, name=name, count=count),
                        {"pattern": name, "warps": warps, "count": 16 * count, "wavefronts": pattern.predicted},
                        shared=65536)  # fmt: skip
    for count in (4, 20):
        yield Point("M2", "banks", "load_chain", 1, 32, partial(args, name="load_4 stride 1", count=count),
                    {"pattern": "chain", "warps": 1, "count": 16 * count}, shared=65536)  # fmt: skip


BY_ONE_THREAD = (
    *("arrivals", "expectations", "waits", "arrive_and_wait", "expect_and_wait", "copy_and_wait", "produce", "consume"),
    *("produce_in_ring", "store_in_ring"),
    *("store_and_read", "store_and_wait", "commits", "group_waits", "failing", "failing_soon"),
)


def m9(sms: int) -> Points:
    """What one thread does with an mbarrier or a group, at two lengths; a failing wait sleeps."""
    del sms
    for kernel, trips in itertools.product(BY_ONE_THREAD, (8, 24)):
        count = trips // 8 if kernel.startswith("failing") else trips
        yield Point(
            *("M9", "core", kernel, 1, 32),
            _source(count),
            {"op": kernel, "count": 8 * count},
        )


INDEX = {
    **dict.fromkeys(("divide_32", "remainder_32", "both_32", "fixed_32", "slot_32", "loop_trips"), np.int32),
    **dict.fromkeys(("divide_64", "remainder_64", "both_64", "fixed_64", "slot_64"), np.int64),
    **{"divisor_32": np.int32, "divisor_64": np.int64, "tile_32": np.int32},
}


def m20(sms: int) -> Points:
    """Divisions of indices in chains, by what is known at run time only and by a constant, and the trip of a loop."""
    del sms
    for kernel, count in itertools.product(INDEX, (8, 24)):
        yield Point("M20", "core", kernel, 1, 32, lambda lab, r, c=count, kind=INDEX[kernel]: [u32(c), kind(37)],
                    {"op": kernel, "count": 8 * count})  # fmt: skip


def m10(sms: int) -> Points:
    """Hand-overs between warps and warpgroups by mbarrier and by named barrier; __syncthreads by warps."""
    del sms
    for distance, kind, count in itertools.product((32, 128), (0, 1), (64, 192)):
        yield Point("M10", "core", "hand_over", 1, 2 * distance,
                    _numbers(count, distance, kind), {"distance": distance, "kind": kind, "count": count})  # fmt: skip
    for warps, count in itertools.product((1, 2, 4, 8, 12, 16, 32), (64, 192)):
        yield Point("M10", "core", "meet", 1, 32 * warps, _numbers(count),
                    {"kind": 2, "warps": warps, "count": count})  # fmt: skip


FENCES = (
    *("no_fence", "fence_async_shared", "fence_async", "fence_cta", "fence_cluster", "cluster_barrier"),
    *("matrices", "fence_matrices"),
)


def m16(sms: int) -> Points:
    """Fences after a store to shared memory, and the barrier of a cluster."""
    del sms
    for kernel, warps, count in itertools.product(FENCES, (1, 4, 12), (64, 192)):
        for ctas in (1, 2, 4, 8) if kernel == "cluster_barrier" else (1,):
            facts = {"op": kernel, "warps": warps, "ctas": ctas, "count": count}
            cluster = ctas if ctas > 1 else 0
            yield Point("M16", "core", kernel, ctas, 32 * warps, _numbers(count), facts, cluster=cluster)


def m14(sms: int) -> Points:
    """Chains of wgmma, some a batch, at two lengths; then so long that power tells, with what the clock becomes."""
    for name in products.KERNELS:
        _, place, n, depth = name.split("_")
        for groups, count in itertools.product((1, 2, 3), (16, 64)):
            facts = {"place": place, "n": int(n), "depth": int(depth), "warpgroups": groups, "count": count}
            yield Point("M14", "products", name, 1, 128 * groups, _numbers(count), facts,
                        shared=3 * 8192 + 32768 + KIB)  # fmt: skip
    for n, groups, grid in itertools.product((128, 256), (1, 2), (sms // 2, sms)):
        facts = {"place": "ss", "n": n, "depth": 16, "warpgroups": groups, "count": 60000, "long": 1}
        yield Point("M14", "products", f"wgmma_ss_{n}_16", grid, 128 * groups, _numbers(60000), facts,
                    shared=3 * 8192 + 32768 + KIB)  # fmt: skip


TRAFFIC_BYTES = 16384  # of a copy beside wgmmas, and four of them under way


def m15(sms: int) -> Points:
    """Main loops whose data are there, with arithmetic before the wgmmas of a step, at two lengths; traffic beside."""
    del sms
    for name in steps.KERNELS:
        word, n, *more = name.split("_")
        held, kind = more or ("ring", "none")
        nbytes = steps.SLOTS * (8192 * steps.GROUPS + 128 * int(n)) + KIB
        for groups, count in itertools.product((1, 2, 3), (64, 192)):
            for beside in range(7) if word == "traffic" else (0,):
                facts = {"n": int(n), "held": held, "op": kind, "warpgroups": groups, "count": count, "beside": beside}
                more_bytes = steps.SLOTS * TRAFFIC_BYTES if word == "traffic" else 0
                yield Point("M15", "steps", name, 1, 128 * (groups + (beside > 0)),
                            _source(count, groups, beside), facts, shared=nbytes + more_bytes)  # fmt: skip


def m30(sms: int) -> Points:
    """Main loops that a producer feeds from L2, by the slots of their ring, at two lengths; N = 0 has no products."""
    for name, groups, slots, count in itertools.product(steps.FED, (1, 2, 3), (2, 3, 4), (64, 256)):
        n = int(name.split("_")[1])
        shared = slots * (8192 * groups + 128 * max(n, 64)) + KIB
        facts = {"n": n, "warpgroups": groups, "slots": slots, "count": count}
        for some in (1, sms) if shared < 220 * KIB and (n < 256 or groups < 3) else ():
            yield Point("M30", "steps", name, some, 128 * (groups + 1), _source(count, groups, slots),
                        {**facts, "sms": some}, shared=shared, before=lambda lab, r: lab.touch(16 << 20))  # fmt: skip


def m29(sms: int) -> Points:
    """One thread hands over to some warps and back, by arrivals of each of them or by one."""
    del sms
    for warps, kind, count in itertools.product((1, 2, 4, 8, 12), (0, 1), (64, 192)):
        facts = {"warps": warps, "kind": kind, "count": count}
        yield Point("M29", "core", "hand_to_many", 1, 32 + 32 * warps, _numbers(count, warps, kind), facts)


def m3(sms: int) -> Points:
    """Two groups of warps in shared memory side by side: the first by a pattern, the second without conflicts."""
    del sms

    def args(lab: Lab, repeat: int, name: str, numbers: tuple[int, ...]) -> list[Any]:
        if name not in lab.kept:
            lab.kept[name] = lab.device.upload(np.array(PATTERNS[name].addresses, np.uint32))
        return [lab.kept[name], *map(u32, numbers)]

    kernels = {"load_4": "loads_beside", "store_4": "stores_beside", "ldmatrix_4": "matrices_beside"}
    patterns = [f"load_4 stride {k}" for k in (1, 2, 4, 8, 32)]
    patterns += ["store_4 stride 1", "store_4 column, rows of 128 bytes", "ldmatrix_4 rows of 144 bytes"]
    for name, (first, second), many in itertools.product(patterns, ((4, 0), (0, 4), (4, 4), (4, 8), (8, 4)), (8, 24)):
        pattern = PATTERNS[name]
        facts = {"pattern": name, "first": first, "second": second, "count": 16 * many, "wavefronts": pattern.predicted}
        yield Point("M3", "banks", kernels[pattern.kernel], 1, 32 * (first + second),
                    partial(args, name=name, numbers=(first, many, 0)), facts, shared=65536)  # fmt: skip


CODE = (8, 32, 64, 128, 256, 512, 1024)


def m24(sms: int) -> Points:
    """Straight code, executed twice: the first time it is not in the caches of an SM."""
    for instructions, some, warps in itertools.product(CODE, (1, sms), (1, 4)):
        facts = {"instructions": instructions, "sms": some, "warps": warps}
        yield Point("M24", "code", f"code_{instructions}", some, 32 * warps, lambda lab, r: [f32(1.0)], facts)
