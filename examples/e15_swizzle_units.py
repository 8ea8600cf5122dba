"""One swizzle in different units and at different bases: where bytes, elements and addresses are mixed up.

In bytes the 128-byte swizzle is Sw<3,4,3>; for 16-bit elements it becomes Sw<3,3,3>, for 32-bit Sw<3,2,3>.
ROCm/FlyDSL #634 produced Sw<3,0,3>. HazyResearch/ThunderKittens #147 writes it as an xor of masked address
bits: the same function. The hardware swizzles address bits, so a tile-relative swizzle agrees only at a base
that is a multiple of 1024 bytes (tile-ai/tilelang #2379, #2391). NVIDIA/cutlass #3160 moves an offset across
the swizzle, NVIDIA/Fuser #4771 a chunk across two warps.
"""

from checkers import Aligned, Equal
from symlayout import ComposedLayout, Layout, Swizzle, bytes_of, dim, recast
from symlayout.address_map import AddressMap

BYTES = Swizzle(3, 4, 3)


def swizzled(sw, layout):
    return ComposedLayout(sw, 0, layout)


def claim_recast() -> list[Equal]:
    """A tile of 8 rows of 128 bytes, seen as bytes, halves and words."""
    tile = swizzled(BYTES, Layout((8, 128), (128, 1)))
    return [
        Equal(recast(tile, old=8, new=16), swizzled(Swizzle(3, 3, 3), Layout((8, 64), (64, 1)))),
        Equal(recast(tile, old=8, new=32), swizzled(Swizzle(3, 2, 3), Layout((8, 32), (32, 1)))),
        Equal(bytes_of(recast(tile, old=8, new=16), 2), swizzled(BYTES, Layout((8, 64), (128, 2)))),
    ]


recast_to_the_wrong_base = Equal(
    swizzled(Swizzle(3, 0, 3), Layout(512)), swizzled(Swizzle(3, 3, 3), Layout(512)), expect="refuted"
)


def claim_thunderkittens() -> Equal:
    """a ^ (((a % 1024) >> 7) << 4), whatever the size of shared memory."""
    bytes_of_smem = dim("bytes_of_smem")
    theirs = AddressMap.over(lambda a: a ^ ((a % 1024) // 128 * 16), bytes_of_smem)
    return Equal(theirs, AddressMap.over(lambda a: BYTES(a), bytes_of_smem))


def at_base(base, expect="proved"):
    """The swizzle of the address against the address of the swizzle, over a 128x256 tile of fp16."""
    hardware = AddressMap.over(lambda i, j: BYTES(base + 512 * i + 2 * j), (128, 256))
    software = AddressMap.over(lambda i, j: base + BYTES(512 * i + 2 * j), (128, 256))
    return Equal(hardware, software, expect=expect)


base_1024 = at_base(1024)
base_3072 = at_base(3 * 1024)
base_128 = at_base(128, expect="refuted")
buffers_of_a_stage = Aligned(Layout(4, 16 * 1024), to_bytes=1024)


def claim_offset_moved_out_of_the_swizzle() -> Equal:
    """The second k step of a 64x16 tile: sw(base) + 8 is not sw(base + 8)."""
    sw = Swizzle(4, 0, 4)
    outside = AddressMap.over(lambda i, j: sw(16 * i + j) + 8, (64, 8))
    return Equal(outside, AddressMap.over(lambda i, j: sw(16 * i + j + 8), (64, 8)), expect="refuted")


def chunk_owner(width, expect="proved"):
    """Each chunk of *width* columns belongs to one of the two warps of 96 columns."""
    shape = (192 // width, width)
    owner = AddressMap.over(lambda chunk, j: (width * chunk + j) // 96, shape)
    return Equal(owner, AddressMap.over(lambda chunk, j: width * chunk // 96, shape), expect=expect)


chunks_of_the_64_byte_swizzle = chunk_owner(32)
chunks_of_the_128_byte_swizzle = chunk_owner(64, expect="refuted")
