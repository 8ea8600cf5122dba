"""mbarrier.inval: proved behind a barrier behind all uses; elsewhere refuted, and seen by runs where they meet it."""

from __future__ import annotations

import pytest

from checkers import HappensBefore, prove
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder, Kernel
from symlayout.semantics.execute import execute, expect_reference


def once(meet: bool = True, one: bool = True, early: bool = False, again: bool = False, twice: bool = False) -> Kernel:
    """A tile is loaded and stored by all threads, and its mbarrier invalidated behind that."""
    N = dim("N", multiple_of=64)
    k = Builder("once", N, grid=(N // 64,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    t, r, full = k.shared_tensor("t", "f32", Layout(64)), k.registers("r", "f32", 1), k.mbarriers("full", 1, 1)
    with k.elect():
        k.expect_tx(full(0), 256)
        k.copy("bulk.load", src(64 * k.block[0]), t(), full(0), nbytes=256)
    if early:
        with k.elect():
            k.inval(full)
    k.wait(full(0), 0)
    k.copy("ld.shared.4", t(k.thread), r())
    k.copy("st.global.4", r(), dst(64 * k.block[0] + k.thread))
    if meet:
        k.sync()
    if not early and one:
        with k.elect():
            k.inval(full)
            if twice:
                k.inval(full)
    elif not early:
        k.inval(full)
    if again:
        k.wait(full(0), 0)
    return k.kernel(reference=lambda src: {"dst": src})


WRONG = {
    "no barrier behind the last use": {"meet": False},
    "by all threads": {"one": False},
    "before the wait": {"early": True},
    "before another wait": {"again": True},
}


def test_behind_all_uses_it_is_proved_and_run() -> None:
    kernel = once()
    bound = kernel.bind(N=128)
    expect_reference(bound, {"src": Layout(128).offsets().astype("float32")}, "lazy")

    assert prove(kernel)


@pytest.mark.parametrize("name", WRONG)
def test_elsewhere_it_is_refuted(name: str) -> None:
    found = prove(HappensBefore(once(**WRONG[name]))).verdicts

    assert {v.outcome for v in found} == {Outcome.REFUTED}, found
    assert "invalidated" in str(found[0])


@pytest.mark.parametrize("how", [{"one": False}, {"early": True}, {"again": True}, {"twice": True}])
def test_runs_meet_mbarriers_that_are_invalid(how: dict[str, bool]) -> None:
    kernel = once(**how).bind(N=64)
    with pytest.raises(ExecutionError, match="initialised before"):
        execute(kernel, {"src": Layout(64).offsets().astype("float32")})
