"""What a launch sends to the driver, in which order, and that it frees what it allocated, against a recording stand-in."""

import struct
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import gpu
from gpu.cubin import Cubin
from gpu.errors import CubinError, DeviceError, LaunchError, NoDeviceError
from symlayout import TensorMap, TmaType, dim
from symlayout.errors import AssumptionError
from symlayout.kernels import vector_copy
from symlayout.tma import Im2col
from tests.support import cuda_stand_in as stand_in

CUBIN = Cubin((Path(__file__).parent / "data" / "kernels.cubin").read_bytes())


@pytest.fixture
def machine(monkeypatch):
    return stand_in.install(monkeypatch)


@pytest.fixture
def device(machine):
    with gpu.Device(limit_s=0.3) as device:
        machine.calls.clear()
        yield device


@pytest.fixture
def module(device, machine):
    module = gpu.load(CUBIN)
    machine.calls.clear()
    return module


def add(machine, pieces):
    """``plain``: adds a byte to each of 16 integers."""
    pointer, byte = pieces
    found = machine.array_at(*struct.unpack("<Q", pointer), 64, np.int32)
    np.frombuffer(found.base, np.int32)[:] = found + byte[0]


class Interface:
    """An array of another library."""

    def __init__(self, machine, nbytes=64, stream=1, strides=None, shape=None, typestr="<f4"):
        self.address = machine.allocate(nbytes)
        shape = shape or (nbytes // 4,)
        self.__cuda_array_interface__ = {
            "data": (self.address, False), "shape": shape, "strides": strides, "typestr": typestr, "version": 3,
            "stream": stream,
        }  # fmt: skip


# -- NumPy -------------------------------------------------------------------------------------------------


def test_numpy_arrays_go_there_and_back(machine, module):
    machine.kernels["plain"] = add
    x = np.arange(16, dtype=np.int32)

    module.launch("plain", grid=1, block=64, args=[x, 3], shared=256)

    assert (x == np.arange(16) + 3).all()
    [address] = {given[1] for given in machine.calls if given[0] == "memcpy_htod"}
    assert machine.calls == [
        ("mem_alloc", 64),
        ("memcpy_htod", address, 64),
        (
            "Event.record",
            None,
        ),  # other streams need not wait for the copy, which may be under way when the call returns
        ("Event.query",),
        ("get_function", "plain"),
        ("Function.set_attribute", "plain", "MAX_DYNAMIC_SHARED_SIZE_BYTES", 256),
        ("launch", "plain", (1, 1, 1), (64, 1, 1), 256, None),
        ("Event.record", None),
        ("Event.query",),
        ("memcpy_dtoh", address, 64),
        ("mem_free", address),
    ]
    assert machine.memory == {}


def test_what_is_read_only_or_in_does_not_come_back(machine, module):
    machine.kernels["plain"] = add
    given, fixed = np.zeros(16, np.int32), np.zeros(16, np.int32)
    fixed.flags.writeable = False

    for x in (gpu.In(given), fixed):
        module.launch("plain", 1, 64, [x, 1])

    assert not given.any()
    assert "memcpy_dtoh" not in machine.names()


def test_one_array_twice_is_one_array_on_the_device(machine, module):
    seen = []
    machine.kernels["rich"] = lambda machine, pieces: seen.extend(pieces)
    x = np.zeros((64, 64), np.float32)
    m = TensorMap(TmaType.FLOAT32, 0, (64, 64), (256,), (8, 8))

    module.launch("rich", 2, 64, [gpu.Mapped(m, x), x, 1, 2, 3.0])

    assert machine.names().count("mem_alloc") == machine.names().count("memcpy_dtoh") == 1
    assert seen[0].startswith(b"tiled %#x" % struct.unpack("<Q", seen[1]))


@pytest.mark.parametrize("dtype", ["float16", "bf16", "u8", "f64"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_and_orders_of_numpy(machine, device, dtype, order):
    from symlayout.dtype import DType

    x = np.asarray(np.arange(12).reshape(3, 4), dtype=DType.of(dtype).numpy(), order=order)
    buffer = device.upload(x)

    back = buffer.download(dtype, x.shape) if order == "C" else buffer.download(dtype, x.T.shape).T
    assert (back == x).all()


def test_an_array_in_pieces_is_refused(machine, module):
    with pytest.raises(LaunchError, match=r"in one block of memory, got strides \(8,\) .*; pass np.ascontiguousarray"):
        module.launch("plain", 1, 64, [np.zeros(32, np.int32)[::2], 1])
    assert machine.calls == []


@pytest.mark.parametrize("views", [lambda x: (x[:48], x[16:]), lambda x: (x, x[:])])
def test_arrays_that_share_memory_are_refused(machine, module, views):
    a, b = views(np.zeros(64, np.float32))
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))

    with pytest.raises(LaunchError, match="expected NumPy arrays apart, as each is copied to the device, got two of"):
        module.launch("rich", 2, 64, [gpu.Mapped(m, a), b, 1, 1, 1.0])
    assert machine.calls == []
    a.flags.writeable = b.flags.writeable = False
    module.launch("rich", 2, 64, [gpu.Mapped(m, a), b, 1, 1, 1.0])


def test_empty_and_scalar_arrays(machine, module):
    module.launch("plain", 1, 64, [np.zeros(0, np.int32), 1])
    module.launch("plain", 1, 64, [np.array(7), 1])

    assert [given for given in machine.calls if given[0] == "mem_alloc"] == [("mem_alloc", 1), ("mem_alloc", 8)]


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


# -- clusters ----------------------------------------------------------------------------------------------


def test_clusters_at_run_time(machine, module):
    module.launch("plain", (4, 2), 64, [Interface(machine), 1], cluster=(2, 2))

    assert machine.calls[-2] == ("cuLaunchKernelEx", "plain", (4, 2, 1), (64, 1, 1), (2, 2, 1), 0, 0)


@pytest.mark.parametrize("cluster", [None, 2])
def test_a_cluster_of_the_source_needs_no_attribute(machine, module, cluster):
    module.launch("rich", 4, 64, [bytes(128), Interface(machine), 1, 1, 1.0], cluster=cluster)

    assert machine.calls[-2] == ("launch", "rich", (4, 1, 1), (64, 1, 1), 0, None)


def test_large_clusters_are_opted_in_to(machine, module):
    module.launch("plain", 16, 64, [Interface(machine), 1], cluster=16)

    assert ("cuFuncSetAttribute", "plain", "NON_PORTABLE_CLUSTER_SIZE_ALLOWED", 1) in machine.calls


# -- tensor maps -------------------------------------------------------------------------------------------


def test_tensor_maps_are_encoded_over_their_arrays(machine, module):
    x = Interface(machine, nbytes=1 << 16)
    m = TensorMap(
        TmaType.BFLOAT16, 512, (64, 32), (128,), (64, 8), (1, 2), swizzle=128, l2_promotion=256, oob_fill="nan"
    )

    module.launch("rich", 2, 64, [gpu.Mapped(m, x), x, 1, 1, 1.0])

    module.launch("rich", 4, 64, [gpu.Mapped(m, x), x, 1, 1, 1.0])  # the same map, which is encoded once
    [call] = [given for given in machine.calls if given[0] == "cuTensorMapEncodeTiled"]
    assert call[1:] == (9, 2, x.address + 512, [64, 32], [128], [64, 8], [1, 2], 0, 3, 3, 1)


def test_im2col_maps(machine, module):
    x = Interface(machine, nbytes=1 << 16)
    m = TensorMap(TmaType.FLOAT16, 0, (8, 10, 9, 2), (16, 160, 1440), im2col=Im2col((-1, -1), (1, 1), 8, 16))

    module.launch("rich", 2, 64, [gpu.Mapped(m, x), x, 1, 1, 1.0])

    [call] = [given for given in machine.calls if given[0] == "cuTensorMapEncodeIm2col"]
    assert call[1:5] == (6, 4, x.address, [8, 10, 9, 2])
    assert call[5:] == ([16, 160, 1440], [-1, -1], [1, 1], 8, 16, [1, 1, 1, 1], 0, 0, 0, 0)


def launch_map(machine, module, m, nbytes=1 << 16):
    x = Interface(machine, nbytes=nbytes)
    return module.launch("rich", 2, 64, [gpu.Mapped(m, x), x, 1, 1, 1.0])


def test_wrong_tensor_maps(machine, module):
    small = TensorMap(TmaType.FLOAT32, 0, (64, 64), (256,), (8, 8))
    with pytest.raises(
        LaunchError, match=r"argument 0 of rich: expected a tensor map within the 64 bytes .* 0 \.\. 16383"
    ):
        launch_map(machine, module, small, nbytes=64)
    with pytest.raises(LaunchError, match=r"expected a tensor map of numbers, got one of N; use map.subs"):
        launch_map(machine, module, TensorMap(TmaType.FLOAT32, 0, (dim("N"), 64), (256,), (8, 8)))
    with pytest.raises(LaunchError, match="argument 1 of rich: expected a value of 8 bytes, got a tensor map"):
        module.launch("rich", 2, 64, [bytes(128), small, 1, 1, 1.0])


def test_driver_and_rules_that_disagree_are_reported(machine, module):
    odd = TensorMap(TmaType.FLOAT32, 0, (64, 64), (250,), (8, 8))  # a stride that is no multiple of 16
    with pytest.raises(
        DeviceError, match=r"the driver encodes .*, which rules of ours refuse: .*16.*; please report it"
    ):
        launch_map(machine, module, odd)
    machine.failing["cuTensorMapEncodeTiled"] = 0
    with pytest.raises(DeviceError, match=r"got CUDA_ERROR_INVALID_VALUE; .*16"):
        launch_map(machine, module, odd)
    with pytest.raises(DeviceError, match="no rule of ours is broken: please report the map"):
        launch_map(machine, module, TensorMap(TmaType.FLOAT32, 0, (64, 64), (256,), (8, 8)))


# -- what is refused before anything is sent ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name, change, message",
    [
        (
            "plain",
            {"block": 128},
            r"plain: expected at most 64 threads \(12 registers a thread, launch bounds 64\), got 128",
        ),
        ("plain", {"grid": (1, 65536)}, "grid_axis: .* got 65536 CTAs in grid.y"),
        ("plain", {"grid": 0}, "expected 1 to 3 positive integers as the grid, got 0"),
        ("plain", {"grid": (1, 1, 1, 1)}, "expected 1 to 3 positive integers as the grid"),
        ("plain", {"block": 1.5}, "block"),
        ("plain", {"cluster": 3, "grid": 4}, "cluster_divides_grid"),
        ("plain", {"cluster": 32, "grid": 32}, "cluster_size"),
        ("plain", {"shared": 232_449}, "expected 0 .. 232448 bytes of dynamic shared memory, got 232449"),
        ("rich", {"shared": 232_448}, r"expected 0 \.\. 231920 bytes of dynamic shared memory next to 528 static ones"),
        ("plain", {"shared": -1}, "got -1"),
        ("rich", {"grid": 3}, "cluster_divides_grid"),
        (
            "rich",
            {"cluster": 4, "grid": 4},
            r"the cluster that the kernel was compiled for, \(2, 1, 1\), got \(4, 1, 1\)",
        ),
        ("block_given", {"block": 64}, r"the block that the kernel was compiled for, \(128, 1, 1\), got \(64, 1, 1\)"),
        ("plain", {"args": [0]}, "expected 2 arguments, one for each parameter of the kernel, got 1"),
    ],
)
def test_launches_that_a_rule_or_the_kernel_refuses(machine, module, name, change, message):
    given = {"grid": 2, "block": 64, "args": [0] * len(CUBIN.kernel(name).parameters)} | change

    with pytest.raises(LaunchError, match=message):
        module.launch(name, **given)
    assert machine.calls == []


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([0, 1 << 8], r"argument 1 of plain: expected an integer of 1 bytes, -128 \.\. 255, got 256"),
        ([0, 0.5], "argument 1 of plain: expected a value of 1 bytes, got a float"),
        ([0, np.int32(1)], "argument 1 of plain: expected 1 bytes, got 4 of int32"),
        ([b"1234", 0], "argument 0 of plain: expected 8 bytes, got 4 of bytes"),
        (["x", 0], "argument 0 of plain: expected an array, a tensor map, a number or bytes, got str"),
        ([0, np.zeros(4)], "argument 1 of plain: expected a value of 1 bytes, got an array, whose pointer takes 8"),
        ([None, 0], "got NoneType"),
    ],
)
def test_arguments_that_do_not_fit(machine, module, arguments, message):
    with pytest.raises(LaunchError, match=message):
        module.launch("plain", 1, 64, arguments)
    assert "launch" not in machine.names()
    assert machine.memory == {}


