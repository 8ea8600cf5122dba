"""A slice of the campaign of random tensors, and that it sees a wrong copy."""

from __future__ import annotations

from benchmarks import tensor_algorithms
from symlayout.algorithms import copies


def test_a_slice_of_the_campaign_agrees():
    assert tensor_algorithms.campaign(200, 10, seed=5) == []


def test_the_campaign_sees_a_copy_in_another_order(monkeypatch):
    monkeypatch.setattr(copies, "moved", lambda src, dst, keep=None: copies.store(dst, copies.values(src)[::-1]))
    assert any(what.startswith("copy ") for what in tensor_algorithms.campaign(40, 0, seed=5))
