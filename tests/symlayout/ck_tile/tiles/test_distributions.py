"""Distributions against upstream's tables: the values that its headers print (V24 compiled for a host)."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import pytest

from symlayout import LayoutError, dim
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    get_distributed_spans,
    make_embed_tile_distribution_encoding,
    make_reduce_tile_distribution_encoding,
    make_static_tile_distribution,
    sweep_tile,
    tile_distribution_encoding,
)
from tests.support.ck_tiles import ACCUMULATOR, ALL, DOCUMENT, FRAGMENTS, GEMM_A, INNER, OUTER


def each(d):
    """(P, Y) of every element that a thread of the block holds."""
    yield from itertools.product(d.partitions(), itertools.product(*map(range, d.encoding.y_lengths)))


def formula_of_document(p, y):
    return 2 * p[0] + y[0], 2 * p[1] + y[1]


def formula_of_gemm_a(p, y):
    return 64 * y[0] + 16 * p[0] + p[1] // 4, 8 * (p[1] % 4) + y[1]


def formula_of_fragments(p, y):
    return 64 * y[0] + 32 * (p[0] // 2) + p[1] % 32, 8 * y[1] + 4 * (p[1] // 32) + y[2]


def formula_of_accumulator(p, y):
    return 8 * y[0] + 4 * (p[0] // 32) + y[1], p[0] % 32


FORMULAS = (formula_of_document, formula_of_gemm_a, formula_of_fragments, formula_of_accumulator)


@pytest.mark.parametrize("encoding, formula", [*zip(ALL, FORMULAS, strict=True)])
def test_every_row_is_that_of_the_formula(encoding, formula):
    d = make_static_tile_distribution(encoding)

    assert all(d.partition(p, y) == formula(p, y) for p, y in each(d))


@pytest.mark.parametrize("encoding, times, rows", [*zip(ALL, (1, 1, 2, 1), (16, 4096, 4096, 1024), strict=True)])
def test_each_element_is_held_as_often_as_it_is_replicated(encoding, times, rows):
    d = make_static_tile_distribution(encoding)
    held = Counter(d.partition(p, y) for p, y in each(d))

    assert sum(held.values()) == rows
    assert set(held) == set(itertools.product(*map(range, d.lengths)))
    assert set(held.values()) == {times} == {encoding.replicas}


def test_single_rows_of_upstreams_tables():
    a, c, acc = map(make_static_tile_distribution, (GEMM_A, FRAGMENTS, ACCUMULATOR))

    assert a.partition((1, 37)) == (25, 8)
    assert a.partition((1, 37), (1, 0)) == (89, 8)
    assert a.partition((3, 63), (1, 7)) == (127, 31)
    assert [c.partition((w, 40), (1, 1, 3)) for w in (2, 3)] == [(104, 15)] * 2
    assert [c.replica((w, 40)) for w in (2, 3)] == [(0,), (1,)]
    rows = [acc.partition((40,), y) for y in sweep_tile(acc)]
    assert [x for x, _ in rows] == [*range(4, 8), *range(12, 16), *range(20, 24), *range(28, 32)]
    assert {column for _, column in rows} == {8}


def test_registers_are_row_major_in_y():
    d = make_static_tile_distribution(GEMM_A)

    assert [d.register(y) for y in ((0, 0), (0, 7), (1, 0), (1, 7))] == [0, 7, 8, 15]
    assert d.registers == 16


def test_too_many_lanes_walk_out_of_the_tile():
    """The first digit of a merge is not reduced: with 64 lanes on the document's two, the last is at column 126."""
    assert make_static_tile_distribution(DOCUMENT).partition((0, 63)) == (0, 126)


def test_embedding_puts_a_warps_tile_into_each_element():
    assert str(FRAGMENTS) == "R=[2] H=[(2,2,32),(2,2,4)] P0=[(1,1),(0,0)] P1=[(2,1),(1,2)] Y0=(1,0) Y1=(2,0) Y2=(2,2)"
    with pytest.raises(LayoutError, match="tiles of one rank, got 2 and 1"):
        make_embed_tile_distribution_encoding(OUTER, TileDistributionEncoding((), ((4,),), (((1, 0),),), ()))
    with pytest.raises(LayoutError, match=r"one P dimension .* or two .* got 3"):
        make_embed_tile_distribution_encoding(FRAGMENTS, INNER)


