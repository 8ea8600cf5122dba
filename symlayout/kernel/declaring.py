"""What a builder declares before its operations: tensors, tensor maps, mbarriers, parameters and results.

>>> from symlayout.kernel import Builder
>>> k = Builder("copy", grid=(1,), threads=32)
>>> x, full = k.shared_tensor("x", "f32", Layout(128)), k.mbarriers("full", 2, 1)
>>> print(x(32), full(1))
x[32] full[1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..atoms.access import MemorySpace
from ..dtype import DType
from ..errors import LayoutError
from ..expr import Symbol, divides, integer
from ..layout import Layout
from ..ops import Box, Param, Ref, Slot
from ..tma import TensorMap
from .declarations import BASE_ALIGN_BYTES, BLOCKS, THREAD, KernelMap, KernelTensor, Mbarriers, Parameter, lookup
from .specification import Result, Value, misplaced, result
from .tensor_calls import TensorCalls


class Declarations(TensorCalls):
    """What a ``Builder`` has for declarations; each gives what operations name the thing by."""

    name: str
    dims: tuple[Symbol, ...]
    maps: list[KernelMap]
    barriers: list[Mbarriers]
    results: list[Result]
    parameters: list[Parameter]
    _shared: int
    _role: str
    _names: set[str]
    _loops: set[str]

    def global_tensor(
        self,
        name: str,
        dtype: Any,
        layout: Layout,
        *,
        align_bytes: int = BASE_ALIGN_BYTES,
        const: bool = False,
        may_alias: str | Iterable[str] = (),
    ) -> Callable[..., Ref]:
        """A tensor in global memory; call it for a place in it. What is stated of its base: see ``KernelTensor``."""
        others = (may_alias,) if isinstance(may_alias, str) else tuple(may_alias)
        kind = DType.of(dtype)
        return self._declare(
            KernelTensor(name, MemorySpace.GLOBAL, kind, layout, align_bytes=align_bytes, const=const, may_alias=others)
        )

    def shared_tensor(
        self, name: str, dtype: Any, layout: Any, align: int = 1024, over: Ref | None = None
    ) -> Callable[..., Ref]:
        """A tensor in shared memory at the next multiple of *align* bytes, or *over* a place in another tensor.

        Tensors that share bytes must not be in use at once, which is proved. Raises LayoutError for a place that is not
        in shared memory, and for one that has no byte as a number.
        """
        base = -(-self._shared // align) * align if over is None else self._byte_at(over)
        made = KernelTensor(name, MemorySpace.SHARED, DType.of(dtype), layout, base)
        self._shared = max(self._shared, base + int(made.bytes))
        return self._declare(made)

    def _byte_at(self, place: Ref) -> int:
        """The byte of shared memory at a place in a tensor."""
        tensor: KernelTensor = lookup(tuple(self.tensors), place.tensor, "tensor")
        at = divides(8, place.offset * tensor.dtype.bits)
        if tensor.space is not MemorySpace.SHARED or type(at) is not int:
            raise LayoutError(f"expected a place in shared memory at a whole byte, got {place} in {tensor.space}")
        return tensor.base + at

    def registers(self, name: str, dtype: Any, count: int) -> Callable[..., Ref]:
        """*count* elements in the registers of each thread of the role at hand."""
        return self._declare(KernelTensor(name, MemorySpace.REGISTER, DType.of(dtype), Layout(count), role=self._role))

    def _declare(self, tensor: KernelTensor) -> Callable[..., Ref]:
        self.tensors.append(tensor)
        return lambda offset=0: Ref(tensor.name, integer(offset))

    def tensor_map(self, name: str, tensor: Ref, tensor_map: TensorMap) -> Callable[..., Box]:
        """A tensor map of a global tensor; call it with a coordinate, innermost first, for a box.

        Raises LayoutError for a place inside the tensor: where a map begins is its ``global_address``.
        """
        if tensor.offset != 0:
            raise LayoutError(
                f"expected a tensor map over {tensor.tensor} from its first element on, got {tensor}; "
                f"state where it begins as the map's global_address, in bytes"
            )
        self.maps.append(KernelMap(name, tensor.tensor, tensor_map))
        return lambda *coordinate: Box(name, tuple(map(integer, coordinate)))

    def mbarriers(self, name: str, slots: int, arrivals: int) -> Callable[..., Slot]:
        """An array of mbarriers; call it with a slot."""
        self.barriers.append(Mbarriers(name, slots, arrivals))
        return lambda slot=0: Slot(name, integer(slot))

    def parameter(self, name: str, dtype: Any, within: tuple[float, float] | None = None) -> Param:
        """A scalar that is given at each launch, an operand of ``map``; *within* is what it has to keep."""
        self._expect_new(name)
        self.parameters.append(Parameter(name, DType.of(dtype), within))
        return Param(name)

    def _expect_new(self, name: str) -> None:
        """Raise LayoutError for a name that something else has."""
        used = [*self.dims, *BLOCKS, THREAD, *self._names, *self._loops, *self.parameters]
        if name in {getattr(x, "name", x) for x in used}:
            raise LayoutError(f"expected a name that nothing else has in {self.name}, got {name!r}")

    def result(self, name: str, value: Callable[..., Value]) -> None:
        """State the result of an output: each element ends as *value* of its coordinates, see ``results``.

        Raises LayoutError for tensors that are not in global memory and coordinates of another rank.
        """
        shapes = {t.name: t.layout.shape for t in self.tensors if t.space is MemorySpace.GLOBAL}
        if name not in shapes:
            raise LayoutError(f"expected a tensor in global memory ({', '.join(shapes)}), got {name!r}")
        made = result(name, shapes[name], value)
        for what in misplaced(made, shapes):
            raise LayoutError(what)
        self.results.append(made)
