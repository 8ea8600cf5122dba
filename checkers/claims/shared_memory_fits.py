"""The shared memory of a kernel fits its architecture, and its tensors do not overlap while they are in use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.arch import SM90, Arch
from symlayout.atoms import MemorySpace
from symlayout.expr import Fact

from ..claim import Claim
from ..overlaps import sharing
from .apart_in_time import ApartInTime
from .holds import Holds
from .of_kernel import OfProgram


@dataclass(frozen=True)
class SharedMemoryFits(OfProgram):
    """Tensors and mbarriers take at most what a block of *arch* may have; those in use at once share no byte.

    Where tensors share bytes, that they are apart in time is a claim of its own for each two (``ApartInTime``).

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> M, N = dims("M N")
    >>> print(SharedMemoryFits(tma_copy(M, N)))
    shared memory fits: 16400 of 232448 bytes of sm_90a in tma_copy
    """

    arch: Arch = SM90

    kind: ClassVar[str] = "shared memory fits"

    def points(self) -> int:
        return len(self._spans())

    def __str__(self) -> str:
        of = f"{self.arch.shared_bytes_per_block} bytes of {self.arch}"
        return f"{self.kind}: {self.kernel.shared_bytes} of {of} in {self.kernel.name}"

    def _spans(self) -> list[tuple[int, int, str]]:
        """(first byte, byte past the end, name) of each shared tensor."""
        shared = (t for t in self.kernel.tensors if t.space is MemorySpace.SHARED)
        return sorted((t.base, t.base + int(t.bytes), t.name) for t in shared)

    def _faults(self) -> Iterator[str]:
        size, limit = self.kernel.shared_bytes, self.arch.shared_bytes_per_block
        if size > limit:
            yield f"{size} bytes are {size - limit} more than a block of {self.arch} may have"
        for start, _, name in self._spans():
            if start < 0:
                yield f"{name} starts at byte {start}"

    def parts(self) -> tuple[Claim, ...] | None:
        pairs = sharing(self.kernel)
        if not pairs:
            return None
        fault = next(self._faults(), "")
        fits = Holds(Fact(-1 if fault else 0, ">="), f"{self}{fault and f': {fault}'}")
        return (fits, *(ApartInTime(self.kernel, a, b) for a, b in pairs))

    @property
    def method(self) -> str:
        """The method of a proof of all parts."""
        return f"below the limit, {len(sharing(self.kernel))} times apart in time"

    def counterexample(self) -> Witness | None:
        fault = next(self._faults(), None)
        return None if fault is None else Witness({}, (), fault)

    def lemma(self, facts: Any) -> str:
        return "the tensors lie one after another below the limit"
