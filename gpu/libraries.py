"""The two libraries of the CUDA driver, PyCUDA and cuda-bindings: whether they and a device are here, and their errors.

Nothing else of this package imports either, but for NVRTC in its own process.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .errors import DeviceError, NoDeviceError

INSTALL = "python -m pip install 'symlayout[gpu]' where an NVIDIA driver is"


@dataclass(frozen=True)
class Availability:
    """Whether a device can be used here, and why not, or how many there are; true if one can."""

    ok: bool
    reason: str
    devices: int = 0

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        return self.reason


@functools.cache
def availability() -> Availability:
    """Whether kernels can be launched here: ``1 device, driver API 13.0``, or the reason why not.

    Loads PyCUDA and the driver, and creates no context.
    """
    try:
        pc = pycuda()
        count = pc.Device.count()
    except NoDeviceError as e:
        return Availability(False, str(e))
    except Exception as e:  # PyCUDA's own error, where the driver finds no device
        return Availability(False, f"expected a driver with a device, got {e}")
    if not count:
        return Availability(False, "expected a device, got a driver that has none")
    api = pc.get_driver_version()
    return Availability(True, f"{count} device{'s' * (count != 1)}, driver API {api // 1000}.{api % 1000 // 10}", count)


def pycuda() -> Any:
    """PyCUDA's driver module, initialised. Raises NoDeviceError where it, or the driver, is missing."""
    try:
        import pycuda.driver as pc
    except ImportError as e:  # not installed, or no libcuda.so.1
        raise NoDeviceError(f"expected PyCUDA and a driver, got: {e}; {INSTALL}") from e
    try:
        pc.init()
    except pc.Error as e:
        raise NoDeviceError(f"expected a driver that starts, got: {e}") from e
    return pc


def bindings() -> Any:
    """cuda-bindings' driver module. Raises NoDeviceError where it is missing."""
    try:
        from cuda.bindings import driver
    except ImportError as e:
        wanted = "expected cuda-bindings for tensor maps, clusters and streams of other libraries"
        raise NoDeviceError(f"{wanted}, got: {e}; {INSTALL}") from e
    return driver


@contextlib.contextmanager
def answered(what: str, pc: Any) -> Iterator[None]:
    """Raise DeviceError for PyCUDA's errors, naming the call."""
    try:
        yield
    except pc.Error as e:
        raise DeviceError(f"expected {what}, got: {e}") from e


def value_of(what: str, result: tuple[Any, ...]) -> Any:
    """The value of a call through cuda-bindings. Raises DeviceError with the driver's name for its error."""
    code, *values = result
    if code.value:
        raise DeviceError(f"expected {what}, got {code.name}")
    return values[0] if values else None
