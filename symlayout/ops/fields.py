"""What the fields of operations and of their operands may hold, told by their annotations.

>>> from symlayout.ops import Barrier, Slot
>>> Barrier("full")
Traceback (most recent call last):
...
symlayout.errors.LayoutError: expected an integer as number of Barrier, got 'full'
>>> Slot("full", 1.5)
Traceback (most recent call last):
...
symlayout.errors.LayoutError: expected an integer or an expression as slot of Slot, got 1.5
"""

from __future__ import annotations

import builtins
import inspect
import sys
from dataclasses import dataclass, fields
from functools import cache
from numbers import Real
from typing import Any, NamedTuple

from ..errors import LayoutError
from ..expr import Expr

WORDS = {"str": "a text", "int": "an integer", "bool": "True or False", "float": "a number", "None": "None"}
WORDS |= {"Int": "an integer or an expression", "Operand": "a Ref or a Box"}
KINDS = {"Int": (int, Expr), "float": (Real,), "None": (type(None),)}  # where a word is no class, or is more than one


class Field(NamedTuple):
    """A field, the classes that it takes, whether it is a tuple of them, and the same in words."""

    name: str
    kinds: tuple[type, ...]
    many: bool
    words: str

    def takes(self, x: object) -> bool:
        if self.many:
            return type(x) is tuple and all(map(self._one, x))
        return self._one(x)

    def _one(self, x: object) -> bool:
        return isinstance(x, self.kinds) and (type(x) is not bool or bool in self.kinds)


@dataclass(frozen=True)
class Checked:
    """A frozen value whose fields are of the classes that their annotations say.

    Raises LayoutError for a field of another class, when the value is made.
    """

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for field in fields_of(kind):
            x = getattr(self, field.name)
            if not field.takes(x):
                got = repr(x)
                got = got if len(got) <= 200 else f"{got[:200]}.."
                raise LayoutError(f"expected {field.words} as {field.name} of {kind.__name__}, got {got}")


@cache
def fields_of(of: type[Any]) -> tuple[Field, ...]:
    """The fields of a class; an annotation is read in the module of the class that has it."""
    owners = {name: c for c in reversed(of.__mro__) for name in inspect.get_annotations(c)}
    return tuple(_field(f.name, str(f.type), vars(sys.modules[owners[f.name].__module__])) for f in fields(of))


def _field(name: str, written: str, names: dict[str, Any]) -> Field:
    many = written.startswith("tuple[")
    words = written.removeprefix("tuple[").removesuffix(", ...]").split(" | ")
    kinds = tuple(kind for word in words for kind in _kinds(word, names))
    told = " or ".join(WORDS.get(word, f"{'an' if word[0] in 'AEIO' else 'a'} {word}") for word in words)
    return Field(name, kinds, many, f"a tuple, each {told}," if many else told)


def _kinds(word: str, names: dict[str, Any]) -> tuple[type, ...]:
    """The classes that a word of an annotation stands for."""
    if word in KINDS:
        return KINDS[word]
    found = names[word] if word in names else getattr(builtins, word)
    if isinstance(found, str):  # an alias
        return tuple(kind for part in found.split(" | ") for kind in _kinds(part, names))
    return (found,)
