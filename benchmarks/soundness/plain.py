"""The oracle: what a claim says, in sets of Python integers, sharing nothing with the provers.

    >>> from symlayout import Layout, dims
    >>> M, = dims("M")
    >>> [v for _, v in points(Layout((2, M), (M, 1)), {"M": 3})]
    [0, 3, 1, 4, 2, 5]

Expressions, layouts, swizzles and predicates are evaluated here from their fields; no method of theirs is called.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from symlayout import ComposedLayout
from symlayout.address_map import AddressMap

Env: TypeAlias = "Mapping[str, int]"

MOST_POINTS = 6000  # of a claim that is looked at


class TooMany(Exception):
    """More points than the oracle looks at."""


# -- expressions ------------------------------------------------------------------------------------------


def number(x: Any, env: Env) -> int:
    """An expression at sizes, from its terms. Raises ZeroDivisionError for a divisor of 0 and KeyError for a name."""
    if isinstance(x, int):
        return int(x)
    return sum(c * math.prod(_atom(a, env) for a in m) for m, c in x.terms.items())


def _atom(a: Any, env: Env) -> int:
    if a.op == "symbol":
        return env[a.args[0]]
    return OPERATIONS[a.op](*(number(b, env) for b in a.args))


def _xor(*args: int) -> int:
    out = 0
    for x in args:
        out ^= x
    return out


OPERATIONS: dict[str, Callable[..., int]] = {
    "floordiv": lambda a, b: a // b,
    "minimum": lambda *args: min(args),
    "maximum": lambda *args: max(args),
    "xor": _xor,
    "select": lambda test, a, b: a if test >= 0 else b,
}


def fact(f: Any, env: Env) -> bool:
    """Whether a fact holds at sizes."""
    v = number(f.expr, env)
    return {">=": v >= 0, "==": v == 0, "%": f.modulus != 0 and v % (f.modulus or 1) == 0}[f.relation]


def admissible(symbols: Any, given: Any, env: Env) -> bool:
    """Whether sizes meet the range of each symbol and every fact."""
    for s in symbols:
        name, low, high, multiple = s.args
        v = env[name]
        if (low is not None and v < number(low, env)) or (high is not None and v > number(high, env)) or v % multiple:
            return False
    return all(fact(f, env) for f in given)


# -- subjects ---------------------------------------------------------------------------------------------


def flat(x: Any) -> list[Any]:
    """The leaves of a nested tuple."""
    return [y for part in x for y in flat(part)] if isinstance(x, tuple) else [x]


def extent(x: Any, env: Env) -> int:
    """The product of the leaves of a shape."""
    return math.prod(number(n, env) for n in flat(x))


def swizzled(bits: int, base: int, shift: int, x: int) -> int:
    """Bit base + shift + i flips bit base + i, one bit at a time."""
    for i in range(bits):
        source, target = (base + shift + i, base + i) if shift >= 0 else (base + i, base - shift + i)
        if x >> source & 1:
            x ^= 1 << target
    return x


def points(x: Any, env: Env) -> Iterator[tuple[tuple[int, ...], Any]]:
    """(coordinate, value) of every point that a subject has, the first coordinate fastest. Raises TooMany."""
    if isinstance(x, AddressMap):
        yield from _of_map(x, env)
        return
    inner = x.inner if isinstance(x, ComposedLayout) else x
    modes = [(number(n, env), _stride(d, env)) for n, d in zip(flat(inner.shape), flat(inner.stride), strict=True)]
    for c in _box([n for n, _ in modes]):
        value = _sum([_scaled(k, d) for k, (_, d) in zip(c, modes, strict=True)])
        if isinstance(x, ComposedLayout):
            value = swizzled(x.outer.bits, x.outer.base, x.outer.shift, number(x.offset, env) + value)
        yield c, value


def _box(extents: list[int]) -> Iterator[tuple[int, ...]]:
    if math.prod(max(n, 0) for n in extents) > MOST_POINTS:
        raise TooMany
    size = math.prod(max(n, 0) for n in extents)
    for i in range(size):
        c = []
        for n in extents:
            c.append(i % n)
            i //= n
        yield tuple(c)


def _of_map(x: AddressMap, env: Env) -> Iterator[tuple[tuple[int, ...], Any]]:
    names = [c.args[0] for c in x.coords]
    entries = flat(x.offset)
    for c in _box([number(n, env) for n in x.extents]):
        at = {**env, **dict(zip(names, c, strict=True))}
        if all(fact(f, at) for f in x.valid):
            values = tuple(number(e, at) for e in entries)
            yield c, values if isinstance(x.offset, tuple) else values[0]


def _stride(d: Any, env: Env) -> Any:
    """A number, or (number, place) where values are coordinates."""
    return (number(d.value, env), d.path) if hasattr(d, "path") else number(d, env)


def _scaled(k: int, d: Any) -> Any:
    return (k * d[0], d[1]) if isinstance(d, tuple) else k * d


def _sum(terms: list[Any]) -> Any:
    if not any(isinstance(t, tuple) for t in terms):
        return sum(terms)
    total: Counter[Any] = Counter()
    for t in terms:
        if isinstance(t, tuple):
            total[t[1]] += t[0]
    depth = max(len(p) for p in total)
    if depth > 1:
        raise TooMany
    return tuple(total[(i,)] for i in range(1 + max(p[0] for p in total)))


def values(x: Any, env: Env) -> list[Any]:
    """Every value of a subject."""
    return [v for _, v in points(x, env)]


# -- banks and sectors --------------------------------------------------------------------------------------


def requests(c: Any, env: Env) -> Iterator[list[int]]:
    """The byte addresses of the lanes, the leaves of the first top-level mode, for each of the other coordinates."""
    shape = c.access.shape if not isinstance(c.access, ComposedLayout) else c.access.inner.shape
    lanes = extent(shape[0] if isinstance(shape, tuple) and shape else shape, env)
    found = [v[0] if isinstance(v, tuple) else v for v in values(c.access, env)]
    for start in range(0, len(found), lanes):
        yield [v * c.element_bytes for v in found[start : start + lanes]]


def ways(addresses: list[int], width: int) -> int:
    """How often the busiest bank is read in a phase: 128 bytes a phase, 32 banks of 4 bytes, equal words together."""
    most = 0
    together = 32 if width <= 4 else 128 // width
    for start in range(0, len(addresses), together):
        words = {w for a in addresses[start : start + together] for w in range(a // 4, (a + width - 1) // 4 + 1)}
        if width > 4:  # wider accesses are served unit by unit
            words = {a // width for a in addresses[start : start + together]}
            banks = Counter(u % (128 // width) for u in words)
        else:
            banks = Counter(w % 32 for w in words)
        most = max(most, *banks.values())
    return most


# -- what each kind says -------------------------------------------------------------------------------------


def injective(c: Any, env: Env) -> bool:
    found = values(c.layout, env)
    return len(set(found)) == len(found)


def _range(onto: Any, env: Env) -> set[Any]:
    """The values 0 .. n - 1, or the points of a box."""
    if not isinstance(onto, tuple):
        return set(range(max(0, number(onto, env))))
    return set(_box([number(n, env) for n in flat(onto)]))


def _scalars(found: list[Any], onto: Any) -> list[Any]:
    return found if isinstance(onto, tuple) else [v[0] if isinstance(v, tuple) else v for v in found]


def surjective(c: Any, env: Env) -> bool:
    return set(_scalars(values(c.layout, env), c.onto)) >= _range(c.onto, env)


def bijective(c: Any, env: Env) -> bool:
    return _each(values(c.layout, env), c.onto, 1, env)


def partition(c: Any, env: Env) -> bool:
    return _each(values(c.layout, env), c.onto, number(c.copies, env), env)


def _each(found: list[Any], onto: Any, copies: int, env: Env) -> bool:
    wanted = _range(onto, env)
    counted = Counter(_scalars(found, onto))
    return set(counted) == wanted and all(n == copies for n in counted.values())


def multiplicity(c: Any, env: Env) -> bool:
    copies = number(c.copies, env)
    return all(n == copies for n in Counter(values(c.layout, env)).values())


def covers(c: Any, env: Env) -> bool:
    tiles = [-(-number(n, env) // number(t, env)) for n, t in zip(flat(c.domain), flat(c.tile), strict=True)]
    onto = tuple(tiles) if isinstance(c.domain, tuple) else tiles[0]
    return _each(values(c.tiles, env), onto, 1, env)


def in_bounds(c: Any, env: Env) -> bool:
    low, ends = number(c.low, env), [number(n, env) for n in flat(c.extent)]
    return all(
        low <= v < n
        for found in values(c.layout, env)
        for v, n in zip(found if isinstance(found, tuple) else (found,), ends, strict=True)
    )


def fits_in(c: Any, env: Env) -> bool:
    low, high = (-(2 ** (c.bits - 1)), 2 ** (c.bits - 1)) if c.signed else (0, 2**c.bits)
    found = (v for value in values(c.layout, env) for v in flat(value))
    return all(low <= v * c.unit_bytes < high for v in found)


def equal(c: Any, env: Env) -> bool:
    if isinstance(c.a, AddressMap):
        boxes = [[max(0, number(n, env)) for n in x.extents] for x in (c.a, c.b)]
        if boxes[0] != boxes[1] and any(math.prod(b) for b in boxes):
            return False
        return dict(points(c.a, env)) == dict(points(c.b, env))
    return values(c.a, env) == values(c.b, env)


def aligned(c: Any, env: Env) -> bool:
    base = number(c.base_bytes, env)
    found = (v for value in values(c.layout, env) for v in flat(value))
    return all((base + v * c.element_bytes) % c.to_bytes == 0 for v in found)


def vectorizable(c: Any, env: Env) -> bool:
    found, v = values(c.layout, env), c.elements
    runs = [found[i : i + v] for i in range(0, len(found), v)]
    return all(run[0] % v == 0 and run == [run[0] + i for i in range(v)] for run in runs)


def conflict_free(c: Any, env: Env) -> bool:
    return all(
        not any(a % c.width_bytes for a in lanes) and ways(lanes, c.width_bytes) <= c.degree
        for lanes in requests(c, env)
    )


def coalesced(c: Any, env: Env) -> bool:
    most = number(c.sectors, env)
    return all(len({b // 32 for a in lanes for b in range(a, a + c.width_bytes)}) <= most for lanes in requests(c, env))


def holds(c: Any, env: Env) -> bool:
    return fact(c.fact, env)
