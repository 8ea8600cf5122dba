"""The modes of global memory that the box of a TMA copy spans, and the dimensions of the tensor map that they fold
into.

The steps of CuTe's ``construct_tma_gbasis`` and ``fill_tma_gmem_shape_stride``
(``cute/atom/copy_traits_sm90_tma.hpp``), with the checks that CuTe leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..algebra import coalesce, from_modes
from ..basis import ScaledBasis, basis_get, basis_value
from ..composition import composition
from ..errors import InexactError, LayoutError
from ..expr import divides, terms_of
from ..facts import Facts
from ..int_tuple import IntTuple, ceil_div, is_zero, leaves, map_leaves, text
from ..layout import Layout
from ..making import make_identity_layout, make_layout
from ..modes import group
from ..obligations import NONE, Obligations, in_domain
from ..recast import recast_layout

BOX_LIMIT = 256  # units of a box along one dimension
RANK_LIMIT = 5


def construct_tma_gbasis(gmem: Layout, tile_map: Layout, inverse: Layout, bits: int, unit_bits: int) -> Layout:
    """The box as a layout: sizes in units, strides the modes of global memory, fastest in shared memory first.

    *tile_map* takes a tile coordinate to modes of *gmem*, *inverse* a shared offset to a tile coordinate; elements of
    *bits* are counted in units of *unit_bits*. Modes that chain are one up to 256 units and are never split; modes
    left out have size 1, and beyond five the last ones share a dimension.
    """
    spanned = _spanned(tile_map, inverse)
    strided = from_modes([(n, basis_get(e, gmem.stride)) for n, e in spanned])
    units = recast_layout(strided, old=bits, new=unit_bits)
    if units.size() * unit_bits != strided.size() * bits:
        raise InexactError(
            f"expected a box of whole units of {unit_bits} bits, got {text(strided.shape)} elements of {bits} bits"
        )
    box = _coalesced([(n, d, e) for (n, d), (_, e) in zip(units.modes(), spanned, strict=True)])
    have = {e for mode in box for e in leaves(mode.stride)}
    identity = leaves(make_identity_layout(gmem.shape).stride)
    every = zip(recast_layout(gmem, old=bits, new=unit_bits).modes(), identity, strict=True)
    box += [Layout(1, e) for (n, d), e in every if not contributes_nothing(n, d) and e not in have]
    made: Layout = make_layout(*box)
    return group(made, RANK_LIMIT - 1) if len(box) >= RANK_LIMIT else made


def _spanned(tile_map: Layout, inverse: Layout) -> list[tuple[int, ScaledBasis]]:
    """(extent, mode of global memory) of the contiguous run in shared memory, while modes begin at their start."""
    out: list[tuple[int, ScaledBasis]] = []
    for n, e in coalesce(composition(tile_map, inverse)).modes():
        if basis_value(e) != 1:
            break
        out.append((n, e))
    if not out:
        raise LayoutError(
            f"expected the first elements of shared memory to begin a mode of global memory, got the tile {tile_map} "
            f"with shared offsets at {inverse} of it"
        )
    return out


def _coalesced(modes: list[tuple[int, Any, ScaledBasis]]) -> list[Layout]:
    """Modes (extent, stride, basis) with those joined whose strides chain for all sizes: CuTe's coalesce_256."""
    out: list[list[tuple[int, Any, ScaledBasis]]] = []
    for n, d, e in modes:
        if n == 1:
            continue
        if out:
            size = math.prod(m for m, _, _ in out[-1])
            if size * out[-1][0][1] == d and size * n <= BOX_LIMIT:
                out[-1].append((n, d, e))
                continue
        out.append([(n, d, e)])
    return [from_modes([(n, e) for n, _, e in part]) for part in out]


def contributes_nothing(n: Any, d: Any) -> bool:
    """Whether a mode of this extent and stride needs no coordinate if no box spans it: extent 1 or stride 0."""
    return _is(n, 1) or _is(d, 0)


def _is(x: Any, number: int) -> bool:
    return type(x) is int and x == number


@dataclass(frozen=True)
class Dimension:
    """One dimension of a tensor map: modes of global memory folded into their common stride, in units."""

    bases: tuple[ScaledBasis, ...]
    extent: Any
    stride: Any
    scales: tuple[Any, ...]  # a step along each mode, in steps along the dimension

    @classmethod
    def of(cls, mode: Layout, gmem: Layout, box: int) -> Dimension:
        """The dimension of a mode of gbasis. Raises InexactError if a box of that size is not a run along it."""
        bases = tuple(leaves(mode.stride))
        modes = [(basis_get(e, gmem.shape), basis_get(e, gmem.stride)) for e in bases]
        if len(modes) == 1:
            return cls(bases, *modes[0], (1,))
        facts = Facts.about(gmem)
        stride = _common_stride([d for _, d in modes], facts)
        scales = tuple(facts.quotient(d, stride) for _, d in modes)
        _expect_run(mode, scales, box)
        return cls(bases, 1 + sum((n - 1) * k for (n, _), k in zip(modes, scales, strict=True)), stride, scales)


