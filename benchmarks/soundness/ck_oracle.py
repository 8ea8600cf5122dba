"""What claims about CK Tile say, in plain integers and upstream's arithmetic, sharing nothing with the provers.

Upstream divides as C++ does, by multiplication or by ``/``, and the two differ below 0: a lower index that is the
quotient or remainder of a negative one, or read outside of a table, is ``None`` here, whatever it may be.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from .plain import Env, TooMany, fact, number, points

Index: TypeAlias = "int | None"
Row: TypeAlias = "tuple[tuple[int, ...], Index, bool | None]"  # an index, its offset, its mask

MOST_POINTS = 1500  # of a descriptor that is looked at
LOW_24_BITS = 0xFFFFFF


# -- transforms, by their fields ------------------------------------------------------------------------------


def _sum(values: Sequence[Index], factors: Sequence[int]) -> Index:
    if any(v is None for v in values):
        return None
    return sum(v * f for v, f in zip(values, factors, strict=True) if v is not None)


def _row_major(lengths: Sequence[int]) -> list[int]:
    return [math.prod(lengths[i + 1 :]) for i in range(len(lengths))]


def _merge(t: Any, u: Sequence[Index], env: Env) -> list[Index]:
    lengths, rest = [number(n, env) for n in t.lengths], u[0]
    if len(lengths) < 2:
        return [rest] * len(lengths)
    if rest is None or rest < 0 or min(lengths[1:]) < 1:
        return [None] * len(lengths)
    out: list[Index] = []
    for n in reversed(lengths[1:]):
        rest, digit = divmod(rest, n)
        out.insert(0, digit)
    return [rest, *out]


def _unmerge(t: Any, u: Sequence[Index], env: Env) -> list[Index]:
    lengths = [number(n, env) for n in t.lengths]
    if not t.use_24bit:
        return [_sum(u, _row_major(lengths))]
    cut = [x if s == 1 or x is None else x & LOW_24_BITS for x, s in zip(u, _row_major(lengths), strict=True)]
    return [_sum(cut, [s if s == 1 else s & LOW_24_BITS for s in _row_major(lengths)])]


def _modulo(t: Any, u: Sequence[Index], env: Env) -> list[Index]:
    m = number(t.modulus, env)
    return [None if u[0] is None or u[0] < 0 or m < 1 else u[0] % m]


def _xor(t: Any, u: Sequence[Index], env: Env) -> list[Index]:
    n = number(t.lengths[1], env)
    return [u[0], None if u[0] is None or u[1] is None or u[0] < 0 or n < 1 else u[1] ^ (u[0] % n)]


def _indexing(t: Any, u: Sequence[Index], env: Env) -> list[Index]:
    return [number(t.table[u[0]], env) if u[0] is not None and 0 <= u[0] < len(t.table) else None]


def _added(x: Index, by: int) -> list[Index]:
    return [None if x is None else x + by]


LOWER: dict[str, Callable[[Any, Sequence[Index], Env], list[Index]]] = {
    "PassThrough": lambda t, u, env: list(u),
    "Pad": lambda t, u, env: _added(u[0], -number(t.left, env)),
    "LeftPad": lambda t, u, env: _added(u[0], -number(t.left, env)),
    "RightPad": lambda t, u, env: list(u),
    "Embed": lambda t, u, env: [_sum(u, [number(c, env) for c in t.coefficients])],
    "Merge": _merge,
    "Unmerge": _unmerge,
    "Freeze": lambda t, u, env: [number(t.index, env)],
    "Insert": lambda t, u, env: [],
    "Replicate": lambda t, u, env: [],
    "Slice": lambda t, u, env: _added(u[0], number(t.begin, env)),
    "Modulo": _modulo,
    "Xor": _xor,
    "Offset": lambda t, u, env: _added(u[0], number(t.offset, env)),
    "Indexing": _indexing,
}


def _admits(t: Any, u: Sequence[Index], env: Env) -> bool | None:
    """The mask of a transform; None where upstream's index is not known."""
    kind = type(t).__name__
    if kind not in ("Pad", "LeftPad", "RightPad") or t.skip:
        return True
    if u[0] is None:
        return None
    left = number(t.left, env) if kind != "RightPad" else 0
    above = u[0] >= left or kind == "RightPad"
    return above and (kind == "LeftPad" or u[0] < number(t.length, env) + left)


def legal(d: Any, env: Env) -> bool:
    """Whether the parameters of all transforms are what they are meant to be."""
    return all(_legal(t, env) for t in d.graph.transforms)


def _legal(t: Any, env: Env) -> bool:
    kind = type(t).__name__
    if kind in ("Pad", "LeftPad", "RightPad"):
        return all(number(getattr(t, n, 0), env) >= 0 for n in ("left", "right"))
    if kind == "Slice":
        return 0 <= number(t.begin, env) <= number(t.end, env) <= number(t.length, env)
    if kind == "Xor":
        n = number(t.lengths[1], env)
        return n >= 0 and n & (n - 1) == 0
    if kind == "Modulo":
        return number(t.modulus, env) >= 1
    return all(number(getattr(t, n, 0), env) >= 0 for n in ("index", "offset"))


