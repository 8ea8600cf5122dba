"""RingProtocol: the ring of a kernel for all trip counts, and each way of getting it wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checkers import Budget, RingProtocol, smt
from checkers import prove as prove_fully
from checkers.rings.programs import machine
from checkers.rings.recognised import rings_of
from checkers.rings.ring_lemmas import CLUSTER_LEMMAS, LEMMAS, lemmas, prove_lemmas
from symlayout import Layout, TensorMap, dims
from symlayout.answers.report import Report
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import index
from symlayout.kernel import Builder, Kernel, Mbarriers
from symlayout.kernel.ring import make_ring
from symlayout.kernels import tma_copy
from symlayout.ops import Arrive, Elect, ExpectTx, If, Op, Slot, Wait, WaitGroup

M, N = dims("M N")


def prove(claim: RingProtocol) -> Report:
    """The report without the search for repairs, which costs more than the rest."""
    return prove_fully(claim, budget=Budget(repairs=False))


def copy(slots: int = 2) -> Kernel:
    return tma_copy(M, N, tile=(16, 64), slots=slots, blocks=4)


def product(
    slots: int = 3,
    lag: int = 0,
    carried: bool = True,
    warps: int = 2,
    K: Any = None,
    extra: int = 0,
    pending: int | None = None,
) -> Kernel:
    """Tiles of *K* steps each: a producer, and warps that read a slot and give it back *lag* uses later."""
    K = dims("K")[0] if K is None else K
    steps, tiles = -(-K // 64), -(-M // 4)
    k = Builder("steps", M, *(() if isinstance(K, int) else (K,)), grid=(4,), threads=32 * (1 + warps))
    a = k.global_tensor("a", "bf16", Layout((64, K), (K, 1)))
    box = k.tensor_map("a_map", a(), TensorMap.over(Layout((K, 64), (1, K)), "bf16", (64, 64), swizzle=128))
    ring = make_ring(k, "ring", "bf16", Layout((64, 64)), slots=slots, consumers=warps)
    with (
        k.role("producer", 1),
        k.elect(),
        k.loop("t", tiles) as t,
        k.loop("s", steps + extra) as s,
        ring.produce(t * (steps + extra) + s if carried else s) as slot,
    ):
        k.copy("tma.load", box(64 * s, 0), slot.at(), slot.full)
    with k.role("consumer", warps):
        out = k.registers("r", "bf16", 8)
        with k.loop("t", tiles) as t:
            with k.loop("s", steps) as s:
                use = t * steps + s if carried else s
                k.wait(Slot("full", use % slots), use // slots % 2)
                k.copy("ld.shared.16", ring_at(ring, use), out())
                if not lag:
                    give(k, use, slots)
                else:
                    with k.where(s >= lag):
                        give(k, use - lag, slots)
            for n in range(lag):
                give(k, (t + 1) * steps - lag + n, slots)
    return k.kernel()


def ring_at(ring: Any, use: Any) -> Any:
    from symlayout.ops import Ref

    return Ref("ring", use % ring.slots * ring.elements)


def give(k: Builder, use: Any, slots: int) -> None:
    with k.elect(each_warp=True):
        k.arrive(Slot("empty", use % slots))


def changed(kernel: Kernel, f: Any) -> Kernel:
    """The kernel with each operation replaced by what *f* gives for it: another one, several, or None to drop it."""

    def inside(body: tuple[Op, ...]) -> tuple[Op, ...]:
        out: list[Op] = []
        for op in body:
            made = f(op)
            for x in made if isinstance(made, tuple) else (made,):
                if x is not None:
                    out.append(replace(x, inside=inside(x.body)) if x.body else x)
        return tuple(out)

    return replace(kernel, body=inside(kernel.body))


def outcome(kernel: Kernel, *given: Any) -> str:
    report = prove(RingProtocol(kernel, "full", given=given))
    return "; ".join(str(v) for v in report.verdicts)


@pytest.mark.parametrize("slots", range(1, 9))
def test_the_ring_of_a_copy_holds_for_all_trip_counts(slots: int) -> None:
    report = prove(RingProtocol(copy(slots)))
    assert report, report
    assert "atomic steps; memory ordering is HappensBefore's" in report.verdicts[0].method


@pytest.mark.parametrize("slots", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("warps", [1, 2, 8])
def test_a_counter_carried_over_tiles(slots: int, warps: int) -> None:
    assert outcome(product(slots, warps=warps)).startswith("proved")


@pytest.mark.parametrize("lag", [1, 2])
def test_slots_given_back_later(lag: int) -> None:
    K = dims("K", at_least=64 * lag)[0]
    assert outcome(product(lag + 1, lag=lag, K=K)).startswith("proved")
    assert "deadlock" in outcome(product(lag, lag=lag, K=64 * (lag + 1)), M <= 4)


def test_a_lag_of_more_than_the_steps_of_a_tile() -> None:
    K = dims("K")[0]  # one step is less than two uses: some arrivals come before their wait
    assert outcome(product(3, lag=2, K=K)).startswith("refuted")


def test_a_cursor_that_starts_anew_at_each_tile() -> None:
    assert outcome(product(2, carried=False, K=64 * 4)).startswith("proved")
    K = dims("K", multiple_of=64 * 4)[0]
    assert outcome(product(2, carried=False, K=K)).startswith("proved")
    for steps in (1, 2, 3, 5):
        found = outcome(product(2, carried=False, K=64 * steps))
        assert found.startswith("refuted"), found


def test_whole_turns_of_the_ring_repair_a_cursor_that_starts_anew() -> None:
    K = dims("K", multiple_of=64)[0]
    (v,) = prove_fully(RingProtocol(product(2, carried=False, K=K), "full")).verdicts
    assert v.outcome.value == "refuted"
    assert v.condition.startswith("K % 256 == 0"), v


def _flip(kind: str) -> Any:
    return lambda op: (
        replace(op, parity=(op.parity + 1) % 2) if isinstance(op, Wait) and op.barrier.barrier == kind else op
    )


def _without(kind: str) -> Any:
    return lambda op: None if isinstance(op, Wait) and op.barrier.barrier == kind else op


def _bytes(by: int) -> Any:
    return lambda op: replace(op, bytes=op.bytes + by) if isinstance(op, ExpectTx) else op


def _arrive_first(op: Op) -> Any:
    if isinstance(op, Wait) and op.barrier.barrier == "full":
        return (Elect((Arrive(Slot("empty", op.barrier.slot)),), True), op)
    return None if isinstance(op, Elect) and isinstance(op.inside[0], Arrive) and op.each_warp else op


MUTANTS = {
    "unflipped producer parity": (_flip("empty"), "deadlock"),
    "flipped consumer parity": (_flip("full"), "before its bytes have arrived"),
    "no wait for empty": (_without("empty"), "overwrites|under way|more than its phase"),
    "no wait for full": (_without("full"), "before its bytes have arrived"),
    "too many bytes": (_bytes(16), "deadlock"),
    "too few bytes": (_bytes(-16), "deadlock"),
    "a second arrival": (
        lambda op: (op, op) if isinstance(op, Arrive) else op,
        "more than its phase|has not given back|after it gave|deadlock",
    ),
    "no arrival": (lambda op: None if isinstance(op, Arrive) else op, "deadlock"),
}


@pytest.mark.parametrize("name", MUTANTS)
@pytest.mark.parametrize("kernel", [copy(2), product(2)], ids=["turns", "tiles of steps"])
def test_each_mutant_is_refuted_by_an_interleaving(name: str, kernel: Kernel) -> None:
    change, story = MUTANTS[name]
    found = prove(RingProtocol(changed(kernel, change), "full")).verdicts[0]
    assert found.outcome.value == "refuted", found
    assert any(s in str(found.witness) for s in story.split("|")), found
    assert "steps: " in str(found.witness)


@pytest.mark.parametrize("by, story", [(1, "deadlock"), (-1, "more than its phase|has not given back")])
def test_a_wrong_count_of_arrivals(by: int, story: str) -> None:
    k = product(2)
    full, empty = k.barriers
    found = outcome(replace(k, barriers=(full, replace(empty, arrivals=empty.arrivals + by))))
    assert found.startswith("refuted"), found
    assert any(s in found for s in story.split("|")), found


def test_an_arrival_before_the_wait() -> None:
    found = outcome(changed(product(2), _arrive_first))
    assert found.startswith("refuted"), found


@pytest.mark.parametrize("extra", [1, 3])
def test_different_numbers_of_steps(extra: int) -> None:
    found = outcome(product(2, extra=extra, warps=1))
    assert found.startswith("refuted"), found
    assert "the CTA ends" in found or "deadlock" in found


def test_a_store_that_is_still_read_when_its_slot_is_given_back() -> None:
    early = changed(copy(2), lambda op: None if isinstance(op, WaitGroup) and op.read else op)
    assert "while consumer reads it" in outcome(early)
    late = changed(copy(3), lambda op: replace(op, pending=1) if isinstance(op, WaitGroup) and op.read else op)
    assert "while consumer reads it" in outcome(late)


def test_the_interleaving_is_the_shortest_and_replays() -> None:
    k = changed(copy(2), _flip("full")).bind(M=16, N=64)
    fault = machine(k).search()
    assert fault is not None
    assert [who for who, _ in fault.steps] == ["consumer", "consumer"]
    assert str(fault) == (
        "consumer reads ring slot 0 before its bytes have arrived, after 2 steps: "
        "consumer: wait full[0] parity 1; consumer: tma.store ring -> dst_map(0,0)"
    )


def test_what_is_not_shown_is_named() -> None:
    k = copy(2)
    again = changed(k, lambda op: (Wait(Slot("other"), 1), op) if isinstance(op, Wait) else op)
    claim = RingProtocol(replace(again, barriers=(*k.barriers, Mbarriers("other", 1, 1))), "full")
    other = prove_fully(claim, budget=Budget(repairs=False, refuter_points=1000)).verdicts[
        0
    ]  # no search that finds nothing
    assert other.outcome.value == "unknown"
    assert "no init other" in other.open


def test_a_kernel_outside_the_model_says_what_the_model_lacks() -> None:
    kernel = tma_copy(64, 64, tile=(16, 64), slots=2, blocks=1)
    thread = index("thread", kernel.threads)
    some = kernel.edited(lambda op: [If((thread <= 8,), (op,))] if isinstance(op, Wait) else [op])
    (v,) = prove_fully(RingProtocol(some, "full")).verdicts

    assert "the model of rings does not have a wait by some lanes of a warp" in v.reason
    assert "points are more than" not in v.reason


def test_rings_are_found_from_the_operations() -> None:
    (ring,) = rings_of(replace(copy(3), rings=()))
    assert (ring.full, ring.empty, ring.tensors, ring.slots) == ("full", "empty", ("ring",), 3)
    assert str(RingProtocol(copy(3))) == "ring protocol: every ring of tma_copy"


def test_a_lemma_that_is_too_strong_is_not_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    for i, (text, given, goals) in enumerate(LEMMAS):
        if len(given) < 2:
            continue
        weaker = (*LEMMAS[:i], (text, given[:-1], goals), *LEMMAS[i + 1 :])
        monkeypatch.setattr("checkers.rings.ring_lemmas.LEMMAS", weaker)
        if text.startswith(("a producer passes", "a consumer passes", "no circle", "slot and round")):
            with pytest.raises(InternalError, match="is not proved"):
                prove_lemmas()


def test_bad_input() -> None:
    with pytest.raises(ClaimError, match="expected a kernel, got 3"):
        RingProtocol(3)
    with pytest.raises(ClaimError, match=r"expected a barrier that fills complete on \(full\), got 'ring'"):
        RingProtocol(copy(), "ring")


def test_every_lemma_is_proved_and_none_is_empty() -> None:
    assert len(lemmas()) == len(LEMMAS)
    assert len(lemmas(clusters=True)) == len(LEMMAS) + len(CLUSTER_LEMMAS)
    assert prove_lemmas().startswith("z3")
    for text, given, _ in (*LEMMAS, *CLUSTER_LEMMAS):
        assert smt.satisfiable(list(given)).status == "sat", text
