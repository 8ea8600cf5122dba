"""Attacks on the claims about tensor copies in loops over tiles: the copies themselves decide."""

from __future__ import annotations

import functools
import itertools
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from checkers import SameBytes, TensorMapValid, TmaCopySafe, prove
from checkers.prover import Budget
from symlayout import (
    ClaimError,
    Layout,
    ceil_div,
    dim,
    eq,
    evaluate,
    index,
)
from symlayout.answers.report import Outcome
from symlayout.errors import LayoutError, TmaFault
from symlayout.rules.tma import violations as map_violations
from symlayout.rules.tma_copy import REDUCED
from symlayout.semantics import tma_load, tma_reduce, tma_store
from symlayout.tma import Im2col, TensorMap, TmaInterleaveLayout, TmaType
from tests.checkers.test_tma_attacks import FAULTS, U8, A, M, N


@dataclass
class Loop:
    """A copy in a loop over i and j, often wrong in something; its sizes may be those of *M* and *N*."""

    claim: TmaCopySafe
    extents: tuple[Any, Any]
    indices: tuple[Any, Any]
    guard: Any
    sizes: list[dict[Any, int]]

    def iterations(self, env):
        """What the loop runs through at these sizes, with the predicate met."""
        for i, j in itertools.product(*(range(number(n, env)) for n in self.extents)):
            at = {**env, **dict(zip(self.indices, (i, j), strict=True))}
            if self.guard is None or self.guard.subs(at).value:
                yield at

    def problems(self, at):
        """What goes wrong at one iteration, by carrying it out."""
        c = self.claim
        m, start, address = c.tensor_map.subs(at), number(c.coordinate, at), number(c.shared_address, at)
        memory, shared = np.zeros(1 << 22, np.uint8), np.zeros(1 << 17, np.uint8)
        run = {"load": tma_load, "store": tma_store, "reduce": functools.partial(tma_reduce, "add")}[c.direction]
        try:
            effect = run(m, start, memory, shared, address)
        except TmaFault as e:
            yield e.rule
        else:
            if effect.outside.size:
                yield "store_past_the_row"
        if c.shared_bytes is not None and address + m.landed_bytes > c.shared_bytes:
            yield "shared_footprint"
        if c.barrier_bytes is not None and c.barrier_bytes != m.transaction_bytes * c.copies:
            yield "barrier_bytes"
        if not c.any_phase and address % m.swizzle.repeat_bytes:
            yield "smem_swizzle_phase"


def number(x, env):
    return tuple(number(e, env) for e in x) if isinstance(x, tuple) else evaluate(x, env)


