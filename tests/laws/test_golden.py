"""Three thousand recorded rows of pycute's algebra: every result equal as a function, and as text.

Texts are compared up to 1-tuples and the strides of extent-1 modes, where CuTe C++, which we follow, writes 0
or keeps what the operands say. Inverses differ off the image between the two, so they are held to their laws.
"""

from __future__ import annotations

import ast
import collections
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import symlayout
from symlayout import Layout, coalesce, cosize, idx2crd, left_inverse, rank, right_inverse

ROWS: dict[str, list[tuple[list[Any], Any]]] = collections.defaultdict(list)
with gzip.open(Path(__file__).parents[1] / "data" / "layout_golden.jsonl.gz", "rt", encoding="utf-8") as lines:
    for row in map(json.loads, lines):
        ROWS[row["op"]].append((row["ins"], row["out"]))

ALGEBRA = (
    "coalesce", "coalesce_by", "complement", "composition", "filter",
    "logical_divide", "logical_product", "tiled_divide", "zipped_divide",
)  # fmt: skip


def read(x: Any) -> Any:
    """A recorded operand: layout, tuple or integer."""
    if not isinstance(x, str):
        return x
    return Layout(*map(ast.literal_eval, x.split(":"))) if ":" in x else ast.literal_eval(x)


def bare(shape: Any, stride: Any) -> Any:
    """Nested (extent, stride) pairs without 1-tuples, and without the strides of extent-1 modes."""
    if not isinstance(shape, tuple):
        return (shape, 0 if shape == 1 else stride)
    parts = [bare(s, d) for s, d in zip(shape, stride, strict=True)]
    return parts[0] if len(parts) == 1 else parts


def test_every_recorded_row_is_compared():
    assert sum(map(len, ROWS.values())) == 3000
    assert set(ROWS) == {*ALGEBRA, "cosize", "crd2idx", "idx2crd", "left_inverse", "right_inverse"}


@pytest.mark.parametrize("op", ALGEBRA)
def test_results_equal_as_functions_and_as_text(op):
    def ours(*operands):
        if op == "coalesce_by":
            return coalesce(operands[0], (1,) * rank(operands[0]))
        return getattr(symlayout, op)(*operands)

    for operands, out in ROWS[op]:
        got, want = ours(*map(read, operands)), read(out)

        assert got.offsets().tolist() == want.offsets().tolist(), (operands, str(got))
        assert bare(got.shape, got.stride) == bare(want.shape, want.stride), (operands, str(got))
        assert not got.obligations, (operands, str(got), str(got.obligations))


def test_coordinates_and_extents():
    assert [read(a)(read(c)) for (a, c), _ in ROWS["crd2idx"]] == [out for _, out in ROWS["crd2idx"]]
    assert [idx2crd(i, read(a).shape) for (a, i), _ in ROWS["idx2crd"]] == [read(c) for _, c in ROWS["idx2crd"]]
    assert [cosize(read(a)) for (a,), _ in ROWS["cosize"]] == [out for _, out in ROWS["cosize"]]


def test_right_inverse_by_its_law():
    for (text,), _ in ROWS["right_inverse"]:
        a = read(text)
        r = right_inverse(a)

        assert a.offsets()[r.offsets()].tolist() == list(range(r.size())), text


def test_left_inverse_by_its_law():
    for (text,), _ in ROWS["left_inverse"]:
        a = read(text)
        q, offsets = left_inverse(a), a.offsets()

        assert offsets[q.offsets()[offsets]].tolist() == offsets.tolist(), text
