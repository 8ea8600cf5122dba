"""The frozen corpus: every row gets the verdict that it must get, and that verdict is true on plain integers.

The score can only improve: a row is right, or it is listed in tests/corpus/open.toml with the reason. Rows of
symbolic.toml are compared with ``tests.corpus.oracle``, which lets Python evaluate their text and uses nothing
of ours; rows of maps.py with enumeration. ``python -m benchmarks.corpus`` prints the table.
"""

from __future__ import annotations

import itertools
import json
import tomllib
from typing import Any

import pytest

from benchmarks.corpus import CORPUS, RIGHT, WRONG, Judged, Row, judge, may_be_open, rows
from checkers import verify
from checkers.prover import Budget
from checkers.trial_sizes import small_sizes
from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from tests.corpus import oracle

ROWS = rows()
OPEN = may_be_open()
FAMILIES = list(dict.fromkeys(r.family for r in ROWS))
with (CORPUS / "symbolic.toml").open("rb") as file:
    TEXTS: dict[str, dict[str, Any]] = {t["name"]: t for t in tomllib.load(file)["claim"]}


def judged(family: str) -> list[Judged]:
    """The verdicts of a family; rows that may stay open get little of the solver."""
    short, full = Budget(solver_ms=60, repairs=False), Budget(repairs=False)
    return [judge(r, short if r.name in OPEN else full) for r in ROWS if r.family == family]


def test_the_corpus_is_large_and_has_both_sides():
    expected = [t["expect"] for t in TEXTS.values()]
    assert len(TEXTS) >= 600
    assert expected.count("proved") >= 300
    assert expected.count("refuted") >= 240
    assert expected.count("vacuous") >= 10
    assert set(OPEN) <= {r.name for r in ROWS}
    assert len(OPEN) <= 0.04 * len(ROWS)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_gets_its_verdicts(family):
    """Right or listed as open, with certificates that survive a file, and true on plain integers."""
    score = judged(family)
    assert [str(j) for j in score if j.score is WRONG] == []
    assert [str(j) for j in score if j.score is not RIGHT and j.row.name not in OPEN] == []
    for j in score:
        for v in j.verdicts:
            if v.certificate is not None:
                verify(json.loads(json.dumps(v.certificate)))
        compare_with_plain_integers(j)


def compare_with_plain_integers(j: Judged) -> None:
    """What must be proved holds at sampled sizes, what is vacuous has none, what is refuted fails at its witness."""
    text = TEXTS.get(j.row.name)
    if text is not None:
        check = {"proved": holds_at_samples, "refuted": fails_at_the_witness, "vacuous": admits_nothing}
        check[text["expect"]](text, j)
    elif j.row.claim.expect == "proved":
        holds_by_enumeration(j.row)


def holds_at_samples(text: dict[str, Any], j: Judged) -> None:
    tried = 0
    for limit in (1500, 40_000):
        for sizes in itertools.islice(oracle.samples(text, 20), 20):
            try:
                assert oracle.holds(text, sizes, limit), f"{j.row.name} fails at {sizes}"
            except (oracle.TooLarge, oracle.NoSuchLayout):
                continue
            tried += 1
            if tried >= 5 or limit > 1500:
                break
        if tried:
            break
    if text["kind"] == "fits_in":
        tried += at_the_limit(text)
    assert tried, f"no sizes tried for {j.row.name}"


def at_the_limit(text: dict[str, Any]) -> int:
    """A width claim at the largest sizes that single bounds allow, at every corner of its box."""
    sizes = dict.fromkeys(oracle.names_of(text), oracle.LARGEST)
    for f in text.get("given", ()):
        name, _, bound = f.partition(" <= ")
        if name in sizes and bound.isdigit():
            sizes[name] = int(bound)
    if not oracle.admits(text, sizes):
        return 0
    (subject,) = oracle.subjects(text, sizes)
    for corner in itertools.product(*((0, n - 1) for n in subject.extents)):
        assert not oracle.fails_at(text, sizes, corner), f"{text['name']} fails at {sizes}, {corner}"
    return 1


def fails_at_the_witness(text: dict[str, Any], j: Judged) -> None:
    witness = j.verdicts[0].witness if j.verdicts else None
    if witness is None:
        assert j.row.name in OPEN
        sizes = next(s for s in oracle.samples(text, 400) if fails(text, s))
        assert oracle.admits(text, sizes)
        return
    sizes = dict(witness.sizes)
    assert oracle.admits(text, sizes), f"{j.row.name}: {sizes} are not assumed"
    try:
        assert not oracle.holds(text, sizes, 40_000), f"{j.row.name} holds at {sizes}"
    except oracle.TooLarge:
        assert oracle.fails_at(text, sizes, tuple(leaves(witness.coords[0]))), f"{j.row.name} holds at {witness}"


def fails(text: dict[str, Any], sizes: dict[str, int]) -> bool:
    try:
        return not oracle.holds(text, sizes)
    except (oracle.TooLarge, oracle.NoSuchLayout):
        return False


def admits_nothing(text: dict[str, Any], j: Judged) -> None:
    assert next(oracle.samples(text, 1, tries=1000), None) is None, j.row.name


def holds_by_enumeration(row: Row) -> None:
    facts = Facts.about(row.claim.parameters(), given=row.claim.given)
    for sizes in itertools.islice(small_sizes(facts.symbols, facts, row.claim.hints()), 3) if facts.symbols else ():
        bound = row.claim.bind(sizes)
        if bound.points() <= 20_000:
            assert bound.counterexample() is None, f"{row.name} fails at {sizes}"
