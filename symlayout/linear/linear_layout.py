"""The value of a linear layout: a column of bits for each bit of its named inputs, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ..errors import LayoutError
from ..int_tuple import text
from .f2 import bit_width, echelon, f2_rank, fully_reduced, product

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
        put(self, "outputs", _fields(self.outputs or (("offset", bit_width(every)),)))
        if sum(n for _, n in self.inputs) != len(self.columns):
            raise LayoutError(f"expected a column for each of {_named(self.inputs)}, got {len(self.columns)}")
        for c in every:
            if c.bit_length() > self.out_bits or (c < 0 and len(self.outputs) > 1):
                raise LayoutError(f"expected columns within {_named(self.outputs)}, got {c}")

    def __call__(self, *index: Any) -> Any:
        """The image of a packed index, or of one integer for each input; arrays of indices give an array."""
        x = index[0] if len(index) == 1 else pack(index, self.inputs)
        array = isinstance(x, np.ndarray)
        low, high = (int(x.min(initial=0)), int(x.max(initial=0))) if array else (x, x)
        if low < 0 or high >> len(self.columns):
            limit = (1 << len(self.columns)) - 1
            raise LayoutError(f"expected an index of 0 .. {limit}, got {low if low < 0 else high}")
        if not array:
            return self.offset ^ product(self.columns, x)
        out = np.full(x.shape, self.offset, dtype=np.int64)
        for i, c in enumerate(self.columns):
            out ^= (x.astype(np.int64) >> i & 1) * c
        return out

    def apply(self, coord: Mapping[str, int]) -> dict[str, int]:
        """Named coordinates to named coordinates, as Triton's ``apply``."""
        if set(coord) != {name for name, _ in self.inputs}:
            raise LayoutError(f"expected values of {_named(self.inputs)}, got {', '.join(coord)}")
        values = unpack(self(pack([coord[name] for name, _ in self.inputs], self.inputs)), self.outputs)
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
        return echelon(self.columns)[1]

    def left_inverse(self) -> tuple[int, ...]:
        """Rows T, masks of output bits, with T A = I: bit i of x is the parity of ``T[i] & A(x)``.

        >>> LinearLayout((72, 1, 2)).left_inverse()
        (8, 1, 2)

        This certifies that the map is injective. Raises LayoutError with a pair that collides if it is not.
        """
        pivots, kernel, width = echelon(self.columns)
        if kernel:
            raise LayoutError(f"expected an injective map, but 0 and {kernel[0]} both go to {self.offset}")
        rows = [0] * len(self.columns)
        for pivot, word in fully_reduced(pivots).items():
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
        pivots, _, width = echelon(self.columns)
        reduced = fully_reduced(pivots)
        return tuple(reduced[1 << b] >> width for b in range(self.out_bits))

    def inverse(self) -> LinearLayout:
        """The inverse of a bijective map, its inputs and outputs exchanged."""
        if len(self.columns) != self.out_bits:
            raise LayoutError(f"expected as many bits in as out, got {len(self.columns)} and {self.out_bits}")
        columns = self.right_inverse()
        return LinearLayout(columns, self.outputs, self.inputs, product(columns, self.offset))

    def compose(self, other: LinearLayout) -> LinearLayout:
        """``x -> self(other(x))``, CuTe's order; Triton's ``a.compose(b)`` is ``b.compose(a)`` here."""
        sizes, wanted = [n for _, n in other.outputs], [n for _, n in self.inputs]
        fits = sum(sizes) == len(self.columns) or (len(wanted) == 1 and sum(sizes) < wanted[0])
        if not fits or min(other.columns, default=0) < 0:
            raise LayoutError(f"expected outputs that fit {_named(self.inputs)}, got {_named(other.outputs)}")
        columns = tuple(product(self.columns, c) for c in other.columns)
        return LinearLayout(columns, other.inputs, self.outputs, self(other.offset))

    __matmul__ = compose

    # -- Triton and text ------------------------------------------------------------------------------

    def to_triton(self) -> dict[str, Any]:
        """Plain data for Triton's ``from_bases``: the image of each input bit, and the sizes of the outputs.

        >>> from symlayout.linear import linear
        >>> linear(Layout((2, 2), (E(1), E(0)))).to_triton()
        {'bases': {'mode0': [[0, 1]], 'mode1': [[1, 0]]}, 'out_dims': [('dim0', 2), ('dim1', 2)]}

        Raises LayoutError for an offset and for negative columns, which Triton's layouts do not have.
        """
        if self.offset or min(self.columns, default=0) < 0:
            raise LayoutError(f"expected offset 0 and columns of at least 0 for Triton, got {self}")
        bases = {name: [list(unpack(c, self.outputs)) for c in part] for name, part in self.parts()}
        return {"bases": bases, "out_dims": [(name, 1 << n) for name, n in self.outputs]}

    @staticmethod
    def from_triton(bases: Any, out_dims: Any = None) -> LinearLayout:
        """A Triton linear layout, given as that object or as its bases and out_dims.

        *bases* is a mapping or a list of pairs (input, images of its bits). *out_dims* is a mapping or a list of
        pairs (output, size), or names alone; the sizes are then the least that hold the images.
        """
        if hasattr(bases, "bases"):
            bases, out_dims = bases.bases, bases.out_dims
        parts = {str(name): [tuple(map(int, c)) for c in part] for name, part in dict(bases).items()}
        images = [c for part in parts.values() for c in part]
        outputs = _triton_outputs(out_dims, images)
        inputs = tuple((name, len(part)) for name, part in parts.items())
        return LinearLayout(tuple(pack(c, outputs) for c in images), inputs, outputs)

    def parts(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        at = 0
        for name, n in self.inputs:
            yield name, self.columns[at : at + n]
            at += n

    def __str__(self) -> str:
        several = len(self.outputs) > 1
        parts = [" ".join([f"{name}:", *map(self._image, part)]) for name, part in self.parts()]
        sizes = ", ".join(f"{name} {1 << n}" for name, n in self.outputs)
        xor = f", xor {self._image(self.offset)}" if self.offset else ""
        return f"{'; '.join(parts)} -> {f'({sizes})' if several else sizes}{xor}"

    def _image(self, c: int) -> str:
        return text(unpack(c, self.outputs)) if len(self.outputs) > 1 else str(c)


def raw_linear(columns: tuple[int, ...], inputs: Fields, outputs: Fields, offset: int) -> LinearLayout:
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


def pack(coord: Sequence[Any], fields: Fields) -> Any:
    """A value with several outputs as one integer, the first in the lowest bits."""
    if len(coord) != len(fields):
        raise LayoutError(f"expected a value for each of {_named(fields)}, got {len(coord)}")
    out, at = 0, 0
    for v, (name, n) in zip(coord, fields, strict=True):
        if not isinstance(v, np.ndarray) and (v < 0 or v >> n):
            raise LayoutError(f"expected {name} of 0 .. {(1 << n) - 1}, got {v}")
        out, at = out | v << at, at + n
    return out


def unpack(x: int, fields: Fields) -> tuple[int, ...]:
    """The outputs that a packed integer has."""
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
        return tuple((d, bit_width(c[i] for c in images)) for i, d in enumerate(dims))
    for name, size in dims:
        if size < 1 or size & (size - 1):
            raise LayoutError(f"expected a power of two for the size of {name}, got {size}")
    return tuple((str(name), int(size).bit_length() - 1) for name, size in dims)
