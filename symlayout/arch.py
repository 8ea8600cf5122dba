"""Architectures: what each permits, as rows.

>>> print(SM90, SM90.shared_bytes_per_block)
sm_90a 232448
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arch:
    """An architecture. Sizes in bytes; sources beside each row."""

    name: str
    compute_capability: tuple[int, int]
    shared_bytes_per_block: int  # what a kernel may opt in to
    shared_bytes_per_sm: int
    registers_per_thread: int
    registers_per_sm: int
    threads_per_sm: int
    max_cluster: int  # CTAs of a cluster without opting in to more

    def __str__(self) -> str:
        return self.name


# CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability"; 8 is the portable cluster size.
SM90 = Arch("sm_90a", (9, 0), 227 * 1024, 228 * 1024, 255, 65536, 2048, 8)

ARCHS = (SM90,)
