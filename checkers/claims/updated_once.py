"""Every element of a source is combined with an output exactly once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.errors import ClaimError
from symlayout.expr import integer
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Total
from symlayout.layout import Layout
from symlayout.ops import Box, Copy, Op, Ref

from ..claim import TooLarge
from ..dataflow.updates import combined, parts_of
from .written_once import WrittenOnce


@dataclass(frozen=True)
class UpdatedOnce(WrittenOnce):
    """Each element of *tensor* is loaded once by a copy of its boxes, to be combined with *output*.

    The kernel is looked at with its loads as stores: what they load is met once. That what is loaded is combined with
    the output once for each use of the ring, at the right place, is part of ``Computes``. Threads that combine
    registers with elements count as stores to a larger tensor. It has the output once for each value of the block
    indices that choose none of its elements, and each place must be stored once. What is combined there is part of
    ``Computes``; a refutation is one of that.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_reduce_add
    >>> print(updated_once(tma_reduce_add(*dims("S M N")), "dst"))
    updated once: each element of src is combined with dst of tma_reduce_add
    """

    output: str = ""

    kind: ClassVar[str] = "updated once"

    def __str__(self) -> str:
        if self.by_threads:
            return f"{self.kind}: each element of {self.output} of {self.kernel.name} takes one value of each part"
        return f"{self.kind}: each element of {self.tensor} is combined with {self.output} of {self.kernel.name}"

    @property
    def by_threads(self) -> bool:
        """Whether threads combine what is in their registers."""
        return self.tensor == _by_part(self.output)

    def counterexample(self) -> Witness | None:
        """As of stores. Raises TooLarge of threads: the parts of a right kernel may be others."""
        if self.by_threads:
            raise TooLarge(
                "elements may take several values of a part, or none, where their sums are right all the same"
            )
        return super().counterexample()


def updates(kernel: Kernel) -> Iterator[UpdatedOnce]:
    """The claims about all outputs that a kernel combines with what it loads by boxes."""
    loaded = {
        kernel.map(op.src.tensor_map).tensor for op in kernel.walk() if isinstance(op, Copy) and isinstance(op.src, Box)
    }
    for r in kernel.results:
        fold = combined(r)
        by_boxes = isinstance(fold, Total) and fold.element.tensor in loaded
        if fold is not None and (by_boxes or _of_threads(kernel, r.tensor)):
            yield updated_once(kernel, r.tensor)


def updated_once(kernel: Any, output: str) -> UpdatedOnce:
    """The claim about an output of a kernel that states what it combines.

    Raises ClaimError for an output whose result is not ``applied(f, element(output, ...), total(...))``.
    """
    if not isinstance(kernel, Kernel):
        raise ClaimError(f"expected a kernel, got {kernel!r}")
    fold = next((combined(r) for r in kernel.results if r.tensor == output), None)
    if fold is None:
        raise ClaimError(f"expected an output with a result that combines it with a fold, got {output!r}")
    parted = by_threads(kernel, output)
    if parted is not None:
        return parted
    if not isinstance(fold, Total):
        raise ClaimError(f"expected threads that add products to {output!r}, by red.global.add, got none")
    source = fold.element.tensor

    def stored(op: Op) -> tuple[Op, ...]:
        if isinstance(op, Copy) and isinstance(op.src, Box) and kernel.map(op.src.tensor_map).tensor == source:
            return (Copy("tma.store", op.dst, op.src),)
        return (op,)

    return UpdatedOnce(replace(kernel, results=()).edited(stored), source, output=output)


def by_threads(kernel: Kernel, output: str) -> UpdatedOnce | None:
    """The claim about an output with which threads combine what is in their registers; None for another output."""
    return _in_parts(kernel.plain, output) if _of_threads(kernel, output) else None


def _of_threads(kernel: Kernel, output: str) -> tuple[Op, ...]:
    """The operations by which threads combine what is in their registers with an output."""
    return tuple(op for op in kernel.walk() if op.reduction and any(r.tensor == output for r in op.targets))


def _by_part(output: str) -> str:
    """The tensor that has an output once for each part."""
    return f"{output} by part"


def _in_parts(kernel: Kernel, output: str) -> UpdatedOnce:
    """The claim about an output that threads update, one operation after the other."""
    whole, updates = kernel.tensor(output), _of_threads(kernel, output)
    blocks = dict.fromkeys(b for op in updates for b in parts_of(kernel, op))
    extents = [n for b, n in zip(kernel.block, kernel.grid, strict=True) if b in blocks]
    room = whole.layout.cosize()
    strides = [integer(math.prod(extents[:i], start=room)) for i in range(len(extents))]
    name = _by_part(output)
    every = (*whole.layout.modes(), *zip(extents, strides, strict=True))
    modes = tuple((n, d) for n, d in every if n != 1) or ((1, 1),)
    layout = Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))

    def stored(op: Op) -> tuple[Op, ...]:
        if (
            op not in _of_threads(kernel, output)
            or not isinstance(op, Copy)
            or not isinstance(op.dst, Ref)
            or not op.row
        ):
            return (op,)
        part = sum((d * b for b, d in zip(blocks, strides, strict=True)), start=op.dst.offset)
        return (Copy(f"st.global.{op.row.bytes}", op.src, Ref(name, integer(part))),)

    made = replace(kernel, tensors=(*kernel.tensors, replace(whole, name=name, layout=layout)), results=())
    return UpdatedOnce(made.edited(stored), name, output=output)
