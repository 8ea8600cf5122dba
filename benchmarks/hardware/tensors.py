"""Random tensors and boxes, legal everywhere unless a case is made to break one rule."""

from __future__ import annotations

import copy
import random
from typing import Any

from benchmarks.hardware.cases import F16, PLAIN, SIZE, SPAN, UNIT, WAIT, Case, ceil, expected_bytes, footprint

MOST = {1: 1, 2: 16, 3: 6, 4: 4, 5: 3}  # entries of a box beside the first, by rank


def strides(rng: random.Random, row: int, dim: list[int], unit: int) -> list[int]:
    """Padded strides that do not overlap."""
    found, at = [], ceil(row, unit) + unit * rng.choice((0, 0, 1, 2))
    for extent in dim[1:]:
        found.append(at)
        at = at * extent + unit * rng.choice((0, 0, 1, 3))
    return found


def fits(case: Case, limit: int, memory: int) -> bool:
    extent = case["stride"][-1] * case["dim"][-1] if case["stride"] else 512
    return footprint(case) <= limit and extent + case["addr"] <= memory


def tile(rng: random.Random, *, store: bool = False, limit: int = 8192, **fixed: Any) -> Case:
    """A box of a tiled tensor, interleave NONE, legal everywhere; a store starts at coordinates from 0 on."""
    while True:
        case = {**copy.deepcopy(PLAIN), **fixed}
        rank = case["rank"] = fixed.get("rank", rng.randint(1, 5))
        case["dtype"] = fixed.get("dtype", rng.randrange(13))
        e = SIZE[case["dtype"]]
        case["swizzle"] = fixed.get("swizzle", rng.randrange(4))
        case["addr"] = 16 * rng.randrange(16)
        case["dim"] = [rng.randint(1, 320 // e)] + [rng.randint(1, 8) for _ in range(rank - 1)]
        case["stride"] = strides(rng, case["dim"][0] * e, case["dim"], 16)
        inner = rng.randint(1, (SPAN[case["swizzle"]] or 256) // 16) * 16 // e
        case["box"] = [inner] + [rng.randint(1, MOST[rank]) for _ in range(rank - 1)]
        case["estride"] = [rng.choice((1, 1, 2))] + [rng.choice((1, 1, 1, 2, 3)) for _ in range(rank - 1)]
        quantum, last = 16 // e, -(-case["dim"][0] * e // 16)
        low = 0 if store else -2
        case["coord"] = [quantum * rng.randint(low, last) if rng.random() < 0.6 else 0]
        case["coord"] += [rng.randint(low, d) if rng.random() < 0.3 else 0 for d in case["dim"][1:]]
        case["base"] = fixed.get("base", 128 * rng.choice((0, 0, 0, 1, 2, 3, 5, 8)))
        case["oob"] = int(not store and case["dtype"] >= F16 and rng.random() < 0.3)
        if fits(case, limit, 200_000 if store else 1 << 20):
            return case


def interleaved(rng: random.Random, kind: int, *, store: bool = False, **fixed: Any) -> Case:
    """A box of a tiled tensor of pixels, dimensions W, [H, [D,]] slice, N."""
    unit = UNIT[kind]
    while True:
        case = {**copy.deepcopy(PLAIN), "interleave": kind, **fixed}
        rank = case["rank"] = rng.randint(3, 5)
        case["dtype"] = fixed.get("dtype", rng.randrange(13))
        case["swizzle"] = fixed.get("swizzle", rng.randrange(4))
        case["addr"] = unit * rng.randrange(8)
        case["dim"] = [rng.randint(1, 24)] + [rng.randint(1, 6) for _ in range(rank - 1)]
        case["stride"] = strides(rng, case["dim"][0] * unit, case["dim"], unit)
        case["box"] = [16 // SIZE[case["dtype"]] * rng.randint(1, 3)]
        case["box"] += [rng.randint(1, 4) for _ in range(rank - 1)]
        case["estride"] = [rng.choice((1, 1, 2, 3)) for _ in range(rank)]
        low = 0 if store else -3
        case["coord"] = [rng.randint(low if rng.random() < 0.3 else 0, max(0, d - 1)) for d in case["dim"]]
        if rng.random() < 0.1:
            k = rng.randrange(rank)
            case["coord"][k] = case["dim"][k]
        case["base"] = fixed.get("base", 128 * rng.choice((0, 0, 0, 1, 2, 3, 5, 8)))
        case["oob"] = int(not store and case["dtype"] >= F16 and rng.random() < 0.3)
        if fits(case, 24576, 200_000 if store else 1 << 20):
            return case


def im2col(rng: random.Random, kind: int = 0, *, store: bool = False, corners: bool = True, **fixed: Any) -> Case:
    """Pixels of an im2col map: dimensions C, W, [H, [D,]] N, or W, [H, [D,]] slice, N with interleave."""
    while True:
        case = {**copy.deepcopy(PLAIN), "mode": "im2col", "interleave": kind, **fixed}
        rank = case["rank"] = fixed.get("rank", rng.randint(3, 5))
        case["dtype"] = fixed.get("dtype", rng.randrange(13))
        case["swizzle"] = fixed.get("swizzle", rng.randrange(4))
        e, unit, ns = SIZE[case["dtype"]], UNIT[kind] or 16, rank - 2
        case["addr"] = unit * rng.randrange(8)
        space = [rng.randint(2, 9) for _ in range(ns)]
        images = rng.randint(1, 4)
        case["dim"] = [*space, rng.randint(1, 5), images] if kind else [rng.randint(1, 192 // e), *space, images]
        case["stride"] = strides(rng, case["dim"][0] * (unit if kind else e), case["dim"], unit)
        case["lower"] = [rng.randint(-3, 2) if corners else 0 for _ in range(ns)]
        case["upper"] = [rng.randint(-3, 2) if corners else 0 for _ in range(ns)]
        high = [d - 1 + u for d, u in zip(space, case["upper"], strict=True)]
        most = (SPAN[case["swizzle"]] or 128) // 16
        case["channels"] = 16 // e * rng.randint(1, most if not kind else 4)
        case["pixels"] = rng.randint(1, 48)
        case["estride"] = [1] * rank
        first = 0 if kind else 1
        for k in range(first, first + ns):
            case["estride"][k] = rng.choice((1, 1, 2, 3))
        case["estride"][-1] = rng.choice((1, 1, 1, 2))
        start = [rng.randint(min(lo, hi), hi) for lo, hi in zip(case["lower"], high, strict=True)]
        if store:
            start = [max(0, s) for s in start]
        other = rng.randint(0, case["dim"][ns] - 1) if kind else 16 // e * rng.randint(0, case["dim"][0] * e // 16)
        n = rng.randint(0, images - 1)
        case["coord"] = [*start, other, n] if kind else [other, *start, n]
        case["off"] = [0 if store else rng.randint(0, 2) for _ in range(ns)] + [0] * (3 - ns)
        case["base"] = fixed.get("base", 128 * rng.choice((0, 0, 0, 1, 2, 3, 5, 8)))
        case["oob"] = int(not store and case["dtype"] >= F16 and rng.random() < 0.3)
        legal = all(hi + 1 > lo for lo, hi in zip(case["lower"], high, strict=True))
        if legal and fits(case, 12288, 200_000 if store else 1 << 20):
            return case


def armed(case: Case, k: int) -> Case:
    """Every other case arms the bytes that are expected; the rest leave the barrier unreached."""
    if k % 2:
        case |= {"arm": [expected_bytes(case)], "limit": WAIT}
    return case
