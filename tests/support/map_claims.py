"""Claims of certificates about maps, on plain integers: every point is written out, every atom is computed."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterator
from typing import Any

LARGEST = 150  # points that are written out


class NoValue(Exception):
    """A divisor below 1, or a name that nothing defines."""


def value(p: Any, env: dict[str, int], atoms: dict[str, Any]) -> int:
    """A polynomial in its JSON form; atoms are computed where they are met."""
    total = 0
    for c, *names in [[p]] if type(p) is not list else p:
        for n in names:
            c *= env[n] if n in env else atom(atoms[n], env, atoms)
        total += c
    return total


def atom(definition: Any, env: dict[str, int], atoms: dict[str, Any]) -> int:
    op, *args = definition
    a = [value(x, env, atoms) for x in args]
    if op == "floordiv":
        if a[1] < 1:
            raise NoValue(op)
        return a[0] // a[1]
    if op == "xor":
        out = 0
        for x in a:
            out ^= x
        return out
    return min(a) if op == "minimum" else max(a)


def names_in(*polys: Any) -> set[str]:
    return {n for p in polys if type(p) is list for _, *names in p for n in names}


def sizes(claim: dict[str, Any], low: int, high: int) -> Iterator[dict[str, int]]:
    """Integers for the sizes of a claim that meet its assumptions."""
    defined = claim.get("define", {})
    own = {c for c, _ in claim["coords"]} | {a for a, *_ in claim.get("atoms", ())} | set(defined)
    polys = [*claim.get("assume", ()), *(n for _, n in claim["coords"]), *claim["value"], *claim.get("valid", ())]
    polys += [p for k in ("low", "high", "onto") for p in claim.get(k, ())]
    polys += [
        x for rows in (claim.get("atoms", ()), [[None, *d] for d in defined.values()]) for _, _, *xs in rows for x in xs
    ]
    free = sorted(names_in(*polys) - own)
    for numbers in itertools.product(range(low, high + 1), repeat=len(free)):
        env = dict(zip(free, numbers, strict=True))
        if all(value(p, env, defined) >= 0 for p in claim.get("assume", ())):
            yield env


def holds(claim: dict[str, Any], env: dict[str, int]) -> bool:
    """Whether a claim of kind "map" is true at sizes, by its definition."""
    defined = claim.get("define", {})
    atoms = {**defined, **{a: d for a, *d in claim.get("atoms", ())}}
    names = [c for c, _ in claim["coords"]]
    extents = [value(n, env, defined) for _, n in claim["coords"]]
    points = 1
    for n in extents:
        points *= max(n, 0)
    if points > LARGEST:
        return True
    found = []
    for digits in itertools.product(*map(range, extents)):
        at = {**env, **dict(zip(names, digits, strict=True))}
        try:
            if all(value(p, at, atoms) >= 0 for p in claim.get("valid", ())):
                found.append(tuple(value(p, at, atoms) for p in claim["value"]))
        except NoValue:
            return False
    if claim["says"] == "bounds":
        low, high = ([value(p, env, defined) for p in claim[k]] for k in ("low", "high"))
        return all(a <= v <= b for vs in found for v, a, b in zip(vs, low, high, strict=True))
    if claim["says"] == "injective":
        return len(set(found)) == len(found)
    box = itertools.product(*(range(value(n, env, defined)) for n in claim["onto"]))
    return collections.Counter(found) == collections.Counter(box)
