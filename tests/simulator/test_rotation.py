"""Steps up to the slots of rings: what is alike where rings have turned, and runs whose slots come in another order."""

from __future__ import annotations

import sys

import pytest

from simulator import H200
from simulator.cache import Cache
from simulator.plan import plan_of
from simulator.program import Programs
from simulator.rotation import rings_of, turning
from symlayout.kernel import Builder
from symlayout.layout import Layout

run = sys.modules["simulator.simulate"]._run
SLOTS, EACH = 4, 96
BEFORE, OF_ONE = 5, 4  # steps of the producer before its loops, and of an iteration


def ring(*orders):
    """A ring of four slots; an *order* for each loop says which slot an iteration takes."""
    k = Builder("ring", grid=(1,), threads=64)
    src, dst = (k.global_tensor(n, "f32", Layout(64 * EACH * len(orders))) for n in ("src", "dst"))
    tile = k.shared_tensor("tile", "f32", Layout(64 * SLOTS))
    full, empty = k.mbarriers("full", SLOTS, 1), k.mbarriers("empty", SLOTS, 1)
    with k.role("producer", 1), k.elect():
        for n, order in enumerate(orders):
            with k.loop(f"i{n}", EACH) as i:
                k.wait(empty(order(i)), (i // SLOTS + 1) % 2)
                k.expect_tx(full(order(i)), 256)
                k.copy("bulk.load", src(64 * (i + EACH * n)), tile(64 * order(i)), full(order(i)), nbytes=256)
    with k.role("consumer", 1), k.elect():
        for n, order in enumerate(orders):
            with k.loop(f"i{n}", EACH) as i:
                k.wait(full(order(i)), i // SLOTS % 2)
                k.copy("bulk.store", tile(64 * order(i)), dst(64 * (i + EACH * n)), nbytes=256)
                k.commit("bulk")
                k.wait_group("bulk", 0, read=True)
                k.arrive(empty(order(i)))
    return k.kernel().bind()


def in_turn(i):
    return i % SLOTS


def swapped(i):
    return (i + 1 - 2 * (i % 2)) % SLOTS


def backwards(i):
    return (SLOTS - 1) - i % SLOTS


def producer_of(kernel):
    return turning(Programs(kernel).of((0,))[0], rings_of(kernel))


@pytest.mark.parametrize(
    "order, shift, turn, alike",
    [
        (in_turn, 1, 1, True),
        (in_turn, 2, 2, True),
        (in_turn, 1, 0, False),
        (in_turn, 4, 4, True),  # the other parity
        (in_turn, 4, 0, False),
        (in_turn, 8, 0, True),
        (swapped, 1, 1, False),
        (swapped, 2, 2, True),
        (backwards, 1, 7, True),
        (backwards, 1, 1, False),
        (backwards, 4, 4, True),
    ],
)
def test_steps_are_alike_where_their_rings_have_turned(order, shift, turn, alike):
    steps = producer_of(ring(order))

    found = steps.alike(BEFORE, shift * OF_ONE, {"full": turn, "empty": turn})

    assert (found == (EACH - shift) * OF_ONE) is alike


def test_steps_are_alike_up_to_the_first_that_differs_and_none_beyond_the_end():
    steps = producer_of(ring(in_turn, swapped))
    one = {"full": 1, "empty": 1}

    assert steps.alike(BEFORE, OF_ONE, one) == OF_ONE * (EACH - 1)
    assert steps.alike(BEFORE + 40, OF_ONE, one) == OF_ONE * (EACH - 1) - 40
    assert steps.alike(len(steps.kinds) - 1, OF_ONE, one) == 0


def test_the_next_wait_says_where_a_ring_is():
    steps = producer_of(ring(in_turn))

    assert [steps.ahead("empty", BEFORE + k * OF_ONE) for k in range(9)] == [4, 5, 6, 7, 0, 1, 2, 3, 4]
    assert steps.ahead("empty", len(steps.kinds)) is None is steps.ahead("full", 0)


@pytest.mark.parametrize("turn", range(10))
def test_a_step_becomes_the_one_that_is_alike_where_its_ring_has_turned(turn):
    team, rings = Programs(ring(in_turn)).of((0,))[0], rings_of(ring(in_turn))
    for before, after in zip(team.steps[BEFORE:], team.steps[BEFORE + turn * OF_ONE :], strict=False):
        assert turning(team, rings).turned(before, {"full": turn, "empty": turn}) is after


@pytest.mark.parametrize("orders", [(in_turn,), (swapped,), (backwards,), (in_turn, swapped), (swapped, backwards)])
def test_slots_in_any_order_give_the_times_of_each_step(orders):
    kernel = ring(*orders)
    plan = plan_of(Programs(kernel), H200, Cache.of(kernel, H200, warm=False))
    (found, chip), (wanted, whole) = (run(plan, H200, frozenset(), False, each_step=each) for each in (False, True))

    assert found == wanted
    assert sorted(map(str, chip.stalls())) == sorted(map(str, whole.stalls()))
    assert chip.steps == whole.steps
    assert chip.repeated > 0.3 * chip.steps > whole.repeated == 0
