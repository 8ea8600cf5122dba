"""Tile windows of CK Tile broken mechanically: is each mutant refuted, or shown to be the same?

    python -m benchmarks.ck_window_mutants [--show] [--random 40 --seed 1]

A mutation is one slip in what an author writes: the origin one off, of another block or another dimension; lengths;
a digit of the distribution, its owner or its order; a mask left out; the width of vectors; the lanes of a wave. A
subject says what its author means: the element that each register of each thread holds, the mask, the width of a
vector and that no access leaves the buffer. A mutant fails one of these for some sizes (*refuted*), keeps all of them
(*equivalent*), or cannot be made (*refused*). An outcome that is none of these is *open*, and the exit status 1.

With ``--random`` windows of random distributions are broken too, and each that is said to be the same is compared with
what is meant point by point, at some sizes.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import ck_distributions
from benchmarks.ck_mutants import outcome
from checkers import DistributionCovers, Equal, GuaranteedVectorLength, Holds, MaskIsExactly, NoInvalidAccess
from symlayout.address_map import AddressMap
from symlayout.ck_tile import (
    TileDistribution,
    TileDistributionEncoding,
    TileWindow,
    make_naive_tensor_view,
    make_tile_window,
    pad_tensor_view,
)
from symlayout.errors import SymlayoutError
from symlayout.expr import Expr, dim, dims, eq, index
from symlayout.int_tuple import ceil_div

M, K = dims("M K")
ROW = dim("lda", at_least=K)
ENCODING = TileDistributionEncoding((), ((2, 2, 4), (2, 4)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
ROW_OF_BLOCKS, COLUMN_OF_BLOCKS = index("bm", ceil_div(M, 16)), index("bk", ceil_div(K, 8))


@dataclass(frozen=True)
class Made:
    """What an author writes to make a window; each field is one that a slip may change."""

    lengths: tuple[Any, Any] = (16, 8)
    origin: tuple[Any, Any] = (16 * ROW_OF_BLOCKS, 8 * COLUMN_OF_BLOCKS)
    encoding: TileDistributionEncoding = ENCODING
    tile: tuple[int, int] = (16, 8)  # to whose multiples the view is padded
    pads: tuple[bool, bool] = (True, True)
    shape: tuple[Any, Any] = (M, K)
    strides: tuple[Any, Any] = (ROW, 1)
    vector: int = 4
    threads: tuple[int, int] = (2, 8)  # warps and lanes that run
    version: str = "V24"

    def window(self) -> TileWindow:
        """The window; raises LayoutError for one that cannot be made."""
        plain = make_naive_tensor_view(None, self.shape, self.strides, self.vector, 1)
        view = pad_tensor_view(plain, self.tile, self.pads)
        return make_tile_window(view, self.lengths, self.origin, TileDistribution(self.encoding), version=self.version)


Element = Callable[..., tuple[Any, Any]]


def element_of(made: Made) -> Element:
    """The row and the column that a register of a thread holds: of (bm, bk, warp, lane, y0, ...), by digits."""
    e, (rows, columns) = made.encoding, made.lengths

    def element(bm: Any, bk: Any, warp: Any, lane: Any, *ys: Any) -> tuple[Any, Any]:
        digits = dict(zip(e.Y, ys, strict=True))
        for pairs, rest in zip(e.P, (warp, lane), strict=True):
            for pair in reversed(pairs[1:]):
                digits[pair], rest = rest % e.length_of(pair), rest // e.length_of(pair)
            digits.update(dict.fromkeys(pairs[:1], rest))
        row, column = (
            sum((e.weight_of((k + 1, m)) * digits.get((k + 1, m), 0) for m in range(len(h))), start=0)
            for k, h in enumerate(e.H)
        )
        return rows * bm + row, columns * bk + column

    return element


def named(f: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of (bm, bk, warp, lane, y0, ...) with so many Y, whose parameters have names."""
    names = ", ".join(["bm", "bk", "warp", "lane", *(f"y{i}" for i in range(count))])
    return eval(f"lambda {names}: f({names})", {"f": f})  # type: ignore[no-any-return]


def claims(made: Made, meant: Made | None = None) -> list[Any]:
    """What must hold for a window to be the one that is meant."""
    meant = meant or Made()
    w, own, element = made.window(), meant.window(), element_of(meant)
    given = K.multiple_of(own.vector[1])
    access, box = w.access, own.access.extents
    if len(access.coords) != len(box):
        raise SymlayoutError("an access of other indices")

    def inside(*at: Any) -> Any:
        row, column = element(*at)
        return row < M, column < K

    def offset(*at: Any) -> Any:
        row, column = element(*at)
        return row * ROW + column

    ys = len(meant.encoding.Y)
    wanted = AddressMap.over(named(offset, ys), box, named(inside, ys))
    out: list[Any] = [Holds(eq(a, b)) for a, b in zip(access.extents, box, strict=True)]
    out += [
        MaskIsExactly(access, inside, given=given),
        NoInvalidAccess(access, (M - 1) * ROW + K, given=given),
        DistributionCovers(w.distribution, *reversed(made.threads)),
        Holds(eq(w.vector[1], own.vector[1])),
    ]
    if access.extents == box:
        value, facts = wanted.renamed(access.coords)
        mine = AddressMap(access.coords, access.extents, access.offset, facts, divisors=access.divisors)
        out.append(Equal(mine, AddressMap(access.coords, box, value, facts), given=given))
    if w.vector[1] > 1:
        y, n = w.vector
        out.append(GuaranteedVectorLength(access, n, len(box) - len(made.encoding.Y) + y, 1, given=given))
    return out


