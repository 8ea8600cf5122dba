"""Kernels that were once proved though they are wrong, found by hand: names, declarations, parts of bytes.

Random kernels (``benchmarks.soundness``) came from builders that use each index inside its own loop, under names that no
prover gives to an index of its own, and from elements of whole bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from checkers import prove
from checkers.claim import Claim
from checkers.claims.global_order import GlobalOrder
from checkers.claims.holds import Holds
from symlayout import Layout, dim, f32
from symlayout.answers.report import Outcome, Report
from symlayout.errors import LayoutError, SymlayoutError
from symlayout.expr import evaluate, index, xor
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import Result, element
from symlayout.tma import TensorMap

N = dim("N")


def refuted(report: Report) -> set[str]:
    return {v.claim.kind for v in report.verdicts if v.outcome is Outcome.REFUTED}


def filled(k: Builder) -> Any:
    """A register of zeros."""
    r = k.registers("r", f32, 4)
    k.fill(r(), 0, 4)
    return r


# -- a symbol is more than its name ---------------------------------------------------------------------


def a_roles_thread(outside: bool) -> Kernel:
    """Stores by the index of a role's thread, in the role or by all threads."""
    k = Builder("a_roles_thread", grid=(1,), threads=128)
    t, r = k.global_tensor("t", f32, Layout(32)), filled(k)
    with k.role("one", 1):
        thread = k.thread
        if not outside:
            k.copy("st.global.4", r(), t(thread))
    if outside:
        k.copy("st.global.4", r(), t(thread))
    return k.kernel()


def another_loops_index(own: bool) -> Kernel:
    """Stores by the index of a loop, in it or in a longer loop of the same name."""
    k = Builder("another_loops_index", grid=(1,), threads=32)
    t, r = k.global_tensor("t", f32, Layout(128)), filled(k)
    with k.loop("i", 4) as i:
        k.warp_sync()
    with k.loop("i", 4 if own else 8) as j:
        k.copy("st.global.4", r(), t(k.thread + 32 * (j if own else i)))
    return k.kernel()


def another_grids_block(n: int) -> Kernel:
    """A grid of 2 blocks, and stores by the index of one of *n*."""
    k = Builder("another_grids_block", grid=(2,), threads=32)
    t, r = k.global_tensor("t", f32, Layout(64)), filled(k)
    k.copy("st.global.4", r(), t(k.thread + 32 * index("block_x", n)))
    return k.kernel()


def a_size_of_another_range(most: int) -> Kernel:
    """Stores by a size of which the operation knows more than the kernel."""
    k = Builder("a_size_of_another_range", dim("S", at_most=2), grid=(1,), threads=32)
    t, r = k.global_tensor("t", f32, Layout(64)), filled(k)
    with k.loop("i", 2) as i, k.where(i < dim("S", at_most=most)):
        k.copy("st.global.4", r(), t(k.thread + 32 * i))
    return k.kernel()


@pytest.mark.parametrize(
    "make, right, wrong",
    [
        (a_roles_thread, False, True),
        (another_loops_index, True, False),
        (another_grids_block, 2, 1),
        (a_size_of_another_range, 2, 1),
    ],
)
def test_an_index_of_another_range_is_no_index_of_this_name(
    make: Callable[[Any], Kernel], right: Any, wrong: Any
) -> None:
    """Names alone were compared: provers took the range of the symbol, which the value in the kernel does not keep.

    Builders hand out an index inside its loop, and mutants of a loop's trip count had all their uses renamed.
    """
    assert "well formed" not in refuted(prove(make(right)))
    assert "well formed" in refuted(prove(make(wrong)))


def test_what_is_given_is_about_sizes() -> None:
    """A fact about the block made a claim about its tensor copies one about the first block; others ended in KeyError."""

    def stored(*given: str) -> Kernel:
        rows = Layout((64, 8), (1, 64))
        k = Builder("stored", N, grid=(8,), threads=32)
        m = k.tensor_map("m", k.global_tensor("t", f32, rows)(), TensorMap.over(rows, f32, (64, 8)))
        s = k.shared_tensor("s", f32, Layout(512))
        with k.elect():
            k.copy("tma.store", s(1024 * k.block[0]), m(0, 8 * k.block[0]))
            k.commit("bulk")
            k.wait_group("bulk", 0)
        return k.kernel(*{"block": (k.block[0] <= 0,), "another size": (dim("M") <= 4,)}.get("".join(given), ()))

    found = refuted(prove(stored()))
    assert found
    assert "well formed" not in found
    for given in ("block", "another size"):
        assert refuted(prove(stored(given))) == {"well formed"}


