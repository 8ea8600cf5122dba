"""Cursors: the slot of a ring and the parity of its round where a loop can count them, so that no code divides.

Use number n of a ring of S slots takes slot n % S in round n // S. Where each iteration of a loop takes the next use,
and S is no power of two, code keeps both and advances them. Behind the loop they stand at the use that comes next. If a
loop around starts its next iteration with that use, they are carried through it, and begin once.

>>> from symlayout import dims
>>> from symlayout.kernels import gemm
>>> M, N, K = dims("M N K")
>>> for c in cursors(gemm(M, N, K, stages=3)):
...     print(c)
wave*ceil(K/64) + i of 3 slots and their rounds, from 0, then wave*ceil(K/64) + ceil(K/64)
wave*ceil(K/64) + i of 3 slots and their rounds, from 0, then wave*ceil(K/64) + ceil(K/64)
wave*ceil(K/64) + i + 2 of 3 slots, from 2, then wave*ceil(K/64) + ceil(K/64) + 2
>>> cursors(gemm(M, N, K, stages=4))
()

The code generator prints them, and the simulator charges no division for what they stand for. A quotient and a
remainder by a power of two are a shift and a mask, and stay as they are.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from ..expr import Atom, Expr, Int, Symbol, floordiv, integer, mod
from ..expr.division import Quotient
from ..expr.expression import terms_of
from ..expr.partial_results import Partial, computed, partial_results, within
from ..facts import symbols_in
from ..ops import UNROLLED, For, Let, LoadIndex, Op, Role, substitution
from .declarations import THREAD
from .integer_widths import Ranges, integers_of
from .sites import Site, as_written
from .value import Kernel

WIDE = 64
DIVISIONS = ("%", "//", "floordiv")  # the words of partial results


@dataclass(frozen=True)
class Cursor:
    """A count of uses modulo *slots*, and the parity of its round where a *phase* is asked for.

    It is *start* before the loop at the place *begins*, *inside* in each iteration of the one at *loop*, which advances
    it, and *behind* that one; this is None where the trip count might be negative. Of *forms* the first is *inside*,
    others are what the body has for it with names of ``Let``.
    """

    begins: tuple[int, ...]
    loop: tuple[int, ...]
    start: Int
    forms: tuple[Expr, ...]
    behind: Int | None
    slots: int
    phase: bool

    @property
    def inside(self) -> Expr:
        return self.forms[0]

    def values(self, count: Int) -> tuple[Int, ...]:
        """What it says of a use without a division: its slot, both parities."""
        return _values(count, self.slots, self.phase)

    def at(self, place: tuple[int, ...]) -> Int | None:
        """What it counts at an operation's place: inside its loop or behind it, in the body that this is part of."""
        n = len(self.loop)
        if place[:n] == self.loop:
            return self.inside if len(place) > n else None
        return self.behind if place[: n - 1] == self.loop[:-1] and place[n - 1 : n] > self.loop[-1:] else None

    def quotients(self, count: Int) -> frozenset[tuple[Int, Int]]:
        """The divisions, of what by what, that code would make for the slot and the parity of a use."""
        found = (a for x in self.values(count) for m in terms_of(x) for a in m if isinstance(a, Quotient))
        return frozenset(a.args for a in found if a.args[1] in (self.slots, 2 * self.slots))

    @functools.cached_property
    def covered(self) -> frozenset[Int]:
        """The expressions that it stands for, in the loop and behind it."""
        counts = self.forms if self.behind is None else (*self.forms, self.behind)
        return frozenset(x for count in counts for x in self.values(count) if isinstance(x, Expr))

    def __str__(self) -> str:
        rounds = " and their rounds" if self.phase else ""
        then = "" if self.behind is None else f", then {self.behind}"
        return f"{self.inside} of {self.slots} slots{rounds}, from {self.start}{then}"


def _values(count: Int, slots: int, phase: bool) -> tuple[Int, ...]:
    """The slot of a use; the parity of its round, and the other one."""
    parities = (mod(floordiv(count, slots) + flipped, 2) for flipped in (0, 1)) if phase else ()
    return mod(count, slots), *parities


@functools.lru_cache(maxsize=16)  # whoever prints or times a kernel asks several times
def cursors(kernel: Kernel) -> tuple[Cursor, ...]:
    """The cursors of a kernel's loops, in their order; of one loop in the order of their first use."""
    ranges = Ranges(kernel)
    return tuple(c for site in as_written(kernel) if isinstance(site.op, For) for c in _of_loop(site, site.op, ranges))


def _of_loop(site: Site, loop: For, ranges: Ranges) -> Iterator[Cursor]:
    """The cursors that a loop advances. Its copies, where it is unrolled, know their slots."""
    if loop.unroll == UNROLLED:
        return
    exprs = [(x, inner) for inner in _inside(site) for x in integers_of(inner.op)]
    uses = [use for x, inner in exprs for p in partial_results(x) if (use := _use(p, inner))]
    often = Counter(name for b in (*site.bindings, *_inside(site)) for name in _made(b.op))
    uses = [use for use in uses if use.form == use.number or all(often[s.name] < 2 for s in use.form.symbols)]
    made, found = bound(loop), dict[tuple[Expr, int], bool]()
    for use in sorted(uses, key=lambda use: not use.phase):  # a parity says more of its count
        if _steps(use.number, loop, use.slots, made):
            key = next((k for k in found if use.is_of(*k, False)), (use.number, use.slots))
            found[key] = found.get(key, False) or use.phase
    for (count, slots), phase in found.items():
        forms = tuple(dict.fromkeys((count, *(use.form for use in uses if use.is_of(count, slots, phase)))))
        slot_known = {_values(form, slots, phase)[0] for form in forms} & {use.value for use in uses}
        known = {x for form in forms for x in _values(form, slots, phase)}
        divides = (
            p.word in DIVISIONS and p.operands[1] == slots and mod(_plain(inner)(p.operands[0]) - count, slots) == 0
            for x, inner in exprs
            for p in computed(x, known.__contains__)
        )
        if slot_known and not any(divides):
            yield from _carried(site, loop, forms, slots, phase, ranges)


