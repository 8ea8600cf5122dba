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
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from symlayout.arch import Arch
from symlayout.atoms import MemorySpace
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from .codegen import Source, emit
from .compiling import compile
from .compiling.ptxas import NAMES
from .cubin import Cubin
from .device import Device, Pending, current_device
from .errors import LaunchError, NotProvedError
from .guards import Guarded
from .launch import Mapped, Module, load
from .prepared import Prepared

if TYPE_CHECKING:
    from checkers import Bundle

Arrays = Mapping[str, Any]


class Generated:
    """A kernel for all its sizes as machine code, to launch at any of them.

    *delays* is the seed of random waits, *stamps* the number of iterations of which it takes times, *defines* are those
    of the source, *options* those of ``compile``.
    """

    def __init__(
        self,
        kernel: Kernel,
        arch: str = "sm_90a",
        defines: tuple[str, ...] = (),
        delays: int | None = None,
        stamps: int | None = None,
        **options: Any,
    ) -> None:
        self.kernel = kernel.origin or kernel
        self.source: Source = emit(self.kernel, delays, stamps)
        name = f"{self.source.name}.cu"
        if delays is not None or stamps is not None:
            options.setdefault("allow", NAMES)  # both take registers, and such a text need not be fast
        self.cubin: Cubin = compile(self.source.text, arch, name=name, defines=defines, **options)
        self._modules: WeakKeyDictionary[Device, Module] = WeakKeyDictionary()

    def module(self, device: Device) -> Module:
        """The machine code on a device, loaded once."""
        if device not in self._modules:
            self._modules[device] = load(self.cubin, device)
        return self._modules[device]

    def launch(self, bound: Kernel, given: Arrays, device: Device | None = None, stream: Any = None) -> Pending:
        """Launch at the sizes of a bound kernel, with arrays and scalars by name.

        Raises LaunchError for another kernel and for a name that is missing.
        """
        code, asked = self.module(device or current_device()), self._asked(bound, given)
        return code.launch(self.source.name, **asked, stream=stream)

    def prepare(self, bound: Kernel, given: Arrays, device: Device | None = None, stream: Any = None) -> Prepared:
        """A launch with arrays on the device and scalars by name, to be sent as often as one likes.

        Raises LaunchError for another kernel, for a name that is missing and for an array of NumPy.
        """
        code, asked = self.module(device or current_device()), self._asked(bound, given)
        return code.prepare(self.source.name, **asked, stream=stream)

    def _asked(self, bound: Kernel, given: Arrays) -> dict[str, Any]:
        """The requirements of a launch at the sizes of a bound kernel. Raises LaunchError for another kernel."""
        if (bound.origin or bound).digest != self.kernel.digest:
            raise LaunchError(f"expected {self.kernel.name} {self.kernel.digest[:16]}, got {bound!r}")
        return {
            "grid": tuple(int(n) for n in bound.grid),
            "block": bound.threads,
            "args": [self._value(bound, given, a.kind, a.name) for a in self.source.arguments],
            "cluster": bound.cluster if prod(bound.cluster) > 1 else None,
            "shared": int(bound.shared_bytes),
            "kernel": bound,
            "tensors": {t.name: _named(given, t.name) for t in bound.tensors if t.space is MemorySpace.GLOBAL},
        }

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


def run(
    bound: Kernel,
    certificate: Bundle,
    inputs: Arrays,
    device: Device | None = None,
    generated: Generated | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """Run a bound kernel that was proved on NumPy arrays: the tensors that it writes, as they are afterwards.

    >>> report = checkers.prove(kernel, arch=SM90)                                 # doctest: +SKIP
    >>> gpu.run(kernel.bind(N=4), report.certificate, {"src": src})["dst"]         # doctest: +SKIP
    array([0., 1., 2., 3.], dtype=float32)

    Raises NotProvedError where the certificate is of another kernel, another architecture than the device's or other
    sizes, or was changed, and all that ``run_unproved`` does.
    """
    on = device or current_device()
    expect_proved(bound, certificate, on.arch)
    return run_unproved(bound, inputs, on, generated)


def expect_proved(bound: Kernel, certificate: Bundle, arch: Arch) -> None:
    """Raise NotProvedError unless a bound kernel, on an architecture, is one of those that were proved."""
    match = certificate.matches(bound, arch)
    if not match:
        raise NotProvedError(f"expected what was proved, but {match.reason}; gpu.run_unproved runs what was not")


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
    guarded = {t.name: Guarded(on, t, inputs.get(t.name)) for t in bound.tensors if t.space is MemorySpace.GLOBAL}
    try:
        others = [a.name for a in code.source.arguments if a.kind in ("scalar", "stamps")]
        scalars = {name: _named(inputs, name) for name in others}
        code.launch(bound, {**guarded, **scalars}, on).wait()
        for name, region in guarded.items():
            region.expect_guards()
            region.expect_gaps() if name in bound.written else region.expect_unchanged()
        return {name: guarded[name].array() for name in bound.written}
    finally:
        for region in guarded.values():
            region.free()
