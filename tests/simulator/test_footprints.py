"""Counts of many rows of addresses at once: those of rows that are one row shifted are those of each row."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.footprints import Footprints
from symlayout.kernels import vector_copy


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
