"""The sweeps of the microbenchmarks, by id: for each, the launch configurations and what a fit wants to know of them.

>>> sorted(SWEEPS)[:4], len(list(SWEEPS["M5"](132)))
(['M1', 'M10', 'M13', 'M14'], 63)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import points_inside as inside
from .lab import GIB, KIB, WORD, Lab, Point, Points, u32, u64

MIB = 1 << 20
SHARED = 232448  # bytes of dynamic shared memory of a CTA at most
DRAM_NS, SM_BYTES_PER_NS = 700.0, 31.0  # only to choose the length of a run: about 150 us
RUN_NS = 150_000


# -- M4, M7, M13, M17: rings of bulk copies ------------------------------------------------------------------


def _trips(nbytes: int, slots: int, per_sm: int, sms: int, most: float = SM_BYTES_PER_NS) -> int:
    """Trips of a run of about RUN_NS, whatever limits it."""
    rate = min(slots * nbytes * per_sm / DRAM_NS, most if sms > 60 else 2 * most)
    return max(4, int(rate * RUN_NS / (nbytes * per_sm)))


def ring(
    name: str,
    nbytes: int,
    slots: int,
    per_sm: int,
    sms: int,
    mode: int = 1,
    footprint: int = 4 * GIB,
    share: int = 1,
    apart: int = 1,
) -> Point:
    """A ring on some SMs; the footprint is of the source, and of the target where there is one.

    *share* CTAs, each *apart* from the next, load the same.
    """
    grid, hot = sms * per_sm, footprint <= 128 * MIB
    trips = _trips(nbytes, slots, per_sm, sms, 60.0 if hot else SM_BYTES_PER_NS)
    chunks = footprint // nbytes

    def first(repeat: int) -> int:
        return 0 if hot else repeat * trips * grid % chunks

    def args(lab: Lab, repeat: int) -> list[Any]:
        numbers = [
            u32(nbytes),
            u32(slots),
            u32(trips),
            u64(first(repeat)),
            u64(chunks),
            u32(mode),
            u32(share),
            u32(apart),
        ]
        return [lab.src, lab.dst, *numbers]

    def sums(repeat: int) -> Any:
        block, step = np.arange(grid)[:, None], grid // share
        of = block // (apart * share) * apart + block % apart
        at = (first(repeat) + of + step * np.arange(trips)[None, :]) % chunks
        return np.bitwise_xor.reduce(((at * (nbytes // 4)) * WORD) % (1 << 32), axis=1).astype(np.uint64)

    facts = {"bytes": nbytes, "slots": slots, "per_sm": per_sm, "sms": sms, "mode": mode, "trips": trips}
    facts |= {"share": share, "apart": apart} if share > 1 else {}
    return Point(
        name, "ring", "ring", grid, 64, args, {**facts, "footprint": footprint},
        shared=slots * (nbytes + 16), checked=sums if mode & 1 else None,
        before=(lambda lab, r: lab.touch(footprint)) if hot and footprint <= 64 * MIB else None,
    )  # fmt: skip


def _fits(nbytes: int, slots: int, per_sm: int) -> bool:
    return (slots * (nbytes + 16) + KIB) * per_sm <= SHARED + KIB


def m4(sms: int) -> Points:
    """Loads from DRAM: what a chunk takes, and the bytes in flight that reach the rate; copies and stores beside."""
    sizes, slots = (512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB), (1, 2, 3, 4, 6, 8, 12, 16)
    for nbytes, n, per_sm in itertools.product(sizes, slots, (1, 2, 4)):
        if _fits(nbytes, n, per_sm):
            yield ring("M4", nbytes, n, per_sm, sms)
    for nbytes, n, some in itertools.product((2 * KIB, 8 * KIB, 16 * KIB), (1, 2, 4, 8), (1, 8, 33, 66)):
        if _fits(nbytes, n, 1):
            yield ring("M4", nbytes, n, 1, some)
    for nbytes, n, per_sm in itertools.product(
        (2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB), (2, 3, 4, 6, 8), (1, 2, 4)
    ):
        if _fits(nbytes, n, per_sm):
            yield ring("M4", nbytes, n, per_sm, sms, mode=3)
    for nbytes, per_sm in itertools.product((2 * KIB, 8 * KIB, 16 * KIB), (1, 2)):
        yield ring("M4", nbytes, 4, per_sm, sms, mode=2)


def m7(sms: int) -> Points:
    """Rings whose data lie in L2: the port of an SM, the rate of the chip, the capacity."""
    for some, mode in itertools.product((1, 2, 4, 8, 16, 33, 66, 99, sms), (1, 2, 3)):
        yield ring("M7", 16 * KIB, 8, 1, some, mode, footprint=16 * MIB)
    for nbytes, n, some in itertools.product((KIB, 4 * KIB, 16 * KIB), (1, 2, 4, 8), (1, sms)):
        for mode in (1, 3):
            yield ring("M7", nbytes, n, 1, some, mode, footprint=16 * MIB)
    for mode, per_sm, n in itertools.product((2, 3), (2, 3), (2, 4)):
        yield ring("M7", 16 * KIB, n, per_sm, sms, mode, footprint=16 * MIB)
    for nbytes, mode, per_sm in itertools.product((512, KIB, 2 * KIB, 4 * KIB), (1, 2, 3), (4, 8)):
        if _fits(nbytes, 6, per_sm):
            yield ring("M7", nbytes, 6, per_sm, sms, mode, footprint=16 * MIB)
    for mib in (4, 8, 24, 32, 40, 48, 56, 64, 96, 128):
        yield ring("M7", 16 * KIB, 8, 1, sms, 1, footprint=mib * MIB)
    for mib in (8, 12, 16, 20, 24, 32, 48, 64):
        yield ring("M7", 16 * KIB, 8, 1, sms, 3, footprint=mib * MIB)


def m21(sms: int) -> Points:
    """Rings of which several SMs load the same chunks at about the same time, from L2 and from DRAM."""
    for share, footprint in itertools.product((1, 2, 4, 6, 11, 12, 22, 33, 66, 132), (16 * MIB, 4 * GIB)):
        for nbytes, n in ((16 * KIB, 8), (8 * KIB, 2)):
            if sms % share == 0:
                yield ring("M21", nbytes, n, 1, sms, footprint=footprint, share=share)
                if share > 1 and n == 8:
                    yield ring("M21", nbytes, n, 1, sms, 1, footprint, share, sms // share)
    for share, apart in itertools.product((2, 4), (1, 2, 3, 4, 6, 8, 11, 12, 16, 18, 22, 24, 33, 36, 44, 48, 64, 66)):
        if sms % share == 0 and apart * share <= sms:
            yield ring("M21", 32 * KIB, 4, 1, sms // (apart * share) * apart * share, 1, 16 * MIB, share, apart)


def m22(sms: int) -> Points:
    """Trips of the loops of a ring, written as generated code has them, from L2."""
    for kernel, nbytes, some in itertools.product(
        ("trips_load", "trips_copy"), (256, 512, KIB, 4 * KIB, 16 * KIB), (1, sms)
    ):
        mask = 16 * MIB // nbytes - 1
        args = lambda lab, r, b=nbytes, m=mask: [lab.src, lab.dst, np.int32(b), np.int64(400), np.int64(m)]  # noqa: E731
        facts = {"bytes": nbytes, "trips": 400, "sms": some}
        yield Point("M22", "ring", kernel, some, 64, args, facts, 4 * nbytes, before=lambda lab, r: lab.touch(16 * MIB))


def m17(sms: int) -> Points:
    """Rings that are loaded by multicast, from L2 and from DRAM."""
    for ctas, nbytes, n, footprint in itertools.product(
        (1, 2, 4), (8 * KIB, 16 * KIB, 32 * KIB), (1, 2, 4, 6), (16 * MIB, 4 * GIB)
    ):
        if _fits(nbytes, n, 1):
            yield _multicast(nbytes, n, ctas, sms // 4 * 4, footprint)


def _multicast(nbytes: int, slots: int, ctas: int, grid: int, footprint: int) -> Point:
    hot, chunks = footprint <= 64 * MIB, footprint // nbytes
    trips = _trips(nbytes, slots, 1, 132, 60.0)

    def args(lab: Lab, repeat: int) -> list[Any]:
        first = 0 if hot else repeat * trips * grid % chunks
        return [lab.src, u32(nbytes), u32(slots), u32(trips), u64(first), u64(chunks), u32(ctas)]

    facts = {"bytes": nbytes, "slots": slots, "ctas": ctas, "trips": trips, "footprint": footprint}
    return Point(
        "M17", "ring", "ring_multicast", grid, 64, args, facts, shared=slots * (nbytes + 16), cluster=ctas,
        before=(lambda lab, r: lab.touch(footprint)) if hot else None,
    )  # fmt: skip


# -- M5, M13: commands -----------------------------------------------------------------------------------------


def commands(name: str, kinds: tuple[int, ...], sms: int) -> Points:
    """Commands of one thread to one barrier or group, their lines in L2."""
    del sms
    for kind, nbytes, count in itertools.product(
        kinds, (16, 32, 64, 128, 256, 512, KIB, 2 * KIB, 4 * KIB), (1, 2, 4, 8, 16, 32, 64)
    ):
        yield Point(
            name, "ring", "commands", 1, 32,
            lambda lab, r, b=nbytes, c=count, k=kind: [lab.src, lab.dst, u32(b), u32(c), u32(k)],
            {"bytes": nbytes, "count": count, "kind": kind}, shared=65536 + 128,
        )  # fmt: skip


# -- M6: boxes -------------------------------------------------------------------------------------------------


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
    long = _trips(nbytes, slots, per_sm, sms, 60.0 if hot else SM_BYTES_PER_NS)
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
            warm = lambda lab, r: lab.touch(32 * MIB)  # noqa: E731
            yield Point("M11", "boxes", "first_copies", some, 32, args, facts, 8192, before=warm, maps_first=True)


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


# -- M8: chases; M7, M18: streams ------------------------------------------------------------------------------


def chase(nbytes: int, cold: bool, kind: int, sm: int = -1, hops: int = 256) -> Point:
    """A random cycle through nodes that are spread evenly over a footprint."""
    nodes = min(nbytes // 128, 65536)
    spacing = nbytes // nodes
    order = np.random.default_rng(nodes).permutation(nodes).astype(np.uint64) * np.uint64(spacing)

    def before(lab: Lab, repeat: int) -> None:
        if lab.kept.get("chase") != (nbytes,):
            at, to = lab.device.upload(order), lab.device.upload(np.roll(order, -1))
            lab.modules["memory"].launch("plant", lab.sms, 256, [lab.src, at, to, u32(nodes)]).wait()
            at.free(), to.free()
            lab.kept["chase"] = (nbytes,)
        if cold:
            lab.sweep()
        elif repeat == 0:  # every line of the nodes, at most 2 MB of them
            lab.modules["memory"].launch(
                "chase", 1, 32, [lab.out, lab.src, u64(order[0]), u32(nodes), u32(0), np.int32(-1)]
            ).wait()

    def args(lab: Lab, repeat: int) -> list[Any]:
        return [lab.src, u64(order[hops * repeat % nodes]), u32(hops), u32(kind), np.int32(sm)]

    def sums(repeat: int) -> Any:
        return order[(hops * repeat + hops) % nodes : (hops * repeat + hops) % nodes + 1]

    facts = {"footprint": nbytes, "cold": int(cold), "kind": kind, "sm": sm, "hops": hops}
    return Point("M8", "memory", "chase", 132 if sm >= 0 else 1, 32, args, facts,
                 before=before, checked=sums, one_stamp=True)  # fmt: skip


def m8(sms: int) -> Points:
    """Latencies by footprint, of lines that L2 has and has not; of loads and of bulk copies; by SM."""
    for mib in (1, 4, 16, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096):
        for cold, kind in itertools.product((False, True), (0, 1)):
            yield chase(mib * MIB, cold, kind)
    for sm in range(0, sms, 4):
        yield chase(MIB, False, 0, sm)


def stream(name: str, footprint: int, mode: int, per_sm: int, block: int, sms: int, vectors: int = 1 << 24) -> Point:
    """16-byte loads and stores, four of each thread at a time."""
    hot, total = footprint <= 64 * MIB, footprint // 16
    vectors = min(vectors, total)

    def args(lab: Lab, repeat: int) -> list[Any]:
        first = 0 if hot else repeat * vectors % total
        return [lab.src, lab.dst, u64(first), u64(vectors), u64(total), u32(mode)]

    facts = {"footprint": footprint, "mode": mode, "per_sm": per_sm, "sms": sms, "bytes": 16 * vectors}
    return Point(name, "memory", "stream", sms * per_sm, block, args, facts)


def m19(sms: int) -> Points:
    """Reads, writes and copies by ordinary loads and stores, of DRAM and of L2."""
    for footprint, mode, (per_sm, block) in itertools.product(
        (4 * GIB, 16 * MIB), (1, 2, 3), ((1, 512), (2, 1024), (8, 256), (16, 128), (64, 256))
    ):
        yield stream("M19", footprint, mode, per_sm, block, sms)


def m18(sms: int) -> Points:
    """CTAs that stay for a while: when each began, by the SM, over several waves."""
    for waves, shared, block in itertools.product((1, 2, 4, 10), (0, 100 * KIB, 200 * KIB), (32, 384)):
        at_once = min(32, 2048 // block, 233472 // (shared + KIB)) if shared else min(32, 2048 // block)
        grid = sms * waves * (at_once if waves == 1 else 1)
        for ns in (1000, 4000):
            facts = {"waves": waves, "stay_ns": ns, "at_once": at_once}
            yield Point("M18", "memory", "stay", grid, block, lambda lab, r, n=ns: [u64(n)], facts, shared=shared)


SWEEPS: dict[str, Callable[[int], Points]] = {
    "M4": m4,
    "M5": partial(commands, "M5", (0,)),
    "M9": inside.m9,
    "M14": inside.m14,
    "M1": inside.m1,
    "M2": inside.m2,
    "M6": m6,
    "M7": m7,
    "M8": m8,
    "M13": partial(commands, "M13", (1, 2)),
    "M18": m18,
    "M10": inside.m10,
    "M16": inside.m16,
    "M17": m17,
    "M19": m19,
    "M20": inside.m20,
    "M11": m11,
    "M21": m21,
    "M22": m22,
    "M23": m23,
    "M24": inside.m24,
}
