"""CuTe's page on tensor algorithms, sentence by sentence, and a walk through an accumulator layout; what errs in them.

The page is ``media/docs/cpp/cute/04_algorithms.md`` of CUTLASS. It errs, or is behind the code, in four places:

1. (2) does not go to (4) but to (3), then (5), (4), (1).
2. (3) does not go to (2) for each K but to (5), which goes to (4) for each K.
3. Tensors need equal sizes, not shapes: the predicate of ``copy_if`` too, and with an atom it may have a mode less.
4. ``gemm(D, A, B, C)`` with K > 1 and D other than C keeps the last k alone.

The walk is an answer about the accumulator of wgmma. Its formula has 4c where the layout, and its own examples, have 16c.
"""

from __future__ import annotations

import numpy as np
import pytest

from symlayout import Layout, LayoutError, Tensor, dim, make_tensor
from symlayout.algorithms import (
    axpby,
    choose_copy,
    clear,
    copy,
    copy_if,
    fill,
    gemm,
    make_gmem_ptr,
    make_rmem_ptr,
    make_smem_ptr,
)
from symlayout.algorithms.products import CASES, DOCUMENTED, NEXT, chain
from symlayout.atoms import atom


def gmem(layout, kind="f32"):
    return Tensor(make_gmem_ptr(dtype=kind), layout)


def smem(layout, kind="f32"):
    return Tensor(make_smem_ptr(dtype=kind), layout)


def rmem(layout, kind="f32"):
    return Tensor(make_rmem_ptr(dtype=kind), layout)


# -- copy -----------------------------------------------------------------------------------------------


def test_copy_copies_the_elements_of_a_source_into_a_destination():
    src, dst = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    copy(make_tensor(src, Layout((2, 4))), make_tensor(dst, Layout((2, 4), (4, 1))))
    assert dst.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]


def test_copy_dispatches_based_on_the_types_of_its_arguments():
    """Synchronous and asynchronous instructions, by type, location, shape and stride."""
    assert choose_copy(gmem(Layout(8)), rmem(Layout(8))).waits == ()
    assert choose_copy(gmem(Layout(8)), smem(Layout(8))).waits == ("cp.async group", "CTA barrier")
    assert choose_copy(gmem(Layout(8, 2)), rmem(Layout(8))).atom == "ld.global.4"
    assert choose_copy(gmem(Layout(8), "f64"), rmem(Layout(8), "f64")).elements == 2


def test_copy_has_two_main_overloads():
    src, dst = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    a, b = Tensor(make_gmem_ptr(src), Layout(4)), Tensor(make_smem_ptr(dst), Layout(4))
    assert copy(a, b).choice.atom == "cp.async.16"  # a default, by the types of the two tensors
    assert copy("cp.async.4", a, b).choice.atom == "cp.async.4"  # an atom overrides it
    assert dst.tolist() == src.tolist()


def test_synchronisation_depends_on_parameter_types_and_users_are_told():
    """Users are expected to figure this out, says the page; here the call says it."""
    of = {
        "ld.global.16": (gmem, rmem, ()),
        "st.shared.16": (rmem, smem, ("CTA barrier",)),  # __syncthreads()
        "cp.async.16": (gmem, smem, ("cp.async group", "CTA barrier")),
        "bulk.load": (gmem, smem, ("mbarrier",)),
        "bulk.store": (smem, gmem, ("bulk group",)),
    }
    for word, (src, dst, waits) in of.items():
        assert choose_copy(src(Layout(8)), dst(Layout(8)), word).waits == waits


def test_the_generic_copy_line_by_line():
    """``for (int i = 0; i < size(src); ++i) dst(i) = src(i);``: 1-D coordinates, a logical column-major order."""
    src, dst = make_tensor(np.arange(6.0), Layout((2, 3), (3, 1))), make_tensor(np.zeros(6), Layout((3, 2)))
    visited = []
    for i in range(int(src.size())):
        visited.append(src.layout(i))
        dst.iterator[dst.layout(i)] = src(i)
    assert visited == [0, 3, 1, 4, 2, 5]
    again = make_tensor(np.zeros(6), Layout((3, 2)))
    copy(src, again)
    assert again.iterator.tolist() == dst.iterator.tolist()


def test_its_three_optimisations():
    # 1. known memory spaces with optimised access instructions
    assert choose_copy(gmem(Layout(4)), smem(Layout(4))).atom == "cp.async.16"
    # 2. four ld.global.b32 can be one ld.global.b128 where that is proven, for layouts with sizes too
    assert choose_copy(gmem(Layout(4)), rmem(Layout(4))).atom == "ld.global.16"
    rows = Layout((4, 8), (1, dim("ld", multiple_of=4)))
    assert choose_copy(gmem(rows), rmem(Layout((4, 8)))).atom == "ld.global.16"
    # 3. the instruction is validated for the tensors
    with pytest.raises(LayoutError, match=r"ld\.global\.16, which moves 4 elements that lie side by side"):
        choose_copy(gmem(Layout(8, 2)), rmem(Layout(8)), "ld.global.16")


