"""Row-major, column-major and transposed views of one memory: which of them are one tensor, and which are not.

CK Tile's document on tensor views (docs/conceptual/ck_tile/tensor_views.rst) says that row_major(1,2), col_major(2,1)
and transposed(2,1) are equal. They are 6, 5 and 6: a view with strides (1, 3) over row-major memory is another matrix,
equal to the first in two places. The memory that its picture gives for the column-major view is that of a 4 x 3 matrix.
"""

import numpy as np

from checkers import Equal, Holds
from symlayout import dims, eq
from symlayout.address_map import AddressMap
from symlayout.ck_tile import (
    layout_of,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    memory_of,
    transpose_tensor_descriptor,
)

ROW_MAJOR = make_naive_tensor_descriptor_packed((3, 4))
COL_MAJOR = make_naive_tensor_descriptor((3, 4), (1, 3))
TRANSPOSED = make_naive_tensor_descriptor((4, 3), (1, 4))

row_is_transposed = Holds(eq(ROW_MAJOR((1, 2)), TRANSPOSED((2, 1))), "row_major(1,2) is transposed(2,1)")
row_is_col = Holds(eq(ROW_MAJOR((1, 2)), COL_MAJOR((2, 1))), "row_major(1,2) is col_major(2,1)", expect="refuted")

# The same for every element, and for all sizes.
M, N = dims("M N")
ROWS = make_naive_tensor_descriptor_packed((M, N))
COLUMNS = make_naive_tensor_descriptor((M, N), (1, M))
FLIPPED = make_naive_tensor_descriptor((N, M), (1, N))
transposed_is_the_transpose = Equal(FLIPPED, transpose_tensor_descriptor(ROWS))
by_pass_through_too = Equal(AddressMap.over(lambda i, j: FLIPPED((j, i)), (M, N)), ROWS)
col_major_is_not_row_major = Equal(COLUMNS, ROWS, expect="refuted")
unless_one_row = Equal(COLUMNS, ROWS, given=eq(M, 1))

# What memory reads as the matrix under the column-major view, and what the document gives for it.
MATRIX = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
GIVEN = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]


def main() -> None:
    """The matrices that the views read."""
    data = np.arange(12)
    views = {
        "row_major": make_naive_tensor_view_packed(data, (3, 4)),
        "col_major": make_naive_tensor_view(data, (3, 4), (1, 3)),
        "transposed": make_naive_tensor_view(data, (4, 3), (1, 4)),
    }
    for name, view in views.items():
        print(f"{name:10} {layout_of(view.descriptor)!s:12} {view.to_numpy().tolist()}")
    print(
        "row_major(1,2), col_major(2,1), transposed(2,1):",
        *(v(*c) for v, c in zip(views.values(), ((1, 2), (2, 1), (2, 1)), strict=True)),
    )
    print("memory of the matrix, column-major:", memory_of(MATRIX, COL_MAJOR))
    print(
        "the memory of the document reads as",
        make_naive_tensor_view(np.array(GIVEN), (3, 4), (1, 3)).to_numpy().tolist(),
    )


if __name__ == "__main__":
    main()
