"""Partial results: their order, their widths, and that arithmetic in these widths gives the value; intervals hold."""

from __future__ import annotations

import functools
import operator
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from symlayout import Layout, dim, dims
from symlayout.expr import Fact, Symbol, eq, evaluate, maximum, minimum, select, xor
from symlayout.expr.partial_results import comparison, partial_results, within
from symlayout.facts.intervals import Intervals
from symlayout.kernel import Builder
from symlayout.kernel.integer_widths import evaluations, widened

A, B, C = (dim(name, at_least=low, at_most=high) for name, low, high in (("a", 0, 5000), ("b", -70, 900), ("c", 1, 64)))
WORDS: Mapping[str, Any] = {
    **{"+": lambda x, y: x + y, "-": lambda x, *y: x - y[0] if y else -x, "*": lambda x, y: x * y},
    **dict.fromkeys(("//", "floordiv"), lambda x, y: x // y),
    **{"%": lambda x, y: x % y, "=": lambda x: x, "minimum": min, "maximum": max, "power_of_two": lambda x: 1 << x},
    **{
        "xor": lambda *xs: functools.reduce(operator.xor, xs),
        "bit_and": lambda *xs: functools.reduce(operator.and_, xs),
    },
}


def wrapped(x: int, bits: int) -> int:
    return (x + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))


def drawn(r: random.Random, depth: int) -> Any:
    """A random expression; divisors are at least 1."""
    if depth == 0 or r.random() < 0.15:
        return r.choice((A, B, C, r.randint(-9, 9), r.choice((1, 2, 8, 100, 65536))))
    x, y = drawn(r, depth - 1), drawn(r, depth - 1)
    kind = r.randrange(12)
    if kind < 5:
        return (x + y, x - y, x * y, x * r.choice((3, 64, 4096)), x + r.randint(-99, 99))[kind]
    if kind < 7:
        d = r.choice((2, 3, 4, 8, 64, C, C + 3))
        return x // d if kind == 5 else x % d
    if kind == 10:
        return x << r.randint(0, 12)
    if kind == 11:
        return 1 << (B % 24)
    return (xor(x, y), minimum(x, y), maximum(x, y) & y)[kind - 7]


def computed(x: Any, env: Mapping[Symbol, int], bits: int) -> tuple[int, bool]:
    """(the value by arithmetic that wraps, step by step, whether all that is used in full fits)."""
    known: dict[Any, int] = dict(env.items())
    fine = True
    for p in partial_results(x):
        operands = [known.get(o, o) for o in p.operands]
        known[p.value] = wrapped(WORDS[p.word](*operands), bits)
        fine = fine and (p.low or within((exact := evaluate(p.value, env), exact), bits))
    return known.get(x, x), fine


def test_arithmetic_that_wraps_gives_the_value_where_what_is_used_in_full_fits(share: Callable[[int], int]) -> None:
    r, count = random.Random(27), share(6000)
    told = {True: 0, False: 0}
    for _ in range(count):
        x = drawn(r, 5)
        env = {A: r.randint(0, 5000), B: r.randint(-70, 900), C: r.randint(1, 64)}
        value, fine = computed(x, env, 32)
        told[fine] += 1
        if fine:
            assert value == evaluate(x, env), (x, env)
    assert min(told.values()) > count / 30, told


def test_intervals_hold_all_values(share: Callable[[int], int]) -> None:
    r = random.Random(8)
    for _ in range(share(4000)):
        x = drawn(r, 4)
        low, high = Intervals().of(x)
        for _ in range(4):
            env = {A: r.choice((0, 5000, 77)), B: r.choice((-70, 900, 0, -1)), C: r.choice((1, 64, 7))}
            assert low <= evaluate(x, env) <= high, (x, env)


