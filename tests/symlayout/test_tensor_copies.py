"""Tensor copies byte for byte: recorded copies of an H200, a slow reference, rounding and fill."""

from __future__ import annotations

import collections
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.hardware.replay import COPIED, FAULTED, MISMATCH, REFUSED, replay
from symlayout.semantics import Memory, byte_ranges, round_to_tf32, tma_load, tma_store
from symlayout.tma import TensorMap
from symlayout.tma.recorded import read
from tests.support.slow_copies import (
    POISON,
    poisoned,
    random_im2col,
    random_interleaved,
    random_tile,
    rounded,
    slow_load,
    slow_store,
    source,
    stored_im2col,
    stored_interleaved,
    stored_tile,
    tile,
)

DATA = Path(__file__).parents[1] / "data"

# -- recorded copies -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "file, copied, faulted, refused",
    [
        ("tma_loads", 1443, 3, 54),
        ("tma_loads_base", 1145, 59, 46),
        ("tma_stores", 413, 60, 0),
        ("tma_stores_start", 692, 32, 0),
    ],
)
def test_recorded_copies(file, copied, faulted, refused, share):
    """A third of the rows, which were drawn alike, or all in a campaign."""
    every = [row for row in read(DATA / f"{file}.jsonl.gz") if "header" not in row]
    said = [FAULTED if "error" in row else REFUSED if row["code"] else COPIED for row in every]
    found = [(i, replay(every[i])) for i in range(0, len(every), 1 if share(2) == 2 else 3)]

    assert [(i, r.text) for i, r in found if r.outcome == MISMATCH] == []
    assert [(i, r.outcome, said[i]) for i, r in found if r.outcome != said[i]] == []
    assert collections.Counter(said) == {
        name: n for name, n in ((COPIED, copied), (FAULTED, faulted), (REFUSED, refused)) if n
    }


