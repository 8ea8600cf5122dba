"""Strides that are coordinates: ``E(0)``, ``5@1@0``, sums of them, and the iterators of coordinate tensors.

    >>> print(3 * E(0) + 4 * E(1), 5 * E(0, 1))
    (3,4) 5@1@0

``v@a@b`` reads outwards: entry a inside entry b; the last number is the top-level index
(CuTe, ``numeric/arithmetic_tuple.hpp``).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from .errors import ExpressionError, LayoutError
from .expr import Expr, integer
from .facts import Facts
from .int_tuple import IntTuple, checked, get, is_zero, text
from .meter import ends


class ScaledBasis:
    """``value`` times the basis element at ``path``; printed value first, then the path from the inside out.

    A stride may be a fraction, 1/4@0 where dimension 0 counts units of four elements: whole multiples of it are
    coordinates, others are refused.
    """

    __slots__ = ("path", "value")
    value: Any
    path: tuple[int, ...]

    def __init__(self, value: Any, path: int | tuple[int, ...]) -> None:
        path = path if isinstance(path, tuple) else (path,)
        self.value = value if type(value) is int else _scale(value)
        self.path = path if all(type(i) is int for i in path) else tuple(map(operator.index, path))

    def __rmul__(self, k: Any) -> Any:
        return ScaledBasis(k * self.value if type(self.value) is not Fraction else _part(k, self), self.path)

    __mul__ = __rmul__

    def __neg__(self) -> ScaledBasis:
        return ScaledBasis(-self.value, self.path)

    def __add__(self, other: Any) -> Any:
        return self if is_zero(other) else as_arithmetic(self) + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __abs__(self) -> ScaledBasis:
        return ScaledBasis(abs(self.value), self.path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScaledBasis) and (self.path, self.value) == (other.path, other.value)

    def __hash__(self) -> int:
        return hash((self.path, self.value))

    @property
    def symbols(self) -> tuple[Any, ...]:
        return getattr(self.value, "symbols", ())

    def __str__(self) -> str:
        value = f"({self.value})" if isinstance(self.value, Expr) and len(self.value.terms) > 1 else str(self.value)
        return "@".join([value, *map(str, reversed(self.path))])

    def __repr__(self) -> str:
        unit = f"E({', '.join(map(str, self.path))})"
        return unit if self.value == 1 else f"{self.value!r} * {unit}"


def E(*path: int) -> Any:
    """The basis element at a path: ``E(0)`` is 1@0, ``E(1, 0)`` entry 0 inside entry 1, ``E()`` the integer 1."""
    known: tuple[Any, ...] = tuple(map(integer, path))
    if not all(type(i) is int and i >= 0 for i in known):
        raise ExpressionError(f"expected mode indices of at least 0, got {path}")
    return ScaledBasis(1, known) if known else 1


class ArithmeticTuple:
    """A coordinate that adds componentwise, the shorter operand padded with zeros.

    >>> ArithmeticTuple(1, 2) + ArithmeticTuple(3, 4, 5)
    ArithmeticTuple(4, 6, 5)

    It compares equal to the plain tuple of the same entries.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: Any) -> None:
        self.parts = tuple(p if type(p) is int else as_arithmetic(p) for p in parts)

    def __add__(self, other: Any) -> Any:
        if is_zero(other):
            return self
        other = as_arithmetic(other)
        if not isinstance(other, ArithmeticTuple):
            raise LayoutError(f"expected a coordinate to add to {self}, got the integer {other}")
        n = max(len(self.parts), len(other.parts))
        a = self.parts + (0,) * (n - len(self.parts))
        b = other.parts + (0,) * (n - len(other.parts))
        return ArithmeticTuple(*map(_plus, a, b))

    __radd__ = __add__

    def __neg__(self) -> ArithmeticTuple:
        return ArithmeticTuple(*(-p for p in self.parts))

    def __sub__(self, other: Any) -> Any:
        return self + -as_arithmetic(other)

    def __rmul__(self, k: Any) -> ArithmeticTuple:
        return ArithmeticTuple(*(k * p for p in self.parts))

    __mul__ = __rmul__

    def __getitem__(self, i: int) -> Any:
        return self.parts[i]

    def __iter__(self) -> Any:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ArithmeticTuple):
            return self.parts == other.parts
        return self.parts == other if isinstance(other, tuple) else False

    def __hash__(self) -> int:
        return hash(self.parts)

    @property
    def symbols(self) -> tuple[Any, ...]:
        return tuple({s for p in self.parts for s in getattr(p, "symbols", ())})

    def __str__(self) -> str:
        return text(as_tuple(self))

    def __repr__(self) -> str:
        return f"ArithmeticTuple({', '.join(map(repr, self.parts))})"


def _scale(x: Any) -> Any:
    """An integer or expression, or a fraction that is none."""
    if isinstance(x, Fraction):
        return x if x.denominator > 1 else x.numerator
    return integer(x)


def _part(k: Any, basis: ScaledBasis) -> Any:
    """*k* times the fraction that scales a basis element; an expression must be a multiple of its denominator."""
    if not isinstance(k, Expr):
        return k * basis.value
    whole = Facts.about(k).quotient(k * basis.value.numerator, basis.value.denominator)
    if whole is None:
        raise LayoutError(f"expected a multiple of {basis.value.denominator} along {basis}, got {k}")
    return whole


