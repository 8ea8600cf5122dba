"""A generated kernel: its text, and what a launch needs to know of it."""

from __future__ import annotations

from dataclasses import dataclass

from .stamps import StampPlan


@dataclass(frozen=True)
class Argument:
    """A parameter of the kernel, in the order of its declaration. *kind* is map, tensor, scalar, size or stamps."""

    kind: str
    name: str
    ctype: str

    def __str__(self) -> str:
        return f"{self.ctype} {self.name}"


@dataclass(frozen=True)
class Source:
    """CUDA C++ of a kernel; *digest* is the kernel's, *name* that of the function."""

    text: str
    name: str
    digest: str
    arguments: tuple[Argument, ...]
    threads: int
    cluster: tuple[int, ...]
    shared_bytes: int
    stamps: StampPlan | None = None  # where it takes times of itself

    def __str__(self) -> str:
        return self.text
