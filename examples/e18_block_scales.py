"""Scale factors of block-scaled MMA on Blackwell: one scale for V elements along K, in an interleaved block.

CUTLASS's SfKMajorAtom (sm100_blockscaled_layout.hpp) is ((32,4),(V,4)):((16,4),(0,1)): 128 rows by 4 scales
in 512 entries, the stride 0 saying that V elements share a scale. It holds for NVFP4 (V = 16), MXFP8 (V = 32)
and every other V at once, and for any number of blocks. Two usual mistakes: scales stored row by row, and an
allocation of M*K/V entries although rows are padded to 128.
"""

from checkers import Equal, InBounds, Multiplicity, Partition
from symlayout import Layout, ceil_div, dims, tile_to_shape

M, V, m, k = dims("M V m k")

ATOM = Layout(((32, 4), (V, 4)), ((16, 4), (0, 1)))
K_FIRST = (1, 0)  # CUTLASS's Step<_2,_1>: blocks along K follow one another

shared_by_v_elements = Multiplicity(ATOM, copies=V)
no_gap_in_a_block = Partition(ATOM, onto=512, copies=V)
no_gap_in_a_tensor = Partition(tile_to_shape(ATOM, (128 * m, 4 * V * k), K_FIRST), onto=512 * m * k, copies=V)

row_by_row = Equal(Layout((128, (V, 4)), (4, (0, 1))), ATOM, expect="refuted")

ANY_ROWS = tile_to_shape(ATOM, (128 * ceil_div(M, 128), 4 * V * k), K_FIRST)  # whole blocks, the last one padded
padded_allocation = InBounds(ANY_ROWS, 128 * ceil_div(M, 128) * 4 * k)
unpadded_allocation = InBounds(ANY_ROWS, M * 4 * k, expect="refuted")