def test_copy_if_copies_where_the_predicate_is_nonzero():
    src, dst = np.arange(1.0, 5.0), np.zeros(4)
    copy_if(make_tensor(np.array([0, 1, -2, 0]), Layout(4)), make_tensor(src, Layout(4)), make_tensor(dst, Layout(4)))
    assert dst.tolist() == [0, 2, 3, 0]
    other = np.zeros(4)  # of another shape, and the same size
    predicate = make_tensor(np.array([0, 1, 1, 0]), Layout((2, 2)))
    copy_if(predicate, make_tensor(src, Layout(4)), make_tensor(other, Layout(4)))
    assert other.tolist() == dst.tolist()


# -- gemm -----------------------------------------------------------------------------------------------


def test_what_gemm_computes_depends_on_the_number_of_modes():
    modes = {case: tuple(f"({','.join(n)})" for n in names) for case, names in CASES.values()}
    assert modes == {
        1: ("(V)", "(V)", "(V)"),
        2: ("(M)", "(N)", "(M,N)"),
        3: ("(M,K)", "(N,K)", "(M,N)"),
        4: ("(V,M)", "(V,N)", "(V,M,N)"),
        5: ("(V,M,K)", "(V,N,K)", "(V,M,N)"),
    }
    for ranks, (case, names) in CASES.items():
        assert ranks == tuple(map(len, names))
        assert all(n.index("K") == len(n) - 1 for n in names if "K" in n), case  # K is rightmost
        assert all(n.index("V") == 0 for n in names if "V" in n), case  # V is leftmost


def test_the_page_and_the_code_dispatch_differently():
    assert {c: (DOCUMENTED.get(c), NEXT.get(c)) for c in range(1, 6)} == {
        1: (None, None),  # to FMA or MMA
        2: (4, 3),
        3: (2, 5),
        4: (1, 1),
        5: (4, 4),
    }
    v = np.arange(1.0, 4.0)
    done = gemm(*(make_tensor(v.copy(), Layout(3)) for _ in range(2)), make_tensor(np.zeros(9), Layout((3, 3))))
    assert done.cases == chain(2) == (2, 3, 5, 4, 1)


def test_an_atom_overrides_the_default_fma():
    row = atom("mma.m16n8k8.f16")
    a, b, c = np.ones(16 * 8, np.float16), np.ones(8 * 8, np.float16), np.zeros(16 * 8, np.float32)
    shapes = (16, 8), (8, 8), (16, 8)
    done = gemm(row, *(make_tensor(x, Layout(s)) for x, s in zip((a, b, c), shapes, strict=True)))
    assert (done.instruction, done.calls) == ("mma.m16n8k8.f16", 1)
    assert (c == 8).all()


# -- axpby, fill, clear ---------------------------------------------------------------------------------


def test_axpby_assigns_alpha_x_plus_beta_y_to_y():
    y = np.array([10.0, 20.0])
    axpby(3.0, make_tensor(np.array([1.0, 2.0]), Layout(2)), 0.5, make_tensor(y, Layout(2)))
    assert y.tolist() == [8, 16]


def test_fill_and_clear_overwrite_the_elements():
    x = np.arange(4.0)
    fill(make_tensor(x, Layout(4)), 2.5)
    assert x.tolist() == [2.5] * 4
    clear(make_tensor(x, Layout(4)))
    assert x.tolist() == [0] * 4


# -- the accumulator ------------------------------------------------------------------------------------

ACC = Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512)))


@pytest.mark.parametrize("t, d, at", [
    (1, 0, (0, 2)), (4, 0, (1, 0)), (32, 0, (16, 0)), (0, 1, (0, 1)), (0, 2, (8, 0)), (0, 4, (0, 8)),
])  # fmt: skip
def test_the_six_examples_of_the_walk(t, d, at):
    k = ACC(t, d)
    assert (k % 64, k // 64) == at


def test_the_rest_is_linear_and_the_coefficient_of_the_warp_is_16():
    assert atom("wgmma.m64n64k16.bf16").tv_c == ACC
    wrong = 0
    for t in range(128):
        for v in range(32):
            (a, b, c), (x, y, z) = (t % 4, t // 4 % 8, t // 32 % 4), (v % 2, v // 2 % 2, v // 4 % 8)
            assert ACC(t, v) == 128 * a + b + 16 * c + 64 * x + 8 * y + 512 * z
            wrong += ACC(t, v) != 128 * a + b + 4 * c + 64 * x + 8 * y + 512 * z  # as the walk has it
    assert wrong == 3 * 32 * 32  # right for the first warp alone
    assert sorted(ACC(i) for i in range(64 * 64)) == list(range(64 * 64))
