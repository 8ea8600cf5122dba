"""What is refused before anything is sent to the driver: arguments, limits, and what proofs assume."""

from dataclasses import replace

import numpy as np
import pytest

import gpu
from gpu.errors import CubinError, LaunchError
from symlayout import TensorMap, TmaType, dim
from symlayout.errors import AssumptionError
from symlayout.kernels import vector_copy
from tests.support.launches import CUBIN, Interface

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


def test_a_tensor_that_no_operation_accesses_is_checked_and_has_no_parameter(machine, module):
    kernel = vector_copy(dim("N"))
    table = replace(kernel.tensor("dst"), name="table")
    bound = replace(kernel, tensors=(*kernel.tensors, table)).bind(N=16)
    src, dst, small = Interface(machine), Interface(machine), np.zeros(4, np.float32)
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))
    args, given = [gpu.Mapped(m, src), dst, 1, 1, 1.0], {"src": src, "dst": dst}

    with pytest.raises(AssumptionError, match=r"expected at least 64 bytes of .*table.*, got 16"):
        module.launch("rich", 2, 64, args, kernel=bound, tensors=given | {"table": small})
    assert "launch" not in machine.names()
    with pytest.raises(LaunchError, match="a launch of rich that is prepared, got ndarray"):
        module.prepare("rich", 2, 64, args, kernel=bound, tensors=given | {"table": small})

    module.launch("rich", 2, 64, args, kernel=bound, tensors=given | {"table": Interface(machine)})
    assert machine.names().count("launch") == 1


def test_a_tensor_that_is_too_small_is_refused(machine, module):
    bound, small, dst = vector_copy(dim("N")).bind(N=16), np.zeros(4, np.float32), Interface(machine)
    m = TensorMap(TmaType.FLOAT32, 0, (16,), (), (16,))

    with pytest.raises(AssumptionError, match=r"expected at least 64 bytes of .*src.*, got 16"):
        module.launch(
            "rich", 2, 64, [gpu.Mapped(m, dst), small, 1, 1, 1.0], kernel=bound, tensors={"src": small, "dst": dst}
        )
    assert "launch" not in machine.names()
    assert len(machine.memory) == 1  # that of dst
