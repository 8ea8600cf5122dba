"""The functions of ``Map`` in CUDA C++: a row for each, by the type of the registers.

Each is rounded once, to nearest even, and is not contracted: ``__fadd_rn`` and its like are never part of an fma.
"""

from __future__ import annotations

from collections.abc import Sequence

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
INTEGER = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "scale": "{} * {}",
    "fma": "{} * {} + {}",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "neg": "-{}",
    "relu": "max({}, 0)",
}
CONVERSIONS = {
    ("f32", "bf16"): "__float2bfloat16_rn({})",
    ("f32", "f16"): "__float2half_rn({})",
    ("bf16", "f32"): "__bfloat162float({})",
    ("f16", "f32"): "__half2float({})",
    ("f32", "f64"): "double({})",
    ("f64", "f32"): "__double2float_rn({})",
    ("i32", "f32"): "__int2float_rn({})",
    ("u32", "f32"): "__uint2float_rn({})",
    ("f32", "i32"): "__float2int_rz({})",
    ("f32", "u32"): "__float2uint_rz({})",
    ("f32", "e4m3"): "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E4M3)",
    ("f32", "e5m2"): "__nv_cvt_float_to_fp8({}, __NV_SATFINITE, __NV_E5M2)",
}


def ctype(kind: DType) -> str:
    """The C++ type of an element. Raises LayoutError for one that no whole bytes hold."""
    if kind.name not in CTYPES:
        raise LayoutError(f"expected an element type that C++ has ({', '.join(CTYPES)}), got {kind}")
    return CTYPES[kind.name]


def applied(function: str, kinds: Sequence[DType], out: DType, operands: Sequence[str]) -> str:
    """A function of elements as C++. Raises LayoutError for one that no row has for these types."""
    if function == "convert":
        (kind,) = kinds
        if kind == out:
            return operands[0]
        row = CONVERSIONS.get((kind.name, out.name))
    else:
        same = all(k == out for k in kinds)
        tables = {"f32": SINGLE, "tf32": SINGLE, "f64": DOUBLE, "f16": HALF, "bf16": HALF}
        table = tables.get(out.name) or (INTEGER if out.kind in ("int", "uint") else {})
        row = table.get(function) if same else None
    if row is None:
        raise LayoutError(f"expected a function that has code, got {function} of {', '.join(map(str, kinds))} to {out}")
    return row.format(*operands)


def number(x: float, kind: DType) -> str:
    """A number of a type as C++ writes it, with all its bits."""
    if kind.kind in ("int", "uint"):
        return str(int(x))
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
