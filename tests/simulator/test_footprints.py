"""Counts of many rows of addresses at once: those of rows that are one row shifted are those of each row."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import footprints, simulate
from simulator.footprints import Footprints
from symlayout.kernels import cp_async_copy, gemm_mma, row_sum, vector_copy


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


def test_addresses_looked_at_in_parts_are_those_looked_at_together(monkeypatch):
    builds = (
        lambda: gemm_mma(256, 256, 256, tile=(64, 64)),
        lambda: row_sum(70, 300, 304),
        lambda: cp_async_copy(20_000),
    )
    whole = [simulate(build().bind(), uncertainty=False).row() for build in builds]
    monkeypatch.setattr(footprints, "AT_ONCE", 1000)

    assert [simulate(build().bind(), uncertainty=False).row() for build in builds] == whole
