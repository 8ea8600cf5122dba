"""Accesses to global memory are ordered where their order counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from symlayout.answers.report import Witness
from symlayout.atoms import MemorySpace
from symlayout.errors import ClaimError
from symlayout.expr import Symbol
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.ops import For, If

from ..algebra.subject_form import numbers_in
from ..claim import Claim, Proof, TooLarge
from ..trial_sizes import small_sizes
from .of_kernel import AtAllSizes

SIZES = 48  # at which a kernel is looked at


@dataclass(frozen=True)
class GlobalOrder(AtAllSizes):
    """No two accesses to an element of *tensor* race: where one of them changes it, their order is certain.

    They are of one thread, or what stands between orders them for the threads of a CTA; CTAs have no order, so theirs
    are other elements. Reductions of one kind commute. Tensors that may be at the address of this one are looked at
    with it. A refutation names an element and two accesses of a run, by thread and operation.

    >>> from symlayout.kernels import vector_copy
    >>> print(GlobalOrder(vector_copy(64), "dst"))
    global order: accesses to dst of vector_copy

    Raises ClaimError for a value that is not a kernel, and for a tensor that it does not have in global memory.
    """

    tensor: str

    kind: ClassVar[str] = "global order"
    weighs: ClassVar[bool] = False
    mendable: ClassVar[bool] = False  # a race is in the program: sizes that hide it are not a repair

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [t.name for t in self.kernel.tensors if t.space is MemorySpace.GLOBAL]
        if self.tensor not in known:
            raise ClaimError(f"expected a tensor in global memory ({', '.join(known) or 'none'}), got {self.tensor!r}")

    def __str__(self) -> str:
        also = self.kernel.aliases(self.tensor)
        others = f" and to {', '.join(also)}, which may be at its address," if also else ""
        return f"{self.kind}: accesses to {self.tensor}{others} of {self.kernel.name}"

    def points(self) -> int:
        return 1000

    # -- proof --------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        from ..races.access_pairs import orders  # loaded for kernels alone

        found = list(orders(self.kernel, self.tensor, self.given))
        if any(o.open for o in found):
            return None
        if not found:
            return Proof("no access changes it, or all are one reduction")
        reasons = tuple(dict.fromkeys(o.by for o in found))
        return Proof(
            f"{len(found)} pairs of accesses: {'; '.join(reasons[:3])}",
            None,
            tuple(f"{o.where}: {o.by}" for o in found),
        )

    def lemma(self, facts: Facts) -> str:
        from ..races.access_pairs import orders

        return next((o.open for o in orders(self.kernel, self.tensor, self.given) if o.open), "")

    # -- refutation ---------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        """Two accesses of a run that race. Raises TooLarge where none do: other data or lanes may."""
        from ..races.bound_runs import Run

        found = Run(self.kernel, self.tensor).race()
        if not found:
            raise TooLarge("no two accesses of a run at these sizes are seen to race")
        return Witness({}, (), found)

    def hints(self) -> tuple[int, ...]:
        """Extents of the grid and of loops, and conditions."""
        every = list(self.kernel.plain.walk())
        conditions = tuple(f for op in every if isinstance(op, If) for f in op.condition)
        return numbers_in((self.kernel.grid, tuple(op.extent for op in every if isinstance(op, For)), conditions))

    def trials(self, facts: Facts) -> Iterator[dict[Symbol, int]]:
        """Small sizes, and those around the numbers by which the grid and loops divide."""
        hints = tuple(n for n in sorted(set(self.hints())) if 1 < n <= 4096)
        near = itertools.islice(small_sizes(facts.symbols, facts, hints), SIZES)
        wide = (dict.fromkeys(facts.symbols, n) for h in hints for n in (h, 2 * h))
        return itertools.chain(near, (env for env in wide if facts.admits(env)))


def global_orders(kernel: Kernel) -> Iterator[Claim]:
    """The claims about all tensors that are written, and read or written in another way too."""
    from ..races.access_pairs import shared

    yield from (GlobalOrder(kernel, name) for name in shared(kernel))
