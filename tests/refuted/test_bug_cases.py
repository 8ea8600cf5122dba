"""Real bugs from public trackers, sections C to G, each with its verdict and its numbers.

The tests are named after the rows. What must be accepted or proved stands beside what must be refuted: a false
alarm on a correct kernel is as much a failure as a missed bug.
"""

from __future__ import annotations

from typing import Any

import pytest

from checkers import (
    Bijective,
    Budget,
    Covers,
    Equal,
    FitsIn,
    InBounds,
    Injective,
    Surjective,
    prove,
)
from symlayout import (
    ComposedLayout,
    Layout,
    LayoutRight,
    Swizzle,
    dim,
    dims,
    minimum,
    upcast,
)
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Verdict
from symlayout.basis import E
from symlayout.errors import LayoutError

M, N, Q, B, n, m = dims("M N Q B n m")
nm, nn, g, tiles = dims("nm nn g tiles")


def proved(claim: Any, **options: Any) -> Verdict:
    report = prove(claim, **options)
    assert report, str(report)
    return report.verdicts[0]


def refuted(claim: Any, **options: Any) -> Verdict:
    """The verdict on the claim itself, which must have a replayed witness."""
    verdict = prove(claim, **options).verdicts[0]
    assert verdict.outcome is Outcome.REFUTED, str(verdict)
    assert verdict.witness is not None
    return verdict


def witness_of(verdict: Verdict) -> tuple[dict[str, int], tuple[Any, ...], str]:
    assert verdict.witness is not None
    return dict(verdict.witness.sizes), verdict.witness.coords, verdict.witness.story


def proved_or_skipped(claim: Any, why: str) -> None:
    """A claim that holds and is still open: never refuted, and a pass as soon as it is proved."""
    verdict = prove(claim, budget=Budget(solver_ms=60, repairs=False)).verdicts[0]
    assert verdict.outcome is not Outcome.REFUTED, str(verdict)
    if verdict.outcome is Outcome.UNKNOWN:
        pytest.skip(why)


def wrapped(x: int) -> int:
    """What an int32 holds after storing x."""
    return (x + 2**31) % 2**32 - 2**31


# -- C. Integer width -------------------------------------------------------------------------------------

ROWS = Layout((M, 4), (4, 1))


def test_c01_offset_of_row_2_29_does_not_fit_int32():
    verdict = refuted(FitsIn(ROWS, bits=32))

    assert witness_of(verdict)[:2] == ({"M": 2**29 + 1}, ((2**29, 0),))
    assert "2147483648" in witness_of(verdict)[2]
    assert verdict.condition == "M <= 536870912, the weakest condition of this form"
    assert verdict.repairs == (M <= 2**29,)


def test_c01_threshold_is_exact():
    proved(FitsIn(ROWS, bits=32), given=[M <= 2**29])
    refuted(FitsIn(ROWS, bits=32), given=[M <= 2**29 + 1])
    proved(FitsIn(Layout((2**29, 4), (4, 1)), bits=32))
    assert witness_of(refuted(FitsIn(Layout((2**29 + 1, 4), (4, 1)), bits=32)))[1] == ((2**29, 0),)


def test_c01_the_coordinate_alone_fits():
    proved(FitsIn(Layout((M, 4), (E(0), E(1))), bits=32))
    proved(FitsIn(AddressMap.over(lambda row: row, (M,)), bits=32))


def test_c01_each_step_names_the_one_that_overflows():
    steps = FitsIn.each_step(lambda row, c: row * 4 + c, (M, 4), bits=32)
    verdicts = prove(steps, given=[M <= 2**29]).verdicts

    assert [v.outcome for v in verdicts] == [Outcome.PROVED, Outcome.PROVED]
    assert [v.outcome for v in prove(steps).verdicts] == [Outcome.REFUTED, Outcome.REFUTED]
    proved(FitsIn.each_step(lambda row, c: row * 4 + c, (M, 4), bits=64))


