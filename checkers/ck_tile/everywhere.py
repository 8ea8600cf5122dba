"""Values of a map at every point of its box, also where its predicate does not hold, and what its facts imply there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.expr import Fact, Symbol, truth
from symlayout.facts import Facts
from symlayout.int_tuple import leaves

from ..algebra.certificates import Certificate, divisible, nonneg
from ..algebra.subject_form import points


def everywhere(x: AddressMap, *predicates: Iterable[Fact]) -> np.ndarray[Any, Any]:
    """Rows of (values, one truth value for each predicate) at every point, the first coordinate fastest.

    >>> M = AddressMap.over(lambda i: 2 * i, (3,), when=lambda i: i < 2)
    >>> everywhere(M, M.valid).tolist()
    [[0, 1], [2, 1], [4, 0]]
    """
    asked = [truth(tuple(p)) for p in predicates]
    plain = AddressMap(x.coords, x.extents, (*leaves(x.offset), *asked), (), divisors=x.divisors)
    return plain.table()[1] if points(plain) else np.zeros((0, len(leaves(x.offset)) + len(asked)), dtype=np.int64)


def at_row(x: AddressMap, row: int) -> tuple[int, ...]:
    """The coordinate of a row of ``everywhere``."""
    out = []
    for n in x.extents:
        row, c = divmod(row, int(n))  # a map without sizes
        out.append(c)
    return tuple(out)


def index_of(x: AddressMap, model: Mapping[Symbol, int], bound: AddressMap) -> tuple[int, ...] | None:
    """The index in a solver's model about *x*, of *bound*, which is *x* at the sizes of the model; None if outside."""
    if any(c not in model for c in x.coords):
        return None
    at = tuple(model[c] for c in x.coords)
    inside = all(0 <= i < int(n) for i, n in zip(at, bound.extents, strict=True))
    return at if inside else None


def follows(wanted: Iterable[Fact], facts: Facts) -> list[Certificate] | None:
    """A certificate for each fact that follows from others, or None where one is not shown."""
    out: list[Certificate] = []
    for f in wanted:
        for p in _parts(f):
            q = facts.normal(p)
            found = divisible([], q, f.modulus, facts) if f.relation == "%" else nonneg(q, facts)
            if found is None:
                return None
            out.append(found)
    return out


def _parts(f: Fact) -> tuple[Any, ...]:
    """What is at least 0, or divisible, where a fact holds."""
    return (f.expr, -f.expr) if f.relation == "==" else (f.expr,)
