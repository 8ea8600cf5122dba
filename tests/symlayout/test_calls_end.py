"""Public calls other than prove end within a limit, whatever sizes they are asked about, and say so in words.

Those of ``test_bad_input`` are refused at once by what they are; these are well formed, and the search for the signs of
their sizes had no end: nobody had asked the algebra about 40 symbolic modes.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import Any

import pytest

from symlayout import (
    E,
    ExpressionError,
    Layout,
    LayoutError,
    SymlayoutError,
    UndecidedError,
    as_tuple,
    blocked_product,
    bytes_of,
    complement,
    composition,
    dim,
    dims,
    downcast,
    eq,
    evaluate,
    flat_divide,
    flat_product,
    flatten_layout,
    index,
    local_tile,
    logical_divide,
    meter,
    tile_to_shape,
)
from symlayout.meter import Exhausted, ends, metered, step

SIZES = dims(" ".join(f"A{i}" for i in range(40)))
STRIDES = dims(" ".join(f"D{i}" for i in range(40)))
M, N, K = dims("M N K")
SUM = sum(SIZES)
FORTY = Layout(SIZES, STRIDES)
TALL = Layout((math.prod(SIZES), SUM), (SUM, 1))
POWER = Layout(((M + N + K) ** 8, 4), (4, 1))
FEW = Layout((4, 8), (8, 1))


def nested(depth: int) -> Any:
    x: Any = N
    for i in range(depth):
        x = (x + SIZES[i % 40]) // STRIDES[i % 40]
    return x


CALLS: dict[str, Callable[[], Any]] = {
    "a power by 40 modes": lambda: composition(POWER, FORTY),
    "a product by 40 modes": lambda: blocked_product(POWER, FORTY),
    "a tile of a product": lambda: flat_divide(FEW, math.prod(SIZES)),
    "a tile of 40 modes": lambda: flat_divide(FEW, Layout(SIZES)),
    "a rest of nested quotients": lambda: complement(TALL, nested(25)),
    "tiles of a product of sums": lambda: logical_divide(TALL, FEW),
    "a product of products": lambda: flat_product(TALL, FORTY),
    "a tile at coordinates of 40 sizes": lambda: local_tile(FEW, Layout(SIZES), Layout(SIZES)),
    "text of sums of quotients": lambda: str(tile_to_shape(Layout((SUM, SUM), (1, SUM)), SIZES)),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_ends(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "CALL_STEPS", 20_000)
    begin = time.process_time()
    with contextlib.suppress(SymlayoutError):
        CALLS[what]()
    assert time.process_time() - begin < 5


def test_the_end_of_a_call_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter, "CALL_STEPS", 100)
    with pytest.raises(UndecidedError, match=r"got more for logical_divide: it was not done after 100 steps; give"):
        logical_divide(Layout((M, N), (N, 1)), (64, 64))
    monkeypatch.undo()

    assert str(logical_divide(Layout((M, N), (N, 1)), (64, 64))).startswith("((64,ceil(M/64))")


def test_a_budget_around_a_call_is_its_own() -> None:
    @ends
    def work(n: int) -> int:
        for _ in range(n):
            step()
        return n

    assert work(1000) == 1000
    with metered(seconds=60, steps=10), pytest.raises(Exhausted):
        work(1000)
    assert work(1000) == 1000


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: Any = dim("M")
    for _ in range(20_000):
        deep = (deep,)
    with pytest.raises(LayoutError, match="of moderate depth for as_tuple, got some nested deeper"):
        as_tuple(deep)
    for call in (E, dim, dims, eq, lambda x: index("i", x), lambda x: downcast(x, FEW), lambda x: evaluate(x, {})):
        args = (deep, 4) if call is eq else (deep,)
        with pytest.raises(ExpressionError, match=r"expected .*, got \(\(\(\(\(\(.*\.\.\."):
            call(*args)


NO_LAYOUT: dict[str, Callable[[], Any]] = {
    "blocked_product of a tuple": lambda: blocked_product((4, 8), 4),
    "tile_to_shape of a size": lambda: tile_to_shape(M, N),
    "flatten_layout of a tuple": lambda: flatten_layout((4, 8)),
    "downcast of a size": lambda: downcast(4, M * N),
    "bytes_of of a tuple": lambda: bytes_of(SIZES, 4),
}


@pytest.mark.parametrize("what", NO_LAYOUT)
def test_what_is_no_layout_is_refused_in_words(what: str) -> None:
    with pytest.raises(LayoutError, match="expected a layout, got"):
        NO_LAYOUT[what]()
