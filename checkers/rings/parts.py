"""The parts of a ring's slots that one fill each covers: which of them a step touches, and which it gives back."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from symlayout.atoms import MatrixDescriptor, MmaAtom
from symlayout.dtype import DType
from symlayout.kernel import Kernel
from symlayout.ops import Matrix, Mma, Op, Ref

from .recognised import RingParts
from .steps import Agent, Memory, Step


def fillers_of(agents: list[Agent]) -> dict[str, dict[int, set[int]]]:
    """For each tensor the places in its slots at which fills start, and the CTAs that issue them."""
    out: dict[str, dict[int, set[int]]] = {}
    for a in agents:
        for step in a.program:
            for tensor, _, start in step.memory if step.kind in ("copy", "write") else ():
                out.setdefault(tensor, {}).setdefault(start, set()).add(a.cta)
    return out


def in_parts(agent: Agent, rings: tuple[RingParts, ...], fillers: Mapping[str, dict[int, set[int]]]) -> Agent:
    """The agent with what it touches in parts of slots that one fill each covers, and with what its arrivals give back.

    An arrival at a CTA gives back the parts of the own slot which that CTA fills.
    """

    def parts(m: Memory, extent: int) -> Iterator[Memory]:
        tensor, slot, at = m
        starts = sorted(fillers.get(tensor, {0: set()}))
        first = max((p for p in starts if p <= at), default=starts[0])
        yield from ((tensor, slot, p) for p in starts if p == first or at < p < at + extent)

    def moved(s: Step) -> Step:
        if s.kind == "arrive":
            return replace(s, memory=tuple(_given(agent, s, rings, fillers)))
        extents = s.extents or (0,) * len(s.memory)
        every = (p for m, n in zip(s.memory, extents, strict=True) for p in parts(m, n))
        lands = tuple((cta, b, tuple(p for m in to for p in parts(m, extents[0]))) for cta, b, to in s.lands)
        return replace(s, memory=tuple(dict.fromkeys(every)), lands=lands) if s.memory else s

    return replace(agent, program=tuple(_once(map(moved, agent.program))))


def _once(program: Iterable[Step]) -> Iterator[Step]:
    """The steps, where of arrivals at several CTAs behind one read the first gives back what all of these fill.

    They take turns: one of them may have filled it again before the last arrival.
    """
    given: dict[Memory, int] = {}  # to which CTA, since the last wait or read
    for s in program:
        if s.kind == "arrive":
            s = replace(s, memory=tuple(m for m in s.memory if given.get(m, s.cta) == s.cta))
            given |= dict.fromkeys(s.memory, s.cta)
        elif s.kind in ("wait", "read"):
            given.clear()
        yield s


def _given(
    agent: Agent, s: Step, rings: tuple[RingParts, ...], fillers: Mapping[str, dict[int, set[int]]]
) -> Iterator[Memory]:
    """The parts of an agent's slots that an arrival gives back."""
    name, slot = s.barrier
    for r in rings:
        if r.empty and name in (r.empty, f"CTA {s.cta}'s {r.empty}"):
            for t in r.tensors:
                mine = t if name == r.empty else f"CTA {agent.cta}'s {t}"
                for start, by in fillers.get(mine, {0: {agent.cta}}).items():
                    if s.cta in by:
                        yield mine, slot, start


def extent_of(kernel: Kernel, op: Op, ref: Ref) -> int:
    """Elements that an operation reads from a place in shared memory on; 0 where it does not say."""
    from ..orders.footprints import widest  # which asks this module what an operation touches

    if isinstance(op, Mma) and isinstance(row := op.row, MmaAtom):
        for x, rows in ((op.a, row.mnk[0]), (op.b, row.mnk[1])):
            if isinstance(x, Matrix) and x.start is ref:
                return _spanned(x.descriptor, rows, row.mnk[2], row.dtype)
    return widest(kernel, op, ref) or 0


@functools.cache
def _spanned(descriptor: MatrixDescriptor, rows: int, columns: int, dtype: DType) -> int:
    """Elements from the first to the last that a descriptor reads, plainly: a swizzle stays within lines."""
    return int(descriptor.layout(rows, columns, dtype).offsets().max()) // dtype.bytes + 1
