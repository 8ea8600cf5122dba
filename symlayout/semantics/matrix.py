"""The effects of matrix instructions on shared memory and registers: ldmatrix, stmatrix, mma and wgmma.

    >>> shared = np.arange(512, dtype=np.uint8)
    >>> ldmatrix("ldmatrix.x1.trans", shared, 16 * np.arange(8), "u16")[1]
    array([ 8480, 12592], dtype=uint16)

Registers are arrays of (thread, value), values in the order of the atom's thread-value layouts. What is read and
written where was compared with an H200 (driver 580.159.04), case by case.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..atoms.atom import SHARED, Atom, MatrixCopy, MmaAtom, atom
from ..atoms.descriptor import MatrixDescriptor
from ..atoms.ldmatrix import ROW_BYTES
from ..dtype import DType, u16
from ..errors import LayoutError
from ..layout import Layout
from .matrix_sums import accumulated, error_bound, product_bound
from .memory import Memory
from .packing import unpacked

__all__ = ["Product", "error_bound", "ldmatrix", "mma", "operand", "stmatrix", "wgmma"]

Numbers = np.ndarray[Any, Any]
Row = TypeVar("Row", MatrixCopy, MmaAtom)


@dataclass(frozen=True, eq=False)
class Product:
    """Sums in registers, and for each the largest error of a tensor core on these operands."""

    values: Numbers
    bound: Numbers


# -- rows of 8 elements ---------------------------------------------------------------------------------


def ldmatrix(word: Any, shared: Any, addresses: Any, dtype: Any = u16) -> Numbers:
    """The registers (32, values) that a warp holds after ``ldmatrix``.

    *addresses* are those that the lanes give: of all 32, or of those that count (8 for each matrix). Elements are of
    *dtype*, 16 bits wide. Raises LayoutError for addresses that are not multiples of 16, TmaFault for those outside.
    """
    row, kind = _expect_atom(word, MatrixCopy, "ldmatrix", lambda row: row.src is SHARED), _half(dtype)
    return to_registers(row, Memory.of(shared).read(_row_bytes(row, row.src_tv, addresses))).view(kind)


def stmatrix(word: Any, shared: Any, addresses: Any, registers: Any) -> None:
    """Write the registers (32, values) of a warp to the rows at *addresses*; errors are those of ``ldmatrix``.

    Raises LayoutError too where rows overlap: which of two stays is not specified.
    """
    row = _expect_atom(word, MatrixCopy, "stmatrix", lambda row: row.dst is SHARED)
    at = _row_bytes(row, row.dst_tv, addresses)
    if np.unique(at).size != at.size:
        raise LayoutError(f"expected rows of {ROW_BYTES} bytes that do not overlap, got {np.unique(at[:, 0]).tolist()}")
    held = _expect_registers(np.asarray(registers), row.src_tv, "registers")
    Memory.of(shared).write(at, to_rows(row, np.ascontiguousarray(held, dtype=_half(held.dtype)).view(np.uint8)))


def to_registers(row: MatrixCopy, rows: Numbers) -> Numbers:
    """Bytes of rows (rows, 16) as bytes of registers (32, bytes)."""
    out: Numbers = np.ascontiguousarray(rows).reshape(-1).view(np.uint16)[by_thread(row.dst_tv)].view(np.uint8)
    return out


def to_rows(row: MatrixCopy, registers: Numbers) -> Numbers:
    """Bytes of registers (32, bytes) as bytes of rows (rows, 16)."""
    at = by_thread(row.src_tv)
    elements = np.empty(at.size, dtype=np.uint16)
    elements[at] = np.ascontiguousarray(registers).view(np.uint16)
    return elements.view(np.uint8).reshape(-1, ROW_BYTES)


def _half(dtype: Any) -> np.dtype[Any]:
    kind = DType.of(dtype)
    if kind.bits != 16:
        raise LayoutError(f"expected elements of 16 bits, got {kind}")
    return kind.numpy()


def _row_bytes(row: MatrixCopy, rows_tv: Layout, addresses: Any) -> Numbers:
    """The byte addresses of each row that the instruction touches: (rows, 16)."""
    given, rows = np.asarray(addresses), int(rows_tv.cosize()) * 2 // ROW_BYTES
    if given.shape not in ((rows,), (32,)):
        raise LayoutError(f"expected the addresses of 32 lanes, or of the {rows} of {row.word}, got {given.shape}")
    given = given[:rows]
    wrong = np.flatnonzero(given % row.align_bytes)
    if len(wrong):
        lane = int(wrong[0])
        raise LayoutError(f"expected a multiple of {row.align_bytes} bytes, got {int(given[lane])} of lane {lane}")
    out: Numbers = given[:, None] + np.arange(ROW_BYTES)
    return out


# -- products -------------------------------------------------------------------------------------------


def mma(word: Any, a: Any, b: Any, c: Any) -> Product:
    """C + A B^T of a warp, registers in and out: c as (32, 4) in the type of the sums.

    TF32 numbers are f32 registers whose low 13 bits do not count; of elements of less than a byte the registers are
    words (u32). Raises LayoutError for registers of another shape or type.
    """
    row = _expect_atom(word, MmaAtom, "mma", lambda row: not row.asynchronous)
    return _sums(row, _tile(row, 0, a), _tile(row, 1, b), c)


def wgmma(word: Any, shared: Any, a: Any, b: MatrixDescriptor, c: Any, *, zero: bool = False, base: int = 0) -> Product:
    """C + A B^T of a warpgroup, or A B^T where *zero*: c as (128, N/2).

    *a* is a descriptor, or registers (128, 8) for an atom with ``.rs``; *b* is a descriptor. *base* is added to the
    addresses of both. Errors are those of ``mma``, and TmaFault for addresses outside of shared memory.
    """
    row = _expect_atom(word, MmaAtom, "wgmma", lambda row: row.asynchronous)
    m, n, k = row.mnk
    if isinstance(a, MatrixDescriptor) != (row.src is SHARED):
        wanted = "a descriptor" if row.src is SHARED else "registers"
        raise LayoutError(f"expected {wanted} for A of {row.word}, got {a}")
    if not isinstance(b, MatrixDescriptor):
        raise LayoutError(f"expected a descriptor for B of {row.word}, got {b}")
    held = operand(shared, a, m, k, row.dtype, base) if row.src is SHARED else _tile(row, 0, a)
    start = np.zeros_like(c) if zero else c
    return _sums(row, held, operand(shared, b, n, k, row.dtype_b, base), start)


def operand(shared: Any, descriptor: MatrixDescriptor, rows: int, depth: int, dtype: Any, base: int = 0) -> Numbers:
    """The matrix (rows, depth) that a descriptor says, read from shared memory."""
    kind = DType.of(dtype)
    at = descriptor.addresses(rows, depth, kind, base)
    held = Memory.of(shared).read(at[..., None] + np.arange(kind.bytes))
    return held.view(kind.numpy()).reshape(rows, depth)


def _sums(row: MmaAtom, a: Numbers, b: Numbers, c: Any) -> Product:
    start = _tile(row, 2, c)
    values, bound = accumulated(row, a, b, start), product_bound(row, a, b, start)
    return Product(to_threads(row.tv_c, values), to_threads(row.tv_c, bound))


def _tile(row: MmaAtom, which: int, registers: Any) -> Numbers:
    """The matrix that registers hold: A (0), B (1) or C (2)."""
    kind, table = row.held[which], row.tables[which]
    held = _expect_registers(np.asarray(registers), row.words[which], table.operand)
    if held.dtype != kind.numpy():
        raise LayoutError(f"expected {kind} in the registers of {table.operand}, got {held.dtype}")
    if which < 2 and row.packed > 1:
        held = unpacked(held, row.types[which])
    return to_matrix(table.tv, held, table.tile)


def to_matrix(tv: Layout, registers: Numbers, shape: tuple[int, int]) -> Numbers:
    """Registers (threads, values) as the matrix that they hold."""
    out = np.empty(registers.size, dtype=registers.dtype)
    out[by_thread(tv)] = registers
    return out.reshape(shape, order="F")


def to_threads(tv: Layout, matrix: Numbers) -> Numbers:
    """A matrix as registers (threads, values)."""
    out: Numbers = matrix.reshape(-1, order="F")[by_thread(tv)]
    return out


def _expect_atom(word: Any, kind: type[Row], name: str, fits: Callable[[Row], bool]) -> Row:
    """The row of an instruction of this name: of one kind, as far as it *fits*."""
    row = word if isinstance(word, Atom) else atom(word)
    if not isinstance(row, kind) or not fits(row):
        raise LayoutError(f"expected an atom of {name}, got {row.word}")
    return row


def _expect_registers(held: Numbers, tv: Layout, what: str) -> Numbers:
    if held.shape != (wanted := by_thread(tv).shape):
        raise LayoutError(f"expected {wanted} (threads, values) for {what}, got {held.shape}")
    return held


@functools.lru_cache(maxsize=64)
def by_thread(tv: Layout) -> Numbers:
    """The positions of a thread-value layout: (threads, values)."""
    return np.ascontiguousarray(tv.offsets().reshape(tv[1].size(), tv[0].size()).T)
