"""Transforms, each on its own: lower indices, masks, inverses, moves, guarantees, lemmas."""

from __future__ import annotations

import itertools
import pickle

import pytest

from symlayout import LayoutError, Symbol, dims, index
from symlayout.expr import evaluate
from symlayout.transforms import (
    TRANSFORMS,
    Embed,
    Freeze,
    Indexing,
    Insert,
    LeftPad,
    Merge,
    Modulo,
    Offset,
    Pad,
    PassThrough,
    Replicate,
    RightPad,
    Run,
    Slice,
    Unmerge,
    Xor,
    digits_by_magic,
    digits_truncated,
    magic_division,
)

L, M, N = dims("L M N")

# A number and a symbolic transform of each kind, with sizes at which the latter is looked at.
EXAMPLES = [
    (PassThrough(5), PassThrough(L)),
    (Pad(10, 2, 3), Pad(L, M, N)),
    (LeftPad(6, 2), LeftPad(L, M)),
    (RightPad(6, 2), RightPad(L, M)),
    (Embed((4, 5), (2, 3)), Embed((L, M), (N, 1))),
    (Merge((2, 3, 4)), Merge((L, M))),
    (Unmerge((2, 3, 4)), Unmerge((L, M))),
    (Freeze(3), Freeze(L)),
    (Insert(4), Insert(L)),
    (Replicate((2, 3)), Replicate((L, M))),
    (Slice(10, 2, 7), Slice(L + M + N, L, L + M)),
    (Modulo(4, 10), Modulo(L, L + M)),
    (Xor((8, 4)), Xor((L, 8))),
    (Offset(6, 5), Offset(L, M)),
    (Indexing(4, (3, 0, 2, 7)), Indexing(L, lambda u: 2 * u + 1)),
]
BROKEN_MOVES = (Modulo, Indexing)
SIZES = ({"L": 1, "M": 1, "N": 1}, {"L": 3, "M": 2, "N": 4}, {"L": 4, "M": 3, "N": 2})

each = pytest.mark.parametrize("number, symbolic", EXAMPLES, ids=lambda t: str(t).partition("(")[0])


def uppers(t):
    return itertools.product(*map(range, t.upper_lengths))


def is_valid(t, u):
    return all(f.value for f in t.valid(u))


def test_every_kind_has_an_example():
    assert [type(a) for a, _ in EXAMPLES] == list(TRANSFORMS)
    assert all(type(a) is type(b) for a, b in EXAMPLES)


@each
def test_expressions_say_what_numbers_do(number, symbolic):
    for t in (number, *(symbolic.subs(env) for env in SIZES)):
        names = tuple(index(f"u{i}", n) for i, n in enumerate(t.upper_lengths))
        lower, valid = t.lower(names), t.valid(names)
        for u in uppers(t):
            env = dict(zip(names, u, strict=True))
            assert tuple(evaluate(x, env) for x in lower) == t.lower(u)
            assert all(f.at(env) for f in valid) == is_valid(t, u)


@each
def test_sizes_are_put_in_before_or_after(number, symbolic):
    for env in SIZES:
        bound = symbolic.subs(env)
        names = tuple(index(f"u{i}", n) for i, n in enumerate(symbolic.upper_lengths))
        for u in uppers(bound):
            at = {**env, **{c.name: x for c, x in zip(names, u, strict=True)}}
            assert tuple(evaluate(x, at) for x in symbolic.lower(names)) == bound.lower(u)
    assert not bound.symbols
    assert all(isinstance(s, Symbol) for s in symbolic.symbols)


@each
def test_the_inverse_goes_back_from_valid_indices(number, symbolic):
    for t in (number, *(symbolic.subs(env) for env in SIZES)):
        back = t.inverse()
        for u in uppers(t) if back is not None else ():
            if is_valid(t, u):
                assert back.lower(t.lower(u)) == u
                assert is_valid(back, t.lower(u))


@pytest.mark.parametrize(
    "t, back",
    [
        (Merge((2, 3)), Unmerge((2, 3))),
        (Unmerge((2, 3)), Merge((2, 3))),
        (Embed((4, 5), (5, 1)), Merge((4, 5))),
        (Embed((4, 5), (1, 1)), None),
        (Pad(10, 2, 3), Slice(15, 2, 12)),
        (Slice(10, 2, 7), Pad(5, 2, 3)),
        (Xor((8, 4)), Xor((8, 4))),
        (Xor((8, 6)), None),
        (Modulo(4, 4), PassThrough(4)),
        (Modulo(4, 5), None),
        (Freeze(1), None),
        (Insert(2), None),
        (Replicate((2,)), None),
        (Indexing(1, (5,)), None),
    ],
    ids=str,
)
def test_inverses_by_kind(t, back):
    assert t.inverse() == back


@each
def test_lower_indices_are_inside_their_lengths(number, symbolic):
    for t in (number, *(symbolic.subs(env) for env in SIZES)):
        ends = t.lower_lengths()
        assert len(ends) == t.lower_rank
        for u in uppers(t):
            if is_valid(t, u):
                assert all(n is None or 0 <= x < n for x, n in zip(t.lower(u), ends, strict=True))


@each
def test_moving_is_making_but_for_two_kinds(number, symbolic):
    different = 0
    for old, new in itertools.product(uppers(number), repeat=2):
        diff = tuple(b - a for a, b in zip(old, new, strict=True))
        before = number.lower(old)
        after = tuple(a + d for a, d in zip(before, number.update(diff, before, new), strict=True))
        different += any(diff) and after != number.lower(new)
    assert bool(different) == isinstance(number, BROKEN_MOVES)


