"""The rows of the corpus that the claim files cannot say: results of the algebra, steps of the code, predicates.

Each variable is a row, its family the word before the first underscore, its verdict what it ``expect``s; a report
that holds obligations too counts as its weakest verdict. The verdicts come from reasoning, as in symbolic.toml.
"""

from checkers import Bijective, Covers, Equal, FitsIn, InBounds, Injective, Partition, Vectorizable
from symlayout import (
    ComposedLayout,
    E,
    Layout,
    LayoutRight,
    Swizzle,
    blocked_product,
    bytes_of,
    ceil_div,
    coalesce,
    complement,
    composition,
    dim,
    dims,
    downcast,
    flat_divide,
    group,
    logical_divide,
    logical_product,
    make_identity_layout,
    make_layout,
    make_ordered_layout,
    minimum,
    raked_product,
    recast,
    right_inverse,
    select,
    tile_to_shape,
    tiled_divide,
    upcast,
    zipped_divide,
)
from symlayout.address_map import AddressMap

M, N, K, L, ld, n, t, u = dims("M N K L ld n t u")
G, W, B = dims("G W B")
even = dim("even", multiple_of=2)
ROWS, COLUMNS, PADDED = Layout((M, N), (N, 1)), Layout((M, N)), Layout((M, N), (1, ld))
WHOLE = (M.multiple_of(64), N.multiple_of(32))
SW128 = Swizzle(3, 3, 3)
ATOM = ComposedLayout(SW128, 0, Layout((8, 64), (64, 1)))

# -- divides: the overhang is an obligation, met by divisibility or by a predicate --------------------------

ZIPPED = zipped_divide(ROWS, (64, 32))
divide_whole_tiles = Injective(ZIPPED, given=WHOLE)
divide_whole_tiles_onto = Bijective(ZIPPED, onto=M * N, given=WHOLE)
divide_overhang = Injective(ZIPPED, expect="refuted")
divide_one_mode_overhangs = Injective(ZIPPED, given=WHOLE[:1], expect="refuted")
divide_by_a_divisor_of_the_tile = Injective(ZIPPED, given=[M.multiple_of(64), N.multiple_of(16)], expect="refuted")
divide_by_a_multiple_of_the_tile = Injective(ZIPPED, given=[M.multiple_of(128), N.multiple_of(64)])
divide_padded_whole = Injective(zipped_divide(PADDED, (64, 32)), given=[*WHOLE, ld >= M])
divide_padded_free = Injective(zipped_divide(PADDED, (64, 32)), given=WHOLE, expect="refuted")
divide_tiled = Bijective(tiled_divide(COLUMNS, (64, 32)), onto=M * N, given=WHOLE)
divide_flat = Bijective(flat_divide(COLUMNS, (64, 32)), onto=M * N, given=WHOLE)
divide_by_a_symbol = Bijective(zipped_divide(Layout((t * M, u * N)), (t, u)), onto=t * u * M * N)
divide_by_a_layout = Bijective(logical_divide(Layout(8 * M), Layout(4, 2)), onto=8 * M)
divide_keeps_the_function = Equal(logical_divide(Layout(64 * M), 64), Layout(64 * M))
divide_predicated = InBounds(
    flat_divide(ROWS, (64, 32)), M * N, when=lambda i, j, a, b: (64 * a + i < M, 32 * b + j < N)
)
divide_predicated_late = InBounds(
    flat_divide(ROWS, (64, 32)), M * N, when=lambda i, j, a, b: (64 * a + i <= M, 32 * b + j < N), expect="refuted"
)
divide_predicated_padded = InBounds(
    flat_divide(Layout((M, N), (ld, 1)), (64, 32)),
    (M - 1) * ld + N,
    when=lambda i, j, a, b: (64 * a + i < M, 32 * b + j < N),
)
divide_coordinates = Bijective(zipped_divide(make_identity_layout((M, N)), (64, 32)), onto=(M, N), given=WHOLE)
divide_coordinates_overhang = InBounds(zipped_divide(make_identity_layout((M, N)), (64, 32)), (M, N), expect="refuted")

# -- products -------------------------------------------------------------------------------------------------

