"""Against tensor-layouts, on random layouts: where both answer they agree as functions, or its answer breaks a law.

Its known deviations are stated as laws that its result breaks and ours keeps, never as a list of inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import symlayout as sl
from symlayout import Layout, Swizzle, SymlayoutError, coalesce, cosize, crd2idx, filter, idx2crd, size
from tests.support.draw import INJECTIVE, KINDS, Draw

tl = pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed")

REFUSALS = (ValueError, TypeError, AssertionError, NotImplementedError, IndexError, ZeroDivisionError)


def theirs(x: Any) -> Any:
    """One of our layouts in theirs."""
    if isinstance(x, tuple):
        return tuple(map(theirs, x))
    return tl.Layout(x.shape, x.stride) if isinstance(x, Layout) else x


def back(x: Any) -> Layout:
    return Layout(x.shape, x.stride)


def ask(f: Callable[..., Any], *operands: Any) -> Any:
    """An answer, or None for a refusal."""
    try:
        return f(*operands)
    except (SymlayoutError, *REFUSALS):
        return None


def values(x: Layout) -> list[int]:
    return x.offsets().tolist()


def layouts(n: int, kinds: tuple[str, ...] = KINDS) -> Iterator[tuple[int, Draw, Layout]]:
    for seed in range(n):
        draw = Draw(seed)
        yield seed, draw, draw.layout(draw.choice(kinds), modes=3, points=300)


def image_law(a: Layout, r: Layout) -> bool:
    return {a(i) for i in values(r)} == {0} and size(r) * size(filter(a)) == size(a)


def prefix_law(a: Layout, r: Layout) -> bool:
    return [a(r(i)) for i in range(size(r))] == list(range(size(r)))


def undo_law(a: Layout, r: Layout) -> bool:
    return [a(r(x)) for x in values(a)] == values(a)


def gap_law(a: Layout, r: Layout) -> bool:
    return set(values(a)) & set(values(r)) == {0} and len(set(values(r))) == size(r)


def same_law(a: Layout, r: Layout) -> bool:
    return values(a) == values(r)


# operation: ours, theirs, the law that its result keeps
UNARY: dict[str, tuple[Callable[[Layout], Layout], Callable[[Any], Any], Callable[[Layout, Layout], bool]]] = {
    "coalesce": (coalesce, tl.coalesce, same_law),
    "flatten": (sl.flatten_layout, tl.flatten, same_law),
    "nullspace": (sl.nullspace, tl.nullspace, image_law),
    "right_inverse": (sl.right_inverse, tl.right_inverse, prefix_law),
    "left_inverse": (sl.left_inverse, tl.left_inverse, undo_law),
    "complement": (sl.complement, tl.complement, gap_law),
}
# Two lawful results of these may differ: in length, or off the image.
FREE = ("right_inverse", "left_inverse", "complement")


@pytest.mark.parametrize("name", UNARY)
def test_unary_operations(name):
    ours, peer, law = UNARY[name]
    agreed = compared = 0
    for seed, _, a in layouts(300):
        mine, other = ask(ours, a), ask(peer, theirs(a))
        if mine is None or other is None:
            continue
        compared += 1
        assert law(a, mine), (seed, str(a), str(mine))
        if values(mine) == values(back(other)):
            agreed += 1
        else:
            assert name in FREE or not law(a, back(other)), (seed, str(a), str(mine), str(other))
    assert compared > 150
    assert agreed > 0.8 * compared


def right(draw: Draw, a: Layout) -> Layout:
    prefixes = [1]
    for n, _ in a.modes():
        prefixes.append(prefixes[-1] * n)
    leaf = [(draw.choice([1, 2, 3, 4, 8]), draw.choice([*prefixes, 0, 2, 3])) for _ in range(draw.randint(1, 2))]
    return Layout(*leaf[0]) if len(leaf) == 1 else Layout(*zip(*leaf, strict=True))


def tile(draw: Draw, a: Layout) -> int | Layout:
    return draw.choice([draw.randint(1, 8), Layout(draw.randint(1, 6), draw.randint(1, 4))])


def tiles(draw: Draw, a: Layout) -> tuple[int, ...]:
    return tuple(draw.choice([1, 2, 4, 8]) for _ in range(len(a)))


def block(draw: Draw, a: Layout) -> Layout:
    """As many modes as *a* has: the peer pads others in its own way."""
    extents = [draw.randint(1, 4) for _ in range(len(a))]
    if not isinstance(a.shape, tuple):
        return Layout(extents[0])
    return Layout(tuple(extents), tuple(draw.strides(extents, "permuted")))


BINARY: dict[str, tuple[Callable[..., Layout], Callable[..., Any], Callable[[Draw, Layout], Any]]] = {
    "composition": (sl.composition, tl.compose, right),
    "logical_divide": (sl.logical_divide, tl.logical_divide, tile),
    "zipped_divide": (sl.zipped_divide, tl.zipped_divide, tiles),
    "tiled_divide": (sl.tiled_divide, tl.tiled_divide, tiles),
    "flat_divide": (sl.flat_divide, tl.flat_divide, tiles),
    "logical_product": (sl.logical_product, tl.logical_product, block),
    "blocked_product": (sl.blocked_product, tl.blocked_product, block),
    "raked_product": (sl.raked_product, tl.raked_product, block),
}


@pytest.mark.parametrize("name", BINARY)
def test_binary_operations(name):
    ours, peer, operand = BINARY[name]
    agreed = compared = 0
    # A product fills the gaps of a padded block as CuTe does, and puts copies behind it in the peer.
    kinds = ("compact", "permuted") if name.endswith("product") else INJECTIVE
    for seed, draw, a in layouts(400, kinds):
        b = operand(draw, a)
        if isinstance(b, tuple) and not isinstance(a.shape, tuple):
            continue
        mine, other = ask(ours, a, b), ask(peer, theirs(a), theirs(b))
        if mine is None or other is None:
            continue
        compared += 1
        if values(mine) == values(back(other)):
            agreed += 1
            continue
        kept, broken = keeps(name, a, b, mine), not keeps(name, a, b, back(other))
        assert kept, (seed, str(a), str(b), str(mine), str(other))
        assert broken or mine.obligations, (seed, str(a), str(b), str(mine), str(other))
    assert compared > 100
    assert agreed > 0.8 * compared


def keeps(name: str, a: Layout, b: Any, r: Layout) -> bool:
    """Whether a result keeps the law of its operation where its operands are defined."""
    if name == "composition":
        inside = [i for i in range(b.size()) if b(i) < a.size()]
        return size(r) == size(b) and all(r(i) == a(b(i)) for i in inside)
    if name.endswith("divide"):  # the tile first; every element once, and beyond them only what overhangs
        if isinstance(b, tuple):
            head = r[: len(b)] if name == "flat_divide" else r[0]
            tile = [a(*c[::-1]) for c in itertools.product(*map(range, b[::-1]))]
            if values(head) != tile:
                return False
        return set(values(r)) >= set(values(a)) and (size(r) > size(a) or sorted(values(r)) == sorted(values(a)))
    return len(set(values(r))) == size(r) == size(a) * size(b)


def test_coordinates():
    for seed, draw, a in layouts(200):
        i, c = draw.randrange(size(a)), draw.coordinate(a.shape)

        assert idx2crd(i, a.shape) == tl.idx2crd(i, a.shape), seed
        assert crd2idx(c, a.shape) == tl.crd2flat(c, a.shape)
        assert a(c) == tl.crd2offset(c, a.shape, a.stride)
        assert cosize(a) == tl.cosize(theirs(a))


def test_profiles():
    for seed, draw, a in layouts(200):
        other = draw.shape(modes=3, extent=4)

        same = sl.compatible(a.shape, other) == tl.compatible(a.shape, other)
        assert same or sl.rank(a.shape) != sl.rank(other), seed  # CuTe asks for equal ranks
        assert sl.weakly_congruent(other, a.shape) == tl.weakly_congruent(other, a.shape)
        assert sl.congruent(a.shape, other) == tl.congruent(a.shape, other)
        assert sl.prefix_product(a.shape) == tl.prefix_product(a.shape)


def test_swizzles():
    for bits in range(4):
        for base in range(4):
            for shift in range(max(bits, 1), 5):
                for sign in (1, -1):
                    mine, other = Swizzle(bits, base, sign * shift), tl.Swizzle(bits, base, sign * shift)
                    assert [mine(x) for x in range(512)] == [other(x) for x in range(512)]


@pytest.mark.parametrize("n", [2, 4])
def test_recasts(n):
    compared = 0
    for seed, _, a in layouts(200, ("permuted",)):
        for mine, other in ((sl.upcast, tl.upcast), (sl.downcast, tl.downcast)):
            got, want = ask(mine, n, a), ask(other, theirs(a), n)
            if got is None or want is None:
                continue
            compared += 1
            one = [d for m, d in a.modes() if m == 1]
            assert values(got) == values(back(want)) or 1 in one, (seed, str(a), str(got), str(want))
    assert compared > 100
