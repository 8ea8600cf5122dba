"""Random claims about tensor maps and tensor copies, static and symbolic, about as often true as false.

Maps are tiled, interleaved and im2col; their sizes are numbers or expressions of M and N, their copies stand in a loop
over i and j whose ends may depend on sizes; copies made from layouts go by several instructions and CTAs.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from checkers import SameBytes, TensorMapValid, TmaCopySafe
from checkers.claims import Obeys, RowsApart
from symlayout import ComposedLayout, Layout, Swizzle, dims, index
from symlayout.expr import maximum, minimum
from symlayout.int_tuple import ceil_div
from symlayout.rules.tma import rules_of
from symlayout.rules.tma_copy import REDUCED
from symlayout.rules.tma_tile import TileCopy
from symlayout.tma import Im2col, TensorMap, TmaInterleaveLayout, TmaType
from symlayout.tma.tiled_copy import make_tma_copy

from . import tma_oracle as oracle
from .plain import Env, admissible, number
from .row import TRIES, Row

M, N = dims("M N")
TYPES = {"u8": 1, "bf16": 2, "f16": 2, "f32": 4, "i32": 4, "u32": 4, "f64": 8}
EDGES = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65)
FAR = (255, 256, 257, 1000, 4096, 2**20, 2**28, 2**31 - 1)


# -- maps ---------------------------------------------------------------------------------------------------------


def _number(r: random.Random, symbolic: bool, kinds: tuple[int, ...]) -> Any:
    """One of some numbers, or an expression of sizes that comes near them."""
    if not symbolic or r.random() < 0.6:
        return r.choice(kinds)
    s, t = r.sample([M, N], 2)
    return r.choice([s, 2 * s, 8 * s, s + 15, s - 1, 16 * (s // 8), s * t, 16 * ceil_div(s, 16), s + 8 * t, s % 16])


def any_map(r: random.Random, symbolic: bool) -> TensorMap:
    """A map that breaks a rule about as often as not."""
    kind, rank = TmaType(r.choice((0, 1, 2, 6, 7, 8, 9, 11))), r.choice((1, 2, 2, 3, 3, 4, 5))
    extents = tuple(_number(r, symbolic, (1, 7, 8, 64, 1000, 2**32)) for _ in range(rank))
    strides = tuple(_number(r, symbolic, (0, 16, 128, 4096, 2**40 - 16)) for _ in extents[1:])
    if r.random() < 0.6:
        reach, found = kind.bits // 8, []
        for n in extents[:-1]:
            reach = reach * n
            found.append(reach)
        strides = tuple(found)
    every = tuple(r.choice((1, 1, 1, 1, 2, 8)) for _ in extents)
    options: dict[str, Any] = {"swizzle": r.choice((0, 0, 32, 64, 128)), "oob_fill": r.choice((None, None, "nan"))}
    address = _number(r, symbolic and r.random() < 0.3, (0, 0, 16, 32, 8))
    if rank >= 3 and r.random() < 0.3:
        corners = [tuple(_number(r, symbolic, (0, 0, -1, 1, -8)) for _ in extents[2:]) for _ in range(2)]
        walk = Im2col(*corners, r.choice((8, 16, 64, 256, 7)), r.choice((8, 64, 1024)))
        return TensorMap(kind, address, extents, strides, (), every, im2col=walk, **options)
    box = tuple(_number(r, symbolic and r.random() < 0.3, (8, 16, 32, 64, 256, 257)) for _ in extents)
    box = (box[0], *(r.choice((1, 2, 8, x)) for x in box[1:]))
    sliced = TmaInterleaveLayout(r.choice((0, 0, 0, 0, 1, 2)))
    return TensorMap(kind, address, extents, strides, box, every, interleave=sliced, **options)


def fine_map(r: random.Random, symbolic: bool, dtype: str, mode: str, store: bool, odd: float = 0.0) -> TensorMap:
    """A small map that the driver takes at most sizes; rows lie on one another now and then where *odd* is positive."""
    size, unit = TYPES[dtype], 16 // TYPES[dtype]

    def extents(rank: int) -> list[Any]:
        free = symbolic and r.random() < 0.8
        return [r.choice((M, N, unit * M)) if free and r.random() < 0.5 else r.randint(1, 9) for _ in range(rank)]

    def strided(shape: list[Any], inner: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        strides: list[Any] = []
        reach: Any = ceil_div(shape[0] * inner, 16) * 16
        for n in shape[1:]:
            other = r.choice((0, 16, 32, 16 * r.choice((M, N)) if symbolic else 48))
            strides.append(other if r.random() < odd else reach)
            reach = reach * n
        return tuple(shape), tuple(strides)

    swizzle = r.choice((0, 0, 32, 64, 128))
    if mode == "im2col":
        spatial = r.choice((1, 1, 2))
        shape, strides = strided([r.choice((4, 8, 20, 32)), *extents(spatial), r.choice((2, 3))], size)
        corners = [tuple(0 if store else r.choice((0, 0, -1)) for _ in range(spatial)) for _ in range(2)]
        every = (1, *(r.choice((1, 1, 2)) for _ in range(spatial)), 1)
        walk = Im2col(*corners, unit * r.choice((1, 1, 2)), r.choice((4, 8, 16)))
        return TensorMap(dtype, 0, shape, strides, (), every, im2col=walk)
    if mode == "interleaved":
        shape, strides = strided([*extents(2), 3], 16)
        box = (unit * r.choice((1, 2)), r.randint(1, 3), 1)
        return TensorMap(dtype, 0, shape, strides, box, interleave=TmaInterleaveLayout.bytes16, swizzle=swizzle)
    shape, strides = strided(extents(r.choice((1, 2, 2, 3))), size)
    box = (unit * r.randint(1, (swizzle or 64) // 16), *(r.randint(1, 4) for _ in shape[1:]))
    every = (1, *(r.choice((1, 1, 2)) for _ in shape[1:]))
    return TensorMap(dtype, 0, shape, strides, box, every, swizzle=swizzle)


def map_claim(symbolic: bool) -> Any:
    def make(r: random.Random) -> TensorMapValid:
        if r.random() < 0.6:
            m = any_map(r, symbolic)
        else:
            m = fine_map(r, symbolic, r.choice([*TYPES]), _mode(r), False, 0.2)
        given = _facts(r) if symbolic else ()
        return TensorMapValid(m, r.choice(("hardware", "driver")), given=given)

    return make


def _mode(r: random.Random) -> str:
    return r.choice(("tile", "tile", "tile", "im2col", "interleaved"))


def _facts(r: random.Random) -> tuple[Any, ...]:
    s, t = r.sample([M, N], 2)
    every = [s.multiple_of(r.choice((4, 8, 16))), s <= r.choice((8, 64, 256)), s >= 8, s <= t]
    return tuple(r.sample(every, r.choice((0, 0, 1, 1, 2))))


def rule_claim(symbolic: bool) -> Any:
    def make(r: random.Random) -> Obeys:
        m = any_map(r, symbolic)
        every = [(rule, i) for rule in rules_of("hardware") for i, _ in rule.places(m)]
        rule, i = r.choice(every)
        return Obeys(m, rule, i, given=_facts(r) if symbolic else ())

    return make


# -- copies -------------------------------------------------------------------------------------------------------


def copy_claim(symbolic: bool) -> Any:
    def make(r: random.Random) -> TmaCopySafe:
        return _of_layouts(r, symbolic) if r.random() < 0.25 else _in_a_loop(r, symbolic)

    return make


def _in_a_loop(r: random.Random, symbolic: bool) -> TmaCopySafe:
    """A copy through a map in a loop over i and j, often wrong in something."""
    dtype, direction, mode = r.choice([*TYPES]), r.choice(("load", "load", "store", "store", "reduce")), _mode(r)
    ops = [op for op, kinds in REDUCED.items() if TensorMap(dtype, 0, (16,), (), (16,)).dtype in kinds]
    direction = "store" if direction == "reduce" and not ops else direction
    odd = r.choice((0.0, 0.0, 0.3))
    m = fine_map(r, symbolic, dtype, mode, direction != "load", odd)
    unit = 16 // TYPES[dtype] if mode != "interleaved" else 1
    ends = [r.choice((r.randint(1, 4), ceil_div(r.choice((M, N)), r.choice((4, 16))))) for _ in range(2)]
    ends = ends if symbolic else [r.randint(1, 4), r.randint(1, 4)]
    i, j = (index("i", ends[0]), index("j", ends[1])) if symbolic else (r.randrange(ends[0]), r.randrange(ends[1]))
    q, wrong = r.choice((2, 3)), r.random() < 0.4
    forms = [i, j, i + j, i // q, (2 * i + j) % q, (i * ends[1] + j) // q, 0, 0]
    start = [r.choice(forms) * (unit if k == 0 else 1) for k in range(m.rank)]
    if mode == "im2col":
        for k in range(1, m.rank - 1):
            start[k] = m.lower_corner[k - 1] + 0
    if wrong:
        k = r.randrange(m.rank)
        start[k] = start[k] + r.choice((-1, 1, -unit, unit))
    step = r.choice((64, 128)) if wrong and r.random() < 0.3 else ceil_div(m.landed_bytes, 1024) * 1024
    address = step * r.choice((0, i, j % 2, (i + j) % q)) + (r.choice((0, 64, 128, -128)) if wrong else 0)
    buffer = r.choice((None, 16 * step, step + m.landed_bytes)) if wrong else r.choice((None, 64 * step))
    copies = r.choice((1, 2))
    offsets = tuple(r.choice((0, 0, 1)) for _ in range(m.rank - 2)) if mode == "im2col" and direction == "load" else ()
    awaited = r.choice((None, m.transaction_bytes * copies, m.landed_bytes)) if wrong else None
    guards = [f for f in (i + j <= 3, start[0] < m.global_dim[0], j >= 1) if hasattr(f, "subs")] if symbolic else []
    given = tuple(r.sample(guards, r.choice((0, 0, 1)))) if guards else ()
    return TmaCopySafe(
        *(m, (*start, *offsets), address, direction, buffer, awaited, copies),
        any_phase=r.random() < 0.4,
        op=r.choice(ops) if direction == "reduce" else "",
        given=given,
    )


def _of_layouts(r: random.Random, symbolic: bool) -> TmaCopySafe:
    """A load of a tile by several instructions or CTAs, at the start of the tensor."""
    dtype = r.choice([*TYPES])
    unit, rows, columns = 16 // TYPES[dtype], r.choice((2, 4, 8)), r.choice((1, 2, 4))
    width = unit * columns
    k = r.choice((M, N)) * unit if symbolic else unit * r.randint(1, 8)
    boxes = r.choice((1, 1, 2))
    pad = r.choice((1, 1, 2))
    smem = Layout((rows, (width, boxes)), (width, (1, pad * rows * width)))
    tall = r.choice((M, N)) if symbolic else r.randint(1, 12)
    copy = make_tma_copy(Layout((tall, k), (k, 1)), smem, multicast=r.choice((1, 2, 4)), dtype=dtype)
    tile = int(smem.cosize()) * TYPES[dtype]
    s = index("s", 3) if symbolic else r.randrange(3)
    buffer = r.choice((None, 3 * ceil_div(tile, 1024) * 1024, 2 * 1024 + tile, tile))
    return TmaCopySafe(copy, (0,) * copy.tensor_map.rank, r.choice((0, 1024 * s)), shared_bytes=buffer)


def rows_claim(symbolic: bool) -> Any:
    def make(r: random.Random) -> RowsApart:
        dtype, mode = r.choice([*TYPES]), _mode(r)
        m = fine_map(r, symbolic, dtype, mode, True, 0.6)
        units = (16 // TYPES[dtype], *(1 for _ in range(m.rank - 1)))
        start = tuple(unit * r.choice((0, 0, 0, 0, 1, 2)) for unit in units)
        return RowsApart(TileCopy(m, start, 0, "store"), given=_facts(r) if symbolic else ())

    return make


# -- consumers ----------------------------------------------------------------------------------------------------


def same_claim(symbolic: bool) -> Any:
    """The consumer of a box: its own layout, or one with other strides, another swizzle or an offset."""

    def make(r: random.Random) -> SameBytes:
        dtype = r.choice(("u8", "f16", "f32", "f64"))
        size, span = TYPES[dtype], r.choice((0, 32, 64, 128))
        inner = 16 // size * r.randint(1, (span or 64) // 16)
        box = (inner, r.choice((1, 2, 3, 8)))
        wide: Any = (inner, 16)
        if symbolic:
            wide = (maximum(inner, r.choice((M, N))), r.choice((16, maximum(16, M), maximum(16, minimum(N, 64)))))
        pitch = ceil_div(wide[0] * size, 16) * 16
        m = TensorMap(dtype, 0, wide, (pitch,), box, (1, r.choice((1, 1, 1, 2))), swizzle=span)
        steps, strides = m.landing.shape, tuple(d // size for d in m.landing.stride)
        plain = Layout(steps, strides) if r.random() < 0.8 else Layout(steps)
        own = m.swizzle.swizzle
        outer = Swizzle(own.bits, max(0, own.base - size.bit_length() + 1), own.shift)
        outer = Swizzle(r.randint(1, 3), r.randint(0, 4), 3) if r.random() < 0.15 else outer
        consumer = plain if r.random() < 0.2 else ComposedLayout(outer, r.choice((0, 0, 0, 0, 8, 512)), plain)
        return SameBytes(m, consumer, r.choice((0, 0, 128, 256, 512, 1024)), r.random() < 0.4)

    return make


# -- sizes --------------------------------------------------------------------------------------------------------


def sizes(claim: Any, r: random.Random) -> Iterator[Env]:
    """Some admissible sizes and iterations; the empty assignment for a claim without symbols."""
    symbols = oracle.symbols_of(claim)
    if not symbols:
        yield {}
        return
    found = 0
    for _ in range(10 * TRIES):
        env = _drawn(symbols, r)
        if admissible(symbols, claim.given, env):
            yield env
            found += 1
            if found == TRIES:
                return


def _drawn(symbols: tuple[Any, ...], r: random.Random) -> dict[str, int]:
    env: dict[str, int] = {}
    for s in sorted(symbols, key=lambda s: (s.lower == 0, s.name)):
        if s.lower == 0 and s.upper is not None:
            env[s.name] = r.randint(0, max(0, number(s.upper, env)))
        else:
            env[s.name] = r.choice(EDGES if r.random() < 0.9 else FAR)
    return env


def few_sizes(claim: Any, r: random.Random) -> Iterator[Env]:
    """The first of them, for a claim in which sizes change little."""
    return itertools.islice(sizes(claim, r), 2)


def _row(kind: Any, make: Any, says: Any, weight: int, tried: Any = sizes) -> Row:
    return Row(kind, make(False), make(True), oracle.at_all_sizes(says), weight, tried)


ROWS = (
    _row(Obeys, rule_claim, oracle.obeyed, 2),
    _row(RowsApart, rows_claim, oracle.apart, 10),
    _row(SameBytes, same_claim, oracle.same, 10, few_sizes),
    _row(TensorMapValid, map_claim, oracle.valid, 4),
    _row(TmaCopySafe, copy_claim, oracle.safe, 10),
)