def test_reducing_leaves_the_rows_of_what_is_left():
    d = make_static_tile_distribution(ACCUMULATOR)
    reduced = TileDistribution(make_reduce_tile_distribution_encoding(ACCUMULATOR, (1,)))

    assert all(reduced.partition(p, y) == d.partition(p, y)[:1] for p, y in each(d))
    assert reduced.encoding.replicas == 32


def test_spans_are_in_the_order_of_factors_and_not_of_y():
    swapped = TileDistributionEncoding((), ((4, 2, 4), (32,)), (((1, 1), (2, 0)),), ((1, 2), (1, 0)))
    d = TileDistribution(swapped)

    assert get_distributed_spans(d) == ((4, 4), ())
    assert sweep_tile(d)[:5] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]
    rows = [d.partition((0,), y)[0] for y in sweep_tile(d)]
    assert rows == sorted(rows)


def test_the_c_plus_plus_type_of_upstream():
    assert GEMM_A.cpp().replace("ck_tile::", "") == (
        "tile_distribution_encoding<sequence<1>, tuple<sequence<2, 4, 16>, sequence<4, 8>>, "
        "tuple<sequence<1>, sequence<1, 2>>, tuple<sequence<1>, sequence<2, 0>>, sequence<1, 2>, sequence<0, 1>>"
    )


def test_lengths_may_be_symbols():
    m = dim("m")
    d = make_static_tile_distribution(
        TileDistributionEncoding((), ((m, 4), (16, 8)), (((1, 1), (2, 0)),), ((1, 0), (2, 1)))
    )

    assert str(d.lengths) == "(4*m, 128)"
    assert d.subs({m: 2}) == make_static_tile_distribution(
        TileDistributionEncoding((), ((2, 4), (16, 8)), (((1, 1), (2, 0)),), ((1, 0), (2, 1)))
    )


def test_a_distribution_is_its_encoding():
    d = make_static_tile_distribution(GEMM_A)

    assert pickle.loads(pickle.dumps(d)) == d
    assert hash(d) == hash(make_static_tile_distribution(GEMM_A))
    assert d != make_static_tile_distribution(DOCUMENT)


@pytest.mark.parametrize(
    "parts, reason",
    [
        (((), ((2, 0),), (((1, 0),),), ()), "lengths of at least 1 in R and H, got 0"),
        (((), (), (((1, 0),),), ()), "factors of at least one tile dimension, got none"),
        (((), ((2,),), (), ((1, 0),)), "one P dimension .* got 0"),
        (((), ((2,),), (((2, 0),),), ()), r"majors of 0 \(R\) .. 1 in P0, got 2 in \(2,0\)"),
        (((), ((2,),), (((1, 1),),), ()), r"minors of 0 .. 0 of H0 in P0, got 1 in \(1,1\)"),
        (((), ((2,),), (((0, 0),),), ((1, 0),)), r"no pair of R in P0, got 0 in \(0,0\)"),
        (((2,), ((2,),), (((1, 0),),), ((0, 0),)), "Y0 to be a factor of H, got .* only P replicates"),
        (((), ((2,),), (((1,),),), ()), r"\(major, minor\) pairs of numbers in P and Y"),
        (((), 4, (((1, 0),),), ()), "a tuple as H of an encoding, got 4"),
    ],
)
def test_encodings_without_a_meaning_are_refused_with_the_reason(parts, reason):
    with pytest.raises(LayoutError, match=reason):
        TileDistributionEncoding(*parts)


def test_majors_and_minors_are_as_many():
    with pytest.raises(LayoutError, match="as many minors as majors in P0"):
        tile_distribution_encoding((), ((2, 2),), ((1, 1),), ((0,),), (), ())


def test_a_factor_with_two_owners_or_none_is_refused_unless_asked_for():
    twice = TileDistributionEncoding((2,), ((2, 4),), (((1, 0), (0, 0)),), ((1, 0),))
    with pytest.raises(LayoutError, match=r"length 2, has two owners, P0 and Y0.*length 4, has no owner"):
        make_static_tile_distribution(twice)
    d = make_static_tile_distribution(twice, mode="ck")

    # A merge is evaluated after the top indices are set: P0 wins over Y0.
    assert {d.partition((0,), (y,)) for y in range(2)} == {(0,)}
    assert d.partition((2,), (0,)) == (4,)
