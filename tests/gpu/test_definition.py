"""The definition of a kernel as a program: its text, run on NumPy arrays, has the bits of the NumPy reference."""

import re
from dataclasses import replace

import numpy as np
import pytest

import gpu
from gpu.definition import define
from gpu.definition.comparison import RANK, SIZES, TEXT
from gpu.definition.values import BITWISE, CHOSEN, COMPARED, DOUBLES, WRAPPED
from gpu.differential import data
from gpu.guards import shape_of
from symlayout import Layout, dim, dims
from symlayout.atoms.functions import map_function
from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import gemm, gemm_mma, gemm_simt, vector_copy
from symlayout.results import applied, element, entry, total
from symlayout.semantics.expected import expected
from symlayout.semantics.telling import Kind, hashed, tellings
from tests.support import definition_text
from tests.support.compilers import NEEDS_COMPILER
from tests.support.kernel_families import FAMILIES, Family

PRODUCTS = (
    Family("gemm", "gemm", lambda: gemm(*dims("M N K"), cluster=1, blocks=2)),
    Family("gemm_f16", "gemm", lambda: gemm(*dims("M N K"), dtype="f16", cluster=1, blocks=2)),
    Family("gemm_simt", "gemm_simt", lambda: gemm_simt(*dims("M N K"))),
    Family("gemm_mma", "gemm_mma", lambda: gemm_mma(*dims("M N K"))),
)
MOST_ELEMENTS = 1 << 14


def defined(kernel, bound, inputs):
    """What the printed definition computes, by output, as arrays of the tensors' shapes."""
    definition, found = define(kernel), {}
    flat = {}
    for name, x in inputs.items():
        if name in {t.name for t in bound.tensors}:
            flat[name] = laid_out(bound.tensor(name), x)
    scalars = {p.name: p.dtype.numpy().type(inputs[p.name]) for p in bound.parameters}
    for output in definition.outputs:
        tensor = bound.tensor(output.tensor)
        wanted = np.zeros(int(tensor.layout.cosize()), tensor.dtype.numpy())
        definition_text.run(definition, output, {**flat, **scalars, **dict(bound.sizes)}, wanted)
        found[output.tensor] = strided(tensor, wanted)
    return found


def strided(tensor, held):
    steps = tensor.layout.stride if isinstance(tensor.layout.stride, tuple) else (tensor.layout.stride,)
    return np.lib.stride_tricks.as_strided(held, shape_of(tensor), [int(d) * held.itemsize for d in steps])


def laid_out(tensor, x):
    held = np.zeros(int(tensor.layout.cosize()), tensor.dtype.numpy())
    strided(tensor, held)[...] = x
    return held


def bits(x):
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


@pytest.mark.parametrize("family", [*FAMILIES, *PRODUCTS], ids=lambda f: f.word)
def test_the_text_of_a_definition_has_the_bits_of_the_reference(family):
    kernel = family.build()
    some = [at for at in family.sizes if np.prod(list(at.values()), dtype=float) <= MOST_ELEMENTS][:3]
    for at in some:
        bound = kernel.bind(**at)
        for _, inputs in data.data_sets(bound):
            wanted, found = data.wanted(bound, inputs), defined(kernel, bound, inputs)
            assert set(found) == set(wanted) == set(bound.written)
            for name, x in wanted.items():
                assert (bits(found[name]) == bits(x)).all(), (family.word, at, name)
    assert some


@pytest.mark.parametrize("family", [*FAMILIES, *PRODUCTS], ids=lambda f: f.word)
def test_the_text_that_fills_inputs_has_the_numbers_of_the_formulas(family):
    kernel = family.build()
    bound, definition = kernel.bind(**family.sizes[-1]), define(kernel)
    of, sets = {t.tensor.name: t for t in tellings(bound)}, dict(data.data_sets(bound))
    seen = set()
    for function in definition.inputs:
        word, tensor = function.name.partition("_")[0], bound.tensor(function.tensor)
        wanted = sets[word][tensor.name]
        if word == data.NUMBERS and of[tensor.name].kind is Kind.MOVED:
            wanted = any_bits(of[tensor.name])
        held = np.zeros(int(tensor.layout.cosize()), tensor.dtype.numpy())
        definition_text.run(definition, function, dict(bound.sizes), held.view(_held(function) or held.dtype))
        assert (bits(strided(tensor, held)) == bits(wanted)).all(), function.name
        seen.add((word, tensor.name))
    assert seen >= {(data.NUMBERS, name) for name in of}


def any_bits(telling):
    """The numbers of what is moved, though few would be 1001, 2002, .. on the host."""
    count, size = int(telling.tensor.layout.size()), telling.tensor.dtype.bytes
    found = (hashed(np.arange(count, dtype=np.uint64), telling.seed) >> np.uint64(8)).astype(f"u{size}")
    x = found.view(telling.tensor.dtype.numpy())
    if telling.tensor.dtype.kind == "float":
        with np.errstate(invalid="ignore"):
            nan = np.isnan(x)
        found[nan] &= ~found.dtype.type(1 << 8 * size - 2)
    return x.reshape(shape_of(telling.tensor))


def _held(function):
    """The type of what a function writes, where that is bits."""
    found = re.match(r"(u?int\d+)_t", next(a.ctype for a in function.arguments if a.kind == "wanted"))
    return found[1] if found else None


# -- functions -----------------------------------------------------------------------------------------------------


