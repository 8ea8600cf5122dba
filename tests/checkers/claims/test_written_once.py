"""Outputs are written once: families and other kernels for all sizes, and each way not to be, with who does it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import WrittenOnce
from checkers.coverage.store_sites import outputs, reduced
from checkers.coverage.writes import Writes
from checkers.trusted.certificate_checker import verify
from symlayout import Layout, TensorMap, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ClaimError, SymlayoutError
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import cp_async_copy, gemm, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Copy, Elect, If, Op, Ref
from symlayout.semantics.execute import run
from symlayout.semantics.machine import GlobalTensor
from tests.support.kernel_families import FAMILIES, Family
from tests.support.storing_kernels import ORDERS, chunked, in_boxes, stored, story, vectors_and_rest, verdict

M, N, K = dims("M N K")


# -- the oracle: a run that counts ----------------------------------------------------------------------


def counted(bound: Kernel, name: str, given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """How often a run writes each element of a tensor, in the order of the layout."""
    tensor = bound.tensor(name)
    size = tensor.dtype.bytes
    times = np.zeros(int(tensor.layout.cosize()) * size, dtype=np.int64)
    plain = GlobalTensor.wrote

    def wrote(self: GlobalTensor, at: Any, op: int) -> None:
        if self.tensor.name == name:
            np.add.at(times, np.asarray(at).ravel()[np.asarray(at).ravel() < len(times)], 1)
        plain(self, at, op)

    with monkeypatch.context() as m:
        m.setattr(GlobalTensor, "wrote", wrote)
        run(bound, given, "eager")
    each = times.reshape(-1, size)[tensor.layout.offsets()]
    assert (each == each[:, :1]).all(), "whole elements are written"
    return each[:, 0]


def arrays(bound: Kernel) -> dict[str, np.ndarray]:
    """Ones for all tensors in global memory."""
    shapes = {t.name: (t.layout.shape, t.dtype.numpy()) for t in bound.tensors if t.space == "global"}
    return {name: np.ones(shape, dtype=kind) for name, (shape, kind) in shapes.items()}


STORING = [f for f in FAMILIES if not reduced(f.build())]


@pytest.mark.parametrize("family", STORING, ids=lambda f: f.word)
def test_families_write_each_element_once(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = family.build()
    for name in outputs(kernel):
        v = verdict(kernel, name)
        assert v.outcome is Outcome.PROVED, v
        assert v.certificate is not None
        verify(v.certificate)
        for sizes in family.sizes[:6]:
            assert set(Writes(kernel.bind(**sizes), name).times) == {1}


@pytest.mark.parametrize(
    "options", [{}, {"cluster": 2}, {"tile": (64, 64), "group": 1}, {"tile": (192, 128), "group": 3}]
)
def test_products_write_each_element_once(options: dict[str, Any]) -> None:
    kernel = gemm(*dims("M N K", multiple_of=8), **options)
    assert verdict(kernel, "c").outcome is Outcome.PROVED
    for m, n in ((8, 8), (200, 136), (1040, 264), (264, 1032)):
        assert set(Writes(kernel.bind(M=m, N=n, K=8), "c").times) == {1}


RUNS: list[tuple[Kernel, dict[str, int]]] = [
    (vector_copy(N, threads=64), {"N": 701}),
    (cp_async_copy(N, stages=3, threads=64, blocks=2), {"N": 1032}),
    (tma_copy(M, N, tile=(8, 32), slots=2, blocks=2), {"M": 20, "N": 100}),
    (tma_transpose(M, N, dtype="f32", tile=(32, 64), stages=2, blocks=2), {"M": 36, "N": 68}),
]


@pytest.mark.parametrize("kernel, sizes", RUNS, ids=lambda x: getattr(x, "name", ""))
def test_writes_are_those_of_a_run(kernel: Kernel, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The enumeration against the untimed run, of the kernel and of what becomes of it with a store changed."""

    def stores_twice(op: Op) -> tuple[Op, ...]:
        return (op, op) if isinstance(op, Copy) and op.atom.startswith(("st.global", "tma.store")) else (op,)

    def anyone(op: Op) -> tuple[Op, ...]:
        return (
            op.body if isinstance(op, Elect) and any(getattr(x, "atom", "") == "tma.store" for x in op.body) else (op,)
        )

    def unguarded(op: Op) -> tuple[Op, ...]:
        return op.body if isinstance(op, If) and len(op.condition) == 2 else (op,)

    for change in (lambda op: (op,), stores_twice, anyone, unguarded):
        bound = kernel.bind(**sizes).edited(change)
        try:
            ran = counted(bound, "dst", {"src": arrays(bound)["src"]}, monkeypatch)
        except SymlayoutError:
            continue  # what faults counts nothing
        assert (Writes(bound, "dst").times == ran).all()


# -- refuted --------------------------------------------------------------------------------------------


