"""Sums of products whose registers are moved between two products, and loops of products that are followed at once."""

from __future__ import annotations

import pytest

from checkers.claims import Computes
from checkers.prover import verdicts
from symlayout import Layout
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import dot, element
from symlayout.semantics.expected import expect_results

WORD, K = "mma.m16n8k16.f16", 32
HALVES = {"rows below": (2, 2), "rows above": (0, 2), "all": (0, 4), "a column of one": (3, 1)}


def judged(kernel: Kernel) -> Outcome:
    (found,) = verdicts(Computes(kernel, "c"))
    return found.outcome


def runs_right(kernel: Kernel) -> bool:
    try:
        expect_results(kernel)
    except ExecutionError:
        return False
    return True


def loads(b: Builder, source, rows: int, row, registers, first: int, k: int) -> None:
    """Fragments of 16 columns of K: of A (16 rows) or B (8)."""
    group, i = b.thread // 4, b.thread % 4
    for v in range(rows // 2):
        at = (row + group + 8 * (v // 2 % 2) if rows == 16 else group, 2 * i + v % 2 + 8 * (v // (rows // 4)))
        b.copy("ld.global.2", source(K * at[0] + k + at[1]), registers(first + v))


def kernel(body, tiles: int = 1, out=lambda p: p) -> Kernel:
    """c = a b^T of 16 rows a tile by 8 columns: *body* multiplies what was loaded, all tiles and both halves of K."""
    b = Builder("moved", grid=(1,), threads=32)
    a, y = (
        b.global_tensor("a", "f16", Layout((16 * tiles, K), (K, 1))),
        b.global_tensor("b", "f16", Layout((8, K), (K, 1))),
    )
    c = b.global_tensor("c", "f32", Layout((16 * tiles, 8), (8, 1)))
    of_a, of_b, acc = (
        b.registers(n, t, m) for n, t, m in (("of_a", "f16", 16 * tiles), ("of_b", "f16", 8), ("acc", "f32", 4 * tiles))
    )
    for half in range(2):
        for p in range(tiles):
            loads(b, a, 16, 16 * p, of_a, 8 * (tiles * half + p), 16 * half)
        loads(b, y, 8, 0, of_b, 4 * half, 16 * half)
    b.fill(acc(), 0, 4 * tiles)
    body(b, of_a, of_b, acc)
    for p in range(tiles):
        for v in range(4):
            at = 8 * (16 * p + b.thread // 4 + 8 * (v // 2)) + 2 * (b.thread % 4) + v % 2
            b.copy("st.global.4", acc(4 * out(p) + v), c(at))
    b.result("c", lambda i, j: dot(K, lambda q: (element("a", i, q), element("b", j, q))))
    return b.kernel()


def two_halves(b, of_a, of_b, acc, between=lambda b, acc: None):
    b.mma(WORD, of_a(0), of_b(0), acc())
    between(b, acc)
    b.mma(WORD, of_a(8), of_b(4), acc())
    between(b, acc)


@pytest.mark.parametrize("lane", [1, 4])
@pytest.mark.parametrize("first, count", HALVES.values(), ids=HALVES)
def test_sums_that_change_places_between_two_products_are_not_those_of_the_result(first, count, lane):
    """Back at their places at the end, they have products of other rows or columns in them."""
    wrong = kernel(lambda *x: two_halves(*x, lambda b, acc: b.shuffle("bfly", acc(first), acc(first), lane, count)))

    assert not runs_right(wrong)
    assert judged(wrong) is Outcome.REFUTED
    assert judged(kernel(two_halves)) is Outcome.PROVED


def by_loops(acc_of, a_of, b_of, extents=(2, 2)):
    def body(b, of_a, of_b, acc):
        with b.loop("p", extents[0], unroll="full") as p, b.loop("q", extents[1], unroll="full") as q:
            b.mma(WORD, of_a(a_of(p, q)), of_b(b_of(p, q)), acc(acc_of(p, q)))

    return body


@pytest.mark.parametrize(
    "acc_of, a_of, b_of, right",
    [
        (lambda p, q: 4 * q, lambda p, q: 16 * p + 8 * q, lambda p, q: 4 * p, True),  # halves of K outside
        (lambda p, q: 4 * p, lambda p, q: 16 * q + 8 * p, lambda p, q: 4 * q, True),  # and inside: sums in order
        (lambda p, q: 4 * (1 - q), lambda p, q: 16 * p + 8 * q, lambda p, q: 4 * p, False),  # tiles in other registers
        (lambda p, q: 4 * q, lambda p, q: 16 * p + 8 * q, lambda p, q: 0, False),  # one half of B
        (lambda p, q: 4 * q, lambda p, q: 16 * p, lambda p, q: 4 * p, False),  # one tile of A
        (lambda p, q: 4 * ((p + q) % 2), lambda p, q: 16 * p + 8 * q, lambda p, q: 4 * p, False),
    ],
)
def test_loops_of_products(acc_of, a_of, b_of, right):
    made = kernel(by_loops(acc_of, a_of, b_of), tiles=2)

    assert runs_right(made) is right
    assert judged(made) is (Outcome.PROVED if right else Outcome.REFUTED)


def test_tiles_that_end_in_other_places_than_they_are_stored_from():
    swapped = kernel(by_loops(lambda p, q: 4 * q, lambda p, q: 16 * p + 8 * q, lambda p, q: 4 * p), 2, lambda p: 1 - p)

    assert judged(swapped) is Outcome.REFUTED
