"""The product by fused multiply-adds: any sizes, within its bound, proved, and no mutant of it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from checkers import Computes, prove
from symlayout import Fact, LayoutError, dims
from symlayout.facts import Facts
from symlayout.kernels.families import family
from symlayout.kernels.gemm_simt import SIZES, bound, gemm_simt, reference
from symlayout.ops import Copy, Fill, Map, Ref
from symlayout.semantics import execute, expect_reference
from tests.support.rows import telling


def operands(sizes, integers=False):
    draw = np.random.default_rng(4)
    shapes = {"a": (sizes["M"], sizes["K"]), "b": (sizes["N"], sizes["K"])}
    if integers:
        return {name: draw.integers(-3, 4, shape).astype(np.float32) for name, shape in shapes.items()}
    return {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("order", ["eager", "lazy", 1])
def test_exact_sums_are_the_reference_bit_by_bit(order):
    for sizes in ({"M": 65, "N": 63, "K": 17}, {"M": 1, "N": 1, "K": 1}):
        expect_reference(gemm_simt(*dims("M N K"), stages=3).bind(**sizes), operands(sizes, True), order)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_sums_are_within_the_bound(sizes):
    given = operands(sizes)
    got = execute(gemm_simt(*dims("M N K")).bind(**sizes), given)["c"]
    off = np.abs(got.astype(np.float64) - reference(**given)["c"].astype(np.float64))
    assert (off <= bound(**given)["c"]).all()


@pytest.mark.parametrize("stages", telling([2, 3], 2))
def test_every_claim_is_proved_for_all_sizes(stages):
    report = prove(family("gemm_simt").build(stages=stages))
    assert report, str(report)


KERNEL = family("gemm_simt").build()


def _changed(which, change):
    return KERNEL.edited(lambda op: tuple(change(op)) if which(op) else (op,))


def _fma(op):
    return isinstance(op, Map) and op.function == "fma"


def _reads(op):
    return isinstance(op, Copy) and op.atom == "ld.shared.16" and op.src.tensor == "a_slots"


def _fetches(op):
    return isinstance(op, Copy) and op.atom == "cp.async.4" and op.src.tensor == "b"


MUTANTS = {
    "products twice": _changed(_fma, lambda op: (op, op)),
    "no products": _changed(_fma, lambda op: ()),
    "squares": _changed(_fma, lambda op: (replace(op, srcs=(op.srcs[0], op.srcs[0], op.srcs[2])),)),
    "other sums": _changed(_fma, lambda op: (replace(op, srcs=(*op.srcs[:2], Ref("acc", 0))),)),
    "reads 4 further": _changed(_reads, lambda op: (replace(op, src=Ref("a_slots", op.src.offset + 4)),)),
    "fetches a column further": _changed(_fetches, lambda op: (replace(op, src=Ref("b", op.src.offset + 1)),)),
    "no end of K": _changed(_fetches, lambda op: (replace(op, when=op.when[:1]),)),
    "an end before": _changed(_fetches, lambda op: (replace(op, when=(op.when[0], Fact(op.when[1].expr - 1, ">="))),)),
    "starts from one": _changed(lambda op: isinstance(op, Fill), lambda op: (replace(op, value=1),)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_mutant_computes_the_product(name):
    claim = Computes(MUTANTS[name], "c")
    assert claim.certify(Facts.about(*claim.kernel.dims, given=claim.kernel.given)) is None


@pytest.mark.parametrize("options, said", [
    ({"dtype": "f16"}, "expected f32, got f16"),
    ({"stages": 1}, "expected at least 2 stages"),
])  # fmt: skip
def test_numbers_that_do_not_fit(options, said):
    with pytest.raises(LayoutError, match=said):
        gemm_simt(*dims("M N K"), **options)
