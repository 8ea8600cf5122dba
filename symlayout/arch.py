"""Architectures: what each permits, as rows.

>>> print(SM90, SM90.shared_bytes_per_block, SM90.registers_per_sm)
sm_90a 232448 65536
>>> print(SM80.grid_axes, SM80.cluster_ctas, SM80.setmaxnreg)
(2147483647, 65535, 65535) 1 None
"""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024


@dataclass(frozen=True, kw_only=True)
class Arch:
    """An architecture. Sizes are in bytes, registers have 32 bits. The comment at a field names the source of its
    number.

    Sources: GUIDE is the CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability"; PTX is
    the PTX ISA, section named. Fields with a value are the same for all architectures from compute capability 8.0 on.
    """

    name: str
    compute_capability: tuple[int, int]

    # -- a launch (GUIDE: maximum x-, y- and z-dimension of a grid and of a block, threads of a block) ---------
    grid_axes: tuple[int, ...] = (2**31 - 1, 65535, 65535)  # CTAs along x, y and z
    block_axes: tuple[int, ...] = (1024, 1024, 64)  # threads along x, y and z
    threads_per_block: int = 1024
    cluster_ctas: int = 16  # PTX, cluster; 1 where there are none
    portable_cluster_ctas: int = 8  # GUIDE, Thread Block Clusters: more need an opt-in by the launch

    # -- an SM (GUIDE: resident blocks and threads, registers, shared memory per multiprocessor) ---------------
    blocks_per_sm: int = 32
    threads_per_sm: int = 2048
    registers_per_sm: int = 64 * KIB
    registers_per_thread: int = 255
    register_unit: int = 8  # for each thread: a warp's come in units of 256 (CUDA Occupancy Calculator)
    shared_bytes_per_sm: int
    shared_bytes_per_block: int  # GUIDE: what a kernel may opt in to
    shared_bytes_reserved: int = KIB  # GUIDE, Shared Memory: of each block, by the system

    # -- barriers ---------------------------------------------------------------------------------------------
    named_barriers: int = 16  # PTX, bar: a CTA has barriers 0 .. 15
    mbarrier_arrivals: int = 2**20 - 1  # PTX, Size and Contents of mbarrier Object: the most that a phase awaits
    mbarrier_bytes: int = 2**20 - 1  # same place: the tx-count lies in -(2^20 - 1) .. 2^20 - 1

    # -- registers by warpgroup -------------------------------------------------------------------------------
    setmaxnreg: tuple[int, int, int] | None  # PTX, setmaxnreg: least, most, and what divides imm-reg-count

    def __str__(self) -> str:
        return self.name

    def registers_at(self, threads: int, ctas_per_sm: int = 1) -> int:
        """Registers of each thread of a launch where so many CTAs are on an SM at once, in whole units.

        >>> SM90.registers_at(384), SM90.registers_at(256, 2), SM90.registers_at(128)
        (168, 128, 248)
        """
        each = min(self.registers_per_sm // (threads * ctas_per_sm), self.registers_per_thread)
        return each // self.register_unit * self.register_unit

    @property
    def has_clusters(self) -> bool:
        return self.cluster_ctas > 1


SM80 = Arch(
    name="sm_80",
    compute_capability=(8, 0),
    cluster_ctas=1,
    portable_cluster_ctas=1,
    shared_bytes_per_sm=164 * KIB,
    shared_bytes_per_block=163 * KIB,
    setmaxnreg=None,
)
SM90 = Arch(
    name="sm_90a",
    compute_capability=(9, 0),
    shared_bytes_per_sm=228 * KIB,
    shared_bytes_per_block=227 * KIB,
    setmaxnreg=(24, 256, 8),
)
