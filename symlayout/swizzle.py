"""Swizzles: xor a field of an offset with the field |shift| bits away."""

from __future__ import annotations

from typing import Any, cast

from .errors import LayoutError
from .expr import Expr, Int, coerce_or_none, floordiv, integer, mod, split, xor
from .members import members


class Swizzle:
    """``Sw<bits,base,shift>``: the *bits* bits at *base* are xored with those *shift* bits above (below if negative).

        shift > 0      ...yyy....zzz....      the low *base* bits never change
        result         ...yyy....aaa....      aaa = yyy xor zzz

    >>> [Swizzle(1, 0, 1)(x) for x in range(4)]
    [0, 1, 3, 2]

    A bijection of the integers, linear over GF(2), its own inverse; not linear over the integers.
    Raises LayoutError unless bits >= 0, base >= 0 and |shift| >= bits (CuTe, ``swizzle.hpp``).
    """

    __slots__ = ("base", "bits", "shift")
    bits: int
    base: int
    shift: int

    def __init__(self, bits: int, base: int, shift: int) -> None:
        bits, base, shift = (
            _number(value, f"{name} of a swizzle") for name, value in (("bits", bits), ("base", base), ("shift", shift))
        )
        if bits < 0 or base < 0 or abs(shift) < bits or max(bits, base, abs(shift)) > 64:
            raise LayoutError(f"expected 0 <= bits <= |shift| <= 64 and 0 <= base <= 64, got Sw<{bits},{base},{shift}>")
        put = object.__setattr__
        put(self, "bits", bits)
        put(self, "base", base)
        put(self, "shift", shift)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a Swizzle is a value; make a new one instead of setting {name}")

    @property
    def source(self) -> int:
        """The mask of the bits that are read (CuTe's yyy)."""
        return ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))

    @property
    def target(self) -> int:
        """The mask of the bits that may change (CuTe's zzz)."""
        return ((1 << self.bits) - 1) << (self.base - min(self.shift, 0))

    @property
    def period(self) -> int:
        """Adding a multiple of this to an offset commutes with the swizzle (T14)."""
        return 1 << (self.base + abs(self.shift) + self.bits) if self.bits else 1

    @property
    def block(self) -> int:
        """Every aligned block of this many offsets is mapped onto itself (T14)."""
        if not self.bits:
            return 1
        return 1 << (self.base + self.bits + (-self.shift if self.shift < 0 else 0))

    @property
    def inverse(self) -> Swizzle:
        return self  # the source bits do not change, and xor twice is the identity

    def __call__(self, offset: Any) -> Any:
        """The swizzled offset: an integer, an array of integers or an expression."""
        if type(offset).__module__.startswith("sympy"):
            offset = integer(offset)
        if isinstance(offset, Expr):
            return self._symbolic(offset)
        field = offset & self.source
        return offset ^ (field >> self.shift if self.shift >= 0 else field << -self.shift)

    def _symbolic(self, offset: Expr) -> Int:
        """Whole periods stay outside, since adding one commutes with the swizzle (T14)."""
        if not self.bits:
            return offset
        whole, rest = split(offset, self.period)
        if type(rest) is int:
            return whole * self.period + cast(int, self(rest))
        low = self.base + max(self.shift, 0)
        field = mod(floordiv(rest, 1 << low), 1 << self.bits)
        return whole * self.period + xor(rest, field * (1 << (low - self.shift)))

    def size(self) -> int:
        """The offsets of one period."""
        return self.period

    def cosize(self) -> int:
        return self.period

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Swizzle):
            return NotImplemented
        return (self.bits, self.base, self.shift) == (other.bits, other.base, other.shift)

    def __hash__(self) -> int:
        return hash((self.bits, self.base, self.shift))

    def __reduce__(self) -> Any:
        return Swizzle, (self.bits, self.base, self.shift)

    def __str__(self) -> str:
        return f"Sw<{self.bits},{self.base},{self.shift}>"

    def __repr__(self) -> str:
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"

    def _repr_svg_(self) -> str:
        return members.picture(self)


def _number(x: Any, what: str) -> int:
    known = x if type(x) is int else coerce_or_none(x)
    if type(known) is not int:
        raise LayoutError(f"expected an integer for {what}, got {x!r}")
    return known


def make_swizzle(source: int, target: int) -> Swizzle:
    """The swizzle with these masks of equal, contiguous width.

    >>> make_swizzle(0b1000, 0b0100)
    Swizzle(1, 2, 1)
    """
    source, target = _number(source, "a mask"), _number(target, "a mask")
    if not source and not target:
        return Swizzle(0, 0, 0)
    bits = source.bit_count()
    low_source, low_target = _low(source), _low(target)
    contiguous = source >> low_source == target >> low_target == (1 << bits) - 1
    if not contiguous or source & target:
        raise LayoutError(f"expected two disjoint contiguous masks of one width, got {source:#b} and {target:#b}")
    return Swizzle(bits, min(low_source, low_target), low_source - low_target)


def _low(mask: int) -> int:
    return (mask & -mask).bit_length() - 1 if mask else 0


def compose_swizzles(a: Swizzle, b: Swizzle) -> Swizzle:
    """One swizzle that does *b*, then *a*: equal shifts, masks xored; an error where that is none."""
    if not a.bits or not b.bits:
        return a if a.bits else b
    if a.shift != b.shift:
        raise LayoutError(f"expected swizzles of one shift, got {a} and {b}")
    return make_swizzle(a.source ^ b.source, a.target ^ b.target)


def upcast_swizzle(n: int, sw: Swizzle) -> Swizzle:
    """The swizzle in units *n* times larger (a power of two)."""
    base = sw.base - (n.bit_length() - 1)
    return Swizzle(sw.bits, base, sw.shift) if base >= 0 else Swizzle(max(sw.bits + base, 0), 0, sw.shift)


def downcast_swizzle(n: int, sw: Swizzle) -> Swizzle:
    """The swizzle in units *n* times smaller (a power of two)."""
    return Swizzle(sw.bits, sw.base + n.bit_length() - 1, sw.shift)
