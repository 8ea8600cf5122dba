"""Reductions of elements into global memory: red.global of each atom.

>>> print(reduction("red.global.add.f16").body.splitlines()[2].strip())
asm volatile("red.global.add.noftz.f16 [%0], %1;"
>>> print(reduction("red.global.add.v2.f32").body.splitlines()[2].strip())
asm volatile("red.global.add.v2.f32 [%0], {%1, %2};"
"""

from __future__ import annotations

from symlayout.atoms import ATOMS

from .function import Function
from .matrices import c_name

LETTERS = {2: ("h", "uint16_t"), 4: ("r", "uint32_t"), 8: ("l", "uint64_t")}  # of registers without a type
NO_FLUSH = ("f16", "f16x2", "bf16", "bf16x2")  # PTX asks for .noftz there
SIGNED = {"i32": "s32", "i64": "s64"}


def reduction(word: str) -> Function:
    """red of an atom; the value comes as bits, whatever its type."""
    function, *vector, kind = word.split(".")[2:]
    count = int(vector[0][1:]) if vector else 1
    letter, ctype = LETTERS[ATOMS[word].bytes // count]
    named = ".".join([function, *(["noftz"] if kind in NO_FLUSH else []), *vector, SIGNED.get(kind, kind)])
    places = ", ".join(f"%{i + 1}" for i in range(count))
    values = ", ".join(f'"{letter}"(value[{i}])' for i in range(count))
    text = (
        f"__device__ inline void {c_name(word)}(void* to, const void* from) {{\n"
        f"    const {ctype}* value = static_cast<const {ctype}*>(from);\n"
        f'    asm volatile("red.global.{named} [%0], {f"{{{places}}}" if vector else places};"\n'
        f'                 ::"l"(__cvta_generic_to_global(to)), {values} : "memory");\n}}'
    )
    return Function(c_name(word), text, "red")
