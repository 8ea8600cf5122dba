"""Text as tokens, names as symbols, and errors with a caret: what the readers of notation share."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import AssumptionError, ExpressionError, LayoutError, NotationError
from ..expr import Symbol, dim, integer, names
from ..swizzle import Swizzle, upcast_swizzle

END = ""  # the token after the last one
DIGITS = frozenset("0123456789")
PAIRS = ("//", "::", "==", "<=", ">=", "!=", "->")  # of two characters each
SUFFIXES = ("l", "u", "ul", "lu", "ll", "ull", "llu")
WINDOW = 80  # columns of a long source that an error shows


class Declared(tuple[Symbol, ...]):
    """Symbols that are all the names a text may use; a plain collection lets others be sizes of their own."""

    __slots__ = ()


# What a token of C or Python that has no place in a text means there, and what says it.
ADVICE = {
    "[": "a value read from memory cannot be part of a formula: give it a name of its own",
    "=": "equality is ==, and at least is >=",
    ".": "numbers are integers",
    ";": "shape and stride are separated by ':'",
    "!=": "what is not equal is below or above: a < b || a > b",
}


def is_name(token: str) -> bool:
    """Whether a token is a name, perhaps a member of one.

    >>> is_name("threadIdx.x"), is_name("_"), is_name("4")
    (True, True, False)
    """
    return bool(token) and all(part.isidentifier() for part in token.split("."))


def _name_end(source: str, start: int) -> int:
    """The end of a name that begins at *start*, its members included: ``threadIdx.x``, ``params.ld``."""
    stop = start + 1
    while stop < len(source) and ("_" + source[stop]).isidentifier():
        stop += 1
    member = source[stop : stop + 1] == "." and source[stop + 1 : stop + 2].isidentifier()
    return _name_end(source, stop + 1) if member else stop


def tokenize(source: str) -> list[tuple[str, int]]:
    """(token, place) in order, ending with END: numbers, names, pairs such as //, and single characters."""
    out = []
    start = 0
    while start < len(source):
        c, stop = source[start], start + 1
        if c in DIGITS:
            while stop < len(source) and source[stop] in DIGITS:
                stop += 1
        elif c.isidentifier():
            stop = _name_end(source, start)
        elif source[start : start + 2] in PAIRS:
            stop += 1
        if not c.isspace():
            out.append((source[start:stop], start))
        start = stop
    return [*out, (END, len(source.rstrip()))]


def digits(token: str) -> str:
    """The digits of ``4`` or ``_4``, else nothing."""
    found = token.removeprefix("_")
    return found if found and DIGITS.issuperset(found) else ""


