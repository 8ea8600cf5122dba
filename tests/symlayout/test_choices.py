"""Comparisons, choices and functions of bits: of numbers as they are, of each type, as PTX and C++ have them."""

import math

import ml_dtypes
import numpy as np
import pytest

from checkers import Computes, WellFormed, prove
from symlayout import Layout, LayoutError, dim
from symlayout.atoms.functions import BITWISE, CHOICES, COMPARED, INTEGERS, WORDS
from symlayout.dtype import DType
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder
from symlayout.results import applied, element, number
from symlayout.semantics import execute
from symlayout.semantics.expected import expect_results, expected
from symlayout.semantics.maps import map_function
from symlayout.semantics.telling import telling_inputs

HOLDS = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
ODD = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan)


def of(word, kind, *sources):
    dtype = DType.of(kind)
    typed = [(dtype, np.asarray(x, dtype.numpy()).reshape(1, -1)) for x in sources]
    return map_function(word).result(typed, dtype, typed[0][1].shape[1])[0]


# -- numbers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", HOLDS)
@pytest.mark.parametrize("kind", ["f32", "f64", "f16", "bf16"])
def test_comparisons_of_floats_are_ieee(word, kind):
    a, b = (np.array(x) for x in zip(*((x, y) for x in ODD for y in ODD), strict=True))

    found = of(word, kind, a, b)

    assert found.dtype == DType.of(kind).numpy()
    assert found.astype(float).tolist() == [float(HOLDS[word](float(x), float(y))) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("kind", INTEGERS)
def test_comparisons_of_integers_are_those_of_their_type(kind):
    ends = np.iinfo(DType.of(kind).numpy())
    values = [ends.min, ends.max, 0, 1, ends.max - 1]
    a, b = zip(*((x, y) for x in values for y in values), strict=True)

    for word, holds in HOLDS.items():
        assert of(word, kind, a, b).tolist() == [int(holds(x, y)) for x, y in zip(a, b, strict=True)]


def test_a_choice_keeps_every_bit_of_what_it_picks():
    odd = np.array([0x7FC1, 0x7F81, 0xFFC1, 0x8000, 0x0001], np.uint16)
    a, b = odd.view(ml_dtypes.bfloat16), odd[::-1].copy().view(ml_dtypes.bfloat16)
    found = of("select", "bf16", np.array([1, 0, np.nan, -0.0, 2]), a, b)

    assert found.view(np.uint16).tolist() == [odd[0], odd[3], odd[2], odd[1], odd[4]]


@pytest.mark.parametrize("kind", WORDS)
def test_shifts_by_all_bits_and_more_shift_all_out(kind):
    dtype = DType.of(kind)
    bits, signed = dtype.bits, dtype.kind == "int"
    x = -5 if signed else (1 << bits) - 5
    amounts = [0, 1, bits - 1, bits, bits + 1, *([-1] if signed else [(1 << bits) - 1])]
    left, right = (of(word, kind, [x] * len(amounts), amounts) for word in ("shl", "shr"))

    for n, a, b in zip(amounts, left.tolist(), right.tolist(), strict=True):
        out = n < 0 or n >= bits
        assert a % (1 << bits) == (0 if out else (x << n) % (1 << bits))
        assert b == ((-1 if signed else 0) if out else x >> n)


@pytest.mark.parametrize("kind", INTEGERS)
def test_functions_of_bits(kind):
    draw, dtype = np.random.default_rng(1), DType.of(kind).numpy()
    a, b = (np.frombuffer(draw.bytes(8 * dtype.itemsize), dtype) for _ in "ab")

    assert (of("and", kind, a, b) == a & b).all()
    assert (of("or", kind, a, b) == a | b).all()
    assert (of("xor", kind, a, b) == a ^ b).all()
    assert (of("not", kind, a) == ~a).all()


@pytest.mark.parametrize("word, kind", [("and", "f32"), ("shl", "u8"), ("lt", "e4m3")])
def test_types_without_such_a_function(word, kind):
    with pytest.raises(LayoutError, match=f"expected {word} of "):
        of(word, kind, [1], [1])


# -- kernels -------------------------------------------------------------------------------------------------------

N = dim("N")


def elementwise(body, value, kind="f32", names="xyz"):
    """dst = a value of x, y and z; *body* computes it from registers of these into the first of them."""
    k = Builder("elementwise", N, grid=(ceil_div(N, 32),), threads=32)
    size = DType.of(kind).bytes
    inputs = [k.global_tensor(name, kind, Layout(N)) for name in names]
    dst, registers = k.global_tensor("dst", kind, Layout(N)), [k.registers(f"r{n}", kind, 1) for n in names]
    i = k.let("i", 32 * k.block[0] + k.thread)
    with k.where(i < N):
        for x, r in zip(inputs, registers, strict=True):
            k.copy(f"ld.global.{size}", x(i), r())
        body(k, *(r() for r in registers))
        k.copy(f"st.global.{size}", registers[0](), dst(i))
    k.result("dst", value)
    return k.kernel()


def relu_gate(swapped=False, word="gt"):
    """z where x > y, else x."""

    def body(k, x, y, z):
        k.map(word, (x, y), y)
        k.map("select", (y, x, z) if swapped else (y, z, x), x)

    return elementwise(
        body,
        lambda i: applied("select", applied("gt", element("x", i), element("y", i)), element("z", i), element("x", i)),
    )


def bits(left="shl", joined="xor"):
    """(x and y) xor (z shifted left by w)."""

    def body(k, x, y, z, w):
        k.map("and", (x, y), x)
        k.map(left, (z, w), z)
        k.map(joined, (z, x), x)

    def value(i):
        x, y, z, w = (element(name, i) for name in "xyzw")
        return applied("xor", applied("and", x, y), applied("shl", z, w))

    return elementwise(body, value, kind="i32", names="xyzw")


@pytest.mark.parametrize("kernel", [relu_gate(), bits()], ids=["choice", "bits"])
def test_kernels_are_proved_and_run_as_their_results_say(kernel):
    assert prove(kernel)
    for n in (1, 33, 200):
        expect_results(kernel.bind(N=n))


@pytest.mark.parametrize(
    "kernel",
    [relu_gate(swapped=True), relu_gate(word="ge"), relu_gate(word="lt"), bits("shr"), bits(joined="or")],
    ids=["swapped", "ge", "lt", "shr", "or"],
)
def test_slips_are_not_proved(kernel):
    report = prove(Computes(kernel, "dst"))

    assert not report
    [verdict] = report.verdicts
    assert "expected " in str(verdict)


def test_what_commutes_may_be_exchanged():
    def body(k, x, y, z):
        k.map("eq", (y, x), x)

    assert prove(Computes(elementwise(body, lambda i: applied("eq", element("x", i), element("y", i))), "dst"))


def test_a_comparison_with_a_number():
    def body(k, x, y, z):
        k.fill(y, 2)
        k.map("lt", (x, y), x)

    kernel = elementwise(body, lambda i: applied("lt", element("x", i), number(2)))

    assert prove(Computes(kernel, "dst"))
    expect_results(kernel.bind(N=40))
    assert (
        expected(kernel.bind(N=3), {"x": np.array([1, 2, 3], np.float32)})["dst"] == np.array([1, 0, 0], np.float32)
    ).all()


def test_numbers_of_two_types_are_refused():
    k = Builder("mixed", grid=(1,), threads=32)
    x, y = k.registers("x", "f32", 1), k.registers("y", "f16", 1)
    k.fill(x(), 1)
    k.map("lt", (x(), x()), y())

    [verdict] = prove(WellFormed(k.kernel())).verdicts
    assert "expected numbers of one type, got lt of f32, f32 to f16" in str(verdict)


def test_inputs_of_choices_tell_both_sides():
    k = Builder("picks", grid=(1,), threads=32)
    tensors = [k.global_tensor(name, "f32", Layout(32)) for name in "cab"]
    dst, registers = k.global_tensor("dst", "f32", Layout(32)), [k.registers(f"r{n}", "f32", 1) for n in "cab"]
    for x, r in zip(tensors, registers, strict=True):
        k.copy("ld.global.4", x(k.thread), r())
    k.map("select", tuple(r() for r in registers), registers[0]())
    k.copy("st.global.4", registers[0](), dst(k.thread))
    k.result("dst", lambda i: applied("select", *(element(n, i) for n in "cab")))
    kernel = k.kernel()

    inputs = telling_inputs(kernel)
    found = execute(kernel, inputs)["dst"]

    assert set(inputs["c"].tolist()) == {0.0, 1.0}
    assert (found == np.where(inputs["c"] != 0, inputs["a"], inputs["b"])).all()
    assert prove(kernel)


def test_each_function_has_its_sentence_and_types():
    assert all(row.types and row.bits and row.sentence for row in (*CHOICES, *BITWISE))
    assert set(WORDS) < set(INTEGERS) < set(COMPARED)