def test_a_kernel_that_is_not_there(module):
    with pytest.raises(CubinError, match="got 'plane'"):
        module.launch("plane", 1, 64, [])


@pytest.mark.parametrize("capability, runs", [((9, 0), True), ((8, 0), False), ((10, 0), False), ((9, 5), False)])
def test_cubins_run_on_their_architecture_only(machine, capability, runs):
    machine.capability = capability
    with gpu.Device() as device:
        if runs:
            assert gpu.load(CUBIN).device is device
        else:
            named = ".".join(map(str, capability))
            with pytest.raises(LaunchError, match=rf"compute capability {named} \(Stand-in H200\), got sm_90a"):
                gpu.load(CUBIN)


# -- what proofs assume -----------------------------------------------------------------------------------


def test_assumptions_of_a_kernel_are_checked_before_the_launch(machine, module):
    bound = vector_copy(dim("N")).bind(N=16)
    src, dst = Interface(machine), Interface(machine)
    given = {"kernel": bound, "tensors": {"src": src, "dst": dst}}

    with pytest.raises(LaunchError, match="tensor dst: expected an array of this launch, got Interface"):
        module.launch("plain", 1, 64, [src, 0], **given)
    with pytest.raises(AssumptionError, match="expected src and dst apart"):
        module.launch("plain", 1, 64, [src, 0], kernel=bound, tensors={"src": src, "dst": src})
    assert "launch" not in machine.names()

    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))
    module.launch("rich", 2, 64, [gpu.Mapped(m, src), dst, 1, 1, 1.0], **given)
    assert "launch" in machine.names()


