"""Types of the fields of claims: they determine how text is read and which fields are layouts.

>>> from checkers.claims import InBounds
>>> {name: reads.name for name, reads in readings(InBounds).items()}
{'layout': 'LAYOUT', 'extent': 'VALUE', 'when': 'FUNCTION', 'low': 'VALUE'}

A class of claims annotates its fields with ``Subject``, ``Value``, ``Function``, ``int``, ``bool`` or ``str``; no
other table has to be edited.
"""

from __future__ import annotations

import enum
import typing
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any, TypeAlias

from symlayout.address_map import AddressMap
from symlayout.expr import Expr, Fact
from symlayout.int_tuple import IntTuple
from symlayout.layout import ComposedLayout, Layout

SHARED = ("given", "expect")  # what every claim has, and none is about


class Reads(enum.Enum):
    """The form in which text gives the value of a field."""

    LAYOUT = enum.auto()  # with ``over``, an index expression of the coordinates that it names
    TENSOR = enum.auto()  # a layout whatever ``over`` says
    INDEXED = enum.auto()  # integers, with ``over`` in the coordinates that it names
    NUMBER = enum.auto()
    TRUTH = enum.auto()
    WORD = enum.auto()
    VALUE = enum.auto()  # an integer, an expression, or a tuple of them
    FACT = enum.auto()
    FUNCTION = enum.auto()  # of coordinates, with values or facts

    @property
    def placeholder(self) -> str:
        """The text of a missing value in a message."""
        return {"TENSOR": "LAYOUT", "INDEXED": "VALUE", "TRUTH": "true"}.get(self.name, self.name)


Subject: TypeAlias = Annotated[Layout | ComposedLayout | AddressMap, Reads.LAYOUT]
Map: TypeAlias = Annotated[AddressMap, Reads.LAYOUT]
Tensor: TypeAlias = Annotated[Layout, Reads.TENSOR]
Indexed: TypeAlias = Annotated[IntTuple | AddressMap, Reads.INDEXED]
Value: TypeAlias = Annotated[IntTuple, Reads.VALUE]
Size: TypeAlias = Annotated[int | Expr, Reads.VALUE]
Default: TypeAlias = Annotated[int | Expr | None, Reads.VALUE]  # None where the claim itself knows which
Statement: TypeAlias = Annotated[Fact, Reads.FACT]
Function: TypeAlias = Annotated[Callable[..., Any] | None, Reads.FUNCTION]

PLAIN = {bool: Reads.TRUTH, int: Reads.NUMBER, str: Reads.WORD}


def readings(of: Callable[..., Any]) -> dict[str, Reads]:
    """The text form of each field of a class of claims, or of each parameter of a function that makes one, in order.

    What text cannot give, such as a kernel, has no reading and is left out.
    """
    hints = typing.get_type_hints(of, include_extras=True)
    own = [f.name for f in fields(of) if f.init and f.name not in SHARED] if isinstance(of, type) else list(hints)
    found = {name: _reading(hints[name]) for name in own if name != "return"}
    return {name: reads for name, reads in found.items() if reads is not None}


def subjects_of(made_by: Callable[..., Any]) -> tuple[str, ...]:
    """The fields of a class of claims that are layouts and maps."""
    return tuple(name for name, reads in readings(made_by).items() if reads is Reads.LAYOUT)


def _reading(hint: Any) -> Reads | None:
    """The text form of a value of this type."""
    marks = [m for part in (hint, *typing.get_args(hint)) for m in getattr(part, "__metadata__", ())]
    return next((m for m in marks if isinstance(m, Reads)), PLAIN.get(hint))
