"""Operations of a kernel in small kernels of one idea each: shuffles, reductions, scalars, names, tensor reductions."""

from __future__ import annotations

import numpy as np
import pytest

from symlayout import Layout, dim, dims
from symlayout.errors import ExecutionError, LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import axpby, gather_rows, row_sum
from symlayout.kernels.axpby import bound as bound_of_axpby
from symlayout.kernels.axpby import reference as axpby_reference
from symlayout.kernels.row_sum import bound as bound_of_sums
from symlayout.ops import SHUFFLES, Let
from symlayout.semantics import execute, expect_reference
from tests.support.kernel_families import BY_WORD, inputs

ORDERS = ("eager", "lazy", 1)
WARPS = 2
THREADS = 32 * WARPS


def lanes_kernel(body, dtype="u32", count=1, outputs=1):
    """Each thread loads *count* elements of src into x, *body* makes y of it, which goes to dst."""
    k = Builder("lanes", grid=(1,), threads=THREADS)
    src = k.global_tensor("src", dtype, Layout((count, THREADS)))
    dst = k.global_tensor("dst", dtype, Layout((outputs, THREADS)))
    x, y = k.registers("x", dtype, count), k.registers("y", dtype, outputs)
    size = k.tensors[0].dtype.bytes
    with k.loop("i", count) as i:
        k.copy(f"ld.global.{size}", src(count * k.thread + i), x(i))
    body(k, x, y)
    with k.loop("i", outputs) as i:
        k.copy(f"st.global.{size}", y(i), dst(outputs * k.thread + i))
    return k.kernel()


# -- shuffles ------------------------------------------------------------------------------------------------


def partner(mode, lane, n):
    """PTX ISA, shfl.sync, with the whole warp as its segment."""
    if mode == "idx":
        return n
    if mode == "up":
        return lane - n if lane >= n else lane
    if mode == "down":
        return lane + n if lane + n <= 31 else lane
    return lane ^ n


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("mode", SHUFFLES)
def test_a_shuffle_reads_the_lane_that_ptx_says(mode, order):
    src = np.arange(THREADS, dtype=np.uint32).reshape(1, -1) + 100
    for n in (0, 1, 5, 16, 31):
        kernel = lanes_kernel(lambda k, x, y, n=n: k.shuffle(mode, x(), y(), n))
        want = [int(src[0, 32 * w + partner(mode, lane, n)]) for w in range(WARPS) for lane in range(32)]

        assert execute(kernel, {"src": src}, order)["dst"][0].tolist() == want, n


def test_the_lane_may_differ_from_thread_to_thread_and_several_elements_move():
    src = np.arange(2 * THREADS, dtype=np.uint32).reshape(2, THREADS)
    kernel = lanes_kernel(lambda k, x, y: k.shuffle("idx", x(), y(), 31 - k.thread % 32, 2), count=2, outputs=2)
    want = src[:, [32 * w + 31 - lane for w in range(WARPS) for lane in range(32)]]

    assert (execute(kernel, {"src": src})["dst"] == want).all()


def some_lanes(k, x, y):
    with k.where(k.thread < 40):
        k.shuffle("bfly", x(), y(), 1)


def types(k, x, y):
    k.shuffle("bfly", x(), k.registers("z", "f32", 1)(), 1)


MISTAKES = {
    "some lanes of a warp": (some_lanes, "u32", "expected all 32 lanes of a warp .* got 8 of warp 1"),
    "a lane past the last": (lambda k, x, y: k.shuffle("idx", x(), y(), k.thread), "u32", r"0 \.\. 31, got 0 \.\. 63"),
    "half a word": (lambda k, x, y: k.shuffle("bfly", x(), y(), 1), "u16", "whole words of 32 bits"),
    "two types": (types, "u32", "of one type, got 1 elements of u32 and f32"),
    "a reduction by some": (lambda k, x, y: _reduce_some(k, x, y), "u32", "expected all 32 lanes"),
}


def _reduce_some(k, x, y):
    with k.elect():
        k.reduce("add", x(), y(), lanes=32)


@pytest.mark.parametrize("name", MISTAKES)
def test_what_lanes_may_not_do_together(name):
    body, dtype, message = MISTAKES[name]
    src = np.zeros((1, THREADS), dtype=dtype.replace("u", "uint"))
    with pytest.raises(ExecutionError, match=message):
        execute(lanes_kernel(body, dtype), {"src": src})


