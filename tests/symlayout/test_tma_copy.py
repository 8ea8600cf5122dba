"""make_tma_copy against what CuTe passes to the driver, and refusals."""

from __future__ import annotations

import pickle

import pytest

from symlayout import (
    E,
    InexactError,
    Layout,
    LayoutError,
    coalesce,
    composition,
    dim,
    dims,
    local_tile,
    make_identity_layout,
    product_each,
    right_inverse,
    tile_to_shape,
)
from symlayout.layout import ComposedLayout
from symlayout.swizzle import Swizzle
from symlayout.tma import TmaSwizzle, TmaType
from symlayout.tma.tiled_copy import TmaCopy, make_tma_copy
from tests.support.draw import read

SW128 = Swizzle(3, 3, 3)  # of f16
K_ATOM = ComposedLayout(SW128, 0, Layout((8, 64), (64, 1)))
MN_ATOM = ComposedLayout(SW128, 0, Layout((64, 8), (1, 64)))
K_TILE = tile_to_shape(K_ATOM, (128, 64))
ROW_MAJOR = "(1024,512):(512,1)"
a, b, c, s, t, u = dims("a b c s t u")


def made(gmem, smem, tile=None, multicast=1, at=None, dtype="f16", **options) -> TmaCopy:
    gmem, smem = (read(x) if isinstance(x, str) else x for x in (gmem, smem))
    copy = make_tma_copy(gmem, smem, tile, multicast, dtype=dtype, **options)
    return copy.subs(at) if at else copy


