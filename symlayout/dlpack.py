"""DLPack's description of a tensor, symbols allowed, and how arrays of any library give theirs.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(DLTensor((M, N), "bf16"))
    kDLBfloat 16 (M,N):(N,1) on kDLCUDA 0
    >>> import numpy as np
    >>> print(described(np.zeros((4, 6), dtype=np.int32).T))
    kDLInt 32 (6,4):(1,6) on kDLCPU 0

Axes are row-major, as DLPack has them: the last one is the contiguous one. Strides count elements.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, cast

from .dtype import DType
from .errors import LayoutError
from .expr import Expr, Int, integer
from .int_tuple import text


class DLDeviceType(IntEnum):
    """DLDeviceType of dlpack.h 1.3."""

    kDLCPU = 1  # noqa: N815  (the enumerators of dlpack.h)
    kDLCUDA = 2  # noqa: N815
    kDLCUDAHost = 3  # noqa: N815
    kDLOpenCL = 4  # noqa: N815
    kDLVulkan = 7  # noqa: N815
    kDLMetal = 8  # noqa: N815
    kDLVPI = 9  # noqa: N815
    kDLROCM = 10  # noqa: N815
    kDLROCMHost = 11  # noqa: N815
    kDLExtDev = 12  # noqa: N815
    kDLCUDAManaged = 13  # noqa: N815
    kDLOneAPI = 14  # noqa: N815
    kDLWebGPU = 15  # noqa: N815
    kDLHexagon = 16  # noqa: N815
    kDLMAIA = 17  # noqa: N815
    kDLTrn = 18  # noqa: N815


class DLDataTypeCode(IntEnum):
    """DLDataTypeCode of dlpack.h 1.3."""

    kDLInt = 0  # noqa: N815
    kDLUInt = 1  # noqa: N815
    kDLFloat = 2  # noqa: N815
    kDLOpaqueHandle = 3  # noqa: N815
    kDLBfloat = 4  # noqa: N815
    kDLComplex = 5  # noqa: N815
    kDLBool = 6  # noqa: N815
    kDLFloat8_e3m4 = 7  # noqa: N815
    kDLFloat8_e4m3 = 8  # noqa: N815
    kDLFloat8_e4m3b11fnuz = 9  # noqa: N815
    kDLFloat8_e4m3fn = 10  # noqa: N815
    kDLFloat8_e4m3fnuz = 11  # noqa: N815
    kDLFloat8_e5m2 = 12  # noqa: N815
    kDLFloat8_e5m2fnuz = 13  # noqa: N815
    kDLFloat8_e8m0fnu = 14  # noqa: N815
    kDLFloat6_e2m3fn = 15  # noqa: N815
    kDLFloat6_e3m2fn = 16  # noqa: N815
    kDLFloat4_e2m1fn = 17  # noqa: N815


def integers(what: str, xs: Any) -> tuple[Int, ...]:
    """A sequence of integers or expressions. Raises LayoutError for anything else."""
    if isinstance(xs, str) or not hasattr(xs, "__iter__"):
        raise LayoutError(f"expected a sequence of integers as {what}, got {xs!r}")
    return tuple(map(integer, xs))


def numbers(what: str, xs: Any, least: int, most: int) -> tuple[int, ...]:
    """A sequence of so many plain integers. Raises LayoutError for anything else."""
    found = integers(what, xs)
    if any(isinstance(x, Expr) for x in found) or not least <= len(found) <= most:
        wanted = str(most) if least == most else f"{least} or {most}"
        raise LayoutError(f"expected {wanted} plain integers as {what}, got {text(found)}")
    return cast("tuple[int, ...]", tuple(map(int, found)))


DEVICE_WORDS = {int(t): t.name for t in DLDeviceType}
CODE_WORDS = {int(c): c.name for c in DLDataTypeCode}


class DLDevice(NamedTuple):
    """A kind of device and its ordinal."""

    device_type: int = DLDeviceType.kDLCUDA
    device_id: int = 0

    def __str__(self) -> str:
        return f"{DEVICE_WORDS.get(self.device_type, f'device type {self.device_type}')} {self.device_id}"


ORDINAL_0 = DLDevice()


class DLDataType(NamedTuple):
    """An element type: a code, the bits of one lane, and lanes."""

    code: int
    bits: int
    lanes: int = 1

    @classmethod
    def of(cls, x: Any) -> DLDataType:
        """The data type of a tuple of these numbers, or of an element type (``"bf16"``, ``np.float32``).

        >>> print(DLDataType.of("bf16"), DLDataType.of((1, 8)))
        kDLBfloat 16 kDLUInt 8

        Raises LayoutError for neither.
        """
        if isinstance(x, tuple | list):
            return cls(*numbers("the data type (code, bits, lanes)", x, 2, 3))
        row = DType.of(x)
        return NAMED.get(row.held_by) or cls(KIND_CODES[row.kind], row.bits)

    def __str__(self) -> str:
        lanes = f" x {self.lanes}" if self.lanes != 1 else ""
        return f"{CODE_WORDS.get(self.code, f'data type code {self.code}')} {self.bits}{lanes}"


# Element types with a code of their own, by the names that ml_dtypes has for them; NumPy does not export those.
NAMED = {
    "bfloat16": DLDataType(DLDataTypeCode.kDLBfloat, 16),
    "float4_e2m1fn": DLDataType(DLDataTypeCode.kDLFloat4_e2m1fn, 4, 16),
    **{f"float8_{c.name.partition('_')[2]}": DLDataType(c, 8) for c in DLDataTypeCode if "Float8" in c.name},
}
KIND_CODES = {
    "uint": DLDataTypeCode.kDLUInt,
    "int": DLDataTypeCode.kDLInt,
    "float": DLDataTypeCode.kDLFloat,
    "bool": DLDataTypeCode.kDLBool,
}


@dataclass(frozen=True)
class DLTensor:
    """DLTensor of dlpack.h: shape and strides in elements, outermost axis first; strides None for a compact tensor.

    *data* is an address in bytes, None where it is not known; *version* that of the DLPack that describes it.
    Raises LayoutError for a value that is not an integer, and where the strides do not have one entry for each axis.
    """

    shape: tuple[Int, ...]
    dtype: DLDataType
    strides: tuple[Int, ...] | None = None
    device: DLDevice = ORDINAL_0
    data: Int | None = None
    byte_offset: Int = 0
    version: tuple[int, int] = (1, 0)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "shape", integers("the shape", self.shape))
        put(self, "dtype", DLDataType.of(self.dtype))
        put(self, "device", DLDevice(*numbers("the device (type, ordinal)", self.device, 2, 2)))
        put(self, "byte_offset", integer(self.byte_offset))
        put(self, "version", numbers("the version of DLPack", self.version, 2, 2))
        if self.data is not None:
            put(self, "data", integer(self.data))
        if self.strides is not None:
            put(self, "strides", integers("the strides", self.strides))
            if len(self.strides) != self.ndim:
                raise LayoutError(
                    f"expected {self.ndim} strides for shape {text(self.shape)}, got {text(self.strides)}"
                )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def element_strides(self) -> tuple[Int, ...]:
        """The strides, those of a compact row-major tensor where they are null."""
        if self.strides is not None:
            return self.strides
        out: list[Any] = [1] * self.ndim
        for k in range(self.ndim - 2, -1, -1):
            out[k] = out[k + 1] * self.shape[k + 1]
        return tuple(out)

    def __str__(self) -> str:
        at = "" if self.data is None or self.device.device_type == DLDeviceType.kDLCPU else f" at {self.data}"
        offset = f" + {self.byte_offset} B" if self.byte_offset != 0 else ""
        return f"{self.dtype} {text(self.shape)}:{text(self.element_strides)} on {self.device}{at}{offset}"


# -- from other libraries ---------------------------------------------------------------------------------


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_capsule_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)

NEWEST = (1, 3)  # what is asked for; a producer may answer with less
BEFORE_VERSIONS = (0, 8)  # of capsules that carry no version


def described(obj: Any) -> DLTensor:
    """The DLTensor of an object with ``__dlpack__``, on whatever device; its data stay where they are.

    Raises LayoutError for an object that has none, or that does not export itself now, with its own reason.
    """
    if isinstance(obj, DLTensor):
        return obj
    named = NAMED.get(str(getattr(obj, "dtype", "")))
    if named and named.bits >= 8 and hasattr(obj, "__array_interface__"):
        return DLTensor(
            obj.shape,
            named,
            tuple(d // obj.itemsize for d in obj.strides),
            DLDevice(DLDeviceType.kDLCPU, 0),
            obj.__array_interface__["data"][0],
        )
    if not hasattr(obj, "__dlpack__"):
        raise LayoutError(f"expected a DLTensor or an object with __dlpack__, got {type(obj).__name__}")
    try:
        return _read(_exported(obj))
    except Exception as e:  # each library raises its own
        raise LayoutError(f"expected a tensor that DLPack describes, got {type(obj).__name__}: {e}") from e


def _exported(obj: Any) -> Any:
    try:
        return obj.__dlpack__(max_version=NEWEST)
    except TypeError:  # a producer from before versions
        return obj.__dlpack__()


def _read(capsule: Any) -> DLTensor:
    """The tensor that a capsule describes. The capsule stays unused, so that its own destructor frees it."""
    kind = _capsule_name(capsule)
    at = _capsule_pointer(capsule, kind)
    if kind == b"dltensor_versioned":
        outer = _Versioned.from_address(at)
        t, version = outer.tensor, (outer.major, outer.minor)
    elif kind == b"dltensor":
        t, version = _Tensor.from_address(at), BEFORE_VERSIONS
    else:
        raise LayoutError(f"expected a capsule named dltensor, got {kind!r}")
    return DLTensor(
        tuple(t.shape[: t.ndim]) if t.ndim else (),
        DLDataType(t.code, t.bits, t.lanes),
        tuple(t.strides[: t.ndim]) if t.strides and t.ndim else None,
        DLDevice(t.device_type, t.device_id),
        t.data or 0,
        t.byte_offset,
        version,
    )
