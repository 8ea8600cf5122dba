"""Matrix instructions on NumPy memory: against their definitions, and together with the copies that feed them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from symlayout import ComposedLayout, Layout, LayoutError, Swizzle
from symlayout.atoms import ATOMS, Combines, MatrixDescriptor, MmaAtom, atom
from symlayout.dtype import DType, bf16, f16, i32
from symlayout.errors import TmaFault
from symlayout.semantics import Memory, tma_load
from symlayout.semantics.matrix import error_bound, ldmatrix, mma, operand, stmatrix, wgmma
from symlayout.semantics.packing import packed, unpacked
from symlayout.tma import TensorMap

SHARED = 1 << 17
HALVES = np.arange(512, dtype=np.uint16)  # 64 rows of 8


def numbers(shape, dtype, seed=1):
    """Normal numbers as the type has them, or integers of 8 bits; TF32 by clearing what it does not have."""
    if DType.of(dtype).bits < 8:
        words = np.random.RandomState(seed).randint(0, 1 << 32, (*shape[:-1], shape[-1] * dtype.bits // 32), np.uint32)
        return unpacked(words, dtype)
    if DType.of(dtype).kind != "float":
        return np.random.RandomState(seed).randint(0, 256, shape).astype(np.uint8).view(DType.of(dtype).numpy())
    found = np.random.RandomState(seed).standard_normal(shape).astype(DType.of(dtype).numpy())
    return (found.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) if str(dtype) == "tf32" else found


@functools.cache
def places(tv):
    """The element of each thread and value."""
    return np.array([[tv(t, v) for v in range(tv[1].size())] for t in range(tv[0].size())])


def dealt(tv, matrix):
    """A matrix as the registers of a thread-value layout."""
    return matrix.reshape(-1, order="F")[places(tv)]


def gathered(tv, registers, shape):
    out = np.empty(registers.size, dtype=registers.dtype)
    out[places(tv)] = registers
    return out.reshape(shape, order="F")


# -- rows and registers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_as_ptx_says_it(n, trans):
    """Lane l holds elements 2(l%4) and 2(l%4)+1 of row l/4 of each matrix, or of the transposed matrix."""
    shared = HALVES.view(np.uint8)
    lanes = np.random.RandomState(n).permutation(64)[:32] * 16
    got = ldmatrix(f"ldmatrix.x{n}{'.trans' * trans}", shared, lanes)

    assert got.shape == (32, 2 * n)
    for j in range(n):
        matrix = np.array([HALVES[a // 2 : a // 2 + 8] for a in lanes[8 * j : 8 * j + 8]])
        for lane in range(32):
            expected = (matrix.T if trans else matrix)[lane // 4, 2 * (lane % 4) :][:2]
            assert got[lane, 2 * j : 2 * j + 2].tolist() == expected.tolist()


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("trans", ["", ".trans"])
def test_stmatrix_undoes_ldmatrix(n, trans):
    shared, target = HALVES.view(np.uint8).copy(), np.full(1024, 0xEE, dtype=np.uint8)
    rows = np.random.RandomState(n).permutation(64)[: 8 * n] * 16
    registers = ldmatrix(f"ldmatrix.x{n}{trans}", shared, rows, "bf16")
    stmatrix(f"stmatrix.x{n}{trans}", target, rows, registers)
    written = (rows[:, None] + np.arange(16)).reshape(-1)

    assert np.array_equal(target[written], shared[written])
    assert (np.delete(target, written) == 0xEE).all()


def test_lanes_that_give_no_row_are_ignored():
    lanes = np.r_[16 * np.arange(8), np.full(24, 5)]  # neither aligned nor inside

    assert np.array_equal(
        ldmatrix("ldmatrix.x1", HALVES.view(np.uint8), lanes),
        ldmatrix("ldmatrix.x1", HALVES.view(np.uint8), lanes[:8]),
    )


@pytest.mark.parametrize(
    "act, error, message",
    [
        (
            lambda s: ldmatrix("ldmatrix.x1", s, np.arange(8) * 8),
            LayoutError,
            "a multiple of 16 bytes, got 8 of lane 1",
        ),
        (lambda s: ldmatrix("ldmatrix.x1", s, 1008 + np.arange(8) * 16), TmaFault, "expected addresses of 0..1023"),
        (lambda s: ldmatrix("ldmatrix.x4", s, np.arange(8) * 16), LayoutError, "expected the addresses of 32 lanes"),
        (lambda s: ldmatrix("stmatrix.x4", s, np.arange(32) * 16), LayoutError, "expected an atom of ldmatrix"),
        (lambda s: ldmatrix("ldmatrix.x1", s, np.arange(8) * 16, "f32"), LayoutError, "elements of 16 bits, got f32"),
        (
            lambda s: stmatrix("stmatrix.x1", s, np.zeros(8, int), np.zeros((32, 2), np.uint16)),
            LayoutError,
            "expected rows of 16 bytes that do not overlap",
        ),
        (
            lambda s: stmatrix("stmatrix.x1", s, np.arange(8) * 16, np.zeros((32, 4), np.uint16)),
            LayoutError,
            r"expected \(32, 2\) \(threads, values\) for registers, got \(32, 4\)",
        ),
    ],
)
def test_rows_that_are_refused(act, error, message):
    with pytest.raises(error, match=message):
        act(HALVES.view(np.uint8).copy())


# -- products of a warp -------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [w for w in ATOMS if w.startswith("mma.")])
def test_mma_is_the_product(word):
    row = atom(word)
    m, n, k = row.mnk
    a, b = numbers((m, k), row.dtype, 1), numbers((n, k), row.dtype_b, 2)
    c = numbers((m, n), "f32", 3).astype(row.acc_dtype.numpy())
    held = (packed(x, t) if row.packed > 1 else x for x, t in zip((a, b), row.types, strict=False))
    got = mma(word, *map(dealt, row.words, (*held, c)))
    x, y = a.astype(np.float64), b.astype(np.float64)
    exact = c.astype(np.float64) + x @ y.T
    if row.combines is Combines.XOR:
        exact = c + (a[:, None] ^ b[None]).sum(axis=2)

    assert got.values.dtype == row.acc_dtype.numpy()
    assert (np.abs(gathered(row.tv_c, got.values, (m, n)) - exact) <= gathered(row.tv_c, got.bound, (m, n))).all()
    assert (got.bound < (2 if row.acc_dtype is f16 else 1e-3)).all()
    assert (got.bound > 0).all() == (row.acc_dtype is not i32)


def test_any_order_of_f32_sums_is_within_the_bound():
    """Sums in several orders, each step truncated to 24 bits, of terms that cancel."""
    draw = np.random.RandomState(5)
    terms = (draw.standard_normal((200, 17)) * 2.0 ** draw.randint(-20, 20, (200, 17))).astype(np.float32)
    exact = terms.astype(np.float64).sum(axis=1)
    bound = error_bound(16, np.abs(terms.astype(np.float64)).sum(axis=1))

    for order in (np.arange(17), np.arange(17)[::-1], draw.permutation(17)):
        total = np.zeros(200)
        for i in order:
            total = truncated(total + terms[:, i])
        assert (np.abs(total - exact) <= bound).all()
    aligned = 2.0 ** (np.floor(np.log2(np.abs(terms).max(axis=1))) - 23)[:, None]
    cut = np.trunc(terms / aligned) * aligned  # all terms aligned to the largest and cut off
    assert (np.abs(truncated(cut.sum(axis=1)) - exact) <= bound).all()


def truncated(x):
    """To 24 bits, towards zero."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.trunc(np.ldexp(mantissa, 24)), exponent - 24)


