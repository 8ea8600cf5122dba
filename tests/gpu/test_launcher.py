"""The host's part in C++: compiled against a cuda.h that records calls, and run with arguments that proofs cover or not."""

import shutil
import subprocess

import pytest

from checkers import prove
from gpu.codegen.launcher import launcher
from symlayout import Layout, dim, dims, f32
from symlayout.errors import LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import axpby, gemm, tma_copy, vector_copy
from symlayout.kernels.families import families, family
from tests.support.kernel_families import FAMILIES

CUDA_H = r"""
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
typedef int CUresult; typedef void* CUmodule; typedef void* CUfunction; typedef void* CUstream;
typedef uint64_t cuuint64_t; typedef uint32_t cuuint32_t;
typedef int CUdevice;
enum { CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16 };
inline CUresult cuCtxGetDevice(CUdevice* device) { *device = 0; return 0; }
inline CUresult cuDeviceGetAttribute(int* n, int, CUdevice) { *n = 114; return 0; }
enum { CUDA_SUCCESS = 0, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum CUtensorMapDataType : int {}; enum CUtensorMapInterleave : int {}; enum CUtensorMapSwizzle : int {};
enum CUtensorMapL2promotion : int {}; enum CUtensorMapFloatOOBfill : int {};
struct alignas(64) CUtensorMap { char held[128]; };
inline CUresult cuGetErrorName(CUresult, const char** name) { *name = "CUDA_ERROR_INVALID_VALUE"; return 0; }
inline CUresult cuModuleGetFunction(CUfunction* f, CUmodule, const char* name) { *f = (void*)name; return strcmp(name, "gone") == 0; }
inline CUresult cuFuncSetAttribute(CUfunction, int what, int n) { printf("attribute %d %d\n", what, n); return n > 232448; }
inline CUresult cuTensorMapEncodeTiled(CUtensorMap* m, int type, int rank, void* at, const cuuint64_t* dim, const cuuint64_t* stride,
    const cuuint32_t* box, const cuuint32_t* step, int, int swizzle, int, int) {
    printf("map %d at %#llx dim", type, (unsigned long long)at);
    for (int i = 0; i < rank; ++i) printf(" %llu", (unsigned long long)dim[i]);
    printf(" stride"); for (int i = 0; i + 1 < rank; ++i) printf(" %llu", (unsigned long long)stride[i]);
    printf(" box"); for (int i = 0; i < rank; ++i) printf(" %u", box[i]);
    printf(" step"); for (int i = 0; i < rank; ++i) printf(" %u", step[i]);
    printf(" swizzle %d\n", swizzle);
    memcpy(m->held, "a map", 6);
    return 0;
}
inline CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b, unsigned c, unsigned shared,
    CUstream, void** given, void*) {
    printf("launch %s grid %u %u %u block %u %u %u shared %u", (const char*)f, x, y, z, a, b, c, shared);
    printf(" first %s last %d\n", (const char*)given[0], COUNT ? *(int32_t*)given[COUNT - 1] : 0);
    return 0;
}
"""

needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")


def ran(folder, kernel, count, *arguments):
    """What a program prints that launches a kernel with each of these arguments, in order of declaration.

    A list of kernels is compiled in one program, and the last of them is launched.
    """
    *others, kernel = kernel if isinstance(kernel, list) else [kernel]
    (folder / "cuda.h").write_text(CUDA_H)
    (folder / "k.hpp").write_text("\n".join(map(launcher, [*others, kernel])))
    space = f"{kernel.name}_launcher"
    calls = "\n".join(
        f"try {{ {space}::launch({space}::function_of(nullptr), {space}::Arguments{{{', '.join(given)}}}); }}"
        " catch (const std::exception& e) { puts(e.what()); }"
        for given in arguments
    )
    (folder / "t.cc").write_text(f'#include "k.hpp"\nint main() {{\n{calls}\n}}\n')
    command = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-O0", f"-DCOUNT={count}", f"-I{folder}"]
    subprocess.run([*command, "-o", folder / "t", folder / "t.cc"], check=True, timeout=120)
    return subprocess.run([folder / "t"], check=True, capture_output=True, text=True, timeout=20).stdout.splitlines()


def at(address):
    return f"(void*){address}"


@needs_compiler
def test_a_launch_encodes_maps_opts_in_to_shared_memory_and_passes_arguments(tmp_path):
    N = dim("N")
    kernel = tma_copy(dim("M"), N, slots=4, blocks=132).assuming(N.multiple_of(4))

    lines = ran(tmp_path, kernel, 4, [at(0x1000), at(0x100000), "20", "260"])

    assert lines == [
        "map 7 at 0x1000 dim 260 20 stride 1040 box 256 16 step 1 1 swizzle 0",
        "map 7 at 0x100000 dim 260 20 stride 1040 box 256 16 step 1 1 swizzle 0",
        f"attribute 8 {kernel.shared_bytes}",
        f"launch tma_copy grid 132 1 1 block 64 1 1 shared {kernel.shared_bytes} first a map last 260",
    ]


