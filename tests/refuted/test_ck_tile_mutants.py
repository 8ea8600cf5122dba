"""Descriptors broken mechanically, and random graphs of transforms: none is proved that is wrong."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks import ck_graphs, ck_mutants, ck_window_mutants
from symlayout.transforms import TRANSFORMS

LEAST_REFUTED = {"gemm": 0.4, "transposed": 0.4, "tile": 0.5, "im2col": 0.5, "lds": 0.5}


@pytest.mark.parametrize("name", ck_mutants.SUBJECTS)
def test_a_mutant_of_a_descriptor_is_refuted_or_the_same(share: Callable[[int], int], name: str) -> None:
    subject = ck_mutants.SUBJECTS[name]()
    every = list(ck_mutants.mutants(subject.descriptor))
    drawn = random.Random(name).sample(every, max(12, share(len(every))))
    found = [(words, *ck_mutants.judged(subject, make)) for words, make in drawn]

    assert ck_mutants.judged(subject, lambda: subject.descriptor) == ("equivalent", "")
    assert [f for f in found if f[1] == "open"] == []
    assert sum(kind == "refuted" for _, kind, _ in found) >= LEAST_REFUTED[name] * len(found) - 3


def test_mutants_that_the_claims_must_tell_apart() -> None:
    subject = ck_mutants.gemm()
    words = dict(ck_mutants.mutants(subject.descriptor))
    wrong = [w for w in words if "skip" in w or "size one less" in w or "no pad" in w or "coefficients" in w]

    assert len(wrong) >= 6
    assert {w: ck_mutants.judged(subject, words[w])[0] for w in wrong} == dict.fromkeys(wrong, "refuted")


def test_a_mutant_of_a_window_is_refuted_or_loads_the_same(share: Callable[[int], int]) -> None:
    meant = ck_window_mutants.Made()
    every = [*ck_window_mutants.mutants(meant)]
    r = random.Random(6)
    tally = ck_window_mutants.tried(meant, r.sample(every, max(16, share(len(every)))))

    assert {"refuted", "refused"} <= set(tally) <= {"refuted", "refused", "equivalent"}
    assert tally["refuted"] >= sum(tally.values()) // 2
    other = ck_window_mutants.random_window(r)
    tally = ck_window_mutants.tried(other, r.sample([*ck_window_mutants.mutants(other)], 8))
    assert set(tally) <= {"refuted", "refused", "equivalent"}


def test_slips_of_a_window_that_must_be_refuted() -> None:
    words = dict(ck_window_mutants.mutants(ck_window_mutants.Made()))
    wrong = ["origin[0] +1", "origin[1] of the next block", "the mask of dimension 1 dropped", "threads[1] -1"]
    wrong += ["strides[0] -1", "vectors of 2", "shape[1] +1"]
    outcomes = {w: ck_mutants.outcome(lambda w=w: ck_window_mutants.claims(words[w]))[0] for w in wrong}

    assert outcomes == dict.fromkeys(wrong, "refuted")
    assert ck_window_mutants.same_at_sizes(words["vectors of 8"], ck_window_mutants.Made())
    assert not ck_window_mutants.same_at_sizes(words["origin[0] -1"], ck_window_mutants.Made())


@pytest.mark.seeds(5)
def test_random_graphs_agree_in_three_ways(seed: int) -> None:
    rng, kinds = random.Random(seed), Counter[str]()
    for i in range(100):
        x = ck_graphs.drawn(rng)
        kinds.update(t.kind for t in x.number.graph.transforms)
        wrong = ck_graphs.differences(x) + (ck_graphs.wrong_proofs(x, kinds) if i % 20 == 0 else [])
        assert wrong == [], f"{x.symbolic.graph} at {x.sizes}"
    assert {t.kind for t in TRANSFORMS} <= set(kinds)


def test_the_comparison_sees_a_wrong_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws are worth something only if a slip in a formula shows."""
    kinds = [t for t in ck_graphs.ROWS if t.__name__ in ("Merge", "Pad", "Xor", "Embed", "Slice")]
    for kind in kinds:
        right = ck_graphs.ROWS[kind]

        def wrong(t, u, n, right=right):
            lower, mask = right(t, u, n)
            return [lower[0] + 1, *lower[1:]], mask

        with monkeypatch.context() as m:
            m.setitem(ck_graphs.ROWS, kind, wrong)
            rng = random.Random(7)
            assert any(ck_graphs.differences(ck_graphs.drawn(rng)) for _ in range(120)), kind
