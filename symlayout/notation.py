"""CuTe notation, in and out: the text that ``print`` writes, and the C++ types that compilers write.

    >>> parse("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))")(37, 5)
    721
    >>> print(parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    >>> print(parse("cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<int, cute::C<1> > >"))
    (4,s0):(d0,1)

What ``str`` makes of a layout parses back to an equal one. Parentheses around one item are CuTe's
1-tuple where they stand as a mode, ``(4):(1)``, and group where arithmetic follows, ``(M+1)*N``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, cast

from .basis import ArithmeticTuple, ScaledBasis
from .errors import AssumptionError, ExpressionError, LayoutError, NotationError
from .expr import Expr, Symbol, ceil_div_int, dim, floordiv, integer, maximum, minimum, mod
from .int_tuple import MAX_DEPTH, IntTuple
from .layout import ComposedLayout, Layout
from .swizzle import Swizzle, upcast_swizzle

END = ""  # the token after the last one
DIGITS = frozenset("0123456789")
WINDOW = 80  # columns of a long source that an error shows

SWIZZLES = ("Sw", "S", "Swizzle")
COMPOSED = ("o", "∘")
BINDING = {"^": 1, "+": 2, "-": 2, "*": 3, "//": 3, "%": 3}  # as in Python; a sign binds tighter
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "^": operator.xor,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": floordiv,
    "%": mod,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": ceil_div_int,
    "ceil_div": ceil_div_int,
    "max": maximum,
    "min": minimum,
}

BEFORE = ("const", "volatile", "typename", "struct", "class")
AFTER = ("const", "volatile", "&")
SUFFIXES = ("l", "u", "ul", "lu", "ll", "ull", "llu")
WORDS = ("int", "long", "short", "unsigned", "signed")  # of which integer types consist
RUN_TIME = (*WORDS, "size_t", "ptrdiff_t", *(f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)))
TUPLES = ("tuple", "Shape", "Stride", "Step", "Coord")
LAYOUTS = ("Layout", "ComposedLayout", "Swizzle")


def parse(source: str, symbols: Iterable[Symbol] = ()) -> Layout | ComposedLayout | Swizzle:
    """The layout, composed layout or swizzle that CuTe text or a CuTe C++ type denotes.

    >>> M = dim("M", multiple_of=8)
    >>> print(parse("(M,8):(8,1)", [M]), parse("(_4,_8)"), parse("(4,6):(1@1,1@0)")(2, 3))
    (M,8):(8,1) (4,8):(1,4) (3,2)

    A name is the symbol of that name in *symbols*, else ``dim(name)``. A shape alone is compact and
    column-major. An ``smem_ptr`` flag means a swizzle of byte addresses; the result is in elements.
    Raises NotationError with a caret under the first bad character, and what Layout raises.
    """
    text = _Text(source, symbols)
    return parse_cpp(source, text.symbols.values()) if _is_cpp(*text.tokens[:2]) else text.composed()


def parse_int_tuple(source: str, symbols: Iterable[Symbol] = ()) -> IntTuple:
    """A shape, stride or coordinate; ``_`` is None.

    >>> parse_int_tuple("(3,(_,2))")
    (3, (None, 2))
    """
    text = _Text(source, symbols, underscore=True)
    out = text.int_tuple("an integer or a tuple")
    text.end("the end of the text")
    return out


def parse_cpp(source: str, symbols: Iterable[Symbol] = ()) -> Layout | ComposedLayout | Swizzle:
    """The layout that a CuTe C++ type denotes, as gcc, clang, nvcc and demanglers print it.

    >>> print(parse_cpp("cute::Layout<Shape<_4, long>, Stride<int, cute::C<(int)1> > > const&"))
    (4,s0):(d0,1)

    Run-time integers become the symbols s0, s1, ... in shapes, d0, d1, ... in strides and o0, o1, ...
    in offsets, or those of *symbols* with these names. A tuple type alone is a shape.
    """
    types = _Types(source, symbols)
    out = types.type()
    types.end("the end of the type")
    return types.layout(out) if out.name in LAYOUTS else Layout(types.integers(out, "s"))


def to_cpp(layout: Layout | ComposedLayout | Swizzle) -> str:
    """The CuTe C++ type of a layout; symbolic leaves are ``int``.

    >>> to_cpp(Layout((4, 8), (8, 1)))
    'cute::Layout<cute::Shape<cute::Int<4>, cute::Int<8>>, cute::Stride<cute::Int<8>, cute::Int<1>>>'

    Raises LayoutError for integers beyond 64 bits.
    """
    if isinstance(layout, Swizzle):
        return f"cute::Swizzle<{layout.bits}, {layout.base}, {layout.shift}>"
    if isinstance(layout, ComposedLayout):
        offset = _cpp(layout.offset, "cute::ArithmeticTuple")
        return f"cute::ComposedLayout<{to_cpp(layout.outer)}, {offset}, {to_cpp(layout.inner)}>"
    return f"cute::Layout<{_cpp(layout.shape, 'cute::Shape')}, {_cpp(layout.stride, 'cute::Stride')}>"


def _cpp(x: Any, tuple_name: str) -> str:
    if isinstance(x, tuple):
        return f"{tuple_name}<{', '.join(_cpp(a, tuple_name) for a in x)}>"
    if isinstance(x, ArithmeticTuple):
        return _cpp(x.parts, "cute::ArithmeticTuple")
    if isinstance(x, ScaledBasis):
        return f"cute::ScaledBasis<{', '.join([_cpp(x.value, tuple_name), *map(str, x.path)])}>"
    if isinstance(x, Expr):
        return "int"
    if abs(x) >= 2**63:
        raise LayoutError(f"expected integers within 64 bits for a C++ type, got {x}")
    return f"cute::Int<{x}>" if -(2**31) <= x < 2**31 else f"cute::C<{x}>"  # Int takes an int


# -- tokens and errors ------------------------------------------------------------------------------------


def _tokens(source: str) -> list[tuple[str, int]]:
    """(token, place) in order, ending with END: numbers, names, // and ::, and single characters."""
    out = []
    start = 0
    while start < len(source):
        c, stop = source[start], start + 1
        if c in DIGITS:
            while stop < len(source) and source[stop] in DIGITS:
                stop += 1
        elif c.isidentifier():
            while stop < len(source) and ("_" + source[stop]).isidentifier():
                stop += 1
        elif source[start : start + 2] in ("//", "::"):
            stop += 1
        if not c.isspace():
            out.append((source[start:stop], start))
        start = stop
    return [*out, (END, len(source.rstrip()))]


