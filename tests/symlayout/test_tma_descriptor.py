"""``make_tma_descriptor``: every data type, every precondition of its documentation."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from symlayout import dims
from symlayout.arch import SM90
from symlayout.dlpack import DLDataType, DLDataTypeCode, DLTensor
from symlayout.errors import LayoutError
from symlayout.rules.dlpack import BY_ID as DL_RULES
from symlayout.rules.dlpack import TYPES
from symlayout.rules.tma import lints, rules_of, violations
from symlayout.tma import TensorMap, TmaInterleaveLayout, TmaL2FetchSize, TmaOobFill, TmaSwizzle, TmaType
from symlayout.tma.from_dlpack import make_tma_descriptor

M, N, K = dims("M N K")
SM100 = replace(SM90, name="sm_100a", compute_capability=(10, 0))
SM80 = replace(SM90, name="sm_80", compute_capability=(8, 0))
F32 = DLTensor((64, 64), "f32", data=4096)
CUBE = DLTensor((128, 128, 128), "i32", data=4096)


def broken(*args, **kwargs):
    """The ids of the rules that a call breaks, in the order of the message; none where it is taken."""
    try:
        make_tma_descriptor(*args, **kwargs)
    except LayoutError as e:
        return [line.partition(":")[0] for line in str(e).splitlines()]
    return []


# -- the order of axes --------------------------------------------------------------------------------------


def test_axes_are_reversed_and_all_of_them():
    t = DLTensor((3, 5, 7, 64), "f16", strides=(8192, 1024, 128, 1), data=1 << 20, byte_offset=64)
    m = make_tma_descriptor(t, (1, 2, 4, 8), (3, 2, 4, 1), l2_fetch_size="bytes128")

    assert m == TensorMap(
        TmaType.FLOAT16,
        (1 << 20) + 64,
        (64, 7, 5, 3),
        (256, 2048, 16384),
        (8, 4, 2, 1),
        (1, 4, 2, 3),
        l2_promotion=TmaL2FetchSize.bytes128,
    )


def test_all_settings_arrive():
    t = DLTensor((8, 8, 8, 16), "f16", data=4096)
    m = make_tma_descriptor(
        t,
        (1, 2, 2, 8),
        interleave_layout=TmaInterleaveLayout.bytes32,
        swizzle=TmaSwizzle.bytes32,
        l2_fetch_size=TmaL2FetchSize.bytes256,
        oobfill=TmaOobFill.nan,
    )

    assert (int(m.interleave), int(m.swizzle), int(m.l2_promotion), int(m.oob_fill)) == (2, 1, 3, 1)
    assert m == make_tma_descriptor(
        t, (1, 2, 2, 8), interleave_layout=32, swizzle="bytes32", l2_fetch_size=256, oobfill="nan"
    )


def test_without_element_strides_each_is_1():
    assert make_tma_descriptor(F32, (8, 8)) == make_tma_descriptor(F32, (8, 8), (1, 1))


@pytest.mark.parametrize("inner", [0, 1, 5, 9, -1])
def test_the_innermost_element_stride_is_ignored_without_interleave(inner):
    """It is the last entry in row-major order; the documentation calls it elem_strides[0]."""
    assert make_tma_descriptor(F32, (8, 8), (2, inner)).element_stride == (1, 2)


def test_the_innermost_element_stride_counts_with_interleave():
    assert make_tma_descriptor(CUBE, (8, 8, 8), (1, 1, 2), interleave_layout=16).element_stride == (2, 1, 1)
    assert broken(CUBE, (8, 8, 8), (1, 1, 9), interleave_layout=16) == ["element_stride_range"]


def test_the_documented_example_loads_one_row_of_eight():
    m = make_tma_descriptor(F32, (8, 8), (8, 1))
    [lint] = lints(m)

    assert m.transaction_bytes == 32
    assert lint.rule.id == "element_stride_one_step"
    assert lint.fix == "one row of 8 lands: 32 bytes, not 256"
    assert lints(make_tma_descriptor(F32, (8, 8), (1, 1))) == []


# -- data types ---------------------------------------------------------------------------------------------

C = DLDataTypeCode
FP8 = (7, 8, 9, 10, 11, 12, 13, 14)
# As the documentation lists them, in its own numbers.
DOCUMENTED = {
    **{(0, 32, 1): 3, (0, 64, 1): 5, (1, 8, 1): 0, (1, 16, 1): 1, (1, 32, 1): 2, (1, 64, 1): 4},
    **{(2, 16, 1): 6, (2, 32, 1): 7, (2, 64, 1): 8, (4, 16, 1): 9, (6, 8, 1): 0},
    **{(code, 8, 1): 0 for code in FP8},
    **{(1, 4, 16): 13, (17, 4, 16): 13},
}
CANDIDATES = [
    (code, bits, lanes)
    for code in (*range(20), 255)
    for bits in (1, 4, 6, 8, 16, 32, 64, 128)
    for lanes in (1, 2, 4, 16)
]


def as_wide(code, bits, lanes):
    """A tensor and a box that are legal for elements of any width."""
    return DLTensor((8, 4096), (code, bits, lanes), data=4096), (8, 32)


@pytest.mark.parametrize("kind", sorted(DOCUMENTED))
def test_documented_types_are_taken(kind):
    tensor, box = as_wide(*kind)
    m = make_tma_descriptor(tensor, box, arch=SM100)

    assert m.dtype == DOCUMENTED[kind]
    assert m.global_stride_bytes == (4096 * kind[1] // 8,)


@pytest.mark.parametrize("kind", sorted(DOCUMENTED))
def test_packed_types_need_compute_capability_10(kind):
    """libcu++ checks that of kDLUInt and forgets kDLFloat4_e2m1fn, which the driver then refuses."""
    assert broken(*as_wide(*kind)) == (["dtype_of_cc90"] if kind[1] == 4 else [])


def test_every_other_type_is_refused_by_its_own_rule():
    for kind in CANDIDATES:
        if kind not in DOCUMENTED:
            found = set(broken(*as_wide(*kind), arch=SM100)) & {"dl_dtype_code", "dl_dtype_bits", "dl_dtype_lanes"}
            code, bits, _ = kind
            same_code = [k for k in DOCUMENTED if k[0] == code]
            same_bits = [k for k in same_code if k[1] == bits]
            wrong = "dl_dtype_code" if not same_code else "dl_dtype_lanes" if same_bits else "dl_dtype_bits"
            assert found == {wrong}, kind


def test_the_table_is_the_documented_one():
    assert {tuple(k): int(t) for k, (t, profiles) in TYPES.items() if "cccl" in profiles} == DOCUMENTED


@pytest.mark.parametrize("bits, kind", [(8, TmaType.UINT8), (16, TmaType.UINT16)])
def test_short_integers_are_refused_by_libcudacxx_alone(bits, kind):
    tensor, box = as_wide(0, bits, 1)

    assert broken(tensor, box) == ["dl_dtype_bits"]
    for profile in ("driver", "documented", "hardware"):
        assert make_tma_descriptor(tensor, box, profile=profile).dtype == kind


@pytest.mark.parametrize(
    "code, fill_is_legal", [(0, False), (1, False), (2, True), (4, True), (6, False), *((c, False) for c in FP8)]
)
def test_nan_fills_what_is_a_float_in_the_map(code, fill_is_legal):
    bits = {0: 32, 1: 16, 2: 32, 4: 16}.get(code, 8)
    found = broken(*as_wide(code, bits, 1), oobfill=TmaOobFill.nan)

    assert found == ([] if fill_is_legal else ["nan_fill_of_floats"])


def test_element_types_by_name():
    assert [tuple(DLDataType.of(x)) for x in ("i32", "u8", "f16", "bf16", "bool", "e4m3", "ue8m0", "e2m1")] == [
        *((0, 32, 1), (1, 8, 1), (2, 16, 1), (4, 16, 1), (6, 8, 1), (10, 8, 1), (14, 8, 1), (17, 4, 16)),
    ]


# -- preconditions: one call on the boundary that is taken, one beyond that breaks one rule ------------------


def like(t, **changes):
    return replace(t, **changes)


WIDE = DLTensor((8, 4096), "f32", data=4096)
LONG = DLTensor((16, 2**32), "i32", data=4096)
FAR = DLTensor((16, 128), "i32", strides=(2**38 - 4, 1), data=4096)
U4 = DLTensor((8, 64), (C.kDLUInt, 4, 16), strides=(64, 1), data=4096)
ROWS = DLTensor((4096,), "u8", data=4096)
LOWER = {"interleave_layout": 32, "swizzle": 32}

PRECONDITIONS = [
    # rule, (call that is taken), (call that breaks it)
    ("dl_device_type", (like(F32, device=(2, 0)), (8, 8), {}), (like(F32, device=(1, 0)), (8, 8), {})),
    ("dl_device_type", (like(F32, device=(13, 0)), (8, 8), {}), (like(F32, device=(3, 0)), (8, 8), {})),
    ("dl_device_type", (like(F32, device=(2, 7)), (8, 8), {}), (like(F32, device=(10, 0)), (8, 8), {})),
    ("dl_device_id", (like(F32, device=(2, 0)), (8, 8), {}), (like(F32, device=(2, -1)), (8, 8), {})),
    ("dl_compute_capability", (F32, (8, 8), {"arch": SM90}), (F32, (8, 8), {"arch": SM80})),
    ("rank_range", (DLTensor((64,), "f32", data=16), (4,), {}), (DLTensor((), "f32", data=16), (), {})),
    ("rank_range", (DLTensor((4,) * 5, "f32", data=16), (4,) * 5, {}), (DLTensor((4,) * 6, "f32", data=16), (4,) * 6, {})),
    ("rank_of_interleave", (CUBE, (4, 4, 4), {"interleave_layout": 16}), (F32, (4, 4), {"interleave_layout": 16})),
    ("dl_data", (F32, (8, 8), {}), (like(F32, data=None), (8, 8), {})),
    ("global_address_nonnull", (like(F32, data=16), (8, 8), {}), (like(F32, data=0), (8, 8), {})),
    ("dl_byte_offset", (like(F32, data=16, byte_offset=16), (8, 8), {}), (like(F32, data=0, byte_offset=16), (8, 8), {})),
    ("global_address_alignment", (like(F32, data=4112), (8, 8), {}), (like(F32, data=4104), (8, 8), {})),
    ("global_address_alignment", (like(F32, data=4104, byte_offset=8), (8, 8), {}), (like(F32, byte_offset=8), (8, 8), {})),
    ("global_address_alignment", (like(CUBE, data=4128), (4, 4, 4), LOWER), (like(CUBE, data=4112), (4, 4, 4), LOWER)),
    ("global_dim_range", (like(F32, shape=(1, 64)), (1, 8), {}), (like(F32, shape=(0, 64)), (1, 8), {})),
    ("global_dim_range", (LONG, (16, 16), {}), (like(LONG, shape=(16, 2**32 + 4)), (16, 16), {})),
    ("stride_range", (FAR, (16, 16), {}), (like(FAR, strides=(2**38, 1)), (16, 16), {})),
    ("stride_unique", (like(F32, strides=(64, 1)), (8, 8), {}), (like(F32, strides=(60, 1)), (8, 8), {})),
    ("stride_unique", (like(F32, strides=(0, 1)), (8, 8), {}), (like(F32, strides=(4, 1)), (8, 8), {})),
    ("stride_multiple_16", (like(F32, strides=(68, 1)), (8, 8), {}), (like(F32, strides=(66, 1)), (8, 8), {})),
    (
        "stride_multiple_16",
        (like(CUBE, strides=(17408, 136, 1)), (4, 4, 4), LOWER),
        (like(CUBE, strides=(16896, 132, 1)), (4, 4, 4), LOWER),
    ),
    ("dl_inner_stride", (like(F32, strides=(64, 1)), (8, 8), {}), (like(F32, strides=(128, 2)), (8, 8), {})),
    ("dl_strides_null", (like(F32, version=(1, 1)), (8, 8), {}), (like(F32, version=(1, 2)), (8, 8), {})),
    ("dl_box_rank", (F32, (8, 8), {}), (F32, (8,), {})),
    ("dl_box_rank", (F32, (8, 8), {}), (F32, (8, 8, 8), {})),
    ("dl_elem_stride_rank", (F32, (8, 8), {"elem_strides": (1, 1)}), (F32, (8, 8), {"elem_strides": (1,)})),
    ("box_range", (F32, (1, 8), {}), (F32, (0, 8), {})),
    ("box_within_dim", (F32, (64, 8), {}), (F32, (65, 8), {})),
    ("box_within_dim", (F32, (1, 64), {}), (F32, (1, 68), {})),
    ("box_range", (like(ROWS, shape=(4096,)), (256,), {}), (ROWS, (272,), {})),
    ("box_fits_smem", (WIDE, (8, 256), {}), (DLTensor((512, 512), "f32", data=16), (256, 228), {})),
    ("box_inner_multiple_16", (F32, (8, 4), {}), (F32, (8, 3), {})),
    ("box_inner_multiple_16_interleaved", (CUBE, (4, 4, 4), {"interleave_layout": 16}), (CUBE, (4, 4, 3), {"interleave_layout": 16})),
    ("box_inner_span", (F32, (8, 8), {"swizzle": 32}), (F32, (8, 12), {"swizzle": 32})),
    ("box_inner_span", (F32, (8, 16), {"swizzle": 64}), (F32, (8, 20), {"swizzle": 64})),
    ("box_inner_span", (F32, (8, 32), {"swizzle": 128}), (F32, (8, 36), {"swizzle": 128})),
    ("box_inner_span", (WIDE, (8, 256), {"swizzle": 0}), (WIDE, (8, 256), {"swizzle": 128})),
    ("element_stride_range", (F32, (8, 8), {"elem_strides": (8, 1)}), (F32, (8, 8), {"elem_strides": (9, 1)})),
    ("element_stride_range", (F32, (8, 8), {"elem_strides": (1, 1)}), (F32, (8, 8), {"elem_strides": (0, 1)})),
    (
        "element_stride_within_dim",
        (like(F32, shape=(5, 64)), (5, 8), {"elem_strides": (5, 1)}),
        (like(F32, shape=(5, 64)), (5, 8), {"elem_strides": (6, 1)}),
    ),
    ("nan_fill_of_floats", (F32, (8, 8), {"oobfill": "nan"}), (like(F32, dtype="i32"), (8, 8), {"oobfill": "nan"})),
    ("interleave32_swizzle32", (CUBE, (4, 4, 4), LOWER), (CUBE, (4, 4, 4), {"interleave_layout": 32, "swizzle": 64})),
    ("swizzle_of_cc90", (F32, (8, 8), {"swizzle": 128}), (F32, (8, 8), {"swizzle": "bytes128_atom_64B"})),
    ("dtype_of_cc90", (U4, (8, 32), {"arch": SM100}), (U4, (8, 32), {"arch": SM90})),
    ("packed_dim0_multiple_2", (U4, (8, 32), {"arch": SM100}), (like(U4, shape=(8, 63)), (8, 32), {"arch": SM100})),
    ("dl_stride_whole_bytes", (U4, (8, 32), {"arch": SM100}), (like(U4, strides=(65, 1)), (8, 32), {"arch": SM100})),
    ("dl_dtype_code", (F32, (8, 8), {}), (like(F32, dtype=(C.kDLComplex, 32)), (8, 8), {})),
    ("dl_dtype_bits", (F32, (8, 8), {}), (like(F32, dtype=(C.kDLFloat, 8)), (8, 16), {})),
    ("dl_dtype_lanes", (F32, (8, 8), {}), (like(F32, dtype=(C.kDLFloat, 16, 2)), (8, 8), {})),
]  # fmt: skip


@pytest.mark.parametrize("rule, taken, refused", PRECONDITIONS)
def test_a_precondition_at_its_boundary_and_beyond(rule, taken, refused):
    (t, box, settings), (bad, bad_box, bad_settings) = taken, refused

    assert broken(t, box, **settings) == []
    assert broken(bad, bad_box, **bad_settings) == [rule]


def test_every_rule_of_the_profile_has_its_precondition():
    tested = {rule for rule, _, _ in PRECONDITIONS}
    no_call_makes = {
        *("interleave_enum", "l2_promotion_enum", "oob_fill_enum"),  # enumerators that the enumerations do not have
        "element_stride_inner_range",  # the entry is replaced by 1
        "box_fits_encode_limit",  # an element stride lowers it, and no larger box fits shared memory
        *(r.id for r in rules_of("cccl") if r.id.startswith("im2col")),
    }

    assert {r.id for r in rules_of("cccl")} | set(DL_RULES) == tested | no_call_makes
    assert tested & no_call_makes == set()


@pytest.mark.parametrize("swizzle", ["bytes128_atom_32B", "bytes128_atom_32B_flip_8B", "bytes128_atom_64B"])
def test_atom_swizzles_need_compute_capability_10(swizzle):
    assert broken(F32, (8, 8), swizzle=swizzle) == ["swizzle_of_cc90"]
    assert make_tma_descriptor(F32, (8, 8), swizzle=swizzle, arch=SM100).swizzle == TmaSwizzle[swizzle]


def test_the_hole_of_the_uniqueness_rule_is_the_documented_one():
    """A stride of 0 in the middle: what lies above it may overlap."""
    assert broken(DLTensor((4, 4, 64), "f16", strides=(8, 0, 1), data=4096), (1, 1, 64)) == []


def test_strides_of_an_extent_of_1_are_still_checked():
    """The innermost one aside, of which there is only one element."""
    cache = DLTensor((64, 16, 1, 64), "bf16", strides=(2048, 64, 1, 1), data=4096)

    assert broken(cache, (1, 16, 1, 64)) == ["stride_multiple_16", "stride_unique"]
    assert broken(replace(cache, strides=(2048, 64, 64, 1)), (1, 16, 1, 64)) == []
    assert broken(DLTensor((64, 1), "f32", strides=(4, 77), data=4096), (8, 4), profile="driver") == []


def test_calls_of_the_tests_of_libcudacxx():
    """Each of them must encode on a device of capability 9."""
    five = DLTensor((128,) * 5, "i32", strides=(128**4, 128**3, 128**2, 128, 1), data=4096)
    assert broken(five, (4,) * 5) == []
    four = DLTensor((128,) * 4, "i32", data=4096 + 16)
    assert broken(four, (4,) * 4, interleave_layout=16) == broken(four, (4,) * 4) == []
    assert broken(DLTensor((16, 2**32), "i32", strides=(2**32, 1), data=128), (16, 16)) == []
    for strides in ((2**38 - 4, 1), (0, 1), None):
        assert broken(DLTensor((16, 128), "i32", strides=strides, data=128), (16, 16)) == []
    for fill in ("none", "nan"):
        for l2 in (0, 64, 128, 256):
            for swizzle in (0, 32, 64, 128):
                t = DLTensor((128, 128), "f16", data=128)
                assert broken(t, (8, 8), swizzle=swizzle, l2_fetch_size=l2, oobfill=fill) == []


# -- one error for all of them ------------------------------------------------------------------------------


def test_all_violations_come_at_once_those_of_the_whole_first():
    t = DLTensor((100, 1001), "i8", device=(1, 0), data=4104)

    assert broken(t, (257, 1), (9, 1), interleave_layout=16) == [
        *("dl_device_type", "dl_dtype_bits", "rank_of_interleave", "global_address_alignment"),
        *(
            "stride_multiple_16",
            "element_stride_range",
            "box_range",
            "box_inner_multiple_16_interleaved",
            "box_within_dim",
        ),
    ]


def test_a_line_names_the_dimension_and_the_axis():
    with pytest.raises(LayoutError) as e:
        make_tma_descriptor(DLTensor((4, 100, 1001), "f16", data=4096, byte_offset=8), (1, 257, 64))

    assert str(e.value).splitlines() == [
        "global_address_alignment: expected the global address to be a multiple of 16 bytes, got 4104 (256*16 + 8) = data "
        "4096 + byte_offset 8 bytes; start at an aligned element and offset by coordinates instead",
        "stride_multiple_16: expected each global stride to be a multiple of 16 bytes, got 2002 (125*16 + 2) bytes in the "
        "stride of dimension 1 (axis 1); pad the rows to 2016 bytes, the extent may stay",
        "stride_multiple_16: expected each global stride to be a multiple of 16 bytes, got 200200 (12512*16 + 8) bytes in "
        "the stride of dimension 2 (axis 0); pad the rows to 200208 bytes, the extent may stay",
        "box_range: expected each box dimension to be in 1 .. 256 elements, got 257 elements in dimension 1 (axis 1); copy "
        "2 boxes of at most 129",
        "box_within_dim: expected each box dimension to be at most 100 elements, got 257 elements in dimension 1 (axis 1); "
        "at least 157 of 257 are filled; the driver accepts it",
    ]


@pytest.mark.parametrize(
    "t, box, settings, advice",
    [
        (DLTensor((4,) * 6, "f32", data=16), (4,) * 6, {}, "dimensions 0 and 1 are one of 16 elements: merge them"),
        (F32, (8, 3), {}, "take 4 elements"),
        (F32, (8, 6), {}, "take 4 or 8 elements"),
        (F32, (8, 40), {"swizzle": 128}, "copy 2 boxes of at most 32 elements, or take a wider swizzle"),
        (ROWS, (512,), {}, "copy 2 boxes of 256"),
        (DLTensor((8, 1, 8), "f16", strides=(8, 1, 1), data=16), (1, 1, 8), {}, "the dimension has size 1, so no copy uses its stride: give 0"),
        (like(F32, strides=(16, 1)), (8, 8), {}, "coordinates (16,0) and (0,1) are one element"),
        (DLTensor((256, 256), "f32", data=16), (256, 256), {}, "a copy lands 262144 bytes"),
        (DLTensor((8, 64), "e4m3", data=16), (8, 16), {"oobfill": "nan"}, "fp8 travels as u8, which has no NaN"),
    ],
)  # fmt: skip
def test_fixes_are_in_the_numbers_of_the_call(t, box, settings, advice):
    with pytest.raises(LayoutError) as e:
        make_tma_descriptor(t, box, **settings)

    assert advice in str(e.value)


def test_a_box_of_another_rank_does_not_hide_what_is_wrong_with_the_tensor():
    assert broken(DLTensor((8, 1001), "f16", data=4104), (8, 8, 8)) == [
        *("dl_box_rank", "global_address_alignment", "stride_multiple_16"),
    ]


def test_what_libcudacxx_accepts_the_driver_accepts():
    """Nothing that the encode call would refuse passes in silence."""
    rng = random.Random(7)
    taken = 0
    for _ in range(3000):
        rank = rng.choice([1, 2, 2, 3, 4, 5, 6])
        shape = (*rng.choices([1, 4, 8, 12, 100, 256], k=rank - 1), rng.choice([16, 32, 64, 100, 256]))
        dtype = rng.choice(["u8", "f16", "bf16", "f32", "i64", "e4m3"])
        t = DLTensor(shape, dtype, data=rng.choice([16, 32, 32, 64, 4096, 40]))
        if rng.random() < 0.3:
            t = replace(t, strides=(*(d + rng.choice([0, 0, 8, 16]) for d in t.element_strides[:-1]), 1))
        box = (
            *(min(n, rng.choice([1, 2, 4, 64])) for n in shape[:-1]),
            min(shape[-1], rng.choice([4, 8, 16, 32, 256])),
        )
        every = tuple(min(n, rng.choice([1, 1, 1, 2, 8, 9])) for n in shape)
        picked = {
            "swizzle": rng.choice([0, 0, 1, 2, 3, 5]),
            "interleave_layout": rng.choice([0, 0, 1, 2]),
            "oobfill": rng.choice([0, 0, 1]),
        }
        settings = {k: list(kind)[picked[k]] for k, kind in ENUMS.items()}
        try:
            m = make_tma_descriptor(t, box, every, **settings)
        except LayoutError:
            continue
        taken += 1
        assert violations(m, "driver") == []

    assert taken > 200


ENUMS = {"swizzle": TmaSwizzle, "interleave_layout": TmaInterleaveLayout, "oobfill": TmaOobFill}
