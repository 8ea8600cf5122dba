"""Questions to a layout algebra, drawn, each with its answer by definition in arrays of numbers.

    >>> print(compositions(Source(3)).text)
((8,2):(2,1)) o ((6,1):(2,1))
>>> print(wanted([Part([(2, 1), (3, 4)], [(3, 2)])])[0])
[0 4 8]

The arrays are made apart from the algebra that ``benchmarks.honesty`` judges by them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from symlayout import Layout, composition, dim, logical_divide, make_layout, zipped_divide

Modes = list[tuple[int, int]]

# -- the definition, in arrays of numbers -----------------------------------------------------------------


def values(modes: Modes, at: np.ndarray) -> np.ndarray:
    """A layout of these modes at linear indices; the last mode is unbounded."""
    *inner, (_, last) = modes
    out = np.zeros_like(at)
    for n, d in inner:
        out, at = out + at % n * d, at // n
    return out + at * last


def extent(modes: Modes) -> int:
    """The number of coordinates."""
    return int(np.prod([n for n, _ in modes]))


def listed(modes: Modes) -> np.ndarray:
    """All values of a layout, in order."""
    return values(modes, np.arange(extent(modes)))


def joined(modes: Modes) -> Modes:
    """Modes without extents of 1, chained neighbours merged."""
    out: Modes = []
    for n, d in modes:
        if n > 1 and out and out[-1][0] * out[-1][1] == d:
            out[-1] = (out[-1][0] * n, out[-1][1])
        elif n != 1:
            out.append((n, d))
    return out


def complement(tile: Modes, a: Modes) -> Modes:
    """The modes that fill the gaps of a tile and repeat it over A: CuTe's rule, each line of it."""
    out: Modes = []
    last = 1
    for n, d in sorted(joined([(n, d) for n, d in tile if d]), key=lambda mode: mode[1]):
        out.append((d // last, last))
        last = n * d
    copies, left = 1, last
    for n, _ in joined(a):
        copies, left = copies * -(-n // left), -(-left // n)
    return joined([*out, (copies, last)]) or [(1, 0)]


class Part(NamedTuple):
    """A mode of the left operand, and what indexes it: (tile, rest) for a divide, the tile varying fastest."""

    a: Modes
    tile: Modes
    rest: Modes = [(1, 0)]  # noqa: RUF012  # never changed

    def indices(self) -> np.ndarray:
        """B over (rest, tile)."""
        return listed(self.rest)[:, None] + listed(self.tile)[None, :]


def wanted(parts: list[Part]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A(B(i)), whether B(i) is in the domain, and whether it is at least 0, in the order of a zipped result."""
    out, inside, defined = np.zeros((1, 1), np.int64), np.ones((1, 1), bool), np.ones((1, 1), bool)
    for part in parts:
        at = part.indices()
        out = _outer(out, values(part.a, np.maximum(at, 0)), np.add)
        inside = _outer(inside, (at >= 0) & (at < extent(part.a)), np.logical_and)
        defined = _outer(defined, at >= 0, np.logical_and)
    return out.reshape(-1), inside.reshape(-1), defined.reshape(-1)


def _outer(x: np.ndarray, y: np.ndarray, op: Any) -> np.ndarray:
    """(rest, tile) of both operands: the earlier one varies faster in each."""
    both = op(x[None, :, None, :], y[:, None, :, None])
    return both.reshape(x.shape[0] * y.shape[0], x.shape[1] * y.shape[1])


# -- inputs -----------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """One question to all who answer it."""

    kind: str
    text: str
    ours: Callable[..., Layout]  # with mode="cute": CuTe's own answer, of numbers
    parts: list[Part]
    peer: Callable[[Any], Any] | None  # the same, given the module tensor_layouts
    env: dict[str, int]


class Source(random.Random):
    """Operands of which about half are inexact or overhang."""

    def grouped(self, *columns: list[Any]) -> tuple[Any, ...]:
        """Each column of leaves in the same random nested tuple."""
        counts: list[int] = []
        while sum(counts) < len(columns[0]):
            left = len(columns[0]) - sum(counts)
            counts.append(self.randint(1, left) if self.random() < 0.3 else 1)
        out = []
        for column in columns:
            leaves = iter(column)
            parts = [next(leaves) if n == 1 else tuple(next(leaves) for _ in range(n)) for n in counts]
            out.append(parts[0] if len(parts) == 1 else tuple(parts))
        return tuple(out)

    def left(self, modes: int = 4) -> Layout:
        """Compact in some order, padded, broadcast, or of unrelated strides."""
        extents = [self.choice([1, 2, 2, 3, 4, 4, 5, 6, 8]) for _ in range(self.randint(1, modes))]
        strides, current, kind = [0] * len(extents), 1, self.random()
        for i in self.sample(range(len(extents)), len(extents)):
            strides[i] = current if kind < 0.7 else self.randint(0, 60)
            current *= extents[i] * (self.choice([1, 2, 3]) if kind < 0.3 else 1)
        if self.random() < 0.1:
            strides[self.randrange(len(strides))] = 0
        return Layout(*self.grouped(extents, strides))

    def right(self, a: Layout) -> Layout:
        """Strides at and beside the prefix products of A's extents, some past the end, a few negative."""
        prefixes = [1]
        for n, _ in a.modes():
            prefixes.append(prefixes[-1] * n)
        extents, strides = [], []
        for _ in range(self.choice([1, 1, 1, 2, 2, 3])):
            step = self.choice(prefixes)
            d = self.choice([step, step, step, step * self.choice([2, 3]), self.randint(0, 12), 0])
            extents.append(self.choice([1, 2, 2, 3, 4, 4, 6, 8, self.choice(a.modes())[0]]))
            strides.append(-d if self.random() < 0.03 else d)
        return Layout(*self.grouped(extents, strides))

    def tile(self, n: int) -> int | Layout:
        """A tile of *n* elements: an integer or a layout of one or two modes."""
        t = self.choice([k for k in range(1, n + 1) if n % k == 0]) if self.random() < 0.6 else self.randint(1, n + 3)
        kind = self.random()
        if kind < 0.5:
            return t
        if kind < 0.8:
            return Layout(t, self.randint(1, 4))
        low, high = (self.choice([2, 3, 4]) for _ in range(2))
        modes = [(low, 1), (high, low * self.choice([1, 1, 2, 3]) + (self.random() < 0.2))]
        self.shuffle(modes)
        return Layout(*zip(*modes, strict=True))


def modes_of(tile: int | Layout) -> Modes:
    """The modes of a tile; an integer n is n:1, and 1 is 1:0."""
    return tile.modes() if isinstance(tile, Layout) else [(tile, int(tile > 1))]


def divided(a: Modes, tile: int | Layout) -> Part:
    """A mode and the tile and rest that index it."""
    return Part(a, modes_of(tile), complement(modes_of(tile), a))


def theirs(peer: Any, x: int | Layout) -> Any:
    """An operand in the peer's own layouts."""
    return peer.Layout(x.shape, x.stride) if isinstance(x, Layout) else x


def compositions(source: Source) -> Trial:
    a = source.left()
    b = source.right(a)
    return Trial(
        "composition",
        f"({a}) o ({b})",
        lambda **mode: composition(a, b, **mode),
        [Part(a.modes(), b.modes())],
        lambda peer: peer.compose(theirs(peer, a), theirs(peer, b)),
        {},
    )


def compositions_by_mode(source: Source) -> Trial:
    a = make_layout(source.left(2), source.left(2))
    tiles = tuple(source.right(a[i]) for i in range(2))
    return Trial(
        "composition by mode",
        f"({a}) o <{tiles[0]}, {tiles[1]}>",
        lambda **mode: composition(a, tiles, **mode),
        [Part(a[i].modes(), b.modes()) for i, b in enumerate(tiles)],
        lambda peer: peer.compose(theirs(peer, a), tuple(theirs(peer, b) for b in tiles)),
        {},
    )


def divides(source: Source) -> Trial:
    a = source.left(3)
    t = source.tile(min(a.size(), 24))
    return Trial(
        "logical_divide",
        f"({a}) / {t}",
        lambda **mode: logical_divide(a, t, **mode),
        [divided(a.modes(), t)],
        lambda peer: peer.logical_divide(theirs(peer, a), theirs(peer, t)),
        {},
    )


def divides_by_mode(source: Source) -> Trial:
    a = make_layout(source.left(2), source.left(2))
    tiles = tuple(source.tile(min(a[i].size(), 24)) for i in range(2))
    return Trial(
        "zipped_divide by mode",
        f"({a}) / <{tiles[0]}, {tiles[1]}>",
        lambda **mode: zipped_divide(a, tiles, **mode),
        [divided(a[i].modes(), t) for i, t in enumerate(tiles)],
        lambda peer: peer.zipped_divide(theirs(peer, a), tuple(theirs(peer, t) for t in tiles)),
        {},
    )


def symbolic_compositions(source: Source) -> Trial:
    """Sizes are symbols when the question is asked, numbers when the answer is compared."""
    env = {"M": source.choice([1, 2, 3, 4, 6, 8, 16]), "N": source.choice([1, 2, 4, 5, 8]), "P": source.randint(1, 9)}
    M, N, P = (dim(name) for name in env)
    extents = [source.choice([M, N, 2, 4, 8]) for _ in range(source.randint(1, 3))]
    prefixes: list[Any] = [1]
    for n in extents[:-1]:
        prefixes.append(prefixes[-1] * n)
    strides = source.sample(prefixes, len(prefixes)) if source.random() < 0.5 else prefixes
    a = Layout(tuple(extents), tuple(strides))
    leaves = [
        (
            source.choice([M, N, P, 2, 4]),
            source.choice(prefixes) * source.choice([1, 1, 2]) if source.random() < 0.8 else source.randint(0, 4),
        )
        for _ in range(source.choice([1, 1, 2]))
    ]
    b = Layout(*zip(*leaves, strict=True))
    at = a.subs(env), b.subs(env)
    return Trial(
        "composition of symbols",
        f"({a}) o ({b}) at {env}",
        lambda **mode: composition(*(at if mode else (a, b)), **mode),
        [Part(at[0].modes(), at[1].modes())],
        None,
        env,
    )


def symbolic_divides(source: Source) -> Trial:
    env = {"M": source.randint(1, 40), "N": source.randint(1, 12)}
    M, N = (dim(name) for name in env)
    a = Layout((M, N), source.choice([(N, 1), (1, M)]))
    tiles = (source.choice([1, 2, 4, 8]), source.choice([1, 3, 4]))
    at = a.subs(env)
    return Trial(
        "zipped_divide of symbols",
        f"({a}) / {tiles} at {env}",
        lambda **mode: zipped_divide(at if mode else a, tiles, **mode),
        [divided(at[i].modes(), t) for i, t in enumerate(tiles)],
        None,
        env,
    )


SHARES = {
    compositions: 45,
    compositions_by_mode: 15,
    divides: 15,
    divides_by_mode: 10,
    symbolic_compositions: 10,
    symbolic_divides: 5,
}


def trials(n: int, seed: int) -> Iterator[Trial]:
    """*n* trials, the same for the same seed."""
    source = Source(seed)
    for make in source.choices(list(SHARES), list(SHARES.values()), k=n):
        yield make(source)
