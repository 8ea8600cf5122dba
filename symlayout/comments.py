"""Claims as comments beside the code that they are about, in C++, CUDA, HIP, Rust, Mojo and Python.

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

import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from .errors import SymlayoutError
from .expr import Fact
from .found import Found, Stated
from .near_misses import MARK, may_have_slips, slip
from .notation import COMPOSED, Declared, parse_dims, parse_fact
from .reader import DIGITS, END, Reader

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

# Strings go first, so that a mark inside one is no comment.
C_TOKENS = re.compile(
    r"""R"(?P<raw>[^()\\\s]{0,16})\(.*?\)(?P=raw)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])'"""
    r"""| //(?P<line>[^\n]*) | /\*(?P<block>.*?)(?:\*/|\Z)""",
    re.DOTALL | re.VERBOSE,
)
RELATED = ("over", "when", "given", "holds")  # relations follow: there < opens no template, and "and" joins
CLOSERS = {")": "(", "]": "[", ">": "<"}


@dataclass(frozen=True)
class Line:
    """A line of a comment, without its marks."""

    number: int
    text: str

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
    return may_have_slips(source) and any(slip(line.text.strip(), kinds()) for line in _comments(source, suffix))


def read(path: Path, kinds: Kinds = tuple) -> Iterator[Stated | Found]:
    """The claims that the comments of a file state, in order, and the comments that cannot be read or are slips."""
    try:
        source = path.read_text(encoding="utf-8", errors="replace")
        found = list(statements(source, path.suffix)) if MARK in source else []
        if may_have_slips(source):
            for line in _comments(source, path.suffix):
                said = slip(line.text.strip(), kinds())
                if said is not None:
                    yield Found(f"{path}:{line.number}", "", error=f"expected {said}: {line.text.strip()}")
    except (OSError, SyntaxError, tokenize.TokenError) as e:
        if path.suffix != ".py":  # importing it says so
            yield Found(str(path), "", error=f"expected a source file, got {type(e).__name__}: {e}")
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
                shared += parse_fact(s.rest, symbols or ())
        except SymlayoutError as e:
            yield _wrong(path, s, e)
            return
    for s in claims:
        try:
            kind, fields, facts, expect = parse_claim(s.text)
            own = parse_fact(facts, symbols or ()) if facts is not None else ()
            yield Stated(
                f"{path}:{s.number}", kind, kind, fields, symbols or (), own, tuple(shared), expect, source=s.text
            )
        except SymlayoutError as e:
            yield _wrong(path, s, e)


def _wrong(path: Path, s: Line, e: SymlayoutError) -> Found:
    return Found(f"{path}:{s.number}", "", error=str(e))


def parse_claim(source: str) -> tuple[str, dict[str, Any], str | None, str]:
    """(kind, fields, given, expect) of a claim; the layout is the field ``map``.

    >>> parse_claim("bijective (4,8):(8,1) onto 32 expect proved")
    ('bijective', {'map': '(4,8):(8,1)', 'onto': '32'}, None, 'proved')
    """
    text = _Words(source, ())
    kind = text.name("a kind of claim, dims or given")
    fields = dict(text.parts(kind))
    given, expect = fields.pop("given", None), fields.pop("expect", "proved")
    return kind, fields, given, expect


class _Words(Reader):
    """A claim cut at its keywords: names that stand where no value can go on."""

    def parts(self, kind: str) -> Iterator[tuple[str, str]]:
        """(keyword, value) in order; the first value has the keyword ``map``."""
        seen: set[str] = set()
        at, keyword = self.position, "map"
        while True:
            stop = self.value_end(at, related=(kind if keyword == "map" else keyword) in RELATED)
            if stop == at:
                raise self.error("a layout after the kind" if keyword == "map" else f"a value of {keyword}", at)
            last = self.places[stop - 1] + len(self.tokens[stop - 1])
            yield keyword, self.source[self.places[at] : last]
            seen.add(keyword)
            if self.tokens[stop] == END:
                return
            keyword, at = self.tokens[stop], stop + 1
            if keyword in seen:
                raise self.error("each keyword once", stop)

    def value_end(self, at: int, related: bool) -> int:
        """The index of the keyword that ends the value, or of the end; < is a relation where it is never closed."""
        open_: list[str] = []
        operators: set[int] = set()  # the < and > that are no brackets of a type
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
        if not token.isidentifier() or token in (*COMPOSED, "const", "volatile") or (related and token == "and"):
            return False
        if before in COMPOSED or goes_on or (related and before == "and"):
            return False
        reference = before == "&" and self.tokens[i - 2] in (">", "const", "volatile", "&")
        return before in (")", "]", ">") or reference or before[0] in DIGITS or before.isidentifier()


# -- comments in source text ------------------------------------------------------------------------------


def statements(source: str, suffix: str) -> Iterator[Line]:
    """What follows ``symlayout:`` in each comment that begins with it, continuations joined."""
    current: Line | None = None
    for line in _comments(source, suffix):
        text = line.text.strip()
        if current is not None and text.startswith(MORE):
            current = Line(current.number, f"{current.text} {text.removeprefix(MORE).strip()}")
            continue
        if current is not None:
            yield current
        current = Line(line.number, text.removeprefix(MARK).strip()) if text.startswith(MARK) else None
    if current is not None:
        yield current


def _comments(source: str, suffix: str) -> Iterator[Line]:
    """The lines of all comments."""
    return _python_comments(source) if suffix in PYTHON_SUFFIXES else _c_comments(source)


def _python_comments(source: str) -> Iterator[Line]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Line(token.start[0], token.string.lstrip("#!: "))


def _c_comments(source: str) -> Iterator[Line]:
    number, counted = 1, 0
    for found in C_TOKENS.finditer(source):
        number, counted = number + source.count("\n", counted, found.start()), found.start()
        if found["line"] is not None:
            yield Line(number, found["line"].lstrip("/!< "))
        elif found["block"] is not None:
            for i, text in enumerate(found["block"].split("\n")):
                yield Line(number + i, text.strip().lstrip("*! "))
