"""The C++ types of CK Tile: what compilers print of them, and where the caret of an error stands."""

from __future__ import annotations

import random
import re

import pytest

from symlayout.ck_tile import TensorDescriptor, TileDistribution
from symlayout.errors import NotationError
from symlayout.text.ck_types import parse_ck
from symlayout.text.notation import parse
from tests.support.ck_tiles import ALL, DOCUMENT, GEMM_A


@pytest.mark.parametrize("encoding", ALL, ids=["document", "gemm a", "fragments", "accumulator"])
def test_what_is_written_is_read(encoding):
    for text in (encoding.cpp(), encoding.cpp().replace("ck_tile::", ""), encoding.cpp().replace(">>", "> >")):
        assert parse(text) == TileDistribution(encoding)


def test_a_distribution_of_a_compilers_message():
    """As clang prints it: an adaptor, a descriptor, the encoding, its details."""
    text = (
        "const ck_tile::tile_distribution<ck_tile::tensor_adaptor<ck_tile::tuple<>, ck_tile::tuple<>, ck_tile::tuple<>, "
        "ck_tile::sequence<>, ck_tile::sequence<>>, ck_tile::tensor_descriptor<int>, "
        f"{GEMM_A.cpp()}, ck_tile::detail::tile_distribution_detail<ck_tile::sequence<0>>> &"
    )

    assert parse(text) == TileDistribution(GEMM_A)


def test_a_descriptor_with_sizes_of_the_run_time():
    d = parse(
        "ck_tile::tensor_descriptor<ck_tile::tuple<ck_tile::embed<ck_tile::tuple<int, int>, "
        "ck_tile::tuple<int, ck_tile::constant<1>>>, ck_tile::right_pad<int, int, false>, "
        "ck_tile::pass_through<int>>, ck_tile::tuple<ck_tile::sequence<0>, ck_tile::sequence<1>, ck_tile::sequence<2>>, "
        "ck_tile::tuple<ck_tile::sequence<1, 2>, ck_tile::sequence<3>, ck_tile::sequence<4>>, "
        "ck_tile::sequence<3, 4>, long, ck_tile::sequence<-1, -1, 8, -1, -1>, ck_tile::sequence<-1, -1, 1, -1, -1>>"
    )

    assert isinstance(d, TensorDescriptor)
    assert str(d) == "(x0,x1) -> d0*x0 + x1 for x0 < o0 + s2, x1 < s3 when s2 >= x0 + 1"
    assert d.get_top_dimension_safe_vector_length_strides() == ((-1, 8), (-1, 1))


TRANSFORMED = [
    ("merge_v2_magic_division<tuple<constant<4>, constant<5>>>", "0, 1", "2", 2, "merge(4, 5)"),
    ("merge_v3_division_mod<tuple<constant<4>, constant<5>>>", "0, 1", "2", 2, "merge(4, 5)"),
    ("unmerge<tuple<number<4>, int>, false>", "0", "1, 2", 1, "unmerge(4, s0)"),
    ("xor_t<tuple<constant<8>, constant<4>>>", "0, 1", "2, 3", 2, "xor(8, 4)"),
    ("replicate<sequence<2>>", "", "0", 0, "replicate(2)"),
    ("slice<constant<10>, constant<2>, constant<7>>", "0", "1", 1, "slice(10, 2, 7)"),
    ("pad<constant<10>, constant<2>, constant<3>, true>", "0", "1", 1, "pad(10, 2, 3, skip)"),
    ("offset<int, int>", "0", "1", 1, "offset(s0, o0)"),
    ("freeze<constant<3>>", "0", "", 1, "freeze(3)"),
]


@pytest.mark.parametrize("transform, lower, upper, rank, expected", TRANSFORMED)
def test_each_transform_is_read(transform, lower, upper, rank, expected):
    bottom = ", ".join(map(str, range(rank)))
    a = parse(
        f"tensor_adaptor<tuple<{transform}>, tuple<sequence<{lower}>>, tuple<sequence<{upper}>>, sequence<{bottom}>, "
        f"sequence<{upper}>>"
    )

    assert [str(t) for t in a.get_transforms()] == [expected]


