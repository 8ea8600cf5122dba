"""A run compared on the device: each tensor has a twin, which the kernel's definition fills. Every byte must agree.

Inputs are made there too, by formulas. A tensor and its twin begin alike: guard, elements or poison, guard. The kernel
works on the tensors; the definition reads them, before that, and writes its outputs to the twins. So one comparison of
all bytes covers the elements, the bytes between them, what lies around, and what the kernel only reads. No array comes
to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.int_tuple import unflatten
from symlayout.kernel import Kernel, KernelTensor
from symlayout.semantics.telling import telling_scalars

from ..definition.comparison import Comparison, Unequal
from ..definition.running import Defined
from ..device import Device
from ..guards import GUARD, GUARD_BYTES, POISON, between, changed, outside, shape_of
from ..running import Generated
from .found import DIFFERS, OUTSIDE, SAME
from .wrong import first


class Twins:
    """A tensor of a bound kernel in device memory, and its twin. It is poison, and its twin undefined, at first.

    It has ``__cuda_array_interface__``, that of the tensor, so that launches take it as an array.
    """

    def __init__(self, device: Device, tensor: KernelTensor) -> None:
        self.tensor, self._device = tensor, device
        self.nbytes = int(tensor.layout.cosize()) * tensor.dtype.bytes
        self._region, self._twin = (device.allocate(self.nbytes + 2 * GUARD_BYTES) for _ in range(2))
        self._region.fill(GUARD)
        device.driver.fill(self.address, POISON, self.nbytes)
        device.settle()

    def repeat(self) -> None:
        """Make the twin like the tensor, what lies around it included."""
        self._device.driver.copy(self._twin.address, self._region.address, self._region.nbytes)
        self._device.settle()

    @property
    def address(self) -> int:
        return self._region.address + GUARD_BYTES

    @property
    def twin(self) -> np.uint64:
        """The address of the twin's elements."""
        return np.uint64(self._twin.address + GUARD_BYTES)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, False), "version": 3, "stream": 1}

    # -- comparisons ------------------------------------------------------------------------------------------

    def same(self, comparison: Comparison) -> bool:
        """Whether all bytes agree, those around too."""
        return not comparison.units(self._region.address, self._twin.address, self._region.nbytes).count

    def around(self, comparison: Comparison) -> str:
        """What a kernel wrote around the tensor, as a sentence; "" for nothing."""
        for where, at in (("before", 0), ("behind", GUARD_BYTES + self.nbytes)):
            found = comparison.units(self._region.address + at, self._twin.address + at, GUARD_BYTES)
            if found.count:
                nearest = GUARD_BYTES - found.last if where == "before" else found.first + 1
                return outside(self.tensor, found.count, where, nearest)
        return ""

    def elements(self, comparison: Comparison) -> Unequal:
        """The elements that differ."""
        return comparison.elements(self.address, int(self.twin), self.tensor)

    def bytes(self, comparison: Comparison) -> Unequal:
        """The bytes of elements, and those between them, that differ."""
        return comparison.units(self.address, int(self.twin), self.nbytes)

    def units(self, comparison: Comparison) -> Unequal:
        """The elements, and what is as large between them, that differ."""
        return comparison.units(self.address, int(self.twin), self.nbytes, self.tensor.dtype.bytes)

    def at(self, coordinate: tuple[int, ...]) -> tuple[Any, Any]:
        """The number in the twin at a coordinate, and that in the tensor: the only elements that come to the host."""
        kind = self.tensor.dtype
        place = GUARD_BYTES + kind.bytes * int(self.tensor.layout(unflatten(coordinate, self.tensor.layout.shape)))
        wanted, got = (each.download(kind, (1,), place)[0] for each in (self._twin, self._region))
        return wanted, got

    def free(self) -> None:
        for each in (self._region, self._twin):
            each.free()


def on_device(
    bound: Kernel,
    code: Generated,
    definition: Defined,
    device: Device,
    word: str,
    ended: Callable[[str], None] = lambda _: None,
) -> tuple[str, str]:
    """How a run of a bound kernel with the data of a word ends, as an outcome of a case, and what is to be said of it.

    *ended* is called behind each part: inputs, twins, definition, kernel, comparison. Raises DeviceError where the
    kernel faults or hangs.
    """
    comparison, scalars = Comparison(device), telling_scalars(bound)
    twins = {t.name: Twins(device, t) for t in bound.tensors if t.space is MemorySpace.GLOBAL}
    try:
        definition.fill(bound, word, twins, device)
        ended("inputs")
        for each in twins.values():
            each.repeat()
        ended("twins")
        given = {**scalars, **twins}
        definition.run(bound, given, {name: twins[name].twin for name in bound.written}, device)
        ended("definition")
        code.launch(bound, given, device).wait()
        ended("kernel")
        wrong = [_wrong(bound, t, comparison) for t in twins.values() if not t.same(comparison)]
        ended("comparison")
        return min(wrong, key=lambda found: found[0] == DIFFERS, default=(SAME, ""))
    finally:
        for each in twins.values():
            each.free()


def _wrong(bound: Kernel, twins: Twins, comparison: Comparison) -> tuple[str, str]:
    """What differs in a tensor: what lies around first, then the bytes between elements, then these."""
    told, tensor = twins.around(comparison), twins.tensor
    if told:
        return OUTSIDE, told
    if tensor.name not in bound.written:
        found = twins.bytes(comparison)
        return OUTSIDE, changed(tensor, found.count, found.first)
    found, every = twins.elements(comparison), twins.units(comparison)
    if every.count > found.count:
        size = tensor.dtype.bytes
        return OUTSIDE, between(tensor, size * (every.count - found.count), size * every.first)
    at = tuple(int(i) for i in np.unravel_index(found.first, shape_of(tensor)))
    counted = f"{tensor.name} differs from the definition in {found.count} of {int(tensor.layout.size())} elements"
    return DIFFERS, f"{counted}, {first(bound, None, tensor, at, *twins.at(at))}"
