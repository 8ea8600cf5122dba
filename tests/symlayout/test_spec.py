"""TOML files of claims: what is stated where, and every bad file as one line with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from symlayout import dim
from symlayout.finding.collect import Found, Stated
from symlayout.finding.place import Place
from symlayout.finding.toml_claims import FIRST_FILES, read, states_claims
from symlayout.text.notation import Declared

EVERYTHING = """\
given = ["ld >= M", "M < 64"]

[dims]
M = { multiple_of = 8, at_most = 1024 }
ld = { at_least = "M + 1" }
z = { at_least = 0, below = "ld" }

[[claim]]
kind = "bijective"   # by its line
layout = "(M,4):(4,1)"
onto = "4*M"
name = "rows"

  [[ claim ]]
kind = "in_bounds"
map = "i*ld + j"
over = { i = "M", j = 4 }
when = "i < M"
extent = [64, 64]
given = "M % 16 == 0, ld == 3"
expect = "refuted"
"""


def stated(tmp_path: Path, text: str) -> list[Any]:
    file = tmp_path / "claims.toml"
    file.write_text(text, encoding="utf-8")
    return list(read(file))


def test_claims_with_sizes_facts_and_places(tmp_path: Path) -> None:
    m = dim("M", multiple_of=8, at_most=1024)
    ld = dim("ld", at_least=m + 1)
    z = dim("z", at_least=0, below=ld)
    rows, inside = stated(tmp_path, EVERYTHING)

    assert rows == Stated(
        Place(f"{tmp_path}/claims.toml", 8, 1, "rows"),
        "bijective",
        {"layout": "(M,4):(4,1)", "onto": "4*M"},
        Declared([m, ld, z]),
        shared=(ld >= m, m < 64),
        locate=rows.locate,
    )
    assert inside.place.line == 14
    assert (inside.place.name, inside.kind, inside.expect) == ("in_bounds", "in_bounds", "refuted")
    assert inside.fields == {"map": "i*ld + j", "over": {"i": "M", "j": 4}, "when": "i < M", "extent": [64, 64]}
    assert inside.given[0] == m.multiple_of(16)
    assert isinstance(inside.dims, Declared)


def test_without_a_dims_table_names_are_free(tmp_path: Path) -> None:
    (claim,) = stated(tmp_path, '[[claim]]\nkind = "injective"\nlayout = "M"\n')

    assert claim.dims == ()


def test_tables_that_cannot_be_told_apart_have_the_first_line(tmp_path: Path) -> None:
    claims = stated(tmp_path, 'claim = [\n{ kind = "a" },\n{ kind = "b" },\n]\n')

    assert [c.place.line for c in claims] == [1, 1]


BAD = [
    ("", "claims.toml: expected [[claim]] tables, got an empty file"),
    ("[dims]\nM = {}\n", "claims.toml: expected [[claim]] tables, got the tables dims"),
    ("x = \n", "claims.toml:1: expected a TOML file, got "),
    ("[[claims]]\n", "claims.toml:1: expected one of dims, given, claim, got 'claims'; did you mean claim?"),
    ("claim = 4\n", "claims.toml:1: claim: expected a list, got 4"),
    ("claim = [4]\n", "claims.toml:1: claim: expected a table, got 4"),
    ("[dims]\n\nM = 4\n", "claims.toml:3: dims.M: expected a table, got 4"),
    (
        "[dims]\nM = {}\nN = { multipel_of = 8 }\n",
        "claims.toml:3: expected one of at_least, at_most, below, multiple_of, got 'dims.N.multipel_of'; "
        "did you mean multiple_of?",
    ),
    ("[dims.N]\nmultiple_of = '8'\n", "claims.toml:2: dims.N.multiple_of: expected a whole number, got '8'"),
    ("[dims]\nN = { at_most = 1.5 }\n", "claims.toml:2: dims.N.at_most: expected text, got 1.5"),
    ("[dims]\nN = { multiple_of = 0 }\n[[claim]]\nkind = 'a'\n", "claims.toml:2: dims.N: expected multiple_of to be"),
    ("[dims]\nN = { below = 'M' }\n[[claim]]\nkind = 'a'\n", "claims.toml:2: dims.N: expected one of the declared"),
    ("given = 'M'\n[[claim]]\nkind = 'a'\n", "claims.toml:1: given: expected a relation"),
    ("given = [4]\n[[claim]]\nkind = 'a'\n", "claims.toml:1: given: expected text, got 4"),
    ("[[claim]]\nlayout = '4'\nonto = 4\n", "claims.toml:1: expected kind in a claim, got layout, onto"),
    ("[[claim]]\n", "claims.toml:1: expected kind in a claim, got nothing"),
    ("[[claim]]\nkind = 'a'\n[[claim]]\nkind = 4\n", "claims.toml:4: kind: expected text, got 4"),
    ("[[claim]]\nkind = 'a'\nexpect = true\n", "claims.toml:3: expect: expected text, got True"),
    ("[[claim]]\nkind = 'a'\ngiven = 3\n", "claims.toml:3: given: expected a list, got 3"),
    (
        "[dims]\nM = {}\n[[claim]]\nkind = 'a'\n\ngiven = 'm < 4'\n",
        "claims.toml:6: given: expected one of the declared names (M), got 'm'",
    ),
]


@pytest.mark.parametrize("text, message", BAD, ids=[m.partition(": ")[2] for _, m in BAD])
def test_bad_files_name_the_line_the_key_and_the_value(tmp_path: Path, text: str, message: str) -> None:
    *_, found = stated(tmp_path, text)

    assert isinstance(found, Found)
    assert (
        f"{Path(found.place.file).name}{f':{found.place.line}' if found.place.line else ''}: {found.error}".startswith(
            message
        )
    )


def test_a_bad_claim_leaves_the_others(tmp_path: Path) -> None:
    good, bad, last = stated(tmp_path, "[[claim]]\nkind = 'a'\n[[claim]]\nkind = 4\n[[claim]]\nkind = 'c'\n")

    assert (good.kind, last.kind) == ("a", "c")
    assert bad.error


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[[claim]]\nkind = '\x00'\n"])
def test_other_than_text_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "claims.toml").write_bytes(data)
    (found,) = read(tmp_path / "claims.toml")

    assert isinstance(found, Found)
    assert "expected a TOML file, got " in found.error


def test_what_a_folder_looks_for() -> None:
    assert states_claims("a = 1\n  [[claim]] # one\n")
    assert not states_claims("[claim]\n[[claims]]\n# [[claim]]\n")


def test_the_first_files_are_read(tmp_path: Path) -> None:
    claims = stated(tmp_path, FIRST_FILES["claims.toml"])

    assert len(claims) >= 3
    assert all(isinstance(c, Stated) for c in claims)
