"""Matrix instructions, one function for each atom: ldmatrix and stmatrix, mma.sync, wgmma."""

from __future__ import annotations

import re

from symlayout.atoms import ATOMS, Combines, MemorySpace, MmaAtom
from symlayout.atoms.atom import values_of
from symlayout.dtype import DType

from .function import ADDRESS, Function

OPERANDS_A_LINE = 8  # of inline assembly


def matrices(word: str) -> Function:
    """ldmatrix or stmatrix of 1, 2 or 4 matrices."""
    name, count, *trans = word.split(".")
    n, end = int(count[1:]), ".trans" if trans else ""
    head = f"{name}.sync.aligned.m8n8.{count}{end}.shared.b16"
    called = word.replace(".", "_")
    if name == "stmatrix":
        registers = ", ".join(f"%{i + 1}" for i in range(n))
        values = ", ".join(f'"r"(r[{i}])' for i in range(n))
        text = (
            f"__device__ inline void {called}(const void* from, void* row) {{\n"
            f"    const uint32_t* r = static_cast<const uint32_t*>(from);\n"
            f'    asm volatile("{head} [%0], {{{registers}}};"\n'
            f'                 ::"r"(shared_address(row)), {values} : "memory");\n}}'
        )
    else:
        registers = ", ".join(f"%{i}" for i in range(n))
        values = ", ".join(f'"=r"(r[{i}])' for i in range(n))
        text = (
            f"__device__ inline void {called}(const void* row, void* to) {{\n"
            f"    uint32_t* r = static_cast<uint32_t*>(to);\n"
            f'    asm volatile("{head} {{{registers}}}, [%{n}];"\n'
            f'                 : {values} : "r"(shared_address(row)) : "memory");\n}}'
        )
    return Function(called, text, name, (ADDRESS,))


def product(word: str) -> Function:
    """mma.sync or wgmma.mma_async of an atom."""
    atom = ATOMS[word]
    assert isinstance(atom, MmaAtom)
    return _wgmma(atom) if atom.completion else _mma(atom)


def _register(dtype: DType) -> tuple[str, str, int]:
    """(C type, constraint, elements) of one register of sums: 32 bits, or 64 of f64."""
    if dtype.bits < 32:
        return "int32_t", "r", 32 // dtype.bits
    if dtype.bits == 64:
        return "double", "d", 1
    return ("float", "f", 1) if dtype.kind == "float" else ("int32_t", "r", 1)


def _operand(dtype: DType) -> tuple[str, str, int]:
    """The same of A and B: words of 32 bits, whatever they hold, or f64."""
    return ("double", "d", 1) if dtype.bits == 64 else ("uint32_t", "r", 32 // dtype.bits)


def _wgmma(atom: MmaAtom) -> Function:
    m, n, k = atom.mnk
    ctype, letter, held = _register(atom.acc_dtype)
    count = m * n // atom.threads // held
    from_registers = atom.src is MemorySpace.REGISTER
    if from_registers:
        a, a_type, given = _places(count, 4), "const uint32_t* a", [f'"r"(a[{i}])' for i in range(4)]
    else:
        a, a_type, given = f"%{count}", "uint64_t a", ['"l"(a)']
    after = count + len(given)  # b, then whether sums are kept, then what is transposed
    given += ['"l"(b)', '"r"(accumulate)']
    flags: tuple[str, ...] = ()
    if atom.dtype.bits == 16:  # only these may be MN-major (PTX ISA, wgmma.mma_async: imm-trans-a, imm-trans-b)
        flags = ("TRANSPOSE_B",) if from_registers else ("TRANSPOSE_A", "TRANSPOSE_B")
    template = f"template <{', '.join(f'int {flag} = 0' for flag in flags)}>\n" if flags else ""
    scales = "" if atom.acc_dtype.kind == "int" else ", 1, 1"
    transposed = "".join(f", %{after + 2 + i}" for i in range(len(flags)))
    operands = [f'"+{letter}"(d[{i}])' for i in range(count)]
    given += [f'"n"({flag})' for flag in flags]
    kinds = f"{_kind(atom.acc_dtype)}.{_kind(atom.dtype)}.{_kind(atom.dtype_b)}"
    head = f"void {c_name(atom.word)}({ctype} (&d)[{count}], {a_type}, uint64_t b, int accumulate)"
    text = (
        f"{template}__device__ inline {head} {{\n"
        f"    asm volatile(\n"
        f'        "{{\\n"\n'
        f'        ".reg .pred p;\\n"\n'
        f'        "setp.ne.b32 p, %{after + 1}, 0;\\n"\n'
        f'        "wgmma.mma_async.sync.aligned.m{m}n{n}k{k}.{kinds} "\n'
        f"{_wrapped(_places(0, count) + ',')}\n"
        f'        " {a}, %{after}, p{scales}{transposed};\\n"\n'
        f'        "}}\\n"\n'
        f"        : {_lines(operands)}\n"
        f"        : {', '.join(given)});\n}}"
    )
    return Function(c_name(atom.word), text, "wgmma.mma_async: d = a b^T + (accumulate ? d : 0)")


def _mma(atom: MmaAtom) -> Function:
    (m, n, k), name = atom.mnk, c_name(atom.word)
    ctype, letter, held = _register(atom.acc_dtype)
    of, given, each = _operand(atom.held[0])
    of_a, of_b, sums = (values_of(tv) // n for tv, n in zip(atom.words, (each, each, held), strict=True))
    d, a, b = _places(0, sums), _places(sums, of_a), _places(sums + of_a, of_b)
    kinds = ".".join(map(_kind, (atom.acc_dtype, atom.dtype, atom.dtype_b, atom.acc_dtype)))
    kinds += "" if atom.combines is Combines.PRODUCT else f".{atom.combines}.popc"
    outs = [f'"+{letter}"(d[{i}])' for i in range(sums)]
    operands = [f'"{given}"({x}[{i}])' for x, count in (("a", of_a), ("b", of_b)) for i in range(count)]
    text = (
        f"__device__ inline void {name}({ctype}* d, const {of}* a, const {of}* b) {{\n"
        f'    asm volatile("mma.sync.aligned.m{m}n{n}k{k}.row.col.{kinds} "\n'
        f'                 "{d}, {a}, {b}, {d};"\n'
        f"                 : {', '.join(outs)}\n"
        f"                 : {', '.join(operands[:OPERANDS_A_LINE])}"
    )
    rest = operands[OPERANDS_A_LINE:]
    text += f",\n                   {', '.join(rest)});\n}}" if rest else ");\n}"
    return Function(name, text, "mma")


def _places(first: int, count: int) -> str:
    """``{%4, %5}``: so many operands of inline assembly from one on."""
    return "{" + ", ".join(f"%{i}" for i in range(first, first + count)) + "}"


def _kind(dtype: DType) -> str:
    """A type as PTX spells it."""
    return {"i4": "s4", "i8": "s8", "i32": "s32"}.get(dtype.name, dtype.name)


def _wrapped(text: str, width: int = 96) -> str:
    """A long operand list as string literals, one below the other."""
    out, line = [], ""
    for part in re.findall(r"[^ ]+ ?", text):
        if len(line) + len(part) > width:
            out.append(line)
            line = ""
        line += part
    return "\n".join(f'        "{x}"' for x in [*out, line])


def _lines(parts: list[str], each: int = 7) -> str:
    rows = [", ".join(parts[i : i + each]) for i in range(0, len(parts), each)]
    return ",\n          ".join(rows)


def c_name(word: str) -> str:
    return word.replace(".", "_")
