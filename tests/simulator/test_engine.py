"""The event engine: order, time, deadlocks, limits."""

from __future__ import annotations

import pytest

from simulator.engine import Engine, Signal, SimulationError


def test_events_of_one_time_happen_as_scheduled():
    engine, seen = Engine(), []
    for k in (3, 1, 2):
        engine.at(10, lambda k=k: seen.append(k))
    engine.at(5, lambda: seen.append(0))

    engine.run()

    assert (seen, engine.now) == ([0, 3, 1, 2], 10)


def test_a_signal_resumes_those_who_wait_now_in_order():
    engine, bell, seen = Engine(), Signal("bell"), []

    def listener(k, sleep):
        yield sleep
        yield bell
        seen.append((k, engine.now))

    def ringer():
        yield 50
        bell.fire(engine)
        yield 50
        bell.fire(engine)

    for k, sleep in enumerate((20, 10, 60)):
        engine.start(f"listener {k}", listener(k, sleep))
    engine.start("ringer", ringer())
    engine.run()

    assert seen == [(1, 50), (0, 50), (2, 100)]


def test_a_deadlock_names_who_waits_for_what():
    engine = Engine()
    engine.start("producer", iter([1500, Signal(lambda: "empty[0]")]))
    engine.start("consumer", iter([Signal("full[0]")]))

    with pytest.raises(SimulationError) as e:
        engine.run()

    assert str(e.value) == "no process can go on at 1.500 ns: producer waits for empty[0]; consumer waits for full[0]"


def test_a_run_that_does_not_end_is_stopped():
    engine = Engine()

    def forever():
        while True:
            yield 1

    engine.start("forever", forever())

    with pytest.raises(SimulationError, match="expected at most 100 events, got more at"):
        engine.run(max_events=100)


def test_time_does_not_go_back():
    engine = Engine()
    engine.start("bad", iter([-1]))

    with pytest.raises(SimulationError, match="at least 0 ps, got -1 ps of bad"):
        engine.run()
    engine.at(5, lambda: engine.at(4, lambda: None))
    with pytest.raises(SimulationError, match="expected an event at 5 ps or later, got one at 4 ps"):
        engine.run()
