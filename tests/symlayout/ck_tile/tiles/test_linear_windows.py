"""Linear windows: one coordinate for several accesses, offsets of a packed tile, and masks that do not move."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import Equal, prove, window_claims
from symlayout import LayoutError, ceil_div, dims
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TensorView,
    TileDistributionEncoding,
    kernel_view,
    load_tile,
    make_buffer_view,
    make_naive_tensor_view,
    make_static_tile_distribution,
    make_tile_window,
    make_tile_window_linear,
    move_tile_window,
    pad_tensor_view,
    store_tile,
)
from symlayout.expr import index
from symlayout.kernel import Builder
from symlayout.semantics import execute
from tests.support.ck_views import lds_tile

M, K = dims("M K", at_most=1 << 14)

# 32 x 64 by 64 lanes: two steps of 16 rows, two of 32 columns, vectors of 8
ENCODING = TileDistributionEncoding((), ((2, 16), (2, 4, 8)), (((1, 1), (2, 1)),), ((1, 0), (2, 0), (2, 2)))
TILE = make_static_tile_distribution(ENCODING)


def padded(rows, columns, stride=None, data=None):
    view = make_naive_tensor_view(data, (rows, columns), (columns if stride is None else stride, 1), 8, 1, dtype="i32")
    return pad_tensor_view(view, (32, 64), (True, True))


def anywhere(*dims_, **options):
    """A linear window at every tile of a padded M x K view."""
    origin = 32 * index("bm", ceil_div(M, 32)), 64 * index("bk", ceil_div(K, 64))
    return make_tile_window_linear(padded(M, K, **options), (32, 64), origin, TILE, *dims_)


def numbered(rows, columns):
    return padded(rows, columns, data=np.arange(rows * columns, dtype=np.int32))


def outcome(*claims, **options):
    return [v.outcome for v in prove(*claims, **options).verdicts]


def test_accesses_share_the_coordinates_that_upstream_says():
    """The rows of upstream's comment: 8 accesses with 2, with 8 and with 1 coordinate."""
    window = make_tile_window_linear(numbered(64, 128), (32, 64), (0, 0), TILE)
    narrow = [
        make_tile_window_linear(
            make_naive_tensor_view(range(64 * 128), (64, 128), (128, 1), 4, 1), (32, 64), (0, 0), TILE, dims_
        )
        for dims_ in ((0, 1), (0, 0), (1, 1))
    ]

    assert window.linear_dims == (False, True)
    assert window.accesses_of_coordinates == (0, 0, 1, 1)
    assert [w.accesses_of_coordinates for w in narrow] == [(0, 0, 0, 0, 1, 1, 1, 1), tuple(range(8)), (0,) * 8]
    assert [int(narrow[2].linear_offset(y)) for y in narrow[2].curve] == [0, 4, 32, 36, 1024, 1028, 1056, 1060]


def test_what_a_window_with_a_linear_row_loads_is_the_tile():
    view = numbered(40, 72)
    plain = make_tile_window(view, (32, 64), (0, 0), TILE)
    linear = make_tile_window_linear(view, (32, 64), (0, 0), TILE)
    for step in ((32, 0), (-16, 56)):
        plain, linear = move_tile_window(plain, step), move_tile_window(linear, step)

        assert np.array_equal(plain.load().registers, linear.load().registers)
    out = padded(40, 72, data=np.zeros(40 * 72, np.int32))
    store_tile(make_tile_window_linear(out, (32, 64), (16, 56), TILE), linear.load())
    assert out.to_numpy()[16:40, 56:72].tolist() == view.to_numpy()[16:40, 56:72].tolist()


def test_a_linear_row_is_proved_for_all_sizes():
    report = prove(*window_claims(anywhere()), given=[K.multiple_of(8)])

    assert report, str(report)
    assert "equal" in {v.claim.kind for v in report.verdicts}


