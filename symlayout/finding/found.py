"""Results of a search for claims: a claim with its place, a claim as text, or why a place gave none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..expr import Fact, Symbol
from .place import Place


@dataclass(frozen=True)
class Found:
    """A claim with its place, or the message why a place gave none."""

    place: Place
    claim: Any = None
    error: str = ""


@dataclass(frozen=True)
class Stated:
    """A claim as text states it, with the facts *shared* by its file.

    *source* is the text where a caret may point, *offsets* where its fields begin there; *locate* gives the place of a
    field, or of a character of its value.
    """

    place: Place
    kind: str
    fields: Mapping[str, Any]
    dims: Iterable[Symbol] = ()
    given: tuple[Fact, ...] = ()
    shared: tuple[Fact, ...] = ()
    expect: str = "proved"
    source: str = field(default="", kw_only=True)
    offsets: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    locate: Callable[[str, int | None], Place] | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Builder:
    """The maker of claims from their texts: the function, and the names of the kinds that it knows."""

    make: Callable[[Stated], Any]
    kinds: Callable[[], Collection[str]]


Kinds: TypeAlias = "type | tuple[type, ...]"
