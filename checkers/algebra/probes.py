"""Claims on more numbers than enumeration takes: what counts, corners and pairs of modes refute all the same.

    >>> from symlayout import Layout
    >>> pair_of_modes(Layout((2**40, 2**40), (3, 2)))
    ((2, 0), (0, 3))

Nothing here proves. What is found are a few coordinates, at which the claim is then evaluated on plain integers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.expr import Int, evaluate, index
from symlayout.facts import NOTHING
from symlayout.int_tuple import leaves, unflatten
from symlayout.layout import ComposedLayout, Layout

from ..claim_fields import Subject
from .subject_form import Linear, linear, points

CLIPPED = 1 << 16  # coordinates of a subject cut down
PROBES = 4096  # combinations of first steps, middles and ends of modes; they refute, and prove nothing


def miscount(x: Any, values: Int, copies: Int = 1) -> Witness | None:
    """A witness that some value has fewer than *copies* coordinates; a predicate only removes some."""
    n, wanted = points(x), values * copies
    if n == wanted or (n > wanted and bool(getattr(x, "valid", False))):
        return None
    times = "" if copies == 1 else f", {copies} of each"
    return Witness({}, (), f"{n} coordinates for {values} values{times}")


def crowd(x: Subject) -> Witness | None:
    """A witness that a linear subject has more coordinates than its range has multiples of its step."""
    form = linear(x, NOTHING)
    if form is None or form.swizzle is not None or bool(getattr(x, "valid", False)):
        return None
    room = math.prod(_room(c.modes) for c in form.components)
    n = points(x)
    return Witness({}, (), f"{n} coordinates have at most {room} values") if n > room else None


def _room(modes: Sequence[tuple[int, int]]) -> int:
    step = math.gcd(*(d for n, d in modes if n > 1))
    return 1 + sum((n - 1) * abs(d) for n, d in modes) // step if step else 1


def copies(x: Any) -> int:
    """A lower bound on the coordinates of each value of a linear subject: those that move nothing; 1 for others."""
    form = linear(x, NOTHING)
    if form is None or bool(getattr(x, "valid", False)):
        return 1
    columns = zip(*(c.modes for c in form.components), strict=True)
    return math.prod(column[0][0] for column in columns if not any(d for _, d in column))


def residue(x: Subject) -> tuple[int, int] | None:
    """(r, m) where every value of a linear subject is r more than a multiple of m, m being at least 2; else None."""
    form = linear(x, NOTHING)
    c = form.single if form is not None and form.swizzle is None else None
    m = math.gcd(*(d for n, d in c.modes if n > 1)) if c is not None else 1
    return (c.base % m, m) if c is not None and m > 1 else None


def span(x: Subject) -> tuple[int, int] | None:
    """A lower and an upper bound on the values of a linear subject."""
    form = linear(x, NOTHING)
    if form is None or form.single is None or form.swizzle is not None:
        return None
    steps = [(n - 1) * d for n, d in form.single.modes]
    base = form.single.base
    return base + sum(s for s in steps if s < 0), base + sum(s for s in steps if s > 0)


def extremes(x: Subject) -> Iterator[Any]:
    """The coordinates at which a component of a linear subject, before any swizzle, is greatest and least (T8)."""
    form = linear(x, NOTHING)
    for c in form.components if form is not None else ():
        for sign in (1, -1):
            yield coordinate(x, [n - 1 if d * sign > 0 else 0 for n, d in c.modes])


def pair_of_modes(x: Subject) -> tuple[Any, Any] | None:
    """Two coordinates with one value of a linear subject that differ in one mode or in two; valid ones."""
    form = linear(x, NOTHING)
    pairs = ([coordinate(x, p) for p in pair] for pair in (_pairs(form) if form is not None else ()))
    return next(((a, b) for a, b in pairs if _valid(x, a) and _valid(x, b)), None)


def _pairs(form: Linear) -> Iterator[tuple[list[int], list[int]]]:
    extents = [n for n, _ in form.components[0].modes]
    strides = [tuple(c.modes[k][1] for c in form.components) for k in range(len(extents))]
    moving = [k for k, n in enumerate(extents) if n > 1]

    def only(steps: dict[int, int]) -> list[int]:
        return [steps.get(k, 0) for k in range(len(extents))]

    for k in moving:
        if not any(strides[k]):
            yield only({}), only({k: 1})
    for j, k in itertools.combinations(moving, 2):
        a, b = _steps(strides[j], strides[k])
        if 0 < a < extents[j] and 0 < abs(b) < extents[k]:
            yield (only({j: a}), only({k: b})) if b > 0 else (only({}), only({j: a, k: -b}))


def _steps(s: tuple[int, ...], t: tuple[int, ...]) -> tuple[int, int]:
    """The least a > 0 and b with a*s == b*t in every component; (0, 0) where there are none."""
    at = next((i for i, d in enumerate(s) if d and t[i]), None)
    if at is None:
        return 0, 0
    g = math.gcd(s[at], t[at])
    a, b = abs(t[at]) // g, s[at] // g * (1 if t[at] > 0 else -1)
    return (a, b) if all(a * d == b * e for d, e in zip(s, t, strict=True)) else (0, 0)


def probes(x: Any) -> Iterator[Any]:
    """Valid coordinates where much shows: first steps, ends and middles of all modes together, as far as they go."""
    extents = _extents(x)
    digits = [dict.fromkeys(d for d in (0, 1, n - 1, n // 2, n - 2) if 0 <= d < n) for n in extents]
    for some in itertools.islice(itertools.product(*digits[::-1]), PROBES):
        coord = coordinate(x, some[::-1])
        if _valid(x, coord):
            yield coord


def places(*layouts: Any) -> list[int]:
    """Linear indices around those at which a mode of one of the layouts moves, and the last ones."""
    size = points(layouts[0])
    found = {0, 1, size // 2, size - 2, size - 1}
    for x in layouts:
        for p in itertools.accumulate(_extents(x), lambda a, b: a * b):
            found |= {p - 1, p, p + 1, 2 * p, size - p}
    return sorted(i for i in found if 0 <= i < size)


def clipped(x: Subject) -> Any:
    """The same function at small coordinates: extents cut down until enumeration is quick."""
    extents = _extents(x)
    while math.prod(extents) > CLIPPED:
        k = extents.index(max(extents))
        extents[k] = (extents[k] + 1) // 2
    return _over(x, extents)


def _over(x: Any, extents: list[int]) -> Any:
    if isinstance(x, ComposedLayout):
        return ComposedLayout(x.outer, x.offset, _over(x.inner, extents))
    if isinstance(x, Layout):
        return Layout(unflatten(tuple(extents), x.shape), x.stride)
    coords = tuple(index(c.name, n) for c, n in zip(x.coords, extents, strict=True))
    return AddressMap(coords, tuple(extents), *x.renamed(coords))


def coordinate(x: Subject, digits: Iterable[int]) -> Any:
    """The coordinate with these digits, arranged like the shape."""
    at = tuple(digits)
    return at if isinstance(x, AddressMap) else unflatten(at, x.shape)


def _extents(x: Any) -> list[int]:
    return [max(0, evaluate(n, {})) for n in leaves(x.shape)]


def _valid(x: Any, coord: Any) -> bool:
    return not isinstance(x, AddressMap) or x.valid_at(coord)
