"""Random subjects of claims: layouts, composed layouts and address maps, with every kind of mode in every place.

Modes are compact, permuted, padded, broadcast, reversed, of extent 1 or arbitrary; they are nested at random; some
extents, strides and offsets are symbolic. Sizes stay small enough for the oracle in ``plain``.
"""

from __future__ import annotations

import random
from typing import Any, TypeAlias

from symlayout import ComposedLayout, Layout, Swizzle, ceil_div, dim
from symlayout.address_map import AddressMap
from symlayout.expr import Fact, eq, minimum

Modes: TypeAlias = "list[tuple[Any, Any]]"


# -- shapes -----------------------------------------------------------------------------------------------


def nested(r: random.Random, modes: Modes) -> Layout:
    """A layout of these modes in order, grouped into a random tree."""
    trees: list[tuple[Any, Any]] = list(modes)
    while len(trees) > 1 and r.random() < 0.4:
        i = r.randrange(len(trees) - 1)
        j = r.randint(i + 1, min(i + 3, len(trees)))
        part = trees[i:j]
        trees[i:j] = [(tuple(n for n, _ in part), tuple(d for _, d in part))]
    if len(trees) == 1 and (not isinstance(trees[0][0], tuple) or r.random() < 0.5):
        return Layout(*trees[0])
    return Layout(tuple(n for n, _ in trees), tuple(d for _, d in trees))


def random_modes(r: random.Random, most: int = 4) -> Modes:
    """Up to *most* static modes: compact, permuted, padded, broadcast, negative or arbitrary strides."""
    n = r.randint(1, most)
    shape = [r.choice((1, 2, 2, 3, 4, 4, 5, 8)) for _ in range(n)]
    order = list(range(n))
    if r.random() < 0.6:
        r.shuffle(order)
    stride = [0] * n
    step = 1
    for k in order:
        stride[k] = step
        step = step * shape[k] + (r.randint(0, 3) if r.random() < 0.3 else 0)
    for k in range(n):
        p = r.random()
        if p < 0.06:
            stride[k] = 0
        elif p < 0.18:
            stride[k] = r.randint(0, 12)
        elif p < 0.22:
            stride[k] = -stride[k]
        elif p < 0.27:
            stride[k] = max(0, stride[k] + r.choice((-1, 1)))
    return list(zip(shape, stride, strict=True))


def random_swizzle(r: random.Random) -> Swizzle:
    bits = r.randint(0, 3)
    return Swizzle(bits, r.randint(0, 4), r.choice((1, 1, -1)) * r.randint(bits, bits + 2))


def wrapped(r: random.Random, layout: Layout, offset: Any = None) -> Any:
    """The layout, sometimes under a swizzle and past an offset."""
    if r.random() < 0.75:
        return layout
    return ComposedLayout(random_swizzle(r), r.choice((0, 0, 0, 1, 4, 8)) if offset is None else offset, layout)


# -- numbers ----------------------------------------------------------------------------------------------


def random_layout(r: random.Random) -> Any:
    """A static layout of up to 4 modes, or one under a swizzle."""
    modes = random_modes(r)
    layout = nested(r, modes)
    return wrapped(r, layout) if all(d >= 0 for _, d in modes) else layout


