"""Integers as the code computes them: partial results that 32 bits do not hold, and the kernels that hold them in 64.

The older tests ask the final offset of an access alone, as an integer of any size and under the predicate around it.
The predicate itself is computed too: ``first + width <= N`` wraps to a negative number in the last block, is true, and
the access it guards leaves the tensor. No test looked at a value that is not an offset, and no run reaches 2^31.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import ArithmeticFits, Budget, prove, with_widths
from symlayout import Layout, ceil_div, dim, dims
from symlayout.answers.report import Outcome, Verdict
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.integer_widths import widened
from symlayout.kernels import tma_reduce_add, vector_copy
from tests.support.kernel_families import FAMILIES
from tests.support.rows import telling

N = dim("N")
NARROW = replace(vector_copy(N, dtype="bf16"), wide=())  # as with index_bits=32


def refuted(kernel: Kernel, **options: Any) -> list[Verdict]:
    return [v for v in prove(ArithmeticFits(kernel), **options).verdicts if v.outcome is Outcome.REFUTED]


def test_the_predicate_of_the_last_vector_wraps() -> None:
    (v,) = refuted(NARROW)

    assert "1024*block_x + 8*thread + 8 = 2147483648, past the last valid 2147483647: 32 bits hold -2147483648" in str(
        v
    )
    assert [str(f) for f in v.repairs] == ["N <= 2147482624"]
    assert "or 1024*block_x + 8*thread + 8 has 64 bits (checkers.with_widths)" in v.condition


def test_the_witness_is_what_32_bit_hardware_computes() -> None:
    (v,) = refuted(NARROW)
    n = np.int32(v.witness.sizes["N"])
    block, thread = np.int32((int(n) + 1023) // 1024 - 1), np.int32(127)
    with np.errstate(over="ignore"):
        first = np.int32(8) * (np.int32(128) * block + thread)
        assert first + np.int32(8) <= n  # so the access is made
    assert int(first) + 8 > int(n)  # and leaves the tensor


def test_either_way_out_is_one() -> None:
    assert not prove(NARROW)
    assert prove(NARROW.assuming(N <= 2147482624))
    assert refuted(NARROW.assuming(N <= 2147482625), budget=Budget(repairs=False))
    wide = with_widths(NARROW)
    assert [str(x) for x in wide.wide] == ["1024*block_x + 8*thread + 8"]
    assert prove(wide)
    assert prove(replace(NARROW, index_bits=64))


NAMED = {f.name: f for f in FAMILIES[::-1]}  # one of each: the integers of other types and tiles are the same


@pytest.mark.parametrize("family", telling(FAMILIES, *NAMED.values()), ids=lambda f: f.word)
def test_families_hold_each_partial_result_at_all_sizes(family: Any, share: Any) -> None:
    kernel = family.build()
    assert prove(ArithmeticFits(kernel))
    assert kernel.wide
    for i in range(0, len(kernel.wide), -(-len(kernel.wide) // share(15))):  # and need every one of 64 bits
        less = replace(kernel, wide=kernel.wide[:i] + kernel.wide[i + 1 :])
        parts = ArithmeticFits(less).parts()
        assert not all(prove(p, budget=Budget(repairs=False)) for p in parts), kernel.wide[i]


def product(extra: Any = ()) -> Kernel:
    """A store at row*ld, where all rows are of numbers that fit."""
    M, ld = dims("M ld")
    k = Builder("rows", M, ld, grid=(M,), threads=32, index_bits=32)
    x, r = k.global_tensor("x", "f32", Layout((M, 32), (ld, 1))), k.registers("r", "f32", 1)
    k.fill(r())
    row = k.let("row", k.block[0])
    k.copy("st.global.4", r(), x(ld * row + k.thread))
    return k.kernel(*extra)


def test_a_product_of_sizes() -> None:
    found = refuted(product())
    assert any("ld*row = " in str(v) for v in found)
    assert [str(x) for x in with_widths(product()).wide] == ["ld*row"]
    M, ld = dims("M ld")
    assert with_widths(product((M <= 2**15, ld <= 2**15))).wide == ()


def trips(extent: Any) -> Kernel:
    k = Builder("trips", N, grid=(1,), threads=32, index_bits=32)
    r = k.registers("r", "f32", 1)
    with k.loop("i", extent):
        k.fill(r())
    return k.kernel()


@pytest.mark.parametrize(
    "extent, told",
    [
        (N, None),
        (ceil_div(N, 128), "N + 127 = 2147483648"),
        (3 * N // 4, "3*N = 2147483649"),
        (N * N, "N*N = "),
        (N + 2**31, None),  # a number of more than 32 bits makes the sum one of 64
    ],
    ids=str,
)
def test_trip_counts(extent: Any, told: str | None) -> None:
    found = refuted(trips(extent), budget=Budget(repairs=False))
    assert any(told in str(v) for v in found) if told else not found, [str(v) for v in found]


def test_what_is_taken_modulo_a_power_of_two_may_wrap() -> None:
    """A count of uses modulo the slots of a ring: wrapping leaves its low bits."""
    i, steps = dims("i steps")

    def slot(extent: Any) -> Kernel:
        k = Builder("slots", i, steps, grid=(1,), threads=32, index_bits=32)
        r = k.registers("r", "f32", 4)
        k.fill(r((i * steps + 5) // 2 % extent))
        return k.kernel()

    assert prove(ArithmeticFits(slot(4)))
    assert "i*steps = " in str(refuted(slot(3), budget=Budget(repairs=False))[0])


def test_a_size_past_32_bits_is_a_parameter_of_64() -> None:
    L = dim("L", at_most=2**40)
    k = Builder("long", L, grid=(1,), threads=32, index_bits=32)
    k.fill(k.registers("r", "f32", 1)())
    kernel = k.kernel()

    assert "L = 2147483648" in str(refuted(kernel, budget=Budget(repairs=False))[0])
    assert with_widths(kernel).wide == (L,)
    assert prove(with_widths(kernel))


def test_conditions_around_count_and_the_one_at_hand_does_not() -> None:
    """Of `if N <= 1000: if N*N <= 1000` the product fits; of `if N*N <= 1000` alone it does not."""

    def guarded(*conditions: Any) -> Kernel:
        k = Builder("guarded", N, grid=(1,), threads=32, index_bits=32)
        r = k.registers("r", "f32", 1)
        with contextlib.ExitStack() as stack:
            for c in conditions:
                stack.enter_context(k.where(c))
            k.fill(r())
        return k.kernel()

    inside, alone = guarded(N <= 1000, N * N <= 1000), guarded(N * N <= 1000)
    assert prove(ArithmeticFits(inside))
    assert with_widths(inside).wide == ()
    assert [str(x) for x in widened(inside).wide] == ["N*N"]  # ranges do not know of the condition
    assert "N*N = " in str(refuted(alone, budget=Budget(repairs=False))[0])


def test_what_rests_on_the_reach_of_addresses_says_so() -> None:
    S = dim("S")
    M, L = dims("M L")
    reached = prove(ArithmeticFits(tma_reduce_add(S, M, L)))
    assert "global tensors of at most 2^57 bytes" in reached.verdicts[0].method
    assert "bytes" not in prove(ArithmeticFits(vector_copy(N))).verdicts[0].method
