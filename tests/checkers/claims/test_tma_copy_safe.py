"""Tile loops proved safe for all sizes, and checked against what the copies do to memory."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import checkers
from checkers import TensorMapValid, TmaCopySafe, prove
from symlayout import ClaimError, ceil_div, dim, dims, index
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import TmaFault
from symlayout.rules.tma import violations as map_violations
from symlayout.semantics import tma_load, tma_store
from symlayout.tma import Im2col, TensorMap

M, N, K = dims("M N K")
ALIGNED = [M.multiple_of(8), N.multiple_of(8), K.multiple_of(8)]


def loops(*extents):
    return [index(f"i{n}", e) for n, e in enumerate(extents)]


def rules(report):
    """The ids of what failed."""
    return [v.claim.rule.id for v in report.verdicts if v.outcome is not Outcome.PROVED]


# -- a bf16 GEMM for all sizes ----------------------------------------------------------------------------


def gemm(stages=4):
    """The three copies of C (M,N) = A (M,K) B (N,K)^T, in 128x128 tiles of 64 along K."""
    bm, bn, k, s = (
        index("bm", ceil_div(M, 128)),
        index("bn", ceil_div(N, 128)),
        index("k", ceil_div(K, 64)),
        index("s", stages),
    )
    a = TensorMap("bf16", 0, (K, M), (2 * K,), (64, 128), swizzle=128)
    b = TensorMap("bf16", 0, (K, N), (2 * K,), (64, 128), swizzle=128)
    c = TensorMap("bf16", 0, (N, M), (2 * N,), (64, 128), swizzle=128)
    both = {"barrier_bytes": 16384, "shared_bytes": 2 * stages * 16384}
    return {
        "A": TmaCopySafe(a, (64 * k, 128 * bm), 16384 * s, **both, name="A"),
        "B": TmaCopySafe(b, (64 * k, 128 * bn), 16384 * (stages + s), **both, name="B"),
        "C": TmaCopySafe(c, (128 * bn + 64 * index("half", 2), 128 * bm), 0, "store", shared_bytes=2 * 16384, name="C"),
    }


@pytest.mark.parametrize("operand", "ABC")
def test_the_copies_of_a_gemm_are_safe_for_all_sizes(operand):
    claim = gemm()[operand]
    report = prove(claim, given=ALIGNED)

    assert report
    checkers.verify(report.verdicts[0].certificate)


@pytest.mark.parametrize("operand, condition", [("A", "K % 8 == 0"), ("B", "K % 8 == 0"), ("C", "N % 8 == 0")])
def test_the_conditions_of_a_gemm_are_found(operand, condition):
    claim = gemm()[operand]
    report = prove(TensorMapValid(claim.tensor_map, name=operand), claim)

    assert [str(f) for f in report.repairs] == [condition]
    assert prove(TensorMapValid(claim.tensor_map), claim, given=report.repairs)


def test_conditions_hold_exactly_at_sampled_sizes():
    """Under the condition nothing fails at any block, without it something does: by enumeration."""
    claim = gemm()["C"]
    for m, n in itertools.product([1, 8, 127, 128, 200], [1, 4, 8, 100, 128, 136, 300]):
        bound = claim.bind({M: m, N: n})
        fine = map_violations(bound.tensor_map) == [] and bool(prove(bound))
        assert fine == (n % 8 == 0), (m, n)


@pytest.mark.parametrize(
    "change, rule",
    [
        ({"coordinate": lambda k, bm: (64 * k + 4, 128 * bm)}, "coord0_multiple_16"),
        ({"shared_address": lambda s: 16384 * s + 64}, "smem_alignment_128"),
        ({"shared_address": lambda s: 16384 * s + 128}, "smem_swizzle_phase"),
        ({"shared_bytes": 4 * 16384 - 1}, "shared_footprint"),
        ({"barrier_bytes": 16383}, "barrier_bytes"),
        ({"shared_address": lambda s: 16384 * s - 1024}, "shared_address_nonnegative"),
    ],
)
def test_one_change_breaks_one_rule(change, rule):
    bm, k, s = index("bm", ceil_div(M, 128)), index("k", ceil_div(K, 64)), index("s", 4)
    a = TensorMap("bf16", 0, (K, M), (2 * K,), (64, 128), swizzle=128)
    fields = {"coordinate": (64 * k, 128 * bm), "shared_address": 16384 * s, "shared_bytes": 5 * 16384}
    fields |= {"barrier_bytes": 16384}
    assert prove(TmaCopySafe(a, **fields), given=ALIGNED)
    for name, x in change.items():
        fields[name] = x(*{"coordinate": (k, bm), "shared_address": (s,)}[name]) if callable(x) else x

    assert rule in rules(prove(TmaCopySafe(a, **fields), given=ALIGNED))


def test_a_swizzled_consumer_of_absolute_addresses_may_start_anywhere():
    a = TensorMap("bf16", 0, (1024, 1024), (2048,), (64, 8), swizzle=128)

    assert rules(prove(TmaCopySafe(a, (0, 0), 1152))) == ["smem_swizzle_phase"]
    assert prove(TmaCopySafe(a, (0, 0), 1152, any_phase=True))


# -- cases from bug reports -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, size, n, columns",
    [
        ("u8", 1, 466, "columns 466 .. 479"),
        ("u16", 2, 470, "columns 470 .. 471"),
        ("i32", 4, 466, "columns 466 .. 467"),
        ("u8", 1, 464, ""),
        ("i32", 4, 468, ""),
    ],
)
def test_a_store_into_a_column_slice(dtype, size, n, columns):
    """Triton 11583: box (32,128) into out[:, :N] of a (32,512) tensor."""
    m = TensorMap(dtype, 0, (n, 32), (512 * size,), (128 // size, 32))
    (b,) = loops(ceil_div(n * size, 128))
    report = prove(TmaCopySafe(m, (128 // size * b, 0), 0, "store"))

    assert rules(report) == (["store_past_the_row"] if columns else [])
    assert columns in str(report)


@pytest.mark.parametrize("dtype, condition", [("u8", "N % 16 == 0"), ("bf16", "N % 8 == 0"), ("f32", "N % 4 == 0")])
def test_the_extent_of_a_store_is_repaired_for_all_sizes(dtype, condition):
    m = TensorMap(dtype, 0, (N, 32), (2**20,), (16, 32))
    (b,) = loops(ceil_div(N, 16))
    report = prove(TmaCopySafe(m, (16 * b, 0), 0, "store"))

    assert rules(report) == ["store_past_the_row"]
    assert list(map(str, report.repairs)) == [condition]


def test_a_load_past_the_last_row_is_safe():
    """Triton 11583, second remark: a start row up to R - 1 reads fill, not other memory."""
    R = dim("R", at_most=2**31 - 8)
    m = TensorMap("bf16", 0, (128, R), (256,), (64, 8), swizzle=128)

    assert prove(TmaCopySafe(m, (0, index("row", R)), 0))


def test_the_rows_of_such_a_tile_are_not_all_data():
    R = dim("R")
    last = AddressMap.over(lambda row: row + 7, (R,))

    assert not prove(checkers.InBounds(last, R))


def test_a_slot_stride_of_64_bytes_is_refuted():
    """emmy 176: an fp32 ring of 2 slots of 16 elements."""
    m = TensorMap("f32", 0, (1024,), (), (16,))
    [v] = prove(TmaCopySafe(m, (0,), 64 * index("slot", 2))).verdicts

    assert v.claim.rule.id == "smem_alignment_128"
    assert v.witness.sizes == {"slot": 1}


def test_an_inner_start_of_four_bytes_is_refuted():
    """Triton 8670: companion of the 16-byte rule in bytes, not elements."""
    m = TensorMap("f32", 0, (1024, 8), (4096,), (4, 8))

    assert rules(prove(TmaCopySafe(m, (1, 0)))) == ["coord0_multiple_16"]
    assert prove(TmaCopySafe(m, (4, 0)))


def test_an_im2col_store_writes_past_the_channels():
    m = TensorMap("bf16", 0, (12, 8, 8), (32, 256), im2col=Im2col((0,), (0,), 16, 8))

    assert rules(prove(TmaCopySafe(m, (0, 0, 0), 0, "store"))) == ["store_past_the_row"]
    whole = TensorMap("bf16", 0, (16, 8, 8), (32, 256), im2col=Im2col((0,), (0,), 16, 8))
    assert prove(TmaCopySafe(whole, (0, 0, 0), 0, "store"))


def test_extents_past_2_31_are_refuted_for_stores_too():
    n = dim("n", at_most=2**32, multiple_of=16)
    claim = TmaCopySafe(TensorMap("u8", 0, (n, 8), (2**33,), (16, 8)), (0, 0), direction="store")
    bound = claim.bind({n: 2**31 + 16})

    assert [v.outcome for v in prove(claim).verdicts] == [Outcome.REFUTED]
    assert "extent_2_31" in str(prove(bound))
    assert prove(claim, given=[n <= 2**31])


# -- against what the copies do ---------------------------------------------------------------------------


def random_loop(rng):
    """A small map of numbers, a loop over two indices, and a place in shared memory, often wrong in one thing."""
    dtype, size = rng.choice([("u8", 1), ("bf16", 2), ("f32", 4)])
    swizzle = rng.choice([0, 32, 64, 128])
    unit = 16 // size
    inner = unit * rng.randint(1, (swizzle or 128) // 16)
    width, height = rng.randint(1, 40) * rng.choice([1, unit]), rng.randint(1, 9)
    pitch = -(-width * size // 16) * 16 + 16 * rng.randint(0, 1)
    m = TensorMap(dtype, 0, (width, height), (pitch,), (inner, rng.randint(1, 4)), swizzle=swizzle)
    i, j = index("i", rng.randint(1, 3)), index("j", rng.randint(1, 3))
    start = rng.choice([0, 0, 0, 1, -unit, unit])
    coordinate = (inner * i + start, m.box_dim[1] * j + rng.choice([0, 0, 0, -1]))
    address = m.landed_bytes * i * rng.choice([0, 1]) + rng.choice([0, 128, 64, 1024])
    buffer = rng.choice([m.landed_bytes, 2 * m.landed_bytes + 128, 4096])
    return m, coordinate, (i, j), address, buffer


@pytest.mark.seeds(60)
@pytest.mark.parametrize("direction", ["load", "store"])
def test_what_is_proved_runs_and_what_is_refuted_does_not(seed, direction):
    """Every iteration is carried out on memory: no fault, inside the buffer, no byte past a row, or not proved."""
    m, coordinate, (i, j), address, buffer = random_loop(random.Random(seed))
    claim = TmaCopySafe(m, coordinate, address, direction, shared_bytes=buffer, any_phase=True)

    assert bool(prove(claim)) == all(
        runs(m, at(coordinate, env), at(address, env), direction, buffer)
        for env in ({i: x, j: y} for x, y in itertools.product(range(i.upper + 1), range(j.upper + 1)))
    )


def at(x, env):
    if isinstance(x, tuple):
        return tuple(at(e, env) for e in x)
    return x if isinstance(x, int) else x.subs(env)


def runs(m, coordinate, address, direction, buffer):
    """Whether one copy neither faults nor leaves its buffers."""
    memory = np.zeros(4096, dtype=np.uint8)
    try:
        effect = (tma_load if direction == "load" else tma_store)(
            m, coordinate, memory, np.zeros(1 << 17, dtype=np.uint8), address
        )
    except TmaFault:
        return False
    except NotImplementedError:  # a store from an address that is no multiple of 128: documented, not measured
        return False
    return address + m.landed_bytes <= buffer and len(effect.outside_ranges) == 0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda m: TmaCopySafe(5, (0, 0)), "expected a tensor map"),
        (lambda m: TmaCopySafe(m, (0,)), "expected 2 entries of coordinate"),
        (lambda m: TmaCopySafe(m, (0, 0), direction="prefetch"), "expected one of load, store"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ClaimError, match=message):
        make(TensorMap("bf16", 0, (64, 64), (128,), (64, 8)))
