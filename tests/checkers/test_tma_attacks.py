"""Attacks on the claims about tensor maps and tensor copies: what the rules and the copies themselves say decides."""

from __future__ import annotations

import random

import numpy as np
import pytest

from checkers import SameBytes, TensorMapValid, prove
from symlayout import ClaimError, ComposedLayout, Layout, Swizzle, dims, eq
from symlayout.report import Outcome
from symlayout.semantics import tma_load
from symlayout.tma import TensorMap, TmaType
from symlayout.tma_copy import make_tma_copy
from symlayout.values import rows
from tests.tma_cases import drawn

A, B = dims("A B")
M, N = dims("M N")
U8 = TensorMap("u8", 0, (64, 8), (64,), (32, 8))


# -- tensor maps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [[], [B >= 16], [eq(A, B)], [B >= 16, eq(A, B)], [A >= B + 99]])
def test_a_map_of_numbers_is_refused_under_facts_about_other_sizes(given):
    """The number 404 breaks the rule at every size; where no small size was found a solver was asked nothing."""
    m = TensorMap("tf32", 0, (100, 100), (404,), (32, 257))
    report = prove(TensorMapValid(m), given=given)

    assert [(v.claim.rule.id, v.outcome) for v in report.verdicts] == [
        ("stride_multiple_16", Outcome.REFUTED),
        ("box_range", Outcome.REFUTED),
    ]


# -- where elements land ----------------------------------------------------------------------------------


