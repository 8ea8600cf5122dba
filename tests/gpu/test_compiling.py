"""CUDA becomes a cubin without a GPU: by either compiler, once for each content, and never with spills unnoticed."""

import doctest
import functools
import importlib
import json
import shutil
import sys
import textwrap
import time
from pathlib import Path

import pytest

import gpu
from gpu.compiling import compiler, ptxas, store, toolchains
from gpu.compiling.options import Options
from gpu.compiling.store import Kept, Store
from gpu.compiling.toolchains import Nvcc, Nvrtc, Outcome, Toolchain
from gpu.cubin import sass
from gpu.errors import CompileError, CubinError, NoCompilerError
from symlayout.kernels.families import family

DATA = Path(__file__).parent / "data"
KERNELS = Path(__file__).parents[2] / "benchmarks" / "hardware" / "reference_kernels"
FILL = 'extern "C" __global__ void fill(int* p, int n) { p[threadIdx.x] = n; }\n'

COMPILERS = [
    pytest.param(
        name, marks=pytest.mark.skipif(kind.found() is None, reason=f"no {name} here; {toolchains.INSTALL}"), id=name
    )
    for name, kind in toolchains.TOOLCHAINS.items()
]
every_compiler = pytest.mark.parametrize("by", COMPILERS)


@functools.cache
def reference(name, by):
    source, headers = (KERNELS / f"{name}.cu").read_text(), {"ptx.cuh": (KERNELS / "ptx.cuh").read_text()}
    return gpu.compile(source, name=f"{name}.cu", headers=headers, compiler=by, cache=False)


# -- real compilers ----------------------------------------------------------------------------------------


@every_compiler
def test_kernels_by_hand(by):
    gemm, copy = (
        reference("wgmma_gemm", by).kernel("wgmma_gemm"),
        reference("tma_ring_copy", by).kernel("tma_ring_copy"),
    )

    assert [p.size for p in gemm.parameters] == [128, 128, 128, 4, 4, 4]
    assert all((0x210 + p.offset) % 128 == 0 for k in (gemm, copy) for p in k.parameters if p.size == 128)
    assert (gemm.registers, gemm.max_threads, gemm.stack_bytes) == (168, 384, 0)  # 65536 / 384, a multiple of 8
    assert 0 < copy.registers <= 32


@every_compiler
def test_instructions_of_kernels_by_hand(by):
    try:
        sass.disassembler()
    except CubinError as e:
        pytest.skip(str(e))
    code = reference("wgmma_gemm", by).instructions("wgmma_gemm")

    # 64 elements of K in steps of 16; one load of each operand, that of B for the cluster; 4 parts of 64 columns
    assert code.count("HGMMA.64x256x16.F32.BF16") == 4
    assert (code.count("UTMALDG.2D"), code.count("UTMALDG.2D.MULTICAST")) == (2, 1)
    assert (code.count("UTMASTG"), code.count("STSM.16.M88.4"), code.count("USETMAXREG")) == (4, 16, 2)
    assert (code.count("STL"), code.count("LDL")) == (0, 0)


@every_compiler
@pytest.mark.parametrize(
    "options, kernel",
    [
        ({"defines": ("NAME=other",)}, "other"),
        ({"line_info": True}, "NAME"),
        ({"max_registers": 32, "contract": False, "std": "c++20", "arch": "sm_80"}, "NAME"),
    ],
)
def test_options(by, options, kernel):
    cubin = gpu.compile(FILL.replace("fill", "NAME"), compiler=by, cache=False, **options)

    assert [k.name for k in cubin.kernels] == [kernel]
    assert cubin.arch == options.get("arch", "sm_90a")


