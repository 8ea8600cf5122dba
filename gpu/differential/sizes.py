"""Sizes at which a kernel's mistakes show: around its tiles, as small and as large as is assumed, uneven, large.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> M, N = dims("M N")
>>> kernel = tma_copy(M, N, tile=(16, 64)).assuming(N.multiple_of(4))
>>> tiles(kernel)
{'M': 16, 'N': 64}
>>> for word, sizes in edges(kernel, large_bytes=1 << 20)[:4]:
...     print(word, sizes)
least {'M': 1, 'N': 4}
one tile {'M': 16, 'N': 64}
below a tile {'M': 15, 'N': 60}
above a tile {'M': 17, 'N': 68}
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from symlayout.atoms import MemorySpace
from symlayout.errors import AssumptionError, LayoutError
from symlayout.expr import Fact, Symbol, terms_of
from symlayout.expr.compiled import holds, value
from symlayout.expr.partial_results import partial_results
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.integer_widths import integers_of
from symlayout.kernel.specification import Dot, sums

Sizes: TypeAlias = "dict[str, int]"

TILE = 8  # of a size that no tile divides
RANDOM_CASES, RANDOM_TILES = 16, 4  # 20 sizes or more, some drawn twice
LARGE_BYTES = 64 << 20  # of all tensors: more than L2 holds, and many iterations of each persistent CTA
LARGE_OPERATIONS = 1 << 38  # of sums of products, which a definition computes in a second or so
FAR = 1 << 12  # how far from a wanted size an admissible one is looked for
NEAR, UP, DOWN = "near", "up", "down"


def tiles(kernel: Kernel) -> Sizes:
    """The largest number by which code divides each size; TILE where it divides none."""
    found = dict.fromkeys(kernel.dims, 0)
    for x in (*kernel.grid, *(x for op in kernel.plain.walk() for x in integers_of(op))):
        for p in partial_results(x) if symbols_in((x,)) else ():
            by = p.operands[-1]
            if p.word in ("//", "floordiv") and type(by) is int:
                of = symbols_in((p.operands[0],))
                for s in of if all(t in found for t in of) else ():
                    found[s] = max(found[s], by)
    return {s.name: n or TILE for s, n in found.items()}


def edges(kernel: Kernel, large_bytes: int = LARGE_BYTES, seed: int = 0) -> tuple[tuple[str, Sizes], ...]:
    """Admissible sizes by the word for them, each once: see the module.

    Raises LayoutError for a kernel whose assumptions admit none that is found.
    """
    if not kernel.dims:
        return (("as bound", dict(kernel.sizes)),)
    found: dict[tuple[int, ...], tuple[str, Sizes]] = {}
    if nearest(kernel, {s.name: 1 for s in kernel.dims}, UP) is None:
        raise LayoutError(f"expected sizes that meet what {kernel.name} assumes, found none within {FAR} of the least")
    for word, wanted, way in _wanted(kernel, large_bytes, random.Random(seed)):
        at = nearest(kernel, wanted, way)
        if at is not None:
            found.setdefault(tuple(at.values()), (word, at))
    return tuple(found.values())


def _wanted(kernel: Kernel, large_bytes: int, draw: random.Random) -> Iterator[tuple[str, Sizes, str]]:
    tile = tiles(kernel)
    yield "least", dict.fromkeys(tile, 1), UP
    yield "one tile", tile, NEAR
    yield "below a tile", {k: n - 1 for k, n in tile.items()}, DOWN
    yield "above a tile", {k: n + 1 for k, n in tile.items()}, UP
    for k in tile if len(tile) > 1 else ():
        yield f"{k} above, others below", {j: n + 1 if j == k else max(1, n - 1) for j, n in tile.items()}, NEAR
    yield "just above three tiles", {k: 3 * n + 1 for k, n in tile.items()}, UP
    for _ in range(RANDOM_CASES):
        yield "random", {k: draw.randint(1, RANDOM_TILES * n) for k, n in tile.items()}, NEAR
    big = _large(kernel, large_bytes)
    if big is not None:
        yield "large", {k: n - 1 for k, n in big.items()}, DOWN
        if any(nearest(kernel, {**big, k: n + 1}, UP) is None for k, n in big.items()):
            yield "most", big, NEAR


def _large(kernel: Kernel, large_bytes: int) -> Sizes | None:
    """Sizes that are about equal, at which the tensors have no more bytes and the sums no more terms than wanted."""
    best, low, high = None, 1, large_bytes
    while low <= high:
        mid = (low + high) // 2
        at = _admitted(kernel, {s.name: mid for s in kernel.dims}, DOWN)
        if at is None or not _within(kernel, at, large_bytes):
            high = mid - 1
        else:
            best, low = at, mid + 1
    return best


def _within(kernel: Kernel, at: Sizes, large_bytes: int) -> bool:
    """Whether the tensors have no more bytes, and the sums of products no more operations, than a large case."""
    tensors = (t for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
    if sum(int(value(t.layout.cosize(), at)) * t.dtype.bytes for t in tensors) > large_bytes:
        return False
    dots = ((kernel.tensor(r.tensor), x) for r in kernel.results for x in sums(r.value) if isinstance(x, Dot))
    return all(value(2 * t.layout.size() * x.extent, at) <= LARGE_OPERATIONS for t, x in dots)


def nearest(kernel: Kernel, wanted: Mapping[str, int], way: str = NEAR) -> Sizes | None:
    """Admissible sizes near some wanted ones, all of them no less (*up*), or no more where that is possible (*down*).

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> M, N = dims("M N")
    >>> nearest(tma_copy(M, N).assuming(N.multiple_of(4)), {"M": 3, "N": 5}, "up")
    {'M': 3, 'N': 8}

    None where there are none within FAR of them.
    """
    found = _admitted(kernel, wanted, way)
    try:
        if found is not None:
            kernel.bind(**found)
    except (AssumptionError, LayoutError):
        return None
    return found


def _admitted(kernel: Kernel, wanted: Mapping[str, int], way: str) -> Sizes | None:
    """Sizes that meet the facts about them; whether the kernel can be bound to them is not asked."""
    facts = Facts.about(kernel.dims, given=kernel.given)
    rows = [(f, frozenset(symbols_in((f,)))) for f in (*facts.ranges, *kernel.given)]
    order = _bounded_last(kernel.dims)
    env: Sizes = {}
    for i, s in enumerate(order):
        known = frozenset(order[: i + 1])
        mine = [f for f, of in rows if s in of and of <= known]
        for n in _about(max(wanted[s.name], _least(s, mine)), way):
            env[s.name] = n
            if n >= 0 and all(_holds(f, env) for f in mine):
                break
        else:
            return None
    if not facts.admits({s: env[s.name] for s in order}):
        return None
    return {s.name: env[s.name] for s in kernel.dims}


def _holds(f: Fact, env: Sizes) -> bool:
    """Whether sizes meet a fact; those at which it divides by 0 do not."""
    try:
        return bool(holds(f, env))
    except ZeroDivisionError:
        return False


def _least(s: Symbol, facts: list[Fact]) -> int:
    """The greatest lower bound that a fact about a size alone states, such as N >= 10000."""
    bounds = [0]
    for f in facts:
        t = terms_of(f.expr)
        if f.relation == ">=" and t.get((s,), 0) > 0 and set(t) <= {(s,), ()}:
            bounds.append(-(t.get((), 0) // t[(s,)]))
    return max(bounds)


def _bounded_last(symbols: tuple[Symbol, ...]) -> tuple[Symbol, ...]:
    """Symbols, those whose range depends on others behind these."""
    return tuple(sorted(symbols, key=lambda s: len(symbols_in(tuple(x for x in (s.lower, s.upper) if x is not None)))))


def _about(n: int, way: str) -> Iterator[int]:
    yield n
    for far in range(1, FAR):
        yield from {UP: (n + far,), DOWN: (n - far,), NEAR: (n + far, n - far)}[way]
    if way == DOWN:  # a size below what is least, or that others bound from below
        yield from range(n + 1, n + FAR)
