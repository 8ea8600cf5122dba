"""NVRTC in a process of its own, so that it can be given a time limit: a request on standard input, an answer out.

Run as a file by ``toolchains``; both are JSON. The request has ``source``, ``name``, ``headers`` and ``options``; the
answer has ``image`` (base64 of the cubin, empty where compilation failed), ``log`` and ``ptx``.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any


def compiled(request: dict[str, Any]) -> dict[str, str]:
    """The answer to a request. Raises RuntimeError where NVRTC itself fails."""
    from cuda.bindings import nvrtc

    headers = request["headers"]
    texts, names = [h.encode() for h in headers.values()], [name.encode() for name in headers]
    source, name = request["source"].encode(), request["name"].encode()
    program = _value(nvrtc, nvrtc.nvrtcCreateProgram(source, name, len(headers), texts, names))
    options = [option.encode() for option in (*request["options"], *_include_folders())]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    failed = code == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION
    if not failed:
        _value(nvrtc, (code,))
    return {
        "log": _text(nvrtc, program, "ProgramLog"),
        "ptx": _text(nvrtc, program, "PTX") if failed else "",
        "image": "" if failed else base64.b64encode(_bytes(nvrtc, program, "CUBIN")).decode(),
    }


def _include_folders() -> list[str]:
    """The folders of the wheels' headers: CUDA's own and CCCL's."""
    try:
        from cuda.pathfinder import find_nvidia_header_directory as find
    except ImportError:  # an older pathfinder; the wheels put all headers into one folder
        found = [str(folder) for path in sys.path for folder in Path(path).glob("nvidia/cu*/include")]
    else:
        found = [folder for folder in map(find, ("cudart", "cccl")) if folder]
    return [f"-I{folder}" for folder in found]


def _value(nvrtc: Any, result: tuple[Any, ...]) -> Any:
    code, *values = result
    if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC answers {nvrtc.nvrtcGetErrorString(code)[1].decode()}")
    return values[0] if values else None


def _bytes(nvrtc: Any, program: Any, what: str) -> bytes:
    size = _value(nvrtc, getattr(nvrtc, f"nvrtcGet{what}Size")(program))
    buffer = b" " * size
    _value(nvrtc, getattr(nvrtc, f"nvrtcGet{what}")(program, buffer))
    return buffer


def _text(nvrtc: Any, program: Any, what: str) -> str:
    return _bytes(nvrtc, program, what).rstrip(b"\0 ").decode(errors="replace")


if __name__ == "__main__":
    try:
        json.dump(compiled(json.load(sys.stdin)), sys.stdout)
    except Exception as e:  # an import that fails, a library that is not found: the parent reports one line
        sys.exit(f"{type(e).__name__}: {e}")
