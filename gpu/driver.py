"""The few calls of the CUDA driver that a launch needs: through PyCUDA, and through cuda-bindings where PyCUDA has
none.

PyCUDA has context, memory, modules, streams and events. It has no tensor maps, no run-time clusters, and no way to
name a stream that another library made: those calls go through cuda-bindings, in the same primary context.
Addresses and handles are plain integers here; nothing above this module imports CUDA.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .errors import DeviceError, NoDeviceError
from .libraries import answered, availability, bindings, pycuda, value_of

Three: TypeAlias = "tuple[int, int, int]"

DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


class Facts(NamedTuple):
    """The attributes of a device; sizes in bytes."""

    ordinal: int
    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    shared_bytes_per_block: int  # what a kernel may opt in to
    shared_bytes_per_sm: int
    driver_api: int  # 13000 for 13.0


class Configuration(NamedTuple):
    """One launch: CTAs of the grid, threads of a CTA, CTAs of a cluster (None: as compiled), dynamic shared bytes."""

    grid: Three
    block: Three
    cluster: Three | None
    shared_bytes: int


class _Retained(threading.local):
    """Primary contexts by ordinal; PyCUDA binds each to the thread that retained it."""

    def __init__(self) -> None:
        self.contexts: dict[int, Any] = {}


_RETAINED = _Retained()


def _release(context: Any) -> None:
    """Give a primary context back at the end of the process; PyCUDA's destructor would take it for one it created."""
    with contextlib.suppress(Exception):
        context.detach()


