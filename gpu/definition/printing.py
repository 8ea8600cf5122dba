"""The definition of a kernel as CUDA C++: a function for each output, a thread for each of its elements.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> text = define(gemm(*dims("M N K"))).text
>>> start = text.index("define_c(")
>>> print(text[start : text.index("\\n}", start) + 2])
define_c(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* wanted, int64_t M, int64_t N, int64_t K) {
    const int64_t tiles = (N + 15) >> 4;
    const int64_t m = blockIdx.x / tiles * 16 + threadIdx.x / 16;
    const int64_t n = blockIdx.x % tiles * 16 + threadIdx.x % 16;
    if (m >= M || n >= N) return;
    double sum = 0.0;
    for (int64_t k = 0; k < K; ++k)
        sum = sum + double(__bfloat162float(a[K * m + k])) * double(__bfloat162float(b[K * n + k]));
    wanted[N * m + n] = __float2bfloat16_rn(odd_float(sum));
}

It has no shared memory, no copy that is asynchronous, no order between threads, and shares no table with ``gpu.emit``
but the names of types. It reads what the kernel reads, before the kernel runs, and writes a copy of what it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from symlayout.errors import LayoutError
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Element, Result, sums
from symlayout.strides import as_modes

from .. import ptx
from ..codegen.numbers import HEADERS, ctype
from ..codegen.source import Argument
from .inputs import HELPERS as OF_INPUTS
from .inputs import fillings
from .threads import Function, counted, printed, tiled
from .values import Values

HELPERS: Mapping[str, str] = {
    "odd": """\
// A number between two doubles as the odd one of them: what rounds it again, to fewer bits, rounds once.
__device__ inline double odd(double below, double above) {
    return below == above || (__double_as_longlong(below) & 1) ? below : above;
}""",
    "fma_odd": """\
__device__ inline double fma_odd(double a, double b, double c) {
    return odd(__fma_rd(a, b, c), __fma_ru(a, b, c));
}""",
    "odd_float": """\
// A double as the odd one of the two floats around it.
__device__ inline float odd_float(double x) {
    const float below = __double2float_rd(x), above = __double2float_ru(x);
    return below == above || (__float_as_uint(below) & 1) ? below : above;
}""",
    "whole": """\
// Towards zero, saturated; 0 for NaN.
template <class T>
__device__ inline T whole(double x, double least, T most) {
    return x != x ? T(0) : x <= least ? T(least) : x >= double(most) ? most : T(x);
}""",
    "picked": """\
template <class T>
__device__ inline T picked(bool first, T a, T b) {
    return first ? a : b;
}""",
    "shifted_left": """\
template <class T, class U>
__device__ inline T shifted_left(T a, U by) {
    return by < 8 * sizeof(T) ? T(U(a) << by) : T(0);
}""",
    "shifted_right": """\
template <class T, class U>
__device__ inline T shifted_right(T a, U by) {
    return by < 8 * sizeof(T) ? T(a >> by) : a < T(0) ? T(~T(0)) : T(0);
}""",
    **OF_INPUTS,
}
NEEDS = {"fma_odd": ("odd",)}


@dataclass(frozen=True)
class Definition:
    """CUDA C++ of what a kernel defines, and of inputs; *digest* is the kernel's. It is compiled without contraction.

    *outputs* has a function for each of them, *inputs* those that fill the inputs, by the word of the data.
    """

    text: str
    name: str
    digest: str
    outputs: tuple[Function, ...]
    inputs: tuple[Function, ...]

    def __str__(self) -> str:
        return self.text


def define(kernel: Kernel) -> Definition:
    """The definition of a kernel for all its sizes.

    Raises LayoutError for a kernel without results, for functions that are approximate, and for what has no text.
    """
    if not kernel.results:
        raise LayoutError(f"expected a kernel that states its results, got {kernel.name}, which has none")
    missing = [name for name in kernel.written if name not in {r.tensor for r in kernel.results}]
    if missing:
        raise LayoutError(f"expected results of all that {kernel.name} writes, got none of {', '.join(missing)}")
    outputs, inputs = ([*found] for found in (map(partial(_output, kernel), kernel.results), fillings(kernel)))
    texts = [text for _, text in (*outputs, *inputs)]
    text = "\n\n".join(["\n".join(_head(kernel)), *_helpers("\n".join(texts)), *texts])
    functions = (tuple(f for f, _ in found) for found in (outputs, inputs))
    return Definition(f"{text}\n", kernel.name, kernel.digest, *functions)


def _head(kernel: Kernel) -> Iterator[str]:
    yield f"// what {kernel.name} defines: a thread for each element"
    yield from (f"// {r}" for r in kernel.results)
    yield f"// digest {kernel.digest}"
    yield "#include <cstdint>"
    kinds = sorted({t.dtype.name for t in kernel.tensors} | {p.dtype.name for p in kernel.parameters})
    headers = sorted({HEADERS[n] for n in kinds if n in HEADERS})
    yield from (f"#include <{header}>" for header in headers)


def _helpers(text: str) -> Iterator[str]:
    """The functions that a text calls, those that they call before them."""
    yield from (f.text for f in ptx.called_in(text))
    called = [name for name in HELPERS if f"{name}(" in text or f"{name}<" in text]
    yield from (HELPERS[n] for n in dict.fromkeys(n for name in called for n in (*NEEDS.get(name, ()), name)))


def _output(kernel: Kernel, r: Result) -> tuple[Function, str]:
    """The function of one output, and its text."""
    values, tensor = Values(kernel), kernel.tensor(r.tensor)
    extents = as_modes(tensor.layout.shape)
    wanted = values.free("wanted")
    if len(extents) > 1 and any(True for _ in sums(r.value)):
        head, blocks = tiled(values, r.coords, extents)
    else:
        _, head, blocks = counted(values, r.coords, extents)
    place = values.place(Element(r.tensor, r.coords)).removeprefix(r.tensor)
    value = values.rounded(values.of(r.value, tensor.dtype), tensor.dtype)
    arguments = (
        *(Argument("tensor", name, f"const {ctype(kernel.tensor(name).dtype)}*") for name in values.read),
        Argument("wanted", wanted, f"{ctype(tensor.dtype)}*"),
        *(Argument("scalar", p.name, ctype(p.dtype)) for p in kernel.parameters),
        *(Argument("size", s.name, "int64_t") for s in kernel.dims),
    )
    function = Function(r.tensor, f"define_{r.tensor}", arguments, blocks)
    return function, printed(function, [*head, *values.statements, f"{wanted}{place} = {value};"])
