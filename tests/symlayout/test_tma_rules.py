"""The driver's rules against recorded encode calls: vectorised, one at a time, and as facts for the solver."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import numpy as np
import pytest

from checkers import smt
from symlayout import dim, eq
from symlayout.expr import Expr
from symlayout.rules import accepted, broken, facts, rule_named
from symlayout.rules.tma import RULES, rules_of, violations
from symlayout.tma import Im2col, TensorMap, TmaSwizzle, TmaType
from symlayout.tma.recorded import columns, read

ROWS = Path(__file__).parents[1] / "data" / "driver_descriptors.jsonl.gz"
DRIVER = rules_of("driver")


@pytest.fixture(scope="module")
def recorded():
    """(columns, whether the driver accepted) of 60 000 calls."""
    rows = list(read(ROWS))
    return columns(rows), np.array([r["code"] for r in rows]) == 0


def test_the_driver_profile_is_the_driver(recorded):
    table, taken = recorded

    assert len(taken) == 60_000
    assert 12_000 < taken.sum() < 13_000
    assert np.flatnonzero(accepted(table, DRIVER) != taken).tolist() == []


def test_every_driver_rule_is_needed_somewhere(recorded):
    """Each rule is the only one that some recorded call breaks, or is shown to be implied by what others say."""
    table, _ = recorded
    bad = broken(table, DRIVER)
    alone = {name for name, rows in bad.items() if np.any(rows & (sum(bad.values(), 0 * rows.astype(int)) == 1))}

    assert {r.id for r in DRIVER} - alone == set()


def test_one_at_a_time_agrees_with_all_at_once(recorded):
    table, taken = recorded

    for i in range(0, len(taken), 60):
        assert (violations(table.row(i)) == []) == taken[i], table.row(i)


NUMBERS = ("global_address", "global_dim", "global_stride_bytes", "box_dim", "element_stride")
CORNERS = ("lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column")
WIDE = {"at_least": -(2**63), "at_most": 2**63}


def symbolic(record):
    """A record whose numbers are symbols, and the equations that give them back."""
    equations = []

    def named(name, value):
        s = dim(name, **WIDE)
        equations.append(eq(s, value))
        return s

    for name in (*NUMBERS, *CORNERS):
        value = getattr(record, name)
        if isinstance(value, tuple):
            setattr(record, name, tuple(named(f"{name}_{i}", x) for i, x in enumerate(value)))
        else:
            setattr(record, name, named(name, value))
    return record, equations


def by_solver(record):
    """Whether the facts of the rules hold at a record's numbers, asked of the solver."""
    record, equations = symbolic(record)
    wanted = []
    for rule, place, value, found in facts(record, DRIVER):
        if isinstance(value, Expr):
            wanted += found
        elif not rule.must.holds(value, record, place):
            return False
    return smt.satisfiable([*equations, *wanted]).status == "sat"


