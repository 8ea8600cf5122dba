"""The instruction of a product, and the copy of its operands into registers: the best that fits, and why no better one.

    >>> print(choose_mma("bf16", "f32", (64, 256, 64)))
    wgmma.m64n256k16.bf16; the next better: none
    >>> print(choose_mma("bf16", "f32", (16, 24, 64)))
    mma.m16n8k16.bf16; the next better: wgmma.m64n24k16.bf16 multiplies 64 rows at a time, and there are 16
    >>> print(choose_mma("f32", "f32", (64, 64, 64)).rejected[-1][1])
    there is none of f32 with sums of f32

Products are tried from the greatest to the least; of wgmma the one with the most columns that divide the tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..arch import SM90, Arch
from ..atoms import ATOMS, Combines, MatrixCopy, MmaAtom
from ..atoms.ldmatrix import ROW_BYTES
from ..common_layouts import max_alignment
from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..int_tuple import rank, size
from ..tensor import Tensor
from .pointers import dtype_of, expect_kind, space_of
from .tiled_copy import OF_OPERANDS, TiledCopy, make_copy_atom
from .tiled_mma import TiledMma

FMA = "fma"
WORD_BYTES = 4  # of a register, whose elements are neighbours along k in every atom


@dataclass(frozen=True)
class Chosen:
    """An instruction; *rejected* are the better ones, best first, each with its reason."""

    word: str
    rejected: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.word}; the next better: {' '.join(self.rejected[-1]) if self.rejected else 'none'}"


def choose_mma(
    dtype: DTypeLike,
    sums: DTypeLike,
    tile: tuple[int, int, int],
    *,
    b: DTypeLike | None = None,
    registers: bool = False,
    arch: Arch = SM90,
) -> Chosen:
    """The product of a tile (M, N, K) with A in shared memory, or in *registers*; ``fma`` where no instruction fits.

    *b* is the type of B where it is another than that of A. Bits are combined by and.

    >>> print(choose_mma("bf16", "f32", (128, 64, 64)))
    wgmma.m64n64k16.bf16; the next better: none
    >>> print(choose_mma("bf16", "f32", (16, 8, 16), registers=True))
    mma.m16n8k16.bf16; the next better: wgmma.m64n8k16.bf16.rs multiplies 64 rows at a time, and there are 16
    """
    kind, acc = DType.of(dtype), DType.of(sums)
    kinds = (kind, kind if b is None else DType.of(b), acc)
    every = (r for r in ATOMS.values() if isinstance(r, MmaAtom) and r.types == kinds)
    rows = [r for r in every if r.combines is not Combines.XOR]
    if not rows:
        of = kind if b is None else f"{kind} and {kinds[1]}"
        return Chosen(FMA, (("a matrix instruction", f"there is none of {of} with sums of {acc}"),))
    rejected: list[tuple[str, str]] = []
    for row in sorted(_candidates(rows, tile[1], registers), key=lambda r: math.prod(r.mnk), reverse=True):
        why = _misfit(row, tile, arch)
        if not why:
            return Chosen(row.word, tuple(rejected))
        rejected.append((row.word, why))
    return Chosen(FMA, tuple(rejected))


def _candidates(rows: list[MmaAtom], columns: int, registers: bool) -> Iterator[MmaAtom]:
    """Each mma.sync, and the widest wgmma whose columns divide those of the tile."""
    wide = [r for r in rows if r.threads > 32 and r.word.endswith(".rs") is registers]
    whole = [r for r in wide if columns % r.mnk[1] == 0] or wide
    if whole:
        yield max(whole, key=lambda r: r.mnk[1])
    yield from (r for r in rows if r.threads == 32)


def _misfit(row: MmaAtom, tile: tuple[int, int, int], arch: Arch) -> str:
    if arch.compute_capability < row.since:
        have = ".".join(map(str, arch.compute_capability))
        return f"is there from compute capability {row.since[0]}.{row.since[1]} on, and {arch} has {have}"
    for what, unit, n in zip(("rows", "columns", "elements of K"), row.mnk, tile, strict=True):
        if n % unit:
            return f"multiplies {unit} {what} at a time, and there are {n}"
    return ""


def choose_operand_copy(tile: Tensor, mma: TiledMma, operand: str, *, arch: Arch = SM90) -> tuple[TiledCopy, Chosen]:
    """The copy of an operand of a tiled product from a tile in shared memory, as (row, k), into registers.

    >>> from symlayout import ComposedLayout, Layout, Swizzle
    >>> from symlayout.algorithms import make_smem_ptr, make_tiled_mma
    >>> mma = make_tiled_mma("mma.m16n8k16.bf16")
    >>> rows = Tensor(make_smem_ptr(dtype="bf16"), Layout((16, 16), (16, 1)))
    >>> print(choose_operand_copy(rows, mma, "A")[1])
    ldmatrix.x4; the next better: none
    >>> columns = Tensor(make_smem_ptr(dtype="bf16"), Layout((16, 16), (1, 16)))
    >>> print(choose_operand_copy(columns, mma, "A")[1].word)
    ldmatrix.x4.trans
    >>> padded = Tensor(make_smem_ptr(dtype="bf16"), Layout((16, 16), (18, 1)))
    >>> print(choose_operand_copy(padded, mma, "A")[1])
    ld.shared.4; the next better: ld.shared.8 reads 4 neighbours along k for a thread, which has 2 at a time

    Raises LayoutError for a tile that is not in shared memory, and for an operand that is read where it lies.
    """
    expect_kind(mma, TiledMma, "a tiled product, as of make_tiled_mma")
    if not isinstance(operand, str) or operand not in ("A", "B"):
        raise LayoutError(f"expected the operand A or B, got {operand!r}")
    kind, row = dtype_of(tile), mma.row
    wanted = row.held["AB".index(operand)]
    if space_of(tile) is None or space_of(tile) != "shared" or kind != wanted or rank(tile.layout) != 2:
        raise LayoutError(f"expected a tile (row, k) of {wanted} in shared memory for {operand}, got {tile}")
    if row.threads > 32:
        raise LayoutError(f"expected an operand in registers, got {operand} of {row.word}, which reads shared memory")
    along = [_leading(tile.layout, i) for i in (1, 0)]
    rejected: list[tuple[str, str]] = []
    for word in _copies(kind, along):
        found = ATOMS[word]
        why = _unfit(found, tile, kind, along, arch)
        if not why:
            try:
                return OF_OPERANDS[operand](make_copy_atom(word, kind), mma), Chosen(word, tuple(rejected))
            except LayoutError as e:
                why = f"does not deal {operand}: {e}"
        rejected.append((word, why))
    raise LayoutError(f"expected a tile that an instruction copies, got {tile}: {rejected[-1][1]}")


def _leading(layout: Any, mode: int) -> bool:
    """Whether elements lie side by side along a mode."""
    inner = getattr(layout, "inner", layout)[mode]
    return bool(int(size(inner.shape)) >= 2 and inner(1) - inner(0) == 1)


def _copies(kind: DType, along: list[bool]) -> Iterator[str]:
    """Instructions from the best on: four matrices at once, by rows or by columns, then vectors of a thread."""
    trans = ".trans" if along[1] and not along[0] else ""
    yield from (f"ldmatrix.x{n}{trans}" for n in (4, 2, 1))
    yield from (f"ld.shared.{n}" for n in (16, 8, 4, 2, 1) if 8 * n >= kind.bits)


def _unfit(row: Any, tile: Tensor, kind: DType, along: list[bool], arch: Arch) -> str:
    if arch.compute_capability < row.since:
        return f"is there from compute capability {row.since[0]}.{row.since[1]} on"
    at = max_alignment(tile.layout) * kind.bytes
    if isinstance(row, MatrixCopy):
        if kind.bits != 16:
            return f"moves elements of 16 bits, and these have {kind.bits}"
        if not any(along):
            return "needs elements that lie side by side along k, or along rows"
        if at % ROW_BYTES:
            return f"needs rows of 8 elements at multiples of {ROW_BYTES} bytes, and those are at multiples of {at}"
        return ""
    count = row.bytes // kind.bytes
    held = max(1, WORD_BYTES // kind.bytes)
    if count > held or (count > 1 and not along[0]):
        return f"reads {count} neighbours along k for a thread, which has {held if along[0] else 1} at a time"
    return f"needs addresses of whole {row.bytes} bytes, and those are of {at}" if count > 1 and at % row.bytes else ""
