"""The instructions of a kernel that not every architecture has.

>>> from symlayout.kernels import bulk_copy
>>> for word, since in dict.fromkeys(instructions(bulk_copy(4096))):
...     print(word, "since", *since)
fence mbarrier_init since 9 0
mbarrier.try_wait since 9 0
mbarrier.arrive.expect_tx since 9 0
bulk.load since 9 0
bulk.store since 9 0

Atoms say it in their rows, functions in theirs; ``FEATURES`` has the rows of the other operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from ..arch import SM90
from ..atoms.functions import FUNCTIONS
from ..ops import (
    SCOPES,
    Arrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Copy,
    ExpectTx,
    Fence,
    Map,
    Op,
    Prefetch,
    PrefetchL2,
    Ref,
    Role,
    Wait,
)
from .value import Kernel

HOPPER = SM90.compute_capability
Since: TypeAlias = "tuple[int, int]"


@dataclass(frozen=True)
class Feature:
    """Operations of a kind, and the compute capability from which on there are any."""

    word: str
    here: Callable[[Op], bool]
    since: Since = HOPPER  # PTX ISA, target notes of each instruction


def _far_or_counted(op: Op) -> bool:
    """An arrival that older architectures do not have, as they have those of one at a barrier of the CTA."""
    return isinstance(op, Arrive) and (op.peer is not None or op.scope != SCOPES[0] or (op.count > 1 and op.complete))


def _bulk_prefetch(op: Op) -> bool:
    """A prefetch into L2 of a box, or of a number of bytes."""
    return isinstance(op, PrefetchL2) and not (isinstance(op.src, Ref) and op.bytes is None)


FEATURES: tuple[Feature, ...] = (
    Feature("mbarrier.arrive.expect_tx", lambda op: isinstance(op, ExpectTx)),
    Feature("mbarrier.try_wait", lambda op: isinstance(op, Wait)),
    Feature("mbarrier.arrive of a peer, at cluster scope or with a count", _far_or_counted),
    Feature("barrier.cluster", lambda op: isinstance(op, ClusterArrive | ClusterBarrier | ClusterWait)),
    Feature("prefetch.tensormap", lambda op: isinstance(op, Prefetch)),
    Feature("cp.async.bulk.prefetch", _bulk_prefetch),
    Feature("setmaxnreg", lambda op: isinstance(op, Role) and bool(op.registers)),
)


def instructions(kernel: Kernel) -> Iterator[tuple[str, Since]]:
    """(instruction, compute capability from which on there is one) of all that not every architecture has."""
    if any(n != 1 for n in kernel.cluster):
        yield "clusters", HOPPER
    for op in kernel.walk():
        if op.row is not None:
            yield op.row.word, op.row.since
        if isinstance(op, Copy) and op.multicast is not None:
            yield f"{op.atom}.multicast", HOPPER
        elif isinstance(op, Fence):
            yield str(op), HOPPER
        elif isinstance(op, Map):
            kind = kernel.tensor(op.dst.tensor).dtype.name
            since = FUNCTIONS[op.function].since.get(kind)
            yield from [] if since is None else [(f"{op.function} of {kind}", since)]
        yield from ((f.word, f.since) for f in FEATURES if f.here(op))


def missing(kernel: Kernel, capability: Since) -> dict[str, Since]:
    """The instructions of a kernel that a compute capability does not have, with the one that does.

    >>> from symlayout.kernels import tma_copy
    >>> ", ".join(missing(tma_copy(64, 64), (8, 0)))
    'prefetch.tensormap, fence mbarrier_init, mbarrier.try_wait, mbarrier.arrive.expect_tx, tma.load, tma.store'
    >>> missing(tma_copy(64, 64), (9, 0))
    {}
    """
    return {word: since for word, since in instructions(kernel) if since > capability}


__all__ = ["FEATURES", "Feature", "instructions", "missing"]
