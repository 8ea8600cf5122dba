"""The sweep of slots that two roles hand over and back, in generated code: what an iteration takes beside its bytes.

>>> print(*kernel_of(Hands("nothing", "bulk", slots=1)).text().splitlines()[-14:], sep=chr(10))
  role producer, warp 0:
    elect one:
      for i < n - block_x:
        wait empty[0] parity (i + 1) % 2
        arrive full[0]
  role consumer, warp 1:
    elect one:
      for i < n - block_x:
        wait full[0] parity i % 2
        bulk.store ring -> dst[256*block_x + 256*i] 1024 B
        commit bulk
        wait_group.read bulk 0
        arrive empty[0]
      wait_group bulk 0
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

from .lab import KIB, Lab, Row
from .launches import nanoseconds

NOTHING, BULK, BOX, TILE = WAYS = ("nothing", "bulk", "box", "tile")  # copied: a box at one place, a tile at its own
BOTH = (
    *((NOTHING, NOTHING), (NOTHING, BULK), (NOTHING, BOX), (NOTHING, TILE), (BULK, NOTHING), (BOX, NOTHING)),
    *((TILE, NOTHING), (BULK, BULK), (BOX, BOX), (TILE, TILE)),
)
COLUMNS, ACROSS = 64, 8  # words of a row of a tile; tiles side by side
FEW, MANY = 64, 320  # iterations, whole rows of tiles
LAUNCHES, REPEATS = 50, 7


@dataclass(frozen=True)
class Hands:
    """What the producer and the consumer copy, of so many *bytes*; *lanes* of so many *warps* of the latter wait."""

    load: str
    store: str
    slots: int
    bytes: int = KIB
    warps: int = 1
    lanes: int = 1


def hands(sms: int) -> Iterator[Hands]:
    """One CTA: by what is copied, slots and bytes; by the warps all of whose lanes wait."""
    del sms
    for (load, store), slots, nbytes in itertools.product(BOTH, (1, 3), (KIB, 8 * KIB, 16 * KIB)):
        if (load, store) != (NOTHING, NOTHING) or nbytes == KIB:
            yield Hands(load, store, slots, nbytes)
    for slots, warps in itertools.product((1, 3), (1, 4, 8)):
        yield Hands(BOX, NOTHING, slots, 8 * KIB, warps, 32)


def kernel_of(point: Hands) -> Any:
    """The kernel of a point, whose iterations are a size: *n*, or the rows of tiles."""
    from symlayout import Layout, TensorMap, dims, f32
    from symlayout.int_tuple import ceil_div
    from symlayout.kernel import Builder
    from symlayout.kernel.ring import make_ring
    from symlayout.kernels.schedule import Schedule

    M, N, n = dims("M N n")
    rows, words = point.bytes // (4 * COLUMNS), point.bytes // 4
    tiled = TILE in (point.load, point.store)
    across = ceil_div(N, COLUMNS)
    schedule = Schedule(ceil_div(M, rows) * across if tiled else n, 1)
    k = Builder("hands", *((M, N) if tiled else (n,)), grid=(1,), threads=32 + 32 * point.warps)
    layout = Layout((M, N), (N, 1)) if tiled else Layout((rows * MANY, COLUMNS), (COLUMNS, 1))
    ends: list[Any] = []
    for name, way in (("src", point.load), ("dst", point.store)):
        if way == NOTHING:
            ends.append(None)
            continue
        tensor = k.global_tensor(name, f32, layout)
        width, height = (N, M) if tiled else (COLUMNS, rows * MANY)
        over = TensorMap.over(Layout((width, height), (1, width)), f32, (COLUMNS, rows))
        ends.append(k.tensor_map(f"{name}_map", tensor(), over) if way in (BOX, TILE) else tensor)
    src, dst = ends
    ring = make_ring(k, "ring", f32, Layout(words), slots=point.slots, consumers=point.warps)

    def place(way: str, end: Any, at: Any) -> Any:
        if way == BULK:
            return end(words * at)
        return end(COLUMNS * (at % across), rows * (at // across)) if way == TILE else end(0, 0)

    def copy(way: str, what: str, *where: Any) -> None:
        k.copy(f"{'bulk' if way == BULK else 'tma'}.{what}", *where, **({"nbytes": point.bytes} if way == BULK else {}))

    with k.role("producer", 1), k.elect(), schedule.loop(k) as (i, at):
        if point.load == NOTHING:
            slot = ring.freed(i)
            k.arrive(slot.full)
        else:
            with ring.produce(i) as slot:
                copy(point.load, "load", place(point.load, src, at), slot.at(), slot.full)
    with k.role("consumer", point.warps), k.elect() if point.lanes == 1 else nullcontext():
        with schedule.loop(k) as (i, at), ring.consume(i) as slot:
            if point.store != NOTHING:
                copy(point.store, "store", slot.at(), place(point.store, dst, at))
                k.commit("bulk")
                k.wait_group("bulk", 0, read=True)
        if point.store != NOTHING:
            k.wait_group("bulk", 0)
    return k.kernel()


def rows_of_hands(lab: Lab, point: Hands, repeats: int) -> Row:
    """The row of a point: nanoseconds of a launch among others, of few iterations and of many."""
    from gpu.running import Generated

    del repeats
    kernel = kernel_of(point)
    code, found = Generated(kernel), {}
    for what, trips in (("few", FEW), ("many", MANY)):
        tiled = {"M": point.bytes // (4 * COLUMNS) * trips // ACROSS, "N": COLUMNS * ACROSS}
        bound = kernel.bind(**(tiled if len(kernel.dims) > 1 else {"n": trips}))
        launch = code.prepare(bound, {"src": lab.src, "dst": lab.dst}, lab.device)
        found[f"{what}_ns"] = [nanoseconds(lab, launch, LAUNCHES) for _ in range(REPEATS)]
    return {
        "id": "M50",
        "kernel": "hands",
        **asdict(point),
        "few": FEW,
        "many": MANY,
        "text": kernel.digest[:16],
        **found,
    }


__all__ = ["Hands", "hands", "kernel_of", "rows_of_hands"]
