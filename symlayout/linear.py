"""Layouts over F2: each bit of an index adds, by xor, one fixed column of bits.

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> tile = linear(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))))
    >>> print(tile)
    mode0: 72 144 288; mode1: 1 2 4 8 16 32 -> offset 512
    >>> tile.is_bijective()
    True

The theorems are T13 to T15 of proof_methods.md. Bit 0 of an index is the lowest, the first named input or
output lies in the lowest bits, and a coordinate with several outputs is one packed integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from .basis import E, as_tuple
from .errors import LayoutError
from .expr import Expr
from .int_tuple import leaves, text
from .layout import ComposedLayout, Layout, as_modes
from .swizzle import Swizzle

Fields: TypeAlias = tuple[tuple[str, int], ...]  # (name, number of bits), the lowest bits first


class LinearLayout:
    """``x -> offset xor (the xor of the columns of the set bits of x)``, with named inputs and outputs.

    >>> a = LinearLayout((1, 2, 16, 32), (("register", 2), ("lane", 2)), (("dim0", 4), ("dim1", 2)))
    >>> print(a, a.apply({"register": 3, "lane": 2}))
    register: (1,0) (2,0); lane: (0,1) (0,2) -> (dim0 16, dim1 4) {'dim0': 3, 'dim1': 2}

    Triton's linear layouts are these with offset 0. Raises LayoutError if the bits of the inputs are not
    as many as the columns, or a column does not fit into the outputs.
    """

    __slots__ = ("columns", "inputs", "offset", "outputs")
    columns: tuple[int, ...]
    inputs: Fields
    outputs: Fields
    offset: int

    def __init__(
        self, columns: Iterable[int], inputs: Fields | None = None, outputs: Fields | None = None, offset: int = 0
    ) -> None:
        columns = tuple(columns)
        inputs = (("index", len(columns)),) if inputs is None else _fields(inputs)
        outputs = (("offset", _width((*columns, offset))),) if outputs is None else _fields(outputs)
        if sum(n for _, n in inputs) != len(columns):
            raise LayoutError(f"expected a column for each bit of {_named(inputs)}, got {len(columns)}")
        room = sum(n for _, n in outputs)
        for c in (*columns, offset):
            if c.bit_length() > room or c < 0 and len(outputs) > 1:
                raise LayoutError(f"expected columns that fit into {_named(outputs)}, got {c}")
        _put(self, columns, inputs, outputs, offset)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a LinearLayout is a value; make a new one instead of setting {name}")

    # -- as a function --------------------------------------------------------------------------------

    def __call__(self, *index: Any) -> Any:
        """The image of one packed index, or of one integer for each input; an array of indices gives an array."""
        if len(index) > 1:
            return self(_pack(index, self.inputs))
        x = index[0]
        if isinstance(x, np.ndarray):
            return self._of_array(x)
        if x < 0 or x >> len(self.columns):
            raise LayoutError(f"expected an index of {_named(self.inputs)}, below {1 << len(self.columns)}, got {x}")
        return self.offset ^ _product(self.columns, x)

    def _of_array(self, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        if x.size and (x.min() < 0 or int(x.max()) >> len(self.columns)):
            raise LayoutError(f"expected indices of 0 .. {(1 << len(self.columns)) - 1}, got {x.min()} .. {x.max()}")
        x = x.astype(np.int64)
        out = np.full(x.shape, self.offset, dtype=np.int64)
        for i, c in enumerate(self.columns):
            out ^= (x >> i & 1) * c
        return out

    def apply(self, coord: Mapping[str, int]) -> dict[str, int]:
        """Named coordinates to named coordinates, as Triton's ``apply``."""
        if set(coord) != {name for name, _ in self.inputs}:
            raise LayoutError(f"expected {', '.join(n for n, _ in self.inputs)}, got {', '.join(coord)}")
        values = _unpack(self(_pack([coord[name] for name, _ in self.inputs], self.inputs)), self.outputs)
        return {name: v for (name, _), v in zip(self.outputs, values, strict=True)}

    # -- rank, kernel, inverses (T15) -----------------------------------------------------------------

    @property
    def out_bits(self) -> int:
        """The bits of all outputs together."""
        return sum(n for _, n in self.outputs)

    def rank(self) -> int:
        """The dimension of the image; the image has 2^rank elements."""
        return f2_rank(self.columns)

    def is_injective(self) -> bool:
        """Whether no two indices have one image."""
        return f2_rank(self.columns) == len(self.columns)

    def is_surjective(self, onto_bits: int | None = None) -> bool:
        """Whether the image is all of [0, 2^onto_bits), and nothing beyond; all outputs by default."""
        m = self.out_bits if onto_bits is None else onto_bits
        inside = all(0 <= c and not c >> m for c in (*self.columns, self.offset))
        return inside and f2_rank(self.columns) == m

    def is_bijective(self, onto_bits: int | None = None) -> bool:
        """Whether each element of [0, 2^onto_bits) is the image of exactly one index."""
        m = self.out_bits if onto_bits is None else onto_bits
        return len(self.columns) == m and self.is_surjective(m)

    def kernel(self) -> tuple[int, ...]:
        """Independent indices whose columns cancel: the images of x and x xor k agree for each k of these.

        >>> LinearLayout((1, 2, 3)).kernel()
        (7,)
        """
        return _echelon(self.columns)[1]

    def left_inverse(self) -> tuple[int, ...]:
        """Rows T, as masks of output bits, with T A = I: bit i of x is the parity of ``T[i] & A(x)``.

        >>> LinearLayout((72, 1, 2)).left_inverse()
        (8, 1, 2)

        The certificate that the map is injective. Raises LayoutError with a pair that collides otherwise.
        """
        pivots, kernel, width = _echelon(self.columns)
        if kernel:
            raise LayoutError(f"expected an injective map, got one that takes 0 and {kernel[0]} to {self.offset}")
        rows = [0] * len(self.columns)
        for pivot, word in _reduced(pivots).items():
            tag = word >> width
            while tag:
                rows[(tag & -tag).bit_length() - 1] |= pivot
                tag &= tag - 1
        return tuple(rows)

    def right_inverse(self) -> tuple[int, ...]:
        """For each output bit an index R[b] whose columns add up to that bit alone: A R = I.

        The certificate that the map is onto; raises LayoutError otherwise.
        """
        pivots, _, width = _echelon(self.columns)
        missing = [b for b in range(self.out_bits) if 1 << b not in pivots]
        if missing or not self.is_surjective():
            at = f"bit {missing[0]} is out of reach" if missing else f"it reaches beyond {_named(self.outputs)}"
            raise LayoutError(f"expected a map onto {_named(self.outputs)}, got rank {self.rank()}: {at}")
        whole = _reduced(pivots)
        return tuple(whole[1 << b] >> width for b in range(self.out_bits))

    def inverse(self) -> LinearLayout:
        """The inverse of a bijective map, its inputs and outputs exchanged."""
        if len(self.columns) != self.out_bits:
            raise LayoutError(f"expected as many bits in as out, got {len(self.columns)} and {self.out_bits}")
        columns = self.right_inverse()
        return _make(columns, self.outputs, self.inputs, _product(columns, self.offset))

    def compose(self, other: LinearLayout) -> LinearLayout:
        """``x -> self(other(x))``, CuTe's order; Triton's ``a.compose(b)`` is ``b.compose(a)`` here."""
        sizes, wanted = [n for _, n in other.outputs], [n for _, n in self.inputs]
        fits = sizes == wanted or sum(sizes) == len(self.columns) or len(wanted) == 1 and sum(sizes) < wanted[0]
        if not fits or min(other.columns, default=0) < 0:
            raise LayoutError(f"expected outputs that fit {_named(self.inputs)}, got {_named(other.outputs)}")
        columns = tuple(_product(self.columns, c) for c in other.columns)
        return _make(columns, other.inputs, self.outputs, self.offset ^ _product(self.columns, other.offset))

    __matmul__ = compose

    # -- Triton ---------------------------------------------------------------------------------------

    def to_triton(self) -> dict[str, Any]:
        """Plain data for ``LinearLayout.from_bases``: the image of each input bit, and the sizes of the outputs.

        >>> linear(Layout((2, 2), (E(1), E(0)))).to_triton()
        {'bases': {'mode0': [[0, 1]], 'mode1': [[1, 0]]}, 'out_dims': [('dim0', 2), ('dim1', 2)]}

        Raises LayoutError for an offset, which Triton's layouts do not have, and for negative columns.
        """
        if self.offset or min(self.columns, default=0) < 0:
            raise LayoutError(f"expected a linear map of naturals for Triton, got {self}")
        images = {name: [list(_unpack(c, self.outputs)) for c in part] for name, part in self._parts()}
        return {"bases": images, "out_dims": [(name, 1 << n) for name, n in self.outputs]}

    @staticmethod
    def from_triton(bases: Any, out_dims: Any = None) -> LinearLayout:
        """The value of a Triton linear layout: the object itself, or its bases and out_dims.

        *bases* is a dictionary or a list of pairs (input, images of its bits); *out_dims* a dictionary or a
        list of pairs (output, size), or names alone, whose sizes are then the least that hold the images.
        """
        if hasattr(bases, "bases"):
            bases, out_dims = bases.bases, bases.out_dims
        pairs = [(str(name), [tuple(map(int, c)) for c in images]) for name, images in dict(bases).items()]
        images = [c for _, part in pairs for c in part]
        outputs = _triton_outputs(out_dims, images)
        for c in images:
            if len(c) != len(outputs) or any(v < 0 or v >> n for v, (_, n) in zip(c, outputs, strict=True)):
                raise LayoutError(f"expected images within {_named(outputs)}, got {text(c)}")
        inputs = tuple((name, len(part)) for name, part in pairs)
        return LinearLayout((_pack(c, outputs) for c in images), inputs, outputs)

    # -- as a value -----------------------------------------------------------------------------------

    def _parts(self) -> Iterable[tuple[str, tuple[int, ...]]]:
        at = 0
        for name, n in self.inputs:
            yield name, self.columns[at : at + n]
            at += n

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearLayout):
            return NotImplemented
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __reduce__(self) -> Any:
        return _make, _values(self)

    def __str__(self) -> str:
        def image(c: int) -> str:
            return str(c) if len(self.outputs) == 1 else text(_unpack(c, self.outputs))

        parts = [" ".join([f"{name}:", *map(image, part)]) for name, part in self._parts()]
        sizes = ", ".join(f"{name} {1 << n}" for name, n in self.outputs)
        xor = f", xor {image(self.offset)}" if self.offset else ""
        return f"{'; '.join(parts)} -> {sizes if len(self.outputs) == 1 else f'({sizes})'}{xor}"

    def __repr__(self) -> str:
        return f"LinearLayout({self.columns!r}, {self.inputs!r}, {self.outputs!r}, {self.offset!r})"


