"""The fixture prove: what passes, what a failure shows, and what JUnit and xdist carry."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from gpu.differential import Case, Differential
from gpu.libraries import Availability
from symlayout import pytest_plugin

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]

TESTS = """
    import pytest

    import checkers.prover
    from checkers import Bijective, Injective
    from symlayout import Layout, dims

    M, N, ld = dims("M N ld")
    A = Layout((M, N), (1, ld))

    def test_proofs(prove):
        certificates = prove(Injective(A), Bijective(Layout((M, N)), onto=M * N), given=[ld >= M])
        assert [c["claim"]["kind"] for c in certificates] == ["injective", "bijective"]

    def test_known_bug(prove):
        prove([Injective(A, expect="refuted")])

    def test_refuted(prove):
        prove(Injective(A))

    def test_unexpected_proof(prove):
        prove([Injective(A, given=[ld >= M], expect="refuted"), Injective(A)])

    def test_no_claim(prove):
        prove()

    def test_wrong_use(prove):
        prove(A)

    def test_budget(prove, monkeypatch):
        budgets = []
        decide = checkers.prover.decide
        monkeypatch.setattr(checkers.prover, "decide", lambda claim, b: budgets.append(b) or decide(claim, b))
        prove(Injective(A, expect="refuted"))
        assert [b.solver_ms for b in budgets] == [1500]

    @pytest.mark.gpu
    def test_device():
        pass
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on the tests above in a process of its own, which loads no other plugins than these."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error")
    pytester.makepyfile(TESTS)

    def call(*options):
        return pytester.runpytest_subprocess("-p", "symlayout.pytest_plugin", *options)

    return call


@pytest.mark.parametrize("workers", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "xdist"])
def test_verdicts_decide_and_junit_carries_them(run, pytester, workers):
    if workers and not importlib.util.find_spec("xdist"):
        pytest.skip("pytest-xdist is not installed")

    result = run("--junitxml=report.xml", "--symlayout-budget=1.5", *workers)

    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines([
        ">       prove(Injective(A))",
        "E       Failed: expected proved, got refuted: injective: (M,N):(1,ld)",
        "E *refuted   injective: (M,N):(1,ld)*",
        "E *fails for M = 2, N = 2, ld = 1: coordinates (1,0) and (0,1) both map to 1",
    ])  # fmt: skip
    for shown in (
        "E *Failed: expected refuted, got proved (and 1 more): *",
        "E *Failed: expected claims, got none",
        "E *ClaimError: expected a claim*",
    ):
        result.stdout.fnmatch_lines(shown)
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")

    reports = {
        case.get("name"): [json.loads(p.get("value")) for p in case.iter("property") if p.get("name") == "symlayout"]
        for case in ET.parse(pytester.path / "report.xml").iter("testcase")
    }
    assert reports["test_device"] == reports["test_wrong_use"] == []
    assert [v["outcome"] for v in reports["test_proofs"][0]["verdicts"]] == ["proved", "proved"]
    [refuted] = reports["test_refuted"][0]["verdicts"]
    assert refuted["witness"]["sizes"] == {"M": 2, "N": 2, "ld": 1}
    assert refuted["place"]["name"].endswith(".py::test_refuted")


def test_proofs_are_marked(run):
    result = run("-m", "proof", "--collect-only", "-q")

    result.stdout.fnmatch_lines("7/8 tests collected (1 deselected)*")
    result.stdout.no_fnmatch_line("*test_device*")


def test_a_wrong_budget_is_an_error_of_usage(run):
    result = run("--symlayout-budget=0")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--symlayout-budget: expected seconds above 0, got '0'"])
    for seconds in ("-1", "inf", "nan", "soon"):
        with pytest.raises(pytest.UsageError, match=f"got '{seconds}'"):
            pytest_plugin._seconds(seconds)


def test_the_plugin_is_an_entry_point_and_loads_no_prover_until_it_is_used():
    script = "import sys, symlayout.pytest_plugin; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert {"checkers", "z3", "hypothesis", "sympy"} & set(loaded.stdout.split()) == set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"symlayout": "symlayout.pytest_plugin"}


# -- the fixture gpu_run ----------------------------------------------------------------------------------


ON_A_DEVICE = """
def test_runs(gpu_run):
    gpu_run(None, None)
"""


@pytest.mark.parametrize("required, outcome", [("0", {"skipped": 1}), ("1", {"errors": 1})])
def test_without_a_device_gpu_run_skips_or_fails(pytester, monkeypatch, required, outcome):
    monkeypatch.setenv("SYMLAYOUT_REQUIRE_GPU", required)
    monkeypatch.setattr("gpu.availability", lambda: Availability(False, "no device, for this test"))
    pytester.makepyfile(ON_A_DEVICE)

    result = pytester.inline_run("-rs", "-p", "no:cacheprovider")

    found = result.listoutcomes()
    assert [len(x) for x in found] == [0, outcome.get("skipped", 0), outcome.get("errors", 0)]
    assert "no device, for this test" in str((found[1] or found[2])[0].longrepr)


def test_gpu_run_shows_the_table_of_what_differs_and_marks_the_test(pytester, monkeypatch):
    case = Case("least", (("N", 1),), "bits", "differs", "dst differs at (0,)")
    monkeypatch.setattr("gpu.availability", lambda: Availability(True, "1 device", 1))
    monkeypatch.setattr(
        "gpu.differential_test", lambda *_, **__: Differential("k", "d" * 64, "sm_90a", "a device", (case,))
    )
    pytester.makepyfile(ON_A_DEVICE)

    result = pytester.inline_run("-m", "gpu", "-p", "no:cacheprovider")

    [failed] = result.listoutcomes()[2]
    assert "expected the same bytes in all cases, got others in 1" in str(failed.longrepr)
    assert "dst differs at (0,)" in str(failed.longrepr)
