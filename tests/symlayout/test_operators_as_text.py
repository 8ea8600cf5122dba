"""C's operators in claim text: precedence, conditions, powers, and what is refused because C and Python differ.

``dims M(at_most=2^21)`` read 23 and nobody was told: tests had ``^`` between names only.
"""

from __future__ import annotations

import pytest

from symlayout import NotationError, dim, dims, evaluate, maximum, minimum, select, truth
from symlayout.finding.comments import parse_claim
from symlayout.text.notation import parse, parse_dims, parse_expression, parse_fact, parse_int_tuple

M, N = dims("M N")
T, I = dim("t"), dim("i")  # noqa: E741


@pytest.mark.parametrize(
    "source, expected",
    [
        ("t & 7", T % 8),
        ("(t & 7) ^ (t >> 3)", (T & 7) ^ (T >> 3)),
        ("t & 7 ^ t >> 3", (T & 7) ^ (T >> 3)),
        ("t & ~3 | 1", (T & ~3) | 1),
        ("t << 3 + 1", T << 4),
        ("1 << t", 1 << T),
        ("(M) << 3", 8 * M),
        ("(t >> 3) << 3 | t & 7", T),
        ("2**10 + M**2", 1024 + M * M),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("2**t", 1 << T),
        ("~t", -T - 1),
        ("4 * !t", 4 * truth(T <= 0)),
        ("i < M ? i : 0", select(I < M, I, 0)),
        ("select(i < M, i, 0)", select(I < M, I, 0)),
        ("select(i & 1, M, N)", select(I & 1, M, N)),
        ("i < M ? i < N ? 1 : 2 : 3", select(I < M, select(I < N, 1, 2), 3)),
        ("i < M && t < N ? 8*i + t : 0", select((I < M, T < N), 8 * I + T, 0)),
        ("(i < M) * 4 + (t == 3)", 4 * truth(I < M) + select(maximum(T - 3, 3 - T) <= 0, 1, 0)),
        ("M < N ? M : N", minimum(M, N)),
        ("1 + (i % 2 == 0 ? 4 : 0)", 1 + select((I % 2).multiple_of(2), 4, 0)),
    ],
    ids=str,
)
def test_operators_bind_as_in_c(source, expected):
    found = parse_expression(source, [M, N, T, I])
    points = [{"t": t, "i": i, "M": m, "N": 6} for t in (1, 3, 9, 30) for i in (1, 4, 8) for m in (1, 5)]

    assert [evaluate(found, at) for at in points] == [evaluate(expected, at) for at in points]


@pytest.mark.parametrize(
    "source, true, false",
    [
        ("i < M && t < N", {"i": 1, "M": 2, "t": 1, "N": 2}, {"i": 1, "M": 2, "t": 2, "N": 2}),
        ("i < M || t < N", {"i": 3, "M": 2, "t": 1, "N": 2}, {"i": 3, "M": 2, "t": 2, "N": 2}),
        ("!(i < M)", {"i": 2, "M": 2}, {"i": 1, "M": 2}),
        ("i < M and t < N || M == 9", {"i": 9, "M": 9, "t": 1, "N": 1}, {"i": 9, "M": 8, "t": 1, "N": 2}),
        ("(i & 1) == 0", {"i": 2}, {"i": 3}),
        ("(i < M) == (t < N)", {"i": 1, "M": 2, "t": 1, "N": 2}, {"i": 1, "M": 2, "t": 2, "N": 2}),
        ("i >> 3 < M", {"i": 15, "M": 2}, {"i": 16, "M": 2}),
    ],
)
def test_conditions_of_facts(source, true, false):
    facts = parse_fact(source)

    assert all(f.at(true) for f in facts)
    assert not all(f.at(false) for f in facts)


@pytest.mark.parametrize(
    "read, source, column, phrase",
    [
        (parse_dims, "M(at_most=2^21)", 11, "2^21, which is xor in C and means 23; write 2**21 or 1<<21"),
        (parse_expression, "M + 3^2", 5, "which is xor in C"),
        (parse_expression, "10^6", 2, "10^6, which is xor in C and means 12; write 10**6"),
        (parse_fact, "i & 1 == 0", 2, "expected parentheses: next to == C applies '&' last and Python first"),
        (parse_fact, "0 == i | 1", 7, "expected parentheses: next to == C applies '|' last and Python first"),
        (parse_expression, "i ^ 3 < M ? 1 : 2", 2, "expected parentheses"),
        (parse_expression, "i < M ? i", 9, "expected ':' between the two values of '?'"),
        (parse_expression, "1 << 100000", 5, "expected to shift by 0 to 65536 bits, got 100000"),
        (parse_expression, "10**100000", 2, "expected a power of at most 4096 bits, got 10**100000"),
        (parse_expression, "select(i, 1)", 11, "expected three operands of select, got 2"),
        (parse_fact, "i < M &&", 8, "expected an integer expression, got the end of the text"),
    ],
)
def test_what_is_refused_says_why_and_where(read, source, column, phrase):
    with pytest.raises(NotationError) as e:
        read(source)

    assert phrase in str(e.value)
    assert str(e.value).splitlines()[-1].index("^") == column


def test_types_and_layouts_read_as_before():
    assert parse("cute::Layout<cute::tuple<cute::C<4>,cute::C<8>>>") == parse("(4,8)")
    assert parse("(M,4<<1):(1,M)") == parse("(M,8):(1,M)")
    assert parse_int_tuple("(t & 7, t >> 3)", [T]) == (T % 8, T // 8)
    assert parse_int_tuple("((t & 7) ^ (t >> 3), (1,))", [T]) == ((T % 8) ^ (T // 8), (1,))


@pytest.mark.parametrize(
    "source, fields",
    [
        (
            "in_bounds t & lane over (t, lane) < (8, 4) extent 8",
            {"map": "t & lane", "over": "(t, lane) < (8, 4)", "extent": "8"},
        ),
        ("in_bounds t >> k over (t, k) < (8, 4) extent 8", {"map": "t >> k", "over": "(t, k) < (8, 4)", "extent": "8"}),
        ("in_bounds i < M ? i : 0 over i < 8 extent M", {"map": "i < M ? i : 0", "over": "i < 8", "extent": "M"}),
        ("injective t << 3 over t < 8", {"map": "t << 3", "over": "t < 8"}),
        ("injective Layout<C<4>, C<1>> given M > 1", {"map": "Layout<C<4>, C<1>>"}),
    ],
)
def test_claims_in_comments_are_cut_at_their_keywords(source, fields):
    assert parse_claim(source)[1] == fields


def test_a_claim_with_operators_is_proved():
    from checkers import prove
    from checkers.claim_text import claim_from

    box = {"over": "t < 64*S"}
    for kind, fields in (
        ("bijective", {"map": "(t & ~7) | ((t & 7) ^ (t >> 3 & 7))", "onto": "64*S", **box}),
        ("in_bounds", {"map": "t < 3 ? t + 1 : t", "extent": "64*S", **box}),
        ("injective", {"map": "t << 2 | (t & 0)", **box}),
    ):
        assert prove(claim_from(kind, fields, (dim("S"),)))


@pytest.mark.parametrize("text", ["010*M", "M + 00", "1 << 017"])
def test_zeros_before_a_number_are_refused(text):
    """``010`` is 8 in C and was read as 10: no test had written a number so."""
    with pytest.raises(NotationError, match="octal in C, got 0"):
        parse_expression(text)
