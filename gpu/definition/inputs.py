"""Inputs by formulas of their place, as CUDA C++: large ones are made where they are used.

The formulas are those of ``symlayout.semantics.telling`` and ``special``; a test runs the text against them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from symlayout.dtype import DType, f64
from symlayout.expr import index
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Element
from symlayout.semantics.telling import BITS, HALF, MULTIPLIER, SHIFT, WHOLE, Kind, Telling, tellings
from symlayout.strides import as_modes

from ..codegen.integers import UNARY
from ..codegen.lines import broken
from ..codegen.numbers import ctype
from ..codegen.source import Argument
from .special import EVERY, odd, only_moved
from .threads import WIDTH, Function, counted, printed
from .values import Term, Values, converted

ANY_BITS = (Kind.MOVED, Kind.BITS)
NUMBERS, SPECIAL = "numbers", "bits"  # the sets of data

HELPERS = {
    "hashed": f"""\
__device__ inline uint64_t hashed(uint64_t place) {{
    place *= {MULTIPLIER:#x}ULL;
    return place ^ place >> {SHIFT};
}}""",
    "few": f"""\
// -2, -1, 1 or 2.
__device__ inline double few(uint64_t bits) {{
    const int i = bits >> {BITS} & 3;
    return i < 2 ? i - 2 : i - 1;
}}""",
    "number_of": """\
// Bits of a number: one bit of a NaN is cleared.
template <class T>
__device__ inline T number_of(T bits, T most, T cleared) {
    return T(bits & T(2 * cleared - 1)) > most ? bits & T(~cleared) : bits;
}""",
}


def fillings(kernel: Kernel) -> Iterator[tuple[Function, str]]:
    """Functions that fill the inputs of a kernel, with their texts: all with numbers, and those only moved with bits.

    Raises LayoutError for an element that no whole bytes hold.
    """
    moved = only_moved(kernel)
    for t in tellings(kernel):
        yield _filling(kernel, t, NUMBERS)
        if t.tensor.name in moved:
            yield _filling(kernel, t, SPECIAL)


def _filling(kernel: Kernel, t: Telling, word: str) -> tuple[Function, str]:
    values, tensor, table = Values(kernel), t.tensor, ""
    extents = as_modes(tensor.layout.shape)
    coords = tuple(index(f"i{n}", extent) for n, extent in enumerate(extents))
    at, lines, blocks = counted(values, coords, extents, stem="place")
    place = values.place(Element(tensor.name, coords))
    bits, held = f"hashed({at} + {t.seed})", ctype(tensor.dtype)
    if word == SPECIAL or t.kind in ANY_BITS:
        held = f"uint{tensor.dtype.bits}_t"
    if word == SPECIAL:
        name = f"odd_{tensor.name}"
        table, value = _special(tensor.dtype, at, bits, held, name)
    elif t.kind in ANY_BITS:
        value = _moved(tensor.dtype, bits, held)
    else:
        value = _number(values, t, bits)
    sizes = (Argument("size", s.name, "int64_t") for s in kernel.dims)
    function = Function(
        tensor.name, f"{word}_{tensor.name}", (Argument("wanted", tensor.name, f"{held}*"), *sizes), blocks
    )
    return function, table + printed(function, [*lines, f"{place} = {value};"])


def _special(kind: DType, at: str, bits: str, held: str, name: str) -> tuple[str, str]:
    """A table of odd numbers, and the value at a place."""
    value = f"{held}(hashed({bits}))"
    if kind.kind != "float":
        return "", value
    found = [hex(x) for x in odd(kind)]
    lines = broken(f"__device__ const {held} {name}[{len(found)}] = {{{', '.join(found)}}};", WIDTH)
    table = "\n".join([*lines, "", ""])
    return table, f"{at} % {EVERY} ? {value} : {name}[{at} / {EVERY} % {len(found)}]"


def _moved(kind: DType, bits: str, held: str) -> str:
    if kind.kind != "float":
        return f"{held}({bits} >> 8)"
    return f"number_of<{held}>({bits} >> 8, {_most(kind):#x}, {1 << kind.bits - 2:#x})"


def _most(kind: DType) -> int:
    """The bits of the greatest magnitude that is no NaN."""
    import ml_dtypes

    most = np.array([np.inf]).astype(kind.numpy())
    if np.isnan(most)[0]:
        most = np.array([ml_dtypes.finfo(kind.numpy()).max], kind.numpy())  # type: ignore[no-untyped-call]
    return int(most.view(f"u{kind.bytes}")[0])


def _number(values: Values, t: Telling, bits: str) -> str:
    """The number of a place, in the type of the tensor."""
    kind, high = t.tensor.dtype, f"int64_t({bits} >> {BITS})"
    unsigned = np.dtype(kind.numpy()).kind == "u"
    if t.kind is Kind.INDEX:
        low = "" if t.low == 0 else f"{values.c(t.low)} + "
        return f"{ctype(kind)}({low}{high} % {values.integers.of(t.high - t.low + 1).inside(UNARY)})"
    if t.kind is Kind.FLAG:
        text = f"double({high} % 2)"
    elif t.kind is Kind.WHOLE:
        text = f"double({high} % {WHOLE}{'' if unsigned else f' - {HALF}'})"
    else:
        text = f"fabs(few({bits}))" if unsigned else f"few({bits})"
    if t.kind is Kind.REAL:
        text = f"(1.0 + double({bits} >> 40) / {1 << 24}.0) * {text}"
    return converted(Term(text, f64), kind)