def same_at_sizes(made: Made, meant: Made) -> bool:
    """Whether a window loads what is meant at some sizes, point by point."""
    element = element_of(meant)
    for rows, columns in ((1, 8), (5, 16), (17, 8)):
        sizes = {M: rows, K: columns, ROW: columns + 3}
        at, values = made.window().access.subs(sizes).table()
        found = {tuple(map(int, row)): int(v[0]) for row, v in zip(at, values, strict=True)}
        box = [int(n.subs(sizes)) if isinstance(n, Expr) else n for n in meant.window().access.extents]
        every = {c: element(*c) for c in itertools.product(*map(range, box))}
        if found != {c: r * (columns + 3) + k for c, (r, k) in every.items() if r < rows and k < columns}:
            return False
    return True


def random_window(rng: random.Random) -> Made:
    """A window of a small random distribution, in which each factor has one owner."""
    while True:
        e = ck_distributions.random_encoding(rng, exact=1.0)
        if len(e.H) == 2 and len(e.P) == 2 and not e.R and all(e.P):
            rows, columns = map(int, e.x_lengths)
            bm, bk = index("bm", ceil_div(M, rows)), index("bk", ceil_div(K, columns))
            warps, lanes = map(int, e.p_lengths)
            tile, origin = (rows, columns), (rows * bm, columns * bk)
            return Made(tile, origin, e, tile, vector=rng.choice((-1, 2, 4)), threads=(warps, lanes))


# -- mutants --------------------------------------------------------------------------------------------------


def mutants(made: Made) -> Iterator[tuple[str, Made]]:
    """Each slip in words, and what is made with it."""
    yield from _origins(made)
    for name in ("lengths", "tile", "shape", "strides", "threads"):
        value = getattr(made, name)
        for i, x in enumerate(value):
            for by in (1, -1):
                yield f"{name}[{i}] {by:+}", replace(made, **{name: (*value[:i], x + by, *value[i + 1 :])})
            if name == "tile":
                yield f"{name}[{i}] doubled", replace(made, **{name: (*value[:i], 2 * x, *value[i + 1 :])})
        yield f"{name} swapped", replace(made, **{name: value[::-1]})
    for i in (0, 1):
        pads = tuple(p and k != i for k, p in enumerate(made.pads))
        yield f"the mask of dimension {i} dropped", replace(made, pads=pads)
    yield "no mask", replace(made, pads=(False, False))
    for n in (-1, 1, 2, 8):
        yield f"vectors of {n}", replace(made, vector=n)
    yield "the rules of 2025", replace(made, version="V25")
    for e in ck_distributions.mutants(made.encoding):
        yield f"the distribution {e}", replace(made, encoding=e)


def _origins(made: Made) -> Iterator[tuple[str, Made]]:
    for i, x in enumerate(made.origin):
        rest = (made.origin[1 - i],)

        def put(y: Any, i: int = i, rest: tuple[Any, ...] = rest) -> Made:
            return replace(made, origin=(y, *rest) if i == 0 else (*rest, y))

        (block,) = (s for s in (x.symbols if isinstance(x, Expr) else ()) if s.name.startswith("b"))
        for by in (1, -1):
            yield f"origin[{i}] {by:+}", put(x + by)
            yield f"origin[{i}] of a tile one {'longer' if by > 0 else 'shorter'}", put(x + by * block)
        yield f"origin[{i}] at 0", put(0)
        yield f"origin[{i}] of the next block", put(x + x.subs({block: 1}))
        yield f"origin[{i}] of the block as a number", put(block)
    yield "origins swapped", replace(made, origin=made.origin[::-1])


def tried(meant: Made, some: Sequence[tuple[str, Made]], show: bool = False) -> Counter[str]:
    """How some mutants of a window came out; *wrong* is one that is said to be the same, and is not."""
    out = Counter[str]()
    own = outcome(lambda: claims(meant, meant))
    if own[0] != "equivalent" or not same_at_sizes(meant, meant):
        print(f"not proved itself: {meant.encoding} {own}")
        out["wrong"] += 1
    for words, made in some:
        kind, why = outcome(lambda m=made: claims(m, meant))
        kind = "wrong" if kind == "equivalent" and not same_at_sizes(made, meant) else kind
        out[kind] += 1
        if show or kind in ("open", "wrong"):
            print(f"  {kind:10} {words}   {why.splitlines()[0] if why else ''}")
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every mutant and print how they came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print every mutant")
    parser.add_argument("--random", type=int, default=0, help="so many random windows, with ten mutants of each")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng, failed = random.Random(options.seed), False
    for name, windows in (("GEMM operand", [Made()]), ("random", [random_window(rng) for _ in range(options.random)])):
        begin, tally = time.process_time(), Counter[str]()
        for meant in windows:
            every = [*mutants(meant)]
            some = every if name != "random" else rng.sample(every, min(10, len(every)))
            tally += tried(meant, some, options.show)
        counted = ", ".join(f"{n} {k}" for k, n in sorted(tally.items()))
        seconds = f"{time.process_time() - begin:.1f} s"
        print(f"{name}: {len(windows)} windows, {sum(tally.values())} mutants, {counted}, {seconds}")
        failed = failed or bool(tally["open"] or tally["wrong"])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