_set_columns = LinearLayout.__dict__["columns"].__set__
_set_inputs = LinearLayout.__dict__["inputs"].__set__
_set_outputs = LinearLayout.__dict__["outputs"].__set__
_set_offset = LinearLayout.__dict__["offset"].__set__


def _put(out: LinearLayout, columns: tuple[int, ...], inputs: Fields, outputs: Fields, offset: int) -> None:
    _set_columns(out, columns)
    _set_inputs(out, inputs)
    _set_outputs(out, outputs)
    _set_offset(out, offset)


def _make(columns: tuple[int, ...], inputs: Fields, outputs: Fields, offset: int = 0) -> LinearLayout:
    out = object.__new__(LinearLayout)
    _put(out, columns, inputs, outputs, offset)
    return out


def _values(a: LinearLayout) -> tuple[tuple[int, ...], Fields, Fields, int]:
    return a.columns, a.inputs, a.outputs, a.offset


# -- named fields of bits -------------------------------------------------------------------------------


def _fields(fields: Any) -> Fields:
    out = tuple((str(name), int(n)) for name, n in fields)
    if len({name for name, _ in out}) != len(out) or any(n < 0 for _, n in out):
        raise LayoutError(f"expected different names with numbers of bits, got {out}")
    return out


def _named(fields: Fields) -> str:
    return ", ".join(f"{n} bits of {name}" for name, n in fields) or "no bits"


