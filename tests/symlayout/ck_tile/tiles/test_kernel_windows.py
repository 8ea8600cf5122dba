"""Windows in kernels: loads and stores are copies that leave what NumPy and the windows themselves say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gpu
from checkers import InBounds, WrittenOnce, claims_of, prove, window_claims
from gpu.codegen import emit
from simulator import simulate
from symlayout import Layout, LayoutError, ceil_div, dim
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TensorView,
    kernel_view,
    load_tile,
    make_buffer_view,
    make_naive_tensor_view,
    make_static_tile_distribution,
    make_tile_window,
    move_tile_window,
    pad_tensor_view,
    store_tile,
    transpose_tensor_view,
    update_tile,
)
from symlayout.kernel import Builder
from symlayout.ops import Copy
from symlayout.results import element
from symlayout.semantics import execute
from tests.support.ck_tiles import ACCUMULATOR, FRAGMENTS, GEMM_A
from tests.support.ck_views import im2col
from tests.support.compilers import NEEDS_COMPILER

M, K = dim("M", at_most=1 << 14), dim("K", at_most=1 << 14)


def padded(rows, columns, tile, *, vector=-1, dtype="f32", transposed=False):
    """A row-major view padded to whole tiles; *transposed*, its columns are its first dimension."""
    view = make_naive_tensor_view(None, (rows, columns), (columns, 1), vector, 1 if vector > 1 else -1, dtype=dtype)
    return pad_tensor_view(transpose_tensor_view(view) if transposed else view, tile, (True, True))


def copies(encoding, rows, columns, *, threads, version="V24", source=None, **options):
    """(kernel, window on the source) that copies tile by tile, by one distribution."""
    d = make_static_tile_distribution(encoding)
    sizes = tuple(x for x in (rows, columns) if type(x) is not int)
    k = Builder("copies", *sizes, grid=tuple(map(ceil_div, (rows, columns), d.lengths)), threads=threads)
    views = source or padded(rows, columns, d.lengths, **options), padded(rows, columns, d.lengths, **options)
    windows = [
        make_tile_window(
            kernel_view(k, name, view),
            d.lengths,
            tuple(n * b for n, b in zip(d.lengths, k.block, strict=False)),
            d,
            version=version,
        )
        for name, view in zip("ab", views, strict=True)
    ]
    store_tile(windows[1], load_tile(windows[0]))
    return k.kernel(), windows[0].window


CASES = {
    "vectors of 8": lambda: copies(GEMM_A, 150, 40, threads=256, vector=8, dtype="bf16"),
    "vectors of 4": lambda: copies(GEMM_A, 150, 44, threads=256, vector=4),
    "elements": lambda: copies(GEMM_A, 150, 33, threads=256),
    "a snake": lambda: copies(ACCUMULATOR, 40, 37, threads=64),
    "columns": lambda: copies(ACCUMULATOR, 40, 36, threads=64, version="V25"),
    "rows of a transpose": lambda: copies(
        ACCUMULATOR, 40, 36, threads=64, source=padded(36, 40, (32, 32), vector=4, transposed=True)
    ),
}


def numbers(tensor):
    shape = tuple(int(n) for n in np.atleast_1d(tensor.layout.shape))
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape).astype(tensor.dtype.numpy())


@pytest.mark.parametrize("name", CASES)
def test_a_run_leaves_what_numpy_says(name):
    kernel, _ = CASES[name]()
    a = numbers(kernel.tensors[0])
    wanted = a if a.shape == kernel.tensors[1].layout.shape else a.T

    assert np.array_equal(execute(kernel.bind(), {"a": a}, "lazy")["b"], wanted)


def dump(view, encoding, threads, version):
    """(kernel that writes each thread's registers out, in the order of D, window): of a tile at (0, 0) and at (b, b)."""
    d = make_static_tile_distribution(encoding)
    k = Builder("dump", grid=(2,), threads=threads)
    out = k.global_tensor(
        "out",
        view.buffer.dtype,
        Layout((2, threads, int(d.registers)), (threads * int(d.registers), int(d.registers), 1)),
    )
    window = make_tile_window(
        kernel_view(k, "a", view), d.lengths, tuple(n * k.block[0] for n in d.lengths), d, version=version
    )
    tile = load_tile(window)
    for y in itertools.product(*map(range, d.encoding.y_lengths)):
        at = (k.block[0] * threads + k.thread) * int(d.registers) + d.register(y)
        k.copy(f"st.global.{view.buffer.dtype.bytes}", tile(*y), out(at))
    return k.kernel(), window.window


@pytest.mark.parametrize(
    "encoding, threads, view, version",
    [
        (GEMM_A, 256, padded(150, 48, (128, 32), vector=4), "V24"),
        (FRAGMENTS, 256, padded(150, 20, (128, 16), vector=4), "V25"),
        (ACCUMULATOR, 64, padded(40, 40, (32, 32), vector=4, transposed=True), "V24"),
        (ACCUMULATOR, 64, padded(40, 40, (32, 32)), "V24"),
        (ACCUMULATOR, 64, padded(40, 40, (32, 32)), "V25"),
    ],
    ids=["gemm", "replicated", "by columns", "by elements", "by elements, without turns"],
)
def test_registers_are_those_of_the_window(encoding, threads, view, version):
    """What each thread of each CTA holds is what ``TileWindow.load`` gives it at that origin."""
    kernel, window = dump(view, encoding, threads, version)
    a = numbers(kernel.tensors[1])
    found = execute(kernel.bind(), {"a": a}, 1)["out"]
    memory = TensorView(make_buffer_view(a.reshape(-1), a.size), view.descriptor)
    for b in range(2):
        here = make_tile_window(memory, window.lengths, tuple(n * b for n in window.lengths), window.distribution)

        assert np.array_equal(found[b], here.load().registers.reshape(threads, -1))


@pytest.mark.parametrize("name", [name for name in CASES if "transpose" not in name])
def test_copies_by_windows_are_proved(name):
    report = prove(CASES[name]()[0])

    assert report, "\n".join(str(v) for v in report.verdicts if v.outcome is not Outcome.PROVED)


@NEEDS_COMPILER
@pytest.mark.parametrize("name", ["vectors of 8", "a snake"])
def test_copies_by_windows_compile(name):
    source = emit(CASES[name]()[0])

    assert gpu.compile(source.text, name="copies.cu").kernel(source.name).registers <= 64


def test_a_vector_that_straddles_is_refuted_in_the_kernel():
    """33 elements of a row under vectors of 8 that the view claims to guarantee."""
    report = prove(copies(GEMM_A, 150, 33, threads=256, vector=8)[0])

    assert {v.claim.kind for v in report.verdicts if v.outcome is Outcome.REFUTED} >= {"aligned", "in bounds"}


def test_a_window_of_a_kernel_has_the_claims_of_windows():
    kernel, window = copies(GEMM_A, M, K, threads=256, vector=8, dtype="bf16")
    report = prove(*window_claims(window, stores=True), given=[K.multiple_of(8)])

    assert report, str(report)
    assert kernel.bind(M=150, K=40).grid == (2, 2)


def test_a_transpose_by_windows_is_proved_for_all_sizes():
    """b(m,n) = a(n,m): loaded by vectors along the rows of memory, stored by elements."""
    rows, columns = dim("rows"), dim("columns", at_most=32 * 65535)
    turned = padded(columns, rows, (32, 32), vector=4, transposed=True)
    d = make_static_tile_distribution(ACCUMULATOR)
    k = Builder("turned", rows, columns, grid=(ceil_div(rows, 32), ceil_div(columns, 32)), threads=64)
    views = kernel_view(k, "a", turned), kernel_view(k, "b", padded(rows, columns, (32, 32)))
    source, target = (make_tile_window(v, (32, 32), (32 * k.block[0], 32 * k.block[1]), d) for v in views)
    store_tile(target, load_tile(source))
    k.result("b", lambda m, n: element("a", n, m))

    assert source.window.vector == (1, 4)
    assert prove(k.kernel(rows.multiple_of(4)))


def test_a_loop_over_tiles_moves_the_window():
    """A CTA goes along the rows of its tiles, which move by 32 columns."""
    d = make_static_tile_distribution(GEMM_A)
    k = Builder("rows", M, K, grid=(ceil_div(M, 128),), threads=256)
    a, b = (kernel_view(k, x, padded(M, K, (128, 32), vector=8, dtype="bf16")) for x in "ab")
    first = [make_tile_window(v, (128, 32), (128 * k.block[0], 0), d) for v in (a, b)]
    with k.loop("i", ceil_div(K, 32)) as i:
        source, target = (move_tile_window(w, (0, 32 * i)) for w in first)
        store_tile(target, load_tile(source))
    k.result("b", lambda m, n: element("a", m, n))
    kernel = k.kernel(K.multiple_of(8))
    given = numbers(kernel.bind(M=150, K=72).tensors[0])

    assert prove(kernel)
    assert np.array_equal(execute(kernel.bind(M=150, K=72), {"a": given}, 3)["b"], given)
    assert simulate(kernel.bind(M=4096, K=4096), what_if=False, uncertainty=False).bytes == 2 * 2 * 4096 * 4096


def through(space, operation="set", dtype="f32", owners=False, encoding=GEMM_A):
    """A kernel that loads tiles and updates, or stores, them in the same places of another view."""
    d = make_static_tile_distribution(encoding)
    k = Builder("updates", grid=tuple(map(ceil_div, (150, 40), d.lengths)), threads=256)
    a = kernel_view(k, "a", padded(150, 40, d.lengths, vector=4, dtype=dtype))
    buffer = make_buffer_view(None, 150 * 40, space=space, dtype=dtype)
    view = TensorView(buffer, a.view.descriptor, operation)
    at = tuple(n * b for n, b in zip(d.lengths, k.block, strict=True))
    source, target = (make_tile_window(v, d.lengths, at, d) for v in (a, kernel_view(k, "b", view)))
    tile = load_tile(source)
    if owners:
        target.store(tile, owners=True)
    else:
        update_tile(target, tile)
    return k.kernel()


@pytest.mark.parametrize(
    "operation, dtype, wanted, word",
    [
        ("set", "f32", lambda a, b: a, "st.global.16"),
        ("add", "f32", lambda a, b: a + b, "st.global.16"),
        ("atomic_add", "f32", lambda a, b: a + b, "red.global.add.v4.f32"),
        ("atomic_add", "bf16", lambda a, b: a + b, "red.global.add.bf16x2"),
        ("atomic_max", "i32", np.maximum, "red.global.max.i32"),
    ],
)
def test_an_update_is_that_of_the_view(operation, dtype, wanted, word):
    kernel = through("global", operation, dtype)
    a = numbers(kernel.tensors[0]) % 100
    b = (100 - a).astype(a.dtype)
    found = execute(kernel.bind(), {"a": a, "b": b}, "lazy")["b"]

    assert word in {op.atom for op in kernel.walk() if isinstance(op, Copy)}
    assert np.array_equal(found, wanted(a, b))


def test_one_of_the_threads_that_hold_an_element_may_store_it():
    shared, owned = through("global", encoding=FRAGMENTS), through("global", encoding=FRAGMENTS, owners=True)
    a = numbers(owned.tensors[0])

    assert prove(WrittenOnce(shared, "b")).verdicts[0].outcome is Outcome.REFUTED
    assert prove(WrittenOnce(owned, "b"))
    assert np.array_equal(execute(owned.bind(), {"a": a})["b"], a)


@pytest.mark.parametrize(
    "make, message",
    [
        (
            lambda: copies(ACCUMULATOR, 64, 64, threads=128),
            r"a distribution for the 128 threads of copies, got one for",
        ),
        (lambda: through("lds", "atomic_add"), "expected atomic_add on a global buffer, got one in lds"),
        (lambda: through("vgpr"), "expected a window of global memory or LDS to copy, got vgpr buffer"),
        (lambda: through("global", "atomic_max"), "expected a type that red.global.max takes, got f32"),
    ],
)
def test_windows_that_no_copy_is(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_tiles_of_other_windows_are_refused():
    d, other = map(make_static_tile_distribution, (GEMM_A, FRAGMENTS))
    k = Builder("other", grid=(1,), threads=256)
    view = kernel_view(k, "a", padded(128, 32, (128, 32)))
    tile = load_tile(make_tile_window(view, d.lengths, (0, 0), d))
    with pytest.raises(LayoutError, match="expected a f32 tile of R=\\[2\\]"):
        store_tile(make_tile_window(view, other.lengths, (0, 0), other), tile)
    with pytest.raises(LayoutError, match="expected 2 Y indices"):
        tile(1)
    with pytest.raises(LayoutError, match="with a tile distribution"):
        make_tile_window(view, d.lengths, (0, 0))
    with pytest.raises(LayoutError, match="expected a view of the global buffer of 4096 f32 of a"):
        view.through(padded(4, 4, (4, 4)))


def test_an_image_of_any_size_loads_inside():
    """Implicit GEMM, every size a symbol: pads bound rows and columns, the guard of the merges the image."""
    operand = im2col()
    buffer = make_buffer_view(None, operand.element_space_size, dtype="bf16")
    view = pad_tensor_view(TensorView(buffer, operand), (128, 32), (True, True))
    d = make_static_tile_distribution(GEMM_A)
    k = Builder(
        "image",
        *view.symbols,
        grid=tuple(ceil_div(n, t) for n, t in zip(operand.lengths, (128, 32), strict=True)),
        threads=256,
    )
    window = make_tile_window(kernel_view(k, "a", view), d.lengths, (128 * k.block[0], 32 * k.block[1]), d)
    load_tile(window)
    first = next(c for c in claims_of(k.kernel()) if isinstance(c, InBounds))

    assert [v.method for v in prove(first).verdicts] == ["positivity, T9"]
