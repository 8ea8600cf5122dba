"""Nested tuples of integers: shapes, strides and coordinates, with CuTe's relations between them.

A leaf is an integer, an expression, a basis element, or ``None``, which is CuTe's underscore.
Coordinates are colexicographic: the leftmost leaf varies fastest, at every level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .errors import LayoutError
from .expr import IntLike, ceil_div_int, coerce_or_none, divides, integer
from .expr.operands import decimal
from .members import members

# int | Expr | ScaledBasis | None | tuple[IntTuple, ...]; a recursive union would make every sum a cast
IntTuple: TypeAlias = Any
Shape: TypeAlias = "IntLike | tuple[Shape, ...] | list[Shape]"  # as functions take it
Coord: TypeAlias = "IntLike | tuple[Coord, ...] | list[Coord] | None"  # None is a whole mode

MAX_DEPTH = 64  # nesting beyond this is a mistake, and Python's recursion limit is not far


def is_tuple(x: Any) -> bool:
    """Whether *x* has modes of its own."""
    return isinstance(x, tuple)


def is_int(x: Any) -> bool:
    """Whether *x* is a leaf that is an integer, possibly symbolic."""
    return not isinstance(x, tuple | list) and coerce_or_none(x) is not None


def has_none(x: IntTuple) -> bool:
    """Whether an underscore occurs in a coordinate."""
    return any(map(has_none, x)) if isinstance(x, tuple) else x is None


def checked(x: Any, what: str, depth: int = 0) -> IntTuple:
    """Nested tuples of integers from tuples, lists and integers of any kind.

    Raises LayoutError for nesting deeper than 64, and ExpressionError for leaves that are not integers.
    """
    if type(x) is int:
        return x
    if isinstance(x, tuple | list):
        if depth >= MAX_DEPTH:
            raise LayoutError(f"expected a {what} nested at most {MAX_DEPTH} deep, got a deeper one")
        return tuple([a if type(a) is int else checked(a, what, depth + 1) for a in x])
    return x if hasattr(x, "path") or hasattr(x, "parts") else integer(x)


def text(x: IntTuple) -> str:
    """CuTe notation: ``(4,(2,3))``, with ``_`` for None."""
    if isinstance(x, tuple):
        return f"({','.join(map(text, x))}{',' if len(x) == 1 else ''})"
    return "_" if x is None else decimal(x) if type(x) is int else str(x)


# -- scalars --------------------------------------------------------------------------------------------


def rank(x: Any) -> int:
    """The number of top-level modes; 1 for an integer."""
    shape = getattr(x, "shape", x)
    return len(shape) if isinstance(shape, tuple) else 1


def depth(x: Any) -> int:
    """0 for an integer, else one more than the deepest mode."""
    shape = getattr(x, "shape", x)
    return 1 + max(map(depth, shape), default=0) if isinstance(shape, tuple) else 0


def product(x: IntTuple) -> Any:
    """The product of all leaves."""
    if isinstance(x, tuple):
        out: Any = 1
        for a in x:
            out = out * product(a)
        return out
    return x


def size(x: Any) -> Any:
    """The number of coordinates of a shape, layout or tensor.

    >>> size((2, (3, 4)))
    24
    """
    return product(getattr(x, "shape", x))


def product_each(x: IntTuple) -> tuple[Any, ...]:
    """The size of each top-level mode, always a tuple."""
    return tuple(map(product, x)) if isinstance(x, tuple) else (x,)


def product_like(x: IntTuple, guide: IntTuple) -> IntTuple:
    """The product of the part of *x* paired with each leaf of *guide*."""
    if isinstance(guide, tuple):
        return tuple(product_like(a, g) for a, g in paired(x, guide))
    return product(x)


def tuple_sum(x: IntTuple) -> Any:
    """The sum of all leaves."""
    return sum(map(tuple_sum, x)) if isinstance(x, tuple) else x


def tuple_max(x: IntTuple) -> Any:
    """The greatest leaf of integers."""
    return max(map(tuple_max, x)) if isinstance(x, tuple) else x


def signum(x: Any) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)


def inner_product(a: IntTuple, b: IntTuple) -> Any:
    """The sum of the products of paired leaves.

    >>> inner_product(((2, 3), 4), ((2, 1), 2))
    15
    """
    if isinstance(a, tuple) or isinstance(b, tuple):
        return add(inner_product(x, y) for x, y in paired(a, b))
    return a * b


def add(terms: Iterator[Any] | list[Any]) -> Any:
    """The sum of integers, bases and arithmetic tuples; a plain 0 is neutral for all of them."""
    out: Any = 0
    for t in terms:
        out = t if type(out) is int and out == 0 else out if type(t) is int and t == 0 else out + t
    return out


def is_zero(x: Any) -> bool:
    """Whether a leaf is the number 0; an expression in normal form never is."""
    return type(x) is int and x == 0


def is_one(x: Any) -> bool:
    """Whether a leaf is the number 1."""
    return type(x) is int and x == 1


# -- structure ------------------------------------------------------------------------------------------


def flatten(x: IntTuple) -> IntTuple:
    """All leaves at depth at most 1; an integer stays an integer. Of a layout, its modes likewise."""
    if hasattr(x, "stride"):
        return members.flatten_layout(x)
    return tuple(leaves(x)) if isinstance(x, tuple) else x


def leaves(x: IntTuple) -> list[Any]:
    """All leaves in order, of an integer too."""
    if not isinstance(x, tuple):
        return [x]
    out: list[Any] = []
    for a in x:
        if isinstance(a, tuple):
            out += leaves(a)
        else:
            out.append(a)
    return out


def unflatten(flat: IntTuple, profile: IntTuple) -> IntTuple:
    """The leaves of *flat* arranged as *profile* is; of a layout, its modes."""
    if hasattr(flat, "stride"):
        return by_parts(lambda t: unflatten(t, profile), flat)
    items = leaves(flat)
    if len(items) != len(leaves(profile)):
        raise LayoutError(
            f"expected {len(leaves(profile))} leaves for the profile {text(profile)}, got {len(items)} in {text(flat)}"
        )
    return _filled(profile, iter(items))


def _filled(profile: IntTuple, rest: Iterator[Any]) -> IntTuple:
    return tuple([_filled(p, rest) for p in profile]) if isinstance(profile, tuple) else next(rest)


def by_parts(f: Callable[[IntTuple], IntTuple], layout: Any) -> Any:
    """A layout with a function of tuples applied to its shape and its stride."""
    return members.make_raw(f(layout.shape), f(layout.stride), layout.obligations)


def get(x: Any, *path: int) -> Any:
    """A nested mode; ``get(7, 0)`` is 7, as an integer has one mode."""
    for i in path if all(type(j) is int for j in path) else map(integer, path):
        if not isinstance(getattr(x, "shape", x), tuple):
            if i:
                raise LayoutError(f"expected mode 0 of an integer, got mode {i}")
            continue
        if type(i) is not int or not 0 <= i < rank(x):
            raise LayoutError(f"expected a mode of 0 .. {rank(x) - 1}, got {i!r}")
        x = x[i]
    return x


def map_leaves(f: Callable[..., Any], x: IntTuple, *more: IntTuple) -> IntTuple:
    """Apply *f* leaf by leaf to congruent tuples."""
    if isinstance(x, tuple):
        return tuple(map_leaves(f, *parts) for parts in zip(x, *more, strict=True))
    return f(x, *more)


def congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether two tuples have the same nested structure."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(b, tuple)


def weakly_congruent(a: IntTuple, b: IntTuple) -> bool:
    """Whether *a* is a leaf or has, mode by mode, a coarser structure than *b*."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def compatible(a: Any, b: Any) -> bool:
    """Whether sizes agree and every coordinate of *a* is a coordinate of *b* (shapes or layouts)."""
    a, b = getattr(a, "shape", a), getattr(b, "shape", b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(compatible, a, b))
    return bool(a == product(b))


