"""The elements of a tensor as its stores address them: the points of a box.

Boxes of a tensor map start at its coordinates. Other stores start anywhere in memory. That is a point of one mode if
the tensor lies without gaps. Otherwise, such as with rows *ld* apart, it is a point in one of its modes, which no
store may leave.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from symlayout.expr import Expr, Fact, Int, Symbol, digit, divides, split, terms_of
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.layout import Layout
from symlayout.tma import TensorMap

from ..algebra.certificates import Certificate, divisible, nonneg, together
from ..claim import Proof
from ..claims.bijective import Bijective
from ..claims.injective import Injective
from .store_sites import Open, Store, map_of
from .whole_tiles import Short, whole_tiles


@dataclass(frozen=True)
class Places:
    """Stores that start at points of a box, and the certificates that its points are the elements of the tensor."""

    stores: tuple[Store, ...]
    extents: tuple[Int, ...]
    why: tuple[Certificate, ...] = ()


def places(kernel: Kernel, name: str, every: Sequence[Store], facts: Facts) -> Iterator[Callable[[], Places]]:
    """The ways to see the elements of a tensor as points. Each raises Open where it is none."""
    layout = kernel.tensor(name).layout
    maps = [map_of(kernel, s.site.op) for s in every]
    if any(maps):
        yield lambda: in_a_map(kernel, name, every, maps, facts)
        return
    yield lambda: _in_memory(name, layout, every, facts)
    if isinstance(layout, Layout) and len(layout.modes()) > 1:
        yield lambda: in_modes(name, layout, every, facts)
        if any(type(d) is int and d > 1 for _, d in layout.modes()):
            yield lambda: in_modes(name, layout, every, facts, nearest=True)
            yield lambda: in_modes(name, layout, every, facts, limited=True)


def in_a_map(kernel: Kernel, name: str, every: Sequence[Store], maps: Sequence[Any], facts: Facts) -> Places:
    through, layout = maps[0], kernel.tensor(name).layout
    if through is None or not all(m and described(m) == described(through) for m in maps):
        raise Open(f"how the boxes of {name} meet what is stored to it in other ways")
    m = through.tensor_map
    strides = (1, *(divides(m.element_bytes, n) for n in m.global_stride_bytes))
    mine = [(facts.normal(n), facts.normal(d)) for n, d in zip(m.global_dim, strides, strict=True)]
    own = [(facts.normal(n), facts.normal(d)) for n, d in layout.modes()] if isinstance(layout, Layout) else []
    same = m.global_address == 0 and m.element_bits == kernel.tensor(name).dtype.bits
    if not same or sorted(map(str, mine)) != sorted(map(str, own)):
        raise Open(f"that the elements of {name} are those of {through.name}: {layout}, and {m}")
    return Places(tuple(every), m.global_dim, _apart(name, layout, facts))


def described(m: Any) -> Any:
    return m.tensor_map.global_address, m.tensor_map.global_dim, m.tensor_map.global_stride_bytes


def _apart(name: str, layout: Any, facts: Facts) -> tuple[Certificate, ...]:
    found = Injective(layout).certify(facts)
    if found is None:
        raise Open(f"that the elements of {name} lie apart in memory: {layout}")
    return tuple(certificates(found))


def _in_memory(name: str, layout: Any, every: Sequence[Store], facts: Facts) -> Places:
    found = Bijective(layout, layout.size()).certify(facts)
    if found is None:
        raise Open(f"that {name} lies in memory without gaps: {layout}")
    return Places(tuple(every), (layout.size(),), tuple(certificates(found)))


def in_modes(
    name: str, layout: Layout, every: Sequence[Store], facts: Facts, nearest: bool = False, limited: bool = False
) -> Places:
    """By coordinates, the contiguous mode first. That a store stays inside each is shown.

    With *nearest*, terms go to the nearest multiple of a stride: 544*x of rows of 576 is a row each less 32. With
    *limited*, what a condition of the store limits is the contiguous coordinate, where the rest is whole steps.
    What is past the last mode need not be known where steps of it, being larger than all that is inside, lie apart.
    """
    modes = in_order(layout)
    if modes[0][1] != 1:
        raise Open(f"a contiguous mode of {name}: {layout}")
    why = list(_apart(name, layout, facts))
    span = sum(((n - 1) * d for n, d in modes[:-1]), start=1)
    apart = shown(Fact(modes[-1][1] - span, ">="), (), facts.given)
    why += [apart] if apart is not None else []
    moved = []
    for s in every:
        rest, at = s.start[0], list[Any]()
        for _, d in reversed(modes[1:]):
            if limited:
                q, rest = _limited(rest, d, modes, s)
            else:
                q, rest = _nearest(rest, d) if nearest and type(d) is int else split(rest, d)
            at.insert(0, q)
        moved.append(replace(s, start=(rest, *at), width=(*s.width, *(1,) * len(at))))
        known = [*s.reached, *s.chosen, *s.guards]
        last = digit("last", s.width[0])
        for e, (n, _) in list(zip((rest + last, *at), modes, strict=True))[: None if apart is None else -1]:
            short = whole_tiles((e,), (n,), facts)
            for f in (Fact(e, ">="), Fact(n - 1 - e, ">=")):
                tiles = None if short is None else _from_tiles(f, e, short, known, facts.given)
                found = tiles or shown(f, known, facts.given)
                if found is None:
                    raise Open(f"that {s.site} stays inside a mode of {layout}: {f}")
                why.append(found)
    return Places(tuple(moved), tuple(n for n, _ in modes), tuple(why))


def _from_tiles(f: Fact, e: Any, short: Short, known: Iterable[Fact], given: tuple[Fact, ...]) -> Certificate | None:
    """A certificate that a fact about a coordinate follows with a number of tiles in place of its raster."""
    goal = short.put(f, (e,))
    if goal is None:
        return None
    others = (short.put(g, (e,)) for g in known)
    found = shown(goal, [g for g in others if g is not None], given)
    return None if found is None else together([*short.why, found], str(f))


def _limited(x: Any, d: Any, modes: Sequence[tuple[Any, Any]], s: Store) -> tuple[Any, Any]:
    """(q, r) with x == d*q + r, where a condition keeps r, or r and a few elements behind it, in the contiguous mode.

    Raises Open where no condition leaves whole steps of d.
    """
    for f in (*s.guards, *s.chosen) if type(d) is int and len(modes) == 2 else ():
        column = modes[0][0] - 1 - f.expr
        away = x - column
        c = terms_of(away).get((), 0)
        q, left = split(away - c, d)
        if type(left) is int and left == 0:
            more, c = (c + d // 2) // d, (c + d // 2) % d - d // 2
            return q + more, column + c
    raise Open(f"which condition limits the contiguous coordinate of {s.site}")


def _nearest(x: Any, d: int) -> tuple[Any, Any]:
    """(q, r) with x == d*q + r and each coefficient of r at most d/2 away from 0; a number is split as ever."""
    q, r = split(x, d)
    for m, c in terms_of(r).items():
        if m and 2 * c > d:
            term: Any = math.prod(m, start=cast(Any, 1))
            q, r = q + term, r - d * term
    return q, r


def in_order(layout: Layout) -> list[tuple[Any, Any]]:
    """(extent, stride) of the modes of a layout, the contiguous one first."""
    return sorted(layout.modes(), key=lambda mode: _length(mode[1]))


def as_modes(m: TensorMap, layout: Layout, s: Store, facts: Facts) -> Store:
    """Boxes of a map as those of the modes of its tensor, in their order: that of a map's dimensions may be another.

    Raises Open if a mode is not a dimension of the map.
    """
    strides = (1, *(divides(m.element_bytes, n) for n in m.global_stride_bytes))
    dims = [(str(facts.normal(n)), str(facts.normal(d))) for n, d in zip(m.global_dim, strides, strict=True)]
    order: list[int] = []
    for n, d in in_order(layout):
        row = str(facts.normal(n)), str(facts.normal(d))
        found = next((i for i, dim in enumerate(dims) if dim == row and i not in order), None)
        if found is None:
            raise Open(f"which dimension of {m} is the mode {n}:{d} of {layout}")
        order.append(found)
    return replace(s, start=tuple(s.start[i] for i in order), width=tuple(s.width[i] for i in order))


def _length(stride: Any) -> tuple[int, int]:
    """Strides by the sizes that they are products of, numbers by value."""
    return max(map(len, terms_of(stride))), terms_of(stride).get((), 0)


# -- what is shown --------------------------------------------------------------------------------------


def certificates(proof: Proof) -> list[Any]:
    """The certificate of a proof, where it has one."""
    return [] if proof.certificate is None else [proof.certificate]


def shown(f: Fact, known: Iterable[Fact], given: tuple[Fact, ...]) -> Certificate | None:
    """A certificate that a fact follows, or None."""
    known = tuple(known)
    facts = Facts.about(f, known, given=(*given, *known))
    x = facts.normal(f.expr)
    if f.relation == "%":
        return divisible([], x, f.modulus, facts)
    parts: list[Certificate] = []
    for p in (x,) if f.relation == ">=" else (x, -x):
        found = nonneg(p, facts)
        sums = [] if found is not None else _apart_sums(p)
        addends = [found] if found is not None else [*itertools.takewhile(bool, (nonneg(a, facts) for a in sums))]
        if not addends or len(addends) < len(sums):
            return None
        parts += [a for a in addends if a is not None]
    return together(parts, str(f))


def _apart_sums(p: Any) -> list[Any]:
    """The sums over disjoint symbols that p is made of, the short ones first; none where one of them is never above 0.

    Each is shown alone where rounding stands in the way of all: 8*((t//32) % 2) + 32*b needs it for the first alone. A
    number above 0 is left out.
    """
    groups: list[tuple[set[Symbol], Any]] = []
    for m, c in terms_of(p).items():
        mine, term = {s for a in m for s in a.symbols}, math.prod(m, start=c)
        if not m and c > 0:
            continue
        near = [g for g in groups if g[0] & mine]
        groups = [g for g in groups if not g[0] & mine]
        groups.append((mine.union(*(g[0] for g in near)), sum((g[1] for g in near), start=term)))
    sums = sorted((x for _, x in groups), key=lambda x: len(terms_of(x)))
    return sums if len(sums) > 1 and all(max(terms_of(x).values()) > 0 for x in sums) else []


def plain_terms(x: Any, indices: set[Any]) -> Any:
    """The part of a sum that contains sizes alone."""
    if not isinstance(x, Expr):
        return x
    out: Any = 0
    for m, c in x.terms.items():
        if not any(indices & set(a.symbols) for a in m):
            term: Any = c
            for a in m:
                term = term * a
            out = out + term
    return out
