"""Layouts that look right: inexact compositions, overlaps, off by one, a leading dimension nobody checked.

CuTe and two reimplementations accept the first: (6,7):(1,3) o 6:4 is not a layout, since 4 steps through an extent of
6 straddle its edge. Composition here raises InexactError; mode="cute" gives the layout they return, which differs
from A(B(c)) at c = 2. NVIDIA/cutlass #3253 and #3469 are a complement and a coalesce that went wrong in a DSL; done
right, both are a compact layout.
"""

from checkers import Bijective, Equal, InBounds, Injective
from symlayout import ComposedLayout, Layout, coalesce, complement, composition, dims, prepend

M, N, ld, n, s = dims("M N ld n s")

A, B = Layout((6, 7), (1, 3)), Layout(6, 4)
inexact = Equal(composition(A, B, mode="cute"), ComposedLayout(A, 0, B), expect="refuted")

EXACT_A, EXACT_B = Layout((6, 2), (8, 2)), Layout((4, 3), (3, 1))
exact = Equal(composition(EXACT_A, EXACT_B), ComposedLayout(EXACT_A, 0, EXACT_B))

OVERHANG = composition(Layout((4, 2), (1, 4)), Layout(16, 1), mode="cute")  # 16 indices into 8 elements
past_the_domain = InBounds(OVERHANG, 8, expect="refuted")

STRIDED = Layout((6,), (4,))
FILLED = prepend(STRIDED, complement(STRIDED, 24))  # (4,6):(1,4)
complement_fills_the_gaps = Bijective(FILLED, onto=24)
coalesced_it_is_24_to_1 = Equal(coalesce(FILLED), Layout(24))


def claim_coalesce_symbolic() -> list[Equal]:
    """(192,n):(1,192) is 192n:1 for every n; two compilers leave it uncoalesced."""
    return [Equal(coalesce(Layout((e, n), (1, e))), Layout(e * n)) for e in (192, 16)]


leading_dimension = Injective(Layout((M, N), (1, ld)), expect="refuted")
leading_dimension_checked = Injective(Layout((M, N), (1, ld)), given=ld >= M)
leading_dimension_one_short = Injective(Layout((M, N), (1, ld)), given=ld >= M - 1, expect="refuted")
allocation = InBounds(Layout((M, N), (1, ld)), (N - 1) * ld + M)  # for every ld, columns apart or not
allocation_without_padding = InBounds(Layout((M, N), (1, ld)), M * N, given=ld >= M, expect="refuted")

overlapping_strides = Injective(Layout((4, 8), (1, 3)), expect="refuted")
no_chain_but_injective = Injective(Layout((2, 3), (3, 2)))
row_major_is_not_column_major = Equal(Layout((M, N), (N, 1)), Layout((M, N)), expect="refuted")

# flashinfer-ai/flashinfer #2232: a mode of size 1 may carry any stride, and it is still the same layout.
stride_of_a_size_1_mode = Equal(Layout((16, 1, 64), (64, s, 1)), Layout((16, 1, 64), (64, 1, 1)))
