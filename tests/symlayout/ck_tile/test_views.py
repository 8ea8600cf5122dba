"""Buffers and views: what is read and written where, and what an invalid access does."""

from __future__ import annotations

import numpy as np
import pytest

from symlayout import LayoutError, dims
from symlayout.canonical import digest
from symlayout.ck_tile import (
    BufferView,
    MemoryOperation,
    TensorView,
    make_buffer_view,
    make_left_pad_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_descriptor_with_offset,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_pad_transform,
    make_pass_through_transform,
    make_tensor_coordinate,
    make_tensor_descriptor,
    make_tensor_view,
    make_unmerge_transform,
    pad_tensor_view,
    remarks,
    slice_tensor_view,
    transform_tensor_descriptor,
    transpose_tensor_view,
)
from symlayout.errors import ExecutionError

M, K = dims("M K")


def twelve():
    return np.arange(12, dtype=np.float32)


# -- buffers ----------------------------------------------------------------------------------------------


def test_a_buffer_is_linear():
    buffer = make_buffer_view(twelve(), 12)
    buffer[5] = 50

    assert (buffer[5], buffer[4], buffer.get(4, 1), str(buffer)) == (50, 4, 50, "global buffer of 12 f32")
    assert buffer.get(4, elements=3).tolist() == [4, 50, 6]


def test_an_invalid_read_gives_zero_or_the_value_in_every_lane():
    assert make_buffer_view(twelve(), 12).get(3, is_valid=False, elements=2).tolist() == [0, 0]
    assert make_buffer_view(twelve(), 12, -np.inf).get(3, is_valid=False, elements=2).tolist() == [-np.inf, -np.inf]


def test_past_the_end_hardware_gives_zero_whatever_the_value_is():
    buffer = make_buffer_view(twelve(), 12, -np.inf)

    assert buffer.get(10, elements=4).tolist() == [10, 11, 0, 0]
    assert buffer.get(-1) == 0
    buffer.set(11, 0, True, [1.0, 2.0])
    assert buffer.data.tolist()[-2:] == [10, 1]


@pytest.mark.parametrize("space", ["generic", "lds", "vgpr"])
def test_other_spaces_check_nothing(space):
    buffer = make_buffer_view(twelve(), 12, space=space)

    with pytest.raises(ExecutionError, match=rf"expected an index of 0 .. 11, got 12 read in {space} memory"):
        buffer.get(10, elements=4)
    with pytest.raises(ExecutionError, match=r"got -1 written"):
        buffer.set(-1, 0, True, 1.0)
    assert buffer.get(12, is_valid=False) == 0


def test_an_end_inside_of_a_word_is_not_known():
    buffer = make_buffer_view(np.arange(5, dtype=np.int16), 5)

    assert buffer.get(3) == 3
    with pytest.raises(
        ExecutionError, match="end of a buffer between words of 4 bytes, got it inside of one at element 5"
    ):
        buffer.get(4, elements=2)


def test_invalid_writes_do_nothing():
    buffer = make_buffer_view(twelve(), 12)
    buffer.set(3, 0, False, 7.0)

    assert buffer[3] == 3


@pytest.mark.parametrize(
    "operation, found", [("set", [5, 5]), ("add", [8, 9]), ("atomic_add", [8, 9]), ("atomic_max", [5, 5])]
)
def test_updates(operation, found):
    buffer = make_buffer_view(twelve(), 12)
    buffer.update(operation, 3, 0, True, [5.0, 5.0])
    buffer.update(operation, 8, 0, False, [5.0, 5.0])

    assert buffer.data[3:5].tolist() == found
    assert buffer.data[8:10].tolist() == [8, 9]


