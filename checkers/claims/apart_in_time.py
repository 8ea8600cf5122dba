"""Two tensors that share bytes of shared memory are never in use at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from symlayout.answers.report import Witness
from symlayout.atoms import MemorySpace
from symlayout.errors import ClaimError, ExecutionError, SymlayoutError
from symlayout.expr import Symbol
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.semantics import execute
from symlayout.semantics.telling import telling_inputs

from ..algebra.certificates import together
from ..claim import Proof, TooLarge
from ..orders.runs_at_sizes import sizes_of
from ..overlaps import Together, apart, sharing
from .of_kernel import AtAllSizes
from .ring_protocol import RingProtocol

ORDERS: tuple[str | int, ...] = ("eager", "lazy", 1, 2)
PHASE_BYTES = 1024  # to which swizzles repeat: a tensor that is moved keeps its place in it
ELEMENTS, SIZES = 512, 4  # the product of sizes at which a kernel is run, and how many such


@dataclass(frozen=True)
class ApartInTime(AtAllSizes):
    """All that touches *first* is over before anything touches *second*, or the other way round.

    A barrier stands between them, of all threads that touch either, outside of loops: see ``checkers.overlaps``. A
    refutation is a run at some sizes that faults, or ends with other values than with the tensors at places apart.

    Raises ClaimError for tensors that share no byte.
    """

    first: str
    second: str

    kind: ClassVar[str] = "apart in time"
    weighs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.first, self.second) not in sharing(self.kernel):
            known = " or ".join(f"{a} and {b}" for a, b in sharing(self.kernel))
            raise ClaimError(
                f"expected tensors that share bytes ({known or 'there are none'}), got {self.first} and {self.second}"
            )

    def __str__(self) -> str:
        return f"{self.kind}: {self.first} and {self.second} of {self.kernel.name}, which share bytes"

    # -- proof --------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        try:
            found = apart(self.kernel.assuming(*self.given), self.first, self.second)
        except Together:
            return None
        rings = [RingProtocol(self.kernel, full, given=self.given).certify(facts) for full in found.rings]
        kept = [r for r in rings if r is not None]
        if len(kept) < len(rings):
            return None
        parts = [r.certificate for r in kept if r.certificate is not None]
        certificate = together(parts, "the fills are over") if parts else None
        return Proof(found.why, certificate, tuple(x for r in kept for x in r.lemmas))

    def lemma(self, facts: Facts) -> str:
        try:
            found = apart(self.kernel.assuming(*self.given), self.first, self.second)
        except Together as e:
            return str(e)
        return f"the protocol of {' and '.join(found.rings)}"

    # -- refutation ---------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        """A run that shows that the bytes are shared. Raises TooLarge where none does."""
        moved = apart_in_memory(self.kernel)
        inputs = telling_inputs(self.kernel)
        for order in ORDERS:
            try:
                wanted = execute(moved, inputs, order)
            except SymlayoutError as e:
                raise TooLarge(f"with places apart it fails too: {e}") from None
            try:
                found = execute(self.kernel, inputs, order)
            except ExecutionError as e:
                return Witness({}, (), f"{order}, where it runs with places apart: {e}")
            for name, x in wanted.items():
                if x.tobytes() != found[name].tobytes():
                    return Witness({}, (), f"{order}: {name} holds other values than with places apart")
        raise TooLarge("runs with one choice of inputs are as with places apart")

    def trials(self, facts: Facts) -> Iterator[dict[Symbol, int]]:
        """A few sizes, small ones first."""
        kernel = self.kernel.assuming(*self.given)
        small = (sizes for sizes in sizes_of(kernel) if math.prod(sizes.values()) <= ELEMENTS)
        for sizes in itertools.islice(small, SIZES):
            yield {s: sizes[s.name] for s in kernel.dims}


def apart_in_memory(kernel: Kernel) -> Kernel:
    """The kernel with its tensors in shared memory one after the other."""
    end, tensors = 0, []
    for t in kernel.tensors:
        if t.space is MemorySpace.SHARED:
            base = -(-end // PHASE_BYTES) * PHASE_BYTES + t.base % PHASE_BYTES
            t, end = replace(t, base=base), base + int(t.bytes)
        tensors.append(t)
    return replace(kernel, tensors=tuple(tensors))
