"""Layouts: functions from coordinates to offsets, given by a shape and a congruent stride."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

import numpy as np

from .basis import as_tuple, is_basis, map_entries
from .codomain import coshape
from .coordinates import checked_coordinate, offset_at, resolved, slice_
from .errors import LayoutError
from .expr import Expr, Symbol, substitute
from .facts import symbols_in
from .int_tuple import IntTuple, Shape, add, checked, congruent, has_none, leaves, map_leaves, product, rank, text
from .members import members
from .meter import ends
from .obligations import NONE, Obligations
from .strides import as_modes, compact_col_major
from .swizzle import Swizzle

LISTED = 1 << 30  # offsets that fit into memory at once; more are a mistake


class Layout:
    """A function from coordinates to offsets: the inner product of the natural coordinate with the stride.

    >>> from symlayout import E, dims
    >>> M, N = dims("M N")
    >>> row_major = Layout((M, N), (N, 1))
    >>> print(row_major, row_major(2, 3))
    (M,N):(N,1) 2*N + 3

    A coordinate is one integer (colexicographic), one integer for each mode, or nested like the shape.
    ``None`` is CuTe's underscore: ``layout(2, None)`` is the slice. Without a stride the layout is
    compact and column-major. With basis strides the values are coordinates:

    >>> Layout((M, N), (E(1), E(0)))(2, 3)
    ArithmeticTuple(3, 2)

    ``obligations`` say what must still hold for the layout to be what its operation asked for; they take
    no part in equality. Raises LayoutError for a stride that is not congruent, and for extents below 1.
    """

    __slots__ = ("_by_mode", "_modes", "_static", "obligations", "shape", "stride")
    _modes: tuple[tuple[Any, Any], ...]  # found once, on first use
    _static: bool
    _by_mode: tuple[tuple[tuple[int, Any], ...], ...]
    shape: IntTuple
    stride: IntTuple
    obligations: Obligations

    def __init__(self, shape: Any, stride: Any = None) -> None:
        shape = checked(shape, "shape")
        _check_extents(shape)
        stride = compact_col_major(shape) if stride is None else checked(stride, "stride")
        if not congruent(shape, stride):
            raise LayoutError(f"expected a stride congruent to the shape {text(shape)}, got {text(stride)}")
        _set_shape(self, shape)
        _set_stride(self, stride)
        _set_obligations(self, NONE)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Layout is a value; make a new one instead of setting {name}")

    @staticmethod
    def parse(source: str, symbols: Iterable[Symbol] = ()) -> Any:
        """The layout, composed layout or swizzle that CuTe text or a CuTe C++ type denotes."""
        return members.parse(source, symbols)

    @staticmethod
    def fit(points: Any, shape: Shape | None = None) -> Any:
        """The layout, swizzled if need be, that explains a function or a list of points."""
        return members.fit(points, shape)

    # -- as a function --------------------------------------------------------------------------------

    def __call__(self, *coord: Any) -> Any:
        c = coord[0] if len(coord) == 1 else coord
        if type(c) is int:
            found = _number_at(c, self._modes) if c >= 0 and self.static else None
            return resolved(offset_at(c, self.shape, self.stride)) if found is None else found
        if type(c) is tuple and (found := self._value(c)) is not None:
            return found
        c = checked_coordinate(c)
        if has_none(c):
            return slice_layout(c, self)[0]
        return resolved(offset_at(c, self.shape, self.stride))

    def _value(self, coord: tuple[Any, ...]) -> int | None:
        """The offset of an integer for each mode by numbers alone; None for other coordinates and other layouts."""
        modes = self._leaves_by_mode()
        if not modes or len(modes) != len(coord):
            return None
        out = 0
        for c, leaves_of in zip(coord, modes, strict=True):
            found = _number_at(c, leaves_of) if type(c) is int and c >= 0 else None
            if found is None:
                return None
            out += found
        return out

    def _leaves_by_mode(self) -> tuple[tuple[tuple[int, Any], ...], ...]:
        """(extent, stride) of the leaves of each mode; nothing for symbols, and for a shape that is one integer."""
        try:
            return self._by_mode
        except AttributeError:
            found: tuple[tuple[tuple[int, Any], ...], ...] = ()
            if self.static and isinstance(self.shape, tuple):
                each = zip(self.shape, self.stride, strict=True)
                found = tuple(tuple(zip(leaves(n), leaves(d), strict=True)) for n, d in each)
            _set_by_mode(self, found)
            return found

    def offsets(self) -> np.ndarray[Any, Any]:
        """Every offset in linear order, as an array of int64: modes are broadcast, not looped over.

        Raises LayoutError for symbolic sizes, coordinates as values and offsets beyond int64.
        """
        if not self.static or self.has_bases:
            raise LayoutError(f"expected a layout of plain integers, got {self}; bind its symbols first")
        if abs(cast(int, self.cosize())) >= 2**62:
            raise LayoutError(f"expected offsets within int64, got a cosize of {self.cosize()}")
        if self.size() > LISTED:
            raise LayoutError(f"expected at most {LISTED} coordinates to list, got {self.size()}")
        out = np.zeros(1, dtype=np.int64)
        for n, d in self.modes():
            if n > 1:  # the stride of an extent of 1 moves nothing, and may be beyond int64
                out = (out[None, :] + (np.arange(n, dtype=np.int64) * d)[:, None]).reshape(-1)
        return out

    def subs(self, values: dict[Any, Any]) -> Layout:
        """The layout with symbols (or their names) replaced by integers or expressions."""

        def put(x: Any) -> Any:
            return map_entries(lambda v: substitute(v, values), x)

        out = Layout(map_leaves(put, self.shape), map_leaves(put, self.stride))
        return with_obligations(out, self.obligations.subs(values))

    # -- inspection -----------------------------------------------------------------------------------

    def size(self) -> Any:
        """The number of coordinates."""
        return product(self.shape)

    def cosize(self) -> Any:
        """The extent of the image, one more than its span; absolute strides, as in CuTe C++."""
        return cosize(self)

    def modes(self) -> list[tuple[Any, Any]]:
        """(extent, stride) of every leaf."""
        try:
            return list(self._modes)
        except AttributeError:
            modes = tuple(zip(leaves(self.shape), leaves(self.stride), strict=True))
            _set_modes(self, modes)
            return list(modes)

    @property
    def static(self) -> bool:
        """Whether every extent and stride is a number."""
        try:
            return self._static
        except AttributeError:
            known = all(
                type(n) is int and (type(d) is int or (is_basis(d) and not symbols_in(d))) for n, d in self.modes()
            )
            _set_static(self, known)
            return known

    @property
    def has_bases(self) -> bool:
        """Whether the values are coordinates."""
        return any(map(is_basis, leaves(self.stride)))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of shape and stride."""
        return tuple(sorted(symbols_in(tuple(leaves((self.shape, self.stride)))), key=lambda s: s.name))

    def __len__(self) -> int:
        return rank(self.shape)

    def __getitem__(self, i: Any) -> Layout:
        if isinstance(i, slice):
            return make_raw(as_modes(self.shape)[i], as_modes(self.stride)[i], self.obligations)
        if not isinstance(self.shape, tuple):
            if i not in (0, -1):
                raise IndexError(f"expected mode 0 of {self}, got {i}")
            return self
        return make_raw(self.shape[i], self.stride[i], self.obligations)

    def __iter__(self) -> Iterator[Layout]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return bool(self.shape == other.shape and self.stride == other.stride)

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __reduce__(self) -> Any:
        return make_raw, (self.shape, self.stride, self.obligations)

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self.shape!r}, {self.stride!r})"

    def _repr_svg_(self) -> str:
        return members.picture(self)

    # -- CuTe's member forms --------------------------------------------------------------------------

    def compose(self, *tilers: Any) -> Any:
        """composition(self, tiler), or by mode for several."""
        return members.composition(self, tilers[0] if len(tilers) == 1 else tilers)

    def with_shape(self, *shape: Any) -> Any:
        """The same function read through a compact shape."""
        return self.compose(Layout(shape[0] if len(shape) == 1 else shape))