# What CuTe C++ passes to cuTensorMapEncodeTiled, recorded; its gbasis, and the strides of its coordinate tensor.
# Where CuTe has strides at run time, symbols stand for them here.
RECORDED = {
    "K-major SW128": (
        made(ROW_MAJOR, K_TILE),
        ("(64,128):(1@1,1@0)", (512, 1024), (1024,), (64, 128), TmaSwizzle.bytes128, 1, "(1@1,1@0)"),
    ),
    "two atoms along K": (
        made(ROW_MAJOR, tile_to_shape(K_ATOM, (128, 128))),
        ("(64,128):(1@1,1@0)", (512, 1024), (1024,), (64, 128), TmaSwizzle.bytes128, 2, "(1@1,1@0)"),
    ),
    "MN-major SW128": (
        made("(1024,512):(1,1024)", tile_to_shape(MN_ATOM, (128, 64))),
        ("(64,8):(1@0,1@1)", (1024, 512), (2048,), (64, 8), TmaSwizzle.bytes128, 16, "(1@0,1@1)"),
    ),
    "MN-major SW128, K first": (
        made("(1024,512):(1,1024)", tile_to_shape(MN_ATOM, (128, 64), (2, 1))),
        ("(64,64):(1@0,1@1)", (1024, 512), (2048,), (64, 64), TmaSwizzle.bytes128, 2, "(1@0,1@1)"),
    ),
    "f32 without swizzle": (
        made("(1024,256):(256,1)", "(64,32):(32,1)", dtype="f32"),
        ("(32,64):(1@1,1@0)", (256, 1024), (1024,), (32, 64), TmaSwizzle.none, 1, "(1@1,1@0)"),
    ),
    "three modes": (
        made("(1024,32,512):(64,1,65536)", "(16,8,2):(16,1,8)", dtype="f32"),
        (
            *("(8,2,16):(1@1,1@2,1@0)", (32, 512, 1024), (262144, 256), (8, 2, 16), TmaSwizzle.none, 1),
            "(1@2,1@0,1@1)",
        ),
    ),
    "a mode left out of the tile": (
        made(Layout((128, 64, 5)), Layout((64, 32)), (64, 32)),
        (
            *("(64,32,1):(1@0,1@1,1@2)", (128, 64, 5), (256, 16384), (64, 32, 1), TmaSwizzle.none, 1),
            "(1@0,1@1,1@2)",
        ),
    ),
    "nested modes, strides at run time": (
        made(
            Layout(((80, 40), (32, 12)), ((1, a), (b, c))),
            *(Layout((128, 64)), ((16, 8), (32, 2))),
            at={a: 80, b: 3200, c: 102400},
        ),
        (
            *("(16,8,32,2):(1@0@0,1@1@0,1@0@1,1@1@1)", (80, 40, 32, 12), (160, 6400, 204800), (16, 8, 32, 2)),
            *(TmaSwizzle.none, 1, "((1@0,1@1),(1@2,1@3))"),
        ),
    ),
    "nested modes, strides known": (
        made(Layout(((80, 40), (32, 12))), Layout((128, 64)), ((16, 8), (32, 2))),
        (
            *("(16,8,(32,2)):(1@0@0,1@1@0,(1@0@1,1@1@1))", (80, 40, 384), (160, 6400), (16, 8, 64)),
            *(TmaSwizzle.none, 1, "((1@0,1@1),(1@2,32@2))"),
        ),
    ),
    "seven modes, strides at run time": (
        made(
            Layout(((32, 3, 2, 2), (32, 4, 2)), ((1, s, 3 * s, 6 * s), (t, u, 1536 * s))),
            *(Layout((32, 64)), ((32,), (32, 2))),
            at={s: 32, t: 384, u: 12288},
        ),
        (
            "(32,32,2,1,(1,1,1)):(1@0@0,1@0@1,1@1@1,1@1@0,(1@2@0,1@3@0,1@2@1))",
            *((32, 32, 4, 3, 516), (768, 24576, 64, 192), (32, 32, 2, 1, 1)),
            *(TmaSwizzle.none, 1, "((1@0,1@3,1@4,2@4),(1@1,1@2,512@4))"),
        ),
    ),
    "seven modes, strides known": (
        made(Layout(((32, 3, 2, 2), (32, 4, 2))), Layout((32, 64)), ((32,), (32, 2))),
        (
            "(32,(32,2),1,1,(1,1)):(1@0@0,(1@0@1,1@1@1),1@1@0,1@2@0,(1@3@0,1@2@1))",
            *((32, 128, 3, 2, 258), (768, 64, 192, 384), (32, 64, 1, 1, 1)),
            *(TmaSwizzle.none, 1, "((1@0,1@2,1@3,1@4),(1@1,32@1,256@4))"),
        ),
    ),
    "modes that coalesce": (
        made("(128,(4,128)):(4,(1,512))", "(32,(4,32)):(4,(1,128))", dtype="i8"),
        (
            *("((4,32),32):((1@0@1,1@0),1@1@1)", (512, 128), (512,), (128, 32), TmaSwizzle.none, 1),
            "(4@0,(1@0,1@1))",
        ),
    ),
    "a stride of 0": (
        made("(128,(32,4)):(1,(0,128))", Layout((64, (32,)), (1, (0,))), dtype="u16"),
        ("(64,1):(1@0,1@1@1)", (128, 4), (256,), (64, 1), TmaSwizzle.none, 32, "(1@0,(0,1@1))"),
    ),
    "multicast to 2": (
        made(ROW_MAJOR, K_TILE, multicast=2),
        ("(64,128):(1@1,1@0)", (512, 1024), (1024,), (64, 64), TmaSwizzle.bytes128, 1, "(1@1,1@0)"),
    ),
    "f16 as u8": (
        made(Layout((64, 64)), Layout((32, 32)), internal_dtype="u8"),
        ("(64,32):(1@0,1@1)", (128, 64), (128,), (64, 32), TmaSwizzle.none, 1, "(2@0,1@1)"),
    ),
    "f16 as u64": (
        made(Layout((64, 64)), Layout((32, 32)), internal_dtype="u64"),
        ("(8,32):(1@0,1@1)", (16, 64), (128,), (8, 32), TmaSwizzle.none, 1, "(1/4@0,1@1)"),
    ),
    "one dimension by coalescing": (
        made(Layout((64, 8)), Layout((64, 4))),
        ("((64,4),):((1@0,1@1),)", (512,), (), (256,), TmaSwizzle.none, 1, "(1@0,64@0)"),
    ),
    "coalescing would pass 256": (
        made(Layout((64, 8)), Layout((64, 8))),
        ("(64,8):(1@0,1@1)", (64, 8), (128,), (64, 8), TmaSwizzle.none, 1, "(1@0,1@1)"),
    ),
}


