"""Rings of shared-memory slots between a producer and its consumers, lowered to plain operations on mbarriers.

Use number n of a ring takes slot n % S in the n // S-th time round. The producer waits on ``empty`` with parity
(n//S + 1) % 2, so that the first time round passes at once; consumers wait on ``full`` with parity n//S % 2
(CUTLASS, ``pipeline/sm90_pipeline.hpp``).

    >>> from symlayout import bf16, dim
    >>> from symlayout.kernel import Builder
    >>> k = Builder("demo", dim("K"), grid=(1,), threads=64)
    >>> ring = make_ring(k, "ring", bf16, Layout((64, 64)), slots=4, consumers=1)
    >>> with k.role("consumer", 1), k.loop("i", 8) as i, ring.consume(i) as slot:
    ...     print(slot.at())
    ring[4096*(i % 4)]
    >>> for line in k.kernel().text().splitlines()[10:]:
    ...     print(line)
      role consumer, warp 0:
        for i < 8:
          wait full[i % 4] parity (i//4) % 2
          warp barrier
          elect one of each warp:
            arrive empty[i % 4]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ..dtype import DType
from ..expr import Int, integer
from ..layout import Layout
from ..ops import Ref, Slot
from .builder import Builder
from .declarations import RingUse


@dataclass(frozen=True)
class RingSlot:
    """A slot of a ring in one use of it: its barrier and its memory."""

    ring: Ring
    use: Int

    @property
    def number(self) -> Int:
        return integer(self.use % self.ring.slots)

    @property
    def full(self) -> Slot:
        return Slot(self.ring.full, self.number)

    def at(self, offset: Any = 0) -> Ref:
        """The element at *offset* of the slot's tile."""
        return Ref(self.ring.name, integer(self.number * self.ring.elements + offset))


@dataclass(frozen=True)
class Ring:
    """Slots of *elements* each in shared memory, and the barriers that guard them; see ``make_ring``."""

    k: Builder
    name: str
    full: str
    empty: str
    slots: int
    elements: int
    nbytes: int
    scope: str = "cta"  # at which slots are given back

    def freed(self, use: Any) -> RingSlot:
        """Wait until the slot is free."""
        slot = RingSlot(self, integer(use))
        self.k.wait(Slot(self.empty, slot.number), (slot.use // self.slots + 1) % 2, self.scope)
        return slot

    @contextmanager
    def produce(self, use: Any, nbytes: Any = None) -> Iterator[RingSlot]:
        """The producer's use: wait until the slot is free, arm its barrier with the bytes of the copies inside."""
        slot = self.freed(use)
        self.k.expect_tx(slot.full, self.nbytes if nbytes is None else nbytes)
        yield slot

    @contextmanager
    def consume(self, use: Any, lanes: bool = True) -> Iterator[RingSlot]:
        """A consumer's use: wait until the slot is filled, work, and give it back; *lanes* as for ``release``."""
        slot = self.acquire(use)
        yield slot
        self.release(use, lanes=lanes)

    def acquire(self, use: Any) -> RingSlot:
        """Wait until the slot is filled."""
        slot = RingSlot(self, integer(use))
        self.k.wait(slot.full, slot.use // self.slots % 2)
        return slot

    def release(self, use: Any, ctas: int = 1, lanes: bool = True) -> None:
        """Give the slot back, by an arrival of each warp at the producer of each of *ctas* in the cluster.

        One lane of a warp arrives, which releases no reads of other lanes (PTX ISA, mbarrier.arrive): a barrier of
        the warp comes before. It is not needed where *lanes* did not read the slot by themselves: where only wgmmas
        did that all of them have waited for. Where one thread is elected already, it arrives alone.

        If CTAs of a cluster fill slots that *lanes* read, the ring is one of cluster scope (``make_ring``).
        """
        slot, k = RingSlot(self, integer(use)), self.k
        if lanes and not k.elected:
            k.warp_sync()
        with nullcontext() if k.elected else k.elect(each_warp=True):
            for peer in range(ctas):
                k.arrive(Slot(self.empty, slot.number), peer if ctas > 1 else None, self.scope)


def make_ring(
    k: Builder,
    name: str,
    dtype: Any,
    layout: Any,
    *,
    slots: int,
    consumers: int,
    prefix: str = "",
    scope: str = "cta",
) -> Ring:
    """A ring of *slots* tiles of *layout*, each given back by *consumers* arrivals: one of each consuming warp.

    At which *scope* slots are given back matters in clusters: see ``ops.Arrive``.
    """
    elements = int(layout.cosize())
    k.shared_tensor(name, dtype, Layout((elements, slots)))
    ring = Ring(
        k, name, f"{prefix}full", f"{prefix}empty", slots, elements, elements * DType.of(dtype).bits // 8, scope
    )
    k.mbarriers(ring.full, slots, 1)
    k.mbarriers(ring.empty, slots, consumers)
    k.rings.append(RingUse(name, ring.full, ring.empty, slots, ring.nbytes, consumers))
    return ring
