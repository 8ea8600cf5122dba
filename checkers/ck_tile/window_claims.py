"""The claims that an author of a window asks first, as one list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.ck_tile import KernelWindow, TileWindow, TileWindowLinear
from symlayout.ck_tile.buffer_view import AddressSpace
from symlayout.errors import ClaimError

from ..claim import Claim
from ..claims.aligned import Aligned
from ..claims.equal import Equal
from ..claims.fits_in import FitsIn
from ..claims.injective import Injective
from .distribution_covers import DistributionCovers
from .moving_equals_making import MovingEqualsMaking
from .no_invalid_access import NoInvalidAccess
from .vector_lanes import GuaranteedVectorLength
from .view_claims import INDEX_BITS


def window_claims(
    window: TileWindow | KernelWindow, stores: bool = False, lanes: int | None = None, warps: int | None = None
) -> list[Claim]:
    """Claims about a window, at every origin that its indices reach; a window of a kernel stands for its own.

    No valid element leaves the buffer; the lanes of each vector are consecutive and as valid as the first, so that no
    vector leaves it either; the distribution covers the window, moving is making, offsets fit 32 bits. With *stores* no
    two threads write one element, at one origin or at another. Of a linear window the accesses as upstream makes them
    are those that are meant, masks too; of elements that share storage vectors begin with a storage element. *lanes* of
    a wave and *warps* are those that run, by default as many as the distribution is for, which upstream does not check.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import *
    >>> from symlayout.expr import index
    >>> M, = dims("M", at_most=1 << 20)
    >>> view = pad_tensor_view(make_naive_tensor_view(None, (M, 32), (32, 1), 8, 1), (64, 32), (True, False))
    >>> e = TileDistributionEncoding((), ((4, 16), (4, 8)), (((1, 0),), ((1, 1), (2, 0))), ((2, 1),))
    >>> window = make_tile_window(view, (64, 32), (64 * index("m", ceil_div(M, 64)), 0), TileDistribution(e))
    >>> for claim in window_claims(window, stores=True):
    ...     print(claim.kind)
    no invalid access
    guaranteed vector length
    distribution covers
    moving equals making
    injective
    fits in
    """
    return list(_claims(window.window if isinstance(window, KernelWindow) else window, stores, lanes, warps))


def _claims(window: Any, stores: bool, lanes: int | None, warps: int | None) -> Iterator[Claim]:
    if not isinstance(window, TileWindow) or window.distribution is None:
        raise ClaimError(f"expected a tile window with a distribution, got {window!r}")
    d, access = window.distribution, window.access
    y, elements = window.vector
    along = len(access.coords) - len(d.encoding.Y) + y if d.encoding.Y else -1
    yield NoInvalidAccess(access, window.buffer.size)
    if elements > 1:
        yield GuaranteedVectorLength(access, elements, along, 1, version=window.version)
    yield DistributionCovers(d, lanes, warps)
    yield MovingEqualsMaking(window.view.descriptor)
    if isinstance(window, TileWindowLinear):
        yield Equal(*window.made_and_meant)
    if window.buffer.packed_size > 1:
        yield Aligned(window.starts, window.buffer.packed_size)
    if stores:
        yield Injective(access)
    offset = AddressMap(access.coords, access.extents, access.offset)
    unit = -(-window.buffer.dtype.bits // 8) if window.buffer.space is AddressSpace.GLOBAL else 1
    yield FitsIn(offset, bits=INDEX_BITS, unit_bytes=unit)
