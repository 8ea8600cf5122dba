"""Matrix instructions, one function for each atom: ldmatrix and stmatrix, mma.sync, wgmma."""

from __future__ import annotations

import re

from symlayout.atoms import ATOMS, MmaAtom

from .function import ADDRESS, Function


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


def _register(kind: str, bits: int) -> tuple[str, str, int]:
    """(C type, constraint, elements) of one 32-bit register of sums."""
    if kind == "float" and bits == 32:
        return "float", "f", 1
    return ("int32_t", "r", 1) if bits == 32 else ("uint32_t", "r", 32 // bits)


def _wgmma(atom: MmaAtom) -> Function:
    m, n, _ = atom.mnk
    ctype, letter, held = _register(atom.acc_dtype.kind, atom.acc_dtype.bits)
    count = m * n // 128 // held
    from_registers = "register" in atom.src
    name = c_name(atom.word)
    ins = {"tf32": "tf32", "i8": "s8", "u8": "u8"}.get(str(atom.dtype), str(atom.dtype))
    outs = {"i32": "s32"}.get(str(atom.acc_dtype), str(atom.acc_dtype))
    shape = f"m{m}n{n}k{atom.mnk[2]}"
    sums = ", ".join(f"%{i}" for i in range(count))
    a = f"{{{', '.join(f'%{count + i}' for i in range(4))}}}" if from_registers else f"%{count}"
    after = count + (4 if from_registers else 1)
    majors = atom.dtype.bits == 16
    numbers = "" if atom.acc_dtype.kind == "int" else ", 1, 1"
    major_operands = (", TRANSPOSE_B" if from_registers else ", TRANSPOSE_A, TRANSPOSE_B") if majors else ""
    operands = [f'"+{letter}"(d[{i}])' for i in range(count)]
    given = [f'"r"(a[{i}])' for i in range(4)] if from_registers else ['"l"(a)']
    given += ['"l"(b)', '"r"(accumulate)']
    extra = ""
    if majors:
        flags = ("TRANSPOSE_B",) if from_registers else ("TRANSPOSE_A", "TRANSPOSE_B")
        extra = "".join(f", %{after + 2 + i}" for i in range(len(flags)))
        given += [f'"n"({flag})' for flag in flags]
    del major_operands
    a_type = "const uint32_t* a" if from_registers else "uint64_t a"
    template = (
        "template <int TRANSPOSE_A = 0, int TRANSPOSE_B = 0>\n"
        if majors and not from_registers
        else ("template <int TRANSPOSE_B = 0>\n" if majors else "")
    )
    text = (
        f"{template}__device__ inline void {name}({ctype} (&d)[{count}], {a_type}, uint64_t b, int accumulate) {{\n"
        f"    asm volatile(\n"
        f'        "{{\\n"\n'
        f'        ".reg .pred p;\\n"\n'
        f'        "setp.ne.b32 p, %{after + 1}, 0;\\n"\n'
        f'        "wgmma.mma_async.sync.aligned.{shape}.{outs}.{ins}.{ins} "\n'
        f"{_wrapped('{' + sums + '},')}\n"
        f'        " {a}, %{after}, p{numbers}{extra};\\n"\n'
        f'        "}}\\n"\n'
        f"        : {_lines(operands)}\n"
        f"        : {', '.join(given)});\n}}"
    )
    return Function(name, text, "wgmma.mma_async: d = a b^T + (accumulate ? d : 0)")


def _mma(atom: MmaAtom) -> Function:
    m, n, k = atom.mnk
    bits = atom.dtype.bits
    ctype, letter, held = _register(atom.acc_dtype.kind, atom.acc_dtype.bits)
    counts = (m * n // 32 // held, m * k * bits // 32 // 32, n * k * bits // 32 // 32)
    names = {"tf32": "tf32", "i8": "s8", "u8": "u8"}
    ins = names.get(str(atom.dtype), str(atom.dtype))
    outs = {"i32": "s32"}.get(str(atom.acc_dtype), str(atom.acc_dtype))
    at, groups = 0, []
    for count in counts:
        groups.append("{" + ", ".join(f"%{i}" for i in range(at, at + count)) + "}")
        at += count
    d, a, b = groups
    sums = ", ".join(f'"+{letter}"(d[{i}])' for i in range(counts[0]))
    given = ", ".join([*(f'"r"(a[{i}])' for i in range(counts[1])), *(f'"r"(b[{i}])' for i in range(counts[2]))])
    name = c_name(atom.word)
    text = (
        f"__device__ inline void {name}({ctype}* d, const uint32_t* a, const uint32_t* b) {{\n"
        f'    asm volatile("mma.sync.aligned.m{m}n{n}k{k}.row.col.{outs}.{ins}.{ins}.{outs} {d}, {a}, {b}, {d};"\n'
        f"                 : {sums} : {given});\n}}"
    )
    return Function(name, text, "mma")


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
