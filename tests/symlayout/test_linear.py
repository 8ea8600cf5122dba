"""Layouts over F2: T13 to T15 against enumeration, and Triton's linear layouts."""

from __future__ import annotations

import itertools
import pickle
import random
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symlayout.basis import E
from symlayout.errors import LayoutError
from symlayout.expr import dims
from symlayout.layout import ComposedLayout, Layout
from symlayout.linear import LinearLayout, f2_rank, linear, to_layout, why_not_linear
from symlayout.swizzle import Swizzle

SW128_F16 = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, 64), (64, 1)))

# NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16), tile 64x64
NVMMA_128B = [
    [0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0],
]  # fmt: skip

# the same section: a layout that Triton 3.9.0 printed
BASES = [("register", [[1, 0], [2, 0]]), ("lane", [[0, 1], [0, 2], [0, 4], [4, 0], [8, 0]])]
OUT_DIMS = [("dim0", 16), ("dim1", 8)]


def random_swizzle(rng: random.Random) -> Swizzle:
    bits = rng.randint(0, 3)
    return Swizzle(bits, rng.randint(0, 3), rng.choice((-1, 1)) * rng.randint(max(bits, 1), 4))


def random_layout(rng: random.Random, extents: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """A layout of 1 to 4 leaves in 1 to 3 modes, under a swizzle and an offset as often as not."""
    modes: list[list[tuple[int, int]]] = [[] for _ in range(rng.randint(1, 3))]
    for _ in range(rng.randint(1, 4)):
        rng.choice(modes).append((rng.choice(extents), rng.choice(strides)))
    shape = tuple(tuple(n for n, _ in m) if len(m) > 1 else m[0][0] if m else 1 for m in modes)
    stride = tuple(tuple(d for _, d in m) if len(m) > 1 else m[0][1] if m else 0 for m in modes)
    layout = Layout(shape, stride)
    if rng.random() < 0.5:
        return layout
    return ComposedLayout(random_swizzle(rng), rng.choice((0, 0, 1, 2, 5, 16, 37)), layout)


def is_affine(values: list[int]) -> bool:
    """By definition: f(x) is f(0) xored with the differences at the bits of x."""
    units = [values[1 << t] ^ values[0] for t in range(len(values).bit_length() - 1)]

    def image(x: int) -> int:
        out = values[0]
        for t, c in enumerate(units):
            out ^= c * (x >> t & 1)
        return out

    return all(image(x) == v for x, v in enumerate(values))


# -- T13, T14 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_linear_is_exact(seed: int) -> None:
    """linear(f) is f wherever f is affine over F2 in the bits of its index, and None elsewhere."""
    rng = random.Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(800):
        layout = random_layout(rng, (1, 2, 4, 8), (0, 1, 2, 3, 4, 5, 8, 16, 20, 32, 64, -1, -2, -16))
        values = [layout(i) for i in range(layout.size())]
        a = linear(layout)

        assert (a is not None) == is_affine(values), (seed, str(layout))
        assert (why_not_linear(layout) == "") == (a is not None)
        seen[a is not None] += 1
        if a is not None:
            assert [a(i) for i in range(len(values))] == values
            assert a(np.arange(len(values))).tolist() == values
    assert min(seen.values()) > 100


def test_inputs_are_the_top_level_modes() -> None:
    a = linear(Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512))), names=("thread", "value"))

    assert a is not None
    assert a.inputs == (("thread", 7), ("value", 5))
    assert a(37, 5) == 721
    assert a(np.array([37]), np.array([5])).tolist() == [721]
    assert a.is_bijective()
    assert str(a) == "thread: 128 256 1 2 4 16 32; value: 64 8 512 1024 2048 -> offset 4096"


@pytest.mark.parametrize(
    "layout, reason",
    [
        (Layout(6, 1), "the extent of the mode 6:1 is not a power of two"),
        (Layout((4, 3), (1, 4)), "the extent of the mode 3:4 is not a power of two"),
        (Layout(4, 3), "carry: f(1) = 3 and f(2) = 6, but f(3) = 9, not 5"),
        (Layout((2, 4), (4, 2)), "carry: f(1) = 4 and f(4) = 4, but f(5) = 8, not 0"),
        (
            ComposedLayout(Swizzle(0, 0, 0), 1, Layout(4, 1)),
            "carry: f(0) = 1, f(1) = 2 and f(2) = 3, but f(3) = 4, not 0",
        ),
        (Layout((2, 2), (E(0), E(0))), "carry: f(1) = 1 and f(2) = 1, but f(3) = 2, not 0"),
        (
            ComposedLayout(Layout(8, 2), 0, Layout(4, 1)),
            "expected a swizzle outside a layout, got 8:2 o 0 o 4:1",
        ),
        (Layout(dims("M")[0], 1), "the mode M:1 has no numbers for extent and stride"),
        (
            Layout((2, 2), (E(0), -E(1))),
            "expected numbers of at least 0 in flat coordinates, got (2,2):(1@0,-1@1)",
        ),
    ],
    ids=str,
)
def test_why_not_linear(layout: Any, reason: str) -> None:
    assert why_not_linear(layout) == reason
    assert linear(layout) is None


