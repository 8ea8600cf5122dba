"""Copies by cp.async of a team under way, and what happens once all that were begun before have landed.

>>> class Bell:
...     rung = False
...     def come(self): self.rung = True
>>> copies, bell = Tracked(), Bell()
>>> first, second = copies.begun(), copies.begun()
>>> copies.behind(bell)
>>> copies.over(second); bell.rung
False
>>> copies.over(first); bell.rung
True
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol


class Names(Protocol):
    """Names of what is there, the same for what is alike up to the slots of rings."""

    def get(self, identity: int, /) -> Hashable:
        """That of a team, a CTA, an mbarrier or a flight; None of one that is not there."""

    def step(self, warps: Any, step: Any) -> Hashable:
        """That of a step of a team."""


class Comes(Protocol):
    """What comes once copies have landed."""

    def come(self) -> None: ...
    def state(self, now: int, names: Names) -> Hashable: ...


class Boxes:
    """How many loads by TMA are under way: at most so many, which a ring soon knows, and which settles."""

    __slots__ = ("flying", "most")

    def __init__(self) -> None:
        self.flying = self.most = 0

    def begun(self) -> None:
        """Another one is."""
        self.flying += 1
        self.most = max(self.most, self.flying)

    def over(self) -> None:
        """One has landed."""
        self.flying -= 1


class Tracked:
    """Copies, by their number, and those who wait for some of them."""

    def __init__(self) -> None:
        self.count = 0
        self.flying: set[int] = set()
        self.waiting: list[tuple[int, Comes]] = []  # the last copy that it waits for, what comes then

    def begun(self) -> int:
        """Another copy is under way: its number."""
        self.count += 1
        self.flying.add(self.count)
        return self.count

    def over(self, number: int) -> None:
        """A copy has landed."""
        self.flying.discard(number)
        first = min(self.flying, default=self.count + 1)
        due = [action for last, action in self.waiting if last < first]
        self.waiting = [(last, action) for last, action in self.waiting if last >= first]
        for action in due:
            action.come()

    def behind(self, action: Comes) -> None:
        """Let something come once all copies so far have landed, now if they have."""
        if self.flying:
            self.waiting.append((self.count, action))
        else:
            action.come()

    def state(self, now: int, names: Names) -> Hashable:
        """What is under way and who waits, by how many copies began behind."""
        waiting = [(self.count - last, action.state(now, names)) for last, action in self.waiting]
        return tuple(sorted(self.count - number for number in self.flying)), tuple(waiting)
