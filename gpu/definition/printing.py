"""The definition of a kernel as CUDA C++: a function for each output, a thread for each of its elements.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> print("\\n".join(define(gemm(*dims("M N K"))).text.splitlines()[-10:]))
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

from symlayout.errors import LayoutError
from symlayout.expr import Int, Symbol
from symlayout.int_tuple import ceil_div, product
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Element, Result, sums
from symlayout.strides import as_modes

from .. import ptx
from ..codegen.integers import UNARY
from ..codegen.lines import broken
from ..codegen.numbers import HEADERS, ctype
from ..codegen.source import Argument
from .values import Values

WIDTH = 118
THREADS = 256
TILE = 16  # THREADS as a square: threads that share rows of both operands of a sum of products

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
}
NEEDS = {"fma_odd": ("odd",)}


@dataclass(frozen=True)
class Output:
    """The function of one output: its name, its parameters in order, and how many CTAs it is launched with."""

    tensor: str
    function: str
    arguments: tuple[Argument, ...]
    blocks: Int


@dataclass(frozen=True)
class Definition:
    """CUDA C++ of what a kernel defines; *digest* is the kernel's. It is compiled without contraction."""

    text: str
    name: str
    digest: str
    outputs: tuple[Output, ...]

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
    outputs, functions = [], []
    for r in kernel.results:
        output, lines = _output(kernel, r)
        outputs.append(output)
        functions += ["", *lines]
    body = "\n".join(functions)
    text = "\n".join([*_head(kernel), *_helpers(body)]) + body + "\n"
    return Definition(text, kernel.name, kernel.digest, tuple(outputs))


def _head(kernel: Kernel) -> Iterator[str]:
    yield f"// what {kernel.name} defines: a thread for each element"
    yield from (f"// {r}" for r in kernel.results)
    yield f"// digest {kernel.digest}"
    yield "#include <cstdint>"
    kinds = sorted({t.dtype.name for t in kernel.tensors} | {p.dtype.name for p in kernel.parameters})
    headers = sorted({HEADERS[n] for n in kinds if n in HEADERS})
    yield from (f"#include <{header}>" for header in headers)


def _helpers(body: str) -> Iterator[str]:
    """The functions that a text calls, those that they call before them."""
    called = [name for name in HELPERS if f"{name}(" in body or f"{name}<" in body]
    used = dict.fromkeys(n for name in called for n in (*NEEDS.get(name, ()), name))
    for f in ptx.called_in(body):
        yield from ("", f.text)
    for name in used:
        yield from ("", HELPERS[name])
    yield ""


def _output(kernel: Kernel, r: Result) -> tuple[Output, list[str]]:
    """The function of one output."""
    values, tensor = Values(kernel), kernel.tensor(r.tensor)
    extents = as_modes(tensor.layout.shape)
    wanted = values.free("wanted")
    head, blocks = _coordinates(values, r, extents)
    place = values.place(Element(r.tensor, r.coords)).removeprefix(r.tensor)
    value = values.rounded(values.of(r.value, tensor.dtype), tensor.dtype)
    arguments = (
        *(Argument("tensor", name, f"const {ctype(kernel.tensor(name).dtype)}*") for name in values.read),
        Argument("wanted", wanted, f"{ctype(tensor.dtype)}*"),
        *(Argument("scalar", p.name, ctype(p.dtype)) for p in kernel.parameters),
        *(Argument("size", s.name, "int64_t") for s in kernel.dims),
    )
    name = f"define_{r.tensor}"
    signature = broken(f"{name}({', '.join(map(str, arguments))}) {{", WIDTH)
    body = [*head, *values.statements, f"{wanted}{place} = {value};"]
    lines = [f'extern "C" __global__ void __launch_bounds__({THREADS})', *signature]
    lines += [f"    {part}" for line in body for part in broken(line, WIDTH - 4)]
    return Output(r.tensor, name, arguments, blocks), [*lines, "}"]


def _coordinates(values: Values, r: Result, extents: tuple[Int, ...]) -> tuple[list[str], Int]:
    """The statements that give a thread its coordinates, the last of them fastest, and how many CTAs there are."""
    if len(extents) == 1 or not any(True for _ in sums(r.value)):
        size = product(extents)
        at, lines, split = _counted(values, r.coords, extents, f"int64_t(blockIdx.x) * {THREADS} + threadIdx.x")
        return [*lines, f"if ({at} >= {values.c(size)}) return;", *split], ceil_div(size, THREADS)
    *outer, columns = extents
    rows, across = product(tuple(outer)), ceil_div(columns, TILE)
    tiles, column = values.free("tiles"), values.bind(r.coords[-1])
    count = f"blockIdx.x / {tiles} * {TILE} + threadIdx.x / {TILE}"
    at, lines, split = _counted(values, r.coords[:-1], tuple(outer), count)
    head = [
        f"const int64_t {tiles} = {values.c(across)};",
        *lines,
        f"const int64_t {column} = blockIdx.x % {tiles} * {TILE} + threadIdx.x % {TILE};",
        f"if ({at} >= {values.c(rows)} || {column} >= {values.c(columns)}) return;",
    ]
    return head + split, ceil_div(rows, TILE) * across


def _counted(
    values: Values, coords: tuple[Symbol, ...], extents: tuple[Int, ...], count: str
) -> tuple[str, list[str], list[str]]:
    """A number by which a thread knows some coordinates, the last of them fastest: its name, it, and then they."""
    if len(coords) == 1:
        name = values.bind(coords[0])
        return name, [f"const int64_t {name} = {count};"], []
    at = values.free("at")
    lines, left = list[str](), at
    for i in range(len(coords) - 1, -1, -1):
        extent = values.integers.of(extents[i]).inside(UNARY)
        digit = f"{left} % {extent}" if i else left
        lines.append(f"const int64_t {values.bind(coords[i])} = {digit};")
        left = f"{left} / {extent}"
    return at, [f"const int64_t {at} = {count};"], lines
