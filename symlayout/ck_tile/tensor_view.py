"""TensorView: a buffer with a descriptor, read and written by multi-dimensional index.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tensor_view.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dtype import DTypeLike
from ..errors import ExecutionError, LayoutError
from ..expr import Symbol, substitute
from ..facts import symbols_in
from ..members import members
from ..transforms import UNKNOWN, Transform
from .buffer_view import AddressSpace, BufferView, MemoryOperation, make_buffer_view, operation_of
from .coordinates import (
    TensorCoordinate,
    coordinate_has_valid_offset_assuming_top_index_is_valid,
    make_tensor_coordinate,
)
from .descriptor import TensorDescriptor, transform_tensor_descriptor
from .explain import Explanation, explain
from .naive import make_naive_tensor_descriptor, make_naive_tensor_descriptor_packed


@dataclass(frozen=True)
class TensorView:
    """A tensor in memory: where its elements are, which indices have one, and what an update does.

    >>> view = make_naive_tensor_view_packed(range(12), (3, 4))
    >>> view[1, 2]
    6
    >>> view[2, 1] = 99
    >>> view.to_numpy().tolist()
    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 99, 10, 11]]

    As upstream, an access takes its index to be inside the lengths: only pads say that an index has no element. One
    offset and one validity, those of the first lane, hold for all lanes of a vector.
    """

    buffer: BufferView
    descriptor: TensorDescriptor
    memory_operation: MemoryOperation = MemoryOperation.SET

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory_operation", operation_of(self.memory_operation))

    # -- CK's members ---------------------------------------------------------------------------------

    def get_buffer_view(self) -> BufferView:
        """The buffer."""
        return self.buffer

    def get_tensor_descriptor(self) -> TensorDescriptor:
        """The descriptor."""
        return self.descriptor

    def get_num_of_dimension(self) -> int:
        """The number of dimensions."""
        return self.descriptor.get_num_of_dimension()

    def get_vectorized_elements(
        self,
        coordinate: TensorCoordinate | Sequence[int],
        linear_offset: int = 0,
        is_valid: bool | None = None,
        *,
        elements: int = 1,
        oob_conditional_check: bool = True,
    ) -> Any:
        """*elements* elements from a coordinate on: consecutive ones of memory, under the validity of the first.

        >>> view = make_naive_tensor_view_packed(range(256), (16, 16))
        >>> view.get_vectorized_elements(make_tensor_coordinate(view.descriptor, (4, 0)), 0, elements=4).tolist()
        [64, 65, 66, 67]

        CK gives the number of elements and *oob_conditional_check* as template arguments; see ``BufferView.get``. Of
        elements that are packed both offsets are divided by ``packed_size`` and rounded down, so that a vector that
        begins inside a storage element is the one from its start on.
        """
        c = self._coordinate(coordinate)
        at = self._stored(c, linear_offset)
        return self.buffer.get(*at, self._valid(c, is_valid), elements, oob_conditional_check)

    def set_vectorized_elements(
        self, coordinate: TensorCoordinate | Sequence[int], linear_offset: int, x: Any, is_valid: bool | None = None
    ) -> None:
        """Write an element or a vector from a coordinate on.

        Raises ExecutionError for packed elements with a validity: upstream's function of that form divides no offset.
        """
        c = self._coordinate(coordinate)
        if is_valid is not None and self.buffer.packed_size > 1:
            raise ExecutionError(
                f"expected the mask of the view for elements of {self.buffer.dtype}, got one: upstream's set with a "
                f"mask does not divide the offset {c.offset} by {self.buffer.packed_size} and writes elsewhere"
            )
        self.buffer.set(*self._stored(c, linear_offset), self._valid(c, is_valid), x)

    def update_vectorized_elements(
        self, coordinate: TensorCoordinate | Sequence[int], linear_offset: int, x: Any, is_valid: bool | None = None
    ) -> None:
        """Combine an element or a vector with memory by the view's operation: set, add, atomic_add or atomic_max."""
        c = self._coordinate(coordinate)
        self.buffer.update(self.memory_operation, *self._stored(c, linear_offset), self._valid(c, is_valid), x)

    # -- element by element ---------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """The element at an index; the invalid value where a pad has none."""
        return self.get_vectorized_elements(_index(index))

    def __setitem__(self, index: Any, x: Any) -> None:
        self.set_vectorized_elements(_index(index), 0, x)

    def __call__(self, *index: Any) -> Any:
        """The element at an index. Upstream has no such operator: the name is of its document on tensor views alone."""
        return self[index[0] if len(index) == 1 else index]

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """Every element inside the lengths, padding as what an invalid read gives."""
        lengths = tuple(map(_number, self.descriptor.lengths))
        out = np.empty(lengths, dtype=self.buffer.dtype.numpy())
        n = self.buffer.packed_size
        for index in itertools.product(*map(range, lengths)):
            if n == 1:
                out[index] = self[index]
            else:
                c = self._coordinate(index)
                out[index] = self.get_vectorized_elements(c, elements=n)[_number(c.offset) % n]
        return out

    # -- proofs and pictures --------------------------------------------------------------------------

    def explain(self, index: Sequence[int], elements: int = 1) -> Explanation:
        """How an index becomes a value, step by step: shape check, strides and other transforms, buffer.

        >>> print(make_naive_tensor_view_packed(range(12), (3, 4)).explain((1, 2)))
        shape          1 < 3, 2 < 4: inside (upstream does not check it)
        unmerge(3, 4)  (1,2) -> 1*4 + 2*1 = 6
        buffer[6]      6 < 12: inside
        value          6
        """
        read = None if self.buffer.data is None else lambda i, ok: self.buffer.get(i, 0, ok, elements)
        return explain(self.descriptor, _index(index), self.buffer, elements, read)

    def subs(self, values: Mapping[Any, Any]) -> TensorView:
        """The view with sizes replaced."""
        buffer = replace(self.buffer, size=substitute(self.buffer.size, values))
        return replace(self, buffer=buffer, descriptor=self.descriptor.subs(values))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in((self.buffer, self.descriptor)), key=lambda s: s.name))

    @property
    def static(self) -> bool:
        return not self.symbols

    @property
    def obligations(self) -> Any:
        return self.descriptor.obligations

    def table(self, width: int = 100) -> str:
        """The offset of each index as text, masked ones as -; of numbers only.

        >>> print(make_naive_tensor_view_packed(None, (2, 3)).table())
          | 0 1 2
        --+------
        0 | 0 1 2
        1 | 3 4 5
        """
        from ..draw.maps import map_grid  # with all that pictures need

        return map_grid(self.descriptor).table(width)

    def _repr_svg_(self) -> str:
        return members.picture(self.descriptor)

    def _coordinate(self, c: TensorCoordinate | Sequence[int]) -> TensorCoordinate:
        return c if isinstance(c, TensorCoordinate) else make_tensor_coordinate(self.descriptor, c)

    def _stored(self, c: TensorCoordinate, linear_offset: int) -> tuple[int, int]:
        """The offset of a coordinate and a linear one, in storage elements."""
        n = self.buffer.packed_size
        return _number(c.offset) // n, linear_offset // n

    def _valid(self, c: TensorCoordinate, given: bool | None) -> bool:
        return self.is_valid(c) if given is None else bool(given)

    def is_valid(self, c: TensorCoordinate) -> bool:
        """Whether the pads admit a coordinate; as upstream, it is taken to be inside the lengths."""
        return coordinate_has_valid_offset_assuming_top_index_is_valid(self.descriptor, c)

    def __str__(self) -> str:
        update = "" if self.memory_operation is MemoryOperation.SET else f", {self.memory_operation}"
        return f"{self.buffer}{update}: {self.descriptor}"