def evenly_divides(shape: IntTuple, tiler: Any) -> bool:
    """Whether tiles of *tiler* (integers, layouts or a tuple of them) cover *shape* without overhang."""
    if isinstance(tiler, tuple):
        parts = shape if isinstance(shape, tuple) else (shape,)
        return len(tiler) <= len(parts) and all(map(evenly_divides, parts, tiler))
    return bool(size(shape) == size(tiler) * size(ceil_div(shape, tiler)))


def paired(a: IntTuple, b: IntTuple) -> Iterator[tuple[Any, Any]]:
    """The modes of two tuples side by side. Raises LayoutError unless both are tuples of one rank."""
    if not (isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)):
        raise LayoutError(f"expected tuples of one rank, got {text(a)} and {text(b)}")
    return zip(a, b, strict=True)


# -- arithmetic -----------------------------------------------------------------------------------------


def ceil_div(a: IntTuple, b: Any) -> IntTuple:
    """The number of tiles of *b* that cover *a*: integers, by mode, folded, or by a layout tiler.

    >>> ceil_div((10, 7), (4, 3)), ceil_div((4, 6, 5), 8), ceil_div(30, (4, 3))
    ((3, 3), (1, 3, 5), 3)
    """
    if hasattr(b, "stride"):
        return members.complement(b, getattr(a, "shape", a)).shape
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(b) > len(a):
            raise LayoutError(f"expected a divisor of rank at most {len(a)}, got {text(b)} for {text(a)}")
        return tuple(ceil_div(x, y) for x, y in zip(a, b, strict=False)) + a[len(b) :]
    if isinstance(a, tuple):
        out = []
        for x in a:
            out.append(ceil_div(x, b))
            b = ceil_div(b, product(x))
        return tuple(out)
    b = product(b)
    if type(a) is int and type(b) is int and b > 0:
        return -(-a // b)
    return ceil_div_int(a, b)


def round_up(a: IntTuple, b: IntTuple) -> IntTuple:
    """The least multiple of *b* that is at least *a*, by mode."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise LayoutError(f"expected two integers or two tuples, got {text(a)} and {text(b)}")
    if isinstance(a, tuple):
        if len(b) > len(a):
            raise LayoutError(f"expected a second operand of rank at most {len(a)}, got {text(b)}")
        return tuple(round_up(x, y) for x, y in zip(a, b, strict=False)) + a[len(b) :]
    return ceil_div(a, b) * b


def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """ceil_div where one of each pair divides the other; an error otherwise.

    >>> shape_div((4, 5, 6), 40), shape_div(12, (2, 3))
    ((1, 1, 3), 2)
    """
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(shape_div(x, y) for x, y in paired(a, b))
    if isinstance(a, tuple):
        out = []
        for x in a:
            out.append(shape_div(x, b))
            b = shape_div(b, product(x))
        return tuple(out)
    b = product(b)
    if divides(b, a) is None and divides(a, b) is None:
        raise LayoutError(f"expected one of {a} and {b} to divide the other")
    return ceil_div(a, b)


def elem_scale(a: IntTuple, b: IntTuple) -> IntTuple:
    """Each leaf of *a* times the product of the matching part of *b*."""
    if isinstance(a, tuple):
        return tuple(elem_scale(x, y) for x, y in paired(a, b))
    return a * product(b)


def prefix_product(shape: IntTuple, start: IntTuple = 1) -> IntTuple:
    """The exclusive running product of the leaves: ``prefix_product((2, 3)) == (1, 2)``.

    A tuple *start* gives each top-level mode its own.
    """
    if isinstance(start, tuple):
        return tuple(prefix_product(s, c) for s, c in paired(shape, start))
    if isinstance(shape, tuple):
        out = []
        for s in shape:
            out.append(prefix_product(s, start))
            start = start * product(s)
        return tuple(out)
    return start


# -- orders ---------------------------------------------------------------------------------------------


def elem_less(a: IntTuple, b: IntTuple) -> bool:
    """Whether every leaf of *a* is less than the paired leaf of *b*; a longer *a* is not less."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) <= len(b) and all(map(elem_less, a, b))
    return bool(a < b)


def elem_leq(a: IntTuple, b: IntTuple) -> bool:
    """CuTe's elem_leq: not elem_less(b, a). For "every leaf at most" use elem_all_leq."""
    return not elem_less(b, a)


def elem_geq(a: IntTuple, b: IntTuple) -> bool:
    """CuTe's elem_geq: not elem_less(a, b)."""
    return not elem_less(a, b)


def elem_gtr(a: IntTuple, b: IntTuple) -> bool:
    """elem_less(b, a)."""
    return elem_less(b, a)


def elem_all_leq(a: IntTuple, b: IntTuple) -> bool:
    """Whether every leaf of *a* is at most the paired leaf of *b*."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) <= len(b) and all(map(elem_all_leq, a, b))
    return bool(a <= b)


def lex_less(a: IntTuple, b: IntTuple) -> bool:
    """Dictionary order from mode 0."""
    return leaves(a) < leaves(b)


def colex_less(a: IntTuple, b: IntTuple) -> bool:
    """Dictionary order from the last mode."""
    return leaves(a)[::-1] < leaves(b)[::-1]
