"""The lemmas of all certificates: polynomials, p >= 0, assumptions, and a chain of strides.

    >>> M, N = {("M",): 1}, {("N",): 1}
    >>> times(plus(M, ONE), N) == {("M", "N"): 1, ("N",): 1}
    True

A polynomial is a dictionary from sorted names to a coefficient; its JSON form is a list of rows
``[coefficient, name, name, ...]`` or an integer. Nothing of the provers is imported.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any, TypeAlias

from symlayout.errors import CertificateError

Poly: TypeAlias = "dict[tuple[str, ...], int]"
Mode: TypeAlias = "tuple[Poly, Poly]"

ONE: Poly = {(): 1}


def need(ok: bool, why: str) -> None:
    if not ok:
        raise CertificateError(why)


def poly(rows: Any) -> Poly:
    """A polynomial from its JSON form."""
    if type(rows) is int:
        return {(): rows} if rows else {}
    out: Poly = {}
    for c, *names in rows:
        need(type(c) is int and all(type(n) is str for n in names), "malformed polynomial")
        key = tuple(sorted(names)) if len(names) > 1 else tuple(names)
        out[key] = out.get(key, 0) + c
    return out if all(out.values()) else {k: c for k, c in out.items() if c}


def plus(p: Poly, q: Poly, factor: int = 1) -> Poly:
    out = dict(p)
    for k, c in q.items():
        out[k] = out.get(k, 0) + factor * c
    return out if all(out.values()) else {k: c for k, c in out.items() if c}


def times(p: Poly, q: Poly) -> Poly:
    out: Poly = {}
    for a, c in p.items():
        for b, d in q.items():
            k = tuple(sorted(a + b)) if a and b else a or b
            out[k] = out.get(k, 0) + c * d
    return out if all(out.values()) else {k: c for k, c in out.items() if c}


def minus(p: Poly, q: Poly) -> Poly:
    return plus(p, q, -1)


def put(p: Poly, env: Mapping[str, Poly]) -> Poly:
    """p with names replaced by polynomials."""
    if not any(n in env for key in p for n in key):
        return p
    out: Poly = {}
    for key, c in p.items():
        term: Poly = {(): c}
        for n in key:
            term = times(term, env.get(n, {(n,): 1}))
        out = plus(out, term)
    return out


def names_in(*polys: Poly) -> set[str]:
    return {n for p in polys for key in p for n in key}


def name_of(n: str) -> Poly:
    """The polynomial that is a name alone."""
    return {(n,): 1}


def nonneg(p: Poly, gens: list[Poly], hint: Mapping[str, Any]) -> None:
    """p >= 0 for all integers where every generator is >= 0.

    scale*p + scale - 1 == sum of c * (product of generators) with every c >= 0 and scale >= 1: then p > -1.
    For p == m*q + r with a number r >= 0 it is enough that q >= 0.
    """
    if "multiple" in hint:
        m = hint["multiple"]
        need(type(m) is int and m >= 1 and all(c % m == 0 for key, c in p.items() if key), "no multiple")
        nonneg({key: c // m for key, c in p.items() if c // m}, gens, hint["of"])
        return
    scale = poly(hint["scale"]) if "scale" in hint else ONE
    if scale != ONE:
        if set(scale) == {()}:
            need(scale[()] >= 1, "scale below 1")
        else:
            nonneg(minus(scale, ONE), gens, hint["positive"])
    total: Poly = {}
    for c, *indices in hint["sum"]:
        need(type(c) is int and c >= 0, "negative coefficient")
        term: Poly = {(): c} if c else {}
        for i in indices:
            need(type(i) is int and 0 <= i < len(gens), "unknown generator")
            term = times(term, gens[i])
        total = plus(total, term)
    need(total == (p if scale == ONE else minus(plus(times(scale, p), scale), ONE)), "identity fails")


def generators(claim: Mapping[str, Any]) -> list[Poly]:
    """The assumptions, then what the definitions mean."""
    gens = [poly(row) for row in claim.get("assume", ())]
    defined = claim.get("define", {})
    positive = claim.get("positive", {})
    assumed = len(gens)
    open_names = set(defined)
    for name, (op, *args) in defined.items():
        polys = [poly(a) for a in args]
        used = {n for p in polys for key in p for n in key}
        need(not used & open_names, "a definition rests on a name that is defined later, or on itself")
        open_names.discard(name)
        me: Poly = {(name,): 1}
        if op == "floordiv":
            x, d = polys
            if not (set(d) == {()} and d[()] >= 1):
                nonneg(minus(d, ONE), gens[:assumed], positive[name])
            gens += [minus(x, times(d, me)), minus(minus(plus(times(d, me), d), ONE), x)]
        elif op == "minimum":
            gens += [minus(p, me) for p in polys]
        elif op == "maximum":
            gens += [minus(me, p) for p in polys]
        elif op == "power_of_two":  # 2^k >= k + 1, and 0 where k is negative
            gens += [me, minus(minus(me, polys[0]), ONE)]
        elif op == "select":  # of two values that differ by a number
            gap = minus(polys[1], polys[2])
            need(set(gap) <= {()}, "expected values that differ by a number")
            low, high = polys[1:] if gap.get((), 0) < 0 else polys[:0:-1]
            gens += [minus(me, low), minus(high, me)]
        else:
            need(op in ("bit_and", "xor"), f"expected an operation, got {op}")
    for name, k, hint in claim.get("floors", ()):  # x >= k*d gives x // d >= k
        op, x, d = defined[name]
        need(op == "floordiv" and type(k) is int, "a floor of an atom that is not a quotient")
        nonneg(minus(poly(x), times({(): k} if k else {}, poly(d))), gens, hint)
        gens.append(minus({(name,): 1}, {(): k} if k else {}))
    for name, *hints in claim.get("bits", ()):
        op, *args = defined[name]
        gens += bits(op, {(name,): 1}, [poly(a) for a in args], gens, *hints)
    for name, most, hint in claim.get("ceilings", ()):  # x < (k + 1)*d gives x // d <= k
        op, x, d = defined[name]
        need(op == "floordiv", "a ceiling of an atom that is not a quotient")
        k = poly(most)
        nonneg(minus(minus(times(plus(k, ONE), poly(d)), ONE), poly(x)), gens, hint)
        gens.append(minus(k, {(name,): 1}))
    return gens


def bits(
    op: str, me: Poly, args: list[Poly], gens: list[Poly], least: Any, count: Any = None, below: Any = ()
) -> list[Poly]:
    """Bounds of x & y or x ^ y, from the arguments that are at least 0 and, if all are, below 2^count.

    0 <= x & y <= x where x >= 0, whatever y; 0 <= x ^ y <= x + y, and x ^ y and x | y stay below 2^count.
    """
    need(op in ("bit_and", "xor") and len(least) == len(args), "expected one lemma or none for each argument")
    for x, why in zip(args, least, strict=True):
        if why is not None:
            nonneg(x, gens, why)
    shown = [x for x, why in zip(args, least, strict=True) if why is not None]
    need(bool(shown) and (op == "bit_and" or len(shown) == len(args)), "an argument that may be negative")
    total: Poly = {}
    for x in args:
        total = plus(total, x)
    out = [me, minus(total, me)] if op == "xor" else [me, *(minus(x, me) for x in shown)]
    if count is None:
        return out
    need(type(count) is int and 0 <= count <= 4096, "expected a number of bits")
    need(len(shown) == len(args) == len(below), "one lemma for each argument")
    most: Poly = {(): (1 << count) - 1} if count else {}
    for x, why in zip(args, below, strict=True):
        nonneg(minus(most, x), gens, why)
    if op == "xor":
        return [*out, minus(most, me)]
    return [*out, minus(plus(me, most), total)] if len(args) == 2 else out


def always_divides(m: int, p: Poly) -> bool:
    """Every coefficient is a multiple, or every residue of the variables gives one."""
    if all(c % m == 0 for c in p.values()):
        return True
    names = sorted({n for key in p for n in key})
    need(m ** len(names) <= 4096, "too many residues")
    for values in itertools.product(range(m), repeat=len(names)):
        env = dict(zip(names, values, strict=True))
        if sum(c * math.prod(env[n] for n in key) for key, c in p.items()) % m:
            return False
    return True


def permutation(order: Any, n: int) -> None:
    need(all(type(i) is int for i in order) and sorted(order) == list(range(n)), "not a permutation")


def signed(modes: list[Mode], sign: Any) -> list[Mode]:
    need(len(sign) == len(modes) and all(g in (1, -1) for g in sign), "bad sign")
    return [(n, s if g == 1 else minus({}, s)) for (n, s), g in zip(modes, sign, strict=True)]


def chain(modes: list[Mode], gens: list[Poly], proof: Mapping[str, Any]) -> None:
    """Each stride exceeds the reach of the modes before it (T2), after a block of numbers whose sums all differ."""
    modes = signed(modes, proof["sign"])
    block = proof.get("block", ())
    permutation([*block, *proof["order"]], len(modes))
    need(len(proof["gaps"]) == len(proof["order"]), "one gap for each mode")
    reach = _block([modes[k] for k in block])
    for k, gap in zip(proof["order"], proof["gaps"], strict=True):
        n, s = modes[k]
        local = [*gens, minus(n, {(): 2})]  # needed only where n >= 2
        nonneg(minus(minus(s, reach), ONE), local, gap)
        reach = plus(reach, times(minus(n, ONE), s))


BLOCK = 1 << 16  # offsets that are written out


def _block(modes: list[Mode]) -> Poly:
    """The reach of modes that are numbers and injective by themselves, every offset written out."""
    offsets, reach = [0], 0
    for n, s in modes:
        need(set(n) <= {()} and set(s) <= {()}, "a block of strides that are not numbers")
        extent, stride = n.get((), 0), s.get((), 0)
        need(extent >= 1 and stride >= 0 and extent * len(offsets) <= BLOCK, "expected a small block of numbers")
        offsets = [v + c * stride for c in range(extent) for v in offsets]
        reach += (extent - 1) * stride
    need(len(set(offsets)) == len(offsets), "two offsets of a block agree")
    return {(): reach} if reach else {}
