"""Laws of queues: closed forms exactly, Little's law, no server above its rate, conservation, monotone times."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine import Engine, Signal, SimulationError
from simulator.resource import Pipe, Window

times = st.integers(0, 40)
jobs = st.lists(st.tuples(times, times), min_size=1, max_size=30)  # (time since the last arrival, occupancy)


def served(requests, servers=1):
    """The pipe and (arrival, start, end) of each request."""
    engine, done = Engine(), []
    pipe = Pipe("pipe", engine, servers)
    at = 0
    for gap, occupancy in requests:
        at += gap
        engine.at(at, lambda at=at, occupancy=occupancy: done.append((at, *pipe.take(occupancy))))
    engine.run()
    return pipe, done


class Slots:
    """Slots that are taken and given back; who finds none waits for the next."""

    def __init__(self, engine, count):
        self.engine, self.left, self.back = engine, count, Signal("a slot")

    def take(self):
        while not self.left:
            yield self.back
        self.left -= 1

    def give(self):
        self.left += 1
        self.back.fire(self.engine)


def ring(n, slots, load, latency, work):
    """The end of *n* uses of a ring: a pipe loads a slot, a second one works on it, which frees it."""
    engine = Engine()
    loader, worker = Pipe("loader", engine), Pipe("worker", engine)
    pool, finish = Slots(engine, slots), []

    def use():
        _, end = loader.take(load)
        yield end + latency - engine.now
        _, end = worker.take(work)
        yield end - engine.now
        pool.give()
        finish.append(engine.now)

    def producer():
        for k in range(n):
            yield from pool.take()
            engine.start(f"use {k}", use())

    engine.start("producer", producer())
    engine.run()
    return finish


@given(jobs)
def test_one_server_is_lindleys_recursion(requests):
    _, done = served(requests)

    free = at = 0
    for (gap, occupancy), (arrival, start, end) in zip(requests, done, strict=True):
        at += gap
        free = max(free, at) + occupancy
        assert (arrival, start, end) == (at, free - occupancy, free)


@given(st.integers(1, 40), times, st.integers(1, 4))
def test_equal_requests_at_once_take_whole_rounds(n, occupancy, servers):
    _, done = served([(0, occupancy)] * n, servers)

    assert max(end for *_, end in done) == -(-n // servers) * occupancy


@given(st.integers(1, 20), times, times, times)
def test_a_tandem_runs_at_the_rate_of_the_slower(n, first, second, latency):
    finish = ring(n, n, first, latency, second)

    assert finish == [first + latency + second + k * max(first, second) for k in range(n)]


@given(st.integers(1, 40), st.integers(1, 6), times, times, times)
@settings(max_examples=300)
def test_a_ring_of_slots_is_exactly_its_closed_form(n, slots, load, latency, work):
    finish = ring(n, slots, load, latency, work)

    once, slower = load + latency + work, max(load, work)
    if once <= slots * slower:  # enough slots
        wanted = [once + k * slower for k in range(n)]
    else:  # each round waits for the slots of the last
        wanted = [(k // slots + 1) * once + k % slots * slower for k in range(n)]
    assert finish == wanted


@given(jobs, st.integers(1, 3))
def test_littles_law_and_no_server_above_its_rate(requests, servers):
    pipe, done = served(requests, servers)

    end = max(end for *_, end in done)
    inside = sum(sum(arrival <= t < leave for arrival, _, leave in done) for t in range(end))  # counted, not derived
    assert inside == pipe.queued + pipe.busy == sum(leave - arrival for arrival, _, leave in done)
    assert pipe.busy <= servers * end
    assert pipe.utilisation(end) <= 1
    assert all(sum(start <= t < leave for _, start, leave in done) <= servers for t in range(end))


@given(jobs, st.integers(1, 3))
def test_work_is_conserved_and_runs_are_equal(requests, servers):
    pipe, done = served(requests, servers)

    assert pipe.served == len(requests) == len(done)
    assert pipe.busy == sum(occupancy for _, occupancy in requests) == sum(end - start for _, start, end in done)
    assert [start for _, start, _ in done] == sorted(start for _, start, _ in done)  # first come, first served
    assert served(requests, servers)[1] == done


@given(jobs, st.integers(1, 3), st.integers(0, 29), st.integers(1, 10))
def test_longer_requests_end_nothing_earlier(requests, servers, which, more):
    which %= len(requests)
    slower = [(gap, occupancy + more * (k == which)) for k, (gap, occupancy) in enumerate(requests)]

    before, after = served(requests, servers)[1], served(slower, servers)[1]
    assert all(a[1] >= b[1] for a, b in zip(after, before, strict=True))


@given(st.integers(1, 20), st.integers(1, 4), times, times, times, st.tuples(times, times, times))
def test_a_ring_is_monotone_in_latency_and_occupancies(n, slots, load, latency, work, more):
    slower = ring(n, slots, load + more[0], latency + more[1], work + more[2])

    assert all(a >= b for a, b in zip(slower, ring(n, slots, load, latency, work), strict=True))
    assert ring(n, slots + 1, load, latency, work)[-1] <= ring(n, slots, load, latency, work)[-1]


bytes_at_once = st.lists(st.tuples(times, st.integers(1, 40), times, times), min_size=1, max_size=12)


@given(bytes_at_once, st.integers(1, 30))
def test_bytes_in_flight_are_those_asked_for_byte_by_byte(requests, capacity):
    """Of requests that come *gap* apart, however large: none is asked for before that *capacity* before it has come."""
    engine, scale = Engine(), 1000
    window, arrivals, asked = Window("bytes", engine, capacity), [], []
    at = 0
    for gap, nbytes, latency, port in requests:
        at += gap * scale

        def begin(nbytes=nbytes, latency=latency, port=port):
            first = int(max([window.last(nbytes), *arrivals[-1:]])) + latency * scale
            end = first + port * scale
            arrivals.extend(first + (end - first) * (k + 0.5) / nbytes for k in range(nbytes))
            behind = (k - capacity for k in range(len(arrivals) - nbytes, len(arrivals)))
            asked.extend(max(engine.now, arrivals[k] if k >= 0 else 0) for k in behind)
            window.begun(nbytes, first, end)

        engine.at(at, lambda nbytes=nbytes, begin=begin: window.ask(nbytes, begin))
    engine.run()

    held = sum(a - b for a, b in zip(arrivals, asked, strict=True))
    assert window.held_time == pytest.approx(held, abs=100 * scale * len(requests))  # a byte comes in a time
    assert window.held_time <= (capacity + 0.5) * max(arrivals) + 100 * scale * len(requests)


def test_a_free_pipe_takes_no_time():
    pipe = Pipe("pipe", Engine(), free=True)

    assert [pipe.take(7), pipe.take(7)] == [(0, 0), (0, 0)]
    assert pipe.utilisation(10) == 0


def test_wrong_requests_are_refused():
    engine = Engine()
    with pytest.raises(SimulationError, match="at least 0 ps of port, got -1 ps"):
        Pipe("port", engine).take(-1)
    with pytest.raises(SimulationError, match="at least 1 server of port, got 0"):
        Pipe("port", engine, 0)
    with pytest.raises(SimulationError, match="at least 1 of slots, got 0"):
        Window("slots", engine, 0)
