"""Pointers: where the elements of a tensor are, in which memory space and of which type.

    >>> import numpy as np
    >>> from symlayout.tensor import make_tensor
    >>> x = make_tensor(make_gmem_ptr(np.arange(6.0)), (2, 3), (3, 1))
    >>> print(x(1, 2), x(1, None))
    5.0 global f64 + 3 o (3,):(1,)

A pointer is the iterator of a tensor. It refers to a NumPy array, to a tensor of a kernel by its name, or to nothing,
where only its space and its type matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..atoms.access import MemorySpace
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Int, integer, terms_of
from ..facts import Facts
from ..layout import Layout, is_layout  # noqa: F401  # one is of the examples
from ..ordered_layouts import make_fragment_like as fragment_layout
from ..tensor import Tensor


@dataclass(frozen=True, eq=False)
class Pointer:
    """The element at *offset* of some memory. *align_bytes* is what divides the address of element 0.

    Raises LayoutError where *data* is an array of several modes, or of another type than *dtype*.
    """

    space: MemorySpace
    dtype: DType
    data: np.ndarray[Any, Any] | str | None = None
    offset: Int = 0
    align_bytes: int = 16

    def __post_init__(self) -> None:
        if isinstance(self.data, np.ndarray) and (self.data.ndim != 1 or self.data.dtype != self.dtype.numpy()):
            raise LayoutError(
                f"expected a vector of {self.dtype.numpy()} behind a pointer to {self.dtype}, got {self.data.ndim} "
                f"modes of {self.data.dtype}; pass array.reshape(-1)"
            )

    def __add__(self, offset: Any) -> Pointer:
        return replace(self, offset=integer(self.offset + offset))

    def __getitem__(self, offset: Any) -> Any:
        """The element at a place: a number of an array, else the pointer there."""
        at = integer(self.offset + offset)
        if not isinstance(self.data, np.ndarray):
            return replace(self, offset=at)
        if type(at) is not int or not 0 <= at < len(self.data):
            raise LayoutError(f"expected an offset of 0 .. {len(self.data) - 1} into {self}, got {at}")
        return self.data[at]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pointer):
            return NotImplemented
        same = self.data is other.data or (isinstance(self.data, str) and self.data == other.data)
        return same and (self.space, self.dtype, self.offset) == (other.space, other.dtype, other.offset)

    def __hash__(self) -> int:
        return hash((self.space, self.dtype, self.offset))

    @property
    def alignment(self) -> int:
        """The greatest number of bytes that is seen to divide the address, for all sizes.

        >>> print(Pointer(MemorySpace.GLOBAL, DType.of("f32"), offset=6).alignment)
        8
        """
        content = math.gcd(*terms_of(Facts.about(self.offset).normal(self.offset)).values())
        whole = content * self.dtype.bits
        return math.gcd(self.align_bytes, whole // 8) if whole % 8 == 0 else 1

    def __str__(self) -> str:
        name = f" {self.data}" if isinstance(self.data, str) else ""
        at = "" if type(self.offset) is int and self.offset == 0 else f" + {self.offset}"
        return f"{self.space}{name} {self.dtype}{at}"


def _pointer(space: MemorySpace, data: Any, dtype: DTypeLike | None, align_bytes: int) -> Pointer:
    if isinstance(data, np.ndarray):
        return Pointer(space, DType.of(data.dtype if dtype is None else dtype), data, 0, align_bytes)
    if dtype is None:
        raise LayoutError(f"expected the type of the elements of {data!r}, as in make_gmem_ptr({data!r}, 'f32')")
    return Pointer(space, DType.of(dtype), data, 0, align_bytes)


def make_gmem_ptr(data: Any = None, dtype: DTypeLike | None = None, align_bytes: int = 16) -> Pointer:
    """A pointer to global memory: to a vector of NumPy, to a tensor of a kernel by its name, or to nothing.

    >>> print(make_gmem_ptr(dtype="bf16") + 8)
    global bf16 + 8

    Raises LayoutError without a type, and for an array of several modes.
    """
    return _pointer(MemorySpace.GLOBAL, data, dtype, align_bytes)


def make_smem_ptr(data: Any = None, dtype: DTypeLike | None = None, align_bytes: int = 16) -> Pointer:
    """A pointer to shared memory, as ``make_gmem_ptr``.

    >>> print(make_smem_ptr("tile", "f16"))
    shared tile f16
    """
    return _pointer(MemorySpace.SHARED, data, dtype, align_bytes)


def make_rmem_ptr(data: Any = None, dtype: DTypeLike | None = None) -> Pointer:
    """A pointer to the registers of a thread, as ``make_gmem_ptr``.

    >>> print(make_rmem_ptr("x", "f32"))
    register x f32
    """
    return _pointer(MemorySpace.REGISTER, data, dtype, 16)


def make_fragment_like(x: Any, dtype: DTypeLike | None = None) -> Any:
    """Registers for the elements of a tensor: mode 0 first, then in the order of its strides; of a layout their layout.

    >>> x = Tensor(make_gmem_ptr(np.zeros(64, np.float32)), Layout((4, 2), (16, 1)))
    >>> print(make_fragment_like(x), make_fragment_like(x.layout), sep="; ")
    register f32 o (4,2):(1,4); (4,2):(1,4)

    Raises LayoutError for a tensor whose iterator does not say the type, without *dtype*.
    """
    if is_layout(x):
        return fragment_layout(x)
    expect_kind(x, Tensor, "a tensor or a layout")
    layout = fragment_layout(x.layout)
    kind = DType.of(dtype) if dtype is not None else dtype_of(x)
    if kind is None:
        raise LayoutError(f"expected the type of the elements of {x}, as in make_fragment_like(x, 'f32')")
    return Tensor(make_rmem_ptr(np.zeros(int(layout.cosize()), kind.numpy()), kind), layout)


TENSOR = "a tensor, as of make_tensor or Builder.tensor"
LONGEST = 60  # characters of what is shown of another value


def expect_kind(x: Any, kind: type | tuple[type, ...], what: str) -> None:
    """Raise LayoutError for what is none of a kind.

    >>> expect_kind(3, Tensor, TENSOR)
    Traceback (most recent call last):
        ...
    symlayout.errors.LayoutError: expected a tensor, as of make_tensor or Builder.tensor, got 3 (int)
    """
    if not isinstance(x, kind):
        said = repr(x) if isinstance(x, str) else str(x)
        said = said if len(said) <= LONGEST else f"{said[: LONGEST - 3]}..."
        raise LayoutError(f"expected {what}, got {said} ({type(x).__name__})")


def space_of(x: Tensor) -> MemorySpace | None:
    """The memory space of a tensor; None where its iterator does not say. Raises LayoutError for what is no tensor."""
    expect_kind(x, Tensor, TENSOR)
    return x.iterator.space if isinstance(x.iterator, Pointer) else None


def dtype_of(x: Tensor) -> DType | None:
    """The type of a tensor's elements; None where its iterator does not say. Raises LayoutError for what is none."""
    expect_kind(x, Tensor, TENSOR)
    if isinstance(x.iterator, Pointer):
        return x.iterator.dtype
    return DType.of(x.iterator.dtype) if isinstance(x.iterator, np.ndarray) else None


def expect_space(x: Tensor, spaces: tuple[MemorySpace, ...], what: str) -> None:
    """Raise LayoutError for a tensor that is known to be in another memory space."""
    space = space_of(x)
    if space is not None and space not in spaces:
        raise LayoutError(f"expected {what} in {' or '.join(spaces)} memory, got {x}")