@pytest.mark.solver
def test_the_solver_reads_the_rules_alike(recorded, share):
    """Half of the sample are calls that the driver takes, whose facts must all be met at once."""
    table, taken = recorded
    half = share(500)
    picked = [*np.flatnonzero(taken)[:: taken.sum() // half], *np.flatnonzero(~taken)[:: (~taken).sum() // half]]

    assert len(picked) >= 2 * half
    for i in picked:
        assert by_solver(table.row(i)) == taken[i], table.row(i)


BASE = TensorMap(TmaType.FLOAT16, 0, (1024, 1024), (2048,), (64, 128), swizzle=128)
BASE3 = TensorMap(TmaType.INT32, 0, (128, 128, 128), (512, 65536), (4, 4, 4))
IM2COL = TensorMap(
    TmaType.FLOAT16, 0, (64, 56, 56, 8), (128, 7168, 401408), swizzle=128, im2col=Im2col((-1, -1), (-1, -1), 64, 128)
)


def im2col(**changes):
    return {"im2col": dataclasses.replace(IM2COL.im2col, **changes)}


# One map for each rule that a map can be made to break, which breaks it and only it.
BREAKS = {
    "dtype_of_cc90": (BASE, {"dtype": TmaType.PACKED_16U4_ALIGN8B, "box_dim": (64, 128)}),
    "rank_of_interleave": (
        TensorMap(TmaType.FLOAT16, 0, (64, 64), (128,), (8, 8)),
        {"interleave": 16},
    ),
    "swizzle_of_cc90": (BASE, {"swizzle": TmaSwizzle.bytes128_atom_32B}),
    "nan_fill_of_floats": (BASE3, {"oob_fill": "nan"}),
    "global_address_alignment": (BASE, {"global_address": 8}),
    "global_dim_range": (BASE, {"global_dim": (2**32 + 1, 1024)}),
    "stride_multiple_16": (BASE, {"global_stride_bytes": (2002,)}),
    "stride_range": (BASE, {"global_stride_bytes": (2**40,)}),
    "element_stride_range": (BASE, {"element_stride": (1, 9)}),
    "element_stride_inner_range": (BASE, {"element_stride": (9, 1)}),
    "box_range": (BASE, {"box_dim": (64, 257)}),
    "box_inner_multiple_16": (BASE3, {"box_dim": (5, 4, 4)}),
    "box_inner_multiple_16_interleaved": (BASE3, {"box_dim": (5, 4, 4), "interleave": 16}),
    "box_inner_span": (BASE, {"box_dim": (72, 8)}),
    "box_fits_encode_limit": (BASE3, {"box_dim": (256, 256, 1), "swizzle": 0}),
    "im2col_channels": (
        dataclasses.replace(IM2COL, dtype=TmaType.UINT8, swizzle="none", global_dim=(512, 56, 56, 8)),
        im2col(channels_per_pixel=272),
    ),
    "im2col_pixels": (IM2COL, im2col(pixels_per_column=1025)),
    "im2col_lower_corner_range": (IM2COL, im2col(lower_corner=(-129, -1))),
    "im2col_upper_corner_range": (IM2COL, im2col(upper_corner=(128, -1))),
    "im2col_inner_multiple_16": (IM2COL, im2col(channels_per_pixel=12)),
    "im2col_inner_span": (IM2COL, im2col(channels_per_pixel=72)),
    "im2col_fits_encode_limit": (
        dataclasses.replace(IM2COL, swizzle="none"),
        im2col(channels_per_pixel=256, pixels_per_column=512),
    ),
    "im2col_box_nonempty": (IM2COL, im2col(upper_corner=(-57, -1))),
}
# What no TensorMap can hold, so that only records of the driver's own numbers break it.
UNMADE = {"interleave_enum", "l2_promotion_enum", "oob_fill_enum", "im2col_rank", "rank_range"}


@pytest.mark.parametrize("name", BREAKS)
def test_one_map_breaks_one_rule(name):
    base, change = BREAKS[name]

    assert violations(base) == []
    assert {v.rule.id for v in violations(dataclasses.replace(base, **change))} == {name}


def test_ranks_out_of_range_are_refused():
    six = TensorMap(TmaType.FLOAT16, 0, (64,) * 6, (128,) * 5, (8,) + (1,) * 5)
    flat = TensorMap(TmaType.FLOAT16, 0, (64, 8), (128,), im2col=Im2col((), (), 64, 8))

    assert [v.rule.id for v in violations(six)] == ["rank_range"]
    assert [v.rule.id for v in violations(flat)] == ["im2col_rank"]
    assert [v.rule.id for v in violations(TensorMap(TmaType.FLOAT16, 0, (), ()))] == ["rank_range"]


def test_every_rule_has_its_case():
    assert {r.id for r in DRIVER} == set(BREAKS) | UNMADE


def test_a_violation_says_what_was_expected_where():
    [v] = violations(dataclasses.replace(BASE, global_stride_bytes=(2002,)))

    assert str(v) == (
        "stride_multiple_16: expected each global stride to be a multiple of 16 bytes, got 2002 (125*16 + "
        "2) bytes in the stride of dimension 1; pad the rows to 2016 bytes, the extent may stay"
    )


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.id)
def test_a_row_is_complete_and_survives_pickling(rule):
    assert rule.sentence
    assert rule.source
    assert rule.profiles
    assert pickle.loads(pickle.dumps(rule)) is rule


def test_ids_are_unique():
    assert len({r.id for r in RULES}) == len(RULES)
    with pytest.raises(KeyError):
        rule_named("no_such_rule")
