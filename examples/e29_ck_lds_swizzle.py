"""A kernel that passes a tile through LDS by an xor descriptor: stored as it is loaded, read as fragments.

Tiles of 128 x 64 in bf16, of any M and K. The xor is that of CK's universal GEMM policy, in lines of 128 bytes; both
windows look at row and column alone. Stores and reads are free of bank conflicts by the phases of CDNA, in order by one
barrier, and the kernel computes b = a. Without the barrier, and where the reader's descriptor is not the writer's, it
is refuted.
"""

from checkers import Bijective, Computes, GuaranteedVectorLength, HappensBefore, LdsConflictDegree, claims_of
from symlayout import ceil_div, dim
from symlayout.address_map import AddressMap
from symlayout.banks import CDNA_READ_B128, Access
from symlayout.ck_tile import (
    TensorView,
    kernel_view,
    load_tile,
    make_buffer_view,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_pass_through_transform,
    make_static_tile_distribution,
    make_tile_window,
    make_xor_transform,
    pad_tensor_view,
    store_tile,
    tile_distribution_encoding,
    transform_tensor_descriptor,
)
from symlayout.kernel import Builder
from symlayout.ops import Barrier
from symlayout.results import element

TILE = (128, 64)
M, K = dim("M"), dim("K", at_most=64 * 65535)

# 256 threads: eight lanes to a row of 64, and fragments of 32 x 16 whose lanes are rows
DRAM = make_static_tile_distribution(
    tile_distribution_encoding((1,), ((4, 4, 8), (8, 8)), ((1,), (1, 2)), ((1,), (2, 0)), (1, 2), (0, 1))
)
FRAGMENTS = make_static_tile_distribution(
    tile_distribution_encoding((), ((4, 32), (4, 2, 8)), ((1,), (2, 1)), ((0,), (1, 1)), (2, 2), (0, 2))
)


def rows_of_chunks(swizzled=True):
    """128 rows of 8 chunks of 8 elements, a line of 128 bytes; the number of a chunk is xored with that of its row."""
    keep = make_pass_through_transform
    d = make_naive_tensor_descriptor((128, 8, 8), (64, 8, 1), 8, 1)
    if swizzled:
        d = transform_tensor_descriptor(d, (make_xor_transform((128, 8)), keep(8)), ((0, 1), (2,)), ((0, 1), (2,)))
    return transform_tensor_descriptor(d, (keep(128), make_merge_transform((8, 8))), ((0,), (1, 2)), ((0,), (1,)))


SWIZZLED, PLAIN = rows_of_chunks(), rows_of_chunks(swizzled=False)


def build(reader):
    """The kernel; *reader* is the descriptor by which LDS is read."""
    k = Builder("through_lds", M, K, grid=(ceil_div(M, 128), ceil_div(K, 64)), threads=256)
    view = pad_tensor_view(make_naive_tensor_view(None, (M, K), (K, 1), 8, 1, dtype="bf16"), TILE, (True, True))
    a, b = kernel_view(k, "a", view), kernel_view(k, "b", view)
    s = kernel_view(k, "s", TensorView(make_buffer_view(None, 128 * 64, space="lds", dtype="bf16"), SWIZZLED))
    at = 128 * k.block[0], 64 * k.block[1]
    store_tile(make_tile_window(s, TILE, (0, 0), DRAM), load_tile(make_tile_window(a, TILE, at, DRAM)))
    k.sync()
    read = s.through(TensorView(s.view.buffer, reader))
    store_tile(make_tile_window(b, TILE, at, FRAGMENTS), load_tile(make_tile_window(read, TILE, (0, 0), FRAGMENTS)))
    k.result("b", lambda m, n: element("a", m, n))
    return k.kernel(K.multiple_of(8), reference=lambda a: {"b": a.copy()})


KERNEL = build(SWIZZLED)
copy_is_right = claims_of(KERNEL)
every_place_once = Bijective(SWIZZLED, onto=128 * 64)
vectors = GuaranteedVectorLength(SWIZZLED, 8, -1, 1)


def degree(distribution, access, descriptor, **options):
    """The conflicts of one wave's accesses, in each of its steps."""
    steps = distribution.encoding.y_lengths[0]
    of_wave = AddressMap.over(lambda lane, y: descriptor(distribution.partition((0, lane), (y, 0))), (64, steps))
    return LdsConflictDegree(of_wave, 2, access, **options)


READ = Access(16, lanes=64, groups=CDNA_READ_B128)  # ds_read_b128 of a wave of 64
WRITE = Access(16, lanes=64)  # ds_write_b128: phases of 8 lanes in a row
reads_are_free = degree(FRAGMENTS, READ, SWIZZLED)
stores_are_free = degree(DRAM, WRITE, SWIZZLED)
reads_of_plain_rows = degree(FRAGMENTS, READ, PLAIN, expect="refuted")

UNORDERED = KERNEL.edited(lambda op: () if isinstance(op, Barrier) else (op,))
without_a_barrier = HappensBefore(UNORDERED, expect="refuted")
read_by_another_descriptor = Computes(build(PLAIN), "b", expect="refuted")


def main() -> None:
    """The accesses of LDS, and what the untimed run leaves."""
    import ml_dtypes
    import numpy as np

    from symlayout.semantics import expect_reference

    print(*(line.strip() for line in KERNEL.text().splitlines() if "shared.16" in line), sep="\n")
    a = np.arange(150 * 72, dtype=np.float32).reshape(150, 72).astype(ml_dtypes.bfloat16)
    expect_reference(KERNEL.bind(M=150, K=72), {"a": a}, order="lazy")
    print("150 x 72 in 2 x 2 tiles: equal")


if __name__ == "__main__":
    main()
