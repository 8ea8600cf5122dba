"""A tensor map meets every rule of a profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.errors import ClaimError
from symlayout.expr import at_least, integer
from symlayout.int_tuple import leaves
from symlayout.layout import Layout
from symlayout.rules.tma import PROFILES, rules_of
from symlayout.tma import TensorMap

from ..claim import Claim
from ..claim_fields import Size, Tensor, Value
from .holds import Holds
from .obeys import open_rules


@dataclass(frozen=True)
class TensorMapValid(Claim):
    """The tensor map keeps every rule of *profile*: ``hardware`` for what a copy through it needs to run.

    That is what the encode call accepts, and that a block has room for what lands; ``driver`` is the former alone.

    >>> from symlayout import dims
    >>> M, K = dims("M K")
    >>> print(TensorMapValid(TensorMap("bf16", 0, (K, M), (2 * K,), (64, 128), swizzle=128), name="A"))
    tensor map valid (hardware): A = TensorMap bf16 (K,M) strides (2*K,) B, box (64,128), swizzle 128B

    Where it fails, each rule that is broken gets its verdict, with the condition that repairs it. With
    *allocation_bytes*, those from the global address to the end of its allocation, no element lies outside; bounds
    of a copy are checked against the map, never against the allocation.
    Raises ClaimError for a value that is not a tensor map and for an unknown profile.
    """

    tensor_map: Any
    profile: str = "hardware"
    name: str = ""
    allocation_bytes: Any = None

    kind: ClassVar[str] = "tensor map valid"

    def __post_init__(self) -> None:
        super().__post_init__()
        found = getattr(self.tensor_map, "tensor_map", self.tensor_map)
        if not isinstance(found, TensorMap):
            raise ClaimError(f"expected a tensor map or a copy that has one, got {self.tensor_map!r}")
        object.__setattr__(self, "tensor_map", found)
        if self.allocation_bytes is not None:
            object.__setattr__(self, "allocation_bytes", integer(self.allocation_bytes))
        if self.profile not in PROFILES:
            raise ClaimError(f"expected a profile ({', '.join(PROFILES)}), got {self.profile!r}")

    @classmethod
    def stated(
        cls,
        tensor: Tensor,
        dtype: str,
        box: Value,
        element_stride: Value = (),
        swizzle: int = 0,
        interleave: int = 0,
        address: Size = 0,
        profile: str = "hardware",
        allocation_bytes: Size | None = None,
    ) -> TensorMapValid:
        """The claim as text states it: the tensor as a layout in elements, innermost mode first."""
        every = tuple(leaves(element_stride))
        m = map_over(tensor, dtype, box, address, element_stride=every, swizzle=swizzle, interleave=interleave)
        return cls(m, profile, "", allocation_bytes)

    def subjects(self) -> tuple[Any, ...]:
        return ()

    def __str__(self) -> str:
        name = f"{self.name} = " if self.name else ""
        return f"{self.kind} ({self.profile}): {name}{self.tensor_map}"

    def parts(self) -> tuple[Claim, ...]:
        """A claim for each rule and place that numbers do not already meet."""
        return (*open_rules(self.tensor_map, rules_of(self.profile), self), *self._within())

    def _within(self) -> tuple[Claim, ...]:
        """The claim that the tensor ends inside its allocation, if the profile asks for it."""
        if self.allocation_bytes is None:
            return ()
        spanned, name = self.tensor_map.extent_bytes, f"{self.name}: " if self.name else ""
        label = f"{name}the {spanned} bytes of the tensor lie in its allocation of {self.allocation_bytes}"
        return (Holds(at_least(self.allocation_bytes, spanned), label),)

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return "rule by rule"


def map_over(tensor: Any, dtype: str, box: Any, address: Any = 0, **more: Any) -> TensorMap:
    """``TensorMap.over`` for values from text. Raises ClaimError for a value that is not a layout with modes."""
    if not isinstance(tensor, Layout) or not leaves(tensor.shape):
        raise ClaimError(f"expected the tensor as a layout in elements, innermost mode first, got {tensor}")
    return TensorMap.over(tensor, dtype, box, address, **more)
