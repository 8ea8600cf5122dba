"""SpaceFillingCurve: the order in which a thread accesses its elements, vector by vector.

Source: ROCm/composable_kernel, include/ck_tile/core/algorithm/space_filling_curve.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from itertools import product as boxes

from ...errors import LayoutError
from ...int_tuple import text


@dataclass(frozen=True)
class SpaceFillingCurve:
    """Accesses of *scalars_per_access* elements in each dimension, in the order of *dim_access_order*, slowest first.

    >>> c = SpaceFillingCurve((2, 3, 4), (0, 1, 2), (1, 1, 2))
    >>> " ".join("".join(map(str, i)) for i in c)
    '000 002 012 010 020 022 122 120 110 112 102 100'

    Along a snake (upstream in 2024) a dimension runs backwards where the row-major number of the digits before it is
    odd; a plain curve (2025) is row-major. Raises LayoutError where an access does not divide a length.
    """

    lengths: tuple[int, ...]
    dim_access_order: tuple[int, ...]
    scalars_per_access: tuple[int, ...]
    snake: bool = True

    def __post_init__(self) -> None:
        rank = len(self.lengths)
        if len(self.scalars_per_access) != rank or sorted(self.dim_access_order) != [*range(rank)]:
            raise LayoutError(
                f"expected an order of dimensions 0 .. {rank - 1} and as many scalars for each access, got "
                f"{text(self.dim_access_order)} and {text(self.scalars_per_access)}"
            )
        for n, v in zip(self.lengths, self.scalars_per_access, strict=True):
            if v < 1 or n % v:
                raise LayoutError(f"expected accesses that divide the lengths {text(self.lengths)}, got {v} of {n}")

    @property
    def access_lengths(self) -> tuple[int, ...]:
        """The number of accesses along each dimension."""
        return tuple(n // v for n, v in zip(self.lengths, self.scalars_per_access, strict=True))

    def get_num_of_access(self) -> int:
        """The number of accesses."""
        out = 1
        for n in self.access_lengths:
            out *= n
        return out

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        """The index of the first scalar of each access, in order."""
        ordered = [self.access_lengths[d] for d in self.dim_access_order]
        for digits in boxes(*map(range, ordered)):
            found = [0] * len(self.lengths)
            number = 0
            for d, n, i in zip(self.dim_access_order, ordered, digits, strict=True):
                back = self.snake and number % 2 == 1
                found[d] = (n - 1 - i if back else i) * self.scalars_per_access[d]
                number = number * n + i
            yield tuple(found)

    def get_index(self, access: int) -> tuple[int, ...]:
        """The index of the first scalar of an access."""
        if not 0 <= access < self.get_num_of_access():
            raise LayoutError(f"expected an access of 0 .. {self.get_num_of_access() - 1}, got {access}")
        return next(index for k, index in enumerate(self) if k == access)

    def steps(self) -> Iterator[tuple[int, ...]]:
        """The step from each access to the next; one is not a step of 1 along a snake's turn."""
        for a, b in pairwise(self):
            yield tuple(y - x for x, y in zip(a, b, strict=True))
