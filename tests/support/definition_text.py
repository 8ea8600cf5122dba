"""The printed definition of a kernel run on NumPy arrays, all its threads at once: what the text says, with no device.

It reads the few forms of statements that definitions have, and has Python's meaning of each function that they call.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from gpu.definition import Definition, Function
from gpu.definition.comparison import RANK
from gpu.definition.threads import THREADS

Array = np.ndarray[Any, Any]


def run(definition: Definition, function: Function, given: dict[str, Any], wanted: Array) -> None:
    """Run one function: *given* has flat arrays, scalars and sizes by name; *wanted* is what it writes, flat."""
    (name,) = (a.name for a in function.arguments if a.kind == "wanted")
    env: dict[str, Any] = {**FUNCTIONS, **_tables(definition.text)}
    env |= {a.name: given.get(a.name) for a in function.arguments} | {name: wanted}
    sizes = {a.name: given[a.name] for a in function.arguments if a.kind == "size"}
    blocks = function.blocks
    count = blocks if isinstance(blocks, int) else int(blocks.subs({s: sizes[s.name] for s in blocks.symbols}))
    at = np.arange(count * THREADS)
    threads: dict[str, Any] = {"blockIdx_x": at // THREADS, "threadIdx_x": at % THREADS}
    with np.errstate(all="ignore"):
        for statement in statements(definition.text, function.name):
            _execute(statement, env, threads, name)


def _tables(text: str) -> dict[str, Array]:
    """The arrays of constants."""
    found = re.findall(r"__device__ const uint(\d+)_t (\w+)\[\d+\] = \{([^}]*)\}", text)
    return {
        name: np.array([int(x, 16) for x in values.split(",")], f"u{int(bits) // 8}") for bits, name, values in found
    }


def statements(text: str, function: str) -> list[str]:
    """The statements of a function, each in one line; a loop with its body."""
    body = text[text.index(f"{function}(") :]
    body = body[body.index("{\n") + 2 : body.index("\n}")]
    joined = re.sub(r"\s*\n\s+", " ", body.strip())
    return [s.strip() for s in re.findall(r"for \([^)]*\)[^;]*;|[^;]+;", _with_bars(joined))]


def _with_bars(text: str) -> str:
    """The semicolons of a loop's head as bars, so that each statement has one."""
    return re.sub(r"for \(([^;()]*);([^;]*);([^;()]*)\)", r"for (\1|\2|\3)", text)


def _execute(statement: str, env: dict[str, Any], threads: dict[str, Any], wanted: str) -> None:
    if found := re.fullmatch(r"const int64_t (\w+) = (.*);", statement):
        threads[found[1]] = _value(found[2], env, threads, whole=True)
    elif found := re.fullmatch(r"if \((.*)\) return;", statement):
        tests = [_value(test, env, threads, whole=True) for test in found[1].split(" || ")]
        alive = ~np.logical_or.reduce(tests)
        for k, x in threads.items():
            threads[k] = x[alive] if np.ndim(x) else x
    elif found := re.fullmatch(r"double (\w+) = (.*);", statement):
        threads[found[1]] = _value(found[2], env, threads)
    elif found := re.fullmatch(r"for \(int64_t (\w+) = (\d+)\| \w+ < (.*)\| \+\+\w+\) (\w+) = (.*);", statement):
        index, first, extent, name, step = found.groups()
        for i in range(int(first), int(_value(extent, env, threads, whole=True))):
            threads[name] = _value(step, env, {**threads, index: i})
    elif found := re.fullmatch(rf"{wanted}\[(.*?)\] = (.*);", statement):
        env[wanted][_value(found[1], env, threads, whole=True)] = _value(found[2], env, threads)
    else:
        raise AssertionError(f"no form of a statement: {statement}")


def _value(text: str, env: dict[str, Any], threads: dict[str, Any], whole: bool = False) -> Any:
    if found := re.fullmatch(r"(.*) \? (.*) : (.*)", text):
        test, yes, no = (_value(x, env, threads, whole or i != 1) for i, x in enumerate(found.groups()))
        return np.where(test, yes, no)
    text = re.sub(r"(blockIdx|threadIdx)\.x", r"\1_x", text)
    text = (
        re.sub(r"\b(\d+)U?LL\b", r"\1", text).replace("<int", "_int").replace("<uint", "_uint").replace("_t>(", "_t(")
    )
    text = text.replace("float(", "float_(")
    text = re.sub(r"\[[^\]]*\]", lambda m: m[0].replace(" / ", " // "), text)
    return eval(text.replace(" / ", " // ") if whole else text, {}, {**env, **threads})


# -- functions -------------------------------------------------------------------------------------------------


def _between(x: Array) -> tuple[Array, Array]:
    """The floats just below and above doubles."""
    near = np.asarray(x, np.float64).astype(np.float32)
    back = near.astype(np.float64)
    down, up = (np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf))
    return np.where(back > x, down, near), np.where(back < x, up, near)


def odd_float(x: Any) -> Array:
    below, above = _between(np.asarray(x))
    return np.where((below == above) | (below.view(np.uint32) & 1 == 1), below, above)


def fma_odd(a: Any, b: Any, c: Any) -> Array:
    return np.vectorize(_fma_odd, otypes=[np.float64])(a, b, c)


def _fma_odd(a: float, b: float, c: float) -> float:
    exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
    near = float(exact)
    if Fraction(near) == exact or np.float64(near).view(np.uint64) & 1:
        return near
    return float(np.nextafter(near, np.inf if exact > Fraction(near) else -np.inf))


def _sixteen(kind: Any) -> Any:
    def rounded(x: Any) -> Array:
        found = np.asarray(x).astype(kind)
        found.view(np.uint16)[np.isnan(x)] = 0x7FFF
        return found

    return rounded