def _width(values: Iterable[int]) -> int:
    return max(map(int.bit_length, values), default=0)


def _pack(coord: Sequence[Any], fields: Fields) -> Any:
    if len(coord) != len(fields):
        raise LayoutError(f"expected one integer for each of {_named(fields)}, got {len(coord)}")
    out, at = 0, 0
    for v, (name, n) in zip(coord, fields, strict=True):
        if not isinstance(v, np.ndarray) and (v < 0 or v >> n):
            raise LayoutError(f"expected {name} of 0 .. {(1 << n) - 1}, got {v}")
        out, at = out | v << at, at + n
    return out


def _unpack(x: int, fields: Fields) -> tuple[int, ...]:
    out = []
    for _, n in fields:
        out.append(x & (1 << n) - 1)
        x >>= n
    return tuple(out)


def _triton_outputs(out_dims: Any, images: list[tuple[int, ...]]) -> Fields:
    dims = list(out_dims.items() if isinstance(out_dims, Mapping) else out_dims or ())
    if out_dims is None:
        dims = [f"dim{i}" for i in range(len(images[0]) if images else 0)]
    if all(isinstance(d, str) for d in dims):
        if any(len(c) != len(dims) for c in images):
            raise LayoutError(f"expected images with {len(dims)} entries, got {images}")
        return tuple((str(d), _width(c[i] for c in images)) for i, d in enumerate(dims))
    for name, size in dims:
        if size < 1 or size & (size - 1):
            raise LayoutError(f"expected a power of two for the size of {name}, got {size}")
    return tuple((str(name), int(size).bit_length() - 1) for name, size in dims)


