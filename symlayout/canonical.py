"""The canonical serialisation of the values of the language: what digests, equality and keys of caches stand on.

    >>> from symlayout import Layout, dims
    >>> from symlayout.ops import Fill, Ref
    >>> print(serial(Fill(Ref("r"), 1.0000004, 2)))
    Fill(dst=Ref(tensor="r",offset=0),value=0x1.000006b5fca6bp+0,count=2)
    >>> M, = dims("M", multiple_of=8)
    >>> print(serial(Layout(M)))
    Layout(shape=Symbol("M",1,2147483647,8),stride=1,obligations=Obligations())
    >>> digest(Layout(M))[:16]
    'ef9c6ba45ca84f37'

Text is for people and may leave out what they know; this leaves out nothing. Every field of a frozen dataclass is in
it, one that is added tomorrow too, unless the field says ``compare=False``. Symbols stand with their ranges and
divisors, floats with all their bits; 1 and 1.0 and True are three values. A value of an unknown type is an error: its
text might equal that of another value.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from numbers import Integral, Real
from typing import Any
from weakref import WeakKeyDictionary

from .address_map import AddressMap
from .basis import ArithmeticTuple, ArithmeticTupleIterator, ScaledBasis
from .errors import SerialError
from .expr import Atom, Expr, Fact
from .layout import ComposedLayout, Layout
from .obligations import Obligation, Obligations
from .swizzle import Swizzle
from .tensor import Tensor

# Members of values that are not dataclasses.
PARTS: Mapping[type, tuple[str, ...]] = {
    AddressMap: ("coords", "extents", "offset", "valid", "divisors", "guards", "obligations"),
    ArithmeticTuple: ("parts",),
    ArithmeticTupleIterator: ("coord",),
    ComposedLayout: ("outer", "offset", "inner"),
    Fact: ("expr", "relation", "modulus"),
    Layout: ("shape", "stride", "obligations"),
    Obligation: ("kind", "facts"),  # its words say the same again
    ScaledBasis: ("value", "path"),
    Swizzle: ("bits", "base", "shift"),
    Tensor: ("iterator", "layout"),
}

LONGEST = 400  # characters of an atom; a longer one becomes its digest, since nested quotients share their insides


def digest(x: Any) -> str:
    """The SHA-256 of the canonical serialisation, in 64 hex digits. Raises SerialError as ``serial`` does."""
    return hashed(serial(x))


def serial(x: Any) -> str:
    """Text that differs for different values, and is the same for equal ones in every process.

    Raises SerialError for a value that is not a frozen value of the language, with the field that holds it.

    >>> serial((1, 1.0, True, -0.0)), serial("a b")
    ('(1,0x1.0000000000000p+0,true,-0x0.0p+0,)', '"a b"')
    >>> from symlayout.kernel import Parameter
    >>> serial(Parameter("alpha", "f32", [0, 1]))
    Traceback (most recent call last):
        ...
    symlayout.errors.SerialError: expected frozen values of the language in Parameter.within, got [0, 1] (list)
    """
    kind = type(x)
    if kind is int:
        return str(x)
    if kind is str:
        return json.dumps(x)
    if kind is tuple:
        return f"({''.join([f'{serial(a)},' for a in x])})"
    if isinstance(x, Expr):
        return _expression(x)
    if kind is Obligations:
        return f"Obligations({','.join(map(serial, x))})"
    names = _names(kind)  # type: ignore[arg-type]  # a type is hashable
    if names is not None:
        return f"{kind.__name__}({','.join([f'{name}={_part(x, name)}' for name in names])})"
    return _scalar(x)


def content(x: Any) -> str:
    """The serialisation of a value by its fields, also of one that others contain as a digest."""
    names = _parts_of(type(x)) or ()  # type: ignore[arg-type]
    return f"{type(x).__name__}({','.join([f'{name}={_part(x, name)}' for name in names])})"


def _part(x: Any, name: str) -> str:
    value = getattr(x, name)
    try:
        return serial(value)
    except SerialError as e:
        raise (e if e.place else SerialError(e.got, f"{type(x).__name__}.{name}")) from None


@functools.cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The parts of a type, in order; None where it has none or says itself what it is."""
    return None if hasattr(kind, "__serial__") else _parts_of(kind)


@functools.cache
def _parts_of(kind: type) -> tuple[str, ...] | None:
    frozen = getattr(getattr(kind, "__dataclass_params__", None), "frozen", False)
    return tuple(f.name for f in fields(kind) if f.compare) if frozen else PARTS.get(kind)


def _scalar(x: Any) -> str:
    if hasattr(x, "__serial__"):
        return str(x.__serial__())
    if x is None:
        return "none"
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, Enum):
        return f"{type(x).__name__}.{x.name}"
    if isinstance(x, Fraction):
        return f"{x.numerator}/{x.denominator}"
    if isinstance(x, Integral):
        return str(int(x))
    if isinstance(x, Real):
        return _float(float(x))
    raise SerialError(f"{x!r} ({type(x).__name__})")


def _float(x: float) -> str:
    """All bits of a float: the sign of zero and what a NaN carries too."""
    return f"nan:{struct.pack('>d', x).hex()}" if math.isnan(x) else x.hex()


# -- expressions ------------------------------------------------------------------------------------------

_known: WeakKeyDictionary[Atom, str] = WeakKeyDictionary()  # atoms are interned, so each is serialised once


def _expression(x: Expr) -> str:
    for a in _unknown(x):
        text = f"{type(a).__name__}({','.join(map(serial, a.args))})"
        _known[a] = text if len(text) <= LONGEST else f"#{hashed(text)}"
    return _known[x] if isinstance(x, Atom) else _polynomial(x)


def _polynomial(x: Expr) -> str:
    rows = [(sorted([_known[a] for a in m]), c) for m, c in x.terms.items()]
    return f"[{'+'.join(['*'.join([*atoms, str(c)]) for atoms, c in sorted(rows)])}]"


def _unknown(x: Expr) -> Iterator[Atom]:
    """The atoms of an expression that are not yet known, inner ones first; no recursion, since it may be deep."""
    stack = [x]
    while stack:
        top = stack[-1]
        parts = top.args if isinstance(top, Atom) else [a for m in top.terms for a in m]
        new = [a for p in parts if isinstance(p, Expr) for a in _atoms(p) if a not in _known]
        if new:
            stack += new
            continue
        stack.pop()
        if isinstance(top, Atom) and top not in _known:
            yield top


def _atoms(x: Expr) -> Iterator[Atom]:
    return iter((x,)) if isinstance(x, Atom) else (a for m in x.terms for a in m)


def hashed(text: str) -> str:
    """The SHA-256 of a text, in hex digits."""
    return hashlib.sha256(text.encode()).hexdigest()
