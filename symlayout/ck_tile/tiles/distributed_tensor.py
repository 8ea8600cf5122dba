"""StaticDistributedTensor: a tile in the registers of the threads of a block; spans and sweeps over them.

Sources: ROCm/composable_kernel, include/ck_tile/core/tensor/static_distributed_tensor.hpp and sweep_tile.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product as boxes
from typing import Any

import numpy as np

from ...dtype import DType, DTypeLike
from ...errors import ExecutionError, LayoutError
from ...int_tuple import text
from .distribution import TileDistribution, numbers


@dataclass(frozen=True, eq=False)
class StaticDistributedTensor:
    """The registers of every thread: ``registers[warp, lane, d]``, or ``[lane, d]`` of one warp.

    >>> from symlayout.ck_tile import *
    >>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))
    >>> t = make_static_distributed_tensor("i32", make_static_tile_distribution(e))
    >>> t[(0, 1), (1, 1)] = 204
    >>> t.get_thread_buffer((0, 1)).tolist(), t[(0, 1), (1, 1)]
    ([0, 0, 0, 204], 204)
    """

    distribution: TileDistribution
    dtype: DType
    registers: np.ndarray[Any, Any]

    def get_tile_distribution(self) -> TileDistribution:
        """The distribution."""
        return self.distribution

    def get_thread_buffer(self, partition_index: Sequence[int]) -> np.ndarray[Any, Any]:
        """The registers of a thread, in the order of D."""
        return np.asarray(self.registers[tuple(partition_index)])

    def get_y_sliced_thread_data(
        self, partition_index: Sequence[int], y_origins: Sequence[int], y_lengths: Sequence[int]
    ) -> np.ndarray[Any, Any]:
        """A box of a thread's Y indices, row-major. Raises LayoutError for a box that leaves them."""
        lengths = numbers(self.distribution.encoding.y_lengths, str(self.distribution))
        ends = [o + n for o, n in zip(y_origins, y_lengths, strict=True)]
        if len(ends) != len(lengths) or any(o < 0 or e > n for o, e, n in zip(y_origins, ends, lengths, strict=True)):
            raise LayoutError(
                f"expected a box inside of Y {text(lengths)}, got {text(tuple(y_origins))} .. {text(tuple(ends))}"
            )
        whole = self.get_thread_buffer(partition_index).reshape(lengths)
        return whole[tuple(slice(o, e) for o, e in zip(y_origins, ends, strict=True))].reshape(-1)

    def __getitem__(self, at: tuple[Sequence[int], Sequence[int]]) -> Any:
        """The element of (P index, Y index)."""
        p, y = at
        return self.registers[(*p, self.distribution.register(y))].item()

    def __setitem__(self, at: tuple[Sequence[int], Sequence[int]], x: Any) -> None:
        p, y = at
        self.registers[(*p, self.distribution.register(y))] = x

    def map(self, f: Callable[[np.ndarray[Any, Any]], Any]) -> StaticDistributedTensor:
        """Each element through a function of arrays: upstream's ``tile_elementwise_in``."""
        found = np.asarray(f(self.registers)).astype(self.registers.dtype)
        return StaticDistributedTensor(self.distribution, self.dtype, found)

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """The tile as an array. Raises ExecutionError where no thread holds an element, or two hold other values."""
        d = self.distribution
        lengths = numbers(d.lengths, str(d))
        out = np.zeros(lengths, self.registers.dtype)
        seen = np.zeros(lengths, bool)
        for p in d.partitions():
            for y in d_indices(d):
                x = d.partition(p, y)
                if any(not 0 <= i < n for i, n in zip(x, lengths, strict=True)):
                    raise ExecutionError(
                        f"expected indices inside of {text(lengths)}, got {text(x)} of thread {text(p)}"
                    )
                value = self.registers[(*p, d.register(y))]
                if seen[x] and out[x] != value:
                    raise ExecutionError(f"expected one value at {text(x)}, got {out[x]} and {value}")
                out[x], seen[x] = value, True
        if not seen.all():
            raise ExecutionError(f"expected a thread for each element, got none at {text(_first(~seen))}")
        return out

    def __str__(self) -> str:
        return f"{self.dtype} tile {text(self.distribution.lengths)}, {self.distribution.registers} a thread"


def _first(mask: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(map(int, np.argwhere(mask)[0]))


def d_indices(d: TileDistribution) -> Iterator[tuple[int, ...]]:
    """Every Y index, in the order of D."""
    yield from boxes(*map(range, numbers(d.encoding.y_lengths, str(d))))


def make_static_distributed_tensor(dtype: DTypeLike, distribution: TileDistribution) -> StaticDistributedTensor:
    """A tile of zeros in the registers of all threads of a distribution. CK gives the type as a template argument."""
    kind = DType.of(dtype)
    shape = (*numbers(distribution.encoding.p_lengths, str(distribution)), int(distribution.registers))
    return StaticDistributedTensor(distribution, kind, np.zeros(shape, kind.numpy()))


def get_distributed_spans(distribution: TileDistribution) -> tuple[tuple[Any, ...], ...]:
    """For each tile dimension the lengths of the Y dimensions in it, in the order of its factors.

    >>> from symlayout.ck_tile import TileDistributionEncoding
    >>> e = TileDistributionEncoding((), ((4, 2, 4), (32,)), (((1, 1), (2, 0)),), ((1, 2), (1, 0)))
    >>> get_distributed_spans(TileDistribution(e))
    ((4, 4), ())
    """
    return tuple(tuple(distribution.encoding.y_lengths[y] for y in ys) for ys in _span_dimensions(distribution))


def _span_dimensions(d: TileDistribution) -> tuple[tuple[int, ...], ...]:
    """The Y dimensions of each tile dimension, by minor and not by their own number."""
    e = d.encoding
    return tuple(
        tuple(sorted((y for y, (major, _) in enumerate(e.Y) if major == k + 1), key=lambda y: e.Y[y][1]))
        for k in range(len(e.H))
    )


def sweep_tile(distribution: TileDistribution, f: Callable[[tuple[int, ...]], Any] | None = None) -> list[Any]:
    """The Y indices in the order of a sweep over the spans, row-major; with *f*, what it gives of each.

    >>> from symlayout.ck_tile import TileDistributionEncoding
    >>> e = TileDistributionEncoding((), ((2, 2), (2,)), (((2, 0),),), ((1, 1), (1, 0)))
    >>> sweep_tile(TileDistribution(e))
    [(0, 0), (1, 0), (0, 1), (1, 1)]

    The order of spans is that of H, the order of registers that of Y: here Y0 is the faster factor.
    """
    dimensions = [y for ys in _span_dimensions(distribution) for y in ys]
    lengths = numbers([distribution.encoding.y_lengths[y] for y in dimensions], str(distribution))
    out: list[Any] = []
    for at in boxes(*map(range, lengths)):
        y = [0] * len(distribution.encoding.Y)
        for i, d in zip(at, dimensions, strict=True):
            y[d] = i
        out.append(f(tuple(y)) if f is not None else tuple(y))
    return out
