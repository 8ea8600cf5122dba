"""On a real device: kernels launched in every way that gpu has, and bytes compared. Skipped, with the reason, elsewhere.

With SYMLAYOUT_REQUIRE_GPU=1 a missing device is a failure.
"""

import os

import pytest

import gpu
from benchmarks.hardware import launch_check

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module", autouse=True)
def _device():
    there = gpu.availability()
    if not there.ok and os.environ.get("SYMLAYOUT_REQUIRE_GPU") == "1":
        pytest.fail(f"SYMLAYOUT_REQUIRE_GPU=1: {there.reason}")
    if not there.ok:
        pytest.skip(there.reason)


@pytest.mark.parametrize("name", launch_check.WAYS)
def test_launches_end_as_expected(name):
    row = launch_check.row(name)

    if row["told"].startswith("skipped: "):
        pytest.skip(row["told"])
    assert row["as_expected"], row["told"]
