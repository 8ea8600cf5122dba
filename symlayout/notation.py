"""CuTe notation, in and out: the text that ``print`` writes, and the C++ types that compilers write.

    >>> print(parse("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))")(37, 5))
    721
    >>> print(parse("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)"))
    Sw<3,3,3> o 0 o (8,64):(64,1)
    >>> print(parse("cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<int, cute::C<1>>>"))
    (4,s0):(d0,1)

What ``str`` makes of a layout parses back to an equal one. Parentheses around one item are CuTe's
1-tuple where they stand as a mode, ``(4):(1)``, and group where arithmetic follows, ``(M+1)*N``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from .basis import ArithmeticTuple, ScaledBasis
from .errors import AssumptionError, ExpressionError, LayoutError, NotationError
from .expr import Expr, Symbol, ceil_div_int, dim, floordiv, integer, maximum, minimum, mod
from .int_tuple import MAX_DEPTH, IntTuple
from .layout import ComposedLayout, Layout
from .swizzle import Swizzle, upcast_swizzle

END = ""  # the token after the last one
DIGITS = frozenset("0123456789")
COMPOSED = ("o", "∘")
SWIZZLES = ("Sw", "S", "Swizzle")
WINDOW = 80  # columns of a long source that an error shows

BINDING = {"^": 1, "+": 2, "-": 2, "*": 3, "//": 3, "%": 3}  # as in Python; a sign binds tighter
OPERATIONS: dict[str, Callable[..., Any]] = {
    "^": lambda a, b: a ^ b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": floordiv,
    "%": mod,
    "ceil": ceil_div_int,
    "ceil_div": ceil_div_int,
    "max": maximum,
    "min": minimum,
}
FUNCTIONS = ("ceil", "ceil_div", "max", "min")

TUPLES = ("tuple", "Shape", "Stride", "Step", "Coord", "Tile", "IntTuple")
CONSTANTS = ("C", "Int", "constant", "integral_constant")
INTEGERS = frozenset(
    "int long short unsigned signed char __int64 size_t ptrdiff_t intptr_t uintptr_t FastDivmod".split()
    + [f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)]
)
SUFFIXES = ("l", "u", "ul", "lu", "ll", "ull", "llu", "z", "uz")
BEFORE = ("const", "volatile", "typename", "struct", "class")
AFTER = ("const", "volatile", "&")


def parse(source: str, symbols: Iterable[Symbol] = ()) -> Layout | ComposedLayout | Swizzle:
    """The layout, composed layout or swizzle that CuTe text or a CuTe C++ type denotes.

    >>> M = dim("M", multiple_of=8)
    >>> print(parse("(M,8):(8,1)", [M]), parse("(_4,_8)"), parse("(4,6):(1@1,1@0)")(2, 3))
    (M,8):(8,1) (4,8):(1,4) (3,2)

    A name is the symbol of that name in *symbols*, else ``dim(name)``. A shape alone is compact and
    column-major. An ``smem_ptr`` flag means a swizzle of byte addresses; the result is in elements.
    Raises NotationError with a caret under the first bad character, and what Layout raises.
    """
    reader = _Text(source, symbols)
    if _starts_a_type(reader.tokens):
        return parse_cpp(source, symbols)
    return reader.composed()


def parse_int_tuple(source: str, symbols: Iterable[Symbol] = ()) -> IntTuple:
    """A shape, stride or coordinate; ``_`` is None.

    >>> parse_int_tuple("(3,(_,2))")
    (3, (None, 2))
    """
    reader = _Text(source, symbols, underscore=True)
    out = reader.int_tuple("an integer or a tuple")
    reader.end("the end of the text")
    return out


def parse_cpp(source: str, symbols: Iterable[Symbol] = ()) -> Layout | ComposedLayout | Swizzle:
    """The layout that a CuTe C++ type denotes, as gcc, clang, nvcc and demanglers print it.

    >>> print(parse_cpp("cute::Layout<Shape<_4, long>, Stride<int, cute::C<(int)1> > > const&"))
    (4,s0):(d0,1)

    Run-time integers become the symbols s0, s1, ... in shapes, d0, d1, ... in strides and o0, o1, ...
    in offsets, unless *symbols* has those names. A tuple type alone is a shape.
    """
    reader = _Types(source, symbols)
    out = reader.layout()
    reader.end("the end of the type")
    return out


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
    return f"cute::Int<{x}>" if -(2**31) <= x < 2**31 else f"cute::C<{x}>"  # Int takes an int only


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


def _starts_a_type(tokens: list[str]) -> bool:
    """Whether these are C++: ``cute::``, ``const``, or a template other than a swizzle."""
    first, second = (*tokens, END)[:2]
    if second == "<":
        return first not in SWIZZLES and first.isidentifier()
    return "::" in (first, second) or (first in BEFORE and second.isidentifier())


def _digits(token: str) -> str:
    """The digits of ``4`` or ``_4``, else nothing."""
    digits = token.removeprefix("_")
    return digits if digits and DIGITS.issuperset(digits) else ""


def _by_name(symbols: Iterable[Symbol]) -> dict[str, Symbol]:
    out: dict[str, Symbol] = {}
    for s in map(integer, symbols):
        if not isinstance(s, Symbol):
            raise ExpressionError(f"expected symbols, got {s}")
        if out.setdefault(s.name, s) is not s:
            raise AssumptionError(f"expected one symbol for each name, got two called {s.name}")
    return out


def _excerpt(source: str, at: int) -> str:
    """The source, or what surrounds *at* in a long one, and a caret below *at*."""
    line = "".join(c if c.isprintable() else " " for c in source)
    start = max(0, min(at - WINDOW // 2, len(line) - WINDOW))
    head, tail = "..." if start else "", "..." if start + WINDOW < len(line) else ""
    return f"{head}{line[start : start + WINDOW]}{tail}\n{' ' * (len(head) + at - start)}^"


class _Reader:
    """The tokens of a text and a position among them."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        if not isinstance(source, str):
            raise NotationError(f"expected layout notation as a str, got {source!r} ({type(source).__name__})")
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

    def error(self, expected: str, at: int | None = None, got: str = "") -> NotationError:
        """The error that points at the token with index *at* (by default the current one)."""
        at = self.position if at is None else at
        token = self.tokens[at]
        short = token if len(token) <= 40 else f"{token[:37]}..."
        got = got or (repr(short) if token != END else "the end of the text")
        return NotationError(f"expected {expected}, got {got}\n{_excerpt(self.source, self.places[at])}")

    def advance(self) -> str:
        token = self.token
        self.position += 1
        return token

    def take(self, token: str) -> bool:
        """Step over *token* if it is next."""
        if self.token != token:
            return False
        self.position += 1
        return True

    def expect(self, token: str, after: str = "") -> None:
        if not self.take(token):
            raise self.error(f"'{token}'{after}")

    def end(self, expected: str) -> None:
        if self.token != END:
            raise self.error(expected)

    def natural(self, what: str) -> int:
        """A number without a sign: ``4``, or ``_4`` for CuTe's static integers."""
        digits = _digits(self.token)
        if not digits:
            raise self.error(what)
        return self.number(digits)

    def number(self, digits: str) -> int:
        """The value of the next token, which has these digits."""
        try:
            out = int(digits)
        except ValueError:  # the interpreter bounds the digits, since the conversion takes quadratic time
            limit = f"a number of at most {sys.get_int_max_str_digits()} digits"
            raise self.error(limit, got=f"one of {len(digits)} digits") from None
        self.position += 1
        return out

    def constant(self, what: str) -> int:
        """An integer of a template argument list: ``-4``, ``(int)4``, ``4ul``."""
        self.cast()
        sign = -1 if self.take("-") else 1
        out = sign * self.natural(what)
        if self.token.lower() in SUFFIXES:
            self.position += 1
        return out

    def cast(self) -> None:
        """Step over ``(unsigned int)`` before a number."""
        if self.take("("):
            self.words()
            self.expect(")", " after the type of a number")

    def words(self) -> None:
        """Step over a plain type name, such as ``unsigned long`` or ``std::size_t``."""
        while self.token.isidentifier() or self.token == "::":
            self.position += 1

    def swizzle(self, at: int) -> Swizzle:
        """The rest of ``Sw<3,4,3>``, whose name has index *at*."""
        self.expect("<", " after the name of a swizzle")
        bits = self.constant("the bits of a swizzle")
        self.expect(",", " before the base of a swizzle")
        base = self.constant("the base of a swizzle")
        self.expect(",", " before the shift of a swizzle")
        shift = self.constant("the shift of a swizzle")
        self.expect(">", " after the shift of a swizzle")
        try:
            return Swizzle(bits, base, shift)
        except LayoutError as e:
            raise self.pointed(e, at) from None

    def pointed(self, e: Exception, at: int) -> NotationError:
        """An error of ours that reads "expected ... got ...", with the place where it arose."""
        return NotationError(f"{e}\n{_excerpt(self.source, self.places[at])}")

    def in_elements(self, outer: Any, bits: int, at: int) -> Swizzle:
        """The swizzle of element offsets for one of byte addresses: CuTe's position-independent form."""
        if bits < 8 or bits & (bits - 1):
            raise self.error("elements of 8, 16, 32, ... bits under a swizzled byte address", at, f"{bits} bits")
        if not isinstance(outer, Swizzle):
            raise self.error("a swizzle before a shared-memory pointer", at, str(outer))
        if outer.bits and outer.base < bits.bit_length() - 4:
            raise self.error(f"a swizzle that keeps elements of {bits} bits whole", at, str(outer))
        return upcast_swizzle(bits // 8, outer)

    def symbol(self, name: str, lower: int = 1) -> Symbol:
        found = self.symbols.get(name)
        return dim(name, at_least=lower) if found is None else found


# -- text -------------------------------------------------------------------------------------------------


class _Text(_Reader):
    """Recursive descent over CuTe text.

    layer  = swizzle | tuple [":" tuple]            composed = layer {"o" offset "o" layer}
    tuple  = "(" [tuple {"," tuple} [","]] ")" | expression {"@" number}
    """

    def __init__(self, source: str, symbols: Iterable[Symbol], underscore: bool = False) -> None:
        super().__init__(source, symbols)
        self.underscore = underscore
        self.groups = 0  # open parentheses inside arithmetic
        self.grouping = _grouping(self.tokens)

    def composed(self) -> Layout | ComposedLayout | Swizzle:
        """Layers with offsets between them, the innermost last; a missing offset is 0."""
        outer: list[tuple[Any, Any]] = []
        at, out = self.position, self.layer()
        while self.token in COMPOSED:
            self.position += 1
            if self.token == "smem_ptr" and self.following == "[":
                outer.append((self.in_elements(out, *self.flag()), 0))
            else:
                start, offset = self.position, self.int_tuple("an offset or a layout")
                if self.token == ":":
                    outer.append((out, 0))
                    at, out = start, self.layout(offset)
                    break
                outer.append((out, offset))
            if self.token not in COMPOSED:
                raise self.error("'o' and a layout after the offset")
            self.position += 1
            at, out = self.position, self.layer()
        complete = isinstance(out, Swizzle) or ":" in self.tokens[at : self.position]
        self.end(f"{'' if complete else "':', "}'o' or the end of the text")
        if outer and isinstance(out, Swizzle):
            raise self.error("a layout inside the composition", at)
        for layer, offset in reversed(outer):
            out = ComposedLayout(layer, offset, out)
        return out

    def layer(self) -> Layout | Swizzle:
        if self.token in SWIZZLES and self.following == "<":
            self.position += 1
            return self.swizzle(self.position - 1)
        return self.layout(self.int_tuple("a layout"))

    def layout(self, shape: IntTuple) -> Layout:
        """The layout of a shape and of the stride that may follow it."""
        return Layout(shape, self.int_tuple("a stride") if self.take(":") else None)

    def flag(self) -> tuple[int, int]:
        """(bits, its index) of ``smem_ptr[16b](unset)``."""
        at = self.position
        self.position += 2
        bits = self.natural("the bits of an element")
        self.expect("b", " after the bits of an element")
        self.expect("]", " after the bits of an element")
        if self.take("("):
            self.expect("unset", " in a pointer without an address")
            self.expect(")")
        return bits, at

    def int_tuple(self, what: str, depth: int = 0) -> IntTuple:
        """A tuple, or the expression *what*."""
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
            out = self.applied(name, at, out, self.expression(f"an operand of '{name}'", BINDING[name]))
        return out

    def applied(self, name: str, at: int, *operands: Any) -> Any:
        """The value of an operation; what it refuses is said at the token with index *at*."""
        try:
            return OPERATIONS[name](*operands)
        except ExpressionError as e:
            raise self.pointed(e, at) from None

    def operand(self, what: str) -> Any:
        """A number, a name, a call or a group, with signs before it."""
        negative = False
        while self.token in ("+", "-"):
            negative ^= self.advance() == "-"
            what = "an integer after the sign"
        if self.token == "(":
            self.enter()
            out = self.expression("an integer")
            self.leave("an operator or ')'")
        elif self.token in FUNCTIONS and self.following == "(":
            out = self.call(self.advance())
        elif self.token == "_" and self.following == "-":  # CuTe prints a static -1 as _-1
            self.position += 2
            out = -self.natural("a number after '_-'")
        elif self.token == "_" or _digits(self.token) or not self.token.isidentifier():
            out = self.natural(what)
        else:
            out = self.symbol(self.advance())
        return -out if negative else out

    def call(self, name: str) -> Any:
        """The value of ceil(x/y), ceil_div(x, y), max or min."""
        self.enter()
        slash = name == "ceil"  # it binds least there: ceil(M + 1/8) is the ceiling of (M + 1)/8
        operands = [self.expression(f"an operand of {name}")]
        at = self.position
        while (name in ("max", "min") or len(operands) < 2) and self.take("/" if slash else ","):
            at = self.position
            operands.append(self.expression(f"an operand of {name}", BINDING["*"] if slash else 0))
        if name not in ("max", "min") and len(operands) < 2:
            raise self.error(f"'{'/' if slash else ','}' and a divisor")
        self.leave(f"')' after the operands of {name}")
        return self.applied(name, at, *operands)

    def enter(self) -> None:
        """Step over the parenthesis of a group or call."""
        if self.groups == MAX_DEPTH:
            raise self.error(f"parentheses nested at most {MAX_DEPTH} deep", got="a deeper one")
        self.groups += 1
        self.position += 1

    def leave(self, expected: str) -> None:
        if not self.take(")"):
            raise self.error(expected)
        self.groups -= 1


def _grouping(tokens: list[str]) -> set[int]:
    """The opening parentheses that group: an operator follows their partner."""
    out, open_ = set(), []
    for i, token in enumerate(tokens):
        if token == "(":
            open_.append(i)
        elif token == ")" and open_:
            start = open_.pop()
            if tokens[i + 1] in BINDING or tokens[i + 1] == "@":
                out.add(start)
    return out


# -- C++ types --------------------------------------------------------------------------------------------


class _Types(_Reader):
    """Recursive descent over CuTe C++ types; namespaces are skipped."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        super().__init__(source, symbols)
        self.fresh = {"s": 0, "d": 0, "o": 0}  # run-time integers so far in shapes, strides and offsets

    def layout(self, depth: int = 0) -> Layout | ComposedLayout | Swizzle:
        """A Layout, ComposedLayout or Swizzle; on the outside also the type of a shape."""
        name, at = self.named(), self.position
        out: Layout | ComposedLayout | Swizzle
        if depth == MAX_DEPTH:
            raise self.error(f"layouts nested at most {MAX_DEPTH} deep", got="a deeper one")
        if name == "Swizzle":
            self.position += 1
            out = self.swizzle(at)
        elif name == "Layout":
            self.open()
            shape = self.integers("s")
            stride = self.integers("d") if self.take(",") else None  # gcc leaves out a default argument
            self.expect(">", " after the stride" if stride is not None else " or a stride")
            out = Layout(shape, _like(shape, stride))
        elif name == "ComposedLayout":
            out = self.composed(depth)
        elif depth:
            raise self.error("a Layout, ComposedLayout or Swizzle")
        else:
            out = Layout(self.integers("s"))
        self.qualified()
        return out

    def composed(self, depth: int) -> ComposedLayout:
        self.open()
        outer: Any = self.layout(depth + 1)
        self.expect(",", " after the outer layout")
        offset: Any = 0
        if self.named() == "smem_ptr_flag_bits":
            at = self.position
            self.open()
            outer = self.in_elements(outer, self.constant("the bits of an element"), at)
            self.expect(">", " after the bits of an element")
        else:
            offset = self.integers("o")
        self.expect(",", " after the offset")
        self.named()
        at = self.position
        inner = self.layout(depth + 1)
        if isinstance(inner, Swizzle):
            raise self.error("a layout inside the composition", at)
        self.expect(">", " after the inner layout")
        return ComposedLayout(outer, offset, inner)

    def integers(self, kind: str, depth: int = 0) -> Any:
        """A tuple or integer type; *kind* says what its run-time integers are called."""
        name = self.named()
        out: Any
        if depth > MAX_DEPTH - (name != "ScaledBasis"):
            raise self.error(f"tuples nested at most {MAX_DEPTH} deep", got="a deeper one")
        if name in INTEGERS:
            while self.token in INTEGERS:  # unsigned long long
                self.position += 1
            out = self.run_time(kind)
        elif _digits(name):
            out = self.natural("an integer type")
        elif name[:2] == "_m" and _digits(name[2:]):
            out = -self.number(name[2:])
        elif self.following != "<":
            raise self.error("an integer or tuple type")
        else:
            out = self.template(name, kind, depth)
        self.qualified()
        return out

    def template(self, name: str, kind: str, depth: int) -> Any:
        """The value of a class template that stands for integers."""
        at = self.position
        self.open()
        out: Any
        if name in CONSTANTS:
            if name.endswith("constant"):
                self.words()
                self.expect(",", " after the type of a constant")
            out = self.constant("an integer")
        elif name == "ScaledBasis":
            out = self.basis(self.integers(kind, depth + 1))
        elif name in TUPLES or name == "ArithmeticTuple":
            items: list[Any] = []
            while self.token != ">":
                if items:
                    self.expect(",", " or '>' after a type")
                items.append(self.integers(kind, depth + 1))
            out = tuple(items) if name in TUPLES or kind == "s" else ArithmeticTuple(*items)
        else:
            raise self.error("an integer or tuple type", at)
        self.expect(">", f" at the end of {name}")
        return out

    def basis(self, value: Any) -> Any:
        """The rest of ``ScaledBasis<T, 0, 1>``, outermost index first; a basis in T goes further in."""
        path: tuple[int, ...] = ()
        while self.take(","):
            self.cast()
            path += (self.natural("the index of a mode"),)
        if isinstance(value, ScaledBasis):
            value, path = value.value, path + value.path
        return ScaledBasis(value, path) if path else value

    def run_time(self, kind: str) -> Symbol:
        self.fresh[kind] += 1
        return self.symbol(f"{kind}{self.fresh[kind] - 1}", lower=1 if kind == "s" else 0)

    def open(self) -> None:
        """Step over the name of a template and its bracket."""
        self.position += 1
        self.expect("<", f" after {self.tokens[self.position - 1]}")

    def named(self) -> str:
        """Step over qualifiers and namespaces; the name that is next."""
        while self.token in BEFORE:
            self.position += 1
        self.take("::")
        while self.token.isidentifier() and self.following == "::":
            self.position += 2
        return self.token

    def qualified(self) -> None:
        while self.token in AFTER:
            self.position += 1


def _like(shape: Any, stride: Any) -> Any:
    """*stride* with an ArithmeticTuple as a tuple where the shape has modes; elsewhere it is one stride."""
    if not isinstance(shape, tuple) or not isinstance(stride, tuple | ArithmeticTuple) or len(shape) != len(stride):
        return stride
    return tuple(map(_like, shape, stride))
