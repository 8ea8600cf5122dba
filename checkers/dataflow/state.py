"""The state of the walk through a kernel: loop indices, active threads, conditions, registers and shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.expr import Expr, Fact, Symbol, symbols_of
from symlayout.expr.compiled import value
from symlayout.facts import Facts
from symlayout.kernel import THREAD, Kernel, KernelTensor

from .contents import Numbers, Origins, Unknown, Words, without_constant


class Open(Exception):
    """A construct that is not followed, and why; *stale* if it is a value that an earlier iteration may have left."""

    def __init__(self, why: str, stale: bool = False) -> None:
        super().__init__(why)
        self.stale = stale


class NotKnown(Open):
    """A product, or sums to which one is added, of values that are not known: neither are the sums behind it."""


class Known:
    """Facts, and the normal forms that were found by them."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._normal: dict[Any, Any] = {}
        self._holds: dict[Any, bool | None] = {}

    def holds(self, x: Any) -> bool | None:
        """Whether an expression is at least 0, found once; None where it is not known."""
        if x not in self._holds:
            self._holds[x] = self.facts.holds(Fact(x, ">="))
        return self._holds[x]

    def normal(self, x: Any) -> Any:
        """``Facts.normal``, found once for each expression."""
        if not isinstance(x, Expr):
            return x
        x, c = without_constant(x)
        if x not in self._normal:
            self._normal[x] = self.facts.normal(x)
        return self._normal[x] + c


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition of threads: condition + delta >= 0, with a delta for each thread of the role.

    It is *told* with other deltas, that say the same of a condition which is a multiple of some number. *fact* is what
    it adds to the facts that are given, if anything.
    """

    condition: Any
    deltas: Numbers
    told: Numbers
    fact: Fact | None = None


@dataclass(frozen=True, eq=False)
class Team:
    """The active threads of the role; if one of each warp is elected, the other lanes of its warp too."""

    threads: Numbers
    beside: Numbers | None = None  # (elected, 32); all lanes must agree

    @property
    def elected(self) -> bool:
        return self.beside is not None


@dataclass
class Memo:
    """What holds wherever a kernel is walked: facts with what is known by them, expressions with values of indices."""

    known: dict[Any, Known] = field(default_factory=dict)
    here: dict[Any, Any] = field(default_factory=dict)


@dataclass
class State:
    """Everything that changes on the walk. ``env`` has the values of block indices and of loop indices."""

    kernel: Kernel
    given: tuple[Fact, ...]
    origins: Origins
    env: dict[Symbol, Any]
    role: str = ""
    threads: int = 0  # of the role
    team: Team = field(default_factory=lambda: Team(np.arange(0)))
    guards: tuple[Guard, ...] = ()
    loops: tuple[tuple[Symbol, Any], ...] = ()  # (index, its value), outermost first
    parted: bool = False  # whether threads may have left the loops around
    picked: dict[Symbol, dict[int, Symbol]] = field(default_factory=dict)  # by thread, what a read index is called
    registers: dict[str, Words] = field(default_factory=dict)
    shared: dict[str, Words] = field(default_factory=dict)
    factors: dict[Any, Any] | None = None  # operands of products, in a loop that writes nothing but their sums
    memo: Memo = field(default_factory=Memo)
    _now: tuple[Any, Any, Any] = (None, None, None)  # given, loops and what is known, when it was last asked
    _threads: dict[Any, tuple[Team, Numbers]] = field(default_factory=dict)  # and as numbers of the threads of a team

    # -- expressions --------------------------------------------------------------------------------

    def holds(self, condition: Any, deltas: Numbers, threads: Numbers) -> bool:
        """Whether condition + delta >= 0 follows for each thread, from a condition around or from what is known."""
        for g in self.guards:
            rest = self.normal(condition - g.condition)
            if type(rest) is int and bool((deltas + rest >= g.deltas[threads]).all()):
                return True
        return self.facts.le(0, condition + int(deltas.min())) is True

    def alike(self, threads: Numbers) -> bool:
        """Whether threads are here together: under conditions that hold for all of them or for none."""
        return not self.parted and all((g.deltas[threads] == g.deltas[threads[0]]).all() for g in self.guards)

    @property
    def known(self) -> Known:
        """The facts that hold here."""
        given, loops, known = self._now
        if given is self.given and loops is self.loops:
            return known
        symbols = frozenset(s for _, x in self.loops for s in symbols_of(x))
        key = self.given, symbols
        if key not in self.memo.known:
            self.memo.known[key] = Known(Facts.about(*self.kernel.dims, *symbols, given=self.given))
        self._now = self.given, self.loops, self.memo.known[key]
        return self.memo.known[key]

    @property
    def facts(self) -> Facts:
        return self.known.facts

    def normal(self, x: Any) -> Any:
        """The normal form of an expression here, found once."""
        return self.known.normal(x)

    def here(self, x: Any) -> Any:
        """An expression with the values of the indices in it."""
        if not isinstance(x, Expr):
            return x
        env = self.env
        known = tuple([(s, env[s]) for s in x.symbols if s in env])
        if not known:
            return x
        key = x, known
        if key not in self.memo.here:
            self.memo.here[key] = x.subs(dict(known))
        return self.memo.here[key]

    def numbers(self, x: Any) -> Numbers:
        """The integer that an expression is for each active thread. Raises Open where it depends on more."""
        x = self.here(x)
        if any(s.name != THREAD for s in symbols_of(x)):
            x = self.normal(x)
        if any(s.name != THREAD for s in symbols_of(x)):
            raise Open(f"{x} has no number here: it depends on {', '.join(str(s) for s in x.symbols)}")
        return self._agreed(self._of_threads(x))

    def places(self, x: Any) -> list[tuple[Numbers, Any, Numbers]]:
        """(some of the active threads, expression without them, integer for each): their sum is the expression."""
        x = self.normal(self.here(x))
        rest, mine, mixed = _by_thread(x)
        if not mixed and not any(s in self.picked for s in symbols_of(x)):
            rest, c = without_constant(rest)
            return [(np.arange(len(self.team.threads)), rest, c + self._agreed(self._of_threads(mine)))]
        found: dict[Any, list[tuple[int, int]]] = {}
        for i, t in enumerate(self.team.threads.tolist()):
            row = [t] if self.team.beside is None else self.team.beside[i].tolist()
            values = {self.normal(self._of(x, n)) for n in row}
            if len(values) != 1:
                raise Open(f"{x} differs among the threads of an election")
            rest, c = without_constant(values.pop())
            found.setdefault(rest, []).append((i, c))
        return [(np.array([i for i, _ in v]), rest, np.array([c for _, c in v])) for rest, v in found.items()]

    def _of(self, x: Any, thread: int) -> Any:
        """An expression for one thread."""
        known: dict[Symbol, Any] = {s: thread for s in symbols_of(x) if s.name == THREAD}
        known |= {s: self.picked[s][thread] for s in symbols_of(x) if s in self.picked}
        return x.subs(known) if known else x

    def _of_threads(self, x: Any) -> Numbers:
        """An expression of the thread for each active one, or for each row of the lanes of its warp."""
        rows = self.team.threads if self.team.beside is None else self.team.beside
        if not isinstance(x, Expr):
            return np.full(rows.shape, x, np.int64)
        key = x, id(self.team)
        if key not in self._threads:  # the team stays with its numbers, so that its id is not another's later
            numbers = np.array(value(x, {THREAD: rows}), np.int64)
            numbers.setflags(write=False)
            self._threads[key] = self.team, numbers
        return self._threads[key][1]

    def _agreed(self, rows: Numbers) -> Numbers:
        if self.team.beside is None:
            return rows
        if (rows != rows[:, :1]).any():
            raise Open("a value that differs among the threads of an election")
        return rows[:, 0]

    def uniform(self, x: Any) -> int:
        """The one integer that an expression is for all active threads."""
        found = np.unique(self.numbers(x))
        if len(found) != 1:
            raise Open(f"{x} differs among the threads")
        return int(found[0])

    # -- memory -------------------------------------------------------------------------------------

    def held(self, tensor: KernelTensor) -> Words:
        """The places of a tensor in registers (thread, element) or in shared memory (element)."""
        space = self.registers if tensor.space is MemorySpace.REGISTER else self.shared
        if tensor.name not in space:
            n = int(tensor.layout.cosize())
            space[tensor.name] = Words.of(0, (self.threads, n) if tensor.space is MemorySpace.REGISTER else n)
        return space[tensor.name]

    def forget(self, names: set[str], why: str) -> None:
        """From now on it is not known what some tensors hold."""
        number = self.origins.number(Unknown(why, True))
        for name in names:
            tensor = self.kernel.tensor(name)
            if tensor.space is not MemorySpace.GLOBAL:
                self.held(tensor).forget(number)

    @contextmanager
    def without(self, guards: Sequence[Guard]) -> Iterator[None]:
        """As if some of the conditions around did not stand there."""
        facts = [id(g.fact) for g in guards]
        kept = tuple(g for g in self.guards if not any(g is x for x in guards))
        with self.inside(guards=kept, given=tuple(f for f in self.given if id(f) not in facts)):
            yield

    @contextmanager
    def inside(self, **changes: Any) -> Iterator[None]:
        """With some fields changed, the memory aside."""
        before = {name: getattr(self, name) for name in changes}
        for name, x in changes.items():
            setattr(self, name, x)
        try:
            yield
        finally:
            for name, x in before.items():
                setattr(self, name, x)


def _by_thread(x: Any) -> tuple[Any, Any, bool]:
    """(terms without the thread, terms of nothing else, whether there are others)."""
    if not isinstance(x, Expr):
        return x, 0, False
    rest: Any = 0
    mine: Any = 0
    for m, c in x.terms.items():
        symbols = {s for a in m for s in a.symbols}
        about = {s for s in symbols if s.name == THREAD}
        if about and about != symbols:
            return x, 0, True
        term: Any = c
        for a in m:
            term = term * a
        if about:
            mine = mine + term
        else:
            rest = rest + term
    return rest, mine, False
