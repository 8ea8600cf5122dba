"""A matrix instruction reads each element of its operand where the tensor copy put it, or the first it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkers import SameBytes, prove
from symlayout import ClaimError, ComposedLayout, E, Layout, LayoutError, Swizzle, dim, tile_to_shape
from symlayout.answers.report import Outcome
from symlayout.atoms import DescriptorRead, LdmatrixRead, MatrixDescriptor
from symlayout.tma import TensorMap
from symlayout.tma.tiled_copy import make_tma_copy

BITS = {0: 0, 32: 1, 64: 2, 128: 3}


def gmma_atom(major, swizzle):
    wide = max(16, swizzle) // 2
    plain = Layout((8, wide), (wide, 1)) if major == "K" else Layout((wide, 8), (1, wide))
    return ComposedLayout(Swizzle(BITS[swizzle], 3, 3), 0, plain)


def tile_copy(major, swizzle, tile=(128, 64)):
    """The copy of a tile of a matrix of any size; contiguous along K or along M."""
    rows, depth = dim("M", multiple_of=128), dim("K", multiple_of=64)
    whole = Layout((rows, depth), (depth, 1) if major == "K" else (1, rows))
    return make_tma_copy(whole, tile_to_shape(gmma_atom(major, swizzle), tile), tile, dtype="bf16")


def read(copy, row, k, rows=64):
    return DescriptorRead(MatrixDescriptor.of(copy.smem_layout, "bf16", at=(row, k), rows=rows), rows, "bf16", (row, k))


def refuted(claim):
    [verdict] = prove(claim).verdicts
    assert verdict.outcome is Outcome.REFUTED
    return verdict.witness


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_every_step_of_a_tile_is_proved(major, swizzle):
    copy = tile_copy(major, swizzle)

    for row in (0, 64):
        for k in (0, 16, 32, 48):
            assert prove(SameBytes(copy, read(copy, row, k)))


def test_the_operands_of_the_reference_kernel():
    """benchmarks/hardware/reference_kernels/wgmma_gemm.cu: one box of 64 x 128, and of 64 x 256, steps of 32 bytes."""
    a, b = (TensorMap("bf16", 0, (4096, 4096), (8192,), (64, n), swizzle=128) for n in (128, 256))
    first = MatrixDescriptor(0, 16, 1024, 128)

    for i in range(4):
        for consumer in (0, 1):
            of_a = DescriptorRead(first.advanced(8192 * consumer + 32 * i), 64, "bf16", (64 * consumer, 16 * i))
            assert prove(SameBytes(a, of_a))
        assert prove(SameBytes(b, DescriptorRead(first.advanced(32 * i), 256, "bf16", (0, 16 * i))))


# what is wrong, the first element that is read elsewhere
WRONG = [
    ({"swizzle": 64}, (1, 0)),  # the pitch of rows is the span
    ({"swizzle": 32}, (1, 0)),
    ({"swizzle": 0}, (1, 0)),
    ({"stride_bytes": 512}, (8, 0)),
    ({"stride_bytes": 2048}, (8, 0)),
    ({"start_bytes": 64}, (0, 0)),
    ({"base_offset": 1}, (0, 0)),
]


@pytest.mark.parametrize("change, first", WRONG, ids=str)
def test_a_wrong_descriptor_is_refuted_with_the_first_element(change, first):
    copy = tile_copy("K", 128)
    right = read(copy, 0, 0)
    claim = SameBytes(copy, replace(right, descriptor=replace(right.descriptor, **change)))
    witness = refuted(claim)
    landed = copy.swizzle.swizzle(copy.landing(first))
    got = int(claim.consumer.addresses(0)[first[0] + 64 * first[1]])

    assert witness.coords == (first,)
    assert landed != got
    assert witness.story == (
        f"with the tile at byte 0, element ({first[0]},{first[1]}) lands at {landed} and is read at {got}"
    )


def test_a_wrong_leading_offset_is_refuted_where_it_is_read():
    copy = tile_copy("MN", 128)
    right = read(copy, 0, 0, rows=128)
    wrong = replace(right, descriptor=replace(right.descriptor, leading_bytes=right.descriptor.leading_bytes * 2))

    assert prove(SameBytes(copy, right))
    assert refuted(SameBytes(copy, wrong)).coords == ((64, 0),)


def test_offsets_of_the_other_meaning_are_refuted():
    """LBO and SBO change places between MN-major with and without a swizzle."""
    copy = tile_copy("MN", 0)
    right = read(copy, 0, 0)
    d = right.descriptor
    swapped = replace(right, descriptor=replace(d, leading_bytes=d.stride_bytes, stride_bytes=d.leading_bytes))

    assert d.leading_bytes != d.stride_bytes
    assert prove(SameBytes(copy, right))
    assert refuted(SameBytes(copy, swapped)).coords == ((8, 0),)


@pytest.mark.parametrize("advance, at", [(16, 16), (64, 16), (128, 16)])
def test_a_wrong_advance_along_k_is_refuted(advance, at):
    copy = tile_copy("K", 128)
    d = read(copy, 0, 0).descriptor
    wrong = DescriptorRead(d.advanced(advance), 64, "bf16", (0, at))

    assert prove(SameBytes(copy, DescriptorRead(d.advanced(32), 64, "bf16", (0, at))))
    assert refuted(SameBytes(copy, wrong)).coords == ((0, at),)


def test_steps_past_the_swizzled_row_jump_to_the_next_box():
    copy = tile_copy("K", 128, (64, 128))
    d = read(copy, 0, 0).descriptor
    read_on = DescriptorRead(d.advanced(4 * 32), 64, "bf16", (0, 64))

    assert prove(SameBytes(copy, read(copy, 0, 64)))
    assert refuted(SameBytes(copy, read_on)).coords == ((0, 64),)


@pytest.mark.parametrize("base", [128, 256, 512, 1024, 2048])
def test_addresses_are_swizzled_by_both_so_that_every_base_of_a_copy_does(base):
    copy = tile_copy("K", 128)

    assert prove(SameBytes(copy, read(copy, 64, 32), base_multiple_of=base))


# -- ldmatrix ------------------------------------------------------------------------------------------------

SIXTEEN = Layout(((16, 2), 8), ((E(0), 8 * E(1)), E(1)))  # lanes 0..15 are rows, lanes 16.. the next 8 of K
LANES = Layout((16, 2), (64, 8))


def swizzled(bits, layout):
    return ComposedLayout(Swizzle(bits, 3, 3), 0, layout)


def test_lanes_through_the_swizzle_are_proved():
    copy = tile_copy("K", 128)

    assert prove(SameBytes(copy, LdmatrixRead(swizzled(3, LANES), SIXTEEN, "bf16")))
    assert prove(
        SameBytes(copy, LdmatrixRead(swizzled(3, LANES), SIXTEEN, "bf16", absolute=True), base_multiple_of=128)
    )


@pytest.mark.parametrize(
    "start, base, first",
    [
        (LANES, 1024, (1, 0)),
        (swizzled(2, LANES), 1024, (4, 0)),
        (swizzled(3, Layout((16, 2), (64, 16))), 1024, (0, 8)),
        (swizzled(3, Layout((16, 2), (32, 8))), 1024, (1, 0)),
        (swizzled(3, LANES), 128, (0, 0)),
    ],
)
def test_lanes_elsewhere_are_refuted_with_the_first_element(start, base, first):
    claim = SameBytes(tile_copy("K", 128), LdmatrixRead(start, SIXTEEN, "bf16"), base_multiple_of=base)

    assert refuted(claim).coords == (first,)


def test_a_claim_reads_well():
    copy = TensorMap("bf16", 0, (4096, 4096), (8192,), (64, 128), swizzle=128)
    claim = SameBytes(copy, DescriptorRead(MatrixDescriptor(0, 16, 1024, 128), 64, "bf16"))

    assert str(claim) == (
        "same bytes: box (64,128) with swizzle 128B and wgmma operand 64x16 from (0,0) on: "
        "K-major at 0, LBO 16 B, SBO 1024 B, swizzle 128B, bases of 1024 B"
    )


@pytest.mark.parametrize(
    "make, error, message",
    [
        (
            lambda: SameBytes(tile_copy("K", 128), read(tile_copy("K", 128, (256, 64)), 192, 0)),
            ClaimError,
            "read inside",
        ),
        (
            lambda: SameBytes(
                TensorMap("f32", 0, (64, 64), (256,), (32, 64), swizzle=128),
                DescriptorRead(MatrixDescriptor(0, 16, 1024, 128), 64, "bf16"),
            ),
            ClaimError,
            "expected elements of 4 bytes, got bf16",
        ),
        (lambda: DescriptorRead(MatrixDescriptor(0, swizzle=128), 12, "bf16"), LayoutError, "multiple of 8 rows"),
        (lambda: LdmatrixRead(Layout(12), SIXTEEN, "bf16"), LayoutError, "offsets of 8, 16 or 32 lanes"),
        (lambda: LdmatrixRead(LANES, SIXTEEN, "f32"), LayoutError, "elements of 16 bits"),
        (lambda: LdmatrixRead(LANES, Layout((32, 8)), "bf16"), LayoutError, "strides such as E"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
