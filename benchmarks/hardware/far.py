"""Copies about coordinates and extents of 2^31, over strides of 0 or over addresses as far apart as they say.

A ``wide`` case lies in reserved addresses: its tensor begins ``addr`` bytes behind their start, and 4 MiB of memory are
mapped ``wide`` bytes behind it, where the box is. Whatever a copy addresses elsewhere faults.
"""

from __future__ import annotations

import copy
import random
from typing import Any

from benchmarks.hardware.cases import F16, PLAIN, SIZE, U32, U64, UNREACHED, Case, expected_bytes
from benchmarks.hardware.tensors import im2col, interleaved

BIG = 1 << 31
EXTENTS = (1 << 32, (1 << 32) - 1, BIG + 1, BIG, BIG - 1, BIG + 2)
STARTS = (BIG - 1, 0, BIG - 2, 5)
PAGE = 2 << 20  # what can be mapped begins at a multiple of it
LEAD = 4096
STORED = {"fill": "s9", "smem": 65536}
ADDED = {"fill": "int32.src", "init": "int32.dst", "smem": 65536, "dtype": U32}


def fixed_of(form: str) -> dict[str, Any]:
    return dict(ADDED) if form.startswith("reduce") else dict(STORED) if form.startswith("store") else {}


def far_tile(rng: random.Random, k: int, form: str) -> Case:
    """One extent about 2^31 or 2^32, in each dimension of each rank, over a stride of 0."""
    case = copy.deepcopy(PLAIN) | {"form": form, "dtype": (0, U32, U64)[k % 3]} | fixed_of(form)
    rank = case["rank"] = 1 + k // 6 % 5
    at, e = rng.randrange(rank), SIZE[case["dtype"]]
    case |= {"addr": 16 * rng.randrange(64), "dim": [64] + [3] * (rank - 1), "box": [32 // e] + [2] * (rank - 1)}
    case |= {"stride": [512 * 3**i for i in range(rank - 1)], "estride": [1] * rank, "coord": [0] * rank}
    case["dim"][at] = EXTENTS[k % 6]
    if at:
        case["stride"][at - 1], case["box"][at] = 0, 1
        case["coord"][at] = min(STARTS[k // 6 % 4], case["dim"][at] - 1)
    else:
        case["coord"][0] = 16 // e * rng.randrange(8)
    return case


def far_store(rng: random.Random, k: int) -> Case:
    return far_tile(rng, k, "store")


def far_reduce(rng: random.Random, k: int) -> Case:
    return far_tile(rng, k, "reduce_add")


def far_walk(rng: random.Random, k: int, form: str) -> Case:
    """An im2col walk near 0 in a tensor with one extent about 2^31 or 2^32; corners that the driver takes."""
    store = "load" not in form
    kind = (0, 0, 1, 2)[k // 6 % 4]
    case = im2col(rng, kind, store=store, corners=False, form=form, **fixed_of(form))
    rank, first = case["rank"], 0 if kind else 1
    at = (k // 24 + k // 6) % rank
    spatial = at - first if 0 <= at - first < rank - 2 else -1
    extent = case["dim"][at] = EXTENTS[k % 6]
    for i in range(rank - 1):  # so that no step leaves the buffer
        if i == at - 1:
            case["stride"][i] = 0
    if at == 0 and kind:
        case["pixels"] = min(case["pixels"], 16)
    for i in range(rank - 2):
        case["coord"][first + i] = 0
    if spatial >= 0 and not store:
        wraps = extent >= BIG
        low, high = {
            1 << 32: (-2, 3),
            (1 << 32) - 1: (-1, 2),
            BIG + 1: (-3, -2),
            BIG + 2: (-3, -3),
            BIG: (-2, -1),
            BIG - 1: (0, 0),
        }[extent]
        limit = {3: 1 << 15, 4: 1 << 7, 5: 1 << 4}[rank]
        assert not wraps or abs(low) < limit
        case["lower"][spatial], case["upper"][spatial] = low, high
    elif spatial >= 0:
        case["upper"][spatial] = {BIG + 1: -2, BIG + 2: -3, BIG: -1}.get(extent, 0)
    if store:  # rows that lie on one another are left open
        case["pixels"] = 1
    return case


def far_im2col(rng: random.Random, k: int) -> Case:
    return far_walk(rng, k, "load_im2col")


def far_im2col_store(rng: random.Random, k: int) -> Case:
    return far_walk(rng, k, "store_im2col")


def far_im2col_reduce(rng: random.Random, k: int) -> Case:
    return far_walk(rng, k, "reduce_im2col_add")


def place(rng: random.Random, case: Case, reach: int) -> Case:
    """Put the first byte of a box, which lies *reach* bytes behind the tensor's start, into mapped memory."""
    wide = -(-max(reach, 1) // PAGE) * PAGE
    return case | {"wide": wide, "addr": wide + LEAD + 16 * rng.randrange(256) - reach}


def wide_tile(rng: random.Random, k: int, form: str) -> Case:
    """A box up to 2^42 bytes from the start of its tensor, near the end of extents up to 2^31."""
    case = copy.deepcopy(PLAIN) | {"form": form, "dtype": (0, 1, U32, U64, F16)[k % 5]} | fixed_of(form)
    rank = case["rank"] = 1 + k // 5 % 5
    e = SIZE[case["dtype"]]
    case |= {"dim": [], "stride": [], "box": [], "coord": [], "estride": [1] * rank, "swizzle": rng.randrange(4)}
    reach = 0
    for i in range(rank):
        far = i == k % rank or rng.random() < 0.3
        if i == 0:
            wide = (0, 32, 64, 128)[case["swizzle"]] or 64
            x = 16 // e * (BIG * e // 16 - rng.randint(1, 64) if far else rng.randrange(4))
            stride, box = e, wide // e
        else:
            stride = 16 * rng.randint(1, 1 << rng.randint(4, 34 if far else 12))
            x = min(BIG - 1 - rng.randrange(9), (1 << rng.randint(24, 40)) // stride) if far else rng.randrange(3)
            box = rng.randint(1, 4) if 1024 <= stride <= 8192 else 1
            case["stride"].append(stride)
        reach += x * stride
        extent = rng.choice((BIG, BIG - 1, x + rng.randint(1, 8)))
        case["coord"].append(x)
        case["dim"].append(min(BIG, max(extent, x + 1)))
        case["box"].append(box)
    if len({s for s, b in zip(case["stride"], case["box"][1:], strict=True) if b > 1}) > 1:  # rows that may overlap
        case["box"] = case["box"][:2] + [1] * (rank - 2)
    return place(rng, case, reach)


def wide_load(rng: random.Random, k: int) -> Case:
    return wide_tile(rng, k, "load")


def wide_store(rng: random.Random, k: int) -> Case:
    return wide_tile(rng, k, "store")


def wide_reduce(rng: random.Random, k: int) -> Case:
    return wide_tile(rng, k, "reduce_add")


def wide_walk(rng: random.Random, k: int, form: str) -> Case:
    """Pixels in a row along a W up to 2^31, of an image far behind the first."""
    store = "load" not in form
    case = copy.deepcopy(PLAIN) | {"form": form, "mode": "im2col", "dtype": (0, U32)[k % 2], "rank": 3} | fixed_of(form)
    e, pixels = SIZE[case["dtype"]], rng.randint(1, 12)
    far_w, step = k // 2 % 2 == 0, rng.choice((1, 2))
    stride = 16 * rng.randint(4, 64)
    x = BIG - 1 - rng.randint(pixels * step, 64) if far_w else rng.randrange(5)
    image = 16 * rng.randint(1, 1 << rng.randint(8, 32))
    n = min(BIG - 2, (1 << rng.randint(30, 41)) // image)
    case |= {"dim": [64 // e, x + pixels * step, n + 1], "stride": [stride, image], "lower": [0], "upper": [0]}
    case |= {"channels": 32 // e, "pixels": pixels, "estride": [1, step, 1], "coord": [0, x, n]}
    if not store and k // 4 % 2:
        case["off"] = [rng.randint(0, 3), 0, 0]
    return place(rng, case, (x + case["off"][0]) * stride + n * image)


def wide_im2col(rng: random.Random, k: int) -> Case:
    return wide_walk(rng, k, "load_im2col")


def wide_im2col_store(rng: random.Random, k: int) -> Case:
    return wide_walk(rng, k, ("store_im2col", "reduce_im2col_add")[k // 4 % 2])


def multicast_im2col(rng: random.Random, k: int) -> Case:
    """One CTA issues an im2col load for others; every barrier is armed, those outside the mask out of reach."""
    size = (2, 4, 4, 8)[k % 4]
    while True:
        case = im2col(rng, k // 4 % 3, form="multicast_im2col", cluster=size, limit=4096, smem=16384)
        case["base"] = 128 * rng.randrange(9)
        if expected_bytes(case) + case["base"] <= 12288:
            break
    case["issuer"], case["barrier"] = rng.randrange(size), rng.randrange(2)
    case["mask"] = rng.randint(1, (1 << size) - 1) if k % 16 else 0
    exact = expected_bytes(case) if k // 4 % 2 else UNREACHED
    case["arm"] = [exact if case["mask"] >> c & 1 else UNREACHED for c in range(size)]
    return case


def far_interleaved(rng: random.Random, k: int) -> Case:
    """One extent about 2^31 or 2^32 of a tensor of pixels, near 0."""
    form = ("load", "store", "reduce_add")[k // 6 % 3]
    case = interleaved(rng, 1 + k // 18 % 2, store=form != "load", form=form, **fixed_of(form))
    at = rng.randrange(case["rank"])
    case["dim"][at], case["coord"] = EXTENTS[k % 6], [0] * case["rank"]
    if at:
        case["stride"][at - 1], case["box"][at] = 0, 1
    elif form != "load":
        case["box"][1:] = [1] * (case["rank"] - 1)  # rows that lie on one another are left open
    return case


def outside(rng: random.Random, k: int) -> Case:
    """A copy that lies wholly outside: memory is mapped at the tensor's start, at the box, or at the nearest byte."""
    form = ("load", "load", "load", "load_im2col", "store", "reduce_add")[k // 3 % 6]
    case = copy.deepcopy(PLAIN) | {"form": form, "dtype": U32, "rank": 2 + (form == "load_im2col")} | fixed_of(form)
    pitch, rows = 4 * PAGE, 64
    above = form in ("store", "reduce_add") or k // 18 % 2 == 0
    case |= {"dim": [32, rows], "stride": [pitch], "box": [32, 2], "estride": [1, 1]}
    case["coord"] = [0, 3 * rows] if above else [0, -rows]
    if k // 36 % 2 and form != "load_im2col":  # outside along the row
        case |= {"dim": [PAGE, rows], "coord": [2 * PAGE if above else -2 * PAGE, 0]}
    if form == "load_im2col":
        case |= {"mode": "im2col", "dim": [32, 8, rows], "stride": [1024, pitch], "channels": 32, "pixels": 4}
        case |= {
            "lower": [0],
            "upper": [0],
            "estride": [1, 1, 1],
            "box": [],
            "coord": [0, 0, 3 * rows if above else -rows],
        }
    strides = [4, *case["stride"]]
    at = sum(x * s for x, s in zip(case["coord"], strides, strict=True))
    near = sum(min(max(x, 0), d - 1) * s for x, d, s in zip(case["coord"], case["dim"], strides, strict=True))
    reach = (0, at, near)[k % 3]
    start = 1 << 32  # of the tensor, so that what lies before it has addresses too
    wide = (start + reach) // PAGE * PAGE
    return case | {"wide": wide, "addr": start + LEAD + 16 * rng.randrange(64)}


def null_address(rng: random.Random, k: int) -> Case:
    """A copy through a map of a null address: inside the tensor, or wholly outside."""
    case = far_tile(rng, 3 * (k // 2 % 3), ("load", "store", "reduce_add")[k % 3])
    case |= {"dim": [64] * case["rank"], "nulls": 1}
    if k // 3 % 2:
        case["coord"][0] = 128
    return case
