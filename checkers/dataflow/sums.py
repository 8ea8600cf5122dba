"""Products of matrices: the elements that are multiplied and added, for one instruction and over the iterations of a
loop.

The sum of an accumulator is followed as a whole: for each element the deltas of A and B at the first k, and the steps
from there to each further k. All elements must share these steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.dtype import DType
from symlayout.expr import Symbol, extent_of
from symlayout.semantics.matrix import by_thread

from .contents import WIDTH, Carried, Constant, Loaded, Numbers, Origins, Segment, Slice, Sum, Unknown, Words
from .folds import Fold, whole
from .state import Open, State


def multiplied(state: State, row: MmaAtom, a: Words, b: Words, held: Words, zero: Any) -> Words:
    """The registers (thread, value) after acc += a b^T, for A (group, m, k), B (group, n, k) and the registers before.

    *zero* is "first", "never", "now", or the loop in whose first iteration the sums start at zero.
    """
    zeros = [_zeros(state, x).all(axis=(0, 1)) for x in (a, b)]
    some = np.flatnonzero(~(zeros[0] & zeros[1]))  # products of zeros, as behind the end of K, add nothing
    if not len(some) and zero == "never":
        return held
    a, b = (x[:, :, some] if len(some) else x for x in (a, b))
    a_ids, a_base, a_steps = _rows(state.origins, a)
    b_ids, b_base, b_steps = _rows(state.origins, b)
    m, n, _ = row.mnk
    ra, rb = a_base.shape[-1], b_base.shape[-1]
    if ra + rb > WIDTH:
        raise Open(f"products of elements with {ra} and {rb} coordinates")
    before = matrix(row.tv_c, held, (m, n))
    old = state.origins[_only(before)]
    if zero == "now" or isinstance(old, Carried):
        deltas = np.zeros((len(a_base), m, n, WIDTH), np.int64)
        deltas[..., :ra], deltas[..., ra : ra + rb] = a_base[:, :, None], b_base[:, None]
        carry = _carry(old, zero)
        once = Segment((Slice(a_ids, a_steps, b_ids, b_steps),))
        made = Sum((once,), row.acc_dtype, (ra, rb), carry, row.product)
        if isinstance(old, Carried) and zero == "never":
            made = replace(made, carry=("always", old.loop))
        return _registers(row, state.origins, made, deltas)
    if zero != "never":
        raise Open("sums that start at zero in a later iteration only")
    if _is_zero(old):
        return multiplied(state, row, a, b, held, "now")
    if not isinstance(old, Sum) or old.ranks != (ra, rb) or old.words != row.product:
        why = old.why if isinstance(old, Unknown) else f"it is {type(old).__name__}"
        raise Open(f"what the sums of {row.word} are added to: {why}")
    first = before.deltas
    moved = Slice(
        a_ids,
        _shifted(a_base, first[:, :, 0, :ra], a_steps),
        b_ids,
        _shifted(b_base, first[:, 0, :, ra : ra + rb], b_steps),
    )
    *done, last = old.segments
    grown = (
        (*done, replace(last, slices=(*last.slices, moved)))
        if last.loop is None
        else (*old.segments, Segment((moved,)))
    )
    return _registers(row, state.origins, replace(old, segments=grown), first)


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


def _rows(origins: Origins, x: Words) -> tuple[tuple[int, ...], Numbers, Numbers]:
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


def _shifted(base: Numbers, first: Numbers, steps: Numbers) -> Numbers:
    """Steps from where the first product of the sum began."""
    away = base - first
    if (away != away[:1, :1]).any():
        raise Open("products of other rows or columns than those summed so far")
    return steps + away[0, 0]


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


def _registers(row: MmaAtom, origins: Origins, made: Sum, deltas: Numbers) -> Words:
    """Matrices (group, row, column) as registers (thread, value)."""
    at = by_thread(row.tv_c)
    flat = deltas.swapaxes(1, 2).reshape(len(deltas), at.size, WIDTH)[:, at].reshape(-1, at.shape[1], WIDTH)
    return Words(np.full(flat.shape[:2], origins.number(made), np.int32), flat)


def _together(*words: Words) -> list[list[int]]:
    """The combinations of origins that stand at one place of each."""
    kinds = [w.kinds for w in words]
    if all(len(x) == 1 for x in kinds):
        return [[x for (x,) in kinds]]
    found: list[list[int]] = np.unique(
        np.stack([w.ids for w in words], axis=-1).reshape(-1, len(words)), axis=0
    ).tolist()
    return found


def _zeros(state: State, x: Words) -> Numbers:
    return np.isin(x.ids, [i for i in x.kinds if _is_zero(state.origins[i])])


def products(state: State, a: Words, b: Words) -> Numbers:
    """Where the factors are not both zero, as they are behind the end of K: 0*0 adds nothing to a sum."""
    return ~(_zeros(state, a) & _zeros(state, b))


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
    for row in _together(acc, a, b):
        mine = (acc.ids == row[0]) & (a.ids == row[1]) & (b.ids == row[2])
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
        origins = [state.origins[i] for i in words.kinds]
        if any(_carries(o, loop) for o in origins):
            _close(state, words, before.get(name), loop, iteration)
            out.add(name)
    return out


def _carries(origin: Any, loop: Symbol) -> bool:
    if isinstance(origin, Fold):
        return origin.carry == loop
    return isinstance(origin, Sum) and origin.carry is not None and origin.carry[1] == loop


def _close(state: State, words: Words, before: Words | None, loop: Symbol, iteration: Symbol) -> None:
    extent = extent_of(iteration)
    lost = state.origins.number(Unknown(f"it was left there by the last iteration of the loop over {loop}", True))
    for number in words.kinds:
        origin, mine = state.origins[number], words.ids == number
        done: Any = None
        if isinstance(origin, Fold) and _carries(origin, loop):
            done = whole(state, origin, before, mine, iteration, extent)
        elif isinstance(origin, Sum):
            done = _whole(state, origin, before, mine, loop, iteration, extent)
        words.ids[mine] = lost if done is None else state.origins.number(done)


def begins_at_zero(state: State, before: Words | None, mine: Numbers) -> bool:
    """Whether some registers held zero before a loop."""
    return before is not None and all(_is_zero(state.origins[i]) for i in np.unique(before.ids[mine]))


def _whole(
    state: State, origin: Any, before: Words | None, mine: Numbers, loop: Symbol, iteration: Symbol, extent: Any
) -> Sum | None:
    """The sum over all iterations; None if it does not begin at zero."""
    if not isinstance(origin, Sum) or origin.carry is None or origin.carry[1] != loop or len(origin.segments) != 1:
        return None
    if origin.carry[0] == "first":
        if state.facts.le(1, extent) is not True:
            return None
    elif not begins_at_zero(state, before, mine):
        return None
    (once,) = origin.segments
    return replace(origin, segments=(replace(once, loop=iteration, extent=extent),), carry=None)
