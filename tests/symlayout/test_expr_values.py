"""Expressions as values: one key for equal forms, copies, symbols with their facts; facts that do not branch."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from typing import Any

import numpy as np
import pytest
import sympy as sp

from symlayout import (
    ExpressionError,
    UndecidedError,
    ceil_div,
    dim,
    dims,
    eq,
    index,
    maximum,
    minimum,
)

M, N, K = dims("M N K")
Z = dim("z", at_least=None, at_most=None)
SYMBOLS = (M, N, K, Z)


# -- as values --------------------------------------------------------------------------------------------

FORMS = [M, M + N, 3 * M * N - 1, M // 8, M % 8, ceil_div(M * N, 64), minimum(M, N), maximum(M, 4), M ^ 5, (M ^ N) // 3]


@dataclasses.dataclass(frozen=True)
class Holder:
    extent: Any


@functools.lru_cache
def cached(x):
    return object()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_equal_forms_are_one_key(form):
    twin = (form + M) - M

    assert twin == form
    assert hash(twin) == hash(form)
    assert {form, twin} == {form}
    assert {Holder(form): 1}[Holder(twin)] == 1
    assert cached(form) is cached(twin)
    assert cached(form) is not cached(form + 1)


@pytest.mark.parametrize("form", [*FORMS, M <= N, M.multiple_of(8), eq(M, N)], ids=str)
def test_forms_and_facts_copy_and_pickle(form):
    for twin in (pickle.loads(pickle.dumps(form)), copy.deepcopy(form), copy.copy(form)):
        assert twin == form
        assert hash(twin) == hash(form)
        assert str(twin) == str(form)


def test_symbols_are_interned_and_their_facts_are_part_of_them():
    assert dim("M") is M
    assert dim("M", multiple_of=8) != M
    assert dim("M", at_least=2) != M
    assert (M + N).symbols == (M, N)
    assert (M // (N + 1)).symbols == (M, N)
    assert index("i", M).upper == M - 1
    assert dims("M, N") == dims("M N") == (M, N)


def test_equality_compares_forms_and_never_raises():
    assert M + 0 == M
    for other in (5, "M", None, N, M + 1):
        assert (other == M) is False
    for other in (sp.Symbol("x"), sp.Rational(1, 2), sp.pi, 1.5, [1], np.arange(3)):
        for form in (M, M + 1):
            assert (form == other) is False or isinstance(other, np.ndarray)


# -- facts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fact", [M <= N, N < 5, N >= M + 1, N > M, M.multiple_of(8), eq(M, 3)], ids=str)
def test_a_fact_does_not_branch(fact):
    with pytest.raises(UndecidedError, match="expected a fact that the normal form decides, got"):
        bool(fact)


@pytest.mark.parametrize(
    "use", [lambda: bool(M), lambda: M and 1, lambda: min(M, N), lambda: sorted([M, N]), lambda: 1 < M < N]
)
def test_neither_does_an_expression(use):
    with pytest.raises(UndecidedError, match="expected"):
        use()


@pytest.mark.parametrize("use", [lambda: int(M), lambda: range(M), lambda: [1, 2][M], lambda: float(M)])
def test_an_expression_is_no_integer(use):
    with pytest.raises(TypeError, match=r"expected an integer, got M|must be a string or a real number"):
        use()


@pytest.mark.parametrize(
    "fact, value",
    [
        (M <= M, True),
        (M < M + 1, True),
        (M + 1 <= M, False),
        ((8 * M).multiple_of(8), True),
        ((8 * M * N + 16).multiple_of(8), True),
        (eq(M + 1, 1 + M), True),
        (eq(M, M + 1), False),
    ],
    ids=str,
)
def test_the_normal_form_decides_some_facts(fact, value):
    assert bool(fact) is value


@pytest.mark.parametrize(
    "fact, text",
    [
        (M <= N, "N >= M"),
        (M < 5, "M <= 4"),
        (M >= 1, "M >= 1"),
        (M.multiple_of(8), "M % 8 == 0"),
        ((M + N).multiple_of(8), "(M + N) % 8 == 0"),
        (eq(M, 2 * N), "M == 2*N"),
        (8 * M <= 8192, "8*M <= 8192"),
        (4 * N >= 8, "4*N >= 8"),
    ],
)
def test_facts_read_as_written(fact, text):
    assert str(fact) == text


def test_exactly_one_of_a_fact_and_its_negations_holds():
    for fact in (M <= N, eq(M, N), M > 3):
        for m in range(1, 6):
            for n in range(1, 6):
                env = {M: m, N: n}
                truths = [fact.subs(env).value, *(f.subs(env).value for f in fact.negated())]

                assert truths.count(True) == 1
    with pytest.raises(ExpressionError, match="expected an order or an equality"):
        M.multiple_of(8).negated()
