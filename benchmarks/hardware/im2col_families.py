"""Families of im2col copies that break no rule: started outside of the corners, clipped, with strides, and far away."""

from __future__ import annotations

import copy
import random
from typing import Any

from benchmarks.hardware import far
from benchmarks.hardware.cases import PLAIN, SIZE, U32, Case
from benchmarks.hardware.tensors import armed, im2col


def im2col_interleaved(rng: random.Random, k: int) -> Case:
    return armed(im2col(rng, 1 + k % 2, form="load_im2col"), k // 2)


def im2col_outside(rng: random.Random, k: int) -> Case:
    """Started before the lower or beyond the upper corner in some spatial dimension."""
    case = im2col(rng, form="load_im2col")
    for i in range(case["rank"] - 2):
        if i == k % (case["rank"] - 2) or rng.random() < 0.3:
            high = case["dim"][1 + i] - 1 + case["upper"][i]
            below = rng.random() < 0.5
            case["coord"][1 + i] = case["lower"][i] - rng.randint(1, 4) if below else high + rng.randint(1, 4)
    return armed(case, k)


def im2col_negative(rng: random.Random, k: int) -> Case:
    """Image or channel before 0, or the image beyond the last."""
    case = im2col(rng, form="load_im2col")
    if k % 3 == 0:
        case["coord"][-1] = -rng.randint(1, 3)
    elif k % 3 == 1:
        case["coord"][-1] = case["dim"][-1] + rng.randint(0, 2)
    else:
        case["coord"][0] = -16 // SIZE[case["dtype"]] * rng.randint(1, 3)
    return armed(case, k // 3)


def im2col_estride(rng: random.Random, k: int) -> Case:
    case = im2col(rng, k % 3, form="load_im2col")
    case["estride"][0 if k % 3 == 0 else -2] = rng.randint(2, 4)
    return armed(case, k // 3)


def im2col_store(rng: random.Random, k: int) -> Case:
    return im2col(rng, store=True, corners=k % 2 == 1, form="store_im2col", smem=65536)


def im2col_store_interleaved(rng: random.Random, k: int) -> Case:
    return im2col(rng, 1 + k % 2, store=True, corners=k % 4 > 1, form="store_im2col", smem=65536)


def spatial(case: Case) -> int:
    """The first spatial dimension of an im2col map."""
    return 0 if case["interleave"] else 1


def clipped(rng: random.Random, kind: int, form: str, **fixed: Any) -> Case:
    """An im2col store or reduction whose corners lie within the tensor, where such copies run."""
    case = im2col(rng, kind, store=True, corners=False, form=form, smem=65536, **fixed)
    for i in range(case["rank"] - 2):
        extent = case["dim"][spatial(case) + i]
        case["lower"][i] = rng.randint(0, extent - 1)
        case["upper"][i] = -rng.randint(0, extent - 1 - case["lower"][i])
        high = extent - 1 + case["upper"][i]
        case["coord"][spatial(case) + i] = rng.randint(case["lower"][i], high)
    return case


def im2col_store_clipped(rng: random.Random, k: int) -> Case:
    return clipped(rng, k % 3, "store_im2col")


def im2col_store_outside(rng: random.Random, k: int) -> Case:
    """Started beyond the upper corner, or before a lower corner that is not 0."""
    while True:
        case = clipped(rng, k % 3, "store_im2col")
        i = rng.randrange(case["rank"] - 2)
        at = spatial(case) + i
        below = k // 3 % 2 == 1
        if below and case["lower"][i] == 0:
            continue
        high = case["dim"][at] - 1 + case["upper"][i]
        case["coord"][at] = rng.randint(0, case["lower"][i] - 1) if below else high + rng.randint(1, 3)
        return case


def im2col_store_start(rng: random.Random, k: int) -> Case:
    """Image or channel before 0, the channel not at 16 bytes, the tile not at 128 bytes."""
    case = clipped(rng, k // 4 % 3 if k % 4 != 1 else 0, "store_im2col", dtype=rng.choice((0, 1, 6, 7, 9)))
    if k % 4 == 0:
        case["coord"][-1] = -rng.randint(1, 2)
    elif k % 4 == 1:
        case["coord"][0] += rng.randint(1, 16 // SIZE[case["dtype"]] - 1)
    elif k % 4 == 2:
        case["base"] += 16 * rng.randint(1, 7)
    else:
        case["coord"][-2 if case["interleave"] else 0] = -16 // SIZE[case["dtype"]]
    return case


def im2col_interleaved_outside(rng: random.Random, k: int) -> Case:
    case = im2col_interleaved(rng, k)
    i = rng.randrange(case["rank"] - 2)
    high = case["dim"][i] - 1 + case["upper"][i]
    case["coord"][i] = case["lower"][i] - rng.randint(1, 3) if k % 4 < 2 else high + rng.randint(1, 3)
    return case


def im2col_far(rng: random.Random, k: int) -> Case:
    """A walk that ends near 2^31, over a stride of 0."""
    case = copy.deepcopy(PLAIN) | {"form": "load_im2col", "mode": "im2col", "dtype": (0, U32)[k % 2], "rank": 3}
    extent, upper = far.EXTENTS[3 + k // 2 % 3], rng.choice((-2, 0, 1, 5, 100))
    last = extent - 1 + upper
    case |= {"dim": [64, extent, 3], "stride": [0, 512], "lower": [rng.choice((-3, 0, 2))], "upper": [upper]}
    case |= {"channels": 16, "pixels": 20, "estride": [1, rng.choice((1, 2, 3)), 1], "addr": 16 * rng.randrange(64)}
    return case | {"coord": [0, min((1 << 31) - 1, last) - rng.randint(0, 9), rng.randrange(2)]}
