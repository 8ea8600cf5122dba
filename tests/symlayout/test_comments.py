"""Claims in comments: which comments count, how they are cut, and where an error points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from symlayout import dim
from symlayout.errors import NotationError
from symlayout.finding.collect import Found, Stated
from symlayout.finding.comments import parse_claim, read, statements, states_claims
from symlayout.finding.place import Place
from symlayout.text.notation import Declared

SOURCE = r"""
#include <cute/layout.hpp>
/// symlayout: one
  int x = 1'000; // symlayout: two
const char* s = "// symlayout: no \" // symlayout: no"; char c = '"'; // symlayout: three
auto r = R"x(
// symlayout: no
)x"; /* symlayout: four */
/**
 * symlayout: five (4,8)
 * ...   onto 32
 *   ... given N >= 1
 * Some words on symlayout: no claim.
 * ... nor this
 //! symlayout: no
 */
//! symlayout: six \
// symlayout : no
#define A 1 /* symlayout: seven"""


def test_which_comments_of_cpp_count() -> None:
    found = [(s.number, s.text) for s in statements(SOURCE, ".cuh")]

    assert found == [
        (3, "one"),
        (4, "two"),
        (5, "three"),
        (8, "four"),
        (10, "five (4,8) onto 32 given N >= 1"),
        (17, "six // symlayout : no"),  # the comment goes on behind the backslash
        (19, "seven"),
    ]


def test_a_comment_goes_on_behind_a_backslash() -> None:
    """What stands there was code to the reader: a quote or ``/*`` in it swallowed the comments behind."""
    source = """// symlayout: bijective (4,8):(8,1) \\
   onto 32 /* not the beginning of anything
// symlayout: injective (4,8):(8,1)"""
    assert [(s.number, s.text) for s in statements(source, ".cu")][1:] == [(3, "injective (4,8):(8,1)")]
    first = next(statements(source, ".cu"))
    assert first.text.startswith("bijective (4,8):(8,1) onto 32")
    assert (first.place("x", first.text.index("onto")).line, first.place("x", 0).line) == (2, 1)


def test_strings_and_comments_of_rust_may_have_several_lines() -> None:
    """A mark inside of a string of several lines, or behind a comment in a comment, was a claim."""
    source = """let s = "one
// symlayout: no
two"; let r = r#"a " // symlayout: no "#; let c: &'a str = x('"');
/* a /* b */ // symlayout: no
*/ // symlayout: three
/* /* */
symlayout: four */ let r = "a"; // symlayout: five \\
// symlayout: six"""
    found = [(s.number, s.text) for s in statements(source, ".rs")]
    assert found == [(5, "three"), (7, "four"), (7, "five \\"), (8, "six")]


def test_which_comments_of_python_count() -> None:
    source = '"""\n# symlayout: no\n"""\nx = "# symlayout: no"  # symlayout: one\n#: symlayout: two\n# ... more\n'

    assert [(s.number, s.text) for s in statements(source, ".py")] == [(4, "one"), (5, "two more")]


def test_what_a_folder_looks_for() -> None:
    assert states_claims("int x; // symlayout: injective 4\n", ".cu")
    assert not states_claims("// see symlayout: the manual\n", ".cu")
    assert not states_claims("x = 1\n", ".py")


CPP = "cute::Layout<cute::tuple<cute::C<4>, unsigned long>, cute::tuple<cute::C<8>, cute::C<1> > > const&"
CLAIMS: list[tuple[str, tuple[str, dict[str, Any], str | None, str]]] = [
    ("injective (M,N):(1,ld)", ("injective", {"map": "(M,N):(1,ld)"}, None, "proved")),
    ("bijective (4,8):(8,1) onto 4*8", ("bijective", {"map": "(4,8):(8,1)", "onto": "4*8"}, None, "proved")),
    ("equal (8,M) and 8*M expect refuted", ("equal", {"map": "(8,M)", "and": "8*M"}, None, "refuted")),
    (
        "conflict_free Sw<3,3,3> o 0 o (8,8):(64,8) element_bytes 2 width_bytes 16",
        (
            "conflict_free",
            {"map": "Sw<3,3,3> o 0 o (8,8):(64,8)", "element_bytes": "2", "width_bytes": "16"},
            None,
            "proved",
        ),
    ),
    (f"bijective {CPP} onto 32", ("bijective", {"map": CPP, "onto": "32"}, None, "proved")),
    (
        "in_bounds Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1) extent _512 low -1",
        (
            "in_bounds",
            {"map": "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", "extent": "_512", "low": "-1"},
            None,
            "proved",
        ),
    ),
    (
        "in_bounds i*ld + j over (i, j) < (M, N) when i < M and N > j extent M given ld >= N and M > N expect unknown",
        (
            "in_bounds",
            {"map": "i*ld + j", "over": "(i, j) < (M, N)", "when": "i < M and N > j", "extent": "M"},
            "ld >= N and M > N",
            "unknown",
        ),
    ),
    (
        "covers b over b < 4 domain M by (i) -> i",
        ("covers", {"map": "b", "over": "b < 4", "domain": "M", "by": "(i) -> i"}, None, "proved"),
    ),
    ("holds M*N > M given N > 3", ("holds", {"map": "M*N > M"}, "N > 3", "proved")),
    ("fits_in 4:extent bits 32", ("fits_in", {"map": "4:extent", "bits": "32"}, None, "proved")),
]


