"""Tensors in device memory with guard zones around them: what a kernel writes outside of its tensors is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from symlayout.kernel import KernelTensor
from symlayout.strides import as_modes

from .device import Buffer, Device
from .errors import RunError

GUARD_BYTES = 4096  # before and behind: more than a box row reaches past its tensor
GUARD, POISON = 0x5C, 0xA5


class Guarded:
    """One tensor of a bound kernel: guard, elements, guard. Elements that are not given are poison.

    It has ``__cuda_array_interface__``, so that launches take it as an array.
    """

    def __init__(self, device: Device, tensor: KernelTensor, given: Any = None) -> None:
        self.tensor = tensor
        self.nbytes = int(tensor.layout.cosize()) * tensor.dtype.bytes
        self.before = laid_out(tensor, given)
        self._buffer: Buffer = device.allocate(self.nbytes + 2 * GUARD_BYTES)
        self._buffer.fill(GUARD)
        self._buffer.upload(self.before, GUARD_BYTES)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        data = (self._buffer.address + GUARD_BYTES, False)
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": data, "version": 3, "stream": 1}

    def bytes(self) -> np.ndarray[Any, Any]:
        """The current contents of the tensor's memory."""
        return self._buffer.download("u8", (self.nbytes,), GUARD_BYTES)

    def array(self) -> np.ndarray[Any, Any]:
        """The tensor's elements now, by its shape."""
        return view(self.tensor, self.bytes())

    def expect_guards(self) -> None:
        """Raise RunError where a byte before or behind the tensor has changed."""
        for where, at in (("before", 0), ("behind", GUARD_BYTES + self.nbytes)):
            found = self._buffer.download("u8", (GUARD_BYTES,), at)
            wrong = np.flatnonzero(found != GUARD)
            if wrong.size:
                nearest = GUARD_BYTES - int(wrong[-1]) if where == "before" else int(wrong[0]) + 1
                raise RunError(outside(self.tensor, wrong.size, where, nearest))

    def expect_gaps(self) -> None:
        """Raise RunError where a byte between the tensor's elements, such as behind its rows, has changed."""
        if int(self.tensor.layout.size()) * self.tensor.dtype.bytes == self.nbytes:
            return
        held = np.zeros(self.nbytes, np.uint8)
        view(self.tensor, held).view(f"u{self.tensor.dtype.bytes}")[...] = -1 & (1 << self.tensor.dtype.bits) - 1
        wrong = np.flatnonzero((held == 0) & (self.bytes() != self.before))
        if wrong.size:
            raise RunError(between(self.tensor, wrong.size, int(wrong[0])))

    def expect_unchanged(self) -> None:
        """Raise RunError where a byte of the tensor has changed."""
        wrong = np.flatnonzero(self.bytes() != self.before)
        if wrong.size:
            raise RunError(changed(self.tensor, wrong.size, int(wrong[0])))

    def free(self) -> None:
        self._buffer.free()


def shape_of(tensor: KernelTensor) -> tuple[int, ...]:
    """The shape of an array with an entry for each coordinate of a flat layout."""
    return tuple(map(int, as_modes(tensor.layout.shape)))


def view(tensor: KernelTensor, held: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of flat layouts as an array over the bytes."""
    steps = as_modes(tensor.layout.stride)
    size = tensor.dtype.bytes
    # As integers: the array interface, through which as_strided goes, has no name for floats of 8 bits.
    bits = np.lib.stride_tricks.as_strided(held.view(f"u{size}"), shape_of(tensor), tuple(int(d) * size for d in steps))
    return bits.view(tensor.dtype.numpy())


def laid_out(tensor: KernelTensor, given: Any = None) -> np.ndarray[Any, Any]:
    """The bytes of a tensor as it begins: elements that are given where they lie, and poison elsewhere."""
    held = np.full(int(tensor.layout.cosize()) * tensor.dtype.bytes, POISON, np.uint8)
    if given is not None:
        view(tensor, held)[...] = np.asarray(given).reshape(shape_of(tensor))
    return held


# -- what is said of bytes that no kernel may change -----------------------------------------------------------


def outside(tensor: KernelTensor, count: int, where: str, nearest: int) -> str:
    """Bytes that were written before a tensor, or behind it."""
    return (
        f"expected {tensor.name}'s surroundings untouched, got {count} bytes written {where} it, "
        f"the nearest {nearest} bytes away from its elements"
    )


def between(tensor: KernelTensor, count: int, first: int) -> str:
    """Bytes that were written between the elements of a tensor."""
    return (
        f"expected the bytes between the elements of {tensor.name} untouched, got {count} others, "
        f"the first at byte {first}"
    )


def changed(tensor: KernelTensor, count: int, first: int) -> str:
    """Bytes of an input that are others than before."""
    return (
        f"expected {tensor.name}, which the kernel only reads, unchanged, got {count} other bytes, "
        f"the first at byte {first}"
    )
