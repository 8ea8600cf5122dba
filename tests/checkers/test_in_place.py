"""Results of kernels that write what they read: proved where every load stands before all stores, open elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import prove
from checkers.dataflow.in_place import read_first
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, scalar
from symlayout.semantics import execute

THREADS = 64


def reversed_in_place(*, barrier: bool = True, first: str = "load", parted: bool = False) -> Kernel:
    """x(i) = x(63 - i) by one CTA."""
    k = Builder("reversed", grid=(1,), threads=THREADS)
    x, r = k.global_tensor("x", "f32", Layout(THREADS)), k.registers("r", "f32", 1)

    def load():
        k.copy("ld.global.4", x(k.thread), r())

    def store():
        k.copy("st.global.4", r(), x(THREADS - 1 - k.thread))

    if first == "store":
        k.fill(r(), 0, 1)
        store()
        k.sync()
        load()
    if parted:
        with k.where(k.thread < 32):
            k.sync(1, 32)
    if first == "load":
        load()
    if barrier:
        k.sync()
    store()
    k.result("x", lambda i: element("x", THREADS - 1 - i))
    return k.kernel()


def outcomes(kernel: Kernel) -> dict[str, Outcome]:
    return {v.claim.kind: v.outcome for v in prove(kernel).verdicts}


def test_loads_before_stores_see_what_was_there():
    assert prove(reversed_in_place())
    x = np.arange(THREADS, dtype=np.float32)
    assert execute(reversed_in_place(), {"x": x.copy()})["x"].tolist() == x[::-1].tolist()


def test_without_the_barrier_other_threads_may_have_written():
    found = outcomes(reversed_in_place(barrier=False))
    assert found["global order"] is not Outcome.PROVED


@pytest.mark.parametrize("changed", [{"first": "store"}, {"parted": True}], ids=str)
def test_what_may_be_read_after_it_was_written_is_open(changed):
    kernel = reversed_in_place(**changed)
    assert read_first(kernel) == frozenset()
    assert outcomes(kernel)["computes"] is not Outcome.PROVED


def updated(loop: bool) -> Kernel:
    """y = alpha*y + y, a vector of each thread or of each iteration."""
    N = dim("N", multiple_of=THREADS)
    k = Builder("updated", N, grid=(N // THREADS,) if not loop else (1,), threads=THREADS)
    y, r, alpha = k.global_tensor("y", "f32", Layout(N)), k.registers("r", "f32", 1), k.parameter("alpha", "f32")

    def update(at):
        k.copy("ld.global.4", y(at), r())
        k.map("fma", (alpha, r(), r()), r())
        k.copy("st.global.4", r(), y(at))

    if loop:
        with k.loop("i", N // THREADS) as i:
            update(THREADS * i + k.thread)
    else:
        update(THREADS * k.block[0] + k.thread)
    k.result("y", lambda i: applied("fma", scalar(alpha), element("y", i), element("y", i)))
    return k.kernel()


@pytest.mark.parametrize("loop", [False, True])
def test_an_update_of_elements_that_threads_have_for_themselves_is_proved(loop):
    """In a loop an element says the iteration that touches it, so that no earlier one has stored it."""
    report = prove(updated(loop))
    assert report, str(report)


def again(step: int) -> Kernel:
    """Each iteration updates 64 elements, *step* behind those of the iteration before."""
    k = Builder("again", grid=(1,), threads=THREADS)
    y, r = k.global_tensor("y", "f32", Layout(16 * THREADS)), k.registers("r", "f32", 1)
    with k.loop("i", 4) as i:
        at = step * i + k.thread
        k.copy("ld.global.4", y(at), r())
        k.copy("st.global.4", r(), y(at))
        k.sync()
    k.result("y", lambda i: element("y", i))
    return k.kernel()


def test_iterations_that_meet_at_an_element_are_in_no_such_order():
    assert read_first(again(THREADS)) == frozenset({"y"})
    assert read_first(again(THREADS // 2)) == frozenset()


def test_iterations_of_which_each_thread_takes_elements_of_others_are_open():
    """A rotation in a loop: the place of a load and of a store of one element are those of different threads."""
    k = Builder("rotated", grid=(1,), threads=THREADS)
    y, r = k.global_tensor("y", "f32", Layout(4 * THREADS)), k.registers("r", "f32", 1)
    with k.loop("i", 4) as i:
        k.copy("ld.global.4", y(THREADS * i + (k.thread + 1) % THREADS), r())
        k.sync()
        k.copy("st.global.4", r(), y(THREADS * i + k.thread))
        k.sync()
    k.result("y", lambda i: element("y", i))
    assert read_first(k.kernel()) == frozenset()


def test_roles_have_no_common_order():
    """The consumer stands first in the program and waits for the producer, which writes before it is read."""
    k = Builder("roles", grid=(1,), threads=64)
    x, y = (k.global_tensor(name, "f32", Layout(32)) for name in "xy")
    full, r, s = k.mbarriers("full", 1, 1), k.registers("r", "f32", 1), k.registers("s", "f32", 1)
    with k.role("consumer", 1):
        k.wait(full(), 0)
        k.copy("ld.global.4", x(k.thread), r())
        k.copy("st.global.4", r(), y(k.thread))
    with k.role("producer", 1):
        k.fill(s(), 1, 1)
        k.copy("st.global.4", s(), x(k.thread))
        k.warp_sync()
        with k.elect():
            k.arrive(full())
    k.result("y", lambda i: element("x", i))
    kernel = k.kernel()
    assert read_first(kernel) == frozenset()
    assert outcomes(kernel)["computes"] is not Outcome.PROVED
