"""Which executions contribute to a phase: the inverse of use numbers, case by case.

>>> from symlayout.kernels import tma_copy
>>> from checkers.clocks.under import Shelf
>>> from checkers.clocks.uses import barriers
>>> full = next(b for b in barriers(tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)) if b.name == "full")
>>> v = Shelf().integer("v")
>>> for case in cases(full, v, Under((v >= 0, v <= 9), Shelf())):
...     print(case.arrivals, case.expected, case.missing, *case.under.given[2:])
1 4096 0
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from symlayout.expr import Fact, eq, split, terms_of

from ..rings.shown import Open
from .events import Env, located, neighbours, put
from .under import Under
from .uses import Phased, Use

MOST_CASES = 64

Forms: TypeAlias = "dict[Any, Any]"  # what a use number is more than a base


@dataclass(frozen=True, eq=False)
class Present:
    """An execution that contributes to a phase."""

    use: Use
    env: Env


@dataclass(frozen=True, eq=False)
class Case:
    """Some facts, and the executions that contribute to a phase under them: these and no others."""

    present: tuple[Present, ...]
    under: Under
    arrivals: int
    expected: Any  # bytes that the phase awaits
    missing: Any  # these less those that land

    def completes(self, b: Phased) -> bool:
        """Whether these are what ends a phase."""
        return self.arrivals == b.awaits

    @property
    def at_once(self) -> bool:
        """Whether the phase is over when its threads have come: no copy is to land in it."""
        return all(p.use.tells for p in self.present)


def cases(b: Phased, v: Any, under: Under) -> Iterator[Case]:
    """The cases of which executions contribute to use *v* of a barrier; together they are all.

    Raises Open for more than MOST_CASES.
    """
    found = 0
    for forms, here in _remainders(b, under.normal(v), under):
        for case in _split(b, forms, list(b.arrivals), here, ()):
            found += 1
            if found > MOST_CASES:
                raise Open(f"which of {len(b.arrivals)} operations contribute to a phase of {b}")
            yield case


def _remainders(b: Phased, v: Any, under: Under) -> Iterator[tuple[Forms, Under]]:
    """What *v* is more than each base of the use numbers of a barrier, in forms that show their remainders."""
    moduli: dict[Any, int] = {0: 1}
    for u in b.arrivals:
        if u.event.loops:
            base = _base(u)
            moduli[base] = math.lcm(u.step, moduli.get(base, 1))
    ways: list[tuple[Forms, Under]] = [({}, under)]
    for base, modulus in moduli.items():
        ways = [({**forms, base: w}, u) for forms, here in ways for w, u in _residues(v - base, modulus, here)]
    yield from ways


def _base(u: Use) -> Any:
    """The part of the first use number that is no constant, and that the step does not divide term by term."""
    _, rest = split(u.first, u.step)
    return rest - terms_of(rest).get((), 0)


def _residues(v: Any, modulus: int, under: Under) -> Iterator[tuple[Any, Under]]:
    """A value for each remainder that it may leave, in a form that shows it."""
    if all(c % modulus == 0 for m, c in terms_of(v).items() if m):
        yield v, under
        return
    for r in range(modulus):
        w = under.shelf.integer("w")
        here = under.also(eq(v, modulus * w + r))
        if not here.empty:
            yield modulus * w + r, here


def _split(b: Phased, v: Forms, left: list[Use], under: Under, present: tuple[Present, ...]) -> Iterator[Case]:
    """The cases for the contributions that are left, behind those that are decided."""
    if not left:
        expected = sum((put(p.use.expected, p.env) for p in present), 0)
        landed = sum((put(p.use.landed, p.env) for p in present), 0)
        arrivals = sum(p.use.arrivals for p in present)
        yield Case(present, under, arrivals, under.normal(expected), under.normal(expected - landed))
        return
    use, rest = left[0], left[1:]
    number = _number(use, v)
    if number is None:
        yield from _split(b, v, rest, under, present)
        return
    bounds = (Fact(number, ">="), Fact(use.event.total - 1 - number, ">="))
    yield from _decided(b, v, rest, under, present, use, number, bounds)


def _decided(
    b: Phased,
    v: Forms,
    rest: list[Use],
    under: Under,
    present: tuple[Present, ...],
    use: Use,
    number: Any,
    bounds: tuple[Fact, ...],
) -> Iterator[Case]:
    """Both sides of the first bound of an execution's number that the facts leave open."""
    for f in bounds:
        if under.shows(f):
            continue
        (no,) = f.negated()
        outside = under.also(no)
        if not outside.empty:
            yield from _split(b, v, rest, outside, present)
        under = under.also(f)
        if under.empty:
            return
    split_digits = use.event.loops and any(u.event.steps is not None for u in b.arrivals)
    ways = neighbours(use.event, number, under) if split_digits else [located(use.event, number, under)]
    for env, inside in ways:
        yield from _existing(b, v, rest, inside, present, Present(use, env))


def _existing(
    b: Phased, v: Forms, rest: list[Use], inside: Under, present: tuple[Present, ...], found: Present
) -> Iterator[Case]:
    """Both sides of the first condition around an execution that the facts leave open."""
    for f in found.use.event.exists(found.env):
        if inside.shows(f):
            continue
        for no in f.negated():
            outside = inside.also(no)
            if not outside.empty:
                yield from _split(b, v, rest, outside, present)
        inside = inside.also(f)
        if inside.empty:
            return
    yield from _split(b, v, rest, inside, (*present, found))


def _number(use: Use, v: Forms) -> Any:
    """The number of the execution with a use number, or None where no integer is one."""
    if not use.event.loops or use.step == 1:
        return v[0] - use.first
    base = _base(use)
    number, rest = split(v[base] - (use.first - base), use.step)
    if type(rest) is not int:
        raise Open(f"whether {use.step} divides {rest}, which tells whether {use} contributes to a phase")
    return None if rest else number


def complete(b: Phased, v: Any, under: Under) -> list[Case]:
    """The cases in which use *v* of a barrier is complete: in others it never is."""
    return [c for c in cases(b, v, under) if c.completes(b)]
