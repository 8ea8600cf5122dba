"""What the agents of the abstract machine do: steps, the programs that these make, and the story of a fault.

>>> place(("ring", 1, 0)), place(("ring", 1, 64))
('ring slot 1', 'ring slot 1 from element 64')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from symlayout.errors import ExpressionError
from symlayout.ops import Op, rewritten

Memory: TypeAlias = "tuple[str, int, int]"  # tensor, slot, and the place in the slot at which a fill starts
Landing: TypeAlias = "tuple[int, tuple[str, int], tuple[Memory, ...]]"  # CTA, barrier, memory of a copy


@dataclass(frozen=True)
class Step:
    """One instruction of an agent: wait, arrive, copy, read, write, sync or done.

    *memory* is what it touches, of an arrival what it gives back; a copy touches what it *lands* in, CTA by CTA.
    """

    kind: str
    op: Op = field(compare=False)
    env: Mapping[str, int] = field(compare=False)
    barrier: tuple[str, int] = ("", 0)
    parity: int = 0
    arrivals: int = 0
    nbytes: int = 0
    memory: tuple[Memory, ...] = ()
    until: int = -1  # the place in the program where an asynchronous read is over
    lands: tuple[Landing, ...] = ()
    cta: int = 0  # whose barrier it is
    extents: tuple[int, ...] = field(default=(), compare=False)  # elements read from each place in *memory* on

    def __str__(self) -> str:
        try:
            return str(rewritten(self.op, lambda x: x.subs(self.env)))
        except ExpressionError:  # a coordinate that means nothing there
            return str(self.op)


@dataclass(frozen=True)
class Agent:
    """A warp of a CTA and what it does; *whole* unless its program was cut off."""

    name: str
    program: tuple[Step, ...]
    whole: bool = True
    cta: int = 0

    @cached_property
    def reads(self) -> frozenset[Memory]:
        return frozenset(m for s in self.program if s.kind == "read" for m in s.memory)

    @cached_property
    def open(self) -> tuple[frozenset[Memory], ...]:
        """For each place in the program the memory whose reading has begun and need not be over."""
        begun = [(i, s) for i, s in enumerate(self.program) if s.kind == "read" and s.until != i]
        places = range(len(self.program) + 1)
        return tuple(frozenset(m for i, s in begun if i < at <= s.until for m in s.memory) for at in places)


@dataclass(frozen=True)
class Fault:
    """A failure and its history: (agent, what it did), step by step."""

    what: str
    steps: tuple[tuple[str, str], ...]
    about: frozenset[str] = frozenset()  # barriers and tensors

    def __str__(self) -> str:
        return f"{self.what}, after {len(self.steps)} steps: {'; '.join(f'{who}: {did}' for who, did in self.steps)}"


def place(m: Memory) -> str:
    """A part of a slot in words."""
    return f"{m[0]} slot {m[1]}" + (f" from element {m[2]}" if m[2] else "")
