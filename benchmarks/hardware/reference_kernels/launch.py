"""The kernels on a device: tensor maps, argument buffers, launches. Loads CUDA when the first function is called.

PyCUDA owns the context (the primary one, which torch shares) and launches the copy; the matrix product needs a
cluster and goes through cuLaunchKernelEx. Both pass one argument buffer, packed at the offsets of the cubin's
parameter table.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from gpu.arguments import packed

from .build import Kernel

Launch = Callable[[], None]


class Matrix(NamedTuple):
    """Rows of elements in device memory; ``pitch`` is the distance of rows in bytes."""

    address: int
    rows: int
    columns: int
    pitch: int


def integers(*values: int) -> list[bytes]:
    """The bytes of arguments of type int."""
    return [struct.pack("<i", value) for value in values]


def check(result: tuple[Any, ...]) -> Any:
    """The value of a driver call; raises RuntimeError with the driver's name for its error."""
    code, *values = result
    if code.value:
        raise RuntimeError(f"the driver answers {code.name}")
    return values[0] if values else None


def tensor_map(dtype: str, matrix: Matrix, box: tuple[int, int], *, swizzle: str, promotion: str) -> bytes:
    """The 128 bytes of a 2-D tensor map whose box has *box* = (rows, columns).

    The names are the ends of the driver's: dtype ``"BFLOAT16"``, swizzle ``"128B"``, promotion ``"L2_256B"``.
    Raises RuntimeError where the driver refuses.
    """
    from cuda.bindings import driver

    integer, count = driver.cuuint64_t, driver.cuuint32_t
    made = check(
        driver.cuTensorMapEncodeTiled(
            getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{dtype}"),
            2,
            matrix.address,
            [integer(matrix.columns), integer(matrix.rows)],
            [integer(matrix.pitch)],
            [count(box[1]), count(box[0])],
            [count(1), count(1)],
            driver.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
            getattr(driver.CUtensorMapL2promotion, f"CU_TENSOR_MAP_L2_PROMOTION_{promotion}"),
            driver.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    )
    return ctypes.string_at(made.getPtr(), 128)


def multiprocessors() -> int:
    """The number of multiprocessors of the current device."""
    import pycuda.driver as cuda

    return int(cuda.Context.get_device().multiprocessor_count)


class RingCopy:
    """``tma_ring_copy`` on the current device.

    >>> launch = RingCopy(kernel).of(target, source)     # doctest: +SKIP
    >>> launch()                                         # doctest: +SKIP

    One launch at a time: all of an object share its counters of tiles.
    """

    BOX, ELEMENT_BYTES = (16, 256), 4
    STAGES, BLOCKS_PER_SM = 7, 1

    def __init__(self, kernel: Kernel) -> None:
        import pycuda.driver as cuda

        self.kernel = kernel
        self.module = cuda.module_from_file(str(kernel.cubin))
        self.function = self.module.get_function(kernel.name)
        rows, columns = self.BOX
        self.shared = self.STAGES * (rows * columns * self.ELEMENT_BYTES + 8 + 4)
        self.function.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, self.shared)
        self.taken = cuda.mem_alloc(8)
        cuda.memset_d32(self.taken, 0, 2)

    def of(self, target: Matrix, source: Matrix) -> Launch:
        """A launch that copies *source* to *target*, matrices of 32-bit elements and the same shape."""
        import numpy as np

        rows, columns = self.BOX
        tiles_x = -(-source.columns // columns)
        tiles = tiles_x * -(-source.rows // rows)
        maps = [tensor_map("UINT32", m, self.BOX, swizzle="NONE", promotion="L2_128B") for m in (source, target)]
        values = [*maps, *integers(tiles_x, tiles), struct.pack("<Q", int(self.taken))]
        arguments = np.void(packed(values, self.kernel.parameters))
        grid = (min(self.BLOCKS_PER_SM * multiprocessors(), tiles), 1)
        return lambda: self.function(arguments, block=(32, 1, 1), grid=grid, shared=self.shared)


class Gemm:
    """``wgmma_gemm`` on the current device.

    >>> launch = Gemm(kernel).of(c, a, b)                # doctest: +SKIP
    >>> launch()                                         # doctest: +SKIP
    """

    TILE, CLUSTER, THREADS = (128, 256, 64), 2, 384
    STAGES, STORE = 4, (16, 64)

    def __init__(self, kernel: Kernel) -> None:
        from cuda.bindings import driver

        self.kernel = kernel
        self.module = check(driver.cuModuleLoadData(kernel.cubin.read_bytes()))
        self.function = check(driver.cuModuleGetFunction(self.module, kernel.name.encode()))
        for i, parameter in enumerate(kernel.parameters):
            code, *placed = driver.cuFuncGetParamInfo(self.function, i)
            if code.value or parameter != tuple(placed):
                raise RuntimeError(f"parameter {i}: the cubin says {parameter}, the driver {code.name} {placed}")
        m, n, k = self.TILE
        rows, columns = self.STORE
        self.shared = self.STAGES * ((m + n) * k * 2 + 16) + 8 * 2 * rows * columns * 2
        most = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        check(driver.cuFuncSetAttribute(self.function, most, self.shared))
        self.clusters = check(driver.cuOccupancyMaxActiveClusters(self.function, self._configuration(self.CLUSTER)))

    def _configuration(self, blocks: int) -> Any:
        from cuda.bindings import driver

        cluster = driver.CUlaunchAttribute()
        cluster.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
        cluster.value.clusterDim.x, cluster.value.clusterDim.y, cluster.value.clusterDim.z = self.CLUSTER, 1, 1
        configuration = driver.CUlaunchConfig()
        configuration.gridDimX, configuration.gridDimY, configuration.gridDimZ = blocks, 1, 1
        configuration.blockDimX, configuration.blockDimY, configuration.blockDimZ = self.THREADS, 1, 1
        configuration.sharedMemBytes = self.shared
        configuration.hStream = driver.CUstream(0)
        configuration.attrs, configuration.numAttrs = [cluster], 1
        return configuration

    def of(self, c: Matrix, a: Matrix, b: Matrix) -> Launch:
        """A launch of C = A B^T in bf16: A is (M, K), B is (N, K), C is (M, N)."""
        from cuda.bindings import driver

        m, n, k = self.TILE
        boxes = ((a, (m, k)), (b, (n // self.CLUSTER, k)), (c, self.STORE))
        maps = [tensor_map("BFLOAT16", x, box, swizzle="128B", promotion="L2_256B") for x, box in boxes]
        arguments = packed([*maps, *integers(a.rows, b.rows, a.columns)], self.kernel.parameters)
        buffer = ctypes.create_string_buffer(arguments, len(arguments))
        start = ctypes.addressof(buffer)
        pointers = (ctypes.c_void_p * len(self.kernel.parameters))(*(start + p.offset for p in self.kernel.parameters))
        tiles = -(-a.rows // (m * self.CLUSTER)) * -(-b.rows // n)
        configuration = self._configuration(self.CLUSTER * min(self.clusters, tiles))

        def launch(keep: Any = buffer) -> None:
            check(driver.cuLaunchKernelEx(configuration, self.function, ctypes.addressof(pointers), 0))

        return launch
