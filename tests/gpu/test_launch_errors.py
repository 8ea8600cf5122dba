"""Errors of the driver and of kernels, and what a device gives back at its end, against a recording stand-in."""

import sys

import numpy as np
import pytest

import gpu
from gpu.errors import DeviceError, LaunchError, NoDeviceError
from symlayout import TensorMap, TmaType
from tests.support.launches import CUBIN, Interface

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
    assert str(gpu.libraries.availability()) == "expected a device, got a driver that has none"
    with pytest.raises(NoDeviceError, match="expected a device, got a driver that has none"):
        gpu.Device()


def test_no_pycuda(monkeypatch):
    monkeypatch.setattr(gpu.driver, "availability", gpu.libraries.availability.__wrapped__)
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
