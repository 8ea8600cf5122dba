"""Bits, shifts and choices in expressions: normal forms, and every meaning of an expression against plain integers.

Expressions had no ``& | << >>`` and no ``select`` before, so that nothing asked what they mean or what is known of them.
"""

from __future__ import annotations

import operator
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
import sympy as sp

from checkers import smt
from symlayout import ExpressionError, Facts, dim, dims, eq, evaluate, index, maximum, minimum, select, truth
from symlayout.address_map import AddressMap
from symlayout.expr import Expr, Fact, chosen, integer
from symlayout.expr.c_text import HELPERS, c_text
from symlayout.expr.compiled import compiled
from symlayout.facts import ranges
from symlayout.facts.samples import value as sampled
from symlayout.text.notation import parse_expression
from tests.support.draw import Draw

M, N = dims("M N")
T = index("t", 256)
Z = dim("z", at_least=-40, at_most=40)
K = index("k", 6)
SYMBOLS = (Z, T, K, dim("y", at_least=-5, at_most=9))


# -- normal forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression, form",
    [
        (T & 7, T % 8),
        (T & 0b0110_0000, 32 * ((T // 32) % 4)),
        (T & 0b1010, 2 * ((T // 2) % 2) + 8 * ((T // 8) % 2)),
        (T & ~3, 4 * (T // 4)),
        (T & -1, T),
        (T & 0, 0),
        (T & T, T),
        (T >> 3, T // 8),
        (T << 3, 8 * T),
        (Z >> 0, Z),
        (~T, -T - 1),
        (8 * T & 7, 0),
        (8 * T | 5, 8 * T + 5),
        (8 * T | (Z & 7), 8 * T + Z % 8),
        ((T & ~31) | ((T & 31) ^ ((T & 31) >> 1)), 32 * (T // 32) + ((T % 32) ^ (T % 32) // 2)),
        (8 * T ^ 5, 8 * T + 5),
        (T ^ -1, ~T),
        (T ^ -6, ~(T ^ 5)),
        (4 * M & (4 * N + 3), 4 * (M & N)),
        (M | N, M + N - (M & N)),
        ((M ^ N) >> 3, (M >> 3) ^ (N >> 3)),
        (1 << M, 2**M),
        (N << M, N * 2**M),
        (select(M < N, M, N), minimum(M, N)),
        (select(M <= N, M, N), minimum(M, N)),
        (select(M > N, M, N), maximum(M, N)),
        (select(M > N, 1, 2), select(M <= N, 2, 1)),
        (select(eq(M, N), 1, 2), select(eq(N, M), 1, 2)),
        (select(M < N, 5, 5), 5),
        (select(True, M, N), M),
        (select(0, M, N), N),
        (select(Z & 1, 3, 4), select((Z % 2).multiple_of(2), 4, 3)),
        ((M < N) * 4 + 1, 4 * truth(M < N) + 1),
        (1 - (M < N), 1 - truth(M < N)),
    ],
    ids=str,
)
def test_normal_forms(expression, form):
    difference = expression - form

    assert difference == 0 or all(
        evaluate(difference, {"M": m, "N": n, "t": t, "z": z}) == 0
        for m in (1, 2, 5, 8, 13)
        for n in (1, 3, 8)
        for t in (0, 5, 77, 255)
        for z in (-7, 0, 6)
    )
    assert isinstance(form, int) or expression == form or "select" in str(form)


@pytest.mark.parametrize(
    "use", [lambda: M << -1, lambda: M >> -1, lambda: 3**M, lambda: M & 1.5, lambda: select(M, N, 1.5)]
)
def test_bad_operands_say_what_was_expected(use):
    with pytest.raises((ExpressionError, TypeError), match=r"expected|unsupported operand"):
        use()


# -- one expression, many meanings ------------------------------------------------------------------------


def drawn(draw: Draw, depth: int) -> Any:
    """A random expression of all operations; counts of shifts and divisors are what they may be."""
    if depth == 0 or draw.chance(0.15):
        return draw.choice([*SYMBOLS, draw.randint(-9, 40), 1 << draw.randint(0, 5), (1 << draw.randint(1, 6)) - 1])
    a, b = drawn(draw, depth - 1), drawn(draw, depth - 1)
    kind = draw.randint(0, 12)
    if kind <= 3:
        return (operator.and_, operator.or_, operator.xor, operator.sub)[kind](integer(a), integer(b))
    if kind <= 5:
        return (operator.lshift, operator.rshift)[kind - 4](a, draw.choice([K, draw.randint(0, 5)]))
    if kind == 6:
        relation = draw.choice(
            [Fact(integer(a - b), ">="), Fact(integer(a - b), "=="), Fact(integer(a), "%", draw.randint(1, 9))]
        )
        return select(relation, drawn(draw, depth - 1), draw.randint(-3, 3))
    if kind == 7:
        return (minimum if draw.chance(0.5) else maximum)(a, b)
    if kind == 8:
        return a // draw.choice([draw.randint(1, 12), (T & 7) + 1, K + 1])
    if kind == 9:
        return a % draw.choice([draw.randint(1, 12), 1 << draw.randint(0, 4)])
    return a + draw.randint(-3, 3) * b if kind < 12 else ~integer(a)


def points(draw: Draw, count: int) -> list[dict[str, int]]:
    def of(s: Any) -> int:
        return draw.choice([s.lower, s.upper, draw.randint(s.lower, s.upper)])

    return [{s.name: of(s) for s in SYMBOLS} for _ in range(count)]


EXPRESSIONS = [e for seed in range(160) if isinstance(e := drawn(Draw(seed), 3), Expr)]


def test_the_operations_of_expressions_are_those_of_plain_integers():
    """The same operations once on symbols and then evaluated, and once on numbers."""
    draw = Draw(5)
    for _ in range(400):
        a, b, k = draw.randint(-300, 300), draw.randint(-300, 300), draw.randint(0, 7)
        env = {"z": a, "y": b, "k": k}
        z, y = SYMBOLS[0], SYMBOLS[3]
        pairs = [
            (z & y, a & b),
            (z | y, a | b),
            (z ^ y, a ^ b),
            (~z, ~a),
            (z & b, a & b),
            (z | b, a | b),
            (z ^ b, a ^ b),
        ]
        pairs += [(z << k, a << k), (z >> k, a >> k), (z << K, a << k), (z >> K, a >> k), (1 << K, 1 << k)]
        pairs += [((4 * z + 1) & (8 * y), (4 * a + 1) & (8 * b)), (select(z < y, z, 3), a if a < b else 3)]
        pairs += [
            (truth(eq(z, y)), int(a == b)),
            ((z & 12) ^ (y >> 1), (a & 12) ^ (b >> 1)),
            (b & z, b & a),
            (b >> K, b >> k),
        ]
        for ours, theirs in pairs:
            assert evaluate(ours, env) == theirs, (ours, env)


def test_numpy_python_samples_and_text_agree():
    draw = Draw(1)
    for e in EXPRESSIONS:
        envs = points(draw, 8)
        expected = [evaluate(e, env) for env in envs]
        arrays = {s.name: np.array([env[s.name] for env in envs], dtype=np.int64) for s in SYMBOLS}

        assert np.broadcast_to(compiled(e)(arrays), len(envs)).tolist() == expected, e
        assert [compiled(e)(env) for env in envs] == expected, e
        assert [sampled(e, {s: env[s.name] for s in SYMBOLS}) for env in envs] == expected, e
        assert [integer(e.subs({s.name: env[s.name] for s in SYMBOLS})) for env in envs] == expected, e
        if "..." not in str(e):
            assert parse_expression(str(e), SYMBOLS) == e


def test_the_table_of_a_map_agrees():
    draw = Draw(2)
    box = tuple(index(name, n) for name, n in (("t", 64), ("k", 6)))
    for e in EXPRESSIONS[:60]:
        moved = e.subs({"z": draw.randint(-9, 9), "y": draw.randint(-5, 9), "t": box[0], "k": box[1]})
        at, values = AddressMap(box, (64, 6), moved).table()

        assert values[:, 0].tolist() == [evaluate(moved, {"t": int(t), "k": int(k)}) for t, k in at]


def test_sympy_agrees_and_comes_back():
    draw = Draw(3)
    for e in EXPRESSIONS[:50]:
        theirs = sp.sympify(e)
        for env in points(draw, 2):
            at = {s: env[s.name] for s in theirs.free_symbols for s in [s] if s.name in env}

            assert theirs.subs(at) == evaluate(e, env), e


@pytest.mark.parametrize(
    "x", [M & N, M ^ N, M | N, 1 << M, N >> M, select(M < N, M + 1, 7), minimum(M, N) & 12], ids=str
)
def test_sympy_gives_back_the_same(x):
    assert integer(sp.sympify(x)) == x


def test_c_agrees(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (cc) on the path")
    draw = Draw(4)
    envs = points(draw, 12)
    kept = [e for e in EXPRESSIONS if all(abs(evaluate(e, env)) < 2**31 for env in envs)][:100]
    parameters = ", ".join(f"long long {s}" for s in SYMBOLS)
    calls = "\n".join(
        f'  printf("%lld\\n", f{i}({", ".join(f"{env[s.name]}LL" for s in SYMBOLS)}));'
        for i in range(len(kept))
        for env in envs
    )
    bodies = "\n".join(f"long long f{i}({parameters}) {{ return {c_text(e)}; }}" for i, e in enumerate(kept))
    (tmp_path / "f.c").write_text(f"#include <stdio.h>\n{HELPERS}\n{bodies}\nint main(void) {{\n{calls}\n}}\n")
    subprocess.run([compiler, "-O0", "-w", "-o", tmp_path / "f", tmp_path / "f.c"], check=True, timeout=120)
    said = subprocess.run([tmp_path / "f"], check=True, capture_output=True, text=True, timeout=60).stdout

    assert [*map(int, said.split())] == [evaluate(e, env) for e in kept for env in envs]


def test_the_solver_agrees():
    """What an expression is at a point is the only value that the solver finds there."""
    draw = Draw(6)
    for e in EXPRESSIONS[:40]:
        for env in points(draw, 1):
            at = [eq(s, env[s.name]) for s in SYMBOLS]
            x = evaluate(e, env)

            assert smt.satisfiable([*ranges(SYMBOLS), *at, eq(e, x)]).status != "unsat", (e, env)
            assert smt.satisfiable([*ranges(SYMBOLS), *at, Fact(e - x - 1, ">=")]).status != "sat", (e, env)
            assert smt.satisfiable([*ranges(SYMBOLS), *at, Fact(x - 1 - e, ">=")]).status != "sat", (e, env)


def test_what_facts_say_of_an_expression_is_true_of_its_values():
    """Signs, comparisons, divisibility and the resolved form, at points of the ranges."""
    draw = Draw(7)
    decided = 0
    for e in EXPRESSIONS:
        facts = Facts.about(e, *SYMBOLS)
        envs = points(draw, 12)
        values = [evaluate(e, env) for env in envs]
        resolved = facts.normal(e)

        assert [evaluate(resolved, env) for env in envs] == values, e
        for bound in (0, 1, 8, 40, 255):
            for said, holds in (
                (facts.le(bound, e), [v >= bound for v in values]),
                (facts.le(e, bound), [v <= bound for v in values]),
            ):
                decided += said is not None
                assert said is None or all(h is said for h in holds), (e, bound)
        for d in (2, 3, 4, 8):
            assert not facts.divisible(e, d) or all(v % d == 0 for v in values), (e, d)
    assert decided > 100


def test_what_is_chosen_under_facts():
    facts = Facts.about(M, N, T, given=[M <= N])

    assert facts.normal(select(M <= N, 3, M)) == 3
    assert facts.normal(chosen(M - N - 1, M, 3)) == 3
    assert facts.normal((256 * M) | T) == 256 * M + T
    assert facts.normal((256 * M + 255) & T) == T
    assert facts.le(M & N, M) is True
    assert facts.le(M ^ N, M + N) is True
    assert facts.le(T ^ (255 - T), 255) is True
    assert facts.le(M + 1, 1 << M) is True
