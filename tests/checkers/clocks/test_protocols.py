"""Protocols that are no plain ring are proved for all sizes; those with a wrong phase, slot, count or order refuted."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from checkers import HappensBefore, RingProtocol, TransactionBytes, prove
from checkers.budget import Budget
from checkers.clocks.cells import cells
from checkers.clocks.decided import Clocks
from checkers.clocks.uses import barriers
from checkers.rings.recognised import rings_of
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import tma_copy
from symlayout.meter import Exhausted, metered
from symlayout.ops import WaitGroup
from symlayout.semantics.trials import mishap
from tests.support.protocols import (
    ahead,
    begun,
    by_turns,
    elected_wait,
    hello,
    in_place,
    late_steps,
    late_tails,
    ping_pong,
    static_slots,
    two_levels,
    two_rings,
)

QUICK = Budget(solver_ms=500, repairs=False)

RIGHT: dict[str, Callable[[], Kernel]] = {
    "hello": hello,
    "two rings": two_rings,
    "two rings of one slot": lambda: two_rings((1, 1)),
    "two rings, one given back late": lambda: two_rings((3, 4), late=2),
    "two rings, read in the other order": lambda: two_rings((1, 4), order="ba"),
    "ahead by all slots but one": ahead,
    "ahead by all slots": lambda: ahead(3, by=3, first=3),
    "two at a time behind as many as a size says": begun,
    "two at a time behind as many as a size says, one slot": lambda: begun(1),
    "two at a time behind as many as a size says, the later first": lambda: begun(pair=(1, 0)),
    "static slots": static_slots,
    "static slots, used twice": lambda: static_slots(twice=True),
    "ahead by one of four": lambda: ahead(4, by=1, first=1),
    "turns of two": by_turns,
    "turns of two, two slots": lambda: by_turns(2),
    "turns of three, six slots": lambda: by_turns(6, 3),
    "steps of tiles given back late": late_steps,
    "steps of tiles given back two uses late": lambda: late_steps(3, late=2),
    "the last step of a tile given back behind it": late_tails,
    "the last step of a tile given back behind it, two slots": lambda: late_tails(2),
    "rings on two levels": two_levels,
    "rings on two levels, a tile given back before its steps": lambda: two_levels(early=True),
    "ping-pong over named barriers": ping_pong,
    "one lane waits": elected_wait,
    "one lane waits, then a barrier": lambda: elected_wait("barrier"),
    "changed in place": in_place,
    "changed in place, fenced by the reader": lambda: in_place(fence="reader"),
    "changed in place, one slot": lambda: in_place(1),
}

WRONG: dict[str, Callable[[], Kernel]] = {
    "hello, nobody waits": lambda: hello(wait=False),
    "hello, the phase before": lambda: hello(parity=1),
    "hello, no fence": lambda: hello(fence=False),
    "hello, no barrier": lambda: hello(meet=False),
    "hello, fewer bytes": lambda: hello(nbytes=496),
    "hello, more bytes": lambda: hello(nbytes=528),
    "two rings, one given back late": lambda: two_rings((3, 2), late=2),
    "two rings, the next phase of one": lambda: two_rings((3, 2), flip=True),
    "two rings of one slot, read in the other order": lambda: two_rings((1, 1), order="ba", late=1),
    "ahead, no barrier": lambda: ahead(meet=False),
    "ahead, one fill less at the start": lambda: ahead(first=1),
    "ahead by more than all slots": lambda: ahead(3, by=4, first=4),
    "two at a time behind one fewer": lambda: begun(fewer=1),
    "two at a time, the same use twice": lambda: begun(pair=(0, 0)),
    "two at a time, a use left out": lambda: begun(pair=(0, 2)),
    "two at a time, the later first, one slot": lambda: begun(1, pair=(1, 0)),
    "two at a time, one more consumed": lambda: begun(steps=1),
    "turns of two, one slot": lambda: by_turns(1),
    "turns of two, one slot on": lambda: by_turns(4, start=1),
    "turns of two, an arrival more awaited": lambda: by_turns(4, arrivals=2),
    "turns of two, three slots, one on": lambda: by_turns(3, start=1),
    "static slots, waits the other way round": lambda: static_slots(crossed=True),
    "static slots, the phase before": lambda: static_slots(parity=1),
    "static slots, used twice in one phase": lambda: static_slots(twice=True, parity_of_second=0),
    "steps of tiles given back too late": lambda: late_steps(2, late=2),
    "steps of tiles given back late, another slot": lambda: late_steps(3, shift=1),
    "steps of tiles given back late, from the first on": lambda: late_steps(first=0),
    "steps of tiles given back late, one fewer": lambda: late_steps(first=2),
    "the last step of a tile given back behind it, one slot": lambda: late_tails(1),
    "the last step of a tile given back behind it, the next one": lambda: late_tails(shift=1),
    "the last step of a tile given back before it": lambda: late_tails(tail="before"),
    "the last step of a tile is not given back": lambda: late_tails(tail=""),
    "the last step of a tile given back twice": lambda: late_tails(late=0, first=0),
    "a step of a tile is not given back": lambda: late_tails(first=2),
    "rings on two levels, one reader awaited": lambda: two_levels(readers=1),
    "rings on two levels, steps counted from 0 in each tile": lambda: two_levels(reset=True),
    "rings on two levels, a step less consumed": lambda: two_levels(steps=-1),
    "ping-pong, nobody starts": lambda: ping_pong(first=""),
    "ping-pong, told before the read": lambda: ping_pong(early=True),
    "ping-pong, fewer threads": lambda: ping_pong(count=96),
    "ping-pong, nobody tells": lambda: ping_pong(arrive=False),
    "one lane waits, nobody meets": lambda: elected_wait(""),
    "one lane waits, the next slot is read": lambda: elected_wait(read=1),
    "one lane waits after the read": lambda: elected_wait(before=True),
    "changed in place, given back to the loads": lambda: in_place(give="free"),
    "changed in place, no fence": lambda: in_place(fence=""),
    "changed in place, fenced by the reader too soon": lambda: in_place(fence="reader, too soon"),
}


def order_claims(kernel: Kernel) -> list[object]:
    """The claims about phases and order."""
    armed = {op.expects.barrier for op in kernel.walk() if op.expects is not None}
    rings = [RingProtocol(kernel, r.full) for r in rings_of(kernel)]
    return [*(TransactionBytes(kernel, name) for name in sorted(armed)), *rings, HappensBefore(kernel)]


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved_for_all_sizes(name: str) -> None:
    assert prove(order_claims(RIGHT[name]()), budget=QUICK)


@pytest.mark.parametrize("name", RIGHT)
def test_untimed_runs_find_nothing(name: str) -> None:
    kernel = RIGHT[name]()
    for n in (4, 7):
        assert (
            mishap(kernel.bind(**{d.name: n * d.multiple for d in kernel.dims}), schedules=("eager", "lazy", 1)) is None
        )


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    found = (v for c in reversed(order_claims(WRONG[name]())) for v in prove(c, budget=QUICK).verdicts)

    assert any(v.outcome is Outcome.REFUTED for v in found)  # by the first that says so: orders are decided sooner


def test_certificates_hold_without_a_solver() -> None:
    report = prove(RingProtocol(two_rings(), "a_full"))

    assert report
    assert report.certificate.check()


def test_all_claims_of_a_kernel_are_proved() -> None:
    for build in (hello, two_rings, ahead, by_turns, elected_wait):
        assert prove(build())


def test_a_check_that_the_budget_cuts_off_shows_nothing() -> None:
    early = tma_copy(dim("M"), dim("N"), tile=(16, 64), slots=3, blocks=132).edited(
        lambda op: () if isinstance(op, WaitGroup) and op.read else (op,)
    )
    for steps in range(11_000, 19_000, 2_000):  # within the protocol, and within the order of accesses
        known = Clocks(early, early.given)
        with contextlib.suppress(Exhausted), metered(60, steps):
            known.order_open(("ring",))
        assert known.order_open(("ring",)) != ""


def picked(steady: bool) -> Kernel:
    """Slots that data choose: which of them is filled and read next is the same for no two iterations."""
    L = dim("L")
    k = Builder("picked", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((64, L))) for name in "ao")
    which, t = k.global_tensor("which", "i32", Layout(L)), k.shared_tensor("t", "f32", Layout((64, 2)))
    full, x = k.mbarriers("full", 2, 1), k.registers("x", "f32", 1)
    with k.loop("i", L) as i:
        at = i % 2 if steady else k.load_index("at", which(i), within=(0, 1 << 20)) % 2
        with k.elect():
            k.expect_tx(full(i % 2), 256)
            k.copy("bulk.load", a(64 * i), t(64 * at), full(i % 2), nbytes=256)
        k.wait(full(i % 2), i // 2 % 2)
        k.copy("ld.shared.4", t(64 * at + k.thread), x())
        k.copy("st.global.4", x(), o(64 * i + k.thread))
        if steady:
            k.sync()
    return k.kernel()


def test_slots_that_data_choose_are_not_told_apart() -> None:
    for steady, slots in ((True, 2), (False, 1)):
        kernel = picked(steady)
        assert {c.slots for c in cells(kernel, barriers(kernel))} == {slots}
    assert Clocks(picked(steady=True), ()).order_open(("t",)) == ""
    assert Clocks(picked(steady=False), ()).order_open(("t",)) != ""


def test_trip_counts_of_threads_are_left_open() -> None:
    k = Builder("own", grid=(1,), threads=64)
    full = k.mbarriers("full", 1, 64)
    with k.loop("i", 1 + k.thread // 32) as i:
        k.arrive(full(0))
        k.wait(full(0), i % 2)

    assert Clocks(k.kernel(), ()).protocol_open != ""
