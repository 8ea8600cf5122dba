"""Architectures: what each permits, as rows.

>>> print(SM90, SM90.shared_bytes_per_block, SM90.registers_per_sm)
sm_90a 232448 65536
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    """An architecture. Sizes in bytes, registers of 32 bits; sources beside each row."""

    name: str
    compute_capability: tuple[int, int]
    shared_bytes_per_block: int  # what a kernel may opt in to
    registers_per_sm: int
    registers_per_thread: int
    register_unit: int  # registers of each thread are handed out in multiples of it
    setmaxnreg: tuple[int, int, int]  # least, most, and what divides the number that setmaxnreg takes

    def __str__(self) -> str:
        return self.name


# CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability": shared memory per block, 32-bit
# registers per multiprocessor and per thread. Registers of a warp come in units of 256 (CUDA Occupancy Calculator,
# register allocation unit size), 8 for each thread. PTX ISA, setmaxnreg: imm-reg-count is 24 .. 256 in multiples of 8.
SM90 = Arch("sm_90a", (9, 0), 227 * 1024, 64 * 1024, 255, 8, (24, 256, 8))
