"""The checker on its own: certificates written by hand, every number of them changed, every node replaced by junk.

What is accepted must be true at every integer between LOW and HIGH that meets the claim's own assumptions.
"""

from __future__ import annotations

import collections
import copy
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from checkers.trusted.certificate_checker import KINDS, verify
from symlayout.errors import CertificateError
from symlayout.swizzle import Swizzle
from tests.support import map_claims

LOW, HIGH = -3, 5
LARGEST = 60  # an extent or value beyond this is not written out

M, N, S, Q = ([[1, name]] for name in ("M", "N", "S", "Q"))
M1, N1 = [[1, "M"], [-1]], [[1, "N"], [-1]]  # M - 1, N - 1: rows that say M >= 1, N >= 1
NIL: dict[str, Any] = {"sum": []}


def const(c: int) -> dict[str, Any]:
    return {"sum": [[c]]}


def rows(*indices: int) -> dict[str, Any]:
    """The sum of these rows."""
    return {"sum": [[1, i] for i in indices]}


# One or more of each kind, with what they say.
CERTIFICATES: dict[str, dict[str, Any]] = {
    "M*N - 1 >= 0": {
        "claim": {"kind": "nonneg", "poly": [[1, "M", "N"], [-1]], "assume": [M1, N1]},
        "proof": {"sum": [[1, 0, 1], [1, 0], [1, 1]]},
    },
    "2*M >= 0 from 2*M + 1 >= 0": {  # a scale rounds: 2*(2M) + 1 = 2*(2M + 1) - 1
        "claim": {"kind": "nonneg", "poly": M, "assume": [[[2, "M"], [1]]]},
        "proof": {"sum": [[1, 0]], "scale": 2},
    },
    "8*M + 7 >= 0 from M >= 0": {
        "claim": {"kind": "nonneg", "poly": [[8, "M"], [7]], "assume": [M]},
        "proof": {"multiple": 8, "of": rows(0)},
    },
    "a scale that is no number": {  # N*M + N - 1 >= 0 and N >= 1 give M >= 0
        "claim": {"kind": "nonneg", "poly": M, "assume": [[[1, "M", "N"], [1, "N"], [-1]], N1]},
        "proof": {"sum": [[1, 0]], "scale": N, "positive": rows(1)},
    },
    "M//S <= N - 1 for M < N*S": {
        "claim": {"kind": "nonneg", "poly": [[1, "N"], [-1, "Q"], [-1]],
                  "assume": [[[1, "S"], [-1]], [[1, "N", "S"], [-1, "M"], [-1]]],
                  "define": {"Q": ["floordiv", M, S]}, "positive": {"Q": rows(0)},
                  "ceilings": [["Q", [[1, "N"], [-1]], rows(1)]]},
        "proof": rows(4),
    },
    "ceil(M/4) >= 1": {
        "claim": {"kind": "nonneg", "poly": [[1, "Q"], [-1]], "assume": [M1],
                  "define": {"Q": ["floordiv", [[1, "M"], [3]], 4]}, "floors": [["Q", 1, rows(0)]]},
        "proof": rows(3),
    },
    "4*ceil(M/4) <= 8 for M <= 7": {
        "claim": {"kind": "nonneg", "poly": [[8], [-4, "Q"]], "assume": [[[7], [-1, "M"]]],
                  "define": {"Q": ["floordiv", [[1, "M"], [3]], 4]}, "ceilings": [["Q", 2, {"sum": [[1, 0], [1]]}]]},
        "proof": {"sum": [[4, 3]]},
    },
    "M//N <= M": {
        "claim": {"kind": "nonneg", "poly": [[1, "M"], [-1, "Q"]], "assume": [M1, N1],
                  "define": {"Q": ["floordiv", M, N]}, "positive": {"Q": rows(1)}, "floors": [["Q", 0, {"sum": [[1, 0], [1]]}]]},
        "proof": {"sum": [[1, 2], [1, 1, 4]]},
    },
    "min(M, N) <= M": {
        "claim": {"kind": "nonneg", "poly": [[1, "M"], [-1, "Q"]], "define": {"Q": ["minimum", M, N]}},
        "proof": rows(0),
    },
    "max(M, N) >= N": {
        "claim": {"kind": "nonneg", "poly": [[1, "Q"], [-1, "N"]], "define": {"Q": ["maximum", M, N]}},
        "proof": rows(1),
    },
    "injective (4,8):(-8,1)": {
        "claim": {"kind": "injective", "modes": [[4, -8], [8, 1]]},
        "proof": {"sign": [-1, 1], "order": [1, 0], "gaps": [NIL, NIL]},
    },
    "injective (M,N):(1,S), S >= M": {
        "claim": {"kind": "injective", "modes": [[M, 1], [N, S]], "assume": [M1, [[1, "S"], [-1, "M"]]]},
        "proof": {"sign": [1, 1], "order": [0, 1], "gaps": [NIL, rows(1)]},
    },
    "injective (3,2):(2,3) by residues": {
        "claim": {"kind": "injective", "modes": [[3, 2], [2, 3]]},
        "proof": {"residue": 3, "multiples": [1], "factors": [1], "quotients": [1],
                  "coarse": {"sign": [1], "order": [0], "gaps": [NIL]},
                  "fine": {"sign": [-1], "order": [0], "gaps": [NIL]}, "span": NIL},
    },
    "injective (2,2,2,M):(3,5,6,15) after a block": {
        "claim": {"kind": "injective", "modes": [[2, 3], [2, 5], [2, -6], [M, 15]]},
        "proof": {"sign": [1, 1, -1, 1], "block": [0, 1, 2], "order": [3], "gaps": [NIL]},
    },
    "injective by residues twice": {
        "claim": {"kind": "injective", "modes": [[2, 1], [3, 4], [2, 6]]},
        "proof": {"residue": 2, "multiples": [1, 2], "factors": [2, 3], "quotients": [0],
                  "fine": {"sign": [1], "order": [0], "gaps": [NIL]}, "span": NIL,
                  "coarse": {"residue": 3, "multiples": [1], "factors": [1], "quotients": [1],
                             "fine": {"sign": [-1], "order": [0], "gaps": [NIL]}, "span": NIL,
                             "coarse": {"sign": [1], "order": [0], "gaps": [NIL]}}},
    },
    "bijective (2,3,4):(12,4,1)": {
        "claim": {"kind": "bijective", "modes": [[2, 12], [3, 4], [4, 1]], "onto": 24},
        "proof": {"order": [2, 1, 0]},
    },
    "bijective (M,N):(N,1)": {
        "claim": {"kind": "bijective", "modes": [[M, N], [N, 1]], "onto": [[1, "M", "N"]], "assume": [M1, N]},
        "proof": {"order": [1, 0], "extents": [{"sum": [[1, 0], [1]]}, rows(1)]},
    },
    "(4,M):(1,3) covers 3*M + 1": {
        "claim": {"kind": "covers", "modes": [[4, 1], [M, 3]], "onto": [[3, "M"], [1]], "assume": [M1]},
        "proof": {"extents": [const(3), rows(0)], "order": [0, 1], "steps": [NIL, const(1)],
                  "signs": [const(1), const(3)], "onto": NIL},
    },
    "0 <= 2 + (M,N):(1,-1) + ... <= M + 3": {
        "claim": {"kind": "bounds", "modes": [[M, 1], [3, -1]], "base": 2, "low": 0, "high": [[1, "M"], [1]]},
        "proof": {"sign": [1, -1], "strides": [const(1), const(1)], "low": NIL, "high": NIL},
    },
    "(4*M + 3) // 4 == M": {
        "claim": {"kind": "divmod", "p": [[4, "M"], [3]], "d": 4, "q": M, "r": 3},
        "proof": {"r": const(3), "top": NIL},
    },
    "(N*M + Q) // N == M": {
        "claim": {"kind": "divmod", "p": [[1, "M", "N"], [1, "Q"]], "d": N, "q": M, "r": Q,
                  "assume": [Q, [[1, "N"], [-1, "Q"], [-1]]]},
        "proof": {"r": rows(0), "top": rows(1)},
    },
    "(8,M):(1,8) is (2,4,M):(1,2,8)": {
        "claim": {"kind": "equal", "a": [[8, 1], [M, 8]], "b": [[2, 1], [4, 2], [M, 8]], "base_a": N, "base_b": N,
                  "assume": [M]},
        "proof": {"a": [const(8), rows(0)], "b": [const(2), const(4), rows(0)]},
    },
    "(6,1):(2,5) is (2,3):(2,4)": {
        "claim": {"kind": "equal", "a": [[6, 2], [1, 5]], "b": [[2, 2], [3, 4]], "base_a": 1, "base_b": 1},
        "proof": {},
    },
    "4 divides 8 + (3,M):(4,8*N)": {
        "claim": {"kind": "divisible", "modes": [[3, 4], [M, [[8, "N"]]]], "base": 8, "modulus": 4},
        "proof": {},
    },
    "2 divides M*M + M": {
        "claim": {"kind": "divisible", "modes": [], "base": [[1, "M", "M"], [1, "M"]], "modulus": 2},
        "proof": {},
    },
    "(i, j) -> (i, M - 1 - j) onto (N, M)": {
        "claim": {"kind": "map", "says": "bijective", "coords": [["i", N], ["j", M]], "assume": [M, N], "onto": [N, M],
                  "value": [[[1, "i"]], [[1, "M"], [-1], [-1, "j"]]]},
        "proof": {"extents": [rows(1), rows(0)],
                  "pieces": [{"bounds": [[rows(2), rows(3)], [rows(5), rows(4)]],
                              "injective": [{"entry": 0, "digits": ["i"], "chain": {"sign": [1], "order": [0], "gaps": [NIL]}},
                                            {"entry": 1, "digits": ["j"], "chain": {"sign": [-1], "order": [0], "gaps": [NIL]}}]}]},
    },
    "swizzled (4,4):(1,4) is injective": {
        "claim": {"kind": "f2", "modes": [[4, 1], [4, 4]], "swizzle": [2, 0, 2]},
        "proof": {"left_inverse": [5, 10, 4, 8]},
    },
    "a swizzle down": {
        "claim": {"kind": "f2", "modes": [[4, 1]], "swizzle": [1, 0, -1]},
        "proof": {"left_inverse": [1, 3]},
    },
}  # fmt: skip
CERTIFICATES["all of two"] = {
    "claim": {"kind": "all", "because": "", "parts": [CERTIFICATES[k]["claim"] for k in list(CERTIFICATES)[7:9]]},
    "proof": {"parts": [CERTIFICATES[k]["proof"] for k in list(CERTIFICATES)[7:9]]},
}


