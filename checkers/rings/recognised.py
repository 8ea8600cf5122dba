"""The rings of a kernel as its operations show them; a builder's hint only decides between several barriers.

>>> from symlayout.kernels import tma_copy
>>> print(*rings_of(tma_copy(64, 256, tile=(16, 64), slots=2, blocks=1)))
ring by full and empty
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from symlayout.atoms import Extent
from symlayout.kernel import Kernel
from symlayout.kernel.sites import Site, sites
from symlayout.ops import Arrive, Box, Copy, Ref, Wait


@dataclass(frozen=True)
class RingParts:
    """A ring as the operations show it: what fills it completes on *full*, what frees it arrives on *empty*."""

    full: str
    empty: str  # "" where no slot is used twice
    tensors: tuple[str, ...]
    slots: int

    def __str__(self) -> str:
        return f"{', '.join(self.tensors) or 'nothing'} by {self.full}{f' and {self.empty}' if self.empty else ''}"


def rings_of(kernel: Kernel) -> tuple[RingParts, ...]:
    """The rings of a kernel, found from its operations: the fills, who waits for them, and where it arrives then.

    Barriers that somebody waits for though no copy completes on them come last, as rings of no tensor.
    """
    every = list(sites(kernel))
    rings = [_ring(kernel, b.name, every) for b in kernel.barriers if _fills(every, b.name)]
    for b in kernel.barriers:
        known = {name for r in rings for name in (r.full, r.empty)}
        if b.name not in known and any(s.op.waits_for(b.name) for s in every):
            found = _ring(kernel, b.name, every)
            rings.append(replace(found, empty="") if found.empty in known else found)
    return tuple(rings)


def _fills(every: list[Site], full: str) -> list[Site]:
    return [s for s in every if s.op.credits_to(full)]


def _ring(kernel: Kernel, full: str, every: list[Site]) -> RingParts:
    fills = _fills(every, full)
    tensors = tuple(
        dict.fromkeys(s.op.dst.tensor for s in fills if isinstance(s.op, Copy) and isinstance(s.op.dst, Ref))
    )
    filling = {s.role for s in fills}
    reading = {s.role for s in every if {r.tensor for r in s.op.sources} & set(tensors) or (s.op.waits_for(full))}
    awaited = {s.op.barrier.barrier for s in every if isinstance(s.op, Wait) and s.role in filling}
    arrived = {s.op.barrier.barrier for s in every if isinstance(s.op, Arrive) and s.role in reading}
    fulls = {s.op.barrier.barrier for s in every if isinstance(s.op, Copy) and s.op.barrier is not None}
    hinted = {r.empty for r in kernel.rings if r.full == full}
    for found in ((awaited & arrived) - fulls, ((awaited | arrived) - fulls) & hinted, (awaited | arrived) - fulls):
        if len(found) == 1:
            (empty,) = found
            return RingParts(full, empty, tensors, kernel.barrier(full).slots)
    return RingParts(full, "", tensors, kernel.barrier(full).slots)


def slot_elements(kernel: Kernel, ring: RingParts, tensor: str) -> int:
    """Elements of one slot of a ring in one of its tensors."""
    return max(1, int(kernel.tensor(tensor).layout.cosize()) // ring.slots)


def landed_bytes(kernel: Kernel, op: Copy) -> Any:
    """The bytes of shared memory that a copy into a ring writes, each thread where they copy by themselves."""
    if op.bytes is not None:
        return op.bytes
    if op.row is not None and op.row.extent is Extent.INSTRUCTION:
        return op.row.bytes
    assert isinstance(op.src, Box)
    return kernel.map(op.src.tensor_map).tensor_map.landed_bytes
