"""Every rule of a tensor copy: a copy that breaks it, and its nearest neighbour that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from symlayout import LayoutError, dims
from symlayout.facts import Facts
from symlayout.rules import facts
from symlayout.rules.tma_copy import BY_ID, PROFILES, RULES, TensorCopy, rules_of, violations
from symlayout.tma import Im2col, TensorMap

TILED = TensorMap("f16", 0, (64, 16), (256,), (16, 4), swizzle=64)
STRIDED = replace(TILED, box_dim=(16, 6))
INTERLEAVED = TensorMap("f16", 0, (16, 6, 4, 2), (256, 1536, 6144), (8, 2, 1, 1), interleave=16)
PAIRS = TensorMap("f16", 0, (16, 6, 4, 2), (256, 1536, 6144), (8, 2, 1, 1), interleave=32, swizzle=32)
IM2COL = TensorMap("f16", 0, (8, 6, 3), (16, 96), (), im2col=Im2col((-1,), (1,), 8, 4))
INNER = replace(IM2COL, im2col=Im2col((1,), (-1,), 8, 4))
SLICES = replace(IM2COL, global_dim=(6, 3, 2), interleave=16, im2col=Im2col((0,), (0,), 8, 4))
VOLUME = TensorMap("f16", 0, (8, 6, 6, 6, 3), (16, 96, 576, 3456), (), im2col=Im2col((0, 0, 0), (0, 0, 0), 8, 4))


def load(m: TensorMap, *coordinate: int, at: int = 0, offsets: tuple = (), **changes) -> TensorCopy:
    return TensorCopy(replace(m, **changes), coordinate, at, "load", offsets)


def store(m: TensorMap, *coordinate: int, at: int = 0, **changes) -> TensorCopy:
    return TensorCopy(replace(m, **changes), coordinate, at, "store")


def reduction(op: str, at: int = 0, **changes) -> TensorCopy:
    return TensorCopy(replace(TILED, **{"box_dim": (8, 4), **changes}), (0, 0), at, "reduce", op=op)


def issued(m: TensorMap, instruction: str) -> TensorCopy:
    return TensorCopy(m, (0,) * m.rank, 0, instruction=instruction)


# rule: (breaks it, keeps it), as often as there is something to say
CASES = (
    ("coord0_multiple_16", load(TILED, 4, 0), load(TILED, 8, 0)),
    ("coord0_multiple_16", load(TILED, -4, 0), load(TILED, -8, 0)),
    ("coord0_multiple_16", load(IM2COL, 4, 0, 0), load(IM2COL, 8, 0, 0)),
    ("coord0_multiple_16", store(TILED, 100, 0), store(TILED, 104, 0)),
    ("coord0_multiple_16", load(TILED, 1, 0), load(INTERLEAVED, 1, 0, 0, 0)),
    ("smem_alignment_128", load(TILED, 0, 0, at=64), load(TILED, 0, 0, at=128)),
    ("smem_alignment_128", load(INTERLEAVED, 0, 0, 0, 0, at=16), load(INTERLEAVED, 0, 0, 0, 0)),
    ("store_coordinate_nonnegative", store(TILED, 0, -1), store(TILED, 0, 0)),
    ("store_coordinate_nonnegative", store(TILED, -8, 0), load(TILED, -8, 0)),
    ("coordinate_int32", load(TILED, 0, 2**31), load(TILED, 0, 2**31 - 1)),
    ("coordinate_int32", load(TILED, 0, -(2**31) - 1), load(TILED, 0, -(2**31))),
    ("im2col_offset_range", load(IM2COL, 0, 0, 0, offsets=(65536,)), load(IM2COL, 0, 0, 0, offsets=(65535,))),
    ("im2col_offset_range", load(IM2COL, 0, 0, 0, offsets=(-1,)), load(IM2COL, 0, 0, 0)),
    ("im2col_offset_range", load(VOLUME, *[0] * 5, offsets=(0, 0, 32)), load(VOLUME, *[0] * 5, offsets=(31, 31, 31))),
    ("smem_alignment_128", store(TILED, 0, 0, at=64), store(TILED, 0, 0, at=128)),
    ("smem_alignment_128", reduction("add", at=16), reduction("add", at=0)),
    ("extent_2_31", load(TILED, 0, 0, global_dim=(64, 2**31 + 1)), load(TILED, 0, 0, global_dim=(64, 2**31))),
    ("extent_2_31", load(TILED, 0, 0, global_dim=(2**32, 16)), load(TILED, 0, 0, global_dim=(2**31, 16))),
    ("extent_2_31", store(TILED, 0, 0, global_dim=(64, 2**31 + 1)), store(TILED, 0, 0, global_dim=(64, 2**31))),
    ("instruction_rank", issued(TILED, "3d"), issued(TILED, "2d")),
    ("instruction_rank", issued(IM2COL, "5d.im2col"), issued(IM2COL, "3d.im2col_no_offs")),
    ("instruction_mode", issued(IM2COL, "3d.tile"), issued(IM2COL, "3d.im2col")),
    ("instruction_mode", issued(VOLUME, "5d"), issued(VOLUME, "")),
    ("im2col_start_in_corners", load(IM2COL, 0, -2, 0), load(IM2COL, 0, -1, 0)),
    ("im2col_start_in_corners", load(IM2COL, 0, 7, 0), load(IM2COL, 0, 6, 0)),
    ("im2col_start_in_corners", load(SLICES, -1, 0, 0), load(SLICES, 0, 0, 0)),
    ("im2col_start_in_corners", load(SLICES, 6, 0, 0), load(SLICES, 5, 9, 0)),
    ("im2col_store_lower_corner", store(IM2COL, 0, 0, 0), store(INNER, 0, 1, 0)),
    ("im2col_store_lower_corner", store(IM2COL, 0, 0, 0), load(IM2COL, 0, 0, 0)),
    ("im2col_store_upper_corner", store(IM2COL, 0, 0, 0), store(INNER, 0, 1, 0)),
    ("reduction_type", reduction("add", dtype="i64"), reduction("add", dtype="u64")),
    ("reduction_type", reduction("add", dtype="u8", box_dim=(16, 4)), reduction("add", dtype="bf16")),
    ("reduction_type", reduction("xor", dtype="i64", box_dim=(4, 4)), reduction("max", dtype="i64", box_dim=(4, 4))),
    ("reduction_type", reduction("min", dtype="f32"), reduction("add", dtype="f32")),
    ("reduction_type", reduction("inc", dtype="i32"), reduction("inc", dtype="u32")),
    ("smem_swizzle_phase", load(TILED, 0, 0, at=256), load(TILED, 0, 0, at=512)),
    ("smem_swizzle_phase", load(TILED, 0, 0, at=128), load(TILED, 0, 0, at=128, swizzle=0)),
    ("store_tail_16", store(TILED, 0, 0, global_dim=(60, 16)), store(TILED, 0, 0)),
    ("store_tail_16", store(TILED, 0, 0, global_dim=(60, 16)), load(TILED, 0, 0, global_dim=(60, 16))),
)  # fmt: skip


def broken(copy: TensorCopy) -> set[str]:
    return {v.rule.id for profile in PROFILES for v in violations(copy, profile)}


@pytest.mark.parametrize("rule, bad, good", CASES)
def test_a_copy_that_breaks_the_rule_and_one_that_keeps_it(rule, bad, good):
    assert rule in broken(bad)
    assert rule not in broken(good)


def test_every_rule_has_a_case_and_one_name():
    assert {rule for rule, _, _ in CASES} == set(BY_ID)
    assert len(BY_ID) == len(RULES)


def test_a_plain_copy_breaks_nothing():
    assert broken(load(TILED, 0, 0)) == broken(store(TILED, 0, 0)) == broken(load(IM2COL, 0, 0, 0)) == set()


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_a_row_says_what_it_is_and_what_becomes_of_a_violation(rule):
    assert rule.sentence
    assert rule.source
    assert rule.effect


@pytest.mark.parametrize(
    "copy, profile, message",
    [
        (load(TILED, 0, 0, at=64), "hardware", "smem_alignment_128: expected the shared-memory address to be a multiple of 128"),
        (store(TILED, 0, -1), "hardware", "store_coordinate_nonnegative: expected each start coordinate of a store to be at least 0"),
        (store(TILED, 0, -1), "hardware", "got -1 in dimension 1"),
        (load(IM2COL, 0, -2, 0), "hardware", "got -2 in W"),
        (store(TILED, 0, 0, global_dim=(64, 2**32)), "hardware", "got 4294967296 elements in dimension 1; split the tensor"),
        (reduction("xor", dtype="i64"), "hardware", "expected the data type of the reduction to be u32, i32 or u64, got i64"),
        (issued(TILED, "3d"), "hardware", "expected the dimensions of the instruction to be 2, got 3; use the .Nd form"),
        (issued(IM2COL, "3d"), "hardware", "expected the mode of the instruction to be im2col, got tile"),
        (store(IM2COL, 0, 0, 0), "hardware", "expected each lower corner of an im2col store to be at least 0, got -1 in W"),
        (store(TILED, 0, 0, global_dim=(60, 16)), "lint", "pad the rows"),
    ],
)  # fmt: skip
def test_messages(copy, profile, message):
    assert message in "\n".join(map(str, violations(copy, profile)))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: TensorCopy(TILED, (0, 0), 0, "reduce", op="mul"), "expected an operation of add, min, .* got 'mul'"),
        (lambda: TensorCopy(TILED, (0, 0), 0, "store", op="add"), "for a reduction, got 'add' for a store"),
        (lambda: issued(TILED, "6d"), "expected an instruction such as 3d or 3d.im2col, got '6d'"),
    ],
)
def test_words_that_ptx_does_not_have(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_rules_of_symbols_are_facts():
    i, at = dims("i at")
    copy = TensorCopy(TILED, (16 * i, i), 1024 * at)
    found = {rule.id: (value, made) for rule, _, value, made in facts(copy, rules_of("hardware"))}
    known = Facts.about(copy.coordinate, copy.shared_address)

    assert str(found["coord0_multiple_16"][0]) == "32*i"
    assert str(found["smem_alignment_128"][0]) == "1024*at"
    assert all(known.holds(f) for name in ("coord0_multiple_16", "smem_alignment_128") for f in found[name][1])
