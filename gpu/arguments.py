"""The buffer of arguments of a launch, laid out as the cubin says.

>>> from gpu.cubin import Parameter
>>> packed([b"\\x07", b"\\x09"], [Parameter(2, 1), Parameter(4, 1)]).hex()
'0000070009'
>>> scalar(-1, 4, "argument 1").hex(), scalar(1.5, 4, "argument 2").hex()
('ffffffff', '0000c03f')
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from .cubin import Parameter
from .errors import LaunchError

FLOATS = {2: "<e", 4: "<f", 8: "<d"}
POINTER_BYTES = 8


def packed(values: Sequence[bytes], parameters: Sequence[Parameter]) -> bytes:
    """Each value at the offset of its parameter, zeros between.

    Raises LaunchError unless there is one value for each parameter, of its size.
    """
    expect_count(len(values), len(parameters))
    buffer = bytearray(max((p.offset + p.size for p in parameters), default=0))
    for i, (value, (offset, size)) in enumerate(zip(values, parameters, strict=True)):
        if len(value) != size:
            raise LaunchError(f"argument {i}: expected {size} bytes, as the kernel's parameter has, got {len(value)}")
        buffer[offset : offset + size] = value
    return bytes(buffer)


def expect_count(given: int, wanted: int) -> None:
    """Raise LaunchError unless there are as many arguments as parameters."""
    if given != wanted:
        raise LaunchError(f"expected {wanted} arguments, one for each parameter of the kernel, got {given}")


def pointer(address: int, size: int, what: str) -> bytes:
    """The bytes of a pointer. Raises LaunchError where the parameter is none."""
    if size != POINTER_BYTES:
        raise LaunchError(f"{what}: expected a value of {size} bytes, got an array, whose pointer takes 8")
    return struct.pack("<Q", address)


def scalar(value: Any, size: int, what: str) -> bytes:
    """The bytes of a number for a parameter of *size* bytes.

    A Python int is an integer of that size, signed or not, a float a floating-point number of that size; a NumPy
    scalar and bytes have a size of their own. The cubin does not say whether a parameter is an integer or a float.
    Raises LaunchError for a number that does not fit, and for anything else.
    """
    if isinstance(value, bytes | np.generic):
        data = bytes(value) if isinstance(value, bytes) else value.tobytes()
        if len(data) != size:
            raise LaunchError(f"{what}: expected {size} bytes, got {len(data)} of {type(value).__name__}")
        return data
    if isinstance(value, int):
        return _integer(int(value), size, what)
    if isinstance(value, float):
        if size not in FLOATS:
            raise LaunchError(f"{what}: expected a value of {size} bytes, got a float, which has 2, 4 or 8")
        try:
            return struct.pack(FLOATS[size], value)
        except OverflowError:
            raise LaunchError(f"{what}: expected a float of {size} bytes, got {value!r}") from None
    raise LaunchError(
        f"{what}: expected an array, a tensor map, a number or bytes, got {type(value).__name__}; "
        "NumPy arrays, and arrays with __cuda_array_interface__ or __dlpack__, are passed as pointers"
    )


def _integer(value: int, size: int, what: str) -> bytes:
    low, high = -(1 << 8 * size - 1), (1 << 8 * size) - 1
    if not low <= value <= high:
        raise LaunchError(f"{what}: expected an integer of {size} bytes, {low} .. {high}, got {value}")
    return value.to_bytes(size, "little", signed=value < 0)
