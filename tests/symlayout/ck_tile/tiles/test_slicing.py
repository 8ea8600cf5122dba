"""Slices of distributed tiles: upstream's test, the law that a slice is a part of the tile, and what has none."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from benchmarks.ck_distributions import random_encoding
from checkers import DistributionCovers, prove
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    get_slice_tile,
    make_naive_tensor_view_packed,
    make_static_distributed_tensor,
    make_tile_window,
    set_slice_tile,
    slice_distribution_from_x,
)
from symlayout.errors import LayoutError

# test/ck_tile/slice_tile/test_slice_tile.cpp: a tile of 64 x 64, sliced along X1 by 16.
UPSTREAM = TileDistribution(
    TileDistributionEncoding(
        (), ((1, 4, 16), (2, 2, 1, 4, 4)), (((1, 1), (2, 1)), ((2, 3), (1, 2))), ((1, 0), (2, 0), (2, 2), (2, 4))
    )
)


@pytest.mark.parametrize("begin, origins", [(16, (0, 0, 0, 2)), (32, (0, 1, 0, 0)), (48, (0, 1, 0, 2))])
def test_the_slices_of_upstreams_test(begin, origins):
    found = slice_distribution_from_x(UPSTREAM, (0, begin), (64, begin + 16), mode="ck")

    assert found.distribution.encoding.H == ((1, 4, 16), (1, 2, 1, 4, 2))
    assert found.y_origins == origins
    assert found.y_lengths == (1, 1, 1, 2)


def test_upstreams_slice_is_another_part_where_threads_own_a_higher_factor():
    """Columns 16 .. 31 are asked for; thread (0, 0) gets 2 and 3, its lanes columns of both halves."""
    found = slice_distribution_from_x(UPSTREAM, (0, 16), (64, 32), mode="ck")
    held = {UPSTREAM.partition(p, (0, 0, 0, y))[1] for p in UPSTREAM.partitions() for y in (2, 3)}

    assert found.y_origins[3] == 2
    assert held == {c for c in range(32) if c % 4 in (2, 3)}
    with pytest.raises(
        LayoutError, match=r"splits no threads, got 1 of factor \(2,1\) of H1, of length 2, which P owns"
    ):
        slice_distribution_from_x(UPSTREAM, (0, 16), (64, 32))
    assert slice_distribution_from_x(UPSTREAM, (0, 32), (64, -1)).y_origins == (0, 1, 0, 0)


def box_of(d, begins, ends):
    """The box of Y that every thread has of a part of the tile, found by counting; None where there is none."""
    ys = [*itertools.product(*map(range, d.encoding.y_lengths))]
    boxes = set()
    for p in d.partitions():
        inside = [y for y in ys if all(b <= x < e for b, x, e in zip(begins, d.partition(p, y), ends, strict=True))]
        boxes.add(tuple(inside))
    (found, *others) = boxes
    if others or not found:
        return None
    low = tuple(min(y[i] for y in found) for i in range(len(ys[0])))
    counts = tuple(max(y[i] for y in found) - o + 1 for i, o in enumerate(low))
    return (low, counts) if len(found) == np.prod(counts, initial=1) else None


@pytest.mark.seeds(3)
def test_a_slice_is_the_part_that_counting_finds(seed):
    rng, made, refused = random.Random(seed), 0, 0
    for _ in range(250):
        e = random_encoding(rng, exact=1.0)
        d = TileDistribution(e)
        begins = [rng.randrange(n) for n in d.lengths]
        if rng.random() < 0.6:
            begins = [0 if rng.random() < 0.5 else n // 2 for n in d.lengths]
        ends = [rng.choice((n, b + 1, min(n, b + max(1, n // 2)))) for b, n in zip(begins, d.lengths, strict=True)]
        wanted = box_of(d, begins, ends)
        try:
            found = slice_distribution_from_x(d, begins, ends)
        except LayoutError:
            refused += 1
            assert wanted is None or not fits(d, begins, ends), (e, begins, ends)
            continue
        made += 1
        assert (found.y_origins, found.y_lengths) == wanted, (e, begins, ends)
        assert found.distribution.lengths == tuple(b - a for a, b in zip(begins, ends, strict=True))
        for p in d.partitions():
            for y in itertools.product(*map(range, found.y_lengths)):
                there = d.partition(p, tuple(a + b for a, b in zip(found.y_origins, y, strict=True)))
                assert tuple(x - b for x, b in zip(there, begins, strict=True)) == found.distribution.partition(p, y)
        assert prove(DistributionCovers(found.distribution))
    assert made > 40
    assert refused > 40


def fits(d, begins, ends):
    """Whether a part is as long as the factors of some encoding with the same owners: digits of it are a box."""
    for h, b, e in zip(d.encoding.H, begins, ends, strict=True):
        digits = {np.unravel_index(x, h) for x in range(b, e)}
        boxes = [{int(t[i]) for t in digits} for i in range(len(h))]
        if np.prod([len(x) for x in boxes]) != e - b or any(max(x) - min(x) + 1 != len(x) for x in boxes):
            return False
    return True


def test_tensors_and_windows_are_sliced():
    pairs = (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1))
    d = TileDistribution(TileDistributionEncoding((1,), ((2, 2, 4), (2, 4)), *pairs))  # as a GEMM's A tile, smaller
    t = make_static_distributed_tensor("i32", d)
    for p in d.partitions():
        for y in itertools.product(range(2), range(4)):
            x = d.partition(p, y)
            t[p, y] = 100 * x[0] + x[1]
    part = get_slice_tile(t, (8, 0), (16, -1))

    assert np.array_equal(part.to_numpy(), t.to_numpy()[8:, :])
    set_slice_tile(t, part, (0, 0), (8, -1))
    assert np.array_equal(t.to_numpy()[:8], t.to_numpy()[8:])
    with pytest.raises(LayoutError, match="expected a tile of"):
        set_slice_tile(t, t, (0, 0), (8, -1))

    window = make_tile_window(make_naive_tensor_view_packed(range(400), (20, 20)), (8, 8), (2, 3))
    assert get_slice_tile(window, (4, 0), (8, 4)).origin == (6, 3)
    assert get_slice_tile(window, (4, 0), (8, 4), mode="ck").origin == (4, 0)
    assert get_slice_tile(window, (4, 0), (8, 4)).lengths == (4, 4)


@pytest.mark.parametrize(
    "begins, ends, message",
    [
        ((0,), (64,), "expected a begin and an end for each of 2 dimensions"),
        ((0, 0), (0, 64), r"expected a part of 0 \.\. 64, got 0 \.\. 0"),
        ((0, 8), (64, 80), r"expected a part of 0 \.\. 64, got 8 \.\. 80"),
        ((0, 0), (64, 6), "that is a box of factors"),
        ((0, 1), (64, 5), "begins at a multiple of 4, got 1 of dimension 1|splits no threads"),
        ((16, 0), (32, 64), "splits no threads, got 1 of factor"),
    ],
)
def test_what_is_no_slice_says_why(begins, ends, message):
    with pytest.raises(LayoutError, match=message):
        slice_distribution_from_x(UPSTREAM, begins, ends)
    with pytest.raises(LayoutError, match='expected "exact" or "ck" as mode'):
        slice_distribution_from_x(UPSTREAM, (0, 0), (64, 64), mode="fast")
