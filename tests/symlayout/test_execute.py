"""The untimed run: functions by themselves, then small kernels of one idea each."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from symlayout import Layout, dims
from symlayout.dtype import DType
from symlayout.errors import AssumptionError, ExecutionError, LayoutError
from symlayout.expr import xor
from symlayout.kernel import Builder
from symlayout.kernels import tma_copy
from symlayout.ops import Box, Fence, Ref
from symlayout.semantics import execute, expect_reference
from symlayout.semantics.maps import FUNCTIONS, map_function
from symlayout.swizzle import Swizzle
from symlayout.tma import TensorMap

ORDERS = ("eager", "lazy", 1, 2, 3)
WORDS = np.arange(256, dtype=np.uint32)


# -- functions -----------------------------------------------------------------------------------------------


def mapped(word, out, *sources):
    kinds = [DType.of(x.dtype) for x in sources]
    rows = [(k, x[None]) for k, x in zip(kinds, sources, strict=True)]
    return map_function(word).result(rows, DType.of(out), len(sources[0]))[0]


def test_numbers_are_rounded_once():
    rng = np.random.default_rng(1)
    a, b, c = (
        rng.standard_normal(500).astype(np.float32) * np.float32(2.0) ** rng.integers(-30, 30, 500) for _ in "abc"
    )
    for out in ("f32", "bf16", "f16"):
        got = mapped("fma", out, a, b, c)
        for x, *row in zip(got, a, b, c, strict=True):
            p, q, r = (Fraction(float(v)) for v in row)
            exact = p * q + r
            near = [x, np.nextafter(x, x.dtype.type(np.inf)), np.nextafter(x, x.dtype.type(-np.inf))]
            if np.isfinite([float(v) for v in near]).all():
                assert all(abs(Fraction(float(x)) - exact) <= abs(Fraction(float(v)) - exact) for v in near)


def test_conversions_saturate_as_cvt_does():
    x = np.array([300.7, -1.9, np.nan, 1e20, -1e20, 2.5], dtype=np.float32)

    assert mapped("convert", "u8", x).tolist() == [255, 0, 0, 255, 0, 2]
    assert mapped("convert", "i32", x).tolist() == [300, -1, 0, 2**31 - 1, -(2**31), 2]
    assert mapped("convert", "e4m3", x).astype(np.float32).tolist()[3:] == [448.0, -448.0, 2.5]
    assert mapped("convert", "bf16", np.array([1.00390625], np.float32)).view(np.uint16)[0] == 0x3F80  # a tie, to even


def test_functions_on_values():
    x, y = np.array([1, -2, 3], np.float32), np.array([4, 5, np.nan], np.float32)
    half = x.astype(ml_dtypes.bfloat16)

    assert mapped("add", "bf16", half, half).tolist() == [2, -4, 6]
    assert mapped("sub", "f32", x, half).tolist() == [0, 0, 0]
    assert mapped("relu", "f32", np.array([1, -1, np.nan], np.float32)).tolist() == [1, 0, 0]
    assert mapped("max", "f32", x, y).tolist() == [4, 5, 3]
    assert mapped("min", "f32", x, y).tolist() == [1, -2, 3]
    assert mapped("neg", "f32", x).tolist() == [-1, 2, -3]
    assert mapped("scale", "f32", x, np.array([2], np.float32)).tolist() == [2, -4, 6]
    assert mapped("mul", "u32", np.array([2**31, 3], np.uint32), np.array([2, 5], np.uint32)).tolist() == [0, 15]
    with pytest.raises(LayoutError, match=r"expected a function .convert, add.*, got 'tan'"):
        map_function("tan")
    with pytest.raises(LayoutError, match="expected an fma of at most 32 bits"):
        mapped("fma", "f64", *(np.zeros(1),) * 3)
    assert all(row.sentence for row in FUNCTIONS.values())


# -- kernels -------------------------------------------------------------------------------------------------


def builder(threads=64, name="k", **options):
    """A builder with words in and words out."""
    k = Builder(name, grid=options.pop("grid", (1,)), threads=threads, **options)
    return k, k.global_tensor("x", "u32", Layout(256)), k.global_tensor("y", "u32", Layout(256))


def moved(k, src, dst, at):
    r = k.registers("r", "u32", 1)
    k.copy("ld.global.4", src(at), r())
    k.copy("st.global.4", r(), dst(at))


def test_an_election_by_some_lanes_is_a_fault():
    """An H200 elected a lane that had not come: what a single lane should have stored was another's value."""
    k, _, y = builder(threads=32)
    r = k.registers("r", "u32", 1)
    with k.where(k.thread >= 30), k.elect():
        k.fill(r(), 1)
        k.copy("st.global.4", r(), y(k.thread))

    with pytest.raises(ExecutionError, match=r"expected all 32 lanes of warp 0 at elect\.sync, got 2"):
        execute(k.kernel().bind(), {})


