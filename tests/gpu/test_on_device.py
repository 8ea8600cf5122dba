"""On a real device: kernels launched in every way that gpu has, and bytes compared. Skipped, with the reason, elsewhere.

Every family runs as it is by default, mbarriers initialised by operations of its own, and sums that threads of several
CTAs add to memory. With SYMLAYOUT_REQUIRE_GPU=1 a missing device is a failure.
"""

import os

import numpy as np
import pytest

import gpu
from benchmarks.hardware import functions, launch_check
from checkers import prove
from gpu.differential import edges
from symlayout import dim
from symlayout.ck_tile import kernel_view, make_naive_tensor_view, make_naive_tensor_view_packed
from symlayout.kernel import Builder
from symlayout.kernels.families import families
from tests.support import ck_copies
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


@pytest.mark.parametrize("name", ck_copies.KERNELS)
def test_copies_between_views_of_ck_tile_leave_what_numpy_has(name):
    kernel, n = ck_copies.KERNELS[name]()
    given = {"src": ck_copies.numbers(n), "dst": -ck_copies.numbers(int(kernel.tensors[1].layout.size()))}
    with gpu.Device():
        found = gpu.run_unproved(kernel, given)["dst"]

    assert found.tobytes() == kernel.reference(**given)["dst"].tobytes()


def test_a_constant_index_of_a_view_is_one_element():
    """The access (5, 10) of a 256 x 256 tensor of strides (256, 1)."""
    k = Builder("read", grid=(1,), threads=32)
    a = kernel_view(k, "a", make_naive_tensor_view(None, (256, 256), (256, 1)))
    out, x = kernel_view(k, "out", make_naive_tensor_view_packed(None, (32,))), k.registers("x", "f32", 1)
    k.copy("ld.global.4", a(5, 10), x())
    k.copy("st.global.4", x(), out(k.thread))
    with gpu.Device():
        found = gpu.run_unproved(k.kernel(), {"a": np.arange(256 * 256, dtype=np.float32)})["out"]

    assert (found == 1290).all()


@pytest.mark.parametrize("word", ["ex2.approx", "tanh.approx.x2", "fma.x2", "div"])
def test_functions_are_within_what_is_stated_of_their_errors(word, monkeypatch):
    monkeypatch.setattr(functions, "DRAWS", 1 << 14)
    rows = list(functions.measured(functions.TYPES, [word]))

    assert rows
    for row in rows:
        assert row["outside"] == 0, row
