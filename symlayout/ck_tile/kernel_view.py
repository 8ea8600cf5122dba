"""Views as tensors of kernels: declared in a builder, indexed for places.

    >>> from symlayout.kernel import Builder
    >>> from symlayout.ck_tile import make_naive_tensor_view
    >>> k = Builder("read", grid=(1,), threads=32)
    >>> a = kernel_view(k, "a", make_naive_tensor_view(None, (256, 256), (256, 1)))
    >>> print(a(5, 10), a.valid(5, 10))
    a[1290] ()

The tensor of the kernel is the buffer, element by element; the descriptor becomes the index of each operation, and its
pads the facts under which it happens. So proofs, runs, the simulator and the printer see what they always see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..expr import Fact, integer
from ..kernel import Builder
from ..layout import Layout
from ..ops import Ref
from ..transforms import Embed, Unmerge
from ..transforms.merge import row_major
from .buffer_view import AddressSpace
from .tensor_view import TensorView
from .tiles.kernel_window import KernelWindow
from .tiles.tile_window import TileWindow


@dataclass(frozen=True)
class KernelView:
    """A view as a tensor of a kernel: a place for each index, and the facts under which there is one."""

    name: str
    view: TensorView
    place: Callable[..., Ref]
    k: Builder

    def __call__(self, *at: Any) -> Ref:
        """The place of an index of integers or expressions."""
        return self.place(self.view.descriptor(tuple(at)))

    def valid(self, *at: Any) -> tuple[Fact, ...]:
        """The facts under which an index has an element: those of the pads, that are not plainly true."""
        graph = self.view.descriptor.graph
        facts = graph.valid(graph.hidden(tuple(map(integer, at))))
        return tuple(f for f in facts if f.value is not True)

    def through(self, view: TensorView) -> KernelView:
        """The same tensor of the kernel seen through another view of its buffer, such as a padded or a merged one.

        Raises LayoutError for a view of another buffer.
        """
        if view.buffer != self.view.buffer:
            raise LayoutError(f"expected a view of the {self.view.buffer} of {self.name}, got {view.buffer}")
        return KernelView(self.name, view, self.place, self.k)

    def windowed(self, window: TileWindow) -> KernelWindow:
        """A window of the view in the kernel, where loads and stores are copies."""
        return KernelWindow(self.k, self.name, self.place, window)


def kernel_view(k: Builder, name: str, view: TensorView, *, flat: bool = False) -> KernelView:
    """Declare the buffer of a view in a kernel: global memory, shared memory for LDS, registers for VGPR.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import make_naive_tensor_view_packed, transpose_tensor_view
    >>> M, N = dims("M N")
    >>> k = Builder("rows", M, N, grid=(1,), threads=32)
    >>> a = kernel_view(k, "src", transpose_tensor_view(make_naive_tensor_view_packed(None, (M, N))))
    >>> print(a(0, 1), "of", k.tensors[0])
    src[N] of global src: f32 (M,N):(N,1)

    The layout of the tensor is that of the lengths and strides that the view begins with, so that results name elements
    by these coordinates; with *flat*, and where the view begins otherwise, it is the buffer as a vector. Raises
    LayoutError for the generic space, which no tensor of a kernel is in.
    """
    buffer = view.buffer
    layout = Layout(buffer.size) if flat else _naive(view)
    if buffer.space is AddressSpace.GLOBAL:
        place = k.global_tensor(name, buffer.dtype, layout)
    elif buffer.space is AddressSpace.LDS:
        place = k.shared_tensor(name, buffer.dtype, Layout(buffer.size))
    elif buffer.space is AddressSpace.VGPR and type(buffer.size) is int:
        place = k.registers(name, buffer.dtype, buffer.size)
    else:
        raise LayoutError(f"expected a buffer in global, lds or vgpr, got {buffer}")
    return KernelView(name, view, place, k)


def _naive(view: TensorView) -> Layout:
    """The lengths and strides at the bottom of a view, where they span its buffer."""
    bottom = view.descriptor.graph.transforms[:1]
    for t in bottom:
        if isinstance(t, Embed | Unmerge) and t.upper_lengths:
            strides = t.coefficients if isinstance(t, Embed) else row_major(t.lengths)
            made = Layout(t.upper_lengths, strides) if len(strides) > 1 else Layout(t.upper_lengths[0], strides[0])
            if made.cosize() == view.buffer.size:
                return made
    return Layout(view.buffer.size)


__all__ = ["KernelView", "kernel_view"]
