"""Stores through maps whose rows lie on one another: which row lasts is not defined.

The claims asked injectivity of tiles in shared memory and of the boxes of a kernel, never of the map's own rows, and
campaigns drew strides that nest; the byte semantics refuses what they proved.
"""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from checkers import TensorMapValid, TmaCopySafe, prove
from symlayout import TensorMap, ceil_div, dim, dims, index
from symlayout.answers.report import Outcome
from symlayout.errors import TmaFault
from symlayout.semantics import tma_reduce, tma_store
from symlayout.tma import Im2col, TmaInterleaveLayout

N, S, W, H = dims("N S W H")


def refuted(report):
    return [str(v.claim) for v in report.verdicts if v.outcome is Outcome.REFUTED]


@pytest.mark.parametrize("stride, fine", [(0, False), (32, False), (48, False), (64, True), (80, True)])
def test_rows_of_64_bytes_are_64_apart(stride, fine):
    m = TensorMap("u8", 0, (64, N), (stride,), (64, 8))
    start = (0, 8 * index("i", ceil_div(N, 8)))
    report = prove(TensorMapValid(m), TmaCopySafe(m, start, direction="store"))

    assert bool(report) is fine
    assert prove(TmaCopySafe(m, start))  # a load may read a row twice
    if not fine:
        [v] = [v for v in report.verdicts if v.outcome is Outcome.REFUTED]
        assert v.witness.sizes == {"N": 2, "i": 0}
        assert f"begin {stride} bytes apart, and each has 64" in v.witness.story


def test_symbolic_strides_need_a_fact():
    m = TensorMap("u8", 0, (64, N), (16 * S,), (64, 8))
    claim = TmaCopySafe(m, (0, 8 * index("i", ceil_div(N, 8))), direction="store")
    [v] = [v for v in prove(claim).verdicts if v.outcome is Outcome.REFUTED]

    assert v.witness.sizes["S"] < 4
    assert [str(f) for f in v.repairs] == ["S >= 4"]
    assert prove(claim, given=v.repairs)


def test_rows_that_are_cut_by_the_tensor_are_shorter():
    """Boxes of 64 bytes over rows of 32: the box reaches past the tensor, not into the next row."""
    m = TensorMap("u8", 0, (32, N), (32,), (64, 8))

    assert prove(TmaCopySafe(m, (0, 0), direction="store"))


def test_a_dimension_of_one_row_may_have_any_stride():
    assert prove(TmaCopySafe(TensorMap("u8", 0, (64, 1), (0,), (64, 8)), (0, 0), direction="store"))
    assert prove(TmaCopySafe(TensorMap("u8", 0, (64, 8), (0,), (64, 1)), (0, 0), direction="store"))


def test_element_strides_step_over_rows():
    shape, strides, box = (64, N, N), (32, 32 * N), (64, 8, 1)

    assert prove(TmaCopySafe(TensorMap("u8", 0, shape, strides, box, (1, 2, 1)), (0, 0, 0), direction="store"))
    assert not prove(TmaCopySafe(TensorMap("u8", 0, shape, strides, box), (0, 0, 0), direction="store"))


def test_matrices_of_a_batch_lie_apart_where_the_batch_stride_says_so():
    m = TensorMap("bf16", 0, (W, H, N), (2 * W, 2 * S), (64, 8, 4))
    claim = TmaCopySafe(m, (0, 0, 0), direction="store")
    even = (W.multiple_of(8), S.multiple_of(8))

    assert prove(claim, given=[*even, S >= W * H])
    assert [c for c in refuted(prove(claim, given=even)) if "lie apart" in c]


@pytest.mark.parametrize(
    "op, dtype, fine",
    [
        *((op, "i32", True) for op in ("add", "min", "max")),
        ("xor", "u32", True),
        *((op, "u32", False) for op in ("inc", "dec")),
        ("add", "f32", False),
        ("max", "bf16", False),
    ],
)
def test_a_reduction_may_meet_itself_where_no_order_shows(op, dtype, fine):
    m = TensorMap(dtype, 0, (16, 8), (0,), (16, 8))

    assert bool(prove(TmaCopySafe(m, (0, 0), 0, "reduce", op=op))) is fine