def test_facts_about_products_bound_tiles() -> None:
    M, N, K = dims("M N K")
    known = Intervals((M * N * K <= 2**40, M <= 1000))
    assert known.of(M)[1] == 1000
    assert known.of(3 * M * N)[1] == 3 * 2**40  # K is at least 1
    assert known.of(2 * N * K)[1] == 2**41
    assert known.of(((M + 15) // 16) * ((N + 63) // 64) * K)[1] <= 2**40
    assert known.of(N * N * K)[1] == 2**40 * (2**31 - 1)  # N is in the product once


def test_the_order_is_that_of_the_text() -> None:
    M, N = dims("M N")
    assert [str(p) for p in partial_results(M * N + 3 * M - 5)] == ["M*N", "3*M", "M*N + 3*M", "M*N + 3*M - 5"]
    assert [str(p) for p in partial_results(5 - M)] == ["5 - M"]
    assert [p.word for p in partial_results((M + 63) // 64)] == ["+", "floordiv"]
    assert [str(p) for p in partial_results(M % 8)] == ["M % 8"]
    assert not partial_results(M)
    assert not partial_results(7)


@pytest.mark.parametrize(
    "fact, text",
    [
        (A < B, "b > a"),
        (A + 8 <= B, "b >= a + 8"),
        (A + 8 > B, "a + 7 >= b"),
        (A <= 0, "a <= 0"),
        (A >= 1, "a > 0"),
        (eq(A, B + 1), "a == b + 1"),
        (A.multiple_of(4), "a % 4 == 0"),
        (-A - B > 0, "a + b <= -1"),
        (A % 4 < 1, "a % 4 == 0"),
        (3 * (A % 4) <= 0, "a % 4 == 0"),
        (A % 4 < 2, "a % 4 <= 1"),
        (A % 4 >= 3, "a % 4 >= 3"),
        (eq(A % 4, 3), "a % 4 == 3"),
        (eq(0, A % 4), "a % 4 == 0"),
        (A % 4 < B % 8, "b % 8 > a % 4"),
        (8 * (A % 4) + 2 <= B, "b >= 8*(a % 4) + 2"),
        (A % 4 + B % 4 < 1, "(a % 4) + (b % 4) <= 0"),
        (A % 8 // 2 < 1, "(a//2) % 4 == 0"),
        (A // 4 <= 0, "a//4 <= 0"),
        (B * (A % 4) > A, "b*(a % 4) > a"),
        ((A + 1) % 3 <= 2, "(a + 1) % 3 <= 2"),
        (3 - (A + 1) % 5 >= 0, "(a + 1) % 5 <= 3"),
    ],
    ids=str,
)
def test_comparisons(fact: Fact, text: str) -> None:
    c = comparison(fact)
    assert str(c) == text
    for a in range(-5, 12):
        for b in range(-5, 12):
            env = {A: a, B: b}
            left, right = evaluate(c.left, env), evaluate(c.right, env)
            assert {">": left > right, ">=": left >= right, "==": left == right}[c.sign] is fact.at(env), (a, b)


def test_a_choice_computes_its_condition() -> None:
    found = partial_results(select(A * B < C, A, B * C))
    assert {"a*b", "b*c"} <= {str(p) for p in found}


def test_what_low_bits_of_are_used_is_marked() -> None:
    def low(x: Any) -> dict[str, bool]:
        return {str(p): p.low for p in partial_results(x)}

    assert low((A * B + C) % 4) == {"a*b": True, "a*b + c": True, "(a*b + c) % 4": False}
    assert low((A * B) // 4 % 2)["a*b"]
    assert not low((A * B) // 3 % 2)["a*b"]
    assert not low((A * B) % 3)["a*b"]
    assert not low((A * B) % 2**32)["a*b"]  # as many as the least width has
    assert not low(((A * B) % 4) + A * B)["a*b"]  # used in full, too
    assert not low(minimum(A * B, C) % 4)["a*b"]


def test_names_have_the_width_of_their_value_and_loops_that_of_their_trip_count() -> None:
    N = dim("N")
    k = Builder("names", N, grid=(4,), threads=32)
    r = k.registers("r", "f32", 1)
    wide = k.let("wide", N * k.block[0])
    narrow = k.let("narrow", k.thread % 4)
    with k.loop("i", wide) as i:
        k.fill(r(i + narrow - i))
        k.let("later", i + 1)
    with k.loop("j", N) as j:
        k.let("short", 2 * (j % 8) + narrow)
    kernel = k.kernel()
    bits = {str(value): n for e in evaluations(kernel) for value, n in e.widths.items()}

    assert [str(x) for x in kernel.wide] == ["N*block_x"]
    assert bits["N*block_x"] == bits["i + 1"] == 64
    assert bits["thread % 4"] == bits["2*(j % 8) + narrow"] == 32


def test_a_bound_kernel_has_the_widths_of_its_sizes() -> None:
    M, ld = dims("M ld")
    k = Builder("rows", M, ld, grid=(M,), threads=32)
    x, r = k.global_tensor("x", "f32", Layout((M, 32), (ld, 1))), k.registers("r", "f32", 1)
    k.copy("st.global.4", r(), x(ld * k.block[0] + k.thread))
    kernel = k.kernel()

    assert [str(x) for x in kernel.bind(M=3, ld=40).wide] == ["40*block_x"]
    assert widened(kernel.bind(M=3, ld=40)).wide == ()


def test_a_comparison_says_what_its_fact_says() -> None:
    """Of these bounds on sums, remainders and quotients of sums, 6 were compared otherwise than they were proved."""
    r, checked = random.Random(7), 0
    signs = {"==": operator.eq, ">=": operator.ge, ">": operator.gt}
    for _ in range(3000):
        left, right = ((_of_a_sum(r) if r.random() < 0.65 else r.randint(-4, 8)) for _ in range(2))
        fact = r.choice((operator.le, operator.lt, operator.ge, operator.gt))(left, right)
        if not isinstance(fact, Fact):
            continue
        compared = comparison(fact)
        for a, b in ((0, -70), (1, 1), (2, 4), (5, 7), (8, -3), (9, 2)):
            env = {A: a, B: b}
            sides = (evaluate(x, env) for x in (compared.left, compared.right))
            assert signs[compared.sign](*sides) == fact.at(env), (str(fact), str(compared), a, b)
            checked += 1

    assert checked > 10_000


def _of_a_sum(r: random.Random) -> Any:
    total = r.choice((A, B, A + B)) + r.randint(-3, 4)
    by = r.randint(2, 7)
    return r.choice((total % by, total // by, total)) * r.choice((1, 1, 2, -1, 3))
