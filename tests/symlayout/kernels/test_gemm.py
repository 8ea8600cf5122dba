"""The persistent GEMM: its product under every order, what a forgotten wait or fence does to it, its text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from checkers import SameBytes, prove
from symlayout import LayoutError, dims
from symlayout.atoms import DescriptorRead
from symlayout.errors import ExecutionError
from symlayout.kernels.gemm import SIZES, STEP_K, bound, gemm, reference
from symlayout.ops import Arrive, Copy, Fence, Matrix, Mma, Ref, Wait, WaitGroup
from symlayout.semantics import execute, expect_reference
from tests.support.rows import telling

GOLDEN = Path(__file__).parent / "golden"
REFRESH = "SYMLAYOUT_REFRESH_GOLDEN"  # set it to write the files anew
ORDERS = ("eager", "lazy", 1)
SMALL = {
    "one warpgroup": {"tile": (64, 64), "stages": 2, "cluster": 1, "blocks": 2, "group": 1},
    "two": {"tile": (128, 128), "stages": 3, "cluster": 1, "blocks": 2},
    "cluster": {"tile": (128, 128), "stages": 3, "cluster": 2, "blocks": 4, "group": 2},
    "f16": {"tile": (64, 192), "dtype": "f16", "stages": 2, "cluster": 1, "blocks": 1},
    "whole": {"cluster": 1, "blocks": 2},
}


def operands(sizes, dtype=ml_dtypes.bfloat16, integers=False):
    draw = np.random.default_rng(1)
    shapes = {"a": (sizes["M"], sizes["K"]), "b": (sizes["N"], sizes["K"])}
    if integers:  # whose sums are exact in any order
        return {name: draw.integers(-3, 4, shape).astype(dtype) for name, shape in shapes.items()}
    return {name: draw.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", telling(SMALL, "one warpgroup", "two", "cluster", "f16"))
def test_exact_sums_are_the_reference_bit_by_bit(share, name, order):
    """Several tiles, which other orders than the latest run in a campaign, and less than one."""
    kind = np.float16 if name == "f16" else ml_dtypes.bfloat16
    tiles = [{"M": 136, "N": 264, "K": 136}] if order == "lazy" or share(2) == 2 else []
    for sizes in (*tiles, {"M": 8, "N": 8, "K": 8}):
        expect_reference(gemm(*dims("M N K"), **SMALL[name]).bind(**sizes), operands(sizes, kind, True), order)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sums_are_within_the_bound(sizes):
    given = operands(sizes)
    got = execute(gemm(*dims("M N K"), **SMALL["one warpgroup"]).bind(**sizes), given)["c"]
    off = np.abs(got.astype(np.float64) - reference(**given)["c"].astype(np.float64))

    assert (off <= bound(**given)["c"]).all()
    assert bound(**given)["c"].max() < 1


def test_the_bound_is_no_free_pass():
    """One product left out is far outside."""
    sizes = {"M": 64, "N": 64, "K": 64}
    given = operands(sizes)
    fewer = reference(given["a"][:, 1:], given["b"][:, 1:])["c"]
    off = np.abs(fewer.astype(np.float64) - reference(**given)["c"].astype(np.float64))

    assert np.mean(off > bound(**given)["c"]) > 0.8


@pytest.mark.parametrize("name", ["cluster", "whole"])
def test_what_wgmma_reads_is_what_the_copies_land(name):
    """Every operand of the kernel, as its operations say it, is proved to be the part of the box that it stands for."""
    kernel = gemm(*dims("M N K"), **SMALL[name])
    rows, cluster = kernel.map("a_map").tensor_map.box_dim[1], kernel.cluster[0]
    part = kernel.map("b_map").tensor_map
    products = [op for op in kernel.walk() if isinstance(op, Mma)]
    whole_b = replace(part, box_dim=(STEP_K, part.box_dim[1] * cluster))  # the parts lie one after the other

    assert len(products) == 4
    for i, op in enumerate(products):
        for operand, box, first, height in ((op.a, kernel.map("a_map").tensor_map, 0, 64), (op.b, whole_b, rows, 0)):
            assert isinstance(operand, Matrix)
            at = operand.start.offset.subs(dict.fromkeys(operand.start.offset.symbols, 0)) - first * STEP_K
            read = DescriptorRead(operand.descriptor.advanced(2 * at), height or box.box_dim[1], "bf16", (0, 16 * i))
            assert prove(SameBytes(box, read))


# -- mutants ---------------------------------------------------------------------------------------------------


def without(kernel, which):
    return kernel.edited(lambda op: [] if which(op) else [op])


MUTANTS = {
    "no wait for the loads": (
        lambda k: without(k, lambda op: isinstance(op, Wait) and op.barrier.barrier == "full"),
        "was under way|was never written there",
    ),
    "no wait for the stage": (
        lambda k: without(k, lambda op: isinstance(op, Wait) and op.barrier.barrier == "empty"),
        "expected no more than 1 arrivals in phase 0 of full|overwrites byte",
    ),
    "no wait for the sums": (
        lambda k: without(k, lambda op: isinstance(op, WaitGroup) and op.group == "wgmma" and op.pending == 0),
        "wgmma.m64n64k16.bf16 .* was under way|may still be reading",
    ),
    "no wait before a stage is given back": (
        lambda k: without(k, lambda op: isinstance(op, WaitGroup) and op.group == "wgmma" and op.pending == 1),
        "overwrites byte .* may still be reading",
    ),
    "no fence before the store": (
        lambda k: without(k, lambda op: isinstance(op, Fence) and op.about == "async"),
        "stores poison .* no fence async, or no barrier after it, after",
    ),
    "no wait for the buffer": (
        lambda k: without(k, lambda op: isinstance(op, WaitGroup) and op.read),
        "stmatrix.*overwrites byte .* of buffer, which warp .* may still be reading",
    ),
    "stages never given back": (lambda k: without(k, lambda op: isinstance(op, Arrive)), "no thread can go on"),
    "one store of a warp left out": (
        lambda k: without(k, lambda op: isinstance(op, Copy) and op.atom == "stmatrix.x4" and _later(op)),
        "stores poison .* was never written there|c differs",
    ),
}


def _later(op):
    """Columns 16 to 31 of a box."""
    return isinstance(op.dst, Ref) and "+ 2)" in str(op.dst)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_shows_under_lazy(name):
    change, says = MUTANTS[name]
    sizes = {"M": 200, "N": 136, "K": 200}
    kernel = change(gemm(*dims("M N K"), **SMALL["one warpgroup"])).bind(**sizes)

    with pytest.raises(ExecutionError, match=says):
        expect_reference(kernel, operands(sizes, integers=True), "lazy")


WRONG = {
    "swizzle": lambda d: replace(d, swizzle=64),
    "SBO": lambda d: replace(d, stride_bytes=512),
    "major": lambda d: replace(d, major="MN"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_descriptor_gives_another_product(name):
    def change(op):
        return [replace(op, a=Matrix(op.a.start, WRONG[name](op.a.descriptor)))] if isinstance(op, Mma) else [op]

    sizes = {"M": 64, "N": 64, "K": 64}
    kernel = gemm(*dims("M N K"), **SMALL["one warpgroup"]).edited(change).bind(**sizes)
    with pytest.raises(ExecutionError, match=r"c differs|was never written"):
        expect_reference(kernel, operands(sizes, integers=True))


# -- its text --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gemm", "gemm_cluster"])
def test_the_text(name):
    kernel = gemm(*dims("M N K"), **(SMALL["cluster"] if name == "gemm_cluster" else {"cluster": 1, "blocks": 132}))
    text, path = kernel.text() + "\n", GOLDEN / f"{name}.txt"
    if os.environ.get(REFRESH):
        path.write_text(text)

    assert path.read_text() == text, f"set {REFRESH}=1 to write it anew"


def test_the_shared_memory_of_the_reference_kernel():
    """benchmarks/hardware/reference_kernels/wgmma_gemm.cu: four stages of 48 KiB, two buffers of 2 KiB for eight warps."""
    kernel = gemm(*dims("M N K"), cluster=2)

    assert kernel.shared_bytes == 4 * (128 + 256) * 64 * 2 + 8 * 2 * 2048 + 2 * 4 * 8
    assert kernel.shared_bytes <= 227 * 1024
    assert kernel.threads == 384
    assert [b.arrivals for b in kernel.barriers] == [1, 16]
    assert [tuple(m.tensor_map.box_dim) for m in kernel.maps] == [(64, 128), (64, 128), (64, 16)]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"tile": (96, 64)}, "a tile of 64, 128 or 192 rows, got 96"),
        ({"tile": (64, 96)}, "a tile of 64, 128, 192 or 256 columns, got 96"),
        (
            {"tile": (192, 256)},
            "192 x 256: wgmma.m64n256k16.bf16 needs 154 registers of each thread, and .* 512 threads has 128",
        ),
        ({"cluster": 3}, "share 256 rows of B in eights, got 3"),
        ({"cluster": 2, "blocks": 3}, "blocks in whole clusters of 2, got 3"),
        ({"dtype": "f32"}, "expected bf16 or f16, got f32"),
        ({"stages": 1}, "at least 2 stages"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(LayoutError, match=message):
        gemm(*dims("M N K"), **options)
