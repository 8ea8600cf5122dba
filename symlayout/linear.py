"""Layouts over F2: each bit of an index adds, by xor, one fixed column of bits.

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> tile = linear(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1))))
    >>> print(tile, tile.is_bijective())
    mode0: 72 144 288; mode1: 1 2 4 8 16 32 -> offset 512 True

The theorems are T13 to T15 of docs/theorems.md. Bit 0 of an index is the lowest, the first named input or
output lies in the lowest bits, and a value with several outputs is one packed integer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .basis import E, as_tuple, is_basis
from .errors import LayoutError
from .int_tuple import leaves, text, unflatten
from .layout import ComposedLayout, Layout, as_modes
from .swizzle import Swizzle

Fields: TypeAlias = tuple[tuple[str, int], ...]  # (name, number of bits), the lowest bits first


@dataclass(frozen=True, slots=True)
class LinearLayout:
    """``x -> offset xor (the xor of the columns at the set bits of x)``, with named inputs and outputs.

    >>> a = LinearLayout((1, 2, 16, 32), (("register", 2), ("lane", 2)), (("dim0", 4), ("dim1", 2)))
    >>> print(a, a(11), a.apply({"register": 3, "lane": 2}))
    register: (1,0) (2,0); lane: (0,1) (0,2) -> (dim0 16, dim1 4) 35 {'dim0': 3, 'dim1': 2}

    Triton's linear layouts are these with offset 0. Raises LayoutError unless there is a column for each
    bit of the inputs and every column fits into the outputs.
    """

    columns: tuple[int, ...]
    inputs: Fields = ()
    outputs: Fields = ()
    offset: int = 0

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "columns", tuple(map(int, self.columns)))
        every = (*self.columns, self.offset)
        put(self, "inputs", _fields(self.inputs or (("index", len(self.columns)),)))
        put(self, "outputs", _fields(self.outputs or (("offset", _width(every)),)))
        if sum(n for _, n in self.inputs) != len(self.columns):
            raise LayoutError(f"expected a column for each of {_named(self.inputs)}, got {len(self.columns)}")
        for c in every:
            if c.bit_length() > self.out_bits or (c < 0 and len(self.outputs) > 1):
                raise LayoutError(f"expected columns within {_named(self.outputs)}, got {c}")

    def __call__(self, *index: Any) -> Any:
        """The image of a packed index, or of one integer for each input; arrays of indices give an array."""
        x = index[0] if len(index) == 1 else _pack(index, self.inputs)
        array = isinstance(x, np.ndarray)
        low, high = (int(x.min(initial=0)), int(x.max(initial=0))) if array else (x, x)
        if low < 0 or high >> len(self.columns):
            limit = (1 << len(self.columns)) - 1
            raise LayoutError(f"expected an index of 0 .. {limit}, got {low if low < 0 else high}")
        if not array:
            return self.offset ^ _product(self.columns, x)
        out = np.full(x.shape, self.offset, dtype=np.int64)
        for i, c in enumerate(self.columns):
            out ^= (x.astype(np.int64) >> i & 1) * c
        return out

    def apply(self, coord: Mapping[str, int]) -> dict[str, int]:
        """Named coordinates to named coordinates, as Triton's ``apply``."""
        if set(coord) != {name for name, _ in self.inputs}:
            raise LayoutError(f"expected values of {_named(self.inputs)}, got {', '.join(coord)}")
        values = _unpack(self(_pack([coord[name] for name, _ in self.inputs], self.inputs)), self.outputs)
        return {name: v for (name, _), v in zip(self.outputs, values, strict=True)}

    # -- rank, kernel, inverses (T15) -----------------------------------------------------------------

    @property
    def out_bits(self) -> int:
        """The bits of all outputs together."""
        return sum(n for _, n in self.outputs)

    def rank(self) -> int:
        """The dimension of the image, which has 2^rank elements."""
        return f2_rank(self.columns)

    def is_injective(self) -> bool:
        """Whether no two indices have one image."""
        return f2_rank(self.columns) == len(self.columns)

    def is_surjective(self, onto_bits: int | None = None) -> bool:
        """Whether the image is [0, 2^onto_bits), no less and no more; all bits of the outputs by default."""
        m = self.out_bits if onto_bits is None else onto_bits
        return not any(c >> m for c in (*self.columns, self.offset)) and f2_rank(self.columns) == m

    def is_bijective(self, onto_bits: int | None = None) -> bool:
        """Whether each element of [0, 2^onto_bits) is the image of exactly one index."""
        m = self.out_bits if onto_bits is None else onto_bits
        return len(self.columns) == m and self.is_surjective(m)

    def kernel(self) -> tuple[int, ...]:
        """Independent indices whose columns cancel: for each of them, k, the images of x and x xor k agree.

        >>> LinearLayout((1, 2, 3)).kernel()
        (7,)
        """
        return _echelon(self.columns)[1]

    def left_inverse(self) -> tuple[int, ...]:
        """Rows T, masks of output bits, with T A = I: bit i of x is the parity of ``T[i] & A(x)``.

        >>> LinearLayout((72, 1, 2)).left_inverse()
        (8, 1, 2)

        This certifies that the map is injective. Raises LayoutError with a pair that collides if it is not.
        """
        pivots, kernel, width = _echelon(self.columns)
        if kernel:
            raise LayoutError(f"expected an injective map, but 0 and {kernel[0]} both go to {self.offset}")
        rows = [0] * len(self.columns)
        for pivot, word in _reduced(pivots).items():
            tag = word >> width
            while tag:
                rows[(tag & -tag).bit_length() - 1] |= pivot
                tag &= tag - 1
        return tuple(rows)

    def right_inverse(self) -> tuple[int, ...]:
        """For each output bit the index R[b] whose columns add up to that bit alone: A R = I.

        This certifies that the map is onto. Raises LayoutError if it is not.
        """
        if not self.is_surjective():
            raise LayoutError(f"expected a map onto {_named(self.outputs)}, got rank {self.rank()} of {self}")
        pivots, _, width = _echelon(self.columns)
        reduced = _reduced(pivots)
        return tuple(reduced[1 << b] >> width for b in range(self.out_bits))

    def inverse(self) -> LinearLayout:
        """The inverse of a bijective map, its inputs and outputs exchanged."""
        if len(self.columns) != self.out_bits:
            raise LayoutError(f"expected as many bits in as out, got {len(self.columns)} and {self.out_bits}")
        columns = self.right_inverse()
        return LinearLayout(columns, self.outputs, self.inputs, _product(columns, self.offset))

    def compose(self, other: LinearLayout) -> LinearLayout:
        """``x -> self(other(x))``, CuTe's order; Triton's ``a.compose(b)`` is ``b.compose(a)`` here."""
        sizes, wanted = [n for _, n in other.outputs], [n for _, n in self.inputs]
        fits = sum(sizes) == len(self.columns) or (len(wanted) == 1 and sum(sizes) < wanted[0])
        if not fits or min(other.columns, default=0) < 0:
            raise LayoutError(f"expected outputs that fit {_named(self.inputs)}, got {_named(other.outputs)}")
        columns = tuple(_product(self.columns, c) for c in other.columns)
        return LinearLayout(columns, other.inputs, self.outputs, self(other.offset))

    __matmul__ = compose

    # -- Triton and text ------------------------------------------------------------------------------

    def to_triton(self) -> dict[str, Any]:
        """Plain data for Triton's ``from_bases``: the image of each input bit, and the sizes of the outputs.

        >>> linear(Layout((2, 2), (E(1), E(0)))).to_triton()
        {'bases': {'mode0': [[0, 1]], 'mode1': [[1, 0]]}, 'out_dims': [('dim0', 2), ('dim1', 2)]}

        Raises LayoutError for an offset and for negative columns, which Triton's layouts do not have.
        """
        if self.offset or min(self.columns, default=0) < 0:
            raise LayoutError(f"expected offset 0 and columns of at least 0 for Triton, got {self}")
        bases = {name: [list(_unpack(c, self.outputs)) for c in part] for name, part in self._parts()}
        return {"bases": bases, "out_dims": [(name, 1 << n) for name, n in self.outputs]}

    @staticmethod
    def from_triton(bases: Any, out_dims: Any = None) -> LinearLayout:
        """A Triton linear layout, given as that object or as its bases and out_dims.

        *bases* is a mapping or a list of pairs (input, images of its bits); *out_dims* a mapping or a list of
        pairs (output, size), or names alone, whose sizes are then the least that hold the images.
        """
        if hasattr(bases, "bases"):
            bases, out_dims = bases.bases, bases.out_dims
        parts = {str(name): [tuple(map(int, c)) for c in part] for name, part in dict(bases).items()}
        images = [c for part in parts.values() for c in part]
        outputs = _triton_outputs(out_dims, images)
        inputs = tuple((name, len(part)) for name, part in parts.items())
        return LinearLayout(tuple(_pack(c, outputs) for c in images), inputs, outputs)

    def _parts(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        at = 0
        for name, n in self.inputs:
            yield name, self.columns[at : at + n]
            at += n

    def __str__(self) -> str:
        several = len(self.outputs) > 1
        parts = [" ".join([f"{name}:", *map(self._image, part)]) for name, part in self._parts()]
        sizes = ", ".join(f"{name} {1 << n}" for name, n in self.outputs)
        xor = f", xor {self._image(self.offset)}" if self.offset else ""
        return f"{'; '.join(parts)} -> {f'({sizes})' if several else sizes}{xor}"

    def _image(self, c: int) -> str:
        return text(_unpack(c, self.outputs)) if len(self.outputs) > 1 else str(c)


def _raw(columns: tuple[int, ...], inputs: Fields, outputs: Fields, offset: int) -> LinearLayout:
    """A value from parts that are known to fit."""
    out, put = object.__new__(LinearLayout), object.__setattr__
    put(out, "columns", columns)
    put(out, "inputs", inputs)
    put(out, "outputs", outputs)
    put(out, "offset", offset)
    return out


# -- named fields of bits -------------------------------------------------------------------------------


def _fields(fields: Iterable[tuple[str, int]]) -> Fields:
    out = tuple((str(name), int(n)) for name, n in fields)
    if len({name for name, _ in out}) != len(out) or any(n < 0 for _, n in out):
        raise LayoutError(f"expected different names, each with a number of bits, got {out}")
    return out


def _named(fields: Fields) -> str:
    return " and ".join(f"{n} bits of {name}" for name, n in fields)


def _width(values: Iterable[int]) -> int:
    return max(map(int.bit_length, values), default=0)


def _pack(coord: Sequence[Any], fields: Fields) -> Any:
    if len(coord) != len(fields):
        raise LayoutError(f"expected a value for each of {_named(fields)}, got {len(coord)}")
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
    if any(len(c) != len(dims) for c in images):
        raise LayoutError(f"expected images with an entry for each of {dims}, got {images[0]}")
    if all(isinstance(d, str) for d in dims):
        return tuple((d, _width(c[i] for c in images)) for i, d in enumerate(dims))
    for name, size in dims:
        if size < 1 or size & (size - 1):
            raise LayoutError(f"expected a power of two for the size of {name}, got {size}")
    return tuple((str(name), int(size).bit_length() - 1) for name, size in dims)


# -- elimination ----------------------------------------------------------------------------------------


def f2_rank(columns: Sequence[int]) -> int:
    """The rank over F2 of integers read as vectors of bits, negative ones in two's complement.

    >>> f2_rank((1, 2, 3))
    2
    """
    if columns and min(columns) > 0 and len(set(map(int.bit_length, columns))) == len(columns):
        return len(columns)  # all leading bits differ, as after every swizzle with shift > 0
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
    """(lowest bit -> vector, kernel, width); above bit *width* a vector says which columns were added up."""
    width = _width(columns) + 1  # one more: the sign of a negative column is a bit too
    mask, kernel = (1 << width) - 1, []
    pivots: dict[int, int] = {}
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
    every, out = sum(pivots), dict[int, int]()
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


def _disjoint(columns: Iterable[int]) -> bool:
    seen = 0
    for c in columns:
        if c & seen:
            return False
        seen |= c
    return True


# -- from layouts (T13, T14) ----------------------------------------------------------------------------


def linear(layout: Any, names: Sequence[str] | None = None) -> LinearLayout | None:
    """The F2 form of a Layout, of one under a Swizzle, or of a Swizzle; None where it is not linear.

    >>> print(linear(Layout((4, 2), (1, 8)), names=("lane", "register")))
    lane: 1 2; register: 8 -> offset 16
    >>> linear(Layout(4, 3)), why_not_linear(Layout(4, 3))
    (None, 'carry: f(1) = 3 and f(2) = 6, but f(3) = 9, not 5')

    An input for each top-level mode; one output, or one for each coordinate where strides are bases. Exact:
    all extents must be powers of two, and the columns ``(o + 2^t stride) xor o`` of all digit bits disjoint,
    o being the offset under the swizzle (T13; where o meets no stride, these are the strides).
    """
    out = _analysis(layout)
    if isinstance(out, str):
        return None
    if names is None:
        return out
    if len(names) != len(out.inputs):
        raise LayoutError(f"expected a name for each mode of {layout}, got {len(names)}")
    inputs = tuple((name, n) for name, (_, n) in zip(names, out.inputs, strict=True))
    return LinearLayout(out.columns, inputs, out.outputs, out.offset)


def why_not_linear(layout: Any) -> str:
    """What keeps a layout from being linear over F2; the empty string if nothing does."""
    out = _analysis(layout)
    return out if isinstance(out, str) else ""


_MODES = tuple(f"mode{i}" for i in range(64))


def _analysis(layout: Any) -> LinearLayout | str:
    if isinstance(layout, Layout):
        return _of_coordinates(layout) if layout.has_bases else _of_layout(layout, 0, None)
    if isinstance(layout, ComposedLayout):
        if isinstance(layout.outer, Swizzle) and isinstance(layout.inner, Layout):
            return _of_layout(layout.inner, layout.offset, layout.outer)
        return f"expected a swizzle outside a layout, got {layout}"
    if isinstance(layout, Swizzle):
        n = layout.period.bit_length() - 1
        return LinearLayout(tuple(layout(1 << i) for i in range(n)), (("offset", n),), (("offset", n),))
    raise LayoutError(f"expected a layout or a swizzle, got {layout!r}")


def _of_layout(layout: Layout, offset: Any, swizzle: Swizzle | None) -> LinearLayout | str:
    if type(offset) is not int:
        return f"the offset {offset} is no number"
    columns: list[int] = []
    inputs, seen = [], 0
    strides = as_modes(layout.stride)
    for i, s in enumerate(as_modes(layout.shape)):
        before = len(columns)
        for n, d in zip(leaves(s), leaves(strides[i]), strict=True):
            if type(n) is not int or type(d) is not int:
                return f"the mode {n}:{d} has no numbers for extent and stride"
            if n & (n - 1):
                return f"the extent of the mode {n}:{d} is no power of two"
            while n > 1:
                column = (offset + d) ^ offset if offset else d
                if column & seen:
                    return _carry(columns, column, offset)
                seen |= column
                columns.append(column)
                d += d
                n >>= 1
        inputs.append((_MODES[i] if i < 64 else f"mode{i}", len(columns) - before))
    if swizzle is not None and swizzle.bits:
        source, down, up = swizzle.source, max(swizzle.shift, 0), max(-swizzle.shift, 0)
        columns = [c ^ (c & source) >> down << up for c in columns]
        offset = swizzle(offset)
    return _raw(tuple(columns), tuple(inputs), (("offset", _width((*columns, offset))),), offset)


def _carry(columns: list[int], column: int, offset: int) -> str:
    """The two index bits whose sum is no xor, with the values there, under the swizzle."""
    i = next(i for i, c in enumerate(columns) if c & column)
    x, y = 1 << i, 1 << len(columns)
    at_x, at_y = columns[i] ^ offset, column ^ offset
    start = f"f(0) = {offset}, " if offset else ""
    values = f"f({x}) = {at_x} and f({y}) = {at_y}, but f({x + y}) = {at_x + at_y - offset}"
    return f"carry: {start}{values}, not {at_x ^ column}"


def _of_coordinates(layout: Layout) -> LinearLayout | str:
    """Components are packed side by side, wide enough for their reach; disjoint there is disjoint in each."""
    sizes, values = leaves(layout.shape), [as_tuple(d) for d in leaves(layout.stride)]
    count = max(len(v) for v in values if isinstance(v, tuple))
    rows = [v + (0,) * (count - len(v)) if isinstance(v, tuple) else (0,) * count for v in values]
    entries = [a for v in (*rows, sizes) for a in v]
    if any(type(a) is not int or a < 0 for a in entries):
        return f"expected numbers of at least 0 in flat coordinates, got {layout}"
    rows = [v if n > 1 else (0,) * count for n, v in zip(sizes, rows, strict=True)]
    reach = [sum((n - 1) * v[k] for n, v in zip(sizes, rows, strict=True)) for k in range(count)]
    outputs = tuple((f"dim{k}", r.bit_length()) for k, r in enumerate(reach))
    stride = unflatten(tuple(_pack(v, outputs) for v in rows), layout.shape)
    out = _of_layout(Layout(layout.shape, stride), 0, None)
    return out if isinstance(out, str) else LinearLayout(out.columns, out.inputs, outputs)


# -- and back -------------------------------------------------------------------------------------------


def to_layout(a: LinearLayout) -> Layout | ComposedLayout | None:
    """The CuTe layout, swizzled if need be, that is the same function; None if there is none.

    >>> print(to_layout(LinearLayout((1, 2, 4, 9, 18, 32), (("column", 3), ("row", 3)))))
    Sw<2,0,3> o 0 o (8,8):(1,8)

    A top-level mode for each input. Columns with disjoint bits are strides, negative on the bits of the
    constant (x xor c = x + c - 2*(x and c)); otherwise the simplest swizzle that makes them so is split off.
    """
    from .fit import swizzles

    if _disjoint(a.columns):
        return _layout_of(a, Swizzle(0, 0, 0))
    if len(a.outputs) == 1 and min((*a.columns, a.offset)) >= 0:
        for sw in swizzles(_width((*a.columns, a.offset))):
            if _disjoint(map(sw, a.columns)):
                return _layout_of(a, sw)
    return None


def _layout_of(a: LinearLayout, sw: Swizzle) -> Layout | ComposedLayout | None:
    offset = sw(a.offset)
    if offset and len(a.outputs) > 1:
        return None  # a layout of coordinates starts at zero
    modes = [_mode([_stride(sw(c), offset, a.outputs) for c in part]) for _, part in a._parts()]
    shape, stride = tuple(s for s, _ in modes), tuple(d for _, d in modes)
    layout = Layout(shape, stride) if len(modes) > 1 else Layout(*modes[0])
    return ComposedLayout(sw, offset, layout) if offset or sw.bits else layout


def _stride(column: int, offset: int, outputs: Fields) -> Any:
    if len(outputs) == 1:
        return column - 2 * (column & offset)
    out: Any = 0
    for i, v in enumerate(_unpack(column, outputs)):
        out = out if not v else v * E(i) + out
    return out


def _mode(strides: list[Any]) -> tuple[Any, Any]:
    """(shape, stride) of a bit for each stride, merged where one continues the one before."""
    shape: list[int] = []
    stride: list[Any] = []
    for d in strides:
        if shape and (is_basis(stride[-1]) == is_basis(d)) and shape[-1] * stride[-1] == d:
            shape[-1] *= 2
        else:
            shape, stride = [*shape, 2], [*stride, d]
    if len(shape) > 1:
        return tuple(shape), tuple(stride)
    return (shape[0], stride[0]) if shape else (1, 0)