def test_a_tensor_that_is_too_small_is_refused(machine, module):
    bound, small, dst = vector_copy(dim("N")).bind(N=16), np.zeros(4, np.float32), Interface(machine)
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))

    with pytest.raises(AssumptionError, match=r"expected at least 64 bytes of .*src.*, got 16"):
        module.launch(
            "rich", 2, 64, [gpu.Mapped(m, dst), small, 1, 1, 1.0], kernel=bound, tensors={"src": small, "dst": dst}
        )
    assert "launch" not in machine.names()
    assert len(machine.memory) == 1  # that of dst


# -- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call", ["memcpy_htod", "get_function", "launch", "Event.record", "Event.query", "memcpy_dtoh"]
)
def test_whatever_fails_is_freed(machine, module, call):
    machine.failing[call] = 0

    with pytest.raises(DeviceError, match=f"{call} failed: as told"):
        module.launch("plain", 1, 64, [np.zeros(16, np.int32), 1])

    freed, made = machine.names().count("mem_free"), machine.names().count("mem_alloc")
    assert made == 1
    # after a fault of the kernel the context is dead: a free would fail or wait for ever
    assert freed == (0 if call == "Event.query" else 1)


def test_the_second_of_two_allocations_fails(machine, module):
    machine.failing["mem_alloc"] = 1
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))
    with pytest.raises(DeviceError, match="expected 64 bytes of device memory, got: mem_alloc failed"):
        module.launch("rich", 2, 64, [gpu.Mapped(m, np.zeros(16, np.float32)), np.zeros(16, np.float32), 1, 1, 1.0])

    assert machine.memory == {}