def test_the_carry_shown_replays() -> None:
    rng = random.Random(7)
    shown = 0
    for _ in range(400):
        layout = random_layout(rng, (2, 4, 8), (1, 2, 3, 5, 8))
        inner = layout.inner if isinstance(layout, ComposedLayout) else layout
        offset = layout.offset if isinstance(layout, ComposedLayout) else 0
        at = {int(x): int(v) for x, v in re.findall(r"f\((\d+)\) = (\d+)", why_not_linear(layout))}
        shown += bool(at)
        assert all(inner(x) + offset == v for x, v in at.items())
    assert shown > 100


def test_a_slice_of_a_swizzled_tile_is_affine() -> None:
    """row 2 of Sw<3,0,3> o (8,8):(8,1) decays to an offset and a negative stride."""
    row = ComposedLayout(Swizzle(0, 0, 0), 18, Layout((2, 2, 2), (1, -2, 4)))
    a = linear(row)

    assert a is not None
    assert [a(i) for i in range(8)] == [Swizzle(3, 0, 3)(16 + i) for i in range(8)]
    assert to_layout(a) == ComposedLayout(Swizzle(0, 0, 0), 18, Layout((2, 2, 2), (1, -2, 4)))


def test_swizzle_by_itself() -> None:
    for sw in (Swizzle(3, 4, 3), Swizzle(2, 0, -2), Swizzle(0, 0, 0), Swizzle(2, 1, 5)):
        a = linear(sw)
        assert a is not None
        assert [a(x) for x in range(sw.period)] == [sw(x) for x in range(sw.period)]
        assert a.is_bijective()
        assert a @ a == LinearLayout(tuple(1 << i for i in range(a.out_bits)), a.inputs, a.outputs)


def test_what_is_no_layout_is_an_error() -> None:
    with pytest.raises(LayoutError, match="expected a layout or a swizzle, got 7"):
        linear(7)
    with pytest.raises(LayoutError, match="expected a name for each mode of 4:1, got 2"):
        linear(Layout(4, 1), names=("a", "b"))


# -- T15 ------------------------------------------------------------------------------------------------


def image(a: LinearLayout) -> list[int]:
    return [a(x) for x in range(1 << len(a.columns))]


def parity(x: int) -> int:
    return x.bit_count() & 1


def test_rank_kernel_and_inverses() -> None:
    rng = random.Random(3)
    for _ in range(1500):
        n, m = rng.randint(0, 6), rng.randint(1, 6)
        columns = tuple(rng.getrandbits(m) for _ in range(n))
        a = LinearLayout(columns, outputs=(("offset", m),), offset=rng.choice((0, 0, rng.getrandbits(m))))
        images = image(a)

        assert len(set(images)) == 1 << a.rank()
        assert a.is_injective() == (len(set(images)) == len(images))
        assert a.is_surjective() == (set(images) == set(range(1 << m)))
        assert a.is_bijective() == (sorted(images) == list(range(1 << m)))
        assert len(a.kernel()) == n - a.rank()
        assert f2_rank(a.kernel()) == len(a.kernel())
        assert all(a(k) == a.offset for k in a.kernel())
        check_inverses(a)


def check_inverses(a: LinearLayout) -> None:
    if a.is_injective():
        rows = a.left_inverse()
        identity = np.eye(len(a.columns), dtype=int).tolist()
        assert [[parity(t & c) for c in a.columns] for t in rows] == identity
    else:
        with pytest.raises(LayoutError, match=rf"0 and {a.kernel()[0]} both go to {a.offset}"):
            a.left_inverse()
    if a.is_surjective():
        assert [a(r) ^ a.offset for r in a.right_inverse()] == [1 << b for b in range(a.out_bits)]
    else:
        with pytest.raises(LayoutError, match="expected a map onto"):
            a.right_inverse()
    if a.is_bijective():
        assert [a.inverse()(y) for y in image(a)] == list(range(1 << len(a.columns)))


def test_onto_means_no_less_and_no_more() -> None:
    a = LinearLayout((1, 2, 4))
    assert (a.is_surjective(2), a.is_surjective(3), a.is_surjective(4)) == (False, True, False)
    assert not LinearLayout((1, 2, 4), offset=8).is_surjective(3)
    assert not LinearLayout((1, -2)).is_surjective(1)
    with pytest.raises(LayoutError, match="expected as many bits in as out, got 2 and 3"):
        LinearLayout((1, 4)).inverse()


