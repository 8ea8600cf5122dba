"""Against NVIDIA's own CuTe DSL, which evaluates layout algebra while it traces, with neither device nor driver.

It does not check every precondition, so inputs that ours refuses are left out; ``mode="cute"`` stands for its
composition. Results are compared as functions, and up to 1-tuples and the strides of extent-1 modes.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import symlayout as sl
from symlayout import Layout, SymlayoutError
from tests.support.draw import INJECTIVE, KINDS, Draw

if importlib.util.find_spec("cutlass") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # read at import
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import cutlass.cute as cute
    except (ImportError, OSError, RuntimeError) as reason:
        pytest.skip(f"the CuTe DSL cannot be imported here: {reason}", allow_module_level=True)


def plain(x: Any) -> Any:
    return tuple(map(plain, x)) if isinstance(x, tuple | list) else int(x)


def traced(questions: list[Callable[[], Any]]) -> list[Any]:
    """The answers of all questions, asked in one trace; None where the DSL refuses."""
    answers: list[Any] = []

    @cute.jit
    def trace():
        for ask in questions:
            try:
                answer = ask()
            except Exception:  # MLIRError and the DSL's own errors share no base
                answers.append(None)
            else:
                pair = hasattr(answer, "stride")
                answers.append((plain(answer.shape), plain(answer.stride)) if pair else plain(answer))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace()
    return answers


def theirs(x: Any) -> Any:
    """One of our layouts in theirs; only while tracing."""
    if isinstance(x, tuple):
        return tuple(map(theirs, x))
    return cute.make_layout(x.shape, stride=x.stride) if isinstance(x, Layout) else x


def bare(shape: Any, stride: Any) -> Any:
    """Nested (extent, stride) pairs without 1-tuples and without the strides of extent-1 modes."""
    if not isinstance(shape, tuple):
        return (shape, 0 if shape == 1 else stride)
    parts = [bare(s, d) for s, d in zip(shape, stride, strict=True)]
    return parts[0] if len(parts) == 1 else parts


def compact(draw: Draw, a: Layout) -> Layout:
    return draw.layout("permuted", modes=2, extent=4)


def right(draw: Draw, a: Layout) -> Layout:
    prefixes = [1]
    for n, _ in a.modes():
        prefixes.append(prefixes[-1] * n)
    leaf = [(draw.choice([1, 2, 3, 4, 8]), draw.choice([*prefixes, 0, 2, 3])) for _ in range(draw.randint(1, 2))]
    return Layout(*leaf[0]) if len(leaf) == 1 else Layout(*zip(*leaf, strict=True))


def tiles(draw: Draw, a: Layout) -> tuple[int, ...]:
    return tuple(draw.choice([2, 3, 4, 8]) for _ in range(len(a)))


def tile(draw: Draw, a: Layout) -> Layout:
    return Layout(draw.randint(2, 6), draw.randint(1, 4))


def cute_composition(a: Layout, b: Layout) -> Layout:
    return sl.composition(a, b, mode="cute")


# operation: ours, theirs, what the second operand is, the kinds of the first, texts compared too
OPERATIONS: dict[str, tuple[Callable[..., Any], str, Any, tuple[str, ...], bool]] = {
    "coalesce": (sl.coalesce, "coalesce", None, KINDS, True),
    "filter": (sl.filter, "filter", None, KINDS, True),
    "nullspace": (sl.nullspace, "nullspace", None, KINDS, False),
    "right_inverse": (sl.right_inverse, "right_inverse", None, KINDS, True),
    "left_inverse": (sl.left_inverse, "left_inverse", None, KINDS, True),
    "complement": (sl.complement, "complement", lambda d, a: d.randint(1, 200), INJECTIVE, True),
    "composition": (cute_composition, "composition", right, KINDS, True),
    "composition by mode": (cute_composition, "composition", tiles, INJECTIVE, True),
    "logical_divide": (lambda a, t: sl.logical_divide(a, t, "cute"), "logical_divide", tile, INJECTIVE, True),
    "zipped_divide": (lambda a, t: sl.zipped_divide(a, t, "cute"), "zipped_divide", tiles, INJECTIVE, True),
    "tiled_divide": (lambda a, t: sl.tiled_divide(a, t, "cute"), "tiled_divide", tiles, INJECTIVE, True),
    "logical_product": (sl.logical_product, "logical_product", compact, INJECTIVE, True),
    "cosize": (sl.cosize, "cosize", None, KINDS, True),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_agrees_with_the_dsl(name):
    ours, theirs_name, operand, kinds, same_text = OPERATIONS[name]
    cases = []
    for seed in range(150):
        draw = Draw(seed)
        a = draw.layout(draw.choice(kinds), modes=3, points=300)
        operands = (a,) if operand is None else (a, operand(draw, a))
        if len(operands) == 2 and isinstance(operands[1], tuple) and not isinstance(a.shape, tuple):
            continue
        try:
            cases.append((operands, ours(*operands)))
        except SymlayoutError:
            continue
    peer = getattr(cute, theirs_name)
    answers = traced([lambda x=operands: peer(*map(theirs, x)) for operands, _ in cases])
    compared = 0
    for (operands, mine), other in zip(cases, answers, strict=True):
        if other is None:
            continue
        if name == "left_inverse" and not any(d and n > 1 for n, d in operands[0].modes()):
            continue  # n:0 in CuTe C++ and here, 1:0 in the DSL
        compared += 1
        story = (name, list(map(str, operands)), str(mine), other)
        if not isinstance(mine, Layout):
            assert mine == other, story
            continue
        assert mine.offsets().tolist() == Layout(*other).offsets().tolist(), story
        assert not same_text or bare(mine.shape, mine.stride) == bare(*other), story
    assert compared > 40


def test_the_accumulator_of_the_dsl_is_ours():
    """The thread-value layout of a 64x64 wgmma accumulator, as the DSL makes it."""
    answers = traced([lambda: cute.make_layout(((4, 8, 4), (2, 2, 8)), stride=((128, 1, 16), (64, 8, 512)))])

    assert Layout(*answers[0]) == Layout.parse("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))")


def test_swizzles_agree_with_the_dsl():
    cases = [(b, m, s) for b in range(4) for m in range(4) for s in range(max(b, 1), 5)]
    tile = Layout((8, 64), (64, 1))
    answers = traced(
        [
            lambda c=c, x=x: cute.crd2idx(x, cute.make_composed_layout(cute.make_swizzle(*c), 0, theirs(tile)))
            for c in cases
            for x in (0, 65, 200, 511)
        ]
    )
    expected = [sl.ComposedLayout(sl.Swizzle(*c), 0, tile)(x) for c in cases for x in (0, 65, 200, 511)]
    both = [(mine, other) for mine, other in zip(expected, answers, strict=True) if other is not None]

    assert all(mine == other for mine, other in both)
    assert len(both) > 40
