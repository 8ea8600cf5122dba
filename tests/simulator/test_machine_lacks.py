"""A machine without what a kernel needs: instructions by architecture, rows by name, each one clear error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator import H200, SimulationError, machine, simulate
from simulator.sweep import sweep
from symlayout.cli import app
from symlayout.kernel import Builder
from symlayout.kernel.instructions import FEATURES, missing
from symlayout.kernels import bulk_copy, cp_async_copy, gemm, tma_copy, vector_copy
from symlayout.kernels.families import family
from symlayout.layout import Layout
from symlayout.ops import Slot
from tests.support.command import CliRunner
from tests.support.plain import within

A100 = machine("a100")
ONLY = {"what_if": False, "uncertainty": False}


def built(fill, **options):
    """A kernel of one warp with a little of everything, and what *fill* adds."""
    k = Builder("one", grid=(2,), threads=32, **options)
    k.mbarriers("bar", 1, 1)
    src = k.global_tensor("src", "f32", Layout(64))
    fill(k, src)
    return k.kernel()


def with_role(k, src):
    with k.role("alone", 1, registers=64):
        k.sync()


NEEDS = {  # what is told, and a kernel that has little else
    "mbarrier.arrive.expect_tx": lambda: built(lambda k, src: k.expect_tx(Slot("bar"), 64)),
    "mbarrier.try_wait": lambda: built(lambda k, src: k.wait(Slot("bar"), 0)),
    "mbarrier.arrive of a peer, at cluster scope or with a count": lambda: built(
        lambda k, src: k.arrive(Slot("bar"), scope="cluster")
    ),
    "barrier.cluster": lambda: built(lambda k, src: k.cluster_sync()),
    "prefetch.tensormap": lambda: tma_copy(64, 64),
    "cp.async.bulk.prefetch": lambda: built(lambda k, src: k.prefetch_l2(src(), nbytes=64)),
    "setmaxnreg": lambda: built(with_role),
    "clusters": lambda: built(lambda k, src: k.sync(), cluster=(2,)),
    "fence async": lambda: built(lambda k, src: k.fence("async")),
    "tma.load.multicast": lambda: gemm(256, 256, 256, cluster=2, blocks=2),
    "bulk.store": lambda: bulk_copy(4096, blocks=2),
}


@pytest.mark.parametrize("word", NEEDS)
def test_each_instruction_that_a_machine_lacks_is_told(word):
    bound = NEEDS[word]().bind()

    assert missing(bound, (9, 0)) == {}
    assert word in missing(bound, (8, 0))
    with pytest.raises(SimulationError) as e:
        simulate(bound, A100, **ONLY)
    told = str(e.value)
    assert told.startswith(f"expected instructions that {A100.name} (compute capability 8.0) has, got ")
    assert word in told
    assert told.endswith(f" of {bound.name}, which takes 9.0")


def test_each_feature_is_among_those_that_are_tried():
    assert {f.word for f in FEATURES} <= set(NEEDS)


@pytest.mark.parametrize("bound", [vector_copy(1 << 12).bind(), cp_async_copy(1 << 12).bind()], ids=lambda k: k.name)
def test_what_an_older_machine_has_runs_there(bound):
    assert missing(bound, (8, 0)) == {}
    assert simulate(bound, A100, **ONLY).bytes == 2 * 4 << 12


@pytest.mark.parametrize("name", ["mbarrier_wait", "tma_row", "dram_rate", "sms", "cta_turnover", "sm_write_rate"])
def test_a_row_that_a_machine_lacks_is_named(name):
    lacking = replace(H200, numbers={k: n for k, n in H200.numbers.items() if k != name})

    with pytest.raises(SimulationError, match=f"expected a number '{name}' of NVIDIA H200, got none"):
        simulate(bulk_copy(4096, blocks=2).bind(), lacking, **ONLY)


@pytest.mark.parametrize("command", ["simulate", "sweep"])
def test_the_command_ends_with_one_line_and_status_2(command):
    with within(20):
        result = CliRunner().invoke(app, [command, "tma_copy", "M=64", "N=64", "--machine", "a100"])

    assert result.exit_code == 2
    assert "Traceback" not in result.output
    told = " ".join(result.stderr.split())
    assert told.count("expected") == 1
    assert "tma.load" in told


def test_a_sweep_excludes_points_that_a_machine_has_no_instructions_for_and_ends_where_that_is_all():
    alone = replace(H200, lacks=("tma.load.multicast",))
    sizes = {"M": [256], "N": [256], "K": [256]}

    found = sweep(family("gemm"), sizes, {"cluster": [1, 2]}, machine=alone)

    assert [row.options["cluster"] for row in found.ranked] == ["1"]
    assert "got tma.load.multicast of gemm" in found.rows[1].why
    with pytest.raises(SimulationError, match=r"got tma\.load\.multicast of gemm: it has none of"):
        sweep(family("gemm"), sizes, {"cluster": [2], "stages": [2, 3]}, machine=alone)


def test_a_machine_of_another_maker_is_marked_and_refuses_what_it_has_no_words_for():
    mi300x = machine("mi300x")

    assert "not measured" in mi300x.name
    assert "measured" not in {row.grade for row in mi300x.numbers.values() if not row.of}
    assert simulate(vector_copy(4096).bind(), mi300x, **ONLY).bytes == 2 * 4 * 4096
    with pytest.raises(SimulationError, match=r"expected instructions that AMD MI300X .* has, got cp.async.16 of"):
        simulate(cp_async_copy(4096, blocks=2).bind(), mi300x)
    with pytest.raises(SimulationError, match=r"tma\.load"):
        simulate(tma_copy(64, 64).bind(), mi300x)
