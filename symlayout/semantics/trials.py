"""Runs that look for a missing order: a few schedules of a few CTAs, and the interleaving that ends in a mistake.

>>> from symlayout.kernels import tma_copy
>>> from symlayout.ops import Arrive
>>> kernel = tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)
>>> mishap(kernel) is None
True
>>> stuck = mishap(kernel.edited(lambda op: [] if isinstance(op, Arrive) else [op]))
>>> stuck.kind, len(stuck.steps) <= MOST_STEPS
('hang', True)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..atoms import Issuer, MemorySpace
from ..errors import ExecutionError, SymlayoutError
from ..kernel import Kernel
from ..ops import Barrier, ClusterBarrier, Elect, For, If, LoadIndex, Op, Role, rewritten
from .execute import run
from .order import LANES, STRANDS
from .telling import telling_inputs

SCHEDULES: tuple[str | int, ...] = ("eager", "lazy", 1, 2, 3)
FEW_SCHEDULES: tuple[str | int, ...] = ("eager", "lazy", 1)
MOST_BYTES = 1 << 20  # of global memory, of a kernel that is worth a few runs
MOST_READS = 1 << 22  # bytes of shared memory times threads, of a kernel whose lanes are told apart
MOST_STEPS = 12  # lines of an interleaving
KEPT = 4000  # operations that are looked through for these
CLUSTERS = 2  # that are run


@dataclass(frozen=True)
class Mishap:
    """A mistake of a run that an order would have prevented: "hang", "phase" or "order", and what led to it."""

    kind: str
    said: str
    schedule: str | int
    steps: tuple[str, ...]
    subject: tuple[str, ...] = ()  # the barriers and tensors that it is about

    def __str__(self) -> str:
        how = self.schedule if isinstance(self.schedule, str) else f"schedule {self.schedule}"
        return f"{self.said}; {how}: {'; '.join(self.steps)}" if self.steps else f"{self.said}; {how}"


class Log:
    """The last operations of agents, each as it was with the values of its indices."""

    def __init__(self) -> None:
        self.notes: deque[tuple[str, Op, Mapping[str, Any], int]] = deque(maxlen=KEPT)

    def note(self, agent: Any, op: Op) -> None:
        """An agent comes to an operation."""
        if not isinstance(op, For | If | Elect | Role):
            slot = op.arrives or op.waits or op.credits
            phase = -1
            if slot is not None:
                try:
                    phase = agent.cta.slots[slot.barrier, agent.uniform(slot.slot)].phase
                except (SymlayoutError, KeyError):
                    phase = -1
            self.notes.append((agent.told(), op, agent.env, phase))

    def about(self, names: Sequence[str]) -> tuple[str, ...]:
        """The last few that touch one of some barriers and tensors, or are barriers of threads."""
        found = [n for n in self.notes if _names(n[1]) & set(names)] or [n for n in self.notes if _orders(n[1])]
        return tuple(f"{told}: {_put(op, env)}{f' (phase {phase})' if phase >= 0 else ''}"
                     for told, op, env, phase in found[-MOST_STEPS:])  # fmt: skip


def mishap(
    bound: Kernel, kinds: Sequence[str] = ("hang", "phase", "order"), schedules: Sequence[str | int] = SCHEDULES
) -> Mishap | None:
    """The first mistake of some kinds in runs of a kernel at sizes; None where they show none, or cannot be made."""
    try:
        inputs = telling_inputs(bound)
    except (SymlayoutError, ArithmeticError, ValueError):
        return None
    for order in schedules:
        try:
            run(bound, inputs, order, CLUSTERS, **_how(bound, order))
        except ExecutionError as e:
            if e.kind in kinds:
                return _told(bound, inputs, order)
            continue  # another mistake comes first here
        except (SymlayoutError, ArithmeticError, ValueError, NotImplementedError):
            return None
    return None


def _told(bound: Kernel, inputs: Mapping[str, Any], order: str | int) -> Mishap | None:
    """The mistake of a run, run again with what agents do noted down: few runs end in one."""
    log = Log()
    try:
        run(bound, inputs, order, CLUSTERS, log, **_how(bound, order))
    except ExecutionError as e:
        subject = _subjects(bound, e.subject)
        return Mishap(e.kind, str(e).replace("\n ", ""), order, log.about(subject), subject)
    return None


def _how(bound: Kernel, order: str | int) -> dict[str, Any]:
    """Whether warps go their own ways in a run, and whether it tells the lanes of a warp apart."""
    lanes = order == "lazy" and bound.threads * int(bound.shared_bytes) <= MOST_READS
    return {"apart": _apart(bound, order), "strands": LANES if lanes else STRANDS}


def _apart(bound: Kernel, order: str | int) -> bool:
    """Whether warps go their own ways: in every other schedule, if no operation takes several."""
    together = (op.issuer is Issuer.WARPGROUP or isinstance(op, LoadIndex) for op in bound.walk())
    return type(order) is int and order % 2 == 1 and not any(together)


def affordable(bound: Kernel) -> bool:
    """Whether a kernel at sizes is small enough for a few runs."""
    sizes = [t.bytes for t in bound.tensors if t.space is MemorySpace.GLOBAL]
    return all(type(n) is int for n in sizes) and sum(map(int, sizes)) <= MOST_BYTES


def _subjects(kernel: Kernel, names: Sequence[str]) -> tuple[str, ...]:
    """Barriers and tensors, and the barriers on which copies into the tensors complete."""
    fills = [op for op in kernel.walk() if op.credits and {r.tensor for r in op.targets} & set(names)]
    names = tuple(n.partition("[")[0] for n in names if n)
    return (*names, *(op.credits.barrier for op in fills if op.credits))


def _names(op: Op) -> set[str]:
    slots = (op.arrives, op.waits, op.credits)
    return {x.barrier for x in slots if x is not None} | {r.tensor for r in (*op.sources, *op.targets)}


def _orders(op: Op) -> bool:
    return isinstance(op, Barrier | ClusterBarrier) or bool(op.arrives or op.waits or op.credits)


def _put(op: Op, env: Mapping[str, Any]) -> str:
    known = {name: v for name, v in env.items() if isinstance(v, int)}
    try:
        return str(rewritten(op, lambda x: x.subs(known)))
    except SymlayoutError:
        return str(op)
