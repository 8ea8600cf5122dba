"""Mutants of cache policies and prefetches: one that a run catches is not proved, one that is proved changes no byte."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from benchmarks.kernel_mutation import judged
from benchmarks.kernel_slips import mutants
from symlayout import Layout, dims
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element
from symlayout.ops import Copy, PrefetchL2
from symlayout.tma import TensorMap

(N,) = dims("N", multiple_of=64)
SIZES = ({"N": 64}, {"N": 192})


def lines() -> Kernel:
    """A streaming copy that prefetches the line of each vector, and the bytes of each CTA."""
    k = Builder("lines", N, grid=(N // 64,), threads=32)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    x = k.registers("x", "f32", 2)
    at = 64 * k.block[0] + 2 * k.thread
    k.prefetch_l2(src(at), cache="L2::evict_last")
    with k.elect():
        k.prefetch_l2(src(64 * k.block[0]), 256)
    k.copy("ld.global.8", src(at), x(), cache="L1::no_allocate")
    k.copy("st.global.8", x(), dst(at), cache="cs")
    k.result("dst", lambda i: element("src", i))
    return k.kernel(reference=lambda src: {"dst": src})


def boxes() -> Kernel:
    """An update in place that prefetches its box."""
    k = Builder("boxes", N, grid=(N // 64,), threads=32)
    x = k.global_tensor("x", "f32", Layout(N))
    through = k.tensor_map("x_map", x(), TensorMap.over(Layout(N), "f32", (64,)))
    r = k.registers("r", "f32", 2)
    at = 64 * k.block[0] + 2 * k.thread
    with k.elect():
        k.prefetch_l2(through(64 * k.block[0]), cache="L2::evict_first")
    k.copy("ld.global.8", x(at), r(), cache="cg")
    k.copy("st.global.8", r(), x(at), cache="L2::evict_last")
    k.result("x", lambda i: element("x", i))
    return k.kernel(reference=lambda x: {"x": x})


def about_caches(kernel: Kernel) -> list[tuple[str, Kernel]]:
    """The mutants whose operation is a prefetch, or whose policy is another."""
    plain = [str(op) for op in kernel.walk() if isinstance(op, PrefetchL2)]
    return [(name, m) for name, m in mutants(kernel) if ": cache " in name or any(p in name for p in plain)]


@pytest.mark.parametrize("build", [lines, boxes])
def test_no_mutant_of_a_hint_is_proved_and_caught(build: Callable[[], Kernel]) -> None:
    """A word that the instruction does not take is refuted alone: a run does not look at it."""
    found = [judged(name, m, SIZES, Counter()) for name, m in about_caches(build())]
    kinds = Counter(j.kind for j in found)

    assert {*kinds} == {"both", "equivalent", "refuted only"}
    assert all("cache -> nc" in j.name for j in found if j.kind == "refuted only")
    assert len(found) >= 12


def test_each_policy_of_a_copy_has_mutants() -> None:
    policies = [op for op in lines().walk() if isinstance(op, Copy | PrefetchL2) and op.cache is not None]
    names = [name for name, _ in about_caches(lines())]

    assert all(any(str(op) in name and ": cache -> none" in name for name in names) for op in policies)