@pytest.mark.parametrize("text, parts", CLAIMS, ids=[t for t, _ in CLAIMS])
def test_claims_are_cut_at_their_keywords(text: str, parts: tuple[Any, ...]) -> None:
    assert parse_claim(text) == parts


@pytest.mark.parametrize(
    "text, column, phrase",
    [
        ("", 0, "expected a kind of claim, dims or given, got the end of the text"),
        ("(4,8)", 0, "expected a kind of claim, dims or given, got '('"),
        ("injective", 9, "expected a layout after the kind, got the end of the text"),
        ("bijective 4 onto", 16, "expected a value of onto, got the end of the text"),
        ("bijective 4 onto 4 onto 5", 19, "expected each keyword once, got 'onto'"),
    ],
)
def test_what_is_no_claim_gets_a_caret(text: str, column: int, phrase: str) -> None:
    with pytest.raises(NotationError) as e:
        parse_claim(text)

    assert str(e.value).split("\n") == [phrase, text, " " * column + "^"]


def stated(tmp_path: Path, text: str, name: str = "tile.cu") -> list[Any]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return list(read(tmp_path / name))


def test_dims_and_given_count_for_the_file_wherever_they_stand(tmp_path: Path) -> None:
    m = dim("M", multiple_of=8)
    (claim,) = stated(
        tmp_path,
        "// symlayout: injective (M,4):(4,1) given M < 64\n"
        "// symlayout: given ld >= M\n// symlayout: dims M(multiple_of=8)\n// symlayout: dims ld(at_least=M)\n",
    )
    ld = dim("ld", at_least=m)

    assert claim == Stated(
        Place(f"{tmp_path}/tile.cu", 1, 15, "injective"),
        "injective",
        {"map": "(M,4):(4,1)"},
        Declared([m, ld]),
        (m < 64,),
        (ld >= m,),
        source="injective (M,4):(4,1) given M < 64",
        offsets={"kind": 0, "map": 10, "given": 22},
        locate=claim.locate,
    )


@pytest.mark.parametrize(
    "text, message",
    [
        ("// symlayout:\n", "tile.cu:1: expected a kind of claim"),
        ("\n\n/* symlayout: dims M(x=3) */\n// symlayout: injective M\n", "tile.cu:3: expected one of at_least"),
        ("// symlayout: dims M\n// symlayout: dims M(below=3)\n", "tile.cu:2: expected each size declared once"),
        ("// symlayout: given M\n", "tile.cu:1: expected a relation"),
        ("// symlayout: dims M\n// symlayout: given N > 1\n", "tile.cu:2: expected one of the declared names (M)"),
        ("// symlayout: injective M given N = 1\n", "tile.cu:1: expected a relation"),
    ],
)
def test_bad_comments_name_their_line(tmp_path: Path, text: str, message: str) -> None:
    (found,) = stated(tmp_path, text)

    assert isinstance(found, Found)
    assert (
        f"{Path(found.place.file).name}{f':{found.place.line}' if found.place.line else ''}: {found.error}".startswith(
            message
        )
    )
    assert found.error.endswith("^")


def test_files_that_are_no_utf_8_or_no_python(tmp_path: Path) -> None:
    (tmp_path / "old.h").write_bytes(b"// gr\xfc\xdfe\n// symlayout: injective 4\n")

    assert [str(c.place) for c in read(tmp_path / "old.h")] == [f"{tmp_path}/old.h:2:15"]
    assert stated(tmp_path, "def broken(:\n  # symlayout: injective 4\n '''", "broken.py") == []
