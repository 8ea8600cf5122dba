"""Finding proofs by algebra. What is found goes to the independent checker before anyone hears of it.

Every finder takes modes ``(extent, stride)`` and facts, and returns a certificate or None. The theorems are
those of the proof notes: T2 chain, T3 mixed radix, T5 residues, T8 corners, T17 normal form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from symlayout.algebra import coalesced_modes
from symlayout.expr import Int, divides, split, terms_of
from symlayout.facts import Evidence, Facts, Row, residues_vanish
from symlayout.int_tuple import is_one, is_zero

from ..trusted.certificate_json import Setting, hint, poly

BLOCK = 1 << 12  # offsets of numbers that a chain starts with, written out

Modes: TypeAlias = "Sequence[tuple[Any, Any]]"
Certificate: TypeAlias = "dict[str, Any]"


def _polys(modes: Modes) -> list[Any]:
    return [x for mode in modes for x in mode]


def _json(modes: Modes) -> list[list[Any]]:
    return [[poly(n), poly(s)] for n, s in modes]


# -- signs ----------------------------------------------------------------------------------------------


def nonneg(p: Int, facts: Facts) -> Certificate | None:
    """p >= 0 for all sizes (T9); where that fails, by numbers that quotients do not pass."""
    for ceilings in (False, True):
        setting = Setting.of(facts, p, ceilings=ceilings)
        if not setting.usable or (ceilings and not setting.ceilings):
            return None
        found = setting.facts.nonneg(p)
        if found is not None:
            return {"claim": setting.claim("nonneg", poly=poly(p)), "proof": hint(found)}
    return None


def _extent_rows(modes: Modes) -> list[Row]:
    return [Row(n - 1, "extent >= 1") for n, _ in modes]


def _sign(n: Any, s: Any, facts: Facts) -> tuple[int, Evidence] | None:
    """(sign of the stride, evidence that sign*stride >= 0), where the mode moves."""
    if type(s) is int:
        return (1, Evidence(((s, ()),))) if s >= 0 else (-1, Evidence(((-s, ()),)))
    for known in (facts, facts.with_rows(Row(n - 2, "extent >= 2"))):
        for sign in (1, -1):
            found = known.nonneg(sign * s)
            if found is not None:
                return sign, found
    return None


# -- injective ------------------------------------------------------------------------------------------


def injective(modes: Modes, facts: Facts) -> Certificate | None:
    """Different digits give different offsets: a chain of strides (T2), else residues (T5)."""
    setting = Setting.of(facts, *_polys(modes))
    if not setting.usable:
        return None
    known = setting.facts.with_rows(*_extent_rows(modes))
    proof = chain(modes, known) or _residues(modes, known)
    return None if proof is None else {"claim": setting.claim("injective", modes=_json(modes)), "proof": proof}


def chain(modes: Modes, facts: Facts) -> dict[str, Any] | None:
    """An order of the modes in which each stride exceeds the reach of those before it."""
    signs = [_sign(n, s, facts) for n, s in modes]
    if any(s is None for s in signs):
        return None
    sign = [s[0] for s in signs if s is not None]
    up = [(n, s * g) for (n, s), g in zip(modes, sign, strict=True)]
    order = _ascending(up)
    found = _follow(up, facts, 1, order, [], [])
    if found is not None:
        return {"sign": sign, "order": found[0], "gaps": found[1]}
    return _after_a_block(up, facts, sign, order)


def _after_a_block(up: Modes, facts: Facts, sign: list[int], order: list[int]) -> dict[str, Any] | None:
    """A chain that starts at a block of numbers, in no order themselves but few enough to write out."""
    block = [k for k in order if type(up[k][0]) is int and type(up[k][1]) is int]
    points = math.prod(up[k][0] for k in block)
    if len(block) < 2 or len(block) == len(up) or not 1 <= points <= BLOCK or min(up[k][1] for k in block) < 1:
        return None
    offsets = [0]
    for k in block:
        offsets = [v + c * up[k][1] for c in range(up[k][0]) for v in offsets]
    if len(set(offsets)) < len(offsets):
        return None
    found = _follow(up, facts, max(offsets) + 1, [k for k in order if k not in block], [], [])
    return None if found is None else {"sign": sign, "block": block, "order": found[0], "gaps": found[1]}


def _ascending(modes: Modes) -> list[int]:
    """A likely order: numbers by value first, then strides by degree."""
    return sorted(
        range(len(modes)),
        key=lambda k: (
            (0, modes[k][1], "")
            if type(modes[k][1]) is int
            else (max(map(len, terms_of(modes[k][1]))), len(terms_of(modes[k][1])), str(modes[k][1]))
        ),
    )


def _follow(
    modes: Modes, facts: Facts, above: Any, left: list[int], order: list[int], gaps: list[Any]
) -> tuple[list[int], list[Any]] | None:
    """The rest of a chain whose modes so far reach less than *above*."""
    if not left:
        return order, gaps
    for k in left:
        n, s = modes[k]
        gap = s - above
        found = _gap(gap, n, facts)
        if found is None:
            continue
        even = is_zero(gap)
        rest = [j for j in left if j != k]
        done = _follow(modes, facts, n * s if even else above + (n - 1) * s, rest, [*order, k], [*gaps, hint(found)])
        if done is not None or type(gap) is int:
            return done
    return None


def _gap(gap: Any, n: Any, facts: Facts) -> Evidence | None:
    """gap >= 0, which is needed only where the extent is at least 2."""
    if type(gap) is int:
        return Evidence(((gap, ()),)) if gap >= 0 else None
    return facts.nonneg(gap) or facts.with_rows(Row(n - 2, "extent >= 2")).nonneg(gap)


def _residues(modes: Modes, facts: Facts) -> dict[str, Any] | None:
    """Modes whose strides some stride g divides, and others that are injective modulo g."""
    for g in {s: None for _, s in modes if s not in (0, 1, -1)}:
        g = -g if type(g) is int and g < 0 else g
        factors = [divides(g, s) for _, s in modes]
        inside = [k for k, f in enumerate(factors) if f is not None]
        rest = [k for k in range(len(modes)) if k not in inside]
        if not rest:
            continue
        quotients = [_nearest(modes[k][1], g) for k in rest]
        fine = [(modes[k][0], modes[k][1] - g * q) for k, q in zip(rest, quotients, strict=True)]
        span = _span(fine, facts)
        if span is None:
            continue
        small = facts.nonneg(g - span - 1)
        below = None if small is None else chain(fine, facts)
        above = None if below is None else chain([(modes[k][0], factors[k]) for k in inside], facts)
        if small is not None and above is not None:
            return {
                "residue": poly(g),
                "multiples": inside,
                "factors": [poly(f) for f in factors if f is not None],
                "quotients": [poly(q) for q in quotients],
                "coarse": above,
                "fine": below,
                "span": hint(small),
            }
    return None


def _nearest(s: Any, g: Any) -> Any:
    """q such that s - g*q is small: to the nearest multiple for numbers, termwise for polynomials."""
    if type(s) is int and type(g) is int:
        return (s + g // 2) // g
    return split(s, g)[0]


def _span(modes: Modes, facts: Facts) -> Any:
    total: Any = 0
    for n, s in modes:
        sign = _sign(n, s, facts)
        if sign is None:
            return None
        total = total + (n - 1) * s * sign[0]
    return total


# -- bijective, bounds, equal ---------------------------------------------------------------------------


def bijective(modes: Modes, facts: Facts, onto: Int) -> Certificate | None:
    """Every value of [0, onto) exactly once: strides are the running product of the extents (T3)."""
    kept = [(n, s) for n, s in modes if not is_one(n)]
    order = _running_product(kept, onto)
    if order is None:
        return None
    if all(type(n) is int for n, _ in kept):
        return {"claim": {"kind": "bijective", "modes": kept, "onto": onto}, "proof": {"order": order}}
    setting = Setting.of(facts, *_polys(kept), onto)
    extents = _extent_hints(kept, setting)
    if extents is None:
        return None
    return {
        "claim": setting.claim("bijective", modes=_json(kept), onto=poly(onto)),
        "proof": {"order": order, "extents": extents},
    }


def _running_product(modes: Modes, onto: Int) -> list[int] | None:
    """The order in which each stride is the product of the extents before it, and *onto* that of all."""
    left = {s: k for k, (_, s) in enumerate(modes)}
    order: list[int] = []
    current: Any = 1
    for _ in modes:
        k = left.pop(current, None)
        if k is None:
            return None
        order.append(k)
        current = current * modes[k][0]
    return order if current == onto else None


def covers(modes: Modes, facts: Facts, onto: Int) -> Certificate | None:
    """Every value of [0, onto) is reached, perhaps more than once: strides that leave no gap."""
    setting = Setting.of(facts, *_polys(modes), onto)
    if not setting.usable:
        return None
    known = setting.facts
    extents = [known.nonneg(n - 1) for n, _ in modes]
    if any(e is None for e in extents):
        return None
    order: list[int] = []
    steps: list[Any] = []
    signs: list[Any] = []
    reach: Any = 0
    left = [k for k in _ascending(modes) if modes[k][1] != 0]
    while True:
        enough = known.nonneg(reach + 1 - onto)
        if enough is not None:
            break
        for k in left:
            n, s = modes[k]
            step, sign = known.nonneg(reach + 1 - s), known.nonneg(s)
            if step is not None and sign is not None:
                break
        else:
            return None
        left.remove(k)
        order.append(k)
        steps.append(hint(step))
        signs.append(hint(sign))
        reach = reach + (n - 1) * s
    return {
        "claim": setting.claim("covers", modes=_json(modes), onto=poly(onto)),
        "proof": {
            "extents": [hint(e) for e in extents if e is not None],
            "order": order,
            "steps": steps,
            "signs": signs,
            "onto": hint(enough),
        },
    }


def _extent_hints(modes: Modes, setting: Setting) -> list[Any] | None:
    if not setting.usable:
        return None
    found = [setting.facts.nonneg(n) for n, _ in modes]
    return [hint(e) for e in found if e is not None] if all(e is not None for e in found) else None


def bounds(modes: Modes, base: Any, low: Any, high: Any, facts: Facts) -> Certificate | None:
    """low <= base + offset <= high at every coordinate: two corners (T8)."""
    setting = Setting.of(facts, *_polys(modes), base, low, high)
    if not setting.usable:
        return None
    known = setting.facts.with_rows(*_extent_rows(modes))
    signs = [_sign(n, s, known) for n, s in modes]
    if any(s is None for s in signs):
        return None
    least = greatest = base
    for (n, s), (g, _) in zip(modes, [s for s in signs if s is not None], strict=True):
        if g == 1:
            greatest = greatest + (n - 1) * s
        else:
            least = least + (n - 1) * s
    bottom, top = known.nonneg(least - low), known.nonneg(high - greatest)
    if bottom is None or top is None:
        return None
    return {
        "claim": setting.claim("bounds", modes=_json(modes), base=poly(base), low=poly(low), high=poly(high)),
        "proof": {
            "sign": [s[0] for s in signs if s is not None],
            "strides": [hint(s[1]) for s in signs if s is not None],
            "low": hint(bottom),
            "high": hint(top),
        },
    }


def equal(a: Modes, base_a: Any, b: Modes, base_b: Any, facts: Facts) -> Certificate | None:
    """The same function of the linear index: identical coalesced modes, bases and sizes (T17)."""
    if base_a != base_b or coalesced_modes(list(a)) != coalesced_modes(list(b)):
        return None
    if all(type(n) is int and type(s) is int for n, s in (*a, *b)):
        claim = {"kind": "equal", "a": list(a), "b": list(b), "base_a": poly(base_a), "base_b": poly(base_b)}
        return {"claim": claim, "proof": {}}
    setting = Setting.of(facts, *_polys(a), *_polys(b), base_a)
    left, right = _extent_hints(a, setting), _extent_hints(b, setting)
    if left is None or right is None:
        return None
    return {
        "claim": setting.claim("equal", a=_json(a), b=_json(b), base_a=poly(base_a), base_b=poly(base_b)),
        "proof": {"a": left, "b": right},
    }


def divisible(modes: Modes, base: Any, modulus: int, facts: Facts) -> Certificate | None:
    """*modulus* divides every offset: the base and every stride that moves (T11, T12)."""
    moving = [(n, s) for n, s in modes if not is_one(n)]
    if not all(residues_vanish(p, modulus) for p in (base, *(s for _, s in moving))):
        return None
    setting = Setting.of(facts, *_polys(moving), base)
    claim = setting.claim("divisible", modes=_json(moving), base=poly(base), modulus=modulus)
    return {"claim": claim, "proof": {}}


def together(parts: Iterable[Mapping[str, Any]], because: str) -> Certificate:
    """The claims of some certificates as one."""
    parts = list(parts)
    claim = {"kind": "all", "because": because, "parts": [p["claim"] for p in parts]}
    return {"claim": claim, "proof": {"parts": [p["proof"] for p in parts]}}
