"""The layout behind a function or a list of points, and how its strides are derived.

    >>> print(fit(lambda t, v: t % 4 * 128 + t // 4 + v % 2 * 64 + v // 2 * 8, (32, 4)))
    ((4,8),(2,2)):((128,1),(64,8))

The rule answers "how were the strides derived" (asked of the WGMMA accumulator). The value at the first coordinate of
a mode is its stride. The mode lasts while the value is coordinate times stride, and the first coordinate that departs
from this opens the next mode. It is complete. In a coalesced layout the first mode is exactly that run, so its extent
divides the size. The same holds for the layout of every run-th point. So each point is either determined by earlier
ones or at a divisor of the extent of its mode.
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from .basis import E, as_tuple
from .coordinates import crd2idx, idx2crd
from .errors import LayoutError
from .int_tuple import Shape, checked, congruent, leaves, product_each, text, unflatten
from .layout import ComposedLayout, Layout
from .swizzle import Swizzle

Array: TypeAlias = np.ndarray[Any, Any]

MAX_BITS = 5  # of a swizzle; hardware and CuTe atoms use up to 3, 32 banks of 4 bytes at most 5
MAX_POINTS = 1 << 22  # read one by one, so a few seconds
MAX_VALUE = 2**62  # so that differences stay within int64
PLAIN = Swizzle(0, 0, 0)


def fit(points: Any, shape: Shape | None = None) -> Layout | ComposedLayout:
    """The layout, swizzled if need be, that explains every point; the top-level modes of *shape* are kept.

    >>> print(fit([0, 1, 4, 5, 2, 3, 6, 7]), fit([[0, 1, 2, 3], [5, 4, 7, 6]]))
    (2,2,2):(1,4,2) Sw<1,0,2> o 0 o (2,4):(4,1)

    Points are a list or array in colexicographic order, nested lists with ``points[i][j]`` at (i, j), a
    mapping from coordinates to offsets, or a function of one integer for each mode. Values that are tuples
    give basis strides (the last entries vanish if always 0); a constant goes into the offset of a
    ComposedLayout:

    >>> print(fit(lambda i, j: (j, i), (2, 3)), fit([7, 9, 11]))
    (2,3):(1@1,1@0) Sw<0,0,0> o 7 o 3:2

    A mapping may have gaps if it has coordinate 0 and those at the divisors of each extent. No swizzle is
    preferred, then few bits, then a small base. Raises LayoutError naming the first point that no layout
    explains, or the one point that is amiss if all the others agree.
    """
    return _solved(_read(points, shape)).layout


def derive(points: Any, shape: Shape | None = None, names: Sequence[str] | None = None) -> list[str]:
    """The derivation of the strides from the points, a line for each mode.

    >>> for line in derive(lambda t, v: 4 * (t % 2) + t // 2 + 2 * v, (4, 2)):
    ...     print(line)
    mode 0: t1 -> 4, so 2 values with stride 4 (t2 -> 1, not 8); t2 -> 1, so 2 values with stride 1
    mode 1: v1 -> 2, so 2 values with stride 2
    all 8 points agree with ((2,2),2):((4,1),2)

    *names* are those of the modes, by default the parameters of a function. Raises LayoutError as ``fit``.
    """
    given = _read(points, shape)
    found = _solved(given)
    names = given.names if names is None else tuple(names)
    if len(names) != len(given.extents):
        raise LayoutError(f"expected {len(given.extents)} names, got {names}")
    lines = []
    if found.swizzle.bits:
        lines.append(f"{found.swizzle} is its own inverse: the values below are those under it")
    if found.base.any():
        lines.append(f"offset: {_at(names[0], 0)} -> {given.value(found.base)}, subtracted below")
    for k, (name, n, runs) in enumerate(zip(names, given.extents, found.modes, strict=True)):
        steps = [_step(given, name, n, r) for r in runs]
        lines.append(f"mode {k}: {'; '.join(steps) or 'extent 1, so stride 0'}")
    return [*lines, f"all {int(given.known.sum())} points agree with {found.layout}"]


def _step(given: _Points, name: str, n: int, r: _Run) -> str:
    stride = given.value(r.stride)
    out = f"{_at(name, r.start)} -> {text(stride)}, so {r.extent} values with stride {given.stride(r.stride)}"
    end = r.start * r.extent
    if end == n:
        return out
    after, continued = text(given.value(r.after)), text(given.value(r.extent * r.stride))
    return f"{out} ({_at(name, end)} -> {after}, not {continued})"


def _at(name: str, i: int) -> str:
    return f"{name}{i}" if len(name) == 1 else f"{name}={i}"


def swizzles(bits: int) -> Iterator[Swizzle]:
    """Every swizzle of 1 to 5 bits that moves offsets below 2^bits within it, the simplest first.

    >>> print(*swizzles(2))
    Sw<1,0,1> Sw<1,0,-1>
    """
    for b in range(1, MAX_BITS + 1):
        for base in range(bits):
            for shift in range(b, bits - base - b + 1):
                yield Swizzle(b, base, shift)
                yield Swizzle(b, base, -shift)


# -- reading points -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Points:
    """Offsets in colexicographic order, one row for each point, one column for each component of a value."""

    values: Array
    known: Array
    shape: Any  # product_each of the user's argument; an integer for a flat list
    profile: Any  # of a value: 0 for integers, nested zeros for coordinates
    names: tuple[str, ...]

    @property
    def extents(self) -> tuple[int, ...]:
        return self.shape if isinstance(self.shape, tuple) else (self.shape,)

    def value(self, row: Array) -> Any:
        return unflatten(tuple(map(int, row)), self.profile)

    def stride(self, row: Array) -> Any:
        """A leaf of a stride: an integer, or a sum of basis elements."""
        out: Any = 0
        for path, v in zip(_paths(self.profile), map(int, row), strict=True):
            out = (out + v * E(*path) if out else v * E(*path)) if v else out
        return out

    def coordinate(self, p: int) -> str:
        return text(idx2crd(int(p), self.shape))


def _read(points: Any, shape: Any) -> _Points:
    names: tuple[str, ...] = ()
    if shape is None and not isinstance(points, np.ndarray):
        shape = _extents(points) if isinstance(points, Mapping) else getattr(points, "shape", None)
    if shape is not None:
        shape = checked(shape, "shape")
        if any(type(n) is not int or n < 1 for n in leaves(shape)):
            raise LayoutError(f"expected extents that are numbers of at least 1, got {text(shape)}")
        if math.prod(leaves(shape)) > MAX_POINTS:
            count = math.prod(leaves(shape))
            raise LayoutError(f"expected at most {MAX_POINTS} points, got {count} of shape {text(shape)}; fit a part")
    if isinstance(points, Mapping):
        offsets = {_index(c, shape): v for c, v in points.items()}
    elif callable(points):
        if shape is None:
            raise LayoutError("expected a shape for a function, got none")
        names = _parameters(points)
        coords = itertools.product(*(range(n) for n in reversed(product_each(shape))))
        offsets = {i: points(*reversed(c)) for i, c in enumerate(coords)}
    else:
        found, listed = _listed(points)
        shape = (found if len(found) > 1 else found[0]) if shape is None else shape
        if math.prod(product_each(shape)) != len(listed) or (len(found) > 1 and product_each(shape) != found):
            raise LayoutError(f"expected points of shape {text(product_each(shape))}, got {text(found)}")
        offsets = dict(enumerate(listed))
    shape = product_each(shape) if isinstance(shape, tuple) else shape
    default = tuple(f"c{k}" for k in range(len(product_each(shape))))
    return _tabled(offsets, shape, names if len(names) == len(default) else default)


def _tabled(offsets: dict[int, Any], shape: Any, names: tuple[str, ...]) -> _Points:
    size = math.prod(product_each(shape))
    plain = {i: v if type(v) is int else as_tuple(v) for i, v in offsets.items()}
    profile = _profile(plain.get(0, 0))
    for i, v in plain.items():
        if not congruent(v, profile) or any(type(a) is not int or abs(a) >= MAX_VALUE for a in leaves(v)):
            like, at = text(profile), text(idx2crd(i, shape))
            raise LayoutError(f"expected a value like {like} within 2^62 at coordinate {at}, got {text(v)}")
    values = np.zeros((size, len(leaves(profile))), dtype=np.int64)
    known = np.zeros(size, dtype=bool)
    where = list(plain)
    known[where] = True
    values[where] = [leaves(v) for v in plain.values()]
    return _Points(values, known, shape, profile, names)


def _listed(points: Any) -> tuple[tuple[int, ...], list[Any]]:
    """(shape, offsets in colexicographic order) of nested lists or an array; tuples are coordinates."""
    if isinstance(points, np.ndarray):
        if not np.issubdtype(points.dtype, np.integer) or not points.ndim:
            raise LayoutError(f"expected an array of integers, got {points.ndim}-d {points.dtype}")
        return points.shape, points.flatten(order="F").tolist()
    if not isinstance(points, Sequence) or isinstance(points, str) or not points:
        raise LayoutError(f"expected points, got {points!r}")
    if not any(isinstance(p, list) for p in points):
        return (len(points),), list(points)
    rows = [_listed(p) for p in points]
    if any(s != rows[0][0] for s, _ in rows):
        raise LayoutError(f"expected rows of one length, got {[text(s) for s, _ in rows]}")
    return (len(rows), *rows[0][0]), [v for column in zip(*(r for _, r in rows), strict=True) for v in column]


def _extents(points: Mapping[Any, Any]) -> Any:
    coords = [as_tuple(c) if isinstance(c, tuple) else (c,) for c in points]
    if len({len(c) for c in coords}) != 1 or any(isinstance(i, tuple) for c in coords for i in c):
        raise LayoutError("expected a shape for coordinates that are nested or of several ranks, got none")
    out = tuple(1 + max(c) for c in zip(*coords, strict=True))
    return out if isinstance(next(iter(points)), tuple) else out[0]


def _index(coord: Any, shape: Any) -> int:
    index = int(crd2idx(coord, shape))
    if index >= math.prod(product_each(shape)) or idx2crd(index, shape) != idx2crd(coord, shape):
        raise LayoutError(f"expected coordinates of the shape {text(shape)}, got {text(coord)}")
    return index


def _parameters(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return ()


def _profile(v: Any) -> Any:
    return tuple(map(_profile, v)) if isinstance(v, tuple) else 0


def _paths(profile: Any, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    if isinstance(profile, tuple):
        return [p for i, a in enumerate(profile) for p in _paths(a, (*path, i))]
    return [path]


# -- finding --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """A leaf: *extent* values from coordinate *start* of its mode with one stride, then the value *after*."""

    start: int
    extent: int
    stride: Array
    after: Array


@dataclass(frozen=True, slots=True)
class _Miss:
    """The first point, in linear order, that contradicts those before it, and what they say there."""

    at: int
    expected: Array


@dataclass(frozen=True, slots=True)
class _Found:
    swizzle: Swizzle
    base: Array
    modes: list[list[_Run]]
    layout: Layout | ComposedLayout


def _walk(given: _Points, values: Array) -> list[list[_Run]] | _Miss:
    """The leaves of every mode, by the rule at the top of this file, or the first contradiction."""
    base, known = values[0], given.known
    explained = np.zeros((1, values.shape[1]), dtype=np.int64)  # values of a growing prefix, less the base
    modes = []
    for n in given.extents:
        before, runs, start = len(explained), [], 1
        while start < n:
            unit = before * start
            seen = values[: before * n : unit] - base
            stride = seen[1]
            steps = np.arange(len(seen))[:, None] * stride
            departs = (seen != steps).any(axis=1) & known[: before * n : unit]
            extent = int(departs.argmax()) if departs.any() else len(seen)
            explained = (explained[None] + steps[:extent, None]).reshape(-1, values.shape[1])
            wrong = (values[: len(explained)] - base != explained).any(axis=1) & known[: len(explained)]
            if wrong.any():
                at = int(wrong.argmax())
                return _Miss(at, explained[at] + base)
            if len(seen) % extent:
                return _Miss(unit * extent, extent * stride + base)
            runs.append(_Run(start, extent, stride, seen[extent] if extent < len(seen) else stride))
            start *= extent
        modes.append(runs)
    return modes


def _solved(given: _Points) -> _Found:
    _check_determined(given)
    for sw, values in _readings(given):
        modes = _walk(given, values)
        if not isinstance(modes, _Miss):
            return _Found(sw, values[0], modes, _built(given, sw, values[0], modes))
    raise LayoutError(_complaint(given))


def _readings(given: _Points) -> Iterator[tuple[Swizzle, Array]]:
    """The values themselves, then under every swizzle (each is its own inverse)."""
    yield PLAIN, given.values
    low, high = int(given.values.min()), int(given.values.max())
    if given.profile == 0 and low >= 0:
        for sw in swizzles(high.bit_length()):
            yield sw, sw(given.values)


def _built(given: _Points, sw: Swizzle, base: Array, modes: list[list[_Run]]) -> Layout | ComposedLayout:
    shape = tuple(_leaf([r.extent for r in runs], 1) for runs in modes)
    stride = tuple(_leaf([given.stride(r.stride) for r in runs], 0) for runs in modes)
    layout = Layout(shape, stride) if isinstance(given.shape, tuple) else Layout(shape[0], stride[0])
    if not sw.bits and not base.any():
        return layout
    if given.profile != 0:
        zero, got = text(given.value(0 * base)), text(given.value(base))
        advice = f"keep it in the iterator, make_inttuple_iter({got})"
        raise LayoutError(f"expected {zero} at coordinate 0 for a layout of coordinates, got {got}; {advice}")
    return ComposedLayout(sw, int(base[0]), layout)


def _leaf(items: list[Any], none: int) -> Any:
    return tuple(items) if len(items) > 1 else items[0] if items else none


# -- saying what is wrong -------------------------------------------------------------------------------


def _units(extents: tuple[int, ...]) -> list[int]:
    """The points that earlier ones may leave open: divisors of its extent along each mode."""
    befores = itertools.accumulate((1, *extents[:-1]), lambda a, b: a * b)
    return [p * q for p, n in zip(befores, extents, strict=True) for q in range(1, n) if not n % q]


def _check_determined(given: _Points) -> None:
    missing = [u for u in [0, *_units(given.extents)] if not given.known[u]]
    if missing:
        where = ", ".join(map(given.coordinate, missing))
        raise LayoutError(f"expected offsets at {where} too, to determine it, got {given.known.sum()} points")


def _complaint(given: _Points) -> str:
    """One point amiss if all the others agree; otherwise the first that no plain layout explains."""
    first = _walk(given, given.values)
    for sw, values in _readings(given):
        miss = first if not sw.bits else _walk(given, values)
        if isinstance(miss, _Miss):
            for at, row in _corrections(given, values, miss):
                fixed = values.copy()
                fixed[at] = row
                modes = _walk(given, fixed)
                if not isinstance(modes, _Miss):
                    layout = _built(given, sw, fixed[0], modes)
                    return f"{_wrong(given, at, sw(row))}; every other point agrees with {layout}"
    assert isinstance(first, _Miss)
    return f"{_wrong(given, first.at, first.expected)}; no swizzle of up to {MAX_BITS} bits helps"


def _wrong(given: _Points, at: int, expected: Array) -> str:
    got, wanted = text(given.value(given.values[at])), text(given.value(expected))
    return f"expected offset {wanted} at coordinate {given.coordinate(at)} for a layout, got {got}"


def _corrections(given: _Points, values: Array, miss: _Miss) -> Iterator[tuple[int, Array]]:
    """Points that may be wrong, with the value that the others suggest: the miss, or a unit before it."""
    yield miss.at, miss.expected
    units = _units(given.extents)
    for u in [0, *(u for u in units if u <= miss.at)]:
        votes = Counter(_votes(given, values, u, units))
        if votes:
            row = np.array(votes.most_common(1)[0][0], dtype=np.int64)
            if (row != values[u]).any():
                yield u, row


def _votes(given: _Points, values: Array, u: int, units: list[int]) -> Iterator[tuple[int, ...]]:
    """f(u) = f(u + e) - f(e) + f(0) for units e that do not carry into u; f(0) = f(a) + f(b) - f(a + b)."""
    for a, b in itertools.combinations(units, 2) if not u else ((u, e) for e in units if e != u):
        if a + b < len(values) and given.known[a + b]:
            row = values[a] + values[b] - values[a + b] if not u else values[a + b] - values[b] + values[0]
            yield tuple(map(int, row))
