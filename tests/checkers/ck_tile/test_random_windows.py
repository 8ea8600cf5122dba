"""Random kernels of windows: what is proved runs right, and what is refuted runs wrong."""

from __future__ import annotations

import random

from benchmarks.ck_windows import judged, random_case
from symlayout.answers.report import Outcome


def test_verdicts_of_random_kernels_are_those_of_their_runs():
    rng = random.Random(7)
    found = [judged(random_case(rng)) for _ in range(16)]

    assert [
        (verdict, wrong) for verdict, wrong in found if verdict is (Outcome.PROVED if wrong else Outcome.REFUTED)
    ] == []
    assert {Outcome.PROVED, Outcome.REFUTED} <= {verdict for verdict, _ in found}
