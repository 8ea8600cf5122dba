"""Reductions in memory: the arithmetic of each operation and type, where it reaches, and in which order."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from symlayout import LayoutError
from symlayout.errors import TmaFault
from symlayout.rules.tma_copy import REDUCED
from symlayout.semantics import bulk_copy, phase_completes, reduced, tma_multicast, tma_reduce, tma_store
from symlayout.tma import Im2col, TensorMap, TmaType

SIGNED = (TmaType.INT32, TmaType.INT64)
# exponent bits, mantissa bits
FORMATS = {
    **{TmaType.FLOAT16: (5, 10), TmaType.BFLOAT16: (8, 7), TmaType.FLOAT64: (11, 52)},
    **dict.fromkeys((TmaType.FLOAT32, TmaType.FLOAT32_FTZ, TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ), (8, 23)),
}
POISON = 0xEE


def one(op: str, dtype: TmaType | str, source: int, target: int) -> int:
    """The bits of one element after the reduction."""
    kind = TensorMap(dtype, 0, (1,), (), (1,)).dtype
    a, b = (np.frombuffer(x.to_bytes(kind.bits // 8, "little"), np.uint8) for x in (source, target))
    return int.from_bytes(reduced(op, kind, a, b).tobytes(), "little")


# -- a slow reference ----------------------------------------------------------------------------------------


def value(bits: int, exponent: int, mantissa: int) -> Fraction | float:
    sign, field, low = (
        bits >> (exponent + mantissa),
        bits >> mantissa & ((1 << exponent) - 1),
        bits & ((1 << mantissa) - 1),
    )
    if field == (1 << exponent) - 1:
        return math.nan if low else -math.inf if sign else math.inf
    bias = (1 << (exponent - 1)) - 1
    magnitude = Fraction(low + ((1 << mantissa) if field else 0)) * Fraction(2) ** (max(field, 1) - bias - mantissa)
    return -magnitude if sign else magnitude


def rounded(x: Fraction, exponent: int, mantissa: int) -> int:
    """The bits of the nearest number, ties to even: the place among all positive numbers in ascending order."""
    sign, bias, x = x < 0, (1 << (exponent - 1)) - 1, abs(x)
    if x:
        power = max(math.floor(math.log2(x)), 1 - bias) if x >= Fraction(2) ** (1 - bias) else 1 - bias
        while power > 1 - bias and x < Fraction(2) ** power:
            power -= 1
        steps = round(x / Fraction(2) ** (power - mantissa))
        place = min(((power + bias - 1) << mantissa) + steps, ((1 << exponent) - 1) << mantissa)
    else:
        place = 0
    return sign << (exponent + mantissa) | place


def slow_sum(dtype: TmaType, a: int, b: int) -> int:
    e, m = FORMATS[dtype]
    top, flush = 1 << (e + m), dtype in (TmaType.FLOAT32_FTZ, TmaType.TFLOAT32_FTZ)

    def flushed(bits: int) -> int:
        return bits if not flush or bits >> m & ((1 << e) - 1) else bits & top

    a, b = flushed(a), flushed(b)
    x, y = value(a, e, m), value(b, e, m)
    if math.isnan(x) or math.isnan(y) or (math.isinf(x) and math.isinf(y) and x != y):
        double = a if math.isnan(x) else b if math.isnan(y) else 0xFFF8 << 48
        return double if dtype is TmaType.FLOAT64 else top - 1
    if math.isinf(x) or math.isinf(y):
        return a if math.isinf(x) else b
    if x + y == 0:
        return a & b & top
    return flushed(rounded(x + y, e, m))


def slow(op: str, dtype: TmaType, a: int, b: int) -> int:
    """One element as the tables and the rows of the H200 have it."""
    if op == "add" and dtype in FORMATS:
        return slow_sum(dtype, a, b)
    if dtype in FORMATS:
        e, m = FORMATS[dtype]
        numbers = [x for x in (a, b) if not math.isnan(value(x, e, m))]
        choose = min if op == "min" else max
        return choose(numbers, key=lambda x: (value(x, e, m), -(x >> (e + m)))) if numbers else (1 << (e + m)) - 1
    bits = dtype.bits
    x, y = (n - (1 << bits) * (n >> (bits - 1)) if dtype in SIGNED else n for n in (a, b))
    found = {
        **{"add": x + y, "min": min(x, y), "max": max(x, y), "and": x & y, "or": x | y, "xor": x ^ y},
        **{"inc": 0 if y >= x else y + 1, "dec": x if y == 0 or y > x else y - 1},
    }
    return found[op] % (1 << bits)


def numbers(rng: random.Random, dtype: TmaType, count: int) -> list[int]:
    bits = dtype.bits
    edges = [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1]
    if dtype in FORMATS:
        e, m = FORMATS[dtype]
        one_, inf = ((1 << (e - 1)) - 1) << m, ((1 << e) - 1) << m
        some = [one_, one_ + 1, inf, inf - 1, inf + 1, (1 << m) - 1, 1 << m, (1 << m) + 1]
        edges += some + [x | 1 << (bits - 1) for x in some]
        edges += [rng.getrandbits(m) for _ in range(4)] + [
            one_ + (rng.randint(-m, m) << m) + rng.getrandbits(m) for _ in range(9)
        ]
    return [rng.choice(edges) if rng.random() < 0.8 else rng.getrandbits(bits) for _ in range(count)]


PAIRS = [(op, TmaType(d)) for op, types in REDUCED.items() for d in types]


@pytest.mark.parametrize("op, dtype", PAIRS, ids=[f"{op}-{d}" for op, d in PAIRS])
def test_arithmetic_is_that_of_the_slow_reference(op, dtype):
    rng = random.Random(f"{op} {dtype}")
    a, b = numbers(rng, dtype, 400), numbers(rng, dtype, 400)
    words = f"<u{dtype.bits // 8}"
    got = reduced(op, dtype, np.array(a, words).view(np.uint8), np.array(b, words).view(np.uint8)).view(words).tolist()

    wrong = [(hex(x), hex(y), hex(z)) for x, y, z in zip(a, b, got, strict=True) if slow(op, dtype, x, y) != z]
    assert wrong == []
    assert len(set(got)) > 10


@pytest.mark.parametrize(
    "op, dtype, source, target, result",
    [
        ("inc", "u32", 7, 6, 7),
        ("inc", "u32", 7, 7, 0),
        ("inc", "u32", 7, 9, 0),
        ("dec", "u32", 7, 0, 7),
        ("dec", "u32", 7, 8, 7),
        ("dec", "u32", 7, 7, 6),
        ("add", "u32", 1, 0xFFFFFFFF, 0),
        ("min", "i32", 0xFFFFFFFF, 0, 0xFFFFFFFF),
        ("min", "u32", 0xFFFFFFFF, 0, 0),
        ("add", "f16", 0x3C00, 0x7C01, 0x7FFF),  # every NaN becomes this one
        ("add", "f16", 0x7BFF, 0x7BFF, 0x7C00),
        ("add", "f16", 0x3C00, 0x1000, 0x3C00),  # a tie goes to even
        ("add", "f16", 0x3C01, 0x1000, 0x3C02),
        ("min", "f16", 0x7E00, 0x3C00, 0x3C00),  # a number, not NaN
        ("min", "f16", 0x7E00, 0xFE00, 0x7FFF),
        ("min", "f16", 0x0000, 0x8000, 0x8000),
        ("max", "f16", 0x8000, 0x0000, 0x0000),
        ("max", "bf16", 0xFF80, 0x7FC0, 0xFF80),
        ("add", "f32", 1, 1, 2),  # subnormals count
        ("add", TmaType.FLOAT32_FTZ, 1, 1, 0),
        ("add", TmaType.FLOAT32_FTZ, 0x80000001, 0x80000001, 0x80000000),
        ("add", TmaType.TFLOAT32, 1, 0x3F800001, 0x3F800001),  # 23 bits of mantissa, not 10
        ("add", TmaType.TFLOAT32, 1, 1, 2),
        ("add", TmaType.TFLOAT32_FTZ, 0x00800001, 0x80800000, 0),
        ("add", "f64", 0x7FF0000000000001, 0x7FF8000000000000, 0x7FF0000000000001),  # not quieted
        ("add", "f64", 0x7FF0000000000000, 0xFFF0000000000000, 0xFFF8000000000000),
    ],
)
def test_one_element(op, dtype, source, target, result):
    assert one(op, dtype, source, target) == result


# -- where it reaches ----------------------------------------------------------------------------------------

M = TensorMap("u32", 0, (30, 9), (128,), (16, 4), swizzle=64)


def sums(m: TensorMap, coordinate: tuple, address: int = 0):
    """Memory after an addition of 1, 2, 3... to zeros, and after a store onto zeros: the same bytes."""
    shared = np.arange(1, 1 << 14, dtype="<u4").view(np.uint8)
    by_sum, by_store = np.zeros(1 << 13, np.uint8), np.zeros(1 << 13, np.uint8)
    effect = tma_reduce("add", m, coordinate, by_sum, shared, address)
    other = tma_store(m, coordinate, by_store, shared, address)
    assert effect.inside_ranges == other.inside_ranges
    assert effect.outside_ranges == other.outside_ranges
    return by_sum, by_store, effect


@pytest.mark.parametrize(
    "m, coordinate",
    [
        (M, (0, 0)),
        (M, (16, 7)),
        (replace(M, swizzle=M.swizzle.__class__(0)), (28, 6)),
        (TensorMap("u32", 0, (6, 4, 3, 2), (96, 384, 1152), (4, 2, 1, 1), interleave=16), (1, 1, 2, 1)),
        (TensorMap("u32", 0, (7, 6, 3), (32, 192), (), im2col=Im2col((1,), (-1,), 8, 9)), (0, 2, 1)),
        (TensorMap("u32", 0, (6, 3, 2), (96, 288), (), interleave=16, im2col=Im2col((1,), (-1,), 4, 9)), (2, 1, 0)),
    ],
    ids=["tile", "edge", "tail", "interleaved", "im2col", "pixels"],
)
def test_a_sum_onto_zeros_is_a_store(m, coordinate):
    by_sum, by_store, effect = sums(m, coordinate, 256)

    assert (by_sum == by_store).all()
    assert by_sum.any()
    assert effect.transaction_bytes == 0


def test_elements_behind_the_row_are_updated_to_the_16th_byte():
    _, _, effect = sums(M, (16, 0))

    assert effect.outside_ranges == tuple((128 * row + 120, 128 * row + 128) for row in range(4))


@pytest.mark.parametrize(
    "op, first, result", [("add", 5, 5 + 1 + 17 + 33 + 49), ("max", 5, 49), ("xor", 5, 5 ^ 1 ^ 17 ^ 33 ^ 49)]
)
def test_overlapping_rows_of_integers_all_count(op, first, result):
    m = replace(M, global_stride_bytes=(0,), swizzle=M.swizzle.__class__(0))
    shared, memory = np.arange(1, 65, dtype="<u4").view(np.uint8), np.full(32, first, "<u4").view(np.uint8)
    tma_reduce(op, m, (0, 0), memory, shared, 0)

    assert memory.view("<u4")[0] == result


@pytest.mark.parametrize("op, dtype", [("add", "f32"), ("inc", "u32"), ("min", "f16")])
def test_overlapping_rows_whose_order_shows_are_unsettled(op, dtype):
    m = TensorMap(dtype, 0, (16, 9), (0,), (16, 2))

    with pytest.raises(NotImplementedError, match="a reduce writes overlapping rows is unmeasured"):
        tma_reduce(op, m, (0, 0), np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), 0)


def fault(run) -> TmaFault:
    with pytest.raises(TmaFault) as caught:
        run()
    return caught.value


@pytest.mark.parametrize(
    "op, dtype", [(op, d) for op, d in itertools.product(REDUCED, range(13)) if d not in REDUCED[op]]
)
def test_every_other_pair_is_an_illegal_instruction(op, dtype):
    kind = TmaType(dtype)
    m = TensorMap(kind, 0, (128 // kind.bits, 4), (16,), (128 // kind.bits, 2))
    before = np.full(4096, POISON, np.uint8)
    memory = before.copy()
    found = fault(lambda: tma_reduce(op, m, (0, 0), memory, before, 0))

    assert (found.rule, found.effect) == ("reduction_type", "illegal instruction")
    assert (memory == before).all()


def test_a_fault_leaves_memory_as_it_was():
    memory = np.zeros(512 + 64 - 1, np.uint8)
    found = fault(
        lambda: tma_reduce("add", replace(M, global_stride_bytes=(256,)), (0, 0), memory, np.ones(4096, np.uint8), 0)
    )

    assert found.rule == "memory_bounds"
    assert not memory.any()


@pytest.mark.parametrize(
    "op, message", [("", "expected an operation of add, .*, got none"), ("sub", "got 'sub' for a reduce")]
)
def test_bad_operations(op, message):
    with pytest.raises(LayoutError, match=message):
        tma_reduce(op, M, (0, 0), np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), 0)


# -- multicast, barriers, copies without a map ---------------------------------------------------------------


def test_a_multicast_lands_where_the_mask_says():
    source, cluster = (
        np.arange(4096, dtype=np.uint32).view(np.uint8),
        [np.full(1024, POISON, np.uint8) for _ in range(4)],
    )
    effects = tma_multicast(M, (0, 0), source, cluster, 512, 0b1010)

    assert [e and e.transaction_bytes for e in effects] == [None, 256, None, 256]
    assert (cluster[1] == cluster[3]).all()
    assert (cluster[0] == POISON).all()
    assert (cluster[1][:512] == POISON).all()
    assert not (cluster[1][512:] == POISON).all()


@pytest.mark.parametrize("mask, rule", [(0b10000, "multicast_mask"), (0, "")])
def test_a_mask_beyond_the_cluster_or_of_nobody(mask, rule):
    cluster = [np.full(1024, POISON, np.uint8) for _ in range(4)]
    source = np.zeros(4096, np.uint8)
    if rule:
        assert fault(lambda: tma_multicast(M, (0, 0), source, cluster, 0, mask)).rule == rule
    else:
        assert tma_multicast(M, (0, 0), source, cluster, 0, mask) == (None,) * 4
    assert all((shared == POISON).all() for shared in cluster)


@pytest.mark.parametrize(
    "armed, credited, flips",
    [
        (256, 256, True),
        (272, 256, False),
        (257, 256, False),
        (0, 256, True),
        (0, 0, True),
        (255, 256, False),
        (16, 256, None),
    ],
)
def test_when_a_phase_completes(armed, credited, flips):
    assert phase_completes(armed, credited) is flips


@pytest.mark.parametrize("size, moved", [(0, 0), (8, 0), (16, 16), (24, 16), (63, 48), (4096, 4096)])
def test_bulk_copies_move_whole_units_of_16_bytes(size, moved):
    source, target = np.full(8192, 1, np.uint8), np.zeros(8192, np.uint8)

    assert bulk_copy(size, source, 16, target, 32) == moved
    assert np.flatnonzero(target).tolist() == list(range(32, 32 + moved))


@pytest.mark.parametrize("source, target", [(8, 0), (0, 8), (1, 1)])
def test_bulk_copies_from_or_to_odd_addresses(source, target):
    found = fault(lambda: bulk_copy(32, np.zeros(64, np.uint8), source, np.zeros(64, np.uint8), target))

    assert (found.rule, found.effect) == ("bulk_alignment_16", "misaligned address")
