"""Wrong layouts and index maps as people write them, each with the finding that it must produce."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from checkers import (
    Aligned,
    Bijective,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    InBounds,
    Injective,
    Partition,
    Surjective,
    Vectorizable,
)
from checkers.prover import decide
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dim, dims
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import ClaimError
from symlayout.expr import minimum
from tests.support.plain import QUICK, complaint

M, N, K, ld, nm, nn = dims("M N K ld nm nn")
g = dim("g", at_most=16)
over = AddressMap.over
ACC = ((4, 8, 4), (2, 2, 8))  # a wgmma accumulator, (thread, value)


def swizzled(layout: Layout, *bits: int, offset: Any = 0) -> ComposedLayout:
    return ComposedLayout(Swizzle(*bits), offset, layout)


# (what went wrong, claim, what the witness says)
FINDINGS = [
    ("rows overlap", Injective(Layout((M, N), (N - 1, 1)), given=[N >= 2]), "coordinates (1,0) and (0,1) both map to 1"),
    ("a leading dimension of the other matrix", Injective(Layout((M, N), (1, ld))), "fails for M = 2, N = 2, ld = 1"),
    ("row-major strides with column-major order", Bijective(Layout((M, N), (1, N)), M * N), "fails for M = 1, N = 2"),
    ("one row too many", InBounds(Layout((M + 1, N), (N, 1)), M * N), "fails for M = 1, N = 1: coordinate (1,0) maps to 1"),
    ("an overhanging tile", InBounds(Layout((64, ceil_div(M, 64)), (1, 64)), M), "fails for M = 1: coordinate (1,0)"),
    ("a tile count rounded down", Surjective(Layout((64, M // 64), (1, 64)), M, given=[M >= 64]), "fails for M = 65: no coordinate maps to 64"),
    ("a predicate off by one", InBounds(Layout((64, ceil_div(M, 64)), (1, 64)), M, when=lambda r, t: 64 * t + r <= M),
     "fails for M = 1: coordinate (1,0) maps to 1"),
    ("a predicate on the tile only", InBounds(Layout((64, ceil_div(M, 64)), (1, 64)), M, when=lambda r, t: 64 * t < M),
     "fails for M = 1: coordinate (1,0)"),
    ("a forgotten broadcast", Partition(Layout((32, 4), (0, 1)), 4), "coordinates (0,0) and (1,0) both map to 0"),
    ("an accumulator with two modes exchanged", Bijective(Layout(ACC, ((128, 1, 16), (512, 8, 64))), 4096), ""),
    ("an accumulator with a stride halved", Bijective(Layout(ACC, ((128, 1, 16), (64, 8, 256))), 4096), "both map to"),
    ("an accumulator without its pairs", Partition(Layout(((4, 8, 4), (2, 8)), ((128, 1, 16), (64, 512))), 4096), "no coordinate maps to 8"),
    ("an accumulator over half a tile", Bijective(Layout(ACC, ((128, 1, 16), (64, 8, 512))), 2048), "past the last valid 2047"),
    ("a transposed box", InBounds(Layout((M, N), (E(1), E(0))), (M, N)), "fails for M = 1, N = 2: coordinate (0,1) maps to (1,0)"),
    ("a swizzle past its buffer", Bijective(swizzled(Layout((12, 64), (64, 1)), 3, 3, 3), 12 * 64 - 8), ""),
    ("a swizzle that spills upwards", InBounds(swizzled(Layout((8, 8), (8, 1)), 3, 0, -6), 64), "past the last valid 63"),
    ("a swizzle of the wrong unit", ConflictFree(swizzled(Layout((8, 8), (64, 8)), 3, 4, 3), 2, 16), "2-way"),
    ("no swizzle", ConflictFree(Layout((8, 8), (64, 8)), 2, 16), "8-way: lanes 0, 1, 2, 3, 4, 5, 6, 7 on bank 0"),
    ("padding of one element for 16-byte rows", ConflictFree(Layout((8, 8), (65, 8)), 2, 16), "no multiple of its 16 bytes"),
    ("a tile that starts inside a swizzle atom", Equal(swizzled(Layout((8, 8), (8, 1)), 3, 0, 3, offset=8),
     swizzled(Layout((8, 8), (8, 1)), 3, 0, 3)), "index 0"),
    ("the offset outside the swizzle", Equal(over(lambda i: 8 + (i ^ i // 8 % 8), 64), over(lambda i: (i + 8) ^ (i + 8) // 8 % 8, 64)),
     "9 at"),
    ("a row length that is no multiple of 16 bytes", Aligned(Layout((M, K), (K, 8)), 16, 2), "fails for K = 1, M = 2"),
    ("a vector across rows", Vectorizable(Layout((K, M), (1, ld)), 4, given=[K.multiple_of(4), ld >= K]), "fails for"),
    ("a 32-bit offset", FitsIn(Layout((M, N), (N, 1)), bits=32, given=[M <= 65536, N <= 65536]), "past the last valid 2147483647"),
    ("32 bits of elements are 33 of bytes", FitsIn(Layout(M), bits=32, unit_bytes=2), "fails for M = 1073741825"),
    ("an unsigned difference", FitsIn(over(lambda i: i - 1, M), bits=32, signed=False), "coordinate 0 maps to -1, below 0"),
    ("another split of a linear index", Equal(over(lambda i: i % 8 + 8 * (i // 8 % N), M), over(lambda i: i, M)), "fails for M = 9, N = 1"),
    ("a raster without its modulus", Covers(over(lambda b: (b, b // nm), nm * nn), (nm, nn)), "past the last valid"),
    ("a raster with its divisors exchanged", Covers(over(lambda b: (b % nm, b // nn), nm * nn), (nm, nn)), "fails for"),
    ("a schedule that skips", Covers(over(lambda b, i: b + 4 * i, (4, nm // 4), when=lambda b, i: b + 4 * i < nm), nm), "no coordinate maps to"),
    ("a schedule that repeats", Covers(over(lambda b, i: b + 3 * i, (4, ceil_div(nm, 3)), when=lambda b, i: b + 3 * i < nm), nm), "both map to 3"),
    ("a group that is not clipped", InBounds(over(
        lambda b: (b // (g * nn) * g + b % g, b // g % nn), ceil_div(nm, g) * g * nn), (nm, nn)), "past the last valid"),
    ("a split of K that overruns", InBounds(over(lambda s, i: s * ceil_div(K, 4) + i, (4, ceil_div(K, 4))), K), "fails for K = 1: coordinate (1,0)"),
    ("a clipped split with an unclipped start", FitsIn(over(
        lambda s: minimum((s + 1) * ceil_div(K, 4), K) - s * ceil_div(K, 4), 4), bits=32, signed=False), "below 0"),
]  # fmt: skip


@pytest.mark.parametrize("claim, story", [pytest.param(c, s, id=name) for name, c, s in FINDINGS])
def test_a_wrong_layout_is_refuted_with_its_story(claim, story):
    v = decide(claim, QUICK)

    assert v.outcome is Outcome.REFUTED, v
    assert story in str(v.witness)
    assert isinstance(claim, Covers) or complaint(claim, v, random.Random(0)) == ""


# -- rasters as text, with one slip -------------------------------------------------------------------------

# the grouped raster: groups of g rows of tiles, the last group clipped
RASTER = "(b // (g*nn) * g + b % (g*nn) % min(nm - b // (g*nn) * g, g), b % (g*nn) // min(nm - b // (g*nn) * g, g))"
SIZES = [(m, n) for m in range(1, 9) for n in range(1, 8)]
SLIPS = [
    ("min(nm - b // (g*nn) * g, g)", "g"),
    ("min(nm - b // (g*nn) * g, g)", "min(nm - b // (g*nn), g)"),
    ("min(nm - b // (g*nn) * g, g)", "min(nm - b // (g*nn) * g - 1, g)"),
    ("min(nm - b // (g*nn) * g, g)", "min(nm - b // (g*nn) * g, g + 1)"),
    ("b // (g*nn) * g + ", "b // (g*nn) + "),
    ("b // (g*nn) * g + ", "b // (g*nm) * g + "),
    ("b // (g*nn) * g + ", ""),
    ("b % (g*nn) // ", "b // "),
    ("b % (g*nn) // min(nm - b // (g*nn) * g, g))", "b % (g*nn) // g)"),
    ("% (g*nn) %", "%"),
    ("% (g*nn) %", "% (g*nm) %"),
]


def python_covers(source: str, k: int) -> bool:
    """Whether a raster in groups of k is exact-once at all of SIZES, by Python."""
    f = eval(f"lambda b, nm, nn, g: {source}")
    for m, n in SIZES:
        try:
            found = sorted(f(b, m, n, k) for b in range(m * n))
        except ZeroDivisionError:
            return False
        if found != [(i, j) for i in range(m) for j in range(n)]:
            return False
    return True


def ours(source: str, k: int) -> Covers:
    env = {"min": minimum, "nm": nm, "nn": nn, "g": k}
    return Covers(over(eval(f"lambda b: {source}", env), nm * nn), (nm, nn))


def test_the_grouped_raster_is_right():
    for k in (1, 2, 3, 8):
        assert python_covers(RASTER, k)
        assert decide(ours(RASTER, k), QUICK).outcome in (Outcome.PROVED, Outcome.UNKNOWN)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("old, new", SLIPS)
def test_a_raster_with_a_slip_is_refuted_or_right(old, new, k):
    """None stays PROVED while Python finds a tile that is missed or visited twice."""
    source = RASTER.replace(old, new)
    assert source != RASTER
    outcome = decide(ours(source, k), QUICK).outcome

    if python_covers(source, k):
        assert outcome is not Outcome.REFUTED
    else:
        assert outcome is Outcome.REFUTED or ("- 1, g)" in new and outcome is Outcome.UNKNOWN)  # a divisor may be 0


# -- claims with one number changed -------------------------------------------------------------------------

TRUE = [
    Injective(Layout((M, N, 2), (1, M, M * N))),
    Injective(Layout(((4, ceil_div(M, 4)), N), ((1, 4), 4 * ceil_div(M, 4)))),
    Bijective(Layout((M, 4, N), (4, 1, 4 * M)), 4 * M * N),
    Bijective(Layout((M, N), (E(1), E(0))), (N, M)),
    Bijective(swizzled(Layout((M, 8), (8, 1)), 2, 0, 3), 8 * M),
    Surjective(Layout((4, M), (1, 3)), 3 * M + 1),
    InBounds(Layout((M, N), (1, dim("lda", at_least=M))), dim("lda", at_least=M) * N),
    InBounds(swizzled(Layout((M, 16), (16, 1)), 1, 2, 1), 16 * M),
    Partition(Layout((M, 32, 4), (4, 0, 1)), 4 * M, copies=32),
    Aligned(Layout((M, 8 * K), (16 * K, 8)), 16, 2),
    Vectorizable(Layout((8 * K, M), (1, 8 * K)), 8),
    FitsIn(Layout((dim("R", at_most=2**29), 4), (4, 1)), bits=32),
]


def variants(x: Any) -> list[Any]:
    """The layout with a stride or an extent changed by one, two strides exchanged, a mode dropped, bits changed."""
    if isinstance(x, ComposedLayout):
        sw = x.outer
        bits = [(sw.bits + 1, sw.base, sw.shift), (sw.bits - 1, sw.base, sw.shift), (sw.bits, sw.base + 1, sw.shift),
                (sw.bits, sw.base, -sw.shift), (sw.bits, sw.base, sw.shift + 1)]  # fmt: skip
        made = [Swizzle(*b) for b in bits if 0 <= b[0] <= abs(b[2])]
        return [ComposedLayout(x.outer, x.offset, y) for y in variants(x.inner)] + [
            ComposedLayout(s, 0, x.inner) for s in made
        ]
    modes = x.modes()
    out = []
    for k, (n, d) in enumerate(modes):
        changed = [(n + 1, d), *([(n - 1, d)] if n != 1 else [])]
        if not x.has_bases:
            changed += [(n, d + 1), (n, d - 1)]
        out += [[*modes[:k], c, *modes[k + 1 :]] for c in changed]
        out.append([*modes[:k], *modes[k + 1 :]])
        for j in range(k):
            swapped = list(modes)
            swapped[k], swapped[j] = (n, modes[j][1]), (modes[j][0], d)
            out.append(swapped)
    return [Layout(tuple(n for n, _ in m), tuple(d for _, d in m)) for m in out if m]


@pytest.mark.parametrize("claim", TRUE, ids=str)
def test_a_slip_is_refuted_or_harmless(claim):
    """Never PROVED while sampled sizes fail, never REFUTED with a witness that holds."""
    r = random.Random(3)
    assert decide(claim, QUICK).outcome is Outcome.PROVED
    found = []
    for x in variants(claim.layout):
        try:
            mutant = replace(claim, layout=x)
        except ClaimError:
            continue  # values of another width
        v = decide(mutant, QUICK)
        assert complaint(mutant, v, r, tries=6) == "", v
        found.append(v.outcome)

    assert Outcome.REFUTED in found
    assert found.count(Outcome.UNKNOWN) <= 1
