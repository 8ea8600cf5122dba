"""Shared memory of a Hopper main loop: GMMA atoms, tile_to_shape, any number of stages.

The twelve K-major and twelve MN-major atoms (none, 32, 64, 128 bytes; 8, 16, 32 bits) are bijections of their
8 rows. tile_to_shape repeats the SW128 atom over (tile, K, stages): the result is a bijection for every
number of atoms and stages, so no two stages share a byte. Each stage starts at a multiple of 1024 bytes, as
the swizzle needs it; 64-byte slots of a ring of TMA boxes (cloudrift-ai/emmy PR #176) do not even reach 128.
"""

from checkers import Aligned, Bijective, InBounds
from symlayout import ComposedLayout, Layout, Swizzle, dims, recast, tile_to_shape

m, k, stages = dims("m k stages")


def atom(bits, element_bits, k_major=True):
    width = (128 << bits) // element_bits
    layout = Layout((8, width), (width, 1)) if k_major else Layout((width, 8), (1, width))
    return ComposedLayout(recast(Swizzle(bits, 4, 3), old=8, new=element_bits), 0, layout)


def claim_atoms() -> list[Bijective]:
    atoms = [atom(bits, e, major) for major in (True, False) for bits in range(4) for e in (8, 16, 32)]
    return [Bijective(a, onto=a.size()) for a in atoms]


SW128 = atom(3, 16)
three_stages = Bijective(tile_to_shape(SW128, (128, 64, 3)), onto=3 * 128 * 64)
any_stages = Bijective(tile_to_shape(SW128, (128, 64, stages)), onto=stages * 128 * 64)
any_tile = Bijective(tile_to_shape(SW128, (8 * m, 64 * k, stages)), onto=8 * m * 64 * k * stages)
MN_MAJOR = tile_to_shape(atom(3, 16, k_major=False), (64 * m, 8 * k, stages))
any_mn_major_tile = Bijective(MN_MAJOR, onto=64 * m * 8 * k * stages)

# A and B of a 128x128x64 bf16 stage are 16 KiB each; 227 KiB hold seven of the pairs.
PAIR = Layout((8192, 2, stages), (1, 8192, 2 * 8192))
seven_stages_fit = InBounds(PAIR, 227 * 1024 // 2, given=stages <= 7)
any_number_of_stages = InBounds(PAIR, 227 * 1024 // 2, expect="refuted")

stage_bases = Aligned(Layout((2, stages), (8192, 2 * 8192)), to_bytes=1024, element_bytes=2)
slot_bases_of_64_bytes = Aligned(Layout(2, 16), to_bytes=128, element_bytes=4, expect="refuted")
