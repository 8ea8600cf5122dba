"""A kernel value on a device: generated, compiled, launched with arrays, and its outputs brought back.

>>> import gpu, numpy as np
>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> bound = vector_copy(dim("N")).bind(N=4)
>>> with gpu.Device():                                                         # doctest: +SKIP
...     gpu.run_unproved(bound, {"src": np.arange(4, dtype=np.float32)})["dst"]
array([0., 1., 2., 3.], dtype=float32)
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from .codegen import Source, emit
from .compiling import compile
from .cubin import Cubin
from .device import Device, Pending, current_device
from .errors import LaunchError
from .guards import Guarded
from .launch import Mapped, Module, load

Arrays = Mapping[str, Any]


class Generated:
    """A kernel for all its sizes as machine code, to launch at any of them. *defines* are those of the source."""

    def __init__(self, kernel: Kernel, arch: str = "sm_90a", defines: tuple[str, ...] = (), **options: Any) -> None:
        self.kernel = kernel.origin or kernel
        self.source: Source = emit(self.kernel)
        name = f"{self.source.name}.cu"
        self.cubin: Cubin = compile(self.source.text, arch, name=name, defines=defines, **options)
        self._modules: dict[int, Module] = {}

    def module(self, device: Device) -> Module:
        """The machine code on a device, loaded once."""
        if id(device) not in self._modules:
            self._modules[id(device)] = load(self.cubin, device)
        return self._modules[id(device)]

    def launch(self, bound: Kernel, given: Arrays, device: Device | None = None, stream: Any = None) -> Pending:
        """Launch at the sizes of a bound kernel, with arrays and scalars by name.

        Raises LaunchError for another kernel and for a name that is missing.
        """
        if (bound.origin or bound).digest != self.kernel.digest:
            raise LaunchError(f"expected {self.kernel.name} {self.kernel.digest[:16]}, got {bound!r}")
        values = [self._value(bound, given, a.kind, a.name) for a in self.source.arguments]
        tensors = {t.name: given[t.name] for t in bound.tensors if t.space == "global"}
        return self.module(device or current_device()).launch(
            self.source.name,
            tuple(int(n) for n in bound.grid),
            bound.threads,
            values,
            cluster=bound.cluster if prod(bound.cluster) > 1 else None,
            shared=int(bound.shared_bytes),
            kernel=bound,
            tensors=tensors,
            stream=stream,
        )

    def _value(self, bound: Kernel, given: Arrays, kind: str, name: str) -> Any:
        if kind == "size":
            return dict(bound.sizes)[name]
        if kind == "map":
            row = bound.map(name)
            return Mapped(row.tensor_map, _named(given, row.tensor))
        if kind == "scalar":
            return np.asarray(_named(given, name)).astype(bound.parameter(name).dtype.numpy())[()]
        return _named(given, name)


def _named(given: Arrays, name: str) -> Any:
    if name not in given:
        raise LaunchError(f"expected {name} among the arrays and scalars of a launch, got {', '.join(given)}")
    return given[name]


def run_unproved(
    bound: Kernel, inputs: Arrays, device: Device | None = None, generated: Generated | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """Run a bound kernel on NumPy arrays, proved or not: the tensors that it writes, as they are afterwards.

    Tensors that are not given begin with every byte poisoned; guard zones lie around all of them. Raises LayoutError
    for a kernel that is not bound, DeviceError where it faults or hangs, RunError where a guard or an input changed.
    """
    if bound.dims:
        raise LayoutError(f"expected a kernel that is bound to sizes, got symbols {', '.join(map(str, bound.dims))}")
    code = generated or Generated(bound)
    on = device or current_device()
    guarded = {t.name: Guarded(on, t, inputs.get(t.name)) for t in bound.tensors if t.space == "global"}
    try:
        scalars = {p.name: inputs[p.name] for p in bound.parameters}
        code.launch(bound, {**guarded, **scalars}, on).wait()
        for name, region in guarded.items():
            region.expect_guards()
            if name not in bound.written:
                region.expect_unchanged()
        return {name: guarded[name].array() for name in bound.written}
    finally:
        for region in guarded.values():
            region.free()
