"""The results of a kernel, an equation for each of its outputs: the value of every element after the kernel.

    >>> from symlayout import dims
    >>> M, N, K = dims("M N K")
    >>> print(result("dst", (N, M), lambda n, m: element("src", m, n)))
    dst(n,m) = src(m,n)
    >>> print(result("c", (M, N), lambda m, n: dot(K, lambda k: (element("a", m, k), element("b", n, k)))))
    c(m,n) = sum over k < K of a(m,k)*b(n,k)

Values are those of real numbers, rounded to the type of the output; sums may be rounded in any order.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ..dtype import DType, f32, i32, tf32
from ..errors import LayoutError
from ..expr import Expr, Int, Symbol, extent_of, index, integer
from ..ops.data import number_text
from ..strides import as_modes

TOTALS = {"add": "sum", "mul": "product", "min": "least", "max": "greatest"}
WORD_BITS, BITWISE = 32, ("and", "xor")
WORDS = ("i4", "i4.u4", "u4", "u4.i4", *(f"b1.{way}" for way in BITWISE))


@dataclass(frozen=True)
class Entry:
    """An index that is read from a tensor of indices, as one of the coordinates of an element."""

    tensor: str
    at: tuple[Int, ...]

    def __str__(self) -> str:
        return _placed(self.tensor, self.at)


@dataclass(frozen=True)
class Element:
    """The element of an input at a coordinate."""

    tensor: str
    at: tuple[Int | Entry, ...]

    def __str__(self) -> str:
        return _placed(self.tensor, self.at)


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter of the kernel."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Number:
    """A number, the same for all elements."""

    value: float

    def __str__(self) -> str:
        return number_text(self.value)


@dataclass(frozen=True)
class Dot:
    """The sum over an index of products of two elements, kept in the type *dtype* ("" for ``sum_type``)."""

    index: Symbol
    a: Element
    b: Element
    dtype: str = ""

    @property
    def extent(self) -> Int:
        return extent_of(self.index)

    def __str__(self) -> str:
        return f"sum over {self.index} < {self.extent} of {self.a}*{self.b}{_kept(self.dtype)}"


@dataclass(frozen=True)
class PackedDot(Dot):
    """A sum of products of words of 32 bits: the product of two is that of the elements in them, *words* says which.

    It is written as in atoms: a type for both, or two (``i4.u4``), and ``and`` or ``xor`` behind that of bits.
    """

    words: str = ""

    @property
    def types(self) -> tuple[DType, DType]:
        """The types of the elements in the words."""
        a, b = (*self.words.split("."), "")[:2]
        return DType.of(a), DType.of(a if b in ("", *BITWISE) else b)

    @property
    def each(self) -> int:
        """Elements in a word."""
        return WORD_BITS // self.types[0].bits

    def __str__(self) -> str:
        return f"{super().__str__()} by {self.words}"


@dataclass(frozen=True)
class Total:
    """The fold of an element over an index: its sum, product, least or greatest, kept in *dtype* as in ``Dot``."""

    function: str
    index: Symbol
    element: Element
    dtype: str = ""

    @property
    def extent(self) -> Int:
        return extent_of(self.index)

    def __str__(self) -> str:
        return f"{TOTALS[self.function]} over {self.index} < {self.extent} of {self.element}{_kept(self.dtype)}"


@dataclass(frozen=True)
class Applied:
    """A function of ``Map`` on other values, rounded to the type *dtype* ("" for that of the output).

    >>> print(applied("convert", element("x", 0), dtype="bf16"))
    convert.bf16(x(0))
    """

    function: str
    args: tuple[Value, ...]
    dtype: str = ""

    def __str__(self) -> str:
        rounded = f".{self.dtype}" if self.dtype else ""
        return f"{self.function}{rounded}({', '.join(map(str, self.args))})"


Value: TypeAlias = "Element | Scalar | Number | Dot | Total | Applied"


@dataclass(frozen=True)
class Result:
    """An output and what its element at *coords* holds."""

    tensor: str
    coords: tuple[Symbol, ...]
    value: Value

    @property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that the values come from."""
        names = [e.tensor for e in elements(self.value)] + [e.tensor for e in entries(self.value)]
        return tuple(dict.fromkeys(names))

    def rewritten(self, change: Callable[[Any], Any]) -> Result:
        """The result with each expression *change*d."""
        return Result(self.tensor, tuple(map(change, self.coords)), _rewritten(self.value, change))

    def __str__(self) -> str:
        return f"{_placed(self.tensor, self.coords)} = {self.value}"