def test_a_kernel_that_hangs_is_an_error_after_its_limit(machine):
    machine.kernels["plain"] = lambda machine, pieces: setattr(machine, "busy", 10**9)
    told = r"expected plain to end within 0\.1 s, got none.*run what may hang through gpu.child"
    with pytest.raises(DeviceError, match=told), gpu.Device():
        gpu.load(CUBIN).launch("plain", 1, 64, [np.zeros(16, np.int32), 1], limit_s=0.1)

    assert "mem_free" not in machine.names()  # it would wait for the kernel
    assert machine.names()[-1] == "Context.pop"


def test_what_is_uploaded_or_filled_is_there_for_every_stream(machine, device):
    for change in (lambda b: b.upload(np.zeros(2)), lambda b: b.fill(7)):
        buffer = device.allocate(16)
        machine.calls.clear()
        change(buffer)
        assert machine.names()[1:] == ["Event.record", "Event.query"]


def test_every_wait_has_a_limit(machine):
    """Copies, frees and ends would wait for a kernel that hangs for as long as the driver does."""
    waits = [
        lambda device, buffer: buffer.free(),
        lambda device, buffer: buffer.download(),
        lambda device, buffer: buffer.upload(np.zeros(4)),
        lambda device, buffer: gpu.load(CUBIN).launch("plain", 1, 64, [np.zeros(4), 1]),
        lambda device, buffer: device.synchronize(),
        lambda device, buffer: None,
    ]
    for each in waits:
        machine.busy, told = 10**9, "expected plain to end within 0.05 s, got none"

        def launched(each=each):
            with gpu.Device(limit_s=0.05) as device:
                buffer = device.allocate(64)
                gpu.load(CUBIN).launch("plain", 1, 64, [buffer, 1])
                each(device, buffer)

        with pytest.raises(DeviceError, match=told):
            launched()
    assert "mem_free" not in machine.names()


