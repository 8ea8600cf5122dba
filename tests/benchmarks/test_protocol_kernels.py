"""Random protocols of barriers: what is proved holds in every schedule that is tried, and most are decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import cluster_protocols
from benchmarks.protocol_kernels import campaign, drawn, main


def test_what_is_proved_no_schedule_breaks(share: Callable[[int], int], tmp_path: Path) -> None:
    rows = list(campaign(max(6, share(20)), path=tmp_path / "rows"))

    assert [r for r in rows if r["proof"] == "proved" and r["broken"]] == []
    assert {"proved", "refuted"} <= {r["proof"] for r in rows}
    assert list(campaign(len(rows), path=tmp_path / "rows")) == rows, "a trial that is there is not run again"


def test_protocols_differ() -> None:
    assert len({drawn(seed)[0].text() for seed in range(30)}) > 20
    assert any(drawn(seed)[1] for seed in range(30))


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--trials", "2"]) == 0
    assert "wrongly proved" in capsys.readouterr().out


def test_what_is_proved_of_clusters_no_schedule_breaks(share: Callable[[int], int]) -> None:
    rows = list(campaign(max(5, share(12)), draw=cluster_protocols.drawn))

    assert [r for r in rows if r["proof"] == "proved" and r["broken"]] == []
    assert {"proved", "refuted"} <= {r["proof"] for r in rows}