def test_c04_natten_heads_last():
    offsets = Layout((Q, 16, 64), (1024, 64, 1))
    verdict = refuted(FitsIn(offsets, bits=32))

    assert witness_of(verdict)[0] == {"Q": 2_097_153}
    assert verdict.repairs == (Q <= 2_097_152,)
    proved(FitsIn(offsets.subs({Q: 2_097_152}), bits=32))
    refuted(FitsIn(offsets.subs({Q: 2_097_153}), bits=32))


def test_c06_dion_batch_wraps_to_a_negative_offset():
    assert LayoutRight((320, 2560, 3072))(319, 0, 0) == 2_508_718_080
    assert wrapped(2_508_718_080) == -1_786_249_216

    refuted(FitsIn(LayoutRight((320, 2560, 3072)), bits=32))
    refuted(FitsIn(AddressMap.over(lambda batch: batch * 7_864_320, (320,)), bits=32))
    verdict = refuted(FitsIn(Layout((B, 2560, 3072), (7_864_320, 3072, 1)), bits=32))
    assert verdict.repairs == (B <= 273,)  # 273 * 7864320 <= 2^31 - 1 < 274 * 7864320
    assert witness_of(verdict)[0] == {"B": 274}


def test_c08_elements_fit_and_bytes_do_not():
    scores = LayoutRight((1600, 16, 729, 72))
    assert scores.size() == 1_343_692_800

    proved(FitsIn(scores, bits=32))
    story = witness_of(refuted(FitsIn(scores, bits=32, unit_bytes=2)))[2]
    assert "byte 2148228864" in story
    proved(FitsIn(scores, bits=32, unit_bytes=2, signed=False))


# -- D. Bijectivity and coverage ---------------------------------------------------------------------------


