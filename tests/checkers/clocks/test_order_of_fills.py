"""Which fill of a slot is read: by the order of all fills around it, where counting of operations does not tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from checkers import Computes, HappensBefore, RingProtocol, prove
from checkers.budget import Budget
from checkers.clocks.decided import Clocks
from symlayout import dim, dims
from symlayout.kernel import Kernel
from symlayout.kernels import bulk_copy, gather_rows, gemm, tma_transpose
from symlayout.ops import Barrier, Copy, ExpectTx, For, Op, Wait
from tests.support.protocols import next_fill

QUICK = Budget(solver_ms=500, repairs=False)


def copy() -> Kernel:
    return bulk_copy(dim("N", multiple_of=4), chunk=64, slots=2, blocks=2)


def turned() -> Kernel:
    sizes = dims("M N", multiple_of=4)
    return tma_transpose(*sizes, dtype="f32", tile=(32, 32), stages=2, blocks=2)


def gathered() -> Kernel:
    """Each row of a tile is a copy of its own."""
    return gather_rows(dim("K"), dim("M"), dim("N", multiple_of=4), tile=(4, 32), slots=2, blocks=2)


def product() -> Kernel:
    """The last step of a tile is given back behind its steps, a use number that grows by the steps of a tile."""
    return gemm(64, 64, dim("K", multiple_of=8), tile=(64, 64), stages=2, cluster=1, blocks=1, group=1)


def closer(kernel: Kernel, by: int) -> Kernel:
    """The rows of a tile lie *by* elements closer to one another."""
    (rows,) = [op.index for op in kernel.walk() if isinstance(op, For) and op.extent == 4]
    near = lambda op: replace(op, dst=replace(op.dst, offset=op.dst.offset - by * rows))  # noqa: E731
    return kernel.edited(lambda op: (near(op),) if isinstance(op, Copy) and op.barrier is not None else (op,))


def doubled(barrier: str) -> Callable[[Op], tuple[Op, ...]]:
    """Each wait for a barrier twice: the second returns at once."""
    return lambda op: (op, op) if isinstance(op, Wait) and op.barrier.barrier == barrier else (op,)


def armed_last(kernel: Kernel) -> Kernel:
    """The bytes are expected behind the copy, which the arrival that comes with it awaits all the same."""
    (arm,) = [op for op in kernel.walk() if isinstance(op, ExpectTx)]
    without = kernel.edited(lambda op: () if op is arm else (op,))
    return without.edited(lambda op: (op, arm) if isinstance(op, Copy) and op.barrier is not None else (op,))


RIGHT: dict[str, Callable[[], Kernel]] = {
    "a slot awaited twice": lambda: copy().edited(doubled("full")),
    "room awaited twice": lambda: copy().edited(doubled("empty")),
    "bytes expected behind the copy": lambda: armed_last(copy()),
    "steps of a product awaited twice": lambda: product().edited(doubled("full")),
    "rows of a slot copied one by one": lambda: gathered().edited(doubled("full")),
}


@pytest.mark.parametrize("name", RIGHT)
def test_all_is_proved_of_kernels_that_do_the_same(name: str) -> None:
    kernel = RIGHT[name]()
    rings = [RingProtocol(kernel, "full"), HappensBefore(kernel)]

    assert prove([*rings, *(Computes(kernel, r.tensor) for r in kernel.results)], budget=QUICK)


@pytest.mark.parametrize("by", [1, 16, 32, 33])
def test_copies_of_one_fill_to_the_same_bytes_are_not_proved(by: int) -> None:
    kernel = closer(gathered(), by)

    assert "fills a slot once in each use" in Clocks(kernel, kernel.given).order_open(("ring",))
    assert Clocks(gathered(), gathered().given).order_open(("ring",)) == ""


@pytest.mark.parametrize("number", [1, 0])
def test_a_number_may_be_that_of_all_threads_first_and_of_some_then(number: int) -> None:
    """Nobody comes to the barriers of fewer threads before the whole CTA has met."""
    kernel = turned().edited(lambda op: (Barrier(number, op.threads),) if isinstance(op, Barrier) else (op,))

    assert {op.threads for op in kernel.walk() if isinstance(op, Barrier)} == {0, 128}
    assert prove([RingProtocol(kernel, "full"), HappensBefore(kernel)], budget=QUICK)


def test_a_read_of_the_fill_after_the_one_that_was_waited_for_is_not_proved() -> None:
    kernel = next_fill()
    found = prove([RingProtocol(kernel, "full"), HappensBefore(kernel), Computes(kernel, "o")], budget=QUICK)

    assert not found
    assert Clocks(kernel, ()).protocol_open == ""
    assert "some uses later" in Clocks(kernel, ()).order_open(("t",))
