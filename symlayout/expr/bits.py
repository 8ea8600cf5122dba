"""Bits of integers: ``& | ^ ~ << >>`` with C's meaning, on two's complement integers without end.

    >>> from symlayout import dims, index
    >>> M, t = dims("M")[0], index("t", 256)
    >>> t & 7, t & 0x30, M << 3, M >> 3, 8 * M | t & 7
    (t % 8, 16*((t//16) % 4), 8*M, M//8, (t % 8) + 8*M)
    >>> M & ~7, -M & 7
    (8*(M//8), (7*M) % 8)

``x >> k`` is ``x // 2^k``, rounded towards minus infinity as C compilers do for negative numbers, and ``x << k`` is
``x * 2^k``, which never overflows here. A mask of numbers is digits, ``x | y`` is ``x + y - (x & y)``, and bits that
do not meet are added. So only three remain as atoms: ``&`` and ``^`` of two unknowns, and ``1 << k`` of an unknown
count. A count must be at least 0, as a divisor must be at least 1: ``2^k`` counts as 0 where k is negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ExpressionError, ShiftError
from .arithmetic import defines
from .division import Quotient, floordiv, mod
from .expression import SHALLOW, Int, Operation, intern, is_deep, terms_of
from .written import evaluated

RUNS = 8  # of ones in a mask that is written as digits
LONGEST_SHIFT = 1 << 16  # an index never has more bits


class Xor(Operation):
    """Bitwise exclusive or of its arguments."""

    __slots__ = ()
    op = "xor"

    def divided(self, d: Int) -> Int | None:
        """Each bit moves by itself."""
        return _shifted_down(self, d, xor)


class And(Operation):
    """Bitwise and of its arguments."""

    __slots__ = ()
    op = "bit_and"

    def divided(self, d: Int) -> Int | None:
        """Each bit moves by itself."""
        return _shifted_down(self, d, bit_and)


class PowerOfTwo(Operation):
    """``1 << args[0]``; 0 where the count is negative, so that it is at least ``args[0] + 1`` anywhere."""

    __slots__ = ()
    op = "power_of_two"


def _parts(kind: type[Operation], *xs: Int) -> Iterable[Int]:
    return (b for a in xs for b in (a.args if isinstance(a, kind) else (a,)))


@defines
def xor(x: Int, y: Int) -> Int:
    """Bitwise exclusive or, two's complement."""
    parts: dict[Int, bool] = {}
    constant = 0
    for b in _parts(Xor, x, y):
        if type(b) is int:
            constant ^= b
        elif parts.pop(b, None) is None:
            parts[b] = True
    if constant < 0:  # x ^ ~c is ~(x ^ c)
        return -1 - _xor(sorted(parts, key=str), ~constant)
    return _xor(sorted(parts, key=str), constant)


def _xor(parts: list[Int], constant: int) -> Int:
    args = parts + ([constant] if constant else [])
    if len(args) < 2:
        return args[0] if args else 0
    if len(args) == 2 and _apart(*args):
        return args[0] + args[1]
    return intern(Xor, tuple(args))


def _apart(x: Int, y: Int) -> bool:
    """Whether the form shows that one of two integers has bits only below the lowest of the other."""
    return any(k is not None and k <= _zeros(a) for a, b in ((x, y), (y, x)) for k in (_bits(b),))


def _bits(x: Any) -> int | None:
    """A k for which the form shows that 0 <= x < 2^k: numbers, remainders, and what bits are made of."""
    if type(x) is int:
        return x.bit_length() if x >= 0 else None
    if is_deep(x):
        return None
    if isinstance(x, Xor | And):
        known = [_bits(a) for a in x.args]
        if isinstance(x, Xor):
            return None if None in known else max(k for k in known if k is not None)
        return min((k for k in known if k is not None), default=None)
    quotients = ((m[0], -c) for m, c in terms_of(x).items() if c < 0 and len(m) == 1 and isinstance(m[0], Quotient))
    return next(((e - 1).bit_length() for q, e in quotients if floordiv(x + e * q, e) == q), None)


