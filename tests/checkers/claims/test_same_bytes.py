"""Where a copy lands an element and where its consumer reads it, at every phase of the base."""

from __future__ import annotations

import pytest

from checkers import SameBytes, prove
from symlayout import ClaimError, ComposedLayout, E, Layout, Swizzle, dims, tile_to_shape
from symlayout.answers.report import Outcome
from symlayout.tma import Im2col, TensorMap
from symlayout.tma.tiled_copy import make_tma_copy

M, K = dims("M K")
K_MAJOR = Layout((64, 128), (1, 64))


def half(box, swizzle=0, **more):
    """An fp16 map with this box."""
    return TensorMap("f16", 0, (4096, 4096), (8192,), box, swizzle=swizzle, **more)


def swizzled(bits, layout, base=3):
    return ComposedLayout(Swizzle(bits, base, 3), 0, layout)


@pytest.mark.parametrize(
    "box, swizzle, consumer",
    [
        ((64, 128), 128, swizzled(3, K_MAJOR)),
        ((32, 128), 64, swizzled(2, Layout((32, 128), (1, 32)))),
        ((16, 128), 32, swizzled(1, Layout((16, 128), (1, 16)))),
        ((64, 128), 0, K_MAJOR),
        ((256, 8), 0, Layout((256, 8), (1, 256))),
        ((64, 4), 128, swizzled(3, Layout((64, 4), (1, 64)))),  # four rows of the eight of an atom: legal
        ((16, 8), 128, swizzled(3, Layout((16, 8), (1, 64)))),  # a narrow row takes the whole span
    ],
)
def test_the_matching_layout_is_proved(box, swizzle, consumer):
    assert prove(SameBytes(half(box, swizzle), consumer))


@pytest.mark.parametrize(
    "box, swizzle, consumer",
    [
        ((64, 128), 128, K_MAJOR),
        ((64, 128), 0, swizzled(3, K_MAJOR)),
        ((64, 128), 128, swizzled(2, K_MAJOR)),
        ((64, 128), 128, swizzled(3, K_MAJOR, base=4)),
        ((64, 128), 128, swizzled(3, Layout((64, 128), (128, 1)))),
        ((16, 8), 128, swizzled(3, Layout((16, 8), (1, 16)))),  # dense rows: the reading of the documents
    ],
)
def test_another_layout_is_refuted_with_the_first_element(box, swizzle, consumer):
    claim = SameBytes(half(box, swizzle), consumer)
    [v] = prove(claim).verdicts

    assert v.outcome is Outcome.REFUTED
    [at] = v.witness.coords
    base, m = 0, claim.tensor_map
    read = base + 2 * consumer(at)
    assert m.swizzle.swizzle(base + m.landing(at)) != read


@pytest.mark.parametrize("base, holds", [(1024, True), (512, False), (128, False), (2048, True), (3 * 1024, True)])
def test_the_phase_of_the_base_decides(base, holds):
    """TileLang 2379: the hardware swizzles absolute addresses, the layout relative ones."""
    [v] = prove(SameBytes(half((64, 128), 128), swizzled(3, K_MAJOR), base_multiple_of=base)).verdicts

    assert (v.outcome is Outcome.PROVED) == holds
    if base == 128:
        assert v.witness.story == "with the tile at byte 128, element (0,0) lands at 144 and is read at 128"


@pytest.mark.parametrize("base", [16, 128, 512, 1024, 48])
def test_an_absolute_consumer_agrees_at_every_base(base):
    assert prove(SameBytes(half((64, 128), 128), swizzled(3, K_MAJOR), base_multiple_of=base, absolute=True))


def test_thunderkittens_form_is_the_hardware_swizzle():
    """ThunderKittens 147: a ^ (((a % 1024) >> 7) << 4) on every byte address."""
    byte = TensorMap("u8", 0, (4096, 64), (4096,), (128, 64), swizzle=128)
    sw = byte.swizzle.swizzle

    assert all(sw(a) == a ^ (((a % 1024) >> 7) << 4) for a in range(4096))
    assert prove(SameBytes(byte, ComposedLayout(Swizzle(3, 4, 3), 0, Layout((128, 64), (1, 128))), 16, absolute=True))


def test_im2col_lands_a_row_for_each_pixel():
    m = TensorMap(
        "f16", 0, (64, 56, 56, 8), (128, 7168, 401408), swizzle=128, im2col=Im2col((-1, -1), (-1, -1), 64, 128)
    )

    assert prove(SameBytes(m, swizzled(3, K_MAJOR)))
    assert m.landed_bytes == 64 * 128 * 2


@pytest.mark.parametrize("tile", [(128, 64), (128, 128), (64, 64), (64, 192)])
def test_a_tile_of_several_boxes_is_read_where_its_boxes_land(tile):
    """make_tma_copy stacks boxes of 64 columns; a row-major tile of more columns is another layout."""
    smem = tile_to_shape(swizzled(3, Layout((8, 64), (64, 1))), tile)
    copy = make_tma_copy(Layout((1024, 768), (768, 1)), smem, dtype="f16")
    plain = swizzled(3, Layout(tile, (tile[1], 1)))

    assert prove(SameBytes(copy, smem))
    assert bool(prove(SameBytes(copy, plain))) == (tile[1] == 64)


@pytest.mark.parametrize("given", [[], [K.multiple_of(8)]])
def test_the_sizes_of_the_tensor_do_not_matter(given):
    m = TensorMap.over(Layout((K, M), (1, K)), "f16", (64, 128), swizzle=128)

    assert prove(SameBytes(m, swizzled(3, K_MAJOR)), given=given)
    [v] = prove(SameBytes(m, K_MAJOR), given=given).verdicts
    assert v.outcome is Outcome.REFUTED


def test_a_wide_internal_type_lands_the_same_bytes():
    smem = Layout((32, 32), (1, 32))
    copy = make_tma_copy(Layout((64, 64), (1, 64)), smem, dtype="f16", internal_dtype="u64")

    assert prove(SameBytes(copy, smem))
    assert not prove(SameBytes(copy, Layout((32, 32), (32, 1))))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: SameBytes(5, K_MAJOR), "expected a tensor map"),
        (lambda: SameBytes(half((64, 128)), Layout((64, 64), (1, 64))), "expected a consumer of the 8192 elements"),
        (lambda: SameBytes(half((64, 128)), Layout((64, 128), (E(0), E(1)))), "consumer's layout in elements"),
        (lambda: SameBytes(half((64, 128)), ComposedLayout(K_MAJOR, 0, K_MAJOR)), "expected a swizzle outside"),
        (lambda: SameBytes(half((64, 128)), K_MAJOR, base_multiple_of=-1), "expected base_multiple_of in bytes"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ClaimError, match=message):
        make()
