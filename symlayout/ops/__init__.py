"""The operations of a kernel, as plain values: what a thread, a warp or the copy engine is asked to do.

An instruction is an atom, named by a word such as ``tma.load``; an operation says where it reads and writes. Offsets,
coordinates and slots are expressions of sizes, block and loop indices, and, for what each thread does, of ``thread``.

What an operation names belongs in ``operands``, a new operation in ``data``, ``peers``, ``prefetches``,
``synchronisation`` or ``structure``. What provers, runs and printers ask of one is a method of ``Op`` (see ``op``), and
of an instruction a field of its row in ``symlayout.atoms``.
"""

from __future__ import annotations

from .data import FOLDS, SHUFFLES, Copy, Fill, Let, LoadIndex, Map, Mma, Reduce, Shuffle, number_text
from .op import WARP, ByAtom, Op
from .operands import Box, Matrix, Operand, Param, Ref, Slot
from .peers import PeerCopy
from .prefetches import Prefetch, PrefetchL2
from .rewriting import edited, named, rewritten, substitution
from .structure import ELECTIONS, UNROLLED, Elect, For, If, Role
from .synchronisation import (
    GROUPS,
    PROXIES,
    SCOPES,
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    CpAsyncArrive,
    ExpectTx,
    Fence,
    Init,
    Inval,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from .touch import Touch

__all__ = [
    "DATA",
    "ELECTIONS",
    "FOLDS",
    "GROUPS",
    "NAMES",
    "OPERATIONS",
    "ORDER",
    "PROXIES",
    "SCOPES",
    "SHUFFLES",
    "STRUCTURE",
    "UNROLLED",
    "WARP",
    "Arrive",
    "Barrier",
    "BarrierArrive",
    "Box",
    "ByAtom",
    "ClusterArrive",
    "ClusterBarrier",
    "ClusterWait",
    "Commit",
    "Copy",
    "CpAsyncArrive",
    "Elect",
    "ExpectTx",
    "Fence",
    "Fill",
    "For",
    "If",
    "Init",
    "Inval",
    "Let",
    "LoadIndex",
    "Map",
    "Matrix",
    "Mma",
    "Op",
    "Operand",
    "Param",
    "PeerCopy",
    "Prefetch",
    "PrefetchL2",
    "Reduce",
    "Ref",
    "Role",
    "Shuffle",
    "Slot",
    "Touch",
    "Wait",
    "WaitGroup",
    "WarpBarrier",
    "edited",
    "named",
    "number_text",
    "rewritten",
    "substitution",
]

DATA: tuple[type[Op], ...] = (Copy, Mma, Map, Fill, Shuffle, Reduce, LoadIndex, Prefetch, PrefetchL2, PeerCopy)
NAMES: tuple[type[Op], ...] = (Let,)
ORDER: tuple[type[Op], ...] = (
    *(Init, Inval, Arrive, CpAsyncArrive, ExpectTx, Wait, Barrier, BarrierArrive, WarpBarrier, ClusterBarrier),
    *(ClusterArrive, ClusterWait, Fence, Commit, WaitGroup),
)
STRUCTURE: tuple[type[Op], ...] = (For, If, Elect, Role)
OPERATIONS = (*DATA, *NAMES, *ORDER, *STRUCTURE)  # the language: a class of another module is not an operation of it
