"""Boxes by the way in which their tiles follow one another, along rows of the tensors or down columns; and by how many.

>>> sorted({(p.facts["way"], p.facts["mode"]) for p in m40(132)})
[(0, 3), (1, 1), (1, 3), (2, 2), (2, 3), (3, 3)]
>>> sorted({p.facts["trips"] for p in m48(132)})
[24, 48, 96, 192, 384]
"""

from __future__ import annotations

import itertools
from typing import Any

from .lab import KIB, Lab, Point, Points, u32
from .points_rings import SM_BYTES_PER_NS, fits, trips_of

LOAD, STORE, COPY = 1, 2, 3
ACROSS, READS_DOWN, WRITES_DOWN = 0, 1, 2  # ways: of what tiles that follow one another lie along y
SIDE = 16384  # words of the square of which all tiles are moved
SHAPES = ((32, 128), (64, 64), (128, 32))  # words of a box, 16 KB
PITCHES = (SIDE + 64, SIDE + 1024, SIDE + 4096)
DEPTHS = ((2, 1), (3, 1), (4, 1), (4, 2), (6, 2))  # slots, and CTAs of an SM
FEW = (4, 6, 8, 12)  # slots of half of the SMs
TRIPS = (24, 48, 96, 192, 384)  # of all SMs 0.1 to 1.7 GB
UNDER_WAY = ((2, 1), (3, 1), (4, 1), (5, 1), (6, 1), (8, 1), (12, 1), (4, 2))  # slots, and CTAs of an SM
OF_HALF = (3, 4, 5, 6, 8, 12)


def m40(sms: int) -> Points:
    """Boxes of 16 KB that are read, written and copied along rows and down columns of DRAM, by what is under way.

    Rows of 128 to 512 bytes; pitches that are no powers of two; CTAs of two tiles; half of the SMs.
    """
    square = (64, 64)
    for box, (slots, per_sm) in itertools.product(SHAPES, DEPTHS):
        yield _ways(box, box, READS_DOWN, LOAD, slots, per_sm, sms)
        yield _ways(box, box[::-1], READS_DOWN, COPY, slots, per_sm, sms)  # a transposition
    for box in SHAPES:
        yield _ways(box, box, WRITES_DOWN, STORE, 4, 1, sms)
    for way, (slots, per_sm) in itertools.product((ACROSS, WRITES_DOWN, READS_DOWN | WRITES_DOWN), DEPTHS):
        yield _ways(square, square, way, COPY, slots, per_sm, sms)
    for pitch, way in itertools.product(PITCHES, (ACROSS, READS_DOWN)):
        yield _ways(square, square, way, COPY, 4, 1, sms, pitch)
    for way in (ACROSS, READS_DOWN, WRITES_DOWN):
        yield _ways(square, square, way, COPY, 2, 2, sms, trips=2, all_tiles=True)
    for way, slots in itertools.product((ACROSS, READS_DOWN), FEW):
        yield _ways(square, square, way, COPY, slots, 1, sms // 2)


def m48(sms: int) -> Points:
    """How far launches in a row let some CTAs come ahead: copies along rows, by trips and by what is under way."""
    square = (64, 64)
    for trips, (slots, per_sm) in itertools.product(TRIPS, UNDER_WAY):
        yield _ways(square, square, ACROSS, COPY, slots, per_sm, sms, trips=trips // per_sm, name="M48")
    for trips, slots in itertools.product(TRIPS[2:], OF_HALF):
        yield _ways(square, square, ACROSS, COPY, slots, 1, sms // 2, trips=trips, name="M48")


def _ways(
    box: tuple[int, int],
    target: tuple[int, int],
    way: int,
    mode: int,
    slots: int,
    per_sm: int,
    sms: int,
    pitch: int = SIDE,
    trips: int = 0,
    all_tiles: bool = False,
    name: str = "M40",
) -> Point:
    """A ring of boxes out of tensors of rows *pitch* words apart; of so many *trips*, or of a run's.

    CTAs stay on their SMs, unless they are as many as *all_tiles* take.
    """
    from symlayout import Layout, TensorMap

    nbytes = 4 * box[0] * box[1]
    assert fits(nbytes, slots, per_sm)
    tiles = SIDE * SIDE // (box[0] * box[1])
    grid = tiles // trips if all_tiles else sms * per_sm
    trips = trips or min(tiles // grid, trips_of(nbytes, slots, per_sm, sms, SM_BYTES_PER_NS))
    over = Layout((pitch, SIDE), (1, pitch))
    maps = [TensorMap.over(over, "f32", x) for x in (box, target)]
    spans = [(SIDE // x[way >> k & 1]).bit_length() - 1 for k, x in enumerate((box, target))]

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        first = repeat * trips * grid % tiles
        numbers = (nbytes, slots, trips, first, tiles, spans[0], *box, spans[1], *target, way, mode)
        return [Mapped(maps[0], lab.src), Mapped(maps[1], lab.dst), *map(u32, numbers)]

    facts = {"row_bytes": 4 * box[0], "rows": box[1], "target_row_bytes": 4 * target[0], "way": way, "mode": mode}
    facts |= {"slots": slots, "per_sm": per_sm, "sms": sms, "pitch": 4 * pitch, "trips": trips, "bytes": nbytes}
    return Point(name, "ways", "ways", grid, 64, args, facts, slots * (nbytes + 16) + KIB, maps_first=True)
