"""A device function that is one instruction, or few: its definition in CUDA C++ and the section of PTX that it is."""

from __future__ import annotations

from dataclasses import dataclass

ADDRESS = "shared_address"
WIDTH = 118


@dataclass(frozen=True)
class Function:
    """A device function: its name, its definition, the section of PTX that it is, and the functions that it calls."""

    name: str
    body: str
    source: str = ""
    needs: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return (f"// {self.source}\n" if self.source else "") + self.body


def asm(name: str, parameters: str, instruction: str, operands: str, source: str, template: str = "") -> Function:
    """A function that is one instruction, which the compiler neither moves nor drops."""
    head = f"{template}__device__ inline void {name}({parameters})"
    one = f'{head} {{ asm volatile("{instruction};" ::{operands}: "memory"); }}'
    if len(one) > WIDTH:
        one = f'{head} {{\n    asm volatile("{instruction};" ::{operands}: "memory");\n}}'
    if max(map(len, one.splitlines())) > WIDTH:
        word, _, places = instruction.partition(" ")
        lines = (*_head(head), "    asm volatile(", f'        "{word} "', f'        "{places};"')
        given = operands.strip().replace(', "', ',\n          "', 2) if len(operands) > WIDTH - 24 else operands
        one = "\n".join((*lines, f'        ::{given}: "memory");', "}"))
    return Function(name, one, source, called(operands))


def called(operands: str) -> tuple[str, ...]:
    return (ADDRESS,) if ADDRESS in operands else ()


def _head(head: str) -> tuple[str, ...]:
    """The head of a definition, in two lines where it is long."""
    if len(head) + 2 <= WIDTH:
        return (f"{head} {{",)
    first, _, last = head.rpartition(", ")
    return f"{first},", f"{' ' * (head.index('(') + 1)}{last} {{"


def shared(p: str) -> str:
    return f'"r"({ADDRESS}({p}))'
