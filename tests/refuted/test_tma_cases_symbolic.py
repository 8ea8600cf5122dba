"""Reported bugs of tensor maps and copies, stated for all sizes; the concrete ones are in test_tma_bug_cases.py."""

from __future__ import annotations

import pytest

from checkers import Aligned, Equal, InBounds, SameBytes, TensorMapValid, TmaCopySafe, prove
from symlayout import AddressMap, ComposedLayout, Layout, Swizzle, ceil_div, dim, dims, index
from symlayout.answers.report import Outcome
from symlayout.tma import TensorMap

M, N, K = dims("M N K")


def repairs(*claims, given=()):
    return sorted(map(str, prove(*claims, given=given).repairs))


def test_a01_rows_of_a_bf16_matrix():
    """Triton 10927: row stride of 1022 bytes, silently wrong."""
    m = TensorMap("bf16", 0, (K, M), (2 * K,), (64, 64))
    report = prove(TensorMapValid(m))

    assert report.verdicts[0].witness.sizes["K"] == 1
    assert repairs(TensorMapValid(m)) == ["K % 8 == 0"]
    assert not prove(TensorMapValid(m.subs({K: 511, M: 64})))
    assert "1022 (63*16 + 14) bytes" in str(prove(TensorMapValid(m.subs({K: 511, M: 64}))))


def test_a03_both_operands_of_an_fp16_gemm():
    """TileLang 460: last dimensions N and K free."""
    a = TensorMap("f16", 0, (K, M), (2 * K,), (64, 64))
    b = TensorMap("f16", 0, (N, K), (2 * N,), (64, 64))

    assert repairs(TensorMapValid(a), TensorMapValid(b)) == ["K % 8 == 0", "N % 8 == 0"]


def test_a06_a_one_byte_row_pitch_needs_16_and_no_more():
    """DeepGEMM 96: 64 was all the reporter had seen work."""
    s = dim("s")
    lhs = TensorMap("e4m3", 0, (128, M), (s,), (128, 64), swizzle=128)

    assert prove(TensorMapValid(lhs), given=[s.multiple_of(16)])
    assert repairs(TensorMapValid(lhs)) == ["s % 16 == 0"]


def test_a11_a_mode_of_size_1_may_have_any_stride_but_the_map_may_not():
    """vLLM 40737: equal as layouts, refused as a tensor map until the stride is made canonical."""
    d = dim("d")
    cache = Layout((64, 16, 1, 256), (1, 64, d, 2048))
    canonical = Layout((64, 16, 1, 256), (1, 64, 1024, 2048))

    assert prove(Equal(cache, canonical))
    refused = TensorMapValid(TensorMap.over(cache.subs({d: 1}), "bf16", (64, 16, 1, 1)))
    assert [v.claim.rule.id for v in prove(refused).verdicts] == ["stride_multiple_16"]
    assert prove(TensorMapValid(TensorMap.over(canonical, "bf16", (64, 16, 1, 1))))


def test_a13_the_inner_block_in_bytes():
    """PyTorch 167892: fp32 blocks of 1 and 2; the weakest condition is a multiple of 4."""
    block = dim("XBLOCK", at_most=256)
    m = TensorMap("f32", 0, (1024, M), (4096,), (block, 1))

    assert repairs(TensorMapValid(m)) == ["XBLOCK % 4 == 0"]
    assert [bool(prove(TensorMapValid(m.subs({block: b, M: 8})))) for b in (1, 2, 4)] == [False, False, True]


def test_a19_steps_of_two_bytes_in_shared_memory():
    """torchao 4647: bf16 (1,32) rows of a (4096,128) buffer; mode 1 as iteration, or one box."""
    steps = Layout(128, 1)  # elements between the tiles of the iteration mode

    assert not prove(Aligned(steps, to_bytes=16, element_bytes=2))
    assert not prove(TmaCopySafe(TensorMap.over(Layout((128, 32), (1, 4096)), "bf16", (128, 1)), (index("i", 128), 0)))
    assert prove(TmaCopySafe(TensorMap.over(Layout((128, 32), (1, 4096)), "bf16", (128, 32)), (0, 0)))


def test_b03_a_start_on_the_last_row():
    """Reading is safe since the hardware clips; that each row is data is another claim, and false."""
    rows = dim("R", at_most=2**31 - 8)
    start = index("row", rows)
    m = TensorMap("bf16", 0, (128, rows), (256,), (64, 8), swizzle=128)

    assert prove(TmaCopySafe(m, (0, start)))
    [v] = prove(InBounds(AddressMap.over(lambda row, t: row + t, (rows, 8)), rows)).verdicts
    assert v.outcome is Outcome.REFUTED


def test_b04_slots_of_64_bytes():
    """emmy 176: fp32 ring of 2 x 16 elements; the transfer never completes."""
    m = TensorMap("f32", 0, (M,), (), (16,))
    slot = index("slot", 2)

    report = prove(TmaCopySafe(m, (16 * index("i", ceil_div(M, 16)),), 64 * slot))
    assert [v.claim.rule.id for v in report.verdicts] == ["smem_alignment_128"]
    assert report.verdicts[0].witness.sizes["slot"] == 1
    assert prove(TmaCopySafe(m, (16 * index("i", ceil_div(M, 16)),), 128 * slot))


@pytest.mark.parametrize("width, holds", [("W", True), ("W - 2", False)])
def test_b07_rows_of_an_im2col_matrix(width, holds):
    """TileLang 2426: with OW != W the origins of the windows run past the input row instead of wrapping."""
    H, W = dim("H", at_least=3, at_most=2**15), dim("W", at_least=3, at_most=2**15)
    ow = W if width == "W" else W - 2
    walked = AddressMap.over(lambda oh, x: (oh * ow + x) // W, (H, ow))  # the window of a row that is taken for W wide
    wanted = AddressMap.over(lambda oh, x: oh + 0 * x, (H, ow))

    assert bool(prove(Equal(walked, wanted))) == holds


def test_e01_the_phase_of_a_tile():
    """TileLang 2379: 128B swizzle of absolute addresses against one of offsets, base 128 modulo 1024."""
    box = TensorMap.over(Layout((256, 128), (1, 256)), "f16", (64, 128), swizzle=128)
    software = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 128), (1, 64)))

    assert prove(SameBytes(box, software))
    [v] = prove(SameBytes(box, software, base_multiple_of=128)).verdicts
    assert "lands at 144 and is read at 128" in v.witness.story