def _zeros(x: Int) -> int:
    """The number of low bits of x that are 0 by its form."""
    g = math.gcd(*terms_of(x).values())
    return (g & -g).bit_length() - 1


@defines
def bit_and(x: Int, y: Int) -> Int:
    """Bitwise and, two's complement.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> bit_and(4 * M, 4 * N + 3), bit_and(M, 5), bit_and(M, -4)
    (4*(M & N), (M % 2) + 4*((M//4) % 2), 4*(M//4))
    """
    parts: dict[Int, bool] = {}
    mask = -1
    for b in _parts(And, x, y):
        if type(b) is int:
            mask &= b
        else:
            parts[b] = True
    if not parts or not mask:
        return mask
    return _masked(_and(list(parts)), mask)


def _and(parts: list[Int]) -> Int:
    """Low bits that are 0 in one argument are so in the result: what is above them is shifted down first."""
    if len(parts) == 2 and _apart(*parts):
        return 0
    low = max(map(_zeros, parts)) if len(parts) > 1 else 0
    if low:
        out = floordiv(parts[0], 1 << low)
        for p in parts[1:]:
            out = bit_and(out, floordiv(p, 1 << low))
        return out * (1 << low)
    return parts[0] if len(parts) == 1 else intern(And, tuple(sorted(parts, key=str)))


def _masked(x: Int, mask: int) -> Int:
    """x & mask as the digits of x at the runs of ones in the mask."""
    if type(x) is int:
        return x & mask
    if mask < 0:
        return x - _masked(x, ~mask)
    if (mask & ~(mask << 1)).bit_count() > RUNS:
        return intern(And, (*(x.args if isinstance(x, And) else (x,)), mask))
    out: Int = 0
    while mask:
        low = mask & -mask
        stop = mask + low & ~mask  # the bit after the first run of ones
        out = out + low * mod(floordiv(x, low), stop // low)
        mask &= ~(stop - 1)
    return out


@defines
def bit_or(x: Int, y: Int) -> Int:
    """Bitwise or: the sum less the bits that are in both."""
    return x + y - bit_and(x, y)


@defines
def power_of_two(count: Int) -> Int:
    """``1 << count``. Raises ExpressionError for a number below 0, or one beyond any use."""
    if type(count) is not int:
        return intern(PowerOfTwo, (count,))
    if not 0 <= count <= LONGEST_SHIFT:
        raise ExpressionError(f"expected to shift by 0 to {LONGEST_SHIFT} bits, got {_told(count)}")
    return shifted(count)


def shifted(count: int) -> int:
    """``1 << count``, and 0 for a negative count. Raises ShiftError for a count beyond any use."""
    if count > LONGEST_SHIFT:
        raise ShiftError(f"expected to shift by at most {LONGEST_SHIFT} bits, got {_told(count)}")
    return 1 << count if count >= 0 else 0


def _told(count: int) -> str:
    """A number for a message; Python writes none of more than 4300 digits."""
    return str(count) if count.bit_length() <= 64 else f"a number of {count.bit_length()} bits"


def _shifted_down(x: Operation, d: Int, combine: Callable[[Int, Int], Int]) -> Int | None:
    """x // d for a power of two and bits that are combined from those of the arguments; None for any other divisor."""
    if type(d) is not int or d & (d - 1) or x.depth >= SHALLOW:
        return None
    out, *others = (floordiv(a, d) for a in x.args)
    for a in others:
        out = combine(out, a)
    return out


@defines
def shift_left(x: Int, count: Int) -> Int:
    """``x << count``, without overflow."""
    return x * evaluated(power_of_two(count))


@defines
def shift_right(x: Int, count: Int) -> Int:
    """``x >> count``, rounded towards minus infinity."""
    return floordiv(x, power_of_two(count))
