"""What all rows have in common: complete, named once, explained, and on the page as they stand in the code."""

from __future__ import annotations

import pickle
from pathlib import Path

from symlayout.answers.explain import explain, overview
from symlayout.rules import TABLES
from symlayout.rules.catalogue import PROFILES, SECTIONS, page, rows
from symlayout.rules.rule import COUNTS, MOST

PAGE = Path(__file__).parents[2] / "docs" / "tma_rules.md"
EVERY = [r for table in SECTIONS for r in rows(table)]


def test_the_page_is_the_one_that_the_rows_make():
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m symlayout.rules.catalogue > docs/tma_rules.md"


def test_the_page_has_every_rule_once():
    lines = page().splitlines()

    for rule in EVERY:
        assert sum(line.startswith(f"| `{rule.id}` |") for line in lines) == 1


def test_every_table_has_its_section():
    assert set(TABLES) == set(SECTIONS)


def test_ids_are_unique_over_all_tables():
    ids = [r.id for r in EVERY]

    assert sorted(ids) == sorted(set(ids))


def test_rows_are_complete():
    for rule in EVERY:
        assert rule.sentence, rule.id
        assert not rule.sentence.endswith("."), rule.id
        assert rule.source, rule.id
        assert rule.effect, rule.id
        assert rule.profiles, rule.id
        assert set(rule.profiles) <= set(PROFILES), rule.id
        assert rule.each in COUNTS, rule.id
        assert rule.each in MOST, rule.id
        assert "|" not in f"{rule.sentence}{rule.effect}{rule.fix}{rule.source}", rule.id


def test_explain_reads_the_rows():
    listed = overview().splitlines()
    for rule in EVERY:
        found = explain(rule.id)
        words = " ".join(found.text.split())
        assert found.name == rule.id
        for part in (rule.sentence, rule.effect, rule.fix, rule.source, ", ".join(rule.profiles)):
            assert " ".join(part.split()) in words, rule.id
        assert f"  {rule.id}" in listed


def test_rows_survive_pickling():
    for rule in EVERY:
        assert pickle.loads(pickle.dumps(rule)) is rule


def test_the_driver_is_in_every_profile_that_ends_in_it():
    for r in rows("tma"):
        if "driver" in r.profiles:
            assert {"cccl", "hardware"} <= set(r.profiles)