# -- elimination ----------------------------------------------------------------------------------------


def f2_rank(columns: Sequence[int]) -> int:
    """The rank over F2 of integers read as vectors of bits; negative ones in two's complement.

    >>> f2_rank((1, 2, 3))
    2
    """
    if columns and min(columns) > 0 and len(set(map(int.bit_length, columns))) == len(columns):
        return len(columns)  # different leading bits: in echelon form already, as a swizzle with shift > 0 leaves it
    pivots: dict[int, int] = {}
    for v in columns:
        while v:
            low = v & -v
            other = pivots.get(low)
            if other is None:
                pivots[low] = v
                break
            v ^= other
    return len(pivots)


def _echelon(columns: Sequence[int]) -> tuple[dict[int, int], tuple[int, ...], int]:
    """(lowest bit -> vector with its tag above bit *width*, kernel, width); the tag says which columns were added."""
    width = _width(columns) + 1  # one more, so that the sign of a negative column counts as a bit
    mask, pivots, kernel = (1 << width) - 1, {}, []
    for j, c in enumerate(columns):
        word = c & mask | 1 << width + j
        low = word & -word
        while low in pivots:
            word ^= pivots[low]
            low = word & -word
        if low > mask:
            kernel.append(word >> width)
        else:
            pivots[low] = word
    return pivots, tuple(kernel), width


def _reduced(pivots: dict[int, int]) -> dict[int, int]:
    """The same span with each pivot bit in one vector only."""
    every = sum(pivots)
    out: dict[int, int] = {}
    for pivot in sorted(pivots, reverse=True):
        word = pivots[pivot]
        others = word & every ^ pivot
        while others:
            low = others & -others
            word ^= out[low]
            others ^= low
        out[pivot] = word
    return out


def _product(columns: Sequence[int], x: int) -> int:
    out = 0
    for c in columns:
        if x & 1:
            out ^= c
        x >>= 1
    return out


# -- from layouts and back (T13, T14) -------------------------------------------------------------------


def linear(layout: Any, names: Sequence[str] | None = None) -> LinearLayout | None:
    """The F2 form of a Layout, a swizzled one or a Swizzle; None where it is not linear.

    >>> print(linear(Layout((4, 2), (1, 8)), names=("lane", "register")))
    lane: 1 2; register: 8 -> offset 16
    >>> print(linear(Layout((4, 2), (3, 8))), why_not_linear(Layout((4, 2), (3, 8))))
    None carry: f(1) = 3 and f(2) = 6, but f(3) = 9, not 5

    An input for each top-level mode, its lowest bit first; one output ``offset``, or ``dim0``, ``dim1``, ...
    for basis strides. Exact (T13): extents are powers of two, and the columns ``(o + 2^t d) xor o`` of all
    digit bits are disjoint, o being the offset. For o = 0, or o disjoint from them, these are the strides.
    """
    out = _analysis(layout)
    if isinstance(out, str):
        return None
    if names is None:
        return out
    if len(names) != len(out.inputs):
        raise LayoutError(f"expected {len(out.inputs)} names, one for each mode of {layout}, got {len(names)}")
    return _make(out.columns, _fields(zip(names, (n for _, n in out.inputs), strict=True)), out.outputs, out.offset)


