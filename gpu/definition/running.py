"""A definition on a device: compiled once for all sizes, run on the arrays of a kernel, for a copy of what it writes.

It runs before the kernel, so what it reads are the inputs, those of an update in place too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from ..compiling import compile
from ..device import Device
from ..errors import LaunchError
from ..launch import load
from .printing import THREADS, Definition, Output, define


class Defined:
    """The definition of a kernel as machine code. Raises what ``define`` and ``compile`` raise."""

    def __init__(self, kernel: Kernel, arch: str = "sm_90a") -> None:
        self.kernel = kernel.origin or kernel
        self.definition: Definition = define(self.kernel)
        name = f"{self.definition.name}_definition.cu"
        self.cubin = compile(self.definition.text, arch, name=name, contract=False)

    def run(self, bound: Kernel, given: Mapping[str, Any], wanted: Mapping[str, Any], device: Device) -> None:
        """Compute every output of a bound kernel from what is *given* by name into the memory that is *wanted*.

        Raises LaunchError for another kernel, DeviceError where the device faults.
        """
        if (bound.origin or bound).digest != self.kernel.digest:
            raise LaunchError(f"expected {self.kernel.name} {self.kernel.digest[:16]}, got {bound!r}")
        module = load(self.cubin, device)
        sizes = {s: dict(bound.sizes)[s.name] for s in self.kernel.dims}
        try:
            for output in self.definition.outputs:
                args = [self._value(bound, a.kind, a.name, output, given, wanted) for a in output.arguments]
                grid = int(output.blocks) if isinstance(output.blocks, int) else int(output.blocks.subs(sizes))
                module.launch(output.function, grid, THREADS, args).wait()
        finally:
            module.free()

    def _value(
        self, bound: Kernel, kind: str, name: str, output: Output, given: Mapping[str, Any], wanted: Mapping[str, Any]
    ) -> Any:
        if kind == "size":
            return dict(bound.sizes)[name]
        if kind == "scalar":
            return bound.parameter(name).dtype.numpy().type(given[name])
        return wanted[output.tensor] if kind == "wanted" else given[name]


def defined(kernel: Kernel) -> Defined | str:
    """The definition of a kernel as machine code, or the reason why there is none."""
    try:
        return Defined(kernel)
    except LayoutError as e:
        return str(e)
