"""Claims about distributions and windows: proved for all sizes, refuted with the thread, mutants told apart."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.ck_distributions import by_digits, covers, mutants, random_encoding
from checkers import DistributionCovers, Injective, NoInvalidAccess, prove, verify, window_claims
from checkers.budget import Budget
from symlayout import ClaimError, dim, dims
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    make_naive_tensor_view,
    make_tile_window,
    pad_tensor_view,
)
from symlayout.expr import index
from symlayout.int_tuple import ceil_div
from tests.support.ck_tiles import ALL, DOCUMENT, FRAGMENTS, GEMM_A

M, K = dims("M K")
LDA = dim("lda", at_least=K)


def verdict(claim):
    return prove(claim).verdicts[0]


def decided(claim):
    """Its verdict where nobody asks for a repair."""
    return prove(claim, budget=Budget(repairs=False)).verdicts[0]


def refuted(claim):
    found = verdict(claim)
    assert found.outcome is Outcome.REFUTED, str(found)
    return found.witness.story


@pytest.mark.parametrize("encoding", ALL, ids=["document", "gemm a", "fragments", "accumulator"])
def test_upstreams_distributions_cover_their_tiles(encoding):
    report = prove(DistributionCovers(encoding))

    assert report, str(report)
    verify(report.verdicts[0].certificate)
    assert "mixed radix in each dimension" in str(report)
    assert covers(encoding)


def test_a_distribution_covers_for_every_number_of_elements_of_a_thread():
    m, r = dims("m r")
    e = TileDistributionEncoding((r,), ((m, 4, 16), (4, 8)), (((1, 1), (0, 0)), ((1, 2), (2, 0))), ((1, 0), (2, 1)))

    assert prove(DistributionCovers(e))


def test_more_lanes_than_an_encoding_is_for_leave_the_tile():
    assert refuted(DistributionCovers(DOCUMENT, lanes=64)) == (
        "warp 0, lane 2, y0 0, y1 0 holds (0,4), outside of the tile (4,4)"
    )
    assert verdict(DistributionCovers(DOCUMENT, lanes=2, warps=2)).outcome is Outcome.PROVED
    assert refuted(DistributionCovers(GEMM_A, lanes=32)) == "no thread holds element (8,0)"
    assert refuted(DistributionCovers(FRAGMENTS, warps=2)) == "no thread holds element (32,0)"


def test_a_factor_without_an_owner_is_the_reason():
    e = TileDistributionEncoding((), ((2, 4), (8,)), (((1, 1), (2, 0)),), ())

    assert refuted(DistributionCovers(e)) == (
        "no thread holds element (4,0); factor (1,0) of H0, of length 2, has no owner: only its index 0 is covered"
    )


def test_a_wave_of_more_lanes_walks_out_of_the_window():
    """The document's 2 x 2 threads, on a wave of 64."""
    view = make_naive_tensor_view(None, (8, 8), (8, 1))
    window = make_tile_window(view, (4, 4), (0, 0), TileDistribution(DOCUMENT))

    assert prove(window_claims(window))
    (covers_, *_) = (c for c in window_claims(window, lanes=64) if isinstance(c, DistributionCovers))
    assert refuted(covers_).startswith("warp 0, lane 2, y0 0, y1 0 holds (0,4), outside of the tile (4,4)")


def test_claims_need_a_distribution():
    with pytest.raises(ClaimError, match="expected a tile distribution or its encoding"):
        DistributionCovers(3)
    with pytest.raises(ClaimError, match="no number of warps for one P dimension, got 4"):
        DistributionCovers(ALL[3], warps=4)
    with pytest.raises(ClaimError, match="at least 1 lane"):
        DistributionCovers(DOCUMENT, lanes=0)
    with pytest.raises(ClaimError, match="a tile window with a distribution"):
        window_claims(make_tile_window(make_naive_tensor_view(None, (4, 4), (4, 1)), (4, 4), (0, 0)))


