"""Values of a result in CUDA C++: in double, rounded where ``symlayout.semantics.expected`` rounds them.

>>> from symlayout import dim, f32
>>> from symlayout.kernels import axpby
>>> from symlayout.results import applied, element, scalar
>>> kernel = axpby(dim("N"))
>>> values = Values(kernel)
>>> print(values.of(applied("mul", scalar(kernel.parameter("alpha")), element("x", 3)), f32).text)
float(double(alpha) * double(x[3]))
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from symlayout.atoms.functions import MapFunction, map_function
from symlayout.dtype import DType, f64
from symlayout.errors import LayoutError
from symlayout.expr import Expr, Fact, Int, Symbol, index
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Applied, Dot, Element, Entry, Number, PackedDot, Scalar, Total, Value
from symlayout.strides import as_modes

from ..codegen.integers import ATOM, C, Integers
from ..codegen.numbers import ctype

BITS = 64  # of all integers here

# Functions of doubles; what rounds the result again rounds it once, as its row in ``symlayout.atoms.functions`` says.
DOUBLES: Mapping[str, str] = {
    "convert": "{}",
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "scale": "({} * {})",
    "fma": "fma_odd({}, {}, {})",
    "min": "fmin({}, {})",
    "max": "fmax({}, {})",
    "neg": "(-{})",
    "relu": "fmax({}, 0.0)",
    "div": "({} / {})",
    "rcp": "(1.0 / {})",
    "sqrt": "sqrt({})",
}
# Functions of integers, modulo 2^64: what is cut to the type of the result wraps as it does.
WRAPPED: Mapping[str, str] = {
    "convert": "{}",
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "scale": "{} * {}",
    "fma": "{} * {} + {}",
    "neg": "-{}",
}
CHOSEN: Mapping[str, str] = {"min": "min({}, {})", "max": "max({}, {})", "relu": "max({}, {kind}(0))"}

# What counts is the number, or its bits, of one type.
COMPARED: Mapping[str, str] = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
BITWISE: Mapping[str, str] = {
    "and": "{T}({} & {})",
    "or": "{T}({} | {})",
    "xor": "{T}({} ^ {})",
    "not": "{T}(~{})",
    "shl": "shifted_left({}, {U}({}))",
    "shr": "shifted_right({}, {U}({}))",
}

TO_DOUBLE: Mapping[str, str] = {
    "f64": "{}",
    "f16": "double(__half2float({}))",
    "bf16": "double(__bfloat162float({}))",
    "e4m3": "double(__half2float(__half(__nv_cvt_fp8_to_halfraw({}, __NV_E4M3))))",
    "e5m2": "double(__half2float(__half(__nv_cvt_fp8_to_halfraw({}, __NV_E5M2))))",
}
OF_DOUBLE: Mapping[str, str] = {
    "f64": "{}",
    "f32": "float({})",
    "tf32": "float({})",
    "f16": "__float2half_rn(odd_float({}))",
    "bf16": "__float2bfloat16_rn(odd_float({}))",
    "e4m3": "__nv_cvt_float_to_fp8(odd_float({}), __NV_SATFINITE, __NV_E4M3)",
    "e5m2": "__nv_cvt_float_to_fp8(odd_float({}), __NV_SATFINITE, __NV_E5M2)",
}


class Term(NamedTuple):
    """A piece of C++ that stands as an operand, and the type of its value."""

    text: str
    kind: DType


class Values:
    """Prints the values of one output: expressions, and the statements of the sums that they use before them."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.statements: list[str] = []
        self.read: dict[str, None] = {}  # tensors, in the order of their use
        named: tuple[Any, ...] = (*kernel.tensors, *kernel.parameters, *kernel.dims)
        self.taken = {x.name for x in named}
        self.names: dict[Int, C] = {s: C(s.name, ATOM, BITS) for s in kernel.dims}
        self.integers = Integers(frozenset(), BITS, self._nonnegative, self.names, known=lambda _: False)

    # -- names and integers -----------------------------------------------------------------------------------

    def free(self, stem: str) -> str:
        """A name that nothing has."""
        name = next(n for i in range(len(self.taken) + 1) if (n := f"{stem}{i or ''}") not in self.taken)
        self.taken.add(name)
        return name

    def bind(self, s: Symbol) -> str:
        """A symbol has a value from here on: its name in C++."""
        name = self.free(s.name)
        self.names[s] = C(name, ATOM, BITS)
        return name

    def c(self, x: Int) -> str:
        """An integer as C++."""
        return self.integers.text(x)

    def _nonnegative(self, x: Int) -> bool:
        if not isinstance(x, Expr):
            return x >= 0
        return Facts.about(x, given=self.kernel.given).holds(Fact(x, ">=")) is True

    def place(self, e: Element) -> str:
        """An element of a tensor, as C++ reads or writes it. Raises LayoutError for an element of less than a byte."""
        layout = self.kernel.tensor(e.tensor).layout
        at = (self._coordinate(i, n) for i, n in zip(e.at, as_modes(layout.shape), strict=True))
        return f"{e.tensor}[{self.c(layout(*at))}]"

    def _coordinate(self, x: Int | Entry, extent: Int) -> Int:
        """A coordinate; one that is read from a tensor of indices gets a name of its own."""
        if not isinstance(x, Entry):
            return x
        read = self._element(Element(x.tensor, x.at))
        found = index("entry", extent)
        self.statements.append(f"const int64_t {self.bind(found)} = {read.text};")
        return found

    # -- values -----------------------------------------------------------------------------------------------

    def of(self, x: Value, out: DType) -> Term:
        """A value, rounded as one whose type is not stated has the type of the output.

        Raises LayoutError for a function of which hardware may give another number, and for one without text.
        """
        if isinstance(x, Element):
            return self._element(x)
        if isinstance(x, Scalar):
            return Term(x.name, self.kernel.parameter(x.name).dtype)
        if isinstance(x, Number):
            return Term(literal(float(x.value)), f64) if isinstance(x.value, float) else Term(f"{x.value}LL", _WIDEST)
        if isinstance(x, PackedDot):
            raise LayoutError(f"products of words have no definition: {x}")
        if isinstance(x, Dot):
            return self._dot(x)
        if isinstance(x, Total):
            return self._total(x)
        return self._applied(x, out)

    def rounded(self, x: Term, out: DType) -> str:
        """A value as one of the type of an output; bits of the same type stay as they are."""
        return x.text if x.kind == out else converted(x, out)

    def _element(self, e: Element) -> Term:
        text = self.place(e)
        self.read.setdefault(e.tensor)
        return Term(text, self.kernel.tensor(e.tensor).dtype)

    def _applied(self, x: Applied, out: DType) -> Term:
        kind, row = DType.of(x.dtype) if x.dtype else out, map_function(x.function)
        if row.errors:
            raise LayoutError(f"{x.function} is approximate: hardware may give any number within its error")
        args = [self.of(a, out) for a in x.args]
        if row.bits:
            return Term(_of_bits(row, [Term(self.rounded(a, kind), kind) for a in args], kind), kind)
        if kind.kind == "float" or any(a.kind.kind == "float" for a in args):
            given = [_odd(a) if row.value == "convert" and kind.bits < 64 else double(a) for a in args]
            made = _formula(row, DOUBLES).format(*given)
            return Term(converted(Term(made, f64), kind), kind)
        name = ctype(kind)
        if row.value in CHOSEN:
            return Term(CHOSEN[row.value].format(*(f"{name}({a.text})" for a in args), kind=name), kind)
        made = _formula(row, WRAPPED).format(*(f"uint64_t({name}({a.text}))" for a in args))
        return Term(f"{name}({made})", kind)

    # -- sums -------------------------------------------------------------------------------------------------

    def _dot(self, x: Dot) -> Term:
        """The sum in double, one index after the other."""
        name = self.free("sum")
        index, head = self.bind(x.index), [f"double {name} = 0.0;"]
        a, b = (double(self._element(e)) for e in (x.a, x.b))
        self.statements += [*head, *self._loop(index, 0, x.extent, f"{name} = {name} + {a} * {b};")]
        return Term(name, f64)

    def _total(self, x: Total) -> Term:
        """The fold in double, from the first element on."""
        name, first = self.free("fold"), _at(x.element, x.index, 0)
        head = f"double {name} = {double(self._element(first))};"
        index = self.bind(x.index)
        step = _bare(DOUBLES[x.function].format(name, double(self._element(x.element))))
        self.statements += [head, *self._loop(index, 1, x.extent, f"{name} = {step};")]
        return Term(name, f64)

    def _loop(self, index: str, first: int, extent: Int, step: str) -> list[str]:
        return [f"for (int64_t {index} = {first}; {index} < {self.c(extent)}; ++{index})", f"    {step}"]


