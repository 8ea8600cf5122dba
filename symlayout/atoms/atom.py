"""A row for an instruction: who issues it, its memory spaces, its proxy and its completion mechanism.

>>> print(atom("cp.async.16"))
cp.async.16: global -> shared, 16 bytes a thread, asynchronous, completes on cp.async groups
>>> print(atom("mma.m16n8k16.bf16").tv_c)
((4,8),(2,2)):((32,1),(16,8))
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..composition import composition
from ..dtype import DType, bf16, f16, f32, f64, i32, i64, u32, u64
from ..errors import LayoutError
from ..int_tuple import map_leaves, size
from ..layout import Layout
from ..strides import as_modes
from ..text.reader import suggestion
from .access import AccessKind, Combines, Completion, Extent, Issuer, MemorySpace, Proxy, Reduction
from .cache import IN_L2, LOADS, NOTHING, STORES, Caching, async_copies
from .table import Table

GLOBAL, SHARED, REGISTER = MemorySpace
AMPERE, HOPPER = (8, 0), (9, 0)
WORD_BITS = 32  # of a register


@dataclass(frozen=True)
class Atom:
    """An instruction. *bytes* are those that each thread moves, 0 where *extent* is another than the instruction.

    The proxy is that of its accesses to memory; registers have none. What has a *reduction* combines its source with
    what is at its target, and does not replace it.
    """

    word: str
    src: MemorySpace  # of an mma that of A
    dst: MemorySpace
    issuer: Issuer = Issuer.THREAD
    bytes: int = 0
    extent: Extent = Extent.INSTRUCTION
    proxy: Proxy = Proxy.GENERIC
    completion: Completion = Completion.AT_ONCE
    reduction: Reduction | None = None
    source: str = ""  # document and section
    align_bytes: int = 0  # of every shared-memory address that a thread gives
    since: tuple[int, int] = AMPERE  # compute capability from which on there is one; none older is described
    caching: Caching = NOTHING  # the cache policies that it takes
    made_of: tuple[tuple[tuple[int, int], str], ...] = ()  # compute capabilities whose chips run others instead: which

    @property
    def asynchronous(self) -> bool:
        return self.completion is not Completion.AT_ONCE

    @property
    def chips(self) -> str:
        """The compute capabilities that have it, and what others make of it, as text.

        >>> print(atom("mma.m16n8k64.i4").chips)
        from compute capability 8.0 on; 2 IMMA of 8 bits on 9.0, 10.0, 12.0
        """
        made: dict[str, list[str]] = {}
        for (major, minor), what in self.made_of:
            made.setdefault(what, []).append(f"{major}.{minor}")
        others = [f"{what} on {', '.join(chips)}" for what, chips in made.items()]
        return "; ".join((f"from compute capability {self.since[0]}.{self.since[1]} on", *others))

    @property
    def threads(self) -> int:
        """The number of threads that issue it together."""
        return self.issuer.threads

    @property
    def change(self) -> AccessKind:
        """Its effect on the target."""
        return AccessKind.WRITE if self.reduction is None else AccessKind.REDUCE

    @property
    def sources(self) -> str:
        """The memory spaces that it reads, as text."""
        return self.src

    def __str__(self) -> str:
        moved = f", {self.bytes} bytes a thread" if self.bytes else ""
        by = f", by {self.threads} threads" if self.threads > 1 else ""
        on = f"{self.completion} groups" if self.completion.is_group else "an mbarrier"
        how = f", asynchronous, completes on {on}" if self.asynchronous else ""
        return f"{self.word}: {self.sources} -> {self.dst}{moved}{by}{how}"


@dataclass(frozen=True, kw_only=True)
class MatrixCopy(Atom):
    """A copy that threads make together: (thread, value) to a position in rows of 8 elements, one after the other."""

    src_tv: Layout
    dst_tv: Layout
    extent: Extent = Extent.SHAPE

    @property
    def held(self) -> int:
        """Elements in the registers of each thread."""
        return values_of(self.src_tv if self.src is REGISTER else self.dst_tv)

    @property
    def row_lanes(self) -> int:
        """The number of lanes that give the address of a row, which has 8 elements."""
        return int((self.dst_tv if self.src is REGISTER else self.src_tv).cosize()) // 8

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those of the source and of the target, over the rows one below the other."""
        rows = self.row_lanes
        sides = (("source", self.src_tv, self.src), ("target", self.dst_tv, self.dst))
        by_column = Layout((8, rows), (rows, 1))
        return tuple(Table(side, composition(by_column, tv), (rows, 8), space) for side, tv, space in sides)


