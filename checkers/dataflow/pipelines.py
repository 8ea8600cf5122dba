"""Sums over the iterations of a pipeline, whose slots repeat after some of them.

One iteration does not represent all others there: a slot is a number in each of *period* iterations. The first ones are
walked from the start of the loop, the others after a window of those before them. Each adds its products to an
accumulator. They are a sum over all iterations where one form, a function of the iteration's number, is what each adds.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from symlayout.expr import Expr, Symbol, index

from .contents import Loaded, Numbers, Origins, Segment, Slice, Sum, Words, without_constant
from .state import State
from .sums import begins_at_zero


@dataclass(frozen=True)
class Iterations:
    """The iterations of a loop: its index, its trip count, and those that were walked: *period* * number + *window*."""

    loop: Symbol
    extent: Any
    number: Symbol
    period: int
    window: int

    @property
    def any(self) -> Symbol:
        """The index of an iteration, whichever."""
        return index(self.loop.name, self.extent)

    def form(self, x: Any) -> Any:
        """An integer of iteration ``period*number + window`` as a function of any; None where it is not linear."""
        if not isinstance(x, Expr) or self.number not in x.symbols:
            return x
        c = x.terms.get((self.number,), 0)
        rest = x - c * self.number
        if c % self.period or (isinstance(rest, Expr) and self.number in rest.symbols):
            return None
        return rest + c // self.period * (self.any - self.window)


def whole_sums(
    state: State, name: str, some: Iterations, done: list[tuple[Any, dict[str, Words]]], before: Words | None
) -> bool:
    """Put the sums over all iterations into an accumulator, where each iteration is seen to add the same form.

    Other registers of it are not known from here on. Whether there are any such sums.
    """
    model = done[some.window][1][name]
    found: list[tuple[Numbers, Sum]] = []
    same = [(Same(state, some.any, i), held[name]) for i, held in done]
    for number in model.kinds:
        mine = model.ids == number
        form = _form(state.origins, state.origins[number], some)
        anew = _starts_anew(state, some, done[0], name, mine)
        if form is None or not (anew or begins_at_zero(state, before, mine)):
            continue
        forms = [replace(form, carry=None) if anew else form, *[form] * (len(same) - 1)]
        if all(x.sums(f, model, held, mine) for f, (x, held) in zip(forms, same, strict=True)):
            found.append((mine, form))
    if not found:
        return False
    state.forget({name}, f"it was left there by the last iteration of the loop over {some.loop}")
    all_ = state.held(state.kernel.tensor(name))
    for mine, form in found:
        all_.put(mine, model[mine])
        (once,) = form.segments
        closed = replace(form, segments=(replace(once, loop=some.any, extent=some.extent),), carry=None)
        all_.ids[mine] = state.origins.number(closed)
    return True


def _starts_anew(state: State, some: Iterations, first: tuple[Any, dict[str, Words]], name: str, mine: Numbers) -> bool:
    """Whether there is an iteration 0, and it left sums of its own, whatever some registers held before the loop."""
    i, held = first
    left = [state.origins[n] for n in np.unique(held[name].ids[mine])]
    own = all(isinstance(o, Sum) and o.carry is None for o in left)
    return i == 0 and own and state.facts.le(1, some.extent) is True


def _form(origins: Origins, origin: Any, some: Iterations) -> Sum | None:
    """What an iteration adds as a function of its number; None where that is not seen."""
    if not isinstance(origin, Sum) or origin.carry != ("always", some.loop) or len(origin.segments) != 1:
        return None
    (once,) = origin.segments
    slices = []
    for s in once.slices:
        a, b = _moved(origins, s.a, s.a_deltas, some), _moved(origins, s.b, s.b_deltas, some)
        if once.loop is not None or a is None or b is None:
            return None
        slices.append(Slice(*a, *b))
    return replace(origin, segments=(Segment(tuple(slices)),))


def _moved(
    origins: Origins, numbers: tuple[int, ...], deltas: Numbers, some: Iterations
) -> tuple[tuple[int, ...], Numbers] | None:
    """The factors of each k as functions of the iteration."""
    out, steps = [], deltas.copy()
    for k, number in enumerate(numbers):
        origin = origins[number]
        forms = [some.form(x) for x in origin.at] if isinstance(origin, Loaded) else [None]
        if None in forms:
            return None
        parts = [without_constant(x) for x in forms]
        assert isinstance(origin, Loaded)
        out.append(origins.number(replace(origin, at=tuple(x for x, _ in parts))))
        steps[k, : len(parts)] += [c for _, c in parts]
    return tuple(out), steps


class Same:
    """Whether iteration *i* adds what a form says of it; the gaps between coordinates are found once."""

    def __init__(self, state: State, any_: Symbol, i: Any) -> None:
        self.state, self.any, self.i = state, any_, i
        self._gaps: dict[tuple[int, int], Numbers | None] = {}

    def sums(self, form: Sum, model: Words, held: Words, mine: Numbers) -> bool:
        """Whether some registers hold what the form says."""
        kinds = np.unique(held.ids[mine])
        other = self.state.origins[int(kinds[0])]
        if len(kinds) != 1 or not isinstance(other, Sum) or len(other.segments) != 1:
            return False
        if any(getattr(other, f.name) != getattr(form, f.name) for f in fields(Sum) if f.name != "segments"):
            return False
        (x,), (y,) = form.segments, other.segments
        away = model.deltas[mine] - held.deltas[mine]
        if y.loop is not None or len(x.slices) != len(y.slices) or (away != away[:1]).any():
            return False
        ra, rb = form.ranks
        of_a, of_b = away[0, :ra], away[0, ra : ra + rb]
        return all(
            self._factors(u.a, u.a_deltas + of_a, v.a, v.a_deltas)
            and self._factors(u.b, u.b_deltas + of_b, v.b, v.b_deltas)
            for u, v in zip(x.slices, y.slices, strict=True)
        )

    def _factors(self, forms: tuple[int, ...], steps: Numbers, numbers: tuple[int, ...], others: Numbers) -> bool:
        """Whether the factors of each k are the same elements."""
        gaps = [self._gap(x, y) for x, y in zip(forms, numbers, strict=True)]
        return all(g is not None for g in gaps) and not (np.stack(gaps) + steps - others).any()  # type: ignore[arg-type]

    def _gap(self, form: int, number: int) -> Numbers | None:
        """By how much coordinates of the form in this iteration exceed those of an element, where they are numbers."""
        if (form, number) not in self._gaps:
            self._gaps[form, number] = self._found(self.state.origins[form], self.state.origins[number])
        return self._gaps[form, number]

    def _found(self, x: Any, y: Any) -> Numbers | None:
        if not isinstance(x, Loaded) or not isinstance(y, Loaded) or replace(x, at=y.at) != y:
            return None
        there = [u.subs({self.any: self.i}) if isinstance(u, Expr) else u for u in x.at]
        gaps = [self.state.normal(u - v) for u, v in zip(there, y.at, strict=True)]
        return np.array(gaps) if all(type(g) is int for g in gaps) else None