def test_pixels_of_an_im2col_store_lie_apart():
    def images(strides):
        return TensorMap("f16", 0, (8, 6, 6, 2), strides, im2col=Im2col((0, 0), (0, 0), 8, 64))

    assert prove(TmaCopySafe(images((16, 96, 576)), (0, 0, 0, 0), direction="store"))
    assert refuted(prove(TmaCopySafe(images((16, 80, 576)), (0, 0, 0, 0), direction="store")))
    assert refuted(prove(TmaCopySafe(images((16, 96, 0)), (0, 0, 0, 0), direction="store")))


def drawn_store(rng):
    """A small map with strides of all kinds, in tiles or slices, and the start of a box in it."""
    rank = rng.choice([2, 2, 3, 3, 4])
    dims_ = [rng.choice([16, 20, 32, 48, 8]), *(rng.randint(2, 6) for _ in range(rank - 1))]
    strides = [16 * rng.choice([0, 1, 1, 2, 2, 3, 4, 6, 8, 12, 16, 24]) for _ in range(rank - 1)]
    every = [1, *(rng.choice([1, 1, 1, 2, 3]) for _ in range(rank - 1))]
    box = [16 * rng.randint(1, 3), *(rng.randint(1, 4) for _ in range(rank - 1))]
    slices = rank > 2 and rng.random() < 0.25
    m = TensorMap(
        *("u8", 0, dims_, strides, box, every),
        interleave=TmaInterleaveLayout.bytes16 if slices else None,
        swizzle=rng.choice([0, 0, 64 if box[0] <= 64 else 0]),
    )
    return m, (0, *(rng.randint(0, max(0, n - 3)) for n in dims_[1:]))


@pytest.mark.seeds(12)
def test_stores_are_proved_only_where_the_semantics_writes_each_byte_once(seed):
    """Random maps of numbers and with a symbolic extent or stride: proved ones run, refuted ones meet themselves."""
    rng, counts = random.Random(seed), {True: 0, False: 0}
    for _ in range(60):
        m, start = drawn_store(rng)
        written = runs(m, start)
        report = prove(TmaCopySafe(m, start, direction="store", any_phase=True))
        mine = [v.outcome for v in report.verdicts if "lie apart" in str(v.claim)]

        assert Outcome.UNKNOWN not in mine
        if Outcome.REFUTED in mine:
            assert not written
        elif bool(report):
            assert written
        counts[Outcome.REFUTED in mine] += 1

        k, n = rng.randrange(m.rank - 1), dim("n")
        strides = [*m.global_stride_bytes]
        strides[k] = 16 * n
        wide = TensorMap(m.dtype, 0, m.global_dim, strides, m.box_dim, m.element_stride, m.interleave, m.swizzle)
        if prove(TmaCopySafe(wide, start, direction="store", any_phase=True), given=[n <= 40]):
            assert all(runs(wide.subs({n: x}), start) for x in (1, 2, 3, 5, 8, 40))
    assert min(counts.values()) > 4


def runs(m, start):
    """Whether a store writes every byte once; a fault is no answer."""
    memory, shared = np.zeros(1 << 16, np.uint8), np.zeros(1 << 16, np.uint8)
    try:
        tma_store(m, start, memory, shared, 0)
    except NotImplementedError:
        return False
    except TmaFault:
        return None
    return True


def test_reductions_and_stores_ask_the_same_of_floats():
    m = TensorMap("f32", 0, (16, 4), (32,), (16, 4))
    for direction, op in (("store", ""), ("reduce", "add")):
        assert refuted(prove(TmaCopySafe(m, (0, 0), 0, direction, op=op)))
    with pytest.raises(NotImplementedError):
        tma_reduce("add", m, (0, 0), np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), 0)


def test_every_sum_of_small_strides_agrees_with_brute_force():
    for a, b in itertools.product((0, 16, 32, 48, 64, 96), repeat=2):
        m = TensorMap("u8", 0, (32, 2, 3), (a, b), (32, 2, 3))
        starts = sorted(i * a + j * b for i in range(2) for j in range(3))
        apart = all(y - x >= 32 for x, y in itertools.pairwise(starts))
        assert bool(prove(TmaCopySafe(m, (0, 0, 0), direction="store"))) is apart