class Use(NamedTuple):
    """A slot or a parity that is computed: of which number of a use, and the form of that as written."""

    number: Expr
    form: Expr
    slots: int
    phase: bool
    value: Int

    def is_of(self, count: Int, slots: int, phase: bool) -> bool:
        """Whether it is of a use that a count stands for: modulo the slots, or twice these where parities count."""
        return self.slots == slots and mod(self.number - count, 2 * slots if phase else slots) == 0


def _use(p: Partial, site: Site) -> Use | None:
    """n % S as a use, or the parity of n // S; None for others, and where S is a power of two.

    The normal form has x + y//S for the quotient of S*x + y.
    """
    form, slots = p.operands[0], p.operands[-1]
    if p.word != "%" or type(slots) is not int:
        return None
    phase = slots == 2
    if phase:
        rounds = [m[0] for m, c in terms_of(form).items() if c == 1 and len(m) == 1 and _by_slots(m[0])]
        if len(rounds) != 1:
            return None
        inner, slots = rounds[0].args
        form = (form - rounds[0]) * slots + inner
    if slots & (slots - 1) == 0:
        return None
    number = _plain(site)(form)
    known = terms_of(number).get((), 0) // slots * slots
    number, form = number - known, form - known
    if not isinstance(number, Expr) or not isinstance(form, Expr):
        return None
    return Use(number, form, slots, phase, p.value)


def _by_slots(a: Atom) -> bool:
    return isinstance(a, Quotient) and type(a.args[1]) is int and a.args[1] & (a.args[1] - 1) != 0


def _inside(site: Site) -> Iterator[Site]:
    """The operations inside one, as written."""
    for inner in site.inside():
        yield inner
        yield from _inside(inner)


Plain: TypeAlias = "Callable[[Any], Any]"


def _plain(site: Site) -> Plain:
    """What puts the values of ``Let`` for their names, as the operation of a site may use them."""
    values: dict[Any, Int] = {}
    for b in site.bindings:
        if isinstance(b.op, Let):
            values[b.op.name] = substitution(values)(b.op.value)
    return substitution(values) if values else lambda x: x


def _steps(count: Expr, loop: For, slots: int, made: Collection[str]) -> bool:
    """Whether a count is by one more in each iteration, of a loop that may go round the ring."""
    start = count - loop.index
    names = {s.name for s in symbols_in((start,))}
    if loop.index.name in names or not names.isdisjoint(made) or loop.index.name in made:
        return False
    return isinstance(start, Expr) or type(loop.extent) is not int or loop.extent > slots


def bound(loop: For) -> frozenset[str]:
    """The names that get a value inside a loop: ``thread`` too, which counts anew in a role.

    >>> from symlayout import index
    >>> sorted(bound(For(index("i", 4), (For(index("j", 8), ()), Role("consumer", 1, 4, ())))))
    ['j', 'thread']
    """
    return frozenset(name for op in loop.inside for inner in op.walk() for name in _made(inner))


def _made(op: Op) -> Iterator[str]:
    if isinstance(op, For):
        yield op.index.name
    elif isinstance(op, Let | LoadIndex):
        yield op.name.name
    elif isinstance(op, Role):
        yield THREAD


def _carried(
    site: Site, loop: For, forms: tuple[Expr, ...], slots: int, phase: bool, ranges: Ranges
) -> Iterator[Cursor]:
    """The cursor of a count, from before the outermost loop through which it is carried; none where 64 bits may not do.

    A loop carries it whose body has the loop that advances it as one of its operations, under no condition, and whose
    next iteration starts where the last one ends.
    """
    put = _plain(site)
    start = forms[0] - loop.index
    end = start + put(loop.extent)
    behind = integer(end) if _counts_up(loop, put, ranges) else None
    begins, inner = site.places, loop
    for outer in reversed(site.around):
        modulus = 2 * slots if phase else slots
        up = _counts_up(inner, put, ranges)
        if not isinstance(outer, For) or not up or not _continues(outer, start, end, modulus):
            break
        start, end = (_at(start, outer.index, x) for x in (0, put(outer.extent)))
        begins, inner = begins[:-1], outer
    found = Cursor(begins, site.places, integer(start), forms, behind, slots, phase)
    parts = (p.value for x in found.values(found.start) if isinstance(x, Expr) for p in partial_results(x))
    if all(within(ranges.of(x), WIDE) for x in parts):
        yield found


def _counts_up(loop: For, put: Plain, ranges: Ranges) -> bool:
    """Whether a trip count is never negative."""
    return ranges.of(put(loop.extent))[0] >= 0


def _continues(outer: For, start: Int, end: Int, modulus: int) -> bool:
    """Whether a loop's next iteration starts, in a loop of its body, where this one ends."""
    if bound(outer) & {s.name for s in symbols_in((start, end))}:
        return False
    return mod(_at(start, outer.index, outer.index + 1) - end, modulus) == 0


def _at(x: Int, s: Symbol, value: Int) -> Int:
    return integer(x.subs({s: value})) if isinstance(x, Expr) else x
