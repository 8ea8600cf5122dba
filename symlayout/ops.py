"""The operations of a kernel, as plain values: what a thread, a warp or the copy engine is asked to do.

An instruction is an atom, named by a word such as ``tma.load``; an operation says where it reads and writes. Offsets,
coordinates and slots are expressions of sizes, block and loop indices, and, for what each thread does, of ``thread``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, TypeAlias, cast

from .atoms.descriptor import MatrixDescriptor
from .errors import LayoutError
from .expr import Expr, Fact, Int, Symbol, dim, integer
from .expr.partial_results import comparison
from .facts import ranges
from .int_tuple import text

PROXIES = ("async", "mbarrier_init", "wgmma")  # what a fence is about
GROUPS = ("cp.async", "bulk", "wgmma")  # what can be committed and waited for
SHUFFLES = ("idx", "up", "down", "bfly")  # shfl.sync: from lane n, n below, n above, at the distance xor n
FOLDS = ("add", "mul", "min", "max")  # functions of ``semantics.maps`` that a reduction applies
ELECTIONS = ("elect.sync", "lane 0")  # what chooses the one lane of a warp
WARP = 32  # lanes
USUAL_NAN = 0x7FF8000000000000  # the bits of float("nan")


@dataclass(frozen=True)
class Ref:
    """A place in a tensor of the kernel: the element at *offset* of its memory."""

    tensor: str
    offset: Int = 0

    def __str__(self) -> str:
        return self.tensor if type(self.offset) is int and self.offset == 0 else f"{self.tensor}[{self.offset}]"


@dataclass(frozen=True)
class Box:
    """The box of a tensor map that starts at a coordinate, innermost first."""

    tensor_map: str
    coordinate: tuple[Int, ...]

    def __str__(self) -> str:
        return f"{self.tensor_map}{text(self.coordinate)}"


@dataclass(frozen=True)
class Slot:
    """One mbarrier of an array of them."""

    barrier: str
    slot: Int = 0

    def __str__(self) -> str:
        return f"{self.barrier}[{self.slot}]"


@dataclass(frozen=True)
class Param:
    """A scalar parameter of the kernel, as an operand of ``Map``: one number for all threads and elements."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Matrix:
    """A shared-memory operand of wgmma: it begins at *start*, and *descriptor* says how it lies from there.

    The descriptor counts from the start, so its own start is 0. ``thread`` in the offset is the same for a warpgroup.
    """

    start: Ref
    descriptor: MatrixDescriptor

    def __post_init__(self) -> None:
        if self.descriptor.start_bytes:
            raise LayoutError(f"expected a descriptor that begins at 0, got {self.descriptor}; move {self.start}")

    def __str__(self) -> str:
        return f"{self.start} ({self.descriptor.major}-major, {self.descriptor.terms})"


Operand: TypeAlias = "Ref | Box"


