"""The instruction of a product and the copy of its operands are the best that fit, with the reason why no better one."""

from __future__ import annotations

import pytest

from checkers import Computes, prove
from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, Tensor, tile_to_shape
from symlayout.algorithms import (
    choose_mma,
    choose_operand_copy,
    make_gmem_ptr,
    make_rmem_ptr,
    make_smem_ptr,
    make_tiled_mma,
)
from symlayout.arch import SM80
from symlayout.atoms import ATOMS, MmaAtom
from symlayout.kernel import Builder
from symlayout.ops import Ref
from symlayout.results import element


@pytest.mark.parametrize("types, tile, options, word, why", [
    (("bf16", "f32"), (128, 256, 64), {}, "wgmma.m64n256k16.bf16", ""),
    (("bf16", "f32"), (128, 512, 64), {"registers": True}, "wgmma.m64n256k16.bf16.rs", ""),
    (("f16", "f16"), (64, 96, 16), {}, "wgmma.m64n96k16.f16.f16", ""),
    (("bf16", "f32"), (128, 256, 64), {"arch": SM80}, "mma.m16n8k16.bf16", "is there from compute capability 9.0 on"),
    (("bf16", "f32"), (32, 256, 64), {}, "mma.m16n8k16.bf16", "multiplies 64 rows at a time, and there are 32"),
    (("bf16", "f32"), (16, 8, 24), {}, "mma.m16n8k8.bf16", "multiplies 16 elements of K at a time, and there are 24"),
    (("tf32", "f32"), (16, 8, 4), {}, "mma.m16n8k4.tf32", "multiplies 8 elements of K at a time, and there are 4"),
    (("i8", "i32"), (16, 8, 32), {}, "mma.m16n8k32.i8", "multiplies 64 rows"),
    (("bf16", "f32"), (15, 8, 16), {}, "fma", "multiplies 16 rows at a time, and there are 15"),
    (("f64", "f64"), (16, 8, 16), {}, "mma.m16n8k16.f64", ""),
    (("f64", "f64"), (16, 8, 16), {"arch": SM80}, "mma.m8n8k4.f64", "is there from compute capability 9.0 on"),
    (("i8", "i32"), (8, 8, 16), {}, "mma.m8n8k16.i8", "multiplies 16 rows at a time, and there are 8"),
    (("f64", "f32"), (16, 8, 16), {}, "fma", "there is none of f64 with sums of f32"),
])  # fmt: skip
def test_the_greatest_product_that_fits(types, tile, options, word, why):
    chosen = choose_mma(*types, tile, **options)
    assert chosen.word == word
    assert why in (chosen.rejected[-1][1] if chosen.rejected else "")
    assert bool(why) is bool(chosen.rejected)


def test_what_is_chosen_divides_the_tile_and_nothing_greater_does():
    rows = [r for r in ATOMS.values() if isinstance(r, MmaAtom) and r.dtype.name == "bf16"]
    of_shared = [r for r in rows if not r.word.endswith(".rs")]
    for tile in ((m, n, k) for m in (16, 48, 64, 192) for n in (8, 40, 104, 264) for k in (8, 16, 48)):
        word = choose_mma("bf16", "f32", tile).word
        fitting = [r for r in of_shared if all(n % unit == 0 for n, unit in zip(tile, r.mnk, strict=True))]
        most = max((r.mnk[0] * r.mnk[1] * r.mnk[2] for r in fitting), default=0)
        assert word == "fma" if not fitting else _size(word) == most


def _size(word):
    m, n, k = ATOMS[word].mnk
    return m * n * k


LAYOUTS = {
    "rows": (Layout((32, 32), (32, 1)), "ldmatrix.x4"),
    "columns": (Layout((32, 32), (1, 32)), "ldmatrix.x4.trans"),
    "swizzled": (tile_to_shape(ComposedLayout(Swizzle(2, 3, 3), 0, Layout((8, 32), (32, 1))), (32, 32)), "ldmatrix.x4"),
    "padded by 4 bytes": (Layout((32, 32), (34, 1)), "ld.shared.4"),
    "padded by 16 bytes": (Layout((32, 32), (40, 1)), "ldmatrix.x4"),
    "every other": (Layout((32, 32), (64, 2)), "ld.shared.2"),
}


@pytest.mark.parametrize("operand", "AB")
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_copy_that_is_chosen_fills_the_fragment(name, operand):
    """A tile goes to shared memory, from there by the chosen copy to registers, and back where the product has them."""
    layout, word = LAYOUTS[name]
    k = Builder("operand", grid=(1,), threads=128)
    src, dst = (k.global_tensor(x, "f16", Layout((32, 32), (32, 1))) for x in ("src", "dst"))
    tile, one = k.tensor(k.shared_tensor("tile", "f16", layout)()), k.registers("one", "f16", 1)
    mma = make_tiled_mma("mma.m16n8k16.f16", (2, 2, 1), (32, 32, 16))
    with k.loop("i", 8) as i:
        at = 128 * i + k.thread
        k.copy("ld.global.2", src(at), one())
        k.copy("st.shared.2", one(), Ref("tile", tile(at // 32, at % 32).offset))
    k.sync()
    copied, chosen = choose_operand_copy(tile, mma, operand)
    mine = mma.get_slice(k.thread)
    like = getattr(mine, f"partition_fragment_{operand}")(Layout((32, 32)))
    k.registers("held", "f16", int(like.size()))
    fragment = Tensor(make_rmem_ptr("held", "f16"), like.layout)
    k.copy(copied, copied.get_slice(k.thread).partition_S(tile), copied.retile(fragment))
    k.copy("st.global.4", fragment, getattr(mine, f"partition_{operand}")(k.tensor(dst())))
    k.result("dst", lambda m, n: element("src", m, n))

    assert chosen.word == word
    assert prove(Computes(k.kernel(), "dst"))


@pytest.mark.parametrize("tile, word, said", [
    (Tensor(make_gmem_ptr(dtype="bf16"), Layout((16, 16))), "mma.m16n8k16.bf16", "expected a tile (row, k) of bf16 in sh"),
    (Tensor(make_smem_ptr(dtype="f32"), Layout((16, 16))), "mma.m16n8k16.bf16", "expected a tile (row, k) of bf16"),
    (Tensor(make_smem_ptr(dtype="bf16"), Layout(16)), "mma.m16n8k16.bf16", "expected a tile (row, k) of bf16"),
    (Tensor(make_smem_ptr(dtype="bf16"), Layout((64, 16))), "wgmma.m64n8k16.bf16", "which reads shared memory"),
])  # fmt: skip
def test_what_is_no_operand_is_an_error(tile, word, said):
    with pytest.raises(LayoutError) as e:
        choose_operand_copy(tile, make_tiled_mma(word), "A")
    assert said in str(e.value)
