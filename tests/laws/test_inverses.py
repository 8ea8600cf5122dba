"""Law 6: right inverses list a prefix, left inverses undo, and for permutations both are one."""

from __future__ import annotations

import itertools

import pytest

from symlayout import (
    Layout,
    LayoutError,
    coalesce,
    composition,
    cosize,
    left_inverse,
    max_common_layout,
    max_common_vector,
    right_inverse,
    unflatten,
)
from symlayout.int_tuple import leaves
from tests.support.draw import INJECTIVE, KINDS, Draw, drawn


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_inverse_lists_a_prefix_of_the_integers(kind):
    for layout in drawn(1, 150, kind):
        r = right_inverse(layout)

        assert [layout(r(i)) for i in range(r.size())] == list(range(r.size())), str(layout)
        assert r == coalesce(r)


@pytest.mark.parametrize("kind", INJECTIVE)
def test_the_right_inverse_is_maximal_for_injective_layouts(kind):
    """One more element is in no image, or follows no mode: a mode of its stride would have been taken."""
    for layout in drawn(2, 150, kind):
        r = right_inverse(layout)
        image = set(layout.offsets().tolist())
        run = next(n for n in itertools.count() if n not in image)

        assert r.size() == (run if kind != "padded" else r.size())
        assert not any(d == r.size() and n > 1 for n, d in coalesce(layout).modes())


@pytest.mark.parametrize("kind", KINDS)
def test_the_left_inverse_undoes_the_layout(kind):
    inverted = 0
    for layout in drawn(3, 150, kind):
        try:
            q = left_inverse(layout)
        except LayoutError:
            assert kind in ("zeros", "random")
            continue
        inverted += 1
        offsets = layout.offsets().tolist()

        assert [layout(q(x)) for x in offsets] == offsets, str(layout)
        if kind in INJECTIVE:
            assert [q(x) for x in offsets] == list(range(layout.size())), str(layout)
    assert inverted > 15


def test_the_inverses_of_a_permutation_agree_and_invert_each_other():
    for layout in drawn(4, 200, "permuted"):
        inverse = right_inverse(layout)

        assert left_inverse(layout) == inverse
        assert inverse.size() == cosize(layout) == layout.size()
        assert coalesce(composition(layout, inverse)) == coalesce(composition(inverse, layout))
        assert str(coalesce(composition(layout, inverse))) in (f"{layout.size()}:1", "1:0")
        assert left_inverse(inverse) == coalesce(layout)


def test_the_common_layout_is_common():
    found = 0
    for seed in range(400):
        draw = Draw(seed)
        shape = draw.shape(modes=3, points=200)
        a, b = (
            Layout(shape, unflatten(tuple(draw.strides(leaves(shape), draw.choice(KINDS))), shape)) for _ in range(2)
        )
        r = max_common_layout(a, b)
        found += r.size() > 1

        assert all(a(r(i)) == b(r(i)) == i for i in range(r.size())), (seed, str(a), str(b))
        assert max_common_vector(a, b) == r.size()
        assert max_common_layout(a, a).size() >= r.size()
    assert found > 80