def _index(index: Any) -> tuple[Any, ...]:
    return tuple(index) if isinstance(index, tuple | list) else (index,)


def _number(x: Any) -> int:
    if type(x) is not int:
        raise LayoutError(f"expected numbers to access memory, got {x}; bind its sizes first")
    return int(x)


# -- making views -------------------------------------------------------------------------------------


def make_tensor_view(
    p: Any,
    desc: TensorDescriptor,
    *,
    space: AddressSpace | str = AddressSpace.GLOBAL,
    dtype: DTypeLike | None = None,
    memory_operation: MemoryOperation | str = MemoryOperation.SET,
) -> TensorView:
    """A view of memory *p* of ``desc.element_space_size`` elements.

    >>> view = make_tensor_view(range(6), make_naive_tensor_descriptor((2, 3), (3, 1)))
    >>> view[1, 0]
    3

    Upstream takes a pointer. A ``BufferView`` in its place is taken too, since the document on tensor views writes so;
    upstream's function does not, and only the constructor ``TensorView`` does.
    """
    if isinstance(p, BufferView):
        return TensorView(p, desc, operation_of(memory_operation))
    data = np.array(p) if isinstance(p, range) else p
    buffer = make_buffer_view(data, desc.element_space_size, space=space, dtype=dtype)
    return TensorView(buffer, desc, operation_of(memory_operation))


