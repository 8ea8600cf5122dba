"""The state of one mbarrier of a run: phases, arrivals and bytes."""

from __future__ import annotations

import numpy as np
import pytest

from symlayout.errors import LayoutError
from symlayout.semantics.mbarrier import LIMIT, Mbarrier


def barrier(arrivals):
    return Mbarrier("full[0]", arrivals, np.zeros(1, np.int64), 0)


def test_a_fresh_mbarrier_lets_parity_1_through():
    assert (barrier(2).passes(0), barrier(2).passes(1)) == (False, True)


def test_a_phase_ends_with_its_arrivals_and_its_bytes():
    b = barrier(2)
    b.complete_tx(32)  # before they are expected: allowed while arrivals are pending
    b.arrive(1)
    b.expect_tx(32)

    assert not b.passes(0)
    b.arrive(1)
    assert (b.phase, b.pending, b.tx, b.passes(0), b.passes(1)) == (1, 2, 0, True, False)


def test_arrivals_beyond_a_phase_count_for_the_next():
    b = barrier(3)
    b.arrive(4)

    assert (b.phase, b.pending) == (1, 2)
    b.arrive(5)
    assert (b.phase, b.pending) == (3, 3)


def test_what_an_mbarrier_does_not_hold():
    b = barrier(1)
    b.expect_tx(16)
    b.arrive(1)
    with pytest.raises(
        LayoutError, match=r"expected no more than 1 arrivals in phase 0 of full.0., which still awaits 16"
    ):
        b.arrive(1)
    with pytest.raises(LayoutError, match=f"expected at most {LIMIT} bytes under way on full.0., got {LIMIT + 1}"):
        b.expect_tx(LIMIT - 15)
    with pytest.raises(LayoutError, match="expected parity 0 or 1, got 2"):
        b.passes(2)
    with pytest.raises(LayoutError, match="expected 1 to 1048575 arrivals"):
        barrier(0)
