"""Address maps: an index expression over a box of coordinates, with the predicate under which it is used.

>>> M, K = dims("M K")
>>> print(AddressMap.over(lambda i, k: i * K + k, (M, K)))
(i,k) -> K*i + k for i < M, k < K
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np

from .basis import as_tuple
from .errors import ExpressionError, LayoutError, ShiftError
from .expr import Expr, Fact, Int, Integers, Symbol, evaluate, index, integer, interpret, substitute, written_divisors
from .expr.bits import LONGEST_SHIFT, shifted
from .facts import symbols_in
from .int_tuple import IntTuple, Shape, leaves, map_leaves, product, text, unflatten
from .obligations import NONE, Obligations


class AddressMap:
    """``coordinates -> offset``: an integer expression, or a tuple of them, over a box, where *valid* holds.

    *divisors* are those of the source, which the normal form may have cancelled. Each must be at least 1 where it is
    evaluated: where the first facts of the predicate hold, as many as *guards* gives for it (default: all).
    """

    __slots__ = ("coords", "divisors", "extents", "guards", "obligations", "offset", "valid")

    def __init__(
        self,
        coords: tuple[Symbol, ...],
        extents: tuple[Int, ...],
        offset: Any,
        valid: tuple[Fact, ...] = (),
        obligations: Obligations = NONE,
        divisors: Iterable[Int] = (),
        guards: Iterable[int] | None = None,
    ) -> None:
        for c, n in zip(coords, extents, strict=True):
            if c.lower != 0 or c.upper != n - 1:
                raise LayoutError(f"expected a coordinate 0 <= {c} < {n}, got {c.lower} <= {c} <= {c.upper}")
        names = [c.name for c in coords]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise LayoutError(f"expected coordinates of different names, got {text(coords)}; rename one {twice}")
        if symbols_in(extents) & set(coords):
            raise LayoutError(f"expected a box whose extents do not depend on its coordinates, got {text(extents)}")
        self.coords, self.extents = coords, extents
        self.offset: IntTuple = map_leaves(integer, as_tuple(offset))
        self.valid = valid
        self.obligations = obligations  # of the layout that the map was made from
        divisors = tuple(divisors)
        first: dict[Int, int] = {}
        for d, n in zip(divisors, [len(valid)] * len(divisors) if guards is None else guards, strict=True):
            if isinstance(d, Expr) or d < 1:
                first[d] = min(n, first.get(d, n))
        self.divisors, self.guards = tuple(first), tuple(first.values())

    @classmethod
    def over(cls, f: Callable[..., Any], shape: Shape, when: Callable[..., Any] | None = None) -> AddressMap:
        """Trace a Python function of one coordinate for each extent of *shape*; *when* gives facts.

        The names of the coordinates are those of the function's parameters. Python control flow on a
        coordinate raises UndecidedError: write minimum, maximum, // and %.
        """
        extents = tuple(map(integer, shape if isinstance(shape, tuple | list) else (shape,)))
        names = _parameters(f)
        if len(names) != len(extents):
            raise LayoutError(
                f"expected a function of {len(extents)} coordinates, got {len(names)}: {', '.join(names)}"
            )
        if when is not None and not callable(when):
            raise LayoutError(f"expected a function of coordinates that gives facts as when, got {when!r}")
        coords = tuple(index(name, n) for name, n in zip(names, extents, strict=True))
        with written_divisors() as divisors:
            valid = _called(when, "when", coords) if when else ()
            offset = _called(f, "a function", coords)
        valid = tuple(valid) if isinstance(valid, tuple | list) else (valid,)
        if not all(isinstance(v, Fact) for v in valid):
            raise LayoutError(f"expected facts such as i < M from the predicate, got {valid}")
        return cls(coords, extents, offset, valid, NONE, divisors, divisors.guards(valid))

    @property
    def shape(self) -> tuple[Int, ...]:
        return self.extents

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The parameters: every symbol except the coordinates."""
        found = symbols_in((self.extents, tuple(leaves(self.offset)), self.valid, self.divisors))
        return tuple(sorted(found - set(self.coords), key=lambda s: s.name))

    @property
    def static(self) -> bool:
        return not self.symbols

    def size(self) -> Any:
        """The number of coordinates of the box, the predicate aside."""
        return product(self.extents)

    def __call__(self, *coord: Any) -> Any:
        """The value at integer coordinates (of a map without parameters)."""
        c = coord[0] if len(coord) == 1 and isinstance(coord[0], tuple) else coord
        env = dict(zip(self.coords, c, strict=True))
        return map_leaves(lambda e: evaluate(e, env), self.offset)

    def valid_at(self, coord: tuple[int, ...]) -> bool:
        """Whether the predicate holds at integer coordinates."""
        env = dict(zip(self.coords, coord, strict=True))
        return all(_holds(f, env) for f in self.valid)

    def subs(self, values: Mapping[Any, Any]) -> AddressMap:
        """The map with parameters replaced, its coordinates ranging over the new box."""
        extents = tuple(substitute(n, values) for n in self.extents)
        coords = tuple(c.ranged(0, integer(n - 1)) for c, n in zip(self.coords, extents, strict=True))
        env = {**values, **dict(zip(self.coords, coords, strict=True))}
        offset = map_leaves(lambda e: substitute(e, env), self.offset)
        valid, divisors = tuple(f.subs(env) for f in self.valid), [substitute(d, env) for d in self.divisors]
        return AddressMap(coords, extents, offset, valid, self.obligations.subs(env), divisors, self.guards)

    def renamed(self, coords: tuple[Symbol, ...]) -> tuple[IntTuple, tuple[Fact, ...]]:
        """(offset, predicate) in other symbols for the coordinates."""
        env = dict(zip(self.coords, coords, strict=True))
        return map_leaves(lambda e: substitute(e, env), self.offset), tuple(f.subs(env) for f in self.valid)

    def table(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """(coordinates, values) as rows of integers, for every valid point, the first coordinate fastest.

        A predicate guards what comes after it: the offset is evaluated at valid points only. Raises
        ZeroDivisionError for a divisor below 1 there.
        """
        sizes = [max(0, evaluate(n, {})) for n in self.extents]
        if not self.coords:
            return self._one_point()
        if 0 in sizes:
            return self._no_points()
        dtype = np.int64 if self._magnitude(sizes) < 2**62 else object  # object: Python integers, exact and slow
        axes = [np.arange(n).astype(dtype) for n in sizes]
        alone = set() if self.divisors else self._shortened(axes)
        at = _every_point(axes, dtype)
        for tested, f in enumerate(self.valid):
            if not at.shape[1]:
                return self._no_points()
            if f not in alone:
                at = at[:, np.broadcast_to(_truth(f, self._divided(at, tested)).astype(bool), at.shape[1])]
        if not at.shape[1]:
            return self._no_points()
        arrays = self._divided(at, len(self.valid))
        columns = [np.broadcast_to(interpret(e, arrays), at.shape[1]) for e in leaves(self.offset)]
        return at.T, np.stack(columns, axis=1)

    def _shortened(self, axes: list[np.ndarray[Any, Any]]) -> set[Fact]:
        """The facts about one coordinate alone; its values that meet them are left on its axis."""
        alone = set()
        for f in self.valid:
            mine = [i for i, c in enumerate(self.coords) if c in f.expr.symbols] if isinstance(f.expr, Expr) else []
            if len(mine) == 1:
                (i,) = mine
                axes[i] = axes[i][_truth(f, Arrays({self.coords[i]: axes[i]})).astype(bool)]
                alone.add(f)
        return alone

    def _divided(self, at: np.ndarray[Any, Any], tested: int) -> Arrays:
        """The coordinates, a row for each, as arrays, after the divisors that are evaluated once so many facts hold."""
        arrays = Arrays(dict(zip(self.coords, at, strict=True)))
        for d, guards in zip(self.divisors, self.guards, strict=True):
            if guards == tested:
                arrays.floordiv(0, interpret(d, arrays))
        return arrays

    def _no_points(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        wide = len(leaves(self.offset))
        return np.zeros((0, len(self.coords)), dtype=np.int64), np.zeros((0, wide), dtype=np.int64)

    def _one_point(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The table of a map without coordinates: one value, if the predicate holds."""
        tested = next((i for i, f in enumerate(self.valid) if not f.value), len(self.valid))
        for d, guards in zip(self.divisors, self.guards, strict=True):
            if guards <= tested:  # numbers below 1, since there are no such coordinates
                raise ZeroDivisionError(f"expected divisors of at least 1, got {d}")
        rows = [[evaluate(e, {}) for e in leaves(self.offset)]] if tested == len(self.valid) else []
        values = np.array(rows, dtype=object).reshape(len(rows), len(leaves(self.offset)))
        return np.zeros((len(rows), 0), dtype=np.int64), values

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AddressMap):
            return NotImplemented
        mine = (self.coords, self.extents, self.offset, self.valid)
        return mine == (other.coords, other.extents, other.offset, other.valid)

    def __hash__(self) -> int:
        return hash((self.coords, self.extents, self.offset, self.valid))

    def _magnitude(self, sizes: list[int]) -> int:
        """A bound of every intermediate value of the table."""
        bounds = Magnitudes(dict(zip(self.coords, sizes, strict=True)))
        for e in [*leaves(self.offset), *(f.expr for f in self.valid), *self.divisors]:
            interpret(e, bounds)
        return max([bounds.peak, *(f.modulus for f in self.valid)])

    def value_of_row(self, row: Any) -> IntTuple:
        """A row of the table's values with the profile of the offset."""
        return unflatten(tuple(int(v) for v in row), self.offset)

    def __str__(self) -> str:
        if not self.coords:
            return text(self.offset)
        box = ", ".join(f"{c} < {n}" for c, n in zip(self.coords, self.extents, strict=True))
        when = f" when {' and '.join(map(str, self.valid))}" if self.valid else ""
        return f"({','.join(map(str, self.coords))}) -> {text(self.offset)} for {box}{when}"

    __repr__ = __str__


def _holds(fact: Fact, env: Mapping[Symbol, int]) -> bool:
    """Whether a fact holds at integers; what parameters or a divisor below 1 leave open does not."""
    try:
        return fact.at(env)
    except (ExpressionError, ZeroDivisionError):
        return bool(fact.subs(env).value)


def _parameters(f: Any) -> list[str]:
    """The names of a function's coordinates."""
    try:
        found = inspect.signature(f).parameters.values()
    except (TypeError, ValueError) as e:
        raise LayoutError(f"expected a function whose parameters have names, such as a lambda, got {f!r}") from e
    return [p.name for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]


def _called(f: Callable[..., Any], what: str, coords: tuple[Symbol, ...]) -> Any:
    """The values of a function of the coordinates. Raises LayoutError if it does not take as many."""
    try:
        inspect.signature(f).bind(*coords)
    except TypeError as e:
        at = ", ".join(map(str, coords))
        raise LayoutError(f"expected {what} of the coordinates {at}, got one with {e}") from None
    except ValueError:  # a built-in function without a signature
        pass
    return f(*coords)


def _every_point(axes: list[np.ndarray[Any, Any]], dtype: Any) -> np.ndarray[Any, Any]:
    """The points whose coordinates are on some axes, a row for each coordinate, of which the first is the fastest."""
    sizes = [len(axis) for axis in axes]
    at = np.empty((len(sizes), math.prod(sizes)), dtype)
    if at.size:
        for i, axis in enumerate(axes):
            at[i].reshape(-1, sizes[i], math.prod(sizes[:i]))[...] = axis[:, None]
    return at


def _truth(f: Fact, arrays: Arrays) -> np.ndarray[Any, Any]:
    x = interpret(f.expr, arrays)
    if f.relation == ">=":
        return cast("np.ndarray[Any, Any]", np.asarray(x >= 0))
    return np.asarray(x == 0) if f.relation == "==" else np.asarray(x % f.modulus == 0)


class Magnitudes(Integers):
    """A bound of the absolute value of every step; ``peak`` is the greatest seen."""

    peak = 0

    def _seen(self, value: int) -> int:
        self.peak = max(self.peak, value)
        return value

    def const(self, value: int) -> int:
        return self._seen(abs(value))

    def symbol(self, symbol: Symbol) -> Any:
        return self._seen(super().symbol(symbol))

    def add(self, terms: list[Any]) -> Any:
        return self._seen(sum(terms))

    def mul(self, factors: list[Any]) -> Any:
        return self._seen(math.prod(factors))

    def floordiv(self, a: Any, b: Any) -> Any:
        return self._seen(a + 1)

    def xor(self, *args: Any) -> Any:
        return self._seen(sum(2 << int(a).bit_length() for a in args))

    def minimum(self, *args: Any) -> Any:
        return max(args)

    def bit_and(self, *args: Any) -> Any:
        return self.xor(*args)

    def power_of_two(self, count: Any) -> Any:
        return self._seen(shifted(int(count)))

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return max(a, b)


class Arrays(Integers):
    """The operations on int64 arrays."""

    def add(self, terms: list[Any]) -> Any:
        return sum(terms[1:], terms[0])

    def mul(self, factors: list[Any]) -> Any:
        out = factors[0]
        for f in factors[1:]:
            out = out * f
        return out

    def floordiv(self, a: Any, b: Any) -> Any:
        if np.any(np.asarray(b) < 1):
            raise ZeroDivisionError("expected divisors of at least 1")
        return a // b

    def minimum(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = np.minimum(out, a)
        return out

    def maximum(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = np.maximum(out, a)
        return out

    def power_of_two(self, count: Any) -> Any:
        if np.any(np.asarray(count) > LONGEST_SHIFT):
            raise ShiftError(f"expected to shift by at most {LONGEST_SHIFT} bits, got {np.max(count)}")
        return np.where(count < 0, 0, 1 << np.maximum(count, 0))

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return np.where(test >= 0, a, b)
