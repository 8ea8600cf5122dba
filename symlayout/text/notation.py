"""CuTe notation, in and out: the text that ``print`` writes, and the C++ types that compilers write.

    >>> parse("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))")(37, 5)
    721
    >>> print(parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    >>> print(parse("cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<int, cute::C<1> > >"))
    (4,s0):(d0,1)

What ``str`` makes of a layout parses back to an equal one. Parentheses around one item are CuTe's
1-tuple where they stand as a mode, ``(4):(1)``, and group where arithmetic follows, ``(M+1)*N``.
Expressions, facts, boxes of coordinates and declared sizes are read by functions of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ..basis import ScaledBasis
from ..expr import Expr, Fact, Int, Symbol, dim
from ..int_tuple import MAX_DEPTH, IntTuple
from ..int_tuple import text as text_of
from ..layout import ComposedLayout, Layout
from ..swizzle import Swizzle
from .cpp_types import CK_TYPES, LAYOUTS, SWIZZLES, is_cpp, parse_cpp, to_cpp
from .grammar import BINDING, RELATIONS, Condition, Expressions
from .reader import END, Declared

__all__ = [
    "Declared",
    "parse",
    "parse_box",
    "parse_cpp",
    "parse_dims",
    "parse_expression",
    "parse_fact",
    "parse_int_tuple",
    "to_cpp",
]

COMPOSED = ("o", "∘")
GOES_ON = (*BINDING, *RELATIONS, "@", "?", "**")  # what follows a group, and no tuple
LIMITS = ("at_least", "at_most", "below", "multiple_of")  # what may be said of a declared size


def parse(source: str, symbols: Iterable[Symbol] = ()) -> Any:
    """The layout, composed layout or swizzle that CuTe text or a CuTe C++ type denotes.

    >>> M = dim("M", multiple_of=8)
    >>> print(parse("(M,8):(8,1)", [M]), parse("(_4,_8)"), parse("(4,6):(1@1,1@0)")(2, 3))
    (M,8):(8,1) (4,8):(1,4) (3,2)

    A name is the symbol of that name in *symbols*, else ``dim(name)``. A shape alone is compact and
    column-major. A type of CK Tile is the distribution or the descriptor that it denotes (:mod:`.ck_types`). An
    ``smem_ptr`` flag means a swizzle of byte addresses; the result is in elements.
    Raises NotationError with a caret under the first bad character, and what Layout raises.
    """
    text = _Text(source, symbols)
    if not is_cpp(*text.tokens[:2]):
        return text.composed()
    if next((t for t in text.tokens if t in (*CK_TYPES, *LAYOUTS)), "") in CK_TYPES:
        from .ck_types import parse_ck  # with all of CK Tile

        return parse_ck(source, text.symbols.values())
    return parse_cpp(source, text.symbols.values())


def parse_int_tuple(source: str, symbols: Iterable[Symbol] = ()) -> IntTuple:
    """A shape, stride or coordinate; ``_`` is None.

    >>> parse_int_tuple("(3,(_,2))")
    (3, (None, 2))
    """
    text = _Text(source, symbols, underscore=True)
    out = text.int_tuple("an integer or a tuple")
    text.end("the end of the text")
    return out


def parse_expression(source: str, symbols: Iterable[Symbol] = ()) -> Int:
    """An integer expression of sizes and coordinates.

    >>> parse_expression("ceil_div(M, 64)*64 - M % 8")
    64*ceil(M/64) - (M % 8)
    """
    text = _Text(source, symbols)
    out: Int = text.plain("an integer expression")
    text.end("an operator or the end of the text")
    return out


def parse_fact(source: str, symbols: Iterable[Symbol] = ()) -> tuple[Fact, ...]:
    """Facts joined by ``and`` or commas; a chain of relations is one fact for each.

    >>> parse_fact("N % 8 == 0 and ld >= M, 0 <= i < M")
    (N % 8 == 0, ld >= M, i >= 0, M >= i + 1)

    What ``str`` makes of a fact reads back as an equal one.
    """
    text = _Facts(source, symbols)
    out = text.facts()
    text.end("a relation, 'and' or the end of the text")
    return out


def parse_box(source: str, symbols: Iterable[Symbol] = ()) -> tuple[tuple[str, ...], tuple[Int, ...] | None]:
    """The names of coordinates and their extents, or None where only names are said.

    >>> parse_box("(i, j) < (M, 8)"), parse_box("i < M, j < 8"), parse_box("(r, t)")
    ((('i', 'j'), (M, 8)), (('i', 'j'), (M, 8)), (('r', 't'), None))
    """
    text = _Facts(source, symbols)
    out = text.box()
    text.end("',' or the end of the text")
    return out


def parse_dims(source: str, symbols: Iterable[Symbol] = ()) -> tuple[Symbol, ...]:
    """Declared sizes, each with what is known of it; bounds may use the names before.

    >>> M, ld = parse_dims("M(multiple_of=8, at_most=1024) ld(at_least=M)")
    >>> ld.lower, M.multiple
    (M, 8)
    """
    text = _Facts(source, symbols)
    out = text.dims()
    text.end("a name or the end of the text")
    return out


# -- layouts ----------------------------------------------------------------------------------------------


def _grouping(tokens: list[str]) -> set[int]:
    """The opening parentheses that group: an operator follows their partner."""
    out, pending = set(), []
    for i, token in enumerate(tokens):
        if token == "(":
            pending.append(i)
        elif token == ")" and pending:
            start = pending.pop()
            if tokens[i + 1] in GOES_ON or tokens[i + 1 : i + 3] in (["<", "<"], [">", ">"], ["&", "&"], ["|", "|"]):
                out.add(start)
    return out


class _Text(Expressions):
    """Recursive descent over CuTe text.

    composed   = layer {"o" offset "o" layer}
    layer      = swizzle | int_tuple [":" int_tuple]
    offset     = int_tuple | "smem_ptr[" bits "b]" ["(unset)"]
    int_tuple  = "(" [int_tuple {"," int_tuple} [","]] ")" | value {"@" number}
    """

    def __init__(self, source: str, symbols: Iterable[Symbol], underscore: bool = False) -> None:
        super().__init__(source, symbols)
        self.underscore = underscore
        self.grouping = _grouping(self.tokens)

    def composed(self) -> Layout | ComposedLayout | Swizzle:
        """Layers with offsets between them, the innermost last; a missing offset is 0."""
        out: Layout | ComposedLayout | Swizzle
        outer: list[tuple[Any, Any]] = []
        at, out = self.position, self.layer()
        while self.token in COMPOSED:
            if len(outer) == MAX_DEPTH:
                raise self.error(f"layouts nested at most {MAX_DEPTH} deep", got="a deeper one")
            self.position += 1
            start = self.position
            if self.token == "smem_ptr" and self.following == "[":
                outer.append((self.in_elements(out, self.flag(), start), 0))
            else:
                offset = self.int_tuple("an offset or a layout")
                if self.token == ":":
                    outer.append((out, 0))
                    at, out = start, self.layout(offset)
                    break
                outer.append((out, offset))
            if self.token not in COMPOSED:
                raise self.error("'o' and a layout after the offset")
            self.position += 1
            at, out = self.position, self.layer()
        whole = isinstance(out, Swizzle) or ":" in self.tokens[at : self.position]
        self.end("'o' or the end of the text" if whole else "':', 'o' or the end of the text")
        if outer and isinstance(out, Swizzle):
            raise self.error("a layout inside the composition", at)
        for layer, offset in reversed(outer):
            out = ComposedLayout(layer, offset, out)
        return out

    def layer(self) -> Layout | Swizzle:
        if self.token in SWIZZLES and self.following == "<":
            return self.swizzle()
        return self.layout(self.int_tuple("a layout"))

    def layout(self, shape: IntTuple) -> Layout:
        """The layout of a shape and of the stride that may follow it."""
        return Layout(shape, self.int_tuple("a stride") if self.take(":") else None)

    def swizzle(self) -> Swizzle:
        """``Sw<bits,base,shift>``."""
        at, numbers = self.position, []
        self.position += 1
        for separator, name in zip("<,,", ("bits", "base", "shift"), strict=True):
            self.expect(separator, f"before the {name} of a swizzle")
            numbers.append(self.constant(f"the {name} of a swizzle"))
        self.expect(">", "after the shift of a swizzle")
        return cast(Swizzle, self.made(at, Swizzle, *numbers))

    def flag(self) -> int:
        """The bits of ``smem_ptr[16b](unset)``."""
        self.position += 2
        bits = self.natural("the bits of an element")
        self.expect("b", "after the bits of an element")
        self.expect("]", "after the bits of an element")
        if self.take("("):
            self.expect("unset", "in a pointer without an address")
            self.expect(")", "after 'unset'")
        return bits

    def int_tuple(self, what: str, depth: int = 0) -> IntTuple:
        """A tuple, or the expression *what*, perhaps times a basis element."""
        if self.token != "(" or self.position in self.grouping:
            return self.leaf(what)
        if depth == MAX_DEPTH:
            raise self.error(f"tuples nested at most {MAX_DEPTH} deep", got="a deeper one")
        self.position += 1
        items = []
        while not self.take(")"):
            items.append(self.int_tuple("an integer or a tuple", depth + 1))
            if not self.take(",") and self.token != ")":
                raise self.error("',' or ')' in a tuple")
        return tuple(items)

    def leaf(self, what: str) -> Any:
        if self.underscore and self.token == "_" and self.following != "-":
            self.position += 1
            return None
        value = self.plain(what)
        path = []
        while self.take("@"):
            path.append(self.natural("the index of a mode after '@'"))
        return ScaledBasis(value, tuple(reversed(path))) if path else value


# -- facts, boxes and sizes -------------------------------------------------------------------------------


class _Facts(_Text):
    """Recursive descent over what is said of sizes and coordinates.

    facts = value {"," value}
    box   = part {"," part};  part = ["0" "<="] (name | "(" name {"," name} ")") ["<" int_tuple]
    dims  = size {[","] size};  size = name ["(" limit "=" expression {"," limit "=" expression} ")"]
    """

    def facts(self) -> tuple[Fact, ...]:
        out: list[Fact] = []
        while True:
            found = self.value("an integer expression")
            if not isinstance(found, Condition):
                raise self.error(f"a relation ({' '.join(RELATIONS)}) after {found}")
            out += found
            if not self.take(","):
                return tuple(out)

    def box(self) -> tuple[tuple[str, ...], tuple[Int, ...] | None]:
        names: list[str] = []
        extents: list[Int] = []
        while True:
            at, new = self.position, self.coordinates()
            for name in new:
                if name in names:
                    raise self.error(f"a name of its own for each coordinate, {name} being taken", at)
                names.append(name)
            if not extents and self.token == END:
                return tuple(names), None
            if self.token == ",":
                raise self.error("the coordinates in parentheses, such as (r, c) < (8, 8)")
            self.expect("<", "and an extent after the coordinates")
            at, found = self.position, self.int_tuple("an extent or a tuple of extents")
            flat = found if isinstance(found, tuple) else (found,)
            if len(flat) != len(new) or any(isinstance(n, tuple | ScaledBasis) for n in flat):
                raise self.error(f"one extent for each of {', '.join(new)}", at, text_of(found))
            if any(s.name in names for n in flat if isinstance(n, Expr) for s in n.symbols):
                raise self.error("extents that are the same at every coordinate", at, str(found))
            extents += flat
            if not self.take(","):
                return tuple(names), tuple(extents)

    def coordinates(self) -> list[str]:
        if self.take("0"):
            self.expect("<=", "after 0 and before a coordinate")
        if not self.take("("):
            return [self.name("the name of a coordinate")]
        out = [self.name("the name of a coordinate")]
        while not self.take(")"):
            if not self.take(","):
                raise self.error("',' or ')' after the name of a coordinate")
            if self.token != ")":
                out.append(self.name("the name of a coordinate"))
        return out

    def dims(self) -> tuple[Symbol, ...]:
        out: list[Symbol] = []
        while not out or (self.take(",") or self.token != END):
            at = self.position
            name = self.name("the name of a size")
            limits: dict[str, Any] = {}
            if self.take("("):
                while not self.take(")"):
                    self.limit(limits)
            made = self.made(at, dim, name, **limits)
            if self.symbols.setdefault(name, made) is not made:
                raise self.error("each size declared once", at, f"{name} again, with other limits")
            out.append(made)
        return tuple(out)

    def limit(self, limits: dict[str, Any]) -> None:
        """``multiple_of=8`` and the comma after it."""
        if self.token not in LIMITS or self.token in limits:
            raise self.error(f"one of {', '.join(LIMITS)}, each once")
        key = self.advance()
        self.expect("=", f"after {key}")
        limits[key] = self.plain(f"a value of {key}")
        if not self.take(",") and self.token != ")":
            raise self.error("',' or ')' after a limit")