class Driver:
    """The calls, on one device. Enter it before any of them: it makes the device's primary context current.

    Raises NoDeviceError where PyCUDA, the driver or the device is missing.
    """

    def __init__(self, ordinal: int = 0) -> None:
        there = availability()
        if not there.ok:
            raise NoDeviceError(there.reason)
        if not 0 <= ordinal < there.devices:
            raise NoDeviceError(f"expected a device of 0 .. {there.devices - 1}, got {ordinal}")
        self._pc = pycuda()
        self.ordinal = ordinal
        self._device = self._pc.Device(ordinal)

    # -- context ---------------------------------------------------------------------------------------

    def enter(self) -> None:
        """Make the primary context current, which torch, CuPy and cuda-bindings share.

        It is retained once for a thread and stays: releasing it while another library uses it would end its work.
        """
        kept = _RETAINED.contexts
        with answered("the primary context", self._pc):
            if self.ordinal not in kept:
                kept[self.ordinal] = self._device.retain_primary_context()
                atexit.register(_release, kept[self.ordinal])
            kept[self.ordinal].push()

    def leave(self) -> None:
        self._pc.Context.pop()

    def abandon(self) -> None:
        """Let the process end without the context, which is busy for ever: releasing it would wait."""
        atexit.unregister(_release)

    @functools.cached_property
    def facts(self) -> Facts:
        attribute = self._pc.device_attribute
        return Facts(
            self.ordinal,
            self._device.name(),
            self._device.compute_capability(),
            self._device.get_attribute(attribute.MULTIPROCESSOR_COUNT),
            self._device.total_memory(),
            self._device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
            self._device.get_attribute(attribute.MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
            self._pc.get_driver_version(),
        )

    # -- memory ----------------------------------------------------------------------------------------

    def allocate(self, nbytes: int) -> Any:
        """Device memory; ``int()`` gives its address, ``.free()`` gives it back."""
        with answered(f"{nbytes} bytes of device memory", self._pc):
            return self._pc.mem_alloc(nbytes)

    def to_device(self, address: int, data: np.ndarray[Any, Any]) -> None:
        with answered(f"a copy of {data.nbytes} bytes to {address:#x}", self._pc):
            self._pc.memcpy_htod(address, data)

    def to_host(self, data: np.ndarray[Any, Any], address: int) -> None:
        with answered(f"a copy of {data.nbytes} bytes from {address:#x}", self._pc):
            self._pc.memcpy_dtoh(data, address)

    def fill(self, address: int, byte: int, nbytes: int) -> None:
        with answered(f"{nbytes} bytes of {byte:#x} at {address:#x}", self._pc):
            self._pc.memset_d8(address, byte, nbytes)

    def copy(self, to: int, source: int, nbytes: int) -> None:
        """A copy within device memory, in the default stream; it returns before that has ended."""
        with answered(f"a copy of {nbytes} bytes within device memory", self._pc):
            self._pc.memcpy_dtod(to, source, nbytes)

    def free_bytes(self) -> int:
        """The free device memory, in bytes."""
        with answered("the memory that is left", self._pc):
            return int(self._pc.mem_get_info()[0])

    def bus_id(self) -> str:
        """The device as nvidia-smi names it: ``0000:3B:00.0``."""
        return str(self._device.pci_bus_id())

    # -- modules and launches --------------------------------------------------------------------------

    def load(self, image: bytes) -> Loaded:
        return Loaded(self, image)

    def launch(self, function: Function, c: Configuration, stream: int | Any, arguments: bytes) -> None:
        """Launch, with one buffer of arguments at the offsets of the cubin."""
        self.prepared(function, c, stream, arguments)()

    def prepared(self, function: Function, c: Configuration, stream: int | Any, arguments: bytes) -> Callable[[], None]:
        """A launch for which all is ready: calling it is one call of the driver."""
        what = f"a launch of {function.name}"
        if c.cluster is None and self._is_ours(stream):
            own = {} if isinstance(stream, int) else {"stream": stream}
            blob = np.void(arguments)

            def launch() -> None:
                with answered(what, self._pc):
                    function.ours(blob, grid=c.grid, block=c.block, shared=c.shared_bytes, **own)

            return launch
        d = bindings()
        buffer = ctypes.create_string_buffer(arguments, len(arguments))
        start = ctypes.addressof(buffer)
        pointers = (ctypes.c_void_p * len(function.offsets))(*(start + offset for offset in function.offsets))
        configured, theirs, at = self._configured(d, c, stream), function.theirs, ctypes.addressof(pointers)
        kept = (buffer, pointers)  # which the driver reads at each launch

        def launch_ex() -> None:
            assert kept
            value_of(what, d.cuLaunchKernelEx(configured, theirs, at, 0))

        return launch_ex

    def _configured(self, d: Any, c: Configuration, stream: int | Any) -> Any:
        made = d.CUlaunchConfig()
        made.gridDimX, made.gridDimY, made.gridDimZ = c.grid
        made.blockDimX, made.blockDimY, made.blockDimZ = c.block
        made.sharedMemBytes, made.hStream = c.shared_bytes, d.CUstream(handle_of(stream))
        if c.cluster is not None:
            cluster = d.CUlaunchAttribute()
            cluster.id = d.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
            shape = cluster.value.clusterDim
            shape.x, shape.y, shape.z = c.cluster
            made.attrs, made.numAttrs = [cluster], 1
        return made

    def active_clusters(self, function: Function, c: Configuration) -> int:
        """The number of clusters of this launch that the device runs at once. Raises DeviceError."""
        d = bindings()
        found = d.cuOccupancyMaxActiveClusters(function.theirs, self._configured(d, c, 0))
        return int(value_of(f"the clusters of {function.name} that run at once", found))

    # -- streams and events ----------------------------------------------------------------------------

    def stream(self) -> Any:
        """A new stream of PyCUDA's."""
        with answered("a stream", self._pc):
            return self._pc.Stream()

    def _is_ours(self, stream: int | Any) -> bool:
        """Whether PyCUDA can name a stream: the default one, or one that it made."""
        return stream == 0 if isinstance(stream, int) else isinstance(stream, self._pc.Stream)

    def record(self, stream: int | Any) -> Any:
        """An event behind all work that the stream has now."""
        if not self._is_ours(stream):
            return _ForeignEvent(handle_of(stream))
        with answered("an event", self._pc):
            event = self._pc.Event(self._pc.event_flags.DISABLE_TIMING)
            event.record(None if isinstance(stream, int) else stream)
        return event

    def stamp(self) -> Any:
        """An event in the default stream that knows its time."""
        with answered("an event", self._pc):
            event = self._pc.Event()
            event.record()
        return event

    def seconds_between(self, first: Any, last: Any) -> float:
        """The time on the device between two stamps that are done."""
        with answered("the time between two events", self._pc):
            return float(last.time_since(first)) / 1e3

    def is_done(self, event: Any) -> bool:
        """Whether all work before an event is done. Raises DeviceError where it ended in a fault."""
        with answered("work on the device to end well", self._pc):
            return bool(event.query())


def handle_of(stream: int | Any) -> int:
    """The driver's handle of a stream of any library, as an integer."""
    return stream if isinstance(stream, int) else int(stream.handle)


class Loaded:
    """A cubin in the context. PyCUDA loads it; cuda-bindings loads it once more where a launch needs its functions,
    so that the two kinds of launches do not share ``__device__`` variables.
    """

    def __init__(self, driver: Driver, image: bytes) -> None:
        self._driver, self._image = driver, image
        with answered("the driver to load the cubin", driver._pc):
            self.ours = driver._pc.module_from_buffer(image)
        self._theirs: Any = None

    @property
    def theirs(self) -> Any:
        if self._theirs is None:
            self._theirs = value_of("the driver to load the cubin", bindings().cuModuleLoadData(self._image))
        return self._theirs

    def function(self, name: str, offsets: Sequence[int]) -> Function:
        """A kernel, with the offsets of its parameters."""
        return Function(self._driver, self, name, tuple(offsets))

    def unload(self) -> None:
        """Give the module back. PyCUDA unloads its own when nothing refers to it any more."""
        theirs, self._theirs, self.ours = self._theirs, None, None
        if theirs is not None:
            bindings().cuModuleUnload(theirs)


class Function:
    """A kernel of a loaded cubin, for both libraries; dynamic shared memory is opted in to where it needs that."""

    def __init__(self, driver: Driver, module: Loaded, name: str, offsets: tuple[int, ...]) -> None:
        self._driver, self._module, self.name, self.offsets = driver, module, name, offsets
        self.shared_bytes = 0
        with answered(f"kernel {name} in the cubin", driver._pc):
            self.ours = module.ours.get_function(name)

    @functools.cached_property
    def theirs(self) -> Any:
        d = bindings()
        found = value_of(
            f"kernel {self.name} in the cubin", d.cuModuleGetFunction(self._module.theirs, self.name.encode())
        )
        for i, offset in enumerate(self.offsets):
            placed, _ = self._parameter(d, found, i)
            if placed != offset:
                wanted = f"expected parameter {i} of {self.name} at byte {offset}, as the cubin has it"
                raise DeviceError(f"{wanted}, got {placed} from the driver")
        if self.shared_bytes:
            self._opt_in_theirs(d, found)
        return found

    @staticmethod
    def _parameter(d: Any, function: Any, i: int) -> tuple[int, int]:
        code, offset, size = d.cuFuncGetParamInfo(function, i)
        value_of(f"parameter {i} of a kernel", (code,))
        return offset, size

    def opt_in(self, shared_bytes: int) -> None:
        """Allow this much dynamic shared memory, and clusters of more than 8 CTAs."""
        if shared_bytes <= self.shared_bytes:
            return
        self.shared_bytes = shared_bytes
        attribute = self._driver._pc.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
        with answered(f"{shared_bytes} bytes of dynamic shared memory for {self.name}", self._driver._pc):
            self.ours.set_attribute(attribute, shared_bytes)
        if "theirs" in self.__dict__:
            self._opt_in_theirs(bindings(), self.theirs)

    def _opt_in_theirs(self, d: Any, function: Any) -> None:
        attribute = d.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        what = f"{self.shared_bytes} bytes of dynamic shared memory for {self.name}"
        value_of(what, d.cuFuncSetAttribute(function, attribute, self.shared_bytes))

    def allow_large_clusters(self) -> None:
        """Allow clusters of more CTAs than every device of the architecture has (8)."""
        d = bindings()
        attribute = d.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED
        value_of(f"large clusters for {self.name}", d.cuFuncSetAttribute(self.theirs, attribute, 1))


class _ForeignEvent:
    """An event in a stream that PyCUDA cannot name, with the one method of PyCUDA's that is used here."""

    def __init__(self, stream: int) -> None:
        self._d = bindings()
        self._event = value_of("an event", self._d.cuEventCreate(DISABLE_TIMING))
        value_of("an event in the stream", self._d.cuEventRecord(self._event, self._d.CUstream(stream)))

    def query(self) -> bool:
        (code,) = self._d.cuEventQuery(self._event)
        if code == self._d.CUresult.CUDA_ERROR_NOT_READY:
            return False
        value_of("work on the device to end well", (code,))
        return True

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # at the end of the interpreter the module may be gone
            self._d.cuEventDestroy(self._event)
