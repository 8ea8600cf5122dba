"""The size of a bulk copy: an operand of the operation, as an expression or as the minimum of several.

>>> from symlayout import dim
>>> from symlayout.kernels import bulk_copy
>>> kernel = bulk_copy(dim("N"), chunk=256, slots=2, blocks=3)
>>> op = next(op for op in kernel.walk() if getattr(op, "bytes", None) is not None and isinstance(op, Copy))
>>> print(elements_moved(kernel, op, op.src), most_moved(kernel, op, op.src))
min(256, N - 256*block_x - 768*i) 256
"""

from __future__ import annotations

from typing import Any

from symlayout.arch import SM90
from symlayout.expr import Int, Min, divides, terms_of
from symlayout.kernel import Kernel
from symlayout.ops import Copy, Ref

MOST_BYTES = SM90.mbarrier_bytes  # that a phase of an mbarrier can await


def elements_moved(kernel: Kernel, op: Copy, ref: Ref) -> Int | None:
    """The number of elements that a bulk copy moves; None if they are not known to be whole."""
    bits = kernel.tensor(ref.tensor).dtype.bits
    return None if op.bytes is None or bits % 8 else divides(bits // 8, op.bytes)


def most_moved(kernel: Kernel, op: Copy, ref: Ref) -> int | None:
    """A number of elements that no execution moves more than; None where there is none to be seen."""
    moved = elements_moved(kernel, op, ref)
    return None if moved is None else min((x for x in arguments(moved) if type(x) is int), default=None)


def arguments(x: Any) -> tuple[Any, ...]:
    """The arguments of a minimum, and of others themselves: x is the least of them."""
    t = terms_of(x)
    if len(t) == 1:
        ((m, c),) = t.items()
        if len(m) == 1 and isinstance(m[0], Min) and c > 0:
            return tuple(c * a for a in m[0].args)
    return (x,)
