"""The host's part of a generated kernel as C++ over the driver API: checks, tensor maps, shared memory, the launch.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> text = launcher(vector_copy(dim("N")))
>>> print(text[text.index("struct Arguments"):].partition("};")[0])
struct Arguments {
    const void* src;
    void* dst;
    int64_t N;
<BLANKLINE>

A C++ project includes the file, and needs cuda.h and libcuda alone. Every assumption that a host can check is checked,
with a message: ranges and facts of sizes, addresses, overlaps. What the data hold is not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod

from symlayout.atoms import MemorySpace
from symlayout.errors import LayoutError
from symlayout.expr import Fact, Int
from symlayout.expr.c_text import HELPERS, c_text
from symlayout.facts import Facts
from symlayout.kernel import Kernel, KernelMap, KernelTensor

from ..filling import ctas_of, launch_sizes
from .numbers import HEADERS, ctype
from .printer import emit
from .source import Argument, Source

GRID = (2**31 - 1, 65535, 65535)  # CTAs along x, y and z (CUDA C++ Programming Guide, Compute Capabilities)

INCLUDED = ("cuda.h", "cstdint", "stdexcept", "string")

TOOLS = """\
typedef __int128 Int;  // holds every product of sizes

inline void expect(bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument("expected " + what);
}

inline void expect_done(CUresult code, const std::string& what) {
    const char* name = nullptr;
    if (code == CUDA_SUCCESS) return;
    cuGetErrorName(code, &name);
    throw std::runtime_error("expected " + what + ", got " + (name ? name : std::to_string(int(code))));
}