@dataclass(frozen=True, kw_only=True)
class MmaAtom(Atom):
    """A matrix product C + A B^T: (thread, value) to a position in a column-major tile.

    The tiles are (M,K) for A, (N,K) for B, (M,N) for C. A thread stride of 0 says that all threads see the tile.
    Elements of less than a byte lie side by side along k in words of 32 bits, the first in the lowest bits: registers
    of such an operand are u32, and ``words`` deals these.
    """

    src_b: MemorySpace
    mnk: tuple[int, int, int]
    dtype: DType  # of A
    dtype_b: DType
    acc_dtype: DType  # of C
    tv_a: Layout
    tv_b: Layout
    tv_c: Layout
    combines: Combines = Combines.PRODUCT
    extent: Extent = Extent.SHAPE
    launch_registers: int = 0  # of a thread: a launch with fewer has an instruction that the assembler refuses

    @property
    def packed(self) -> int:
        """Elements of A, and of B, in one register: more than 1 where they have less than a byte."""
        return 1 if self.dtype.bits >= 8 else WORD_BITS // self.dtype.bits

    @property
    def types(self) -> tuple[DType, DType, DType]:
        """Those of the elements of A, B and C."""
        return self.dtype, self.dtype_b, self.acc_dtype

    @property
    def product(self) -> str:
        """The product of two words, as ``specification.PackedDot`` says it; "" where registers hold one element."""
        ends = self.word.split(".")[2:]
        return ".".join(ends) if self.packed > 1 else ""

    @property
    def held(self) -> tuple[DType, DType, DType]:
        """The types of the registers of A, B and C."""
        return (u32, u32, self.acc_dtype) if self.packed > 1 else self.types

    @property
    def in_words(self) -> tuple[int, int, int]:
        """M, N and the registers' K: K over *packed*."""
        m, n, k = self.mnk
        return m, n, k // self.packed

    @property
    def words(self) -> tuple[Layout, Layout, Layout]:
        """(thread, register) of A, B and C to a position in a tile of *in_words*."""
        m, n, _ = self.mnk
        return _words(self.tv_a, m, self.packed), _words(self.tv_b, n, self.packed), self.tv_c

    @property
    def sources(self) -> str:
        return ", ".join(dict.fromkeys((self.src, self.src_b)))

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those of A, B and C."""
        m, n, k = self.mnk
        return (
            Table("A", self.tv_a, (m, k), self.src),
            Table("B", self.tv_b, (n, k), self.src_b),
            Table("C", self.tv_c, (m, n), self.dst),
        )


@functools.cache
def _words(tv: Layout, rows: int, packed: int) -> Layout:
    """A table of elements as one of the words that hold *packed* neighbours along k, the first mode of the values."""
    if packed == 1:
        return tv
    threads, (_, *rest) = tv.shape[0], as_modes(tv.shape[1])
    strides, (_, *further) = tv.stride[0], as_modes(tv.stride[1])

    def moved(d: Any) -> Any:
        return map_leaves(lambda x: x if x < rows else x // packed, d)

    values = (tuple(rest), moved(tuple(further))) if len(rest) > 1 else (rest[0], moved(further[0])) if rest else (1, 0)
    return Layout((threads, values[0]), (moved(strides), values[1]))


def values_of(tv: Layout) -> int:
    """The values of one thread in a layout of (thread, value)."""
    return int(size(tv.shape[1]))


VECTORS = (1, 2, 4, 8, 16)  # bytes of one access

# PTX ISA, red: functions, the type as it is written, bytes of a thread, type of the elements, since which architecture.
# There is no addition of i64, which is that of u64. Additions of f32 in global memory flush subnormal numbers; those of
# 16-bit floats (.noftz) do not.
RED = (
    *((("add", "min", "max"), kind.name, kind.bytes, kind, AMPERE) for kind in (u32, i32, u64)),
    (("min", "max"), "i64", 8, i64, AMPERE),
    *((("and", "or", "xor"), word, kind.bytes, kind, AMPERE) for word, kind in (("b32", u32), ("b64", u64))),
    *((("add",), kind.name, kind.bytes, kind, AMPERE) for kind in (f16, f32, f64)),
    (("add",), "f16x2", 4, f16, AMPERE),
    *((("add",), word, nbytes, bf16, HOPPER) for word, nbytes in (("bf16", 2), ("bf16x2", 4))),
    *((("add",), f"v{n}.f32", 4 * n, f32, HOPPER) for n in (2, 4)),
)

ROWS = (
    *(Atom(f"ld.global.{n}", GLOBAL, REGISTER, bytes=n, source="PTX ISA, ld", caching=LOADS) for n in VECTORS),
    *(Atom(f"st.global.{n}", REGISTER, GLOBAL, bytes=n, source="PTX ISA, st", caching=STORES) for n in VECTORS),
    *(Atom(f"ld.shared.{n}", SHARED, REGISTER, bytes=n, source="PTX ISA, ld") for n in VECTORS),
    *(Atom(f"st.shared.{n}", REGISTER, SHARED, bytes=n, source="PTX ISA, st") for n in VECTORS),
    *(
        Atom(
            f"cp.async.{n}",
            GLOBAL,
            SHARED,
            bytes=n,
            completion=Completion.CP_ASYNC,
            source="PTX ISA, cp.async",
            caching=async_copies(n),
        )
        for n in (4, 8, 16)
    ),
    *(
        Atom(
            f"red.global.{function}.{word}",
            REGISTER,
            GLOBAL,
            bytes=nbytes,
            reduction=Reduction(function, dtype, flushes=function == "add" and dtype is f32),
            source="PTX ISA, red",
            since=since,
            caching=IN_L2,
        )
        for functions, word, nbytes, dtype, since in RED
        for function in functions
    ),
    Atom(
        word="tma.load",
        src=GLOBAL,
        dst=SHARED,
        extent=Extent.BOX,
        proxy=Proxy.ASYNC,
        completion=Completion.MBARRIER,
        source="PTX ISA, cp.async.bulk.tensor",
        since=HOPPER,
        caching=IN_L2,
    ),
    Atom(
        word="tma.store",
        src=SHARED,
        dst=GLOBAL,
        extent=Extent.BOX,
        proxy=Proxy.ASYNC,
        completion=Completion.BULK,
        source="PTX ISA, cp.async.bulk.tensor",
        since=HOPPER,
        caching=IN_L2,
    ),
    *(
        Atom(
            word=f"tma.reduce.{op}",
            src=SHARED,
            dst=GLOBAL,
            extent=Extent.BOX,
            proxy=Proxy.ASYNC,
            completion=Completion.BULK,
            reduction=Reduction(op),
            source="PTX ISA, cp.reduce.async.bulk.tensor",
            since=HOPPER,
            caching=IN_L2,
        )
        for op in ("add", "min", "max")
    ),
)

ATOMS: dict[str, Atom] = {a.word: a for a in ROWS}  # with the rows of the other files of this package


def add_atoms(rows: Iterable[Atom]) -> None:
    """Put rows into the table. Raises LayoutError for a word that it has already."""
    for row in rows:
        if ATOMS.setdefault(row.word, row) is not row:
            raise LayoutError(f"expected a new word for an atom, got {row.word!r} twice")


def atom(word: str) -> Atom:
    """The row of an instruction. Raises LayoutError for a word that has none."""
    if not isinstance(word, str) or word not in ATOMS:
        kinds = ", ".join(dict.fromkeys(w.split(".")[0] for w in ATOMS))
        raise LayoutError(f"expected an atom (of {kinds}), got {word!r}{suggestion(str(word), ATOMS)}")
    return ATOMS[word]