@pytest.mark.parametrize("name", RECORDED)
def test_gives_the_driver_what_cute_gives_it(name):
    copy, (gbasis, extents, strides, box, swizzle, instructions, tma_strides) = RECORDED[name]
    m = copy.tensor_map

    assert str(copy.gbasis) == gbasis
    assert (m.global_dim, m.global_stride_bytes, m.box_dim) == (extents, strides, box)
    assert (m.swizzle, copy.swizzle) == (swizzle, swizzle)
    assert copy.instructions == instructions
    assert str(copy.get_tma_tensor().layout) == f"{str(copy.gmem).partition(':')[0]}:{tma_strides}"
    assert str(copy.get_tma_tensor().iterator) == f"ArithTuple{str((0,) * m.rank).replace(' ', '')}"


@pytest.mark.parametrize(
    "gmem, smem, inverse, full",
    [
        (
            *("(1024,512):(1,1024)", tile_to_shape(MN_ATOM, (128, 64)).inner),
            *("(64,8,2,8):(1,128,64,1024)", "(64,8,2,8):(1@0,1@1,64@0,8@1)"),
        ),
        (
            *("(128,(4,128)):(4,(1,512))", read("(32,(4,32)):(4,(1,128))")),
            *("(4,32,32):(32,1,128)", "(4,32,32):(1@0@1,1@0,1@1@1)"),
        ),
    ],
)
def test_the_steps_on_the_way_are_those_of_cute(gmem, smem, inverse, full):
    tile_map = composition(make_identity_layout(read(gmem).shape), product_each(smem.shape))

    assert str(right_inverse(smem)) == inverse
    assert str(coalesce(composition(tile_map, right_inverse(smem)))) == full


def test_fixed_fields_are_those_of_cute():
    m = made(ROW_MAJOR, K_TILE).tensor_map

    assert (m.dtype, m.element_stride, m.global_address) == (TmaType.FLOAT16, (1, 1), 0)
    assert [m.interleave, m.l2_promotion.word, m.oob_fill] == [0, "128B", 0]


def test_what_is_asked_for_is_passed_on():
    p = dim("p", multiple_of=16)
    m = made(ROW_MAJOR, K_TILE, address=p, l2_promotion=256, oob_fill="nan").tensor_map

    assert (m.global_address, m.l2_promotion.word, m.oob_fill.word) == (p, "256B", "nan")


def test_one_byte_types_travel_as_u8():
    assert made(Layout((64, 64)), Layout((32, 32)), dtype="e4m3").tensor_map.dtype == TmaType.UINT8
    assert made(Layout((64, 64)), Layout((32, 32)), dtype="e2m1", internal_dtype="u8").tensor_map.global_dim == (32, 64)
    assert made(Layout((64, 64)), Layout((32, 32)), internal_dtype=TmaType.BFLOAT16).tensor_map.dtype == 9


def test_the_tile_of_a_vector_has_one_dimension():
    copy = made(Layout(1000, 1), Layout(256, 1))

    assert copy.tensor_map.global_dim == (1000,)
    assert str(copy.get_tma_tensor()) == "ArithTuple(0,) o (1000,):(1@0,)"
    assert copy.coordinates(local_tile(copy.get_tma_tensor(), (256,), (3,))) == (768,)


@pytest.mark.parametrize(
    "bits, element, in_elements", [(1, "f16", (1, 3, 3)), (2, "f32", (2, 2, 3)), (3, "u8", (3, 4, 3))]
)
def test_swizzles_of_elements_become_modes_of_the_map(bits, element, in_elements):
    row = (16, 32, 64, 128)[bits] * 8 // {"f16": 16, "f32": 32, "u8": 8}[element]
    smem = ComposedLayout(Swizzle(*in_elements), 0, Layout((8, row), (row, 1)))

    assert made("(64,256):(256,1)", smem, dtype=element).swizzle == TmaSwizzle(bits)


