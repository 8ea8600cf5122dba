"""Every element of a source is combined with an output exactly once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from symlayout.errors import ClaimError
from symlayout.kernel import Kernel
from symlayout.ops import Box, Copy, Op

from ..dataflow.updates import combined
from .written_once import WrittenOnce


@dataclass(frozen=True)
class UpdatedOnce(WrittenOnce):
    """Each element of *tensor* is loaded once by a copy of its boxes, to be combined with *output*.

    The kernel is looked at with its loads as stores: what they load is met once. That what is loaded is combined with
    the output once for each use of the ring, at the right place, is part of ``Computes``.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_reduce_add
    >>> print(updated_once(tma_reduce_add(*dims("S M N")), "dst"))
    updated once: each element of src is combined with dst of tma_reduce_add
    """

    output: str = ""

    kind: ClassVar[str] = "updated once"

    def __str__(self) -> str:
        return f"{self.kind}: each element of {self.tensor} is combined with {self.output} of {self.kernel.name}"


def updates(kernel: Kernel) -> Iterator[UpdatedOnce]:
    """The claims about all outputs that a kernel combines with what it loads by boxes."""
    loaded = {
        kernel.map(op.src.tensor_map).tensor for op in kernel.walk() if isinstance(op, Copy) and isinstance(op.src, Box)
    }
    for r in kernel.results:
        fold = combined(r)
        if fold is not None and fold.element.tensor in loaded:
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
    source = fold.element.tensor

    def stored(op: Op) -> tuple[Op, ...]:
        if isinstance(op, Copy) and isinstance(op.src, Box) and kernel.map(op.src.tensor_map).tensor == source:
            return (Copy("tma.store", op.dst, op.src),)
        return (op,)

    return UpdatedOnce(replace(kernel, results=()).edited(stored), source, output=output)