def computing(value, kind, out=None, names="xyz"):
    """A kernel of one warp whose result is a value of x, y and z; its operations are beside the point."""
    k = Builder("computing", grid=(1,), threads=32)
    for name in names:
        k.global_tensor(name, kind, Layout(32))
    dst, r = k.global_tensor("dst", out or kind, Layout(32)), k.registers("r", out or kind, 1)
    k.fill(r(), 0)
    k.copy(f"st.global.{DType.of(out or kind).bytes}", r(), dst(k.thread))
    k.result("dst", value)
    return k.kernel()


def numbers(kind, low, names="xyz"):
    draw = np.random.default_rng(3)
    found = {name: draw.uniform(low, 100, 32).astype(DType.of(kind).numpy()) for name in names}
    found["x"][:8] = found["y"][:8] = 0  # of which comparisons and choices know, as of what is equal
    found["y"][4:8] = 1
    return found


def _function(row):
    return lambda i: applied(row.word, *(element(name, i) for name, _ in zip("xyz", row.counts, strict=False)))


@pytest.mark.parametrize("kind", ["f32", "bf16", "f16", "i32", "u64", "u8", "i16"])
def test_functions_have_the_bits_of_their_rows(kind):
    out, seen = DType.of(kind), 0
    for word in {**DOUBLES, **COMPARED, "select": "", **BITWISE}:
        row = map_function(word)
        if row.has(out) and (row.bits or word in WRAPPED or word in CHOSEN or out.kind == "float"):
            kernel = computing(_function(row), kind)
            inputs = numbers(kind, 0 if word in ("sqrt", "div") or out.kind == "uint" else -100)
            found, wanted = (f["dst"] for f in (defined(kernel, kernel, inputs), expected(kernel, inputs)))
            assert (bits(found) == bits(wanted)).all(), word
            seen += 1
    assert seen >= 16


@pytest.mark.parametrize("kind", ["f32", "f16", "i32", "u16"])
@pytest.mark.parametrize("out", ["f32", "bf16", "f16", "i8", "u8", "i32", "u64"])
def test_conversions_have_the_bits_of_their_row(kind, out):
    kernel = computing(lambda i: element("x", i), kind, out)
    inputs = numbers(kind, 0 if kind[0] == "u" else -100)
    if kind[0] == "f":
        inputs["x"][:4] = np.array([np.nan, np.inf, -np.inf, -0.0], inputs["x"].dtype)

    assert (bits(defined(kernel, kernel, inputs)["dst"]) == bits(expected(kernel, inputs)["dst"])).all()


@pytest.mark.parametrize("kind", ["i64", "u64"])
@pytest.mark.parametrize(
    "value",
    [lambda i: element("x", i), lambda i: applied("convert", element("x", i))],
    ids=["as they are", "converted"],
)
def test_integers_of_64_bits_next_to_ties_have_the_bits_of_their_row(kind, value):
    kernel = computing(value, kind, "f32")
    inputs = numbers(kind, 0)
    inputs["x"][:] = (1 << 60) + (1 << 36) + np.resize([-1, 0, 1], 32)

    assert (bits(defined(kernel, kernel, inputs)["dst"]) == bits(expected(kernel, inputs)["dst"])).all()


def test_a_sum_of_indices_that_are_read_is_refused():
    kernel = computing(lambda i: total(4, lambda j: element("x", entry("y", j))), "i32")

    with pytest.raises(LayoutError, match="expected names that have a value where they are used, got j"):
        define(kernel)


@pytest.mark.parametrize(
    "kernel, words",
    [
        (computing(lambda i: applied("ex2.approx", element("x", i)), "f32"), "ex2.approx is approximate"),
        (replace(gemm(*dims("M N K")), results=()), "expected a kernel that states its results"),
        (computing(lambda i: element("x", i), "f32", "ue8m0"), "expected a float type of whole bytes"),
    ],
)
def test_what_has_no_definition_says_why(kernel, words):
    with pytest.raises(LayoutError, match=words):
        define(kernel)


def test_a_slip_in_a_text_is_seen():
    definition = define(vector_copy(dim("N")))
    slipped = replace(definition, text=definition.text.replace("src[i]", "src[i / 2]"))
    src, wanted = np.arange(300, dtype=np.float32), np.zeros(300, np.float32)

    definition_text.run(slipped, definition.outputs[0], {"src": src, "N": 300}, wanted)

    assert (wanted == src // 2).all()


# -- compiled --------------------------------------------------------------------------------------------------------


@NEEDS_COMPILER
@pytest.mark.parametrize(
    "kernel",
    [
        gemm(*dims("M N K")),
        computing(lambda i: applied("fma", *(element(n, i) for n in "xyz"), dtype="f32"), "f32", "i8"),
    ],
    ids=["sums", "integers"],
)
def test_definitions_compile(kernel):
    definition = define(kernel)
    cubin = gpu.compile(definition.text, name="definition.cu", contract=False)

    for function in (*definition.outputs, *definition.inputs):
        code = cubin.kernel(function.name)
        assert len(code.parameters) == len(function.arguments)
        assert code.static_shared_bytes == 0


@NEEDS_COMPILER
def test_the_comparison_compiles_for_each_size_of_an_element():
    cubin = gpu.compile(TEXT, "sm_90", name="comparison.cu")

    assert [cubin.kernel(f"compare_{n}").parameters[2].size for n in SIZES] == [(2 + 2 * RANK) * 8] * 4
