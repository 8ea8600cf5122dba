"""The instruction of a copy is the widest that fits for all sizes, with the reason why no better one; waits are named."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from checkers import Vectorizable, prove
from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, Tensor, dim, make_identity_tensor
from symlayout.algorithms import choose_copy, make_gmem_ptr, make_rmem_ptr, make_smem_ptr
from symlayout.algorithms.pointers import Pointer
from symlayout.arch import SM80
from symlayout.atoms import ATOMS

MAKE = {"global": make_gmem_ptr, "shared": make_smem_ptr, "register": make_rmem_ptr}
EIGHT = Layout((8, 4))


def tensors(a: str, b: str, src=EIGHT, dst=EIGHT, kind: str = "f32", offset=0) -> tuple[Tensor, Tensor]:
    return Tensor(MAKE[a](dtype=kind) + offset, src), Tensor(MAKE[b](dtype=kind), dst)


@pytest.mark.parametrize("a, b, word, waits", [
    ("global", "register", "ld.global.16", ()),
    ("register", "global", "st.global.16", ()),
    ("shared", "register", "ld.shared.16", ()),
    ("register", "shared", "st.shared.16", ("CTA barrier",)),
    ("global", "shared", "cp.async.16", ("cp.async group", "CTA barrier")),
    ("shared", "global", "bulk.store", ("bulk group",)),
    ("global", "global", "ld.global.16 + st.global.16", ()),
    ("shared", "shared", "ld.shared.16 + st.shared.16", ("CTA barrier",)),
    ("register", "register", "mov", ()),
])  # fmt: skip
def test_memory_spaces_choose_the_instruction(a, b, word, waits):
    choice = choose_copy(*tensors(a, b))
    assert (choice.atom, choice.waits) == (word, waits)
    assert choice.rejected == ()


@pytest.mark.parametrize("factor, elements", [(1, 1), (2, 2), (6, 2), (4, 4), (8, 4)])
def test_a_row_of_symbolic_length_is_copied_by_the_vectors_that_divide_it(factor, elements):
    """The widest vector of at most 16 bytes that is one for all sizes, whichever way the factor is stated."""
    for n in (factor * dim("N"), dim("N", multiple_of=factor)):
        rows = Layout((n, 3), (1, 2 * n))
        choice = choose_copy(*tensors("global", "shared", rows, rows))

        assert choice.elements == elements
        assert prove(Vectorizable(rows, elements))
        if elements < 4:
            assert choice.rejected[-1][1].endswith(f"and {n} do, where {n} % {2 * elements} == 0 is not known")


def test_a_bulk_copy_needs_an_mbarrier_and_its_architecture():
    pair = tensors("global", "shared")
    assert choose_copy(*pair, mbarrier=True).waits == ("mbarrier",)
    old = choose_copy(*pair, mbarrier=True, arch=SM80)
    assert old.atom == "cp.async.16"
    late = "is there from compute capability 9.0 on, and sm_80 has 8.0"
    assert old.rejected == (("bulk.load", late), ("tma.load", late))


def test_a_tile_of_rows_is_one_for_tma_and_the_choice_says_what_it_lacks():
    """Rows that do not follow one another are no bulk copy; a box would be one, of a tensor map that there is not."""
    rows = Layout((8, 4), (1, 32))
    choice = choose_copy(*tensors("global", "shared", rows, Layout((8, 4))), mbarrier=True)
    assert choice.atom == "cp.async.16"
    assert [word for word, _ in choice.rejected] == ["bulk.load", "tma.load"]
    assert "and 8 of 32 elements do" in choice.rejected[0][1]
    assert choice.rejected[1][1] == "moves a box of a tensor map, and there is none; make_tma_copy makes it"
    back = choose_copy(*tensors("shared", "global", Layout((8, 4)), rows))
    assert [word for word, _ in back.rejected] == ["bulk.store", "tma.store"]


@pytest.mark.parametrize("layout, kind, offset, nbytes, why", [
    (Layout((8, 4)), "f32", 0, 16, ""),
    (Layout((8, 4)), "f32", 2, 8, "needs addresses of whole 16 bytes, and those of global f32 + 2 o (8,4):(1,8) are of 8"),
    (Layout((8, 4)), "f32", 1, 4, "needs addresses of whole 8 bytes"),
    (Layout((8, 4), (4, 1)), "f32", 0, 4, "moves 2 elements that lie side by side in both, and 1 do"),
    (Layout((8, 4), (1, 10)), "f32", 0, 8, "needs addresses of whole 16 bytes"),
    (Layout((6, 4), (1, 8)), "f32", 0, 8, "moves 4 elements that lie side by side in both, and 6 do"),
    (Layout((8, 4)), "f64", 0, 16, ""),
    (Layout((8, 4)), "bf16", 0, 16, ""),
    (Layout((8, 4)), "u8", 0, 16, ""),
    (Layout((7, 3), (1, 9)), "u8", 0, 1, "moves 2 elements"),
    (Layout((8, 4), (1, dim("ld", multiple_of=4))), "f32", 0, 16, ""),
    (Layout((8, 4), (1, dim("ld", multiple_of=2))), "f32", 0, 8, "needs addresses of whole 16 bytes"),
    (Layout((8, 4), (1, dim("ld"))), "f32", 4 * dim("first"), 4, "needs addresses of whole 8 bytes"),
    (Layout((8, 4)), "f32", 2 * dim("first"), 8, "needs addresses of whole 16 bytes"),
])  # fmt: skip
def test_the_widest_vector_that_fits_for_all_sizes(layout, kind, offset, nbytes, why):
    choice = choose_copy(*tensors("global", "register", layout, Layout(layout.shape), kind, offset))
    assert choice.atom == f"ld.global.{nbytes}"
    assert [f"ld.global.{n}" for n in (16, 8, 4, 2) if n > nbytes] == [word for word, _ in choice.rejected]
    assert why in (choice.rejected[-1][1] if choice.rejected else "")


def test_a_swizzle_keeps_vectors_of_its_base():
    tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 8), (1, 64)))
    choice = choose_copy(
        Tensor(make_smem_ptr(dtype="bf16"), tile), Tensor(make_rmem_ptr(dtype="bf16"), Layout((64, 8)))
    )
    assert choice.atom == "ld.shared.16"
    narrow = ComposedLayout(Swizzle(3, 1, 3), 0, Layout((64, 8), (1, 64)))
    choice = choose_copy(
        Tensor(make_smem_ptr(dtype="bf16"), narrow), Tensor(make_rmem_ptr(dtype="bf16"), Layout((64, 8)))
    )
    assert choice.atom == "ld.shared.4"


@pytest.mark.parametrize("seed", range(40))
def test_the_vector_that_is_chosen_is_provable_and_the_next_is_not(seed):
    """Against the claim of the checkers, which knows another way: every address of the vector, enumerated."""
    draw = random.Random(seed)
    shape = draw.choice(((8, 4), (4, 8), (16, 2), (2, 2, 8)))
    order = draw.sample(range(len(shape)), len(shape))
    strides, at = [0] * len(shape), 1
    for i in order:
        strides[i], at = at, at * shape[i] * draw.choice((1, 1, 2))
    layout = Layout(shape, tuple(strides))
    choice = choose_copy(*tensors("global", "register", layout, layout))

    def provable(n: int) -> bool:
        return bool(prove(Vectorizable(layout, n)))

    if order[0] == 0:
        assert provable(choice.elements)
    for wider in (n for n in (2, 4) if n > choice.elements and order[0] == 0):
        assert not provable(wider)


@pytest.mark.parametrize("word, pair, why", [
    ("cp.async.16", tensors("global", "register"), "goes from global to shared, and they are in global and register"),
    ("ldmatrix.x4", tensors("shared", "register", kind="bf16"), "moves a tile by the lanes of a warp"),
    ("tma.load", tensors("global", "shared"), "moves a box of a tensor map, and there is none; make_tma_copy makes it"),
    ("ld.global.2", tensors("global", "register"), "moves 2 bytes, and an element has 32 bits"),
    ("ld.global.16", tensors("global", "register", Layout((8, 4), (4, 1))), "moves 4 elements that lie side by side"),
    ("bulk.load", tensors("global", "shared", Layout(3), Layout(3)), "moves whole 16 bytes, and 3 elements have 12"),
    ("bulk.load", tensors("global", "shared", Layout((4, 4), (1, 8))), "moves bytes that lie side by side in both"),
    ("bulk.load", tensors("global", "shared", offset=1), "needs an address of whole 16 bytes"),
])  # fmt: skip
def test_an_atom_that_does_not_fit_is_an_error_with_the_reason(word, pair, why):
    with pytest.raises(LayoutError) as e:
        choose_copy(*pair, word)
    assert why in str(e.value)
    assert f"got {word}" in str(e.value)


def test_types_and_coordinates_are_not_copied_as_bytes():
    src, dst = tensors("global", "register")
    with pytest.raises(LayoutError, match="moves bytes as they are, and the elements are f32 and f16"):
        choose_copy(src, Tensor(make_rmem_ptr(dtype="f16"), EIGHT), "ld.global.16")
    with pytest.raises(LayoutError, match="make_tma_copy"):
        choose_copy(make_identity_tensor((8, 4)), dst)


def test_every_copy_of_the_table_is_chosen_or_rejected_with_a_reason():
    words = [w for w, row in ATOMS.items() if row.reduction is None and not w.startswith(("mma", "wgmma"))]
    for word, (a, b) in itertools.product(words, itertools.product(MAKE, MAKE)):
        row, pair = ATOMS[word], tensors(a, b)
        if (row.src, row.dst) != (a, b) or 0 < row.bytes < 4 or word.startswith(("ldmatrix", "stmatrix", "tma")):
            with pytest.raises(LayoutError, match=f"got {word}, which [a-z]+ "):
                choose_copy(*pair, word)
        else:
            assert choose_copy(*pair, word).elements * 4 == (row.bytes or 128)


def test_a_pointer_knows_its_alignment():
    assert Pointer.__add__(make_gmem_ptr(dtype="bf16"), 8).alignment == 16
    assert (make_gmem_ptr(dtype="bf16", align_bytes=4) + 8).alignment == 4
    assert (make_gmem_ptr(dtype="bf16") + 3).alignment == 2
    x = np.zeros(8, np.float32)
    assert (make_gmem_ptr(x) + 2) == (make_gmem_ptr(x) + 2) != (make_gmem_ptr(x) + 3)
