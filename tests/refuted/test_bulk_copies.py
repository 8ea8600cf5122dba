"""Bulk copies, whose bytes are an operand: proved for all sizes, and refuted, left open or caught where it is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import Budget, Computes, RingProtocol, TransactionBytes, WellFormed, WrittenOnce, prove
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernels import bulk_copy
from symlayout.ops import Copy, ExpectTx, Op, Ref, Slot
from symlayout.semantics import execute, expect_reference
from tests.support.kernel_families import inputs

N = dim("N", multiple_of=4, at_most=1 << 24)
KERNEL = bulk_copy(N, chunk=64, slots=2, blocks=2)
SIZES = (4, 64, 132, 516)


def wrong(report: Any) -> str:
    return "\n".join(f"{v.outcome.value}: {v}" for v in report.verdicts if v.outcome is not Outcome.PROVED)


def caught(kernel: Kernel) -> str:
    for n in SIZES:
        bound = kernel.bind(N=n)
        for order in ("eager", "lazy", 1, 2):
            try:
                expect_reference(bound, inputs(bound), order)
            except ExecutionError as e:
                return str(e)
    return ""


@pytest.mark.parametrize("dtype, unit", [("u8", 16), ("bf16", 8), ("f32", 4), ("f64", 2)])
def test_a_copy_of_any_length_is_proved(dtype: str, unit: int) -> None:
    report = prove(bulk_copy(dim("N", at_most=1 << 24), dtype=dtype))
    assert str(report.repairs) == f"(N % {unit} == 0,)"
    assert prove(bulk_copy(dim("N", at_most=1 << 24), dtype=dtype).assuming(*report.repairs)), wrong(report)


def copies(change: Callable[[Copy], Copy], atom: str) -> Kernel:
    def made(op: Op) -> Iterable[Op]:
        return (change(op) if isinstance(op, Copy) and op.atom == atom else op,)

    return KERNEL.edited(made)


def longer(n: int) -> Callable[[Copy], Copy]:
    return lambda op: replace(op, bytes=op.bytes + n)  # type: ignore[operator]


def whole(op: Copy) -> Copy:
    return replace(op, bytes=256)


def moved(op: Copy, n: int, end: str) -> Copy:
    ref = getattr(op, end)
    return replace(op, **{end: replace(ref, offset=ref.offset + n)})


def awaits(n: Any) -> Kernel:
    return KERNEL.edited(lambda op: (replace(op, bytes=n) if isinstance(op, ExpectTx) else op,))


MUTANTS = {
    "half a unit": (copies(longer(8), "bulk.load"), "a multiple of 16 bytes", "bulk_size_16"),
    "an element more": (copies(longer(4), "bulk.store"), "a multiple of 16 bytes", "bulk_size_16"),
    "past the source": (copies(longer(16), "bulk.load"), "past the last valid", "out of bounds"),
    "past the target": (copies(longer(16), "bulk.store"), "past the last valid", "out of bounds"),
    "less than nothing": (copies(longer(-32), "bulk.store"), "below 0", "from 0 on, got -16"),
    "the whole chunk": (copies(whole, "bulk.load"), "past the last valid", "out of bounds"),
    "all that is awaited": (awaits(256), "the difference is", "no thread can go on"),
    "an element further in": (copies(lambda op: moved(op, 1, "src"), "bulk.load"), "aligned to 16", "out of bounds"),
    "an element further on": (copies(lambda op: moved(op, 1, "dst"), "bulk.store"), "aligned to 16", "out of bounds"),
    "a unit of the slot": (copies(lambda op: moved(op, 4, "dst"), "bulk.load"), "past the last valid", "stores poison"),
    "the source of another": (copies(lambda op: moved(op, -4, "src"), "bulk.load"), "below 0", "out of bounds"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_refuted_and_caught(name: str) -> None:
    kernel, said, seen = MUTANTS[name]
    report = prove(kernel, budget=Budget(repairs=False))
    refuted = [str(v) for v in report.verdicts if v.outcome is Outcome.REFUTED]
    assert any(said in x for x in refuted), wrong(report)
    assert seen in caught(kernel)


def test_a_fill_that_leaves_its_slot() -> None:
    """The second slot is filled half into the first of the ring, where it is long enough."""
    kernel = copies(lambda op: replace(op, bytes=minimum(512, 4 * N)), "bulk.load")
    assert prove(RingProtocol(kernel, "full")).verdicts[0].outcome is not Outcome.PROVED
    assert prove(TransactionBytes(kernel, "full")).verdicts[0].outcome is Outcome.REFUTED


def test_a_store_of_two_slots() -> None:
    """It reads a slot that was not waited for, with nothing else wrong."""
    k = Builder("two", grid=(1,), threads=64)
    src, dst = k.global_tensor("src", "f32", Layout(256)), k.global_tensor("dst", "f32", Layout((128, 4)))
    ring = make_ring(k, "ring", "f32", Layout(64), slots=4, consumers=1)
    with k.role("producer", 1), k.elect(), k.loop("i", 4) as i, ring.produce(i) as slot:
        k.copy("bulk.load", src(64 * i), slot.at(), slot.full, nbytes=256)
    with k.role("consumer", 1), k.elect():
        with k.loop("i", 4) as i, ring.consume(i) as slot:
            k.copy("bulk.store", Ref("ring", 64 * (i % 3)), dst(128 * i), nbytes=512)
            k.commit("bulk")
            k.wait_group("bulk", 0, read=True)
        k.wait_group("bulk", 0)
    kernel = k.kernel()
    assert prove(RingProtocol(kernel, "full")).verdicts[0].outcome is not Outcome.PROVED
    with pytest.raises(ExecutionError, match=r"stores poison of byte .* of ring"):
        execute(kernel.bind(), {"src": np.ones(256, np.float32)}, "lazy")


def test_a_store_that_ends_before_its_tensor_does() -> None:
    kernel = copies(lambda op: replace(op, bytes=minimum(256, 4 * N)), "bulk.store")
    assert prove(WrittenOnce(kernel, "dst")).verdicts[0].outcome is not Outcome.PROVED
    short = copies(longer(-16), "bulk.store")
    (v,) = prove(WrittenOnce(short, "dst")).verdicts
    assert v.outcome is not Outcome.PROVED


def test_what_is_read_behind_the_bytes_of_a_load_is_not_known() -> None:
    """The load brings a unit less than the store takes."""
    kernel = KERNEL.edited(
        lambda op: (
            (longer(-16)(op),)  # type: ignore[arg-type]
            if isinstance(op, Copy) and op.atom == "bulk.load"
            else (replace(op, bytes=op.bytes - 16),)
            if isinstance(op, ExpectTx)
            else (op,)
        )
    )
    assert prove(Computes(kernel, "dst")).verdicts[0].outcome is not Outcome.PROVED
    assert "poison" in caught(kernel)


@pytest.mark.parametrize(
    "atom, options, message",
    [
        ("bulk.load", {"barrier": Slot("full")}, "expected how many bytes to copy"),
        ("bulk.load", {"nbytes": 16}, "expected an mbarrier that it completes on"),
        ("ld.shared.4", {"nbytes": 16}, "expected no number of bytes"),
    ],
)
def test_operands_that_an_instruction_does_not_take(atom: str, options: dict[str, Any], message: str) -> None:
    k = Builder("odd", grid=(1,), threads=32)
    g, s, full = k.global_tensor("g", "f32", Layout(64)), k.shared_tensor("s", "f32", Layout(64)), k.mbarriers
    full("full", 1, 1)
    x = k.registers("x", "f32", 1)
    with k.elect():
        k.copy(atom, *((s(), x()) if atom.startswith("ld") else (g(), s())), **options)
    (v,) = prove(WellFormed(k.kernel())).verdicts
    assert v.outcome is Outcome.REFUTED
    assert message in str(v.witness)


def multicast(mask: int = 3) -> Kernel:
    """The first CTA of two loads a row for both."""
    k = Builder("both", grid=(2,), threads=32, cluster=(2,))
    src, dst = k.global_tensor("src", "f32", Layout(64)), k.global_tensor("dst", "f32", Layout((64, 2)))
    row, full, (block,) = k.shared_tensor("row", "f32", Layout(64)), k.mbarriers("full", 1, 1), k.block
    k.cluster_sync()
    with k.elect():
        k.expect_tx(full(), 256)
        with k.where(block < 1):
            k.copy("bulk.load", src(), row(), full(), multicast=mask, nbytes=256)
    k.wait(full(), 0)
    with k.elect():
        k.copy("bulk.store", row(), dst(64 * block), nbytes=256)
        k.commit("bulk")
        k.wait_group("bulk")
    k.cluster_sync()
    return k.kernel()


def test_a_multicast_lands_in_each_cta() -> None:
    src = np.arange(64, dtype=np.float32)
    for order in ("eager", "lazy", 1):
        found = execute(multicast().bind(), {"src": src}, order)["dst"]
        assert (found == src[:, None]).all()
    with pytest.raises(ExecutionError, match="no thread can go on"):
        execute(multicast(1).bind(), {"src": src}, "eager")
    assert prove(TransactionBytes(multicast(1), "full")).verdicts[0].outcome is not Outcome.PROVED
