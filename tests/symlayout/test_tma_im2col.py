"""im2col TMA copies: the convolution that their coordinates name, the walk of the copy engine, and refusals."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import pytest

from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, Tensor, dim, dims, idx2crd, local_tile
from symlayout.basis import ArithmeticTupleIterator
from symlayout.tma.im2col import make_im2col_tma_copy
from symlayout.tma.tiled_copy import TmaCopy

TILE = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1)))


def activations(whdn: tuple[int, ...], c: int) -> Layout:
    """((W,H,D,N),C), channels fastest."""
    return Layout((whdn, c), (tuple(c * math.prod(whdn[:i]) for i in range(len(whdn))), 1))


def convolved(filters: Any, padding: Any, stride: Any, dilation: Any) -> dict[str, Any]:
    """What a forward convolution asks for."""
    reach = [(r - 1) * d for r, d in zip(filters, dilation, strict=True)]
    return {
        "lower_corner_whd": tuple(-p for p in padding),
        "upper_corner_whd": tuple(p - r for p, r in zip(padding, reach, strict=True)),
        "lower_padding_whd": tuple(-p for p in padding),
        "upper_padding_whd": tuple(padding),
        "stride_whd": stride,
        "stride_srt": dilation,
        "dtype": "f16",
    }


CONVOLUTIONS = {
    "1D": ((20, 3), (3,), (1,), (1,), (1,)),
    "2D, stride 2": ((11, 9, 2), (3, 3), (1, 1), (2, 2), (1, 1)),
    "2D, dilated": ((12, 10, 2), (3, 2), (2, 1), (1, 1), (2, 3)),
    "3D": ((6, 5, 4, 2), (3, 3, 3), (1, 1, 1), (1, 2, 1), (1, 1, 1)),
}


def walked(copy: TmaCopy, start: tuple[int, ...]) -> list[tuple[int, ...]]:
    """(w, h, d, n) of each pixel of a copy, W fastest: at an upper corner a dimension starts again at its lower one."""
    m = copy.tensor_map
    n = m.rank - 2
    at, out = list(start[1 : m.rank]), []
    for _ in range(m.pixels_per_column):
        out.append(tuple(at))
        for i in range(n):
            at[i] += m.element_stride[1 + i]
            if at[i] <= m.global_dim[1 + i] - 1 + m.upper_corner[i]:
                break
            at[i] = m.lower_corner[i]
        else:
            at[n] += 1
    return out


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_a_tile_is_that_part_of_the_convolution(name):
    """Pixel (q,p,z,n) at tap (s,r,t) reads w = q*stride - padding + s*dilation, and so in H and D."""
    whdn, filters, padding, stride, dilation = CONVOLUTIONS[name]
    copy = make_im2col_tma_copy(activations(whdn, 128), TILE, **convolved(filters, padding, stride, dilation))
    tensor, n = copy.get_tma_tensor(), len(filters)
    outputs = tuple(
        (w + 2 * p - (r - 1) * d - 1) // s + 1
        for w, r, p, s, d in zip(whdn[:-1], filters, padding, stride, dilation, strict=True)
    )
    pixels = math.prod(outputs) * whdn[-1]

    assert tensor.shape == (pixels, (128, *filters))
    for block, taps in product(range(pixels // 64), product(*map(range, filters))):
        tile = local_tile(tensor, (64, 64), (block, (1, *taps)))
        operands = copy.coordinates(tile)
        assert operands[0] == 64
        assert operands[n + 2 :] == tuple(t * d for t, d in zip(taps, dilation, strict=True))
        places = walked(copy, operands)
        for i in range(64):
            *q, image = idx2crd(64 * block + i, (*outputs, whdn[-1]))
            starts = tuple(x * s - p for x, s, p in zip(q, stride, padding, strict=True))
            assert places[i] == (*starts, image)
            assert copy.coordinates(Tensor(tile.iterator, tile.layout)(i, None)) == (64, *places[i], *operands[n + 2 :])


def test_the_base_is_the_lower_corner_and_slicing_leaves_the_map_alone():
    copy = make_im2col_tma_copy(activations((16, 16, 4), 64), TILE, **convolved((3, 3), (1, 1), (1, 1), (1, 1)))
    digest = copy.tensor_map.digest
    tensor = copy.get_tma_tensor()

    assert isinstance(tensor.iterator, ArithmeticTupleIterator)
    assert tensor.iterator.value == (0, (-1, -1), 0, (0, 0))
    assert copy.coordinates(local_tile(tensor, (64, 64), (1, 4))) == (0, -1, 3, 0, 1, 1)
    assert copy.tensor_map.digest == digest


def test_the_map_has_corners_in_place_of_a_box():
    options = convolved((3, 3), (1, 1), (2, 2), (2, 2))
    m = make_im2col_tma_copy(activations((16, 12, 4), 64), TILE, **options, address=64, oob_fill="nan").tensor_map

    assert (m.global_dim, m.global_stride_bytes) == ((64, 16, 12, 4), (128, 2048, 24576))
    assert (m.lower_corner, m.upper_corner, m.element_stride) == ((-1, -1), (-3, -3), (1, 2, 2, 1))
    assert (m.channels_per_pixel, m.pixels_per_column, m.box_dim) == (64, 64, ())
    assert (m.swizzle.word, m.l2_promotion.word, m.oob_fill.word, m.global_address) == ("128B", "128B", "nan", 64)


def test_channels_may_come_first():
    """The other operand of a weight gradient: (C,(W,H,N)) with pixels along the contracted mode."""
    pixels_first = activations((16, 16, 4), 64)
    gmem = Layout(pixels_first.shape[::-1], pixels_first.stride[::-1])
    copy = make_im2col_tma_copy(gmem, Layout((64, 64)), **convolved((3, 3), (1, 1), (1, 1), (1, 1)))

    assert copy.get_tma_tensor().shape == ((64, 3, 3), 1024)
    assert copy.coordinates(local_tile(copy.get_tma_tensor(), (64, 64), (5, 2))) == (0, -1, 7, 0, 2, 1)


def test_a_mirrored_filter_walks_back():
    """The gradient of the data: taps at lower_srt - tap*dilation."""
    copy = make_im2col_tma_copy(
        activations((16, 16, 4), 64),
        TILE,
        **{"lower_corner_whd": (-1, -1), "upper_corner_whd": (-1, -1), "lower_padding_whd": (1, 1)},
        **{"upper_padding_whd": (1, 1), "lower_srt": (2, 2), "stride_srt": (-1, -1), "dtype": "f16"},
    )

    assert copy.get_tma_tensor().shape == (1024, (64, 3, 3))
    assert copy.coordinates(local_tile(copy.get_tma_tensor(), (64, 64), (0, (2, 1))))[4:] == (0, 1)


def test_without_offsets_it_is_the_tensor():
    copy = make_im2col_tma_copy(activations((8, 8, 4), 64), TILE, dtype="f16")

    assert copy.get_tma_tensor().shape == (256, (64, 1, 1))
    assert copy.tensor_map.im2col.lower_corner == (0, 0)


def test_wide_tiles_take_several_instructions():
    wide = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, (64, 2)), (64, (1, 4096))))
    copy = make_im2col_tma_copy(activations((16, 16, 4), 128), wide, dtype="f16")
    tile = copy.get_slice().partition_S(local_tile(copy.get_tma_tensor(), (64, 128), (2, 0)))

    assert copy.instructions == 2
    assert [copy.coordinates(tile((None, i), 0, 0))[0] for i in (0, 1)] == [0, 64]


def test_each_cta_of_a_multicast_has_its_pixels():
    copy = make_im2col_tma_copy(activations((16, 16, 4), 64), TILE, multicast=2, dtype="f16")
    tile = local_tile(copy.get_tma_tensor(), (64, 64), (1, 0))
    parts = [copy.get_slice(cta) for cta in (0, 1)]

    assert copy.tensor_map.pixels_per_column == 32
    assert [copy.coordinates(p.partition_S(tile))[:4] for p in parts] == [(0, 0, 4, 0), (0, 0, 6, 0)]
    assert [p.partition_D(Tensor(0, TILE)).layout.offset for p in parts] == [0, 2048]


def test_sizes_may_be_symbols():
    W, H, N = dims("W H N")
    C = dim("C", multiple_of=64)
    gmem = Layout(((W, H, N), C), ((C, C * W, C * W * H), 1))
    copy = make_im2col_tma_copy(gmem, TILE, **convolved((3, 3), (1, 1), (2, 2), (1, 1)))
    sizes = {W: 16, H: 12, N: 4, C: 128}

    assert copy.tensor_map.global_dim == (C, W, H, N)
    assert str(copy.get_tma_tensor().shape[0]) == "N*ceil(H/2)*ceil(W/2)"
    fixed = make_im2col_tma_copy(gmem.subs(sizes), TILE, **convolved((3, 3), (1, 1), (2, 2), (1, 1)))
    assert copy.subs(sizes) == fixed


REFUSED = {
    "shape": ({"gmem": Layout((16, 16, 64), (1024, 64, 1))}, r"expected activations \(\(W,H,D,N\),C\)"),
    "channels": ({"gmem": Layout(((16, 4), 64), ((1, 16), 64))}, "expected channels of stride 1, got 64"),
    "corners": ({"lower_corner_whd": (1, 1, 1)}, "expected 2 entries of lower_corner_whd, one for each spatial mode"),
    "dilation": ({"stride_srt": (0, 1)}, "expected dilations that are integers and not 0, got 0"),
    "padding": ({"stride_srt": (2, 2), "upper_padding_whd": (1, 1)}, "a number of steps of 2 above the corner, got 1"),
    "filter": ({"upper_padding_whd": (-1, 0)}, "a number of steps of 1 above the corner, got -1"),
    "order": ({"smem": Layout((64, 64))}, "a shared layout that runs through channels, then pixels"),
    "multicast": ({"multicast": 3}, "a multicast that divides the 64 pixels of a box, got 3"),
    "traversal": ({"stride_whd": (9, 1)}, "element_stride_range"),
    "corner range": ({"lower_corner_whd": (-129, 0)}, "im2col_lower_corner_range"),
    "tile": ({"tile": (64, 32)}, "expected a tile of 4096 elements"),
    "shape of the tensor": ({}, "expected no other shape"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    changes, message = REFUSED[name]
    given = {"gmem": activations((16, 16, 4), 64), "smem": TILE, "tile": None, "multicast": 1, "dtype": "f16"} | changes
    operands = [given.pop(x) for x in ("gmem", "smem", "tile", "multicast")]

    with pytest.raises(LayoutError, match=message):
        make_im2col_tma_copy(*operands, **given).get_tma_tensor((1024, (64, 1, 1)))
