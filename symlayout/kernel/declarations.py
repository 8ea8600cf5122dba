"""The declarations of a kernel: tensors, tensor maps, arrays of mbarriers, scalar parameters, rings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..atoms.access import MemorySpace
from ..dtype import DType
from ..errors import LayoutError
from ..expr import Int, Symbol, dim, integer
from ..int_tuple import ceil_div, text
from ..layout import is_layout
from ..tma import TensorMap

AXES = "xyz"  # of a grid
BLOCKS = tuple(f"block_{axis}" for axis in AXES)  # the names of its indices
THREAD = "thread"  # the name of the index of a thread in its role
SPACES = tuple(MemorySpace)
BASE_ALIGN_BYTES = 16  # of a global tensor: what the widest access and a tensor map ask (32 with interleave 32B)


@dataclass(frozen=True)
class KernelTensor:
    """A tensor of a kernel. *layout* is in elements; shared tensors start at byte *base*, registers are per thread.

    Of a tensor in global memory three things are stated that proofs rest on and a launch checks: its base is a
    multiple of *align_bytes*, the kernel does not write it (*const*), and it shares no byte with another tensor that is
    written, those aside that *may_alias* it: they are at the same address, or apart from it.

    >>> from symlayout import bf16, dim
    >>> from symlayout import Layout, bf16, dim
    >>> print(KernelTensor("x", "global", bf16, Layout(dim("N")), align_bytes=8, const=True))
    global x: bf16 N:1, aligned to 8 bytes, const

    Raises LayoutError for another space, for a layout that is not one, and for an alignment that is not a power of
    two of whole elements.
    """

    name: str
    space: MemorySpace  # or its word
    dtype: DType
    layout: Any
    base: int = 0  # bytes into shared memory
    role: str = ""  # whose registers
    align_bytes: int = BASE_ALIGN_BYTES  # of the base pointer, in global memory
    const: bool = False  # the kernel writes no byte of it
    may_alias: tuple[str, ...] = ()  # tensors that may begin at the same byte; all others share no byte with it

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            raise LayoutError(f"expected a memory space of {', '.join(SPACES)}, got {self.space!r}")
        object.__setattr__(self, "space", MemorySpace(self.space))
        if not is_layout(self.layout):
            raise LayoutError(f"expected a layout for tensor {self.name}, got {self.layout!r}")
        stated = (self.align_bytes, self.const, self.may_alias)
        if self.space is not MemorySpace.GLOBAL and stated != (BASE_ALIGN_BYTES, False, ()):
            raise LayoutError(
                f"expected align_bytes, const and may_alias of tensors in global memory only, got {self.name} in "
                f"{self.space} memory with {stated}"
            )
        n = self.align_bytes
        whole = self.dtype.bits // 8 if self.dtype.bits % 8 == 0 else 1
        if type(n) is not int or n < 1 or n & (n - 1) or n % whole:
            wanted = f"a power of two of at least {whole}, the bytes of an element,"
            raise LayoutError(f"expected {wanted} as align_bytes of {self.name}, got {n!r}")

    @property
    def bytes(self) -> Int:
        """Bytes of memory that the tensor spans, of registers for each thread; the last need not be full."""
        bits = self.layout.cosize() * self.dtype.bits
        return integer(bits // 8 if self.dtype.bits % 8 == 0 else ceil_div(bits, 8))

    def __str__(self) -> str:
        where = f" at {self.base}" if self.space is MemorySpace.SHARED else f" of {self.role}" if self.role else ""
        return f"{self.space} {self.name}{where}: {self.dtype} {self.layout}" + "".join(self._stated())

    def _stated(self) -> Iterator[str]:
        """The stated assumptions about the base pointer that are not the default."""
        if self.align_bytes != BASE_ALIGN_BYTES:
            yield f", aligned to {self.align_bytes} bytes"
        if self.const:
            yield ", const"
        if self.may_alias:
            yield f", may alias {', '.join(self.may_alias)}"


@dataclass(frozen=True)
class Parameter:
    """A scalar parameter of a kernel, typed; it keeps *within*, both ends included, where there is one."""

    name: str
    dtype: DType
    within: tuple[float, float] | None = None

    def __str__(self) -> str:
        return f"scalar {self.name}: {self.dtype}" + (f" within {text(self.within)}" if self.within else "")


@dataclass(frozen=True)
class KernelMap:
    """A tensor map of a kernel: a launch parameter that describes a global tensor."""

    name: str
    tensor: str
    tensor_map: TensorMap

    def __str__(self) -> str:
        return f"map {self.name} of {self.tensor}: {self.tensor_map}"


@dataclass(frozen=True)
class Mbarriers:
    """An array of mbarriers; each phase awaits *arrivals* arrivals."""

    name: str
    slots: int
    arrivals: int

    def __str__(self) -> str:
        return f"mbarrier {self.name}[{self.slots}] of {self.arrivals} arrival{'s' if self.arrivals != 1 else ''}"


@dataclass(frozen=True)
class RingUse:
    """A hint for the prover: these barriers guard the slots of one ring."""

    name: str
    full: str
    empty: str
    slots: int
    bytes_per_slot: Int
    consumers: int


def declared(x: Symbol) -> str:
    """A size with what it is known to keep, as claims declare it; the usual range 1 .. 2^31 - 1 is left out.

    >>> print(declared(dim("N", multiple_of=8)), declared(dim("ld", at_least=dim("N"), at_most=4096)))
    N(multiple_of=8) ld(at_least=N, at_most=4096)
    """
    usual = dim(x.name)
    limits = (("at_least", x.lower, usual.lower), ("at_most", x.upper, usual.upper), ("multiple_of", x.multiple, 1))
    told = ", ".join(f"{word}={value}" for word, value, default in limits if value != default)
    return f"{x.name}({told})" if told else x.name


def lookup(rows: tuple[Any, ...], name: str, what: str) -> Any:
    for row in rows:
        if row.name == name:
            return row
    raise LayoutError(f"expected a {what} ({', '.join(r.name for r in rows) or 'there is none'}), got {name!r}")
