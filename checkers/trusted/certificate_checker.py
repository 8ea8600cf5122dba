"""Re-verify certificates by plain polynomial arithmetic: no solver, no layouts, nothing of the provers imported.

A certificate is ``{"claim": ..., "proof": ...}``. The claim says what is proved; the proof holds only hints,
so a wrong hint can be rejected but never believed: every gap, corner and product is rebuilt here. The certificate of a
verdict also has the ``statement``, the user's whole claim as data, and the claim must be what the statement needs: see
``checkers.trusted.statements``. Parts of a certificate, and claims made by hand, have none.

A polynomial is a list of rows ``[coefficient, name, name, ...]`` or an integer. A claim may ``define`` names
as quotients, minima and maxima of polynomials; what that means for them is derived here too.
The theorems are numbered as in the proof notes: T2 chain, T3 mixed radix, T5 residues, T8 corners,
T10 quotients, T13 to T15 linear over GF(2), T17 normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from symlayout.errors import CertificateError

from .lemmas import (
    ONE,
    Mode,
    Poly,
    always_divides,
    chain,
    generators,
    minus,
    need,
    nonneg,
    permutation,
    plus,
    poly,
    signed,
    times,
)
from .map_checker import check_map


def verify(certificate: Mapping[str, Any]) -> None:
    """Accept a certificate silently, or raise CertificateError with what fails.

    With a ``statement`` it is accepted only where its claim is what that statement needs; where it has ``trusts``
    these are not checked, and a ``binding`` only shows that the parts belong together.

    >>> verify({"claim": {"kind": "injective", "modes": [[4, 1], [8, 4]]},
    ...         "proof": {"sign": [1, 1], "order": [0, 1], "gaps": [{"sum": [[0]]}, {"sum": [[0]]}]}})
    """
    try:
        claim, proof = certificate["claim"], certificate["proof"]
        check = KINDS[claim["kind"]]
        check(claim, proof)
        if "statement" in certificate:  # few are looked at, and what checks them is as long as all else here
            from .statements.check import check_statement

            check_statement(certificate)
    except CertificateError:
        raise
    except RecursionError as e:
        raise CertificateError("expected a certificate of moderate depth, got one nested too deeply") from e
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as e:
        raise CertificateError(f"expected a well-formed certificate, got {type(e).__name__}: {e}") from e


def modes_of(claim: Mapping[str, Any], key: str = "modes") -> list[Mode]:
    return [(poly(n), poly(s)) for n, s in claim[key]]


def _extents_at_least_one(modes: list[Mode]) -> list[Poly]:
    return [minus(n, ONE) for n, _ in modes]  # an empty domain has nothing to prove


# -- the kinds ------------------------------------------------------------------------------------------


def positive(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """poly >= 0 (T9)."""
    nonneg(poly(claim["poly"]), generators(claim), proof)


def injective(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Different coordinates, different offsets."""
    modes = modes_of(claim)
    _injective(modes, generators(claim) + _extents_at_least_one(modes), proof)


def _injective(modes: list[Mode], gens: list[Poly], proof: Mapping[str, Any]) -> None:
    if "residue" in proof:
        _residue(modes, gens, proof)
    else:
        chain(modes, gens, proof)


def _residue(modes: list[Mode], gens: list[Poly], proof: Mapping[str, Any]) -> None:
    """g divides the strides of some modes; the others are injective modulo g (T5)."""
    g = poly(proof["residue"])
    inside = proof["multiples"]
    rest = [k for k in range(len(modes)) if k not in inside]
    permutation([*inside, *rest], len(modes))
    factors = [poly(f) for f in proof["factors"]]
    quotients = [poly(q) for q in proof["quotients"]]
    need(len(factors) == len(inside) and len(quotients) == len(rest), "one factor for each mode")
    coarse = []
    for k, f in zip(inside, factors, strict=True):
        need(times(g, f) == modes[k][1], "g does not divide a stride")
        coarse.append((modes[k][0], f))
    fine = [(modes[k][0], minus(modes[k][1], times(g, q))) for k, q in zip(rest, quotients, strict=True)]
    _injective(coarse, gens, proof["coarse"])
    chain(fine, gens, proof["fine"])
    span: Poly = {}
    for n, s in signed(fine, proof["fine"]["sign"]):
        span = plus(span, times(minus(n, ONE), s))
    nonneg(minus(minus(g, span), ONE), gens, proof["span"])