# -- what a claim says, by counting -------------------------------------------------------------------------


def value(p: Any, env: dict[str, int]) -> int:
    if type(p) is not list:
        return int(p)
    total = 0
    for c, *names in p:
        for name in names:
            c *= env[name]
        total += c
    return total


def names_in(x: Any) -> set[str]:
    if isinstance(x, dict):
        return set().union(*map(names_in, x.values())) if x else set()
    if isinstance(x, list | tuple):
        return set().union(*map(names_in, x)) if x else set()
    return {x} if isinstance(x, str) else set()


def environments(claim: dict[str, Any]) -> Iterator[dict[str, int]]:
    """Integers for the names of a claim that meet its assumptions; what it defines is computed."""
    if claim["kind"] == "map":
        yield from map_claims.sizes(claim, LOW, HIGH)
        return
    defined = claim.get("define", {})
    polys = [
        v
        for k, v in claim.items()
        if k not in ("kind", "define", "floors", "ceilings", "positive", "because", "swizzle")
    ]
    free = sorted((names_in(polys) | names_in([args for _, *args in defined.values()])) - set(defined))
    for numbers in itertools.product(range(LOW, HIGH + 1), repeat=len(free)):
        env = dict(zip(free, numbers, strict=True))
        for name, (op, *args) in defined.items():
            a = [value(p, env) for p in args]
            env[name] = a[0] // a[1] if op == "floordiv" and a[1] > 0 else min(a) if op == "minimum" else max(a)
        if all(value(p, env) >= 0 for p in claim.get("assume", ())):
            yield env