@pytest.mark.parametrize("encoding", ALL, ids=["document", "gemm a", "fragments", "accumulator"])
def test_each_mutant_is_refuted_or_covers_as_well(encoding):
    """Proved exactly where counting says that the mutant covers its own tile; none is left open."""
    seen = Counter()
    for mutant in mutants(encoding)[::4]:
        outcome = decided(DistributionCovers(mutant)).outcome
        assert outcome is (Outcome.PROVED if covers(mutant) else Outcome.REFUTED), str(mutant)
        seen[outcome] += 1
    assert min(seen[Outcome.REFUTED], seen[Outcome.PROVED]) > 0


def test_random_distributions_agree_with_counting_and_with_numpy():
    rng = random.Random(5)
    for _ in range(60):
        e = random_encoding(rng)
        d = TileDistribution(e)
        at, values = d.table()
        assert values.tolist() == by_digits(e, at).tolist()
        outcome = decided(DistributionCovers(e)).outcome
        assert outcome is (Outcome.PROVED if covers(e) else Outcome.REFUTED), str(e)


# -- windows ----------------------------------------------------------------------------------------------


def gemm_window(pads=(True, True), tile=(128, 32), encoding=GEMM_A):
    view = make_naive_tensor_view(None, (M, K), (LDA, 1), 8, 1, dtype="bf16")
    if any(pads):
        view = pad_tensor_view(view, tile, pads)
    blocks = index("bm", ceil_div(M, tile[0])), index("bk", ceil_div(K, tile[1]))
    return make_tile_window(view, tile, (tile[0] * blocks[0], tile[1] * blocks[1]), TileDistribution(encoding))


def test_a_padded_gemm_window_is_proved_for_all_sizes():
    given = (K.multiple_of(8), LDA.multiple_of(8), M <= 4096, LDA <= 4096)
    for claim in window_claims(gemm_window(), stores=True):
        report = prove(replace(claim, given=given))
        assert report, str(report)


def test_a_window_without_pads_needs_sizes_that_tiles_divide():
    claim = NoInvalidAccess(gemm_window((False, False)).access)
    found = prove(claim)

    assert found.verdicts[0].outcome is Outcome.REFUTED
    assert prove(replace(claim, given=(M.multiple_of(128), K.multiple_of(32))))


def test_vectors_need_what_pads_do_not_say():
    _, guarantee, *_ = window_claims(gemm_window())
    found = verdict(guarantee)

    assert "holds if K % 8 == 0" in str(found)
    assert prove(replace(guarantee, given=(K.multiple_of(8),)))


def test_replicated_stores_write_an_element_twice():
    window = gemm_window(tile=(128, 16), encoding=FRAGMENTS)

    assert verdict(Injective(window.access)).outcome is Outcome.REFUTED
    assert prove(Injective(gemm_window().access))


def test_mutants_of_a_window_are_refuted():
    """Of another step, another origin, another pad: some element is out of the buffer or written twice."""
    window = gemm_window(tile=(4, 4), encoding=DOCUMENT)
    bm, bk = (s for o in window.origin for s in o.symbols if s.name in ("bm", "bk"))
    mutants_of_it = (
        (window.set_window_origin((3 * bm, 4 * bk)), Injective),
        (window.set_window_origin((4 * bm, 3 * bk)), Injective),
        (window.set_window_origin((4 * bm - 1, 4 * bk)), NoInvalidAccess),
        (window.set_window_origin((4 * bm, 4 * bk - 2)), NoInvalidAccess),
        (gemm_window((True, False), (4, 4), DOCUMENT), NoInvalidAccess),
        (gemm_window((False, True), (4, 4), DOCUMENT), NoInvalidAccess),
    )
    assert prove(Injective(window.access), NoInvalidAccess(window.access))
    for mutant, claim in mutants_of_it:
        assert decided(claim(mutant.access)).outcome is Outcome.REFUTED, str(mutant.origin)
