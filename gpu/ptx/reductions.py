"""``red``: threads combine registers with elements of global memory, one function for each atom."""

from __future__ import annotations

from symlayout.atoms import ATOMS

from .accesses import HINT, HINTED
from .function import Function

SIGNED = {"i32": "s32", "i64": "s64"}
FLOATS = {"f16": "noftz.f16", "bf16": "noftz.bf16", "f16x2": "noftz.f16x2", "bf16x2": "noftz.bf16x2"}
# The C++ type of a register of so many bytes, and the letter by which inline assembly takes it.
WORDS = {2: ("uint16_t", "h"), 4: ("uint32_t", "r"), 8: ("uint64_t", "l")}
NUMBERS = {"f32": ("float", "f"), "f64": ("double", "d")}


def reduction(word: str, hint: bool = False) -> Function:
    """The function of an atom such as ``red.global.add.f32``; with *hint* it takes a policy for L2.

    >>> print(reduction("red.global.add.v2.f32").text.splitlines()[3].strip())
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};"
    """
    _, _, function, *vector, kind = word.split(".")  # red.global.add.v2.f32
    row, count = ATOMS[word], int(vector[0][1:]) if vector else 1
    shape = f".{vector[0]}" if vector else ""
    spelled = SIGNED.get(kind) or FLOATS.get(kind) or kind
    ctype, letter = NUMBERS.get(kind) or WORDS[row.bytes // count]
    places = ", ".join(f"%{i + 1}" for i in range(count))
    value = f"{{{places}}}" if count > 1 else places
    given = ", ".join(f'"{letter}"(x[{i}])' for i in range(count))
    last = f", %{count + 1}" * hint
    end, more, operand = (HINTED, ", uint64_t policy", ', "l"(policy)') if hint else ("", "", "")
    name = word.replace(".", "_") + (f"_{HINT}" if hint else "")
    body = (
        f"__device__ inline void {name}(void* to, const void* from{more}) {{\n"
        f"    const {ctype}* x = static_cast<const {ctype}*>(from);\n"
        f'    asm volatile("red.global.{function}{end}{shape}.{spelled} [%0], {value}{last};"\n'
        f'                 ::"l"(__cvta_generic_to_global(to)), {given}{operand} : "memory");\n}}'
    )
    return Function(name, body, "red")
