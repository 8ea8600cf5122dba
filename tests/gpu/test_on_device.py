"""On a real device: kernels launched in every way that gpu has, and bytes compared. Skipped, with the reason, elsewhere.

Every family runs as it is by default, mbarriers initialised by operations of its own, and sums that threads of several
CTAs add to memory. With SYMLAYOUT_REQUIRE_GPU=1 a missing device is a failure.
"""

import os

import pytest

import gpu
from benchmarks.hardware import launch_check
from checkers import prove
from gpu.differential import edges
from symlayout import dim
from symlayout.kernels.families import families
from tests.support.red_kernels import split_row_sum

SOME = 6  # of the sizes at which mistakes show
DELAYS = 5

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


def proved(kernel):
    """The kernel under the repairs that its proof asks for, with its certificate."""
    kernel = kernel.assuming(*prove(kernel).repairs)
    return kernel, prove(kernel).certificate


@pytest.mark.parametrize("family", families(), ids=lambda f: f.name)
def test_a_family_as_it_is_by_default_leaves_the_bytes_of_its_reference(gpu_run, family):
    kernel, certificate = proved(family.build())

    gpu_run(kernel, certificate, [at for _, at in edges(kernel)][:SOME], delays=DELAYS)


def test_sums_that_threads_of_several_ctas_add_to_memory(gpu_run):
    N = dim("N", at_most=1 << 20)
    kernel, certificate = proved(split_row_sum(dim("M", at_most=4096), N, dim("ld", at_least=N, multiple_of=4)))

    gpu_run(kernel, certificate, [at for _, at in edges(kernel)][:SOME])
    gpu_run(kernel, certificate, [at for _, at in edges(kernel)][:SOME], delays=DELAYS)
