"""That mbarriers are initialised before they are used: what is proved, refuted and left open, and what a run says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from checkers import HappensBefore, RingProtocol, WellFormed, prove
from symlayout import Layout
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import gemm, tma_copy
from symlayout.ops import Barrier, ClusterBarrier, Elect, Fence, For, Init, Op, Prefetch, Role, WarpBarrier
from symlayout.semantics import execute

COPY = tma_copy(32, 64, tile=(16, 64), slots=2, blocks=1)
PAIR = gemm(128, 128, 128, tile=(64, 64), stages=2, cluster=2, blocks=2)
Change = Callable[[Op], Iterable[Op]]


def without(kind: type[Op], array: str = "") -> Change:
    return lambda op: () if isinstance(op, kind) and (not array or getattr(op, "array", "") == array) else (op,)


def instead(kind: type[Op], *new: Op) -> Change:
    return lambda op: new if isinstance(op, kind) else (op,)


def prologue(kernel: Kernel, change: Change) -> Kernel:
    """The kernel with other operations in its first two, and all others as they are."""
    head = replace(kernel, body=kernel.body[:2]).edited(change)
    return replace(kernel, body=(*head.body, *kernel.body[2:]))


def verdict(kernel: Kernel) -> str:
    (v,) = prove(HappensBefore(kernel)).verdicts
    return f"{v.outcome.value}: {v.witness or v.open}"


def ran(kernel: Kernel, order: str | int = "eager") -> str:
    """What a run says, "" where it copies."""
    src = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    try:
        same = np.array_equal(execute(kernel, {"src": src}, order)["dst"], src)
    except ExecutionError as e:
        return str(e)
    return "" if same else "other bytes"


def test_a_builder_puts_the_prologue_first() -> None:
    start, barrier = COPY.body[:2]

    assert barrier == Barrier(0)
    assert start == Elect(
        (Prefetch("src_map"), Prefetch("dst_map"), Init("full"), Init("empty"), Fence("mbarrier_init"))
    )
    assert [type(op) for op in PAIR.body[:3]] == [Elect, ClusterBarrier, Role]
    assert verdict(COPY).startswith("proved")
    assert verdict(PAIR).startswith("proved")
    assert prove(COPY)


WRONG: dict[str, tuple[Change, str, bool]] = {
    "nobody initialises": (without(Init, "full"), "no init full; add it at the start, by one thread", True),
    "twice": (lambda op: (op, op) if op == Init("empty") else (op,), "expected one init empty, got 2", True),
    "by all": (lambda op: op.body if isinstance(op, Elect) else (op,), "expected one thread to execute init", True),
    "by one of each warp": (
        lambda op: (replace(op, each_warp=True),) if isinstance(op, Elect) else (op,),
        "expected one thread to execute init full, got warps 0 .. 1, 1 lane each",
        True,
    ),
    "no fence": (without(Fence), "no fence mbarrier_init between init full and barrier 0", False),
    "another fence": (instead(Fence, Fence("wgmma")), "fence wgmma: expected all 128 threads of it", False),
    "no barrier": (without(Barrier), "no barrier of all threads between init full and", False),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    change, message, faults = WRONG[name]
    kernel = prologue(COPY, change)

    assert verdict(kernel).startswith("refuted")
    assert message in verdict(kernel)
    assert not prove(kernel)
    assert not prove(RingProtocol(kernel, "full"))
    assert bool(ran(kernel)) is faults


def test_a_run_that_comes_to_an_mbarrier_first_faults() -> None:
    said = {ran(prologue(COPY, without(Barrier)), seed) for seed in range(6)}

    assert any("to be initialised before it is used" in what for what in said)
    assert {ran(COPY, seed) for seed in range(6)} == {""}


def test_a_fence_before_the_init_is_none() -> None:
    first = prologue(COPY, lambda op: (replace(op, inside=op.body[-1:] + op.body[:-1]),) if op.body else (op,))

    assert "no fence mbarrier_init between init full" in verdict(first)


@pytest.mark.parametrize("about", ["mbarrier_init", "async"])
def test_either_fence_lets_copies_see_the_init(about: str) -> None:
    assert verdict(prologue(COPY, instead(Fence, Fence(about)))).startswith("proved")
    assert verdict(prologue(PAIR, instead(Fence, Fence(about)))).startswith(
        "proved" if about == "mbarrier_init" else "refuted"
    )


def test_peers_need_a_barrier_of_the_cluster() -> None:
    of_cta = prologue(PAIR, instead(ClusterBarrier, Barrier(0)))

    assert "no cluster barrier" in verdict(of_cta)


def test_what_is_not_seen_is_left_open() -> None:
    from symlayout import index

    some = prologue(COPY, lambda op: (For(index("q", 1), (op,)),) if isinstance(op, Elect) else (op,))
    later = prologue(COPY, lambda op: (Elect((op,)),) if isinstance(op, Fence) else (op,))

    assert verdict(some).startswith("unknown: whether full is initialised once")
    assert prove(WellFormed(later)).verdicts[0].outcome is Outcome.REFUTED


def test_one_warp_needs_no_more_than_a_barrier_of_the_warp() -> None:
    def kernel(meeting: Op) -> Kernel:
        k = Builder("one", grid=(1,), threads=32)
        full = k.mbarriers("full", 1, 32)
        with k.elect():
            k.init(full)
        k.add(meeting)
        k.arrive(full())
        k.wait(full(), 0)
        return k.kernel()

    assert verdict(kernel(WarpBarrier())).startswith("proved")
    assert verdict(kernel(Barrier())).startswith("proved")
    assert "no barrier of all threads between init full and arrive full[0]" in verdict(kernel(Fence("async")))


def test_the_prologue_takes_a_barrier_that_others_leave_free() -> None:
    k = Builder("halves", grid=(1,), threads=64)
    k.mbarriers("full", 1, 1)
    with k.role("first", 1):
        k.sync(0, 32)
    with k.role("second", 1):
        k.sync(1)

    assert k.kernel().body[1] == Barrier(1)


def test_an_array_that_is_not_declared_cannot_be_read() -> None:
    kernel = prologue(COPY, instead(Init, Init("other")))
    (v,) = prove(kernel).verdicts

    assert v.outcome is Outcome.REFUTED
    assert "init other: expected an array of mbarriers of full, empty, got init other" in str(v.witness)


def test_registers_and_tensors_are_not_touched() -> None:
    k = Builder("none", grid=(1,), threads=32)
    k.shared_tensor("tile", "f32", Layout(32))

    assert k.kernel().body == ()
