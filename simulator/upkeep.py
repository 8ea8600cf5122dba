"""What code does beside its operations where threads move data by themselves: indices, conditions, constants, jumps.

>>> from symlayout.kernels import cp_async_copy
>>> kernel = cp_async_copy(1 << 20, stages=8, threads=128, blocks=8).bind()
>>> ops = {id(op): op for top in kernel.plain.body for op in top.walk()}
>>> for loop, found in upkeep(kernel).items():
...     print(ops[loop], found)
for i < ceil((7*block_x)/8) - block_x + 256: 25 instructions, 1 constant

An expression is split where its parts change: a part that no loop around changes is computed once, before; what changes
with a loop is computed in each of its iterations, one instruction for each sum, quotient, digit or xor that is new
there. Multiples of an index advance by a sum, constants and the indices of unrolled loops are immediate operands. An
address is one more instruction in shared memory and two in global memory, a condition one; 64 bits take twice as many.
The base of an asynchronous copy by threads under a condition is read from constant memory; a condition around a loop is
jumped over. The counts are within a fifth of machine code of the copies and sums (nvdisasm, NVRTC 13). Loops whose
copies are commands have none of this here: M22 has measured theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from symlayout.atoms.access import MemorySpace
from symlayout.expr import Symbol, interpret
from symlayout.kernel import Kernel
from symlayout.kernel.integer_widths import evaluations
from symlayout.kernel.sites import Site, as_written
from symlayout.ops import Copy, For, If, LoadIndex, Op
from symlayout.ops.structure import UNROLLED

from .timing_classes import Unit, timing_class

WIDE = 64
BY_THREADS = (Unit.LOAD, Unit.STORE, Unit.SHARED, Unit.MATRIX)
THREADS = (*BY_THREADS, Unit.CP_ASYNC)
FEW_TRIPS, FEW_INSTRUCTIONS = 8, 340  # of a loop that compilers unroll unasked: machine code of 71 transpositions


@dataclass
class Upkeep:
    """What an iteration of a loop does beside its operations."""

    instructions: int = 0
    constants: int = 0  # that are read and waited for
    jumps: int = 0  # over what nobody executes
    known: set[Any] = field(default_factory=set, repr=False)  # what is computed already

    def __str__(self) -> str:
        told = ((self.instructions, "instruction"), (self.constants, "constant"), (self.jumps, "jump"))
        return ", ".join(f"{n} {what}{'s' * (n > 1)}" for n, what in told if n) or "nothing"


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


@dataclass
class Counter:
    """A domain of ``interpret`` that counts instructions, by the loop that changes their result."""

    loops: tuple[Upkeep, ...]  # around, outermost first
    depths: dict[str, int]  # of the names that they change
    immediate: frozenset[str]  # indices of unrolled loops
    copies: int  # of the body, by these

    def count(self, what: str, depth: int, number: int, copied: bool = False) -> None:
        """Instructions whose result a loop changes, unless it is there already."""
        if depth and number and what not in self.loops[depth - 1].known:
            self.loops[depth - 1].known.add(what)
            self.loops[depth - 1].instructions += number * (self.copies if copied else 1)

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
        text = f"({' + '.join(t.text for t in parts or terms)})"
        depths = {t.depth for t in parts}
        self.count(text, max(depths, default=0), len(depths) - 1, bent)
        return Term(text, max(depths, default=0), not parts, varies, bent)

    def mul(self, factors: list[Term]) -> Term:
        parts = [t for t in factors if not t.constant]
        found = self._of("*", *factors)
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
        return self._made("div", a, b)

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


def unrolled(loop: For, short: frozenset[int]) -> bool:
    """Whether code has no jump of a loop; *short* are those that compilers unroll unasked."""
    return loop.unroll == UNROLLED or id(loop) in short


def short_loops(kernel: Kernel) -> frozenset[int]:
    """The loops that compilers unroll unasked, by identity: those whose number of iterations the code knows, if small.

    Small is the number of iterations, or where threads move data that of all instructions.
    """
    origin = (kernel.origin or kernel).plain
    each, found = _counted(kernel, frozenset()), set[int]()
    written, here = ([op for top in k.body for op in top.walk()] for k in (origin, kernel.plain))
    for op, there in zip(reversed(written), reversed(here), strict=True):  # inner ones first
        if isinstance(op, For) and isinstance(op.extent, int):
            beside = each.get(id(there))
            if beside is None:
                small = op.extent <= FEW_TRIPS
            else:
                small = op.extent * (beside.instructions + _instructions(there.body, found)) <= FEW_INSTRUCTIONS
            if small:
                found.add(id(there))
    return frozenset(found)


def _instructions(body: tuple[Op, ...], short: set[int]) -> int:
    """The operations in a body, those of unrolled loops in all their copies."""
    total = 0
    for op in body:
        inside = _instructions(op.body, short)
        if isinstance(op, For) and isinstance(op.extent, int) and unrolled(op, frozenset(short)):
            inside *= op.extent
        total += inside if op.body else 1
    return total


def upkeep(kernel: Kernel, short: frozenset[int] | None = None) -> dict[int, Upkeep]:
    """The upkeep of each loop of a bound kernel in whose body threads move data, by identity.

    *short* are its ``short_loops``, where they are known.
    """
    return _counted(kernel, short_loops(kernel) if short is None else short)


def _counted(kernel: Kernel, short: frozenset[int]) -> dict[int, Upkeep]:
    """The upkeep of each loop that code has a jump of."""
    origin, found = (kernel.origin or kernel).plain, dict[int, Upkeep]()
    spaces = {t.name: t.space for t in origin.tensors}
    loaded: dict[str, int] = {}  # names of indices that are read, by how deep
    for wide, site, loops in _by_threads_in_loops(kernel, origin):
        jumps = [not unrolled(x, short) for x in loops]
        rows = tuple(found.setdefault(id(x), Upkeep()) for x, jump in zip(loops, jumps, strict=True) if jump)
        if not rows:
            continue
        real, inside = ([x for x, j in zip(site.loops, jumps, strict=True) if j is jump] for jump in (True, False))
        depths = loaded | {x.index.name: k + 1 for k, x in enumerate(real)}
        copies = math.prod(x.extent for x in inside if isinstance(x.extent, int))
        counter, op = Counter(rows, depths, frozenset(x.index.name for x in inside), copies), site.op
        if isinstance(op, LoadIndex):
            loaded[op.name.name] = len(rows)
        elif isinstance(op, If):
            for fact in op.condition:
                term = interpret(fact.expr, counter)
                number = 1 + (term.varies and not term.bent)  # a sum with the immediate operand before the comparison
                counter.count(f"{term.text} {fact.relation}", term.depth, number * (1 + wide), term.varies)
            if any(isinstance(x, For) and any(map(_loads, x.walk())) for x in op.walk()):
                rows[-1].jumps += 1
        elif isinstance(op, Copy):
            for ref in (*op.sources, *op.targets):
                if (space := spaces[ref.tensor]) is not MemorySpace.REGISTER:
                    term = interpret(ref.offset, counter)
                    number = 2 if space is MemorySpace.GLOBAL else 1
                    counter.count(f"{ref.tensor}[{term.text}]", term.depth, number, term.bent)
            if timing_class(op).unit is Unit.CP_ASYNC and any(isinstance(x, If) for x in site.around):
                rows[-1].constants = 1
    return found


def _by_threads_in_loops(kernel: Kernel, origin: Kernel) -> Iterator[tuple[bool, Site, tuple[For, ...]]]:
    """What threads do for their copies in loops: whether with 64 bits, where it is written, the loops at sizes."""
    sites = [
        (k, site, at_sizes.loops)
        for k, (site, at_sizes) in enumerate(zip(as_written(origin), as_written(kernel.plain), strict=True))
        if at_sizes.loops and (isinstance(site.op, LoadIndex) or any(map(_by_threads, _at(site.op))))
    ]
    wide: set[int] = set()
    if any(isinstance(site.op, If) for _, site, _ in sites):
        wide = {k for k, e in enumerate(evaluations(origin)) if WIDE in e.widths.values()}
    return ((k in wide, site, loops) for k, site, loops in sites)


def _at(op: Op) -> Iterator[Op]:
    """An operation, or all in the body of a condition."""
    return op.walk() if isinstance(op, If) else iter((op,))


def _loads(op: Op) -> bool:
    return isinstance(op, Copy) and timing_class(op).unit is Unit.LOAD


def _by_threads(op: Op) -> bool:
    return isinstance(op, Copy) and timing_class(op).unit in THREADS
