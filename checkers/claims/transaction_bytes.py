"""The bytes that a phase of an mbarrier awaits are those that copies credit to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.errors import ClaimError
from symlayout.expr import Fact, eq
from symlayout.facts import Facts
from symlayout.kernel import Kernel
from symlayout.ops import Box, Copy, ExpectTx, For

from ..claim import Claim
from ..sites import Site, sites
from .holds import Holds


@dataclass(frozen=True)
class TransactionBytes(Claim):
    """Beside each expect_tx on *barrier* stand copies that credit its bytes: no more, no fewer.

    >>> from symlayout.kernels import tma_copy
    >>> print(TransactionBytes(tma_copy(64, 256, tile=(16, 64)), "full"))
    transaction bytes: what full of tma_copy awaits

    Raises ClaimError for a barrier that the kernel does not have.
    """

    kernel: Any
    barrier: str

    kind: ClassVar[str] = "transaction bytes"

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ClaimError(f"expected a kernel, got {self.kernel!r}")
        self.kernel.barrier(self.barrier)
        given = (*self.kernel.given, *(f for f in self.given if f not in self.kernel.given))
        object.__setattr__(self, "given", given)
        super().__post_init__()

    def subjects(self) -> tuple[Any, ...]:
        return ()

    def parameters(self) -> tuple[Any, ...]:
        return self.kernel.dims

    def bind(self, env: Mapping[Any, int]) -> Claim:
        return type(self)(self.kernel.bind(**{s.name: env[s] for s in self.kernel.dims}), self.barrier)

    def __str__(self) -> str:
        return f"{self.kind}: what {self.barrier} of {self.kernel.name} awaits"

    @property
    def method(self) -> str:
        """How a proof of all parts is named."""
        return f"{len(self.parts())} sums of bytes"

    def parts(self) -> tuple[Claim, ...]:
        """An equality for each expect_tx, and that copies without one there are none."""
        return tuple(self._sums())

    def _sums(self) -> Iterator[Claim]:
        every = list(sites(self.kernel))
        left = [s for s in every if isinstance(s.op, Copy) and s.op.barrier and s.op.barrier.barrier == self.barrier]
        for x in every:
            if isinstance(x.op, ExpectTx) and x.op.barrier.barrier == self.barrier:
                mine = [c for c in left if beside(x, c)]
                left = [c for c in left if c not in mine]
                total: Any = 0
                for c in mine:
                    total = total + _times(x, c) * credit(self.kernel, c)
                label = f"{x.op} for {' and '.join(dict.fromkeys(str(c.op.src.tensor_map) for c in mine)) or 'no copy'}"  # type: ignore[attr-defined]
                yield Holds(eq(x.op.bytes, total), f"{label}: bytes awaited less those of the copies are 0")
        for c in left:
            yield Holds(Fact(-1, ">="), f"an expect_tx beside {c.op}")

    def lemma(self, facts: Facts) -> str:
        return "the bytes awaited are those of the copies"


def beside(x: Site, c: Site) -> bool:
    """Whether *c* stands in the body of *x*, or inside an operation there."""
    return c.around[: len(x.around)] == x.around and c.places[: len(x.around)] == x.places[:-1]


def credit(kernel: Kernel, c: Site) -> Any:
    """The bytes that a copy credits to its barrier."""
    if not isinstance(c.op, Copy) or not isinstance(c.op.src, Box):
        raise ClaimError(f"expected a copy from a tensor map, got {c.op}")
    return kernel.map(c.op.src.tensor_map).tensor_map.transaction_bytes


def _times(x: Site, c: Site) -> Any:
    total: Any = 1
    for loop in c.around[len(x.around) :]:
        total = total * (loop.extent if isinstance(loop, For) else 1)
    return total
