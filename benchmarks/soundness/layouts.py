"""Random claims about layouts and maps, static and symbolic, about as often true as false, one row for each kind."""

from __future__ import annotations

import math
import random
from typing import Any

from checkers import (
    Aligned,
    Bijective,
    Coalesced,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    Holds,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    Surjective,
    Vectorizable,
)
from symlayout import ComposedLayout, Layout
from symlayout.address_map import AddressMap
from symlayout.expr import at_least, eq, maximum, minimum, multiple_of

from . import plain
from .row import Row, stated
from .subjects import (
    Sizes,
    nested,
    random_layout,
    random_map,
    random_modes,
    random_subject,
    random_swizzle,
    reshaped,
    some_size,
    symbolic_layout,
    symbolic_map,
    symbolic_modes,
    symbolic_subject,
    warp_access,
)


def _cosize(x: Any) -> int:
    """One more than the greatest value of a static subject, at least 1."""
    found = [v for value in plain.values(x, {}) for v in plain.flat(value)]
    return max([*found, 0]) + 1


def _copies(x: Any) -> Any:
    """The product of the extents of broadcast modes."""
    inner = x.inner if isinstance(x, ComposedLayout) else x
    return math.prod(n for n, d in inner.modes() if type(d) is int and d == 0)


def _scalar(x: AddressMap) -> bool:
    return not isinstance(x.offset, tuple)


# -- static -----------------------------------------------------------------------------------------------


def injective(r: random.Random) -> Injective:
    return Injective(random_subject(r))


def bijective(r: random.Random) -> Bijective:
    x = random_subject(r)
    return Bijective(x, max(1, x.size() + r.choice((0, 0, 0, 0, 1, -1))))


