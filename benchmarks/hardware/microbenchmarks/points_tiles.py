"""The sweeps of single tiles of a launch, of boxes of short rows in L2 and one at a time, of rings with one slot.

>>> [p.kernel for p in m31(132)][:3]
['mapped_stamped_0', 'mapped_stamped_0', 'mapped_stamped_0']
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from .lab import GIB, KIB, Lab, Point, Points, Row, u32
from .launches import nanoseconds
from .points_boxes import boxes
from .points_rings import MIB, fits, ring, trips_of

STEPS, GRIDS = range(6), (1, 132, 528)
HOW = ("mapped", "bulk")
COLUMNS, ROWS = 2048, 1024  # of the tensors of words whose tiles are moved
TILES_X = (COLUMNS // 64).bit_length() - 1


def _step_args(how: str) -> Any:
    """The arguments of a step, but for the stamps."""

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped
        from symlayout import Layout, TensorMap

        over = TensorMap.over(Layout((COLUMNS, ROWS), (1, COLUMNS)), "f32", (64, 16))
        ends = [Mapped(over, lab.src), Mapped(over, lab.dst)] if how == "mapped" else [lab.src, lab.dst]
        return [*ends, u32(TILES_X)]

    return args


def m31(sms: int) -> Points:
    """The steps of a launch that moves a tile of each CTA, from the first instruction of a consumer on."""
    del sms
    for how, step, grid in itertools.product(HOW, STEPS, GRIDS):
        facts = {"how": how, "step": step, "mode": 3, "bytes": 4096}
        yield Point(
            *("M31", "tiles", f"{how}_stamped_{step}", grid, 64, _step_args(how), facts, 8192),
            before=lambda lab, r: lab.touch(8 * MIB) if r == 0 else None,
            maps_first=how == "mapped",
        )


def gaps_of_steps(lab: Lab, repeats: int) -> list[Row]:
    """M31: nanoseconds of a launch among many that ends after a step."""
    out: list[Row] = []
    for how, step, grid in itertools.product(HOW, STEPS, GRIDS):
        args = _step_args(how)(lab, 0)
        args = [*args[:2], lab.out, *args[2:]] if how == "mapped" else [lab.out, *args]
        kernel = lab.modules["tiles"].prepare(f"{how}_{step}", grid, 64, args, shared=8192)
        ns = [nanoseconds(lab, kernel) for _ in range(repeats // 2 + 1)]
        out.append({"id": "M31", "kernel": "gap", "how": how, "step": step, "grid": grid, "block": 64, "ns": ns})
    return out


SHORT = ((4, 256), (8, 256), (16, 256), (8, 64), (16, 64), (32, 32), (32, 64), (64, 64))
ALONE = ((16, 64), (32, 32), (64, 32), (32, 64), (16, 32), (64, 64), (128, 128))
SMALL, LARGE = (2048, 1024), (16384, 16384)


def m32(sms: int) -> Points:
    """Boxes in L2 by their rows, stores alone among them; one at a time, by the CTAs of an SM; partly outside."""
    for box, mode, (some, per_sm) in itertools.product(SHORT, (1, 2, 3), ((1, 1), (33, 1), (sms, 1), (sms, 4))):
        yield _box(box, SMALL, 4, per_sm, some, mode)
    for box, shape, per_sm, mode in itertools.product(ALONE, (LARGE, SMALL), (1, 2, 4), (1, 3, 7)):
        if 4 * box[0] * box[1] * per_sm <= 200 * KIB:
            yield _box(box, shape, 1, per_sm, sms, mode)
    for some, slots, outside, mode in itertools.product((1, sms), (1, 4), (0, 1, 2, 3), (2, 3)):
        for rows, columns in {(64, 64 - 16 * outside), (64 - 16 * outside, 64)}:
            yield _partly_stored(some, slots, rows, columns, mode)


def _box(box: tuple[int, int], shape: tuple[int, int], slots: int, per_sm: int, some: int, mode: int) -> Point:
    point = boxes(box, shape, slots, per_sm, some, mode | 1)
    return replace(point, id="M32", kernel="boxes" if mode & 1 else "box_stores", file="boxes" if mode & 1 else "tiles",
                   args=_of_mode(point, mode), facts={**point.facts, "mode": mode})  # fmt: skip


def _of_mode(point: Point, mode: int) -> Any:
    return lambda lab, repeat: [*point.args(lab, repeat)[:-1], u32(mode)]


def _partly_stored(some: int, slots: int, rows: int, columns: int, mode: int) -> Point:
    """Boxes of 64 x 64 words in L2, stored or copied, in tensors of *rows* x *columns* a box."""
    from symlayout import Layout, TensorMap

    tiles, nbytes = 1024, 4 * 64 * 64
    if columns == 64:
        over, walk = Layout((64 * tiles, rows), (1, 64 * tiles)), (tiles, 64)
    else:
        over, walk = Layout((columns, 64 * tiles), (1, 64)), (1, 64)
    mapped = TensorMap.over(over, "f32", (64, 64))
    trips = trips_of(nbytes, slots, 1, some, 60.0)

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        numbers = (nbytes, slots, trips, 0, walk[0].bit_length() - 1, tiles, 64, 64, mode)
        return [Mapped(mapped, lab.src), Mapped(mapped, lab.dst), *map(u32, numbers)]

    facts = {"rows_inside": rows, "columns_inside": columns, "slots": slots, "sms": some, "mode": mode}
    facts |= {"trips": trips, "bytes": nbytes, "row_bytes": 256, "rows": 64}
    file, kernel = ("boxes", "boxes") if mode & 1 else ("tiles", "box_stores")
    return Point("M32", file, kernel, some, 64, args, facts, shared=slots * (nbytes + 16) + KIB, maps_first=True,
                 before=lambda lab, r: lab.touch(16 * MIB))  # fmt: skip


def m33(sms: int) -> Points:
    """Rings of one and two slots by the CTAs of an SM, in L2 and from DRAM."""
    sizes = (512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB)
    for nbytes, slots, per_sm, some, mode in itertools.product(sizes, (1, 2), (1, 2, 3, 4), (1, sms), (1, 3)):
        if fits(nbytes, slots, per_sm):
            yield ring("M33", nbytes, slots, per_sm, some, mode, footprint=16 * MIB)
    for nbytes, per_sm in itertools.product((*sizes, 32 * KIB, 64 * KIB), (1, 2, 3, 4)):
        if fits(nbytes, 1, per_sm):
            yield ring("M33", nbytes, 1, per_sm, sms, 3, footprint=4 * GIB)
    for nbytes, slots, per_sm, some in itertools.product((512, KIB, 4 * KIB), (1, 3), (1,), (8, 33, 66)):
        yield ring("M33", nbytes, slots, per_sm, some, 3, footprint=4 * GIB)