@pytest.mark.skipif(Nvcc.found() is None, reason="no nvcc here")
def test_the_environment_adds_no_options(monkeypatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-DN=wrong")
    source = "#ifdef N\n#error options from elsewhere\n#endif\n" + FILL

    assert gpu.compile(source, compiler="nvcc", cache=False).kernel("fill").registers > 0


@every_compiler
def test_headers_that_kernels_include(by):
    # CCCL declares CUtensorMap too; nvcc, which has the real header, would need seconds to say the same
    names = ("cuda.h", "cstdint", "cuda_bf16.h", *("cuda/barrier",) * (by == "nvrtc"))
    source = "".join(f"#include <{name}>\n" for name in names) + FILL.replace("int n", "uint64_t n, CUtensorMap m")

    assert [p.size for p in gpu.compile(source, compiler=by, cache=False).kernel("fill").parameters] == [8, 8, 128]


@every_compiler
def test_contraction_is_an_option(by):
    try:
        sass.disassembler()
    except CubinError as e:
        pytest.skip(str(e))
    source = 'extern "C" __global__ void f(float* p, float a) { p[0] = p[0] * a + p[1]; }'
    fused, apart = (gpu.compile(source, compiler=by, cache=False, contract=c).instructions("f") for c in (True, False))

    assert (fused.count("FFMA"), fused.count("FMUL")) == (1, 0)
    assert (apart.count("FFMA"), apart.count("FMUL")) == (0, 1)


@every_compiler
def test_an_error_of_cpp_names_file_and_line(by):
    with pytest.raises(CompileError) as error:
        gpu.compile(FILL + "__global__ void bad() { missing(); }", name="bad.cu", compiler=by, cache=False)

    said = str(error.value)
    assert said.startswith("expected bad.cu to compile for sm_90a, got 1 error from ")
    assert 'bad.cu:2: identifier "missing" is undefined\n    __global__ void bad() { missing(); }' in said
    assert "missing" in error.value.log


@every_compiler
def test_an_error_of_ptx_names_the_line_of_the_source(by):
    source = FILL.replace("p[threadIdx.x] = n;", '\n    asm volatile("wgmma.fence.sync.aligned;");\n    ')
    with pytest.raises(CompileError, match=r"'wgmma\.fence' not supported on \.target 'sm_90'") as error:
        gpu.compile(source, arch="sm_90", compiler=by, cache=False)

    assert "kernel.cu:2 (line " in str(error.value)
    assert "\n    wgmma.fence.sync.aligned;" in str(error.value)


@every_compiler
def test_an_error_in_a_header(by):
    with pytest.raises(CompileError, match=r'part\.cuh:1: identifier "wrong" is undefined'):
        gpu.compile('#include "part.cuh"\n', headers={"part.cuh": "int a = wrong;\n"}, compiler=by, cache=False)


SLOW = {
    "spills": """
        extern "C" __global__ void __launch_bounds__(1024) k(float* p) {
            float a[96];
        #pragma unroll
            for (int i = 0; i < 96; i++) a[i] = p[i * 32 + threadIdx.x];
            __syncthreads();
        #pragma unroll
            for (int i = 0; i < 96; i++) p[(i * i + i) * 32 + threadIdx.x] = a[i] * a[(i + 37) % 96] + a[(i + 5) % 96];
        }""",
    "stack": """
        extern "C" __global__ void k(float* p, int n) {
            float a[64];
            for (int i = 0; i < n; i++) a[i] = p[i * n];
            p[0] = a[n];
        }""",
}


@every_compiler
@pytest.mark.parametrize("name, also", [("spills", ("stack",)), ("stack", ())])
def test_local_memory_is_an_error_unless_allowed(by, name, also):
    source = textwrap.dedent(SLOW[name])
    with pytest.raises(CompileError, match=rf"  {name}: expected no .* in k, got .*\d+"):
        gpu.compile(source, compiler=by, cache=False, allow=also)

    assert gpu.compile(source, compiler=by, cache=False, allow=(name, *also)).kernel("k").stack_bytes > 0


@every_compiler
def test_wgmma_and_setmaxnreg_out_of_force_are_errors(by, tmp_path):
    headers = {"ptx.cuh": (KERNELS / "ptx.cuh").read_text()}
    source = (KERNELS / "wgmma_gemm.cu").read_text()
    doctored = {
        "wgmma-wait-injected": source.replace("wgmma_commit_group();", "d[0] *= 2; wgmma_commit_group();"),
        "setmaxnreg-ignored": source.replace("__launch_bounds__(128 * (1 + CONSUMERS), 1)", ""),
    }
    for name, text in doctored.items():
        with pytest.raises(CompileError, match=f"  {name}: expected ") as error:
            gpu.compile(text, headers=headers, compiler=by, cache=False)
        assert f"(allow=('{name}',) accepts it)" in str(error.value)


@every_compiler
def test_what_was_compiled_is_not_compiled_again(by, tmp_path, monkeypatch):
    first = gpu.compile(FILL, compiler=by, cache=tmp_path)
    monkeypatch.setattr(toolchains.TOOLCHAINS[by], "compile", lambda *a: pytest.fail("compiled again"))

    again = gpu.compile(FILL, compiler=by, cache=tmp_path)

    assert (again, again.log, again.compiler) == (first, first.log, first.compiler)
    [kept] = tmp_path.iterdir()
    assert (kept / "kernel.cu").read_text() == FILL


@every_compiler
def test_compilation_has_a_time_limit(by):
    begin = time.monotonic()
    with pytest.raises(CompileError, match=r"to end within 0\.01 s, got none; killed"):
        gpu.compile(FILL, compiler=by, cache=False, limit_s=0.01)

    assert time.monotonic() - begin < 5


# -- without a compiler ------------------------------------------------------------------------------------


class Recorded(Toolchain):
    """A compiler with a given answer, which counts its calls."""

    identity = "recorded 1.0"
    image = (DATA / "kernels.cubin").read_bytes()
    log = (
        "ptxas info    : Function properties for rich\n 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
    )

    def __init__(self):
        self.asked = []

    @classmethod
    def found(cls):
        return cls()

    def compile(self, source, options, limit_s):
        self.asked.append((source, options))
        return Outcome(self.image, self.log, "")


@pytest.fixture
def recorded(monkeypatch):
    tool = Recorded()
    monkeypatch.setattr(compiler, "toolchain", lambda name: tool)
    return tool


def test_the_cache_is_by_source_options_headers_and_compiler(recorded, tmp_path, monkeypatch):
    def compiled(text="a", **more):
        return gpu.compile(text, cache=tmp_path, **more)

    changes = (
        {},
        {"text": "b"},
        {"arch": "sm_90"},
        {"headers": {"h": "1"}},
        {"headers": {"h": "2"}},
        {"line_info": True},
    )
    for change in (*changes, *changes):
        compiled(**change)
    assert len(recorded.asked) == len(changes)

    monkeypatch.setattr(recorded, "identity", "recorded 1.1")
    compiled()
    assert len(recorded.asked) == len(changes) + 1


def test_what_is_allowed_does_not_compile_again(recorded, tmp_path):
    recorded.log = recorded.log.replace("0 bytes stack", "64 bytes stack")
    for _ in range(2):
        with pytest.raises(CompileError, match="stack frame of 64 bytes"):
            gpu.compile("a", cache=tmp_path)
        gpu.compile("a", cache=tmp_path, allow=["stack"])

    assert len(recorded.asked) == 1


def test_a_damaged_entry_is_compiled_again(recorded, tmp_path):
    gpu.compile("a", cache=tmp_path)
    [kept] = tmp_path.iterdir()
    (kept / "kernel.cubin").write_bytes(b"gone")

    assert gpu.compile("a", cache=tmp_path).image == recorded.image
    assert len(recorded.asked) == 2
    assert gpu.compile("a", cache=tmp_path).image == recorded.image
    assert len(recorded.asked) == 2


def test_a_place_that_cannot_be_written_turns_the_cache_off(recorded, tmp_path):
    (tmp_path / "file").write_text("")

    assert gpu.compile("a", cache=tmp_path / "file" / "folder").image == recorded.image
    assert len(list(tmp_path.iterdir())) == 1


def test_where_cubins_are_kept(monkeypatch):
    monkeypatch.delenv("SYMLAYOUT_CUBINS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert store.default_folder() == Path("/cache/symlayout/cubins")
    monkeypatch.setenv("SYMLAYOUT_CUBINS", "/elsewhere")
    assert store.default_folder() == Path("/elsewhere")


def test_nothing_half_written_is_found(tmp_path):
    shop = Store(tmp_path)
    shop.put("k", Kept(b"image", "log"), "source")
    assert shop.find("k") == (b"image", "log")

    for name, text in (("about.json", "{"), ("about.json", "[]"), ("about.json", json.dumps({"sha256": "0"}))):
        (tmp_path / "k" / name).write_text(text)
        assert shop.find("k") is None


def test_no_compiler_at_all(monkeypatch):
    for kind in (Nvrtc, Nvcc):
        monkeypatch.setattr(kind, "found", classmethod(lambda cls: None))

    with pytest.raises(
        NoCompilerError, match=r"expected NVRTC or nvcc .*, got none; python -m pip install 'symlayout\["
    ):
        gpu.compile(FILL)
    with pytest.raises(NoCompilerError, match="expected nvcc to compile"):
        gpu.compile(FILL, compiler="nvcc")


def test_nvcc_is_looked_for_on_the_path(monkeypatch, tmp_path):
    monkeypatch.setattr(Nvcc, "USUAL", str(tmp_path / "nvcc"))
    monkeypatch.setenv("PATH", "")
    assert Nvcc.found() is None

    (tmp_path / "nvcc").write_text("#!/bin/sh\necho release 13.0, V13.0.88\n")
    (tmp_path / "nvcc").chmod(0o755)
    assert Nvcc.found().identity == "nvcc 13.0.88"


def test_nvrtc_that_cannot_be_imported_is_one_line(monkeypatch):
    monkeypatch.setattr(toolchains, "python_environment", lambda: {"PYTHONPATH": ""})
    monkeypatch.setattr(toolchains.sys, "executable", shutil.which("true") or sys.executable)
    tool = Nvrtc({})
    monkeypatch.setattr(toolchains, "run", lambda *a, **k: toolchains.Ended(1, b"", "ImportError: no cuda\n"))

    with pytest.raises(CompileError, match=r"^expected NVRTC to run, got exit status 1: ImportError: no cuda$"):
        tool.compile(toolchains.Source("", "k.cu", {}), Options(), 10)


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"arch": "90a"}, "expected an architecture such as sm_90a, got '90a'"),
        ({"arch": "sm_90a; rm"}, "expected an architecture"),
        ({"std": "c++98"}, "expected one of c"),
        ({"defines": ("A B",)}, "expected NAME or NAME=VALUE as a define"),
        ({"max_registers": 256}, "expected 16 to 255 registers a thread, got 256"),
        ({"allow": ("spill",)}, "expected names out of spills, stack, .* as allowed, got spill"),
        ({"compiler": "clang"}, "expected one of auto, nvrtc, nvcc as the compiler, got 'clang'"),
    ],
)
def test_wrong_options(wrong, message):
    with pytest.raises(CompileError, match=message):
        gpu.compile(FILL, **wrong)