@dataclass(frozen=True)
class Op:
    """The base of all operations. ``str`` is the line of the operation, ``body`` what stands inside it."""

    word: ClassVar[str] = ""

    @property
    def body(self) -> tuple[Op, ...]:
        return ()

    def with_body(self, body: tuple[Op, ...]) -> Op:
        """The operation around another body."""
        return replace(self, inside=body) if self.body else self  # type: ignore[call-arg]

    def walk(self) -> Iterator[Op]:
        """The operation and all inside it, in order."""
        yield self
        for op in self.body:
            yield from op.walk()

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The text of the operation, two spaces a level."""
        yield "  " * depth + str(self)
        for op in self.body:
            yield from op.lines(depth + 1)


# -- data -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy(Op):
    """Move data by an atom; an asynchronous load completes on *barrier*, a multicast goes to the CTAs of a mask.

    *bytes* is an operand of bulk copies only: how many they move.
    """

    atom: str
    src: Operand
    dst: Operand
    barrier: Slot | None = None
    multicast: Int | None = None
    bytes: Int | None = None

    def __str__(self) -> str:
        end = f" {self.bytes} B" if self.bytes is not None else ""
        end += f" on {self.barrier}" if self.barrier else ""
        end += f" to CTAs {self.multicast}" if self.multicast is not None else ""
        return f"{self.atom} {self.src} -> {self.dst}{end}"


@dataclass(frozen=True)
class Mma(Op):
    """acc += a b by an atom; *zero* (an expression that is 0 or 1) makes it acc = a b."""

    atom: str
    a: Ref | Matrix
    b: Ref | Matrix
    acc: Ref
    zero: Int = 0

    def __str__(self) -> str:
        clear = "" if type(self.zero) is int and self.zero == 0 else f" (from zero where {self.zero})"
        return f"{self.atom} {self.acc} += {self.a} * {self.b}{clear}"


@dataclass(frozen=True)
class Map(Op):
    """dst[i] = function(src[i], ...) for *count* elements of each thread; functions are those of ``semantics.maps``.

    A scalar parameter among the sources is the same number for every i.
    """

    function: str
    srcs: tuple[Ref | Param, ...]
    dst: Ref
    count: int = 1

    def __str__(self) -> str:
        return f"{self.function} {', '.join(map(str, self.srcs))} -> {self.dst} x{self.count}"


@dataclass(frozen=True)
class Fill(Op):
    """dst[i] = value for *count* elements of each thread."""

    dst: Ref
    value: float = 0
    count: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.value, bool) or not isinstance(self.value, Real):
            raise LayoutError(f"expected a number to fill {self.dst} with, got {self.value!r}")

    def __str__(self) -> str:
        return f"fill {self.dst} x{self.count} with {number_text(self.value)}"


def number_text(x: float) -> str:
    """A number with as many digits as tell it from others: 0, 0.5, 1.0000004; a NaN that is not the usual one in hex.

    >>> print(number_text(1.0), number_text(1.0000004), number_text(-0.0), number_text(1e-8), number_text(2**60 + 1))
    1 1.0000004 -0 1e-08 1152921504606846977
    """
    if isinstance(x, int):
        return str(x)
    if x != x:
        bits = struct.unpack(">Q", struct.pack(">d", x))[0]
        return "nan" if bits == USUAL_NAN else f"nan({bits:#x})"
    return f"{x:g}" if float(f"{x:g}") == x else repr(float(x))


@dataclass(frozen=True)
class Shuffle(Op):
    """dst[i] = src[i] of another lane of the warp, for *count* elements of each: shfl.sync by all 32 lanes.

    The other lane is *lane* (idx), this one less *lane* (up) or more (down), or this one xor *lane* (bfly); where up
    and down leave the warp it is this one. ``lane`` is 0 .. 31 and may differ from thread to thread (PTX ISA, shfl).
    """

    mode: str
    src: Ref
    dst: Ref
    lane: Int
    count: int = 1

    def __post_init__(self) -> None:
        _expect(self.mode, SHUFFLES, "a shuffle")

    def __str__(self) -> str:
        return f"shfl.{self.mode} {self.src} -> {self.dst} x{self.count} by {self.lane}"


@dataclass(frozen=True)
class Reduce(Op):
    """dst = the fold of *count* elements of each thread, then of *lanes* neighbouring lanes, which all get it.

    The order is part of the operation, so that its bits are: a thread folds from its first element on; then it joins
    its number with that of the lane at distance lanes/2, lanes/4, .. 1, as shfl.bfly and the function would. With more
    than one lane all 32 of a warp issue it.
    """

    function: str
    src: Ref
    dst: Ref
    count: int = 1
    lanes: int = 1

    def __post_init__(self) -> None:
        _expect(self.function, FOLDS, "a function")
        if self.count < 1 or self.lanes not in (1, 2, 4, 8, 16, WARP):
            raise LayoutError(
                f"expected a reduction of at least 1 element over 1, 2, 4, .. 32 lanes, got {self.count} over "
                f"{self.lanes}"
            )

    def __str__(self) -> str:
        over = f" over {self.lanes} lanes" if self.lanes > 1 else ""
        return f"reduce {self.function} {self.src} x{self.count}{over} -> {self.dst}"


# -- names ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Let(Op):
    """A name for an expression in what follows in this body; provers and runs see the expression."""

    name: Symbol
    value: Int

    def __str__(self) -> str:
        return f"let {self.name} = {self.value}"


@dataclass(frozen=True)
class LoadIndex(Op):
    """An integer read from global memory in what follows in this body: all that is known of it is its contract.

    The contract is the range of the symbol *name*. Proofs are for every value in it; a run reads the value, and
    faults where the data break it.
    """

    name: Symbol
    src: Ref

    @property
    def contract(self) -> tuple[Fact, ...]:
        """The bounds of the value as facts."""
        return tuple(ranges((self.name,)))

    def __str__(self) -> str:
        low, high = cast(Int, self.name.lower), cast(Int, self.name.upper)
        return f"let {self.name} = {self.src} within {text((low, integer(high + 1)))}"


# -- order ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrive(Op):
    """mbarrier.arrive by each thread that is here, at this CTA's barrier or that of a *peer* in the cluster."""

    barrier: Slot
    peer: Int | None = None

    def __str__(self) -> str:
        return f"arrive {self.barrier}" + ("" if self.peer is None else f" of CTA {self.peer}")