ROW = {
    **{"mode": "tiled", "dtype": 7, "rank": 2, "addr": 32, "dim": [30, 9], "stride": [128], "box": [8, 4]},
    **{"estride": [1, 1], "interleave": 0, "swizzle": 1, "l2": 0, "oob": 0, "off": [0, 0, 0], "coord": [4, 1]},
    **{"bytes": 128, "code": 0, "completed": 1, "dumped": 1024, "sha": "f49347c23f6950576b43e7aebdb020ab"},
}
WRONG = [
    {"sha": "0" * 32}, {"bytes": 144}, {"bytes": 112}, {"completed": 0}, {"dumped": 512}, {"coord": [8, 1]}, {"addr": 16},
    {"code": 1}, {"error": "illegal instruction"}, {"base": 64}, {"base": 64, "error": "illegal instruction"},
    {"coord": [2, 1]}, {"box": [8, 3]}, {"box": [12, 4]}, {"dim": [8, 9]}, {"stride": [144]}, {"swizzle": 2},
    {"estride": [1, 2]}, {"dtype": 11}, {"edge": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", WRONG, ids=str)
def test_a_row_that_says_otherwise_is_a_mismatch(change):
    assert replay(ROW).outcome == COPIED
    assert replay(ROW | change).outcome == MISMATCH


@pytest.mark.parametrize("change", [{"estride": [2, 1]}, {"dim": [12, 9]}, {"arm": [64], "completed": 1}], ids=str)
def test_a_row_that_says_the_same_otherwise_is_none(change):
    assert replay(ROW | change).outcome == COPIED


def test_rows_of_an_unknown_form_are_unsettled():
    assert replay(ROW | {"form": "gather4"}).outcome == "unsettled"


# -- against the slow reference ------------------------------------------------------------------------------


@pytest.mark.parametrize("make, count", [(random_tile, 150), (random_interleaved, 80), (random_im2col, 80)])
def test_loads_are_those_of_the_slow_reference(make, count):
    rng = random.Random(5)
    touched = 0
    for _ in range(count):
        m, coordinate, address, *offsets = make(rng)
        slow, shared = bytearray(poisoned()), poisoned()
        credited = slow_load(m, coordinate, source().tobytes(), slow, address, *offsets)
        effect = tma_load(m, coordinate, source(), shared, address, offsets=offsets[0] if offsets else ())

        assert shared.tobytes() == slow, (m, coordinate, address, offsets)
        assert effect.transaction_bytes == credited == effect.shared.size
        assert not effect.outside_ranges
        touched += bool(effect.inside_ranges)

    assert touched > count // 3


@pytest.mark.parametrize(
    "make, count, clipped", [(stored_tile, 150, 20), (stored_interleaved, 80, 0), (stored_im2col, 80, 20)]
)
def test_stores_are_those_of_the_slow_reference(make, count, clipped):
    rng = random.Random(6)
    touched = tails = 0
    for _ in range(count):
        m, coordinate, address = make(rng)
        slow, memory = bytearray(poisoned(1 << 16)), poisoned(1 << 16)
        shared = np.where(source(1 << 17) == POISON, 0, source(1 << 17)).astype(np.uint8)
        slow_store(m, coordinate, slow, shared.tobytes(), address)
        effect = tma_store(m, coordinate, memory, shared, address)
        written = np.concatenate([effect.inside.ravel(), effect.outside.ravel()])

        assert memory.tobytes() == slow, (m, coordinate, address)
        assert byte_ranges(written) == byte_ranges(np.flatnonzero(memory != POISON))
        assert len(written) == effect.shared.size
        assert effect.transaction_bytes == 0
        touched += bool(effect.inside_ranges)
        tails += bool(effect.outside_ranges)

    assert touched > count // 3
    assert tails >= clipped


def test_copies_of_a_memory_that_starts_elsewhere():
    m, coordinate = TensorMap("f32", 0, (20, 6), (96,), (8, 4), swizzle=32), (16, 2)
    away = replace(m, global_address=1 << 40)
    here, there = poisoned(), poisoned()

    first = tma_load(m, coordinate, source(), here, 0)
    second = tma_load(away, coordinate, Memory(source(), 1 << 40), Memory(there, 4096), 4096)

    assert (here == there).all()
    assert (second.inside - first.inside == 1 << 40).all()


def test_large_boxes():
    m = TensorMap("tf32", 0, (100, 300), (1024,), (256, 226))
    shared = np.zeros(232448, dtype=np.uint8)
    effect = tma_load(m, (0, 0), source(1 << 19), shared, 0)

    assert effect.transaction_bytes == 231424
    assert len(effect.inside_ranges) == 226
    assert effect.shared_ranges == ((0, 231424),)


# -- values --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word, expected",
    [
        (0x3F800FFF, 0x3F800000),
        (0x3F801000, 0x3F800000),  # a tie goes to even: down
        (0x3F801001, 0x3F802000),
        (0x3F803000, 0x3F804000),  # a tie goes to even: up
        (0xBF803000, 0xBF804000),
        (0x00001000, 0x00000000),
        (0x00003000, 0x00004000),  # subnormals round too, none is flushed
        (0x80000001, 0x80000000),
        (0x7F7FF000, 0x7F800000),
        (0x7F7FEFFF, 0x7F7FE000),
        (0x7F800000, 0x7F800000),
        (0xFF800000, 0xFF800000),
        (0x7F800001, 0x7FFFE000),
        (0xFF800001, 0x7FFFE000),
        (0xFFFFFFFF, 0x7FFFE000),
    ],
)
def test_rounding_to_tf32(word, expected):
    assert round_to_tf32(np.array([word], dtype=np.uint32)).tolist() == [expected]
    assert rounded(word) == expected


def test_rounding_agrees_with_its_definition():
    rng = random.Random(3)
    words = [rng.getrandbits(32) & ~rng.choice((0, 0xFFF, 0x1FFF)) for _ in range(3000)]

    assert round_to_tf32(np.array(words, dtype=np.uint32)).tolist() == [*map(rounded, words)]


@pytest.mark.parametrize(
    "dtype, fill", [("f16", 0x7FF77FF7), ("f32", 0x7FF77FF7), ("tf32", 0x7FF77FF7), ("f64", 0x7FF77FF7), ("u8", 0)]
)
def test_fill_is_written_after_the_rounding(dtype, fill):
    m = TensorMap(dtype, 0, (64, 4), (512,), (16, 4), oob_fill="nan" if fill else "none")
    shared, effect = tile(m, (0, 4))

    assert set(shared[: effect.transaction_bytes].view("<u4").tolist()) == {fill}
    assert effect.inside_ranges == ()
