"""Whether what is stored is what the kernel's results say, for the elements of one store at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from symlayout.dtype import DType
from symlayout.expr import Expr, Symbol, extent_of
from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from symlayout.kernel import Kernel
from symlayout.kernel.specification import (
    Applied,
    Dot,
    Element,
    Entry,
    Number,
    PackedDot,
    Result,
    Scalar,
    Total,
    Value,
    elements,
    entries,
)
from symlayout.ops import Op

from .accumulators import Narrow, expect_held, types_of
from .contents import Computed, Constant, Given, Loaded, Numbers, Origins, Sum, Unknown, Words, told
from .folds import Fold
from .match_folds import NotAll, expect_all
from .match_products import expect_products
from .rounding import exact, is_number
from .state import Open, State
from .target import Differs, Target
from .updates import combined, function_of, of_index, parts_of

COMMUTE = ("add", "mul", "fma", "eq", "ne", "and", "or", "xor")  # functions whose first two arguments may be exchanged


class Matcher:
    """Compares stores with the results of a kernel; *seen* counts the elements of each output."""

    def __init__(self, kernel: Kernel, result: Result) -> None:
        self.kernel, self.result = kernel, result
        self.entries: Mapping[Symbol, tuple[str, tuple[Any, ...]]] = {}  # of the walk
        self.seen = 0
        self.dtype = kernel.tensor(result.tensor).dtype
        _expect_inside(kernel, result)

    def stored(self, state: State, op: Op, tensor: str, at: tuple[Any, ...], deltas: Numbers, words: Words) -> None:
        """Raise Differs unless the places *words* are what the elements at + deltas of the output should hold."""
        if tensor != self.result.tensor:
            return
        deltas, words = deltas.reshape(-1, deltas.shape[-1]), words.reshape(-1)
        coords = self.result.coords
        free = frozenset(s for _, x in state.loops if isinstance(x, Expr) for s in x.symbols)
        for number in words.kinds:
            mine = words.ids == number
            target = Target(at, deltas[mine], state.known, coords, free)
            try:
                if op.reduction is not None:
                    self._updated(state.origins, number, words.deltas[mine], op, target)
                else:
                    self._same(state.origins, number, words.deltas[mine], self.result.value, target, self.dtype)
            except Differs as e:
                raise Differs(f"{op}: {e}", e.stale, e.narrow, e.repair) from None
        self.seen += words.ids.size

    def _same(
        self, origins: Origins, number: int, deltas: Numbers, value: Value, target: Target, dtype: DType | None
    ) -> None:
        """Raise Differs unless an origin is a value: rounded to a type, or as it is (*dtype* None)."""
        origin = origins[number]
        if isinstance(origin, Unknown):
            raise Differs(f"what it stores is not known: {origin.why}", origin.stale)
        if isinstance(origin, Computed) and origin.function == "convert":
            return self._converted(origins, origin, deltas, value, target, dtype)
        if dtype is not None and getattr(origin, "dtype", dtype) != dtype:
            raise Differs(f"it is rounded to {origin.dtype}, not to {dtype}")  # type: ignore[attr-defined]
        if isinstance(origin, Computed):
            return self._applied(origins, origin, deltas, value, target)
        if isinstance(origin, Given) and isinstance(value, Scalar) and origin.name == value.name:
            return None
        if isinstance(origin, Constant) and isinstance(value, Number) and is_number(origin, value.value):
            return None
        if isinstance(value, Element) and isinstance(origin, Loaded):
            return self._element(origin, deltas, value, target)
        if isinstance(value, Total) and isinstance(origin, Fold):
            self._held(value, origin.kept or {origin.dtype}, target)
            target.expect_bound(*(s for t in origin.terms for s, _ in t.loops))
            try:
                return expect_all(origins, origin, deltas[:, 0], value, target, self._entry, self._shape(value.element))
            except NotAll as e:
                raise Differs(str(e)) from None
        if isinstance(value, Dot) and isinstance(origin, Sum):
            return self._dot(origins, origin, deltas, value, target)
        raise Differs(f"expected {value}, got {told(origin)}")

    def _converted(
        self, origins: Origins, origin: Computed, deltas: Numbers, value: Value, target: Target, dtype: DType | None
    ) -> None:
        """A conversion is the last rounding, one that the result names, or rounds nothing."""
        (before,) = origin.args
        inner = origins[before]
        kind = getattr(inner, "dtype", origin.dtype)
        if dtype is not None and origin.dtype != dtype:
            raise Differs(f"it is rounded to {origin.dtype}, not to {dtype}")
        if isinstance(value, Applied) and value.function == "convert" and origin.dtype == self._type(value):
            return self._same(origins, before, deltas, value.args[0], target, None)
        if dtype is None and not exact(kind, origin.dtype):
            raise Differs(f"it is rounded to {origin.dtype} before it is used")
        if dtype is not None and isinstance(value, Element) and isinstance(inner, Computed):
            raise Differs(f"it is rounded to {kind}, then to {dtype}")
        return self._same(origins, before, deltas, value, target, None)

    def _applied(self, origins: Origins, origin: Computed, deltas: Numbers, value: Value, target: Target) -> None:
        if not isinstance(value, Applied) or (value.function, len(value.args)) != (origin.function, len(origin.args)):
            raise Differs(f"expected {value}, got {told(origin)}")
        if origin.dtype != self._type(value):
            hint = "" if value.dtype else f', the type of the output; dtype="{origin.dtype}" in the result says so'
            raise Differs(f"{value.function} is rounded to {origin.dtype}, not to {self._type(value)}{hint}")
        if origin.function in COMMUTE:
            try:
                return self._each(origins, origin, deltas, value, value.args, target)
            except Differs:
                swapped = (value.args[1], value.args[0], *value.args[2:])
                with contextlib.suppress(Differs):
                    return self._each(origins, origin, deltas, value, swapped, target)
                raise
        return self._each(origins, origin, deltas, value, value.args, target)

    def _each(
        self,
        origins: Origins,
        origin: Computed,
        deltas: Numbers,
        value: Applied,
        args: tuple[Value, ...],
        target: Target,
    ) -> None:
        """Each argument of a function is that of the result."""
        first = 0
        for number, x in zip(origin.args, args, strict=True):
            if origin.dtype.kind != "float" and _floats(origins, number) != _floats(origins, _plain(origins, number)):
                raise Differs(f"{value.function} of integers that are converted to floats")
            self._same(origins, number, deltas[:, first:], x, target, None)
            first += origins.width(number)

    def _type(self, value: Applied) -> DType:
        """The type that the result of a function is rounded to."""
        return DType.of(value.dtype) if value.dtype else self.dtype

    def _updated(self, origins: Origins, number: int, deltas: Numbers, op: Any, target: Target) -> None:
        """Check that elements combined with the output are terms of the fold of the result, whichever index."""
        fold, origin = combined(self.result), origins[number]
        value = self.result.value
        if fold is None or op.reduction.function != function_of(fold):
            raise Differs(f"expected {value}, got {op.atom}")
        if isinstance(value, Applied) and self._type(value) != self.dtype:
            raise Differs(f"it is rounded to {self.dtype}, not to {self._type(value)}")
        if function_of(fold) == "add" and self.dtype.kind != "float":
            raise Differs(f"sums of {self.dtype} may wrap")
        if op.reduction.dtype not in (None, self.dtype) and op.targets:
            raise Differs(f"it combines numbers of {op.reduction.dtype}, not of {self.dtype}")
        if op.targets:
            self._parts(origins, origin, deltas, fold, op, target)
            return
        self._held(fold, {self.dtype}, target)
        if isinstance(fold, Dot):
            raise Differs(f"expected {value}, got {told(origin)}")
        if not isinstance(origin, Loaded) or origin.tensor != fold.element.tensor or origin.dtype != self.dtype:
            raise Differs(f"expected {fold.element}, got {told(origin)}")
        free = of_index(fold)
        for d, x in enumerate(fold.element.at):
            if d != free and not isinstance(x, Entry):
                target.expect_equal(x, origin.at[d], deltas[:, d], f"coordinate {d} of {fold.element}")
            elif d != free:
                raise Differs(f"{x} in a fold")
        if fold.function == "add" and origin.outside == "zero":
            return  # what is outside adds nothing
        low, high = origin.at[free] + int(deltas[:, free].min()), origin.at[free] + int(deltas[:, free].max())
        facts = target.known.facts
        if facts.le(0, low) is not True or facts.le(high, fold.extent - 1) is not True:
            raise Differs(f"{fold.index} may be {low} .. {high}, expected 0 .. {fold.extent - 1}")

    def _parts(self, origins: Origins, origin: Any, deltas: Numbers, fold: Total | Dot, op: Op, target: Target) -> None:
        """Check that the folds which threads combine with an element are, part after part, the fold of the result."""
        parts = tuple((b, extent_of(b)) for b in parts_of(self.kernel, op))
        if isinstance(fold, Dot) and isinstance(origin, Sum):
            self._held(fold, {self.dtype}, target)
            return self._dot(origins, origin, deltas, fold, target, parts)
        if not isinstance(origin, Fold) or not isinstance(fold, Total):
            raise Differs(f"expected a part of {fold}, got {told(origin)}")
        self._held(fold, {*origin.kept, origin.dtype, self.dtype}, target)
        target.expect_bound(*(s for t in origin.terms for s, _ in t.loops))
        try:
            expect_all(origins, origin, deltas[:, 0], fold, target, self._entry, self._shape(fold.element), parts)
        except NotAll as e:
            raise Differs(str(e)) from None
        return None

    def _shape(self, element: Element) -> tuple[Any, ...]:
        return tuple(leaves(self.kernel.tensor(element.tensor).layout.shape))

    # -- elements -----------------------------------------------------------------------------------

    def _element(self, origin: Loaded, deltas: Numbers, value: Element, target: Target) -> None:
        if origin.tensor != value.tensor:
            raise Differs(f"expected {value}, got an element of {origin.tensor}")
        for d, x in enumerate(value.at):
            what = f"coordinate {d} of {value}"
            if isinstance(x, Entry):
                self._entry(origin, d, deltas[:, d], x, target, what)
            else:
                target.expect_equal(x, origin.at[d], deltas[:, d], what)

    def _entry(self, origin: Loaded, d: int, deltas: Numbers, x: Entry, target: Target, what: str) -> None:
        """Check that a coordinate is the entry of a tensor of indices, within the tensor by its contract."""
        picked: Any = origin.at[d]
        tensor, place = self.entries.get(picked, ("", ()))
        if tensor != x.tensor or deltas.any():
            raise Differs(f"{what} is not read from {x.tensor}")
        (low, high), n = picked.args[1:3], tuple(leaves(self.kernel.tensor(origin.tensor).layout.shape))[d]
        facts = target.known.facts
        if facts.le(0, low) is not True or facts.le(high, n - 1) is not True:
            raise Differs(f"{what} may be {low} .. {high}, of {n}")
        for i, at in zip(x.at, place, strict=True):
            target.expect_equal(i, at, np.zeros_like(deltas), f"the coordinate of {x}")

    # -- sums ---------------------------------------------------------------------------------------

    def _held(self, value: Dot | Total, kept: Iterable[DType], target: Target) -> None:
        """Raise Differs where a type on the way does not hold the sums."""
        try:
            expect_held(value, types_of(self.kernel, value), kept, target.known.facts)
        except Narrow as e:
            raise Differs(str(e), narrow=True, repair=e.repair) from None

    def _dot(
        self,
        origins: Origins,
        origin: Sum,
        deltas: Numbers,
        value: Dot,
        target: Target,
        parts: tuple[tuple[Symbol, Any], ...] = (),
    ) -> None:
        """Each product of a sum is one of the result's, and each of those is there once, in one of the parts."""
        if origin.words != (value.words if isinstance(value, PackedDot) else ""):
            raise Differs(f"expected {value}, got products of {origin.words or 'elements'}")
        if origin.carry is not None:
            raise Differs(f"expected {value}, got a sum that the next iteration continues")
        self._held(value, {origin.dtype}, target)
        expect_products(origins, origin, deltas, value, target, self._entry, self._shape, parts)


def _plain(origins: Origins, number: int) -> int:
    """The source of a conversion, also of repeated ones."""
    origin = origins[number]
    while isinstance(origin, Computed) and origin.function == "convert":
        (number,) = origin.args
        origin = origins[number]
    return number


def _floats(origins: Origins, number: int) -> bool:
    dtype = getattr(origins[number], "dtype", None)
    return dtype is None or dtype.kind == "float"


def _expect_inside(kernel: Kernel, result: Result) -> None:
    """Raise Open unless each element that a result names is there."""
    coords: Mapping[str, Any] = {s.name: s for s in result.coords}
    every: list[Element | Entry] = [*elements(result.value), *entries(result.value)]
    for e in every:
        shape = tuple(leaves(kernel.tensor(e.tensor).layout.shape))
        if len(shape) != len(e.at):
            raise Open(f"expected {len(shape)} coordinates of {e.tensor}, got {e}")
        for x, n in zip(e.at, shape, strict=True):
            if isinstance(x, Entry):
                continue  # its contract says so
            facts = Facts.about(x, n, *coords.values(), given=kernel.given)
            if facts.le(0, x) is not True or facts.le(x, n - 1) is not True:
                raise Open(f"{e} is an element of {e.tensor}: 0 <= {x} < {n}")