def offsets(modes: Any, env: dict[str, int]) -> list[int] | None:
    """The offset of every digit, the first fastest; None where that is too much to write out."""
    extents = [value(n, env) for n, _ in modes]
    strides = [value(s, env) for _, s in modes]
    if any(n > LARGEST for n in extents):
        return None
    digits = itertools.product(*(range(n) for n in reversed(extents)))
    return [sum(c * s for c, s in zip(reversed(d), strides, strict=True)) for d in digits]


def holds(claim: dict[str, Any], env: dict[str, int]) -> bool:
    kind = claim["kind"]
    if kind == "map":
        return map_claims.holds(claim, env)
    if kind == "nonneg":
        return value(claim["poly"], env) >= 0
    if kind == "divmod":
        p, d, q, r = (value(claim[k], env) for k in "pdqr")
        return divmod(p, d) == (q, r) if d else False
    if kind == "equal":
        sides = [offsets(claim[k], env) for k in "ab"]
        base = value(claim["base_a"], env) - value(claim["base_b"], env)
        return None in sides or [v + base for v in sides[0] or ()] == sides[1]
    found = offsets(claim["modes"], env)
    if found is None:
        return True
    if kind == "divisible":
        return all((value(claim["base"], env) + v) % claim["modulus"] == 0 for v in found)
    if kind == "bounds":
        base, low, high = (value(claim[k], env) for k in ("base", "low", "high"))
        return all(low <= base + v <= high for v in found)
    if kind == "f2":
        bits, base, shift = claim["swizzle"]
        if 0 < abs(shift) < bits or bits > 60:
            return True  # no swizzle of CuTe
        found = [Swizzle(bits, base, shift)(v) if bits else v for v in found]
    if kind in ("injective", "f2"):
        return len(set(found)) == len(found)
    onto = collections.Counter(range(value(claim["onto"], env)))
    return set(onto) <= set(found) if kind == "covers" else collections.Counter(found) == onto


