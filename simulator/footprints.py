"""What executions of a copy move: wavefronts, sectors, lines and boxes, from the addresses of the kernel value.

All executions are looked at together, each pattern of addresses once: a count depends on addresses modulo a line alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from symlayout.atoms import MatrixCopy
from symlayout.atoms.access import MemorySpace
from symlayout.atoms.bulk import SIZE_UNIT_BYTES
from symlayout.banks import LANES, SECTOR_BYTES, ldmatrix_rows, lines, sectors, wavefronts
from symlayout.kernel import Kernel
from symlayout.ops import Copy, Ref
from symlayout.tma import TensorMap

from .engine import SimulationError
from .points import Array, Points

LINE = 128
AWAY = -(1 << 40)  # the address of a lane that is not here
PART_ROWS = 2  # rows of whole sectors that one takes as long as whose part is stored (M32)
AT_ONCE = 1 << 18  # addresses that are looked at together, which a cache holds
MIX = np.random.default_rng(0).integers(1, 1 << 62, LANES, dtype=np.int64) | 1


@dataclass(slots=True)
class Moved:
    """What each execution of a copy moves, a number for each row; *at* is its first byte of global memory."""

    served: Array  # wavefronts, lines or rows
    bytes: Array  # of global memory, in sectors
    shared_bytes: Array
    credited: Array  # bytes that an mbarrier is told of, of each thread together
    tensor: str = ""  # in global memory
    at: Array | None = None
    run_bytes: Array | None = None  # of global memory that lie together: a row of a box
    runs: Array | None = None
    pitch: int = 0  # bytes from one to the next
    fetched: int = 0  # bytes of a row that L2 takes from DRAM together, see ``fetched``
    in_parts: bool = False  # whether rows of boxes are stored that are a part of a sector


class Sums(NamedTuple):
    """Addresses that are sums of a *column*, one for each row, and a *row*, one for each lane."""

    column: Array
    row: Array

    def of(self, rows: Array) -> Array:
        """Those of some rows."""
        return np.asarray(self.column[rows] + self.row)


@dataclass
class Footprints:
    """The counts of copies of a kernel; patterns that were counted are kept."""

    kernel: Kernel
    _known: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = {t.name: t for t in self.kernel.tensors}

    def moved(self, op: Copy, here: Points) -> Moved:
        """What a copy moves: by tensor map, by a number of bytes, or by each thread."""
        at_once = max(1, AT_ONCE // len(here.lanes))
        if here.rows > at_once and not self._are_sums(op, here):
            rows = np.arange(here.rows)
            return _joined([self.moved(op, here.only(rows[k : k + at_once])) for k in rows[::at_once]])
        zero = np.zeros(here.rows, dtype=np.int64)
        found = Moved(zero, zero, zero, zero)
        for touch in op.touches():
            name = self.kernel.touched(touch)
            if self.tensors[name].space is MemorySpace.GLOBAL:
                found.tensor = name
        if op.box is not None:
            self._box(found, op, here)
        elif op.bytes is not None:
            self._bulk(found, op, here)
        else:
            self._threads(found, op, here)
        return found

    def _bulk(self, found: Moved, op: Copy, here: Points) -> None:
        found.served = here.count
        each = here.table(op.bytes)
        found.shared_bytes = found.credited = here.total(each)
        ref = next(r for r in (*op.sources, *op.targets) if r.tensor == found.tensor)
        at = here.table(ref.offset) * self.tensors[ref.tensor].dtype.bits // 8
        for what, numbers in ("size", each), ("address in global memory", at):
            wrong = numbers[here.here & (numbers % SIZE_UNIT_BYTES != 0)]
            if wrong.size:
                told = f"expected a {what} of whole {SIZE_UNIT_BYTES} bytes in {op} of {self.kernel.name}"
                raise SimulationError(f"{told}, got {wrong[0]} bytes")
        found.bytes = here.total(_sectors(at, each))
        found.at, found.run_bytes, found.runs = _first(here, at), found.bytes, np.ones_like(found.bytes)

    def _box(self, found: Moved, op: Copy, here: Points) -> None:
        """The part of a box inside its tensor, row by row in whole sectors."""
        box = op.box
        assert box is not None
        m: TensorMap = self.kernel.map(box.tensor_map).tensor_map
        if m.is_im2col or m.interleave or any(int(n) != 1 for n in m.element_stride):
            raise SimulationError(f"expected a tiled box without strides, which is modelled, got {op} of {m}")
        copies = here.count
        stored = any(self.kernel.touched(t) == found.tensor for t in op.changes())
        found.in_parts = stored and m.box_dim[0] * m.unit_bytes < SECTOR_BYTES
        each = PART_ROWS if found.in_parts else 1
        found.served = each * copies * int(np.prod([int(n) for n in m.box_dim[1:]], dtype=np.int64))
        found.shared_bytes = found.credited = copies * int(m.transaction_bytes)  # not the gaps of narrow swizzled rows
        corner = [here.table(x) for x in box.coordinate]
        inside = [_inside(x, int(n), int(end)) for x, n, end in zip(corner, m.box_dim, m.global_dim, strict=True)]
        corner = [np.maximum(x, 0) for x in corner]
        whole = _sectors(corner[0] * m.unit_bytes, inside[0] * m.unit_bytes)
        runs = np.broadcast_to(math.prod(inside[1:]), whole.shape)
        found.bytes = here.total(whole * runs)
        strides = (m.unit_bytes, *map(int, m.global_stride_bytes))
        start = sum(x * d for x, d in zip(corner, strides, strict=True))
        found.at, found.run_bytes, found.runs = (_first(here, x) for x in (np.asarray(start), whole, runs))
        found.pitch = int(m.global_stride_bytes[0]) if m.rank > 1 else 0
        found.fetched = fetched(m)

    def _threads(self, found: Moved, op: Copy, here: Points) -> None:
        """The wavefronts, or lines and sectors, of each warp."""
        atom = op.row
        assert atom is not None
        for ref in (*op.sources, *op.targets):
            tensor = self.tensors[ref.tensor]
            if tensor.space is MemorySpace.REGISTER:
                continue
            in_global = tensor.space is MemorySpace.GLOBAL
            at = self._addresses(ref, here)
            if in_global:
                found.at = _first(here, at)
                found.bytes = found.bytes + SECTOR_BYTES * self._counted("sectors", here, at, atom.bytes)
                found.served = found.served + self._counted("lines", here, at, atom.bytes)
                found.run_bytes, found.runs = found.bytes, np.ones_like(found.bytes)
            else:
                matrix = isinstance(atom, MatrixCopy)
                width, lanes = (0, atom.row_lanes) if isinstance(atom, MatrixCopy) else (atom.bytes, LANES)
                count = self._counted("rows" if matrix else "wavefronts", here, at, width, lanes)
                found.shared_bytes = found.shared_bytes + LINE * count
                found.served = found.served + (0 if found.tensor else count)

    def _are_sums(self, op: Copy, here: Points) -> bool:
        """Whether a copy by threads has sums for addresses, and few rows without some of the threads."""
        if op.box is not None or op.bytes is not None:
            return False
        some = 0 if here.mask is None else int((~here.here.all(axis=1)).sum())
        refs = [x for x in (*op.sources, *op.targets) if self.tensors[x.tensor].space is not MemorySpace.REGISTER]
        return some * len(here.lanes) <= AT_ONCE and all(isinstance(self._addresses(x, here), Sums) for x in refs)

    def _addresses(self, ref: Ref, here: Points) -> Array | Sums:
        """The bytes that threads access, in shared memory from its beginning."""
        tensor = self.tensors[ref.tensor]
        base = 0 if tensor.space is MemorySpace.GLOBAL else tensor.base
        apart = here.apart(ref.offset) if tensor.dtype.bits % 8 == 0 else None
        if apart is not None and len(apart[0]) == here.rows > 1:
            column, row = (_in_bytes(x, tensor.dtype.bits) for x in apart)
            return Sums(column + base, row)
        return _in_bytes(here.of(ref.offset), tensor.dtype.bits) + base

    def _counted(self, what: str, here: Points, at: Array | Sums, width: int, lanes: int = LANES) -> Array:
        """A count of each warp's addresses, summed over the warps of each row."""
        mask = None if here.mask is None else here.here
        if not isinstance(at, Sums):
            alike = mask is None and (at.ndim < 2 or at.shape[0] == 1)
            at = np.broadcast_to(at, (1 if alike else here.rows, len(here.lanes)))
            if len(at) == 1:
                return np.broadcast_to(self._by_warp(what, at, mask, here.lanes, width, lanes), here.rows)
        return self._shifted(what, at, mask, here.lanes, width, lanes)

    def _shifted(self, what: str, at: Array | Sums, mask: Array | None, *how: Any) -> Array:
        """The count of each row: rows that are one row shifted by whole lines are counted once."""
        n = len(at.column if isinstance(at, Sums) else at)
        whole: Array = np.ones(n, dtype=bool) if mask is None else np.asarray(mask.all(axis=1))
        if isinstance(at, Sums):
            first, model = at.column[:, 0] + at.row[0, 0], at.row[0]
        else:
            first, model = at[:, 0], at[whole.argmax()]
            whole &= (at - at[:, :1] == model - model[0]).all(axis=1)
        if not whole.any():
            return self._by_warp(what, at.of(np.arange(n)) if isinstance(at, Sums) else at, mask, *how)
        places, which = np.unique(first[whole] % LINE, return_inverse=True)
        total = np.zeros(n, dtype=np.int64)
        total[whole] = self._by_warp(what, places[:, None] + (model - model[0])[None, :], None, *how)[which]
        if not whole.all():
            rest = ~whole
            others = at.of(rest) if isinstance(at, Sums) else at[rest]
            total[rest] = self._by_warp(what, others, None if mask is None else mask[rest], *how)
        return total

    def _by_warp(self, what: str, at: Array, mask: Array | None, lane: Array, width: int, lanes: int) -> Array:
        """The count of each row of addresses, warp by warp."""
        warp, total = lane // LANES, np.zeros(len(at), dtype=np.int64)
        for w in np.unique(warp):
            columns = np.flatnonzero(warp == w)
            place = lane[columns] % LANES
            full = np.full((len(at), LANES), AWAY, dtype=np.int64)
            full[:, place] = at[:, columns] if mask is None else np.where(mask[:, columns], at[:, columns], AWAY)
            total += self._patterns(what, full[:, :lanes], width)
        return total

    def _patterns(self, what: str, at: Array, width: int) -> Array:
        """The count of each row of addresses."""
        gone = at == AWAY
        lowest = np.where(gone, 1 << 60, at).min(axis=1, keepdims=True)
        at = np.where(gone, AWAY, at - lowest // LINE * LINE)
        mixed = (at * MIX[: at.shape[1]]).sum(axis=1)
        _, first, which = np.unique(mixed, return_index=True, return_inverse=True)
        counts = [self._pattern(what, at[i], width) for i in first]
        return np.asarray(counts, dtype=np.int64)[which.reshape(-1)]

    def _pattern(self, what: str, at: Array, width: int) -> int:
        key = (what, width, at.tobytes())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _count(what, at, width)
        return found


def fetched(m: TensorMap) -> int:
    """Bytes of a row that L2 takes from DRAM together, at places that they divide; 0 for no more than is asked for.

    That is the L2 promotion of the map, where all rows lie at such places.
    """
    promoted = SECTOR_BYTES << int(m.l2_promotion)
    return promoted if m.l2_promotion and all(int(x) % promoted == 0 for x in m.global_stride_bytes) else 0


def _in_bytes(offset: Any, bits: int) -> Array:
    """Offsets of elements in bytes."""
    at = np.asarray(offset)
    return at * bits // 8 if bits % 8 else at * (bits // 8)


def _joined(parts: list[Moved]) -> Moved:
    """What parts of the rows move, one behind the other."""
    columns = ((f.name, [getattr(x, f.name) for x in parts]) for f in fields(Moved))
    whole: dict[str, Any] = {k: np.concatenate(xs) for k, xs in columns if isinstance(xs[0], np.ndarray)}
    return replace(parts[0], **whole)


def _inside(corner: Array, extent: int, end: int) -> Any:
    """How far boxes reach inside of a dimension: a number for each corner, or for all of them."""
    if corner.size and corner.min() >= 0 and corner.max() + extent <= end:
        return extent
    return np.clip(np.minimum(corner + extent, end) - np.maximum(corner, 0), 0, None)


def _sectors(first: Array, nbytes: Any) -> Array:
    """The bytes of the sectors in which some bytes lie."""
    return (-(-(first + nbytes) // SECTOR_BYTES) - first // SECTOR_BYTES) * SECTOR_BYTES * (nbytes > 0)


def _first(here: Points, at: Array | Sums) -> Array:
    """The value of the first thread that is here, for each row."""
    first = 0 if here.mask is None else here.here.argmax(axis=1)
    if isinstance(at, Sums):
        return np.asarray(at.column[:, 0] + at.row[0, first])
    return np.broadcast_to(at, (here.rows, len(here.lanes)))[np.arange(here.rows), first]


def _count(what: str, at: Array, width: int) -> int:
    active = [bool(x) for x in at != AWAY]
    if not any(active):
        return 0
    at = np.where(at == AWAY, 0, at)
    if what == "sectors":
        return sectors(at, width, active)
    if what == "lines":
        return lines(at, width, active)
    return sum(ldmatrix_rows(at) if what == "rows" else wavefronts(at, width, active))
