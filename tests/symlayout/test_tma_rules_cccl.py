"""What documents, libcu++ and the driver say of the same map, and one map for each rule that breaks it alone.

The rows are maps at the boundaries of the rules, each with three verdicts: A accepted, R refused; the driver is that of
CUDA 13.0 on compute capability 9.0. A row names the rule on which it turns.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from symlayout import dim, dims
from symlayout.rules import broken
from symlayout.rules import rule as engine
from symlayout.rules.readings import box_bytes, encoded_bytes, least_stride
from symlayout.rules.tma import BY_ID, RULES, lints, rules_of, violations
from symlayout.rules.tma import PROFILES as PROFILE_NAMES
from symlayout.tma import Im2col, TensorMap, TmaSwizzle, TmaType
from symlayout.tma.recorded import columns, tensor_map

U8, I32, F16, F32, F64, TF32, U4A8, U4A16, U6A16 = 0, 3, 6, 7, 8, 11, 13, 14, 15


def tiled(dtype, dim, stride, box, estride=None, interleave=0, swizzle=0, oob=0, addr=0):
    estride = estride or [1] * len(dim)
    return {
        **{"mode": "tiled", "dtype": dtype, "rank": len(dim), "addr": addr, "dim": dim, "stride": stride, "box": box},
        **{"estride": estride, "interleave": interleave, "swizzle": swizzle, "l2": 0, "oob": oob},
    }


def im2col(dtype=F16, dim=(64, 56, 56, 8), channels=64, pixels=128, lower=(-1, -1), upper=(-1, -1), swizzle=3):
    size = {U8: 1, F16: 2}[dtype]
    stride = [size * int(np.prod(dim[: i + 1])) for i in range(len(dim) - 1)]
    return {
        **{"mode": "im2col", "dtype": dtype, "rank": len(dim), "addr": 0, "dim": list(dim), "stride": stride},
        **{"estride": [1] * len(dim), "interleave": 0, "swizzle": swizzle, "l2": 0, "oob": 0},
        **{"lower": list(lower), "upper": list(upper), "channels": channels, "pixels": pixels},
    }


CUBE = (I32, [128, 128, 128], [512, 65536])
Q = 2**40

# number: (map, documented, cccl, driver, the rule that decides); "" where all accept
TABLE = {
    1: (tiled(F16, [1024, 1024], [2048], [64, 128], swizzle=3), "AAA", ""),
    2: (tiled(F32, [256], [], [256]), "AAA", ""),
    3: (tiled(F32, [1024], [], [260]), "RRR", "box_range"),
    4: (tiled(F16, [1024, 1024], [2048], [64, 256], swizzle=3), "AAA", ""),
    5: (tiled(F16, [1024, 1024], [2048], [64, 257], swizzle=3), "RRR", "box_range"),
    6: (tiled(F16, [1024, 1024], [2048], [64, 0], swizzle=3), "RRR", "box_range"),
    7: (tiled(F16, [], [], []), "RRR", "rank_range"),
    8: (tiled(F16, [64, 8, 8, 8, 8], [128, 1024, 8192, 65536], [64, 8, 1, 1, 1], swizzle=3), "AAA", ""),
    9: (tiled(F16, [64, 8, 8, 8, 8, 2], [128, 1024, 8192, 65536, 524288], [64, 8, 1, 1, 1, 1], swizzle=3), "RRR", "rank_range"),
    10: (tiled(F16, [1024, 64], [2048], [64, 8], swizzle=3, addr=16), "AAA", ""),
    11: (tiled(F16, [1024, 64], [2048], [64, 8], addr=8), "RRR", "global_address_alignment"),
    12: (tiled(F16, [64, 8, 8], [128, 1024], [16, 1, 1], interleave=2, swizzle=1, addr=16), "RRR", "global_address_alignment"),
    13: (tiled(F16, [64, 8, 8], [128, 1024], [16, 1, 1], interleave=2, swizzle=1, addr=32), "AAA", ""),
    14: (tiled(F16, [1000, 64], [2000], [64, 8], swizzle=3), "AAA", ""),
    15: (tiled(F16, [1001, 64], [2002], [64, 8], swizzle=3), "RRR", "stride_multiple_16"),
    16: (tiled(F16, [1001, 64], [2016], [64, 8], swizzle=3), "AAA", ""),
    17: (tiled(F16, [64, 8, 8], [144, 1152], [16, 1, 1], interleave=2, swizzle=1), "RRR", "stride_multiple_16"),
    18: (tiled(I32, [128, 16], [Q - 16], [16, 16]), "AAA", ""),
    19: (tiled(I32, [128, 16], [Q], [16, 16]), "RRR", "stride_range"),
    20: (tiled(I32, [2**32, 16], [2**34], [16, 16]), "AAA", ""),
    21: (tiled(I32, [2**32 + 4, 16], [2**35], [16, 16]), "RRR", "global_dim_range"),
    22: (tiled(I32, [0, 16], [1024], [16, 16]), "RRR", "global_dim_range box_within_dim"),
    23: (tiled(I32, [64, 1], [256], [16, 1]), "AAA", ""),
    24: (tiled(F32, [64, 64], [256], [4, 8]), "AAA", ""),
    25: (tiled(F32, [64, 64], [256], [3, 8]), "RRR", "box_inner_multiple_16"),
    26: (tiled(F32, [64, 64], [256], [5, 8]), "RRR", "box_inner_multiple_16"),
    27: (tiled(U8, [64, 64], [64], [16, 8], swizzle=1), "AAA", ""),
    28: (tiled(F16, [64, 64], [128], [16, 8], swizzle=1), "AAA", ""),
    29: (tiled(F16, [64, 64], [128], [24, 8], swizzle=1), "RRR", "box_inner_span"),
    30: (tiled(F16, [64, 64], [128], [32, 8], swizzle=2), "AAA", ""),
    31: (tiled(F16, [64, 64], [128], [40, 8], swizzle=2), "RRR", "box_inner_span"),
    32: (tiled(F16, [128, 64], [256], [64, 8], swizzle=3), "AAA", ""),
    33: (tiled(F16, [128, 64], [256], [72, 8], swizzle=3), "RRR", "box_inner_span"),
    34: (tiled(F64, [512, 64], [4096], [256, 8]), "AAA", ""),
    35: (tiled(F16, [64, 64], [128], [8, 8], interleave=1), "RRR", "rank_of_interleave"),
    36: (tiled(*CUBE, [4, 4, 4], interleave=1), "AAA", ""),
    37: (tiled(*CUBE, [4, 4, 4], interleave=1, swizzle=3), "AAA", ""),
    38: (tiled(*CUBE, [4, 4, 4], interleave=2, swizzle=1), "AAA", ""),
    39: (tiled(*CUBE, [4, 4, 4], interleave=2, swizzle=0), "RRA", "interleave32_swizzle32"),
    40: (tiled(*CUBE, [4, 4, 4], interleave=2, swizzle=3), "RRA", "interleave32_swizzle32"),
    41: (tiled(*CUBE, [16, 16, 16], [1, 8, 8]), "AAA", ""),
    42: (tiled(*CUBE, [16, 16, 16], [1, 9, 1]), "RRR", "element_stride_range"),
    43: (tiled(*CUBE, [16, 16, 16], [1, 0, 1]), "RRR", "element_stride_range"),
    44: (tiled(*CUBE, [16, 16, 16], [8, 8, 8], interleave=1), "AAA", ""),
    45: (tiled(F32, [64, 64], [256], [8, 8], oob=1), "AAA", ""),
    46: (tiled(F64, [64, 64], [512], [8, 8], oob=1), "AAA", ""),
    47: (tiled(I32, [64, 64], [256], [8, 8], oob=1), "RRR", "nan_fill_of_floats"),
    48: (tiled(U8, [64, 64], [64], [16, 8], oob=1), "RRR", "nan_fill_of_floats"),
    49: (tiled(TF32, [64, 64], [256], [8, 8], oob=1), "AAA", ""),
    50: (tiled(16, [64, 64], [256], [16, 8]), "RRR", "dtype_enum dtype_of_cc90"),
    51: (tiled(F16, [64, 64, 1], [128, 8192], [8, 8, 1], interleave=3), "RRR", "interleave_enum"),
    52: (tiled(F16, [64, 64], [128], [8, 8], swizzle=7), "RRR", "swizzle_enum swizzle_of_cc90"),
    53: (tiled(U4A8, [64, 64], [32], [32, 8]), "ARR", "dtype_of_cc90"),
    54: (tiled(U4A8, [65, 64], [48], [32, 8]), "RRR", "packed_dim0_multiple_2"),
    55: (tiled(U4A16, [256, 64], [128], [128, 8], swizzle=3), "ARR", "dtype_of_cc90"),
    56: (tiled(U4A16, [192, 64], [96], [128, 8], swizzle=3), "RRR", "packed_dim0_multiple_128"),
    57: (tiled(U4A16, [256, 64], [128], [64, 8], swizzle=3), "RRR", "packed_box_128"),
    58: (tiled(U4A16, [256, 64], [128], [128, 8], swizzle=3, addr=16), "RRR", "packed_address_multiple_32"),
    59: (tiled(U4A16, [256, 64], [144], [128, 8], swizzle=3), "RRR", "packed_stride_multiple_32"),
    60: (tiled(U6A16, [256, 64], [192], [128, 8], swizzle=2), "RRR", "packed_u6_swizzle box_inner_span"),
    61: (tiled(U6A16, [256, 64, 8], [192, 12288], [128, 8, 1], interleave=1), "RRR", "packed_u6_not_interleaved"),
    62: (im2col(), "AAA", ""),
    63: (im2col(pixels=1024, lower=(-128, -1), upper=(127, -1)), "AAA", ""),
    64: (im2col(lower=(-129, -1)), "RRR", "im2col_lower_corner_range"),
    65: (im2col(dim=(64, 16, 16, 16, 2), lower=(-17, 0, 0), upper=(0, 0, 0)), "RRR", "im2col_lower_corner_range"),
    66: (im2col(dim=(64, 56, 8), lower=(-32768,), upper=(32767,)), "AAA", ""),
    67: (im2col(dim=(64, 56), lower=(), upper=()), "RRR", "im2col_rank"),
    68: (im2col(pixels=1025), "RRR", "im2col_pixels"),
    69: (im2col(U8, (512, 8, 8, 2), channels=272, swizzle=0), "RRR", "im2col_channels"),
    70: (im2col(channels=72), "RRR", "im2col_inner_span"),
    71: (tiled(F16, [64, 16], [128], [64, 64], swizzle=3), "ARA", "box_within_dim"),
    72: (tiled(F16, [64, 4], [128], [64, 4], [1, 8]), "ARA", "element_stride_within_dim"),
    73: (tiled(F16, [64, 1024, 16], [2048, 128], [64, 128, 1], swizzle=3), "ARA", "stride_unique"),
    74: (tiled(F32, [64, 64], [64], [8, 8]), "ARA", "stride_unique"),
    75: (tiled(F32, [256, 256], [1024], [256, 256]), "ARR", "box_fits_smem box_fits_encode_limit"),
    175: (tiled(F32, [256, 256], [1024], [256, 256], [1, 2]), "ARA", "box_fits_smem"),
    76: (tiled(F32, [64, 16], [0], [8, 8]), "AAA", ""),
    77: (tiled(F16, [64, 4, 4], [0, 16], [64, 1, 1]), "AAA", ""),
    79: (tiled(F32, [64, 64], [256], [8, 8], swizzle=4), "ARR", "swizzle_of_cc90"),
    80: (tiled(U4A8, [64, 64], [32], [32, 8]), "ARR", "dtype_of_cc90"),
    # what the documents leave open and the driver decides
    81: (tiled(*CUBE, [3, 4, 4], interleave=1), "ARR", "box_inner_multiple_16_interleaved"),
    82: (tiled(F32, [64, 64], [256], [8, 8], [9, 1]), "ARR", "element_stride_inner_range"),
    83: (tiled(F32, [64, 64], [256], [8, 8], [2, 1]), "AAA", ""),
    84: (im2col(U8, (512, 8, 8, 2), channels=8, swizzle=0), "ARR", "im2col_inner_multiple_16"),
    85: (im2col(dim=(64, 2**31, 8), lower=(0,), upper=(0,)), "ARR", "im2col_box_nonempty"),
    86: (im2col(dim=(64, 56, 8), lower=(0,), upper=(-56,)), "RRR", "im2col_area im2col_box_nonempty"),
}  # fmt: skip
PROFILES = ("documented", "cccl", "driver")
# A row's address counts from an aligned one, and 0 stands for that, not for null.
RULES_OF = {p: [r for r in rules_of(p) if r.id != "global_address_nonnull"] for p in PROFILES}


@pytest.mark.parametrize("number", TABLE)
def test_the_three_verdicts(number):
    row, verdicts, deciding = TABLE[number]
    call = columns([row]).row(0)
    found = {p: {v.rule.id for v in engine.violations(call, RULES_OF[p])} for p in PROFILES}

    # what refuses the packed types on capability 9 is not what the row is about
    packed = {"dtype_of_cc90"} if row["dtype"] in (U4A8, U4A16, U6A16) else set()
    assert "".join("R" if found[p] else "A" for p in PROFILES) == verdicts
    assert set(deciding.split()) <= set().union(*found.values()) <= set(deciding.split()) | packed


def test_all_at_once_agrees_with_one_at_a_time():
    table = columns([row for row, _, _ in TABLE.values()])
    for p in PROFILES:
        bad = broken(table, RULES_OF[p])
        for i, number in enumerate(TABLE):
            alone = {v.rule.id for v in engine.violations(table.row(i), RULES_OF[p])}
            assert {name for name, rows in bad.items() if rows[i]} == alone, (p, number)


@pytest.mark.parametrize(
    "number",
    [
        n
        for n, (row, _, _) in TABLE.items()
        if row["dtype"] <= 15 and max(row["swizzle"] - 6, row["interleave"] - 2) <= 0
    ],
)
def test_a_tensor_map_is_judged_like_its_row(number):
    """67 has no box of positions at all, and is a map nevertheless."""
    row, _, _ = TABLE[number]
    call, made = columns([row]).row(0), tensor_map(row)
    for p in PROFILES:
        mine = [(v.rule.id, v.place) for v in engine.violations(call, RULES_OF[p])]
        assert [(v.rule.id, v.place) for v in engine.violations(made, RULES_OF[p])] == mine
    if made.rank in (1, 2, 3, 4, 5) and 0 not in made.element_stride:
        assert made.landed_bytes == call.landed_bytes


def test_what_libcudacxx_or_hardware_take_the_driver_takes():
    for p in ("cccl", "hardware"):
        assert {r.id for r in rules_of("driver")} <= {r.id for r in rules_of(p)}


# -- one map for each rule ----------------------------------------------------------------------------------

TILE = TensorMap("f16", 4096, (1024, 1024), (2048,), (64, 128), swizzle=128)
BOX3 = TensorMap("i32", 4096, (128, 128, 128), (512, 65536), (4, 4, 4))
SLICES = TensorMap("f16", 4096, (16, 6, 4, 2), (256, 1536, 6144), (8, 2, 1, 1), interleave=16)
PACKED8 = TensorMap(TmaType.PACKED_16U4_ALIGN8B, 4096, (64, 64), (32,), (32, 8))
PACKED = TensorMap(TmaType.PACKED_16U4_ALIGN16B, 4096, (256, 64), (128,), (128, 8))
PACKED6 = TensorMap(TmaType.PACKED_16U6_ALIGN16B, 4096, (256, 64, 8), (192, 12288), (128, 8, 1))
PIXELS = TensorMap("f16", 4096, (64, 56, 8), (128, 7168), swizzle=128, im2col=Im2col((-1,), (-1,), 64, 128))
PACKED_PIXELS = TensorMap(
    TmaType.PACKED_16U4_ALIGN16B, 4096, (256, 56, 8), (128, 7168), im2col=Im2col((-1,), (-1,), 128, 128)
)

# rule: (profile, a map that keeps every rule of it, the change that breaks this one alone)
BREAKS = {
    "interleave32_swizzle32": ("cccl", replace(BOX3, interleave=32, swizzle=32), {"swizzle": 64}),
    "global_address_nonnull": ("cccl", TILE, {"global_address": 0}),
    "stride_unique": ("cccl", TILE, {"global_stride_bytes": (2032,)}),
    "box_within_dim": ("cccl", TILE, {"global_dim": (1024, 127)}),
    "element_stride_within_dim": ("cccl", replace(TILE, global_dim=(1024, 5), box_dim=(64, 5)), {"element_stride": (1, 6)}),
    "box_fits_smem": ("cccl", BOX3, {"box_dim": (64, 64, 16), "element_stride": (1, 1, 2)}),
    "packed_dim0_multiple_2": ("documented", PACKED8, {"global_dim": (63, 64)}),
    "dtype_enum": ("documented", TILE, {"dtype": 16}),
    "swizzle_enum": ("documented", TILE, {"swizzle": 7}),
    "packed_u6_not_interleaved": ("documented", PACKED6, {"interleave": 16}),
    "packed_u4_swizzle": ("documented", PACKED, {"swizzle": TmaSwizzle.bytes128_atom_64B}),
    "packed_u6_swizzle": ("documented", PACKED6, {"swizzle": TmaSwizzle.bytes128_atom_32B_flip_8B}),
    "packed_address_multiple_32": ("documented", PACKED, {"global_address": 16}),
    "packed_dim0_multiple_128": ("documented", PACKED, {"global_dim": (192, 64)}),
    "packed_stride_multiple_32": ("documented", PACKED, {"global_stride_bytes": (144,)}),
    "packed_box_multiple_32": ("documented", PACKED8, {"box_dim": (31, 8)}),
    "packed_box_128": ("documented", PACKED, {"box_dim": (64, 8)}),
    "packed_channels_128": ("documented", PACKED_PIXELS, {"im2col": Im2col((-1,), (-1,), 64, 128)}),
    "im2col_area": ("documented", PIXELS, {"im2col": Im2col((0,), (-56,), 64, 128)}),
    "landed_fits_smem": ("hardware", replace(BOX3, box_dim=(4, 64, 16), swizzle=128), {"box_dim": (4, 128, 16)}),
    "element_stride_one_step": ("lint", TILE, {"box_dim": (64, 8), "element_stride": (1, 8)}),
    "element_stride_divides_box": ("lint", TILE, {"element_stride": (1, 3)}),
    "element_stride0_ignored": ("lint", TILE, {"element_stride": (2, 1)}),
    "interleave_one_slice": ("lint", SLICES, {"box_dim": (8, 2, 2, 1)}),
    "row_multiple_16": ("lint", TILE, {"global_dim": (1001, 1024)}),
    "narrow_swizzled_row": ("lint", TILE, {"box_dim": (32, 128)}),
    "dim_reach": ("lint", TILE, {"global_dim": (1024, 2**31 + 1)}),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_one_map_breaks_one_rule(name):
    profile, base, change = BREAKS[name]
    rules = rules_of(profile)

    assert engine.violations(base, rules) == []
    if change.get("dtype") == 16 or change.get("swizzle") == 7:  # what no TensorMap can hold
        row = {**TABLE[1][0], "addr": 4096, **change}
        assert {v.rule.id for v in engine.violations(columns([row]).row(0), rules)} == {name}
        return
    [v] = engine.violations(replace(base, **change), rules)
    assert v.rule.id == name
    assert str(v).startswith(f"{name}: expected ")


def test_every_rule_beyond_the_driver_has_its_map():
    assert set(BREAKS) == {r.id for r in RULES if "driver" not in r.profiles}


@pytest.mark.parametrize(
    "m, ids",
    [
        (TILE, set()),
        (SLICES, set()),
        (PIXELS, set()),
        (replace(SLICES, element_stride=(8, 1, 1, 1)), {"element_stride_one_step"}),
        (replace(SLICES, element_stride=(2, 1, 5, 1)), set()),
        (replace(SLICES, element_stride=(3, 1, 1, 1)), {"element_stride_divides_box"}),
        (replace(TILE, box_dim=(64, 6), element_stride=(1, 3)), set()),
        (replace(TILE, box_dim=(64, 6), element_stride=(1, 8)), {"element_stride_one_step"}),
        (replace(TILE, box_dim=(64, 1), element_stride=(1, 8)), set()),
        (replace(TILE, global_dim=(1024, 100)), {"box_within_dim"}),
        (replace(TILE, global_dim=(1020, 100)), {"box_within_dim", "row_multiple_16"}),
        (replace(TILE, global_dim=(1024, 2**31)), set()),
        (replace(TILE, box_dim=(32, 128), swizzle="none"), set()),
        (replace(PIXELS, im2col=Im2col((-1,), (-1,), 32, 128)), {"narrow_swizzled_row"}),
        (replace(BOX3, global_dim=(3, 128, 128)), {"box_within_dim", "row_multiple_16"}),
    ],
)
def test_lints(m, ids):
    assert {v.rule.id for v in lints(m)} == ids


def test_a_lint_says_what_lands():
    [v] = lints(TensorMap("f32", 0, (64, 64), (256,), (8, 8), (1, 8)))

    assert str(v) == (
        "element_stride_one_step: expected the steps of a copy to be at least 2, got 1 in dimension 1; one row of 8 lands: "
        "32 bytes, not 256"
    )


def test_lints_of_symbols_are_those_of_all_sizes():
    M, N = dims("M N")
    few = dim("few", at_most=100)
    m = TensorMap("bf16", 0, (N, M), (2 * N,), (64, 128), swizzle=128)

    assert lints(m) == []
    assert [v.rule.id for v in lints(replace(m, global_dim=(8 * N + 1, few)))] == ["box_within_dim", "row_multiple_16"]


# -- symbols: the same rows as facts ------------------------------------------------------------------------


def test_rules_with_symbolic_bounds_are_facts():
    M, N = dims("M N")
    m = TensorMap("bf16", 4096, (N, M), (2 * N,), (64, 128), (1, 2), swizzle=128)
    found = {(r.id, i): tuple(map(str, made)) for r, i, _, made in engine.facts(m, rules_of("cccl")) if made}

    assert found["box_within_dim", 0] == ("N >= 64",)
    assert found["box_within_dim", 1] == ("M >= 128",)
    assert found["element_stride_within_dim", 1] == ("M >= 2",)
    assert found["stride_multiple_16", 0] == ("(2*N) % 16 == 0",)
    assert ("box_fits_smem", 0) not in found


@pytest.mark.parametrize(
    "rule, change, answer",
    [
        ("box_within_dim", {}, None),
        ("box_within_dim", {"box_dim": (1, 1)}, True),
        ("stride_unique", {}, True),
        ("stride_unique", {"global_stride_bytes": (2 * dim("N") - 2,)}, False),
        ("stride_multiple_16", {}, None),
        ("stride_multiple_16", {"global_stride_bytes": (16 * dim("N"),)}, True),
        ("stride_multiple_16", {"global_stride_bytes": (16 * dim("N") + 8,)}, False),
        ("stride_multiple_16", {"global_stride_bytes": (12 * dim("N") + 2,)}, False),
        ("stride_multiple_16", {"global_stride_bytes": (12 * dim("N") + 4,)}, None),
        ("box_fits_smem", {"box_dim": (64, dim("rows", at_most=1816))}, True),
        ("box_fits_smem", {"box_dim": (64, dim("rows", at_least=1817))}, False),
    ],
)
def test_what_symbols_decide(rule, change, answer):
    M, N = dims("M N")
    m = replace(TensorMap("bf16", 4096, (N, M), (2 * N,), (64, 128), swizzle=128), **change)
    row = BY_ID[rule]
    answers = [engine.holds(row, m, i, x) for i, x in row.places(m)]

    assert (False if False in answers else None if None in answers else True) == answer


def test_numbers_and_symbols_at_these_numbers_agree():
    M, N, b = dims("M N b")
    m = TensorMap("f32", 4096, (N, M), (4 * N,), (b, 8), (1, 2))
    for sizes in ((64, 64, 8), (4, 64, 8), (64, 7, 8), (64, 64, 260), (63, 64, 4), (64, 1, 64)):
        at = dict(zip((N, M, b), sizes, strict=True))
        numbers = {(v.rule.id, v.place) for v in violations(m.subs(at), "cccl")}
        facts = {
            (r.id, i)
            for r, i, x, made in engine.facts(m, rules_of("cccl"))
            if not (all(f.at({s.name: v for s, v in at.items()} | at) for f in made) if made else r.must.holds(x, m, i))
        }
        assert facts == numbers, sizes


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_symbols_everywhere_are_read(profile):
    """Nothing fails for all sizes where everything is free."""
    N, M, b, e, a = dims("N M b e a")
    s = dim("s", at_least=0)
    corner = dim("corner", at_least=-8, at_most=0)

    for m in (
        TensorMap("f16", a, (N, M), (s,), (b, b), (e, e), swizzle=128),
        TensorMap("f16", a, (N, M, M), (s, s), (b, b, b), (e, e, e), interleave=16),
        TensorMap("f16", a, (N, M, M), (s, s), (), (e, e, e), im2col=Im2col((corner,), (corner,), b, b)),
    ):
        assert engine.violations(m, rules_of(profile)) == []
        assert len(list(engine.facts(m, rules_of(profile)))) > 0


# -- readings in columns do not wrap ------------------------------------------------------------------------


def test_products_past_64_bits_stay_large():
    huge = tiled(F64, [2**32, 2**32, 16], [2**39, Q - 16], [256, 256, 256])
    table = columns([huge, {**huge, "box": [2**62, 2**62, 4]}, {**huge, "dim": [2**63 - 1] * 3}])

    assert least_stride(table, 1).min() >= 2**62
    assert box_bytes(table)[0] == 8 * 256**3
    assert box_bytes(table)[1] >= 2**59
    for p in PROFILES:
        assert {"stride_unique"} & {n for n, rows in broken(table, rules_of(p)).items() if rows.all()} == (
            {"stride_unique"} if p == "cccl" else set()
        )


def test_the_driver_sums_boxes_in_its_own_way():
    m = TensorMap("f32", 0, (256, 256), (1024,), (256, 256), (1, 2))

    assert encoded_bytes(m) == 4 * 256 * 128
    assert box_bytes(m) == 4 * 256 * 256
    assert m.landed_bytes == 4 * 256 * 128
