"""Whether a fold is over all elements that a result says, each once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from symlayout.expr import Expr, Symbol
from symlayout.facts import symbols_in
from symlayout.kernel.specification import Element, Entry, Total

from .contents import Loaded, Numbers, Origins, without_constant
from .folds import Fold, Term
from .target import Target

ALL = (-(1 << 62), 1 << 62)


class NotAll(Exception):
    """Elements that are folded are not seen to be those of the result."""


def expect_all(
    origins: Origins,
    origin: Fold,
    rows: Numbers,
    value: Total,
    target: Target,
    entry: Callable[..., None],
    shape: tuple[Any, ...],
    parts: tuple[tuple[Symbol, Any], ...] = (),
) -> None:
    """Raise NotAll unless each element of *value* is folded once into each row, and nothing else.

    *shape* is that of its tensor: what loads give outside of it may be zeros, which add nothing. With *parts*, (index,
    extent), unless that is so for the folds of all values of these indices together.

    The members of all terms are elements at K + r. In each iteration of the loop K grows by the number of different
    r. Those that count for one r, under conditions about how far K is from the end, are exactly one where K + r is
    inside.
    """
    if origin.function != value.function or origin.carry is not None:
        raise NotAll(f"expected {value}, got a fold by {origin.function}")
    if not of_index(value):
        raise NotAll(f"{value.element} is not one element for each {value.index}")
    (place,) = (d for d, x in enumerate(value.element.at) if x is value.index)
    at = {_corner(origins, t, value, place) for t in origin.terms}
    loops = {t.loops for t in origin.terms}
    if len(at) != 1 or len(loops) != 1:
        raise NotAll(f"terms of {value.index} at {', '.join(map(str, at)) or 'no place'}")
    corner, around = at.pop(), (*parts, *loops.pop())
    members = []
    for t in origin.terms:
        zeros = value.function == "add" and getattr(origins[t.origin], "outside", "") == "zero"
        beyond = target.number(shape[place] - value.extent) if zeros else None
        members.append(_members(t, rows, corner, place, value, target, beyond))
    for t in origin.terms:
        _expect_others(origins, t, rows, place, value, target, entry)
    for i in {tuple(np.concatenate([m[j].ravel() for m in members])): j for j in range(len(rows))}.values():
        _expect_once(np.concatenate([m[i] for m in members]), corner, around, value, target, len(parts))


def _corner(origins: Origins, t: Term, value: Total, place: int) -> Any:
    element = origins[t.origin]
    if not isinstance(element, Loaded) or element.tensor != value.element.tensor:
        raise NotAll(f"expected elements of {value.element.tensor}, got {element}")
    return element.at[place]


def _expect_others(
    origins: Origins,
    t: Term,
    rows: Numbers,
    place: int,
    value: Total,
    target: Target,
    entry: Callable[..., None],
) -> None:
    """Check that all coordinates but that of the fold's index are those of the result."""
    element = origins[t.origin]
    assert isinstance(element, Loaded)
    for d, x in enumerate(value.element.at):
        if d == place:
            continue
        if isinstance(x, Entry):
            for deltas in t.deltas[rows][:, :, d].T:
                entry(element, d, deltas, x, target, f"coordinate {d} of {value.element}")
            continue
        base, steps = target.put(x)
        c = target.number(base - element.at[d])
        if c is None or (t.deltas[rows][:, :, d] != (steps + c)[:, None]).any():
            raise NotAll(f"coordinate {d} of {value.element} is {base}, and {element.at[d]} is loaded")


def _members(
    t: Term, rows: Numbers, corner: Any, place: int, value: Total, target: Target, beyond: int | None
) -> Numbers:
    """(row, member, 3): r, and the least and greatest distance of the end from the corner at which it counts.

    Elements that are *beyond* the end by as much are zeros: they do not count.
    """
    r = t.deltas[rows][:, :, place]
    low = np.full_like(r, ALL[0]) if beyond is None else r + 1 - beyond
    high = np.full_like(r, ALL[1])
    left = value.extent - corner  # how far the end is from the corner
    for i, condition in enumerate(t.conditions):
        held = t.condition_deltas[rows][:, :, i]
        if _implied(condition, held, target):
            continue
        more, less = target.number(condition - left), target.number(condition + left)
        if more is not None:
            low = np.maximum(low, -(more + held))
        elif less is not None:
            high = np.minimum(high, less + held)
        else:
            raise NotAll(f"a condition that says nothing of {value.index}: {condition} >= 0")
    return np.stack([r, low, high], axis=-1)


