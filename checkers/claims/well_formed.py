"""Each operation of a kernel is one that provers know, its operands are where it takes them, its names have values."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.atoms import Completion, Extent, Issuer, MemorySpace, MmaAtom
from symlayout.atoms.functions import FUNCTIONS
from symlayout.expr import Fact, Symbol, divides
from symlayout.facts import Facts, symbols_in
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.readable import unreadable
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.touched import written
from symlayout.ops import (
    OPERATIONS,
    UNROLLED,
    WARP,
    Copy,
    For,
    If,
    LoadIndex,
    Map,
    Mma,
    Op,
    Param,
    PeerCopy,
    Reduce,
    Ref,
    Shuffle,
)

from ..aliases import changed_by
from ..claim import Proof, TooLarge
from ..unknown_names import named_again, unknown_names
from .of_kernel import OfProgram

TOLD = (Shuffle, Reduce, LoadIndex)  # operations for which this claim is listed even if all is well


@dataclass(frozen=True)
class Defect:
    """The defect of an operation, or, if it is *open*, the property that is not known to hold."""

    what: str
    open: bool = False


@dataclass(frozen=True)
class WellFormed(OfProgram):
    """Each operation is known, its operands are where it takes them, and names have a value where they are used.

    Shuffles, reductions over lanes, barriers and elections are issued by all lanes of their warps (PTX ISA, shfl.sync,
    bar.sync, bar.warp.sync, elect.sync), and tensors from which values with a contract are read are not written, nor
    those that ``ld.global.nc`` reads. That the data keep these contracts is assumed.

    >>> from symlayout.kernels import tma_copy
    >>> print(WellFormed(tma_copy(64, 256, tile=(16, 64))))
    well formed: 20 operations of tma_copy

    Raises ClaimError for a value that is not a kernel.
    """

    kind: ClassVar[str] = "well formed"

    def points(self) -> int:
        return sum(1 for _ in self.kernel.walk())

    def __str__(self) -> str:
        return f"{self.kind}: {self.points()} operations of {self.kernel.name}"

    @property
    def telling(self) -> bool:
        """Whether there is something to say: an operation that needs it, a parameter, or a defect."""
        told = any(isinstance(op, TOLD) for op in self.kernel.walk())
        return told or bool(self.kernel.parameters) or any(self._found())

    @property
    def readable(self) -> bool:
        """Whether each operation can be read, so that other claims about the kernel mean something."""
        return all(next(wrong(self.kernel), None) is None for wrong in (unreadable, unknown_names))

    def _found(self) -> Iterator[Defect]:
        wrong = [Defect(what) for what in unreadable(self.kernel)]
        if wrong:
            yield from wrong
            return
        yield from map(Defect, unknown_names(self.kernel))
        yield from (Defect(what, open=True) for what in named_again(self.kernel))
        every = list(sites(self.kernel))
        for s in every:
            yield from defects(self.kernel, s, every)

    def certify(self, facts: Facts) -> Proof | None:
        if any(self._found()):
            return None
        return Proof(f"{self.points()} operations, one by one", None)

    def counterexample(self) -> Witness | None:
        found = next((d for d in self._found() if not d.open), None)
        if found is None:
            raise TooLarge(next((d.what for d in self._found()), ""))
        return Witness({}, (), found.what)

    def lemma(self, facts: Facts) -> str:
        return next((d.what for d in self._found()), "")


def defects(kernel: Kernel, site: Site, every: list[Site]) -> Iterator[Defect]:
    """The defect of an operation at its site."""
    op = site.op
    if not isinstance(op, OPERATIONS):
        yield Defect(f"{type(op).__name__} is not an operation that provers know: {op}", open=True)
        return
    if isinstance(op, For) and any(s.name == THREAD or s in site.varying for s in symbols_in((op.extent,))):
        yield Defect(f"whether all threads make the same number of iterations of {op}", open=True)
    if isinstance(op, Copy | Mma):
        yield from _instruction(kernel, op)
    elif isinstance(op, PeerCopy):
        yield from (Defect(f"{op}: {x}") for x in _of_peer(op))
    elif isinstance(op, Map):
        yield from _function(kernel, op)
    elif isinstance(op, Shuffle | Reduce):
        yield from _lanes(kernel, op)
    elif isinstance(op, LoadIndex):
        yield from _loaded(kernel, op, every)
    if op.row is None and op.issuer is Issuer.WARP:  # of instructions ``HappensBefore`` says it
        yield from _together(kernel, site)
    yield from _unrolled(kernel, site)
    yield from _const(kernel, op)
    yield from _of_roles(kernel, site)


def _instruction(kernel: Kernel, op: Copy | Mma) -> Iterator[Defect]:
    if isinstance(op, Mma):
        yield from (Defect(f"{op}: expected sums in registers") for _ in _elsewhere(kernel, op.acc))
        yield from _types(kernel, op)
        return
    yield from (Defect(f"{op}: {x}") for x in _operands(op))
    if op.cache is not None and op.cache.nc and isinstance(op.src, Ref):
        yield from _changed(kernel, op, op.src.tensor, "and ld.global.nc may read an older value")


def _operands(op: Copy) -> Iterator[str]:
    """Defects of the operands of a copy other than its source and target."""
    row = op.row
    bulk = row is not None and row.extent is Extent.OPERAND
    if bulk and (op.barrier is None) is (op.completion is Completion.MBARRIER):
        yield f"expected {'an' if op.barrier is None else 'no'} mbarrier that it completes on"
    if op.when and op.completion is not Completion.CP_ASYNC:
        yield "expected cp.async for a copy that writes zeros where a condition does not hold"


def _of_peer(op: PeerCopy) -> Iterator[str]:
    """Defects of an access to the memory of a peer: its mbarrier, and that all threads of a warp mean the same CTA."""
    if (op.barrier is None) is (op.completion is Completion.MBARRIER):
        yield f"expected {'an' if op.barrier is None else 'no'} mbarrier of the peer that it completes on"
    if any(s.name == THREAD for s in symbols_in((op.peer,))):
        yield f"expected one peer for all threads, got {op.peer}"


def _types(kernel: Kernel, op: Mma) -> Iterator[Defect]:
    """Registers of a product hold numbers of its types."""
    row = op.row
    for x, wanted in zip((op.a, op.b, op.acc), row.held, strict=True) if isinstance(row, MmaAtom) else ():
        if isinstance(x, Ref) and (got := kernel.tensor(x.tensor).dtype).numpy() != wanted.numpy():
            yield Defect(f"{op}: expected registers of {wanted}, got {x} of {got}")


def _elsewhere(kernel: Kernel, x: Any) -> Iterator[str]:
    """The memory space of an operand, if it is not in registers."""
    if not isinstance(x, Ref):
        yield str(x)
    elif kernel.tensor(x.tensor).space is not MemorySpace.REGISTER:
        yield f"{x} in {kernel.tensor(x.tensor).space}"


def _function(kernel: Kernel, op: Map) -> Iterator[Defect]:
    for x in (*op.srcs, op.dst):
        if not isinstance(x, Param):
            yield from (Defect(f"{op}: expected registers, got {y}") for y in _elsewhere(kernel, x))
    row, out = FUNCTIONS[op.function], kernel.tensor(op.dst.tensor).dtype
    of = [kernel.parameter(x.name).dtype if isinstance(x, Param) else kernel.tensor(x.tensor).dtype for x in op.srcs]
    if not row.has(out):
        yield Defect(f"{op}: expected {row.word} of {', '.join((*row.types, *row.errors))}, got {out}")
    elif (row.types or row.errors) and any(kind != out for kind in of):
        yield Defect(f"{op}: expected numbers of one type, got {row.word} of {', '.join(map(str, of))} to {out}")
    if row.packed:
        yield from _pairs(op)


def _pairs(op: Map) -> Iterator[Defect]:
    """A check that a function of two elements at once has pairs: registers from an even one on, an even number."""
    if op.count % 2:
        yield Defect(f"{op}: expected an even number of elements, two at once, got {op.count}")
    for x in (*op.srcs, op.dst):
        if isinstance(x, Param):
            yield Defect(f"{op}: expected registers, got the scalar {x}")
        elif divides(2, x.offset) is None:
            yield Defect(f"{op}: expected pairs from an even register on, got {x}", open=type(x.offset) is not int)


def _lanes(kernel: Kernel, op: Shuffle | Reduce) -> Iterator[Defect]:
    src, dst = kernel.tensor(op.src.tensor), kernel.tensor(op.dst.tensor)
    for x in (op.src, op.dst):
        yield from (Defect(f"{op}: expected registers, got {y}") for y in _elsewhere(kernel, x))
    if src.dtype != dst.dtype:
        yield Defect(f"{op}: expected registers of one type, got {src.dtype} and {dst.dtype}")
    if isinstance(op, Shuffle) and op.count * src.dtype.bits % 32:
        yield Defect(f"{op}: expected whole words of 32 bits, got {op.count} elements of {src.dtype}")


def _together(kernel: Kernel, site: Site) -> Iterator[Defect]:
    """A check that all lanes of a warp issue an operation, or none: it is .aligned, or .sync of the full mask."""
    op = site.op
    team = replace(site, around=tuple(_by_lanes(a) for a in site.around)).team
    if team is None or (0 < team.lanes < WARP and not _reached(kernel, site)):
        yield Defect(f"whether all lanes of their warps issue {op} together", open=True)
    elif 0 < team.lanes < WARP:
        yield Defect(f"{op}: expected all {WARP} lanes of its warps, got {team}")


def _by_lanes(a: Op) -> Op:
    """A condition without its facts that the lanes of a warp share; other operations as they are."""
    return replace(a, condition=tuple(f for f in a.condition if not shared_by_lanes(f))) if isinstance(a, If) else a


@functools.lru_cache(maxsize=256)
def shared_by_lanes(f: Fact) -> bool:
    """Whether all lanes of a warp meet a fact or none does, as with thread//32.

    >>> from symlayout import index
    >>> t = index("thread", 256)
    >>> shared_by_lanes(t // 64 < 3), shared_by_lanes(t // 16 < 3), shared_by_lanes(4 * (t // 64) + t % 2 >= 5)
    (True, False, False)
    """
    thread = next((s for s in f.symbols if s.name == THREAD), None)
    if thread is None or type(thread.upper) is not int:
        return False
    rows = [[f.subs({thread: t + lane}) for lane in range(WARP)] for t in range(0, thread.upper, WARP)]
    return all(fact == row[0] for row in rows for fact in row)


def _reached(kernel: Kernel, site: Site) -> bool:
    """Whether an operation is executed for all sizes and blocks."""
    loops = [loop.index for loop in site.loops]
    facts = Facts.about(*kernel.dims, *kernel.block, *loops, given=kernel.given)
    if any(facts.le(1, loop.extent) is not True for loop in site.loops):
        return False
    return all(facts.holds(f) is True for f in site.conditions)


def _unrolled(kernel: Kernel, site: Site) -> Iterator[Defect]:
    """Registers have no addresses: which one it is has to be a number in each copy of the body of a loop around."""
    op = site.op
    if isinstance(op, For):
        if op.unroll == UNROLLED and type(op.extent) is not int:
            yield Defect(f"{op}: expected a number for the trip count of an unrolled loop, got {op.extent}")
        return
    found: dict[Symbol, Ref] = {}
    for ref in (*op.sources, *op.targets):
        if kernel.tensor(ref.tensor).space is MemorySpace.REGISTER:
            found |= dict.fromkeys(symbols_in((ref.offset,)), ref)
    for s, ref in found.items():
        loop = next((x for x in site.loops if x.index.name == s.name), None)
        if loop is None:
            yield Defect(f"{op}: expected numbers and unrolled loops to say which register it is, got {s} in {ref}")
        elif loop.unroll != UNROLLED:
            mend = f'expected {loop.index} to be unrolled, unroll="{UNROLLED}"'
            yield Defect(f"{op}: {mend}, since registers have no addresses, got {ref} in {loop}")


def _const(kernel: Kernel, op: Op) -> Iterator[Defect]:
    """A check that an operation writes no const tensor."""
    name = written(kernel, op)
    if name and kernel.tensor(name).const:
        yield Defect(f"{op}: {name} is const, and this writes it")


def _of_roles(kernel: Kernel, site: Site) -> Iterator[Defect]:
    """A check that registers are used by the role whose threads have them, if they belong to one role."""
    for name in dict.fromkeys(ref.tensor for ref in (*site.op.sources, *site.op.targets)):
        role = kernel.tensor(name).role
        if role and role != site.role:
            yield Defect(f"{site.op}: {name} is in registers of {role}, and this stands in {site.role or 'no role'}")


def _loaded(kernel: Kernel, op: LoadIndex, every: list[Site]) -> Iterator[Defect]:
    tensor = kernel.tensor(op.src.tensor)
    if tensor.space is not MemorySpace.GLOBAL or tensor.dtype.kind not in ("int", "uint"):
        yield Defect(f"{op}: expected integers in global memory, got {tensor}")
    if op.name.lower is None or op.name.upper is None:
        yield Defect(f"{op}: expected a contract with both ends")
    yield from _changed(kernel, op, tensor.name, "so its values are not those of the data")


def _changed(kernel: Kernel, op: Op, name: str, then: str) -> Iterator[Defect]:
    """A check that a kernel does not write a tensor of which an operation needs the values from before it."""
    if kernel.tensor(name).space is MemorySpace.GLOBAL and (by := changed_by(kernel, name)):
        on = "" if name in by else f", which may be at the address of {name}"
        yield Defect(f"{op}: the kernel writes {', '.join(by)}{on}, {then}", open=True)