def short(text: str) -> str:
    """The text, or its beginning."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def suggestion(word: str, known: Iterable[str]) -> str:
    """``; did you mean M?``, or nothing where no known word is close."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def excerpt(source: str, at: int) -> str:
    """The source, or what surrounds *at* in a long one, and a caret below *at*."""
    line = "".join(c if c.isprintable() else " " for c in source)
    start = max(0, min(at - WINDOW // 2, len(line) - WINDOW))
    head, tail = "..." if start else "", "..." if start + WINDOW < len(line) else ""
    return f"{head}{line[start : start + WINDOW]}{tail}\n{' ' * (len(head) + at - start)}^"


def _by_name(symbols: Iterable[Symbol]) -> dict[str, Symbol]:
    out: dict[str, Symbol] = {}
    for s in map(integer, symbols):
        if not isinstance(s, Symbol):
            raise ExpressionError(f"expected symbols, got {s}")
        if out.setdefault(s.name, s) is not s:
            raise AssumptionError(f"expected one symbol for each name, got two called {s.name}")
    return out


class Reader:
    """The tokens of a source and a position among them."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        if not isinstance(source, str):
            raise NotationError(f"expected layout notation as a str, got {source!r}")
        tokens = tokenize(source)
        self.closed = isinstance(symbols, Declared)
        self.source, self.symbols = source, _by_name(symbols)
        self.tokens, self.places = [t for t, _ in tokens], [p for _, p in tokens]
        self.position = 0

    @property
    def token(self) -> str:
        return self.tokens[self.position]

    @property
    def following(self) -> str:
        return self.tokens[self.position + 1] if self.token != END else END

    def advance(self) -> str:
        self.position += 1
        return self.tokens[self.position - 1]

    def take(self, token: str) -> bool:
        """Step over *token* if it is next."""
        found = self.token == token
        self.position += found
        return found

    def expect(self, token: str, where: str) -> None:
        if not self.take(token):
            raise self.error(f"'{token}' {where}")

    def end(self, expected: str) -> None:
        if self.token != END:
            raise self.error(expected)

    def error(self, expected: str, at: int | None = None, got: str = "") -> NotationError:
        """The error that points at the token with index *at*, by default the current one."""
        at = self.position if at is None else at
        token = self.tokens[at]
        got = got or f"{short(token)!r}{self.advice(at)}" if token != END or got else "the end of the text"
        return self.pointed(f"expected {expected}, got {got}", at)

    def advice(self, at: int) -> str:
        """The likely meaning of a token that is not allowed here; "" for others."""
        token, before = self.tokens[at], self.tokens[at - 1] if at else END
        if token == "(" and is_name(before):
            return f"; {before} is not a known function"
        if token in ADVICE and not (token == "." and not digits(before)):
            return f"; {ADVICE[token]}"
        return ""

    def pointed(self, message: object, at: int) -> NotationError:
        error = NotationError(str(message))
        error.at, error.excerpt = self.places[at], excerpt(self.source, self.places[at])
        return error

    def natural(self, what: str) -> int:
        """A number without a sign: ``4``, or ``_4`` for CuTe's static integers."""
        found = digits(self.token)
        if not found:
            raise self.error(what)
        self.position += 1
        return self.number(found, self.position - 1)

    def number(self, found: str, at: int) -> int:
        if len(found) > 1 and found[0] == "0":
            raise self.error("a number without zeros before it, which make it octal in C", at, found)
        try:
            return int(found)
        except ValueError:  # the interpreter bounds the digits: the conversion takes quadratic time
            limit = f"a number of at most {sys.get_int_max_str_digits()} digits"
            raise self.error(limit, at, f"one of {len(found)} digits") from None

    def constant(self, what: str) -> int:
        """An integer among template arguments: ``-4``, ``(int)4``, ``4ul``."""
        if self.take("("):
            while self.token.isidentifier():
                self.position += 1
            self.expect(")", "after the type of a number")
        sign = -1 if self.take("-") else 1
        out = sign * self.natural(what)
        self.position += self.token.lower() in SUFFIXES
        return out

    def name(self, what: str) -> str:
        """An identifier that is not a static integer such as ``_4``."""
        if not is_name(self.token) or self.token == "_" or digits(self.token):
            raise self.error(what)
        return self.advance()

    def symbol(self) -> Symbol:
        """The symbol under the current name."""
        at, name = self.position, self.advance()
        if self.closed and name not in self.symbols:
            known = names(self.symbols) or "none so far"
            raise self.error(f"one of the declared names ({known})", at, f"{name!r}{suggestion(name, self.symbols)}")
        return self.named(name)

    def named(self, name: str, lower: int = 1) -> Symbol:
        found = self.symbols.get(name)
        return dim(name, at_least=lower) if found is None else found

    def made(self, at: int, f: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """``f(*args)``; what it refuses is said at the token with index *at*."""
        try:
            return f(*args, **options)
        except (ExpressionError, LayoutError) as e:
            raise self.pointed(e, at) from None

    def in_elements(self, outer: Any, bits: int, at: int) -> Swizzle:
        """The swizzle of element offsets for one of byte addresses: CuTe's position-independent form."""
        if bits < 8 or bits & (bits - 1):
            raise self.error("elements of 8, 16, 32, ... bits behind a pointer", at, f"{bits} bits")
        if not isinstance(outer, Swizzle):
            raise self.error("a swizzle before a shared-memory pointer", at, short(str(outer)))
        if outer.bits and outer.base < bits.bit_length() - 4:
            raise self.error(f"a swizzle that keeps elements of {bits} bits whole", at, str(outer))
        return upcast_swizzle(bits // 8, outer)
