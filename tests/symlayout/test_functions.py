"""Functions of registers by name: IEEE ones are rounded once, approximate ones are within their bounds, pairs are the same."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import checkers
from checkers import Computes, Launchable
from symlayout import SM90, Layout, LayoutError
from symlayout.arch import SM80
from symlayout.atoms.functions import APPROXIMATE, IEEE, PAIRS, Error
from symlayout.dtype import DType, bf16, f16, f32, f64, i64, u64
from symlayout.kernel import Builder
from symlayout.kernel.specification import applied, element
from symlayout.semantics import execute
from symlayout.semantics.expected import expected
from symlayout.semantics.expected_range import expected_range
from symlayout.semantics.maps import FUNCTIONS, map_function

RNG = np.random.default_rng(3)
EXACT = {
    "ex2.approx": lambda x: 2.0**x,
    "lg2.approx": math.log2,
    "rcp.approx": lambda x: 1 / x,
    "rsqrt.approx": lambda x: x**-0.5,
    "sqrt.approx": math.sqrt,
    "tanh.approx": math.tanh,
}


def of(word, kind, *sources):
    rows = [(kind, np.asarray(x, dtype=kind.numpy())[None]) for x in sources]
    count = rows[0][1].shape[1]
    return map_function(word).result(rows, kind, count)[0], map_function(word).error_bound(rows, kind, count)[0]


@pytest.mark.parametrize("word", ["div", "rcp", "sqrt"])
def test_division_and_roots_are_rounded_once(word):
    a, b = (
        np.abs(RNG.standard_normal(300)).astype(np.float32) * np.float32(2.0) ** RNG.integers(-30, 30, 300)
        for _ in "ab"
    )
    given = (a, b) if word == "div" else (a,)
    found, bound = of(word, f32, *given)

    assert not bound.any()
    for y, *row in zip(found, *given, strict=True):
        x = [Fraction(float(v)) for v in row]
        target = x[0] / x[1] if word == "div" else 1 / x[0] if word == "rcp" else x[0]
        near = [np.nextafter(y, np.float32(s)) for s in (np.inf, -np.inf)]
        if word == "sqrt":
            middles = [(Fraction(float(y)) + Fraction(float(n))) / 2 for n in near]
            assert middles[1] ** 2 <= target <= middles[0] ** 2
        else:
            assert all(abs(Fraction(float(y)) - target) <= abs(Fraction(float(n)) - target) for n in near)


@pytest.mark.parametrize("kind", [i64, u64], ids=str)
@pytest.mark.parametrize("out, digits", [(f32, 24), (bf16, 8)], ids=str)
def test_an_integer_of_64_bits_is_rounded_once(kind, out, digits):
    """Next to a tie of the narrow type, which float64 cannot tell from the tie."""
    odd = 2 * RNG.integers(1 << digits - 1, 1 << digits, 200) + 1
    x = ((odd << 61 - digits) + np.resize([-1, 0, 1], 200)).astype(kind.numpy())
    found = map_function("convert").result([(kind, x[None])], out, 200)[0]

    for n, y in zip(x.tolist(), found.astype(np.float64).tolist(), strict=True):
        step = 1 << n.bit_length() - digits
        low = n - n % step
        near = low if 2 * (n - low) < step or (2 * (n - low) == step and low // step % 2 == 0) else low + step
        assert y == near, n


@pytest.mark.parametrize("kind", [f32, bf16, f64], ids=str)
def test_zeros_have_an_order(kind):
    a, b = [0.0, -0.0, 0.0, -0.0], [-0.0, 0.0, 0.0, -0.0]

    assert np.signbit(of("min", kind, a, b)[0]).tolist() == [True, True, False, True]
    assert np.signbit(of("max", kind, a, b)[0]).tolist() == [False, False, False, True]


@pytest.mark.parametrize("word, name", [(row.word, name) for row in APPROXIMATE for name in row.errors])
def test_a_run_has_the_exact_value_rounded_and_the_bound_holds_the_stated_error(word, name):
    row, kind = FUNCTIONS[word], DType.of(name)
    x = np.abs(RNG.standard_normal(200)).astype(kind.numpy()) + kind.numpy().type(0.01)
    found, bound = of(row.word, kind, x)

    for y, off, v in zip(found.astype(np.float64), bound, x.astype(np.float64), strict=True):
        exact = EXACT[row.word](v)
        assert abs(y - exact) <= off
        e = row.errors[name]
        assert off >= e.relative * abs(exact) + e.absolute
        assert off <= 8 * (e.relative * abs(exact) + e.absolute) + (e.ulps + 2) * 2.0**-7 * abs(exact)
    assert row.source.startswith("PTX ISA")


@pytest.mark.parametrize(
    "word, x, y",
    [
        ("ex2.approx", -math.inf, 0.0),
        ("ex2.approx", math.inf, math.inf),
        ("ex2.approx", -0.0, 1.0),
        ("lg2.approx", -0.0, -math.inf),
        ("lg2.approx", -1.0, math.nan),
        ("rcp.approx", -0.0, -math.inf),
        ("rcp.approx", -math.inf, -0.0),
        ("rsqrt.approx", 0.0, math.inf),
        ("rsqrt.approx", -2.0, math.nan),
        ("sqrt.approx", -0.0, -0.0),
        ("tanh.approx", -math.inf, -1.0),
        ("tanh.approx", -0.0, -0.0),
    ],
)
def test_corners_are_those_of_ptx(word, x, y):
    [found], [bound] = of(word, f32, [x])

    assert (math.isnan(found) and math.isnan(y)) or (found == y and math.copysign(1, found) == math.copysign(1, y))
    assert bound == 0 or math.isfinite(y)


def test_ex2_of_bf16_flushes_subnormal_numbers():
    x = np.array([-126, -127, -130], dtype=ml_dtypes.bfloat16)

    assert of("ex2.approx", bf16, x)[0].astype(float).tolist() == [2.0**-126, 0, 0]
    assert of("ex2.approx", f32, x.astype(np.float32))[0].tolist() == [2.0**-126, 2.0**-127, 2.0**-130]


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: row.word)
@pytest.mark.parametrize("kind", [f16, bf16], ids=str)
def test_a_packed_function_has_the_values_of_the_plain_one(row, kind):
    given = [RNG.standard_normal(64).astype(kind.numpy()) for _ in row.counts]
    pair, plain = of(row.word, kind, *given), of(row.value, kind, *given)

    assert pair[0].tobytes() == plain[0].tobytes()
    assert np.array_equal(pair[1], plain[1])


@pytest.mark.parametrize("word, kind", [("lg2.approx", f16), ("div", f16), ("ex2.approx", f64), ("add.x2", f32)])
def test_a_type_that_has_no_such_function_is_refused(word, kind):
    with pytest.raises(LayoutError, match=f"expected {word.replace('.', '[.]')} of .*, got {kind}"):
        of(word, kind, *([1.0],) * len(FUNCTIONS[word].counts))


def test_errors_are_told():
    assert str(Error(ulps=2)) == "at most 2 ulp"
    assert all(row.sentence for row in (*IEEE, *APPROXIMATE, *PAIRS))


# -- kernels --------------------------------------------------------------------------------------------------------


def sigmoid(*, second="ex2.approx", kind="f32"):
    """1 / (1 + 2^-x) of each element."""
    k = Builder("sigmoid", grid=(1,), threads=32)
    x, y, _ = (k.global_tensor(name, kind, Layout(32)) for name in "xyz")
    r, one = k.registers("r", kind, 1), k.registers("one", kind, 1)
    nbytes = DType.of(kind).bytes
    k.copy(f"ld.global.{nbytes}", x(k.thread), r())
    k.fill(one(), 1)
    k.map("neg", (r(),), r())
    k.map(second, (r(),), r())
    k.map("add", (r(), one()), r())
    k.map("rcp.approx", (r(),), r())
    k.copy(f"st.global.{nbytes}", r(), y(k.thread))
    return k


def test_a_result_names_its_approximate_functions_and_the_report_says_what_they_are():
    k = Builder("powers", grid=(1,), threads=32)
    x, y = (k.global_tensor(name, "f32", Layout(32)) for name in "xy")
    r = k.registers("r", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.map("ex2.approx", (r(),), r())
    k.map("rcp.approx", (r(),), r())
    k.copy("st.global.4", r(), y(k.thread))
    k.result("y", lambda i: applied("rcp.approx", applied("ex2.approx", element("x", i))))
    report = checkers.prove(k.kernel())

    assert report
    assert "assumed: ex2.approx of f32 differs from 2 to the power x by at most 2 ulp (PTX ISA, ex2)" in report.notes
    assert "assumed: rcp.approx of f32 differs from 1 / x by at most 1 ulp (PTX ISA, rcp)" in report.notes


@pytest.mark.parametrize("word", ["rcp", "tanh.approx"])
def test_another_function_than_that_of_the_result_is_not_proved(word):
    k = Builder("powers", grid=(1,), threads=32)
    x, y = (k.global_tensor(name, "f32", Layout(32)) for name in "xy")
    r = k.registers("r", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.map(word, (r(),), r())
    k.copy("st.global.4", r(), y(k.thread))
    k.result("y", lambda i: applied("rcp.approx", element("x", i)))

    assert not checkers.prove(Computes(k.kernel(), "y"))


def packed(word):
    k = Builder("pairs", grid=(1,), threads=32)
    x, y = (k.global_tensor(name, "bf16", Layout(64)) for name in "xy")
    r = k.registers("r", "bf16", 2)
    k.copy("ld.global.4", x(2 * k.thread), r())
    k.map(word, (r(),) * len(FUNCTIONS[word].counts), r(), 2)
    k.copy("st.global.4", r(), y(2 * k.thread))
    return k


@pytest.mark.parametrize("word", [row.word for row in PAIRS])
def test_packed_functions_are_proved_as_the_plain_ones(word):
    k, plain = packed(word), FUNCTIONS[word].value
    k.result("y", lambda i: applied(plain, *(element("x", i) for _ in FUNCTIONS[word].counts)))

    assert checkers.prove(k.kernel())


@pytest.mark.parametrize(
    "word, launches", [("tanh.approx", False), ("add.x2", False), ("fma.x2", True), ("neg.x2", True)]
)
def test_instructions_of_bf16_need_an_architecture(word, launches):
    kernel = packed(word).kernel()

    assert bool(checkers.prove(Launchable(kernel, SM80))) is launches
    assert checkers.prove(Launchable(kernel, SM90))


def test_a_range_holds_what_a_run_and_hardware_compute():
    k = sigmoid()
    k.result("y", lambda i: applied("rcp.approx", applied("ex2.approx", element("x", i))))
    kernel = k.kernel()
    x = np.linspace(-3, 3, 32).astype(np.float32)
    low, high = expected_range(kernel, {"x": x})["y"]
    y = expected(kernel, {"x": x})["y"]

    assert ((low < y) & (y < high)).all()
    assert ((high - low) / y < 2.0**-18).all()


def test_a_range_without_approximations_is_one_number():
    k = packed("add.x2")
    k.result("y", lambda i: applied("add", element("x", i), element("x", i)))
    x = RNG.standard_normal(64).astype(ml_dtypes.bfloat16)
    low, high = expected_range(k.kernel(), {"x": x})["y"]

    assert low.tobytes() == high.tobytes() == execute(k.kernel(), {"x": x})["y"].tobytes()


def test_a_range_around_a_pole_is_everything():
    k = sigmoid()
    k.result("y", lambda i: applied("rcp", applied("sub", applied("tanh.approx", element("x", i)), element("z", i))))
    x = np.full(32, 0.5, np.float32)
    low, high = expected_range(k.kernel(), {"x": x, "z": np.tanh(x)})["y"]

    assert (low == -np.inf).all()
    assert (high == np.inf).all()
