"""All claims of a kernel: the copy holds under the repairs that the report names, and its mutants are refuted."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from checkers import (
    Budget,
    HappensBefore,
    RingProtocol,
    SharedMemoryFits,
    TransactionBytes,
    WrittenOnce,
    claims_of,
    prove,
)
from checkers.rings.programs import machine
from symlayout import Layout, TensorMap, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.arch import SM90
from symlayout.errors import ClaimError, LayoutError
from symlayout.expr import index
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import gemm, tma_copy, tma_transpose
from symlayout.ops import (
    Barrier,
    Box,
    Commit,
    Copy,
    ExpectTx,
    Fence,
    For,
    If,
    Op,
    Ref,
    Wait,
    WaitGroup,
    WarpBarrier,
    rewritten,
)

M, N = dims("M N")
COPY = tma_copy(M, N, tile=(16, 64), slots=4, blocks=132)
FEW = tma_copy(M, N, tile=(16, 64), slots=3, blocks=2).assuming(N.multiple_of(4))


def changed(kernel: Kernel, f: Any) -> Kernel:
    """The kernel with each operation replaced by what *f* gives for it: another one, several, or None to drop it."""

    def inside(body: tuple[Any, ...]) -> tuple[Any, ...]:
        out: list[Any] = []
        for op in body:
            made = f(op)
            several: tuple[Any, ...] = made if isinstance(made, tuple) else (made,)
            for x in several:
                if x is not None:
                    out.append(replace(x, inside=inside(x.body)) if x.body and type(x) is type(op) else x)
        return tuple(out)

    return replace(kernel, body=inside(kernel.body))


def refuted(kernel: Any) -> str:
    """What is refuted of a kernel or a claim, without a search for what would repair it."""
    report = prove(kernel, budget=Budget(repairs=False))
    return "\n".join(str(v) for v in report.verdicts if v.outcome is Outcome.REFUTED)


def test_a_copy_holds_under_the_repairs_of_its_report() -> None:
    report = prove(COPY)
    assert [str(f) for f in report.repairs] == ["N % 4 == 0"]
    assert {v.outcome for v in report.verdicts} == {Outcome.PROVED, Outcome.REFUTED}
    begin = time.perf_counter()
    repaired = prove(COPY.assuming(*report.repairs))
    assert repaired, repaired
    assert time.perf_counter() - begin < 5  # 0.4 s on an idle machine
    assert [v.claim.kind for v in repaired.verdicts] == [
        "arithmetic fits",
        "tensor map valid",
        "tensor map valid",
        "shared memory fits",
        "TMA copy safe",
        "TMA copy safe",
        "written once",
        "transaction bytes",
        "ring protocol",
        "happens before",
        "computes",
    ]


def test_facts_given_to_prove_are_those_of_the_kernel() -> None:
    assert prove(COPY, given=[N.multiple_of(4)])


@pytest.mark.parametrize("dtype", ["u8", "bf16", "f64"])
@pytest.mark.parametrize("slots", [1, 3])
def test_other_types_and_rings(dtype: str, slots: int) -> None:
    k = tma_copy(M, N, dtype=dtype, tile=(8, 64), slots=slots, blocks=132)
    assert prove(k.assuming(*prove(k).repairs))


def test_a_kernel_at_sizes() -> None:
    assert prove(tma_copy(100, 300, slots=4, blocks=132))
    assert "16" in refuted(tma_copy(100, 301, slots=4, blocks=132))


def _fills(op: Any) -> bool:
    return isinstance(op, Copy) and op.barrier is not None


MUTANTS: dict[str, tuple[Any, str]] = {
    "a slot too far": (
        lambda op: replace(op, dst=Ref("ring", op.dst.offset + 1024)) if _fills(op) else op,
        "shared_footprint",
    ),
    "half a slot": (
        lambda op: replace(op, dst=Ref("ring", op.dst.offset // 2)) if _fills(op) else op,
        "ring protocol",
    ),
    "bytes of another tile": (
        lambda op: replace(op, bytes=op.bytes // 2) if isinstance(op, ExpectTx) else op,
        "bytes awaited less those of the copies are 0",
    ),
    "a store that starts before the tensor": (
        lambda op: (
            replace(op, dst=Box("dst_map", (op.dst.coordinate[0] - 64, op.dst.coordinate[1])))
            if isinstance(op, Copy) and isinstance(op.dst, Box)
            else op
        ),
        "store_start_nonnegative|nonnegative",
    ),
    "a store to the rows below": (
        lambda op: (
            replace(op, dst=Box("dst_map", (op.dst.coordinate[0], op.dst.coordinate[1] + 16)))
            if isinstance(op, Copy) and isinstance(op.dst, Box)
            else op
        ),
        "dst(0,0) is never written",
    ),
    "no wait_group": (lambda op: None if isinstance(op, WaitGroup) else op, "no wait_group bulk between it and arrive"),
    "no wait for the source": (
        lambda op: None if isinstance(op, WaitGroup) and op.read else op,
        "no wait_group bulk between it and arrive",
    ),
    "no commit": (lambda op: None if isinstance(op, Commit) else op, "no commit bulk after"),
    "no wait for the fill": (
        lambda op: None if isinstance(op, Wait) and op.barrier.barrier == "full" else op,
        "no wait full comes before it",
    ),
    "no wait for the slot": (
        lambda op: None if isinstance(op, Wait) and op.barrier.barrier == "empty" else op,
        "no wait empty comes before it",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name: str) -> None:
    change, said = MUTANTS[name]
    kernel = changed(FEW, change)
    assert kernel != FEW
    stories = (refuted(c) for c in (*claims_of(kernel), kernel))  # as far as one that says so
    assert any(s in story for story in stories for s in said.split("|")), refuted(kernel)


def test_a_turn_too_few_is_not_a_cover() -> None:
    def shorter(op: Op) -> Op:
        if not isinstance(op, For):
            return op
        i = index("i", op.extent - 1)
        return For(i, rewritten(op.inside, lambda x: x.subs({op.index: i})))

    found = refuted(changed(tma_copy(M, N, tile=(16, 64), blocks=2).assuming(N.multiple_of(4)), shorter))
    assert "dst(0,0) is never written" in found, found


def test_shared_memory_of_an_architecture() -> None:
    big = tma_copy(M, N, tile=(64, 256), slots=4, blocks=132)
    assert "262208 bytes are 29760 more than a block of sm_90a may have" in refuted(big)
    assert prove(SharedMemoryFits(big, replace(SM90, shared_bytes_per_block=1 << 20)))
    k = tma_copy(M, N, tile=(16, 64), slots=2, blocks=132)
    (ring,) = [t for t in k.tensors if t.space == "shared"]
    twice = replace(k, tensors=(*k.tensors, replace(ring, name="other", base=4096)))
    assert prove(SharedMemoryFits(twice)), "nothing touches the other tensor"


def product(K: Any, tiles: int = 2) -> Kernel:
    """Two tensors on one barrier, as in a product of matrices."""
    k = Builder("two", K, grid=(4,), threads=64)
    boxes = []
    for name in "ab":
        tensor = k.global_tensor(name, "bf16", Layout((64, K), (K, 1)))
        tensor_map = TensorMap.over(Layout((K, 64), (1, K)), "bf16", (64, 64), swizzle=128)
        boxes.append(
            (k.tensor_map(f"{name}_map", tensor(), tensor_map), k.shared_tensor(f"s{name}", "bf16", Layout((4096, 2))))
        )
    full, empty = k.mbarriers("full", 2, 1), k.mbarriers("empty", 2, 1)
    with k.role("producer", 1), k.elect(), k.loop("i", -(-K // 64)) as i:
        k.wait(empty(i % 2), (i // 2 + 1) % 2)
        k.expect_tx(full(i % 2), 8192 * tiles)
        for box, shared in boxes:
            k.copy("tma.load", box(64 * i, 0), shared(4096 * (i % 2)), full(i % 2))
    with k.role("consumer", 1):
        r = k.registers("r", "bf16", 8)
        with k.loop("i", -(-K // 64)) as i:
            k.wait(full(i % 2), i // 2 % 2)
            for _, shared in boxes:
                k.copy("ld.shared.16", shared(4096 * (i % 2) + 8 * k.thread), r())
            k.warp_sync()
            with k.elect(each_warp=True):
                k.arrive(empty(i % 2))
    return k.kernel()


def test_two_copies_on_one_barrier() -> None:
    K = dim("K", multiple_of=8)
    assert prove(product(K))
    short = prove(product(K, tiles=1))
    assert "for a_map and b_map: bytes awaited less those of the copies are 0" in str(short)
    assert "before its bytes have arrived" in str(short) or "deadlock" in str(short)


def turned(fence: bool = True, meet: bool = True, reuse: bool = True) -> Kernel:
    """Warps write a tile, one thread stores it, again and again."""
    k = Builder("turned", M, grid=(4,), threads=64)
    out = k.global_tensor("out", "f32", Layout((M, 64), (64, 1)))
    box = k.tensor_map("out_map", out(), TensorMap.over(Layout((64, M), (1, 64)), "f32", (64, 2)))
    tile = k.shared_tensor("tile", "f32", Layout(128))
    r = k.registers("r", "f32", 2)
    with k.loop("i", -(-M // 8)) as i:
        if reuse:
            with k.elect():
                k.wait_group("bulk", 0, read=True)
            k.sync()
        k.copy("st.shared.8", r(), tile(2 * k.thread))
        if fence:
            k.fence("async")
        if meet:
            k.sync()
        with k.elect():
            k.copy("tma.store", tile(), box(0, 2 * (k.block[0] + 4 * i)))
            k.commit("bulk")
    with k.elect():
        k.wait_group("bulk", 0)
    return k.kernel()


def test_proxies_and_reuse() -> None:
    assert prove(HappensBefore(turned()))
    assert "no fence async after st.shared.8" in str(prove(HappensBefore(turned(fence=False))))
    assert "no barrier of the writers between fence async and" in str(prove(HappensBefore(turned(meet=False))))
    assert "no commit bulk and wait_group.read bulk 0 before st.shared.8" in str(
        prove(HappensBefore(turned(reuse=False)))
    )
    late = changed(
        turned(),
        lambda op: (Barrier(), Fence("async")) if isinstance(op, Barrier) else None if isinstance(op, Fence) else op,
    )
    assert prove(HappensBefore(late)), "the thread that issues the store knows of the writes when it fences"


def test_parts_of_warps_need_the_barrier_of_a_warp() -> None:
    def own(op: Op) -> Any:
        return WarpBarrier() if isinstance(op, Barrier) else op

    report = prove(HappensBefore(changed(turned(), own)))
    assert "no barrier" in str(report), "one thread stores what two warps wrote"


def test_an_order_under_a_condition_lacks_where_it_does_not_hold() -> None:
    def guarded(least: int) -> Verdict:
        made = changed(turned(), lambda op: If((M - least >= 0,), (op,)) if isinstance(op, Fence) else op)
        return prove(HappensBefore(made)).verdicts[0]

    assert guarded(9).outcome is Outcome.REFUTED
    assert "for M = 1: at i = 0 then at i = 0" in str(guarded(9))
    assert guarded(1).outcome is Outcome.PROVED


def test_a_product_with_slots_given_back_one_use_later() -> None:
    K = dim("K")
    k = gemm(M, N, K, tile=(64, 64), stages=3, cluster=1, blocks=2)
    assert prove(HappensBefore(k))
    assert prove(RingProtocol(k, "full"))
    assert prove(RingProtocol(k.assuming(K.multiple_of(8)), "full"))
    sizes = k.bind(M=128, N=256, K=512)
    assert machine(sizes, uses=4).run(0) is None, "two copies fill parts of one slot"
    assert not prove(HappensBefore(changed(k, lambda op: None if isinstance(op, WarpBarrier) else op)))


def accesses(width: int = 4, shift: int = 0, guard: bool = True) -> Kernel:
    k = Builder("vectors", N, grid=(-(-N // 256),), threads=64)
    x = k.global_tensor("x", "f32", Layout(N))
    r = k.registers("r", "f32", width)
    at = 256 * k.block[0] + 4 * k.thread + shift
    with k.where(*([at + width <= N] if guard else [])):
        k.copy(f"ld.global.{4 * width}", x(at), r())
    return k.kernel()


def test_vector_accesses() -> None:
    assert prove(accesses())
    assert "which 16 does not divide" in refuted(accesses(shift=1))
    found = prove(accesses(guard=False))
    assert "past the last valid" in str(found)


def test_an_empty_grid_is_refuted() -> None:
    k = Builder("whole", N, grid=(N // 64,), threads=64)
    found = prove(k.kernel())
    assert "the grid is not empty in x: N//64 >= 1" in str(found)
    assert found.verdicts[0].outcome is Outcome.REFUTED
    assert prove(k.kernel(N >= 64))


@pytest.mark.parametrize("dropped, missing", [(Fence, "no fence async after"), (Barrier, "no barrier of the writers")])
def test_a_transpose_without_its_fence_or_barrier_is_refuted(dropped: type, missing: str) -> None:
    whole = tma_transpose(M, N, dtype="bf16", tile=(64, 64), stages=2)
    assert prove(HappensBefore(whole))
    [v] = prove(HappensBefore(whole.edited(lambda op: () if isinstance(op, dropped) else (op,)))).verdicts
    assert v.outcome is Outcome.REFUTED
    assert missing in str(v)


def test_what_is_not_asked_is_said() -> None:
    k = Builder("two_stores", N, grid=(1,), threads=32)
    x, r = k.global_tensor("x", "f32", Layout(N)), k.registers("r", "f32", 1)
    with k.where(k.thread < N):
        k.copy("st.global.4", r(), x(k.thread))
    report = prove(k.kernel())
    (values,) = (note for note in report.notes if not note.startswith("assumed:"))
    assert "which values are stored" in values
    assert "x(32) is never written" in str(report)
    assert all(note.startswith("assumed:") for note in prove(COPY).notes)


def test_claims_and_bad_input() -> None:
    assert isinstance(next(c for c in claims_of(COPY) if c.kind == "written once"), WrittenOnce)
    with pytest.raises(ClaimError, match=r"expected an output \(dst\), got 'src'"):
        WrittenOnce(COPY, "src")
    for wrong in (SharedMemoryFits, HappensBefore, lambda x: WrittenOnce(x, "dst")):
        with pytest.raises(ClaimError, match="expected a kernel, got 3"):
            wrong(3)
    with pytest.raises(LayoutError, match=r"expected a mbarrier \(full, empty\), got 'no'"):
        TransactionBytes(COPY, "no")