def result(tensor: str, shape: Any, value: Callable[..., Value]) -> Result:
    """A result for an output of *shape*: *value* is a function of as many coordinates as the shape has modes.

    The coordinates take the names of the parameters. Raises LayoutError for another number of them, and where the
    function makes no value.
    """
    modes = as_modes(shape)
    names = list(inspect.signature(value).parameters)
    if len(names) != len(modes):
        raise LayoutError(f"expected a value of {len(modes)} coordinates of {tensor}, got one of {', '.join(names)}")
    coords = tuple(index(name, n) for name, n in zip(names, modes, strict=True))
    made = value(*coords)
    if not isinstance(made, Element | Scalar | Number | Dot | Total | Applied):
        raise LayoutError(
            f"expected a value for each element of {tensor}, as element, number or total make, got {made!r} "
            f"({type(made).__name__})"
        )
    return Result(tensor, coords, made)


def element(tensor: str, *at: Any) -> Element:
    """The element of an input at a coordinate; entries of it may come from a tensor of indices."""
    return Element(tensor, tuple(x if isinstance(x, Entry) else integer(x) for x in at))


def entry(tensor: str, *at: Any) -> Entry:
    """An index that is read from a tensor.

    >>> i, j = index("i", 4), index("j", 8)
    >>> print(element("src", entry("idx", i), j))
    src(idx(i),j)
    """
    return Entry(tensor, tuple(map(integer, at)))


def sum_type(*kinds: DType) -> DType:
    """The type of a sum of elements, or of products of elements, of some types, where a result states none.

    >>> print(sum_type(DType.of("bf16")), sum_type(DType.of("f64")), sum_type(DType.of("i8"), DType.of("u8")))
    f32 f64 i32
    """
    widest = max(kinds, key=lambda kind: (kind.kind == "float", kind.bits))
    if widest.bits < 32 or widest is tf32:
        return f32 if widest.kind == "float" else i32
    return widest


def dot(extent: Any, terms: Callable[[Any], tuple[Element, Element]], dtype: str = "", words: str = "") -> Dot:
    """The sum of products of two elements, for all values of an index that takes the parameter's name.

    It is kept in the type *dtype*: f32 for floats of fewer bits, i32 for integers of fewer, unless it says another.
    With *words*, elements are u32 that hold others, and the product of two words is the sum of the products of these:

    >>> print(dot(8, lambda k: (element("a", k), element("b", k)), words="i4.u4"))
    sum over k < 8 of a(k)*b(k) by i4.u4

    Raises LayoutError for words of other elements than i4, u4 and b1.
    """
    (name,) = inspect.signature(terms).parameters
    k = index(name, extent)
    if not words:
        return Dot(k, *terms(k), _type_name(dtype))
    if words not in WORDS:
        raise LayoutError(f"expected words of {', '.join(WORDS)}, got {words!r}")
    return PackedDot(k, *terms(k), _type_name(dtype), words)


def total(extent: Any, term: Callable[[Any], Element], function: str = "add", dtype: str = "") -> Total:
    """The fold of an element for all values of an index that takes the parameter's name, kept in *dtype* as in ``dot``.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> print(result("dst", M, lambda m: total(N, lambda n: element("src", m, n))))
    dst(m) = sum over n < N of src(m,n)

    Raises LayoutError for a function other than add, mul, min and max.
    """
    if function not in TOTALS:
        raise LayoutError(f"expected a function of {', '.join(TOTALS)}, got {function!r}")
    (name,) = inspect.signature(term).parameters
    i = index(name, extent)
    return Total(function, i, term(i), _type_name(dtype))


