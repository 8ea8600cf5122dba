"""Tiles that reach past the end of a tensor: what lands there, and what the obligations of a copy say of it.

Copies were drawn without modes of stride 0, and obligations were only asked to be there, never to be needed: so a
broadcast mode brought data where fill was meant, and a map that counts in bytes asked for what already held.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from checkers import SameBytes, TensorMapValid, prove
from symlayout import Layout, LayoutError, dim, local_tile, make_tma_copy
from symlayout.semantics import tma_load

ELEMENT_BYTES = {"u8": 1, "f16": 2, "f32": 4}


def landed(copy, tile, block, memory):
    """The shared bytes of one tile, by every instruction of every CTA."""
    shared = np.full(1 << 14, 0xEE, np.uint8)
    for part in copy.parts:
        tiles = copy.get_slice(part.cta).partition_S(local_tile(copy.get_tma_tensor(), tile, block))
        start = copy.coordinates(tiles((None, part.instruction), *(0,) * (len(tiles.layout.shape) - 1)))
        box, n = np.zeros(1 << 14, np.uint8), int(copy.tensor_map.transaction_bytes)
        tma_load(copy.tensor_map, start, memory, box, 0)
        shared[part.offset_bytes : part.offset_bytes + n] = box[:n]
    return shared


def wrong(copy, shape, stride, tile, order):
    """The first element of a tile that is neither the tensor's nor the fill."""
    size = copy.dtype.bytes
    memory = np.random.default_rng(0).integers(1, 255, 1 << 13, dtype=np.uint8)
    for block in itertools.product(*(range(-(-n // t)) for n, t in zip(shape, tile, strict=True))):
        shared = landed(copy, tile, block, memory)
        for at in itertools.product(*map(range, tile)):
            x = [b * n + i for b, n, i in zip(block, tile, at, strict=True)]
            here = size * sum(i * s for i, s in zip(at, order, strict=True))
            there = size * sum(i * s for i, s in zip(x, stride, strict=True))
            inside = all(i < n for i, n in zip(x, shape, strict=True))
            if (shared[here : here + size] != (memory[there : there + size] if inside else 0)).any():
                return block, at
    return None


def drawn(rng):
    """A tensor of one to three modes, some of stride 0, none divided by its tile but by chance, and a map's unit."""
    dtype = rng.choice([*ELEMENT_BYTES])
    unit = 16 // ELEMENT_BYTES[dtype]
    rank = rng.choice([1, 2, 2, 3, 3])
    shape = [rng.choice([unit, 2 * unit, unit + rng.randint(0, unit), 3 * unit - 1, rng.randint(1, 40)])]
    shape += [rng.randint(1, 7) for _ in range(rank - 1)]
    tile = [unit * rng.choice([1, 2]), *(rng.choice([1, 2, 2, 3, 4]) for _ in range(rank - 1))]
    stride, reach = [1], -(-shape[0] // unit) * unit
    for n in shape[1:]:
        stride.append(0 if rng.random() < 0.35 else reach)
        reach = reach * n + rng.choice([0, 0, unit])
    order, size = [0] * rank, 1
    for k in (0, *rng.sample(range(1, rank), rank - 1)):
        order[k], size = size, size * tile[k]
    way = rng.sample(range(rank), rank)
    options = {"dtype": dtype, "internal_dtype": rng.choice([None, None, None, "u8", "u16", "u32"])}
    return *(tuple(x[k] for k in way) for x in (shape, stride, tile, order)), rng.choice([1, 1, 1, 2]), options


@pytest.mark.parametrize("seed", range(6))
def test_obligations_hold_exactly_where_every_tile_is_right(seed):
    rng, counts = random.Random(seed), {True: 0, False: 0}
    for _ in range(30):
        shape, stride, tile, order, multicast, options = drawn(rng)
        try:
            copy = make_tma_copy(Layout(shape, stride), Layout(tile, order), tile, multicast, **options)
        except LayoutError:
            continue
        told = all(o.holds({}) for o in copy.obligations)

        assert (wrong(copy, shape, stride, tile, order) is None) is told, (shape, stride, tile, order, options)
        counts[told] += 1
    assert counts[True] > 5
    assert counts[False] > 0


def test_a_broadcast_mode_that_the_tile_does_not_divide_is_clipped():
    """As in the CuTe DSL, which gives the mode a step of its own; without it the overhang is data."""
    n = dim("n")
    smem = Layout((16, 2), (1, 16))
    copy = make_tma_copy(Layout((16, n), (1, 0)), smem, dtype="u8")

    assert str(copy.get_tma_tensor()) == "ArithTuple(0,0) o (16,n):(1@0,1@1)"
    assert not copy.obligations
    assert prove(TensorMapValid(copy), SameBytes(copy, smem))
    for size in (1, 2, 3, 5):
        assert wrong(copy.subs({n: size}), (16, size), (1, 0), (16, 2), (1, 16)) is None


def test_a_broadcast_mode_outside_of_the_box_needs_no_step():
    smem = Layout((16, 1), (1, 16))
    copy = make_tma_copy(Layout((16, dim("n")), (1, 0)), smem, dtype="u8")

    assert str(copy.get_tma_tensor()) == "ArithTuple(0,) o (16,n):(1@0,0)"
    assert not copy.obligations


@pytest.mark.parametrize("unit", [None, "u8", "u16"])
def test_a_map_that_counts_in_less_than_elements_clips_as_well(unit):
    smem = Layout((8, 2), (1, 8))
    copy = make_tma_copy(Layout((10, 6), (1, 16)), smem, dtype="f32", internal_dtype=unit)

    assert not copy.obligations
    assert wrong(copy, (10, 6), (1, 16), (8, 2), (1, 8)) is None


def test_a_map_that_counts_in_more_than_elements_needs_whole_units():
    """Elements of 2 bytes in units of 4: the last unit of a row of 15 holds one element of the row and one beyond."""
    smem = Layout((8, 2), (1, 8))
    even, odd = (make_tma_copy(Layout((n, 6), (1, 16)), smem, dtype="f16", internal_dtype="u32") for n in (14, 15))

    assert not even.obligations
    assert odd.obligations
    assert wrong(odd, (15, 6), (1, 16), (8, 2), (1, 8)) is not None
