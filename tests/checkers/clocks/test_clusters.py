"""Protocols of clusters by clocks: proved for all sizes, with wrong neighbours refuted; and they answer as the ring's
lemma does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from checkers import HappensBefore, RingProtocol, prove
from checkers.budget import Budget
from checkers.clocks.decided import Clocks
from checkers.rings.programs import machine
from checkers.rings.recognised import rings_of
from symlayout.answers.report import Outcome
from symlayout.kernel import Kernel
from symlayout.kernel.joined import joined
from symlayout.kernel.sites import sites
from symlayout.ops import Copy, If
from symlayout.semantics.trials import mishap
from tests.checkers.clocks.test_protocols import order_claims
from tests.refuted import test_cluster_mutants as rings
from tests.refuted import test_split_cluster_barriers as split
from tests.support.cluster_kernels import everyone, once, rows_and_columns
from tests.support.cluster_protocols import by_turns, first_for_all, for_the_peer, in_step

QUICK = Budget(solver_ms=500, repairs=False)

RIGHT: dict[str, Callable[[], Kernel]] = {
    "loads for the peer": for_the_peer,
    "loads for the peer, one slot": lambda: for_the_peer(1),
    "loads for the peer, the end in two parts": lambda: for_the_peer(3, end="split"),
    "the first for all": first_for_all,
    "in step": in_step,
    "in step, no barrier at the end": lambda: in_step(end=""),
}

WRONG: dict[str, Callable[[], Kernel]] = {
    "loads for the peer, the phase before": lambda: for_the_peer(phase=1),
    "loads for the peer, another slot": lambda: for_the_peer(3, shift=1),
    "loads for the peer, an arrival less awaited": lambda: for_the_peer(arrivals=1),
    "loads for the peer, slots given back to oneself": lambda: for_the_peer(to="own"),
    "loads for the peer, slots given back to the peer alone": lambda: for_the_peer(to="peer"),
    "loads for the peer, nothing at the end": lambda: for_the_peer(end=""),
    "loads for the peer, nobody waits at the end": lambda: for_the_peer(end="arrive"),
    "loads for the peer, relaxed at the end": lambda: for_the_peer(end="relaxed"),
    "loads for the peer, at the scope of the CTA": lambda: for_the_peer(scope="cta"),
    "the first for all, its own phases not awaited": lambda: first_for_all(mine=False),
    "the first for all, for itself": lambda: first_for_all(mask=1),
    "the first for all, one arrival awaited": lambda: first_for_all(arrivals=1),
    "the first for all, given back before the read": lambda: first_for_all(order="early"),
    "the first for all, nothing at the end": lambda: first_for_all(end=""),
    "in step, the next phase": lambda: in_step(phase=1),
    "in step, two arrivals awaited": lambda: in_step(count=2),
    "in step, nobody tells": lambda: in_step(tells=False),
    "in step, nobody waits": lambda: in_step(waits=""),
}


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved_for_all_sizes(name: str) -> None:
    kernel = RIGHT[name]()
    report = prove(order_claims(kernel), budget=QUICK)

    assert report, report
    assert report.certificate.check()
    assert mishap(kernel.bind(L=5), schedules=("eager", "lazy", 1)) is None


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    found = (v for c in reversed(order_claims(WRONG[name]())) for v in prove(c, budget=QUICK).verdicts)

    assert any(v.outcome is Outcome.REFUTED for v in found)


BY_TURNS = {
    "the phase before": {"phase": 1},
    "one CTA told": {"told": "first"},
    "told before the read": {"order": "early"},
    "more bytes armed": {"armed": 64},
}


@pytest.mark.parametrize("slots", [1, 2])
def test_a_slot_that_ctas_fill_by_turns_is_given_back_once(slots: int) -> None:
    kernel = by_turns(slots)

    assert machine(kernel.bind(L=3), (0,), 12).search() is None
    assert mishap(kernel.bind(L=5), schedules=("eager", "lazy", 1)) is None


@pytest.mark.parametrize("how", BY_TURNS.values(), ids=BY_TURNS)
def test_what_is_wrong_about_turns_is_refuted(how: dict[str, Any]) -> None:
    found = (v for c in order_claims(by_turns(**how)) for v in prove(c, budget=QUICK).verdicts)

    assert any(v.outcome is Outcome.REFUTED for v in found)


def test_a_refutation_names_rank_role_iteration_slot_and_phase() -> None:
    found = mishap(in_step(tells=False).bind(L=2))

    assert found is not None
    assert found.kind == "hang"
    assert "CTA 1, rank 1, role all, i = 0: wait token[0]" in str(found)
    assert any("rank 1" in step and "token[0] parity 0" in step and "(phase 0)" in step for step in found.steps)


def test_a_peer_that_has_exited_or_may_have() -> None:
    """Where the arrival comes late, and in every schedule since nobody there knows of it."""
    kernel = for_the_peer(end="").bind(L=2)
    found = [mishap(kernel, ("order",), (order,)) for order in ("lazy", 1, 2, 3)]

    assert all(m is not None and "exit" in m.said and "empty[i % 2]" in m.said for m in found)


# -- as the lemma of rings --------------------------------------------------------------------------------


def alike() -> Iterator[tuple[str, Kernel]]:
    """Kernels with rings in clusters, right and wrong."""
    yield "everyone", everyone(slots=3)
    yield "everyone, two warps of each of four CTAs", everyone(ctas=4, warps=2)
    yield "everyone in two parts", everyone(split=True)
    yield "rows and columns in two dimensions", rows_and_columns(flat=False)
    yield "once", once()
    for name, (change, *_) in rings.MUTANTS.items():
        yield name, change(everyone())
    for name, (change, _) in rings.MASKS.items():
        yield name, change(rows_and_columns())
    for name, (change, _) in split.WRONG.items():
        yield f"in two parts: {name}", change(everyone(split=True))


ALIKE = dict(alike())
BY_INIT = "in two parts: no fence before the arrival"  # which is not the lemma's to see


@pytest.mark.parametrize("name", ALIKE)
def test_clocks_answer_as_the_lemma_of_rings_does(name: str) -> None:
    kernel = ALIKE[name]
    known = Clocks(kernel, ())
    (ring,) = rings_of(kernel)
    lemma = not isinstance(known.ring(ring), str)

    shown = not known.order_open(ring.tensors)

    assert shown == (lemma and name != BY_INIT)


# -- one CTA of several ------------------------------------------------------------------------------------


def test_each_operation_keeps_its_place() -> None:
    kernel = rows_and_columns()
    whole = joined(kernel)
    found = {s.places: s for s in sites(whole.kernel)}

    assert (whole.ctas, len(whole.kernel.body), whole.kernel.threads) == (4, 4, 4 * kernel.threads)
    for s in sites(kernel):
        there = [found[at] for at in whole.places(s)]
        kinds = {type(x.op) for x in there}
        cast = isinstance(s.op, Copy) and s.op.multicast is not None
        assert kinds == ({If} if cast else {type(s.op)})
        if s.team is not None:
            assert [whole.rank(x.team) for x in there if x.team] == [0, 1, 2, 3]


def test_what_names_a_cta_that_there_is_not_is_never_proved() -> None:
    kernel = for_the_peer()
    beyond = kernel.edited(
        lambda op: [op if not isinstance(op, Copy) or op.multicast is None else replace(op, multicast=4)]
    )

    assert Clocks(beyond, ()).protocol_open
    assert not prove([RingProtocol(beyond, "full"), HappensBefore(beyond)], budget=QUICK)
