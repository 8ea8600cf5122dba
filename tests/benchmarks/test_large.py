"""Large sizes on a device, here on the stand-in: rows with the seconds of each part, and a status where one differs."""

import json

import pytest

import gpu
from benchmarks.hardware import large
from gpu.differential import cases
from symlayout import dims, kernels
from tests.gpu.test_differential import copying
from tests.gpu.test_on_device_comparison import machine  # noqa: F401


@pytest.fixture
def small(machine, monkeypatch):  # noqa: F811
    monkeypatch.setattr(large, "CASES", {"vector_copy": (lambda: kernels.vector_copy(*dims("N")), {"N": 1003})})
    monkeypatch.setattr(cases, "UNTIMED_BYTES", 0)
    return machine


def test_rows_have_the_seconds_of_each_part(small, tmp_path, capsys):
    small.kernels["vector_copy"] = copying(lambda *_: None)

    assert large.main(["--only", "vector_copy", "--out", str(tmp_path / "rows.jsonl")]) == 0

    found = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert [(r["data"], r["outcome"]) for r in found] == [("numbers", "same"), ("bits", "same")]
    assert all(list(r["parts"]) == ["inputs", "twins", "definition", "kernel", "comparison"] for r in found)
    assert "vector_copy          bits     same" in capsys.readouterr().out


def test_a_difference_is_status_1(small, capsys):
    small.kernels["vector_copy"] = copying(lambda m, _, to, n: m.bytes_at(to + 12, 1).__setitem__(0, 7))

    assert large.main([]) == 1
    assert "first at (3,), offset 3" in capsys.readouterr().out


def test_without_a_device_it_is_status_4(monkeypatch, capsys):
    monkeypatch.setattr(gpu, "availability", lambda: gpu.Availability(False, "no device", 0))

    assert large.main([]) == 4
    assert "no device" in capsys.readouterr().out
