"""copy, copy_if, fill, clear, transform, reduce, axpby on NumPy are the loops that CuTe's documentation writes."""

from __future__ import annotations

import random

import ml_dtypes
import numpy as np
import pytest

from symlayout import Layout, LayoutError, Tensor, complement, make_identity_tensor, make_tensor
from symlayout.algorithms import (
    axpby,
    choose_copy,
    clear,
    cooperative_copy,
    copy,
    copy_if,
    fill,
    for_each,
    make_fragment_like,
    make_gmem_ptr,
    make_rmem_ptr,
    make_smem_ptr,
    prefetch,
    reduce,
    transform,
)
from symlayout.int_tuple import product, unflatten
from symlayout.tuple_functions import elem_less


def drawn(draw: random.Random, size: int) -> Layout:
    """A layout of *size*, compact in some order, padded, or with strides of 0."""
    shape, left = [], size
    while left > 1 and len(shape) < 3:
        n = draw.choice([d for d in range(1, left + 1) if left % d == 0])
        shape.append(n)
        left //= n
    shape.append(left)
    order, strides, at = draw.sample(range(len(shape)), len(shape)), [0] * len(shape), 1
    for i in order:
        strides[i] = at
        at *= shape[i] * draw.choice((1, 1, 2))
    nested = tuple(shape) if len(shape) < 3 or draw.random() < 0.5 else ((shape[0], shape[1]), *shape[2:])
    return Layout(nested, unflatten(tuple(strides), nested))


def generic_copy(src, dst):
    """The code of the seed, line by line."""
    for i in range(int(src.size())):
        dst.iterator[dst.layout(i)] = src(i)


@pytest.mark.parametrize("seed", range(60))
def test_a_copy_is_the_generic_loop(seed):
    draw = random.Random(seed)
    size = draw.choice((1, 2, 6, 12, 16, 24, 30))
    a, b = drawn(draw, size), drawn(draw, size)
    x = np.arange(1, int(a.cosize()) + 1, dtype=np.float32)
    want, got = np.zeros(int(b.cosize()), np.float32), np.zeros(int(b.cosize()), np.float32)
    generic_copy(make_tensor(x, a), make_tensor(want, b))
    copy(make_tensor(x, a), make_tensor(got, b))
    assert got.tolist() == want.tolist()
    if complement(b, int(b.cosize())).size() > 1:
        assert (want == 0).any()  # what the destination does not name keeps its value


@pytest.mark.parametrize("seed", range(30))
def test_a_copy_within_an_array_reads_what_it_has_written(seed):
    draw = random.Random(seed)
    a, b = drawn(draw, 12), drawn(draw, 12)
    n = 2 * max(int(a.cosize()), int(b.cosize()))
    shift = draw.randrange(0, n - int(b.cosize()) + 1)
    want = np.arange(n, dtype=np.int32)
    got = want.copy()
    generic_copy(make_tensor(want, a), Tensor(want[shift:], b))
    copy(make_tensor(got, a), Tensor(make_gmem_ptr(got) + shift, b))
    assert got.tolist() == want.tolist()


def test_columns_become_rows():
    got = np.zeros(6)
    copy(make_tensor(np.arange(1.0, 7.0), Layout((2, 3))), make_tensor(got, Layout((2, 3), (3, 1))))
    assert got.tolist() == [1, 3, 5, 2, 4, 6]
    flat = np.zeros(6)
    copy(make_tensor(np.arange(1.0, 7.0), Layout((2, 3))), make_tensor(flat, Layout(6)))
    assert flat.tolist() == [1, 2, 3, 4, 5, 6]


def test_a_repeated_destination_is_written_once_and_a_race_is_an_error():
    x, y = np.array([5.0, 7.0]), np.zeros(2)
    copy(make_tensor(x, Layout((2, 2), (1, 0))), make_tensor(y, Layout((2, 2), (1, 0))))
    assert y.tolist() == [5, 7]
    with pytest.raises(LayoutError, match=r"got elements 0 and 2 of \(2,2\):\(1,2\) .* threads would race"):
        copy(make_tensor(np.arange(4.0), Layout((2, 2))), make_tensor(y, Layout((2, 2), (1, 0))))


