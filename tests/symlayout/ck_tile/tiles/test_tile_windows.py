"""Windows: which element each thread loads, in which vectors and in which order, at origins that move."""

from __future__ import annotations

import numpy as np
import pytest

from symlayout import LayoutError, dims
from symlayout.ck_tile import (
    SpaceFillingCurve,
    TileDistribution,
    load_tile,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_static_tile_distribution,
    make_tile_window,
    move_tile_window,
    pad_tensor_view,
    store_tile,
    transpose_tensor_view,
    update_tile,
)
from symlayout.errors import ExecutionError
from symlayout.expr import index
from tests.support.ck_tiles import ACCUMULATOR, DOCUMENT, FRAGMENTS, GEMM_A


def numbered(rows, columns, **options):
    return make_naive_tensor_view(np.arange(rows * columns, dtype=np.int32), (rows, columns), (columns, 1), **options)


def test_the_example_of_the_document():
    values = np.add.outer(100 * np.arange(9), np.arange(9)).reshape(-1).astype(np.int32)
    window = make_tile_window(
        make_naive_tensor_view_packed(values, (9, 9)), (4, 4), (1, 3), make_static_tile_distribution(DOCUMENT)
    )
    tile = load_tile(window)

    assert {p: tile.get_thread_buffer(p).tolist() for p in ((0, 0), (0, 1), (1, 0), (1, 1))} == {
        (0, 0): [103, 104, 203, 204],
        (0, 1): [105, 106, 205, 206],
        (1, 0): [303, 304, 403, 404],
        (1, 1): [305, 306, 405, 406],
    }
    assert list(window.curve) == [(0, 0), (0, 1), (1, 1), (1, 0)]
    assert list(make_tile_window(window.view, (4, 4), (1, 3), window.distribution, version="V25").curve) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def test_the_curve_of_upstream_and_its_steps():
    snake = SpaceFillingCurve((2, 3, 4), (0, 1, 2), (1, 1, 2))
    plain = SpaceFillingCurve((2, 3, 4), (0, 1, 2), (1, 1, 2), snake=False)

    assert ["".join(map(str, i)) for i in snake] == [
        "000",
        "002",
        "012",
        "010",
        "020",
        "022",
        "122",
        "120",
        "110",
        "112",
        "102",
        "100",
    ]
    assert ["".join(map(str, i)) for i in plain] == [
        "000",
        "002",
        "010",
        "012",
        "020",
        "022",
        "100",
        "102",
        "110",
        "112",
        "120",
        "122",
    ]
    assert snake.get_num_of_access() == 12
    assert snake.get_index(7) == (1, 2, 0)
    assert all(sum(map(abs, step)) in (1, 2) for step in snake.steps())
    assert sorted(SpaceFillingCurve((4, 6), (1, 0), (2, 3))) == [(a, b) for a in (0, 2) for b in (0, 3)]


@pytest.mark.parametrize(
    "parts, reason",
    [
        (((2, 3), (0, 1), (1, 2)), "accesses that divide the lengths"),
        (((2, 3), (0, 0), (1, 1)), "an order of dimensions 0 .. 1"),
        (((2, 3), (0, 1), (1,)), "as many scalars"),
    ],
)
def test_curves_that_miss_elements_are_refused(parts, reason):
    with pytest.raises(LayoutError, match=reason):
        SpaceFillingCurve(*parts)


def test_a_gemm_tile_loads_vectors_of_8_in_two_accesses():
    view = numbered(256, 32, guaranteed_last_dim_vector_length=8, guaranteed_last_dim_vector_stride=1)
    window = make_tile_window(view, (128, 32), (0, 0), make_static_tile_distribution(GEMM_A))

    assert window.vector == (1, 8)
    assert window.curve.get_num_of_access() == 2
    offsets = [c.offset for p, _, c in window.accesses() if p == (1, 37)]
    assert offsets == [808, 2856]
    assert window.load().to_numpy().tolist() == np.arange(4096).reshape(128, 32).tolist()


def test_an_accumulator_is_stored_by_element_in_rows_and_by_4_in_columns():
    d = make_static_tile_distribution(ACCUMULATOR)
    rows = numbered(32, 32, guaranteed_last_dim_vector_length=8, guaranteed_last_dim_vector_stride=1)
    columns = transpose_tensor_view(
        numbered(32, 32, guaranteed_last_dim_vector_length=4, guaranteed_last_dim_vector_stride=1)
    )

    assert [make_tile_window(v, (32, 32), (0, 0), d).vector for v in (rows, columns)] == [(0, 1), (1, 4)]
    assert [make_tile_window(v, (32, 32), (0, 0), d).curve.get_num_of_access() for v in (rows, columns)] == [16, 4]
    tile = make_tile_window(columns, (32, 32), (0, 0), d).load()
    assert tile.to_numpy().tolist() == columns.to_numpy().tolist()
    out = make_naive_tensor_view(np.zeros(1024, np.int32), (32, 32), (32, 1))
    store_tile(make_tile_window(out, (32, 32), (0, 0), d), tile)
    assert out.to_numpy().tolist() == columns.to_numpy().tolist()


