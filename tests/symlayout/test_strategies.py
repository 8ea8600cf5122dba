"""The strategies draw what they say, shrink to the smallest, and state the laws of the algebra."""

from __future__ import annotations

import doctest

import hypothesis
import pytest
from hypothesis import strategies as st

from symlayout import (
    ComposedLayout,
    Layout,
    Swizzle,
    coalesce,
    complement,
    composition,
    crd2idx,
    depth,
    evaluate,
    logical_divide,
    rank,
    size,
    strategies,
    zipped_divide,
)
from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from symlayout.strategies import (
    compact_layouts,
    composed_layouts,
    coordinates,
    layouts,
    shapes,
    sizes,
    swizzles,
    symbolic_layouts,
    tilers,
)

SETTINGS = hypothesis.settings(max_examples=60, deadline=None, derandomize=True, database=None)


def law(strategy):
    return lambda test: SETTINGS(hypothesis.given(strategy)(test))


def values(layout):
    return [layout(i) for i in range(size(layout))]


def with_coordinate(strategy):
    return strategy.flatmap(lambda a: st.tuples(st.just(a), coordinates(a)))


def with_tiler(strategy):
    return strategy.flatmap(lambda a: st.tuples(st.just(a), tilers(a)))


# -- what is drawn --------------------------------------------------------------------------------------


def test_the_examples_of_the_docstrings_run():
    assert doctest.testmod(strategies).failed == 0


@law(shapes(max_size=40, max_rank=2, depth=3))
def test_shapes_keep_their_limits(shape):
    assert size(shape) <= 40
    assert depth(shape) <= 3
    assert rank(shape) <= 2


@law(compact_layouts())
def test_compact_layouts_are_bijective(layout):
    assert sorted(values(layout)) == list(range(size(layout)))


@law(layouts(min_stride=-5, max_stride=5))
def test_layouts_have_the_offsets_of_their_values(layout):
    assert layout.offsets().tolist() == values(layout)


@law(swizzles(max_bits=2, max_base=1, max_shift=3))
def test_swizzles_are_their_own_inverse(sw):
    assert (sw.bits, sw.base, abs(sw.shift)) <= (2, 1, 3)
    assert sorted(map(sw, range(sw.block))) == list(range(sw.block))
    assert [sw(sw(x)) for x in range(sw.period)] == list(range(sw.period))


@law(with_coordinate(composed_layouts()))
def test_a_composed_layout_is_the_functions_one_after_the_other(case):
    a, c = case
    assert a(c) == a.outer(a.offset + a.inner(c))


@law(with_coordinate(layouts()))
def test_a_coordinate_in_any_form_is_an_index(case):
    layout, c = case
    index = crd2idx(c, layout.shape)
    assert 0 <= index < size(layout)
    assert layout(c) == layout(index)


@law(symbolic_layouts().flatmap(lambda a: st.tuples(st.just(a), sizes(a))))
def test_a_symbolic_layout_at_drawn_sizes_is_a_layout_of_numbers(case):
    layout, env = case
    assert Facts.about(layout).admits(env)
    bound = layout.subs(env)
    assert bound.static
    assert bound.size() == evaluate(layout.size(), env)
    assert len(set(values(bound))) == bound.size()  # strides are products of extents, or more


# -- the laws -------------------------------------------------------------------------------------------


@law(layouts())
def test_coalescing_changes_no_value(layout):
    assert values(coalesce(layout)) == values(layout)


@law(with_tiler(layouts()))
def test_composition_with_a_tiler_is_the_function_of_the_function(case):
    a, tiler = case
    if not isinstance(tiler, tuple):
        b = tiler if isinstance(tiler, Layout) else Layout(tiler)
        assert values(composition(a, b)) == [a(b(i)) for i in range(size(b))]


@law(with_tiler(layouts()))
def test_a_division_permutes_the_values_and_the_first_mode_is_the_tile(case):
    a, tiler = case
    divided, zipped = logical_divide(a, tiler), zipped_divide(a, tiler)
    assert sorted(values(divided)) == sorted(values(zipped)) == sorted(values(a))
    assert not divided.obligations
    assert values(zipped[0]) == values(composition(a, tiler))


@law(with_tiler(composed_layouts()))
def test_a_swizzled_layout_divides_like_its_inner_one(case):
    a, tiler = case
    assert zipped_divide(a, tiler) == ComposedLayout(a.outer, a.offset, zipped_divide(a.inner, tiler))


@law(st.tuples(compact_layouts(max_size=32), st.integers(1, 4)))
def test_a_compact_layout_and_its_complement_fill_the_range(case):
    a, times = case
    rest = complement(a, times * size(a))
    assert sorted(x + y for x in values(a) for y in values(rest)) == list(range(times * size(a)))


# -- shrinking ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy, condition, least",
    [
        (layouts(), lambda a: True, Layout(1, 0)),
        (layouts(), lambda a: a.size() >= 6, Layout(6, 1)),
        (layouts(), lambda a: rank(a) == 2 and a.size() >= 6, Layout((1, 6), (0, 1))),
        (layouts(), lambda a: len(set(values(a))) < size(a), Layout(2, 0)),
        (compact_layouts(), lambda a: values(a) != sorted(values(a)), Layout((2, 2), (2, 1))),
        (swizzles(), lambda sw: sw(8) != 8, Swizzle(1, 2, 1)),
        (symbolic_layouts(), lambda a: not a.static, None),
    ],
)
def test_examples_shrink_to_the_smallest(strategy, condition, least):
    found = hypothesis.find(strategy, condition, settings=hypothesis.settings(SETTINGS, max_examples=600))
    if least is None:
        assert str(found) == "S0:1"
    else:
        assert found == least


@law(with_tiler(layouts(max_size=48)))
def test_tilers_fit(case):
    a, tiler = case
    parts = tiler if isinstance(tiler, tuple) else (tiler,)
    whole = (a,) if not isinstance(tiler, tuple) else tuple(a)
    assert all(size(part) % size(t) == 0 for part, t in zip(whole, parts, strict=False))
    assert all(n >= 1 for t in parts for n in leaves(getattr(t, "shape", t)))
