"""A device as a context manager: its memory, its streams, the modules loaded on it.

>>> import gpu, numpy as np
>>> with gpu.Device() as device:                                               # doctest: +SKIP
...     buffer = device.upload(np.arange(4, dtype=np.int32))
...     print(device, buffer.download("i32"))
NVIDIA H200, compute capability 9.0, 132 SMs [0 1 2 3]
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np

from symlayout.arch import SM80, SM90, Arch
from symlayout.dtype import DTypeLike

from .arrays import DeviceArray, flat_bytes, numpy_type
from .driver import Driver, Facts
from .errors import DeviceError, LaunchError

LIMIT_S = 60.0  # for the work of one launch; a kernel of a test takes milliseconds
FIRST_POLL_S, LAST_POLL_S = 20e-6, 2e-3

_ABANDONED: list[Any] = []  # what cannot be freed any more; its destructors would hang
_current: ContextVar[Device | None] = ContextVar("device", default=None)


class Buffer:
    """Bytes of device memory, owned by a device, which frees them at its end if nobody did.

    It has ``__cuda_array_interface__``, so that torch and CuPy see it as bytes without a copy.
    """

    def __init__(self, device: Device, nbytes: int) -> None:
        self._device, self.nbytes = device, nbytes
        self._memory = device.driver.allocate(max(1, nbytes))
        self.address = int(self._memory)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._expect_alive()
        return {"shape": (self.nbytes,), "typestr": "|u1", "data": (self.address, False), "version": 3, "stream": 1}

    def upload(self, x: np.ndarray[Any, Any], at: int = 0) -> Buffer:
        """Copy an array into the buffer, *at* bytes in, after all launches.

        Raises LaunchError where it does not fit, DeviceError where a launch faults or reaches its limit.
        """
        self._expect_alive()
        data = flat_bytes(x)
        self._expect_room(at, data.nbytes)
        self._device.wait()  # the copy would wait for them too, without a limit
        if data.nbytes:
            self._device.driver.to_device(self.address + at, data)
            self._device.settle()
        return self

    def download(self, dtype: DTypeLike = "u8", shape: Any = -1, at: int = 0) -> np.ndarray[Any, Any]:
        """The bytes from *at* on as a new NumPy array, after all work on the device.

        Raises LaunchError where the buffer has fewer bytes than the shape.
        """
        self._expect_alive()
        kind = numpy_type(dtype)
        count = (self.nbytes - at) // kind.itemsize if shape == -1 else int(np.prod(shape))
        self._expect_room(at, count * kind.itemsize)
        found = np.empty(count * kind.itemsize, np.uint8)
        self._device.synchronize()
        if found.nbytes:
            self._device.driver.to_host(found, self.address + at)
        return found.view(kind).reshape(shape)

    def fill(self, byte: int) -> Buffer:
        """Set every byte."""
        self._expect_alive()
        if self.nbytes:
            self._device.driver.fill(self.address, byte, self.nbytes)
            self._device.settle()
        return self

    def free(self) -> None:
        """Give the memory back; more than once does nothing."""
        memory, self._memory = self._memory, None
        if memory is not None:
            self._device.forget(self)
            self._device.give_back(memory, memory.free)

    def _expect_alive(self) -> None:
        if self._memory is None:
            raise LaunchError(f"expected a buffer in use, got one of {self.nbytes} bytes that was freed")

    def _expect_room(self, at: int, nbytes: int) -> None:
        if not 0 <= at <= at + nbytes <= self.nbytes:
            raise LaunchError(f"expected bytes within {self.nbytes}, got {nbytes} from byte {at} on")


class Device:
    """A device, current between ``__enter__`` and ``__exit__``: its primary context, which torch and CuPy share.

    At its end it waits for its launches and frees what it allocated. Raises NoDeviceError, with the reason, where
    PyCUDA, a driver or this device is missing.
    """

    def __init__(self, ordinal: int = 0, limit_s: float = LIMIT_S) -> None:
        self.driver = Driver(ordinal)
        self.limit_s = limit_s
        self._owned: dict[int, Any] = {}  # buffers and modules, oldest first
        self._pending: list[Pending] = []
        self._tokens: list[Token[Device | None]] = []
        self._lost = ""

    # -- a context manager -----------------------------------------------------------------------------

    def __enter__(self) -> Device:
        self.driver.enter()
        self._tokens.append(_current.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if len(self._tokens) == 1:
                self._close(quietly=kind is not None)
        finally:
            _current.reset(self._tokens.pop())
            self.driver.leave()

    def _close(self, quietly: bool) -> None:
        """Wait for what runs and give everything back; of a device that is lost nothing comes back."""
        failed: DeviceError | None = None
        try:
            if not self._lost:
                self.wait()
        except DeviceError as e:
            failed = e
        self._pending.clear()
        for each in reversed(list(self._owned.values())):
            with contextlib.suppress(Exception):  # after a fault every call fails; the first error is the story
                each.free()
        self._owned.clear()
        if failed is not None and not quietly:
            raise failed

    # -- facts -----------------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        return self.driver.facts

    @property
    def arch(self) -> Arch:
        """The limits of the device."""
        if self.facts.compute_capability == SM90.compute_capability:
            return SM90
        major, minor = self.facts.compute_capability
        return replace(
            SM90 if major >= 9 else SM80,
            name=f"sm_{major}{minor}",
            compute_capability=(major, minor),
            shared_bytes_per_sm=self.facts.shared_bytes_per_sm,
            shared_bytes_per_block=self.facts.shared_bytes_per_block,
        )

    def __str__(self) -> str:
        major, minor = self.facts.compute_capability
        return f"{self.facts.name}, compute capability {major}.{minor}, {self.facts.multiprocessors} SMs"

    # -- memory and streams ----------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Buffer:
        """Device memory, its bytes undefined.

        Raises LaunchError for a negative size and outside of the with block, DeviceError where no memory is left.
        """
        if nbytes < 0:
            raise LaunchError(f"expected a size of at least 0 bytes, got {nbytes}")
        self._expect_entered()
        return self.own(Buffer(self, nbytes))

    def upload(self, x: np.ndarray[Any, Any]) -> Buffer:
        """Device memory with the bytes of an array."""
        buffer = self.allocate(flat_bytes(x).nbytes)
        try:
            return buffer.upload(x)
        except BaseException:
            buffer.free()
            raise

    def stream(self) -> Any:
        """A new stream, which ``launch`` takes."""
        self._expect_entered()
        return self.driver.stream()

    def own(self, thing: Any) -> Any:
        """Free a thing at the end of the device, unless it is forgotten before."""
        self._owned[id(thing)] = thing
        return thing

    def forget(self, thing: Any) -> None:
        self._owned.pop(id(thing), None)

    def give_back(self, thing: Any, free: Callable[[], None]) -> None:
        """Free a thing of the driver, once no launch runs any more: the driver would wait for those, without a limit.

        Of a device that is lost things are kept. Raises DeviceError where a launch faults or reaches its limit.
        """
        try:
            if not self._lost:
                self.wait()
        finally:
            if self._lost:
                _ABANDONED.append(thing)
            else:
                free()

    def _expect_entered(self) -> None:
        if not self._tokens:
            raise LaunchError("expected a device that is current, got one outside of its with block")

    # -- work ------------------------------------------------------------------------------------------

    def watch(self, pending: Pending) -> None:
        """Keep what a launch uses until it is done."""
        self._pending = [each for each in self._pending if not each.done()]
        self._pending.append(pending)

    def wait(self, limit_s: float | None = None) -> None:
        """Wait for all launches. Raises DeviceError where one faults, or takes longer than the limit."""
        for each in tuple(self._pending):
            each.wait(limit_s)
        self._pending.clear()

    def synchronize(self, limit_s: float | None = None) -> None:
        """Wait for all launches, copies, and work of other libraries for which the default stream waits.

        Raises DeviceError where any of it faults, or takes longer than the limit.
        """
        self.wait(limit_s)
        self.settle(limit_s)

    def settle(self, limit_s: float | None = None) -> None:
        """Wait for the default stream: a copy from host memory, or a fill, may return before it has reached the device,
        and a stream of another library need not wait for it.
        """
        Pending(self, "work on the default stream", self.driver.record(0), ()).wait(limit_s)

    def lose(self, reason: str) -> DeviceError:
        """Note that nothing more will come from the device in this process; the error to raise."""
        self._lost = reason
        self.driver.abandon()
        return DeviceError(reason)


class Pending:
    """A launch that may still run; it keeps what the kernel uses."""

    def __init__(self, device: Device, name: str, event: Any, kept: tuple[Any, ...]) -> None:
        self._device, self.name, self._event, self._kept = device, name, event, kept

    def done(self) -> bool:
        """Whether the kernel has ended. Raises DeviceError where it ended in a fault."""
        if self._event is None:
            return True
        try:
            ended = self._device.driver.is_done(self._event)
        except DeviceError as e:
            self._event = None
            raise self._device.lose(
                f"{self.name}: {e}; the context is lost, so run such a kernel through gpu.child"
            ) from e
        if ended:
            self._event, self._kept = None, ()
        return ended

    def wait(self, limit_s: float | None = None) -> None:
        """Wait for the kernel. Raises DeviceError where it faults, or is still running at the limit.

        A kernel that hangs ends only with its process: run what may hang through ``gpu.child``.
        """
        limit = self._device.limit_s if limit_s is None else limit_s
        if not _poll(self.done, limit):
            raise self._device.lose(
                f"expected {self.name} to end within {limit:g} s, got none: the device is still busy, and only the end "
                "of this process ends it; run what may hang through gpu.child"
            )


def _poll(done: Callable[[], bool], limit_s: float) -> bool:
    """Whether something is done in time, asked ever less often."""
    until, pause = time.monotonic() + limit_s, FIRST_POLL_S
    while not done():
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
        pause = min(2 * pause, LAST_POLL_S)
    return True


def current_device() -> Device:
    """The device of the innermost ``with gpu.Device()``. Raises LaunchError outside of one."""
    found = _current.get()
    if found is None:
        raise LaunchError("expected a current device, got none; write: with gpu.Device() as device: ...")
    return found


def array_of(buffer: Buffer, owner: Any = None) -> DeviceArray:
    """A buffer as an array on the device."""
    return DeviceArray(buffer.address, buffer.address, buffer.nbytes, buffer if owner is None else owner)
