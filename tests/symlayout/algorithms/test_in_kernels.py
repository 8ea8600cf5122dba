"""The algorithms inside kernels: tensors become operations, kernels that read like CuTe are proved, mistakes are not."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import Computes, HappensBefore, prove
from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, Tensor, dim, make_identity_tensor
from symlayout.algorithms import Inside, make_copy_atom, make_gmem_ptr, make_rmem_ptr, make_tiled_mma
from symlayout.kernel import Builder
from symlayout.ops import Copy, Mma
from symlayout.results import element
from symlayout.semantics import execute
from symlayout.semantics.expected import expect_results
from tests.support.cute_kernels import cute_gemm


def test_a_product_that_reads_like_cute_is_proved_and_runs():
    kernel = cute_gemm()
    assert prove(kernel)
    for sizes in ({"M": 65, "N": 72, "K": 40}, {"M": 1, "N": 8, "K": 8}):
        for order in ("eager", "lazy", 1):
            expect_results(kernel.bind(**sizes), order)
    assert sum(isinstance(op, Mma) for op in kernel.walk()) == 2
    assert sum(isinstance(op, Copy) and op.atom == "ldmatrix.x4" for op in kernel.walk()) == 8


@pytest.mark.parametrize("missing", ["complete", "again"])
def test_use_before_completion_is_refuted(missing):
    [verdict] = prove(HappensBefore(cute_gemm(**{missing: False}))).verdicts
    assert verdict.outcome.value == "refuted", str(verdict)


def copied(atom=None, src="global", dst="register", kind="f32", layout=None, n=8, when=None):
    """A kernel of one thread that copies *n* elements, and stores them."""
    k = Builder("copied", grid=(1,), threads=32)
    layout = Layout(n) if layout is None else layout
    make = {"global": k.global_tensor, "shared": k.shared_tensor}
    spaces = []
    for name, space in (("x", src), ("y", dst)):
        held = k.registers(name, kind, n) if space == "register" else make[space](name, kind, Layout(4 * n))
        spaces.append(k.tensor(held(), layout if name == "x" else Layout(n)))
    return k, k.copy(*([] if atom is None else [atom]), *spaces, when=when)


@pytest.mark.parametrize("src, dst, words, waits", [
    ("global", "register", ["ld.global.16"] * 2, ()),
    ("global", "shared", ["cp.async.16"] * 2, ("cp.async group", "CTA barrier")),
    ("register", "shared", ["st.shared.16"] * 2, ("CTA barrier",)),
    ("global", "global", ["ld.global.16", "st.global.16"] * 2, ()),
])  # fmt: skip
def test_a_copy_without_an_atom_takes_the_widest(src, dst, words, waits):
    k, issued = copied(src=src, dst=dst)
    ops = [op for top in k._open[0] for op in top.walk() if isinstance(op, Copy)]
    assert issued.waits == waits
    assert [op.atom for op in ops] * (len(words) // len(ops)) == words


def test_strided_elements_are_copied_one_by_one():
    _, issued = copied(layout=Layout((2, 4), (4, 1)))
    assert issued.choice.atom == "ld.global.4"
    assert issued.choice.rejected[-1][0] == "ld.global.8"


@pytest.mark.parametrize("extent, word, why", [
    (8, "ld.global.16", ""), (4, "ld.global.16", ""), (6, "ld.global.8", "moves 4 elements, of which the predicate"),
    (7, "ld.global.4", "moves 2 elements, of which the predicate is not known to hold for all or none"),
    (dim("N"), "ld.global.4", "moves 2 elements"), (dim("N", multiple_of=4), "ld.global.16", ""),
])  # fmt: skip
def test_a_predicated_copy_takes_the_widest_vector_that_is_inside_or_outside_as_one(extent, word, why):
    k, issued = copied(when=Inside(make_identity_tensor((8,)), (extent,)))
    assert issued.choice.atom == word
    assert why in (issued.choice.rejected[-1][1] if issued.choice.rejected else "")
    assert {op.atom for top in k._open[0] for op in top.walk() if isinstance(op, Copy)} == {word}


@pytest.mark.parametrize("given, said", [
    ({"atom": "cp.async.16"}, "expected tensors from global to shared for cp.async.16, got global and register"),
    ({"atom": "ld.global.16", "layout": Layout(8, 2)}, "expected 4 elements side by side in mode 0 for ld.global.16"),
    ({"atom": "ld.global.16", "n": 6}, "expected 4 elements side by side in mode 0"),
    ({"atom": "tma.load", "dst": "shared"}, "expected a copy of so many bytes, or of matrices, got tma.load"),
    (
        {
            "atom": "ld.shared.16",
            "src": "shared",
            "layout": ComposedLayout(Swizzle(2, 1, 3), 0, Layout(8)),
        },
        "expected a swizzle that keeps 4 elements together",
    ),
])  # fmt: skip
def test_an_instruction_that_does_not_fit_is_an_error(given, said):
    with pytest.raises(LayoutError, match=said.replace("(", r"\(")):
        copied(**given)


def test_tensors_of_other_places_are_errors():
    k = Builder("other", grid=(1,), threads=32)
    x = k.tensor(k.registers("x", "f32", 4)())
    with pytest.raises(LayoutError, match=r"expected a tensor of the kernel, as of Builder\.tensor"):
        k.copy("ld.global.4", Tensor(make_gmem_ptr(dtype="f32"), Layout(4)), x)
    with pytest.raises(LayoutError, match="expected a tensor"):
        k.tensor(type(k.registers("y", "f32", 1)())("nobody"))


@pytest.mark.parametrize("change, said", [
    (lambda a, b, c, d: (d, b, c), "expected A of bf16 for mma.m16n8k16.bf16, got f32"),
    (lambda a, b, c, d: (b, a, c), "expected 8 registers side by side for A of mma.m16n8k16.bf16"),
    (lambda a, b, c, d: (a, b, a), r"expected \(V,M,K\), \(V,N,K\) and \(V,M,N\)"),
])  # fmt: skip
def test_fragments_that_are_not_the_instructions_are_errors(change, said):
    k = Builder("fragments", grid=(1,), threads=32)
    shapes = {"a": ("bf16", (8, 2)), "b": ("bf16", (4, 2)), "c": ("f32", (4, 2, 2)), "d": ("f32", (8, 2))}
    a, b, c, d = (k.tensor(k.registers(name, kind, 16)(), Layout(s)) for name, (kind, s) in shapes.items())
    k.gemm(make_tiled_mma("mma.m16n8k16.bf16"), a, b, c)
    with pytest.raises(LayoutError, match=said):
        k.gemm(make_tiled_mma("mma.m16n8k16.bf16"), *change(a, b, c, d))


def test_a_predicated_copy_leaves_the_rest_alone():
    N = dim("N")
    k = Builder("tail", N, grid=((N + 31) // 32,), threads=32)
    src, dst = (k.tensor(k.global_tensor(x, "f32", Layout(N))()) for x in ("src", "dst"))
    x = k.tensor(k.registers("x", "f32", 1)(), Layout(1))

    def mine(t):
        return Tensor((t.iterator + 32 * k.block[0]) + k.thread, Layout(1))

    at = make_identity_tensor((N,))
    coords = Tensor(
        at.iterator + Layout((N,), at.layout.stride)(32 * k.block[0] + k.thread), Layout(1, at.layout.stride[0])
    )
    inside = Inside(coords, (N,))
    k.copy("ld.global.4", mine(src), x, when=inside)
    k.copy("st.global.4", x, mine(dst), when=inside)
    k.result("dst", lambda i: element("src", i))
    kernel = k.kernel()
    assert prove(kernel)
    data = np.arange(37, dtype=np.float32)
    assert np.array_equal(execute(kernel.bind(N=37), {"src": data})["dst"], data)


def test_what_a_lane_holds_is_what_ldmatrix_gives_it():
    """A copy of a tile by ldmatrix into a fragment, stored where the product's layout says: the tile again."""
    from symlayout.algorithms import make_tiled_copy_A

    k = Builder("fragment", grid=(1,), threads=32)
    src, dst = (k.global_tensor(x, "f16", Layout((16, 16), (16, 1))) for x in ("src", "dst"))
    tile = k.shared_tensor("tile", "f16", Layout((16, 16), (16, 1)))
    mma = make_tiled_mma("mma.m16n8k16.f16")
    read = make_tiled_copy_A(make_copy_atom("ldmatrix.x4", "f16"), mma)
    whole, r = k.tensor(tile()), k.registers("r", "f16", 8)
    fragment = Tensor(make_rmem_ptr("r", "f16"), mma.get_slice(0).partition_fragment_A(whole).layout)
    at = 16 * (k.thread // 2) + 8 * (k.thread % 2)
    k.copy("cp.async.16", src(at), tile(at))
    k.commit("cp.async")
    k.wait_group("cp.async", 0)
    k.sync()
    k.copy(read, read.get_slice(k.thread).partition_S(whole), read.retile(fragment))
    k.copy("st.global.4", fragment, mma.get_slice(k.thread).partition_A(k.tensor(dst())))
    k.result("dst", lambda m, n: element("src", m, n))
    assert r().tensor == "r"
    assert prove(Computes(k.kernel(), "dst"))
