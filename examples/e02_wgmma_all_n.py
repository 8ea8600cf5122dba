"""The wgmma accumulator for every N, one size at a time and then for all of them in one proof.

N goes from 8 to 256 in steps of 8 (PTX ISA, wgmma.mma_async). The value mode grows by whole (2,2) blocks of
stride 512, so N/8 is a digit and the mixed-radix proof does not care how large it is. An operand in shared
memory is read by the whole warpgroup: thread stride 0, each element 128 times.
"""

from checkers import Bijective, Partition
from symlayout import E, Layout, composition, dim, dims

N = dim("N", multiple_of=8, at_least=8, at_most=256)


def accumulator(n):
    return Layout(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512)))


every_n_at_once = Partition(accumulator(N), onto=64 * N)
every_coordinate_at_once = Bijective(composition(Layout((64, N), (E(0), E(1))), accumulator(N)), onto=(64, N))


def claim_each_n() -> list[Partition]:
    return [Partition(accumulator(n), onto=64 * n) for n in range(8, 257, 8)]


R, K = dims("R K")
operand_in_shared_memory = Partition(Layout((128, (R, K)), (0, (1, R))), onto=R * K, copies=128)
n_must_be_a_multiple_of_8 = Partition(accumulator(28), onto=64 * 28, expect="refuted")
