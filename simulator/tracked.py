"""Copies by cp.async of a team under way, and what happens once all that were begun before have landed.

>>> copies, seen = Tracked(), []
>>> first, second = copies.begun(), copies.begun()
>>> copies.behind(lambda: seen.append("both"))
>>> copies.over(second); seen
[]
>>> copies.over(first); seen
['both']
"""

from __future__ import annotations

from collections.abc import Callable


class Tracked:
    """Copies, by their number, and those who wait for some of them."""

    def __init__(self) -> None:
        self.count = 0
        self.flying: set[int] = set()
        self.waiting: list[tuple[int, Callable[[], None]]] = []  # the last copy that it waits for, what happens then

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
            action()

    def behind(self, action: Callable[[], None]) -> None:
        """Do something once all copies so far have landed, now if they have."""
        if self.flying:
            self.waiting.append((self.count, action))
        else:
            action()
