"""What a launch sends to the driver, in which order, and that it frees what it allocated, against a recording stand-in."""

import struct

import numpy as np
import pytest

import gpu
from gpu.errors import DeviceError, LaunchError
from symlayout import TensorMap, TmaType, dim
from symlayout.tma import Im2col
from tests.support.launches import Interface, add

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
