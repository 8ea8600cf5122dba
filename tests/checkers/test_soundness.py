"""A seeded slice of the campaign in benchmarks/soundness.py: no verdict disagrees with plain integers."""

from benchmarks.soundness import static_trials, symbolic_trials


def test_static_verdicts_agree_with_enumeration():
    counts, wrong = static_trials(3000, seed=2024)

    assert not wrong
    assert not any(key.endswith("unknown") for key in counts)
    assert {key.split()[1] for key in counts} == {"proved", "refuted"}


def test_symbolic_verdicts_agree_at_sampled_sizes():
    counts, wrong = symbolic_trials(250, seed=2024)

    assert not wrong
    assert sum(n for key, n in counts.items() if key.endswith("unknown")) <= 5
