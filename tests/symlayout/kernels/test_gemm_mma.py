"""The product on mma.sync: right in every order, proved for all sizes, and no mutant of its pipeline is proved."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from checkers import Computes, HappensBefore, claims_of, prove
from checkers.prover import Budget
from symlayout import Fact, LayoutError, dim, dims, index
from symlayout.expr import minimum
from symlayout.facts import Facts
from symlayout.kernel import Builder
from symlayout.kernels.families import family
from symlayout.kernels.gemm_mma import SIZES, bound, gemm_mma, reference
from symlayout.layout import Layout
from symlayout.ops import Barrier, Copy, Fill, For, If, Mma, Ref, WaitGroup
from symlayout.ops.rewriting import rewritten
from symlayout.results import element
from symlayout.semantics import execute, expect_reference
from tests.support.rows import telling

SMALL = {"tile": (64, 64), "step": 32, "stages": 3}


def operands(sizes, dtype=ml_dtypes.bfloat16, integers=False):
    draw = np.random.default_rng(2)
    shapes = {"a": (sizes["M"], sizes["K"]), "b": (sizes["N"], sizes["K"])}
    if integers:  # whose sums are exact in any order
        return {name: draw.integers(-3, 4, shape).astype(dtype) for name, shape in shapes.items()}
    return {name: draw.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


@pytest.mark.parametrize("order", ["eager", "lazy", 1])
@pytest.mark.parametrize("options", [SMALL, {"stages": 2}, {"dtype": "f16", "tile": (64, 64), "group": 2}], ids=str)
def test_exact_sums_are_the_reference_bit_by_bit(share, order, options):
    """Several tiles, which other orders than the latest run in a campaign, and less than one."""
    kind = np.float16 if options.get("dtype") == "f16" else ml_dtypes.bfloat16
    tiles = [{"M": 65, "N": 72, "K": 136}] if order == "lazy" or options is SMALL or share(2) == 2 else []
    for sizes in (*tiles, {"M": 1, "N": 8, "K": 8}):
        expect_reference(gemm_mma(*dims("M N K"), **options).bind(**sizes), operands(sizes, kind, True), order)


@pytest.mark.parametrize("sizes", telling(SIZES, SIZES[0], SIZES[2], *SIZES[4:7]), ids=str)
def test_sums_are_within_the_bound(sizes):
    """One step of whole tiles, less than a tile, many steps, tails of M and of N; tails of all three are above."""
    given = operands(sizes)
    got = execute(gemm_mma(*dims("M N K"), **SMALL).bind(**sizes), given)["c"]
    off = np.abs(got.astype(np.float64) - reference(**given)["c"].astype(np.float64))

    assert (off <= bound(**given)["c"]).all()


def test_a_nan_outside_of_the_matrix_is_not_read_and_one_inside_spreads():
    sizes = {"M": 3, "N": 8, "K": 8}
    given = operands(sizes, integers=True)
    given["a"][1, 3] = np.nan
    got = execute(gemm_mma(*dims("M N K"), **SMALL).bind(**sizes), given)["c"]
    assert np.isnan(got.astype(np.float32)).all(axis=1).tolist() == [False, True, False]
    assert not np.isnan(got.astype(np.float32)[[0, 2]]).any()


GROUPED = {**SMALL, "group": 8, "dtype": "f16"}


@pytest.mark.parametrize("options", telling([{}, SMALL, GROUPED], {}, GROUPED), ids=str)
def test_every_claim_is_proved_for_all_sizes(options):
    report = prove(family("gemm_mma").build(**options))
    assert report, str(report)
    assert any(isinstance(v.claim, Computes) for v in report.verdicts)


KERNEL = gemm_mma(
    *(dim(x, at_most=1 << 20) for x in "MNK"), **SMALL | {"tile": (64, 128)}
)  # asks for no step in its loop
LOOP = next(op for op in KERNEL.walk() if isinstance(op, For) and op.index.name == "i")
SLOT = {"a": 64 * 32, "b": 128 * 32}  # elements


def _loads(name):
    return lambda op: isinstance(op, Copy) and op.atom.startswith("ldmatrix") and op.src.tensor == f"{name}_slots"


def _fetches(name, inside=None):
    def of(op):
        mine = isinstance(op, Copy) and op.atom == "cp.async.16" and op.src.tensor == name
        return mine and (inside is None or (LOOP.index in op.src.offset.symbols) is inside)

    return of


def _moved(which, change):
    return KERNEL.edited(lambda op: (change(op),) if which(op) else (op,))


def _src(by):
    return lambda op: replace(op, src=Ref(op.src.tensor, op.src.offset + by))


def _when(change):
    return lambda op: replace(op, when=change(op.when))


def _fewer(op):
    if not isinstance(op, For) or op.index is not LOOP.index:
        return (op,)
    i = index("i", op.extent - 1)
    return (For(i, tuple(rewritten(o, lambda x: x.subs({op.index: i})) for o in op.inside)),)


I = LOOP.index  # noqa: E741  # as the kernel calls it
MUTANTS = {
    "reads the next slot": _moved(_loads("a"), _src(SLOT["a"] * ((I + 1) % 3 - I % 3))),
    "reads the slot before": _moved(_loads("b"), _src(SLOT["b"] * ((I + 2) % 3 - I % 3))),
    "reads other rows": _moved(_loads("b"), _src(32)),
    "fetches a step too far": _moved(_fetches("b", True), _src(32)),
    "fetches a first step too far": _moved(_fetches("a", False), _src(32)),
    "fetches 8 columns too far": _moved(_fetches("a"), _src(8)),
    "no zeros behind K": _moved(_fetches("a"), _when(lambda w: w[:1])),
    "zeros before the end of K": _moved(_fetches("b"), _when(lambda w: (w[0], Fact(w[1].expr - 8, ">=")))),
    "zeros far before the end": _moved(_fetches("a", True), _when(lambda w: (w[0], Fact(w[1].expr - 32, ">=")))),
    "zeros above M": _moved(_fetches("a"), _when(lambda w: (Fact(w[0].expr - 1, ">="), w[1]))),
    "starts from ones": _moved(lambda op: isinstance(op, Fill), lambda op: replace(op, value=1.0)),
    "a step too few": KERNEL.edited(_fewer),
    "each product twice": KERNEL.edited(lambda op: (op, op) if isinstance(op, Mma) else (op,)),
    "half of the products": KERNEL.edited(
        lambda op: () if isinstance(op, Mma) and str(op.a).endswith("+ 32]") else (op,)
    ),
    "a times a": _moved(lambda op: isinstance(op, Mma), lambda op: replace(op, b=Ref("of_a", op.b.offset))),
    "no prefetch in the loop": KERNEL.edited(lambda op: () if _fetches("a", True)(op) else (op,)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_mutant_computes_the_product(name):
    claim = Computes(MUTANTS[name], "c")
    assert claim.certify(Facts.about(*claim.kernel.dims, given=claim.kernel.given)) is None


def _anew(zero, which=0):
    """Without the fill: the products of a number in an iteration start anew where *zero* says so."""
    products = [op for op in KERNEL.walk() if isinstance(op, Mma)]
    chosen = products if which is None else products[which : which + 1]

    def change(op):
        if isinstance(op, Fill):
            return ()
        return (replace(op, zero=zero),) if any(op is x for x in chosen) else (op,)

    return KERNEL.edited(change)


ANEW = {
    "the second products": _anew(1 - minimum(I, 1), 1),
    "all products": _anew(1 - minimum(I, 1), None),
    "in each iteration": _anew(1),
    "never": _anew(0),
    "in the second iteration too": _anew(1 - minimum(I // 2, 1)),
    "in all but the first": _anew(minimum(I, 1)),
}


@pytest.mark.parametrize("columns", [8, 16])
def test_tiles_that_are_wider_than_the_matrix_are_followed(columns):
    """Columns behind the last are zeros, which nobody stores; one more that is stored is not what is defined."""
    kernel = gemm_mma(64, 8, dim("K", multiple_of=8, at_most=1 << 20), tile=(64, 64), step=32, stages=3)
    stored = lambda f: Fact(f.expr + columns - 8, f.relation)  # noqa: E731
    wider = kernel.edited(
        lambda op: (
            (replace(op, condition=(op.condition[0], stored(op.condition[1]))),)
            if isinstance(op, If) and len(op.condition) == 2
            else (op,)
        )
    )

    assert (Computes(wider, "c").lemma(Facts.about(*wider.dims)) == "") == (columns == 8)


@pytest.mark.parametrize("columns", [8, 64])
def test_products_of_what_is_not_known_are_not_known(columns):
    """Columns that no thread reads from shared memory have no sums, which matters where they are stored."""
    kernel = gemm_mma(64, columns, dim("K", multiple_of=8, at_most=1 << 20), tile=(64, 64), step=32, stages=3)

    def fewer(op):
        if isinstance(op, For) and all(isinstance(x, Copy) and x.src.tensor == "b_slots" for x in op.inside):
            return (replace(op, inside=(If((Fact(2 - op.index, ">="),), op.inside),)),)
        return (op,)

    claim = Computes(kernel.edited(fewer), "c")
    assert (claim.lemma(Facts.about(*kernel.dims)) == "") == (columns == 8)


def test_sums_that_start_anew_in_the_first_iteration_of_a_pipeline_are_proved():
    kernel = _anew(1 - minimum(I, 1))
    assert prove(Computes(kernel, "c"))
    expect_reference(kernel.bind(M=3, N=8, K=72), operands({"M": 3, "N": 8, "K": 72}, integers=True), "lazy")


@pytest.mark.parametrize("name", ANEW)
def test_sums_that_start_anew_at_another_time_are_not(name):
    claim = Computes(ANEW[name], "c")
    assert claim.certify(Facts.about(*claim.kernel.dims, given=claim.kernel.given)) is None


@pytest.mark.parametrize("name", ["reads the next slot", "zeros above M", "a step too few"])
def test_mutants_are_refuted_by_a_run(name):
    [verdict] = prove(Computes(MUTANTS[name], "c"), budget=Budget(repairs=False)).verdicts
    assert verdict.outcome.value == "refuted", str(verdict)


@pytest.mark.parametrize("kind", [WaitGroup, Barrier])
def test_use_before_the_copies_are_over_is_refuted(kind):
    early = KERNEL.edited(lambda op: () if isinstance(op, kind) else (op,))
    [verdict] = prove(HappensBefore(early), budget=Budget(repairs=False)).verdicts
    assert verdict.outcome.value == "refuted", str(verdict)


def test_rows_that_no_predicate_keeps_inside_are_out_of_bounds():
    wild = _moved(_fetches("a"), _when(lambda w: w[1:]))
    loads = (c for c in claims_of(wild) if c.kind == "in bounds" and "block_x" in str(c))
    verdicts = (prove(c, budget=Budget(repairs=False)).verdicts[0] for c in loads)
    assert any(v.outcome.value == "refuted" for v in verdicts)


def test_zeros_are_of_cp_async_alone():
    k = Builder("zeros", grid=(1,), threads=32)
    x, r = k.global_tensor("x", "f32", Layout(32)), k.registers("r", "f32", 1)
    k.copy("ld.global.4", x(k.thread), r(), when=(k.thread < 8,))
    [wrong] = [v for v in prove(k.kernel()).verdicts if v.claim.kind == "well formed"]
    assert wrong.outcome.value == "refuted"
    assert "expected cp.async for a copy that writes zeros" in str(wrong)


def test_a_slot_under_a_predicate_is_in_bounds():
    """Slots of a ring, i % S, with a condition around that says nothing of them."""
    N = dim("N")
    k = Builder("slots", N, grid=(1,), threads=32)
    src, dst = k.global_tensor("src", "f32", Layout(N)), k.global_tensor("dst", "f32", Layout(N))
    slots, r = k.shared_tensor("slots", "f32", Layout((32, 3))), k.registers("r", "f32", 1)
    with k.loop("i", (N + 31) // 32) as i, k.where(32 * i + k.thread < N):
        k.copy("ld.global.4", src(32 * i + k.thread), r())
        k.copy("st.shared.4", r(), slots(32 * (i % 3) + k.thread))
        k.copy("ld.shared.4", slots(32 * (i % 3) + k.thread), r())
        k.copy("st.global.4", r(), dst(32 * i + k.thread))
    k.result("dst", lambda i: element("src", i))
    assert prove(k.kernel())
    assert any(isinstance(op, If) for op in k.kernel().walk())


@pytest.mark.parametrize("options, said", [
    ({"dtype": "f32"}, "expected bf16 or f16, got f32"),
    ({"tile": (64, 96)}, "expected a tile of 1 to 16 warps of 64x64, got 64x96"),
    ({"tile": (192, 128), "step": 32}, "expected a tile of multiples of 48 rows, which its threads copy, got 192x128"),
    ({"step": 48}, "expected a step of 32 or 64 elements of K, got 48"),
    ({"group": 0}, "expected a group of at least 1 tile, got 0"),
    ({"stages": 1}, "expected at least 2 stages"),
])  # fmt: skip
def test_numbers_that_do_not_fit(options, said):
    with pytest.raises(LayoutError, match=said):
        gemm_mma(*dims("M N K"), **options)
