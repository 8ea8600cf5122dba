"""The fixture prove: what passes, what a failure shows, and what JUnit and xdist carry."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import checkers.prover  # noqa: F401  # loaded once, not in each inner run
from symlayout import pytest_plugin

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]

CLAIMS = """
    from checkers import Bijective, Injective
    from symlayout import Layout, dims

    M, N, ld = dims("M N ld")
    A = Layout((M, N), (1, ld))
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on a file with the claims above and some tests; in a process of its own where xdist starts more."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    installed = list(entry_points(group="pytest11", name="symlayout"))

    def call(tests, *options):
        pytester.makeini("[pytest]\naddopts = --strict-markers -p no:cacheprovider\nfilterwarnings = error")
        pytester.makepyfile(CLAIMS + tests)
        if "-n" not in options:
            return pytester.runpytest_inprocess(*options, plugins=[] if installed else [pytest_plugin])
        return pytester.runpytest_subprocess(*([] if installed else ["-p", "symlayout.pytest_plugin"]), *options)

    return call


def test_proofs_pass_and_return_their_certificates(run):
    result = run("""
    def test_proof(prove):
        certificates = prove(Injective(A), Bijective(Layout((M, N)), onto=M * N), given=[ld >= M])
        assert [c["claim"]["kind"] for c in certificates] == ["injective", "bijective"]

    def test_known_bug(prove):
        prove([Injective(A, expect="refuted")])
    """)

    result.assert_outcomes(passed=2)


def test_a_failure_shows_the_report_and_the_line(run):
    result = run("""
    def test_refuted(prove):
        prove(Injective(A))

    def test_unexpected_proof(prove):
        prove(Injective(A, given=[ld >= M], expect="refuted"))

    def test_nothing(prove):
        prove()

    def test_wrong_use(prove):
        prove(A)
    """)

    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines([
        ">       prove(Injective(A))",
        "E       Failed: expected every claim to be as it says, got 1 refuted",
        "E       refuted   injective: (M,N):(1,ld)*",
        "E *fails for M = 2, N = 2, ld = 1: coordinates (1,0) and (0,1) both map to 1",
    ])  # fmt: skip
    result.stdout.fnmatch_lines(["E *proved *(expected refuted)", "E *got no claims", "E *ClaimError: expected a claim*"])
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_the_budget_reaches_the_solver(run):
    tests = """
    def test_budget(prove, monkeypatch):
        import checkers.prover
        budgets = []
        decide = checkers.prover.decide
        monkeypatch.setattr(checkers.prover, "decide", lambda claim, b: budgets.append(b) or decide(claim, b))
        prove(Injective(A, expect="refuted"))
        assert [b.solver_ms for b in budgets] == [%d]
    """

    run(tests % 1500, "--symlayout-budget", "1.5").assert_outcomes(passed=1)
    run(tests % 4000).assert_outcomes(passed=1)
    wrong = run(tests % 0, "--symlayout-budget", "-1")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(["*--symlayout-budget: expected seconds above 0, got '-1'"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_junit_carries_the_reports(run, pytester, workers):
    if workers:
        pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    result = run(
        """
    def test_proof(prove):
        prove(Injective(A), given=[ld >= M])

    def test_refuted(prove):
        prove(Injective(A))
    """,
        "--junitxml=report.xml",
        *workers,
    )

    result.assert_outcomes(passed=1, failed=1)
    found = {}
    for case in ET.parse(pytester.path / "report.xml").iter("testcase"):
        [entry] = case.iter("property")
        assert entry.get("name") == "symlayout"
        [found[case.get("name")]] = json.loads(entry.get("value"))["verdicts"]
    assert {name: v["outcome"] for name, v in found.items()} == {"test_proof": "proved", "test_refuted": "refuted"}
    assert found["test_refuted"]["witness"]["sizes"] == {"M": 2, "N": 2, "ld": 1}
    assert found["test_refuted"]["place"].endswith(".py::test_refuted")


def test_markers_are_known_and_proofs_are_marked(run):
    tests = """
    import pytest

    def test_proof(prove):
        prove(Injective(A), given=[ld >= M])

    @pytest.mark.gpu
    def test_device():
        pass
    """

    run(tests, "-m", "proof").assert_outcomes(passed=1, deselected=1)
    run(tests, "-m", "gpu").assert_outcomes(passed=1, deselected=1)


def test_the_plugin_loads_no_prover_until_it_is_used():
    script = "import sys, symlayout.pytest_plugin; print({'checkers', 'z3', 'hypothesis', 'rich'} & set(sys.modules))"

    loaded = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert loaded.stdout.strip() in ("set()", "{'rich'}")  # pytest itself may load rich
