"""Law 4: a composition is A(B(c)) or it says why not, by the step criterion and the no-carry criterion together."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from symlayout import (
    InexactError,
    Layout,
    coalesce,
    compatible,
    composition,
    congruent,
    idx2crd,
    make_identity_layout,
    make_layout,
)
from symlayout.algebra import coalesce_extended
from symlayout.basis import as_tuple
from symlayout.int_tuple import leaves
from symlayout.strategies import layouts
from tests.support.draw import INJECTIVE, KINDS, Draw, same_function


def right_operand(draw: Draw, size: int) -> Layout:
    """A layout of one to three leaves that stays below *size* often, not always."""
    extents, strides = [1, 2, 2, 3, 4, 6, 8], [0, 1, 1, 2, 3, 4, 6, 8, 12]
    leaf = [(draw.choice(extents), draw.choice(strides)) for _ in range(draw.randint(1, 3))]
    return Layout(*leaf[0]) if len(leaf) == 1 else Layout(*zip(*leaf, strict=True))


def pairs(n: int, kinds: tuple[str, ...] = KINDS):
    for seed in range(n):
        draw = Draw(seed)
        a = draw.layout(draw.choice(kinds), modes=4, extent=6, points=300)
        yield seed, draw, a, right_operand(draw, a.size())


@pytest.mark.parametrize("mode", ["exact", "cute"])
def test_the_result_has_the_profile_and_size_of_the_right_operand(mode):
    accepted = 0
    for seed, _, a, b in pairs(400):
        try:
            r = composition(a, b, mode)
        except InexactError:
            continue
        accepted += 1

        assert compatible(b.shape, r.shape), (seed, str(a), str(b))
        assert r.size() == b.size()
    assert accepted > 120


def test_inside_the_domain_the_result_is_the_composition():
    exact = over = refused = 0
    for seed, _, a, b in pairs(800):
        try:
            r = composition(a, b)
        except InexactError:
            refused += 1
            continue
        inside = [c for c in range(b.size()) if b(c) < a.size()]

        assert all(r(c) == a(b(c)) for c in inside), (seed, str(a), str(b), str(r))
        assert bool(r.obligations) == (len(inside) < b.size()), (seed, str(a), str(b), str(r.obligations))
        exact, over = exact + (not r.obligations), over + bool(r.obligations)
    assert min(exact, over, refused) > 60


def criterion(a: Layout, b: Layout) -> bool:
    """The step criterion and the no-carry criterion, for a left operand of unrelated strides."""
    modes = coalesce_extended(a.modes())
    taken = [0] * (len(modes) - 1)
    for n, d in b.modes():
        rest, step = n, d
        for i, (s, _) in enumerate(modes[:-1] if d else []):
            if step % s == 0:
                step //= s
                continue
            if rest == 1:
                break
            if s % step and (rest - 1) * step >= s:
                return False
            t = min(-(-s // step), rest)
            taken[i] += (t - 1) * step
            rest, step = rest // t, 1
    return all(t <= s - 1 for t, (s, _) in zip(taken, modes, strict=False))


def test_exactness_is_exactly_the_two_criteria():
    """Necessary and sufficient where the strides of A have no coincidences: CuTe's answer is right if and only if."""
    right = wrong = 0
    for seed in range(1500):
        draw = Draw(seed)
        extents = [draw.randint(2, 6) for _ in range(draw.randint(1, 3))]
        a = Layout(tuple(extents), tuple(draw.sample([1, 1009, 100_003, 10_000_019, 7, 50_021], len(extents))))
        b = right_operand(draw, a.size())
        try:
            r = composition(a, b, "cute")
        except InexactError:
            continue
        if any(b(c) >= a.size() for c in range(b.size())):
            continue
        equal = all(r(c) == a(b(c)) for c in range(b.size()))

        assert equal == criterion(a, b), (seed, str(a), str(b), str(r))
        if equal:
            assert composition(a, b) == r
            right += 1
        else:
            with pytest.raises(InexactError, match="differs at c ="):
                composition(a, b)
            wrong += 1
    assert min(right, wrong) > 50


