"""The kernels as cubins of nvcc, refused where a register spills or wgmma is serialized, with what a launch needs."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import gpu
from gpu.cubin import Parameter

HERE = Path(__file__).parent


class Kernel(NamedTuple):
    """A compiled kernel: name, cubin, registers of a thread, parameters, and the command that made it."""

    name: str
    cubin: Path
    registers: int
    parameters: tuple[Parameter, ...]
    command: str


def compile_kernel(name: str, directory: Path, *, defines: tuple[str, ...] = ()) -> Kernel:
    """``<name>.cu`` of this directory as ``<directory>/<name>.cubin``, for sm_90a.

    >>> compile_kernel("wgmma_gemm", Path("/tmp"), defines=("POLL_LIMIT=1000000",))    # doctest: +SKIP

    Raises CompileError if nvcc fails or is missing, if registers spill, and if ptxas serializes wgmma or ignores
    setmaxnreg.
    """
    source, headers = (HERE / f"{name}.cu").read_text(), {"ptx.cuh": (HERE / "ptx.cuh").read_text()}
    made = gpu.compile(source, name=f"{name}.cu", headers=headers, compiler="nvcc", cache=False, defines=defines)
    cubin = directory / f"{name}.cubin"
    cubin.write_bytes(made.image)
    code = made.kernel(name)
    command = " ".join(["nvcc", *gpu.Options(defines=defines).nvcc, "-cubin", f"{name}.cu"])
    return Kernel(name, cubin, code.registers, code.parameters, command)
