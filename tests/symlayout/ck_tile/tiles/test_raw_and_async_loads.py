"""Raw loads keep registers, asynchronous ones go to LDS: by upstream's addresses, and in kernels by cp.async."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import Equal, HappensBefore, NoInvalidAccess, prove
from symlayout import LayoutError, ceil_div, dim
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TensorView,
    TileDistributionEncoding,
    async_places,
    kernel_view,
    load_tile,
    make_buffer_view,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_pass_through_transform,
    make_static_distributed_tensor,
    make_static_tile_distribution,
    make_tile_window,
    make_xor_transform,
    pad_tensor_view,
    store_tile,
    transform_tensor_descriptor,
    transpose_tensor_view,
    unmasked,
)
from symlayout.expr import index
from symlayout.kernel import Builder
from symlayout.ops import Copy, WaitGroup
from symlayout.results import element
from symlayout.semantics import execute
from tests.support.ck_tiles import GEMM_A

M, K = dim("M"), dim("K", at_most=32 * 65535)
SMALL = make_static_tile_distribution(TileDistributionEncoding((), ((64,), (8,)), (((1, 0),),), ((2, 0),)))
GEMM = make_static_tile_distribution(GEMM_A)


def padded(rows, columns, tile, vector=8, data=None, dtype="bf16"):
    view = make_naive_tensor_view(data, (rows, columns), (columns, 1), vector, 1, dtype=dtype)
    return pad_tensor_view(view, tile, (True, True))


def test_raw_loads_keep_what_registers_hold_where_a_mask_is_false():
    rows = padded(70, 8, (64, 8), data=np.arange(560, dtype=np.int32), dtype="i32")
    window = make_tile_window(rows, (64, 8), (64, 0), SMALL)
    tensor = make_static_distributed_tensor("i32", SMALL).map(lambda x: x - 7)
    window.load_raw(tensor)

    assert tensor.to_numpy()[:6].tolist() == np.arange(512, 560).reshape(6, 8).tolist()
    assert (tensor.to_numpy()[6:] == -7).all()
    assert (window.load().to_numpy()[6:] == 0).all()
    window.load_raw(tensor, oob_conditional_check=False)  # past the end of the buffer hardware reads 0
    assert (tensor.to_numpy()[6:] == 0).all()


def test_raw_vectors_are_registers_in_a_row():
    """A vector along Y0 of two has no registers side by side; upstream does not compile it."""
    d = make_static_tile_distribution(
        TileDistributionEncoding((), ((8, 4), (4, 8)), (((1, 0), (2, 1)),), ((1, 1), (2, 0)))
    )
    columns = transpose_tensor_view(make_naive_tensor_view(np.arange(1024), (32, 32), (32, 1), 4, 1))
    window = make_tile_window(columns, (32, 32), (0, 0), d)

    assert window.vector == (0, 4)
    with pytest.raises(LayoutError, match=r"vectors of 4 from a multiple of 4 registers on, got 1 at Y \(0,1\)"):
        window.load_raw(make_static_distributed_tensor("i64", d))


def lds(lengths, strides):
    view = make_naive_tensor_view(None, lengths, strides, space="lds", dtype="bf16")
    return make_tile_window(view, lengths, (0, 0, 0))


def test_asynchronous_loads_land_where_a_view_of_lds_has_them():
    """Also with rows of waves apart; not where warps are not a multiple of one step."""
    window = make_tile_window(padded(128, 32, (128, 32)), (128, 32), (0, 0), GEMM)
    good = [lds((2, 4, 512), (2048, 512, 1)), lds((2, 4, 512), (2200, 528, 1))]
    d = make_naive_tensor_descriptor((2, 4, 64, 8), (2048, 512, 8, 1))
    d = transform_tensor_descriptor(
        d,
        (make_pass_through_transform(2), make_xor_transform((4, 64)), make_pass_through_transform(8)),
        ((0,), (1, 2), (3,)),
        ((0,), (1, 2), (3,)),
    )
    merge = make_pass_through_transform(2), make_pass_through_transform(4), make_merge_transform((64, 8))
    d = transform_tensor_descriptor(d, merge, ((0,), (1,), (2, 3)), ((0,), (1,), (2,)))
    swizzled = TensorView(make_buffer_view(None, 4096, space="lds", dtype="bf16"), d)
    bad = make_tile_window(swizzled, (2, 4, 512), (0, 0, 0))

    assert [bool(prove(Equal(*async_places(window, w)))) for w in good] == [True, True]
    [verdict] = prove(Equal(*async_places(window, bad))).verdicts
    assert verdict.outcome is Outcome.REFUTED
    assert "528 at (0,1,1,0), but 512" in verdict.witness.story
    with pytest.raises(LayoutError, match=r"\(2,4,512\) as the lengths of an LDS window, got \(2,4,256\)"):
        async_places(window, lds((2, 4, 256), (1024, 256, 1)))
    with pytest.raises(LayoutError, match="expected a load from global memory to lds"):
        async_places(good[0], good[1])


def test_asynchronous_raw_loads_need_every_access_inside():
    """Hardware looks at the end of the buffer alone, and a proof at nothing but that."""
    ragged = padded(M, 32, (128, 32))
    window = make_tile_window(ragged, (128, 32), (128 * index("bm", ceil_div(M, 128)), 0), GEMM)

    assert prove(NoInvalidAccess(window.access, window.buffer.size))
    claim = NoInvalidAccess(unmasked(window), window.buffer.size)
    assert prove(claim).verdicts[0].outcome is Outcome.REFUTED
    assert prove(claim, given=[M.multiple_of(128)])


def through(masked=True):
    """Tiles of 128 x 32 to LDS by cp.async and out again."""
    k = Builder("asynchronous", M, K, grid=(ceil_div(M, 128), ceil_div(K, 32)), threads=256)
    a, b = (kernel_view(k, x, padded(M, K, (128, 32))) for x in "ab")
    view = make_naive_tensor_view(None, (128, 32), (40, 1), 8, 1, space="lds", dtype="bf16")
    held = make_tile_window(kernel_view(k, "s", view), (128, 32), (0, 0), GEMM)
    at = 128 * k.block[0], 32 * k.block[1]
    make_tile_window(a, (128, 32), at, GEMM).async_load(held, masked)
    k.commit("cp.async")
    k.wait_group("cp.async")
    k.sync()
    store_tile(make_tile_window(b, (128, 32), at, GEMM), load_tile(held))
    k.result("b", lambda m, n: element("a", m, n))
    return k.kernel(K.multiple_of(8))


def test_an_asynchronous_load_of_a_kernel_is_proved_and_run():
    kernel = through()
    data = np.arange(150 * 40, dtype=np.uint16).reshape(150, 40).view(kernel.tensors[0].dtype.numpy())

    assert prove(kernel)
    assert {op.atom for op in kernel.walk() if isinstance(op, Copy)} >= {"cp.async.16"}
    found = execute(kernel.bind(M=150, K=40), {"a": data}, "lazy")["b"]
    assert np.array_equal(found.view(np.uint16), data.view(np.uint16))


def test_mistakes_of_asynchronous_loads_are_refuted():
    unwaited = through().edited(lambda op: () if isinstance(op, WaitGroup) else (op,))
    outside = prove(through(masked=False)).verdicts

    assert prove(HappensBefore(unwaited)).verdicts[0].outcome is Outcome.REFUTED
    assert any(v.outcome is Outcome.REFUTED and v.claim.kind == "in bounds" for v in outside)


def test_asynchronous_loads_that_no_instruction_makes():
    k = Builder("bytes", grid=(1,), threads=256)
    a = make_tile_window(kernel_view(k, "a", padded(128, 32, (128, 32))), (128, 32), (0, 0), GEMM)
    plain = make_naive_tensor_view(None, (128, 32), (40, 1), space="lds", dtype="bf16")
    narrow = make_tile_window(kernel_view(k, "s", plain), (128, 32), (0, 0), GEMM)
    with pytest.raises(
        LayoutError, match="4, 8 or 16 bytes along one Y dimension of both views, got 8 bf16 of a and 1"
    ):
        a.async_load(narrow)
    with pytest.raises(LayoutError, match="one distribution in global memory and lds"):
        a.async_load(a)