def test_negative_columns_count_in_twos_complement() -> None:
    assert f2_rank((-1, -2, 1)) == 2
    assert f2_rank((-4, 3, -1)) == 2
    a = LinearLayout((-8, 1))
    assert [parity(t & c) for t in a.left_inverse() for c in a.columns] == [1, 0, 0, 1]


def test_left_inverse_is_the_certificate_of_the_checker() -> None:
    """no carries, the swizzle applied to each column, T A = I."""
    a = linear(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((128, 256), (256, 1))))
    columns = [Swizzle(3, 3, 3)(d << t) for n, d in ((7, 256), (8, 1)) for t in range(n)]

    assert a is not None
    assert list(a.columns) == columns
    for (i, row), (j, c) in itertools.product(enumerate(a.left_inverse()), enumerate(columns)):
        assert bin(row & c).count("1") % 2 == (i == j)


def random_linear(rng: random.Random, n: int, m: int) -> LinearLayout:
    columns = tuple(rng.getrandbits(m) for _ in range(n))
    return LinearLayout(columns, outputs=(("offset", m),), offset=rng.getrandbits(m))


def test_composition_is_function_composition() -> None:
    rng = random.Random(11)
    for _ in range(300):
        k, m, n = (rng.randint(1, 5) for _ in range(3))
        b = random_linear(rng, k, m)
        a = random_linear(rng, m, n)
        c = a @ b

        assert c == a.compose(b)
        assert image(c) == [a(b(x)) for x in range(1 << k)]
    with pytest.raises(LayoutError, match="expected outputs that fit 1 bits of index, got 2 bits of offset"):
        LinearLayout((1,)) @ LinearLayout((1, 2))


# -- the value ------------------------------------------------------------------------------------------


def test_is_a_value() -> None:
    a, b = linear(SW128_F16), linear(SW128_F16)

    assert a is not None
    assert a == b
    assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert eval(repr(a)) == a
    with pytest.raises(AttributeError):
        a.offset = 1  # type: ignore[misc]


def test_text() -> None:
    assert str(LinearLayout((1, 6), offset=8)) == "index: 1 6 -> offset 16, xor 8"
    assert str(LinearLayout(())) == "index: -> offset 1"
    assert (
        str(LinearLayout.from_triton(BASES, OUT_DIMS))
        == "register: (1,0) (2,0); lane: (0,1) (0,2) (0,4) (4,0) (8,0) -> (dim0 16, dim1 8)"
    )


@pytest.mark.parametrize(
    "make, phrase",
    [
        (lambda: LinearLayout((1, 2), (("a", 3),)), "expected a column for each of 3 bits of a, got 2"),
        (lambda: LinearLayout((1, 8), outputs=(("a", 3),)), "expected columns within 3 bits of a, got 8"),
        (lambda: LinearLayout((1,), (), (("a", 3),), 9), "expected columns within 3 bits of a, got 9"),
        (lambda: LinearLayout((1, 2), (("a", 1), ("a", 1))), "expected different names"),
        (lambda: LinearLayout((1, 2))(4), r"expected an index of 0 \.\. 3, got 4"),
        (lambda: LinearLayout((1, 2))(-1), r"expected an index of 0 \.\. 3, got -1"),
        (lambda: LinearLayout((1, 2))(np.array([0, 5])), r"expected an index of 0 \.\. 3, got 5"),
        (lambda: LinearLayout((1, 2))(1, 1), "expected a value for each of 2 bits of index, got 2"),
        (lambda: LinearLayout((1, 2)).apply({"lane": 1}), "expected values of 2 bits of index, got lane"),
        (lambda: LinearLayout((1, 2)).apply({"index": 4}), r"expected index of 0 \.\. 3, got 4"),
        (lambda: LinearLayout((1,), offset=2).to_triton(), "expected offset 0 and columns of at least 0"),
        (lambda: LinearLayout.from_triton({"a": [[4]]}, [("d", 4)]), r"expected d of 0 \.\. 3, got 4"),
        (
            lambda: LinearLayout.from_triton({"a": [[4]]}, [("d", 6)]),
            "expected a power of two for .* d, got 6",
        ),
        (
            lambda: LinearLayout.from_triton({"a": [[4]]}, ["d", "e"]),
            "expected images with an entry for each",
        ),
    ],
)
def test_errors(make: Any, phrase: str) -> None:
    with pytest.raises(LayoutError, match=phrase):
        make()


