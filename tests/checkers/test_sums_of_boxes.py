"""Sums of what tensor copies bring: elements beyond the end are zeros, which add nothing and bound nothing."""

from __future__ import annotations

from typing import Any

import pytest

from checkers import Computes, prove
from symlayout import Layout, ceil_div, dims
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernel.specification import Value
from symlayout.results import applied, element, scalar, total
from symlayout.semantics.expected import expect_results
from symlayout.tma import TensorMap

M, N = dims("M N")
ROWS, COLUMNS, LANES = 8, 32, 4


def row_sums(
    function: str = "add",
    step: int = COLUMNS,
    of: Any = N,
    read: int = COLUMNS,
    first: int = 0,
    fill: str | None = None,
    extent: Any = None,
) -> Kernel:
    """dst[m] = the fold of src[m, :of]: a thread loads boxes of 8 x 32, a warp folds four lanes a row of them."""
    k = Builder("row_sums", M, N, grid=(ceil_div(M, ROWS),), threads=64)
    whole = TensorMap.over(Layout((N, M), (1, N)), "f32", (COLUMNS, ROWS), **({"oob_fill": fill} if fill else {}))
    src = k.tensor_map("src_map", k.global_tensor("src", "f32", Layout((M, N), (N, 1)))(), whole)
    dst = k.global_tensor("dst", "f32", Layout(M))
    ring = make_ring(k, "ring", "f32", Layout((COLUMNS, ROWS)), slots=2, consumers=1)
    (block,), steps = k.block, ceil_div(of if extent is None else extent, step)
    with k.role("producer", 1), k.elect(), k.loop("i", steps) as i, ring.produce(i) as slot:
        k.copy("tma.load", src(first + step * i, ROWS * block), slot.at(), slot.full)
    with k.role("consumer", 1):
        x, part, acc = k.registers("x", "f32", 4), k.registers("part", "f32", 1), k.registers("acc", "f32", 1)
        row, lane = k.thread // LANES, k.thread % LANES
        k.fill(acc(), 0 if function == "add" else float("-inf"))
        with k.loop("i", steps) as i, ring.consume(i) as slot, k.loop("j", read // 16, unroll="full") as j:
            k.copy("ld.shared.16", slot.at(COLUMNS * row + 16 * j + 4 * lane), x())
            k.reduce(function, x(), part(), 4)
            k.map(function, (acc(), part()), acc())
        k.reduce(function, acc(), acc(), 1, lanes=LANES)
        with k.where(ROWS * block + row < M, lane < 1):
            k.copy("st.global.4", acc(), dst(ROWS * block + row))
    k.result("dst", lambda m: total(of, lambda n: element("src", m, n), function))
    return k.kernel(N.multiple_of(4), *([] if of is N else [of <= N]))


def open_lemma(kernel: Kernel) -> str:
    """Why a proof is open, without runs that may refute it."""
    return Computes(kernel, "dst").lemma(Facts.about(*kernel.dims, given=kernel.given))


def test_zeros_beyond_the_end_add_nothing():
    kernel = row_sums()
    assert prove(Computes(kernel, "dst"))
    for m, n in ((1, 4), (9, 36), (8, 32)):
        expect_results(kernel.bind(M=m, N=n), "lazy")


@pytest.mark.parametrize(
    "options",
    [
        {"function": "max"},  # of negative elements a zero is the greatest
        {"of": 20},  # elements behind the sum are those of the tensor, not zeros
        {"of": 20, "extent": N},
        {"step": COLUMNS // 2},  # boxes overlap
        {"step": 2 * COLUMNS},
        {"read": COLUMNS // 2},
        {"first": 4},
        {"first": -4},
        {"extent": N - 4},
        {"fill": "nan"},
    ],
    ids=str,
)
def test_other_sums_are_not_proved(options: dict[str, Any]):
    assert open_lemma(row_sums(**options))


def test_an_element_that_no_condition_keeps_inside_is_told():
    assert "where it is not below N, too: expected a condition" in open_lemma(row_sums("max"))


def rounded(kind: str) -> Kernel:
    """dst = bf16(alpha src), the product rounded to a type, through two stages of cp.async."""
    k = Builder("rounded", N, grid=(4,), threads=32)
    src, dst = k.global_tensor("src", "f32", Layout(N)), k.global_tensor("dst", "bf16", Layout(N))
    alpha, tile = k.parameter("alpha", "f32"), k.shared_tensor("tile", "f32", Layout((128, 2)))
    x, y, at = k.registers("x", "f32", 4), k.registers("y", "bf16", 4), 4 * k.thread
    (block,) = k.block
    trips = (ceil_div(N, 128) - block + 3) // 4

    def fetch(i: Any) -> None:
        with k.where(i < trips, 128 * (block + 4 * i) + at < N):
            k.copy("cp.async.16", src(128 * (block + 4 * i) + at), tile(128 * (i % 2) + at))
        k.commit("cp.async")

    fetch(0)
    with k.loop("i", trips) as i:
        fetch(i + 1)
        k.wait_group("cp.async", 1)
        with k.where(128 * (block + 4 * i) + at < N):
            k.copy("ld.shared.16", tile(128 * (i % 2) + at), x())
            k.map("mul", (alpha, x()), x(), 4)
            k.map("convert", (x(),), y(), 4)
            k.copy("st.global.8", y(), dst(128 * (block + 4 * i) + at))

    def value(i: Any) -> Value:
        return applied("convert", applied("mul", scalar(alpha), element("src", i), dtype=kind), dtype="bf16")

    k.result("dst", value)
    return k.kernel(N.multiple_of(4))


def test_the_reason_is_that_of_the_walk_that_sees_more():
    """It was that a value was left by an earlier iteration, which is so of the other way to walk a pipeline."""
    assert not open_lemma(rounded("f32"))
    told = 'mul is rounded to f32, not to bf16, the type of the output; dtype="f32" in the result says so'
    assert told in open_lemma(rounded(""))
