"""What the bytes of a load by TMA wait in the crossbar for those of others, which take in as much as their SM does.

>>> crossbar, port = Crossbar(H200), Pipe("SM port", Engine())
>>> waits = [crossbar.wait(port, 70 * NS, now * NS) for now in range(0, 3000, 100)]  # 70 of each 100 ns
>>> waits[:3], waits[-1]
([0, 0, 64], 204203)

A row of M30 says what waits are where a port is busy for a part of its time. That part is the mean over the last loads,
which goes back by no less than a time at the beginning. It is ``held``, so waits of a pipeline settle. SMs of a GPC
share their way: where a part of them is at work, a *crowd*, the way is busy for that part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from .engine import NS, Engine
from .machine import H200, Machine
from .resource import Pipe
from .settling import held

__all__ = ["H200", "NS", "Crossbar", "Engine", "Pipe"]

LOADS = 12  # of a port, over which its use is a mean: of whole iterations that load 1, 2, 3, 4 or 6 boxes
LEAST = 1000 * NS  # over which it is, until there were so many
STEP = 0.08  # of the time of a port
MOST = 0.75  # of it: what no queue survives


class _Port:
    """How an SM's port was used by its last loads: when each was asked for, and for how long it is busy with it."""

    __slots__ = ("busy", "loads", "part")

    def __init__(self) -> None:
        self.loads: deque[tuple[int, int]] = deque()
        self.busy, self.part = 0, 0.0

    def take(self, ps: int, now: int) -> float:
        """The part of its time for which it was busy until now, when one more load is asked for."""
        loads = self.loads
        if loads:
            since = now - loads[0][0]
            part = min(MOST, self.busy / max(1, since if len(loads) == LOADS else max(since, LEAST)))
            self.part = held(self.part, part, STEP)
        loads.append((now, ps))
        self.busy += ps
        if len(loads) > LOADS:
            self.busy -= loads.popleft()[1]
        return self.part

    def state(self, now: int) -> Hashable:
        """What the parts to come depend on."""
        return self.part, tuple([(now - since, ps) for since, ps in self.loads])


class Crossbar:
    """The network between L2 and the ports of SMs."""

    def __init__(self, machine: Machine, free: bool = False, crowd: float = 1.0) -> None:
        self._crowd = crowd
        self._each = 0.0 if free else machine.exact("crossbar_wait")
        self._ports: dict[Pipe, _Port] = {}

    def wait(self, port: Pipe, ps: int, now: int) -> int:
        """What a load waits that is asked for now and keeps a port busy for so long."""
        if not self._each:
            return 0
        mine = self._ports.get(port)
        if mine is None:
            mine = self._ports[port] = _Port()
        busy = self._crowd * mine.take(ps, now)
        return round(self._each * busy**3 / (1 - busy))

    def state(self, now: int) -> Hashable:
        """What waits to come depend on."""
        return tuple([port.state(now) for port in self._ports.values()])