_set_shape = Layout.__dict__["shape"].__set__
_set_stride = Layout.__dict__["stride"].__set__
_set_obligations = Layout.__dict__["obligations"].__set__
_set_modes = Layout.__dict__["_modes"].__set__
_set_static = Layout.__dict__["_static"].__set__
_set_by_mode = Layout.__dict__["_by_mode"].__set__


def _number_at(c: int, modes: tuple[tuple[int, Any], ...]) -> int | None:
    """The offset of coordinate c by numbers alone; None past the size, and for strides that are bases."""
    out = 0
    for n, d in modes:
        if type(d) is not int:
            return None
        c, k = divmod(c, n)
        out += k * d
    return None if c else out


@members.defines
def make_raw(shape: IntTuple, stride: IntTuple, obligations: Obligations = NONE) -> Layout:
    """A layout from parts that are known to fit; the operations of the algebra build with this."""
    out = object.__new__(Layout)
    _set_shape(out, shape)
    _set_stride(out, stride)
    _set_obligations(out, obligations)
    return out


def with_obligations(layout: LayoutLike, obligations: Obligations) -> Any:
    """The same layout with these obligations added to its own."""
    if not obligations:
        return layout
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, with_obligations(layout.inner, obligations))
    return make_raw(layout.shape, layout.stride, layout.obligations | obligations)


