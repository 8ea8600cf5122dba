"""TileWindowLinear: a window that keeps one coordinate for several accesses, which differ by constant offsets.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_window_linear.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ...address_map import AddressMap
from ...errors import LayoutError
from ...expr import Fact, Int, integer
from ...int_tuple import text
from ...transforms import Indices
from ...transforms.merge import row_major
from ..buffer_view import AddressSpace
from ..coordinates import (
    coordinate_has_valid_offset_assuming_top_index_is_valid,
    make_tensor_coordinate,
    move_tensor_coordinate,
)
from ..tensor_view import TensorView
from .distribution import numbers
from .space_filling_curve import SpaceFillingCurve
from .tile_window import TileWindow


@dataclass(frozen=True)
class TileWindowLinear(TileWindow):
    """A window of which the tile dimensions in *linear_dims* are reached by offsets from one coordinate.

    An access is at the coordinate of its other Y indices, plus an offset that is known when the kernel is compiled: the
    place of the linear indices in a packed tile of the window's lengths, or (V25, all dimensions linear) what the view
    says for them from index 0 on. Upstream compares this with nothing; ``made_and_meant`` has both as maps, which
    ``checkers.window_claims`` proves equal or refutes.

    >>> from symlayout.ck_tile import *
    >>> e = TileDistributionEncoding((), ((2, 16), (2, 4, 8)), (((1, 1), (2, 1)),), ((1, 0), (2, 0), (2, 2)))
    >>> view = make_naive_tensor_view(range(64 * 100), (64, 100), (100, 1), 4, 1)
    >>> window = make_tile_window_linear(view, (32, 64), (0, 0), make_static_tile_distribution(e))
    >>> window.linear_dims, window.accesses_of_coordinates
    ((False, True), (0, 0, 0, 0, 1, 1, 1, 1))
    >>> print(window.linear_offset((1, 1, 4)))
    36

    Masks are computed where the window is made and where it moves. ``set_window_origin`` leaves them as they are, so
    that accesses at the new origin have the masks of the old one.
    """

    linear_dims: tuple[bool, ...] = ()
    masks_origin: Indices | None = None  # where masks were computed; None is the origin

    def __post_init__(self) -> None:
        super().__post_init__()
        given = tuple(map(bool, self.linear_dims))
        if len(given) != len(self.lengths):
            raise LayoutError(
                f"expected a choice of linear or not for each of {len(self.lengths)} dimensions, got {len(given)}"
            )
        object.__setattr__(self, "linear_dims", given)
        ids = self.accesses_of_coordinates
        if list(ids) != sorted(ids):
            raise LayoutError(
                f"expected Y dimensions of linear tile dimensions after all others, got {self.distributed.encoding} "
                f"with linear {text(tuple(map(int, given)))}: accesses use coordinates {text(ids)} in this order, and "
                "upstream keeps each at a place that is right for sorted ones alone"
            )

    # -- which accesses share a coordinate ----------------------------------------------------------------

    @cached_property
    def curve(self) -> SpaceFillingCurve:
        """The order of accesses over Y, row-major in both versions."""
        return replace(super().curve, snake=False)

    def is_linear(self, y: int) -> bool:
        """Whether a Y dimension is one of a linear tile dimension."""
        return self.linear_dims[self.distributed.encoding.Y[y][0] - 1]

    @cached_property
    def accesses_of_coordinates(self) -> tuple[int, ...]:
        """For each access the number of the coordinate that it uses: upstream's ``AccessMap_NonLinear``."""
        kept = [y for y in range(len(self.distributed.encoding.Y)) if not self.is_linear(y)]
        counts = row_major(tuple(self.curve.access_lengths[y] for y in kept))
        scalars = self.curve.scalars_per_access
        return tuple(int(sum(at[y] // scalars[y] * c for y, c in zip(kept, counts, strict=True))) for at in self.curve)

    def linear_index(self, y: Sequence[Any]) -> tuple[Any, ...]:
        """The index in the tile of the linear Y indices alone: upstream's ``get_bottom_linear_coordinate``."""
        p = (0,) * len(self.distributed.encoding.P)
        return self.distributed.partition(p, tuple(i if self.is_linear(d) else 0 for d, i in enumerate(y)))

    def linear_offset(self, y: Sequence[Any]) -> Int:
        """What upstream adds to the offset of the coordinate: ``get_bottom_linear_offset``."""
        x = self.linear_index(y)
        if self.version != "V24" and all(self.linear_dims):
            return self._place((0,) * len(x), x)[0]
        return sum((i * s for i, s in zip(x, row_major(self.lengths), strict=True)), start=integer(0))

    # -- access -------------------------------------------------------------------------------------------

    def issued(self, p: Sequence[Any], y: Sequence[Any]) -> tuple[Int, tuple[Fact, ...]]:
        """(offset, facts of the mask) of an access as upstream makes it."""
        kept = self.distributed.partition(p, self._kept(y))
        offset, _ = self._place(self.origin, kept)
        _, facts = self._place(self._masks_origin, self.distributed.partition(p, y))
        return offset + self.linear_offset(y), facts

    def _kept(self, y: Sequence[Any]) -> tuple[Any, ...]:
        """The Y index whose coordinate an access uses."""
        return tuple(0 if self.is_linear(d) else i for d, i in enumerate(y))

    @property
    def _masks_origin(self) -> Indices:
        return self.origin if self.masks_origin is None else self.masks_origin

    def _issue(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, int, bool | None]]]:
        d, descriptor = self.distributed, self.view.descriptor
        origin, masks = (numbers(o, "the origin of a window") for o in (self.origin, self._masks_origin))
        for p in d.partitions():
            first = d.partition(p)
            start = make_tensor_coordinate(descriptor, tuple(o + x for o, x in zip(origin, first, strict=True)))
            for y in self.curve:
                step = tuple(b - a for a, b in zip(first, d.partition(p, self._kept(y)), strict=True))
                there = tuple(o + x for o, x in zip(masks, d.partition(p, y), strict=True))
                valid = coordinate_has_valid_offset_assuming_top_index_is_valid(
                    descriptor, make_tensor_coordinate(descriptor, there)
                )
                yield p, y, (move_tensor_coordinate(descriptor, start, step), int(self.linear_offset(y)), valid)

    @cached_property
    def made_and_meant(self) -> tuple[AddressMap, AddressMap]:
        """(accesses as upstream makes them, accesses that are meant): the first elements of vectors, with their masks.

        Coordinates are the indices of the origin, P and Y, the one along the vectors by its number of vectors.
        """
        return self.starts, self._starts(super().issued)

    # -- moving -------------------------------------------------------------------------------------------

    def move(self, step: Sequence[Any]) -> TileWindowLinear:
        """The window *step* further on, its masks computed anew."""
        moved = super().move(step)
        assert isinstance(moved, TileWindowLinear)
        return replace(moved, masks_origin=None)

    def set_window_origin(self, origin: Sequence[Any]) -> TileWindowLinear:
        """The window at another origin, with the masks of this one, as upstream."""
        return replace(self, origin=tuple(origin), masks_origin=self._masks_origin)


def default_linear_dims(view: TensorView) -> tuple[bool, ...]:
    """The dimensions that are linear unless a window says others: the last of global memory, all of LDS, as upstream.

    >>> from symlayout.ck_tile import make_naive_tensor_view_packed
    >>> [default_linear_dims(make_naive_tensor_view_packed(None, (4, 4), space=s)) for s in ("global", "lds", "vgpr")]
    [(False, True), (True, True), (False, False)]
    """
    rank, space = view.get_num_of_dimension(), AddressSpace(view.buffer.space)
    every = space is AddressSpace.LDS
    return (*(every,) * (rank - 1), every or space is AddressSpace.GLOBAL)


__all__ = ["TileWindowLinear", "default_linear_dims"]
