"""Kernels whose tensors share bytes of shared memory."""

from __future__ import annotations

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import make_ring
from symlayout.kernel.specification import element, total
from symlayout.ops import Barrier, Op, Ref

N, K = dim("N", at_most=1 << 20), dim("K", at_most=1 << 20)


def twice(at: int = 0) -> Kernel:
    """Chunks of 64 elements are reversed by way of a tile, and reversed again by way of another over the first."""
    k = Builder("twice", N, grid=(N,), threads=64)
    src, dst = (k.global_tensor(name, "f32", Layout((64, N))) for name in ("src", "dst"))
    x = k.registers("x", "f32", 1)
    a = k.shared_tensor("a", "f32", Layout(64))
    b = k.shared_tensor("b", "f32", Layout(64), over=a(at))
    (block,), t = k.block, k.thread
    k.copy("ld.global.4", src(64 * block + t), x())
    for tile in (a, b):
        if tile is b:
            k.sync()
        k.copy("st.shared.4", x(), tile(t))
        k.sync()
        k.copy("ld.shared.4", tile(63 - t), x())
    k.copy("st.global.4", x(), dst(64 * block + t))
    k.result("dst", lambda m, n: element("src", m, n))
    return k.kernel()


def epilogue(slots: int = 2) -> Kernel:
    """Sums of columns, of rows that come through a ring by bulk loads; they leave reversed by a tile over the ring."""
    k = Builder("column_sums", K, grid=(4,), threads=96)
    src, dst = k.global_tensor("src", "f32", Layout((64, 4, K))), k.global_tensor("dst", "f32", Layout((64, 4)))
    ring = make_ring(k, "ring", "f32", Layout(64), slots=slots, consumers=2)
    out = k.shared_tensor("out", "f32", Layout(64), over=Ref(ring.name))
    (block,) = k.block
    with k.role("producer", 1), k.elect(), k.loop("i", K) as i, ring.produce(i) as slot:
        k.copy("bulk.load", src(256 * i + 64 * block), slot.at(), slot.full, nbytes=256)
    with k.role("consumer", 2):
        acc, x = k.registers("acc", "f32", 1), k.registers("x", "f32", 1)
        k.fill(acc(), 0)
        with k.loop("i", K) as i, ring.consume(i) as slot:
            k.copy("ld.shared.4", slot.at(k.thread), x())
            k.map("add", (acc(), x()), acc())
        k.sync(1, 64)
        k.copy("st.shared.4", acc(), out(63 - k.thread))
        k.fence("async")
        k.sync(1, 64)
        with k.elect():
            k.copy("bulk.store", out(), dst(64 * block), nbytes=256)
            k.commit("bulk")
            k.wait_group("bulk")
    k.result("dst", lambda m, n: total(K, lambda j: element("src", 63 - m, n, j)))
    return k.kernel()


def without_barrier(kernel: Kernel, which: int) -> Kernel:
    """The kernel without one of its barriers, in the order of their text."""
    left = [which]

    def change(op: Op) -> tuple[Op, ...]:
        if isinstance(op, Barrier):
            left[0] -= 1
            return () if left[0] == -1 else (op,)
        return (op,)

    return kernel.edited(change)