def _type_name(dtype: str) -> str:
    return DType.of(dtype).name if dtype else ""


def _kept(dtype: str) -> str:
    return f" in {dtype}" if dtype else ""


def scalar(parameter: Any) -> Scalar:
    """A scalar parameter of the kernel, as ``Builder.parameter`` returns it."""
    return Scalar(parameter.name)


def number(value: float) -> Number:
    """A number, the same for all elements.

    >>> print(result("dst", 8, lambda i: number(0)))
    dst(i) = 0

    Raises LayoutError for what is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LayoutError(f"expected a number, got {value!r}")
    return Number(value)


def applied(function: str, *args: Value, dtype: str = "") -> Applied:
    """A function of ``Map`` on other values."""
    return Applied(function, args, dtype)


def elements(value: Value) -> Iterator[Element]:
    """The elements in a value."""
    if isinstance(value, Element):
        yield value
    elif isinstance(value, Dot):
        yield from (value.a, value.b)
    elif isinstance(value, Total):
        yield value.element
    elif isinstance(value, Applied):
        for x in value.args:
            yield from elements(x)


def sums(value: Value) -> Iterator[Dot | Total]:
    """The sums and folds in a value."""
    if isinstance(value, Dot | Total):
        yield value
    elif isinstance(value, Applied):
        for x in value.args:
            yield from sums(x)


def entries(value: Value) -> Iterator[Entry]:
    """The entries among the coordinates of the elements in a value."""
    return (x for e in elements(value) for x in e.at if isinstance(x, Entry))


def misplaced(r: Result, shapes: Mapping[str, Any]) -> Iterator[str]:
    """Defects of the places that a result names; *shapes* are those of the tensors in global memory.

    >>> shapes = {"src": (4, 8), "dst": 8}
    >>> list(misplaced(result("dst", 8, lambda n: element("src", n)), shapes))
    ['expected 2 coordinates of src, got src(n)']
    """
    named: list[Element | Entry] = [Element(r.tensor, r.coords), *elements(r.value), *entries(r.value)]
    wrong = [what for x in named for what in _misplaced(x, shapes)]
    yield from wrong
    if not wrong:
        shape = shapes[r.tensor]
        for c, n in zip(r.coords, as_modes(shape), strict=True):
            if c is not index(c.name, n):
                yield f"expected {c} for each of the {n} of {r.tensor}, got {c} for {extent_of(c)}"


def _misplaced(x: Element | Entry, shapes: Mapping[str, Any]) -> Iterator[str]:
    shape = shapes.get(x.tensor)
    modes = len(shape) if isinstance(shape, tuple) else 1
    if shape is None:
        yield f"expected a tensor in global memory ({', '.join(shapes)}), got {x.tensor!r}"
    elif len(x.at) != modes:
        yield f"expected {modes} coordinates of {x.tensor}, got {x}"


def _rewritten(value: Value, change: Callable[[Any], Any]) -> Value:
    if isinstance(value, Element):
        return _element(value, change)
    if isinstance(value, Scalar | Number):
        return value
    if isinstance(value, Dot):
        index, a, b = change(value.index), _element(value.a, change), _element(value.b, change)
        return replace(value, index=index, a=a, b=b)
    if isinstance(value, Total):
        return Total(value.function, change(value.index), _element(value.element, change), value.dtype)
    return Applied(value.function, tuple(_rewritten(x, change) for x in value.args), value.dtype)


def _element(x: Element, change: Callable[[Any], Any]) -> Element:
    return Element(x.tensor, tuple(_index(i, change) for i in x.at))


def _index(i: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(i, Entry):
        return Entry(i.tensor, tuple(_index(k, change) for k in i.at))
    return change(i) if isinstance(i, Expr) else i


def _placed(tensor: str, at: tuple[Any, ...]) -> str:
    return f"{tensor}({','.join(map(str, at))})"