def test_atom_swizzles_become_atom_modes():
    """The base of 32 bytes and the base of 64: the map says what was asked for, an older architecture refuses it."""
    for sw, mode in ((Swizzle(2, 4, 2), "bytes128_atom_32B"), (Swizzle(1, 5, 1), "bytes128_atom_64B")):
        copy = made("(64,64):(64,1)", ComposedLayout(sw, 0, Layout((8, 64), (64, 1))))
        assert copy.swizzle.name == mode


# -- symbols ----------------------------------------------------------------------------------------------


def test_sizes_stay_symbols():
    M, K = dim("M"), dim("K", multiple_of=8)
    copy = make_tma_copy(Layout((M, K), (K, 1)), K_TILE, dtype="bf16")

    assert (copy.tensor_map.global_dim, copy.tensor_map.global_stride_bytes) == ((K, M), (2 * K,))
    assert str(copy.get_tma_tensor()) == "ArithTuple(0,0) o (M,K):(1@1,1@0)"
    assert not copy.obligations
    at = copy.subs({M: 1024, K: 512})
    assert at == make_tma_copy(Layout((1024, 512), (512, 1)), K_TILE, dtype="bf16")


def test_symbolic_sizes_are_left_to_the_prover_and_numbers_are_not():
    M, K = dims("M K")
    copy = make_tma_copy(Layout((M, K), (K, 1)), K_TILE, dtype="bf16", address=dim("p"))

    with pytest.raises(LayoutError, match=r"stride_multiple_16: .*got 2002 .*stride of dimension 1"):
        copy.subs({M: 128, K: 1001})
    assert copy.subs({M: 128, K: 1000}).tensor_map.global_stride_bytes == (2000,)


def test_strides_that_chain_for_all_sizes_merge():
    H = dim("H")
    merged = make_tma_copy(Layout((64, 8, H), (1, 64, 512)), Layout((64, 4, 2)), dtype="f16")
    apart = make_tma_copy(Layout((64, 8, H), (1, H, 8 * H)), Layout((64, 4, 2)), dtype="f16")

    assert merged.tensor_map.box_dim == (256, 2)
    assert apart.tensor_map.box_dim == (64, 4, 2)


def test_symbolic_modes_fold_where_one_stride_divides_the_others():
    n = [dim(f"n{i}") for i in range(6)]
    row, image = 64 * n[0], 64 * n[0] * n[1]
    gmem = Layout((64, *n), (1, 64, row, image, image * n[2], image * n[2] * n[3], 3 * image * n[2] * n[3]))
    copy = make_tma_copy(gmem, Layout((64, 2)), (64, 2), dtype="f16")
    env = dict(zip(n, (3, 4, 5, 6, 7, 8), strict=True))

    assert copy.tensor_map.rank == 5
    assert copy.tensor_map.global_dim[4] == n[4] + 3 * (n[5] - 1)
    assert copy.tensor_map.global_stride_bytes[3] == 2 * image * n[2] * n[3]
    fixed = make_tma_copy(gmem.subs(env), Layout((64, 2)), (64, 2), dtype="f16")
    assert copy.subs(env).tensor_map == fixed.tensor_map


def test_strides_that_differ_by_factors_fold():
    """gcd(4*s, 6*s) is 2*s, and 2*s divides 10*s."""
    gmem = Layout((64, 3, 3, 3, 2, 2, 2), (1, 64, 128 * t, 256 * u, 4 * s, 6 * s, 10 * s))
    copy = make_tma_copy(gmem, Layout(64, 1), (64,), dtype="f16")

    assert copy.tensor_map.global_stride_bytes[-1] == 4 * s
    assert copy.tensor_map.global_dim[-1] == 1 + 2 + 3 + 5
    assert [str(d) for d in copy.get_tma_tensor().stride[4:]] == ["2@4", "3@4", "5@4"]


