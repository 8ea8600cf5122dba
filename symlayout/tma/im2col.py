"""TMA copies that read a tensor as the matrix of a convolution: pixels by (channel, filter position).

    >>> from symlayout import ComposedLayout, Swizzle, local_tile
    >>> activations = Layout(((16, 16, 4), 64), ((64, 1024, 16384), 1))  # ((W,H,N),C)
    >>> tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1)))
    >>> copy = make_im2col_tma_copy(
    ...     activations, tile, dtype="f16", lower_corner_whd=(-1, -1), upper_corner_whd=(-1, -1),
    ...     lower_padding_whd=(-1, -1), upper_padding_whd=(1, 1),
    ... )
    >>> print(copy.tensor_map.im2col, copy.get_tma_tensor().shape)
    im2col corners (-1,-1)..(-1,-1), 64 pixels of 64 channels (1024, (64, 3, 3))
    >>> copy.coordinates(local_tile(copy.get_tma_tensor(), (64, 64), (1, 4)))
    (0, -1, 3, 0, 1, 1)

The steps are those of CuTe (``atom/copy_traits_sm90_im2col.hpp``).
"""

from __future__ import annotations

from typing import Any

from ..algebra import coalesce
from ..basis import ArithmeticTupleIterator, ScaledBasis
from ..codomain import coprofile
from ..composition import composition
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import divides, floordiv, integer
from ..int_tuple import product, product_each, text
from ..inverses import right_inverse
from ..layout import ComposedLayout, Layout
from ..making import make_identity_layout
from ..tensor import Tensor
from .tensor_map import Im2col, TensorMap
from .tile_operands import cta_count, exact_only, expect_whole_tile, shared_operand, thread_value_layout
from .tiled_copy import TmaCopy

Whd = tuple[Any, ...]  # one number for each spatial mode, W first