# -- descriptors ----------------------------------------------------------------------------------------------


def extents(x: Any, env: Env) -> list[int]:
    """The lengths at sizes. Raises TooMany for a box of too many points."""
    out = [max(0, number(n, env)) for n in x.extents]
    if math.prod(max(n, 1) for n in out) > MOST_POINTS:
        raise TooMany
    return out


def hidden(d: Any, at: Sequence[int], env: Env) -> tuple[dict[int, Index], bool | None]:
    """(the index of every hidden dimension, the mask) at a top index."""
    g, mask = d.graph, True
    h: dict[int, Index] = {}
    h.update(zip(g.top_ids, at, strict=True))
    open_ = False
    for t, low, up in reversed([*zip(g.transforms, g.lower_ids, g.upper_ids, strict=True)]):
        u = [h.get(i, 0) for i in up]
        admitted = _admits(t, u, env)
        mask, open_ = mask and admitted is not False, open_ or admitted is None
        h.update(zip(low, LOWER[type(t).__name__](t, u, env), strict=True))
    return h, None if mask and open_ else mask


def value(d: Any, at: Sequence[int], env: Env) -> tuple[Index, bool | None]:
    """(offset, mask) of a descriptor at an index, by its transforms, of another map by its expressions."""
    if hasattr(d, "graph"):
        h, mask = hidden(d, at, env)
        return h.get(d.graph.bottom_ids[0], 0), mask
    here = {**env, **{c.name: i for c, i in zip(d.coords, at, strict=True)}}
    return number(d.offset, here), all(fact(f, here) for f in d.valid)


def rows(d: Any, env: Env) -> Iterator[Row]:
    """(index, offset, mask) at every index."""
    for at in itertools.product(*map(range, extents(d, env))):
        yield (at, *value(d, at, env))


# -- claims ---------------------------------------------------------------------------------------------------


def no_invalid_access(c: Any, env: Env) -> bool:
    size, n = number(c.size, env), c.elements
    along = c.along % len(c.layout.extents) if c.layout.extents else 0
    for at, offset, mask in rows(c.layout, env):
        begins = n == 1 or at[along] % n == 0
        if begins and mask is not False and (offset is None or not 0 <= offset <= size - n):
            return False
    return _sound(c.layout, env)


def mask_is_exactly(c: Any, env: Env) -> bool:
    wanted = c.predicate
    for at, _, mask in rows(c.layout, env):
        here = {**env, **{x.name: i for x, i in zip(wanted.coords, at, strict=True)}}
        if mask is not all(fact(f, here) for f in wanted.valid):
            return False
    return _sound(c.layout, env)


def _vectors(c: Any, env: Env) -> Iterator[list[tuple[Index, bool | None]] | None]:
    """The lanes of each whole vector, and None where one is cut."""
    sizes = extents(c.layout, env)
    if math.prod(sizes) and sizes[c.along] % c.elements:
        yield None
        return
    for first in itertools.product(*(range(0, n, c.elements if i == c.along else 1) for i, n in enumerate(sizes))):
        yield [value(c.layout, [x + j * (i == c.along) for i, x in enumerate(first)], env) for j in range(c.elements)]


def vector_does_not_straddle(c: Any, env: Env) -> bool:
    for lanes in _vectors(c, env):
        if lanes is None or any(mask is None or mask is not lanes[0][1] for _, mask in lanes):
            return False
    return _sound(c.layout, env)


def guaranteed_vector_length(c: Any, env: Env) -> bool:
    stride = number(c.stride, env)
    for lanes in _vectors(c, env):
        if lanes is None or any(mask is None or mask is not lanes[0][1] for _, mask in lanes):
            return False
        start = lanes[0][0]
        if lanes[0][1] and (start is None or any(x != start + j * stride for j, (x, _) in enumerate(lanes))):
            return False
    return _sound(c.layout, env)


def _sound(d: Any, env: Env) -> bool:
    """Whether parameters are legal and no admitted index is one where upstream's divisions differ."""
    if not hasattr(d, "graph"):
        return True
    return legal(d, env) and all(mask is False or _known(d, at, env) for at, _, mask in rows(d, env))


def _known(d: Any, at: Sequence[int], env: Env) -> bool:
    h, _ = hidden(d, at, env)
    return all(x is not None for x in h.values())


STEPS = 16  # indices from and to which a move is tried


