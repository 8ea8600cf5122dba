"""Tensor copies: a box of a global tensor lands in a tile of shared memory, or a tile goes to a box."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from symlayout.kernel import KernelMap, KernelTensor
from symlayout.ops import Box, Copy, Ref
from symlayout.tma import TmaType

from .contents import Loaded, Numbers, Words
from .places import inside, met, own_shared, starts, under
from .state import Open, State, Team
from .value_walk import Walk

CHANGING = (TmaType.FLOAT32_FTZ, TmaType.TFLOAT32, TmaType.TFLOAT32_FTZ)  # types that may round what they copy


def load(walk: Walk, state: State, op: Copy) -> None:
    """A box lands in the tile of the use at hand, in this CTA or in those of a mask."""
    if not isinstance(op.src, Box):
        raise Open(f"a load from {op.src}")
    for tile in fills(walk, state, op):
        _land(walk, state, op, op.src, tile)


def fills(walk: Walk, state: State, op: Copy) -> Iterator[Words]:
    """The tile of the use at hand for each thread that issues a load, where it lands in the CTA that is walked.

    What is done with a tile is done as that thread. Raises Open for a load that fills no ring.
    """
    ring = None if op.barrier is None else next((r for r in walk.rings if r.full == op.barrier.barrier), None)
    if not isinstance(op.dst, Ref) or ring is None or op.dst.tensor not in ring.tensors:
        raise Open(f"a load that fills no ring: {op}")
    for team in singles(state):
        with state.inside(team=team):
            here = walk.rank == walk.at if op.multicast is None else state.uniform(op.multicast) >> walk.at & 1
            if here:
                yield walk.tiles.image(state, op, ring, op.dst.tensor)


def _land(walk: Walk, state: State, op: Copy, box: Box, tile: Words) -> None:
    assert isinstance(op.dst, Ref)
    tensor, kernel_map = state.kernel.tensor(op.dst.tensor), state.kernel.map(box.tensor_map)
    if kernel_map.tensor in walk.written:
        raise Open(f"{kernel_map.tensor} is read and written")
    start = state.uniform(walk.tiles.slot(state, op, tensor.name, op.dst.offset))
    at, deltas = landing(state, kernel_map, tensor, start, len(tile.ids))
    if tile.ids[at].any():
        raise Open(f"a place that is filled twice in one use: {op}")
    source = state.kernel.tensor(kernel_map.tensor)
    corner = corner_of(state, kernel_map, box.coordinate)
    outside = "nan" if kernel_map.tensor_map.oob_fill else "zero"
    number = state.origins.number(Loaded(source.name, tuple(x for x, _ in corner), source.dtype, outside=outside))
    words = Words.of(number, len(at))
    words.deltas[:, : len(corner)] = deltas + np.array([c for _, c in corner])
    tile.put(at, under(state, words))


def store(walk: Walk, state: State, op: Copy) -> None:
    """A tile goes to a box of a global tensor."""
    if not isinstance(op.src, Ref) or not isinstance(op.dst, Box):
        raise Open(f"a store from {op.src} to {op.dst}")
    tensor, kernel_map = state.kernel.tensor(op.src.tensor), state.kernel.map(op.dst.tensor_map)
    for team in singles(state):
        with state.inside(team=team):
            ring = op.src.tensor in walk.ring_of
            tile = walk.tiles.filled(state, op, tensor.name) if ring else own_shared(walk, state, tensor)
            start = int(starts(walk, state, op, tensor, op.src)[0])
            at, deltas = landing(state, kernel_map, tensor, start, len(tile.ids))
            corner = corner_of(state, kernel_map, op.dst.coordinate)
            if walk.checking:
                moved = deltas + np.array([c for _, c in corner])
                kept = _may_be_inside(state, state.kernel.tensor(kernel_map.tensor), corner, moved)
                if kept.any():
                    words = met(state, tile[at[kept]][None])
                    walk.stored(state, op, kernel_map.tensor, tuple(x for x, _ in corner), moved[kept][None], words)


def _may_be_inside(state: State, tensor: KernelTensor, corner: list[tuple[Any, int]], moved: Numbers) -> Numbers:
    """Which elements of a box are not outside of the tensor by their form: a store leaves those out."""
    kept = np.ones(len(moved), bool)
    for i, ((x, _), n) in enumerate(zip(corner, leaves(tensor.layout.shape), strict=True)):
        room = state.normal(n - x)
        if type(room) is int:
            kept &= moved[:, i] < room
        if type(x) is int:
            kept &= moved[:, i] >= -x
    return kept


def singles(state: State) -> list[Team]:
    """The threads that issue an instruction of one thread, one by one."""
    team = state.team
    if len(team.threads) > 32:
        raise Open("a tensor copy by many threads")
    return [
        Team(team.threads[i : i + 1], None if team.beside is None else team.beside[i : i + 1])
        for i in range(len(team.threads))
    ]


def landing(state: State, m: KernelMap, tensor: KernelTensor, start: int, n: int) -> tuple[Numbers, Numbers]:
    """(places in the tile, coordinates from the corner of the box, in the order of the tensor's modes)."""
    tensor_map, source = m.tensor_map, state.kernel.tensor(m.tensor)
    if tensor_map.dtype in CHANGING:
        raise Open(f"boxes of {tensor_map.dtype}, which may change their elements")
    plain = not tensor_map.interleave and not tensor_map.is_im2col and set(tensor_map.element_stride) == {1}
    if not plain or tensor_map.element_bits != tensor.dtype.bits or source.dtype.bits != tensor.dtype.bits:
        raise Open(f"boxes of {m.name}: {tensor_map} to {tensor.dtype}")
    if not all(type(b) is int for b in tensor_map.box_dim):
        raise Open(f"a box with sizes in it: {tensor_map}")
    unit = tensor.dtype.bytes
    landing = tensor_map.landing
    repeat = tensor_map.swizzle.repeat_bytes
    if repeat > 1 and (n * unit) % repeat:
        raise Open(f"slots of {n * unit} bytes, which the swizzle's repeat of {repeat} does not divide")
    bytes_at = tensor_map.swizzle.swizzle(tensor.base + start * unit + landing.offsets()) - tensor.base
    at = np.asarray(bytes_at) // unit
    inside(at, n, Ref(tensor.name, start))
    box = np.array(np.unravel_index(np.arange(at.size), tuple(landing.shape), order="F")).T
    return at, box[:, _modes(state, m)]


def corner_of(state: State, m: KernelMap, coordinate: Any) -> list[tuple[Any, int]]:
    """A coordinate of a map in the order of the tensor's modes, each as an expression and an integer."""
    out = []
    for i in _modes(state, m):
        [(_, rest, mine)] = state.places(coordinate[i])
        out.append((rest, int(mine[0])))
    return out


def _modes(state: State, m: KernelMap) -> list[int]:
    """For each mode of the tensor the dimension of the map that is it. Raises Open where there is none."""
    tensor, tensor_map = state.kernel.tensor(m.tensor), state.kernel.map(m.name).tensor_map
    unit = tensor.dtype.bytes
    dims = list(zip(tensor_map.global_dim, (unit, *tensor_map.global_stride_bytes), strict=True))
    modes = list(zip(leaves(tensor.layout.shape), leaves(tensor.layout.stride), strict=True))
    facts = Facts.about(*state.kernel.dims, given=state.kernel.given)
    out = []
    for shape, stride in modes:
        found = [
            i
            for i, (n, d) in enumerate(dims)
            if i not in out and facts.normal(n - shape) == 0 and facts.normal(d - stride * unit) == 0
        ]
        if len(found) != 1:
            raise Open(f"the modes of {tensor.name} in {tensor_map}")
        out += found
    if len(out) != len(dims) or tensor_map.global_address != 0:
        raise Open(f"{tensor_map} as a map of {tensor.name}")
    return out
