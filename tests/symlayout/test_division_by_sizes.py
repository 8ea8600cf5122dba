"""Quotients by multiples of a size: what is less than the common factor falls away."""

from __future__ import annotations

import itertools

import pytest

from symlayout import dim, index

M, A, R, S = dim("M"), index("a", 50), index("r", 2), index("s", 3)


@pytest.mark.parametrize(
    "c, low, falls_away",
    [
        (2, R, True),
        (6, 2 * S + R, True),
        (4, R + 2, True),
        (2, S, False),
        (2, -R, False),
        (4, 3 * R + 1, False),
        (4, 3 * R - 1, False),
    ],
)
def test_what_is_less_than_a_common_factor_is_dropped(c, low, falls_away):
    """floor((c*a + l) / (c*M)) is floor(a / M) for 0 <= l < c, as of the rank of a CTA in its cluster."""
    found = (c * A + low) // (c * M)

    assert (found is A // M) is falls_away
    for m, a, r, s in itertools.product((1, 2, 7), (0, 5, 49), range(2), range(3)):
        env = {M: m, A: a, R: r, S: s}
        assert found.subs(env) == (c * a + low.subs(env)) // (c * m)
