"""SymPy at the border: every public operation takes its integers, symbols and expressions, and gives ours back."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import symlayout
from symlayout import (
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
from symlayout import ArithmeticTuple as AT  # noqa: N817
from symlayout.basis import ArithmeticTupleIterator, ScaledBasis

M, N = dims("M N")

# name: a call made of I, which makes an integer, and S, a symbol
CALLS: dict[str, Any] = {
    "ArithmeticTuple": lambda s, I, S: s.ArithmeticTuple(I(1), S) + s.ArithmeticTuple(S, I(2)),
    "ArithmeticTupleIterator": lambda s, I, S: s.ArithmeticTupleIterator((I(1), S)),
    "ComposedLayout": lambda s, I, S: s.ComposedLayout(Swizzle(2, 0, 3), 8 * S, Layout((S, 4), (8, 1))),
    "E": lambda s, I, S: S * s.E(I(0), I(1)),
    "Fact": lambda s, I, S: M <= S,
    "Facts": lambda s, I, S: s.Facts.about(S).le(I(1), S),
    "Layout": lambda s, I, S: s.Layout((I(4), (S, 2)), (S, (I(1), 2 * S))),
    "LayoutLeft": lambda s, I, S: s.LayoutLeft((S, I(4))),
    "LayoutRight": lambda s, I, S: s.LayoutRight((S, I(4))),
    "Obligations": lambda s, I, S: s.logical_divide(Layout(S), I(8)).obligations,
    "ScaledBasis": lambda s, I, S: s.ScaledBasis(S, I(1)),
    "Swizzle": lambda s, I, S: s.Swizzle(I(2), I(0), I(3))(S + 3),
    "Tensor": lambda s, I, S: s.Tensor(S, Layout((4, 4)))(I(1), I(2)),
    "append": lambda s, I, S: s.append(Layout(S), n=I(3)),
    "as_tuple": lambda s, I, S: s.as_tuple((I(1), S)),
    "basis_value": lambda s, I, S: s.basis_value(S * E(0)),
    "bytes_of": lambda s, I, S: s.bytes_of(Layout(S), I(2)),
    "ceil_div": lambda s, I, S: (s.ceil_div((S, I(10)), (I(4), 3)), s.ceil_div(I(7), I(2))),
    "coalesce": lambda s, I, S: s.coalesce(Layout((I(4), S), (1, I(4))), (I(1), I(1))),
    "colex_less": lambda s, I, S: s.colex_less((I(1), I(5)), (I(2), I(0))),
    "compatible": lambda s, I, S: s.compatible((4 * S, I(6)), ((I(4), S), 6)),
    "complement": lambda s, I, S: s.complement(Layout(I(4)), 4 * S),
    "composition": lambda s, I, S: s.composition(Layout(4 * S), (I(4),)),
    "congruent": lambda s, I, S: s.congruent((I(4), S), (1, 1)),
    "crd2crd": lambda s, I, S: s.crd2crd(I(7), I(24), (I(4), I(6))),
    "crd2idx": lambda s, I, S: s.crd2idx((I(1), S), (I(4), S), (S, I(1))),
    "depth": lambda s, I, S: s.depth((S, (I(1), 2))),
    "dice": lambda s, I, S: s.dice((I(1), None), (S, 2)),
    "dim": lambda s, I, S: s.dim("q", at_least=I(2), below=S, multiple_of=I(8)),
    "dims": lambda s, I, S: s.dims("q r", at_least=I(2), at_most=S),
    "domain_distribute": lambda s, I, S: s.domain_distribute((I(15), I(14)), I(6)),
    "domain_offset": lambda s, I, S: s.domain_offset((I(1), S), s.make_identity_tensor((4, M))),
    "downcast": lambda s, I, S: s.downcast(I(2), Layout((4, S), (S, 1))),
    "elem_all_leq": lambda s, I, S: s.elem_all_leq((I(1), S), (2, S)),
    "elem_geq": lambda s, I, S: s.elem_geq((I(1), I(3)), (2, 2)),
    "elem_gtr": lambda s, I, S: s.elem_gtr((I(3), I(3)), (2, 2)),
    "elem_leq": lambda s, I, S: s.elem_leq((I(1), I(3)), (2, 2)),
    "elem_less": lambda s, I, S: s.elem_less((I(1), S), (2, S + 1)),
    "elem_scale": lambda s, I, S: s.elem_scale((I(2), S), (I(4), (S, 3))),
    "eq": lambda s, I, S: s.eq(S, I(3)),
    "evaluate": lambda s, I, S: s.evaluate(S + I(3), {"S": I(4)}),
    "evenly_divides": lambda s, I, S: s.evenly_divides((I(32), 4 * S), (I(8), I(4))),
    "filter": lambda s, I, S: s.filter(Layout((S, 2), (I(0), 1)), (I(1), I(1))),
    "filter_zeros": lambda s, I, S: s.filter_zeros(Layout((S, I(2)), (1, 2)), (I(0), I(1))),
    "flat_divide": lambda s, I, S: s.flat_divide(Layout((S, 8)), (I(4), S)),
    "flat_product": lambda s, I, S: s.flat_product(Layout((2, 8)), (I(4), S)),
    "flatten": lambda s, I, S: s.flatten((S, (I(2), 3))),
    "get": lambda s, I, S: s.get((I(5), S), I(1)),
    "group": lambda s, I, S: s.group(Layout((2, S, 4)), I(0), I(2)),
    "has_none": lambda s, I, S: s.has_none((I(1), S)),
    "idx2crd": lambda s, I, S: (s.idx2crd(I(16), (I(3), (2, 3))), s.idx2crd(S, (I(3), S)), s.idx2crd(I(5), I(8))),
    "in_words": lambda s, I, S: s.in_words((I(0), S)),
    "index": lambda s, I, S: s.index("i", S),
    "inner_partition": lambda s, I, S: s.inner_partition(s.make_identity_tensor((M, 4)), (I(4), I(2)), (S, I(1))),
    "inner_product": lambda s, I, S: s.inner_product((I(2), S), (S, I(3))),
    "is_int": lambda s, I, S: (s.is_int(I(4)), s.is_int(S)),
    "is_tuple": lambda s, I, S: s.is_tuple((I(4),)),
    "lex_less": lambda s, I, S: s.lex_less((I(1), I(5)), (I(2), I(0))),
    "local_partition": lambda s, I, S: s.local_partition(s.make_identity_tensor((M, 4)), Layout((2, 2)), I(3)),
    "local_tile": lambda s, I, S: s.local_tile(s.make_identity_tensor((M, 4)), (I(4), I(2)), (S, I(1))),
    "logical_divide": lambda s, I, S: (s.logical_divide(Layout(S), I(4)), s.logical_divide(Layout((S, 4)), I(1))),
    "logical_product": lambda s, I, S: (s.logical_product(Layout(4), S), s.logical_product(Layout(4), I(1))),
    "make_basis_like": lambda s, I, S: s.make_basis_like((I(3), (S, 4))),
    "make_identity_layout": lambda s, I, S: s.make_identity_layout((I(3), (S, 4))),
    "make_identity_tensor": lambda s, I, S: s.make_identity_tensor((I(3), S)),
    "make_inttuple_iter": lambda s, I, S: s.make_inttuple_iter((I(3), S)),
    "make_layout": lambda s, I, S: s.make_layout((I(3), S), (S, I(1))),
    "make_ordered_layout": lambda s, I, S: s.make_ordered_layout((I(3), S), (I(1), I(0))),
    "make_swizzle": lambda s, I, S: s.make_swizzle(I(8), I(4)),
    "make_tensor": lambda s, I, S: s.make_tensor(I(100), (I(3), S), (S, I(1)))(I(1), I(2)),
    "maximum": lambda s, I, S: s.maximum(S, I(3), M),
    "minimum": lambda s, I, S: s.minimum(S, I(3), M),
    "outer_partition": lambda s, I, S: s.outer_partition(s.make_identity_tensor((M, 4)), (I(4), I(2)), (I(1), I(1))),
    "prefix_product": lambda s, I, S: s.prefix_product((I(3), (S, I(2))), I(5)),
    "prepend": lambda s, I, S: s.prepend(Layout(S), n=I(3)),
    "product": lambda s, I, S: s.product((I(3), (S, I(2)))),
    "product_each": lambda s, I, S: s.product_each((I(3), (S, I(2)))),
    "product_like": lambda s, I, S: s.product_like((I(3), (S, I(2))), (I(0), I(0))),
    "rank": lambda s, I, S: s.rank((I(3), S)),
    "recast": lambda s, I, S: s.recast(I(16), I(8), Layout(S)),
    "recast_layout": lambda s, I, S: s.recast_layout(I(16), I(32), Layout((S, 8), (8, 1))),
    "replace": lambda s, I, S: s.replace(Layout((S, 8)), I(1), Layout(I(3))),
    "round_up": lambda s, I, S: s.round_up((I(10), S), (I(4), I(3))),
    "select": lambda s, I, S: s.select(Layout((S, 8)), I(1)),
    "shape_div": lambda s, I, S: s.shape_div((I(4), 6 * S), (I(2), I(3))),
    "signum": lambda s, I, S: s.signum(I(-3)),
    "size": lambda s, I, S: s.size((I(3), (S, I(2)))),
    "slice_": lambda s, I, S: s.slice_((None, I(3)), (S, I(6))),
    "slice_and_offset": lambda s, I, S: s.slice_and_offset((None, I(3)), Layout((S, I(6)))),
    "take": lambda s, I, S: s.take(Layout((S, 8)), I(0), I(1)),
    "tile_to_shape": lambda s, I, S: s.tile_to_shape(Layout((4, 8)), (4 * S, I(8)), (I(1), I(0))),
    "tiled_divide": lambda s, I, S: s.tiled_divide(Layout((S, 8)), (I(4), I(2))),
    "tiled_product": lambda s, I, S: s.tiled_product(Layout((2, 8)), (I(4), S)),
    "tuple_max": lambda s, I, S: s.tuple_max((I(4), (I(7), 2))),
    "unflatten": lambda s, I, S: s.unflatten((I(4), S, I(2)), (I(0), (I(0), I(0)))),
    "upcast": lambda s, I, S: s.upcast(I(2), Layout((S, 8), (8, 1))),
    "weakly_congruent": lambda s, I, S: s.weakly_congruent((I(4), S), (I(4), (S, 2))),
    "zipped_divide": lambda s, I, S: s.zipped_divide(Layout((S, 8)), (I(4), I(2))),
    "zipped_product": lambda s, I, S: s.zipped_product(Layout((2, 8)), (I(4), S)),
}

# Errors, kinds of values, and operations on layouts alone.
NO_INTEGERS = {
    *(name for name in symlayout.__all__ if name.endswith("Error")),
    *("Expr", "Obligation", "Symbol", "basis_get", "blocked_product", "coprofile", "coshape", "cosize"),
    *("flatten_layout", "hier_unzip", "is_layout", "left_inverse", "make_coord_tensor", "make_fragment_like"),
    *("make_layout_like", "max_alignment", "max_common_layout", "max_common_vector", "nullspace", "of"),
    *("raked_product", "right_inverse", "zip2_by", "zip_modes"),
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


@pytest.mark.parametrize("use", [lambda x: Layout((x, 4)), lambda x: M + x, lambda x: M <= x, lambda x: ceil_div(M, x)])
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
    for values in ((1, 1), (7, 3), (64, 5), (129, 8)):
        assert sp.sympify(ours).subs({m: values[0], n: values[1]}) == evaluate(ours, dict(zip((M, N), values, strict=True)))


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