def _common_stride(strides: list[Any], facts: Facts) -> Any:
    """The greatest common divisor. Raises LayoutError where symbolic strides do not show it."""
    left = [d for d in strides if not is_zero(d)]
    while len(left) > 1:
        pairs = ((i, j) for j in range(len(left)) for i in range(j))
        found = next(((i, j, g) for i, j in pairs if (g := _divisor(left[i], left[j], facts)) is not None), None)
        if found is None:
            raise LayoutError(
                f"expected strides such that one divides the others, got {' and '.join(map(str, left))}: their modes "
                f"share a dimension of the tensor map, which has at most {RANK_LIMIT}"
            )
        i, j, g = found
        left = [g, *(d for k, d in enumerate(left) if k not in (i, j))]
    if not left or facts.le(1, left[0]) is False:
        raise LayoutError(f"expected positive strides for modes that share a dimension, got {text(tuple(strides))}")
    return left[0]


def _divisor(a: Any, b: Any, facts: Facts) -> Any:
    """The greatest common divisor of two strides where it shows: one divides the other, or they differ by factors."""
    if type(a) is int and type(b) is int:
        return math.gcd(a, b)
    if facts.quotient(a, b) is not None:
        return b
    if facts.quotient(b, a) is not None:
        return a
    contents = [math.gcd(*terms_of(x).values()) for x in (a, b)]
    bare = [divides(c, x) for c, x in zip(contents, (a, b), strict=True)]
    return math.gcd(*contents) * bare[0] if bare[0] is not None and bare[0] == bare[1] else None


def _expect_run(mode: Layout, scales: Sequence[Any], box: int) -> None:
    """A box of several modes is a run along their dimension only if each begins where the one before it ends."""
    end: Any = 1
    for (n, e), k in zip(mode.modes(), scales, strict=True):
        if n != 1 and end < box and k != end:
            raise InexactError(
                f"expected a step of {end} along {e}, for the box {mode} to run on along its dimension of the tensor "
                f"map, got {k}; a tensor map has {RANK_LIMIT} dimensions, tile fewer modes at once"
            )
        end = end * n


def coordinate_strides(gmem: Layout, in_units: Layout, dims: Sequence[Dimension], units: Fraction) -> IntTuple:
    """For each mode of global memory the step of the coordinate: units of memory along dimension 0, else modes.

    A mode of stride 0 that the box spans has a step too, as in the CuTe DSL: the tensor ends there, so the copy engine
    has to see where it is. One that shares a dimension with others has none, and neither has one outside of the box.
    """
    steps = {
        e: ScaledBasis(units * basis_get(e, gmem.stride) if j == 0 else k, j)
        for j, d in enumerate(dims)
        for e, k in zip(d.bases, d.scales, strict=True)
    }

    def step(n: Any, e: ScaledBasis) -> Any:
        return 0 if e not in steps or _is(n, 1) or _is(basis_value(steps[e]), 0) else steps[e]

    return map_leaves(step, in_units.shape, make_identity_layout(gmem.shape).stride)


def unseen_overhang(
    gmem: Layout,
    in_units: Layout,
    tile_map: Layout,
    gbasis: Layout,
    box: Sequence[int],
    dims: Sequence[Dimension],
    unit: int,
) -> Obligations:
    """In domain: tiles that reach past the end of their mode where the copy engine does not see it.

    It checks the coordinate along a dimension. It checks neither the modes inside one nor the *unit* elements of a
    unit, nor modes that no coordinate determines, unless the box has all of the tile.
    """
    reach: dict[tuple[int, ...], int] = {}
    for n, e in tile_map.modes():
        if isinstance(e, ScaledBasis):
            reach[e.path] = reach.get(e.path, 1) + (n - 1) * e.value
    seen: set[tuple[int, ...]] = set()
    facts, found = Facts.about(gmem), NONE
    for dimension, mode, part in zip(dims, gbasis, box, strict=True):
        ends, whole = dimension.extent - 1, part == mode.size()
        for (size, e), k in zip(mode.modes(), dimension.scales, strict=True):
            n, d = basis_get(e, gmem.shape), basis_get(e, gmem.stride)
            units = basis_get(e, in_units.shape)
            each = unit // d if type(d) is int and 0 < d < unit else 1
            found |= in_domain(each * ceil_div(n, each), n, facts)
            told = not (_is(units, 1) or _is(k, 0)) or (size if whole else 1) * each >= reach.get(e.path, 1)
            if told and facts.le(1 + ends - (units - 1) * k, k):  # one step past the mode is past the dimension
                seen.add(e.path)
    for e, n in zip(leaves(make_identity_layout(gmem.shape).stride), leaves(gmem.shape), strict=True):
        t = 1 if e.path in seen else reach.get(e.path, 1)
        found |= in_domain(t * ceil_div(n, t), n, facts)
    return found
