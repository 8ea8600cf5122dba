"""Claims as comments in the code that they are about, in C++, CUDA, HIP, Rust, Mojo and Python.

    // symlayout: dims M ld(at_least=M)
    // symlayout: given M % 8 == 0
    // symlayout: injective (M,8):(1,ld)
    /* symlayout: equal (8,M):(1,8) and 8*M:1 expect proved */
    // symlayout: in_bounds 128*t + r over (r, t) < (128, ceil_div(M, 128))
    // ...        when 128*t + r < M extent M

A comment that begins with ``symlayout:`` is a claim, ``dims`` or ``given``; the last two count for the whole
file, wherever they stand. A comment line that begins with ``...`` goes on with the one before.

    claim = KIND LAYOUT {KEYWORD VALUE} ["given" FACTS] ["expect" OUTCOME]
"""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import SymlayoutError
from ..expr import Fact
from ..text.grammar import as_claims
from ..text.notation import COMPOSED, Declared, parse_dims, parse_fact
from ..text.reader import DIGITS, END, Reader, is_name
from .found import Found, Stated
from .near_misses import MARK, may_have_slips, slip
from .place import Place

# fmt: off
C_SUFFIXES = (
    ".c", ".c++", ".cc", ".cl", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hip", ".hpp", ".hxx", ".inc", ".inl",
    ".ipp", ".metal", ".mm", ".rs",
)
# fmt: on
PYTHON_SUFFIXES = (".py", ".pyi", ".mojo")
SUFFIXES = (*C_SUFFIXES, *PYTHON_SUFFIXES)
MORE = "..."

Kinds: TypeAlias = "Callable[[], Collection[str]]"

# Strings go first, so that a mark inside one does not count as a comment. A line that ends in a backslash goes on in C.
C_TOKENS = re.compile(
    r"""R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])'"""
    r"""| //(?P<line>(?:\\[ \t]*\n|[^\n])*) | (?P<block>/\*)""",
    re.DOTALL | re.VERBOSE,
)
RUST_TOKENS = re.compile(  # strings may have several lines, and what begins with r no escapes
    r"""\b(?:b|c)?r(?P<raw>\#*)".*?"(?P=raw) | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\\n])'"""
    r"""| //(?P<line>[^\n]*) | (?P<block>/\*)""",
    re.DOTALL | re.VERBOSE,
)
NESTED = re.compile(r"/\*|\*/")
RUST = ".rs"
RELATED = ("over", "when", "given", "holds")  # relations follow: there < opens no template, and "and" joins
CLOSERS = {")": "(", "]": "[", ">": "<"}


@dataclass(frozen=True)
class Line:
    """A line of a comment, without its marks, and where it stands; lines that go on with it are joined.

    *starts* says for characters of the text at which line and column they are: of the first of each line.
    """

    number: int
    text: str
    starts: tuple[tuple[int, int, int], ...]

    @classmethod
    def single(cls, number: int, column: int, text: str) -> Line:
        """A line without spaces around it; its first character is at a column from 1 on."""
        bare = text.lstrip()
        return cls(number, bare.rstrip(), ((0, number, column + len(text) - len(bare)),))

    def place(self, file: str, at: int) -> Place:
        """The place of a character of the text."""
        start, line, column = max((s for s in self.starts if s[0] <= at), default=self.starts[0])
        return Place(file, line, column + at - start)

    def after(self, mark: str) -> Line:
        """The text behind a mark at its beginning."""
        rest = self.text[len(mark) :]
        (_, line, column), *more = self.starts
        cut = len(self.text) - len(rest.lstrip())
        first = Line.single(line, column + len(mark), rest)
        return replace(first, starts=(*first.starts, *((at - cut, n, c) for at, n, c in more)))

    def joined(self, more: Line) -> Line:
        """This line and one that goes on with it."""
        begin = len(self.text) + 1
        starts = ((begin + at, line, column) for at, line, column in more.starts)
        return Line(self.number, f"{self.text} {more.text}", (*self.starts, *starts))

    @property
    def word(self) -> str:
        return self.text.partition(" ")[0]

    @property
    def rest(self) -> str:
        return self.text.partition(" ")[2]


def states_claims(source: str, suffix: str, kinds: Kinds = tuple) -> bool:
    """Whether a source text has a comment that begins with ``symlayout:``, or that was meant to."""
    if MARK in source and any(True for _ in statements(source, suffix)):
        return True
    return may_have_slips(source) and any(slip(line.text, kinds()) for line in _comments(source, suffix))