def test_unrelated_strides_do_not_fold():
    gmem = Layout((64, 3, 3, 3, 2, 2), (1, 64, a, b, s, t))

    with pytest.raises(LayoutError, match=r"one divides the others, got s and t.*at most 5"):
        make_tma_copy(gmem, Layout(64, 1), (64,), dtype="f16")


def test_overhang_is_an_obligation_only_where_the_copy_engine_does_not_see_it():
    M, K = dim("M"), dim("K", multiple_of=8)
    seen = make_tma_copy(Layout((M, K), (K, 1)), Layout((128, 64), (64, 1)), dtype="f16")
    merged = make_tma_copy(Layout((M, 8, K), (1, 64, 512)), Layout((64, 2, 1)), dtype="f16")
    in_units = make_tma_copy(Layout((M, 64), (1, 1024)), Layout((32, 32)), dtype="f16", internal_dtype="u64")

    assert str(seen.obligations) == "none"
    assert str(merged.obligations) == "in domain: needs a predicate unless 64 divides M"
    assert str(in_units.obligations) == "in domain: needs a predicate unless 4 divides M"
    assert str(made("(60,8):(1,64)", Layout((64, 4))).obligations) == "in domain: needs a predicate"


# -- what is refused --------------------------------------------------------------------------------------

ROWS = Layout((128, 64), (64, 1))  # a tile of rows without swizzle


def swizzled(sw, shape=(8, 64), stride=(64, 1), offset=0):
    return ComposedLayout(sw, offset, Layout(shape, stride))