def moving_equals_making(c: Any, env: Env) -> bool:
    """Raises TooMany where no move is wrong, and some were not tried or meet an index that upstream leaves open."""
    d = c.layout
    every = [*itertools.product(*map(range, extents(d, env)))]
    some = [*every[:: -(-len(every) // STEPS) or 1], *(at for at in every if sum(at) == 1)]
    found = {_moved(d, a, b, env) for a in some for b in some}
    if False in found or not _sound(d, env):
        return False
    if len(every) > STEPS or None in found:
        raise TooMany
    return True


def _moved(d: Any, start: Sequence[int], end: Sequence[int], env: Env) -> bool | None:
    """Whether upstream's steps from one index to another give every hidden index of the other; None if that is open."""
    g = d.graph
    h, made = dict(hidden(d, start, env)[0]), hidden(d, end, env)[0]
    diff: dict[int, int] = {}
    for i, a, b in zip(g.top_ids, start, end, strict=True):
        diff[i], h[i] = b - a, b
    for t, low, up in reversed([*zip(g.transforms, g.lower_ids, g.upper_ids, strict=True)]):
        steps = [diff.get(i, 0) for i in up]
        if not any(steps):
            continue
        new = [h.get(i, 0) for i in up]
        old = [h.get(i, 0) for i in low]
        if None in new or None in old:
            return None
        found = _step(t, steps, old, new, env)
        for i, by in zip(low, found, strict=True):
            if by is None:
                return None
            diff[i] = by
            h[i] = (h.get(i, 0) or 0) + by
    return all(h.get(i, 0) == x for i, x in made.items() if x is not None)


def _step(t: Any, steps: list[int], old: list[Any], new: list[Any], env: Env) -> list[Index]:
    """Upstream's step of each lower index."""
    kind = type(t).__name__
    if kind in ("Merge", "Xor"):
        there = LOWER[kind](t, new, env)
        return [None if x is None else x - y for x, y in zip(there, old, strict=True)]
    if kind == "Modulo":
        return [_remainder(new[0] + steps[0], number(t.modulus, env)) - old[0]]
    if kind in ("Embed", "Unmerge"):
        return LOWER[kind](t, steps, env)
    if kind in ("Insert", "Replicate"):
        return []
    return [0] if kind in ("Indexing", "Freeze") else list(steps)


def _remainder(x: int, m: int) -> int:
    return int(math.fmod(x, m))


# -- distributions and banks ----------------------------------------------------------------------------------


def distribution_covers(c: Any, env: Env) -> bool:
    e = c.distribution.encoding
    boxes = [number(n, env) for n in (*c._partitions, *(e.length_of(p) for p in e.Y))]
    tile = [math.prod(number(n, env) for n in h) for h in e.H]
    if math.prod(boxes) > 4 * MOST_POINTS or math.prod(tile) > 4 * MOST_POINTS:
        raise TooMany
    held = Counter(_element(e, at, env) for at in itertools.product(*map(range, boxes)))
    times = math.prod(number(n, env) for n in e.R)
    return set(held) == {*itertools.product(*map(range, tile))} and set(held.values()) == {times}


def _element(e: Any, at: Sequence[int], env: Env) -> tuple[int, ...]:
    """The element of the tile that (P, Y) holds."""
    h: dict[Any, int] = {}
    h.update(zip(e.Y, at[len(e.P) :], strict=True))
    for pairs, p in reversed([*zip(e.P, at, strict=False)]):
        digits = []
        for pair in reversed(pairs[1:]):
            p, digit = divmod(p, number(e.length_of(pair), env))
            digits.insert(0, digit)
        h.update(zip(pairs, [p, *digits], strict=False))
    out = []
    for k, lengths in enumerate(e.H):
        x = 0
        for m, n in enumerate(lengths):
            x = x * number(n, env) + h.get((k + 1, m), 0)
        out.append(x)
    return tuple(out)


def lds_conflict_degree(c: Any, env: Env) -> bool:
    """Each phase asks each bank for at most so many different words, counted word by word."""
    served = c.served
    every = [v * c.element_bytes for _, v in points(c.access, env)]
    for first in range(0, len(every), served.lanes):
        start = every[first : first + served.lanes]
        if any(b % served.width_bytes for b in start):
            return False
        for group in served.groups:
            words: dict[int, set[int]] = {}
            for lane in group:
                for word in range(start[lane] // 4, -(-(start[lane] + served.width_bytes) // 4)):
                    words.setdefault(word % served.banks, set()).add(word)
            if max(map(len, words.values()), default=0) > c.at_most:
                return False
    return True


HOLDS: Mapping[str, Callable[[Any, Env], bool]] = {
    "DistributionCovers": distribution_covers,
    "GuaranteedVectorLength": guaranteed_vector_length,
    "LdsConflictDegree": lds_conflict_degree,
    "MaskIsExactly": mask_is_exactly,
    "MovingEqualsMaking": moving_equals_making,
    "NoInvalidAccess": no_invalid_access,
    "VectorDoesNotStraddle": vector_does_not_straddle,
}
