"""Recorded encode calls as NumPy columns, so that the rules judge all of them at once, or one by one as maps."""

from __future__ import annotations

import contextlib
import gc
import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import LayoutError, unread
from ..rules.readings import landed_bytes, positive
from ..rules.rule import row_of
from .enumerations import ENUMERATIONS, TYPE_BITS, TmaType
from .tensor_map import Im2col, TensorMap

# column: (field of a row, entries of a list or 0 for one number, the default of a missing entry)
LAYOUT: Mapping[str, tuple[str, int, int]] = {
    "dtype": ("dtype", 0, 0),
    "rank": ("rank", 0, 0),
    "global_address": ("addr", 0, 0),
    "global_dim": ("dim", 5, 1),
    "global_stride_bytes": ("stride", 4, 0),
    "box_dim": ("box", 5, 1),
    "element_stride": ("estride", 5, 1),
    "interleave": ("interleave", 0, 0),
    "swizzle": ("swizzle", 0, 0),
    "l2_promotion": ("l2", 0, 0),
    "oob_fill": ("oob", 0, 0),
    "lower_corner": ("lower", 3, 0),
    "upper_corner": ("upper", 3, 0),
    "channels_per_pixel": ("channels", 0, 0),
    "pixels_per_column": ("pixels", 0, 0),
}
REQUIRED = ("dtype", "rank")
INT64 = 2**63 - 1