def _implied(condition: Any, deltas: Numbers, target: Target) -> bool:
    """Whether a condition holds for all elements that are inside of the output, as only those are stored."""
    unit, rest = _multiples(target.known.normal(condition))
    for j, (s, at) in enumerate(zip(target.coords, target.at, strict=True)):
        for end, sign in ((s.upper - at, -1), (at, 1)):
            c = target.number(condition - end)
            if c is None:
                continue
            least = (
                c - sign * target.deltas[:, j, None]
            )  # of the condition, which is a multiple of the unit and the rest
            if (deltas + least + (rest - least) % unit >= 0).all():
                return True
    return False


def _expect_once(
    members: Numbers, corner: Any, loops: tuple[Any, ...], value: Total, target: Target, parts: int
) -> None:
    """One row: for each r the ranges in which its members count are disjoint and together all from r + 1 on."""
    found: dict[int, list[tuple[int, int]]] = {}
    for r, low, high in members.tolist():
        if low <= high:
            found.setdefault(r, []).append((low, high))
    per = len(found)
    if set(found) != set(range(per)) or len(loops) > parts + 1:
        raise NotAll(f"terms of {value.index} at {corner} + {min(found, default=0)} .. {max(found, default=0)}")
    iteration, extent = nested(loops)
    if target.number(corner - per * iteration) != 0:
        raise NotAll(f"terms of {value.index} from {corner} on, expected {per * iteration}")
    if target.known.facts.le(value.extent, per * extent) is not True:
        raise NotAll(f"terms of {value.index} below {per * extent} of {value.extent}")
    no_tail = target.known.facts.le(per * extent, value.extent) is True
    unit, rest = _multiples(target.known.normal(value.extent - corner))
    for r, ranges in found.items():
        at = least = per if no_tail else r + 1
        inside = [(max(low, least), high) for low, high in ranges if high >= least] if no_tail else ranges
        first = at = at + (rest - at) % unit
        met = [(low + (rest - low) % unit, high - (high - rest) % unit) for low, high in inside]
        for low, high in sorted((low, high) for low, high in met if low <= high):
            if low < at == first:
                raise NotAll(f"{corner + r} is folded where it is not below {value.extent}, too: expected a condition")
            if low != at:
                times = "twice" if low < at else "never"
                raise NotAll(f"{corner + r} is folded {times} where {value.extent} - ({corner}) is {min(low, at)}")
            at = high + unit
        if at <= ALL[1] - unit:
            raise NotAll(f"{corner + r} is not folded where {value.extent} - ({corner}) is {at}")


def nested(loops: tuple[Any, ...]) -> tuple[Any, Any]:
    """(number of an iteration, how many there are) of loops inside each other, the innermost counted fastest.

    Raises NotAll if the trip count of one depends on another.
    """
    iteration: Any = 0
    extent: Any = 1
    indices = {s for s, _ in loops}
    for s, n in loops:
        if indices & symbols_in((n,)):
            raise NotAll(f"the extent of {s} changes with other loops: {n}")
        iteration, extent = iteration * n + s, extent * n
    return iteration, extent


def _multiples(x: Any) -> tuple[int, int]:
    """(u, c) where x is a multiple of u and c more."""
    x, c = without_constant(x)
    return (math.gcd(*x.terms.values()), c) if isinstance(x, Expr) else (1, 0)


def of_index(value: Total) -> bool:
    """Whether a total is of one element for each index."""
    uses = [x for x in value.element.at if isinstance(x, Expr) and value.index in x.symbols]
    return len(uses) == 1 and uses[0] is value.index and not picks(value.element, value.index)


def picks(element: Element, index: Symbol) -> bool:
    """Whether an index picks entries of a tensor of indices."""
    at = (i for x in element.at if isinstance(x, Entry) for i in x.at)
    return any(isinstance(i, Expr) and index in i.symbols for i in at)
