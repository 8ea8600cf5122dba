"""A 64x64 bf16 tile under the 128-byte swizzle: still a bijection, and every ldmatrix phase is conflict-free.

The eight lanes that give the row addresses of one 8x8 matrix read 16 bytes each, 128 bytes apart: without
the swizzle all of them start in bank 0. Sw<3,3,3> (in elements; Sw<3,4,3> in bytes) spreads them, for each
of the eight 16-byte columns and each block of eight rows. Narrower rows need fewer bits; a narrower swizzle
on wide rows leaves exactly the conflicts that its missing bits would have removed.
The last claims are the row swizzle of tile-ai/tilelang #2883 (64 x 8192), where a prover gave up.
"""

from checkers import Bijective, ConflictFree, Equal, InBounds
from symlayout import ComposedLayout, Layout, Swizzle, dim
from symlayout.address_map import AddressMap

M = dim("M")
SW128, SW64, SW32 = Swizzle(3, 3, 3), Swizzle(2, 3, 3), Swizzle(1, 3, 3)


def swizzled(sw, shape, stride):
    return ComposedLayout(sw, 0, Layout(shape, stride))


tile = Bijective(swizzled(SW128, (64, 64), (64, 1)), onto=64 * 64)
any_number_of_atoms = Bijective(swizzled(SW128, ((8, M), 64), ((64, 512), 1)), onto=512 * M)
any_number_of_rows = InBounds(swizzled(SW128, (M, 64), (64, 1)), 64 * M)


def ldmatrix(sw, columns):
    """(row of a matrix, 16-byte column, block of rows) of a 64-row bf16 tile with that many columns."""
    access = Layout((8, columns, 8), (8 * columns, 8, 64 * columns))
    return ComposedLayout(sw, 0, access) if sw else access


ldmatrix_128 = ConflictFree(ldmatrix(SW128, 8), element_bytes=2, width_bytes=16)
ldmatrix_64 = ConflictFree(ldmatrix(SW64, 4), element_bytes=2, width_bytes=16)
ldmatrix_32 = ConflictFree(ldmatrix(SW32, 2), element_bytes=2, width_bytes=16)
ldmatrix_plain = ConflictFree(ldmatrix(None, 8), element_bytes=2, width_bytes=16, expect="refuted")
ldmatrix_64_on_wide_rows = ConflictFree(ldmatrix(SW64, 8), element_bytes=2, width_bytes=16, expect="refuted")
ldmatrix_64_on_wide_rows_is_2_way = ConflictFree(ldmatrix(SW64, 8), element_bytes=2, width_bytes=16, degree=2)

ROW_SWIZZLE = AddressMap.over(lambda i, j: 8192 * i + (j ^ (8 * (i % 8))), (64, 8192))
row_swizzle = Bijective(ROW_SWIZZLE, onto=64 * 8192)
row_swizzle_is_a_swizzle = Bijective(swizzled(Swizzle(3, 3, 10), (64, 8192), (8192, 1)), onto=64 * 8192)


def claim_row_swizzle_equals_sw_3_3_10() -> Equal:
    sw = Swizzle(3, 3, 10)
    return Equal(ROW_SWIZZLE, AddressMap.over(lambda i, j: sw(8192 * i + j), (64, 8192)))