def make_im2col_tma_copy(
    gmem: Any,
    smem_layout: Any,
    tile: Any = None,
    multicast: int = 1,
    *,
    lower_corner_whd: Any = None,
    upper_corner_whd: Any = None,
    lower_padding_whd: Any = None,
    upper_padding_whd: Any = None,
    stride_whd: Any = None,
    lower_srt: Any = None,
    stride_srt: Any = None,
    dtype: DTypeLike,
    address: Any = 0,
    l2_promotion: Any = 128,
    oob_fill: Any = None,
) -> TmaCopy:
    """The copy of a tile of pixels by channels, every pixel read at one filter position.

    *gmem* is the layout of the activations, ((W,H,D,N),C) or (C,(W,H,D,N)) with one to three spatial modes. Corners
    bound the pixels at which a filter may start, paddings the elements that it reaches; *stride_whd* is the stride of
    the convolution, *stride_srt* its dilation, negative for a filter that walks back from *lower_srt*. Left out they
    make a filter of one element: 0, and 1 for strides.

    The coordinate tensor has the shape (pixels, (C,S,R,T)) and the lower corner as its base.

    Raises LayoutError for what TMA cannot do.
    """
    element = DType.of(dtype)
    channels, pixels = _channels_and_pixels(gmem)
    n = len(gmem.shape[pixels]) - 1
    lower, upper = _whd("lower_corner_whd", lower_corner_whd, n), _whd("upper_corner_whd", upper_corner_whd, n)
    strides, dilations = _whd("stride_whd", stride_whd, n, 1), _whd("stride_srt", stride_srt, n, 1)
    below = _whd("lower_padding_whd", lower_padding_whd, n)
    above = _whd("upper_padding_whd", upper_padding_whd, n)
    smem, swizzle = shared_operand(smem_layout, element)
    identity = make_identity_layout(product_each(gmem.shape))
    tile_map = composition(identity, product_each(smem.shape) if tile is None else tile)
    expect_whole_tile(tile_map, smem)
    inverse = right_inverse(smem)
    gbasis = _box(coalesce(composition(tile_map, inverse)), channels, pixels)
    per_pixel, per_column = gbasis.shape
    if per_column % cta_count(multicast):
        raise LayoutError(f"expected a multicast that divides the {per_column} pixels of a box, got {multicast}")
    tensor_map = TensorMap(
        dtype=element,  # type: ignore[arg-type]  # made a map type there
        global_address=address,
        global_dim=(gmem.shape[channels], *gmem.shape[pixels]),
        global_stride_bytes=tuple(d * element.bytes for d in gmem.stride[pixels]),
        element_stride=(1, *strides, 1),
        im2col=Im2col(lower, upper, per_pixel, per_column // multicast),
        swizzle=swizzle,
        l2_promotion=l2_promotion,
        oob_fill=oob_fill,
    )
    taps = _filter(lower, upper, below, above, dilations)
    walk = _walk(tensor_map, taps, dilations, _whd("lower_srt", lower_srt, n), pixels)
    return TmaCopy(
        tensor_map=tensor_map,
        dtype=element,
        gmem=gmem,
        smem_layout=smem_layout,
        gbasis=gbasis,
        tma_tensor=walk,
        tiler=product_each(tile_map.shape),
        tv_layout=thread_value_layout(inverse, gbasis.size(), tile_map.size(), multicast),
        multicast=multicast,
        obligations=exact_only(tile_map),
    )


def _channels_and_pixels(gmem: Any) -> tuple[int, int]:
    """The mode of the activations with the channels, and the modes with the pixels and images."""
    if isinstance(gmem, Layout) and not gmem.has_bases and isinstance(gmem.shape, tuple) and len(gmem.shape) == 2:
        for channels, pixels in ((1, 0), (0, 1)):
            shape = gmem.shape[pixels]
            flat = isinstance(shape, tuple) and not any(isinstance(x, tuple) for x in (*shape, gmem.shape[channels]))
            if flat and 2 <= len(shape) <= 4:
                if gmem.stride[channels] != 1:
                    raise LayoutError(f"expected channels of stride 1, got {gmem.stride[channels]} in {gmem}")
                return channels, pixels
    raise LayoutError(f"expected activations ((W,H,D,N),C) or (C,(W,H,D,N)) with one to three of W, H, D, got {gmem}")


def _whd(name: str, x: Any, n: int, default: int = 0) -> Whd:
    """One number for each spatial mode."""
    given = (default,) * n if x is None else tuple(map(integer, x if isinstance(x, tuple | list) else (x,)))
    if len(given) != n:
        raise LayoutError(f"expected {n} entries of {name}, one for each spatial mode, got {text(given)}")
    return given


def _box(full: Layout, channels: int, pixels: int) -> Layout:
    """Channels by pixels, as far as shared memory runs through whole rows of them."""
    (c, e), (m, f) = (*full.modes(), (1, 0), (1, 0))[:2]
    if (e, f) != (ScaledBasis(1, channels), ScaledBasis(1, pixels)):
        raise LayoutError(
            f"expected a shared layout that runs through channels, then pixels, got {full} of (pixels, channels) "
            f"with channels at mode {channels}"
        )
    return Layout((c, m), (e, f))


def _filter(lower: Whd, upper: Whd, below: Whd, above: Whd, dilations: Whd) -> Whd:
    """The extents of the filter: how many steps the padding lies above the corner on the side that it walks to."""
    out = []
    for lo, up, b, a, d in zip(lower, upper, below, above, dilations, strict=True):
        if type(d) is not int or d == 0:
            raise LayoutError(f"expected dilations that are integers and not 0, got {d}")
        reach = a - up if d > 0 else b - lo
        steps = divides(abs(d), reach)
        if steps is None or (type(steps) is int and steps < 0):
            raise LayoutError(f"expected a padding that is a number of steps of {abs(d)} above the corner, got {reach}")
        out.append(steps + 1)
    return tuple(out)


def _walk(m: TensorMap, taps: Whd, dilations: Whd, lower_srt: Whd, pixels: int) -> Tensor:
    """The coordinate tensor (pixels, (C,S,R,T)) -> (c, (w,h,d), n, (s,r,t)), based at the corners."""
    c, *whd, images = m.global_dim
    lower, strides = m.lower_corner, m.element_stride[1:-1]
    starts = tuple(
        floordiv(n + up - lo - 1, d) + 1 for n, up, lo, d in zip(whd, m.upper_corner, lower, strides, strict=True)
    )
    by_pixel = (*starts, images), (*(ScaledBasis(d, (1, i)) for i, d in enumerate(strides)), ScaledBasis(1, 2))
    by_tap = (c, *taps), (ScaledBasis(1, 0), *(ScaledBasis(d, (3, i)) for i, d in enumerate(dilations)))
    modes, linear = [by_pixel, by_tap], [product(by_pixel[0]), by_tap[0]]
    if pixels == 1:
        modes, linear = modes[::-1], linear[::-1]
    outer = Layout(tuple(shape for shape, _ in modes), tuple(stride for _, stride in modes))
    inner = make_identity_layout(tuple(linear))
    base = ArithmeticTupleIterator((0, lower, 0, lower_srt))
    return Tensor(base, ComposedLayout(outer, coprofile(inner), inner))
