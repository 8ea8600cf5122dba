"""Claims about the lanes of a warp: what moves all of them alike is left out, and what is left is counted.

Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

from ..lemmas import Mode, Poly, need, poly, put, times
from .linear_forms import form_of, moving, proved, same, same_modes
from .world import Data, World, leaves, number

MOST_RESIDUES = 1 << 14  # combinations of values of sizes modulo a number
MOST_POINTS = 1 << 20  # of the lanes' accesses that are counted one by one
WIDTHS = (1, 2, 4, 8, 16)  # bytes of one lane


def conflict_free(w: World, s: Data, c: Data, how: Data) -> None:
    width, degree, size = s["width_bytes"], s["degree"], s["element_bytes"]
    need(type(width) is int and width in WIDTHS and type(degree) is int and degree >= 1, "a width and a degree")
    for lanes in requests(w, s, c, max(width, 4), 128):
        need(all(a * size % width == 0 for a in lanes), "a lane is not aligned to its width")
        need(ways([a * size for a in lanes], width) <= degree, "lanes of a phase meet in a bank")


def ways(addresses: list[int], width: int) -> int:
    """The reads of the busiest bank: in a phase of 128 bytes, units of max(width, 4) bytes, equal ones at once."""
    unit, together = max(width, 4), 128 // max(width, 4)
    phases = (addresses[i : i + together] for i in range(0, len(addresses), together))
    return max(max(Counter(u % together for u in {a // unit for a in phase}).values()) for phase in phases)


def coalesced(w: World, s: Data, c: Data, how: Data) -> None:
    width, size = s["width_bytes"], s["element_bytes"]
    most = number(w.image(s["sectors"]))
    need(type(width) is int and width in WIDTHS and most is not None, "a width and a number of sectors")
    for lanes in requests(w, s, c, 32, 32):
        touched = {b // 32 for a in lanes for b in (a * size, *range(a * size, a * size + width))}
        need(len(touched) <= (most or 0), "a request touches more sectors")


def requests(w: World, s: Data, c: Data, unit: int, row_bytes: int, most: int = 32) -> list[list[int]]:
    """Offsets of the lanes, the first mode, for each coordinate of the rest; what moves all lanes alike left out.

    The modes left out, and the base, are shown to be multiples of *unit* bytes and of the swizzle's period. So the
    addresses that share a unit or a bank do not depend on them (T14, T16). A stride of lanes that is not a number,
    and a base that is not such a multiple, count by their residue modulo a row of banks or a sector, and the period.
    Every residue that the given facts allow is examined.
    """
    size = s["element_bytes"]
    need(type(size) is int and size >= 1, "bytes of an element")
    f = form_of(w, s["access"])
    need(not f.predicate, "an access that some lanes do not make")
    modes, base = f.single
    period = 1 << (f.swizzle[1] + abs(f.swizzle[2]) + f.swizzle[0]) if f.swizzle else 1
    apart = math.lcm(unit // math.gcd(unit, size), period)
    row = math.lcm(row_bytes // math.gcd(row_bytes, size), period)
    first = _lane_modes(s["access"])
    kept: list[tuple[int, Poly]] = []
    moved: list[Mode] = []
    for k, (n, d) in enumerate(modes):
        extent, stride = number(n), number(d)
        if extent is not None and (stride is not None or k < first):
            kept.append((extent, d))
            continue
        need(k >= first, "lanes of an extent that is not a number")
        steps = apart // math.gcd(stride, apart) if stride is not None else 1
        moved.append((n, times({(): steps}, d)))
        if steps > 1:
            kept.append((steps, d))
    proved(w, c, "divisible")
    need(c["modulus"] == apart, "another modulus")
    same_modes(c, moving(moved))
    shifts = number(base) is None and poly(c["base"]) != base  # such a base counts by its residue
    same(c, "base", {} if shifts or number(base) is not None else base)
    asked = [(d, row) for _, d in kept if number(d) is None] + ([(base, apart)] if shifts else [])
    start = number(base) or 0
    found = []
    for case in residues(w, asked):
        strides, left = _far(kept, list(case), row)
        found += _counted([n for n, _ in kept], strides, start + sum(left), f.swizzle, first, most)
        need(sum(map(len, found)) <= MOST_POINTS, f"more than {MOST_POINTS} accesses to count")
    return found


def _far(kept: list[tuple[int, Poly]], case: list[int], row: int) -> tuple[list[int], list[int]]:
    """(strides, the rest of *case*): residues with whole rows added, so that no two lanes share a unit by them."""
    reach = sum((n - 1) * abs(number(d) or 0) for n, d in kept) + row
    strides: list[int] = []
    for n, d in kept:
        stride = number(d)
        if stride is None:
            stride = case.pop(0) + row * (1 + reach // row)
            reach += (n - 1) * stride + row
        strides.append(stride)
    return strides, case


def _counted(
    extents: list[int], strides: list[int], start: int, swizzle: Any, first: int, most: int
) -> list[list[int]]:
    lanes = math.prod(extents[:first])
    need(1 <= lanes <= most and all(n >= 0 for n in extents), f"1 to {most} lanes")
    need(math.prod(extents) <= MOST_POINTS, f"more than {MOST_POINTS} accesses to count")
    offsets = [start]
    for count, step in zip(extents, strides, strict=True):
        offsets = [v + k * step for k in range(count) for v in offsets]
    if swizzle is not None:
        offsets = [swizzled(swizzle, v) for v in offsets]
    return [offsets[i : i + lanes] for i in range(0, len(offsets), lanes)]


def residues(w: World, asked: list[tuple[Poly, int]]) -> set[tuple[int, ...]]:
    """The joint values of polynomials, each modulo its number, at all integers that meet the congruences given.

    An equality holds modulo anything. Names that occur in no congruence, and inequalities, restrict nothing.
    """
    modulus = math.lcm(*(m for _, m in asked))
    rows = [(put(p, w.env), m if rel == "%" else modulus) for p, rel, m in w.facts if rel != ">="]
    names = set[str]().union(*(_counts(p, m) for p, m in asked))
    for _ in range(2):
        wider = names.union(*(_counts(p, m) for p, m in rows if _counts(p, m) & names))
        names = wider if len(wider) <= 3 else names
    rows = [(p, m) for p, m in rows if _counts(p, m) <= names]
    every, order = math.lcm(modulus, *(m for _, m in rows)), sorted(names)
    need(every ** len(order) <= MOST_RESIDUES, "too many residues")
    out = set()
    for values in itertools.product(range(every), repeat=len(order)):
        at = dict(zip(order, values, strict=True))
        if all(_at(p, at, m) == 0 for p, m in rows):
            out.add(tuple(_at(p, at, m) for p, m in asked))
    need(len(out) > 0, "no residue meets what is given")
    return out


def _counts(p: Poly, modulus: int) -> set[str]:
    """The names on which a polynomial depends modulo a number."""
    return {n for key, c in p.items() if c % modulus for n in key}


def _at(p: Poly, at: dict[str, int], modulus: int) -> int:
    return sum(c * math.prod(at[n] for n in key) for key, c in p.items() if c % modulus) % modulus


def _lane_modes(x: Data) -> int:
    """The number of leaves of the first top-level mode."""
    if "map" in x:
        return 1
    shape = (x["layout"] if "layout" in x else x["composed"]["inner"])["shape"]
    return len(leaves(shape[0])) if isinstance(shape, list | tuple) and shape else 1


def swizzled(swizzle: tuple[int, int, int], x: int) -> int:
    bits, base, shift = swizzle
    field = x & (((1 << bits) - 1) << (base + max(shift, 0)))
    return x ^ (field >> shift if shift >= 0 else field << -shift)