@pytest.mark.parametrize("part", ["grid", "tensor"])
def test_a_size_that_is_not_declared_has_no_value(part: str) -> None:
    """Names in operations were looked at, those of declarations not: a proof ended in KeyError."""
    k = Builder("undeclared", N, grid=(dim("M") if part == "grid" else 1,), threads=32)
    t, r = k.global_tensor("t", f32, Layout(32 * dim("M"))), filled(k)
    k.copy("st.global.4", r(), t(k.thread))
    assert refuted(prove(k.kernel())) == {"well formed"}


# -- names that provers make up -------------------------------------------------------------------------


def behind_another(loop: str) -> Kernel:
    """All threads load elements 0 to 7; one stores elements 1 to 8, and no barrier stands between."""
    k = Builder("behind_another", grid=(1,), threads=64)
    t, r = k.global_tensor("t", f32, Layout(9)), k.registers("r", f32, 1)
    with k.loop(loop, 8) as i:
        k.copy("ld.global.4", t(i), r())
    with k.elect(), k.loop("i", 8) as i:
        k.copy("st.global.4", r(), t(i + 1))
    return k.kernel()


def below_a_slot(loop: str) -> Kernel:
    """Stores to a slot of a ring less an index: below the tensor where that is more."""
    k = Builder("below_a_slot", N, grid=(1,), threads=32)
    t, s, r = k.global_tensor("t", f32, Layout(32)), k.shared_tensor("s", f32, Layout(32)), filled(k)
    with k.loop("i", N) as i, k.loop(loop, 4) as j:
        k.copy("st.shared.4", r(), s(k.thread + 32 * (i % 4) - 32 * j))
    k.copy("st.global.4", r(), t(k.thread))
    return k.kernel()


def at_any_base(loop: str) -> Kernel:
    """Vectors of 16 bytes at every third element, in a tensor that is aligned to 4 bytes."""
    k = Builder("at_any_base", grid=(1,), threads=32)
    t, r = k.global_tensor("t", f32, Layout(32 * 16), align_bytes=4), filled(k)
    with k.loop(loop, 4) as i:
        k.copy("st.global.16", r(), t(16 * k.thread + 3 * i))
    return k.kernel()


@pytest.mark.parametrize("loop", ["j", "i__b"])
def test_one_begins_behind_the_other_whatever_its_loop_is_called(loop: str) -> None:
    """Indices that a proof makes up had names that a loop may have, and then were the loop's.

    No random kernel had such a loop; those of ``benchmarks.soundness`` now have.
    """
    found = prove(GlobalOrder(behind_another(loop), "t"))
    assert refuted(found) == {"global order"}


@pytest.mark.parametrize("loop", ["j", "slot_0"])
def test_a_slot_is_no_index_of_the_kernel(loop: str) -> None:
    """The slot i % 4 became an index ``slot_0``, from which the loop's was subtracted: all was proved."""
    assert "in bounds" in refuted(prove(below_a_slot(loop)))


@pytest.mark.parametrize("loop", ["j", "t_base"])
def test_a_base_is_no_index_of_the_kernel(loop: str) -> None:
    """Three times the loop's index and the base of one name were four, which 16 bytes divide."""
    assert "aligned" in refuted(prove(at_any_base(loop)))


# -- declarations ---------------------------------------------------------------------------------------


def twice(what: str) -> Kernel:
    sizes = (N, dim("N", at_most=4)) if what == "size" else ()
    k = Builder("twice", *sizes, grid=(1,), threads=64)
    t, r = k.global_tensor("t", f32, Layout(64)), filled(k)
    if what == "tensor":
        k.global_tensor("t", f32, Layout(32))
    if what == "array of mbarriers":
        for arrivals in (1, 64):
            k.mbarriers("full", 1, arrivals)
    k.copy("st.global.4", r(), t(k.thread))
    return k.kernel()


@pytest.mark.parametrize("what", ["size", "tensor", "array of mbarriers"])
def test_a_name_is_declared_once(what: str) -> None:
    """Proofs looked at the first tensor of a name alone, whichever the operation was about."""
    with pytest.raises(LayoutError, match=f"expected one {what} of a name"):
        twice(what)


@pytest.mark.parametrize("name", ["thread", "block_x", "block_z"])
def test_a_size_or_loop_has_no_name_of_an_index(name: str) -> None:
    """A size ``block_x`` was the block's index where names are looked at."""
    with pytest.raises(LayoutError, match="name that no"):
        Builder("a_size", dim(name), grid=(1,), threads=32).kernel()
    k = Builder("a_loop", grid=(1,), threads=32)
    with pytest.raises(LayoutError, match="name that nothing else has"), k.loop(name, 4):
        pass


