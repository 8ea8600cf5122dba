"""Arrays on the device, whichever library made them: where they lie, and on which stream their owner works.

Recognised are this package's buffers, PyCUDA's GPUArray, and whatever has ``__cuda_array_interface__`` (CuPy, Numba)
or ``__dlpack__`` (torch, JAX). Nothing is copied, and no library is imported that is not there already.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symlayout.dlpack import DLDeviceType, described
from symlayout.dtype import DType
from symlayout.errors import LayoutError

from .errors import LaunchError

ON_DEVICE = (DLDeviceType.kDLCUDA, DLDeviceType.kDLCUDAManaged)
LEGACY_STREAM = 1  # of __cuda_array_interface__: the default stream, whose handle is 0


@dataclass(frozen=True)
class DeviceArray:
    """An array in device memory: the address of its first element, the bytes that it reaches over, its stream.

    ``low`` is the least address (below ``address`` for negative strides), ``stream`` the handle of the stream on which
    the library that owns it works, None where it names none. ``owner`` keeps the memory.
    """

    address: int
    low: int
    nbytes: int
    owner: Any = field(repr=False)
    stream: int | None = None
    ordinal: int | None = None

    @property
    def place(self) -> tuple[int, int]:
        """Address and bytes, as checks of launches take them."""
        return self.low, self.nbytes


def device_array(x: Any) -> DeviceArray | None:
    """The array of a library's object, or None for an object that is none.

    Raises LaunchError for an array that is in host memory, other than NumPy's, with what would bring it over.
    """
    if isinstance(x, np.ndarray | np.generic | int | float | bytes):
        return None
    if type(x).__module__.partition(".")[0] == "torch":
        return _of_torch(x)
    interface = getattr(x, "__cuda_array_interface__", None)
    if interface is not None:
        return _of_interface(x, interface)
    return _of_dlpack(x) if hasattr(x, "__dlpack__") else None


def _of_torch(x: Any) -> DeviceArray:
    """Torch's own words: its interfaces refuse tensors with gradients, and know no bfloat16."""
    if not x.is_cuda:
        raise LaunchError(f"expected a tensor on the device, got one on {x.device}; pass x.cuda(), or x.numpy()")
    size = x.element_size()
    low, nbytes = _reach(x.data_ptr(), tuple(x.shape), [size * step for step in x.stride()], size)
    stream = int(sys.modules["torch"].cuda.current_stream(x.device).cuda_stream)
    return DeviceArray(x.data_ptr(), low, nbytes, x, stream, x.device.index)


def _of_interface(x: Any, interface: dict[str, Any]) -> DeviceArray:
    """``__cuda_array_interface__``, version 3; strides are bytes, None for a compact array."""
    address, shape = int(interface["data"][0]), tuple(interface["shape"])
    size = int(interface["typestr"][2:])  # "<f4": order, kind, bytes
    low, nbytes = _reach(address, shape, interface.get("strides") or _compact(shape, size), size)
    stream = interface.get("stream")
    return DeviceArray(address, low, nbytes, x, 0 if stream == LEGACY_STREAM else stream)


def _of_dlpack(x: Any) -> DeviceArray:
    try:
        tensor = described(x)
    except LayoutError as e:
        raise LaunchError(str(e)) from e
    if tensor.device.device_type not in ON_DEVICE:
        raise LaunchError(f"expected an array on the device, got one on {tensor.device}; copy it, or pass it as NumPy")
    size = -(-tensor.dtype.bits * tensor.dtype.lanes // 8)
    address = int(tensor.data or 0) + int(tensor.byte_offset)
    strides = [size * int(step) for step in tensor.element_strides]
    low, nbytes = _reach(address, tuple(map(int, tensor.shape)), strides, size)
    return DeviceArray(address, low, nbytes, x, None, tensor.device.device_id)


def _compact(shape: tuple[int, ...], size: int) -> list[int]:
    steps = [size]
    for n in reversed(shape[1:]):
        steps.insert(0, steps[0] * n)
    return steps[: len(shape)]


def _reach(address: int, shape: tuple[int, ...], strides: Iterable[int], size: int) -> tuple[int, int]:
    """The least address of an array, and the bytes from there to its end. Strides are in bytes."""
    if 0 in shape:
        return address, 0
    steps = [(n - 1) * step for n, step in zip(shape, strides, strict=True)]
    return address + sum(s for s in steps if s < 0), sum(map(abs, steps)) + size


# -- NumPy -------------------------------------------------------------------------------------------------


def flat_bytes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of an array as they lie in memory, a view of it. Raises LaunchError if they are not one block."""
    if x.flags.c_contiguous:
        return x.reshape(-1).view(np.uint8)
    if x.flags.f_contiguous:
        return x.T.reshape(-1).view(np.uint8)
    raise LaunchError(
        f"expected a NumPy array in one block of memory, got strides {x.strides} for shape {x.shape}; "
        "pass np.ascontiguousarray(x)"
    )


def numpy_type(x: Any) -> np.dtype[Any]:
    """The NumPy type of an element type of ours, of NumPy or of ml_dtypes. Raises LayoutError."""
    return x if isinstance(x, np.dtype) else DType.of(x).numpy()


# -- streams -----------------------------------------------------------------------------------------------

# Where libraries keep the handle of a stream: torch, CuPy, PyCUDA and Numba.
HANDLES = ("cuda_stream", "ptr", "handle")


def stream_handle(stream: Any) -> int | None:
    """The handle of a stream of torch, CuPy, PyCUDA or of ``__cuda_stream__``; None for an object that is none."""
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in HANDLES:
        found = getattr(stream, name, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    return None


def one_stream(arrays: Iterable[DeviceArray]) -> int:
    """The stream on which the owners of all these arrays work; the default one where they name none.

    Raises LaunchError where they work on several.
    """
    found = {a.stream for a in arrays if a.stream is not None}
    if len(found) > 1:
        listed = ", ".join(f"{stream:#x}" for stream in sorted(found))
        raise LaunchError(f"expected arrays whose libraries work on one stream, got streams {listed}; pass stream=")
    return found.pop() if found else 0
