"""A seeded slice of the campaign in benchmarks/soundness, for each kind: no verdict disagrees with plain integers."""

import pytest

from benchmarks.soundness.campaign import trials
from benchmarks.soundness.layouts import ROWS

# The least share of symbolic claims that must be decided in a slice of this size: soundness is not bought with UNKNOWN.
DECIDED = {"Covers": 0.4, "Coalesced": 0.6, "ConflictFree": 0.7, "Surjective": 0.6, "Multiplicity": 0.7}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_static_verdicts_agree_with_enumeration(row):
    counts, wrong = trials(row, "static", 160, "2024", repairs=False)

    assert not wrong
    assert not counts["unknown"]
    assert min(counts["proved"], counts["refuted"]) > 14


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_symbolic_verdicts_agree_at_sampled_sizes(row):
    counts, wrong = trials(row, "symbolic", 20, "2024", solver_ms=50, repairs=False)

    assert not wrong
    assert counts["proved"]
    assert counts["refuted"]
    assert 20 - counts["unknown"] >= 20 * DECIDED.get(row.name, 0.85)
