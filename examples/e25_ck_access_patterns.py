"""Sequential, strided and random accesses through a tensor view, by the sectors that a warp moves.

32 lanes of four bytes need 4 sectors of 32 bytes. Lanes along a row of a row-major tensor take 4, down a column 32, and
at random nearly 32; a column-major view of the same shape turns rows and columns round. Vectors of 16 bytes move four
times the data by as many requests.
"""

import random

from checkers import Coalesced
from symlayout import dims
from symlayout.address_map import AddressMap
from symlayout.banks import lines, sectors
from symlayout.ck_tile import make_naive_tensor_descriptor, make_naive_tensor_descriptor_packed

M, N = dims("M N", multiple_of=32)
ROW_MAJOR = make_naive_tensor_descriptor_packed((M, N))
COL_MAJOR = make_naive_tensor_descriptor((M, N), (1, M))


def along_rows(d):
    m, n = d.lengths
    return AddressMap.over(lambda lane, i, block: d((i, 32 * block + lane)), (32, m, n // 32))


def down_columns(d):
    m, n = d.lengths
    return AddressMap.over(lambda lane, j, block: d((32 * block + lane, j)), (32, n, m // 32))


sequential = Coalesced(along_rows(ROW_MAJOR), element_bytes=4, width_bytes=4, sectors=4)
columns_of_columns = Coalesced(down_columns(COL_MAJOR), element_bytes=4, width_bytes=4, sectors=4)

SQUARE = make_naive_tensor_descriptor_packed((64, 64))
strided = Coalesced(down_columns(SQUARE), element_bytes=4, width_bytes=4, sectors=32)
strided_is_no_better = Coalesced(down_columns(SQUARE), element_bytes=4, width_bytes=4, sectors=31, expect="refuted")


def main() -> None:
    """Sectors and lines of one access of a warp, for a 1024 x 1024 tensor of floats."""
    d = make_naive_tensor_descriptor_packed((1024, 1024))
    rng = random.Random(0)
    places = {
        "sequential": [(7, lane) for lane in range(32)],
        "stride 2": [(7, 2 * lane) for lane in range(32)],
        "stride 8": [(7, 8 * lane) for lane in range(32)],
        "column": [(lane, 7) for lane in range(32)],
        "random": [(rng.randrange(1024), rng.randrange(1024)) for _ in range(32)],
    }
    print(f"{'32 lanes of 4 bytes':22} sectors  lines  useful")
    for name, at in places.items():
        bytes_ = [4 * d(c) for c in at]
        found = sectors(bytes_, 4)
        print(f"{name:22} {found:7}  {lines(bytes_, 4):5}  {4 / found:6.0%}")
    wide = [4 * d((7, 4 * lane)) for lane in range(32)]
    found = sectors(wide, 16)
    print(f"{'32 lanes of 16 bytes':22} {found:7}  {lines(wide, 16):5}  {16 / found:6.0%}")


if __name__ == "__main__":
    main()