class ComposedLayout:
    """``c -> outer(offset + inner(c))``: a swizzled tile has a Swizzle outside.

    >>> tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
    >>> print(tile, tile(1, 0))
    Sw<3,3,3> o 0 o (8,64):(64,1) 72

    The offset stays inside, since a swizzle does not distribute over sums.
    """

    __slots__ = ("inner", "offset", "outer")

    def __init__(self, outer: Any, offset: Any, inner: Any) -> None:
        if not isinstance(outer, Swizzle | Layout | ComposedLayout):
            raise LayoutError(f"expected a Swizzle or a layout outside, got {outer!r}")
        if not isinstance(inner, Layout | ComposedLayout):
            raise LayoutError(f"expected a layout inside, got {inner!r}")
        offset = checked(as_tuple(offset), "offset")
        if isinstance(outer, Swizzle) and isinstance(offset, tuple):
            raise LayoutError(f"expected an integer as the offset inside {outer}, got {text(offset)}")
        put = object.__setattr__
        put(self, "outer", outer)
        put(self, "offset", offset)
        put(self, "inner", inner)

    outer: Any
    offset: Any
    inner: Any

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a ComposedLayout is a value; make a new one instead of setting {name}")

    def __call__(self, *coord: Any) -> Any:
        c = checked_coordinate(coord[0] if len(coord) == 1 else coord)
        if has_none(c):
            rest, offset = slice_layout(c, self.inner)
            return ComposedLayout(self.outer, add([self.offset, offset]), rest)
        return resolved(self.outer(as_tuple(add([self.offset, self.inner(c)]))))

    def offsets(self) -> np.ndarray[Any, Any]:
        """Every offset in linear order, as an array of int64.

        Raises LayoutError for symbolic sizes, coordinates as values, and any step of the evaluation beyond int64.
        """
        if not self.static or self.has_bases:
            raise LayoutError(f"expected a layout of plain integers, got {self}; bind its symbols first")
        found = members.rows(self)
        if found.dtype == object:
            raise LayoutError(f"expected offsets within int64 at every step, got larger ones in {self}")
        return found[:, 0]

    def subs(self, values: dict[Any, Any]) -> ComposedLayout:
        """The layout with symbols replaced."""
        outer = self.outer if isinstance(self.outer, Swizzle) else self.outer.subs(values)
        offset = map_leaves(lambda v: substitute(v, values), self.offset)
        return ComposedLayout(outer, offset, self.inner.subs(values))

    @property
    def shape(self) -> IntTuple:
        return self.inner.shape

    @property
    def stride(self) -> IntTuple:
        raise LayoutError(f"expected a plain layout for its stride, got {self}; take .inner.stride")

    @property
    def obligations(self) -> Obligations:
        return cast(Obligations, getattr(self.outer, "obligations", NONE) | self.inner.obligations)

    @property
    def static(self) -> bool:
        numbers = all(type(v) is int for v in leaves(self.offset))
        return numbers and self.inner.static and getattr(self.outer, "static", True)

    @property
    def has_bases(self) -> bool:
        """Whether the values are coordinates: those of the outer layout decide."""
        return bool(getattr(self.outer, "has_bases", False))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in((self.outer, self.offset, self.inner)), key=lambda s: s.name))

    def size(self) -> Any:
        return self.inner.size()

    def cosize(self) -> Any:
        """The cosize of the inner layout, as in CuTe C++."""
        return self.inner.cosize()

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, i: Any) -> ComposedLayout:
        return ComposedLayout(self.outer, self.offset, self.inner[i])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComposedLayout):
            return NotImplemented
        return bool((self.outer, self.offset, self.inner) == (other.outer, other.offset, other.inner))

    def __hash__(self) -> int:
        return hash((self.outer, self.offset, self.inner))

    def __reduce__(self) -> Any:
        return ComposedLayout, (self.outer, self.offset, self.inner)

    def __str__(self) -> str:
        offset = text(as_tuple(self.offset))
        return f"{self.outer} o {offset} o {self.inner}"

    def __repr__(self) -> str:
        return f"ComposedLayout({self.outer!r}, {self.offset!r}, {self.inner!r})"

    def _repr_svg_(self) -> str:
        return members.picture(self)

    def compose(self, *tilers: Any) -> Any:
        return members.composition(self, tilers[0] if len(tilers) == 1 else tilers)


