"""Kernels whose threads meet in shared memory, with one mistake each: refuted, and a run shows it too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from checkers import HappensBefore, prove
from symlayout import dim
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ExecutionError
from symlayout.kernel import Kernel
from symlayout.kernels import cp_async_copy
from symlayout.ops import Barrier, Commit, Copy, Elect, Fence, For, If, Op, Ref, WaitGroup
from symlayout.semantics import expect_reference
from tests.support import shared_kernels as small

Change = Callable[[Op], Iterable[Op]]
ORDERS: tuple[str | int, ...] = ("lazy", 1, 2, 3)


@dataclass(frozen=True)
class Mutant:
    """A kernel, what is wrong with it, and what the refutation says."""

    name: str
    kernel: Callable[[], Kernel]
    change: Callable[[Kernel], Kernel]
    says: str


def edit(change: Change) -> Callable[[Kernel], Kernel]:
    return lambda kernel: kernel.edited(change)


def without(kind: type[Op], nth: int = -1) -> Callable[[Kernel], Kernel]:
    """The kernel without the operations of a kind, or without the nth."""

    def change(kernel: Kernel) -> Kernel:
        mine = [op for op in kernel.walk() if isinstance(op, kind)]
        return kernel.edited(lambda op: [] if isinstance(op, kind) and (nth < 0 or op is mine[nth]) else [op])

    return change


def in_loop(name: str, change: Callable[[tuple[Op, ...]], tuple[Op, ...]]) -> Callable[[Kernel], Kernel]:
    """The kernel with another body of the loop over an index."""
    return edit(
        lambda op: [replace(op, inside=change(op.inside))] if isinstance(op, For) and op.index.name == name else [op]
    )


def swapped(i: int, j: int) -> Callable[[tuple[Op, ...]], tuple[Op, ...]]:
    def change(body: tuple[Op, ...]) -> tuple[Op, ...]:
        out = list(body)
        out[i], out[j] = out[j], out[i]
        return tuple(out)

    return change


def moved(atom: str, side: str, by: Callable[[Any], Any]) -> Callable[[Kernel], Kernel]:
    """A copy at another place of the turn that *by* makes of its turn."""

    def change(op: Op) -> Iterable[Op]:
        if not isinstance(op, Copy) or op.atom != atom:
            return [op]
        ref = getattr(op, side)
        turns = {s: by(s) for s in ref.offset.symbols if s.name in ("i", "s")}
        return [replace(op, **{side: Ref(ref.tensor, ref.offset.subs(turns))})]

    return edit(change)


def slots(n: int) -> Callable[[Kernel], Kernel]:
    """Chunk number i in slot i % n: 3 slots are n of them."""

    def there(op: Op) -> Iterable[Op]:
        if not isinstance(op, Copy):
            return [op]
        at = {"src": op.src, "dst": op.dst}
        for side, ref in at.items():
            if isinstance(ref, Ref) and ref.tensor == "tile":
                (i,) = (s for s in ref.offset.symbols if s.name in ("i", "s"))
                chunk = i + 2 if i.name == "i" and side == "dst" else i
                at[side] = Ref("tile", ref.offset - 512 * (chunk % 3) + 512 * (chunk % n))
        return [replace(op, src=at["src"], dst=at["dst"])]

    return edit(there)


def pipeline() -> Kernel:
    return cp_async_copy(dim("N"), stages=3, blocks=1)


COMMIT = Commit("cp.async")
CP_ASYNC = (
    Mutant("no wait_group", pipeline, without(WaitGroup), "no commit cp.async and wait_group cp.async that ends"),
    Mutant(
        "one group more under way",
        pipeline,
        edit(lambda op: [replace(op, pending=op.pending + 1)] if isinstance(op, WaitGroup) else [op]),
        "no commit cp.async and wait_group cp.async that ends",
    ),
    Mutant("no barrier", pipeline, without(Barrier), "no barrier between"),
    Mutant("the barrier after the fetch", pipeline, in_loop("i", swapped(1, 2)), "no barrier between ld.shared.4"),
    Mutant("the barrier before the wait", pipeline, in_loop("i", swapped(0, 1)), "no barrier between wait_group cp"),
    Mutant("a slot less", pipeline, slots(2), "that ends its group before"),
    Mutant("no commit", pipeline, without(Commit), "no commit cp.async"),
    Mutant("no commit in the prologue", pipeline, without(Commit, 0), "no commit cp.async"),
    Mutant("no commit in the turns", pipeline, without(Commit, 1), "no commit cp.async"),
    Mutant("the next slot is read", pipeline, moved("ld.shared.4", "src", lambda i: i + 1), "that ends its group"),
    Mutant("the slot before is read", pipeline, moved("ld.shared.4", "src", lambda i: i + 2), "that ends its group"),
    Mutant("the slot at hand is filled", pipeline, moved("cp.async.16", "dst", lambda i: i + 1), "that ends its group"),
    Mutant(
        "a group only where something is fetched",
        pipeline,
        edit(
            lambda op: (
                []
                if op == COMMIT
                else [replace(op, inside=(*op.inside, COMMIT))]
                if isinstance(op, If) and any(isinstance(x, Copy) and x.atom == "cp.async.16" for x in op.inside)
                else [op]
            )
        ),
        "no commit cp.async and wait_group cp.async",
    ),
    Mutant(
        "wait_group by one thread",
        pipeline,
        edit(lambda op: [Elect((op,))] if isinstance(op, WaitGroup) else [op]),
        "that ends its group",
    ),
    Mutant(
        "commit by one thread of each warp",
        pipeline,
        edit(lambda op: [Elect((op,), each_warp=True)] if isinstance(op, Commit) else [op]),
        "that ends its group",
    ),
    Mutant(
        "a barrier of fewer threads",
        pipeline,
        edit(lambda op: [replace(op, threads=64)] if isinstance(op, Barrier) else [op]),
        "barrier 0 awaits 64 threads, and 128 come",
    ),
    Mutant(
        "a barrier of more threads",
        pipeline,
        edit(lambda op: [replace(op, threads=160)] if isinstance(op, Barrier) else [op]),
        "barrier 0 awaits 160 threads, and 128 come",
    ),
    Mutant(
        "a fetch that nobody awaits",
        pipeline,
        edit(lambda op: [op] if not isinstance(op, For) or op.index.name != "i" else []),
        "no commit and wait_group cp.async ends it before the CTA ends",
    ),
)

TRANSPOSED = (
    Mutant("no barrier", small.transposed, without(Barrier), "no barrier between st.shared.4"),
    Mutant("one slot and one barrier", lambda: small.transposed(slots=1), lambda k: k, "no barrier between ld.shared"),
    Mutant(
        "the second of two barriers is dropped",
        lambda: small.transposed(slots=1, barriers=2),
        without(Barrier, 1),
        "no barrier between ld.shared.4",
    ),
    Mutant(
        "a barrier every other turn",
        small.transposed,
        in_loop("i", lambda body: tuple(_every_other(op, body) for op in body)),
        "no barrier between st.shared.4",
    ),
    Mutant(
        "a fence instead of the barrier",
        small.transposed,
        edit(lambda op: [Fence("async")] if isinstance(op, Barrier) else [op]),
        "no barrier between st.shared.4",
    ),
)


def _every_other(op: Op, body: tuple[Op, ...]) -> Op:
    i = next(s for x in body for y in x.walk() if isinstance(y, Copy) for s in y.src.offset.symbols if s.name == "i")
    return If(((i % 2) >= 1,), (op,)) if isinstance(op, Barrier) else op


def wrong_barrier(nth: int) -> Callable[[Kernel], Kernel]:
    """The nth barrier is met by its role alone."""

    def change(kernel: Kernel) -> Kernel:
        mine = [op for op in kernel.walk() if isinstance(op, Barrier)]
        return kernel.edited(lambda op: [Barrier(7, 64)] if op is mine[nth] else [op])

    return change


HANDED_OVER = (
    Mutant("not back", lambda: small.handed_over(back=False), lambda k: k, "no barrier of fetch and store between"),
    Mutant("no barrier at all", small.handed_over, without(Barrier), "no barrier of fetch and store between"),
    Mutant(
        "one role does not come", small.handed_over, without(Barrier, 0), "barrier 1 awaits 128 threads, and 64 come"
    ),
    Mutant("a turn too many", lambda: small.handed_over(turns=1), lambda k: k, "fetch comes to no more, store to barr"),
    Mutant(
        "the barriers in another order",
        lambda: small.handed_over(),
        in_loop("i", swapped(2, 3)),
        "fetch comes to barrier 2, store to barrier 1",
    ),
    Mutant(
        "three slots and a barrier every turn are enough, one is not",
        lambda: small.handed_over(slots=1, back=False),
        lambda k: k,
        "no barrier of fetch and store between",
    ),
    Mutant("a barrier of one role", lambda: small.handed_over(back=False), wrong_barrier(0), "barrier 1 awaits 128"),
)

EVERY = (*CP_ASYNC, *TRANSPOSED, *HANDED_OVER)


def verdict(kernel: Kernel) -> Verdict:
    return prove(HappensBefore(kernel)).verdicts[0]


def caught(kernel: Kernel, inputs: Callable[[Kernel], dict[str, np.ndarray]]) -> str:
    """What the first run that does not end well says."""
    sizes = ({"N": 512}, {"N": 4100}) if kernel.name == "cp_async_copy" else ({"n": 1}, {"n": 5})
    for at in sizes:
        bound = kernel.bind(**at)
        for order in ORDERS:
            try:
                expect_reference(bound, inputs(bound), order)
            except ExecutionError as e:
                return str(e)
    return ""


@pytest.mark.parametrize("mutant", EVERY, ids=lambda m: f"{m.kernel().name}: {m.name}")
def test_a_mutant_is_refuted_and_caught(mutant: Mutant) -> None:
    kernel = mutant.change(mutant.kernel())
    found = verdict(kernel)

    assert found.outcome is Outcome.REFUTED
    assert mutant.says in str(found)
    assert caught(kernel, small.inputs)
