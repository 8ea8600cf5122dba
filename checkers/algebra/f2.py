"""Injectivity of numbers over GF(2): strides that are powers of two, and a swizzle after them (T13 to T15).

>>> f2_injective([(8, 1), (8, 8)], (3, 0, 3))["claim"]["kind"]
'f2'
>>> f2_injective([(8, 1), (8, 4)], (3, 0, 3)) is None
True
"""

from __future__ import annotations

from .certificates import Certificate, Modes


def f2_injective(modes: Modes, swizzle: tuple[int, int, int]) -> Certificate | None:
    """Injective by a left inverse over GF(2), for numbers (T13 to T15)."""
    columns: list[int] = []
    for n, s in modes:
        if type(n) is not int or type(s) is not int or n < 1 or n & (n - 1) or s < 0:
            return None
        columns += [s << t for t in range(n.bit_length() - 1)]
    seen = 0
    for c in columns:
        if c & seen:
            return None
        seen |= c
    bits, base, shift = swizzle
    source = ((1 << bits) - 1) << (base + max(shift, 0))
    moved = [c ^ ((c & source) >> shift if shift >= 0 else (c & source) << -shift) for c in columns]
    rows = _left_inverse(moved)
    if rows is None:
        return None
    claim = {"kind": "f2", "modes": [list(m) for m in modes], "swizzle": list(swizzle)}
    return {"claim": claim, "proof": {"left_inverse": rows}}


def _left_inverse(columns: list[int]) -> list[int] | None:
    """Row masks T with T A = I, by Gauss-Jordan elimination on (column, unit vector) pairs; None if rank falls."""
    basis: list[tuple[int, int]] = []  # (reduced column, combination of inputs), pivots in ascending position
    for j, c in enumerate(columns):
        combination = 1 << j
        for b, m in basis:
            if c & (b & -b):
                c, combination = c ^ b, combination ^ m
        if not c:
            return None
        pivot = c & -c
        basis = [(b ^ c, m ^ combination) if b & pivot else (b, m) for b, m in basis]
        basis.append((c, combination))
    # Now pivots are unit: reading the pivot bits of A x gives the combinations back.
    rows = [0] * len(columns)
    for b, m in basis:
        pivot = b & -b
        for j in range(len(columns)):
            if m >> j & 1:
                rows[j] ^= pivot
    return rows
