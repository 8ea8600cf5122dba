"""Loads, stores and ``st.async`` between CTAs of a cluster: proved, run, timed, printed; what is wrong is refuted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from checkers import HappensBefore, RingProtocol, WellFormed, prove
from checkers.budget import Budget
from gpu.codegen import emit
from simulator import simulate
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Kernel
from symlayout.ops import Copy, PeerCopy
from symlayout.semantics import expect_reference
from symlayout.semantics.trials import mishap
from tests.checkers.clocks.test_protocols import order_claims
from tests.support.peer_kernels import COLUMNS, sent, summed

QUICK = Budget(solver_ms=500, repairs=False)
WAYS = ("st.async", "st.cluster", "ld.cluster")

Built = Callable[..., Kernel]


def of(how: str, **changed: Any) -> Built:
    return lambda *rows: summed(*rows, how=how, **changed)


RIGHT: dict[str, Built] = {
    **{how: of(how) for how in WAYS},
    "st.async, one slot": of("st.async", slots=1),
    "st.async, three slots": of("st.async", slots=3),
    "st.cluster, the last meeting is the end": of("st.cluster", end=False),
    "ld.cluster, the last meeting is the end": of("ld.cluster", end=False),
}

WRONG: dict[str, Built] = {
    "st.async to itself": of("st.async", to=0),
    "st.async to a CTA that there is not": of("st.async", to=2),
    "st.async, more bytes awaited": of("st.async", nbytes=8),
    "st.async, fewer bytes awaited": of("st.async", nbytes=0),
    "st.async, the next phase": of("st.async", parity=1),
    "st.async, the slot of the phase before": of("st.async", late=0),
    "st.async by all lanes": of("st.async", lanes=True),
    "st.async, read before the wait": of("st.async", meet=False),
    "st.async, nobody waits for the slot": of("st.async", free=False),
    "st.async, no barrier at the start": of("st.async", start=False),
    "st.async, no barrier at the end": of("st.async", end=False),
    "st.cluster, read before they meet": of("st.cluster", meet=False),
    "st.cluster, written before it is read": of("st.cluster", free=False),
    "st.cluster, no barrier at the start": of("st.cluster", start=False),
    "st.cluster to a CTA that there is not": of("st.cluster", to=2),
    "ld.cluster, read before they meet": of("ld.cluster", meet=False),
    "ld.cluster, written before it is read": of("ld.cluster", free=False),
    "ld.cluster of a CTA that may have exited": of("ld.cluster", free=False, end=False),
    "ld.cluster from a CTA that there is not": of("ld.cluster", to=2),
}


def inputs(rows: int) -> dict[str, Any]:
    return {"src": np.arange(2 * rows * COLUMNS, dtype=np.float32).reshape(2 * rows, COLUMNS)}


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved_and_run(name: str) -> None:
    report = prove([*order_claims(RIGHT[name]()), WellFormed(RIGHT[name]())], budget=QUICK)

    assert report, report
    assert mishap(RIGHT[name](5).bind(), schedules=("lazy", 1, 2)) is None
    for order in ("eager", "lazy", 1, 2):
        expect_reference(RIGHT[name](5).bind(), inputs(5), order)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refuted(name: str) -> None:
    found = (v for c in reversed(order_claims(WRONG[name]())) for v in prove(c, budget=QUICK).verdicts)

    assert any(v.outcome is Outcome.REFUTED for v in found)


@pytest.mark.parametrize("how", WAYS)
def test_it_is_timed_with_the_values_of_the_run(how: str) -> None:
    bound = summed(3, how=how).bind()
    found = simulate(bound, inputs=inputs(3), values=True)

    assert found.arrays is not None
    np.testing.assert_array_equal(found.arrays["dst"], bound.reference(**inputs(3))["dst"])
    assert found.time_ps > 0


def test_it_is_printed() -> None:
    text = {how: emit(summed(how=how)).text for how in WAYS}

    assert "st_async_4(parts + (r & 1), theirs, full + (r & 1), 1 - (block_x & 1));" in text["st.async"]
    assert "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [remote], %3, [there];" in text["st.async"]
    assert "st.shared::cluster.b32 [remote], %2;" in text["st.cluster"]
    assert "ld.shared::cluster.b32 %0, [remote];" in text["ld.cluster"]


@pytest.mark.parametrize("wide", [4, 8, 16])
def test_what_lanes_send_is_stored_by_the_async_proxy(wide: int) -> None:
    """It is written through the generic proxy, so a fence has to come between."""
    kernel = sent(wide=wide)
    src = {"src": np.arange(16 * wide, dtype=np.float32)}

    assert prove([*order_claims(kernel), WellFormed(kernel)], budget=QUICK)
    for order in ("eager", "lazy", 1, 2, 3):
        expect_reference(kernel.bind(), src, order)


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"fence": False}, "no fence async after"),
        ({"wait": False}, "exits while a copy into its shared memory is under way|was under way|no wait for"),
        ({"wide": 8, "apart": 2}, "expected threads to store to different places"),
    ],
)
def test_what_lanes_send_and_is_not_there(wrong: dict[str, Any], says: str) -> None:
    kernel = sent(**wrong)
    found = [str(mishap(kernel.bind(), schedules=(order,))) for order in ("lazy", 1, 2, 3)]

    assert not prove([HappensBefore(kernel), RingProtocol(kernel, "full")], budget=QUICK)
    assert any(said in x for x in found for said in says.split("|")), found


def test_a_half_in_another_slot_is_seen_by_runs() -> None:
    kernel = summed(place=1)

    assert not prove(HappensBefore(kernel), budget=QUICK)
    with pytest.raises(ExecutionError, match="shared memory was never written there"):
        expect_reference(summed(3, place=1).bind(), inputs(3))


@pytest.mark.parametrize(
    "atom, barrier, says",
    [
        ("st.async.4", False, "expected an mbarrier of the peer that it completes on"),
        ("st.cluster.4", True, "expected no mbarrier of the peer that it completes on"),
        ("st.shared.4", False, "expected an access to a peer, got st.shared.4"),
    ],
)
def test_operands_that_do_not_fit(atom: str, barrier: bool, says: str) -> None:
    def change(op: Any) -> list[Any]:
        if not isinstance(op, PeerCopy):
            return [op]
        return [PeerCopy(atom, op.src, op.dst, op.peer, op.barrier if barrier else None)]

    (v,) = prove(WellFormed(summed().edited(change)), budget=QUICK).verdicts

    assert v.outcome is Outcome.REFUTED
    assert says in str(v)


def test_a_copy_of_the_cta_takes_no_word_of_peers() -> None:
    def change(op: Any) -> list[Any]:
        return [Copy(op.atom, op.src, op.dst, op.barrier)] if isinstance(op, PeerCopy) else [op]

    kernel = summed(3).edited(change)

    assert "expected a copy of the CTA, got st.async.4" in str(prove(WellFormed(kernel), budget=QUICK))
    assert not prove(HappensBefore(kernel), budget=QUICK)
    with pytest.raises(ExecutionError, match=r"expected a peer whose memory st\.async\.4 is about, got none"):
        expect_reference(kernel.bind(), inputs(3))
