"""make_tiled_copy, from thread and value layouts to vector width, sectors and coverage.

128 threads as (32,4):(4,1), 8 halves each along K: raked_product and right_inverse give the (thread, value) layout
over a 32x32 tile, as in CuTe. Four threads read 64 contiguous bytes of a row. A row stride that is not a multiple of
16 bytes makes the 128-bit loads misaligned, and TMA refuses it (triton-lang/triton #10927). ROCm/FlyDSL PR #1007
divides 14336 bytes over 256 threads and rounds down: 2048 bytes stay stale.
"""

from checkers import Aligned, Coalesced, Equal, InBounds, Injective, Partition, Surjective, Vectorizable
from symlayout import (
    Layout,
    LayoutRight,
    composition,
    dims,
    make_layout,
    raked_product,
    right_inverse,
    select,
)

M, K = dims("M K")

THREADS, VALUES = LayoutRight((32, 4)), Layout((1, 8))
TV = right_inverse(raked_product(THREADS, VALUES)).with_shape((128, 8))  # -> m + 32*k
as_in_cute = Equal(TV, Layout.parse("((4,32),8):((256,1),32)"))
each_element_once = Partition(TV, onto=32 * 32)

# The tile in a row-major tensor of 1024 columns; the value mode comes first where runs are asked for.
OFFSET = composition(Layout((32, 32), (1024, 1)), TV)
WARP = make_layout(composition(OFFSET[0], Layout(32)))  # the first element of each lane of warp 0
vector_loads = Vectorizable(select(OFFSET, 1, 0), elements=8)
whole_sectors = Coalesced(WARP, element_bytes=2, width_bytes=16)

ROWS = Layout((K, M), (1, K))
rows_by_8 = Vectorizable(ROWS, elements=8, given=K.multiple_of(8))
rows_by_8_of_any_length = Vectorizable(ROWS, elements=8, expect="refuted")
row_starts = Aligned(Layout(M, K), to_bytes=16, element_bytes=2, given=K.multiple_of(8))
row_starts_of_any_length = Aligned(Layout(M, K), to_bytes=16, element_bytes=2, expect="refuted")
row_starts_of_511 = Aligned(Layout(M, 511), to_bytes=16, element_bytes=2, expect="refuted")
row_starts_of_fp8 = Aligned(Layout(M, K), to_bytes=16, given=K.multiple_of(16))  # 16, and not 64, is enough

# A 112x64 bf16 tile, 256 threads of 8 elements: 14336 // 256 = 56 bytes a thread, 3 loads.
THREE, FOUR = (Layout((8, 256, loads), (1, 8, 8 * 256)) for loads in (3, 4))
three_loads = Surjective(THREE, onto=112 * 64, expect="refuted")
three_loads_stay_inside = InBounds(THREE, 112 * 64)
four_loads = Surjective(FOUR, onto=112 * 64)
four_loads_need_a_predicate = InBounds(FOUR, 112 * 64, expect="refuted")
four_loads_load_nothing_twice = Injective(FOUR)
