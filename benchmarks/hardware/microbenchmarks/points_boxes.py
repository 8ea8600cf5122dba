"""The sweeps of boxes of tensor maps: their shapes, swizzles and parts, first copies, the operands of products.

>>> [p.facts["rows_inside"] for p in m12(132)][:2]
[64, 64]
"""

from __future__ import annotations

import itertools
from typing import Any

from .lab import KIB, Lab, Point, Points, u32
from .points_rings import MIB, SHARED, SM_BYTES_PER_NS, trips_of


def boxes(
    box: tuple[int, int],
    shape: tuple[int, int],
    slots: int,
    per_sm: int,
    sms: int,
    mode: int,
    swizzle: int = 0,
    l2: int = 0,
    persistent: bool = True,
) -> Point:
    """Boxes of (x, y) words out of a row-major tensor of (columns, rows)."""
    from symlayout import Layout, TensorMap

    (box_x, box_y), (columns, rows) = box, shape
    nbytes, tiles_x = 4 * box_x * box_y, columns // box_x
    tiles, hot = tiles_x * (rows // box_y), 4 * columns * rows <= 32 * MIB
    grid = sms * per_sm if persistent else tiles // 2
    long = trips_of(nbytes, slots, per_sm, sms, 60.0 if hot else SM_BYTES_PER_NS)
    trips = 2 if not persistent else long if hot else min(tiles // grid, long)

    def tensor_map(columns: int, rows: int, x: int, y: int) -> Any:
        over = Layout((columns, rows), (1, columns))
        return TensorMap.over(over, "f32", (x, y), swizzle=swizzle, l2_promotion=l2)

    source = tensor_map(columns, rows, box_x, box_y)
    target = tensor_map(rows, columns, box_y, box_x) if mode & 4 else source

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        first = 0 if hot or not persistent else repeat * trips * grid % tiles
        numbers = (nbytes, slots, trips, first, tiles_x.bit_length() - 1, tiles, box_x, box_y, mode)
        return [Mapped(source, lab.src), Mapped(target, lab.dst), *map(u32, numbers)]

    facts = {"row_bytes": 4 * box_x, "rows": box_y, "columns": columns, "height": rows, "slots": slots}
    facts |= {"per_sm": per_sm, "sms": sms, "mode": mode, "swizzle": swizzle, "l2": l2, "trips": trips, "bytes": nbytes}
    return Point(
        "M6", "boxes", "boxes", grid, 64, args, facts, shared=slots * (nbytes + 16) + KIB, maps_first=True,
        before=(lambda lab, r: lab.touch(4 * columns * rows)) if hot else None,
    )  # fmt: skip


SHAPES = ((256, 16), (128, 32), (64, 64), (32, 128), (16, 256), (8, 256), (4, 256))


def m6(sms: int) -> Points:
    """Boxes of 16 KB (the narrowest are smaller) by their rows; swizzles; copies and transpositions of DRAM."""
    small, large = (4096, 2048), (16384, 16384)
    for box, n, some in itertools.product(SHAPES, (1, 4), (1, sms)):
        yield boxes(box, small, n, 1, some, 1)
    for box, mode in itertools.product(
        ((64, 64), (32, 128), (32, 64), (16, 128), (16, 256), (8, 256), (4, 256)), (1, 3)
    ):
        yield boxes(box, small, 3, 4, sms, mode)  # four CTAs of an SM: what its unit takes
    for box, n in itertools.product(SHAPES, (1, 2, 4)):
        yield boxes(box, large, n, 1, sms, 1)
    for swizzle, some in itertools.product((32, 64, 128), (1, sms)):
        yield boxes((swizzle // 4, 128), small, 4, 1, some, 1, swizzle=swizzle)
        yield boxes((swizzle // 4, 128), small, 4, 1, some, 1)
    for box, per_sm in itertools.product(SHAPES, (1, 2)):
        yield boxes(box, large, 4, per_sm, sms, 3)
    tiles = (
        (32, 32),
        (32, 64),
        (64, 32),
        (64, 64),
        (16, 64),
        (64, 16),
        (32, 128),
        (128, 32),
        (128, 64),
        (64, 128),
        (16, 128),
        (128, 16),
    )
    for box, l2 in itertools.product(tiles, (0, 256)):
        for mode in (3, 7):
            yield boxes(box, large, 4 if box[0] * box[1] < 8192 else 2, 2, sms, mode, l2=l2)
    for box, mode in itertools.product(((64, 64), (32, 64), (32, 32)), (3, 7)):
        yield boxes(box, large, 2, 4, sms, mode)
        yield boxes(box, large, 2, 2, sms, mode, persistent=False)
        yield boxes(box, (8192, 8192), 4, 2, sms, mode)
        yield boxes(box, (2048, 1024), 4, 2, sms, mode)


def m11(sms: int) -> Points:
    """The first copies after a launch: what fetching the map takes, and what a prefetch saves."""
    from symlayout import Layout, TensorMap

    over = TensorMap.over(Layout((4096, 2048), (1, 4096)), "f32", (32, 16))
    for kind, ahead, some in itertools.product((0, 1, 2), (0, 200, 500, 1000), (1, sms)):
        if kind == 2 or ahead == 0:

            def args(lab: Lab, repeat: int, kind: int = kind, ahead: int = ahead) -> list[Any]:
                from gpu import Mapped

                return [Mapped(over, lab.src), Mapped(over, lab.dst), lab.src, u32(kind), u32(ahead)]

            facts = {"kind": kind, "ahead": ahead, "sms": some}
            yield Point("M11", "boxes", "first_copies", some, 32, args, facts, 8192,
                        before=lambda lab, r: lab.touch(32 * MIB), maps_first=True)  # fmt: skip


def m12(sms: int) -> Points:
    """Boxes of which a part of the rows or columns lies outside of the tensor, and boxes of every second row."""
    for some, outside, slots in itertools.product((1, sms), (0, 1, 2, 3, 4), (1, 4)):
        for rows, columns in {(64, 64 - 16 * outside), (64 - 16 * outside, 64)}:
            if rows and columns:
                yield _partly(some, slots, rows, columns)
    for some, slots, stride in itertools.product((1, sms), (1, 4), (2, 4, 8)):
        yield _partly(some, slots, 64, 64, stride)


def _partly(some: int, slots: int, rows: int, columns: int, stride: int = 1) -> Point:
    """Loads from L2 of boxes of 64 x 64 words, in a tensor of *rows* x *columns* a box; of every *stride*-th row."""
    from symlayout import Layout, TensorMap

    tiles, nbytes = 1024, 4 * 64 * 64 // stride
    if columns == 64:  # boxes side by side, which all end below the last row
        over, walk = Layout((64 * tiles, rows), (1, 64 * tiles)), (tiles, 64)
    else:  # boxes one below another, which all end behind the last column
        over, walk = Layout((columns, 64 * tiles), (1, 64)), (1, 64)
    source = TensorMap.over(over, "f32", (64, 64), element_stride=(1, stride))
    trips = trips_of(nbytes, slots, 1, some, 60.0)

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        numbers = (nbytes, slots, trips, 0, walk[0].bit_length() - 1, tiles, 64, 64, 1)
        return [Mapped(source, lab.src), Mapped(source, lab.src), *map(u32, numbers)]

    facts = {"rows_inside": rows, "columns_inside": columns, "stride": stride, "slots": slots, "sms": some, "mode": 1}
    facts |= {"trips": trips, "bytes": nbytes, "row_bytes": 256, "rows": 64}
    return Point(
        "M12", "boxes", "boxes", some, 64, args, facts, shared=slots * (nbytes + 16) + KIB, maps_first=True,
        before=lambda lab, r: lab.touch(16 * MIB),
    )  # fmt: skip


def m23(sms: int) -> Points:
    """The loads of a product: boxes of A and B that CTAs share, by tile, slots, K and the CTAs at work."""
    del sms
    tiles = (
        (128, 128, 6, 18),
        (192, 64, 4, 24),
        (64, 64, 8, 12),
        (128, 256, 8, 16),
        (128, 256, 16, 3),
        (64, 256, 12, 11),
    )
    for (rows_a, rows_b, high, wide), k, slots in itertools.product(tiles, (2048, 2432), (2, 3, 4)):
        if slots * 128 * (rows_a + rows_b) < SHARED - KIB:
            yield _operands(rows_a, rows_b, high, wide, k, slots)
    for ctas in (1, 2, 4, 8, 16, 33):  # alone, the same B for all
        yield _operands(128, 128, ctas, 1, 2432, 4)


def m45(sms: int) -> Points:
    """The loads of M23 where a part of the rows of A, or all of a CTA's, lie outside of the tensor: these are zeros."""
    for rows, slots, grid in itertools.product((64, 128, 192, 256), (2, 4), (1, sms)):
        if slots * 128 * (rows + 64) < SHARED - KIB:
            for inside in (rows, rows - 8, 3 * rows // 4, rows // 2, rows // 4, 8, 0):
                yield _partial(rows, inside, grid, slots)


def _partial(rows: int, inside: int, grid: int, slots: int) -> Point:
    """A box of A by all CTAs, with so many rows inside, and one of 64 rows of B of each CTA's own."""
    from symlayout import Layout, TensorMap

    words, steps, repeats = 512, 16, 8

    def over(high: int, box: int) -> Any:
        return TensorMap.over(Layout((words, high), (1, words)), "f32", (32, box), swizzle=128, l2_promotion=256)

    a, b = over(max(inside, 8), rows), over(64 * grid, 64)

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        first = 0 if inside else 8  # of A, which all begin there: its first row, or the one behind its last
        return [Mapped(a, lab.src), Mapped(b, lab.dst), *map(u32, (rows, 64, slots, steps, 1, repeats, first))]

    facts = {"rows_a": rows, "inside": inside, "rows_b": 64, "slots": slots, "trips": repeats * steps}
    shared = slots * (128 * (rows + 64) + 16) + KIB
    return Point("M45", "boxes", "partial", grid, 64, args, facts, shared, maps_first=True)


def _operands(rows_a: int, rows_b: int, high: int, wide: int, k: int, slots: int) -> Point:
    """*high* by *wide* tiles, K elements of 16 bits."""
    from symlayout import Layout, TensorMap

    words, steps = k // 2, k // 64

    def over(rows: int, box: int) -> Any:
        return TensorMap.over(Layout((words, rows), (1, words)), "f32", (32, box), swizzle=128, l2_promotion=256)

    a, b = over(rows_a * high, rows_a), over(rows_b * wide, rows_b)

    def args(lab: Lab, repeat: int) -> list[Any]:
        from gpu import Mapped

        return [Mapped(a, lab.src), Mapped(b, lab.dst), *map(u32, (rows_a, rows_b, slots, steps, high, 4))]

    facts = {"rows_a": rows_a, "rows_b": rows_b, "high": high, "wide": wide, "k": k, "slots": slots, "trips": 4 * steps}
    shared = slots * (128 * (rows_a + rows_b) + 16) + KIB
    return Point("M23", "boxes", "operands", high * wide, 64, args, facts, shared, maps_first=True)
