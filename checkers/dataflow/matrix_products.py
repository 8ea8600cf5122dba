"""The effects of products of matrices: of one instruction, and of loops that do nothing else, at once.

Products of many tiles into registers of their own are in no order, so that an unrolled loop of them is followed as one:
what it multiplies is read once for each place, and sums of the same form are one origin.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from symlayout.atoms import MmaAtom
from symlayout.expr import Expr, Symbol, symbols_of
from symlayout.facts import Facts
from symlayout.int_tuple import size
from symlayout.ops import For, Matrix, Mma, Op, Ref

from .contents import Guarded, Numbers, Unknown, Words
from .places import carried, inside, own_shared, put_registers, read, registers_at, starts, write
from .state import NotKnown, Open, State, Team
from .sums import Factor, first_products, matrix, multiplied, summed
from .value_walk import UNROLLED, Walk


def multiply(walk: Walk, state: State, op: Op) -> None:
    assert isinstance(op, Mma)
    row = op.row
    if not isinstance(row, MmaAtom):
        raise Open(f"{op.atom} is not followed")
    if state.kernel.tensor(op.acc.tensor).dtype != row.acc_dtype:
        raise Open(f"expected registers of {row.acc_dtype} for the sums of {op.atom}, got {op.acc}")
    groups = groups_of(state, row.threads)
    if walk.checking:
        _add_products(walk, state, op, row, groups)
    else:  # sums of iterations that only fill slots are not looked at
        state.forget({op.acc.tensor}, "it is a sum of this iteration and of earlier ones")


def _add_products(walk: Walk, state: State, op: Mma, row: MmaAtom, groups: Numbers) -> None:
    """The sums of groups of threads: of all together where they multiply elements of the same origins."""
    if len(groups) > 1 and not any(isinstance(x, Matrix) for x in (op.a, op.b)):
        try:
            return _multiply(walk, state, op, row)
        except Open:
            pass
    for some in groups:
        with state.inside(team=Team(some)):
            try:
                _multiply(walk, state, op, row)
            except NotKnown as e:
                sums = Words.of(
                    state.origins.number(Unknown(str(e), e.stale)), (len(some), int(size(row.tv_c.shape[1])))
                )
                write(walk, state, op, op.acc, sums)
    return None


def _multiply(walk: Walk, state: State, op: Mma, row: MmaAtom) -> None:
    a, b = (_factor(walk, state, op, x, row, which) for which, x in enumerate((op.a, op.b)))
    held = carried(walk, state, op, op.acc, int(size(row.tv_c.shape[1])))
    write(walk, state, op, op.acc, multiplied(state, row, a, b, held, _zero(state, op)))


def _factor(walk: Walk, state: State, op: Mma, x: Any, row: MmaAtom, which: int) -> Factor:
    """A (0) or B (1) of a product; what registers hold that nothing writes meanwhile is read once."""
    if state.factors is None or not isinstance(x, Ref):
        return Factor.of(state, _operand(walk, state, op, x, row, which))
    key = row.word, which, x.tensor, state.here(x.offset), state.team
    if key not in state.factors:
        state.factors[key] = Factor.of(state, _operand(walk, state, op, x, row, which))
    return state.factors[key]


def _zero(state: State, op: Mma) -> Any:
    """The reset of the sums: "now", "never", or the loop in whose first iteration they start at zero."""
    zero = state.normal(state.here(op.zero))
    if type(zero) is int:
        return "now" if zero else "never"
    if isinstance(op.zero, Expr) and state.loops:
        loop, now = state.loops[-1]
        if isinstance(now, Expr) and now in zero.symbols:
            later = Facts.about(zero, given=(now >= 1,))
            if zero.subs({now: 0}) == 1 and later.normal(zero) == 0:
                return loop
    raise Open(f"when the sums start anew: {op}", stale=True)  # which an iteration after some others may show


def _operand(walk: Walk, state: State, op: Mma, x: Any, row: MmaAtom, which: int) -> Words:
    """The matrices (group, row, k) of groups of threads, out of registers or out of shared memory by a descriptor.

    Of A (0) or B (1), as words where registers hold several elements.
    """
    held_as, tv, shape = row.held[which], row.words[which], (row.mnk[which], row.mnk[2] // row.packed)
    if isinstance(x, Ref):
        found = matrix(tv, read(walk, state, op, x, int(size(tv.shape[1]))), shape)
    else:
        assert isinstance(x, Matrix)
        name = x.start.tensor
        tensor = state.kernel.tensor(name)
        unit = held_as.bytes
        if tensor.dtype.bits != held_as.bits:
            raise Open(f"{op.atom} of {tensor.dtype}")
        held = walk.tiles.filled(state, op, name) if name in walk.ring_of else own_shared(walk, state, tensor)
        found_at = np.unique(starts(walk, state, op, tensor, x.start))
        if len(found_at) != 1:
            raise Open(f"a matrix that begins at several places: {x}")
        repeat = x.descriptor.swizzle.repeat_bytes
        if repeat > 1 and (len(held.ids) * unit) % repeat:
            raise Open(f"slots of {len(held.ids) * unit} bytes, which the swizzle's repeat of {repeat} does not divide")
        at = x.descriptor.addresses(*shape, held_as, tensor.base + int(found_at[0]) * unit) - tensor.base
        inside(at // unit, len(held.ids), x.start)
        found = held[at[None] // unit]
    for i in found.kinds:
        origin = state.origins[i]
        if isinstance(origin, Unknown | Guarded):
            if isinstance(origin, Unknown):
                raise NotKnown(f"{op.atom} reads what is not known: {origin.why}", origin.stale)
            raise Open(f"{op.atom} reads what may not be there")
        kind = getattr(origin, "dtype", held_as)
        if kind != held_as:
            raise Open(f"{op.atom} reads {kind}")
    return found


def groups_of(state: State, n: int) -> Numbers:
    """The active threads in groups of *n* that issue an instruction together: (group, thread)."""
    threads = state.team.threads
    whole = len(threads) % n == 0 and not state.team.elected
    groups: Numbers = threads.reshape(-1, n) if whole else threads[None]
    if not whole or (groups // n != groups[:, :1] // n).any() or not all(map(state.alike, groups)):
        raise Open(f"an instruction of {n} threads by some of them")
    return groups


# -- loops of products ----------------------------------------------------------------------------------


def multiply_all(walk: Walk, state: State, op: For) -> bool:
    """All iterations of unrolled loops around one product, at once; False where they are followed one by one."""
    found = _only_product(op)
    if found is None or not walk.checking or state.factors is not None:
        return False
    loops, product = found
    row, zero = product.row, state.normal(state.here(product.zero))
    if not isinstance(row, MmaAtom) or type(zero) is not int or any(s in loops for s in symbols_of(product.zero)):
        return False
    if any(isinstance(x, Matrix) for x in (product.a, product.b)):
        return False
    try:
        groups_of(state, row.threads)
        with state.inside(factors={}):
            _multiply_tiles(walk, state, product, row, loops, "now" if zero else "never")
    except Open:
        return False
    return True


def _only_product(op: For) -> tuple[dict[Symbol, int], Mma] | None:
    """The trip counts of loops that stand one in the other, and the product in the innermost."""
    loops: dict[Symbol, int] = {}
    inner: Op = op
    while isinstance(inner, For) and type(inner.extent) is int and len(inner.body) == 1:
        loops[inner.index] = inner.extent
        (inner,) = inner.body
    if not isinstance(inner, Mma) or not 0 < math.prod(loops.values()) <= UNROLLED:
        return None
    read = {x.tensor for x in (inner.a, inner.b) if isinstance(x, Ref)}
    return None if inner.acc.tensor in read else (loops, inner)


def _multiply_tiles(walk: Walk, state: State, op: Mma, row: MmaAtom, loops: dict[Symbol, int], zero: str) -> None:
    """Raise Open, with nothing changed, unless products are of one form and their sums in registers of their own."""
    tensor, values = state.kernel.tensor(op.acc.tensor), np.arange(int(size(row.tv_c.shape[1])))
    factors: list[tuple[Factor, Factor]] = []
    first: list[Numbers] = []
    for numbers in itertools.product(*map(range, loops.values())):
        with state.inside(env={**state.env, **dict(zip(loops, numbers, strict=True))}):
            a, b = (_factor(walk, state, op, x, row, which) for which, x in enumerate((op.a, op.b)))
            factors.append((a, b))
            first.append(starts(walk, state, op, tensor, op.acc))
    begins = np.stack(first, axis=1)
    if (np.diff(np.sort(begins, axis=1), axis=1) < len(values)).any():
        raise Open("sums in the same registers")
    at = (begins[:, :, None] + values).reshape(len(begins), -1)
    held = registers_at(walk, state, tensor, at, op.acc)
    rows, products = first_products(state, row, factors)
    words = summed(state, row, rows, products.reshape(*at.shape, -1), held, zero)
    put_registers(walk, state, tensor, at, op.acc, words)
