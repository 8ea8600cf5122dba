"""The words in which instructions say what they do to memory: where, how, through which proxy, until when, together.

    >>> MemorySpace("shared"), Proxy.ASYNC, f"{Completion.CP_ASYNC}"
    ('shared', 'async', 'cp.async')
    >>> Completion.CP_ASYNC.is_group, Completion.MBARRIER.is_group, Issuer.WARPGROUP.threads
    (True, False, 128)
    >>> print(Reduction("add", DType.of("f32")))
    add of f32

Each word is a string too: it reads, sorts and serialises as that, so texts and digests do not tell the two apart.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, StrEnum

from ..dtype import DType
from ..tma import TmaType


class Word(StrEnum):
    """An enumeration of strings: its members are written as these."""

    def __repr__(self) -> str:
        return repr(self.value)

    def __serial__(self) -> str:
        return json.dumps(self.value)


class MemorySpace(Word):
    """The place of data: memory of the device, of a CTA, or the registers of a thread."""

    GLOBAL = "global"
    SHARED = "shared"
    REGISTER = "register"


class Proxy(Word):
    """The path to memory: a fence orders accesses of one path with those of the other (PTX ISA, Proxies)."""

    GENERIC = "generic"
    ASYNC = "async"


class Completion(Word):
    """The completion mechanism of an operation: none if it completes at once, an mbarrier, or a wait for its group."""

    AT_ONCE = ""
    MBARRIER = "mbarrier"
    CP_ASYNC = "cp.async"
    BULK = "bulk"
    WGMMA = "wgmma"

    @property
    def is_group(self) -> bool:
        """Whether operations are committed as a group that can be waited for."""
        return self not in (Completion.AT_ONCE, Completion.MBARRIER)


class AccessKind(Word):
    """The effect on a place: its value is read, replaced, or combined with another by a ``Reduction``."""

    READ = "read"
    WRITE = "write"
    REDUCE = "reduce"

    @property
    def changes(self) -> bool:
        """Whether the place may hold another value afterwards."""
        return self is not AccessKind.READ


class Extent(Word):
    """The source of the number of bytes that an instruction moves."""

    INSTRUCTION = "instruction"  # so many bytes for each thread
    SHAPE = "shape"  # its tile, spread over its threads
    BOX = "box"  # of a tensor map
    OPERAND = "operand"  # a number of bytes


class Combines(Word):
    """The number that an element of A and one of B add to a sum: their product, or 1 where bits and, or xor, to 1."""

    PRODUCT = "product"
    AND = "and"
    XOR = "xor"


class Issuer(Enum):
    """Who issues an operation together; all of these threads have to come to it (PTX ISA, ``.aligned``)."""

    THREAD = 1
    WARP = 32
    WARPGROUP = 128

    @property
    def threads(self) -> int:
        return self.value


@dataclass(frozen=True)
class Reduction:
    """A function by which values are combined with those in memory, as numbers of a type.

    No type stands where the tensor map of the operation says it. Two reductions may come in any order where they are
    equal: additions of floats and of integers to the same bytes are two.
    """

    function: str
    dtype: DType | TmaType | None = None
    flushes: bool = False  # subnormal numbers count as 0 of their sign, going in and coming out

    def __str__(self) -> str:
        return f"{self.function} of {self.dtype}" if self.dtype else self.function
