"""A refutation as a script: run, it tells the same story."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkers import (
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    InBounds,
    Injective,
    Partition,
    SameBytes,
    Surjective,
    TensorMapValid,
    TmaCopySafe,
    prove,
)
from symlayout import (
    ClaimError,
    ComposedLayout,
    E,
    Layout,
    Swizzle,
    ceil_div,
    dim,
    dims,
    index,
    make_tma_copy,
    maximum,
    minimum,
    zipped_divide,
)
from symlayout.address_map import AddressMap
from symlayout.answers import reproduce
from symlayout.answers.reproduce import _Python
from symlayout.answers.reproduce import reproduce as script
from symlayout.tma import Im2col, TensorMap

ROOT = Path(__file__).parents[2]

M, N, ld = dims("M N ld")
K = dim("K", multiple_of=8)
A = TensorMap("bf16", 0, (N, M), (2 * N,), (64, 128), swizzle=128)
TILE = Layout((128, 64), (64, 1))
COPY_A = make_tma_copy(Layout((M, K), (K, 1)), ComposedLayout(Swizzle(3, 3, 3), 0, TILE), dtype="bf16")
PIXELS = TensorMap(
    "u8", 0, (32, M, 8, 2), (32, 32 * M, 256 * M), im2col=Im2col((0, 0), (-2, 0), 32, 16), oob_fill="nan"
)
LOAD = AddressMap.over(
    lambda t, r: 128 * t + r + minimum(t, r) * ((M + 3) // 4), (-(-M // 128), 128), when=lambda t, r: 128 * t + r < M
)
REFUTED = [
    Injective(Layout((M, N), (1, ld))),
    Injective(Layout((4, 4), (E(0), E(0)))),
    Injective(Layout(8, 0)),
    FitsIn(Layout((M, 4), (4, 1)), bits=32),
    FitsIn(Layout((M, 4), (4, 1)), bits=16, signed=False, unit_bytes=2),
    Equal(Layout((8, 8), (8, 1)), Layout.parse("Sw<2,0,3> o 0 o (8,8):(8,1)")),
    Equal(
        AddressMap.over(lambda i: i % 4 + (i ^ 1) - i // 2, (M,)), AddressMap.over(lambda i: i + maximum(i, 3), (M,))
    ),
    ConflictFree(Layout((8, 8), (64, 8)), element_bytes=2),
    Surjective(Layout((4, M), (1, 8)), onto=8 * M),
    Partition(Layout((4, 2), (1, 0)), onto=4, copies=3),
    InBounds(Layout((128, ceil_div(M, 128)), (1, 128)), M),
    InBounds(LOAD, M),
    InBounds(AddressMap.over(lambda i, j: (i, j + 1), (M, N)), (M, N)),
    Covers(AddressMap.over(lambda b: b * 2, (ceil_div(M, 64),)), M, tile=64),
    Injective(zipped_divide(Layout((M, N), (N, 1)), (64, 64))),
    TensorMapValid(A, name="A"),
    TensorMapValid(PIXELS),
    TmaCopySafe(A, (64 * index("k", ceil_div(N, 64)) + 4, 0), 64, shared_bytes=100, barrier_bytes=3),
    TmaCopySafe(A, (64 * index("k", 4), 0), 0, "reduce", op="min"),
    TmaCopySafe(COPY_A, (0, 0), 2048 * index("s", 4), shared_bytes=16384),
    SameBytes(A, Layout((64, 128), (1, 64))),
    SameBytes(COPY_A, TILE),
]


def output(text):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(text, {})
    return out.getvalue()


@pytest.mark.parametrize("claim", REFUTED, ids=str)
def test_the_script_tells_the_story_again(claim):
    for verdict in prove(claim).verdicts:
        text = script(verdict)

        assert verdict.witness is not None
        assert f"# {verdict.witness}" in text
        shown = output(text)
        assert shown.splitlines()[-1].strip() == verdict.witness.story
        assert shown.count("refuted ") == 1


def test_values_at_the_coordinates_are_shown():
    assert output(script(prove(REFUTED[0]).verdicts[0])).startswith("layout(1, 0) = 1\nlayout(0, 1) = 1\nrefuted ")
    assert output(script(prove(REFUTED[5]).verdicts[0])).startswith("a(1, 0) = 8\nb(1, 0) = 9\nrefuted ")


def test_a_report_is_one_script_that_runs_anywhere(tmp_path):
    report = prove(REFUTED[0], Injective(Layout((M, N))), REFUTED[5])
    (tmp_path / "script.py").write_text(report.reproduce(), encoding="utf-8")

    run = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.count("refuted ") == 2
    assert prove(Injective(Layout((M, N)))).reproduce() == ""


def test_what_has_no_witness_is_refused():
    with pytest.raises(ClaimError, match="expected a refuted claim with its witness, got proved"):
        script(prove(Injective(Layout((M, N)))).verdicts[0])


def test_expressions_become_python_text():
    i, j = dims("i j")
    for e in (
        i - 4 * (i // 4) - j,
        -(i // 3) * j + (i * j ^ 5) // 7,
        minimum(i, -j) * maximum(i + 1, j * j),
        -i,
        3 - i,
    ):
        text = reproduce._source(e)
        assert eval(text, {"i": i, "j": j, "minimum": minimum, "maximum": maximum}) == e, text
    assert _Python().mul(["-1", "i // 3"]) == "-(i // 3)"


def test_the_docstring_runs():
    assert doctest.testmod(reproduce).failed == 0
