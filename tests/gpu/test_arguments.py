"""Arguments go where the cubin says, each with the bytes of its parameter."""

import struct

import numpy as np
import pytest

from gpu.arguments import packed, pointer, scalar
from gpu.cubin import Parameter
from gpu.errors import LaunchError


def test_values_lie_at_the_offsets_of_the_cubin():
    # Two maps and two integers, placed as nvcc 13.0 places them: C rules would start at 0.
    table = [Parameter(0x70, 128), Parameter(0xF0, 128), Parameter(0x170, 4), Parameter(0x174, 4)]

    buffer = packed([b"s" * 128, b"t" * 128, scalar(7, 4, "n"), scalar(-1, 4, "m")], table)

    assert buffer == bytes(0x70) + b"s" * 128 + b"t" * 128 + struct.pack("<ii", 7, -1)


def test_no_arguments():
    assert packed([], []) == b""


@pytest.mark.parametrize(
    "values, says",
    [
        ([b"\0" * 4], "expected 2 arguments, one for each parameter of the kernel, got 1"),
        ([b"\0" * 4, b"\0" * 8], "argument 1: expected 4 bytes, as the kernel's parameter has, got 8"),
    ],
)
def test_what_does_not_fit(values, says):
    with pytest.raises(LaunchError, match=says):
        packed(values, [Parameter(0, 4), Parameter(8, 4)])


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_integers_of_either_sign(size):
    low, high = -(1 << 8 * size - 1), (1 << 8 * size) - 1

    for value in (low, -1, 0, 1, high):
        assert int.from_bytes(scalar(value, size, "x"), "little") == value % (1 << 8 * size)
    for value in (low - 1, high + 1):
        with pytest.raises(
            LaunchError, match=rf"x: expected an integer of {size} bytes, {low} \.\. {high}, got {value}"
        ):
            scalar(value, size, "x")


@pytest.mark.parametrize("value, size, code", [(0.1, 4, "<f"), (0.1, 8, "<d"), (0.1, 2, "<e"), (float("inf"), 4, "<f")])
def test_floats(value, size, code):
    assert scalar(value, size, "x") == struct.pack(code, value)


def test_floats_that_do_not_fit():
    with pytest.raises(LaunchError, match=r"x: expected a float of 4 bytes, got 1e\+300"):
        scalar(1e300, 4, "x")


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(-3), np.bool_(True), b"\1\2\3\4"])
def test_what_has_a_size_keeps_its_bytes(value):
    data = value if isinstance(value, bytes) else value.tobytes()

    assert scalar(value, len(data), "x") == data


def test_booleans_are_integers():
    assert (scalar(True, 1, "x"), scalar(False, 4, "x")) == (b"\1", b"\0\0\0\0")


def test_pointers():
    assert pointer(1 << 47, 8, "x") == struct.pack("<Q", 1 << 47)
    with pytest.raises(LaunchError, match="x: expected a value of 4 bytes, got an array, whose pointer takes 8"):
        pointer(0, 4, "x")
