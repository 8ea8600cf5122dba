"""Kernels launched through ``gpu`` in every way that it has, on a device, and compared byte for byte.

    python -m benchmarks.hardware.launch_check [--only NAME,..] [--out FILE]

Each way is a case of its own, in a child process with a time limit: NumPy arrays, buffers, PyCUDA, torch and CuPy
arrays, streams of each, clusters of 2 and 16, more than 48 KiB of shared memory, the kernels by hand; and what has to
end badly: a fault, a kernel that hangs, a case that is killed. A way whose library is missing is skipped, with the
reason. Prints a table; the exit status is 1 where a way does not end as expected, 4 where there is no device.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpu
from gpu import child
from gpu.errors import ChildError, NoCompilerError, NoDeviceError
from symlayout import TensorMap, TmaType

HERE = Path(__file__).parent
REFERENCE = HERE / "reference_kernels"
MODULE, SOURCE = "benchmarks.hardware.launch_check", "launch_check.cu"
SIDE = 64
N, WIDE, SCALE, BYTE = -7, (1 << 40) + 123, 2.0, 200
LIMIT_S = 90.0  # of one way, the import of torch included

WAYS: dict[str, Callable[[gpu.Device], None]] = {}
ENDS = {"fault": "DeviceError", "hang": "DeviceError", "killed": "TimedOutError"}  # of the ways that end badly


class SkippedError(Exception):
    """A way whose library is not here."""


def way(function: Callable[[gpu.Device], None]) -> Callable[[gpu.Device], None]:
    WAYS[function.__name__] = function
    return function


# -- what all ways share -----------------------------------------------------------------------------------


@functools.cache
def cubin(compiler: str = "auto") -> gpu.Cubin:
    return gpu.compile((HERE / SOURCE).read_text(), name=SOURCE, compiler=compiler)


def module() -> gpu.Module:
    return gpu.load(cubin())


def matrices() -> tuple[Any, Any, Any]:
    """src, a and a poisoned dst; whole numbers, so that sums are exact."""
    draw = np.random.RandomState(3)
    src, a = (draw.randint(-50, 50, (SIDE, SIDE)).astype(np.float32) for _ in range(2))
    return src, a, np.full((SIDE, SIDE), np.nan, np.float32)


def expected() -> Any:
    src, a, _ = matrices()
    return a * np.float32(SCALE) + src + np.float32(N + WIDE % 1000 + BYTE)


MAP = TensorMap(TmaType.FLOAT32, 0, (SIDE, SIDE), (4 * SIDE,), (32, 32))


def all_kinds(src: Any, a: Any, dst: Any, **more: Any) -> Any:
    args = [src, gpu.Mapped(MAP, a), dst, N, WIDE, SCALE, BYTE]
    return module().launch("all_kinds", (2, 2), 128, args, **more)


def same(got: Any, wanted: Any) -> None:
    """Raise ValueError with the first element that differs."""
    if got.tobytes() != wanted.tobytes():
        where = np.flatnonzero(got.reshape(-1) != wanted.reshape(-1))
        at = int(where[0]) if len(where) else 0
        told = f"got {got.reshape(-1)[at]}, expected {wanted.reshape(-1)[at]}"
        raise ValueError(f"{len(where)} of {wanted.size} elements differ, the first at {at}: {told}")


# -- arrays of each library --------------------------------------------------------------------------------


@way
def numpy(device: gpu.Device) -> None:
    src, a, dst = matrices()
    all_kinds(gpu.In(src), gpu.In(a), dst)
    same(dst, expected())


@way
def buffers(device: gpu.Device) -> None:
    src, a, dst = map(device.upload, matrices())
    all_kinds(src, a, dst).wait()
    same(dst.download("f32", (SIDE, SIDE)), expected())


@way
def own_stream(device: gpu.Device) -> None:
    src, a, dst = map(device.upload, matrices())
    all_kinds(src, a, dst, stream=device.stream()).wait()
    same(dst.download("f32", (SIDE, SIDE)), expected())


@way
def pycuda_arrays(device: gpu.Device) -> None:
    from pycuda import gpuarray

    src, a, dst = map(gpuarray.to_gpu, matrices())
    all_kinds(src, a, dst).wait()
    same(dst.get(), expected())


def torch_here() -> Any:
    try:
        import torch
    except ImportError as e:
        raise SkippedError(str(e)) from e
    return torch


@way
def torch_tensors(device: gpu.Device) -> None:
    torch = torch_here()
    src, a, dst = (torch.from_numpy(x).cuda() for x in matrices())
    all_kinds(src, a, dst)
    same(dst.cpu().numpy(), expected())


@way
def torch_stream(device: gpu.Device) -> None:
    """On torch's stream: the inputs come late there, so that another stream would read what is not there yet."""
    torch = torch_here()
    given, there, dst = (torch.from_numpy(x).cuda() for x in matrices())
    src, a = torch.zeros_like(given), torch.zeros_like(there)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        src.copy_(given), a.copy_(there)
        all_kinds(src, a, dst)
        del src, a  # kept by the launch
        found = dst.cpu().numpy()
    same(found, expected())


