"""The sweep of generated transpositions of DRAM: how one iteration differs from the next, and how far CTAs end apart.

>>> next(ends(132))
Ends(rows=32, columns=64, swizzle=128, slots=1, per_sm=1, height=4736, width=4032)
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .lab import Lab, Row
from .launches import nanoseconds

ALONE = (((32, 64), 128), ((64, 64), 64), ((64, 128), 64), ((128, 64), 64), ((128, 64), 0), ((128, 128), 0))
RINGS = (((64, 64), 128), ((64, 128), 64), ((128, 64), 128), ((128, 128), 64))  # tiles and their swizzles
SIZES = ((4736, 4032), (9472, 8064), (18944, 8064))
LAUNCHES, REPEATS, BEFORE = 20, 7, 8  # the last: launches in a row before one that is stamped
KEPT, FIRST = 64, 2  # iterations that are stamped, and how many of them come before loads are told


@dataclass(frozen=True)
class Ends:
    """A transposition of 16-bit elements by rings of *slots* tiles, *per_sm* CTAs on each SM."""

    rows: int
    columns: int
    swizzle: int
    slots: int
    per_sm: int
    height: int
    width: int


def ends(sms: int) -> Iterator[Ends]:
    """One tile under way, by its size and by how many there are; rings of two and three."""
    del sms
    for (tile, swizzle), per_sm, size in itertools.product(ALONE, (1, 2), SIZES):
        yield Ends(*tile, swizzle, 1, per_sm, *size)
    for (tile, swizzle), slots, per_sm in itertools.product(RINGS, (2, 3), (1, 2)):
        yield Ends(*tile, swizzle, slots, per_sm, *SIZES[1])


def kernel_of(point: Ends, sms: int) -> Any:
    """The kernel of a point."""
    from symlayout import dims, kernels

    options = {"tile": (point.rows, point.columns), "swizzle": point.swizzle, "stages": point.slots}
    return kernels.tma_transpose(*dims("M N", multiple_of=64), dtype="bf16", blocks=sms * point.per_sm, **options)


def rows_of_ends(lab: Lab, point: Ends, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others, until CTAs end, and of loads, a number for each launch.

    *first* is the mean end of the CTAs that have as many iterations as any, *load* and *spread* are mean and standard
    deviation of what a load takes, from its issue until a consumer is woken.
    """
    from gpu.running import Generated

    del repeats
    kernel = kernel_of(point, lab.sms)
    bound = kernel.bind(M=point.height, N=point.width)
    tensors = {"src": lab.src, "dst": lab.dst}
    launch = Generated(kernel).prepare(bound, tensors, lab.device)
    found: dict[str, list[float]] = defaultdict(list)
    found["ns"] = [nanoseconds(lab, launch, LAUNCHES) for _ in range(REPEATS)]

    blocks = lab.sms * point.per_sm
    tiles = -(-point.height // point.rows) * -(-point.width // point.columns)
    for plan, words in _stamped(lab, kernel, bound, tensors, 1):
        last = _ends(plan, words)
        told = {"last": last.max(), "half": np.median(last), "first": last[: tiles % blocks or blocks].mean()}
        for name, ns in told.items():
            found[name].append(round(float(ns), 1))
    for plan, words in _stamped(lab, kernel, bound, tensors, KEPT):
        loads = _loads(plan, words, min(KEPT, tiles // blocks))
        found["load"].append(round(float(loads.mean()), 1))
        found["spread"].append(round(float(loads.std()), 1))
    told = {"iterations": -(-tiles // blocks), "sms": lab.sms, "text": kernel.digest[:16]}
    return {"id": "M55", "kernel": "ends", **asdict(point), **told, **found}


def _stamped(lab: Lab, kernel: Any, bound: Any, tensors: dict[str, Any], kept: int) -> Iterator[tuple[Any, Any]]:
    """How stamps lie, and those of launches that each follow some others: a row for each CTA."""
    from gpu.running import Generated

    code = Generated(kernel, stamps=kept)
    plan, ctas = code.source.stamps, int(bound.grid[0])
    [name] = [a.name for a in code.source.arguments if a.kind == "stamps"]
    words = lab.device.allocate(8 * plan.words_per_cta * ctas)
    try:
        launch = code.prepare(bound, {**tensors, name: words}, lab.device)
        for _ in range(REPEATS):
            for _ in range(BEFORE + 1):
                launch.send()
            lab.device.synchronize()
            yield plan, words.download("u8").view(np.uint64).reshape(ctas, plan.words_per_cta)
    finally:
        words.free()


def _warps(plan: Any, words: Any) -> Any:
    """Of each warp of each CTA the timer and the clock at its start, and both at its end."""
    from gpu.codegen.stamps import HEADER_WORDS

    return words[:, : HEADER_WORDS * plan.warps].reshape(len(words), plan.warps, HEADER_WORDS).astype(np.int64)


def _ends(plan: Any, words: Any) -> Any:
    """Nanoseconds from the start of the first warp until the last of each CTA ended."""
    warps = _warps(plan, words)
    return warps[..., 2].max(axis=1) - warps[..., 0].min()


def _loads(plan: Any, words: Any, iterations: int) -> Any:
    """Nanoseconds of loads, from the issue of a tile's first box until the first of the consumers is woken."""
    warps, clocks = _warps(plan, words), {}
    for place in reversed(plan.places):  # of several boxes the first comes last
        pairs = words[:, place.words + FIRST : place.words + iterations]
        clocks[place.what, place.of] = (pairs % (1 << 32)).astype(np.int64), (pairs >> 32).astype(np.int64)
    cycle = np.median((warps[..., 2] - warps[..., 0]) / (warps[..., 3] - warps[..., 1]))
    (issued, _), (_, landed) = clocks["issue", "src_map"], clocks["wait", "mbarrier full"]
    return cycle * ((landed - issued) % (1 << 32))


__all__ = ["Ends", "ends", "kernel_of", "rows_of_ends"]
