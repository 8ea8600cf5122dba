"""Functions of registers that CUDA C++ has no name for: approximate ones, and those of two 16-bit floats at once.

    >>> print(scalar("ex2", "f32").text)
    // ex2
    __device__ inline float ex2_approx_f32(float x) {
        float y;
        asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
        return y;
    }
    >>> print(pair("fma", "bf16").text.splitlines()[3].strip())
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(y) : "r"(x0), "r"(x1), "r"(x2));

They touch no memory, so the compiler may move them.
"""

from __future__ import annotations

from symlayout.atoms.functions import APPROXIMATE, PAIRS

from .function import Function

NUMBERS = {"f32": ("float", "f"), "f16": ("uint16_t", "h"), "bf16": ("uint16_t", "h")}
# What an instruction of 16-bit floats has between its name and its type.
QUALIFIERS = {
    **dict.fromkeys(("add", "sub", "mul", "fma"), ".rn"),
    **dict.fromkeys(("min", "max", "neg"), ""),
    **dict.fromkeys(("ex2", "tanh"), ".approx"),
}


def scalar(word: str, kind: str) -> Function:
    """An approximate function of one number; those of 16 bits are taken by their bits."""
    ctype, letter = NUMBERS[kind]
    name, instruction = f"{word}_approx_{kind}", f"{word}.approx{_ftz(word, kind)}.{kind}"
    text = (
        f"__device__ inline {ctype} {name}({ctype} x) {{\n    {ctype} y;\n"
        f'    asm("{instruction} %0, %1;" : "={letter}"(y) : "{letter}"(x));\n    return y;\n}}'
    )
    return Function(name, text, word)


def pair(word: str, kind: str) -> Function:
    """A function of two 16-bit floats in one register."""
    count = {"fma": 3}.get(word, 1 if word in ("neg", "ex2", "tanh") else 2)
    given = [f"x{i}" for i in range(count)]
    places, operands = (", ".join(f(i, x) for i, x in enumerate(given)) for f in (_place, _operand))
    name = f"{word}_{kind}x2"
    text = (
        f"__device__ inline uint32_t {name}({', '.join(f'uint32_t {x}' for x in given)}) {{\n    uint32_t y;\n"
        f'    asm("{word}{QUALIFIERS[word]}{_ftz(word, kind)}.{kind}x2 %0, {places};" : "=r"(y) : {operands});\n'
        f"    return y;\n}}"
    )
    return Function(name, text, word)


def _place(i: int, _: str) -> str:
    return f"%{i + 1}"


def _operand(_: int, x: str) -> str:
    return f'"r"({x})'


def _ftz(word: str, kind: str) -> str:
    """ex2 of bf16 is there with ``.ftz`` alone (PTX ISA, ex2)."""
    return ".ftz" if (word, kind) == ("ex2", "bf16") else ""


def pair_name(function: str, kind: str) -> str:
    """The name of the device function of a packed function of ``Map``."""
    return f"{function.split('.')[0]}_{kind}x2"


SCALARS = tuple(scalar(row.word.partition(".")[0], kind) for row in APPROXIMATE for kind in row.errors)
PACKED = tuple(pair(row.word.split(".")[0], kind) for row in PAIRS for kind in (*row.types, *row.errors))
