"""Offsets in 32 bits: the first size that overflows, and the unit that decides it.

NVIDIA/cutlass #3604: a bf16 tensor (M,4):(4,1) with an int32 coordinate and a static stride. The coordinate
always fits; the offset does up to M = 2^29 rows and not one more. SHI-Labs/NATTEN PR #349 has its threshold
at Q = 2097153, microsoft/dion PR #103 a batch that is past it. Dao-AILab/flash-attention #2214 fits in
elements and not in bytes: ask for the value that the code computes, in the unit it computes.
"""

from checkers import FitsIn
from symlayout import Layout, LayoutRight, dims, make_identity_layout

M, N, Q = dims("M N Q")

ROWS = Layout((M, 4), (4, 1))
coordinate = FitsIn(make_identity_layout((M, 4)), bits=32)
offset = FitsIn(ROWS, bits=32, expect="refuted")
offset_up_to_2_29_rows = FitsIn(ROWS, bits=32, given=M <= 2**29)
offset_of_the_report = FitsIn(Layout((2**29 + 1, 4), (4, 1)), bits=32, expect="refuted")
offset_in_bytes = FitsIn(ROWS, bits=32, unit_bytes=2, given=M <= 2**28)
offset_in_bytes_overflows_first = FitsIn(ROWS, bits=32, unit_bytes=2, given=M <= 2**29, expect="refuted")
offset_in_64_bits = FitsIn(ROWS, bits=64)

HEADS_LAST = Layout((Q, 16, 64), (1024, 64, 1))
natten = FitsIn(HEADS_LAST, bits=32, expect="refuted")
natten_up_to_2_21_queries = FitsIn(HEADS_LAST, bits=32, given=Q <= 2**21)

dion = FitsIn(LayoutRight((320, 2560, 3072)), bits=32, expect="refuted")

FLASH = LayoutRight((1600, 16, 729, 72))
flash_attention_elements = FitsIn(FLASH, bits=32)
flash_attention_bytes = FitsIn(FLASH, bits=32, unit_bytes=2, expect="refuted")
flash_attention_bytes_unsigned = FitsIn(FLASH, bits=32, signed=False, unit_bytes=2)

# A bound of the product is enough, whatever the two extents are.
matrix_by_its_size = FitsIn(Layout((M, N), (N, 1)), bits=32, given=M * N <= 2**31)
