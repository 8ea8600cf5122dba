"""A run faults where a partial result does not fit its bits, instead of computing in integers of any size."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from symlayout import Layout, dim
from symlayout.errors import ExecutionError
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.semantics import execute

N = dim("N")


def copied(place: Any, bits: int | None = 32, trips: Any = 1) -> Kernel:
    """dst[thread] = src[place(thread)], some times over."""
    k = Builder("copied", N, grid=(1,), threads=32, index_bits=bits)
    src, dst = (k.global_tensor(name, "u32", Layout(32)) for name in ("src", "dst"))
    r = k.registers("r", "u32", 1)
    with k.loop("i", trips):
        k.copy("ld.global.4", src(place(k.thread)), r())
        k.copy("st.global.4", r(), dst(k.thread))
    return k.kernel()


SRC = {"src": np.arange(32, dtype=np.uint32)}


def test_a_product_on_the_way_to_a_small_offset() -> None:
    kernel = copied(lambda t: (N * t) // N)
    assert np.array_equal(execute(kernel.bind(N=5), SRC)["dst"], SRC["src"])

    kernel = copied(lambda t: minimum(t * (1 << 27), 31))
    message = r"expected 134217728\*thread to fit the 32 bits in which it is held, got 2147483648, which wraps to -21"
    with pytest.raises(ExecutionError, match=message):
        execute(kernel.bind(N=1), SRC)
    wide = replace(kernel, index_bits=64).bind(N=1)
    assert np.array_equal(execute(wide, SRC)["dst"], np.minimum(np.arange(32) * 31, 31))
    chosen = copied(lambda t: minimum(t * (1 << 27), 31), None)
    assert np.array_equal(execute(chosen.bind(N=1), SRC)["dst"], np.minimum(np.arange(32) * 31, 31))


def test_sizes_alone_that_are_numbers_once_they_are_bound() -> None:
    kernel = copied(lambda t: t, trips=(N * N) % 3 + 1)
    assert np.array_equal(execute(kernel.bind(N=40000), SRC)["dst"], SRC["src"])
    with pytest.raises(ExecutionError, match=r"expected N\*N to fit the 32 bits .* got 2500000000"):
        execute(kernel.bind(N=50000), SRC)
    assert np.array_equal(execute(copied(lambda t: t, None, (N * N) % 3 + 1).bind(N=50000), SRC)["dst"], SRC["src"])


def test_what_is_not_carried_out_is_not_computed() -> None:
    k = Builder("guarded", N, grid=(1,), threads=32, index_bits=32)
    dst, r = k.global_tensor("dst", "u32", Layout(32)), k.registers("r", "u32", 1)
    k.fill(r(), 7)
    with k.where(N <= 10):
        k.fill(r(), 8)
        with k.where(N * N * N * N <= 10000):
            k.fill(r(), 9)
    k.copy("st.global.4", r(), dst(k.thread))
    kernel = k.kernel()

    assert set(execute(kernel.bind(N=1000), {})["dst"]) == {7}
    assert set(execute(kernel.bind(N=10), {})["dst"]) == {9}


def test_a_kernel_that_was_edited_after_it_was_bound() -> None:
    bound = copied(lambda t: t).bind(N=7)
    assert np.array_equal(execute(bound.edited(lambda op: (op, op)), SRC)["dst"], SRC["src"])


def test_a_count_of_uses_modulo_a_power_of_two_may_wrap() -> None:
    kernel = copied(lambda t: (t * N * N) % 32)
    n = 60001
    assert np.array_equal(execute(kernel.bind(N=n), SRC)["dst"], np.arange(32) * n * n % 32)