@pytest.mark.parametrize("operation", ["atomic_add", "atomic_max"])
def test_atomics_outside_of_global_memory_do_nothing_upstream(operation):
    buffer = make_buffer_view(twelve(), 12, space="lds")

    with pytest.raises(ExecutionError, match=f"expected {operation} on a global buffer, got one in lds"):
        buffer.update(operation, 0, 0, True, 1.0)
    buffer.update("add", 0, 0, True, 1.0)
    assert buffer[0] == 1


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: make_buffer_view(twelve(), 13), "expected an array of at least 13 elements, got 12"),
        (lambda: make_buffer_view(twelve(), 12, space="shared"), "expected an address space of generic, global, lds"),
        (lambda: make_buffer_view(None, 12, space="sgpr"), "for which upstream has none"),
        (lambda: make_buffer_view(twelve().reshape(3, 4), 12), "expected a flat array"),
        (lambda: make_buffer_view(None, M).get(0), "expected a number of elements to access memory, got M"),
        (lambda: make_buffer_view(twelve(), 12).get(0, elements=0), "expected at least 1 element, got 0"),
    ],
)
def test_bad_buffers_are_told(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_a_buffer_without_memory_is_for_proofs():
    with pytest.raises(ExecutionError, match="expected a buffer with memory to read and write"):
        make_buffer_view(None, 12)[0]


# -- views ------------------------------------------------------------------------------------------------


def test_the_three_views_of_one_memory():
    data = twelve()
    row = make_naive_tensor_view_packed(data, (3, 4))
    column = make_tensor_view(make_buffer_view(data, 12), make_tensor_descriptor((3, 4), (1, 3)))
    transposed = make_naive_tensor_view(data, (4, 3), (1, 4))

    assert row.to_numpy().tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert column.to_numpy().tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    assert transposed.to_numpy().tolist() == [[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]
    assert (row(1, 2), column(2, 1), transposed(2, 1)) == (6, 5, 6)
    assert {v.descriptor.element_space_size for v in (row, column, transposed)} == {12}
    assert [(i, j) for i in range(3) for j in range(4) if row[i, j] == column[i, j]] == [(0, 0), (2, 3)]


def test_a_write_is_seen_by_every_view_of_the_memory():
    view = make_naive_tensor_view_packed(twelve(), (3, 4))
    view[2, 1] = 99

    assert view.buffer[9] == 99
    assert transpose_tensor_view(view)[1, 2] == 99


def test_vectors():
    view = make_naive_tensor_view_packed(np.arange(256, dtype=np.float32), (16, 16))
    coord = make_tensor_coordinate(view.get_tensor_descriptor(), (4, 0))
    vec4 = view.get_vectorized_elements(coord, 0, elements=4)
    view.set_vectorized_elements(coord, 0, 2 * vec4)

    assert vec4.tolist() == [64, 65, 66, 67]
    assert view.get_vectorized_elements((4, 0), 1, elements=4).tolist() == [130, 132, 134, 68]


def test_one_validity_holds_for_all_lanes():
    """A vector that straddles the end of a row reads the next row: the mask is that of lane 0."""
    view = pad_tensor_view(make_naive_tensor_view_packed(np.arange(60), (6, 10)), (8, 16), (True, True))

    assert view.get_vectorized_elements((0, 8), elements=4).tolist() == [8, 9, 10, 11]
    assert view.get_vectorized_elements((0, 12), elements=4).tolist() == [0, 0, 0, 0]
    assert view.get_vectorized_elements((0, 12), 0, True, elements=2).tolist() == [12, 13]


def test_without_the_check_a_masked_read_is_of_the_next_row():
    view = pad_tensor_view(make_naive_tensor_view_packed(np.arange(60), (6, 10)), (8, 16), (True, True))
    lds = pad_tensor_view(make_naive_tensor_view_packed(np.arange(60), (6, 10), space="lds"), (8, 16), (True, True))

    assert view.get_vectorized_elements((0, 12), oob_conditional_check=False) == 12
    assert view.get_vectorized_elements((7, 0), oob_conditional_check=False) == 0
    assert lds.get_vectorized_elements((0, 12), oob_conditional_check=False) == 0


def test_a_padded_view_reads_its_invalid_value():
    view = make_tensor_view(make_buffer_view(np.arange(6), 6, -1), make_naive_tensor_descriptor((2, 3), (3, 1)))

    assert pad_tensor_view(view, (2, 4), (True, True)).to_numpy().tolist() == [[0, 1, 2, -1], [3, 4, 5, -1]]
    assert pad_tensor_view(view, (2, 4), (True, False)).descriptor.lengths == (2, 3)


def test_a_slice():
    tile = slice_tensor_view(make_naive_tensor_view_packed(np.arange(100), (10, 10)), (2, 3), (7, 8))

    assert tile.to_numpy()[[0, 4], [0, 4]].tolist() == [23, 67]
    assert tile.descriptor.lengths == (5, 5)


def test_updates_use_the_operation_of_the_view():
    view = make_tensor_view(twelve(), make_naive_tensor_descriptor((3, 4), (4, 1)), memory_operation="atomic_add")
    view.update_vectorized_elements((1, 2), 0, [10.0, 20.0])

    assert view.memory_operation is MemoryOperation.ATOMIC_ADD
    assert view.buffer.data[6:8].tolist() == [16, 27]
    assert "atomic_add" in str(view)


def test_views_are_values_and_take_sizes():
    a, b = (make_naive_tensor_view(None, (M, K), (K, 1), 8, 1, dtype="bf16") for _ in range(2))

    assert a == b
    assert digest(a) == digest(b)
    assert a.symbols == (K, M)
    bound = a.subs({"M": 3, "K": 4})
    assert (bound.static, bound.buffer.size, bound.descriptor.lengths) == (True, 12, (3, 4))
    assert make_naive_tensor_view(twelve(), (3, 4), (4, 1)) == make_naive_tensor_view(twelve() + 1, (3, 4), (4, 1))


def test_an_index_is_explained():
    padded = pad_tensor_view(make_naive_tensor_view(np.arange(12), (3, 4), (4, 1)), (2, 4), (True, False))

    assert [line.split("  ", 1) for line in str(padded.explain((3, 1))).splitlines()] == [
        ["shape", " " * 15 + "3 < 4, 1 < 4: inside (upstream does not check it)"],
        ["pass_through(4)", "     1 -> 1"],
        ["right_pad(3, 1)", "     3 -> 3"],
        ["right_pad(3, 1) mask", "not valid"],
        ["embed((3,4), (4,1))", " (3,1) -> 3*4 + 1*1 = 13"],
        ["buffer[13]", " " * 10 + "not accessed: a mask is false"],
        ["value", " " * 15 + "0"],
    ]
    assert "7 < 12: inside" in str(padded.explain((1, 2), 2))


def test_wrong_calls_of_views():
    view = make_naive_tensor_view_packed(twelve(), (3, 4))

    with pytest.raises(LayoutError, match="expected 2 indices, got"):
        view[1]
    with pytest.raises(LayoutError, match="expected numbers to access memory, got"):
        make_naive_tensor_view_packed(None, (M, K))[1, 2]
    with pytest.raises(LayoutError, match="expected numbers to explain an access"):
        make_naive_tensor_view_packed(None, (M, K)).explain((1, 2))
    with pytest.raises(LayoutError, match="expected a tile and a choice for each of 2 dimensions"):
        pad_tensor_view(view, (2,), (True,))
    with pytest.raises(LayoutError, match="expected a begin and an end for each of 2 dimensions"):
        slice_tensor_view(view, (2,), (1,))
    with pytest.raises(LayoutError, match=r"expected each dimension of 0 .. 1 once"):
        transpose_tensor_view(view, (0, 0))


def test_the_constructor_takes_a_buffer():
    view = TensorView(BufferView("lds", make_buffer_view([1], 1).dtype, 1), make_naive_tensor_descriptor((1,), (1,)))

    assert str(view) == "lds buffer of 1 i64: (x0) -> x0 for x0 < 1"


# -- remarks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: make_tensor_view(np.zeros(4), make_naive_tensor_descriptor((4,), (1,)), space="lds", memory_operation="atomic_add"),
         "atomic_add in lds: upstream does nothing there, without a word"),
        (lambda: make_tensor_view(np.zeros(4), make_naive_tensor_descriptor((4,), (1,)), memory_operation="add"),
         "add reads and writes, and is not atomic"),
        (lambda: make_tensor_view(make_buffer_view(np.zeros(4), 4, -1), make_naive_tensor_descriptor((4,), (1,))),
         "-1 is read where a mask is false; past the end of the buffer hardware gives 0 all the same"),
        (lambda: transform_tensor_descriptor(make_naive_tensor_descriptor((8,), (1,), 8, 1), (make_pad_transform(8, 0, 8),), ((0,),), ((0,),)),
         "pad(8, 0, 8) drops the guarantee of vectors of 8, so that accesses are scalar; make_right_pad_transform keeps it"),
        (lambda: make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5, 4, 1),
         "the guarantee of vectors of 4 does not pass embed((3,4), (4,1)): no top dimension has one"),
        (lambda: make_naive_tensor_descriptor_with_offset((3, 4), (4, 1), 5),
         "offset(12, 5): element_space_size does not count it, so that the last elements lie past a buffer of that size"),
        (lambda: transform_tensor_descriptor(make_naive_tensor_descriptor_packed((10, 10)), (make_pass_through_transform(10),), ((0,),), ((0,),), "ck"),
         "a dimension of unmerge(10, 10), of length 10, is at 0: no later transform takes it"),
        (lambda: transform_tensor_descriptor(make_naive_tensor_descriptor((8,), (1,)), (make_left_pad_transform(8, 2),), ((0,),), ((0,),)),
         "left_pad(8, 2): upstream does not compile it in transform_tensor_descriptor; pad(L, a, 0) compiles"),
        (lambda: transform_tensor_descriptor(make_naive_tensor_descriptor((8,), (1,)), (make_unmerge_transform((2, 3)),), ((0,),), ((0, 1),)),
         "unmerge(2, 3) is put on a dimension of length 8"),
    ],
)  # fmt: skip
def test_what_upstream_says_nothing_of_is_remarked(make, words):
    assert words in remarks(make())


def test_a_plain_view_has_no_remark():
    assert remarks(make_naive_tensor_view_packed(twelve(), (3, 4))) == ()
    assert remarks(pad_tensor_view(make_naive_tensor_view_packed(None, (M, K)), (8, 8), (True, True))) == ()
    with pytest.raises(LayoutError, match="expected a tensor view or a descriptor, got 5"):
        remarks(5)
