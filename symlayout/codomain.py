"""The codomain of a layout: the extent of its image, and the profile of its coordinates."""

from __future__ import annotations

from typing import Any

from .basis import as_arithmetic, as_tuple, coprofile_of
from .int_tuple import IntTuple, add, leaves, map_leaves
from .meter import ends
from .strides import magnitude


@ends
def coshape(layout: Any) -> IntTuple:
    """The extent of the image in each component of the codomain."""
    reach = add([(n - 1) * magnitude(d) for n, d in layout.modes()])
    if not layout.has_bases:
        return reach + 1
    full = add([reach, as_arithmetic(coprofile(layout))])
    return map_leaves(lambda r: r + 1, as_tuple(full))


@ends
def coprofile(layout: Any) -> IntTuple:
    """Zeros with the profile of the codomain: 0 for offsets, nested zeros for coordinates."""
    return coprofile_of(leaves(layout.stride))