@dataclass(frozen=True)
class ExpectTx(Op):
    """mbarrier.arrive.expect_tx: arrive, and let the phase await this many bytes."""

    barrier: Slot
    bytes: Int

    def __str__(self) -> str:
        return f"expect_tx {self.barrier} {self.bytes} B"


@dataclass(frozen=True)
class Wait(Op):
    """mbarrier.try_wait.parity until the phase of this parity is over."""

    barrier: Slot
    parity: Int

    def __str__(self) -> str:
        return f"wait {self.barrier} parity {self.parity}"


@dataclass(frozen=True)
class Barrier(Op):
    """bar.sync *number*: the *threads* of the CTA that use it meet."""

    number: int = 0
    threads: int = 0  # 0 for all of the CTA

    def __str__(self) -> str:
        return f"barrier {self.number}" + (f" of {self.threads} threads" if self.threads else "")


@dataclass(frozen=True)
class WarpBarrier(Op):
    """bar.warp.sync of the full mask: all lanes of each warp that is here meet, and know what each of them did."""

    def __str__(self) -> str:
        return "warp barrier"


@dataclass(frozen=True)
class ClusterBarrier(Op):
    """barrier.cluster.arrive and wait: all threads of the cluster meet."""

    def __str__(self) -> str:
        return "cluster barrier"


@dataclass(frozen=True)
class Fence(Op):
    """A fence of one of PROXIES."""

    about: str

    def __post_init__(self) -> None:
        _expect(self.about, PROXIES, "a fence")

    def __str__(self) -> str:
        return f"fence {self.about}"


@dataclass(frozen=True)
class Commit(Op):
    """What was issued since the last commit becomes a group."""

    group: str

    def __post_init__(self) -> None:
        _expect(self.group, GROUPS, "a group")

    def __str__(self) -> str:
        return f"commit {self.group}"


@dataclass(frozen=True)
class WaitGroup(Op):
    """Wait until at most *pending* groups are under way; with *read* only until their sources have been read.

    Raises LayoutError for *read* of other than bulk groups, for which PTX has no such wait.
    """

    group: str
    pending: int = 0
    read: bool = False

    def __post_init__(self) -> None:
        _expect(self.group, GROUPS, "a group")
        if self.read and self.group != "bulk":
            raise LayoutError(f"expected a wait for reads of bulk groups, got one of {self.group} groups")

    def __str__(self) -> str:
        return f"wait_group{'.read' if self.read else ''} {self.group} {self.pending}"


def _expect(x: str, known: tuple[str, ...], what: str) -> None:
    if x not in known:
        raise LayoutError(f"expected {what} of {', '.join(known)}, got {x!r}")


# -- structure ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class For(Op):
    """The body for each value of *index*, an index 0 <= i < n; n may depend on the block."""

    index: Symbol
    inside: tuple[Op, ...]

    @property
    def extent(self) -> Int:
        return integer(cast(Int, self.index.upper) + 1)

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        return f"for {self.index} < {self.extent}:"


@dataclass(frozen=True)
class If(Op):
    """The body where all facts hold; of facts about ``thread``, for the threads where they do."""

    condition: tuple[Fact, ...]
    inside: tuple[Op, ...]

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        return f"if {' and '.join(str(comparison(f)) for f in self.condition)}:"


