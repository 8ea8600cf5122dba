"""The campaign itself: every kind of claim has a row, finished slices add up, and the oracle is not the prover."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

import checkers.claims as claims
from benchmarks.soundness import plain, registry
from benchmarks.soundness.__main__ import main
from benchmarks.soundness.campaign import campaign, code_version, read, table, trials
from benchmarks.soundness.layouts import ROWS
from benchmarks.soundness.row import Row
from checkers import ConflictFree, Injective
from symlayout import ComposedLayout, Layout, Swizzle, dims

QUICK = [row for row in ROWS if row.name in ("Injective", "Holds")]


def test_every_kind_of_claim_has_a_row_or_is_awaited():
    """The campaign had 7 kinds of claim; ConflictFree, which was proved wrongly, was none of them."""
    assert registry.complaints() == []


def test_what_users_can_state_are_kinds():
    stated = {name for name in claims.__all__ if isinstance(getattr(claims, name), type)}

    assert stated <= {c.__name__ for c in registry.kinds()}


def test_a_kind_without_a_place_is_named(monkeypatch):
    monkeypatch.setitem(registry.AWAITED, "kernels", ())
    monkeypatch.setattr(registry, "written", lambda place: place == "layouts")

    assert "Computes has neither a row nor a place" in registry.complaints()


def test_a_module_that_exists_is_awaited_no_longer(monkeypatch):
    monkeypatch.setattr(registry, "rows", lambda: ROWS)
    monkeypatch.setattr(registry, "written", lambda place: True)
    monkeypatch.setitem(registry.AWAITED, "kernels", ("Computes",))

    assert "kernels.py exists: take its kinds out of AWAITED" in registry.complaints()


def test_two_rows_of_a_kind_are_named(monkeypatch):
    monkeypatch.setattr(registry, "rows", lambda: (*ROWS, ROWS[0]))

    assert f"{ROWS[0].name} has 2 rows" in registry.complaints()


# -- slices ---------------------------------------------------------------------------------------------------


def test_a_campaign_goes_on_where_it_stopped(tmp_path):
    path, wanted = tmp_path / "slices.jsonl", {"static": 1000, "symbolic": 100}

    first = campaign(QUICK, {"static": 1000}, 3, path)
    lines = path.read_text().splitlines()
    again = campaign(QUICK, wanted, 3, path)

    assert len(first) == len(lines) == 2
    assert path.read_text().splitlines()[:2] == lines, "finished slices are not run again"
    assert {(s.kind, s.mode): s.trials for s in again} == {
        (row.name, mode): n for row in QUICK for mode, n in (("static", 500), ("symbolic", 50))
    }
    assert all(s.proved + s.refuted + s.unknown + s.vacuous == s.trials for s in again)
    assert {s.version for s in read(path)} == {code_version()}


def test_a_line_that_was_cut_off_is_run_again(tmp_path):
    path = tmp_path / "slices.jsonl"
    campaign(QUICK[:1], {"static": 500}, 3, path)
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])

    assert read(path) == []
    campaign(QUICK[:1], {"static": 500}, 3, path)
    assert [json.loads(line)["trials"] for line in path.read_text().splitlines()[1:]] == [500]


def test_slices_of_other_code_are_run_again_and_not_counted(tmp_path, capsys):
    path = tmp_path / "slices.jsonl"
    campaign(QUICK[:1], {"static": 500}, 0, path)
    path.write_text(path.read_text().replace(code_version(), "other"))

    assert main(["--trials", "500", "--symbolic", "0", "--kinds", QUICK[0].name, "--resume", str(path)]) == 0
    said = capsys.readouterr().out
    assert "static: 500 claims, 0 wrong" in said
    assert "not counted: 500 claims of other code versions" in said


def test_the_table_says_the_decided_share_of_each_kind():
    (found,) = campaign(QUICK[:1], {"static": 500}, 0)
    said = table([found, replace(found, number=1, proved=0, refuted=0, unknown=500, vacuous=0, wrong=2)])

    assert "1000" in said
    assert "50.00%" in said
    assert said.endswith("static: 1000 claims, 2 wrong")


def test_an_unknown_kind_is_refused(capsys):
    assert main(["--kinds", "Nothing"]) == 2
    assert "expected kinds among" in capsys.readouterr().err


# -- judging --------------------------------------------------------------------------------------------------


def lying(row: Row) -> Row:
    """The row of an oracle that says the opposite."""
    return replace(row, holds=lambda claim, env: not row.holds(claim, env))


@pytest.mark.parametrize("mode", ["static", "symbolic"])
def test_a_verdict_against_the_oracle_is_found(mode):
    counts, wrong = trials(lying(QUICK[0]), mode, 40, "1")

    assert len(wrong) > 20 >= counts["unknown"]


def test_an_exception_is_no_verdict():
    class Broken(Injective):
        def certify(self, facts):
            raise KeyError("x")

    M, N = dims("M N")
    row = Row(Injective, lambda r: Broken(Layout(4)), lambda r: Broken(Layout((M, N))), plain.injective)
    counts, wrong = trials(row, "symbolic", 3, "1", repairs=False)

    assert not counts
    assert ["KeyError" in w for w in wrong] == [True] * 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_static_claims_are_static_and_symbolic_ones_mostly_not(row):
    r = random.Random(5)
    found = [row.symbolic(r) for _ in range(30)]

    assert sum(not claim.static() for claim in found) > 15
    assert row.static(r).static()


# -- the oracle -------------------------------------------------------------------------------------------------


def test_a_swizzle_bit_by_bit():
    for sw in (Swizzle(3, 3, 3), Swizzle(2, 1, -3), Swizzle(3, 0, 4), Swizzle(0, 0, 0)):
        x = ComposedLayout(sw, 5, Layout(512))
        assert plain.values(x, {}) == [sw(5 + i) for i in range(512)]


def test_ways_count_words_of_a_phase():
    assert plain.ways([128 * i for i in range(32)], 4) == 32
    assert plain.ways([0] * 32, 4) == 1
    assert plain.ways([32 * i for i in range(32)], 16) == 2
    assert plain.ways([2 * i for i in range(32)], 2) == 1


def test_the_lanes_are_all_of_a_nested_mode():
    S = dims("S")[0]
    claim = ConflictFree(Layout(((4, 8), S), ((1, 32), 256)), element_bytes=4, width_bytes=4)

    assert not plain.conflict_free(claim, {"S": 1})