@each
@pytest.mark.parametrize("length", [1, 2, 4])
def test_runs_are_what_they_say(number, symbolic, length):
    """Wherever the needs of a run hold, each lane is at its place and as valid as the first."""
    shown = 0
    for along in range(number.upper_rank):
        for u in uppers(number):
            if u[along] + length > number.upper_lengths[along]:
                continue
            steps = tuple(int(i == along) for i in range(len(u)))
            run = number.run(Run(u, steps), length)
            if run is None or not all(f.value for f in run.needs):
                continue
            shown += 1
            for j in range(length):
                lane = tuple(x + j * s for x, s in zip(u, steps, strict=True))
                assert number.lower(lane) == tuple(x + j * s for x, s in zip(run.starts, run.steps, strict=True))
                assert is_valid(number, lane) == is_valid(number, u)
    assert shown or length > 1 or not number.upper_rank


@each
def test_values_are_frozen_and_travel(number, symbolic):
    assert pickle.loads(pickle.dumps(number)) == number
    assert hash(number) == hash(type(number)(**vars(number)))
    with pytest.raises(AttributeError):
        number.kind_of = 1


def test_merge_as_upstream_tests_it():
    assert [Merge((4, 5)).lower((u,)) for u in (7, 19)] == [(1, 2), (3, 4)]
    assert [Merge((2, 3, 4)).lower((u,)) for u in (23, 6)] == [(1, 2, 3), (0, 1, 2)]


def test_pad_as_upstream_tests_it():
    t = Pad(10, 2, 3)

    assert [(t.lower((u,))[0], is_valid(t, (u,))) for u in (0, 1, 2, 11, 12, 14)] == [
        (-2, False),
        (-1, False),
        (0, True),
        (9, True),
        (10, False),
        (12, False),
    ]


def test_embed_as_upstream_tests_it():
    t = Embed((4, 5), (2, 3))

    assert [t.lower((i, j))[0] for i, j in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (3, 4), (2, 3))] == [
        0, 2, 3, 5, 4, 6, 18, 13,
    ]  # fmt: skip


def test_outside_a_table_is_its_last_entry_for_numbers_and_symbols():
    t, u = Indexing(3, (5, 6, 7)), index("u", 9)

    assert [t.lower((i,))[0] for i in (-1, 3, 8)] == [7, 7, 7]
    assert [evaluate(t.lower((u,))[0], {u: i}) for i in range(5)] == [5, 6, 7, 7, 7]


def test_pads_of_one_side_test_one_end():
    assert is_valid(LeftPad(10, 2), (50,))
    assert is_valid(RightPad(10, 2), (-1,))
    assert is_valid(Pad(10, 2, 3, True), (0,))


def test_magic_division_is_division_below_2_to_the_31():
    ends = (0, 1, 2, 2**16, 2**30, 2**31 - 2, 2**31 - 1)

    assert all(
        magic_division(u, d) == u // d for d in range(1, 700) for e in ends for u in {e, e // d * d} if u < 2**31
    )
    assert magic_division(0xC0000000, 3) == 0


def test_merge_of_a_negative_index_is_three_things():
    assert digits_by_magic((4, 6), -1) == (178956970, -1073741821)
    assert digits_truncated((4, 6), -1) == (0, -1)
    assert Merge((4, 6)).lower((-1,)) == (-1, 5)


def test_a_step_backwards_on_24_bits_goes_far_away():
    assert Unmerge((3, 6), True).update((-1, 5), (6,), (0, 5)) == (100663295,)
    assert Unmerge((3, 6)).update((-1, 5), (6,), (0, 5)) == (-1,)


@pytest.mark.parametrize(
    "t, words",
    [
        (Slice(10, 2, 12), "end within length in slice(10, 2, 12)"),
        (Slice(10, -1, 3), "begin of at least 0 in slice(10, -1, 3)"),
        (Slice(10, 5, 3), "end after begin in slice(10, 5, 3)"),
        (Xor((8, 6)), "second length a power of two in xor(8, 6)"),
        (Pad(10, -1, 0), "left of at least 0 in pad(10, -1, 0)"),
        (Freeze(-1), "index of at least 0 in freeze(-1)"),
    ],
    ids=str,
)
def test_parameters_that_upstream_does_not_check_are_obligations(t, words):
    assert str(t.obligations()) == f"exact: needs {words}"


@pytest.mark.parametrize("t", [a for a, _ in EXAMPLES], ids=str)
def test_right_parameters_owe_nothing(t):
    assert t.obligations() == ()


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Embed((4, 5), (1,)), r"expected a coefficient for each of 2 lengths \(4,5\), got \(1,\)"),
        (lambda: Xor((4, 4, 4)), "expected two lengths for xor"),
        (lambda: Merge(4), r"expected a tuple of lengths such as \(4, 5\), got 4"),
        (lambda: Indexing(3, (1, 2)), "expected an index for each of 3 entries, got 2"),
    ],
)
def test_bad_parameters_are_told(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_guarantees_follow_upstreams_rules():
    assert PassThrough(8).guaranteed([4], [1], "V24") == ((4,), (1,))
    assert Pad(8, 0, 0).guaranteed([4], [1], "V24") == ((-1,), (-1,))
    assert RightPad(10, 6).guaranteed([4], [1], "V24") == ((4,), (1,))
    assert Merge((6, 6)).guaranteed([-1, 4], [-1, 1], "V24") == ((4,), (1,))
    assert Unmerge((16, 4)).guaranteed([8], [1], "V24") == ((-1, 4), (-1, 1))
    assert Unmerge((16, N)).guaranteed([8], [1], "V24") == ((-1, 8), (-1, 1))
    assert Xor((8, 8)).guaranteed([4, 8], [1, 1], "V24") == ((4, 8), (1, 1))
