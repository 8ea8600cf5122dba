"""Comments that were meant as claims are reported; prose about symlayout is not."""

from __future__ import annotations

import re

import pytest

from checkers.claim_text import KINDS
from symlayout.finding.near_misses import may_have_slips, slip
from tests.cli.test_text_ways import Run

SLIPS = [
    ("symlayout bijective (4,8):(8,1) onto 32", "'symlayout:' before a claim, got 'symlayout'"),
    ("Symlayout: bijective (4,8):(8,1) onto 32", "'symlayout:' before a claim, got 'Symlayout:'"),
    ("SYMLAYOUT: injective 8:1", "'symlayout:' before a claim, got 'SYMLAYOUT:'"),
    ("symlayout : injective 8:1", "'symlayout:' before a claim, got 'symlayout :'"),
    ("symlayout; injective 8:1", "'symlayout:' before a claim, got 'symlayout;'"),
    ("symlayout- injective 8:1", "'symlayout:' before a claim, got 'symlayout-'"),
    ("symlayout. injective 8:1", "'symlayout:' before a claim, got 'symlayout.'"),
    ("@symlayout: injective 8:1", "'symlayout:' before a claim, got '@symlayout:'"),
    ("symlayouts: injective 8:1", "'symlayout:' before a claim, got 'symlayouts:'"),
    ("symlayot: injective 8:1", "'symlayout:' before a claim, got 'symlayot:'"),
    ("simlayout: injective 8:1", "'symlayout:' before a claim, got 'simlayout:'"),
    ("sym-layout: injective 8:1", "'symlayout:' before a claim, got 'sym-layout:'"),
    ("TODO symlayout: injective 8:1", "'symlayout:' at the beginning of the comment, got it after 'TODO'"),
    ("symlayout bijectve (4,8) onto 32", "'symlayout:' before a claim, got 'symlayout'"),
    ("symlayout dims M N", "'symlayout:' before a claim, got 'symlayout'"),
    ("Symlayout: given M % 8 == 0", "'symlayout:' before a claim, got 'Symlayout:'"),
]
PROSE = [
    "symlayout proves that this is bijective",
    "see symlayout: the manual",
    "symlayout holds all claims",
    "symlayout: injective 8:1",  # the mark itself is no slip
    "checked with symlayout (https://example.com)",
    "symlayout dims are sizes",
    "our simulation layout: injective enough",
    "the symlayout given here",
    "the layout is injective (8:1)",
]


@pytest.mark.parametrize("comment, said", SLIPS)
def test_a_slip_is_said(comment, said):
    assert may_have_slips(comment)
    assert slip(comment, KINDS) == said


@pytest.mark.parametrize("comment", PROSE)
def test_prose_is_left_alone(comment):
    assert slip(comment, KINDS) is None


@pytest.mark.parametrize("comment", [c for c, _ in SLIPS])
def test_the_command_reports_it(tmp_path, comment):
    """Statements that were skipped in silence, with exit status 0 beside any other claim."""
    (tmp_path / "a.cu").write_text(f"// symlayout: injective 8:1\n// {comment}\n")
    (tmp_path / "b.cu").write_text(f"int x; // {comment}\n")

    run = Run("prove", tmp_path)

    assert run.status == 2
    assert re.search(r"a\.cu:2:\d+: expected 'symlayout:'", run.err)
    assert re.search(r"b\.cu:1:\d+: expected 'symlayout:'", run.err)
