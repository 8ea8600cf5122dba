"""In a timed run an arrival counts as often as it says: a slot is free when all arrivals that it awaits have come."""

from __future__ import annotations

import pytest

from simulator import simulate
from simulator.engine import SimulationError
from tests.support.counted import counted


def test_one_arrival_of_32_takes_no_longer_than_one_of_one() -> None:
    assert simulate(counted().bind(L=6)).time_ps == simulate(counted(1, 1).bind(L=6)).time_ps


def test_one_arrival_less_stops_the_run() -> None:
    with pytest.raises(SimulationError, match=r"waits for empty\[0\], in phase 0: 1 of 32 arrivals"):
        simulate(counted(31).bind(L=6))


def test_one_arrival_more_is_an_error() -> None:
    with pytest.raises(SimulationError, match="got 33 at once with 32 pending"):
        simulate(counted(33).bind(L=6))