def _whole(kind: type) -> Any:
    def rounded(x: Any, least: float, most: int) -> Array:
        inside = np.where((np.asarray(x) < most) & (x > least), x, 0)
        found = np.where(x >= float(most), kind(most), np.trunc(inside).astype(kind))
        return np.where(x <= least, kind(int(least)), found)

    return rounded


def _cast(kind: type) -> Any:
    return lambda x: np.asarray(x).astype(kind)


def hashed(place: Array) -> Array:
    """As C++ has it: modulo 2^64."""
    found = np.asarray(place).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(29))


def few(bits: Array) -> Array:
    i = (bits >> 13 & 3).astype(np.int64)
    return np.where(i < 2, i - 2, i - 1).astype(np.float64)


def _number_of(kind: type) -> Any:
    def number(bits: Array, most: int, cleared: int) -> Array:
        cut = bits.astype(kind)
        return np.where(cut & kind(2 * cleared - 1) > most, cut & ~kind(cleared), cut)

    return number


def _shifted(left: bool) -> Any:
    def shifted(a: Array, by: Array) -> Array:
        a, by = np.asarray(a), np.asarray(by).astype(object)
        bits, found = 8 * a.dtype.itemsize, []
        for x, n in zip(a.tolist(), np.broadcast_to(by, a.shape).tolist(), strict=True):  # Python's shifts are exact
            found.append((x << n) % (1 << bits) if left and n < bits else 0 if left else x >> n)
        return np.array([np.array(x % (1 << bits), f"u{bits // 8}").view(a.dtype)[()] for x in found], a.dtype)

    return shifted


INTEGERS = {f"{u}int{n}_t": getattr(np, f"{u}int{n}") for n in (8, 16, 32, 64) for u in ("", "u")}
FUNCTIONS: dict[str, Any] = {
    "double": _cast(np.float64),
    "float_": _cast(np.float32),
    "__half2float_": _cast(np.float32),
    "__bfloat162float_": _cast(np.float32),
    "__float2half_rn": _sixteen(np.float16),
    "__float2bfloat16_rn": _sixteen(ml_dtypes.bfloat16),
    "odd_float_": odd_float,
    "fma_odd": fma_odd,
    "hashed": hashed,
    "few": few,
    "fabs": np.abs,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "sqrt": np.sqrt,
    "picked": lambda first, a, b: np.where(first, a, b),
    "shifted_left": _shifted(left=True),
    "shifted_right": _shifted(left=False),
    "min": np.minimum,
    "max": np.maximum,
    **{name: _cast(kind) for name, kind in INTEGERS.items()},
    **{f"number_of_{name}": _number_of(kind) for name, kind in INTEGERS.items()},
    **{f"whole_{name}": _whole(kind) for name, kind in INTEGERS.items()},
}


# -- on the stand-in -------------------------------------------------------------------------------------------


def install(machine: Any, definition: Definition, kinds: dict[str, Any]) -> None:
    """The functions of a definition as kernels of a stand-in: its text on the stand-in's memory, sizes as in the launch.

    *kinds* are NumPy types of the tensors and scalars by name.
    """
    for function in (*definition.outputs, *definition.inputs):
        machine.kernels[function.name] = _on_memory(definition, function, kinds)
    for size in (1, 2, 4, 8):
        machine.kernels[f"compare_{size}"] = _compare(size)


def _on_memory(definition: Definition, function: Function, kinds: dict[str, Any]) -> Any:
    def kernel(machine: Any, pieces: list[bytes]) -> None:
        given: dict[str, Any] = {}
        for argument, piece in zip(function.arguments, pieces, strict=True):
            if argument.kind == "size":
                given[argument.name] = int.from_bytes(piece, "little")
            elif argument.kind == "scalar":
                given[argument.name] = np.frombuffer(piece, kinds[argument.name])[0]
            else:
                found = re.match(r"(u?int\d+)_t", argument.ctype)  # bits, or the number that the tensor has
                name = function.tensor if argument.kind == "wanted" else argument.name
                kind = np.dtype(found[1] if found else kinds[name])
                given[argument.name] = _to_the_end(machine, int.from_bytes(piece, "little"), kind)
        (wanted,) = (given[a.name] for a in function.arguments if a.kind == "wanted")
        run(definition, function, given, wanted)

    return kernel


def _to_the_end(machine: Any, address: int, kind: np.dtype[Any]) -> Array:
    """The memory from an address to the end of its allocation."""
    for base, held in machine.memory.items():
        if base <= address < base + len(held):
            count = (base + len(held) - address) // kind.itemsize
            return np.frombuffer(memoryview(held)[address - base :][: count * kind.itemsize], kind)
    raise AssertionError(f"nothing at {address:#x}")


def _compare(size: int) -> Any:
    def kernel(machine: Any, pieces: list[bytes]) -> None:
        a, b, found = (int.from_bytes(pieces[i], "little") for i in (0, 1, 3))
        count, rank, *modes = (int(x) for x in np.frombuffer(pieces[2], np.int64))
        extents, strides = modes[:rank], modes[RANK : RANK + rank]
        at = np.indices(extents).reshape(rank, -1)
        places = (at * np.array(strides)[:, None]).sum(axis=0)
        mine, theirs = (_to_the_end(machine, address, np.dtype(f"u{size}"))[places] for address in (a, b))
        wrong = np.flatnonzero(mine != theirs)
        assert len(places) == count
        result = machine.array_at(found, 24, np.uint64)
        if len(wrong):
            result[:] = len(wrong), wrong[0], wrong[-1]

    return kernel
