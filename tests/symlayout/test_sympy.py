"""SymPy at the border: every public operation takes its integers, symbols and expressions, and gives ours back."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import symlayout
from symlayout import ArithmeticTuple as AT  # noqa: N817
from symlayout import (
    DType,
    E,
    Expr,
    ExpressionError,
    Layout,
    Swizzle,
    Tensor,
    ceil_div,
    dim,
    dims,
    evaluate,
    maximum,
    minimum,
)
from symlayout.basis import ArithmeticTupleIterator, ScaledBasis
from symlayout.expr.sympy_bridge import from_sympy

M, N = dims("M N")

# name: a call made of the package s, of Z, which makes an integer, and of S, a symbol
CALLS: dict[str, Any] = {
    "ArithmeticTuple": lambda s, Z, S: s.ArithmeticTuple(Z(1), S) + s.ArithmeticTuple(S, Z(2)),
    "ArithmeticTupleIterator": lambda s, Z, S: s.ArithmeticTupleIterator((Z(1), S)),
    "ComposedLayout": lambda s, Z, S: s.ComposedLayout(Swizzle(2, 0, 3), 8 * S, Layout((S, 4), (8, 1))),
    "AddressMap": lambda s, Z, S: s.AddressMap.over(lambda i, j: i + 2 * j, (S, Z(4))).extents,
    "E": lambda s, Z, S: S * s.E(Z(0), Z(1)),
    "Fact": lambda s, Z, S: M <= S,
    "Facts": lambda s, Z, S: s.Facts.about(S).le(Z(1), S),
    "Layout": lambda s, Z, S: s.Layout((Z(4), (S, 2)), (S, (Z(1), 2 * S))),
    "LayoutLeft": lambda s, Z, S: s.LayoutLeft((S, Z(4))),
    "DLTensor": lambda s, Z, S: s.DLTensor(
        (S, Z(8)), (Z(2), Z(32)), (Z(8), Z(1)), (Z(2), Z(0)), 16 * S, Z(64), (Z(1), Z(0))
    ),
    "TensorMap": lambda s, Z, S: s.TensorMap("f16", Z(0), (S, Z(8)), (16 * S,), (Z(64), Z(8)), swizzle=Z(128)),
    "Im2col": lambda s, Z, S: s.TensorMap(
        "f16", 0, (64, 8, S), (128, 1024), im2col=s.Im2col((Z(-1),), (Z(-1),), Z(64), Z(8))
    ),
    "LayoutRight": lambda s, Z, S: s.LayoutRight((S, Z(4))),
    "Obligations": lambda s, Z, S: s.logical_divide(Layout(S), Z(8)).obligations,
    "ScaledBasis": lambda s, Z, S: s.ScaledBasis(S, Z(1)),
    "Swizzle": lambda s, Z, S: s.Swizzle(Z(2), Z(0), Z(3))(S + 3),
    "Tensor": lambda s, Z, S: s.Tensor(S, Layout((4, 4)))(Z(1), Z(2)),
    "append": lambda s, Z, S: s.append(Layout(S), n=Z(3)),
    "as_tuple": lambda s, Z, S: s.as_tuple((Z(1), S)),
    "basis_value": lambda s, Z, S: s.basis_value(S * E(0)),
    "bytes_of": lambda s, Z, S: s.bytes_of(Layout(S), Z(2)),
    "ceil_div": lambda s, Z, S: (s.ceil_div((S, Z(10)), (Z(4), 3)), s.ceil_div(Z(7), Z(2))),
    "coalesce": lambda s, Z, S: s.coalesce(Layout((Z(4), S), (1, Z(4))), (Z(1), Z(1))),
    "colex_less": lambda s, Z, S: s.colex_less((Z(1), Z(5)), (Z(2), Z(0))),
    "compatible": lambda s, Z, S: s.compatible((4 * S, Z(6)), ((Z(4), S), 6)),
    "complement": lambda s, Z, S: s.complement(Layout(Z(4)), 4 * S),
    "composition": lambda s, Z, S: s.composition(Layout(4 * S), (Z(4),)),
    "congruent": lambda s, Z, S: s.congruent((Z(4), S), (1, 1)),
    "crd2crd": lambda s, Z, S: s.crd2crd(Z(7), Z(24), (Z(4), Z(6))),
    "crd2idx": lambda s, Z, S: s.crd2idx((Z(1), S), (Z(4), S), (S, Z(1))),
    "depth": lambda s, Z, S: s.depth((S, (Z(1), 2))),
    "dice": lambda s, Z, S: s.dice((Z(1), None), (S, 2)),
    "dim": lambda s, Z, S: s.dim("q", at_least=Z(2), below=S, multiple_of=Z(8)),
    "dims": lambda s, Z, S: s.dims("q r", at_least=Z(2), at_most=S),
    "domain_distribute": lambda s, Z, S: s.domain_distribute((Z(15), Z(14)), Z(6)),
    "domain_offset": lambda s, Z, S: s.domain_offset((Z(1), S), s.make_identity_tensor((4, M))),
    "downcast": lambda s, Z, S: s.downcast(Z(2), Layout((4, S), (S, 1))),
    "elem_all_leq": lambda s, Z, S: s.elem_all_leq((Z(1), S), (2, S)),
    "elem_geq": lambda s, Z, S: s.elem_geq((Z(1), Z(3)), (2, 2)),
    "elem_gtr": lambda s, Z, S: s.elem_gtr((Z(3), Z(3)), (2, 2)),
    "elem_leq": lambda s, Z, S: s.elem_leq((Z(1), Z(3)), (2, 2)),
    "elem_less": lambda s, Z, S: s.elem_less((Z(1), S), (2, S + 1)),
    "elem_scale": lambda s, Z, S: s.elem_scale((Z(2), S), (Z(4), (S, 3))),
    "eq": lambda s, Z, S: s.eq(S, Z(3)),
    "evaluate": lambda s, Z, S: s.evaluate(S + Z(3), {"S": Z(4)}),
    "evenly_divides": lambda s, Z, S: s.evenly_divides((Z(32), 4 * S), (Z(8), Z(4))),
    "filter": lambda s, Z, S: s.filter(Layout((S, 2), (Z(0), 1)), (Z(1), Z(1))),
    "filter_zeros": lambda s, Z, S: s.filter_zeros(Layout((S, Z(2)), (1, 2)), (Z(0), Z(1))),
    "flat_divide": lambda s, Z, S: s.flat_divide(Layout((S, 8)), (Z(4), S)),
    "flat_product": lambda s, Z, S: s.flat_product(Layout((2, 8)), (Z(4), S)),
    "flatten": lambda s, Z, S: s.flatten((S, (Z(2), 3))),
    "get": lambda s, Z, S: s.get((Z(5), S), Z(1)),
    "group": lambda s, Z, S: s.group(Layout((2, S, 4)), Z(0), Z(2)),
    "has_none": lambda s, Z, S: s.has_none((Z(1), S)),
    "idx2crd": lambda s, Z, S: (s.idx2crd(Z(16), (Z(3), (2, 3))), s.idx2crd(S, (Z(3), S)), s.idx2crd(Z(5), Z(8))),
    "in_words": lambda s, Z, S: s.in_words((Z(0), S)),
    "index": lambda s, Z, S: s.index("i", S),
    "inner_partition": lambda s, Z, S: s.inner_partition(s.make_identity_tensor((M, 4)), (Z(4), Z(2)), (S, Z(1))),
    "inner_product": lambda s, Z, S: s.inner_product((Z(2), S), (S, Z(3))),
    "is_int": lambda s, Z, S: (s.is_int(Z(4)), s.is_int(S)),
    "is_tuple": lambda s, Z, S: s.is_tuple((Z(4),)),
    "lex_less": lambda s, Z, S: s.lex_less((Z(1), Z(5)), (Z(2), Z(0))),
    "local_partition": lambda s, Z, S: s.local_partition(s.make_identity_tensor((M, 4)), Layout((2, 2)), Z(3)),
    "local_tile": lambda s, Z, S: s.local_tile(s.make_identity_tensor((M, 4)), (Z(4), Z(2)), (S, Z(1))),
    "logical_divide": lambda s, Z, S: (s.logical_divide(Layout(S), Z(4)), s.logical_divide(Layout((S, 4)), Z(1))),
    "logical_product": lambda s, Z, S: (s.logical_product(Layout(4), S), s.logical_product(Layout(4), Z(1))),
    "make_basis_like": lambda s, Z, S: s.make_basis_like((Z(3), (S, 4))),
    "make_identity_layout": lambda s, Z, S: s.make_identity_layout((Z(3), (S, 4))),
    "make_identity_tensor": lambda s, Z, S: s.make_identity_tensor((Z(3), S)),
    "make_inttuple_iter": lambda s, Z, S: s.make_inttuple_iter((Z(3), S)),
    "leading_dim": lambda s, Z, S: s.leading_dim((Z(4), S), (S, Z(1))),
    "make_composed_layout": lambda s, Z, S: s.make_composed_layout(Layout(64), Z(8), Layout(4)),
    "make_layout": lambda s, Z, S: s.make_layout((Z(3), S), (S, Z(1))),
    "make_ordered_layout": lambda s, Z, S: s.make_ordered_layout((Z(3), S), (Z(1), Z(0))),
    "make_swizzle": lambda s, Z, S: s.make_swizzle(Z(8), Z(4)),
    "make_tma_copy": lambda s, Z, S: s.make_tma_copy(
        Layout((S, 512), (512, 1)), Layout((64, 32), (32, 1)), (Z(64), Z(32)), Z(1), dtype="f32", address=16 * S
    ),
    "create_tma_multicast_mask": lambda s, Z, S: s.create_tma_multicast_mask(
        Layout((1, 2, 2, 1)), (Z(0), Z(1), Z(0), Z(0)), Z(2)
    ),
    "make_tma_descriptor": lambda s, Z, S: s.make_tma_descriptor(
        s.DLTensor((S, Z(64)), "f16"), (Z(8), Z(64)), (Z(2), Z(1)), swizzle=128, alignment=Z(16), device=Z(0)
    ),
    "make_tensor": lambda s, Z, S: s.make_tensor(Z(100), (Z(3), S), (S, Z(1)))(Z(1), Z(2)),
    "maximum": lambda s, Z, S: s.maximum(S, Z(3), M),
    "minimum": lambda s, Z, S: s.minimum(S, Z(3), M),
    "outer_partition": lambda s, Z, S: s.outer_partition(s.make_identity_tensor((M, 4)), (Z(4), Z(2)), (Z(1), Z(1))),
    "prefix_product": lambda s, Z, S: s.prefix_product((Z(3), (S, Z(2))), Z(5)),
    "prepend": lambda s, Z, S: s.prepend(Layout(S), n=Z(3)),
    "product": lambda s, Z, S: s.product((Z(3), (S, Z(2)))),
    "product_each": lambda s, Z, S: s.product_each((Z(3), (S, Z(2)))),
    "product_like": lambda s, Z, S: s.product_like((Z(3), (S, Z(2))), (Z(0), Z(0))),
    "rank": lambda s, Z, S: s.rank((Z(3), S)),
    "recast": lambda s, Z, S: s.recast(Layout(S), old=Z(16), new=Z(8)),
    "recast_layout": lambda s, Z, S: s.recast_layout(Layout((S, 8), (8, 1)), old=Z(16), new=Z(32)),
    "replace": lambda s, Z, S: s.replace(Layout((S, 8)), Z(1), Layout(Z(3))),
    "round_up": lambda s, Z, S: s.round_up((Z(10), S), (Z(4), Z(3))),
    "truth": lambda s, Z, S: s.truth(S) + s.truth(M < S),
    "select": lambda s, Z, S: s.select(Layout((S, 8)), Z(1)),
    "shape_div": lambda s, Z, S: s.shape_div((Z(4), 6 * S), (Z(2), Z(3))),
    "shiftl": lambda s, Z, S: s.shiftl(Z(3), Z(2)),
    "shiftr": lambda s, Z, S: s.shiftr(Z(12), Z(2)),
    "signum": lambda s, Z, S: s.signum(Z(-3)),
    "size": lambda s, Z, S: s.size((Z(3), (S, Z(2)))),
    "slice_": lambda s, Z, S: s.slice_((None, Z(3)), (S, Z(6))),
    "slice_and_offset": lambda s, Z, S: s.slice_and_offset((None, Z(3)), Layout((S, Z(6)))),
    "take": lambda s, Z, S: s.take(Layout((S, 8)), Z(0), Z(1)),
    "tile_to_shape": lambda s, Z, S: s.tile_to_shape(Layout((4, 8)), (4 * S, Z(8)), (Z(1), Z(0))),
    "tiled_divide": lambda s, Z, S: s.tiled_divide(Layout((S, 8)), (Z(4), Z(2))),
    "tiled_product": lambda s, Z, S: s.tiled_product(Layout((2, 8)), (Z(4), S)),
    "tuple_max": lambda s, Z, S: s.tuple_max((Z(4), (Z(7), 2))),
    "unflatten": lambda s, Z, S: s.unflatten((Z(4), S, Z(2)), (Z(0), (Z(0), Z(0)))),
    "upcast": lambda s, Z, S: s.upcast(Z(2), Layout((S, 8), (8, 1))),
    "weakly_congruent": lambda s, Z, S: s.weakly_congruent((Z(4), S), (Z(4), (S, 2))),
    "zipped_divide": lambda s, Z, S: s.zipped_divide(Layout((S, 8)), (Z(4), Z(2))),
    "zipped_product": lambda s, Z, S: s.zipped_product(Layout((2, 8)), (Z(4), S)),
}

# Errors, kinds of values, and operations on layouts alone.
NO_INTEGERS = {
    *(name for name in symlayout.__all__ if name.endswith("Error")),
    *("Integer", "LayoutBase", "make_layout_tv"),
    *("Expr", "Obligation", "Symbol", "basis_get", "blocked_product", "coprofile", "coshape", "cosize"),
    *("flatten_layout", "hier_unzip", "is_layout", "left_inverse", "make_coord_tensor", "make_fragment_like"),
    *("make_layout_like", "max_alignment", "max_common_layout", "max_common_vector", "nullspace", "of"),
    *("raked_product", "right_inverse", "tma_partition", "zip2_by", "zip_modes"),
    *("DType", "SM90", "TmaCopy", *(name for name in symlayout.__all__ if isinstance(getattr(symlayout, name), DType))),
    *("TmaInterleaveLayout", "TmaL2FetchSize", "TmaOobFill", "TmaSwizzle", "TmaType"),
}


def foreign(x: Any) -> bool:
    """Whether an object of SymPy is left anywhere in a result."""
    if isinstance(x, tuple | list):
        return any(map(foreign, x))
    if isinstance(x, Layout):
        return foreign((x.shape, x.stride))
    if isinstance(x, Tensor):
        return foreign((x.iterator, x.layout))
    if isinstance(x, AT):
        return foreign(x.parts)
    if isinstance(x, ScaledBasis):
        return foreign((x.value, x.path))
    if isinstance(x, ArithmeticTupleIterator):
        return foreign(x.coord)
    return isinstance(x, sp.Basic)


def test_every_public_name_is_in_the_table():
    assert set(CALLS) | NO_INTEGERS == set(symlayout.__all__)
    assert not set(CALLS) & NO_INTEGERS


@pytest.mark.parametrize("name", CALLS)
def test_sympy_integers_and_symbols_give_the_same_result(name):
    ours = CALLS[name](symlayout, int, dim("S"))
    theirs = CALLS[name](symlayout, sp.Integer, sp.Symbol("S", integer=True, positive=True))

    assert not foreign(theirs), (ours, theirs)
    assert theirs == ours
    assert str(theirs) == str(ours)


def test_assumptions_of_a_symbol_become_facts():
    positive, any_sign = sp.Symbol("M", integer=True, positive=True), sp.Symbol("z", integer=True)

    assert Layout((positive, 4)).symbols == (M,)
    assert Layout(sp.Symbol("q", integer=True, nonnegative=True)).symbols == (dim("q", at_least=0),)
    assert (M + any_sign).symbols[1].lower == -(2**31)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: Layout((x, 4)),
        lambda x: M + x,
        lambda x: M <= x,  # noqa: SIM300  # ours is on the left
        lambda x: ceil_div(M, x),
    ],
)
def test_a_bare_symbol_is_refused_with_the_fix(use):
    with pytest.raises(
        ExpressionError,
        match=r"expected an integer symbol, got Symbol\('Q'\); declare it as "
        r"Symbol\('Q', integer=True, positive=True\) or symlayout\.dim\('Q'\)",
    ):
        use(sp.Symbol("Q"))


m, n = sp.symbols("M N", integer=True, positive=True)


@pytest.mark.parametrize(
    "theirs, ours",
    [
        (m * n + 3, M * N + 3),
        (m**2 - n, M * M - N),
        (sp.floor(m / 8), M // 8),
        (sp.ceiling(m / 64), ceil_div(M, 64)),
        (sp.floor((m + 2 * n) / (3 * n)), (M + 2 * N) // (3 * N)),
        (sp.Mod(m, 8), M % 8),
        (sp.Min(m, n, 4), minimum(M, N, 4)),
        (sp.Max(m, n + 1), maximum(M, N + 1)),
        (8 * sp.floor(m / 8) + sp.Mod(m, 8), M),
    ],
    ids=str,
)
def test_expressions_cross_in_both_directions(theirs, ours):
    assert 0 + ours == M * 0 + theirs
    assert M * 0 + sp.sympify(ours) == ours
    for a, b in ((1, 1), (7, 3), (64, 5), (129, 8)):
        assert sp.sympify(ours).subs({m: a, n: b}) == evaluate(ours, {M: a, N: b})


@pytest.mark.parametrize("theirs", [m / 2, sp.sqrt(m), sp.pi, m * sp.Rational(1, 2), sp.sin(m), sp.Float(2.5)], ids=str)
def test_what_is_no_integer_expression_is_refused(theirs):
    with pytest.raises(ExpressionError, match=r"expected an integer expression.* got"):
        M + theirs


def test_sympy_functions_work_on_ours():
    assert sp.simplify(M * (M + 1) - M * M) == m
    assert sp.expand((M + N) ** 2) == m**2 + 2 * m * n + n**2
    assert sp.latex(sp.sympify(M * N)) == "M N"
    assert (M * N)._repr_latex_() == "$M N$"
    assert isinstance(M + m, Expr)
    assert M + m == 2 * M


@pytest.mark.parametrize("relation, least", [("Gt", 4), ("Ge", 3)])
def test_a_choice_of_sympy_begins_where_its_condition_does(relation: str, least: int) -> None:
    """``M > 3`` is ``M >= 4`` for integers."""
    m = sp.Symbol("M", integer=True, positive=True)
    ours = from_sympy(sp.Piecewise((2 * m, getattr(sp, relation)(m, 3)), (7, True)))

    assert [evaluate(ours, {"M": at}) for at in (1, 2, 3, 4, 5)] == [2 * at if at >= least else 7 for at in range(1, 6)]
