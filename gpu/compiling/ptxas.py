"""A compiler's log as data: errors with their lines, and remarks about code that would be slow.

>>> for finding in findings("ptxas info : Function properties for k\\n  8 bytes stack frame, 4 bytes spill stores, 4 "
...                         "bytes spill loads"):
...     print(finding)
spills: expected no spilled registers in k, got 4 bytes of spill stores and 4 of spill loads
stack: expected no local memory in k, got a stack frame of 8 bytes

The texts are ptxas's of CUDA 13.0; a test compiles sources that provoke them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that fast code must not have: the name by which it can be allowed, and a sentence."""

    name: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.name}: {self.sentence}"


# name: what a remark of ptxas says, and what was expected in its place
REMARKS: Mapping[str, tuple[str, str]] = {
    "wgmma-serialized": (r"wgmma\.mma_async instructions are serialized", "wgmma that runs asynchronously"),
    "wgmma-wait-injected": (r"warpgroup\.(wait|arrive|depbar) is injected", "no wait or fence of ptxas's own"),
    "setmaxnreg-ignored": (r"'setmaxnreg' ignored", "setmaxnreg in force"),
    "other-remark": (r"\(C7\d\d\d\)", "no remark of ptxas about performance"),
}
NAMES = ("spills", "stack", *REMARKS)

_FUNCTION = re.compile(r"Function properties for (\S+)")
_MEMORY = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")


def findings(log: str) -> tuple[Finding, ...]:
    """All that a log finds fault with, in its order."""
    return tuple(_findings(log))


def _findings(log: str) -> Iterator[Finding]:
    function = "a function"
    for line in log.splitlines():
        named = _FUNCTION.search(line)
        function = named[1] if named else function
        memory = _MEMORY.search(line)
        if memory:
            yield from _of_memory(function, *map(int, memory.groups()))
        for name, (pattern, wanted) in REMARKS.items():
            if re.search(pattern, line):
                yield Finding(name, f"expected {wanted}, got: {_without_prefix(line)}")
                break


def _of_memory(function: str, frame: int, stores: int, loads: int) -> Iterator[Finding]:
    if stores or loads:
        got = f"{stores} bytes of spill stores and {loads} of spill loads"
        yield Finding("spills", f"expected no spilled registers in {function}, got {got}")
    if frame:
        yield Finding("stack", f"expected no local memory in {function}, got a stack frame of {frame} bytes")


def _without_prefix(line: str) -> str:
    return line.partition(":")[2].strip() if line.startswith("ptxas") else line.strip()


# -- errors ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnostic:
    """An error of a compiler: its words, and the line of the source or of the PTX where it is."""

    message: str
    place: str = ""
    text: str = ""

    def __str__(self) -> str:
        head = f"{self.place}: {self.message}" if self.place else self.message
        return f"{head}\n    {self.text}" if self.text else head


_OF_CPP = re.compile(r"^(?P<file>[^\s(][^(]*)\((?P<line>\d+)\): (?:catastrophic )?error[^:]*: (?P<message>.*)$")
_OF_PTX = re.compile(r"^ptxas .*?, line (?P<line>\d+); error\s*: (?P<message>.*)$")


def diagnostics(log: str, sources: Mapping[str, str], ptx: str = "") -> tuple[Diagnostic, ...]:
    """The errors of a log, each with the line that it is about; *sources* are the texts by file name."""
    found = []
    for line in log.splitlines():
        if cpp := _OF_CPP.match(line):
            text = _line(sources.get(cpp["file"], ""), int(cpp["line"]))
            found.append(Diagnostic(cpp["message"], f"{cpp['file']}:{cpp['line']}", text))
        elif asm := _OF_PTX.match(line):
            text = _line(ptx, int(asm["line"]))
            found.append(Diagnostic(asm["message"], _place(text, int(asm["line"]), sources), text))
    return tuple(found)


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _place(instruction: str, line: int, sources: Mapping[str, str]) -> str:
    """The one source line with the opcode of an instruction of PTX, where there is one: inline assembly names it."""
    opcode = re.search(r"[a-z]\w*\.[\w.:]+", instruction)
    if opcode:
        found = [
            f"{file}:{number}"
            for file, text in sources.items()
            for number, each in enumerate(text.splitlines(), 1)
            if opcode[0] in each
        ]
        if len(found) == 1:
            return f"{found[0]} (line {line} of the PTX)"
    return f"line {line} of the PTX"
