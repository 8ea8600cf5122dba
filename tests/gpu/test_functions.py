"""The functions of registers in generated code: each compiles, for each type that it has."""

import pytest

import gpu
from gpu.codegen import emit
from gpu.codegen.numbers import applied
from symlayout import Layout
from symlayout.atoms.functions import FUNCTIONS, INTEGERS
from symlayout.dtype import DType
from symlayout.kernel import Builder
from tests.support.compilers import NEEDS_COMPILER

TYPES = ("f32", "f64", "f16", "bf16")
WITHOUT = {("convert", kind) for kind in TYPES} | {("fma", "f64"), ("relu", "f16"), ("relu", "bf16")}


def every(*kinds):
    """A kernel that applies each function of some types to two registers of its own."""
    k, words = Builder("every", grid=(1,), threads=32), []
    for kind in kinds:
        mine = [w for w, row in FUNCTIONS.items() if row.has(DType.of(kind)) and (w, kind) not in WITHOUT]
        nbytes, end = DType.of(kind).bytes, f"_{kind}" if len(kinds) > 1 else ""
        x = k.global_tensor(f"x{end}", kind, Layout(64))
        out = k.global_tensor(f"out{end}", kind, Layout(64 * len(mine)))
        given, r = k.registers(f"given{end}", kind, 2), k.registers(f"r{end}", kind, 2 * len(mine))
        for i in range(2):
            k.copy(f"ld.global.{nbytes}", x(2 * k.thread + i), given(i))
        for n, word in enumerate(mine):
            k.map(word, (given(),) * len(FUNCTIONS[word].counts), r(2 * n), 2)
            for i in range(2):
                k.copy(f"st.global.{nbytes}", r(2 * n + i), out(64 * n + 2 * k.thread + i))
        words += mine
    return words, k.kernel()


@NEEDS_COMPILER
@pytest.mark.parametrize("kind", TYPES)
def test_functions_compile(kind):
    words, kernel = every(kind)

    assert gpu.compile(emit(kernel).text).kernel("every").parameters
    assert len(words) >= 10


@NEEDS_COMPILER
def test_functions_of_integers_compile():
    words, kernel = every(*INTEGERS)

    assert gpu.compile(emit(kernel).text, max_registers=255).kernel("every").parameters
    assert {"shl", "select", "not", "le"} <= set(words)


def test_choices_and_shifts_are_operators():
    text = emit(every("i32", "u32")[1]).text

    assert "= (given_i32[e] < given_i32[e] ? int32_t(1) : int32_t(0));" in text
    assert "= (given_u32[e] != uint32_t(0) ? given_u32[e] : given_u32[e]);" in text
    assert "(uint32_t(given_i32[e]) < 32u ? int32_t(uint32_t(given_i32[e]) << given_i32[e]) : int32_t(0))" in text
    assert "= (given_i32[e] >> (uint32_t(given_i32[e]) < 32u ? given_i32[e] : 32 - 1));" in text


def test_approximate_and_packed_functions_are_instructions():
    texts = {kind: emit(every(kind)[1]).text for kind in TYPES}

    assert "ex2_approx_f32(given[e])" in texts["f32"]
    assert "__frcp_rn(given[e])" in texts["f32"]
    assert "= fma_bf16x2(vector<4>(&given[0]), vector<4>(&given[0]), vector<4>(&given[0]));" in texts["bf16"]
    assert "__ushort_as_half(tanh_approx_f16(__half_as_ushort(given[e])))" in texts["f16"]
    assert '"ex2.approx.ftz.bf16x2 %0, %1;"' in texts["bf16"]


@pytest.mark.parametrize("kind, out, guarded", [
    ("f32", "i32", False), ("f16", "u8", False), ("f32", "i64", True), ("e4m3", "u64", True), ("f64", "i32", True),
    ("f64", "i8", True),
])  # fmt: skip
def test_a_nan_becomes_0_where_the_instruction_makes_another_number_of_it(kind, out, guarded):
    """PTX ISA, cvt: of f64, and to 64 bits, a NaN becomes the greatest bit alone."""
    text = applied("convert", [DType.of(kind)], DType.of(out), ["x"])

    assert ("== " in text) is guarded
    assert (" : 0)" in text) is guarded