def random_map(r: random.Random) -> AddressMap:
    """A static map of one or two coordinates: quotients, remainders, xor, and a predicate or none."""
    n, m, t = r.randint(1, 9), r.randint(1, 9), r.choice((2, 3, 4))
    two = [
        lambda i, j: i * m + j,
        lambda i, j: i * t + j,
        lambda i, j: j * n + i % t,
        lambda i, j: (i + j) % n + n * j,
        lambda i, j: 8 * i + (j ^ (i % 4)),
        lambda i, j: minimum(i, t) + (t + 1) * j,
    ]
    one = [lambda i: i % t * n + i // t, lambda i: i // t, lambda i: n - 1 - i, lambda i: t * i + n]
    if r.random() < 0.5:
        return AddressMap.over(r.choice(one), (n * r.choice((1, t)),), _when(r, lambda i: i < m))
    return AddressMap.over(r.choice(two), (n, m), _when(r, lambda i, j: i * t + j < n * m))


def _when(r: random.Random, predicate: Any) -> Any:
    return predicate if r.random() < 0.5 else None


def random_subject(r: random.Random) -> Any:
    return random_map(r) if r.random() < 0.15 else random_layout(r)


def reshaped(r: random.Random, x: Any) -> Any:
    """A layout that may be the same function: modes split, an extent-1 mode inserted, or a stride changed."""
    if isinstance(x, AddressMap):
        change = r.choice((0, 0, 1))
        offset = x.offset if isinstance(x.offset, tuple) else x.offset + change
        return AddressMap(x.coords, x.extents, offset, x.valid if r.random() < 0.8 else ())
    inner = x.inner if isinstance(x, ComposedLayout) else x
    modes: Modes = []
    for n, d in inner.modes():
        if type(n) is int and n % 2 == 0 and r.random() < 0.5:
            modes += [(2, d), (n // 2, 2 * d)]
        else:
            modes.append((n, d + int(r.random() < 0.1)))
    if r.random() < 0.3:
        modes.insert(r.randrange(len(modes) + 1), (1, r.randint(0, 5)))
    made = nested(r, modes)
    return ComposedLayout(x.outer, x.offset, made) if isinstance(x, ComposedLayout) else made


# -- symbols ----------------------------------------------------------------------------------------------


class Sizes:
    """The symbols of one claim, with random ranges and divisibility, and facts about them."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        self.M, self.N, self.K = (dim(s, at_most=40, multiple_of=r.choice((1, 1, 1, 2, 4))) for s in ("M", "N", "K"))
        self.S = dim("S", at_least=r.choice((0, 1, 1, 1)), at_most=6)
        self.ld = dim("ld", at_least=r.choice((self.M, self.M + 1, 1, self.N)), at_most=90)
        self.t = r.choice((2, 3, 4, 8))
        self.tiles = ceil_div(self.M, self.t)
        self.given: tuple[Fact, ...] = self._given()

    def _given(self) -> tuple[Fact, ...]:
        M, N, K, ld, t = self.M, self.N, self.K, self.ld, self.t
        choices = (
            M.multiple_of(t),
            N.multiple_of(8),
            M <= N,
            eq(ld, M + t),
            eq(ld, t * N),
            (M + K).multiple_of(t),
            ld >= 2 * M,
            (ld - 1).multiple_of(2),
            M * N <= 64,
        )
        return tuple(self.r.sample(choices, self.r.choice((0, 0, 0, 1, 1, 2))))

    def extent(self) -> Any:
        return self.r.choice((1, 2, self.t, self.M, self.N, self.K, self.S, self.tiles, self.M))


def symbolic_modes(r: random.Random, s: Sizes) -> Modes:
    """One to four modes that follow one another or nearly so, some extents and strides symbolic."""
    shape = [s.extent() for _ in range(r.randint(1, 4))]
    order = list(range(len(shape)))
    r.shuffle(order)
    stride: list[Any] = [0] * len(shape)
    step: Any = 1
    for k in order:
        stride[k] = step
        step = r.choice((step * shape[k],) * 6 + (s.ld, step * shape[k] + 1, step * s.ld, step * s.t, step * s.M))
    for k in range(len(shape)):
        p = r.random()
        if p < 0.06:
            stride[k] = 0
        elif p < 0.10:
            stride[k] = -stride[k]
        elif p < 0.14:
            stride[k] = stride[k] + r.choice((-1, 1))
        elif p < 0.18:
            stride[k] = r.choice((s.t, 8, s.N, 2 * s.M))
    return list(zip(shape, stride, strict=True))


def symbolic_layout(r: random.Random, s: Sizes) -> Any:
    """A layout that kernels are made of, sometimes broken, or one of random modes; sometimes under a swizzle."""
    M, N, K, ld, t, tiles = s.M, s.N, s.K, s.ld, s.t, s.tiles
    if r.random() < 0.6:
        modes = symbolic_modes(r, s)
        layout = nested(r, modes)
        if all(type(d) is int and d >= 0 for _, d in modes) or r.random() < 0.3:
            return wrapped(r, layout, r.choice((0, 8 * s.S, 64 * M, s.M)) if r.random() < 0.3 else 0)
        return layout
    return r.choice(
        [
            Layout((M, N), (1, ld)),
            Layout((M, N), (1, M)),
            Layout((M, N), (N, 1)),
            Layout((M, N, 2), (1, ld, ld * N + r.choice((0, 0, -1, 1)))),
            Layout((t, tiles, N), (1, t, t * tiles + r.choice((0, 0, -1)))),
            Layout(((t, tiles), N), ((1, t), M)),
            Layout((M, N, K), (N * K, K, 1)),
            Layout((M, N), (r.choice((1, 2, t)), r.choice((M, 2 * M, t * M, M + t, M - 1 + t)))),
            Layout((M, t), (t, 1)),
            Layout((M, N), (0, 1)),
            Layout((M, t, N), (t * N, N, 1)),
            Layout(((4, 8), s.S), ((1, 32), 256)),
            Layout((t, (1, N)), (1, (M, t))),
        ]
    )


def symbolic_map(r: random.Random, s: Sizes) -> AddressMap:
    """A map of index arithmetic as kernels have it, under a predicate or none."""
    M, N, t, tiles = s.M, s.N, s.t, s.tiles
    one = [
        ((tiles,), lambda i: i, None),
        ((M * N,), lambda b: b % M * N + b // M, None),
        ((M * N,), lambda b: b % M + b // M, None),
        ((t * tiles,), lambda i: i, lambda i: i < M),
        ((M,), lambda i: M - 1 - i, None),
        ((M,), lambda i: i // t * t + i % t, None),
        ((minimum(M - t * (tiles - 1), t),), lambda i: t * (tiles - 1) + i, None),
    ]
    two = [
        ((tiles, t), lambda i, j: i * t + j, lambda i, j: i * t + j < M),
        ((M, N), lambda i, j: i * N + j, lambda i, j: i * N + j < M * N - t),
        ((M, N), lambda i, j: i + j, lambda i, j: j < t),
        ((M, 8), lambda i, j: 8 * i + (j ^ (i % 8)), None),
        ((M, N), lambda i, j: N * i + (j + i) % N, None),
        ((M, N), lambda i, j: minimum(i, t) * N + j, None),
    ]
    shape, f, when = r.choice(r.choice((one, two)))
    return AddressMap.over(f, shape, when if r.random() < 0.75 else None)


def symbolic_subject(r: random.Random, s: Sizes) -> Any:
    return symbolic_map(r, s) if r.random() < 0.2 else symbolic_layout(r, s)


def some_size(r: random.Random, s: Sizes, x: Any) -> Any:
    """An expression near the number of points of a subject."""
    return r.choice(
        (x.size(), x.size(), s.M * s.N, s.M * s.N * s.K, s.M * s.N + 1, s.ld * s.N, s.M, s.t * s.tiles * s.N)
    )


# -- warps ------------------------------------------------------------------------------------------------


def lanes(r: random.Random, s: Sizes | None) -> tuple[Any, Any]:
    """(shape, stride) of the lanes of a warp: up to 32, as one mode or nested, some broadcast or of extent 1."""
    left = r.choice((1, 4, 8, 8, 16, 32, 32, 32, 24))
    modes: Modes = []
    while left > 1:
        n = r.choice([d for d in (2, 3, 4, 8, 16, 32) if left % d == 0])
        modes.append((n, 0))
        left //= n
    if r.random() < 0.2:
        modes.insert(r.randrange(len(modes) + 1), (1, 0))
    modes = modes or [(1, 0)]
    step, strides = r.choice((1, 1, 1, 2, 4, 8)), []
    for n, _ in modes:
        strides.append(r.choice((step,) * 5 + (0, 32, 64, 33, 128, step + 1, -step)))
        step *= n
    if s is not None and r.random() < 0.25:
        odd = (s.ld, s.N, 32 * s.M + 1, 2 * s.ld + 1, 8 * s.ld, 64 * s.S, s.M + s.N, -s.ld)
        strides[r.randrange(len(strides))] = r.choice(odd)
    order = list(range(len(modes)))
    if r.random() < 0.4:
        r.shuffle(order)
    shape, stride = tuple(modes[k][0] for k in order), tuple(strides[k] for k in order)
    if len(shape) == 1 and r.random() < 0.6:
        return shape[0], stride[0]
    if len(shape) > 2 and r.random() < 0.3:
        return (shape[0], shape[1:]), (stride[0], stride[1:])
    return shape, stride


def warp_access(r: random.Random, s: Sizes | None) -> Any:
    """Lanes in mode 0 and up to two other modes, symbolic where there are *s*; sometimes swizzled or past an offset."""
    shape, stride = lanes(r, s)
    modes: Modes = [(shape, stride)]
    for _ in range(r.choice((0, 1, 1, 1, 2))):
        strides = (0, 1, 4, 8, 32, 64, 128, 256, 512, 513)
        if s is None:
            modes.append((r.choice((1, 2, 3, 4)), r.choice(strides)))
        else:
            many = (s.S, s.M, s.t, 1, s.tiles)
            far = (*strides, 32 * s.M, 64 * s.ld, 512 * s.S, 256 * s.N, s.ld, 128 * s.N)
            modes.append((r.choice(many), r.choice(far)))
    if len(modes) > 2 and r.random() < 0.5:
        modes[1:] = [(tuple(n for n, _ in modes[1:]), tuple(d for _, d in modes[1:]))]
    layout = Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))
    if len(modes) == 1 and r.random() < 0.5:
        layout = Layout(shape, stride)
    negative = any(type(d) is int and d < 0 for _, d in layout.modes())
    p = r.random()
    if p < 0.1 and s is not None and not negative:
        return AddressMap.over(lambda i, j: i * 2 + 64 * j, (r.choice((8, 32)), s.M))
    if p < 0.55 or negative:
        return layout
    offset = r.choice((0, 0, 8, 64)) if s is None else r.choice((0, 0, 8, 64 * s.S, 512 * s.M, s.M))
    return ComposedLayout(random_swizzle(r), offset, layout)
