"""The tensors of a kernel that an operation touches: those that it writes, and how many elements of each.

>>> from symlayout.kernels import vector_copy
>>> kernel = vector_copy(4096, dtype="bf16")
>>> load = next(op for op in kernel.walk() if op.row)
>>> [elements_touched(kernel, t) for t in load.touches()]
[8, 8]
>>> [written(kernel, op) for op in kernel.walk() if op.row][:2]
['', 'dst']
"""

from __future__ import annotations

from ..atoms.access import MemorySpace
from ..ops import Op, Ref, Touch
from .value import Kernel


def elements_touched(kernel: Kernel, touch: Touch) -> int | None:
    """Elements that one thread touches from a place on; None where a number does not say it, as with a matrix."""
    bits = kernel.tensor(kernel.touched(touch)).dtype.bits
    if touch.elements is not None:
        return touch.elements
    nbytes = touch.bytes
    if touch.box is not None:
        nbytes = kernel.map(touch.box.tensor_map).tensor_map.landed_bytes
    return -(-8 * nbytes // bits) if type(nbytes) is int else None


def elements_of(kernel: Kernel, op: Op, ref: Ref) -> int | None:
    """The same of all that an operation does at a place."""
    found = [elements_touched(kernel, t) for t in op.touches() if t.operand == ref]
    return None if None in found else max((n for n in found if n is not None), default=None)


def written(kernel: Kernel, op: Op) -> str:
    """The tensor in global memory that an operation changes, or ""."""
    changed = (kernel.touched(t) for t in op.changes())
    return next((name for name in changed if kernel.tensor(name).space is MemorySpace.GLOBAL), "")
