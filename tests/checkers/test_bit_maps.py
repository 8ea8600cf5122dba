"""Index expressions as CUDA writes them: what is proved of them for all sizes is true of every small one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from checkers import Bijective, Budget, InBounds, Injective, prove, verify
from symlayout import dim, dims, select
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome

S, M = dims("S M")
over = AddressMap.over

PROVED = [
    Bijective(over(lambda t: (t & ~7) | ((t & 7) ^ (t >> 3 & 7)), (64 * S,)), 64 * S),
    Bijective(over(lambda t: t >> 3 << 3 | (t & 7 ^ 5), (8 * S,)), 8 * S),
    Bijective(over(lambda t: (t >> 3, t & 7), (8 * S,)), (S, 8)),
    Bijective(over(lambda t: t ^ (t >> 1), (1024,)), 1024),
    Bijective(over(lambda t: (t & 0x55) << 1 | (t & 0xAA) >> 1, (256,)), 256),
    Injective(over(lambda w, lane: w << 5 | lane & 31, (M, 32))),
    Injective(over(lambda i, t: i * (1 << S) + t, (M, 1 << S))),
    InBounds(over(lambda i, j: i & j, (M, S)), M),
    InBounds(over(lambda i, j: i | j, (M, S)), M + S),
    InBounds(over(lambda i, j: i ^ j, (64, 64)), 64),
    InBounds(over(lambda i: i >> S, (M,)), M),
    InBounds(over(lambda i: select(i < M, i, 0), (M + 5,)), M),
]


@pytest.mark.parametrize("claim", PROVED, ids=str)
def test_what_cuda_writes_is_proved(claim):
    (verdict,) = prove(claim).verdicts

    assert verdict.outcome is Outcome.PROVED
    if verdict.certificate is not None:
        verify(json.loads(json.dumps(verdict.certificate)))


def drawn(r: random.Random) -> Callable[[Any], Any]:
    """A random map of one thread index."""
    k, mask, c = r.randint(0, 3), r.choice((1, 3, 7, 6, 12, ~3, ~7)), r.randint(0, 9)
    parts: list[Callable[[Any], Any]] = [
        lambda t: t & mask,
        lambda t: t >> k,
        lambda t: t << k,
        lambda t: (t & 7) ^ (t >> 3 & 7),
        lambda t: t ^ c,
        lambda t: (t & ~15) | (t + c & 15),
        lambda t: select(t < c, t + 1, t),
        lambda t: (t >> 2 << 2) + (t & 3 ^ c & 3),
    ]
    a, b = r.choice(parts), r.choice(parts)
    join = r.choice(
        (lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: x & y, lambda x, y: x + 64 * y, lambda x, y: x)
    )
    return lambda t: join(a(t), b(t))


def test_what_is_proved_of_random_maps_holds_at_small_sizes(share):
    r = random.Random(20)
    size = dim("n", multiple_of=16, at_most=1 << 20)
    seen = dict.fromkeys(Outcome, 0)
    for _ in range(share(60)):
        f = drawn(r)
        x = over(_one(f), (size,))
        extent = r.choice((size, 2 * size, 8 * size, size + 64))
        claim = r.choice((Injective(x), Bijective(x, size), InBounds(x, extent)))
        (verdict,) = prove(claim, budget=Budget(solver_ms=300, repairs=False)).verdicts
        seen[verdict.outcome] += 1
        for n in (16, 32, 48, 80, 128):
            values = [f(t) for t in range(n)]
            top = extent if isinstance(extent, int) else extent.subs({"n": n})
            holds = {
                Injective: len(set(values)) == n,
                Bijective: sorted(values) == list(range(n)),
                InBounds: all(0 <= v < top for v in values),
            }[type(claim)]
            assert holds or verdict.outcome is not Outcome.PROVED, (str(claim), n)
            if verdict.outcome is Outcome.REFUTED and verdict.witness.sizes == {"n": n}:
                assert not holds, (str(claim), n)
    assert seen[Outcome.PROVED] >= share(8)
    assert seen[Outcome.REFUTED] >= share(20)


def _one(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: f(t)
