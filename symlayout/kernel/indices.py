"""Values of a kernel as maps over its block, thread and loop indices.

>>> from symlayout import dim, index
>>> N = dim("N")
>>> block, thread = index("block_x", N), index("thread", 32)
>>> print(over_indices(32 * block + thread, (), (N,))[0])
(block_x,thread) -> 32*block_x + thread for block_x < N, thread < 32
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..address_map import AddressMap
from ..expr import Fact, Symbol
from ..facts import symbols_in


def over_indices(value: Any, valid: tuple[Fact, ...], dims: tuple[Symbol, ...]) -> tuple[AddressMap, tuple[Fact, ...]]:
    """A value as a map over its indices, with its assumptions other than those about sizes.

    What is *valid* where it is computed is its predicate. An index whose range depends on others stays among the
    assumptions.
    """
    found = [s for s in symbols_in((value, *valid)) if s.lower == 0 and s not in dims]
    coords = tuple(sorted((s for s in found if _independent(s, dims)), key=lambda s: s.name))
    others = _behind(s for s in symbols_in((value, *valid)) if s not in coords)
    if not coords or others & set(coords):
        return AddressMap((), (), value), valid
    extents: tuple[Any, ...] = tuple(s.upper + 1 for s in coords if s.upper is not None)
    return AddressMap(coords, extents, value, valid), ()


def _behind(symbols: Iterable[Symbol]) -> set[Symbol]:
    """The symbols in the ranges of some, and in the ranges of those."""
    out: set[Symbol] = set()
    new = {t for s in symbols for t in symbols_in((s.lower, s.upper))}
    while new:
        out |= new
        new = {t for s in new for t in symbols_in((s.lower, s.upper))} - out
    return out


def _independent(s: Symbol, dims: tuple[Symbol, ...]) -> bool:
    return s.upper is not None and not any(t.lower == 0 and t not in dims for t in symbols_in((s.upper,)))
