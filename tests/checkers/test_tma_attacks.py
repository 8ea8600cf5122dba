"""Attacks on the claims about tensor maps and tensor copies: what the rules and the copies themselves say decides."""

from __future__ import annotations

import itertools
import random
from operator import mul

import numpy as np
import pytest

from checkers import SameBytes, TensorMapValid, prove
from checkers.claim_text import claim_from
from checkers.prover import Budget
from checkers.repairs.conditions import threshold
from symlayout import (
    ClaimError,
    ComposedLayout,
    Layout,
    Swizzle,
    SymlayoutError,
    ceil_div,
    dims,
    eq,
    maximum,
    minimum,
)
from symlayout.answers.report import Outcome
from symlayout.expr import Fact, Symbol
from symlayout.facts import symbols_in
from symlayout.rules.tma import PROFILES as MAP_PROFILES
from symlayout.rules.tma import violations as map_violations
from symlayout.rules.tma_copy import rules_of as copy_rules
from symlayout.semantics import tma_load
from symlayout.tma import Im2col, TensorMap, TmaInterleaveLayout, TmaType
from symlayout.tma.from_dlpack import make_tma_descriptor
from symlayout.tma.tiled_copy import make_tma_copy
from symlayout.values import rows
from tests.support.tma_cases import drawn

A, B = dims("A B")
M, N = dims("M N")
U8 = TensorMap("u8", 0, (64, 8), (64,), (32, 8))
FAULTS = ("memory_bounds", *(r.id for r in copy_rules("hardware")))


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


SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 128, 255, 256, 257, 1000, 4096, 2**20]
LARGE = [2**28, 2**30, 2**31 - 1]


