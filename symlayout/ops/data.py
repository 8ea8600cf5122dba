"""Operations that move and compute: copies, products, arithmetic on registers, exchanges between lanes, names."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from ..atoms.access import AccessKind, Extent, Issuer, MemorySpace, Proxy
from ..atoms.atom import Atom, MatrixCopy, MmaAtom, values_of
from ..atoms.cache import CachePolicy
from ..atoms.functions import FUNCTIONS
from ..atoms.ldmatrix import ROW_BYTES
from ..errors import LayoutError
from ..expr import Fact, Int, Symbol, integer
from ..facts import ranges
from ..int_tuple import text
from .op import WARP, ByAtom, Op, expect_word
from .operands import Box, Matrix, Operand, Param, Ref, Slot
from .prefetches import with_policy
from .touch import Touch

READ, WRITE = AccessKind.READ, AccessKind.WRITE
REGISTER, SHARED = MemorySpace.REGISTER, MemorySpace.SHARED

SHUFFLES = ("idx", "up", "down", "bfly")  # shfl.sync: from lane n, n below, n above, at the distance xor n
FOLDS = ("add", "mul", "min", "max")  # functions of ``semantics.maps`` that a reduction applies
USUAL_NAN = 0x7FF8000000000000  # the bits of float("nan")


@dataclass(frozen=True)
class Copy(ByAtom):
    """Move data by an atom; an asynchronous load completes on *barrier*, a multicast goes to the CTAs of a mask.

    *bytes* is an operand of bulk copies only: how many they move. A *cache* policy changes no value. *when* is one of
    cp.async only: where one of these facts does not hold for a thread, it reads nothing and writes zeros (PTX ISA,
    cp.async: src-size).
    """

    src: Operand
    dst: Operand
    barrier: Slot | None = None
    multicast: Int | None = None
    bytes: Int | None = None
    cache: CachePolicy | None = None
    when: tuple[Fact, ...] = ()

    @property
    def box(self) -> Box | None:
        """The box of a tensor map that it moves, if it does."""
        return self.src if isinstance(self.src, Box) else self.dst if isinstance(self.dst, Box) else None

    def _touched(self) -> Iterator[Touch]:
        row, box = self.row, self.box
        if row is None:
            yield Touch(self.src, READ, box=box)
            yield Touch(self.dst, WRITE, box=box)
            return
        for place, kind, space in ((self.src, READ, row.src), (self.dst, row.change, row.dst)):
            yield Touch(
                place,
                kind,
                space,
                Proxy.GENERIC if space is REGISTER else row.proxy,
                row.completion,
                None if kind is READ else row.reduction,
                elements=row.held if isinstance(row, MatrixCopy) and space is REGISTER else None,
                bytes=self._bytes(row, space),
                box=box,
            )

    def _bytes(self, row: Atom, space: MemorySpace) -> Int | None:
        """The access of a thread to a memory space, if bytes say it."""
        if isinstance(row, MatrixCopy):
            return None if space is REGISTER else ROW_BYTES
        return row.bytes if row.extent is Extent.INSTRUCTION else self.bytes

    def __str__(self) -> str:
        end = f" {self.bytes} B" if self.bytes is not None else ""
        end += f" on {self.barrier}" if self.barrier else ""
        end += f" to CTAs {self.multicast}" if self.multicast is not None else ""
        end += f" if {' and '.join(map(str, self.when))}, else 0" if self.when else ""
        return f"{self.atom} {self.src} -> {self.dst}{end}{with_policy(self.cache)}"


@dataclass(frozen=True)
class Mma(ByAtom):
    """acc += a b by an atom; *zero* (an expression that is 0 or 1) makes it acc = a b."""

    a: Ref | Matrix
    b: Ref | Matrix
    acc: Ref
    zero: Int = 0

    def _touched(self) -> Iterator[Touch]:
        row = self.row
        layouts = row.words if isinstance(row, MmaAtom) else (None, None, None)
        for x, kind, tv in zip((self.a, self.b, self.acc), (READ, READ, WRITE), layouts, strict=True):
            if isinstance(x, Matrix):
                proxy = Proxy.GENERIC if row is None else row.proxy
                yield Touch(x.start, kind, SHARED, proxy, self.completion, matrix=x)
            else:
                held = None if tv is None else values_of(tv)
                yield Touch(x, kind, REGISTER, completion=self.completion, elements=held)

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

    def _touched(self) -> Iterator[Touch]:
        row = FUNCTIONS.get(self.function)
        counts = (0,) * len(self.srcs) if row is None or len(row.counts) != len(self.srcs) else row.counts
        for x, n in zip(self.srcs, counts, strict=True):
            if isinstance(x, Ref):
                yield Touch(x, READ, REGISTER, elements=n or self.count)
        yield Touch(self.dst, WRITE, REGISTER, elements=self.count)

    def __str__(self) -> str:
        return f"{self.function} {', '.join(map(str, self.srcs))} -> {self.dst} x{self.count}"


@dataclass(frozen=True)
class Fill(Op):
    """dst[i] = value for *count* elements of each thread."""

    dst: Ref
    value: float = 0
    count: int = 1

    def _touched(self) -> Iterator[Touch]:
        yield Touch(self.dst, WRITE, elements=self.count)

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
        super().__post_init__()
        expect_word(self.mode, SHUFFLES, "a shuffle")

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP

    def _touched(self) -> Iterator[Touch]:
        yield Touch(self.src, READ, REGISTER, elements=self.count)
        yield Touch(self.dst, WRITE, REGISTER, elements=self.count)

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
        super().__post_init__()
        expect_word(self.function, FOLDS, "a function")
        if self.count < 1 or self.lanes not in (1, 2, 4, 8, 16, WARP):
            raise LayoutError(
                f"expected a reduction of at least 1 element over 1, 2, 4, .. 32 lanes, got {self.count} over "
                f"{self.lanes}"
            )

    @property
    def issuer(self) -> Issuer:
        return Issuer.WARP if self.lanes > 1 else Issuer.THREAD

    def _touched(self) -> Iterator[Touch]:
        yield Touch(self.src, READ, REGISTER, elements=self.count)
        yield Touch(self.dst, WRITE, REGISTER, elements=1)

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

    def _touched(self) -> Iterator[Touch]:
        yield Touch(self.src, READ, MemorySpace.GLOBAL, elements=1)

    @property
    def stated(self) -> str:
        """The contract of the data, in words."""
        low, high = cast(Int, self.name.lower), cast(Int, self.name.upper)
        return f"{self.name} = {self.src} within {text((low, integer(high + 1)))}"

    def __str__(self) -> str:
        return f"let {self.stated}"