def read(path: Path, kinds: Kinds = tuple) -> Iterator[Stated | Found]:
    """The claims that the comments of a file state, in order, and the comments that cannot be read or are slips."""
    try:
        source = path.read_text(encoding="utf-8", errors="replace")
        found = list(statements(source, path.suffix)) if MARK in source else []
        if may_have_slips(source):
            for line in _comments(source, path.suffix):
                said = slip(line.text, kinds())
                if said is not None:
                    yield Found(line.place(str(path), 0), error=f"expected {said}: {line.text}")
    except (OSError, SyntaxError, tokenize.TokenError) as e:
        if path.suffix != ".py":  # importing it says so
            yield Found(Place(str(path)), error=f"expected a source file, got {type(e).__name__}: {e}")
        return
    sizes, given, claims = (
        [s for s in found if s.word == "dims"],
        [s for s in found if s.word == "given"],
        [s for s in found if s.word not in ("dims", "given")],
    )
    symbols, shared = Declared(), list[Fact]()
    for s in (*sizes, *given):
        try:
            if s.word == "dims":
                symbols = Declared(dict.fromkeys((*symbols, *parse_dims(s.rest, symbols))))
            else:
                with as_claims():
                    shared += parse_fact(s.rest, symbols or ())
        except SymlayoutError as e:
            yield _wrong(path, s, e, len(s.word) + 1)
            return
    for s in claims:
        try:
            kind, fields, facts, expect = parse_claim(s.text)
            at = offsets(s.text)
            own = _facts(facts, symbols, at["given"][1]) if facts is not None else ()
            locate = functools.partial(_locate, s, str(path), at)
            where = s.place(str(path), 0).named(kind)
            begins = {k: begin for k, (begin, _) in at.items()}
            about: dict[str, Any] = {"source": s.text, "offsets": begins, "locate": locate}
            yield Stated(where, kind, fields, symbols or (), own, tuple(shared), expect, **about)
        except SymlayoutError as e:
            yield _wrong(path, s, e)


def _wrong(path: Path, s: Line, e: SymlayoutError, begin: int = 0) -> Found:
    """An error at the character that cannot be read; the text that was read starts at *begin* of the comment."""
    return Found(s.place(str(path), begin + (e.at or 0)), error=str(e))


def _facts(source: str, symbols: Declared, begin: int) -> tuple[Fact, ...]:
    """The facts of a claim; the place of an error counts from the claim's beginning."""
    try:
        with as_claims():
            return parse_fact(source, symbols or ())
    except SymlayoutError as e:
        raise e.told_at("given", begin + (e.at or 0)) from None


def _locate(s: Line, file: str, at: Mapping[str, tuple[int, int]], field: str, character: int | None) -> Place:
    """The place of a character of a field's value, else of its keyword."""
    keyword, value = at.get(field, (0, 0))
    return s.place(file, keyword if character is None else value + character)


def parse_claim(source: str) -> tuple[str, dict[str, Any], str | None, str]:
    """(kind, fields, given, expect) of a claim; the layout is the field ``map``.

    >>> parse_claim("bijective (4,8):(8,1) onto 32 expect proved")
    ('bijective', {'map': '(4,8):(8,1)', 'onto': '32'}, None, 'proved')
    """
    text = _Words(source, ())
    kind = text.name("a kind of claim, dims or given")
    fields = {keyword: value for keyword, value, _ in text.parts(kind)}
    given, expect = fields.pop("given", None), fields.pop("expect", "proved")
    return kind, fields, given, expect


def offsets(source: str) -> dict[str, tuple[int, int]]:
    """The start of each keyword of a claim and of its value; the first value has no keyword.

    >>> offsets("bijective (4,8):(8,1) onto 32")
    {'kind': (0, 0), 'map': (10, 10), 'onto': (22, 27)}
    """
    text = _Words(source, ())
    kind = text.name("a kind of claim, dims or given")
    places = {"kind": (0, 0)}
    for keyword, _, at in text.parts(kind):
        before = text.source.rfind(keyword, 0, at) if keyword != "map" else at
        places[keyword] = (before if before >= 0 else at, at)
    return places