@way
def torch_bfloat16(device: gpu.Device) -> None:
    """Two bytes an element, which __cuda_array_interface__ has no name for."""
    torch = torch_here()
    x = torch.zeros(256, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    module().launch("increment", 1, 128, [x])
    same(x.detach().view(torch.int32).cpu().numpy(), np.ones(128, np.int32))


@way
def cupy_arrays(device: gpu.Device) -> None:
    try:
        import cupy
    except ImportError as e:
        raise SkippedError(str(e)) from e
    src, a, dst = map(cupy.asarray, matrices())
    cupy.cuda.Device().synchronize()  # the copies are on another stream
    with cupy.cuda.Stream(non_blocking=True) as stream:
        all_kinds(src, a, dst)
        stream.synchronize()
    same(cupy.asnumpy(dst), expected())


# -- clusters, shared memory -------------------------------------------------------------------------------


def neighbours(size: int, out: Any, **more: Any) -> Any:
    return module().launch("neighbours", 2 * size, 32, [out], cluster=size, **more)


def of_neighbours(size: int) -> Any:
    ranks = np.arange(2 * size)
    return np.stack([np.full(2 * size, size), 100 + (ranks ^ 1)], 1).astype(np.int32)


@way
def cluster_of_2(device: gpu.Device) -> None:
    out = np.zeros((4, 2), np.int32)
    neighbours(2, out)
    same(out, of_neighbours(2))


@way
def cluster_of_2_torch(device: gpu.Device) -> None:
    torch = torch_here()
    out = torch.zeros((4, 2), dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        neighbours(2, out)
        found = out.cpu().numpy()
    same(found, of_neighbours(2))


@way
def cluster_of_16(device: gpu.Device) -> None:
    out = np.zeros((32, 2), np.int32)
    neighbours(16, out)
    same(out, of_neighbours(16))


@way
def much_shared(device: gpu.Device) -> None:
    for nbytes in (65_536, device.arch.shared_bytes_per_block):
        for cluster in (None, 1):  # through either library
            out = np.zeros(128, np.int32)
            module().launch("much_shared", 1, 128, [out, nbytes], shared=nbytes, cluster=cluster)
            same(out, np.arange(128, dtype=np.int32))


# -- the kernels by hand -----------------------------------------------------------------------------------


def by_hand(name: str) -> gpu.Cubin:
    headers = {"ptx.cuh": (REFERENCE / "ptx.cuh").read_text()}
    return gpu.compile((REFERENCE / f"{name}.cu").read_text(), name=f"{name}.cu", headers=headers)


@way
def ring_copy(device: gpu.Device) -> None:
    rows, columns = 1000, 4096
    source = np.random.RandomState(5).randint(0, 1 << 32, (rows, columns), dtype=np.uint32)
    target, taken = np.zeros_like(source), np.zeros(2, np.uint32)
    m = TensorMap(TmaType.UINT32, 0, (columns, rows), (4 * columns,), (256, 16), l2_promotion=128)
    tiles_x, tiles_y = columns // 256, -(-rows // 16)
    args = [gpu.Mapped(m, gpu.In(source)), gpu.Mapped(m, target), tiles_x, tiles_x * tiles_y, taken]
    grid = min(device.facts.multiprocessors, tiles_x * tiles_y)
    gpu.load(by_hand("tma_ring_copy")).launch("tma_ring_copy", grid, 32, args, shared=7 * (16 * 256 * 4 + 8 + 4))
    same(target, source)


@way
def gemm(device: gpu.Device) -> None:
    torch = torch_here()
    m, n, k = 512, 768, 640
    draw = torch.Generator(device="cuda").manual_seed(1)
    a, b = (torch.randint(-3, 4, s, generator=draw, device="cuda").bfloat16() for s in ((m, k), (n, k)))
    c = torch.full((m, n), float("nan"), dtype=torch.bfloat16, device="cuda")

    def mapped(x: Any, box: tuple[int, int]) -> gpu.Mapped:
        size = (x.shape[1], x.shape[0])
        return gpu.Mapped(TensorMap(TmaType.BFLOAT16, 0, size, (2 * size[0],), box, swizzle=128, l2_promotion=256), x)

    loaded, shared = gpu.load(by_hand("wgmma_gemm")), 4 * ((128 + 256) * 64 * 2 + 16) + 8 * 2 * 16 * 64 * 2
    clusters = min(loaded.active_clusters("wgmma_gemm", 384, 2, shared), (m // 256) * (n // 256))
    args = [mapped(a, (64, 128)), mapped(b, (64, 128)), mapped(c, (64, 16)), m, n, k]
    loaded.launch("wgmma_gemm", 2 * clusters, 384, args, cluster=2, shared=shared, limit_s=30)
    # whole numbers below 2^24: sums in float32 are exact in any order, and then rounded once
    same(c.view(torch.int16).cpu().numpy(), (a.float() @ b.float().T).bfloat16().view(torch.int16).cpu().numpy())


# -- what has to end badly ---------------------------------------------------------------------------------


@way
def fault(device: gpu.Device) -> None:
    module().launch("increment", 1, 32, [0]).wait()


@way
def after_the_fault(device: gpu.Device) -> None:
    numpy(device)


@way
def hang(device: gpu.Device) -> None:
    module().launch("hang", 1, 1, [device.upload(np.zeros(1, np.int32))]).wait(limit_s=1)


@way
def after_the_hang(device: gpu.Device) -> None:
    numpy(device)


@way
def killed(device: gpu.Device) -> None:
    module().launch("hang", 1, 1, [device.upload(np.zeros(1, np.int32))]).wait(limit_s=1e6)


@way
def after_the_kill(device: gpu.Device) -> None:
    numpy(device)


# -- in child processes ------------------------------------------------------------------------------------


def run(name: str) -> str:
    """Run one way; nothing, or why it is skipped."""
    try:
        with gpu.Device() as device:
            WAYS[name](device)
    except SkippedError as e:
        return f"skipped: {e}"
    return ""


def device_text() -> str:
    with gpu.Device() as device:
        return f"{device}, {gpu.availability()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="names of ways, comma-separated")
    parser.add_argument("--out", type=Path, help="a file for the rows, one JSON object a line")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(WAYS)
    unknown = [name for name in names if name not in WAYS]
    if unknown:
        parser.error(f"--only: expected names of {', '.join(WAYS)}, got {', '.join(unknown)}")
    try:
        print(child.call(f"{MODULE}:device_text", limit_s=LIMIT_S))
    except ChildError as e:
        print(e)
        return 4 if getattr(e, "kind", "") == NoDeviceError.__name__ else 1
    print(cubin().compiler)
    for compiler in ("nvrtc", "nvcc"):
        try:
            print(f"{compiler}: {', '.join(k.name for k in cubin(compiler).kernels)}")
        except NoCompilerError as e:
            print(f"{compiler}: {e}")
    rows = list(map(row, names))
    if given.out:
        given.out.write_text("".join(json.dumps(r) + "\n" for r in rows))
    wrong = [r["way"] for r in rows if not r["as_expected"]]
    print(
        f"{len(rows) - len(wrong)} of {len(rows)} ways end as expected"
        + (f"; not so: {', '.join(wrong)}" if wrong else "")
    )
    return bool(wrong)


def row(name: str) -> dict[str, Any]:
    """One way in a process of its own, as a row; printed as it ends."""
    begin, limit_s = time.monotonic(), 20.0 if name == "killed" else LIMIT_S
    [outcome] = child.each(f"{MODULE}:run", [(name,)], limit_s=limit_s)
    error = outcome.error
    ended = "" if error is None else getattr(error, "kind", "") or type(error).__name__
    as_expected = ended == ENDS.get(name, "")
    took = time.monotonic() - begin
    told = str(error or outcome.value or "the bytes are those expected")
    print(f"{name:20} {'ok  ' if as_expected else 'FAIL'} {took:5.1f} s  {told[:200]}", flush=True)
    if not as_expected and error is not None:
        print(error.said)
    return {"way": name, "as_expected": as_expected, "ended": ended, "told": told, "seconds": round(took, 2)}


if __name__ == "__main__":
    raise SystemExit(main())