def of_stores(f: Callable[[Copy], Any]) -> Callable[[Op], tuple[Op, ...]]:
    def change(op: Op) -> tuple[Op, ...]:
        if isinstance(op, Copy) and op.atom.startswith(("st.global", "tma.store")):
            made = f(op)
            return made if isinstance(made, tuple) else (made,)
        return (op,)

    return change


def moved(op: Copy, by: int, entry: int = 0) -> Copy:
    if isinstance(op.dst, Ref):
        return replace(op, dst=replace(op.dst, offset=op.dst.offset + by))
    at = list(op.dst.coordinate)
    at[entry] = at[entry] + by
    return replace(op, dst=replace(op.dst, coordinate=tuple(at)))


G = gemm(*dims("M N K", multiple_of=8))
T = tma_transpose(*dims("M N", multiple_of=8), tile=(128, 64))


def part(n: int, f: Callable[[Copy], Any]) -> Callable[[Op], tuple[Op, ...]]:
    """A change of the n-th store in the text."""
    seen = itertools.count()
    return of_stores(lambda op: f(op) if next(seen) == n else op)


WRONG: dict[str, tuple[Kernel, str, str]] = {
    "a part of a product is forgotten": (G.edited(part(1, lambda op: ())), "c", "c(0,64) is never written"),
    "a part is stored over another": (G.edited(part(1, lambda op: moved(op, -64))), "c", "c(0,0) is written 2 times"),
    "warps store the same rows": (
        G.edited(of_stores(lambda op: replace(op, dst=replace(op.dst, coordinate=(op.dst.coordinate[0], 0))))),
        "c",
        "c(0,0) is written",
    ),
    "all lanes store": (
        G.edited(lambda op: op.body if isinstance(op, Elect) and op.each_warp and len(op.body) == 2 else (op,)),
        "c",
        "c(0,0) is written 32 times: by tma.store",
    ),
    "one warp stores for all": (
        G.edited(lambda op: (replace(op, each_warp=False),) if isinstance(op, Elect) and op.each_warp else (op,)),
        "c",
        "c(16,0) is never written",
    ),
    "a box of two is forgotten": (T.edited(part(1, lambda op: ())), "dst", "dst(0,64) is never written"),
    "a tail that vectors overlap": (
        vector_copy(N).edited(lambda op: op.body if isinstance(op, If) and len(op.body) == 1 and not isinstance(op.body[0], Copy) else (op,)),
        "dst",
        "dst(0) is written 2 times: by st.global.16",
    ),
    "no tail": (
        vector_copy(N).edited(lambda op: () if isinstance(op, If) and "for j" in str(op.body[0]) else (op,)),
        "dst",
        "dst(0) is never written",
    ),
    "an element off": (vector_copy(N).edited(of_stores(lambda op: moved(op, 1))), "dst", "dst(0) is never written"),
    "doubled": (cp_async_copy(N).edited(of_stores(lambda op: (op, op))), "dst", "dst(0) is written 2 times"),
    "one of four rounds": (
        cp_async_copy(N).edited(of_stores(lambda op: moved(op, 128))),
        "dst",
        "dst(0) is never written",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_who_writes_wrongly_is_told(name: str) -> None:
    kernel, tensor, says = WRONG[name]
    assert says in story(kernel, tensor)


def test_a_grid_too_small_or_too_large() -> None:
    def copy(grid: Any) -> Kernel:
        k = Builder("copy", N, grid=(grid,), threads=64)
        src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
        x, at = k.registers("x", "f32", 1), 64 * k.block[0] + k.thread
        with k.where(at < N):
            k.copy("ld.global.4", src(at), x())
            k.copy("st.global.4", x(), dst(at))
        return k.kernel()

    assert verdict(copy(ceil_div(N, 64))).outcome is Outcome.PROVED
    assert "is never written" in story(copy(N // 64))
    assert verdict(copy(ceil_div(N, 64) + 1)).outcome is Outcome.PROVED, "the last CTA has nothing to do"


# -- other kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("width", [1, 4])
def test_chunks_in_any_order(order: str, width: int) -> None:
    assert verdict(chunked(width, 64, 3, order=order)).outcome is Outcome.PROVED


@pytest.mark.parametrize("by", ["rows", "columns"])
def test_boxes_of_warps(by: str) -> None:
    step = 8 if by == "rows" else 16
    assert verdict(in_boxes((8, 16), 3, 4, step=step, by=by)).outcome is Outcome.PROVED
    assert "written" in story(in_boxes((8, 16), 3, 4, step=step - 4, by=by))
    assert "never written" in story(in_boxes((8, 16), 3, 4, step=step + 4, by=by))


def test_rows_of_any_length() -> None:
    """A CTA for each row, threads along it: no tile of numbers, but one map."""
    k = Builder("rows", M, N, grid=(M,), threads=64)
    dst, x = k.global_tensor("dst", "f32", Layout((M, N), (N, 1))), k.registers("x", "f32", 1)
    with k.loop("j", ceil_div(N, 64)) as j, k.where(64 * j + k.thread < N):
        k.copy("st.global.4", x(), dst(N * k.block[0] + 64 * j + k.thread))
    v = verdict(k.kernel())
    assert v.outcome is Outcome.PROVED, v
    wide = k.kernel().edited(lambda op: (replace(op, condition=(M >= 1,)),) if isinstance(op, If) else (op,))
    assert "written 2 times" in story(wide)


LD, B = dim("ld"), dim("B")


def test_rows_some_way_apart() -> None:
    def rows(m: Any, height: Any, wide: Any, *facts: Any) -> Verdict:
        grid = (ceil_div(N, 32), height)
        at, when = lambda c, r, t: LD * r + 32 * c + t, lambda c, r, t: (32 * c + t < wide,)
        return verdict(stored(Layout((m, N), (LD, 1)), grid, at, when, *facts))

    assert rows(M, M, N, LD >= N).outcome is Outcome.PROVED
    assert rows(M, M, N + 1, LD >= N).outcome is Outcome.REFUTED, "a row ends where the next may begin"
    assert rows(M, M, N + 1, LD >= N + 1).outcome is Outcome.UNKNOWN, "between the rows there is nothing to tell"
    assert rows(1, 2, N, LD >= N).outcome is Outcome.PROVED, "what is past the last row is no element"
    assert rows(1, 2, N).outcome is Outcome.REFUTED, "and may be one where rows overlap"
    assert rows(M, M + 1, N, LD >= N).outcome is Outcome.PROVED
    assert rows(M, M - 1, N, LD >= N, M >= 2).outcome is Outcome.REFUTED


def test_tensors_of_three_modes() -> None:
    layout, grid = Layout((B, M, N), (M * N, N, 1)), (ceil_div(N, 32), M, B)
    when = lambda c, m, b, t: (32 * c + t < N,)  # noqa: E731
    right = stored(layout, grid, lambda c, m, b, t: M * N * b + N * m + 32 * c + t, when)
    assert verdict(right).outcome is Outcome.PROVED
    assert "written" in story(stored(layout, grid, lambda c, m, b, t: M * N * b + N * b + 32 * c + t, when))


def test_vectors_and_then_the_rest() -> None:
    v = verdict(vectors_and_rest())
    assert v.outcome is Outcome.PROVED
    assert v.method.startswith("two stretches")
    assert "is written 2 times: by st.global.16" in story(vectors_and_rest(more=1))
    assert "is never written" in story(vectors_and_rest(more=-1))
    assert "is never written" in story(vectors_and_rest(rest=-1))
    assert "CTA 1" in story(vectors_and_rest(alone=False))
    assert verdict(vectors_and_rest(rest=1)).outcome is Outcome.PROVED, "one past the end is not of the tensor"


def test_what_is_not_shown_is_unknown_with_its_reason() -> None:
    k = Builder("mixed", N, grid=(1,), threads=32)
    dst, x = k.global_tensor("dst", "f32", Layout((1, N), (N, 1))), k.registers("x", "f32", 1)
    m = k.tensor_map("m", dst(), TensorMap.over(Layout((N, 1), (1, N)), "f32", (32, 1)))
    tile = k.shared_tensor("tile", "f32", Layout(32))
    with k.elect():
        k.copy("tma.store", tile(), m(0, 0))
    with k.loop("i", N // 32) as i, k.where(32 * i + 32 + k.thread < N):
        k.copy("st.global.4", x(), dst(32 * i + 32 + k.thread))
    v = verdict(k.kernel(N.multiple_of(4)))
    assert v.outcome is Outcome.UNKNOWN
    assert v.open == "how the boxes of dst meet what is stored to it in other ways"
    k = Builder("anyone", N, grid=(1,), threads=64)
    dst, x = k.global_tensor("dst", "f32", Layout(N)), k.registers("x", "f32", 1)
    with k.elect(each_warp=True), k.where(k.thread % 32 + k.thread // 32 < N):
        k.copy("st.global.4", x(), dst(k.thread % 32 + k.thread // 32))
    kernel = k.kernel(N <= 2, N >= 2)
    assert verdict(kernel).outcome is Outcome.UNKNOWN, "with the first lanes it is right"
    assert Writes(kernel.bind(N=2), "dst").wrong() == ""
    assert Writes(kernel.bind(N=2), "dst").doubts
    assert "dst(1) is never written" in story(
        kernel.edited(lambda op: (replace(op, each_warp=False),) if isinstance(op, Elect) else (op,))
    )


def test_bad_input() -> None:
    with pytest.raises(ClaimError, match="expected a kernel, got 3"):
        WrittenOnce(3, "dst")
    with pytest.raises(ClaimError, match=r"expected an output \(dst\), got 'src'"):
        WrittenOnce(RUNS[0][0], "src")
    for family in FAMILIES:
        kernel = family.build()
        for name in reduced(kernel):
            with pytest.raises(ClaimError, match="which a reduction updates"):
                WrittenOnce(kernel, name)