@pytest.mark.parametrize("source, target", [("float32", "bfloat16"), ("int32", "int8"), ("float32", "int32")])
def test_elements_are_converted_to_the_type_of_the_destination(source, target):
    kinds = {"bfloat16": ml_dtypes.bfloat16}
    x = np.array([1.00390625, -3.0, 257.0, 0.5]).astype(source)
    y = np.zeros(4, kinds.get(target, target))
    copy(make_tensor(x, Layout(4)), make_tensor(y, Layout(4)))
    assert y.tolist() == x.astype(y.dtype).tolist()


def test_bits_of_one_type_stay_as_they_are():
    bits = np.array([0x7FC00001, 0xFF800000, 0x00000001, 0x80000000], np.uint32)
    y = np.zeros(4, np.float32)
    copy(make_tensor(bits.view(np.float32), Layout(4)), make_tensor(y, Layout(4)))
    assert y.view(np.uint32).tolist() == bits.tolist()


def test_a_predicate_tiled_from_coordinates_keeps_a_copy_inside():
    """``0y_predication.md``: the coordinates of the padded tile, compared with the shape."""
    shape, padded = (3, 5), (4, 8)
    inside = make_identity_tensor(padded)
    x, y = np.arange(32.0), np.full(32, -1.0)
    copy_if(
        lambda i: elem_less(inside(i), shape), make_tensor(x, Layout(padded)), make_tensor(y, Layout(padded, (8, 1)))
    )
    grid = y.reshape(4, 8)
    assert (grid[:3, :5] == x.reshape(4, 8, order="F")[:3, :5]).all()
    assert (grid == -1).sum() == 32 - 15


def test_a_predicate_broadcasts_along_strides_of_0_and_over_vectors():
    x, y = np.arange(8, dtype=np.float32), np.full(8, -1, np.float32)
    src, dst = make_tensor(x, Layout((4, 2))), make_tensor(y, Layout((4, 2)))
    copy_if(make_tensor(np.array([0, 3]), Layout((4, 2), (0, 1))), src, dst)
    assert y.tolist() == [-1, -1, -1, -1, 4, 5, 6, 7]
    y[:] = -1
    one = Tensor(make_gmem_ptr(x), Layout((4, 2))), Tensor(make_smem_ptr(y), Layout((4, 2)))
    copy_if("cp.async.16", make_tensor(np.array([1, 0]), Layout(2)), *one)
    assert y.tolist() == [0, 1, 2, 3, -1, -1, -1, -1]
    with pytest.raises(LayoutError, match="expected a predicate of 8 elements"):
        copy_if(make_tensor(np.array([1, 0]), Layout(2)), src, dst)


def test_fill_and_clear_leave_what_is_not_theirs():
    a = np.arange(6, dtype=np.int8)
    fill(make_tensor(a, Layout(3, 2)), 300)
    assert a.tolist() == [44, 1, 44, 3, 44, 5]  # 300 wraps in 8 bits
    clear(make_tensor(a, Layout(2)))
    assert a.tolist() == [0, 0, 44, 3, 44, 5]
    b = np.array([np.nan, np.inf], np.float32)
    clear(make_tensor(b, Layout(2)))
    assert b.view(np.uint32).tolist() == [0, 0]


def test_transform_for_each_and_reduce():
    a, b, out = np.arange(4.0), np.full(4, 2.0), np.zeros(4)
    transform(*(make_tensor(x, Layout(4)) for x in (a, b, out)), lambda x, y: x - y)
    assert out.tolist() == [-2, -1, 0, 1]
    transform(make_tensor(a, Layout((2, 2), (2, 1))), make_tensor(out, Layout(4)), abs)
    assert out.tolist() == [0, 2, 1, 3]
    seen: list[float] = []
    for_each(make_tensor(a, Layout((2, 2), (2, 1))), seen.append)
    assert seen == [0, 2, 1, 3]
    assert reduce(make_tensor(a, Layout(4)), 1.0, lambda x, y: 10 * x + y) == 10123
    with pytest.raises(LayoutError, match="expected one to three tensors and a function"):
        transform(make_tensor(a, Layout(4)))


@pytest.mark.parametrize("seed", range(12))
def test_the_parts_of_a_cooperative_copy_are_the_copy(seed):
    draw = random.Random(seed)
    size, threads = draw.choice((16, 24, 64)), draw.choice((1, 4, 8))
    a, b = drawn(draw, size), drawn(draw, size)
    x = np.arange(1, int(a.cosize()) + 1, dtype=np.float32)
    whole, parts = (np.zeros(int(b.cosize()), np.float32) for _ in range(2))
    copy(make_tensor(x, a), make_tensor(whole, b))
    written = 0
    for t in range(threads):
        before = parts.copy()
        cooperative_copy(threads, t, make_tensor(x, a), make_tensor(parts, b))
        written += int((parts != before).sum())
    assert parts.tolist() == whole.tolist()
    assert written == size


