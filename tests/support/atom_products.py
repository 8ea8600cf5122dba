"""Products of one instruction, of a warp and of a warpgroup, whose operands threads bring as the tables lay them."""

from __future__ import annotations

from symlayout import Layout
from symlayout.atoms import MatrixDescriptor, atom
from symlayout.dtype import DType
from symlayout.kernel import Builder
from symlayout.ops import Matrix
from symlayout.semantics.matrix import by_thread


def registers(k, name, dtype, threads, values):
    """Registers of each thread and the global tensor that they come from."""
    outside = k.global_tensor(name, dtype, Layout((values, threads)))
    held = k.registers(f"{name}_held", dtype, values)
    copied(k, outside, held, dtype, values, "ld")
    return outside, held


def copied(k, outside, held, dtype, values, name):
    step = min(4, values * dtype.bytes)
    for i in range(0, values, step // dtype.bytes):
        at, here = outside(values * k.thread + i), held(i)
        k.copy(f"{name}.global.{step}", *((at, here) if name == "ld" else (here, at)))


def finished(k, acc, sums, threads, values):
    out = k.global_tensor("out", sums, Layout((values, threads)))
    copied(k, out, acc, sums, values, "st")
    return k.kernel()


def warp(word, sums=None):
    row = atom(word)
    k = Builder("warp", grid=(1,), threads=32)
    counts = [by_thread(tv).shape[1] for tv in (row.tv_a, row.tv_b, row.tv_c)]
    kinds = (row.dtype, row.dtype, DType.of(sums or row.acc_dtype))
    a, b, acc = (registers(k, n, t, 32, v)[1] for n, t, v in zip("abc", kinds, counts, strict=True))
    k.mma(word, a(), b(), acc())
    return finished(k, acc, kinds[2], 32, counts[2]), counts


def warpgroup(word):
    """a and b from shared memory, sums in registers."""
    row, values = atom(word), by_thread(atom(word).tv_c).shape[1]
    (m, n, depth), unit = row.mnk, row.dtype.bytes
    k = Builder("warpgroup", grid=(1,), threads=128)
    tiles = {}
    for name, rows in (("a", m), ("b", n)):  # each thread brings its words of tiles that lie as the descriptors say
        size = rows * depth
        outside = k.global_tensor(name, row.dtype, Layout(size))
        inside = k.shared_tensor(f"{name}_tile", row.dtype, Layout(size))
        word_of = k.registers(f"{name}_word", row.dtype, 4 // unit)
        for first in range(0, size * unit // 4, 128):
            with k.where(k.thread < min(128, size * unit // 4 - first)):
                at = (first + k.thread) * 4 // unit if unit == 4 else (first + k.thread) * (4 // unit)
                k.copy("ld.global.4", outside(at), word_of())
                k.copy("st.shared.4", word_of(), inside(at))
        tiles[name] = Matrix(inside(), MatrixDescriptor(0, 128, 256))
    k.fence("async")
    k.sync()
    _, acc = registers(k, "c", row.acc_dtype, 128, values)
    k.fence("wgmma")
    k.mma(word, tiles["a"], tiles["b"], acc())
    k.commit("wgmma")
    k.wait_group("wgmma", 0)
    return finished(k, acc, row.acc_dtype, 128, values)
