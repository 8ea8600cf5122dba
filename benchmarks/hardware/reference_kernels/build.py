"""The kernels as cubins: compiled by nvcc, refused where a register spills or wgmma is serialized, parameters read."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
# setmaxnreg and wgmma need the architecture-specific target; this spelling of it means the same to every nvcc.
TARGET = "arch=compute_90a,code=sm_90a"


class BuildError(Exception):
    """nvcc is missing, fails, or its report shows what a fast kernel must not have."""


class Parameter(NamedTuple):
    """Where a kernel parameter lies in the argument buffer, in bytes."""

    offset: int
    size: int


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

    Raises BuildError if nvcc fails or is missing, if registers spill, and if ptxas serializes wgmma or ignores
    setmaxnreg.
    """
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        raise BuildError("expected nvcc of CUDA 13.0 or newer on the PATH, got none")
    cubin = directory / f"{name}.cubin"
    flags = [f"-D{define}" for define in defines]
    source, output = str(HERE / f"{name}.cu"), str(cubin)
    run = subprocess.run(
        [nvcc, f"-gencode={TARGET}", "-cubin", "-Xptxas=-v", *flags, "-o", output, source],
        capture_output=True,
        text=True,
        timeout=120,
    )
    if run.returncode:
        raise BuildError(f"{name}.cu: nvcc exits with {run.returncode}\n{run.stdout}{run.stderr}")
    registers = check_report(name, run.stderr)
    command = " ".join(["nvcc", f"-gencode={TARGET}", "-cubin", "-Xptxas=-v", *flags, f"{name}.cu"])
    return Kernel(name, cubin, registers, parameter_table(cubin.read_bytes(), name), command)


def check_report(name: str, report: str) -> int:
    """The registers of a thread as ptxas reports them (``-Xptxas=-v``).

    >>> check_report("k", "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\\nUsed 168 registers")
    168

    Raises BuildError on a stack frame, a spill, and every remark of ptxas about wgmma or setmaxnreg (C7500 to C7599).
    """
    for line in report.splitlines():
        memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line)
        if memory and any(map(int, memory.groups())):
            raise BuildError(f"{name}.cu: expected no stack frame and no spills, got: {line.strip()}")
        if re.search(r"\(C75\d\d\)|serialized", line):  # setmaxnreg ignored, wgmma serialized, a wait injected
            raise BuildError(f"{name}.cu: expected asynchronous wgmma and setmaxnreg in force, got: {line.strip()}")
    used = re.findall(r"Used (\d+) registers", report)
    if len(used) != 1:
        raise BuildError(f"{name}.cu: expected the report of one kernel, got {len(used)}:\n{report}")
    return int(used[0])


def parameter_table(cubin: bytes, kernel: str) -> tuple[Parameter, ...]:
    """The parameters of a kernel in order, from EIATTR_KPARAM_INFO of its section ``.nv.info.<kernel>``.

    The device has the same table (cuFuncGetParamInfo). It need not follow from C rules: the compiler aligns a tensor
    map to 128 bytes in the constant bank, not in the argument buffer.
    """
    rows = {}
    for kind, value in _attributes(_section(cubin, f".nv.info.{kernel}")):
        if kind == 0x17:
            ordinal, offset, packed = struct.unpack_from("<HHI", value, 4)
            rows[ordinal] = Parameter(offset, packed >> 18)
    return tuple(rows[i] for i in range(len(rows)))


def _section(elf: bytes, name: str) -> bytes:
    """The bytes of a section of a 64-bit little-endian ELF file."""
    at, size, count, names = struct.unpack_from("<Q10xHHH", elf, 40)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + i * size) for i in range(count)]
    strings = headers[names][4]
    for start, _, _, _, offset, length in headers:
        if elf.startswith(name.encode() + b"\0", strings + start):
            return elf[offset : offset + length]
    raise BuildError(f"expected a section {name} in the cubin, got none")


def _attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """The attributes of a section .nv.info: format 4 carries a length and that many bytes, the others two bytes."""
    at = 0
    while at < len(info):
        layout, kind, short = struct.unpack_from("<BBH", info, at)
        at += 4
        if layout == 4:
            yield kind, info[at : at + short]
            at += short
