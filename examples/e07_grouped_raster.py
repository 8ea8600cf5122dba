"""The grouped raster of a GEMM grid, for all grids: groups of 8 tile rows, each walked column by column.

The last group is as tall as what is left; with the shrinking min it is a bijection of the grid, without it
(ROCm/FlyDSL PR #979) the rows leave the grid as soon as 8 does not divide their number: 9x9 fails first at
block 73. Rotating each column (flashinfer-ai/flashinfer PR #3283) was called critical by a review bot: it is
only another bijection. Bijectivity is shown by counting (bounds, injectivity, as many blocks as tiles): a
solver asked for coverage directly does not answer.
"""

from checkers import Bijective, Covers, InBounds
from symlayout import E, Layout, dims, minimum
from symlayout.address_map import AddressMap

nm, nn, k = dims("nm nn k")
n, m = dims("n m")


def raster(bid, height, rotated=False):
    """Block -> (tile row, tile column)."""
    group, rest = bid // (height * nn), bid % (height * nn)
    first = height * group
    current = minimum(nm - first, height)
    row = first + (bid if rotated else rest) % current
    return row, rest // current


GROUPED = AddressMap.over(lambda bid: raster(bid, 8), nm * nn)
ROTATED = AddressMap.over(lambda bid: raster(bid, 8, rotated=True), nm * nn)
grouped = Bijective(GROUPED, onto=(nm, nn))
rotated_is_a_bijection_too = Bijective(ROTATED, onto=(nm, nn))


def unshrunk(rows, columns):
    def walk(bid):
        return 8 * (bid // (8 * columns)) + bid % 8, bid // 8 % columns

    return AddressMap.over(walk, rows * columns)


without_the_shrinking_tail = InBounds(unshrunk(nm, nn), (nm, nn), expect="refuted")
square_beyond_one_group = InBounds(unshrunk(k, k), (k, k), given=k >= 9, expect="refuted")
whole_groups_need_no_tail = Bijective(Layout((8, nn, k), (E(0), E(1), 8 * E(0))), onto=(8 * k, nn))


def claim_square_grids() -> list[InBounds]:
    """The failing and passing grids of the report, each with its first bad block."""
    failing = [InBounds(unshrunk(g, g), (g, g), expect="refuted") for g in (9, 10, 12, 13, 20)]
    return failing + [InBounds(unshrunk(g, g), (g, g)) for g in (8, 16, 24)]


# tile-ai/tilelang #2433: a persistent loop over [n // 8, m, 8] visits 32 of 36 tiles of n = 9, m = 4.
FLOORED = AddressMap.over(lambda i, j, r: (8 * i + r, j), (n // 8, m, 8))
floored_groups = Covers(FLOORED, (n, m), given=n >= 8, expect="refuted")
floored_groups_of_whole_size = Covers(FLOORED, (n, m), given=n.multiple_of(8))


def main() -> None:
    """The order in which a 10x6 grid is walked, the last group two rows tall."""
    walk = GROUPED.subs({nm: 10, nn: 6})
    order = {walk(bid): bid for bid in range(60)}
    for row in range(10):
        print(" ".join(f"{order[row, column]:>2}" for column in range(6)))


if __name__ == "__main__":
    main()
