"""What proofs leave to the code generator and the compiler: the list of docs/generated_code.md, one test for each entry."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from gpu import ptx
from gpu.codegen import emit
from gpu.codegen.launcher import launcher
from gpu.codegen.printer import Printer
from gpu.compiling import ptxas
from gpu.ptx.functions import PACKED, SCALARS
from gpu.ptx.rows import FIXED
from symlayout import Layout, dims
from symlayout.atoms import ATOMS, Extent
from symlayout.atoms.cache import L2_PRIORITIES
from symlayout.atoms.functions import APPROXIMATE
from symlayout.expr import eq
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import gemm, tma_copy, tma_transpose
from symlayout.ops import (
    GROUPS,
    OPERATIONS,
    SHUFFLES,
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Init,
    Inval,
    Let,
    LoadIndex,
    Map,
    Mma,
    PeerCopy,
    Prefetch,
    PrefetchL2,
    Reduce,
    Role,
    Shuffle,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.tma import TensorMap
from tests.support.kernel_families import FAMILIES

PAGE = Path(__file__).parents[2] / "docs" / "generated_code.md"
# Which order nothing: they touch no memory.
FREE = (
    *("elect_one", "pack_bf16", "pack_f16"),
    *(f"l2_{word}" for word in L2_PRIORITIES),
    *(f.name for f in (*SCALARS, *PACKED)),
)
BY_NAME = {f.name: f for f in FIXED}
CLUSTER = gemm(*dims("M N K", at_most=1 << 20), cluster=2)


def test_the_page_lists_what_has_a_test():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(encoding="utf-8"), flags=re.M)

    assert sorted(listed) == sorted(name.removeprefix("test_assumed_") for name in globals() if "test_assumed_" in name)
    assert sorted(listed) == sorted(ABOUT)


# What each entry is about: operations, and fields of a kernel. A new one has to be put somewhere.
ABOUT: dict[str, set[object]] = {
    "order": {*OPERATIONS},
    "instructions": {Copy, Mma, "tensors"},
    "kept": {Barrier, BarrierArrive, WarpBarrier, Fence},
    "shared": {"tensors", "barriers", Init, Inval},
    "threads": {"threads", Role},
    "election": {Elect},
    "scopes": {Arrive, Wait, ExpectTx},
    "groups": {Commit, WaitGroup, CpAsyncArrive},
    "cluster": {"cluster", ClusterArrive, ClusterBarrier, ClusterWait, PeerCopy},
    "launch": {"name", "grid", "threads", "ctas_per_sm", "parameters", "dims"},
    "places": {"tensors", "maps", Copy},
    "conditions": {If},
    "loops": {For},
    "cursors": {For},
    "names": {Let, LoadIndex},
    "lanes": {Shuffle, Reduce},
    "rounding": {Map, Fill},
    "functions": {Map},
    "hints": {Prefetch, PrefetchL2, Copy},
    "integers": {"index_bits", "wide"},
    "registers": {"tensors", Role},
}
# Fields of which no text is made: statements that proofs are about, where a kernel comes from, what tests compare.
NOT_PRINTED = {"given", "converged_warps", "rings", "results", "sizes", "origin", "reference", "unbound", "body"}


def test_the_list_is_about_every_operation_and_every_field_of_a_kernel():
    without_order = {x for name, xs in ABOUT.items() if name != "order" for x in xs}

    assert {x for x in without_order if isinstance(x, type)} == {*OPERATIONS}
    assert {x for x in without_order if isinstance(x, str)} | NOT_PRINTED == {f.name for f in fields(Kernel)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.word)
def test_assumed_order(family):
    class Watched(Printer):
        def visit(self, site):
            seen.append((site.op, len(self.out)))
            super().visit(site)
            ends.append(len(self.out))

    seen, ends = [], []
    kernel = family.build()
    Watched(kernel).source()

    assert [op for op, _ in seen] == list(kernel.walk())
    assert [line for _, line in seen] == sorted(line for _, line in seen)
    assert len(ends) == len(seen)


def test_assumed_kept():
    kept = [f for f in FIXED if "asm" in f.body and f.name not in FREE]

    assert len(kept) > 60
    assert [f.name for f in kept if f.body.count("asm volatile") != f.body.count("asm")] == []
    assert [f.name for f in kept if '"memory"' not in f.body] == []


def test_assumed_shared():
    kernel = tma_copy(*dims("M N"), tile=(16, 64), slots=3)
    text = emit(kernel).text
    mbarriers = [
        int(n) for n in re.findall(r"uint64_t\* const \w+ = reinterpret_cast<uint64_t\*>\(shared \+ (\d+)", text)
    ]

    assert "extern __shared__ __align__(1024) uint8_t shared[];" in text
    assert all(
        f"{t.name} = reinterpret_cast<float*>(shared{f' + {t.base}' if t.base else ''})" in text
        for t in kernel.tensors
        if t.space == "shared"
    )
    assert mbarriers == [kernel.shared_bytes - 48, kernel.shared_bytes - 24]
    assert all(n % 8 == 0 for n in mbarriers)


def test_assumed_threads():
    kernel = tma_transpose(*dims("M N"))
    text = emit(kernel).text
    producer = next(op for op in kernel.walk() if isinstance(op, Role) and op.name == "producer")

    assert "const int thread = threadIdx.x;" in text
    assert f"const int thread = threadIdx.x - {32 * producer.first_warp};" in text
    assert f"if (threadIdx.x / 32 <= {producer.first_warp - 1})" in text


@pytest.mark.parametrize("by, test", [("elect.sync", "elect_one()"), ("lane 0", "thread % 32 == 0")])
def test_assumed_election(by, test):
    k = Builder("elects", grid=(1,), threads=64)
    x = k.global_tensor("x", "f32", Layout(32))
    r = k.registers("r", "f32", 1)
    k.fill(r())
    with k.elect(by=by):
        k.copy("st.global.4", r(), x())

    assert f"if (thread < 32 && {test})" in emit(k.kernel()).text
    assert "elect.sync _|p, 0xffffffff;" in BY_NAME["elect_one"].body


def test_assumed_scopes():
    texts = [f.body for f in FIXED if f.name.startswith("mbarrier_")]
    stated = {f.name for f in FIXED if re.search(r"mbarrier\.\S*\.(release|acquire)\.cluster", f.body)}

    assert not any("relaxed" in text for text in texts)
    words = ("arrive", "arrive_times", "arrive_at", "arrive_at_times", "try_wait", "try_wait_by_tries")
    assert stated == {f"mbarrier_{word}_cluster" for word in words}
    counted = [f.body for f in FIXED if "_times" in f.name]
    assert len(counted) == 4
    assert all(re.search(r"_, \[(%0\], %1|remote\], %2);", text) for text in counted)


def test_assumed_cluster():
    assert "barrier.cluster.arrive.release.aligned" in BY_NAME["cluster_sync"].body
    assert "barrier.cluster.wait.acquire.aligned" in BY_NAME["cluster_sync"].body
    assert "__cluster_dims__(2, 1, 1)" in emit(CLUSTER).text
    assert emit(CLUSTER).cluster == (2,)


@pytest.mark.parametrize("function, word", [("add", "__fadd_rn"), ("mul", "__fmul_rn"), ("fma", "__fmaf_rn")])
def test_assumed_rounding(function, word):
    k = Builder("rounds", grid=(1,), threads=32)
    x = k.registers("x", "f32", 2)
    k.map(function, (x(),) * (3 if function == "fma" else 2), x(1))

    assert f"x[1] = {word}(x[0]," in emit(k.kernel()).text


def test_assumed_integers():
    kernel = next(f for f in FAMILIES if f.word == "row_sum").build()

    assert kernel.wide
    assert "int64_t(" in emit(kernel).text


WORDS = sorted(w for w in ATOMS if not w.startswith(("ld.", "st.")))


@pytest.mark.parametrize("kind", sorted({w.partition(".")[0] for w in WORDS}))
def test_assumed_instructions(kind):
    """The section of PTX of a function is that of the atom; ld and st are accesses of C++, of so many bytes."""
    for word in (w for w in WORDS if w.partition(".")[0] == kind):
        row, name = ATOMS[word], word.replace(".", "_")
        if row.extent is Extent.BOX:
            name += "_2d"
        told = ptx.function(name).source.partition(":")[0]

        assert told, word
        assert f"PTX ISA, {told}".startswith(row.source) or row.source.startswith(f"PTX ISA, {told}"), word


def test_assumed_groups():
    k = Builder("groups", grid=(1,), threads=128)
    for group in GROUPS:
        k.commit(group)
        k.wait_group(group, 2)
    k.wait_group("bulk", 1, read=True)
    text = emit(k.kernel()).text

    for group in ("cp_async", "bulk", "wgmma"):
        assert re.search(rf"{group}_commit_group\(\);\s+{group}_wait_group<2>\(\);", text)
    assert "bulk_wait_group_read<1>();" in text


@pytest.mark.parametrize("kernel", [CLUSTER, *(f.build() for f in FAMILIES)], ids=lambda k: k.name)
def test_assumed_launch(kernel):
    source, host = emit(kernel), launcher(kernel)
    more = "" if kernel.ctas_per_sm is None else f", {kernel.ctas_per_sm}"

    assert (source.threads, source.shared_bytes, source.cluster) == (
        kernel.threads,
        kernel.shared_bytes,
        kernel.cluster,
    )
    assert f"__launch_bounds__({kernel.threads}{more})" in source.text
    assert f"{kernel.threads}, 1, 1, {kernel.shared_bytes}, stream," in host
    assert all(f"const Int grid_{axis} = " in host for axis, _ in zip("xyz", kernel.grid, strict=False))


def test_assumed_places():
    M, N = dims("M N", at_most=1 << 10)
    k = Builder("places", M, N, grid=(4,), threads=32)
    x, r = k.global_tensor("x", "bf16", Layout((M, N), (N, 1))), k.registers("r", "bf16", 2)
    tile, through = (
        k.shared_tensor("tile", "bf16", Layout(512)),
        TensorMap.over(Layout((N, M), (1, N)), "bf16", (64, 8)),
    )
    box, full = k.tensor_map("x_map", x(), through), k.mbarriers("full", 1, 1)
    k.copy("ld.global.4", x(N * k.block[0] + 2 * k.thread), r())
    with k.elect():
        k.copy("tma.load", box(64 * k.block[0], 8), tile(), full())
    text = emit(k.kernel()).text

    assert "vector<4>(r) = vector<4>(x + N * block_x + 2 * thread);" in text
    assert "tma_load_2d(tile, x_map, 64 * block_x, 8, full);" in text
    assert list(through.global_dim) == [N, M]


def test_assumed_conditions():
    (N,) = dims("N", at_most=1 << 10)
    k = Builder("conditions", N, grid=(4,), threads=32)
    t = k.thread
    facts = (3 * t + 5 <= N, t > 7, eq(t, 9), N.multiple_of(8), t + N < 40)
    for fact in facts:
        with k.where(fact):
            k.sync()
    tests = re.findall(r"if \((.*)\) \{", emit(k.kernel()).text)

    assert len(tests) == len(facts)
    for fact, test in zip(facts, tests, strict=True):
        for n in (1, 8, 32, 37, 100):
            for thread in range(32):
                assert eval(test, {"N": n, "thread": thread}) == fact.subs({N: n, t: thread}).value


def test_assumed_loops():
    k = Builder("loops", grid=(1,), threads=32)
    r = k.registers("r", "f32", 4)
    with k.loop("i", 7):
        k.sync()
    with k.loop("j", 4, unroll="full") as j:
        k.fill(r(j))
    with k.loop("l", 6, unroll=2):
        k.sync()
    text = emit(k.kernel()).text

    assert re.findall(r"(#pragma unroll.*)?\n\s+for \(int (\w) = 0; \w < (\d+); \+\+\w\)", text) == [
        ("", "i", "7"),
        ("#pragma unroll", "j", "4"),
        ("#pragma unroll 2", "l", "6"),
    ]


def test_assumed_cursors():
    """The printed statements, taken step by step; ``test_cursors`` runs those of many kernels."""
    k = Builder("round", *dims("T"), grid=(1,), threads=32)
    full = k.mbarriers("full", 5, 1)
    with k.loop("wave", 4) as wave, k.loop("i", 9) as i:
        k.wait(full((9 * wave + i) % 5), (9 * wave + i) // 5 % 2)
    text = " ".join(emit(k.kernel()).text.split())
    loops = "for (int wave = 0; wave < 4; ++wave) { for (int i = 0; i < 9; ++i) { mbarrier_wait(full + slot, phase);"
    slot = phase = 0

    assert f"int slot = 0, phase = 0; {loops} if (++slot == 5) {{ slot = 0; phase ^= 1; }} }} }}" in text
    for use in range(36):
        assert (slot, phase) == (use % 5, use // 5 % 2)
        slot += 1
        if slot == 5:
            slot, phase = 0, phase ^ 1


def test_assumed_names():
    k = Builder("named", grid=(4,), threads=32)
    table, x, r = (
        k.global_tensor("t", "i32", Layout(32)),
        k.global_tensor("x", "f32", Layout(64)),
        k.registers("r", "f32", 1),
    )
    at = k.load_index("at", table(k.thread), within=(0, 32))
    twice = k.let("twice", 2 * at)
    k.copy("ld.global.4", x(twice), r())

    assert re.search(
        r"const int at = t\[thread\];\s+const int twice = 2 \* at;\s+.* = .*x \+ twice", emit(k.kernel()).text
    )


def test_assumed_lanes():
    k = Builder("lanes", grid=(1,), threads=32)
    r = k.registers("r", "f32", 2)
    for mode in SHUFFLES:
        k.shuffle(mode, r(), r(1), 3)
    k.reduce("add", r(), r(1), 1, 32)
    calls = re.findall(r"(__shfl\w*)\((\w+), ", emit(k.kernel()).text)

    assert [name for name, _ in calls] == [
        *("__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__shfl_xor_sync")
    ]
    assert {mask for _, mask in calls} == {"0xffffffff"}


@pytest.mark.parametrize("row", APPROXIMATE, ids=lambda row: row.word)
def test_assumed_functions(row):
    """An approximate function is the instruction of its name; how far that is from the value PTX says."""
    for kind in row.errors:
        text = BY_NAME[f"{row.word.replace('.', '_')}_{kind}"].body

        assert re.search(rf'asm\("{re.escape(row.word)}(\.ftz)?\.{kind} %0, %1;"', text)


@pytest.mark.parametrize("loads, stores", [("L2::evict_first", "L2::evict_last"), ("L2::evict_unchanged", "")])
def test_assumed_hints(loads, stores):
    """A text with cache policies is the plain one, but for them."""
    sizes = dims("M N")
    plain, hinted = (emit(tma_copy(*sizes, **hints)).text for hints in ({}, {"loads": loads, "stores": stores}))
    body = hinted[hinted.index('extern "C"') :]
    body = re.sub(r" +const uint64_t evict_\w+ = l2_evict_\w+\(\);\n", "", body)
    body = re.sub(r",\s+evict_(first|last|unchanged)\)", ")", body).replace("_hint_2d", "_2d")

    assert re.sub(r"\s+", "", body) == re.sub(r"\s+", "", plain[plain.index('extern "C"') :])


def test_assumed_registers():
    said = "ptxas info    : Function properties for k\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"

    assert {f.name for f in ptxas.findings(said)} >= {"spills"}
