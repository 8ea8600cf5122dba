"""Results as they are stated: what is no value, and folds of no values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from symlayout import Layout, dim
from symlayout.errors import LayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.results import element, total
from symlayout.semantics.expected import expected

N = dim("N", at_least=0, at_most=8)


def folded(function: str) -> Kernel:
    k = Builder("folded", N, grid=(1,), threads=32)
    k.global_tensor("a", "f32", Layout((4, N + 1), (9, 1)))
    k.global_tensor("o", "f32", Layout(4))
    k.result("o", lambda m: total(N, lambda n: element("a", m, n), function=function))
    return k.kernel()


@pytest.mark.parametrize("value", [0, 1.5, None, "a"])
def test_a_result_is_a_value(value: Any) -> None:
    k = Builder("stated", grid=(1,), threads=32)
    k.global_tensor("o", "f32", Layout(4))

    with pytest.raises(LayoutError, match="expected a value for each element of o"):
        k.result("o", lambda m: value)


@pytest.mark.parametrize("function, of_nothing", [("add", 0), ("mul", 1)])
def test_a_fold_of_nothing_is_its_neutral_number(function: str, of_nothing: float) -> None:
    found = expected(folded(function).bind(N=0), {"a": np.zeros((4, 1), np.float32)})["o"]

    assert found.tolist() == [of_nothing] * 4


def test_there_is_no_greatest_of_nothing() -> None:
    with pytest.raises(LayoutError, match="expected at least 1 value of n"):
        expected(folded("max").bind(N=0), {"a": np.zeros((4, 1), np.float32)})
