"""The state of an mbarrier, as PTX defines it: phase, pending arrivals, bytes under way.

>>> b = Mbarrier("full[0]", arrivals=1, clock=np.zeros(1, np.int64), component=0)
>>> b.init()
>>> b.passes(0), b.passes(1)                # a fresh barrier lets a wait for parity 1 through
(False, True)
>>> b.expect_tx(64); b.arrive(1); b.passes(0)
False
>>> b.complete_tx(64); b.passes(0)
True
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DisorderError, LayoutError

LIMIT = 2**20 - 1  # of arrivals and of bytes: PTX ISA, 9.7.13.15.2, size and contents of an mbarrier object


class Mbarrier:
    """One mbarrier: phases over, arrivals that the phase still awaits, bytes expected less bytes arrived.

    ``told`` is the knowledge that arrivals of the running phase release, ``known`` that of phases that are over.
    *component* is where a clock counts the phases of this barrier.
    """

    def __init__(self, name: str, arrivals: int, clock: np.ndarray[Any, Any], component: int) -> None:
        if not 1 <= arrivals <= LIMIT:
            raise LayoutError(f"expected 1 to {LIMIT} arrivals for {name}, got {arrivals}")
        self.name, self.arrivals, self.component = name, arrivals, component
        self.phase, self.pending, self.tx = 0, arrivals, 0
        self.told, self.known = clock, clock.copy()
        self.initialised = False

    def init(self) -> None:
        """It may be used from now on. Raises LayoutError where it was initialised before."""
        if self.initialised:
            raise LayoutError(f"expected one mbarrier.init of {self.name}, got another")
        self.initialised = True

    def inval(self) -> None:
        """It may not be used from now on. Raises LayoutError where it was not initialised."""
        if not self.initialised:
            raise LayoutError(f"expected {self.name} to be initialised before mbarrier.inval")
        self.initialised = False

    def arrive(self, threads: int, count: int = 1, complete: bool = True) -> None:
        """Threads arrive one by one, *count* times at once each.

        Raises DisorderError for more than a phase awaits, and for the last where an arrival does not *complete* it.
        """
        if 0 < threads * count < self.pending:  # no phase ends between them
            self.pending -= threads * count
            return
        for _ in range(threads):
            if self.pending < count:
                more = "another" if self.pending == 0 else f"{count} at once with {self.pending} pending"
                raise DisorderError(
                    f"expected no more than {self.arrivals} arrivals in phase {self.phase} of {self.name}, which still "
                    f"awaits {self.tx} bytes, got {more}",
                    "phase",
                    self.name.partition("[")[0],
                )
            if not complete and self.pending == count and self.tx == 0:
                said = f"expected another arrival in phase {self.phase} of {self.name} behind one with noComplete"
                raise DisorderError(f"{said}, got the last", "phase", self.name.partition("[")[0])
            self.pending -= count
            self._advance()

    def await_more(self, arrivals: int = 1) -> None:
        """Let the running phase await more arrivals. Raises LayoutError for more than there may be."""
        if self.pending + arrivals > LIMIT:
            raise LayoutError(f"expected at most {LIMIT} arrivals pending at {self.name}, got {arrivals} more")
        self.pending += arrivals

    def expect_tx(self, nbytes: int) -> None:
        """Let the phase await more bytes."""
        self._move(nbytes)
        self._advance()

    def complete_tx(self, nbytes: int) -> None:
        """Bytes have arrived."""
        self._move(-nbytes)
        self._advance()

    def passes(self, parity: int) -> bool:
        """Whether a wait for this parity returns: the running phase has the other one."""
        if parity not in (0, 1):
            raise LayoutError(f"expected parity 0 or 1, got {parity}")
        return self.phase % 2 != parity

    def _move(self, nbytes: int) -> None:
        if abs(self.tx + nbytes) > LIMIT:
            raise LayoutError(f"expected at most {LIMIT} bytes under way on {self.name}, got {self.tx + nbytes}")
        self.tx += nbytes

    def _advance(self) -> None:
        if self.pending == 0 and self.tx == 0:
            self.phase, self.pending = self.phase + 1, self.arrivals
            self._learn()

    def _learn(self) -> None:
        """What the arrivals of a phase released is known, now that it is over."""
        np.maximum(self.known, self.told, out=self.known)
        self.known[self.component] = self.phase

    def __str__(self) -> str:
        return (
            f"{self.name} is in phase {self.phase}: {self.pending} of {self.arrivals} arrivals pending, "
            f"{self.tx} bytes pending"
        )
