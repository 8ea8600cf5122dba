"""A 32x32 f32 tile read by columns: padding, a swizzle, or a 32-way bank conflict.

Lane i reads row i of one column (NVlabs/cuda-oxide PR #544). A row stride of 33 maps the column to a diagonal of
banks, at the price of 31 words that no element uses. Sw<5,0,5> does the same in place. Fewer bits leave 4- and 8-way
conflicts. The degrees are the reporter's, each proved tight: at most d, not d/2.
"""

from checkers import Bijective, ConflictFree, InBounds, Injective
from symlayout import ComposedLayout, Layout, Swizzle, dim


def rows(stride):
    return Layout((32, 32), (stride, 1))  # (lane = row, column)


padded = [
    Injective(rows(33)),
    InBounds(rows(33), 32 * 33 - 1),
    ConflictFree(rows(33), element_bytes=4, width_bytes=4),
]
padding_leaves_holes = Bijective(rows(33), onto=32 * 32, expect="refuted")
allocation_one_short = InBounds(rows(33), 32 * 33 - 2, expect="refuted")

ld = dim("ld")
any_padding = Injective(rows(ld), given=ld >= 32)


def claim_row_strides() -> list[ConflictFree]:
    """32- and 64-word rows put a column into one bank, 16-word rows into two."""
    out = []
    for stride, degree in ((32, 32), (64, 32), (16, 16)):
        out.append(ConflictFree(rows(stride), 4, 4, degree=degree))
        out.append(ConflictFree(rows(stride), 4, 4, degree=degree // 2, expect="refuted"))
    return out


def claim_swizzles() -> list[ConflictFree]:
    """Each bit of the swizzle halves the conflict."""
    out = [ConflictFree(ComposedLayout(Swizzle(5, 0, 5), 0, rows(32)), 4, 4)]
    for bits, degree in ((3, 4), (2, 8)):
        access = ComposedLayout(Swizzle(bits, 0, 5), 0, rows(32))
        out.append(ConflictFree(access, 4, 4, degree=degree))
        out.append(ConflictFree(access, 4, 4, degree=degree // 2, expect="refuted"))
    return out