def test_a_reduction_by_some_threads_of_their_own_numbers_is_fine():
    def body(k, x, y):
        k.fill(y(), 0)
        with k.where(k.thread < 3):
            k.reduce("add", x(), y(), 4)

    src = np.arange(4 * THREADS, dtype=np.uint32).reshape(4, THREADS)
    assert execute(lanes_kernel(body, count=4), {"src": src})["dst"][0, :4].tolist() == [*src.sum(axis=0)[:3], 0]


def test_poison_travels_with_a_shuffle_and_a_reduction():
    def shuffled(k, x, y):
        z = k.registers("z", "u32", 1)
        with k.where(k.thread >= 1):
            k.fill(z(), 1)
        k.shuffle("bfly", z(), y(), 1)

    def reduced(k, x, y):
        z = k.registers("z", "u32", 1)
        with k.where(k.thread >= 1):
            k.fill(z(), 1)
        k.reduce("add", z(), y(), lanes=4)

    src = np.zeros((1, THREADS), np.uint32)
    with pytest.raises(ExecutionError, match=r"thread 1 puts poison .* z was never written there"):
        execute(lanes_kernel(shuffled), {"src": src})
    with pytest.raises(ExecutionError, match=r"thread 0 puts poison .* z was never written there"):
        execute(lanes_kernel(reduced), {"src": src})


@pytest.mark.parametrize("lanes", [1, 2, 8, 32])
@pytest.mark.parametrize("function", ["add", "mul", "min", "max"])
def test_a_reduction_has_the_bits_of_its_shuffles(function, lanes):
    """The order of a Reduce is that of the plain operations that it stands for."""

    def by_shuffles(k, x, y):
        z = k.registers("z", "f32", 1)
        k.map("convert", (x(),), y())
        with k.loop("j", 2) as j:
            k.map(function, (y(), x(j + 1)), y())
        distance = lanes // 2
        while distance:
            k.shuffle("bfly", y(), z(), distance)
            k.map(function, (y(), z()), y())
            distance //= 2

    src = np.random.default_rng(3).standard_normal((3, THREADS)).astype(np.float32)
    one = lanes_kernel(lambda k, x, y: k.reduce(function, x(), y(), 3, lanes), "f32", 3)
    other = lanes_kernel(by_shuffles, "f32", 3)
    found = [execute(k, {"src": src})["dst"] for k in (one, other)]

    assert found[0].tobytes() == found[1].tobytes()
    exact = {"add": np.sum, "mul": np.prod, "min": np.min, "max": np.max}[function](
        src.astype(np.float64).T.reshape(-1, 3 * lanes), axis=1
    )
    assert np.allclose(found[0][0].reshape(-1, lanes), exact[:, None], rtol=1e-4, atol=1e-5)


def test_words_and_numbers_that_no_operation_has():
    k = Builder("t", grid=(1,), threads=32)
    x = k.registers("x", "f32", 1)
    with pytest.raises(LayoutError, match="expected a shuffle of idx, up, down, bfly"):
        k.shuffle("xor", x(), x(), 1)
    with pytest.raises(LayoutError, match="expected a function of add, mul, min, max"):
        k.reduce("sub", x(), x())
    with pytest.raises(LayoutError, match=r"over 1, 2, 4, \.\. 32 lanes, got 1 over 3"):
        k.reduce("add", x(), x(), lanes=3)


