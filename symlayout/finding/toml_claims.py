"""Claims in TOML files: sizes, facts that all may assume, and one ``[[claim]]`` table for each claim.

    given = ["ld >= M"]

    [dims]
    M = { multiple_of = 8 }
    ld = {}

    [[claim]]
    kind = "injective"
    layout = "(M,8):(1,ld)"

A claim holds its kind, the fields of that kind as text or numbers, and perhaps name, given and expect. Where a
file declares sizes it declares all of them, so that a misspelt name is an error and not a size of its own.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ..errors import SymlayoutError, unread
from ..expr import Fact, Symbol, dim, names
from ..text.grammar import as_claims
from ..text.notation import Declared, parse_expression, parse_fact
from ..text.reader import suggestion
from .found import Found, Stated
from .place import Place

HEADER = re.compile(r"""^\s*\[\[\s*["']?claim["']?\s*\]\]""")

Facts = Annotated[list[str], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]
Bound = Annotated[str | None, BeforeValidator(lambda v: str(v) if type(v) is int else v)]

EXPECTED = {
    "dict_type": "a table",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a table",
    "string_type": "text",
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Size(_Strict):
    at_least: Bound = None
    at_most: Bound = None
    below: Bound = None
    multiple_of: int = 1


class _File(_Strict):
    dims: dict[str, _Size] = Field(default_factory=dict)
    given: Facts = Field(default_factory=list)
    claim: list[dict[str, Any]] = Field(default_factory=list)


class _Claim(_Strict):
    """The fields of every claim; those of its kind are extra here and are checked when it is built."""

    model_config = ConfigDict(extra="allow", strict=True)
    kind: str
    name: str = ""
    given: Facts = Field(default_factory=list)
    expect: str = "proved"


def states_claims(source: str) -> bool:
    """Whether a TOML text has a [[claim]] table."""
    return any(map(HEADER.match, source.split("\n")))


def read(path: Path) -> Iterator[Stated | Found]:
    """The claims of a TOML file as they are stated, each at the line of its table, and what cannot be read."""
    try:
        source = path.read_text(encoding="utf-8")
        data = tomllib.loads(source)
    except (OSError, ValueError, RecursionError) as e:
        line = re.search(r"at line (\d+)", str(e))
        column = re.search(r"column (\d+)", str(e))
        place = Place(str(path), int(line[1]) if line else 0, int(column[1]) if column else 0)
        yield Found(place, error=f"expected a TOML file, got {unread(e)}")
        return
    yield from _Reading(path, source).claims(data)


class _Reading:
    """One file: its data with the lines that they stand on."""

    def __init__(self, path: Path, source: str) -> None:
        self.path, self.lines = path, source.split("\n")
        self.headers = [i for i, line in enumerate(self.lines, 1) if HEADER.match(line)]

    def claims(self, data: dict[str, Any]) -> Iterator[Stated | Found]:
        try:
            file = _File.model_validate(data)
        except ValidationError as e:
            yield from (self.wrong(problem, (1, len(self.lines))) for problem in e.errors())
            return
        if not file.claim:
            known = f"the tables {names(data)}" if data else "an empty file"
            yield Found(Place(str(self.path)), error=f"expected [[claim]] tables, got {known}")
            return
        try:
            symbols = self.sizes(file.dims)
            shared = tuple(f for text in file.given for f in self.facts(text, symbols))
        except _AtLine as e:
            yield Found(self.place(e.line), error=str(e))
            return
        for i, table in enumerate(file.claim):
            yield from self.claim(table, self.span(i, len(file.claim)), symbols, shared)

    def claim(
        self, table: dict[str, Any], span: tuple[int, int], symbols: Iterable[Symbol], shared: tuple[Fact, ...]
    ) -> Iterator[Stated | Found]:
        try:
            row = _Claim.model_validate(table)
            given = tuple(f for text in row.given for f in self.facts(text, symbols, span))
        except ValidationError as e:
            yield from (self.wrong(problem, span) for problem in e.errors())
            return
        except _AtLine as e:
            yield Found(self.place(e.line, row.name or row.kind), error=str(e))
            return
        fields = dict(row.__pydantic_extra__ or {})

        def locate(field: str, character: int | None) -> Place:
            return self.of_key(field, span, character)

        where = self.place((span[0], 1), row.name or row.kind)
        yield Stated(where, row.kind, fields, symbols, given, shared, row.expect, locate=locate)

    def span(self, i: int, count: int) -> tuple[int, int]:
        """The first and last line of a claim; those of the file if its tables cannot be distinguished."""
        if len(self.headers) != count:
            return 1, len(self.lines)
        return self.headers[i], self.headers[i + 1] - 1 if i + 1 < count else len(self.lines)

    def place(self, at: tuple[int, int], name: str = "") -> Place:
        """The place of a line and column."""
        return Place(str(self.path), *at, name)

    def of_key(self, key: str, span: tuple[int, int], character: int | None = None) -> Place:
        """The place of the key in *span*; of a character of its value where that is text on the same line."""
        line, column = self.at(key, span)
        value = re.compile(r"[\w.\"'-]+\s*=\s*[\"'](?![\"'])").match(self.lines[line - 1], column - 1)
        return self.place((line, column if character is None or value is None else value.end() + 1 + character))

    def at(self, key: str, span: tuple[int, int]) -> tuple[int, int]:
        """The first line and column in *span* that sets *key*."""
        pattern = re.compile(rf"""(?:^|[\s{{,.\["'])(?P<key>{re.escape(key)}["']?\s*[=\]])""")
        first, last = span
        found = ((i, pattern.search(self.lines[i - 1])) for i in range(first, last + 1))
        return next(((i, m.start("key") + 1) for i, m in found if m), (first, 1))

    def sizes(self, declared: Mapping[str, _Size]) -> Iterable[Symbol]:
        """The symbols of the dims table; a bound may use the names before."""
        out: tuple[Symbol, ...] = ()
        for name, size in declared.items():
            try:
                limits = {k: parse_expression(v, Declared(out)) for k, v in size if isinstance(v, str)}
                out = (*out, dim(name, multiple_of=size.multiple_of, **limits))
            except SymlayoutError as e:
                raise _AtLine(self.at(name, (1, len(self.lines))), f"dims.{name}: {e}") from None
        return Declared(out) if declared else ()

    def facts(self, text: str, symbols: Iterable[Symbol], span: tuple[int, int] | None = None) -> tuple[Fact, ...]:
        try:
            with as_claims():
                return parse_fact(text, symbols)
        except SymlayoutError as e:
            raise _AtLine(self.at("given", span or (1, len(self.lines))), f"given: {e}") from None

    def wrong(self, problem: Any, span: tuple[int, int]) -> Found:
        """One problem that the models found, at the line of its key."""
        where = [str(part) for part in problem["loc"] if isinstance(part, str)]
        key, kind, got = ".".join(where), problem["type"], problem["input"]
        at = (span[0], 1)
        for name in where[:1] if kind == "missing" else where:
            at = self.at(name, (at[0], span[1]))
        if kind == "missing":
            message = f"expected {key} in a claim, got {names(got) or 'nothing'}"
        elif kind == "extra_forbidden":
            model = _Size if len(where) > 1 else _File
            known = list(model.model_fields)
            message = f"expected one of {names(known)}, got {key!r}{suggestion(where[-1], known)}"
        else:
            message = f"{key}: expected {EXPECTED.get(kind, problem['msg'])}, got {got!r}"
        return Found(self.place(at), error=message)


class _AtLine(SymlayoutError):
    """An error with the line and column of the text that cannot be read."""

    def __init__(self, line: tuple[int, int], message: str) -> None:
        super().__init__(message)
        self.line = line


# -- the first files --------------------------------------------------------------------------------------

FIRST_FILES = {
    "claims.toml": """\
# What must hold of these layouts, for all sizes. Check it: symlayout prove claims.toml
# What there is to claim: symlayout explain

given = ["ld >= M"]  # facts that every claim below may assume

[dims]  # sizes: 1 .. 2^31 - 1 by default
M = { multiple_of = 8 }
N = {}
ld = {}

[[claim]]
name = "columns do not overlap"
kind = "injective"
layout = "(M,N):(1,ld)"

[[claim]]
name = "the fragments cover the tile"
kind = "partition"
layout = "((4,8),(2,2)):((32,1),(16,8))"
onto = 128

[[claim]]
name = "the predicate keeps the last tile in bounds"
kind = "in_bounds"
map = "128*t + r"
over = "(r, t) < (128, ceil_div(M, 128))"
when = "128*t + r < M"
extent = "M"

[[claim]]
name = "32-bit offsets overflow for large tensors: a known limit"
kind = "fits_in"
layout = "(M,N):(1,ld)"
bits = 32
expect = "refuted"
""",
    "test_claims.py": """\
\"\"\"What must hold of a layout, as a test (python -m pytest) and as a claim (symlayout prove test_claims.py).\"\"\"

from checkers import Injective, prove
from symlayout import Layout, dims

M, N, LD = dims("M N ld")
COLUMNS = Injective(Layout((M, N), (1, LD)), given=[LD >= M])


def test_columns_do_not_overlap():
    assert prove(COLUMNS)
""",
}
