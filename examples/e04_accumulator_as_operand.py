"""P = softmax(Q K^T) stays in registers: when is an accumulator already the A operand of the next MMA?

For 16-bit P it is, value for value: FlashAttention-2 relies on it for mma.sync, FlashAttention-3 for wgmma. For FP8
it is not: a thread owns columns 2c, 2c+1 of the accumulator and is asked for 4c .. 4c+3 of the operand.
FlashAttention-3 (section 3.3) renames the registers d0 d1 d4 d5 d2 d3 d6 d7 and writes the rows of V in a matching
order. Below, that order is a layout, and no value has to change its thread.
"""

from checkers import Bijective, Equal
from symlayout import Layout, composition, dim

KB = dim("KB")  # blocks of 16 keys

# Two m16n8 accumulators side by side (the second one 8 columns of 16 rows further), and the m16n8k16 A fragment.
C_WARP = Layout.parse("((4,8),(2,2)):((32,1),(16,8))")
PAIR = Layout(((4, 8), ((2, 2), 2)), (C_WARP.stride[0], (C_WARP.stride[1], 16 * 8)))
bf16_in_a_warp = Equal(PAIR, Layout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))"))

# The accumulator of wgmma with N = 16*KB, and KB steps of the A fragment with K = 16.
ACC = Layout(((4, 8, 4), (2, 2, 2 * KB)), ((128, 1, 16), (64, 8, 512)))
A_BF16 = Layout(((4, 8, 4), ((2, 2, 2), KB)), ((128, 1, 16), ((64, 8, 512), 64 * 16)))
bf16_in_a_warpgroup = Equal(ACC, A_BF16)

# 32 columns of the accumulator, and the 8-bit A fragment with K = 32.
ACC_32 = Layout.parse("((4,8,4),(2,2,4)):((128,1,16),(64,8,512))")
A_FP8 = Layout.parse("((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))")
fp8_as_it_is = Equal(ACC_32, A_FP8, expect="refuted")

REGISTERS = Layout((2, 2, 2, 2), (1, 4, 2, 8))  # d0 d1 d4 d5 d2 d3 d6 d7, then the same for the other half
# (row, key of the operand) -> index of the accumulator: keys 0 1 2 3 are its columns 0 1 8 9.
KEYS = Layout((64, (2, 2, 4, 2)), (1, (64, 8 * 64, 2 * 64, 16 * 64)))
keys_are_permuted = Bijective(KEYS, onto=64 * 32)
fp8_renamed = Equal(composition(ACC_32, (Layout(128), REGISTERS)), composition(KEYS, A_FP8))
fp8_renamed_but_v_in_order = Equal(composition(ACC_32, (Layout(128), REGISTERS)), A_FP8, expect="refuted")
