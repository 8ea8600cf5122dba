"""Common parts of claims about a kernel: its facts are assumptions, its dimensions the sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from symlayout.errors import ClaimError
from symlayout.kernel import Kernel

from ..claim import Claim


@dataclass(frozen=True)
class OfKernel(Claim):
    """The base of claims about a kernel. Raises ClaimError for a value that is not a kernel."""

    kernel: Any

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ClaimError(f"expected a kernel, got {self.kernel!r}")
        super().__post_init__()

    def subjects(self) -> tuple[Any, ...]:
        return ()


@dataclass(frozen=True)
class AtAllSizes(OfKernel):
    """The base of claims that depend on sizes; the facts of the kernel are assumptions of the claim."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = (*self.kernel.given, *(f for f in self.given if f not in self.kernel.given))
        object.__setattr__(self, "given", given)

    def parameters(self) -> tuple[Any, ...]:
        return self.kernel.dims

    def static(self) -> bool:
        return not self.kernel.dims and all(f.value is not None for f in self.given)

    def bind(self, env: Mapping[Any, int]) -> Self:
        sizes = {s.name: env[s] for s in self.kernel.dims}
        return replace(self, kernel=replace(self.kernel, given=()).bind(**sizes), given=())

    def points(self) -> int:
        return 1


@dataclass(frozen=True)
class OfProgram(OfKernel):
    """The base of claims about what stands where, or has numbers for sizes: they depend on no size."""

    def parameters(self) -> tuple[Any, ...]:
        return ()

    def static(self) -> bool:
        return True

    def bind(self, env: Mapping[Any, int]) -> Self:
        return replace(self, given=())
