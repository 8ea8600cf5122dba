"""Random kernels on random machines keep the laws of simulations, and a simulator that breaks one is told."""

from __future__ import annotations

from benchmarks.simulated_laws import judged, main
from simulator import warp
from simulator.resource import Pipe


def test_the_laws_hold_for_some_seeds(share):
    outcomes = [judged(seed) for seed in range(share(60))]

    assert [told for outcome, told in outcomes if outcome == "broken"] == []
    assert sum(outcome == "kept" for outcome, _ in outcomes) >= len(outcomes) / 3


def test_a_simulator_that_forgets_groups_leaves_other_bytes(monkeypatch):
    monkeypatch.setattr(warp, "dropwhile", lambda over, groups: [x for x in groups if not over(x)])

    assert judged(1797)[1] == ["seed 1797: pipelined {'L': 13}: z has other bytes than without time"]


def test_a_server_above_its_rate_is_told_with_status_1(monkeypatch, capsys):
    monkeypatch.setattr(Pipe, "utilisation", lambda self, time: 2.0 * bool(self.busy))

    assert main(["--first", "2", "--count", "3"]) == 1
    assert "is busy for 200.0% of the time" in capsys.readouterr().out
