"""A TMA copy is its tile: coordinates address the elements, and boxes land on the shared layout, each byte once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import gcd
from typing import Any

import pytest

from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    Tensor,
    bytes_of,
    dim,
    local_tile,
    size,
    tile_to_shape,
    unflatten,
)
from symlayout.dtype import DType
from symlayout.tma_copy import TmaCopy, make_tma_copy
from tests.draw import Draw

SEEDS = range(300)


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
        """The same with every stride but that of the contiguous mode and of modes of extent 1 unknown until then."""
        known = [(n, d, dim(f"d{i}", multiple_of=gcd(d, 16))) for i, (n, d) in enumerate(self.gmem.modes())]
        strides = tuple(d if d < 16 else s for n, d, s in known)
        gmem = Layout(self.gmem.shape, unflatten(strides, self.gmem.shape))
        return make_tma_copy(gmem, self.smem, self.tile, **self.options).subs({s: d for _, d, s in known if d >= 16})

    def addresses(self) -> list[int]:
        """The byte of global memory of each element of the tile."""
        tile = local_tile(Tensor(0, self.gmem), self.tile, self.block)
        return [tile(i) * self.element_bytes for i in range(size(self.tile))]


def drawn(seed: int) -> Case | None:
    """A case of at most 256 elements; not always one that TMA can copy."""
    draw = Draw(seed)
    element = DType.of(draw.choice(["f16", "f32", "f64", "u8"]))
    tile = [draw.choice([1, 2, 2, 4]) for _ in range(draw.randint(0, 5))]
    unit = draw.randint(0, len(tile))
    tile.insert(unit, 16 // element.bytes * draw.choice([1, 2, 4]))
    if size(tuple(tile)) > 256:
        return None
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


def place(copy: TmaCopy, coord: Any) -> int:
    """The byte of global memory at a coordinate of the tensor map."""
    m = copy.tensor_map
    assert all(0 <= c < n for c, n in zip(coord, m.global_dim, strict=True))
    return sum(c * d for c, d in zip(coord, (m.element_bytes, *m.global_stride_bytes), strict=True))


def landed(copy: TmaCopy, case: Case) -> dict[int, int]:
    """Byte of shared memory -> byte of global memory, over the boxes of all instructions and CTAs."""
    m = copy.tensor_map
    tile = local_tile(copy.get_tma_tensor(), case.tile, case.block)
    out: dict[int, int] = {}
    for cta, i in product(range(copy.multicast), range(copy.instructions)):
        source, target = (copy.get_slice(cta).partition_S(x) for x in (tile, Tensor(0, case.smem)))
        base = copy.coordinates(source((None, i), *(0 for _ in source.shape[1:])))
        start = target((0, i), *(0 for _ in target.shape[1:])) * case.element_bytes
        for step in product(*map(range, m.box_dim)):
            here, there = start + m.landing(step), place(copy, tuple(map(sum, zip(base, step, strict=True))))
            for k in range(m.element_bytes):
                assert here + k not in out
                out[here + k] = there + k
    return out


def wanted(case: Case) -> dict[int, int]:
    n = case.element_bytes
    return {case.smem(i) * n + k: a + k for i, a in enumerate(case.addresses()) for k in range(n)}


def test_boxes_bring_each_byte_of_the_tile_to_its_place_once():
    """Strides known, and strides at run time, for which fewer modes merge."""
    tried = {"known": 0, "at run time": 0, "multicast": 0, "other units": 0, "several": 0, "merged": 0}
    for seed in SEEDS:
        case = drawn(seed)
        for how, make in (("known", Case.copy), ("at run time", Case.at_run_time)):
            try:
                copy = make(case) if case else None
            except LayoutError:
                continue
            if copy is None:
                continue
            assert landed(copy, case) == wanted(case), (seed, how)
            merged = any(isinstance(n, tuple) for n in copy.gbasis.shape)
            found = {
                how: True,
                "multicast": copy.multicast > 1,
                "other units": "internal_dtype" in case.options,
                "several": copy.instructions > 1,
                "merged": merged,
            }
            for name, yes in found.items():
                tried[name] += yes
    print(tried)
    assert min(tried.values()) > 20


def test_the_coordinate_of_an_element_is_its_address():
    tried = 0
    for seed in SEEDS:
        case = drawn(seed)
        try:
            copy = case.copy() if case else None
        except LayoutError:
            continue
        if copy is None:
            continue
        per_unit = max(1, copy.tensor_map.element_bytes // case.element_bytes)
        tile = local_tile(copy.get_tma_tensor(), case.tile, case.block)
        for i, address in enumerate(case.addresses()):
            if address % (per_unit * case.element_bytes) == 0:
                assert place(copy, tile(i)) == address, seed
        tried += 1
    assert tried > 100


ATOMS = {
    f"{name} {element} {16 << bits}B": (DType.of(element), bits, major)
    for element in ("f16", "f32", "u8")
    for bits in (1, 2, 3)
    for name, major in (("K", 1), ("MN", 0))
}


@pytest.mark.parametrize("name", ATOMS)
def test_swizzled_boxes_land_where_the_shared_layout_says(name):
    """The copy engine swizzles addresses, the layout offsets: the bytes are the same."""
    element, bits, major = ATOMS[name]
    row = (16 << bits) // element.bytes
    swizzle = Swizzle(bits, 5 - element.bytes.bit_length(), 3)
    shape, stride = ((8, row), (row, 1)) if major else ((row, 8), (1, row))
    smem = tile_to_shape(ComposedLayout(swizzle, 0, Layout(shape, stride)), tuple(2 * n for n in shape))
    tile = smem.shape and tuple(2 * n for n in shape)
    gmem = Layout((256, 256), (256, 1) if major else (1, 256))
    case = Case(gmem, tile, smem.inner, {"dtype": element}, (1, 1))
    copy = make_tma_copy(gmem, smem, tile, dtype=element, multicast=2)
    phi, target = copy.swizzle.swizzle, bytes_of(smem, element.bytes)
    addresses = case.addresses()

    found = {phi(here): there for here, there in landed(copy, case).items()}
    assert {target(i): found[target(i)] for i in range(len(addresses))} == {
        target(i): a for i, a in enumerate(addresses)
    }
    assert len(found) == len(addresses) * element.bytes
