"""What claims about tensor copies say at sizes: copies are carried out, maps are held to a list of conditions.

Loads and stores are those of ``symlayout.semantics``, which agrees with every recorded copy; what the encode call takes
and what a copy lands stand here again, in plain integers. A claim says nothing where its map is none, or where sizes
are too large to carry out: that raises TooMany.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from symlayout import ComposedLayout
from symlayout.errors import LayoutError, TmaFault
from symlayout.facts import Facts
from symlayout.semantics import tma_load, tma_reduce, tma_store
from symlayout.tma import Im2col, TensorMap

from .plain import Env, TooMany, admissible, number, swizzled

BLOCK_BYTES = 232_448  # of shared memory, on compute capability 9.0
ENCODE_BYTES = 233_472
GLOBAL_BYTES, SHARED_BYTES = 1 << 19, 1 << 18
SPANS = (0, 32, 64, 128)
COMPLETIONS = 160  # of sizes that a witness leaves open
FEW = (1, 2, 3, 4, 5, 8, 9, 16, 17, 33)


# -- maps -----------------------------------------------------------------------------------------------------


def bound(m: TensorMap, env: Env) -> TensorMap:
    """The map at sizes, each parameter from its terms. Raises TooMany for one that is no map there."""

    def at(x: Any) -> Any:
        return tuple(map(at, x)) if isinstance(x, tuple) else number(x, env)

    i = m.im2col
    walk = i and Im2col(*map(at, (i.lower_corner, i.upper_corner, i.channels_per_pixel, i.pixels_per_column)))
    numbers = (m.global_address, m.global_dim, m.global_stride_bytes, m.box_dim, m.element_stride)
    try:
        return TensorMap(m.dtype, *map(at, numbers), m.interleave, m.swizzle, m.l2_promotion, m.oob_fill, walk)
    except LayoutError as e:
        raise TooMany from e


def accepted(m: TensorMap) -> bool:
    """Whether the encode call takes a map (driver 580.159.04 on compute capability 9.0)."""
    rank, size, whole = m.rank, max(1, m.dtype.bits // 8), 32 if m.interleave == 2 else 16
    inner = int(m.channels_per_pixel if m.is_im2col else m.box_dim[0] if m.rank else 0) * size
    ok = (
        m.dtype <= 12
        and (3 if m.interleave or m.is_im2col else 1) <= rank <= 5
        and m.swizzle <= 3
        and m.global_address % whole == 0
        and all(1 <= n <= 1 << 32 for n in m.global_dim)
        and all(d % whole == 0 and 0 <= d < 1 << 40 for d in m.global_stride_bytes)
        and all(1 <= e <= 8 for e in m.element_stride)
        and inner % 16 == 0
        and not (m.interleave == 0 and m.swizzle and inner > SPANS[m.swizzle])
        and not (m.oob_fill and not 6 <= m.dtype <= 12)
    )
    return ok and (_im2col_accepted(m, inner) if m.is_im2col else _tile_accepted(m, size))


def _tile_accepted(m: TensorMap, size: int) -> bool:
    boxes = all(1 <= n <= 256 for n in m.box_dim)
    return boxes and size * math.prod(n // e for n, e in zip(m.box_dim, m.element_stride, strict=True)) <= ENCODE_BYTES


def _im2col_accepted(m: TensorMap, inner: int) -> bool:
    reach = 1 << (15, 7, 4)[m.rank - 3]
    first = 0 if m.interleave else 1
    corners = list(zip(m.lower_corner, m.upper_corner, m.global_dim[first:], strict=False))
    return (
        1 <= m.channels_per_pixel <= 256
        and 1 <= m.pixels_per_column <= 1024
        and all(-reach <= x < reach for low, high, _ in corners for x in (low, high))
        and inner * m.pixels_per_column <= ENCODE_BYTES
        and all((n + high + 2**31) % 2**32 - 2**31 > low for low, high, n in corners)
    )


def landed(m: TensorMap) -> tuple[int, int]:
    """(bytes of shared memory that a copy takes, bytes that it credits)."""
    unit = (max(1, m.dtype.bits // 8), 16, 32)[m.interleave]
    span = SPANS[m.swizzle]
    steps = [-(-n // e) for n, e in zip(m.box_dim, m.element_stride, strict=True)] if not m.is_im2col else []
    if m.is_im2col:
        row, rows = (unit if m.interleave else m.channels_per_pixel * unit), m.pixels_per_column
    elif m.interleave:
        row, rows = steps[0] * unit, math.prod(n for k, n in enumerate(steps[1:], 1) if k != m.rank - 2)
    else:
        row, rows = m.box_dim[0] * unit, math.prod(steps[1:])
    if not m.interleave:
        return (span or row) * rows, row * rows
    return -(-row * rows // span) * span if span else row * rows, row * rows


# -- sizes that a witness leaves open -------------------------------------------------------------------------


def symbols_of(claim: Any) -> tuple[Any, ...]:
    """The symbols of a claim and of the copy or map that it is about."""
    subject = getattr(claim, "tensor_map", getattr(claim, "copy", getattr(claim, "subject", None)))
    return Facts.about(claim.parameters(), *subject.symbols, given=claim.given).symbols


def at_all_sizes(check: Callable[[Any, Env], bool]) -> Callable[[Any, Env], bool]:
    """The check at sizes; where some symbol of the claim has none, at a few values that it may have."""

    @functools.wraps(check)
    def judged(claim: Any, env: Env) -> bool:
        symbols = symbols_of(claim)
        left = [s for s in symbols if s.name not in env]
        if not left:
            return check(claim, env)
        found = []
        for full in itertools.islice(_completed(left, dict(env)), COMPLETIONS):
            if admissible(symbols, claim.given, full):
                try:
                    found.append(check(claim, full))
                except TooMany:
                    continue
        if not found:
            raise TooMany
        return all(found)

    return judged


def _completed(left: list[Any], env: dict[str, int]) -> Iterator[dict[str, int]]:
    """The sizes with values for more symbols, those with plain ranges first."""
    if not left:
        yield env
        return
    s = min(left, key=lambda s: len(getattr(s.upper, "symbols", ())))
    rest = [t for t in left if t is not s]
    for v in sorted({0, 1, 2, *FEW, *(range(4) if s.lower == 0 else ())}):
        yield from _completed(rest, {**env, s.name: v * s.multiple})


# -- what the claims say --------------------------------------------------------------------------------------


def valid(claim: Any, env: Env) -> bool:
    """TensorMapValid: the encode call takes the map; by default, a block has room for what lands as well."""
    m = bound(claim.tensor_map, env)
    return accepted(m) and (claim.profile == "driver" or landed(m)[0] <= BLOCK_BYTES)


def safe(claim: Any, env: Env) -> bool:
    """TmaCopySafe: the copy runs, and touches nothing but its own."""
    m = bound(claim.tensor_map, env)
    start, address = tuple(number(x, env) for x in claim.coordinate), number(claim.shared_address, env)
    if not accepted(m) or not _small(m):
        raise TooMany
    room, buffer = landed(m), claim.shared_bytes if claim.shared_bytes is None else number(claim.shared_bytes, env)
    parts = [p.offset_bytes for p in getattr(claim.copy, "parts", ())] or [0]
    if buffer is not None and buffer > BLOCK_BYTES:
        return False
    if any((address + p) % 128 or address + p + room[0] > min(BLOCK_BYTES, buffer or BLOCK_BYTES) for p in parts):
        return False
    if claim.barrier_bytes is not None and number(claim.barrier_bytes, env) != room[1] * number(claim.copies, env):
        return False
    repeat = (1, 256, 512, 1024)[m.swizzle]
    return address >= 0 and (claim.any_phase or address % repeat == 0) and _runs(claim, m, start, address)


def _small(m: TensorMap) -> bool:
    outer = zip(m.global_dim[1:], m.global_stride_bytes, strict=True)
    inner = m.global_dim[0] * (max(1, m.dtype.bits // 8), 16, 32)[m.interleave]
    return m.global_address + inner + sum((n - 1) * d for n, d in outer) + 16 <= GLOBAL_BYTES and landed(m)[0] < 1 << 17


def _runs(claim: Any, m: TensorMap, start: tuple[int, ...], address: int) -> bool:
    memory, shared = np.zeros(GLOBAL_BYTES, np.uint8), np.zeros(SHARED_BYTES, np.uint8)
    coordinate, offsets = start[: m.rank], start[m.rank :]
    try:
        if claim.direction == "load":
            tma_load(m, coordinate, memory, shared, address, offsets=offsets)
            return True
        if claim.direction == "store":
            effect = tma_store(m, coordinate, memory, shared, address)
        else:
            effect = tma_reduce(claim.op, m, coordinate, memory, shared, address)
    except TmaFault:
        return False
    except NotImplementedError as e:  # overlapping rows, or what nobody has measured
        if "overlapping rows" in str(e):
            return False
        raise TooMany from e
    return not effect.outside.size


def apart(claim: Any, env: Env) -> bool:
    """RowsApart: a box of a store has each byte of global memory once, byte by byte."""
    c = claim.copy
    m, start = bound(c.tensor_map, env), [number(x, env) for x in c.coordinate]
    if not accepted(m) or landed(m)[1] > 1 << 13 or not _within_corners(m, start):
        raise TooMany
    unit = (max(1, m.dtype.bits // 8), 16, 32)[m.interleave]
    strides = (unit, *m.global_stride_bytes)
    seen: set[int] = set()
    for x in _pixels(m, start) if m.is_im2col else _elements(m, start):
        if all(0 <= v < n for v, n in zip(x, m.global_dim, strict=True)):
            first = sum(v * d for v, d in zip(x, strides, strict=True))
            bytes_ = range(first, first + unit)
            if not seen.isdisjoint(bytes_):
                return False
            seen.update(bytes_)
    return True


def _within_corners(m: TensorMap, start: list[int]) -> bool:
    """Whether an im2col walk starts where it may."""
    first = 0 if m.interleave else 1
    ends = zip(start[first:], m.lower_corner, m.upper_corner, m.global_dim[first:], strict=False)
    return all(low <= x <= n - 1 + high for x, low, high, n in ends)


def _elements(m: TensorMap, start: list[int]) -> Iterator[list[int]]:
    """The coordinates of every element, or pixel with interleave, of a box."""
    every = [m.element_stride[0] if m.interleave else 1, *m.element_stride[1:]]
    counts = [-(-n // e) for n, e in zip(m.box_dim, every, strict=True)]
    if m.interleave:
        counts[m.rank - 2] = 1
    for t in itertools.product(*map(range, counts)):
        yield [c + k * e for c, k, e in zip(start, t, every, strict=True)]


def _pixels(m: TensorMap, start: list[int]) -> Iterator[list[int]]:
    """The coordinates of every element of an im2col walk, W fastest."""
    first, at = (0 if m.interleave else 1), list(start)
    for _ in range(m.pixels_per_column):
        if m.interleave:
            yield list(at)
        else:
            yield from ([at[0] + c, *at[1:]] for c in range(m.channels_per_pixel))
        for i, (low, high) in enumerate(zip(m.lower_corner, m.upper_corner, strict=True), first):
            at[i] += m.element_stride[i]
            if at[i] <= m.global_dim[i] - 1 + high:
                break
            at[i] = low
        else:
            at[-1] += m.element_stride[-1]


def same(claim: Any, env: Env) -> bool:
    """SameBytes: what loads leave of bytes that tell their addresses is what the consumer reads, at several bases."""
    m = bound(claim.tensor_map, env)
    if not accepted(m) or not _small(m) or landed(m)[1] > 1 << 12 or _sources(m)[-1] >= (1 << 13) - 8:
        raise TooMany
    step, count = claim.base_multiple_of, landed(m)[0]
    if claim.tensor_map is not claim.copy:
        raise TooMany
    bases = sorted(b for b in range(0, 16 * step, step) if b % 128 == 0 and b + count < 1 << 15)
    size, wanted = max(1, m.dtype.bits // 8), _sources(m)
    offsets = [_consumed(claim, i) for i in range(len(wanted))]
    relative = None if claim.absolute else np.array([_address(claim, x, 0, size) for x in offsets])

    def read(base: int) -> Any:
        return relative + base if relative is not None else np.array([_address(claim, x, base, size) for x in offsets])

    return all(_read_back(m, base, wanted, read(base), size) for base in bases)


def _sources(m: TensorMap) -> list[int]:
    """The byte of global memory of every element of a box at the start of the tensor, dimension 0 the fastest."""
    steps = [m.box_dim[0], *(-(-n // e) for n, e in zip(m.box_dim[1:], m.element_stride[1:], strict=True))]
    strides = [max(1, m.dtype.bits // 8)]
    strides += [d * e for d, e in zip(m.global_stride_bytes, m.element_stride[1:], strict=True)]
    every = itertools.product(*map(range, steps[::-1]))
    return [sum(k * d for k, d in zip(t[::-1], strides, strict=True)) for t in every]


def _read_back(m: TensorMap, base: int, wanted: list[int], at: Any, size: int) -> bool:
    address = np.arange(1 << 13)
    halves = []
    for half in (address & 0xFF, address >> 8):
        shared = np.zeros(1 << 16, np.uint8)
        tma_load(m, (0,) * m.rank, half.astype(np.uint8), shared, base)
        halves.append(shared.astype(int))
    left, each = halves[0] + (halves[1] << 8), np.arange(size)
    if at.min() < 0 or at.max() > len(left) - size:
        return False
    return bool((left[at[:, None] + each] == np.array(wanted)[:, None] + each).all())


def _consumed(claim: Any, i: int) -> int:
    """The offset of the i-th element in the consumer's layout, before a swizzle."""
    inner = getattr(claim.consumer, "inner", claim.consumer)
    offset, left = 0, i
    for n, d in zip(_flat(inner.shape), _flat(inner.stride), strict=True):
        offset, left = offset + left % n * d, left // n
    return offset


def _address(claim: Any, offset: int, base: int, size: int) -> int:
    """The byte at which the consumer reads what has an offset."""
    x = claim.consumer
    if not isinstance(x, ComposedLayout):
        return base + offset * size
    sw, shift = x.outer, size.bit_length() - 1
    if claim.absolute:
        return swizzled(sw.bits, sw.base + shift, sw.shift, base + (x.offset + offset) * size)
    return base + swizzled(sw.bits, sw.base, sw.shift, x.offset + offset) * size


def _flat(x: Any) -> list[Any]:
    return [y for part in x for y in _flat(part)] if isinstance(x, tuple) else [x]


def obeyed(claim: Any, env: Env) -> bool:
    """Obeys: the row itself, on the numbers of the record."""
    m = bound(claim.subject, env)
    return bool(claim.rule.must.holds(claim.rule.value(m, claim.place), m, claim.place))
