"""Every kind of claim and where the campaign gets it from: a row each, none left out.

A row stands in ``ROWS`` of one of the modules in ``PLACES``: ``layouts`` here, ``kernels`` for claims about kernels,
``tma`` for those about tensor copies, ``ck_tile`` for those about views and distributions of CK Tile. A kind whose
module is not written yet stands in ``AWAITED`` under the module's name. As soon as that module can be imported it
must hold a row for every kind that it was awaited for, and its entry here has to go: ``complaints`` says which kinds
are nowhere, twice, or still awaited of a module that exists. ``tests/benchmarks/test_soundness.py`` fails on any.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil

import checkers.ck_tile as ck_tile
import checkers.claims as claims
from checkers.claim import Claim

from .row import Row

PLACES = ("layouts", "kernels", "tma", "ck_tile")

AWAITED: dict[str, tuple[str, ...]] = {}


def written(place: str) -> bool:
    """Whether the module of a place exists."""
    return importlib.util.find_spec(f"{__package__}.{place}") is not None


def rows_of(place: str) -> tuple[Row, ...]:
    """The rows of one place; none where it does not exist yet."""
    return tuple(importlib.import_module(f"{__package__}.{place}").ROWS) if written(place) else ()


def rows() -> tuple[Row, ...]:
    """The rows of all places that exist."""
    return tuple(row for place in PLACES for row in rows_of(place))


def kinds() -> tuple[type[Claim], ...]:
    """Every class of claim in the modules of both rooms of claims that says what kind it is, helpers with a _ aside."""
    for room in (claims, ck_tile):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    rooms = f"{claims.__name__}.", f"{ck_tile.__name__}."
    found = {c for c in _below(Claim) if c.kind and c.__module__.startswith(rooms) and c.__name__[0] != "_"}
    return tuple(sorted(found, key=lambda c: c.__name__))


def _below(c: type[Claim]) -> set[type[Claim]]:
    return {c}.union(*map(_below, c.__subclasses__()))


def complaints() -> list[str]:
    """What is wrong with the registry; nothing where each kind has exactly one row or awaited place."""
    have = [row.name for row in rows()]
    out = [f"{name} has {have.count(name)} rows" for name in dict.fromkeys(have) if have.count(name) > 1]
    waiting = {name: place for place, names in AWAITED.items() for name in names}
    for place in AWAITED:
        if place not in PLACES:
            out.append(f"{place} is no place of this package")
        elif written(place):
            out.append(f"{place}.py exists: take its kinds out of AWAITED")
    for kind in (c.__name__ for c in kinds()):
        if (kind in have) == (kind in waiting):
            out.append(f"{kind} has {'a row and is awaited too' if kind in have else 'neither a row nor a place'}")
    known = {c.__name__ for c in kinds()}
    out += [f"{name} is awaited, but no claim of this name exists" for name in waiting if name not in known]
    return out
