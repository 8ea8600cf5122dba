"""The sweeps of what code does before and between memory operations.

>>> sorted({p.kernel for p in m38(132)})[:3]
['addresses', 'adds', 'bodies']
"""

from __future__ import annotations

import itertools

from .lab import Point, Points, f32, u32

STEPS = ("adds", "leaves", "specials", "constants", "addresses", "bodies", "entered", "passed")
NEVER = 0x3F800000  # 1.0 as a float, and no number that a chain reaches


def m38(sms: int) -> Points:
    """Steps of indices, conditions, constants and special registers in chains of one warp, at two lengths."""
    del sms
    for kernel, count in itertools.product(STEPS, (8, 24)):
        yield Point("M38", "prologue", kernel, 1, 32, lambda lab, r, c=count: [u32(c), u32(NEVER), lab.src],
                    {"op": kernel, "count": 8 * count})  # fmt: skip


def m39(sms: int) -> Points:
    """Straight code that all warps of several CTAs on an SM execute twice."""
    for instructions, per_sm, threads in itertools.product((64, 256, 1024), (1, 4), (128, 512)):
        facts = {"instructions": instructions, "per_sm": per_sm, "sms": sms}
        yield Point("M39", "code", f"code_{instructions}", per_sm * sms, threads, lambda lab, r: [f32(1.0)], facts)
