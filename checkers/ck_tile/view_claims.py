"""The claims that an author of a view asks first, as one list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.ck_tile import TensorAdaptor, TensorView
from symlayout.ck_tile.buffer_view import AddressSpace
from symlayout.errors import ClaimError

from ..claim import Claim
from ..claims.fits_in import FitsIn
from .moving_equals_making import MovingEqualsMaking
from .no_invalid_access import NoInvalidAccess
from .vector_lanes import GuaranteedVectorLength

INDEX_BITS = 32  # of CK's index_t


def view_claims(view: TensorView | TensorAdaptor, version: str = "V24") -> list[Claim]:
    """Claims about a view: no access leaves the buffer, moving is making, guarantees are true, indices fit 32 bits.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view
    >>> M, = dims("M", at_most=1 << 20)
    >>> for claim in view_claims(make_naive_tensor_view(None, (M, 64), (64, 1), 8, 1)):
    ...     print(claim.kind)
    no invalid access
    moving equals making
    guaranteed vector length
    fits in
    fits in

    Every index that upstream computes is asked, also where a mask is false, since masks are tested last; of a view in
    global memory bytes too. *version* is that of upstream's rules for guarantees.
    """
    return list(_claims(view, version))


def _claims(view: Any, version: str) -> Iterator[Claim]:
    descriptor = view.descriptor if isinstance(view, TensorView) else view
    if not isinstance(descriptor, TensorAdaptor):
        raise ClaimError(f"expected a tensor view or a descriptor, got {view!r}")
    yield NoInvalidAccess(view)
    yield MovingEqualsMaking(descriptor)
    lengths, _ = descriptor.get_top_dimension_safe_vector_length_strides(version)
    for along, n in enumerate(lengths):
        if type(n) is int and n > 1:
            yield GuaranteedVectorLength(descriptor, along=along, version=version)
    hidden = descriptor.graph.hidden(descriptor.coords)
    every = tuple(dict.fromkeys(hidden.values()))
    yield FitsIn(AddressMap(descriptor.coords, descriptor.extents, every), bits=INDEX_BITS)
    if isinstance(view, TensorView) and view.buffer.space is AddressSpace.GLOBAL:
        offset = AddressMap(descriptor.coords, descriptor.extents, descriptor.offset)
        yield FitsIn(offset, bits=INDEX_BITS, unit_bytes=-(-view.buffer.dtype.bits // 8))
