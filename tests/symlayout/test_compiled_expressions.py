"""Expressions as functions: what they are worth on integers and on arrays is what interpreting them gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

from symlayout import dim, dims
from symlayout.errors import ExpressionError
from symlayout.expr import evaluate, integer, maximum, minimum, xor
from symlayout.expr.compiled import compiled, holds, value


def drawn(rng, symbols, depth=4):
    """A random expression."""
    if depth == 0:
        return rng.choice([*symbols, rng.randint(-9, 9)])
    a, b = drawn(rng, symbols, depth - 1), drawn(rng, symbols, depth - 1)
    return rng.choice(
        [
            lambda: a + b,
            lambda: a - b,
            lambda: integer(a) * b,
            lambda: integer(a) // rng.randint(1, 9),
            lambda: integer(a) % rng.randint(1, 9),
            lambda: xor(integer(a), integer(b)),
            lambda: minimum(a, b),
            lambda: maximum(a, b),
            lambda: integer(a) // (symbols[0] + 1),
        ]
    )()


def test_a_compiled_expression_has_the_value_of_the_interpreted_one():
    rng, symbols = random.Random(1), dims("a b c", at_least=0)

    for _ in range(300):
        x = drawn(rng, symbols)
        rows = [{s.name: rng.randint(0, 99) for s in symbols} for _ in range(5)]
        want = [evaluate(x, row) for row in rows]

        assert [value(x, row) for row in rows] == want, x
        arrays = {s.name: np.array([row[s.name] for row in rows]) for s in symbols}
        assert np.broadcast_to(value(x, arrays), 5).tolist() == want, x


def test_facts_hold_thread_by_thread():
    t = dim("t", at_least=0)
    env = {"t": np.arange(6)}

    assert holds(t < 3, env).tolist() == [True] * 3 + [False] * 3
    assert holds(t.multiple_of(2), env).tolist() == [True, False] * 3
    with pytest.raises(ExpressionError, match="expected a value for t in t \\+ 1, got values for u"):
        compiled(t + 1)({"u": 1})
    with pytest.raises(ZeroDivisionError, match="expected divisors of at least 1, got 0"):
        value(8 // t, {"t": np.arange(2)})
