"""A TMA copy is its tile: coordinates address the elements, and boxes land on the shared layout, each byte once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from symlayout import (
    ComposedLayout,
    Layout,
    LayoutError,
    Swizzle,
    Tensor,
    bytes_of,
    local_tile,
    make_identity_tensor,
    size,
    tile_to_shape,
)
from symlayout.dtype import DType
from symlayout.int_tuple import leaves, map_leaves
from symlayout.tma.tiled_copy import TmaCopy, make_tma_copy
from tests.support.draw import Draw
from tests.support.tma_cases import Case, drawn

DRAWS = 300  # 3000 hold as well, in a minute


def place(copy: TmaCopy, coord: Any) -> int:
    """The byte of global memory at a coordinate of the tensor map."""
    m = copy.tensor_map
    assert all(0 <= c < n for c, n in zip(coord, m.global_dim, strict=True))
    return sum(c * d for c, d in zip(coord, (m.element_bytes, *m.global_stride_bytes), strict=True))


def landings(copy: TmaCopy, case: Case) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(byte of shared memory, coordinate) of each element of the boxes of all instructions and CTAs."""
    m = copy.tensor_map
    tile = local_tile(copy.get_tma_tensor(), case.tile, case.block)
    for cta, i in product(range(copy.multicast), range(copy.instructions)):
        source, target = (copy.get_slice(cta).partition_S(x) for x in (tile, Tensor(0, case.smem)))
        base = copy.coordinates(source((None, i), *(0 for _ in source.shape[1:])))
        start = target((0, i), *(0 for _ in target.shape[1:])) * case.element_bytes
        for step in product(*map(range, m.box_dim)):
            yield start + m.landing(step), tuple(map(sum, zip(base, step, strict=True)))


def landed(copy: TmaCopy, case: Case) -> dict[int, int]:
    """Byte of shared memory -> byte of global memory, none of them twice."""
    out: dict[int, int] = {}
    for here, coord in landings(copy, case):
        there = place(copy, coord)
        for k in range(copy.tensor_map.element_bytes):
            assert here + k not in out
            out[here + k] = there + k
    return out


def wanted(case: Case) -> dict[int, int]:
    n = case.element_bytes
    return {case.smem(i) * n + k: a + k for i, a in enumerate(case.addresses()) for k in range(n)}


def test_boxes_bring_each_byte_of_the_tile_to_its_place_once(share):
    """Strides known, and strides at run time, for which fewer modes merge."""
    tried = {"known": 0, "at run time": 0, "multicast": 0, "other units": 0, "several": 0, "merged": 0}
    for seed in range(share(DRAWS)):
        case = drawn(seed)
        for how, make in (("known", Case.copy), ("at run time", Case.at_run_time)):
            try:
                copy = make(case)
            except LayoutError:
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
    assert min(tried.values()) > 3


def test_the_coordinate_of_an_element_is_its_address(share):
    tried = 0
    for seed in range(share(DRAWS)):
        case = drawn(seed)
        try:
            copy = case.copy()
        except LayoutError:
            continue
        per_unit = max(1, copy.tensor_map.element_bytes // case.element_bytes)
        tile = local_tile(copy.get_tma_tensor(), case.tile, case.block)
        for i, address in enumerate(case.addresses()):
            if address % (per_unit * case.element_bytes) == 0:
                assert place(copy, tile(i)) == address, seed
        tried += 1
    assert tried > 0.8 * share(DRAWS)


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
    tile = tuple(2 * n for n in shape)
    smem = tile_to_shape(ComposedLayout(swizzle, 0, Layout(shape, stride)), tile)
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


def test_what_a_tile_reaches_past_the_tensor_is_outside_the_map_or_an_obligation(share):
    """Extents that tiles do not divide: no element past the end of a mode aliases one of the next row."""
    tried = {"seen by the copy engine": 0, "an obligation": 0}
    for seed in range(max(60, share(DRAWS))):  # obligations are rare
        case = ragged(drawn(seed), Draw(seed))
        try:
            copy = case.copy()
        except LayoutError:
            continue
        domain = local_tile(make_identity_tensor(case.gmem.shape), case.tile, case.block)
        extents = leaves(case.gmem.shape)
        real = {
            case.smem(i) * case.element_bytes: all(c < n for c, n in zip(leaves(domain(i)), extents, strict=True))
            for i in range(size(case.tile))
        }
        if copy.obligations:
            tried["an obligation"] += 1
            continue
        tried["seen by the copy engine"] += not all(real.values())
        for here, coord in landings(copy, case):
            inside = all(c < n for c, n in zip(coord, copy.tensor_map.global_dim, strict=True))
            for k in range(here, here + copy.tensor_map.element_bytes):
                assert real.get(k, inside) == inside, seed
    assert min(tried.values()) > 3


def ragged(case: Case, draw: Draw) -> Case:
    """Some modes one element shorter, as if the rest were padding."""

    def shorter(n: int) -> int:
        return max(1, n - draw.choice([0, 0, 1]))

    return replace(case, gmem=Layout(map_leaves(shorter, case.gmem.shape), case.gmem.stride))
