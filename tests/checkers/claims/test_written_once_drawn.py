"""Proofs that outputs are written once against enumeration: mutants of families, drawn stores and rasters of tiles."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from benchmarks.kernel_mutation import FAMILIES as MUTATED
from benchmarks.kernel_slips import mutants
from checkers import WrittenOnce, prove
from checkers.claim import TooLarge
from checkers.coverage.store_sites import outputs, reduced
from checkers.coverage.writes import Writes
from symlayout import Layout, TensorMap
from symlayout.answers.report import Outcome
from symlayout.errors import SymlayoutError
from symlayout.expr import minimum
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from tests.support.storing_kernels import BUDGET, ORDERS, M, N, chunked, verdict

PROOFS = replace(BUDGET, refuter_points=1)  # where a refutation and what is left open are alike


def wrong_at(kernel: Kernel, name: str, sizes: Iterator[dict[str, int]]) -> str:
    """The first of some sizes at which an element is not written once, with the story."""
    for env in sizes:
        try:
            found = Writes(kernel.bind(**env), name).wrong()
        except (SymlayoutError, TooLarge, ZeroDivisionError):
            continue
        if found:
            return f"{env}: {found}"
    return ""


@pytest.mark.parametrize("family", MUTATED)
def test_no_mutant_is_proved_that_writes_wrongly(family: str, share: Callable[[int], int]) -> None:
    chance = random.Random(family)
    every = list(mutants(MUTATED[family].build()))
    drawn = ((n, k) for n, k in chance.sample(every, len(every)) if outputs(k) and not reduced(k))
    for name, kernel in itertools.islice(drawn, share(30)):
        for tensor in outputs(kernel):
            (v,) = prove(WrittenOnce(kernel, tensor), budget=PROOFS).verdicts
            if v.outcome is Outcome.PROVED:
                assert not wrong_at(kernel, tensor, iter(MUTATED[family].sizes)), name


def test_drawn_kernels_are_judged_as_enumeration_does(share: Callable[[int], int]) -> None:
    chance, count = random.Random(7), share(90)
    judged = dict.fromkeys(Outcome, 0)
    for _ in range(count):
        width = chance.choice((1, 2, 4))
        kernel = chunked(
            width,
            chance.choice((32, 64)),
            chance.choice((1, 2, 3)),
            blocks=chance.choice((1, 2, 5)),
            order=chance.choice(ORDERS),
            slip=chance.choice((0, 0, 0, -1, 1)) if width > 1 else 0,
            guard=chance.choice((0, 0, 0, -1, 1)),
        )
        v = verdict(kernel)
        judged[v.outcome] += 1
        sizes = ({"N": n} for n in (*range(1, 20), *(chance.randrange(20, 3000) for _ in range(12))))
        wrong = wrong_at(kernel, "dst", sizes)
        assert not (v.outcome is Outcome.PROVED and wrong), (kernel, wrong)
        assert v.outcome is not Outcome.REFUTED or v.witness is not None
        if v.outcome is Outcome.REFUTED:
            assert v.witness is not None
            assert Writes(kernel.bind(**v.witness.sizes), "dst").wrong() == v.witness.story
    assert judged[Outcome.PROVED] >= count // 3
    assert judged[Outcome.REFUTED] >= count // 10


def test_drawn_rasters_are_judged_as_enumeration_does(share: Callable[[int], int]) -> None:
    """Tiles by blocks in some order, boxes of warps in some order, one number wrong now and then."""
    chance = random.Random(11)
    judged = dict.fromkeys(Outcome, 0)
    for _ in range(share(50)):
        warps, parts, blocks, group = (chance.choice(x) for x in ((1, 2, 4), (1, 2), (1, 3), (1, 2, 8)))
        rows = chance.choice((8 * warps, 8 * warps, 8 * warps, 8 * warps - 4, 16 * warps))
        columns = 16 * parts
        k = Builder("raster", M, N, grid=(blocks,), threads=32 * warps)
        out = k.global_tensor("dst", "f32", Layout((M, N), (N, 1)))
        c = k.tensor_map("c", out(), TensorMap.over(Layout((N, M), (1, N)), "f32", (16, 8)))
        tile = k.shared_tensor("tile", "f32", Layout((128, parts, warps)))
        tiles_m, tiles_n = ceil_div(M, rows), ceil_div(N, columns)
        turns = (tiles_m * tiles_n - k.block[0] + blocks - 1) // blocks
        with k.loop("i", turns) as i:
            t = k.block[0] + blocks * i
            first, within = t // (group * tiles_n) * group, t % (group * tiles_n)
            high = minimum(group, tiles_m - first) if chance.random() < 0.8 else group
            m, n = rows * (first + within % high), columns * (within // high)
            with k.elect(each_warp=chance.random() < 0.95):
                for p in range(parts):
                    k.copy("tma.store", tile(128 * p), c(n + 16 * p, m + 8 * (k.thread // 32)))
        kernel = k.kernel(N.multiple_of(4))
        v = verdict(kernel)
        judged[v.outcome] += 1
        sizes = itertools.product((1, 8, 9, 33, 70, 129), (4, 16, 20, 36, 100))
        wrong = wrong_at(kernel, "dst", ({"M": m, "N": n} for m, n in sizes))
        assert not (v.outcome is Outcome.PROVED and wrong), (kernel, wrong)
        assert v.outcome is not Outcome.UNKNOWN or wrong or rows != 8 * warps, v
    assert judged[Outcome.PROVED] >= 3
    assert judged[Outcome.REFUTED] >= 2