def _check_extents(shape: IntTuple) -> None:
    for s in leaves(shape):
        if type(s) is int:
            if s < 1:
                raise LayoutError(f"expected extents of at least 1, got {s} in the shape {text(shape)}")
        elif not isinstance(s, Expr):
            raise LayoutError(f"expected integers in a shape, got {s}")


LayoutLike: TypeAlias = "Layout | ComposedLayout"


def is_layout(x: Any) -> bool:
    """Whether *x* is a Layout or a ComposedLayout."""
    return isinstance(x, Layout | ComposedLayout)


def expect_layouts(*operands: Any) -> None:
    """Raise LayoutError unless every operand is a layout."""
    for x in operands:
        if not isinstance(x, Layout | ComposedLayout):
            raise LayoutError(f"expected a layout, got {reprlib.repr(x)}")


@ends
def slice_layout(coord: IntTuple, layout: LayoutLike) -> tuple[Any, Any]:
    """(the modes where coord is None, the offset of the others): CuTe's slice_and_offset."""
    if isinstance(layout, ComposedLayout):
        rest, offset = slice_layout(coord, layout.inner)
        return ComposedLayout(layout.outer, add([layout.offset, offset]), rest), 0
    if coord is None:
        return layout, 0
    kept = make_raw(slice_(coord, layout.shape), slice_(coord, layout.stride), layout.obligations)
    return kept, resolved(offset_at(coord, layout.shape, layout.stride))


@ends
def cosize(layout: LayoutLike) -> Any:
    """The extent of the image: 1 + the sum of (extent - 1)*|stride|, by component for coordinates.

    >>> cosize(Layout((4, 8), (1, 16)))
    116
    """
    expect_layouts(layout)
    if isinstance(layout, ComposedLayout):
        return cosize(layout.inner)
    return product(coshape(layout))
