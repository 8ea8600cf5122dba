"""A definition on a device: compiled once for all sizes, run on the arrays of a kernel, for a copy of what it writes.

It runs before the kernel, so what it reads are the inputs, those of an update in place too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from ..codegen.source import Argument
from ..compiling import compile
from ..device import Device
from ..errors import CompileError, LaunchError
from ..launch import load
from .inputs import NUMBERS
from .printing import Definition, define
from .threads import THREADS, Function


class Defined:
    """The definition of a kernel as machine code. Raises what ``define`` and ``compile`` raise."""

    def __init__(self, kernel: Kernel, arch: str = "sm_90a") -> None:
        self.kernel = kernel.origin or kernel
        self.definition: Definition = define(self.kernel)
        name = f"{self.definition.name}_definition.cu"
        self.cubin = compile(self.definition.text, arch, name=name, contract=False)

    def fill(self, bound: Kernel, word: str, memory: Mapping[str, Any], device: Device) -> None:
        """Write the inputs of a bound kernel, with the data of a word, into its arrays by name.

        Raises LaunchError for another kernel, DeviceError where the device faults.
        """
        inputs = self.definition.inputs
        of_word = {f.tensor: f for kind in (NUMBERS, word) for f in inputs if f.name == f"{kind}_{f.tensor}"}
        self._launch(bound, of_word.values(), {}, memory, device)

    def run(self, bound: Kernel, given: Mapping[str, Any], wanted: Mapping[str, Any], device: Device) -> None:
        """Compute every output of a bound kernel from what is *given* by name into the memory that is *wanted*.

        Raises LaunchError for another kernel, DeviceError where the device faults.
        """
        self._launch(bound, self.definition.outputs, given, wanted, device)

    def _launch(
        self,
        bound: Kernel,
        functions: Iterable[Function],
        given: Mapping[str, Any],
        wanted: Mapping[str, Any],
        device: Device,
    ) -> None:
        if (bound.origin or bound).digest != self.kernel.digest:
            raise LaunchError(f"expected {self.kernel.name} {self.kernel.digest[:16]}, got {bound!r}")
        module = load(self.cubin, device)
        sizes = {s: dict(bound.sizes)[s.name] for s in self.kernel.dims}
        try:
            for f in functions:
                values = {**given, **dict(bound.sizes)}
                args = [wanted[f.tensor] if a.kind == "wanted" else self._value(bound, a, values) for a in f.arguments]
                grid = int(f.blocks) if isinstance(f.blocks, int) else int(f.blocks.subs(sizes))
                module.launch(f.name, grid, THREADS, args).wait()
        finally:
            module.free()

    @staticmethod
    def _value(bound: Kernel, a: Argument, values: Mapping[str, Any]) -> Any:
        return bound.parameter(a.name).dtype.numpy().type(values[a.name]) if a.kind == "scalar" else values[a.name]


def defined(kernel: Kernel) -> Defined | str:
    """The definition of a kernel as machine code, or the reason why there is none."""
    try:
        return Defined(kernel)
    except (LayoutError, CompileError) as e:
        return str(e)