# -- Triton ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "a",
    [
        LinearLayout.from_triton(BASES, OUT_DIMS),
        LinearLayout.from_triton(dict(BASES), dict(OUT_DIMS)),
        LinearLayout.from_triton(BASES, ["dim0", "dim1"]),
        LinearLayout.from_triton(SimpleNamespace(bases=BASES, out_dims=OUT_DIMS)),
        LinearLayout.from_triton(**LinearLayout.from_triton(BASES, OUT_DIMS).to_triton()),
    ],
)
def test_triton_data_in_and_out(a: LinearLayout) -> None:
    assert a.apply({"register": 1, "lane": 9}) == {"dim0": 5, "dim1": 1}
    assert a.to_triton() == {"bases": dict(BASES), "out_dims": OUT_DIMS}
    assert a.is_bijective()


def test_swizzled_tile_is_tritons_shared_layout() -> None:
    """Triton maps offsets to coordinates: the inverse of the tile, its first coordinate first."""
    a = linear(SW128_F16, names=("dim0", "dim1"))

    assert a is not None
    theirs = {"bases": {"offset": NVMMA_128B}, "out_dims": [("dim0", 64), ("dim1", 64)]}
    assert a.inverse().to_triton() == theirs


def test_wgmma_accumulator_is_tritons_distributed_layout() -> None:
    """Basis strides become Triton's outputs."""
    acc = Layout(((4, 8, 4), (2, 2, 8)), ((2 * E(1), E(0), 16 * E(0)), (E(1), 8 * E(0), 8 * E(1))))
    a = linear(acc, names=("thread", "register"))

    assert a is not None
    assert a.apply({"thread": 37, "register": 5}) == {"dim0": 17, "dim1": 11}
    assert a.to_triton()["bases"] == {
        "thread": [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [16, 0], [32, 0]],
        "register": [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]],
    }
    assert to_layout(a) == acc


def test_agrees_with_triton() -> None:
    pytest.importorskip("triton", reason="Triton is not installed")
    from triton._C.libtriton import linear_layout

    theirs = linear_layout.LinearLayout
    a = theirs.from_bases(BASES, ["dim0", "dim1"], [16, 8], True)
    ours = LinearLayout.from_triton(a)
    assert ours.to_triton() == {"bases": dict(a.bases), "out_dims": list(a.out_dims)}
    assert ours.inverse() == LinearLayout.from_triton(a.invert())
    assert (a.is_injective(), a.is_surjective()) == (ours.is_injective(), ours.is_surjective())
    rows = [[c >> b & 1 for c in ours.columns] for b in range(ours.out_bits)]
    assert rows == a.get_matrix_view()

    rng = random.Random(5)
    for _ in range(200):
        inner = [("r", [[rng.getrandbits(3), rng.getrandbits(2)] for _ in range(4)])]
        outer = [(name, [[rng.getrandbits(4)] for _ in range(n)]) for name, n in (("x", 3), ("y", 2))]
        b = theirs.from_bases(inner, ["x", "y"], [8, 4], False)
        c = theirs.from_bases(outer, ["z"], [16], False)
        mine = LinearLayout.from_triton(b)

        assert LinearLayout.from_triton(c) @ mine == LinearLayout.from_triton(b.compose(c))
        assert mine.is_injective() == b.is_injective()
        assert all(mine.apply({"r": i}) == b.apply({"r": i}) for i in range(16))


# -- back to CuTe ---------------------------------------------------------------------------------------


def test_to_layout_is_the_same_function() -> None:
    rng = random.Random(13)
    found = 0
    for _ in range(600):
        layout = random_layout(rng, (1, 2, 4, 8), (1, 2, 4, 8, 16, 32, 64))
        a = linear(layout)
        if a is None:
            continue
        back = to_layout(a)
        assert back is not None, str(layout)
        assert [back(i) for i in range(layout.size())] == [layout(i) for i in range(layout.size())]
        found += 1
    assert found > 150


def test_to_layout_prefers_few_modes_and_no_swizzle() -> None:
    a = linear(SW128_F16)
    assert a is not None
    assert to_layout(a) == SW128_F16
    column = LinearLayout((72, 144, 288, 1, 2, 4), (("row", 3), ("column", 3)))
    assert to_layout(column) == Layout((8, 8), (72, 1))
    assert to_layout(LinearLayout((1, 2, 4, 32, 64))) == Layout((8, 4), (1, 32))
    assert to_layout(LinearLayout(())) == Layout(1, 0)


def test_to_layout_says_when_there_is_none() -> None:
    assert to_layout(LinearLayout((3, 5, 6))) is None
    assert to_layout(LinearLayout((1, 2), outputs=(("x", 1), ("y", 1)), offset=1)) is None