def drawn_number(rng, kinds):
    """A number of these, or an expression in *A*, *B* and *M*."""
    if rng.random() < 0.65:
        return rng.choice(kinds)
    s, t = rng.sample([A, B, M], 2)
    forms = [s, 2 * s, 8 * s, s + 15, s - 1, ceil_div(s, 8), 16 * (s // 8), s * t, 16 * ceil_div(s, 16), s + 8 * t]
    return rng.choice([*forms, minimum(s, 256), maximum(s, 16), s % 16, 2**30 * s])


def drawn_symbolic_map(rng):
    kind = TmaType(rng.choice([0, 1, 2, 6, 7, 8, 9, 11]))
    rank = rng.choice([1, 2, 2, 3, 3, 4, 5])
    dims = [drawn_number(rng, [1, 7, 8, 64, 1000, 2**31, 2**32, 2**32 + 1, 0]) for _ in range(rank)]
    strides = [drawn_number(rng, [0, 16, 24, 128, 2**40 - 16, 2**40]) for _ in dims[1:]]
    if rng.random() < 0.5:
        reach = list(itertools.accumulate(dims, mul, initial=kind.bits // 8))
        strides = reach[1:-1]
    every = [rng.choice([1, 1, 1, 2, 9, A]) for _ in dims]
    swizzle, fill = rng.choice([0, 0, 32, 64, 128]), rng.choice([None, None, "nan"])
    address = drawn_number(rng, [0, 16, 32, 8])
    if rank >= 3 and rng.random() < 0.4:
        corners = [tuple(drawn_number(rng, [0, -1, 1, 15, -16, 127, 2**15]) for _ in dims[2:]) for _ in range(2)]
        box = Im2col(*corners, drawn_number(rng, [8, 64, 256, 257, 7]), drawn_number(rng, [8, 1024, 1025]))
        return TensorMap(kind, address, dims, strides, (), every, swizzle=swizzle, oob_fill=fill, im2col=box)
    box = [drawn_number(rng, [1, 8, 16, 32, 64, 256, 257, 0]) for _ in dims]
    interleave = TmaInterleaveLayout(rng.choice([0, 0, 0, 1, 2]))
    return TensorMap(kind, address, dims, strides, box, every, interleave=interleave, swizzle=swizzle, oob_fill=fill)


def drawn_sizes(rng, given, at=None):
    """Sizes that the facts admit; with *at* some of one symbol at that value."""
    out = []
    for _ in range(150):
        env = {s: rng.choice(SIZES if rng.random() < 0.85 else LARGE) for s in (A, B, M)}
        env[B] = rng.choice([env[B], env[A], 8 * env[A]])
        env |= at or {}
        if max(env.values()) < 2**31 and all(f.at(env) for f in given):
            out.append(env)
    return out[:30]


# Lints leave an element stride that sizes decide alone.
SILENT = {"element_stride_divides_box"}


@pytest.mark.seeds(40)
def test_symbolic_maps_agree_with_the_rules_at_sampled_sizes(seed):
    rng = random.Random(seed)
    m, profile = drawn_symbolic_map(rng), rng.choice(MAP_PROFILES)
    s, t = rng.sample([A, B, M], 2)
    facts = [
        s.multiple_of(rng.choice([4, 8, 16])),
        s <= rng.choice([64, 256, 1000]),
        s >= 8,
        s <= t,
        eq(s, t),
        eq(s, 8 * t),
    ]
    given = rng.sample(facts, rng.choice([0, 0, 1, 2]))
    report = prove(TensorMapValid(m, profile), given=given, budget=Budget(repairs=seed % 3 == 0))
    left = {(v.claim.rule.id, v.claim.place): v for v in report.verdicts if v.outcome is not Outcome.PROVED}
    left = {key: v for key, v in left.items() if key[0] not in SILENT}

    def broken(env):
        return {(v.rule.id, v.place) for v in map_violations(m.subs(env), profile) if v.rule.id not in SILENT}

    for env in drawn_sizes(rng, given):
        assert broken(env) <= set(left), env
    for key, v in left.items():
        if v.outcome is Outcome.REFUTED:
            env = {s: v.witness.sizes.get(s.name, 1) for s in (A, B, M)}
            assert key in broken(env)
            assert not any(key in broken(env) for env in drawn_sizes(rng, [*given, *v.repairs])) or not v.repairs
            if "weakest" in v.condition and len(symbols_in(v.claim.value)) == 1:
                weaker = weaker_sizes(rng, given, *v.repairs)
                assert not weaker or any(key in broken(env) for env in weaker), v.condition
        assert v.outcome is not Outcome.VACUOUS or not drawn_sizes(rng, given)


def weaker_sizes(rng, given, f):
    """Sizes that meet the next weaker fact about one symbol and not *f*."""
    if f.relation == "%" and isinstance(f.expr, Symbol):
        q = f.modulus // min(p for p in (2, 3, 5, 7) if f.modulus % p == 0)
        return [env for k in (1, 3, 5, 7) for env in drawn_sizes(rng, given, {f.expr: k * q}) if not f.at(env)]
    edge = threshold(Fact(f.expr + 1, ">="))
    return [env for env in drawn_sizes(rng, given, dict([edge])) if not f.at(env)] if edge else []


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


@pytest.mark.seeds(60)
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


def test_the_copy_itself_says_where_its_boxes_land():
    copy = make_tma_copy(Layout((640, 80), (1, 640)), Layout((64, 8), (1, 128)), dtype="u8")

    assert copy.landing(0, 1) == 128


@pytest.mark.seeds(40)
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


# -- as text ----------------------------------------------------------------------------------------------

MAP = {"tensor": "(K,M):(1,K)", "dtype": "bf16", "box": "(64,128)"}
COPY = {**MAP, "start": "(64*k, 0)", "over": "(k) < (4)"}
CONSUMER = {"consumer": "(64,128):(1,64)", "dtype": "bf16", "box": "(64,128)"}


@pytest.mark.parametrize(
    "kind, change, message",
    [
        ("tensor_map_valid", {"tensor": "Sw<3,3,3>"}, "expected the tensor as a layout in elements"),
        ("tensor_map_valid", {"tensor": "Sw<3,3,3> o 0 o (64,64):(1,64)"}, "expected the tensor as a layout"),
        ("tensor_map_valid", {"tensor": "():()", "box": "()"}, "expected the tensor as a layout in elements"),
        ("tensor_map_valid", {"tensor": "(K,M):(1@0,1@1)"}, "expected stride 1 in the first mode"),
        ("tensor_map_valid", {"dtype": "e2m1"}, "expected an element type that a tensor map has"),
        ("tensor_map_valid", {"box": "(K//0,128)"}, "box: expected a divisor of at least 1"),
        ("tensor_map_valid", {"swizzle": 10**30}, "expected one of none, bytes32"),
        ("tensor_map_valid", {"interleave": -1}, "expected one of none, bytes16, bytes32"),
        ("tensor_map_valid", {"profile": "hopper"}, "expected a profile"),
        ("tma_copy_safe", {"direction": "reduce"}, "expected an operation of add"),
        ("tma_copy_safe", {"direction": "reduce", "op": "frob"}, "got 'frob'"),
        ("tma_copy_safe", {"shared_bytes": "(1,2)"}, r"expected an integer or an integer expression, got \(1, 2\)"),
        ("tma_copy_safe", {"copies": 0}, "expected at least 1 copy"),
        ("tma_copy_safe", {"any_phase": "maybe"}, "any_phase: expected true or false"),
        ("tma_copy_safe", {"over": "(k) < (0)"}, "over: expected extents of at least 1"),
        ("tma_copy_safe", {"over": "(k) < (M,4)"}, "over: expected one extent for each of k"),
        ("tma_copy_safe", {"tensor": "Sw<3,3,3>"}, "expected the tensor as a layout in elements"),
        ("same_bytes", {"box": "(128,64)"}, "expected a consumer with the modes of box"),
        ("same_bytes", {"box": "()", "consumer": "()"}, "expected the tensor as a layout in elements"),
        ("same_bytes", {"box": "(M,64)"}, "expected a consumer of the"),
        ("same_bytes", {"consumer": "Sw<3,3,3>"}, "expected the consumer's layout"),
        ("same_bytes", {"base_multiple_of": -1}, "expected base_multiple_of in bytes"),
        ("same_bytes", {"absolute": 2}, "absolute: expected true or false"),
    ],
)
def test_hostile_text_is_one_message(kind, change, message):
    fields = {"tensor_map_valid": MAP, "tma_copy_safe": COPY, "same_bytes": CONSUMER}[kind]
    with pytest.raises(SymlayoutError, match=message):
        claim_from(kind, {**fields, **change})


def test_a_reduction_of_text_has_its_operation():
    assert prove(claim_from("tma_copy_safe", {**COPY, "direction": "reduce", "op": "add"}, given=["K % 8 == 0"]))


# -- make_tma_descriptor ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more",
    [
        {"arch": "sm90"},
        {"swizzle": np.array([1, 2])},
        {"alignment": None, "address": 2**64},
        {"alignment": 2**70},
        {"device": "cuda:0"},
        {"alignment": -1},
        {"box_sizes": "88"},
        {"tensor": np.zeros((8, 8), complex)},
        {"tensor": np.zeros((8, 8), ">f4")},
        {"tensor": np.zeros((8, 8), np.float32)[:, ::-1]},
        {"tensor": np.zeros((0, 8), np.float32)},
        {"tensor": np.zeros((), np.float32), "box_sizes": ()},
        {"tensor": np.broadcast_to(np.zeros((1, 8), np.float32), (2**40, 8))},
    ],
)
def test_hostile_arrays_are_one_error(more):
    fields = {"tensor": np.zeros((8, 8), np.float32), "box_sizes": (8, 8), "device": 0, "alignment": 1024, **more}
    with pytest.raises(SymlayoutError) as e:
        make_tma_descriptor(**fields)

    assert "expected" in str(e.value)
