"""The registers of each role suffice for its tensors, and what roles and instructions ask for is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.answers.report import Witness
from symlayout.arch import SM90, Arch
from symlayout.atoms import MemorySpace, MmaAtom
from symlayout.kernel import Kernel
from symlayout.ops import Role

from .of_kernel import OfProgram

REGISTER_BYTES = 4
WARPGROUP = 4  # warps


@dataclass(frozen=True)
class RegistersFit(OfProgram):
    """The register tensors of each role take at most the registers of its threads, and setmaxnreg can give them.

    A role with a number of registers changes to it with setmaxnreg. That takes whole warpgroups and a multiple of 8
    from 24 to 256, and all warps together have at most the registers of the launch (PTX ISA, setmaxnreg). An
    instruction needs its registers at the launch already, as setmaxnreg does not change what ptxas takes an
    instruction with (``MmaAtom.launch_registers``). The registers that the compiler needs for other values, such as
    addresses and indices, are not counted: the compiler's report shows whether it spills.

    >>> from symlayout import dims
    >>> from symlayout.kernels import gemm
    >>> print(RegistersFit(gemm(*dims("M N K"))))
    registers fit: consumer 132 of 240, producer 0 of 24 in gemm, 64512 of 64512 of sm_90a

    Raises ClaimError for a value that is not a kernel.
    """

    arch: Arch = SM90

    kind: ClassVar[str] = "registers fit"

    def points(self) -> int:
        return len(self.rows())

    @property
    def telling(self) -> bool:
        """Whether there is something to say: a register tensor, or a role that asks for registers."""
        held = any(t.space is MemorySpace.REGISTER for t in self.kernel.tensors)
        return held or any(r.registers for r in _roles(self.kernel))

    @property
    def launched(self) -> int:
        """Registers of each thread that a launch of this many threads and CTAs an SM can have, in whole units."""
        return self.arch.registers_at(self.kernel.threads, self.kernel.ctas_per_sm or 1)

    def rows(self) -> list[tuple[str, int, int]]:
        """(role, registers that its tensors take, registers that its threads have); "" is outside of all roles."""
        common, roles = self._taken(""), {r.name: r.registers for r in _roles(self.kernel)}
        outside = [("", common, self._plain())] if common or not roles else []
        return sorted(
            [*outside, *((name, common + self._taken(name), n or self._plain()) for name, n in roles.items())]
        )

    def _plain(self) -> int:
        """Registers of a thread that no setmaxnreg has changed: a last odd one where nobody else gets any."""
        a = self.arch
        asked = any(r.registers for r in _roles(self.kernel))
        whole = asked or self.launched + a.register_unit <= a.registers_per_thread
        return self.launched if whole else a.registers_per_thread

    def _taken(self, role: str) -> int:
        held = [t for t in self.kernel.tensors if t.space is MemorySpace.REGISTER and t.role == role]
        return sum(-(-int(t.bytes) // REGISTER_BYTES) for t in held)

    def _sum(self) -> tuple[int, int]:
        """(registers of all warps after every setmaxnreg, registers of the launch)."""
        warps = {w: r.registers for r in _roles(self.kernel) for w in range(r.first_warp, r.first_warp + r.warps)}
        every = range(self.kernel.threads // 32)
        return sum(32 * (warps.get(w) or self.launched) for w in every), self.launched * self.kernel.threads

    def __str__(self) -> str:
        rows = ", ".join(f"{name + ' ' if name else ''}{taken} of {n}" for name, taken, n in self.rows())
        all_, pool = self._sum()
        asked = any(r.registers for r in _roles(self.kernel))
        together = f", {all_} of {pool} of {self.arch}" if asked else f" of {self.arch}"
        return f"{self.kind}: {rows} in {self.kernel.name}{together}"

    def _faults(self) -> Iterator[str]:
        for name, taken, n in self.rows():
            if taken > n:
                of = f"role {name}" if name else self.kernel.name
                yield f"the tensors of {of} take {taken} registers of each thread, {taken - n} more than it has"
        for row in self._products():
            if row.launch_registers > self.launched:
                yield (
                    f"{row.word} needs {row.launch_registers} registers of each thread at the launch, "
                    f"{row.launch_registers - self.launched} more than {self.arch} gives {self._threads()}"
                )
        for r in _roles(self.kernel) if self.arch.setmaxnreg is None else ():
            if r.registers:
                yield f"role {r.name} asks for {r.registers} registers, and {self.arch} has no setmaxnreg"
        low, high, unit = self.arch.setmaxnreg or (0, 0, 1)
        for r in _roles(self.kernel) if self.arch.setmaxnreg is not None else ():
            if not r.registers:
                continue
            if not low <= r.registers <= high or r.registers % unit:
                yield f"role {r.name} asks for {r.registers} registers, not for a multiple of {unit} of {low} .. {high}"
            if r.first_warp % WARPGROUP or r.warps % WARPGROUP:
                yield f"{str(r).rstrip(':')}: expected whole warpgroups for setmaxnreg"
        all_, pool = self._sum()
        if all_ > pool:
            yield f"the roles ask for {all_} registers, {all_ - pool} more than a launch of {self._threads()} has"

    def _products(self) -> list[MmaAtom]:
        rows = dict.fromkeys(op.row for op in self.kernel.walk())
        return [row for row in rows if isinstance(row, MmaAtom)]

    def _threads(self) -> str:
        """The threads that share the registers of an SM, as text."""
        ctas = self.kernel.ctas_per_sm or 1
        return f"{f'{ctas} CTAs of ' if ctas > 1 else ''}{self.kernel.threads} threads"

    def counterexample(self) -> Witness | None:
        fault = next(self._faults(), None)
        return None if fault is None else Witness({}, (), fault)

    def lemma(self, facts: Any) -> str:
        return "the registers of each instruction, and of all roles together, are at most those of the launch"


def _roles(kernel: Kernel) -> list[Role]:
    return [op for op in kernel.walk() if isinstance(op, Role)]