def why_not_linear(layout: Any) -> str:
    """What keeps a layout from being linear over F2; the empty string if nothing does."""
    out = _analysis(layout)
    return out if isinstance(out, str) else ""


_MODES = tuple(f"mode{i}" for i in range(64))


def _analysis(layout: Any) -> LinearLayout | str:
    if isinstance(layout, Layout):
        return _of_coordinates(layout) if layout.has_bases else _of_layout(layout, 0, None)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout) and not layout.inner.has_bases:
            return _of_layout(layout.inner, layout.offset, layout.outer)
        return _of_nested(layout)
    if isinstance(layout, Swizzle):
        n = layout.period.bit_length() - 1
        return _make(tuple(layout(1 << i) for i in range(n)), (("offset", n),), (("offset", n),))
    return layout if isinstance(layout, LinearLayout) else f"expected a layout or a swizzle, got {layout!r}"


def _of_layout(layout: Layout, offset: Any, swizzle: Swizzle | None) -> LinearLayout | str:
    if type(offset) is not int:
        return f"symbolic: the offset {offset}"
    columns: list[int] = []
    inputs, seen = [], 0
    shape, stride = as_modes(layout.shape), as_modes(layout.stride)
    for i, s in enumerate(shape):
        before = len(columns)
        for n, d in zip(leaves(s), leaves(stride[i]), strict=True):
            if type(n) is not int or type(d) is not int:
                return f"symbolic: the mode {n}:{d}"
            if n & (n - 1):
                return f"the extent {n} of the mode {n}:{d} is no power of two"
            while n > 1:
                column = (offset + d) ^ offset if offset else d
                if column & seen:
                    return _carry(columns, column, offset)
                seen |= column
                columns.append(column)
                d += d
                n >>= 1
        inputs.append((_MODES[i], len(columns) - before))
    if swizzle is not None and swizzle.bits:
        columns = [swizzle(c) for c in columns]
        offset = swizzle(offset)
    return _make(tuple(columns), tuple(inputs), (("offset", _width((*columns, offset))),), offset)


def _carry(columns: list[int], column: int, offset: int) -> str:
    """The two lowest bits of the index whose sum is no xor, with the values there."""
    i = next(i for i, c in enumerate(columns) if c & column)
    x, y = 1 << i, 1 << len(columns)
    at_x, at_y = columns[i] ^ offset, column ^ offset
    both, wanted = at_x + at_y - offset, at_x ^ column
    start = f"f(0) = {offset}, " if offset else ""
    return f"carry: {start}f({x}) = {at_x} and f({y}) = {at_y}, but f({x + y}) = {both}, not {wanted}"


def _of_nested(layout: ComposedLayout) -> LinearLayout | str:
    """Two linear maps with a constant between them that meets no bit of the inner one: sufficient."""
    outer, inner = _analysis(layout.outer), _analysis(layout.inner)
    if isinstance(inner, str) or isinstance(outer, str):
        return inner if isinstance(inner, str) else cast(str, outer)
    reach = inner.offset
    for c in inner.columns:
        reach |= c
    if type(layout.offset) is not int or layout.offset & reach or reach < 0 or len(inner.outputs) > 1:
        return f"the offset {layout.offset} meets bits of {layout.inner}"
    base = inner.offset | layout.offset
    if isinstance(layout.outer, Swizzle):
        columns, base = tuple(map(layout.outer, inner.columns)), layout.outer(base)
        return _make(columns, inner.inputs, (("offset", _width((*columns, base))),), base)
    if (base | reach) >> len(outer.columns):
        return f"{layout.inner} reaches past the domain of {layout.outer}"
    n = len(outer.columns)
    return outer.compose(_make(inner.columns, inner.inputs, (("offset", n),), base))