def bijective(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Onto [0, onto), each value once (T3)."""
    if _numbers(claim["modes"]):
        _bijective_numbers(claim, proof)
        return
    modes = modes_of(claim)
    gens = generators(claim)
    permutation(proof["order"], len(modes))
    need(len(proof["extents"]) == len(modes), "one extent lemma for each mode")
    for (n, _), hint in zip(modes, proof["extents"], strict=True):
        nonneg(n, gens, hint)  # (-1)*(-1) is 1, and has no points
    current = ONE
    for k in proof["order"]:
        need(modes[k][1] == current, "a stride is not the running product")
        current = times(current, modes[k][0])
    need(current == poly(claim["onto"]), "the size differs")


def _numbers(modes: Any) -> bool:
    return all(type(n) is int and type(s) is int for n, s in modes)


def _bijective_numbers(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """The same for plain integers, where extents need no lemma."""
    modes, order = claim["modes"], proof["order"]
    permutation(order, len(modes))
    current = 1
    for k in order:
        n, s = modes[k]
        need(n >= 0 and s == current, "a stride is not the running product")
        current *= n
    need(current == claim["onto"], "the size differs")


def covers(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Every value of [0, onto) is reached: each further stride is at most one past what is reached without gaps.

    If the modes so far reach 0 .. R and 0 <= s <= R + 1, then n steps of s more reach 0 .. R + (n - 1)*s.
    """
    modes = modes_of(claim)
    gens = generators(claim)
    need(len(proof["extents"]) == len(modes), "one extent lemma for each mode")
    for (n, _), hint in zip(modes, proof["extents"], strict=True):
        nonneg(minus(n, ONE), gens, hint)  # the other digits rest at 0, which they must have
    chosen = proof["order"]
    need(len(set(chosen)) == len(chosen) == len(proof["steps"]) == len(proof["signs"]), "one step for each mode")
    reach: Poly = {}
    for k, step, sign in zip(chosen, proof["steps"], proof["signs"], strict=True):
        need(type(k) is int and 0 <= k < len(modes), "unknown mode")
        n, s = modes[k]
        nonneg(s, gens, sign)
        nonneg(minus(plus(reach, ONE), s), gens, step)
        reach = plus(reach, times(minus(n, ONE), s))
    nonneg(minus(plus(reach, ONE), poly(claim["onto"])), gens, proof["onto"])


def bounds(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """low <= base + offset <= high at every coordinate (T8)."""
    modes = modes_of(claim)
    gens = generators(claim) + _extents_at_least_one(modes)
    upward = signed(modes, proof["sign"])
    need(len(proof["strides"]) == len(modes), "one sign lemma for each mode")
    least = greatest = poly(claim["base"])
    for (n, s), (_, size), g, hint in zip(modes, upward, proof["sign"], proof["strides"], strict=True):
        nonneg(size, [*gens, minus(n, {(): 2})], hint)
        reach = times(minus(n, ONE), s)
        least, greatest = (least, plus(greatest, reach)) if g == 1 else (plus(least, reach), greatest)
    nonneg(minus(least, poly(claim["low"])), gens, proof["low"])
    nonneg(minus(poly(claim["high"]), greatest), gens, proof["high"])


def divmod_(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """p // d == q and p % d == r (T10)."""
    p, d, q, r = (poly(claim[k]) for k in ("p", "d", "q", "r"))
    gens = generators(claim)
    need(p == plus(times(d, q), r), "p != d*q + r")
    nonneg(r, gens, proof["r"])
    nonneg(minus(minus(d, r), ONE), gens, proof["top"])


def equal(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """The same function of the linear index: equal bases, sizes and coalesced modes (T17)."""
    if _numbers(claim["a"]) and _numbers(claim["b"]):
        _equal_numbers(claim)
        return
    a, b = modes_of(claim, "a"), modes_of(claim, "b")
    gens = generators(claim)
    for side, modes in (("a", a), ("b", b)):
        need(len(proof[side]) == len(modes), "one extent lemma for each mode")
        for (n, _), hint in zip(modes, proof[side], strict=True):
            nonneg(n, gens, hint)
    need(poly(claim["base_a"]) == poly(claim["base_b"]), "the bases differ")
    need(_size(a) == _size(b), "the sizes differ")
    need(_coalesced(a) == _coalesced(b), "the coalesced modes differ")


def _equal_numbers(claim: Mapping[str, Any]) -> None:
    """The same for plain integers, where extents need no lemma."""
    sides = []
    for modes in (claim["a"], claim["b"]):
        out: list[tuple[int, int]] = []
        total = 1
        for n, s in modes:
            need(n >= 0, "an extent is negative")
            total *= n
            if n == 1:
                continue
            if out and out[-1][0] * out[-1][1] == s:
                out[-1] = (out[-1][0] * n, out[-1][1])
            else:
                out.append((n, s))
        sides.append((total, out))
    need(poly(claim["base_a"]) == poly(claim["base_b"]), "the bases differ")
    need(sides[0] == sides[1], "the coalesced modes or the sizes differ")


def _size(modes: list[Mode]) -> Poly:
    out = ONE
    for n, _ in modes:
        out = times(out, n)
    return out


def _coalesced(modes: list[Mode]) -> list[Mode]:
    out: list[Mode] = []
    for n, s in modes:
        if n == ONE:
            continue
        if out and times(*out[-1]) == s:
            out[-1] = (times(out[-1][0], n), out[-1][1])
        else:
            out.append((n, s))
    return out


def divisible(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """modulus | base and every stride, for all integers in place of the names (T11, T12)."""
    m = claim["modulus"]
    need(type(m) is int and m >= 1, "bad modulus")
    for p in [poly(claim["base"]), *(s for _, s in modes_of(claim))]:
        need(always_divides(m, p), "a polynomial is not a multiple")


def f2(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Injective: power-of-two modes without carries, a swizzle, and a left inverse over GF(2) (T13 to T15)."""
    columns: list[int] = []
    for n, s in claim["modes"]:
        need(type(n) is int and type(s) is int and n >= 1 and n & (n - 1) == 0 and s >= 0, "not a power-of-two box")
        columns += [s << t for t in range(n.bit_length() - 1)]
    seen = 0
    for c in columns:
        need(c & seen == 0, "carry")
        seen |= c
    bits, base, shift = claim.get("swizzle", (0, 0, 0))
    need(all(type(v) is int for v in (bits, base, shift)), "bad swizzle")
    need(0 <= bits <= 64 and 0 <= base <= 64 and abs(shift) <= 64 and (bits == 0 or shift != 0), "bad swizzle")
    source = ((1 << bits) - 1) << (base + max(shift, 0))
    columns = [c ^ ((c & source) >> shift if shift >= 0 else (c & source) << -shift) for c in columns]
    rows = proof["left_inverse"]
    need(len(rows) == len(columns) and all(type(r) is int for r in rows), "one row for each column")
    for i, row in enumerate(rows):
        for j, c in enumerate(columns):
            need((row & c).bit_count() % 2 == (i == j), "T A != I")


def all_of(claim: Mapping[str, Any], proof: Mapping[str, Any]) -> None:
    """Several certificates together; what they add up to is said by the claim's ``because``."""
    need(len(claim["parts"]) == len(proof["parts"]) > 0, "one proof for each part")
    for part, hint in zip(claim["parts"], proof["parts"], strict=True):
        verify({"claim": part, "proof": hint})


KINDS: dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], None]] = {
    "nonneg": positive,
    "injective": injective,
    "bijective": bijective,
    "bounds": bounds,
    "covers": covers,
    "divmod": divmod_,
    "equal": equal,
    "divisible": divisible,
    "f2": f2,
    "map": check_map,
    "all": all_of,
}
