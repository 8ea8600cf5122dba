"""The matrix descriptor of wgmma: its bits, its canonical layouts, and finding one for a shared layout."""

from __future__ import annotations

import random

import numpy as np
import pytest

from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, tile_to_shape
from symlayout.atoms import MatrixDescriptor
from symlayout.tma import TmaSwizzle

SWIZZLES = (0, 32, 64, 128)
BITS = {0: 0, 32: 1, 64: 2, 128: 3}


def gmma_atom(major: str, swizzle: int, size: int = 2):
    """CUTLASS, mma_sm90_gmma.hpp: GMMA::Layout_{K,MN}_{INTER,SW32,SW64,SW128}_Atom."""
    wide = max(16, swizzle) // size
    plain = Layout((8, wide), (wide, 1)) if major == "K" else Layout((wide, 8), (1, wide))
    return ComposedLayout(Swizzle(BITS[swizzle], 5 - size.bit_length(), 3), 0, plain)


@pytest.mark.parametrize(
    "descriptor, bits",
    [
        (MatrixDescriptor(0), 0x00000001_00010000),
        (MatrixDescriptor(1024, 16, 1024, 128), 0x40000040_00010040),
        (MatrixDescriptor(0x3FFF0, 128, 256), 0x00000010_00083FFF),
        (MatrixDescriptor(0, 16, 512, 64), 0x80000020_00010000),
        (MatrixDescriptor(0, 16, 256, 32), 0xC0000010_00010000),
        (MatrixDescriptor(128, 16, 1024, 128, "K", 1), 0x40020040_00010008),
        (MatrixDescriptor(0, 0x3FFF0, 0x3FFF0, 0, "MN", 7), 0x000E3FFF_3FFF0000),
    ],
)
def test_bits(descriptor, bits):
    assert descriptor.encode() == bits
    assert MatrixDescriptor.decode(bits, descriptor.major) == descriptor


def test_the_descriptor_of_the_reference_kernel():
    """benchmarks/hardware/reference_kernels/wgmma_gemm.cu, wgmma_descriptor."""
    for address in (0, 16384, 227 * 1024 - 1024):
        expected = 1 << 62 | (1024 >> 4) << 32 | 1 << 16 | (address & 0x3FFFF) >> 4
        assert MatrixDescriptor(address, 16, 1024, 128).encode() == expected
        assert MatrixDescriptor(address, 16, 1024, 128).advanced(32).encode() == expected + 2


def test_swizzle_codes_are_not_those_of_tensor_maps():
    codes = {s: MatrixDescriptor(0, swizzle=s).encode() >> 62 for s in SWIZZLES}

    assert codes == {0: 0, 128: 1, 64: 2, 32: 3}
    assert {s: int(TmaSwizzle.of(s)) for s in SWIZZLES} == {0: 0, 32: 1, 64: 2, 128: 3}


def test_every_descriptor_survives_its_bits():
    draw = random.Random(3)
    for _ in range(300):
        d = MatrixDescriptor(
            *(16 * draw.randrange(1 << 14) for _ in range(3)),
            draw.choice(SWIZZLES),
            draw.choice(("K", "MN")),
            draw.randrange(8),
        )
        assert MatrixDescriptor.decode(d.encode(), d.major) == d


# major, swizzle, dtype, rows, depth, LBO, SBO, canonical layout in bytes: PTX ISA, "Strides" of wgmma
CANONICAL = [
    ("K", 0, "bf16", 64, 16, 1024, 128, "((8,8),(8,2)):((16,128),(2,1024))"),
    ("K", 32, "bf16", 64, 16, 16, 256, "((8,8),(8,2)):((32,256),(2,16))"),
    ("K", 64, "bf16", 64, 16, 16, 512, "((8,8),(8,2)):((64,512),(2,16))"),
    ("K", 128, "bf16", 64, 16, 16, 1024, "((8,8),(8,2)):((128,1024),(2,16))"),
    ("K", 128, "tf32", 64, 8, 16, 1024, "((8,8),(4,2)):((128,1024),(4,16))"),
    ("K", 128, "e4m3", 64, 32, 16, 1024, "((8,8),(16,2)):((128,1024),(1,16))"),
    ("K", 128, "f16", 256, 64, 16, 1024, "((8,32),(8,8)):((128,1024),(2,16))"),
    ("MN", 0, "f16", 64, 16, 128, 256, "((8,8),(8,2)):((2,256),(16,128))"),
    ("MN", 32, "f16", 64, 16, 512, 256, "((16,4),(8,2)):((2,512),(32,256))"),
    ("MN", 64, "f16", 64, 16, 1024, 512, "((32,2),(8,2)):((2,1024),(64,512))"),
    ("MN", 128, "f16", 128, 16, 2048, 1024, "((64,2),(8,2)):((2,2048),(128,1024))"),
    ("MN", 128, "bf16", 8, 16, 16, 1024, "((8,1),(8,2)):((2,16),(128,1024))"),
]


