"""The functions of registers in generated code: each compiles, for each type that it has."""

import pytest

import gpu
from gpu.codegen import emit
from gpu.compiling import toolchains
from symlayout import Layout
from symlayout.atoms.functions import FUNCTIONS
from symlayout.dtype import DType
from symlayout.kernel import Builder

TYPES = ("f32", "f64", "f16", "bf16")
WITHOUT = {("convert", kind) for kind in TYPES} | {("fma", "f64"), ("relu", "f16"), ("relu", "bf16")}


def every(kind):
    """A kernel that applies each function of a type to two registers of its own."""
    k = Builder("every", grid=(1,), threads=32)
    words = [w for w, row in FUNCTIONS.items() if row.has(DType.of(kind)) and (w, kind) not in WITHOUT]
    nbytes = DType.of(kind).bytes
    x = k.global_tensor("x", kind, Layout(64))
    out = k.global_tensor("out", kind, Layout(64 * len(words)))
    given, r = k.registers("given", kind, 2), k.registers("r", kind, 2 * len(words))
    for i in range(2):
        k.copy(f"ld.global.{nbytes}", x(2 * k.thread + i), given(i))
    for n, word in enumerate(words):
        k.map(word, (given(),) * len(FUNCTIONS[word].counts), r(2 * n), 2)
        for i in range(2):
            k.copy(f"st.global.{nbytes}", r(2 * n + i), out(64 * n + 2 * k.thread + i))
    return words, k.kernel()


@pytest.mark.skipif(
    all(kind.found() is None for kind in toolchains.TOOLCHAINS.values()),
    reason=f"no compiler here; {toolchains.INSTALL}",
)
@pytest.mark.parametrize("kind", TYPES)
def test_functions_compile(kind):
    words, kernel = every(kind)

    assert gpu.compile(emit(kernel).text).kernel("every").parameters
    assert len(words) >= 10


def test_approximate_and_packed_functions_are_instructions():
    texts = {kind: emit(every(kind)[1]).text for kind in TYPES}

    assert "ex2_approx_f32(given[e])" in texts["f32"]
    assert "__frcp_rn(given[e])" in texts["f32"]
    assert "= fma_bf16x2(vector<4>(&given[0]), vector<4>(&given[0]), vector<4>(&given[0]));" in texts["bf16"]
    assert "__ushort_as_half(tanh_approx_f16(__half_as_ushort(given[e])))" in texts["f16"]
    assert '"ex2.approx.ftz.bf16x2 %0, %1;"' in texts["bf16"]
