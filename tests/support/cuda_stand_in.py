"""A stand-in for PyCUDA and cuda-bindings that records each call, keeps device memory in host memory, and runs kernels
as Python functions: what a launch sends, in which order, and what it frees, with no device and neither library.

It knows what a call is given and in which order; it cannot know whether a device agrees. What PyCUDA and the bindings
take was compared with the libraries themselves: ``benchmarks/hardware/launch_check.py`` runs the same calls on one.
"""

# ruff: noqa: N802  (the names are the driver's)
from __future__ import annotations

import ctypes
import enum
import itertools
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

import gpu
from gpu import driver, libraries
from gpu.cubin import Cubin

NAME, CAPABILITY, MULTIPROCESSORS = "Stand-in H200", (9, 0), 132


class CudaError(Exception):
    """PyCUDA's Error."""


class Machine:
    """Calls as tuples in order, memory by address, kernels by name, and faults: a call by name and how often it works."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.memory: dict[int, bytearray] = {}
        self.kernels: dict[str, Callable[[Machine, list[bytes]], None]] = {}
        self.failing: dict[str, int] = {}
        self.busy = 0  # how often a query finds work that is not done
        self.devices = 1
        self.clock_ms, self.call_ms = 0.0, 0.5  # of events: each comes so much later than the one before
        self.free_bytes = 8 << 20
        self.capability = CAPABILITY
        self._addresses = itertools.count(0x7F00_0000_0000, 1 << 20)

    def call(self, name: str, *given: Any) -> None:
        self.calls.append((name, *given))
        if name in self.failing:
            self.failing[name] -= 1
            if self.failing[name] < 0:
                raise CudaError(f"{name} failed: as told")

    def names(self) -> list[str]:
        return [name for name, *_ in self.calls]

    def allocate(self, nbytes: int) -> int:
        address = next(self._addresses)
        self.memory[address] = bytearray(b"\xcd" * nbytes)
        return address

    def bytes_at(self, address: int, nbytes: int) -> memoryview:
        for base, held in self.memory.items():
            if base <= address and address + nbytes <= base + len(held):
                return memoryview(held)[address - base : address - base + nbytes]
        raise CudaError(f"{nbytes} bytes at {address:#x} are not allocated")

    def array_at(self, address: int, nbytes: int, dtype: Any) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.bytes_at(address, nbytes), dtype)

    def run(self, image: bytes, name: str, pieces: list[bytes]) -> None:
        if name in self.kernels:
            self.kernels[name](self, pieces)


def install(monkeypatch: Any) -> Machine:
    """Put the stand-ins where ``pycuda.driver`` and ``cuda.bindings.driver`` are imported from."""
    machine = Machine()
    pycuda, cuda, bindings = (types.ModuleType(name) for name in ("pycuda", "cuda", "cuda.bindings"))
    pycuda.driver, bindings.driver = _pycuda(machine), _bindings(machine)
    cuda.bindings = bindings
    found = {"pycuda": pycuda, "pycuda.driver": pycuda.driver, "cuda": cuda, "cuda.bindings": bindings}
    for name, module in (found | {"cuda.bindings.driver": bindings.driver}).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(driver, "_RETAINED", driver._Retained())
    uncached = libraries.availability.__wrapped__  # others see the truth
    for module in (libraries, driver, gpu):  # the package keeps what it was asked for once
        monkeypatch.setattr(module, "availability", uncached)
    return machine


def pieces_of(cubin: Cubin, name: str, blob: bytes) -> list[bytes]:
    return [blob[p.offset : p.offset + p.size] for p in cubin.kernel(name).parameters]


# -- PyCUDA ------------------------------------------------------------------------------------------------


def _pycuda(machine: Machine) -> Any:
    pc = types.ModuleType("pycuda.driver")
    pc.Error = CudaError
    pc.init = lambda: machine.call("init")
    pc.get_driver_version = lambda: 13000
    pc.device_attribute = enum.Enum(
        "device_attribute",
        "MULTIPROCESSOR_COUNT MAX_SHARED_MEMORY_PER_BLOCK_OPTIN MAX_SHARED_MEMORY_PER_MULTIPROCESSOR",
    )
    pc.function_attribute = types.SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES="MAX_DYNAMIC_SHARED_SIZE_BYTES")
    pc.event_flags = types.SimpleNamespace(DISABLE_TIMING=2)

    class Context:
        def push(self) -> None:
            machine.call("Context.push")

        def detach(self) -> None:
            machine.call("Context.detach")

        @staticmethod
        def pop() -> None:
            machine.call("Context.pop")

    class Device:
        count = staticmethod(lambda: machine.devices)

        def __init__(self, ordinal: int) -> None:
            self.ordinal = ordinal

        def retain_primary_context(self) -> Context:
            machine.call("retain_primary_context", self.ordinal)
            return Context()

        def name(self) -> str:
            return NAME

        def compute_capability(self) -> tuple[int, int]:
            return machine.capability

        def pci_bus_id(self) -> str:
            return "0000:3B:00.0"

        def total_memory(self) -> int:
            return 139 << 30

        def get_attribute(self, attribute: Any) -> int:
            return {"MULTIPROCESSOR_COUNT": MULTIPROCESSORS}.get(attribute.name, 227 * 1024)

    class DeviceAllocation:
        def __init__(self, address: int) -> None:
            self.address = address

        def __int__(self) -> int:
            return self.address

        def free(self) -> None:
            machine.call("mem_free", self.address)
            del machine.memory[self.address]

    def mem_alloc(nbytes: int) -> DeviceAllocation:
        machine.call("mem_alloc", nbytes)
        return DeviceAllocation(machine.allocate(nbytes))

    def memcpy_htod(address: int, data: Any) -> None:
        machine.call("memcpy_htod", address, memoryview(data).nbytes)
        machine.bytes_at(address, memoryview(data).nbytes)[:] = memoryview(data).cast("B")

    def memcpy_dtoh(data: Any, address: int) -> None:
        machine.call("memcpy_dtoh", address, memoryview(data).nbytes)
        memoryview(data).cast("B")[:] = machine.bytes_at(address, memoryview(data).nbytes)

    def memset_d8(address: int, byte: int, nbytes: int) -> None:
        machine.call("memset_d8", address, byte, nbytes)
        machine.bytes_at(address, nbytes)[:] = bytes([byte]) * nbytes

    def memcpy_dtod(to: int, source: int, nbytes: int) -> None:
        machine.call("memcpy_dtod", to, source, nbytes)
        machine.bytes_at(to, nbytes)[:] = machine.bytes_at(source, nbytes)

    class Function:
        def __init__(self, image: bytes, name: str) -> None:
            self.cubin, self.name = Cubin(image), name

        def set_attribute(self, attribute: str, value: int) -> None:
            machine.call("Function.set_attribute", self.name, attribute, value)

        def __call__(self, arguments: np.void, *, grid: Any, block: Any, shared: int, stream: Any = None) -> None:
            assert isinstance(arguments, np.void)
            machine.call("launch", self.name, grid, block, shared, stream)
            machine.run(self.cubin.image, self.name, pieces_of(self.cubin, self.name, arguments.tobytes()))

    class Module:
        def __init__(self, image: bytes) -> None:
            self.image = image

        def get_function(self, name: str) -> Function:
            machine.call("get_function", name)
            return Function(self.image, name)

    def module_from_buffer(image: bytes) -> Module:
        machine.call("module_from_buffer", len(image))
        return Module(image)

    class Stream:
        handle = 0x51

        def __repr__(self) -> str:
            return "pycuda stream"

    Stream.__module__ = "pycuda._driver"

    class Event:
        def __init__(self, flags: int = 0) -> None:
            self.flags = flags

        def record(self, stream: Any = None) -> None:
            machine.call("Event.record", stream)
            machine.clock_ms += machine.call_ms
            self.at = machine.clock_ms

        def time_since(self, first: Any) -> float:
            if self.flags or first.flags:
                raise CudaError("an event without timing")
            return self.at - first.at

        def query(self) -> bool:
            machine.call("Event.query")
            machine.busy -= 1
            return machine.busy < 0

    def mem_get_info() -> tuple[int, int]:
        return machine.free_bytes, 139 << 30

    for thing in (Context, Device, DeviceAllocation, mem_alloc, memcpy_htod, memcpy_dtoh, memcpy_dtod, memset_d8,
                  mem_get_info):  # fmt: skip
        setattr(pc, thing.__name__, thing)
    pc.module_from_buffer, pc.Stream, pc.Event = module_from_buffer, Stream, Event
    return pc


# -- cuda-bindings -----------------------------------------------------------------------------------------


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_ILLEGAL_ADDRESS = 700


def _bindings(machine: Machine) -> Any:
    d = types.ModuleType("cuda.bindings.driver")
    kept: list[Any] = []  # what pointers lead to
    ok = (CUresult.CUDA_SUCCESS,)
    functions: dict[int, tuple[Cubin, str]] = {}
    d.CUresult = CUresult
    for name in ("cuuint64_t", "cuuint32_t", "CUstream", "CUtensorMapDataType", "CUtensorMapInterleave"):
        setattr(d, name, int)
    for name in ("CUtensorMapSwizzle", "CUtensorMapL2promotion", "CUtensorMapFloatOOBfill"):
        setattr(d, name, int)
    d.CUlaunchConfig = types.SimpleNamespace
    d.CUlaunchAttribute = lambda: types.SimpleNamespace(value=types.SimpleNamespace(clusterDim=types.SimpleNamespace()))
    d.CUlaunchAttributeID = types.SimpleNamespace(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION="CLUSTER_DIMENSION")
    d.CUfunction_attribute = types.SimpleNamespace(
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES="MAX_DYNAMIC_SHARED_SIZE_BYTES",
        CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED="NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    )

    def answered(function: Callable[..., Any]) -> None:
        def called(*given: Any) -> tuple[Any, ...]:
            try:
                return function(*given) or ok
            except CudaError:
                return (CUresult.CUDA_ERROR_INVALID_VALUE, None)

        setattr(d, function.__name__, called)

    @answered
    def cuModuleLoadData(image: bytes) -> Any:
        machine.call("cuModuleLoadData", len(image))
        return (*ok, image)

    @answered
    def cuModuleUnload(module: bytes) -> Any:
        machine.call("cuModuleUnload")

    @answered
    def cuModuleGetFunction(module: bytes, name: bytes) -> Any:
        machine.call("cuModuleGetFunction", name.decode())
        functions[len(functions)] = (Cubin(module), name.decode())
        return (*ok, len(functions) - 1)

    def cuFuncGetParamInfo(function: int, i: int) -> Any:
        cubin, name = functions[function]
        return (*ok, *cubin.kernel(name).parameters[i])

    d.cuFuncGetParamInfo = cuFuncGetParamInfo

    @answered
    def cuFuncSetAttribute(function: int, attribute: str, value: int) -> Any:
        machine.call("cuFuncSetAttribute", functions[function][1], attribute, value)

    @answered
    def cuOccupancyMaxActiveClusters(function: int, made: Any) -> Any:
        machine.call("cuOccupancyMaxActiveClusters", functions[function][1])
        return (*ok, 66)

    @answered
    def cuLaunchKernelEx(made: Any, function: int, pointers: int, extra: int) -> Any:
        cubin, name = functions[function]
        parameters = cubin.kernel(name).parameters
        at = (ctypes.c_void_p * len(parameters)).from_address(pointers)
        pieces = [ctypes.string_at(p, size) for p, (_, size) in zip(at, parameters, strict=True)]
        shape = [a.value.clusterDim for a in getattr(made, "attrs", ())]
        cluster = (shape[0].x, shape[0].y, shape[0].z) if shape else None
        grid, block = (made.gridDimX, made.gridDimY, made.gridDimZ), (made.blockDimX, made.blockDimY, made.blockDimZ)
        machine.call("cuLaunchKernelEx", name, grid, block, cluster, made.sharedMemBytes, made.hStream)
        machine.run(cubin.image, name, pieces)

    @answered
    def cuEventCreate(flags: int) -> Any:
        return (*ok, "event")

    @answered
    def cuEventRecord(event: Any, stream: int) -> Any:
        machine.call("cuEventRecord", stream)

    def cuEventQuery(event: Any) -> Any:
        machine.call("cuEventQuery")
        machine.busy -= 1
        return ok if machine.busy < 0 else (CUresult.CUDA_ERROR_NOT_READY,)

    d.cuEventQuery = cuEventQuery

    @answered
    def cuEventDestroy(event: Any) -> Any:
        return ok

    class Encoded:
        def __init__(self, text: bytes) -> None:
            self.buffer = ctypes.create_string_buffer(text.ljust(128, b"."), 128)
            kept.append(self.buffer)

        def getPtr(self) -> int:
            return ctypes.addressof(self.buffer)

    @answered
    def cuTensorMapEncodeTiled(*given: Any) -> Any:
        machine.call("cuTensorMapEncodeTiled", *given)
        return (*ok, Encoded(b"tiled %#x" % given[2]))

    @answered
    def cuTensorMapEncodeIm2col(*given: Any) -> Any:
        machine.call("cuTensorMapEncodeIm2col", *given)
        return (*ok, Encoded(b"im2col %#x" % given[2]))

    return d
