"""Claims about the lanes of a warp: what moves all of them alike is left out, and what is left is counted.

Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

import math
from collections import Counter

from ..lemmas import Mode, need, times
from .forms import form_of, moving, proved, same, same_modes
from .world import Data, World, leaves, number

MOST_POINTS = 1 << 20  # of the lanes' accesses that are counted one by one
WIDTHS = (1, 2, 4, 8, 16)  # bytes of one lane


def conflict_free(w: World, s: Data, c: Data, how: Data) -> None:
    width, degree, size = s["width_bytes"], s["degree"], s["element_bytes"]
    need(type(width) is int and width in WIDTHS and type(degree) is int and degree >= 1, "a width and a degree")
    for lanes in _requests(w, s, c, max(width, 4)):
        need(all(a * size % width == 0 for a in lanes), "a lane is not aligned to its width")
        need(ways([a * size for a in lanes], width) <= degree, "lanes of a phase meet in a bank")


def ways(addresses: list[int], width: int) -> int:
    """How often the busiest bank is read: in a phase of 128 bytes, units of max(width, 4) bytes, equal ones at once."""
    unit, together = max(width, 4), 128 // max(width, 4)
    phases = (addresses[i : i + together] for i in range(0, len(addresses), together))
    return max(max(Counter(u % together for u in {a // unit for a in phase}).values()) for phase in phases)


def coalesced(w: World, s: Data, c: Data, how: Data) -> None:
    width, size = s["width_bytes"], s["element_bytes"]
    most = number(w.image(s["sectors"]))
    need(type(width) is int and width in WIDTHS and most is not None, "a width and a number of sectors")
    for lanes in _requests(w, s, c, 32):
        touched = {b // 32 for a in lanes for b in (a * size, *range(a * size, a * size + width))}
        need(len(touched) <= (most or 0), "a request touches more sectors")


def _requests(w: World, s: Data, c: Data, unit: int) -> list[list[int]]:
    """Offsets of the lanes, the first mode, for each coordinate of the rest; what moves all lanes alike left out.

    The modes left out, and the base, are shown to be multiples of *unit* bytes and of the swizzle's period, so that
    which addresses share a unit or a bank does not depend on them (T14, T16).
    """
    size = s["element_bytes"]
    need(type(size) is int and size >= 1, "bytes of an element")
    f = form_of(w, s["access"])
    need(not f.predicate, "an access that some lanes do not make")
    modes, base = f.single
    period = 1 << (f.swizzle[1] + abs(f.swizzle[2]) + f.swizzle[0]) if f.swizzle else 1
    apart = math.lcm(unit // math.gcd(unit, size), period)
    first = _lane_modes(s["access"])
    kept = [(number(n), number(d)) for n, d in modes[:first]]
    need(all(n is not None and d is not None for n, d in kept), "lanes that are no numbers")
    moved: list[Mode] = []
    for n, d in modes[first:]:
        extent, stride = number(n), number(d)
        if extent is not None and stride is not None:
            kept.append((extent, stride))
            continue
        steps = apart // math.gcd(stride, apart) if stride is not None else 1
        moved.append((n, times({(): steps}, d)))
        if steps > 1:
            kept.append((steps, stride))
    start = number(base)
    proved(w, c, "divisible")
    need(c["modulus"] == apart, "another modulus")
    same_modes(c, moving(moved))
    same(c, "base", base if start is None else {})
    numbers = [(int(n or 0), int(d or 0)) for n, d in kept]
    lanes = math.prod(n for n, _ in numbers[:first])
    need(1 <= lanes <= 32 and all(n >= 0 for n, _ in numbers), "1 to 32 lanes")
    need(math.prod(n for n, _ in numbers) <= MOST_POINTS, f"more than {MOST_POINTS} accesses to count")
    offsets = [start or 0]
    for count, step in numbers:
        offsets = [v + k * step for k in range(count) for v in offsets]
    if f.swizzle is not None:
        offsets = [swizzled(f.swizzle, v) for v in offsets]
    return [offsets[i : i + lanes] for i in range(0, len(offsets), lanes)]


def _lane_modes(x: Data) -> int:
    """How many leaves the first top-level mode has."""
    if "map" in x:
        return 1
    shape = (x["layout"] if "layout" in x else x["composed"]["inner"])["shape"]
    return len(leaves(shape[0])) if isinstance(shape, list | tuple) and shape else 1


def swizzled(swizzle: tuple[int, int, int], x: int) -> int:
    bits, base, shift = swizzle
    field = x & (((1 << bits) - 1) << (base + max(shift, 0)))
    return x ^ (field >> shift if shift >= 0 else field << -shift)
