"""Coordinate tensors: strides that are basis vectors, as TMA takes them.

A TMA tensor has no addresses: its layout maps a logical coordinate to a tensor-map coordinate, dimension 0
contiguous. Row-major (M,K) gives (M,K):(1@1,1@0), a bijection of (M,K) onto (K,M). An attention operand with
grouped query heads packs (heads of a group, rows) into one mode; naming one dimension twice is caught.
"""

from checkers import Bijective, InBounds, Injective
from symlayout import E, Layout, dims, make_identity_layout, zipped_divide

M, N, K, B, H, G, D = dims("M N K B H G D")

identity = Bijective(make_identity_layout((M, N)), onto=(M, N))
transposed = Bijective(Layout((M, N), (E(1), E(0))), onto=(N, M))
transposed_onto_the_wrong_box = Bijective(Layout((M, N), (E(1), E(0))), onto=(M, N), expect="refuted")

TMA_A = Layout((M, K), (E(1), E(0)))
WHOLE = (M.multiple_of(128), K.multiple_of(64))
boxes = Bijective(zipped_divide(TMA_A, (128, 64)), onto=(K, M), given=WHOLE)
boxes_stay_inside = InBounds(zipped_divide(TMA_A, (128, 64)), (K, M), given=WHOLE)

# (row, d, (head, batch)) of a (B, M, H, D) tensor -> (d, head, row, batch).
QUERY = Layout((M, D, (H, B)), (E(2), E(0), (E(1), E(3))))
query = Bijective(QUERY, onto=(D, H, M, B))
TWICE = Layout((M, D, (H, B)), (E(2), E(0), (E(1), E(1))))
query_with_one_dimension_twice = Injective(TWICE, expect="refuted")

# Grouped queries: G heads of each of H groups share a key; rows of the packed tile are (G, M).
PACKED = Layout(((G, M), D, (H, B)), ((E(1), E(2)), E(0), (G * E(1), E(3))))
packed_queries = Bijective(PACKED, onto=(D, G * H, M, B))

# Interleaved pairs along dimension 0: element stride 2.
even_and_odd_columns = Bijective(Layout((M, (N, 2)), (E(1), (2 * E(0), E(0)))), onto=(2 * N, M))
even_columns_alone = Bijective(Layout((M, N), (E(1), 2 * E(0))), onto=(2 * N, M), expect="refuted")
