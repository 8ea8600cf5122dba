"""TileWindow: a tile of a view that the threads of a block load and store, and that moves over the view.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_window.hpp, load_tile.hpp and store_tile.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...address_map import AddressMap
from ...errors import LayoutError
from ...expr import Fact, Int, Symbol, floordiv, index, integer, substitute
from ...facts import symbols_in
from ...int_tuple import text
from ...transforms import UNKNOWN, VERSIONS, Indices
from ...transforms.transform import lengths_of
from ..buffer_view import BufferView
from ..coordinates import make_tensor_coordinate, move_tensor_coordinate
from ..descriptor import TensorDescriptor
from ..tensor_view import TensorView
from .distributed_tensor import StaticDistributedTensor, make_static_distributed_tensor
from .distribution import TileDistribution, fresh, numbers
from .space_filling_curve import SpaceFillingCurve
from .window_access import access_of

SNAKES = {"V24": True, "V25": False}  # whether a window's accesses run along a snake


@dataclass(frozen=True)
class TileWindow:
    """A window of static lengths on a view, at an origin, perhaps with the distribution of its elements to threads.

    >>> import numpy as np
    >>> from symlayout.ck_tile import *
    >>> view = make_naive_tensor_view_packed(np.add.outer(100 * np.arange(9), np.arange(9)).reshape(-1), (9, 9))
    >>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))
    >>> window = make_tile_window(view, (4, 4), (1, 3), make_static_tile_distribution(e))
    >>> window.load().get_thread_buffer((1, 0)).tolist()
    [303, 304, 403, 404]
    >>> print(move_tile_window(window, (0, 2)))
    window (4,4) at (1,5) of global buffer of 81 i64: (x0,x1) -> 9*x0 + x1 for x0 < 9, x1 < 9

    An origin may have block and loop indices, ``(128 * index("bm", ceil_div(M, 128)), 0)``: claims about ``access``
    hold for all of them. *version* is that of upstream's rules for vectors and for the order of accesses.
    """

    view: TensorView
    lengths: Indices
    origin: Indices
    distribution: TileDistribution | None = None
    version: str = "V24"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", lengths_of(self.lengths))
        object.__setattr__(self, "origin", lengths_of(self.origin))
        rank = self.view.get_num_of_dimension()
        for name in ("lengths", "origin"):
            given = getattr(self, name)
            if len(given) != rank:
                raise LayoutError(f"expected {name} of a window in {rank} dimensions of its view, got {text(given)}")
        if self.version not in VERSIONS:
            raise LayoutError(f"expected a version of {', '.join(VERSIONS)}, got {self.version!r}")
        d = self.distribution
        if d is not None and d.lengths != self.lengths:
            raise LayoutError(
                f"expected window lengths {text(d.lengths)}, those of the distribution, got {text(self.lengths)}; "
                "upstream does not compare them"
            )

    @property
    def buffer(self) -> BufferView:
        """The buffer of the view."""
        return self.view.buffer

    # -- vectors and order ----------------------------------------------------------------------------

    @cached_property
    def y_vector_lengths(self) -> tuple[Indices, Indices]:
        """Upstream's (vector lengths, strides) of each Y dimension, from the guarantees of the view; -1 is unknown."""
        d = self.distributed
        lengths, strides = self.view.descriptor.get_top_dimension_safe_vector_length_strides(self.version)
        given = [tuple((i, n) for i, n in enumerate(x) if n != UNKNOWN) for x in (lengths, strides)]
        graph = replace(d.graph, lengths=given[0], strides=given[1])
        found = graph.guarantees(self.version)
        ys = graph.top_ids[len(d.encoding.P) :]
        return tuple(found[0][y] for y in ys), tuple(found[1][y] for y in ys)

    @cached_property
    def vector(self) -> tuple[int, int]:
        """(Y dimension, elements) of each access: the first of the longest guaranteed vectors of stride 1.

        (0, 1) where none is guaranteed.
        """
        best = (0, 1)
        for y, (n, s) in enumerate(zip(*self.y_vector_lengths, strict=True)):
            if type(n) is int and s == 1 and n > best[1]:
                best = (y, n)
        return best

    @cached_property
    def curve(self) -> SpaceFillingCurve:
        """The order of accesses over Y: a snake in V24, row-major in V25."""
        lengths = numbers(self.distributed.encoding.y_lengths, str(self.distributed))
        along, elements = self.vector
        scalars = tuple(elements if y == along else 1 for y in range(len(lengths)))
        return SpaceFillingCurve(lengths, tuple(range(len(lengths))), scalars, SNAKES[self.version])

    # -- access ---------------------------------------------------------------------------------------

    @cached_property
    def access(self) -> TensorDescriptor:
        """The descriptor of every element that is accessed: (indices of the origin, P, Y) to offset, with its pads.

        >>> from symlayout import dims
        >>> from symlayout.ck_tile import *
        >>> from symlayout.expr import index
        >>> M, K = dims("M K")
        >>> view = pad_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1)), (4, 4), (True, True))
        >>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0), (2, 0)),), ((1, 1), (2, 1)))
        >>> m = index("m", ceil_div(M, 4))
        >>> print(make_tile_window(view, (4, 4), (4 * m, 0), TileDistribution(e)).access.valid)
        (M >= 4*m + 2*(lane//2) + y0 + 1, K >= 2*lane + y1 + 1 - 4*(lane//2))

        Without a distribution the coordinates after those of the origin are the indices in the window.
        """
        return access_of(self.view.descriptor, self.lengths, self.origin, self.distribution)

    def issued(self, p: Sequence[Any], y: Sequence[Any]) -> tuple[Int, tuple[Fact, ...]]:
        """(offset, facts of the mask) of the access of P and Y indices, which may be expressions."""
        x = self.distributed.partition(p, y)
        return self._place(self.origin, x)

    def _place(self, origin: Indices, x: Sequence[Any]) -> tuple[Int, tuple[Fact, ...]]:
        """(offset, facts that are not plainly true) of an index in the window at an origin."""
        graph = self.view.descriptor.graph
        hidden = graph.hidden(tuple(o + i for o, i in zip(origin, x, strict=True)))
        return hidden[graph.bottom_ids[0]], tuple(f for f in graph.valid(hidden) if f.value is not True)

    @cached_property
    def starts(self) -> AddressMap:
        """The first element of each vector: (indices of the origin, P, Y) to offset, along the vectors their number.

        >>> from symlayout.ck_tile import *
        >>> e = TileDistributionEncoding((), ((64,), (2, 8)), (((1, 0),),), ((2, 0), (2, 1)))
        >>> rows = make_naive_tensor_view(None, (64, 16), (24, 1), 8, 1)
        >>> print(make_tile_window(rows, (64, 16), (0, 0), TileDistribution(e)).starts)
        (lane,y0,y1v) -> 24*lane + 8*y0 + 8*y1v for lane < 64, y0 < 2, y1v < 1
        """
        return self._starts(self.issued)

    def _starts(self, issued: Callable[..., tuple[Int, tuple[Fact, ...]]]) -> AddressMap:
        access, (along, n), rank = self.access, self.vector, len(self.distributed.encoding.Y)
        coords, extents = list(access.coords), list(access.extents)
        d = len(coords) - rank + along
        if n > 1:
            extents[d] = floordiv(extents[d], n)
            coords[d] = index(fresh(f"{coords[d].name}v", {c.name for c in coords}), extents[d])
        at: list[Any] = [n * c if n > 1 and i == d else c for i, c in enumerate(coords)]
        first = len(at) - rank
        offset, valid = issued(at[first - len(self.distributed.encoding.P) : first], at[first:])
        return AddressMap(tuple(coords), tuple(extents), offset, valid)

    def load(self) -> StaticDistributedTensor:
        """Every thread's registers, loaded vector by vector in upstream's order.

        One offset and one validity, those of its first element, hold for all of a vector. Raises LayoutError without
        a distribution, and what the view raises.
        """
        out = make_static_distributed_tensor(self.buffer.dtype, self.distributed)
        along, n = self.vector
        for p, y, at in self._issue():
            found = np.atleast_1d(self.view.get_vectorized_elements(*at, elements=n))
            for j in range(n):
                out.registers[(*p, self._register(y, along, j))] = found[j]
        return out

    def load_raw(self, tensor: StaticDistributedTensor, oob_conditional_check: bool = True) -> None:
        """Load into the registers of a tensor; where a mask is false they keep what they hold, whatever the view says.

        So upstream's code has it, by lanes that do not execute. Without *oob_conditional_check* masks are not looked
        at. Raises LayoutError for vectors that are not registers side by side, which upstream does not compile.
        """
        self._expect(tensor)
        _, n = self.vector
        for p, y, (c, offset, valid) in self._issue():
            d = int(self.distributed.register(y))
            if d % n:
                raise LayoutError(
                    f"expected vectors of {n} from a multiple of {n} registers on, got {d} at Y {text(y)}"
                )
            masked = valid if valid is not None else self.view.is_valid(c)
            if masked or not oob_conditional_check:
                found = self.view.get_vectorized_elements(c, offset, True, elements=n)
                tensor.registers[p][d : d + n] = np.atleast_1d(found)

    def store(self, tensor: StaticDistributedTensor) -> None:
        """Write the registers of every thread; where threads hold the same element the last one's stays."""
        self._write(tensor, lambda at, x: self.view.set_vectorized_elements(at[0], at[1], x, at[2]))

    def update(self, tensor: StaticDistributedTensor) -> None:
        """Combine the registers of every thread with memory by the operation of the view."""
        self._write(tensor, lambda at, x: self.view.update_vectorized_elements(at[0], at[1], x, at[2]))

    def accesses(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Any]]:
        """(P index, first Y index, coordinate) of each vector of each thread; coordinates *move*, as upstream's."""
        d, descriptor = self.distributed, self.view.descriptor
        origin = numbers(self.origin, "the origin of a window")
        for p in d.partitions():
            at = d.partition(p)
            c = make_tensor_coordinate(descriptor, tuple(o + x for o, x in zip(origin, at, strict=True)))
            for y in self.curve:
                there = d.partition(p, y)
                c = move_tensor_coordinate(descriptor, c, tuple(b - a for a, b in zip(at, there, strict=True)))
                at = there
                yield p, y, c

    def _issue(self) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[Any, int, bool | None]]]:
        """(P index, first Y index, (coordinate, linear offset, validity where it is given)) of each vector."""
        yield from ((p, y, (c, 0, None)) for p, y, c in self.accesses())

    def _write(self, tensor: StaticDistributedTensor, put: Callable[[Any, Any], None]) -> None:
        self._expect(tensor)
        along, n = self.vector
        for p, y, at in self._issue():
            put(at, np.array([tensor.registers[(*p, self._register(y, along, j))] for j in range(n)]))

    def _expect(self, tensor: StaticDistributedTensor) -> None:
        if tensor.distribution != self.distributed:
            raise LayoutError(f"expected a tensor of {self.distributed.encoding}, got {tensor.distribution.encoding}")

    def _register(self, y: Sequence[int], along: int, j: int) -> int:
        at = tuple(i + j if k == along else i for k, i in enumerate(y))
        return int(self.distributed.register(at))

    # -- moving ---------------------------------------------------------------------------------------

    def move(self, step: Sequence[Any]) -> TileWindow:
        """The window *step* further on; it changes nothing in place."""
        if len(step) != len(self.origin):
            raise LayoutError(f"expected a step in {len(self.origin)} dimensions, got {text(tuple(step))}")
        return replace(self, origin=tuple(integer(o) + integer(s) for o, s in zip(self.origin, step, strict=True)))

    def set_window_origin(self, origin: Sequence[Any]) -> TileWindow:
        """The window at another origin."""
        return replace(self, origin=tuple(origin))

    # -- shared ---------------------------------------------------------------------------------------

    @property
    def distributed(self) -> TileDistribution:
        """The distribution. Raises LayoutError for a window without one."""
        if self.distribution is None:
            raise LayoutError(f"expected a window with a tile distribution to access it, got {self}")
        return self.distribution

    def subs(self, values: Mapping[Any, Any]) -> TileWindow:
        """The window with sizes and indices replaced."""
        put = [tuple(substitute(x, values) for x in xs) for xs in (self.lengths, self.origin)]
        d = None if self.distribution is None else self.distribution.subs(values)
        return replace(self, view=self.view.subs(values), lengths=put[0], origin=put[1], distribution=d)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        found = symbols_in((self.view.descriptor, self.lengths, self.origin)) | set(self.view.symbols)
        return tuple(sorted(found | set(self.distribution.symbols if self.distribution else ()), key=lambda s: s.name))

    @property
    def static(self) -> bool:
        return not self.symbols

    def __str__(self) -> str:
        return f"window {text(self.lengths)} at {text(self.origin)} of {self.view}"


__all__ = ["TileWindow"]
