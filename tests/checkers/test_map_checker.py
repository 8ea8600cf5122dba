"""Certificates about index expressions: found ones are true, and what the checker accepts of a broken one is true too."""

from __future__ import annotations

import copy
import itertools
import json
import random

import pytest

from checkers import verify
from checkers.algebra import digits
from symlayout import ceil_div, dim, dims, maximum, minimum
from symlayout.address_map import AddressMap
from symlayout.errors import CertificateError, SymlayoutError
from symlayout.expr import evaluate, integer
from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from tests.support import map_claims

over = AddressMap.over
M, N, B, K, G, g = dims("M N B K G g", at_most=9)
nm, nn = dims("nm nn", at_most=9)


def grouped(b, height, rows, columns):
    """A raster in groups of rows, the last of them clipped."""
    k = b // (height * columns)
    inside, tall = b % (height * columns), minimum(rows - height * k, height)
    return height * k + inside % tall, inside // tall


def rotated(b, height, rows, columns):
    k = b // (height * columns)
    tall = minimum(rows - height * k, height)
    return height * k + b % tall, b % (height * columns) // tall


tiles = ceil_div(M, 4)
MAPS = {
    "columns": ("bijective", over(lambda b: (b % nm, b // nm), (nm * nn,)), [nm, nn]),
    "three extents": ("bijective", over(lambda b: (b % M, b // M % N, b // (M * N)), (M * N * 2,)), [M, N, 2]),
    "tiles": ("bijective", over(lambda b: (b % tiles, b // tiles), (tiles * N,)), [tiles, N]),
    "a row reversed": ("bijective", over(lambda i, j: (i, N - 1 - j), (M, N)), [M, N]),
    "every other row reversed": ("bijective", over(lambda i, j: (i, j + (i % 2) * (N - 1 - 2 * j)), (M, N)), [M, N]),
    "rows rotated": ("bijective", over(lambda i, j: (i, (j + 3 * i + 7) % N), (M, N)), [M, N]),
    "rows xored": ("bijective", over(lambda i, j: (i, j ^ (i % 4)), (M, 4 * N)), [M, 4 * N]),
    "a swizzle": ("bijective", over(lambda i, j: 8 * i + (j ^ (2 * (i % 4))), (M, 8)), [8 * M]),
    "groups of 2": ("bijective", over(lambda b: grouped(b, 2, nm, nn), (nm * nn,)), [nm, nn]),
    "groups of any height": ("bijective", over(lambda b: grouped(b, g, nm, nn), (nm * nn,)), [nm, nn]),
    "groups rotated": ("injective", over(lambda b: rotated(b, 2, nm, nn), (nm * nn,)), []),
    "persistent": (
        "bijective",
        over(lambda b, i: (b + G * i) % M, (G, ceil_div(M, G)), when=lambda b, i: b + G * i < M),
        [M],
    ),
    "persistent, in groups": (
        "injective",
        over(lambda b, i: grouped(b + G * i, 2, nm, 3), (G, ceil_div(3 * nm, G)), when=lambda b, i: b + G * i < 3 * nm),
        [],
    ),
    "a ragged swizzle": ("injective", over(lambda x: x ^ (x // 4 % 2 * 2), (M,)), []),
    "whole groups of ragged rows": ("injective", over(lambda b: (2 * (b // (2 * N)) + b % 2, b % (2 * N) // 2), (M * N,)), []),
    "rows xored by a quotient": ("bijective", over(lambda i, j: (i, j ^ (i // 2 % 4)), (M, 4)), [M, 4]),
    "split": ("injective", over(lambda t, r: 4 * t + r, (tiles, 4), when=lambda t, r: 4 * t + r < M), []),
    "clamped": ("bounds", over(lambda t, r: minimum(4 * t + r, M - 1), (tiles, 4)), [M]),
    "greatest": ("bounds", over(lambda i, j: maximum(i, j), (M, N)), [M + N]),
    "flat windows": ("bounds", over(lambda m, y: (m // K + y // 3) * (K + 2) + m % K + y % 3, (N * K, 9)), [(N + 2) * (K + 2)]),
    "guarded": ("bounds", over(lambda i: i % (i - M), (2 * M,), when=lambda i: i > M), [2 * M]),
}  # fmt: skip


def certificate(says, x, onto):
    facts = Facts.about(x, tuple(onto))
    if says == "bijective":
        return digits.bijective(x, onto, facts)
    if says == "injective":
        return digits.injective(x, facts)
    return digits.bounded(x, [0] * len(onto), [n - 1 for n in onto], facts)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_has_a_certificate_that_is_true(name):
    found = certificate(*MAPS[name])

    assert found is not None
    verify(json.loads(json.dumps(found)))
    tried = 0
    for env in map_claims.sizes(found["claim"], 1, 5):
        tried += 1
        assert map_claims.holds(found["claim"], env), env
    assert tried > 3


def nodes(x, path=()):
    if path:
        yield path
    for key, part in x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ():
        yield from nodes(part, (*path, key))


def at(x, path):
    for key in path:
        x = x[key]
    return x


def slips(found, r):
    """Where to put what: each number changed, each name another of the certificate, each list shorter or reversed."""
    every = sorted({n for p in nodes(found) if isinstance(n := at(found, p), str)})
    for path in nodes(found):
        old = at(found, path)
        if type(old) is int:
            new = [old + 1, old - 1, r.choice((0, 2, 7))]
        elif isinstance(old, str):
            new = [r.choice(every)]
        elif isinstance(old, list) and old:
            new = [old[1:], old[:-1], old[::-1]]
        else:
            continue
        for value in new:
            if value != old:
                yield path, value


def slipped(found, slip):
    """The certificate with a slip."""
    path, value = slip
    out = copy.deepcopy(found)
    at(out, path[:-1])[path[-1]] = value
    return out


def accepted(found):
    try:
        verify(found)
    except CertificateError:
        return False
    return True


@pytest.mark.parametrize("name", MAPS)
def test_an_accepted_slip_is_a_true_claim(share, name):
    r = random.Random(name)
    found = json.loads(json.dumps(certificate(*MAPS[name])))
    every = list(slips(found, r))
    tried = [slipped(found, s) for s in r.sample(every, min(len(every), share(240)))]
    survivors = [m for m in tried if accepted(m)]

    assert len(survivors) < len(tried) / 2
    for mutant in survivors:
        for env in itertools.islice(map_claims.sizes(mutant["claim"], 0, 4), 60):
            assert map_claims.holds(mutant["claim"], env), (env, mutant)


# -- random maps ----------------------------------------------------------------------------------------------


def expression(r, coords, sizes, depth):
    """A random index expression; divisors are sizes, numbers, or what may be below 1."""
    if depth == 0 or r.random() < 0.15:
        return r.choice((*coords, *coords, *sizes, 1, 2, 3))
    a, b = (expression(r, coords, sizes, depth - 1) for _ in range(2))
    d = r.choice((*sizes, 2, 3, 4, 2 * sizes[0], sizes[0] * sizes[1]))
    return r.choice(
        (
            lambda: integer(a) // d,
            lambda: integer(a) % d,
            lambda: a + b,
            lambda: a - b,
            lambda: a + d * (integer(b) // d),
            lambda: minimum(a, b),
            lambda: maximum(a, b),
            lambda: integer(a) ^ (integer(b) % 4),
            lambda: (a + b) % d,
        )
    )()


def random_claim(r):
    """(what is claimed, a map, its range): mostly near a raster, so that some claims are true."""
    sizes = (dim("P", at_most=5), dim("Q", at_most=4), dim("H", at_most=3))
    p, q, h = sizes
    extents = r.choice(((p * q,), (p, q), (q * p * h,), (p, 4), (8, p), (h, ceil_div(p * q, h)), (2 * p,), (p, q, h)))
    coords = [dim("bij"[k], at_least=0, below=n) for k, n in enumerate(extents)]
    whole = coords[0] + (extents[0] * coords[1] if len(coords) > 1 else 0)
    d = r.choice((p, q, h, 2, 3, q * h))
    shapes = [
        (integer(whole) % d, integer(whole) // d),
        (integer(whole) // d, integer(whole) % d),
        grouped(whole, r.choice((2, 3, h)), p, q),
        rotated(whole, r.choice((2, 3)), q, p),
        (coords[0], (coords[-1] + r.choice((1, 2)) * coords[0]) % extents[-1]),
        (coords[0], coords[-1] ^ (integer(coords[0]) % r.choice((2, 4)))),
        tuple(expression(r, coords, sizes, r.randint(1, 3)) for _ in range(r.randint(1, 2))),
    ]
    value = r.choice(shapes)
    valid = (whole < p * q,) if r.random() < 0.4 and getattr(whole < p * q, "value", None) is None else ()
    x = AddressMap(tuple(coords), tuple(map(integer, extents)), value if len(value) > 1 else value[0], valid)
    onto = [r.choice((p, q, h, p * q, d, ceil_div(p * q, d), extents[0], extents[-1], 4, 8)) for _ in value]
    return r.choice(("bijective", "injective", "bounds")), x, [integer(n) for n in onto]


def campaign(seed, trials):
    """How many certificates were found; each is compared with all sizes up to the ends of their ranges."""
    r, found = random.Random(seed), 0
    for _ in range(trials):
        try:
            says, x, onto = random_claim(r)
        except (SymlayoutError, ZeroDivisionError):
            continue
        made = certificate(says, x, onto)
        if made is None:
            continue
        found += 1
        verify(made)
        for env in map_claims.sizes(made["claim"], 1, 5):
            assert map_claims.holds(made["claim"], env), (says, str(x), onto, env)
        same_map(x, made["claim"], r)
    return found


def same_map(x, claim, r):
    """The claim is about the map: its value at random points is that of the expression."""
    symbols = Facts.about(x).symbols
    for _ in range(3):
        sizes = {s: r.randint(1, s.upper) for s in symbols}
        at_point = {c: r.randrange(max(1, evaluate(n, sizes))) for c, n in zip(x.coords, x.extents, strict=True)}
        env = {s.name: v for s, v in sizes.items()} | {f"[{c.name}]": v for c, v in at_point.items()}
        atoms = {**claim.get("define", {}), **{a: d for a, *d in claim.get("atoms", ())}}
        try:
            wanted = [evaluate(e, {**sizes, **at_point}) for e in leaves(x.offset)]
            assert [map_claims.value(p, env, atoms) for p in claim["value"]] == wanted
        except (ZeroDivisionError, KeyError, map_claims.NoValue):  # xors of sizes are names of their own
            continue


def test_random_certificates_are_true(share):
    assert campaign(1, share(200)) > share(20)


if __name__ == "__main__":
    import sys

    print(campaign(int(sys.argv[1]), int(sys.argv[2])))
