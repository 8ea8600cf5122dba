"""What the provers see of a subject: its linear form, its values as expressions, its table, its small sizes."""

from __future__ import annotations

import itertools
import random

import pytest

from checkers.algebra.subject_form import check_subject, expression, linear, points, table
from checkers.trial_sizes import small_sizes
from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.basis import as_tuple
from symlayout.errors import ClaimError
from symlayout.expr import evaluate, minimum
from symlayout.facts import NOTHING, Facts
from symlayout.int_tuple import leaves
from tests.support.draw import Draw
from tests.support.plain import flat, graph

M, N, K = dims("M N K")
over = AddressMap.over

STATIC = [
    Layout(4),
    Layout((4, 8), (8, 1)),
    Layout(((2, 3), 4), ((1, -7), 0)),
    Layout((4, 8), (E(1), E(0))),
    Layout(((4, 2), 3), ((E(0, 1), E(0, 0)), E(1))),
    Layout((3, 2), (2**62, 2**63)),
    ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (4, 1))),
    ComposedLayout(Swizzle(2, 0, -2), 3, Layout((4, 4), (4, 1))),
    ComposedLayout(Swizzle(0, 3, 0), 5, Layout(8)),
    ComposedLayout(Layout((4, 4), (1, 8)), 1, Layout(8)),
    over(lambda i, j: 8 * i + j // 2, (3, 4)),
    over(lambda i, j: (i, j % 3), (3, 4), when=lambda i, j: i + j < 4),
    over(lambda i: i ^ 5, 16),
    over(lambda i: minimum(i, 3) * 2**63, 5),
    AddressMap((), (), 7),
    over(lambda i: i, 0),
]


@pytest.mark.parametrize("x", STATIC, ids=str)
def test_the_table_is_the_function(x):
    at, values = table(x)
    expected = graph(x)
    coords = [at(i) if isinstance(x, AddressMap) else i for i in range(len(values))]

    assert dict(zip(coords, map(tuple, values.tolist()), strict=True)) == expected
    assert [flat(as_tuple(x(at(i)))) for i in range(len(values))] == [tuple(v) for v in values.tolist()]
    if not getattr(x, "valid", ()):
        assert points(x) == len(values)


@pytest.mark.parametrize(
    "x", [s for s in STATIC if not isinstance(s, ComposedLayout) or isinstance(s.outer, Swizzle)], ids=str
)
def test_the_expression_is_the_function(x):
    digits, extents, value, valid = expression(x, "p_")
    expected = graph(x)
    boxes = [range(evaluate(n, {})) for n in reversed(extents)]
    found = {}
    for i, c in enumerate(itertools.product(*boxes)):
        env = dict(zip(digits, reversed(c), strict=True))
        if all(f.subs(env).value for f in valid):
            key = tuple(reversed(c)) if isinstance(x, AddressMap) else i
            found[key] = tuple(evaluate(v, env) for v in leaves(value))

    assert found == expected


@pytest.mark.parametrize("x", STATIC, ids=str)
def test_the_linear_form_is_the_function_where_there_is_one(x):
    form = linear(x, NOTHING)
    if form is None:
        return
    inner = Swizzle(0, 0, 0) if form.swizzle is None else form.swizzle
    shape = [n for n, _ in form.components[0].modes]
    values = [
        tuple(
            inner(c.base + sum(k * d for k, (_, d) in zip(digits[::-1], c.modes, strict=True))) for c in form.components
        )
        for digits in itertools.product(*(range(n) for n in reversed(shape)))
    ]

    if not getattr(x, "valid", ()):
        assert values == list(graph(x).values())


def test_symbolic_forms_evaluate_to_the_forms_of_numbers():
    draw = Draw(8)
    seen = 0
    for _ in range(200):
        x = draw.symbolic()
        facts = Facts.about(x)
        form = linear(x, facts)
        env = draw.sizes(x.symbols)
        bound = x.subs(env)
        if bound.size() > 800 or form is None:
            continue
        seen += 1
        halves = {f"({s}/{m})": v // m for s, v in env.items() for m in (2, 8) if v % m == 0}
        at = {**env, **halves}
        modes = [(evaluate(n, at), evaluate(d, at)) for n, d in form.single.modes]
        assert [m for m in modes if m[0] != 1] == [m for m in bound.modes() if m[0] != 1]

    assert seen > 100


def test_maps_are_linear_only_in_single_digits():
    facts = Facts.about(M)

    assert linear(over(lambda i, j: i * M + 2 * j + 1, (M, 4)), facts).single.base == 1
    assert linear(over(lambda i, j: i * j, (M, 4)), facts) is None
    assert linear(over(lambda i: i // 2, M), facts) is None
    assert linear(over(lambda i, j: (64 * i + j) // 64, (M, 64)), facts).single.modes[0][1] == 1
    assert linear(ComposedLayout(Layout(M), 0, Layout(4)), facts) is None


def test_small_sizes_are_admissible_in_order_and_without_repeats():
    r = random.Random(4)
    ld = dim("ld", at_least=M + 1)
    for _ in range(60):
        given = r.sample(
            [M >= N, eq(M, 2 * N), N.multiple_of(3), (M + N).multiple_of(4), ld >= M * 2, M <= 6, N >= 5], 2
        )
        facts = Facts.about(M, N, ld, given=given)
        found = list(itertools.islice(small_sizes(facts.symbols, facts, (8,)), 80))
        sums = [sum(env.values()) for env in found]

        assert found, given
        assert all(map(facts.admits, found))
        assert sums == sorted(sums)
        assert len({tuple(env.items()) for env in found}) == len(found)


def test_sizes_that_cannot_be_are_not_tried():
    facts = Facts.about(M, given=[M <= 0])

    assert list(small_sizes(facts.symbols, facts)) == []


@pytest.mark.parametrize(
    "sizes, given",
    [((M, dim("Q", at_least=K // (N - 3))), ()), ((M, N, K), (M // (K - N) >= 0,))],
    ids=["bound", "given"],
)
def test_sizes_at_which_an_assumption_divides_by_zero_are_passed_over(sizes, given):
    facts = Facts.about(sizes, given=given)

    assert all(map(facts.admits, itertools.islice(small_sizes(facts.symbols, facts), 20)))


@pytest.mark.parametrize("junk", [4, "(4,8)", None, (4, 8), M, [Layout(4)], Swizzle(1, 1, 1)], ids=str)
def test_what_is_no_subject_is_refused(junk):
    with pytest.raises(ClaimError, match=r"expected a Layout, ComposedLayout or AddressMap, got"):
        check_subject(junk)


def test_a_table_of_coordinates_is_filled_mode_by_mode(monkeypatch):
    x = Layout((512, (64, 16)), (E(1), (E(0, 1), E(0, 0))))
    monkeypatch.setattr(Layout, "__call__", lambda *_: pytest.fail("one coordinate was evaluated"))
    at, values = table(x)

    assert values[513].tolist() == [0, 1, 1]
    assert at(513) == (1, (1, 0))
