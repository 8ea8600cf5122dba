"""Real bugs of tensor maps from public trackers, on their own numbers.

Each test names its issue. What must be accepted stands beside what must be rejected: a false alarm on a map
that works is as much a failure as a missed bug.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from symlayout import dims
from symlayout.dlpack import DLTensor
from symlayout.errors import LayoutError
from symlayout.rules.tma import lints, violations
from symlayout.tma import Im2col, TensorMap, TmaSwizzle
from symlayout.tma.from_dlpack import make_tma_descriptor

PROFILES = ("driver", "documented", "cccl", "hardware")
AT = 1 << 20  # an aligned address


def rejected(m, profile="driver"):
    return [v.rule.id for v in violations(m, profile)]


def verdicts(m):
    """The rules that a map breaks, by profile."""
    return {p: found for p in PROFILES if (found := rejected(m, p))}


def numbers(m, profile="driver"):
    return [(v.rule.id, v.value) for v in violations(m, profile)]


def test_an_odd_row_of_bf16():
    """triton-lang/triton 10927: a wrong dot product, and no error."""
    m = TensorMap("bf16", AT, (511, 256), (1022,), (64, 64), swizzle=128)

    assert numbers(m) == [("stride_multiple_16", 1022)]
    assert 1022 % 16 == 14
    assert "pad the rows to 1024 bytes, the extent may stay" in str(violations(m)[0])
    assert verdicts(replace(m, global_stride_bytes=(1024,))) == {}
    with pytest.raises(LayoutError, match="stride_multiple_16"):
        make_tma_descriptor(DLTensor((256, 511), "bf16", data=AT), (64, 64), swizzle=128)


@pytest.mark.parametrize("stride", [16, 48, 80, 64, 4096 + 16])
def test_a_stride_of_fp8_is_a_multiple_of_16_and_of_nothing_more(stride):
    """deepseek-ai/DeepGEMM 96: the reporter had only seen 64 work."""
    m = TensorMap("e4m3", AT, (16, 128), (stride,), (16, 128))

    assert verdicts(m) == {}
    assert rejected(replace(m, global_stride_bytes=(stride + 8,))) == ["stride_multiple_16"]


def test_the_channels_of_an_im2col_box_fit_the_swizzle():
    """tile-ai/tilelang 2578."""
    m = TensorMap("f16", AT, (128, 8, 8, 1), (256, 2048, 16384), swizzle=128, im2col=Im2col((0, 0), (0, 0), 128, 16))

    assert numbers(m) == [("im2col_inner_span", 256)]
    assert verdicts(replace(m, im2col=Im2col((0, 0), (0, 0), 64, 16))) == {}


def test_a_null_address_and_nothing_else():
    """NVIDIA/cutlass 947: every other number of the map is legal."""
    m = TensorMap("f16", 0, (1024, 1024, 1), (2048, 2097152), (64, 128, 1), swizzle=128)

    assert verdicts(m) == {"cccl": ["global_address_nonnull"]}
    for address in (16, 48, AT):
        assert verdicts(replace(m, global_address=address)) == {}
    with pytest.raises(LayoutError, match=r"^global_address_nonnull: [^\n]*$"):
        make_tma_descriptor(DLTensor((1, 1024, 1024), "f16", data=0), (1, 128, 64), swizzle=128)


def test_a_box_of_8_over_an_extent_of_7():
    """flashinfer-ai/flashinfer 2274: the driver takes it, libcu++ does not; the failure came from an earlier fault."""
    m = TensorMap("bf16", AT, (128, 7, 2, 24), (256, 1792, 3584), (64, 8, 1, 1), swizzle=128)

    assert verdicts(m) == {"cccl": ["box_within_dim"]}
    [lint] = lints(m)
    assert (lint.rule.id, lint.value, lint.where) == ("box_within_dim", 8, "dimension 1")
    assert verdicts(replace(m, box_dim=(64, 7, 1, 1))) == {}
    assert lints(replace(m, box_dim=(64, 7, 1, 1))) == []


def test_a_mode_of_size_1_with_any_stride():
    """flashinfer-ai/flashinfer 2232: a cache with one head, whose stride is read though nothing is addressed with it."""
    pages, heads, block, depth = 3860866, 1, 16, 64
    cache = DLTensor((pages, heads, block, depth), "bf16", strides=(2 * block * depth, 1, depth, 1), data=AT)

    with pytest.raises(LayoutError) as e:
        make_tma_descriptor(cache, (1, 1, block, depth), swizzle=128)
    assert (
        "got 2 (0*16 + 2) bytes in the stride of dimension 2 (axis 1); the dimension has size 1, so no copy uses its "
        "stride: give 0" in str(e.value)
    )

    for stride in (0, block * depth, 8 * block * depth):
        m = TensorMap("bf16", AT, (depth, block, heads, pages), (128, 2 * stride, 4096), (64, 16, 1, 1), swizzle=128)
        assert rejected(m) == []
    canonical = replace(cache, strides=(2 * block * depth, block * depth, depth, 1))
    assert make_tma_descriptor(canonical, (1, 1, block, depth), swizzle=128).global_dim == (depth, block, heads, pages)


@pytest.mark.parametrize("block, inner_bytes, accepted", [(1, 4, False), (2, 8, False), (4, 16, True), (6, 24, False)])
def test_the_inner_block_of_a_reduction(block, inner_bytes, accepted):
    """pytorch/pytorch 167892."""
    m = TensorMap("f32", AT, (1024, 1024), (4096,), (block, 64))

    assert numbers(m) == ([] if accepted else [("box_inner_multiple_16", inner_bytes)])


def test_sixteen_bytes_are_four_elements_of_f32():
    """triton-lang/triton 8670: judged in bytes; a check in elements would ask for 16 of them."""
    assert verdicts(TensorMap("f32", AT, (4, 64), (16,), (4, 64))) == {}
    assert rejected(TensorMap("f32", AT + 4, (4, 64), (16,), (4, 64))) == ["global_address_alignment"]


@pytest.mark.parametrize("rows", range(1, 9))
def test_a_swizzled_tile_may_have_fewer_rows_than_the_atom(rows):
    """triton-lang/triton 4727: the hardware does it."""
    m = TensorMap("bf16", AT, (64, 1024), (128,), (64, rows), swizzle=128)
    swizzle = TmaSwizzle.bytes128.swizzle

    assert verdicts(m) == {}
    assert lints(m) == []
    atom = [[swizzle(128 * q + 16 * c) for c in range(8)] for q in range(8)]
    tile = [[swizzle(128 * q + 16 * c) for c in range(8)] for q in range(rows)]
    assert tile == atom[:rows]
    assert m.landed_bytes == 128 * rows


@pytest.mark.parametrize(
    "dtype, columns, past", [("u8", 466, 14), ("u16", 470, 4), ("i32", 466, 8), ("u8", 464, 0), ("i32", 468, 0)]
)
def test_a_store_of_a_column_slice_writes_past_it(dtype, columns, past):
    """triton-lang/triton 11583. On the map alone this is a warning: only a store reaches the bytes."""
    m = TensorMap(dtype, AT, (columns, 32), (512 * {"u8": 1, "u16": 2, "i32": 4}[dtype],), (128, 32))
    found = [v for v in lints(m) if v.rule.id == "row_multiple_16"]

    assert rejected(m) == []
    assert bool(found) == bool(past)
    for v in found:
        assert f"overwrites {past} bytes past the end of each row" in v.fix


def test_the_rows_that_a_symbol_decides_stay_open():
    """tile-ai/tilelang 460: extents of f16 are neither right nor wrong before something is known of them."""
    N, K = dims("N K")
    m = make_tma_descriptor(DLTensor((N, K), "f16"), (64, 64), swizzle=128, address=AT)

    assert m.global_stride_bytes == (2 * K,)
    assert rejected(m.subs({N: 64, K: 64})) == []
    assert rejected(m.subs({N: 64, K: 68})) == ["stride_multiple_16"]
