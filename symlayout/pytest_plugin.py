"""Proofs as tests: the fixture ``prove``, and the markers ``gpu`` and ``proof``.

    def test_tile_covers_the_output(prove):
        prove(Bijective(tile, onto=64 * 64), given=[N.multiple_of(8)])

The failure shows the report. ``--junitxml`` carries it as a property of the test, ``-n`` works as ever, and
``-m proof`` selects the tests that prove something. Importing this module imports only pytest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .answers.report import Report

MARKERS = ("gpu: needs a CUDA device", "proof: proves claims for all sizes; every test with the fixture prove is one")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--symlayout-budget``."""
    parser.getgroup("symlayout").addoption(
        "--symlayout-budget",
        type=_seconds,
        metavar="SECONDS",
        help="solver time of each query of the fixture prove; what it cannot decide in that time is unknown",
    )


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < float("inf"):
            return float(text)
    raise pytest.UsageError(f"--symlayout-budget: expected seconds above 0, got {text!r}")


def pytest_configure(config: pytest.Config) -> None:
    """The markers, for --strict-markers."""
    for line in MARKERS:
        config.addinivalue_line("markers", line)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that prove."""
    if "prove" in getattr(item, "fixturenames", ()):
        item.add_marker("proof")


@pytest.fixture
def prove(request: pytest.FixtureRequest) -> Callable[..., tuple[Any, ...]]:
    """``prove(*claims, given=())`` proves claims and returns their certificates; another verdict fails the test.

    A claim that says ``expect="refuted"`` must be refuted.
    """

    def run(*claims: Any, given: Iterable[Any] = ()) -> tuple[Any, ...]:
        __tracebackhide__ = True
        report = _report(request, claims, given)
        request.node.user_properties.append(("symlayout", report.to_json()))
        if not report.as_expected:
            pytest.fail(f"{_headline(report)}\n{report}")
        return report.certificates

    return run


def _report(request: pytest.FixtureRequest, claims: tuple[Any, ...], given: Iterable[Any]) -> Report:
    from checkers import Budget
    from checkers import prove as report_on

    from .finding.place import Place

    __tracebackhide__ = True
    seconds = request.config.getoption("--symlayout-budget")
    budget = None if seconds is None else Budget(solver_ms=max(1, round(1000 * seconds)))
    report = report_on(*claims, given=given, budget=budget)
    file, line, _ = request.node.location
    place = Place(file, (line or 0) + 1, name=request.node.nodeid)
    return replace(report, verdicts=tuple(v.placed(place) for v in report.verdicts))


def _headline(report: Report) -> str:
    """The first failure, for the summary's one line."""
    wrong = [v for v in report.verdicts if not v.as_expected]
    if not wrong:
        return "expected claims, got none"
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"expected {wrong[0].expect}, got {wrong[0].outcome.value}{more}: {wrong[0].sentence}"