def _plus(a: Any, b: Any) -> Any:
    if is_zero(a):
        return b
    if is_zero(b):
        return a
    if isinstance(a, ArithmeticTuple) != isinstance(b, ArithmeticTuple):
        raise LayoutError(f"expected coordinates of one profile, got {a} and {b}")
    return a + b


def as_arithmetic(x: Any) -> Any:
    """*x* as something that adds: a basis or tuple becomes an ArithmeticTuple, an integer stays."""
    if isinstance(x, ScaledBasis):
        out = x.value
        if type(out) is Fraction:
            raise LayoutError(f"expected a whole coordinate, a multiple of {out.denominator} elements, got {x}")
        for i in reversed(x.path):
            out = ArithmeticTuple(*(0,) * i, out)
        return out
    if isinstance(x, tuple):
        return ArithmeticTuple(*x)
    return x if isinstance(x, ArithmeticTuple) else integer(x)


@ends
def as_tuple(x: Any) -> IntTuple:
    """A plain tuple (or integer) from a basis element or an ArithmeticTuple: 3@1 is (0, 3)."""
    x = as_arithmetic(x)
    return tuple(map(as_tuple, x.parts)) if isinstance(x, ArithmeticTuple) else x


def map_entries(f: Callable[[Any], Any], x: Any) -> Any:
    """*f* of an integer, of the scale of a basis element, or of each entry of an ArithmeticTuple."""
    if isinstance(x, ScaledBasis):
        return ScaledBasis(f(x.value), x.path)
    return ArithmeticTuple(*(map_entries(f, p) for p in x.parts)) if isinstance(x, ArithmeticTuple) else f(x)


@ends
def in_words(x: Any) -> str:
    """A coordinate as a sum of basis elements: (i, j) is ``i@0 + j@1``."""

    def walk(v: Any, path: tuple[int, ...]) -> list[str]:
        if isinstance(v, tuple):
            return [s for i, a in enumerate(v) for s in walk(a, (*path, i))]
        return [] if is_zero(v) else [str(ScaledBasis(v, path))] if path else [str(v)]

    return " + ".join(walk(as_tuple(x), ())) or "0"


@ends
def basis_get(basis: Any, x: IntTuple) -> Any:
    """The entry of *x* that a basis element points at; an integer stride points at all of it."""
    return get(x, *getattr(basis, "path", ()))


@ends
def basis_value(basis: Any) -> Any:
    """The scale of a basis element; an integer is its own."""
    return basis.value if isinstance(basis, ScaledBasis) else basis


def is_basis(x: Any) -> bool:
    """Whether a stride leaf has coordinates as values."""
    return isinstance(x, ScaledBasis | ArithmeticTuple)


@ends
def make_basis_like(shape: IntTuple, path: tuple[int, ...] = ()) -> IntTuple:
    """The unit basis of each leaf: ``make_basis_like((3,(2,4)))`` is (1@0,(1@0@1,1@1@1)); 1 for an integer."""
    if isinstance(shape, tuple):
        return tuple(make_basis_like(s, (*path, i)) for i, s in enumerate(shape))
    return E(*path)


class ArithmeticTupleIterator:
    """The iterator of a coordinate tensor: it holds a base coordinate and no address.

    >>> it = make_inttuple_iter((0, 0))
    >>> print(it + (2, 3), (it + (2, 3))[4 * E(0)])
    ArithTuple(2,3) (6, 3)
    """

    __slots__ = ("coord",)

    def __init__(self, coord: Any) -> None:
        self.coord = as_arithmetic(coord)

    def __add__(self, offset: Any) -> ArithmeticTupleIterator:
        if is_zero(offset):
            return self
        step = as_arithmetic(offset)
        return ArithmeticTupleIterator(_plus(self.coord, step) if is_zero(self.coord) else self.coord + step)

    def __getitem__(self, offset: Any) -> IntTuple:
        return as_tuple((self + offset).coord)

    @property
    def value(self) -> IntTuple:
        """The coordinate as a plain tuple."""
        return as_tuple(self.coord)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArithmeticTupleIterator) and self.coord == other.coord

    def __hash__(self) -> int:
        return hash(self.coord)

    @property
    def symbols(self) -> tuple[Any, ...]:
        return tuple(getattr(self.coord, "symbols", ()))

    def __str__(self) -> str:
        value = self.value
        return f"ArithTuple{text(value)}" if isinstance(value, tuple) else f"ArithTuple({value})"

    def __repr__(self) -> str:
        return f"ArithmeticTupleIterator({self.value!r})"


@ends
def make_inttuple_iter(*coord: Any) -> ArithmeticTupleIterator:
    """An iterator at a coordinate, given as one tuple or as its entries."""
    value = coord[0] if len(coord) == 1 else coord
    return ArithmeticTupleIterator(checked(value, "coordinate"))


def coprofile_of(strides: list[Any]) -> IntTuple:
    """The profile of the values of a layout, all zeros: 0 for integers, nested zeros for bases."""
    tree: Any = 0
    for d in strides:
        tree = _joined(tree, as_tuple(0 * d) if is_basis(d) else 0)
    return tree


def _joined(a: Any, b: Any) -> Any:
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return a if isinstance(a, tuple) else b
    short, long = sorted((a, b), key=len)
    return tuple(map(_joined, short, long)) + long[len(short) :]
