"""The conditions under which places hold what they do, apart from what that is.

>>> from symlayout import dim
>>> from symlayout.dtype import f32
>>> from .contents import Constant, Origins
>>> origins, n = Origins(), dim("n")
>>> some = Conditions((n,), np.array([[-3], [-4]]))
>>> print(origins[some.around(origins, origins.number(Constant(0, f32)))].conditions)
(n,)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout.expr import Symbol, symbols_of

from .contents import Guarded, Numbers, Origins


@dataclass(frozen=True, eq=False)
class Conditions:
    """Each row is at least 0 with its delta of each place: (place, row)."""

    rows: tuple[Any, ...]
    deltas: Numbers

    @classmethod
    def none(cls, places: int) -> Conditions:
        return cls((), np.zeros((places, 0), np.int64))

    @classmethod
    def of(cls, origins: Origins, number: int, deltas: Numbers) -> Conditions:
        """Those of places of one origin, whose deltas stand behind those of what is there."""
        origin = origins[number]
        if not isinstance(origin, Guarded):
            return cls.none(len(deltas))
        first = origins.width(origin.origin)
        return cls(origin.conditions, deltas[:, first : first + len(origin.conditions)])

    def about(self, known: set[Symbol]) -> bool:
        """Whether they are about these symbols alone: about what does not change in a loop that is none of them."""
        return all(known.issuperset(symbols_of(c)) for c in self.rows)

    def joined(self, other: Conditions) -> Conditions:
        """Both, those left out that follow from the same with smaller deltas."""
        rows, deltas = list(self.rows), [self.deltas]
        for k, c in enumerate(other.rows):
            mine = other.deltas[:, k : k + 1]
            if not any(c == d and (held <= mine[:, 0]).all() for d, held in zip(self.rows, self.deltas.T, strict=True)):
                rows.append(c)
                deltas.append(mine)
        return Conditions(tuple(rows), np.concatenate(deltas, axis=1))

    def around(self, origins: Origins, number: int) -> int:
        """The origin of a number under these conditions."""
        return origins.number(Guarded(number, self.rows)) if self.rows else number