def surjective(r: random.Random) -> Surjective:
    x = random_subject(r)
    size, cosize = x.size(), _cosize(x)
    return Surjective(x, max(1, r.choice((size, size, cosize, cosize // 2 + 1, size // 2 + 1))))


def in_bounds(r: random.Random) -> InBounds:
    x = random_subject(r)
    low = r.choice((0, 0, 0, 0, -8, 1))
    return InBounds(x, max(1, _cosize(x) + r.choice((0, 0, 0, 1, -1, 8, 16))), low=low)


def fits_in(r: random.Random) -> FitsIn:
    x, unit = random_subject(r), r.choice((1, 1, 2, 3, 4))
    bits = max(1, (_cosize(x) * unit).bit_length() + r.choice((0, 0, -1, 1)))
    return FitsIn(x, bits=bits, signed=r.random() < 0.5, unit_bytes=unit)


def partition(r: random.Random) -> Partition:
    x = random_layout(r)
    copies = _copies(x) * r.choice((1, 1, 1, 2))
    return Partition(x, max(1, x.size() // copies), copies=copies)


def multiplicity(r: random.Random) -> Multiplicity:
    x = random_layout(r) if r.random() < 0.9 else random_map(r)
    copies = 1 if isinstance(x, AddressMap) else _copies(x)
    return Multiplicity(x, copies=copies * r.choice((1, 1, 1, 2)))


def equal(r: random.Random) -> Equal:
    x = random_subject(r)
    return Equal(x, reshaped(r, x))


def aligned(r: random.Random) -> Aligned:
    modes = random_modes(r)
    if r.random() < 0.6:
        c = r.choice((2, 4, 8))
        modes = [(n, d * c) for n, d in modes]
    x = nested(r, modes)
    if all(d >= 0 for _, d in modes) and r.random() < 0.4:
        x = ComposedLayout(random_swizzle(r), r.choice((0, 0, 8, 16, 1)), x)
    base = r.choice((0, 0, 16, 4, 128))
    if r.random() < 0.1:
        return Aligned(random_map(r), to_bytes=r.choice((2, 4, 6)), element_bytes=r.choice((2, 4)), base_bytes=base)
    return Aligned(x, to_bytes=r.choice((1, 2, 3, 4, 8, 16)), element_bytes=r.choice((1, 2, 3, 4)), base_bytes=base)


def vectorizable(r: random.Random) -> Vectorizable:
    v = r.choice((1, 2, 2, 4, 4, 8))
    modes = [(v * r.choice((1, 2, 3)), 1), *((n, d * r.choice((v, v, v, 1))) for n, d in random_modes(r, 3))]
    if r.random() < 0.2:
        modes.insert(0, (r.choice((1, 1, 2)), r.choice((0, 1, 5))))
    if r.random() < 0.1:
        modes[0] = (modes[0][0], r.choice((0, 2, -1)))
    x: Any = nested(r, modes)
    if all(d >= 0 for _, d in modes) and r.random() < 0.3:
        x = ComposedLayout(random_swizzle(r), r.choice((0, 0, v, 1)), x)
    return Vectorizable(x, elements=v)


def conflict_free(r: random.Random, s: Sizes | None = None) -> ConflictFree:
    given = {"given": s.given} if s is not None else {}
    return ConflictFree(
        warp_access(r, s),
        element_bytes=r.choice((1, 2, 2, 4, 4, 8, 3)),
        width_bytes=r.choice((1, 2, 4, 4, 8, 16, 16)),
        degree=r.choice((1, 1, 1, 2, 4)),
        **given,
    )


def coalesced(r: random.Random, s: Sizes | None = None) -> Coalesced:
    given = {"given": s.given} if s is not None else {}
    return Coalesced(
        warp_access(r, s),
        element_bytes=r.choice((1, 2, 4, 4, 8)),
        width_bytes=r.choice((1, 2, 4, 4, 8, 16)),
        sectors=r.choice((0, 0, 1, 2, 4, 8, 16, 32)),
        **given,
    )


def covers(r: random.Random) -> Covers:
    m, n, t = r.randint(1, 20), r.randint(1, 20), r.choice((1, 2, 3, 4))
    rows, columns = -(-m // t), -(-n // t)
    if r.random() < 0.3:
        return Covers(random_subject(r) if r.random() < 0.5 else random_layout(r), m, tile=t)
    steps = max(1, rows * columns + r.choice((0, 0, 0, 1, -1)))
    ways = [
        lambda b: (b % rows, b // rows),
        lambda b: (b // columns, b % columns),
        lambda b: (b % rows, b % columns),
        lambda b: (rows - 1 - b % rows, b // rows),
    ]
    when = (lambda b: b < rows * columns) if r.random() < 0.3 else None
    return Covers(AddressMap.over(r.choice(ways), (steps,), when), (m, n), tile=t)


def holds(r: random.Random) -> Holds:
    x = r.randint(-3, 12)
    s = Sizes(r)
    e = r.choice((s.M - x, s.M * s.N - x, s.ld - s.M + x, s.tiles * s.t - s.M, x - s.S))
    f = r.choice((at_least(e, 0), eq(e, x), multiple_of(e + x, r.choice((2, 3, 4)))))
    return Holds(f.subs({v: r.randint(1, 12) for v in f.symbols}))


# -- symbolic ---------------------------------------------------------------------------------------------


def symbolic_injective(r: random.Random) -> Injective:
    s = Sizes(r)
    return Injective(symbolic_subject(r, s), given=s.given)


def symbolic_bijective(r: random.Random) -> Bijective:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    return Bijective(x, some_size(r, s, x), given=s.given)


def symbolic_surjective(r: random.Random) -> Surjective:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    return Surjective(x, r.choice((some_size(r, s, x), s.N, 1, 2)), given=s.given)


def symbolic_in_bounds(r: random.Random) -> InBounds:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    extent = r.choice((s.M * s.N, s.ld * s.N, s.M * s.ld, s.M * s.N * s.K, 2 * s.M * s.N, x.size(), s.M, 4096))
    return InBounds(x, extent, low=r.choice((0, 0, 0, -s.M, -64)), given=s.given)


def symbolic_fits_in(r: random.Random) -> FitsIn:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    bits, unit = r.choice((8, 12, 16, 20)), r.choice((1, 1, 2, 3))
    return FitsIn(x, bits=bits, signed=r.random() < 0.5, unit_bytes=unit, given=s.given)


def symbolic_partition(r: random.Random) -> Partition:
    s = Sizes(r)
    x = symbolic_layout(r, s)
    copies = r.choice((1, _copies(x), _copies(x), s.M))
    onto = r.choice((x.size(), s.M * s.N, s.N, s.t * s.N))
    return Partition(x, onto, copies=copies, given=s.given)


def symbolic_multiplicity(r: random.Random) -> Multiplicity:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    copies = 1 if isinstance(x, AddressMap) else _copies(x)
    return Multiplicity(x, r.choice((copies, copies, s.M, 1, s.t)), given=s.given)


def symbolic_equal(r: random.Random) -> Equal:
    s = Sizes(r)
    x = symbolic_subject(r, s)
    if isinstance(x, AddressMap):
        return Equal(x, reshaped(r, x), given=s.given)
    y = reshaped(r, x) if r.random() < 0.6 else symbolic_layout(r, s)
    return Equal(x, y, given=s.given)


def symbolic_aligned(r: random.Random) -> Aligned:
    s = Sizes(r)
    c = r.choice((1, 2, 4, 8))
    x: Any = symbolic_map(r, s)
    if r.random() < 0.85:
        found = symbolic_layout(r, s)
        inner = found.inner if isinstance(found, ComposedLayout) else found
        x = nested(r, [(n, d * c) for n, d in inner.modes()])
        if isinstance(found, ComposedLayout):
            x = ComposedLayout(found.outer, found.offset * c, x)
    base = r.choice((0, 0, 16, 16 * s.M, s.N))
    to, element = r.choice((2, 4, 8, 16, 3)), r.choice((1, 2, 4))
    return Aligned(x, to_bytes=to, element_bytes=element, base_bytes=base, given=s.given)


def symbolic_vectorizable(r: random.Random) -> Vectorizable:
    s = Sizes(r)
    v = r.choice((1, 2, 4))
    first = r.choice((v * s.M, s.N, s.M, v, 2 * v))
    rest = [(n, d * r.choice((v, v, first, 1))) for n, d in symbolic_modes(r, s)[:2]]
    x: Any = nested(r, [(first, r.choice((1, 1, 1, 1, 0, 2))), *rest])
    if r.random() < 0.2 and all(type(d) is int and d >= 0 for _, d in x.modes()):
        x = ComposedLayout(random_swizzle(r), r.choice((0, 8, s.M * v)), x)
    return Vectorizable(x, elements=v, given=s.given)


def symbolic_conflict_free(r: random.Random) -> ConflictFree:
    return conflict_free(r, Sizes(r))


def symbolic_coalesced(r: random.Random) -> Coalesced:
    return coalesced(r, Sizes(r))


def symbolic_covers(r: random.Random) -> Covers:
    s = Sizes(r)
    t, M, N = s.t, s.M, s.N
    m, n = -(-M // t), -(-N // t)
    if r.random() < 0.25:
        return Covers(r.choice((Layout(m), Layout(M), symbolic_map(r, s))), M, tile=t, given=s.given)
    ways = [
        lambda b: (b % m, b // m),
        lambda b: (b // n, b % n),
        lambda b: (b % m, b % n),
        lambda b: (m - 1 - b % m, b // m),
        lambda b: ((b % m + b // m) % m, b // m),
    ]
    steps = r.choice((m * n, m * n, m * n, m * n + 1, m * n * 2))
    when = (lambda b: b < m * n) if r.random() < 0.4 else None
    return Covers(AddressMap.over(r.choice(ways), (steps,), when), (M, N), tile=t, given=s.given)


def symbolic_holds(r: random.Random) -> Holds:
    s = Sizes(r)
    M, N, ld, t = s.M, s.N, s.ld, s.t
    e = r.choice(
        (
            s.tiles * t - M,
            M + t - 1 - s.tiles * t,
            M * N - M,
            ld * N - M * N,
            M * N - N - M,
            (M + t) // t - M // t - 1,
            minimum(M, N) - 1,
            maximum(M, N) - N,
            minimum(M, t) * maximum(M, t) - t * M,
            M % t,
            t * N - s.S,
            N // t * t - N,
        )
    )
    c = r.choice((0, 0, 0, 1, -1))
    f = r.choice((at_least(e, -c), at_least(e, -c), eq(e, c), multiple_of(e + c, r.choice((2, t)))))
    return Holds(f, given=s.given)


ROWS = (
    Row(Aligned, aligned, symbolic_aligned, plain.aligned),
    Row(Bijective, bijective, symbolic_bijective, plain.bijective),
    Row(Coalesced, coalesced, symbolic_coalesced, plain.coalesced),
    Row(ConflictFree, conflict_free, symbolic_conflict_free, plain.conflict_free),
    Row(Covers, covers, symbolic_covers, plain.covers),
    Row(Equal, equal, symbolic_equal, plain.equal),
    Row(FitsIn, fits_in, symbolic_fits_in, plain.fits_in),
    Row(Holds, holds, symbolic_holds, plain.holds),
    Row(InBounds, in_bounds, symbolic_in_bounds, plain.in_bounds),
    Row(Injective, injective, symbolic_injective, plain.injective),
    Row(Multiplicity, multiplicity, symbolic_multiplicity, plain.multiplicity),
    Row(Partition, partition, symbolic_partition, plain.partition),
    Row(Surjective, surjective, symbolic_surjective, plain.surjective),
    Row(Vectorizable, vectorizable, symbolic_vectorizable, plain.vectorizable),
)


def random_symbolic(r: random.Random) -> Any:
    """A claim of any kind that has a row here, over sizes."""
    return stated(r.choice(ROWS).symbolic, r)