def drawn_map(rng, unit, dtype, mode, store):
    """A small map that the driver takes at most sizes."""
    symbolic = [rng.random() < 0.3 for _ in range(4)]
    size = 16 // unit

    def extents(rank):
        return [rng.choice([M, N, unit * M]) if s else rng.randint(1, 9) for s in symbolic[:rank]]

    def strided(dims, inner):
        strides, reach = [], -(-dims[0] * inner // 16) * 16
        for n in dims[1:]:
            strides.append(reach)
            reach = reach * n
        return tuple(dims), tuple(strides)

    swizzle = rng.choice([0, 0, 32, 64, 128])
    if mode == "im2col":
        dims, strides = strided([rng.choice([4, 8, 20, 32]), *extents(1), 2], size)
        corners = ((0,), (0,)) if store else ((rng.choice([0, -1]),), (rng.choice([0, -1, 1]),))
        return TensorMap(dtype, 0, dims, strides, (), (1, rng.choice([1, 2]), 1), im2col=Im2col(*corners, unit, 8))
    if mode == "interleaved":
        dims, strides = strided([*extents(2), 3], 16)
        box = (unit, rng.randint(1, 3), 1)
        return TensorMap(dtype, 0, dims, strides, box, interleave=TmaInterleaveLayout.bytes16, swizzle=swizzle)
    dims, strides = strided(extents(rng.choice([1, 2, 3])), size)
    inner = unit * rng.randint(1, (swizzle or 64) // 16)
    box = (inner, *(rng.randint(1, 4) for _ in dims[1:]))
    return TensorMap(dtype, 0, dims, strides, box, (1, *(rng.choice([1, 1, 2]) for _ in dims[1:])), swizzle=swizzle)


def drawn_loop(seed):
    rng = random.Random(seed)
    dtype, unit = rng.choice([("u8", 16), ("bf16", 8), ("f32", 4), ("f64", 2)])
    direction = rng.choice(["load", "load", "store", "store", "reduce"])
    direction = "store" if (dtype, direction) == ("u8", "reduce") else direction
    mode = rng.choice(["tile", "tile", "tile", "tile", "im2col", "interleaved"])
    m = drawn_map(rng, unit, dtype, mode, direction != "load")
    extents = tuple(
        rng.choice([rng.randint(1, 4), ceil_div(rng.choice([M, N]), rng.choice([4, 16]))]) for _ in range(2)
    )
    i, j = index("i", extents[0]), index("j", extents[1])
    q = rng.choice([2, 3])
    forms = [i, j, i + j, i // q, (2 * i + j) % q, (i * extents[1] + j) // q, 0 * i, 0 * i]
    wrong = rng.random() < 0.4
    start = [rng.choice(forms) * (unit if k == 0 and mode != "interleaved" else 1) for k in range(m.rank)]
    if mode == "im2col":
        start[1] = m.lower_corner[0] + 0 * i
    if wrong:
        k = rng.randrange(m.rank)
        start[k] = start[k] + rng.choice([-1, 1, -unit, unit])
    step = rng.choice([64, 128]) if wrong and rng.random() < 0.3 else -(-m.landed_bytes // 1024) * 1024
    address = step * rng.choice([0, i, j % 2, (i + j) % q]) + (rng.choice([0, 64, 128, -128]) if wrong else 0)
    guard = rng.choice([None, None, i + j <= 3, start[0] < m.global_dim[0], j >= 1])
    guard = guard if hasattr(guard, "subs") else None
    buffer = rng.choice([None, 16 * step, step + m.landed_bytes]) if wrong else rng.choice([None, 64 * step])
    copies = rng.choice([1, 2])
    awaited = rng.choice([None, m.transaction_bytes * copies, m.landed_bytes]) if wrong else None
    claim = TmaCopySafe(
        *(m, tuple(start), address, direction, buffer, awaited, copies),
        any_phase=rng.random() < 0.4,
        op="add" if direction == "reduce" else "",
        given=() if guard is None else (guard,),
    )
    sizes = [{M: rng.randint(1, 40), N: rng.randint(1, 40)} for _ in range(5)]
    return Loop(claim, extents, (i, j), guard, sizes)


# Rules that speak of more than one copy does: of the tile, not of the rows in the tensor.
BROADER = {"shared_address_nonnegative", "coordinate_int32"}


@pytest.mark.seeds(70)
def test_tile_loops_are_proved_only_where_every_iteration_runs(seed):
    loop = drawn_loop(seed)
    report = prove(loop.claim, budget=Budget(repairs=False))

    assert not [v for v in report.verdicts if v.outcome is Outcome.UNKNOWN], report
    if report:
        found = [
            p for env in loop.sizes for at in itertools.islice(loop.iterations(env), 40) for p in loop.problems(at)
        ]
        assert found == [], report
    for v in report.verdicts:
        if v.outcome is Outcome.REFUTED:
            at = {s: v.witness.sizes.get(s.name, 1) for s in (M, N)}
            at |= {s: v.witness.sizes.get(s.name, 0) for s in loop.indices}
            assert loop.guard is None or loop.guard.subs(at).value
            assert v.claim.rule.id in BROADER or fails(loop, at, v.claim.rule.id), v
        elif v.outcome is Outcome.VACUOUS:
            assert not any(True for env in loop.sizes for _ in loop.iterations(env)), v


def fails(loop, at, rule):
    """Whether a copy faults, or breaks this rule; a map that the driver refuses has no copy."""
    if map_violations(loop.claim.tensor_map.subs(at)):
        return True
    found = set(loop.problems(at))
    return rule in found or bool(found & set(FAULTS))


def test_a_store_that_writes_no_row_overwrites_nothing():
    m = TensorMap("u8", 0, (20, 8), (32,), (32, 8))

    assert not tma_store(m, (0, 8), np.zeros(256, np.uint8), np.zeros(256, np.uint8), 0).outside.size
    assert prove(TmaCopySafe(m, (0, 8), direction="store"))


@pytest.mark.parametrize("op", REDUCED)
def test_a_reduction_has_a_type_of_its_operation(op):
    for dtype in list(TmaType)[:13]:
        m = TensorMap(dtype, 0, (64, 8), (512,), (16, 8))
        assert bool(prove(TmaCopySafe(m, (0, 0), 0, "reduce", op=op))) == (dtype in REDUCED[op])


def test_the_offsets_of_im2col_follow_its_coordinate():
    m = TensorMap("u8", 0, (32, 8, 8, 2), (32, 256, 2048), im2col=Im2col((-1, -1), (-1, -1), 32, 16))

    assert prove(TmaCopySafe(m, (0, 0, 0, 0, 2, 2)))
    [v] = prove(TmaCopySafe(m, (0, 0, 0, 0, 2, index("s", 257)))).verdicts
    assert (v.claim.rule.id, v.witness.sizes) == ("im2col_offset_range", {"s": 256})


def test_a_divisor_of_a_coordinate_is_at_least_one():
    every = dim("every", at_least=0)
    [*found] = prove(TmaCopySafe(U8, (32 * (index("i", 4) // every), 0))).verdicts

    assert {v.outcome for v in found} == {Outcome.UNKNOWN}
    assert all("add the fact every >= 1" in v.reason for v in found)


@pytest.mark.parametrize("claim", [TensorMapValid(U8), TmaCopySafe(U8, (0, 0)), SameBytes(U8, Layout((32, 8)))])
@pytest.mark.parametrize("given", [[A >= 5, A <= 3], [eq(A, A + 1)]])
def test_facts_that_no_size_meets_prove_nothing(claim, given):
    report = prove(claim, given=given)

    assert {v.outcome for v in report.verdicts} <= {Outcome.VACUOUS}
    assert not report


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"shared_bytes": "abc"}, "expected an integer or an integer expression, got 'abc'"),
        ({"barrier_bytes": 1.5}, "got 1.5"),
        ({"copies": 1.5}, "got 1.5"),
        ({"copies": 0}, "expected at least 1 copy"),
        ({"shared_address": "x"}, "got 'x'"),
        ({"any_phase": "no"}, "expected True or False as any_phase"),
        ({"direction": "reduce"}, "expected an operation of add, min"),
        ({"op": "add"}, "expected an operation of add, min"),
        ({"coordinate": None}, "got None"),
        ({"coordinate": ("a", 0)}, "got 'a'"),
        ({"coordinate": (0, 0, 0)}, "expected 2 entries of coordinate"),
        ({"copy": TensorMap("u8", 0, (), (), ()), "coordinate": ()}, "expected a map of rank 1 or more"),
    ],
)
def test_bad_copies_are_one_message(fields, message):
    with pytest.raises(ClaimError, match=message):
        TmaCopySafe(**{"copy": U8, "coordinate": (0, 0), **fields})


def test_an_im2col_map_has_a_corner_for_each_spatial_dimension():
    with pytest.raises(LayoutError):
        prove(TensorMapValid(TensorMap("u8", 0, (32, 8, 8, 2), (32, 256, 2048), im2col=Im2col((0,), (0, 0), 32, 16))))
