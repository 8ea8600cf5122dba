"""Kernels that copy one view to another, index by index."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..errors import LayoutError
from ..expr import Fact, divides, floordiv, index
from ..int_tuple import ceil_div, text
from ..kernel import Builder, Kernel
from ..kernel.specification import element
from ..transforms import Merge
from ..transforms.merge import total
from .buffer_view import AddressSpace, make_buffer_view
from .kernel_view import kernel_view
from .tensor_view import TensorView

WIDEST_BYTES = 16  # of one access of a thread (PTX ISA, ld and st)


def copy_views(
    src: TensorView,
    dst: TensorView,
    *,
    elements: int = 1,
    threads: int = 128,
    name: str = "copy_views",
    loads: str = "",
    stores: str = "",
) -> Kernel:
    """dst(x) = src(x) at every index x of two views of the same lengths, *elements* at a time along the last dimension.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view, transpose_tensor_view
    >>> M, N = dims("M N")
    >>> a = transpose_tensor_view(make_naive_tensor_view(None, (N, M), (M, 1)))
    >>> print(copy_views(a, make_naive_tensor_view(None, (M, N), (N, 1))).text())
    kernel copy_views(M, N)
      grid (ceil((M*N)/128),), 128 threads
      64 bits: M*N
      64 bits: 128*block_x
      global src: f32 M*N:1
      global dst: f32 M*N:1
      register x: f32 1:0
      if M*N > 128*block_x + thread:
        let i0 = (128*block_x + thread)//N
        let i1 = (128*block_x + thread) % N
        ld.global.4 src[M*i1 + i0] -> x
        st.global.4 x -> dst[N*i0 + i1]

    Where a pad of *src* has no element, its invalid value is written; where a pad of *dst* has none, nothing is. One
    validity holds for all lanes of a vector, which ``VectorDoesNotStraddle`` proves. *loads* and *stores* are cache
    policies. Raises LayoutError for views of other lengths or types, for a space that is not global, and for a vector
    that does not divide the last length or is wider than an access.
    """
    width = _width(src, dst, elements)
    lengths = src.descriptor.lengths
    counts = (*lengths[:-1], floordiv(lengths[-1], width))
    k = Builder(name, *_sizes(src, dst), grid=(ceil_div(total(counts), threads),), threads=threads)
    a, b = kernel_view(k, "src", src, flat=True), kernel_view(k, "dst", dst, flat=True)
    x = k.registers("x", src.buffer.dtype, width)
    vector = threads * k.block[0] + k.thread
    nbytes = width * src.buffer.dtype.bytes
    with k.where(vector < total(counts)):
        digits = Merge(counts).lower((vector,))
        *outer, last = [k.let(f"i{n}", d) for n, d in enumerate(digits)] if len(digits) > 1 else digits
        at = (*outer, width * last)
        with _where(k, b.valid(*at)):
            masked = a.valid(*at)
            if masked:
                k.fill(x(), src.buffer.invalid_value or 0, width)
            with _where(k, masked):
                k.copy(f"ld.global.{nbytes}", a(*at), x(), cache=loads)
            k.copy(f"st.global.{nbytes}", x(), b(*at), cache=stores)
    if _is_packed(src) and _is_packed(dst):
        k.result("dst", lambda i: element("src", i))
    return k.kernel(reference=_reference(src, dst))


def _where(k: Builder, facts: tuple[Fact, ...]) -> AbstractContextManager[None]:
    """The operations inside where facts hold; without facts, as they are."""
    return k.where(*facts) if facts else nullcontext()


def _width(src: TensorView, dst: TensorView, elements: int) -> int:
    for v in (src, dst):
        if v.buffer.space is not AddressSpace.GLOBAL:
            raise LayoutError(f"expected views of global memory to copy, got {v.buffer}")
    if src.buffer.dtype != dst.buffer.dtype:
        raise LayoutError(f"expected views of one type, got {src.buffer.dtype} and {dst.buffer.dtype}")
    a, b = src.descriptor.lengths, dst.descriptor.lengths
    if a != b:
        raise LayoutError(f"expected views of the same lengths, got {text(a)} and {text(b)}")
    if type(elements) is not int or elements < 1 or elements * src.buffer.dtype.bytes > WIDEST_BYTES:
        raise LayoutError(f"expected vectors of at most {WIDEST_BYTES} bytes, got {elements!r} of {src.buffer.dtype}")
    if not a or divides(elements, a[-1]) is None:
        raise LayoutError(f"expected a last length that {elements} divides, got {text(a)}")
    return elements


def _sizes(*views: TensorView) -> tuple[Any, ...]:
    """The sizes of views, in order of their names."""
    return tuple(sorted({s for v in views for s in v.symbols}, key=lambda s: s.name))


def _is_packed(view: TensorView) -> bool:
    """Whether each index is at its row-major number, and the buffer has no more."""
    d = view.descriptor
    coords = [index(f"p{i}", n) for i, n in enumerate(d.lengths)]
    number: Any = 0
    for c, n in zip(coords, d.lengths, strict=True):
        number = number * n + c
    return not d.valid and d(tuple(coords)) == number and view.buffer.size == total(d.lengths)


def _reference(src: TensorView, dst: TensorView) -> Callable[..., dict[str, np.ndarray[Any, Any]]]:
    """The contents of the destination after the copy, for views of numbers; elements that nothing writes stay."""

    def reference(**arrays: Any) -> dict[str, np.ndarray[Any, Any]]:
        given = {key: np.asarray(value) for key, value in arrays.items()}
        before = given.get("dst", np.zeros(len(given["src"]), given["src"].dtype))
        out = TensorView(make_buffer_view(before.copy(), len(before), dtype=dst.buffer.dtype), dst.descriptor)
        read = TensorView(
            make_buffer_view(given["src"], len(given["src"]), src.buffer.invalid_value, dtype=src.buffer.dtype),
            src.descriptor,
        )
        lengths = [int(n) for n in src.descriptor.lengths]
        for at in itertools.product(*map(range, lengths)):
            out[at] = read[at]
        return {"dst": out.buffer.data}

    return reference


__all__ = ["copy_views"]