@needs_compiler
@pytest.mark.parametrize("cluster, ctas", [(1, "114"), (4, "112")])
def test_a_number_of_ctas_that_is_not_given_fills_the_device(tmp_path, cluster, ctas):
    sizes = dims("M N K", multiple_of=8, at_most=1 << 16)
    kernel = gemm(*sizes, cluster=cluster, blocks=cluster * dim("clusters", at_most=1 << 14))
    tensors = [at(0x1000), at(0x100000), at(0x200000)]

    lines = ran(tmp_path, kernel, 3, [*tensors, "64", "64", "64"], [*tensors, "64", "64", "64", "3"])

    assert f"grid {ctas} 1 1" in lines[4]
    assert f"grid {3 * cluster} 1 1" in lines[9]


@needs_compiler
def test_every_assumption_is_checked_with_a_message(tmp_path):
    N = dim("N")
    kernel = tma_copy(dim("M"), N, slots=4, blocks=132).assuming(N.multiple_of(4), N <= 1 << 20)

    lines = ran(
        tmp_path,
        kernel,
        4,
        [at(0x1000), at(0x100000), "0", "4"],
        [at(0x1000), at(0x100000), "3000000000", "4"],
        [at(0x1000), at(0x100000), "1", "5"],
        [at(0x1000), at(0x100000), "1", "1048580"],
        [at(0x1008), at(0x100000), "1", "4"],
        [at(0x1000), at(0x100008), "1", "4"],
        [at(0x1000), at(0x1010), "2", "4"],
        [at(0x1010), at(0x1000), "2", "4"],
    )

    assert lines == [
        "expected sizes that meet M >= 1, got M = 0, N = 4",
        "expected sizes that meet M <= 2147483647, got M = 3000000000, N = 4",
        "expected sizes that meet N % 4 == 0, got M = 1, N = 5",
        "expected sizes that meet N <= 1048576, got M = 1, N = 1048580",
        "expected src at a multiple of 16 bytes",
        "expected dst at a multiple of 16 bytes",
        "expected src and dst apart",
        "expected src and dst apart",
    ]


@needs_compiler
def test_a_grid_that_no_launch_has_and_tensors_that_may_alias(tmp_path):
    N = dim("N", at_most=1 << 40)
    k = Builder("update", N, grid=(1, N), threads=32)
    k.parameter("alpha", f32, within=(0, 3))
    x, y = k.global_tensor("x", f32, Layout(32)), k.global_tensor("y", f32, Layout(32), may_alias="x")
    r = k.registers("r", f32, 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.copy("st.global.4", r(), y(k.thread))

    lines = ran(
        tmp_path,
        k.kernel(),
        0,
        [at(0x1000), at(0x1000), "1.f", "65535"],
        [at(0x1000), at(0x1000), "1.f", "65536"],
        [at(0x1000), at(0x1010), "1.f", "1"],
        [at(0x1000), at(0x1080), "4.f", "1"],
    )

    assert lines[0].startswith("launch update grid 1 65535 1 block 32 1 1 shared 0")
    assert lines[1:] == [
        "expected 1 to 65535 CTAs along y",
        "expected x and y at one address or apart",
        "expected alpha within 0 .. 3",
    ]


@needs_compiler
def test_products_of_sizes_have_room(tmp_path):
    """Tensors of 2^62 bytes are found to overlap, which 64 bits would not hold."""
    lines = ran(
        tmp_path, tma_copy(*dims("M N"), slots=4, blocks=132), 4, [at(0x1000), at(0x100000), "2147483647", "2147483644"]
    )

    assert lines == ["expected src and dst apart"]


@needs_compiler
def test_the_launcher_of_every_family_compiles(tmp_path, decided):
    kernels = {f.name: f.build() for f in families()}
    for f in FAMILIES[::-1]:  # small, and judged by others too; products take seconds to prove
        kernels[f.name] = f.build()
        kernels[f.name] = kernels[f.name].assuming(*prove(kernels[f.name], cache=decided).repairs)

    assert ran(tmp_path, list(kernels.values()), 0) == []


def test_a_launcher_says_whose_it_is_and_what_it_cannot_check():
    kernel = family("gather_rows").build()

    text = launcher(kernel)

    assert f"of digest {kernel.digest}" in text
    assert "// assumed, and not checked here: the data hold" in text
    assert "#include <cuda_bf16.h>" in launcher(axpby(dim("N"), dtype="bf16"))
    assert "cuda_bf16" not in launcher(vector_copy(dim("N"), dtype="bf16"))


def test_im2col_maps_have_no_launcher():
    from symlayout.tma import Im2col, TensorMap, TmaType

    k = Builder("conv", grid=(1,), threads=32)
    x = k.global_tensor("x", f32, Layout(4096))
    k.tensor_map("m", x(), TensorMap(TmaType.FLOAT32, 0, (64, 8, 8), (256, 2048), im2col=Im2col((0,), (0,), 8, 8)))

    with pytest.raises(LayoutError, match="expected tiled tensor maps for a launcher, got m of conv, which is im2col"):
        launcher(k.kernel())
