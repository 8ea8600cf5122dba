"""Proofs as tests: the fixtures ``prove`` and ``gpu_run``, and the markers ``gpu`` and ``proof``.

    def test_tile_covers_the_output(prove):
        prove(Bijective(tile, onto=64 * 64), given=[N.multiple_of(8)])

    def test_kernel_runs_as_proved(gpu_run):
        gpu_run(kernel, checkers.prove(kernel).certificate)

The failure shows the report. ``--junitxml`` carries it as a property of the test, ``-n`` works as ever, and
``-m proof`` selects the tests that prove something. Importing this module imports only pytest.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .answers.report import Report

REQUIRE_GPU = "SYMLAYOUT_REQUIRE_GPU"  # 1 makes a failure of a missing device
MARKERS = (
    "gpu: needs a CUDA device; every test with the fixture gpu_run does",
    "proof: proves claims for all sizes; every test with the fixture prove is one",
)


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
    """Mark the tests that prove, and those that run on a device."""
    for fixture, marker in (("prove", "proof"), ("gpu_run", "gpu")):
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(marker)


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


@pytest.fixture
def gpu_run(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """``gpu_run(kernel, certificate, sizes="edges")`` runs a kernel on a device; another byte fails the test.

    Parameters and result are those of ``gpu.differential_test``. Without a device the test is skipped, with the reason;
    with SYMLAYOUT_REQUIRE_GPU=1 it fails.
    """
    import gpu

    there = gpu.availability()
    if not there.ok and os.environ.get(REQUIRE_GPU) == "1":
        pytest.fail(f"{REQUIRE_GPU}=1: {there.reason}")
    if not there.ok:
        pytest.skip(there.reason)

    def run(kernel: Any, certificate: Any, sizes: Any = "edges", **options: Any) -> Any:
        __tracebackhide__ = True
        found = gpu.differential_test(kernel, certificate, sizes, **options)
        request.node.user_properties.append(("symlayout_device", str(found)))
        if not found:
            pytest.fail(f"expected the same bytes in all cases, got others in {len(found.wrong)}\n{found}")
        return found

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
