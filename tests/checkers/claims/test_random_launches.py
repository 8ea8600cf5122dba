"""Random launches, on numbers and on symbols, near the limits on both sides, against comparisons of plain integers."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from benchmarks.soundness.campaign import trials
from benchmarks.soundness.plain import Env, admissible, number
from benchmarks.soundness.row import TRIES, Row, symbols_of
from checkers import Launchable
from symlayout import dims
from symlayout.arch import SM80, SM90
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel
from symlayout.ops import ExpectTx

M, N, B = dims("M N B")
GRID = (2**31 - 1, 65535, 65535)
NEAR = (1, 2, 7, 8, 31, 32, 33, 255, 256, 65535, 65536, 65535 * 32, 65535 * 32 + 1, 2**20 - 1, 2**20, 2**31 - 1)


def _extent(r: random.Random, symbolic: bool) -> Any:
    if not symbolic or r.random() < 0.4:
        return r.choice((1, 2, 8, 64, 65535, 65536, 2**31 - 1, 2**31))
    s, t = r.sample([M, N, B], 2)
    tiles = ceil_div(s, 64) * ceil_div(t, 64)
    return r.choice((s, ceil_div(s, 32), s // 4 + 1, s * t, tiles, 2 * ceil_div(s, 16), s + t))


def _kernel(r: random.Random, symbolic: bool) -> Kernel:
    clean = r.random() < 0.5
    k = Builder("launch", M, N, B, grid=(1,), threads=32 * r.randint(1, 32), index_bits=64)
    full = k.mbarriers("full", r.choice((1, 4)), 1)
    k.sync(r.randint(0, 15) if clean else r.choice((0, 1, 15, 16, -1, 40)), 0 if clean else r.choice((0, 32, 64, 33)))
    if r.random() < 0.6:
        with k.elect():
            k.expect_tx(full(), _bytes(r, symbolic))
    made = k.kernel(*(_facts(r) if symbolic else ()))
    axes = r.choice((1, 1, 2, 2, 3)) if clean else r.choice((1, 2, 3, 3, 4))
    cluster = r.choice(((1,), (1,), (2,), (2, 2), (16,))) if clean else r.choice(((1,), (4, 8), (0,), (1, 2), (9,)))
    grid = tuple(_extent(r, symbolic) for _ in range(axes))
    if cluster != (1,) and r.random() < 0.5:
        shape = (*cluster, *(1 for _ in grid))
        grid = tuple(max(1, c) * ceil_div(n, max(1, c)) for n, c in zip(grid, shape, strict=False))
    threads = made.threads if clean else r.choice((made.threads, 1024, 1056, 48))
    arrivals = 1 if clean else r.choice((1, 2, 2**20 - 1, 2**20, 0))
    barriers = tuple(replace(b, arrivals=arrivals) for b in made.barriers)
    return replace(made, grid=grid, cluster=cluster, threads=threads, barriers=barriers)


def _bytes(r: random.Random, symbolic: bool) -> Any:
    s = r.choice((M, N))
    return r.choice((16, 16384, 2**20 - 1, 2**20, *((16 * s, 4 * s * B) if symbolic else ())))


def _facts(r: random.Random) -> tuple[Any, ...]:
    every = [M <= 65535, N <= 65535 * 32, M.multiple_of(16), B <= 8, M <= 2**16, M * N <= 65535, B >= 2]
    return tuple(r.sample(every, r.choice((0, 1, 2, 3))))


def claim_of(symbolic: bool) -> Any:
    def make(r: random.Random) -> Launchable:
        return Launchable(_kernel(r, symbolic), SM90 if r.random() < 0.8 else SM80)

    return make


def launches(claim: Any, env: Env) -> bool:
    """Launchable: a launch takes it, by the tables of the programming guide and the PTX ISA."""
    k, hopper = claim.kernel, claim.arch is not SM80
    grid, ctas = [number(n, env) for n in k.grid], math.prod(k.cluster)
    whole = all(n % c == 0 for n, c in itertools.zip_longest(grid, k.cluster, fillvalue=1) if c > 1)
    ok = 1 <= len(grid) <= 3 and all(n <= most for n, most in zip(grid, GRID, strict=False))
    ok = ok and 32 <= k.threads <= 1024 and k.threads % 32 == 0
    ok = ok and 1 <= ctas <= (16 if hopper else 1) and min(k.cluster) >= 1 and (ctas == 1 or whole)
    ok = ok and all(b.slots >= 1 and 1 <= b.arrivals < 2**20 for b in k.barriers)
    for op in k.walk():
        if type(op).__name__ == "Barrier":
            ok = ok and 0 <= op.number <= 15 and op.threads % 32 == 0 and 0 <= op.threads <= k.threads
        if isinstance(op, ExpectTx):
            total = number(op.bytes, env) * k.barrier(op.barrier.barrier).arrivals
            ok = ok and hopper and 0 <= total < 2**20
    return ok


def sizes(claim: Any, r: random.Random) -> Iterator[Env]:
    """Some admissible sizes, at and beside the limits."""
    symbols = symbols_of(claim)
    found = 0
    for _ in range(10 * TRIES):
        env = {s.name: r.choice(NEAR) for s in symbols}
        if admissible(symbols, claim.given, env):
            yield env
            found += 1
            if found == TRIES:
                return


def says(claim: Any, env: Env) -> bool:
    """The claim at sizes; where a witness leaves sizes open, at those that are near the limits."""
    names = [s.name for s in symbols_of(claim) if s.name not in env]
    return all(launches(claim, {**env, **dict.fromkeys(names, v)}) for v in NEAR)


ROW = Row(Launchable, claim_of(False), claim_of(True), says, 4, sizes)


@pytest.mark.parametrize("mode, count", [("static", 250), ("symbolic", 90)])
def test_a_launch_is_proved_only_where_it_is_taken(share, mode, count):
    count = share(count)
    counts, wrong = trials(ROW, mode, count, "launches 1")

    assert wrong == []
    assert counts["unknown"] == 0
    assert min(counts["proved"], counts["refuted"]) > count // 20