product_logical = Bijective(logical_product(Layout((4, 8)), Layout((M, N))), onto=32 * M * N)
product_blocked = Bijective(blocked_product(Layout((4, 8), (8, 1)), Layout((M, N), (N, 1))), onto=32 * M * N)
product_raked = Bijective(raked_product(Layout((4, 8)), Layout((M, N))), onto=32 * M * N)
product_raked_the_other_way = Bijective(raked_product(Layout((M, N)), Layout((4, 8))), onto=32 * M * N)
product_blocked_is_not_raked = Equal(
    blocked_product(Layout((4, 8)), COLUMNS), raked_product(Layout((4, 8)), COLUMNS), expect="refuted"
)
product_one_tile_more = Bijective(logical_product(Layout((4, 8)), COLUMNS), onto=32 * M * N + 32, expect="refuted")
product_of_atoms = Bijective(tile_to_shape(ATOM, (8 * M, 64 * K)), onto=512 * M * K)
product_of_atoms_and_stages = Bijective(tile_to_shape(ATOM, (8 * M, 64 * K, L)), onto=512 * M * K * L)
product_of_atoms_blocked = Equal(blocked_product(ATOM, Layout((M, K))), tile_to_shape(ATOM, (8 * M, 64 * K)))
product_of_atoms_in_rows = Equal(
    blocked_product(ATOM, LayoutRight((M, K))), tile_to_shape(ATOM, (8 * M, 64 * K)), expect="refuted"
)

# -- compositions, complements, inverses ----------------------------------------------------------------------

compose_transposes = Equal(composition(Layout(M * N), ROWS), ROWS)
compose_inverse = Equal(composition(ROWS, right_inverse(ROWS)), Layout(M * N))
compose_inverse_of_a_permutation = Bijective(right_inverse(Layout((M, N, K), (K, M * K, 1))), onto=M * N * K)
compose_tile_of_a_padded_matrix = Equal(
    composition(Layout((64 * M, N), (1, ld)), Layout((64, M), (1, 64))), Layout(64 * M)
)
compose_by_mode = Injective(composition(Layout((64 * M, N), (1, ld)), (Layout(64, M), Layout(N))), given=ld >= 64 * M)
compose_by_mode_free = Injective(
    composition(Layout((64 * M, N), (1, ld)), (Layout(64, M), Layout(N))), expect="refuted"
)
compose_shuffle = Injective(
    composition(Layout((4096, 8192), (1, 4096)), Layout((32, n, 8, 128), (E(0), 8 * E(1), E(1), 32 * E(0)))),
    given=n <= 1024,
)
compose_complement_fills = Bijective(
    make_layout(Layout((4, M), (2, 8)), complement(Layout((4, M), (2, 8)), 8 * M * N)), onto=8 * M * N
)
compose_complement_of_a_prefix = Equal(complement(Layout((4, M), (1, 4)), 4 * M * N), Layout(N, 4 * M))
compose_coalesce_keeps = Equal(
    coalesce(Layout((2, M, 1, N, K), (1, 2, 7, 2 * M, ld))), Layout((2, M, 1, N, K), (1, 2, 7, 2 * M, ld))
)
compose_group_keeps = Equal(group(Layout((M, N, K), (ld, 1, n)), 0, 2), Layout((M, N, K), (ld, 1, n)))
compose_ordered = Bijective(make_ordered_layout((M, N, K), (2, 0, 1)), onto=M * N * K)
compose_selected = Injective(select(Layout((M, N, K)), 0, 2))
compose_selected_is_not_onto = Bijective(select(Layout((M, N, K)), 0, 2), onto=M * K, expect="refuted")

# -- units ----------------------------------------------------------------------------------------------------

units_downcast = Equal(downcast(2, ROWS), Layout((M, 2 * N), (2 * N, 1)))
units_upcast = Equal(upcast(2, Layout((M, even), (even, 1))), Layout((M, even // 2), (even // 2, 1)))
units_there_and_back = Equal(downcast(2, upcast(2, Layout((even, M), (1, even)))), Layout((even, M), (1, even)))
units_recast_swizzle = Equal(
    recast(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8 * M, 128), (128, 1))), old=8, new=16),
    ComposedLayout(SW128, 0, Layout((8 * M, 64), (64, 1))),
)
units_recast_to_the_wrong_base = Equal(
    recast(ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8 * M, 128), (128, 1))), old=8, new=16),
    ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8 * M, 64), (64, 1))),
    expect="refuted",
)
units_bytes_fit = FitsIn(bytes_of(ROWS, 2), bits=32, given=M * N <= 2**30)
units_bytes_over = FitsIn(bytes_of(ROWS, 2), bits=32, given=M * N <= 2**30 + M, expect="refuted")
units_bytes_of_elements_in_vectors = Vectorizable(bytes_of(Layout((8, M)), 1), elements=8)

