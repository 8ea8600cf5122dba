"""Kernels whose sums are rounded, cut or placed otherwise than they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.value_flow import KINDS, trials
from checkers import Computes
from checkers.dataflow.rounding import exact
from symlayout import Layout, dim
from symlayout.dtype import DTYPES, DType
from symlayout.expr import minimum
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import applied, element, entry, total
from tests.refuted.test_value_flow import L, expect_right, expect_wrong, flat

# -- rounding -------------------------------------------------------------------------------------------


def through(chain: tuple[tuple[str, str], ...], results: Any, dtypes: tuple[str, str] = ("f32", "f32")) -> Kernel:
    """x through functions of one source, (function, type of the result), to z."""

    def body(k: Builder, x: Any, z: Any) -> None:
        at, sizes = 32 * k.block[0] + k.thread, [DType.of(d).bytes for d in dtypes]
        held = k.registers("r", dtypes[0], 1)
        k.copy(f"ld.global.{sizes[0]}", x(at), held())
        for i, (function, dtype) in enumerate(chain):
            made = k.registers(f"r{i}", dtype, 1)
            k.map(function, (held(), held()) if function == "add" else (held(),), made())
            held = made
        k.copy(f"st.global.{sizes[1]}", held(), z(at))

    return flat(body, dtypes=dtypes, results=results)


def twice(dtype: str = "") -> Any:
    return lambda i: applied("add", element("x", i), element("x", i), dtype=dtype)


ROUNDED = {
    "before it is added": (through((("convert", "bf16"), ("add", "f32")), twice()), "bf16 before it is used"),
    "by 8 bits before it is added": (through((("convert", "e4m3"), ("add", "f32")), twice()), "e4m3 before it is used"),
    "after it is added, to less": (through((("add", "f16"), ("convert", "f32")), twice()), ""),
    "to fewer bits, then stored": (through((("add", "bf16"), ("convert", "f32")), twice()), ""),
    "in two steps": (through((("add", "f32"), ("convert", "bf16")), twice(), ("f32", "bf16")), "rounded to f32"),
    "in one step instead of two": (through((("add", "bf16"),), twice("f32"), ("f32", "bf16")), "rounded to bf16"),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_values_that_are_rounded_otherwise(name: str) -> None:
    kernel, why = ROUNDED[name]
    found = Computes(kernel, "z")._followed()[1]
    assert found
    assert why in found
    if "step" not in name:  # x + x is exact
        expect_wrong(kernel, why, L=64)


EXACT = {
    "f32 sums of bf16": through((("convert", "f32"), ("add", "f32")), twice(), ("bf16", "f32")),
    "f32 sums of bf16, stored as bf16": through(
        (("convert", "f32"), ("add", "f32"), ("relu", "f32"), ("convert", "bf16")),
        lambda i: applied("relu", twice("f32")(i), dtype="f32"),
        ("bf16", "bf16"),
    ),
    "a conversion that the result names": through(
        (("convert", "e4m3"), ("add", "f32")),
        lambda i: applied("add", *[applied("convert", element("x", i), dtype="e4m3")] * 2),
    ),
    "integers as floats": through((("convert", "f32"), ("add", "f32")), twice(), ("i8", "f32")),
}


@pytest.mark.parametrize("name", EXACT)
def test_values_that_are_rounded_as_stated(name: str) -> None:
    expect_right(EXACT[name], L=8)


@pytest.mark.parametrize("pair", [("f32", "f16"), ("f32", "e4m3"), ("f32", "i8"), ("bf16", "f32"), ("i32", "e5m2")])
def test_one_conversion_is_the_rounding(pair: tuple[str, str]) -> None:
    expect_right(through((("convert", pair[1]),), lambda i: element("x", i), pair), L=40)


def test_types_that_hold_all_numbers_of_others() -> None:
    """Against all numbers of 8 and 16 bits."""
    small = [d for d in DTYPES if d.bits in (8, 16) and d.kind in ("int", "uint", "float") and d.name != "ue8m0"]
    for a in small:
        with np.errstate(all="ignore"):
            every = np.arange(1 << a.bits).astype(f"u{a.bytes}").view(a.numpy()).astype(np.float64)
        for b in (
            d for d in DTYPES if d.kind in ("int", "uint", "float") and d.bits >= 8 and d.name not in ("ue8m0", "tf32")
        ):
            with np.errstate(all="ignore"):
                same = np.array_equal(every, every.astype(b.numpy()).astype(np.float64), equal_nan=True)
            assert same or not exact(a, b), (a, b)
            assert exact(a, b) or not same or b.kind != "float", (a, b)


# -- conditions -----------------------------------------------------------------------------------------


def ragged(function: str, last: int) -> Kernel:
    """Threads beyond L compute with what they did not load; those up to *last* beyond it store it."""
    k = Builder("ragged", L, grid=((L + 31) // 32,), threads=32)
    x, z = (k.global_tensor(name, "f32", Layout(L)) for name in "xz")
    a, at = k.registers("a", "f32", 1), 32 * k.block[0] + k.thread
    with k.where(at + 1 < L if last else at < L):
        k.copy("ld.global.4", x(at), a())
    k.map(function, (a(), a()) if function == "add" else (a(),), a())
    with k.where(at < L):
        k.copy("st.global.4", a(), z(at))
    of = element("x", 0)
    k.result("z", lambda i: applied(function, *[replace(of, at=(i,))] * (2 if function == "add" else 1)))
    return k.kernel()


@pytest.mark.parametrize("function", ["add", "neg"])
def test_what_is_computed_under_no_condition_is_there_only_where_it_was_loaded(function: str) -> None:
    expect_right(ragged(function, 0), L=77)
    expect_wrong(ragged(function, 1), "what need not have been written", L=77)


# -- offsets --------------------------------------------------------------------------------------------


def rastered(shift: int = 0, turned: int = 0) -> Kernel:
    """Tiles of 8 x 8, the number of which gives row and column; loaded *shift* elements aside, *turned* tiles on."""
    m, n = dim("M", multiple_of=8), dim("N", multiple_of=8)
    k = Builder("rastered", m, n, grid=(3,), threads=64)
    x, z = (k.global_tensor(name, "f32", Layout((m, n), (n, 1))) for name in "xz")
    a, tiles = k.registers("a", "f32", 1), m // 8 * (n // 8)

    def at(tile: Any) -> Any:
        return n * (8 * (tile // (n // 8)) + k.thread // 8) + 8 * (tile % (n // 8)) + k.thread % 8

    with k.loop("t", (tiles - k.block[0] + 2) // 3) as t:
        tile = k.block[0] + 3 * t
        with k.where(tile + turned < tiles):
            k.copy("ld.global.4", x(at(tile + turned) + shift), a())
            k.copy("st.global.4", a(), z(at(tile)))
    k.result("z", lambda i, j: element("x", i, j))
    return k.kernel()


def test_rows_and_columns_of_the_number_of_a_tile() -> None:
    expect_right(rastered(), M=24, N=16)
    expect_wrong(rastered(turned=1), "", M=24, N=16)
    assert Computes(rastered(shift=1), "z")._followed()[1]


# -- folds ----------------------------------------------------------------------------------------------


def bag(row: int = 0, last: int = 1, function: str = "add") -> Kernel:
    """The sum of each row that a tensor of indices names, two elements at a time, one a lane."""
    m, n = dim("M"), dim("N", multiple_of=2)
    k = Builder("bag", L, m, n, grid=(m,), threads=32)
    x, z = k.global_tensor("x", "f32", Layout((L, n), (n, 1))), k.global_tensor("z", "f32", Layout(m))
    idx, a = k.global_tensor("idx", "i32", Layout(m)), k.registers("a", "f32", 2)
    acc, every = k.registers("acc", "f32", 2), k.registers("every", "f32", 1)
    picked = k.load_index("picked", idx(minimum(k.block[0] + row, m - 1)), within=(0, L))
    k.fill(acc(), 0, 2)
    with k.loop("i", (n + 63) // 64) as i:
        at = 64 * i + 2 * k.thread
        with k.where(at + last <= n):
            k.copy("ld.global.8", x(n * picked + at), a())
            k.map(function, (acc(), a()), acc(), 2)
    k.reduce("add", acc(), every(), 2, 32)
    with k.where(k.thread < 1):
        k.copy("st.global.4", every(), z(k.block[0]))
    k.result("z", lambda m: total(n, lambda n: element("x", entry("idx", m), n)))
    return k.kernel()


def test_sums_of_rows_that_are_named_by_indices() -> None:
    expect_right(bag(), L=9, M=7, N=134)
    expect_right(bag(last=2), L=9, M=7, N=134)
    expect_wrong(bag(row=1), "", L=9, M=7, N=134)
    expect_wrong(bag(last=3), "", L=9, M=7, N=134)
    expect_wrong(bag(last=-1), "", L=9, M=7, N=134)
    expect_wrong(bag(function="sub"), "", L=9, M=7, N=134)


# -- the campaign ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_a_slice_of_the_campaign(name: str, share: Callable[[int], int]) -> None:
    wrong = [j for j in trials(name, share(40), 2) if j.kind in ("wrong", "strict", "crash")]
    assert not wrong
