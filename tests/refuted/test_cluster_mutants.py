"""Kernels with clusters and one mistake each: refuted with an interleaving that names the CTA, and caught by a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from checkers import Budget, HappensBefore, RingProtocol, TransactionBytes, prove
from symlayout import dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.expr import Symbol, index
from symlayout.kernel import Kernel
from symlayout.kernels import gemm
from symlayout.ops import Arrive, ClusterBarrier, Copy, ExpectTx, For, If, Op, Role, rewritten
from symlayout.semantics import expect_reference
from tests.support.cluster_kernels import PART, everyone, inputs, rows_and_columns

BUDGET = Budget(repairs=False)
Change = Callable[[Kernel], Kernel]


def refuted(kernel: Kernel, says: str) -> bool:
    """Whether one of some words, with | between them, is said of what is wrong: claims are asked up to it."""
    claims = (TransactionBytes(kernel, "full"), RingProtocol(kernel, "full"), HappensBefore(kernel))
    found = (v for c in claims for v in prove(c, budget=BUDGET).verdicts)
    stories = (f"{v.claim.kind}: {v.witness}" for v in found if v.outcome is Outcome.REFUTED)
    return any(s in story for story in stories for s in says.split("|"))


def caught(bound: Kernel) -> str:
    """What runs in some orders say."""
    out = []
    for order in ("eager", "lazy", 1, 2, 3, 4):
        try:
            expect_reference(bound, inputs(bound), order)
        except ExecutionError as e:
            out.append(f"{order}: {e}")
    return "\n".join(out)


def changed(kind: type[Op], change: Callable[[Op], Iterable[Op]]) -> Change:
    return lambda kernel: kernel.edited(lambda op: change(op) if isinstance(op, kind) else [op])


def cast(**fields: object) -> Change:
    """The multicast copies with other fields."""
    return changed(Copy, lambda op: [replace(op, **fields)] if getattr(op, "multicast", None) is not None else [op])


def awaiting(n: int) -> Change:
    """Slots that are free after n arrivals."""
    return lambda k: replace(k, barriers=tuple(replace(b, arrivals=n) if b.name == "empty" else b for b in k.barriers))


def both(*some: Change) -> Change:
    def change(kernel: Kernel) -> Kernel:
        for f in some:
            kernel = f(kernel)
        return kernel

    return change


def without_nth(n: int) -> Change:
    def change(kernel: Kernel) -> Kernel:
        nth = [op for op in kernel.walk() if isinstance(op, ClusterBarrier)][n]
        return kernel.edited(lambda op: [] if op is nth else [op])

    return change


def rank(kernel: Kernel) -> Symbol:
    return kernel.block[0] % kernel.cluster[0]


def no_arrival_at(peer: int) -> Change:
    return changed(Arrive, lambda op: [] if getattr(op, "peer", None) == peer else [op])


def own_only(kernel: Kernel) -> Kernel:
    """Each CTA gives its slots back to itself, as often as its own barrier awaits."""
    warps = kernel.barrier("empty").arrivals // kernel.cluster[0]
    return both(no_arrival_at(1), changed(Arrive, lambda op: [replace(op, peer=None)]), awaiting(warps))(kernel)


def longer_by_rank(kernel: Kernel) -> Kernel:
    """The producer of the second CTA makes one use more."""

    def longer(op: Op) -> Iterable[Op]:
        if not isinstance(op, Role) or op.name != "producer":
            return [op]
        elect = op.inside[0]
        [loop] = elect.body
        assert isinstance(loop, For)
        i = index(loop.index.name, loop.extent + rank(kernel))
        body = rewritten(loop.inside, lambda x: x.subs({loop.index: i}))
        return [replace(op, inside=(elect.with_body((For(i, body),)),))]

    return kernel.edited(longer)


# What is done to the kernel, what the proof says, and what the run says; "" where a run needs luck to show it.
MUTANTS: dict[str, tuple[Change, str, str]] = {
    "no arrival at the peer": (no_arrival_at(1), "deadlock: CTA 0 ", "no thread can go on"),
    "arrivals of one CTA": (
        awaiting(1),
        "overwrites CTA |fills CTA |an arrival more than",
        "overwrites|expected no more",
    ),
    "bytes of one CTA": (
        changed(ExpectTx, lambda op: [replace(op, bytes=4 * PART)]),
        "bytes awaited less those of the copies are 0|before its bytes have arrived",
        "shared memory was never written there",
    ),
    "slots given back to one's own CTA": (own_only, "overwrites CTA |fills CTA ", "overwrites|expected no more"),
    "a mask of one CTA": (cast(multicast=1), "the difference is|deadlock", "no thread can go on"),
    "no mask": (cast(multicast=None), "the difference is|deadlock", "no thread can go on"),
    "a mask of CTAs that there are not": (
        cast(multicast=7),
        "there is no CTA 2 in a cluster of 2",
        "expected a mask below 4",
    ),
    "all parts in one place": (
        changed(
            Copy, lambda op: [replace(op, dst=replace(op.dst, offset=0))] if getattr(op, "barrier", None) else [op]
        ),
        "while a fill of it is under way",
        "shared memory was never written there",
    ),
    "no barrier at the start": (
        without_nth(0),
        "which CTA 1 need not have initialised yet|no cluster barrier before it; add one at the start",
        "",
    ),
    "no barrier at the end": (
        without_nth(1),
        "may have exited|no cluster barrier after it; add one at the end of the kernel",
        "to be running, but it has exited",
    ),
    "one use more in one CTA": (
        longer_by_rank,
        "ends while a copy|may have exited|deadlock",
        "no thread can go on|exits",
    ),
    "no arrival by one CTA": (
        lambda k: changed(Arrive, lambda op: [If((rank(k) <= 0,), (op,))])(k),
        "deadlock",
        "no thread can go on",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_is_refuted_and_caught(name: str) -> None:
    change, says, runs = MUTANTS[name]
    kernel = everyone()
    assert refuted(change(kernel), says)
    ran = caught(change(kernel).bind(T=5))
    assert any(x in ran for x in runs.split("|")), ran


@pytest.mark.parametrize(
    "name, story",
    [
        ("no arrival at the peer", "ring protocol: fails for"),
        ("arrivals of one CTA", "which CTA|CTA 1"),
        (
            "no barrier at the start",
            "CTA 0 reaches CTA 1's full[0], which CTA 1 need not have initialised yet, after 4 steps",
        ),
        ("no barrier at the end", "CTA 1 reaches CTA 0's empty[0], but CTA 0 may have exited"),
    ],
)
def test_a_product_with_a_mistake(name: str, story: str) -> None:
    K = dim("K", multiple_of=8)
    kernel = gemm(128, 64, K, tile=(64, 64), cluster=2, stages=2, blocks=2, group=1)
    change = awaiting(4) if name == "arrivals of one CTA" else MUTANTS[name][0]
    assert refuted(change(kernel), story)


MASKS: dict[str, tuple[Change, str]] = {
    "the other row": (cast(multicast=3), "difference|deadlock"),
    "an arrival at the wrong peer": (
        changed(Arrive, lambda op: [replace(op, peer=0)]),
        "arrival more than|deadlock|overwrites|fills",
    ),
    "arrivals of a row only": (awaiting(2), "arrival more than|overwrites|fills"),
}


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("name", MASKS)
def test_masks_and_peers_that_the_rank_decides(name: str, flat: bool) -> None:
    change, says = MASKS[name]
    mutant = change(rows_and_columns(flat=flat))
    assert refuted(mutant, says)
    assert caught(mutant.bind(T=4))
