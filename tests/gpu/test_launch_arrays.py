"""Arrays of other libraries at a launch: pointers without a copy, and streams, against a recording stand-in."""

import struct
import sys
import types

import numpy as np
import pytest

import gpu
from gpu.errors import LaunchError
from symlayout import TensorMap, TmaType
from tests.support.launches import CUBIN, Interface

# -- arrays of others --------------------------------------------------------------------------------------


def test_arrays_on_the_device_are_not_copied_and_kept_until_the_end(machine, module):
    machine.busy = 3
    x = Interface(machine)
    count = sys.getrefcount(x)

    pending = module.launch("plain", 1, 64, [x, 1])

    assert sys.getrefcount(x) > count
    assert machine.names() == ["get_function", "launch", "Event.record"]
    assert [pending.done() for _ in range(4)] == [False, False, False, True]
    assert sys.getrefcount(x) == count


def test_pointers_and_numbers_stand_where_the_cubin_says(machine, module):
    seen = []
    machine.kernels["rich"] = lambda machine, pieces: seen.append(pieces)
    x, encoded = Interface(machine), bytes(range(128))

    module.launch("rich", 4, 128, [encoded, x, -7, 1 << 40, 0.5])
    module.launch("rich", 4, 128, [encoded, x.address, np.int32(-7), np.uint64(1 << 40), np.float32(0.5)])

    assert seen[0] == [
        encoded,
        struct.pack("<Q", x.address),
        struct.pack("<i", -7),
        struct.pack("<q", 1 << 40),
        b"\0\0\0?",
    ]
    assert seen[0] == seen[1]


def test_a_stream_of_another_library_goes_through_the_bindings(machine, module):
    seen = []
    machine.kernels["plain"] = lambda machine, pieces: seen.append(pieces)
    x = Interface(machine, stream=0x77)

    module.launch("plain", 2, 64, [x, 5], shared=60_000)

    assert seen == [[struct.pack("<Q", x.address), b"\5"]]
    size = len(CUBIN.image)
    assert machine.calls == [
        ("get_function", "plain"),
        ("Function.set_attribute", "plain", "MAX_DYNAMIC_SHARED_SIZE_BYTES", 60_000),
        ("cuModuleLoadData", size),
        ("cuModuleGetFunction", "plain"),
        ("cuFuncSetAttribute", "plain", "MAX_DYNAMIC_SHARED_SIZE_BYTES", 60_000),
        ("cuLaunchKernelEx", "plain", (2, 1, 1), (64, 1, 1), None, 60_000, 0x77),
        ("cuEventRecord", 0x77),
    ]


def test_streams_of_several_libraries_need_a_word(machine, module):
    a, b = Interface(machine, stream=0x77), Interface(machine, stream=0x88)
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))

    with pytest.raises(LaunchError, match=r"got streams 0x77, 0x88; pass stream="):
        module.launch("rich", 2, 64, [gpu.Mapped(m, a), b, 1, 1, 1.0])
    module.launch("rich", 2, 64, [gpu.Mapped(m, a), b, 1, 1, 1.0], stream=0x99)

    assert machine.calls[-1] == ("cuEventRecord", 0x99)


@pytest.mark.parametrize(
    "stream, handle",
    [
        (types.SimpleNamespace(cuda_stream=0x31), 0x31),
        (types.SimpleNamespace(ptr=0x32), 0x32),
        (types.SimpleNamespace(__cuda_stream__=lambda: (0, 0x33)), 0x33),
        (0x34, 0x34),
    ],
    ids=["torch", "cupy", "protocol", "handle"],
)
def test_streams_of_any_library(machine, module, stream, handle):
    module.launch("plain", 1, 64, [Interface(machine), 1], stream=stream)

    assert machine.calls[-2][0] == "cuLaunchKernelEx"
    assert machine.calls[-2][-1] == handle


def test_a_stream_of_pycuda_goes_through_pycuda(machine, module, device):
    stream = device.stream()
    module.launch("plain", 1, 64, [np.zeros(16, np.int32), 1], stream=stream)

    names = machine.names()
    assert machine.calls[names.index("launch")][-1] is stream
    # the copy was on the default stream, for which this one need not wait
    copied, waited = names.index("memcpy_htod"), machine.calls.index(("Event.record", None))
    assert copied < waited < names.index("Event.query") < names.index("launch")


def test_no_stream(machine, module):
    with pytest.raises(LaunchError, match="expected a stream of PyCUDA, torch or CuPy, or its handle, got str"):
        module.launch("plain", 1, 64, [Interface(machine), 1], stream="main")


def test_torch_tensors(machine, module, monkeypatch):
    """By torch's own words, on torch's stream, bfloat16 included."""

    class Tensor:
        shape, device = (4, 8), types.SimpleNamespace(index=0)
        is_cuda = True

        def data_ptr(self):
            return 0x7F0000000100

        def stride(self):
            return (16, 1)

        def element_size(self):
            return 2

    Tensor.__module__ = "torch"
    stream = types.SimpleNamespace(cuda_stream=0x55)
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(current_stream=lambda device: stream))
    monkeypatch.setitem(sys.modules, "torch", torch)

    module.launch("plain", 1, 64, [Tensor(), 1])
    assert machine.calls[-2][-1] == 0x55

    found = gpu.arrays.device_array(Tensor())
    assert (found.address, found.nbytes) == (0x7F0000000100, (3 * 16 + 7) * 2 + 2)
    Tensor.is_cuda, Tensor.device = False, "cpu"
    with pytest.raises(LaunchError, match=r"expected a tensor on the device, got one on cpu; pass x.cuda\(\)"):
        module.launch("plain", 1, 64, [Tensor(), 1])
    Tensor.is_cuda, Tensor.device = True, types.SimpleNamespace(index=1)
    with pytest.raises(LaunchError, match="expected arrays on device 0, got one on device 1"):
        module.launch("plain", 1, 64, [Tensor(), 1])


@pytest.mark.parametrize(
    "shape, strides, low, nbytes",
    [
        ((4, 8), None, 0, 128),
        ((4, 8), (64, 4), 0, 3 * 64 + 32),
        ((4,), (-16,), -48, 52),
        ((0, 3), None, 0, 0),
        ((), None, 0, 4),
    ],
)
def test_how_far_arrays_reach(machine, shape, strides, low, nbytes):
    x = Interface(machine, shape=shape, strides=strides)
    x.__cuda_array_interface__["shape"] = shape
    found = gpu.arrays.device_array(x)

    assert found.place == (x.address + low, nbytes)


def test_a_host_array_of_dlpack_is_refused(machine, module):
    class Host:
        def __dlpack__(self, **given):
            return np.zeros(4).__dlpack__()

    with pytest.raises(LaunchError, match="expected an array on the device, got one on kDLCPU 0"):
        module.launch("plain", 1, 64, [Host(), 1])
