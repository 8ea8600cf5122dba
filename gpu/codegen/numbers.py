"""The functions of ``Map`` in CUDA C++: a row for each, by the type of the registers.

Each is rounded once, to nearest even, and is not contracted: ``__fadd_rn`` and its like are never part of an fma.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from symlayout.atoms.functions import APPROXIMATE, FUNCTIONS
from symlayout.dtype import DType
from symlayout.errors import LayoutError

CTYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i8": "int8_t",
    "i16": "int16_t",
    "i32": "int32_t",
    "i64": "int64_t",
    "f16": "__half",
    "bf16": "__nv_bfloat16",
    "f32": "float",
    "tf32": "float",
    "f64": "double",
    "e4m3": "__nv_fp8_storage_t",
    "e5m2": "__nv_fp8_storage_t",
    "bool": "bool",
}

HEADERS = {"f16": "cuda_fp16.h", "bf16": "cuda_bf16.h", "e4m3": "cuda_fp8.h", "e5m2": "cuda_fp8.h"}

SINGLE = {
    "add": "__fadd_rn({}, {})",
    "sub": "__fsub_rn({}, {})",
    "mul": "__fmul_rn({}, {})",
    "scale": "__fmul_rn({}, {})",
    "fma": "__fmaf_rn({}, {}, {})",
    "min": "fminf({}, {})",
    "max": "fmaxf({}, {})",
    "neg": "-{}",
    "relu": "({0} > 0.0f ? {0} : 0.0f)",
    "div": "__fdiv_rn({}, {})",
    "rcp": "__frcp_rn({})",
    "sqrt": "__fsqrt_rn({})",
    **{row.word: f"{row.word.replace('.', '_')}_f32({{}})" for row in APPROXIMATE},
}
DOUBLE = {
    "add": "__dadd_rn({}, {})",
    "sub": "__dsub_rn({}, {})",
    "mul": "__dmul_rn({}, {})",
    "scale": "__dmul_rn({}, {})",
    "min": "fmin({}, {})",
    "max": "fmax({}, {})",
    "neg": "-{}",
    "relu": "({0} > 0.0 ? {0} : 0.0)",
    "div": "__ddiv_rn({}, {})",
    "rcp": "__drcp_rn({})",
    "sqrt": "__dsqrt_rn({})",
}
HALF = {
    "add": "__hadd_rn({}, {})",
    "sub": "__hsub_rn({}, {})",
    "mul": "__hmul_rn({}, {})",
    "scale": "__hmul_rn({}, {})",
    "fma": "__hfma({}, {}, {})",
    "min": "__hmin({}, {})",
    "max": "__hmax({}, {})",
    "neg": "__hneg({})",
}
# Approximate functions of 16-bit floats are taken by their bits.
BITS = {"f16": ("half", "__half_as_ushort"), "bf16": ("bfloat16", "__bfloat16_as_ushort")}
APPROXIMATE_HALF = {
    (row.word, kind): f"__ushort_as_{name}({row.word.replace('.', '_')}_{kind}({bits}({{}})))"
    for row in APPROXIMATE
    for kind, (name, bits) in BITS.items()
    if kind in row.errors
}
INTEGER = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "scale": "{} * {}",
    "fma": "{} * {} + {}",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "neg": "-{}",
    "relu": "max({}, {T}(0))",
}
# Comparisons and choices of numbers of any type, by C++'s operators.
CHOICES = {
    **{
        word: f"({{}} {sign} {{}} ? {{T}}(1) : {{T}}(0))"
        for word, sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
    },
    "select": "({} != {T}(0) ? {} : {})",
}
BITWISE = {
    "and": "{T}({} & {})",
    "or": "{T}({} | {})",
    "xor": "{T}({} ^ {})",
    "not": "{T}(~{})",
    "shl": "({U}({1}) < {B}u ? {T}({U}({0}) << {1}) : {T}(0))",
}
SHIFTED_RIGHT = {
    "int": "({0} >> ({U}({1}) < {B}u ? {1} : {B} - 1))",
    "uint": "({1} < {B}u ? {0} >> {1} : {T}(0))",
}
# Conversions that CUDA has a function for, each rounded once: to floats to nearest even, to integers towards zero.
CONVERSIONS = {
    ("f32", "f16"): "__float2half_rn({})",
    ("f32", "bf16"): "__float2bfloat16_rn({})",
    ("f32", "e4m3"): "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E4M3)",
    ("f32", "e5m2"): "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E5M2)",
    ("f16", "f32"): "__half2float({})",
    ("bf16", "f32"): "__bfloat162float({})",
    ("e4m3", "f16"): "__half(__nv_cvt_fp8_to_halfraw({}, __NV_E4M3))",
    ("e5m2", "f16"): "__half(__nv_cvt_fp8_to_halfraw({}, __NV_E5M2))",
    ("f32", "f64"): "double({})",
    ("f64", "f32"): "__double2float_rn({})",
    ("f64", "f16"): "__double2half({})",
    ("f64", "bf16"): "__double2bfloat16({})",
    **{
        (kind, out): f"__{word}2{name}_rn({{}})"
        for kind, word in (("i32", "int"), ("u32", "uint"), ("i64", "ll"), ("u64", "ull"))
        for out, name in (("f32", "float"), ("f16", "half"), ("bf16", "bfloat16"), ("f64", "double"))
        if (kind, out) not in (("i32", "f64"), ("u32", "f64"))
    },
    ("i32", "f64"): "double({})",
    ("u32", "f64"): "double({})",
    ("f32", "i32"): "__float2int_rz({})",
    ("f32", "u32"): "__float2uint_rz({})",
    # PTX ISA, cvt: a NaN becomes 0 but for these, of which it has the greatest bit alone.
    **{
        (kind, out): f"({{0}} == {{0}} ? __{name}2{word}_rz({{0}}) : 0)"
        for kind, name in (("f32", "float"), ("f64", "double"))
        for out, word in (("i32", "int"), ("u32", "uint"), ("i64", "ll"), ("u64", "ull"))
        if kind == "f64" or out in ("i64", "u64")
    },
}
EXACT_IN = {
    **dict.fromkeys(("i8", "u8", "i16", "u16"), "i32"),
    "f16": "f32",
    "bf16": "f32",
    "e4m3": "f16",
    "e5m2": "f16",
}
NARROW = {"i8": ("i32", -128, 127), "u8": ("i32", 0, 255), "i16": ("i32", -32768, 32767), "u16": ("i32", 0, 65535)}


def ctype(kind: DType) -> str:
    """The C++ type of an element. Raises LayoutError for one that no whole bytes hold."""
    if kind.name not in CTYPES:
        raise LayoutError(f"expected an element type that C++ has ({', '.join(CTYPES)}), got {kind}")
    return CTYPES[kind.name]


def applied(function: str, kinds: Sequence[DType], out: DType, operands: Sequence[str]) -> str:
    """A function of elements as C++. Raises LayoutError for one that no row has for these types."""
    if function == "convert":
        row = _conversion(kinds[0].name, out.name)
    else:
        row = _row(function, out) if all(k == out for k in kinds) else None
    if row is None:
        raise LayoutError(f"expected a function that has code, got {function} of {', '.join(map(str, kinds))} to {out}")
    return row.format(*operands, T=ctype(out), U=f"uint{out.bits}_t", B=out.bits)


def _row(function: str, out: DType) -> str | None:
    """The text of a function of numbers of one type; T is the type, U that of as many bits without a sign, B these."""
    if function in FUNCTIONS and FUNCTIONS[function].bits:
        table = {**CHOICES, **BITWISE, "shr": SHIFTED_RIGHT.get(out.kind, "")}
        return table[function] if FUNCTIONS[function].has(out) else None
    tables = {"f32": SINGLE, "tf32": SINGLE, "f64": DOUBLE, "f16": HALF, "bf16": HALF}
    found = tables.get(out.name) or (INTEGER if out.kind in ("int", "uint") else {})
    return found.get(function) or APPROXIMATE_HALF.get((function, out.name))


def _conversion(kind: str, out: str) -> str | None:
    """A conversion in steps; all but the last are exact, and to small integers it saturates."""
    if kind == out or {kind, out} == {"f32", "tf32"}:
        return "{}"
    if kind[0] in "iu" and out[0] in "iu":
        return f"{CTYPES[out]}({{}})"
    if found := CONVERSIONS.get((kind, out)):
        return found
    if out in NARROW and kind[0] not in "iu":
        over, low, high = NARROW[out]
        wide = _conversion(kind, over)
        return wide and f"{CTYPES[out]}(min(max({wide}, {low}), {high}))"
    if kind in EXACT_IN:
        first, second = _conversion(kind, EXACT_IN[kind]), _conversion(EXACT_IN[kind], out)
        return second.format(first.format("{0}")) if first and second else None
    if out in ("e4m3", "e5m2") and kind in ("f16", "bf16"):
        return CONVERSIONS["f32", out].format(_conversion(kind, "f32"))
    return None


def number(x: float, kind: DType) -> str:
    """A number of a type as C++ writes it, with all its bits."""
    if kind.kind in ("int", "uint"):
        with np.errstate(invalid="ignore"):
            return str(np.full(1, x).astype(kind.numpy())[0])
    bits = kind.numpy().type(x)
    value = float(bits)
    if value != value or value in (float("inf"), float("-inf")):
        raw = bits.view({16: "uint16", 32: "uint32", 64: "uint64"}[kind.bits])
        name = {"f32": "__uint_as_float", "f64": "__longlong_as_double", "f16": "__ushort_as_half"}.get(
            kind.name, "__ushort_as_bfloat16"
        )
        return f"{name}({hex(int(raw))})"
    if kind.name in ("f32", "tf32"):
        return f"{value!r}f"
    if kind.name == "f64":
        return repr(value)
    return f"{CTYPES[kind.name]}({value!r}f)"
