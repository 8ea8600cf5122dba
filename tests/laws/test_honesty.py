"""A slice of benchmarks/honesty.py: compositions and divides are right, refused or obliged, never silently wrong."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.honesty import ANSWERS, judged, run
from benchmarks.honesty_trials import complement, listed, trials
from symlayout import Layout, SymlayoutError, coalesce
from symlayout import complement as ours
from tests.support.draw import Draw


def test_two_thousand_answers_are_never_silently_wrong():
    counts, wrong = run(2000, seed=20_260_101)

    assert wrong == []
    assert counts["all", "trials"] == 2000 == sum(counts["all", answer] for answer in ANSWERS)
    assert counts["all", "input overhangs"] + counts["all", "input no layout"] > 500
    assert min(counts["all", answer] for answer in ("exact", "overhang", "obliged", "refused")) > 5
    assert counts["all", "too strict"] + counts["all", "needless"] < 10


def test_trials_depend_on_the_seed_alone():
    assert [t.text for t in trials(50, 3)] == [t.text for t in trials(50, 3)]
    assert [t.text for t in trials(50, 3)] != [t.text for t in trials(50, 4)]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda modes: [(n, 2 * d) for n, d in modes],
        lambda modes: [*modes, (2, 0)],
        lambda modes: modes[::-1],
    ],
    ids=["strides", "size", "order"],
)
def test_a_spoiled_answer_is_noticed(spoil):
    """The judge has teeth."""
    noticed = considered = 0
    for trial in trials(400, 11):
        answer = trial.ours() if not trial.env and judged(trial)[1] == "exact" else None
        if answer is None or len(moving := [m for m in answer.modes() if m[0] > 1 and m[1]]) < 2:
            continue
        considered += 1
        spoiled = Layout(*zip(*spoil(moving), strict=True))
        noticed += judged(trial._replace(ours=lambda spoiled=spoiled, **mode: spoiled))[1] == "wrong"

    assert considered > 25
    assert noticed > 0.8 * considered


def test_the_judges_complement_agrees_with_ours():
    """Two writings of one rule; where ours refuses, the modes of the tile overlap."""
    agreed = 0
    for seed in range(400):
        draw = Draw(seed)
        a, tile = draw.layout(modes=3, extent=6), draw.layout(modes=2, extent=5)
        try:
            expected = ours(tile, coalesce(a).shape)
        except SymlayoutError:
            continue
        agreed += 1

        got = listed(complement(tile.modes(), a.modes()))
        assert np.array_equal(got, expected.offsets()), (seed, str(a), str(tile))
    assert agreed > 200
