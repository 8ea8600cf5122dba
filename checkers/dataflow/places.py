"""Reading and writing places: registers, shared memory and global memory, with the conditions that stand around."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace
from symlayout.kernel import KernelTensor
from symlayout.ops import Op, Ref

from .contents import WIDTH, Carried, Guarded, Loaded, Numbers, Unknown, Words
from .offsets import by_stride, coordinate_of
from .state import Open, State
from .value_walk import Walk


def read(walk: Walk, state: State, op: Op, ref: Ref, count: int) -> Words:
    """(active thread, element) of *count* elements from a place on. What later iterations add is not known yet."""
    return settled(state, carried(walk, state, op, ref, count))


def settled(state: State, words: Words) -> Words:
    """Partial sums in accumulators are known only to the operations that add to them."""
    out = words
    for number in words.kinds:
        origin: Any = state.origins[number]
        origin = state.origins[origin.origin] if isinstance(origin, Guarded) else origin
        loop = origin.loop if isinstance(origin, Carried) else getattr(origin, "carry", None)
        if loop is not None:
            out, mine = out.copy() if out is words else out, words.ids == number
            unknown = state.origins.number(Unknown("it is a sum of this iteration and of earlier ones", True))
            out.put(mine, Words.of(unknown, int(mine.sum())))
    return out


def carried(walk: Walk, state: State, op: Op, ref: Ref, count: int) -> Words:
    """(active thread, element) of *count* elements from a place on, to which something is added there."""
    tensor = state.kernel.tensor(ref.tensor)
    if tensor.space is MemorySpace.GLOBAL:
        return _from_global(walk, state, tensor, ref, count)
    at = starts(walk, state, op, tensor, ref)[:, None] + np.arange(count)
    if tensor.space is MemorySpace.REGISTER:
        return registers_at(walk, state, tensor, at, ref)
    return shared_at(walk, state, op, tensor, at, ref)


def shared_at(walk: Walk, state: State, op: Op, tensor: KernelTensor, at: Numbers, ref: Ref) -> Words:
    """(active thread, element) of shared memory, at these places of each thread."""
    held = walk.tiles.filled(state, op, tensor.name) if tensor.name in walk.ring_of else own_shared(walk, state, tensor)
    inside(at, len(held.ids), ref)
    return met(state, held[at])


def write(walk: Walk, state: State, op: Op, ref: Ref, words: Words, whole: bool = False) -> None:
    """Put (active thread, element) from a place on; *whole* where they say themselves what counts under conditions."""
    tensor = state.kernel.tensor(ref.tensor)
    if tensor.space is MemorySpace.GLOBAL:
        for rows, coordinate, deltas in elements(state, ref, words.ids.shape[1]) if walk.checking else ():
            walk.stored(state, op, tensor.name, coordinate, deltas, words[rows])
        return None
    at = starts(walk, state, op, tensor, ref)[:, None] + np.arange(words.ids.shape[1])
    if tensor.space is MemorySpace.REGISTER:
        return put_registers(walk, state, tensor, at, ref, words, whole)
    words = words if whole else under(state, words)
    if ref.tensor in walk.ring_of and ref.tensor not in walk.told:
        raise Open(f"{op} writes into a ring")
    filled = ref.tensor in walk.told
    held = walk.tiles.image(state, op, walk.told[ref.tensor], ref.tensor) if filled else own_shared(walk, state, tensor)
    inside(at, len(held.ids), ref)
    if np.count_nonzero(np.bincount(at.reshape(-1))) != at.size:
        raise Open(f"threads that write one place of {tensor.name}: {op}")
    if filled and held.ids[at].any():
        raise Open(f"a place that is filled twice in one use: {op}")
    state.forget(walk.overlapping[tensor.name], f"{tensor.name} has the same bytes of shared memory, and was written")
    held.put(at, words)
    return None


def registers_at(walk: Walk, state: State, tensor: KernelTensor, at: Numbers, ref: Ref) -> Words:
    """(active thread, element) of registers, at these places of each thread."""
    _own(walk, state, tensor)
    held = state.held(tensor)
    inside(at, held.ids.shape[1], ref)
    if state.team.elected:
        return Words.of(_of_elected(state, tensor), at.shape)
    found = held[state.team.threads[:, None], at]
    _expect_own(state, found, at, ref)
    return met(state, found)


def put_registers(
    walk: Walk, state: State, tensor: KernelTensor, at: Numbers, ref: Ref, words: Words, whole: bool = False
) -> None:
    """Put (active thread, element) into registers, at these places of each thread."""
    _own(walk, state, tensor)
    held = state.held(tensor)
    inside(at, held.ids.shape[1], ref)
    if state.team.beside is None:
        held.put((state.team.threads[:, None], at), words if whole else under(state, words))
        return
    lanes = np.broadcast_to(state.team.beside[:, :, None], (*state.team.beside.shape, at.shape[1]))
    held.put((lanes, at[:, None, :]), Words.of(_of_elected(state, tensor), lanes.shape))


def _of_elected(state: State, tensor: KernelTensor) -> int:
    """What registers of the thread that an election chose hold: it is not known which one that is."""
    return state.origins.number(Unknown(f"registers {tensor.name} of an elected thread"))


def starts(walk: Walk, state: State, op: Op, tensor: KernelTensor, ref: Ref) -> Numbers:
    if ref.tensor in walk.ring_of:
        return state.numbers(state.normal(walk.tiles.slot(state, op, ref.tensor, ref.offset)))
    return state.numbers(ref.offset)


def _own(walk: Walk, state: State, tensor: KernelTensor) -> None:
    if tensor.role not in ("", state.role):
        raise Open(f"registers {tensor.name} of another role")
    if len(walk.roles_of[tensor.name]) > 1 and "" in walk.roles_of[tensor.name]:
        raise Open(f"registers {tensor.name} are used in a role and outside of roles; expected registers for each")


def _expect_own(state: State, found: Words, at: Numbers, ref: Ref) -> None:
    """Raise Open if the contents of an accumulator from the iteration before are *found* in other registers."""
    for number in found.kinds:
        origin = state.origins[number]
        if isinstance(origin, Carried):
            mine = found.ids == number
            own = np.stack(np.broadcast_arrays(state.team.threads[:, None], at), axis=-1)
            if origin.tensor != ref.tensor or (found.deltas[mine][:, :2] != own[mine]).any():
                raise Open(f"{ref} holds the contents of other registers in the iteration before")


def inside(at: Numbers, n: int, ref: Ref) -> None:
    if at.size and (at.min() < 0 or at.max() >= n):
        raise Open(f"{ref} is outside: {int(at.min())} .. {int(at.max())} of {n} elements")


def own_shared(walk: Walk, state: State, tensor: KernelTensor) -> Words:
    """The places of a tensor that one role has for itself."""
    beside = walk.overlapping[tensor.name]
    if len(walk.roles_of[tensor.name].union(*(walk.roles_of[name] for name in beside))) > 1:
        what = f"{tensor.name}, with {', '.join(beside)} in the same bytes," if beside else tensor.name
        raise Open(f"{what} is handed from role to role, and not by a ring")
    if any(name in walk.ring_of for name in beside):
        raise Open(f"{tensor.name} has bytes of shared memory in common with a ring; expected places apart")
    return state.held(tensor)


def _from_global(walk: Walk, state: State, tensor: KernelTensor, ref: Ref, count: int) -> Words:
    if tensor.name in walk.written - walk.read_first:
        raise Open(f"{tensor.name} is read and written, and not each load of it stands before all stores")
    out = Words.of(0, (len(state.team.threads), count))
    for rows, at, deltas in elements(state, ref, count):
        out.ids[rows] = state.origins.number(Loaded(tensor.name, at, tensor.dtype))
        out.deltas[rows, :, : len(at)] = deltas
    return out


def elements(state: State, ref: Ref, count: int) -> list[tuple[Numbers, tuple[Any, ...], Numbers]]:
    """(some of the active threads, coordinate, deltas) of *count* elements of a global tensor from a place on."""
    offset, multiples = by_stride(state, state.kernel.tensor(ref.tensor), ref.offset)
    if multiples:
        with contextlib.suppress(Open):  # as for tiles that are numbered, where threads are looked at one by one
            return list(_elements(state, ref, count, offset, multiples))
    return list(_elements(state, ref, count, ref.offset, {}))


def _elements(
    state: State, ref: Ref, count: int, offset: Any, multiples: dict[int, Numbers]
) -> Iterator[tuple[Numbers, tuple[Any, ...], Numbers]]:
    tensor = state.kernel.tensor(ref.tensor)
    for rows, rest, mine in state.places(offset):
        threads = state.team.threads[rows]
        steps = {i: u[rows, None] for i, u in multiples.items()}
        yield rows, *coordinate_of(state, tensor, rest, mine[:, None] + np.arange(count), threads, steps)


# -- conditions -----------------------------------------------------------------------------------------


def under(state: State, words: Words) -> Words:
    """Values written under conditions, which exist only where these hold."""
    if not state.guards:
        return words
    out = words.copy()
    for number in words.kinds:
        origin, mine = state.origins[number], words.ids == number
        if isinstance(origin, Unknown):
            continue
        base, known = (origin.origin, origin.conditions) if isinstance(origin, Guarded) else (number, ())
        first = state.origins.width(number)
        if first + len(state.guards) > WIDTH:
            raise Open(f"values under {len(known) + len(state.guards)} conditions, more than are followed at once")
        conditions = (*known, *(g.condition for g in state.guards))
        out.ids[mine] = state.origins.number(Guarded(base, conditions))
        for i, g in enumerate(state.guards):
            rows = np.broadcast_to(g.deltas[state.team.threads].reshape(-1, *[1] * (words.ids.ndim - 1)), mine.shape)
            out.deltas[mine, first + i] = rows[mine]
    return out


def met(state: State, words: Words) -> Words:
    """The value that is read, without the conditions that hold at the read."""
    out = words
    for number in words.kinds:
        origin = state.origins[number]
        if not isinstance(origin, Guarded):
            continue
        mine, first = words.ids == number, state.origins.width(origin.origin)
        rows, _ = np.nonzero(mine)
        held = words.deltas[mine][:, first:]
        pairs = list(enumerate(origin.conditions))
        left = [(i, c) for i, c in pairs if not state.holds(c, held[:, i], state.team.threads[rows])]
        if len(left) == len(pairs):
            continue
        out = out.copy() if out is words else out
        deltas = np.zeros_like(words.deltas[mine])
        deltas[:, :first] = words.deltas[mine][:, :first]
        deltas[:, first : first + len(left)] = held[:, [i for i, _ in left]]
        out.deltas[mine] = deltas
        kept = tuple(c for _, c in left)
        out.ids[mine] = state.origins.number(Guarded(origin.origin, kept)) if kept else origin.origin
    return out
