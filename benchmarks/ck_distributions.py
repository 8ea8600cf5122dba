"""Random distributions of CK Tile: do symbols, enumeration and NumPy agree, and does each have its layout?

    python -m benchmarks.ck_distributions [--count 3000] [--seed 1]

Of each encoding, careful or careless, compared are: the address map with digits by NumPy at every (P, Y), the
verdict of ``DistributionCovers`` with counting, the thread-value layout (where it has one) with the map and with the
distribution that it leads back to, the C++ type with its reading. Of each tenth all mechanical mutants are judged too.
The exit status is 1 if any of these disagrees or a verdict is open.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from checkers import DistributionCovers, prove
from symlayout import LayoutError
from symlayout.answers.report import Outcome
from symlayout.ck_tile import TileDistribution, TileDistributionEncoding, distribution_of, thread_value_layout
from symlayout.text.notation import parse


def covers(encoding: TileDistributionEncoding) -> bool:
    """Whether each element of the tile has as many (P, Y) as R says, by counting with NumPy."""
    boxes = [int(n) for n in (*encoding.p_lengths, *encoding.y_lengths)]
    tile = tuple(int(n) for n in encoding.x_lengths)
    x = by_digits(encoding, np.indices(boxes).reshape(len(boxes), -1).T)
    if ((x < 0) | (x >= tile)).any():
        return False
    held = np.bincount(np.ravel_multi_index(tuple(x.T), tile), minlength=math.prod(tile))
    return bool((held == int(encoding.replicas)).all())


def by_digits(e: TileDistributionEncoding, at: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """(P, Y) -> X of rows of coordinates by NumPy: digits of P, indices of Y, then Horner's rule in each dimension."""
    h = {(k + 1, m): np.zeros(len(at), int) for k, lengths in enumerate(e.H) for m in range(len(lengths))}
    for i, pair in enumerate(e.Y):
        h[pair] = at[:, len(e.P) + i]
    for i, pairs in reversed([*enumerate(e.P)]):
        rest, found = at[:, i], []
        for pair in reversed(pairs[1:]):
            found.append((pair, rest % e.length_of(pair)))
            rest = rest // e.length_of(pair)
        h.update([*((pair, rest) for pair in pairs[:1]), *reversed(found)])
    columns = []
    for k, lengths in enumerate(e.H):
        x = np.zeros(len(at), int)
        for m, n in enumerate(lengths):
            x = x * n + h[k + 1, m]
        columns.append(x)
    return np.stack(columns, axis=1)


