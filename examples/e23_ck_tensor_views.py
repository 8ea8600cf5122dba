"""A tensor view of CK Tile in Python: created, indexed, explained, sliced, read by vectors, printed as CUDA.

The examples of CK Tile's document on tensor views (ROCm/composable_kernel, docs/conceptual/ck_tile/tensor_views.rst),
as they are meant. A buffer is linear, a view has dimensions; element (1, 2) of a packed 3 x 4 tensor is 6, and 99 goes
to (2, 1). A slice is a transform, not an offset beside pass_through. The index of an access whose sizes are known is a
literal in the code that is generated.
"""

import numpy as np

from checkers import Bijective, GuaranteedVectorLength, InBounds, NoInvalidAccess, VectorDoesNotStraddle
from symlayout import dims
from symlayout.ck_tile import (
    kernel_view,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_view,
    make_naive_tensor_view_packed,
    make_pass_through_transform,
    make_slice_transform,
    make_tensor_coordinate,
    remarks,
    transform_tensor_descriptor,
    transform_tensor_view,
)
from symlayout.kernel import Builder

M, N = dims("M N")
EACH = ((0,), (1,))

# The packed tensor, for all sizes: every element of its buffer once.
PACKED = make_naive_tensor_view_packed(None, (M, N))
every_element_once = Bijective(PACKED.descriptor, onto=M * N)
packed_stays_inside = NoInvalidAccess(PACKED)

# Rows 2 .. 6 and columns 3 .. 7 of a 10 x 10 tensor: offsets 23 .. 67. Upstream looks at no length of a slice.
PART = transform_tensor_descriptor(
    make_naive_tensor_descriptor_packed((10, 10)),
    (make_slice_transform(10, 2, 7), make_slice_transform(10, 3, 8)),
    EACH,
    EACH,
)
part_from_23 = InBounds(PART, 68, low=23)
part_is_not_larger = InBounds(PART, 67, expect="refuted")
beyond = transform_tensor_descriptor(
    make_naive_tensor_descriptor_packed((10, 10)),
    (make_slice_transform(10, 8, 13), make_slice_transform(10, 3, 8)),
    EACH,
    EACH,
)
slice_past_the_end = InBounds(beyond, 100, expect="refuted")

# Vectors of four floats along a row of 16: the one at (4, 0) is 64 .. 67. Rows of N need 4 | N.
VECTORS = make_naive_tensor_view_packed(None, (16, 16))
vectors_of_four = GuaranteedVectorLength(VECTORS, 4, -1, 1)
vectors_in_rows_of_n = VectorDoesNotStraddle(PACKED, 4, expect="refuted")
vectors_in_rows_of_4n = VectorDoesNotStraddle(PACKED, 4, given=N.multiple_of(4))


def constant_access() -> Builder:
    """An access at (5, 10) of a 256 x 256 tensor with strides (256, 1), by a kernel."""
    k = Builder("constant_access", grid=(1,), threads=32)
    tensor = kernel_view(k, "tensor", make_naive_tensor_view(None, (256, 256), (256, 1)))
    out = kernel_view(k, "out", make_naive_tensor_view_packed(None, (32,)))
    value = k.registers("value", "f32", 1)
    k.copy("ld.global.4", tensor(5, 10), value())
    k.copy("st.global.4", value(), out(k.thread))
    return k


def main() -> None:
    """What the views read and write."""
    data = np.arange(12, dtype=np.float32)
    tensor = make_naive_tensor_view_packed(data, (3, 4))
    print(f"buffer[5] is {tensor.buffer[5]:g}, tensor(1, 2) is {tensor(1, 2):g}")
    print(tensor.explain((1, 2)))
    tensor[2, 1] = 99
    print("after (2,1) = 99:", tensor.to_numpy().astype(int).tolist())

    whole = make_naive_tensor_view_packed(np.arange(100), (10, 10))
    part = transform_tensor_view(whole, PART.get_transforms()[1:], EACH, EACH)
    print(f"the part at (2,3): {part[0, 0]} .. {part[4, 4]}")
    fives = make_pass_through_transform(5), make_pass_through_transform(5)
    wrong = transform_tensor_view(whole, fives, EACH, EACH)
    print(f"by pass_through: {wrong[0, 0]} .. {wrong[4, 4]}; {remarks(wrong)[0]}")

    square = make_naive_tensor_view_packed(np.arange(256, dtype=np.float32), (16, 16))
    coord = make_tensor_coordinate(square.get_tensor_descriptor(), (4, 0))
    vec4 = square.get_vectorized_elements(coord, 0, elements=4)
    square.set_vectorized_elements(coord, 0, 2 * vec4)
    print(f"the vector at (4,0): {vec4.astype(int).tolist()}, doubled {square.buffer.data[64:68].astype(int).tolist()}")

    from gpu.codegen import emit

    print(next(line.strip() for line in emit(constant_access().kernel()).text.splitlines() if "1290" in line))


if __name__ == "__main__":
    main()
