"""The records of algorithms: what a call did, by which instruction, and what has to be awaited.

>>> print(Issued("fill", None))
fill, over at once
"""

from __future__ import annotations

from dataclasses import dataclass

from .dispatch import Choice


@dataclass(frozen=True)
class Issued:
    """A call of an algorithm: the instruction that moves its elements, None where memory spaces are unknown."""

    what: str
    choice: Choice | None

    @property
    def waits(self) -> tuple[str, ...]:
        """The waits between the call and a read of its result."""
        return () if self.choice is None else self.choice.waits

    def __str__(self) -> str:
        by = f" by {self.choice.atom}" if self.choice is not None and self.choice.atoms else ""
        return f"{self.what}{by}, over {'after: ' + ', then '.join(self.waits) if self.waits else 'at once'}"