_WIDEST = DType.of("i64")


def _at(e: Element, index: Symbol, value: int) -> Element:
    """An element where an index has a value."""
    return Element(e.tensor, tuple(i.subs({index: value}) if isinstance(i, Expr) else i for i in e.at))


def _formula(row: MapFunction, table: Mapping[str, str]) -> str:
    if row.value not in table:
        raise LayoutError(f"expected a function that has a definition ({', '.join(table)}), got {row.word}")
    return table[row.value]


def _of_bits(row: MapFunction, args: list[Term], kind: DType) -> str:
    """A comparison, a choice or a function of bits, of numbers of one type."""
    plain = [double(a) if kind.kind == "float" else a.text for a in args]
    if row.value == "select":
        return f"picked({plain[0]} != 0, {args[1].text}, {args[2].text})"
    if row.value in COMPARED:
        one, zero = (converted(Term(literal(x), f64), kind) for x in (1.0, 0.0))
        return f"picked({plain[0]} {COMPARED[row.value]} {plain[1]}, {one}, {zero})"
    return _formula(row, BITWISE).format(*plain, T=ctype(kind), U=f"uint{kind.bits}_t")


def double(x: Term) -> str:
    """A number as a double."""
    if x.kind.kind == "bool" or x.kind.name not in TO_DOUBLE:
        return f"double({x.text})"
    return TO_DOUBLE[x.kind.name].format(x.text)