# -- steps: every intermediate value, in the order of the code ------------------------------------------------

ELEMENTS = FitsIn.each_step(lambda i, k: i * K + k, (M, K), given=[M * K <= 2**31 - 1])
step_row_start, step_element = ELEMENTS
BYTES = FitsIn.each_step(lambda i, k: (i * K + k) * 2, (M, K), given=[M * K <= 2**30])
step_bytes = BYTES[-1]
step_bytes_over = FitsIn.each_step(lambda i, k: (i * K + k) * 2, (M, K), given=[M * K <= 2**31 - 1], expect="refuted")[
    -1
]
step_of_the_product_before_the_quotient = FitsIn.each_step(lambda b: b * W // G, (G,), given=[W <= 2**16, G <= 2**15])
step_of_the_product_too_large = FitsIn.each_step(lambda b: b * W // G, (G,), expect="refuted")[0]
step_before_the_predicate = FitsIn.each_step(
    lambda r, b: 128 * b + r, (128, ceil_div(M, 128)), bits=16, given=M <= 2**15
)
step_before_the_predicate_over = FitsIn.each_step(
    lambda r, b: 128 * b + r, (128, ceil_div(M, 128)), bits=16, given=M <= 2**15 + 1, expect="refuted"
)[-1]
step_after_the_predicate = FitsIn.each_step(lambda i: i * 4, (M,), when=lambda i: i < 2**13, bits=16)[-1]
step_difference_unsigned = FitsIn.each_step(lambda i, j: i - j, (M, N), signed=False, expect="refuted")[0]

# -- schedules as Python functions ----------------------------------------------------------------------------


def persistent(b, i):
    return (b + G * i) % M, (b + G * i) // M


TILES = AddressMap.over(persistent, (G, ceil_div(M * N, G)), when=lambda b, i: b + G * i < M * N)
schedule_persistent = Covers(TILES, (M, N), by=lambda m, k: ((m + M * k) % G, (m + M * k) // G))
schedule_persistent_in_rows = Covers(
    AddressMap.over(
        lambda b, i: ((b + G * i) // N, (b + G * i) % N), (G, ceil_div(M * N, G)), when=lambda b, i: b + G * i < M * N
    ),
    (M, N),
    by=lambda m, k: ((m * N + k) % G, (m * N + k) // G),
)
schedule_persistent_without_predicate = Covers(
    AddressMap.over(persistent, (G, ceil_div(M * N, G))), (M, N), expect="refuted"
)
schedule_witness_is_a_hint = Covers(TILES, (M, N), by=lambda m, k: ((m + M * k) // G, (m + M * k) % G), expect="proved")
schedule_batch = Covers(
    AddressMap.over(lambda b: (b % M, b // M % N, b // (M * N)), (M * N * B,)), (64 * M, 64 * N, B), tile=(64, 64, 1)
)
schedule_last_group = InBounds(
    AddressMap.over(lambda i: 64 * (ceil_div(M, 64) - 1) + i, (minimum(M - 64 * (ceil_div(M, 64) - 1), 64),)), M
)
schedule_last_group_unclipped = InBounds(
    AddressMap.over(lambda i: 64 * (ceil_div(M, 64) - 1) + i, (64,)), M, expect="refuted"
)

# -- (thread, value) layouts of tiled copies ------------------------------------------------------------------

THREADS = LayoutRight((32, 4))
TV = right_inverse(raked_product(THREADS, Layout((1, 8)))).with_shape((128, 8))
copy_one_tile = Partition(TV, onto=32 * 32)
copy_all_tiles = Partition(make_layout(TV, Layout(M, 32 * 32)), onto=1024 * M)
copy_tiles_too_close = Partition(make_layout(TV, Layout(M, 32 * 31)), onto=1024 * M, expect="refuted")
copy_broadcast = Partition(make_layout(Layout(K, 0), TV), onto=1024, copies=K)
