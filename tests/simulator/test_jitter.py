"""Loads of DRAM that take now more and now less time, and how far CTAs end apart by that (M55)."""

from __future__ import annotations

import numpy as np
import pytest

from simulator import H200, simulate
from simulator.calibration.ends import dram_jitter, dram_skew
from simulator.dram import skew
from simulator.engine import NS
from simulator.jitter import MOST, STEP, longer, spread
from symlayout import dims
from symlayout.kernels import tma_copy, tma_transpose

ALIKE = H200.replacing(dram_jitter=1e-9)
ONLY = {"cache": "warm", "what_if": False, "uncertainty": False}


@pytest.mark.parametrize("gap", [-700, -300, -100, 0, 50, 250, 800])
@pytest.mark.parametrize("deviation", [96, 320, 800])
def test_it_is_the_mean_of_the_later_of_two(gap, deviation):
    drawn = np.random.default_rng(1).normal(gap, deviation, 200_000)  # when the load lands, after who needs it
    told = longer(gap * NS, deviation * NS, worked=10 * deviation * NS)

    assert told == pytest.approx(NS * (np.maximum(drawn, 0).mean() - max(gap, 0)), abs=STEP / 2 + 3 * NS)


def test_who_always_waits_for_a_load_or_never_does_so_waits_no_longer():
    assert longer(1000 * NS, 320 * NS, 1000 * NS) == longer(-1000 * NS, 320 * NS, 1000 * NS) == 0
    assert longer(0, 0, 1000 * NS) == 0


def test_who_does_nothing_else_waits_as_rings_do_that_tell_how_long_loads_take():
    assert longer(0, 320 * NS, 0) == 0 < longer(0, 320 * NS, 160 * NS) < longer(0, 320 * NS, 640 * NS)


def test_a_spread_is_a_part_of_the_time_of_a_load():
    assert spread(1600 * NS, 0.2) == 320 * NS
    assert spread(100_000 * NS, 0.2) == MOST


@pytest.mark.parametrize("stages, tile", [(3, (64, 64)), (2, (128, 64))])
def test_transpositions_that_need_tiles_about_when_they_come_take_longer(stages, tile):
    """An H200 took 6 to 8 % longer for these than was predicted without it."""
    kernel = tma_transpose(*dims("M N"), dtype="bf16", tile=tile, swizzle=0, stages=stages, blocks=132)
    bound = kernel.bind(M=9472, N=8064)
    varied, even = (simulate(bound, machine, **ONLY).time_ps for machine in (H200, ALIKE))

    assert 0.01 < varied / even - 1 < 0.06


def test_copies_and_tiles_in_l2_take_as_long():
    copy = tma_copy(8960, 8704, dtype="bf16", tile=(128, 64), slots=3, blocks=132).bind()
    near = tma_transpose(1024, 1024, dtype="bf16", tile=(64, 64), swizzle=0, stages=3, blocks=132).bind()

    for kernel in (copy, near):
        varied, even = (simulate(kernel, machine, **ONLY).time_ps for machine in (H200, ALIKE))
        assert varied == pytest.approx(even, rel=0.002)


def row(iterations, load, part=0.2, more=0.3):
    """A row of M55, whose last CTA ends behind the others by *more* over the root of its iterations."""
    first = 1000.0 * iterations
    ns = {"load": load, "spread": part * load, "first": first, "last": first * (1 + more / iterations**0.5)}
    return {"id": "M55", "kernel": "ends", "slots": 1, "iterations": iterations, **{k: [x] for k, x in ns.items()}}


def test_rows_tell_how_loads_differ_and_how_ends_do():
    rows = [row(n, load) for n, load in ((4, 2600.0), (18, 1800.0), (71, 1300.0), (283, 800.0))]

    assert dram_jitter(rows).value == pytest.approx(0.2)
    assert dram_skew(rows).value == pytest.approx(0.3)


@pytest.mark.parametrize("iterations", [6, 18, 71])
def test_the_last_cta_ends_the_later_the_fewer_iterations_there_are(iterations):
    part = skew(10**9, 1.0, iterations, H200) / 10**9

    assert part == pytest.approx(H200.share("dram_skew") * (iterations**-0.5 - 200**-0.5), abs=1e-6)
    assert skew(10**9, 0.5, iterations, H200) == pytest.approx(part / 2 * 10**9, abs=1)
    assert skew(10**9, 1.0, 500, H200) == 0