def _of_coordinates(layout: Layout) -> LinearLayout | str:
    """Each component of the values is a layout of its own; the packed map is linear iff each one is."""
    values = [as_tuple(d) for d in leaves(layout.stride)]
    paths = sorted({p for v in values for p, _ in _entries(v)})
    sizes = leaves(layout.shape)
    if any(isinstance(a, Expr) for v in values for _, a in _entries(v)) or any(isinstance(n, Expr) for n in sizes):
        return f"symbolic: {layout}"
    modes = [dict(_entries(v)) for v in values]
    if any(a < 0 for m in modes for a in m.values()):
        return f"a negative stride among {text(layout.stride)}"
    room = [sum((n - 1) * m.get(p, 0) for n, m in zip(sizes, modes, strict=True)).bit_length() for p in paths]
    outputs = tuple(("dim" + ".".join(map(str, p)), n) for p, n in zip(paths, room, strict=True))
    packed = [_pack([m.get(p, 0) if n > 1 else 0 for p in paths], outputs) for n, m in zip(sizes, modes, strict=True)]
    rest = iter(packed)
    flat = Layout(layout.shape, _like(layout.shape, rest))
    out = _of_layout(flat, 0, None)
    return out if isinstance(out, str) else _make(out.columns, out.inputs, outputs)


def _like(shape: Any, rest: Any) -> Any:
    return tuple(_like(s, rest) for s in shape) if isinstance(shape, tuple) else next(rest)


def _entries(v: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    if isinstance(v, tuple):
        return [e for i, a in enumerate(v) for e in _entries(a, (*path, i))]
    return [(path, v)] if path else []


def to_layout(a: LinearLayout) -> Layout | ComposedLayout | None:
    """The CuTe layout, swizzled if need be, that is the same function; None if there is none.

    >>> print(to_layout(LinearLayout((72, 144, 288, 1, 2, 4), (("row", 3), ("column", 3)))))
    Sw<3,3,3> o 0 o (8,8):(64,1)

    A top-level mode for each input. Columns with disjoint bits are strides, those of the constant counted
    negative (x xor c = x + c - 2*(x and c)); otherwise the simplest swizzle that makes them disjoint is taken off.
    """
    from .fit import swizzles

    if _disjoint(a.columns):
        return _layout_of(a, a.columns, a.offset, Swizzle(0, 0, 0))
    if len(a.outputs) == 1 and min(*a.columns, a.offset) >= 0:
        for sw in swizzles(_width((*a.columns, a.offset))):
            columns = tuple(map(sw, a.columns))
            if _disjoint(columns):
                return _layout_of(a, columns, sw(a.offset), sw)
    return None


def _disjoint(columns: Iterable[int]) -> bool:
    seen = 0
    for c in columns:
        if c & seen:
            return False
        seen |= c
    return True


def _layout_of(a: LinearLayout, columns: tuple[int, ...], offset: int, sw: Swizzle) -> Layout | ComposedLayout | None:
    if offset and len(a.outputs) > 1:
        return None  # a layout of coordinates starts at zero
    modes, at = [], 0
    for _, n in a.inputs:
        modes.append(_runs([_stride(c, offset, a.outputs) for c in columns[at : at + n]]))
        at += n
    shape, stride = tuple(s for s, _ in modes), tuple(d for _, d in modes)
    layout = Layout(shape, stride) if len(modes) > 1 else Layout(*modes[0]) if modes else Layout(1, 0)
    return ComposedLayout(sw, offset, layout) if offset or sw.bits else layout


def _stride(column: int, offset: int, outputs: Fields) -> Any:
    if len(outputs) == 1:
        return column - 2 * (column & offset)
    out: Any = 0
    for i, v in enumerate(_unpack(column, outputs)):
        out = out + v * E(i) if v else out
    return out


def _runs(strides: list[Any]) -> tuple[Any, Any]:
    """One mode of extent 2 for each bit, with those that continue the one before merged into it."""
    shape: list[int] = []
    stride: list[Any] = []
    for d in strides:
        if shape and shape[-1] * stride[-1] == d:
            shape[-1] *= 2
        else:
            shape, stride = [*shape, 2], [*stride, d]
    if len(shape) > 1:
        return tuple(shape), tuple(stride)
    return (shape[0], stride[0]) if shape else (1, 0)
