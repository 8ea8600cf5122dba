"""Kernels on real hardware: compiled, launched on a device, and their bytes read back.

    >>> import gpu
    >>> cubin = gpu.compile(source, arch="sm_90a")                                 # doctest: +SKIP
    >>> print(cubin)                                                               # doctest: +SKIP
    sm_90a cubin, 5152 bytes, by NVRTC 13.0.88 (headers 13.0.96, 13.0.85)
    ...
    >>> with gpu.Device():                                                         # doctest: +SKIP
    ...     gpu.load(cubin).launch("scale", grid=1, block=128, args=[x, 128, 2.0])

Importing this package imports no CUDA; the names load on first use, and need a device only where they say so.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .codegen import Source, emit
    from .compiling import Options, compile
    from .cubin import Cubin
    from .definition import Definition, define
    from .device import Buffer, Device
    from .differential import Differential, differential_test
    from .errors import NotProvedError
    from .filling import bind
    from .launch import In, Mapped, Module, load
    from .libraries import Availability, availability
    from .measuring import Measurement, measure
    from .prepared import Prepared
    from .running import Generated, run, run_unproved
    from .stamps import Stamps, stamped

_WHERE = {
    "Availability": "libraries",
    "Buffer": "device",
    "Cubin": "cubin",
    "Definition": "definition",
    "Device": "device",
    "Differential": "differential",
    "In": "launch",
    "Mapped": "launch",
    "Module": "launch",
    "Options": "compiling",
    "availability": "libraries",
    "bind": "filling",
    "compile": "compiling",
    "define": "definition",
    "differential_test": "differential",
    "Generated": "running",
    "Measurement": "measuring",
    "NotProvedError": "errors",
    "Prepared": "prepared",
    "Source": "codegen",
    "Stamps": "stamps",
    "emit": "codegen",
    "load": "launch",
    "measure": "measuring",
    "run": "running",
    "run_unproved": "running",
    "stamped": "stamps",
}

__all__ = [
    "Availability",
    "Buffer",
    "Cubin",
    "Definition",
    "Device",
    "Differential",
    "Generated",
    "In",
    "Mapped",
    "Measurement",
    "Module",
    "NotProvedError",
    "Options",
    "Prepared",
    "Source",
    "Stamps",
    "availability",
    "bind",
    "compile",
    "define",
    "differential_test",
    "emit",
    "load",
    "measure",
    "run",
    "run_unproved",
    "stamped",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'gpu' has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
