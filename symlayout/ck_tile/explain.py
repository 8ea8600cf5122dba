"""How an index becomes an offset and a value, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import LayoutError
from ..expr import Fact
from ..int_tuple import text
from ..transforms import Embed, Unmerge
from ..transforms.merge import row_major
from .adaptor import TensorAdaptor


@dataclass(frozen=True)
class Explanation:
    """Lines of (step, what it does); text is for people."""

    lines: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        width = max(len(step) for step, _ in self.lines)
        return "\n".join(f"{step:<{width}}  {says}" for step, says in self.lines)


def explain(
    descriptor: TensorAdaptor,
    index: Sequence[int],
    buffer: Any = None,
    elements: int = 1,
    read: Callable[[int, bool], Any] | None = None,
) -> Explanation:
    """The steps of an access of integers: the shape, each transform from the top down, the buffer and the value."""
    if any(type(i) is not int for i in index) or not descriptor.static:
        raise LayoutError(f"expected numbers to explain an access, got {text(tuple(index))} of {descriptor}")
    graph = descriptor.graph
    hidden = graph.hidden(_checked(descriptor, index))
    lines = [_shape(descriptor, index)]
    for t, low, up in reversed([*graph.rows()]):
        upper, lower = (tuple(hidden[i] for i in ids) for ids in (up, low))
        if low:
            lines.append((str(t), f"{text(_plain(upper))} -> {_formula(t, upper)}{text(_plain(lower))}"))
        lines += [(f"{t} mask", _tested(f)) for f in t.valid(upper)]
    valid = all(f.value for f in graph.valid(hidden))
    if buffer is not None:
        offset: Any = hidden[graph.bottom_ids[0]]
        last = offset + elements - 1
        where = f"buffer[{offset}]" if elements == 1 else f"buffer[{offset}..{last}]"
        inside = "inside" if offset >= 0 and last < buffer.size else "outside"
        lines.append((where, f"{last} < {buffer.size}: {inside}" if valid else "not accessed: a mask is false"))
        if read is not None:
            lines.append(("value", str(read(offset, valid))))
    return Explanation(tuple(lines))


def _checked(descriptor: TensorAdaptor, index: Sequence[int]) -> tuple[int, ...]:
    if len(index) != len(descriptor.extents):
        raise LayoutError(f"expected {len(descriptor.extents)} indices, got {text(tuple(index))}")
    return tuple(index)


def _shape(descriptor: TensorAdaptor, index: Sequence[int]) -> tuple[str, str]:
    tests = ", ".join(f"{i} < {n}" for i, n in zip(index, descriptor.extents, strict=True))
    inside = all(0 <= i < n for i, n in zip(index, descriptor.extents, strict=True) if type(n) is int)
    return "shape", f"{tests}: {'inside' if inside else 'outside'} (upstream does not check it)"


def _plain(indices: tuple[Any, ...]) -> Any:
    return indices[0] if len(indices) == 1 else indices


def _formula(t: Any, upper: tuple[Any, ...]) -> str:
    """The products of strides, which say more than their sum."""
    if not isinstance(t, Embed | Unmerge):
        return ""
    strides = t.coefficients if isinstance(t, Embed) else row_major(t.lengths)
    return " + ".join(f"{u}*{c}" for u, c in zip(upper, strides, strict=True)) + " = "


def _tested(f: Fact) -> str:
    return "valid" if f.value else "not valid"
