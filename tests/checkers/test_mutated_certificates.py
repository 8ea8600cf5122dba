"""Every number of a certificate is changed in turn: what the checker still accepts must still be true."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from checkers import Bijective, Equal, InBounds, Injective, Surjective, prove, verify
from symlayout import Layout, ceil_div, dim, dims
from symlayout.errors import CertificateError

M, N = dims("M N", at_most=9)
ld = dim("ld", at_least=M, at_most=12)
CLAIMS = [
    Injective(Layout((4, 8), (8, 1))),
    Injective(Layout((3, 3), (2, 3))),
    Injective(Layout((M, N), (1, ld))),
    Injective(Layout((M, 2, N), (2, 1, 2 * M))),
    Injective(Layout((4, ceil_div(M, 4), N), (1, 4, 4 * ceil_div(M, 4)))),
    Bijective(Layout((2, 3, 4), (12, 4, 1)), 24),
    Bijective(Layout((M, N), (N, 1)), M * N),
    Surjective(Layout((M, 3, N), (1, 0, M)), M * N),
    Surjective(Layout((4, M), (1, 3)), 3 * M + 1),
    InBounds(Layout((M, N), (1, ld)), ld * N),
    Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, ld))),
]


def numbers(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every integer in nested lists and dictionaries."""
    if type(x) is int:
        yield path
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list | tuple) else ()
    for key, value in items:
        yield from numbers(value, (*path, key))


def lists(x: Any) -> Any:
    """Tuples as lists, so that entries can be set."""
    if isinstance(x, dict):
        return {k: lists(v) for k, v in x.items()}
    return [lists(v) for v in x] if isinstance(x, list | tuple) else x


def mutants(certificate: Any, r: random.Random) -> Iterator[Any]:
    for path in numbers(certificate):
        for step in (1, -1, 2, r.randint(3, 9)):
            changed = lists(copy.deepcopy(certificate))
            at = changed
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] += step
            yield changed


def value(p: Any, env: dict[str, int]) -> int:
    """A polynomial in its JSON form at integers; quotients are given in *env* too."""
    if type(p) is int:
        return p
    out = 0
    for c, *names in p:
        for name in names:
            c *= env[name]
        out += c
    return out


def environments(claim: Any) -> Iterator[dict[str, int]]:
    """Admissible integers for the names of a claim, its defined quotients computed."""
    rows = [*claim.get("assume", ()), *(p for m in claim.get("modes", ()) for p in m), claim.get("onto", 0)]
    rows += [claim.get(k, 0) for k in ("base", "low", "high")]
    rows += [p for k in ("a", "b") for m in claim.get(k, ()) for p in m]
    rows += [a for _, *args in claim.get("define", {}).values() for a in args]
    names = sorted({n for p in rows if type(p) is not int for _, *ns in p for n in ns} - set(claim.get("define", {})))
    for values in itertools.product(range(1, 6), repeat=len(names)):
        env = dict(zip(names, values, strict=True))
        for name, (_, x, d) in claim.get("define", {}).items():
            env[name] = value(x, env) // max(1, value(d, env))
        if all(value(p, env) >= 0 for p in claim.get("assume", ())):
            yield env


def offsets(modes: Any, env: dict[str, int]) -> list[int]:
    boxes = [range(value(n, env)) for n, _ in modes]
    strides = [value(s, env) for _, s in modes]
    points = itertools.product(*boxes[::-1])
    return [sum(c * s for c, s in zip(digits[::-1], strides, strict=True)) for digits in points]


def true_at(claim: Any, env: dict[str, int]) -> bool:
    """Whether the claim of a certificate holds, by counting."""
    if claim["kind"] == "all":
        return all(true_at(part, env) for part in claim["parts"])
    if claim["kind"] == "equal":
        a, b = ([v + value(claim[f"base_{k}"], env) for v in offsets(claim[k], env)] for k in ("a", "b"))
        return a == b
    found = offsets(claim["modes"], env)
    if claim["kind"] == "injective":
        return len(set(found)) == len(found)
    if claim["kind"] == "bounds":
        base, low, high = (value(claim[k], env) for k in ("base", "low", "high"))
        return all(low <= base + v <= high for v in found)
    onto = set(range(value(claim["onto"], env)))
    return onto <= set(found) if claim["kind"] == "covers" else sorted(found) == sorted(onto)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_an_accepted_mutant_is_true(claim):
    (certificate,) = prove(claim).certificates
    verify(certificate)
    accepted = tried = 0
    for mutant in mutants(certificate, random.Random(5)):
        tried += 1
        try:
            verify(mutant)
        except CertificateError:
            continue
        accepted += 1
        for env in environments(mutant["claim"]):
            assert true_at(mutant["claim"], env), (mutant, env)

    assert tried > 20
    assert accepted < tried


@pytest.mark.parametrize(
    "junk",
    [
        {},
        {"claim": {}},
        {"claim": {"kind": "nothing"}, "proof": {}},
        {"claim": {"kind": "injective", "modes": 3}, "proof": {"sign": [], "order": [], "gaps": []}},
        {"claim": {"kind": "injective", "modes": [[4, 1.5]]}, "proof": {"sign": [1], "order": [0], "gaps": [{}]}},
        {"claim": {"kind": "bijective", "modes": [[4, 1]], "onto": 4}, "proof": {"order": [1]}},
        {"claim": {"kind": "nonneg", "poly": [[-1]]}, "proof": {"sum": [[1, 0]]}},
        {"claim": {"kind": "nonneg", "poly": [[-1]], "assume": [[[1, "M"]]]}, "proof": {"sum": [[-1]]}},
        {"claim": {"kind": "nonneg", "poly": [[-1]]}, "proof": {"sum": [], "scale": 0}},
        {"claim": {"kind": "f2", "modes": [[3, 1]]}, "proof": {"left_inverse": [1]}},
        {"claim": {"kind": "all", "parts": []}, "proof": {"parts": []}},
        {"claim": {"kind": "divisible", "modes": [[4, 6]], "base": 0, "modulus": 4}, "proof": {}},
    ],
    ids=str,
)
def test_what_is_no_certificate_is_refused(junk):
    with pytest.raises(CertificateError):
        verify(junk)


def test_two_negative_extents_have_no_points():
    """(-1)*(-1) is 1: a product of extents is a size only where each extent is at least 0."""
    hints = {"order": [0, 1], "extents": [{"sum": [[0]]}, {"sum": [[0]]}]}
    claim = {"kind": "bijective", "modes": [[[[1, "k"]], 1], [[[1, "k"]], [[1, "k"]]]], "onto": [[1, "k", "k"]]}
    with pytest.raises(CertificateError):
        verify({"claim": claim, "proof": hints})
