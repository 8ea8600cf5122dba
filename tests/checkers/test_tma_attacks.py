"""Attacks on the claims about tensor maps and tensor copies: what the rules and the copies themselves say decides."""

from __future__ import annotations

import pytest

from checkers import TensorMapValid, prove
from symlayout import dims, eq
from symlayout.report import Outcome
from symlayout.tma import TensorMap

A, B = dims("A B")


@pytest.mark.parametrize("given", [[], [B >= 16], [eq(A, B)], [B >= 16, eq(A, B)], [A >= B + 99]])
def test_a_map_of_numbers_is_refused_under_facts_about_other_sizes(given):
    """The number 404 breaks the rule at every size; where no small size was found a solver was asked nothing."""
    m = TensorMap("tf32", 0, (100, 100), (404,), (32, 257))
    report = prove(TensorMapValid(m), given=given)

    assert [(v.claim.rule.id, v.outcome) for v in report.verdicts] == [
        ("stride_multiple_16", Outcome.REFUTED),
        ("box_range", Outcome.REFUTED),
    ]