def make_naive_tensor_view(
    p: Any,
    lengths: Sequence[Any],
    strides: Sequence[Any],
    guaranteed_last_dim_vector_length: Any = UNKNOWN,
    guaranteed_last_dim_vector_stride: Any = UNKNOWN,
    **options: Any,
) -> TensorView:
    """A view of lengths and strides; options are those of ``make_tensor_view``.

    >>> col_major = make_naive_tensor_view(range(12), (3, 4), (1, 3))
    >>> col_major[2, 1]
    5
    """
    guarantees = guaranteed_last_dim_vector_length, guaranteed_last_dim_vector_stride
    return make_tensor_view(p, make_naive_tensor_descriptor(lengths, strides, *guarantees), **options)


def make_naive_tensor_view_packed(
    p: Any, lengths: Sequence[Any], guaranteed_last_dim_vector_length: Any = UNKNOWN, **options: Any
) -> TensorView:
    """A row-major view without gaps; options are those of ``make_tensor_view``.

    >>> make_naive_tensor_view_packed(range(12), (3, 4))[2, 1]
    9
    """
    desc = make_naive_tensor_descriptor_packed(lengths, guaranteed_last_dim_vector_length)
    return make_tensor_view(p, desc, **options)


def make_tensor_descriptor(lengths: Sequence[Any], strides: Sequence[Any]) -> TensorDescriptor:
    """``make_naive_tensor_descriptor``. Upstream has no such name: it is of its document on tensor views alone."""
    return make_naive_tensor_descriptor(lengths, strides)


def transform_tensor_view(
    old_tensor_view: TensorView,
    new_transforms: Sequence[Transform],
    new_lower_dimension_old_visible_idss: Sequence[Sequence[int]],
    new_upper_dimension_new_visible_idss: Sequence[Sequence[int]],
    mode: str = "exact",
) -> TensorView:
    """The same buffer through a transformed descriptor; see ``transform_tensor_descriptor``.

    >>> from symlayout.ck_tile import make_merge_transform
    >>> view = make_naive_tensor_view_packed(range(12), (3, 4))
    >>> transform_tensor_view(view, [make_merge_transform((3, 4))], [(0, 1)], [(0,)])[9]
    9
    """
    lower, upper = new_lower_dimension_old_visible_idss, new_upper_dimension_new_visible_idss
    new = transform_tensor_descriptor(old_tensor_view.descriptor, new_transforms, lower, upper, mode)
    return replace(old_tensor_view, descriptor=new)
