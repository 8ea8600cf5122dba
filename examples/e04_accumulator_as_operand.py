"""P = softmax(Q K^T) stays in registers: when is an accumulator already the A operand of the next MMA?

For 16-bit P it is, value for value: FlashAttention-2 relies on it for mma.sync, FlashAttention-3 for wgmma.
For FP8 it is not: a thread holds columns 2c, 2c+1 of the accumulator and needs 4c .. 4c+3 of the operand,
which is why FlashAttention-3 (section 3.3) permutes registers first. A consistent permutation of the keys
repairs it too: if V's rows are permuted alike, A may be read with the columns of the accumulator.
"""

from checkers import Bijective, Equal
from symlayout import Layout, composition, dim

K16 = dim("K16")  # key blocks of 16

# Two m16n8 accumulators side by side, and the m16n8k16 A fragment.
ACC_WARP = Layout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))")
A_WARP = Layout.parse("((4,8),(2,2,2)):((32,1),(16,8,128))")

# The warpgroup accumulator of N = 16*K16, and A in registers for K16 steps of K = 16.
ACC_GROUP = Layout(((4, 8, 4), (2, 2, 2 * K16)), ((128, 1, 16), (64, 8, 512)))
A_GROUP = Layout(((4, 8, 4), ((2, 2, 2), K16)), ((128, 1, 16), ((64, 8, 512), 1024)))

bf16_needs_no_move = Equal(ACC_WARP, A_WARP)
bf16_needs_no_move_in_a_warpgroup = Equal(ACC_GROUP, A_GROUP)

# N = 32 accumulator columns, K = 32 operand columns of 8 bits.
ACC_32 = Layout.parse("((4,8,4),(2,2,4)):((128,1,16),(64,8,512))")
A_FP8 = Layout.parse("((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))")

fp8_needs_a_permutation = Equal(ACC_32, A_FP8, expect="refuted")

# Values regrouped as the operand counts them (two column pairs, then rows), and key k of the operand named
# as the accumulator's column: (low bit, pair, quad, half) at (1, 8, 2, 16) in place of (1, 2, 4, 16).
REGROUPED = Layout(((4, 8, 4), ((2, 2), 2, 2)), ((128, 1, 16), ((64, 512), 8, 1024)))
KEYS = Layout((64, (2, 2, 4, 2)), (1, (64, 512, 128, 1024)))

keys_are_permuted = Bijective(KEYS, onto=64 * 32)
fp8_with_permuted_keys = Equal(composition(KEYS, A_FP8), REGROUPED)
