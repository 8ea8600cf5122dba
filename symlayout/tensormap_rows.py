"""Recorded encode calls as NumPy columns, so that the rules judge all of them at once, or one by one as maps."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .errors import LayoutError
from .rules.rule import row_of
from .tma import ENUMERATIONS, TYPE_BITS, Im2col, TensorMap, TmaType

# column: (field of a row, entries of a list or 0 for one number, what stands for a missing entry)
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
INT64 = 2**63 - 1


class Columns(SimpleNamespace):
    """Encode calls as columns: one array for a number, a list of arrays for a tuple."""

    def __len__(self) -> int:
        return len(self.rank)

    @property
    def element_bytes(self) -> Any:
        return np.maximum(1, row_of(TYPE_BITS, self.dtype, 8) // 8)

    def row(self, i: int) -> SimpleNamespace:
        """One call as a record of plain integers."""
        record = {
            name: tuple(int(c[i]) for c in x) if isinstance(x, list) else _plain(x[i]) for name, x in vars(self).items()
        }
        return SimpleNamespace(**record, element_bytes=int(self.element_bytes[i]))


def _plain(x: Any) -> Any:
    return bool(x) if isinstance(x, np.bool_) else int(x)


def columns(rows: Iterable[Mapping[str, Any]]) -> Columns:
    """The columns of some rows. Numbers past 64 bits count as the largest that fits, which no rule accepts."""
    rows = list(rows)
    made: dict[str, Any] = {"is_im2col": np.array([r.get("mode") == "im2col" for r in rows], dtype=bool)}
    for name, (key, width, missing) in LAYOUT.items():
        if not width:
            made[name] = np.array([_clipped(r.get(key, missing)) for r in rows], dtype=np.int64)
            continue
        padded = [([*map(_clipped, r.get(key) or ())] + [missing] * width)[:width] for r in rows]
        table = np.array(padded, dtype=np.int64).reshape(len(rows), width)
        made[name] = [np.ascontiguousarray(table[:, i]) for i in range(width)]
    return Columns(**made)


def _clipped(x: int) -> int:
    return x if -INT64 <= x <= INT64 else INT64


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
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as e:
                    raise LayoutError(f"{path}:{number}: expected a JSON object, got {line.strip()[:40]!r}") from e
