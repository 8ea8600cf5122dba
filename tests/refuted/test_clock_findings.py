"""Protocols that were once proved though some run of them hangs, and right ones that were once refuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checkers import HappensBefore, RingProtocol, prove
from checkers.budget import Budget
from symlayout import Layout, dims
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel
from symlayout.semantics.trials import mishap

QUICK = Budget(solver_ms=500, repairs=False)
SCHEDULES = ("eager", "lazy", *range(1, 9))


def one_arrival_more(step: int) -> Kernel:
    """A third role arrives again in every other phase from K on: of ``2w - K`` no form tells whether 2 divides it."""
    K, M = dims("K M")
    k = Builder("one_arrival_more", M, K, grid=(1,), threads=96)
    full, n = k.mbarriers("full", 61, 1), K + step * M
    with k.role("tell", 1), k.elect(), k.loop("i", n) as i:
        k.arrive(full(i % 61))
    with k.role("ask", 1), k.elect(), k.loop("i", n) as i:
        k.wait(full(i % 61), i // 61 % 2)
    with k.role("again", 1), k.elect(), k.loop("j", M) as j:
        k.arrive(full((K + step * j) % 61))
    return k.kernel(n <= 61)


def one_parity(parity: int, arrivals: str) -> Kernel:
    """A loop of waits with one parity, while arrivals may end more phases than one: no wait is for a phase below -1."""
    (L,) = dims("L")
    k = Builder("one_parity", L, grid=(1,), threads=64)
    bar = k.mbarriers("bar", 1, 1)
    with k.role("tell", 1), k.elect():
        if arrivals == "many":
            with k.loop("i", L):
                k.arrive(bar(0))
        elif arrivals == "one":
            k.arrive(bar(0))
    with k.role("ask", 1), k.elect(), k.loop("i", L):
        k.wait(bar(0), parity)
    return k.kernel()


WRONG: dict[str, Callable[[], Kernel]] = {
    "one arrival more, each second phase": lambda: one_arrival_more(2),
    "one arrival more, each third phase": lambda: one_arrival_more(3),
    "one parity, many phases": lambda: one_parity(0, "many"),
    "one parity, nobody arrives": lambda: one_parity(0, "none"),
    "the other parity, one phase": lambda: one_parity(1, "one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_some_schedule_hangs_and_it_is_refuted(name: str) -> None:
    kernel = WRONG[name]()

    assert any(mishap(kernel.bind(**{d.name: n for d in kernel.dims}), schedules=SCHEDULES) for n in (1, 2, 3))
    found = prove(RingProtocol(kernel, kernel.barriers[0].name), budget=QUICK).verdicts
    assert Outcome.PROVED not in {v.outcome for v in found}, found


@pytest.mark.parametrize("parity, arrivals", [(0, "one"), (1, "none")])
def test_waits_for_one_phase_in_a_loop_are_right(parity: int, arrivals: str) -> None:
    kernel = one_parity(parity, arrivals)

    assert mishap(kernel.bind(L=3), schedules=SCHEDULES) is None
    assert prove(RingProtocol(kernel, "bar"), budget=QUICK)


def fenced_on_the_way(by: str) -> Kernel:
    """A warp writes a tile that another stores by a bulk copy; one of the threads on the way has a proxy fence."""
    (L,) = dims("L")
    k = Builder("fenced_on_the_way", L, grid=(1,), threads=64)
    tile, out = k.shared_tensor("tile", "f32", Layout(32)), k.global_tensor("out", "f32", Layout((32, L)))
    value = k.registers("value", "f32", 1)
    with k.role("write", 1):
        k.fill(value(), 1)
        with k.loop("i", L):
            k.sync(2, 64)
            k.copy("st.shared.4", value(), tile(k.thread))
            if by == "one lane that met the others":
                k.warp_sync()
            if by.startswith("one lane"):
                with k.elect():
                    k.fence("async")
            k.sync(1, 64)
    with k.role("store", 1), k.loop("i", L) as i:
        if by == "the reader, too soon":
            k.fence("async")
        k.sync(2, 64)
        k.sync(1, 64)
        with k.elect():
            if by == "the reader":
                k.fence("async")
            k.copy("bulk.store", tile(), out(32 * i), nbytes=128)
            k.commit("bulk")
            k.wait_group("bulk", 0, read=True)
    return k.kernel()


@pytest.mark.parametrize(
    "by, right",
    [("one lane that met the others", 1), ("the reader", 1), ("one lane", 0), ("the reader, too soon", 0), ("", 0)],
)
def test_roles_at_named_barriers_may_fence_anywhere_on_the_way(by: str, right: int) -> None:
    found = prove(HappensBefore(fenced_on_the_way(by)), budget=QUICK)

    assert found.verdicts[0].outcome is (Outcome.PROVED if right else Outcome.REFUTED), found
    assert (mishap(fenced_on_the_way(by).bind(L=2), schedules=SCHEDULES) is None) == bool(right)


def halves(mine: bool) -> Kernel:
    """Two copies fill a tile, each on an mbarrier of its own; two roles read a half each and give the tile back."""
    (L,) = dims("L")
    k = Builder("halves", L, grid=(1,), threads=96)
    src, dst = (k.global_tensor(name, "f32", Layout((64, L))) for name in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout(64))
    full, free = [k.mbarriers(name, 1, 1) for name in ("low", "high")], k.mbarriers("free", 1, 2)
    with k.role("load", 1), k.elect(), k.loop("i", L) as i:
        k.wait(free(0), (i + 1) % 2)
        for n, bar in enumerate(full):
            k.expect_tx(bar(0), 128)
            k.copy("bulk.load", src(64 * i + 32 * n), tile(32 * n), bar(0), nbytes=128)
    for n, name in enumerate(("first", "second")):
        with k.role(name, 1), k.loop("i", L) as i:
            x = k.registers(f"x{n}", "f32", 1)
            k.wait(full[n if mine else 1 - n](0), i % 2)
            k.copy("ld.shared.4", tile(32 * n + k.thread), x())
            k.copy("st.global.4", x(), dst(64 * i + 32 * n + k.thread))
            k.warp_sync()
            with k.elect():
                k.arrive(free(0))
    return k.kernel()


def test_a_reader_of_one_half_need_not_give_back_the_other() -> None:
    assert mishap(halves(mine=True).bind(L=3), schedules=SCHEDULES) is None
    for name, right in (("low", True), ("high", True), ("low", False)):
        found = prove(RingProtocol(halves(right), name), budget=QUICK).verdicts
        assert (Outcome.REFUTED in {v.outcome for v in found}) is not right, found