def refused_for_one_element(a: Layout, b: Layout) -> bool:
    """Whether CuTe refuses *b* for the stride of a leaf with one element, although that stride is never used.

    CuTe checks the stride all the same. It refuses one that passes a mode of *a*, not the last, without whole steps.
    """
    extents = [n for n, _ in coalesce_extended(a.modes())][:-1]
    while extents and extents[-1] == 1:
        extents.pop()  # the last mode is the one behind which all have extent 1
    for n, d in b.modes():
        step = abs(d) if n == 1 else 0
        for extent in extents:
            if step % extent:
                if step > extent:
                    return True
                break
            step //= extent
    return False


def test_cute_refuses_one_element_by_its_stride():
    """Its refusals are errors, so no recorded answer is a composition that it refuses."""
    with gzip.open(Path(__file__).parents[1] / "data" / "layout_golden.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [row["ins"] for row in map(json.loads, lines) if row["op"] == "composition"]
    answered = [tuple(Layout.parse(text) for text in row) for row in rows]

    assert sum(1 in leaves(b.shape) for _, b in answered) > 20
    assert not any(refused_for_one_element(a, b) for a, b in answered)

    refused = Layout((4, 6, 3), (1, 5, 35)), Layout(1, 6)
    assert refused_for_one_element(*refused)
    assert composition(*refused)(0) == 0
    with pytest.raises(InexactError, match="stride 6 neither divides nor is divided by the extent 4"):
        composition(*refused, "cute")


def test_exact_answers_are_refused_by_cute_for_one_element_alone():
    """Whatever has steps that divide, here and there: a leaf of one element is all that CuTe adds to its refusals."""
    refused = 0
    for seed, _, a, b in pairs(1600):
        try:
            composition(a, b)
        except InexactError as why:
            if "got none" in str(why):
                with pytest.raises(InexactError, match="got none"):
                    composition(a, b, "cute")
                continue
        if refused_for_one_element(a, b):
            refused += 1
            with pytest.raises(InexactError, match="neither divides nor is divided"):
                composition(a, b, "cute")
        else:
            assert congruent(composition(a, b, "cute").shape, composition(a, b, "cute").stride), seed
    assert refused > 15


def test_the_named_coordinate_is_the_first_that_differs():
    compared = skipped = 0
    pattern = re.compile(r"differs at c = (.*): A\(B\(c\)\) = A\((\d+)\) = (-?\d+), but .* gives (-?\d+)")
    for seed, _, a, b in pairs(800):
        try:
            composition(a, b)
        except InexactError as refusal:
            found = pattern.search(str(refusal))
            if found is None:
                continue
            if refused_for_one_element(a, b):
                with pytest.raises(InexactError, match="neither divides nor is divided"):
                    composition(a, b, "cute")
                skipped += 1
                continue
            r = composition(a, b, "cute")
            compared += 1
            first = next(c for c in range(b.size()) if b(c) < a.size() and r(c) != a(b(c)))

            assert found[1].replace(" ", "") == str(idx2crd(first, b.shape)).replace(" ", ""), seed
            assert (int(found[2]), int(found[3]), int(found[4])) == (b(first), a(b(first)), r(first))
    assert (skipped, compared) == (1, 41)  # so many of these seeds


def test_by_mode_is_mode_by_mode():
    compared = 0
    for seed in range(300):
        draw = Draw(seed)
        a = make_layout(draw.layout(modes=2, points=64), draw.layout(modes=2, points=64))
        tiles = tuple(right_operand(draw, a[i].size()) for i in range(2))
        try:
            whole = composition(a, tiles)
        except InexactError:
            continue
        compared += 1

        assert whole == make_layout(*(composition(a[i], t) for i, t in enumerate(tiles)))
        assert whole.obligations == make_layout(*(composition(a[i], t) for i, t in enumerate(tiles))).obligations
        assert composition(a, tiles[:1]) == make_layout(composition(a[0], tiles[0]))
    assert compared > 60


def test_concatenated_right_operands_compose_part_by_part():
    for seed, draw, a, b in pairs(300, INJECTIVE):
        c = right_operand(draw, a.size())
        try:
            both, one, two = composition(a, make_layout(b, c)), composition(a, b), composition(a, c)
        except InexactError:
            continue

        assert both == make_layout(one, two), seed


@settings(max_examples=100, derandomize=True, deadline=None)
@given(layouts())
def test_the_identity_composes_to_coalesce(a):
    left = composition(a, Layout(a.size()))

    assert coalesce(left) == coalesce(a)
    assert not left.obligations
    assert same_function(composition(Layout(max(a.offsets().tolist()) + 1), a), a)
    assert composition(a, None) is a


def test_composition_is_associative():
    compared = 0
    for seed in range(1500):
        draw = Draw(seed)
        a = draw.layout(draw.choice(INJECTIVE), modes=3, points=200)
        b, c = right_operand(draw, a.size()), right_operand(draw, 16)
        try:
            left, right = composition(composition(a, b), c), composition(a, composition(b, c))
        except InexactError:
            continue
        if left.obligations or right.obligations:
            continue
        compared += 1

        assert same_function(left, right), (seed, str(a), str(b), str(c))
    assert compared > 100


def test_negative_strides_in_the_right_operand_compose_where_they_stay_inside():
    for seed in range(200):
        draw = Draw(seed)
        a = draw.layout(draw.choice(INJECTIVE), modes=3, points=100)
        n = draw.randint(1, a.size())
        first = Layout((2, n), (n - 1, -1)) if draw.chance(0.5) else Layout((n, 2), (-1, n - 1))
        try:
            r = composition(a, first)
        except InexactError:
            continue
        for c in range(first.size()):
            if 0 <= first(c) < a.size():
                assert r(c) == a(first(c)), (seed, str(a), str(first), c)
        if any(first(c) < 0 for c in range(first.size())):
            assert r.obligations


def test_coordinates_compose_like_offsets():
    """With an identity on the left, composition shows where each element comes from."""
    compared = 0
    for seed, _, a, b in pairs(300):
        identity = make_identity_layout(a.shape)
        try:
            r = composition(identity, b)
        except InexactError:
            continue
        compared += 1
        for c in range(b.size()):
            if b(c) < a.size():
                got, want = (padded(as_tuple(x), a.shape) for x in (r(c), identity(b(c))))
                assert got == want, (seed, str(a), str(b))
    assert compared > 80


def padded(value: Any, shape: Any) -> Any:
    """A coordinate with the zeros that a sum of few bases leaves out."""
    if not isinstance(shape, tuple):
        return value
    parts = value if isinstance(value, tuple) else (value,) if value else ()
    return tuple(padded(v, s) for v, s in zip((*parts, *(0,) * (len(shape) - len(parts))), shape, strict=True))


def test_a_right_operand_of_coordinates_selects_modes():
    for seed in range(200):
        draw = Draw(seed)
        a = draw.layout(modes=3, depth=1, points=200)
        if not isinstance(a.shape, tuple):
            continue
        order = draw.sample(range(len(a)), len(a))
        identity = make_identity_layout(a.shape)
        b = Layout(tuple(a.shape[i] for i in order), tuple(identity.stride[i] for i in order))
        r = composition(a, b)

        assert r == Layout(tuple(a.shape[i] for i in order), tuple(a.stride[i] for i in order)) or 1 in leaves(a.shape)
        assert congruent(b.shape, r.shape)
        assert not r.obligations
        assert all(r(c) == a(as_tuple(b(c))) for c in range(r.size()) if len(as_tuple(b(c))) == len(a))
