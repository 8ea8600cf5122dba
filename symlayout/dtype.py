"""Element types: a row for each, with its bits and the NumPy type that holds it.

>>> print(bf16, bf16.bytes, DType.of("float32"))
bf16 2 f32
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from .errors import LayoutError


class TorchType(Protocol):
    """A type of torch for annotations: torch is not a dependency."""

    @property
    def is_floating_point(self) -> bool: ...


DTypeLike: TypeAlias = "DType | str | type | np.dtype[Any] | TorchType"  # what ``DType.of`` takes


@dataclass(frozen=True)
class DType:
    """An element type: its name, its width in bits, its kind and the NumPy (or ml_dtypes) type of its values."""

    name: str
    bits: int
    kind: str  # "uint", "int", "float" or "bool"
    held_by: str  # a name of numpy or of ml_dtypes

    @property
    def bytes(self) -> int:
        """Bytes of one element. Raises LayoutError for types of less than a byte."""
        if self.bits % 8:
            raise LayoutError(f"expected an element of whole bytes, got {self} of {self.bits} bits")
        return self.bits // 8

    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of the values."""
        if hasattr(np, self.held_by):
            return np.dtype(getattr(np, self.held_by))
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, self.held_by))

    @classmethod
    def of(cls, x: DTypeLike) -> DType:
        """The row of a name (``"bf16"``, ``"bfloat16"``), of a NumPy, ml_dtypes or torch type, or of a row.

        Raises LayoutError for a type that has none.
        """
        if isinstance(x, DType):
            return x
        name = str(x).removeprefix("torch.") if not isinstance(x, type) else x.__name__
        found = _BY_NAME.get(name) or _BY_NAME.get(str(getattr(x, "name", "")))
        if found is None:
            raise LayoutError(f"expected an element type ({', '.join(t.name for t in DTYPES)}), got {x!r}")
        return found

    def __str__(self) -> str:
        return self.name


b1 = DType("b1", 1, "uint", "uint8")  # held as 0 or 1
i4 = DType("i4", 4, "int", "int4")
u4 = DType("u4", 4, "uint", "uint4")
u8 = DType("u8", 8, "uint", "uint8")
u16 = DType("u16", 16, "uint", "uint16")
u32 = DType("u32", 32, "uint", "uint32")
u64 = DType("u64", 64, "uint", "uint64")
i8 = DType("i8", 8, "int", "int8")
i16 = DType("i16", 16, "int", "int16")
i32 = DType("i32", 32, "int", "int32")
i64 = DType("i64", 64, "int", "int64")
f16 = DType("f16", 16, "float", "float16")
bf16 = DType("bf16", 16, "float", "bfloat16")
f32 = DType("f32", 32, "float", "float32")
tf32 = DType("tf32", 32, "float", "float32")
f64 = DType("f64", 64, "float", "float64")
e4m3 = DType("e4m3", 8, "float", "float8_e4m3fn")
e5m2 = DType("e5m2", 8, "float", "float8_e5m2")
ue8m0 = DType("ue8m0", 8, "float", "float8_e8m0fnu")
e2m1 = DType("e2m1", 4, "float", "float4_e2m1fn")
boolean = DType("bool", 8, "bool", "bool_")

DTYPES = (
    *(i4, u4, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, tf32, f64, e4m3, e5m2, ue8m0, e2m1, boolean),
    b1,  # whose numbers are held by a type that u8 has
)

# NumPy's and ml_dtypes' names too; where two rows share one, the first has it (float32 is f32, not tf32).
_BY_NAME: dict[str, DType] = {}
for _row in DTYPES:
    for _name in (_row.name, _row.held_by):
        _BY_NAME.setdefault(_name, _row)