def drawn_consumer(rng, m):
    """A layout of the box that is often right: of the landing, dense, split, swizzled alike or otherwise."""
    unit, steps, strides = m.unit_bytes, m.landing.shape, m.landing.stride
    inner = Layout(steps, tuple(d // unit for d in strides))
    choice = rng.randrange(6)
    if choice == 0:
        inner = Layout(steps)
    elif choice == 1 and steps[0] % 2 == 0:
        inner = Layout(((2, steps[0] // 2), *steps[1:]), ((1, 2), *inner.stride[1:]))
    own = m.swizzle.swizzle
    swizzle = Swizzle(own.bits, max(0, own.base - unit.bit_length() + 1), own.shift)
    if rng.random() < 0.2:
        swizzle = Swizzle(swizzle.bits, swizzle.base, -swizzle.shift)
    if rng.random() < 0.2:
        swizzle = Swizzle(rng.randint(1, 3), rng.randint(0, 4), 3)
    offset = rng.choice([0, 0, 0, 8, -8, 512])
    return inner if rng.random() < 0.2 else ComposedLayout(swizzle, offset, inner)


def read_back(m, consumer, base, absolute):
    """Whether the consumer finds the bytes of each element in what a load left, with the tile at *base*."""
    unit, (inner, *outer) = m.unit_bytes, m.landing.shape
    address = np.arange(1 << 14)
    low, high = np.zeros(1 << 15, np.uint8), np.zeros(1 << 15, np.uint8)
    tma_load(m, (0,) * m.rank, (address & 0xFF).astype(np.uint8), low, base)
    tma_load(m, (0,) * m.rank, (address >> 8 | 0x80).astype(np.uint8), high, base)
    landed = low.astype(int) + ((high.astype(int) & 0x7F) << 8)
    landed[high == 0] = -1
    at = np.zeros(1, int)
    for n, every, stride in zip(outer, m.element_stride[1:], m.global_stride_bytes, strict=True):
        at = (at[None, :] + (np.arange(n) * every * stride)[:, None]).reshape(-1)
    source = (at[:, None] + np.arange(inner) * unit).reshape(-1)
    for i, want in enumerate(source):
        if absolute and isinstance(consumer, ComposedLayout):
            s, shift = consumer.outer, unit.bit_length() - 1
            found = Swizzle(s.bits, s.base + shift, s.shift)(base + (consumer.inner(i) + consumer.offset) * unit)
        else:
            found = base + consumer(i) * unit
        if not 0 <= found < len(landed) - unit or list(landed[found : found + unit]) != list(range(want, want + unit)):
            return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_a_consumer_reads_what_a_load_left_at_every_base(seed):
    """By loads of bytes that tell their addresses, at the bases of 4 KiB which the alignment allows."""
    rng = random.Random(seed)
    dtype, unit = rng.choice([("u8", 1), ("f16", 2), ("f32", 4), ("f64", 8)])
    swizzle = rng.choice([0, 32, 64, 128])
    inner = 16 // unit * rng.randint(1, (swizzle or 64) // 16)
    box = (inner, rng.choice([1, 2, 3, 8]))
    m = TensorMap(dtype, 0, (inner, 16), (inner * unit,), box, (1, rng.choice([1, 1, 2])), swizzle=swizzle)
    consumer, absolute = drawn_consumer(rng, m), rng.random() < 0.4
    multiple = rng.choice([0, 128, 256, 512, 1024, 384])
    claim = SameBytes(m, consumer, multiple, absolute)
    step = claim.base_multiple_of
    bases = range(-(-8192 // step) * step, 8192 + 4096, step)

    assert bool(prove(claim)) == all(read_back(m, consumer, base, absolute) for base in bases)


PADDED = ["(64,8):(1,80)", "(64,8):(1,128)", "(64,(4,2)):(1,(64,512))", "((16,4),8):((1,1024),16)"]


@pytest.mark.parametrize("shared", PADDED)
def test_boxes_land_where_the_shared_layout_puts_them(shared):
    """Instructions of one tile need not follow one another without gaps."""
    layout = Layout.parse(shared)
    copy = make_tma_copy(Layout((640, 80), (1, 640)), layout, dtype="u8")

    assert prove(SameBytes(copy, layout))
    assert not prove(SameBytes(copy, Layout((64, 8))))


@pytest.mark.parametrize("seed", range(40))
def test_every_copy_lands_in_its_own_layout(seed):
    try:
        copy = drawn(seed).copy()
    except ValueError:
        return
    n, values, shared = copy.elements_per_instruction, rows(copy.tv_layout[1])[:, 0], rows(copy.smem_layout)[:, 0]
    landed = np.empty(len(values), int)
    for first in range(0, len(values), n):
        landed[values[first : first + n]] = shared[values[first]] + np.arange(n)

    assert (rows(SameBytes(copy, copy.smem_layout).landing)[:, 0] == landed * copy.dtype.bytes).all()
    assert prove(SameBytes(copy, copy.smem_layout))


@pytest.mark.parametrize(
    "box, consumer, fits",
    [
        ((32, 8), Layout((8, 32), (1, 8)), False),  # the same bytes for the same i, other elements for (r, c)
        ((32, 8), Layout((16, 16)), False),
        ((32, 8), Layout(256), True),
        ((32, 8), Layout((4, 8, 8)), True),
        ((32, 8), Layout(((4, 8), (2, 4))), True),
        ((32, 2, 4), Layout((32, 8)), True),
        ((32, 1, 8), Layout((1, 32, 8)), True),
    ],
)
def test_the_modes_of_the_consumer_are_those_of_the_box(box, consumer, fits):
    m = TensorMap.over(Layout(box), "u8", box)
    if fits:
        assert prove(SameBytes(m, consumer))
        return
    with pytest.raises(ClaimError, match="expected a consumer with the modes of box"):
        SameBytes(m, consumer)


@pytest.mark.parametrize(
    "consumer, holds",
    [
        (Layout((2, 2), (2**61 + 1, 2)), False),  # times 8 bytes, modulo 2^64, it would be where it landed
        (ComposedLayout(Swizzle(3, 4, 3), 2**61, Layout((2, 2))), False),
        (ComposedLayout(Swizzle(3, 4, 3), 2**70, Layout((2, 2))), False),
        (ComposedLayout(Swizzle(3, 55, 3), 0, Layout((2, 2))), True),
    ],
)
def test_numbers_past_64_bits_do_not_wrap(consumer, holds):
    m = TensorMap("f64", 0, (2, 8), (16,), (2, 2))

    assert bool(prove(SameBytes(m, consumer))) == holds


@pytest.mark.parametrize("base", [19, 40, 55])
def test_a_period_of_many_bases_is_left_open(base):
    wide = ComposedLayout(Swizzle(3, base, 3), 0, Layout((32, 8)))
    [v] = prove(SameBytes(U8, wide, absolute=True)).verdicts

    assert v.outcome is Outcome.UNKNOWN
    assert "points are more than" in v.reason


def test_packed_values_have_no_byte_of_their_own():
    with pytest.raises(ClaimError, match="of elements of whole bytes"):
        SameBytes(TensorMap(TmaType.PACKED_16U4_ALIGN8B, 0, (64, 8), (64,), (32, 8)), Layout((32, 8)))
    with pytest.raises(ClaimError, match="expected a map of rank 1 or more"):
        SameBytes(TensorMap("u8", 0, (), (), ()), Layout(1))
