"""The C++ types of CuTe layouts, in and out, as gcc, clang, nvcc and demanglers print them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..basis import ArithmeticTuple, ScaledBasis
from ..errors import LayoutError, NotationError
from ..expr import Expr, Symbol
from ..int_tuple import MAX_DEPTH
from ..layout import ComposedLayout, Layout
from ..swizzle import Swizzle
from .reader import DIGITS, END, Reader, digits, short

SWIZZLES = ("Sw", "S", "Swizzle")
BEFORE = ("const", "volatile", "typename", "struct", "class")
AFTER = ("const", "volatile", "&")
WORDS = ("int", "long", "short", "unsigned", "signed")  # parts of integer types
RUN_TIME = (*WORDS, "size_t", "ptrdiff_t", *(f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)))
TUPLES = ("tuple", "Shape", "Stride", "Step", "Coord")
LAYOUTS = ("Layout", "ComposedLayout", "Swizzle")
# fmt: off
CK_TYPES = (  # of AMD CK Tile, which ``ck_types`` reads
    "tile_distribution_encoding", "tile_distribution", "tile_window_with_static_distribution", "tensor_adaptor",
    "tensor_descriptor",
)
# fmt: on


def parse_cpp(source: str, symbols: Iterable[Symbol] = ()) -> Layout | ComposedLayout | Swizzle:
    """The layout that a CuTe C++ type denotes, as gcc, clang, nvcc and demanglers print it.

    >>> print(parse_cpp("cute::Layout<Shape<_4, long>, Stride<int, cute::C<(int)1> > > const&"))
    (4,s0):(d0,1)

    Run-time integers become the symbols s0, s1, ... in shapes, d0, d1, ... in strides and o0, o1, ...
    in offsets, or those of *symbols* with these names. A tuple type alone is a shape.
    """
    types = TypeReader(source, symbols)
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


def is_cpp(first: str, second: str = END) -> bool:
    """Whether a text that starts with these tokens is a C++ type: a namespace, a qualifier, a template."""
    if second == "<":
        return first.isidentifier() and first not in SWIZZLES
    return "::" in (first, second) or (first in BEFORE and second.isidentifier())


class TypeTree(NamedTuple):
    """``name<args>`` in the tokens *at* .. *last*, or a *number* among template arguments."""

    name: str
    at: int
    last: int
    args: tuple[TypeTree, ...] = ()
    number: int | None = None


class TypeReader(Reader):
    """A C++ type read as a tree, then given its meaning."""

    def __init__(self, source: str, symbols: Iterable[Symbol]) -> None:
        super().__init__(source, symbols)
        self.fresh = {"s": 0, "d": 0, "o": 0}  # how many so far in shapes, strides and offsets

    def type(self, depth: int = 0) -> TypeTree:
        """A type without its qualifiers and namespaces, or a number."""
        if self.token in ("(", "-") or self.token[:1] in DIGITS:
            at, number = self.position, self.constant("an integer")
            return TypeTree("", at, self.position - 1, number=number)
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
        return TypeTree(name, at, last, args)

    def arguments(self, depth: int) -> tuple[TypeTree, ...]:
        out: list[TypeTree] = []
        while not self.take(">"):
            if out and not self.take(","):
                raise self.error("',' or '>' after a template argument")
            out.append(self.type(depth))
        return tuple(out)

    def layout(self, t: TypeTree) -> Any:
        match t.name, t.args:
            case "Layout", [shape]:  # gcc leaves out a default argument
                return Layout(self.integers(shape, "s"))
            case "Layout", [shape, stride]:
                return Layout(self.integers(shape, "s"), self.integers(stride, "d"))
            case "ComposedLayout", [outer, offset, inner] if inner.name != "Swizzle":
                return ComposedLayout(*self.shifted(outer, offset), self.layout(inner))
            case "Swizzle", [TypeTree(number=int(b)), TypeTree(number=int(m)), TypeTree(number=int(s))]:
                return self.made(t.at, Swizzle, b, m, s)
        known = "Layout<shape, stride>, ComposedLayout<outer, offset, inner> or Swizzle<bits, base, shift>"
        raise self.unexpected(known, t)

    def shifted(self, outer: TypeTree, offset: TypeTree) -> tuple[Any, Any]:
        """The outer layout and the offset; a pointer flag rescales the swizzle and leaves 0."""
        match offset.name, offset.args:
            case "smem_ptr_flag_bits", [TypeTree(number=int(bits))]:
                return self.in_elements(self.layout(outer), bits, offset.at), 0
        return self.layout(outer), self.integers(offset, "o")

    def integers(self, t: TypeTree, kind: str) -> Any:
        """A tuple or an integer; *kind* says what its run-time integers are called."""
        match t.name, t.args:
            case "C" | "Int", [TypeTree(number=int(n))]:
                return n
            case "constant" | "integral_constant", [_, TypeTree(number=int(n))]:
                return n
            case "ScaledBasis", [value, *indices]:
                path = tuple(i.number for i in indices if i.number is not None and i.number >= 0)
                if len(path) == len(indices):
                    return _basis(self.integers(value, kind), path)
            case "ArithmeticTuple", args if kind != "s":
                return ArithmeticTuple(*(self.integers(a, kind) for a in args))
            case name, args if name in TUPLES or name == "ArithmeticTuple":
                return tuple(self.integers(a, kind) for a in args)
            case name, () if name[:1] == "_" and (found := digits(name.replace("_m", "_", 1))):
                n = self.number(found, t.at)
                return -n if name[1] == "m" else n
            case name, () if name in RUN_TIME:
                self.fresh[kind] += 1
                return self.named(f"{kind}{self.fresh[kind] - 1}", lower=1 if kind == "s" else 0)
        raise self.unexpected("an integer or tuple type", t)

    def unexpected(self, expected: str, t: TypeTree) -> NotationError:
        whole = self.source[self.places[t.at] : self.places[t.last] + len(self.tokens[t.last])]
        return self.error(expected, t.at, repr(short(whole)))


def _basis(value: Any, path: tuple[int, ...]) -> Any:
    """``ScaledBasis<T, 0, 1>``, outermost index first; a basis in T goes further in."""
    if isinstance(value, ScaledBasis):
        value, path = value.value, path + value.path
    return ScaledBasis(value, path) if path else value
