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

    def __str__(self) -> str:
        return self.name


# CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
SM90 = Arch("sm_90a", (9, 0), 227 * 1024)