def test_ldmatrix_feeds_mma():
    """A row-major 16 x 16 tile of A by x4, an (N,K) tile of B by x2, both in a 64B-swizzled row pitch."""
    row, shared = atom("mma.m16n8k16.bf16"), np.zeros(2048, dtype=np.uint8)
    tile = ComposedLayout(Swizzle(2, 3, 3), 0, Layout((16, 32), (32, 1)))
    a, b = numbers((16, 16), bf16, 1), numbers((8, 16), bf16, 2)
    halves = shared.view(bf16.numpy())
    for i in range(16):
        for k in range(16):
            halves[tile(i, k)] = a[i, k]
            if i < 8:
                halves[512 + tile(i, k)] = b[i, k]
    lane = np.arange(32)
    of_a = np.array([2 * tile(x % 16, 8 * (x // 16)) for x in lane])
    of_b = np.array([1024 + 2 * tile(x % 8, 8 * (x // 8)) for x in lane[:16]])
    held_a = ldmatrix("ldmatrix.x4", shared, of_a, bf16)
    held_b = ldmatrix("ldmatrix.x2", shared, of_b, bf16)
    got = mma(row.word, held_a, held_b, np.zeros((32, 4), np.float32))
    exact = a.astype(np.float64) @ b.astype(np.float64).T

    assert np.array_equal(held_a, dealt(row.tv_a, a))
    assert (np.abs(gathered(row.tv_c, got.values, (16, 8)) - exact) <= gathered(row.tv_c, got.bound, (16, 8))).all()


def test_ldmatrix_trans_reads_b_as_it_lies_in_a_row_major_k_by_n_tile():
    row, b = atom("mma.m16n8k16.f16"), numbers((8, 16), "f16", 2)
    shared = np.ascontiguousarray(b.T).view(np.uint8).reshape(-1)  # 16 rows of K, 8 of N in each

    assert np.array_equal(ldmatrix("ldmatrix.x2.trans", shared, 16 * np.arange(16), "f16"), dealt(row.tv_b, b))


# -- products of a warpgroup --------------------------------------------------------------------------------


def landed(matrix, major, swizzle, shared, address):
    """A matrix (rows, depth) of 16-bit numbers in shared memory as TMA boxes bring it; the descriptor of each step of 16."""
    rows, depth = matrix.shape
    inner, outer = (depth, rows) if major == "K" else (rows, depth)
    source = np.ascontiguousarray(matrix if major == "K" else matrix.T)
    wide = min(max(16, swizzle) // 2, inner)
    m = TensorMap("bf16", 0, (inner, outer), (2 * inner,), (wide, outer), swizzle=swizzle)
    block = outer * max(16, swizzle)
    for i in range(inner // wide):
        tma_load(m, (i * wide, 0), source.view(np.uint8).reshape(-1), Memory(shared), address + i * block)
    eight = 8 * max(16, swizzle)
    leading, stride = {
        ("K", False): (block, eight),
        ("K", True): (16, eight),
        ("MN", False): (eight, block),
        ("MN", True): (block, eight),
    }[major, bool(swizzle)]
    first = MatrixDescriptor(address, leading, stride, swizzle, major)
    if major == "MN":
        return [first.advanced(2 * i * eight) for i in range(depth // 16)]
    return [first.advanced(k // wide * block + k % wide * 2) for k in range(0, depth, 16)]


@pytest.mark.parametrize("n", [8, 128])
@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major_a, major_b", [("K", "K"), ("K", "MN"), ("MN", "K"), ("MN", "MN")])
def test_what_tma_lands_wgmma_multiplies(major_a, major_b, swizzle, n):
    """64 x 64 by n x 64 in four steps of K: tensor copy -> descriptor -> wgmma equals the product."""
    if major_b == "MN" and n < swizzle // 2:
        n = swizzle // 2
    row, shared = atom(f"wgmma.m64n{n}k16.bf16"), np.full(SHARED, 0xEE, dtype=np.uint8)
    a, b = numbers((64, 64), bf16, 1), numbers((n, 64), bf16, 2)
    steps = zip(landed(a, major_a, swizzle, shared, 4096), landed(b, major_b, swizzle, shared, 65536), strict=True)
    c, bound = np.full((128, n // 2), np.nan, np.float32), 0.0
    for i, (of_a, of_b) in enumerate(steps):
        got = wgmma(row, shared, of_a, of_b, c, zero=i == 0)
        c, bound = got.values, bound + got.bound
    exact = a.astype(np.float64) @ b.astype(np.float64).T

    assert (np.abs(gathered(row.tv_c, c, (64, n)) - exact) <= gathered(row.tv_c, bound, (64, n))).all()
    assert bound.max() < 1e-2


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("major", ["K", "MN"])
def test_the_operand_is_what_was_landed(major, swizzle):
    shared, matrix = np.full(SHARED, 0xEE, dtype=np.uint8), numbers((64, 64), bf16)

    for i, d in enumerate(landed(matrix, major, swizzle, shared, 8192)):
        assert np.array_equal(operand(shared, d, 64, 16, bf16), matrix[:, 16 * i : 16 * i + 16])


@pytest.mark.parametrize(
    "change",
    [
        {"swizzle": 64},
        {"swizzle": 0},
        {"stride_bytes": 512},
        {"stride_bytes": 2048},
        {"major": "MN"},
        {"start_bytes": 8224},
    ],
    ids=str,
)
def test_a_wrong_descriptor_reads_another_matrix(change):
    shared, matrix = np.zeros(SHARED, dtype=np.uint8), numbers((64, 64), bf16)
    first = landed(matrix, "K", 128, shared, 8192)[0]
    wrong = MatrixDescriptor(
        **{"start_bytes": 8192, "leading_bytes": 16, "stride_bytes": 1024, "swizzle": 128, "major": "K"} | change
    )

    assert np.array_equal(operand(shared, first, 64, 16, bf16), matrix[:, :16])
    assert not np.array_equal(operand(shared, wrong, 64, 16, bf16), matrix[:, :16])


def test_a_of_registers_and_a_base():
    """The descriptors of a tile at 0, and the tile where it was placed."""
    row, shared = atom("wgmma.m64n32k16.bf16.rs"), np.zeros(SHARED, dtype=np.uint8)
    a, b = numbers((64, 16), bf16, 1), numbers((32, 16), bf16, 2)
    [at] = landed(b, "K", 32, shared, 2048)
    start = numbers((64, 32), "f32", 3)
    got = wgmma(row, shared, dealt(row.tv_a, a), at.advanced(-2048), dealt(row.tv_c, start), base=2048)
    exact = start.astype(np.float64) + a.astype(np.float64) @ b.astype(np.float64).T

    assert (np.abs(gathered(row.tv_c, got.values, (64, 32)) - exact) <= gathered(row.tv_c, got.bound, (64, 32))).all()


SUMS = np.zeros((128, 4), np.float32)
HERE = MatrixDescriptor(0, 16, 256, 32)


@pytest.mark.parametrize(
    "word, a, b, c, error, message",
    [
        ("wgmma.m64n8k16.bf16", SUMS, HERE, SUMS, LayoutError, "expected a descriptor for A"),
        ("wgmma.m64n8k16.bf16.rs", HERE, HERE, SUMS, LayoutError, "expected registers for A"),
        ("wgmma.m64n8k16.bf16", HERE, SUMS, SUMS, LayoutError, "expected a descriptor for B"),
        ("wgmma.m64n16k16.bf16", HERE, HERE, SUMS, LayoutError, r"expected \(128, 8\) \(threads, values\) for C"),
        ("wgmma.m64n8k16.bf16", HERE, HERE, SUMS.astype(np.float64), LayoutError, "expected f32 in the registers of C"),
        ("wgmma.m64n8k16.bf16", HERE.advanced(1024), HERE, SUMS, TmaFault, "expected addresses of 0..2047"),
        ("mma.m16n8k16.bf16", HERE, HERE, SUMS, LayoutError, "expected an atom of wgmma"),
    ],
)
def test_products_that_are_refused(word, a, b, c, error, message):
    with pytest.raises(error, match=message):
        wgmma(word, np.zeros(2048, np.uint8), a, b, c)


def test_the_low_bits_of_tf32_do_not_count():
    row = atom("mma.m16n8k8.tf32")
    a, b, c = (np.full((32, n), x, np.float32) for n, x in ((4, 1.5), (2, 1 / 3), (4, 0)))
    cut = (b.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)

    assert isinstance(row, MmaAtom)
    assert (cut != b).all()
    assert np.array_equal(mma(row, a, b, c).values, mma(row, a, cut, c).values)
    assert (mma(row, a, b, c).values == np.float32(8 * 1.5) * cut[0, 0]).all()


def test_integers_wrap():
    row = atom("mma.m16n8k32.u8")
    a, b = np.full((32, 16), 255, np.uint8), np.full((32, 8), 255, np.uint8)
    got = mma(row, a, b, np.full((32, 4), 2**31 - 1, np.int32))

    assert (got.values == 2**31 - 1 + 32 * 255**2 - 2**32).all()
    assert (got.bound == 0).all()


def test_where_sums_overflow_or_are_not_finite_nothing_is_bounded():
    row = atom("mma.m16n8k16.f16.f16")
    a, b, c = (np.full((32, n), x, np.float16) for n, x in ((8, 63.0), (4, 63.0), (4, 0.0)))
    nan = a.copy()
    nan[0, 0] = np.nan

    assert np.isinf(mma(row, a, b, c).bound).all()  # 63504 and what may be added is more than 65504
    assert np.isfinite(mma(row, a / 2, b / 2, c).bound).all()
    assert np.isinf(mma(row, nan / 2, b / 2, c).bound).any()
