"""Kernels with one mistake each: the run says what went wrong, and where, or ends with the wrong bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pytest

from symlayout.errors import ExecutionError
from symlayout.kernel import Kernel
from symlayout.ops import (
    Arrive,
    Barrier,
    Box,
    Commit,
    Copy,
    Elect,
    ExpectTx,
    Fence,
    For,
    Init,
    Op,
    Ref,
    Role,
    Wait,
    WaitGroup,
)
from symlayout.semantics import expect_reference
from tests.support.kernel_families import BY_WORD, inputs

SIZES = {
    **{"tma_copy": {"M": 100, "N": 300}, "tma_transpose": {"M": 136, "N": 136}, "cp_async_copy": {"N": 9000}},
    **{"vector_copy": {"N": 3001}},
}

Change = Callable[[Op], Iterable[Op]]


@dataclass(frozen=True)
class Mutant:
    """A family, what is wrong with it, and what its run under *order* says."""

    family: str
    name: str
    change: Callable[[Kernel], Kernel]
    says: str
    order: str | int = "lazy"
    eager_says: str = ""  # nothing: without asynchrony nothing is wrong


def edit(change: Change) -> Callable[[Kernel], Kernel]:
    return lambda kernel: kernel.edited(change)


def without(kind: type[Op], **fields: object) -> Callable[[Kernel], Kernel]:
    """The kernel without the operations of a kind whose fields are these."""
    return edit(lambda op: [] if _is(op, kind, fields) else [op])


def changed(kind: type[Op], change: Callable[[Op], Op], **fields: object) -> Callable[[Kernel], Kernel]:
    return edit(lambda op: [change(op)] if _is(op, kind, fields) else [op])


def _is(op: Op, kind: type[Op], fields: dict[str, object]) -> bool:
    """Whether an operation is of a kind, and its fields have these values; of a barrier, the name."""
    found = ((getattr(op, name), want) for name, want in fields.items())
    return isinstance(op, kind) and all(getattr(x, "barrier", x) == want for x, want in found)


def moved(op: Op) -> Op:
    """A load from one column of boxes further."""
    assert isinstance(op, Copy)
    assert isinstance(op.src, Box)
    x, y = op.src.coordinate
    return replace(op, src=Box(op.src.tensor_map, (x + 64, y)))


def next_slot(op: Op) -> Op:
    """A store from the slot of the next turn."""
    assert isinstance(op, Copy)
    assert isinstance(op.src, Ref)
    [i] = op.src.offset.symbols
    return replace(op, src=Ref("ring", op.src.offset.subs({i: i + 1})))


def arrivals(name: str, n: int) -> Callable[[Kernel], Kernel]:
    """The barriers of a name await n arrivals."""
    return lambda k: replace(k, barriers=tuple(replace(b, arrivals=n) if b.name == name else b for b in k.barriers))


def without_nth(kind: type[Op], n: int) -> Callable[[Kernel], Kernel]:
    """The kernel without the n-th operation of a kind."""

    def change(kernel: Kernel) -> Kernel:
        nth = [op for op in kernel.walk() if isinstance(op, kind)][n]
        return kernel.edited(lambda op: [] if op is nth else [op])

    return change


def fence_by_one(kernel: Kernel) -> Kernel:
    return kernel.edited(lambda op: [Elect((op,))] if op == Fence("async") else [op])


MUTANTS = (
    # -- the ring of tma_copy ------------------------------------------------------------------------
    Mutant(
        "tma_copy",
        "no wait for the load",
        without(Wait, barrier="full"),
        r"role consumer, i = 0: tma.store ring.*: stores poison of byte 0 of ring: tma.load .* was under way",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "no wait for the slot",
        without(Wait, barrier="empty"),
        r"role producer, i = 3: expect_tx .*: expected no more than 1 arrivals in phase 0 of full\[0\], which still awaits "
        r"8192 bytes, got another",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "producer with the other parity",
        changed(Wait, lambda op: replace(op, parity=1 - op.parity), barrier="empty"),
        r"no thread can go on:\s+CTA 0, role producer, i = 0: wait empty.* \(parity 0\): empty\[0\] is in phase 0: "
        r"1 of 1 arrivals pending, 0 bytes pending\s+CTA 0, role consumer, i = 0: wait full",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "consumer with the other parity",
        changed(Wait, lambda op: replace(op, parity=1 - op.parity), barrier="full"),
        r"role consumer, i = 0: tma.store .*: stores poison of byte 0 of ring: shared memory was never written there",
        order=3,
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "slot given back before the store has read it",
        without(WaitGroup, read=True),
        r"role producer, i = 3: tma.load .*: overwrites byte 0 of ring, which warp 1 may still be reading",
    ),
    Mutant(
        "tma_copy",
        "the store takes the next slot",
        changed(Copy, next_slot, atom="tma.store"),
        r"role consumer, i = 0: tma.store .*: stores poison of byte 4096 of ring: no wait for tma.load",
        eager_says="dst differs",
    ),
    Mutant(
        "tma_copy",
        "exit with a load under way",
        lambda k: k.edited(lambda op: [] if isinstance(op, Role) and op.name == "consumer" else [op]).bind(M=16, N=64),
        r"CTA 0 exits while a copy into its shared memory is under way: tma.load .*, issued by CTA 0, role producer, i = 0; "
        r"expected a wait for full\[0\]",
        eager_says="dst differs",
    ),
    Mutant(
        "tma_copy",
        "too few bytes expected",
        changed(ExpectTx, lambda op: replace(op, bytes=op.bytes // 2)),
        r"role consumer, i = 0: tma.store .*: stores poison of byte 0 of ring: tma.load .* was under way",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "too many bytes expected",
        changed(ExpectTx, lambda op: replace(op, bytes=op.bytes + 16)),
        r"no thread can go on:[^$]*full\[0\] is in phase 0: 0 of 1 arrivals pending, 16 bytes pending",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "bytes expected that no piece completes",
        changed(ExpectTx, lambda op: replace(op, bytes=op.bytes - 8)),
        r"no thread can go on:[^$]*full\[0\] is in phase 0: 0 of 1 arrivals pending, -8 bytes pending",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "two arrivals awaited where one comes",
        arrivals("empty", 2),
        r"no thread can go on:[^$]*role producer, i = 3: .*empty\[0\] is in phase 0: 1 of 2 arrivals pending",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "the slot given back twice",
        edit(lambda op: [op, op] if isinstance(op, Arrive) else [op]),
        r"no thread can go on|overwrites|poison|expected at most",
        eager_says="no thread can go on",
    ),
    Mutant(
        "tma_copy",
        "every lane issues the load",
        edit(lambda op: op.body if isinstance(op, Elect) and not any(isinstance(x, Init) for x in op.body) else [op]),
        r"role producer, i = 0: expect_tx .*: expected no more than 1 arrivals in phase 0 of full\[0\], which still awaits "
        r"8192 bytes, got another",
        eager_says="got another",
    ),
    Mutant(
        "tma_copy",
        "the neighbour's box",
        changed(Copy, moved, atom="tma.load"),
        r"dst differs in \d+ of 30000 elements, first at \(0,0\): expected .*, got .*, written by tma.store ring",
        eager_says="dst differs",
    ),
    # -- proxies and barriers of tma_transpose -------------------------------------------------------
    Mutant(
        "tma_transpose",
        "no fence before the store",
        without(Fence),
        r"role consumer, i = 0: tma.store turned .*: stores poison of byte 0 of turned: no fence async, or no barrier after it, after "
        r"st.shared.2 x\[q\] -> turned.* by thread 0",
    ),
    Mutant(
        "tma_transpose", "fence by one thread", fence_by_one, r"stores poison of byte \d+ of turned: no fence async"
    ),
    Mutant(
        "tma_transpose",
        "no barrier before the store",
        without_nth(Barrier, 2),
        r"stores poison of byte \d+ of turned: no barrier after st.shared.2 .* by thread \d+ ",
    ),
    Mutant(
        "tma_transpose",
        "the tile overwritten while the store reads it",
        without(WaitGroup, read=True),
        r"role consumer, i = 1, j = 0, q = 0: st.shared.2 .*: overwrites byte 0 of turned, which warp 0 may still be reading",
    ),
    Mutant(
        "tma_transpose",
        "no barrier after the wait for the store",
        without_nth(Barrier, 1),
        r"overwrites byte \d+ of turned, which warp 0 may still be reading",
    ),
    Mutant(
        "tma_transpose",
        "exit with the store under way",
        lambda k: without(WaitGroup)(k.bind(M=64, N=64)),
        r"exits while an asynchronous operation may use its shared memory: tma.store turned .*; expected a wait_group bulk",
    ),
    Mutant(
        "tma_transpose",
        "a consumer warp too few",
        arrivals("empty", 3),
        r"overwrites byte \d+ of ring, which warp 3 may still be reading",
    ),
    # -- groups of cp_async_copy ---------------------------------------------------------------------
    Mutant(
        "cp_async_copy",
        "one group too many left under way",
        changed(WaitGroup, lambda op: replace(op, pending=op.pending + 1)),
        r"i = 0, j = 0: st.global.4 word .*: thread 0 puts poison into byte 0 of dst: cp.async.16 .* was under way",
    ),
    Mutant(
        "cp_async_copy",
        "no barrier",
        without(Barrier),
        r"st.global.4 word .*: thread 1 puts poison into byte 4 of dst: no barrier after cp.async.16 .* by "
        r"thread 0 ",
    ),
    Mutant(
        "cp_async_copy",
        "no commit",
        without(Commit),
        r"puts poison into byte 0 of dst: cp.async.16 .* was under way",
    ),
    # -- predicates of vector_copy -------------------------------------------------------------------
    Mutant(
        "vector_copy",
        "no predicate on the tail",
        changed(For, lambda op: replace(op, inside=op.inside[0].body)),
        r"ld.global.4 .*: thread 111 is out of bounds: expected bytes of 0 .. 12003 of src, got 12016 .. 12019",
        eager_says="out of bounds",
    ),
    Mutant(
        "vector_copy",
        "a misaligned vector",
        changed(Copy, lambda op: replace(op, src=replace(op.src, offset=op.src.offset + 1)), atom="ld.global.16"),
        r"thread 0 is misaligned: expected an address of src that is a multiple of 16 bytes, got 4",
        eager_says="misaligned",
    ),
)


def run(mutant: Mutant, order: str | int) -> str:
    """What a run of the mutant says; nothing where it ends well."""
    kernel = mutant.change(BY_WORD[mutant.family].build())
    bound = kernel.bind(**SIZES[mutant.family]) if kernel.dims else kernel
    try:
        expect_reference(bound, inputs(bound), order)
    except ExecutionError as e:
        return str(e)
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.family}: {m.name}")
def test_a_mutant_is_caught(mutant):
    said = run(mutant, mutant.order)

    assert re.search(mutant.says, said), said


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.family}: {m.name}")
def test_what_is_wrong_without_asynchrony(mutant):
    said = run(mutant, "eager")

    assert bool(said) == bool(mutant.eager_says), said
    assert mutant.eager_says in said


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.family}: {m.name}")
def test_a_shuffled_run_catches_it_too(mutant, seed):
    assert run(mutant, seed)