def test_a_fault_that_nobody_waited_for_comes_out_at_the_end(machine):
    def launched():
        with gpu.Device() as device:
            gpu.load(CUBIN).launch("plain", 1, 64, [device.allocate(64), 1])
            machine.failing["Event.query"] = 0

    with pytest.raises(DeviceError, match=r"plain: .*Event.query failed.*the context is lost"):
        launched()
    assert machine.names()[-1] == "Context.pop"


def test_the_first_error_is_the_one_that_is_told(machine):
    def launched():
        with gpu.Device():
            gpu.load(CUBIN).launch("plain", 1, 64, [Interface(machine), 1])
            machine.failing["Event.query"] = 0
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        launched()


# -- devices -----------------------------------------------------------------------------------------------


def test_a_device_frees_what_it_gave(machine):
    with gpu.Device() as device:
        a, b = device.allocate(100), device.upload(np.arange(5))
        a.free()
        a.free()
        assert (b.download("i64") == np.arange(5)).all()
        assert str(device) == "Stand-in H200, compute capability 9.0, 132 SMs"
    assert machine.memory == {}
    assert machine.names().count("mem_free") == 2
    with pytest.raises(LaunchError, match="expected a buffer in use, got one of 40 bytes that was freed"):
        b.download()


def test_devices_nest_and_end_once(machine):
    with gpu.Device() as outer, outer as again:
        buffer = again.allocate(8)
        with outer:
            pass
        buffer.fill(1)
        assert (buffer.download() == 1).all()
    names = machine.names()
    assert names.count("Context.push") == names.count("Context.pop") == 3
    assert names.count("retain_primary_context") == names.count("mem_free") == 1


def test_buffers_say_where_they_end(machine, device):
    buffer = device.allocate(16)
    with pytest.raises(LaunchError, match="expected bytes within 16, got 24 from byte 0 on"):
        buffer.upload(np.zeros(3))
    with pytest.raises(LaunchError, match="expected bytes within 16, got 16 from byte 8 on"):
        buffer.download("f64", 2, at=8)
    with pytest.raises(LaunchError, match="expected a size of at least 0 bytes, got -1"):
        device.allocate(-1)
    assert buffer.__cuda_array_interface__["data"] == (buffer.address, False)


def test_outside_of_a_device(machine):
    with pytest.raises(LaunchError, match=r"expected a current device, got none; write: with gpu\.Device"):
        gpu.load(CUBIN)
    with pytest.raises(LaunchError, match="expected a device that is current, got one outside of its with block"):
        gpu.Device().allocate(8)


def test_the_context_is_released_at_the_end_of_the_process_unless_it_is_busy(machine, monkeypatch):
    ends = []
    monkeypatch.setattr(gpu.driver.atexit, "register", lambda f, *given: ends.append((f, given)))
    monkeypatch.setattr(gpu.driver.atexit, "unregister", lambda f: ends.clear())
    with gpu.Device() as device:
        [(release, given)] = ends
        release(*given)
        assert machine.names()[-1] == "Context.detach"
        device.lose("busy")
    assert ends == []


def test_no_such_device(machine):
    with pytest.raises(NoDeviceError, match=r"expected a device of 0 \.\. 0, got 1"):
        gpu.Device(1)
    machine.devices = 0
    assert str(gpu.driver.availability()) == "expected a device, got a driver that has none"
    with pytest.raises(NoDeviceError, match="expected a device, got a driver that has none"):
        gpu.Device()


def test_no_pycuda(monkeypatch):
    monkeypatch.setattr(gpu.driver, "availability", gpu.driver.availability.__wrapped__)
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    monkeypatch.setitem(sys.modules, "pycuda", None)

    there = gpu.driver.availability()
    assert not there.ok
    assert "expected PyCUDA and a driver, got: " in there.reason
    assert "pip install 'symlayout[gpu]'" in there.reason
    with pytest.raises(NoDeviceError, match="expected PyCUDA and a driver"):
        gpu.Device()


def test_no_bindings(machine, module, monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)

    with pytest.raises(NoDeviceError, match="expected cuda-bindings for tensor maps, clusters and streams"):
        module.launch("plain", 2, 64, [Interface(machine), 1], cluster=2)