inline bool apart(Int a, Int n, Int b, Int m) { return a + n <= b || b + m <= a; }
"""


FILL = """
// As many of a size as fill the SMs of the current device, each with so many CTAs, for so many CTAs of each.
inline Int filling(Int per_sm, Int each, Int most) {
    CUdevice device;
    int sms = 0;
    expect_done(cuCtxGetDevice(&device), "a current context");
    expect_done(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device), "the number of SMs");
    const Int n = sms * per_sm / each;
    return n < 1 ? 1 : n < most ? n : most;
}
"""


def launcher(kernel: Kernel, source: Source | None = None) -> str:
    """The header of a kernel for all its sizes. Raises LayoutError for a tensor map of another mode than tiled."""
    source = source or emit(kernel)
    untiled = next((m.name for m in kernel.maps if m.tensor_map.im2col is not None), None)
    if untiled is not None:
        raise LayoutError(f"expected tiled tensor maps for a launcher, got {untiled} of {kernel.name}, which is im2col")
    body = [
        *(f"    {line}" for line in _names(kernel)),
        *(f"    {line}" for line in _checks(kernel)),
        *(f"    {line}" for m in kernel.maps for line in _map(m)),
        *(f"    {line}" for line in _launch(kernel, source)),
    ]
    parts = [
        f"// Launches {kernel.name} of digest {kernel.digest}, the kernel of {source.name}.cu.",
        *(f"// assumed, and not checked here: {s}" for s in kernel.assumed if s.startswith("the data hold")),
        "#pragma once",
        *(f"#include <{header}>" for header in dict.fromkeys((*INCLUDED, *_headers(kernel)))),
        "",
        f"namespace {kernel.name}_launcher {{",
        "",
        TOOLS + (FILL if launch_sizes(kernel) else ""),
        HELPERS.strip().replace("long long", "Int"),
        "",
        *_arguments(kernel),
        "",
        f"// The kernel in a module that was made of {source.name}.cu.",
        "inline CUfunction function_of(CUmodule module) {",
        "    CUfunction found;",
        f'    expect_done(cuModuleGetFunction(&found, module, "{source.name}"), "kernel {source.name} in the module");',
        "    return found;",
        "}",
        "",
        "// Launches the kernel. Throws std::invalid_argument for arguments that its proofs do not cover,",
        "// std::runtime_error where the driver refuses.",
        "inline void launch(CUfunction function, const Arguments& given, CUstream stream = nullptr) {",
        *body,
        "}",
        "",
        f"}}  // namespace {kernel.name}_launcher",
    ]
    return "\n".join(parts) + "\n"


def _headers(kernel: Kernel) -> Iterator[str]:
    return (HEADERS[p.dtype.name] for p in kernel.parameters if p.dtype.name in HEADERS)


def _global(kernel: Kernel) -> list[KernelTensor]:
    return [t for t in kernel.tensors if t.space is MemorySpace.GLOBAL]


def _arguments(kernel: Kernel) -> Iterator[str]:
    yield "struct Arguments {"
    for t in _global(kernel):
        yield f"    {'' if t.name in kernel.written else 'const '}void* {t.name};"
    yield from (f"    {ctype(p.dtype)} {p.name};" for p in kernel.parameters)
    own = launch_sizes(kernel)
    yield from (f"    int64_t {s.name};" for s in kernel.dims if s not in own)
    yield from (f"    int64_t {s.name} = 0;  // 0 for as many as fill the device" for s in own)
    yield "};"
    yield ""
    told = ' + ", " + '.join(f'"{s.name} = " + std::to_string(given.{s.name})' for s in kernel.dims)
    if not told:
        return
    yield f"inline std::string sizes_of(const Arguments& given) {{ return {told}; }}"


def _names(kernel: Kernel) -> Iterator[str]:
    own = launch_sizes(kernel)
    yield from (f"const Int {s.name} = given.{s.name};" for s in kernel.dims if s not in own)
    for s in own:
        numbers = f"{kernel.ctas_per_sm or 1}, {ctas_of(kernel, s)}, {s.upper}"
        yield f"const Int {s.name} = given.{s.name} ? Int(given.{s.name}) : filling({numbers});"
    for t in _global(kernel):
        yield f"const Int at_{t.name} = Int(reinterpret_cast<uintptr_t>(given.{t.name}));"
        yield f"const Int bytes_{t.name} = {c_text(t.layout.cosize() * t.dtype.bytes)};"
        yield f"(void)bytes_{t.name};"


def _checks(kernel: Kernel) -> Iterator[str]:
    """What proofs assume of sizes and addresses, and what a launch has room for."""
    for fact in dict.fromkeys((*Facts.about(kernel.dims, given=kernel.given).ranges, *kernel.given)):
        yield f'expect({_holds(fact)}, "sizes that meet {fact}, got " + sizes_of(given));'
    for p in kernel.parameters:
        if p.within:
            low, high = p.within
            yield f'expect(given.{p.name} >= {low} && given.{p.name} <= {high}, "{p.name} within {low} .. {high}");'
    for t in _global(kernel):
        yield f'expect(at_{t.name} % {t.align_bytes} == 0, "{t.name} at a multiple of {t.align_bytes} bytes");'
    for a, b in itertools.combinations(_global(kernel), 2):
        if {a.name, b.name} & set(kernel.written):
            both = f"apart(at_{a.name}, bytes_{a.name}, at_{b.name}, bytes_{b.name})"
            one = f" || at_{a.name} == at_{b.name}" if b.name in kernel.aliases(a.name) else ""
            yield f'expect({both}{one}, "{a.name} and {b.name} {"at one address or " if one else ""}apart");'
    for axis, n, most in zip("xyz", kernel.grid, GRID, strict=False):
        yield f"const Int grid_{axis} = {c_text(n)};"
        yield f'expect(grid_{axis} >= 1 && grid_{axis} <= {most}, "1 to {most} CTAs along {axis}");'


def _holds(fact: Fact) -> str:
    text = c_text(fact.expr)
    if fact.relation == "%":
        return f"{text} % {fact.modulus} == 0"
    return f"{text} {fact.relation} 0"


def _map(m: KernelMap) -> Iterator[str]:
    """A tensor map, encoded by the driver."""
    t, name = m.tensor_map, m.name
    strides = t.global_stride_bytes or (0,)
    yield f"alignas(64) CUtensorMap {name};"
    yield f"const cuuint64_t dim_{name}[] = {{{_list(t.global_dim, 'cuuint64_t')}}};"
    yield f"const cuuint64_t stride_{name}[] = {{{_list(strides, 'cuuint64_t')}}};"
    yield f"const cuuint32_t box_{name}[] = {{{_list(t.box_dim, 'cuuint32_t')}}};"
    yield f"const cuuint32_t step_{name}[] = {{{_list(t.element_stride, 'cuuint32_t')}}};"
    yield "expect_done("
    yield f"    cuTensorMapEncodeTiled(&{name}, CUtensorMapDataType({int(t.dtype)}), {t.rank},"
    yield f"                           reinterpret_cast<void*>(uintptr_t(at_{m.tensor} + {c_text(t.global_address)})),"
    yield f"                           dim_{name}, stride_{name}, box_{name}, step_{name},"
    modes = (
        f"CUtensorMapInterleave({int(t.interleave)})",
        f"CUtensorMapSwizzle({int(t.swizzle)})",
        f"CUtensorMapL2promotion({int(t.l2_promotion)})",
        f"CUtensorMapFloatOOBfill({int(t.oob_fill)})",
    )
    yield f"                           {', '.join(modes[:2])},"
    yield f"                           {', '.join(modes[2:])}),"
    yield f'    "the driver to encode {name}");'


def _list(xs: tuple[Int, ...], kind: str) -> str:
    return ", ".join(f"{kind}({c_text(x)})" for x in xs)


def _launch(kernel: Kernel, source: Source) -> Iterator[str]:
    """The arguments by address, shared memory, the launch; a cluster is compiled in."""
    values = {}
    for a in source.arguments:
        values[a.name], declared = _value(a)
        yield from declared
    yield f"void* parameters[] = {{{', '.join(f'(void*)&{v}' for v in values.values())}}};"
    shared = int(kernel.shared_bytes)
    if shared:
        yield "expect_done("
        yield f"    cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, {shared}),"
        yield f'    "{shared} bytes of shared memory");'
    axes = [f"unsigned(grid_{axis})" for axis in "xyz"[: len(kernel.grid)]] + ["1"] * (3 - len(kernel.grid))
    if prod(kernel.cluster) > 1:
        yield f"// in clusters of {' x '.join(map(str, kernel.cluster))}, as the kernel was compiled"
    yield "expect_done("
    yield f"    cuLaunchKernel(function, {', '.join(axes)}, {kernel.threads}, 1, 1, {shared}, stream,"
    yield "                   parameters, nullptr),"
    yield f'    "the launch of {source.name}");'


def _value(a: Argument) -> tuple[str, list[str]]:
    """The expression whose address a parameter is, and its declaration."""
    if a.kind == "map":
        return a.name, []
    if a.kind == "size":
        return f"size_{a.name}", [f"const {a.ctype} size_{a.name} = {a.ctype}({a.name});"]
    return f"given.{a.name}", []
