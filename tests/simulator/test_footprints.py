"""Counts of many rows of addresses at once: those of rows that are one row shifted are those of each row."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import footprints, simulate
from simulator.footprints import Footprints, Sums
from simulator.points import Points
from simulator.program import Programs
from symlayout.kernels import cp_async_copy, gemm_mma, gemm_simt, row_sum, tma_transpose, vector_copy

COUNTS = ("warps", "lanes", "served", "bytes", "shared_bytes")


@pytest.mark.parametrize("what, width", [("sectors", 4), ("lines", 16), ("wavefronts", 4), ("wavefronts", 16)])
@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_one_row_shifted_are_counted_as_each_row(what, width, seed):
    rng = np.random.default_rng(seed)
    lane = np.arange(64)
    row = width * rng.permutation(64) if seed % 2 else width * lane * rng.integers(1, 5)
    at = row[None, :] + width * rng.integers(0, 200, (40, 1))
    at[rng.integers(40, size=3)] = width * rng.integers(0, 900, (3, 64))  # and others
    masks = (None, rng.random((40, 64)) < 0.9, np.repeat(rng.random((40, 1)) < 0.5, 64, axis=1))
    mask = masks[seed % 3]
    of = Footprints(vector_copy(64).bind())

    found = of._shifted(what, at, mask, lane, width, 32)
    wanted = [
        int(of._by_warp(what, at[k : k + 1], None if mask is None else mask[k : k + 1], lane, width, 32)[0])
        for k in range(40)
    ]
    assert found.tolist() == wanted
    assert len(set(wanted)) > 1


@pytest.mark.parametrize("masked", [False, True, None])
def test_sums_are_counted_as_the_table_of_them(masked):
    rng = np.random.default_rng(1)
    sums = Sums(4 * rng.integers(0, 900, (50, 1)), 4 * rng.permutation(64)[None, :])
    mask = None if masked is None else np.zeros((50, 64), dtype=bool) if masked else rng.random((50, 64)) < 0.98
    of, how = Footprints(vector_copy(64).bind()), (np.arange(64), 4, 32)

    for what in ("sectors", "wavefronts"):
        wanted = of._shifted(what, sums.of(np.arange(50)), mask, *how)
        assert of._shifted(what, sums, mask, *how).tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "kernel",
    [
        lambda: vector_copy(70_001, threads=96),
        lambda: cp_async_copy(50_020, stages=2, threads=64),
        lambda: row_sum(70, 300, 304),
        lambda: gemm_mma(200, 136, 144, tile=(64, 64)),
        lambda: gemm_simt(100, 72, 40),
        lambda: tma_transpose(200, 328, blocks=4),
    ],
)
def test_requests_by_sums_are_those_by_tables(kernel, monkeypatch):
    """The same rows, threads and bytes of each copy, with tails and edges of tiles."""

    def requests():
        programs = Programs(kernel().bind())
        blocks = [tuple(x) for x in np.ndindex(*map(int, programs.kernel.grid))]
        walks = programs.requests(blocks), programs.walk(blocks[:3])
        every = [part for walk in walks for parts in walk.parts for part in parts]
        return [[np.broadcast_to(p.columns[x], len(p.scope)).tolist() for x in COUNTS if x in p.columns] for p in every]

    found = requests()
    monkeypatch.setattr(Points, "apart", lambda *_: None)
    assert found == requests()


def test_addresses_looked_at_in_parts_are_those_looked_at_together(monkeypatch):
    builds = (
        lambda: gemm_mma(256, 256, 256, tile=(64, 64)),
        lambda: row_sum(70, 300, 304),
        lambda: cp_async_copy(20_000),
    )
    whole = [simulate(build().bind(), uncertainty=False).row() for build in builds]
    monkeypatch.setattr(footprints, "AT_ONCE", 1000)

    assert [simulate(build().bind(), uncertainty=False).row() for build in builds] == whole
