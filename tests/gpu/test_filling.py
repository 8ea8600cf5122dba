"""The number of CTAs of persistent kernels as it fills a device."""

import pytest

import gpu
from gpu.filling import bind, filling, launch_sizes
from symlayout import dim, dims
from symlayout.errors import AssumptionError
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, gemm, tma_copy, vector_copy
from tests.support import cuda_stand_in as stand_in

B = dim("B", at_most=100)
M, N, K = dims("M N K", multiple_of=8)


@pytest.mark.parametrize(
    "kernel, multiprocessors, found",
    [
        (tma_copy(M, N, blocks=dim("CTAs")), 132, {"CTAs": 132}),
        (bulk_copy(N, blocks=B), 132, {"B": 100}),
        (gemm(M, N, K, cluster=2, blocks=2 * dim("n")), 132, {"n": 66}),
        (gemm(M, N, K, cluster=4, blocks=4 * dim("n")), 3, {"n": 1}),
        (vector_copy(N), 132, {}),
        (tma_copy(M, N), 132, {}),
    ],
)
def test_as_many_as_a_device_has_room_for(kernel, multiprocessors, found):
    assert filling(kernel, multiprocessors) == found


def test_a_grid_of_another_form_is_not_guessed():
    kernel = Builder("odd", B, grid=(B + 1,), threads=32).kernel()

    assert launch_sizes(kernel) == ()
    assert filling(kernel, 132) == {}


def test_sizes_that_are_given_stay(monkeypatch):
    stand_in.install(monkeypatch)
    kernel = tma_copy(M, N, blocks=dim("CTAs"))
    with gpu.Device() as device:
        assert bind(kernel, device, M=8, N=64).grid == (stand_in.MULTIPROCESSORS,)
        assert bind(kernel, device, M=8, N=64, CTAs=3).grid == (3,)
        with pytest.raises(AssumptionError, match="expected sizes CTAs, M, N"):
            bind(kernel, device, M=8)