@pytest.mark.parametrize("order", ORDERS)
def test_who_does_what(order):
    """Threads outside of roles, roles, elections and conditions: each writes the number of its thread."""
    k, _, y = builder(threads=96)
    r = k.registers("r", "u32", 1)

    def write(at, value):
        k.fill(r(), value)
        k.copy("st.global.4", r(), y(at))

    write(k.thread, 1)
    k.sync()
    with k.role("a", 1):
        with k.where(k.thread >= 30):
            write(k.thread, 2)
        with k.elect():
            write(0, 3)
    with k.role("b", 2):
        with k.elect(each_warp=True):
            write(32 + k.thread, 4)
        with k.elect():
            write(33 + k.thread, 5)
        with k.where(k.thread >= 32), k.elect():
            write(32 + k.thread, 6)
    k.sync()
    with k.elect():
        write(100, 7)

    want = np.ones(96)
    want[[30, 31]], want[0], want[[32, 64]], want[33], want[64] = 2, 3, 4, 5, 6
    got = execute(k.kernel().bind(), {}, order)["y"]
    assert got[:96].tolist() == want.tolist()
    assert (got[100], got[101]) == (7, 2**32 - 1)


def test_poison_travels_through_registers_and_is_named_where_it_ends():
    k, x, y = builder(threads=32)
    r, s = k.registers("r", "u32", 2), k.registers("s", "u32", 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.map("add", (r(), r(1)), s())
    with k.loop("i", 2) as i, k.where(k.thread + 16 * i >= 20):
        k.copy("st.global.4", s(), y(k.thread))
    bound = k.kernel().bind()

    with pytest.raises(
        ExecutionError, match=r"^CTA 0, i = 0: st.global.4 s -> y\[thread\]: thread 20 puts poison into byte 80"
    ):
        execute(bound, {"x": WORDS})
    with pytest.raises(ExecutionError, match="of y: r was never written there"):
        execute(bound, {"x": WORDS})
    assert execute(bound.edited(lambda op: []), {"x": WORDS})["x"].tolist() == WORDS.tolist()


def test_a_tensor_without_an_input_is_poison():
    k, x, y = builder(threads=32)
    moved(k, x, y, k.thread)

    with pytest.raises(ExecutionError, match="thread 0 puts poison into byte 0 of y: x was never written there"):
        execute(k.kernel().bind(), {})


@pytest.mark.parametrize("order", ORDERS)
def test_a_tensor_copy_carries_poison(order):
    bound = tma_copy(*dims("M N"), tile=(16, 64), slots=2, blocks=1).bind(M=24, N=64)

    with pytest.raises(
        ExecutionError, match=r"tma.store .*: stores poison of byte 0 of ring: src was never written there"
    ):
        execute(bound, {}, order)


@pytest.mark.parametrize("order", ["lazy", 1])
def test_shared_memory_between_warps_needs_a_barrier(order):
    def kernel(sync, other):
        k, x, y = builder(threads=64)
        tile, r = k.shared_tensor("tile", "u32", Layout(64)), k.registers("r", "u32", 1)
        k.copy("ld.global.4", x(k.thread), r())
        k.copy("st.shared.4", r(), tile(k.thread))
        if sync:
            k.sync()
        k.copy("ld.shared.4", tile(xor(k.thread, other)), r())
        k.copy("st.global.4", r(), y(k.thread))
        return k.kernel().bind()

    assert execute(kernel(True, 32), {"x": WORDS}, order)["y"][:3].tolist() == [32, 33, 34]
    with pytest.raises(ExecutionError, match=r"no barrier after st.shared.4 r -> tile\[thread\] by thread 1"):
        execute(kernel(False, 1), {"x": WORDS}, order)  # between lanes of a warp too
    in_step = kernel(False, 1).assuming(converged_warps=True)
    assert execute(in_step, {"x": WORDS}, order)["y"][:3].tolist() == [1, 0, 3]
    with pytest.raises(ExecutionError, match=r"no barrier after st.shared.4 r -> tile.thread. by thread 32 of the CTA"):
        execute(kernel(False, 32), {"x": WORDS}, order)
    assert execute(kernel(False, 32), {"x": WORDS})["y"][0] == 32  # eager asks for no order


def test_writes_of_two_warps_to_one_byte_need_order():
    k, _, _ = builder(threads=64)
    tile, r = k.shared_tensor("tile", "u32", Layout(64)), k.registers("r", "u32", 1)
    k.fill(r(), 1)
    with k.where(k.thread < 32):
        k.copy("st.shared.4", r(), tile(k.thread))
    with k.where(k.thread >= 32):
        k.copy("st.shared.4", r(), tile(k.thread - 32))

    with pytest.raises(
        ExecutionError, match=r"overwrites byte 0 of tile, without order after the write there \(st.shared"
    ):
        execute(k.kernel().bind(), {}, "lazy")


def test_barriers_that_nobody_ends():
    k, _, _ = builder(threads=96)
    with k.role("a", 1):
        k.sync(3, 64)
    with k.role("b", 2), k.loop("i", 2):
        k.sync(4, 64)
    with pytest.raises(
        ExecutionError,
        match=r"no thread can go on:\n  CTA 0, role a: barrier 3 of 64 threads: barrier 3 has 32 of 64 threads$",
    ):
        execute(k.kernel().bind(), {}, "lazy")

    k, _, _ = builder(threads=96)
    k.sync(0, 64)
    with pytest.raises(ExecutionError, match="expected at most 64 threads at barrier 0, got 96"):
        execute(k.kernel().bind(), {})


# -- clusters ------------------------------------------------------------------------------------------------


def multicast(end=True):
    """CTA 0 of each pair loads one box for both; both store it to rows of their own, and the second answers the first."""
    k = Builder("multicast", grid=(4,), threads=32, cluster=(2,))
    src = k.global_tensor("src", "u32", Layout((32, 2), (1, 32)))
    dst = k.global_tensor("dst", "u32", Layout((32, 4), (1, 32)))
    box, boxes = (
        k.tensor_map(n, t(), TensorMap.over(Layout((32, rows), (1, 32)), "u32", (32, 1)))
        for n, t, rows in (("s", src, 2), ("d", dst, 4))
    )
    tile = k.shared_tensor("tile", "u32", Layout(32))
    full, answer = k.mbarriers("full", 1, 1), k.mbarriers("answer", 1, 1)
    rank = k.block[0] % 2
    with k.elect():
        k.expect_tx(full(), 128)
    k.cluster_sync()
    with k.where(rank <= 0), k.elect():
        k.copy("tma.load", box(0, k.block[0] // 2), tile(), full(), multicast=3)
    k.wait(full(), 0)
    with k.elect():
        k.copy("tma.store", tile(), boxes(0, k.block[0]))
        k.commit("bulk")
        k.wait_group("bulk")
    with k.where(rank >= 1), k.elect():
        k.arrive(answer(), peer=0)
    with k.where(rank <= 0):
        if end:
            k.wait(answer(), 0)
    return k.kernel(reference=lambda src: {"dst": np.repeat(src, 2, axis=1)}).bind()


SRC = WORDS[:64].reshape(32, 2)


@pytest.mark.parametrize("order", ORDERS)
def test_a_box_for_all_of_a_cluster(order):
    expect_reference(multicast(), {"src": SRC}, order)


def test_an_arrival_at_a_cta_that_is_over():
    with pytest.raises(
        ExecutionError,
        match=r"CTA 1, rank 1: arrive answer.0. of CTA 0: expected CTA 0 to be running, but it has exited",
    ):
        execute(multicast(end=False), {"src": SRC})


def test_a_barrier_of_a_cluster_awaits_both():
    kernel = multicast()
    missing = kernel.edited(lambda op: [] if op.__class__.__name__ == "ExpectTx" else [op])

    with pytest.raises(
        ExecutionError,
        match=r"CTA 0, rank 0: wait full\[0\] parity 0 \(parity 0\): full\[0\] is in phase 0: 1 of 1 arrivals pending, -128 bytes pending\n  CTA 1",
    ):
        execute(missing, {"src": SRC}, "lazy")


# -- bad input -----------------------------------------------------------------------------------------------


def test_what_cannot_be_run():
    kernel = tma_copy(*dims("M N"), tile=(16, 64), blocks=2)
    bound = kernel.bind(M=16, N=64)
    src = np.zeros((16, 64), np.float32)

    with pytest.raises(LayoutError, match="expected a kernel that is bound to sizes, got symbols M, N"):
        execute(kernel, {"src": src})
    with pytest.raises(LayoutError, match="expected an order of eager, lazy or a seed, got 'late'"):
        execute(bound, {"src": src}, "late")
    with pytest.raises(LayoutError, match=r"expected a global tensor .src, dst., got 'ring'"):
        execute(bound, {"ring": src})
    with pytest.raises(
        LayoutError, match=r"expected an array of shape \(16, 64\) and type float32 for src, got \(64, 16\) and float32"
    ):
        execute(bound, {"src": src.T})
    with pytest.raises(AssumptionError):
        kernel.bind(M=16)
    with pytest.raises(ExecutionError, match=r"CTA 0, role producer, i = 0: tma.load .*stride_multiple_16"):
        execute(kernel.bind(M=16, N=3), {"src": np.zeros((16, 3), np.float32)})


def test_what_an_instruction_cannot_do():
    def said(write):
        k, x, y = builder(threads=32)
        write(k, x, y, k.shared_tensor("tile", "u32", Layout(64)), k.registers("r", "u32", 4))
        with pytest.raises(ExecutionError) as e:
            execute(k.kernel().bind(), {"x": WORDS}, "lazy")
        return str(e.value)

    assert "expected a tensor in global memory, got shared tile" in said(
        lambda k, x, y, t, r: k.copy("ld.global.4", t(), r())
    )
    assert "expected a tensor (x, y, tile, r), got 'z'" in said(
        lambda k, x, y, t, r: k.copy("ld.global.4", Ref("z"), r())
    )
    assert "expected an instruction that can be run" in said(lambda k, x, y, t, r: k.copy("ld.global.5", x(), r()))
    assert "expected bytes of 0 .. 15 of r, got 4 .. 19" in said(
        lambda k, x, y, t, r: k.copy("ld.global.16", x(), r(1))
    )
    assert "expected a place in a tensor, got m(0,)" in said(
        lambda k, x, y, t, r: k.copy("ld.global.4", Box("m", (0,)), r())
    )
    assert "expected 2 sources of add, got 1" in said(lambda k, x, y, t, r: k.map("add", (r(),), r()))
    assert "multiple of 16 bytes, got 4" in said(lambda k, x, y, t, r: k.copy("cp.async.16", x(1), t()))
    assert "expected one value of thread for all threads, got 0 and 1" in said(
        lambda k, x, y, t, r: k.add(Loop(k.thread))
    )


def Loop(extent):  # noqa: N802
    from symlayout.expr import index
    from symlayout.ops import For

    return For(index("i", extent), (Fence("async"),))


def test_a_swizzled_tile_is_read_where_the_copy_put_it():
    k = Builder("swizzled", grid=(1,), threads=32)
    src, dst = (k.global_tensor(n, "u32", Layout((8, 32), (32, 1))) for n in ("src", "dst"))
    box = k.tensor_map("m", src(), TensorMap.over(Layout((32, 8), (1, 32)), "u32", (32, 8), swizzle=128))
    tile, full, r = k.shared_tensor("tile", "u32", Layout(256)), k.mbarriers("full", 1, 1), k.registers("r", "u32", 1)
    with k.elect():
        k.expect_tx(full(), 1024)
        k.copy("tma.load", box(0, 0), tile(), full())
    k.wait(full(), 0)
    with k.loop("i", 8) as i:
        k.copy("ld.shared.4", tile(Swizzle(3, 2, 3)(32 * i + k.thread)), r())
        k.copy("st.global.4", r(), dst(32 * i + k.thread))
    kernel = k.kernel(reference=lambda src: {"dst": src}).bind()

    for order in ORDERS:
        expect_reference(kernel, {"src": WORDS.reshape(8, 32)}, order)
