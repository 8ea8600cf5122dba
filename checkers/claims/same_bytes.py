"""A consumer finds each element of a tile at the shared address where the copy put it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from operator import mul
from typing import Any, ClassVar

import numpy as np

from symlayout.answers.report import Witness
from symlayout.atoms import DescriptorRead, LdmatrixRead
from symlayout.coordinates import idx2crd
from symlayout.errors import ClaimError
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.int_tuple import leaves, product_each, text
from symlayout.layout import ComposedLayout, Layout, is_layout
from symlayout.swizzle import Swizzle
from symlayout.tma import TensorMap
from symlayout.values import rows

from ..claim import Claim, Proof, TooLarge
from ..claim_fields import Tensor, Value
from ..exhaustive import POINTS
from .tensor_map_valid import map_over

FAR = 1 << 48  # numbers up to which 64 bits hold every sum and product here


@dataclass(frozen=True)
class SameBytes(Claim):
    """*consumer* reads the bytes that *copy* lands: for each coordinate of the tile both name one shared byte.

    *consumer* is the layout of the tile in elements, swizzled or not, as its kernel indexes it. Of a copy made by
    ``make_tma_copy`` its coordinates are those of the tile; of a bare tensor map they are those of the box, dimension
    0 first. It may also be the operand of an instruction, a ``DescriptorRead`` or an ``LdmatrixRead``. Its (row, k)
    are dimensions 1 and 0 in the box of a bare map, or 0 and 1 if it is MN-major. The tile may start at every
    multiple of *base_multiple_of* bytes (default: the swizzle's repeat). The hardware swizzles absolute addresses, a
    layout those relative to the tile, unless *absolute*.

    >>> from symlayout import ComposedLayout
    >>> box = TensorMap("bf16", 0, (1024, 1024), (2048,), (64, 128), swizzle=128)
    >>> print(SameBytes(box, ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 128), (1, 64)))))
    same bytes: box (64,128) with swizzle 128B and Sw<3,3,3> o 0 o (64,128):(1,64), bases of 1024 B
    """

    copy: Any
    consumer: Any
    base_multiple_of: int = 0
    absolute: bool = False

    kind: ClassVar[str] = "same bytes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.tensor_map, TensorMap):
            raise ClaimError(f"expected a tensor map or a copy that has one, got {self.copy!r}")
        if not self.tensor_map.rank or self.tensor_map.element_bits < 8:
            raise ClaimError(f"expected a map of rank 1 or more, of elements of whole bytes, got {self.tensor_map}")
        if not self._reads_part and (not is_layout(self.consumer) or self.consumer.has_bases):
            raise ClaimError(f"expected the consumer's layout in elements, got {self.consumer!r}")
        if isinstance(self.consumer, ComposedLayout) and not isinstance(self.consumer.outer, Swizzle):
            raise ClaimError(f"expected a swizzle outside of the consumer's layout, got {self.consumer.outer}")
        if not self.base_multiple_of:
            object.__setattr__(self, "base_multiple_of", max(128, self.tensor_map.swizzle.repeat_bytes))
        if type(self.base_multiple_of) is not int or self.base_multiple_of < 1:
            raise ClaimError(f"expected base_multiple_of in bytes, at least 1, got {self.base_multiple_of!r}")
        if self._reads_part:
            self._expect_inside()
        elif self.landing.size() != self.consumer.size():
            raise ClaimError(
                f"expected a consumer of the {self.landing.size()} elements of {self._source}, "
                f"got {self.consumer} of {self.consumer.size()}"
            )
        elif not _regrouped(self.landing.shape, self.consumer.shape):
            raise ClaimError(
                f"expected a consumer with the modes of {self._source}, split or joined, got {self.consumer}: element "
                f"i of one is another element of the other"
            )

    @classmethod
    def stated(
        cls,
        consumer: Tensor,
        dtype: str,
        box: Value,
        swizzle: int = 0,
        base_multiple_of: int = 0,
        absolute: bool = False,
    ) -> SameBytes:
        """The claim as text states it: what lands is said by the type, the box and the swizzle."""
        extents = tuple(leaves(box))
        return cls(map_over(Layout(extents), dtype, extents, swizzle=swizzle), consumer, base_multiple_of, absolute)

    @property
    def tensor_map(self) -> Any:
        """The map of the copy."""
        return getattr(self.copy, "tensor_map", self.copy)

    @property
    def landing(self) -> Layout:
        """Coordinate of the tile to bytes past its start, before the swizzle."""
        found: Layout = self.copy.landing
        return found

    @property
    def _source(self) -> str:
        m = self.tensor_map
        tile = f"box {text(m.landing.shape)}" if m is self.copy else f"tile {text(self.landing.shape)}"
        return f"{tile} with swizzle {m.swizzle}" if m.swizzle else tile

    @property
    def _reads_part(self) -> bool:
        """Whether the consumer is an instruction that reads some elements of the tile."""
        return isinstance(self.consumer, DescriptorRead | LdmatrixRead)

    def _elements(self) -> np.ndarray[Any, Any]:
        """The coordinates of the tile that an instruction reads, in the order of the landing's modes."""
        found = self.consumer.elements()
        return found[:, ::-1] if self.tensor_map is self.copy and self.consumer.major == "K" else found

    def _expect_inside(self) -> None:
        extents = product_each(self.landing.shape)
        if len(extents) != 2:
            raise ClaimError(f"expected a tile of rows and depth, got {self._source}")
        if (self._elements() >= np.array(extents)).any():
            raise ClaimError(f"expected a read inside {self._source}, got {self.consumer}")
        size = self.consumer.dtype.bytes
        if size != self._element_bytes:
            raise ClaimError(f"expected elements of {self._element_bytes} bytes, got {self.consumer.dtype}")

    def subjects(self) -> tuple[Any, ...]:
        return (self.copy, self.consumer)

    def parameters(self) -> tuple[Any, ...]:
        """The inputs of the claim: the box, never the sizes of the tensor."""
        swizzle = int(self.tensor_map.swizzle)
        return (self.landing, self.consumer, swizzle, self._element_bytes, self.base_multiple_of, self.absolute)

    def points(self) -> int:
        phases = self._phases()
        return int(self.consumer.size()) * (phases.stop // phases.step)

    def __str__(self) -> str:
        how = ", absolute" if self.absolute else ""
        return f"{self.kind}: {self._source} and {self.consumer}, bases of {self.base_multiple_of} B{how}"

    def _phases(self) -> range:
        """One base for each residue that a base may leave modulo the periods of both swizzles (T14)."""
        own = self.consumer.period if self._reads_part else self._reads().period if self.absolute else 1
        period = math.lcm(self.tensor_map.swizzle.repeat_bytes, own)
        return range(0, math.lcm(period, self.base_multiple_of), self.base_multiple_of)

    @property
    def _element_bytes(self) -> int:
        """Bytes of the unit of the consumer's offsets: the tile's elements, whatever the map calls them."""
        m = self.tensor_map
        return int(m.unit_bytes if m is self.copy else self.copy.dtype.bytes)

    def _reads(self) -> Swizzle:
        """The consumer's swizzle on bytes."""
        outer = getattr(self.consumer, "outer", Swizzle(0, 4, 3))
        shift = self._element_bytes.bit_length() - 1
        return Swizzle(outer.bits, outer.base + shift, outer.shift)

    def _addresses(self) -> Iterator[tuple[int, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """(base, address that the copy writes, address that the consumer reads), element by element."""
        landed = rows(self.landing)[:, 0]
        put = self.tensor_map.swizzle.swizzle
        if self._reads_part:
            part = landed[self._elements() @ np.array([1, product_each(self.landing.shape)[0]])]
            yield from ((base, put(base + part), self.consumer.addresses(base)) for base in self._phases())
            return
        inner = self.consumer.inner if isinstance(self.consumer, ComposedLayout) else self.consumer
        offset = self.consumer.offset if isinstance(self.consumer, ComposedLayout) else 0
        swizzle, read = self._reads(), rows(inner)[:, 0]
        if max(self._phases().stop, swizzle.period, abs(offset), *map(abs, map(int, (read.min(), read.max())))) > FAR:
            landed, read = landed.astype(object), read.astype(object)  # Python integers, exact and slow
        read = (read + offset) * self._element_bytes
        for base in self._phases():
            consumed = swizzle(base + read) if self.absolute else base + swizzle(read)
            yield base, put(base + landed), consumed

    def certify(self, facts: Facts) -> Proof | None:
        if not (self.landing.static and self.consumer.static) or self.points() > POINTS or self.counterexample():
            return None
        n = len(self._phases())
        where = f"{n} phases of the base" if n > 1 else "the one phase of the base"
        return Proof(f"enumeration of {self.consumer.size()} elements at {where}, T14")

    def counterexample(self) -> Witness | None:
        if self.points() > POINTS:
            raise TooLarge
        for base, written, read in self._addresses():
            unlike = np.flatnonzero(written != read)
            if len(unlike):
                at = self._coordinate(int(unlike[0]))
                put, got = int(written[unlike[0]]), int(read[unlike[0]])
                return Witness(
                    {}, (at,), f"with the tile at byte {base}, element {text(at)} lands at {put} and is read at {got}"
                )
        return None

    def _coordinate(self, i: int) -> Any:
        """The coordinate in the tile of the i-th element that is read."""
        if self._reads_part:
            return tuple(map(int, self.consumer.elements()[i]))
        return idx2crd(i, self.consumer.shape)

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        return iter(())

    def lemma(self, facts: Facts) -> str:
        return "each element is read where it landed"


def _regrouped(a: Any, b: Any) -> bool:
    """Whether the top-level modes of one shape are those of the other, split or joined."""
    ends, others = (
        set(itertools.accumulate(product_each(x if isinstance(x, tuple) else (x,)), mul)) - {1} for x in (a, b)
    )
    return ends <= others or others <= ends
