"""The accumulator of a Hopper wgmma.m64n64k16, as a (thread, value) layout over the 64x64 tile.

The six points that the figure of the PTX ISA names (wgmma.mma_async, accumulator fragment) are the images of the six
unit coordinates of ((4,8,4),(2,2,8)), so they *are* its strides; everything else follows by linearity. The
walk-through of the layout in the forum thread about the paper writes 4c for the warp digit. The stride gives 16c:
with 4, warps 1 to 3 land inside the rows of warp 0.
"""

from checkers import Bijective, Equal, Partition
from symlayout import E, Layout, composition
from symlayout.address_map import AddressMap

ACC = Layout.parse("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))")  # -> m + 64*n
TILE = Layout((64, 64), (E(0), E(1)))  # m + 64*n -> (m, n)
ELEMENT = composition(TILE, ACC)  # (thread, value) -> (m, n)

each_element_once = Partition(ACC, onto=64 * 64)
each_coordinate_once = Bijective(ELEMENT, onto=(64, 64))

#          T1D0 -> (0,2)  T4D0 -> (1,0)  T32D0 -> (16,0)    T0D1 -> (0,1)  T0D2 -> (8,0)  T0D4 -> (0,8)
NAMED = ((2 * E(1), E(0), 16 * E(0)), (E(1), 8 * E(0), 8 * E(1)))
six_points_of_the_figure = Equal(ELEMENT, Layout(((4, 8, 4), (2, 2, 8)), NAMED))


def claim_formula_of_the_isa() -> Equal:
    """Row and column as the ISA writes them, for all 128 threads and 32 values."""

    def isa(t, v):
        row = 16 * (t // 32) + t // 4 % 8 + 8 * (v // 2 % 2)
        column = 8 * (v // 4) + 2 * (t % 4) + v % 2
        return row, column

    return Equal(AddressMap.over(lambda t, v: ELEMENT(t, v), (128, 32)), AddressMap.over(isa, (128, 32)))


SLIP = Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 4), (64, 8, 512)))  # 4c in place of 16c
slip_is_no_bijection = Bijective(SLIP, onto=64 * 64, expect="refuted")
slip_moves_t32 = Equal(SLIP, ACC, expect="refuted")
slip_moves_t32_to_row_4 = Equal(composition(TILE, SLIP), ELEMENT, expect="refuted")


def main() -> None:
    """The named points, step by step as in the thread."""
    print(f"{'point':>6}  {'(T,V)':>7}  {'index':>5}  (m,n)")
    for t, v in ((1, 0), (4, 0), (32, 0), (0, 1), (0, 2), (0, 4), (37, 5), (127, 31)):
        m, n = ELEMENT(t, v)
        print(f"{f'T{t}D{v}':>6}  {f'({t},{v})':>7}  {ACC(t, v):>5}  ({m},{n})")


if __name__ == "__main__":
    main()
