"""What an author should know of a view that upstream says nothing of, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import LayoutError
from ..expr import Int
from ..transforms import UNKNOWN, LeftPad, Offset, Pad, PassThrough, RightPad, Slice, Unmerge
from ..transforms.merge import total
from .adaptor import Graph, TensorAdaptor
from .buffer_view import AddressSpace, MemoryOperation
from .tensor_view import TensorView

ATOMICS = (MemoryOperation.ATOMIC_ADD, MemoryOperation.ATOMIC_MAX)


def remarks(x: TensorView | TensorAdaptor) -> tuple[str, ...]:
    """Remarks on a view or a descriptor; none if there is nothing to say.

    >>> from symlayout.ck_tile import *
    >>> d = make_naive_tensor_descriptor_packed((10, 10))
    >>> fives = make_pass_through_transform(5), make_pass_through_transform(5)
    >>> for line in remarks(transform_tensor_descriptor(d, fives, ((0,), (1,)), ((0,), (1,)))):
    ...     print(line)
    pass_through(5) is put on a dimension of length 10: it reaches indices 0 .. 4, from the beginning; \
make_slice_transform(10, begin, end) takes a part from elsewhere
    pass_through(5) is put on a dimension of length 10: it reaches indices 0 .. 4, from the beginning; \
make_slice_transform(10, begin, end) takes a part from elsewhere

    A remark is no verdict: claims of ``checkers`` say what holds.
    """
    if isinstance(x, TensorView):
        return (*_of_view(x), *remarks(x.descriptor))
    if not isinstance(x, TensorAdaptor):
        raise LayoutError(f"expected a tensor view or a descriptor, got {x!r}")
    return tuple(line for f in (_lengths, _guarantees, _kinds, _left_out) for line in f(x.graph))


def _of_view(view: TensorView) -> Iterator[str]:
    space = view.buffer.space
    if view.memory_operation in ATOMICS and space is not AddressSpace.GLOBAL:
        yield f"{view.memory_operation} in {space}: upstream does nothing there, without a word"
    if view.memory_operation is MemoryOperation.ADD:
        yield "add reads and writes, and is not atomic"
    if view.buffer.invalid_value not in (None, 0) and space is AddressSpace.GLOBAL:
        yield (
            f"{view.buffer.invalid_value:g} is read where a mask is false; past the end of the buffer hardware gives "
            "0 all the same"
        )


def _lengths(graph: Graph) -> Iterator[str]:
    """Transforms of another length than the dimension that they are put on."""
    for t, low, _ in graph.rows():
        for stated, i in zip(_stated(t), low, strict=False):
            actual = _length(graph, i)
            if actual is None or stated is None or stated == actual:
                continue
            says = f"{t} is put on a dimension of length {actual}"
            if isinstance(t, PassThrough) and type(stated) is int and type(actual) is int and stated < actual:
                says += (
                    f": it reaches indices 0 .. {stated - 1}, from the beginning; "
                    f"make_slice_transform({actual}, begin, end) takes a part from elsewhere"
                )
            yield says


def _stated(t: Any) -> tuple[Int | None, ...]:
    """The lengths of lower dimensions that the parameters of a transform state."""
    if isinstance(t, PassThrough | Pad | LeftPad | RightPad | Slice | Offset):
        return (t.length,)
    if isinstance(t, Unmerge):
        return (total(t.lengths),)
    return tuple(t.lengths) if t.kind in ("merge", "xor") else (None,) * t.lower_rank


def _length(graph: Graph, dimension: int) -> Int | None:
    """The length of a hidden dimension, where a transform states it."""
    return None if dimension in graph.bottom_ids else graph.length_of(dimension)


def _guarantees(graph: Graph) -> Iterator[str]:
    lengths, _ = graph.guarantees("V24")
    for t, low, up in graph.rows():
        if isinstance(t, Pad) and lengths[low[0]] != UNKNOWN and lengths[up[0]] == UNKNOWN:
            yield (
                f"{t} drops the guarantee of vectors of {lengths[low[0]]}, so that accesses are scalar; "
                f"make_right_pad_transform keeps it"
            )
    between = [i for i, _ in graph.lengths if i not in graph.top_ids and lengths[i] != UNKNOWN]
    for i in between:
        users = [t for t, low, _ in graph.rows() if i in low]
        if users and all(n == UNKNOWN for n in (lengths[j] for j in graph.top_ids)):
            yield f"the guarantee of vectors of {lengths[i]} does not pass {users[0]}: no top dimension has one"


def _kinds(graph: Graph) -> Iterator[str]:
    for t in graph.transforms:
        if isinstance(t, LeftPad):
            yield f"{t}: {t.note}"
        if isinstance(t, Offset) and not (type(t.offset) is int and t.offset == 0):
            yield f"{t}: element_space_size does not count it, so that the last elements lie past a buffer of that size"


def _left_out(graph: Graph) -> Iterator[str]:
    """Dimensions that a transform defines and nothing reads."""
    read = {i for ids in graph.lower_ids for i in ids} | set(graph.top_ids)
    for t, _, up in graph.rows():
        for i in up:
            if i not in read:
                yield f"a dimension of {t}, of length {graph.length_of(i)}, is at 0: no later transform takes it"


__all__ = ["remarks"]