REFUSED = {
    "address": ((ROW_MAJOR, K_TILE), {"address": 8}, r"global address .* multiple of 16 bytes, got 8"),
    "dimension": (
        (Layout((2**32 + 16, 64), (1, 2**33)), Layout((64, 8))),
        {},
        r"global dimension .* 4294967296 elements, got 4294967312 elements in dimension 0",
    ),
    "stride of 120 bytes": (("(64,60):(60,1)", "(8,32):(32,1)"), {}, r"stride_multiple_16.* got 120"),
    "stride": ((Layout((64, 64), (2**40, 1)), "(8,32):(32,1)"), {}, r"stride_range.* 2199023255552"),
    "negative stride": ((Layout((64, 64), (-64, 1)), "(8,32):(32,1)"), {}, r"stride_range.* -128"),
    "box": ((Layout((2048, 64)), Layout((512, 8))), {}, r"box_range.* got 512 elements in dimension 0"),
    "row": ((Layout((64, 64)), Layout((4, 8))), {}, r"box_inner_multiple_16.* got 8"),
    "span": (
        ("(64,64):(64,1)", swizzled(Swizzle(2, 3, 3))),
        {},
        r"box_inner_span.* 64 bytes, got 128 bytes",
    ),
    "narrow rows": (
        ("(64,64):(64,1)", swizzled(SW128, (8, 32), (32, 1))),
        {},
        r"expected rows of 128 bytes with swizzle 128B, got 64: .*takes 128 bytes",
    ),
    "majorness": (
        (ROW_MAJOR, Layout((128, 64))),
        {},
        r"stride 1 in global memory, got 512 f16 at 1@0.*majorness",
    ),
    "symbolic majorness": ((Layout((64, 64), (a, b)), Layout((64, 8))), {}, r"stride 1 in global memory, got a f16"),
    "vector": (
        (Layout((64, 64)), Layout((8, 8)), (Layout(8, 2), 8)),
        {},
        r"expected the first elements of shared memory to begin a mode of global memory, got the tile \(8,8\):\(2@0,1@1\)",
    ),
    "tile": ((ROW_MAJOR, K_TILE, (64, 64)), {}, r"expected a tile of 8192 elements.* got 4096 in \(64,64\)"),
    "symbolic tile": ((ROW_MAJOR, K_TILE, (a, 64)), {}, r"expected a tile of 8192 elements"),
    "swizzle": (
        (ROW_MAJOR, swizzled(Swizzle(3, 2, 3))),
        {},
        r"swizzle of f16 that TMA has \(Sw<1,3,3>, Sw<2,3,3>, Sw<3,3,3>.*got Sw<3,2,3>, in bytes Sw<3,3,3>",
    ),
    "offset": ((ROW_MAJOR, swizzled(SW128, offset=8)), {}, r"an offset of 0 and a layout for shared memory, got Sw"),
    "symbolic shared layout": ((ROW_MAJOR, Layout((a, 64), (64, 1))), {}, "expected a shared layout of plain integers"),
    "coordinates": ((Layout((64, 64), (E(0), E(1))), ROWS), {}, "expected a layout of offsets for global memory"),
    "element type": ((ROW_MAJOR, ROWS), {"dtype": "i16"}, "expected an element type that a tensor map has, got i16"),
    "internal type": (
        (ROW_MAJOR, ROWS),
        {"dtype": "e2m1"},
        "expected a type of whole bytes for a tensor map, got e2m1",
    ),
    "packed type": ((ROW_MAJOR, ROWS), {"internal_dtype": TmaType(13)}, "expected a type of whole bytes"),
    "no type": ((ROW_MAJOR, ROWS), {"dtype": "half"}, "expected an element type"),
    "units": (("(64,64):(64,1)", "(8,6):(6,1)"), {"internal_dtype": "u64"}, "box of whole units of 64 bits"),
    "unit strides": (("(64,62):(62,1)", "(8,8):(8,1)"), {"internal_dtype": "u64"}, "expected a stride that divides 4"),
    "symbolic units": ((Layout((64, a), (a, 1)), "(8,8):(8,1)"), {"internal_dtype": "u64"}, "a multiple of 4, got a"),
    "multicast": ((ROW_MAJOR, K_TILE), {"multicast": 3}, r"multicast that divides the box \(64,128\).*got 3"),
    "many CTAs": ((ROW_MAJOR, K_TILE), {"multicast": 32}, "expected 1 to 16 CTAs for a multicast, got 32"),
    "NaN": ((ROW_MAJOR, ROWS), {"dtype": "u16", "oob_fill": "nan"}, "nan_fill_of_floats"),
    "no layout": (("(64,64):(64,1)", 64), {}, "expected a layout, got 64"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(name):
    operands, options, message = REFUSED[name]

    with pytest.raises(LayoutError, match=message):
        made(*operands, **options)


def test_a_box_over_modes_that_do_not_run_on_is_refused():
    """Six modes of 2 at once: CuTe would copy four neighbours along the fifth dimension."""
    gmem = Layout((8,) * 6, (1, 16, 64, 1024, 8192, 3 * 65536))

    with pytest.raises(InexactError, match=r"expected a step of 2 along 1@5.*got 24; a tensor map has 5 dimensions"):
        make_tma_copy(gmem, Layout((8, 2, 2, 2, 2, 2)), dtype="f16")


def test_two_modes_of_stride_0_are_no_run():
    with pytest.raises(LayoutError, match=r"expected positive strides for modes that share a dimension, got \(0,0\)"):
        make_tma_copy(Layout((64, 8, 8), (1, 0, 0)), Layout((64, 2, 2)), dtype="f16")


# -- a value ----------------------------------------------------------------------------------------------


def test_a_copy_is_a_value():
    copy = made(ROW_MAJOR, K_TILE)

    assert copy == made(ROW_MAJOR, K_TILE)
    assert hash(copy) == hash(made(ROW_MAJOR, K_TILE))
    assert pickle.loads(pickle.dumps(copy)) == copy
    with pytest.raises(AttributeError):
        copy.multicast = 2


def test_a_copy_prints():
    assert str(RECORDED["two atoms along K"][0]).startswith(
        "TmaCopy of (128,128) in 2 instructions of 16384 bytes; TensorMap f16 (512,1024)"
    )
    assert "in 1 instruction of 16384 bytes, multicast to 2 CTAs; " in str(RECORDED["multicast to 2"][0])
