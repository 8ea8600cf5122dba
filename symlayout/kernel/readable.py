"""Whether an operation can be read at all: its names are declared, its operands of the kinds that it takes.

What cannot be read has no meaning that another claim could be about, so a kernel with such an operation has one claim,
``WellFormed``, which is refuted.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> from symlayout.ops import Arrive, Slot
>>> kernel = tma_copy(*dims("M N"))
>>> list(unreadable(kernel)), list(unread(kernel, Arrive(Slot("nope"))))
([], ['expected an mbarrier of full, empty, got nope[0]'])
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..atoms import Atom, Extent, MemorySpace, MmaAtom
from ..atoms.cache import NOTHING, Caching
from ..atoms.peers import WORDS
from ..ops import (
    OPERATIONS,
    WARP,
    Box,
    ByAtom,
    Copy,
    Elect,
    If,
    Init,
    Inval,
    Map,
    Matrix,
    Mma,
    Op,
    Param,
    PeerCopy,
    Prefetch,
    PrefetchL2,
    Ref,
    Role,
    Slot,
)
from ..semantics.maps import FUNCTIONS
from .sites import about_thread, as_written
from .specification import Result, misplaced
from .value import Kernel

COUNTS = {  # fields by name, with the least that they may be; whether hardware has so many is asked elsewhere
    **dict.fromkeys(("count", "lanes", "warps"), 1),
    **dict.fromkeys(("threads", "pending", "first_warp", "registers"), 0),
}


def unreadable(kernel: Kernel) -> Iterator[str]:
    """Defects of the operations and results of a kernel that cannot be read, one sentence each."""
    wrong = [f"{op}: {what}" for op in kernel.walk() if isinstance(op, OPERATIONS) for what in unread(kernel, op)]
    yield from wrong  # of an operation that is not of the language, ``WellFormed`` says so
    if type(kernel.threads) is not int or kernel.threads < WARP or kernel.threads % WARP:
        yield f"expected a CTA of whole warps of {WARP} threads, got {kernel.threads!r}"
    elif not wrong:
        yield from _roles(kernel)
    if not isinstance(kernel.cluster, tuple) or not all(type(n) is int and n >= 1 for n in kernel.cluster):
        yield f"expected clusters of at least 1 CTA along each axis, got {kernel.cluster!r}"
    for r in kernel.results:
        yield from (f"result {r}: {what}" for what in unread_result(kernel, r))


def _roles(kernel: Kernel) -> Iterator[str]:
    """Roles of warps that the CTA does not have, and those of which not all threads come to their operations."""
    have = kernel.threads // WARP
    for s in as_written(kernel):
        if not isinstance(s.op, Role):
            continue
        if s.op.first_warp + s.op.warps > have:
            yield f"{s.op} expected warps of the {have} that the CTA has"
        for a in s.around:
            if isinstance(a, Role | Elect) or (isinstance(a, If) and any(map(about_thread, a.condition))):
                yield f"{s.op} expected a role that all its threads come to, got one inside of {str(a).rstrip(':')}"


def unread_result(kernel: Kernel, r: Result) -> Iterator[str]:
    """Defects of the places that a result of a kernel names."""
    return misplaced(r, {t.name: t.layout.shape for t in kernel.tensors if t.space is MemorySpace.GLOBAL})


def unread(kernel: Kernel, op: Op) -> Iterator[str]:
    """Defects of one operation, except those of operations inside it."""
    wrong = [*_counts(op)]
    yield from wrong
    if wrong:
        return
    yield from _names(kernel, op)
    if isinstance(op, ByAtom):
        yield from _instruction(kernel, op)
    if isinstance(op, Map):
        yield from _function(op)
    if isinstance(op, PrefetchL2):
        yield from _prefetched(kernel, op)
    if isinstance(op, Copy | PrefetchL2) and op.cache is not None:
        yield from filter(None, [caching_of(op).refusal(op.cache)])


def caching_of(op: Copy | PrefetchL2) -> Caching:
    """The cache policies that the instruction of an operation takes."""
    return op.caching if isinstance(op, PrefetchL2) else NOTHING if op.row is None else op.row.caching


def _counts(op: Op) -> Iterator[str]:
    """Numbers below the least that they may be."""
    for name, x in op.operands():
        if name in COUNTS and x < COUNTS[name]:
            yield f"expected a number of at least {COUNTS[name]} as {name}, got {x!r}"
        if name == "cache" and x is not None and not x.words:
            yield f"expected a cache policy of some words, or None, got {x!r}"


def _names(kernel: Kernel, op: Op) -> Iterator[str]:
    """Names of tensors, tensor maps, mbarriers and parameters that are not declared; boxes of another rank."""
    maps = {m.name: m.tensor_map for m in kernel.maps}
    if isinstance(op, Init | Inval):
        yield from _declared("an array of mbarriers", op.array, op, [b.name for b in kernel.barriers])
    if isinstance(op, Prefetch):
        yield from _declared("a tensor map", op.tensor_map, op, maps)
    for x in _operands(op):
        if isinstance(x, Matrix):
            x = x.start
        if isinstance(x, Ref):
            yield from _declared("a tensor", x.tensor, x, [t.name for t in kernel.tensors])
        elif isinstance(x, Slot):
            yield from _declared("an mbarrier", x.barrier, x, [b.name for b in kernel.barriers])
        elif isinstance(x, Param):
            if x.name not in {p.name for p in kernel.parameters}:
                yield f"{x} is not a scalar parameter of {kernel.name}"
        elif isinstance(x, Box):
            yield from _declared("a tensor map", x.tensor_map, x, maps)
            if x.tensor_map in maps and len(x.coordinate) != maps[x.tensor_map].rank:
                yield f"expected {maps[x.tensor_map].rank} coordinates of {x.tensor_map}, got {x}"


def _operands(op: Op) -> Iterator[Any]:
    for _, x in op.operands():
        yield from x if isinstance(op, Map) and isinstance(x, tuple) else (x,)


def _declared(what: str, name: str, x: Any, known: Iterable[str]) -> Iterator[str]:
    if name not in known:
        yield f"expected {what} of {', '.join(known) or 'none that there are'}, got {x}"


def _instruction(kernel: Kernel, op: ByAtom) -> Iterator[str]:
    """An instruction that there is, boxes where a tensor copy takes them, bytes where they are an operand."""
    row = op.row
    if row is None:
        yield f"{op.atom} is not an instruction; those are rows of symlayout.atoms"
    elif isinstance(op, Mma) is not isinstance(row, MmaAtom):
        yield f"expected {'a product' if isinstance(op, Mma) else 'a copy'}, got the instruction {op.atom}"
    elif isinstance(op, PeerCopy) is not (op.atom in WORDS):
        yield f"expected {'an access to a peer' if isinstance(op, PeerCopy) else 'a copy of the CTA'}, got {op.atom}"
    elif isinstance(op, Copy | PeerCopy):
        yield from _sides(kernel, op, row)


def _sides(kernel: Kernel, op: Copy | PeerCopy, row: Atom) -> Iterator[str]:
    for what, x, space in (("source", op.src, row.src), ("target", op.dst, row.dst)):
        boxed = row.extent is Extent.BOX and space is MemorySpace.GLOBAL
        if isinstance(x, Box) is not boxed:
            yield f"expected {'a box of a tensor map' if boxed else 'a place in a tensor'} as its {what}, got {x}"
        elif isinstance(x, Ref):
            known = {t.name: t.space for t in kernel.tensors}
            if known.get(x.tensor, space) != space:
                yield f"expected its {what} in {space}, got {x} in {known[x.tensor]}"
    if isinstance(op, PeerCopy):
        return
    bulk = row.extent is Extent.OPERAND
    if bulk and op.bytes is None:
        yield "expected how many bytes to copy"
    if not bulk and op.bytes is not None:
        yield "expected no number of bytes, which the instruction has"
    if type(op.bytes) is int and op.bytes < 1:
        yield f"expected at least 1 byte, got {op.bytes}"


def _prefetched(kernel: Kernel, op: PrefetchL2) -> Iterator[str]:
    """A place in global memory; a number of bytes only where no box says it."""
    spaces = {t.name: t.space for t in kernel.tensors}
    if isinstance(op.src, Box) and op.bytes is not None:
        yield "expected no number of bytes, which the box has"
    elif isinstance(op.src, Ref) and spaces.get(op.src.tensor, MemorySpace.GLOBAL) is not MemorySpace.GLOBAL:
        yield f"expected a place in global memory, got {op.src} in {spaces[op.src.tensor]}"
    if type(op.bytes) is int and op.bytes < 1:
        yield f"expected at least 1 byte, got {op.bytes}"


def _function(op: Map) -> Iterator[str]:
    row = FUNCTIONS.get(op.function)
    if row is None:
        yield f"{op.function} is not a function; those are rows of symlayout.semantics.maps"
    elif len(row.counts) != len(op.srcs):
        yield f"expected {len(row.counts)} sources of {op.function}, got {len(op.srcs)}"