def test_sums_of_rows_are_within_their_bound():
    kernel = row_sum(*dims("M N"), dim("ld", at_least=dim("N")), warps=2)
    for n in (1, 130, 1000):
        src = np.random.default_rng(n).standard_normal((5, n)).astype(np.float32)
        bound = kernel.bind(M=5, N=n, ld=-(-n // 4) * 4)
        off = np.abs(execute(bound, {"src": src})["dst"].astype(np.float64) - src.astype(np.float64).sum(axis=1))

        assert (off <= bound_of_sums(src)["dst"]).all()
        assert (bound_of_sums(src)["dst"] < 1e-2 * (1 + np.abs(src).sum(axis=1))).all(), "the bound is no free pass"


# -- scalars -------------------------------------------------------------------------------------------------


def scaled(**options):
    k = Builder("scaled", grid=(1,), threads=32)
    s = k.parameter("s", options.get("dtype", "f32"), options.get("within"))
    x = k.global_tensor("x", "f32", Layout(32))
    r = k.registers("r", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.map("mul", (s, r()), r())
    k.copy("st.global.4", r(), x(k.thread))
    return k.kernel()


X = np.arange(32, dtype=np.float32)


def test_a_scalar_is_one_number_for_all():
    assert (execute(scaled(), {"x": X, "s": 2.5})["x"] == 2.5 * X).all()
    assert (execute(scaled(dtype="i32"), {"x": X, "s": -3})["x"] == -3 * X).all()
    assert (execute(scaled(dtype="f16"), {"x": X, "s": 0.1})["x"] == np.float32(np.float16(0.1)) * X).all()
    assert "scalar s: f32 within (0,1)" in scaled(within=(0, 1)).text()


@pytest.mark.parametrize(
    "options, given, message",
    [
        ({}, {}, "expected a value for the scalar parameter s among the inputs, got none"),
        ({}, {"s": "one"}, "expected a number for scalar s: f32, got 'one'"),
        ({}, {"s": np.ones(2)}, r"expected a number of f32 for s, got array\(\[1., 1.\]\)"),
        ({"dtype": "i32"}, {"s": 1.5}, "expected a number of i32 for s, got 1.5"),
        ({"dtype": "u8"}, {"s": 300}, "expected a number of u8 for s, got 300"),
        ({"within": (0, 1)}, {"s": 1.5}, r"expected s within \(0,1\), got 1.5"),
        ({"within": (0, 1)}, {"s": np.nan}, r"expected s within \(0,1\), got nan"),
        ({}, {"t": 1}, r"expected a global tensor \(x\) or a scalar \(s\), got 't'"),
    ],
)
def test_scalars_that_do_not_fit(options, given, message):
    with pytest.raises((LayoutError, ExecutionError), match=message):
        execute(scaled(**options), {"x": X, **given})


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
def test_axpby_is_within_its_bound(dtype):
    if dtype == "f64":  # no type here holds the product
        kernel = axpby(dim("N"), dtype=dtype).bind(N=5)
        with pytest.raises(ExecutionError, match="expected an fma of at most 32 bits"):
            execute(kernel, {"x": np.ones(5), "y": np.ones(5), "alpha": 1, "beta": 1})
        return
    kernel = axpby(dim("N"), dtype=dtype).bind(N=1000)
    draw, kind = np.random.default_rng(2), kernel.tensor("x").dtype.numpy()
    given = {name: draw.standard_normal(1000).astype(kind) for name in "xy"} | {"alpha": 1.7, "beta": -0.3}
    got = execute(kernel, given)["dst"].astype(np.float64)
    off = np.abs(got - axpby_reference(**given)["dst"].astype(np.float64))

    assert (off <= bound_of_axpby(**given)["dst"]).all()
    assert off.max() > 0


# -- names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["row_sum", "axpby", "gather_rows", "tma_reduce_add"])
def test_a_name_is_what_it_stands_for(word):
    kernel = BY_WORD[word].build()
    assert any(isinstance(op, Let) for op in kernel.walk())
    assert not any(isinstance(op, Let) for op in kernel.plain.walk())
    assert kernel.plain.plain is kernel.plain

    for sizes in BY_WORD[word].sizes[3:5]:
        bound = kernel.bind(**sizes)
        given = inputs(bound)
        expect_reference(bound.plain, given, "lazy")
        assert kernel.plain.bind(**sizes).text() == bound.plain.text(), "in either order"


def test_a_name_in_an_extent_and_in_another_name():
    k = Builder("names", grid=(1,), threads=32)
    dst, one = k.global_tensor("dst", "u32", Layout(32)), k.registers("one", "u32", 1)
    n = k.let("n", 2 * k.block[0] + 3)
    m = k.let("m", n + 1)
    k.fill(one(), 0)
    two = k.registers("two", "u32", 1)
    k.fill(two(), 1)
    with k.loop("i", m):
        k.map("add", (one(), two()), one())
    k.copy("st.global.4", one(), dst(k.thread))
    kernel = k.kernel()

    assert (execute(kernel, {})["dst"] == 4).all()
    assert (execute(kernel.plain, {})["dst"] == 4).all()
    assert "for i < 2*block_x + 4" in kernel.plain.text()


def test_a_name_ends_with_its_body():
    k = Builder("scope", grid=(1,), threads=32)
    dst, r = k.global_tensor("dst", "u32", Layout(64)), k.registers("r", "u32", 1)
    k.fill(r(), 1)
    with k.where(k.thread < 4):
        n = k.let("n", 2 * k.thread)
    k.copy("st.global.4", r(), dst(n))

    with pytest.raises(ExecutionError, match=r"expected a value for n in n, got values for block_x, thread"):
        execute(k.kernel(), {})


def test_names_are_new():
    k = Builder("names", dim("N"), grid=(1,), threads=32)
    k.let("a", 1)
    k.parameter("alpha", "f32")
    with k.loop("i", 2):
        for name in ("a", "N", "thread", "block_x", "alpha", "i"):
            with pytest.raises(LayoutError, match=f"expected a name that nothing else has in names, got '{name}'"):
                k.let(name, 1)
    with pytest.raises(LayoutError, match="got 'a'"), k.loop("a", 2):
        pass


# -- values from memory --------------------------------------------------------------------------------------


def picked(low=0, dtype="i32"):
    """dst[t] = src[idx[t]], for a warp."""
    N = dim("N")
    k = Builder("picked", N, grid=(1,), threads=32)
    idx, src, dst = (k.global_tensor(n, t, Layout(m)) for n, t, m in
                     (("idx", dtype, 32), ("src", "u32", N), ("dst", "u32", 32)))  # fmt: skip
    r = k.registers("r", "u32", 1)
    at = k.load_index("at", idx(k.thread), (low, N))
    k.copy("ld.global.4", src(at), r())
    with k.where(at < 2):
        k.fill(r(), 9)
    k.copy("st.global.4", r(), dst(k.thread))
    return k.kernel()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dtype", ["u8", "i32", "i64"])
def test_a_value_is_read_and_chooses_threads(dtype, order):
    src = np.arange(50, 60, dtype=np.uint32)
    idx = np.random.default_rng(1).integers(0, 10, 32).astype(dtype.replace("i", "int").replace("u", "uint"))
    got = execute(picked(dtype=dtype).bind(N=10), {"src": src, "idx": idx}, order)["dst"]

    assert (got == np.where(idx < 2, 9, src[idx])).all()


@pytest.mark.parametrize("bad", [10, -1, 2**31 - 1])
def test_data_that_break_a_contract_are_named(bad):
    src, idx = np.arange(10, dtype=np.uint32), np.zeros(32, np.int32)
    idx[7] = bad
    says = rf"thread 7 reads a value that breaks its contract: expected 0 <= at <= 9 in idx\[7\], got {bad}"
    with pytest.raises(ExecutionError, match=says):
        execute(picked().bind(N=10), {"src": src, "idx": idx})


def test_a_contract_of_unsigned_words_is_not_fooled_by_their_sign():
    src, idx = np.arange(10, dtype=np.uint32), np.zeros(32, np.uint64)
    idx[3] = 2**64 - 1
    with pytest.raises(ExecutionError, match="got 18446744073709551615"):
        execute(picked(-5, "u64").bind(N=10), {"src": src, "idx": idx})


def test_what_is_no_index_is_not_read():
    src = np.arange(10, dtype=np.uint32)
    with pytest.raises(ExecutionError, match="expected a tensor of integers for at, got idx of f32"):
        execute(picked(dtype="f32").bind(N=10), {"src": src, "idx": np.zeros(32, np.float32)})
    with pytest.raises(ExecutionError, match="reads at from poison of idx: idx was never written there"):
        execute(picked().bind(N=10), {"src": src})


def test_a_value_of_threads_of_several_roles_does_not_choose_them():
    k = Builder("roles", grid=(1,), threads=64)
    idx, r = k.global_tensor("idx", "i32", Layout(64)), k.registers("r", "u32", 1)
    at = k.load_index("at", idx(k.thread), (0, 4))
    with k.where(at < 2):
        k.fill(r(), 1)
    with k.role("a", 1):
        k.sync()
    with k.role("b", 1):
        k.sync()

    with pytest.raises(ExecutionError, match="expected at inside one role, since it may differ from thread to thread"):
        execute(k.kernel(), {"idx": np.zeros(64, np.int32)})


def test_the_families_name_a_broken_index():
    bound = gather_rows(*dims("K M N"), tile=(4, 32), slots=2, blocks=2).bind(K=3, M=5, N=4)
    src, idx = np.zeros((3, 4), np.float32), np.array([0, 1, 2, 3, 0], np.int32)
    for order in ORDERS:
        with pytest.raises(ExecutionError, match=r"role producer, i = 0, r = 3.* 0 <= picked <= 2 in idx\[3\], got 3"):
            execute(bound, {"src": src, "idx": idx}, order)