def _digits(token: str) -> str:
    """The digits of ``4`` or ``_4``, else nothing."""
    digits = token.removeprefix("_")
    return digits if digits and DIGITS.issuperset(digits) else ""


def _excerpt(source: str, at: int) -> str:
    """The source, or what surrounds *at* in a long one, and a caret below *at*."""
    line = "".join(c if c.isprintable() else " " for c in source)
    start = max(0, min(at - WINDOW // 2, len(line) - WINDOW))
    head, tail = "..." if start else "", "..." if start + WINDOW < len(line) else ""
    return f"{head}{line[start : start + WINDOW]}{tail}\n{' ' * (len(head) + at - start)}^"


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _by_name(symbols: Iterable[Symbol]) -> dict[str, Symbol]:
    out: dict[str, Symbol] = {}
    for s in map(integer, symbols):
        if not isinstance(s, Symbol):
            raise ExpressionError(f"expected symbols, got {s}")
        if out.setdefault(s.name, s) is not s:
            raise AssumptionError(f"expected one symbol for each name, got two called {s.name}")
    return out


class _Reader:
    """The tokens of a source and a position among them."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        if not isinstance(source, str):
            raise NotationError(f"expected layout notation as a str, got {source!r}")
        tokens = _tokens(source)
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
        """The error that points at the token with index *at*, the current one unless told."""
        at = self.position if at is None else at
        token = self.tokens[at]
        got = got or (repr(_short(token)) if token != END else "the end of the text")
        return self.pointed(f"expected {expected}, got {got}", at)

    def pointed(self, message: object, at: int) -> NotationError:
        return NotationError(f"{message}\n{_excerpt(self.source, self.places[at])}")

    def natural(self, what: str) -> int:
        """A number without a sign: ``4``, or ``_4`` for CuTe's static integers."""
        digits = _digits(self.token)
        if not digits:
            raise self.error(what)
        self.position += 1
        return self.number(digits, self.position - 1)

    def number(self, digits: str, at: int) -> int:
        try:
            return int(digits)
        except ValueError:  # the interpreter bounds the digits: the conversion takes quadratic time
            limit = f"a number of at most {sys.get_int_max_str_digits()} digits"
            raise self.error(limit, at, f"one of {len(digits)} digits") from None

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

    def symbol(self, name: str, lower: int = 1) -> Symbol:
        found = self.symbols.get(name)
        return dim(name, at_least=lower) if found is None else found

    def made(self, at: int, f: Callable[..., Any], *args: Any) -> Any:
        """``f(*args)``; what it refuses is said at the token with index *at*."""
        try:
            return f(*args)
        except (ExpressionError, LayoutError) as e:
            raise self.pointed(e, at) from None

    def in_elements(self, outer: Any, bits: int, at: int) -> Swizzle:
        """The swizzle of element offsets for one of byte addresses: CuTe's position-independent form."""
        if bits < 8 or bits & (bits - 1):
            raise self.error("elements of 8, 16, 32, ... bits behind a pointer", at, f"{bits} bits")
        if not isinstance(outer, Swizzle):
            raise self.error("a swizzle before a shared-memory pointer", at, _short(str(outer)))
        if outer.bits and outer.base < bits.bit_length() - 4:
            raise self.error(f"a swizzle that keeps elements of {bits} bits whole", at, str(outer))
        return upcast_swizzle(bits // 8, outer)


# -- text -------------------------------------------------------------------------------------------------


def _grouping(tokens: list[str]) -> set[int]:
    """The opening parentheses that group: an operator follows their partner."""
    out, pending = set(), []
    for i, token in enumerate(tokens):
        if token == "(":
            pending.append(i)
        elif token == ")" and pending:
            start = pending.pop()
            if tokens[i + 1] in BINDING or tokens[i + 1] == "@":
                out.add(start)
    return out


class _Text(_Reader):
    """Recursive descent over CuTe text.

    composed   = layer {"o" offset "o" layer}
    layer      = swizzle | int_tuple [":" int_tuple]
    offset     = int_tuple | "smem_ptr[" bits "b]" ["(unset)"]
    int_tuple  = "(" [int_tuple {"," int_tuple} [","]] ")" | expression {"@" number}
    """

    def __init__(self, source: str, symbols: Iterable[Symbol], underscore: bool = False) -> None:
        super().__init__(source, symbols)
        self.underscore = underscore
        self.grouping = _grouping(self.tokens)
        self.groups = 0  # open parentheses inside arithmetic

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
        value = self.expression(what)
        path = []
        while self.take("@"):
            path.append(self.natural("the index of a mode after '@'"))
        return ScaledBasis(value, tuple(reversed(path))) if path else value

    def expression(self, what: str, floor: int = 0) -> Any:
        """Operands and operators that bind tighter than *floor*, from the left."""
        out = self.operand(what)
        while BINDING.get(self.token, 0) > floor:
            name = self.advance()
            at = self.position
            right = self.expression(f"an operand of '{name}'", BINDING[name])
            out = self.made(at, OPERATIONS[name], out, right)
        return out

    def operand(self, what: str) -> Any:
        """A number, a name, a call or a group, with signs before it."""
        negative = False
        while self.token in ("+", "-"):
            negative ^= self.advance() == "-"
            what = "an integer after the sign"
        called = self.advance() if self.token in FUNCTIONS and self.following == "(" else ""
        if self.token == "(":
            if self.groups == MAX_DEPTH:
                raise self.error(f"parentheses nested at most {MAX_DEPTH} deep", got="deeper ones")
            self.groups += 1
            self.position += 1
            out = self.call(called) if called else self.expression("an integer")
            self.expect(")", "after an expression")
            self.groups -= 1
        elif self.token.isidentifier() and self.token != "_" and not _digits(self.token):
            out = self.symbol(self.advance())
        else:
            if self.token == "_" and self.following == "-":  # CuTe prints a static -1 as _-1
                self.position += 2
                negative = not negative
            out = self.natural(what)
        return -out if negative else out

    def call(self, name: str) -> Any:
        """The value of ceil(x/y), ceil_div(x, y), max or min, up to the closing parenthesis."""
        slash = name == "ceil"  # it binds least there: ceil(M + 1/8) is the ceiling of (M + 1)/8
        operands = [self.expression(f"an operand of {name}")]
        at = self.position
        while self.take("/" if slash else ","):
            at = self.position
            operands.append(self.expression(f"an operand of {name}", BINDING["*"] if slash else 0))
        if name.startswith("ceil") and len(operands) != 2:
            raise self.error(f"two operands of {name}", got=str(len(operands)))
        return self.made(at, FUNCTIONS[name], *operands)


# -- C++ types --------------------------------------------------------------------------------------------


def _is_cpp(first: str, second: str = END) -> bool:
    """Whether a text that starts with these tokens is a C++ type: a namespace, a qualifier, a template."""
    if second == "<":
        return first.isidentifier() and first not in SWIZZLES
    return "::" in (first, second) or (first in BEFORE and second.isidentifier())


class _Type(NamedTuple):
    """``name<args>`` in the tokens *at* .. *last*, or a *number* among template arguments."""

    name: str
    at: int
    last: int
    args: tuple[_Type, ...] = ()
    number: int | None = None


class _Types(_Reader):
    """A C++ type read as a tree, then given its meaning."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        super().__init__(source, symbols)
        self.fresh = {"s": 0, "d": 0, "o": 0}  # how many so far in shapes, strides and offsets

    def type(self, depth: int = 0) -> _Type:
        """A type without its qualifiers and namespaces, or a number."""
        if self.token in ("(", "-") or self.token[:1] in DIGITS:
            at, number = self.position, self.constant("an integer")
            return _Type("", at, self.position - 1, number=number)
        while self.token in BEFORE:
            self.position += 1
        self.take("::")
        while self.following == "::" and self.token.isidentifier():
            self.position += 2
        if not self.token.isidentifier():
            raise self.error("a type")
        if depth > MAX_DEPTH + 3:  # a basis in a tuple in a layout in a composed layout
            raise self.error(f"types nested at most {MAX_DEPTH + 3} deep", got="a deeper one")
        at, name = self.position, self.advance()
        while self.token in WORDS or self.token in AFTER:  # unsigned long const&
            self.position += 1
        args = self.arguments(depth + 1) if self.take("<") else ()
        last = self.position - 1
        while self.token in AFTER:
            self.position += 1
        return _Type(name, at, last, args)

    def arguments(self, depth: int) -> tuple[_Type, ...]:
        out: list[_Type] = []
        while not self.take(">"):
            if out and not self.take(","):
                raise self.error("',' or '>' after a template argument")
            out.append(self.type(depth))
        return tuple(out)

    def layout(self, t: _Type) -> Any:
        match t.name, t.args:
            case "Layout", [shape]:  # gcc leaves out a default argument
                return Layout(self.integers(shape, "s"))
            case "Layout", [shape, stride]:
                return Layout(self.integers(shape, "s"), self.integers(stride, "d"))
            case "ComposedLayout", [outer, offset, inner] if inner.name != "Swizzle":
                return ComposedLayout(*self.shifted(outer, offset), self.layout(inner))
            case "Swizzle", [_Type(number=int(b)), _Type(number=int(m)), _Type(number=int(s))]:
                return self.made(t.at, Swizzle, b, m, s)
        known = "Layout<shape, stride>, ComposedLayout<outer, offset, inner> or Swizzle<bits, base, shift>"
        raise self.unexpected(known, t)

    def shifted(self, outer: _Type, offset: _Type) -> tuple[Any, Any]:
        """The outer layout and the offset; a pointer flag rescales the swizzle and leaves 0."""
        match offset.name, offset.args:
            case "smem_ptr_flag_bits", [_Type(number=int(bits))]:
                return self.in_elements(self.layout(outer), bits, offset.at), 0
        return self.layout(outer), self.integers(offset, "o")

    def integers(self, t: _Type, kind: str) -> Any:
        """A tuple or an integer; *kind* says what its run-time integers are called."""
        match t.name, t.args:
            case "C" | "Int", [_Type(number=int(n))]:
                return n
            case "constant" | "integral_constant", [_, _Type(number=int(n))]:
                return n
            case "ScaledBasis", [value, *indices]:
                path = tuple(i.number for i in indices if i.number is not None and i.number >= 0)
                if len(path) == len(indices):
                    return _basis(self.integers(value, kind), path)
            case "ArithmeticTuple", args if kind != "s":
                return ArithmeticTuple(*(self.integers(a, kind) for a in args))
            case name, args if name in TUPLES or name == "ArithmeticTuple":
                return tuple(self.integers(a, kind) for a in args)
            case name, () if name[:1] == "_" and (digits := _digits(name.replace("_m", "_", 1))):
                n = self.number(digits, t.at)
                return -n if name[1] == "m" else n
            case name, () if name in RUN_TIME:
                self.fresh[kind] += 1
                return self.symbol(f"{kind}{self.fresh[kind] - 1}", lower=1 if kind == "s" else 0)
        raise self.unexpected("an integer or tuple type", t)

    def unexpected(self, expected: str, t: _Type) -> NotationError:
        whole = self.source[self.places[t.at] : self.places[t.last] + len(self.tokens[t.last])]
        return self.error(expected, t.at, repr(_short(whole)))


def _basis(value: Any, path: tuple[int, ...]) -> Any:
    """``ScaledBasis<T, 0, 1>``, outermost index first; a basis in T goes further in."""
    if isinstance(value, ScaledBasis):
        value, path = value.value, path + value.path
    return ScaledBasis(value, path) if path else value
