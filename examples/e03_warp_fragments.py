"""Fragments of mma.sync and ldmatrix, and why one feeds the other.

The (thread, value) layouts are those of CuTe's atoms (PTX ISA, Matrix Fragments for mma.m16n8k16, and
ldmatrix). That every element has exactly one owner is the smaller part. The larger: ldmatrix.x4 followed by
mma.m16n8k16 is right because the four 8x8 matrices, taken down M before K, make the destination registers
*equal* to the A fragment; taken along K first they do not, and registers 1 and 2 are exchanged.
"""

from checkers import Equal, Partition
from symlayout import Layout, composition

MMA = {  # operand -> (layout, elements of the tile)
    "m16n8k16 bf16 A": ("((4,8),(2,2,2)):((32,1),(16,8,128))", 16 * 16),
    "m16n8k16 bf16 B": ("((4,8),(2,2)):((16,1),(8,64))", 8 * 16),
    "m16n8k16 C": ("((4,8),(2,2)):((32,1),(16,8))", 16 * 8),
    "m16n8k8 tf32 A": ("((4,8),(2,2)):((16,1),(8,64))", 16 * 8),
    "m16n8k8 tf32 B": ("((4,8),2):((8,1),32)", 8 * 8),
    "m16n8k32 e4m3 A": ("((4,8),(4,2,2)):((64,1),(16,8,256))", 16 * 32),
    "m16n8k32 e4m3 B": ("((4,8),(4,2)):((32,1),(8,128))", 8 * 32),
}

LDMATRIX = {  # matrices -> (source, its copies, destination, transposed destination), 64 elements a matrix
    1: ("((8,4),8):((8,0),1)", 4, "(32,2):(2,1)", "((4,8),(1,2)):((16,1),(1,8))"),
    2: ("((16,2),8):((8,0),1)", 2, "(32,(2,2)):(2,(1,64))", "((4,8),(1,2,2)):((16,1),(1,8,64))"),
    4: ("(32,8):(8,1)", 1, "(32,(2,4)):(2,(1,64))", "((4,8),(1,2,4)):((16,1),(1,8,64))"),
}

A_BF16, B_BF16 = (Layout.parse(MMA[f"m16n8k16 bf16 {x}"][0]) for x in "AB")
X2, X2_TRANS, X4 = (Layout.parse(LDMATRIX[n][column]) for n, column in ((2, 2), (2, 3), (4, 2)))


def claim_mma_operands() -> list[Partition]:
    return [Partition(Layout.parse(text), onto=size) for text, size in MMA.values()]


def claim_ldmatrix() -> list[Partition]:
    """Row addresses come from 8, 16 or 32 lanes; the addresses of the other lanes are copies, and ignored."""
    out = []
    for matrices, (source, copies, *destinations) in LDMATRIX.items():
        out.append(Partition(Layout.parse(source), onto=64 * matrices, copies=copies))
        out += [Partition(Layout.parse(text), onto=64 * matrices) for text in destinations]
    return out


def a_tile(matrices, strides):
    """8 columns, 8 rows, 2x2 matrices -> m + 16*k: where the elements of four matrices lie in A."""
    return Layout((8, 8, *matrices), (16, 1, *strides))


x4_is_the_a_fragment = Equal(composition(a_tile((2, 2), (8, 128)), X4), A_BF16)
x4_along_k_first = Equal(composition(a_tile((2, 2), (128, 8)), X4), A_BF16, expect="refuted")
x2_is_the_b_fragment_of_a_k_major_tile = Equal(composition(Layout((8, 8, 2), (8, 1, 64)), X2), B_BF16)
x2_trans_is_the_b_fragment_of_an_n_major_tile = Equal(X2_TRANS, B_BF16)
x2_without_trans = Equal(X2, B_BF16, expect="refuted")
every_lane_has_an_address_of_its_own = Partition(Layout.parse(LDMATRIX[1][0]), onto=64, expect="refuted")
