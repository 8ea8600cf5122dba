"""What the slots of rings go through, from what happened to their mbarriers: filling, full, in use, and empty again.

>>> from symlayout.kernel.declarations import RingUse
>>> ring = RingUse("ring", "full", "empty", 1, 64, 1)
>>> seen = [("expect", "full", 0, 5), ("land", "full", 1, 9), ("wait", "full", 1, 12), ("arrive", "empty", 1, 20)]
>>> events = (Happened(t, what, "CTA 0", "warps", (barrier, 0), phase, t) for what, barrier, phase, t in seen)
>>> [use] = slot_uses(Timeline((), (), tuple(events), (), (ring,)))
>>> print(use.track, *((word, start, end) for word, start, end in use.states), sep="; ")
CTA 0, ring[0]; ('filling', 5, 9); ('full', 9, 12); ('in use', 12, 20)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .log import Happened, Timeline


@dataclass
class SlotUse:
    """One use of a slot: from when it is expected to fill until it is given back; None for what did not happen.

    *landed* are the landings of its copies, *taken* the first wait that it ends, *released* the last arrival for it.
    """

    track: str
    begin: int
    full: int | None = None
    freed: int | None = None
    landed: list[Happened] = field(default_factory=list)
    taken: Happened | None = None
    released: Happened | None = None

    @property
    def states(self) -> Iterator[tuple[str, int, int]]:
        """Its states that ended, with their times."""
        times = (self.begin, self.full, self.taken.time if self.taken else None, self.freed)
        for word, start, end in zip(("filling", "full", "in use"), times, times[1:], strict=False):
            if start is not None and end is not None:
                yield word, start, end


def slot_uses(timeline: Timeline) -> list[SlotUse]:
    """The uses of all slots of the kernel's rings, each slot's in order.

    In a cluster, what a peer does to a barrier shows at the next event of its own CTA: at the wait that ends by it.
    """
    fulls = {r.full: r.name for r in timeline.rings}
    empties = {r.empty: r.name for r in timeline.rings}
    uses: list[SlotUse] = []
    now: dict[str, SlotUse] = {}  # the use that goes on, by slot
    phases: dict[tuple[str, tuple[str, int]], int] = {}
    for e in timeline.events:
        name, slot = e.barrier
        before = phases.get((e.cta, e.barrier), 0)
        phases[e.cta, e.barrier] = e.phase
        if name in fulls:
            track = f"{e.cta}, {fulls[name]}[{slot}]"
            use = now.get(track)
            if use is None and e.what != "wait":
                use = now[track] = SlotUse(track, e.time)
                uses.append(use)
            if use is not None:
                _filled(use, e, e.phase > before)
        elif name in empties:
            track = f"{e.cta}, {empties[name]}[{slot}]"
            use = now.get(track)
            if use is not None and e.what == "arrive":
                use.released = e
            if use is not None and e.phase > before:
                use.freed = e.time
                del now[track]
    return uses


def _filled(use: SlotUse, e: Happened, over: bool) -> None:
    """Something happened to the barrier that says whether a slot is full."""
    if e.what == "land":
        use.landed.append(e)
    if over and use.full is None:
        use.full = e.time
    if e.what == "wait" and use.full is not None and use.taken is None:
        use.taken = e
