"""What clocks show of a kernel, once for all claims that ask.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> known = clocks(tma_copy(*dims("M N"), tile=(16, 64), slots=4, blocks=132))
>>> known.protocol_open, known.order_open(("ring",)), len(known.shown)
('', '', 4)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from symlayout.errors import AssumptionError, LayoutError
from symlayout.expr import Fact
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import size
from symlayout.kernel.counting import Uncounted
from symlayout.kernel.joined import Joined
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.unrolled import Places
from symlayout.meter import attempt
from symlayout.ops import Touch

from ..orders.cluster_exit import cluster_orders
from ..orders.initialised import init_orders
from ..rings.cluster_rings import ClusterReading
from ..rings.recognised import RingParts
from ..rings.shown import Open
from .cells import Cells, told_by
from .linear import Certificate
from .order import Orders
from .protocol import Protocol

KEPT = 8  # kernels
CLUSTER_STEPS = 100_000  # of a question about a cluster: ten times what small kernels of four CTAs take
TOO_LONG = f"what takes clocks more than {CLUSTER_STEPS} steps"  # the lemma of rings needs none of them
BY_CLOCKS = ("cluster_met", "cluster_stays", "peer_scope")  # rows of clusters that clocks show by themselves


@dataclass(eq=False)
class Clocks:
    """The protocol of a kernel's barriers and the order of its accesses, each with what is open; "" for nothing."""

    kernel: Kernel
    given: tuple[Fact, ...]
    _orders: dict[frozenset[str], str] = field(default_factory=dict)
    _rings: dict[RingParts, ClusterReading | str] = field(default_factory=dict)
    _pairs: dict[tuple[Places, Places, str], bool] = field(default_factory=dict)

    _of_tensors: dict[tuple[str, ...], list[Cells]] = field(default_factory=dict)

    def ring(self, ring: RingParts) -> ClusterReading | str:
        """The hypotheses of a ring's lemma, all shown, or the first that is not."""
        if ring not in self._rings:
            reading = ClusterReading(self.kernel, ring, self.given)
            try:
                reading.check()
                self._rings[ring] = reading
            except (Open, Uncounted, AssumptionError) as e:
                self._rings[ring] = str(e)
        return self._rings[ring]

    def ring_open(self, ring: RingParts) -> str:
        """What neither the lemma of rings nor clocks show of a ring; "" for nothing."""
        found = self.ring(ring)
        if not isinstance(found, str):
            return ""
        left = self.order_open(ring.tensors)
        return found if left == TOO_LONG else left

    def _limited(self, search: Callable[[], str]) -> str:
        """What is open; of a cluster that is looked for within CLUSTER_STEPS, so that refutations have their turn."""
        if size(self.kernel) == 1:
            return search()
        found, _ = attempt(search, CLUSTER_STEPS)
        return found[0] if found else TOO_LONG

    def in_order(self, a: Site, b: Site, tensor: str) -> bool:
        """Whether two operations never touch a tensor at once, or in an order that is left open."""
        key = a.places, b.places, tensor
        if key not in self._pairs:
            self._pairs[key] = False
            if not self.protocol_open:
                try:
                    every = Orders(self.protocol, frozenset(self.whole.names(tensor)))
                    mine, yours = (self._at(every.cells, s) for s in (a, b))
                    for x in mine:
                        for y in yours:
                            if (x.changes or y.changes) and x.ref.tensor == y.ref.tensor:
                                every.expect(x, y)
                    self._pairs[key] = bool(mine and yours)
                except (Open, Uncounted, AssumptionError):
                    pass
        return self._pairs[key]

    def apart_open(self, first: str, second: str) -> str:
        """What is not shown of all that touches *first* being over before anything touches *second*; "" for nothing."""
        if self.protocol_open:
            return self.protocol_open
        try:
            for mine, yours in zip(self.whole.names(first), self.whole.names(second), strict=True):
                Orders(self.protocol, frozenset({mine, yours})).expect_apart(mine, yours)
        except (Open, Uncounted, AssumptionError) as e:
            return str(e)
        return ""

    def before(self, first: tuple[Site, Touch], second: tuple[Site, Touch], together: bool) -> bool:
        """Whether an access to whatever memory is over before another, see ``Orders.expect_before``."""
        if self.protocol_open:
            return False
        try:
            every = Orders(self.protocol)
            for mine, yours in zip(*(self.whole.places(s) for s, _ in (first, second)), strict=True):
                every.expect_before((mine, first[1]), (yours, second[1]), together)
        except (Open, Uncounted, AssumptionError):
            return False
        return True

    @cached_property
    def protocol(self) -> Protocol:
        return Protocol(self.kernel, self.given)

    @property
    def whole(self) -> Joined:
        """All CTAs of a cluster."""
        return self.protocol.whole

    @cached_property
    def protocol_open(self) -> str:
        """The first obligation of the barriers that is not shown."""
        late = next((o for o in init_orders(self.kernel, list(sites(self.kernel))) if not o.by), None)
        if late is not None:
            return f"whether all mbarriers are initialised before their use: {late.missing or late.beyond}"
        if size(self.kernel) > 1:
            known = (o for o in cluster_orders(self.kernel) if not o.by and o.rule != "peer_scope")
            apart = next((o for o in known if o.missing or o.rule not in BY_CLOCKS), None)
            if apart is not None:
                return apart.missing or apart.beyond
        return self._limited(self._checked)

    def _checked(self) -> str:
        try:
            self.protocol.check()
        except (Open, Uncounted, AssumptionError, LayoutError) as e:
            return str(e)
        return ""

    def sums_open(self, barrier: str) -> str:
        """The first sum of arrivals and bytes of the phases of an array of mbarriers that is not shown."""
        try:
            for b in self.protocol.barriers:
                if b.name.partition("[")[0] in self.whole.names(barrier) and not b.named:
                    self.protocol.sums(b)
        except (Open, Uncounted, AssumptionError, LayoutError) as e:
            return str(e)
        return ""

    def order_open(self, names: tuple[str, ...]) -> str:
        """The first order of accesses to some tensors, at fills and across roles, that is not shown."""
        if self.protocol_open:
            return self.protocol_open
        key = frozenset(own for name in names for own in self.whole.names(name))
        if key not in self._orders:
            found = self._limited(lambda: self._ordered(key)) if names else ""
            self._orders[key] = found  # a check that the budget cuts off leaves nothing here
        return self._orders[key]

    def _ordered(self, names: frozenset[str]) -> str:
        try:
            Orders(self.protocol, names).check()
        except (Open, Uncounted, AssumptionError) as e:
            return str(e)
        return ""

    def use_of(self, s: Site, ring: RingParts) -> Any:
        """The use of a ring that an access fills, or finds in its slot; None where that is not shown.

        All fills of earlier uses are over before the access, and those of later ones begin behind it.
        """
        if not self.ordered(ring):
            return None
        found = self._at(self._cells(ring.tensors), s)
        numbers = {c.number for c in found if c.counted}
        return numbers.pop() if len(numbers) == 1 and all(c.counted for c in found) else None

    def ordered(self, ring: RingParts) -> bool:
        """Whether the order of all that touches a ring's tensors is shown, without the lemma of rings."""
        return size(self.kernel) == 1 and bool(ring.tensors) and not self.order_open(ring.tensors)

    def _cells(self, names: tuple[str, ...]) -> list[Cells]:
        if names not in self._of_tensors:
            self._of_tensors[names] = Orders(self.protocol, frozenset(names)).cells
        return self._of_tensors[names]

    def landing_awaited(self, s: Site) -> bool:
        """Whether an mbarrier tracks a copy by cp.async, in a phase that somebody waits for."""
        if self.protocol_open:
            return False
        places = self.whole.places(s)
        here = [x for x in sites(self.whole.kernel) if x.places in places]
        return all(told_by(x, self.protocol.barriers) is not None for x in here)

    def _at(self, every: list[Cells], s: Site) -> list[Cells]:
        """The accesses of an operation, in each CTA; a multicast makes one to each CTA of its mask."""
        places = self.whole.places(s)
        return [c for c in every if any(c.event.site.places[: len(p)] == p for p in places)]

    def told_ring(self, tensor: str) -> RingParts | None:
        """The ring whose slots cp.async alone fills, with mbarriers that await the copies; None if there is none."""
        try:
            barriers = self.protocol.barriers
        except (Open, Uncounted, AssumptionError):
            return None
        writes = (s for s in sites(self.protocol.kernel) if tensor in {r.tensor for r in s.op.targets})
        found = {None if told is None else told[0].name for told in (told_by(s, barriers) for s in writes)}
        known = {b.name: b.slots for b in self.kernel.barriers}
        name = next(iter(found)) if len(found) == 1 else None
        return RingParts(name, "", (tensor,), known[name]) if name is not None and name in known else None

    @property
    def certificates(self) -> list[Certificate]:
        return self.protocol.certificates

    @property
    def shown(self) -> list[str]:
        """What is shown of the barriers, in words; nothing where something is open."""
        return [] if self.protocol_open else self.protocol.shown


_KNOWN: OrderedDict[tuple[int, tuple[Fact, ...]], Clocks] = OrderedDict()


def clocks(kernel: Kernel, given: tuple[Fact, ...] = ()) -> Clocks:
    """The clocks of a kernel; those of the last few are kept."""
    key = id(kernel), given
    found = _KNOWN.get(key)
    if found is None or found.kernel is not kernel:
        found = _KNOWN[key] = Clocks(kernel, given)
        if len(_KNOWN) > KEPT:
            _KNOWN.popitem(last=False)
    return found
