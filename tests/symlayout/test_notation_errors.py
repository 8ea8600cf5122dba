"""CuTe text that cannot be read, with the place of the caret; facts, boxes, sizes and expressions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from symlayout import Layout, dim
from symlayout.errors import (
    LayoutError,
    NotationError,
    SymlayoutError,
)
from symlayout.expr import Fact, Symbol, ceil_div_int, eq, maximum, mod, xor
from symlayout.text.notation import (
    Declared,
    parse,
    parse_box,
    parse_dims,
    parse_expression,
    parse_fact,
    parse_int_tuple,
    to_cpp,
)
from tests.symlayout.test_notation import SYMBOLS, TEXT, K, M, N, random_expression

# -- errors -------------------------------------------------------------------------------------------------

# (source, column of the caret, a phrase of the message)
MALFORMED = [
    ("", 0, "expected a layout, got the end of the text"),
    ("   ", 0, "expected a layout, got the end of the text"),
    ("4:", 2, "expected a stride, got the end of the text"),
    ("4: ", 2, "expected a stride, got the end of the text"),
    (":1", 0, "expected a layout, got ':'"),
    ("4:1:2", 3, "expected 'o' or the end of the text, got ':'"),
    ("4 8", 2, "expected ':', 'o' or the end of the text, got '8'"),
    ("(4,8", 4, "expected ',' or ')' in a tuple, got the end of the text"),
    ("4,8)", 1, "got ','"),
    ("(4,8)):(1,4)", 5, "got ')'"),
    ("(4,,8)", 3, "expected an integer or a tuple, got ','"),
    ("(,)", 1, "expected an integer or a tuple, got ','"),
    ("1.5:1", 1, "got '.'"),
    ("4:1e3", 3, "got 'e3'"),
    ("4:1 # comment", 4, "got '#'"),
    ("(4;8)", 2, "expected ',' or ')' in a tuple, got ';'"),
    ("٣:1", 0, "expected a layout"),
    ("M²:1", 1, "got '²'"),
    ("_:1", 0, "expected a layout, got '_'"),
    ("4:_", 2, "expected a stride, got '_'"),
    ("4:M+", 4, "expected an operand of '+', got the end of the text"),
    ("4:M+*2", 4, "expected an operand of '+', got '*'"),
    ("4:-", 3, "expected an integer after the sign"),
    ("(M+)*N", 3, "expected an operand of '+', got ')'"),
    ("(4,8)*2", 2, "expected ')' after an expression, got ','"),
    ("M**", 3, "expected an exponent, got the end of the text"),
    ("M/2", 1, "got '/'"),
    ("foo(3)", 3, "got '('"),
    ("M//0", 3, "expected a divisor of at least 1, got 0"),
    ("7 % 0", 4, "expected a divisor of at least 1, got 0"),
    ("ceil(M/0)", 7, "expected a divisor of at least 1, got 0"),
    ("ceil(M)", 6, "expected two operands of ceil, got 1"),
    ("ceil(M/2*N)", 8, "expected ')'"),
    ("ceil_div(M,2,3)", 14, "expected two operands of ceil_div, got 3"),
    ("min()", 4, "expected an operand of min, got ')'"),
    ("4:1@", 4, "expected the index of a mode after '@'"),
    ("4:1@M", 4, "expected the index of a mode after '@', got 'M'"),
    ("4:1/4@0", 3, "got '/'"),
    ("Sw<1,2>", 6, "expected ',' before the shift of a swizzle, got '>'"),
    ("Sw<1,2,3,4>", 8, "expected '>' after the shift of a swizzle, got ','"),
    ("Sw<M,2,3>", 3, "expected the bits of a swizzle, got 'M'"),
    ("Sw<3,0,1>", 0, "expected 0 <= bits <= |shift| <= 64"),
    ("Sw<3,4,3> o", 11, "expected an offset or a layout, got the end of the text"),
    ("Sw<3,4,3> o 0", 13, "expected 'o' and a layout after the offset"),
    ("Sw<3,4,3> o 0 o Sw<3,4,3>", 16, "expected a layout inside the composition"),
    ("Sw<3,4,3> x 0 o 8:1", 10, "got 'x'"),
    ("Sw<3,4,3> o smem_ptr[4b] o 8:1", 12, "expected elements of 8, 16, 32, ... bits behind a pointer"),
    ("Sw<3,4,3> o smem_ptr[24b] o 8:1", 12, "got 24 bits"),
    ("Sw<3,0,3> o smem_ptr[16b] o 8:1", 12, "a swizzle that keeps elements of 16 bits whole, got Sw<3,0,3>"),
    ("8:1 o smem_ptr[16b] o 8:1", 6, "expected a swizzle before a shared-memory pointer, got 8:1"),
    ("Sw<3,4,3> o smem_ptr[16] o 8:1", 23, "expected 'b' after the bits"),
    ("Sw<3,4,3> o smem_ptr[16b](0x7f00) o 8:1", 26, "expected 'unset'"),
]


@pytest.mark.parametrize("source, column, phrase", MALFORMED, ids=[m[0] for m in MALFORMED])
def test_malformed_text_gets_a_caret(source: str, column: int, phrase: str) -> None:
    with pytest.raises(NotationError) as e:
        parse(source)
    message, shown, caret = str(e.value).split("\n")

    assert phrase in message
    assert re.match(r"expected .+, got .+", message)
    assert shown == source
    assert caret == " " * column + "^"


def test_lines_of_the_source_become_one() -> None:
    with pytest.raises(NotationError) as e:
        parse("(4,8)\n\t:(8 1)")

    assert str(e.value).split("\n")[1:] == ["(4,8)  :(8 1)", "           ^"]


@pytest.mark.parametrize("place", [0, 30, 100, 500, 997])
def test_long_sources_are_cut_around_the_caret(place: int) -> None:
    source = "(" + ",".join(["8"] * 500) + ")"
    source = source[:place] + "$" + source[place + 1 :]
    with pytest.raises(NotationError) as e:
        parse(source)
    _, shown, caret = str(e.value).split("\n")

    assert len(shown) <= 86
    assert shown[caret.index("^")] == source[place] == "$"
    assert shown.startswith("...") == (place > 40)


NESTED_TEXT = ["(", "-(", "1^1+1*ceil(", "(M+", "(4,", "min(", "ceil(", "2*("]
NESTED_TYPES = ["cute::tuple<", "Layout<", "ComposedLayout<", "ScaledBasis<"]


@pytest.mark.parametrize("opening", NESTED_TEXT + NESTED_TYPES)
@pytest.mark.parametrize("closing", ["", "4"])
def test_deep_nesting_is_refused(opening: str, closing: str) -> None:
    with pytest.raises(NotationError, match=r"expected \w+ nested at most \d+ deep, got"):
        parse(opening * 10_000 + closing)


def test_nesting_up_to_the_limit() -> None:
    def nested(depth: int) -> str:
        return "(" * depth + "4" + ",)" * depth

    for text in (f"{nested(64)}:{nested(64)}", nested(64)):
        assert parse(text) == parse(to_cpp(parse(text)))
    with pytest.raises(NotationError, match="expected tuples nested at most 64 deep"):
        parse(nested(65))
    assert parse("(" * 64 + "2" + ")*2" * 64).shape == 2**65


def test_long_chains_need_no_stack() -> None:
    assert parse("4:" + "-" * 10_000 + "1") == Layout(4, 1)
    assert parse("+".join(["1"] * 10_000)) == Layout(10_000)
    assert parse("Sw<1,0,1>" + " o 0 o 4:1" * 64)(3) == 2
    with pytest.raises(NotationError, match="expected layouts nested at most 64 deep"):
        parse("4:1" + " o 0 o 4:1" * 10_000)


def test_numbers_beyond_the_digits_of_the_interpreter() -> None:
    message = "expected a number of at most 4300 digits, got one of 5000 digits"
    digits = "1" * 5000
    for source in (digits, f"_{digits}:1", f"4:(1+{digits})", f"cute::C<{digits}>", f"cute::_{digits}"):
        with pytest.raises(NotationError, match=message):
            parse(source)


@pytest.mark.parametrize(
    "source, phrase",
    [
        ("(4,8):8", r"expected a stride congruent to the shape \(4,8\), got 8"),
        ("(4):4", r"expected a stride congruent to the shape \(4,\), got 4"),
        ("0:1", "expected extents of at least 1, got 0"),
        ("-4:1", "expected extents of at least 1, got -4"),
        ("1@0:1", "expected integers in a shape, got 1@0"),
        ("cute::Layout<cute::C<0>, cute::C<1>>", "expected extents of at least 1, got 0"),
    ],
)
def test_what_is_no_layout_is_said_by_layout(source: str, phrase: str) -> None:
    with pytest.raises(LayoutError, match=phrase):
        parse(source)


def test_other_than_text_is_refused() -> None:
    with pytest.raises(NotationError, match="expected layout notation as a str, got 4"):
        parse(4)  # type: ignore[arg-type]


WORDS = ["Sw<", "smem_ptr[16b]", "M", "min(", "ceil(", "cute::", "Layout<", "C<4>", "int", "//", "é"]
ALPHABET = [*"()(),:_-+*/%^@ o<>4", *WORDS]


def error_of(source: str, reader: Callable[[str], Any] = parse) -> SymlayoutError | None:
    try:
        reader(source)
    except SymlayoutError as e:
        return e
    return None


@pytest.mark.seeds(10)
def test_any_text_is_a_value_or_an_error_of_ours(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(500):
        source = "".join(rng.choices(ALPHABET, k=rng.randint(1, 12)))
        error = error_of(source)
        assert isinstance(error, NotationError | LayoutError | None), source
        assert error is None or str(error).startswith("expected "), source


@pytest.mark.parametrize("seed", range(5))
def test_broken_layouts_are_values_or_errors_of_ours(seed: int) -> None:
    rng = random.Random(seed)
    for source, _ in TEXT * 3:
        i = rng.randrange(len(source))
        broken = source[:i] + rng.choice(["", *ALPHABET]) + source[i + rng.randint(0, 2) :]
        error = error_of(broken)
        assert isinstance(error, NotationError | LayoutError | None), broken
        assert error is None or str(error).startswith("expected "), broken


def test_symbols_are_interned_by_name() -> None:
    a, b = parse("(M,M)").shape

    assert a is b
    assert isinstance(a, Symbol)


# -- facts, boxes, sizes and expressions --------------------------------------------------------------------

ld = dim("ld")
FACTS = [
    ("N % 8 == 0", (N.multiple_of(8),)),
    ("0 == (M + N) % 8", ((M + N).multiple_of(8),)),
    ("M % 8 == 3", ((M - 3).multiple_of(8),)),
    ("M % 8 >= 3", (M % 8 >= 3,)),
    ("M % 8 == 8", (eq(M % 8, 8),)),  # no residue: false, and not a congruence
    ("M % N == 0", (eq(mod(M, N), 0),)),
    ("2*M % 8 == 0", ((2 * M).multiple_of(8),)),
    ("ld >= M", (ld >= M,)),
    ("M == 2*N", (eq(M, 2 * N),)),
    ("0 <= K < M", (K >= 0, K < M)),
    ("M > N >= K", (M > N, N >= K)),
    ("M == N == 4", (eq(M, N), eq(N, 4))),
    ("N % 8 == 0 and ld >= M, M < 64", (N.multiple_of(8), ld >= M, M < 64)),
    ("ceil_div(M, 64) >= 3", (ceil_div_int(M, 64) >= 3,)),
    ("(M ^ 3) <= max(M, N)", (xor(M, 3) <= maximum(M, N),)),
    ("1 <= 2", (Fact(1, ">="),)),
]


@pytest.mark.parametrize("text, value", FACTS, ids=[t for t, _ in FACTS])
def test_facts(text: str, value: tuple[Fact, ...]) -> None:
    assert parse_fact(text) == value
    for f in value:
        assert parse_fact(str(f)) == (f,)


@pytest.mark.seeds(10)
def test_facts_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        e, relation = random_expression(rng, 2), rng.choice([">=", "==", "%"])
        f = Fact(e, relation, rng.choice([2, 8, 64]) if relation == "%" else 0)
        (read,) = parse_fact(str(f), SYMBOLS)
        if f.value is None:
            assert read in (f, Fact(-f.expr, "==")), str(f)
        else:
            assert read.value is f.value, str(f)


def test_expressions_boxes_and_sizes() -> None:
    m, n, lda = parse_dims("M(multiple_of=8, at_most=1024), N lda(at_least=M + 1)")

    assert parse_expression("ceil_div(M, 64)*2 - 1", [m]) == 2 * ceil_div_int(m, 64) - 1
    assert parse_box("(i, j) < (M, 8)", [m]) == parse_box("0 <= i < M, j < 8", [m]) == (("i", "j"), (m, 8))
    assert parse_box("(r, t)") == (("r", "t"), None)
    assert parse_box("(M, j) < (4, 8)", [m]) == (("M", "j"), (4, 8))  # a coordinate may hide a size
    assert (m, n) == (dim("M", multiple_of=8, at_most=1024), dim("N"))
    assert lda == dim("lda", at_least=m + 1)
    assert parse_dims("M M") == (M, M)


SAID_BADLY: list[tuple[Callable[[str], Any], str, int, str]] = [
    (parse_fact, "", 0, "expected an integer expression, got the end of the text"),
    (parse_fact, "N", 1, "expected a relation (== <= < >= >) after N, got the end of the text"),
    (parse_fact, "N % 8 = 0", 6, "after N % 8, got '='"),
    (parse_fact, "M != N", 2, "got '!='"),
    (parse_fact, "M >=", 4, "expected an integer expression"),
    (parse_fact, "M >= N and", 10, "expected an integer expression"),
    (parse_fact, "M >= and N", 5, "expected an integer expression, got 'and'"),
    (parse_fact, "M >= N N", 7, "expected a relation, 'and' or the end of the text, got 'N'"),
    (parse_fact, "M >= 1 or N >= 1", 7, "got 'or'"),
    (parse_fact, "M % 0 == 0", 4, "expected a divisor of at least 1, got 0"),
    (parse_expression, "M N", 2, "expected an operator or the end of the text, got 'N'"),
    (parse_expression, "(M, N)", 2, "expected ')'"),
    (parse_box, "(i, j) < M", 9, "expected one extent for each of i, j, got M"),
    (parse_box, "(i, j) < ((2, 3), 4)", 9, "got ((2,3),4)"),
    (parse_box, "i < M, i < N", 7, "expected a name of its own for each coordinate, i being taken"),
    (parse_box, "i < M, j < i", 11, "expected extents that are the same at every coordinate, got i"),
    (parse_box, "i < M, j", 8, "expected '<' and an extent after the coordinates"),
    (parse_box, "(i, 4) < (2, 3)", 4, "expected the name of a coordinate, got '4'"),
    (parse_box, "1 <= i < M", 0, "expected the name of a coordinate, got '1'"),
    (parse_dims, "", 0, "expected the name of a size"),
    (parse_dims, "M(multiple=8)", 2, "expected one of at_least, at_most, below, multiple_of, each once"),
    (parse_dims, "M(below=8, below=9)", 11, "each once, got 'below'"),
    (parse_dims, "M(below 8)", 8, "expected '=' after below"),
    (parse_dims, "M(multiple_of=0)", 0, "expected multiple_of to be an integer of at least 1, got 0"),
    (parse_dims, "M, M(below=8)", 3, "expected each size declared once, got M again, with other limits"),
    (parse_dims, "M(below=8", 9, "expected ',' or ')' after a limit"),
]


@pytest.mark.parametrize("reader, source, column, phrase", SAID_BADLY, ids=[b[1] for b in SAID_BADLY])
def test_what_is_said_badly_gets_a_caret(reader: Callable[[str], Any], source: str, column: int, phrase: str) -> None:
    with pytest.raises(NotationError) as e:
        reader(source)
    message, _, caret = str(e.value).split("\n")

    assert phrase in message
    assert re.match(r"expected .+, got .+", message)
    assert caret == " " * column + "^"


@pytest.mark.parametrize("reader", [parse, parse_int_tuple, parse_expression, lambda s, d: parse_fact(f"{s} >= 1", d)])
def test_declared_names_are_all_there_are(reader: Callable[[str, Any], Any]) -> None:
    reader("M + N", Declared([M, N]))
    with pytest.raises(
        NotationError, match=r"expected one of the declared names \(ldb, M\), got 'ldd'; did you mean ldb"
    ):
        reader("M + ldd", Declared([dim("ldb"), M]))


@pytest.mark.parametrize("seed", range(5))
def test_any_text_is_facts_and_sizes_or_an_error_of_ours(seed: int) -> None:
    rng = random.Random(seed)
    alphabet = [*"()(),:_-+*%^ <>=48", "M", "N", "i", "and", "==", "<=", "//", "below", "multiple_of", "min("]
    for _ in range(400):
        source = "".join(rng.choices(alphabet, k=rng.randint(1, 10)))
        for reader in (parse_fact, parse_box, parse_dims, parse_expression):
            error = error_of(source, reader)
            assert error is None or str(error).startswith("expected "), source
