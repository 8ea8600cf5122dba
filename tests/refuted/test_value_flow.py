"""Kernels that store something else than they say, each by a slip that ``Computes`` once took for right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from checkers import Computes, prove
from checkers.budget import Budget
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.errors import LayoutError, SymlayoutError
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernel.specification import applied, dot, element, entry
from symlayout.ops import Ref, Slot
from symlayout.semantics.expected import expect_results
from symlayout.tma import TensorMap

L = dim("L")
M, N, K = dim("M", multiple_of=16), dim("N", multiple_of=8), dim("K", multiple_of=16)
MMA = "mma.m16n8k16.bf16"


def expect_wrong(kernel: Kernel, why: str, **sizes: int) -> None:
    """A run at these sizes ends with something else, and the claim says that it is not followed, and why."""
    output = kernel.results[0].tensor
    with pytest.raises(SymlayoutError):
        expect_results(kernel.bind(**sizes), "eager", output)
    assert why in Computes(kernel, output)._followed()[1]
    (v,) = prove(Computes(kernel, output), budget=Budget(repairs=False)).verdicts
    assert v.outcome is not Outcome.PROVED


def expect_right(kernel: Kernel, **sizes: int) -> None:
    output = kernel.results[0].tensor
    expect_results(kernel.bind(**sizes), "eager", output)
    assert Computes(kernel, output)._followed()[1] == ""


def flat(
    body: Callable[..., None],
    *,
    blocks: Any = L,
    threads: int = 32,
    dtypes: tuple[str, str] = ("f32", "f32"),
    results: Any = lambda i: element("x", i),
) -> Kernel:
    """A kernel from a vector x to a vector z of 32 elements a block; *body* builds it."""
    k = Builder("flat", L, grid=(blocks,), threads=threads)
    x, z = (k.global_tensor(name, dtype, Layout(32 * L)) for name, dtype in zip("xz", dtypes, strict=True))
    body(k, x, z)
    k.result("z", results)
    return k.kernel()


# -- names, places and types ----------------------------------------------------------------------------


def test_a_role_changes_registers_of_all() -> None:
    def body(k: Builder, x: Any, z: Any) -> None:
        a = k.registers("a", "f32", 1)
        k.copy("ld.global.4", x(32 * k.block[0] + k.thread), a())
        with k.role("r", 1):
            k.map("add", (a(), a()), a())
        k.copy("st.global.4", a(), z(32 * k.block[0] + k.thread))

    expect_wrong(flat(body), "registers a are used in a role and outside of roles", L=2)


def test_a_loop_in_a_loop_of_its_name() -> None:
    def body(k: Builder, x: Any, z: Any) -> None:
        a = k.registers("a", "f32", 1)
        with k.loop("i", L) as i:
            k.copy("ld.global.4", x(32 * i + k.thread), a())
            with k.loop("i", L) as j:
                k.copy("st.global.4", a(), z(32 * j + k.thread))

    expect_wrong(flat(body, blocks=1), "a loop over i inside another of that name", L=3)


@pytest.mark.parametrize("kind, function", [("i32", "convert"), ("i32", "neg"), ("u32", "add")])
def test_bits_of_one_type_are_numbers_of_another(kind: str, function: str) -> None:
    def body(k: Builder, x: Any, z: Any) -> None:
        a, b = k.registers("a", kind, 1), k.registers("b", "f32", 1)
        at = 32 * k.block[0] + k.thread
        k.copy("ld.global.4", x(at), a())
        k.map(function, (a(), a()) if function == "add" else (a(),), b())
        k.copy("st.global.4", b(), z(at))

    values = {
        "convert": lambda i: element("x", i),
        "neg": lambda i: applied("neg", element("x", i)),
        "add": lambda i: applied("add", element("x", i), element("x", i)),
    }
    expect_wrong(flat(body, results=values[function]), f"takes a for {kind}, and it holds f32", L=2)


def test_tensors_that_overlap_in_shared_memory() -> None:
    def body(k: Builder, x: Any, z: Any) -> None:
        s, t = (k.shared_tensor(name, "f32", Layout(32)) for name in "st")
        k.tensors[-1] = replace(k.tensors[-1], base=64)
        a, at = k.registers("a", "f32", 1), 32 * k.block[0] + k.thread
        k.copy("ld.global.4", x(at), a())
        k.copy("st.shared.4", a(), s(k.thread))
        k.fill(a(), 0)
        k.copy("st.shared.4", a(), t(k.thread))
        k.sync()
        k.copy("ld.shared.4", s(k.thread), a())
        k.copy("st.global.4", a(), z(at))

    expect_wrong(flat(body), "t has the same bytes of shared memory, and was written", L=2)


def in_common(early: bool, parted: bool = False) -> Kernel:
    """A tile is turned around twice, through two tensors in the same bytes; *early* reads the first too late."""
    k = Builder("in_common", L, grid=(L,), threads=64 if parted else 32)
    x, z = (k.global_tensor(name, "f32", Layout(32 * L)) for name in "xz")
    s, t = (k.shared_tensor(name, "f32", Layout(32)) for name in "st")
    k.tensors[-1] = replace(k.tensors[-1], base=0)
    at = 32 * k.block[0] + k.thread % 32

    def body(a: Any, b: Any, thread: Any) -> None:
        k.copy("ld.global.4", x(at), a())
        k.copy("st.shared.4", a(), s(31 - thread))
        k.sync()
        k.copy("ld.shared.4", s(thread), b())
        k.sync()
        k.copy("st.shared.4", b(), t(31 - thread))
        k.sync()
        k.copy("ld.shared.4", s(31 - thread) if early else t(thread), b())
        k.copy("st.global.4", b(), z(at))

    if not parted:
        body(k.registers("a", "f32", 1), k.registers("b", "f32", 1), k.thread)
    else:
        with k.role("one", 1):
            a = k.registers("a", "f32", 1)
            k.copy("ld.global.4", x(32 * k.block[0] + k.thread), a())
            k.copy("st.shared.4", a(), s(k.thread))
            k.sync()
            k.sync()
            k.copy("ld.shared.4", s(k.thread), a())
            k.copy("st.global.4", a(), z(32 * k.block[0] + k.thread))
        with k.role("two", 1):
            c = k.registers("c", "f32", 1)
            k.fill(c(), 7)
            k.sync()
            k.copy("st.shared.4", c(), t(k.thread))
            k.sync()
    k.result("z", lambda i: element("x", i))
    return k.kernel()


def test_tensors_in_the_same_bytes_one_after_the_other() -> None:
    expect_right(in_common(False), L=3)
    assert "has the same bytes" in Computes(in_common(True), "z")._followed()[1]
    expect_wrong(in_common(False, True), "is handed from role to role", L=3)


def test_a_size_that_is_named_as_the_thread() -> None:
    k = Builder("k", dim("thread", at_least=0, at_most=31), grid=(1,), threads=32)
    with pytest.raises(LayoutError, match="expected a size of a name that no index has in k, got 'thread'"):
        k.kernel()


def test_the_contract_of_a_value_that_is_not_read_says_nothing() -> None:
    k = Builder("k", M, N, grid=(1,), threads=32)
    x, z = k.global_tensor("x", "f32", Layout((N, 32), (32, 1))), k.global_tensor("z", "f32", Layout((1, 32), (32, 1)))
    idx, a = k.global_tensor("idx", "i32", Layout(4)), k.registers("a", "f32", 1)
    with k.where(M >= 1_000_000):
        row = k.load_index("row", idx(0), within=(0, N))
        k.copy("ld.global.4", x(32 * row + k.thread), a())
    other = k.load_index("other", idx(0), within=(0, N + 5))
    k.copy("ld.global.4", x(32 * other + k.thread), a())
    k.copy("st.global.4", a(), z(k.thread))
    k.result("z", lambda i, j: element("x", entry("idx", i), j))
    assert "may be 0 .. N + 4, of N" in Computes(k.kernel(), "z")._followed()[1]


# -- sums -----------------------------------------------------------------------------------------------


class Product:
    """c = a b^T by one warp a block, 16 x 8 elements at a time, with operands straight from global memory."""

    def __init__(self, m: Any, n: Any, k: Any, grid: tuple[Any, ...]) -> None:
        sizes = [x for x in (m, n, k) if not isinstance(x, int)]
        self.k, self.sizes = Builder("product", *dict.fromkeys(sizes), grid=grid, threads=32), (m, n, k)
        self.a, self.b = (
            self.k.global_tensor(name, "bf16", Layout((rows, k), (k, 1))) for name, rows in (("a", m), ("b", n))
        )
        self.c = self.k.global_tensor("c", "f32", Layout((m, n), (n, 1)))
        self.of_a, self.of_b = self.k.registers("of_a", "bf16", 8), self.k.registers("of_b", "bf16", 4)
        self.acc = self.k.registers("acc", "f32", 4)

    def multiply(self, m: Any, n: Any, k: Any, zero: Any = 0) -> None:
        row, column = self.k.thread // 4 % 8, 2 * (self.k.thread % 4)
        K = self.sizes[2]
        for v, (r, c) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8))):
            self.k.copy("ld.global.4", self.a(K * (m + row + r) + k + column + c), self.of_a(2 * v))
        for v, c in enumerate((0, 8)):
            self.k.copy("ld.global.4", self.b(K * (n + row) + k + column + c), self.of_b(2 * v))
        self.k.mma(MMA, self.of_a(), self.of_b(), self.acc(), zero)

    def store(self, m: Any, n: Any) -> None:
        row, column = self.k.thread // 4 % 8, 2 * (self.k.thread % 4)
        for v, r in enumerate((0, 8)):
            self.k.copy("st.global.8", self.acc(2 * v), self.c(self.sizes[1] * (m + row + r) + n + column))

    def kernel(self) -> Kernel:
        self.k.result("c", lambda i, j: dot(self.sizes[2], lambda k: (element("a", i, k), element("b", j, k))))
        return self.k.kernel()


def product(change: Callable[[Product], None], first: bool = True) -> Kernel:
    """A product, with a *change* of the sums at the begin or the end of each turn."""
    p = Product(M, N, K, (M // 16, N // 8))
    m, n = 16 * p.k.block[0], 8 * p.k.block[1]
    p.k.fill(p.acc(), 0, 4)
    with p.k.loop("i", K // 16) as i:
        if first:
            change(p)
        p.multiply(m, n, 16 * i)
        if not first:
            change(p)
    p.store(m, n)
    return p.kernel()


CHANGES: dict[str, Callable[[Product], None]] = {
    "doubled": lambda p: p.k.map("add", (p.acc(), p.acc()), p.acc(), 4),
    "negated": lambda p: p.k.map("neg", (p.acc(),), p.acc(), 4),
    "of another lane": lambda p: p.k.shuffle("bfly", p.acc(), p.acc(), 1, 4),
    "of another element": lambda p: p.k.shuffle("idx", p.acc(0), p.acc(1), p.k.thread % 32),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("first", [True, False])
def test_sums_that_are_changed_in_each_turn(name: str, first: bool) -> None:
    expect_wrong(product(CHANGES[name], first), "", M=16, N=8, K=64)


def test_a_product_is_followed() -> None:
    expect_right(product(lambda p: None), M=32, N=8, K=64)


def test_accumulators_that_change_places_in_each_turn() -> None:
    p = Product(M, N, K, (M // 16, N // 8))
    other, spare = p.k.registers("other", "f32", 4), p.k.registers("spare", "f32", 4)
    m, n = 16 * p.k.block[0], 8 * p.k.block[1]
    p.k.fill(p.acc(), 0, 4)
    p.k.fill(other(), 0, 4)
    with p.k.loop("i", K // 16) as i:
        for a, b in ((p.acc, spare), (other, p.acc), (spare, other)):
            p.k.shuffle("idx", a(), b(), p.k.thread % 32, 4)
        p.multiply(m, n, 16 * i)
        p.k.mma(MMA, p.of_a(), p.of_b(), other())
    p.store(m, n)
    assert Computes(p.kernel(), "c")._followed()[1]


@pytest.mark.parametrize("zero", [lambda j: 0, lambda j: 1 - minimum(j, 1)])
def test_sums_that_are_not_cleared_between_tiles(zero: Any) -> None:
    p = Product(M, N, 16, (M // 16,))
    p.k.fill(p.acc(), 0, 4)
    with p.k.loop("j", N // 8) as j:
        p.multiply(16 * p.k.block[0], 8 * j, 0, zero(j))
        p.store(16 * p.k.block[0], 8 * j)
    expect_wrong(p.kernel(), "it is a sum of this iteration and of earlier ones", M=16, N=24)


def test_the_index_of_a_sum_is_no_other_of_its_name() -> None:
    p = Product(K, 8, K, (1,))
    p.k.fill(p.acc(), 0, 4)
    with p.k.loop("i", K // 16) as i:
        p.multiply(16 * i, 0, 16 * i)
    with p.k.loop("i", K // 16) as i:
        p.store(16 * i, 0)
    expect_wrong(p.kernel(), "expected another name", K=32)


# -- rings ----------------------------------------------------------------------------------------------


def begun(slots: int, ahead: int) -> Kernel:
    """Rows through a ring of which all slots are filled before the first wait; then row i + *ahead* in turn i."""
    k = Builder("begun", L, grid=(1,), threads=64)
    x, z = (k.global_tensor(name, "f32", Layout((L + slots, 32), (32, 1))) for name in "xz")
    rows = k.tensor_map("rows", x(), TensorMap.over(Layout((32, L + slots), (1, 32)), "f32", (32, 1)))
    ring = make_ring(k, "ring", "f32", Layout(32), slots=slots, consumers=1)
    with k.role("producer", 1), k.elect():
        with k.loop("p", slots) as p:
            k.expect_tx(Slot("full", p), 128)
            k.copy("tma.load", rows(0, p), Ref("ring", 32 * p), Slot("full", p))
        with k.loop("i", L) as i:
            k.wait(Slot("empty", i % slots), i // slots % 2)
            k.expect_tx(Slot("full", i % slots), 128)
            k.copy("tma.load", rows(0, i + ahead), Ref("ring", 32 * (i % slots)), Slot("full", i % slots))
    with k.role("consumer", 1):
        r = k.registers("r", "f32", 1)
        with k.loop("j", L) as j, ring.consume(j) as slot:
            k.copy("ld.shared.4", slot.at(k.thread), r())
            k.copy("st.global.4", r(), z(32 * j + k.thread))
    k.result("z", lambda i, j: element("x", i, j))
    return k.kernel()


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_fills_without_waits_count_as_uses(slots: int) -> None:
    expect_wrong(begun(slots, 0), "is not seen to be filled", L=7)


def test_a_fill_by_the_first_warp_only_is_no_fill_of_the_others() -> None:
    k = Builder("k", L, grid=(1,), threads=96)
    x, z = (k.global_tensor(name, "f32", Layout((2, 32), (32, 1))) for name in "xz")
    rows = k.tensor_map("rows", x(), TensorMap.over(Layout((32, 2), (1, 32)), "f32", (32, 1)))
    ring = make_ring(k, "ring", "f32", Layout(64), slots=1, consumers=1)
    with k.role("producer", 2), k.elect(each_warp=True), k.elect(), ring.produce(0) as slot:
        k.copy("tma.load", rows(0, k.thread // 32), slot.at(32 * (k.thread // 32)), slot.full)
    with k.role("consumer", 1):
        r = k.registers("r", "f32", 1)
        with ring.consume(0) as slot:
            for half in range(2):
                k.copy("ld.shared.4", slot.at(k.thread + 32 * half), r())
                k.copy("st.global.4", r(), z(32 * half + k.thread))
    k.result("z", lambda i, j: element("x", i, j))
    expect_wrong(k.kernel(), "nobody wrote it", L=1)