def test_what_is_no_text_is_told():
    with pytest.raises(CompileError, match=r"^expected CUDA C\+\+ as text, got Source; take its \.text$"):
        gpu.compile(gpu.emit(family("fill").build()))
    with pytest.raises(CompileError, match=r"^expected CUDA C\+\+ as text, got NoneType$"):
        gpu.compile(None)


@pytest.mark.skipif(Nvcc.found() is None, reason="no nvcc here")
def test_a_header_stays_in_the_folder():
    with pytest.raises(CompileError, match=r"without '\.\.' or a root, got '\.\./out'"):
        gpu.compile(FILL, headers={"../out": ""}, compiler="nvcc", cache=False)


REMARK = "ptxas info    : (C7510) Potential Performance Loss: {} in the function 'k'"


@pytest.mark.parametrize(
    "line, name",
    [
        (
            REMARK.format("wgmma.mma_async instructions are serialized due to insufficient register resources"),
            "wgmma-serialized",
        ),
        (REMARK.format("'setmaxnreg' ignored to allow debugging."), "setmaxnreg-ignored"),
        (REMARK.format("something that is new"), "other-remark"),
    ],
)
def test_remarks_of_ptxas(line, name):
    [found] = ptxas.findings(line)

    assert found.name == name
    assert str(found).startswith(f"{name}: expected ")
    assert "got: (C7510) Potential" in str(found)


def test_a_clean_report_has_no_findings():
    assert ptxas.findings(Recorded.log + "\nptxas info : Used 168 registers, used 1 barriers, 528 bytes smem") == ()


def test_doctests():
    for name in ("ptxas", "options", "store", "compiler"):
        assert doctest.testmod(importlib.import_module(f"gpu.compiling.{name}")).failed == 0