@pytest.mark.parametrize(
    "change, at, message",
    [
        (("sequence<2, 2>, ", "sequence<2, x>, "), "x>, ", "a number in a sequence, got 'x'"),
        (
            ("tuple<sequence<1>, sequence<2>>", "tuple<sequence<3>, sequence<2>>"),
            "3>",
            "a major of 0 (R) .. 2, got '3'",
        ),
        (("sequence<1, 2>", "sequence<1, 0>"), None, "a minor of R, which has 0 factors"),
        (("sequence<1, 2>", "sequence<1>"), None, "1 minors, as many as majors"),
        (("tuple<sequence<1>, sequence<2>>", "sequence<1>"), "sequence<1>", "a tuple<...>, got 'sequence<1>'"),
    ],
)
def test_a_caret_stands_under_the_first_bad_character(change, at, message):
    text = DOCUMENT.cpp().replace("ck_tile::", "").replace(*change, 1)
    with pytest.raises(NotationError) as found:
        parse(text)

    assert message in str(found.value)
    assert found.value.excerpt.splitlines()[1].endswith("^")
    if at is not None:
        assert text[found.value.at :].startswith(at)


@pytest.mark.parametrize(
    "text, message",
    [
        ("tile_distribution_encoding<sequence<1>>", "expected tile_distribution_encoding<R, H, P majors"),
        ("tensor_adaptor<tuple<pass<int>>, tuple<>, tuple<>, sequence<0>, sequence<0>>", "a transform (pass_through"),
        ("tensor_adaptor<tuple<pass_through<int>>, tuple<>, tuple<>, sequence<0>, sequence<0>>", "of 1 transforms"),
        (
            "tensor_adaptor<tuple<unmerge<tuple<int, int>, 7>>, tuple<sequence<0>>, tuple<sequence<1, 2>>, sequence<0>, "
            "sequence<1, 2>>",
            "true or false, got '7'",
        ),
        (
            "tensor_adaptor<tuple<pass_through<int>>, tuple<sequence<5>>, tuple<sequence<1>>, sequence<0>, sequence<1>>",
            "expected dimension 5 before it is used",
        ),
    ],
)
def test_types_without_a_meaning_say_what_is_expected(text, message):
    with pytest.raises(NotationError) as found:
        parse(text)
    assert message in str(found.value)


NAIVE = (
    "tensor_descriptor<tuple<embed<tuple<int, int>, tuple<int, constant<1>>>, right_pad<int, int, false>, "
    "merge_v2_magic_division<tuple<int, int>>>, tuple<sequence<0>, sequence<1>, sequence<3, 2>>, "
    "tuple<sequence<1, 2>, sequence<3>, sequence<4>>, sequence<4>, int, sequence<-1>, sequence<-1>>"
)
TOKENS = ("<", ">", ",", "::", "tuple", "constant<", "-1", "9" * 30, "int", "\0", "é", "{", "...", "number<3>", "--3")


def damaged(text, r):
    """A text with a few slips: something taken out, put in, cut off, doubled, a number that is another."""
    for _ in range(r.randint(1, 3)):
        i, j = sorted(r.randrange(len(text) + 1) for _ in range(2))
        text = r.choice(
            (
                text[:i] + text[min(j, i + 6) :],
                text[:i] + r.choice(TOKENS) + text[i:],
                text[:j] + text[i : i + 20] + text[j:],
                text[:i],
                re.sub(
                    r"-?\d+", lambda m: str(r.choice((0, -1, 7, 2**31, 10**20))) if r.random() < 0.1 else m[0], text
                ),
            )
        )
    return text


def test_damaged_types_are_read_or_refused_with_a_caret():
    r = random.Random(8)
    refused = []
    for _ in range(150):
        text = damaged(r.choice((GEMM_A.cpp(), DOCUMENT.cpp(), NAIVE)), r)
        try:
            parse_ck(text)
        except NotationError as e:
            refused.append((e, len(text)))
    assert len(refused) > 100
    assert all(0 <= e.at <= n and e.excerpt.splitlines()[1].strip() == "^" for e, n in refused)


@pytest.mark.parametrize(
    "text",
    [
        "tuple<" * 3000,
        "tile_distribution_encoding<" * 500 + ">" * 500,
        "sequence<" + "1, " * 5000 + "1>",
        "tensor_adaptor<tuple<pass_through<int>>, tuple<sequence<0>>, tuple<sequence<1000000000>>, sequence<0>, "
        "sequence<1000000000>>",
    ],
    ids=["deep", "nested", "long", "a dimension of a great number"],
)
def test_types_of_any_size_are_refused_at_once(text):
    """Dimensions were listed up to the greatest number."""
    with pytest.raises(NotationError):
        parse_ck(text)