def is_true(claim: dict[str, Any]) -> bool:
    if claim["kind"] == "all":
        return all(map(is_true, claim["parts"]))
    return all(holds(claim, env) for env in environments(claim))


# -- mutants --------------------------------------------------------------------------------------------------


def nodes(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything inside."""
    if path:
        yield path
    for key, part in x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ():
        yield from nodes(part, (*path, key))


def at(x: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        x = x[key]
    return x


def put(certificate: Any, path: tuple[Any, ...], new: Any) -> Any:
    out = copy.deepcopy(certificate)
    at(out, path[:-1])[path[-1]] = new
    return out


def slips(certificate: dict[str, Any]) -> Iterator[Any]:
    """Each number changed, each name exchanged, each list with an entry dropped, doubled or two swapped."""
    for path in nodes(certificate):
        old = at(certificate, path)
        if type(old) is int:
            yield from (put(certificate, path, n) for n in {old + 1, old - 1, old + 2, -old, 0, 7} - {old})
        elif isinstance(old, str) and path[-1] not in ("kind", "because"):
            yield from (put(certificate, path, n) for n in ("M", "N", "S") if n != old)
        elif isinstance(old, list) and old:
            yield put(certificate, path, old[1:])
            yield put(certificate, path, old[:-1])
            yield put(certificate, path, [*old, old[-1]])
            yield put(certificate, path, old[::-1])


def accepts(certificate: Any) -> bool:
    """Whether the checker accepts; anything but CertificateError is an error of the checker."""
    try:
        verify(certificate)
    except CertificateError:
        return False
    return True


@pytest.mark.parametrize("name", CERTIFICATES)
def test_a_certificate_of_each_kind_is_accepted_and_true(name):
    verify(json.loads(json.dumps(CERTIFICATES[name])))

    assert is_true(CERTIFICATES[name]["claim"])


def test_every_kind_has_a_certificate_here():
    assert {c["claim"]["kind"] for c in CERTIFICATES.values()} == set(KINDS)


@pytest.mark.parametrize("name", CERTIFICATES)
def test_an_accepted_slip_is_a_true_claim(name):
    tried = accepted = 0
    for mutant in slips(CERTIFICATES[name]):
        tried += 1
        if accepts(mutant):
            accepted += 1
            assert is_true(mutant["claim"]), mutant

    assert accepted < tried


@pytest.mark.parametrize("name", CERTIFICATES)
def test_two_slips_at_once_are_no_better(name):
    """Wrong claims with hints that were bent to match: each number of the claim with each of the proof."""
    certificate = CERTIFICATES[name]
    numbers = [p for p in nodes(certificate) if type(at(certificate, p)) is int]
    claims, hints = ([p for p in numbers if p[0] == side] for side in ("claim", "proof"))
    for a, b in itertools.islice(itertools.product(claims, hints), 250):
        for step in (1, -1):
            mutant = put(certificate, a, at(certificate, a) + step)
            mutant = put(mutant, b, at(mutant, b) + step)
            if accepts(mutant):
                assert is_true(mutant["claim"]), mutant


JUNK = [
    None,
    True,
    1.5,
    float("nan"),
    -1,
    10**30,
    "M",
    "",
    [],
    [[]],
    [[[]]],
    {},
    {"sum": None},
    ["floordiv", 1],
    [None],
    {"a": 1},
]


@pytest.mark.parametrize("name", CERTIFICATES)
def test_junk_anywhere_is_refused_or_harmless(name):
    """CertificateError is the only exception, whatever stands in place of any node."""
    certificate = CERTIFICATES[name]
    for path in nodes(certificate):
        for junk in JUNK:
            accepts(put(certificate, path, junk))
        with_out = copy.deepcopy(certificate)
        parent = at(with_out, path[:-1])
        del parent[path[-1]]
        accepts(with_out)


@pytest.mark.parametrize(
    "junk", [None, 1, 1.5, "", [], (), {}, {"claim": []}, {"claim": {"kind": []}, "proof": {}}], ids=str
)
def test_what_is_no_certificate_is_refused(junk):
    assert not accepts(junk)


def test_a_deep_certificate_is_refused():
    claim, proof = CERTIFICATES["bijective (2,3,4):(12,4,1)"].values()
    for _ in range(4000):
        claim, proof = {"kind": "all", "parts": [claim]}, {"parts": [proof]}

    assert not accepts({"claim": claim, "proof": proof})


@pytest.mark.parametrize("swizzle", [[10**13, 0, 1], [1, 10**13, 1], [1, 0, -(10**13)]], ids=str)
def test_a_swizzle_of_any_size_is_refused_or_checked(swizzle):
    accepts({"claim": {"kind": "f2", "modes": [[2, 1]], "swizzle": swizzle}, "proof": {"left_inverse": [1]}})


@pytest.mark.parametrize(
    "define, hint",
    [
        ({"q": ["floordiv", [[1, "q"], [1]], 1]}, [[1, 1]]),
        ({"a": ["maximum", [[1, "b"], [1]]], "b": ["maximum", [[1, "a"], [1]]]}, [[1, 0], [1, 1]]),
    ],
    ids=str,
)
def test_a_definition_in_a_circle_proves_nothing(define, hint):
    assert not accepts(
        {"claim": {"kind": "nonneg", "poly": -2 if len(define) > 1 else -1, "define": define}, "proof": {"sum": hint}}
    )


@pytest.mark.parametrize(
    "define",
    [
        {"Q": ["floordiv", M, 0]},
        {"Q": ["floordiv", M, -2]},
        {"Q": ["floordiv", M, N]},
        {"Q": ["floordiv", M]},
        {"Q": ["nor", M, N]},
        {"Q": []},
        [],
    ],
    ids=str,
)
def test_a_quotient_needs_a_divisor_of_at_least_one(define):
    assert not accepts({"claim": {"kind": "nonneg", "poly": 0, "define": define}, "proof": NIL}) or not define


def test_contradicting_rows_prove_anything_and_say_so():
    """A claim shows its assumptions; that they can hold together is the prover's business (VACUOUS)."""
    claim = {"kind": "nonneg", "poly": -1, "assume": [M1, [[-1, "M"]]]}

    verify({"claim": claim, "proof": rows(0, 1)})
    assert not any(True for _ in environments(claim))
