"""Expressions: normal forms against plain integers and SymPy, text, coordinates and back, deep quotients."""

from __future__ import annotations

import operator
import random
from typing import Any

import numpy as np
import pytest
import sympy as sp

from symlayout import (
    Expr,
    ExpressionError,
    Facts,
    Layout,
    Symbol,
    ceil_div,
    crd2idx,
    dim,
    dims,
    eq,
    evaluate,
    idx2crd,
    index,
    maximum,
    minimum,
)
from symlayout.expr import Integers, Quotient, at_least, canonical, ceil_div_int, divides, interpret, split, xor
from symlayout.facts import opaque_atoms
from symlayout.text.notation import parse_int_tuple
from tests.support.draw import Draw

M, N, K = dims("M N K")
Z = dim("z", at_least=None, at_most=None)
SYMBOLS = (M, N, K, Z)


# -- normal forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression, text",
    [
        ((M + 1) * N - N, "M*N"),
        ((64 * M + 5) // 64, "M"),
        ((M // 8) * 8 + M % 8, "M"),
        (M - M, "0"),
        (M + N - M, "N"),
        (2 * M - 3 * N + 1, "2*M - 3*N + 1"),
        (M * M * N, "M*M*N"),
        ((M // 4) // 3, "M//12"),
        ((8 * M + 3) // 64, "M//8"),
        ((6 * M) // (4 * N), "(3*M)//(2*N)"),
        ((M * N) // N, "M"),
        ((M * N + M) // M, "N + 1"),
        (M % 8, "M % 8"),
        ((M % 8) % 8, "M % 8"),
        ((M + 8) % 8, "M % 8"),
        (8 * (M // 8), "8*(M//8)"),
        (ceil_div(M, 64), "ceil(M/64)"),
        (ceil_div(M * N, N), "M"),
        (ceil_div(M + 1, 2 * N), "(M//(2*N)) + 1"),
        (ceil_div(M + K, 2 * N), "ceil((K + M)/(2*N))"),
        (minimum(M, M + 1), "M"),
        (maximum(M, M + 1, N), "max(M + 1, N)"),
        (minimum(minimum(M, N), 3, 5), "min(3, M, N)"),
        (M ^ M, "0"),
        (M ^ 5 ^ 3, "M ^ 6"),
        ((M ^ N) ^ N, "M"),
        ((M + N) ** 2 - M * M - N * N, "2*M*N"),
        (M**0, "1"),
        (0 - (-M), "M"),
        (divmod(M, 8)[0], "M//8"),
        (100 // M, "100//M"),
        (100 % M, "100 % M"),
        (1 - M, "1 - M"),
    ],
)
def test_normal_form_and_text(expression, text):
    assert str(expression) == text
    assert type(expression) is int or isinstance(expression, Expr)


def ceil_(a, b):
    return -(-a // b)


OPERATIONS = [
    (operator.add, operator.add, operator.add, ()),
    (operator.sub, operator.sub, operator.sub, ()),
    (operator.mul, operator.mul, operator.mul, ()),
    (operator.floordiv, operator.floordiv, lambda a, b: sp.floor(a / b), "divisor"),
    (operator.mod, operator.mod, sp.Mod, "divisor"),
    (ceil_div_int, ceil_, lambda a, b: sp.ceiling(a / b), "divisor"),
    (minimum, min, sp.Min, ()),
    (maximum, max, sp.Max, ()),
    (lambda a, b: a ^ b, operator.xor, None, ()),
]


def random_trees(seed: int, depth: int, xors: bool = True, sympy: bool = False) -> tuple[Any, Any, Any]:
    """One random expression: ours, a function of plain integers, and SymPy's if asked, which takes most of the time."""
    rng = random.Random(seed)

    def leaf(divisor: bool) -> tuple[Any, Any, Any]:
        if rng.random() < 0.4:
            c = rng.randint(1, 9) if divisor else rng.randint(-9, 9)
            return c, lambda env: c, sp.Integer(c) if sympy else None
        s = rng.choice(SYMBOLS[:3] if divisor else SYMBOLS)
        return s, lambda env: env[s], sp.sympify(s) if sympy else None

    def tree(depth: int) -> tuple[Any, Any, Any]:
        if depth == 0:
            return leaf(False)
        ours, plain, theirs, kind = rng.choice(OPERATIONS if xors else OPERATIONS[:-1])
        a, b = tree(depth - 1), leaf(True) if kind else tree(depth - rng.randint(1, depth))
        return (
            ours(a[0], b[0]),
            lambda env: plain(a[1](env), b[1](env)),
            theirs(a[2], b[2]) if theirs and a[2] is not None and b[2] is not None else None,
        )

    return tree(depth)


def point(rng: random.Random) -> dict[Symbol, int]:
    return {M: rng.randint(1, 40), N: rng.randint(1, 12), K: rng.randint(1, 5), Z: rng.randint(-30, 30)}


@pytest.mark.parametrize("block", range(3))
def test_normal_forms_have_the_value_of_what_was_written(block):
    for seed in range(block * 300, block * 300 + 300):
        ours, plain, _ = random_trees(seed, depth=4)
        rng = random.Random(seed)
        for env in (point(rng) for _ in range(4)):
            assert evaluate(ours, env) == plain(env), (seed, str(ours), env)


def test_sympy_gives_every_expression_the_same_value(share):
    for seed in range(share(250)):
        ours, plain, theirs = random_trees(seed, depth=3, xors=False, sympy=True)
        rng = random.Random(seed)
        exported = sp.sympify(ours)
        for env in (point(rng) for _ in range(2)):
            values = {sp.sympify(s): v for s, v in env.items()}

            assert exported.subs(values) == theirs.subs(values) == plain(env), (seed, str(ours), env)


def test_equal_forms_are_exactly_equal_polynomials():
    """For sums and products our == is a decision: SymPy's expand agrees in both directions."""
    rng = random.Random(5)

    def polynomial():
        return sum(rng.randint(-2, 2) * rng.choice([1, M, N]) * rng.choice([1, M, K]) for _ in range(rng.randint(1, 3)))

    agreed = 0
    for _ in range(300):
        a, b, c = polynomial(), polynomial(), polynomial()
        pairs = [((a + b) * c, a * c + b * c), (a * b, b * a), (a - b, b - a), (a * a - b * b, (a - b) * c)]
        left, right = rng.choice(pairs)

        assert (left == right) == (sp.expand(sp.sympify(left) - sp.sympify(right)) == 0)
        agreed += left == right
    assert 100 < agreed < 300


def test_substitution_commutes_with_evaluation():
    for seed in range(300):
        ours, plain, _ = random_trees(seed, depth=4)
        if not isinstance(ours, Expr):
            continue
        rng = random.Random(seed)
        env = point(rng)
        partly = ours.subs({M: env[M], "N": env[N]})
        swapped = ours.subs({M: N, N: M})

        assert evaluate(partly, env) == plain(env), (seed, str(ours))
        assert evaluate(swapped, {**env, M: env[N], N: env[M]}) == plain(env), (seed, str(ours))


def test_text_reads_back_to_an_equal_expression():
    for seed in range(400):
        ours, plain, _ = random_trees(seed, depth=3)
        again = parse_int_tuple(str(ours), SYMBOLS)
        env = point(random.Random(seed))

        assert evaluate(again, env) == plain(env), (seed, str(ours))


def test_splitting_is_division_with_remainder():
    for seed in range(300):
        draw = Draw(seed)
        x = sum(draw.randint(-20, 70) * draw.choice([1, M, N, M * N]) for _ in range(3))
        d = draw.choice([draw.randint(1, 16), M, 4 * N, M * N, M + N])
        q, r = split(x, d)

        assert d * q + r == x
        assert divides(d, d * x) == x
        assert divides(d, x) is None or divides(d, x) * d == x


# -- coordinates and back ---------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", range(2, 6))
def test_index_to_coordinate_to_index_stays_symbolic(modes):
    extents = tuple(dim(f"n{i}") for i in range(modes))
    x = dim("x", at_least=0)

    assert crd2idx(idx2crd(x, extents), extents) == x
    assert crd2idx(idx2crd(x, (extents[:1], extents[1:])), (extents[:1], extents[1:])) == x


@pytest.mark.parametrize("modes", range(2, 6))
def test_coordinate_to_index_to_coordinate_stays_symbolic(modes):
    extents = tuple(dim(f"n{i}") for i in range(modes))
    c = tuple(index(f"c{i}", n) for i, n in enumerate(extents))
    facts = Facts.about(extents, c)

    assert tuple(map(facts.normal, idx2crd(crd2idx(c, extents), extents))) == c
    assert Layout(extents)(*c) == crd2idx(c, extents)
    assert Layout(extents)(Layout(extents)(*c)) == crd2idx(c, extents)


# -- borders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: M / 2, "expected // or ceil_div, got /"),
        (lambda: M // 0, "expected a divisor of at least 1, got 0"),
        (lambda: M % -4, "expected a divisor of at least 1, got -4"),
        (lambda: M**-1, "expected a non-negative integer exponent, got -1"),
        (lambda: M**M, "expected a non-negative integer exponent"),
        (lambda: dim("2x"), "expected an identifier as the name of a dimension, got '2x'"),
        (lambda: dim("M", multiple_of=0), "expected multiple_of to be an integer of at least 1, got 0"),
        (lambda: M.multiple_of(0), "expected a modulus of at least 1, got 0"),
        (lambda: dim("M", at_least=1.5), r"expected an integer or an integer expression, got 1\.5 \(float\)"),
        (lambda: dim("M", below=True), r"expected an integer or an integer expression, got True \(bool\)"),
        (lambda: eq(M, "3"), r"expected an integer or an integer expression, got '3' \(str\)"),
        (lambda: evaluate(M + N, {"M": 3}), "expected a value for N, got values for M"),
        (lambda: minimum(), "expected .* got"),
        (lambda: maximum(), "expected .* got"),
    ],
)
def test_misuse_is_refused(make, message):
    with pytest.raises(ExpressionError, match=message):
        make()


def test_numpy_integers_are_integers_on_either_side():
    for three in (np.int64(3), np.int32(3), np.uint8(3)):
        assert M + three == M + 3 == three + M
        assert M * three == 3 * M == three * M
        assert M // three == M // 3
        assert three - M == 3 - M
        assert M ^ three == M ^ 3
        assert str(at_least(M, three)) == "M >= 3"


def test_interpretation_is_one_walk_with_many_meanings():
    e = (3 * M + N) // 4 + minimum(M, N) * (M ^ 5)
    arrays = Integers({"M": np.arange(1, 50), "N": np.full(49, 7)})

    class Vectors(Integers):
        def floordiv(self, a, b):
            return a // b

        def minimum(self, *args):
            return np.minimum.reduce(args)

    got = interpret(e, Vectors(arrays.env))

    assert got.tolist() == [evaluate(e, {"M": m, "N": 7}) for m in range(1, 50)]


def test_a_divisor_below_one_is_not_evaluated():
    with pytest.raises(ZeroDivisionError, match="expected a divisor of at least 1, got 0"):
        evaluate(M // Z, {M: 3, Z: 0})


def test_quotients_are_unique_objects():
    assert isinstance(M // 8, Quotient)
    assert M // 8 is (M + 0) // 8
    assert xor(M, N) is xor(N, M)
    assert minimum(M, N) is minimum(N, M)


# -- quotients of quotients ---------------------------------------------------------------------------------------


def shared(x: Any, y: Any, levels: int) -> Any:
    """Text of it doubles at every level, for each remainder has its dividend twice; its atoms are few."""
    for i in range(levels):
        x = (x // 3 + y) % (50 - i)
    return x


class Counting(Integers):
    """Plain integers that count the quotients that are asked for."""

    quotients = 0

    def floordiv(self, a: Any, b: Any) -> Any:
        self.quotients += 1
        return super().floordiv(a, b)


@pytest.mark.parametrize("levels", [5, 10, 20])
def test_each_atom_of_nested_quotients_is_met_once(levels):
    e = shared(M, N, levels)
    atoms = opaque_atoms(e)
    counting = Counting({M: 12345, N: 678})

    assert interpret(e, counting) == shared(12345, 678, levels)
    assert counting.quotients == len(atoms) <= 2 * levels


def test_deep_quotients_have_names_and_text_of_bearable_length():
    some = [shared(M, N, levels) for levels in range(1, 21)]

    assert max(len(a.key) for e in some for a in opaque_atoms(e)) < 2100
    assert max(map(len, map(str, some))) < 2100
    assert len({*map(str, some)}) == len({*map(canonical, some)}) == len({*some}) == 20
    assert shared(M, N, 20) == some[-1]