class Call(SimpleNamespace):
    """One encode call as the driver was given it, legal or not: plain integers, tuples filled up to five entries."""

    @property
    def element_bits(self) -> Any:
        return row_of(TYPE_BITS, self.dtype, 8)

    @property
    def element_bytes(self) -> Any:
        return positive(self.element_bits // 8)

    @property
    def landed_bytes(self) -> Any:
        """As ``TensorMap.landed_bytes``."""
        return landed_bytes(self)


class Columns(Call):
    """Encode calls as columns: one array for a number, a list of arrays for a tuple."""

    def __len__(self) -> int:
        return len(self.rank)

    def row(self, i: int) -> Call:
        """One of the calls."""
        return Call(
            **{k: tuple(int(c[i]) for c in x) if isinstance(x, list) else x[i].item() for k, x in vars(self).items()}
        )


def columns(rows: Iterable[Mapping[str, Any]], place: Callable[[int], str] = "row {}".format) -> Columns:
    """The columns of some rows. Numbers past 64 bits count as the largest that fits, which no rule accepts.

    Raises LayoutError for a row that is not an encode call, at its *place*.
    """
    with _collector_paused():
        return _Reading(list(rows), place).columns()


class _Reading:
    """Rows on their way into columns: each field is looked at as a whole, and row by row only if it is wrong."""

    def __init__(self, rows: list[Any], place: Callable[[int], str]) -> None:
        self.rows, self.place = rows, place
        self.expect("a JSON object", rows, dict)
        modes = [r.get("mode", "tiled") for r in rows]
        for mode in set(map(str, modes)) - {"tiled", "im2col"}:
            self.fail(list(map(str, modes)).index(mode), f"expected a mode of tiled or im2col, got {mode}")
        self.is_im2col = np.array([mode == "im2col" for mode in modes], dtype=bool)

    def columns(self) -> Columns:
        made: dict[str, Any] = {"is_im2col": self.is_im2col}
        rank = made["rank"] = self.numbers("rank", 0)
        for name, (key, width, missing) in LAYOUT.items():
            if not width:
                made[name] = self.numbers(key, None if key in REQUIRED else missing)
                continue
            table, lengths = self.table(key, width, missing)
            made[name] = [np.ascontiguousarray(column) for column in table.T[:width]]
            short = lengths < self.wanted(key, rank)
            if short.any():
                i = int(short.argmax())
                self.fail(
                    i, f"expected {self.wanted(key, rank)[i]} entries of {key} for rank {rank[i]}, got {lengths[i]}"
                )
        return Columns(**made)

    def wanted(self, key: str, rank: Any) -> Any:
        """The least entries of a list in each row."""
        if key in ("box", "lower", "upper"):
            return np.where(self.is_im2col == (key != "box"), rank - (0 if key == "box" else 2), 0)
        return rank - (key == "stride")

    def numbers(self, key: str, missing: int | None) -> Any:
        found = [r.get(key, missing) for r in self.rows]
        self.expect(f"an integer as {key}", found, int)
        return _int64(found)

    def table(self, key: str, width: int, missing: int) -> tuple[Any, Any]:
        """Lists of any lengths as an array, filled up on the right, and their lengths."""
        lists = [r.get(key, ()) for r in self.rows]
        self.expect(f"a list of integers as {key}", lists, list, tuple)
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        flat = list(itertools.chain.from_iterable(lists))
        owner = np.cumsum(lengths)
        self.expect(f"integers in {key}", flat, int, at=lambda k: int(np.searchsorted(owner, k, side="right")))
        table = np.full((len(lists), max(width, int(lengths.max(initial=0)))), missing, dtype=np.int64)
        table[np.arange(table.shape[1]) < lengths[:, None]] = _int64(flat)
        return table, lengths

    def expect(self, what: str, found: list[Any], *kinds: type, at: Callable[[int], int] = int) -> None:
        """Fail at the first that is of no such type, if there is one."""
        if not set(map(type, found)) <= set(kinds):
            k = next(k for k, x in enumerate(found) if type(x) not in kinds)
            got = "nothing" if found[k] is None else json.dumps(found[k])
            self.fail(at(k), f"expected {what}, got {got[:40]}")

    def fail(self, i: int, message: str) -> None:
        raise LayoutError(f"{self.place(i)}: {message}")


def _int64(numbers: list[int]) -> Any:
    try:
        return np.array(numbers, dtype=np.int64)
    except OverflowError:
        return np.array([x if -INT64 <= x <= INT64 else INT64 for x in numbers], dtype=np.int64)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Without collections, which otherwise take most of the time while many rows are made."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def tensor_map(row: Mapping[str, Any], address: int = 0) -> TensorMap:
    """The map of a recorded call or copy whose ``addr`` counts from *address*.

    >>> print(tensor_map({"dtype": 7, "addr": 32, "dim": [8, 4], "stride": [64], "box": [4, 4], "estride": [1, 1]}))
    TensorMap f32 (8,4) strides (64,) B at 32, box (4,4)

    Raises LayoutError for a number that an enumeration of the driver does not have.
    """
    im2col = None
    if row.get("mode") == "im2col":
        im2col = Im2col(tuple(row["lower"]), tuple(row["upper"]), row["channels"], row["pixels"])
    return TensorMap(
        _member(TmaType, row["dtype"]),
        address + row["addr"],
        tuple(row["dim"]),
        tuple(row["stride"]),
        () if im2col else tuple(row["box"]),
        tuple(row["estride"]),
        **{name: _member(kind, row.get(LAYOUT[name][0], 0)) for name, kind in ENUMERATIONS.items()},
        im2col=im2col,
    )


def _member(kind: type[IntEnum], x: int) -> Any:
    if x not in tuple(kind):
        raise LayoutError(f"expected {kind.__name__} of 0 to {max(kind)}, got {x}")
    return kind(x)


def read(path: str | Path) -> Iterator[dict[str, Any]]:
    """The rows of a JSON-lines file, gzipped or not. Raises LayoutError with the line that cannot be read."""
    return (row for _, row in numbered(path))


def numbered(path: str | Path) -> Iterator[tuple[int, Any]]:
    """The rows of a JSON-lines file, gzipped or not, each with the number of its line; empty lines are skipped.

    Raises LayoutError for a file, and with its number for a line, that cannot be read.
    """
    number = 0
    try:
        with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8-sig") as f:
            for number, line in enumerate(f, 1):
                if not line.isspace():
                    yield number, _parsed(line, f"{path}:{number}")
    except (OSError, EOFError, UnicodeError, zlib.error) as e:
        if isinstance(e, OSError) and e.strerror:  # the file, not what is in it
            raise LayoutError(f"{path}: expected a file of JSON lines, got {unread(e)}") from e
        raise LayoutError(f"{path}:{number + 1}: expected a line of text, got {e}") from e


def _parsed(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as e:  # no JSON, an integer of too many digits, too deep
        raise LayoutError(f"{place}: expected a JSON object, got {line.strip()[:40]!r}") from e


def chunks(path: str | Path, size: int = 50_000) -> Iterator[tuple[list[int], list[Any]]]:
    """The rows of a file in lists of *size* with the numbers of their lines. Raises LayoutError as ``numbered``."""
    rows = numbered(path)
    while True:
        with _collector_paused():
            some = list(itertools.islice(rows, size))
        if not some:
            return
        yield [number for number, _ in some], [row for _, row in some]
