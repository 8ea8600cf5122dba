"""Shared-memory banks and global sectors of one warp access: counted lane by lane, or by rank over F2.

    >>> column = [128 * lane for lane in range(32)]                # f32, one column of rows of 32 elements
    >>> conflict_degree(column, 4), conflict_degree([a + a // 32 for a in column], 4)
    (32, 1)
    >>> print(worst_lanes(column, 4))
    32-way: lanes 0, 1, 2, 3, ..., 31 on bank 0 at different addresses

The model is that of T16 in docs/theorems.md: an access is split into phases,
lanes of one phase that want different words of one bank are served one after another, equal words together.
Stores count alike, but two lanes that store to the same bytes are a race and no broadcast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Any, TypeAlias

from .errors import LayoutError
from .linear import LinearLayout, f2_rank

BANKS = 32  # CUDA C++ Programming Guide, compute capability 5.x to 9.0, shared memory
BANK_BYTES = 4  # the same: successive 32-bit words lie in successive banks
LANES = 32  # of a warp
WIDTHS_BYTES = (1, 2, 4, 8, 16)  # of one lane: ld.shared with .b8 to .b64, .v2.b64 (PTX ISA, ld)
MATRIX_ROWS, MATRIX_ROW_BYTES = 8, 16  # of an 8x8 b16 matrix (PTX ISA, ldmatrix)
SECTOR_BYTES = 32  # of L2 and DRAM traffic (Nsight Compute, memory tables)
LINE_BYTES = 128  # of L1 (the same)
PAIRED = (1, 2)  # distances of lanes whose wanting the same lets two phases of a load be one (counters of an H200)

# AMD CDNA, ds_read_b128 of a wave of 64 (ROCm, ck_tile hardware/lds_bank_conflicts.rst):
# a phase is not a run of lanes, which is why the split is data.
CDNA_READ_B128 = tuple(
    tuple(half + lane for start in pair for lane in range(start, start + 4))
    for half in (0, 32)
    for pair in ((0, 20), (4, 16), (8, 28), (12, 24))
)

Addresses: TypeAlias = Any  # a sequence or an array of integers, in bytes, one for each lane


@dataclass(frozen=True, slots=True)
class Access:
    """The accesses of the lanes of a warp in one instruction, and the lanes that are served together.

    >>> print(Access(16))
    16 bytes for each of 32 lanes in 4 phases, 8 units of 16 bytes in 32 banks

    Phases are runs of lanes that fill all banks once, unless *groups* says otherwise: 32 lanes up to 4 bytes,
    16 at 8 bytes and 8 at 16 bytes (T16; a hardware model). Raises LayoutError for other widths.
    """

    width_bytes: int
    lanes: int = LANES
    groups: tuple[tuple[int, ...], ...] = ()
    banks: int = BANKS

    def __post_init__(self) -> None:
        if self.width_bytes not in WIDTHS_BYTES:
            raise LayoutError(f"expected a width of 1, 2, 4, 8 or 16 bytes, got {self.width_bytes}")
        for name, value in (("lanes", self.lanes), ("banks", self.banks)):
            if type(value) is not int or value < 1:
                raise LayoutError(f"expected {name} of at least 1, got {value!r}")
        if self.units < 1:
            least = self.unit_bytes // BANK_BYTES
            raise LayoutError(f"expected at least {least} banks for {self.width_bytes} bytes at once, got {self.banks}")
        if not self.groups:
            lanes = range(self.lanes)
            runs = tuple(tuple(lanes[i : i + self.units]) for i in range(0, self.lanes, self.units))
            object.__setattr__(self, "groups", runs)
        if sorted(lane for group in self.groups for lane in group) != [*range(self.lanes)]:
            raise LayoutError(f"expected each of {self.lanes} lanes in one phase, got {self.groups}")

    @property
    def unit_bytes(self) -> int:
        """The unit in which conflicts are counted: the width, at least one bank wide."""
        return max(self.width_bytes, BANK_BYTES)

    @property
    def units(self) -> int:
        """The units side by side in all banks."""
        return self.banks * BANK_BYTES // self.unit_bytes

    @property
    def directions(self) -> tuple[int, ...] | None:
        """Lanes whose xors are the lanes of a phase, but for one xor of all: None if phases are no such sets alike.

        >>> Access(16).directions, Access(16, lanes=64, groups=CDNA_READ_B128).directions
        ((1, 2, 4), (1, 2, 20))
        """
        first = [lane ^ self.groups[0][0] for lane in self.groups[0]]
        basis: list[int] = []
        spanned = {0}
        for lane in sorted(first):
            if lane not in spanned:
                basis.append(lane)
                spanned |= {lane ^ other for other in spanned}
        alike = all({lane ^ group[0] for lane in group} == spanned for group in self.groups)
        return tuple(basis) if alike and len(spanned) == len(first) else None

    def __str__(self) -> str:
        each = f"{self.width_bytes} bytes for each of {self.lanes} lanes in {len(self.groups)} phases"
        return f"{each}, {self.units} units of {self.unit_bytes} bytes in {self.banks} banks"


_ACCESSES = {w: Access(w) for w in WIDTHS_BYTES}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lanes of one phase that want different words of one bank: a witness for the degree, their number."""

    phase: int
    bank: int
    lanes: tuple[int, ...]

    @property
    def degree(self) -> int:
        """The number of wavefronts that serve them."""
        return len(self.lanes)

    def __str__(self) -> str:
        if self.degree < 2:
            return "no conflict"
        names = [*map(str, self.lanes)]
        shown = ", ".join(names if self.degree <= 8 else [*names[:4], "...", names[-1]])
        return f"{self.degree}-way: lanes {shown} on bank {self.bank} at different addresses"


