"""What proofs leave to the code generator and the compiler: the list of docs/generated_code.md, one test for each entry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpu.codegen import emit
from gpu.codegen.printer import Printer
from gpu.compiling import ptxas
from gpu.ptx.functions import PACKED, SCALARS
from gpu.ptx.rows import FIXED
from symlayout import Layout, dims
from symlayout.atoms.cache import L2_PRIORITIES
from symlayout.kernel import Builder
from symlayout.kernels import gemm, tma_copy, tma_transpose
from symlayout.ops import Role
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


@pytest.mark.parametrize("f", [f for f in FIXED if "asm" in f.body and f.name not in FREE], ids=lambda f: f.name)
def test_assumed_kept(f):
    assert f.body.count("asm volatile") == f.body.count("asm")
    assert '"memory"' in f.body


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
    assert stated == {f"mbarrier_{word}_cluster" for word in ("arrive", "arrive_at", "try_wait")}


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


def test_assumed_registers():
    said = "ptxas info    : Function properties for k\n    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"

    assert {f.name for f in ptxas.findings(said)} >= {"spills"}
