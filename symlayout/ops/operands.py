"""Operands of operations: places in tensors, boxes of tensor maps, mbarriers, scalar parameters, matrices of wgmma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..atoms.descriptor import MatrixDescriptor
from ..errors import LayoutError
from ..expr import Int
from ..int_tuple import text
from .fields import Checked


@dataclass(frozen=True)
class Ref(Checked):
    """A place in a tensor of the kernel: the element at *offset* of its memory."""

    tensor: str
    offset: Int = 0

    def __str__(self) -> str:
        return self.tensor if type(self.offset) is int and self.offset == 0 else f"{self.tensor}[{self.offset}]"


@dataclass(frozen=True)
class Box(Checked):
    """The box of a tensor map that starts at a coordinate, innermost first."""

    tensor_map: str
    coordinate: tuple[Int, ...]

    def __str__(self) -> str:
        return f"{self.tensor_map}{text(self.coordinate)}"


@dataclass(frozen=True)
class Slot(Checked):
    """One mbarrier of an array of them."""

    barrier: str
    slot: Int = 0

    def __str__(self) -> str:
        return f"{self.barrier}[{self.slot}]"


@dataclass(frozen=True)
class Param(Checked):
    """A scalar parameter of the kernel, as an operand of ``Map``: one number for all threads and elements."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Matrix(Checked):
    """A shared-memory operand of wgmma: it begins at *start*, and *descriptor* says how it lies from there.

    The descriptor counts from the start, so its own start is 0. ``thread`` in the offset is the same for a warpgroup.
    """

    start: Ref
    descriptor: MatrixDescriptor

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.descriptor.start_bytes:
            raise LayoutError(f"expected a descriptor that begins at 0, got {self.descriptor}; move {self.start}")

    def __str__(self) -> str:
        return f"{self.start} ({self.descriptor.major}-major, {self.descriptor.terms})"


Operand: TypeAlias = "Ref | Box"