def _odd(x: Term) -> str:
    """A number as a double; an integer of 64 bits is rounded to odd, so that rounding it again is rounding once."""
    if x.kind.kind not in ("int", "uint") or x.kind.bits < 64:
        return double(x)
    return f"fma_odd(double({x.text} >> 32), 4294967296.0, double({x.text} & 0xffffffff))"


def converted(x: Term, out: DType) -> str:
    """A number in another type: integers towards zero and saturated, floats rounded once."""
    if out.kind == "float":
        if out.name not in OF_DOUBLE:
            raise LayoutError(f"expected a float type of whole bytes ({', '.join(OF_DOUBLE)}), got {out}")
        return OF_DOUBLE[out.name].format(_bare(_odd(x) if out.bits < 64 else double(x)))
    if x.kind.kind != "float":
        return f"{ctype(out)}({x.text})"
    least, most = (-(1 << out.bits - 1), (1 << out.bits - 1) - 1) if out.kind == "int" else (0, (1 << out.bits) - 1)
    return f"whole<{ctype(out)}>({_bare(double(x))}, {literal(least)}, {most}{'ULL' if out.kind == 'uint' else 'LL'})"


def _bare(text: str) -> str:
    """A text that stands between parentheses anyway."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") and _closes(text) else text


def _closes(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def literal(x: float) -> str:
    """A double as C++ writes it."""
    if math.isfinite(x):
        return repr(float(x))
    bits = struct.pack(">d", x).hex()
    return f"__longlong_as_double(0x{bits})"