def mutants(e: TileDistributionEncoding) -> list[TileDistributionEncoding]:
    """Each mechanical change of one part of an encoding that still has a meaning: length, pair, order, loss."""
    out: list[TileDistributionEncoding] = []

    def add(**parts: Any) -> None:
        with contextlib.suppress(LayoutError):
            made = replace(e, **parts)
            if made != e and made not in out:
                out.append(made)

    pairs = [(0, m) for m in range(len(e.R))] + [(k + 1, m) for k, h in enumerate(e.H) for m in range(len(h))]
    for i in range(len(e.R)):
        add(R=_put(e.R, i, 2 * e.R[i]))
    for k, h in enumerate(e.H):
        for m, n in enumerate(h):
            add(H=_put(e.H, k, _put(h, m, 2 * n)))
            add(H=_put(e.H, k, _put(h, m, max(1, n // 2))))
        add(H=_put(e.H, k, tuple(reversed(h))))
    for i, p in enumerate(e.P):
        add(P=_put(e.P, i, tuple(reversed(p))))
        for j in range(len(p)):
            add(P=_put(e.P, i, (*p[:j], *p[j + 1 :])))
            for pair in pairs:
                add(P=_put(e.P, i, _put(p, j, pair)))
    add(P=tuple(reversed(e.P)))
    for i in range(len(e.Y)):
        add(Y=(*e.Y[:i], *e.Y[i + 1 :]))
        for pair in pairs:
            add(Y=_put(e.Y, i, pair))
    add(Y=tuple(reversed(e.Y)))
    return out


def _put(xs: tuple[Any, ...], i: int, x: Any) -> tuple[Any, ...]:
    return (*xs[:i], x, *xs[i + 1 :])


def random_encoding(rng: random.Random, exact: float = 0.5) -> TileDistributionEncoding:
    """A small encoding; of *exact* of them each factor has one owner, others own factors twice or not at all."""
    r = tuple(rng.choice((1, 2, 3)) for _ in range(rng.randint(0, 2)))
    h = tuple(tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 2)))
    ps: list[list[tuple[int, int]]] = [[] for _ in range(rng.randint(1, 2))]
    ys: list[tuple[int, int]] = []
    careless = rng.random() >= exact
    pairs = [(0, m) for m in range(len(r))] + [(k + 1, m) for k, f in enumerate(h) for m in range(len(f))]
    rng.shuffle(pairs)
    for pair in pairs:
        for _ in range(rng.choice((0, 1, 1, 1, 2)) if careless else 1):
            owner = rng.randint(0, len(ps))
            (ys if owner == len(ps) and pair[0] else ps[min(owner, len(ps) - 1)]).append(pair)
    return TileDistributionEncoding(r, h, tuple(map(tuple, ps)), tuple(ys))


def disagreements(e: TileDistributionEncoding) -> list[str]:
    """What disagrees about an encoding; nothing if all is well."""
    out = []
    d = TileDistribution(e)
    at, values = d.table()
    if values.tolist() != by_digits(e, at).tolist():
        out.append("the map and the digits")
    if not judged(e):
        out.append("the verdict and counting")
    if parse(e.cpp()) != d:
        out.append("the C++ type and its reading")
    if not e.faults():
        tv = thread_value_layout(d)
        if not _same(d, tv):
            out.append("the layout and the map")
        back = thread_value_layout(distribution_of(tv, d.lengths, wave_size=e.p_lengths[-1]))
        if any(back(i) != tv(i) for i in range(tv.size())):
            out.append("the layout and its distribution")
    return out


def _same(d: TileDistribution, tv: Any) -> bool:
    """Whether a layout is the map at every thread and register, elements numbered with the first dimension fastest."""
    at, values = d.table()
    threads = at[:, 0] if len(d.encoding.P) == 1 else at[:, 0] * d.encoding.p_lengths[1] + at[:, 1]
    registers, numbers = np.zeros(len(at), int), np.zeros(len(at), int)
    for i, n in enumerate(d.encoding.y_lengths):
        registers = registers * n + at[:, len(d.encoding.P) + i]
    for k, n in reversed([*enumerate(d.lengths)]):
        numbers = numbers * n + values[:, k]
    return all(tv(int(t), int(v)) == x for t, v, x in zip(threads, registers, numbers, strict=True))


def judged(e: TileDistributionEncoding) -> bool:
    """Whether the verdict is that of counting."""
    return prove(DistributionCovers(e)).verdicts[0].outcome is (Outcome.PROVED if covers(e) else Outcome.REFUTED)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.ck_distributions")
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng, begin, seen, wrong = random.Random(options.seed), time.process_time(), Counter[str](), 0
    for i in range(options.count):
        e = random_encoding(rng)
        found = disagreements(e)
        seen["cover" if covers(e) else "do not cover"] += 1
        if i % 10 == 0:
            for m in mutants(e)[:: rng.randint(1, 3)]:
                found += [] if judged(m) else [f"the verdict of the mutant {m}"]
                seen["mutants"] += 1
        wrong += bool(found)
        for words in found:
            print(f"{e}: {words}")
    counts = ", ".join(f"{n} {what}" for what, n in sorted(seen.items()))
    print(f"{options.count} encodings: {counts}; {wrong} wrong; {time.process_time() - begin:.1f} s of CPU")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
