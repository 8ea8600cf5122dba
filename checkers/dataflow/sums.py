"""Products of matrices: the elements that are multiplied and added, for one instruction and over the iterations of a
loop.

The sum of an accumulator is followed as a whole: for each element the deltas of A and B at the first k, and the steps
from there to each further k. All elements must share these steps.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.dtype import DType
from symlayout.expr import Symbol, extent_of, symbols_of
from symlayout.layout import Layout
from symlayout.semantics.matrix import by_thread

from .conditions import Conditions
from .contents import WIDTH, Carried, Constant, Loaded, Numbers, Origins, Segment, Slice, Sum, Unknown, Words, together
from .folds import Fold, is_neutral, whole
from .state import NotKnown, Open, State

# The origin of each k, deltas of each row at the first k, and the steps from there, which all rows share.
Rows: TypeAlias = "tuple[tuple[int, ...], Numbers, Numbers]"


@dataclass(frozen=True, eq=False)
class Factor:
    """The matrices (group, row, k) of groups of threads; *zeros* says for each k whether all of its elements are 0."""

    words: Words
    zeros: Numbers

    @classmethod
    def of(cls, state: State, words: Words) -> Factor:
        zeros: Numbers = np.all(_zeros(state, words), axis=(0, 1))
        return cls(words, zeros)

    @functools.cached_property
    def _every(self) -> dict[int, Rows]:
        return {}

    def rows(self, origins: Origins, some: Numbers) -> Rows:
        """See ``_rows``; for all k, they are found once."""
        if len(some) < len(self.zeros):
            return _rows(origins, self.words[:, :, some])
        if 0 not in self._every:
            self._every[0] = _rows(origins, self.words)
        return self._every[0]


def multiplied(state: State, row: MmaAtom, a: Factor, b: Factor, held: Words, zero: Any) -> Words:
    """The registers (thread, value) after acc += a b^T, for A (group, m, k), B (group, n, k) and the registers before.

    *zero* is "never", "now", or the loop in whose first iteration the sums start at zero.
    """
    if zero == "never" and (a.zeros & b.zeros).all():
        return held
    rows, first = first_products(state, row, [(a, b)])
    return summed(state, row, rows, first.reshape(*held.ids.shape, -1), held, zero)


def first_products(
    state: State, row: MmaAtom, factors: list[tuple[Factor, Factor]]
) -> tuple[tuple[Rows, Rows], Numbers]:
    """The rows that all products share, and (group, thread, product, value) of the deltas at the first k of each sum.

    Products of zeros, as behind the end of K, add nothing and are left out. Raises Open for products of several forms.
    """
    zeros = [a.zeros & b.zeros for a, b in factors]
    if any((z != zeros[0]).any() for z in zeros):
        raise Open("products of which some are zeros behind another k than others")
    some = np.flatnonzero(~zeros[0])
    some = some if len(some) else np.arange(len(zeros[0]))
    found = [(a.rows(state.origins, some), b.rows(state.origins, some)) for a, b in factors]
    for x, y in zip(found[0], zip(*found, strict=True), strict=True):
        if any(z is not x and (z[0] != x[0] or (z[2] != x[2]).any()) for z in y):
            raise Open("products of several forms")
    sides = zip(_rows_and_columns(row.tv_c, row.mnk[0]), zip(*found, strict=True), strict=True)
    first = np.concatenate([np.stack([z[1][:, at] for z in y], axis=2) for at, y in sides], axis=-1)
    if first.shape[-1] > WIDTH:
        raise Open(f"products of elements with {' and '.join(str(x[1].shape[-1]) for x in found[0])} coordinates")
    return found[0], first


def summed(state: State, row: MmaAtom, rows: tuple[Rows, Rows], first: Numbers, held: Words, zero: Any) -> Words:
    """Registers after products are added to them that have these rows, and these deltas at the first k."""
    (a_ids, a_base, a_steps), (b_ids, b_base, b_steps) = rows
    ra, rb = a_base.shape[-1], b_base.shape[-1]
    old = state.origins[_only(held)]
    if zero == "now" or isinstance(old, Carried):
        deltas = np.zeros((*held.ids.shape, WIDTH), np.int64)
        deltas[..., : ra + rb] = first
        carry = _carry(old, zero)
        once = Segment((Slice(a_ids, a_steps, b_ids, b_steps),))
        made = Sum((once,), row.acc_dtype, (ra, rb), carry, row.product)
        return _of(state.origins.number(made), deltas)
    if zero != "never":
        raise Open("sums that start at zero in a later iteration only")
    if _is_zero(old):
        return summed(state, row, rows, first, held, "now")
    if isinstance(old, Unknown):
        raise NotKnown(f"what the sums of {row.word} are added to: {old.why}", old.stale)
    if not isinstance(old, Sum) or old.ranks != (ra, rb) or old.words != row.product:
        raise Open(f"what the sums of {row.word} are added to: it is {type(old).__name__}")
    away = first - held.deltas[..., : ra + rb]  # how far k went on from where the products of each sum began
    if (away != away[0, 0]).any():
        raise Open("products of other rows or columns than those summed so far")
    moved = Slice(a_ids, a_steps + away[0, 0, :ra], b_ids, b_steps + away[0, 0, ra:])
    *done, last = old.segments
    grown = (
        (*done, replace(last, slices=(*last.slices, moved)))
        if last.loop is None
        else (*old.segments, Segment((moved,)))
    )
    return _of(state.origins.number(replace(old, segments=grown)), held.deltas)


def _of(number: int, deltas: Numbers) -> Words:
    """Places of one origin, with these deltas."""
    return Words(np.full(deltas.shape[:-1], number, np.int32), deltas)


@functools.lru_cache(maxsize=64)
def _rows_and_columns(tv: Layout, rows: int) -> tuple[Numbers, Numbers]:
    """The row and the column of the sum in each register (thread, value)."""
    at = by_thread(tv)
    return at % rows, at // rows


def _is_zero(origin: Any) -> bool:
    return isinstance(origin, Constant) and origin.value == 0


def _carry(old: Any, zero: Any) -> tuple[str, Symbol] | None:
    if zero == "now":
        return None
    if zero == "never":
        return ("always", old.loop)
    if isinstance(old, Carried) and old.loop == zero:
        return ("first", zero)
    raise Open(f"sums that start anew by {zero}, not in the first iteration of the innermost loop")


def _rows(origins: Origins, x: Words) -> Rows:
    """(origin of each k, deltas of each row at the first k, steps from there), where all rows share the steps."""
    ids = tuple(int(i) for i in x.ids[0, 0])
    widths = {origins.width(i) for i in ids}
    if len(widths) != 1 or (x.ids != x.ids[:1, :1]).any():
        raise Open("a matrix whose rows come from different places")
    (width,) = widths
    held = x.deltas[..., :width]
    steps = held - held[:, :, :1]
    if (steps != steps[:1, :1]).any():
        raise Open("a matrix whose rows are not alike along k")
    return ids, held[:, :, 0], steps[0, 0]


def _only(x: Words) -> int:
    kinds = x.kinds
    if len(kinds) != 1:
        raise Open("an accumulator whose parts were written by different operations")
    return kinds[0]


def matrix(tv: Any, held: Words, shape: tuple[int, int]) -> Words:
    """The matrices (group, row, column) that registers (thread, value) of groups of threads hold."""
    at = by_thread(tv)
    found = Words.of(0, (held.ids.size // at.size, at.size))
    found.put((slice(None), at), held.reshape(-1, *at.shape))
    groups, (m, n) = len(found.ids), shape
    return Words(
        found.ids.reshape(groups, n, m).swapaxes(1, 2), found.deltas.reshape(groups, n, m, WIDTH).swapaxes(1, 2)
    )


def _zeros(state: State, x: Words) -> Numbers:
    kinds = x.kinds
    zero = [i for i in kinds if _is_zero(state.origins[i])]
    return np.full(x.ids.shape, bool(zero)) if len(zero) in (0, len(kinds)) else np.isin(x.ids, zero)


def products(state: State, a: Words, b: Words) -> tuple[Numbers, Numbers]:
    """Where both factors are no zeros, and where one is: behind the end of K both are, and 0*0 adds nothing to a sum.

    One alone is zero behind the last row or column, where no sum is stored.
    """
    u, v = _zeros(state, a), _zeros(state, b)
    return ~(u | v), u ^ v


def adds_products(state: State, a: Words, b: Words, acc: Words) -> bool:
    """Whether a*b + acc goes on with a sum of products of elements, or begins one with zero."""
    factors = [state.origins[i] for i in (*a.kinds, *b.kinds)]
    begun = [state.origins[i] for i in acc.kinds]
    return all(isinstance(o, Loaded) for o in factors) and all(
        isinstance(o, Carried) or _is_zero(o) or isinstance(o, Sum) for o in begun
    )


def with_products(state: State, dtype: DType, a: Words, b: Words, acc: Words) -> Words:
    """Registers after acc += a*b, each product rounded with its sum: sums of products, one k more than before."""
    out = Words(acc.ids.copy(), acc.deltas.copy())
    for row, mine in together(acc, a, b):
        old, ra, rb = state.origins[row[0]], *map(state.origins.width, row[1:])
        if ra + rb > WIDTH:
            raise Open(f"products of elements with {ra} and {rb} coordinates")
        factors = np.concatenate([a.deltas[mine][:, :ra], b.deltas[mine][:, :rb]], axis=1)
        if not isinstance(old, Sum):
            once = Slice((row[1],), np.zeros((1, ra), np.int64), (row[2],), np.zeros((1, rb), np.int64))
            carry = ("always", old.loop) if isinstance(old, Carried) else None
            made = Sum((Segment((once,)),), dtype, (ra, rb), carry)
            out.ids[mine] = state.origins.number(made)
            first = np.zeros((int(mine.sum()), WIDTH), np.int64)
            first[:, : ra + rb] = factors
            out.deltas[mine] = first
            continue
        if old.ranks != (ra, rb) or old.dtype != dtype or old.words:
            raise Open(f"products of other elements than those summed so far, in {dtype}")
        steps = factors - acc.deltas[mine][:, : ra + rb]
        alike = (steps == steps[:1]).all()
        kinds, which = (steps[:1], np.zeros(len(steps))) if alike else np.unique(steps, axis=0, return_inverse=True)
        for i, step in enumerate(kinds):
            more = Slice((row[1],), step[None, :ra], (row[2],), step[None, ra:])
            *done, last = old.segments
            grown = (*done, replace(last, slices=(*last.slices, more)))
            if last.loop is not None:
                grown = (*old.segments, Segment((more,)))
            some = np.zeros_like(mine)
            some[mine] = which.reshape(-1) == i
            out.ids[some] = state.origins.number(replace(old, segments=grown))
    return out


# -- loops ----------------------------------------------------------------------------------------------


def carried(state: State, name: str, loop: Symbol) -> None:
    """At the start of an iteration an accumulator holds the contents that the iteration before has left."""
    held = state.held(state.kernel.tensor(name))
    held.forget(state.origins.number(Carried(loop, name)))
    held.deltas[..., 0], held.deltas[..., 1] = np.indices(held.ids.shape)


def closed(state: State, loop: Symbol, iteration: Symbol, before: dict[str, Words]) -> set[str]:
    """Extend sums of one iteration to all iterations; the tensors for which that is possible.

    *iteration* is the index of the iteration that represents all, *before* the registers before the loop.
    """
    out: set[str] = set()
    for name, words in state.registers.items():
        if any(_carries(state.origins.base(i), loop) for i in words.kinds):
            _close(state, words, before.get(name), loop, iteration)
            out.add(name)
    return out


def _carries(origin: Any, loop: Symbol) -> bool:
    if isinstance(origin, Fold):
        return origin.carry == loop
    return isinstance(origin, Sum) and origin.carry is not None and origin.carry[1] == loop


def _close(state: State, words: Words, before: Words | None, loop: Symbol, iteration: Symbol) -> None:
    steady = {*state.kernel.dims, *(s for _, x in state.loops for s in symbols_of(x))}
    lost = state.origins.number(Unknown(f"it was left there by the last iteration of the loop over {loop}", True))
    for number in words.kinds:
        mine = words.ids == number
        base, conditions = state.origins.base(number), Conditions.of(state.origins, number, words.deltas[mine])
        done: Any = None
        if _carries(base, loop) and conditions.about(steady):
            done = _whole(state, base, before, mine, loop, iteration)
        if done is None:
            words.ids[mine] = lost
            continue
        whole, begun = done
        all_ = conditions.joined(begun)
        width = whole.width(state.origins)
        if width + len(all_.rows) > WIDTH:
            raise Open(f"sums under {len(all_.rows)} conditions, more than are followed at once")
        words.ids[mine] = all_.around(state.origins, state.origins.number(whole))
        words.deltas[mine, width : width + len(all_.rows)] = all_.deltas


def begins_at_zero(state: State, before: Words | None, mine: Numbers) -> bool:
    """Whether some registers held zero before a loop."""
    return before is not None and all(_is_zero(state.origins[i]) for i in np.unique(before.ids[mine]))


def _whole(
    state: State, origin: Any, before: Words | None, mine: Numbers, loop: Symbol, iteration: Symbol
) -> tuple[Any, Conditions] | None:
    """The sum or fold over all iterations, and the conditions under which it began; None if that was not at zero."""
    extent = extent_of(iteration)
    if isinstance(origin, Sum) and origin.carry is not None and origin.carry[0] == "first":
        if state.facts.le(1, extent) is not True:
            return None
        begun = Conditions.none(int(mine.sum()))
    else:
        kinds = [] if before is None else np.unique(before.ids[mine]).tolist()
        if before is None or len(kinds) != 1 or not _neutral(state.origins.base(kinds[0]), origin):
            return None
        begun = Conditions.of(state.origins, kinds[0], before.deltas[mine])
    if isinstance(origin, Fold):
        return whole(origin, iteration, extent), begun
    if len(origin.segments) != 1:
        return None
    (once,) = origin.segments
    return replace(origin, segments=(replace(once, loop=iteration, extent=extent),), carry=None), begun


def _neutral(begun: Any, origin: Any) -> bool:
    """Whether what stood before a loop adds nothing to what its iterations add."""
    if isinstance(origin, Fold):
        return is_neutral(begun, origin.function) and begun.dtype == origin.dtype
    return _is_zero(begun)
