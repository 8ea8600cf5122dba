"""Every operation of an index computation: on coordinates, on sizes alone, in helpers, and what is refused."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

import symlayout
from symlayout import Layout, ceil_div, dim, dims, maximum, minimum
from symlayout.errors import LayoutError, UndecidedError
from symlayout.expr.trace import OPERATIONS, Traced, steps

M, K = dims("M K")
z = dim("z", at_least=0)
SIZES = {"rows": M, "pitch": [K, 2 * K]}
BYTES = M * K * K // 7
config = SimpleNamespace(k=K)


def squared(i):
    return i * K * K


def power(n):
    return 1 if n == 0 else K * power(n - 1)


def local():
    J = dim("J")
    return lambda i: i + J * J


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda i: i, ["i"]),
        (lambda i: 5, []),
        (lambda i: (i * K + 3) * 2, ["i * K", "(i * K) + 3", "((i * K) + 3) * 2"]),
        (lambda i: i + (K * K * K) % 7, ["K * K", "(K * K) * K", "((K * K) * K) % 7", "i + (((K * K) * K) % 7)"]),
        (lambda i: i + K * K - K * K, ["K * K", "i + (K * K)", "(i + (K * K)) - (K * K)"]),
        (lambda i: squared(i) + 1, ["i * K", "(i * K) * K", "((i * K) * K) + 1"]),
        (lambda i: i + power(2), ["K * 1", "K * (K * 1)", "i + (K * (K * 1))"]),
        (local(), ["J * J", "i + (J * J)"]),
        (lambda i, k=K: i + k * k, ["K * K", "i + (K * K)"]),
        (lambda i, *, k=K: i + k * k, ["K * K", "i + (K * K)"]),
        (lambda i: SIZES["rows"] * SIZES["pitch"][0] + i, ["M * K", "(M * K) + i"]),
        (lambda i: next(j * K for j in (i,)), ["i * K"]),
        (lambda i: i + config.k * config.k, ["K*K", "i + (K*K)"]),
        (lambda i: i * BYTES, ["K*K*M", "(K*K*M)//7", "i * ((K*K*M)//7)"]),
        (
            lambda i: minimum(i, K * 2) * maximum(3, K),
            ["K * 2", "min(i, K * 2)", "max(3, K)", "min(i, K * 2) * max(3, K)"],
        ),
        (lambda i: ceil_div(K, 8) + i, ["K + 8", "(K + 8) - 1", "((K + 8) - 1) // 8", "(((K + 8) - 1) // 8) + i"]),
        (lambda i: ceil_div(17, 8) + i, ["3 + i"]),
        (lambda i: divmod(i, 4)[1], ["i // 4", "i % 4"]),
        (lambda i: 7 // (i + 1) ^ K**2, ["i + 1", "7 // (i + 1)", "K ** 2", "(7 // (i + 1)) ^ (K ** 2)"]),
        (lambda i: -i - -K, ["-i", "-K", "(-i) - (-K)"]),
    ],
)
def test_operations_come_in_the_order_of_the_code(f, expected):
    assert [s.code for s in steps(f, M)] == expected


def test_values_are_those_of_the_code_as_written():
    r = random.Random(5)
    for _ in range(60):
        code = "i"
        for _ in range(r.randint(1, 5)):
            operand = r.choice(["i", "K", "M", "3", "K*M", "(K + 2)", "min(i, K)"])
            sign = r.choice(["+", "-", "*", "//", "%"])
            operand = r.choice(["3", "K", "(K + 2)"]) if sign in "//%" else operand
            code = f"({code}) {sign} {operand}" if r.random() < 0.7 or sign in "//%" else f"{operand} {sign} ({code})"
        names = {"K": K, "M": M, "min": minimum}
        found = steps(eval(f"lambda i: {code}", names), 50)
        env = {"i": r.randrange(50), "K": r.randint(1, 9), "M": r.randint(50, 60), "min": min}
        for s in found:
            assert s.value.subs({K: env["K"], M: env["M"]})(env["i"]) == eval(s.code, dict(env)), (code, s)
        assert eval(found[-1].code, dict(env)) == eval(code, dict(env))


def test_the_function_and_its_names_stay_as_they_are():
    before = (squared.__globals__["K"], SIZES["pitch"][0], power(3))

    steps(lambda i: squared(i) + SIZES["pitch"][0] + power(3), M)

    assert before == (squared.__globals__["K"], SIZES["pitch"][0], power(3)) == (K, K, K * K * K)
    assert not isinstance(squared(2), Traced)


def test_a_step_knows_the_divisors_before_it():
    found = steps(lambda i: (i * z) // z + i, M)

    assert [s.value.divisors for s in found] == [(), (z,), (z,)]
    assert [s.value.divisors for s in steps(lambda i: i + 1, M, when=lambda i: i * z // z < 3)] == [(z,)]


def test_every_operation_works_from_both_sides():
    for sign in OPERATIONS.values():
        f = eval(f"lambda i: (i {sign} 3) + 0 * K", {"K": K})
        assert steps(f, M)[0].code == f"i {sign} 3"
        if sign != "**":
            assert steps(eval(f"lambda i: 3 {sign} (i + 1)"), M)[1].code == f"3 {sign} (i + 1)"


@pytest.mark.parametrize(
    "f, message",
    [
        (lambda i: i + 1.5, r"expected a function of \+ - .* and ceil_div, which are traced, got: .*1.5"),
        (lambda i: i + symlayout.ceil_div(K, 8), r"which are traced, got: .* got K \(Traced\)"),
        (lambda i: Layout((M, 4))(i, 1), "which are traced, got"),
        (lambda i: 3**i, "which are traced, got"),
        (lambda i: "a" + i, "which are traced, got"),
        (lambda: 0, "expected a function of at least one coordinate, got one of none"),
        (lambda i, j: i + j, "expected a function of 1 coordinates, got 2: i, j"),
    ],
)
def test_what_is_not_traced_is_refused(f, message):
    with pytest.raises(LayoutError, match=message):
        steps(f, M)


@pytest.mark.parametrize("f", [lambda i: i if K < 3 else 2 * i, lambda i: i if i >= 3 else 2 * i])
def test_code_that_branches_on_a_size_is_refused(f):
    with pytest.raises(UndecidedError):
        steps(f, M)
