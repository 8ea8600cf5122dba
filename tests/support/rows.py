"""Rows of a parametrised test of which a run without ``--campaign`` takes those that tell something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def telling(rows: Iterable[Any], *chosen: Any) -> list[Any]:
    """The rows, those that are not *chosen* marked for a campaign: each says at other sizes what a chosen one says.

    >>> [row if row == 2 else row.values for row in telling((1, 2, 3), 2)]
    [(1,), 2, (3,)]
    """
    every = list(rows)
    missing = [x for x in chosen if x not in every]
    assert not missing, f"expected rows of the test, got {missing}"
    return [x if x in chosen else pytest.param(x, marks=pytest.mark.campaign) for x in every]
