"""Sweeps: all combinations, the order, the Pareto front, what is excluded, resuming by content, several workers."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from simulator import H200, SimulationError, simulate
from simulator.sweep import Row, Sweep, points, sweep
from symlayout.kernels import bulk_copy
from symlayout.kernels.families import family
from tests.support.plain import within

COPY = family("bulk_copy")
SIZES, AXES = {"N": [1 << 18]}, {"chunk": [512, 1024, 65536], "slots": [1, 2, 3]}


def test_each_row_is_the_simulation_of_its_point():
    found = sweep(COPY, SIZES, AXES)

    assert len(found.rows) == 9
    assert found.axes == ("chunk", "slots")
    for row in found.ranked:
        options = {k: int(x) for k, x in row.options.items()}
        trace = simulate(bulk_copy(1 << 18, **options).bind(), what_if=False, uncertainty=False)
        assert (row.seconds, row.sizes) == (trace.seconds, {"N": 1 << 18})
    times = [r.seconds for r in found.ranked]
    assert times == sorted(times)


def test_what_does_not_fit_is_excluded_with_the_reason():
    found = sweep(COPY, SIZES, AXES)

    [(reason, rows)] = found.excluded.items()
    assert {r.options["chunk"] for r in rows} == {"65536"}
    assert reason.startswith("expected a CTA that fits an SM of NVIDIA H#")
    assert rows[0].why.startswith("expected a CTA that fits an SM of NVIDIA H200")
    assert len(found.ranked) == 6


@pytest.mark.parametrize("best, asked", [(1, 1), (None, 6)])
def test_illegal_points_are_excluded_by_what_is_passed(best, asked):
    """The prover is a callable: here two slots are illegal. The fastest are asked first, and the front."""
    seen = []

    def legal(kernel, sizes):
        slots = kernel.rings[0].slots
        seen.append((slots, dict(sizes)))
        return "refuted: two slots" if slots == 2 else ""

    found = sweep(COPY, SIZES, AXES, legal=legal, best=best)

    assert len(seen) >= asked
    assert all(sizes == {"N": 1 << 18} for _, sizes in seen)
    assert all(r.legal for r in found.ranked[:1])
    assert all(r.legal for r in found.pareto)
    told = [r for r in found.rows if r.why.startswith("refuted")]
    assert {r.options["slots"] for r in told} <= {"2"}
    if best is None:
        assert len(told) == 2
        assert all(r.legal for r in found.ranked)


def test_of_schedules_that_cost_the_same_the_one_that_is_shown_is_asked():
    """Two options of which one has no effect: ties of all costs."""

    def twice(N, *, slots=2, colour=0):
        return bulk_copy(N, slots=slots, chunk=512, blocks=132)

    builder = replace(COPY, builder=twice, options={"slots": 2, "colour": 0})
    found = sweep(builder, SIZES, {"slots": [3, 2, 1], "colour": [2, 1, 3]}, legal=lambda k, sizes: "", best=1)

    assert [r.legal for r in found.pareto] == ["legal"] * len(found.pareto)
    assert len(found.pareto) == 3


def test_the_front_holds_what_nothing_is_better_than():
    rows = [Row({"k": str(k)}, {}, s, m, t) for k, (s, m, t) in enumerate([(1, 9, 9), (2, 9, 9), (2, 5, 9), (3, 5, 5)])]
    found = Sweep("x", "m", tuple(rows))

    assert [r.options["k"] for r in found.pareto] == ["0", "2", "3"]
    for r in found.ranked:
        better = [o for o in rows if o is not r and all(a <= b for a, b in zip(o.costs, r.costs, strict=True))]
        assert (not better) == (r in found.pareto)


def test_a_sweep_resumes_by_content(tmp_path):
    file = tmp_path / "rows.jsonl"
    part = sweep(COPY, SIZES, {"chunk": [512], "slots": [1, 2]}, resume=file)
    whole = sweep(COPY, SIZES, {"chunk": [512], "slots": [1, 2, 3]}, resume=file)
    again = sweep(COPY, SIZES, {"chunk": [512], "slots": [1, 2, 3]}, resume=file)
    other = sweep(COPY, SIZES, {"chunk": [512], "slots": [1]}, machine=H200.replacing(dram_rate=100), resume=file)

    assert [f.found_before for f in (part, whole, again, other)] == [0, 2, 3, 0]
    assert again.rows == whole.rows == sweep(COPY, SIZES, {"chunk": [512], "slots": [1, 2, 3]}).rows
    assert other.rows[0].seconds > whole.rows[0].seconds


def test_schedules_of_sustained_launches_are_slower_and_kept_apart(tmp_path):
    of, file = family("gemm"), tmp_path / "rows.jsonl"
    once, many = (
        sweep(of, {"M": [8192], "N": [8192], "K": [2048]}, {"cluster": [2]}, sustained=sustained, resume=file)
        for sustained in (False, True)
    )

    assert many.found_before == 0
    assert many.ranked[0].seconds > once.ranked[0].seconds


def test_a_file_that_was_cut_off_is_taken_up_and_another_file_refused(tmp_path):
    file = tmp_path / "rows.jsonl"
    sweep(COPY, SIZES, {"slots": [1, 2]}, resume=file)
    file.write_bytes(file.read_bytes()[:-9])
    found = sweep(COPY, SIZES, {"slots": [1, 2, 3]}, resume=file)

    assert found.found_before == 1
    assert [set(json.loads(line)) for line in file.read_text().splitlines()] == [set(Row.__dataclass_fields__)] * 3
    (tmp_path / "other").write_text("hello\nworld\n")
    with pytest.raises(SimulationError, match=r"expected rows of a sweep in .*, got line 1: 'hello'"):
        sweep(COPY, SIZES, {"slots": [1]}, resume=tmp_path / "other")


def test_workers_give_the_same_rows_and_progress():
    seen = []
    found = sweep(COPY, SIZES, AXES, workers=2, progress=lambda done, total: seen.append((done, total)))

    assert found == sweep(COPY, SIZES, AXES)
    assert seen == [(k, 9) for k in range(1, 10)]


def no_third_slot(kernel, sizes):
    return "refuted: three slots" if kernel.rings[0].slots == 3 else ""


@pytest.mark.filterwarnings("default")
def test_a_cluster_gives_the_same_rows(tmp_path):
    pytest.importorskip("distributed", reason="dask[distributed] is not installed")
    from dask import config
    from dask.distributed import LocalCluster

    store = tmp_path / "rows.jsonl"
    with (
        config.set({"distributed.worker.daemon": False}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
    ):
        far = sweep(
            COPY, SIZES, AXES, scheduler=cluster.scheduler_address, resume=store, legal=no_third_slot, best=None
        )

    assert far == sweep(COPY, SIZES, AXES, legal=no_third_slot, best=None)
    assert sweep(COPY, SIZES, AXES, resume=store).found_before == sum(r.seconds > 0 for r in far.rows) == 6


def test_a_builder_that_fails_is_a_row_with_its_reason():
    def broken(N, *, slots=2):
        if slots == 3:
            raise ZeroDivisionError("no")
        return bulk_copy(N, slots=slots, chunk=512, blocks=132)

    found = sweep(replace(COPY, builder=broken, options={"slots": 2}), SIZES, {"slots": [2, 3]})

    assert [r.why for r in found.rows] == ["", "ZeroDivisionError: no"]


@pytest.mark.parametrize(
    "sizes, axes, message",
    [
        ({}, {}, "expected all sizes of bulk_copy, got none for N"),
        ({"M": [1]}, {}, r"expected sizes of bulk_copy \(N\), got 'M'"),
        ({"N": [1]}, {"slotz": [1]}, r"expected options of bulk_copy \(.*slots.*\), got 'slotz'"),
        ({"N": [1]}, {"slots": []}, "expected at least one value of slots, got none"),
        ({"N": range(1, 1001)}, {"slots": range(1, 1001)}, "expected at most 100000 points, got 1000000"),
    ],
)
def test_axes_that_are_none_are_refused(sizes, axes, message):
    with pytest.raises(SimulationError, match=message):
        points(COPY, sizes, axes)


@pytest.mark.parametrize("says", ["", None])
def test_what_has_nothing_to_say_of_a_kernel_lets_it_be(says):
    with within(20):
        found = sweep(COPY, SIZES, {"slots": [1]}, legal=lambda kernel, sizes: says)

    assert [r.legal for r in found.ranked] == ["legal"]


def test_what_says_no_reason_is_told():
    found = sweep(COPY, SIZES, {"slots": [1]}, legal=lambda kernel, sizes: 5)

    assert found.rows[0].why == "SimulationError: expected why a kernel must not be used, or '', got 5"


@pytest.mark.parametrize(
    "change, message",
    [
        ({"family": "bulk_copy"}, r"expected a family such as family\('gemm'\), .* got str and Machine"),
        ({"machine": "h200"}, "and a machine such as H200, got Family and str"),
        ({"cache": "lukewarm"}, "expected a cache of cold or warm, got 'lukewarm'"),
        ({"best": 0}, "expected at least 1 as the best to ask about, or None for all, got 0"),
        ({"axes": {"slots": "2"}}, "expected a list of values of slots, got '2'"),
        ({"sizes": {"N": 4096}}, "expected a list of values of N, got 4096"),
    ],
)
def test_what_no_sweep_takes_is_one_error(change, message):
    given = {"family": COPY, "sizes": SIZES, "axes": AXES} | change

    with pytest.raises(SimulationError, match=message):
        sweep(**given)
