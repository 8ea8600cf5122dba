"""Asynchronous loads of a window into LDS: where upstream's code puts them, and where the view of LDS has them.

An asynchronous load has one LDS address for a wave, in M0, and its lanes go side by side from there. Upstream takes the
addresses of a wave and of an issue as multiples of one step each, from three indices of the LDS window: (issue, warp,
lane) of 0. Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_window.hpp, ``async_load_raw``; lanes side
by side are of the ISA of CDNA (buffer_load .. lds) and not measured.
"""

from __future__ import annotations

from typing import Any

from ...address_map import AddressMap
from ...errors import LayoutError
from ...expr import index
from ...int_tuple import text
from ..buffer_view import AddressSpace
from .linear_window import TileWindowLinear
from .tile_window import TileWindow


def async_places(window: TileWindow, lds_window: TileWindow) -> tuple[AddressMap, AddressMap]:
    """(where upstream puts each element, where the LDS window has it): (issue, warp, lane, element) to an LDS offset.

    >>> from symlayout.ck_tile import *
    >>> e = TileDistributionEncoding((), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
    >>> source = make_naive_tensor_view(None, (128, 32), (32, 1), 8, 1)
    >>> window = make_tile_window(source, (128, 32), (0, 0), make_static_tile_distribution(e))
    >>> lds = make_naive_tensor_view(None, (2, 4, 512), (2048, 512, 1), space="lds")
    >>> made, meant = async_places(window, make_tile_window(lds, (2, 4, 512), (0, 0, 0)))
    >>> print(made.offset)
    element + 2048*issue + 8*lane + 512*warp
    >>> made.offset == meant.offset
    True

    ``checkers.Equal`` of both proves it, or names the first element that goes elsewhere. Raises LayoutError for windows
    that upstream does not compile: a source that is not global, an LDS window of other than three dimensions, or of a
    linear window, and one whose lengths are not (issues, warps, lanes times elements).
    """
    if isinstance(window, TileWindowLinear) and any(window.linear_dims):
        raise LayoutError("expected a window without linear dimensions, since each access has a coordinate here")
    if window.buffer.space is not AddressSpace.GLOBAL or lds_window.buffer.space is not AddressSpace.LDS:
        raise LayoutError(
            f"expected a load from global memory to lds, got {window.buffer.space} to {lds_window.buffer.space}"
        )
    _, elements = window.vector
    issues = window.curve.get_num_of_access()
    partitions = window.distributed.encoding.p_lengths
    warps, lanes = (1, *partitions)[-2:]
    wanted = issues, warps, lanes * elements
    if lds_window.lengths != wanted:
        raise LayoutError(
            f"expected (issues, warps, lanes x elements) = {text(wanted)} as the lengths of an LDS window, got "
            f"{text(lds_window.lengths)}"
        )
    names = zip(("issue", "warp", "lane", "element"), (issues, warps, lanes, elements), strict=True)
    issue, warp, lane, element = coords = tuple(index(name, n) for name, n in names)

    def at(*x: Any) -> Any:
        return lds_window.view.descriptor(tuple(o + i for o, i in zip(lds_window.origin, x, strict=True)))

    start = at(0, 0, 0)
    made = start + issue * (at(1, 0, 0) - start) + warp * (at(0, 1, 0) - start) + lane * elements + element
    extents = issues, warps, lanes, elements
    meant = at(issue, warp, lane * elements + element)
    return AddressMap(coords, extents, made), AddressMap(coords, extents, meant)


def unmasked(window: TileWindow) -> AddressMap:
    """Every access of a window without its mask, as ``async_load_raw`` makes them: hardware alone looks at the end.

    >>> from symlayout.ck_tile import *
    >>> e = TileDistributionEncoding((), ((64,), (8,)), (((1, 0),),), ((2, 0),))
    >>> rows = pad_tensor_view(make_naive_tensor_view(None, (100, 8), (8, 1)), (64, 8), (True, False))
    >>> access = unmasked(make_tile_window(rows, (64, 8), (64, 0), make_static_tile_distribution(e)))
    >>> print(access)
    (lane,y0) -> 8*lane + y0 + 512 for lane < 64, y0 < 8

    ``checkers.NoInvalidAccess(access, size)`` is what has to hold then. Of a view whose rows are longer than what is
    valid of them, hardware finds nothing wrong.
    """
    access = window.access
    return AddressMap(access.coords, access.extents, access.offset)


__all__ = ["async_places", "unmasked"]
