"""``symlayout run``: arrays of files and random ones, sizes by their shapes, what it writes, and every exit status."""

import numpy as np
import pytest

from symlayout.cli import app
from tests.cli.test_verify import compiled, device, own, run  # noqa: F401  (fixtures)


@pytest.fixture
def array(tmp_path):
    def made(x, name="src"):
        np.save(tmp_path / f"{name}.npy", x)
        return f"{name}={tmp_path / f'{name}.npy'}"

    return made


def test_a_run_writes_what_the_kernel_wrote(device, tmp_path, array):  # noqa: F811
    src = np.arange(100, dtype=np.float32)
    result = run("run", "vector_copy", "--input", array(src), "-o", tmp_path)

    assert result.exit_code == 0, result.output
    assert (np.load(tmp_path / "dst.npy") == src).all()
    assert "dst: float32 100, begins 0.0, 1.0, 2.0, 3.0, .." in result.output


def test_random_numbers_are_of_the_seed(device, tmp_path):  # noqa: F811
    found = []
    for seed in (1, 1, 2):
        assert run("run", "vector_copy", "N=50", "--seed", seed, "-o", tmp_path).exit_code == 0
        found.append(np.load(tmp_path / "dst.npy").tobytes())

    assert found[0] == found[1] != found[2]


def test_what_was_not_proved_runs_on_request(device, own):  # noqa: F811
    refused, ran = (run("run", f"{own}:copy", "N=8", *more) for more in ((), ("--unproved",)))

    assert (refused.exit_code, ran.exit_code) == (0, 0)
    wrong = run("run", f"{own}:wrong", "N=8")
    assert wrong.exit_code == 1
    assert "--unproved runs it all the same" in wrong.output


@pytest.mark.parametrize(
    "given, message",
    [
        (["--input", "nope=1"], "expected NAME=FILE or NAME=NUMBER of src, dst, got 'nope=1'"),
        (["--input", "src"], "got 'src'"),
        (["--input", "src=/no/such/file.npy"], "expected a .npy file for src, got /no/such/file.npy"),
        (["--output", "/no/such/folder"], "expected a folder that exists for --output"),
        ([], "expected all sizes of vector_copy, or arrays that tell them, got none for N"),
        (["N=0"], "expected sizes that meet N >= 1"),
        (["Q=3"], "expected a size of vector_copy"),
    ],
)
def test_bad_input_is_named(device, given, message):  # noqa: F811
    result = run("run", "vector_copy", *given)

    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize(
    "x, message",
    [
        (np.zeros(8, np.float64), "expected float32 in"),
        (np.zeros((2, 4), np.float32), "expected 1 modes of src, N, got an array of 2 x 4"),
        (np.zeros(9, np.float32), "expected src of 8, got 9"),
    ],
)
def test_arrays_of_another_form_are_named(device, array, x, message):  # noqa: F811
    result = run("run", "vector_copy", "N=8", "--input", array(x))

    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_without_a_device_it_ends_with_4_after_the_proof(compiled):  # noqa: F811
    result = run("run", "vector_copy", "N=8")

    assert result.exit_code == 4
    assert "expected PyCUDA and a driver" in result.output or "expected a d" in result.output


def test_the_command_is_listed():
    assert "run" in {command.name for command in app.registered_commands}
