"""The compilers: NVRTC of the wheels, and nvcc. Both give the same kind of cubin, log and PTX."""

from __future__ import annotations

import base64
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from ..errors import CompileError, NoCompilerError
from ..processes import Ended, python_environment, run
from .options import Options

INSTALL = "python -m pip install 'symlayout[compile]'"

# NVRTC has neither a C library nor the driver's header; these are all that kernels need of them.
STAND_INS: Mapping[str, str] = {
    "cuda.h": "#pragma once\n"
    "typedef struct alignas(128) CUtensorMap_st { unsigned long long opaque[16]; } CUtensorMap;\n",  # as CUDA 13 has it
    "cstdint": "#pragma once\n#include <stdint.h>\n",
    "stdint.h": "#pragma once\n"
    + "".join(
        f"typedef {sign}{kind} {prefix}int{bits}_t;\n"
        for bits, kind in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
        for sign, prefix in (("signed ", ""), ("unsigned ", "u"))
    )
    + "typedef unsigned long long uintptr_t;\ntypedef long long intptr_t;\n",
}


# nvcc reads options from these too; what a cubin is cached by would not have them.
FLAGS_OF_NVCC = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


class Source(NamedTuple):
    """A text to compile, the name it goes by in errors, and the headers that it includes, by name."""

    text: str
    name: str
    headers: Mapping[str, str]

    @property
    def texts(self) -> dict[str, str]:
        return {self.name: self.text, **self.headers}


class Outcome(NamedTuple):
    """The result of a compiler: a cubin (None if it failed), its log, and the PTX of a failure if there is one."""

    image: bytes | None
    log: str
    ptx: str


class Toolchain(ABC):
    """A compiler that is installed; ``identity`` is its name and version, and part of the key of a cached cubin."""

    identity: str

    @classmethod
    @abstractmethod
    def found(cls) -> Toolchain | None:
        """The compiler, or None where it is not installed."""

    @abstractmethod
    def compile(self, source: Source, options: Options, limit_s: float) -> Outcome:
        """Compile. Raises CompileError where the compiler cannot run, or takes longer than *limit_s* seconds."""


class Nvrtc(Toolchain):
    """NVRTC through cuda-bindings, in a process of its own."""

    WHEELS = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-cccl", "cuda-bindings")

    def __init__(self, versions: Mapping[str, str]) -> None:
        nvrtc, *rest = (versions.get(wheel, "none") for wheel in self.WHEELS)
        self.identity = f"NVRTC {nvrtc} (headers {', '.join(rest[:-1])})"

    @classmethod
    def found(cls) -> Toolchain | None:
        versions = {}
        for wheel in cls.WHEELS:
            try:
                versions[wheel] = metadata.version(wheel)
            except metadata.PackageNotFoundError:
                continue
        return cls(versions) if {"nvidia-cuda-nvrtc", "cuda-bindings"} <= set(versions) else None

    def compile(self, source: Source, options: Options, limit_s: float) -> Outcome:
        request = {
            "source": source.text,
            "name": source.name,
            "headers": {**STAND_INS, **source.headers},
            "options": options.nvrtc,
        }
        # -P: the script's folder holds modules of ours, which no import of the child means
        command = [sys.executable, "-P", str(Path(__file__).with_name("nvrtc.py"))]
        ended = _limited(command, limit_s, json.dumps(request).encode(), environment=python_environment())
        if ended.status:
            raise CompileError(f"expected NVRTC to run, got exit status {ended.status}: {ended.said.strip()}")
        answer = json.loads(ended.output)
        return Outcome(base64.b64decode(answer["image"]) or None, answer["log"], answer["ptx"])


class Nvcc(Toolchain):
    """The nvcc on the PATH, or of /usr/local/cuda."""

    USUAL = "/usr/local/cuda/bin/nvcc"

    def __init__(self, program: str) -> None:
        self.program = program
        self.identity = f"nvcc {_nvcc_version(program, Path(program).stat().st_mtime_ns)}"

    @classmethod
    def found(cls) -> Toolchain | None:
        program = shutil.which("nvcc") or shutil.which(cls.USUAL)
        return cls(program) if program else None

    def compile(self, source: Source, options: Options, limit_s: float) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="symlayout-nvcc-") as scratch:
            folder = Path(scratch)
            for name, text in source.texts.items():
                _write(folder, name, text)
            command = [self.program, *options.nvcc, "-I.", source.name]
            plain = {k: v for k, v in os.environ.items() if k not in FLAGS_OF_NVCC}
            ended = _limited([*command, "-cubin", "-o", "out.cubin"], limit_s, folder=folder, environment=plain)
            log = _steady(ended.output.decode(errors="replace") + ended.said)
            if not ended.status:
                return Outcome((folder / "out.cubin").read_bytes(), log, "")
            ptx = ""
            if "ptx, line" in log:  # the error is about PTX, which this writes once more
                _limited([*command, "-ptx", "-o", "out.ptx"], limit_s, folder=folder, environment=plain)
                ptx = (folder / "out.ptx").read_text() if (folder / "out.ptx").exists() else ""
            return Outcome(None, log or f"nvcc ends with exit status {ended.status}", ptx)


def _write(folder: Path, name: str, text: str) -> None:
    """A file in the folder. Raises CompileError for a name that leads out of it."""
    at = (folder / name).resolve()
    if not at.is_relative_to(folder.resolve()):
        raise CompileError(f"expected names of sources and headers without '..' or a root, got {name!r}")
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(text, encoding="utf-8")


def _steady(log: str) -> str:
    """A log without the names of temporary files, which differ from run to run."""
    return re.sub(r"\S*tmpxft_\w+-\d+_(\S*?\.ptx)", r"\1", log)


@functools.cache
def _nvcc_version(program: str, changed: int) -> str:
    """``13.0.88``; asked again only where the program changed."""
    ended = _limited([program, "--version"], 30)
    found = re.search(r"V(\d+\.\d+\.\d+)", ended.output.decode(errors="replace"))
    if not found:
        raise CompileError(f"expected {program} --version to name a version, got {ended.output!r} {ended.said}")
    return found[1]


def _limited(
    command: list[str],
    limit_s: float,
    given: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    try:
        return run(command, limit_s=limit_s, given=given, folder=folder, environment=environment)
    except subprocess.TimeoutExpired:
        raise CompileError(f"expected {Path(command[0]).name} to end within {limit_s:g} s, got none; killed") from None
    except OSError as e:
        raise CompileError(f"expected to start {command[0]}, got {e}") from e


TOOLCHAINS: Mapping[str, type[Toolchain]] = {"nvrtc": Nvrtc, "nvcc": Nvcc}


def toolchain(name: str = "auto") -> Toolchain:
    """The compiler of that name; the first that is there for ``"auto"``.

    Raises NoCompilerError, with the command that installs one, where there is none, and CompileError for a name
    that is none of ``auto``, ``nvrtc``, ``nvcc``.
    """
    if name != "auto" and name not in TOOLCHAINS:
        raise CompileError(f"expected one of auto, {', '.join(TOOLCHAINS)} as the compiler, got {name!r}")
    for kind in TOOLCHAINS.values() if name == "auto" else (TOOLCHAINS[name],):
        if there := kind.found():
            return there
    wanted = "NVRTC or nvcc" if name == "auto" else {"nvrtc": "NVRTC", "nvcc": "nvcc"}[name]
    raise NoCompilerError(f"expected {wanted} to compile CUDA with, got none; {INSTALL}, or put nvcc on the PATH")
