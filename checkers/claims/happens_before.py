"""Asynchronous copies and the accesses around them are ordered."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import ClassVar

from symlayout.answers.report import Witness
from symlayout.errors import SymlayoutError
from symlayout.facts import Facts
from symlayout.semantics.trials import FEW_SCHEDULES, affordable, mishap

from ..claim import Proof, TooLarge
from ..orders.every import MODEL, Order, orders
from ..orders.runs_at_sizes import sizes_of
from .of_kernel import OfProgram

SIZES = 5  # at which untimed runs look for what proofs leave open


@dataclass(frozen=True)
class HappensBefore(OfProgram):
    """Accesses to shared memory and to registers of wgmma are ordered by what stands between them, proxies included.

    The obligations are the rows of ``checkers.orders.rules``, a subset of the memory model of PTX with a version: see
    ``docs/memory_model.md``. They include the prologue: that mbarriers are initialised before they are used.
    If an instruction is missing the claim is refuted: the verdict names it and its place, and shows a run at sizes.

    >>> from symlayout.kernels import tma_copy
    >>> print(HappensBefore(tma_copy(64, 256, tile=(16, 64))))
    happens before (ptx-9.1 subset 4): tma_copy

    Raises ClaimError for a value that is not a kernel.
    """

    kind: ClassVar[str] = "happens before"

    def points(self) -> int:
        return len(self._orders())

    def __str__(self) -> str:
        return f"{self.kind} ({MODEL}): {self.kernel.name}"

    def _orders(self) -> list[Order]:
        return self._found

    @functools.cached_property
    def _found(self) -> list[Order]:
        return list(orders(self.kernel))

    def certify(self, facts: Facts) -> Proof | None:
        found = self._orders()
        if any(not o.by for o in found):
            return None
        return Proof(f"{len(found)} orderings of {MODEL}", None, tuple(map(str, found)))

    def counterexample(self) -> Witness | None:
        found = next((o for o in self._orders() if o.missing), None)
        if found is not None:
            return Witness({}, (), f"{found.place}: {found.missing} ({found.rule})")
        seen = self._seen() if any(o.beyond for o in self._orders()) else ""
        if not seen:
            raise TooLarge(f"it has accesses that are not in {MODEL}")
        return Witness({}, (), seen)

    def _seen(self) -> str:
        """What untimed runs at a few sizes show of a missing order, or of threads that miss one another."""
        mbarriers = {b.name for b in self.kernel.barriers}
        sizes = itertools.islice(sizes_of(self.kernel), SIZES)
        for env in sizes:
            try:
                bound = self.kernel.bind(**env) if env else self.kernel
            except SymlayoutError:
                continue
            found = mishap(bound, schedules=FEW_SCHEDULES) if affordable(bound) else None
            if found is not None and (found.kind == "order" or not mbarriers & set(found.subject)):
                at = f"for {', '.join(f'{name} = {n}' for name, n in env.items())}: " if env else ""
                return f"{at}{found}"
        return ""

    def lemma(self, facts: Facts) -> str:
        found = next((o for o in self._orders() if o.beyond), None)
        return "" if found is None else found.beyond
