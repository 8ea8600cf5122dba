"""Kernels and arrays with which launches are tested."""

import struct
from pathlib import Path

import numpy as np

from gpu.cubin import Cubin

CUBIN = Cubin((Path(__file__).parents[1] / "gpu" / "data" / "kernels.cubin").read_bytes())


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