def test_registers_of_a_role_are_its_own() -> None:
    """Another role stored what one had in registers: no claim asked whose threads hold them."""
    k = Builder("of_another", grid=(1,), threads=64)
    t = k.global_tensor("t", f32, Layout(64))
    with k.role("a", 1):
        r = filled(k)
    with k.role("b", 1):
        for half in (0, 32):
            k.copy("st.global.4", r(), t(k.thread + half))
    assert refuted(prove(k.kernel())) == {"well formed"}


def test_results_name_elements_that_there_are() -> None:
    """Builders looked at the coordinates of a result, a kernel that was changed nobody: a proof ended in ValueError.

    Of half the elements of an output the claim about its values read as if it were of all.
    """
    k = Builder("results", N, grid=((N + 31) // 32,), threads=32)
    x, z = k.global_tensor("x", f32, Layout(N)), k.global_tensor("z", f32, Layout(N))
    r, i = k.registers("r", f32, 1), 32 * k.block[0] + k.thread
    with k.where(i < N):
        k.copy("ld.global.4", x(i), r())
        k.copy("st.global.4", r(), z(i))
    k.result("z", lambda i: element("x", i))
    kernel = k.kernel()
    assert prove(kernel)

    few, other = index("i", 4), dim("j", at_least=0, at_most=3)
    for result in (
        Result("z", (few,), element("x", few)),
        Result("z", kernel.results[0].coords, element("x", *kernel.results[0].coords, 0)),
        Result("z", kernel.results[0].coords, element("x", other)),
        Result("z", kernel.results[0].coords, element("y", *kernel.results[0].coords)),
    ):
        assert refuted(prove(replace(kernel, results=(result,)))) == {"well formed"}


# -- parts of bytes -------------------------------------------------------------------------------------


def nibbles(n: int, at: int, count: int) -> Kernel:
    k = Builder("nibbles", grid=(1,), threads=32)
    t = k.global_tensor("t", "e2m1", Layout(n))
    with k.elect():
        k.fill(t(at), 0, count)
    return k.kernel()


@pytest.mark.parametrize("n, at, count", [(2, 0, 3), (4, 0, 5), (4, 2, 3), (4, 1, 2), (4, 0, 3)])
def test_fills_of_parts_of_bytes_are_not_proved(n: int, at: int, count: int) -> None:
    """Bytes were rounded down: three elements of 4 bits were two to the claim that they are inside.

    No random kernel has elements of less than a byte.
    """
    assert prove(nibbles(4, 0, 4))
    assert refuted(prove(nibbles(n, at, count))) & {"in bounds", "holds"}


@pytest.mark.parametrize("step", [32, 1])
def test_vectors_of_parts_of_bytes_are_aligned(step: int) -> None:
    """What begins between two bytes, or at no multiple of 16, was not asked where elements have 4 bits."""
    k = Builder("vectors", grid=(1,), threads=32)
    t, r = k.global_tensor("t", "e2m1", Layout(1024)), k.registers("r", "e2m1", 32)
    u = k.global_tensor("u", f32, Layout(128))
    k.copy("ld.global.16", t(step * k.thread), r())
    k.copy("st.global.16", r(), u(4 * k.thread))
    assert bool(prove(k.kernel())) is (step == 32)


def test_a_tensor_has_the_byte_that_its_last_element_is_part_of() -> None:
    """Two tensors of shared memory had a byte in common, and none to the claim about such."""
    k = Builder("odd", grid=(1,), threads=32)
    for name in ("a", "b"):
        k.shared_tensor(name, "e2m1", Layout(3), align=1)
    assert [(t.base, t.bytes) for t in k.kernel().tensors] == [(0, 2), (2, 2)]


# -- words of the solver --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_model_of_bits_keeps_the_ranges(seed: int) -> None:
    """A range such as a <= b <= 15 overflowed in the solver's words, and an InternalError told of a wrong model."""
    a = dim("a", at_least=0, at_most=31)
    b = dim("b", at_least=a, at_most=15)
    c = dim("c", at_least=0, at_most=b)
    claims: list[Claim] = [
        Holds(2 * ((c + 1) // 2) >= c + 1, "x", given=(xor(b, 1) + 1 <= 0,)),
        Holds(a >= 3 * (2 * a // 3) + xor(b, 2), "x", given=(xor(a, b) >= 9,)),
        Holds(xor(b, a) <= 14, "x"),
        Holds(xor(b, a) <= 15, "x"),
    ]
    expected = [Outcome.VACUOUS, Outcome.REFUTED, Outcome.REFUTED, Outcome.PROVED]
    assert [v.outcome for v in prove(claims[seed]).verdicts] == [expected[seed]]


def test_a_shift_by_a_number_of_many_digits_is_refused_in_words() -> None:
    """Python writes no number of more than 4300 digits, and its ValueError went through."""
    n = dim("n")
    with pytest.raises(SymlayoutError, match="got a number of 33220 bits"):
        evaluate(1 << n, {n: 10**10000})
