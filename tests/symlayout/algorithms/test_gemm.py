"""gemm: the five cases of the documentation, the chains of cases, and what is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from symlayout import Layout, LayoutError, Tensor, make_tensor
from symlayout.algorithms import gemm, make_gmem_ptr, make_rmem_ptr, make_smem_ptr
from symlayout.algorithms.products import CASES, DOCUMENTED, chain
from symlayout.atoms import atom
from symlayout.semantics.matrix_sums import product_bound

V, M, N, K = 3, 2, 4, 5
EXTENTS = {"V": V, "M": M, "N": N, "K": K}
SUBSCRIPTS = {1: "v,v->v", 2: "m,n->mn", 3: "mk,nk->mn", 4: "vm,vn->vmn", 5: "vmk,vnk->vmn"}


def operands(case: int, seed: int = 0) -> tuple[list[np.ndarray], list[Tensor]]:
    """Small integers as arrays and as tensors over them, column-major."""
    draw = np.random.default_rng(seed)
    [names] = [names for number, names in CASES.values() if number == case]
    arrays, tensors = [], []
    for letters in names:
        shape = tuple(EXTENTS[x] for x in letters)
        data = draw.integers(-8, 9, int(np.prod(shape))).astype(np.float64)
        arrays.append(data.reshape(shape, order="F").copy())
        tensors.append(make_tensor(data, Layout(shape if len(shape) > 1 else shape[0])))
    return arrays, tensors


@pytest.mark.parametrize("case", SUBSCRIPTS)
def test_each_case_is_its_sum(case):
    (a, b, c), (x, y, z) = operands(case)
    want = c + np.einsum(SUBSCRIPTS[case], a, b)
    done = gemm(x, y, z)
    assert np.array_equal(z.iterator.reshape(want.shape, order="F"), want)
    assert done.cases == chain(case)
    terms = want.size * (K if case in (3, 5) else 1)
    assert (done.instruction, done.calls) == ("fma", terms)


def test_the_documentation_and_the_code_dispatch_differently():
    """The page says that (2) goes to (4) with V=1, and (3) to (2) for each k; gemm.hpp goes 2, 3, 5, 4, 1."""
    assert [chain(c, DOCUMENTED) for c in range(1, 6)] == [(1,), (2, 4, 1), (3, 2, 4, 1), (4, 1), (5, 4, 1)]
    assert [chain(c) for c in range(1, 6)] == [(1,), (2, 3, 5, 4, 1), (3, 5, 4, 1), (4, 1), (5, 4, 1)]


def test_a_matrix_of_the_reference():
    a, b, c = np.arange(6.0), np.arange(12.0), np.ones(8)
    x, y, z = make_tensor(a, Layout((2, 3))), make_tensor(b, Layout((4, 3))), make_tensor(c, Layout((2, 4)))
    d = np.zeros(8)
    gemm(make_tensor(d, Layout((2, 4))), x, y, z, mode="cute")
    assert d[:4].tolist() == [33, 41, 37, 46]  # CuTe keeps the last k where D is not C
    gemm(make_tensor(d, Layout((2, 4))), x, y, z)
    assert d[:4].tolist() == [41, 53, 47, 62]
    assert c.tolist() == [1] * 8
    gemm(x, y, z, mode="cute")
    assert c[:4].tolist() == [41, 53, 47, 62]


def test_with_one_k_both_modes_agree():
    (_, _, c), (x, y, z) = operands(2)
    d, e = np.zeros(M * N), np.zeros(M * N)
    gemm(make_tensor(d, Layout((M, N))), x, y, z)
    gemm(make_tensor(e, Layout((M, N))), x, y, z, mode="cute")
    assert d.tolist() == e.tolist()
    assert np.array_equal(z.iterator.reshape(c.shape, order="F"), c)


@pytest.mark.parametrize("shapes, said", [
    (((4, 2), (4, 2), (2, 4)), "expected M of one extent, got 4 of A and 2 of C"),
    (((2, 5), (4, 3), (2, 4)), r"expected K of one extent, got 5 of A and 3 of B .* as \(N,K\)"),
    (((2, 5), (5, 4), (2, 4)), "K the rightmost, and B is"),
    (((2, 3, 5), (3, 4, 5), (3, 2, 4)), "expected V of one extent, got 2 of A and 3 of B .* V is the leftmost mode"),
    ((4, 4, (4, 3)), "expected N of one extent, got 4 of B and 3 of C"),
    (((2, 2), 2, 2), r"expected tensors A x B x C of \(V\) x \(V\) x \(V\); .* got ranks \(2, 1, 1\)"),
])  # fmt: skip
def test_modes_in_another_order_are_errors(shapes, said):
    x, y, z = (make_tensor(np.zeros(64), Layout(s)) for s in shapes)
    with pytest.raises(LayoutError, match=said):
        gemm(x, y, z)


@pytest.mark.parametrize("case", SUBSCRIPTS)
def test_memory_spaces(case):
    """Registers always; shared memory for A and B of matrices, as gemm.hpp has overloads for them; global never."""
    _, plain = operands(case)
    of = [[Tensor(make(x.iterator), x.layout) for x in plain] for make in (make_rmem_ptr, make_smem_ptr, make_gmem_ptr)]
    registers, shared, device = of
    gemm(*registers)
    with pytest.raises(LayoutError, match="expected C of gemm in register memory, got shared"):
        gemm(*registers[:2], shared[2])
    with pytest.raises(LayoutError, match=r"expected A of gemm in .*register memory, got global"):
        gemm(device[0], *registers[1:])
    if case in (3, 5):
        gemm(*shared[:2], registers[2])
    else:
        with pytest.raises(LayoutError, match="expected B of gemm in register memory, got shared"):
            gemm(registers[0], shared[1], registers[2])


@pytest.mark.parametrize("word", ["mma.m16n8k16.bf16", "mma.m16n8k8.f16", "wgmma.m64n16k16.bf16"])
def test_an_mma_atom_multiplies_in_its_tiles_within_its_bound(word):
    row = atom(word)
    m, n, k = (2 * x for x in row.mnk)
    draw = np.random.default_rng(3)
    a, b = (draw.uniform(-1, 1, (s, k)).astype(row.dtype.numpy()) for s in (m, n))
    c = draw.uniform(-1, 1, (m, n)).astype(np.float32)
    exact = c + a.astype(np.float64) @ b.astype(np.float64).T
    tensors = [make_tensor(x.reshape(-1, order="F").copy(), Layout(x.shape)) for x in (a, b, c)]
    done = gemm(word, *tensors)
    assert (done.instruction, done.calls, done.cases) == (word, 8, (3, 5, 4, 1))
    error = np.abs(tensors[2].iterator.reshape((m, n), order="F") - exact)
    assert (error <= 2 * product_bound(row, a, b, c)).all()


@pytest.mark.parametrize("word, kind, shape, said", [
    ("mma.m16n8k16.bf16", np.float32, (16, 8, 16), "expected A, B and C of bf16, bf16, f32"),
    ("mma.m16n8k16.bf16", ml_dtypes.bfloat16, (16, 8, 24), "expected M, N, K in whole tiles of 16x8x16"),
    ("cp.async.16", ml_dtypes.bfloat16, (16, 8, 16), "expected an atom of a matrix product, got cp.async.16"),
])  # fmt: skip
def test_an_atom_that_does_not_fit_is_an_error(word, kind, shape, said):
    m, n, k = shape
    a, b, c = np.zeros(m * k, kind), np.zeros(n * k, kind), np.zeros(m * n, np.float32)
    with pytest.raises(LayoutError, match=said):
        gemm(word, *(make_tensor(x, Layout(s)) for x, s in ((a, (m, k)), (b, (n, k)), (c, (m, n)))))


@pytest.mark.parametrize("kind, unit", [(np.float32, 2.0**-24), (np.float16, 2.0**-11), (np.float64, 2.0**-53)])
def test_sums_of_fused_products_err_by_a_rounding_for_each_k(kind, unit):
    """K roundings of partial sums: at most K u sum |a b| (1 + u)^K (Higham, section 3.1); f64 rounds products too."""
    draw = np.random.default_rng(5)
    a, b = (draw.uniform(-1, 1, (8, 32)).astype(kind) for _ in range(2))
    c = np.zeros((8, 8), kind)
    tensors = [make_tensor(x.reshape(-1, order="F").copy(), Layout(x.shape)) for x in (a, b, c)]
    gemm(*tensors)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble).T
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    error = np.abs(tensors[2].iterator.reshape((8, 8), order="F").astype(np.longdouble) - exact)
    terms = 64 if kind is np.float64 else 32
    assert (error <= 1.01 * terms * unit * size).all()


@pytest.mark.parametrize("x, y, want", [(np.inf, 1.0, np.inf), (np.inf, 0.0, np.nan), (np.nan, 0.0, np.nan)])
def test_infinities_and_nan_spread(x, y, want):
    c = np.ones(1, np.float32)
    gemm(*(make_tensor(np.array([v], np.float32), Layout((1, 1))) for v in (x, y)), make_tensor(c, Layout((1, 1))))
    assert np.array_equal(c, [np.float32(want)], equal_nan=True)


def test_integers_wrap():
    a, b, c = (np.array([v], np.int8) for v in (100, 2, 100))
    gemm(*(make_tensor(x, Layout(1)) for x in (a, b, c)))
    assert c.tolist() == [44]


def test_there_is_no_product_of_no_terms():
    """K = 0 leaves C as it is (BLAS); a layout has no mode of extent 0, and says so."""
    with pytest.raises(LayoutError, match="expected extents of at least 1, got 0"):
        Layout((2, 0))