def test_linear_rows_of_a_wider_matrix_are_refuted():
    """Upstream takes a row of the view to be as long as one of the tile, which it is at K = 64 alone."""
    assert outcome(Equal(*anywhere((1, 1)).made_and_meant)) == [Outcome.REFUTED]
    assert outcome(Equal(*anywhere((1, 1)).subs({K: 64}).made_and_meant)) == [Outcome.PROVED]
    wrong = make_tile_window_linear(numbered(64, 128), (32, 64), (0, 0), TILE, (1, 1)).load().to_numpy()

    assert wrong[15].tolist() == list(range(15 * 128, 15 * 128 + 64))
    assert wrong[16].tolist() == [*range(1024, 1024 + 64)]


@pytest.mark.parametrize(
    "name, descriptor, of_2024, of_2025",
    [
        ("packed", make_naive_tensor_view(None, (32, 64), (64, 1), 8, 1), Outcome.PROVED, Outcome.PROVED),
        ("padded rows", make_naive_tensor_view(None, (32, 64), (72, 1), 8, 1), Outcome.REFUTED, Outcome.PROVED),
        ("xor", TensorView(make_buffer_view(None, 2048), lds_tile(32, 64, 8)), Outcome.REFUTED, Outcome.REFUTED),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_lds_that_is_linear_in_all_dimensions(name, descriptor, of_2024, of_2025):
    """2024 has the strides of a packed tile; 2025 asks the view from index 0 on, which an xor does not add up from."""
    view = TensorView(make_buffer_view(None, descriptor.buffer.size, space="lds"), descriptor.descriptor)
    windows = [make_tile_window_linear(view, (32, 64), (0, 0), TILE, version=v) for v in ("V24", "V25")]

    assert {w.linear_dims for w in windows} == {(True, True)}
    assert [outcome(Equal(*w.made_and_meant))[0] for w in windows] == [of_2024, of_2025]


def test_masks_stay_where_an_origin_is_set():
    """``move`` computes masks anew, ``set_window_origin`` does not: the last rows are read past the end, or dropped."""
    view = numbered(40, 64)
    whole = make_tile_window_linear(view, (32, 64), (0, 0), TILE)
    moved, put = whole.move((32, 0)), whole.set_window_origin((32, 0))
    back = moved.set_window_origin((0, 0))

    assert moved.load().to_numpy()[8:].tolist() == np.zeros((24, 64)).tolist()
    assert back.load().to_numpy().sum() == numbered(40, 64).to_numpy()[:8].sum()
    assert outcome(Equal(*moved.made_and_meant), Equal(*back.made_and_meant)) == [Outcome.PROVED, Outcome.REFUTED]
    assert outcome(Equal(*put.made_and_meant)) == [Outcome.REFUTED]
    assert put.move((0, 0)).masks_origin is None
    assert outcome(Equal(*anywhere().set_window_origin((0, 0)).made_and_meant), given=[K <= 64]) == [Outcome.REFUTED]


def test_a_linear_dimension_comes_last_in_y():
    """Upstream finds the first access of a coordinate by counting, which is right where those of one follow another."""
    turned = TileDistributionEncoding((), ENCODING.H, ENCODING.P, ((2, 0), (1, 0), (2, 2)))
    with pytest.raises(LayoutError, match=r"Y dimensions of linear tile dimensions after all others.*\(0,1,0,1\)"):
        make_tile_window_linear(numbered(64, 64), (32, 64), (0, 0), make_static_tile_distribution(turned))
    with pytest.raises(LayoutError, match="a choice of linear or not for each of 2 dimensions, got 3"):
        make_tile_window_linear(numbered(64, 64), (32, 64), (0, 0), TILE, (0, 1, 1))


def test_a_linear_window_of_a_kernel_issues_what_upstream_does():
    rows = {}
    for dims_ in ((0, 1), (1, 1)):
        k = Builder("linear", grid=(2, 2), threads=64)
        a, b = (kernel_view(k, x, padded(64, 128)) for x in "ab")
        origin = 32 * k.block[0], 64 * k.block[1]
        tile = load_tile(make_tile_window_linear(a, (32, 64), origin, TILE, dims_))
        store_tile(make_tile_window(b, (32, 64), origin, TILE), tile)
        data = np.arange(64 * 128, dtype=np.int32).reshape(64, 128)
        rows[dims_] = execute(k.kernel().bind(), {"a": data})["b"]

    assert np.array_equal(rows[0, 1], data)
    assert rows[1, 1][16, :4].tolist() == [1024, 1025, 1026, 1027]
