"""A whole claim as plain data: its kind, each of its fields, the range of each size and what is given.

>>> from symlayout import Layout
>>> from checkers import Injective
>>> statement(Injective(Layout((4, 8), (8, 1))))
{'kind': 'Injective', 'layout': {'layout': {'shape': [4, 8], 'stride': [8, 1]}}}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.banks import Access
from symlayout.basis import ScaledBasis
from symlayout.canonical import serial
from symlayout.ck_tile.adaptor import TensorAdaptor
from symlayout.expr import Expr, Fact
from symlayout.facts import Facts, inner_first, opaque_atoms
from symlayout.kernel import Kernel
from symlayout.layout import ComposedLayout, Layout
from symlayout.swizzle import Swizzle

from ...algebra.subject_form import expressions
from ...claim import Claim
from ..certificate_json import poly

NOT_STATED = ("by",)  # hints for a proof that are not part of the sentence


def statement(claim: Claim, graphs: bool = False) -> dict[str, Any]:
    """The claim with every field, its sizes and what is given, as lists, dictionaries, numbers and strings.

    With *graphs* a descriptor of CK Tile is stated by its transforms, else by the map that they make.
    """
    out: dict[str, Any] = {"kind": type(claim).__name__}
    for name in claim._fields():
        if name not in NOT_STATED:
            x = getattr(claim, name)
            out[name] = graph(x) if graphs and isinstance(x, TensorAdaptor) else data(x)
    if claim.given:
        out["given"] = [fact(f) for f in claim.given]
    symbols = Facts.about(claim.parameters(), given=claim.given).symbols
    if symbols:
        out["sizes"] = {s.name: [_end(s.lower), _end(s.upper), s.multiple] for s in symbols}
    atoms = inner_first(opaque_atoms(*polys(claim, graphs)))
    if atoms:
        out["atoms"] = {a.key: [a.op, *map(poly, a.args)] for a in atoms}
    return out


def polys(claim: Claim, graphs: bool = False) -> Iterator[Any]:
    """Every expression of a claim whose kind is derived; of a descriptor the parameters of its transforms."""
    for name in claim._fields():
        x = getattr(claim, name)
        if graphs and isinstance(x, TensorAdaptor):
            yield from parameters(x)
        elif name not in NOT_STATED:
            yield from expressions(x)
    yield from (f.expr for f in claim.given)
    for s in Facts.about(claim.parameters(), given=claim.given).symbols:
        yield from (e for e in (s.lower, s.upper) if e is not None)


def parameters(x: TensorAdaptor) -> Iterator[Any]:
    """The expressions among the parameters of the transforms of a descriptor."""
    for t in x.graph.transforms:
        for f in fields(t):
            value = getattr(t, f.name)
            yield from (p for p in (value if isinstance(value, tuple) else (value,)) if isinstance(p, Expr))


def graph(x: TensorAdaptor) -> dict[str, Any]:
    """A descriptor by its transforms: each by its kind and its parameters, with the dimensions of each."""
    g = x.graph
    rows = [[t.kind, *(data(getattr(t, f.name)) for f in fields(t))] for t in g.transforms]
    ids = {"lower": g.lower_ids, "upper": g.upper_ids, "bottom": g.bottom_ids, "top": g.top_ids}
    return {"graph": {"transforms": rows, **{k: data(v) for k, v in ids.items()}, "coords": [c.name for c in x.coords]}}


def _end(x: Any) -> Any:
    return None if x is None else data(x)


def fact(f: Fact) -> list[Any]:
    """A fact as (expression, relation, modulus)."""
    return [data(f.expr), f.relation, f.modulus]


def data(x: Any) -> Any:
    """A field of a claim as plain data that differs for different values; others by ``symlayout.canonical``."""
    if x is None or type(x) in (bool, int, float, str):
        return x
    for kind, write in WRITERS:
        if isinstance(x, kind):
            return write(x)
    return {"type": type(x).__name__, "serial": serial(x)}


def _map(x: AddressMap) -> dict[str, Any]:
    out: dict[str, Any] = {
        "coords": [c.name for c in x.coords],
        "extents": list(map(data, x.extents)),
        "value": data(x.offset),
        "valid": [fact(f) for f in x.valid],
    }
    if x.divisors:
        out["divisors"] = list(map(data, x.divisors))
    return {"map": out}


def _layout(x: Layout) -> dict[str, Any]:
    return {"shape": data(x.shape), "stride": data(x.stride)}


def _composed(x: ComposedLayout) -> dict[str, Any]:
    if not isinstance(x.outer, Swizzle) or not isinstance(x.inner, Layout):
        return {"type": "ComposedLayout", "serial": serial(x)}
    swizzle = [x.outer.bits, x.outer.base, x.outer.shift]
    return {"composed": {"swizzle": swizzle, "offset": data(x.offset), "inner": _layout(x.inner)}}


WRITERS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (tuple | list, lambda x: list(map(data, x))),
    (Expr, lambda x: {"poly": poly(x)}),
    (Layout, lambda x: {"layout": _layout(x)}),
    (ComposedLayout, _composed),
    (AddressMap, _map),
    (Swizzle, lambda x: {"swizzle": [x.bits, x.base, x.shift]}),
    (ScaledBasis, lambda x: {"basis": list(x.path), "value": data(x.value)}),
    (Fact, fact),
    (Access, lambda x: {"access": {f.name: data(getattr(x, f.name)) for f in fields(x)}}),
    (Kernel, lambda x: {"kernel": x.name, "digest": x.digest}),
    (Mapping, lambda x: {str(k): data(v) for k, v in x.items()}),
)
