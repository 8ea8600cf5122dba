"""ldmatrix and stmatrix: a warp moves 8x8 matrices of 16-bit elements between rows of shared memory and registers.

>>> from symlayout.atoms import atom
>>> print(atom("ldmatrix.x4"), atom("ldmatrix.x4").dst_tv, sep="; ")
ldmatrix.x4: shared -> register, by 32 threads; (32,(2,4)):(2,(1,64))

Lane 8*j + i gives the address of row i of matrix j; the lanes behind those of the last matrix give none. Positions
count elements along these rows: 8 a row, 64 a matrix.
"""

from __future__ import annotations

from ..layout import Layout
from .access import Issuer
from .atom import HOPPER, REGISTER, SHARED, MatrixCopy

ROW_BYTES = 16  # of a row, and what its address is a multiple of
COUNTS = (1, 2, 4)

# The lanes of a row address; those behind have stride 0, their addresses are ignored (CUTLASS, copy_traits_sm75.hpp).
ROWS_TV = {
    1: Layout(((8, 4), 8), ((8, 0), 1)),
    2: Layout(((16, 2), 8), ((8, 0), 1)),
    4: Layout((32, 8), (8, 1)),
}
# Lane 4*i + j holds elements 2j and 2j + 1 of row i of each matrix.
PLAIN_TV = {1: Layout((32, 2), (2, 1)), **{n: Layout((32, (2, n)), (2, (1, 64))) for n in (2, 4)}}
# The same of the transposed matrix: elements 2j and 2j + 1 of column i.
TRANSPOSED_TV = {
    1: Layout(((4, 8), (1, 2)), ((16, 1), (1, 8))),
    **{n: Layout(((4, 8), (1, 2, n)), ((16, 1), (1, 8, 64))) for n in (2, 4)},
}


def _row(n: int, trans: bool, store: bool) -> MatrixCopy:
    name = "stmatrix" if store else "ldmatrix"
    held = (TRANSPOSED_TV if trans else PLAIN_TV)[n]
    return MatrixCopy(
        word=f"{name}.x{n}{'.trans' if trans else ''}",
        src=REGISTER if store else SHARED,
        dst=SHARED if store else REGISTER,
        issuer=Issuer.WARP,
        source=f"PTX ISA, {name}",
        align_bytes=ROW_BYTES,
        since=HOPPER if store else (8, 0),
        src_tv=held if store else ROWS_TV[n],
        dst_tv=ROWS_TV[n] if store else held,
    )


ROWS = tuple(_row(n, trans, store) for store in (False, True) for trans in (False, True) for n in COUNTS)