def phases(width_bytes: int) -> tuple[tuple[int, ...], ...]:
    """The lanes that are served together, phase by phase.

    >>> [len(p) for p in phases(8)], phases(16)[1]
    ([16, 16], (8, 9, 10, 11, 12, 13, 14, 15))
    """
    return _access(width_bytes, None).groups


def wavefronts(
    byte_addresses: Addresses, width_bytes: int | Access, active: Sequence[bool] | int | None = None
) -> tuple[int, ...]:
    """The conflict degree of each phase: 1 without conflict, 0 if no lane of it is active.

    >>> wavefronts([32 * lane for lane in range(32)], 16)
    (2, 2, 2, 2)

    *active* is one truth value for each lane or a mask. The sum is the number of wavefronts of the access.
    Raises LayoutError for an address that is not a multiple of the width.
    """
    served = _served(byte_addresses, width_bytes, active)
    return tuple(max(map(len, units.values()), default=0) for units in served)


def load_wavefronts(byte_addresses: Addresses, width_bytes: int) -> int:
    """The wavefronts of a load by all lanes of a warp, as a counter of the hardware has them.

    >>> pairs = [8 * (lane // 2) for lane in range(32)]
    >>> sum(wavefronts(pairs, 8)), load_wavefronts(pairs, 8)
    (2, 1)

    They are those of ``wavefronts``, but where each lane i wants the same unit as lane i ^ 1, or each as lane i ^ 2,
    two phases are served together. Stores are not. Counted on an H200: benchmarks/results/microbenchmarks.
    Raises LayoutError as ``wavefronts`` does.
    """
    access = _access(width_bytes, byte_addresses)
    units = [int(a) // access.unit_bytes for a in byte_addresses]
    if len(access.groups) > 1 and any(all(units[i] == u for i, u in _pairs(units, d)) for d in PAIRED):
        pairs = zip(access.groups[::2], access.groups[1::2], strict=True)
        access = Access(access.width_bytes, access.lanes, tuple(a + b for a, b in pairs), access.banks)
    return sum(wavefronts(byte_addresses, access))


def _pairs(units: Sequence[int], distance: int) -> Iterator[tuple[int, int]]:
    """For each lane, its partner and its own unit."""
    return ((lane ^ distance, unit) for lane, unit in enumerate(units))


def conflict_degree(
    byte_addresses: Addresses, width_bytes: int | Access, active: Sequence[bool] | int | None = None
) -> int:
    """The greatest degree of a phase; 1 means free of conflicts."""
    return max(wavefronts(byte_addresses, width_bytes, active), default=0)


def worst_lanes(
    byte_addresses: Addresses, width_bytes: int | Access, active: Sequence[bool] | int | None = None
) -> Conflict:
    """The first bank and phase of the greatest degree, with one lane for each word that it must serve."""
    unit = _access(width_bytes, byte_addresses).unit_bytes
    worst = Conflict(0, 0, ())
    for phase, units in enumerate(_served(byte_addresses, width_bytes, active)):
        for column, lanes in units.items():
            if len(lanes) > worst.degree:
                worst = Conflict(phase, column * unit // BANK_BYTES, tuple(sorted(lanes.values())))
    return worst


def linear_degree(columns: Sequence[int] | LinearLayout, width_bytes: int | Access) -> int:
    """The conflict degree of byte addresses that are linear over F2 in the bits of the lane (T16).

    >>> linear_degree([128, 256, 512, 1024, 2048], 4), linear_degree([128 + 4, 256 + 8, 512 + 16], 4)
    (32, 1)

    *columns* are the address bits of lanes 1, 2, 4, ... The degree is 2^(dim ker Bk - dim ker W), W being
    the map from the lanes of a phase to units and Bk the same modulo 128 bytes. It holds for every phase, for
    any constant that is xored in, and for any multiple of the unit that is added after a swizzle. Raises LayoutError
    for phases of an ``Access`` that are not alike (``directions``), and banks that are no power of two.

    >>> rows = [64, 128, 256, 512, 1024, 16]  # of 64 bytes, 16 bytes of each: reads of a wave of AMD CDNA
    >>> linear_degree(rows, Access(16, lanes=64, groups=CDNA_READ_B128)), linear_degree(rows, Access(16, lanes=64))
    (4, 4)
    """
    access = _access(width_bytes, None)
    bits = columns.columns if isinstance(columns, LinearLayout) else columns
    if any(c % access.width_bytes for c in bits):
        raise LayoutError(f"expected columns that are multiples of {access.width_bytes} bytes, got {list(bits)}")
    directions = access.directions
    if directions is None or access.units & (access.units - 1):
        raise LayoutError(f"expected phases that are alike and banks in a power of two, got {access}")
    per_phase = [reduce(xor, (c for i, c in enumerate(bits) if lane >> i & 1), 0) for lane in directions]
    words = [c // access.unit_bytes for c in per_phase]
    banks = [w & (access.units - 1) for w in words]
    return 1 << f2_rank(words) - f2_rank(banks)


def ldmatrix_rows(row_addresses: Addresses) -> tuple[int, ...]:
    """The conflict degree of each 8x8 matrix of an ldmatrix or stmatrix, given its 16-byte row addresses.

    >>> ldmatrix_rows([128 * row for row in range(8)]), ldmatrix_rows([144 * row for row in range(16)])
    ((8,), (1, 1))

    8, 16 or 32 addresses are .x1, .x2 and .x4 (PTX ISA, ldmatrix; a matrix is one phase).
    """
    if len(row_addresses) not in (8, 16, 32):
        raise LayoutError(f"expected 8, 16 or 32 row addresses, got {len(row_addresses)}")
    return wavefronts(row_addresses, Access(MATRIX_ROW_BYTES, lanes=len(row_addresses)))


def sectors(byte_addresses: Addresses, width_bytes: int, active: Sequence[bool] | int | None = None) -> int:
    """The 32-byte sectors of global memory that one access moves.

    >>> sectors(range(0, 128, 4), 4), sectors(range(4, 132, 4), 4), sectors(range(0, 4096, 128), 4)
    (4, 5, 32)
    """
    return _touched(byte_addresses, width_bytes, SECTOR_BYTES, active)


def lines(byte_addresses: Addresses, width_bytes: int, active: Sequence[bool] | int | None = None) -> int:
    """The 128-byte lines of one access: a request for each."""
    return _touched(byte_addresses, width_bytes, LINE_BYTES, active)


# -- counting -------------------------------------------------------------------------------------------


def _access(width: int | Access, byte_addresses: Addresses) -> Access:
    if isinstance(width, Access):
        return width
    found = _ACCESSES.get(width) or Access(width)
    if byte_addresses is None or len(byte_addresses) == found.lanes:
        return found
    return Access(width, lanes=len(byte_addresses))


def _lanes(byte_addresses: Addresses, active: Sequence[bool] | int | None) -> dict[int, int]:
    """Lane -> address, for the active lanes."""
    pairs = enumerate(byte_addresses.tolist() if hasattr(byte_addresses, "tolist") else byte_addresses)
    if active is None:
        return dict(pairs)
    if isinstance(active, int):
        return {i: a for i, a in pairs if active >> i & 1}
    if len(active) != len(byte_addresses):
        raise LayoutError(f"expected {len(byte_addresses)} truth values, got {len(active)}")
    return {i: a for i, a in pairs if active[i]}


def _served(
    byte_addresses: Addresses, width_bytes: int | Access, active: Sequence[bool] | int | None
) -> Iterator[dict[int, dict[int, int]]]:
    """For each phase: unit modulo the row -> address in units -> the first lane that wants it."""
    access = _access(width_bytes, byte_addresses)
    if len(byte_addresses) != access.lanes:
        raise LayoutError(f"expected {access.lanes} addresses, got {len(byte_addresses)}")
    wanted, unit, row = _lanes(byte_addresses, active), access.unit_bytes, access.units
    width = access.width_bytes
    for lane, a in wanted.items():
        if a % width:
            raise LayoutError(f"expected an address in multiples of {width} bytes in lane {lane}, got {a}")
    for group in access.groups:
        units: defaultdict[int, dict[int, int]] = defaultdict(dict)
        for lane in group:
            if lane in wanted:
                at = wanted[lane] // unit
                units[at % row].setdefault(at, lane)
        yield units


def _touched(byte_addresses: Addresses, width: int, chunk: int, active: Sequence[bool] | int | None) -> int:
    found: set[int] = set()
    for a in _lanes(byte_addresses, active).values():
        found.update(range(a // chunk, (a + width - 1) // chunk + 1))
    return len(found)
