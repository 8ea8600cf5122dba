"""The check of launches compiles, and its ways send what they say, against the recording stand-in."""

import struct

import numpy as np
import pytest

import gpu
from benchmarks.hardware import launch_check
from gpu.compiling.toolchains import INSTALL, Nvcc, Nvrtc
from gpu.cubin import sass
from gpu.errors import CubinError, DeviceError
from tests.support import cuda_stand_in as stand_in

pytestmark = pytest.mark.skipif(
    Nvcc.found() is None and Nvrtc.found() is None, reason=f"neither NVRTC nor nvcc here; {INSTALL}"
)


def all_kinds(machine, pieces):
    """What the kernel does, with the address that the stand-in writes into its tensor maps."""
    src, dst = (struct.unpack("<Q", pieces[i])[0] for i in (0, 2))
    a = int(pieces[1].rstrip(b".").split()[1], 16)
    n, wide, scale, byte = (struct.unpack(f"<{code}", p)[0] for code, p in zip("iqfB", pieces[3:], strict=True))
    src, a, dst = (machine.array_at(x, 4 * 64 * 64, np.float32) for x in (src, a, dst))
    np.frombuffer(dst.base, np.float32)[:] = a * scale + src + n + wide % 1000 + byte


def neighbours(machine, pieces):
    [launch] = [c for c in machine.calls if c[0] == "cuLaunchKernelEx"]
    grid, cluster = launch[2][0], launch[4][0]
    out = machine.bytes_at(*struct.unpack("<Q", pieces[0]), 8 * grid)
    out[:] = launch_check.of_neighbours(cluster).tobytes()


def much_shared(machine, pieces):
    machine.bytes_at(*struct.unpack("<Q", pieces[0]), 512)[:] = np.arange(128, dtype=np.int32).tobytes()


@pytest.fixture(autouse=True)
def _cubins_of_this_run(monkeypatch, tmp_path):
    monkeypatch.setenv("SYMLAYOUT_CUBINS", str(tmp_path))


@pytest.fixture
def machine(monkeypatch):
    machine = stand_in.install(monkeypatch)
    machine.kernels = {"all_kinds": all_kinds, "neighbours": neighbours, "much_shared": much_shared}
    return machine


@pytest.mark.parametrize("name", ["numpy", "buffers", "own_stream", "cluster_of_2", "cluster_of_16", "much_shared"])
def test_ways_that_need_no_other_library(machine, name):
    assert launch_check.run(name) == ""
    assert machine.memory == {}


@pytest.mark.parametrize("name", ["numpy", "buffers", "own_stream", "cluster_of_2", "cluster_of_16", "much_shared"])
def test_a_kernel_that_does_nothing_is_noticed(machine, name):
    machine.kernels.clear()
    with pytest.raises(ValueError, match="elements differ, the first at"):
        launch_check.run(name)


def test_the_ways_that_end_badly_are_ways(machine):
    assert set(launch_check.ENDS) < set(launch_check.WAYS)
    machine.failing["Event.query"] = 0
    with pytest.raises(DeviceError):
        launch_check.run("fault")


def test_the_kernels_use_what_they_are_there_for():
    kernels = launch_check.cubin()

    assert [p.size for p in kernels.kernel("all_kinds").parameters] == [8, 128, 8, 4, 8, 4, 1]
    assert kernels.kernel("all_kinds").parameters[1].offset == 0x70  # a map that is not the first moves what follows
    try:
        sass.disassembler()
    except CubinError as e:
        pytest.skip(str(e))
    assert kernels.instructions("all_kinds").count("UTMALDG.2D") == 1
    assert kernels.instructions("neighbours").count("UCGABAR_ARV") == 2


def test_no_device(monkeypatch, capsys):
    if gpu.availability().ok:
        pytest.skip("a device is here")
    monkeypatch.setattr("sys.argv", ["launch_check"])

    assert launch_check.main() == 4
    assert "NoDeviceError: expected PyCUDA and a driver" in capsys.readouterr().out
