"""Expressions that are deep, long or shifted far, and what is no expression: an answer or a clear error, never a hang.

Tests nested operations a few levels deep, where recursion never ends.
"""

from __future__ import annotations

import pytest
import sympy as sp

from checkers import Holds, InBounds, prove
from symlayout import (
    ExpressionError,
    Layout,
    LayoutError,
    SymlayoutError,
    dim,
    dims,
    evaluate,
    maximum,
    minimum,
    select,
)
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.expr import is_deep
from symlayout.expr.c_text import c_text
from symlayout.expr.compiled import value

M, N = dims("M N")
J = dim("j", at_least=70_000, at_most=70_003)

STEPS = {
    "quotients": lambda x, k: (x // 2 + N) // 3 + k % 3,
    "bits": lambda x, k: (x ^ (N + k)) & (2 * N + 1),
    "extrema": lambda x, k: maximum(minimum(x + k, N), k % 7),
    "choices": lambda x, k: select(x < N, x + 1, k),
}


LEVELS = 1500  # Python's stack ends at 1000


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_more_levels_than_python_calls(step):
    x, plain = M, 5
    for k in range(LEVELS):
        x = step(x, k)
    for k in range(LEVELS):
        plain = evaluate(step(dim("p", at_least=None, at_most=None), k), {"p": plain, "N": 3})

    assert is_deep(x)
    assert len(str(x)) < 3000
    assert x.symbols == (M, N)
    assert evaluate(x, {"M": 5, "N": 3}) == plain == value(x, {"M": 5, "N": 3}) == x.subs({"M": 5, "N": 3})
    with pytest.raises(ExpressionError, match="expected at most 50 operations inside one another, got"):
        c_text(x)
    with pytest.raises(ExpressionError, match="expected at most 50 operations inside one another for SymPy"):
        sp.sympify(x)


@pytest.mark.parametrize(
    "use, says",
    [
        (lambda: (M + N) ** 100_000, "expected a power of at most 64 of M [+] N, got 100000"),
        (lambda: M.subs(7), "expected values by symbol or name"),
        (lambda: evaluate(1 << M, {"M": 10**9}), "expected to shift by at most 65536 bits"),
        (lambda: (1 << M).subs({"M": 10**9}), "expected to shift by 0 to 65536 bits"),
        (lambda: dims(7), "expected names"),
        (lambda: AddressMap.over(max, (4,)), "expected a function"),
        (lambda: AddressMap.over(lambda i, *, j: i, (4,)), "expected a function of the coordinates i, got one with"),
        (lambda: AddressMap.over(lambda i: i, (8,), when=M < 4), "expected a function of coordinates .* got M <= 3"),
        (lambda: AddressMap.over(lambda i: i, (8,), when=lambda i, j: i < j), "expected when of the coordinates i"),
        (lambda: InBounds(Layout(8), 8, when=M < 4), "expected a function of coordinates .* got M <= 3"),
        (lambda: select(None, 1, 2), "expected"),
    ],
)
def test_what_is_no_expression_says_what_was_expected(use, says):
    with pytest.raises(SymlayoutError, match=says):
        use()


def test_assumptions_that_shift_too_far_are_no_counterexample():
    found = prove(Holds(J >= 70_001), given=[(1 << J) >= 1]).verdicts[0]

    assert found.outcome is Outcome.UNKNOWN
    assert prove(Holds((1 << J) >= J + 1)).verdicts[0].outcome is Outcome.PROVED


def test_a_map_names_a_function_that_takes_other_coordinates():
    with pytest.raises(LayoutError, match="missing a required"):
        AddressMap.over(lambda i: i, (8,), when=lambda i, j: i < j)