@pytest.mark.parametrize("alpha, beta, x, y, want", [
    (2.0, 3.0, 1.0, 10.0, 32.0),
    (2.0, 0.0, 1.0, np.nan, 2.0),
    (2.0, 0.0, 1.0, np.inf, 2.0),
    (0.0, 3.0, np.nan, 10.0, 30.0),
    (0.0, 0.0, np.nan, np.inf, 0.0),
    (1.0, -1.0, np.inf, np.inf, np.nan),
    (2.0, 1.0, np.inf, 1.0, np.inf),
])  # fmt: skip
def test_a_vector_with_factor_0_is_not_read(alpha, beta, x, y, want):
    held = np.array([y])
    axpby(alpha, make_tensor(np.array([x]), Layout(1)), beta, make_tensor(held, Layout(1)))
    assert np.array_equal(held, [want], equal_nan=True)


@pytest.mark.parametrize("kind, unit", [(np.float32, 2.0**-24), (np.float16, 2.0**-11), (ml_dtypes.bfloat16, 2.0**-8)])
def test_axpby_errs_by_its_roundings(kind, unit):
    """Two products and a sum, each rounded to nearest: |error| <= u (|ax| + |by|) (1 + u) + u |result|, below."""
    draw = np.random.default_rng(1)
    x, y = (draw.uniform(-1, 1, 4096).astype(kind) for _ in range(2))
    alpha, beta = kind(1.7), kind(-0.3)
    exact = float(alpha) * x.astype(np.float64) + float(beta) * y.astype(np.float64)
    terms = abs(float(alpha) * x.astype(np.float64)) + abs(float(beta) * y.astype(np.float64))
    got = y.copy()
    axpby(alpha, make_tensor(x, Layout(4096)), beta, make_tensor(got, Layout(4096)))
    error = np.abs(got.astype(np.float64) - exact)
    least = 2.0**-25 if kind is np.float16 else 0
    assert (error <= unit * (2 * terms + unit * terms) + 3 * least).all()
    assert error.max() > unit * 0.2  # the bound is not of another order


def test_predicated_axpby_leaves_the_rest():
    y = np.ones(4)
    axpby(2.0, make_tensor(np.ones(4), Layout(4)), 1.0, make_tensor(y, Layout(4)), lambda i: i % 2)
    assert y.tolist() == [1, 3, 1, 3]


@pytest.mark.parametrize("call, said", [
    (lambda t: copy(t), r"expected copy\(\[atom,\] src, dst\)"),
    (lambda t: copy(t, make_tensor(np.zeros(3), Layout(3))), "expected tensors of one size for copy, got 4 of"),
    (lambda t: copy(make_tensor(np.zeros(3), Layout(4)), t), r"expected offsets of 0 \.\. 2 into the array"),
    (lambda t: prefetch(Tensor(make_smem_ptr(dtype="f32"), Layout(4))), "expected a tensor in global memory"),
    (lambda t: cooperative_copy(2, 2, t, t), r"expected a thread of 0 \.\. 1, got 2"),
    (lambda t: choose_copy(t, t), "expected pointers with a memory space"),
    (lambda t: make_gmem_ptr("x"), "expected the type of the elements of 'x'"),
    (lambda t: make_gmem_ptr(np.zeros((2, 2))), "expected a vector of float64 behind a pointer to f64, got 2 modes"),
    (lambda t: copy(Tensor(make_rmem_ptr("x", "f64"), Layout(4)), t), "expected a tensor over a NumPy array"),
])  # fmt: skip
def test_what_is_no_copy_is_an_error(call, said):
    with pytest.raises(LayoutError, match=said):
        call(make_tensor(np.zeros(4), Layout(4)))


def test_a_fragment_has_the_elements_of_a_tensor():
    x = Tensor(make_gmem_ptr(np.arange(64, dtype=np.float32)), Layout((4, 2), (16, 1)))
    r = make_fragment_like(x)
    print(copy(x, r))
    assert [r(i) for i in range(8)] == [x(i) for i in range(8)]
    assert product(r.shape) == 8
