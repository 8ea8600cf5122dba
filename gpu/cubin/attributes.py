"""The attributes of ``.nv.info`` sections: what a compiler tells the driver about a kernel.

Each is a format, a kind, and a value whose length follows from the format. Kinds are those that nvdisasm names for
cubins of CUDA 13.0; the others are left alone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """EIATTR_* of nvdisasm."""

    MAX_THREADS = 0x05  # of __launch_bounds__: x, y, z
    PARAM_CBANK = 0x0A  # symbol, offset in the constant bank, size
    REQNTID = 0x10  # of __block_size__ and .reqntid: x, y, z
    FRAME_SIZE = 0x11  # symbol, bytes
    MIN_STACK_SIZE = 0x12  # symbol, bytes of the frames of all that it calls
    KPARAM_INFO = 0x17
    MAXREG_COUNT = 0x1B
    REGCOUNT = 0x2F  # symbol, registers
    NUM_MBARRIERS = 0x38
    CTA_PER_CLUSTER = 0x3D  # of __cluster_dims__: x, y, z
    NUM_BARRIERS = 0x4C


class Attribute(NamedTuple):
    kind: int
    value: bytes

    def words(self) -> tuple[int, ...]:
        """The value as numbers of 32 bits."""
        return struct.unpack_from(f"<{len(self.value) // 4}I", self.value)


LONG = 4  # the one format with a length; the others carry two bytes


def attributes(info: bytes) -> Iterator[Attribute]:
    """The attributes of a section, in order."""
    at = 0
    while at + 4 <= len(info):
        layout, kind, short = struct.unpack_from("<BBH", info, at)
        at += 4
        if layout == LONG:
            yield Attribute(kind, info[at : at + short])
            at += short
        else:
            yield Attribute(kind, struct.pack("<I", short))


class Parameter(NamedTuple):
    """The place of a kernel's parameter in the buffer of arguments, in bytes."""

    offset: int
    size: int


def parameters(found: list[Attribute]) -> tuple[Parameter, ...]:
    """The parameters of a kernel in order, from EIATTR_KPARAM_INFO.

    The driver has the same table (cuFuncGetParamInfo). It does not follow from C rules: the compiler aligns a tensor
    map to 128 bytes in the constant bank, not in the buffer.
    """
    rows = {}
    for attribute in found:
        if attribute.kind == Kind.KPARAM_INFO:
            ordinal, offset, packed = struct.unpack_from("<HHI", attribute.value, 4)
            rows[ordinal] = Parameter(offset, packed >> 18)
    return tuple(rows[i] for i in sorted(rows))
