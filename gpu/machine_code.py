"""Machine code against the kernel that it is of: some instructions for each kind of operation, none for any other.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> for row in wanted(tma_copy(*dims("M N"))):
...     print(row.opcode, "-", row.what)
UTMALDG - tensor loads
UTMASTG - tensor stores
SYNCS - mbarriers
BAR - barriers of the CTA
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from symlayout.atoms import MatrixCopy, MmaAtom
from symlayout.atoms.cache import FETCHES
from symlayout.kernel import Kernel
from symlayout.ops import (
    Barrier,
    BarrierArrive,
    Box,
    ClusterArrive,
    ClusterBarrier,
    Copy,
    CpAsyncArrive,
    LoadIndex,
    Mma,
    Op,
    PrefetchL2,
    Reduce,
    Ref,
    Role,
    Shuffle,
)

from .cubin import Cubin
from .cubin.sass import Instructions

NEVER = "@!PT"  # the predicate of what is there for its slot alone, such as the LDS before LDGSTS of ptxas 13


def _copies(*words: str) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, Copy) and op.atom.startswith(words)


def _peers(*words: str) -> Callable[[Op], bool]:
    return lambda op: getattr(op, "atom", "").startswith(words)


def _matrices(name: str) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, Copy) and isinstance(op.row, MatrixCopy) and op.atom.startswith(name)


def _products(asynchronous: bool) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, Mma) and isinstance(op.row, MmaAtom) and bool(op.row.completion) is asynchronous


@dataclass(frozen=True)
class Kind:
    """A kind of instructions: a pattern for their opcodes, what they are, and whether an operation becomes some.

    *declared* says whether a kernel has some apart from its operations, such as for its mbarriers; *unasked* is true of
    operations for which ptxas may choose some, where they change no value.
    """

    opcode: str
    what: str
    of: Callable[[Op], bool] = lambda op: False
    declared: Callable[[Kernel], bool] = lambda kernel: False
    unasked: Callable[[Op], bool] = lambda op: False

    def opcodes(self, code: Instructions) -> list[str]:
        """The opcode, without further modifiers, of each instruction of the kind that may be executed."""
        executed = (i for i in code.every if i.predicate != NEVER)
        found = (re.match(rf"(?:{self.opcode})(?![A-Z])", i.opcode) for i in executed)
        return [m[0] for m in found if m]

    def operations(self, kernel: Kernel) -> int:
        """The number of operations of a kernel that become some."""
        return sum(map(self.of, kernel.walk()))

    def is_wanted(self, kernel: Kernel) -> bool:
        return self.declared(kernel) or self.operations(kernel) > 0


def _prefetches(of: Callable[[PrefetchL2], bool]) -> Callable[[Op], bool]:
    return lambda op: isinstance(op, PrefetchL2) and of(op)


def _kept(*words: str) -> Callable[[Op], bool]:
    """Accesses with one of these words for L1."""
    return lambda op: isinstance(op, Copy) and op.cache is not None and not {*words}.isdisjoint(op.cache.words)


def _has_mbarriers(kernel: Kernel) -> bool:
    return bool(kernel.barriers)


# Opcodes of compute capability 9.0, as nvdisasm prints them.
KINDS = (
    Kind("UTMALDG", "tensor loads", _copies("tma.load")),
    Kind("UTMASTG", "tensor stores", _copies("tma.store")),
    Kind("UTMAREDG", "tensor reductions", _copies("tma.reduce")),
    Kind(r"UBLKCP\.S\.G", "bulk loads", _copies("bulk.load")),
    Kind(r"UBLKCP\.G\.S", "bulk stores", _copies("bulk.store")),
    Kind("LDGSTS", "asynchronous copies", _copies("cp.async")),
    Kind("[HIQ]GMMA", "products of warpgroups", _products(True)),
    Kind("[HIDQ]MMA", "products of warps", _products(False)),
    Kind("LDSM", "loads of matrices", _matrices("ldmatrix")),
    Kind("STSM", "stores of matrices", _matrices("stmatrix")),
    Kind("LDG", "loads of global memory", lambda op: _copies("ld.global")(op) or isinstance(op, LoadIndex)),
    Kind("STG", "stores to global memory", _copies("st.global")),
    Kind("LDS", "loads of shared memory", _copies("ld.shared")),
    Kind("STS", "stores to shared memory", _copies("st.shared")),
    Kind("STAS", "stores to peers that complete on mbarriers", _peers("st.async")),
    Kind(r"LD\.E", "loads from peers", _peers("ld.cluster")),
    Kind(r"ST\.E", "stores to peers", _peers("st.cluster")),
    Kind("SHFL", "shuffles", lambda op: isinstance(op, Shuffle) or (isinstance(op, Reduce) and op.lanes > 1)),
    Kind("SYNCS", "mbarriers", declared=_has_mbarriers),
    Kind("ARRIVES", "arrivals of copies by cp.async", lambda op: isinstance(op, CpAsyncArrive)),
    Kind("BAR", "barriers of the CTA", lambda op: isinstance(op, Barrier | BarrierArrive)),
    Kind("UCGABAR_ARV", "barriers of the cluster", lambda op: isinstance(op, ClusterArrive | ClusterBarrier)),
    Kind("USETMAXREG", "registers of roles", lambda op: isinstance(op, Role) and bool(op.registers)),
    Kind("REDG?", "reductions into global memory", _copies("red.global")),
    Kind("UTMAPF", "prefetches of boxes", _prefetches(lambda op: isinstance(op.src, Box))),
    Kind("UBLKPF", "prefetches of bytes", _prefetches(lambda op: op.bytes is not None)),
    Kind(
        r"CCTL\.E\.(?:PF2|PML2)",
        "prefetches of lines",
        _prefetches(lambda op: isinstance(op.src, Ref) and op.bytes is None),
    ),
    Kind(r"(?:LDG|STG)\.E\.NA", "accesses that L1 does not keep", _kept("L1::no_allocate")),
    Kind(r"(?:LDG|STG)\.E\.EF", "accesses that L1 gives up first", _kept("cs", "L1::evict_first")),
    Kind(r"(?:LDG|STG)\.E\.EL", "accesses that L1 gives up last", _kept("L1::evict_last")),
    Kind(r"(?:LDG|STG)\.E\.EU", "accesses that move nothing up in L1", _kept("L1::evict_unchanged")),
    *(
        # ptxas 13.0 lets cp.async of whole 16 bytes under a predicate fetch 128 of its own accord
        Kind(
            *(rf"LDG(?:STS)?\S*\.LTC{n}B", f"loads of {n} bytes into L2", _kept(f"L2::{n}B")),
            unasked=_copies("cp.async") if n == 128 else lambda op: False,
        )
        for n in FETCHES
    ),
    Kind("LDL|STL", "local memory"),
    Kind("ATOM[GS]?", "atomics"),
)


def wanted(kernel: Kernel) -> tuple[Kind, ...]:
    """The kinds that the machine code of a kernel contains."""
    return tuple(kind for kind in KINDS if kind.is_wanted(kernel))


@dataclass(frozen=True)
class Counted:
    """Instructions of one kind: how many there are, and of how many operations."""

    opcode: str
    what: str
    instructions: int
    operations: int
    wanted: bool

    def __bool__(self) -> bool:
        return (self.instructions > 0) is self.wanted

    def __str__(self) -> str:
        if self:
            return f"{self.instructions} {self.opcode}"
        return f"expected {'some' if self.wanted else 'no'} {self.opcode} ({self.what}), got {self.instructions}"


@dataclass(frozen=True)
class MachineCode:
    """The counts; true if all are as the kernel says."""

    kernel: str
    registers: int
    shared_bytes: int
    counted: tuple[Counted, ...]

    def __bool__(self) -> bool:
        return all(self.counted)

    @property
    def wrong(self) -> tuple[Counted, ...]:
        return tuple(c for c in self.counted if not c)

    def __str__(self) -> str:
        counts = ", ".join(str(c) for c in self.counted if c and c.instructions)
        head = f"{self.registers} registers, {self.shared_bytes} B of shared memory: {counts or 'no such instructions'}"
        return "\n".join([head, *map(str, self.wrong)])


def machine_code(kernel: Kernel, cubin: Cubin) -> MachineCode:
    """The machine code of a generated kernel, counted and held against its operations.

    Raises CubinError where no disassembler is there, or the cubin has no kernel of that name.
    """
    code, found = cubin.kernel(kernel.name), cubin.instructions(kernel.name)
    return MachineCode(kernel.name, code.registers, int(kernel.shared_bytes), tuple(_counted(kernel, found)))


def _counted(kernel: Kernel, code: Instructions) -> Iterator[Counted]:
    for kind in KINDS:
        if not kind.is_wanted(kernel) and any(map(kind.unasked, kernel.walk())):
            continue
        found = kind.opcodes(code)
        name = "|".join(dict.fromkeys(found)) or kind.opcode.replace("\\", "")
        yield Counted(name, kind.what, len(found), kind.operations(kernel), kind.is_wanted(kernel))
