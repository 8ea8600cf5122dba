"""The base of all operations: its text, what stands inside it, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from ..errors import LayoutError

WARP = 32  # lanes


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


def expect_word(x: str, known: tuple[str, ...], what: str) -> None:
    if x not in known:
        raise LayoutError(f"expected {what} of {', '.join(known)}, got {x!r}")