def unshrunk(rows: Any, columns: Any) -> AddressMap:
    """Groups of eight rows of tiles, the last one as high as the others: the row of each block."""
    return AddressMap.over(lambda b: 8 * (b // (8 * columns)) + b % (8 * columns) % 8, (rows * columns,))


@pytest.mark.parametrize("size, block", [(9, 73), (10, 82), (12, 100), (13, 109), (20, 324)])
def test_d01_first_block_outside_a_square_grid(size, block):
    _, coords, story = witness_of(refuted(InBounds(unshrunk(size, size), size)))

    assert coords == ((block,),)
    assert f"past the last valid {size - 1}" in story


def test_d01_seven_blocks_of_81_are_outside():
    assert int((unshrunk(9, 9).table()[1] >= 9).sum()) == 7


@pytest.mark.parametrize("size", [8, 16, 24])
def test_d01_whole_groups_stay_inside(size):
    proved(InBounds(unshrunk(size, size), size))


@pytest.mark.solver
def test_d01_for_all_grids():
    refuted(InBounds(unshrunk(nm, nn), nm))
    proved(InBounds(unshrunk(nm, nn), nm), given=[nm.multiple_of(8)])
    refuted(InBounds(unshrunk(nm, nn), nm), given=[nm.multiple_of(4)])


def rotated(rows: Any, columns: Any, height: Any) -> AddressMap:
    """Row first + b % cur, with the linear block and not the one in the group: a rotation in each column."""

    def tile(b: Any) -> tuple[Any, Any]:
        first = b // (height * columns) * height
        current = minimum(rows - first, height)
        return first + b % current, b % (height * columns) // current

    return AddressMap.over(tile, (rows * columns,))


def test_d02_rotation_is_no_bug():
    proved(Bijective(rotated(nm, nn, 8), (nm, nn)))


@pytest.mark.parametrize("height", [1, 3, 5, 8])
@pytest.mark.parametrize("size", [(1, 1), (9, 4), (7, 5), (29, 9)])
def test_d02_rotation_on_numbers(height, size):
    proved(Bijective(rotated(*size, height), size))


def test_d02_rotation_by_a_symbolic_height():
    proved_or_skipped(Bijective(rotated(nm, nn, g), (nm, nn)), "T18 with a symbolic group height is not done")


def floored(rows: Any, columns: Any) -> AddressMap:
    """[floor(n/8), m, 8]: the loop that forgets the rest."""
    return AddressMap.over(lambda i, j, k: (8 * k + i, j), (8, columns, rows // 8))


def test_d04_floor_of_groups_misses_tiles():
    assert floored(9, 4).size() == 32
    _, _, story = witness_of(refuted(Covers(floored(9, 4), (9, 4))))
    assert story == "no coordinate maps to (8,0)"

    verdict = refuted(Covers(floored(n, m), (n, m)))
    assert verdict.condition == "n % 8 == 0, the weakest condition of this form"


def test_d04_whole_groups_and_small_grids_are_covered():
    proved(Covers(floored(n, m), (n, m)), given=[n.multiple_of(8)])
    height = minimum(n, 8)
    loop = AddressMap.over(lambda i, j, k: (height * k + i, j), (height, m, n // height))
    proved(Covers(loop, (n, m)), given=[n <= 8])
    proved(Covers(loop, (n, m)), given=[n.multiple_of(8)])
    refuted(Covers(loop, (n, m)), given=[n >= 9])


def test_d06_row_swizzled_parallel_domain():
    loop = AddressMap.over(lambda i, j: 8192 * i + (j ^ (8 * (i % 8))), (64, 8192))
    verdict = proved(Injective(loop))
    assert verdict.seconds < 1

    as_swizzle = ComposedLayout(Swizzle(3, 3, 10), 0, Layout((64, 8192), (8192, 1)))
    assert proved(Bijective(as_swizzle, 64 * 8192)).seconds < 0.05
    assert [loop(i, j) == as_swizzle(i, j) for i, j in ((0, 0), (9, 8191), (63, 4097))] == [True] * 3


def test_d08_three_loads_leave_2048_bytes_stale():
    def loads(count: Any) -> Layout:
        return Layout((16, 256, count), (1, 16, 4096))  # (byte, thread, load)

    tile_bytes = 112 * 64 * 2
    assert (tile_bytes // 256, tile_bytes // 256 // 16) == (56, 3)
    assert loads(3).size() == 12_288
    assert tile_bytes - 12_288 == 2048
    assert witness_of(refuted(Surjective(loads(3), tile_bytes)))[2] == "no coordinate maps to 12288"
    proved(Surjective(loads(4), tile_bytes))  # rounded up, with a predicate on the last load
    refuted(InBounds(loads(4), tile_bytes))
    proved(Bijective(loads(tiles), 4096 * tiles))  # tile_m * tile_k * element % 4096 == 0


def test_d08_weakest_condition_on_a_symbolic_tile():
    tile_m, tile_k = dims("tile_m tile_k")
    loads = Layout((16, 256, 2 * tile_m * tile_k // 4096), (1, 16, 4096))
    refuted(Surjective(loads, 2 * tile_m * tile_k))
    proved(Surjective(loads, 2 * tile_m * tile_k), given=[(tile_m * tile_k).multiple_of(2048)])


# -- E. Swizzle and layout equivalence ---------------------------------------------------------------------

BYTES_128 = Swizzle(3, 4, 3)


def hardware_and_software(base: int, size: int) -> tuple[AddressMap, AddressMap]:
    """The swizzle of absolute addresses, and of offsets in the tile."""
    return (
        AddressMap.over(lambda x: BYTES_128(base + x), (size,)),
        AddressMap.over(lambda x: base + BYTES_128(x), (size,)),
    )


def test_e01_a_base_of_128_bytes_breaks_the_swizzle():
    _, coords, story = witness_of(refuted(Equal(*hardware_and_software(128, 128 * 256 * 2))))

    assert coords == ((0,),)
    assert "144" in story
    assert "128" in story
    assert BYTES_128(128 + 0) == 144
    assert 128 + BYTES_128(0) == 128


@pytest.mark.parametrize("base", [0, 1024, 5 * 1024])
def test_e01_a_base_of_1024_bytes_does_not(base):
    proved(Equal(*hardware_and_software(base, 128 * 256 * 2)))


@pytest.mark.parametrize("base", [16, 128, 256, 512, 1536])
def test_e01_any_smaller_alignment_fails(base):
    refuted(Equal(*hardware_and_software(base, 2048)))


def test_e01_for_every_base():
    b = dim("b")
    outside, inside = (
        AddressMap.over(f, (2048,)) for f in (lambda x: BYTES_128(1024 * b + x), lambda x: 1024 * b + BYTES_128(x))
    )
    refuted(Equal(*(AddressMap.over(f, (256,)) for f in (lambda x: BYTES_128(128 * b + x), lambda x: 128 * b + x))))
    proved(Equal(outside, inside))


def test_e02_masked_xor_is_the_byte_swizzle():
    by_hand = AddressMap.over(lambda a: a ^ ((a % 1024) // 128 * 16), (M,))
    as_swizzle = AddressMap.over(lambda a: BYTES_128(a), (M,))
    proved(Equal(by_hand, as_swizzle))
    proved(Equal(by_hand.subs({M: 65536}), as_swizzle.subs({M: 65536})))
    forgotten_mask = AddressMap.over(lambda a: a ^ (a // 128 * 16), (2048,))
    assert witness_of(refuted(Equal(forgotten_mask, as_swizzle.subs({M: 2048}))))[1] == ((1024,),)


def owners(chunk: int) -> tuple[AddressMap, AddressMap]:
    """The warp of each column of a chunk, and of its first column; warps are 96 columns wide."""
    box = (192 // chunk, chunk)
    return (
        AddressMap.over(lambda c, j: (chunk * c + j) // 96, box),
        AddressMap.over(lambda c, j: chunk * c // 96, box),
    )


def test_e03_a_64_wide_chunk_straddles_two_warps():
    _, coords, _ = witness_of(refuted(Equal(*owners(64))))
    assert coords == ((1, 32),)  # chunk 1 is columns 64 .. 127; column 96 belongs to warp 1


@pytest.mark.parametrize("chunk", [32, 16, 96])
def test_e03_narrower_chunks_have_one_owner(chunk):
    proved(Equal(*owners(chunk)))


def test_e06_recast_of_a_byte_swizzle():
    halves = upcast(2, BYTES_128)
    assert halves == Swizzle(3, 3, 3)
    wrong = ComposedLayout(Swizzle(3, 0, 3), 0, Layout(512))
    _, coords, story = witness_of(refuted(Equal(wrong, ComposedLayout(halves, 0, Layout(512)))))
    assert coords == (8,)
    assert story == "index 8: 9 at 8, but 8 at 8"
    proved(Equal(ComposedLayout(halves, 0, Layout((8, 64))), ComposedLayout(Swizzle(3, 3, 3), 0, Layout(512))))


def test_e06_a_negative_base_is_rejected():
    assert upcast(4, BYTES_128) == Swizzle(3, 2, 3)
    with pytest.raises(LayoutError, match="0 <= base"):
        Swizzle(3, -1, 3)


def test_e08_offset_and_table_agree():
    tile = ComposedLayout(Swizzle(1, 3, 3), 0, Layout((64, 16), (16, 1)))
    table = tile.offsets().reshape(64, 16, order="F")

    assert tile(4, 0) == table[4, 0] == 72
    assert all(table[i, j] == tile(i, j) for i in range(64) for j in range(16))
    proved(Bijective(tile, 1024))


def moved_out(steps: int) -> tuple[AddressMap, AddressMap]:
    sw, box = Swizzle(4, 0, 4), (64, 8, steps)
    return (
        AddressMap.over(lambda row, col, k: sw(16 * row + col) + 8 * k, box),
        AddressMap.over(lambda row, col, k: sw(16 * row + col + 8 * k), box),
    )


def test_e11_an_offset_moved_out_of_the_swizzle():
    _, coords, story = witness_of(refuted(Equal(*moved_out(2))))

    assert coords == ((8, 0, 1),)
    assert "144" in story
    assert "128" in story
    proved(Equal(*moved_out(1)))
