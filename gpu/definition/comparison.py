"""Memory compared on the device: how many elements differ, the first and the last of them. No array goes to the host.

>>> [line for line in TEXT.splitlines() if line.startswith("compare_4")]
['compare_4(const uint32_t* a, const uint32_t* b, const __grid_constant__ Walk walk, Unequal* found) {']
>>> with gpu.Device() as device:                                               # doctest: +SKIP
...     print(Comparison(device).units(a.address, b.address, 1 << 30))
Unequal(count=2, first=8192, last=8195)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from symlayout.errors import LayoutError
from symlayout.kernel import KernelTensor
from symlayout.strides import as_modes

from ..compiling import compile
from ..device import Device
from ..launch import load

RANK = 8
THREADS, CTAS_PER_SM = 256, 8
SIZES = (1, 2, 4, 8)  # bytes of an element

TEXT = f"""\
#include <cstdint>

// Coordinates, the last one fastest, and how many elements apart its neighbours are in memory.
struct Walk {{
    int64_t count, rank, extent[{RANK}], stride[{RANK}];
}};
struct Unequal {{
    unsigned long long count, first, last;
}};

template <class T>
__device__ inline void compare(const T* a, const T* b, const Walk& walk, Unequal* found) {{
    unsigned long long count = 0, first = 0, last = 0;
    const int64_t threads = int64_t(gridDim.x) * {THREADS};
    for (int64_t at = int64_t(blockIdx.x) * {THREADS} + threadIdx.x; at < walk.count; at += threads) {{
        int64_t left = at, place = 0;
#pragma unroll 1
        for (int i = walk.rank - 1; i > 0; --i) {{
            place += left % walk.extent[i] * walk.stride[i];
            left /= walk.extent[i];
        }}
        place += left * walk.stride[0];
        if (a[place] != b[place]) {{
            if (count++ == 0) first = at;
            last = at;
        }}
    }}
    if (count) {{
        atomicAdd(&found->count, count);
        atomicMin(&found->first, first);
        atomicMax(&found->last, last);
    }}
}}
""" + "".join(
    f"""
extern "C" __global__ void __launch_bounds__({THREADS})
compare_{n}(const uint{8 * n}_t* a, const uint{8 * n}_t* b, const __grid_constant__ Walk walk, Unequal* found) {{
    compare(a, b, walk, found);
}}
"""
    for n in SIZES
)


@dataclass(frozen=True)
class Unequal:
    """How many elements differ; the first and the last of them, counted along the coordinates."""

    count: int
    first: int
    last: int


NONE = Unequal(0, (1 << 64) - 1, 0)


class Comparison:
    """The machine code that compares, loaded on a device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        major, minor = device.facts.compute_capability
        self._module = load(compile(TEXT, f"sm_{major}{minor}", name="comparison.cu"), device)

    def units(self, a: int, b: int, nbytes: int, size: int = 1) -> Unequal:
        """Compare so many bytes at two addresses, *size* at a time."""
        return self._compare(a, b, size, (nbytes // size,), (1,))

    def elements(self, a: int, b: int, tensor: KernelTensor) -> Unequal:
        """Compare the elements of a bound tensor at two addresses, in the order of their coordinates, the last fastest.

        Raises LayoutError for a tensor of more than eight modes.
        """
        extents, strides = (tuple(map(int, as_modes(x))) for x in (tensor.layout.shape, tensor.layout.stride))
        if len(extents) > RANK:
            raise LayoutError(f"expected at most {RANK} modes of {tensor.name}, got {len(extents)}")
        return self._compare(a, b, tensor.dtype.bytes, extents, strides)

    def _compare(self, a: int, b: int, size: int, extents: Sequence[int], strides: Sequence[int]) -> Unequal:
        count, empty = int(np.prod(extents, dtype=object)), (0,) * (RANK - len(extents))
        walk = np.array([count, len(extents), *extents, *empty, *strides, *empty], np.int64)
        found = self._device.upload(np.array(astuple(NONE), np.uint64))
        try:
            grid = min(-(-count // THREADS), CTAS_PER_SM * self._device.facts.multiprocessors)
            args = [np.uint64(a), np.uint64(b), walk.tobytes(), found]
            self._module.launch(f"compare_{size}", grid, THREADS, args).wait()
            return Unequal(*map(int, found.download("u64")))
        finally:
            found.free()