@pytest.mark.parametrize("major, swizzle, dtype, rows, depth, leading, stride, canonical", CANONICAL)
def test_canonical_layouts(major, swizzle, dtype, rows, depth, leading, stride, canonical):
    d = MatrixDescriptor(0, leading, stride, swizzle, major)

    assert str(d.layout(rows, depth, dtype)) == canonical


TILES = [
    (major, swizzle, rows, depth, order)
    for major in ("K", "MN")
    for swizzle in SWIZZLES
    for rows, depth in ((64, 64), (128, 128), (256, 64), (64, 16))
    for order in ((1, 2), (2, 1))
    if depth % gmma_atom(major, swizzle)[1].size() == 0
]


@pytest.mark.parametrize("major, swizzle, rows, depth, order", TILES)
def test_a_descriptor_is_found_for_every_tiled_atom(major, swizzle, rows, depth, order):
    """And reads each element where the layout has it, at every K step and at every base that the pattern repeats at."""
    smem = tile_to_shape(gmma_atom(major, swizzle), (rows, depth), order)
    table = 2 * smem.offsets().reshape(depth, rows).T

    for row in range(0, rows, 64):
        for k in range(0, depth, 16):
            d = MatrixDescriptor.of(smem, "bf16", at=(row, k), rows=64)
            assert d.major == major
            for base in (0, 1024, 3 * 1024):
                assert np.array_equal(d.addresses(64, 16, "bf16", base), base + table[row : row + 64, k : k + 16])


def test_the_steps_of_a_tile():
    k_major = tile_to_shape(gmma_atom("K", 128), (64, 128))
    mn_major = tile_to_shape(gmma_atom("MN", 128), (64, 64))

    def starts(x, depth):
        return [MatrixDescriptor.of(x, "bf16", at=(0, k)).start_bytes for k in range(0, depth, 16)]

    assert starts(k_major, 128) == [0, 32, 64, 96, 8192, 8224, 8256, 8288]  # into the next box after 64
    assert starts(mn_major, 64) == [0, 2048, 4096, 6144]


@pytest.mark.parametrize(
    "smem, dtype, message",
    [
        (Layout((64, 64), (64, 1)), "bf16", "with K-major at 0, LBO 16 B, SBO 1024 B, swizzle none element (1,0)"),
        (ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 32), (32, 1))), "bf16", "element (1,0) would be 128 bytes"),
        (Layout((64, 64), (128, 2)), "bf16", "expected elements that are contiguous along rows or depth"),
        (tile_to_shape(gmma_atom("MN", 128, 4), (64, 64)), "f32", "only 16-bit types may be MN-major"),
        (
            ComposedLayout(Swizzle(2, 3, 4), 0, Layout((8, 64), (64, 1))),
            "bf16",
            "expected a swizzle of bf16 that TMA has",
        ),
        (Layout((64, 8), (8, 1)), "bf16", "expected 64 rows and 16 of K from (0, 0) on"),
        (Layout((12, 16), (8, 1)), "bf16", "a multiple of 8 rows, got 12"),
        (Layout(64), "bf16", "expected a shared layout of two modes"),
        (
            Layout((8, (8, 2)), (8, (1, 68))),
            "bf16",
            "expected a multiple of 16 below 262144 for leading_bytes, got 136",
        ),
    ],
)
def test_other_layouts_are_refused_with_the_reason(smem, dtype, message):
    with pytest.raises(LayoutError) as e:
        MatrixDescriptor.of(smem, dtype)
    assert message in str(e.value)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: MatrixDescriptor(8), "expected a multiple of 16 below 262144 for start_bytes, got 8"),
        (lambda: MatrixDescriptor(1 << 18), "for start_bytes, got 262144"),
        (lambda: MatrixDescriptor(0, 24), "for leading_bytes, got 24"),
        (lambda: MatrixDescriptor(0, 16, -16), "for stride_bytes, got -16"),
        (lambda: MatrixDescriptor(0, base_offset=8), "expected an integer below 8 for base_offset, got 8"),
        (lambda: MatrixDescriptor(0, major="M"), "expected a major of K, MN, got 'M'"),
        (lambda: MatrixDescriptor(0, swizzle="bytes128_atom_32B"), "expected a swizzle of 32, 64 or 128 bytes or none"),
        (lambda: MatrixDescriptor.decode(1 << 14), "expected 0 in the bits that no field has, got 0x4000"),
        (lambda: MatrixDescriptor.decode(1 << 64), "expected the 64 bits"),
        (lambda: MatrixDescriptor(0).layout(12, 16, "bf16"), "expected a multiple of 8 rows, got 12"),
        (lambda: MatrixDescriptor(0, swizzle=32).layout(8, 32, "bf16"), "expected at most the 16 elements"),
        (lambda: MatrixDescriptor(0, swizzle=128, major="MN").layout(96, 16, "bf16"), "a multiple of 64 rows, got 96"),
        (lambda: MatrixDescriptor(0, major="MN").layout(8, 12, "bf16"), "a depth in multiples of 8, got 12"),
        (lambda: MatrixDescriptor(0, major="MN").layout(8, 8, "tf32"), "only 16-bit types may be MN-major"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(LayoutError) as e:
        make()
    assert message in str(e.value)
