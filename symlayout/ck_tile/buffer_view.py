"""BufferView: linear memory of an address space, with what an invalid access reads and writes.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/buffer_view.hpp and core/arch/amd_buffer_addressing.hpp;
what hardware does past the end of a global buffer is read from there and not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..atoms.access import Word
from ..dtype import DType, DTypeLike
from ..errors import ExecutionError, LayoutError
from ..expr import Int, integer
from ..facts import symbols_in

WORD_BYTES = 4  # in which hardware checks the range of a global access


class AddressSpace(Word):
    """``address_space_enum`` of CK."""

    GENERIC = "generic"
    GLOBAL = "global"
    LDS = "lds"
    SGPR = "sgpr"
    VGPR = "vgpr"


class MemoryOperation(Word):
    """``memory_operation_enum`` of CK: what an update of a view does to memory."""

    SET = "set"
    ATOMIC_ADD = "atomic_add"
    ATOMIC_MAX = "atomic_max"
    ADD = "add"


@dataclass(frozen=True)
class BufferView:
    """*size* elements of memory, indexed linearly; *data* is a flat array that it reads and writes, where there is one.

    >>> buffer = make_buffer_view([0, 1, 2, 3, 4, 5], 6, space="lds")
    >>> print(buffer, buffer[5], buffer.get(4, is_valid=False))
    lds buffer of 6 i64 5 0

    An invalid read gives 0, or *invalid_value* in every lane. Past its end a global buffer reads 0 whatever
    *invalid_value* is, and drops what is written, since hardware does so; other spaces check nothing, so that such an
    access is an ExecutionError here.

    Elements of 4 bits lie two in a storage element (``packed_size``): an index counts storage elements then, and an
    access moves whole ones.

    >>> pairs = make_buffer_view([1, 2, 3, 4, 5, 6], 6, dtype="i4")
    >>> pairs.packed_size, pairs[1].astype(int).tolist()
    (2, [3, 4])
    """

    space: AddressSpace | str  # its word becomes the space
    dtype: DType
    size: Int
    invalid_value: float | None = None
    data: Any = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.space not in tuple(AddressSpace):
            raise LayoutError(f"expected an address space of {', '.join(AddressSpace)}, got {self.space!r}")
        object.__setattr__(self, "space", AddressSpace(self.space))
        object.__setattr__(self, "size", integer(self.size))
        if self.space is AddressSpace.SGPR:
            raise LayoutError("expected a space that has a buffer view, got sgpr, for which upstream has none")
        if self.data is not None and (getattr(self.data, "ndim", 0) != 1 or not isinstance(self.data, np.ndarray)):
            raise LayoutError(f"expected a flat array as the memory of a buffer, got {type(self.data).__name__}")
        if self.data is not None and type(self.size) is int and len(self.data) < self.size:
            raise LayoutError(f"expected an array of at least {self.size} elements, got {len(self.data)}")

    @property
    def packed_size(self) -> int:
        """The elements that share a storage element: 2 of 4 bits, else 1 (upstream's ``PackedSize``)."""
        return max(1, 8 // self.dtype.bits)

    # -- reading and writing --------------------------------------------------------------------------

    def get(
        self,
        i: int,
        linear_offset: int = 0,
        is_valid: bool = True,
        elements: int = 1,
        oob_conditional_check: bool = True,
    ) -> Any:
        """*elements* elements from index i + linear_offset on; one as a number, several as an array.

        Without *oob_conditional_check* an invalid read of a global buffer is not replaced by the invalid value: what is
        at its address is read, of another row perhaps, and hardware alone looks at the end of the buffer. Raises
        ExecutionError for a valid access that leaves a buffer whose space checks nothing.
        """
        out = self._invalid(elements)
        first = self._first(i + linear_offset, elements)
        if is_valid or (self.space is AddressSpace.GLOBAL and not oob_conditional_check):
            for j, inside in enumerate(self._inside(first, elements, "read")):
                out[j] = self._memory[first + j] if inside else 0
        return out if elements > 1 else out[0].item()

    def set(self, i: int, linear_offset: int, is_valid: bool, x: Any) -> None:
        """Write one element or a vector at index i + linear_offset; an invalid write does nothing."""
        values = np.atleast_1d(x)
        first = self._first(i + linear_offset, len(values))
        if is_valid:
            for j, inside in enumerate(self._inside(first, len(values), "written")):
                if inside:
                    self._memory[first + j] = values[j]

    def update(self, operation: MemoryOperation | str, i: int, linear_offset: int, is_valid: bool, x: Any) -> None:
        """Combine one element or a vector with memory.

        ``add`` reads and writes, and is not atomic. Raises ExecutionError for an atomic operation outside of global
        memory, where upstream does nothing, without a word.
        """
        operation = operation_of(operation)
        if operation in (MemoryOperation.ATOMIC_ADD, MemoryOperation.ATOMIC_MAX) and self.space != AddressSpace.GLOBAL:
            raise ExecutionError(
                f"expected {operation} on a global buffer, got one in {self.space}, where upstream does nothing"
            )
        values = np.atleast_1d(x)
        if operation is not MemoryOperation.SET and is_valid:
            before = np.atleast_1d(self.get(i, linear_offset, True, len(values)))
            combine = np.maximum if operation is MemoryOperation.ATOMIC_MAX else np.add
            values = combine(before, values)
        self.set(i, linear_offset, is_valid, values)

    def __getitem__(self, i: int) -> Any:
        """``buffer[5]``: the element, by its index alone; there is no validity."""
        return self.get(i, elements=self.packed_size)

    def __setitem__(self, i: int, x: Any) -> None:
        self.set(i, 0, True, x)

    @property
    def _memory(self) -> np.ndarray[Any, Any]:
        if self.data is None:
            raise ExecutionError(f"expected a buffer with memory to read and write, got {self}, which has none")
        return np.asarray(self.data)

    def _invalid(self, elements: int) -> np.ndarray[Any, Any]:
        """What an invalid read gives in every lane."""
        if type(elements) is not int or elements < 1:
            raise LayoutError(f"expected at least 1 element, got {elements!r}")
        return np.full(elements, self.invalid_value or 0, dtype=self.dtype.numpy())

    def _first(self, i: int, elements: int) -> int:
        """The first element of an access at an index. Raises LayoutError for a part of a storage element."""
        if elements % self.packed_size:
            raise LayoutError(
                f"expected an access of whole storage elements, {self.packed_size} elements of {self.dtype} each, got "
                f"{elements}"
            )
        return i * self.packed_size

    def _inside(self, first: int, elements: int, what: str) -> Sequence[bool]:
        """For each lane whether its element lies in the buffer; hardware looks at whole words of a global one."""
        whole = evaluated(self.size) // self.packed_size * self.packed_size  # upstream's size, in storage elements
        inside = [0 <= first + j < whole for j in range(elements)]
        if self.space is not AddressSpace.GLOBAL and not all(inside):
            at = first + inside.index(False)
            raise ExecutionError(
                f"expected an index of 0 .. {evaluated(self.size) - 1}, got {at} {what} in {self.space} memory, "
                "where nothing checks it"
            )
        per_word = max(1, WORD_BYTES * 8 // self.dtype.bits)
        for j in range(elements - 1):
            if inside[j] != inside[j + 1] and (first + j + 1) % per_word:
                raise ExecutionError(
                    f"expected the end of a buffer between words of {WORD_BYTES} bytes, got it inside of one at "
                    f"element {first + j + 1}, where what hardware does is not known"
                )
        return inside

    # -- inspection -----------------------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[Any, ...]:
        return tuple(sorted(symbols_in((self.size,)), key=lambda s: s.name))

    def __str__(self) -> str:
        value = "" if self.invalid_value is None else f", {self.invalid_value:g} where invalid"
        return f"{self.space} buffer of {self.size} {self.dtype}{value}"


def operation_of(word: MemoryOperation | str) -> MemoryOperation:
    """The operation of a word. Raises LayoutError for another one."""
    if word not in tuple(MemoryOperation):
        raise LayoutError(f"expected a memory operation of {', '.join(MemoryOperation)}, got {word!r}")
    return MemoryOperation(word)


def evaluated(size: Int) -> int:
    """A size as a number. Raises LayoutError for a symbolic one."""
    if type(size) is not int:
        raise LayoutError(f"expected a number of elements to access memory, got {size}; bind its sizes first")
    return size


def make_buffer_view(
    p: Any,
    buffer_size: Any,
    invalid_element_value: float | None = None,
    *,
    space: AddressSpace | str = AddressSpace.GLOBAL,
    dtype: DTypeLike | None = None,
) -> BufferView:
    """A buffer of memory *p*: a flat array (or a list of numbers), or None for one that is only proved about.

    >>> print(make_buffer_view([1, 2, 3], 3, dtype="f16"))
    global buffer of 3 f16

    CK gives the space as a template argument. The type is that of the array unless *dtype* names another.
    """
    data = p if p is None or isinstance(p, np.ndarray) else np.array(p)
    kind = DType.of(dtype if dtype is not None else data.dtype.name if data is not None else "f32")
    if data is not None and data.dtype != kind.numpy():
        data = data.astype(kind.numpy())
    return BufferView(space, kind, buffer_size, invalid_element_value, data)