@dataclass(frozen=True)
class Elect(Op):
    """The body by one thread of the first warp that is here, or by one of each warp.

    *by* is what chooses it, one of ELECTIONS: ``elect.sync`` of the full mask, which takes the same lane each time and
    does not say which (PTX ISA, elect.sync), or a comparison with lane 0. All 32 lanes of the warp come to either: the
    first waits for them, and of some lanes none need be lane 0 (``WellFormed``). Neither orders memory between lanes:
    what the others did before is known to the one only behind a barrier of the warp; see ``docs/memory_model.md``.

    >>> print(Elect((), each_warp=True), Elect((), by="lane 0"))
    elect one of each warp: elect lane 0:

    Raises LayoutError for anything else that chooses.
    """

    inside: tuple[Op, ...]
    each_warp: bool = False
    by: str = ELECTIONS[0]

    def __post_init__(self) -> None:
        _expect(self.by, ELECTIONS, "an election")

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    def __str__(self) -> str:
        which = "one" if self.by == ELECTIONS[0] else self.by
        return f"elect {which}{' of each warp' if self.each_warp else ''}:"


@dataclass(frozen=True)
class Role(Op):
    """What some warps of the CTA do, and how many registers each of their threads keeps (0: as launched)."""

    name: str
    first_warp: int
    warps: int
    inside: tuple[Op, ...]
    registers: int = 0

    @property
    def body(self) -> tuple[Op, ...]:
        return self.inside

    @property
    def threads(self) -> int:
        return 32 * self.warps

    def __str__(self) -> str:
        last = self.first_warp + self.warps - 1
        which = f"warp {last}" if self.warps == 1 else f"warps {self.first_warp} .. {last}"
        return f"role {self.name}, {which}{f', {self.registers} registers' if self.registers else ''}:"


def edited(ops: tuple[Op, ...], change: Callable[[Op], Iterable[Op]]) -> tuple[Op, ...]:
    """The operations with each, from the inside out, replaced by those that *change* makes of it.

    >>> edited((Fence("async"), Elect((Fence("async"),))), lambda op: [] if isinstance(op, Fence) else [op])
    (Elect(inside=(), each_warp=False, by='elect.sync'),)
    """
    return tuple(new for op in ops for new in change(op.with_body(edited(op.body, change))))


def named(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """The operations without ``Let``, whose names are replaced by what they stand for.

    >>> from symlayout import dim, index
    >>> i, x = index("i", 4), dim("x", at_least=None, at_most=None)
    >>> print(*named((Let(x, 2 * i), Fill(Ref("r", x + 1)))))
    fill r[2*i + 1] x1 with 0
    """
    out: list[Op] = []
    for k, op in enumerate(ops):
        if isinstance(op, Let):
            return (*out, *named(rewritten(ops[k + 1 :], substitution({op.name: op.value}))))
        out.append(op.with_body(named(op.body)))
    return tuple(out)


def substitution(env: Mapping[Any, Int]) -> Callable[[Any], Any]:
    """Put values in for symbols, also in the ranges of other symbols, which keep their names.

    >>> from symlayout import dim, index
    >>> n = dim("n")
    >>> print(substitution({n: 4})(2 * index("i", n) + n), substitution({n: 4})(index("i", n)).upper)
    2*i + 4 3
    """

    def put(x: Any) -> Any:
        if isinstance(x, Symbol):
            return moved(x)
        known = {s: to for s in getattr(x, "symbols", ()) if (to := moved(s)) is not s}
        return x.subs(known) if known else x

    def moved(s: Symbol) -> Any:
        if s in env:
            return env[s]
        if isinstance(s.lower, Expr) or isinstance(s.upper, Expr):
            return dim(s.name, at_least=put(s.lower), at_most=put(s.upper), multiple_of=s.multiple)
        return s

    return put


def rewritten(op: Any, change: Any) -> Any:
    """The operation, operand or tuple of them with each expression and fact *change*d, indices included."""
    if isinstance(op, tuple):
        return tuple(rewritten(x, change) for x in op)
    if isinstance(op, Expr | Fact):
        return change(op)
    if isinstance(op, Op | Ref | Param | Matrix | Box | Slot):
        return type(op)(**{f.name: rewritten(getattr(op, f.name), change) for f in fields(op)})
    return op
