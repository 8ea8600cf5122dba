"""Products of every type in a running kernel: what a warp and a warpgroup leave in registers, and types that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import checkers
from checkers import Computes, WellFormed
from symlayout import Layout
from symlayout.atoms import MatrixDescriptor, atom
from symlayout.dtype import f32
from symlayout.errors import ExecutionError
from symlayout.kernel import Builder
from symlayout.kernel.specification import dot, element
from symlayout.semantics import execute, mma, wgmma
from symlayout.semantics.expected import expect_results
from symlayout.semantics.matrix import by_thread
from tests.support.atom_products import warp, warpgroup

WARP = ["mma.m16n8k16.f16.f16", "mma.m16n8k8.tf32", "mma.m16n8k32.e4m3", "mma.m16n8k32.i8"]
WARPGROUP = ["wgmma.m64n8k16.f16.f16", "wgmma.m64n16k8.tf32", "wgmma.m64n8k32.e5m2", "wgmma.m64n16k32.u8"]


def numbers(dtype, shape, seed):
    draw = np.random.RandomState(seed)
    if dtype.kind != "float":
        return draw.randint(0, 128, shape).astype(dtype.numpy())
    return draw.standard_normal(shape).astype(np.float32).astype(dtype.numpy())


@pytest.mark.parametrize("word", WARP)
def test_a_warp(word):
    row = atom(word)
    kernel, counts = warp(word)
    kinds = (row.dtype, row.dtype, row.acc_dtype)
    held = [numbers(t, (32, v), i) for i, (t, v) in enumerate(zip(kinds, counts, strict=True))]
    got = execute(kernel.bind(), dict(zip("abc", (x.T for x in held), strict=True)), "lazy")["out"]

    assert np.array_equal(got, mma(word, *held).values.T)


@pytest.mark.parametrize("order", ["eager", "lazy"])
@pytest.mark.parametrize("word", WARPGROUP)
def test_a_warpgroup(word, order):
    row, values = atom(word), by_thread(atom(word).tv_c).shape[1]
    m, n, depth = row.mnk
    kernel = warpgroup(word)
    held = {name: numbers(row.dtype, rows * depth, i) for i, (name, rows) in enumerate((("a", m), ("b", n)))}
    c = numbers(row.acc_dtype, (128, values), 3)
    got = execute(kernel.bind(), held | {"c": c.T}, order)["out"]
    shared = np.concatenate([held["a"].view(np.uint8), held["b"].view(np.uint8)])
    start = {"a": MatrixDescriptor(0, 128, 256), "b": MatrixDescriptor(m * 32, 128, 256)}

    assert np.array_equal(got, wgmma(word, shared, start["a"], start["b"], c).values.T)


def dots(word, steps=1, kept=None):
    """c = a b^T of a warp, fragments straight from row-major matrices; the result has sums in the instruction's type."""
    row = atom(word)
    kind, sums, per = row.dtype, row.acc_dtype, 4 // row.dtype.bytes
    kept = sums.name if kept is None else kept
    depth = steps * row.mnk[2]
    k = Builder("dots", grid=(1,), threads=32)
    a = k.global_tensor("a", kind, Layout((16, depth), (depth, 1)))
    b = k.global_tensor("b", kind, Layout((8, depth), (depth, 1)))
    c = k.global_tensor("c", sums, Layout((16, 8), (8, 1)))
    of_a, of_b, acc = (
        k.registers("of_a", kind, 4 * per),
        k.registers("of_b", kind, 2 * per),
        k.registers("acc", sums, 4),
    )
    g, i = k.thread // 4, k.thread % 4
    for step in range(steps):
        first = step * row.mnk[2] + per * i
        for w in range(4):
            k.copy("ld.global.4", a((g + 8 * (w % 2)) * depth + first + 4 * per * (w // 2)), of_a(per * w))
        for w in range(2):
            k.copy("ld.global.4", b(g * depth + first + 4 * per * w), of_b(per * w))
        k.mma(word, of_a(), of_b(), acc(), zero=int(step == 0))
    for w in range(2):
        k.copy(f"st.global.{2 * sums.bytes}", acc(2 * w), c((g + 8 * w) * 8 + 2 * i))
    k.result("c", lambda m, n: dot(depth, lambda j: (element("a", m, j), element("b", n, j)), kept))
    return k.kernel()


@pytest.mark.parametrize("word", [*WARP, "mma.m16n8k16.bf16", "mma.m16n8k32.u8"])
@pytest.mark.parametrize("steps", [1, 3])
def test_what_a_warp_computes_is_proved(word, steps):
    kernel = dots(word, steps)
    [verdict] = checkers.prove(Computes(kernel, "c")).verdicts

    expect_results(kernel.bind(), "lazy")
    assert verdict.outcome.value == "proved"


def test_sums_of_halves_in_f16_are_not_those_in_f32():
    narrow = checkers.prove(Computes(dots("mma.m16n8k16.f16.f16", 9, ""), "c"))

    assert narrow.verdicts[0].outcome.value == "refuted", narrow
    assert checkers.prove(Computes(dots("mma.m16n8k16.f16", 9, ""), "c"))


def test_registers_of_another_type_are_no_product():
    kernel, counts = warp("mma.m16n8k16.f16.f16", sums=f32)
    held = [numbers(t, (32, v), 0) for t, v in zip((atom(WARP[0]).dtype,) * 2 + (f32,), counts, strict=True)]

    verdict = checkers.prove(WellFormed(kernel)).verdicts[0]
    assert verdict.outcome.value == "refuted"
    assert "expected registers of f16, got c_held" in str(verdict)
    with pytest.raises(ExecutionError, match=r"expected registers of f16, got c_held.* of f32"):
        execute(kernel.bind(), dict(zip("abc", (x.T for x in held), strict=True)))
    assert checkers.prove(WellFormed(warp("mma.m16n8k8.tf32")[0])).verdicts[0].outcome.value == "proved"
