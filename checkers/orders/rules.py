"""The orderings of the memory model that are checked, as rows, and what is found out about one of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MODEL = "ptx-9.1 subset 4"

RULES = {
    "full_acquire": "a slot is read after a wait for its fill (PTX ISA, mbarrier.try_wait: acquire)",
    "slot_free": "a slot is filled after a wait for its readers (PTX ISA, mbarrier.arrive: release)",
    "reads_retired": "a slot is released after wait_group has ended its asynchronous reads",
    "lanes_met": "lanes read a slot, meet at a barrier of the warp, then another lane releases it"
    " (PTX ISA, mbarrier.arrive: release by the executing thread; bar.warp.sync)",
    "barrier_met": "the threads that reach a barrier are as many as it awaits (PTX ISA, bar.sync)",
    "written_then_read": "threads read what others wrote after a barrier of both (PTX ISA, bar.sync, bar.warp.sync)",
    "copied_then_read": "a copy by cp.async is read after commit, wait_group by its threads and a barrier"
    " (PTX ISA, cp.async.wait_group)",
    "generic_write_async_read": "writers meet the reader at a barrier, with a fence async on the way, before the"
    " asynchronous read (PTX ISA, Async Proxy)",
    "overwritten_after_read": "threads overwrite what others read after a barrier of both (PTX ISA, bar.sync)",
    "overwritten_after_write": "threads overwrite what others wrote after a barrier of both (PTX ISA, bar.sync)",
    "store_source_reuse": "a stored tile is written again after commit, wait_group and a barrier",
    "operand_reuse": "an operand of wgmma is written again after commit, wait_group and a barrier"
    " (PTX ISA, wgmma.wait_group)",
    "handed_over": "roles that hand a tile over meet at the same barriers, equally often (PTX ISA, bar.sync)",
    "issued_together": "an instruction of a warp or warpgroup is issued by all of its threads (PTX ISA, .aligned)",
    "registers_fenced": "wgmma reads and writes registers after fence wgmma, the first one included"
    " (PTX ISA, wgmma.fence)",
    "sums_done": "registers of wgmma are touched after commit and wait_group have ended it (PTX ISA, wgmma.wait_group)",
    "store_committed": "the sources of all stores are read before the CTA ends: commit, then wait_group 0",
    "bytes_reused": "tensors that share bytes are used before and after a barrier of all that touch them, with"
    " asynchronous accesses over and fenced",
    "copy_awaited": "each copy by cp.async is awaited before the CTA ends: commit, then wait_group",
    "initialised": "an mbarrier is initialised once, by one thread, and used behind a later barrier of all threads"
    " (PTX ISA, mbarrier.init)",
    "invalidated": "an mbarrier is invalidated once, by one thread, behind a barrier of all threads that is behind all"
    " of its uses (PTX ISA, mbarrier.inval)",
    "init_fenced": "where copies complete on mbarriers or peers reach them, fence mbarrier_init stands between"
    " their init and that barrier, within a CTA fence async will do (PTX ISA, fence.mbarrier_init)",
}


@dataclass(frozen=True)
class Order:
    """One obligation: met by *by*, or *missing* with where it belongs, or *beyond* the subset."""

    rule: str
    place: str
    by: str = ""
    missing: str = ""
    beyond: str = ""
    pair: tuple[Any, Any, str] | None = field(default=None, compare=False, repr=False)  # two sites, and the tensor

    def __str__(self) -> str:
        said = self.missing or self.beyond or self.by
        return f"{self.rule}: {self.place}: {said}"
