"""In a timed run an arrival of cp.async comes when the copies before it have landed, and not when the thread goes on."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import simulate
from simulator.engine import SimulationError
from tests.support.cp_async_rings import cp_async_ring


def test_the_reader_waits_for_the_copies() -> None:
    awaited, early = (simulate(cp_async_ring(1, early=early).bind(L=6)).time_ps for early in (False, True))

    assert awaited > early


def test_values_are_those_that_were_copied() -> None:
    a = np.arange(32 * 7, dtype=np.float32).reshape(7, 32).T
    kernel = cp_async_ring(noinc=False, tells="both").bind(L=7)

    assert (simulate(kernel, values=True, inputs={"a": a}).arrays["o"] == a).all()


def test_an_arrival_that_nobody_makes_stops_the_run() -> None:
    with pytest.raises(SimulationError, match="full"):
        simulate(cp_async_ring(arrivals=33).bind(L=6))
