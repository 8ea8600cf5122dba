"""CUDA C++ to a cubin, without a GPU."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..cubin import Cubin
from ..errors import CompileError
from .options import Options
from .ptxas import NAMES, Finding, diagnostics, findings
from .store import Kept, Store, default_folder
from .store import key as key_of
from .toolchains import Outcome, Source, Toolchain, toolchain

LIMIT_S = 120.0  # a large CUTLASS kernel takes a minute; what takes longer hangs


def compile(
    source: str,
    arch: str = "sm_90a",
    *,
    name: str = "kernel.cu",
    headers: Mapping[str, str] | None = None,
    allow: Collection[str] = (),
    compiler: str = "auto",
    cache: Path | bool = True,
    limit_s: float = LIMIT_S,
    **options: Any,
) -> Cubin:
    """The cubin of a CUDA C++ source, by NVRTC or nvcc, from the cache where it was compiled before.

    >>> cubin = compile('extern "C" __global__ void k(int* p) { *p = 1; }')        # doctest: +SKIP
    >>> print(cubin.kernel("k").registers, cubin.kernel("k").parameters)           # doctest: +SKIP
    8 (Parameter(offset=0, size=8),)
    >>> compile("", arch="90a")
    Traceback (most recent call last):
    gpu.errors.CompileError: expected an architecture such as sm_90a, got '90a'

    *options* are the fields of Options: ``defines``, ``max_registers``, ``line_info``, ... *headers* are texts by the
    name under which the source includes them. Spilled registers, local memory and serialised wgmma are errors; *allow*
    takes the names of those that may be there (``"spills"``, ``"stack"``, ``"wgmma-serialized"``, ...). *cache* is a
    folder, or False for none; by default ``$SYMLAYOUT_CUBINS`` or a folder in the user's cache.

    Raises CompileError with the errors and their lines, or with what the machine code must not have, and
    NoCompilerError, with the command that installs one, where no compiler is there.
    """
    if not isinstance(source, str):
        hint = "; take its .text" if hasattr(source, "text") else ""
        raise CompileError(f"expected CUDA C++ as text, got {type(source).__name__}{hint}")
    wanted = Options(arch=arch, **options)
    unknown = [each for each in allow if each not in NAMES]
    if unknown:
        raise CompileError(f"expected names out of {', '.join(NAMES)} as allowed, got {', '.join(unknown)}")
    given, tool = Source(source, Path(name).name, headers or {}), toolchain(compiler)
    store = Store(default_folder() if cache is True else Path(cache) if cache else None)
    key = key_of(given.name, given.text, dict(given.headers), asdict(wanted), tool.identity)
    kept = store.find(key)
    if kept is None:
        kept = _compiled(given, wanted, tool, limit_s)
        store.put(key, kept, source)
    _expect_clean(name, arch, kept.log, [f for f in findings(kept.log) if f.name not in allow])
    return Cubin(kept.image, log=kept.log, compiler=tool.identity)


def _compiled(source: Source, options: Options, tool: Toolchain, limit_s: float) -> Kept:
    outcome = tool.compile(source, options, limit_s)
    if outcome.image is None:
        raise CompileError(_failure(source, options, tool, outcome), outcome.log)
    return Kept(outcome.image, outcome.log)


def _failure(source: Source, options: Options, tool: Toolchain, outcome: Outcome) -> str:
    found = diagnostics(outcome.log, source.texts, outcome.ptx)
    count = f"{len(found)} error{'s' * (len(found) != 1)}" if found else "this"
    told = "\n".join(map(str, found)) or outcome.log.strip()
    return f"expected {source.name} to compile for {options.arch}, got {count} from {tool.identity}:\n{told}"


def _expect_clean(name: str, arch: str, log: str, found: list[Finding]) -> None:
    if found:
        told = "\n".join(f"  {finding}" for finding in dict.fromkeys(found))
        names = tuple(dict.fromkeys(finding.name for finding in found))
        raise CompileError(
            f"expected machine code of {name} for {arch} without what slows it down, got\n{told}\n"
            f"  (allow={names} accepts it)",
            log,
        )
