"""The instructions of expressions: how many code takes for each, and which loop changes their result.

>>> from symlayout import dims
>>> from symlayout.expr import interpret
>>> N, i = dims("N i")
>>> entry, loop = Upkeep(), Upkeep()
>>> term = interpret(4 * i + N + 7, Counter((entry, loop), {"i": 1}, frozenset(), 1))
>>> term.text, term.depth, str(entry), str(loop)
('(*(4, i) + *(N))', 1, '2 instructions', '1 instruction')
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from symlayout.expr import Symbol


@dataclass
class Upkeep:
    """What code does at a place beside its operations."""

    instructions: int = 0
    constants: int = 0  # and special registers, that are read and waited for
    branches: int = 0  # whose condition is waited for
    known: set[Any] = field(default_factory=set, repr=False)  # what is computed already

    def plus(self, instructions: int, constants: int) -> Upkeep:
        """With so many more."""
        return Upkeep(self.instructions + instructions, self.constants + constants, self.branches)

    def __str__(self) -> str:
        told = ((self.instructions, "instruction"), (self.constants, "constant"), (self.branches, "branch"))
        return (
            ", ".join(f"{n} {what}{('es' if what[-1] == 'h' else 's') * (n > 1)}" for n, what in told if n) or "nothing"
        )


QUOTIENT = 4  # instructions of a division by a constant that is no power of two; loops count instead (``cursors``)
STARTED = 2  # instructions, of 32 or 64 bits


class Term(NamedTuple):
    """A part of an expression as text, and how deep the loop stands that changes it: 0 for none.

    It *varies* where it differs between the copies of the body of an unrolled loop; it is *bent* where it does so by
    more than a constant that is added, which instructions take as an immediate operand.
    """

    text: str
    depth: int = 0
    constant: bool = False
    varies: bool = False
    bent: bool = False


def _shift(divisor: Term) -> bool:
    """Whether a division is a shift. Those by what is known at run time count elsewhere (``arithmetic``)."""
    return not divisor.text.isdigit() or int(divisor.text).bit_count() == 1


@dataclass
class Counter:
    """A domain of ``interpret`` that counts instructions, by the loop that changes their result.

    What the innermost loop of all changes is counted at *here*, if that is a place of its own: there code has a copy of
    it for each copy of the body.
    """

    rows: tuple[Upkeep, ...]  # before all, and of the loops around, outermost first
    depths: dict[str, int]  # of the names that they change
    immediate: frozenset[str]  # indices of unrolled loops
    copies: int  # of the body, by these
    here: Upkeep | None = None
    started: int = STARTED  # for the first value of a sum that a loop advances

    def count(self, what: str, depth: int, number: int, copied: bool = False) -> None:
        """Instructions whose result a loop changes, unless it is there already."""
        row = self.rows[depth]
        if not number or what in row.known:
            return
        row.known.add(what)
        if self.here is not None and depth == len(self.rows) - 1 and (copied or self.copies == 1):
            self.here.instructions += number
        else:
            row.instructions += number * (self.copies if copied else 1)

    def const(self, value: int) -> Term:
        return Term(str(value), constant=True)

    def symbol(self, symbol: Symbol) -> Term:
        name = symbol.name
        if name in self.immediate:
            return Term(name, constant=True, varies=True)
        return Term(name, self.depths.get(name, 0))

    def add(self, terms: list[Term]) -> Term:
        parts = [t for t in terms if not t.constant]
        varies, bent = any(t.varies for t in terms), any(t.varies for t in parts)
        text = f"({' + '.join(sorted(t.text for t in parts or terms))})"  # whatever the order in which terms stand
        depths = {t.depth for t in parts}
        fixed = sorted(t.text for t in parts if not t.depth)
        self.count(" + ".join(fixed), 0, len(fixed) - 1)
        depth = max(depths, default=0)
        self.count(text, depth, len(depths) - 1, bent)
        if depth:
            self.count(f"start of {text}", depth - 1, self.started)
        return Term(text, depth, not parts, varies, bent)

    def mul(self, factors: list[Term]) -> Term:
        parts = [t for t in factors if not t.constant]
        found = self._of("*", *sorted(factors, key=lambda t: t.text))
        if len(parts) > 1:
            self.count(found.text, found.depth, 1, found.varies)
        return found

    def _of(self, word: str, *args: Term) -> Term:
        varies, constant = any(t.varies for t in args), all(t.constant for t in args)
        text = f"{word}({', '.join(t.text for t in args)})"
        return Term(text, max(t.depth for t in args), constant, varies, varies and not constant)

    def _made(self, word: str, *args: Term) -> Term:
        found = self._of(word, *args)
        self.count(found.text, found.depth, 1, found.bent)
        return found

    def floordiv(self, a: Term, b: Term) -> Term:
        found = self._of("div", a, b)
        self.count(found.text, found.depth, 1 if found.depth or _shift(b) else QUOTIENT, found.bent)
        return found

    def xor(self, *args: Term) -> Term:
        return self._made("xor", *args)

    def minimum(self, *args: Term) -> Term:
        return self._made("min", *args)

    def maximum(self, *args: Term) -> Term:
        return self._made("max", *args)

    def bit_and(self, *args: Term) -> Term:
        return self._made("and", *args)

    def power_of_two(self, count: Term) -> Term:
        return self._made("two", count)

    def select(self, test: Term, a: Term, b: Term) -> Term:
        return self._made("if", test, a, b)
