"""What short rows of boxes cost DRAM, where others move their neighbours at about the time, and where nobody does.

A short row costs a time of its own, nearly the same on an H200 and an H100. A machine has that time as the whole bytes
that its DRAM could move meanwhile, so that the bytes of a grid do not depend on rates.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..fitting import Fitted, level
from .memory import dram_rate
from .rows import COPY, LOAD, STORE, Row, mid, those

WIDE, NARROW = 256, 128  # bytes of rows that cost nothing, and of those that cost a time each
SIDE = 16384  # words of a square tensor, which L2 does not hold
SLOTS = 4  # with which rings are deep
DOWN = 1  # the way of M40 by which tiles that are read one after another lie below one another
TRANSPOSED = 7  # the mode of boxes that go to the places that a transposition gives them


def _each(row: Row) -> float:
    """Nanoseconds of a byte."""
    return float(mid(row, "ns") / (row["trips"] * row["grid"] * row["bytes"]))


def _longer(row: Row, wide: Sequence[Row], row_bytes: int) -> float:
    """Nanoseconds that a row of so many bytes takes longer than in boxes of *wide* rows."""
    return (_each(row) - level([_each(r) for r in wide]).value) * row_bytes


def _boxes(rows: Sequence[Row], mode: int, per_sm: int) -> list[Row]:
    """Deep rings of boxes out of a large tensor, side by side."""
    return those(rows, id="M6", mode=mode, slots=SLOTS, per_sm=per_sm, l2=0, columns=SIDE, height=SIDE)


def _bytes(fit: Fitted, rows: Sequence[Row], mode: int) -> Fitted:
    """The whole bytes that DRAM could load or store in so many nanoseconds."""
    rate = dram_rate(mode)(those(rows, id="M4")).value
    return Fitted(float(round(fit.value * rate)), fit.residual, fit.points, fit.pattern)


def dram_read_run_bytes(rows: Sequence[Row]) -> Fitted:
    """What a row of 64 bytes costs that is read; one of 32 bytes costs a little more."""
    found = _boxes(rows, LOAD, 1)
    wide, nbytes = those(found, row_bytes=WIDE), NARROW // 2
    return _bytes(level([_longer(r, wide, nbytes) for r in those(found, row_bytes=nbytes)]), rows, LOAD)


def dram_run_bytes(rows: Sequence[Row]) -> Fitted:
    """What a row of 128 bytes costs that is written, of transpositions whose other rows are read as a whole."""
    return _turned(rows, "target_row_bytes", STORE)


def dram_lone_read_bytes(rows: Sequence[Row]) -> Fitted:
    """What a row of 128 bytes costs whose neighbours are read at other times.

    Of copies that write whole rows: loads alone lose a third to two thirds of it, as DRAM need not turn.
    """
    return _turned(rows, "row_bytes", LOAD)


def _turned(rows: Sequence[Row], what: str, mode: int) -> Fitted:
    """What narrow rows of one tensor cost transpositions (M40), beside rings of as many slots with wide rows."""
    most = max(r.get("sms", 0) for r in rows)
    found = those(rows, id="M40", mode=COPY, way=DOWN, sms=most, pitch=4 * SIDE)
    deep = [r for r in found if r["slots"] >= SLOTS]
    longer = []
    for r in those(deep, **{what: NARROW}):
        wide = those(deep, row_bytes=WIDE, slots=r["slots"], per_sm=r["per_sm"])
        longer.append(_longer(r, wide, NARROW))
    return _bytes(level(longer), rows, mode)


def dram_lone_run_bytes(rows: Sequence[Row]) -> Fitted:
    """What a row of 128 bytes costs whose neighbours are written at other times.

    Of boxes whose rows are read as a whole, and written where a transposition has them. A shorter row costs more, by
    what it lacks of 256 bytes.
    """
    copies = _boxes(rows, COPY, 2)
    longer = []
    for r in _boxes(rows, TRANSPOSED, 2):
        turned = 4 * r["rows"]
        if r["row_bytes"] >= WIDE and turned <= NARROW:
            wide = [x for x in those(copies, row_bytes=r["row_bytes"]) if x["rows"] == r["rows"]]
            longer.append(_longer(r, wide, turned) * (WIDE - NARROW) / (WIDE - turned))
    return _bytes(level(longer), rows, STORE)