class _Words(Reader):
    """A claim cut at its keywords: names that stand where no value can go on."""

    def parts(self, kind: str) -> Iterator[tuple[str, str, int]]:
        """(keyword, value, where the value begins) in order; the first value has the keyword ``map``."""
        seen: set[str] = set()
        at, keyword = self.position, "map"
        while True:
            stop = self.value_end(at, related=(kind if keyword == "map" else keyword) in RELATED)
            if stop == at:
                raise self.error("a layout after the kind" if keyword == "map" else f"a value of {keyword}", at)
            last = self.places[stop - 1] + len(self.tokens[stop - 1])
            yield keyword, self.source[self.places[at] : last], self.places[at]
            seen.add(keyword)
            if self.tokens[stop] == END:
                return
            keyword, at = self.tokens[stop], stop + 1
            if keyword in seen:
                raise self.error("each keyword once", stop)

    def value_end(self, at: int, related: bool) -> int:
        """The index of the keyword that ends the value, or of the end; < is a relation where it is never closed."""
        open_: list[str] = []
        operators: set[int] = set()  # the < and > that are not brackets of a type
        for i in range(at, len(self.tokens)):
            token = self.tokens[i]
            if token == END and "<" in open_ and not related:
                return self.value_end(at, related=True)
            if token == END or (not open_ and i > at and self.is_keyword(i, related, i - 1 in operators)):
                return i
            if token in "<>" and (related or self.doubled(i) or (token == ">" and "<" not in open_)):
                operators.add(i)
            elif token in ("(", "[", "<"):
                open_.append(token)
            elif open_ and CLOSERS.get(token) == open_[-1]:
                open_.pop()
        return at

    def doubled(self, i: int) -> bool:
        """Whether token *i* is half of a << that shifts: types have no two brackets that open together."""
        pairs = ((i - 1, i), (i, i + 1))
        return any(self.tokens[a] == self.tokens[b] == "<" and self.places[a] + 1 == self.places[b] for a, b in pairs)

    def is_keyword(self, i: int, related: bool, goes_on: bool) -> bool:
        """Whether token *i* is a name right after the end of a value, which does not go on with the token before."""
        token, before = self.tokens[i], self.tokens[i - 1]
        if not is_name(token) or token in (*COMPOSED, "const", "volatile") or (related and token == "and"):
            return False
        if before in COMPOSED or goes_on or (related and before == "and"):
            return False
        reference = before == "&" and not related and self.tokens[i - 2] in (">", "const", "volatile", "&")
        return before in (")", "]", ">") or reference or before[0] in DIGITS or is_name(before)


# -- comments in source text ------------------------------------------------------------------------------


def statements(source: str, suffix: str) -> Iterator[Line]:
    """The text after ``symlayout:`` in each comment that begins with it, continuations joined."""
    current: Line | None = None
    for line in _comments(source, suffix):
        if current is not None and line.text.startswith(MORE):
            current = current.joined(line.after(MORE))
            continue
        if current is not None:
            yield current
        current = line.after(MARK) if line.text.startswith(MARK) else None
    if current is not None:
        yield current


def _comments(source: str, suffix: str) -> Iterator[Line]:
    """The lines of all comments."""
    return _python_comments(source) if suffix in PYTHON_SUFFIXES else _c_comments(source, suffix == RUST)


def _python_comments(source: str) -> Iterator[Line]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            text = token.string.lstrip("#!: ")
            yield Line.single(token.start[0], token.start[1] + 1 + len(token.string) - len(text), text)


def _c_comments(source: str, rust: bool) -> Iterator[Line]:
    number = counted = at = 0
    tokens = RUST_TOKENS if rust else C_TOKENS
    while (found := tokens.search(source, at)) is not None:
        start, at = found.start(), found.end()
        number, counted = number + source.count("\n", counted, start), start
        column = start - source.rfind("\n", 0, start) + 2  # behind the two characters that begin it
        if found["line"] is not None:
            yield _spliced(number + 1, column, found["line"].split("\n"))
        elif found["block"] is not None:
            at = _end_of_block(source, at, rust)
            inside = source[found.end() : at].removesuffix("*/")
            for i, line in enumerate(inside.split("\n")):
                text = line.lstrip().lstrip("*! ")
                yield Line.single(number + 1 + i, (1 if i else column) + len(line) - len(text), text)


def _spliced(number: int, column: int, lines: list[str]) -> Line:
    """A comment of one line, or of several lines that end in a backslash, except the last."""
    text = lines[0].lstrip("/!< ")
    column += len(lines[0]) - len(text)
    whole = [*(re.sub(r"\\[ \t]*$", "", line) for line in (text, *lines[1:])[:-1]), (text, *lines[1:])[-1]]
    first, *others = (Line.single(number + i, 1 if i else column, line) for i, line in enumerate(whole))
    return functools.reduce(Line.joined, others, first)


def _end_of_block(source: str, at: int, nested: bool) -> int:
    """The end of the block comment whose inside begins at *at*; in Rust others may be nested in it."""
    depth = 1
    for found in NESTED.finditer(source, at):
        depth += -1 if found[0] == "*/" else nested
        if not depth:
            return found.end()
    return len(source)
