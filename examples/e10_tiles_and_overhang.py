"""zipped_divide of a row-major (M,N) by 64x64 tiles: who takes care of the overhang?

CuTe's result has ceil_div counts and reads past the tensor unless 64 divides M and N. Here it carries that
as an obligation, which joins every claim: divisibility discharges it, and so does a predicate. The layout
that CuTe itself would hand out (mode="cute") carries none and is refuted at the first size, 1x1. The last
pair is NVIDIA/cutlass #3470: a by-mode tiler whose symbolic mode must stay within the 8192 columns.
"""

from checkers import Bijective, InBounds, Injective
from symlayout import E, Layout, composition, dims, flat_divide, make_identity_layout, zipped_divide

M, N, n = dims("M N n")
MATRIX = Layout((M, N), (N, 1))
TILES = zipped_divide(MATRIX, (64, 64))
WHOLE = (M.multiple_of(64), N.multiple_of(64))

whole_tiles_collide_nowhere = Injective(TILES, given=WHOLE)
whole_tiles_cover = Bijective(TILES, onto=M * N, given=WHOLE)

UNCHECKED = zipped_divide(MATRIX, (64, 64), mode="cute")
overhang_collides = Injective(UNCHECKED, expect="refuted")
overhang_reads_past_the_end = InBounds(UNCHECKED, M * N, expect="refuted")
COORDINATES = zipped_divide(make_identity_layout((M, N)), (64, 64), mode="cute")
coordinates_leave_the_tensor = InBounds(COORDINATES, (M, N), expect="refuted")


def whole(i, j, tm, tn):
    """The predicate of a residue tile."""
    return 64 * tm + i < M, 64 * tn + j < N


def rows_only(i, j, tm, tn):
    return 64 * tm + i < M


predicated = InBounds(flat_divide(MATRIX, (64, 64)), M * N, when=whole)
predicated_by_row = InBounds(flat_divide(MATRIX, (64, 64)), M * N, when=rows_only, expect="refuted")

BY_MODE = Layout((32, n, 8, 128), (E(0), 8 * E(1), E(1), 32 * E(0)))
SHUFFLED = composition(Layout((4096, 8192), (1, 4096)), BY_MODE)
columns_within_the_matrix = Injective(SHUFFLED, given=n <= 1024)
shuffle_of_the_whole_matrix = Bijective(SHUFFLED.subs({n: 1024}), onto=4096 * 8192)
