"""From a global tensor, a shared layout and a tile to a tensor map and the coordinates that its copies are given.

    >>> from symlayout import ComposedLayout, Swizzle, dim
    >>> M, K = dim("M"), dim("K", multiple_of=8)
    >>> tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((128, 64), (64, 1)))
    >>> copy = make_tma_copy(Layout((M, K), (K, 1)), tile, dtype="bf16")
    >>> print(copy.tensor_map)
    TensorMap bf16 (K,M) strides (2*K,) B, box (64,128), swizzle 128B, L2 promotion 128B
    >>> print(copy.get_tma_tensor())
    ArithTuple(0,0) o (M,K):(1@1,1@0)

The steps are those of CuTe (``atom/copy_traits_sm90_tma.hpp``). What CuTe knows from a type is a number here, what it
learns at run time an expression: modes merge where they chain for all sizes.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

from ..algebra import coalesce
from ..basis import ArithmeticTupleIterator, map_entries
from ..common_layouts import plain
from ..composition import composition
from ..coordinates import checked_coordinate
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Expr, Int, integer, substitute
from ..int_tuple import Coord, checked, congruent, has_none, leaves, map_leaves, product, product_each, rank, text
from ..inverses import right_inverse
from ..layout import Layout, cosize, expect_layouts, is_layout, slice_layout
from ..making import make_identity_layout, make_layout
from ..meter import ends
from ..obligations import NONE, Obligations
from ..recast import recast_layout
from ..rules.tma import violations
from ..strides import as_modes
from ..tensor import Tensor, domain_offset, make_coord_tensor
from ..tiling import logical_divide, tile_to_shape, zipped_divide
from .enumerations import TmaSwizzle
from .gbasis import Dimension, construct_tma_gbasis, coordinate_strides, unseen_overhang
from .tensor_map import TensorMap
from .tile_operands import (
    CTA_LIMIT,
    cta_count,
    exact_only,
    expect_whole_tile,
    global_operand,
    map_unit,
    part_of_box,
    shared_operand,
    thread_value_layout,
)


@dataclass(frozen=True)
class TmaCopy:
    """A tile copy by TMA: the tensor map, which has the address, and the coordinate tensor, which has none.

    ``gbasis`` is the box: its sizes before the split of a multicast, its strides the modes of ``gmem`` that it spans.
    ``tiler`` is the tile, ``tv_layout`` gives (CTA of a multicast, value) -> position in the tile, column-major.
    ``obligations`` say which symbolic sizes copy the tile that was asked for; overhang is none of them, since the copy
    engine checks bounds. Raises LayoutError for numbers that the driver refuses and leaves expressions to the prover.
    """

    tensor_map: TensorMap
    dtype: DType
    gmem: Layout
    smem_layout: Any
    gbasis: Layout
    tma_tensor: Tensor
    tiler: tuple[int, ...]
    tv_layout: Layout
    multicast: int = 1
    obligations: Obligations = NONE

    def __post_init__(self) -> None:
        _expect_legal(self.tensor_map)

    @property
    def swizzle(self) -> TmaSwizzle:
        return self.tensor_map.swizzle

    @property
    def bytes_per_instruction(self) -> int:
        """Bytes that one instruction brings to each CTA; in a multicast the parts of all CTAs together."""
        return int(self.gbasis.size()) * self.tensor_map.element_bits // 8

    @property
    def elements_per_instruction(self) -> int:
        """The same in elements of shared memory."""
        return self.bytes_per_instruction * 8 // self.dtype.bits

    @property
    def instructions(self) -> int:
        """Instructions for a tile."""
        return int(product(self.tiler)) // self.elements_per_instruction

    @property
    def landing(self) -> Layout:
        """The landing of a tile: position in the tile to bytes past its start, unswizzled."""
        n, values = Layout(self.elements_per_instruction), self.tv_layout[1]
        shared = getattr(self.smem_layout, "inner", self.smem_layout)
        begins = composition(shared, logical_divide(values, n)[1])  # where each instruction puts its box
        boxes = composition(make_layout(n, begins), right_inverse(values))
        tile = composition(boxes, Layout(self.tiler))
        return Layout(tile.shape, map_leaves(lambda d: d * self.dtype.bytes, tile.stride))

    @functools.cached_property
    def parts(self) -> tuple[TmaPart, ...]:
        """The parts of each instruction of each CTA, as ``partition_D`` deals the tile; the tile starts at byte 0.

        >>> copy = make_tma_copy(Layout((4, 64), (64, 1)), Layout((2, 64), (64, 1)), multicast=4, dtype="u8")
        >>> print(*copy.parts[:2], sep="; ")
        the part of CTA 0 at byte 0 of the tile; the part of CTA 1 at byte 32 of the tile
        """
        shared = getattr(self.smem_layout, "inner", self.smem_layout)  # the swizzle is the engine's, by the address
        found = []
        for cta in range(self.multicast):
            dealt = self.get_slice(cta).partition_D(Tensor(0, shared))
            rest = (0,) * (rank(dealt.layout) - 1)
            for i in range(self.instructions):
                at = dealt((0, i) if self.instructions > 1 else 0, *rest)
                found.append(TmaPart(self, cta, i, int(at) * self.dtype.bits // 8))
        return tuple(found)

    def get_tma_tensor(self, shape: Any = None) -> Tensor:
        """The coordinate tensor of global memory, or of a shape congruent to its own; tile it as the data.

        Its values are coordinates of the tensor map, innermost first. Slices move its base and leave the map alone.
        """
        whole = self.tma_tensor
        if shape is None:
            return whole
        shape = checked(shape, "shape")
        if not isinstance(whole.layout, Layout):
            raise LayoutError(f"expected no other shape for im2col than {text(whole.shape)}, got {text(shape)}")
        if not congruent(shape, whole.shape):
            raise LayoutError(f"expected a shape congruent to {text(whole.shape)}, got {text(shape)}")
        return Tensor(whole.iterator, Layout(shape, whole.stride))

    def get_slice(self, cta: Any = 0) -> TmaSlice:
        """The part that CTA *cta* of a multicast issues."""
        cta = integer(cta)
        if type(cta) is int and not 0 <= cta < self.multicast:
            raise LayoutError(f"expected a CTA of 0 .. {self.multicast - 1} of the multicast, got {cta}")
        return TmaSlice(self, cta)

    def coordinates(self, x: Tensor) -> tuple[Int, ...]:
        """The operands of the instruction for a slice of the coordinate tensor, innermost first.

        For im2col the offsets follow the coordinates, W first.
        """
        if not isinstance(x, Tensor) or not isinstance(x.iterator, ArithmeticTupleIterator):
            raise LayoutError(f"expected a slice of the coordinate tensor, got {x}")
        return tuple(leaves(x.iterator[x.layout(0)]))

    def subs(self, env: Mapping[Any, Any]) -> TmaCopy:
        """The copy at these sizes. Raises LayoutError for sizes that the driver refuses."""
        values = dict(env)
        base = map_entries(lambda v: substitute(v, values), self.tma_tensor.iterator.coord)
        return replace(
            self,
            tensor_map=self.tensor_map.subs(values),
            gmem=self.gmem.subs(values),
            tma_tensor=Tensor(ArithmeticTupleIterator(base), self.tma_tensor.layout.subs(values)),
            obligations=self.obligations.subs(values),
        )

    def __str__(self) -> str:
        n = self.instructions
        by = f", multicast to {self.multicast} CTAs" if self.multicast > 1 else ""
        each = f"{n} instruction{'s' if n > 1 else ''} of {self.bytes_per_instruction} bytes{by}"
        return f"TmaCopy of {text(self.tiler)} in {each}; {self.tensor_map}"


@dataclass(frozen=True)
class TmaPart:
    """The part that one instruction of one CTA lands in every CTA: the bytes of the tile from *offset_bytes* on."""

    copy: TmaCopy
    cta: int
    instruction: int
    offset_bytes: int

    def __str__(self) -> str:
        of = [f"CTA {self.cta}"] * (self.copy.multicast > 1)
        of += [f"instruction {self.instruction}"] * (self.copy.instructions > 1)
        what = f"part of {', '.join(of)}" if of else "box"
        return f"the {what} at byte {self.offset_bytes} of the tile"


@dataclass(frozen=True)
class TmaSlice:
    """The part of a copy that one CTA of a multicast issues; the whole copy without multicast."""

    copy: TmaCopy
    cta: Int = 0

    def partition_S(self, x: Any) -> Tensor:  # noqa: N802  (CuTe's name)
        """A tensor that begins with the modes of a tile, as ((TMA, TMA_Iter), rest of each mode ...).

        Sliced at one TMA_Iter, its base is what that instruction is given.
        """
        by_cta, by_value = self.copy.tv_layout
        t = _tensor(x)
        own = domain_offset((by_cta(self.cta), 0), Tensor(t.iterator, zipped_divide(t.layout, self.copy.tiler)))
        dealt = coalesce(own.compose(by_value, None).layout, ((1, 1),))
        return cast(Tensor, Tensor(own.iterator, dealt)(None, (None,) * rank(dealt.shape[1])))

    def partition_D(self, x: Any) -> Tensor:  # noqa: N802  (CuTe's name)
        """The same for the other side: values are numbered alike in global and shared memory."""
        return self.partition_S(x)


@ends
def make_tma_copy(
    gmem: Any,
    smem_layout: Any,
    tile: Any = None,
    multicast: int = 1,
    *,
    dtype: DTypeLike,
    address: Any = 0,
    internal_dtype: DTypeLike | None = None,
    l2_promotion: Any = 128,
    oob_fill: Any = None,
) -> TmaCopy:
    """The copy of a tile between global memory and shared memory with as few, as large boxes as TMA has.

    *gmem* is the layout of the global tensor in elements of *dtype*, *smem_layout* that of the tile, plain or in a
    swizzle of element offsets, *tile* a tiler of *gmem* (the sizes of the shared modes if left out). *multicast* CTAs
    issue a part of each box and all receive it. *internal_dtype* is what the tensor map counts in, of whole bytes.

    Raises LayoutError for what TMA cannot do, InexactError where the box would not be the tile.
    """
    element, unit = DType.of(dtype), map_unit(dtype if internal_dtype is None else internal_dtype)
    gmem, (smem, swizzle) = global_operand(gmem), shared_operand(smem_layout, element)
    tile_map = composition(make_identity_layout(gmem.shape), product_each(smem.shape) if tile is None else tile)
    expect_whole_tile(tile_map, smem)
    inverse, in_units = right_inverse(smem), recast_layout(gmem, old=element.bits, new=unit.bits)
    gbasis = construct_tma_gbasis(gmem, tile_map, inverse, element.bits, unit.bits)
    box = part_of_box(product_each(gbasis.shape), cta_count(multicast))
    dims = [Dimension.of(mode, in_units, n) for mode, n in zip(gbasis, box, strict=True)]
    if dims[0].stride != 1:
        raise LayoutError(
            f"expected the fastest mode of shared memory to have stride 1 in global memory, got {dims[0].stride} "
            f"{unit} at {dims[0].bases[0]} of {in_units}: the majorness of shared memory does not match"
        )
    tensor_map = TensorMap(
        dtype=unit,
        global_address=address,
        global_dim=tuple(d.extent for d in dims),
        global_stride_bytes=tuple(d.stride * (unit.bits // 8) for d in dims[1:]),
        box_dim=box,
        swizzle=swizzle,
        l2_promotion=l2_promotion,
        oob_fill=oob_fill,
    )
    strides = coordinate_strides(gmem, in_units, dims, Fraction(element.bits, unit.bits))
    per_instruction = gbasis.size() * unit.bits // element.bits
    return TmaCopy(
        tensor_map=tensor_map,
        dtype=element,
        gmem=gmem,
        smem_layout=smem_layout,
        gbasis=gbasis,
        tma_tensor=Tensor(ArithmeticTupleIterator((0,) * len(dims)), Layout(gmem.shape, strides)),
        tiler=product_each(tile_map.shape),
        tv_layout=thread_value_layout(inverse, per_instruction, tile_map.size(), multicast),
        multicast=multicast,
        obligations=exact_only(tile_map)
        | unseen_overhang(gmem, in_units, tile_map, gbasis, box, dims, unit.bits // element.bits),
    )


def _expect_legal(m: TensorMap) -> None:
    """Raise LayoutError for the first number that a rule refuses; limits of one architecture are for the prover."""
    for v in violations(m):
        if not isinstance(v.value, Expr) and not v.rule.id.endswith("_of_cc90"):
            raise LayoutError(str(v))
    if m.rows != 1 and m.pitch_bytes != m.row_bytes:
        raise LayoutError(
            f"expected rows of {m.span_bytes} bytes with swizzle {m.swizzle}, got {m.row_bytes}: a narrower row still "
            f"takes {m.span_bytes} bytes of shared memory; take a swizzle of {m.row_bytes} bytes"
        )


# -- partitions of an atom, and masks -------------------------------------------------------------------


@ends
def tma_partition(copy: TmaCopy, cta_coord: Any, cta_layout: Layout, smem: Any, *gmem: Any) -> tuple[Tensor, ...]:
    """Tensors whose mode 0 is a tile, as ((TMA, TMA_Iter), rest ...): shared memory first, then each of *gmem*.

    *cta_layout* numbers the CTAs that multicast to each other; *cta_coord* is this one's.
    """
    expect_layouts(cta_layout)
    if cosize(cta_layout) != copy.multicast:
        raise LayoutError(f"expected a layout of the {copy.multicast} CTAs of the multicast, got {cta_layout}")
    tensors, size, n = [_tensor(x) for x in (smem, *gmem)], product(copy.tiler), copy.elements_per_instruction
    for t in tensors:
        if product(as_modes(t.layout.shape)[0]) != size:
            raise LayoutError(f"expected mode 0 to be a tile of {size} elements, got {text(t.layout.shape)}")
    inverse = right_inverse(plain(tensors[0].layout)[0])
    values = logical_divide(tile_to_shape(make_layout(inverse), size), Layout(n))
    part = cta_layout(cta_coord) * (n // copy.multicast)

    def dealt(t: Tensor) -> Tensor:
        rest = (None,) * (rank(t.layout) - 1)
        layout = coalesce(composition(t.layout, (values, *rest)), ((1, 1),))
        return domain_offset(((part, 0), *(0 for _ in rest)), Tensor(t.iterator, layout))

    return tuple(map(dealt, tensors))


@ends
def create_tma_multicast_mask(layout: Layout, coord: Coord, *modes: int) -> int:
    """The mask of the CTAs that differ from the one at *coord* in *modes* only; bit k is the CTA of rank k.

    >>> bin(create_tma_multicast_mask(Layout((1, 2, 2, 1)), (0, 1, 0, 0), 2))
    '0b1010'
    """
    expect_layouts(layout)
    given, modes = as_modes(checked_coordinate(coord)), tuple(integer(m) for m in modes)  # type: ignore[misc]
    if not all(type(i) is int and 0 <= i < len(given) for i in modes):
        raise LayoutError(f"expected modes of 0 .. {len(given) - 1}, got {text(modes)}")
    wanted = tuple(None if i in modes else c for i, c in enumerate(given))
    rest, first = slice_layout(wanted, layout) if has_none(wanted) else (Layout(1), layout(wanted))
    ranks = [first + rest(i) for i in range(rest.size())]
    if not all(type(k) is int and 0 <= k < CTA_LIMIT for k in ranks):
        raise LayoutError(f"expected CTA ranks of 0 .. {CTA_LIMIT - 1}, got {text(tuple(ranks))}")
    return sum(1 << k for k in set(ranks))


def _tensor(x: Any) -> Tensor:
    """A tensor of a tensor or of a layout."""
    if isinstance(x, Tensor):
        return x
    if not is_layout(x):
        raise LayoutError(f"expected a tensor or a layout, got {x!r}")
    return make_coord_tensor(x) if isinstance(x, Layout) and x.has_bases else Tensor(0, x)
