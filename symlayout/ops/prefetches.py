"""Hints that memory will be needed soon. They change no value and order nothing.

>>> print(Prefetch("src_map"), PrefetchL2(Box("src_map", (0, 8))), PrefetchL2(Ref("src", 64), 1024), sep="; ")
prefetch src_map; prefetch.L2 src_map(0,8); prefetch.L2 src[64] 1024 B
"""

from __future__ import annotations

from dataclasses import dataclass

from ..atoms.cache import IN_L2, LINES, CachePolicy, Caching
from ..expr import Int
from .op import Op
from .operands import Box, Ref


@dataclass(frozen=True)
class Prefetch(Op):
    """prefetch.tensormap: a tensor map is brought near before the first copy that needs it. It changes no value."""

    tensor_map: str

    def __str__(self) -> str:
        return f"prefetch {self.tensor_map}"


@dataclass(frozen=True)
class PrefetchL2(Op):
    """Global memory is brought into L2: a box of a tensor map, *bytes* from a place on, or the line of each place.

    It is no access that has to be ordered: L2 is where all reads and writes of global memory meet. So ``touches`` does
    not list it. What it asks for has to be legal as that of a load: the box, units of 16 bytes, a place in the tensor
    (PTX ISA, cp.async.bulk.prefetch.tensor, cp.async.bulk.prefetch, prefetch.global.L2).
    """

    src: Ref | Box
    bytes: Int | None = None
    cache: CachePolicy | None = None

    @property
    def caching(self) -> Caching:
        """The cache policies that its instruction takes."""
        return LINES if isinstance(self.src, Ref) and self.bytes is None else IN_L2

    def __str__(self) -> str:
        size = "" if self.bytes is None else f" {self.bytes} B"
        return f"prefetch.L2 {self.src}{size}{with_policy(self.cache)}"


def with_policy(cache: CachePolicy | None) -> str:
    """The end of the line of an operation that has a cache policy."""
    return "" if cache is None else f" with {cache}"
