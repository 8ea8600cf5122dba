"""The operands of a tile copy, each expected to be what TMA can copy, and the part of them that a CTA issues.

>>> from symlayout import ComposedLayout
>>> print(*shared_operand(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))), DType.of("bf16")))
(8,64):(64,1) 128B
>>> part_of_box((64, 128), 4)
(64, 32)
"""

from __future__ import annotations

from typing import Any, cast

from ..composition import composition
from ..dtype import DType
from ..errors import LayoutError
from ..expr import integer
from ..int_tuple import text
from ..layout import Layout, LayoutLike, expect_layouts
from ..making import make_layout
from ..obligations import EXACT, Obligations
from ..recast import recast_layout
from ..swizzle import Swizzle
from ..tiling import tile_to_shape
from .enumerations import BYTE_SWIZZLES, TmaSwizzle, TmaType

CTA_LIMIT = 16  # bits of a multicast mask


def map_unit(x: Any) -> Any:
    """The unit of the tensor map: an element type or a map type of whole bytes."""
    unit = x if isinstance(x, TmaType) else DType.of(x)
    if unit.bits % 8:
        raise LayoutError(f"expected a type of whole bytes for a tensor map, got {unit}; copy it as u8")
    return unit


def global_operand(x: Any) -> Layout:
    """The layout of global memory, with a tuple of modes."""
    if not isinstance(x, Layout) or x.has_bases:
        raise LayoutError(f"expected a layout of offsets for global memory, got {x}")
    return x if isinstance(x.shape, tuple) else cast(Layout, make_layout(x))


def shared_operand(x: LayoutLike, element: DType) -> tuple[Layout, TmaSwizzle]:
    """The layout of shared memory without its swizzle, and the swizzle as the tensor map has it."""
    expect_layouts(x)
    if not x.static:
        raise LayoutError(f"expected a shared layout of plain integers, got {x}")
    if isinstance(x, Layout):
        return x, TmaSwizzle.none
    if not isinstance(x.outer, Swizzle) or not isinstance(x.inner, Layout) or x.offset != 0:
        raise LayoutError(f"expected a swizzle, an offset of 0 and a layout for shared memory, got {x}")
    in_bytes = recast_layout(x.outer, old=element.bits, new=8)
    for kind, known in BYTE_SWIZZLES.items():
        if in_bytes == known or not in_bytes.bits:
            return x.inner, TmaSwizzle(kind)
    names = ", ".join(str(recast_layout(s, old=8, new=element.bits)) for s in list(BYTE_SWIZZLES.values())[1:])
    raise LayoutError(f"expected a swizzle of {element} that TMA has ({names}), got {x.outer}, in bytes {in_bytes}")


def cta_count(multicast: Any) -> int:
    """The number of CTAs of a multicast, if it is one. Raises LayoutError else."""
    multicast = integer(multicast)
    if type(multicast) is not int or not 1 <= multicast <= CTA_LIMIT:
        raise LayoutError(f"expected 1 to {CTA_LIMIT} CTAs for a multicast, got {multicast!r}")
    return multicast


def exact_only(x: LayoutLike) -> Obligations:
    """The obligations without overhang."""
    return Obligations(o for o in x.obligations if o.kind == EXACT)


def expect_whole_tile(tile_map: Layout, smem: Layout) -> None:
    """Raise LayoutError unless the tile has a place for each element of the shared layout."""
    if not tile_map.static or tile_map.size() != smem.size():
        raise LayoutError(
            f"expected a tile of {smem.size()} elements, as many as the shared layout {smem} has, got "
            f"{tile_map.size()} in {text(tile_map.shape)}"
        )


def part_of_box(box: tuple[int, ...], multicast: int) -> tuple[int, ...]:
    """The part of a box that each CTA of a multicast issues: the slowest dimensions are divided."""
    out, left = list(box), multicast
    for i in reversed(range(len(box))):
        n = box[i]
        if n % left and left % n:
            break
        out[i], left = -(-n // left), -(-left // n)
    if left > 1:
        raise LayoutError(f"expected a multicast that divides the box {text(box)} from its last mode, got {multicast}")
    return tuple(out)


def thread_value_layout(inverse: Layout, per_instruction: int, size: int, multicast: int) -> Layout:
    """(CTA, value) -> position in the tile: values of one instruction first, CTAs a part of them each."""
    values = tile_to_shape(make_layout(composition(inverse, per_instruction)), size)[0]
    parts = composition(Layout(multicast, per_instruction // multicast), Layout(multicast))
    return cast(Layout, make_layout(composition(inverse, parts), values))
