"""What runs where it was proved and is refused elsewhere, launches that are prepared, and measurements: on the stand-in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpu
from checkers import prove
from gpu import measuring, running
from gpu.conditions import Conditions, conditions
from gpu.cubin import Cubin
from gpu.errors import DeviceError, LaunchError, NotProvedError, RunError
from gpu.running import Generated
from symlayout import SM90, dim, dims
from symlayout.arch import SM80
from symlayout.errors import CertificateError, LayoutError
from symlayout.kernels import axpby, gemm, tma_reduce_add, tma_transpose, vector_copy
from tests.support import cuda_stand_in as stand_in

DATA = Path(__file__).parent / "data"
KERNEL = vector_copy(dim("N"))
CERTIFICATE = prove(KERNEL, arch=SM90).certificate
SRC = np.arange(100, dtype=np.float32)


@pytest.fixture
def machine(monkeypatch):
    """A stand-in on which vector_copy copies; its machine code is that of the generated text."""
    machine = stand_in.install(monkeypatch)
    machine.kernels["vector_copy"] = copies
    monkeypatch.setattr(running, "compile", lambda *_, **__: Cubin((DATA / "vector_copy.cubin").read_bytes()))
    monkeypatch.setattr(measuring, "compile", lambda *_, **__: Cubin((DATA / "sweep.cubin").read_bytes()))
    return machine


@pytest.fixture
def device(machine):
    with gpu.Device(limit_s=0.3) as device:
        yield device


def copies(machine, pieces):
    source, to = (int.from_bytes(p, "little") for p in pieces[:2])
    nbytes = 4 * int.from_bytes(pieces[2], "little")
    machine.bytes_at(to, nbytes)[:] = bytes(machine.bytes_at(source, nbytes))


# -- run -----------------------------------------------------------------------------------------------------


def test_what_was_proved_runs(device):
    found = gpu.run(KERNEL.bind(N=100), CERTIFICATE, {"src": SRC})

    assert (found["dst"] == SRC).all()


@pytest.mark.parametrize(
    "bound, certificate, reason",
    [
        (vector_copy(dim("N"), threads=64).bind(N=100), CERTIFICATE, "another kernel was proved: expected vector_copy"),
        (KERNEL.assuming(dim("N") >= 8).bind(N=100), CERTIFICATE, "of its assumptions N >= 8 is one more"),
        (KERNEL.bind(N=100), prove(KERNEL, arch=SM80).certificate, "proved on sm_80, not on sm_90a"),
        (replace(KERNEL.bind(N=100), sizes=(("N", 101),)), CERTIFICATE, "was changed after it was bound"),
        (replace(KERNEL.bind(N=100), sizes=(("N", 0),)), CERTIFICATE, "sizes are not among those that were proved"),
        (KERNEL.bind(N=100).edited(lambda op: []), CERTIFICATE, "was changed after it was bound"),
        (KERNEL.bind(N=100), replace(CERTIFICATE, arch="sm_80"), "the certificate was changed since it was made"),
    ],
)
def test_what_was_not_proved_is_refused_and_nothing_is_sent(machine, device, bound, certificate, reason):
    machine.calls.clear()

    with pytest.raises(NotProvedError, match=reason):
        gpu.run(bound, certificate, {"src": SRC})

    assert machine.calls == []


def test_a_kernel_without_sizes_is_refused(device):
    with pytest.raises(CertificateError, match="expected a kernel with sizes"):
        gpu.run(KERNEL, CERTIFICATE, {"src": SRC})


def test_what_was_not_proved_runs_by_another_name(device):
    changed = KERNEL.assuming(dim("N") >= 8).bind(N=100)

    assert (gpu.run_unproved(changed, {"src": SRC})["dst"] == SRC).all()


def test_a_run_that_writes_past_a_tensor_is_an_error(machine, device):
    def too_far(machine, pieces):
        copies(machine, pieces)
        machine.bytes_at(int.from_bytes(pieces[1], "little") + 400, 4)[:] = b"...."

    machine.kernels["vector_copy"] = too_far

    with pytest.raises(RunError, match="dst's surroundings untouched, got 4 bytes written behind it, the nearest 1"):
        gpu.run(KERNEL.bind(N=100), CERTIFICATE, {"src": SRC})


# -- prepared launches -----------------------------------------------------------------------------------------


def test_a_prepared_launch_is_one_call_of_the_driver(machine, device):
    arrays = {"src": device.upload(SRC), "dst": device.allocate(400)}
    prepared = Generated(KERNEL).prepare(KERNEL.bind(N=100), arrays)
    machine.calls.clear()

    prepared.send()
    prepared.send()

    assert machine.names() == ["launch", "launch"]
    assert (arrays["dst"].download("f32") == SRC).all()


def test_a_prepared_launch_keeps_its_arrays_and_can_be_waited_for(machine, device):
    prepared = Generated(KERNEL).prepare(KERNEL.bind(N=100), {"src": device.upload(SRC), "dst": device.allocate(400)})

    prepared.launch().wait()

    assert machine.names().count("launch") == 1


def test_arrays_of_numpy_cannot_be_prepared(machine, device):
    arrays = {"src": SRC, "dst": np.empty_like(SRC)}

    with pytest.raises(LaunchError, match=r"arrays on the device for a launch of vector_copy .* got ndarray; device"):
        Generated(KERNEL).prepare(KERNEL.bind(N=100), arrays)

    Generated(KERNEL).launch(KERNEL.bind(N=100), arrays).wait()
    assert (arrays["dst"] == SRC).all()


# -- measurements ------------------------------------------------------------------------------------------------


def measured(device, **more):
    arrays = {"src": device.upload(SRC), "dst": device.allocate(400)}
    return gpu.measure(KERNEL.bind(N=100), arrays, rounds=3, **more)


def test_a_measurement_has_a_sample_of_each_round(machine, device):
    called = []
    found = measured(device, peers={"mine": lambda: called.append(1)})

    assert [len(x.samples) for t in (found.timed, *found.peers) for x in (t.warm, t.cold)] == [3] * 4
    assert found.timed.cold.samples == (0.5e-3,) * 3  # half a millisecond from event to event
    assert found.bytes_per_s(cold=True) == pytest.approx(800 / 0.5e-3)
    assert found.of_peer("mine", cold=True) == 1
    assert found.copy_bytes == 2 << 20
    few, launches = measuring.FEW, round(2e-3 / (0.5e-3 / measuring.FEW))
    assert found.copy.warm.median == pytest.approx(0.5e-3 / launches)
    assert found.copy.cold.median == pytest.approx(0.5e-3)
    assert found.of_copy(cold=True) == pytest.approx(800 / (4 << 20))
    assert len(called) == 2 + 2 * few + 1 + 3 * (1 + launches + 1)  # warm ones are behind one more
    assert "vector_copy(N = 100) on Stand-in H200: 0.0 MB moved" in str(found)
    assert "  L2 cold" in str(found)
    assert found.digest == KERNEL.digest


def test_a_cold_launch_comes_behind_a_sweep_within_the_events(machine, device):
    machine.calls.clear()
    measured(device)

    launches = [call[1] if call[0] == "launch" else call[0] for call in machine.calls]
    at = launches.index("sweep")
    assert launches[at : at + 5] == ["sweep", "hold", "Event.record", "vector_copy", "Event.record"]
    assert "memcpy_dtod" in launches


def test_warm_launches_come_behind_one_of_the_same_outside_the_events(machine, device):
    """A sample of a long kernel has one launch, which would find in L2 what the copy of the device left there."""
    machine.calls.clear()
    samples = measured(device).timed.warm.samples

    names = [call[1] if call[0] == "launch" else call[0] for call in machine.calls]
    warm = [
        i for i, name in enumerate(names) if name == "Event.record" and names[i + 1] == names[i - 1] == "vector_copy"
    ]
    assert len(warm) >= len(samples) == 3


def test_the_device_is_held_until_the_host_has_sent_all(machine, device):
    machine.calls.clear()
    measured(device)

    sent = [call[1] if call[0] == "launch" else call[0] for call in machine.calls]
    at = next(i for i, name in enumerate(sent) if name == "hold")
    name = sent[at + 1]
    assert name in ("vector_copy", "memcpy_dtod")
    assert sent[at + 1 : at + 4 + measuring.FEW] == [name, "Event.record", *measuring.FEW * [name], "Event.record"]


def test_a_measurement_gives_back_what_it_took(machine, device):
    arrays = {"src": device.upload(SRC), "dst": device.allocate(400)}
    before = set(machine.memory)

    gpu.measure(KERNEL.bind(N=100), arrays, rounds=1)

    assert set(machine.memory) == before


def test_wrong_questions_about_a_measurement(device):
    with pytest.raises(LayoutError, match="expected at least 1 round, got 0"):
        gpu.measure(KERNEL.bind(N=100), {}, rounds=0)
    with pytest.raises(LayoutError, match="expected a peer of none, got 'torch'"):
        measured(device).of_peer("torch")


def test_a_measurement_of_a_kernel_that_hangs_ends(machine, device):
    machine.busy = 10**9

    with pytest.raises(DeviceError, match="to end within"):
        measured(device)


@pytest.mark.parametrize(
    "kernel, sizes, moved, flops",
    [
        (KERNEL, {"N": 100}, 800, 0),
        (axpby(dim("N")), {"N": 100}, 1200, 0),
        (tma_transpose(*dims("M N")), {"M": 64, "N": 128}, 2 * 2 * 64 * 128, 0),
        (tma_reduce_add(*dims("S M N")), {"S": 3, "M": 8, "N": 16}, 4 * (3 + 2) * 8 * 16, 0),
        (gemm(*dims("M N K")), {"M": 8, "N": 16, "K": 24}, 2 * (8 * 24 + 16 * 24 + 8 * 16), 2 * 8 * 16 * 24),
    ],
)
def test_bytes_and_operations_of_a_launch(kernel, sizes, moved, flops):
    bound = kernel.bind(**sizes)

    assert (measuring.least_moved(bound), measuring.products(bound)) == (moved, flops)


def test_conditions_are_unknown_where_nobody_tells(monkeypatch, device, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert conditions(device) == Conditions()

    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho '1980, 3201, [N/A], 45'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert str(conditions(device)) == "SM 1980 MHz, memory 3201 MHz, 45 C"