@pytest.mark.parametrize(
    "encoding, version",
    [(DOCUMENT, "V24"), (DOCUMENT, "V25"), (FRAGMENTS, "V25"), (ACCUMULATOR, "V24")],
    ids=["document 24", "document 25", "fragments", "accumulator"],
)
def test_what_is_loaded_is_the_slice_and_what_is_stored_is_it_again(encoding, version):
    d = make_static_tile_distribution(encoding)
    m, n = d.lengths
    view = numbered(m + 3, n + 8)
    window = make_tile_window(view, (m, n), (2, 5), d, version=version)
    tile = window.load()
    out = make_naive_tensor_view(np.zeros((m + 3) * (n + 8), np.int32), (m + 3, n + 8), (n + 8, 1))
    make_tile_window(out, (m, n), (2, 5), d, version=version).store(tile)

    whole = view.to_numpy()
    assert tile.to_numpy().tolist() == whole[2 : 2 + m, 5 : 5 + n].tolist()
    kept = np.zeros_like(whole)
    kept[2 : 2 + m, 5 : 5 + n] = whole[2 : 2 + m, 5 : 5 + n]
    assert out.to_numpy().tolist() == kept.tolist()


def test_the_access_of_a_window_is_the_offset_of_each_element():
    view = numbered(20, 16)
    d = make_static_tile_distribution(DOCUMENT)
    b = index("b", 4)
    access = make_tile_window(view, (4, 4), (4 * b + 1, 3), d).access

    assert str(access) == (
        "(b,warp,lane,y0,y1) -> 64*b + 2*lane + 32*warp + 16*y0 + y1 + 19 for b < 4, warp < 2, lane < 2, y0 < 2, y1 < 2"
    )
    assert access(3, 1, 0, 1, 1) == view.descriptor(4 * 3 + 1 + 3, 3 + 1)


def test_one_index_in_two_dimensions_stays_a_symbol():
    b = index("b", 4)
    access = make_tile_window(numbered(20, 20), (4, 4), (4 * b, 4 * b), TileDistribution(DOCUMENT)).access

    assert access.symbols == (b,)
    assert [c.name for c in access.coords] == ["warp", "lane", "y0", "y1"]


def test_windows_move_and_are_values():
    view = numbered(16, 16)
    window = make_tile_window(view, (4, 4), (0, 0), make_static_tile_distribution(DOCUMENT))
    moved = move_tile_window(move_tile_window(window, (4, 0)), (0, 8))

    assert moved.origin == (4, 8) == window.set_window_origin((4, 8)).origin
    assert window.origin == (0, 0)
    assert moved.load().to_numpy().tolist() == view.to_numpy()[4:8, 8:12].tolist()


def test_pads_mask_what_overhangs():
    view = pad_tensor_view(numbered(6, 7), (4, 4), (True, True))
    window = make_tile_window(view, (4, 4), (4, 4), make_static_tile_distribution(DOCUMENT))
    tile = window.load().to_numpy()

    assert tile.tolist() == [[32, 33, 34, 0], [39, 40, 41, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    store_tile(window, window.load().map(lambda x: -x))
    assert view.buffer.data.reshape(6, 7)[4:].tolist() == [
        [28, 29, 30, 31, -32, -33, -34],
        [35, 36, 37, 38, -39, -40, -41],
    ]


def test_an_update_uses_the_operation_of_the_view():
    view = make_naive_tensor_view(np.ones(16, np.int32), (4, 4), (4, 1), memory_operation="atomic_add")
    window = make_tile_window(view, (4, 4), (0, 0), make_static_tile_distribution(DOCUMENT))
    update_tile(window, window.load())

    assert (view.to_numpy() == 2).all()


def test_a_sliced_box_of_registers():
    view = numbered(128, 32)
    tile = make_tile_window(view, (128, 32), (0, 0), make_static_tile_distribution(GEMM_A)).load()

    assert tile.get_y_sliced_thread_data((0, 0), (1, 4), (1, 4)).tolist() == [2052, 2053, 2054, 2055]
    with pytest.raises(LayoutError, match=r"a box inside of Y \(2,8\), got \(1,4\) .. \(3,8\)"):
        tile.get_y_sliced_thread_data((0, 0), (1, 4), (2, 4))


def test_threads_of_one_element_must_agree():
    d = make_static_tile_distribution(FRAGMENTS)
    tile = make_tile_window(numbered(128, 16), (128, 16), (0, 0), d).load()
    tile[(1, 0), (0, 0, 0)] = -1

    with pytest.raises(ExecutionError, match=r"expected one value at \(0,0\), got 0 and -1"):
        tile.to_numpy()


def test_windows_that_upstream_lets_pass_are_refused():
    view = numbered(16, 16)
    d = make_static_tile_distribution(DOCUMENT)
    with pytest.raises(LayoutError, match=r"window lengths \(4,4\), those of the distribution, got \(4,8\)"):
        make_tile_window(view, (4, 8), (0, 0), d)
    with pytest.raises(LayoutError, match=r"origin of a window in 2 dimensions of its view, got \(1,2,3\)"):
        make_tile_window(view, (4, 4), (1, 2, 3), d)
    with pytest.raises(LayoutError, match="a window with a tile distribution to access it"):
        make_tile_window(view, (4, 4), (0, 0)).load()
    with pytest.raises(LayoutError, match="expected a tensor view to make a window on, got 3"):
        make_tile_window(3, (4, 4), (0, 0), d)
    with pytest.raises(LayoutError, match="a version of V24, V25"):
        make_tile_window(view, (4, 4), (0, 0), d, version="V26")
    M, K = dims("M K")
    with pytest.raises(LayoutError, match="numbers"):
        make_tile_window(make_naive_tensor_view(None, (M, K), (K, 1)), (4, 4), (M, 0), d).load()
