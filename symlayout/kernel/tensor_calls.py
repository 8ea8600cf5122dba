"""The algorithms of CuTe as calls of a builder: each appends the operations that a thread makes of it.

>>> from symlayout.kernel import Builder
>>> from symlayout.layout import Layout
>>> k = Builder("scaled", grid=(1,), threads=32)
>>> alpha, y = k.parameter("alpha", "f32"), k.tensor(k.global_tensor("y", "f32", Layout(128))(4 * k.thread), Layout(4))
>>> x = k.tensor(k.registers("x", "f32", 4)())
>>> print(k.copy(y, x), k.axpby(alpha, x, 0, y), sep="; ")
copy by ld.global.16, over at once; axpby by st.global.16, over at once
>>> print(*k.kernel().text().splitlines()[-3:], sep=chr(10))
  ld.global.16 y[4*thread] -> x
  mul alpha, x -> axpby_y x4
  st.global.16 axpby_y -> y[4*thread]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..algorithms.for_all import copied_by_tma, copied_for_all
from ..algorithms.lowering import Inside, copied, multiplied
from ..algorithms.pointers import TENSOR, Pointer, expect_kind
from ..algorithms.products import Dispatched
from ..algorithms.register_lowering import filled, multiplied_by_fma, updated
from ..algorithms.results import Issued
from ..algorithms.tiled_mma import TiledMma
from ..algorithms.tma_copies import KernelTma
from ..atoms import Completion, MemorySpace
from ..errors import LayoutError
from ..expr import integer
from ..ops import Barrier, Commit, Ref, Slot, Wait, WaitGroup
from ..tensor import Tensor
from ..tma.tiled_copy import make_tma_copy
from .declarations import KernelTensor, lookup

if TYPE_CHECKING:
    from ..algorithms.lowering import Target


PLACE = "a place in a tensor of the kernel, as src() of k.global_tensor"


class TensorCalls:
    """What a ``Builder`` has for tensors; they are made by ``tensor`` and dealt as CuTe's."""

    tensors: list[KernelTensor]

    @property
    def _target(self) -> Target:
        return self  # type: ignore[return-value]  # the builder, which has loops, conditions and registers too

    def tensor(self, place: Ref, layout: Any = None) -> Tensor:
        """A tensor of the kernel from a place on, for the algorithms: with its own layout, or with another.

        Raises LayoutError for a name that no tensor has.
        """
        expect_kind(place, Ref, PLACE)
        held: KernelTensor = lookup(tuple(self.tensors), place.tensor, "tensor")
        pointer = Pointer(held.space, held.dtype, held.name, place.offset, held.align_bytes)
        return Tensor(pointer, held.layout if layout is None else layout)

    def tma_copy(
        self, name: str, tensor: Ref, smem_layout: Any, tile: Any = None, multicast: int = 1, **options: Any
    ) -> KernelTma:
        """A tensor map of a global tensor for tiles as they lie in shared memory, and the copy through it.

        The arguments are those of ``make_tma_copy``, whose layout and type are the tensor's. It copies coordinates:
        ``k.copy(tma, tile of tma.get_tma_tensor(), tile in shared memory, barrier=...)``, or back without a barrier.
        Raises LayoutError for what TMA cannot do.
        """
        expect_kind(tensor, Ref, PLACE)
        held: KernelTensor = lookup(tuple(self.tensors), tensor.tensor, "tensor")
        if held.space is not MemorySpace.GLOBAL:
            raise LayoutError(f"expected a tensor in global memory for a tensor map, got {held.name} in {held.space}")
        made = make_tma_copy(held.layout, smem_layout, tile, multicast, dtype=held.dtype, **options)
        self._target.tensor_map(name, tensor, made.tensor_map)
        return KernelTma(name, held.name, made)

    def copy_tensors(
        self,
        atom: Any,
        src: Tensor,
        dst: Tensor | None,
        when: Any = (),
        barrier: Slot | None = None,
        multicast: Any = None,
        tma: KernelTma | None = None,
    ) -> Issued:
        """``copy`` of tensors: by *atom*, or by what fits best where *dst* is None and *atom* the source.

        With a predicate, a vector is chosen only where it holds for all of its elements or for none. With a *barrier*
        or a copy by TMA, a thread copies for all: by TMA where that is given, and in bulk otherwise.
        """
        what, source, target = (None, atom, src) if dst is None else (atom, src, dst)
        if barrier is not None:
            expect_kind(barrier, Slot, "an mbarrier, as full() of k.mbarriers")
        if isinstance(what, KernelTma):
            return copied_by_tma(self._target, what, source, target, barrier, multicast, when)
        for x in (source, target):
            expect_kind(x, Tensor, TENSOR)
        if tma is not None:
            expect_kind(tma, KernelTma, "a copy by TMA, as of Builder.tma_copy")
        if what is None and (barrier is not None or tma is not None):
            return copied_for_all(self._target, source, target, _predicate(when), barrier, multicast, tma)
        return copied(self._target, what, source, target, _predicate(when), barrier)

    def gemm(self, *args: Any) -> Issued | Dispatched:
        """``gemm(mma, A, B, C)`` by a tiled product of fragments; ``gemm(A, B, C)`` by fused multiply-adds.

        Raises LayoutError for tensors that do not fit together, or lie elsewhere than the product reads them.
        """
        if args and isinstance(args[0], TiledMma):
            if len(args) != 4:
                raise LayoutError(f"expected gemm(tiled product, A, B, C), got {len(args)} arguments")
            return multiplied(self._target, *args)
        if len(args) != 3 or not all(isinstance(x, Tensor) for x in args):
            raise LayoutError(f"expected gemm([tiled product,] A, B, C) of tensors, got {len(args)} arguments")
        return multiplied_by_fma(self._target, *args)

    def axpby(self, alpha: Any, x: Tensor, beta: Any, y: Tensor, when: Any = ()) -> Issued:
        """``y = alpha*x + beta*y``: scalar parameters, 0 or 1; x in registers, y there or in memory.

        Raises LayoutError for other factors, sizes and types.
        """
        return updated(self._target, alpha, x, beta, y, _predicate(when))

    def fill_tensor(self, x: Tensor, value: float, when: Any = ()) -> Issued:
        """``x(i) = value`` for each element of a thread."""
        return filled(self._target, x, value, _predicate(when))

    def clear(self, x: Tensor, when: Any = ()) -> Issued:
        """``x(i) = 0`` for each element of a thread."""
        return filled(self._target, x, 0, _predicate(when))

    def complete(
        self, issued: Issued, pending: int = 0, barrier: Slot | None = None, parity: Any = 0, read: bool = False
    ) -> None:
        """What a reader needs after a copy: a commit and a wait for all but *pending* groups, or for an mbarrier.

        Where the copy wrote for other threads, they all meet. *read* waits until a group has read its source, which may
        then be written. Raises LayoutError for a copy that completes on an mbarrier, without one.
        """
        expect_kind(issued, Issued, "what a copy returns")
        choice, k = issued.choice, self._target
        if choice is not None and choice.completion.is_group:
            k.add(Commit(choice.completion))
            k.add(WaitGroup(choice.completion, pending, read))
        if choice is not None and choice.completion is Completion.MBARRIER:
            if barrier is None:
                raise LayoutError(
                    f"expected the mbarrier on which {choice.atom} completes, as complete(.., barrier=full())"
                )
            k.add(Wait(barrier, integer(parity)))
        if choice is not None and choice.barrier:
            k.add(Barrier(0, 0))


def _predicate(when: Any) -> Inside | None:
    """The predicate of a call. Raises LayoutError for what is none, such as facts, which are those of no element."""
    if isinstance(when, Inside):
        return when
    if when is None or (isinstance(when, tuple) and not when):
        return None
    raise LayoutError(f"expected Inside(coords, shape) as the predicate of tensors, got {when!r}")
