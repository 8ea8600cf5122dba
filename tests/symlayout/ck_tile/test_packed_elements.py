"""Elements of 4 bits: two share a storage element, and an access that begins inside of one begins elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import prove, window_claims
from symlayout import LayoutError, dims
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TileDistributionEncoding,
    make_buffer_view,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_static_tile_distribution,
    make_tile_window,
    make_tile_window_linear,
    slice_tensor_view,
)
from symlayout.errors import ExecutionError

(M,) = dims("M", at_most=4096)
ROWS = make_static_tile_distribution(TileDistributionEncoding((), ((64,), (2, 8)), (((1, 0),),), ((2, 0), (2, 1))))


def numbers(n):
    return np.arange(n) % 7 - 3


def view(*lengths, dtype="i4"):
    return make_naive_tensor_view_packed(numbers(int(np.prod(lengths))), lengths, dtype=dtype)


@pytest.mark.parametrize("dtype", ["i4", "e2m1"])
def test_an_index_of_a_buffer_counts_pairs(dtype):
    buffer = make_buffer_view(numbers(9), 9, dtype=dtype)

    assert buffer.packed_size == 2
    assert buffer[2].astype(float).tolist() == [1, 2]
    assert buffer.get(1, 1, elements=4).astype(float).tolist() == [1, 2, 3, -3]
    buffer.set(0, 0, True, [2, 3])
    assert buffer.data[:3].astype(float).tolist() == [2, 3, -1]
    with pytest.raises(LayoutError, match=r"whole storage elements, 2 elements of .* each, got 3"):
        buffer.get(0, elements=3)


def test_the_last_of_an_odd_number_is_not_read():
    """Upstream divides the size too: hardware sees 4 bytes of 9 elements, and reads 0 past them."""
    assert make_buffer_view(numbers(9), 9, dtype="i4")[4].astype(int).tolist() == [0, 0]
    assert make_buffer_view(numbers(10), 10, dtype="i4")[4].astype(int).tolist() == numbers(10)[8:].tolist()


def test_a_vector_inside_a_storage_element_begins_at_its_start():
    whole = view(4, 8)

    assert whole.get_vectorized_elements((1, 2), elements=2).astype(int).tolist() == numbers(32)[10:12].tolist()
    assert whole.get_vectorized_elements((1, 3), elements=2).astype(int).tolist() == numbers(32)[10:12].tolist()
    assert whole.to_numpy().astype(int).tolist() == numbers(32).reshape(4, 8).tolist()
    with pytest.raises(LayoutError, match="whole storage elements"):
        whole[1, 2]


def test_writing_with_a_mask_of_ones_own_is_refused():
    """Upstream's function of that form takes the offset as it is, twice as far."""
    whole = view(4, 8)
    whole.set_vectorized_elements((0, 2), 0, [1, 1])

    assert whole.buffer.data[:4].astype(int).tolist() == [-3, -2, 1, 1]
    with pytest.raises(ExecutionError, match="does not divide the offset 10 by 2 and writes elsewhere"):
        whole.set_vectorized_elements((1, 2), 0, [1, 1], True)


def rows(columns, vector=8, data=None, begin=0):
    made = make_naive_tensor_view(data, (64, columns), (columns, 1), vector, 1, dtype="i4")
    return slice_tensor_view(made, (0, begin), (64, begin + 16)) if begin else made


def test_windows_of_packed_elements():
    window = make_tile_window(rows(24, data=numbers(64 * 24)), (64, 16), (0, 8), ROWS)
    tile = window.load()

    assert tile.to_numpy().astype(int).tolist() == numbers(64 * 24).reshape(64, 24)[:, 8:].tolist()
    window.store(tile.map(lambda x: x.astype(int) * 0))
    assert window.view.to_numpy()[:, 8:].astype(int).sum() == 0
    with pytest.raises(ExecutionError, match="upstream's set with a mask"):
        make_tile_window_linear(rows(24, data=numbers(64 * 24)), (64, 16), (0, 8), ROWS).store(tile)


@pytest.mark.parametrize("columns, begin, aligned", [(24, 0, True), (24, 2, True), (24, 3, False), (25, 0, False)])
def test_vectors_that_begin_inside_a_storage_element_are_refuted(columns, begin, aligned):
    source = make_naive_tensor_view(None, (64, columns + 16), (columns, 1), 8, 1, dtype="i4")
    window = make_tile_window(source, (64, 16), (0, begin), ROWS)
    found = {v.claim.kind: v.outcome for v in prove(*window_claims(window)).verdicts}

    assert found["aligned"] is (Outcome.PROVED if aligned else Outcome.REFUTED)


def test_rows_of_any_even_length_are_proved():
    source = make_naive_tensor_view(None, (64, M), (M, 1), 8, 1, dtype="e2m1")
    claim = next(c for c in window_claims(make_tile_window(source, (64, 16), (0, 0), ROWS)) if c.kind == "aligned")

    assert prove(claim, given=[M.multiple_of(2)])
    assert prove(claim).repairs == (M.multiple_of(2),)
