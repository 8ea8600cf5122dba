"""Layouts of other libraries as ours: ``of(obj)`` takes whatever says its shape and its strides.

    >>> import numpy as np
    >>> a = np.zeros((4, 6), dtype=np.int32)
    >>> print(of(a), of(a.T[::2]), of(a[:, ::-1]), of("(4,8):(8,1)"))
    (4,6):(6,1) (3,4):(2,6) (4,6):(6,-1) (4,8):(8,1)

Objects are known by their attributes, so that nothing is imported for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from .errors import LayoutError
from .expr import Symbol, coerce_or_none, dim
from .int_tuple import IntTuple, text
from .layout import ComposedLayout, Layout, is_layout
from .linear import LinearLayout, to_layout
from .swizzle import Swizzle
from .text.notation import parse, parse_int_tuple

ACCEPTED = (
    "a layout, a swizzle or a tensor of symlayout, CuTe DSL, pycute or tensor-layouts",
    "an array of NumPy, of torch or with __dlpack__",
    "a memoryview",
    "a linear layout of Triton",
    "or CuTe text",
)

# A composed layout's attributes, the function that is applied last in front. CuTe DSL calls that one the inner.
COMPOSED = ("outer", "offset", "inner")
COMPOSED_DSL = ("inner", "offset", "outer")
COMPOSED_PYCUTE = ("layoutB", "offset", "layoutA")

SWIZZLES = (("bits", "base", "shift"), ("num_bits", "num_base", "num_shift"))

# A value of a CuTe DSL trace that is known at run time only
RUN_TIME = re.compile(r"\?(\{(i(?P<bits>\d+))? ?(div=(?P<multiple>\d+))?\})?")

# Gluon's spelling of the inputs of a linear layout
GLUON = {
    "reg_bases": "register",
    "lane_bases": "lane",
    "warp_bases": "warp",
    "offset_bases": "offset",
    "block_bases": "block",
}


def of(obj: Any) -> Any:
    """The Layout, ComposedLayout or Swizzle that an object of another library denotes; text is parsed.

    Arrays give their strides in elements, from their first element on: negative and zero strides stay. The
    run-time sizes of a layout inside a CuTe DSL trace become symbols, s0, s1, ... in shapes and d0, d1, ...
    in strides, as ``parse`` names them. Raises LayoutError for anything else, with what is accepted.
    """
    return _Reader().of(obj)


class _Reader:
    """One reading: it counts the symbols of run-time values, so that each has a name of its own."""

    def __init__(self) -> None:
        self.symbols: dict[str, list[Symbol]] = {"s": [], "d": [], "o": []}

    def of(self, obj: Any) -> Any:
        if is_layout(obj) or isinstance(obj, Swizzle):
            return obj
        if isinstance(obj, str):
            return parse(obj)
        for names in SWIZZLES:
            if _has(obj, *names):
                return Swizzle(*(int(getattr(obj, name)) for name in names))
        for names in (COMPOSED_DSL if _is_dsl(obj) else COMPOSED, COMPOSED_PYCUTE):
            if _has(obj, *names):
                outer, offset, inner = (getattr(obj, name) for name in names)
                offset = self.traced(str(offset), "o", parse_int_tuple) if _is_dsl(obj) else _integers(offset)
                return ComposedLayout(self.of(outer), offset, self.of(inner))
        if _has(getattr(obj, "layout", None), "shape"):  # of a tensor; torch's attribute of that name has none
            return self.of(obj.layout)
        if isinstance(obj, LinearLayout) or _has(obj, "bases") or any(_has(obj, name) for name in GLUON):
            return _linear(obj)
        if _has(obj, "shape", "stride"):
            if _is_dsl(obj):
                return self.traced(str(obj), "sd", parse)
            return Layout(_integers(obj.shape), _integers(obj.stride() if callable(obj.stride) else obj.stride))
        if _has(obj, "shape", "strides", "itemsize"):
            return _in_elements(obj)
        if _has(obj, "__dlpack__"):
            return self.of(_from_dlpack(obj))
        raise LayoutError(f"expected {', '.join(ACCEPTED)}; got {obj!r} ({type(obj).__name__})")

    def traced(self, source: str, kinds: str, read: Callable[[str, list[Symbol]], Any]) -> Any:
        """The text of CuTe DSL, with a symbol for each ``?{i64 div=8}``; one kind for each part between colons."""
        parts = [
            RUN_TIME.sub(partial(self._named, kind), part) for kind, part in zip(kinds, source.split(":"), strict=True)
        ]
        return read(":".join(parts), [s for found in self.symbols.values() for s in found])

    def _named(self, kind: str, found: re.Match[str]) -> str:
        bits, multiple = found["bits"] or 32, found["multiple"] or 1
        name = f"{kind}{len(self.symbols[kind])}"
        most = 2 ** (int(bits) - 1) - 1
        self.symbols[kind].append(dim(name, at_least=int(kind == "s"), at_most=most, multiple_of=int(multiple)))
        return name


def _integers(x: Any) -> IntTuple:
    if isinstance(x, tuple | list):
        return tuple(map(_integers, x))
    found = coerce_or_none(x)
    if found is None:
        raise LayoutError(f"expected integers in a shape or stride, got {x!r} ({type(x).__name__})")
    return found


def _has(obj: Any, *names: str) -> bool:
    return all(hasattr(obj, name) for name in names)


def _is_dsl(obj: Any) -> bool:
    return type(obj).__module__.partition(".")[0] == "cutlass"


# -- arrays ---------------------------------------------------------------------------------------------


def _in_elements(array: Any) -> Layout:
    """The layout of an array whose strides are in bytes; the stride of an extent of 1 does not matter."""
    size, stride = int(array.itemsize), []
    for n, d in zip(array.shape, array.strides, strict=True):
        whole = size > 0 and d % size == 0
        if not whole and n > 1:
            raise LayoutError(
                f"expected strides that are multiples of the element's {size} bytes, got {text(tuple(array.strides))}"
            )
        stride.append(d // size if whole else 0)
    return Layout(tuple(array.shape), tuple(stride))


def _from_dlpack(obj: Any) -> Any:
    """NumPy's view of an array that another library exports."""
    try:
        return np.from_dlpack(obj)
    except Exception as e:  # each library raises its own
        raise LayoutError(
            f"expected an array that NumPy reads through DLPack, got {type(obj).__name__}: {e}; "
            "give Layout(shape, strides in elements)"
        ) from e


# -- linear layouts -------------------------------------------------------------------------------------


def _linear(obj: Any) -> Any:
    found = to_layout(obj if isinstance(obj, LinearLayout) else LinearLayout.from_triton(*_bases(obj)))
    if found is None:
        raise LayoutError(
            f"expected a linear layout that is a CuTe layout, swizzled or not, got {obj}; "
            "symlayout.linear.LinearLayout.from_triton keeps it as it is"
        )
    return found


def _bases(obj: Any) -> tuple[Any, ...]:
    if _has(obj, "bases"):
        return (obj,) if _has(obj, "out_dims") else (obj.bases, _dims(dict(obj.bases).values()))
    parts = {word: getattr(obj, name) for name, word in GLUON.items() if _has(obj, name)}
    return parts, _dims(parts.values())


def _dims(parts: Iterable[Any]) -> list[str]:
    """Names for the entries of the images; their sizes are the least that hold them."""
    rank = max((len(c) for part in parts for c in part), default=0)
    return [f"dim{i}" for i in range(rank)]
