"""Distributions and thread-value layouts: one function, both ways; what has no distribution says why."""

from __future__ import annotations

import itertools
import random

import pytest

from benchmarks.ck_distributions import random_encoding
from symlayout import Layout, LayoutError, Swizzle, coalesce, dim
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    distribution_of,
    make_static_tile_distribution,
    thread_value_layout,
)
from symlayout.layout import ComposedLayout
from tests.support.ck_tiles import ACCUMULATOR, ALL, DOCUMENT, FRAGMENTS, GEMM_A


def element(x, tile):
    """The number of an element, the first dimension fastest."""
    out = 0
    for i, n in zip(reversed(x), reversed(tile), strict=True):
        out = out * n + i
    return out


def same(d, tv):
    """Whether a layout is the distribution at every thread and register."""
    lanes = d.encoding.p_lengths[-1]
    ys = [*itertools.product(*map(range, d.encoding.y_lengths))]
    return all(
        tv((p[0] * lanes + p[1] if len(p) == 2 else p[0]), d.register(y)) == element(d.partition(p, y), d.lengths)
        for p in d.partitions()
        for y in ys
    )


@pytest.mark.parametrize(
    "encoding, threads, values",
    [
        (DOCUMENT, "(2,2):(8,2)", "(2,2):(4,1)"),
        (GEMM_A, "(4,64):(1024,1)", "(8,2):(128,64)"),
        (FRAGMENTS, "(32,2,2,2):(1,512,0,32)", "(4,2,2):(128,1024,64)"),
        (ACCUMULATOR, "(32,2):(32,4)", "(4,4):(1,8)"),
    ],
    ids=["document", "gemm a", "fragments", "accumulator"],
)
def test_upstreams_distributions_as_layouts(encoding, threads, values):
    d = make_static_tile_distribution(encoding)
    tv = thread_value_layout(d)

    assert [str(coalesce(tv[i])) for i in (0, 1)] == [threads, values]
    assert same(d, tv)


@pytest.mark.parametrize("encoding", ALL, ids=["document", "gemm a", "fragments", "accumulator"])
def test_layouts_lead_back_to_the_same_distribution(encoding):
    d = make_static_tile_distribution(encoding)
    back = distribution_of(thread_value_layout(d), d.lengths, wave_size=d.encoding.p_lengths[-1])

    assert same(back, thread_value_layout(d))
    assert back.lengths == d.lengths
    assert back.encoding.p_lengths == d.encoding.p_lengths


def test_random_distributions_and_layouts_are_one_function():
    rng = random.Random(11)
    for _ in range(80):
        d = TileDistribution(random_encoding(rng, exact=1.0))
        tv = thread_value_layout(d)
        assert same(d, tv), str(d.encoding)
        back = distribution_of(tv, d.lengths, wave_size=d.encoding.p_lengths[-1])
        assert thread_value_layout(back)(0, 0) == 0
        assert all(thread_value_layout(back)(i) == tv(i) for i in range(tv.size())), str(d.encoding)


def test_an_accumulator_of_cute_is_a_distribution():
    """WGMMA's m64n64: 128 threads of 4 warps, whose wave is 32."""
    tv = Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512)))
    d = distribution_of(tv, (64, 64), wave_size=32)

    assert str(d.encoding) == ("R=[] H=[(4,2,8),(8,4,2)] P0=[(1,0)] P1=[(1,2),(2,1)] Y0=(2,0) Y1=(1,1) Y2=(2,2)")
    assert same(d, tv)


@pytest.mark.parametrize(
    "layout, tile, reason",
    [
        (Layout((4, 2), (1, 8)), (4, 4), "expected modes of dimension 1 .* a gap: stride 2 after 1"),
        (Layout((4, 4), (1, 2)), (16,), "an overlap: stride 2 after 4"),
        (Layout((4, 2), (1, 4)), (4, 4), "fill the 4 elements of dimension 1, got 2"),
        (Layout((4, 2), (1, 0)), (4,), "2 values of stride 0"),
        (Layout((4, 4), (1, 6)), (4, 6), "multiples of 4 in dimension 1 of the tile .* got 6"),
        (Layout((4, 4), (1, 64)), (4, 4), "strides below the 16 elements"),
        (Layout((6, 4), (1, 6)), (4, 6), "stay in dimension 0 of length 4, or fill it, got 6:1"),
        (Layout((4, 4), (-1, 4)), (4, 4), "strides of at least 0, got -1"),
        (Layout((96, 1), (1, 0)), (96,), "thread modes that are cut at the wave of 64"),
        (Layout((4, dim("n")), (1, 4)), (4, 4), "numbers as shape and strides"),
        (Layout(4, 1), (4,), r"a layout of \(thread, value\)"),
        (ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (1, 4))), (4, 4), "put make_xor_transform"),
        (Layout((4, 4), (1, 4)), (), "lengths of a tile"),
    ],
)
def test_what_is_no_distribution_says_why(layout, tile, reason):
    with pytest.raises(LayoutError, match=reason):
        distribution_of(layout, tile)


def test_an_encoding_with_faults_has_no_layout():
    bad = TileDistributionEncoding((), ((4, 2),), (((1, 0),),), ())

    with pytest.raises(LayoutError, match="has no owner"):
        thread_value_layout(TileDistribution(bad))
