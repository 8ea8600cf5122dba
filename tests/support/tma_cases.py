"""TMA copies drawn at random, by seed."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

from symlayout import Layout, Tensor, dim, local_tile, size, unflatten
from symlayout.dtype import DType
from symlayout.tma.tiled_copy import TmaCopy, make_tma_copy
from tests.support.draw import Draw

RUN_TIME = 16  # strides from here on are unknown in Case.at_run_time


@dataclass
class Case:
    """A global tensor, a tile of it, a shared layout, options, and which tile is copied."""

    gmem: Layout
    tile: Any
    smem: Any
    options: dict[str, Any]
    block: Any

    @property
    def element_bytes(self) -> int:
        return int(self.options["dtype"].bytes)

    def copy(self) -> TmaCopy:
        return make_tma_copy(self.gmem, self.smem, self.tile, **self.options)

    def at_run_time(self) -> TmaCopy:
        """The same with the longer strides unknown until then, so that fewer modes merge."""
        strides = [d for _, d in self.gmem.modes()]
        unknown = {dim(f"d{i}", multiple_of=gcd(d, 16)): d for i, d in enumerate(strides) if d >= RUN_TIME}
        names = iter(unknown)
        gmem = Layout(
            self.gmem.shape, unflatten(tuple(d if d < RUN_TIME else next(names) for d in strides), self.gmem.shape)
        )
        return make_tma_copy(gmem, self.smem, self.tile, **self.options).subs(unknown)

    def addresses(self) -> list[int]:
        """The byte of global memory of each element of the tile."""
        tile = local_tile(Tensor(0, self.gmem), self.tile, self.block)
        return [tile(i) * self.element_bytes for i in range(size(self.tile))]


def drawn(seed: int) -> Case:
    """A case of at most 256 elements; not always one that TMA can copy."""
    draw = Draw(seed)
    element = DType.of(draw.choice(["f16", "f32", "f64", "u8"]))
    tile = [512]
    while size(tuple(tile)) > 256:
        tile = [draw.choice([1, 2, 2, 4]) for _ in range(draw.randint(0, 5))]
        unit = draw.randint(0, len(tile))
        tile.insert(unit, 16 // element.bytes * draw.choice([1, 2, 4]))
    counts = [draw.choice([1, 2, 3]) for _ in tile]
    others = [i for i in range(len(tile)) if i != unit]
    draw.shuffle(others)
    gmem = compact(draw, [unit, *others], [t * n for t, n in zip(tile, counts, strict=True)], 0.3)
    if draw.chance(0.3):
        draw.shuffle(others)
    smem = compact(draw, [unit, *others], tile, 0.05)
    profile = draw.nested(tile)
    profile = profile if isinstance(profile, tuple) else (profile,)
    options: dict[str, Any] = {"dtype": element, "multicast": draw.choice([1, 1, 2, 4])}
    if draw.chance(0.3):
        options["internal_dtype"] = draw.choice(["u8", "u16", "u32", "u64"])

    def nested(flat: Any) -> Any:
        return unflatten(tuple(flat), profile)

    layouts = [Layout(nested(x.shape), nested(x.stride)) for x in (gmem, smem)]
    block = nested([draw.randrange(n) for n in counts])
    return Case(layouts[0], nested(tile), layouts[1], options, block)


def compact(draw: Draw, order: list[int], extents: list[int], padded: float) -> Layout:
    """The layout whose modes are contiguous in this order, now and then with a gap."""
    strides, step = [0] * len(extents), 1
    for i in order:
        strides[i] = step
        step *= extents[i] * (2 if draw.chance(padded) else 1)
    return Layout(tuple(extents), tuple(strides))
