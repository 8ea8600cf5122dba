"""Claims about kernels: random kernels with slips, held against untimed runs and direct counts.

A trial draws a kernel that computes what it says (``benchmarks.value_kernels``), or one that works in place or with two
tensors in the same bytes, makes no slip in it, one or two, and states one claim. What is proved must be so at several
sizes: elements are counted in a run on plain integers, limits are counted again, and untimed runs in several orders
must not fault. A fault or another value that some other claim of the kernel knows of says nothing about this one. No
claim of a kernel without a slip may be refuted.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from benchmarks.value_kernels import handed, ringed
from checkers.claim import Claim
from checkers.claims import (
    ApartInTime,
    ArithmeticFits,
    Computes,
    GlobalOrder,
    HappensBefore,
    Launchable,
    RegistersFit,
    RingProtocol,
    SharedMemoryFits,
    TransactionBytes,
    UpdatedOnce,
    WellFormed,
    WrittenOnce,
)
from checkers.claims.arithmetic_fits import PartialFits
from checkers.coverage.store_sites import outputs, reduced
from checkers.prover import Budget
from checkers.rings.recognised import rings_of
from symlayout.answers.report import Outcome, Verdict

from . import plain
from .drawn_kernels import armed, global_order, limits, over, partial, some, stating, tried_at, updated, wide
from .kernel_oracles import (
    QUICK,
    apart,
    arithmetic_fits,
    computes,
    in_order,
    launches,
    registers_fit,
    runs_well,
    shared_fits,
    written_once,
)
from .layouts import fits_in, symbolic_fits_in
from .plain import TooMany
from .row import Row, judged

TRIED = 2  # sizes at which a kernel is run in several orders


@dataclass(frozen=True)
class KernelRow(Row):
    """A row of claims about kernels: *wrong* says what contradicts a proof at sizes; a right kernel is not refuted."""

    exact: bool = False  # whether *holds* decides a refutation too

    def decided(self, claim: Claim, budget: Budget) -> Verdict:
        """The verdict on a claim, in less time than one about layouts has."""
        return judged(claim, QUICK)

    def complaint(self, claim: Claim, v: Verdict, r: random.Random) -> str:
        kernel = claim.kernel  # type: ignore[attr-defined]
        sizes, clean = tried_at(claim)
        if v.outcome is Outcome.REFUTED and clean:
            return f"a kernel without a slip is refuted:\n{kernel}"
        if v.outcome is Outcome.REFUTED and self.exact and v.witness is not None:
            return self._at_witness(claim, v)
        if v.outcome is not Outcome.PROVED:
            return ""
        for env in r.sample(sizes, min(len(sizes), TRIED)) if self.holds is runs_well else sizes:
            try:
                if not self.holds(claim, env):
                    return f"fails at {env}:\n{kernel}"
            except TooMany:
                continue
        return ""

    def _at_witness(self, claim: Claim, v: Verdict) -> str:
        env = {str(name): int(x) for name, x in dict(v.witness.sizes).items()} if v.witness is not None else {}
        names = {s.name for s in claim.kernel.dims}  # type: ignore[attr-defined]
        try:
            return f"the witness {env} does not fail" if names <= set(env) and self.holds(claim, env) else ""
        except TooMany:
            return ""


def _row(kind: type[Claim], makers: tuple[Any, Any], holds: Any, exact: bool = False) -> KernelRow:
    return KernelRow(kind, *makers, holds, weight=WEIGHT, exact=exact)


IN_SHARED = ("tiles", "pipelined", "ringed", "shared_among", "handed")
RINGS = (*(ringed.__name__,) * 4, handed.__name__)
WEIGHT = 10
ROWS: tuple[Row, ...] = (
    Row(PartialFits, partial(fits_in), partial(symbolic_fits_in), plain.fits_in),
    _row(ArithmeticFits, (wide(False), wide(True)), arithmetic_fits),
    _row(ApartInTime, (over, over), apart),
    _row(Computes, stating(lambda r, k: Computes(k, some(r, k.results, "a result").tensor)), computes),
    _row(GlobalOrder, (global_order(False), global_order(True)), in_order),
    _row(HappensBefore, stating(lambda r, k: HappensBefore(k), order=True), runs_well),
    _row(Launchable, limits(Launchable, (0, 1, 2, 3, 6)), launches),
    _row(RegistersFit, limits(RegistersFit, (1, 4, 6)), registers_fit, exact=True),
    _row(
        RingProtocol,
        stating(lambda r, k: RingProtocol(k, some(r, (x.full for x in rings_of(k)), "a ring")), RINGS, order=True),
        runs_well,
    ),
    _row(SharedMemoryFits, limits(SharedMemoryFits, (5,), IN_SHARED), shared_fits),
    _row(TransactionBytes, stating(armed, RINGS, order=True), runs_well),
    _row(UpdatedOnce, (updated(False), updated(True)), written_once, exact=True),
    _row(WellFormed, stating(lambda r, k: WellFormed(k), order=True), runs_well),
    _row(
        WrittenOnce,
        stating(lambda r, k: WrittenOnce(k, some(r, (n for n in outputs(k) if n not in reduced(k)), "an output"))),
        written_once,
        exact=True,
    ),
)
