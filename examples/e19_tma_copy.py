"""make_tma_copy: one tensor map, one coordinate tensor, and the operands of every instruction as slices of it.

A row-major (M,K) tensor and a 128x64 tile in the K-major SW128 atom make one box of 64 by 128. The map has the
address, the coordinate tensor none: tiles and partitions move its base, innermost coordinate first. Two CTAs that
multicast issue half a box each; an MN-major tile of 8-column atoms takes 16 instructions; six modes share five
dimensions; f16 counted as u64 has a stride of 1/4; im2col starts at its lower corner
(CUTLASS, ``cute/atom/copy_traits_sm90_tma.hpp`` and ``media/docs/cpp/cute/0z_tma_tensors.md``).
"""

from checkers import Bijective, InBounds
from symlayout import ComposedLayout, Layout, Swizzle, dim, dims, local_tile, tile_to_shape
from symlayout.tma_copy import create_tma_multicast_mask, make_tma_copy
from symlayout.tma_im2col import make_im2col_tma_copy

M, K = dim("M"), dim("K", multiple_of=8)
m, k = dims("m k", at_least=0)

K_MAJOR = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
MN_MAJOR = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 8), (1, 64)))
A = Layout((M, K), (K, 1))

LOAD_A = make_tma_copy(A, tile_to_shape(K_MAJOR, (128, 64)), dtype="bf16", address=dim("A", multiple_of=16))
COORDINATES = LOAD_A.get_tma_tensor()
every_coordinate_once = Bijective(COORDINATES.layout, onto=(K, M))

TILE = local_tile(COORDINATES, (128, 64), (m, k))  # of block m at step k
SHARED = LOAD_A.get_slice().partition_D(tile_to_shape(K_MAJOR, (128, 64)))
box_fills_the_tile = InBounds(LOAD_A.tensor_map.landing, 128 * 64 * 2)
box_lands_once = Bijective(tile_to_shape(K_MAJOR, (128, 64)), onto=128 * 64)

PAIR = make_tma_copy(A, tile_to_shape(K_MAJOR, (128, 64)), multicast=2, dtype="bf16")
COLUMNS = make_tma_copy(Layout((M, K), (1, M)).subs({M: 1024}), tile_to_shape(MN_MAJOR, (128, 64)), dtype="bf16")

# Six modes: the last two share the fifth dimension of the map.
B, H = dims("B H")
SIX = Layout((64, 32, B, H, 4, 8), (1, 64, 2048, 2048 * B, 2048 * B * H, 8192 * B * H))
SIX_MODES = make_tma_copy(SIX, Layout((64, 32)), (64, 32), dtype="f16")

WORDS = make_tma_copy(Layout((64, M), (1, 64)), Layout((32, 32)), dtype="f16", internal_dtype="u64")

W, N = dims("W N")
IMAGES = make_im2col_tma_copy(
    Layout(((W, W, N), 64), ((64, 64 * W, 64 * W * W), 1)),
    ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1))),
    lower_corner_whd=(-1, -1),
    upper_corner_whd=(-1, -1),
    lower_padding_whd=(-1, -1),
    upper_padding_whd=(1, 1),
    dtype="f16",
)


def main() -> None:
    """The maps, the coordinate tensors, and what instructions are given."""
    for name in ("LOAD_A", "PAIR", "COLUMNS", "SIX_MODES", "WORDS", "IMAGES"):
        copy = globals()[name]
        print(f"{name}: {copy}\n  gbasis {copy.gbasis}\n  coordinates {copy.get_tma_tensor()}")
    print(f"tile (m,k): {TILE}\n  instruction {LOAD_A.coordinates(TILE)}\n  shared memory {SHARED}")
    for cta in (0, 1):
        part = PAIR.get_slice(cta)
        mask = create_tma_multicast_mask(Layout((1, 2)), (0, cta), 1)
        print(f"CTA {cta}: instruction {PAIR.coordinates(part.partition_S(TILE))}, mask {mask:#b}")
    columns = COLUMNS.get_slice().partition_S(local_tile(COLUMNS.get_tma_tensor(), (128, 64), (0, k)))
    print("columns:", *(COLUMNS.coordinates(columns((None, i), 0, 0)) for i in range(4)), "...")
    filtered = local_tile(IMAGES.get_tma_tensor(), (64, 64), (0, (2, 1)))
    print(f"im2col at tap (2,1): {IMAGES.coordinates(filtered)}")


if __name__ == "__main__":
    main()
