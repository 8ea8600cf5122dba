"""The emitted launcher as a C++ project takes it: compiled with the driver's header, linked with libcuda, run."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import gpu
from checkers import prove
from gpu.codegen import emit
from gpu.codegen.launcher import launcher
from symlayout import dims
from symlayout.kernels import axpby, gemm, tma_copy, vector_copy

CUDA = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))

pytestmark = pytest.mark.gpu

# Reads each tensor from a file, launches, and writes each tensor back.
MAIN = r"""
#include "k.hpp"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>
static void expect(CUresult r, const char* what) {
    if (r != CUDA_SUCCESS) { std::printf("%%s: %%d\n", what, int(r)); std::exit(3); }
}
static std::vector<char> read(const char* name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
int main(int, char** argv) {
    CUdevice device; CUcontext context; CUmodule module;
    expect(cuInit(0), "cuInit");
    expect(cuDeviceGet(&device, 0), "cuDeviceGet");
    expect(cuDevicePrimaryCtxRetain(&context, device), "context");
    expect(cuCtxSetCurrent(context), "current");
    const std::vector<char> code = read(argv[1]);
    expect(cuModuleLoadData(&module, code.data()), "module");
    std::vector<CUdeviceptr> at;
    std::vector<size_t> bytes;
    for (char** name = argv + 2; *name; ++name) {
        const std::vector<char> data = read(*name);
        CUdeviceptr p;
        expect(cuMemAlloc(&p, data.size()), "cuMemAlloc");
        expect(cuMemcpyHtoD(p, data.data(), data.size()), "copy");
        at.push_back(p);
        bytes.push_back(data.size());
    }
    try {
        %(space)s::launch(%(space)s::function_of(module), %(space)s::Arguments{%(given)s});
    } catch (const std::exception& e) { std::puts(e.what()); return 2; }
    expect(cuCtxSynchronize(), "the kernel");
    for (size_t i = 0; i < at.size(); ++i) {
        std::vector<char> data(bytes[i]);
        expect(cuMemcpyDtoH(data.data(), at[i], data.size()), "copy back");
        std::ofstream(argv[2 + i], std::ios::binary).write(data.data(), long(data.size()));
    }
}
"""


@pytest.fixture(autouse=True)
def _tools():
    there = gpu.availability()
    required = os.environ.get("SYMLAYOUT_REQUIRE_GPU") == "1"
    if not there.ok:
        (pytest.fail if required else pytest.skip)(there.reason)
    if shutil.which("c++") is None or not (CUDA / "include" / "cuda.h").exists():
        pytest.skip(f"no C++ compiler, or no cuda.h in {CUDA}")


def ran(folder, kernel, arrays, scalars):
    """What a C++ program with the launcher prints, its status, and the tensors as it leaves them."""
    (folder / "k.hpp").write_text(launcher(kernel))
    space = f"{kernel.name}_launcher"
    given = ", ".join([*(f"(void*)at[{i}]" for i in range(len(arrays))), *map(str, scalars)])
    (folder / "main.cc").write_text(MAIN % {"space": space, "given": given})
    source = emit(kernel)
    (folder / "k.cubin").write_bytes(gpu.compile(source.text, name=f"{source.name}.cu").image)
    libraries = [f"-L{CUDA / where}" for where in ("lib64/stubs", "targets/x86_64-linux/lib/stubs")]
    command = ["c++", "-std=c++17", "-Wall", "-Werror", "-O1", f"-I{folder}", f"-isystem{CUDA}/include", *libraries]
    subprocess.run([*command, "-o", folder / "main", folder / "main.cc", "-lcuda"], check=True, timeout=120)
    files = []
    for i, x in enumerate(arrays):
        files.append(folder / f"{i}.bin")
        files[-1].write_bytes(x.tobytes())
    end = subprocess.run(
        [folder / "main", folder / "k.cubin", *files], check=False, capture_output=True, text=True, timeout=60
    )
    left = [np.frombuffer(f.read_bytes(), x.dtype).reshape(x.shape) for f, x in zip(files, arrays, strict=True)]
    return end.stdout, end.returncode, left


def words(*shape):
    return np.random.default_rng(1).integers(0, 1 << 32, shape, dtype=np.uint32)


def test_copies_leave_the_bytes(tmp_path):
    M, N = dims("M N", at_most=1 << 20)
    for kernel, shape in ((vector_copy(N), (1001,)), (tma_copy(M, N), (100, 260))):
        kernel = kernel.assuming(*prove(kernel).repairs)
        said, status, [src, dst] = ran(tmp_path, kernel, [words(*shape), np.zeros(shape, np.uint32)], shape)

        assert (said, status) == ("", 0)
        assert (dst == src).all()


def test_scalars_arrive(tmp_path):
    x, y = (np.arange(300, dtype=np.float32) + i for i in range(2))
    out = np.zeros(300, np.float32)

    said, status, left = ran(tmp_path, axpby(*dims("N")), [x, y, out], [2.0, 3.0, 300])

    assert (said, status) == ("", 0)
    assert (left[2] == 2 * x + 3 * y).all()


def test_a_product_in_clusters_and_a_size_that_is_refused(tmp_path):
    kernel = gemm(*dims("M N K", at_most=1 << 20, multiple_of=8))
    draw = np.random.default_rng(1)
    a, b = (draw.integers(-3, 4, s).astype(np.float32) for s in ((256, 128), (264, 128)))
    halves = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b, np.zeros((256, 264), np.float32))]

    said, status, left = ran(tmp_path, kernel, halves, [256, 264, 128])
    refused, end, _ = ran(tmp_path, kernel, halves, [256, 263, 128])

    assert (said, status) == ("", 0)
    found = (left[2].astype(np.uint32) << 16).view(np.float32)
    exact = a @ b.T
    assert (np.abs(found - exact) <= np.abs(exact) * 2.0**-8).all()
    assert (end, refused) == (2, "expected sizes that meet N % 8 == 0, got M = 256, N = 263, K = 128\n")
