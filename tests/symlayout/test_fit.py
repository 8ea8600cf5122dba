"""Fitting: layouts and swizzles recovered from their points, and wrong points named."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from symlayout.basis import E, as_tuple
from symlayout.errors import LayoutError
from symlayout.expr import dims
from symlayout.fit import derive, fit, swizzles
from symlayout.layout import ComposedLayout, Layout
from symlayout.swizzle import Swizzle

CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
WGMMA = Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512)))


def wgmma_row(t: int, v: int) -> int:
    """PTX ISA, wgmma, the figure of the accumulator fragment: the row of value v of thread t."""
    return t // 4 % 8 + 16 * (t // 32) + 8 * (v // 2 % 2)


def wgmma_column(t: int, v: int) -> int:
    return 2 * (t % 4) + v % 2 + 8 * (v // 4)


def values_of(layout: Any) -> list[Any]:
    return [layout(i) for i in range(layout.size())]


def random_layout(rng: random.Random, swizzled: bool) -> Any:
    """A layout with up to 256 points of 1 to 3 modes, each of 1 to 3 leaves."""
    shape: list[Any] = []
    stride: list[Any] = []
    for _ in range(rng.randint(1, 3)):
        count = rng.choice((1, 1, 2, 3))
        sizes = tuple(rng.choice((1, 2, 2, 3, 4, 4, 6)) for _ in range(count))
        steps = tuple(rng.choice((0, 1, 2, 3, 4, 6, 8, 9, 12, 16, 32, 64, 65)) for _ in range(count))
        shape.append(sizes if count > 1 else sizes[0])
        stride.append(steps if count > 1 else steps[0])
    layout = Layout(tuple(shape), tuple(stride))
    if layout.size() > 256:
        return random_layout(rng, swizzled)
    if not swizzled:
        return layout
    bits = rng.randint(1, 3)
    shift = rng.choice((-1, 1)) * rng.randint(bits, 4)
    return ComposedLayout(Swizzle(bits, rng.randint(0, 3), shift), rng.choice((0, 0, 5, 64)), layout)


# -- recovered ------------------------------------------------------------------------------------------


def test_wgmma_accumulator_from_its_function() -> None:
    """The shape and the strides of the accumulator follow from (T, V) -> row + 64*column."""
    assert fit(lambda t, v: wgmma_row(t, v) + 64 * wgmma_column(t, v), (128, 32)) == WGMMA


def test_wgmma_accumulator_as_coordinates() -> None:
    found = fit(lambda t, v: (wgmma_row(t, v), wgmma_column(t, v)), (128, 32))

    assert found == Layout(WGMMA.shape, ((2 * E(1), E(0), 16 * E(0)), (E(1), 8 * E(0), 8 * E(1))))
    assert found(37, 5) == (17, 11)


@pytest.mark.parametrize("base, shape", [(3, (8, 64)), (3, (64, 64)), (4, (8, 128))])
def test_128_byte_swizzled_tile_from_its_points(base: int, shape: tuple[int, int]) -> None:
    """bf16 tiles are Sw<3,3,3>; with byte elements it is Sw<3,4,3>."""
    tile = ComposedLayout(Swizzle(3, base, 3), 0, Layout(shape, (shape[1], 1)))
    points = [[tile(i, j) for j in range(shape[1])] for i in range(shape[0])]

    assert fit(points) == tile
    assert fit(np.array(points)) == tile
    assert fit(tile) == tile


@pytest.mark.parametrize("swizzled", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_layouts_are_recovered_as_functions(seed: int, swizzled: bool) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        layout = random_layout(rng, swizzled)
        values = values_of(layout)
        found = fit(values, layout.shape)

        assert values_of(found) == values, (seed, str(layout))
        assert len(found) == len(layout)
        assert [m.size() for m in _plain(found)] == [m.size() for m in _plain(layout)]
        if not swizzled:
            assert isinstance(found, Layout)
            assert len(found.modes()) <= len(layout.modes())


def _plain(layout: Any) -> Layout:
    out = layout.inner if isinstance(layout, ComposedLayout) else layout
    assert isinstance(out, Layout)
    return out


def test_random_coordinate_layouts_are_recovered() -> None:
    rng = random.Random(9)
    bases = (E(0), E(1), 2 * E(0), 4 * E(1), 3 * E(0) + E(1), 0 * E(1))
    for _ in range(100):
        shape = tuple(tuple(rng.choice((1, 2, 3, 4)) for _ in range(2)) for _ in range(2))
        layout = Layout(shape, tuple(tuple(rng.choice(bases) for _ in s) for s in shape))
        points = [_padded(layout(i)) for i in range(layout.size())]
        found = fit(points, tuple(a * b for a, b in shape))

        assert [_padded(found(i)) for i in range(layout.size())] == points


def _padded(v: Any) -> tuple[int, ...]:
    v = as_tuple(v)
    return (*(v if isinstance(v, tuple) else ()), 0, 0)[:2]


@pytest.mark.parametrize(
    "points, shape, expected",
    [
        ([0, 1, 2, 3], None, "4:1"),
        ([7], None, "Sw<0,0,0> o 7 o 1:0"),
        ([0], None, "1:0"),
        ([5, 5, 5], None, "Sw<0,0,0> o 5 o 3:0"),
        ([0, 1, 4, 5], None, "(2,2):(1,4)"),
        ([0, 1, 4, 5], (4,), "((2,2),):((1,4),)"),
        ([0, 1, 4, 5], (2, 2), "(2,2):(1,4)"),
        ([0, -2, 1, -1], None, "(2,2):(-2,1)"),
        ([[0, 1, 2], [3, 4, 5]], None, "(2,3):(3,1)"),
        ([[[0, 4], [2, 6]], [[1, 5], [3, 7]]], None, "(2,2,2):(1,2,4)"),
        (range(0, 12, 3), 4, "4:3"),
        ([0, 3, 6, 9, 12, 15], (2, (3, 1)), "(2,3):(3,6)"),
        ([0, 1, 3, 2], None, "Sw<1,0,1> o 0 o 4:1"),
        ([1, 0, 3, 2], None, "Sw<0,0,0> o 1 o (2,2):(-1,2)"),
        ([(0, 0), (1, 0), (0, 1), (1, 1)], None, "(2,2):(1@0,1@1)"),
        ([(0, (0, 0)), (0, (1, 2))], None, "2:(0,(1,2))"),
        ({(i, j): 10 * i + j for i in range(3) for j in range(4)}, None, "(3,4):(10,1)"),
        ({0: 0, 1: 4, 2: 8}, None, "3:4"),
        ({((i, j), k): i + 5 * j + 8 * k for i, j, k in CORNERS}, ((2, 2), 2), "((2,2),2):((1,5),8)"),
        (lambda i, j: 3 * i + 100 * j, (4, 5), "(4,5):(3,100)"),
        (Layout((2, 2, 2), (1, 2, 4)), None, "(2,2,2):(1,2,4)"),
        (Layout((2, 2, 2), (1, 2, 4)), 8, "8:1"),
    ],
)
def test_ways_to_give_points(points: Any, shape: Any, expected: str) -> None:
    assert str(fit(points, shape)) == expected


def test_values_outside_the_domain_of_swizzles() -> None:
    """Swizzles are tried simplest first, within the bits that the offsets have."""
    assert [str(s) for s in swizzles(3)] == [
        "Sw<1,0,1>", "Sw<1,0,-1>", "Sw<1,0,2>", "Sw<1,0,-2>", "Sw<1,1,1>", "Sw<1,1,-1>",
    ]  # fmt: skip
    assert all(s.period <= 2**8 for s in swizzles(8))
    assert {(s.bits, s.base, s.shift) for s in swizzles(10)} >= {(3, 4, 3), (3, 3, 3), (3, 3, -3), (5, 0, 5)}


# -- gaps -----------------------------------------------------------------------------------------------


def test_points_at_the_divisors_determine_a_layout() -> None:
    """Powers of two for an extent that is one; the rest of the points only have to agree."""
    rng = random.Random(4)
    for _ in range(100):
        layout = random_layout(rng, swizzled=False)
        sizes = [m.size() for m in layout]
        kept, before = {0}, 1
        for n in sizes:
            kept |= {before * q for q in range(1, n) if n % q == 0}
            before *= n
        kept |= {rng.randrange(layout.size()) for _ in range(5)}
        points = {_coordinate(i, sizes): layout(i) for i in kept}

        assert values_of(fit(points, tuple(sizes))) == values_of(layout)


def _coordinate(i: int, sizes: list[int]) -> tuple[int, ...]:
    out = []
    for n in sizes:
        out.append(i % n)
        i //= n
    return tuple(out)


def test_missing_points_are_asked_for() -> None:
    points = {(0, 0): 0, (1, 0): 4, (3, 0): 1, (0, 1): 32}
    phrase = "expected offsets at (2,0), (0,2), (0,3) too, to determine it, got 4 points"
    with pytest.raises(LayoutError, match=re.escape(phrase)):
        fit(points, (4, 6))
    with pytest.raises(LayoutError, match="expected offsets at 0 too"):
        fit({1: 3, 2: 6}, 3)


# -- wrong points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("swizzled", [False, True])
def test_a_perturbed_point_is_named(swizzled: bool) -> None:
    """The coordinate, what the others ask for there and what was given; unless a layout explains it all."""
    rng = random.Random(21 + swizzled)
    named = 0
    for _ in range(60):
        layout = random_layout(rng, swizzled)
        if layout.size() < 8:
            continue
        values = values_of(layout)
        at = rng.randrange(len(values))
        wrong = [*values]
        wrong[at] += rng.choice((1, 2, 7, 100))
        sizes = [m.size() for m in _plain(layout)]
        try:
            assert values_of(fit(wrong, layout.shape)) == wrong
        except LayoutError as e:
            _check_named(str(e), wrong, sizes)
            here = ",".join(map(str, _coordinate(at, sizes)))
            coordinate = f"({here},)" if len(sizes) == 1 else f"({here})"
            named += str(e).startswith(
                f"expected offset {values[at]} at coordinate {coordinate} for a layout, got {wrong[at]};"
            )
    assert named >= 30


def _check_named(message: str, wrong: list[int], sizes: list[int]) -> None:
    """Where a layout is offered for all the other points, it is one."""
    if "every other point agrees with" in message:
        expected, at = re.findall(r"expected offset (-?\d+) at coordinate \(([\d,]+)\)", message)[0]
        coordinate = tuple(int(c) for c in at.split(",") if c)
        index, before = 0, 1
        for c, n in zip(coordinate, sizes, strict=True):
            index, before = index + c * before, before * n
        assert wrong[index] != int(expected)
        mended = [*wrong]
        mended[index] = int(expected)
        assert str(fit(mended, tuple(sizes))) == message.split("agrees with ")[1]


@pytest.mark.parametrize(
    "points, shape, message",
    [
        (
            [0, 1, 2, 9, 4, 5, 6, 7],
            None,
            "expected offset 3 at coordinate 3 for a layout, got 9; every other point agrees with 8:1",
        ),
        (
            [0, 5, 2, 3, 4, 5, 6, 7],
            None,
            "expected offset 1 at coordinate 1 for a layout, got 5; every other point agrees with 8:1",
        ),
        (
            [7, 1, 2, 3, 4, 5, 6, 7],
            None,
            "expected offset 0 at coordinate 0 for a layout, got 7; every other point agrees with 8:1",
        ),
        (
            [i * i for i in range(16)],
            None,
            "expected offset 5 at coordinate 3 for a layout, got 9; no swizzle of up to 5 bits helps",
        ),
        (
            [0, 1, 2, 10, 11],
            None,
            "expected offset 3 at coordinate 3 for a layout, got 10; no swizzle of up to 5 bits helps",
        ),
        (
            [(0, 0), (0, 1), (1, 0), (1, 2)],
            None,
            "expected offset (1,1) at coordinate 3 for a layout, got (1,2); "
            "every other point agrees with (2,2):(1@1,1@0)",
        ),
    ],
)  # fmt: skip
def test_what_no_layout_explains(points: Any, shape: Any, message: str) -> None:
    with pytest.raises(LayoutError, match=f"^{re.escape(message)}$"):
        fit(points, shape)


def explainable(prefix: list[int], size: int) -> bool:
    """By definition: some layout of *size* points starts with these; every ordered factorization is tried."""

    def extend(explained: list[int]) -> bool:
        n = len(explained)
        if n >= len(prefix):
            return explained[: len(prefix)] == prefix
        if explained != prefix[:n]:
            return False
        step = prefix[n] - prefix[0]
        factors = [k for k in range(2, size // n + 1) if size // n % k == 0]
        return any(extend([v + i * step for i in range(k) for v in explained]) for k in factors)

    return extend(prefix[:1])


@pytest.mark.parametrize("size", [4, 6, 8, 12])
def test_the_first_point_that_no_layout_explains(size: int, share: Callable[[int], int]) -> None:
    """All points before it start some layout, none starts with it too; fit fails only where there is none."""
    rng = random.Random(size)
    outcomes = {"fits": 0, "mended": 0, "refused": 0}
    for _ in range(share(500)):
        values = [0]
        while len(values) < size:
            wanted = [v for v in range(12) if explainable([*values, v], size)]
            values.append(rng.choice(wanted) if wanted and rng.random() < 0.9 else rng.randrange(12))
        message = ""
        try:
            found = fit(values)
        except LayoutError as e:
            message = str(e)
        if not message:
            assert values_of(found) == values
            assert isinstance(found, ComposedLayout) or explainable(values, size)
        assert not explainable(values, size) or not message
        if "no swizzle" in message:
            at = int(re.findall(r"at coordinate (\d+)", message)[0])
            assert explainable(values[:at], size)
            assert not explainable(values[: at + 1], size)
        outcomes["fits" if not message else "refused" if "no swizzle" in message else "mended"] += 1
    assert outcomes["fits"] > share(10)
    assert size == 4 or outcomes["refused"] > share(10)  # of 4 points one is always mendable


def test_one_wrong_element_of_a_swizzled_tile() -> None:
    tile = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))
    points = np.array([[tile(i, j) for j in range(64)] for i in range(8)])
    for i, j in ((5, 17), (1, 0), (0, 0), (0, 8), (7, 63)):
        wrong = points.copy()
        wrong[i, j] += 1
        message = f"expected offset {points[i, j]} at coordinate ({i},{j}) for a layout, got {wrong[i, j]}"
        with pytest.raises(LayoutError, match=re.escape(f"{message}; every other point agrees with {tile}")):
            fit(wrong)


@pytest.mark.parametrize(
    "points, shape, phrase",
    [
        ([0, 1, 2], (2, 2), r"expected points of shape \(2,2\), got \(3,\)"),
        ([[0, 1], [2, 3]], (4, 1), r"expected points of shape \(4,1\), got \(2,2\)"),
        ([[0, 1], [2]], None, "expected rows of one length"),
        ([], None, "expected points"),
        (np.zeros(3), None, "expected an array of integers, got 1-d float64"),
        (lambda i: i, None, "expected a shape for a function"),
        (lambda i: i, (0,), "expected extents that are numbers of at least 1"),
        (lambda i: i, dims("M"), "expected extents that are numbers of at least 1"),
        (lambda i: 2**62 * i, 4, r"expected a value like 0 within 2\^62 at coordinate 1"),
        (lambda i: (i, 0) if i else 0, 4, "expected a value like 0 within"),
        (lambda i: (i + 1, 0), 4, r"expected \(0,0\) at coordinate 0 .* of coordinates, got \(1,0\)"),
        ({(0, 0): 0, 1: 1}, None, "expected a shape for coordinates that are nested or of several ranks"),
        ({0: 0, 4: 1}, 4, "expected coordinates of the shape 4, got 4"),
        ({(0, 0): 0, (2, 0): 1}, (2, 2), r"expected coordinates of the shape \(2,2\), got \(2,0\)"),
    ],
)  # fmt: skip
def test_errors(points: Any, shape: Any, phrase: str) -> None:
    with pytest.raises(LayoutError, match=phrase):
        fit(points, shape)


# -- the steps ------------------------------------------------------------------------------------------


def test_derivation_of_the_wgmma_accumulator() -> None:
    """T1 -> 128, T4 -> 1, T32 -> 16; D1 -> 64, D2 -> 8, D4 -> 512."""
    assert derive(lambda t, v: wgmma_row(t, v) + 64 * wgmma_column(t, v), (128, 32), names=("T", "V")) == [
        "mode 0: T1 -> 128, so 4 values with stride 128 (T4 -> 1, not 512); "
        "T4 -> 1, so 8 values with stride 1 (T32 -> 16, not 8); T32 -> 16, so 4 values with stride 16",
        "mode 1: V1 -> 64, so 2 values with stride 64 (V2 -> 8, not 128); "
        "V2 -> 8, so 2 values with stride 8 (V4 -> 512, not 16); V4 -> 512, so 8 values with stride 512",
        "all 4096 points agree with ((4,8,4),(2,2,8)):((128,1,16),(64,8,512))",
    ]


def test_derivation_of_coordinates() -> None:
    lines = derive(lambda t, v: (wgmma_row(t, v), wgmma_column(t, v)), (128, 32))
    assert lines[0].startswith("mode 0: t1 -> (0,2), so 4 values with stride 2@1 (t4 -> (1,0), not (0,8)); ")


def test_derivation_under_a_swizzle_and_an_offset() -> None:
    tile = ComposedLayout(Swizzle(2, 0, 2), 32, Layout((4, 4), (4, 1)))
    assert derive(tile) == [
        "Sw<2,0,2> is its own inverse: the values below are those under it",
        "offset: c0=0 -> 32, subtracted below",
        "mode 0: c0=1 -> 4, so 4 values with stride 4",
        "mode 1: c1=1 -> 1, so 4 values with stride 1",
        "all 16 points agree with Sw<2,0,2> o 32 o (4,4):(4,1)",
    ]
    assert derive([3]) == [
        "offset: c0=0 -> 3, subtracted below",
        "mode 0: extent 1, so stride 0",
        "all 1 points agree with Sw<0,0,0> o 3 o 1:0",
    ]


def test_derivation_fails_as_fit_does() -> None:
    with pytest.raises(LayoutError, match="expected offset 5 at coordinate 3 for a layout, got 9"):
        derive(lambda i: i * i, 16)
    with pytest.raises(LayoutError, match="expected 1 names, got"):
        derive([0, 1], names=("a", "b"))
