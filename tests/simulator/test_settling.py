"""What depends on the past settles: parts that are held, queues of DRAM, bytes that change little by little."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import H200, traffic
from simulator.dram import Queues
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.settling import GRAIN, coarse, held
from simulator.timing_classes import Unit
from symlayout.kernels import gemm

STEP = 0.1


@pytest.mark.parametrize("gain", [0.5, 1.0, 2.0, 2.9])
@pytest.mark.parametrize("start", [0.0, 0.47, 3.0])
def test_what_is_held_settles_within_a_step_though_it_acts_on_itself(gain, start):
    value, moves = start, 0
    for _ in range(60):
        after = held(value, 1.0 - gain * (value - 1.0), STEP)
        value, moves = after, moves + (after != value)

    assert abs(value - 1.0) * (1 + gain) <= STEP + 1e-9
    assert moves < 50
    assert value == start or value / (STEP / 4) == pytest.approx(round(value / (STEP / 4)))


def test_queues_change_by_what_was_seen_since_they_changed():
    queues = Queues()
    assert queues.told(0.0, 0, 1000) == 0.0
    assert queues.told(0.75, 1000, 2000) == 0.5  # half way to 1
    assert [queues.told(0.75, since, 3000) for since in (1000, 1500, 1999)] == [0.5] * 3
    assert queues.told(0.75, 2000, 3000) == 0.75


def test_coarse_numbers_are_few_and_near():
    each = np.linspace(0, 1000, 5000)
    found = coarse(each)

    assert len(np.unique(found)) == GRAIN + 1
    assert np.abs(found - each)[found > each.max() / GRAIN].max() <= each.max() / GRAIN / 2 + 1e-9
    assert ((found > 0) == (each > 0)).all()
    assert coarse(np.zeros(3)).tolist() == [0, 0, 0]


def test_loads_of_dram_are_few_kinds_and_as_many_bytes(monkeypatch):
    """A product whose operands do not fit L2: the part that is missed is another one in each iteration."""
    bound = gemm(2048, 2048, 4096, tile=(128, 128), blocks=132, cluster=1).bind()
    machine = H200.replacing(l2_bytes=12 << 20)

    def moved():
        plan = plan_of(Programs(bound), machine, traffic.Cache.of(bound, machine, warm=False))
        [cluster, *_], *_ = plan.courses(machine)
        steps = [s for c in cluster for team in c.teams for s in team.steps if s.unit is Unit.TMA_LOAD]
        return sum(s.dram_bytes for s in steps), len({s.dram_bytes for s in steps})

    nbytes, kinds = moved()
    monkeypatch.setattr(traffic, "coarse", lambda x: x)
    wanted, many = moved()
    assert nbytes == pytest.approx(wanted)
    assert kinds < many / 2
