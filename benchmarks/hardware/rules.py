"""Rules that a copy breaks: pairs of cases that differ in one number; and all cases in the order in which they run."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.hardware.cases import SIZE, SPAN, Case, ceil, expected_bytes, finish, footprint
from benchmarks.hardware.families import ADDED, FAMILIES, add
from benchmarks.hardware.tensors import im2col, interleaved, tile

Pair = Callable[[random.Random, int], tuple[Case, str, Any]]


def moved(value: list[int], k: int, by: int) -> list[int]:
    return [v + by * (i == k) for i, v in enumerate(value)]


def subject(rng: random.Random, kind: str, k: int) -> Case:
    """A case of a kind that runs: a load, an im2col load, a store, a reduction."""
    if kind == "load":
        return tile(rng)
    if kind == "im2col":
        return im2col(rng, form="load_im2col")
    if kind == "interleaved":
        return interleaved(rng, 1 + k % 2)
    if kind == "store":
        return tile(rng, store=True, form="store", smem=65536, rank=1 + k % 5)
    return tile(rng, store=True, form="reduce_add", rank=1 + k % 5, **add(ADDED[k // 5 % 6]))


def inner_start(kind: str) -> Pair:
    """coord[0] * size % 16 == 0, with interleave NONE."""

    def pair(rng: random.Random, k: int) -> tuple[Case, str, Any]:
        case = subject(rng, kind, k)
        off = rng.randint(1, 16 // SIZE[case["dtype"]] - 1)
        return case, "coord", moved(case["coord"], 0, off)

    return pair


def negative_start(kind: str) -> Pair:
    """coord >= 0 for a store or a reduction, in dimension k of rank."""

    def pair(rng: random.Random, k: int) -> tuple[Case, str, Any]:
        case = subject(rng, kind, k)
        at = k // 5 % case["rank"]
        quantum = 1 if at else 16 // SIZE[case["dtype"]]
        case["coord"][at] = 0
        return case, "coord", moved(case["coord"], at, -quantum * rng.randint(1, 3))

    return pair


def shared_address(kind: str) -> Pair:
    """A shared-memory address that is a multiple of 128."""

    def pair(rng: random.Random, k: int) -> tuple[Case, str, Any]:
        case = subject(rng, kind, k)
        return case, "base", case["base"] + (64, 16, 32, 48, 64, 80, 96, 112)[k % 8]

    return pair


def shared_end(rng: random.Random, k: int) -> tuple[Case, str, Any]:
    """The last row ends where the CTA's shared memory ends; one row more overruns it."""
    swizzle = (3, 3, 3, 2, 1)[k % 5]
    rows = 1024 // SPAN[swizzle] * rng.randint(1, 254 * SPAN[swizzle] // 1024)
    case = tile(rng, rank=2, swizzle=swizzle, base=0)
    case |= {"box": [case["box"][0], rows], "estride": [1, 1], "smem": rows * SPAN[swizzle], "coord": [0, 0]}
    return case, "box", [case["box"][0], rows + 1]


def shared_end_by(rng: random.Random, k: int) -> tuple[Case, str, Any]:
    """As shared_end, by 2 rows and more: where the fault begins, should one row not raise it."""
    case, field, box = shared_end(rng, 5 * k + k % 5)
    return case, field, [box[0], min(256, box[1] + (1, 3, 7, 15, 31, 63, 127, 255)[k % 8])]


def map_rank(rng: random.Random, k: int) -> tuple[Case, str, Any]:
    """The instruction has as many dimensions as the map."""
    kind = ("load", "store", "reduction", "im2col")[k % 4]
    case = subject(rng, kind, k // 4)
    case["nd"] = case["rank"]
    return case, "nd", rng.choice([n for n in range(3 if kind == "im2col" else 1, 6) if n != case["rank"]])


def map_mode(rng: random.Random, k: int) -> tuple[Case, str, Any]:
    """Tile instructions take a tiled map, im2col instructions an im2col map."""
    form = ("load", "store", "reduce_add")[k % 3]
    other = {"load": "load_im2col", "store": "store_im2col", "reduce_add": "reduce_im2col_add"}[form]
    fixed: dict[str, Any] = add(ADDED[k // 3 % 6]) if k % 3 == 2 else {"smem": 65536}
    if k // 3 % 2:
        return im2col(rng, store=k % 3 > 0, form=other, **fixed), "form", form
    return tile(rng, store=k % 3 > 0, form=form, rank=rng.randint(3, 5), **fixed), "form", other


RULES: tuple[tuple[str, Pair, int], ...] = (
    ("inner_start_load", inner_start("load"), 210),
    ("inner_start_im2col", inner_start("im2col"), 210),
    ("inner_start_store", inner_start("store"), 210),
    ("inner_start_reduction", inner_start("reduction"), 210),
    ("negative_start_store", negative_start("store"), 210),
    ("negative_start_reduction", negative_start("reduction"), 210),
    ("shared_address_load", shared_address("load"), 210),
    ("shared_address_im2col", shared_address("im2col"), 210),
    ("shared_address_interleaved", shared_address("interleaved"), 210),
    ("shared_address_store", shared_address("store"), 210),
    ("shared_address_reduction", shared_address("reduction"), 210),
    ("shared_end", shared_end, 210),
    ("shared_end_by", shared_end_by, 64),
    ("map_rank", map_rank, 210),
    ("map_mode", map_mode, 210),
)


def pairs(rule: str, make: Pair, count: int) -> Iterator[Case]:
    """Both sides of every pair; the dump of both is as long as the longer one needs."""
    rng = random.Random(f"tma {rule}")
    for k in range(count):
        good, field, value = make(rng, k)
        good["nd"] = good["nd"] or good["rank"]
        bad = {**copy.deepcopy(good), field: value}
        names = {"family": rule, "rule": rule, "pair": k, "broken": field}
        if not good["form"].startswith(("store", "reduce")):
            dump = min(good["smem"], max(ceil(c["base"] + footprint(c), 1024) + 1024 for c in (good, bad)))
            good["dump"] = bad["dump"] = dump
        good["bytes"] = bad["bytes"] = expected_bytes(good)
        yield good | names | {"side": "ok", "phase": 1}
        yield bad | names | {"side": "fault", "phase": 2}


@functools.cache
def every_case() -> list[Case]:
    """All cases in the order in which they run: by phase, and within a phase every family at the same pace."""
    found: list[tuple[tuple[int, float], Case]] = []
    for name, make, count, phase in FAMILIES:
        rng = random.Random(f"tma {name}")
        for k in range(count):
            case = finish(make(rng, k))
            found.append(((phase, k / count), case | {"family": name, "phase": phase}))
    for rule, pair, count in RULES:
        for k, case in enumerate(pairs(rule, pair, count)):
            found.append(((case["phase"], k / (2 * count)), case))
    found.sort(key=lambda entry: entry[0])
    return [case | {"id": number} for number, (_, case) in enumerate(found)]
