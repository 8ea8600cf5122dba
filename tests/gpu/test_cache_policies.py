"""Cache policies and prefetches in generated code: the text, and the machine code where a compiler is here."""

import re

import pytest

import gpu
from gpu.codegen import emit
from gpu.errors import CubinError
from gpu.machine_code import machine_code
from symlayout import Layout, dim, dims
from symlayout.atoms import ATOMS
from symlayout.kernel import Builder
from symlayout.kernels import bulk_copy, tma_copy, tma_transpose, vector_copy
from symlayout.tma import TensorMap
from tests.support.compilers import NEEDS_COMPILER

M, N = dims("M N")


def body(kernel):
    """The lines of the function behind its head."""
    return emit(kernel).text.partition('extern "C"')[2].partition("{\n")[2]


def test_a_policy_is_made_once_and_handed_to_each_copy():
    text = body(tma_copy(M, N, slots=4, blocks=132, loads="L2::evict_first", stores="L2::evict_last"))

    assert text.count("const uint64_t evict_first = l2_evict_first();") == 1
    assert re.search(r"tma_load_hint_2d\(ring \+ [^;]*,\s+evict_first\);", text)
    assert re.search(r"tma_store_hint_2d\(dst_map, [^;]*,\s+evict_last\);", text)


def test_without_a_policy_the_text_has_none():
    assert "evict" not in emit(tma_copy(M, N)).text
    assert "vector<16>(x) = vector<16>(src" in body(vector_copy(N))


def test_a_policy_has_a_name_that_nothing_else_has():
    k = Builder("named", grid=(1,), threads=32)
    x, r = k.global_tensor("evict_first", "f32", Layout(32)), k.registers("r", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r(), cache="L2::evict_first")

    assert "const uint64_t evict_first1 = l2_evict_first();" in body(k.kernel())
    assert "ld_global_4_hint(r, evict_first + thread, evict_first1);" in body(k.kernel())


def ahead():
    """Every kind of prefetch."""
    k = Builder("ahead", dim("N"), grid=(1,), threads=32)
    src = k.global_tensor("src", "f32", Layout((64, 4), (1, 64)))
    through = k.tensor_map("src_map", src(), TensorMap.over(Layout((64, 4), (1, 64)), "f32", (32, 2)))
    k.prefetch_l2(src(k.thread))
    k.prefetch_l2(src(k.thread), cache="L2::evict_last")
    with k.elect():
        k.prefetch_l2(src(), 64)
        k.prefetch_l2(src(), 64, "L2::evict_last")
        k.prefetch_l2(through(0, 2))
        k.prefetch_l2(through(0, 2), cache="L2::evict_first")
    return k.kernel()


def test_prefetches_have_code():
    text = body(ahead())

    for line in (
        "prefetch_l2(src + thread);",
        "prefetch_l2_evict_last(src + thread);",
        "bulk_prefetch(src, 64);",
        "bulk_prefetch_hint(src, 64, evict_last);",
        "tma_prefetch_2d(src_map, 0, 2);",
        "tma_prefetch_hint_2d(src_map, 0, 2, evict_first);",
    ):
        assert line in text


def accesses(word):
    """A kernel that makes one kind of access with each policy that it takes."""
    row = ATOMS[word]
    k = Builder("accesses", grid=(1,), threads=32)
    count = len(list(row.caching.policies()))
    x = k.global_tensor("x", "f32", Layout(128 * count))
    r = k.registers("r", "f32", 4 * count) if row.dst == "register" or row.src == "register" else None
    s = k.shared_tensor("s", "f32", Layout(128 * count)) if r is None else None
    for i, policy in enumerate(row.caching.policies()):
        far, near = x(128 * i + 4 * k.thread), r(4 * i) if r is not None else s(128 * i + 4 * k.thread)
        k.copy(word, *((near, far) if row.src == "register" else (far, near)), cache=policy)
    if row.dst == "register":
        out = k.global_tensor("out", "f32", Layout(128 * count))
        for i in range(count):
            k.copy(f"st.global.{row.bytes}", r(4 * i), out(128 * i + 4 * k.thread))
    return k.kernel()


KERNELS = {
    "tma_copy": lambda: tma_copy(M, N, loads="L2::evict_first", stores="L2::evict_unchanged"),
    "tma_transpose": lambda: tma_transpose(M, N, loads="L2::evict_first", stores="L2::evict_normal"),
    "bulk_copy": lambda: bulk_copy(N, loads="L2::evict_first", stores="L2::evict_last"),
    "vector_copy": lambda: vector_copy(N, loads="nc L1::no_allocate L2::256B", stores="cs L2::evict_first"),
    "ahead": ahead,
    **{
        w: (lambda w=w: accesses(w))
        for w in ("ld.global.16", "ld.global.4", "st.global.8", "cp.async.16", "cp.async.8")
    },
}


@NEEDS_COMPILER
@pytest.mark.parametrize("name", KERNELS)
def test_machine_code_has_what_a_policy_asks_for(name):
    kernel = KERNELS[name]()
    cubin = gpu.compile(emit(kernel).text)
    try:
        found = machine_code(kernel, cubin)
    except CubinError as e:
        pytest.skip(str(e))

    assert found, str(found)
