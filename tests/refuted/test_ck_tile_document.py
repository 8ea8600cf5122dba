"""The eleven errors of CK Tile's document on tensor views, each pointed out: by a claim, by a value, or in C++ text.

The document is docs/conceptual/ck_tile/tensor_views.rst of ROCm/composable_kernel; the C++ below makes its mistakes in
words of ours.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from checkers import Equal, Holds, prove
from symlayout import LayoutError, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    advise,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_pass_through_transform,
    make_tensor_coordinate,
    make_tensor_descriptor,
    make_tensor_view,
    memory_of,
    remarks,
    transform_tensor_descriptor,
)
from symlayout.ck_tile.advice import SLIPS
from symlayout.ck_tile.tensor_view import TensorView

ROW, COL = make_naive_tensor_descriptor_packed((3, 4)), make_naive_tensor_descriptor((3, 4), (1, 3))
FLIPPED = make_naive_tensor_descriptor((4, 3), (1, 4))

CODE = """#include <ck_tile/core.hpp>
#include <ck_tile/core/numeric/tuple.hpp>

__global__ void kernel(float* out)
{
    float values[12] = {0};
    auto buffer = make_buffer_view<address_space_enum::global>(values, 12);
    auto desc   = make_tensor_descriptor(make_tuple(3, 4), make_tuple(4, 1));
    auto view   = make_tensor_view<address_space_enum::global>(buffer, desc);
    float six   = view(make_tuple(1, 2));
    view(make_tuple(2, 1)) = six;  // no make_tensor_descriptor( in a comment counts
    auto part = transform_tensor_descriptor(desc,
        make_tuple(make_pass_through_transform(number<2>{}), make_pass_through_transform(number<2>{})),
        make_tuple(number<1>{}, number<1>{}));
    using four = vector_type<float, 4>::type;
    auto window = make_tile_window(view, lengths, origin, distribution);
}
"""


def outcome(claim):
    return prove(claim).verdicts[0].outcome


def found(code, slip):
    """The lines at which a slip is found."""
    return [a.line for a in advise(code) if a.slip.id == slip]


def test_1_the_three_elements_are_not_equal():
    assert (ROW((1, 2)), COL((2, 1)), FLIPPED((2, 1))) == (6, 5, 6)
    report = prove(Holds(eq(ROW((1, 2)), COL((2, 1)))))
    assert report.verdicts[0].outcome is Outcome.REFUTED
    assert report.verdicts[0].witness.story == "the difference is 1"
    assert COL((0, 2)) == 6


def test_1_and_only_rows_and_the_transpose_are_one_tensor():
    turned = AddressMap.over(lambda i, j: FLIPPED((j, i)), (3, 4))
    other = AddressMap.over(lambda i, j: COL((i, j)), (3, 4))

    assert outcome(Equal(turned, ROW)) is Outcome.PROVED
    assert outcome(Equal(other, ROW)) is Outcome.REFUTED


def test_2_the_column_major_memory_is_another():
    matrix = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    given = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]
    view = make_naive_tensor_view(np.array(given), (3, 4), (1, 3))

    assert memory_of(matrix, COL) == [0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11] != given
    assert view.to_numpy().tolist() == [[0, 9, 7, 5], [3, 1, 10, 8], [6, 4, 2, 11]]
    assert memory_of(np.arange(12).reshape(4, 3), make_naive_tensor_descriptor((4, 3), (1, 4))) == given


def test_2_memory_of_values_that_do_not_fit():
    with pytest.raises(LayoutError, match=r"expected values of shape \(3,4\), got \(2,2\)"):
        memory_of([[1, 2], [3, 4]], COL)
    with pytest.raises(LayoutError, match="expected one value at offset 0, got 1 and 2"):
        memory_of([[1, 2]], make_naive_tensor_descriptor((1, 2), (0, 0)))


def test_3_a_slice_is_no_pass_through():
    d = make_naive_tensor_descriptor_packed((10, 10))
    fives = make_pass_through_transform(5), make_pass_through_transform(5)
    block = transform_tensor_descriptor(d, fives, ((0,), (1,)), ((0,), (1,)))

    with pytest.raises(
        LayoutError, match=r"expected four arguments: .* got three; where a part begins is said by make_slice"
    ):
        transform_tensor_descriptor(d, fives, (2, 3))
    with pytest.raises(LayoutError, match="expected a tuple of 1 as the old dimensions of pass_through"):
        transform_tensor_descriptor(d, fives, (2, 3), ((0,), (1,)))
    assert (block((0, 0)), block((4, 4))) == (0, 44)
    assert "it reaches indices 0 .. 4, from the beginning; make_slice_transform(10, begin, end)" in remarks(block)[0]
    assert found(CODE, "four_arguments") == [12]
    assert found(CODE, "numbers_for_dimensions") == [12]


def test_4_there_is_no_make_tensor_descriptor():
    assert found(CODE, "no_make_tensor_descriptor") == [8]
    assert "Upstream has no such name" in inspect.getdoc(make_tensor_descriptor)
    assert make_tensor_descriptor((3, 4), (4, 1)) == make_naive_tensor_descriptor((3, 4), (4, 1))


def test_5_a_view_is_made_of_a_pointer():
    assert found(CODE, "view_of_a_buffer") == [9]
    assert "Upstream takes a pointer" in inspect.getdoc(make_tensor_view)
    assert found("auto v = make_tensor_view<address_space_enum::global>(p, desc);", "view_of_a_buffer") == []
    inline = (
        "auto v = make_tensor_view<address_space_enum::global>(make_buffer_view<address_space_enum::global>(p, 12), d);"
    )
    assert found(inline, "view_of_a_buffer") == [1]


def test_6_a_view_has_no_call_operator():
    assert found(CODE, "no_call_operator") == [10, 11]
    assert "Upstream has no such operator" in inspect.getdoc(TensorView.__call__)


def test_7_nothing_checks_the_shape():
    view = make_naive_tensor_view_packed(np.arange(12), (3, 4))
    beyond = make_tensor_coordinate(view.descriptor, (1, 6))

    assert "(upstream does not check it)" in str(view.explain((1, 6)))
    assert "outside" in str(view.explain((1, 6)))
    assert view.get_vectorized_elements(beyond) == 10  # the next row, without a word


def test_8_the_vector_type_and_what_the_vector_rests_on():
    view = make_naive_tensor_view_packed(np.arange(256), (16, 16))

    assert found(CODE, "no_vector_type") == [15]
    assert view.descriptor((4, 0)) == 64
    assert view.descriptor.get_top_dimension_safe_vector_length_strides()[0] == (-1, -1)


def test_9_the_header_of_tuple_is_elsewhere():
    assert found(CODE, "include_of_tuple") == [2]


def test_10_an_array_of_a_function_is_no_global_memory():
    assert found(CODE, "array_as_global") == [7]
    assert found(CODE.replace("(values, 12)", "(out, 12)"), "array_as_global") == []


def test_11_a_window_has_lengths_known_at_compile_time():
    assert found(CODE, "window_lengths") == [16]
    right = "auto w = make_tile_window(view, make_tuple(number<128>{}, number<32>{}), {0, 0}, dist);"
    assert found(right, "window_lengths") == []


def test_every_slip_is_in_the_code_and_shows_its_place():
    assert {a.slip.id for a in advise(CODE)} == set(SLIPS)
    first = str(advise(CODE)[0]).splitlines()
    assert first[1].startswith("#include <ck_tile/core/numeric")
    assert first[2].index("^") == first[1].index("core/numeric")


OTHER = {
    "empty": "",
    "open": "f(",
    "open many times": "transform_tensor_descriptor(" * 3000,
    "nested": "f" + "(" * 3000 + ")" * 3000,
    "comment": "/* make_tensor_descriptor( */ x",
    "string": 'g("make_tensor_descriptor(1)")',
    "comparison": "a < b, c(d)",
}


@pytest.mark.parametrize("code", OTHER.values(), ids=OTHER)
def test_other_text_has_no_slip(code):
    assert advise(code) == []
