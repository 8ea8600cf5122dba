"""Which elements of a shared tensor each warp touches in an operation, where numbers say so.

Two accesses that never meet need no order between them; those that meet within a warp need only that warp's barrier.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.atoms import ATOMS
from symlayout.expr import Expr, Symbol
from symlayout.kernel import Kernel
from symlayout.ops import Box, Copy, Fill, LoadIndex, Map, Op, Reduce, Ref, Role, Shuffle
from symlayout.semantics.maps import FUNCTIONS

from .sites import THREAD, Site

POINTS = 1 << 18  # threads times iterations times elements that are looked at
ROW_BYTES = 16  # of one address of ldmatrix and stmatrix (PTX ISA)

Touched: TypeAlias = "dict[int, frozenset[int]]"


def touched(kernel: Kernel, site: Site, refs: Iterable[Ref], fixed: frozenset[Symbol]) -> Touched | None:
    """Warp to the elements that it touches, over all its lanes and iterations; None where numbers do not say.

    *fixed* are the indices of loops around both accesses: what depends on them differs from turn to turn.
    """
    out: dict[int, frozenset[int]] = {}
    for ref in refs:
        found = _of(kernel, site, ref, fixed)
        if found is None:
            return None
        for w, elements in found.items():
            out[w] = out.get(w, frozenset()) | elements
    return out


def _of(kernel: Kernel, site: Site, ref: Ref, fixed: frozenset[Symbol]) -> Touched | None:
    width, team = elements_of(kernel, site.op, ref), site.team
    if width is None or team is None or team.lanes not in (1, 32) or site.conditions:
        return None
    role = next((a for a in reversed(site.around) if isinstance(a, Role)), None)
    first = role.first_warp if role else 0
    threads = role.threads if role else kernel.threads
    symbols = ref.offset.symbols if isinstance(ref.offset, Expr) else ()
    coords = [s for s in symbols if s.name != THREAD]
    if any(s in fixed or s.lower != 0 or type(s.upper) is not int for s in coords):
        return None
    thread = next((s for s in symbols if s.name == THREAD), None)
    extents = [s.upper + 1 for s in coords if type(s.upper) is int]
    told_apart = threads if thread is not None else 1  # all threads touch the same where the offset names none
    if math.prod(extents) * told_apart * width > POINTS:
        return None
    if thread is None:
        _, values = AddressMap(tuple(coords), tuple(extents), ref.offset).table()
        rows = np.broadcast_to(values[:, 0], (threads, len(values)))
    else:
        _, values = AddressMap((thread, *coords), (threads, *extents), ref.offset).table()
        rows = values[:, 0].reshape(-1, threads).T  # the thread is the fastest coordinate
    out: dict[int, frozenset[int]] = {}
    for w in team.warps:
        mine = rows[32 * (w - first) : 32 * (w - first) + 32]
        if team.lanes == 1 and (mine != mine[0]).any():
            return None  # which lane is elected is not known
        starts = np.unique(mine)
        out[w] = frozenset((starts[:, None] + np.arange(width)).ravel().tolist())
    return out


def elements_of(kernel: Kernel, op: Op, ref: Ref) -> int | None:
    """Elements that one thread touches from an offset on; None where the operation does not say."""
    bits = kernel.tensor(ref.tensor).dtype.bits
    if isinstance(op, Map) and ref != op.dst and op.function in FUNCTIONS:
        counts = zip(op.srcs, FUNCTIONS[op.function].counts, strict=False)
        return max((n or op.count for src, n in counts if src == ref), default=op.count)
    if isinstance(op, Map | Fill | Shuffle):
        return op.count
    if isinstance(op, Reduce):
        return op.count if ref == op.src else 1
    if isinstance(op, LoadIndex):
        return 1
    if not isinstance(op, Copy) or op.atom not in ATOMS:
        return None
    box: Any = op.src if isinstance(op.src, Box) else op.dst
    if isinstance(box, Box):
        landed = kernel.map(box.tensor_map).tensor_map.landed_bytes
        return 8 * landed // bits if type(landed) is int else None
    nbytes = ATOMS[op.atom].bytes or (ROW_BYTES if "matrix" in op.atom else 0)
    return max(1, 8 * nbytes // bits) if nbytes else None


def meeting(a: Touched | None, b: Touched | None) -> str:
    """How two accesses meet: "apart", "in a warp", "across warps", or "unknown"."""
    if a is None or b is None:
        return "unknown"
    pairs = [(w, v) for w, x in a.items() for v, y in b.items() if x & y]
    if not pairs:
        return "apart"
    return "in a warp" if all(w == v for w, v in pairs) else "across warps"
