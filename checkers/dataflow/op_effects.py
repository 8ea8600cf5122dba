"""The effects of operations on the places of the walk; a row for each kind of operation and of instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from symlayout.atoms import AccessKind, Extent, MatrixCopy, MemorySpace
from symlayout.dtype import DType
from symlayout.expr import Symbol
from symlayout.kernel.visitor import Handlers
from symlayout.ops import (
    WARP,
    Arrive,
    Barrier,
    BarrierArrive,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Init,
    Inval,
    LoadIndex,
    Map,
    Mma,
    Op,
    Param,
    Prefetch,
    PrefetchL2,
    Reduce,
    Ref,
    Shuffle,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.semantics.maps import map_function
from symlayout.semantics.matrix import by_thread

from . import bulk_boxes as bulk
from .contents import WIDTH, Computed, Constant, Given, Guarded, Unknown, Words, together
from .folds import folded, folds, reduced
from .matrix_products import groups_of, multiply, multiply_all
from .places import carried, elements, read, settled, shared_at, starts, write
from .state import Open, State, Team
from .sums import adds_products, products, with_products
from .tensor_boxes import load, store
from .updates import combine, update
from .value_walk import Walk
from .zero_fill import over_zeros, products_or_zeros, read_or_zero

# -- copies ---------------------------------------------------------------------------------------------


def _copy(walk: Walk, state: State, op: Op) -> None:
    assert isinstance(op, Copy)
    row = op.row
    step = None if row is None else COPIES.get((row.extent, row.dst, row.change))
    if step is None:
        raise Open(f"{op.atom} is not followed")
    step(walk, state, op)


def _plain_copy(walk: Walk, state: State, op: Copy) -> None:
    """ld, st and cp.async: so many bytes by each thread."""
    row = op.row
    if row is None or not isinstance(op.src, Ref) or not isinstance(op.dst, Ref):
        raise Open(f"{op.atom} is not followed")
    src, dst = (state.kernel.tensor(r.tensor).dtype for r in (op.src, op.dst))
    count, rest = divmod(8 * row.bytes, src.bits)
    if src.bits != dst.bits or rest:
        raise Open(f"a copy between {src} and {dst}: {op}")
    found = read_or_zero(walk, state, op, op.src, count) if op.when else read(walk, state, op, op.src, count)
    filled = over_zeros(walk, state, op, found)
    write(walk, state, op, op.dst, found if filled is None else filled, whole=filled is not None)


def _matrix_copy(walk: Walk, state: State, op: Copy) -> None:
    """ldmatrix and stmatrix: rows of 8 elements, each from the place that one lane gives."""
    src, dst, row = op.src, op.dst, op.row
    assert isinstance(row, MatrixCopy)
    if (
        not isinstance(src, Ref)
        or not isinstance(dst, Ref)
        or any(state.kernel.tensor(r.tensor).dtype.bits != 16 for r in (src, dst))
    ):
        raise Open(f"elements of other than 16 bits: {op}")
    groups = groups_of(state, row.threads)
    loads = row.dst is MemorySpace.REGISTER
    givers = state.team if row.row_lanes == row.threads else Team(groups[:, : row.row_lanes].reshape(-1))
    at = by_thread(row.dst_tv if loads else row.src_tv)
    if loads:
        tensor = state.kernel.tensor(src.tensor)
        with state.inside(team=givers):
            begins = starts(walk, state, op, tensor, src)[:, None] + np.arange(8)
        places = begins.reshape(len(groups), -1)[:, at].reshape(-1, at.shape[1])  # of what each thread receives
        write(walk, state, op, dst, settled(state, shared_at(walk, state, op, tensor, places, src)))
        return
    held = read(walk, state, op, src, row.held).reshape(len(groups), *at.shape)
    rows = Words.of(0, (len(groups), at.size))
    rows.put((slice(None), at), held)
    with state.inside(team=givers):
        write(walk, state, op, dst, rows.reshape(-1, 8))


# -- arithmetic -----------------------------------------------------------------------------------------


LOST = Unknown("it has a product with zero, of an element that may be infinite")


def _map(walk: Walk, state: State, op: Op) -> None:
    assert isinstance(op, Map)
    row = map_function(op.function)
    if any(row.counts):
        raise Open(f"{op.function}, which combines several elements into one")
    words = [_source(walk, state, op, x) for x in op.srcs]
    words = [w if x == op.dst else settled(state, w) for x, w in zip(op.srcs, words, strict=True)]
    out = Words.of(0, words[0].ids.shape)
    dtype = state.kernel.tensor(op.dst.tensor).dtype
    if len(words) == 2 and op.dst in op.srcs:
        acc, x = words if op.srcs[0] == op.dst else words[::-1]
        if folds(state, row.value, acc, x):
            write(walk, state, op, op.dst, folded(state, row.value, dtype, acc, x), whole=True)
            return
    if op.function == "fma" and op.srcs[2] == op.dst:
        a, b, left_out = products_or_zeros(state, op, words[0], words[1])
        with state.without(left_out):  # so what is added to has to be there without them
            if left_out and _add_products(walk, state, op, dtype, a, b, _source(walk, state, op, op.dst)):
                return
        if _add_products(walk, state, op, dtype, *words):
            return
    words = [settled(state, w) for w in words]
    for each, mine in together(*words):
        args, parts, conditions = [], [], {}
        for w, i in zip(words, each, strict=True):
            origin = state.origins[i]
            args.append(origin.origin if isinstance(origin, Guarded) else i)
            n, deltas = state.origins.width(args[-1]), w.deltas[mine]
            parts.append(deltas[:, :n])
            for j, condition in enumerate(origin.conditions if isinstance(origin, Guarded) else ()):
                conditions[condition, deltas[:, n + j].tobytes()] = deltas[:, n + j : n + j + 1]
        parts += conditions.values()
        held = np.concatenate(parts, axis=1)
        if held.shape[1] > WIDTH:
            raise Open(f"{op.function} of many values")
        out.deltas[mine, : held.shape[1]] = held
        number = _applied(state, row.value, tuple(args), dtype)
        if conditions and not isinstance(state.origins[number], Unknown):
            number = state.origins.number(Guarded(number, tuple(c for c, _ in conditions)))
        out.ids[mine] = number
    write(walk, state, op, op.dst, out)


def _add_products(walk: Walk, state: State, op: Map, dtype: DType, a: Words, b: Words, acc: Words) -> bool:
    """acc += a*b, if it goes on with a sum of products, or begins one; whether it does."""
    some, lost = products(state, a, b)
    if (lost.any() and not some.any()) or not adds_products(state, a[some], b[some], acc[some]):
        return False
    sums = acc.copy()
    sums.put(some, with_products(state, dtype, a[some], b[some], acc[some]))
    sums.put(lost, Words.of(state.origins.number(LOST), int(lost.sum())))
    write(walk, state, op, op.dst, sums)
    return True


def _source(walk: Walk, state: State, op: Map, x: Ref | Param) -> Words:
    if isinstance(x, Ref):
        return _typed(state, op, x, carried(walk, state, op, x, op.count))
    given = Given(x.name, state.kernel.parameter(x.name).dtype)
    return Words.of(state.origins.number(given), (len(state.team.threads), op.count))


def _typed(state: State, op: Op, ref: Ref, words: Words) -> Words:
    """Registers that are read as numbers of their type. Raises Open where bits of another type stand there."""
    dtype = state.kernel.tensor(ref.tensor).dtype
    for number in words.kinds:
        origin = state.origins[number]
        origin = state.origins[origin.origin] if isinstance(origin, Guarded) else origin
        found = getattr(origin, "dtype", dtype)
        if found != dtype:
            raise Open(f"{op} takes {ref} for {dtype}, and it holds {found}")
    return words


def _shuffle(walk: Walk, state: State, op: Op) -> None:
    """Words of other lanes of the warp."""
    assert isinstance(op, Shuffle)
    src, dst = (state.kernel.tensor(r.tensor).dtype for r in (op.src, op.dst))
    if src.bits != dst.bits:
        raise Open(f"a shuffle from {src} to {dst}: {op}")
    lane, by = state.team.threads % WARP, state.numbers(op.lane)
    from_lane = {"idx": by, "up": lane - by, "down": lane + by, "bfly": lane ^ by}[op.mode]
    from_lane = np.where((from_lane < 0) | (from_lane >= WARP), lane, from_lane)
    for group in groups_of(state, WARP):
        mine = np.isin(state.team.threads, group)
        with state.inside(team=Team(group)):
            held = read(walk, state, op, op.src, op.count)
            write(walk, state, op, op.dst, held[from_lane[mine]])


def _reduce(walk: Walk, state: State, op: Op) -> None:
    """Elements of a thread and of its neighbours become one."""
    assert isinstance(op, Reduce)
    if op.lanes > 1:
        groups_of(state, WARP)
    kind, to = (state.kernel.tensor(r.tensor).dtype for r in (op.src, op.dst))
    if kind != to:
        raise Open(f"a reduction of {kind} into {to}: {op}; expected registers of one type")
    words = _typed(state, op, op.src, read(walk, state, op, op.src, op.count))
    write(walk, state, op, op.dst, reduced(state, op.function, kind, words, op.lanes))


def _pick(walk: Walk, state: State, op: Op) -> None:
    """An index that is read has a name of its own for each entry of the tensor that it may be."""
    assert isinstance(op, LoadIndex)
    if op.src.tensor in walk.written:
        raise Open(f"{op.src.tensor} is read and written")
    names: dict[int, Symbol] = {}
    low, high = (state.here(x) for x in (op.name.lower, op.name.upper))
    for rows, at, deltas in elements(state, op.src, 1):
        for i, mine in zip(rows.tolist(), deltas[:, 0].tolist(), strict=True):
            place = tuple(x + d for x, d in zip(at, mine, strict=True))
            symbol = walk.entry(op.src.tensor, place, low, high)
            beside = state.team.threads[i : i + 1] if state.team.beside is None else state.team.beside[i]
            names |= dict.fromkeys(beside.tolist(), symbol)
    state.picked = {**state.picked, op.name: names}


def _applied(state: State, function: str, args: tuple[int, ...], dtype: DType) -> int:
    """A function of origins; of one that is not known it is not known either."""
    for i in args:
        if isinstance(state.origins[i], Unknown):
            return i
    return state.origins.number(Computed(function, args, dtype))


def _fill(walk: Walk, state: State, op: Op) -> None:
    assert isinstance(op, Fill)
    number = state.origins.number(Constant(op.value, state.kernel.tensor(op.dst.tensor).dtype))
    write(walk, state, op, op.dst, Words.of(number, (len(state.team.threads), op.count)))


# -- the rows -------------------------------------------------------------------------------------------


def _loop(walk: Walk, state: State, op: Op) -> None:
    assert isinstance(op, For)
    if not multiply_all(walk, state, op):
        walk.loop(state, op)


def _nothing(walk: Walk, state: State, op: Op) -> None:
    """It orders accesses, and moves nothing."""


COPIES: dict[tuple[Extent, MemorySpace, AccessKind], Callable[[Walk, State, Copy], None]] = {
    **{(Extent.INSTRUCTION, space, AccessKind.WRITE): _plain_copy for space in MemorySpace},
    **{(Extent.SHAPE, space, AccessKind.WRITE): _matrix_copy for space in (MemorySpace.SHARED, MemorySpace.REGISTER)},
    (Extent.INSTRUCTION, MemorySpace.GLOBAL, AccessKind.REDUCE): combine,
    (Extent.BOX, MemorySpace.SHARED, AccessKind.WRITE): load,
    (Extent.BOX, MemorySpace.GLOBAL, AccessKind.WRITE): store,
    (Extent.BOX, MemorySpace.GLOBAL, AccessKind.REDUCE): update,
    (Extent.OPERAND, MemorySpace.SHARED, AccessKind.WRITE): bulk.load,
    (Extent.OPERAND, MemorySpace.GLOBAL, AccessKind.WRITE): bulk.store,
}


class ValueWalk(Walk):
    """The walk with what each operation does to the places of it."""

    handlers: ClassVar[Handlers] = {
        **dict.fromkeys(
            (
                *(
                    Prefetch,
                    PrefetchL2,
                    Init,
                    Inval,
                    Arrive,
                    CpAsyncArrive,
                    Barrier,
                    BarrierArrive,
                    WarpBarrier,
                    ClusterBarrier,
                    ClusterArrive,
                    ClusterWait,
                ),
                *(Fence, Commit, WaitGroup),
            ),
            _nothing,
        ),
        Wait: lambda walk, state, op: walk.uses.waited(state, op),
        ExpectTx: lambda walk, state, op: walk.uses.armed(state, op),
        Copy: _copy,
        Map: _map,
        Fill: _fill,
        Mma: multiply,
        Shuffle: _shuffle,
        Reduce: _reduce,
        LoadIndex: _pick,
        For: _loop,
        If: Walk.condition,
        Elect: Walk.elect,
    }
