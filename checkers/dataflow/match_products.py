"""Whether a sum of products is of all terms that a result says, each once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from symlayout.expr import Expr, Symbol
from symlayout.facts import Facts
from symlayout.kernel.specification import Dot, Element, Entry

from .contents import Loaded, Numbers, Origins, Segment, Sum, told
from .match_folds import NotAll, nested, picks
from .target import Differs, Target

Terms: TypeAlias = "tuple[Segment, Any, list[tuple[int, bool]]]"  # those of a loop: at + i, with whether it is of zeros


def expect_products(
    origins: Origins,
    origin: Sum,
    deltas: Numbers,
    value: Dot,
    target: Target,
    entry: Callable[..., None],
    shape: Callable[[Element], tuple[Any, ...]],
    parts: tuple[tuple[Symbol, Any], ...] = (),
) -> None:
    """Raise Differs unless each product of a sum is one of the result's, and each of those is there once.

    With *parts*, (index, extent), unless each is there once in the sums of all values of these indices together.
    *shape* is that of the tensor of an element, whose entries of tensors of indices *entry* checks.
    """
    ra, rb = origin.ranks
    target.expect_bound(*(s.loop for s in origin.segments if s.loop is not None))
    terms: list[Terms] = []
    for segment in origin.segments:
        found: list[tuple[Any, int, bool]] = []
        for s in segment.slices:
            a = _terms(origins, s.a, s.a_deltas, deltas[:, :ra], value.a, value, target, entry)
            b = _terms(origins, s.b, s.b_deltas, deltas[:, ra : ra + rb], value.b, value, target, entry)
            for (x, i, u), (y, j, v) in zip(a, b, strict=True):
                if target.number(x - y) != j - i:
                    raise Differs(f"products of {value.index} = {x + i} and {y + j}")
                found.append((x, i, u == v == "zero"))
        steps = {x for x, *_ in found}
        if len(steps) != 1:
            raise Differs(f"terms of {value.index} at {', '.join(map(str, steps))}")
        terms.append((segment, steps.pop(), sorted((i, zero) for _, i, zero in found)))
    _expect_all_terms(value, target, terms, parts, shape)


def _terms(
    origins: Origins,
    numbers: tuple[int, ...],
    steps: Numbers,
    deltas: Numbers,
    element: Element,
    value: Dot,
    target: Target,
    entry: Callable[..., None],
) -> list[tuple[Any, int, str]]:
    """The k of each factor of a slice, as an expression and an integer, where it is the element of that k.

    With each stands the value of elements outside of its tensor.
    """
    places = [i for i, x in enumerate(element.at) if isinstance(x, Expr) and value.index in x.symbols]
    if len(places) != 1 or element.at[places[0]] is not value.index or picks(element, value.index):
        raise Differs(f"{element} is not one element for each {value.index}")
    (place,) = places
    for origin in map(origins.__getitem__, numbers):
        if not isinstance(origin, Loaded) or origin.tensor != element.tensor:
            raise Differs(f"expected {element}, got {told(origin)}")
    if (deltas[:, place] != deltas[0, place]).any():
        raise Differs(f"{value.index} differs among elements that are stored")
    others = [d for d in range(len(element.at)) if d != place]
    seen, out = set(), []
    for number, step in zip(numbers, steps, strict=True):
        origin, aside = origins[number], (number, *step[others].tolist())
        assert isinstance(origin, Loaded)
        for d in others if aside not in seen else ():
            x, what = element.at[d], f"coordinate {d} of {element}"
            if isinstance(x, Entry):
                entry(origin, d, deltas[:, d] + step[d], x, target, what)
            else:
                target.expect_equal(x, origin.at[d], deltas[:, d] + step[d], what)
        seen.add(aside)
        out.append((origin.at[place], int(deltas[0, place] + step[place]), origin.outside))
    return out


def _expect_all_terms(
    value: Dot,
    target: Target,
    terms: list[Terms],
    parts: tuple[tuple[Symbol, Any], ...],
    shape: Callable[[Element], tuple[Any, ...]],
) -> None:
    """Check that the terms of all parts are those of 0 .. extent - 1, each once, and zeros."""
    if len(terms) != 1:
        raise Differs("a sum of several loops")
    [(segment, at, found)] = terms
    per, numbers = len(found), [i for i, _ in found]
    if numbers != list(range(per)):
        raise Differs(f"terms of {value.index} at {at} + {numbers[0]} .. {numbers[-1]}, {per} of them")
    loops = () if segment.loop is None else ((segment.loop, segment.extent),)
    try:
        iteration, extent = nested((*parts, *loops))
    except NotAll as e:
        raise Differs(str(e)) from None
    if target.number(at - per * iteration) != 0:
        raise Differs(f"terms of {value.index} from {at} on, expected {per * iteration}")
    n = per * extent
    if target.known.facts.le(value.extent, n) is not True:
        raise Differs(f"terms of {value.index} below {n} of {value.extent}")
    if target.number(n - value.extent) != 0:
        _expect_zeros(value, target, [at + i for i, zero in found if not zero], shape)


def _expect_zeros(value: Dot, target: Target, plain: list[Any], shape: Callable[[Element], tuple[Any, ...]]) -> None:
    """Terms behind the last one are products of zeros: outside of both tensors, where loads give zero.

    Those that are *plain* products stand before it.
    """
    for element in (value.a, value.b):
        (d,) = (i for i, x in enumerate(element.at) if x is value.index)
        if shape(element)[d] - value.extent != 0:
            raise Differs(f"terms of {value.index} behind the last are not zeros of {element}")
    for x in plain:
        if Facts.about(x, given=target.known.facts.given).le(x + 1, value.extent) is not True:
            raise Differs(f"terms of {value.index} behind the last, such as {x}, are not zeros")
