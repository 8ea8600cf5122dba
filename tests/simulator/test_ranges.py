"""The range of a predicted time: exact quantiles of known functions, few runs, wider with wider numbers."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from simulator import H200, simulate
from simulator.machine import RATES, TIMES, UNITS, Machine, Number
from simulator.plan import Plans
from simulator.program import Programs
from simulator.ranges import GROUPS, MAX_RUNS, _end, time_range
from symlayout.kernels import bulk_copy, gemm, gemm_mma, tma_copy, tma_transpose


def machine_of(**numbers: tuple[float, str, float]) -> Machine:
    """A machine of a few numbers: value, unit, uncertainty."""
    rows = {k: Number(k, value, unit, "guessed", "test", u) for k, (value, unit, u) in numbers.items()}
    return Machine("test", {"sm_clock": H200["sm_clock"], **rows})


def test_one_number_gives_the_quantiles_of_its_range():
    """A number that is anywhere in +-10 % is with one chance in ten below -8 %."""
    one = machine_of(a=(1000, "ns", 0.1), b=(5, "ns", 0.9))
    found = time_range(lambda m: m.ps("a"), one)

    assert found.p10_ps == pytest.approx(920_000, rel=0.005)
    assert found.p90_ps == pytest.approx(1_080_000, rel=0.005)
    assert [e.names for e in found.effects] == [("a",)]


def test_two_equal_numbers_give_the_quantiles_of_their_sum():
    """The sum of two uniform numbers is triangular: a tenth lies below -(2 - sqrt(0.8)) half widths."""
    one = machine_of(a=(1000, "ns", 0.1), b=(1000, "ns", 0.1))
    found = time_range(lambda m: m.ps("a") + m.ps("b"), one)

    half = (2 - 0.8**0.5) * 100_000
    assert found.p90_ps == pytest.approx(2_000_000 + half, rel=0.005)
    assert found.p10_ps == pytest.approx(2_000_000 - half, rel=0.005)


def test_a_rate_is_slow_where_it_is_low_and_a_capacity_too():
    one = machine_of(rate=(10, "B/ns", 0.5), room=(1000, "bytes", 0.2), latency=(100, "ns", 0.3))
    found = time_range(lambda m: m.transfer("rate", 1000) + 10 * m.count("room") * 0 + m.ps("latency"), one)

    effects = {e.names: e for e in found.effects}
    assert effects[("rate",)].slow == pytest.approx(0.5)  # half the rate, twice the time, of half of all
    assert effects[("rate",)].fast == pytest.approx(-1 / 6, rel=0.01)
    assert effects[("latency",)].slow == pytest.approx(0.15)


def test_an_effect_that_bends_is_looked_at_half_way():
    one = machine_of(a=(100, "ns", 0.5))
    found = time_range(lambda m: max(140_000, m.ps("a")), one)  # only the last fifth of the slow half matters

    [effect] = found.effects
    assert (effect.fast, effect.half) == (0, 0)
    assert effect.slow == pytest.approx(1 / 14)
    assert found.p10_ps == 140_000


def test_a_machine_without_uncertainty_has_no_range():
    numbers = {k: replace(n, uncertainty=0.0) for k, n in H200.numbers.items() if k != "model"}
    exact = replace(H200, numbers=numbers)
    found = time_range(lambda m: m.ps("dram_latency"), exact)

    assert (found.p10_ps, found.p90_ps, found.effects) == (H200.ps("dram_latency"), H200.ps("dram_latency"), ())


def test_what_the_model_leaves_out_of_some_kernels_widens_theirs():
    numbers = {"a": (1000, "ns", 0.0), "model": (1, "count", 0.1), "model_products": (1, "count", 0.3)}
    copy, product = (
        time_range(lambda m: m.ps("a"), machine_of(**numbers), gaps=g)
        for g in (("model",), ("model", "model_products"))
    )
    traces = [
        simulate(k.bind(), what_if=False) for k in (gemm(128, 128, 128, cluster=1, blocks=1), gemm_mma(128, 128, 128))
    ]

    assert product.p90_ps - product.p10_ps > 2 * (copy.p90_ps - copy.p10_ps)
    assert [e.names for e in copy.effects] == [("model",)]
    assert [("model_products",) in [e.names for e in t.around.effects] for t in traces] == [False, True]


def test_the_number_of_the_model_widens_the_range():
    one = machine_of(a=(1000, "ns", 0.0), model=(1, "count", 0.1))
    found = time_range(lambda m: m.ps("a"), one)

    assert (found.p10_ps / 1e6, found.p90_ps / 1e6) == pytest.approx((0.92, 1.08), abs=0.002)


@pytest.mark.parametrize(
    "bound",
    [
        bulk_copy(1 << 18, slots=2, blocks=132).bind(),
        tma_copy(1056, 1024).bind(),
        gemm(512, 512, 512, cluster=1).bind(),
    ],
    ids=lambda bound: bound.name,
)
def test_a_simulation_has_a_range_from_few_runs(bound):
    runs = 0

    def counted(m: Machine) -> int:
        nonlocal runs
        runs += 1
        trace = simulate(bound, m, what_if=False, uncertainty=False)
        return trace.time_ps + trace.launch_ps

    trace = simulate(bound, what_if=False)
    products = bound.name == "gemm"
    machine = H200
    if products:
        use = sys.modules["simulator.simulate"]._tensor_use(Plans(Programs(bound), warm=False).of(H200), H200)
        machine = H200.multiplying(use).less_certain(sm_clock="product_clock_spread")
    gaps = ("model", "model_wgmma") if products else ("model",)
    found = time_range(counted, machine, gaps=gaps, step="launch_step")

    assert runs <= MAX_RUNS + 1
    assert found == trace.around
    assert found.p10_ps < trace.seconds * 1e12 < found.p90_ps


def test_launches_end_in_steps():
    """M47: whatever a short launch takes, it is known to a step."""
    certain = H200.replacing(launch=2000, model=1)
    found = time_range(lambda m: m.ps("launch"), certain, step="launch_step")

    assert [e.about for e in found.effects if e.slow > 0] == ["launch_step"]
    assert found.p90_ps - found.p10_ps == pytest.approx(0.8 * H200.ps("launch_step"), rel=0.03)


def test_each_unit_is_in_a_group():
    """Numbers of a unit that is in none would make no range."""
    assert sorted(unit for units in GROUPS for unit in units) == sorted(UNITS)


def test_the_slow_end_of_each_number_is_not_faster():
    """Groups are tried together: that the members slow the kernel alike is what the search relies on."""
    kernels = [tma_copy(2112, 4096, blocks=132).bind(), gemm(512, 512, 512).bind()]
    run = sys.modules["simulator.simulate"]._run
    uncertain = [n for n in H200.numbers.values() if n.uncertainty and n.unit not in (*TIMES, *RATES)]
    for bound in kernels:
        plans = Plans(Programs(bound), warm=False)
        base = run(plans.of(H200), H200, frozenset(), False)[0]
        faster = {}
        for n in uncertain:
            machine = H200.replacing(**{n.name: _end(n, 1)})
            time = run(plans.of(machine), machine, frozenset(), False)[0]
            if time < 0.996 * base:
                faster[n.name] = time / base - 1
        assert faster == {}


def test_wider_numbers_give_a_wider_range():
    bound = bulk_copy(1 << 18, slots=2, blocks=132).bind()
    numbers = {k: replace(n, uncertainty=min(0.9, 2 * n.uncertainty)) for k, n in H200.numbers.items()}
    narrow, wide = (simulate(bound, m, what_if=False).around for m in (H200, replace(H200, numbers=numbers)))

    assert narrow is not None
    assert wide is not None
    assert wide.p90_ps - wide.p10_ps > 1.3 * (narrow.p90_ps - narrow.p10_ps)


def test_of_a_long_run_a_part_says_what_all_of_it_would(monkeypatch):
    """What-ifs and ranges of a product of four tiles a CTA: from three tenths of them, within 2 % of the time."""
    bound = gemm(4096, 4096, 4096, cluster=1, blocks=132).bind()
    monkeypatch.setattr(sys.modules["simulator.simulate"], "MANY_STEPS", 1000)
    part = simulate(bound)
    monkeypatch.setattr(sys.modules["simulator.simulate"], "MANY_STEPS", 1 << 40)
    whole = simulate(bound)

    assert any("first 30%" in note for note in part.notes)
    assert not any("first 30%" in note for note in whole.notes)
    assert part.time_ps == whole.time_ps
    for name in whole.what_if:
        assert abs(part.gain(name) - whole.gain(name)) < 0.02, name
    assert part.around.p10_ps == pytest.approx(whole.around.p10_ps, rel=0.02)
    assert part.around.p90_ps == pytest.approx(whole.around.p90_ps, rel=0.02)


@pytest.mark.parametrize("name", ["l2_again_bytes", "dram_run_bytes"])
def test_numbers_that_a_plan_asks_for_make_the_range_too(name):
    """What L2 holds, and what short rows cost DRAM, is decided before a run."""
    numbers = {
        k: replace(n, uncertainty=0.4 if k == name else 0.0)
        for k, n in H200.numbers.items()
        if not k.startswith("model")
    }
    copies = tma_copy(4096, 1504, tile=(256, 16), slots=4, blocks=132)
    turns = tma_transpose(4096, 4096, dtype="bf16", tile=(64, 64), swizzle=128, stages=4, blocks=264)
    bound = (turns if name == "dram_run_bytes" else copies).bind()
    around = simulate(bound, replace(H200, numbers=numbers), cache="warm", what_if=False).around

    assert [e.names for e in around.effects if e.about != "launch_step"] == [(name,)]
    assert around.p90_ps > 1.005 * around.p10_ps


def test_plans_are_made_again_for_other_numbers_that_they_ask_for():
    plans = Plans(Programs(tma_copy(264, 256, blocks=132).bind()), warm=False)
    first = plans.of(H200)

    assert plans.of(H200.replacing(dram_rate=1000)) is first
    other = plans.of(H200.replacing(sms=66))
    assert [kind.weight for kind in first.kinds] != [kind.weight for kind in other.kinds]
    assert {"sms", "l2_bytes", "dram_run_bytes", "shared_bytes_per_sm"} <= set(plans.asked)
    assert plans.of(H200) is first


@pytest.mark.parametrize(
    "kernel, grows", [(lambda: gemm(512, 512, 2048, cluster=1, blocks=16), True), (lambda: tma_copy(256, 512), False)]
)
def test_clocks_of_sms_that_differ_are_in_the_range_of_products_alone(kernel, grows):
    bound, effects = kernel().bind(), []
    for spread in (0.02, 0.2):
        machine = H200.replacing(product_clock_spread=spread)
        around = simulate(bound, machine, cache="warm", what_if=False).around
        effects.append(max((e.slow for e in around.effects if "sm_clock" in e.names), default=0.0))

    assert (effects[1] > 3 * effects[0] > 0) == grows
    assert grows or effects[0] == effects[1]
